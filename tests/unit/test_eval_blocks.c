// Whole blocks of the model families, by weights that follow a formula, against sums and values
// that the families' own libraries give in float64.
//
// Tensor t has the elements 0.3 sin(0.7 k + 1.3 t + 0.1), k counting row by row, and 1 more where
// its name ends in '+'; the input is cos(0.37 k + 0.2), [2, 5, 6].
#include "ir/eval.h"

#include "eval_kit.h"
#include "said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool fill_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    static const double mask[] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
    (void)ctx;
    Str name = node->attr.name;
    bool is_mask = str_equal(name, STR("mask"));
    bool is_more = str_ends(name, STR("+"));
    int64_t t = 0;
    bool is_param = str_to_int((Str){name.ptr, name.len - is_more}, &t);
    for (int64_t k = 0; k < out->count; k++) {
        double x = (double)k;
        double weight = 0.3 * sin(0.7 * x + 1.3 * (double)t + 0.1) + is_more;
        out->data[k] = is_mask ? mask[k] : is_param ? weight : cos(0.37 * x + 0.2);
    }
    return true;
}

// ---- building ----

static void on_fail(void *ctx, int arg, Str message)
{
    (void)ctx;
    fail_msg("argument %d: %.*s", arg, STR_ARG(message));
}

static Builder start(Run *run)
{
    run->graph = graph_create(run->arena, STR("t"));
    run->options.leaf = fill_leaf;
    return (Builder){.graph = run->graph, .fail = on_fail};
}

static Type type_of(Builder *b, DType dtype, size_t rank, const int64_t *dims)
{
    const Size **shape = arena_new(b->graph->arena, const Size *, rank);
    for (size_t i = 0; i < rank; i++) {
        shape[i] = size_int(b->graph->arena, dims[i]);
    }
    return (Type){.dtype = dtype, .rank = (uint32_t)rank, .shape = shape};
}

static Node *input(Builder *b)
{
    Type type = type_of(b, DT_f32, 3, (int64_t[]){2, 5, 6});
    return ir_input(b, STR("x"), &type, NULL, NULL);
}

static Node *vector(Builder *b, const char *name, int64_t n)
{
    Type type = type_of(b, DT_f32, 1, &n);
    return ir_param(b, str_from(name), &type);
}

static Node *matrix(Builder *b, const char *name, int64_t rows, int64_t cols)
{
    Type type = type_of(b, DT_f32, 2, (int64_t[]){rows, cols});
    return ir_param(b, str_from(name), &type);
}

static Node *binary(Builder *b, Scalar fn, Node *x, Node *y)
{
    return ir_map(b, fn, (Node *[]){x, y}, 2);
}

static Node *unary(Builder *b, Scalar fn, Node *x) { return ir_map(b, fn, &x, 1); }

static Node *number(Builder *b, double value) { return ir_fill(b, DT_f32, value); }

static Node *new_axis(Builder *b, Node *x)
{
    return ir_subscript(b, x, (Subscript[]){{.kind = SUB_rest}, {.kind = SUB_new}}, 2);
}

// x · wᵀ + bias
static Node *dense(Builder *b, Node *x, Node *w, Node *bias)
{
    return binary(b, S_add, ir_matmul(b, x, ir_transpose(b, w)), bias);
}

static Node *layer_norm(Builder *b, Node *x, Node *weight, Node *bias, double eps)
{
    static const int64_t last = -1;
    Node *c = binary(b, S_sub, x, new_axis(b, ir_reduce(b, OP_reduce_mean, x, &last, 1)));
    Node *square = binary(b, S_mul, c, c);
    Node *v = new_axis(b, ir_reduce(b, OP_reduce_mean, square, &last, 1));
    Node *scale = unary(b, S_rsqrt, binary(b, S_add, v, number(b, eps)));
    return binary(b, S_add, binary(b, S_mul, binary(b, S_mul, c, scale), weight), bias);
}

static Node *last_part(Builder *b, Node *x, int64_t from, int64_t n)
{
    Arena *arena = b->graph->arena;
    return ir_part(b, x, -1, size_int(arena, from), size_int(arena, n));
}

// Softmax of q · kᵀ / √width, times v.
static Node *attend(Builder *b, Node *q, Node *k, Node *v, double width, Node *keep)
{
    Node *score = ir_matmul(b, q, ir_transpose(b, k));
    score = binary(b, S_mul, score, number(b, 1 / sqrt(width)));
    if (keep) {
        Node *low = binary(b, S_sub, score, number(b, 1e6));
        score = ir_map(b, S_select, (Node *[]){keep, score, low}, 3);
    }
    return ir_matmul(b, ir_softmax(b, score, -1), v);
}

