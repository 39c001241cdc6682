#include "size_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

Arena *arena;

int size_set_up(void **state)
{
    (void)state;
    arena = arena_create();
    return 0;
}

int size_tear_down(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

// ---- reading ----

static const char *cursor;

static const Size *read_sum(void);

static char peek(void)
{
    while (*cursor == ' ') {
        cursor++;
    }
    return *cursor;
}

static bool take(char c)
{
    if (peek() != c) {
        return false;
    }
    cursor++;
    return true;
}

static int64_t read_number(void)
{
    int64_t n = 0;
    size_t len = strspn(cursor, "0123456789");
    assert_true(str_to_int((Str){cursor, len}, &n));
    cursor += len;
    return n;
}

static const Size *read_atom(void)
{
    if (take('(')) {
        const Size *inner = read_sum();
        assert_true(take(')'));
        return inner;
    }
    if (peek() >= '0' && peek() <= '9') {
        return size_int(arena, read_number());
    }
    size_t len = strspn(cursor, "abcdefghijklmnopqrstuvwxyz_");
    assert_true(len > 0);
    Str name = {cursor, len};
    cursor += len;
    return size_symbol(arena, str_copy(arena, name));
}

static const Size *read_product(void)
{
    const Size *x = read_atom();
    for (;;) {
        if (take('*')) {
            x = size_mul(arena, x, read_atom());
        } else if (take('/')) {
            (void)peek();
            x = size_div(arena, x, read_number());
        } else if (take('%')) {
            (void)peek();
            x = size_mod(arena, x, read_number());
        } else {
            return x;
        }
    }
}

static const Size *read_sum(void)
{
    const Size *x = take('-') ? size_scale(arena, read_product(), -1) : read_product();
    for (;;) {
        if (take('+')) {
            x = size_add(arena, x, read_product());
        } else if (take('-')) {
            x = size_sub(arena, x, read_product());
        } else {
            return x;
        }
    }
}

const Size *size_of(const char *text)
{
    cursor = text;
    const Size *x = read_sum();
    assert_int_equal(peek(), '\0');
    return x;
}

const char *text_of(const Size *x) { return str_cstr(arena, size_text(arena, x)); }

// ---- random numbers ----

SizeBinding values[SYMBOLS] = {{{"x", 1}, 1}, {{"y", 1}, 1}, {{"z", 1}, 1}};

uint64_t seed;

int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}
