// Groups as sets of nodes, and the graph in which each is a kernel.
//
//   groups_begin: who reads what ──▶ fuse, regions fill them ──▶ groups_build: the new graph
//
// That is built unit by unit (a group, or a node outside of all groups) in the old graph's order,
// but each unit after those that it reads. In a region members, views and numbers are copies; what
// else they read is an argument, what others read of them a result.
#include "passes/graph/group.h"

#include "passes/rewrite.h"

bool group_is_number(const Node *node)
{
    return node->op == OP_fill || node->op == OP_iota || node->op == OP_size;
}

bool group_is_work(const Node *node)
{
    OpTrait trait = op_trait(node->op);
    return trait != TRAIT_leaf && trait != TRAIT_region && node->op != OP_view &&
           !group_is_number(node);
}

const Node *group_base(const Node *node) { return node->op == OP_view ? node->args[0] : node; }

// ---- readers ----

static void count_readers(Groups *g, uint32_t *seen, const Node **fill)
{
    const Graph *graph = g->graph;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        for (size_t k = 0; k < node->nargs && node->op != OP_view; k++) {
            uint32_t id = group_base(node->args[k])->id;
            if (seen[id] == i + 1) {
                continue; // reads it twice
            }
            seen[id] = (uint32_t)i + 1;
            if (fill) {
                fill[g->first_reader[id]] = node;
            }
            g->first_reader[id]++;
        }
    }
}

static void find_readers(Groups *g)
{
    size_t n = g->graph->nodes.n;
    g->first_reader = arena_new(g->arena, uint32_t, n + 2);
    count_readers(g, arena_new(g->arena, uint32_t, n + 1), NULL);
    uint32_t sum = 0;
    for (size_t i = 0; i <= n; i++) { // counts → first places
        uint32_t count = g->first_reader[i];
        g->first_reader[i] = sum;
        sum += count;
    }
    g->readers = arena_new(g->arena, const Node *, sum + 1);
    count_readers(g, arena_new(g->arena, uint32_t, n + 1), g->readers);
    for (size_t i = n + 1; i-- > 1;) { // filling moved each place to the next node's
        g->first_reader[i] = g->first_reader[i - 1];
    }
    g->first_reader[0] = 0;
}

Groups groups_begin(Arena *arena, const Graph *graph)
{
    size_t n = graph->nodes.n;
    Groups g = {.arena = arena, .graph = graph, .of = arena_new(arena, uint32_t, n + 1)};
    for (size_t i = 0; i < n; i++) {
        g.of[i] = NO_GROUP;
    }
    g.is_output = arena_new(arena, bool, n + 1);
    for (size_t i = 0; i < graph->outputs.n; i++) {
        g.is_output[group_base(graph->outputs.items[i].node)->id] = true;
    }
    find_readers(&g);
    return g;
}

uint32_t groups_add(Groups *g, KernelClass kernel)
{
    vec_push(g->arena, &g->classes, kernel);
    vec_push(g->arena, &g->sizes, 0);
    return (uint32_t)(g->classes.n - 1);
}

void group_join(Groups *g, uint32_t group, const Node *node)
{
    g->of[node->id] = group;
    g->sizes.items[group]++;
}

bool group_is_full(const Groups *g, uint32_t group)
{
    return g->sizes.items[group] >= GROUP_MOST_NODES;
}

bool group_holds_readers(const Groups *g, uint32_t group, const Node *node)
{
    if (g->is_output[node->id]) {
        return false;
    }
    for (uint32_t i = g->first_reader[node->id]; i < g->first_reader[node->id + 1]; i++) {
        if (g->of[g->readers[i]->id] != group) {
            return false;
        }
    }
    return true;
}

// ---- building ----

typedef struct Build {
    const Groups *g;
    Rewrite rw;
    VEC(const Node *) * members; // [groups] in the graph's order
    bool *done;                  // [nodes] stands in the new graph
    Node **inside;               // [nodes] what stands for it in the region of group `inside_of`
    uint32_t *inside_of;
    Node **arg; // [nodes] the region's arg for it, in the region of group `arg_of`
    uint32_t *arg_of;
} Build;

// A node that stands outside every region, with the views and numbers that lead to it.
static Node *outside(Build *b, const Node *node)
{
    if (!b->rw.now[node->id]) {
        for (size_t i = 0; i < node->nargs; i++) {
            outside(b, node->args[i]); // a view or a number: two steps at most
        }
        b->rw.now[node->id] = rewrite_copy(&b->rw, node);
    }
    return b->rw.now[node->id];
}

typedef struct RegionBuild {
    Build *b;
    uint32_t group;
    Builder in;
    VEC(Node *) args; // of the kernel node
} RegionBuild;

static Node *region_node(RegionBuild *r, const Node *node);

static Node *region_arg(RegionBuild *r, const Node *node)
{
    Build *b = r->b;
    if (b->arg_of[node->id] != r->group) {
        Attr attr = {.index = (uint32_t)r->args.n};
        b->arg[node->id] = ir_add_node(&r->in, OP_arg, NULL, 0, &attr, &node->type);
        b->arg_of[node->id] = r->group;
        vec_push(b->g->arena, &r->args, outside(b, node));
    }
    return b->arg[node->id];
}

static Node *copy_inside(RegionBuild *r, const Node *node)
{
    Arena *a = r->b->g->arena;
    Node **args = arena_new(a, Node *, node->nargs + 1);
    for (size_t i = 0; i < node->nargs; i++) {
        args[i] = region_node(r, node->args[i]);
    }
    r->in.at = node->at;
    return ir_add_node(&r->in, node->op, args, node->nargs, &node->attr, &node->type);
}

