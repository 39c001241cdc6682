// Whole-number arithmetic that C leaves out.
#include "base/ints.h"

int64_t int_floor_div(int64_t n, int64_t d) { return n / d - (n % d < 0); }

int64_t int_ceil_div(int64_t n, int64_t d) { return n / d + (n % d > 0); }

int64_t int_gcd(int64_t x, int64_t y)
{
    while (y != 0) {
        int64_t r = x % y;
        x = y;
        y = r;
    }
    return x < 0 ? -x : x;
}
