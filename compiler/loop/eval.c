// Runs a kernel without generating code: the oracle for lowering and for codegen.
//
// First the kernel becomes a plan in which every size is a number, so that running it is arithmetic
// on int64 alone; the plan also bounds every index, so that this arithmetic cannot overflow. Then
// the parts run one after the other. Each element of scratch and of outputs remembers the part that
// stored it: reading one that this part did not store, or storing one that another part did, is an
// error, since real parts run in any order.
#include "loop/internal.h"

#include <inttypes.h>
#include <stdlib.h>

// A buffer while the kernel runs.
typedef struct Memory {
    Str name;
    DType dtype;
    bool is_scratch;
    int64_t count;
    void *data;
    uint32_t *owner; // [count] the part that stored it, from 1; 0: none. NULL: only read
} Memory;

typedef struct PlanExpr PlanExpr;
typedef struct PlanStmt PlanStmt;

typedef struct PlanTerm {
    Var var;
    int64_t coef;
} PlanTerm;

typedef struct PlanIndex {
    int64_t base;
    size_t nterms;
    const PlanTerm *terms; // [nterms]
} PlanIndex;

typedef struct PlanDyn {
    const PlanExpr *index;
    int64_t limit;
    int64_t stride;
} PlanDyn;

typedef struct PlanAccess {
    Memory *memory;
    PlanIndex at;
    size_t ndyn;
    const PlanDyn *dyn; // [ndyn]
} PlanAccess;

struct PlanExpr {
    ExprKind kind; // sizes are constants
    double value;
    PlanIndex index;
    PlanAccess access;
    Value id;
    Scalar fn;
    DType dtype; // of the last operand
    size_t nargs;
    const PlanExpr *args[SCALAR_MAX_ARITY];
};

// A block of elements access + i · stride[0] + j · stride[1].
typedef struct PlanBlock {
    PlanAccess access;
    int64_t stride[2];
} PlanBlock;

typedef struct PlanReduction {
    const Reduction *reduction;
    const PlanExpr *update;
} PlanReduction;

struct PlanStmt {
    const Stmt *stmt;
    int64_t extent;   // loop
    bool begins_part; // loop: each iteration is a part
    size_t nbody;
    const PlanStmt *body; // [nbody]
    size_t nreductions;
    const PlanReduction *reductions; // [nreductions]
    const PlanExpr *expr;
    PlanBlock dst; // store, tile, pack
    PlanBlock a;   // tile: [row, k]; pack: [k, column]
    PlanBlock b;   // tile: [panel, k]
    int64_t rows;  // tile
};

typedef struct Run {
    const Kernel *k;
    Arena *tmp;
    const SizeBinding *symbols; // [nsymbols]
    size_t nsymbols;
    int64_t *extents; // [nvars] of the loops around
    Memory *memories; // [buffers]
    int64_t *vars;    // [nvars]
    double *values;   // [nvalues]
    uint32_t part;    // from 1
    uint32_t *fault;
    Buf *why;
    bool failed;
} Run;

// Keeps the first failure.
__attribute__((format(printf, 2, 3))) static void fail(Run *r, const char *format, ...)
{
    if (r->failed)
        return;
    r->failed = true;
    buf_format(r->why, "kernel %.*s: ", STR_ARG(r->k->name));
    va_list args;
    va_start(args, format);
    buf_vformat(r->why, format, args);
    va_end(args);
}

// ---- the plan -----------------------------------------------------------------------------------

static int64_t plan_size(Run *r, const Size *size)
{
    int64_t value = 0;
    if (!size_value(size, r->symbols, r->nsymbols, &value))
        fail(r, "a size has no value of 64 bits: %.*s", STR_ARG(size_text(r->tmp, size)));
    return value;
}

// Adds |stride| · (count - 1) to how far an index may lie from 0.
static void add_reach(Run *r, int64_t *reach, int64_t stride, int64_t count)
{
    int64_t steps = count > 1 ? count - 1 : 0;
    int64_t way;
    // Half of the range is left, for the width of a panel and the difference of two indices.
    if (stride == INT64_MIN || __builtin_mul_overflow(stride < 0 ? -stride : stride, steps, &way) ||
        __builtin_add_overflow(*reach, way, reach) || *reach > INT64_MAX / 4)
        fail(r, "an index is over 64 bits");
}

