#include "graph_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void on_fail(void *ctx, int arg, Str message)
{
    Fixture *f = ctx;
    f->arg = arg;
    f->message = message;
    f->nreports++;
}

void fixture_start(Fixture *f)
{
    Arena *arena = arena_create();
    *f = (Fixture){.arena = arena, .graph = graph_create(arena, STR("test"))};
    f->b = (Builder){.graph = f->graph, .fail = on_fail, .ctx = f};
    graph_add_symbol(f->graph, STR("batch"), 1, SIZE_INF);
    graph_add_symbol(f->graph, STR("seq"), 1, SIZE_INF);
    graph_add_symbol(f->graph, STR("n"), 1, SIZE_INF);
}

void fixture_end(Fixture *f) { arena_destroy(f->arena); }

Graph *parse_graph(Arena *arena, const char *text)
{
    Diag *dx = diag_create(arena);
    Graph *graph = graph_parse(arena, dx, diag_source(arena, STR("t.ir"), str_from(text), false));
    diag_flush(dx, stderr, false);
    assert_non_null(graph);
    return graph;
}

Str print_graph(const Graph *graph)
{
    Buf buf = {.arena = graph->arena};
    graph_print(&buf, graph);
    return buf_str(&buf);
}

// The first node of a graph with the fixture's symbols, each of them large enough for any size.
static const Node *parse_node(Fixture *f, const char *op, const char *rest)
{
    Str text = str_format(f->arena,
                          "graph \"t\"(batch in 9 .., seq in 9 .., n in 9 ..) {\n"
                          "%%0 = %s %s\noutput \"o\" = %%0\n}\n",
                          op, rest);
    return parse_graph(f->arena, str_cstr(f->arena, text))->nodes.items[0];
}

Type fixture_type(Fixture *f, const char *text)
{
    return parse_node(f, "input \"x\" :", text)->type;
}

const Size *fixture_size(Fixture *f, const char *text)
{
    Str braces = str_format(f->arena, "{size = %s} : i32", text);
    return parse_node(f, "size", str_cstr(f->arena, braces))->attr.size;
}

Node *fixture_input(Fixture *f, const char *type)
{
    Type parsed = fixture_type(f, type);
    Str name = str_format(f->arena, "x%zu", f->graph->nodes.n);
    Node *node = ir_input(&f->b, name, &parsed, NULL, NULL);
    assert_non_null(node);
    return node;
}

void expect_type(Fixture *f, const Node *node, const char *type)
{
    if (node == NULL) {
        print_error("report %d: %.*s\n", f->arg, STR_ARG(f->message));
    }
    assert_non_null(node);
    assert_int_equal(f->nreports, 0);
    assert_string_equal(str_cstr(f->arena, type_text(f->arena, &node->type)), type);
    assert_ptr_equal(f->graph->nodes.items[node->id], node);
}

static void expect_report(Fixture *f, const Node *node, int arg)
{
    assert_null(node);
    assert_int_equal(f->nreports, 1);
    assert_int_equal(f->arg, arg);
    f->nreports = 0;
}

void expect_fault(Fixture *f, const Node *node, int arg, const char *message)
{
    expect_fault_start(f, node, arg, message);
    assert_string_equal(str_cstr(f->arena, f->message), message);
}

void expect_fault_start(Fixture *f, const Node *node, int arg, const char *message)
{
    if (!str_starts(f->message, str_from(message))) {
        assert_string_equal(str_cstr(f->arena, f->message), message);
    }
    expect_report(f, node, arg);
}
