// What an item of a batch may not notice: how many others there are and what is in them, how many
// threads work, what padding holds; and what masks of any form, items without any real token, NaN
// and subnormal numbers do. On tiny BERT and Funnel models with made-up weights, natively, stages
// alone and everything.
//
//   golden_batches BATCHES.slu WORK     prints a line for each check and way, ends with "N passed,
//                                       N failed"
#include "golden_run.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { ITEMS = 17, SEQ = 8, LONG_SEQ = 4 * SEQ, WIDTH = 32, VOCAB = 50, HEADS = 2 };

typedef struct Test {
    const char *text; // batches.slu
    const char *work;
    const Way *way;
    bool only_stages; // what the next line is about
    Totals totals;
} Test;

typedef struct Model {
    const char *name;
    const char *spec; // a layout literal, or a model of batches.slu
    FrontSetting settings[3];
    size_t nsettings;
    bool is_bert;
    bool is_bare; // without parameters
} Model;

#define SET(name, value)                                                                           \
    {                                                                                              \
        {(name), sizeof(name) - 1}, { (value), sizeof(value) - 1 }                                 \
    }

static const Model bert = {"bert", "L2H32A2", {SET("vocab", "50"), SET("all_states", "true")},
                           2,      true,      false};
static const Model funnel = {
    "funnel", "B2-1x2-1H32A2", {SET("vocab", "50"), SET("all_states", "true")}, 2, false, false};
static const Model funnel_all_real = {
    "funnel, all real",
    "B2-1x2-1H32A2",
    {SET("vocab", "50"), SET("all_states", "true"), SET("mask_pool", "all_real")},
    3,
    false,
    false};

// ---- inputs ----

// By item, again from the first after the last; no item without a real token but one.
static const char *const masks[] = {"11111111", "11110000", "00001111", "10110101", "11111000",
                                    "00000000", "10000000", "01111111", "11000011"};
enum { MASKS = sizeof masks / sizeof *masks, MASKED_ITEM = 5 };

typedef struct Items {
    int64_t shape[3];
    int32_t ids[ITEMS * LONG_SEQ];
    int32_t types[ITEMS * LONG_SEQ];
    int32_t keep[ITEMS * LONG_SEQ];
    float x[ITEMS * LONG_SEQ * WIDTH];
    GoldenTensor tensors[4];
    GoldenTensors inputs; // all four; a model takes those that it has
} Items;

static bool is_masked(int64_t item) { return item % MASKS == MASKED_ITEM; }

// Token k of an item is the same whatever `seq` is; behind SEQ all is padding.
static Items *make_items(Arena *a, int64_t seq)
{
    Items *it = arena_new(a, Items, 1);
    it->shape[0] = ITEMS;
    it->shape[1] = seq;
    it->shape[2] = WIDTH;
    for (int64_t b = 0; b < ITEMS; b++) {
        for (int64_t s = 0; s < seq; s++) {
            int64_t at = b * seq + s;
            it->ids[at] = (int32_t)((b * 37 + s * s * 11 + s * 3 + 5) % VOCAB);
            it->types[at] = s >= 3 && s < SEQ;
            it->keep[at] = s < SEQ && masks[b % MASKS][s] == '1';
            for (int64_t i = 0; i < WIDTH; i++) {
                it->x[at * WIDTH + i] = (float)sin((double)(b * 131 + s * 17 + i * 5 + 1));
            }
        }
    }
    int64_t n = ITEMS * seq;
    it->tensors[0] = (GoldenTensor){STR("input_ids"), DT_i32, 2, it->shape, n, it->ids, 0, 0};
    it->tensors[1] =
        (GoldenTensor){STR("token_type_ids"), DT_i32, 2, it->shape, n, it->types, 0, 0};
    it->tensors[2] = (GoldenTensor){STR("attention_mask"), DT_i32, 2, it->shape, n, it->keep, 0, 0};
    it->tensors[3] = (GoldenTensor){STR("x"), DT_f32, 3, it->shape, n * WIDTH, it->x, 0, 0};
    it->inputs = (GoldenTensors){4, it->tensors};
    return it;
}

