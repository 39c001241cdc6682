// Running a compiled model, as any program would: by sluice.h alone.
#include "driver/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct Native {
    Call *call;
    const RunOptions *options;
    SlModel *model;
    SlContext *context;
    uint32_t entry;
    SlEntryInfo info;
    const Port *ports; // [info.ninputs]
    Tensors inputs;
} Native;

// What the system refused, what this processor cannot run and what SLUICE_THREADS says are the
// environment's; the rest is wrong input.
bool native_report(Call *call, const SlError *error)
{
    switch (error->status) {
    case SL_E_MEMORY:
    case SL_E_FILE:
    case SL_E_THREAD:
    case SL_E_CPU:
    case SL_E_OPTION: diag_fail(call->dx, "%s", error->text); return false;
    case SL_OK:
    case SL_E_NOT_MODEL:
    case SL_E_VERSION:
    case SL_E_TABLE:
    case SL_E_TRUNCATED:
    case SL_E_WEIGHTS_MISSING:
    case SL_E_WEIGHTS_FOREIGN:
    case SL_E_WEIGHTS_FLIPPED:
    case SL_E_ARGUMENT:
    case SL_E_INDEX:
    case SL_E_BUSY:
    case SL_E_ARENA:
    case SL_E_OVERFLOW:
    case SL_E_HOOK:
    case SL_E_UNSUPPORTED:
    case SL_E_COUNT:
    case SL_E_DTYPE:
    case SL_E_RANK:
    case SL_E_SHAPE:
    case SL_E_STRIDE:
    case SL_E_ALIGN:
    case SL_E_NULL:
    case SL_E_BYTES:
    case SL_E_OVERLAP:
    case SL_E_SYMBOL:
    case SL_E_CHECK:
    case SL_E_RANGE:
    case SL_E_FAULT: break;
    }
    diag_error(call->dx, (Place){0}, "%s", error->text);
    return false;
}

static DType dtype_of(SlDType dtype)
{
    return dtype == SL_F32 ? DT_f32 : dtype == SL_I32 ? DT_i32 : DT_bool;
}

static SlDType sl_dtype_of(DType dtype)
{
    return dtype == DT_f32 ? SL_F32 : dtype == DT_i32 ? SL_I32 : SL_BOOL;
}

static const Port *read_ports(const Native *nt)
{
    Arena *arena = nt->call->arena;
    Port *ports = arena_new(arena, Port, nt->info.ninputs);
    for (uint32_t i = 0; i < nt->info.ninputs; i++) {
        SlTensorInfo info;
        if (sl_input_info(nt->model, nt->entry, i, &info, NULL) != SL_OK) {
            die("a model does not know its input %u", i);
        }
        DType dtype = dtype_of(info.dtype);
        ports[i] = (Port){.name = str_from(info.name),
                          .dtype = dtype,
                          .rank = info.rank,
                          .type = str_format(arena, "%s%s", dtype_name(dtype), info.shape_text),
                          .has_range = (info.flags & SL_HAS_RANGE) != 0,
                          .low = info.low,
                          .high = info.high,
                          .has_default = (info.flags & SL_HAS_DEFAULT) != 0};
    }
    return ports;
}

// ---- inputs ----

// The free sizes of made-up inputs: symbols [nsymbols]. False after a report.
static bool choose_symbols(const Native *nt, int64_t *symbols)
{
    Str names[SL_MAX_SYMBOLS];
    for (uint32_t i = 0; i < nt->info.nsymbols; i++) {
        SlSymbolInfo symbol;
        sl_symbol_info(nt->model, nt->entry, i, &symbol, NULL);
        names[i] = str_from(symbol.name);
        symbols[i] = run_size(nt->options, names[i], symbol.low);
    }
    return run_check_sizes(nt->call, nt->options, names, nt->info.nsymbols);
}

static bool make_up_inputs(Native *nt)
{
    int64_t symbols[SL_MAX_SYMBOLS];
    SlError error;
    nt->inputs.items = arena_new(nt->call->arena, Tensor, nt->info.ninputs);
    nt->inputs.n = nt->info.ninputs;
    if (!choose_symbols(nt, symbols)) {
        return false;
    }
    for (uint32_t i = 0; i < nt->info.ninputs; i++) {
        Tensor *input = &nt->inputs.items[i];
        int64_t *shape = arena_new(nt->call->arena, int64_t, SL_MAX_RANK);
        input->rank = nt->ports[i].rank;
        input->shape = shape;
        if (sl_input_shape(nt->model, nt->entry, i, symbols, nt->info.nsymbols, shape, &error)) {
            return native_report(nt->call, &error);
        }
        if (!tensor_make_up(nt->call->dx, &nt->ports[i], nt->options->seed, false, input)) {
            return false;
        }
    }
    return true;
}

