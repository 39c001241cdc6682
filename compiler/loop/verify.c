// Checks a kernel against the rules of loop.h: names and scopes, types, tags, and which sizes may
// stand where. What depends on sizes' values (whether accesses stay in their buffers) is left to
// the evaluator.
#include "loop/internal.h"

#include <inttypes.h>

typedef enum Presence { PRESENCE_none, PRESENCE_here, PRESENCE_gone } Presence;

typedef struct Check {
    const Kernel *k;
    const Str *symbols; // [nsymbols]
    size_t nsymbols;
    Buf *why;
    Presence *vars;   // [nvars]
    Presence *values; // [nvalues]
    DType *types;     // [nvalues] of those that are or were here
    Value *scope;     // [nvalues] those that are here, in order
    size_t nscope;
    bool *stored;      // [buffers]
    const Stmt *lanes; // the vector loop around, or NULL
} Check;

__attribute__((format(printf, 2, 3))) static bool fail(Check *c, const char *format, ...)
{
    buf_format(c->why, "kernel %.*s: ", STR_ARG(c->k->name));
    va_list args;
    va_start(args, format);
    buf_vformat(c->why, format, args);
    va_end(args);
    return false;
}

typedef struct Symbols {
    const Str *names; // [n]
    size_t n;
    Str unknown; // the first one that is not among them
} Symbols;

static void visit_symbol(void *ctx, Str name)
{
    Symbols *symbols = ctx;
    for (size_t i = 0; i < symbols->n; i++) {
        if (str_equal(symbols->names[i], name))
            return;
    }
    if (!symbols->unknown.ptr)
        symbols->unknown = name;
}

bool loop_check_size(const Size *size, const Str *symbols, size_t nsymbols, const char *what,
                     Buf *why)
{
    if (!size) {
        buf_format(why, "%s is missing or over 64 bits", what);
        return false;
    }
    Symbols known = {.names = symbols, .n = nsymbols};
    size_symbols(size, visit_symbol, &known);
    if (known.unknown.ptr) {
        buf_format(why, "%s uses %.*s, which is no symbol", what, STR_ARG(known.unknown));
        return false;
    }
    return true;
}

static bool check_size(Check *c, const Size *size, const char *what)
{
    Buf reason = {.arena = c->why->arena};
    if (loop_check_size(size, c->symbols, c->nsymbols, what, &reason))
        return true;
    return fail(c, "%.*s", STR_ARG(buf_str(&reason)));
}

static Str var_name(const Check *c, Var var) { return c->k->var_names.items[var]; }

static bool check_var(Check *c, Var var)
{
    if (var >= c->k->nvars)
        return fail(c, "there is no variable %" PRIu32, var);
    if (c->vars[var] != PRESENCE_here)
        return fail(c, "variable %.*s is used outside its loop", STR_ARG(var_name(c, var)));
    return true;
}

static bool check_affine(Check *c, const Affine *x)
{
    if (!check_size(c, x->base, "an index's base"))
        return false;
    for (size_t i = 0; i < x->nterms; i++) {
        if (!check_var(c, x->terms[i].var) ||
            !check_size(c, x->terms[i].coef, "an index's coefficient"))
            return false;
        if (size_is(x->terms[i].coef, 0))
            return fail(c, "an index has the coefficient 0");
        if (i > 0 && x->terms[i].var <= x->terms[i - 1].var)
            return fail(c, "an index's terms are not in order of their variables");
    }
    return true;
}

static bool check_expr(Check *c, const Expr *e);

// An access to a buffer of that type.
static bool check_access(Check *c, const Access *access, DType dtype)
{
    if (access->buffer >= c->k->buffers.n)
        return fail(c, "there is no buffer %" PRIu32, access->buffer);
    const Buffer *b = &c->k->buffers.items[access->buffer];
    if (b->dtype != dtype)
        return fail(c, "%.*s is %s, not %s", STR_ARG(b->name), dtype_name(b->dtype),
                    dtype_name(dtype));
    if (!check_affine(c, &access->at))
        return false;
    for (size_t i = 0; i < access->ndyn; i++) {
        const DynTerm *dyn = &access->dyn[i];
        if (!check_expr(c, dyn->index) || !check_size(c, dyn->limit, "a row's limit") ||
            !check_size(c, dyn->stride, "a row's stride"))
            return false;
        if (dyn->index->dtype != DT_i32)
            return fail(c, "the number of a row of %.*s is %s, not i32", STR_ARG(b->name),
                        dtype_name(dyn->index->dtype));
    }
    return true;
}

