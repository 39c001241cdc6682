// What the evaluator does with a graph as a whole: sizes and checks, kernels, outputs, memory,
// rounding, failures.
#include "ir/eval.h"

#include "eval_kit.h"
#include "said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

// Under sanitizers a malloc that is too large is to return NULL, as it does without them.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

#define OUT(n) "output \"o\" = %" #n "\n"

// ---- sizes ----

static const char sized[] = "graph \"t\"(batch, seq in 3 .. 9) {\n"
                            "check 2 * (seq / 2) + 1 == seq, \"an odd length is needed\"\n"
                            "check batch <= seq, \"too many\"\n"
                            "%0 = input \"x\" : f32[batch, seq]\n"
                            "%1 = pool %0 {axis = 1, window = 2, stride = 2, mode = max, "
                            "ceil = true} : f32[batch, (seq + 1) / 2]\n" OUT(1) "}\n";

static void test_symbols(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    run_bind(run, "seq", 5);
    run_bind(run, "batch", 2);
    EXPECT(run, sized, 2, 4, 5, 7, 9, 10);
    assert_int_equal(run->outputs[0].rank, 2);
    assert_int_equal(run->outputs[0].shape[0], 2);
    assert_int_equal(run->outputs[0].shape[1], 3);
    assert_int_equal(run->outputs[0].dtype, DT_f32);
}

static void test_symbols_refused(void **state)
{
    static const struct {
        int64_t batch;
        int64_t seq;
        const char *says;
    } cases[] = {
        {2, 2, "`seq` is 2, but must be at least 3"},
        {2, 9, "`seq` is 9, but must be at most 8"},
        {0, 5, "`batch` is 0, but must be at least 1"},
        {2, 6, "t.ir:2:1: error: an odd length is needed"},
        {6, 5, "too many (`batch <= seq` does not hold: 6 and 5)"},
    };
    Run *run = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run->options.nsymbols = 0;
        run_bind(run, "batch", cases[i].batch);
        run_bind(run, "seq", cases[i].seq);
        expect_failure(run, sized, cases[i].says);
    }
    run->options.nsymbols = 1;
    expect_failure(run, sized, "the size `seq` has no value");
}

static void test_sizes_over_64_bits(void **state)
{
    Run *run = *state;
    run_bind(run, "batch", 4000000000);
    run_bind(run, "seq", 4000000000);
    expect_failure(
        run, "graph \"t\"(batch, seq) {\n%0 = fill {value = 0} : f32[batch, seq, 8]\n" OUT(0) "}",
        "the bytes of f32[batch, seq, 8] do not fit in 64 bits");
    expect_failure(run,
                   "graph \"t\"(batch, seq) {\ncheck 3 * batch * seq > batch, \"x\"\n"
                   "%0 = fill {value = 0} : f32\n" OUT(0) "}",
                   "do not fit in 64 bits");
}

static void test_no_memory(void **state)
{
    Run *run = *state;
    run_bind(run, "n", (int64_t)1 << 56); // more than there are addresses
    expect_failure(run, "graph \"t\"(n) {\n%0 = fill {value = 0} : f32[n]\n" OUT(0) "}",
                   "out of memory: no room for 72057594037927936 elements of fill");
    assert_int_equal(diag_exit_code(run->dx), 3);
}

// What a check declares, and inference relied on, is taken as it is; a view that leaves its operand
// is found when its sizes are known.
static void test_view_outside(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2, 3, 4));
    run_bind(run, "n", 2);
    const char *text =
        "graph \"t\"(n) {\n%%0 = input \"x\" : f32[4]\n"
        "%%1 = view %%0 {strides = [%s], offset = %s} : f32[n]\noutput \"o\" = %%1\n}";
    EXPECT(run, str_format(run->arena, text, "n", "1").ptr, 2, 4);
    expect_failure(run, str_format(run->arena, text, "n", "n").ptr,
                   "view: with the sizes given, [4] do not make f32[n]");
    expect_failure(run, str_format(run->arena, text, "-n", "1").ptr, "with the sizes given");
    expect_failure(run, str_format(run->arena, text, "4611686018427387904 * n", "1").ptr,
                   "view: the size 4611686018427387904 * n does not fit in 64 bits");
    expect_failure(run, str_format(run->arena, text, "4611686018427387903 * n", "3").ptr,
                   "with the sizes given");
}

// ---- inputs ----

static void test_input_range(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("ids", 0, 59, 60));
    expect_failure(run, "%0 = input \"ids\" in 0 .. 60 : i32[3]\n" OUT(0),
                   "input: \"ids\": element 2 is 60, but must lie in 0 .. 60");
    EXPECT(run, "%0 = input \"ids\" in 0 .. 61 : i32[3]\n" OUT(0), 0, 59, 60);
}

