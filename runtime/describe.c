// What a model is, for callers: names, shapes, texts, weights.
#include "runtime/internal.h"

#include <string.h>

_Static_assert(SL_HAS_RANGE == SL_IO_RANGE && SL_HAS_DEFAULT == SL_IO_DEFAULT,
               "copied as they are");

const char *sl_model_text(const SlModel *model, SlText which)
{
    if (!model)
        return NULL;
    const SlAbiModel *t = model->table;
    const char *const texts[] = {
        [SL_TEXT_NAME] = t->name,         [SL_TEXT_TARGET] = model->variant->target,
        [SL_TEXT_COMPILER] = t->compiler, [SL_TEXT_SPEC] = t->spec,
        [SL_TEXT_FLAGS] = t->flags,       [SL_TEXT_GRAPH] = t->graph,
        [SL_TEXT_PREPARE] = t->prepare,   [SL_TEXT_NOTES] = t->size >= sizeof *t ? t->notes : NULL};
    if ((size_t)which >= sizeof texts / sizeof texts[0])
        return NULL;
    return texts[which] ? texts[which] : "";
}

const struct SlAbiModel *sl_model_table(const SlModel *model)
{
    return model ? model->table : NULL;
}

uint32_t sl_entry_count(const SlModel *model) { return model ? model->variant->nentries : 0; }

uint32_t sl_weight_count(const SlModel *model) { return model ? model->table->nweights : 0; }

// The lists of an entry that callers number.
typedef enum Of { OF_SYMBOLS, OF_CHECKS, OF_INPUTS, OF_OUTPUTS } Of;

// The entry, and its `index`-th thing of one list.
static SlStatus find(const SlModel *model, uint32_t number, Of of, uint32_t index,
                     const SlAbiEntry **entry, const void **found, SlError *error)
{
    static const char *const words[] = {"symbol", "check", "input", "output"};
    SL_TRY(sli_find_entry(model, number, entry, error));
    const SlAbiEntry *e = *entry;
    const void *const lists[] = {e->symbols, e->checks, e->inputs, e->outputs};
    const uint32_t counts[] = {e->nsymbols, e->nchecks, e->ninputs, e->noutputs};
    if (index >= counts[of])
        return SL_FAIL(error, SL_E_INDEX, "entry '%s' has no %s %u, it has %u", e->name, words[of],
                       index, counts[of]);
    *found = sli_at(lists[of], index);
    return SL_OK;
}

SlStatus sl_entry_info(const SlModel *model, uint32_t entry, SlEntryInfo *info, SlError *error)
{
    const SlAbiEntry *e;
    SL_TRY(sli_find_entry(model, entry, &e, error));
    if (!info)
        return SL_FAIL(error, SL_E_ARGUMENT, "info is NULL");
    *info = (SlEntryInfo){e->name, e->ninputs, e->noutputs, e->nsymbols, e->nchecks, e->nsteps};
    return sli_ok(error);
}

SlStatus sl_symbol_info(const SlModel *model, uint32_t entry, uint32_t symbol, SlSymbolInfo *info,
                        SlError *error)
{
    const SlAbiEntry *e;
    const void *found;
    SL_TRY(find(model, entry, OF_SYMBOLS, symbol, &e, &found, error));
    if (!info)
        return SL_FAIL(error, SL_E_ARGUMENT, "info is NULL");
    const SlAbiSymbol *s = found;
    *info = (SlSymbolInfo){s->name, s->low, s->high};
    return sli_ok(error);
}

const char *sl_check_text(const SlModel *model, uint32_t entry, uint32_t check)
{
    const SlAbiEntry *e;
    const void *found;
    if (find(model, entry, OF_CHECKS, check, &e, &found, NULL) != SL_OK)
        return NULL;
    return ((const SlAbiCheck *)found)->text;
}

static SlStatus tensor_info(const SlModel *model, uint32_t entry, Of of, uint32_t index,
                            SlTensorInfo *info, SlError *error)
{
    const SlAbiEntry *e;
    const void *found;
    SL_TRY(find(model, entry, of, index, &e, &found, error));
    if (!info)
        return SL_FAIL(error, SL_E_ARGUMENT, "info is NULL");
    const SlAbiIo *io = found;
    memset(info, 0, sizeof *info);
    info->name = io->name;
    info->dtype = (SlDType)io->dtype;
    info->rank = io->rank;
    if (of == OF_INPUTS) {
        info->flags = io->flags & (SL_HAS_RANGE | SL_HAS_DEFAULT);
        info->low = io->low;
        info->high = io->high;
        info->fill = io->fill;
    }
    for (uint32_t i = 0; i < io->rank; i++) {
        bool fixed = io->shape[i].n == 1 && io->shape[i].code[0].op == SL_X_CONST;
        info->shape[i] = fixed ? io->shape[i].code[0].value : -1;
    }
    SliText text = sli_text(info->shape_text, sizeof info->shape_text);
    sli_add_shape(&text, io, e);
    return sli_ok(error);
}

