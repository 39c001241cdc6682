// SPEC: what the command line names as the model.
#define _XOPEN_SOURCE 700 // realpath

#include "driver/compile.h"
#include "io/file.h"
#include "io/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// Empty: there is no such file.
static Str why_unread(Arena *arena, const char *path)
{
    if (access(path, F_OK) != 0) {
        return (Str){0};
    }
    if (file_is_folder(path)) {
        return STR("it is a directory");
    }
    if (access(path, R_OK) != 0) {
        return STR("permission denied");
    }
    return str_format(arena, "it has more than the %zu bytes that are read", MOST_SOURCE);
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
    const char *name = str_cstr(arena, file);
    Diag *quiet = diag_create(arena);
    if (read_source(arena, quiet, name, out)) {
        return true;
    }
    out->text = why_unread(arena, name);
    return false;
}

// ---- the kinds of SPEC ----

// What a file says to those who will call the model.
static Str read_notes(Arena *arena, Str text)
{
    Buf notes = {.arena = arena};
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        Str line = {text.ptr + at, end ? (size_t)(end - text.ptr) - at : text.len - at};
        at += line.len + 1;
        if (str_starts(line, STR("#: "))) {
            buf_add(&notes, (Str){line.ptr + 3, line.len - 3});
            buf_char(&notes, '\n');
        }
    }
    return buf_str(&notes);
}

static bool elaborate_text(Arena *arena, Diag *dx, const FrontFile *file, Str model,
                           const FrontOptions *options, Spec *out)
{
    FrontReader reader = {.read = read_used};
    FrontSpec spec = {.file = file, .model = model, .reader = &reader};
    out->graph = front_elaborate(arena, dx, &spec, options, &out->report);
    out->text = file->text;
    out->notes = read_notes(arena, file->text);
    return out->graph != NULL;
}

static bool load_layout(Arena *arena, Diag *dx, Str layout, const FrontOptions *options, Spec *out)
{
    FrontSpec spec = {.layout = layout};
    out->graph = front_elaborate(arena, dx, &spec, options, &out->report);
    out->text = layout;
    return out->graph != NULL;
}

static bool read_folder(Arena *arena, Diag *dx, const char *path, FrontFile *out)
{
    Str text;
    if (!import_config(arena, dx, path, &text)) {
        return false;
    }
    *out = (FrontFile){.name = str_format(arena, "%s/config.json as .slu", path),
                       .key = str_from(path),
                       .text = text};
    return true;
}

static bool load_ir(Arena *arena, Diag *dx, const char *path, Spec *out)
{
    if (!file_read(arena, dx, path, MOST_SOURCE, &out->text)) {
        return false;
    }
    out->graph = graph_parse(arena, dx, diag_source(arena, str_from(path), out->text, false));
    return out->graph != NULL;
}

const char *spec_weights_in(Arena *arena, const char *folder)
{
    Str bare = str_from(folder);
    while (bare.len > 1 && bare.ptr[bare.len - 1] == '/') {
        bare.len--;
    }
    const char *one = str_cstr(arena, str_format(arena, "%.*s/model.safetensors", STR_ARG(bare)));
    const char *index = str_cstr(arena, str_format(arena, "%s.index.json", one));
    return access(one, F_OK) != 0 && access(index, F_OK) == 0 ? index : one;
}

// FILE.slu or FILE.slu:NAME; `model` is empty if there is no name.
static bool is_slu(Arena *arena, const char *spec, const char **path, Str *model)
{
    const char *colon = strstr(spec, ".slu:");
    *path = colon ? str_cstr(arena, (Str){spec, (size_t)(colon - spec) + 4}) : spec;
    *model = colon ? str_from(colon + 5) : (Str){0};
    return colon || str_ends(str_from(spec), STR(".slu"));
}

// False after a report of FILE.slu: with nothing behind the colon.
static bool check_model(Diag *dx, const char *spec, const char *path, Str model)
{
    if (path != spec && model.len == 0) {
        diag_error(dx, (Place){0}, "%s: the name of a model is missing behind the colon", spec);
        return false;
    }
    return true;
}

// Reports what is no SPEC: `kinds` says what would be. A file of a model's folder that is there
// stands for the folder.
static void report_other(Diag *dx, const char *spec, const char *kinds)
{
    const char *slash = strrchr(spec, '/');
    const char *name = slash ? slash + 1 : spec;
    int folder = (int)(name - spec);
    if (access(spec, F_OK) == 0 && strcmp(name, "config.json") == 0) {
        diag_error(dx, (Place){0},
                   "%s is the configuration in a model folder: give the folder, %.*s", spec,
                   folder > 0 ? folder : 1, folder > 0 ? spec : ".");
    } else if (str_ends(str_from(spec), STR(".safetensors"))) {
        diag_error(dx, (Place){0},
                   "%s holds weights, and no model: give the model, and --weights %s", spec, spec);
    } else {
        diag_error(dx, (Place){0}, "`%s` is neither %s", spec, kinds);
    }
}

bool spec_load(Arena *arena, Diag *dx, const char *spec, const FrontOptions *options, Spec *out)
{
    *out = (Spec){0};
    Str name = str_from(spec);
    Str model;
    const char *path;
    FrontFile file;
    if (is_slu(arena, spec, &path, &model)) {
        return check_model(dx, spec, path, model) && read_source(arena, dx, path, &file) &&
               elaborate_text(arena, dx, &file, model, options, out);
    }
    if (str_ends(name, STR(".ir"))) {
        return load_ir(arena, dx, spec, out);
    }
    if (file_is_folder(spec)) {
        out->weights = spec_weights_in(arena, spec);
        return read_folder(arena, dx, spec, &file) &&
               elaborate_text(arena, dx, &file, (Str){0}, options, out);
    }
    if (front_is_layout(name)) {
        return load_layout(arena, dx, name, options, out);
    }
    report_other(dx, spec,
                 "a layout such as B6-6-6H768, nor a .slu or .ir file, nor a model folder");
    return false;
}

bool spec_read(Arena *arena, Diag *dx, const char *spec, FrontFile *out)
{
    Str model;
    const char *path;
    if (is_slu(arena, spec, &path, &model)) {
        return check_model(dx, spec, path, model) && read_source(arena, dx, path, out);
    }
    if (file_is_folder(spec)) {
        return read_folder(arena, dx, spec, out);
    }
    report_other(dx, spec, "a .slu file nor a model folder");
    return false;
}