// An access that writes.
static bool check_target(Check *c, const Access *access, DType dtype)
{
    if (!check_access(c, access, dtype))
        return false;
    const Buffer *b = &c->k->buffers.items[access->buffer];
    if (b->kind == BUFFER_operand && !b->written)
        return fail(c, "%.*s is stored to, but is not an output", STR_ARG(b->name));
    c->stored[access->buffer] = true;
    return true;
}

static bool check_scratch_target(Check *c, const Access *access, const char *what)
{
    if (!check_target(c, access, DT_f32))
        return false;
    const Buffer *b = &c->k->buffers.items[access->buffer];
    if (b->kind != BUFFER_scratch)
        return fail(c, "%s goes to %.*s, which is no scratch", what, STR_ARG(b->name));
    return true;
}

static bool check_value(Check *c, const Expr *e)
{
    if (e->id >= c->k->nvalues)
        return fail(c, "there is no value %%%" PRIu32, e->id);
    if (c->values[e->id] == PRESENCE_none)
        return fail(c, "%%%" PRIu32 " is used before it is let", e->id);
    if (c->values[e->id] == PRESENCE_gone)
        return fail(c, "%%%" PRIu32 " is used outside its scope", e->id);
    if (c->types[e->id] != e->dtype)
        return fail(c, "%%%" PRIu32 " is %s, not %s", e->id, dtype_name(c->types[e->id]),
                    dtype_name(e->dtype));
    return true;
}

static bool check_map(Check *c, const Expr *e)
{
    DType types[SCALAR_MAX_ARITY] = {DT_f32};
    if (e->fn >= S_count || e->nargs != scalar_arity(e->fn) || e->nargs > SCALAR_MAX_ARITY)
        return fail(c, "a function has %zu operands", e->nargs);
    for (size_t i = 0; i < e->nargs; i++) {
        if (!check_expr(c, e->args[i]))
            return false;
        types[i] = e->args[i]->dtype;
    }
    DType result;
    if (!scalar_result(e->fn, types, &result))
        return fail(c, "%s does not take %s", scalar_name(e->fn), dtype_name(types[e->nargs - 1]));
    if (result != e->dtype)
        return fail(c, "%s gives %s, not %s", scalar_name(e->fn), dtype_name(result),
                    dtype_name(e->dtype));
    return true;
}

static bool check_expr(Check *c, const Expr *e)
{
    if (!e)
        return fail(c, "an expression is missing");
    if (!dtype_is_element(e->dtype))
        return fail(c, "an expression is %s", dtype_name(e->dtype));
    switch (e->kind) {
    case EXPR_const:
        return dtype_holds(e->dtype, e->value) ||
               fail(c, "%g is no %s", e->value, dtype_name(e->dtype));
    case EXPR_size: return check_size(c, e->size, "a size in an expression");
    case EXPR_index:
        return e->dtype == DT_i32 ? check_affine(c, &e->index)
                                  : fail(c, "an index is %s, not i32", dtype_name(e->dtype));
    case EXPR_load: return check_access(c, &e->access, e->dtype);
    case EXPR_value: return check_value(c, e);
    case EXPR_map: return check_map(c, e);
    }
    return fail(c, "an expression is of no kind");
}

// ---- statements ---------------------------------------------------------------------------------

static bool define_value(Check *c, Value id, DType dtype)
{
    if (id >= c->k->nvalues)
        return fail(c, "there is no value %%%" PRIu32, id);
    if (c->values[id] != PRESENCE_none)
        return fail(c, "%%%" PRIu32 " is let twice", id);
    c->values[id] = PRESENCE_here;
    c->types[id] = dtype;
    c->scope[c->nscope++] = id;
    return true;
}

// Ends the scopes of the values let since there were `n`.
static void leave_scope(Check *c, size_t n)
{
    while (c->nscope > n)
        c->values[c->scope[--c->nscope]] = PRESENCE_gone;
}

static bool is_reduction(Scalar fn)
{
    return fn == S_add || fn == S_mul || fn == S_min || fn == S_max || fn == S_and || fn == S_or;
}

static bool check_reduction(Check *c, const Reduction *r)
{
    if (!is_reduction(r->fn))
        return fail(c, "%%%" PRIu32 " is reduced by what reduces nothing", r->id);
    if (!check_expr(c, r->update))
        return false;
    DType dtype = r->update->dtype;
    DType result;
    if (!scalar_result(r->fn, (DType[]){dtype, dtype}, &result))
        return fail(c, "%s does not reduce %s", scalar_name(r->fn), dtype_name(dtype));
    if (!dtype_holds(dtype, r->start))
        return fail(c, "%%%" PRIu32 " starts from %g, which is no %s", r->id, r->start,
                    dtype_name(dtype));
    return true;
}

