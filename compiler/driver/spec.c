// SPEC: what the command line names as the model.
#define _XOPEN_SOURCE 700 // realpath

#include "driver/compile.h"
#include "io/file.h"
#include "io/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_SOURCE ((size_t)64 << 20) // bytes of a .slu or .ir file

// ---- files that `use` names ----

static bool read_source(Arena *arena, Diag *dx, const char *path, FrontFile *out)
{
    Str text;
    if (!file_read(arena, dx, path, MOST_SOURCE, &text)) {
        return false;
    }
    char *real = realpath(path, NULL);
    *out = (FrontFile){
        .name = str_from(path), .key = str_copy(arena, str_from(real ? real : path)), .text = text};
    free(real);
    return true;
}

// `path` beside the file `from`.
static bool read_used(void *ctx, Arena *arena, Str from, Str path, FrontFile *out)
{
    (void)ctx;
    size_t folder = from.len;
    while (folder > 0 && from.ptr[folder - 1] != '/') {
        folder--;
    }
    bool absolute = path.len > 0 && path.ptr[0] == '/';
    Str file =
        absolute ? path : str_format(arena, "%.*s%.*s", (int)folder, from.ptr, STR_ARG(path));
    Diag *quiet = diag_create(arena);
    return read_source(arena, quiet, str_cstr(arena, file), out);
}

// ---- the kinds of SPEC ----

static bool elaborate_text(Arena *arena, Diag *dx, const FrontFile *file, Str model,
                           const FrontOptions *options, Spec *out)
{
    FrontReader reader = {.read = read_used};
    FrontSpec spec = {.file = file, .model = model, .reader = &reader};
    out->graph = front_elaborate(arena, dx, &spec, options, NULL);
    out->text = file->text;
    return out->graph != NULL;
}

static bool load_layout(Arena *arena, Diag *dx, Str layout, const FrontOptions *options, Spec *out)
{
    FrontSpec spec = {.layout = layout};
    out->graph = front_elaborate(arena, dx, &spec, options, NULL);
    out->text = layout;
    return out->graph != NULL;
}

static bool load_slu(Arena *arena, Diag *dx, const char *path, Str model,
                     const FrontOptions *options, Spec *out)
{
    FrontFile file;
    return read_source(arena, dx, path, &file) &&
           elaborate_text(arena, dx, &file, model, options, out);
}

static bool load_folder(Arena *arena, Diag *dx, const char *path, const FrontOptions *options,
                        Spec *out)
{
    Str text;
    if (!import_config(arena, dx, path, &text)) {
        return false;
    }
    FrontFile file = {.name = str_format(arena, "%s/config.json as .slu", path),
                      .key = str_from(path),
                      .text = text};
    out->weights = str_cstr(arena, str_format(arena, "%s/model.safetensors", path));
    return elaborate_text(arena, dx, &file, (Str){0}, options, out);
}

static bool load_ir(Arena *arena, Diag *dx, const char *path, const FrontOptions *options,
                    Spec *out)
{
    Str text;
    if (options->nsettings + options->nwithout + options->nsizes > 0) {
        diag_fail(dx,
                  "%s: --seq, --set and --without are for .slu models; a graph is fixed as it is",
                  path);
        return false;
    }
    if (!file_read(arena, dx, path, MOST_SOURCE, &text)) {
        return false;
    }
    out->graph = graph_parse(arena, dx, diag_source(arena, str_from(path), text, false));
    out->text = text;
    return out->graph != NULL;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool spec_load(Arena *arena, Diag *dx, const char *spec, const FrontOptions *options, Spec *out)
{
    *out = (Spec){0};
    Str name = str_from(spec);
    const char *colon = strstr(spec, ".slu:");
    if (colon) {
        const char *path = str_cstr(arena, (Str){spec, (size_t)(colon - spec) + 4});
        return load_slu(arena, dx, path, str_from(colon + 5), options, out);
    }
    if (str_ends(name, STR(".slu"))) {
        return load_slu(arena, dx, spec, (Str){0}, options, out);
    }
    if (str_ends(name, STR(".ir"))) {
        return load_ir(arena, dx, spec, options, out);
    }
    if (is_folder(spec)) {
        return load_folder(arena, dx, spec, options, out);
    }
    if (front_is_layout(name)) {
        return load_layout(arena, dx, name, options, out);
    }
    diag_fail(
        dx, "%s is neither a layout such as B6-6-6H768, nor a .slu or .ir file, nor a model folder",
        spec);
    return false;
}
