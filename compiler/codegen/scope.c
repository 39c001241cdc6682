// Where code may stand: the scopes around the current place, and what is already computed in front
// of each.
#include "codegen/kernel.h"

#include <assert.h>

#define LAST_BIT 63

uint64_t buffer_bit(uint32_t buffer)
{
    return UINT64_C(1) << (buffer < LAST_BIT ? buffer : LAST_BIT);
}

uint64_t stmts_writes(const Stmts *body)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *s = body->items[i];
        switch (s->kind) {
        case STMT_loop:
        case STMT_only: bits |= stmts_writes(&s->body); break;
        case STMT_store: bits |= buffer_bit(s->target.buffer); break;
        case STMT_tile: bits |= buffer_bit(s->tile.c.buffer); break;
        case STMT_pack: bits |= buffer_bit(s->pack.dst.buffer); break;
        case STMT_let: break;
        }
    }
    return bits;
}

bool stmts_have_calls(const Stmts *body)
{
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *s = body->items[i];
        bool holds = s->kind == STMT_loop || s->kind == STMT_only;
        if (s->kind == STMT_tile || s->kind == STMT_pack || (holds && stmts_have_calls(&s->body))) {
            return true;
        }
    }
    return false;
}

// The number of the innermost scope.
static uint32_t depth_of(const KernelGen *k) { return (uint32_t)k->scopes.n - 1; }

void scope_enter(KernelGen *k, Scope scope)
{
    scope.nmemo = k->memos.n;
    vec_push(k->g->arena, &k->scopes, scope);
}

void scope_leave(KernelGen *k)
{
    uint32_t level = depth_of(k);
    size_t n = k->scopes.items[level].nmemo;
    for (size_t i = n; i < k->memos.n; i++) {
        if (k->memos.items[i].val.level < level) {
            k->memos.items[n++] = k->memos.items[i];
        }
    }
    k->memos.n = n;
    k->scopes.n--;
}

uint32_t scope_goto(KernelGen *k, uint32_t level)
{
    for (; level < k->scopes.n; level++) {
        LLVMBasicBlockRef before = k->scopes.items[level].before;
        if (before) {
            LLVMPositionBuilderBefore(k->g->builder, LLVMGetBasicBlockTerminator(before));
            return level;
        }
    }
    scope_here(k);
    return (uint32_t)k->scopes.n;
}

void scope_here(KernelGen *k) { LLVMPositionBuilderAtEnd(k->g->builder, k->here); }

uint32_t scope_load_level(const KernelGen *k, uint32_t buffer)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < k->scopes.n; i++) {
        if ((k->scopes.items[i].writes & buffer_bit(buffer)) != 0) {
            level = i + 1;
        } else if (k->scopes.items[i].may_skip) {
            level = i;
        }
    }
    return level;
}

uint32_t scope_lanes_level(const KernelGen *k)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < k->scopes.n; i++) {
        if (k->scopes.items[i].has_calls) {
            level = i + 1;
        }
    }
    return level;
}

// ---- what is known ------------------------------------------------------------------------------

void scope_forget(KernelGen *k, uint64_t buffers)
{
    size_t n = 0;
    size_t scope = 0;
    for (size_t i = 0; i < k->memos.n; i++) {
        for (; scope < k->scopes.n && k->scopes.items[scope].nmemo == i; scope++) {
            k->scopes.items[scope].nmemo = n;
        }
        if ((k->memos.items[i].val.reads & buffers) == 0) {
            k->memos.items[n++] = k->memos.items[i];
        }
    }
    for (; scope < k->scopes.n; scope++) {
        k->scopes.items[scope].nmemo = n;
    }
    k->memos.n = n;
}

// Whether the memo was made for the lanes that are now current.
static bool same_lanes(const KernelGen *k, const Memo *m)
{
    if (!m->val.is_lanes) {
        return true;
    }
    const Lanes *lanes = &k->lanes;
    return lanes->loop && m->width == lanes->width && m->live == lanes->live &&
           m->first == k->vars[lanes->loop->var].fixed;
}

static Memo *new_memo(KernelGen *k, const Val *val)
{
    Memo m = {.val = *val};
    if (val->is_lanes) {
        m.width = k->lanes.width;
        m.live = k->lanes.live;
        m.first = k->vars[k->lanes.loop->var].fixed;
    }
    vec_push(k->g->arena, &k->memos, m);
    return &k->memos.items[k->memos.n - 1];
}

Memo *memo_find_expr(KernelGen *k, const Expr *e)
{
    for (size_t i = k->memos.n; i-- > 0;) {
        Memo *m = &k->memos.items[i];
        if (m->expr && same_lanes(k, m) && (m->expr == e || expr_equal(m->expr, e))) {
            return m;
        }
    }
    return NULL;
}

void memo_add_expr(KernelGen *k, const Expr *e, const Val *val) { new_memo(k, val)->expr = e; }

