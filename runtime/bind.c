// Contexts, and what an entry needs for given symbol values.
//
//   block:   SlContext | pool | symbols | wanted | parts | offsets | slots, their bytes | operands
//   memory:  arena, slack | scratch of share 0, slack | scratch of share 1, slack | …
//
// The block is made once, large enough for every entry. The memory grows with the symbols, or is
// the caller's.
#include "runtime/internal.h"

#include <string.h>

// Of one entry for one set of symbols; all multiples of SL_ABI_ALIGN.
typedef struct Sizes {
    uint64_t arena; // slack included
    uint64_t scratch;
    uint64_t total;
} Sizes;

static bool padded(int64_t bytes, uint64_t *out)
{
    if (bytes < 0 || bytes > INT64_MAX / 2)
        return false;
    *out = ((uint64_t)bytes + SL_ABI_SLACK + SL_ABI_ALIGN - 1) / SL_ABI_ALIGN * SL_ABI_ALIGN;
    return true;
}

static SlStatus find_sizes(const SlAbiEntry *entry, const int64_t *symbols, uint32_t threads,
                           Sizes *sizes, SlError *error)
{
    int64_t arena;
    int64_t scratch;
    uint64_t all;
    if (!sli_eval(&entry->arena_bytes, symbols, &arena) || !padded(arena, &sizes->arena) ||
        !sli_eval(&entry->scratch_bytes, symbols, &scratch) || !padded(scratch, &sizes->scratch) ||
        __builtin_mul_overflow(sizes->scratch, threads, &all) ||
        __builtin_add_overflow(all, sizes->arena, &sizes->total) || sizes->total > INT64_MAX)
        return SL_FAIL(error, SL_E_OVERFLOW, "entry '%s': the memory for these sizes overflows",
                       entry->name);
    return SL_OK;
}

static SlStatus find_slot(SlContext *context, const SlAbiEntry *entry, uint32_t input,
                          const Sizes *sizes, SlError *error)
{
    const SlAbiIo *io = sli_at(entry->inputs, input);
    int64_t shape[SL_MAX_RANK];
    int64_t slot;
    SL_TRY(sli_eval_shape(io, context->wanted, shape, error));
    context->slots[input] = -1;
    if (!(io->flags & SL_IO_SLOT))
        return SL_OK;
    uint64_t bytes = sli_tensor_bytes(shape, io);
    if (!sli_eval(&io->slot, context->wanted, &slot) || slot < 0 || slot % SL_ABI_ALIGN != 0 ||
        bytes > sizes->arena || (uint64_t)slot > sizes->arena - bytes)
        return SL_FAIL(error, SL_E_TABLE, "entry '%s': input '%s' does not fit its slot",
                       entry->name, io->name);
    context->slots[input] = slot;
    context->slot_bytes[input] = bytes;
    return SL_OK;
}

static bool find_offset(const SlContext *context, const SlAbiOperand *operand, const Sizes *sizes,
                        int64_t *offset)
{
    uint64_t limit = operand->kind == SL_OPERAND_ARENA     ? sizes->arena
                     : operand->kind == SL_OPERAND_WEIGHTS ? context->model->table->weights_bytes
                                                           : INT64_MAX;
    return sli_eval(&operand->offset, context->wanted, offset) && *offset >= 0 &&
           (uint64_t)*offset < limit;
}

static SlStatus plan_steps(SlContext *context, const SlAbiEntry *entry, const Sizes *sizes,
                           SlError *error)
{
    uint64_t n = 0;
    context->parallel = false;
    for (uint32_t i = 0; i < entry->nsteps; i++) {
        const SlAbiStep *step = sli_at(entry->steps, i);
        int64_t parts;
        if (!sli_eval(&step->parts, context->wanted, &parts) || parts < 1 || parts > UINT32_MAX)
            return SL_FAIL(error, SL_E_OVERFLOW, "entry '%s': step '%s' has too many parts",
                           entry->name, step->name);
        context->parts[i] = (uint32_t)parts;
        context->parallel = context->parallel || parts > 1;
        for (uint32_t k = 0; k < step->noperands; k++, n++) {
            if (!find_offset(context, sli_at(step->operands, k), sizes, &context->offsets[n]))
                return SL_FAIL(error, SL_E_TABLE, "entry '%s': step '%s': operand %u lies outside",
                               entry->name, step->name, k);
        }
    }
    return SL_OK;
}

static void release_memory(SlContext *context)
{
    if (context->own_arena && context->memory) {
        context->allocator.release(context->allocator.context, context->memory,
                                   context->memory_bytes);
        context->memory = NULL;
        context->memory_bytes = 0;
    }
    context->bound = NULL;
}

