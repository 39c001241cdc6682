// Text: slices, growing buffers, numbers.
//
// The host may have set a locale with a decimal comma, so whatever reads or writes a number does it
// in the C locale of its own thread.
#include "base/str.h"

#include <assert.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct CLocale {
    locale_t own;
    locale_t before;
} CLocale;

static CLocale enter_c_locale(void)
{
    locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (CLocale){.own = own, .before = own ? uselocale(own) : (locale_t)0};
}

static void leave_c_locale(CLocale locale)
{
    if (locale.own) {
        uselocale(locale.before);
        freelocale(locale.own);
    }
}

// ---- slices ----

Str str_from(const char *cstr) { return (Str){cstr, strlen(cstr)}; }

bool str_equal(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int str_compare(Str a, Str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.ptr, b.ptr, common);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

uint64_t str_hash(Str s) { return s.len == 0 ? XXH3_64bits("", 0) : XXH3_64bits(s.ptr, s.len); }

bool str_starts(Str s, Str prefix)
{
    return s.len >= prefix.len && str_equal((Str){s.ptr, prefix.len}, prefix);
}

bool str_ends(Str s, Str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + (s.len - suffix.len), suffix.ptr, suffix.len) == 0);
}

bool str_is_identifier(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return s.len > 0;
}

const char *str_cstr(Arena *arena, Str s)
{
    assert(s.len < SIZE_MAX);
    char *copy = arena_new(arena, char, s.len + 1);
    if (s.len > 0) {
        memcpy(copy, s.ptr, s.len);
    }
    return copy;
}

Str str_copy(Arena *arena, Str s) { return (Str){str_cstr(arena, s), s.len}; }

Str str_format(Arena *arena, const char *format, ...)
{
    Buf buf = {.arena = arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    return buf_str(&buf);
}

// ---- numbers ----

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool str_to_int(Str s, int64_t *out)
{
    size_t i = s.len > 0 && s.ptr[0] == '-';
    bool negative = i == 1;
    if (i == s.len) {
        return false;
    }
    int64_t n = 0; // the negative of the number, which has more room than the number
    for (; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) || __builtin_mul_overflow(n, (int64_t)10, &n) ||
            __builtin_sub_overflow(n, (int64_t)(s.ptr[i] - '0'), &n)) {
            return false;
        }
    }
    if (!negative && n == INT64_MIN) {
        return false;
    }
    *out = negative ? n : -n;
    return true;
}

// How many digits stand at `*at`, which moves behind them.
static size_t skip_digits(Str s, size_t *at)
{
    size_t begin = *at;
    while (*at < s.len && is_digit(s.ptr[*at])) {
        (*at)++;
    }
    return *at - begin;
}

// -? (digits [. digits?] | . digits) [(e|E) [+-] digits]
static bool is_decimal(Str s)
{
    size_t at = s.len > 0 && s.ptr[0] == '-';
    size_t digits = skip_digits(s, &at);
    if (at < s.len && s.ptr[at] == '.') {
        at++;
        digits += skip_digits(s, &at);
    }
    if (digits == 0) {
        return false;
    }
    if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
        at++;
        if (at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-')) {
            at++;
        }
        if (skip_digits(s, &at) == 0) {
            return false;
        }
    }
    return at == s.len;
}

bool str_to_double(Str s, double *out)
{
    if (!is_decimal(s)) {
        return false;
    }
    char small[64];
    char *copy = s.len < sizeof small ? small : malloc(s.len + 1);
    if (!copy) {
        return false;
    }
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    CLocale locale = enter_c_locale();
    double x = strtod(copy, NULL);
    leave_c_locale(locale);
    if (copy != small) {
        free(copy);
    }
    if (!isfinite(x)) {
        return false;
    }
    *out = x;
    return true;
}

// ---- the nearest name ----

enum { LONGEST_NEAR = 64 }; // longer names are not compared

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Edits from a to b: characters added, dropped, changed, or two neighbours swapped. Both at most
// LONGEST_NEAR long.
static size_t edit_distance(Str a, Str b)
{
    size_t rows[3][LONGEST_NEAR + 1]; // the last two and this one: edits from a[.. i] to b[.. j]
    for (size_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = a.ptr[i - 1] == b.ptr[j - 1];
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + !same);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1]) {
                row[j] = least(row[j], two_above[j - 2] + 1);
            }
        }
    }
    return rows[a.len % 3][b.len];
}

