// The pass `memory`: places of buffers in the arena.
#include "passes/pass.h"

#include "base/diag.h"
#include "loop/program.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// A buffer under test: bytes as a size, the steps that touch it.
typedef struct Life {
    size_t begin;
    size_t end;
    bool is_slot;
} Life;

typedef struct Plan {
    Arena *arena;
    PassContext cx;
    Program *p;
    Life lives[512]; // [p->buffers.n]
    size_t nsteps;
} Plan;

static uint64_t random_state;

// 0 … n-1, from a linear congruential generator (Knuth 1998, 3.3.4).
static size_t random_below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % n;
}

static Plan *plan_create(uint64_t seed)
{
    Arena *arena = arena_create();
    Plan *plan = arena_new(arena, Plan, 1);
    plan->arena = arena;
    plan->cx = (PassContext){.arena = arena, .dx = diag_create(arena)};
    plan->p = program_create(arena, STR("test"));
    random_state = seed;
    return plan;
}

static void plan_add(Plan *plan, const Size *count, DType dtype, Life life)
{
    ArenaBuffer b = {.name = STR("b"), .dtype = dtype, .count = count, .is_slot = life.is_slot};
    assert_true(plan->p->buffers.n < sizeof plan->lives / sizeof *plan->lives);
    plan->lives[plan->p->buffers.n] = life;
    vec_push(plan->arena, &plan->p->buffers, b);
    if (life.end >= plan->nsteps)
        plan->nsteps = life.end + 1;
}

// Steps that touch each buffer at the beginning and the end of its life. Slots are named by their
// inputs there.
static void plan_add_steps(Plan *plan)
{
    Program *p = plan->p;
    uint32_t *named = arena_new(plan->arena, uint32_t, p->buffers.n);
    for (size_t i = 0; i < p->buffers.n; i++) {
        if (!plan->lives[i].is_slot)
            continue;
        named[i] = (uint32_t)p->inputs.n;
        vec_push(plan->arena, &p->inputs,
                 ((ProgramIo){.name = STR("in"), .has_slot = true, .slot = (uint32_t)i}));
    }
    for (size_t i = 0; i < plan->nsteps; i++) {
        VEC(Operand) operands = {0};
        for (uint32_t j = 0; j < p->buffers.n; j++) {
            Life life = plan->lives[j];
            if ((life.begin != i || life.is_slot) && life.end != i)
                continue;
            Operand operand = {OPERAND_buffer, j};
            if (life.is_slot)
                operand = (Operand){OPERAND_input, named[j]};
            vec_push(plan->arena, &operands, operand);
        }
        Step step = {.name = STR("s"), .noperands = operands.n, .operands = operands.items};
        vec_push(plan->arena, &p->steps, step);
    }
}

static int64_t value_of(const Size *size, int64_t batch, int64_t seq)
{
    SizeBinding bindings[] = {{STR("batch"), batch}, {STR("seq"), seq}};
    int64_t out = -1;
    assert_non_null(size);
    assert_true(size_value(size, bindings, 2, &out));
    return out;
}

static int64_t bytes_of(const ArenaBuffer *b, int64_t batch, int64_t seq)
{
    return value_of(b->count, batch, seq) * (int64_t)dtype_bytes(b->dtype);
}

static bool live_together(Life x, Life y)
{
    size_t x_begin = x.is_slot ? 0 : x.begin;
    size_t y_begin = y.is_slot ? 0 : y.begin;
    return x_begin <= y.end && y_begin <= x.end;
}

// Every place is aligned and inside; what lives at one time lies apart.
static void assert_apart(const Plan *plan, int64_t batch, int64_t seq)
{
    const Program *p = plan->p;
    int64_t arena = value_of(p->arena_bytes, batch, seq);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const ArenaBuffer *x = &p->buffers.items[i];
        int64_t begin = value_of(x->offset, batch, seq);
        int64_t end = begin + bytes_of(x, batch, seq);
        assert_true(begin >= 0 && begin % 64 == 0 && end + 64 <= arena);
        for (size_t j = 0; j < i; j++) {
            const ArenaBuffer *y = &p->buffers.items[j];
            int64_t other = value_of(y->offset, batch, seq);
            bool is_apart = other >= end || other + bytes_of(y, batch, seq) <= begin;
            assert_true(is_apart || !live_together(plan->lives[i], plan->lives[j]));
        }
    }
}

