// Each operation of the evaluator on cases small enough to work out by hand.
#include "ir/eval.h"

#include "eval_kit.h"
#include "said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define X6     LEAF("x", 1, 2, 3, 4, 5, 6)
#define X_2x3  "%0 = input \"x\" : f32[2, 3]\n"
#define OUT(n) "output \"o\" = %" #n "\n"

// ---- constants ----

static void test_constants(void **state)
{
    Run *run = *state;
    EXPECT(run, "%0 = fill {value = 2.5} : f32[2, 2]\n" OUT(0), 2.5, 2.5, 2.5, 2.5);
    EXPECT(run, "%0 = fill {value = 1} : bool\n" OUT(0), 1);
    EXPECT(run, "%0 = iota : i32[4]\n" OUT(0), 0, 1, 2, 3);
    run_bind(run, "seq", 9);
    EXPECT(run,
           "graph \"t\"(seq) {\n%0 = size {size = (seq + 1) / 2} : i32\n"
           "%1 = size {size = 3 * seq} : f32\n%2 = to_f32 %0 : f32\n%3 = add %1, %2 : f32\n" OUT(
               3) "}",
           32);
}

static void test_size_over_i32(void **state)
{
    Run *run = *state;
    run_bind(run, "n", 3000000000);
    expect_failure(run, "graph \"t\"(n) {\n%0 = size {size = n} : i32\n" OUT(0) "}",
                   "size: n is 3000000000 here, which is no i32");
}

// ---- elementwise ----

static void test_broadcast_arithmetic(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("row", 10, 20, 30), LEAF("col", 100, 200), LEAF("one", 2));
#define BINARY(op, type)   X_2x3 "%1 = input " type "\n%2 = " op " %0, %1 : f32[2, 3]\n" OUT(2)
#define REVERSED(op, type) X_2x3 "%1 = input " type "\n%2 = " op " %1, %0 : f32[2, 3]\n" OUT(2)
    EXPECT(run, X_2x3 "%1 = add %0, %0 : f32[2, 3]\n" OUT(1), 2, 4, 6, 8, 10, 12);
    EXPECT(run, BINARY("add", "\"row\" : f32[3]"), 11, 22, 33, 14, 25, 36);
    EXPECT(run, BINARY("sub", "\"row\" : f32[1, 3]"), -9, -18, -27, -6, -15, -24);
    EXPECT(run, REVERSED("sub", "\"row\" : f32[1, 3]"), 9, 18, 27, 6, 15, 24);
    EXPECT(run, BINARY("mul", "\"col\" : f32[2, 1]"), 100, 200, 300, 800, 1000, 1200);
    EXPECT(run, REVERSED("div", "\"col\" : f32[2, 1]"), 100, 50, 100.0 / 3, 50, 40, 200.0 / 6);
    EXPECT(run, BINARY("div", "\"one\" : f32"), 0.5, 1, 1.5, 2, 2.5, 3);
    EXPECT(run, REVERSED("pow", "\"one\" : f32[1, 1]"), 2, 4, 8, 16, 32, 64);
    // Both sides are broadcast, and neither has all of the result's axes.
    EXPECT(run,
           "%0 = input \"col\" : f32[2, 1]\n%1 = input \"row\" : f32[3]\n"
           "%2 = sub %0, %1 : f32[2, 3]\n" OUT(2),
           90, 80, 70, 190, 180, 170);
}

static void test_middle_axis_broadcast(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4, 5, 6, 7, 8), LEAF("y", 10, 20, 30, 40));
    EXPECT(run,
           "%0 = input \"x\" : f32[2, 2, 2]\n%1 = input \"y\" : f32[2, 1, 2]\n"
           "%2 = add %0, %1 : f32[2, 2, 2]\n" OUT(2),
           11, 22, 13, 24, 35, 46, 37, 48);
}

static void test_select_and_logic(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("m", 1, 0), LEAF("i", -1, 7));
    EXPECT(run,
           X_2x3 "%1 = input \"m\" : bool[2, 1]\n%2 = fill {value = -5} : f32\n"
                 "%3 = select %1, %0, %2 : f32[2, 3]\n" OUT(3),
           1, 2, 3, -5, -5, -5);
    EXPECT(run,
           "%0 = input \"m\" : bool[2]\n%1 = not %0 : bool[2]\n%2 = or %0, %1 : bool[2]\n"
           "%3 = and %1, %2 : bool[2]\n%4 = to_i32 %3 : i32[2]\n" OUT(4),
           0, 1);
    EXPECT(run, X_2x3 "%1 = fill {value = 3} : f32\n%2 = le %0, %1 : bool[2, 3]\n" OUT(2), 1, 1, 1,
           0, 0, 0);
    EXPECT(run,
           "%0 = input \"i\" : i32[2]\n%1 = fill {value = 2147483647} : i32\n"
           "%2 = add %0, %1 : i32[2]\n" OUT(2),
           2147483646, -2147483642);
}

