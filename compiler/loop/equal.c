// Equality and hashes of kernels, up to names. Variables and values are compared by their numbers,
// which builders give in order; so kernels that were built alike are equal.
#include "loop/program.h"

#include <string.h>

// ---- equality -----------------------------------------------------------------------------------

static bool same_size(const Size *x, const Size *y)
{
    return x == y || (x && y && size_equal(x, y));
}

// Numbers are compared by their bits: NaN equals NaN, and 0 does not equal -0.
static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool affine_equal(const Affine *x, const Affine *y)
{
    if (x->nterms != y->nterms || !same_size(x->base, y->base))
        return false;
    for (size_t i = 0; i < x->nterms; i++) {
        if (x->terms[i].var != y->terms[i].var || !same_size(x->terms[i].coef, y->terms[i].coef))
            return false;
    }
    return true;
}

static bool same_access(const Access *x, const Access *y)
{
    if (x->buffer != y->buffer || x->ndyn != y->ndyn || !affine_equal(&x->at, &y->at))
        return false;
    for (size_t i = 0; i < x->ndyn; i++) {
        const DynTerm *p = &x->dyn[i];
        const DynTerm *q = &y->dyn[i];
        if (!same_size(p->limit, q->limit) || !same_size(p->stride, q->stride) ||
            !expr_equal(p->index, q->index))
            return false;
    }
    return true;
}

bool expr_equal(const Expr *x, const Expr *y)
{
    if (x == y)
        return true;
    if (!x || !y || x->kind != y->kind || x->dtype != y->dtype)
        return false;
    switch (x->kind) {
    case EXPR_const: return bits_of(x->value) == bits_of(y->value);
    case EXPR_size: return same_size(x->size, y->size);
    case EXPR_index: return affine_equal(&x->index, &y->index);
    case EXPR_load: return same_access(&x->access, &y->access);
    case EXPR_value: return x->id == y->id;
    case EXPR_map: break;
    }
    if (x->fn != y->fn || x->nargs != y->nargs)
        return false;
    for (size_t i = 0; i < x->nargs; i++) {
        if (!expr_equal(x->args[i], y->args[i]))
            return false;
    }
    return true;
}

static bool same_tile(const Tile *x, const Tile *y)
{
    return x->c_row == y->c_row && x->rows == y->rows && x->panels == y->panels && x->k == y->k &&
           x->accumulate == y->accumulate && same_size(x->a_row, y->a_row) &&
           same_size(x->a_k, y->a_k) && same_size(x->b_panel, y->b_panel) &&
           same_size(x->b_k, y->b_k) && same_size(x->rows_left, y->rows_left) &&
           same_access(&x->c, &y->c) && same_access(&x->a, &y->a) && same_access(&x->b, &y->b);
}

static bool same_pack(const Pack *x, const Pack *y)
{
    return x->k == y->k && x->cols == y->cols && same_size(x->src_k, y->src_k) &&
           same_size(x->src_col, y->src_col) && same_access(&x->dst, &y->dst) &&
           same_access(&x->src, &y->src);
}

static bool same_reductions(const Stmt *x, const Stmt *y)
{
    if (x->reductions.n != y->reductions.n)
        return false;
    for (size_t i = 0; i < x->reductions.n; i++) {
        const Reduction *p = &x->reductions.items[i];
        const Reduction *q = &y->reductions.items[i];
        if (p->id != q->id || p->fn != q->fn || bits_of(p->start) != bits_of(q->start) ||
            !expr_equal(p->update, q->update))
            return false;
    }
    return true;
}

static bool same_body(const Stmts *x, const Stmts *y);

static bool same_stmt(const Stmt *x, const Stmt *y)
{
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case STMT_loop:
        return x->tag == y->tag && x->var == y->var && same_size(x->extent, y->extent) &&
               same_reductions(x, y) && same_body(&x->body, &y->body);
    case STMT_only:
        return x->var == y->var && x->value == y->value && same_body(&x->body, &y->body);
    case STMT_let: return x->id == y->id && expr_equal(x->expr, y->expr);
    case STMT_store: return same_access(&x->target, &y->target) && expr_equal(x->expr, y->expr);
    case STMT_tile: return same_tile(&x->tile, &y->tile);
    case STMT_pack: return same_pack(&x->pack, &y->pack);
    }
    return false;
}

