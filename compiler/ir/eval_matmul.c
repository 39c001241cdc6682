// The evaluator's matrix product: blocked so that a slab of B stays in the first cache, and
// threaded over rows.
//
//   for each slab of K_BLOCK rows of B
//     for each 64 columns: copy them as 16 strips [k][4], since rows of B lie far apart
//       for each four strips, for each 4 rows of A: four tiles of 4x4, in registers over k
//
// A tile that is not whole computes on zero columns and repeated rows and stores what is real, so
// that every element is made by the same instructions in the same order.
#include "ir/eval_impl.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    K_BLOCK = 128,
    ROWS = 4,    // of a tile
    COLS = 4,    // of a tile
    STRIPS = 16, // copied at once
    GROUP = 4,   // strips that stay in the first cache: 16 KB
    WIDTH = STRIPS * COLS,
    GROUP_WIDTH = GROUP * COLS,
    MOST_THREADS = 64,
    LEAST_THREAD_OPS = 1 << 21 // below, a thread costs more than it saves
};

typedef double Pair __attribute__((vector_size(16)));

// Some rows of all products: of nbatch * m.
typedef struct Share {
    const EvalProduct *p;
    int64_t begin;
    int64_t end;
} Share;

// tile[r] += a[r][0 … k-1] · strip
static void multiply_tile(int64_t k, const double *const a[ROWS], const Pair *strip,
                          Pair tile[ROWS][2])
{
    Pair c00 = tile[0][0], c01 = tile[0][1];
    Pair c10 = tile[1][0], c11 = tile[1][1];
    Pair c20 = tile[2][0], c21 = tile[2][1];
    Pair c30 = tile[3][0], c31 = tile[3][1];
    const double *a0 = a[0];
    const double *a1 = a[1];
    const double *a2 = a[2];
    const double *a3 = a[3];
    for (int64_t i = 0; i < k; i++) {
        Pair b0 = strip[2 * i];
        Pair b1 = strip[2 * i + 1];
        Pair x0 = {a0[i], a0[i]};
        c00 += x0 * b0;
        c01 += x0 * b1;
        Pair x1 = {a1[i], a1[i]};
        c10 += x1 * b0;
        c11 += x1 * b1;
        Pair x2 = {a2[i], a2[i]};
        c20 += x2 * b0;
        c21 += x2 * b1;
        Pair x3 = {a3[i], a3[i]};
        c30 += x3 * b0;
        c31 += x3 * b1;
    }
    tile[0][0] = c00, tile[0][1] = c01;
    tile[1][0] = c10, tile[1][1] = c11;
    tile[2][0] = c20, tile[2][1] = c21;
    tile[3][0] = c30, tile[3][1] = c31;
}

// Copies k rows of `width` columns to strips [.., k, COLS], the last one filled up with zeros.
static void pack_strips(const double *b, int64_t row_stride, int64_t k, int64_t width, Pair *strips)
{
    for (int64_t i = 0; i < k; i++) {
        const double *row = b + i * row_stride;
        Pair *to = strips + 2 * i;
        int64_t at = 0;
        for (; at + COLS <= width; at += COLS, to += 2 * k) {
            to[0] = (Pair){row[at], row[at + 1]};
            to[1] = (Pair){row[at + 2], row[at + 3]};
        }
        if (at < width) {
            double last[COLS] = {0};
            memcpy(last, row + at, (size_t)(width - at) * sizeof *last);
            to[0] = (Pair){last[0], last[1]};
            to[1] = (Pair){last[2], last[3]};
        }
    }
}

// A part of C, and where its sums over k0 … k0+k-1 come from.
typedef struct Part {
    double *c;
    int64_t c_stride; // of a row
    const double *a;  // at k0 of the first row
    int64_t a_stride;
    int64_t nrows;
    int64_t ncols;
    int64_t k;
    bool is_first; // k0 is 0: nothing is in C yet
} Part;

// A tile: nrows × ncols of it are real.
static void update_tile(const Part *p, const Pair *strip)
{
    double block[ROWS][COLS] = {{0}};
    Pair tile[ROWS][2];
    const double *a[ROWS];
    size_t bytes = (size_t)p->ncols * sizeof(double);
    for (int64_t r = 0; r < ROWS; r++) {
        a[r] = p->a + (r < p->nrows ? r : 0) * p->a_stride;
    }
    for (int64_t r = 0; r < p->nrows && !p->is_first; r++) {
        memcpy(block[r], p->c + r * p->c_stride, bytes);
    }
    memcpy(tile, block, sizeof tile);
    multiply_tile(p->k, a, strip, tile);
    memcpy(block, tile, sizeof block);
    for (int64_t r = 0; r < p->nrows; r++) {
        memcpy(p->c + r * p->c_stride, block[r], bytes);
    }
}

// As many columns as a group of strips has.
static void update_group(const Part *group, const Pair *strips)
{
    Part tile = *group;
    for (int64_t row = 0; row < group->nrows; row += ROWS) {
        tile.nrows = group->nrows - row < ROWS ? group->nrows - row : ROWS;
        tile.a = group->a + row * group->a_stride;
        for (int64_t col = 0; col < group->ncols; col += COLS) {
            tile.ncols = group->ncols - col < COLS ? group->ncols - col : COLS;
            tile.c = group->c + row * group->c_stride + col;
            update_tile(&tile, strips + col / COLS * group->k * 2);
        }
    }
}