// ---- compiling ----

static CompileOptions options_of(Arena *a, const Test *test, const Model *model, int64_t seq)
{
    FrontSize *size = arena_new(a, FrontSize, 1);
    *size = (FrontSize){STR("seq"), seq};
    CompileOptions options = {.random = !model->is_bare, .seed = 3};
    options.spec = front_is_layout(str_from(model->spec))
                       ? model->spec
                       : str_cstr(a, str_format(a, "%s:%s", test->text, model->spec));
    options.front = (FrontOptions){.settings = model->settings,
                                   .nsettings = model->nsettings,
                                   .sizes = size,
                                   .nsizes = seq > 0 ? 1 : 0};
    find_target(a, test->way, &options.target);
    return options;
}

static const char *compile(Arena *a, Diag *dx, const Test *test, const Model *model, int64_t seq,
                           bool only_stages, Run *out)
{
    CompileOptions options = options_of(a, test, model, seq);
    options.only_stages = only_stages;
    // Two models are open at a time, and the loader knows libraries by their paths.
    const char *path = str_cstr(a, str_format(a, "%s/batches-%lld%s.so", test->work, (long long)seq,
                                              only_stages ? "-O0" : ""));
    return run_compile(a, dx, &options, path, 1, out);
}

static void say(Arena *a, Test *test, const Model *model, const char *what, const char *why)
{
    const char *name = str_cstr(a, str_format(a, "%s: %s", model->name, what));
    const char *way =
        str_cstr(a, str_format(a, "%s%s", test->way->name, test->only_stages ? " -O0" : ""));
    report(&test->totals, name, way, 0, why);
}

// ---- comparing ----

// Whether `part`, of items [first, first + n), has the bits of `whole`, of ITEMS.
static bool same_bits(const Outputs *whole, const Outputs *part, int64_t first, int64_t n)
{
    for (uint32_t k = 0; k < whole->n; k++) {
        int64_t row = whole->counts[k] / ITEMS;
        if (part->counts[k] != row * n ||
            memcmp(whole->data[k] + first * row, part->data[k], (size_t)(row * n) * 4) != 0) {
            return false;
        }
    }
    return true;
}

static bool same_item(const Outputs *x, const Outputs *y, int64_t item)
{
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t row = x->counts[k] / ITEMS;
        if (memcmp(x->data[k] + item * row, y->data[k] + item * row, (size_t)row * 4) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_close(float x, float y)
{
    return fabs((double)x - (double)y) <= 1e-5 * (1 + fabs((double)y));
}

static bool close_item(const Outputs *x, const Outputs *y, int64_t item)
{
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t row = x->counts[k] / ITEMS;
        for (int64_t i = item * row; i < (item + 1) * row; i++) {
            if (!is_close(x->data[k][i], y->data[k][i])) {
                return false;
            }
        }
    }
    return true;
}

static size_t count_not_finite(const Outputs *x, int64_t item)
{
    size_t n = 0;
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t row = x->counts[k] / ITEMS;
        for (int64_t i = item * row; i < (item + 1) * row; i++) {
            n += isfinite(x->data[k][i]) ? 0 : 1;
        }
    }
    return n;
}

// ---- one item, many items; one thread, many threads ----

static const char *check_pieces(const Run *r, const Items *items, const Outputs *whole, int64_t n)
{
    const char *why = NULL;
    for (int64_t first = 0; !why && first + n <= ITEMS; first += n) {
        Outputs part = {0};
        why = run_items(r, &items->inputs, first, n, &part);
        why = why || same_bits(whole, &part, first, n) ? why : "other bits";
        outputs_free(&part);
    }
    return why;
}

