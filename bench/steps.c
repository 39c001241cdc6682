// Times every step of a compiled model while the runtime runs it, and prints one line a step.
//
//   steps MODEL.so [threads [size [rounds]]]
//
// `size` is the value of every free size, such as the batch. Between the runtime and the kernels
// stands timed_kernel(): a copy of the model's table names it as the kernel of every step, so the
// pool, the parts and the caches are those of any run. Steps follow one another, each begins when
// all parts of the one before are done; so one counter says which step is running.
//
// Each round is a run without timers, a burst of multiply-adds, and a run with timers. Printed are
// medians over rounds, in nanoseconds, tab-separated: a step's wall time (from the first part's
// begin to the last one's end), the processors' time that its parts took, which others on the
// machine hardly change, and the pause before it.
#include "bench/fma.h"
#include "runtime/abi.h"
#include "runtime/sluice.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FMA_ROUNDS = 200000 }; // some milliseconds

// One step in the round that is running.
typedef struct StepTime {
    _Atomic uint64_t begin; // of the first part
    _Atomic uint64_t end;   // of the last part
    _Atomic uint64_t cpu;   // over parts
    _Atomic uint32_t parts; // done
} StepTime;

// Kernels have no argument of their own: what timed_kernel() needs is here.
static struct {
    SlAbiKernel *kernels; // [nsteps]
    StepTime *times;      // [nsteps]
    _Atomic uint32_t step;
} running;

static const SlAbiModel *timed_table;
static const SlAbiEntry *entry_of_steps; // in the table as it was; its names are printed

// Medians' sources, [step * rounds + round].
typedef struct Samples {
    uint64_t *wall;
    uint64_t *cpu;
    uint64_t *pause;
    uint64_t *plain; // [rounds], whole runs without timers
    uint64_t *timed; // [rounds], with
    uint64_t *fma;   // [rounds]
    uint32_t rounds;
} Samples;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "steps: %s: %s\n", what, why);
    exit(3);
}

static void *allocate(size_t n, size_t bytes)
{
    void *memory = calloc(n ? n : 1, bytes);
    if (!memory)
        die("memory", "there is none");
    return memory;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static uint64_t now(void) { return read_clock(CLOCK_MONOTONIC); }

// ---- the table with timers ----

static void timed_kernel(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    uint32_t step = atomic_load(&running.step);
    StepTime *time = &running.times[step];
    uint64_t begin = now();
    uint64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    running.kernels[step](frame, part, nparts);
    cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    uint64_t end = now();
    uint64_t seen = atomic_load(&time->begin);
    while ((seen == 0 || begin < seen) &&
           !atomic_compare_exchange_weak(&time->begin, &seen, begin)) {
    }
    seen = atomic_load(&time->end);
    while (end > seen && !atomic_compare_exchange_weak(&time->end, &seen, end)) {
    }
    atomic_fetch_add(&time->cpu, cpu);
    if (atomic_fetch_add(&time->parts, 1) + 1 == nparts)
        atomic_store(&running.step, step + 1);
}

// Copies `n` structs that say their own size into as many of `bytes`; the caller writes the size.
static void *copy_structs(const void *from, uint32_t n, size_t bytes)
{
    uint8_t *to = allocate(n, bytes);
    uint32_t own;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&own, from, sizeof own);
        memcpy(to + i * bytes, from, own < bytes ? own : bytes);
        from = (const uint8_t *)from + own;
    }
    return to;
}

static SlAbiEntry *copy_entries(const SlAbiVariant *variant)
{
    SlAbiEntry *entries = copy_structs(variant->entries, variant->nentries, sizeof *entries);
    for (uint32_t i = 0; i < variant->nentries; i++) {
        SlAbiStep *steps = copy_structs(entries[i].steps, entries[i].nsteps, sizeof *steps);
        for (uint32_t k = 0; k < entries[i].nsteps; k++) {
            steps[k].size = sizeof *steps;
            steps[k].kernel = timed_kernel;
        }
        entries[i].size = sizeof *entries;
        entries[i].steps = steps;
    }
    return entries;
}

static void keep_kernels(const SlAbiEntry *entry)
{
    SlAbiStep *steps = copy_structs(entry->steps, entry->nsteps, sizeof *steps);
    running.times = allocate(entry->nsteps, sizeof *running.times);
    running.kernels = allocate(entry->nsteps, sizeof *running.kernels);
    for (uint32_t i = 0; i < entry->nsteps; i++)
        running.kernels[i] = steps[i].kernel;
    free(steps);
    entry_of_steps = entry;
}

