// One run: views and symbols, sizes, inputs into their slots, then the steps.
#include "runtime/internal.h"

#include <string.h>

// One call of sl_run().
typedef struct Call {
    SlContext *context;
    const SlAbiEntry *entry;
    const SlTensor *inputs;
    const SlTensor *outputs;
} Call;

static void fill(const SlAbiIo *io, void *slot, uint64_t n)
{
    if (io->dtype == SL_ABI_BOOL) {
        memset(slot, io->fill != 0, n);
    } else if (io->dtype == SL_ABI_I32) {
        for (uint64_t i = 0; i < n; i++)
            ((int32_t *)slot)[i] = (int32_t)io->fill;
    } else {
        for (uint64_t i = 0; i < n; i++)
            ((float *)slot)[i] = (float)io->fill;
    }
}

// Each element is read once: what was checked is what kernels see.
static SlStatus copy_i32(const SlAbiIo *io, const int32_t *from, int32_t *to, uint64_t n,
                         SlError *error)
{
    int64_t low = io->flags & SL_IO_RANGE ? io->low : INT32_MIN;
    int64_t high = io->flags & SL_IO_RANGE ? io->high : INT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        int32_t x = ((const volatile int32_t *)from)[i];
        if (x < low || x >= high)
            return SL_FAIL(error, SL_E_RANGE,
                           "input '%s': element %llu is %d, %lld to %lld is allowed", io->name,
                           (unsigned long long)i, x, (long long)low, (long long)high - 1);
        to[i] = x;
    }
    return SL_OK;
}

static SlStatus copy_input(const SlAbiIo *io, const SlTensor *tensor, void *slot, uint64_t n,
                           SlError *error)
{
    if (!tensor->data) {
        fill(io, slot, n);
        return SL_OK;
    }
    if (io->dtype == SL_ABI_I32)
        return copy_i32(io, tensor->data, slot, n, error);
    if (io->dtype == SL_ABI_F32) {
        memcpy(slot, tensor->data, n * sizeof(float));
        return SL_OK;
    }
    for (uint64_t i = 0; i < n; i++)
        ((uint8_t *)slot)[i] = ((const uint8_t *)tensor->data)[i] != 0;
    return SL_OK;
}

static SlStatus copy_inputs(const Call *call, SlError *error)
{
    SlContext *context = call->context;
    for (uint32_t i = 0; i < call->entry->ninputs; i++) {
        if (context->slots[i] < 0)
            continue;
        const SlAbiIo *io = sli_at(call->entry->inputs, i);
        void *slot = context->memory + context->slots[i];
        uint64_t n = context->slot_bytes[i] / sli_dtype_bytes(io->dtype);
        SL_TRY(copy_input(io, &call->inputs[i], slot, n, error));
    }
    return SL_OK;
}

// Kernels do not write through pointers to weights and inputs, but an operand has one type.
static uint8_t *base_of(const Call *call, const SlAbiOperand *operand)
{
    SlContext *context = call->context;
    switch (operand->kind) {
    case SL_OPERAND_INPUT:
        if (context->slots[operand->index] >= 0)
            return context->memory + context->slots[operand->index];
        return call->inputs[operand->index].data;
    case SL_OPERAND_OUTPUT: return call->outputs[operand->index].data;
    case SL_OPERAND_WEIGHTS: return (uint8_t *)context->model->weights;
    default: return context->memory;
    }
}

static void find_operands(const Call *call)
{
    SlContext *context = call->context;
    uint64_t n = 0;
    for (uint32_t i = 0; i < call->entry->nsteps; i++) {
        const SlAbiStep *step = sli_at(call->entry->steps, i);
        for (uint32_t k = 0; k < step->noperands; k++, n++)
            context->operands[n] = base_of(call, sli_at(step->operands, k)) + context->offsets[n];
    }
}

