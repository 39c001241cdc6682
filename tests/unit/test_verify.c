// graph_verify on graphs broken by hand: each rule of the level, and the words in which its breach
// is told.
#include "graph_fixture.h"

#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char good[] =
    "graph \"g\"(batch, seq) {\n"
    "  check seq >= 2, \"short\"\n"
    "  %0 = input \"x\" : f32[batch, seq]\n"
    "  %1 = input \"y\" : f32[batch, seq]\n"
    "  %2 = param \"w\" : f32[3]\n"
    "  %3 = param \"v\" : f32[3]\n"
    "  %4 = constant \"c\" : f32[3]\n"
    "  %5 = add %0, %1 : f32[batch, seq]\n"
    "  %6 = reduce_sum %5 {axes = [0, 1]} : f32\n"
    "  %7 = softmax %5 {axis = 1} : f32[batch, seq]\n"
    "  %8 = kernel elementwise %5, %7 {\n"
    "    %0 = arg {index = 0} : f32[batch, seq]\n"
    "    %1 = arg {index = 1} : f32[batch, seq]\n"
    "    %2 = mul %0, %1 : f32[batch, seq]\n"
    "    output %2\n"
    "  }\n"
    "  %9 = result %8 {index = 0} : f32[batch, seq]\n"
    "  %10 = slice %9 {start = [0, 1], step = [1, 1]} : f32[batch, seq - 1]\n"
    "  output \"o\" = %10\n"
    "  output \"p\" = %6\n"
    "}\n"
    "prepare \"g\" {\n"
    "  %0 = param \"u\" : f32[3]\n"
    "  %1 = neg %0 : f32[3]\n"
    "  output \"c\" = %1\n"
    "}\n";

typedef struct Case {
    Arena *arena;
    Graph *graph;
    Node **nodes;
} Case;

static Case start(void)
{
    Arena *arena = arena_create();
    Graph *graph = parse_graph(arena, good);
    return (Case){arena, graph, graph->nodes.items};
}

// The graph is refused in these words; it is freed.
static void expect_broken(Case c, const char *words)
{
    Buf why = {.arena = c.arena};
    assert_false(graph_verify(c.graph, &why));
    assert_string_equal(why.ptr, words);
    arena_destroy(c.arena);
}

static void right(void **state)
{
    (void)state;
    Case c = start();
    Buf why = {.arena = c.arena};
    assert_true(graph_verify(c.graph, &why));
    assert_int_equal(why.len, 0);
    assert_true(graph_verify(c.graph, &why)); // and leaves the graph as it was
    arena_destroy(c.arena);
}

static void order(void **state)
{
    (void)state;
    Case c = start();
    c.nodes[5]->id = 6;
    expect_broken(c, "%6 (map): stands at 5: ids are dense, in order");

    c = start();
    ((Node **)(uintptr_t)c.nodes[5]->args)[1] = c.nodes[6];
    expect_broken(c, "%5 (map): operand 1 does not stand before it");

    c = start();
    ((Node **)(uintptr_t)c.nodes[5]->args)[0] = NULL;
    expect_broken(c, "%5 (map): operand 0 does not stand before it");

    c = start();
    Node other = *c.nodes[0];
    ((Node **)(uintptr_t)c.nodes[5]->args)[0] = &other; // of another graph
    expect_broken(c, "%5 (map): operand 0 does not stand before it");
}

static void operations(void **state)
{
    (void)state;
    Case c = start();
    c.nodes[5]->nargs = 1;
    expect_broken(c, "%5 (map): takes 2 operands, not 1");

    c = start();
    c.nodes[5]->op = OP_count;
    expect_broken(c, "node 5 is no operation");

    c = start();
    c.nodes[5]->type = c.nodes[2]->type;
    expect_broken(c, "%5 (map): the result is f32[batch, seq], not f32[3]");

    c = start();
    c.nodes[6]->attr.axes = (int64_t[]){1, 0};
    expect_broken(c, "%6 (reduce_sum): its axes are not counted from the front, in order");

    c = start();
    c.nodes[7]->attr.axis = -1;
    expect_broken(c, "%7 (softmax): its axes are not counted from the front, in order");

    c = start();
    c.nodes[7]->attr.axis = 2;
    expect_broken(c, "%7 (softmax): axis 2 is out of range for a tensor of rank 2");

    c = start();
    ((Node **)(uintptr_t)c.nodes[10]->args)[0] = c.nodes[8];
    expect_broken(c, "%10 (slice): operand 0 is a kernel; `result` reads it");

    // The slice needs the check to know that it is not empty.
    c = start();
    c.graph->facts = size_facts(c.arena);
    c.graph->checks.n = 0;
    expect_broken(c, "%10 (slice): a size must be at least 1, but axis 1 has seq - 1 (whether "
                     "seq - 1 >= 1 is not known; fix it with --seq N, or declare it: check "
                     "seq - 1 >= 1, \"…\")");
}

