// Building graphs: symbols, checks and outputs; and the one door through which nodes come.
#include "ir/internal.h"

#include <string.h>

Graph *graph_create(Arena *arena, Str name)
{
    Graph *graph = arena_new(arena, Graph, 1);
    graph->arena = arena;
    graph->name = str_copy(arena, name);
    graph->facts = size_facts(arena);
    return graph;
}

Graph *graph_create_region(Graph *graph)
{
    Graph *region = arena_new(graph->arena, Graph, 1);
    region->arena = graph->arena;
    region->facts = graph->facts;
    for (size_t i = 0; i < graph->symbols.n; i++) {
        vec_push(graph->arena, &region->symbols, graph->symbols.items[i]);
    }
    return region;
}

void graph_add_symbol(Graph *graph, Str name, int64_t low, int64_t high)
{
    Symbol symbol = {.name = str_copy(graph->arena, name), .low = low, .high = high};
    vec_push(graph->arena, &graph->symbols, symbol);
    size_facts_bound(graph->facts, symbol.name, low, high);
}

void graph_add_check(Graph *graph, SizeOp op, const Size *left, const Size *right, Str text,
                     Place at)
{
    Check check = {
        .op = op, .left = left, .right = right, .text = str_copy(graph->arena, text), .at = at};
    vec_push(graph->arena, &graph->checks, check);
    size_declare(graph->facts, op, left, right);
}

void graph_add_output(Graph *graph, Str name, Node *node, Place at)
{
    Output output = {.name = str_copy(graph->arena, name), .node = node, .at = at};
    vec_push(graph->arena, &graph->outputs, output);
}

