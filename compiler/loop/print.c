// The text forms of kernels and programs. Every field is shown, and each form can be read in one
// way only:
//
//   size       as base/size.h prints it
//   affine     terms, then the base: `49152 b + 2304 t + 16`. A coefficient stands before its
//              variable, 1 is left out; a coefficient or base that is no number stands in
//              parentheses, `(seq) b + (2 * seq)`: a bare name is a variable
//   access     x[affine], x[affine + row(expr; limit; stride)] with a row found at run time
//   expr       1.5 (f32), 3 (i32), true, size f32 (seq), index[affine], load access, %3,
//              add(expr, expr)
//   statement  parallel|serial|vector|unroll VAR in SIZE { … }     only VAR == 3 { … }
//              let %3 = expr      store access = expr
//              reduce %3 = add from 0.0 by expr      last in the body of its loop
//              tile c[affine; row] = a[affine; row, k] * b[affine; panel, k] rows 6 panels 3 k 768
//              (`+=` accumulates; `left SIZE` after the rows: that many at run time)
//              pack c[affine] = x[affine; k, column] k 64 cols 128
//   kernel     kernel NAME(x f32, y f32 out) scratch c f32[96] { … }
//
// A size over 64 bits, which no verified kernel has, shows as `?`.
#include "loop/program.h"

#include <inttypes.h>
#include <math.h>

typedef struct Printer {
    Buf *buf;
    const Kernel *k;
    int depth; // of indentation
} Printer;

// As a factor, or where a bare name would be a variable.
static void print_factor(Buf *buf, const Size *size)
{
    if (size && size_is_int(size, NULL)) {
        size_print(buf, size);
        return;
    }
    buf_char(buf, '(');
    size_print(buf, size);
    buf_char(buf, ')');
}

static void print_var(const Printer *p, Var var)
{
    if (var < p->k->var_names.n)
        buf_add(p->buf, p->k->var_names.items[var]);
    else
        buf_format(p->buf, "?%" PRIu32, var);
}

static void print_affine(const Printer *p, const Affine *x)
{
    for (size_t i = 0; i < x->nterms; i++) {
        if (i > 0)
            buf_add(p->buf, STR(" + "));
        if (!x->terms[i].coef || !size_is(x->terms[i].coef, 1)) {
            print_factor(p->buf, x->terms[i].coef);
            buf_char(p->buf, ' ');
        }
        print_var(p, x->terms[i].var);
    }
    if (x->nterms > 0 && x->base && size_is(x->base, 0))
        return;
    if (x->nterms > 0)
        buf_add(p->buf, STR(" + "));
    print_factor(p->buf, x->base);
}

static void print_expr(const Printer *p, const Expr *e);

// `x[…` up to where the bracket closes.
static void print_access_open(const Printer *p, const Access *access)
{
    if (access->buffer < p->k->buffers.n)
        buf_add(p->buf, p->k->buffers.items[access->buffer].name);
    else
        buf_format(p->buf, "?%" PRIu32, access->buffer);
    buf_char(p->buf, '[');
    print_affine(p, &access->at);
    for (size_t i = 0; i < access->ndyn; i++) {
        const DynTerm *dyn = &access->dyn[i];
        buf_add(p->buf, STR(" + row("));
        print_expr(p, dyn->index);
        buf_add(p->buf, STR("; "));
        size_print(p->buf, dyn->limit);
        buf_add(p->buf, STR("; "));
        size_print(p->buf, dyn->stride);
        buf_char(p->buf, ')');
    }
}

static void print_access(const Printer *p, const Access *access)
{
    print_access_open(p, access);
    buf_char(p->buf, ']');
}

// x[…; first, second]
static void print_block(const Printer *p, const Access *access, const Size *first,
                        const Size *second)
{
    print_access_open(p, access);
    buf_add(p->buf, STR("; "));
    size_print(p->buf, first);
    buf_add(p->buf, STR(", "));
    size_print(p->buf, second);
    buf_char(p->buf, ']');
}