static void test_not_a_number(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", NAN, 1, -2, INFINITY), LEAF("y", 0, NAN, -3, 0));
    const char *text = "%%0 = input \"x\" : f32[4]\n%%1 = input \"y\" : f32[4]\n"
                       "%%2 = %s : f32[4]\noutput \"o\" = %%2\n";
    EXPECT(run, str_format(run->arena, text, "max %0, %1").ptr, NAN, NAN, -2, INFINITY);
    EXPECT(run, str_format(run->arena, text, "min %1, %0").ptr, NAN, NAN, -3, 0);
    EXPECT(run, str_format(run->arena, text, "mul %0, %1").ptr, NAN, NAN, 6, NAN);
    EXPECT(run, str_format(run->arena, text, "relu %0").ptr, NAN, 1, 0, INFINITY);
}

// x, then gelu, gelu_tanh, gelu_sigmoid, silu by arithmetic of 40 digits.
static const double activations[][5] = {
    {-6, -5.919525870226e-9, -8.439646700762e-11, -0.0002203535497874, -0.01483573893981},
    {-4, -0.0001266849673325, -7.024594819237e-5, -0.004414724139581, -0.07194483984837},
    {-3, -0.00404969409489, -0.003637392081773, -0.01807130970779, -0.1422776195327},
    {-2, -0.04550026389636, -0.04540230591222, -0.06434137685579, -0.2384058440442},
    {-1.5, -0.1002108019033, -0.1004284230198, -0.1083378015529, -0.2736382857095},
    {-1, -0.1586552539315, -0.1588080093917, -0.1542042340672, -0.26894142137},
    {-0.5, -0.154268769363, -0.1542859901749, -0.1496115633936, -0.1887703343991},
    {-0.1, -0.0460172162723, -0.04601724895456, -0.04575524191638, -0.04750208125211},
    {0, 0, 0, 0, 0},
    {0.1, 0.0539827837277, 0.05398275104544, 0.05424475808362, 0.05249791874789},
    {0.5, 0.345731230637, 0.3457140098251, 0.3503884366064, 0.3112296656009},
    {1, 0.8413447460685, 0.8411919906083, 0.8457957659328, 0.73105857863},
    {1.5, 1.399789198097, 1.39957157698, 1.391662198447, 1.22636171429},
    {2, 1.954499736104, 1.954597694088, 1.935658623144, 1.761594155956},
    {3, 2.995950305905, 2.996362607918, 2.981928690292, 2.857722380467},
    {4, 3.999873315033, 3.999929754052, 3.99558527586, 3.928055160152},
    {6, 5.99999999408, 5.999999999916, 5.99977964645, 5.98516426106},
};

static void test_activations(void **state)
{
    static const char *const names[] = {"gelu", "gelu_tanh", "gelu_sigmoid", "silu"};
    enum { N = sizeof activations / sizeof activations[0] };
    Run *run = *state;
    double x[N];
    for (size_t i = 0; i < N; i++) {
        x[i] = activations[i][0];
    }
    run_leaves(run, &(Leaf){"x", x, N}, 1);
    for (size_t f = 0; f < 4; f++) {
        run_text(run, str_format(run->arena,
                                 "%%0 = input \"x\" : f32[%d]\n%%1 = %s %%0 : f32[%d]\n"
                                 "output \"o\" = %%1",
                                 (int)N, names[f], (int)N)
                          .ptr);
        for (size_t i = 0; i < N; i++) {
            double want = activations[i][f + 1]; // 13 significant digits
            assert_true(fabs(run->outputs[0].data[i] - want) <= 6e-13 * fabs(want));
        }
    }
}

// ---- reductions ----

