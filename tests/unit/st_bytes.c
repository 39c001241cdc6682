#include "st_bytes.h"

#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int env_set_up(void **state)
{
    Env *env = calloc(1, sizeof *env);
    env->arena = arena_create();
    env->dx = diag_create(env->arena);
    *state = env;
    return 0;
}

int env_tear_down(void **state)
{
    Env *env = *state;
    arena_destroy(env->arena);
    free(env);
    return 0;
}

Bytes make_file(Str header, const void *data, size_t data_bytes)
{
    Bytes out = {.size = 8 + header.len + data_bytes};
    out.data = malloc(out.size);
    uint64_t length = header.len;
    memcpy(out.data, &length, 8);
    memcpy(out.data + 8, header.ptr, header.len);
    if (data_bytes > 0) {
        memcpy(out.data + 8 + header.len, data, data_bytes);
    }
    return out;
}

StFile *open_bytes(Env *env, Bytes bytes)
{
    return st_open_bytes(env->arena, env->dx, "w.safetensors", bytes.data, bytes.size);
}

static Bytes with_zeros(const char *header, size_t nzeros)
{
    uint8_t *zeros = calloc(1, nzeros + 1);
    Bytes bytes = make_file(str_from(header), zeros, nzeros);
    free(zeros);
    return bytes;
}

void assert_refused(Env *env, const char *header, size_t nzeros, const char *part)
{
    Bytes bytes = with_zeros(header, nzeros);
    if (open_bytes(env, bytes)) {
        fail_msg("accepted: %s", header);
    }
    assert_says(env->dx, part);
    env->dx = diag_create(env->arena); // one takes 20 errors
    free(bytes.data);
}

void assert_accepted(Env *env, const char *header, size_t nzeros, size_t ntensors)
{
    Bytes bytes = with_zeros(header, nzeros);
    StFile *file = open_bytes(env, bytes);
    if (!file) {
        fail_msg("refused: %s", said(env->dx));
    }
    assert_int_equal(file->n, ntensors);
    st_close(file);
    free(bytes.data);
}
