// A checkpoint in several files: its index says which of them holds what. Each is read as one that
// stands alone; what they hold becomes one file's tensors.
//
//   {"metadata": …, "weight_map": {"name of a tensor": "model-00001-of-00002.safetensors", …}}
#include "io/safetensors.h"

#include "io/json_tree.h"

#include <string.h>

// While an index is read.
typedef struct Index {
    Arena *arena;
    Diag *dx;
    const char *path;
    const Json *names; // tensor to file
    Map shards;        // a file's name, to StFile; NULL: it was reported
} Index;

// The path of a file beside the index.
static const char *beside(const Index *x, Str name)
{
    const char *slash = strrchr(x->path, '/');
    size_t folder = slash ? (size_t)(slash - x->path) + 1 : 0;
    return str_cstr(x->arena,
                    str_format(x->arena, "%.*s%.*s", (int)folder, x->path, STR_ARG(name)));
}

static bool is_usable(const Index *x, const Json *file)
{
    if (file->kind != JSON_text || !file_is_inside(file->text)) {
        diag_error(x->dx, file->at,
                   "here must be the name of a file in the folder of this index, without `..`");
        return false;
    }
    return true;
}

// Opens every file that is named, once; false after a report of each that cannot be.
static bool open_shards(Index *x, StFile *out)
{
    bool ok = true;
    for (size_t i = 0; i < x->names->n && !diag_full(x->dx); i++) {
        const Json *file = &x->names->items[i];
        if (!is_usable(x, file)) {
            ok = false;
            continue;
        }
        if (map_has(&x->shards, file->text)) {
            continue;
        }
        StFile *shard = st_open(x->arena, x->dx, beside(x, file->text));
        map_put(&x->shards, file->text, shard);
        if (shard) {
            out->shards[out->nshards++] = shard;
        } else {
            diag_note(x->dx, file->at, "the index names it here");
            ok = false;
        }
    }
    return ok;
}

// Takes the tensors that are named, each from its file; false after a report of those not there.
static bool take_tensors(Index *x, StFile *out)
{
    size_t nheld = 0;
    for (size_t i = 0; i < out->nshards; i++) {
        nheld += out->shards[i]->n;
    }
    bool ok = true;
    for (size_t i = 0; i < x->names->n && !diag_full(x->dx); i++) {
        Str name = x->names->keys[i].name;
        const StFile *shard = map_get(&x->shards, x->names->items[i].text);
        const StTensor *tensor = st_find(shard, name);
        if (!tensor) {
            diag_error(x->dx, x->names->keys[i].at, "%.*s does not hold this tensor",
                       STR_ARG(shard->path));
            ok = false;
            continue;
        }
        out->tensors[out->n] = *tensor;
        map_put(&out->by_name, name, &out->tensors[out->n]);
        out->n++;
    }
    if (ok && nheld > out->n) {
        diag_note(x->dx, (Place){0}, "%s: its files hold %zu tensor%s that it does not name",
                  x->path, nheld - out->n, nheld - out->n == 1 ? "" : "s");
    }
    return ok;
}

StFile *st_open_index(Arena *arena, Diag *dx, const char *path)
{
    const Json *tree = json_tree_read(arena, dx, path);
    if (!tree) {
        return NULL;
    }
    Index x = {.arena = arena, .dx = dx, .path = path, .shards = {.arena = arena}};
    x.names = json_tree_find(tree, STR("weight_map"));
    if (!x.names || x.names->kind != JSON_object) {
        diag_error(dx, x.names ? x.names->at : tree->at,
                   "an index has a weight_map, which names a file for each tensor");
        return NULL;
    }
    StFile *file = arena_new(arena, StFile, 1);
    *file = (StFile){.path = str_copy(arena, str_from(path)),
                     .tensors = arena_new(arena, StTensor, x.names->n),
                     .by_name = {.arena = arena},
                     .shards = arena_new(arena, StFile *, x.names->n)};
    if (!open_shards(&x, file) || !take_tensors(&x, file)) {
        st_close(file);
        return NULL;
    }
    return file;
}
