// Building kernels: buffers, variables and values are numbered as they come; affines stay sorted by
// variable and free of zero coefficients; statements are appended to the body they are given. A
// size over 64 bits is NULL here as in base/size.h and is carried along: kernel_verify reports it.
#include "base/diag.h"
#include "loop/program.h"

Kernel *kernel_create(Arena *arena, Str name)
{
    Kernel *k = arena_new(arena, Kernel, 1);
    k->arena = arena;
    k->buffers_named.arena = arena;
    k->vars_named.arena = arena;
    k->name = name;
    return k;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static bool ends_in_digit(Str s) { return s.ptr[s.len - 1] >= '0' && s.ptr[s.len - 1] <= '9'; }

static void take_name(Map *names, Str name)
{
    unsigned *next = arena_new(names->arena, unsigned, 1);
    *next = 2;
    map_put(names, name, next);
}

// A word made of `name`, and if that is taken, word2, word3, …: text forms tell things apart by it.
static Str unique_name(Map *names, Str name)
{
    Arena *a = names->arena;
    bool is_word = name.len > 0 && is_name_char(name.ptr[0]) && name.ptr[0] > '9';
    Buf buf = {.arena = a};
    if (!is_word)
        buf_char(&buf, '_');
    for (size_t i = 0; i < name.len; i++)
        buf_char(&buf, is_name_char(name.ptr[i]) ? name.ptr[i] : '_');
    Str word = buf_str(&buf);
    Str out = word;
    unsigned *next = map_get(names, word);
    while (map_has(names, out))
        out = str_format(a, "%.*s%s%u", STR_ARG(word), ends_in_digit(word) ? "_" : "", (*next)++);
    take_name(names, out);
    return out;
}

static uint32_t add_buffer(Kernel *k, Buffer buffer)
{
    buffer.name = unique_name(&k->buffers_named, buffer.name);
    vec_push(k->arena, &k->buffers, buffer);
    return (uint32_t)(k->buffers.n - 1);
}

uint32_t kernel_add_operand(Kernel *k, Str name, DType dtype, bool written)
{
    if (k->noperands != k->buffers.n)
        die("kernel %.*s: operand %.*s after scratch", STR_ARG(k->name), STR_ARG(name));
    k->noperands++;
    Buffer buffer = {.kind = BUFFER_operand, .name = name, .dtype = dtype, .written = written};
    return add_buffer(k, buffer);
}

uint32_t kernel_add_scratch(Kernel *k, Str name, DType dtype, int64_t count)
{
    Buffer buffer = {.kind = BUFFER_scratch, .name = name, .dtype = dtype, .count = count};
    return add_buffer(k, buffer);
}

Var kernel_add_var(Kernel *k, const char *name)
{
    Str unique = unique_name(&k->vars_named, str_from(name));
    vec_push(k->arena, &k->var_names, unique);
    return k->nvars++;
}

Value kernel_add_value(Kernel *k) { return k->nvalues++; }

// ---- affines ------------------------------------------------------------------------------------

Affine affine_size(const Size *base) { return (Affine){.base = base}; }

Affine affine_int(Arena *a, int64_t base) { return affine_size(size_int(a, base)); }

Affine affine_var(Arena *a, Var var, const Size *coef)
{
    Affine out = affine_int(a, 0);
    if (coef && size_is(coef, 0))
        return out;
    AffineTerm *term = arena_new(a, AffineTerm, 1);
    *term = (AffineTerm){.var = var, .coef = coef};
    out.nterms = 1;
    out.terms = term;
    return out;
}

Affine affine_add(Arena *a, Affine x, Affine y)
{
    Affine out = {.base = size_add(a, x.base, y.base)};
    if (x.nterms + y.nterms == 0)
        return out;
    AffineTerm *terms = arena_new(a, AffineTerm, x.nterms + y.nterms);
    size_t i = 0;
    size_t j = 0;
    while (i < x.nterms || j < y.nterms) {
        AffineTerm term;
        if (j == y.nterms || (i < x.nterms && x.terms[i].var < y.terms[j].var)) {
            term = x.terms[i++];
        } else if (i == x.nterms || y.terms[j].var < x.terms[i].var) {
            term = y.terms[j++];
        } else {
            term.var = x.terms[i].var;
            term.coef = size_add(a, x.terms[i++].coef, y.terms[j++].coef);
        }
        if (!term.coef || !size_is(term.coef, 0))
            terms[out.nterms++] = term;
    }
    out.terms = terms;
    return out;
}

Affine affine_scale(Arena *a, Affine x, const Size *k)
{
    Affine out = {.base = size_mul(a, x.base, k)};
    if (x.nterms == 0 || (k && size_is(k, 0)))
        return out;
    AffineTerm *terms = arena_new(a, AffineTerm, x.nterms);
    for (size_t i = 0; i < x.nterms; i++)
        terms[i] = (AffineTerm){.var = x.terms[i].var, .coef = size_mul(a, x.terms[i].coef, k)};
    out.nterms = x.nterms;
    out.terms = terms;
    return out;
}

const Size *affine_coef(const Affine *x, Var var)
{
    for (size_t i = 0; i < x->nterms; i++) {
        if (x->terms[i].var == var)
            return x->terms[i].coef;
    }
    return NULL;
}

// ---- expressions --------------------------------------------------------------------------------

static Expr *new_expr(Arena *a, ExprKind kind, DType dtype)
{
    Expr *e = arena_new(a, Expr, 1);
    e->kind = kind;
    e->dtype = dtype;
    return e;
}

const Expr *expr_const(Arena *a, DType dtype, double value)
{
    Expr *e = new_expr(a, EXPR_const, dtype);
    e->value = value;
    return e;
}

const Expr *expr_size(Arena *a, DType dtype, const Size *size)
{
    Expr *e = new_expr(a, EXPR_size, dtype);
    e->size = size;
    return e;
}

const Expr *expr_index(Arena *a, Affine index)
{
    Expr *e = new_expr(a, EXPR_index, DT_i32);
    e->index = index;
    return e;
}

const Expr *expr_load(Arena *a, const Kernel *k, Access access)
{
    if (access.buffer >= k->buffers.n)
        die("kernel %.*s: no buffer %u", STR_ARG(k->name), access.buffer);
    Expr *e = new_expr(a, EXPR_load, k->buffers.items[access.buffer].dtype);
    e->access = access;
    return e;
}

const Expr *expr_value(Arena *a, DType dtype, Value id)
{
    Expr *e = new_expr(a, EXPR_value, dtype);
    e->id = id;
    return e;
}

const Expr *expr_map(Arena *a, Scalar fn, const Expr *const *args, size_t nargs)
{
    DType types[3] = {DT_f32};
    if (nargs != scalar_arity(fn) || nargs > sizeof types / sizeof *types)
        die("%s of %zu operands", scalar_name(fn), nargs);
    const Expr **copy = arena_new(a, const Expr *, nargs);
    for (size_t i = 0; i < nargs; i++) {
        copy[i] = args[i];
        types[i] = args[i]->dtype;
    }
    Expr *e = new_expr(a, EXPR_map, DT_f32);
    if (!scalar_result(fn, types, &e->dtype))
        die("%s does not take %s", scalar_name(fn), dtype_name(types[nargs - 1]));
    e->fn = fn;
    e->nargs = nargs;
    e->args = copy;
    return e;
}

bool expr_uses_var(const Expr *e, Var var)
{
    if (affine_coef(&e->index, var) || affine_coef(&e->access.at, var))
        return true;
    for (size_t i = 0; i < e->access.ndyn; i++) {
        if (expr_uses_var(e->access.dyn[i].index, var))
            return true;
    }
    for (size_t i = 0; i < e->nargs; i++) {
        if (expr_uses_var(e->args[i], var))
            return true;
    }
    return false;
}

// ---- statements ---------------------------------------------------------------------------------

static Stmt *add_stmt(Arena *a, Stmts *to, StmtKind kind)
{
    Stmt *s = arena_new(a, Stmt, 1);
    s->kind = kind;
    vec_push(a, to, s);
    return s;
}

Stmt *stmt_loop(Arena *a, Stmts *to, LoopTag tag, Var var, const Size *extent)
{
    Stmt *s = add_stmt(a, to, STMT_loop);
    s->tag = tag;
    s->var = var;
    s->extent = extent;
    return s;
}

Stmt *stmt_only(Arena *a, Stmts *to, Var var, int64_t value)
{
    Stmt *s = add_stmt(a, to, STMT_only);
    s->var = var;
    s->value = value;
    return s;
}

void stmt_let(Arena *a, Stmts *to, Value id, const Expr *expr)
{
    Stmt *s = add_stmt(a, to, STMT_let);
    s->id = id;
    s->expr = expr;
}

void stmt_store(Arena *a, Stmts *to, Access target, const Expr *expr)
{
    Stmt *s = add_stmt(a, to, STMT_store);
    s->target = target;
    s->expr = expr;
}

Stmt *stmt_tile(Arena *a, Stmts *to, const Tile *tile)
{
    Stmt *s = add_stmt(a, to, STMT_tile);
    s->tile = *tile;
    return s;
}

Stmt *stmt_pack(Arena *a, Stmts *to, const Pack *pack)
{
    Stmt *s = add_stmt(a, to, STMT_pack);
    s->pack = *pack;
    return s;
}

void stmt_reduce(Arena *a, Stmt *loop, Value id, Scalar fn, double start, const Expr *update)
{
    Reduction reduction = {.id = id, .fn = fn, .start = start, .update = update};
    vec_push(a, &loop->reductions, reduction);
}

// ---- the kernel as a whole ----------------------------------------------------------------------

const Stmt *stmts_parallel(const Stmts *body)
{
    const Stmt *s = body->n == 1 ? body->items[0] : NULL;
    return s && s->kind == STMT_loop && s->tag == LOOP_parallel ? s : NULL;
}

const Size *kernel_parts(const Kernel *k)
{
    const Size *parts = size_int(k->arena, 1);
    for (const Stmt *s = stmts_parallel(&k->body); s; s = stmts_parallel(&s->body))
        parts = size_mul(k->arena, parts, s->extent);
    return parts;
}

int64_t kernel_scratch_offset(const Kernel *k, uint32_t buffer)
{
    int64_t end = 0;
    for (size_t i = k->noperands; i < buffer; i++) {
        const Buffer *b = &k->buffers.items[i];
        int64_t bytes;
        if (__builtin_mul_overflow(b->count, (int64_t)dtype_bytes(b->dtype), &bytes) ||
            __builtin_add_overflow(bytes, LOOP_ALIGN - 1, &bytes) ||
            __builtin_add_overflow(bytes / LOOP_ALIGN * LOOP_ALIGN, end, &end))
            return INT64_MAX;
    }
    return end;
}

int64_t kernel_scratch_bytes(const Kernel *k)
{
    if (k->buffers.n == k->noperands)
        return 0;
    int64_t end = kernel_scratch_offset(k, (uint32_t)k->buffers.n);
    return end > INT64_MAX - LOOP_ALIGN ? INT64_MAX : end + LOOP_ALIGN;
}

Program *program_create(Arena *arena, Str name)
{
    Program *p = arena_new(arena, Program, 1);
    p->arena = arena;
    p->name = name;
    return p;
}
