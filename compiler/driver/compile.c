// The flow of a compilation, as straight-line code.
#include "driver/compile.h"

#include "driver/progress.h"
#include "io/file.h"
#include "io/link.h"
#include "loop/lower.h"
#include "runtime/abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

static PassContext pass_context(Arena *arena, Diag *dx, const CompileOptions *options)
{
    PassContext cx = {.arena = arena,
                      .dx = dx,
                      .verify_each = options->verify_each,
                      .after = options->after,
                      .after_program = options->after_program,
                      .ctx = options->ctx};
    for (size_t i = 0; i < PASS_count; i++) {
        cx.disabled[i] = options->only_stages || options->disabled[i];
    }
    return cx;
}

// Text may hold a graph that passes have changed already, which they do not take again.
static bool check_early(Diag *dx, const CompileOptions *options, const Graph *graph)
{
    bool is_late = graph->prepare != NULL;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Op op = graph->nodes.items[i]->op;
        is_late = is_late || op == OP_kernel || op == OP_constant || op == OP_view || op == OP_pack;
    }
    if (is_late) {
        diag_error(dx, (Place){0},
                   "%s is a graph that passes have changed already: it can be run by --reference, "
                   "but compiled only as it was before",
                   options->spec);
    }
    return !is_late;
}

bool compile_program(Arena *arena, Diag *dx, const CompileOptions *options, Compiled *out)
{
    if (!spec_load(arena, dx, options->spec, &options->front, &out->spec)) {
        return false;
    }
    if (!check_early(dx, options, out->spec.graph)) {
        return false;
    }
    progress("optimising");
    PassContext cx = pass_context(arena, dx, options);
    out->graph = passes_run_graph(&cx, out->spec.graph);
    if (!out->graph) {
        return false;
    }
    out->program = lower_graph(arena, dx, out->graph, &options->target.loop);
    return out->program && passes_run_program(&cx, out->program);
}

static ArtefactInfo describe(Arena *arena, const CompileOptions *options, const Compiled *c)
{
    Buf graph = {.arena = arena};
    Buf prepare = {.arena = arena};
    graph_print(&graph, c->graph);
    if (c->graph->prepare) {
        graph_print(&prepare, c->graph->prepare);
    }
    return (ArtefactInfo){.spec = c->spec.text,
                          .notes = c->spec.notes,
                          .flags = options->flags,
                          .compiler = STR("sluice " SLUICE_VERSION),
                          .graph = buf_str(&graph),
                          .prepare = buf_str(&prepare)};
}

bool compile_emit(Arena *arena, Diag *dx, const CompileOptions *options, const Compiled *c,
                  CodegenKind kind, Buf *out)
{
    ArtefactInfo info = describe(arena, options, c);
    progress("generating code");
    return codegen_emit(arena, dx, c->program, &info, &options->target, kind, out);
}

// ---- the artefact ----

Weights *compile_weights(Arena *arena, Diag *dx, const CompileOptions *options, const Spec *spec)
{
    const char *path = options->weights ? options->weights : spec->weights;
    size_t nparams;
    weights_params(arena, spec->graph, &nparams);
    if (nparams == 0 && (options->weights || options->random)) {
        diag_warning(dx, (Place){0}, "%s has no effect: %s has no parameters",
                     options->random ? "--random" : "--weights", options->spec);
    }
    if (nparams == 0 || options->random) {
        return weights_random(arena, options->seed);
    }
    if (!options->weights && path && access(path, F_OK) != 0) {
        diag_error(
            dx, (Place){0},
            "%s holds no model.safetensors: --weights FILE.safetensors gives the parameters, "
            "--random SEED makes some up",
            options->spec);
        return NULL;
    }
    if (!path) {
        diag_error(dx, (Place){0},
                   "%s has parameters, but no weights are given: --weights FILE.safetensors, or "
                   "--random SEED to try it out",
                   options->spec);
        return NULL;
    }
    return weights_open(arena, dx, spec->graph, path, &options->reading);
}

static const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? str_cstr(arena, (Str){path, slash == path ? 1 : (size_t)(slash - path)}) : ".";
}

// Where what is only needed meanwhile goes: beside the result, as large as it is, unless that is a
// device or a pipe.
static const char *work_folder(Arena *arena, const char *path)
{
    struct stat st;
    const char *tmp = getenv("TMPDIR");
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return tmp && tmp[0] ? tmp : "/tmp";
    }
    return folder_of(arena, path);
}

