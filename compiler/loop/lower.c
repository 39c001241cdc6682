// From a graph of kernel regions to a program: inputs, outputs, checks and symbols, a step for each
// region, and the constants in the layouts that their readers want.
#include "loop/lower.h"
#include "base/ints.h"
#include "loop/lower_region.h"

_Static_assert(TILE_COLS == IR_PANEL, "leaves read the panels that pack makes");

// ---- loops ----

Stmt *loop_new(Region *r, LoopTag tag, const char *name, const Size *extent)
{
    Stmts nowhere = {0};
    return stmt_loop(r->arena, &nowhere, tag, kernel_add_var(r->kernel, name), extent);
}

Affine loop_index(Region *r, const Stmt *loop)
{
    return affine_var(r->arena, loop->var, size_int(r->arena, 1));
}

// The largest divisor of n that is at most `limit`.
static int64_t divisor_up_to(int64_t n, int64_t limit)
{
    int64_t best = 1;
    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d == 0) {
            best = d <= limit && d > best ? d : best;
            best = n / d <= limit && n / d > best ? n / d : best;
        }
    }
    return best;
}

Stmts *region_outer_loops(Region *r, const Size *const *shape, size_t naxes, int64_t goal,
                          Affine *index)
{
    static const char *const names[] = {"i", "j", "k", "l"};
    int64_t *serial =
        arena_new(r->arena, int64_t, naxes + 1); // iterations left to the part on each axis
    int64_t left = goal;
    for (size_t i = naxes; i-- > 0;) {
        int64_t n;
        serial[i] = left > 1 && size_is_int(shape[i], &n) ? divisor_up_to(n, left) : 1;
        bool whole = size_is(shape[i], serial[i]);
        left = whole ? left / serial[i] : 1;
    }
    Stmts *to = &r->kernel->body;
    for (size_t i = 0; i < naxes; i++) {
        index[i] = affine_int(r->arena, 0);
        if (!size_is(shape[i], serial[i])) {
            Stmt *loop =
                loop_new(r, LOOP_parallel, names[i % 4],
                         size_exact_div(r->arena, shape[i], size_int(r->arena, serial[i])));
            vec_push(r->arena, to, loop);
            index[i] = affine_var(r->arena, loop->var, size_int(r->arena, serial[i]));
            to = &loop->body;
        }
    }
    for (size_t i = 0; i < naxes; i++) {
        if (serial[i] > 1) {
            Stmt *loop = loop_new(r, LOOP_serial, names[i % 4], size_int(r->arena, serial[i]));
            vec_push(r->arena, to, loop);
            index[i] = affine_add(r->arena, index[i], loop_index(r, loop));
            to = &loop->body;
        }
    }
    return to;
}

bool region_fixed(Region *r, const Size *size, const char *what, int64_t *out)
{
    if (size_is_int(size, out)) {
        return true;
    }
    diag_error(r->lower->dx, r->node->at,
               "give %.*s: %s is %.*s here, but must be fixed when compiling",
               STR_ARG(ir_flags(r->arena, size)), what, STR_ARG(size_text(r->arena, size)));
    return false;
}

int64_t region_panels(int64_t columns) { return int_ceil_div(columns, TILE_COLS); }

// ---- regions ----

static void foresee_operand(Region *r, const Node *memory, const Node *packed)
{
    const Node *arg = memory->op == OP_view ? memory->args[0] : memory;
    const Node *source = r->node->args[arg->attr.index];
    for (size_t i = 0; i < r->slots.n; i++) {
        if (r->slots.items[i].source == source && r->slots.items[i].packed == packed) {
            return;
        }
    }
    Slot slot = {.source = source, .packed = packed};
    vec_push(r->arena, &r->slots, slot);
    kernel_add_operand(r->kernel, str_format(r->arena, "x%zu", r->slots.n - 1), source->type.dtype,
                       false);
}

// Declares the kernel's operands: what the region reads, in each layout, then its results.
static void foresee_operands(Region *r)
{
    for (size_t i = 0; i < r->graph->nodes.n; i++) {
        const Node *node = r->graph->nodes.items[i];
        if (region_is_memory(node)) {
            continue;
        }
        for (size_t k = 0; k < node->nargs; k++) {
            const Node *x = node->args[k];
            if (region_is_memory(x)) {
                bool packed = node->op == OP_matmul && k == 1 && region_is_constant(r, x);
                foresee_operand(r, x, packed ? x : NULL);
            }
        }
    }
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        const Node *node = r->graph->outputs.items[k].node;
        if (region_is_memory(node)) {
            foresee_operand(r, node, NULL);
        }
    }
    r->results = arena_new(r->arena, uint32_t, r->graph->outputs.n);
    for (size_t k = 0; k < r->graph->outputs.n; k++) {
        Slot slot = {.result = (uint32_t)k};
        vec_push(r->arena, &r->slots, slot);
        r->results[k] = kernel_add_operand(r->kernel, str_format(r->arena, "y%zu", k),
                                           r->graph->outputs.items[k].node->type.dtype, true);
    }
}

// ---- operands ----