static void print_value(Buf *buf, DType dtype, double value)
{
    if (dtype == DT_bool && (value == 0 || value == 1))
        buf_add(buf, value != 0 ? STR("true") : STR("false"));
    else if (dtype == DT_i32 && value == trunc(value) && fabs(value) < 1e15)
        buf_format(buf, "%" PRId64, (int64_t)value);
    else
        buf_double(buf, value);
}

static void print_expr(const Printer *p, const Expr *e)
{
    switch (e->kind) {
    case EXPR_const: print_value(p->buf, e->dtype, e->value); return;
    case EXPR_size:
        buf_format(p->buf, "size %s (", dtype_name(e->dtype));
        size_print(p->buf, e->size);
        buf_char(p->buf, ')');
        return;
    case EXPR_index:
        buf_add(p->buf, STR("index["));
        print_affine(p, &e->index);
        buf_char(p->buf, ']');
        return;
    case EXPR_load:
        buf_add(p->buf, STR("load "));
        print_access(p, &e->access);
        return;
    case EXPR_value: buf_format(p->buf, "%%%" PRIu32, e->id); return;
    case EXPR_map:
        buf_format(p->buf, "%s(", scalar_name(e->fn));
        for (size_t i = 0; i < e->nargs; i++) {
            if (i > 0)
                buf_add(p->buf, STR(", "));
            print_expr(p, e->args[i]);
        }
        buf_char(p->buf, ')');
        return;
    }
}

static void print_tile(const Printer *p, const Tile *tile)
{
    buf_add(p->buf, STR("tile "));
    print_access_open(p, &tile->c);
    buf_format(p->buf, "; %" PRId64 "] %s ", tile->c_row, tile->accumulate ? "+=" : "=");
    print_block(p, &tile->a, tile->a_row, tile->a_k);
    buf_add(p->buf, STR(" * "));
    print_block(p, &tile->b, tile->b_panel, tile->b_k);
    buf_format(p->buf, " rows %" PRId64, tile->rows);
    if (tile->rows_left) {
        buf_add(p->buf, STR(" left "));
        size_print(p->buf, tile->rows_left);
    }
    buf_format(p->buf, " panels %" PRId64 " k %" PRId64, tile->panels, tile->k);
}

static void print_pack(const Printer *p, const Pack *pack)
{
    buf_add(p->buf, STR("pack "));
    print_access(p, &pack->dst);
    buf_add(p->buf, STR(" = "));
    print_block(p, &pack->src, pack->src_k, pack->src_col);
    buf_format(p->buf, " k %" PRId64 " cols %" PRId64, pack->k, pack->cols);
}

static void indent(const Printer *p)
{
    for (int i = 0; i < p->depth; i++)
        buf_add(p->buf, STR("  "));
}

static const char *tag_name(LoopTag tag)
{
    switch (tag) {
    case LOOP_serial: return "serial";
    case LOOP_parallel: return "parallel";
    case LOOP_vector: return "vector";
    case LOOP_unroll: return "unroll";
    }
    return "?";
}

static void print_reductions(const Printer *p, const Stmt *loop)
{
    for (size_t i = 0; i < loop->reductions.n; i++) {
        const Reduction *r = &loop->reductions.items[i];
        indent(p);
        buf_format(p->buf, "reduce %%%" PRIu32 " = %s from ", r->id, scalar_name(r->fn));
        print_value(p->buf, r->update->dtype, r->start);
        buf_add(p->buf, STR(" by "));
        print_expr(p, r->update);
        buf_char(p->buf, '\n');
    }
}

static void print_stmt(Printer *p, const Stmt *s);

// From the brace that opens to the one that closes; `loop`: whose reductions end the body.
static void print_body(Printer *p, const Stmts *body, const Stmt *loop)
{
    buf_add(p->buf, STR(" {\n"));
    p->depth++;
    for (size_t i = 0; i < body->n; i++)
        print_stmt(p, body->items[i]);
    if (loop)
        print_reductions(p, loop);
    p->depth--;
    indent(p);
    buf_char(p->buf, '}');
}