// Timers for every variant; what is kept is of the one that the runtime chose. Tables live as long
// as the process.
static void make_timed_table(const SlModel *model)
{
    const SlAbiModel *table = sl_model_table(model);
    SlAbiModel *copy = copy_structs(table, 1, sizeof *copy);
    SlAbiVariant *variants = copy_structs(table->variants, table->nvariants, sizeof *variants);
    const SlAbiVariant *chosen = NULL;
    for (uint32_t i = 0; i < table->nvariants && !chosen; i++) {
        if (!strcmp(variants[i].target, sl_model_text(model, SL_TEXT_TARGET)))
            chosen = &variants[i];
    }
    if (!chosen)
        die("the table", "no variant is the chosen one");
    keep_kernels(chosen->entries);
    for (uint32_t i = 0; i < table->nvariants; i++) {
        variants[i].size = sizeof *variants;
        variants[i].entries = copy_entries(&variants[i]);
    }
    copy->size = sizeof *copy;
    copy->variants = variants;
    timed_table = copy;
}

static const SlAbiModel *query_timed(uint32_t max_abi)
{
    return timed_table->abi <= max_abi ? timed_table : NULL;
}

// ---- runs ----

// A model with all that a run of its first entry takes.
typedef struct Subject {
    SlModel *model;
    SlContext *context;
    SlEntryInfo entry;
    SlTensor *tensors; // [ninputs + noutputs]
} Subject;

static void check(const char *what, SlStatus status, const SlError *error)
{
    if (status)
        die(what, error->text);
}

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525U + 1013904223U; }

static void fill(const SlTensorInfo *info, SlTensor *tensor)
{
    static const uint64_t bytes[] = {sizeof(float), sizeof(int32_t), 1};
    uint32_t state = 1;
    int64_t range = info->flags & SL_HAS_RANGE ? info->high - info->low : 1;
    int64_t low = info->flags & SL_HAS_RANGE ? info->low : 0;
    uint64_t n = tensor->bytes / bytes[info->dtype];
    for (uint64_t i = 0; i < n; i++) {
        uint32_t x = next_random(&state) >> 8;
        if (info->dtype == SL_F32)
            ((float *)tensor->data)[i] = (float)x / 8388608.0F - 1;
        else if (info->dtype == SL_I32)
            ((int32_t *)tensor->data)[i] = (int32_t)(low + x % range);
        else
            ((uint8_t *)tensor->data)[i] = 1;
    }
}

static void make_tensor(const Subject *s, uint32_t i, const int64_t *symbols)
{
    static const uint64_t bytes[] = {sizeof(float), sizeof(int32_t), 1};
    bool is_input = i < s->entry.ninputs;
    uint32_t output = i - s->entry.ninputs;
    int64_t *shape = allocate(SL_MAX_RANK, sizeof *shape);
    SlTensorInfo info;
    SlError error;
    if (is_input) {
        sl_input_info(s->model, 0, i, &info, NULL);
        check("input", sl_input_shape(s->model, 0, i, symbols, s->entry.nsymbols, shape, &error),
              &error);
    } else {
        sl_output_info(s->model, 0, output, &info, NULL);
        check("output",
              sl_output_shape(s->model, 0, output, symbols, s->entry.nsymbols, shape, &error),
              &error);
    }
    SlTensor *tensor = &s->tensors[i];
    *tensor = (SlTensor){.bytes = bytes[info.dtype], .shape = shape, .rank = info.rank};
    tensor->dtype = info.dtype;
    for (uint32_t k = 0; k < info.rank; k++)
        tensor->bytes *= (uint64_t)shape[k];
    tensor->data = allocate(tensor->bytes, 1);
    if (is_input)
        fill(&info, tensor);
}

static void prepare(Subject *s, int32_t threads, int64_t size)
{
    const SlContextOptions options = {.threads = threads};
    int64_t symbols[SL_MAX_SYMBOLS];
    SlError error;
    check("context", sl_context_open(s->model, &options, &s->context, &error), &error);
    check("entry", sl_entry_info(s->model, 0, &s->entry, &error), &error);
    s->tensors = allocate(s->entry.ninputs + s->entry.noutputs, sizeof *s->tensors);
    for (uint32_t i = 0; i < s->entry.nsymbols; i++)
        symbols[i] = size;
    for (uint32_t i = 0; i < s->entry.ninputs + s->entry.noutputs; i++)
        make_tensor(s, i, symbols);
}

static uint64_t run(const Subject *s)
{
    SlError error;
    uint64_t begin = now();
    SlStatus status = sl_run(s->context, 0, s->tensors, s->entry.ninputs,
                             s->tensors + s->entry.ninputs, s->entry.noutputs, &error);
    uint64_t taken = now() - begin;
    check("run", status, &error);
    return taken;
}