static void check_batches(Arena *a, Test *test, const Model *model, Run *r, const Items *items,
                          const Outputs *whole)
{
    static const int32_t threads[] = {1, 2, 7};
    static const int64_t batches[] = {ITEMS, 1, 2, 3, ITEMS};
    const char *why = NULL;
    for (size_t t = 0; !why && t < 3; t++) {
        why = run_set_threads(r, threads[t]);
        for (size_t b = 0; !why && b < 5; b++) {
            why = check_pieces(r, items, whole, batches[b]);
        }
    }
    say(a, test, model, "alone, in 2, 3, 17; 1, 2, 7 threads", why);
}

// ---- masks ----

static void check_fused(Arena *a, Test *test, const Model *model, const Outputs *whole,
                        const Outputs *stages)
{
    const char *why = NULL;
    for (int64_t item = 0; !why && item < ITEMS; item++) {
        if (count_not_finite(whole, item) + count_not_finite(stages, item) > 0) {
            why = "not finite";
        } else if ((!is_masked(item) || model->is_bert) && !close_item(whole, stages, item)) {
            why = str_cstr(a, str_format(a, "mask %s", masks[item % MASKS]));
        }
    }
    say(a, test, model, "masks, fused and not", why);
}

// An item that loses all its tokens changes nothing for the others, and something for itself.
static void check_masked(Arena *a, Test *test, const Model *model, const Run *r,
                         const Outputs *whole)
{
    Items *items = make_items(a, SEQ);
    memset(items->keep, 0, SEQ * sizeof *items->keep);
    Outputs other = {0};
    const char *why = run_items(r, &items->inputs, 0, 0, &other);
    for (int64_t item = 1; !why && item < ITEMS; item++) {
        why = same_item(whole, &other, item) ? NULL : "another item changed";
    }
    why = why || count_not_finite(&other, 0) == 0 ? why : "not finite";
    why = why || !same_item(whole, &other, 0) ? why : "the mask has no effect";
    say(a, test, model, "an item without any token", why);
    outputs_free(&other);
}

// What stands where a key is masked reaches no real token, not by a bit. (Funnel's pooling, which
// reads all tokens, is another matter.)
static void check_hidden(Arena *a, Test *test, const Model *model, const Run *r,
                         const Outputs *whole)
{
    Items *items = make_items(a, SEQ);
    for (int64_t i = 0; i < ITEMS * SEQ; i++) {
        items->ids[i] = items->keep[i] ? items->ids[i] : (items->ids[i] + 7) % VOCAB;
    }
    Outputs other = {0};
    int64_t at = run_find_output(r, STR("last_hidden_state"));
    const char *why = run_items(r, &items->inputs, 0, 0, &other);
    for (int64_t i = 0; !why && i < ITEMS * SEQ; i++) {
        if (items->keep[i] && memcmp(whole->data[at] + i * WIDTH, other.data[at] + i * WIDTH,
                                     WIDTH * sizeof(float)) != 0) {
            why = "a masked token shows in a real one";
        }
    }
    say(a, test, model, "what is masked stays hidden", why);
    outputs_free(&other);
}

static void check_model(Test *test, const Model *model)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Items *items = make_items(a, SEQ);
    Run full, stages;
    Outputs whole = {0};
    Outputs plain = {0};
    const char *why = compile(a, dx, test, model, SEQ, false, &full);
    const char *why_stages = compile(a, dx, test, model, SEQ, true, &stages);
    why = why ? why : why_stages;
    why = why ? why : run_items(&full, &items->inputs, 0, 0, &whole);
    why = why ? why : run_items(&stages, &items->inputs, 0, 0, &plain);
    if (why) {
        say(a, test, model, "compile and run", why);
    } else {
        check_fused(a, test, model, &whole, &plain);
        for (int only_stages = 0; only_stages < 2; only_stages++) {
            Run *r = only_stages ? &stages : &full;
            const Outputs *outputs = only_stages ? &plain : &whole;
            test->only_stages = only_stages;
            check_batches(a, test, model, r, items, outputs);
            check_masked(a, test, model, r, outputs);
            if (model->is_bert) {
                check_hidden(a, test, model, r, outputs);
            }
        }
        test->only_stages = false;
    }
    outputs_free(&whole);
    outputs_free(&plain);
    run_close(&full);
    run_close(&stages);
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