// The output's sum and sum of squares, and its first or last elements.
static void expect_sums(Run *run, Builder *b, Node *out, double sum, double squares,
                        const double *first, size_t nfirst)
{
    graph_add_output(b->graph, STR("o"), out, (Place){0});
    Buf why = {.arena = run->arena};
    assert_true(graph_verify(run->graph, &why));
    if (!run_graph(run)) {
        fail_msg("%s", said(run->dx));
    }
    const EvalTensor *t = &run->outputs[0];
    double got = 0;
    double got_squares = 0;
    for (int64_t i = 0; i < t->count; i++) {
        got += t->data[i];
        got_squares += t->data[i] * t->data[i];
    }
    // All are given to 12 digits behind the point.
    assert_true(fabs(got - sum) < 2e-11);
    assert_true(fabs(got_squares - squares) < 2e-10);
    for (size_t i = 0; i < nfirst; i++) {
        assert_true(fabs(t->data[i] - first[i]) < 1e-12);
    }
}

// ---- gMLP and aMLP ----

typedef enum Mix { MIX_dense, MIX_toeplitz, MIX_causal } Mix;

static Node *tiny_attention(Builder *b, Node *y)
{
    Node *qkv = ir_matmul(b, y, ir_transpose(b, matrix(b, "10", 9, 6)));
    Node *a = attend(b, last_part(b, qkv, 0, 3), last_part(b, qkv, 3, 3), last_part(b, qkv, 6, 3),
                     3, NULL);
    return dense(b, a, matrix(b, "11", 4, 3), vector(b, "12", 4));
}

static Node *spatial_weight(Builder *b, Mix mix)
{
    switch (mix) {
    case MIX_dense: return matrix(b, "6", 5, 5);
    case MIX_toeplitz: return ir_toeplitz(b, vector(b, "13", 9), size_int(b->graph->arena, 5));
    case MIX_causal: return ir_triangle(b, matrix(b, "6", 5, 5));
    }
    return NULL;
}

static Node *gmlp(Builder *b, Scalar act, Mix mix, bool has_attention)
{
    Node *x = input(b);
    Node *y = layer_norm(b, x, vector(b, "0+", 6), vector(b, "1", 6), 1e-6);
    Node *z = unary(b, act, dense(b, y, matrix(b, "2", 8, 6), vector(b, "3", 8)));
    Node *v = layer_norm(b, last_part(b, z, 4, 4), vector(b, "4+", 4), vector(b, "5", 4), 1e-5);
    Node *gate = ir_matmul(b, spatial_weight(b, mix), v);
    gate = binary(b, S_add, gate, new_axis(b, vector(b, "7+", 5)));
    if (has_attention) {
        gate = binary(b, S_add, gate, tiny_attention(b, y));
    }
    Node *gated = binary(b, S_mul, last_part(b, z, 0, 4), gate);
    return binary(b, S_add, x, dense(b, gated, matrix(b, "8", 6, 4), vector(b, "9", 6)));
}

static void test_gmlp(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, gmlp(&b, S_gelu, MIX_dense, false), 5.421187096811, 32.271616145424,
                VALUES(.597684863676, 1.005376414082, .596179862758, .688754145943));
    assert_true(fabs(run->outputs[0].data[58] + .740321695418) < 1e-12);
    assert_true(fabs(run->outputs[0].data[59] + .878512372342) < 1e-12);
}

static void test_gmlp_tanh(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, gmlp(&b, S_gelu_tanh, MIX_dense, false), 5.421401961246, 32.271046933740,
                VALUES(.597709676078, 1.005350684015, .596203537245, .688735262750));
}

static void test_gmlp_toeplitz(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, gmlp(&b, S_gelu, MIX_toeplitz, false), 5.363842171892, 32.705887699263,
                VALUES(.655293851881));
}

static void test_gmlp_causal(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, gmlp(&b, S_gelu, MIX_causal, false), 5.358323251967, 32.138457489483,
                VALUES(.560088139963));
}

static void test_amlp(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, gmlp(&b, S_gelu, MIX_dense, true), 5.384833319077, 32.147589707832,
                VALUES(.606419388762, .996026511032, .605064712745, .681361040690));
}

// ---- Mixer ----