static void print_stmt(Printer *p, const Stmt *s)
{
    indent(p);
    switch (s->kind) {
    case STMT_loop:
        buf_format(p->buf, "%s ", tag_name(s->tag));
        print_var(p, s->var);
        buf_add(p->buf, STR(" in "));
        size_print(p->buf, s->extent);
        print_body(p, &s->body, s);
        break;
    case STMT_only:
        buf_add(p->buf, STR("only "));
        print_var(p, s->var);
        buf_format(p->buf, " == %" PRId64, s->value);
        print_body(p, &s->body, NULL);
        break;
    case STMT_let:
        buf_format(p->buf, "let %%%" PRIu32 " = ", s->id);
        print_expr(p, s->expr);
        break;
    case STMT_store:
        buf_add(p->buf, STR("store "));
        print_access(p, &s->target);
        buf_add(p->buf, STR(" = "));
        print_expr(p, s->expr);
        break;
    case STMT_tile: print_tile(p, &s->tile); break;
    case STMT_pack: print_pack(p, &s->pack); break;
    }
    buf_char(p->buf, '\n');
}

static void print_kernel(Buf *buf, const Kernel *k, int depth)
{
    Printer p = {.buf = buf, .k = k, .depth = depth};
    indent(&p);
    buf_format(buf, "kernel %.*s(", STR_ARG(k->name));
    for (size_t i = 0; i < k->noperands && i < k->buffers.n; i++) {
        const Buffer *b = &k->buffers.items[i];
        buf_format(buf, "%s%.*s %s%s", i > 0 ? ", " : "", STR_ARG(b->name), dtype_name(b->dtype),
                   b->written ? " out" : "");
    }
    buf_char(buf, ')');
    for (size_t i = k->noperands; i < k->buffers.n; i++) {
        const Buffer *b = &k->buffers.items[i];
        buf_format(buf, "%s%.*s %s[%" PRId64 "]", i > k->noperands ? ", " : " scratch ",
                   STR_ARG(b->name), dtype_name(b->dtype), b->count);
    }
    print_body(&p, &k->body, NULL);
    buf_char(buf, '\n');
}

void kernel_print(Buf *buf, const Kernel *k) { print_kernel(buf, k, 0); }

// ---- programs -----------------------------------------------------------------------------------

// `"ids" i32[batch, seq]`
static void print_named_shape(Buf *buf, Str name, DType dtype, const Size *const *shape,
                              size_t rank)
{
    buf_quoted(buf, name);
    buf_format(buf, " %s[", dtype_name(dtype));
    for (size_t i = 0; i < rank; i++) {
        if (i > 0)
            buf_add(buf, STR(", "));
        size_print(buf, shape[i]);
    }
    buf_char(buf, ']');
}

static void print_io(Buf *buf, const char *kind, size_t index, const ProgramIo *io)
{
    buf_format(buf, "  %s %zu ", kind, index);
    print_named_shape(buf, io->name, io->dtype, io->shape, io->rank);
    if (io->has_range)
        buf_format(buf, " in %" PRId64 " .. %" PRId64, io->low, io->high);
    if (io->has_default) {
        buf_add(buf, STR(" = "));
        print_value(buf, io->dtype, io->value);
    }
    if (io->has_slot)
        buf_format(buf, " slot %" PRIu32, io->slot);
    buf_char(buf, '\n');
}

