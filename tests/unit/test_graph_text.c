// The text form of graphs: what is printed parses back to the same text; what is wrong is one error
// with its place.
#include "graph_fixture.h"

#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The text is as graph_print writes it.
static void expect_same(const char *text)
{
    Arena *arena = arena_create();
    Graph *graph = parse_graph(arena, text);
    assert_string_equal(str_cstr(arena, print_graph(graph)), text);
    Buf why = {.arena = arena};
    bool is_right = graph_verify(graph, &why);
    if (!is_right) {
        print_error("%.*s\n", STR_ARG(buf_str(&why)));
    }
    assert_true(is_right);
    arena_destroy(arena);
}

static void expect_printed(const char *text, const char *printed)
{
    Arena *arena = arena_create();
    assert_string_equal(str_cstr(arena, print_graph(parse_graph(arena, text))), printed);
    arena_destroy(arena);
    expect_same(printed);
}

static void example(void **state)
{
    (void)state;
    expect_same("graph \"tiny\"(batch, seq in 1 .. 513) {\n"
                "  check seq >= 9, \"too short\"\n"
                "  %0 = input \"ids\" in 0 .. 60 : i32[batch, seq]\n"
                "  %1 = param \"table.weight\" : f32[60, 48]\n"
                "  %2 = gather %1, %0 {axis = 0} : f32[batch, seq, 48]\n"
                "  %3 = gelu_tanh %2 : f32[batch, seq, 48]\n"
                "  output \"hidden\" = %3\n"
                "}\n");
}

static void every_operation(void **state)
{
    (void)state;
    expect_same("graph \"all\"(batch, seq in 4 .., n in 1 .. 3) {\n"
                "  %0 = input \"mask\" = 1.0 : bool[batch, seq]\n"
                "  %1 = input \"types\" in -1 .. 3 = 0.0 : i32[batch, seq]\n"
                "  %2 = input \"x\" : f32[batch, seq, 8]\n"
                "  %3 = fill {value = -0.0} : f32\n"
                "  %4 = fill {value = -inf} : f32[3, n]\n"
                "  %5 = fill {value = nan} : f32\n"
                "  %6 = size {size = 2 * seq - 1} : i32\n"
                "  %7 = iota : i32[(seq + 1) / 2]\n"
                "  %8 = select %0, %6, %1 : i32[batch, seq]\n"
                "  %9 = reduce_sum %2 {axes = [0, 2]} : f32[seq]\n"
                "  %10 = reduce_mean %2 {axes = [1]} : f32[batch, 8]\n"
                "  %11 = reduce_max %2 {axes = [0, 1, 2]} : f32\n"
                "  %12 = reduce_min %0 {axes = [1]} : bool[batch]\n"
                "  %13 = softmax %2 {axis = 2} : f32[batch, seq, 8]\n"
                "  %14 = permute %2 {axes = [0, 2, 1]} : f32[batch, 8, seq]\n"
                "  %15 = matmul %2, %14 : f32[batch, seq, seq]\n"
                "  %16 = reshape %2 : f32[batch * seq, 8]\n"
                "  %17 = broadcast %10 : f32[n, batch, 8]\n"
                "  %18 = slice %2 {start = [0, seq - 1, 1], step = [1, -2, 3]} : "
                "f32[batch, (seq + 1) / 2, 3]\n"
                "  %19 = concat %2, %2, %13 {axis = 2} : f32[batch, seq, 24]\n"
                "  %20 = pad %2 {axis = 1, before = 1, after = n, value = 0.5} : "
                "f32[batch, n + seq + 1, 8]\n"
                "  %21 = repeat %2 {axis = 1, times = 2} : f32[batch, 2 * seq, 8]\n"
                "  %22 = window %2 {axis = 2, window = 4, stride = 2} : f32[batch, seq, 3, 4]\n"
                "  %23 = pool %2 {axis = 1, window = 2, stride = 2, mode = max, ceil = true} : "
                "f32[batch, (seq + 1) / 2, 8]\n"
                "  %24 = pool %2 {axis = 2, window = 3, stride = 1, mode = mean, ceil = false} : "
                "f32[batch, seq, 6]\n"
                "  %25 = slice %2 {start = [0, 0, 1], step = [1, 1, 1]} : f32[batch, seq, 7]\n"
                "  %26 = toeplitz %25 : f32[batch, seq, 4, 4]\n"
                "  %27 = concat %15, %15 {axis = 2} : f32[batch, seq, 2 * seq]\n"
                "  %28 = triangle %15 : f32[batch, seq, seq]\n"
                "  %29 = view %2 {strides = [8 * seq, 1, 8], offset = 0} : f32[batch, 8, seq]\n"
                "  %30 = copy %29 : f32[batch, 8, seq]\n"
                "  %31 = pack \"P16\" %2 : f32[batch, 1, seq, 16]\n"
                "  %32 = rel_shift %27 {shift = 1} : f32[batch, seq, seq]\n"
                "  output \"a\" = %31\n"
                "  output \"b\" = %0\n"
                "}\n");
}