// What stands for a node in the region: members are there already, so this goes down two steps at
// most.
static Node *region_node(RegionBuild *r, const Node *node)
{
    Build *b = r->b;
    if (b->inside_of[node->id] == r->group) {
        return b->inside[node->id];
    }
    bool belongs = b->g->of[node->id] == r->group || node->op == OP_view || group_is_number(node);
    Node *now = belongs ? copy_inside(r, node) : region_arg(r, node);
    b->inside[node->id] = now;
    b->inside_of[node->id] = r->group;
    return now;
}

static bool is_read_outside(const Build *b, uint32_t group, const Node *node)
{
    return !group_holds_readers(b->g, group, node);
}

static void build_group(Build *b, uint32_t group)
{
    RegionBuild r = {.b = b, .group = group};
    Graph *region = graph_create_region(b->rw.to);
    r.in = rewrite_builder(region, (Place){0});
    VEC(const Node *) outputs = {0};
    for (size_t i = 0; i < b->members[group].n; i++) {
        const Node *node = b->members[group].items[i];
        Node *now = region_node(&r, node);
        if (is_read_outside(b, group, node)) {
            graph_add_output(region, (Str){0}, now, node->at);
            vec_push(b->g->arena, &outputs, node);
        }
    }
    if (outputs.n == 0) {
        return; // nobody reads it: dce did not run before
    }
    b->rw.b.at = outputs.items[0]->at;
    Node *kernel =
        ir_add_kernel(&b->rw.b, b->g->classes.items[group], r.args.items, r.args.n, region);
    for (size_t i = 0; i < outputs.n; i++) {
        Attr attr = {.index = (uint32_t)i};
        b->rw.now[outputs.items[i]->id] =
            ir_add_node(&b->rw.b, OP_result, &kernel, 1, &attr, &outputs.items[i]->type);
    }
}

// ---- order: a group comes after all that its members read ----

typedef struct Visit {
    const Node *const *members; // of the unit: a group's, or one node
    size_t nmembers;
    size_t member; // next operand to look at
    size_t operand;
    const Node *node; // for a unit of one
} Visit;

static bool is_ready(const Build *b, const Node *node)
{
    uint32_t group = b->g->of[node->id];
    return group == NO_GROUP ? b->done[node->id] : b->done[b->members[group].items[0]->id];
}

static Visit visit_unit(const Build *b, const Node *node)
{
    uint32_t group = b->g->of[node->id];
    Visit v = {.node = node};
    v.nmembers = group == NO_GROUP ? 1 : b->members[group].n;
    v.members = group == NO_GROUP ? NULL : b->members[group].items;
    return v;
}

static bool same_unit(const Build *b, const Node *x, const Node *y)
{
    return x == y || (b->g->of[x->id] != NO_GROUP && b->g->of[x->id] == b->g->of[y->id]);
}

// The next operand that must come first, or NULL.
static const Node *next_missing(const Build *b, Visit *v)
{
    for (; v->member < v->nmembers; v->member++, v->operand = 0) {
        const Node *node = v->members ? v->members[v->member] : v->node;
        while (v->operand < node->nargs) {
            const Node *base = group_base(node->args[v->operand++]);
            if (!group_is_number(base) && !same_unit(b, base, v->node) && !is_ready(b, base)) {
                return base;
            }
        }
    }
    return NULL;
}

static void finish_unit(Build *b, const Node *node)
{
    uint32_t group = b->g->of[node->id];
    if (group == NO_GROUP) {
        outside(b, node);
        b->done[node->id] = true;
        return;
    }
    build_group(b, group);
    for (size_t i = 0; i < b->members[group].n; i++) {
        b->done[b->members[group].items[i]->id] = true;
    }
}

static void build_unit(Build *b, const Node *first)
{
    VEC(Visit) stack = {0};
    vec_push(b->g->arena, &stack, visit_unit(b, first));
    while (stack.n > 0) {
        const Node *missing = next_missing(b, &stack.items[stack.n - 1]);
        if (!missing) {
            finish_unit(b, stack.items[--stack.n].node);
            continue;
        }
        if (stack.n > b->g->graph->nodes.n) {
            die("groups depend on each other in a circle at node %u", missing->id);
        }
        vec_push(b->g->arena, &stack, visit_unit(b, missing));
    }
}

static uint32_t *no_groups(const Groups *g)
{
    uint32_t *of = arena_new(g->arena, uint32_t, g->graph->nodes.n + 1);
    for (size_t i = 0; i < g->graph->nodes.n; i++) {
        of[i] = NO_GROUP;
    }
    return of;
}

Graph *groups_build(const Groups *g)
{
    size_t n = g->graph->nodes.n;
    Build b = {.g = g,
               .rw = rewrite_begin(g->arena, g->graph),
               .done = arena_new(g->arena, bool, n + 1),
               .inside = arena_new(g->arena, Node *, n + 1),
               .inside_of = no_groups(g),
               .arg = arena_new(g->arena, Node *, n + 1),
               .arg_of = no_groups(g)};
    b.members = arena_array(g->arena, g->classes.n + 1, sizeof *b.members, _Alignof(max_align_t));
    for (size_t i = 0; i < n; i++) {
        if (g->of[i] != NO_GROUP) {
            vec_push(g->arena, &b.members[g->of[i]], g->graph->nodes.items[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const Node *node = g->graph->nodes.items[i];
        if (node->op != OP_view && !group_is_number(node) && !is_ready(&b, node)) {
            build_unit(&b, node);
        }
    }
    for (size_t i = 0; i < g->graph->outputs.n; i++) {
        outside(&b, g->graph->outputs.items[i].node);
    }
    return rewrite_end(&b.rw);
}
