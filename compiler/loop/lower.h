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
// reduction; one over a few members of an axis that is not the last is written out in an expression
// instead.
bool lower_takes_pass(const Node *node);
// Whether a view of a computed value folds into the index at which it is computed: its axes are the
// value's, in any order, and axes along which nothing changes.
bool lower_view_folds(const Node *view);

#endif
