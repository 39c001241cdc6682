// Diagnostics: collects messages, prints them with the source line and an underline.
#include "base/diag.h"

#include "base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ERRORS = 20,
    EXIT_INPUT = 1,
    EXIT_ENVIRONMENT = 3,
    EXIT_INTERNAL = 70,
    TAB_COLUMNS = 4,
    MOST_COLUMNS = 96,  // of a source line; a longer one is cut
    COLUMNS_BEFORE = 32 // what a cut line shows before the place
};

typedef enum Kind { KIND_error, KIND_warning, KIND_note } Kind;

static const struct {
    const char *name;
    const char *colour; // an SGR sequence
} kinds[] = {
    [KIND_error] = {"error", "\033[1;31m"},
    [KIND_warning] = {"warning", "\033[1;35m"},
    [KIND_note] = {"note", "\033[1;36m"},
};

typedef struct Message {
    Kind kind;
    Place at;
    Str text;
} Message;

struct Diag {
    Arena *arena;
    VEC(Message) messages;
    size_t nerrors;
    bool has_failed; // an error of the environment
    bool is_dropped; // the last error was beyond MOST_ERRORS, and its notes go with it
};

// ---- sources ----

Source *diag_source(Arena *arena, Str name, Str text, bool is_std)
{
    assert(text.len < UINT32_MAX);
    Source *source = arena_new(arena, Source, 1);
    VEC(uint32_t) lines = {0};
    vec_push(arena, &lines, 0);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            vec_push(arena, &lines, (uint32_t)(i + 1));
        }
    }
    *source = (Source){
        .name = name, .text = text, .is_std = is_std, .lines = lines.items, .nlines = lines.n};
    return source;
}

// The index of the line that holds the byte.
static size_t line_index(const Source *source, uint32_t offset)
{
    size_t low = 0;
    size_t high = source->nlines;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (source->lines[mid] <= offset) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

// The line without its end, \n or \r\n.
static Str line_text(const Source *source, size_t index)
{
    size_t begin = source->lines[index];
    size_t end = index + 1 < source->nlines ? source->lines[index + 1] - 1 : source->text.len;
    if (end > begin && source->text.ptr[end - 1] == '\r') {
        end--;
    }
    return (Str){source->text.ptr + begin, end - begin};
}

// ---- characters ----

typedef struct Char {
    uint32_t code;
    size_t bytes;
    bool is_valid; // UTF-8; else one byte
} Char;

// The character at the start of s, which is not empty.
static Char next_char(Str s)
{
    static const uint32_t least_code[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.ptr;
    Char bad = {.code = p[0], .bytes = 1};
    size_t bytes = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (bytes == 0 || bytes > s.len || p[0] > 0xf4) {
        return bad;
    }
    uint32_t code = bytes == 1 ? p[0] : p[0] & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return bad;
        }
        code = code << 6 | (p[i] & 0x3fU);
    }
    if (code < least_code[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return bad;
    }
    return (Char){.code = code, .bytes = bytes, .is_valid = true};
}

// Whether showing the character could do something to the terminal, or to the order of what is
// read.
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

// Columns a terminal takes for a character: 0 for marks put over the last one, 2 for East Asian and
// pictures.
static size_t char_columns(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        size_t columns;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2},   {0x200b, 0x200d, 0},   {0x20d0, 0x20ff, 0},
        {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},
        {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) {
            return ranges[i].columns;
        }
    }
    return 1;
}

// Adds the character as it may be shown, at a column from 0; returns the columns it takes.
static size_t show_char(Buf *buf, Str s, Char c, size_t column)
{
    if (c.is_valid && !is_control(c.code)) {
        buf_add(buf, (Str){s.ptr, c.bytes});
        return char_columns(c.code);
    }
    size_t before = buf->len;
    if (c.code == '\n') {
        buf_add(buf, STR("\\n"));
    } else if (c.code == '\t') {
        for (size_t i = column % TAB_COLUMNS; i < TAB_COLUMNS; i++) {
            buf_char(buf, ' ');
        }
    } else if (c.code < 0x100) {
        buf_format(buf, "\\x%02x", (unsigned)c.code);
    } else {
        buf_format(buf, "\\u{%x}", (unsigned)c.code);
    }
    return buf->len - before;
}

