// Runs: the same answer wherever buffers lie and whoever calls, no heap and no system call but
// futex, and nothing of the caller's is disturbed.
#define _GNU_SOURCE // MAP_ANONYMOUS, sched_setaffinity

#include "runtime/sluice.h"

#include "support.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static SlModel *model;

static int open_model(void **state)
{
    (void)state;
    model = open_linked();
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    return (int)sl_model_close(model);
}

static SlContext *open_context(const SlContextOptions *options)
{
    SlContext *context;
    SlError error;
    if (sl_context_open(model, options, &context, &error) != SL_OK)
        fail_msg("%s", error.text);
    return context;
}

static SlContext *open_threads(int32_t threads)
{
    const SlContextOptions options = {.threads = threads};
    return open_context(&options);
}

static SlStatus run_bag(SlContext *context, Bag *bag, SlError *error)
{
    return sl_run(context, TINY_BAG, bag->inputs, 3, bag->outputs, 2, error);
}

// Without cmocka: for other threads and processes.
static bool runs_right(SlContext *context, uint32_t batch, uint32_t seed)
{
    Bag bag;
    bag_make(&bag, batch, seed, 1);
    return run_bag(context, &bag, NULL) == SL_OK && bag_is_right(&bag);
}

// ---- heap calls, counted in the whole process -------------------------------------------------

static atomic_ullong heap_calls;

#if !SANITIZED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
    heap_calls++;
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    heap_calls++;
    return __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    heap_calls++;
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    heap_calls++;
    return __libc_memalign(align, bytes);
}

void free(void *memory)
{
    heap_calls++;
    __libc_free(memory);
}
#endif

static void test_no_heap(void **state)
{
    (void)state;
    static Bag good;
    static Bag bad;
    if (SANITIZED)
        skip();
    for (int32_t threads = 1; threads <= 4; threads++) {
        unsigned long long before = heap_calls;
        SlContext *context = open_threads(threads);
        const int64_t most = BAG_MOST;
        assert_int_equal(sl_bind(context, TINY_BAG, &most, 1, NULL), SL_OK);
        assert_true(heap_calls > before); // the counter counts
        before = heap_calls;
        for (uint32_t i = 0; i < 500; i++) {
            SlError error;
            bag_make(&good, 1 + i % BAG_MOST, i, 1);
            assert_int_equal(run_bag(context, &good, &error), SL_OK);
            bag_make(&bad, 3, i, 1);
            bad.ids[i % 12] = -1;
            assert_int_equal(run_bag(context, &bad, &error), SL_E_RANGE);
        }
        assert_true(heap_calls == before);
        assert_true(bag_is_right(&good));
        assert_int_equal(sl_context_close(context), SL_OK);
    }
}

// ---- system calls -----------------------------------------------------------------------------

// From here on any system call but futex, and what ends the process, kills it.
static void forbid_system_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        _exit(2);
}

static void test_no_system_calls(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    for (int forbidden = 0; forbidden < 2; forbidden++) {
        pid_t child = fork();
        if (child == 0) {
            SlContext *context = open_threads(3);
            const int64_t most = BAG_MOST;
            sl_bind(context, TINY_BAG, &most, 1, NULL);
            usleep(100000); // the threads have begun, which takes calls of libc's own
            forbid_system_calls();
            if (forbidden)
                getppid(); // the filter works
            for (uint32_t i = 0; i < 2000; i++) {
                if (!runs_right(context, 1 + i % BAG_MOST, i))
                    _exit(1);
                // Long enough for the threads to fall asleep.
                for (volatile int k = 0; i % 100 == 0 && k < 1000000; k++) {
                }
            }
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
            skip(); // no seccomp here
        assert_int_equal(forbidden ? WIFSIGNALED(status) : WIFEXITED(status), 1);
        assert_true(forbidden || WEXITSTATUS(status) == 0);
    }
}

// ---- where buffers lie ------------------------------------------------------------------------

// `n` bytes that end at a page nobody may touch.
static void *guarded(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (n + page - 1) / page * page;
    char *map =
        mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + whole, page, PROT_NONE), 0);
    return map + whole - n;
}

