// What programs mean: values, names, sizes, arguments, paths, inputs and outputs.
#include "ir/ir.h"

#include "front_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct Case {
    const char *text;
    const char *expected; // outputs, or messages
} Case;

static void check_cases(const Case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        FrontText t = front_text_open();
        assert_string_equal(front_text_outputs(&t, cases[i].text, NULL), cases[i].expected);
        front_text_close(&t);
    }
}
#define CHECK_CASES(cases) check_cases((cases), sizeof(cases) / sizeof(cases)[0])

// Every condition holds, and its opposite does not.
static void check_true(const char *const *conditions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        FrontText t = front_text_open();
        Str text =
            str_format(t.arena,
                       "let ten = 10 block twice(x) { return 2 * x } model m { input x: f32[4] "
                       "l = [1, 2, 3] check %s, \"no\" output y = x }",
                       conditions[i]);
        assert_non_null(front_text_elaborate(&t, str_cstr(t.arena, text), NULL));
        text = str_format(t.arena,
                          "let ten = 10 block twice(x) { return 2 * x } model m { input x: f32[4] "
                          "l = [1, 2, 3] check not (%s), \"no\" output y = x }",
                          conditions[i]);
        assert_null(front_text_elaborate(&t, str_cstr(t.arena, text), NULL));
        assert_non_null(strstr(front_text_messages(&t), "error: no\n"));
        front_text_close(&t);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const conditions[] = {
        "7 / 2 == 3",
        "-7 / 2 == -4",
        "7 / -2 == -4",
        "-7 / -2 == 3", // rounds down
        "7 % 3 == 1",
        "-7 % 3 == 2",
        "7 % -3 == -2",
        "-7 % -3 == -1", // as the divisor
        "7.0 / 2 == 3.5",
        "7 / 2.0 == 3.5",
        "7.5 % 2 == 1.5",
        "-7.5 % 2 == 0.5",
        "2 ** 10 == 1024",
        "2 ** 62 == 4611686018427387904",
        "2 ** -1 == 0.5",
        "4 ** 0.5 == 2.0",
        "(-2) ** 3 == -8",
        "-2 ** 2 == -4",
        "2 ** 3 ** 2 == 512",
        "0 ** 0 == 1",
        "1 ** 99999 == 1",
        "(-1) ** 63 == -1",
        "(-2) ** 63 < 0",
        "1 + 2 * 3 == 7",
        "1 - 2 - 3 == -4",
        "1e3 == 1000",
        "0.1 + 0.2 != 0.3",
        "1 == 1.0",
        "1 < 2",
        "2 <= 2",
        "2.5 > 2",
        "2 >= 2",
        "not 1 > 2",
        "9223372036854775807 == 9223372036854775806 + 1",
        "-9223372036854775807 - 1 < 0",
        "ten == 10",
        "twice(ten) == 20",
        "min(1, 2.5) == 1",
        "max(1, 2.5) == 2.5",
        "min(3, 3) == 3",
        "abs(-3) == 3",
        "abs(-2.5) == 2.5",
        "f32(3) / 2 == 1.5",
        "i32(3.7) == 3",
        "i32(-3.7) == -3",
        "i32(1e300) == 2147483647",
        "i32(true) == 1",
        "f32(false) == 0.0",
        "sqrt(16) == 4.0",
        "exp(0) == 1.0",
        "log(1.0) == 0.0",
        "relu(-3.0) == 0.0",
        "rsqrt(0.25) == 2.0",
        "tanh(0) == 0.0",
        "sigmoid(0) == 0.5",
        "abs(sin(1.0)) < 1",
        "f32(true) == 1.0",
    };
    check_true(conditions, sizeof conditions / sizeof conditions[0]);
}

