// YAML and weight maps: the text as a tree, as a map, and the map's rules with a few names and
// shapes.
#include "io/weight_map.h"
#include "io/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const Str names[] = {{"encoder.blocks.0.1.attention.q_head.weight", 42},
                            {"encoder.blocks.1.0.ffn.linear_1.bias", 36},
                            {"decoder.layers.0.x", 18},
                            {"a", 1}};
enum { NNAMES = sizeof names / sizeof *names };

// The steps on tensors [2, 3, 4] of which only shapes matter, and on real ones.
static void do_steps(Arena *arena, const MapRule *rule, bool has_data)
{
    static const MapShape shape = {3, {2, 3, 4}};
    enum { BYTES = 4 };
    Moving arrays[MOST_PARTS] = {0};
    Buf why = {.arena = arena};
    size_t n = rule->nfrom;
    for (size_t i = 0; i < n; i++) {
        arrays[i].shape = shape;
        arrays[i].data = has_data ? calloc(1, (size_t)shape_count(&shape) * BYTES) : NULL;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < rule->nsteps; i++) {
        ok = step_apply(&rule->steps[i], arrays, &n, BYTES, &why);
    }
    if (!ok && why.len == 0) {
        abort(); // refused without a word
    }
    for (size_t i = 0; i < rule->nfrom; i++) {
        free(arrays[i].data);
    }
}

static void use_map(Arena *arena, const WeightMap *map)
{
    Str from[MOST_PARTS];
    const Counted *counted = weight_map_count(arena, map, names, NNAMES);
    for (size_t i = 0; i < map->nrules; i++) {
        for (size_t k = 0; k < NNAMES; k++) {
            rule_names(arena, &map->rules[i], counted, names[k], from);
        }
        do_steps(arena, &map->rules[i], false);
        do_steps(arena, &map->rules[i], true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    // With the byte behind the text that a file's text has.
    Str text = str_copy(arena, (Str){size > 0 ? (const char *)data : "", size});
    const Source *source = diag_source(arena, STR("fuzz"), text, false);
    const Yaml *tree = yaml_tree_parse(arena, dx, source);
    if (!tree && diag_nerrors(dx) == 0) {
        abort(); // refused without a word
    }
    const WeightMap *map = tree ? weight_map_parse(arena, dx, source) : NULL;
    if (tree && !map && diag_nerrors(dx) == 0) {
        abort();
    }
    if (map) {
        use_map(arena, map);
    }
    arena_destroy(arena);
    return 0;
}
