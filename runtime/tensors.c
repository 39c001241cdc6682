// The caller's views against what an entry says, and the symbols that the inputs' shapes determine.
#include "runtime/internal.h"

#include <string.h>

// One view and what it should be.
typedef struct View {
    const char *side; // "input"
    const SlTensor *tensor;
    const SlAbiIo *io;
    const SlAbiEntry *entry;
} View;

uint64_t sli_tensor_bytes(const int64_t *shape, const SlAbiIo *io)
{
    uint64_t bytes = sli_dtype_bytes(io->dtype);
    for (uint32_t i = 0; i < io->rank; i++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
            return UINT64_MAX;
    }
    return bytes;
}

static uint64_t bytes_of(const View *v) { return sli_tensor_bytes(v->tensor->shape, v->io); }

// Axes of size 1 may have any stride.
static bool is_contiguous(const SlTensor *tensor)
{
    if (!tensor->strides)
        return true;
    int64_t expected = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != expected)
            return false;
        if (__builtin_mul_overflow(expected, tensor->shape[i], &expected))
            return false;
    }
    return true;
}

// What can be said without knowing the symbols.
static SlStatus check_form(const View *v, SlError *error)
{
    const SlTensor *t = v->tensor;
    const char *name = v->io->name;
    char sizes[128];
    if (!t->data)
        return SL_FAIL(error, SL_E_NULL, "%s '%s': data is NULL%s", v->side, name,
                       v->side[0] == 'i' ? ", and it has no default" : "");
    if ((uint32_t)t->dtype != v->io->dtype)
        return SL_FAIL(error, SL_E_DTYPE, "%s '%s': expected %s, got %s", v->side, name,
                       sli_dtype_name(v->io->dtype), sli_dtype_name((uint32_t)t->dtype));
    if (t->rank != v->io->rank) {
        SliText text = sli_text(sizes, sizeof sizes);
        sli_add_shape(&text, v->io, v->entry);
        return SL_FAIL(error, SL_E_RANK, "%s '%s': expected %u axes, %s, got %u", v->side, name,
                       v->io->rank, sizes, t->rank);
    }
    if (t->rank > 0 && !t->shape)
        return SL_FAIL(error, SL_E_NULL, "%s '%s': shape is NULL", v->side, name);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] < 1)
            return SL_FAIL(error, SL_E_SHAPE,
                           "%s '%s': expected sizes of at least 1, got %lld on axis %u", v->side,
                           name, (long long)t->shape[i], i);
    }
    if (!is_contiguous(t)) {
        SliText text = sli_text(sizes, sizeof sizes);
        sli_add_sizes(&text, t->strides, t->rank);
        return SL_FAIL(error, SL_E_STRIDE, "%s '%s': expected a contiguous tensor, got strides %s",
                       v->side, name, sizes);
    }
    return SL_OK;
}

static void add_symbols(SliText *text, const SlAbiEntry *entry, const int64_t *symbols)
{
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        const SlAbiSymbol *symbol = sli_at(entry->symbols, i);
        sli_add(text, "%s%s = %lld", i ? ", " : " where ", symbol->name, (long long)symbols[i]);
    }
}

// Shape, size of the buffer and alignment of a view whose form was checked.
static SlStatus check_place(const View *v, const int64_t *symbols, SlError *error)
{
    int64_t expected[SL_MAX_RANK];
    const SlTensor *t = v->tensor;
    SL_TRY(sli_eval_shape(v->io, symbols, expected, error));
    if (t->rank > 0 && memcmp(expected, t->shape, t->rank * sizeof expected[0]) != 0) {
        char buffer[200];
        SliText text = sli_text(buffer, sizeof buffer);
        sli_add_shape(&text, v->io, v->entry);
        add_symbols(&text, v->entry, symbols);
        sli_add(&text, ", got ");
        sli_add_sizes(&text, t->shape, t->rank);
        return SL_FAIL(error, SL_E_SHAPE, "%s '%s': expected %s", v->side, v->io->name, buffer);
    }
    uint64_t element = sli_dtype_bytes(v->io->dtype);
    if (bytes_of(v) > t->bytes)
        return SL_FAIL(error, SL_E_BYTES, "%s '%s': expected a buffer of %llu bytes, got %llu",
                       v->side, v->io->name, (unsigned long long)bytes_of(v),
                       (unsigned long long)t->bytes);
    if ((uintptr_t)t->data % element != 0)
        return SL_FAIL(error, SL_E_ALIGN,
                       "%s '%s': expected an address that is a multiple of %llu, got %p", v->side,
                       v->io->name, (unsigned long long)element, t->data);
    return SL_OK;
}

