// What goes wrong in the field with models like those of the standard library: lengths, masks and
// windows of a pooled sequence, sizes that do not fit each other, and lengths that are not known
// yet. Numbers are worked out by hand.
#include "said.h"
#include "std_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const StdSize one_row[] = {{"batch", 1}};

// Runs a model of one line with one input x [batch, n, …] or without; fatal if it fails.
static void run_line(StdRun *run, const char *text, const double *x, size_t n, int seq)
{
    StdInput input = {"x", x, n};
    StdSize sizes[] = {{"batch", 1}, {"seq", seq}};
    if (!std_run(run, text, seq ? sizes : one_row, seq ? 2 : 1, &input, x ? 1 : 0)) {
        fail_msg("%s", said(run->dx));
    }
}

static void refuses(const char *text, const StdSize *sizes, size_t nsizes, const char *message)
{
    StdRun run = std_open();
    assert_false(std_run(&run, text, sizes, nsizes, NULL, 0));
    assert_says(run.dx, message);
    std_close(&run);
}

// The graph of a model whose sizes stay free, or are fixed.
static const Graph *elaborated(StdRun *run, const char *text, int seq)
{
    FrontFile file = {.name = STR("t.slu"), .key = STR("t.slu"), .text = str_from(text)};
    FrontSpec spec = {.file = &file};
    FrontSize size = {STR("seq"), seq};
    FrontOptions options = {.sizes = &size, .nsizes = seq ? 1 : 0};
    const Graph *graph = front_elaborate(run->arena, run->dx, &spec, &options, NULL);
    if (!graph) {
        fail_msg("%s: %s", text, said(run->dx));
    }
    return graph;
}

// ---- pooled sequences ----

static int64_t length_of(const Graph *graph, size_t output, int64_t seq)
{
    SizeBinding bound = {STR("seq"), seq};
    int64_t length = 0;
    assert_true(size_value(graph->outputs.items[output].node->type.shape[1], &bound, 1, &length));
    return length;
}

// Lengths by block, as fixed sizes and as expressions of a free one.
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int seq, second, third;
    } cases[] = {
        {"", 5, 3, 2},
        {"", 6, 3, 2},
        {"", 7, 4, 2},
        {"", 8, 4, 2},
        {"", 9, 5, 3},
        {"", 15, 8, 4},
        {"", 16, 8, 4},
        {"", 17, 9, 5},
        {"", 127, 64, 32},
        {"", 128, 64, 32},
        {"", 129, 65, 33},
        {"", 511, 256, 128},
        {"", 512, 256, 128},
        {", truncate: false", 7, 4, 3},
        {", truncate: false", 8, 5, 3},
        {", truncate: false", 512, 257, 129},
        {", separate_cls: false", 5, 3, 2},
        {", separate_cls: false", 7, 4, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StdRun run = std_open();
        Str text = str_format(run.arena, "model m = funnel(B1-1-1H4A1F4, all_states: true%s)",
                              cases[i].options);
        for (int free = 0; free < 2; free++) {
            const Graph *graph =
                elaborated(&run, str_cstr(run.arena, text), free ? 0 : cases[i].seq);
            assert_int_equal(length_of(graph, 1, cases[i].seq), cases[i].seq);
            assert_int_equal(length_of(graph, 2, cases[i].seq), cases[i].seq);
            assert_int_equal(length_of(graph, 3, cases[i].seq), cases[i].second);
            assert_int_equal(length_of(graph, 4, cases[i].seq), cases[i].third);
            assert_int_equal(length_of(graph, 0, cases[i].seq), cases[i].third);
        }
        std_close(&run);
    }
}