static PlanIndex plan_index(Run *r, const Affine *x, int64_t *reach)
{
    PlanTerm *terms = arena_new(r->tmp, PlanTerm, x->nterms);
    PlanIndex out = {.base = plan_size(r, x->base), .nterms = x->nterms, .terms = terms};
    add_reach(r, reach, out.base, 2);
    for (size_t i = 0; i < x->nterms; i++) {
        terms[i] = (PlanTerm){.var = x->terms[i].var, .coef = plan_size(r, x->terms[i].coef)};
        add_reach(r, reach, terms[i].coef, r->extents[terms[i].var]);
    }
    return out;
}

static const PlanExpr *plan_expr(Run *r, const Expr *e);

static PlanAccess plan_access(Run *r, const Access *x, int64_t *reach)
{
    PlanDyn *dyn = arena_new(r->tmp, PlanDyn, x->ndyn);
    PlanAccess out = {.memory = &r->memories[x->buffer], .ndyn = x->ndyn, .dyn = dyn};
    out.at = plan_index(r, &x->at, reach);
    for (size_t i = 0; i < x->ndyn; i++) {
        dyn[i].index = plan_expr(r, x->dyn[i].index);
        dyn[i].limit = plan_size(r, x->dyn[i].limit);
        dyn[i].stride = plan_size(r, x->dyn[i].stride);
        if (dyn[i].limit < 1)
            fail(r, "%.*s is read by number, but has %" PRId64 " rows", STR_ARG(out.memory->name),
                 dyn[i].limit);
        add_reach(r, reach, dyn[i].stride, dyn[i].limit);
    }
    return out;
}

static PlanBlock plan_block(Run *r, const Access *x, const int64_t stride[2],
                            const int64_t count[2])
{
    int64_t reach = 0;
    PlanBlock out = {.access = plan_access(r, x, &reach), .stride = {stride[0], stride[1]}};
    add_reach(r, &reach, stride[0], count[0]);
    add_reach(r, &reach, stride[1], count[1]);
    return out;
}

static const PlanExpr *plan_expr(Run *r, const Expr *e)
{
    PlanExpr *out = arena_new(r->tmp, PlanExpr, 1);
    int64_t reach = 0;
    out->kind = e->kind;
    switch (e->kind) {
    case EXPR_const: out->value = e->value; break;
    case EXPR_size: {
        int64_t size = plan_size(r, e->size);
        if (e->dtype == DT_i32 && (size < INT32_MIN || size > INT32_MAX))
            fail(r, "the size %" PRId64 " is over 32 bits", size);
        out->kind = EXPR_const;
        out->value = e->dtype == DT_bool ? size != 0 : (double)size;
        break;
    }
    case EXPR_index: out->index = plan_index(r, &e->index, &reach); break;
    case EXPR_load: out->access = plan_access(r, &e->access, &reach); break;
    case EXPR_value: out->id = e->id; break;
    case EXPR_map:
        out->fn = e->fn;
        out->nargs = e->nargs;
        out->dtype = e->args[e->nargs - 1]->dtype;
        for (size_t i = 0; i < e->nargs; i++)
            out->args[i] = plan_expr(r, e->args[i]);
        break;
    }
    return out;
}

static const PlanStmt *plan_body(Run *r, const Stmts *body, bool is_outer);

static void plan_loop(Run *r, PlanStmt *out, const Stmt *s, bool is_outer)
{
    out->extent = plan_size(r, s->extent);
    if (out->extent < 0)
        fail(r, "loop %.*s runs %" PRId64 " times", STR_ARG(r->k->var_names.items[s->var]),
             out->extent);
    r->extents[s->var] = out->extent;
    bool is_part = is_outer && s->tag == LOOP_parallel;
    out->body = plan_body(r, &s->body, is_part);
    out->begins_part = is_part && !stmts_parallel(&s->body);
    PlanReduction *reductions = arena_new(r->tmp, PlanReduction, s->reductions.n);
    for (size_t i = 0; i < s->reductions.n; i++) {
        reductions[i].reduction = &s->reductions.items[i];
        reductions[i].update = plan_expr(r, s->reductions.items[i].update);
    }
    out->nreductions = s->reductions.n;
    out->reductions = reductions;
}

static void plan_tile(Run *r, PlanStmt *out, const Tile *t)
{
    out->rows = t->rows_left ? plan_size(r, t->rows_left) : t->rows;
    if (out->rows < 1 || out->rows > t->rows)
        fail(r, "%" PRId64 " rows are left for a tile of %" PRId64, out->rows, t->rows);
    int64_t a_stride[2] = {plan_size(r, t->a_row), plan_size(r, t->a_k)};
    int64_t b_stride[2] = {plan_size(r, t->b_panel), plan_size(r, t->b_k)};
    int64_t c_stride[2] = {t->c_row, TILE_COLS};
    out->dst = plan_block(r, &t->c, c_stride, (int64_t[]){out->rows, t->panels});
    out->a = plan_block(r, &t->a, a_stride, (int64_t[]){out->rows, t->k});
    out->b = plan_block(r, &t->b, b_stride, (int64_t[]){t->panels, t->k});
}