static SlStatus run_steps(const Call *call, SlError *error)
{
    SlContext *context = call->context;
    uint64_t first = 0;
    for (uint32_t i = 0; i < call->entry->nsteps; i++) {
        const SlAbiStep *step = sli_at(call->entry->steps, i);
        const SliJob job = {.kernel = step->kernel,
                            .symbols = context->symbols,
                            .operands = context->operands + first,
                            .scratch = context->scratch,
                            .scratch_stride = context->scratch_stride,
                            .parts = context->parts[i]};
        first += step->noperands;
        if (!sli_pool_run(context->pool, &job))
            return SL_FAIL(error, SL_E_HOOK, "parallel_for returned before step '%s' was done",
                           step->name);
        if (sli_pool_faults(context->pool) != 0)
            return SL_FAIL(error, SL_E_FAULT, "step '%s': an index lay outside its table",
                           step->name);
    }
    return SL_OK;
}

static SlStatus run(const Call *call, uint32_t ninputs, uint32_t noutputs, SlError *error)
{
    SlContext *context = call->context;
    SL_TRY(sli_check_inputs(call->entry, call->inputs, ninputs, context->wanted, error));
    SL_TRY(sli_check_outputs(call->entry, call->outputs, noutputs, context->wanted, error));
    SL_TRY(sli_check_overlaps(call->entry, call->inputs, call->outputs, error));
    SL_TRY(sli_bind_wanted(context, call->entry, error));
    if (context->parallel)
        sli_pool_wake(context->pool);
    SL_TRY(copy_inputs(call, error));
    find_operands(call);
    unsigned before = sli_float_begin();
    SlStatus status = run_steps(call, error);
    sli_float_end(before);
    return status;
}

SlStatus sl_run(SlContext *context, uint32_t entry, const SlTensor *inputs, uint32_t ninputs,
                const SlTensor *outputs, uint32_t noutputs, SlError *error)
{
    if (!context)
        return SL_FAIL(error, SL_E_ARGUMENT, "context is NULL");
    Call call = {context, NULL, inputs, outputs};
    SL_TRY(sli_find_entry(context->model, entry, &call.entry, error));
    if (!sli_enter(context))
        return SL_FAIL(error, SL_E_BUSY, "the context is in use");
    SlStatus status = run(&call, ninputs, noutputs, error);
    sli_leave(context);
    return status == SL_OK ? sli_ok(error) : status;
}

SlStatus sl_symbols(const SlModel *model, uint32_t entry, const SlTensor *inputs, uint32_t ninputs,
                    int64_t *symbols, uint32_t nsymbols, SlError *error)
{
    const SlAbiEntry *e;
    SL_TRY(sli_find_entry(model, entry, &e, error));
    if (nsymbols != e->nsymbols)
        return SL_FAIL(error, SL_E_COUNT, "entry '%s': expected %u symbols, got %u", e->name,
                       e->nsymbols, nsymbols);
    if (nsymbols > 0 && !symbols)
        return SL_FAIL(error, SL_E_ARGUMENT, "symbols is NULL");
    SL_TRY(sli_check_inputs(e, inputs, ninputs, symbols, error));
    return sli_ok(error);
}

SlStatus sl_match_entry(const SlModel *model, const SlTensor *inputs, uint32_t ninputs,
                        uint32_t *entry, SlError *error)
{
    int64_t symbols[SL_MAX_SYMBOLS];
    const SlAbiEntry *e;
    SlStatus status = SL_OK;
    if (!model || !entry)
        return SL_FAIL(error, SL_E_ARGUMENT, "%s is NULL", model ? "entry" : "model");
    for (uint32_t i = 0; i < sl_entry_count(model); i++) {
        SL_TRY(sli_find_entry(model, i, &e, error));
        status = sli_check_inputs(e, inputs, ninputs, symbols, error);
        if (status == SL_OK) {
            *entry = i;
            return sli_ok(error);
        }
    }
    if (sl_entry_count(model) == 1)
        return status;
    return SL_FAIL(error, SL_E_SHAPE, "'%s': none of its %u entries takes these inputs",
                   model->table->name, sl_entry_count(model));
}
