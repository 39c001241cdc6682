// Fetching ahead for the loop that reads a tile: it stores its results, and reads what is added to
// them, in rows that lie as far apart as their tensors are wide, a line or a few of each. Asked for
// in front of the leaf, they are there when it is done.
#include "codegen/kernel.h"

#define LINE_BYTES 64

typedef struct Fetch {
    KernelGen *k;
    int64_t nrows;
    const Stmt *rows;    // the loop over the tile's rows
    const Stmt *columns; // the vector loop in it
} Fetch;

// The rows of one access, if they are rows of a tensor.
static void fetch_rows(const Fetch *f, const Access *access, bool is_stored)
{
    KernelGen *k = f->k;
    const Buffer *buffer = &k->kernel->buffers.items[access->buffer];
    int64_t unit = (int64_t)dtype_bytes(buffer->dtype);
    const Size *row = affine_coef(&access->at, f->rows->var);
    const Size *column = affine_coef(&access->at, f->columns->var);
    int64_t apart;
    int64_t ncolumns;
    if (buffer->kind != BUFFER_operand || access->ndyn > 0 || !row || !size_is_int(row, &apart) ||
        apart < LINE_BYTES / unit || !column || !size_is(column, 1) ||
        !size_is_int(f->columns->extent, &ncolumns)) {
        return;
    }
    k->vars[f->columns->var] = (VarPlace){.fixed = 0};
    for (int64_t i = 0; i < f->nrows; i++) {
        k->vars[f->rows->var] = (VarPlace){.fixed = i};
        LLVMValueRef ptr = kernel_pointer(k, access);
        scope_here(k);
        for (int64_t at = 0; at < ncolumns * unit; at += LINE_BYTES) {
            gen_prefetch(k->g, gen_offset_const(k->g, ptr, at), is_stored);
        }
    }
}

static void fetch_loads(const Fetch *f, const Expr *e)
{
    if (e->kind == EXPR_load) {
        fetch_rows(f, &e->access, false);
    }
    for (size_t i = 0; e->kind == EXPR_map && i < e->nargs; i++) {
        fetch_loads(f, e->args[i]);
    }
}

void kernel_fetch(KernelGen *k, const Stmts *body, size_t tile)
{
    const Stmt *rows = tile + 1 < body->n ? body->items[tile + 1] : NULL;
    if (!rows || rows->kind != STMT_loop || rows->tag != LOOP_serial) {
        return;
    }
    Fetch f = {.k = k, .nrows = body->items[tile]->tile.rows, .rows = rows};
    for (size_t i = 0; i < rows->body.n; i++) {
        f.columns = rows->body.items[i];
        bool is_vector = f.columns->kind == STMT_loop && f.columns->tag == LOOP_vector;
        for (size_t j = 0; is_vector && j < f.columns->body.n; j++) {
            const Stmt *s = f.columns->body.items[j];
            if (s->kind == STMT_let || s->kind == STMT_store) {
                fetch_loads(&f, s->expr);
            }
            if (s->kind == STMT_store) {
                fetch_rows(&f, &s->target, true);
            }
        }
    }
}