static void plan_pack(Run *r, PlanStmt *out, const Pack *p)
{
    int64_t src_stride[2] = {plan_size(r, p->src_k), plan_size(r, p->src_col)};
    if (p->k > INT64_MAX / TILE_COLS) {
        fail(r, "a pack's k is over 64 bits");
        return;
    }
    int64_t panels = (p->cols - 1) / TILE_COLS + 1;
    int64_t dst_stride[2] = {p->k * TILE_COLS, TILE_COLS};
    out->dst = plan_block(r, &p->dst, dst_stride, (int64_t[]){panels, p->k});
    out->a = plan_block(r, &p->src, src_stride, (int64_t[]){p->k, p->cols});
}

static void plan_stmt(Run *r, PlanStmt *out, const Stmt *s, bool is_outer)
{
    int64_t reach = 0;
    out->stmt = s;
    out->nbody = s->body.n;
    switch (s->kind) {
    case STMT_loop: plan_loop(r, out, s, is_outer); break;
    case STMT_only: out->body = plan_body(r, &s->body, false); break;
    case STMT_let: out->expr = plan_expr(r, s->expr); break;
    case STMT_store:
        out->dst.access = plan_access(r, &s->target, &reach);
        out->expr = plan_expr(r, s->expr);
        break;
    case STMT_tile: plan_tile(r, out, &s->tile); break;
    case STMT_pack: plan_pack(r, out, &s->pack); break;
    }
}

static const PlanStmt *plan_body(Run *r, const Stmts *body, bool is_outer)
{
    PlanStmt *out = arena_new(r->tmp, PlanStmt, body->n);
    for (size_t i = 0; i < body->n; i++)
        plan_stmt(r, &out[i], body->items[i], is_outer && body->n == 1);
    return out;
}

// ---- elements -----------------------------------------------------------------------------------

static int64_t index_value(const Run *r, const PlanIndex *x)
{
    int64_t sum = x->base;
    for (size_t i = 0; i < x->nterms; i++)
        sum += x->terms[i].coef * r->vars[x->terms[i].var];
    return sum;
}

static double expr_value_of(Run *r, const PlanExpr *e);

static int64_t access_element(Run *r, const PlanAccess *x)
{
    int64_t element = index_value(r, &x->at);
    for (size_t i = 0; i < x->ndyn; i++) {
        int64_t row = (int64_t)expr_value_of(r, x->dyn[i].index);
        if (row < 0 || row >= x->dyn[i].limit) {
            *r->fault = 1;
            row = row < 0 ? 0 : x->dyn[i].limit - 1;
        }
        element += row * x->dyn[i].stride;
    }
    return element;
}

// Whether elements first … last lie in the buffer.
static bool is_inside(Run *r, const Memory *m, int64_t first, int64_t last)
{
    if (first >= 0 && last < m->count)
        return true;
    fail(r, "element %" PRId64 " of %.*s, which has %" PRId64, first < 0 ? first : last,
         STR_ARG(m->name), m->count);
    return false;
}

static bool is_defined(Run *r, const Memory *m, int64_t element)
{
    if (!m->owner || m->owner[element] == r->part)
        return true;
    fail(r, "element %" PRId64 " of %.*s is read, but part %" PRIu32 " did not store it", element,
         STR_ARG(m->name), r->part - 1);
    return false;
}

// Notes that this part stores the element, which lies in the buffer.
static void own(Run *r, const Memory *m, int64_t element)
{
    uint32_t *owner = &m->owner[element];
    if (!m->is_scratch && *owner != 0 && *owner != r->part)
        fail(r, "parts %" PRIu32 " and %" PRIu32 " store element %" PRId64 " of %.*s", *owner - 1,
             r->part - 1, element, STR_ARG(m->name));
    *owner = r->part;
}

static double load(Run *r, const PlanAccess *x)
{
    const Memory *m = x->memory;
    int64_t element = access_element(r, x);
    if (r->failed || !is_inside(r, m, element, element) || !is_defined(r, m, element))
        return 0;
    if (m->dtype == DT_f32)
        return ((const float *)m->data)[element];
    if (m->dtype == DT_i32)
        return ((const int32_t *)m->data)[element];
    return ((const uint8_t *)m->data)[element] != 0;
}

