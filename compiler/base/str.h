// Text: `Str` is a borrowed slice, not NUL-terminated; `Buf` grows, for printing. Numbers are
// written and read without the host's locale. Any layer may include this.
#ifndef SLUICE_BASE_STR_H
#define SLUICE_BASE_STR_H

#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
#define STR_ARG(s)   (int)(s).len, (s).ptr // for printf's %.*s

Str str_from(const char *cstr);
bool str_equal(Str a, Str b);
int str_compare(Str a, Str b); // as strcmp, by bytes
uint64_t str_hash(Str s);      // the same on every machine
bool str_starts(Str s, Str prefix);
bool str_ends(Str s, Str suffix);
bool str_is_identifier(Str s); // letters, digits and `_`, no digit first
Str str_copy(Arena *arena, Str s);
const char *str_cstr(Arena *arena, Str s); // a NUL-terminated copy
__attribute__((format(printf, 2, 3))) Str str_format(Arena *arena, const char *format, ...);

// A decimal integer, `-` before it or not, that fills all of `s`; false if it is none or does not
// fit.
bool str_to_int(Str s, int64_t *out);
// A decimal number (1, .5, 1., -1e-5) that fills all of `s`, locale-free; false for nan, inf,
// overflow, other forms.
bool str_to_double(Str s, double *out);

// The member of `names` most like `name` (edit distance at most a third of its length), or an empty
// Str.
Str str_nearest(Str name, const Str *names, size_t n);
// "; did you mean `gather`?" for the end of a message, or nothing.
Str str_hint(Arena *arena, Str name, const Str *names, size_t n);

// Growing text. Starts as {.arena = a}.
typedef struct Buf {
    Arena *arena;
    char *ptr; // always NUL-terminated once something was added
    size_t len;
    size_t cap;
} Buf;

void buf_add(Buf *buf, Str s);
void buf_char(Buf *buf, char c);
__attribute__((format(printf, 2, 3))) void buf_format(Buf *buf, const char *format, ...);
void buf_vformat(Buf *buf, const char *format, va_list args);
// The shortest decimal that reads back as the same double; always with a '.' or an exponent, but
// for inf, -inf, nan.
void buf_double(Buf *buf, double x);
// `s` in double quotes; quotes, backslashes and bytes under 32 escaped (\" \\ \n \xHH).
void buf_quoted(Buf *buf, Str s);
// `s` as one word of a shell, in single quotes if need be.
void buf_word(Buf *buf, Str s);
Str buf_str(const Buf *buf);

#endif
