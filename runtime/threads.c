// A context's threads: persistent workers that spin for a while and then sleep.
//
//              ticket: job number << 32 | parts left
//   caller ─▶ writes the job, sets the ticket ─▶ takes parts ─▶ waits until `done` is all parts
//   worker ─▶ sees parts left ─────────────────▶ takes parts ─▶ spins, sleeps on `wake`
//
// Whoever lowers the ticket by one owns a part, and with it the right to read the job: a job is
// complete only when every part of it was reported done, so it is not written while one is owned.
// A worker that comes late finds no parts and touches nothing.
#define _GNU_SOURCE // syscall

#include "runtime/internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LINE = 64,            // bytes that one processor owns at a time
    STACK_BYTES = 262144, // of a worker; kernels keep their scratch elsewhere
    SPIN_ROUNDS = 1500    // of tens of nanoseconds each, before sleeping
};

// What one share of the work owns.
typedef struct Share {
    _Alignas(LINE) uint32_t fault; // the fault word of its frames
    uint32_t number;
    SliPool *pool;
    pthread_t thread; // not of share 0
} Share;

struct SliPool {
    _Alignas(LINE) _Atomic uint64_t ticket;
    _Alignas(LINE) _Atomic uint32_t done; // parts of this job; a futex
    _Atomic uint32_t waiting;             // the caller sleeps on it
    _Alignas(LINE) _Atomic uint32_t wake; // counts calls for workers; a futex
    _Atomic uint32_t sleepers;            // workers on it, or about to be
    _Atomic uint32_t quit;
    _Alignas(LINE) SliJob job;
    uint32_t threads;
    uint32_t started; // workers
    uint32_t spin;
    uint32_t forks; // when it was made
    SlParallelFor parallel_for;
    void *parallel_context;
    Share shares[]; // [threads]
};

// Workers do not survive a fork: a child that finds another count runs alone.
static _Atomic uint32_t forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_errno;

static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }

static void watch_forks(void) { fork_errno = pthread_atfork(NULL, NULL, count_fork); }

static bool is_forked(const SliPool *pool)
{
    return atomic_load_explicit(&forks, memory_order_relaxed) != pool->forks;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, uint32_t n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n > INT_MAX ? INT_MAX : n, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static SlFrame frame_of(SliPool *pool, const SliJob *job, uint32_t share)
{
    return (SlFrame){.symbols = job->symbols,
                     .operands = job->operands,
                     .scratch = job->scratch + share * job->scratch_stride,
                     .fault = &pool->shares[share].fault};
}

// Takes one part of whatever job is open: its number, or -1 if there is none.
static int64_t take_part(SliPool *pool)
{
    uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    while ((uint32_t)ticket != 0) {
        if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket - 1,
                                                  memory_order_acquire, memory_order_acquire))
            return (int64_t)pool->job.parts - (uint32_t)ticket;
    }
    return -1;
}

static void report_done(SliPool *pool, uint32_t parts)
{
    if (atomic_fetch_add(&pool->done, 1) + 1 == parts && atomic_load(&pool->waiting))
        futex_wake(&pool->done, 1);
}

static void do_share(SliPool *pool, uint32_t share)
{
    unsigned before = sli_float_begin();
    for (int64_t part = take_part(pool); part >= 0; part = take_part(pool)) {
        const uint32_t parts = pool->job.parts;
        const SlFrame frame = frame_of(pool, &pool->job, share);
        pool->job.kernel(&frame, (uint32_t)part, parts);
        report_done(pool, parts);
    }
    sli_float_end(before);
}

static bool has_parts(SliPool *pool)
{
    return (uint32_t)atomic_load_explicit(&pool->ticket, memory_order_relaxed) != 0;
}

