// The weights: one blob, behind the model's image, in a file beside it, or in memory.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS

#include "runtime/loader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

// The footer of `file`, known to lie within it and to belong to this model.
static SlStatus read_footer(const SlModel *model, const SliFile *file, SlAbiFooter *footer,
                            SlError *error)
{
    const SlAbiModel *table = model->table;
    bool footed = file->bytes >= file->image + sizeof *footer;
    if (footed) {
        SL_TRY(sli_file_read(file, file->bytes - sizeof *footer, footer, sizeof *footer, error));
        footed = memcmp(footer->magic, SL_FOOTER_MAGIC, sizeof footer->magic) == 0;
    }
    if (!footed && file->image > 0 && file->bytes == file->image)
        return SL_FAIL(error, SL_E_WEIGHTS_MISSING,
                       "'%s' holds no weights, the model was built with %llu bytes of them",
                       file->path, (unsigned long long)table->weights_bytes);
    if (!footed)
        return SL_FAIL(error, SL_E_TRUNCATED, "'%s' ends after %llu bytes, inside the weights",
                       file->path, (unsigned long long)file->bytes);
    if (footer->bytes != table->weights_bytes || footer->hash != table->weights_hash)
        return SL_FAIL(error, SL_E_WEIGHTS_FOREIGN,
                       "'%s' holds the weights of another model than '%s'", file->path,
                       table->name);
    uint64_t room = file->bytes - sizeof *footer;
    if (footer->offset < file->image || footer->offset > room ||
        footer->bytes > room - footer->offset)
        return SL_FAIL(error, SL_E_TRUNCATED, "'%s' has no room for the weights that it speaks of",
                       file->path);
    return SL_OK;
}

// Pages behind the file's last one cannot be touched, but SL_ABI_SLACK bytes behind the weights
// must be: the file is mapped over anonymous pages that reach far enough.
static SlStatus map_weights(SlModel *model, const SliFile *file, const SlAbiFooter *footer,
                            SlError *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = (footer->bytes + SL_ABI_SLACK + page - 1) / page * page;
    if (footer->offset % page != 0)
        return SL_FAIL(error, SL_E_FILE, "'%s': the weights begin at byte %llu, between two pages",
                       file->path, (unsigned long long)footer->offset);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return SL_FAIL(error, SL_E_MEMORY, "'%s': %s", file->path, strerror(errno));
    model->map = map;
    model->map_bytes = bytes;
    if (mmap(map, footer->bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file->fd,
             (off_t)footer->offset) == MAP_FAILED)
        return SL_FAIL(error, SL_E_FILE, "'%s': cannot be mapped: %s", file->path, strerror(errno));
    model->weights = map;
    return SL_OK;
}

static SlStatus take_file(SlModel *model, const SliFile *file, SlError *error)
{
    SlAbiFooter footer;
    SL_TRY(read_footer(model, file, &footer, error));
    return map_weights(model, file, &footer, error);
}

static SlStatus take_named(SlModel *model, const char *path, SlError *error)
{
    SliFile file;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return SL_FAIL(error, SL_E_WEIGHTS_MISSING, "'%s', the weights of '%s', is not there", path,
                       model->table->name);
    SL_TRY(sli_file_open(path, &file, error));
    file.image = 0;
    SlStatus status = take_file(model, &file, error);
    sli_file_close(&file);
    return status;
}

static SlStatus take_beside(SlModel *model, const SliFile *own, SlError *error)
{
    char path[PATH_MAX];
    const char *slash = strrchr(own->path, '/');
    int folder = slash ? (int)(slash - own->path + 1) : 0;
    int n = snprintf(path, sizeof path, "%.*s%s", folder, own->path, model->table->weights_file);
    if (n < 0 || (size_t)n >= sizeof path)
        return SL_FAIL(error, SL_E_FILE, "the path of the weights is too long");
    return take_named(model, path, error);
}

static SlStatus take_memory(SlModel *model, const SlOpenOptions *options, SlError *error)
{
    if ((uintptr_t)options->weights % SL_ABI_ALIGN != 0)
        return SL_FAIL(error, SL_E_ALIGN, "weights: the address is no multiple of %u",
                       SL_ABI_ALIGN);
    if (options->weights_bytes < model->table->weights_bytes)
        return SL_FAIL(error, SL_E_TRUNCATED, "weights: %llu bytes, '%s' needs %llu",
                       (unsigned long long)options->weights_bytes, model->table->name,
                       (unsigned long long)model->table->weights_bytes);
    model->weights = options->weights;
    return SL_OK;
}

static SlStatus verify(const SlModel *model, SlError *error)
{
    for (uint32_t i = 0; i < model->table->nweights; i++) {
        const SlAbiWeight *weight = sli_at(model->table->weights, i);
        if (XXH3_64bits(model->weights + weight->offset, weight->bytes) != weight->hash)
            return SL_FAIL(error, SL_E_WEIGHTS_FLIPPED, "the weights of '%s' are damaged in '%s'",
                           model->table->name, weight->name);
    }
    return SL_OK;
}

SlStatus sli_take_weights(SlModel *model, const SliFile *own, const SlOpenOptions *options,
                          SlError *error)
{
    const SlAbiModel *table = model->table;
    if (table->weights_bytes == 0)
        return SL_OK;
    SlStatus status;
    if (options->weights)
        status = take_memory(model, options, error);
    else if (options->weights_file)
        status = take_named(model, options->weights_file, error);
    else if (!own)
        status = SL_FAIL(error, SL_E_WEIGHTS_MISSING,
                         "'%s' is linked in: its weights must be given", table->name);
    else if (table->weights_place == SL_WEIGHTS_BESIDE)
        status = take_beside(model, own, error);
    else
        status = take_file(model, own, error);
    SL_TRY(status);
    return options->verify ? verify(model, error) : SL_OK;
}

void sli_unmap_weights(SlModel *model)
{
    if (model->map)
        munmap(model->map, model->map_bytes);
}