static void test_reductions(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6);
    EXPECT(run, X_2x3 "%1 = reduce_sum %0 {axes = [0]} : f32[3]\n" OUT(1), 5, 7, 9);
    EXPECT(run, X_2x3 "%1 = reduce_sum %0 {axes = [1]} : f32[2]\n" OUT(1), 6, 15);
    EXPECT(run, X_2x3 "%1 = reduce_sum %0 {axes = [0, 1]} : f32\n" OUT(1), 21);
    EXPECT(run, X_2x3 "%1 = reduce_mean %0 {axes = [0]} : f32[3]\n" OUT(1), 2.5, 3.5, 4.5);
    EXPECT(run, X_2x3 "%1 = reduce_mean %0 {axes = [0, 1]} : f32\n" OUT(1), 3.5);
    EXPECT(run, X_2x3 "%1 = reduce_max %0 {axes = [1]} : f32[2]\n" OUT(1), 3, 6);
    EXPECT(run, X_2x3 "%1 = reduce_min %0 {axes = [0]} : f32[3]\n" OUT(1), 1, 2, 3);
}

static void test_reduce_axes_apart(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    const char *text = "%%0 = input \"x\" : f32[2, 3, 2]\n"
                       "%%1 = %s : f32[%s]\noutput \"o\" = %%1\n";
    EXPECT(run, str_format(run->arena, text, "reduce_sum %0 {axes = [0, 2]}", "3").ptr,
           1 + 2 + 7 + 8, 3 + 4 + 9 + 10, 5 + 6 + 11 + 12);
    EXPECT(run, str_format(run->arena, text, "reduce_sum %0 {axes = [1]}", "2, 2").ptr, 9, 12, 27,
           30);
    EXPECT(run, str_format(run->arena, text, "reduce_max %0 {axes = [1, 2]}", "2").ptr, 6, 12);
    EXPECT(run, str_format(run->arena, text, "reduce_mean %0 {axes = [0, 1]}", "2").ptr, 6, 7);
}

static void test_reduce_elements(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("i", 2147483647, 1, -2147483648, -5), LEAF("b", 0, 0, 0, 1),
               LEAF("x", 1, NAN, -INFINITY, -INFINITY));
    EXPECT(run, "%0 = input \"i\" : i32[2, 2]\n%1 = reduce_sum %0 {axes = [1]} : i32[2]\n" OUT(1),
           -2147483648, 2147483643); // wraps
    EXPECT(run, "%0 = input \"i\" : i32[2, 2]\n%1 = reduce_max %0 {axes = [1]} : i32[2]\n" OUT(1),
           2147483647, -5);
    EXPECT(run, "%0 = input \"b\" : bool[2, 2]\n%1 = reduce_max %0 {axes = [1]} : bool[2]\n" OUT(1),
           0, 1);
    EXPECT(run, "%0 = input \"b\" : bool[2, 2]\n%1 = reduce_min %0 {axes = [1]} : bool[2]\n" OUT(1),
           0, 0);
    EXPECT(run, "%0 = input \"x\" : f32[2, 2]\n%1 = reduce_max %0 {axes = [1]} : f32[2]\n" OUT(1),
           NAN, -INFINITY);
    EXPECT(run, "%0 = input \"x\" : f32[2, 2]\n%1 = reduce_min %0 {axes = [1]} : f32[2]\n" OUT(1),
           NAN, -INFINITY);
}

static void test_softmax(void **state)
{
    Run *run = *state;
    double log2 = 0.69314718055994530942;
    RUN_LEAVES(run, LEAF("x", 0, log2, 2 * log2, 1e4, 1e4 + log2, 1e4 + 2 * log2),
               LEAF("y", -1e6, 0, -1e6, -1e300, NAN, 5));
    run_text(run, X_2x3 "%1 = softmax %0 {axis = 1} : f32[2, 3]\n" OUT(1));
    expect_output(run, 0, VALUES(1.0 / 7, 2.0 / 7, 4.0 / 7, 1.0 / 7, 2.0 / 7, 4.0 / 7), 1e-12);
    run_text(run, "%0 = input \"x\" : f32[3, 2]\n%1 = softmax %0 {axis = 0} : f32[3, 2]\n" OUT(1));
    // Columns (0, 2 log 2, 1e4 + log 2) and (log 2, 1e4, 1e4 + 2 log 2).
    expect_output(run, 0, VALUES(0, 0, 0, 0.2, 1, 0.8), 1e-12);
    EXPECT(run, "%0 = input \"y\" : f32[3, 2]\n%1 = softmax %0 {axis = 1} : f32[3, 2]\n" OUT(1), 0,
           1, 1, 0, NAN, NAN);
}