Str str_nearest(Str name, const Str *names, size_t n)
{
    Str best = {0};
    size_t best_distance = name.len / 3;
    if (name.len > LONGEST_NEAR) {
        return best;
    }
    for (size_t i = 0; i < n; i++) {
        if (names[i].len == 0 || names[i].len > LONGEST_NEAR) {
            continue;
        }
        size_t distance = edit_distance(name, names[i]);
        if (best.len == 0 ? distance <= best_distance : distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}

Str str_hint(Arena *arena, Str name, const Str *names, size_t n)
{
    Str near = str_nearest(name, names, n);
    return near.len > 0 ? str_format(arena, "; did you mean `%.*s`?", STR_ARG(near)) : near;
}

// ---- growing text ----

// Room for `more` bytes and the NUL behind them.
static void reserve(Buf *buf, size_t more)
{
    enum { FIRST_CAP = 64 };
    if (buf->cap - buf->len > more) {
        return;
    }
    // A sum that does not fit becomes a request that arena_array refuses.
    size_t need = 0;
    if (__builtin_add_overflow(buf->len, more, &need) || need == SIZE_MAX) {
        need = SIZE_MAX - 1;
    }
    size_t cap = buf->cap == 0 ? FIRST_CAP : 2 * buf->cap;
    cap = cap > need ? cap : need + 1;
    char *ptr = arena_new(buf->arena, char, cap);
    if (buf->len > 0) {
        memcpy(ptr, buf->ptr, buf->len);
    }
    buf->ptr = ptr;
    buf->cap = cap;
}

void buf_add(Buf *buf, Str s)
{
    reserve(buf, s.len);
    if (s.len > 0) {
        memcpy(buf->ptr + buf->len, s.ptr, s.len);
    }
    buf->len += s.len;
    buf->ptr[buf->len] = '\0';
}

void buf_char(Buf *buf, char c) { buf_add(buf, (Str){&c, 1}); }

void buf_format(Buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vformat(buf, format, args);
    va_end(args);
}

void buf_vformat(Buf *buf, const char *format, va_list args)
{
    CLocale locale = enter_c_locale();
    va_list again;
    va_copy(again, args);
    reserve(buf, 0);
    int len = vsnprintf(buf->ptr + buf->len, buf->cap - buf->len, format, args);
    if (len > 0 && (size_t)len >= buf->cap - buf->len) {
        reserve(buf, (size_t)len);
        len = vsnprintf(buf->ptr + buf->len, buf->cap - buf->len, format, again);
    }
    va_end(again);
    leave_c_locale(locale);
    buf->len += len > 0 ? (size_t)len : 0;
    buf->ptr[buf->len] = '\0';
}

// Drops from an exponent what says nothing: 1e-05 becomes 1e-5, 1e+22 becomes 1e22.
static void tidy_exponent(char *text)
{
    char *from = strchr(text, 'e');
    if (!from) {
        return;
    }
    char *to = ++from;
    if (*from == '-') {
        to++;
    }
    from += *from == '-' || *from == '+';
    while (from[0] == '0' && from[1] != '\0') {
        from++;
    }
    memmove(to, from, strlen(from) + 1);
}

void buf_double(Buf *buf, double x)
{
    if (isnan(x)) {
        buf_add(buf, STR("nan"));
        return;
    }
    if (isinf(x)) {
        buf_add(buf, x < 0 ? STR("-inf") : STR("inf"));
        return;
    }
    // Numbers below DBL_MIN have fewer digits, so that a shorter text may do for them.
    char text[40];
    CLocale locale = enter_c_locale();
    for (int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) {
            break;
        }
    }
    leave_c_locale(locale);
    tidy_exponent(text);
    buf_add(buf, str_from(text));
    if (!strpbrk(text, ".e")) {
        buf_add(buf, STR(".0"));
    }
}

void buf_quoted(Buf *buf, Str s)
{
    buf_char(buf, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\') {
            buf_char(buf, '\\');
            buf_char(buf, (char)c);
        } else if (c == '\n') {
            buf_add(buf, STR("\\n"));
        } else if (c < 32) {
            buf_format(buf, "\\x%02x", c);
        } else {
            buf_char(buf, (char)c);
        }
    }
    buf_char(buf, '"');
}

void buf_word(Buf *buf, Str s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    bool is_plain = s.len > 0;
    for (size_t i = 0; i < s.len; i++) {
        is_plain = is_plain && memchr(plain, s.ptr[i], sizeof plain - 1) != NULL;
    }
    if (is_plain) {
        buf_add(buf, s);
        return;
    }
    buf_char(buf, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') {
            buf_add(buf, STR("'\\''"));
        } else {
            buf_char(buf, s.ptr[i]);
        }
    }
    buf_char(buf, '\'');
}

Str buf_str(const Buf *buf) { return (Str){buf->len > 0 ? buf->ptr : "", buf->len}; }
