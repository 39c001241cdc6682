// Writing the call of a standard model: what is its default anyway is left out.
#include "io/import_internal.h"

#include <string.h>

enum { MOST_COLUMNS = 100, MOST_NAME = 60 };

// ---- the layout ----

void call_group(Call *call, int64_t layers, int64_t repeats)
{
    if (call->layout.len > 1) {
        buf_char(&call->layout, '-');
    }
    buf_format(&call->layout, "%lld", (long long)layers);
    if (repeats > 1) {
        buf_format(&call->layout, "x%lld", (long long)repeats);
    }
}

void call_tag(Call *call, char tag, int64_t value)
{
    buf_format(&call->layout, "%c%lld", tag, (long long)value);
}

void call_widths(Call *call, int64_t width, int64_t ffn, int64_t heads, int64_t head_width)
{
    call_tag(call, 'H', width);
    if (ffn != 4 * width) {
        call_tag(call, 'F', ffn);
    }
    if (heads * 64 != width) {
        call_tag(call, 'A', heads);
    }
    if (heads * head_width != width) {
        call_tag(call, 'E', head_width);
    }
}

// ---- arguments ----

static void add(Call *call, const char *name, Str value)
{
    Str arg = str_format(call->im->arena, "%s: %.*s", name, STR_ARG(value));
    vec_push(call->im->arena, &call->args, arg);
}

void call_size(Call *call, const char *name, int64_t value)
{
    add(call, name, str_format(call->im->arena, "%lld", (long long)value));
}

void call_int(Call *call, const char *name, int64_t value, int64_t standard)
{
    if (value != standard) {
        call_size(call, name, value);
    }
}

void call_float(Call *call, const char *name, double value, double standard)
{
    if (value < standard || value > standard) {
        Buf buf = {.arena = call->im->arena};
        buf_double(&buf, value);
        add(call, name, buf_str(&buf));
    }
}

void call_flag(Call *call, const char *name, bool value, bool standard)
{
    if (value != standard) {
        add(call, name, value ? STR("true") : STR("false"));
    }
}

void call_word(Call *call, const char *name, const char *value, const char *standard)
{
    if (strcmp(value, standard) != 0) {
        add(call, name, str_from(value));
    }
}

void call_text(Call *call, const char *name, const char *value, const char *standard)
{
    if (strcmp(value, standard) != 0) {
        add(call, name, str_format(call->im->arena, "\"%s\"", value));
    }
}

void call_image(Call *call, const Image *image, Place at)
{
    if (image->height % image->patch != 0 || image->width % image->patch != 0) {
        diag_error(call->im->dx, at, "an image of %lld x %lld does not divide into patches of %lld",
                   (long long)image->height, (long long)image->width, (long long)image->patch);
    }
    call_int(call, "height", image->height, 224);
    call_int(call, "width", image->width, image->height);
    call_int(call, "channels", image->channels, 3);
    call_int(call, "patch", image->patch, 16);
    if (image->classes > 0) {
        call_size(call, "classes", image->classes);
    }
}

// ---- the model's name ----

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name of the language, from any text. Empty if there is nothing in it to make one of. It holds a
// `_`, so it is no keyword. `splits`: BertForMaskedLM becomes bert_for_masked_lm.
static Str make_name(Arena *arena, Str text, bool splits)
{
    Buf buf = {.arena = arena};
    for (size_t i = 0; i < text.len && buf.len < MOST_NAME; i++) {
        char c = text.ptr[i];
        char before = i > 0 ? text.ptr[i - 1] : '_';
        bool ends_capitals = i + 1 < text.len && is_upper(before) && is_lower(text.ptr[i + 1]);
        bool is_apart = is_upper(c) ? splits && (is_lower(before) || ends_capitals)
                                    : !is_lower(c) && !is_digit(c);
        if (is_apart && buf.len > 0 && buf.ptr[buf.len - 1] != '_') {
            buf_char(&buf, '_');
        }
        if (is_upper(c)) {
            buf_char(&buf, (char)(c - 'A' + 'a'));
        } else if (is_lower(c) || is_digit(c)) {
            if (buf.len == 0 && is_digit(c)) {
                buf_add(&buf, STR("model_"));
            }
            buf_char(&buf, c);
        }
    }
    Str name = buf_str(&buf);
    if (name.len > 0 && name.ptr[name.len - 1] == '_') {
        name.len--;
    }
    bool has_underscore = name.len > 0 && memchr(name.ptr, '_', name.len);
    return name.len == 0 || has_underscore ? name : str_format(arena, "%.*s_model", STR_ARG(name));
}

