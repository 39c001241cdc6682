// Independent chains of multiply-adds, as many as hide the latency and still fit the registers.
// Compiled with -march=native -ffp-contract=fast and VECTOR_BYTES, the width of the machine's
// widest vectors; else it measures something else.
#include "bench/fma.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { LANES = VECTOR_BYTES / sizeof(float), CHAINS = 12, MOST_THREADS = 256 };
typedef float Lanes __attribute__((vector_size(VECTOR_BYTES)));

#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

static volatile float factor_source = 0.5F;
static volatile float addend_source = 1.0F;

typedef struct Team {
    uint64_t rounds;
    uint32_t threads;
    _Atomic uint32_t ready;
    _Atomic uint32_t done;
} Team;

static float do_rounds(uint64_t rounds)
{
    const Lanes factor = (Lanes){0} + factor_source;
    const Lanes addend = (Lanes){0} + addend_source;
#define START(i) Lanes x##i = addend * (float)(i);
    EACH_CHAIN(START)
    for (uint64_t r = 0; r < rounds; r++) {
#define STEP(i) x##i = x##i * factor + addend;
        EACH_CHAIN(STEP)
    }
    Lanes sum = {0};
#define SUM(i) sum += x##i;
    EACH_CHAIN(SUM)
    return sum[0];
}

static void await(_Atomic uint32_t *count, uint32_t n)
{
    while (atomic_load_explicit(count, memory_order_acquire) < n) {
    }
}

static void *work(void *argument)
{
    Team *team = argument;
    atomic_fetch_add(&team->ready, 1);
    await(&team->ready, team->threads);
    volatile float sink = do_rounds(team->rounds);
    (void)sink;
    atomic_fetch_add(&team->done, 1);
    return NULL;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

uint64_t fma_operations(void) { return 2 * LANES * CHAINS; }

uint64_t fma_time(uint32_t threads, uint64_t rounds)
{
    pthread_t others[MOST_THREADS];
    Team team = {.rounds = rounds, .threads = threads};
    uint32_t started = 1;
    if (threads == 0 || threads > MOST_THREADS)
        return 0;
    while (started < threads && !pthread_create(&others[started], NULL, work, &team))
        started++;
    if (started < threads)
        atomic_store(&team.ready, threads); // those that were started must not wait for ever
    await(&team.ready, threads - 1);
    uint64_t begin = now();
    if (started == threads) {
        work(&team);
        await(&team.done, threads);
    }
    uint64_t taken = now() - begin;
    for (uint32_t i = 1; i < started; i++)
        pthread_join(others[i], NULL);
    return started == threads ? taken : 0;
}