static void print_constant(Buf *buf, size_t index, const Constant *c)
{
    buf_format(buf, "  constant %zu ", index);
    buf_quoted(buf, c->name);
    buf_format(buf, " %s[", dtype_name(c->dtype));
    for (size_t i = 0; i < c->rank; i++)
        buf_format(buf, "%s%" PRId64, i > 0 ? ", " : "", c->shape[i]);
    buf_format(buf, "] %.*s", STR_ARG(c->layout));
    if (c->bytes > 0)
        buf_format(buf, " at %" PRIu64 " bytes %" PRIu64 " hash 0x%016" PRIx64, c->offset, c->bytes,
                   c->hash);
    buf_char(buf, '\n');
}

static void print_arena_buffer(Buf *buf, size_t index, const ArenaBuffer *b)
{
    buf_format(buf, "  buffer %zu ", index);
    print_named_shape(buf, b->name, b->dtype, &b->count, 1);
    if (b->is_slot)
        buf_add(buf, STR(" slot"));
    if (b->offset) {
        buf_add(buf, STR(" at "));
        size_print(buf, b->offset);
    }
    buf_char(buf, '\n');
}

static const char *operand_kind_name(OperandKind kind)
{
    switch (kind) {
    case OPERAND_input: return "input";
    case OPERAND_output: return "output";
    case OPERAND_buffer: return "buffer";
    case OPERAND_constant: return "constant";
    }
    return "?";
}

static void print_step(Buf *buf, const Program *p, const Step *step)
{
    buf_add(buf, STR("  step "));
    buf_quoted(buf, step->name);
    if (step->kernel < p->kernels.n)
        buf_format(buf, " = %.*s(", STR_ARG(p->kernels.items[step->kernel]->name));
    else
        buf_format(buf, " = ?%" PRIu32 "(", step->kernel);
    for (size_t i = 0; i < step->noperands; i++)
        buf_format(buf, "%s%s %" PRIu32, i > 0 ? ", " : "",
                   operand_kind_name(step->operands[i].kind), step->operands[i].index);
    buf_add(buf, STR(")\n"));
}

static void print_heading(Buf *buf, const Program *p)
{
    buf_add(buf, STR("program "));
    buf_quoted(buf, p->name);
    buf_char(buf, '(');
    for (size_t i = 0; i < p->symbols.n; i++) {
        const ProgramSymbol *s = &p->symbols.items[i];
        buf_format(buf, "%s%.*s", i > 0 ? ", " : "", STR_ARG(s->name));
        if (s->high != SIZE_INF)
            buf_format(buf, " in %" PRId64 " .. %" PRId64, s->low, s->high);
        else if (s->low != 1)
            buf_format(buf, " in %" PRId64 " ..", s->low);
    }
    buf_add(buf, STR(") {\n"));
    for (size_t i = 0; i < p->checks.n; i++) {
        const ProgramCheck *c = &p->checks.items[i];
        buf_add(buf, STR("  check "));
        size_print(buf, c->left);
        buf_format(buf, " %s ", size_op_text(c->op));
        size_print(buf, c->right);
        buf_add(buf, STR(", "));
        buf_quoted(buf, c->text);
        buf_char(buf, '\n');
    }
}

void program_print(Buf *buf, const Program *p)
{
    print_heading(buf, p);
    for (size_t i = 0; i < p->inputs.n; i++)
        print_io(buf, "input", i, &p->inputs.items[i]);
    for (size_t i = 0; i < p->outputs.n; i++)
        print_io(buf, "output", i, &p->outputs.items[i]);
    for (size_t i = 0; i < p->constants.n; i++)
        print_constant(buf, i, &p->constants.items[i]);
    for (size_t i = 0; i < p->buffers.n; i++)
        print_arena_buffer(buf, i, &p->buffers.items[i]);
    if (p->arena_bytes) {
        buf_add(buf, STR("  arena "));
        size_print(buf, p->arena_bytes);
        buf_char(buf, '\n');
    }
    for (size_t i = 0; i < p->kernels.n; i++)
        print_kernel(buf, p->kernels.items[i], 1);
    for (size_t i = 0; i < p->steps.n; i++)
        print_step(buf, p, &p->steps.items[i]);
    buf_add(buf, STR("}\n"));
}
