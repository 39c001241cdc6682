// Weight maps: patterns, counts, and each step on a tensor small enough to be done by hand.
#include "io/weight_map.h"

#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Env {
    Arena *arena;
    Diag *dx;
} Env;

static int set_up(void **state)
{
    Env *env = calloc(1, sizeof *env);
    env->arena = arena_create();
    env->dx = diag_create(env->arena);
    *state = env;
    return 0;
}

static int tear_down(void **state)
{
    Env *env = *state;
    arena_destroy(env->arena);
    free(env);
    return 0;
}

static const WeightMap *parse(Env *env, const char *text)
{
    Source *source = diag_source(env->arena, STR("m.yaml"), str_from(text), false);
    return weight_map_parse(env->arena, env->dx, source);
}

// ---- patterns ----

static Pattern pattern(Env *env, const char *text)
{
    Pattern p;
    assert_true(pattern_parse(env->dx, (Place){0}, str_from(text), &p));
    return p;
}

// `values`: what the captures hold, in the order that they are found in, with bars between them;
// NULL: the name does not fit.
static void assert_fit(Env *env, const char *text, const char *name, const char *values)
{
    Pattern p = pattern(env, text);
    Captures captures;
    bool fits = pattern_fits(&p, str_from(name), &captures);
    Buf got = {.arena = env->arena};
    buf_add(&got, STR(""));
    for (size_t i = 0; fits && i < captures.n; i++) {
        buf_format(&got, "%s%.*s", i > 0 ? "|" : "", STR_ARG(captures.values[i]));
    }
    assert_int_equal(fits, values != NULL);
    if (values) {
        assert_string_equal(got.len > 0 ? got.ptr : "", values);
        Str back = pattern_fill(env->arena, &p, &captures);
        assert_true(str_equal(back, str_from(name)));
    }
}

static void test_patterns(void **state)
{
    Env *env = *state;
    assert_fit(env, "a.b", "a.b", "");
    assert_fit(env, "a.b", "a.bc", NULL);
    assert_fit(env, "a.b", "a.", NULL);
    assert_fit(env, "layer.<n>.w", "layer.12.w", "12");
    assert_fit(env, "layer.<n>.w", "layer..w", NULL);
    assert_fit(env, "layer.<n>.w", "layer.1x.w", NULL);
    assert_fit(env, "layer.<n>", "layer.007", "007");
    assert_fit(env, "<n>_<m>", "1_2", "1|2");
    assert_fit(env, "<x..>", "anything.at all", "anything.at all");
    assert_fit(env, "<x..>", "", NULL);
    assert_fit(env, "a.<x..>", "a.", NULL);
    assert_fit(env, "a<n>.<x..>.z<m>", "a1.b.z2.z3", "1|3|b.z2");
    assert_fit(env, "<x..>.w", ".w", NULL);
    assert_fit(env, "<x..>.w", ".w.w", ".w");
    assert_fit(env, "ab<x..>ba", "aba", NULL); // the ends do not share a letter
}

static void assert_no_pattern(Env *env, const char *text, const char *message)
{
    Pattern p;
    assert_false(pattern_parse(env->dx, (Place){0}, str_from(text), &p));
    assert_says(env->dx, message);
}

static void test_wrong_patterns(void **state)
{
    Env *env = *state;
    assert_no_pattern(env, "", "a name is missing");
    assert_no_pattern(env, "a<n", "a < without >");
    assert_no_pattern(env, "a>", "a > without <");
    assert_no_pattern(env, "a<>", "<> stands for nothing");
    assert_no_pattern(env, "<1>", "<1> stands for nothing");
    assert_no_pattern(env, "<n>.<n>", "<n> is there twice");
    assert_no_pattern(env, "<n><m>", "<m> follows another one");
    assert_no_pattern(env, "<x..>.<y..>", "<y..> is the second");
    assert_no_pattern(env, "a1<n>", "digits beside <n>");
    assert_no_pattern(env, "<n>1", "digits beside <n>");
    assert_no_pattern(env, "<a>.<b>.<c>.<d>.<e>.<f>.<g>.<h>.<i>", "<i> is one too many");
}

