// Runs a compiled model from C: opens it, says what it is, fills its inputs, prints its outputs.
//
//   cc -o run_model run_model.c -lsluice
//   sluice build B2-2H64 --seq 16 --random 1 -o model.so
//   ./run_model model.so 2
//
// The second argument is the value of every free size, such as the batch; 1 if it is left out.
#include <sluice.h>

#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 8 }; // elements of an output

static const char *const dtype_names[] = {"f32", "i32", "bool"};
static const size_t dtype_bytes[] = {sizeof(float), sizeof(int32_t), 1};

static void describe(const SlModel *model, const SlEntryInfo *entry)
{
    SlTensorInfo info;
    SlSymbolInfo symbol;
    printf("%s, compiled for %s by %s\n", sl_model_text(model, SL_TEXT_NAME),
           sl_model_text(model, SL_TEXT_TARGET), sl_model_text(model, SL_TEXT_COMPILER));
    printf("entry %s: %u steps\n", entry->name, entry->nsteps);
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        sl_symbol_info(model, 0, i, &symbol, NULL);
        printf("  size   %s, from %lld\n", symbol.name, (long long)symbol.low);
    }
    for (uint32_t i = 0; i < entry->ninputs; i++) {
        sl_input_info(model, 0, i, &info, NULL);
        printf("  input  %s: %s %s%s\n", info.name, dtype_names[info.dtype], info.shape_text,
               info.flags & SL_HAS_DEFAULT ? ", may be left out" : "");
    }
    for (uint32_t i = 0; i < entry->noutputs; i++) {
        sl_output_info(model, 0, i, &info, NULL);
        printf("  output %s: %s %s\n", info.name, dtype_names[info.dtype], info.shape_text);
    }
}

// A tensor of that shape, whose memory is the caller's to free.
static SlTensor new_tensor(const SlTensorInfo *info, const int64_t *shape)
{
    SlTensor tensor = {.shape = shape, .rank = info->rank, .dtype = info->dtype};
    tensor.bytes = dtype_bytes[info->dtype];
    for (uint32_t i = 0; i < info->rank; i++)
        tensor.bytes *= (uint64_t)shape[i];
    tensor.data = calloc(1, tensor.bytes);
    return tensor;
}

// Some numbers that the input may hold.
static void fill(const SlTensorInfo *info, SlTensor *tensor)
{
    uint64_t n = tensor->bytes / dtype_bytes[info->dtype];
    int64_t low = info->flags & SL_HAS_RANGE ? info->low : 0;
    int64_t range = info->flags & SL_HAS_RANGE ? info->high - info->low : 1;
    for (uint64_t i = 0; i < n; i++) {
        if (info->dtype == SL_F32)
            ((float *)tensor->data)[i] = (float)(i * 37 % 101) / 50 - 1;
        else if (info->dtype == SL_I32)
            ((int32_t *)tensor->data)[i] = (int32_t)(low + (int64_t)(i * 37) % range);
        else
            ((uint8_t *)tensor->data)[i] = 1;
    }
}

static void print(const char *name, const SlTensor *tensor)
{
    uint64_t n = tensor->bytes / dtype_bytes[tensor->dtype];
    printf("%s:", name);
    for (uint64_t i = 0; i < n && i < SHOWN; i++) {
        if (tensor->dtype == SL_F32)
            printf(" %g", (double)((const float *)tensor->data)[i]);
        else if (tensor->dtype == SL_I32)
            printf(" %d", ((const int32_t *)tensor->data)[i]);
        else
            printf(" %d", ((const uint8_t *)tensor->data)[i]);
    }
    printf(n > SHOWN ? " ... (%llu)\n" : "\n", (unsigned long long)n);
}

// Runs entry 0 with `symbols` for its free sizes, on inputs that it makes up.
static SlStatus run(const SlModel *model, SlContext *context, const SlEntryInfo *entry,
                    const int64_t *symbols, SlError *error)
{
    uint32_t n = entry->ninputs + entry->noutputs;
    SlTensor *tensors = calloc(n, sizeof *tensors); // inputs, then outputs
    int64_t(*shapes)[SL_MAX_RANK] = calloc(n, sizeof *shapes);
    SlTensorInfo info;
    SlStatus status = SL_OK;
    if (!tensors || !shapes)
        exit(3);
    for (uint32_t i = 0; i < n && !status; i++) {
        uint32_t output = i - entry->ninputs;
        if (i < entry->ninputs) {
            status = sl_input_shape(model, 0, i, symbols, entry->nsymbols, shapes[i], error);
            sl_input_info(model, 0, i, &info, NULL);
        } else {
            status = sl_output_shape(model, 0, output, symbols, entry->nsymbols, shapes[i], error);
            sl_output_info(model, 0, output, &info, NULL);
        }
        if (status)
            break;
        tensors[i] = new_tensor(&info, shapes[i]);
        if (tensors[i].data && i < entry->ninputs)
            fill(&info, &tensors[i]);
    }
    const SlTensor *outputs = tensors + entry->ninputs;
    if (!status)
        status = sl_run(context, 0, tensors, entry->ninputs, outputs, entry->noutputs, error);
    for (uint32_t i = 0; i < entry->noutputs && !status; i++) {
        sl_output_info(model, 0, i, &info, NULL);
        print(info.name, &outputs[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        free(tensors[i].data);
    free(tensors);
    free(shapes);
    return status;
}

int main(int argc, char **argv)
{
    SlModel *model = NULL;
    SlContext *context = NULL;
    SlEntryInfo entry;
    SlError error;
    int64_t symbols[SL_MAX_SYMBOLS];
    if (argc < 2) {
        fprintf(stderr, "usage: run_model MODEL.so [SIZE]\n");
        return 2;
    }
    SlStatus status = sl_model_open(argv[1], NULL, &model, &error);
    if (!status)
        status = sl_context_open(model, NULL, &context, &error);
    if (!status)
        status = sl_entry_info(model, 0, &entry, &error);
    if (!status) {
        describe(model, &entry);
        for (uint32_t i = 0; i < entry.nsymbols; i++)
            symbols[i] = argc > 2 ? atoll(argv[2]) : 1;
        status = run(model, context, &entry, symbols, &error);
    }
    if (status)
        fprintf(stderr, "%s: %s\n", sl_status_text(status), error.text);
    sl_context_close(context);
    sl_model_close(model);
    return status ? 1 : 0;
}
