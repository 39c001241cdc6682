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

#endif
