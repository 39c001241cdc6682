// A graph to build on, with the last report of its builder; types and sizes written as text. Main
// type: Fixture. Symbols are batch, seq and n, all at least 1.
#ifndef SLUICE_TESTS_GRAPH_FIXTURE_H
#define SLUICE_TESTS_GRAPH_FIXTURE_H

#include "ir/ir.h"

typedef struct Fixture {
    Arena *arena;
    Graph *graph;
    Builder b;
    int arg; // of the last report
    Str message;
    size_t nreports;
} Fixture;

void fixture_start(Fixture *f);
void fixture_end(Fixture *f);
Type fixture_type(Fixture *f, const char *text);
const Size *fixture_size(Fixture *f, const char *text);
// A new input of that type.
Node *fixture_input(Fixture *f, const char *type);

// The node exists and has that type.
void expect_type(Fixture *f, const Node *node, const char *type);
// There is no node; one report was made, for that argument, and its message is (has at its start)
// `message`.
void expect_fault(Fixture *f, const Node *node, int arg, const char *message);
void expect_fault_start(Fixture *f, const Node *node, int arg, const char *message);

// graph_parse of the text; on errors prints them and fails the test.
Graph *parse_graph(Arena *arena, const char *text);
Str print_graph(const Graph *graph);

#endif