// The most bytes that live at one step, each buffer's rounded up to 64.
static int64_t largest_live_set(const Plan *plan, int64_t batch, int64_t seq)
{
    int64_t most = 0;
    for (size_t step = 0; step < plan->nsteps; step++) {
        int64_t sum = 0;
        for (size_t i = 0; i < plan->p->buffers.n; i++) {
            Life life = plan->lives[i];
            if ((life.is_slot || life.begin <= step) && step <= life.end)
                sum += (bytes_of(&plan->p->buffers.items[i], batch, seq) + 63) / 64 * 64;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void plan_run(Plan *plan)
{
    plan_add_steps(plan);
    assert_true(pass_memory(&plan->cx, plan->p));
}

static void assert_tight(const Plan *plan, int64_t batch, int64_t seq)
{
    int64_t arena = value_of(plan->p->arena_bytes, batch, seq) - 64;
    int64_t least = largest_live_set(plan, batch, seq);
    if (arena > least / 10 * 11)
        print_error("arena %lld, largest live set %lld\n", (long long)arena, (long long)least);
    assert_true(arena <= least / 10 * 11);
}

static const Size *batch_of(Plan *plan, int64_t n)
{
    return size_scale(plan->arena, size_symbol(plan->arena, STR("batch")), n);
}

// ---- tests --------------------------------------------------------------------------------------

static void test_random_lifetimes_lie_apart(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        Plan *plan = plan_create(seed);
        Arena *a = plan->arena;
        const Size *batch = size_symbol(a, STR("batch"));
        const Size *seq = size_symbol(a, STR("seq"));
        const Size *half = size_div(a, size_add(a, seq, size_int(a, 1)), 2);
        const Size *factors[] = {size_int(a, 1), batch, size_mul(a, batch, seq),
                                 size_mul(a, batch, half), size_add(a, seq, size_int(a, 3))};
        size_t n = 1 + random_below(80);
        for (size_t i = 0; i < n; i++) {
            size_t begin = random_below(40);
            Life life = {begin, begin + random_below(12), random_below(8) == 0};
            const Size *count =
                size_scale(a, factors[random_below(5)], (int64_t)(1 + random_below(1000)));
            plan_add(plan, count, random_below(4) == 0 ? DT_bool : DT_f32, life);
        }
        plan_run(plan);
        const int64_t batches[] = {1, 3, 64};
        const int64_t seqs[] = {1, 2, 7, 512};
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 4; j++)
                assert_apart(plan, batches[i], seqs[j]);
        }
        arena_destroy(a);
    }
}

// Layers of a transformer: the residual stream, joined projections, attention, feed-forward, all
// pieces made by one step and read by the next few.
static void test_transformer_layers_are_tight(void **state)
{
    (void)state;
    const int64_t width = 128 * 768;
    Plan *plan = plan_create(1);
    plan_add(plan, batch_of(plan, 128), DT_i32, (Life){0, 0, true});
    plan_add(plan, batch_of(plan, 128), DT_bool, (Life){0, 12 * 6, true});
    plan_add(plan, batch_of(plan, width), DT_f32, (Life){0, 3, false});
    for (size_t layer = 0; layer < 12; layer++) {
        size_t s = layer * 6;
        plan_add(plan, batch_of(plan, 3 * width), DT_f32, (Life){s + 1, s + 2, false}); // q k v
        plan_add(plan, batch_of(plan, width), DT_f32, (Life){s + 2, s + 3, false});
        plan_add(plan, batch_of(plan, width), DT_f32, (Life){s + 3, s + 4, false}); // + residual
        plan_add(plan, batch_of(plan, width), DT_f32, (Life){s + 4, s + 6, false}); // normed
        plan_add(plan, batch_of(plan, 4 * width), DT_f32, (Life){s + 5, s + 6, false});
        plan_add(plan, batch_of(plan, width), DT_f32, (Life){s + 6, s + 9, false});
    }
    plan_run(plan);
    assert_apart(plan, 1, 1);
    assert_apart(plan, 8, 1);
    assert_tight(plan, 1, 1);
    assert_tight(plan, 8, 1);
    arena_destroy(plan->arena);
}

// Blocks of halving length with skips to a decoder at the end: long lives between short ones.
static void test_pooling_with_skips_is_tight(void **state)
{
    (void)state;
    Plan *plan = plan_create(1);
    size_t step = 0;
    for (int64_t length = 512; length >= 64; length /= 2) {
        plan_add(plan, batch_of(plan, length * 768), DT_f32, (Life){step, 30, false});
        for (size_t layer = 0; layer < 2; layer++) {
            plan_add(plan, batch_of(plan, length * 2304), DT_f32, (Life){step, step + 1, false});
            plan_add(plan, batch_of(plan, length * 768), DT_f32, (Life){step + 1, step + 3, false});
            plan_add(plan, batch_of(plan, length * 3072), DT_f32,
                     (Life){step + 2, step + 3, false});
            step += 3;
        }
    }
    plan_run(plan);
    assert_apart(plan, 2, 1);
    assert_tight(plan, 2, 1);
    arena_destroy(plan->arena);
}