// The old memory goes first: both at once would be more than the largest run needs.
static SlStatus take_memory(SlContext *context, const SlAbiEntry *entry, const Sizes *sizes,
                            SlError *error)
{
    if (sizes->total <= context->memory_bytes)
        return SL_OK;
    if (!context->own_arena)
        return SL_FAIL(error, SL_E_ARENA, "entry '%s' needs an arena of %llu bytes, it has %llu",
                       entry->name, (unsigned long long)sizes->total,
                       (unsigned long long)context->memory_bytes);
    release_memory(context);
    context->memory =
        context->allocator.allocate(context->allocator.context, sizes->total, SL_ABI_ALIGN);
    if (!context->memory)
        return SL_FAIL(error, SL_E_MEMORY, "entry '%s': no memory for %llu bytes", entry->name,
                       (unsigned long long)sizes->total);
    context->memory_bytes = sizes->total;
    return SL_OK;
}

SlStatus sli_bind_wanted(SlContext *context, const SlAbiEntry *entry, SlError *error)
{
    size_t symbol_bytes = entry->nsymbols * sizeof context->symbols[0];
    if (context->bound == entry && memcmp(context->symbols, context->wanted, symbol_bytes) == 0)
        return SL_OK;
    context->bound = NULL;
    Sizes sizes;
    int64_t shape[SL_MAX_RANK];
    SL_TRY(sli_check_checks(entry, context->wanted, error));
    SL_TRY(find_sizes(entry, context->wanted, context->threads, &sizes, error));
    for (uint32_t i = 0; i < entry->ninputs; i++)
        SL_TRY(find_slot(context, entry, i, &sizes, error));
    for (uint32_t i = 0; i < entry->noutputs; i++)
        SL_TRY(sli_eval_shape(sli_at(entry->outputs, i), context->wanted, shape, error));
    SL_TRY(plan_steps(context, entry, &sizes, error));
    SL_TRY(take_memory(context, entry, &sizes, error));
    context->scratch = context->memory + sizes.arena;
    context->scratch_stride = sizes.scratch;
    memcpy(context->symbols, context->wanted, symbol_bytes);
    context->bound = entry;
    return SL_OK;
}

bool sli_enter(SlContext *context)
{
    return !atomic_flag_test_and_set_explicit(&context->busy, memory_order_acquire);
}

void sli_leave(SlContext *context)
{
    atomic_flag_clear_explicit(&context->busy, memory_order_release);
}

SlStatus sl_bind(SlContext *context, uint32_t entry, const int64_t *symbols, uint32_t nsymbols,
                 SlError *error)
{
    const SlAbiEntry *e;
    if (!context)
        return SL_FAIL(error, SL_E_ARGUMENT, "context is NULL");
    SL_TRY(sli_find_entry(context->model, entry, &e, error));
    SL_TRY(sli_check_symbols(e, symbols, nsymbols, error));
    if (!sli_enter(context))
        return SL_FAIL(error, SL_E_BUSY, "the context is in use");
    if (nsymbols > 0)
        memcpy(context->wanted, symbols, nsymbols * sizeof *symbols);
    SlStatus status = sli_bind_wanted(context, e, error);
    sli_leave(context);
    return status == SL_OK ? sli_ok(error) : status;
}

SlStatus sl_arena_bytes(const SlContext *context, uint32_t entry, const int64_t *symbols,
                        uint32_t nsymbols, uint64_t *bytes, SlError *error)
{
    const SlAbiEntry *e;
    Sizes sizes;
    if (!context || !bytes)
        return SL_FAIL(error, SL_E_ARGUMENT, "%s is NULL", context ? "bytes" : "context");
    *bytes = 0;
    SL_TRY(sli_find_entry(context->model, entry, &e, error));
    SL_TRY(sli_check_symbols(e, symbols, nsymbols, error));
    SL_TRY(find_sizes(e, symbols, context->threads, &sizes, error));
    *bytes = sizes.total;
    return sli_ok(error);
}

SlStatus sl_trim(SlContext *context)
{
    if (!context)
        return SL_OK;
    if (!sli_enter(context))
        return SL_E_BUSY;
    release_memory(context);
    sli_leave(context);
    return SL_OK;
}

uint32_t sl_thread_count(const SlContext *context) { return context ? context->threads : 0; }

