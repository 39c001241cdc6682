// Evaluating a graph: order, life of values, checks, leaves and kernels. What the operations
// compute is in eval_elements.c, eval_move.c and eval_matmul.c.
#include "ir/eval_impl.h"

#include <stdlib.h>
#include <string.h>

static EvalFn *const functions[OP_count] = {
#define OP(id, arity, trait, attributes, infer, eval) [OP_##id] = eval_##eval,
#include "ir/ops.def"
};

// ---- reports ----

bool eval_fail(const Eval *ev, const Node *node, const char *format, ...)
{
    Buf buf = {.arena = ev->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&buf, format, args);
    va_end(args);
    const char *name = node->op == OP_map ? scalar_name(node->attr.fn) : op_name(node->op);
    diag_error(ev->dx, node->at, "%s: %.*s", name, STR_ARG(buf_str(&buf)));
    return false;
}

// `[2, 3]`
static void print_shape(Buf *buf, const EvalTensor *t)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < t->rank; i++) {
        buf_format(buf, i > 0 ? ", %lld" : "%lld", (long long)t->shape[i]);
    }
    buf_char(buf, ']');
}

bool eval_misfit(const Eval *ev, const Node *node)
{
    Buf buf = {.arena = ev->arena};
    for (size_t i = 0; i < node->nargs; i++) {
        buf_add(&buf, i > 0 ? STR(" and ") : STR(""));
        print_shape(&buf, eval_arg(ev, node, i));
    }
    return eval_fail(ev, node, "with the sizes given, %.*s do not make %.*s",
                     STR_ARG(buf_str(&buf)), STR_ARG(type_text(ev->arena, &node->type)));
}

static bool fail_memory(const Eval *ev, const Node *node, int64_t count)
{
    diag_fail(ev->dx, "out of memory: no room for %lld elements of %s", (long long)count,
              op_name(node->op));
    return false;
}

// ---- sizes and values ----

int64_t eval_product(const int64_t *shape, size_t n)
{
    int64_t product = 1;
    for (size_t i = 0; i < n; i++) {
        product *= shape[i];
    }
    return product;
}

bool eval_number(const Eval *ev, const Node *node, const Size *size, int64_t *out)
{
    return size_value(size, ev->options->symbols, ev->options->nsymbols, out) ||
           eval_fail(ev, node, "the size %.*s does not fit in 64 bits",
                     STR_ARG(size_text(ev->arena, size)));
}

// The node's sizes, each at least 1, and their product, of which 8 bytes each fit in memory.
static bool find_shape(const Eval *ev, const Node *node, EvalTensor *out)
{
    int64_t *shape = arena_new(ev->arena, int64_t, node->type.rank);
    int64_t count = 1;
    for (size_t i = 0; i < node->type.rank; i++) {
        const Size *size = node->type.shape[i];
        if (!eval_number(ev, node, size, &shape[i])) {
            return false;
        }
        if (shape[i] < 1) {
            return eval_fail(ev, node, "the size %.*s is %lld here, but must be at least 1",
                             STR_ARG(size_text(ev->arena, size)), (long long)shape[i]);
        }
        if (__builtin_mul_overflow(count, shape[i], &count) ||
            count > PTRDIFF_MAX / (int64_t)sizeof(double)) {
            return eval_fail(ev, node, "the bytes of %.*s do not fit in 64 bits",
                             STR_ARG(type_text(ev->arena, &node->type)));
        }
    }
    *out = (EvalTensor){
        .dtype = node->type.dtype, .rank = node->type.rank, .shape = shape, .count = count};
    return true;
}

bool eval_alloc(Eval *ev, const Node *node, Value *out)
{
    if (!find_shape(ev, node, &out->t)) {
        return false;
    }
    out->t.data = malloc((size_t)out->t.count * sizeof(double));
    if (!out->t.data) {
        return fail_memory(ev, node, out->t.count);
    }
    out->refs = arena_new(ev->arena, size_t, 1);
    *out->refs = 1;
    return true;
}

