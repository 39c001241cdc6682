// Calls of the runtime with views that are wrong in any way, on the hand-written model: whatever is
// refused has left the outputs alone, whatever runs stays inside its buffers (ASan).
#include "runtime/sluice.h"

#include "tests/abi/tiny.c"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_TENSORS = 8, MOST_BYTES = 1 << 16, CANARY = 0x5a };

typedef struct Input {
    const uint8_t *at, *end;
} Input;

static uint32_t next(Input *in) { return in->at < in->end ? *in->at++ : 0; }

// A view and all that it points to.
typedef struct View {
    SlTensor tensor;
    int64_t shape[SL_MAX_RANK];
    int64_t strides[SL_MAX_RANK];
    unsigned char *memory; // malloc: [bytes], no more than `tensor` says
    size_t bytes;
} View;

static int64_t odd_number(Input *in)
{
    static const int64_t numbers[] = {0,  1,  2,  3,  4,         8,         9,        16,
                                      32, 33, 64, 65, INT64_MAX, INT64_MIN, -1,       1024,
                                      5,  7,  12, 31, 1 << 20,   1 << 30,   1L << 40, 1L << 62};
    return numbers[next(in) % (sizeof numbers / sizeof numbers[0])];
}

// One thing wrong, or nothing.
static void spoil(Input *in, View *view)
{
    SlTensor *t = &view->tensor;
    uint32_t axis = t->rank > 0 ? next(in) % t->rank : 0;
    switch (next(in) % 16) {
    case 0: t->dtype = (SlDType)(next(in) % 5); break;
    case 1: t->rank = next(in) % 6; break;
    case 2: view->shape[axis] = odd_number(in); break;
    case 3: t->bytes -= t->bytes > 0; break;
    case 4: t->bytes = 0; break;
    case 5: t->shape = NULL; break;
    case 6:
        t->strides = view->strides;
        for (uint32_t i = 0; i < SL_MAX_RANK; i++)
            view->strides[i] = odd_number(in);
        break;
    default: break;
    }
}

// The view that entry `entry` wants there, for these symbols, then perhaps spoilt.
static void make(Input *in, const SlModel *model, uint32_t entry, bool input, uint32_t index,
                 const int64_t *symbols, View *view)
{
    SlTensorInfo info = {0};
    SlEntryInfo e = {0};
    *view = (View){0};
    sl_entry_info(model, entry, &e, NULL);
    if (input) {
        sl_input_info(model, entry, index, &info, NULL);
        sl_input_shape(model, entry, index, symbols, e.nsymbols, view->shape, NULL);
    } else {
        sl_output_info(model, entry, index, &info, NULL);
        sl_output_shape(model, entry, index, symbols, e.nsymbols, view->shape, NULL);
    }
    SlTensor *t = &view->tensor;
    t->shape = view->shape;
    t->rank = info.rank;
    t->dtype = info.dtype;
    t->bytes = info.dtype == SL_BOOL ? 1 : 4;
    for (uint32_t i = 0; i < info.rank; i++) {
        if (__builtin_mul_overflow(t->bytes, (uint64_t)view->shape[i], &t->bytes))
            t->bytes = 0;
    }
    if (t->bytes > MOST_BYTES)
        t->bytes = MOST_BYTES;
    spoil(in, view);
    size_t shift = next(in) % 16 == 0; // misaligned
    view->bytes = t->bytes + shift;
    view->memory = malloc(view->bytes > 0 ? view->bytes : 1);
    if (!view->memory)
        abort();
    memset(view->memory, input ? (int)(next(in) % 7) : CANARY, view->bytes);
    t->data = next(in) % 16 == 0 ? NULL : view->memory + shift;
}

static bool is_untouched(const View *view)
{
    for (size_t i = 0; i < view->bytes; i++) {
        if (view->memory[i] != CANARY)
            return false;
    }
    return true;
}

static void call(Input *in, const SlModel *model, SlContext *context)
{
    View views[MOST_TENSORS];
    SlTensor tensors[MOST_TENSORS];
    SlEntryInfo info = {0};
    SlError error;
    uint32_t entry = next(in) % (TINY_ENTRIES + 1);
    const int64_t symbols[2] = {1 + next(in) % 40, 4 + next(in) % 40};
    sl_entry_info(model, entry, &info, NULL);
    uint32_t n = info.ninputs + info.noutputs;
    for (uint32_t i = 0; i < n; i++) {
        bool input = i < info.ninputs;
        make(in, model, entry, input, input ? i : i - info.ninputs, symbols, &views[i]);
        tensors[i] = views[i].tensor;
    }
    if (next(in) % 16 == 0 && n > 1)
        tensors[n - 1] = tensors[next(in) % n]; // shared memory
    uint32_t ninputs = next(in) % 16 == 0 ? next(in) : info.ninputs;
    uint32_t noutputs = next(in) % 16 == 0 ? next(in) : info.noutputs;
    const int64_t wanted[2] = {odd_number(in), odd_number(in)};
    if (next(in) % 8 == 0 && wanted[0] < MOST_BYTES)
        sl_bind(context, entry, wanted, info.nsymbols, &error);
    SlStatus status =
        sl_run(context, entry, tensors, ninputs, tensors + info.ninputs, noutputs, &error);
    if (status != error.status || memchr(error.text, 0, sizeof error.text) == NULL)
        abort();
    for (uint32_t i = info.ninputs; i < n; i++) {
        if (status != SL_OK && status != SL_E_FAULT && !is_untouched(&views[i]))
            abort();
    }
    for (uint32_t i = 0; i < n; i++)
        free(views[i].memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(64) float weights[TINY_WEIGHTS + SL_ABI_SLACK / 4];
    const SlOpenOptions options = {.weights = weights, .weights_bytes = TINY_WEIGHTS * 4};
    const SlContextOptions context_options = {.threads = 1 + (int32_t)(size % 2)};
    Input in = {data, data + size};
    SlModel *model;
    SlContext *context;
    if (sl_model_from_query(tiny_query, &options, &model, NULL) != SL_OK ||
        sl_context_open(model, &context_options, &context, NULL) != SL_OK)
        abort();
    for (int i = 0; i < 20 && in.at < in.end; i++)
        call(&in, model, context);
    if (sl_context_close(context) != SL_OK || sl_model_close(model) != SL_OK)
        abort();
    return 0;
}
