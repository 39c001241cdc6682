// Maps from text to pointers, in order of insertion. Any layer may include this.
#ifndef SLUICE_BASE_MAP_H
#define SLUICE_BASE_MAP_H

#include "base/str.h"

typedef struct MapEntry {
    Str key;
    void *value;
    uint64_t hash;
} MapEntry;

typedef struct Map {
    Arena *arena;
    MapEntry *entries; // [n] in order of insertion
    size_t n;
    size_t cap;
    uint32_t *slots; // [nslots] index + 1 of an entry, 0 is free
    size_t nslots;
} Map;

// Starts as {.arena = a}. The key is borrowed, not copied.
void map_put(Map *map, Str key, void *value);
void *map_get(const Map *map, Str key); // NULL if absent
bool map_has(const Map *map, Str key);

#endif
