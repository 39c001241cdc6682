// Whether a model's table is one: everything that the rest of the runtime relies on without looking
// again. The compiler writes no other; what a broken file holds instead is refused here.
#include "runtime/internal.h"

#include <string.h>

const void *sli_at(const void *array, uint32_t i)
{
    uint32_t size;
    memcpy(&size, array, sizeof size);
    return (const char *)array + (size_t)i * size;
}

uint64_t sli_dtype_bytes(uint32_t dtype) { return dtype == SL_ABI_BOOL ? 1 : 4; }

const char *sli_dtype_name(uint32_t dtype)
{
    static const char *const names[] = {
        [SL_ABI_F32] = "f32", [SL_ABI_I32] = "i32", [SL_ABI_BOOL] = "bool"};
    return dtype <= SL_ABI_BOOL ? names[dtype] : "no known type";
}

// An array of structs, the first of which says their size, no less than `size` that we know.
static bool array_ok(const void *array, uint32_t n, size_t size)
{
    if (n == 0)
        return true;
    if (!array)
        return false;
    uint32_t own;
    memcpy(&own, array, sizeof own);
    return own >= size && own % sizeof(uint64_t) == 0;
}

static bool symbols_ok(const SlAbiEntry *entry)
{
    if (entry->nsymbols > SL_MAX_SYMBOLS ||
        !array_ok(entry->symbols, entry->nsymbols, sizeof(SlAbiSymbol)))
        return false;
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        const SlAbiSymbol *symbol = sli_at(entry->symbols, i);
        if (!symbol->name)
            return false;
    }
    return true;
}

static bool checks_ok(const SlAbiEntry *entry)
{
    if (!array_ok(entry->checks, entry->nchecks, sizeof(SlAbiCheck)))
        return false;
    for (uint32_t i = 0; i < entry->nchecks; i++) {
        const SlAbiCheck *check = sli_at(entry->checks, i);
        if (!check->text || check->op > SL_CHECK_NE ||
            !sli_expr_ok(&check->left, entry->nsymbols) ||
            !sli_expr_ok(&check->right, entry->nsymbols))
            return false;
    }
    return true;
}

// i32, bool and inputs with a default are read from a copy: without a slot there is none.
static bool input_ok(const SlAbiIo *io, uint32_t nsymbols)
{
    bool copied = io->dtype != SL_ABI_F32 || io->flags & SL_IO_DEFAULT;
    if (copied && !(io->flags & SL_IO_SLOT))
        return false;
    if (io->flags & SL_IO_RANGE && io->dtype != SL_ABI_I32)
        return false;
    if (io->flags & SL_IO_DEFAULT && io->dtype == SL_ABI_I32 &&
        !(io->fill >= INT32_MIN && io->fill <= INT32_MAX))
        return false;
    return !(io->flags & SL_IO_SLOT) || sli_expr_ok(&io->slot, nsymbols);
}