SlStatus sl_input_info(const SlModel *model, uint32_t entry, uint32_t input, SlTensorInfo *info,
                       SlError *error)
{
    return tensor_info(model, entry, OF_INPUTS, input, info, error);
}

SlStatus sl_output_info(const SlModel *model, uint32_t entry, uint32_t output, SlTensorInfo *info,
                        SlError *error)
{
    return tensor_info(model, entry, OF_OUTPUTS, output, info, error);
}

SlStatus sl_weight_info(const SlModel *model, uint32_t weight, SlWeightInfo *info, SlError *error)
{
    if (!model || !info)
        return SL_FAIL(error, SL_E_ARGUMENT, "%s is NULL", model ? "info" : "model");
    if (weight >= model->table->nweights)
        return SL_FAIL(error, SL_E_INDEX, "'%s' has no weight %u, it has %u", model->table->name,
                       weight, model->table->nweights);
    const SlAbiWeight *w = sli_at(model->table->weights, weight);
    *info = (SlWeightInfo){.name = w->name,
                           .layout = w->layout,
                           .dtype = (SlDType)w->dtype,
                           .rank = w->rank,
                           .shape = w->shape,
                           .bytes = w->bytes,
                           .hash = w->hash,
                           .data = model->weights ? model->weights + w->offset : NULL};
    return sli_ok(error);
}

static int64_t find_io(const SlAbiIo *ios, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(((const SlAbiIo *)sli_at(ios, i))->name, name) == 0)
            return i;
    }
    return -1;
}

int64_t sl_find_entry(const SlModel *model, const char *name)
{
    for (uint32_t i = 0; name && i < sl_entry_count(model); i++) {
        const SlAbiEntry *entry = sli_at(model->variant->entries, i);
        if (strcmp(entry->name, name) == 0)
            return i;
    }
    return -1;
}

int64_t sl_find_input(const SlModel *model, uint32_t entry, const char *name)
{
    const SlAbiEntry *e;
    if (!name || sli_find_entry(model, entry, &e, NULL) != SL_OK)
        return -1;
    return find_io(e->inputs, e->ninputs, name);
}

int64_t sl_find_output(const SlModel *model, uint32_t entry, const char *name)
{
    const SlAbiEntry *e;
    if (!name || sli_find_entry(model, entry, &e, NULL) != SL_OK)
        return -1;
    return find_io(e->outputs, e->noutputs, name);
}

// `call` is what the caller gave, for a function with few parameters.
typedef struct ShapeCall {
    const SlModel *model;
    uint32_t entry;
    Of of;
    uint32_t index;
    const int64_t *symbols;
    uint32_t nsymbols;
} ShapeCall;

static SlStatus shape_of(const ShapeCall *call, int64_t *shape, SlError *error)
{
    const SlAbiEntry *e;
    const void *found;
    SL_TRY(find(call->model, call->entry, call->of, call->index, &e, &found, error));
    SL_TRY(sli_check_symbols(e, call->symbols, call->nsymbols, error));
    if (!shape)
        return SL_FAIL(error, SL_E_ARGUMENT, "shape is NULL");
    SL_TRY(sli_eval_shape(found, call->symbols, shape, error));
    return sli_ok(error);
}

SlStatus sl_input_shape(const SlModel *model, uint32_t entry, uint32_t input,
                        const int64_t *symbols, uint32_t nsymbols, int64_t *shape, SlError *error)
{
    const ShapeCall call = {model, entry, OF_INPUTS, input, symbols, nsymbols};
    return shape_of(&call, shape, error);
}

SlStatus sl_output_shape(const SlModel *model, uint32_t entry, uint32_t output,
                         const int64_t *symbols, uint32_t nsymbols, int64_t *shape, SlError *error)
{
    const ShapeCall call = {model, entry, OF_OUTPUTS, output, symbols, nsymbols};
    return shape_of(&call, shape, error);
}
