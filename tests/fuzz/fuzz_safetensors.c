// The reader of safetensors, on bytes as they are, and as a header whose length is right and whose
// data is a few bytes. So that the corpus is text, what it holds are headers.
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Reads every tensor in every way, as far as it is small.
static void read_all(Diag *dx, const StFile *file)
{
    enum { MOST = 64 };
    double out[MOST];
    for (size_t i = 0; i < file->n; i++) {
        const StTensor *t = &file->tensors[i];
        if (st_find(file, t->name) != t) {
            abort();
        }
        if (t->count <= MOST) {
            st_read_f32(dx, file, t, (float *)out);
            st_read_f64(dx, file, t, out);
            st_read_i32(dx, file, t, (int32_t *)out);
            st_read_bool(dx, file, t, (uint8_t *)out);
        }
    }
}

static void open_and_read(const uint8_t *data, size_t size)
{
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    StFile *file = st_open_bytes(arena, dx, "fuzz", data, size);
    if (file) {
        read_all(dx, file);
        st_close(file);
    } else if (diag_nerrors(dx) == 0) {
        abort(); // refused without a word
    }
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { DATA_BYTES = 16 };
    open_and_read(data, size);
    uint8_t *file = calloc(1, 8 + size + DATA_BYTES);
    if (!file) {
        return 0;
    }
    uint64_t length = size;
    memcpy(file, &length, 8);
    if (size > 0) {
        memcpy(file + 8, data, size);
    }
    for (size_t data_bytes = 0; data_bytes <= DATA_BYTES; data_bytes += 4) {
        open_and_read(file, 8 + size + data_bytes);
    }
    free(file);
    return 0;
}