// What a loop's tag asks of it. `is_outer`: only parallel loops around it, and nothing beside it.
static bool check_tag(Check *c, const Stmt *s, bool is_outer)
{
    Str name = var_name(c, s->var);
    int64_t extent;
    bool is_fixed = size_is_int(s->extent, &extent);
    if (is_fixed && extent < 0)
        return fail(c, "loop %.*s runs %" PRId64 " times", STR_ARG(name), extent);
    switch (s->tag) {
    case LOOP_serial: return true;
    case LOOP_parallel:
        if (!is_outer)
            return fail(c, "parallel loop %.*s is not among the outermost", STR_ARG(name));
        return s->reductions.n == 0 || fail(c, "parallel loop %.*s reduces", STR_ARG(name));
    case LOOP_vector:
        for (size_t i = 0; i < s->body.n; i++) {
            StmtKind kind = s->body.items[i]->kind;
            if (kind != STMT_let && kind != STMT_store)
                return fail(c, "vector loop %.*s holds more than lets and stores", STR_ARG(name));
        }
        return is_fixed || fail(c, "vector loop %.*s has no fixed extent", STR_ARG(name));
    case LOOP_unroll:
        return is_fixed || fail(c, "unrolled loop %.*s has no fixed extent", STR_ARG(name));
    }
    return fail(c, "loop %.*s has no tag", STR_ARG(name));
}

static bool check_body(Check *c, const Stmts *body, bool is_outer);

static bool check_loop(Check *c, const Stmt *s, bool is_outer)
{
    if (s->var >= c->k->nvars)
        return fail(c, "there is no variable %" PRIu32, s->var);
    if (c->vars[s->var] != PRESENCE_none)
        return fail(c, "two loops have the variable %.*s", STR_ARG(var_name(c, s->var)));
    if (!check_size(c, s->extent, "a loop's extent") || !check_tag(c, s, is_outer))
        return false;
    size_t nscope = c->nscope;
    const Stmt *lanes = c->lanes;
    c->vars[s->var] = PRESENCE_here;
    if (s->tag == LOOP_vector)
        c->lanes = s;
    if (!check_body(c, &s->body, is_outer && s->tag == LOOP_parallel))
        return false;
    for (size_t i = 0; i < s->reductions.n; i++) {
        if (!check_reduction(c, &s->reductions.items[i]))
            return false;
    }
    c->lanes = lanes;
    c->vars[s->var] = PRESENCE_gone;
    leave_scope(c, nscope);
    for (size_t i = 0; i < s->reductions.n; i++) {
        if (!define_value(c, s->reductions.items[i].id, s->reductions.items[i].update->dtype))
            return false;
    }
    return true;
}

static bool check_only(Check *c, const Stmt *s)
{
    if (!check_var(c, s->var))
        return false;
    if (s->value < 0)
        return fail(c, "%.*s is never %" PRId64, STR_ARG(var_name(c, s->var)), s->value);
    size_t nscope = c->nscope;
    if (!check_body(c, &s->body, false))
        return false;
    leave_scope(c, nscope);
    return true;
}

static bool check_store(Check *c, const Stmt *s)
{
    if (!check_expr(c, s->expr) || !check_target(c, &s->target, s->expr->dtype))
        return false;
    int64_t extent = 0;
    if (!c->lanes || (size_is_int(c->lanes->extent, &extent) && extent <= 1) ||
        affine_coef(&s->target.at, c->lanes->var) || s->target.ndyn > 0)
        return true;
    return fail(c, "all lanes of vector loop %.*s store to one element",
                STR_ARG(var_name(c, c->lanes->var)));
}