static void test_other_values(void **state)
{
    (void)state;
    static const char *const conditions[] = {
        "true and true",
        "true or false",
        "false or true",
        "not false and true",
        "true or nothing_of_that_name",
        "not (false and nothing_of_that_name)",
        "\"a\" == \"a\"",
        "\"a\" != \"b\"",
        "true == true",
        "true != false",
        "[1, 2] == [1, 2]",
        "[1, 2] != [1, 3]",
        "[1] != [1, 2]",
        "[1] == [1.0]",
        "[[1]] == [[1]]",
        "[] == []",
        "[1] + [2] == [1, 2]",
        "len([]) == 0",
        "len(l) == 3",
        "len(l + l) == 6",
        "l[0] == 1",
        "l[-1] == 3",
        "l[1 :] == [2, 3]",
        "l[: -1] == [1, 2]",
        "l[:] == l",
        "l[1 : 2] == [2]",
        "l[2 : 1] == []",
        "l[1 : 99] == [2, 3]",
        "l[-2 :] == [2, 3]",
        "len(l[5 :]) == 0",
        "B6-3x2H768.H == 768",
        "B6-3x2H768.F == 3072",
        "B6-3x2H768.A == 12",
        "B6-3x2H768.D == 0",
        "B6-3x2H768.groups[1].layers == 3",
        "B6-3x2H768.groups[1].repeats == 2",
        "len(B6-3x2H768.groups) == 2",
        "B6-3x2H768.text == \"B6-3x2H768\"",
        "B6H768.family == \"B\"",
        "B06H768 == B6H768",
        "B6H768 != B6H64",
        "dense == dense",
        "dense != layer_norm",
        "gelu == gelu",
        "gelu != gelu_tanh",
        "twice != dense",
        "x.shape == [4]",
        "len(x.shape) == 1",
        "(if 1 < 2 then 3 else nothing_of_that_name) == 3",
        "select(true, 3, 4) == 3",
        "select(false, 3, \"a\") == \"a\"",
    };
    check_true(conditions, sizeof conditions / sizeof conditions[0]);
}

static void test_names(void **state)
{
    (void)state;
    static const Case cases[] = {
        // The taken branch of an `if` is no scope; a `for` body is one, but rebinds what is
        // outside.
        {"model m { input x: f32[2] if true { y = x } output z = y }", "z: f32[2]\n"},
        {"model m { input x: f32[2] for i in 0 .. 2 { x = concat([x, x], 0) } output z = x }",
         "z: f32[8]\n"},
        {"model m { input x: f32[2] for i in 0 .. 2 { y = x } output z = y }",
         "t.slu:1:64: error: unknown name `y`: it ended with the `for` that binds it; bind `y` "
         "before\n"},
        {"model m { input x: f32[2] for i in 0 .. 2 { for i in 0 .. 1 { } x = x + i } output z = x "
         "}",
         "z: f32[2]\n"},
        {"model m { input x: f32[2] for i in 3 .. 1 { x = nothing } output z = x }", "z: f32[2]\n"},
        {"model m { input x: f32[2] i = 5 for i in 0 .. 2 { i = 7 } check i == 5, \"\" output z = "
         "x }",
         "z: f32[2]\n"},
        // All values are computed before a name is bound.
        {"model m { input x: f32[2] input y: f32[3] x, y = y, x output z = x output w = y }",
         "z: f32[3]\nw: f32[2]\n"},
        {"model m { input x: f32[2] a, b, c = [x, x[0], x[: 1]] output z = [a, b, c] }",
         "z.0: f32[2]\nz.1: f32\nz.2: f32[1]\n"},
        // A block sees its parameters and the file, not its caller.
        {"block f(x) { return x * k } model m { input x: f32[2] k = 3 output z = f(x) }",
         "t.slu:1:25: error: unknown name `k`\nt.slu:1:72: note: called here\n"},
        {"let k = 3 block f(x) { return x * k } model m { input x: f32[2] k = 4 output z = f(x) }",
         "z: f32[2]\n"},
        // A name of the file hides the library's, for the file alone.
        {"block dense(x, n) { return x[.., : n] } block layer_norm(x, e) { return nothing } model "
         "m "
         "{ input x: f32[2, 8] output z = dense(x, 3) output w = mlp(x, 16, gelu) as m }",
         "z: f32[2, 3]\nw: f32[2, 8]\n"},
        {"let gelu = 3 model m { input x: f32[2] output z = x * gelu }", "z: f32[2]\n"},
        // Several values returned are a list.
        {"block f(x) { return x, x + 1 } model m { input x: f32[2] a, b = f(x) output z = b output "
         "w "
         "= f(x) }",
         "z: f32[2]\nw.0: f32[2]\nw.1: f32[2]\n"},
        {"block f(x, n) { if n > 0 { return f(x + 1, n - 1) } return x } model m { input x: f32[2] "
         "output z = f(x, 3) }",
         "z: f32[2]\n"},
    };
    CHECK_CASES(cases);
}

