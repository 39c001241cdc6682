// Parameters: from a file, or made up.
#include "driver/compile.h"
#include "driver/random.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdlib.h>

struct Weights {
    StFile *file; // NULL: random
    uint64_t seed;
};

// ---- from a file ----

static Str shape_text(Arena *a, const StTensor *t)
{
    Buf text = {.arena = a};
    buf_format(&text, "%.*s[", STR_ARG(t->dtype));
    for (size_t i = 0; i < t->rank; i++) {
        buf_format(&text, i ? ", %lld" : "%lld", (long long)t->shape[i]);
    }
    buf_char(&text, ']');
    return buf_str(&text);
}

static bool same_shape(const StTensor *t, const Type *type)
{
    if (t->rank != type->rank) {
        return false;
    }
    for (size_t i = 0; i < t->rank; i++) {
        if (!size_is(type->shape[i], t->shape[i])) {
            return false;
        }
    }
    return true;
}

// Adds a line for each parameter that the file lacks or holds in another shape.
static size_t list_faults(Arena *a, const Graph *graph, const StFile *file, Buf *missing,
                          Buf *misshaped)
{
    size_t nfaults = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op != OP_param) {
            continue;
        }
        Str want = type_text(a, &node->type);
        const StTensor *t = st_find(file, node->attr.name);
        if (!t) {
            buf_format(missing, "\n    %.*s : %.*s", STR_ARG(node->attr.name), STR_ARG(want));
            nfaults++;
        } else if (!same_shape(t, &node->type)) {
            Str have = shape_text(a, t);
            buf_format(misshaped, "\n    %.*s : %.*s, but the file has %.*s",
                       STR_ARG(node->attr.name), STR_ARG(want), STR_ARG(have));
            nfaults++;
        }
    }
    return nfaults;
}

static void note_unused(Arena *a, Diag *dx, const Graph *graph, const StFile *file)
{
    Map used = {.arena = a};
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (graph->nodes.items[i]->op == OP_param) {
            map_put(&used, graph->nodes.items[i]->attr.name, graph->nodes.items[i]);
        }
    }
    size_t n = 0;
    Buf names = {.arena = a};
    for (size_t i = 0; i < file->n; i++) {
        if (!map_has(&used, file->tensors[i].name)) {
            if (n++ < 5) {
                buf_format(&names, "%s%.*s", n > 1 ? ", " : "", STR_ARG(file->tensors[i].name));
            }
        }
    }
    if (n > 0) {
        diag_warning(dx, (Place){0}, "%.*s: %zu tensor%s not used: %s%s", STR_ARG(file->path), n,
                     n == 1 ? " is" : "s are", names.ptr, n > 5 ? ", …" : "");
    }
}

Weights *weights_open(Arena *arena, Diag *dx, const Graph *graph, const char *path)
{
    StFile *file = st_open(arena, dx, path);
    if (!file) {
        return NULL;
    }
    Buf missing = {.arena = arena};
    Buf misshaped = {.arena = arena};
    if (list_faults(arena, graph, file, &missing, &misshaped) > 0) {
        if (missing.len > 0) {
            diag_error(dx, (Place){0}, "%s lacks parameters of the model:%s", path, missing.ptr);
        }
        if (misshaped.len > 0) {
            diag_error(dx, (Place){0}, "%s holds parameters in other shapes than the model's:%s",
                       path, misshaped.ptr);
        }
        st_close(file);
        return NULL;
    }
    note_unused(arena, dx, graph, file);
    Weights *weights = arena_new(arena, Weights, 1);
    weights->file = file;
    return weights;
}

// ---- made up ----

Weights *weights_random(Arena *arena, uint64_t seed)
{
    Weights *weights = arena_new(arena, Weights, 1);
    weights->seed = seed;
    return weights;
}

static void made_up(const Weights *weights, const Node *param, int64_t count, float *out)
{
    Str name = param->attr.name;
    uint64_t stream = random_stream(name, weights->seed);
    float center = 0;
    float width = 0.1f;
    if (param->type.rank >= 2) {
        int64_t last = 1;
        size_is_int(param->type.shape[param->type.rank - 1], &last);
        width = sqrtf(3.0f / (float)last);
    } else if (str_ends(name, STR("weight"))) {
        center = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = center + width * random_uniform(stream, (uint64_t)i);
    }
}

// ---- reading ----

void weights_close(Weights *weights)
{
    if (weights->file) {
        st_close(weights->file);
    }
}

static int64_t fixed_count(const Node *param)
{
    int64_t count = 1;
    for (size_t i = 0; i < param->type.rank; i++) {
        int64_t n = 1;
        size_is_int(param->type.shape[i], &n);
        count *= n;
    }
    return count;
}

bool weights_read_f32(Diag *dx, const Weights *weights, const Node *param, float *out)
{
    if (!weights->file) {
        made_up(weights, param, fixed_count(param), out);
        return true;
    }
    return st_read_f32(dx, weights->file, st_find(weights->file, param->attr.name), out);
}

bool weights_read_f64(Diag *dx, const Weights *weights, const Node *param, double *out)
{
    if (weights->file) {
        return st_read_f64(dx, weights->file, st_find(weights->file, param->attr.name), out);
    }
    int64_t count = fixed_count(param);
    float *values = malloc((size_t)count * sizeof *values + 1);
    if (!values) {
        diag_fail(dx, "no memory for %lld parameters", (long long)count);
        return false;
    }
    made_up(weights, param, count, values);
    for (int64_t i = 0; i < count; i++) {
        out[i] = (double)values[i];
    }
    free(values);
    return true;
}
