// Growing arrays: `typedef VEC(int64_t) Ints;`, `vec_push(arena, &v, x)`, `v.items[i]`, `v.n`.
// Starts zeroed. Old storage stays in the arena. Any layer may include this.
#ifndef SLUICE_BASE_VEC_H
#define SLUICE_BASE_VEC_H

#include "base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t n;                                                                                  \
        size_t cap;                                                                                \
    }

#define vec_push(arena, v, x)                                                                      \
    ((v)->n == (v)->cap                                                                            \
         ? (void)((v)->items = vec_grow((arena), (v)->items, &(v)->cap, sizeof *(v)->items))       \
         : (void)0,                                                                                \
     (void)((v)->items[(v)->n++] = (x)))

// At least twice the room; copies the old items.
void *vec_grow(Arena *arena, void *items, size_t *cap, size_t size);

#endif