// By two passes: 40000 … 40003 have a variance of 1.25, not what cancels.
static void test_layer_norm(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 40000, 40001, 40002, 40003));
    run_text(run, "%0 = input \"x\" : f32[1, 4]\n"
                  "%1 = reduce_mean %0 {axes = [1]} : f32[1]\n"
                  "%2 = reshape %1 : f32[1, 1]\n"
                  "%3 = sub %0, %2 : f32[1, 4]\n"
                  "%4 = mul %3, %3 : f32[1, 4]\n"
                  "%5 = reduce_mean %4 {axes = [1]} : f32[1]\n"
                  "%6 = reshape %5 : f32[1, 1]\n"
                  "%7 = fill {value = 1e-05} : f32\n"
                  "%8 = add %6, %7 : f32[1, 1]\n"
                  "%9 = rsqrt %8 : f32[1, 1]\n"
                  "%10 = mul %3, %9 : f32[1, 4]\n" OUT(10));
    expect_output(run, 0, VALUES(-1.341635, -0.447212, 0.447212, 1.341635), 1e-6);
}

static void test_pool(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 10, 1, 2, 3, 4, 5, 6), LEAF("b", 1, 1, 1, 0, 1, 1, 0));
    const char *text = "%%0 = input \"%s\" : %s[7]\n%%1 = pool %%0 {axis = 0, window = %d, "
                       "stride = %d, mode = %s, ceil = %s} : %s[%d]\noutput \"o\" = %%1\n";
#define POOL(x, dtype, window, stride, mode, ceil, n)                                              \
    str_format(run->arena, text, x, dtype, window, stride, mode, ceil, dtype, n).ptr
    EXPECT(run, POOL("x", "f32", 2, 2, "mean", "true", 4), 5.5, 2.5, 4.5, 6);
    EXPECT(run, POOL("x", "f32", 2, 2, "mean", "false", 3), 5.5, 2.5, 4.5);
    EXPECT(run, POOL("x", "f32", 2, 2, "max", "true", 4), 10, 3, 5, 6);
    EXPECT(run, POOL("x", "f32", 2, 2, "min", "true", 4), 1, 2, 4, 6);
    EXPECT(run, POOL("x", "f32", 3, 2, "mean", "true", 3), 13.0 / 3, 3, 5);
    EXPECT(run, POOL("x", "f32", 4, 4, "mean", "true", 2), 4, 5);
    EXPECT(run, POOL("x", "f32", 5, 5, "mean", "false", 1), 4);
    EXPECT(run, POOL("b", "bool", 2, 2, "min", "true", 4), 1, 0, 1, 0);
    EXPECT(run, POOL("b", "bool", 2, 2, "max", "true", 4), 1, 1, 1, 0);
}

static void test_pool_middle_axis(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    EXPECT(run,
           "%0 = input \"x\" : f32[2, 3, 2]\n%1 = pool %0 {axis = 1, window = 2, stride = 2, "
           "mode = mean, ceil = true} : f32[2, 2, 2]\n" OUT(1),
           2, 3, 5, 6, 8, 9, 11, 12);
}

// A window over the end would be one of no members: the axis is shorter than that.
static void test_pool_one_member(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 7));
    EXPECT(
        run,
        "%0 = input \"x\" : f32[1]\n%1 = pool %0 {axis = 0, window = 2, stride = 2, mode = mean, "
        "ceil = true} : f32[1]\n" OUT(1),
        7);
}

// ---- products ----

static void test_matmul(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("y", 1, 0, 2, -1, 3, 1));
    EXPECT(run, X_2x3 "%1 = input \"y\" : f32[3, 2]\n%2 = matmul %0, %1 : f32[2, 2]\n" OUT(2),
           1 + 4 + 9, -2 + 3, 4 + 10 + 18, -5 + 6);
}