// A partial last window is divided by what is in it; <cls> is averaged with nothing.
static void test_windows(void **state)
{
    (void)state;
    static const double x[] = {10, 1, 2, 3, 4, 5, 6, 7};
    static const struct {
        const char *flags; // separate_cls, truncate
        int seq, n;
        double want[5];
    } cases[] = {
        {"true, true", 8, 4, {10, 1.5, 3.5, 5.5}},    {"true, false", 8, 5, {10, 1.5, 3.5, 5.5, 7}},
        {"false, false", 8, 4, {5.5, 2.5, 4.5, 6.5}}, {"false, true", 8, 4, {5.5, 2.5, 4.5, 6.5}},
        {"true, true", 5, 3, {10, 1.5, 3}},           {"true, false", 5, 3, {10, 1.5, 3.5}},
        {"false, true", 5, 3, {5.5, 2.5, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StdRun run = std_open();
        Str text = str_format(run.arena,
                              "model m { input x: f32[batch, seq] output y = shorten(x, \"mean\", "
                              "%s) }",
                              cases[i].flags);
        run_line(&run, str_cstr(run.arena, text), x, (size_t)cases[i].seq, cases[i].seq);
        std_expect(&run, "y", cases[i].want, cases[i].n);
        std_close(&run);
    }
}

// Of a pooled mask, a slot is real if all of its tokens are, or by the official rule if one is.
static void test_masks(void **state)
{
    (void)state;
    static const struct {
        double mask[8], all_once[4], all_twice[2], any_once[4], any_twice[2];
    } cases[] = {
        {{1, 1, 1, 1, 1, 0, 0, 0}, {1, 1, 1, 0}, {1, 1}, {1, 1, 1, 0}, {1, 1}},
        {{1, 1, 1, 1, 0, 0, 0, 0}, {1, 1, 0, 0}, {1, 0}, {1, 1, 1, 0}, {1, 1}},
        {{1, 1, 1, 0, 0, 0, 0, 0}, {1, 1, 0, 0}, {1, 0}, {1, 1, 0, 0}, {1, 1}},
        {{1, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 0, 0}, {1, 0}, {1, 0, 0, 0}, {1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StdRun run = std_open();
        run_line(&run,
                 "model m { input x: bool[batch, seq] "
                 "all = shorten(x, \"min\", true, true) output a1 = all "
                 "output a2 = shorten(all, \"min\", true, true) "
                 "any = shorten(x, \"max\", true, true) output b1 = any "
                 "output b2 = shorten(any, \"max\", true, true) }",
                 cases[i].mask, 8, 8);
        std_expect(&run, "a1", cases[i].all_once, 4);
        std_expect(&run, "a2", cases[i].all_twice, 2);
        std_expect(&run, "b1", cases[i].any_once, 4);
        std_expect(&run, "b2", cases[i].any_twice, 2);
        std_close(&run);
    }
}

// Pooling is by two everywhere, so another number is no way to say how.
static void test_pool_by_three(void **state)
{
    (void)state;
    StdSize sizes[] = {{"seq", 10}};
    refuses("model m = funnel(B1-1H8A2, pool: 3)", sizes, 1,
            "pool_mode: `mode` must be text, not 3");
    refuses("model m = funnel(B1-1H8A2, mask_pool: \"min\")", sizes, 1,
            "mask_pool is any_real or all_real, not min");
}

// Stored layers are counted once, repeats run.
static void test_repeats(void **state)
{
    (void)state;
    StdRun run = std_open();
    const Graph *graph =
        elaborated(&run, "model m = funnel(B6-3x2-3x2H4A1F4, all_states: true)", 9);
    assert_int_equal(graph->outputs.n, 1 + 1 + 18);
    size_t nparams = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        nparams += graph->nodes.items[i]->op == OP_param;
    }
    assert_int_equal(nparams, 3 + 20 * 12);
    std_close(&run);
}

// ---- sizes that must fit ----

// The output of one Mixer layer for x [4, 8], by the formula, with `tokens` inside.
static void mix_by_hand(StdRun *run, const double *x, int tokens, double *out)
{
    double y[32];
    for (int half = 0; half < 2; half++) {
        const double *in = half ? out : x;
        const double *w = std_param(run, half ? "norm2.weight" : "norm1.weight", 8);
        const double *b = std_param(run, half ? "norm2.bias" : "norm1.bias", 8);
        for (int r = 0; r < 4; r++) {
            double mean = 0, variance = 0;
            for (int c = 0; c < 8; c++) {
                mean += in[8 * r + c] / 8;
            }
            for (int c = 0; c < 8; c++) {
                variance += (in[8 * r + c] - mean) * (in[8 * r + c] - mean) / 8;
            }
            for (int c = 0; c < 8; c++) {
                y[8 * r + c] = (in[8 * r + c] - mean) / sqrt(variance + 1e-6) * w[c] + b[c];
            }
        }
        // Along the tokens a column is what along the channels is a row.
        int n = half ? 8 : 4, inside = half ? 16 : tokens, step = half ? 1 : 8;
        const char *names[] = {half ? "mlp_channels.fc1.weight" : "mlp_tokens.fc1.weight",
                               half ? "mlp_channels.fc1.bias" : "mlp_tokens.fc1.bias",
                               half ? "mlp_channels.fc2.weight" : "mlp_tokens.fc2.weight",
                               half ? "mlp_channels.fc2.bias" : "mlp_tokens.fc2.bias"};
        const double *w1 = std_param(run, names[0], inside * n);
        const double *b1 = std_param(run, names[1], inside);
        const double *w2 = std_param(run, names[2], n * inside);
        const double *b2 = std_param(run, names[3], n);
        for (int line = 0; line < 32 / n; line++) {
            int first = half ? 8 * line : line;
            double h[16];
            for (int k = 0; k < inside; k++) {
                h[k] = b1[k];
                for (int i = 0; i < n; i++) {
                    h[k] += w1[k * n + i] * y[first + i * step];
                }
                h[k] = 0.5 * h[k] * (1 + erf(h[k] / sqrt(2)));
            }
            for (int i = 0; i < n; i++) {
                double sum = b2[i];
                for (int k = 0; k < inside; k++) {
                    sum += w2[i * inside + k] * h[k];
                }
                out[first + i * step] = in[first + i * step] + sum;
            }
        }
    }
}

// A token width that is the number of patches, and one that is not.
static void test_mixer_widths(void **state)
{
    (void)state;
    for (int tokens = 4; tokens <= 6; tokens += 2) {
        StdRun run = std_open();
        double x[32], want[32];
        for (int i = 0; i < 32; i++) {
            x[i] = 2 * std_made_up("x", i);
        }
        Str text = str_format(run.arena,
                              "model m { input x: f32[batch, 4, 8] output y = mixer_layer(x, %d, "
                              "16) }",
                              tokens);
        run_line(&run, str_cstr(run.arena, text), x, 32, 0);
        mix_by_hand(&run, x, tokens, want);
        std_expect(&run, "y", want, 32);
        std_close(&run);
    }
}

static void test_images(void **state)
{
    (void)state;
    StdRun run = std_open();
    elaborated(&run, "model m = vit(V1H8A2, height: 32, patch: 16)", 0);
    elaborated(&run, "model m = vit(V1H8A2, height: 32, width: 48, patch: 16)", 0);
    elaborated(&run, "model m = mixer(M1H8, height: 48, width: 32, patch: 16)", 0);
    std_close(&run);
    static const char *const models[] = {"vit(V1H8A2", "deit_distilled(V1H8A2", "mixer(M1H8",
                                         "gmlp_vision(G1H8", "lucid_gmlp_vision(G1H8"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[128];
        snprintf(text, sizeof text, "model m = %s, height: 33, width: 32, patch: 16)", models[i]);
        refuses(text, NULL, 0, "an image of 33 x 32 does not divide into patches of 16");
        snprintf(text, sizeof text, "model m = %s, height: 32, width: 47, patch: 16)", models[i]);
        refuses(text, NULL, 0, "an image of 32 x 47 does not divide into patches of 16");
    }
}

// A table of positions ends somewhere; Funnel has none.
static void test_positions(void **state)
{
    (void)state;
    static const char *const models[] = {"bert", "sentence_embedding", "bert_masked_lm", "electra"};
    StdSize sizes[] = {{"seq", 513}, {"seq", 100000}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        StdRun run = std_open();
        char text[64];
        snprintf(text, sizeof text, "model m = %s(L1H8A2)", models[i]);
        elaborated(&run, text, 512);
        std_close(&run);
        refuses(text, sizes, 1, "a sequence of 513 is longer than the table of 512 positions");
        refuses(text, sizes + 1, 1,
                "a sequence of 100000 is longer than the table of 512 positions");
    }
    StdRun run = std_open();
    elaborated(&run, "model m = funnel(B1-1-1H8A2)", 1000);
    elaborated(&run, "model m = relative_transformer(L1H8A2)", 100000);
    std_close(&run);
}

static void test_heads(void **state)
{
    (void)state;
    static const char *const models[] = {"bert(L2", "funnel(B2", "vit(V2",
                                         "relative_transformer(L2"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[64];
        snprintf(text, sizeof text, "model m = %sH54A4)", models[i]);
        refuses(text, NULL, 0, "width 54 does not divide into 4 heads");
        snprintf(text, sizeof text, "model m = %sH8A3)", models[i]);
        refuses(text, NULL, 0, "width 8 does not divide into 3 heads");
        snprintf(text, sizeof text, "model m = %sH8A0)", models[i]);
        refuses(text, NULL, 0, "the size after A is zero");
    }
    // Heads whose widths do not add up to the model's are said so, and are right.
    StdRun run = std_open();
    StdInput ids = {"input_ids", (const double[]){1, 2, 3}, 3};
    StdSize sizes[] = {{"batch", 1}, {"seq", 3}};
    assert_true(std_run(&run, "model m = bert(L2H8A2E6, vocab: 9)", sizes, 2, &ids, 1));
    std_param(&run, "encoder.layer.1.attention.self.query.weight", 12 * 8);
    std_param(&run, "encoder.layer.1.attention.self.value.bias", 12);
    std_param(&run, "encoder.layer.1.attention.output.dense.weight", 8 * 12);
    std_close(&run);
}

// ---- lengths that are not known yet ----

// Every model elaborates while its sizes are free: what it needs of them is a check of each run.
static void test_free_sizes(void **state)
{
    (void)state;
    static const char *const models[] = {
        "funnel(B1-1-1H8A2)",
        "funnel(B1-1-1-1H8A2D1, truncate: false)",
        "funnel(B1-1x2-1-1H8A2D1, separate_cls: false)",
        "funnel(B1-1-1H8A2D1, pool_q_only: false, attention: by_factors)",
        "funnel(B1-1-1H8A2D1, absolute: true)",
        "relative_transformer(L1H8A2)",
        "funnel_classifier(B1-1-1H8A2)",
        "funnel_multiple_choice(B1-1-1H8A2)",
        "funnel_token_classifier(B1-1-1H8A2D1)",
        "funnel_question_answering(B1-1-1H8A2D1)",
        "funnel_masked_lm(B1-1-1H8A2D1)",
        "funnel_discriminator(B1-1-1H8A2D1)",
        "funnel_official_masked_lm(B1-1-1H8A2D1)",
        "funnel_official_discriminator(B1-1-1H8A2D1)",
        "funnel_official_squad(B1-1-1H8A2D1)",
        "bert(L1H8A2)",
        "sentence_embedding(L1H8A2)",
        "bert_classifier(L1H8A2)",
        "bert_token_classifier(L1H8A2)",
        "bert_question_answering(L1H8A2)",
        "bert_masked_lm(L1H8A2)",
        "bert_next_sentence(L1H8A2)",
        "bert_pretraining(L1H8A2)",
        "bert_multiple_choice(L1H8A2)",
        "electra(L1H8A2)",
        "electra_generator(L1H8A2, embed: 4)",
        "electra_classifier(L1H8A2)",
        "electra_token_classifier(L1H8A2)",
        "electra_question_answering(L1H8A2)",
        "electra_multiple_choice(L1H8A2)",
        "vit(V1H8A2)",
        "deit_distilled(V1H8A2)",
        "vit_encoder(V1H8A2)",
        "mixer(M1H8)",
        "gmlp_vision(G1-1H8F16)",
        "gmlp_masked_lm(G1H8F16)",
        "lucid_gmlp(G1H8F16)",
        "lucid_gmlp(G1H8F16T4, causal: true, shift: 1)",
        "lucid_gmlp_features(G1H8F16, causal: true)",
        "lucid_gmlp_vision(G1H8F16)",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        StdRun run = std_open();
        Str text = str_format(run.arena, "model m = %s", models[i]);
        elaborated(&run, str_cstr(run.arena, text), 0);
        std_close(&run);
    }
}

// One graph for all lengths gives what a graph for each would, and says what it cannot.
static void test_one_graph(void **state)
{
    (void)state;
    static const char *const models[] = {
        "model m = funnel(B1-1-1H4A2F6D1, vocab: 11)",
        "model m = funnel(B1-1-1H4A2F6D1, vocab: 11, separate_cls: false, pool: \"max\")",
        "model m = bert(L1H4A2F6, vocab: 11, positions: 20)",
    };
    static const int lengths[] = {17, 7, 16, 7};
    double ids[20];
    for (int i = 0; i < 20; i++) {
        ids[i] = i * 7 % 11;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        for (size_t k = 0; k < 4; k++) {
            StdRun fixed = std_open(), free = std_open();
            free.free = true;
            StdInput input = {"input_ids", ids, (size_t)lengths[k]};
            StdSize sizes[] = {{"batch", 1}, {"seq", lengths[k]}};
            assert_true(std_run(&fixed, models[i], sizes, 2, &input, 1));
            assert_true(std_run(&free, models[i], sizes, 2, &input, 1));
            int64_t n = lengths[k] * 4;
            std_expect(&free, "last_hidden_state", std_output(&fixed, "last_hidden_state", n), n);
            std_close(&fixed);
            std_close(&free);
        }
    }
    StdRun run = std_open();
    run.free = true;
    StdInput input = {"input_ids", ids, 4};
    StdSize sizes[] = {{"batch", 1}, {"seq", 4}};
    assert_false(std_run(&run, models[0], sizes, 2, &input, 1));
    assert_says(run.dx, "blocks need at least 5 tokens");
    std_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),   cmocka_unit_test(test_windows),
        cmocka_unit_test(test_masks),     cmocka_unit_test(test_pool_by_three),
        cmocka_unit_test(test_repeats),   cmocka_unit_test(test_mixer_widths),
        cmocka_unit_test(test_images),    cmocka_unit_test(test_positions),
        cmocka_unit_test(test_heads),     cmocka_unit_test(test_free_sizes),
        cmocka_unit_test(test_one_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