bool eval_share(Eval *ev, const Node *node, const Value *from, Value *out)
{
    if (!find_shape(ev, node, &out->t)) {
        return false;
    }
    if (out->t.count != from->t.count) {
        return eval_misfit(ev, node);
    }
    out->t.data = from->t.data;
    out->refs = from->refs;
    ++*out->refs;
    return true;
}

static void drop(Value *value)
{
    for (size_t i = 0; i < value->nresults; i++) {
        drop(&value->results[i]);
    }
    if (value->refs && --*value->refs == 0) {
        free(value->t.data);
    }
    *value = (Value){0};
}

const Value *eval_operand(const Eval *ev, const Node *node, size_t i)
{
    return &ev->values[node->args[i]->id];
}

const EvalTensor *eval_arg(const Eval *ev, const Node *node, size_t i)
{
    return &eval_operand(ev, node, i)->t;
}

// ---- order ----

// What an operand waits for: those of a lower rank are computed before those of a higher one. So
// what only parameters determine, and a parameter above all, is in memory from its use on, and not
// already while the long chain beside it is computed.
typedef enum Rank { RANK_data, RANK_parameters, RANK_leaf, RANK_count } Rank;

// The nodes that some outputs need, operands before users.
typedef struct Order {
    const Node **nodes; // [n]
    size_t n;
} Order;

// A node whose operands are being ordered.
typedef struct Step {
    const Node *node;
    Rank rank;
    size_t next; // operand
} Step;

static Rank *find_ranks(const Eval *ev)
{
    size_t nnodes = ev->graph->nodes.n;
    Rank *ranks = arena_new(ev->arena, Rank, nnodes);
    for (size_t i = 0; i < nnodes; i++) {
        const Node *node = ev->graph->nodes.items[i];
        ranks[i] = node->nargs == 0 ? RANK_leaf : RANK_parameters;
        for (size_t k = 0; k < node->nargs; k++) {
            const Node *arg = node->args[k];
            if (ranks[arg->id] == RANK_data || arg->op == OP_input || arg->op == OP_arg) {
                ranks[i] = RANK_data;
            }
        }
    }
    return ranks;
}

// The next operand to be ordered, or NULL.
static const Node *next_operand(Step *step, const Rank *ranks)
{
    for (; step->rank < RANK_count; step->rank++, step->next = 0) {
        while (step->next < step->node->nargs) {
            const Node *arg = step->node->args[step->next++];
            if (ranks[arg->id] == step->rank) {
                return arg;
            }
        }
    }
    return NULL;
}

static Order find_order(Eval *ev, size_t first, size_t n)
{
    size_t nnodes = ev->graph->nodes.n;
    const Rank *ranks = find_ranks(ev);
    Order order = {.nodes = arena_new(ev->arena, const Node *, nnodes)};
    bool *is_known = arena_new(ev->arena, bool, nnodes);
    Step *stack = arena_new(ev->arena, Step, nnodes);
    for (size_t i = first; i < first + n; i++) {
        const Node *node = ev->graph->outputs.items[i].node;
        size_t depth = 0;
        for (;;) {
            if (node) {
                ev->uses[node->id]++;
                if (!is_known[node->id]) {
                    is_known[node->id] = true;
                    stack[depth++] = (Step){.node = node};
                }
            } else {
                order.nodes[order.n++] = stack[--depth].node;
            }
            if (depth == 0) {
                break;
            }
            node = next_operand(&stack[depth - 1], ranks);
        }
    }
    return order;
}

// ---- nodes ----

static void round_elements(EvalTensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        t->data[i] = (double)(float)t->data[i];
    }
}

