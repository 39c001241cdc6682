// The pass `dedupe`: kernels that are equal up to names become one.
#include "passes/pass.h"

#include "base/diag.h"
#include "loop/program.h"
#include "loop_kit.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static Program *program_of(Arena *a, Kernel *const *kernels, size_t nkernels, const uint32_t *steps,
                           size_t nsteps)
{
    Program *p = program_create(a, STR("test"));
    for (size_t i = 0; i < nkernels; i++)
        vec_push(a, &p->kernels, kernels[i]);
    for (size_t i = 0; i < nsteps; i++)
        vec_push(a, &p->steps, ((Step){.name = STR("s"), .kernel = steps[i]}));
    return p;
}

static void run(Arena *a, Program *p)
{
    PassContext cx = {.arena = a, .dx = diag_create(a)};
    assert_true(pass_dedupe(&cx, p));
}

static void assert_kernel(const Program *p, size_t step, const char *name)
{
    assert_true(p->steps.items[step].kernel < p->kernels.n);
    Str got = p->kernels.items[p->steps.items[step].kernel]->name;
    assert_true(str_equal(got, str_from(name)));
}

static void test_equal_kernels_become_the_first(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *kernels[] = {kit_dense(a, "d0"), kit_softmax(a, "s0", 10), kit_dense(a, "d1"),
                         kit_softmax(a, "s1", 11), kit_softmax(a, "s2", 10)};
    const uint32_t steps[] = {0, 1, 2, 3, 4};
    Program *p = program_of(a, kernels, 5, steps, 5);
    run(a, p);
    assert_int_equal(p->kernels.n, 3);
    assert_kernel(p, 0, "d0");
    assert_kernel(p, 1, "s0");
    assert_kernel(p, 2, "d0");
    assert_kernel(p, 3, "s1");
    assert_kernel(p, 4, "s0");
    run(a, p);
    assert_int_equal(p->kernels.n, 3);
    assert_kernel(p, 4, "s0");
    arena_destroy(a);
}

static void test_kernels_no_step_runs_are_dropped(void **state)
{
    (void)state;
    Arena *a = arena_create();
    Kernel *kernels[] = {kit_dense(a, "unused"), kit_softmax(a, "late", 10), kit_dense(a, "d")};
    const uint32_t steps[] = {2, 1, 2};
    Program *p = program_of(a, kernels, 3, steps, 3);
    run(a, p);
    assert_int_equal(p->kernels.n, 2);
    assert_kernel(p, 0, "d");
    assert_kernel(p, 1, "late");
    assert_kernel(p, 2, "d");
    assert_true(str_equal(p->kernels.items[0]->name, STR("d")));

    p = program_of(a, kernels, 3, steps, 0);
    run(a, p);
    assert_int_equal(p->kernels.n, 0);
    arena_destroy(a);
}

static void test_many_kernels(void **state)
{
    (void)state;
    enum { N = 500, DISTINCT = 50 };
    Arena *a = arena_create();
    Kernel *kernels[N];
    uint32_t steps[N];
    for (uint32_t i = 0; i < N; i++) {
        Str name = str_format(a, "k%u", i);
        kernels[i] = kit_softmax(a, str_cstr(a, name), 1 + i % DISTINCT);
        steps[i] = i;
    }
    Program *p = program_of(a, kernels, N, steps, N);
    run(a, p);
    assert_int_equal(p->kernels.n, DISTINCT);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(p->steps.items[i].kernel, i % DISTINCT);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_kernels_become_the_first),
        cmocka_unit_test(test_kernels_no_step_runs_are_dropped),
        cmocka_unit_test(test_many_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
