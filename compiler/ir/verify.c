// Whether a graph obeys the rules of its level: what ir_add_node guarantees of each node, asked
// again of nodes that passes or readers put together, and what holds of a graph as a whole.
#include "ir/internal.h"

typedef struct Verifier {
    Arena *arena;
    Buf *why;
    const Graph *top; // holds the symbols
    const Node *node; // being looked at, or NULL
    bool is_region;
    bool is_prepare;
    Str unknown; // a symbol that is not declared
} Verifier;

__attribute__((format(printf, 2, 3))) static bool broken(Verifier *v, const char *format, ...)
{
    if (v->is_prepare) {
        buf_add(v->why, STR("prepare: "));
    }
    if (v->is_region) {
        buf_add(v->why, STR("region: "));
    }
    if (v->node != NULL) {
        buf_format(v->why, "%%%u (%s): ", (unsigned)v->node->id, op_name(v->node->op));
    }
    va_list args;
    va_start(args, format);
    buf_vformat(v->why, format, args);
    va_end(args);
    return false;
}

// ---- symbols ----

static void find_undeclared(void *ctx, Str name)
{
    Verifier *v = ctx;
    for (size_t i = 0; i < v->top->symbols.n; i++) {
        if (str_equal(v->top->symbols.items[i].name, name)) {
            return;
        }
    }
    v->unknown = name;
}

static bool check_size(Verifier *v, const Size *size)
{
    v->unknown = (Str){0};
    if (size == NULL) {
        return broken(v, "a size is missing");
    }
    size_symbols(size, find_undeclared, v);
    return v->unknown.ptr == NULL || broken(v, "symbol %.*s is not declared", STR_ARG(v->unknown));
}

static bool check_sizes(Verifier *v, const Size *const *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!check_size(v, sizes[i])) {
            return false;
        }
    }
    return true;
}

// Notes a name of its kind; false if it is taken.
static bool take_name(Map *names, Str name)
{
    if (map_has(names, name)) {
        return false;
    }
    map_put(names, name, names);
    return true;
}

static bool check_symbols(Verifier *v, const Graph *graph)
{
    Map names = {.arena = v->arena};
    for (size_t i = 0; i < graph->symbols.n; i++) {
        const Symbol *symbol = &graph->symbols.items[i];
        if (!str_is_identifier(symbol->name) || !take_name(&names, symbol->name)) {
            return broken(v, "symbol `%.*s` is no name, or stands twice", STR_ARG(symbol->name));
        }
        if (symbol->low < 1 || symbol->high < symbol->low) {
            return broken(v, "symbol %.*s has no value it could take", STR_ARG(symbol->name));
        }
    }
    for (size_t i = 0; i < graph->checks.n; i++) {
        const Check *check = &graph->checks.items[i];
        if (!check_size(v, check->left) || !check_size(v, check->right)) {
            return false;
        }
    }
    return true;
}

// ---- nodes ----