// The largest of each over all entries.
typedef struct Counts {
    uint64_t symbols, steps, operands, inputs;
} Counts;

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static Counts count_all(const SlAbiVariant *variant)
{
    Counts most = {0};
    for (uint32_t i = 0; i < variant->nentries; i++) {
        const SlAbiEntry *entry = sli_at(variant->entries, i);
        uint64_t operands = 0;
        for (uint32_t k = 0; k < entry->nsteps; k++)
            operands += ((const SlAbiStep *)sli_at(entry->steps, k))->noperands;
        most.symbols = larger(most.symbols, entry->nsymbols);
        most.steps = larger(most.steps, entry->nsteps);
        most.operands = larger(most.operands, operands);
        most.inputs = larger(most.inputs, entry->ninputs);
    }
    return most;
}

// Places `bytes` behind what was placed before, 64-byte aligned; `block` NULL only counts.
static void *place(uint8_t *block, uint64_t *used, uint64_t bytes)
{
    uint64_t at = *used;
    *used += (bytes + SL_ABI_ALIGN - 1) / SL_ABI_ALIGN * SL_ABI_ALIGN;
    return block ? block + at : NULL;
}

// The parts of a context inside its block, which begins with `context` itself.
static uint64_t lay_out(SlContext *context, uint8_t *block, const Counts *n)
{
    uint64_t used = 0;
    place(block, &used, sizeof *context);
    context->pool = place(block, &used, sli_pool_bytes(context->threads));
    context->symbols = place(block, &used, n->symbols * sizeof *context->symbols);
    context->wanted = place(block, &used, n->symbols * sizeof *context->wanted);
    context->parts = place(block, &used, n->steps * sizeof *context->parts);
    context->offsets = place(block, &used, n->operands * sizeof *context->offsets);
    context->slots = place(block, &used, n->inputs * sizeof *context->slots);
    context->slot_bytes = place(block, &used, n->inputs * sizeof *context->slot_bytes);
    context->operands = place(block, &used, n->operands * sizeof *context->operands);
    return used;
}

static SlStatus check_options(const SlContextOptions *options, SlContext *context, SlError *error)
{
    SL_TRY(sli_choose_allocator(options->allocator, &context->model->allocator, &context->allocator,
                                error));
    if (options->threads < 0 || options->threads > (int32_t)SL_MAX_THREADS)
        return SL_FAIL(error, SL_E_OPTION, "threads is %d, 0 (default) to %u is allowed",
                       options->threads, SL_MAX_THREADS);
    context->threads = (uint32_t)options->threads;
    if (options->threads == 0)
        SL_TRY(sli_default_threads(&context->threads, error));
    context->own_arena = !options->arena;
    if (!options->arena)
        return options->arena_bytes == 0
                   ? SL_OK
                   : SL_FAIL(error, SL_E_OPTION, "arena is NULL, but arena_bytes is not 0");
    uint64_t skip = (SL_ABI_ALIGN - (uintptr_t)options->arena % SL_ABI_ALIGN) % SL_ABI_ALIGN;
    context->memory = (uint8_t *)options->arena + skip;
    context->memory_bytes = options->arena_bytes > skip ? options->arena_bytes - skip : 0;
    return SL_OK;
}

SlStatus sl_context_open(SlModel *model, const SlContextOptions *options, SlContext **context,
                         SlError *error)
{
    if (!context)
        return SL_FAIL(error, SL_E_ARGUMENT, "context is NULL");
    *context = NULL;
    if (!model)
        return SL_FAIL(error, SL_E_ARGUMENT, "model is NULL");
    const SlContextOptions none = {0};
    options = options ? options : &none;
    SlContext draft = {.model = model, .busy = ATOMIC_FLAG_INIT};
    SL_TRY(check_options(options, &draft, error));
    const Counts counts = count_all(model->variant);
    draft.block_bytes = lay_out(&draft, NULL, &counts);
    uint8_t *block =
        draft.allocator.allocate(draft.allocator.context, draft.block_bytes, SL_ABI_ALIGN);
    if (!block)
        return SL_FAIL(error, SL_E_MEMORY, "no memory for a context");
    lay_out(&draft, block, &counts);
    const SliPoolOptions pool = {draft.threads, options->parallel_for, options->parallel_context};
    SlStatus status = sli_pool_open(draft.pool, &pool, error);
    if (status != SL_OK) {
        draft.allocator.release(draft.allocator.context, block, draft.block_bytes);
        return status;
    }
    memcpy(block, &draft, sizeof draft);
    *context = (SlContext *)(void *)block;
    atomic_fetch_add(&model->contexts, 1);
    return sli_ok(error);
}

SlStatus sl_context_close(SlContext *context)
{
    if (!context)
        return SL_OK;
    if (!sli_enter(context))
        return SL_E_BUSY;
    sli_pool_close(context->pool);
    release_memory(context);
    atomic_fetch_sub(&context->model->contexts, 1);
    SlAllocator allocator = context->allocator;
    allocator.release(allocator.context, context, context->block_bytes);
    return SL_OK;
}
