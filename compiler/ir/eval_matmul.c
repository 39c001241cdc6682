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

// One tile of C: rows × cols of it are real.
static void update_tile(double *c, int64_t row_stride, int64_t rows, int64_t cols, bool is_first,
                        int64_t k, const double *const a[ROWS], const Pair *strip)
{
    double block[ROWS][COLS] = {{0}};
    Pair tile[ROWS][2];
    for (int64_t r = 0; r < rows && !is_first; r++) {
        memcpy(block[r], c + r * row_stride, (size_t)cols * sizeof *c);
    }
    memcpy(tile, block, sizeof tile);
    multiply_tile(k, a, strip, tile);
    memcpy(block, tile, sizeof block);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(c + r * row_stride, block[r], (size_t)cols * sizeof *c);
    }
}

// nrows rows of C's columns n0 … n0+width-1, a group of strips.
static void multiply_group(const EvalProduct *p, const double *a, double *c, int64_t nrows,
                           int64_t k0, int64_t k, int64_t width, const Pair *strips)
{
    for (int64_t row = 0; row < nrows; row += ROWS) {
        int64_t rows = nrows - row < ROWS ? nrows - row : ROWS;
        const double *from[ROWS];
        for (int64_t r = 0; r < ROWS; r++) {
            from[r] = a + (row + (r < rows ? r : 0)) * p->k + k0;
        }
        for (int64_t s = 0; s * COLS < width; s++) {
            int64_t cols = width - s * COLS < COLS ? width - s * COLS : COLS;
            update_tile(c + row * p->n + s * COLS, p->n, rows, cols, k0 == 0, k, from,
                        strips + s * k * 2);
        }
    }
}

// nrows rows of one product with B's rows k0 … k0+k-1.
static void multiply_slab(const EvalProduct *p, const double *a, const double *b, double *c,
                          int64_t nrows, int64_t k0, int64_t k)
{
    Pair strips[STRIPS * K_BLOCK * 2];
    for (int64_t n0 = 0; n0 < p->n; n0 += WIDTH) {
        int64_t width = p->n - n0 < WIDTH ? p->n - n0 : WIDTH;
        pack_strips(b + k0 * p->n + n0, p->n, k, width, strips);
        for (int64_t at = 0; at < width; at += GROUP * COLS) {
            int64_t own = width - at < GROUP * COLS ? width - at : GROUP * COLS;
            multiply_group(p, a, c + n0 + at, nrows, k0, k, own, strips + at / COLS * k * 2);
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
            multiply_slab(p, a, p->b + p->b_offset[batch], p->c + at * p->n, nrows, k0, k);
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
