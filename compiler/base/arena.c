// Arenas: a chain of blocks, filled from the front.
//
// A block comes zeroed from calloc. `dirty` is how far it was ever written, so that only memory in
// use for a second time has to be cleared: large tables cost no pass over their memory before their
// first use.
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifndef ARENA_ASAN
#define ARENA_ASAN 0
#endif

#if ARENA_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(ptr, bytes)   ((void)(ptr), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, bytes) ((void)(ptr), (void)(bytes))
#endif

enum {
    FIRST_BLOCK_BYTES = 64 << 10,
    MOST_BLOCK_BYTES = 1 << 20, // what does not fit gets a block of its own
    MOST_ALIGN = 64,
    RED_ZONE_BYTES = ARENA_ASAN ? 16 : 0, // between allocations, so that ASan sees an overrun
    LEAST_ALIGN = ARENA_ASAN ? 8 : 1,     // ASan's granule
    POISON = 0xdd
};

typedef struct Block {
    struct Block *prev;
    unsigned char *data; // [cap], behind this header
    size_t cap;
    size_t used;
    size_t dirty; // bytes from here on are still zero
} Block;

struct Arena {
    Block *last;
};

// An allocation that fails is the environment's fault, so the exit status is that of diag_fail.
static _Noreturn void out_of_memory(void)
{
    fputs("sluice: error: out of memory\n", stderr);
    exit(3);
}

static void add_block(Arena *arena, size_t least_bytes)
{
    size_t cap = FIRST_BLOCK_BYTES;
    if (arena->last) {
        cap = arena->last->cap < MOST_BLOCK_BYTES / 2 ? 2 * arena->last->cap : MOST_BLOCK_BYTES;
    }
    if (cap < least_bytes) {
        cap = least_bytes;
    }
    if (cap > PTRDIFF_MAX - sizeof(Block)) {
        out_of_memory();
    }
    Block *block = calloc(1, sizeof(Block) + cap);
    if (!block) {
        out_of_memory();
    }
    block->prev = arena->last;
    block->data = (unsigned char *)(block + 1);
    block->cap = cap;
    ASAN_POISON_MEMORY_REGION(block->data, cap);
    arena->last = block;
}

static void drop_last_block(Arena *arena)
{
    Block *block = arena->last;
    arena->last = block->prev;
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->cap);
    free(block);
}

Arena *arena_create(void)
{
    Arena *arena = calloc(1, sizeof *arena);
    if (!arena) {
        out_of_memory();
    }
    return arena;
}

void arena_destroy(Arena *arena)
{
    if (!arena) {
        return;
    }
    while (arena->last) {
        drop_last_block(arena);
    }
    free(arena);
}

// The first multiple of `align` behind what the block holds, as an offset into its data.
static size_t next_offset(const Block *block, size_t align)
{
    uintptr_t at = (uintptr_t)block->data + block->used;
    return block->used + (size_t)(-at & (align - 1));
}

void *arena_alloc(Arena *arena, size_t bytes, size_t align)
{
    assert(align > 0 && align <= MOST_ALIGN && (align & (align - 1)) == 0);
    align = align < LEAST_ALIGN ? LEAST_ALIGN : align;
    if (bytes > PTRDIFF_MAX - MOST_ALIGN - RED_ZONE_BYTES) {
        out_of_memory();
    }
    size_t need = bytes + RED_ZONE_BYTES;
    Block *block = arena->last;
    size_t begin = block ? next_offset(block, align) : 0;
    if (!block || begin > block->cap || need > block->cap - begin) {
        add_block(arena, need + MOST_ALIGN);
        block = arena->last;
        begin = next_offset(block, align);
    }
    unsigned char *ptr = block->data + begin;
    ASAN_UNPOISON_MEMORY_REGION(ptr, bytes);
    if (begin < block->dirty) {
        size_t written = block->dirty - begin;
        memset(ptr, 0, written < bytes ? written : bytes);
    }
    block->used = begin + need;
    block->dirty = block->dirty < block->used ? block->used : block->dirty;
    return ptr;
}

void *arena_array(Arena *arena, size_t n, size_t size, size_t align)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        out_of_memory();
    }
    return arena_alloc(arena, bytes, align);
}

ArenaMark arena_mark(const Arena *arena)
{
    return (ArenaMark){.block = arena->last, .used = arena->last ? arena->last->used : 0};
}

void arena_reset(Arena *arena, ArenaMark mark)
{
    while (arena->last && arena->last != mark.block) {
        drop_last_block(arena);
    }
    Block *block = arena->last;
    if (!block) {
        assert(!mark.block);
        return;
    }
    assert(mark.used <= block->used);
    unsigned char *begin = block->data + mark.used;
    size_t bytes = block->used - mark.used;
#ifndef NDEBUG
    ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
    memset(begin, POISON, bytes);
#endif
    ASAN_POISON_MEMORY_REGION(begin, bytes);
    block->used = mark.used;
}