static void store(Run *r, const PlanAccess *x, double value)
{
    const Memory *m = x->memory;
    int64_t element = access_element(r, x);
    if (r->failed || !is_inside(r, m, element, element))
        return;
    own(r, m, element);
    if (m->dtype == DT_f32)
        ((float *)m->data)[element] = (float)value;
    else if (m->dtype == DT_i32)
        ((int32_t *)m->data)[element] = (int32_t)value;
    else
        ((uint8_t *)m->data)[element] = value != 0;
}

static double expr_value_of(Run *r, const PlanExpr *e)
{
    switch (e->kind) {
    case EXPR_const:
    case EXPR_size: return e->value;
    case EXPR_index: {
        int64_t index = index_value(r, &e->index);
        if (index < INT32_MIN || index > INT32_MAX)
            fail(r, "the index %" PRId64 " is over 32 bits", index);
        return (double)index;
    }
    case EXPR_load: return load(r, &e->access);
    case EXPR_value: return r->values[e->id];
    case EXPR_map: break;
    }
    double args[SCALAR_MAX_ARITY];
    for (size_t i = 0; i < e->nargs; i++)
        args[i] = expr_value_of(r, e->args[i]);
    return r->failed ? 0 : scalar_eval(e->fn, e->dtype, args);
}

// ---- blocks -------------------------------------------------------------------------------------

// The element at which a block of count[0] × count[1] runs of `width` elements begins, all of it in
// its buffer; -1 after a failure. `is_read`: all of it must have been stored.
static int64_t block_element(Run *r, const PlanBlock *b, const int64_t count[2], int64_t width,
                             bool is_read)
{
    const Memory *m = b->access.memory;
    int64_t begin = access_element(r, &b->access);
    int64_t first = begin;
    int64_t last = begin + width - 1;
    for (int i = 0; i < 2; i++) {
        int64_t way = (count[i] - 1) * b->stride[i];
        first += way < 0 ? way : 0;
        last += way < 0 ? 0 : way;
    }
    if (r->failed || !is_inside(r, m, first, last))
        return -1;
    if (!is_read || !m->owner)
        return begin;
    for (int64_t i = 0; i < count[0]; i++) {
        for (int64_t j = 0; j < count[1]; j++) {
            for (int64_t w = 0; w < width; w++) {
                if (!is_defined(r, m, begin + i * b->stride[0] + j * b->stride[1] + w))
                    return -1;
            }
        }
    }
    return begin;
}

static void run_tile(Run *r, const PlanStmt *s)
{
    const Tile *t = &s->stmt->tile;
    int64_t rows = s->rows;
    int64_t c0 = block_element(r, &s->dst, (int64_t[]){rows, t->panels}, TILE_COLS, t->accumulate);
    int64_t a0 = block_element(r, &s->a, (int64_t[]){rows, t->k}, 1, true);
    int64_t b0 = block_element(r, &s->b, (int64_t[]){t->panels, t->k}, TILE_COLS, true);
    if (r->failed)
        return;
    float *c = s->dst.access.memory->data;
    const float *a = s->a.access.memory->data;
    const float *b = s->b.access.memory->data;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t panel = 0; panel < t->panels; panel++) {
            int64_t at = c0 + row * t->c_row + panel * TILE_COLS;
            double sum[TILE_COLS];
            for (int64_t col = 0; col < TILE_COLS; col++)
                sum[col] = t->accumulate ? c[at + col] : 0;
            for (int64_t k = 0; k < t->k; k++) {
                double x = a[a0 + row * s->a.stride[0] + k * s->a.stride[1]];
                const float *y = &b[b0 + panel * s->b.stride[0] + k * s->b.stride[1]];
                for (int64_t col = 0; col < TILE_COLS; col++)
                    sum[col] += x * y[col];
            }
            for (int64_t col = 0; col < TILE_COLS; col++) {
                c[at + col] = (float)sum[col];
                own(r, s->dst.access.memory, at + col);
            }
        }
    }
}

static void run_pack(Run *r, const PlanStmt *s)
{
    const Pack *p = &s->stmt->pack;
    int64_t panels = (p->cols - 1) / TILE_COLS + 1;
    int64_t dst0 = block_element(r, &s->dst, (int64_t[]){panels, p->k}, TILE_COLS, false);
    int64_t src0 = block_element(r, &s->a, (int64_t[]){p->k, p->cols}, 1, true);
    if (r->failed)
        return;
    float *dst = s->dst.access.memory->data;
    const float *src = s->a.access.memory->data;
    for (int64_t k = 0; k < p->k; k++) {
        for (int64_t col = 0; col < panels * TILE_COLS; col++) {
            int64_t panel = col / TILE_COLS;
            int64_t at = dst0 + (panel * p->k + k) * TILE_COLS + col % TILE_COLS;
            dst[at] = col < p->cols ? src[src0 + k * s->a.stride[0] + col * s->a.stride[1]] : 0;
            own(r, s->dst.access.memory, at);
        }
    }
}