// ---- padding ----

// The first rows of item 0, all of whose tokens are real: alone at its own length, and padded to
// four times that under a mask. Funnel drops the last token of a length when it pools; of the
// padded item that token's window is half padding and so, under this rule, no key.
static const char *compare_padded(const Run *r, const Outputs *alone, const Run *padded_run,
                                  const Outputs *padded)
{
    for (uint32_t k = 0; k < alone->n; k++) {
        int64_t at = run_find_output(padded_run, str_from(r->outputs[k].name));
        int64_t row = alone->counts[k] / ITEMS;
        for (int64_t i = 0; i < row; i++) {
            if (!is_close(alone->data[k][i], padded->data[at][i])) {
                return str_starts(str_from(r->outputs[k].name), STR("hidden_states"))
                           ? "a state differs"
                           : "an output differs";
            }
        }
    }
    return NULL;
}

static void check_padding(Test *test, const Model *model)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Items *items = make_items(a, SEQ);
    Items *padded_items = make_items(a, LONG_SEQ);
    Run r, padded_run;
    Outputs alone = {0};
    Outputs padded = {0};
    const char *why = compile(a, dx, test, model, SEQ, false, &r);
    const char *why_padded = compile(a, dx, test, model, LONG_SEQ, false, &padded_run);
    why = why ? why : why_padded;
    why = why ? why : run_items(&r, &items->inputs, 0, 0, &alone);
    why = why ? why : run_items(&padded_run, &padded_items->inputs, 0, 0, &padded);
    why = why ? why : compare_padded(&r, &alone, &padded_run, &padded);
    say(a, test, model, "alone and padded to 4 times", why);

    // Without its mask the padding must show, or nothing was compared.
    outputs_free(&padded);
    for (int64_t i = 0; i < ITEMS * LONG_SEQ; i++) {
        padded_items->keep[i] = 1;
    }
    if (!why) {
        why = run_items(&padded_run, &padded_items->inputs, 0, 0, &padded);
        why = why || compare_padded(&r, &alone, &padded_run, &padded) ? why : "shows nothing";
        say(a, test, model, "padded without its mask", why);
    }
    outputs_free(&alone);
    outputs_free(&padded);
    run_close(&r);
    run_close(&padded_run);
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

// ---- NaN ----

static const Model bert_floats = {"bert", "bert_floats", {{{0}, {0}}}, 0, true, false};
static const Model funnel_floats = {"funnel", "funnel_floats", {{{0}, {0}}}, 0, false, false};

static const char *check_nan_in(const Run *r, const Items *clean, const Items *dirty, int64_t item)
{
    Outputs before = {0};
    Outputs after = {0};
    const char *why = run_items(r, &clean->inputs, 0, 0, &before);
    why = why ? why : run_items(r, &dirty->inputs, 0, 0, &after);
    for (int64_t i = 0; !why && i < ITEMS; i++) {
        if (count_not_finite(&before, i) > 0) {
            why = "not finite before";
        } else if (i != item && !same_item(&before, &after, i)) {
            why = "another item changed";
        }
    }
    // A NaN among the keys reaches every query of its item.
    if (!why && count_not_finite(&after, item) != (size_t)(after.counts[0] / ITEMS)) {
        why = "NaN does not spread";
    }
    outputs_free(&before);
    outputs_free(&after);
    return why;
}

