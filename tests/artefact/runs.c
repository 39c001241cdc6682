// Runs a compiled model, whatever its inputs are, for several batches on two threads: after the
// first run no heap call is made, outputs are finite, and a caller with a stack of 64 KB gets the
// same bits.
//
//   artefact_runs MODEL.so     exit status 0, or 1 after a line on standard error
#include "runtime/sluice.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { MOST = 16, SMALL_STACK = 65536 };

// ---- heap calls, counted in the whole process ----

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

// Valgrind has its own functions in place of these.
static bool is_under_valgrind(void) { return getenv("SLUICE_VALGRIND") != NULL; }

// ---- tensors ----

typedef struct Call {
    SlContext *context;
    uint32_t ninputs, noutputs;
    SlTensor inputs[MOST], outputs[MOST];
    int64_t in_shapes[MOST][SL_MAX_RANK], out_shapes[MOST][SL_MAX_RANK];
    SlStatus status;
    SlError error;
} Call;

static int64_t count(const SlTensor *t)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        n *= t->shape[d];
    }
    return n;
}

static void new_tensor(SlTensor *t, const SlTensorInfo *info, const int64_t *shape)
{
    *t = (SlTensor){.shape = shape, .rank = info->rank, .dtype = info->dtype};
    t->bytes = (uint64_t)count(t) * (info->dtype == SL_BOOL ? 1 : 4);
    t->data = malloc(t->bytes);
}

static void fill(SlTensor *t, const SlTensorInfo *info)
{
    for (int64_t i = 0; i < count(t); i++) {
        if (t->dtype == SL_F32) {
            ((float *)t->data)[i] = (float)sin(0.37 * (double)i);
        } else if (t->dtype == SL_I32) {
            int64_t range = info->flags & SL_HAS_RANGE ? info->high - info->low : 2;
            int64_t low = info->flags & SL_HAS_RANGE ? info->low : 0;
            ((int32_t *)t->data)[i] = (int32_t)(low + i * 7 % range);
        } else {
            ((uint8_t *)t->data)[i] = i % 5 != 4;
        }
    }
}

static bool call_make(Call *c, SlModel *model, SlContext *context, int64_t batch)
{
    SlEntryInfo entry;
    SlTensorInfo info;
    int64_t symbols[SL_MAX_SYMBOLS];
    *c = (Call){.context = context};
    if (sl_entry_info(model, 0, &entry, &c->error) != SL_OK || entry.ninputs > MOST ||
        entry.noutputs > MOST) {
        return false;
    }
    c->ninputs = entry.ninputs;
    c->noutputs = entry.noutputs;
    for (uint32_t i = 0; i < entry.nsymbols; i++) {
        symbols[i] = batch;
    }
    for (uint32_t i = 0; i < entry.ninputs; i++) {
        if (sl_input_info(model, 0, i, &info, &c->error) != SL_OK ||
            sl_input_shape(model, 0, i, symbols, entry.nsymbols, c->in_shapes[i], &c->error) !=
                SL_OK) {
            return false;
        }
        new_tensor(&c->inputs[i], &info, c->in_shapes[i]);
        fill(&c->inputs[i], &info);
    }
    for (uint32_t i = 0; i < entry.noutputs; i++) {
        if (sl_output_info(model, 0, i, &info, &c->error) != SL_OK ||
            sl_output_shape(model, 0, i, symbols, entry.nsymbols, c->out_shapes[i], &c->error) !=
                SL_OK) {
            return false;
        }
        new_tensor(&c->outputs[i], &info, c->out_shapes[i]);
    }
    return true;
}

static void call_free(Call *c)
{
    for (uint32_t i = 0; i < c->ninputs; i++) {
        free(c->inputs[i].data);
    }
    for (uint32_t i = 0; i < c->noutputs; i++) {
        free(c->outputs[i].data);
    }
}

static void *call_run(void *argument)
{
    Call *c = argument;
    c->status = sl_run(c->context, 0, c->inputs, c->ninputs, c->outputs, c->noutputs, &c->error);
    return NULL;
}

// Also makes valgrind look at every element.
static bool are_finite(const Call *c)
{
    for (uint32_t k = 0; k < c->noutputs; k++) {
        const SlTensor *t = &c->outputs[k];
        for (int64_t i = 0; i < count(t); i++) {
            if (t->dtype == SL_F32 ? !isfinite(((const float *)t->data)[i])
                                   : ((const uint8_t *)t->data)[i] == 255) {
                return false;
            }
        }
    }
    return true;
}

static bool have_same_bits(const Call *x, const Call *y)
{
    for (uint32_t k = 0; k < x->noutputs; k++) {
        if (memcmp(x->outputs[k].data, y->outputs[k].data, x->outputs[k].bytes) != 0) {
            return false;
        }
    }
    return true;
}

// ---- checks ----

static const char *run_on_small_stack(Call *c)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    bool ok = pthread_attr_setstacksize(&attributes, SMALL_STACK) == 0 &&
              pthread_create(&thread, &attributes, call_run, c) == 0 &&
              pthread_join(thread, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return !ok ? "no thread with a small stack" : c->status == SL_OK ? NULL : c->error.text;
}

static const char *check_calls(Call *first, Call *second)
{
    call_run(first);
    if (first->status != SL_OK) {
        return first->error.text;
    }
    if (!are_finite(first)) {
        return "an output is not finite";
    }
    unsigned long long before = heap_calls;
    call_run(second);
    call_run(second);
    unsigned long long after = heap_calls;
    if (second->status != SL_OK) {
        return second->error.text;
    }
    if (!SANITIZED && !is_under_valgrind() && (before == 0 || after != before)) {
        return before == 0 ? "heap calls are not counted" : "a run calls the heap";
    }
    if (!have_same_bits(first, second)) {
        return "a second run gives other bits";
    }
    memset(second->outputs[0].data, 0, second->outputs[0].bytes);
    const char *why = run_on_small_stack(second);
    return why || have_same_bits(first, second) ? why : "a small stack gives other bits";
}

int main(int argc, char **argv)
{
    static const int64_t batches[] = {3, 1, 8};
    SlModel *model = NULL;
    SlContext *context = NULL;
    SlContextOptions options = {.threads = 2};
    SlError error = {0};
    const char *why = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: artefact_runs MODEL.so\n");
        return 2;
    }
    if (sl_model_open(argv[1], NULL, &model, &error) != SL_OK ||
        sl_context_open(model, &options, &context, &error) != SL_OK) {
        why = error.text;
    }
    size_t nbatches = is_under_valgrind() ? 1 : sizeof batches / sizeof *batches;
    for (size_t i = 0; !why && i < nbatches; i++) {
        static Call first, second;
        bool made = call_make(&first, model, context, batches[i]);
        made = call_make(&second, model, context, batches[i]) && made;
        why = made ? check_calls(&first, &second) : "inputs cannot be made";
        call_free(&first);
        call_free(&second);
    }
    if (why) {
        fprintf(stderr, "%s: %s\n", argv[1], why);
    }
    sl_context_close(context);
    sl_model_close(model);
    return why != NULL;
}