// ---- statements ---------------------------------------------------------------------------------

static void run_body(Run *r, const PlanStmt *body, size_t n);

static void run_loop(Run *r, const PlanStmt *s)
{
    for (size_t i = 0; i < s->nreductions; i++)
        r->values[s->reductions[i].reduction->id] = s->reductions[i].reduction->start;
    for (int64_t n = 0; n < s->extent && !r->failed; n++) {
        if (s->begins_part && r->part++ == UINT32_MAX)
            fail(r, "there are over 32 bits of parts");
        r->vars[s->stmt->var] = n;
        run_body(r, s->body, s->nbody);
        for (size_t i = 0; i < s->nreductions; i++) {
            const Reduction *reduction = s->reductions[i].reduction;
            double args[2] = {r->values[reduction->id], expr_value_of(r, s->reductions[i].update)};
            r->values[reduction->id] = scalar_eval(reduction->fn, reduction->update->dtype, args);
        }
    }
}

static void run_stmt(Run *r, const PlanStmt *s)
{
    switch (s->stmt->kind) {
    case STMT_loop: run_loop(r, s); break;
    case STMT_only:
        if (r->vars[s->stmt->var] == s->stmt->value)
            run_body(r, s->body, s->nbody);
        break;
    case STMT_let: r->values[s->stmt->id] = expr_value_of(r, s->expr); break;
    case STMT_store: store(r, &s->dst.access, expr_value_of(r, s->expr)); break;
    case STMT_tile: run_tile(r, s); break;
    case STMT_pack: run_pack(r, s); break;
    }
}

static void run_body(Run *r, const PlanStmt *body, size_t n)
{
    for (size_t i = 0; i < n && !r->failed; i++)
        run_stmt(r, &body[i]);
}

// ---- the kernel ---------------------------------------------------------------------------------

// Storage for `count` things; NULL after a failure.
static void *get_memory(Run *r, int64_t count, size_t bytes)
{
    void *out = NULL;
    if (count >= 0 && (uint64_t)count < SIZE_MAX / bytes)
        out = calloc((size_t)count + 1, bytes);
    if (!out)
        fail(r, "no memory for %" PRId64 " elements", count);
    return out;
}

static void open_memories(Run *r, void *const *operands, const int64_t *counts)
{
    for (size_t i = 0; i < r->k->buffers.n && !r->failed; i++) {
        const Buffer *b = &r->k->buffers.items[i];
        bool is_scratch = b->kind == BUFFER_scratch;
        Memory *m = &r->memories[i];
        *m = (Memory){.name = b->name, .dtype = b->dtype, .is_scratch = is_scratch};
        m->count = is_scratch ? b->count : counts[i];
        if (is_scratch || b->written)
            m->owner = get_memory(r, m->count, sizeof *m->owner);
        m->data = is_scratch ? get_memory(r, m->count, dtype_bytes(m->dtype)) : operands[i];
    }
}

static void close_memories(const Run *r)
{
    for (size_t i = 0; i < r->k->buffers.n; i++) {
        free(r->memories[i].owner);
        if (r->memories[i].is_scratch)
            free(r->memories[i].data);
    }
}

bool kernel_eval(const Kernel *k, const SizeBinding *symbols, size_t nsymbols,
                 void *const *operands, const int64_t *operand_counts, uint32_t *fault, Buf *why)
{
    Arena *tmp = arena_create();
    Str *names = arena_new(tmp, Str, nsymbols);
    for (size_t i = 0; i < nsymbols; i++)
        names[i] = symbols[i].name;
    if (!kernel_verify(k, names, nsymbols, why)) {
        arena_destroy(tmp);
        return false;
    }
    Run r = {.k = k, .tmp = tmp, .symbols = symbols, .nsymbols = nsymbols};
    r.fault = fault;
    r.why = why;
    r.extents = arena_new(tmp, int64_t, k->nvars);
    r.vars = arena_new(tmp, int64_t, k->nvars);
    r.values = arena_new(tmp, double, k->nvalues);
    r.memories = arena_new(tmp, Memory, k->buffers.n);
    open_memories(&r, operands, operand_counts);
    const PlanStmt *body = r.failed ? NULL : plan_body(&r, &k->body, true);
    r.part = stmts_parallel(&k->body) ? 0 : 1;
    if (!r.failed)
        run_body(&r, body, k->body.n);
    close_memories(&r);
    arena_destroy(tmp);
    return !r.failed;
}
