// The pool by itself: every part of every job exactly once, whoever does it, each share with its
// own scratch and fault word.
#include "runtime/internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST_PARTS = 4096, STRIDE = 192, MOST_THREADS = 16 };

static _Atomic uint32_t done[MOST_PARTS];     // how often each part was done
static _Atomic uint32_t wrong;                // what a kernel found to be not as it should
static _Atomic uint32_t inside[MOST_THREADS]; // parts that a share is doing now
static uint32_t expected_parts;
static bool has_modes; // valgrind knows none but rounding
static _Alignas(64) uint8_t scratch[MOST_THREADS * STRIDE];

static void count(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    size_t share = (size_t)(frame->scratch - scratch) / STRIDE;
    wrong += atomic_fetch_add(&inside[share], 1) != 0; // two at once in one scratch
    wrong += nparts != expected_parts || part >= nparts;
    wrong += frame->symbols[0] != expected_parts || *(uint32_t *)frame->operands[0] != 42;
    wrong += has_modes && (_mm_getcsr() & 0xffc0) != 0x9fc0; // flush to zero, denormals are zero
    memset(frame->scratch, (int)part, STRIDE);
    for (size_t i = 0; i < STRIDE; i++)
        wrong += frame->scratch[i] != (uint8_t)part;
    done[part]++;
    atomic_fetch_sub(&inside[share], 1);
    if (part % 7 == 3)
        *frame->fault = SL_FAULT_INDEX;
}

static SliPool *open_pool(uint32_t threads, SlParallelFor parallel_for, void *context)
{
    const SliPoolOptions options = {threads, parallel_for, context};
    size_t bytes = (sli_pool_bytes(threads) + 63) / 64 * 64;
    SliPool *pool = aligned_alloc(64, bytes);
    SlError error;
    assert_non_null(pool);
    if (sli_pool_open(pool, &options, &error) != SL_OK)
        fail_msg("%s", error.text);
    return pool;
}

static void close_pool(SliPool *pool)
{
    sli_pool_close(pool);
    free(pool);
}

// Runs a job of so many parts; true if all were done once and nothing was wrong.
static bool runs(SliPool *pool, uint32_t parts)
{
    static uint32_t value = 42;
    void *operands[] = {&value};
    const int64_t symbols[] = {parts};
    const SliJob job = {.kernel = count,
                        .symbols = symbols,
                        .operands = operands,
                        .scratch = scratch,
                        .scratch_stride = STRIDE,
                        .parts = parts};
    expected_parts = parts;
    wrong = 0;
    for (uint32_t i = 0; i < MOST_PARTS; i++)
        done[i] = 0;
    unsigned before = sli_float_begin();
    bool complete = sli_pool_run(pool, &job);
    sli_float_end(before);
    uint32_t faults = sli_pool_faults(pool);
    bool right = complete && wrong == 0 && (faults != 0) == (parts > 3);
    for (uint32_t i = 0; i < MOST_PARTS; i++)
        right = right && done[i] == (i < parts);
    return right && sli_pool_faults(pool) == 0;
}

static void test_every_part_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
        SliPool *pool = open_pool(threads, NULL, NULL);
        for (uint32_t parts = 1; parts <= 40; parts++)
            assert_true(runs(pool, parts));
        assert_true(runs(pool, MOST_PARTS));
        sli_pool_wake(pool);
        assert_true(runs(pool, 2));
        close_pool(pool);
    }
}

// Many jobs one after the other, also with pauses in which the threads fall asleep.
static void test_many_jobs(void **state)
{
    (void)state;
    SliPool *pool = open_pool(3, NULL, NULL);
    for (uint32_t i = 0; i < 3000; i++) {
        assert_true(runs(pool, 1 + i % 9));
        if (i % 300 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    close_pool(pool);
}

static void test_open_and_close(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        SliPool *pool = open_pool(1 + i % 8, NULL, NULL);
        if (i % 3 == 0)
            sli_pool_wake(pool);
        if (i % 2 == 0)
            assert_true(runs(pool, 5));
        close_pool(pool);
    }
}

// ---- parallel_for -----------------------------------------------------------------------------

typedef struct Hook {
    uint32_t calls, n;
} Hook;

static void backwards(void *context, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
    Hook *hook = context;
    hook->calls++;
    hook->n = n;
    for (uint32_t i = n; i-- > 0;)
        fn(arg, i);
}

typedef struct Call {
    pthread_t thread;
    void (*fn)(void *, uint32_t);
    void *arg;
    uint32_t i;
    bool kept_mode;
} Call;

static void *call_one(void *argument)
{
    Call *call = argument;
    unsigned before = _mm_getcsr();
    call->fn(call->arg, call->i);
    call->kept_mode = _mm_getcsr() == before;
    return NULL;
}

static void on_new_threads(void *context, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
    Hook *hook = context;
    Call calls[MOST_THREADS];
    hook->calls++;
    hook->n = n;
    for (uint32_t i = 0; i < n; i++) {
        calls[i] = (Call){.fn = fn, .arg = arg, .i = i};
        pthread_create(&calls[i].thread, NULL, call_one, &calls[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(calls[i].thread, NULL);
        wrong += !calls[i].kept_mode;
    }
}

static void too_far(void *context, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
    backwards(context, n + 3, fn, arg);
}

static void not_at_all(void *context, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
    (void)context;
    (void)n;
    (void)fn;
    (void)arg;
}

static void test_hook(void **state)
{
    (void)state;
    const SlParallelFor hooks[] = {backwards, on_new_threads};
    for (size_t h = 0; h < 2; h++) {
        for (uint32_t threads = 1; threads <= 5; threads++) {
            Hook hook = {0};
            SliPool *pool = open_pool(threads, hooks[h], &hook);
            for (uint32_t parts = 1; parts < 20; parts++)
                assert_true(runs(pool, parts));
            // One part, or one thread: nobody needs to be asked.
            assert_int_equal(hook.calls, threads == 1 ? 0 : 18);
            assert_int_equal(hook.n, threads == 1 ? 0 : threads);
            close_pool(pool);
        }
    }
}

static void test_hook_breaks_its_word(void **state)
{
    (void)state;
    Hook hook = {0};
    SliPool *pool = open_pool(4, too_far, &hook);
    assert_true(runs(pool, 9));
    close_pool(pool);
    pool = open_pool(4, not_at_all, NULL);
    assert_false(runs(pool, 9));
    assert_true(runs(pool, 1));
    close_pool(pool);
}

// ---- fork -------------------------------------------------------------------------------------

static void test_fork(void **state)
{
    (void)state;
    SliPool *pool = open_pool(4, NULL, NULL);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(runs(pool, 9));
        pid_t child = fork();
        if (child == 0) {
            bool right = runs(pool, 9) && runs(pool, MOST_PARTS);
            sli_pool_wake(pool);
            sli_pool_close(pool);
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(runs(pool, 9) ? 0 : 1);
            int status = 1;
            waitpid(grandchild, &status, 0);
            _exit(right && status == 0 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_true(runs(pool, 9));
    close_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_once),      cmocka_unit_test(test_many_jobs),
        cmocka_unit_test(test_open_and_close),       cmocka_unit_test(test_hook),
        cmocka_unit_test(test_hook_breaks_its_word), cmocka_unit_test(test_fork),
    };
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x9fc0);
    has_modes = (_mm_getcsr() & 0xffc0) == 0x9fc0;
    _mm_setcsr(before);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