static void test_guarded_buffers(void **state)
{
    (void)state;
    static Bag bag;
    for (uint32_t batch = 1; batch <= BAG_MOST; batch += 5) {
        SlContext *context = open_threads(2);
        bag_make(&bag, batch, batch, 1);
        for (int i = 0; i < 3; i++) {
            void *copy = guarded(bag.inputs[i].bytes);
            memcpy(copy, bag.inputs[i].data, bag.inputs[i].bytes);
            bag.inputs[i].data = copy;
        }
        float *sum = guarded(bag.outputs[0].bytes);
        float *total = guarded(bag.outputs[1].bytes);
        bag.outputs[0].data = sum;
        bag.outputs[1].data = total;
        assert_int_equal(run_bag(context, &bag, NULL), SL_OK);
        assert_memory_equal(sum, bag.expected, bag.outputs[0].bytes);
        assert_true(*total == bag.expected_total);
        assert_int_equal(sl_context_close(context), SL_OK);
    }
}

static void test_every_offset(void **state)
{
    (void)state;
    static _Alignas(64) char memory[5][4096];
    static Bag bag;
    SlContext *context = open_threads(2);
    for (size_t offset = 0; offset < 64; offset++) {
        bag_make(&bag, 11, (uint32_t)offset, 1);
        for (int i = 0; i < 5; i++) {
            SlTensor *tensor = i < 3 ? &bag.inputs[i] : &bag.outputs[i - 3];
            size_t element = tensor->dtype == SL_BOOL ? 1 : 4;
            char *moved = memory[i] + offset / element * element;
            memcpy(moved, tensor->data, tensor->bytes);
            tensor->data = moved;
        }
        assert_int_equal(run_bag(context, &bag, NULL), SL_OK);
        assert_memory_equal(bag.outputs[0].data, bag.expected, bag.outputs[0].bytes);
        assert_memory_equal(bag.outputs[1].data, &bag.expected_total, 4);
    }
    assert_int_equal(sl_context_close(context), SL_OK);
}

// ---- inputs -----------------------------------------------------------------------------------

static void test_defaults(void **state)
{
    (void)state;
    float a[3 * 9];
    float b[9];
    float c[9];
    int32_t d[3] = {10, -20, 30};
    float half[3 * 5];
    uint8_t sign[3];
    const int64_t a_shape[] = {3, 9};
    const int64_t b_shape[] = {9};
    const int64_t d_shape[] = {3};
    const int64_t half_shape[] = {3, 5};
    for (int i = 0; i < 27; i++)
        a[i] = (float)(i - 13);
    for (int i = 0; i < 9; i++) {
        b[i] = (float)i / 8;
        c[i] = (float)i * 100;
    }
    SlContext *context = open_threads(2);
    for (int given = 0; given < 4; given++) {
        const SlTensor c_view = {c, sizeof c, b_shape, NULL, 1, SL_F32};
        const SlTensor d_view = {d, sizeof d, d_shape, NULL, 1, SL_I32};
        const SlTensor left_out = {0};
        const SlTensor inputs[] = {{a, sizeof a, a_shape, NULL, 2, SL_F32},
                                   {b, sizeof b, b_shape, NULL, 1, SL_F32},
                                   given & 1 ? c_view : left_out,
                                   given & 2 ? d_view : left_out};
        const SlTensor outputs[] = {{half, sizeof half, half_shape, NULL, 2, SL_F32},
                                    {sign, sizeof sign, d_shape, NULL, 1, SL_BOOL}};
        SlError error;
        assert_int_equal(sl_run(context, TINY_PAIR, inputs, 4, outputs, 2, &error), SL_OK);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 5; j++) {
                float extra = (given & 1 ? c[j] : 0.5f) + (given & 2 ? (float)d[i] : -3.0f);
                assert_true(half[i * 5 + j] == a[i * 9 + j] + b[j] + extra);
            }
            assert_int_equal(sign[i], a[i * 9] < 0);
        }
    }
    // The mask of bag is true where it is left out.
    static Bag bag;
    bag_make(&bag, 6, 1, 1);
    memset(bag.mask, 255, sizeof bag.mask);
    assert_int_equal(run_bag(context, &bag, NULL), SL_OK);
    static float all_true[BAG_MOST * TINY_WIDTH];
    memcpy(all_true, bag.sum, sizeof all_true);
    bag.inputs[2] = (SlTensor){0};
    bag.sum[0] = -1;
    assert_int_equal(run_bag(context, &bag, NULL), SL_OK);
    assert_memory_equal(bag.sum, all_true, sizeof all_true);
    assert_int_equal(sl_context_close(context), SL_OK);
}