static SlStatus check_count(const SlAbiEntry *entry, const char *side, uint32_t expected,
                            uint32_t given, const void *tensors, SlError *error)
{
    if (expected != given)
        return SL_FAIL(error, SL_E_COUNT, "entry '%s': expected %u %ss, got %u", entry->name,
                       expected, side, given);
    if (expected > 0 && !tensors)
        return SL_FAIL(error, SL_E_ARGUMENT, "%ss is NULL", side);
    return SL_OK;
}

static bool is_left_out(const SlTensor *tensor, const SlAbiIo *io)
{
    return !tensor->data && io->flags & SL_IO_DEFAULT;
}

static void take_symbols(const SlTensor *tensor, const SlAbiIo *io, int64_t *symbols)
{
    for (uint32_t axis = 0; axis < io->rank; axis++) {
        int64_t symbol = sli_lone_symbol(&io->shape[axis]);
        if (symbol >= 0 && symbols[symbol] == 0)
            symbols[symbol] = tensor->shape[axis];
    }
}

SlStatus sli_check_inputs(const SlAbiEntry *entry, const SlTensor *inputs, uint32_t ninputs,
                          int64_t *symbols, SlError *error)
{
    SL_TRY(check_count(entry, "input", entry->ninputs, ninputs, inputs, error));
    for (uint32_t i = 0; i < entry->nsymbols; i++)
        symbols[i] = 0;
    for (uint32_t i = 0; i < ninputs; i++) {
        const View v = {"input", &inputs[i], sli_at(entry->inputs, i), entry};
        if (is_left_out(v.tensor, v.io))
            continue;
        SL_TRY(check_form(&v, error));
        take_symbols(v.tensor, v.io, symbols);
    }
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        const SlAbiSymbol *symbol = sli_at(entry->symbols, i);
        if (symbols[i] == 0)
            return SL_FAIL(error, SL_E_SYMBOL, "%s follows from no input that was given",
                           symbol->name);
    }
    SL_TRY(sli_check_bounds(entry, symbols, error));
    for (uint32_t i = 0; i < ninputs; i++) {
        const View v = {"input", &inputs[i], sli_at(entry->inputs, i), entry};
        if (!is_left_out(v.tensor, v.io))
            SL_TRY(check_place(&v, symbols, error));
    }
    return SL_OK;
}

SlStatus sli_check_outputs(const SlAbiEntry *entry, const SlTensor *outputs, uint32_t noutputs,
                           const int64_t *symbols, SlError *error)
{
    SL_TRY(check_count(entry, "output", entry->noutputs, noutputs, outputs, error));
    for (uint32_t i = 0; i < noutputs; i++) {
        const View v = {"output", &outputs[i], sli_at(entry->outputs, i), entry};
        SL_TRY(check_form(&v, error));
        SL_TRY(check_place(&v, symbols, error));
    }
    return SL_OK;
}

static bool share_memory(const View *a, const View *b)
{
    uintptr_t a_begin = (uintptr_t)a->tensor->data;
    uintptr_t b_begin = (uintptr_t)b->tensor->data;
    return a_begin < b_begin + bytes_of(b) && b_begin < a_begin + bytes_of(a);
}

// The i-th of all inputs and outputs.
static View view_of(const SlAbiEntry *entry, const SlTensor *inputs, const SlTensor *outputs,
                    uint32_t i)
{
    if (i < entry->ninputs)
        return (View){"input", &inputs[i], sli_at(entry->inputs, i), entry};
    i -= entry->ninputs;
    return (View){"output", &outputs[i], sli_at(entry->outputs, i), entry};
}

SlStatus sli_check_overlaps(const SlAbiEntry *entry, const SlTensor *inputs,
                            const SlTensor *outputs, SlError *error)
{
    for (uint32_t i = entry->ninputs; i < entry->ninputs + entry->noutputs; i++) {
        const View output = view_of(entry, inputs, outputs, i);
        for (uint32_t k = 0; k < i; k++) {
            const View other = view_of(entry, inputs, outputs, k);
            if (other.tensor->data && share_memory(&output, &other))
                return SL_FAIL(error, SL_E_OVERLAP, "output '%s' shares memory with %s '%s'",
                               output.io->name, other.side, other.io->name);
        }
    }
    return SL_OK;
}