static bool run_node(Eval *ev, const Node *node)
{
    Value *value = &ev->values[node->id];
    if (!functions[node->op](ev, node, value)) {
        return false;
    }
    if (node->op != OP_kernel) {
        if (ev->options->round && value->t.dtype == DT_f32) {
            round_elements(&value->t);
        }
        if (ev->options->visit) {
            ev->options->visit(ev->options->ctx, node, &value->t);
        }
    }
    for (size_t i = 0; i < node->nargs; i++) {
        if (--ev->uses[node->args[i]->id] == 0) {
            drop(&ev->values[node->args[i]->id]);
        }
    }
    return true;
}

// Computes outputs first … first+n-1 into `out`, [n], which must be zero. After a failure the
// caller drops what stands there.
static bool run_graph(Eval *ev, size_t first, size_t n, Value *out)
{
    size_t nnodes = ev->graph->nodes.n;
    ev->values = arena_new(ev->arena, Value, nnodes);
    ev->uses = arena_new(ev->arena, size_t, nnodes);
    Order order = find_order(ev, first, n);
    bool is_good = true;
    for (size_t i = 0; i < order.n && is_good; i++) {
        is_good = run_node(ev, order.nodes[i]);
    }
    for (size_t i = 0; i < n && is_good; i++) {
        out[i] = ev->values[ev->graph->outputs.items[first + i].node->id];
        ++*out[i].refs;
    }
    for (size_t i = 0; i < nnodes; i++) {
        drop(&ev->values[i]);
    }
    return is_good;
}

// ---- leaves ----

static bool check_range(const Eval *ev, const Node *node, const EvalTensor *t)
{
    const Attr *attr = &node->attr;
    for (int64_t i = 0; i < t->count; i++) {
        if (!(t->data[i] >= (double)attr->low && t->data[i] < (double)attr->high)) {
            return eval_fail(ev, node,
                             "\"%.*s\": element %lld is %.0f, but must lie in %lld .. %lld",
                             STR_ARG(attr->name), (long long)i, t->data[i], (long long)attr->low,
                             (long long)attr->high);
        }
    }
    return true;
}

bool eval_leaf(Eval *ev, const Node *node, Value *out)
{
    if (node->op == OP_arg) {
        return eval_share(ev, node, ev->operands[node->attr.index], out);
    }
    return eval_alloc(ev, node, out) && ev->options->leaf(ev->options->ctx, node, &out->t) &&
           (!node->attr.has_range || check_range(ev, node, &out->t));
}

// ---- kernels ----

bool eval_kernel(Eval *ev, const Node *node, Value *out)
{
    const Value **operands = arena_new(ev->arena, const Value *, node->nargs);
    for (size_t i = 0; i < node->nargs; i++) {
        operands[i] = eval_operand(ev, node, i);
    }
    out->nresults = node->region->outputs.n;
    out->results = arena_new(ev->arena, Value, out->nresults);
    Eval inner = {.arena = ev->arena,
                  .dx = ev->dx,
                  .options = ev->options,
                  .graph = node->region,
                  .operands = operands};
    return run_graph(&inner, 0, out->nresults, out->results);
}

bool eval_result(Eval *ev, const Node *node, Value *out)
{
    return eval_share(ev, node, &eval_operand(ev, node, 0)->results[node->attr.index], out);
}

// ---- before the first node ----

static const SizeBinding *find_binding(const EvalOptions *options, Str name)
{
    for (size_t i = 0; i < options->nsymbols; i++) {
        if (str_equal(options->symbols[i].name, name)) {
            return &options->symbols[i];
        }
    }
    return NULL;
}

static bool check_symbol(Diag *dx, const EvalOptions *options, const Symbol *symbol)
{
    const SizeBinding *bound = find_binding(options, symbol->name);
    if (!bound) {
        diag_error(dx, (Place){0}, "the size `%.*s` has no value", STR_ARG(symbol->name));
        return false;
    }
    if (bound->value < symbol->low) {
        diag_error(dx, (Place){0}, "`%.*s` is %lld, but must be at least %lld",
                   STR_ARG(symbol->name), (long long)bound->value, (long long)symbol->low);
        return false;
    }
    if (symbol->high != SIZE_INF && bound->value > symbol->high) {
        diag_error(dx, (Place){0}, "`%.*s` is %lld, but must be at most %lld",
                   STR_ARG(symbol->name), (long long)bound->value, (long long)symbol->high);
        return false;
    }
    return true;
}