static void test_random_chains_are_tight(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        Plan *plan = plan_create(seed);
        // Every step makes one buffer; most are read by the next step, some much later.
        for (size_t i = 0; i < 60; i++) {
            size_t length = random_below(5) == 0 ? 2 + random_below(30) : 1 + random_below(2);
            int64_t sizes[] = {768, 3072, 2304, 64, 12 * 128};
            plan_add(plan, batch_of(plan, 128 * sizes[random_below(5)]), DT_f32,
                     (Life){i, i + length, false});
        }
        plan_run(plan);
        assert_apart(plan, 3, 1);
        assert_tight(plan, 3, 1);
        arena_destroy(plan->arena);
    }
}

static void test_slots_live_from_the_beginning(void **state)
{
    (void)state;
    Plan *plan = plan_create(1);
    // Neither slot is touched before the other buffer is dead.
    plan_add(plan, batch_of(plan, 64), DT_f32, (Life){0, 1, false});
    plan_add(plan, batch_of(plan, 64), DT_i32, (Life){3, 3, true});
    plan_add(plan, batch_of(plan, 64), DT_i32, (Life){4, 4, true});
    // And a slot that no step reads is filled all the same.
    ArenaBuffer unread = {.name = STR("u"), .dtype = DT_i32, .count = batch_of(plan, 64)};
    unread.is_slot = true;
    plan_add_steps(plan);
    vec_push(plan->arena, &plan->p->buffers, unread);
    vec_push(plan->arena, &plan->p->inputs, ((ProgramIo){.has_slot = true, .slot = 3}));
    assert_true(pass_memory(&plan->cx, plan->p));
    int64_t places[4];
    for (size_t i = 0; i < 4; i++)
        places[i] = value_of(plan->p->buffers.items[i].offset, 5, 1);
    for (size_t i = 0; i < 4; i++) {
        // The unread slot is dead once the first step runs.
        for (size_t j = i + 1; j < 4; j++)
            assert_true(places[i] != places[j] || (i == 0 && j == 3));
    }
    arena_destroy(plan->arena);
}

static void test_what_lives_apart_shares_memory(void **state)
{
    (void)state;
    Plan *plan = plan_create(1);
    for (size_t i = 0; i < 10; i++)
        plan_add(plan, batch_of(plan, 1000), DT_f32, (Life){2 * i, 2 * i + 1, false});
    plan_run(plan);
    assert_true(size_equal(plan->p->arena_bytes,
                           size_add(plan->arena, batch_of(plan, 4032), size_int(plan->arena, 64))));
    arena_destroy(plan->arena);
}

static void test_an_empty_program(void **state)
{
    (void)state;
    Plan *plan = plan_create(1);
    plan_run(plan);
    assert_true(size_is(plan->p->arena_bytes, 64));
    arena_destroy(plan->arena);
}

static void test_sizes_over_64_bits_are_refused(void **state)
{
    (void)state;
    Plan *plan = plan_create(1);
    plan_add(plan, batch_of(plan, INT64_MAX / 8), DT_f32, (Life){0, 1, false});
    plan_add(plan, batch_of(plan, INT64_MAX / 8), DT_f32, (Life){1, 2, false});
    plan_add(plan, batch_of(plan, INT64_MAX / 8), DT_f32, (Life){1, 2, false});
    plan_add_steps(plan);
    assert_false(pass_memory(&plan->cx, plan->p));
    assert_int_equal(diag_nerrors(plan->cx.dx), 1);
    arena_destroy(plan->arena);

    plan = plan_create(1);
    plan_add(plan, batch_of(plan, INT64_MAX / 2), DT_f32, (Life){0, 1, false});
    plan_add_steps(plan);
    assert_false(pass_memory(&plan->cx, plan->p));
    arena_destroy(plan->arena);
}

static void test_the_same_program_gets_the_same_places(void **state)
{
    (void)state;
    Plan *plans[2];
    for (size_t k = 0; k < 2; k++) {
        plans[k] = plan_create(7);
        for (size_t i = 0; i < 100; i++) {
            size_t begin = random_below(50);
            plan_add(plans[k], batch_of(plans[k], (int64_t)(16 * (1 + random_below(9)))), DT_f32,
                     (Life){begin, begin + random_below(9), false});
        }
        plan_run(plans[k]);
    }
    for (size_t i = 0; i < 100; i++)
        assert_true(
            size_equal(plans[0]->p->buffers.items[i].offset, plans[1]->p->buffers.items[i].offset));
    arena_destroy(plans[0]->arena);
    arena_destroy(plans[1]->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lifetimes_lie_apart),
        cmocka_unit_test(test_transformer_layers_are_tight),
        cmocka_unit_test(test_pooling_with_skips_is_tight),
        cmocka_unit_test(test_random_chains_are_tight),
        cmocka_unit_test(test_slots_live_from_the_beginning),
        cmocka_unit_test(test_what_lives_apart_shares_memory),
        cmocka_unit_test(test_an_empty_program),
        cmocka_unit_test(test_sizes_over_64_bits_are_refused),
        cmocka_unit_test(test_the_same_program_gets_the_same_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