static void show_text(Buf *buf, Str s)
{
    for (size_t i = 0, column = 0; i < s.len;) {
        Str rest = {s.ptr + i, s.len - i};
        Char c = next_char(rest);
        column += show_char(buf, rest, c, column);
        i += c.bytes;
    }
}

void diag_position(Place at, uint32_t *line, uint32_t *col)
{
    *line = 0;
    *col = 0;
    if (!at.source) {
        return;
    }
    size_t index = line_index(at.source, at.begin);
    size_t end = at.begin < at.source->text.len ? at.begin : at.source->text.len;
    uint32_t column = 1;
    for (size_t i = at.source->lines[index]; i < end; column++) {
        i += next_char((Str){at.source->text.ptr + i, at.source->text.len - i}).bytes;
    }
    *line = (uint32_t)(index + 1);
    *col = column;
}

// ---- collecting ----

Diag *diag_create(Arena *arena)
{
    Diag *dx = arena_new(arena, Diag, 1);
    dx->arena = arena;
    return dx;
}

__attribute__((format(printf, 4, 0))) static void add(Diag *dx, Kind kind, Place at,
                                                      const char *format, va_list args)
{
    if (kind == KIND_error) {
        dx->is_dropped = diag_full(dx);
        dx->nerrors += !dx->is_dropped;
    } else if (kind == KIND_warning) {
        dx->is_dropped = false;
    }
    if (dx->is_dropped) {
        return;
    }
    Buf buf = {.arena = dx->arena};
    buf_vformat(&buf, format, args);
    Message message = {.kind = kind, .at = at, .text = buf_str(&buf)};
    vec_push(dx->arena, &dx->messages, message);
}

void diag_error(Diag *dx, Place at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(dx, KIND_error, at, format, args);
    va_end(args);
}

void diag_note(Diag *dx, Place at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(dx, KIND_note, at, format, args);
    va_end(args);
}

void diag_warning(Diag *dx, Place at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(dx, KIND_warning, at, format, args);
    va_end(args);
}

void diag_fail(Diag *dx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(dx, KIND_error, (Place){0}, format, args);
    va_end(args);
    dx->has_failed = true;
}

size_t diag_nerrors(const Diag *dx) { return dx->nerrors; }

bool diag_full(const Diag *dx) { return dx->nerrors >= MOST_ERRORS; }

int diag_exit_code(const Diag *dx)
{
    return dx->has_failed ? EXIT_ENVIRONMENT : dx->nerrors > 0 ? EXIT_INPUT : 0;
}

// ---- printing ----

static void set_colour(Buf *buf, bool colour, const char *sgr)
{
    if (colour) {
        buf_add(buf, str_from(sgr));
    }
}

static const char *const plain = "\033[0m";
static const char *const bold = "\033[1m";

// A source line as it is shown: the columns of the place in it, and the part that fits.
typedef struct Shown {
    size_t first; // columns left out before
    size_t begin; // of the place, in columns of the whole line
    size_t end;
    bool is_cut; // something is left out behind
    Buf text;
} Shown;

// The column of the byte `at` of the line, counted as show_char lays it out.
static size_t column_of(Arena *arena, Str line, size_t at)
{
    Buf buf = {.arena = arena};
    size_t column = 0;
    for (size_t i = 0; i < at && i < line.len;) {
        Str rest = {line.ptr + i, line.len - i};
        Char c = next_char(rest);
        buf.len = 0;
        column += show_char(&buf, rest, c, column);
        i += c.bytes;
    }
    return column;
}

