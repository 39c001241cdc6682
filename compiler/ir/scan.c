// See scan.h.
#include "ir/scan.h"

#include "ir/internal.h"

#include <math.h>

#define MAX_DEPTH 64 // of parentheses in a size

void scan_start(Scan *scan, Arena *arena, Diag *dx, const Source *source)
{
    *scan = (Scan){.arena = arena, .dx = dx, .source = source, .symbols = {.arena = arena}};
    if (source->text.len >= UINT32_MAX) {
        scan_fail(scan, (Place){.source = source}, "the text is over 4 GiB");
    }
    scan_next(scan);
}

bool scan_fail(Scan *scan, Place at, const char *format, ...)
{
    if (!scan->failed) {
        Buf buf = {.arena = scan->arena};
        va_list args;
        va_start(args, format);
        buf_vformat(&buf, format, args);
        va_end(args);
        diag_error(scan->dx, at, "%.*s", STR_ARG(buf_str(&buf)));
    }
    scan->failed = true;
    scan->token.kind = TOKEN_end;
    scan->token.text = (Str){0};
    return false;
}

// ---- tokens ----

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

// The byte `ahead` of the next, or 0 at the end.
static char peek(const Scan *scan, size_t ahead)
{
    Str text = scan->source->text;
    return scan->at + ahead < text.len ? text.ptr[scan->at + ahead] : 0;
}

static Place place_from(const Scan *scan, size_t begin)
{
    return (Place){.source = scan->source, .begin = (uint32_t)begin, .end = (uint32_t)scan->at};
}

static void skip_blanks(Scan *scan)
{
    Str text = scan->source->text;
    while (scan->at < text.len) {
        char c = text.ptr[scan->at];
        if (c == '#') {
            while (scan->at < text.len && text.ptr[scan->at] != '\n') {
                scan->at++;
            }
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            scan->at++;
        } else {
            return;
        }
    }
}

static void skip_digits(Scan *scan)
{
    while (is_digit(peek(scan, 0))) {
        scan->at++;
    }
}