static void test_fault(void **state)
{
    (void)state;
    float at[] = {3, 7, 0};
    float picked[3];
    const int64_t shape[] = {3};
    const SlTensor input = {at, sizeof at, shape, NULL, 1, SL_F32};
    const SlTensor output = {picked, sizeof picked, shape, NULL, 1, SL_F32};
    SlContext *context = open_threads(2);
    SlError error;
    for (int round = 0; round < 3; round++) {
        at[1] = 7;
        assert_int_equal(sl_run(context, TINY_PICK, &input, 1, &output, 1, &error), SL_OK);
        assert_true(picked[0] == 3.0f / 16 - 1 && picked[1] == 7.0f / 16 - 1 && picked[2] == -1);
        at[1] = 8;
        assert_int_equal(sl_run(context, TINY_PICK, &input, 1, &output, 1, &error), SL_E_FAULT);
        assert_string_equal(error.text, "step 'pick': an index lay outside its table");
    }
    assert_int_equal(sl_context_close(context), SL_OK);
}

// ---- memory -----------------------------------------------------------------------------------

typedef struct Counter {
    uint64_t now, peak, largest, refuse_over;
    int calls;
} Counter;

static void *count_allocate(void *context, size_t bytes, size_t align)
{
    Counter *counter = context;
    if (counter->refuse_over && bytes > counter->refuse_over)
        return NULL;
    counter->calls++;
    counter->now += bytes;
    counter->largest = bytes > counter->largest ? bytes : counter->largest;
    counter->peak = counter->now > counter->peak ? counter->now : counter->peak;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_release(void *context, void *memory, size_t bytes)
{
    Counter *counter = context;
    counter->now -= bytes;
    free(memory);
}

// Whatever sizes come, memory never exceeds what the largest needs; trimming gives it back.
static void test_memory_grows_only(void **state)
{
    (void)state;
    Counter counter = {0};
    const SlAllocator allocator = {&counter, count_allocate, count_release};
    const SlContextOptions options = {.threads = 2, .allocator = &allocator};
    SlContext *context = open_context(&options);
    const uint64_t block = counter.now;
    const int64_t most = BAG_MOST;
    uint64_t plan;
    assert_int_equal(sl_arena_bytes(context, TINY_BAG, &most, 1, &plan, NULL), SL_OK);
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t random = i * 2654435761u >> 16;
        assert_true(runs_right(context, 1 + random % BAG_MOST, i));
        assert_true(counter.now <= block + plan);
    }
    assert_int_equal(counter.peak, block + plan);
    assert_int_equal(sl_trim(context), SL_OK);
    assert_int_equal(counter.now, block);
    assert_true(runs_right(context, 2, 1));
    assert_true(counter.now > block && counter.now < block + plan);
    assert_int_equal(sl_context_close(context), SL_OK);
    assert_int_equal(counter.now, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    Counter counter = {.refuse_over = 1};
    const SlAllocator allocator = {&counter, count_allocate, count_release};
    const SlContextOptions options = {.threads = 2, .allocator = &allocator};
    SlContext *context;
    SlError error;
    assert_int_equal(sl_context_open(model, &options, &context, &error), SL_E_MEMORY);
    assert_null(context);
    counter.refuse_over = 0;
    context = open_context(&options);
    assert_true(runs_right(context, 2, 1));
    counter.refuse_over = 4000;
    static Bag bag;
    bag_make(&bag, BAG_MOST, 1, 1);
    assert_int_equal(run_bag(context, &bag, &error), SL_E_MEMORY);
    assert_non_null(strstr(error.text, "no memory for"));
    assert_true(bag_is_untouched(&bag));
    assert_true(runs_right(context, 2, 1));
    counter.refuse_over = 0;
    assert_int_equal(run_bag(context, &bag, &error), SL_OK);
    assert_true(bag_is_right(&bag));
    assert_int_equal(sl_context_close(context), SL_OK);
    assert_int_equal(counter.now, 0);
    // Nor is a model left half open.
    const SlOpenOptions model_options = {.allocator = &allocator};
    SlModel *other;
    counter.refuse_over = 1;
    assert_int_equal(sl_model_from_query(tiny_query, &model_options, &other, &error),
                     SL_E_WEIGHTS_MISSING);
    assert_int_equal(counter.now, 0);
}

// An arena of the caller's: never read or written outside, wherever it begins.
static void test_arena(void **state)
{
    (void)state;
    enum { MARGIN = 128, CANARY = 0x5a };
    SlContext *asking = open_threads(3);
    const int64_t batch = 13;
    uint64_t need;
    assert_int_equal(sl_arena_bytes(asking, TINY_BAG, &batch, 1, &need, NULL), SL_OK);
    assert_int_equal(sl_context_close(asking), SL_OK);
    unsigned char *memory = malloc(need + 3 * MARGIN);
    unsigned char *base = memory + (64 - (uintptr_t)memory % 64) % 64 + MARGIN - 64;
    for (int slack = -65; slack <= 65; slack++) {
        for (size_t shift = 0; shift < 64; shift += slack % 13 ? 21 : 1) {
            size_t skip = (64 - shift) % 64;
            size_t bytes = need + (uint64_t)slack + skip;
            memset(memory, CANARY, need + 3 * MARGIN);
            const SlContextOptions options = {
                .threads = 3, .arena = base + shift, .arena_bytes = bytes};
            SlContext *context = open_context(&options);
            static Bag bag;
            SlError error;
            bag_make(&bag, (uint32_t)batch, 2, 1);
            SlStatus status = run_bag(context, &bag, &error);
            assert_int_equal(status, slack < 0 ? SL_E_ARENA : SL_OK);
            assert_true(slack < 0 ? bag_is_untouched(&bag) : bag_is_right(&bag));
            // A smaller run still fits.
            assert_true(runs_right(context, 1, 3));
            assert_int_equal(sl_trim(context), SL_OK); // not ours to give back
            assert_true(runs_right(context, 1, 3));
            assert_int_equal(sl_context_close(context), SL_OK);
            for (unsigned char *at = memory; at < base + shift; at++)
                assert_int_equal(*at, CANARY);
            for (unsigned char *at = base + shift + bytes; at < memory + need + 3 * MARGIN; at++)
                assert_int_equal(*at, CANARY);
        }
    }
    free(memory);
    char word[32];
    SlError error;
    static unsigned char small[64];
    static Bag bag;
    const SlContextOptions options = {.threads = 3, .arena = small, .arena_bytes = sizeof small};
    SlContext *context = open_context(&options);
    bag_make(&bag, (uint32_t)batch, 2, 1);
    assert_int_equal(run_bag(context, &bag, &error), SL_E_ARENA);
    snprintf(word, sizeof word, "%llu bytes", (unsigned long long)need);
    assert_non_null(strstr(error.text, word));
    assert_int_equal(sl_context_close(context), SL_OK);
}

// Of this process alone: pages of files come and go with the system's mood.
static uint64_t own_pages(void)
{
    unsigned long long size;
    unsigned long long resident = 0;
    unsigned long long shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu %llu", &size, &resident, &shared), 3);
    fclose(file);
    return resident - shared;
}

static void test_flat(void **state)
{
    (void)state;
    static Bag good;
    static Bag bad;
    if (SANITIZED)
        skip(); // which keep what is freed, and find leaks themselves
    SlContext *context = open_threads(2);
    SlError error;
    bag_make(&good, 2, 1, 1);
    bag_make(&bad, 2, 1, 1);
    bad.ids[3] = 6;
    uint64_t before = 0;
    for (uint32_t i = 0; i < 110000; i++) {
        if (i == 1000)
            before = own_pages();
        assert_int_equal(run_bag(context, &good, &error), SL_OK);
        if (i % 11 == 0)
            assert_int_equal(run_bag(context, &bad, &error), SL_E_RANGE);
    }
    assert_true(own_pages() <= before + 16);
    for (int i = 0; i < 200; i++) { // opening and closing is flat too
        assert_int_equal(sl_context_close(context), SL_OK);
        context = open_threads(2);
        if (i == 50)
            before = own_pages();
    }
    assert_true(own_pages() <= before + 64);
    assert_int_equal(sl_context_close(context), SL_OK);
}

// ---- threads of the caller --------------------------------------------------------------------

typedef struct Caller {
    pthread_t thread;
    uint32_t number;
    SlContext *context; // or NULL: opens its own
    uint32_t wrong, busy;
} Caller;

enum { CALLERS = 16, CALLER_RUNS = SANITIZED ? 200 : 1000 };

static void *call_often(void *argument)
{
    Caller *caller = argument;
    SlContext *context = caller->context;
    const SlContextOptions options = {.threads = 1 + (int32_t)caller->number % 3};
    if (!context && sl_context_open(model, &options, &context, NULL) != SL_OK)
        caller->wrong++;
    for (uint32_t i = 0; i < CALLER_RUNS && context; i++) {
        Bag bag;
        bag_make(&bag, 1 + (i + caller->number) % BAG_MOST, i * CALLERS + caller->number, 1);
        SlStatus status = run_bag(context, &bag, NULL);
        if (status == SL_E_BUSY)
            caller->busy++;
        if (status == SL_E_BUSY ? !bag_is_untouched(&bag) : status != SL_OK || !bag_is_right(&bag))
            caller->wrong++;
    }
    if (!caller->context)
        sl_context_close(context);
    return NULL;
}

static uint32_t run_callers(Caller *callers, SlContext *context)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (Caller){.number = i, .context = context};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
    }
    return wrong;
}