static void test_sizes(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"model m { input x: f32[batch, seq, 8] output y = pool(x) output z = x[:, 0] output w = "
         "transpose(x) }",
         "y: f32[batch, (seq + 1) / 2, 8]\nz: f32[batch, 8]\nw: f32[batch, 8, seq]\n"},
        {"model m { input x: f32[n, 2] output y = reshape(x, [2 * n]) output z = concat([x, x], 0) "
         "output w = repeat(x, 3, axis: 0) }",
         "y: f32[2 * n]\nz: f32[2 * n, 2]\nw: f32[3 * n, 2]\n"},
        {"model m { input x: f32[n] input y: f32[n] output z = x + y }", "z: f32[n]\n"},
        {"model m { input x: f32[n] input y: f32[k] output z = x + y }",
         "t.slu:1:54: error: shapes do not broadcast: f32[n] and f32[k] (whether n == k is not "
         "known; "
         "fix it with --set n=N or --set k=N, or declare it: check n == k, \"…\")\n"},
        {"model m { input x: f32[n] input y: f32[k] check n == k, \"\" output z = x + y }",
         "z: f32[k]\n"},
        {"model m { input x: f32[n] output y = x * n + f32(n) output z = i32(n) }",
         "y: f32[n]\nz: i32\n"},
        {"model m { input x: f32[n] if n >= 1 and n + 1 > 1 and n % 1 == 0 { y = x } output z = y "
         "}",
         "z: f32[n]\n"},
        {"model m { input x: f32[n] if n == n and 2 * n != 2 * n + 1 { y = x } output z = y }",
         "z: f32[n]\n"},
        {"model m { input x: f32[n] output y = x[max(1, n) - 1] }", "y: f32\n"},
        // What a check says holds from there on.
        {"model m { input x: f32[n] check n >= 9, \"\" output y = x[: 9] if n > 8 { output z = x } "
         "}",
         "y: f32[9]\nz: f32[n]\n"},
        {"model m { input x: f32[n] check n % 4 == 0, \"\" output y = reshape(x, [n / 4, 4]) }",
         "y: f32[n / 4, 4]\n"},
        {"model m { input x: f32[n] check n % 4 == 0 and n <= 4, \"\" for i in 0 .. n { x = x + 1 "
         "} "
         "output y = x }",
         "t.slu:1:73: error: a loop's bounds must be numbers; n is symbolic: fix it with --set "
         "n=N\n"},
        {"model m { input x: f32[n] check n == 4, \"\" for i in 0 .. n { x = x + 1 } output y = x "
         "}",
         "y: f32[4]\n"},
        {"model m { input x: f32[n] check not n < 3, \"\" output y = x[2] }", "y: f32\n"},
        {"model m { input x: f32[n] check true and n > 2 and (true and n > 4), \"\" output y = "
         "x[4] }",
         "y: f32\n"},
        {"model m { input x: f32[n] check false or n > 2, \"\" output y = x[2] }", "y: f32\n"},
        {"model m { input x: f32[n] check n > 2 or n > 4, \"\" output y = x }",
         "t.slu:1:33: error: whether n > 2 is not known; fix it with --set n=N, or declare it: "
         "check n "
         "> 2, \"…\"\n"},
        // Sizes that a block's types name.
        {"block f(x: f32[B, S, D]) { return reshape(x, [B * S, D]) } model m { input x: f32[b, s, "
         "8] "
         "output y = f(x) }",
         "y: f32[b * s, 8]\n"},
        {"block f(x: f32[.., D], y: f32[D]) { return x + y } model m { input x: f32[2, 3, 4] input "
         "y: "
         "f32[4] output z = f(x, y) output w = f(y, y) }",
         "z: f32[2, 3, 4]\nw: f32[4]\n"},
        {"block f(x: f32[N, ..]) { return N * x } model m { input x: f32[2, 3] output y = f(x) }",
         "y: f32[2, 3]\n"},
        {"block f(x: [N, .., M], y: f32[N + M]) { return y } model m { input x: i32[2, 9, 3] input "
         "y: "
         "f32[5] output z = f(x, y) }",
         "z: f32[5]\n"},
        {"block f(x: f32) { return x } model m { input x: f32 output y = f(x) }", "y: f32\n"},
        {"block f(x: f32[]) { return x } model m { input x: f32[1] output y = f(x) }",
         "t.slu:1:71: error: f: `x` must be f32[], not f32[1]\nt.slu:1:12: note: declared here\n"},
        {"let D = 8 block f(x: f32[D]) { return x } model m { input x: f32[D] output y = f(x) }",
         "y: f32[8]\n"},
        {"block f(x: f32[B, D], width = 2 * D, h = width / B) { return x * h } model m { input x: "
         "f32[2, 3] output y = f(x) }",
         "y: f32[2, 3]\n"},
    };
    CHECK_CASES(cases);
}

