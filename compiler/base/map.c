// Maps: open addressing with linear probing over a table of indices; the entries themselves stay in
// order.
#include "base/map.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

// Keys come from files, whose makers must not be able to choose such that collide: the hash is
// another one in each process. Nothing but time depends on it.
static uint64_t hash_key(Str key)
{
    static uint64_t seed; // 0: none yet
    if (seed == 0) {
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
            seed = (uint64_t)(uintptr_t)&seed; // where the process was loaded
        }
        seed |= 1;
    }
    return XXH3_64bits_withSeed(key.len > 0 ? key.ptr : "", key.len, seed);
}

// The slot that holds the key, or the free one where it belongs. nslots is a power of two, and not
// all are taken.
static size_t find_slot(const Map *map, Str key, uint64_t hash)
{
    size_t mask = map->nslots - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        if (map->slots[i] == 0) {
            return i;
        }
        const MapEntry *entry = &map->entries[map->slots[i] - 1];
        if (entry->hash == hash && str_equal(entry->key, key)) {
            return i;
        }
    }
}

static void grow(Map *map)
{
    enum { FIRST_SLOTS = 16 };
    map->nslots = map->nslots == 0 ? FIRST_SLOTS : 2 * map->nslots;
    map->slots = arena_new(map->arena, uint32_t, map->nslots);
    map->cap = map->nslots / 4 * 3;
    MapEntry *entries = arena_new(map->arena, MapEntry, map->cap);
    if (map->n > 0) {
        memcpy(entries, map->entries, map->n * sizeof *entries);
    }
    map->entries = entries;
    for (size_t i = 0; i < map->n; i++) {
        map->slots[find_slot(map, entries[i].key, entries[i].hash)] = (uint32_t)(i + 1);
    }
}

void map_put(Map *map, Str key, void *value)
{
    uint64_t hash = hash_key(key);
    if (map->nslots > 0) {
        uint32_t index = map->slots[find_slot(map, key, hash)];
        if (index != 0) {
            map->entries[index - 1].value = value;
            return;
        }
    }
    if (map->n == map->cap) {
        grow(map);
    }
    assert(map->n < UINT32_MAX);
    map->entries[map->n] = (MapEntry){.key = key, .value = value, .hash = hash};
    map->n++;
    map->slots[find_slot(map, key, hash)] = (uint32_t)map->n;
}

static const MapEntry *find(const Map *map, Str key)
{
    if (map->nslots == 0) {
        return NULL;
    }
    uint32_t index = map->slots[find_slot(map, key, hash_key(key))];
    return index == 0 ? NULL : &map->entries[index - 1];
}

void *map_get(const Map *map, Str key)
{
    const MapEntry *entry = find(map, key);
    return entry ? entry->value : NULL;
}

bool map_has(const Map *map, Str key) { return find(map, key) != NULL; }