static uint64_t run_timed(const Subject *s, const Samples *samples, uint32_t round)
{
    memset(running.times, 0, s->entry.nsteps * sizeof *running.times);
    atomic_store(&running.step, 0);
    uint64_t before = now();
    uint64_t taken = run(s);
    for (uint32_t i = 0; i < s->entry.nsteps; i++) {
        size_t at = (size_t)i * samples->rounds + round;
        StepTime *time = &running.times[i];
        samples->wall[at] = time->end - time->begin;
        samples->cpu[at] = time->cpu;
        samples->pause[at] = time->begin - before;
        before = time->end;
    }
    return taken;
}

// ---- results ----

static int compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x;
    uint64_t b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

// Sorts them too: the best is the first then.
static uint64_t median(uint64_t *values, uint32_t n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

static void print(const Subject *s, const Samples *samples, uint32_t threads)
{
    const SlAbiEntry *entry = entry_of_steps;
    const uint32_t n = samples->rounds;
    const SlAbiStep *steps = copy_structs(entry->steps, entry->nsteps, sizeof *steps);
    double operations = (double)fma_operations() * FMA_ROUNDS * threads;
    uint64_t plain = median(samples->plain, n);
    uint64_t timed = median(samples->timed, n);
    uint64_t fma = median(samples->fma, n);
    printf("# target\t%s\n# threads\t%u\n# rounds\t%u\n", sl_model_text(s->model, SL_TEXT_TARGET),
           threads, n);
    printf("# plain ns\t%" PRIu64 "\tbest\t%" PRIu64 "\n", plain, samples->plain[0]);
    printf("# timed ns\t%" PRIu64 "\tbest\t%" PRIu64 "\n", timed, samples->timed[0]);
    printf("# fma GFLOP/s\t%.1f\tbest\t%.1f\n", operations / (double)fma,
           operations / (double)samples->fma[0]);
    printf("# step\tparts\twall\tcpu\tbest cpu\tpause\tname\n");
    for (uint32_t i = 0; i < entry->nsteps; i++) {
        size_t at = (size_t)i * n;
        uint64_t wall = median(samples->wall + at, n);
        uint64_t cpu = median(samples->cpu + at, n);
        uint64_t pause = median(samples->pause + at, n);
        printf("%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", i,
               running.times[i].parts, wall, cpu, samples->cpu[at], pause, steps[i].name);
    }
}

static Samples new_samples(uint32_t nsteps, uint32_t rounds)
{
    const size_t n = (size_t)nsteps * rounds;
    return (Samples){.wall = allocate(n, sizeof(uint64_t)),
                     .cpu = allocate(n, sizeof(uint64_t)),
                     .pause = allocate(n, sizeof(uint64_t)),
                     .plain = allocate(rounds, sizeof(uint64_t)),
                     .timed = allocate(rounds, sizeof(uint64_t)),
                     .fma = allocate(rounds, sizeof(uint64_t)),
                     .rounds = rounds};
}

static int32_t number(int argc, char **argv, int i, int32_t otherwise)
{
    if (argc <= i)
        return otherwise;
    char *end;
    long value = strtol(argv[i], &end, 10);
    if (*end || value < 1 || value > 1000000)
        die(argv[i], "a number from 1 to 1000000 is expected");
    return (int32_t)value;
}

int main(int argc, char **argv)
{
    Subject plain = {0};
    Subject timed = {0};
    SlError error;
    if (argc < 2 || argc > 5) {
        fprintf(stderr, "usage: steps MODEL.so [threads [size [rounds]]]\n");
        return 2;
    }
    const int32_t threads = number(argc, argv, 2, 1);
    const int32_t size = number(argc, argv, 3, 1);
    const SlOpenOptions options = {.weights_file = argv[1]};
    check(argv[1], sl_model_open(argv[1], NULL, &plain.model, &error), &error);
    make_timed_table(plain.model);
    check(argv[1], sl_model_from_query(query_timed, &options, &timed.model, &error), &error);
    prepare(&plain, threads, size);
    prepare(&timed, threads, size);
    Samples samples = new_samples(timed.entry.nsteps, (uint32_t)number(argc, argv, 4, 15));
    run(&plain);
    run(&timed);
    for (uint32_t i = 0; i < samples.rounds; i++) {
        samples.plain[i] = run(&plain);
        samples.fma[i] = fma_time((uint32_t)threads, FMA_ROUNDS);
        if (samples.fma[i] == 0)
            die("threads", "they cannot be started");
        samples.timed[i] = run_timed(&timed, &samples, i);
    }
    print(&timed, &samples, (uint32_t)threads);
    return 0;
}
