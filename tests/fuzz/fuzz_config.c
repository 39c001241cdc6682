// Import, on bytes as a config.json, and the reader of an index of weights, on the same. What
// import accepts must be text that holds one model; what either refuses it must say why.
#include "front/front.h"
#include "io/import.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A file that has no name but this, with the bytes in it.
static const char *write_bytes(Arena *arena, FILE *file, const uint8_t *data, size_t size)
{
    rewind(file);
    if (fwrite(data, 1, size, file) != size || fflush(file) != 0 ||
        ftruncate(fileno(file), (off_t)size) != 0) {
        abort();
    }
    return str_cstr(arena, str_format(arena, "/dev/fd/%d", fileno(file)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *file;
    file = file ? file : tmpfile();
    if (!file) {
        abort();
    }
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    FrontFile imported = {.name = STR("imported.slu"), .key = STR("imported.slu")};
    if (import_config(arena, dx, write_bytes(arena, file, data, size), &imported.text)) {
        size_t nmodels = 0;
        front_models(arena, dx, &imported, &nmodels);
        if (nmodels != 1 || diag_nerrors(dx) > 0) {
            abort();
        }
    } else if (diag_nerrors(dx) == 0) {
        abort(); // refused without a word
    }
    // The same bytes as the index of a checkpoint in several files.
    dx = diag_create(arena);
    StFile *index = st_open_index(arena, dx, write_bytes(arena, file, data, size));
    if (index) {
        st_close(index);
    } else if (diag_nerrors(dx) == 0) {
        abort();
    }
    arena_destroy(arena);
    return 0;
}