static bool check_check(Arena *arena, Diag *dx, const EvalOptions *options, const Check *check)
{
    int64_t left = 0;
    int64_t right = 0;
    bool is_known = size_value(check->left, options->symbols, options->nsymbols, &left) &&
                    size_value(check->right, options->symbols, options->nsymbols, &right);
    if (is_known && size_op_holds(check->op, left, right)) {
        return true;
    }
    Buf buf = {.arena = arena};
    size_print(&buf, check->left);
    buf_format(&buf, " %s ", size_op_text(check->op));
    size_print(&buf, check->right);
    if (!is_known) {
        diag_error(dx, check->at, "the sizes of `%.*s` do not fit in 64 bits",
                   STR_ARG(buf_str(&buf)));
    } else {
        diag_error(dx, check->at, "%.*s (`%.*s` does not hold: %lld and %lld)",
                   STR_ARG(check->text), STR_ARG(buf_str(&buf)), (long long)left, (long long)right);
    }
    return false;
}

static bool check_sizes(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options)
{
    bool is_good = true;
    for (size_t i = 0; i < graph->symbols.n; i++) {
        is_good &= check_symbol(dx, options, &graph->symbols.items[i]);
    }
    for (size_t i = 0; i < graph->checks.n && is_good; i++) {
        is_good = check_check(arena, dx, options, &graph->checks.items[i]);
    }
    return is_good;
}

// ---- outputs ----

// Turns values into tensors that own their elements, with sizes in `arena`. Empties the values.
static bool hand_out(Arena *arena, Diag *dx, Value *values, size_t n, EvalTensor *out)
{
    bool is_good = true;
    for (size_t i = 0; i < n; i++) {
        Value *value = &values[i];
        out[i] = value->t;
        int64_t *shape = arena_new(arena, int64_t, value->t.rank);
        if (value->t.rank > 0) {
            memcpy(shape, value->t.shape, value->t.rank * sizeof *shape);
        }
        out[i].shape = shape;
        if (*value->refs == 1) {
            *value = (Value){0}; // the last one: its elements go along
            continue;
        }
        size_t bytes = (size_t)value->t.count * sizeof(double);
        out[i].data = malloc(bytes);
        if (out[i].data) {
            memcpy(out[i].data, value->t.data, bytes);
        } else {
            diag_fail(dx, "out of memory: no room for an output of %zu bytes", bytes);
            is_good = false;
        }
        drop(value);
    }
    if (!is_good) {
        eval_free(out, n);
    }
    return is_good;
}

static bool run_outputs(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options,
                        size_t first, size_t n, EvalTensor *out)
{
    Arena *scratch = arena_create();
    Eval ev = {.arena = scratch, .dx = dx, .options = options, .graph = graph};
    Value *values = arena_new(scratch, Value, n);
    memset(out, 0, n * sizeof *out);
    bool is_good = check_sizes(scratch, dx, graph, options) && run_graph(&ev, first, n, values) &&
                   hand_out(arena, dx, values, n, out);
    arena_destroy(scratch);
    return is_good;
}

bool eval_graph(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options,
                EvalTensor *outputs)
{
    return run_outputs(arena, dx, graph, options, 0, graph->outputs.n, outputs);
}

bool eval_output(Arena *arena, Diag *dx, const Graph *graph, const EvalOptions *options,
                 size_t index, EvalTensor *out)
{
    return run_outputs(arena, dx, graph, options, index, 1, out);
}

void eval_free(EvalTensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(tensors[i].data);
        tensors[i].data = NULL;
    }
}