// Whether `text` holds `name` as a word, which a model of that name would hide.
static bool holds_word(Str text, Str name)
{
    for (size_t i = 0; i + name.len <= text.len; i++) {
        size_t end = i + name.len;
        bool begins = i == 0 || !(is_lower(text.ptr[i - 1]) || text.ptr[i - 1] == '_');
        bool ends = end == text.len ||
                    !(is_lower(text.ptr[end]) || is_digit(text.ptr[end]) || text.ptr[end] == '_');
        if (begins && ends && memcmp(text.ptr + i, name.ptr, name.len) == 0) {
            return true;
        }
    }
    return false;
}

static Str choose_name(const Call *call)
{
    Arena *arena = call->im->arena;
    Str folder = str_from(call->im->folder ? call->im->folder : "");
    while (folder.len > 0 && folder.ptr[folder.len - 1] == '/') {
        folder.len--;
    }
    for (size_t i = folder.len; i-- > 0;) {
        if (folder.ptr[i] == '/') {
            folder = (Str){folder.ptr + i + 1, folder.len - i - 1};
            break;
        }
    }
    Str name = make_name(arena, folder, false);
    name = name.len > 0 ? name : make_name(arena, call->name, true);
    bool is_hiding = str_equal(name, str_from(call->model));
    for (size_t i = 0; i < call->args.n; i++) {
        is_hiding = is_hiding || holds_word(call->args.items[i], name);
    }
    return is_hiding ? str_format(arena, "%.*s_model", STR_ARG(name)) : name;
}

// ---- the text ----

// Adds one of several things with commas between them, on a new line where the line would get too
// long.
static void add_item(Buf *out, size_t *column, Str item, bool is_last, Str indent)
{
    if (*column + item.len + 2 > MOST_COLUMNS) {
        while (out->len > 0 && out->ptr[out->len - 1] == ' ') {
            out->len--;
        }
        buf_char(out, '\n');
        buf_add(out, indent);
        *column = indent.len;
    }
    buf_add(out, item);
    buf_add(out, is_last ? STR("") : STR(", "));
    *column += item.len + 2;
}

Str call_print(const Call *call)
{
    Buf out = {.arena = call->im->arena};
    buf_format(&out, "# from config.json%s: %.*s\n",
               call->im->is_sentence ? " and modules.json" : "", STR_ARG(call->origin));
    const Strs *missing = &call->im->missing;
    if (missing->n > 0) {
        size_t column = out.len;
        buf_add(&out, STR("# not given, so as the library has it: "));
        column = out.len - column;
        for (size_t i = 0; i < missing->n; i++) {
            add_item(&out, &column, missing->items[i], i + 1 == missing->n, STR("#   "));
        }
        buf_char(&out, '\n');
    }
    for (size_t i = 0; i < call->im->notes.n; i++) {
        buf_format(&out, "#: %.*s\n", STR_ARG(call->im->notes.items[i]));
    }
    size_t begin = out.len;
    buf_format(&out, "model %.*s = %s(%.*s", STR_ARG(choose_name(call)), call->model,
               STR_ARG(buf_str(&call->layout)));
    buf_add(&out, call->args.n > 0 ? STR(", ") : STR(""));
    size_t column = out.len - begin;
    for (size_t i = 0; i < call->args.n; i++) {
        add_item(&out, &column, call->args.items[i], i + 1 == call->args.n, STR("    "));
    }
    buf_add(&out, STR(")\n"));
    return buf_str(&out);
}
