// Safetensors files in memory, for tests.
#ifndef SLUICE_TESTS_ST_BYTES_H
#define SLUICE_TESTS_ST_BYTES_H

#include "io/safetensors.h"

typedef struct Env {
    Arena *arena;
    Diag *dx;
} Env;

int env_set_up(void **state);
int env_tear_down(void **state);

// A file's bytes from malloc, in memory of just that size, so that ASan sees every byte too far.
typedef struct Bytes {
    uint8_t *data;
    size_t size;
} Bytes;

// The header's length, its text, the data.
Bytes make_file(Str header, const void *data, size_t data_bytes);
// Opens it as "w.safetensors".
StFile *open_bytes(Env *env, Bytes bytes);

// The header with `nzeros` zero bytes behind it must be refused with a message that holds `part`.
void assert_refused(Env *env, const char *header, size_t nzeros, const char *part);
void assert_accepted(Env *env, const char *header, size_t nzeros, size_t ntensors);

#endif
