// Parameters: from a file, or made up.
#include "driver/compile.h"
#include "driver/random.h"
#include "io/checkpoint.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct Weights {
    Checkpoint *file; // NULL: random
    uint64_t seed;
};

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

// Says which file in the folder it is.
static void report_folder(Arena *arena, Diag *dx, const char *path)
{
    const char *file = spec_weights_in(arena, path);
    if (access(file, F_OK) == 0) {
        diag_error(dx, (Place){0}, "%s is a folder: give its file, --weights %s", path, file);
    } else {
        diag_error(dx, (Place){0},
                   "%s is a folder, which holds no model.safetensors: give a file, --weights "
                   "FILE.safetensors",
                   path);
    }
}

Weights *weights_open(Arena *arena, Diag *dx, const Graph *graph, const char *path,
                      const WeightsOptions *options)
{
    if (file_is_folder(path)) {
        report_folder(arena, dx, path);
        return NULL;
    }
    CheckpointOptions how = {.strict = options->strict};
    how.map = options->map ? weight_map_read(arena, dx, options->map) : NULL;
    if (options->map && !how.map) {
        return NULL;
    }
    size_t nparams;
    Node *const *params = weights_params(arena, graph, &nparams);
    Weights *weights = arena_new(arena, Weights, 1);
    weights->file = checkpoint_open(arena, dx, path, &how, params, nparams);
    return weights->file ? weights : NULL;
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
        checkpoint_close(weights->file);
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
    return checkpoint_read_f32(dx, weights->file, param, out);
}

bool weights_read_f64(Diag *dx, const Weights *weights, const Node *param, double *out)
{
    if (weights->file) {
        return checkpoint_read_f64(dx, weights->file, param, out);
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