static Node *mixer(Builder *b, Scalar act)
{
    Node *x = input(b);
    Node *y =
        ir_transpose(b, layer_norm(b, x, vector(b, "0+", 6), vector(b, "1", 6), 1e-6)); // [2, 6, 5]
    y = unary(b, act, dense(b, y, matrix(b, "2", 3, 5), vector(b, "3", 3)));
    y = dense(b, y, matrix(b, "4", 5, 3), vector(b, "5", 5));
    x = binary(b, S_add, x, ir_transpose(b, y));
    y = layer_norm(b, x, vector(b, "6+", 6), vector(b, "7", 6), 1e-6);
    y = unary(b, act, dense(b, y, matrix(b, "8", 8, 6), vector(b, "9", 8)));
    return binary(b, S_add, x, dense(b, y, matrix(b, "10", 6, 8), vector(b, "11", 6)));
}

static void test_mixer(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, mixer(&b, S_gelu), 9.915920681173, 42.661526810940,
                VALUES(1.432497518452, 1.294633604122, .888445955141, .321122526838));
}

static void test_mixer_tanh(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, mixer(&b, S_gelu_tanh), 9.915783593188, 42.661773990605, NULL, 0);
}

// ---- BERT ----

// [2, 5, 6] to heads [2, 2, 5, 3].
static Node *split_heads(Builder *b, Node *x)
{
    Type type = type_of(b, DT_f32, 4, (int64_t[]){2, 5, 2, 3});
    return ir_permute(b, ir_reshape(b, x, type.shape, 4), (int64_t[]){0, 2, 1, 3}, 4);
}

static Node *self_attention(Builder *b, Node *x, Node *keep)
{
    Node *q = split_heads(b, dense(b, x, matrix(b, "0", 6, 6), vector(b, "1", 6)));
    Node *k = split_heads(b, dense(b, x, matrix(b, "2", 6, 6), vector(b, "3", 6)));
    Node *v = split_heads(b, dense(b, x, matrix(b, "4", 6, 6), vector(b, "5", 6)));
    Node *a = ir_permute(b, attend(b, q, k, v, 3, keep), (int64_t[]){0, 2, 1, 3}, 4);
    Type type = type_of(b, DT_f32, 3, (int64_t[]){2, 5, 6});
    a = ir_reshape(b, a, type.shape, 3);
    return dense(b, a, matrix(b, "6", 6, 6), vector(b, "7", 6));
}

static Node *feed_forward(Builder *b, Node *x)
{
    x = unary(b, S_gelu, dense(b, x, matrix(b, "10", 8, 6), vector(b, "11", 8)));
    return dense(b, x, matrix(b, "12", 6, 8), vector(b, "13", 6));
}

static Node *bert(Builder *b, Node *x, Node *keep)
{
    x = binary(b, S_add, x, self_attention(b, x, keep));
    x = layer_norm(b, x, vector(b, "8+", 6), vector(b, "9", 6), 1e-12);
    x = binary(b, S_add, x, feed_forward(b, x));
    return layer_norm(b, x, vector(b, "14+", 6), vector(b, "15", 6), 1e-12);
}

// bool [2, 5]: the last two of the second item are padding.
static Node *mask_input(Builder *b)
{
    Type type = type_of(b, DT_bool, 2, (int64_t[]){2, 5});
    return ir_input(b, STR("mask"), &type, NULL, NULL);
}

static Node *over_keys(Builder *b, Node *mask)
{
    Type type = type_of(b, DT_bool, 4, (int64_t[]){2, 1, 1, 5});
    return ir_reshape(b, mask, type.shape, 4);
}

static void test_bert(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    expect_sums(run, &b, bert(&b, input(&b), NULL), 4.982432688801, 69.008975144692,
                VALUES(1.005440024962, 1.142194701227, .252554698455, .571364223699));
}

static void test_bert_masked(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    Node *out = bert(&b, input(&b), over_keys(&b, mask_input(&b)));
    expect_sums(run, &b, out, 5.045139218735, 69.641639075120,
                VALUES(1.005440024962, 1.142194701227, .252554698455, .571364223699));
    assert_true(fabs(run->outputs[0].data[58] + .262516906056) < 1e-12);
    assert_true(fabs(run->outputs[0].data[59] + 1.945345398888) < 1e-12);
}

static void test_sentence_embedding(void **state)
{
    static const int64_t tokens = 1;
    static const int64_t last = -1;
    Run *run = *state;
    Builder b = start(run);
    Node *mask = mask_input(&b);
    Node *x = bert(&b, input(&b), over_keys(&b, mask));
    Node *real = new_axis(&b, unary(&b, S_to_f32, mask));
    Node *sum = ir_reduce(&b, OP_reduce_sum, binary(&b, S_mul, x, real), &tokens, 1);
    Node *mean = binary(&b, S_div, sum, ir_reduce(&b, OP_reduce_sum, real, &tokens, 1));
    Node *squares = ir_reduce(&b, OP_reduce_sum, binary(&b, S_mul, mean, mean), &last, 1);
    Node *out = binary(&b, S_mul, mean, new_axis(&b, unary(&b, S_rsqrt, squares)));
    expect_sums(run, &b, out, .914590090765, 2,
                VALUES(.202046910949, .232807385771, -.576278081625, .186112908077));
}