static void test_leaf_fails(void **state)
{
    Run *run = *state;
    expect_failure(run, "%0 = param \"w\" : f32[3]\n%1 = neg %0 : f32[3]\n" OUT(1),
                   "no values for w");
}

// ---- outputs ----

static void test_outputs(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2), LEAF("w", 3));
    run_text(run, "%0 = input \"x\" : f32[2]\n%1 = param \"w\" : f32[1]\n"
                  "%2 = add %0, %1 : f32[2]\n%3 = reshape %2 : f32[2, 1]\n"
                  "output \"a\" = %2\noutput \"b\" = %3\noutput \"c\" = %2\noutput \"d\" = %0\n"
                  "output \"e\" = %1\n");
    expect_output(run, 0, VALUES(4, 5), 0);
    expect_output(run, 1, VALUES(4, 5), 0);
    expect_output(run, 2, VALUES(4, 5), 0);
    expect_output(run, 3, VALUES(1, 2), 0);
    expect_output(run, 4, VALUES(3), 0);
    run->outputs[0].data[0] = 77; // each owns its elements
    expect_output(run, 1, VALUES(4, 5), 0);
    expect_output(run, 2, VALUES(4, 5), 0);
}

static void test_one_output(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2));
    run_parse(run, "%0 = input \"x\" : f32[2]\n%1 = param \"absent\" : f32[2]\n"
                   "%2 = neg %0 : f32[2]\noutput \"a\" = %1\noutput \"b\" = %2\n");
    EvalTensor out;
    assert_true(eval_output(run->arena, run->dx, run->graph, &run->options, 1, &out));
    assert_true(out.count == 2 && out.data[0] == -1 && out.data[1] == -2);
    eval_free(&out, 1);
    assert_false(run_graph(run)); // the other one has no values
}

// Nodes that no output needs are not computed: neither their leaves asked for nor their faults met.
static void test_dead_nodes(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2), LEAF("ids", 9));
    EXPECT(run,
           "%0 = input \"x\" : f32[2]\n%1 = param \"absent\" : f32[2]\n"
           "%2 = input \"ids\" : i32[1]\n%3 = gather %0, %2 {axis = 0} : f32[1]\n"
           "%4 = add %0, %1 : f32[2]\n%5 = neg %0 : f32[2]\n" OUT(5),
           -1, -2);
}

typedef struct Seen {
    const Run *run;
    size_t n;
    double sum;
    uint32_t ids[8];
} Seen;

static Seen seen;

static void on_visit(void *ctx, const Node *node, const EvalTensor *value)
{
    assert_ptr_equal(ctx, seen.run);
    seen.ids[seen.n++] = node->id;
    seen.sum += value->data[0];
}

static void test_visit(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2));
    run->options.visit = on_visit;
    seen = (Seen){.run = run};
    run_text(run, "%0 = input \"x\" : f32[2]\n%1 = neg %0 : f32[2]\n%2 = fill {value = 5} : f32\n"
                  "%3 = add %1, %2 : f32[2]\n" OUT(3));
    assert_int_equal(seen.n, 4);
    assert_int_equal(seen.ids[3], 3);
    assert_true(seen.sum == 1 - 1 + 5 + 4);
}

// ---- kernels ----

static const char kernel[] = "%0 = input \"x\" : f32[2]\n"
                             "%1 = input \"y\" : f32[2]\n"
                             "%2 = kernel elementwise %0, %1 {\n"
                             "    %0 = arg {index = 1} : f32[2]\n"
                             "    %1 = arg {index = 0} : f32[2]\n"
                             "    %2 = sub %0, %1 : f32[2]\n"
                             "    %3 = mul %2, %2 : f32[2]\n"
                             "    output %3\n"
                             "    output %2\n"
                             "    output %0\n"
                             "    output %2\n"
                             "}\n"
                             "%3 = result %2 {index = 0} : f32[2]\n"
                             "%4 = result %2 {index = 1} : f32[2]\n"
                             "%5 = result %2 {index = 2} : f32[2]\n"
                             "%6 = result %2 {index = 3} : f32[2]\n"
                             "%7 = result %2 {index = 1} : f32[2]\n"
                             "%8 = add %6, %7 : f32[2]\n"
                             "output \"square\" = %3\n"
                             "output \"difference\" = %4\n"
                             "output \"same\" = %5\n"
                             "output \"twice\" = %8\n";

static void test_kernel(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2), LEAF("y", 10, 20));
    run_text(run, kernel);
    expect_output(run, 0, VALUES(81, 324), 0);
    expect_output(run, 1, VALUES(9, 18), 0);
    expect_output(run, 2, VALUES(10, 20), 0);
    expect_output(run, 3, VALUES(18, 36), 0);
}