static void test_matmul_batches(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4), LEAF("y", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    // x [2, 1, 1, 2] and y [3, 2, 2]: each row of x with each matrix of y.
    EXPECT(run,
           "%0 = input \"x\" : f32[2, 1, 1, 2]\n%1 = input \"y\" : f32[3, 2, 2]\n"
           "%2 = matmul %0, %1 : f32[2, 3, 1, 2]\n" OUT(2),
           7, 10, 19, 22, 31, 34, 15, 22, 43, 50, 71, 78);
    // The other way round: y's matrices all with the one column x.
    EXPECT(run,
           "%0 = input \"y\" : f32[3, 2, 2]\n%1 = input \"x\" : f32[2, 1, 2, 1]\n"
           "%2 = matmul %0, %1 : f32[2, 3, 2, 1]\n" OUT(2),
           5, 11, 17, 23, 29, 35, 11, 25, 39, 53, 67, 81);
    // One matrix for all of the left side's batches.
    EXPECT(run,
           "%0 = input \"y\" : f32[3, 2, 2]\n%1 = input \"x\" : f32[2, 2]\n"
           "%2 = matmul %0, %1 : f32[3, 2, 2]\n" OUT(2),
           7, 10, 15, 22, 23, 34, 31, 46, 39, 58, 47, 70);
}

// Sizes around the blocks'. x[i, k] = i + 1, y[k, j] = k (j + 1): whole numbers, so exact.
static void test_matmul_sizes(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 63, 64, 65, 127, 128, 129, 257};
    enum { N = sizeof sizes / sizeof sizes[0], MOST = 257 };
    Run *run = *state;
    double *x = malloc(MOST * MOST * sizeof *x);
    double *y = malloc(MOST * MOST * sizeof *y);
    for (size_t c = 0; c < 3 * N; c++) {
        size_t m = c < N ? sizes[c] : 5;
        size_t k = c >= N && c < 2 * N ? sizes[c - N] : 7;
        size_t n = c >= 2 * N ? sizes[c - 2 * N] : 6;
        for (size_t i = 0; i < m * k; i++) {
            x[i] = (double)(i / k + 1);
        }
        for (size_t i = 0; i < k * n; i++) {
            y[i] = (double)((i / n) * (i % n + 1));
        }
        run_leaves(run, (Leaf[]){{"x", x, m * k}, {"y", y, k * n}}, 2);
        run_text(run, str_format(run->arena,
                                 "%%0 = input \"x\" : f32[%zu, %zu]\n"
                                 "%%1 = input \"y\" : f32[%zu, %zu]\n"
                                 "%%2 = matmul %%0, %%1 : f32[%zu, %zu]\noutput \"o\" = %%2\n",
                                 m, k, k, n, m, n)
                          .ptr);
        for (size_t i = 0; i < m * n; i++) {
            double want = (double)((i / n + 1) * (i % n + 1) * (k * (k - 1) / 2));
            assert_true(run->outputs[0].data[i] == want);
        }
    }
    free(x);
    free(y);
}

// The same bits as the sum in order, with any number of threads.
static void test_matmul_threads(void **state)
{
    enum { M = 71, K = 300, N = 700 }; // enough for as many threads
    Run *run = *state;
    double *x = malloc(M * K * sizeof *x);
    double *y = malloc(K * N * sizeof *y);
    double *want = calloc(M * N, sizeof *want);
    uint32_t seed = 1;
    for (size_t i = 0; i < M * K + K * N; i++) {
        seed = seed * 1664525 + 1013904223;
        double value = (double)seed / 4294967296.0 - 0.5;
        if (i < M * K) {
            x[i] = value;
        } else {
            y[i - M * K] = value;
        }
    }
    for (size_t i = 0; i < M; i++) {
        for (size_t k = 0; k < K; k++) {
            for (size_t j = 0; j < N; j++) {
                want[i * N + j] += x[i * K + k] * y[k * N + j];
            }
        }
    }
    run_leaves(run, (Leaf[]){{"x", x, M * K}, {"y", y, K * N}}, 2);
    run_parse(run, "%0 = input \"x\" : f32[71, 300]\n%1 = input \"y\" : f32[300, 700]\n"
                   "%2 = matmul %0, %1 : f32[71, 700]\n" OUT(2));
    for (unsigned threads = 0; threads < 9; threads++) {
        run->options.threads = threads == 8 ? 1000 : threads;
        assert_true(run_graph(run));
        expect_output(run, 0, want, M * N, 0);
    }
    free(x);
    free(y);
    free(want);
}

// ---- movement ----

