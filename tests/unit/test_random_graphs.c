// Random graphs, differential: each is lowered with and without fusion and run without generated
// code; both must give what the evaluator gives. A graph that fails is printed as text, which
// parses back.
#include "ir/ir.h"
#include "lower_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NGRAPHS 1500
#define NSTEPS  22

typedef struct Random {
    uint64_t state;
    Arena *a;
    Builder b;
    VEC(Node *) nodes; // f32, to choose operands from
    Node *mask;        // bool[batch, 6]
    size_t nparams;
    bool refused; // the last operation did not fit
} Random;

static uint32_t draw(Random *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33) % n;
}

static void refuse(void *ctx, int arg, Str message)
{
    (void)arg;
    (void)message;
    ((Random *)ctx)->refused = true;
}

static Node *any(Random *r)
{
    // Later nodes more often, so that chains grow.
    size_t n = r->nodes.n;
    size_t i = draw(r, 2) ? n - 1 - draw(r, (uint32_t)(n < 4 ? n : 4)) : draw(r, (uint32_t)n);
    return r->nodes.items[i];
}

static Type make_type(Random *r, const int64_t *sizes, size_t rank, DType dtype)
{
    const Size **shape = arena_new(r->a, const Size *, rank + 1);
    for (size_t i = 0; i < rank; i++) {
        shape[i] = sizes[i] ? size_int(r->a, sizes[i]) : size_symbol(r->a, STR("batch"));
    }
    return (Type){.dtype = dtype, .rank = (uint32_t)rank, .shape = shape};
}

static Node *param(Random *r, const int64_t *sizes, size_t rank)
{
    Type type = make_type(r, sizes, rank, DT_f32);
    return ir_param(&r->b, str_format(r->a, "p%zu", r->nparams++), &type);
}

static bool last_is(const Node *x, int64_t *n)
{
    return x->type.rank > 0 && size_is_int(x->type.shape[x->type.rank - 1], n);
}

static Node *squashed(Random *r, Node *x)
{
    return ir_map(&r->b, S_tanh, &x, 1); // keeps values small
}

static Node *unary(Random *r)
{
    static const Scalar fns[] = {S_tanh, S_sigmoid, S_relu, S_neg, S_gelu, S_abs};
    Node *x = any(r);
    return ir_map(&r->b, fns[draw(r, 6)], &x, 1);
}

static Node *binary(Random *r)
{
    static const Scalar fns[] = {S_add, S_sub, S_mul, S_max, S_min};
    Node *args[2] = {any(r), any(r)};
    return ir_map(&r->b, fns[draw(r, 5)], args, 2);
}

static Node *reduction(Random *r)
{
    static const Op ops[] = {OP_reduce_sum, OP_reduce_mean, OP_reduce_max, OP_reduce_min};
    Node *x = any(r);
    if (x->type.rank < 2) {
        return NULL;
    }
    int64_t axis = 1 + draw(r, x->type.rank - 1);
    Node *y = ir_reduce(&r->b, ops[draw(r, 4)], x, &axis, 1);
    if (!y || draw(r, 3) == 0) {
        return y;
    }
    const Size **shape = arena_new(r->a, const Size *, x->type.rank);
    for (size_t i = 0; i < x->type.rank; i++) {
        shape[i] = i == (size_t)axis ? size_int(r->a, 1) : x->type.shape[i];
    }
    Node *args[2] = {x, ir_reshape(&r->b, y, shape, x->type.rank)};
    return draw(r, 2) ? args[1] : ir_map(&r->b, S_sub, args, 2);
}

static Node *soft(Random *r)
{
    Node *x = any(r);
    return x->type.rank < 2
               ? NULL
               : ir_softmax(&r->b, x, x->type.rank - 1 - draw(r, 2) * (x->type.rank > 2));
}

static Node *product(Random *r)
{
    Node *x = any(r);
    int64_t k;
    if (x->type.rank < 2 || !last_is(x, &k)) {
        return NULL;
    }
    if (draw(r, 3) == 0) { // with its own transpose, and perhaps a softmax and the values
        Node *scores = squashed(r, ir_matmul(&r->b, x, ir_transpose(&r->b, x)));
        return draw(r, 2) ? scores : ir_matmul(&r->b, ir_softmax(&r->b, scores, -1), x);
    }
    int64_t sizes[2] = {k, 1 + draw(r, 20)};
    return squashed(r, ir_matmul(&r->b, x, param(r, sizes, 2)));
}