static bool check_tile(Check *c, const Tile *t)
{
    if (!check_scratch_target(c, &t->c, "a tile's product") || !check_access(c, &t->a, DT_f32) ||
        !check_access(c, &t->b, DT_f32) || !check_size(c, t->a_row, "a tile's row stride of A") ||
        !check_size(c, t->a_k, "a tile's k stride of A") ||
        !check_size(c, t->b_panel, "a tile's panel stride of B") ||
        !check_size(c, t->b_k, "a tile's k stride of B"))
        return false;
    if (t->rows_left && !check_size(c, t->rows_left, "a tile's number of rows left"))
        return false;
    if (t->rows < 1 || t->panels < 1 || t->k < 1)
        return fail(c, "a tile has %" PRId64 " rows, %" PRId64 " panels and k %" PRId64, t->rows,
                    t->panels, t->k);
    if (t->c_row / TILE_COLS < t->panels)
        return fail(c, "a tile's rows of C lie %" PRId64 " apart, but have %" PRId64 " panels",
                    t->c_row, t->panels);
    if (t->c.buffer == t->a.buffer || t->c.buffer == t->b.buffer)
        return fail(c, "a tile's product goes to one of its factors");
    return true;
}

static bool check_pack(Check *c, const Pack *p)
{
    if (!check_scratch_target(c, &p->dst, "a pack") || !check_access(c, &p->src, DT_f32) ||
        !check_size(c, p->src_k, "a pack's k stride") ||
        !check_size(c, p->src_col, "a pack's column stride"))
        return false;
    if (p->k < 1 || p->cols < 1)
        return fail(c, "a pack has k %" PRId64 " and %" PRId64 " columns", p->k, p->cols);
    return p->dst.buffer != p->src.buffer || fail(c, "a pack goes to where it comes from");
}

static bool check_stmt(Check *c, const Stmt *s, bool is_outer)
{
    switch (s->kind) {
    case STMT_loop: return check_loop(c, s, is_outer);
    case STMT_only: return check_only(c, s);
    case STMT_let: return check_expr(c, s->expr) && define_value(c, s->id, s->expr->dtype);
    case STMT_store: return check_store(c, s);
    case STMT_tile: return check_tile(c, &s->tile);
    case STMT_pack: return check_pack(c, &s->pack);
    }
    return fail(c, "a statement is of no kind");
}

static bool check_body(Check *c, const Stmts *body, bool is_outer)
{
    for (size_t i = 0; i < body->n; i++) {
        if (!check_stmt(c, body->items[i], is_outer && body->n == 1))
            return false;
    }
    return true;
}

// ---- the kernel as a whole ----------------------------------------------------------------------

static bool check_buffers(Check *c)
{
    const Kernel *k = c->k;
    if (k->noperands > k->buffers.n)
        return fail(c, "there are %zu buffers for %zu operands", k->buffers.n, k->noperands);
    for (size_t i = 0; i < k->buffers.n; i++) {
        const Buffer *b = &k->buffers.items[i];
        if (b->kind != (i < k->noperands ? BUFFER_operand : BUFFER_scratch))
            return fail(c, "%.*s stands among the wrong buffers", STR_ARG(b->name));
        if (!dtype_is_element(b->dtype))
            return fail(c, "%.*s is %s", STR_ARG(b->name), dtype_name(b->dtype));
        if (b->kind == BUFFER_scratch && b->count < 1)
            return fail(c, "scratch %.*s has %" PRId64 " elements", STR_ARG(b->name), b->count);
    }
    if (kernel_scratch_bytes(k) == INT64_MAX)
        return fail(c, "the scratch is over 64 bits");
    return true;
}

static bool check_kernel(Check *c)
{
    const Kernel *k = c->k;
    if (!str_is_identifier(k->name))
        return fail(c, "the name is no C identifier");
    if (k->var_names.n != k->nvars)
        return fail(c, "there are %zu names for %" PRIu32 " variables", k->var_names.n, k->nvars);
    if (!check_buffers(c) || !check_body(c, &k->body, true))
        return false;
    if (!kernel_parts(k))
        return fail(c, "the number of parts is over 64 bits");
    for (size_t i = 0; i < k->noperands; i++) {
        if (k->buffers.items[i].written && !c->stored[i])
            return fail(c, "output %.*s is never stored to", STR_ARG(k->buffers.items[i].name));
    }
    return true;
}

bool kernel_verify(const Kernel *k, const Str *symbols, size_t nsymbols, Buf *why)
{
    Arena *tmp = arena_create();
    Check c = {.k = k, .symbols = symbols, .nsymbols = nsymbols, .why = why};
    c.vars = arena_new(tmp, Presence, k->nvars);
    c.values = arena_new(tmp, Presence, k->nvalues);
    c.types = arena_new(tmp, DType, k->nvalues);
    c.scope = arena_new(tmp, Value, k->nvalues);
    c.stored = arena_new(tmp, bool, k->buffers.n);
    bool ok = check_kernel(&c);
    arena_destroy(tmp);
    return ok;
}