static void test_pre_norm(void **state)
{
    Run *run = *state;
    Builder b = start(run);
    Node *x = input(&b);
    Node *y = layer_norm(&b, x, vector(&b, "8+", 6), vector(&b, "9", 6), 1e-6);
    x = binary(&b, S_add, x, self_attention(&b, y, NULL));
    y = layer_norm(&b, x, vector(&b, "14+", 6), vector(&b, "15", 6), 1e-6);
    x = binary(&b, S_add, x, feed_forward(&b, y));
    expect_sums(run, &b, x, -5.593464094092, 40.555401534189,
                VALUES(1.197853992517, .544894102991, -.232218999224, .595631102264));
}

// ---- Funnel's pooling ----

// <cls> apart, the rest by twos; the last token is dropped first if `truncate`.
static Node *pool_apart(Builder *b, Node *x, int64_t n, bool truncate, PoolMode mode)
{
    Arena *arena = b->graph->arena;
    Node *cls = ir_part(b, x, 0, size_int(arena, 0), size_int(arena, 1));
    Node *rest = ir_part(b, x, 0, size_int(arena, 1), size_int(arena, n - 1 - truncate));
    return ir_concat(b, (Node *[]){cls, ir_pool(b, rest, 2, 2, mode, 0, true)}, 2, 0);
}

static void test_pooling_apart(void **state)
{
    Run *run = *state;
    static const double values[] = {10, 1, 2, 3, 4, 5, 6, 7};
    for (size_t c = 0; c < 4; c++) {
        static const struct {
            int64_t n;
            bool truncate;
            double want[5];
            size_t nwant;
        } cases[] = {
            {8, true, {10, 1.5, 3.5, 5.5}, 4},
            {8, false, {10, 1.5, 3.5, 5.5, 7}, 5},
            {5, true, {10, 1.5, 3}, 3},
            {5, false, {10, 1.5, 3.5}, 3},
        };
        Builder b = start(run);
        Type type = type_of(&b, DT_f32, 1, &cases[c].n);
        Node *x = ir_param(&b, STR("values"), &type);
        graph_add_output(b.graph, STR("o"),
                         pool_apart(&b, x, cases[c].n, cases[c].truncate, POOL_mean), (Place){0});
        run_leaves(run, &(Leaf){"values", values, (size_t)cases[c].n}, 1);
        run->options.leaf = run_leaf;
        assert_true(run_graph(run));
        expect_output(run, 0, cases[c].want, cases[c].nwant, 0);
    }
}

// A mask is pooled by its least member: a pooled token is real if all of its own are.
static void test_mask_pooling(void **state)
{
    Run *run = *state;
    static const struct {
        double mask[8];
        double first[4];
        double second[2];
    } cases[] = {
        {{1, 1, 1, 1, 1, 0, 0, 0}, {1, 1, 1, 0}, {1, 1}},
        {{1, 1, 1, 1, 0, 0, 0, 0}, {1, 1, 0, 0}, {1, 0}},
        {{1, 1, 1, 0, 0, 0, 0, 0}, {1, 1, 0, 0}, {1, 0}},
    };
    for (size_t c = 0; c < 3; c++) {
        Builder b = start(run);
        Type type = type_of(&b, DT_bool, 1, (int64_t[]){8});
        Node *mask = ir_param(&b, STR("mask"), &type);
        Node *first = pool_apart(&b, mask, 8, true, POOL_min);
        graph_add_output(b.graph, STR("a"), first, (Place){0});
        graph_add_output(b.graph, STR("b"), pool_apart(&b, first, 4, true, POOL_min), (Place){0});
        run_leaves(run, &(Leaf){"mask", cases[c].mask, 8}, 1);
        run->options.leaf = run_leaf;
        assert_true(run_graph(run));
        expect_output(run, 0, cases[c].first, 4, 0);
        expect_output(run, 1, cases[c].second, 2, 0);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, run_set_up, run_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_gmlp),          TEST(test_gmlp_tanh),
        TEST(test_gmlp_toeplitz), TEST(test_gmlp_causal),
        TEST(test_amlp),          TEST(test_mixer),
        TEST(test_mixer_tanh),    TEST(test_bert),
        TEST(test_bert_masked),   TEST(test_sentence_embedding),
        TEST(test_pre_norm),      TEST(test_pooling_apart),
        TEST(test_mask_pooling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