static void test_permute_and_reshape(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("y", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    EXPECT(run, X_2x3 "%1 = permute %0 {axes = [1, 0]} : f32[3, 2]\n" OUT(1), 1, 4, 2, 5, 3, 6);
    EXPECT(run, X_2x3 "%1 = reshape %0 : f32[3, 1, 2]\n" OUT(1), 1, 2, 3, 4, 5, 6);
    EXPECT(run, X_2x3 "%1 = copy %0 : f32[2, 3]\n" OUT(1), 1, 2, 3, 4, 5, 6);
    EXPECT(run,
           "%0 = input \"y\" : f32[2, 2, 3]\n"
           "%1 = permute %0 {axes = [2, 0, 1]} : f32[3, 2, 2]\n" OUT(1),
           0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11);
    EXPECT(run,
           "%0 = input \"y\" : f32[2, 3, 2]\n"
           "%1 = permute %0 {axes = [2, 1, 0]} : f32[2, 3, 2]\n" OUT(1),
           0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11);
    EXPECT(run,
           "%0 = input \"y\" : f32[2, 3, 2]\n"
           "%1 = permute %0 {axes = [1, 0, 2]} : f32[3, 2, 2]\n" OUT(1),
           0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11);
}

// Larger than the blocks that turned matrices are copied by.
static void test_permute_large(void **state)
{
    enum { A = 3, B = 37, C = 50 };
    Run *run = *state;
    double x[A * B * C];
    double want[A * B * C];
    for (size_t a = 0; a < A; a++) {
        for (size_t b = 0; b < B; b++) {
            for (size_t c = 0; c < C; c++) {
                x[(a * B + b) * C + c] = (double)(10000 * a + 100 * b + c);
                want[(c * A + a) * B + b] = (double)(10000 * a + 100 * b + c);
            }
        }
    }
    run_leaves(run, &(Leaf){"x", x, A * B * C}, 1);
    run_text(run, "%0 = input \"x\" : f32[3, 37, 50]\n"
                  "%1 = permute %0 {axes = [2, 0, 1]} : f32[50, 3, 37]\n" OUT(1));
    expect_output(run, 0, want, A * B * C, 0);
}

static void test_broadcast(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2));
    EXPECT(run, "%0 = input \"x\" : f32[2]\n%1 = broadcast %0 : f32[3, 2]\n" OUT(1), 1, 2, 1, 2, 1,
           2);
    EXPECT(run, "%0 = input \"x\" : f32[2, 1]\n%1 = broadcast %0 : f32[2, 2, 2]\n" OUT(1), 1, 1, 2,
           2, 1, 1, 2, 2);
    EXPECT(run, "%0 = fill {value = 3} : i32\n%1 = broadcast %0 : i32[2]\n" OUT(1), 3, 3);
}

static void test_slice(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("y", 0, 1, 2, 3, 4, 5, 6));
    EXPECT(run, X_2x3 "%1 = slice %0 {start = [0, 1], step = [1, 1]} : f32[2, 2]\n" OUT(1), 2, 3, 5,
           6);
    EXPECT(run, X_2x3 "%1 = slice %0 {start = [1, 0], step = [1, 2]} : f32[1, 2]\n" OUT(1), 4, 6);
    EXPECT(run, X_2x3 "%1 = slice %0 {start = [1, 2], step = [-1, -1]} : f32[2, 3]\n" OUT(1), 6, 5,
           4, 3, 2, 1);
    EXPECT(run,
           "%0 = input \"y\" : f32[7]\n%1 = slice %0 {start = [6], step = [-3]} : f32[3]\n" OUT(1),
           6, 3, 0);
    EXPECT(run,
           "%0 = input \"y\" : f32[7]\n%1 = slice %0 {start = [2], step = [9000000000000000000]} : "
           "f32[1]\n" OUT(1),
           2);
}

static void test_concat_and_pad(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("y", 7, 8), LEAF("z", 9, 10, 11));
    EXPECT(run,
           X_2x3
           "%1 = input \"y\" : f32[2, 1]\n%2 = concat %1, %0, %1 {axis = 1} : f32[2, 5]\n" OUT(2),
           7, 1, 2, 3, 7, 8, 4, 5, 6, 8);
    EXPECT(run,
           X_2x3 "%1 = input \"z\" : f32[1, 3]\n%2 = concat %0, %1 {axis = 0} : f32[3, 3]\n" OUT(2),
           1, 2, 3, 4, 5, 6, 9, 10, 11);
    EXPECT(run, X_2x3 "%1 = concat %0 {axis = 0} : f32[2, 3]\n" OUT(1), 1, 2, 3, 4, 5, 6);
    EXPECT(run,
           X_2x3 "%1 = pad %0 {axis = 1, before = 1, after = 2, value = -1} : f32[2, 6]\n" OUT(1),
           -1, 1, 2, 3, -1, -1, -1, 4, 5, 6, -1, -1);
    EXPECT(run,
           X_2x3 "%1 = pad %0 {axis = 0, before = 1, after = 0, value = 0} : f32[3, 3]\n" OUT(1), 0,
           0, 0, 1, 2, 3, 4, 5, 6);
}

