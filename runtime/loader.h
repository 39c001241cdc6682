// What loader.c and weights.c share: files, and where weights come from. For these two alone.
#ifndef SLUICE_RUNTIME_LOADER_H
#define SLUICE_RUNTIME_LOADER_H

#include "runtime/internal.h"

typedef struct SliFile {
    const char *path;
    int fd;
    uint64_t inode;
    uint64_t bytes;
    uint64_t image; // of a model's own file: where the ELF image ends; else 0
} SliFile;

// Opens a regular file for reading; closed again on failure. SL_E_FILE.
SlStatus sli_file_open(const char *path, SliFile *file, SlError *error);
void sli_file_close(SliFile *file);
SlStatus sli_file_read(const SliFile *file, uint64_t offset, void *bytes, size_t n, SlError *error);

// Finds, checks and maps the weights. `own` is the model's file, NULL if it is linked in. What was
// mapped is left to sli_unmap_weights() on failure too.
SlStatus sli_take_weights(SlModel *model, const SliFile *own, const SlOpenOptions *options,
                          SlError *error);
void sli_unmap_weights(SlModel *model);

#endif