Memo *memo_find_pointer(KernelGen *k, LLVMValueRef from, const AffineTerm *terms, size_t nterms)
{
    for (size_t i = k->memos.n; i-- > 0;) {
        Memo *m = &k->memos.items[i];
        if (m->from != from || m->nterms != nterms || m->row || m->val.is_lanes) {
            continue;
        }
        size_t same = 0;
        while (same < nterms && m->terms[same].var == terms[same].var &&
               size_equal(m->terms[same].coef, terms[same].coef)) {
            same++;
        }
        if (same == nterms) {
            return m;
        }
    }
    return NULL;
}

void memo_add_pointer(KernelGen *k, LLVMValueRef from, const AffineTerm *terms, size_t nterms,
                      LLVMValueRef to, uint32_t level)
{
    Memo *m = new_memo(k, &(Val){.level = level, .v = to});
    m->from = from;
    m->terms = terms;
    m->nterms = nterms;
}

Memo *memo_find_row(KernelGen *k, LLVMValueRef from, const DynTerm *row)
{
    for (size_t i = k->memos.n; i-- > 0;) {
        Memo *m = &k->memos.items[i];
        if (m->from == from && m->row && expr_equal(m->row->index, row->index) &&
            size_equal(m->row->limit, row->limit) && size_equal(m->row->stride, row->stride)) {
            return m;
        }
    }
    return NULL;
}

void memo_add_row(KernelGen *k, LLVMValueRef from, const DynTerm *row, const Val *to)
{
    Memo *m = new_memo(k, to);
    m->from = from;
    m->row = row;
}

Val scope_spread(KernelGen *k, const Val *val, uint32_t at)
{
    // As far in as it may be: a copy in all lanes is cheap, a register held through loops is not.
    uint32_t depth = depth_of(k);
    uint32_t level = at > depth ? depth : at;
    uint32_t least = scope_lanes_level(k);
    level = level < val->level ? val->level : level;
    level = level < least ? least : level;
    for (size_t i = k->memos.n; i-- > 0;) {
        Memo *m = &k->memos.items[i];
        if (m->from == val->v && m->val.is_lanes && m->width == k->lanes.width &&
            m->val.level <= at) {
            return m->val;
        }
    }
    Val out = {.is_lanes = true, .reads = val->reads};
    out.level = scope_goto(k, level);
    out.v = gen_splat(k->g, val->v, k->lanes.width);
    new_memo(k, &out)->from = val->v;
    return out;
}

// ---- sizes --------------------------------------------------------------------------------------

static LLVMValueRef load_symbol(KernelGen *k, Str name)
{
    Gen *g = k->g;
    for (size_t i = 0; i < k->program->symbols.n; i++) {
        if (str_equal(k->program->symbols.items[i].name, name)) {
            LLVMValueRef symbols =
                gen_load(g, g->ptr, gen_offset_const(g, k->frame, offsetof(SlFrame, symbols)), 8);
            return gen_load(g, g->i64, gen_offset_const(g, symbols, (int64_t)i * 8), 8);
        }
    }
    die("kernel %.*s: there is no symbol %.*s", STR_ARG(k->kernel->name), STR_ARG(name));
}

static LLVMValueRef atom_value(KernelGen *k, const SizeAtom *atom)
{
    if (!atom->top) {
        return load_symbol(k, atom->symbol);
    }
    // In normal form nothing under a floor is negative.
    LLVMValueRef top = kernel_size(k, atom->top);
    scope_goto(k, 0);
    return LLVMBuildUDiv(k->g->builder, top, gen_int(k->g, atom->by), "");
}

int64_t kernel_stride(const KernelGen *k, const Size *size)
{
    int64_t n;
    if (!size_is_int(size, &n)) {
        die("kernel %.*s: the stride of a tile or a pack is not fixed", STR_ARG(k->kernel->name));
    }
    return n;
}

LLVMValueRef kernel_size(KernelGen *k, const Size *size)
{
    Gen *g = k->g;
    int64_t n;
    assert(size);
    if (size_is_int(size, &n)) {
        return gen_int(g, n);
    }
    for (size_t i = 0; i < k->sizes.n; i++) {
        if (size_equal(k->sizes.items[i].size, size)) {
            return k->sizes.items[i].value;
        }
    }
    LLVMValueRef sum = gen_int(g, 0);
    for (size_t i = 0; i < size->nterms; i++) {
        const SizeTerm *term = &size->terms[i];
        LLVMValueRef product = gen_int(g, term->factor);
        for (size_t j = 0; j < term->natoms; j++) {
            scope_goto(k, 0);
            LLVMValueRef atom = atom_value(k, term->atoms[j]);
            scope_goto(k, 0);
            product = LLVMBuildNSWMul(g->builder, product, atom, "");
        }
        scope_goto(k, 0);
        sum = LLVMBuildNSWAdd(g->builder, sum, product, "");
    }
    SizeMemo memo = {size, sum};
    vec_push(g->arena, &k->sizes, memo);
    return sum;
}