static void test_one_model_16_threads(void **state)
{
    (void)state;
    Caller callers[CALLERS];
    assert_int_equal(run_callers(callers, NULL), 0);
    for (uint32_t i = 0; i < CALLERS; i++)
        assert_int_equal(callers[i].busy, 0);
}

// One context for all: refused or right, never mixed up.
static void test_one_context_16_threads(void **state)
{
    (void)state;
    Caller callers[CALLERS];
    SlContext *context = open_threads(2);
    assert_int_equal(run_callers(callers, context), 0);
    assert_int_equal(sl_context_close(context), SL_OK);
}

// A context in use, seen from inside its own parallel_for.
typedef struct Inside {
    SlContext *context;
    SlStatus run, bind, trim, close, close_model;
} Inside;

static void call_inside(void *context, uint32_t n, void (*fn)(void *, uint32_t), void *arg)
{
    Inside *inside = context;
    static Bag bag;
    const int64_t batch = 2;
    bag_make(&bag, 2, 1, 1);
    inside->run = run_bag(inside->context, &bag, NULL);
    inside->bind = sl_bind(inside->context, TINY_BAG, &batch, 1, NULL);
    inside->trim = sl_trim(inside->context);
    inside->close = sl_context_close(inside->context);
    inside->close_model = sl_model_close(model);
    for (uint32_t i = n; i-- > 0;)
        fn(arg, i);
}