static void test_arguments(void **state)
{
    (void)state;
    // f gives back what it was called with.
    static const char *const conditions[][2] = {
        {"block f(a, b = 2, c = a + b) { return [a, b, c] }",
         "f(1) == [1, 2, 3] and f(1, 5) == [1, 5, 6] and f(c: 0, a: 1) == [1, 2, 0]"},
        {"block g(a, b = 2) { return [a, b] } block f(a, ..) { return g(a, ..) }",
         "f(1) == [1, 2] and f(1, b: 3) == [1, 3]"},
        // An explicit argument wins, as long as somebody takes the other.
        {"block g(a, b = 2) { return [a, b] } block f(a, ..) { return g(a, b: 7, ..) + g(a, ..) }",
         "f(1, b: 3) == [1, 7, 1, 3]"},
        // A parameter on the way is not passed on.
        {"block g(a, b = 2) { return [a, b] } block f(a, b = 4, ..) { return g(a, ..) + [b] }",
         "f(1, b: 3) == [1, 2, 3]"},
        {"block h(a = 1, b = 1) { return a + b } block g(..) { return h(..) } block f(..) { return "
         "g(..) }",
         "f(a: 5, b: 6) == 11 and f() == 2"},
        {"block g(act, x) { return act(x) } block f(x) { return g(twice, x) } block twice(x) { "
         "return "
         "2 * x }",
         "f(3) == 6 and g(abs, -3) == 3"},
        {"block f(i: int, r: float, b: bool, t: text, l: layout, v: list, g: function) { return "
         "true }",
         "f(1, 2.5, true, \"\", B1H8, [], f) and f(1, 2, false, \"\", B1H8, [1], gelu)"},
        {"block f(x, ..) { return len(x, ..) }", "f([1, 2]) == 2"},
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        FrontText t = front_text_open();
        Str text = str_format(t.arena, "%s model m { input x: f32 check %s, \"no\" output y = x }",
                              conditions[i][0], conditions[i][1]);
        assert_string_equal(front_text_outputs(&t, str_cstr(t.arena, text), NULL), "y: f32\n");
        front_text_close(&t);
    }
}

static const char *param_names(FrontText *t, const char *text)
{
    const Graph *graph = front_text_elaborate(t, text, NULL);
    if (!graph)
        return front_text_messages(t);
    Buf buf = {.arena = t->arena};
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op == OP_param)
            buf_format(&buf, "%.*s ", STR_ARG(node->attr.name));
    }
    return buf.ptr;
}

#define INNER "block inner(x: f32[D]) { param w: f32[D] return x * w } "