static Shown show_line(Arena *arena, Str line, size_t begin, size_t end)
{
    Shown shown = {.begin = column_of(arena, line, begin),
                   .end = column_of(arena, line, end),
                   .text = {.arena = arena}};
    if (shown.end > MOST_COLUMNS && column_of(arena, line, line.len) > MOST_COLUMNS) {
        shown.first = shown.begin > COLUMNS_BEFORE ? shown.begin - COLUMNS_BEFORE : 0;
    }
    size_t column = 0;
    bool has_begun = shown.first == 0;
    Buf skipped = {.arena = arena};
    for (size_t i = 0; i < line.len;) {
        Str rest = {line.ptr + i, line.len - i};
        Char c = next_char(rest);
        if (column >= shown.first + MOST_COLUMNS) {
            shown.is_cut = true;
            break;
        }
        if (!has_begun && column >= shown.first) {
            shown.first = column; // a wide character may have straddled the edge
            has_begun = true;
        }
        skipped.len = 0;
        column += show_char(has_begun ? &shown.text : &skipped, rest, c, column);
        i += c.bytes;
    }
    return shown;
}

static void print_line(Buf *buf, Arena *arena, Place at, size_t index, bool colour, const char *sgr)
{
    Str line = line_text(at.source, index);
    size_t start = at.source->lines[index];
    size_t begin = at.begin - start < line.len ? at.begin - start : line.len;
    size_t end = at.end > at.begin ? at.end - start : begin;
    end = end < line.len ? end : line.len;
    Shown shown = show_line(arena, line, begin, end);
    const char *before = shown.first > 0 ? "..." : "";
    buf_format(buf, "%5zu | %s%.*s%s\n", index + 1, before, STR_ARG(buf_str(&shown.text)),
               shown.is_cut ? "..." : "");
    size_t column = shown.begin - shown.first;
    size_t columns = shown.end > shown.begin ? shown.end - shown.begin : 1;
    if (column + columns > MOST_COLUMNS && column < MOST_COLUMNS) {
        columns = MOST_COLUMNS - column;
    }
    buf_add(buf, STR("      | "));
    for (size_t i = 0; i < column + strlen(before); i++) {
        buf_char(buf, ' ');
    }
    set_colour(buf, colour, sgr);
    buf_char(buf, '^');
    for (size_t i = 1; i < columns; i++) {
        buf_char(buf, '~');
    }
    set_colour(buf, colour, plain);
    buf_char(buf, '\n');
}

static void print_message(Buf *buf, Arena *arena, const Message *message, bool colour)
{
    set_colour(buf, colour, bold);
    if (message->at.source) {
        uint32_t line = 0;
        uint32_t col = 0;
        diag_position(message->at, &line, &col);
        show_text(buf, message->at.source->name);
        buf_format(buf, ":%u:%u: ", line, col);
    } else {
        buf_add(buf, STR("sluice: "));
    }
    set_colour(buf, colour, kinds[message->kind].colour);
    buf_format(buf, "%s: ", kinds[message->kind].name);
    set_colour(buf, colour, plain);
    show_text(buf, message->text);
    buf_char(buf, '\n');
    if (message->at.source && message->kind != KIND_note) {
        print_line(buf, arena, message->at, line_index(message->at.source, message->at.begin),
                   colour, kinds[message->kind].colour);
    }
}

void diag_flush(Diag *dx, FILE *out, bool colour)
{
    ArenaMark mark = arena_mark(dx->arena);
    for (size_t i = 0; i < dx->messages.n; i++) {
        Buf buf = {.arena = dx->arena};
        print_message(&buf, dx->arena, &dx->messages.items[i], colour);
        fwrite(buf.ptr, 1, buf.len, out);
        arena_reset(dx->arena, mark);
    }
    fflush(out);
    dx->messages.n = 0;
}

// ---- our own faults ----

static const char *repro = NULL;

void diag_set_repro(const char *text) { repro = text; }

void diag_die(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("internal error: ", stderr);
    vfprintf(stderr, format, args);
    fprintf(stderr, " (%s:%d)\n", file, line);
    va_end(args);
    if (repro) {
        fprintf(stderr, "%s\n", repro);
    }
    exit(EXIT_INTERNAL);
}