// Whole rows of C, with as many rows of B as a slab has; b: the first of them.
static void update_rows(const Part *rows, const double *b)
{
    Pair strips[STRIPS * K_BLOCK * 2];
    Part group = *rows;
    for (int64_t col = 0; col < rows->ncols; col += WIDTH) {
        int64_t width = rows->ncols - col < WIDTH ? rows->ncols - col : WIDTH;
        pack_strips(b + col, rows->ncols, rows->k, width, strips);
        for (int64_t at = 0; at < width; at += GROUP_WIDTH) {
            group.ncols = width - at < GROUP_WIDTH ? width - at : GROUP_WIDTH;
            group.c = rows->c + col + at;
            update_group(&group, strips + at / COLS * rows->k * 2);
        }
    }
}

static void *run_share(void *arg)
{
    const Share *share = arg;
    const EvalProduct *p = share->p;
    for (int64_t at = share->begin; at < share->end;) {
        int64_t batch = at / p->m;
        int64_t row = at % p->m;
        int64_t nrows = p->m - row < share->end - at ? p->m - row : share->end - at;
        const double *a = p->a + p->a_offset[batch] + row * p->k;
        for (int64_t k0 = 0; k0 < p->k; k0 += K_BLOCK) {
            int64_t k = p->k - k0 < K_BLOCK ? p->k - k0 : K_BLOCK;
            Part rows = {.c = p->c + at * p->n,
                         .c_stride = p->n,
                         .a = a + k0,
                         .a_stride = p->k,
                         .nrows = nrows,
                         .ncols = p->n,
                         .k = k,
                         .is_first = k0 == 0};
            update_rows(&rows, p->b + p->b_offset[batch] + k0 * p->n);
        }
        at += nrows;
    }
    return NULL;
}

static unsigned count_threads(const EvalProduct *p, int64_t nrows, unsigned wanted)
{
    if (wanted == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = online > 1 ? (unsigned)(online < MOST_THREADS ? online : MOST_THREADS) : 1;
    }
    double ops = 2.0 * (double)nrows * (double)p->k * (double)p->n;
    double most = ops / LEAST_THREAD_OPS;
    most = most < (double)nrows / ROWS ? most : (double)nrows / ROWS;
    wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
    return most < wanted ? (most < 1 ? 1 : (unsigned)most) : wanted;
}

void eval_multiply(const EvalProduct *p, unsigned threads)
{
    int64_t nrows = (int64_t)p->nbatch * p->m;
    unsigned n = count_threads(p, nrows, threads);
    Share shares[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    bool is_started[MOST_THREADS] = {false};
    for (unsigned i = 0; i < n; i++) {
        shares[i] = (Share){.p = p, .begin = nrows / n * i, .end = nrows / n * (i + 1)};
    }
    shares[n - 1].end = nrows;
    for (unsigned i = 1; i < n; i++) {
        is_started[i] = pthread_create(&ids[i], NULL, run_share, &shares[i]) == 0;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!is_started[i]) {
            run_share(&shares[i]);
        }
    }
    for (unsigned i = 1; i < n; i++) {
        if (is_started[i]) {
            pthread_join(ids[i], NULL);
        }
    }
}

// ---- the operation ----

// Where the matrices of an operand stand, one for each index over the result's leading axes.
static const int64_t *batch_offsets(Eval *ev, const EvalTensor *x, const EvalTensor *out,
                                    size_t nbatch)
{
    const int64_t *strides = eval_strides(ev->arena, x->shape, x->rank);
    int64_t *offsets = arena_new(ev->arena, int64_t, nbatch);
    size_t missing = out->rank - x->rank;
    for (size_t b = 0; b < nbatch; b++) {
        size_t rest = b;
        for (size_t axis = out->rank - 2; axis-- > 0;) {
            size_t index = rest % (size_t)out->shape[axis];
            rest /= (size_t)out->shape[axis];
            if (axis >= missing && x->shape[axis - missing] != 1) {
                offsets[b] += (int64_t)index * strides[axis - missing];
            }
        }
    }
    return offsets;
}

static bool check_operands(const EvalTensor *a, const EvalTensor *b, const EvalTensor *out)
{
    const EvalTensor *both[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        size_t missing = out->rank - both[i]->rank;
        for (size_t axis = 0; axis + 2 < both[i]->rank; axis++) {
            int64_t n = both[i]->shape[axis];
            if (n != 1 && n != out->shape[axis + missing]) {
                return false;
            }
        }
    }
    return a->shape[a->rank - 2] == out->shape[out->rank - 2] &&
           b->shape[b->rank - 1] == out->shape[out->rank - 1] &&
           a->shape[a->rank - 1] == b->shape[b->rank - 2];
}

bool eval_matmul(Eval *ev, const Node *node, Value *out)
{
    const EvalTensor *a = eval_arg(ev, node, 0);
    const EvalTensor *b = eval_arg(ev, node, 1);
    if (!eval_alloc(ev, node, out)) {
        return false;
    }
    if (!check_operands(a, b, &out->t)) {
        return eval_misfit(ev, node);
    }
    int64_t m = a->shape[a->rank - 2];
    int64_t k = a->shape[a->rank - 1];
    int64_t n = b->shape[b->rank - 1];
    int64_t nbatch = eval_product(out->t.shape, out->t.rank - 2);
    if (b->count == k * n && a->count == nbatch * m * k) {
        m *= nbatch; // one B: its strips are packed once for all rows
        nbatch = 1;
    }
    static const int64_t zero[1] = {0};
    EvalProduct product = {.nbatch = (size_t)nbatch,
                           .a_offset = zero,
                           .b_offset = zero,
                           .m = m,
                           .k = k,
                           .n = n,
                           .a = a->data,
                           .b = b->data,
                           .c = out->t.data};
    if (nbatch > 1) {
        product.a_offset = batch_offsets(ev, a, &out->t, (size_t)nbatch);
        product.b_offset = batch_offsets(ev, b, &out->t, (size_t)nbatch);
    }
    eval_multiply(&product, ev->options->threads);
    return true;
}