static void test_repeat_and_window(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("y", 0, 1, 2, 3, 4, 5, 6));
    EXPECT(run, X_2x3 "%1 = repeat %0 {axis = 0, times = 2} : f32[4, 3]\n" OUT(1), 1, 2, 3, 1, 2, 3,
           4, 5, 6, 4, 5, 6);
    EXPECT(run, X_2x3 "%1 = repeat %0 {axis = 1, times = 2} : f32[2, 6]\n" OUT(1), 1, 1, 2, 2, 3, 3,
           4, 4, 5, 5, 6, 6);
    EXPECT(run,
           "%0 = input \"y\" : f32[7]\n"
           "%1 = window %0 {axis = 0, window = 3, stride = 2} : f32[3, 3]\n" OUT(1),
           0, 1, 2, 2, 3, 4, 4, 5, 6);
    EXPECT(run, X_2x3 "%1 = window %0 {axis = 1, window = 2, stride = 1} : f32[2, 2, 2]\n" OUT(1),
           1, 2, 2, 3, 4, 5, 5, 6);
    EXPECT(run, X_2x3 "%1 = window %0 {axis = 0, window = 2, stride = 5} : f32[1, 2, 3]\n" OUT(1),
           1, 2, 3, 4, 5, 6);
}

static void test_toeplitz(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("w", 1, 2, 3, 4, 5), LEAF("v", 1, 2, 3, 4, 5, 6));
    // M[i, j] = w[2 + i - j]
    EXPECT(run, "%0 = param \"w\" : f32[5]\n%1 = toeplitz %0 : f32[3, 3]\n" OUT(1), 3, 2, 1, 4, 3,
           2, 5, 4, 3);
    EXPECT(run, "%0 = param \"v\" : f32[2, 3]\n%1 = toeplitz %0 : f32[2, 2, 2]\n" OUT(1), 2, 1, 3,
           2, 5, 4, 6, 5);
}

// y[i, j] = x[i, shift (q - i) + j]: shift 1 where queries are as many as keys, 2 where queries are
// pooled.
static void test_rel_shift(void **state)
{
    Run *run = *state;
    for (size_t c = 0; c < 10; c++) {
        static const size_t lengths[] = {5, 6, 7, 16, 17};
        size_t keys = lengths[c % 5];
        size_t shift = 1 + c / 5;
        size_t queries = shift == 1 ? keys : (keys + 1) / 2;
        size_t distances = shift * queries + keys;
        size_t n = 2 * queries * distances;
        double *x = malloc(n * sizeof *x);
        double *want = malloc(2 * queries * keys * sizeof *want);
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)i;
        }
        for (size_t h = 0; h < 2; h++) {
            for (size_t i = 0; i < queries; i++) {
                for (size_t j = 0; j < keys; j++) {
                    want[(h * queries + i) * keys + j] =
                        x[(h * queries + i) * distances + shift * (queries - i) + j];
                }
            }
        }
        run_leaves(run, &(Leaf){"x", x, n}, 1);
        run_text(run, str_format(run->arena,
                                 "%%0 = input \"x\" : f32[2, %zu, %zu]\n"
                                 "%%1 = rel_shift %%0 {shift = %zu} : f32[2, %zu, %zu]\n"
                                 "output \"o\" = %%1\n",
                                 queries, distances, shift, queries, keys)
                          .ptr);
        expect_output(run, 0, want, 2 * queries * keys, 0);
        free(x);
        free(want);
    }
}