static bool get_inputs(Native *nt)
{
    const char *path = nt->options->input;
    if (!run_check_inputs(nt->call, nt->info.ninputs)) {
        return false;
    }
    return path ? tensors_read(nt->call, path, nt->ports, nt->info.ninputs, false, &nt->inputs)
                : make_up_inputs(nt);
}

// ---- running ----

static SlTensor *views_of(Arena *arena, const Tensors *tensors)
{
    SlTensor *views = arena_new(arena, SlTensor, tensors->n);
    for (size_t i = 0; i < tensors->n; i++) {
        const Tensor *t = &tensors->items[i];
        if (t->data) {
            views[i] = (SlTensor){.data = t->data,
                                  .bytes = (uint64_t)t->count * dtype_bytes(t->dtype),
                                  .shape = t->shape,
                                  .rank = (uint32_t)t->rank,
                                  .dtype = sl_dtype_of(t->dtype)};
        }
    }
    return views;
}

static bool make_outputs(Native *nt, const int64_t *symbols, Tensors *outputs)
{
    SlError error;
    outputs->items = arena_new(nt->call->arena, Tensor, nt->info.noutputs);
    outputs->n = nt->info.noutputs;
    for (uint32_t i = 0; i < nt->info.noutputs; i++) {
        SlTensorInfo info;
        int64_t *shape = arena_new(nt->call->arena, int64_t, SL_MAX_RANK);
        if (sl_output_info(nt->model, nt->entry, i, &info, &error) ||
            sl_output_shape(nt->model, nt->entry, i, symbols, nt->info.nsymbols, shape, &error)) {
            return native_report(nt->call, &error);
        }
        outputs->items[i] = (Tensor){.name = str_from(info.name),
                                     .dtype = dtype_of(info.dtype),
                                     .rank = info.rank,
                                     .shape = shape};
        if (!tensor_alloc(nt->call->dx, &outputs->items[i])) {
            return false;
        }
    }
    return true;
}

static bool run_once(Native *nt, Tensors *outputs)
{
    Arena *arena = nt->call->arena;
    SlError error;
    int64_t symbols[SL_MAX_SYMBOLS];
    SlContextOptions options = {.threads = (int32_t)nt->options->threads};
    SlTensor *in = views_of(arena, &nt->inputs);
    uint32_t nin = nt->info.ninputs;
    if (sl_match_entry(nt->model, in, nin, &nt->entry, &error) ||
        sl_entry_info(nt->model, nt->entry, &nt->info, &error) ||
        sl_symbols(nt->model, nt->entry, in, nin, symbols, nt->info.nsymbols, &error)) {
        return native_report(nt->call, &error);
    }
    if (!make_outputs(nt, symbols, outputs)) {
        return false;
    }
    SlTensor *out = views_of(arena, outputs);
    if (sl_context_open(nt->model, &options, &nt->context, &error) ||
        sl_run(nt->context, nt->entry, in, nin, out, nt->info.noutputs, &error)) {
        return native_report(nt->call, &error);
    }
    return true;
}

bool run_native(Call *call, const RunOptions *options, Tensors *outputs)
{
    Native nt = {.call = call, .options = options};
    SlOpenOptions open = {.verify = 1}; // a run reads all weights anyway
    SlError error;
    *outputs = (Tensors){0};
    if (sl_model_open(call->operand, &open, &nt.model, &error) ||
        sl_entry_info(nt.model, 0, &nt.info, &error)) {
        return native_report(call, &error);
    }
    nt.ports = read_ports(&nt);
    bool ok = get_inputs(&nt) && run_once(&nt, outputs);
    // The outputs' names are the model's, which goes.
    for (size_t i = 0; i < outputs->n; i++) {
        outputs->items[i].name = str_copy(call->arena, outputs->items[i].name);
    }
    sl_context_close(nt.context);
    sl_model_close(nt.model);
    tensors_free(&nt.inputs);
    return ok;
}
