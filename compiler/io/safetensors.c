// Reading of safetensors headers. The header is cut into its members here, and each member goes
// through jansson alone: what is in memory at a time stays small whatever the header's size, and no
// text is nested deeper than the format needs. Linear in the header but for one sort.
#include "io/safetensors.h"

#include "io/json_text.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the data of a file is little-endian");

enum {
    LENGTH_BYTES = 8,              // the header's length, in front of it
    MOST_HEADER_BYTES = 100000000, // as other readers allow
    MOST_ENTRY_BYTES = 64 << 10,   // of one tensor's description
    MOST_DEPTH = 8,                // an entry needs 2
    MOST_SHOWN_BYTES = 100         // of a name in a message
};

// The file while it is read.
typedef struct Reader {
    Arena *arena;
    Diag *dx;
    const char *path;
    StFile *file;
    Str header;
    const uint8_t *data;
    uint64_t data_bytes;
    struct Range *ranges; // [file->n]
    Map metadata;         // keys seen, without values
    bool has_metadata;
} Reader;

// Where a tensor's bytes lie in the data.
typedef struct Range {
    uint64_t begin;
    uint64_t end;
    StTensor *tensor;
} Range;

// A name as messages show it.
static Str shown(Arena *arena, Str name)
{
    Buf buf = {.arena = arena};
    buf_quoted(&buf, (Str){name.ptr, name.len < MOST_SHOWN_BYTES ? name.len : MOST_SHOWN_BYTES});
    if (name.len > MOST_SHOWN_BYTES) {
        buf_add(&buf, STR("..."));
    }
    return buf_str(&buf);
}