size_t graph_find_output(const Graph *graph, Str name)
{
    for (size_t i = 0; i < graph->outputs.n; i++) {
        if (str_equal(graph->outputs.items[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

uint32_t *graph_uses(Arena *arena, const Graph *graph)
{
    uint32_t *uses = arena_new(arena, uint32_t, graph->nodes.n + 1);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        for (size_t k = 0; k < node->nargs; k++) {
            uses[node->args[k]->id]++;
        }
    }
    for (size_t i = 0; i < graph->outputs.n; i++) {
        uses[graph->outputs.items[i].node->id]++;
    }
    return uses;
}

// ---- reports ----

static void report(Builder *b, int arg, Buf *buf) { b->fail(b->ctx, arg, buf_str(buf)); }

bool ir_fail(Builder *b, int arg, const char *format, ...)
{
    Buf buf = {.arena = b->graph->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    report(b, arg, &buf);
    return false;
}

bool ir_refuse(Builder *b, int arg, SizeOp op, const Size *left, const Size *right,
               const char *format, ...)
{
    const Graph *graph = b->graph;
    Buf buf = {.arena = graph->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    if (left == NULL || right == NULL) {
        buf_add(&buf, STR(" (" IR_TOO_LARGE ")"));
    } else if ((size_has_symbols(left) || size_has_symbols(right)) &&
               size_compare(op, left, right, graph->facts) == TRUTH_unknown) {
        buf_format(&buf, " (%.*s)", STR_ARG(ir_undecided(graph, op, left, right)));
    }
    report(b, arg, &buf);
    return false;
}

// ---- nodes ----

// A list that an operation needs and the caller forgot is a fault of ours.
static void need_list(const void *list, size_t n)
{
    if (list == NULL && n > 0) {
        die("an attribute's list of %zu is missing", n);
    }
}

static const int64_t *copy_ints(Arena *arena, const int64_t *from, size_t n)
{
    int64_t *to = arena_new(arena, int64_t, n);
    need_list(from, n);
    for (size_t i = 0; from != NULL && i < n; i++) {
        to[i] = from[i];
    }
    return to;
}

static const Size *const *copy_sizes(const Graph *graph, const Size *const *from, size_t n)
{
    const Size **to = arena_new(graph->arena, const Size *, n);
    need_list(from, n);
    for (size_t i = 0; from != NULL && i < n; i++) {
        to[i] = ir_simplify(graph, from[i]);
    }
    return to;
}

static void copy_sizes_field(const Graph *graph, const Attr *from, Attr *to, AttrKind kind,
                             const Call *call)
{
    if (kind == ATTR_starts) {
        to->start = copy_sizes(graph, from->start, call->args[0]->type.rank);
    } else {
        to->strides = copy_sizes(graph, from->strides, call->given ? call->given->rank : 0);
    }
}

// A field of one value: as it is, sizes simplified.
static void copy_plain(const Graph *graph, const Attr *from, Attr *to, const AttrField *field)
{
    const char *source = (const char *)from + field->offset;
    char *target = (char *)to + field->offset;
    static const size_t bytes[] = {
        [ATTR_word] = sizeof(KernelClass), [ATTR_function] = sizeof(Scalar),
        [ATTR_number] = sizeof(double),    [ATTR_int] = sizeof(int64_t),
        [ATTR_index] = sizeof(uint32_t),   [ATTR_flag] = sizeof(bool),
        [ATTR_mode] = sizeof(PoolMode),
    };
    if (field->kind == ATTR_size) {
        const Size *size;
        memcpy(&size, source, sizeof(size));
        size = ir_simplify(graph, size);
        memcpy(target, &size, sizeof(size));
    } else {
        memcpy(target, source, bytes[field->kind]);
    }
}

// Only what the operation's schema names; the other fields stay zero, so equal nodes have equal
// attributes.
static void copy_attributes(const Graph *graph, const Attr *from, Attr *to, const Call *call)
{
    size_t n;
    const AttrField *fields = op_attributes(call->op, &n);
    for (size_t i = 0; i < n; i++) {
        AttrKind kind = fields[i].kind;
        if (kind == ATTR_name) {
            to->name = str_copy(graph->arena, from->name);
        } else if (kind == ATTR_range) {
            to->has_range = from->has_range;
            to->low = from->has_range ? from->low : 0;
            to->high = from->has_range ? from->high : 0;
        } else if (kind == ATTR_filler) {
            to->has_default = from->has_default;
            to->value = from->has_default ? from->value : 0;
        } else if (kind == ATTR_ints) {
            to->naxes = from->naxes;
            to->axes = copy_ints(graph->arena, from->axes, from->naxes);
        } else if (kind == ATTR_steps) {
            to->step = copy_ints(graph->arena, from->step, call->args[0]->type.rank);
        } else if (kind == ATTR_starts || kind == ATTR_strides) {
            copy_sizes_field(graph, from, to, kind, call);
        } else {
            copy_plain(graph, from, to, &fields[i]);
        }
    }
}

static Node *add_node(Builder *b, Op op, Node *const *args, size_t nargs, const Attr *attr,
                      const Type *type, Graph *region)
{
    static const Attr none;
    Graph *graph = b->graph;
    Attr copy = {0};
    for (size_t i = 0; i < nargs; i++) {
        if (args[i] == NULL) {
            return NULL;
        }
    }
    Call call = {.b = b,
                 .arena = graph->arena,
                 .facts = graph->facts,
                 .op = op,
                 .args = args,
                 .nargs = nargs,
                 .attr = &copy,
                 .given = type,
                 .region = region};
    copy.fn = attr ? attr->fn : (Scalar)0; // the number of a map's operands depends on it
    if (!ir_check_operands(&call)) {
        return NULL;
    }
    copy_attributes(graph, attr ? attr : &none, &copy, &call);
    if (!ir_infer(&call)) {
        return NULL;
    }
    Node *node = arena_new(graph->arena, Node, 1);
    Node **operands = arena_new(graph->arena, Node *, nargs);
    for (size_t i = 0; i < nargs; i++) {
        operands[i] = args[i];
    }
    *node = (Node){.op = op,
                   .id = (uint32_t)graph->nodes.n,
                   .type = call.out,
                   .nargs = nargs,
                   .args = operands,
                   .attr = copy,
                   .region = region,
                   .at = b->at};
    vec_push(graph->arena, &graph->nodes, node);
    return node;
}

Node *ir_add_node(Builder *b, Op op, Node *const *args, size_t nargs, const Attr *attr,
                  const Type *type)
{
    return add_node(b, op, args, nargs, attr, type, NULL);
}

Node *ir_add_kernel(Builder *b, KernelClass kernel, Node *const *args, size_t nargs, Graph *region)
{
    return add_node(b, OP_kernel, args, nargs, &(Attr){.kernel = kernel}, NULL, region);
}
