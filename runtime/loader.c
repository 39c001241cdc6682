// Opening and closing: the file and its code, the variant that fits this processor, the weights.
//
//   path ─ look at the ELF header ─ dlopen ─ query ─ table.c ─ choose ─ weights.c
//
// The header is read before the loader maps the file: a file that ends early would be a signal at
// the first touch of a missing page, not an error.
#include "runtime/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

enum { MAX_SEGMENTS = 256 };

static void *allocate_default(void *context, size_t bytes, size_t align)
{
    (void)context;
    size_t rounded = (bytes + align - 1) / align * align;
    return rounded < bytes ? NULL : aligned_alloc(align, rounded);
}

static void release_default(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

SlStatus sli_choose_allocator(const SlAllocator *wanted, const SlAllocator *otherwise,
                              SlAllocator *allocator, SlError *error)
{
    static const SlAllocator standard = {NULL, allocate_default, release_default};
    *allocator = wanted ? *wanted : otherwise ? *otherwise : standard;
    if (!allocator->allocate || !allocator->release)
        return SL_FAIL(error, SL_E_OPTION, "allocator: a function is NULL");
    return SL_OK;
}

SlStatus sli_file_open(const char *path, SliFile *file, SlError *error)
{
    struct stat st;
    file->path = path;
    // Without O_NONBLOCK a pipe of that name would wait for a writer.
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &st) != 0) {
        SlStatus status = SL_FAIL(error, SL_E_FILE, "'%s': %s", path, strerror(errno));
        sli_file_close(file);
        return status;
    }
    if (!S_ISREG(st.st_mode)) {
        sli_file_close(file);
        return SL_FAIL(error, SL_E_FILE, "'%s': not a file", path);
    }
    file->inode = (uint64_t)st.st_ino;
    file->bytes = (uint64_t)st.st_size;
    return SL_OK;
}

void sli_file_close(SliFile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

SlStatus sli_file_read(const SliFile *file, uint64_t offset, void *bytes, size_t n, SlError *error)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(file->fd, (char *)bytes + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SL_FAIL(error, SL_E_FILE, "'%s': %s", file->path, strerror(errno));
        if (got == 0)
            return SL_FAIL(error, SL_E_TRUNCATED, "'%s' ends at byte %llu", file->path,
                           (unsigned long long)offset + done);
        done += (size_t)got;
    }
    return SL_OK;
}

// The end of `count` things of `size` bytes at `offset`, or UINT64_MAX if there is none.
static uint64_t end_of(uint64_t offset, uint64_t count, uint64_t size)
{
    uint64_t bytes;
    uint64_t end;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(offset, bytes, &end))
        return UINT64_MAX;
    return end;
}

// file->image: where the ELF image ends, by its own account.
static SlStatus check_image(SliFile *file, SlError *error)
{
    Elf64_Ehdr header;
    if (file->bytes < sizeof header)
        return SL_FAIL(error, SL_E_NOT_MODEL, "'%s': not a shared object", file->path);
    SL_TRY(sli_file_read(file, 0, &header, sizeof header, error));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > MAX_SEGMENTS)
        return SL_FAIL(error, SL_E_NOT_MODEL, "'%s': not a shared object", file->path);
    if (header.e_machine != OWN_MACHINE)
        return SL_FAIL(error, SL_E_CPU,
                       "'%s': compiled for another kind of processor (ELF machine %u)", file->path,
                       header.e_machine);
    uint64_t end = end_of(header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr));
    if (header.e_shoff > 0) {
        uint64_t sections = end_of(header.e_shoff, header.e_shnum, header.e_shentsize);
        end = sections > end ? sections : end;
    }
    for (uint32_t i = 0; i < header.e_phnum && end <= file->bytes; i++) {
        Elf64_Phdr segment;
        SL_TRY(sli_file_read(file, header.e_phoff + i * sizeof segment, &segment, sizeof segment,
                             error));
        uint64_t segment_end = end_of(segment.p_offset, segment.p_filesz, 1);
        if (segment_end > end)
            end = segment_end;
    }
    if (end > file->bytes)
        return SL_FAIL(error, SL_E_TRUNCATED, "'%s' ends after %llu bytes, inside its code",
                       file->path, (unsigned long long)file->bytes);
    file->image = end;
    return SL_OK;
}

// The path as the loader gets it. That takes a file for one that is loaded already if the text of
// its path is the same, and so what replaced an open model for that model: each file has a spelling
// of its own, in which a bit of its inode number is "/" or "/.". A name without a slash would be
// looked for in the system's library folders.
static bool spell_path(const SliFile *file, char *out, size_t size)
{
    const char *slash = strrchr(file->path, '/');
    size_t folder = slash ? (size_t)(slash - file->path) : 1;
    const char *name = slash ? slash + 1 : file->path;
    if (folder + (size_t)2 * 64 + 1 + strlen(name) + 1 > size)
        return false;
    memcpy(out, slash ? file->path : ".", folder);
    out += folder;
    for (uint64_t bits = file->inode; bits > 0; bits >>= 1) {
        *out++ = '/';
        if (bits & 1)
            *out++ = '.';
    }
    *out++ = '/';
    memcpy(out, name, strlen(name) + 1);
    return true;
}