// Returns when there may be work, or it is time to go.
static void await_work(SliPool *pool)
{
    for (uint32_t i = 0; i < pool->spin; i++) {
        if (has_parts(pool) || atomic_load_explicit(&pool->quit, memory_order_relaxed))
            return;
        relax();
    }
    uint32_t seen = atomic_load(&pool->wake);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!has_parts(pool) && !atomic_load(&pool->quit))
        futex_wait(&pool->wake, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void *work(void *argument)
{
    Share *share = argument;
    SliPool *pool = share->pool;
    while (!atomic_load(&pool->quit)) {
        await_work(pool);
        do_share(pool, share->number);
    }
    return NULL;
}

static void call_workers(SliPool *pool, uint32_t n)
{
    atomic_fetch_add(&pool->wake, 1);
    if (atomic_load(&pool->sleepers) > 0)
        futex_wake(&pool->wake, n);
}

static void await_done(SliPool *pool, uint32_t parts)
{
    for (uint32_t i = 0; i < pool->spin; i++) {
        if (atomic_load_explicit(&pool->done, memory_order_acquire) == parts)
            return;
        relax();
    }
    atomic_store(&pool->waiting, 1);
    for (uint32_t done = atomic_load(&pool->done); done != parts; done = atomic_load(&pool->done))
        futex_wait(&pool->done, done);
    atomic_store(&pool->waiting, 0);
}

static void run_alone(SliPool *pool, const SliJob *job)
{
    const SlFrame frame = frame_of(pool, job, 0);
    for (uint32_t part = 0; part < job->parts; part++)
        job->kernel(&frame, part, job->parts);
}

static void do_hook_share(void *argument, uint32_t share)
{
    SliPool *pool = argument;
    if (share < pool->threads)
        do_share(pool, share);
}

bool sli_pool_run(SliPool *pool, const SliJob *job)
{
    bool has_others = pool->parallel_for || (pool->started > 0 && !is_forked(pool));
    if (job->parts == 1 || pool->threads == 1 || !has_others) {
        run_alone(pool, job);
        return true;
    }
    pool->job = *job;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    uint64_t number = (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store(&pool->ticket, number << 32 | job->parts);
    if (pool->parallel_for) {
        pool->parallel_for(pool->parallel_context, pool->threads, do_hook_share, pool);
        return atomic_load(&pool->done) == job->parts;
    }
    call_workers(pool, job->parts - 1);
    do_share(pool, 0);
    await_done(pool, job->parts);
    return true;
}

void sli_pool_wake(SliPool *pool)
{
    if (pool->started > 0 && pool->spin > 0 && !is_forked(pool))
        call_workers(pool, pool->started);
}

uint32_t sli_pool_faults(SliPool *pool)
{
    uint32_t faults = 0;
    for (uint32_t i = 0; i < pool->threads; i++) {
        faults |= pool->shares[i].fault;
        pool->shares[i].fault = 0;
    }
    return faults;
}

size_t sli_pool_bytes(uint32_t threads) { return sizeof(SliPool) + threads * sizeof(Share); }

// Signals of the program are not for these threads: a handler may want more stack.
static int start_worker(Share *share)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!failed)
        failed = pthread_create(&share->thread, &attributes, work, share);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

SlStatus sli_pool_open(SliPool *pool, const SliPoolOptions *options, SlError *error)
{
    if (pthread_once(&fork_once, watch_forks) != 0 || fork_errno != 0)
        return SL_FAIL(error, SL_E_MEMORY, "no memory for a fork handler");
    memset(pool, 0, sli_pool_bytes(options->threads));
    pool->threads = options->threads;
    pool->parallel_for = options->parallel_for;
    pool->parallel_context = options->parallel_context;
    // With more threads than processors, one that spins keeps another from working.
    pool->spin = options->threads <= sli_affinity_cpus() ? SPIN_ROUNDS : 0;
    pool->forks = atomic_load(&forks);
    for (uint32_t i = 0; i < options->threads; i++) {
        pool->shares[i].number = i;
        pool->shares[i].pool = pool;
    }
    for (uint32_t i = 1; i < options->threads && !options->parallel_for; i++) {
        int failed = start_worker(&pool->shares[i]);
        if (failed) {
            sli_pool_close(pool);
            return SL_FAIL(error, SL_E_THREAD, "thread %u of %u cannot be started: %s", i + 1,
                           options->threads, strerror(failed));
        }
        pool->started++;
    }
    return SL_OK;
}

void sli_pool_close(SliPool *pool)
{
    if (pool->started == 0 || is_forked(pool))
        return;
    atomic_store(&pool->quit, 1);
    call_workers(pool, pool->started);
    for (uint32_t i = 1; i <= pool->started; i++)
        pthread_join(pool->shares[i].thread, NULL);
    pool->started = 0;
}