static void check_nan(Test *test, const Model *model)
{
    for (int only_stages = 0; only_stages < 2; only_stages++) {
        Arena *a = arena_create();
        Diag *dx = diag_create(a);
        Items *clean = make_items(a, SEQ);
        Items *dirty = make_items(a, SEQ);
        Run r;
        int64_t item = MASKS; // its mask is full
        dirty->x[(item * SEQ + 2) * WIDTH + 5] = NAN;
        const char *why = compile(a, dx, test, model, SEQ, only_stages, &r);
        why = why ? why : check_nan_in(&r, clean, dirty, item);
        test->only_stages = only_stages;
        say(a, test, model, "NaN stays in its item", why);
        test->only_stages = false;
        run_close(&r);
        diag_flush(dx, stderr, false);
        arena_destroy(a);
    }
}

// ---- Funnel's masks and weights ----

// Of eight tokens: which of the four, then two, pooled ones are real.
static void check_pooled_masks(Test *test)
{
    static const struct {
        const char *mask, *half, *quarter;
    } expected[] = {{"11111000", "1110", "11"},
                    {"11110000", "1100", "10"},
                    {"11100000", "1100", "10"},
                    {"11111111", "1111", "11"}};
    enum { N = sizeof expected / sizeof *expected };
    static const Model model = {"funnel", "pooled_masks", {{{0}, {0}}}, 0, false, true};
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Run r;
    Outputs out = {0};
    Items *items = make_items(a, SEQ);
    for (int64_t i = 0; i < N * SEQ; i++) {
        items->keep[i] = expected[i / SEQ].mask[i % SEQ] == '1';
    }
    const char *why = compile(a, dx, test, &model, SEQ, false, &r);
    why = why ? why : run_items(&r, &items->inputs, 0, N, &out);
    int64_t half = why ? 0 : run_find_output(&r, STR("half"));
    int64_t quarter = why ? 0 : run_find_output(&r, STR("quarter"));
    for (int64_t i = 0; !why && i < N * 4; i++) {
        int32_t got;
        memcpy(&got, &out.data[half][i], sizeof got);
        why = got == (expected[i / 4].half[i % 4] == '1') ? why : "the half";
    }
    for (int64_t i = 0; !why && i < N * 2; i++) {
        int32_t got;
        memcpy(&got, &out.data[quarter][i], sizeof got);
        why = got == (expected[i / 2].quarter[i % 2] == '1') ? why : "the quarter";
    }
    say(a, test, &model, "pooled masks", why);
    outputs_free(&out);
    run_close(&r);
    diag_flush(dx, stderr, false);
    arena_destroy(a);
}

enum { KEYS = 8, WEIGHTS = ITEMS * HEADS * KEYS * KEYS };

typedef struct Attention {
    int64_t wide[4], square[4];
    float query[ITEMS * HEADS * KEYS * WIDTH / HEADS];
    float key[ITEMS * HEADS * KEYS * WIDTH / HEADS];
    float value[WEIGHTS];
    GoldenTensor tensors[5];
    GoldenTensors inputs;
} Attention;

static Attention *make_attention(Arena *a)
{
    Attention *t = arena_new(a, Attention, 1);
    const Items *items = make_items(a, SEQ);
    int64_t n = ITEMS * KEYS * WIDTH;
    memcpy(t->wide, (int64_t[]){ITEMS, HEADS, KEYS, WIDTH / HEADS}, sizeof t->wide);
    memcpy(t->square, (int64_t[]){ITEMS, HEADS, KEYS, KEYS}, sizeof t->square);
    for (int64_t i = 0; i < n; i++) {
        t->query[i] = (float)sin(0.7 * (double)i);
        t->key[i] = (float)cos(1.3 * (double)i);
    }
    for (int64_t i = 0; i < WEIGHTS; i++) {
        t->value[i] = i / KEYS % KEYS == i % KEYS;
    }
    t->tensors[0] = (GoldenTensor){STR("query"), DT_f32, 4, t->wide, n, t->query, 0, 0};
    t->tensors[1] = (GoldenTensor){STR("key"), DT_f32, 4, t->wide, n, t->key, 0, 0};
    t->tensors[2] = (GoldenTensor){STR("value"), DT_f32, 4, t->square, WEIGHTS, t->value, 0, 0};
    t->tensors[3] = items->tensors[1];
    t->tensors[4] = items->tensors[2];
    t->inputs = (GoldenTensors){5, t->tensors};
    return t;
}

