// Reads the text form of graphs (see ir.h). Nodes come through ir_add_node like all others, so what
// is read obeys the type rules. Stops at the first error. Safe with any bytes: what could grow
// without bound (nesting, axes, sizes) has a limit, everything else is as long as the text.
#include "ir/internal.h"
#include "ir/scan.h"

#define MAX_ATTRIBUTES 32

typedef struct Parser {
    Scan scan;
    Arena *arena;
    Place node_at; // the operation being read, for what the type rules report
    Str op_text;
    bool in_region;
    Map labels; // of the graph being read: to Node *
    Builder builder;
} Parser;

// What is read of a node before it is built.
typedef struct Draft {
    Op op;
    Attr attr;
    VEC(Node *) args;
    Type type;
    size_t nstart; // how many were given, to be compared with the axes there are
    size_t nstep;
    size_t nstrides;
} Draft;

static void on_fail(void *ctx, int arg, Str message)
{
    Parser *p = ctx;
    (void)arg;
    scan_fail(&p->scan, p->node_at, "%.*s: %.*s", STR_ARG(p->op_text), STR_ARG(message));
}

// ---- lists ----

typedef VEC(int64_t) Ints;
typedef VEC(const Size *) Sizes;

static bool parse_ints(Parser *p, Ints *out)
{
    if (!scan_expect(&p->scan, "[")) {
        return false;
    }
    while (!scan_is(&p->scan, "]")) {
        int64_t n;
        if ((out->n > 0 && !scan_expect(&p->scan, ",")) || !scan_int(&p->scan, &n)) {
            return false;
        }
        vec_push(p->arena, out, n);
    }
    return scan_expect(&p->scan, "]");
}

// At most one size an axis.
static bool parse_sizes(Parser *p, Sizes *out)
{
    if (!scan_expect(&p->scan, "[")) {
        return false;
    }
    while (!scan_is(&p->scan, "]")) {
        if (out->n > 0 && !scan_expect(&p->scan, ",")) {
            return false;
        }
        if (out->n == IR_MAX_RANK) {
            return scan_fail(&p->scan, p->scan.token.at, "over %d axes", IR_MAX_RANK);
        }
        const Size *size = scan_size(&p->scan);
        if (size == NULL) {
            return false;
        }
        vec_push(p->arena, out, size);
    }
    return scan_expect(&p->scan, "]");
}

static bool parse_type(Parser *p, Type *out)
{
    Token token = p->scan.token;
    Sizes shape = {0};
    if (token.kind != TOKEN_word || !dtype_from_name(token.text, &out->dtype)) {
        return scan_fail(&p->scan, token.at, "expected f32, i32 or bool");
    }
    scan_next(&p->scan);
    if (scan_is(&p->scan, "[") && !parse_sizes(p, &shape)) {
        return false;
    }
    out->rank = (uint32_t)shape.n;
    out->shape = shape.items;
    return !p->scan.failed;
}

// ---- attributes ----

static bool parse_flag(Parser *p, bool *out)
{
    *out = scan_is(&p->scan, "true");
    if (!scan_accept(&p->scan, "true") && !scan_accept(&p->scan, "false")) {
        return scan_fail(&p->scan, p->scan.token.at, "expected true or false");
    }
    return true;
}

static bool parse_index(Parser *p, uint32_t *out)
{
    Place at = p->scan.token.at;
    int64_t n;
    if (!scan_int(&p->scan, &n)) {
        return false;
    }
    if (n < 0 || n > UINT32_MAX) {
        return scan_fail(&p->scan, at, "expected an index, from 0 on");
    }
    *out = (uint32_t)n;
    return true;
}

static bool parse_mode(Parser *p, PoolMode *out)
{
    for (PoolMode mode = POOL_mean; mode <= POOL_min; mode++) {
        if (scan_accept(&p->scan, pool_mode_name(mode))) {
            *out = mode;
            return true;
        }
    }
    return scan_fail(&p->scan, p->scan.token.at, "expected mean, max or min");
}