static bool check_attribute_sizes(Verifier *v, const Node *node)
{
    const Attr *attr = &node->attr;
    size_t n;
    const AttrField *fields = op_attributes(node->op, &n);
    for (size_t i = 0; i < n; i++) {
        bool ok = true;
        if (fields[i].kind == ATTR_size) {
            ok = check_size(v, *(const Size *const *)((const char *)attr + fields[i].offset));
        } else if (fields[i].kind == ATTR_starts) {
            ok = check_sizes(v, attr->start, node->args[0]->type.rank);
        } else if (fields[i].kind == ATTR_strides) {
            ok = check_sizes(v, attr->strides, node->type.rank);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static void on_fail(void *ctx, int arg, Str message)
{
    (void)arg;
    broken(ctx, "%.*s", STR_ARG(message));
}

// The type must be what the operands give, the attributes as inference would leave them.
static bool check_type(Verifier *v, const Graph *graph, const Node *node)
{
    // Inference only reads the graph, the builder's field is for those who add to it.
    Builder b = {.graph = (Graph *)graph, .fail = on_fail, .ctx = v};
    Attr attr = node->attr;
    Call call = {.b = &b,
                 .arena = graph->arena,
                 .facts = graph->facts,
                 .op = node->op,
                 .args = node->args,
                 .nargs = node->nargs,
                 .attr = &attr,
                 .given = &node->type,
                 .region = node->region};
    if (!ir_check_operands(&call) || !check_attribute_sizes(v, node) ||
        !check_sizes(v, node->type.shape, node->type.rank) || !ir_infer(&call)) {
        return false;
    }
    bool is_same = attr.axis == node->attr.axis && attr.naxes == node->attr.naxes;
    for (size_t i = 0; is_same && i < attr.naxes; i++) {
        is_same = attr.axes[i] == node->attr.axes[i];
    }
    return is_same || broken(v, "its axes are not counted from the front, in order");
}

static bool check_constant(Verifier *v, const Graph *graph, const Node *node)
{
    const Graph *prepare = graph->prepare;
    size_t i = prepare != NULL ? graph_find_output(prepare, node->attr.name) : SIZE_MAX;
    if (i == SIZE_MAX) {
        return broken(v, "prepare has no output \"%.*s\"", STR_ARG(node->attr.name));
    }
    return type_equal(&prepare->outputs.items[i].node->type, &node->type) ||
           broken(v, "\"%.*s\" has another type in prepare", STR_ARG(node->attr.name));
}

typedef struct Names {
    Map inputs;
    Map params;
} Names;

// Where an operation may stand, and that what it names is named once.
static bool check_place(Verifier *v, const Graph *graph, const Node *node, Names *names)
{
    bool is_outside = node->op == OP_input || node->op == OP_param || node->op == OP_constant ||
                      node->op == OP_kernel || node->op == OP_result;
    if (v->is_region && is_outside) {
        return broken(v, "cannot stand in a kernel");
    }
    if (v->is_prepare && (node->op == OP_input || node->op == OP_constant)) {
        return broken(v, "cannot stand in prepare, whose leaves are parameters");
    }
    if (node->op == OP_arg && !v->is_region) {
        return broken(v, "stands outside of a kernel");
    }
    if ((node->op == OP_input && !take_name(&names->inputs, node->attr.name)) ||
        (node->op == OP_param && !take_name(&names->params, node->attr.name))) {
        return broken(v, "\"%.*s\" is named twice", STR_ARG(node->attr.name));
    }
    return node->op != OP_constant || check_constant(v, graph, node);
}

static bool check_graph(Verifier *v, const Graph *graph);

static bool check_region(Verifier *v, const Node *node)
{
    Verifier inner = *v;
    inner.node = NULL;
    inner.is_region = true;
    if (node->region->prepare != NULL || node->region->checks.n > 0) {
        return broken(v, "a region has neither prepare nor checks");
    }
    return check_graph(&inner, node->region);
}

// Each operand has one `arg` at most. Their indices are in range: check_type saw to that.
static bool check_args(Verifier *v, const Node *kernel)
{
    const Graph *region = kernel->region;
    bool *is_seen = arena_new(v->arena, bool, kernel->nargs);
    for (size_t i = 0; i < region->nodes.n; i++) {
        const Node *node = region->nodes.items[i];
        if (node->op == OP_arg && is_seen[node->attr.index]) {
            return broken(v, "operand %u has two `arg` nodes", (unsigned)node->attr.index);
        }
        if (node->op == OP_arg) {
            is_seen[node->attr.index] = true;
        }
    }
    return true;
}

static bool check_node(Verifier *v, const Graph *graph, const Node *node, size_t i, Names *names)
{
    if (node->op >= OP_count) {
        v->node = NULL;
        return broken(v, "node %zu is no operation", i);
    }
    if (node->id != i) {
        return broken(v, "stands at %zu: ids are dense, in order", i);
    }
    for (size_t k = 0; k < node->nargs; k++) {
        const Node *arg = node->args[k];
        if (arg == NULL || arg->id >= i || graph->nodes.items[arg->id] != arg) {
            return broken(v, "operand %zu does not stand before it", k);
        }
    }
    if ((node->op == OP_kernel) != (node->region != NULL)) {
        return broken(v, "kernels alone have a region, and always one");
    }
    return (node->region == NULL || check_region(v, node)) && check_type(v, graph, node) &&
           (node->region == NULL || check_args(v, node)) && check_place(v, graph, node, names);
}

// ---- graphs ----

static bool check_outputs(Verifier *v, const Graph *graph)
{
    Map names = {.arena = v->arena};
    if (graph->outputs.n == 0) {
        return broken(v, "there is no output");
    }
    for (size_t i = 0; i < graph->outputs.n; i++) {
        const Output *output = &graph->outputs.items[i];
        const Node *node = output->node;
        if (node == NULL || node->id >= graph->nodes.n || graph->nodes.items[node->id] != node) {
            return broken(v, "output %zu is no node of the graph", i);
        }
        if (node->op == OP_kernel) {
            return broken(v, "output %zu is a kernel, not a tensor", i);
        }
        if (v->is_region ? output->name.len > 0
                         : output->name.len == 0 || !take_name(&names, output->name)) {
            return broken(v,
                          "output %zu is named \"%.*s\": outputs of graphs have a name of "
                          "their own, outputs of regions none",
                          i, STR_ARG(output->name));
        }
    }
    return true;
}

static bool check_graph(Verifier *v, const Graph *graph)
{
    Names names = {.inputs = {.arena = v->arena}, .params = {.arena = v->arena}};
    for (size_t i = 0; i < graph->nodes.n; i++) {
        v->node = graph->nodes.items[i];
        if (!check_node(v, graph, graph->nodes.items[i], i, &names)) {
            return false;
        }
    }
    v->node = NULL;
    return check_outputs(v, graph);
}

static bool verify(const Graph *graph, Buf *why)
{
    const Graph *prepare = graph->prepare;
    if (prepare != NULL) {
        Verifier v = {.arena = graph->arena, .why = why, .top = prepare, .is_prepare = true};
        if (prepare->prepare != NULL || prepare->symbols.n > 0 || prepare->checks.n > 0) {
            return broken(&v, "has neither symbols nor checks nor a prepare of its own");
        }
        if (!check_graph(&v, prepare)) {
            return false;
        }
    }
    Verifier v = {.arena = graph->arena, .why = why, .top = graph};
    return check_symbols(&v, graph) && check_graph(&v, graph);
}

bool graph_verify(const Graph *graph, Buf *why)
{
    ArenaMark mark = arena_mark(graph->arena);
    bool is_right = verify(graph, why);
    if (is_right) {
        arena_reset(graph->arena, mark); // nothing went to `why`, which may live there too
    }
    return is_right;
}
