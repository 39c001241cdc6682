// Growing arrays: the storage behind vec_push.
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

void *vec_grow(Arena *arena, void *items, size_t *cap, size_t size)
{
    enum { FIRST_CAP = 8 };
    size_t old = *cap;
    // An array of more than SIZE_MAX / 2 items ends in arena_array, which checks the product.
    size_t grown = old == 0 ? FIRST_CAP : old <= SIZE_MAX / 2 ? 2 * old : SIZE_MAX;
    void *moved = arena_array(arena, grown, size, _Alignof(max_align_t));
    if (old > 0) {
        memcpy(moved, items, old * size);
    }
    *cap = grown;
    return moved;
}