static void test_paths(void **state)
{
    (void)state;
    static const Case cases[] = {
        {INNER "model m { input x: f32[2] output y = inner(x) }", "w "},
        {INNER "model m { input x: f32[2] output y = inner(x) as a.model.\"0 b\"[1 + 1][\"c.d\"] }",
         "a.model.0 b.2.c.d.w "},
        // Arguments belong to the caller's path.
        {INNER "block outer(x) { return inner(x) as b } model m { input x: f32[2] output y = "
               "outer(inner(x) as c) as a }",
         "c.w a.b.w "},
        {INNER
         "block outer(x) { return inner(x) } model m { input x: f32[2] output y = outer(x) as "
         "a }",
         "a.w "},
        {INNER "model m { input x: f32[2] for i in 0 .. 3 { x = inner(x) as l[i] } output y = x }",
         "l.0.w l.1.w l.2.w "},
        {"model m { input x: f32[2] param w as a.b[3].c: f32[2] output y = x * w }", "a.b.3.c "},
        // Shared by the call, by one around it, by the parameter; once is enough.
        {INNER "model m { input x: f32[2] output y = inner(inner(x) as a) as a shared }", "a.w "},
        {INNER
         "block outer(x) { return inner(inner(x) as b) as b } model m { input x: f32[2] output "
         "y = outer(x) as a shared }",
         "a.b.w "},
        {INNER
         "model m { input x: f32[2] y = inner(x) as a param t as a.w shared: f32[2] output z = "
         "y * t }",
         "a.w "},
        {INNER "model m { input x: f32[2] output y = inner(inner(x)) }",
         "t.slu:1:32: error: parameter `w` is reached twice: if two tensors are meant, "
         "give each call a name, `as NAME`, in a loop `as NAME[i]`; if one is, say `shared`\n"
         "t.slu:1:94: note: called here\nt.slu:1:100: note: first here\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_string_equal(param_names(&t, cases[i].text), cases[i].expected);
        front_text_close(&t);
    }
}

static void test_inputs(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const char *text =
        "model m { input ids: i32[batch, seq] in 0 .. 3 * 2 = 1 input mask: bool[batch, "
        "seq] = true input x: f32[2] = 1 output y = ids output z = mask output w = x }";
    const Graph *graph = front_text_elaborate(&t, text, NULL);
    assert_non_null(graph);
    assert_int_equal(graph->nodes.n, 3);
    const Attr *ids = &graph->nodes.items[0]->attr;
    assert_true(ids->has_range && ids->low == 0 && ids->high == 6);
    assert_true(ids->has_default && ids->value == 1);
    const Attr *mask = &graph->nodes.items[1]->attr;
    assert_true(!mask->has_range && mask->has_default && mask->value == 1);
    assert_int_equal(graph->symbols.n, 2);
    assert_true(str_equal(graph->symbols.items[1].name, STR("seq")));
    assert_int_equal(graph->symbols.items[1].low, 1);

    const Str without[] = {STR("mask"), STR("x")};
    const FrontOptions options = {.without = without, .nwithout = 2};
    assert_string_equal(front_text_outputs(&t, text, &options),
                        "y: i32[batch, seq]\nz: bool[batch, seq]\nw: f32[2]\n");
    graph = front_text_elaborate(&t, text, &options);
    size_t ninputs = 0;
    for (size_t i = 0; i < graph->nodes.n; i++)
        ninputs += graph->nodes.items[i]->op == OP_input;
    assert_int_equal(ninputs, 1);
    front_text_close(&t);
}

static void test_checks(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const Graph *graph = front_text_elaborate(&t,
                                              "model m { input x: f32[n, s] k = B6H768 check n >= "
                                              "3 and s <= 2 * n, \"{n} of {x}, {k.text}, "
                                              "{k.H}, {missing\" output y = x }",
                                              NULL);
    assert_non_null(graph);
    assert_int_equal(graph->checks.n, 2);
    assert_true(
        str_equal(graph->checks.items[0].text, STR("n of f32[n, s], B6H768, 768, {missing")));
    assert_int_equal(graph->checks.items[0].op, SIZE_ge);
    assert_int_equal(graph->checks.items[1].op, SIZE_le);
    assert_true(str_equal(size_text(t.arena, graph->checks.items[1].right), STR("2 * n")));
    front_text_close(&t);
}

// Operations are the graph's; here: that each argument goes to its place, and what defaults are.
static void test_operations(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"model m { input x: f32[4, 6] output y = sum(x, 0) output z = mean(x, axis: [0, -1]) "
         "output w "
         "= max(x, axis: 1) output v = min(axis: 0, a: x) }",
         "y: f32[6]\nz: f32\nw: f32[4]\nv: f32[6]\n"},
        {"model m { input x: f32[4, 6] output y = softmax(x) output z = softmax(x, axis: 0) }",
         "y: f32[4, 6]\nz: f32[4, 6]\n"},
        {"model m { input x: f32[4, 6] output y = x[1] output z = x[1 : 3, :: 2] output w = x[new, "
         ".., "
         "-1] output v = x[:: -1, new] }",
         "y: f32[6]\nz: f32[2, 3]\nw: f32[1, 4]\nv: f32[4, 1, 6]\n"},
        {"model m { input x: f32[2, 3, 4] output y = permute(x, [2, 0, 1]) output z = transpose(x) "
         "output w = reshape(x, [6, 4]) output v = broadcast(x, [5, 2, 3, 4]) }",
         "y: f32[4, 2, 3]\nz: f32[2, 4, 3]\nw: f32[6, 4]\nv: f32[5, 2, 3, 4]\n"},
        {"model m { input x: f32[2, 6] output y = split(x, 3) output z = split(x, [1, 5]) output w "
         "= "
         "split(x, 2, axis: 0) }",
         "y.0: f32[2, 2]\ny.1: f32[2, 2]\ny.2: f32[2, 2]\nz.0: f32[2, 1]\nz.1: f32[2, 5]\nw.0: "
         "f32[1, "
         "6]\nw.1: f32[1, 6]\n"},
        {"model m { input x: f32[2, 6] output y = pad(x, 1, before: 1) output z = pad(x, axis: 0, "
         "after: 2, value: 1.5) output w = repeat(x, 3, axis: 1) output v = window(x, 2, 2, axis: "
         "1) }",
         "y: f32[2, 7]\nz: f32[4, 6]\nw: f32[2, 18]\nv: f32[2, 3, 2]\n"},
        {"model m { input x: f32[2, 7] output y = pool(x) output z = pool(x, ceil: false) output w "
         "= "
         "pool(x, size: 3, stride: 2, mode: \"max\", axis: 1) output v = pool(x, 2, axis: 0) }",
         "y: f32[2, 4]\nz: f32[2, 3]\nw: f32[2, 3]\nv: f32[1, 7]\n"},
        {"model m { input x: f32[5] input z: f32[4, 7] output y = toeplitz(x, 3) output w = "
         "rel_shift(z, 3) output v = triangle(z) }",
         "y: f32[3, 3]\nw: f32[4, 3]\nv: f32[4, 7]\n"},
        {"model m { input i: i32[2, 3] input t: f32[9, 4] output y = gather(t, i) output z = "
         "iota(5) "
         "output w = concat([i, i], axis: -1) }",
         "y: f32[2, 3, 4]\nz: i32[5]\nw: i32[2, 6]\n"},
        {"model m { input x: f32[2] input i: i32[2] output a = x + 1 output b = i * 2 - i output c "
         "= x < "
         "1 and i == 3 output d = select(x > 0, x, 1) output e = select(x > 0, 1, 2) output f = "
         "not (x "
         "> 0) output g = -i output h = f32(i) ** 2 / x output j = i32(x) output k = min(i, 3) }",
         "a: f32[2]\nb: i32[2]\nc: bool[2]\nd: f32[2]\ne: i32[2]\nf: bool[2]\ng: i32[2]\nh: "
         "f32[2]\n"
         "j: i32[2]\nk: i32[2]\n"},
        {"model m { input x: f32[2] output a = broadcast(1, [2]) output b = broadcast(1.5, [2]) "
         "output "
         "c = broadcast(true, [2]) output d = gelu(x) output e = max(x, 1e-9) output f = abs(x) }",
         "a: i32[2]\nb: f32[2]\nc: bool[2]\nd: f32[2]\ne: f32[2]\nf: f32[2]\n"},
        {"model m { input x: f32[5, 2, 3] input y: f32[3, 4] output z = x @ y }",
         "z: f32[5, 2, 4]\n"},
        // An operation takes what `..` brings.
        {"block f(x, ..) { return pool(x, ..) } model m { input x: f32[2, 9] output y = f(x, size: "
         "3) "
         "output z = f(x, axis: 0, mode: \"max\") }",
         "y: f32[2, 3]\nz: f32[1, 9]\n"},
    };
    CHECK_CASES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_inputs),     cmocka_unit_test(test_checks),
        cmocka_unit_test(test_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