static bool same_body(const Stmts *x, const Stmts *y)
{
    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++) {
        if (!same_stmt(x->items[i], y->items[i]))
            return false;
    }
    return true;
}

bool kernel_equal(const Kernel *x, const Kernel *y)
{
    if (x->noperands != y->noperands || x->buffers.n != y->buffers.n)
        return false;
    for (size_t i = 0; i < x->buffers.n; i++) {
        const Buffer *p = &x->buffers.items[i];
        const Buffer *q = &y->buffers.items[i];
        if (p->dtype != q->dtype || p->written != q->written || p->count != q->count)
            return false;
    }
    return same_body(&x->body, &y->body);
}

// ---- hashes -------------------------------------------------------------------------------------

// Mixes one more number into a hash.
static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t mix_size(uint64_t hash, const Size *size)
{
    return mix(hash, size ? size_hash(size) : 0);
}

static uint64_t mix_affine(uint64_t hash, const Affine *x)
{
    hash = mix_size(mix(hash, x->nterms), x->base);
    for (size_t i = 0; i < x->nterms; i++)
        hash = mix_size(mix(hash, x->terms[i].var), x->terms[i].coef);
    return hash;
}

static uint64_t mix_expr(uint64_t hash, const Expr *e);

static uint64_t mix_access(uint64_t hash, const Access *x)
{
    hash = mix_affine(mix(hash, x->buffer), &x->at);
    for (size_t i = 0; i < x->ndyn; i++)
        hash =
            mix_expr(mix_size(mix_size(hash, x->dyn[i].limit), x->dyn[i].stride), x->dyn[i].index);
    return hash;
}

static uint64_t mix_expr(uint64_t hash, const Expr *e)
{
    hash = mix(mix(hash, e->kind), e->dtype);
    switch (e->kind) {
    case EXPR_const: return mix(hash, bits_of(e->value));
    case EXPR_size: return mix_size(hash, e->size);
    case EXPR_index: return mix_affine(hash, &e->index);
    case EXPR_load: return mix_access(hash, &e->access);
    case EXPR_value: return mix(hash, e->id);
    case EXPR_map:
        hash = mix(hash, e->fn);
        for (size_t i = 0; i < e->nargs; i++)
            hash = mix_expr(hash, e->args[i]);
        return hash;
    }
    return hash;
}

static uint64_t mix_body(uint64_t hash, const Stmts *body);

static uint64_t mix_loop(uint64_t hash, const Stmt *s)
{
    hash = mix_size(mix(mix(hash, s->tag), s->var), s->extent);
    for (size_t i = 0; i < s->reductions.n; i++) {
        const Reduction *r = &s->reductions.items[i];
        hash = mix_expr(mix(mix(mix(hash, r->id), r->fn), bits_of(r->start)), r->update);
    }
    return mix_body(hash, &s->body);
}

// What tells most tiles and packs apart; the rest is left to the comparison.
static uint64_t mix_stmt(uint64_t hash, const Stmt *s)
{
    hash = mix(hash, s->kind);
    switch (s->kind) {
    case STMT_loop: return mix_loop(hash, s);
    case STMT_only: return mix_body(mix(mix(hash, s->var), (uint64_t)s->value), &s->body);
    case STMT_let: return mix_expr(mix(hash, s->id), s->expr);
    case STMT_store: return mix_expr(mix_access(hash, &s->target), s->expr);
    case STMT_tile:
        hash = mix_access(mix_access(mix_access(hash, &s->tile.a), &s->tile.b), &s->tile.c);
        return mix(mix(hash, (uint64_t)s->tile.rows), (uint64_t)s->tile.k);
    case STMT_pack:
        hash = mix_access(mix_access(hash, &s->pack.dst), &s->pack.src);
        return mix(mix(hash, (uint64_t)s->pack.k), (uint64_t)s->pack.cols);
    }
    return hash;
}

static uint64_t mix_body(uint64_t hash, const Stmts *body)
{
    hash = mix(hash, body->n);
    for (size_t i = 0; i < body->n; i++)
        hash = mix_stmt(hash, body->items[i]);
    return hash;
}

uint64_t kernel_hash(const Kernel *k)
{
    uint64_t hash = mix(k->noperands, k->buffers.n);
    for (size_t i = 0; i < k->buffers.n; i++) {
        const Buffer *b = &k->buffers.items[i];
        hash = mix(mix(mix(hash, b->dtype), b->written), (uint64_t)b->count);
    }
    return mix_body(hash, &k->body);
}