// float32 rounds scores from which 1e6 was taken to sixteenths: each weight is off by a factor of
// exp(1/32) and its row's sum by another, 6.5 % together. A row with a key is not concerned.
static const char *compare_weights(const Outputs *got, const EvalTensor *want)
{
    enum { ROW = HEADS * KEYS * KEYS };
    double largest = 0;
    for (int64_t i = 0; i < WEIGHTS; i++) {
        double g = (double)got->data[0][i];
        double w = want->data[i];
        bool masked = is_masked(i / ROW);
        if (!(fabs(g - w) <= (masked ? 0.07 * w : 1e-5))) {
            return masked ? "a row without keys" : "a row with keys";
        }
        largest = masked && w > largest ? w : largest;
    }
    return largest > 1.5 / KEYS ? NULL : "the weights are all but equal, nothing was compared";
}

static void check_weights(Test *test)
{
    static const Model model = {"funnel", "funnel_weights", {{{0}, {0}}}, 0, false, false};
    for (int only_stages = 0; only_stages < 2; only_stages++) {
        Arena *a = arena_create();
        Diag *dx = diag_create(a);
        const Attention *attention = make_attention(a);
        CompileOptions options = options_of(a, test, &model, KEYS);
        Spec spec;
        Run r;
        Outputs got = {0};
        EvalTensor want = {0};
        Weights *weights = weights_random(a, options.seed);
        const char *why = compile(a, dx, test, &model, KEYS, only_stages, &r);
        why = why ? why : run_items(&r, &attention->inputs, 0, 0, &got);
        if (!why) {
            why = spec_load(a, dx, options.spec, &options.front, &spec)
                      ? evaluate(a, dx, spec.graph, weights, &attention->inputs, &want)
                      : "does not load";
        }
        why = why ? why : compare_weights(&got, &want);
        test->only_stages = only_stages;
        say(a, test, &model, "attention weights", why);
        test->only_stages = false;
        weights_close(weights);
        eval_free(&want, 1);
        outputs_free(&got);
        run_close(&r);
        diag_flush(dx, stderr, false);
        arena_destroy(a);
    }
}

// ---- subnormal numbers ----

enum { CHAIN = 64, TIMED_RUNS = 20, TIMED_ITEMS = 300 };