static SlStatus load_object(SlModel *model, const SliFile *file, SlAbiQuery *query, SlError *error)
{
    const char *path = file->path;
    char spelled[PATH_MAX];
    if (!spell_path(file, spelled, sizeof spelled))
        return SL_FAIL(error, SL_E_FILE, "the path is too long");
    model->handle = dlopen(spelled, RTLD_NOW | RTLD_LOCAL);
    if (!model->handle) {
        const char *why = dlerror();
        size_t n = strlen(spelled);
        if (why && strncmp(why, spelled, n) == 0 && strncmp(why + n, ": ", 2) == 0)
            why += n + 2;
        return SL_FAIL(error, SL_E_NOT_MODEL, "'%s': %s", path, why ? why : "cannot be loaded");
    }
    void *symbol = dlsym(model->handle, SL_QUERY_NAME);
    if (!symbol)
        return SL_FAIL(error, SL_E_NOT_MODEL, "'%s': a shared object, but no compiled model", path);
    // ISO C has no conversion from a data pointer.
    memcpy(query, &symbol, sizeof *query);
    return SL_OK;
}

static SlStatus choose_variant(SlModel *model, SlError *error)
{
    const SlAbiModel *table = model->table;
    uint64_t own = sli_cpu_features();
    const SlAbiVariant *variant = table->variants;
    for (uint32_t i = 0; i < table->nvariants; i++) {
        variant = sli_at(table->variants, i);
        if (!(variant->features & ~own)) {
            model->variant = variant;
            return sli_check_variant(table, variant, error);
        }
    }
    char names[160];
    SliText text = sli_text(names, sizeof names);
    sli_add_features(&text, variant->features & ~own);
    return SL_FAIL(error, SL_E_CPU, "'%s' is compiled for %s, this processor lacks %s", table->name,
                   variant->target ? variant->target : "another target", names);
}

static SlStatus use_table(SlModel *model, SlAbiQuery query, SlError *error)
{
    model->table = query(SL_ABI_VERSION);
    if (!model->table)
        return SL_FAIL(error, SL_E_VERSION,
                       "the model is made for a newer runtime; this one knows "
                       "table version %u",
                       SL_ABI_VERSION);
    SL_TRY(sli_check_model(model->table, error));
    return choose_variant(model, error);
}

static void unload(SlModel *model)
{
    sli_unmap_weights(model);
    if (model->handle)
        dlclose(model->handle);
}

// The model with what was opened for it, or everything is undone.
static SlStatus finish(SlModel *model, SlStatus status, SlModel **out, SlError *error)
{
    if (status == SL_OK) {
        *out =
            model->allocator.allocate(model->allocator.context, sizeof *model, _Alignof(SlModel));
        if (*out) {
            memcpy(*out, model, sizeof *model);
            atomic_init(&(*out)->contexts, 0);
            return sli_ok(error);
        }
        status = SL_FAIL(error, SL_E_MEMORY, "no memory for a model");
    }
    unload(model);
    return status;
}

static SlStatus check_options(const SlOpenOptions *options, SlModel *model, SlError *error)
{
    SL_TRY(sli_choose_allocator(options->allocator, NULL, &model->allocator, error));
    if (options->weights && options->weights_file)
        return SL_FAIL(error, SL_E_OPTION, "weights and weights_file are both given");
    return SL_OK;
}

static SlStatus open_file(SlModel *model, SliFile *file, const SlOpenOptions *options,
                          SlError *error)
{
    SlAbiQuery query;
    SL_TRY(check_image(file, error));
    SL_TRY(load_object(model, file, &query, error));
    SL_TRY(use_table(model, query, error));
    return sli_take_weights(model, file, options, error);
}

SlStatus sl_model_open(const char *path, const SlOpenOptions *options, SlModel **model,
                       SlError *error)
{
    if (!model)
        return SL_FAIL(error, SL_E_ARGUMENT, "model is NULL");
    *model = NULL;
    if (!path)
        return SL_FAIL(error, SL_E_ARGUMENT, "path is NULL");
    const SlOpenOptions none = {0};
    options = options ? options : &none;
    SlModel opened = {0};
    SliFile file;
    SL_TRY(check_options(options, &opened, error));
    SL_TRY(sli_file_open(path, &file, error));
    SlStatus status = open_file(&opened, &file, options, error);
    sli_file_close(&file);
    return finish(&opened, status, model, error);
}

SlStatus sl_model_from_query(const SlAbiModel *(*query)(uint32_t max_abi),
                             const SlOpenOptions *options, SlModel **model, SlError *error)
{
    if (!model)
        return SL_FAIL(error, SL_E_ARGUMENT, "model is NULL");
    *model = NULL;
    if (!query)
        return SL_FAIL(error, SL_E_ARGUMENT, "query is NULL");
    const SlOpenOptions none = {0};
    options = options ? options : &none;
    SlModel opened = {0};
    SL_TRY(check_options(options, &opened, error));
    SlStatus status = use_table(&opened, query, error);
    if (status == SL_OK)
        status = sli_take_weights(&opened, NULL, options, error);
    return finish(&opened, status, model, error);
}

SlStatus sl_model_close(SlModel *model)
{
    if (!model)
        return SL_OK;
    if (atomic_load(&model->contexts) > 0)
        return SL_E_BUSY;
    unload(model);
    SlAllocator allocator = model->allocator;
    allocator.release(allocator.context, model, sizeof *model);
    return SL_OK;
}