static void test_kernel_visit(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2), LEAF("y", 10, 20));
    run->options.visit = on_visit;
    seen = (Seen){.run = run};
    run_text(run, "%0 = input \"x\" : f32[2]\n"
                  "%1 = kernel elementwise %0 {\n"
                  "    %0 = arg {index = 0} : f32[2]\n    %1 = neg %0 : f32[2]\n    output %1\n}\n"
                  "%2 = result %1 {index = 0} : f32[2]\n" OUT(2));
    assert_int_equal(seen.n, 4); // input, arg, neg, result: not the kernel
    assert_true(seen.sum == 1 + 1 - 1 - 1);
}

static void test_kernel_fails(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 1, 2), LEAF("ids", 1, 5));
    expect_failure(run,
                   "%0 = input \"x\" : f32[2]\n%1 = input \"ids\" : i32[2]\n"
                   "%2 = kernel elementwise %0, %1 {\n"
                   "    %0 = arg {index = 0} : f32[2]\n    %1 = arg {index = 1} : i32[2]\n"
                   "    %2 = neg %0 : f32[2]\n"
                   "    %3 = gather %2, %1 {axis = 0} : f32[2]\n"
                   "    output %2\n    output %3\n}\n"
                   "%3 = result %2 {index = 1} : f32[2]\n" OUT(3),
                   "gather: id 5 lies outside 0 .. 2");
}

// ---- rounding ----

static void test_rounding(void **state)
{
    Run *run = *state;
    RUN_LEAVES(run, LEAF("x", 0.1, 16777217, 1e300), LEAF("i", 16777217));
    const char *text = "%0 = input \"x\" : f32[3]\n%1 = fill {value = 3} : f32\n"
                       "%2 = div %0, %1 : f32[3]\noutput \"x\" = %0\noutput \"y\" = %2\n"
                       "%3 = input \"i\" : i32\noutput \"i\" = %3\n";
    run_text(run, text);
    expect_output(run, 0, VALUES(0.1, 16777217, 1e300), 0);
    expect_output(run, 1, VALUES(0.1 / 3, 16777217.0 / 3, 1e300 / 3), 0);
    run->options.round = true;
    run_text(run, text);
    // 0.1 and a third of it as IEEE 754 writes them: 0x3dcccccd, 0x3d088889.
    expect_output(run, 0, VALUES(0x1.99999ap-4, 16777216, INFINITY), 0);
    expect_output(run, 1, VALUES(0x1.111112p-5, 5592405.5, INFINITY), 0);
    expect_output(run, 2, VALUES(16777217), 0); // i32 is not rounded
}

// ---- memory ----

static long peak_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

enum { LONG = 300, BIG = 1 << 18 }; // tensors of 2 MB each

static bool fill_ones(void *ctx, const Node *node, EvalTensor *out)
{
    (void)ctx;
    (void)node;
    for (int64_t i = 0; i < out->count; i++) {
        out->data[i] = 1;
    }
    return true;
}

// 300 parameters, all declared before the first is used, and 300 sums: 1.2 GB if all were kept, of
// which no more than a few are alive at once. ASan keeps 256 MB of what was freed.
static void test_values_are_freed(void **state)
{
    Run *run = *state;
    Buf text = {.arena = run->arena};
    buf_add(&text, STR("graph \"t\"() {\n"));
    for (int i = 0; i < LONG; i++) {
        buf_format(&text, "%%%d = param \"w%d\" : f32[%d]\n", i, i, BIG);
    }
    for (int i = 0; i < LONG; i++) {
        buf_format(&text, "%%%d = add %%%d, %%%d : f32[%d]\n", LONG + i, i,
                   i == 0 ? LONG - 1 : LONG + i - 1, BIG);
    }
    buf_format(&text, "output \"o\" = %%%d\n}\n", 2 * LONG - 1);
    long before = peak_kilobytes();
    run->options.leaf = fill_ones;
    run_text(run, text.ptr);
    assert_true(run->outputs[0].data[BIG - 1] == LONG + 1);
    assert_true(peak_kilobytes() - before < 350 * 1024);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, run_set_up, run_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_symbols),          TEST(test_symbols_refused), TEST(test_sizes_over_64_bits),
        TEST(test_no_memory),        TEST(test_view_outside),    TEST(test_input_range),
        TEST(test_leaf_fails),       TEST(test_outputs),         TEST(test_one_output),
        TEST(test_dead_nodes),       TEST(test_visit),           TEST(test_kernel),
        TEST(test_kernel_visit),     TEST(test_kernel_fails),    TEST(test_rounding),
        TEST(test_values_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