static void test_beginnings(void **state)
{
    Env *env = *state;
    Pattern p = pattern(env, "blocks.<b>.<l>");
    Captures c;
    assert_true(pattern_begins(&p, STR("blocks.1.22.w"), &c));
    assert_true(str_equal(c.values[1], STR("22")));
    assert_true(pattern_begins(&p, STR("blocks.1.2"), &c));
    assert_false(pattern_begins(&p, STR("blocks.1.2w"), &c));
    assert_false(pattern_begins(&p, STR("blocks.1"), &c));
}

// ---- steps, by hand ----

// Does the only rule's steps to tensors of whole numbers, both with 4 and with 8 bytes an element.
typedef struct Case {
    const char *steps;
    size_t n;
    MapShape shapes[3];
    int values[3][12];
    MapShape shape;
    int result[24];
} Case;

static const MapRule *rule_of(Env *env, const char *steps, size_t n)
{
    static const char *const from[] = {"", "a", "[a, b]", "[a, b, c]"};
    Str text =
        str_format(env->arena, "rules:\n  - to: x\n    from: %s\n    do: %s\n", from[n], steps);
    const WeightMap *map = parse(env, text.ptr);
    assert_non_null(map);
    return &map->rules[0];
}

static void store(uint8_t *data, size_t bytes, int64_t i, int value)
{
    float narrow = (float)value;
    double wide = value;
    memcpy(data + (size_t)i * bytes, bytes == 4 ? (void *)&narrow : (void *)&wide, bytes);
}

static void assert_element(const uint8_t *data, size_t bytes, int64_t i, int value)
{
    uint8_t wanted[8];
    store(wanted, bytes, 0, value);
    assert_memory_equal(data + (size_t)i * bytes, wanted, bytes);
}

static void assert_shape(const MapShape *shape, const MapShape *wanted)
{
    assert_int_equal(shape->rank, wanted->rank);
    for (size_t i = 0; i < wanted->rank; i++) {
        assert_int_equal(shape->sizes[i], wanted->sizes[i]);
    }
}

static void run_case(Env *env, const Case *t, size_t bytes)
{
    const MapRule *rule = rule_of(env, t->steps, t->n);
    Moving arrays[3] = {0};
    Moving shapes[3] = {0};
    Buf why = {.arena = env->arena};
    size_t n = t->n;
    size_t nshapes = t->n;
    for (size_t k = 0; k < n; k++) {
        shapes[k].shape = t->shapes[k];
        arrays[k].shape = t->shapes[k];
        arrays[k].data = malloc((size_t)shape_count(&t->shapes[k]) * bytes);
        for (int64_t i = 0; i < shape_count(&t->shapes[k]); i++) {
            store(arrays[k].data, bytes, i, t->values[k][i]);
        }
    }
    for (size_t i = 0; i < rule->nsteps; i++) {
        assert_true(step_apply(&rule->steps[i], shapes, &nshapes, bytes, &why));
        assert_true(step_apply(&rule->steps[i], arrays, &n, bytes, &why));
    }
    assert_int_equal(n, 1);
    assert_shape(&shapes[0].shape, &t->shape);
    assert_shape(&arrays[0].shape, &t->shape);
    assert_null(shapes[0].data);
    for (int64_t i = 0; i < shape_count(&t->shape); i++) {
        assert_element(arrays[0].data, bytes, i, t->result[i]);
    }
    free(arrays[0].data);
}