// The blob, which begins at byte `offset` of the file, and the footer that says so.
static void write_blob(FileWriter *to, const Blob *blob, uint64_t offset)
{
    SlAbiFooter footer = {.offset = offset, .bytes = blob->bytes, .hash = blob->hash};
    memcpy(footer.magic, SL_FOOTER_MAGIC, sizeof footer.magic);
    file_write_copy(to, blob->fd, blob->bytes);
    file_write(to, &footer, sizeof footer);
}

// The shared object's bytes, and the blob on a page of its own.
static bool write_appended(Diag *dx, const char *path, Str image, const Blob *blob)
{
    static const uint8_t zeros[PAGE];
    FileWriter *writer = file_create(dx, path);
    if (!writer) {
        return false;
    }
    file_write(writer, image.ptr, image.len);
    size_t gap = (PAGE - image.len % PAGE) % PAGE;
    if (blob->bytes > 0) {
        file_write(writer, zeros, gap);
        write_blob(writer, blob, image.len + gap);
    }
    return file_commit(writer);
}

const char *compile_weights_path(Arena *arena, const char *path)
{
    return str_cstr(arena, str_format(arena, "%s.weights", path));
}

// The shared object is of no use without its weights, so it appears last.
static bool write_beside(Arena *arena, Diag *dx, const char *path, Str image, const Blob *blob)
{
    FileWriter *weights = file_create(dx, compile_weights_path(arena, path));
    FileWriter *object = weights ? file_create(dx, path) : NULL;
    if (object) {
        write_blob(weights, blob, 0);
        file_write(object, image.ptr, image.len);
        return file_commit_both(weights, object);
    }
    if (weights) {
        file_abandon(weights);
    }
    return false;
}

// What the artefact says of its weights.
static void describe_weights(Arena *arena, Diag *dx, const CompileOptions *options,
                             const char *path, const Blob *blob, ArtefactInfo *info)
{
    info->weights_place = blob->bytes > 0 ? SL_WEIGHTS_APPENDED : SL_WEIGHTS_NONE;
    info->weights_bytes = blob->bytes;
    info->weights_hash = blob->hash;
    if (options->weights_beside && blob->bytes == 0) {
        diag_warning(dx, (Place){0}, "--weights-beside has no effect: %s has no weights",
                     options->spec);
    } else if (options->weights_beside) {
        const char *file = compile_weights_path(arena, path);
        const char *slash = strrchr(file, '/');
        info->weights_place = SL_WEIGHTS_BESIDE;
        info->weights_file = str_from(slash ? slash + 1 : file);
    }
}

static bool build(Arena *arena, Diag *dx, const CompileOptions *options, const Compiled *c,
                  const Weights *weights, const char *path, Built *out)
{
    const char *folder = work_folder(arena, path);
    Blob blob;
    progress("preparing the weights");
    if (!blob_create(arena, dx, c->graph->prepare, c->program, weights, folder, &blob)) {
        return false;
    }
    ArtefactInfo info = describe(arena, options, c);
    describe_weights(arena, dx, options, path, &blob, &info);
    Buf object = {.arena = arena};
    Str image;
    progress("generating code");
    bool ok = codegen_emit(arena, dx, c->program, &info, &options->target, CODEGEN_object, &object);
    progress(options->say_commands ? NULL : "linking"); // the line and the command would mix
    ok = ok && link_shared(arena, dx, folder, buf_str(&object), options->say_commands, &image);
    ok =
        ok && (info.weights_place == SL_WEIGHTS_BESIDE ? write_beside(arena, dx, path, image, &blob)
                                                       : write_appended(dx, path, image, &blob));
    blob_close(&blob);
    *out = (Built){.nkernels = c->program->kernels.n,
                   .nsteps = c->program->steps.n,
                   .weights_bytes = blob.bytes};
    return ok;
}

bool compile_shared(Arena *arena, Diag *dx, const CompileOptions *options, const char *path,
                    Built *out)
{
    Compiled c;
    if (!compile_program(arena, dx, options, &c)) {
        return false;
    }
    Weights *weights = compile_weights(arena, dx, options, &c.spec);
    if (!weights) {
        return false;
    }
    bool ok = build(arena, dx, options, &c, weights, path, out);
    weights_close(weights);
    return ok;
}
