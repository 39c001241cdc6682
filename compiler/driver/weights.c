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

static bool is_good(const StFile *file, const Node *param)
{
    const StTensor *t = st_find(file, param->attr.name);
    return t && same_shape(t, &param->type);
}

// Lists every parameter that the file lacks or holds in another shape; false if there is one.
static bool check_params(Arena *a, Diag *dx, Node *const *params, size_t n, const StFile *file)
{
    size_t nbad = 0;
    for (size_t i = 0; i < n; i++) {
        nbad += !is_good(file, params[i]);
    }
    if (nbad == 0) {
        return true;
    }
    diag_error(dx, (Place){0}, "%.*s does not hold %zu of the model's %zu parameter%s",
               STR_ARG(file->path), nbad, n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        const StTensor *t = st_find(file, params[i]->attr.name);
        Str want = type_text(a, &params[i]->type);
        if (!t) {
            diag_note(dx, (Place){0}, "missing: %.*s : %.*s", STR_ARG(params[i]->attr.name),
                      STR_ARG(want));
        } else if (!same_shape(t, &params[i]->type)) {
            diag_note(dx, (Place){0}, "another shape: %.*s : %.*s, but it is %.*s there",
                      STR_ARG(params[i]->attr.name), STR_ARG(want), STR_ARG(shape_text(a, t)));
        }
    }
    return false;
}

static void note_unused(Arena *a, Diag *dx, Node *const *params, size_t nparams, const StFile *file)
{
    Map used = {.arena = a};
    for (size_t i = 0; i < nparams; i++) {
        map_put(&used, params[i]->attr.name, params[i]);
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
        diag_note(dx, (Place){0}, "%.*s: %zu tensor%s not used: %s%s", STR_ARG(file->path), n,
                  n == 1 ? " is" : "s are", names.ptr, n > 5 ? ", …" : "");
    }
}

Node *const *weights_params(Arena *arena, const Graph *graph, size_t *n)
{
    VEC(Node *) params = {0};
    for (; graph; graph = graph->prepare) {
        for (size_t i = 0; i < graph->nodes.n; i++) {
            if (graph->nodes.items[i]->op == OP_param) {
                vec_push(arena, &params, graph->nodes.items[i]);
            }
        }
    }
    *n = params.n;
    return params.items;
}

Weights *weights_open(Arena *arena, Diag *dx, const Graph *graph, const char *path)
{
    StFile *file = st_open(arena, dx, path);
    if (!file) {
        return NULL;
    }
    size_t nparams;
    Node *const *params = weights_params(arena, graph, &nparams);
    if (!check_params(arena, dx, params, nparams, file)) {
        st_close(file);
        return NULL;
    }
    note_unused(arena, dx, params, nparams, file);
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