// Reports a fault of the file as a whole; false.
__attribute__((format(printf, 2, 3))) static bool fail(Reader *r, const char *format, ...)
{
    Buf buf = {.arena = r->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    diag_error(r->dx, (Place){0}, "%s: %.*s", r->path, STR_ARG(buf_str(&buf)));
    return false;
}

// Reports a fault of one tensor; false.
__attribute__((format(printf, 3, 4))) static bool fail_at(Reader *r, Str name, const char *format,
                                                          ...)
{
    Buf buf = {.arena = r->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    return fail(r, "tensor %.*s: %.*s", STR_ARG(shown(r->arena, name)), STR_ARG(buf_str(&buf)));
}

// ---- members of an object ----

// What is left of a JSON object's text. Only its structure is followed: strings are skipped as they
// are quoted, nested values as their brackets balance. jansson judges the pieces.
typedef struct Cursor {
    const char *at;
    const char *end;
    const char *fault; // why next_member said MEMBER_bad
} Cursor;

typedef enum Member { MEMBER_found, MEMBER_none, MEMBER_bad } Member;

static void skip_space(Cursor *c)
{
    while (c->at < c->end &&
           (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')) {
        c->at++;
    }
}

static bool skip_char(Cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    return true;
}

static bool skip_string(Cursor *c)
{
    for (c->at++; c->at < c->end; c->at++) {
        if (*c->at == '"') {
            c->at++;
            return true;
        }
        if (*c->at == '\\' && c->at + 1 < c->end) {
            c->at++;
        }
    }
    c->fault = "a string has no end";
    return false;
}

static bool skip_nested(Cursor *c)
{
    size_t depth = 0;
    while (c->at < c->end) {
        char ch = *c->at;
        if (ch == '"') {
            if (!skip_string(c)) {
                return false;
            }
            continue;
        }
        c->at++;
        if (ch == '{' || ch == '[') {
            if (++depth > MOST_DEPTH) {
                c->fault = "values are nested too deep";
                return false;
            }
        } else if ((ch == '}' || ch == ']') && --depth == 0) {
            return true;
        }
    }
    c->fault = "a bracket is not closed";
    return false;
}

static bool skip_value(Cursor *c, Str *out)
{
    skip_space(c);
    const char *begin = c->at;
    if (c->at < c->end && *c->at == '"') {
        if (!skip_string(c)) {
            return false;
        }
    } else if (c->at < c->end && (*c->at == '{' || *c->at == '[')) {
        if (!skip_nested(c)) {
            return false;
        }
    } else {
        while (c->at < c->end && !strchr(",:{}[]\" \n\r\t", *c->at)) {
            c->at++;
        }
    }
    *out = (Str){begin, (size_t)(c->at - begin)};
    if (out->len == 0) {
        c->fault = "a value is missing";
    }
    return out->len > 0;
}

// Steps to the next member of the object, or over its closing brace.
static Member next_member(Cursor *c, bool is_first, Str *key, Str *value)
{
    if (is_first && !skip_char(c, '{')) {
        c->fault = "'{' expected";
        return MEMBER_bad;
    }
    if (skip_char(c, '}')) {
        return MEMBER_none;
    }
    if (!is_first && !skip_char(c, ',')) {
        c->fault = "',' or '}' expected";
        return MEMBER_bad;
    }
    skip_space(c);
    if (c->at == c->end || *c->at != '"') {
        c->fault = "a name in quotes expected";
        return MEMBER_bad;
    }
    if (!skip_value(c, key)) {
        return MEMBER_bad;
    }
    if (!skip_char(c, ':')) {
        c->fault = "':' expected";
        return MEMBER_bad;
    }
    return skip_value(c, value) ? MEMBER_found : MEMBER_bad;
}

static bool fail_syntax(Reader *r, const char *fault, const char *at)
{
    return fail(r, "the header is no valid JSON: %s, at byte %zu of it", fault,
                (size_t)(at - r->header.ptr));
}

// Parses a piece of the header; NULL after a report. The caller drops the reference.
static json_t *parse(Reader *r, Str text)
{
    json_error_t error;
    size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_t *value = json_text_parse(text, flags, &error);
    if (value) {
        return value;
    }
    if (json_error_code(&error) == json_error_out_of_memory) {
        diag_fail(r->dx, "cannot read %s: out of memory", r->path);
    } else {
        size_t position = error.position > 0 ? (size_t)error.position : 0;
        fail_syntax(r, error.text, text.ptr + (position < text.len ? position : text.len));
    }
    return NULL;
}

static bool parse_string(Reader *r, Str text, Str *out)
{
    json_t *value = parse(r, text);
    if (!value) {
        return false;
    }
    *out = str_copy(r->arena, (Str){json_string_value(value), json_string_length(value)});
    json_decref(value);
    return true;
}

// ---- entries ----

// Types of the format that have no DType, with their bits.
static const struct {
    const char *name;
    unsigned bits;
} other_types[] = {
    {"I8", 8},          {"I16", 16},    {"U16", 16},    {"U32", 32},    {"U64", 64},
    {"C64", 64},        {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

// Bits of an element; 0 for a type that the format does not know.
static unsigned type_bits(Str name)
{
    DType dtype;
    if (dtype_from_file_name(name, &dtype)) {
        return (unsigned)dtype_bytes(dtype) * 8;
    }
    for (size_t i = 0; i < sizeof other_types / sizeof other_types[0]; i++) {
        if (str_equal(name, str_from(other_types[i].name))) {
            return other_types[i].bits;
        }
    }
    return 0;
}

static bool read_shape(Reader *r, const json_t *list, StTensor *t)
{
    t->rank = json_array_size(list);
    int64_t *shape = arena_new(r->arena, int64_t, t->rank);
    int64_t product = 1; // of the sizes but 0: its overflow does not depend on their order
    bool is_empty = false;
    for (size_t i = 0; i < t->rank; i++) {
        const json_t *size = json_array_get(list, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0) {
            return fail_at(r, t->name, "size %zu of its shape is no whole number from 0", i);
        }
        shape[i] = json_integer_value(size);
        if (shape[i] == 0) {
            is_empty = true;
        } else if (__builtin_mul_overflow(product, shape[i], &product)) {
            return fail_at(r, t->name, "the number of its elements overflows 64 bits");
        }
    }
    t->shape = shape;
    t->count = is_empty ? 0 : product;
    return true;
}

static bool read_offsets(Reader *r, const json_t *list, StTensor *t, Range *range)
{
    if (json_array_size(list) != 2 || !json_is_integer(json_array_get(list, 0)) ||
        !json_is_integer(json_array_get(list, 1))) {
        return fail_at(r, t->name, "its data_offsets are not two whole numbers");
    }
    int64_t begin = json_integer_value(json_array_get(list, 0));
    int64_t end = json_integer_value(json_array_get(list, 1));
    if (begin < 0 || end < begin) {
        return fail_at(r, t->name, "its data_offsets %lld, %lld are not in order", (long long)begin,
                       (long long)end);
    }
    *range = (Range){.begin = (uint64_t)begin, .end = (uint64_t)end, .tensor = t};
    return true;
}

// Whether the tensor's shape and type need just its bytes.
static bool check_bytes(Reader *r, StTensor *t)
{
    unsigned bits = type_bits(t->dtype);
    t->is_known = bits != 0;
    if (!t->is_known) {
        return true;
    }
    uint64_t all = 0;
    if (__builtin_mul_overflow((uint64_t)t->count, (uint64_t)bits, &all)) {
        return fail_at(r, t->name, "the number of its bytes overflows 64 bits");
    }
    if (all % 8 != 0) {
        return fail_at(r, t->name, "%lld elements of %.*s do not fill whole bytes",
                       (long long)t->count, STR_ARG(t->dtype));
    }
    if (all / 8 != t->bytes) {
        return fail_at(r, t->name, "%lld elements of %.*s take %llu bytes, but it has %llu",
                       (long long)t->count, STR_ARG(t->dtype), (unsigned long long)(all / 8),
                       (unsigned long long)t->bytes);
    }
    return true;
}

// The value of a key that a tensor must have, of a given JSON type; NULL after a report.
static const json_t *need(Reader *r, const json_t *entry, Str name, const char *key, json_type type)
{
    const json_t *value = json_object_get(entry, key);
    if (!value) {
        fail_at(r, name, "it has no %s", key);
    } else if (json_typeof(value) != type) {
        fail_at(r, name, "its %s is no %s", key, type == JSON_STRING ? "string" : "list");
        value = NULL;
    }
    return value;
}

static bool read_entry(Reader *r, const json_t *entry, StTensor *t, Range *range)
{
    if (!json_is_object(entry)) {
        return fail_at(r, t->name, "its description is no object");
    }
    const json_t *dtype = need(r, entry, t->name, "dtype", JSON_STRING);
    const json_t *shape = dtype ? need(r, entry, t->name, "shape", JSON_ARRAY) : NULL;
    const json_t *offsets = shape ? need(r, entry, t->name, "data_offsets", JSON_ARRAY) : NULL;
    if (!offsets) {
        return false;
    }
    if (json_object_size(entry) != 3) {
        return fail_at(r, t->name, "it has keys besides dtype, shape and data_offsets");
    }
    t->dtype = str_copy(r->arena, (Str){json_string_value(dtype), json_string_length(dtype)});
    if (!read_shape(r, shape, t) || !read_offsets(r, offsets, t, range)) {
        return false;
    }
    t->bytes = range->end - range->begin;
    return check_bytes(r, t);
}

static bool read_tensor(Reader *r, Str name, Str text)
{
    if (text.len > MOST_ENTRY_BYTES) {
        return fail_at(r, name, "its description has %zu bytes, but at most %d are read", text.len,
                       MOST_ENTRY_BYTES);
    }
    json_t *entry = parse(r, text);
    if (!entry) {
        return false;
    }
    StTensor *t = &r->file->tensors[r->file->n];
    t->name = name;
    bool is_good = read_entry(r, entry, t, &r->ranges[r->file->n]);
    json_decref(entry);
    if (is_good) {
        map_put(&r->file->by_name, name, t);
        r->file->n++;
    }
    return is_good;
}

// Texts of the file's maker: nothing here needs them, but they must be what the format says.
static bool read_metadata(Reader *r, Str text)
{
    Cursor c = {.at = text.ptr, .end = text.ptr + text.len};
    if (text.ptr[0] != '{') {
        return fail(r, "__metadata__ is no object");
    }
    Str key = {0};
    Str value = {0};
    for (bool is_first = true;; is_first = false) {
        Member member = next_member(&c, is_first, &key, &value);
        if (member == MEMBER_none) {
            return true;
        }
        if (member == MEMBER_bad) {
            return fail_syntax(r, c.fault, c.at);
        }
        Str name = {0};
        if (!parse_string(r, key, &name)) {
            return false;
        }
        if (map_has(&r->metadata, name)) {
            return fail(r, "duplicate key %.*s in __metadata__", STR_ARG(shown(r->arena, name)));
        }
        map_put(&r->metadata, name, NULL);
        if (value.ptr[0] != '"') {
            return fail(r, "__metadata__ has no string for %.*s", STR_ARG(shown(r->arena, name)));
        }
        json_t *content = parse(r, value);
        if (!content) {
            return false;
        }
        json_decref(content);
    }
}

static bool read_member(Reader *r, Str key, Str value)
{
    Str name = {0};
    if (!parse_string(r, key, &name)) {
        return false;
    }
    bool is_metadata = str_equal(name, STR("__metadata__"));
    if (is_metadata ? r->has_metadata : map_has(&r->file->by_name, name)) {
        return fail(r, "duplicate tensor name %.*s", STR_ARG(shown(r->arena, name)));
    }
    if (!is_metadata) {
        return read_tensor(r, name, value);
    }
    r->has_metadata = true;
    return read_metadata(r, value);
}

// The number of members, or of those before the first fault.
static size_t count_members(Str header)
{
    Cursor c = {.at = header.ptr, .end = header.ptr + header.len};
    Str key = {0};
    Str value = {0};
    size_t n = 0;
    while (next_member(&c, n == 0, &key, &value) == MEMBER_found) {
        n++;
    }
    return n;
}

static bool read_members(Reader *r)
{
    size_t n = count_members(r->header);
    r->file->tensors = arena_new(r->arena, StTensor, n);
    r->ranges = arena_new(r->arena, Range, n);
    Cursor c = {.at = r->header.ptr, .end = r->header.ptr + r->header.len};
    Str key = {0};
    Str value = {0};
    Member member;
    for (bool is_first = true; (member = next_member(&c, is_first, &key, &value)) == MEMBER_found;
         is_first = false) {
        if (!read_member(r, key, value)) {
            return false;
        }
    }
    if (member == MEMBER_bad) {
        return fail_syntax(r, c.fault, c.at);
    }
    skip_space(&c);
    return c.at == c.end || fail_syntax(r, "more follows its end", c.at);
}

// ---- the data ----

static int compare_ranges(const void *a, const void *b)
{
    const Range *x = a;
    const Range *y = b;
    int order = (x->begin > y->begin) - (x->begin < y->begin);
    return order != 0 ? order : (x->end > y->end) - (x->end < y->end);
}

// The tensors' ranges must fill the data from its first byte to its last, each byte once.
static bool check_ranges(Reader *r)
{
    size_t n = r->file->n;
    if (n > 0) {
        qsort(r->ranges, n, sizeof *r->ranges, compare_ranges);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        end = r->ranges[i].end > end ? r->ranges[i].end : end;
    }
    if (end > r->data_bytes) {
        return fail(r,
                    "the file ends %llu bytes early: its tensors need %llu bytes, %llu are there",
                    (unsigned long long)(end - r->data_bytes), (unsigned long long)end,
                    (unsigned long long)r->data_bytes);
    }
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const Range *range = &r->ranges[i];
        if (range->begin < at) {
            return fail_at(r, range->tensor->name, "its data overlaps that of %.*s",
                           STR_ARG(shown(r->arena, r->ranges[i - 1].tensor->name)));
        }
        if (range->begin > at) {
            return fail_at(r, range->tensor->name, "%llu bytes before its data belong to no tensor",
                           (unsigned long long)(range->begin - at));
        }
        at = range->end;
    }
    if (at < r->data_bytes) {
        return fail(r, "%llu bytes after the last tensor belong to none",
                    (unsigned long long)(r->data_bytes - at));
    }
    for (size_t i = 0; i < n; i++) {
        r->ranges[i].tensor->data = r->data + r->ranges[i].begin;
    }
    return true;
}

// ---- other files ----

// Whether the text begins with the word, in capitals or not.
static bool starts_with_word(Str text, const char *word)
{
    for (size_t i = 0; word[i] != '\0'; i++) {
        if (i == text.len) {
            return false;
        }
        char c = text.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != word[i]) {
            return false;
        }
    }
    return true;
}

static bool is_html(Str text)
{
    Str mark = STR("\xef\xbb\xbf");
    if (str_starts(text, mark)) {
        text = (Str){text.ptr + mark.len, text.len - mark.len};
    }
    while (text.len > 0 && (*text.ptr == ' ' || (*text.ptr >= '\t' && *text.ptr <= '\r'))) {
        text = (Str){text.ptr + 1, text.len - 1};
    }
    return starts_with_word(text, "<!doctype html") || starts_with_word(text, "<html");
}

// A pickle names its protocol, then an instruction: in a header's length that third byte is 0.
static bool is_pickle(Str text)
{
    return text.len >= 3 && text.ptr[0] == '\x80' && text.ptr[1] >= 2 && text.ptr[1] <= 5 &&
           text.ptr[2] != 0;
}

// What a file that is none of ours may be instead; NULL if it gives no sign.
static const char *guess_kind(Str text)
{
    static const struct {
        Str start;
        const char *kind;
    } kinds[] = {
        {{"version https://git-lfs", 23},
         "a Git-LFS pointer: fetch the file itself (git lfs pull)"},
        {{"PK\003\004", 4}, "a zip archive (PyTorch .bin or .pt): convert it to safetensors"},
        {{"GGUF", 4}, "a GGUF file: convert it to safetensors"},
        {{"\x89HDF", 4}, "an HDF5 file: convert it to safetensors"},
        {{"\x93NUMPY", 6}, "a NumPy array: convert it to safetensors"},
        {{"{", 1}, "JSON text; the index of a model in several files is called NAME.index.json"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (str_starts(text, kinds[i].start)) {
            return kinds[i].kind;
        }
    }
    if (is_pickle(text)) {
        return "a Python pickle (PyTorch): convert it to safetensors";
    }
    return is_html(text) ? "an HTML page, as a failed download leaves one" : NULL;
}

// Sets header and data apart; false after a report.
static bool find_header(Reader *r, Str text)
{
    const char *kind = guess_kind(text);
    if (text.len < LENGTH_BYTES) {
        return kind ? fail(r, "no safetensors file: it looks like %s", kind)
                    : fail(r,
                           "no safetensors file: it has %zu bytes, and the length of the header "
                           "alone takes 8",
                           text.len);
    }
    uint64_t length = 0;
    memcpy(&length, text.ptr, sizeof length);
    uint64_t rest = text.len - LENGTH_BYTES;
    if (length <= rest && length <= MOST_HEADER_BYTES && length > 0 &&
        text.ptr[LENGTH_BYTES] == '{') {
        r->header = (Str){text.ptr + LENGTH_BYTES, (size_t)length};
        r->data = (const uint8_t *)text.ptr + LENGTH_BYTES + length;
        r->data_bytes = rest - length;
        return true;
    }
    if (kind) {
        return fail(r, "no safetensors file: it looks like %s", kind);
    }
    if (length > MOST_HEADER_BYTES && length <= rest) {
        return fail(r, "its header has %llu bytes, but at most %d are read",
                    (unsigned long long)length, MOST_HEADER_BYTES);
    }
    if (length > MOST_HEADER_BYTES) {
        return fail(r, "no safetensors file: its header would have %llu bytes, in a file of %zu",
                    (unsigned long long)length, text.len);
    }
    if (length > rest) {
        return fail(r,
                    "the file ends %llu bytes early: its header has %llu bytes, in a file of %zu",
                    (unsigned long long)(length - rest), (unsigned long long)length, text.len);
    }
    return fail(r,
                "no safetensors file: its header of %llu bytes, in a file of %zu, does not begin "
                "with '{'",
                (unsigned long long)length, text.len);
}

// ---- opening ----

StFile *st_open_bytes(Arena *arena, Diag *dx, const char *path, const uint8_t *data, size_t size)
{
    StFile *file = arena_new(arena, StFile, 1);
    file->path = str_copy(arena, str_from(path));
    file->by_name.arena = arena;
    Reader r = {.arena = arena, .dx = dx, .path = file->path.ptr, .file = file};
    r.metadata.arena = arena;
    bool is_good =
        find_header(&r, (Str){(const char *)data, size}) && read_members(&r) && check_ranges(&r);
    return is_good ? file : NULL;
}

StFile *st_open(Arena *arena, Diag *dx, const char *path)
{
    FileMap map;
    if (!file_map(dx, path, &map)) {
        return NULL;
    }
    StFile *file = st_open_bytes(arena, dx, path, map.data, map.size);
    if (!file) {
        file_unmap(&map);
        return NULL;
    }
    file->map = map;
    return file;
}

void st_close(StFile *file)
{
    for (size_t i = 0; i < file->nshards; i++) {
        st_close(file->shards[i]);
    }
    file_unmap(&file->map);
}

const StTensor *st_find(const StFile *file, Str name) { return map_get(&file->by_name, name); }