static Node *movement(Random *r)
{
    Node *x = any(r);
    size_t rank = x->type.rank;
    int64_t n;
    if (rank < 2 || !last_is(x, &n)) {
        return NULL;
    }
    int64_t axis = 1 + draw(r, (uint32_t)rank - 1);
    int64_t members = 1;
    size_is_int(x->type.shape[axis], &members);
    Node *two[2] = {x, any(r)};
    switch (draw(r, 9)) {
    case 0: {
        int64_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        order[rank - 1] = (int64_t)rank - (rank > 2 ? 2 : 1);
        order[rank - 2] = (int64_t)rank - (rank > 2 ? 1 : 2);
        return ir_permute(&r->b, x, order, rank);
    }
    case 1: { // split an axis
        if (members % 2 || rank > 4) {
            return NULL;
        }
        const Size *shape[8];
        for (size_t i = 0, j = 0; i < rank; i++) {
            shape[j++] = i == (size_t)axis ? size_int(r->a, members / 2) : x->type.shape[i];
            if (i == (size_t)axis) {
                shape[j++] = size_int(r->a, 2);
            }
        }
        return ir_reshape(&r->b, x, shape, rank + 1);
    }
    case 2: { // merge the last two
        if (rank < 3) {
            return NULL;
        }
        const Size *shape[8];
        memcpy(shape, x->type.shape, (rank - 2) * sizeof *shape);
        shape[rank - 2] = size_mul(r->a, x->type.shape[rank - 2], x->type.shape[rank - 1]);
        return ir_reshape(&r->b, x, shape, rank - 1);
    }
    case 3:
        return ir_part(&r->b, x, axis, size_int(r->a, draw(r, (uint32_t)members)),
                       size_int(r->a, 1));
    case 4: return ir_concat(&r->b, two, 2, axis);
    case 5: return ir_pool(&r->b, x, 2, 2, (PoolMode)draw(r, 3), axis, draw(r, 2) || members < 2);
    case 6: return ir_repeat(&r->b, x, 2, axis);
    case 7: return ir_pad(&r->b, x, axis, size_int(r->a, draw(r, 2)), size_int(r->a, 1), 0.25);
    default: {
        Subscript subs[3] = {
            {.kind = SUB_slice, .step = 1}, {.kind = SUB_slice, .step = -1}, {.kind = SUB_rest}};
        return ir_subscript(&r->b, x, subs, 3);
    }
    }
}

static Node *masked(Random *r)
{
    Node *x = any(r);
    if (x->type.rank != 3 || !size_is(x->type.shape[2], 6)) {
        return NULL;
    }
    const Size *shape[3] = {r->mask->type.shape[0], size_int(r->a, 1), r->mask->type.shape[1]};
    Node *args[3] = {ir_reshape(&r->b, r->mask, shape, 3), x, ir_fill(&r->b, DT_f32, -2)};
    return ir_map(&r->b, S_select, args, 3);
}

static void grow(Random *r)
{
    static Node *(*const makers[])(Random *) = {unary,   binary,  binary,   reduction, soft,
                                                product, product, movement, movement,  masked};
    r->refused = false;
    Node *node = makers[draw(r, 10)](r);
    int64_t n;
    bool small =
        node && node->type.rank <= 5 && (node->type.rank == 0 || !last_is(node, &n) || n <= 64);
    if (node && !r->refused && small && node->type.dtype == DT_f32) {
        vec_push(r->a, &r->nodes, node);
    }
}

static Graph *random_graph(Arena *a, uint64_t seed)
{
    Random r = {.state = seed * 0x9E3779B97F4A7C15u + 1, .a = a};
    Graph *g = graph_create(a, STR("random"));
    graph_add_symbol(g, STR("batch"), 1, SIZE_INF);
    r.b = (Builder){.graph = g, .fail = refuse, .ctx = &r};
    int64_t first = draw(&r, 2) ? 0 : 3; // a free batch, or 3
    int64_t sizes[2][3] = {{first, 6, 10}, {first, 6, 6}};
    for (size_t i = 0; i < 2; i++) {
        Type type = make_type(&r, sizes[i], 3, DT_f32);
        vec_push(a, &r.nodes, ir_input(&r.b, str_format(a, "x%zu", i), &type, NULL, NULL));
    }
    Type mask = make_type(&r, sizes[0], 2, DT_bool);
    r.mask = ir_input(&r.b, STR("mask"), &mask, NULL, NULL);
    int64_t row[1] = {10};
    vec_push(a, &r.nodes, param(&r, row, 1));
    for (size_t i = 0; i < NSTEPS; i++) {
        grow(&r);
    }
    size_t noutputs = 1 + draw(&r, 3);
    for (size_t i = 0; i < noutputs; i++) {
        graph_add_output(g, str_format(a, "y%zu", i), i ? any(&r) : r.nodes.items[r.nodes.n - 1],
                         (Place){0});
    }
    return g;
}

static void random_graphs(void **state)
{
    (void)state;
    Target narrow = {.lanes = 8, .tile = {.rows = 6, .panels = 1}};
    Target wide = {.lanes = 16, .tile = {.rows = 9, .panels = 3}};
    size_t ran = 0;
    for (uint64_t seed = 0; seed < NGRAPHS; seed++) {
        Arena *a = arena_create();
        Graph *g = random_graph(a, seed);
        LowerKit kit = {.arena = a,
                        .graph = g,
                        .target = seed % 2 ? &wide : &narrow,
                        .batch = 1 + (int64_t)(seed % 3),
                        .tolerance = 1e-4};
        Buf why = {.arena = a};
        for (int only_stages = 0; only_stages < 2; only_stages++) {
            kit.only_stages = only_stages;
            LowerResult result = lower_kit_run(&kit, &why);
            ran += result == LOWER_same;
            if (result == LOWER_differs) {
                Buf text = {.arena = a};
                graph_print(&text, g);
                fputs(text.ptr, stderr); // longer than a message may be
                fail_msg("seed %llu%s: %s", (unsigned long long)seed, only_stages ? " -O0" : "",
                         why.ptr);
            }
        }
        arena_destroy(a);
    }
    assert_true(ran > NGRAPHS); // most graphs lower; those with a free size inside a row do not
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