static bool write_chain(Arena *a, Diag *dx, const char *path, float weight)
{
    static float matrix[CHAIN * CHAIN];
    static float zeros[CHAIN];
    static const int64_t shape[] = {CHAIN, CHAIN};
    for (int i = 0; i < CHAIN * CHAIN; i++) {
        matrix[i] = weight;
    }
    StItem items[] = {{STR("a.weight"), DT_f32, 2, shape, matrix},
                      {STR("a.bias"), DT_f32, 1, shape, zeros},
                      {STR("b.weight"), DT_f32, 2, shape, matrix},
                      {STR("b.bias"), DT_f32, 1, shape, zeros}};
    return st_write(a, dx, path, items, 4);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The fastest of several runs by the processor's clock, and the output's smallest and largest.
static const char *time_chain(Arena *a, Diag *dx, const Test *test, float weight, int32_t threads,
                              double *seconds, float *low, float *high)
{
    static const Model model = {"chain", "products", {{{0}, {0}}}, 0, false, false};
    static float x[TIMED_ITEMS * CHAIN];
    static const int64_t shape[] = {TIMED_ITEMS, CHAIN};
    CompileOptions options = options_of(a, test, &model, 0);
    options.random = false;
    options.weights = str_cstr(a, str_format(a, "%s/chain.safetensors", test->work));
    for (int i = 0; i < TIMED_ITEMS * CHAIN; i++) {
        x[i] = 1;
    }
    GoldenTensor tensor = {STR("x"), DT_f32, 2, shape, TIMED_ITEMS * CHAIN, x, 0, 0};
    GoldenTensors inputs = {1, &tensor};
    Run r = {0};
    const char *path = str_cstr(a, str_format(a, "%s/batches.so", test->work));
    const char *why = write_chain(a, dx, options.weights, weight)
                          ? run_compile(a, dx, &options, path, threads, &r)
                          : "no weights";
    remove(options.weights);
    *seconds = INFINITY;
    *low = INFINITY;
    *high = -INFINITY;
    for (int run = 0; !why && run < TIMED_RUNS; run++) {
        Outputs out = {0};
        double begin = processor_seconds();
        why = run_items(&r, &inputs, 0, 0, &out);
        double took = processor_seconds() - begin;
        *seconds = took < *seconds ? took : *seconds;
        for (int64_t i = 0; !why && i < out.counts[0]; i++) {
            *low = fminf(*low, out.data[0][i]);
            *high = fmaxf(*high, out.data[0][i]);
        }
        outputs_free(&out);
    }
    run_close(&r);
    return why;
}

// 64 products of 1 and 1e-39 are 6.4e-38, which is normal: zero means that no thread saw the
// weights as they are.
static void check_subnormals(Test *test)
{
    static const Model model = {"chain", "products", {{{0}, {0}}}, 0, false, false};
    static const int32_t threads[] = {1, 2, 7};
    for (size_t t = 0; t < 3; t++) {
        Arena *a = arena_create();
        Diag *dx = diag_create(a);
        double normal = 0;
        double subnormal = 0;
        float low, high;
        const char *why = time_chain(a, dx, test, 1e-3f, threads[t], &normal, &low, &high);
        why = why || low > 0 ? why : "normal weights give nothing";
        why = why ? why : time_chain(a, dx, test, 1e-39f, threads[t], &subnormal, &low, &high);
        if (!why && (memcmp(&low, &(float){0}, sizeof low) != 0 ||
                     memcmp(&high, &(float){0}, sizeof high) != 0)) {
            why = "a thread computes with subnormal numbers";
        }
        // Threads that wait for work spend time too, so one alone is timed.
        why = why || threads[t] > 1 || subnormal < 1.5 * normal ? why : "they take more time";
        volatile float tiny = 1e-39f;
        tiny *= 0.5f;
        why = why || tiny > 0 ? why : "the caller has lost its subnormal numbers";
        say(a, test, &model,
            t == 0   ? "subnormals"
            : t == 1 ? "subnormals, 2"
                     : "subnormals, 7",
            why);
        diag_flush(dx, stderr, false);
        arena_destroy(a);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: golden_batches BATCHES.slu WORK\n");
        return 2;
    }
    Test test = {.text = argv[1], .work = argv[2]};
    mkdir(test.work, 0777);
    for (size_t i = 0; i < WAYS; i++) {
        Arena *a = arena_create();
        CodegenTarget target;
        bool runs = find_target(a, &ways[i], &target);
        arena_destroy(a);
        test.way = &ways[i];
        if (!runs) {
            printf("%-44s %-22s skipped: this CPU cannot run it\n", "all", ways[i].name);
            continue;
        }
        check_model(&test, &bert);
        check_model(&test, &funnel);
        check_model(&test, &funnel_all_real);
        check_padding(&test, &bert);
        check_padding(&test, &funnel_all_real);
        check_nan(&test, &bert_floats);
        check_nan(&test, &funnel_floats);
        check_pooled_masks(&test);
        check_weights(&test);
        check_subnormals(&test);
    }
    return report_totals(&test.totals);
}