static void names(void **state)
{
    (void)state;
    Case c = start();
    c.nodes[1]->attr.name = STR("x");
    expect_broken(c, "%1 (input): \"x\" is named twice");

    c = start();
    c.nodes[3]->attr.name = STR("w");
    expect_broken(c, "%3 (param): \"w\" is named twice");

    c = start();
    c.graph->outputs.items[1].name = STR("o");
    expect_broken(c, "output 1 is named \"o\": outputs of graphs have a name of their own, outputs "
                     "of regions none");

    c = start();
    c.graph->outputs.items[0].name = (Str){0};
    expect_broken(c, "output 0 is named \"\": outputs of graphs have a name of their own, outputs "
                     "of regions none");

    c = start();
    c.graph->outputs.n = 0;
    expect_broken(c, "there is no output");

    c = start();
    c.graph->outputs.items[0].node = c.nodes[8];
    expect_broken(c, "output 0 is a kernel, not a tensor");

    c = start();
    c.graph->outputs.items[0].node = c.graph->prepare->nodes.items[0];
    expect_broken(c, "output 0 is no node of the graph");
}

static void symbols(void **state)
{
    (void)state;
    Case c = start();
    c.graph->symbols.n = 1;
    expect_broken(c, "symbol seq is not declared");

    c = start();
    c.graph->symbols.n = 1;
    c.graph->checks.n = 0;
    expect_broken(c, "%0 (input): symbol seq is not declared");

    c = start();
    c.nodes[10]->attr.start =
        (const Size *[]){size_int(c.arena, 0), size_symbol(c.arena, STR("k"))};
    expect_broken(c, "%10 (slice): symbol k is not declared");

    c = start();
    c.graph->symbols.items[1].name = STR("batch");
    expect_broken(c, "symbol `batch` is no name, or stands twice");

    c = start();
    c.graph->symbols.items[1].name = STR("2x");
    expect_broken(c, "symbol `2x` is no name, or stands twice");

    c = start();
    c.graph->symbols.items[1].low = 0;
    expect_broken(c, "symbol seq has no value it could take");
}

static void regions(void **state)
{
    (void)state;
    Case c = start();
    c.nodes[8]->region->nodes.items[1]->attr.index = 0;
    expect_broken(c, "%8 (kernel): operand 0 has two `arg` nodes");

    c = start();
    c.nodes[8]->region->nodes.items[1]->attr.index = 2;
    expect_broken(c, "%8 (kernel): the region reads operand 2 of 2");

    c = start();
    c.nodes[8]->region->nodes.items[2]->type = c.nodes[2]->type;
    expect_broken(c, "region: %2 (map): the result is f32[batch, seq], not f32[3]");

    c = start();
    c.nodes[8]->region->nodes.items[1]->op = OP_input;
    expect_broken(c, "region: %1 (input): cannot stand in a kernel");

    c = start();
    c.nodes[8]->region->outputs.items[0].name = STR("x");
    expect_broken(c, "region: output 0 is named \"x\": outputs of graphs have a name of their own, "
                     "outputs of regions none");

    c = start();
    c.nodes[8]->region = NULL;
    expect_broken(c, "%8 (kernel): kernels alone have a region, and always one");

    c = start();
    c.nodes[5]->region = c.nodes[8]->region;
    expect_broken(c, "%5 (map): kernels alone have a region, and always one");

    c = start();
    c.nodes[2]->op = OP_arg;
    expect_broken(c, "%2 (arg): stands outside of a kernel");

    c = start();
    c.nodes[9]->attr.index = 1;
    expect_broken(c, "%9 (result): the kernel has 1 results, there is no 1");

    c = start();
    c.nodes[8]->region->prepare = c.graph->prepare;
    expect_broken(c, "%8 (kernel): a region has neither prepare nor checks");
}

static void constants(void **state)
{
    (void)state;
    Case c = start();
    c.nodes[4]->attr.name = STR("d");
    expect_broken(c, "%4 (constant): prepare has no output \"d\"");

    c = start();
    c.graph->prepare = NULL;
    expect_broken(c, "%4 (constant): prepare has no output \"c\"");

    c = start();
    c.nodes[4]->type.dtype = DT_i32;
    expect_broken(c, "%4 (constant): \"c\" has another type in prepare");

    c = start();
    c.graph->prepare->nodes.items[0]->op = OP_input;
    expect_broken(c, "prepare: %0 (input): cannot stand in prepare, whose leaves are parameters");

    c = start();
    c.graph->prepare->nodes.items[1]->type.dtype = DT_i32;
    expect_broken(c, "prepare: %1 (map): the result is f32[3], not i32[3]");

    c = start();
    graph_add_symbol(c.graph->prepare, STR("n"), 1, SIZE_INF);
    expect_broken(c, "prepare: has neither symbols nor checks nor a prepare of its own");

    c = start();
    c.graph->prepare->outputs.n = 0;
    expect_broken(c, "prepare: there is no output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right),     cmocka_unit_test(order),   cmocka_unit_test(operations),
        cmocka_unit_test(names),     cmocka_unit_test(symbols), cmocka_unit_test(regions),
        cmocka_unit_test(constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