// 12, 1.5, 1.5e-3; `0 .. 3` and `0..3` have no fraction.
static void skip_number(Scan *scan)
{
    skip_digits(scan);
    if (peek(scan, 0) == '.' && is_digit(peek(scan, 1))) {
        scan->at++;
        skip_digits(scan);
    }
    if (peek(scan, 0) == 'e' || peek(scan, 0) == 'E') {
        size_t sign = peek(scan, 1) == '+' || peek(scan, 1) == '-' ? 1 : 0;
        if (is_digit(peek(scan, 1 + sign))) {
            scan->at += 1 + sign;
            skip_digits(scan);
        }
    }
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The byte that the escape at scan->at stands for, or -1.
static int take_escape(Scan *scan)
{
    char c = peek(scan, 1);
    if (c == '"' || c == '\\' || c == 'n') {
        scan->at += 2;
        return c == 'n' ? '\n' : c;
    }
    int high = hex_digit(peek(scan, 2));
    int low = high < 0 ? -1 : hex_digit(peek(scan, 3));
    if (c != 'x' || low < 0) {
        return -1;
    }
    scan->at += 4;
    return high * 16 + low;
}

static bool take_text(Scan *scan, size_t begin)
{
    Str text = scan->source->text;
    Buf buf = {.arena = scan->arena};
    scan->at++;
    while (scan->at < text.len && text.ptr[scan->at] != '"' && text.ptr[scan->at] != '\n') {
        int c = (unsigned char)text.ptr[scan->at];
        if (c == '\\') {
            size_t from = scan->at;
            c = take_escape(scan);
            if (c < 0) {
                scan->at++;
                return scan_fail(scan, place_from(scan, from),
                                 "expected \\\", \\\\, \\n or \\x and two digits");
            }
        } else {
            scan->at++;
        }
        buf_char(&buf, (char)c);
    }
    if (peek(scan, 0) != '"') {
        return scan_fail(scan, place_from(scan, begin), "the text has no closing quote");
    }
    scan->at++;
    scan->token = (Token){TOKEN_text, buf_str(&buf), place_from(scan, begin)};
    return true;
}

static bool take_mark(Scan *scan, size_t begin)
{
    static const char *const marks[] = {"..", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{",
                                        "}",  ",",  ":",  "=",  "+",  "-", "*", "/", "<", ">"};
    Str rest = {scan->source->text.ptr + begin, scan->source->text.len - begin};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (str_starts(rest, str_from(marks[i]))) {
            Str mark = {rest.ptr, str_from(marks[i]).len};
            scan->at += mark.len;
            scan->token = (Token){TOKEN_mark, mark, place_from(scan, begin)};
            return true;
        }
    }
    scan->at++;
    return scan_fail(scan, place_from(scan, begin), "unexpected byte 0x%02x",
                     (unsigned)(unsigned char)rest.ptr[0]);
}

void scan_next(Scan *scan)
{
    if (scan->failed) {
        return;
    }
    skip_blanks(scan);
    size_t begin = scan->at;
    char c = peek(scan, 0);
    TokenKind kind = TOKEN_word;
    if (begin >= scan->source->text.len) {
        kind = TOKEN_end;
    } else if (c == '"') {
        take_text(scan, begin);
        return;
    } else if (is_digit(c)) {
        kind = TOKEN_number;
        skip_number(scan);
    } else if (c == '%' || is_word(c)) {
        kind = c == '%' ? TOKEN_label : TOKEN_word;
        do {
            scan->at++;
        } while (is_word(peek(scan, 0)));
    } else {
        take_mark(scan, begin);
        return;
    }
    Str text = {scan->source->text.ptr + begin, scan->at - begin};
    scan->token = (Token){kind, text, place_from(scan, begin)};
}

bool scan_is(const Scan *scan, const char *mark_or_word)
{
    return (scan->token.kind == TOKEN_mark || scan->token.kind == TOKEN_word) &&
           str_equal(scan->token.text, str_from(mark_or_word));
}

bool scan_accept(Scan *scan, const char *mark_or_word)
{
    bool is_there = scan_is(scan, mark_or_word);
    if (is_there) {
        scan_next(scan);
    }
    return is_there;
}

bool scan_expect(Scan *scan, const char *mark_or_word)
{
    if (scan_accept(scan, mark_or_word)) {
        return !scan->failed;
    }
    return scan_fail(scan, scan->token.at, "expected `%s`", mark_or_word);
}

// ---- values ----

bool scan_text(Scan *scan, Str *out)
{
    if (scan->token.kind != TOKEN_text) {
        return scan_fail(scan, scan->token.at, "expected a text in double quotes");
    }
    *out = scan->token.text;
    scan_next(scan);
    return !scan->failed;
}

// The current token, with a sign if `is_negative`.
static bool take_int(Scan *scan, bool is_negative, int64_t *out)
{
    if (scan->token.kind != TOKEN_number) {
        return scan_fail(scan, scan->token.at, "expected a whole number");
    }
    Str text = scan->token.text;
    if (is_negative) {
        text = str_format(scan->arena, "-%.*s", STR_ARG(text));
    }
    if (!str_to_int(text, out)) {
        return scan_fail(scan, scan->token.at, "expected a whole number of 64 bits");
    }
    scan_next(scan);
    return !scan->failed;
}

bool scan_int(Scan *scan, int64_t *out)
{
    bool is_negative = scan_accept(scan, "-");
    return take_int(scan, is_negative, out);
}

bool scan_double(Scan *scan, double *out)
{
    bool is_negative = scan_accept(scan, "-");
    if (scan_accept(scan, "inf")) {
        *out = HUGE_VAL;
    } else if (scan_accept(scan, "nan")) {
        *out = (double)NAN;
    } else if (scan->token.kind == TOKEN_number && str_to_double(scan->token.text, out)) {
        scan_next(scan);
    } else {
        return scan_fail(scan, scan->token.at, "expected a number");
    }
    *out = is_negative ? -*out : *out;
    return !scan->failed;
}

// ---- sizes: sums of products of numbers, symbols, parentheses; `/` by a number rounds down ----

static const Size *sum(Scan *scan, size_t depth);

// NULL is an error at `at`.
static const Size *checked(Scan *scan, Place at, const Size *size)
{
    if (size == NULL) {
        scan_fail(scan, at, IR_TOO_LARGE);
        return NULL;
    }
    return size;
}

static const Size *factor(Scan *scan, bool is_negative, size_t depth)
{
    Token token = scan->token;
    const Size *size = NULL;
    if (token.kind == TOKEN_number) {
        int64_t n = 0;
        return take_int(scan, is_negative, &n) ? size_int(scan->arena, n) : NULL;
    }
    if (token.kind == TOKEN_word) {
        if (!map_has(&scan->symbols, token.text)) {
            scan_fail(scan, token.at, "`%.*s` is no symbol of the graph", STR_ARG(token.text));
            return NULL;
        }
        scan_next(scan);
        size = size_symbol(scan->arena, str_copy(scan->arena, token.text));
    } else if (scan_accept(scan, "(")) {
        if (depth >= MAX_DEPTH) {
            scan_fail(scan, token.at, "over %d parentheses deep", MAX_DEPTH);
            return NULL;
        }
        size = sum(scan, depth + 1);
        if (size == NULL || !scan_expect(scan, ")")) {
            return NULL;
        }
    } else {
        scan_fail(scan, token.at, "expected a size");
        return NULL;
    }
    return is_negative ? checked(scan, token.at, size_scale(scan->arena, size, -1)) : size;
}

// left / by. If `is_minus`, left is the negative of what is divided and subtracted: `a - b / 2` is
// not `a + (-b) / 2`.
static const Size *quotient(Scan *scan, const Size *left, int64_t by, bool is_minus)
{
    Arena *a = scan->arena;
    return is_minus ? size_scale(a, size_div(a, size_scale(a, left, -1), by), -1)
                    : size_div(a, left, by);
}

// A sign in front of a sum belongs to its first factor, as in the language; a minus between
// products, `is_minus`, to the product behind it.
static const Size *product(Scan *scan, bool is_negative, bool is_minus, size_t depth)
{
    Place at = scan->token.at;
    const Size *left = factor(scan, is_negative || is_minus, depth);
    while (left != NULL && (scan_is(scan, "*") || scan_is(scan, "/"))) {
        bool is_division = scan_is(scan, "/");
        scan_next(scan);
        if (is_division) {
            int64_t by = 0;
            Place by_at = scan->token.at;
            if (!take_int(scan, false, &by)) {
                return NULL;
            }
            if (by == 0) {
                scan_fail(scan, by_at, "expected a number of 1 at least");
                return NULL;
            }
            left = checked(scan, at, quotient(scan, left, by, is_minus));
        } else {
            const Size *right = factor(scan, false, depth);
            left = right ? checked(scan, at, size_mul(scan->arena, left, right)) : NULL;
        }
    }
    return left;
}

static const Size *sum(Scan *scan, size_t depth)
{
    Place at = scan->token.at;
    const Size *left = product(scan, scan_accept(scan, "-"), false, depth);
    while (left != NULL && (scan_is(scan, "+") || scan_is(scan, "-"))) {
        bool is_minus = scan_is(scan, "-");
        scan_next(scan);
        const Size *right = product(scan, false, is_minus, depth);
        left = right ? checked(scan, at, size_add(scan->arena, left, right)) : NULL;
    }
    return left;
}

const Size *scan_size(Scan *scan) { return sum(scan, 0); }