// A minus between products is about the whole product behind it, one in front of a sum about the
// first factor.
static void differences(void **state)
{
    (void)state;
    expect_same("graph \"d\"(n in 3 ..) {\n"
                "  %0 = iota : i32[2 * n - n / 3]\n"
                "  %1 = iota : i32[2 * n - n / 3 - (n + 1) / 2]\n"
                "  %2 = iota : i32[2 * n - 2 * (n / 3)]\n"
                "  output \"y\" = %0\n"
                "}\n");
    expect_printed("graph \"d\"(n in 3 ..) {\n"
                   "  %0 = iota : i32[n - n * 2 / 4 / 2 * 3]\n"
                   "  %1 = iota : i32[-n / 3 + n]\n"
                   "  output \"y\" = %0\n"
                   "}\n",
                   "graph \"d\"(n in 3 ..) {\n"
                   "  %0 = iota : i32[n - 3 * (n / 4)]\n"
                   "  %1 = iota : i32[(2 * n) / 3]\n"
                   "  output \"y\" = %0\n"
                   "}\n");
}

static void kernels(void **state)
{
    (void)state;
    expect_same("graph \"k\"(batch) {\n"
                "  %0 = input \"x\" : f32[batch, 16]\n"
                "  %1 = constant \"w\" : f32[16, 4]\n"
                "  %2 = kernel contraction %0, %1 {\n"
                "    %0 = arg {index = 0} : f32[batch, 16]\n"
                "    %1 = arg {index = 1} : f32[16, 4]\n"
                "    %2 = matmul %0, %1 : f32[batch, 4]\n"
                "    %3 = relu %2 : f32[batch, 4]\n"
                "    output %3\n"
                "    output %2\n"
                "  }\n"
                "  %3 = result %2 {index = 1} : f32[batch, 4]\n"
                "  %4 = kernel elementwise {\n"
                "    %0 = iota : i32[batch]\n"
                "    output %0\n"
                "  }\n"
                "  %5 = result %4 {index = 0} : i32[batch]\n"
                "  output \"y\" = %3\n"
                "  output \"i\" = %5\n"
                "}\n"
                "\n"
                "prepare \"k\" {\n"
                "  %0 = param \"a.weight\" : f32[4, 16]\n"
                "  %1 = permute %0 {axes = [1, 0]} : f32[16, 4]\n"
                "  output \"w\" = %1\n"
                "}\n");
}

static void names(void **state)
{
    (void)state;
    expect_same("graph \"a \\\"b\\\" \\\\ \\n \\x01 é\"() {\n"
                "  %0 = fill {value = 1e-5} : f32\n"
                "  output \"états.0\" = %0\n"
                "}\n");
}

// Free in form: comments, labels of any name, attributes in any order, axes from the end.
static void free_form(void **state)
{
    (void)state;
    expect_printed("# a comment\n"
                   "graph\"g\"(n){check n/2*2==n,\"even\"\n"
                   "%x=input\"x\":f32[n/2*2,(((3)))] # here too\n"
                   "%y=pad %x{value=1,after=0,before=2*n-n-n,axis=-1}:f32[n,3]\n"
                   "%s = reduce_sum %y {axes = [-1, 0]} : f32\n"
                   "output\"o\"=%s}",
                   "graph \"g\"(n) {\n"
                   "  check 2 * (n / 2) == n, \"even\"\n"
                   "  %0 = input \"x\" : f32[n, 3]\n"
                   "  %1 = pad %0 {axis = 1, before = 0, after = 0, value = 1.0} : f32[n, 3]\n"
                   "  %2 = reduce_sum %1 {axes = [0, 1]} : f32\n"
                   "  output \"o\" = %2\n"
                   "}\n");
}

// A fact learnt after a node was made is in its printed sizes all the same.
static void late_facts(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = fixture_input(&f, "f32[seq]");
    graph_add_check(f.graph, SIZE_eq, fixture_size(&f, "seq"), fixture_size(&f, "2 * n"),
                    STR("even"), (Place){0});
    graph_add_output(f.graph, STR("o"), x, (Place){0});
    Str first = print_graph(f.graph);
    Str second = print_graph(parse_graph(f.arena, str_cstr(f.arena, first)));
    assert_string_equal(str_cstr(f.arena, second), str_cstr(f.arena, first));
    fixture_end(&f);
}