static void test_busy(void **state)
{
    (void)state;
    Inside inside = {0};
    const SlContextOptions options = {
        .threads = 3, .parallel_for = call_inside, .parallel_context = &inside};
    inside.context = open_context(&options);
    assert_true(runs_right(inside.context, 8, 1));
    assert_int_equal(inside.run, SL_E_BUSY);
    assert_int_equal(inside.bind, SL_E_BUSY);
    assert_int_equal(inside.trim, SL_E_BUSY);
    assert_int_equal(inside.close, SL_E_BUSY);
    assert_int_equal(inside.close_model, SL_E_BUSY);
    assert_int_equal(sl_context_close(inside.context), SL_OK);
}

static void *run_on_small_stack(void *argument)
{
    Caller *caller = argument;
    static Bag bag;
    static SlError error;
    for (uint32_t i = 0; i < 200; i++) {
        bag_make(&bag, 1 + i % BAG_MOST, i, 1);
        caller->wrong += run_bag(caller->context, &bag, &error) != SL_OK || !bag_is_right(&bag);
        bag.inputs[0].shape = bag.sum_shape; // with the longest way to a message
        caller->wrong += run_bag(caller->context, &bag, &error) != SL_E_SHAPE;
    }
    return NULL;
}

static void test_small_stack(void **state)
{
    (void)state;
    Caller caller = {.context = open_threads(2)};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 65536), 0);
    assert_int_equal(pthread_create(&caller.thread, &attributes, run_on_small_stack, &caller), 0);
    pthread_join(caller.thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_int_equal(caller.wrong, 0);
    assert_int_equal(sl_context_close(caller.context), SL_OK);
}

