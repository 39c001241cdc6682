// The flow of a compilation, as straight-line code.
#include "driver/compile.h"

#include "io/file.h"
#include "io/link.h"
#include "loop/lower.h"
#include "runtime/abi.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u

static PassContext pass_context(Arena *arena, Diag *dx, const CompileOptions *options,
                                const Target *target)
{
    PassContext cx = {.arena = arena,
                      .dx = dx,
                      .target = target,
                      .verify_each = options->verify_each,
                      .after = options->after,
                      .ctx = options->ctx};
    for (size_t i = 0; i < PASS_count; i++) {
        cx.disabled[i] = options->only_stages || options->disabled[i];
    }
    return cx;
}

bool compile_program(Arena *arena, Diag *dx, const CompileOptions *options, Compiled *out)
{
    Str why;
    if (!codegen_target(arena, options->target, &out->target, &why)) {
        diag_fail(dx, "%.*s", STR_ARG(why));
        return false;
    }
    if (!spec_load(arena, dx, options->spec, &options->front, &out->spec)) {
        return false;
    }
    PassContext cx = pass_context(arena, dx, options, &out->target.loop);
    out->graph = passes_run_graph(&cx, out->spec.graph);
    if (!out->graph) {
        return false;
    }
    out->program = lower_graph(arena, dx, out->graph, &out->target.loop);
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
                          .flags = options->flags,
                          .compiler = STR("sluice " SLUICE_VERSION),
                          .graph = buf_str(&graph),
                          .prepare = buf_str(&prepare)};
}

bool compile_emit(Arena *arena, Diag *dx, const CompileOptions *options, const Compiled *c,
                  CodegenKind kind, Buf *out)
{
    ArtefactInfo info = describe(arena, options, c);
    CodegenOutput output = {.kind = kind};
    return codegen_emit(arena, dx, c->program, &info, &c->target, &output, out);
}

// ---- the artefact ----

static Weights *open_weights(Arena *arena, Diag *dx, const CompileOptions *options,
                             const Compiled *c)
{
    if (options->random) {
        return weights_random(arena, options->seed);
    }
    const char *path = options->weights ? options->weights : c->spec.weights;
    bool needed = false;
    for (size_t i = 0; i < c->spec.graph->nodes.n; i++) {
        needed = needed || c->spec.graph->nodes.items[i]->op == OP_param;
    }
    if (!path && needed) {
        diag_fail(dx,
                  "%s has parameters, but no weights are given: --weights FILE.safetensors, or "
                  "--random SEED to try it out",
                  options->spec);
        return NULL;
    }
    return path ? weights_open(arena, dx, c->spec.graph, path) : weights_random(arena, 0);
}

static const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? str_cstr(arena, (Str){path, slash == path ? 1 : (size_t)(slash - path)}) : ".";
}

static bool copy_blob(Diag *dx, FileWriter *to, const Blob *blob)
{
    static uint8_t buffer[1 << 20];
    for (uint64_t at = 0; at < blob->bytes;) {
        ssize_t n = pread(blob->fd, buffer, sizeof buffer, (off_t)at);
        if (n <= 0 && errno != EINTR) {
            diag_fail(dx, "cannot read the weights back: %s",
                      n < 0 ? strerror(errno) : "the file is shorter");
            return false;
        }
        file_write(to, buffer, n > 0 ? (size_t)n : 0);
        at += n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

// The shared object's bytes, the blob on a page of its own, and the footer that says where it lies.
static bool write_artefact(Diag *dx, const char *path, Str image, const Blob *blob)
{
    static const uint8_t zeros[PAGE];
    FileWriter *writer = file_create(dx, path);
    if (!writer) {
        return false;
    }
    file_write(writer, image.ptr, image.len);
    if (blob->bytes > 0) {
        size_t gap = (PAGE - image.len % PAGE) % PAGE;
        file_write(writer, zeros, gap);
        if (!copy_blob(dx, writer, blob)) {
            file_abandon(writer);
            return false;
        }
        SlAbiFooter footer = {.offset = image.len + gap, .bytes = blob->bytes, .hash = blob->hash};
        memcpy(footer.magic, SL_FOOTER_MAGIC, sizeof footer.magic);
        file_write(writer, &footer, sizeof footer);
    }
    return file_commit(writer);
}

static bool build(Arena *arena, Diag *dx, const CompileOptions *options, const Compiled *c,
                  const Weights *weights, const char *path)
{
    const char *folder = folder_of(arena, path);
    Blob blob;
    if (!blob_create(arena, dx, c->graph->prepare, c->program, weights, folder, &blob)) {
        return false;
    }
    ArtefactInfo info = describe(arena, options, c);
    info.weights_place = blob.bytes > 0 ? SL_WEIGHTS_APPENDED : SL_WEIGHTS_NONE;
    info.weights_bytes = blob.bytes;
    info.weights_hash = blob.hash;
    Buf object = {.arena = arena};
    CodegenOutput output = {.kind = CODEGEN_object};
    Str image;
    bool ok = codegen_emit(arena, dx, c->program, &info, &c->target, &output, &object) &&
              link_shared(arena, dx, folder, buf_str(&object), options->say_commands, &image) &&
              write_artefact(dx, path, image, &blob);
    blob_close(&blob);
    return ok;
}

bool compile_shared(Arena *arena, Diag *dx, const CompileOptions *options, const char *path)
{
    Compiled c;
    if (!compile_program(arena, dx, options, &c)) {
        return false;
    }
    Weights *weights = open_weights(arena, dx, options, &c);
    if (!weights) {
        return false;
    }
    bool ok = build(arena, dx, options, &c, weights, path);
    weights_close(weights);
    return ok;
}