// ---- errors ----

static void expect_error(const char *text, const char *message)
{
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    Graph *graph = graph_parse(arena, dx, diag_source(arena, STR("t.ir"), str_from(text), false));
    assert_null(graph);
    assert_int_equal(diag_nerrors(dx), 1);
    char *shown = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&shown, &bytes);
    diag_flush(dx, out, false);
    fclose(out);
    char *end = strchr(shown, '\n');
    assert_non_null(end);
    *end = 0;
    assert_string_equal(shown, message);
    free(shown);
    arena_destroy(arena);
}

// One graph of two lines; columns count in the second.
#define BODY(line) "graph \"g\"(n) { %0 = input \"x\" : f32[n, 4]\n" line "\noutput \"o\" = %0 }\n"

static void wrong_text(void **state)
{
    (void)state;
    expect_error("", "t.ir:1:1: error: expected `graph`");
    expect_error("graph x", "t.ir:1:7: error: expected a text in double quotes");
    expect_error("graph \"x", "t.ir:1:7: error: the text has no closing quote");
    expect_error("graph \"x\\q\"",
                 "t.ir:1:9: error: expected \\\", \\\\, \\n or \\x and two digits");
    expect_error("graph \"x\"(n n", "t.ir:1:13: error: expected `,`");
    expect_error("graph \"x\"(n, n)", "t.ir:1:14: error: expected the name of a new symbol");
    expect_error("graph \"x\"(n in 0 ..)",
                 "t.ir:1:11: error: a symbol is at least 1, its range not empty");
    expect_error("graph \"x\"(n in 3 .. 3)",
                 "t.ir:1:11: error: a symbol is at least 1, its range not empty");
    expect_error("graph \"x\"() {", "t.ir:1:14: error: expected a node, `check`, `output` or `}`");
    expect_error("graph \"x\"() {} x", "t.ir:1:16: error: expected the end of the text");
    expect_error(BODY("%0 = copy %0 : f32[n, 4]"), "t.ir:2:1: error: %0 stands twice");
    expect_error(BODY("%1 = copy %2 : f32[n, 4]"), "t.ir:2:11: error: there is no %2 before this");
    expect_error(BODY("%1 = copy %1 : f32[n, 4]"), "t.ir:2:11: error: there is no %1 before this");
    expect_error(BODY("%1 = softmix %0 : f32[n, 4]"),
                 "t.ir:2:6: error: no operation `softmix`; did you mean `softmax`?");
    expect_error(BODY("%1 = map %0 : f32[n, 4]"),
                 "t.ir:2:6: error: no operation `map`; did you mean `max`?");
    expect_error(BODY("%1 = 4 %0 : f32[n, 4]"), "t.ir:2:6: error: expected an operation, as exp");
    expect_error(BODY("%1 = copy %0, : f32[n, 4]"), "t.ir:2:15: error: expected an operand, as %3");
    expect_error(BODY("%1 = copy %0 : f33[n, 4]"), "t.ir:2:16: error: expected f32, i32 or bool");
    expect_error(BODY("%1 = copy %0 : f16[n, 4]"), "t.ir:2:16: error: expected f32, i32 or bool");
    expect_error(BODY("%1 = copy %0 : f32[m, 4]"),
                 "t.ir:2:20: error: `m` is no symbol of the graph");
    expect_error(BODY("%1 = copy %0 : f32[n, 4 /]"), "t.ir:2:26: error: expected a whole number");
    expect_error(BODY("%1 = copy %0 : f32[n, 4 / 0]"),
                 "t.ir:2:27: error: expected a number of 1 at least");
    expect_error(BODY("%1 = copy %0 : f32[n, 9999999999999999999]"),
                 "t.ir:2:23: error: expected a whole number of 64 bits");
    expect_error(BODY("%1 = copy %0 : f32[9223372036854775807 * 2]"),
                 "t.ir:2:20: error: a size is over 64 bits, or has too many terms");
    expect_error(BODY("@"), "t.ir:2:1: error: unexpected byte 0x40");
    expect_error(BODY("%1 = softmax %0 : f32[n, 4]"), "t.ir:2:17: error: expected `{`");
    expect_error(BODY("%1 = softmax %0 {} : f32[n, 4]"),
                 "t.ir:2:18: error: the attribute `axis` is missing");
    expect_error(BODY("%1 = softmax %0 {axis = 0, axis = 0} : f32[n, 4]"),
                 "t.ir:2:28: error: the attribute stands twice");
    expect_error(BODY("%1 = softmax %0 {axes = 0} : f32[n, 4]"),
                 "t.ir:2:18: error: no attribute `axes`; softmax has axis");
    expect_error(BODY("%1 = slice %0 {start = [0], step = [1, 1]} : f32[n, 4]"),
                 "t.ir:2:6: error: slice: 1 starts and 2 steps for 2 axes");
    expect_error(BODY("%1 = view %0 {strides = [1], offset = 0} : f32[n, 4]"),
                 "t.ir:2:6: error: view: 1 strides for 2 axes");
    expect_error(BODY("check n >= 2, \"t\""), "t.ir:2:1: error: checks stand before the nodes");
    expect_error(BODY("%1 = kernel big %0 { }"),
                 "t.ir:2:13: error: expected elementwise, reduction, contraction or attention");
    expect_error(BODY("%1 = kernel reduction %0 { %0 = kernel reduction { } }"),
                 "t.ir:2:33: error: a kernel within a kernel");
    expect_error(BODY("%1 = kernel reduction %0 { output \"x\" = %0 }"),
                 "t.ir:2:35: error: expected an operand, as %3");
}

