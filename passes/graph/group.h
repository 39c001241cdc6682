// Groups: which nodes one kernel computes, and the graph in which each group is a kernel region.
// Shared by the passes fuse and regions.
#ifndef SLUICE_PASSES_GRAPH_GROUP_H
#define SLUICE_PASSES_GRAPH_GROUP_H

#include "passes/pass.h"

#define NO_GROUP UINT32_MAX

// Nodes that one kernel computes, views and numbers aside. The largest region of any model that
// somebody trains has some 40; code generation takes more than linear time in it.
#define GROUP_MOST_NODES 128

typedef struct Groups {
    Arena *arena;
    const Graph *graph;
    uint32_t *of;             // [nodes] the node's group, or NO_GROUP
    VEC(KernelClass) classes; // [groups]
    VEC(size_t) sizes;        // [groups] how many nodes each has
    const Node **readers; // users of each node, through views, without repeats: of node i they are
    uint32_t *first_reader; // readers[first_reader[i] … first_reader[i + 1]), [nodes + 1]
    bool *is_output;        // [nodes] an output, or what an output views
} Groups;

Groups groups_begin(Arena *arena, const Graph *graph);
uint32_t groups_add(Groups *g, KernelClass kernel);
// Puts a node into a group that is not full.
void group_join(Groups *g, uint32_t group, const Node *node);
bool group_is_full(const Groups *g, uint32_t group);

// Whether the node is computed by some kernel: neither a leaf, a number, a view nor a kernel
// itself.
bool group_is_work(const Node *node);
// fill, iota and size: cheap enough to stand in every region that reads them.
bool group_is_number(const Node *node);
// What a view views, else the node itself.
const Node *group_base(const Node *node);
// Whether every reader of the node is in the group, and it is no output.
bool group_holds_readers(const Groups *g, uint32_t group, const Node *node);

// The graph with a kernel node for every group that somebody reads.
Graph *groups_build(const Groups *g);

#endif
