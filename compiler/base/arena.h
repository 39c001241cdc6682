// Memory of the compiler: everything lives in an arena and is never freed singly.
//
// `Arena *perm` holds what lives as long as the compilation, `Arena *tmp` what one pass needs: it
// marks on entry and resets on exit. Running out of memory ends the process: there is nothing a
// compiler could do about it. Any layer may include this.
#ifndef SLUICE_BASE_ARENA_H
#define SLUICE_BASE_ARENA_H

#include <stddef.h>

typedef struct Arena Arena;

typedef struct ArenaMark {
    void *block;
    size_t used;
} ArenaMark;

Arena *arena_create(void);
void arena_destroy(Arena *arena);

// Zeroed memory. `align` is a power of two, at most 64.
void *arena_alloc(Arena *arena, size_t bytes, size_t align);
// n objects of `size` bytes, the product checked.
void *arena_array(Arena *arena, size_t n, size_t size, size_t align);
#define arena_new(arena, T, n) ((T *)arena_array((arena), (n), sizeof(T), _Alignof(T)))

ArenaMark arena_mark(const Arena *arena);
// Frees what was allocated after the mark; debug builds poison it, so that ASan reports its use.
void arena_reset(Arena *arena, ArenaMark mark);

#endif