// What the type rules find is placed at the operation.
static void wrong_graphs(void **state)
{
    (void)state;
    expect_error(BODY("%1 = copy : f32[n, 4]"), "t.ir:2:6: error: copy: takes 1 operands, not 0");
    expect_error(BODY("%1 = slice {start = [0], step = [1]} : f32[4]"),
                 "t.ir:2:6: error: slice: takes 1 operands, not 0");
    expect_error(BODY("%1 = concat {axis = 0} : f32[4]"),
                 "t.ir:2:6: error: concat: needs an operand");
    expect_error(BODY("%1 = copy %0 : f32[n, 5]"),
                 "t.ir:2:6: error: copy: the result is f32[n, 4], not f32[n, 5]");
    expect_error(BODY("%1 = matmul %0, %0 : f32[n, 4]"),
                 "t.ir:2:6: error: matmul: inner dimensions differ: f32[n, 4] @ f32[n, 4] (whether "
                 "4 == n is not known; fix it with --set n=N, or declare it: check 4 == n, \"…\")");
    expect_error(BODY("%1 = kernel reduction %0 { %0 = arg {index = 0} : f32[n] output %0 }"),
                 "t.ir:2:6: error: kernel: operand 0 is f32[n, 4], but the region takes f32[n]");
    expect_error(BODY("%1 = kernel reduction %0 { %0 = arg {index = 0} : f32[n, 4] %1 = exp %0 : "
                      "f32[4] output %0 }"),
                 "t.ir:2:66: error: exp: the result is f32[n, 4], not f32[4]");
    expect_error(BODY("%1 = kernel reduction %0 { %0 = fill {value = 1} : f32 output %0 } "
                      "output \"k\" = %1"),
                 "t.ir:2:68: error: an output is a tensor, not a kernel");
}

// Text of any depth and length ends in an error, not in a crash.
static void limits(void **state)
{
    (void)state;
    Arena *arena = arena_create();
    Buf deep = {.arena = arena}, wide = {.arena = arena}, heavy = {.arena = arena};
    buf_add(&deep, STR("graph \"g\"(n) {\n%0 = fill {value = 1} : f32["));
    for (size_t i = 0; i < 100000; i++) {
        buf_char(&deep, '(');
    }
    expect_error(buf_str(&deep).ptr, "t.ir:2:93: error: over 64 parentheses deep");
    buf_add(&wide, STR("graph \"g\"(n) {\n%0 = fill {value = 1} : f32[n"));
    for (size_t i = 0; i < 100000; i++) {
        buf_add(&wide, STR(",n"));
    }
    expect_error(buf_str(&wide).ptr, "t.ir:2:157: error: over 64 axes");
    buf_add(&heavy, STR("graph \"g\"(a, b, c, d) {\n%0 = fill {value = 1} : f32[1"));
    for (size_t i = 0; i < 40; i++) {
        buf_add(&heavy, STR("*(a+b+c+d)"));
    }
    expect_error(buf_str(&heavy).ptr,
                 "t.ir:2:29: error: a size is over 64 bits, or has too many terms");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example),      cmocka_unit_test(every_operation),
        cmocka_unit_test(differences),  cmocka_unit_test(kernels),
        cmocka_unit_test(names),        cmocka_unit_test(free_form),
        cmocka_unit_test(late_facts),   cmocka_unit_test(wrong_text),
        cmocka_unit_test(wrong_graphs), cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