// A process that may not have so many threads: nothing is left of those that had begun.
static void test_no_threads(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); // which need the address space themselves
    pid_t child = fork();
    if (child == 0) {
        const SlContextOptions most = {.threads = SL_MAX_THREADS};
        const SlContextOptions two = {.threads = 2};
        const struct rlimit limit = {100 << 20, 100 << 20};
        SlContext *context;
        SlError error;
        setrlimit(RLIMIT_AS, &limit);
        for (int round = 0; round < 3; round++) {
            if (sl_context_open(model, &most, &context, &error) != SL_E_THREAD || context ||
                !strstr(error.text, "of 1024 cannot be started"))
                _exit(1);
        }
        if (sl_context_open(model, &two, &context, &error) != SL_OK || !runs_right(context, 9, 1) ||
            sl_context_close(context) != SL_OK)
            _exit(2);
        _exit(sl_model_close(model) == SL_OK ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// ---- fork -------------------------------------------------------------------------------------

static void test_fork(void **state)
{
    (void)state;
    SlContext *context = open_threads(3);
    assert_true(runs_right(context, 9, 1));
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            bool right = true;
            for (uint32_t i = 0; i < 50 && right; i++)
                right = runs_right(context, 1 + i % BAG_MOST, i);
            SlContext *fresh = NULL;
            right = right && sl_context_close(context) == SL_OK;
            if (!SANITIZED) { // whose runtimes start no thread after a fork of many
                const SlContextOptions options = {.threads = 3};
                right = right && sl_context_open(model, &options, &fresh, NULL) == SL_OK &&
                        runs_right(fresh, 9, 2) && sl_context_close(fresh) == SL_OK;
            }
            _exit(right ? 0 : 1);
        }
        assert_true(runs_right(context, 9, 1));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(runs_right(context, 9, 1));
    assert_int_equal(sl_context_close(context), SL_OK);
}

// ---- floating point ---------------------------------------------------------------------------

// Subnormal sums are 0 on every thread, whatever the caller's mode, which is as before afterwards.
static void test_floating_point(void **state)
{
    (void)state;
    const unsigned modes[] = {0x1f80, 0x9fc0, 0x7f80 /* towards 0 */, 0x1f81, 0x1f9f /* flags */};
    static Bag bag;
    static const uint32_t zero = 0;
    float tiny = 1e-39f;
    for (int32_t threads = 1; threads <= 3; threads++) {
        SlContext *context = open_threads(threads);
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
            bag_make(&bag, 20, 1, 1);
            for (int k = 0; k < 20 * TINY_LENGTH; k++)
                bag.weight[k] = tiny;
            memset(bag.mask, 1, sizeof bag.mask);
            unsigned before = _mm_getcsr();
            _mm_setcsr(modes[i]);
            SlStatus status = run_bag(context, &bag, NULL);
            unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            assert_int_equal(status, SL_OK);
            assert_int_equal(after, modes[i]);
            for (int k = 0; k < 20 * TINY_WIDTH; k++)
                assert_memory_equal(&bag.sum[k], &zero, sizeof zero);
        }
        assert_int_equal(sl_context_close(context), SL_OK);
    }
    // A caller whose exceptions trap is not trapped by a kernel's inexact numbers.
    SlContext *context = open_threads(2);
    bag_make(&bag, 20, 1, 1);
    bag.weight[0] = 1.0f / 3;
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x0000);
    SlStatus status = run_bag(context, &bag, NULL);
    _mm_setcsr(before);
    assert_int_equal(status, SL_OK);
    assert_int_equal(sl_context_close(context), SL_OK);
}

// The same bits alone, in any batch, with any number of threads.
static void test_same_bits(void **state)
{
    (void)state;
    static Bag bag;
    static float alone[BAG_MOST][TINY_WIDTH];
    SlContext *one = open_threads(1);
    for (uint32_t item = 0; item < BAG_MOST; item++) {
        bag_make(&bag, 1, item, 1);
        for (int k = 0; k < TINY_LENGTH; k++)
            bag.weight[k] = 1.0f / (3 + (float)(item * 4) + (float)k);
        assert_int_equal(run_bag(one, &bag, NULL), SL_OK);
        memcpy(alone[item], bag.sum, sizeof alone[item]);
    }
    assert_int_equal(sl_context_close(one), SL_OK);
    const uint32_t batches[] = {2, 3, 17, 32};
    for (int32_t threads = 1; threads <= 7; threads++) {
        SlContext *context = open_threads(threads);
        for (size_t b = 0; b < 4; b++) {
            bag_make(&bag, batches[b], 0, 1);
            for (uint32_t k = 0; k < batches[b] * TINY_LENGTH; k++)
                bag.weight[k] = 1.0f / (3 + (float)k);
            assert_int_equal(run_bag(context, &bag, NULL), SL_OK);
            assert_memory_equal(bag.sum, alone, batches[b] * sizeof alone[0]);
        }
        assert_int_equal(sl_context_close(context), SL_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_heap),
        cmocka_unit_test(test_no_system_calls),
        cmocka_unit_test(test_guarded_buffers),
        cmocka_unit_test(test_every_offset),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_memory_grows_only),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_one_model_16_threads),
        cmocka_unit_test(test_one_context_16_threads),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_small_stack),
        cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_floating_point),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