static bool ios_ok(const SlAbiIo *ios, uint32_t n, uint32_t nsymbols, bool input)
{
    if (!array_ok(ios, n, sizeof(SlAbiIo)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const SlAbiIo *io = sli_at(ios, i);
        if (!io->name || io->dtype > SL_ABI_BOOL || io->rank > SL_MAX_RANK ||
            (io->rank > 0 && !io->shape) || (input && !input_ok(io, nsymbols)))
            return false;
        for (uint32_t axis = 0; axis < io->rank; axis++) {
            if (!sli_expr_ok(&io->shape[axis], nsymbols))
                return false;
        }
    }
    return true;
}

static bool operand_ok(const SlAbiOperand *operand, const SlAbiEntry *entry)
{
    uint32_t limit = operand->kind == SL_OPERAND_INPUT    ? entry->ninputs
                     : operand->kind == SL_OPERAND_OUTPUT ? entry->noutputs
                                                          : UINT32_MAX;
    return operand->kind <= SL_OPERAND_WEIGHTS && operand->index < limit &&
           sli_expr_ok(&operand->offset, entry->nsymbols);
}

static bool steps_ok(const SlAbiEntry *entry)
{
    if (!array_ok(entry->steps, entry->nsteps, sizeof(SlAbiStep)))
        return false;
    for (uint32_t i = 0; i < entry->nsteps; i++) {
        const SlAbiStep *step = sli_at(entry->steps, i);
        if (!step->name || !step->kernel || !sli_expr_ok(&step->parts, entry->nsymbols) ||
            !array_ok(step->operands, step->noperands, sizeof(SlAbiOperand)))
            return false;
        for (uint32_t k = 0; k < step->noperands; k++) {
            if (!operand_ok(sli_at(step->operands, k), entry))
                return false;
        }
    }
    return true;
}

static SlStatus check_entry(const SlAbiEntry *entry, SlError *error)
{
    const char *wrong = NULL;
    if (!symbols_ok(entry))
        wrong = "symbols";
    else if (!checks_ok(entry))
        wrong = "checks";
    else if (!ios_ok(entry->inputs, entry->ninputs, entry->nsymbols, true))
        wrong = "inputs";
    else if (!ios_ok(entry->outputs, entry->noutputs, entry->nsymbols, false))
        wrong = "outputs";
    else if (!sli_expr_ok(&entry->arena_bytes, entry->nsymbols) ||
             !sli_expr_ok(&entry->scratch_bytes, entry->nsymbols))
        wrong = "memory";
    const SlAbiExpr *state = &entry->state_bytes;
    if (!wrong && state->n > 0 &&
        (!state->code || state->n > 1 || state->code[0].op != SL_X_CONST ||
         state->code[0].value != 0))
        return SL_FAIL(error, SL_E_UNSUPPORTED,
                       "entry '%s' keeps state between runs, this runtime does not", entry->name);
    if (!wrong && !steps_ok(entry))
        wrong = "steps";
    if (wrong)
        return SL_FAIL(error, SL_E_TABLE, "the model's table: entry '%s': its %s are malformed",
                       entry->name, wrong);
    return SL_OK;
}

SlStatus sli_check_variant(const SlAbiModel *model, const SlAbiVariant *variant, SlError *error)
{
    if (!variant->target || !array_ok(variant->entries, variant->nentries, sizeof(SlAbiEntry)))
        return SL_FAIL(error, SL_E_TABLE, "the model's table: '%s': its entries are malformed",
                       model->name);
    for (uint32_t i = 0; i < variant->nentries; i++) {
        const SlAbiEntry *entry = sli_at(variant->entries, i);
        if (!entry->name)
            return SL_FAIL(error, SL_E_TABLE, "the model's table: entry %u has no name", i);
        SL_TRY(check_entry(entry, error));
    }
    return SL_OK;
}

static bool weights_ok(const SlAbiModel *model)
{
    if (model->weights_place > SL_WEIGHTS_BESIDE ||
        !array_ok(model->weights, model->nweights, sizeof(SlAbiWeight)) ||
        (model->weights_place == SL_WEIGHTS_NONE && model->weights_bytes > 0) ||
        model->weights_bytes > INT64_MAX / 2)
        return false;
    if (model->weights_place == SL_WEIGHTS_BESIDE &&
        (!model->weights_file || !model->weights_file[0] || strchr(model->weights_file, '/')))
        return false;
    for (uint32_t i = 0; i < model->nweights; i++) {
        const SlAbiWeight *weight = sli_at(model->weights, i);
        if (!weight->name || !weight->layout || weight->dtype > SL_ABI_BOOL ||
            (weight->rank > 0 && !weight->shape) || weight->offset % SL_ABI_ALIGN != 0 ||
            weight->offset > model->weights_bytes ||
            weight->bytes > model->weights_bytes - weight->offset)
            return false;
    }
    return true;
}

SlStatus sli_check_model(const SlAbiModel *model, SlError *error)
{
    if (model->abi == 0 || model->size < offsetof(SlAbiModel, notes) || !model->name)
        return SL_FAIL(error, SL_E_TABLE, "the model's table is malformed");
    if (model->abi > SL_ABI_VERSION)
        return SL_FAIL(error, SL_E_VERSION,
                       "'%s' has table version %u, this runtime knows up to %u", model->name,
                       model->abi, SL_ABI_VERSION);
    if (!array_ok(model->variants, model->nvariants, sizeof(SlAbiVariant)) || model->nvariants == 0)
        return SL_FAIL(error, SL_E_TABLE, "the model's table: '%s': its variants are malformed",
                       model->name);
    if (!weights_ok(model))
        return SL_FAIL(error, SL_E_TABLE, "the model's table: '%s': its weights are malformed",
                       model->name);
    return SL_OK;
}

SlStatus sli_find_entry(const SlModel *model, uint32_t number, const SlAbiEntry **entry,
                        SlError *error)
{
    if (!model)
        return SL_FAIL(error, SL_E_ARGUMENT, "model is NULL");
    if (number >= model->variant->nentries)
        return SL_FAIL(error, SL_E_INDEX, "'%s' has no entry %u, it has %u", model->table->name,
                       number, model->variant->nentries);
    *entry = sli_at(model->variant->entries, number);
    return SL_OK;
}