static bool parse_class(Parser *p, KernelClass *out)
{
    for (size_t i = 0; i < KERNEL_count; i++) {
        if (scan_accept(&p->scan, kernel_class_name((KernelClass)i))) {
            *out = (KernelClass)i;
            return true;
        }
    }
    return scan_fail(&p->scan, p->scan.token.at,
                     "expected elementwise, reduction, contraction or attention");
}

static bool parse_list(Parser *p, Draft *draft, AttrKind kind)
{
    Attr *attr = &draft->attr;
    Ints ints = {0};
    Sizes sizes = {0};
    bool is_ints = kind == ATTR_ints || kind == ATTR_steps;
    if (is_ints ? !parse_ints(p, &ints) : !parse_sizes(p, &sizes)) {
        return false;
    }
    if (kind == ATTR_ints) {
        attr->axes = ints.items;
        attr->naxes = ints.n;
    } else if (kind == ATTR_steps) {
        attr->step = ints.items;
        draft->nstep = ints.n;
    } else if (kind == ATTR_starts) {
        attr->start = sizes.items;
        draft->nstart = sizes.n;
    } else {
        attr->strides = sizes.items;
        draft->nstrides = sizes.n;
    }
    return true;
}

static bool parse_size_at(Parser *p, const Size **out)
{
    *out = scan_size(&p->scan);
    return *out != NULL;
}

// The value of a field that stands in braces.
static bool parse_value(Parser *p, Draft *draft, const AttrField *field)
{
    void *at = (char *)&draft->attr + field->offset;
    switch (field->kind) {
    case ATTR_number: return scan_double(&p->scan, at);
    case ATTR_size: return parse_size_at(p, at);
    case ATTR_int: return scan_int(&p->scan, at);
    case ATTR_index: return parse_index(p, at);
    case ATTR_flag: return parse_flag(p, at);
    case ATTR_mode: return parse_mode(p, at);
    case ATTR_ints:
    case ATTR_steps:
    case ATTR_starts:
    case ATTR_strides: return parse_list(p, draft, field->kind);
    case ATTR_name:
    case ATTR_word:
    case ATTR_range:
    case ATTR_filler:
    case ATTR_function: break;
    }
    die("attribute %s does not stand in braces", field->name);
}

static bool fail_attribute(Parser *p, const AttrField *fields, size_t nfields, const Token *token)
{
    Buf known = {.arena = p->scan.arena};
    for (size_t i = 0; i < nfields; i++) {
        if (ir_in_braces(fields[i].kind)) {
            buf_format(&known, "%s%s", known.len > 0 ? ", " : "", fields[i].name);
        }
    }
    return scan_fail(&p->scan, token->at, "no attribute `%.*s`; %.*s has %s", STR_ARG(token->text),
                     STR_ARG(p->op_text), known.len > 0 ? known.ptr : "none");
}