static uint32_t find_constant(Program *p, Str name)
{
    for (size_t i = 0; i < p->constants.n; i++) {
        if (str_equal(p->constants.items[i].name, name)) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

// The model's constant of that name, made when first asked for.
static uint32_t add_constant(Lower *l, Str name, const Type *type, Str layout)
{
    uint32_t found = find_constant(l->program, name);
    if (found != UINT32_MAX) {
        return found;
    }
    int64_t *shape = arena_new(l->arena, int64_t, type->rank + 1);
    uint64_t bytes = dtype_bytes(type->dtype);
    for (size_t i = 0; i < type->rank; i++) {
        if (!size_is_int(type->shape[i], &shape[i])) {
            die("constant with a symbolic size");
        }
        bytes *= (uint64_t)shape[i];
    }
    Constant c = {.name = name,
                  .dtype = type->dtype,
                  .rank = type->rank,
                  .shape = shape,
                  .layout = layout,
                  .bytes = bytes};
    vec_push(l->arena, &l->program->constants, c);
    return (uint32_t)(l->program->constants.n - 1);
}

static void prepare_failed(void *ctx, int arg, Str message)
{
    (void)ctx;
    die("prepare: operand %d: %.*s", arg, STR_ARG(message));
}

// pack(view(x)) as an output of prepare; an equal one that is there already serves.
static uint32_t packed_constant(Lower *l, const Node *source, const Node *matrix)
{
    Graph *prepare = l->graph->prepare;
    Buf name = {.arena = l->arena};
    buf_format(&name, "%.*s:P16", STR_ARG(source->attr.name));
    if (matrix->op == OP_view) {
        for (size_t i = 0; i < matrix->type.rank; i++) {
            buf_format(&name, i ? "x" : ":");
            size_print(&name, matrix->type.shape[i]);
            buf_char(&name, '/');
            size_print(&name, matrix->attr.strides[i]);
        }
        buf_char(&name, '+');
        size_print(&name, matrix->attr.offset);
    }
    Str key = buf_str(&name);
    size_t at = graph_find_output(prepare, key);
    Node *packed = at == SIZE_MAX ? NULL : prepare->outputs.items[at].node;
    if (!packed) {
        Builder b = {.graph = prepare, .at = matrix->at, .fail = prepare_failed};
        size_t from = graph_find_output(prepare, source->attr.name);
        if (from == SIZE_MAX) {
            die("prepare has no output %.*s", STR_ARG(source->attr.name));
        }
        Node *x = prepare->outputs.items[from].node;
        if (matrix->op == OP_view) {
            x = ir_add_node(&b, OP_view, &x, 1, &matrix->attr, &matrix->type);
        }
        Attr layout = {.name = STR("P16")};
        packed = ir_add_node(&b, OP_pack, &x, 1, &layout, NULL);
        graph_add_output(prepare, key, packed, matrix->at);
    }
    return add_constant(l, key, &packed->type, STR("P16"));
}

static Operand slot_operand(Lower *l, const Slot *slot)
{
    if (slot->packed) {
        return (Operand){OPERAND_constant, packed_constant(l, slot->source, slot->packed)};
    }
    if (slot->source->op == OP_constant) {
        return (Operand){OPERAND_constant, add_constant(l, slot->source->attr.name,
                                                        &slot->source->type, STR("rows"))};
    }
    if (!l->stored[slot->source->id]) {
        die("node %u is read before it is stored", slot->source->id);
    }
    return l->where[slot->source->id];
}

// Where result `k` of a kernel is stored: in the first output of the model that it is, else in a
// buffer of the arena.
static Operand result_operand(Lower *l, const Node *kernel, uint32_t k)
{
    const Node *result = NULL;
    for (size_t i = kernel->id + 1; i < l->graph->nodes.n && !result; i++) {
        const Node *node = l->graph->nodes.items[i];
        result =
            node->op == OP_result && node->args[0] == kernel && node->attr.index == k ? node : NULL;
    }
    if (result && l->stored[result->id]) {
        return l->where[result->id];
    }
    const Node *value = kernel->region->outputs.items[k].node;
    ArenaBuffer buffer = {.name = str_format(l->arena, "t%zu", l->program->buffers.n),
                          .dtype = value->type.dtype,
                          .count = type_count(l->arena, &value->type)};
    vec_push(l->arena, &l->program->buffers, buffer);
    Operand operand = {OPERAND_buffer, (uint32_t)(l->program->buffers.n - 1)};
    if (result) {
        l->where[result->id] = operand;
        l->stored[result->id] = true;
    }
    return operand;
}

// What a step does, for people: the path of the first parameter that it reads, without its last
// part.
static Str step_name(Lower *l, const Region *r)
{
    for (size_t i = 0; i < r->slots.n; i++) {
        const Node *source = r->slots.items[i].source;
        if (source && source->op == OP_constant) {
            Str name = source->attr.name;
            size_t end = name.len;
            while (end > 0 && name.ptr[end - 1] != '.') {
                end--;
            }
            if (end > 1) {
                return str_format(l->arena, "%.*s", (int)(end - 1), name.ptr);
            }
        }
    }
    return str_from(kernel_class_name(r->node->attr.kernel));
}

static bool lower_kernel(Lower *l, const Node *node)
{
    static bool (*const lower[KERNEL_count])(Region *) = {
        [KERNEL_elementwise] = lower_elementwise,
        [KERNEL_reduction] = lower_reduction,
        [KERNEL_contraction] = lower_contraction,
        [KERNEL_attention] = lower_attention,
    };
    Str name =
        str_format(l->arena, "%s_%zu", kernel_class_name(node->attr.kernel), l->program->kernels.n);
    Region region = {
        .lower = l,
        .arena = l->arena,
        .node = node,
        .graph = node->region,
        .kernel = kernel_create(l->arena, name),
        .uses = graph_uses(l->arena, node->region),
        .held = arena_new(l->arena, Held, node->region->nodes.n + 1),
    };
    foresee_operands(&region);
    bool ok = lower[node->attr.kernel](&region);
    vec_push(l->arena, &l->program->kernels, region.kernel);
    Operand *operands = arena_new(l->arena, Operand, region.slots.n);
    for (size_t i = 0; i < region.slots.n; i++) {
        const Slot *slot = &region.slots.items[i];
        operands[i] = slot->source ? slot_operand(l, slot) : result_operand(l, node, slot->result);
    }
    Step step = {.name = step_name(l, &region),
                 .kernel = (uint32_t)(l->program->kernels.n - 1),
                 .noperands = region.slots.n,
                 .operands = operands};
    vec_push(l->arena, &l->program->steps, step);
    return ok;
}

// ---- the program's face ----

static ProgramIo describe(Str name, const Node *node)
{
    ProgramIo io = {.name = name,
                    .dtype = node->type.dtype,
                    .rank = node->type.rank,
                    .shape = node->type.shape};
    return io;
}

static void lower_input(Lower *l, const Node *node)
{
    ProgramIo io = describe(node->attr.name, node);
    io.has_range = node->attr.has_range;
    io.low = node->attr.low;
    io.high = node->attr.high;
    io.has_default = node->attr.has_default;
    io.value = node->attr.value;
    io.has_slot = io.has_default || io.dtype != DT_f32;
    if (io.has_slot) {
        ArenaBuffer buffer = {.name = io.name,
                              .dtype = io.dtype,
                              .count = type_count(l->arena, &node->type),
                              .is_slot = true};
        io.slot = (uint32_t)l->program->buffers.n;
        vec_push(l->arena, &l->program->buffers, buffer);
    }
    l->where[node->id] = (Operand){OPERAND_input, (uint32_t)l->program->inputs.n};
    l->stored[node->id] = true;
    vec_push(l->arena, &l->program->inputs, io);
}

static void lower_output(Lower *l, const Output *output)
{
    const Node *stored = output->node->op == OP_view ? output->node->args[0] : output->node;
    l->where[stored->id] = (Operand){OPERAND_output, (uint32_t)l->program->outputs.n};
    l->stored[stored->id] = true;
    vec_push(l->arena, &l->program->outputs, describe(output->name, output->node));
}

static ProgramCheck lower_check(const Check *check)
{
    bool turned = check->op == SIZE_gt || check->op == SIZE_ge;
    SizeOp op = check->op == SIZE_gt ? SIZE_lt : check->op == SIZE_ge ? SIZE_le : check->op;
    return (ProgramCheck){.op = op,
                          .left = turned ? check->right : check->left,
                          .right = turned ? check->left : check->right,
                          .text = check->text};
}

static void lower_face(Lower *l)
{
    for (size_t i = 0; i < l->graph->symbols.n; i++) {
        const Symbol *s = &l->graph->symbols.items[i];
        ProgramSymbol symbol = {.name = s->name, .low = s->low, .high = s->high};
        vec_push(l->arena, &l->program->symbols, symbol);
    }
    for (size_t i = 0; i < l->graph->checks.n; i++) {
        vec_push(l->arena, &l->program->checks, lower_check(&l->graph->checks.items[i]));
    }
    for (size_t i = 0; i < l->graph->nodes.n; i++) {
        if (l->graph->nodes.items[i]->op == OP_input) {
            lower_input(l, l->graph->nodes.items[i]);
        }
    }
    for (size_t i = 0; i < l->graph->outputs.n; i++) {
        lower_output(l, &l->graph->outputs.items[i]);
    }
}

Program *lower_graph(Arena *arena, Diag *dx, Graph *graph, const Target *target)
{
    Lower l = {.arena = arena, .dx = dx, .graph = graph, .target = target};
    l.program = program_create(arena, graph->name);
    l.where = arena_new(arena, Operand, graph->nodes.n + 1);
    l.stored = arena_new(arena, bool, graph->nodes.n + 1);
    lower_face(&l);
    bool ok = true; // a size that is free concerns many kernels: the first says it for all
    for (size_t i = 0; i < graph->nodes.n && ok; i++) {
        if (graph->nodes.items[i]->op == OP_kernel) {
            ok = lower_kernel(&l, graph->nodes.items[i]);
        }
    }
    return ok ? l.program : NULL;
}