static void test_steps(void **state)
{
    static const Case cases[] = {
        // 1 2 3 / 4 5 6
        {"[transpose]", 1, {{2, {2, 3}}}, {{1, 2, 3, 4, 5, 6}}, {2, {3, 2}}, {1, 4, 2, 5, 3, 6}},
        {"[transpose: [1, 0]]",
         1,
         {{2, {2, 3}}},
         {{1, 2, 3, 4, 5, 6}},
         {2, {3, 2}},
         {1, 4, 2, 5, 3, 6}},
        // The last two of three axes, and one step that stands without a list.
        {"transpose",
         1,
         {{3, {2, 2, 2}}},
         {{1, 2, 3, 4, 5, 6, 7, 8}},
         {3, {2, 2, 2}},
         {1, 3, 2, 4, 5, 7, 6, 8}},
        // out[i, j, k] = in[j, k, i]: a cycle, so that an order and its reverse differ.
        {"[transpose: [2, 0, 1]]",
         1,
         {{3, {1, 2, 3}}},
         {{1, 2, 3, 4, 5, 6}},
         {3, {3, 1, 2}},
         {1, 4, 2, 5, 3, 6}},
        {"[transpose: [1, 2, 0]]",
         1,
         {{3, {1, 2, 3}}},
         {{1, 2, 3, 4, 5, 6}},
         {3, {2, 3, 1}},
         {1, 2, 3, 4, 5, 6}},
        {"[transpose: [0]]", 1, {{1, {3}}}, {{1, 2, 3}}, {1, {3}}, {1, 2, 3}},
        {"[reshape: [3, 2]]",
         1,
         {{2, {2, 3}}},
         {{1, 2, 3, 4, 5, 6}},
         {2, {3, 2}},
         {1, 2, 3, 4, 5, 6}},
        {"[reshape: [rest, 1, 2]]",
         1,
         {{1, {6}}},
         {{1, 2, 3, 4, 5, 6}},
         {3, {3, 1, 2}},
         {1, 2, 3, 4, 5, 6}},
        {"[reshape: []]", 1, {{2, {1, 1}}}, {{7}}, {0, {0}}, {7}},
        {"[merge: [1, 2]]",
         1,
         {{4, {1, 2, 3, 2}}},
         {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
         {3, {1, 6, 2}},
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
        // [in, heads, width] as [heads width, in]: 1 2 are the first input's for head 0.
        {"[merge: [1, 2], transpose]",
         1,
         {{3, {2, 2, 2}}},
         {{1, 2, 3, 4, 5, 6, 7, 8}},
         {2, {4, 2}},
         {1, 5, 2, 6, 3, 7, 4, 8}},
        {"[split: {axis: 0, parts: 3, take: 2}]",
         1,
         {{2, {3, 2}}},
         {{1, 2, 3, 4, 5, 6}},
         {2, {1, 2}},
         {5, 6}},
        {"[split: {axis: 1, parts: 2, take: 1}]",
         1,
         {{2, {2, 4}}},
         {{1, 2, 3, 4, 5, 6, 7, 8}},
         {2, {2, 2}},
         {3, 4, 7, 8}},
        {"[split: {axis: 1, parts: 2, take: 0}]",
         1,
         {{3, {2, 2, 2}}},
         {{1, 2, 3, 4, 5, 6, 7, 8}},
         {3, {2, 1, 2}},
         {1, 2, 5, 6}},
        {"[join: 0]",
         2,
         {{2, {1, 2}}, {2, {2, 2}}},
         {{1, 2}, {3, 4, 5, 6}},
         {2, {3, 2}},
         {1, 2, 3, 4, 5, 6}},
        {"[join: 1]",
         3,
         {{2, {2, 1}}, {2, {2, 2}}, {2, {2, 1}}},
         {{1, 5}, {2, 3, 6, 7}, {4, 8}},
         {2, {2, 4}},
         {1, 2, 3, 4, 5, 6, 7, 8}},
        // Steps before a join are done to each, those behind it to the whole.
        {"[transpose, join: 0, reshape: [rest]]",
         2,
         {{2, {2, 1}}, {2, {2, 2}}},
         {{1, 2}, {3, 4, 5, 6}},
         {1, {6}},
         {1, 2, 3, 5, 4, 6}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_case(*state, &cases[i], sizeof(float));
        run_case(*state, &cases[i], sizeof(double));
    }
}

static void assert_misfit(Env *env, const char *steps, MapShape shape, const char *message)
{
    const MapRule *rule = rule_of(env, steps, 1);
    Moving array = {.shape = shape};
    Buf why = {.arena = env->arena};
    size_t n = 1;
    assert_false(step_apply(&rule->steps[0], &array, &n, 4, &why));
    assert_string_equal(why.ptr, message);
}

static void test_misfits(void **state)
{
    Env *env = *state;
    MapShape two = {2, {2, 3}};
    assert_misfit(env, "transpose", (MapShape){1, {3}},
                  "transpose needs two axes, there is a shape of [3]");
    assert_misfit(env, "[transpose: [0, 2, 1]]", two,
                  "transpose names 3 axes, there is a shape of [2, 3]");
    assert_misfit(env, "[reshape: [4]]", two,
                  "reshape: these sizes do not hold the elements of [2, 3]");
    assert_misfit(env, "[reshape: [4, rest]]", two,
                  "reshape: these sizes do not hold the elements of [2, 3]");
    assert_misfit(env, "[reshape: [4294967296, 4294967296, 4294967296, rest]]", two,
                  "reshape: these sizes do not hold the elements of [2, 3]");
    assert_misfit(env, "[merge: [1, 2]]", two, "merge: there is no axis 2 in a shape of [2, 3]");
    assert_misfit(env, "[split: {axis: 2, parts: 1, take: 0}]", two,
                  "split: axis 2 does not divide into 1 parts in a shape of [2, 3]");
    assert_misfit(env, "[split: {axis: 1, parts: 2, take: 0}]", two,
                  "split: axis 1 does not divide into 2 parts in a shape of [2, 3]");
    const MapRule *join = rule_of(env, "[join: 1]", 2);
    Moving arrays[2] = {{.shape = two}, {.shape = {2, {3, 3}}}};
    Buf why = {.arena = env->arena};
    size_t n = 2;
    assert_false(step_apply(&join->steps[0], arrays, &n, 4, &why));
    assert_string_equal(why.ptr, "join: tensors of [2, 3] and [3, 3] differ in more than axis 1");
}

// ---- rules ----

static void assert_names(Env *env, const MapRule *rule, const Counted *counted, const char *name,
                         const char *from)
{
    Str names[MOST_PARTS];
    assert_int_equal(rule_names(env->arena, rule, counted, str_from(name), names), from != NULL);
    if (from) {
        assert_true(str_equal(names[0], str_from(from)));
    }
}

// Numbers as numbers: layer 10 is behind layer 9; the second pattern goes on behind the first.
static void test_counts(void **state)
{
    Env *env = *state;
    const WeightMap *map = parse(env, "count:\n"
                                      "  n: [enc.<b>.<l>, dec.<d>]\n"
                                      "rules:\n"
                                      "  - to: enc.<b>.<l>.<x..>\n"
                                      "    from: e/<n>/<x..>\n"
                                      "  - to: dec.<d>.<x..>\n"
                                      "    from: d/<n>/<d>/<x..>\n"
                                      "  - to: head.<d>\n"
                                      "    from: h/<n>\n");
    assert_non_null(map);
    static const char *const texts[] = {"dec.0.w",   "enc.1.0.w", "enc.0.10.w", "enc.0.9.w",
                                        "enc.0.9.b", "enc.1.0.b", "dec.1.w",    "head.3"};
    enum { N = sizeof texts / sizeof *texts };
    Str names[N];
    for (size_t i = 0; i < N; i++) {
        names[i] = str_from(texts[i]);
    }
    const Counted *counted = weight_map_count(env->arena, map, names, N);
    assert_names(env, &map->rules[0], counted, "enc.0.9.w", "e/0/w");
    assert_names(env, &map->rules[0], counted, "enc.0.10.w", "e/1/w");
    assert_names(env, &map->rules[0], counted, "enc.1.0.b", "e/2/b");
    assert_names(env, &map->rules[1], counted, "dec.0.w", "d/3/0/w");
    assert_names(env, &map->rules[1], counted, "dec.1.w", "d/4/1/w");
    assert_names(env, &map->rules[0], counted, "enc.7.7.w", NULL); // not one of the model's
    assert_names(env, &map->rules[2], counted, "head.3", NULL);    // not counted
}

static void assert_wrong(Env *env, const char *text, const char *message)
{
    assert_null(parse(env, text));
    assert_says(env->dx, message);
}

static void test_wrong_maps(void **state)
{
    Env *env = *state;
    assert_wrong(env, "a", "m.yaml:1:1: error: a weight map has `rules`, `strip` or both");
    assert_wrong(env, "{}", "a weight map has");
    assert_wrong(env, "rule: []", "the key `rule` is not known here; did you mean `rules`?");
    assert_wrong(env, "rules: {}", "m.yaml:1:8: error: `rules` is a list");
    assert_wrong(env, "rules: [a]", "a rule has `to` and `from`");
    assert_wrong(env, "rules:\n  - {to: a}", "a rule has `to`, a parameter's name, and `from`");
    assert_wrong(env, "rules:\n  - {to: a, from: {b: c}}",
                 "m.yaml:2:19: error: here must be a name");
    assert_wrong(env, "rules:\n  - {to: a, from: []}", "here must be a name");
    assert_wrong(env, "rules:\n  - {to: a, from: [b, c]}", "several tensors make one");
    assert_wrong(env, "rules:\n  - {to: a, from: b, do: [join: 0]}", "there is nothing to join");
    assert_wrong(env, "rules:\n  - {to: a, from: [b, c], do: [join: 0, join: 0]}",
                 "joined already");
    assert_wrong(env, "rules:\n  - {to: a, from: <n>}", "<n> is neither in `to` nor a count");
    assert_wrong(env, "strip: {a: b}", "here must be a name");
    assert_wrong(env, "count: [a]", "`count` has at most 8 names");
    assert_wrong(env, "count: {n: a.<x..>}", "what is counted has numbers only");
}

static void assert_wrong_step(Env *env, const char *step, const char *message)
{
    Str text = str_format(env->arena, "rules:\n  - {to: a, from: b, do: [%s]}\n", step);
    assert_wrong(env, text.ptr, message);
}

static void test_wrong_steps(void **state)
{
    Env *env = *state;
    assert_wrong_step(env, "turn", "m.yaml:2:27: error: a step is transpose");
    assert_wrong_step(env, "reshape", "a step is transpose");
    assert_wrong_step(env, "{merge: [0, 1], join: 0}", "a step is transpose");
    assert_wrong_step(env, "transpose: []", "here must be a list of axes");
    assert_wrong_step(env, "transpose: [0, 1, 2, 3, 4, 5, 6, 7, 8]", "at most 8");
    assert_wrong_step(env, "transpose: [0, 0]", "each axis must be there once");
    assert_wrong_step(env, "transpose: [0, 2]", "each axis must be there once");
    assert_wrong_step(env, "transpose: [-1, 0]", "a whole number of at least 0");
    assert_wrong_step(env, "reshape: 3", "here must be a list of sizes");
    assert_wrong_step(env, "reshape: [0]", "a whole number of at least 1");
    assert_wrong_step(env, "reshape: [rest, rest]", "one size can be `rest`");
    assert_wrong_step(env, "reshape: [99999999999999999999]", "a whole number of at least 1");
    assert_wrong_step(env, "merge: [1]", "here must be two axes");
    assert_wrong_step(env, "merge: [1, 1]", "a whole number of at least 2");
    assert_wrong_step(env, "split: 2", "here must be {axis");
    assert_wrong_step(env, "split: {axis: 0, parts: 2}", "`take` is missing");
    assert_wrong_step(env, "split: {axis: 0, parts: 2, take: 2}", "parts are counted from 0");
    assert_wrong_step(env, "split: {axis: 0, parts: 0, take: 0}", "a whole number of at least 1");
    assert_wrong_step(env, "split: {axes: 0, parts: 1, take: 0}", "did you mean `axis`?");
}

static void test_shipped(void **state)
{
    Env *env = *state;
    static const char *const names[] = {"bert-tf",    "electra-generator-tf",
                                        "electra-tf", "funnel-generator-tf",
                                        "funnel-pt",  "funnel-tf",
                                        "mixer-jax",  "vit-hf",
                                        "vit-jax"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const WeightMap *map = weight_map_read(env->arena, env->dx, names[i]);
        assert_non_null(map);
        assert_true(map->nrules > 10);
    }
    assert_null(weight_map_read(env->arena, env->dx, "bert"));
    assert_says(env->dx,
                "bert-tf, electra-generator-tf, electra-tf, funnel-generator-tf, funnel-pt");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_patterns),   TEST(test_wrong_patterns), TEST(test_beginnings),
        TEST(test_steps),      TEST(test_misfits),        TEST(test_counts),
        TEST(test_wrong_maps), TEST(test_wrong_steps),    TEST(test_shipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