// {axis = 1, times = 2}, in any order, each once.
static bool parse_braces(Parser *p, Draft *draft, const AttrField *fields, size_t nfields)
{
    bool seen[MAX_ATTRIBUTES] = {false};
    if (!scan_expect(&p->scan, "{")) {
        return false;
    }
    for (size_t count = 0; !scan_is(&p->scan, "}"); count++) {
        if (count > 0 && !scan_expect(&p->scan, ",")) {
            return false;
        }
        Token token = p->scan.token;
        size_t i = 0;
        while (i < nfields && (!ir_in_braces(fields[i].kind) ||
                               !str_equal(token.text, str_from(fields[i].name)))) {
            i++;
        }
        if (i == nfields || token.kind != TOKEN_word) {
            return fail_attribute(p, fields, nfields, &token);
        }
        if (seen[i]) {
            return scan_fail(&p->scan, token.at, "the attribute stands twice");
        }
        seen[i] = true;
        scan_next(&p->scan);
        if (!scan_expect(&p->scan, "=") || !parse_value(p, draft, &fields[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < nfields; i++) {
        if (ir_in_braces(fields[i].kind) && !seen[i]) {
            return scan_fail(&p->scan, p->scan.token.at, "the attribute `%s` is missing",
                             fields[i].name);
        }
    }
    return scan_expect(&p->scan, "}");
}

// A field that stands before the operands.
static bool parse_before(Parser *p, Draft *draft, AttrKind kind)
{
    Attr *attr = &draft->attr;
    if (kind == ATTR_name) {
        return scan_text(&p->scan, &attr->name);
    }
    if (kind == ATTR_word) {
        return parse_class(p, &attr->kernel);
    }
    if (kind == ATTR_range && scan_accept(&p->scan, "in")) {
        attr->has_range = true;
        return scan_int(&p->scan, &attr->low) && scan_expect(&p->scan, "..") &&
               scan_int(&p->scan, &attr->high);
    }
    if (kind == ATTR_filler && scan_accept(&p->scan, "=")) {
        attr->has_default = true;
        return scan_double(&p->scan, &attr->value);
    }
    return true;
}

// ---- nodes ----

static bool parse_body(Parser *p, Graph *graph);

// NULL after a report.
static Node *parse_operand(Parser *p)
{
    Token token = p->scan.token;
    if (token.kind != TOKEN_label) {
        scan_fail(&p->scan, token.at, "expected an operand, as %%3");
        return NULL;
    }
    Node *node = map_get(&p->labels, token.text);
    if (node == NULL) {
        scan_fail(&p->scan, token.at, "there is no %.*s before this", STR_ARG(token.text));
        return NULL;
    }
    scan_next(&p->scan);
    return node;
}

static bool fail_op(Parser *p, Str name, Place at)
{
    VEC(Str) names = {0};
    for (size_t i = 0; i < S_count; i++) {
        vec_push(p->scan.arena, &names, str_from(scalar_name((Scalar)i)));
    }
    for (size_t i = 0; i < OP_count; i++) {
        if (i != OP_map) {
            vec_push(p->scan.arena, &names, str_from(op_name((Op)i)));
        }
    }
    return scan_fail(&p->scan, at, "no operation `%.*s`%.*s", STR_ARG(name),
                     STR_ARG(str_hint(p->scan.arena, name, names.items, names.n)));
}

static bool parse_op(Parser *p, Draft *draft)
{
    Token token = p->scan.token;
    p->op_text = token.text;
    p->node_at = token.at;
    p->builder.at = token.at;
    if (token.kind != TOKEN_word) {
        return scan_fail(&p->scan, token.at, "expected an operation, as exp");
    }
    if (scalar_from_name(token.text, &draft->attr.fn)) {
        draft->op = OP_map;
    } else if (!op_from_name(token.text, &draft->op) || draft->op == OP_map) {
        return fail_op(p, token.text, token.at);
    }
    scan_next(&p->scan);
    return !p->scan.failed;
}

// A list that has not one item an axis would be read past its end.
static bool check_lists(Parser *p, const Draft *draft)
{
    if (draft->op == OP_view && draft->nstrides != draft->type.rank) {
        return scan_fail(&p->scan, p->node_at, "view: %zu strides for %u axes", draft->nstrides,
                         (unsigned)draft->type.rank);
    }
    if (draft->op != OP_slice || draft->args.n != 1) {
        return true; // the number of operands is checked where all are
    }
    size_t rank = draft->args.items[0]->type.rank;
    if (draft->nstart != rank || draft->nstep != rank) {
        return scan_fail(&p->scan, p->node_at, "slice: %zu starts and %zu steps for %zu axes",
                         draft->nstart, draft->nstep, rank);
    }
    return true;
}

static Node *parse_kernel(Parser *p, const Draft *draft)
{
    if (p->in_region) {
        scan_fail(&p->scan, p->node_at, "a kernel within a kernel");
        return NULL;
    }
    Graph *graph = p->builder.graph;
    Graph *region = graph_create_region(graph);
    Parser inner = *p;
    inner.in_region = true;
    inner.labels = (Map){.arena = p->arena};
    inner.builder.graph = region;
    inner.builder.ctx = &inner;
    bool ok = parse_body(&inner, region);
    p->scan = inner.scan;
    return ok ? ir_add_kernel(&p->builder, draft->attr.kernel, draft->args.items, draft->args.n,
                              region)
              : NULL;
}

static Node *parse_tail(Parser *p, Draft *draft, const AttrField *fields, size_t nfields)
{
    bool has_braces = false;
    for (size_t i = 0; i < nfields; i++) {
        has_braces = has_braces || ir_in_braces(fields[i].kind);
    }
    if (draft->op == OP_kernel) {
        return parse_kernel(p, draft);
    }
    if ((has_braces && !parse_braces(p, draft, fields, nfields)) || !scan_expect(&p->scan, ":") ||
        !parse_type(p, &draft->type) || !check_lists(p, draft)) {
        return NULL;
    }
    return ir_add_node(&p->builder, draft->op, draft->args.items, draft->args.n, &draft->attr,
                       &draft->type);
}

// %3 = gather %1, %0 {axis = 0} : f32[batch, seq, 48]
static bool parse_node(Parser *p)
{
    Draft draft = {0};
    Token label = p->scan.token;
    if (map_has(&p->labels, label.text)) {
        return scan_fail(&p->scan, label.at, "%.*s stands twice", STR_ARG(label.text));
    }
    scan_next(&p->scan);
    if (!scan_expect(&p->scan, "=") || !parse_op(p, &draft)) {
        return false;
    }
    size_t nfields;
    const AttrField *fields = op_attributes(draft.op, &nfields);
    for (size_t i = 0; i < nfields; i++) {
        if (!parse_before(p, &draft, fields[i].kind)) {
            return false;
        }
    }
    while (p->scan.token.kind == TOKEN_label || draft.args.n > 0) {
        Node *arg = parse_operand(p);
        if (arg == NULL) {
            return false;
        }
        vec_push(p->arena, &draft.args, arg);
        if (!scan_accept(&p->scan, ",")) {
            break;
        }
    }
    Node *node = parse_tail(p, &draft, fields, nfields);
    if (node == NULL) {
        return false;
    }
    map_put(&p->labels, label.text, node);
    return true;
}

// ---- graphs ----

// check seq >= 9, "too short"
static bool parse_check(Parser *p, Graph *graph)
{
    static const SizeOp ops[] = {SIZE_eq, SIZE_ne, SIZE_lt, SIZE_le, SIZE_gt, SIZE_ge};
    Place at = p->scan.token.at;
    Str text;
    if (p->in_region || graph->nodes.n > 0) {
        return scan_fail(&p->scan, at, "checks stand before the nodes");
    }
    scan_next(&p->scan);
    const Size *left = scan_size(&p->scan);
    size_t i = 0;
    while (i < sizeof ops / sizeof ops[0] && !scan_accept(&p->scan, size_op_text(ops[i]))) {
        i++;
    }
    if (i == sizeof ops / sizeof ops[0]) {
        return scan_fail(&p->scan, p->scan.token.at, "expected a comparison");
    }
    const Size *right = scan_size(&p->scan);
    if (left == NULL || right == NULL || !scan_expect(&p->scan, ",") ||
        !scan_text(&p->scan, &text)) {
        return false;
    }
    graph_add_check(graph, ops[i], left, right, text, at);
    return true;
}

static bool parse_output(Parser *p, Graph *graph)
{
    Place at = p->scan.token.at;
    Str name = {0};
    scan_next(&p->scan);
    if (!p->in_region && (!scan_text(&p->scan, &name) || !scan_expect(&p->scan, "="))) {
        return false;
    }
    Node *node = parse_operand(p);
    if (node == NULL) {
        return false;
    }
    if (node->op == OP_kernel) {
        return scan_fail(&p->scan, at, "an output is a tensor, not a kernel");
    }
    graph_add_output(graph, name, node, at);
    return true;
}

static bool parse_body(Parser *p, Graph *graph)
{
    if (!scan_expect(&p->scan, "{")) {
        return false;
    }
    while (!scan_is(&p->scan, "}")) {
        bool ok;
        if (p->scan.token.kind == TOKEN_label) {
            ok = parse_node(p);
        } else if (scan_is(&p->scan, "output")) {
            ok = parse_output(p, graph);
        } else if (scan_is(&p->scan, "check")) {
            ok = parse_check(p, graph);
        } else {
            ok = scan_fail(&p->scan, p->scan.token.at, "expected a node, `check`, `output` or `}`");
        }
        if (!ok) {
            return false;
        }
    }
    return scan_expect(&p->scan, "}");
}

// seq in 1 .. 513
static bool parse_symbol(Parser *p, Graph *graph)
{
    Token token = p->scan.token;
    int64_t low = 1;
    int64_t high = SIZE_INF;
    if (token.kind != TOKEN_word || map_has(&p->scan.symbols, token.text)) {
        return scan_fail(&p->scan, token.at, "expected the name of a new symbol");
    }
    scan_next(&p->scan);
    if (scan_accept(&p->scan, "in")) {
        if (!scan_int(&p->scan, &low) || !scan_expect(&p->scan, "..")) {
            return false;
        }
        if (p->scan.token.kind == TOKEN_number) {
            if (!scan_int(&p->scan, &high)) {
                return false;
            }
            high = high - 1; // the last of a half-open range
        }
        if (low < 1 || high < low) {
            return scan_fail(&p->scan, token.at, "a symbol is at least 1, its range not empty");
        }
    }
    map_put(&p->scan.symbols, token.text, graph);
    graph_add_symbol(graph, token.text, low, high);
    return !p->scan.failed;
}

static bool parse_symbols(Parser *p, Graph *graph)
{
    if (!scan_expect(&p->scan, "(")) {
        return false;
    }
    while (!scan_is(&p->scan, ")")) {
        if ((graph->symbols.n > 0 && !scan_expect(&p->scan, ",")) || !parse_symbol(p, graph)) {
            return false;
        }
    }
    return scan_expect(&p->scan, ")");
}

// `word "name"`, the symbols of a graph that may have some, and the body.
static Graph *parse_one(Parser *p, const char *word, bool has_symbols)
{
    Str name;
    if (!scan_expect(&p->scan, word) || !scan_text(&p->scan, &name)) {
        return NULL;
    }
    Graph *graph = graph_create(p->arena, name);
    p->labels = (Map){.arena = p->arena};
    p->scan.symbols = (Map){.arena = p->arena};
    p->builder.graph = graph;
    if ((has_symbols && !parse_symbols(p, graph)) || !parse_body(p, graph)) {
        return NULL;
    }
    return graph;
}

Graph *graph_parse(Arena *arena, Diag *dx, Source *source)
{
    Parser p = {.arena = arena};
    p.builder.fail = on_fail;
    p.builder.ctx = &p;
    scan_start(&p.scan, arena, dx, source);
    Graph *graph = parse_one(&p, "graph", true);
    if (graph != NULL && scan_is(&p.scan, "prepare")) {
        graph->prepare = parse_one(&p, "prepare", false);
    }
    if (!p.scan.failed && p.scan.token.kind != TOKEN_end) {
        scan_fail(&p.scan, p.scan.token.at, "expected the end of the text");
    }
    return p.scan.failed ? NULL : graph;
}