static void test_triangle(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4, 5, 6, 7, 8, 9), X6);
    EXPECT(run, "%0 = input \"x\" : f32[3, 3]\n%1 = triangle %0 : f32[3, 3]\n" OUT(1), 1, 0, 0, 4,
           5, 0, 7, 8, 9);
    RUN_LEAVES(run, X6);
    EXPECT(run, X_2x3 "%1 = triangle %0 : f32[2, 3]\n" OUT(1), 1, 0, 0, 4, 5, 0);
    EXPECT(run, "%0 = input \"x\" : f32[3, 2]\n%1 = triangle %0 : f32[3, 2]\n" OUT(1), 1, 0, 3, 4,
           5, 6);
    EXPECT(run, "%0 = input \"x\" : f32[3, 1, 2]\n%1 = triangle %0 : f32[3, 1, 2]\n" OUT(1), 1, 0,
           3, 0, 5, 0);
}

static void test_view(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6);
    EXPECT(run, X_2x3 "%1 = view %0 {strides = [1, 3], offset = 0} : f32[3, 2]\n" OUT(1), 1, 4, 2,
           5, 3, 6);
    EXPECT(run, X_2x3 "%1 = view %0 {strides = [1, -1], offset = 2} : f32[3, 3]\n" OUT(1), 3, 2, 1,
           4, 3, 2, 5, 4, 3);
    EXPECT(run, X_2x3 "%1 = view %0 {strides = [0, 2], offset = 1} : f32[2, 3]\n" OUT(1), 2, 4, 6,
           2, 4, 6);
}

static void test_pack(void **state)
{
    Run *run = *state;
    double x[2 * 2 * 18];
    double want[2 * 2 * 2 * 16] = {0};
    for (size_t i = 0; i < 72; i++) {
        x[i] = (double)(i + 1);
    }
    for (size_t b = 0; b < 2; b++) {
        for (size_t k = 0; k < 2; k++) {
            for (size_t n = 0; n < 18; n++) {
                want[((b * 2 + n / 16) * 2 + k) * 16 + n % 16] = x[(b * 2 + k) * 18 + n];
            }
        }
    }
    run_leaves(run, &(Leaf){"x", x, 72}, 1);
    run_text(run, "%0 = param \"x\" : f32[2, 2, 18]\n"
                  "%1 = pack \"P16\" %0 : f32[2, 2, 2, 16]\n" OUT(1));
    expect_output(run, 0, want, 128, 0);
}

static void test_gather(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, X6, LEAF("ids", 1, 0, 1), LEAF("far", 1, 2), LEAF("low", -1, 0));
    EXPECT(run,
           X_2x3 "%1 = input \"ids\" : i32[3]\n%2 = gather %0, %1 {axis = 0} : f32[3, 3]\n" OUT(2),
           4, 5, 6, 1, 2, 3, 4, 5, 6);
    EXPECT(run,
           X_2x3 "%1 = input \"ids\" : i32[3, 1]\n"
                 "%2 = gather %0, %1 {axis = 1} : f32[2, 3, 1]\n" OUT(2),
           2, 1, 2, 5, 4, 5);
    expect_failure(run,
                   X_2x3 "%1 = input \"far\" : i32[2]\n"
                         "%2 = gather %0, %1 {axis = 0} : f32[2, 3]\n" OUT(2),
                   "gather: id 2 of input \"far\" lies outside 0 .. 2");
    expect_failure(run,
                   X_2x3 "%1 = input \"low\" : i32[2]\n%2 = neg %1 : i32[2]\n%3 = neg %2 : i32[2]\n"
                         "%4 = gather %0, %3 {axis = 0} : f32[2, 3]\n" OUT(4),
                   "gather: id -1 lies outside 0 .. 2");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, run_set_up, run_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_constants),
        TEST(test_size_over_i32),
        TEST(test_broadcast_arithmetic),
        TEST(test_middle_axis_broadcast),
        TEST(test_select_and_logic),
        TEST(test_not_a_number),
        TEST(test_activations),
        TEST(test_reductions),
        TEST(test_reduce_axes_apart),
        TEST(test_reduce_elements),
        TEST(test_softmax),
        TEST(test_layer_norm),
        TEST(test_pool),
        TEST(test_pool_middle_axis),
        TEST(test_pool_one_member),
        TEST(test_matmul),
        TEST(test_matmul_batches),
        TEST(test_matmul_sizes),
        TEST(test_matmul_threads),
        TEST(test_permute_and_reshape),
        TEST(test_permute_large),
        TEST(test_broadcast),
        TEST(test_slice),
        TEST(test_concat_and_pad),
        TEST(test_repeat_and_window),
        TEST(test_toeplitz),
        TEST(test_rel_shift),
        TEST(test_triangle),
        TEST(test_view),
        TEST(test_pack),
        TEST(test_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
