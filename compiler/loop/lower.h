// Lowering: a graph whose work stands in kernel regions becomes a program, one kernel and one step
// for each region. Which classes there are and what a region may hold: docs/ir.md. passes and
// driver may include this.
#ifndef SLUICE_LOOP_LOWER_H
#define SLUICE_LOOP_LOWER_H

#include "base/diag.h"
#include "ir/ir.h"
#include "loop/program.h"
#include "loop/target.h"

// The program in `arena`, or NULL after errors (a size that must be fixed and is not). Constants
// that a kernel reads in a packed layout become outputs of graph->prepare of their own.
Program *lower_graph(Arena *arena, Diag *dx, Graph *graph, const Target *target);

// Whether the node is a reduction that needs a pass over the rows, and so a region of class
// reduction; one over a few members is written out in an expression instead.
bool lower_takes_pass(const Node *node);
// Whether the node is a reduction at all.
bool lower_is_reduce(const Node *node);
// Whether a view of a computed value folds into the index at which it is computed: its axes are the
// value's, in any order, and axes along which nothing changes.
bool lower_view_folds(const Node *view);

// Whether a view is all of its operand, in the same order: only the axes differ.
bool lower_view_is_whole(const Node *view);

// Products that the scores of one attention may be made of.
#define LOWER_MOST_TERMS 8

// How a view reads a product: element [.., i, j] is the product's element [.., i, first + i ·
// per_row + j · per_col] (rel_shift: per_row is -shift).
typedef struct RowView {
    int64_t first;
    int64_t per_row;
    int64_t per_col;
} RowView;
// False if the view is not of this kind: it takes rows or leading axes apart, or sizes are free.
bool lower_view_of_rows(const Node *view, RowView *out);

#endif
