// Runs a program without generating code. Where the pass `memory` has laid out the arena, buffers
// lie in one block of memory as it says, so that a wrong offset gives wrong results; else each has
// a block of its own. What nothing has stored yet reads as NaN, -1 or true.
#include "loop/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Block {
    void *data;
    int64_t count; // elements
} Block;

typedef struct Run {
    const Program *p;
    Arena *tmp;
    const SizeBinding *symbols; // [nsymbols]
    size_t nsymbols;
    const void *const *inputs;
    const void *const *constants;
    void *const *outputs;
    int64_t *input_counts;  // [inputs]
    int64_t *output_counts; // [outputs]
    Block *buffers;         // [buffers]
    uint8_t *arena;         // NULL: each buffer's data is its own
    Buf *why;
} Run;

__attribute__((format(printf, 2, 3))) static bool fail(Run *r, const char *format, ...)
{
    buf_format(r->why, "program %.*s: ", STR_ARG(r->p->name));
    va_list args;
    va_start(args, format);
    buf_vformat(r->why, format, args);
    va_end(args);
    return false;
}

static bool find_size(Run *r, const Size *size, int64_t *out)
{
    return size_value(size, r->symbols, r->nsymbols, out) ||
           fail(r, "%.*s has no value of 64 bits", STR_ARG(size_text(r->tmp, size)));
}

// The bytes of `count` elements, with the rest that an allocation needs.
static bool find_bytes(Run *r, int64_t count, DType dtype, size_t *out)
{
    int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)dtype_bytes(dtype), &bytes) ||
        bytes > INT64_MAX - LOOP_ALIGN)
        return fail(r, "%" PRId64 " elements are no buffer", count);
    *out = (size_t)bytes;
    return true;
}

static void *get_block(Run *r, size_t bytes)
{
    size_t whole = (bytes / LOOP_ALIGN + 1) * LOOP_ALIGN;
    void *out = aligned_alloc(LOOP_ALIGN, whole);
    if (out)
        memset(out, 0xff, whole);
    else
        fail(r, "no memory for %zu bytes", bytes);
    return out;
}

// ---- before the first step ----------------------------------------------------------------------

static bool make_checks(Run *r)
{
    for (size_t i = 0; i < r->p->symbols.n; i++) {
        const ProgramSymbol *s = &r->p->symbols.items[i];
        int64_t value;
        if (!find_size(r, size_symbol(r->tmp, s->name), &value))
            return false;
        if (value < s->low || value > s->high)
            return fail(r, "%.*s is %" PRId64, STR_ARG(s->name), value);
    }
    for (size_t i = 0; i < r->p->checks.n; i++) {
        const ProgramCheck *c = &r->p->checks.items[i];
        int64_t left;
        int64_t right;
        if (!find_size(r, c->left, &left) || !find_size(r, c->right, &right))
            return false;
        if (!size_op_holds(c->op, left, right))
            return fail(r, "%.*s", STR_ARG(c->text));
    }
    return true;
}

static bool count_io(Run *r, const ProgramIo *io, int64_t *out)
{
    return find_size(r, size_product(r->tmp, io->shape, io->rank), out);
}

static bool open_arena(Run *r)
{
    int64_t bytes;
    if (!find_size(r, r->p->arena_bytes, &bytes))
        return false;
    if (bytes < 0)
        return fail(r, "the arena has %" PRId64 " bytes", bytes);
    r->arena = get_block(r, (size_t)bytes);
    return r->arena != NULL;
}

static bool open_buffer(Run *r, size_t i)
{
    const ArenaBuffer *b = &r->p->buffers.items[i];
    Block *block = &r->buffers[i];
    size_t bytes = 0;
    if (!find_size(r, b->count, &block->count) || !find_bytes(r, block->count, b->dtype, &bytes))
        return false;
    if (!r->arena) {
        block->data = get_block(r, bytes);
        return block->data != NULL;
    }
    int64_t arena_bytes;
    int64_t offset;
    if (!find_size(r, r->p->arena_bytes, &arena_bytes) || !find_size(r, b->offset, &offset))
        return false;
    if (offset < 0 || offset % LOOP_ALIGN != 0 || offset > arena_bytes ||
        bytes > (size_t)(arena_bytes - offset))
        return fail(r, "buffer %zu lies at %" PRId64 " in an arena of %" PRId64, i, offset,
                    arena_bytes);
    block->data = r->arena + offset;
    return true;
}

static bool open_memory(Run *r)
{
    for (size_t i = 0; i < r->p->inputs.n; i++) {
        if (!count_io(r, &r->p->inputs.items[i], &r->input_counts[i]))
            return false;
    }
    for (size_t i = 0; i < r->p->outputs.n; i++) {
        const ProgramIo *io = &r->p->outputs.items[i];
        size_t bytes = 0;
        if (!count_io(r, io, &r->output_counts[i]) ||
            !find_bytes(r, r->output_counts[i], io->dtype, &bytes))
            return false;
        memset(r->outputs[i], 0xff, bytes);
    }
    if (r->p->arena_bytes && !open_arena(r))
        return false;
    for (size_t i = 0; i < r->p->buffers.n; i++) {
        if (!open_buffer(r, i))
            return false;
    }
    return true;
}

static void fill(void *data, DType dtype, int64_t count, double value)
{
    for (int64_t i = 0; i < count; i++) {
        if (dtype == DT_f32)
            ((float *)data)[i] = (float)value;
        else if (dtype == DT_i32)
            ((int32_t *)data)[i] = (int32_t)value;
        else
            ((uint8_t *)data)[i] = value != 0;
    }
}

// Puts an input into its slot: bools become 0 or 1, what was left out is filled in.
static bool fill_slot(Run *r, size_t i)
{
    const ProgramIo *io = &r->p->inputs.items[i];
    const void *given = r->inputs[i];
    int64_t count = r->input_counts[i];
    if (!given && !io->has_default)
        return fail(r, "input %.*s is missing", STR_ARG(io->name));
    if (given && io->has_range) {
        for (int64_t j = 0; j < count; j++) {
            int32_t x = ((const int32_t *)given)[j];
            if (x < io->low || x >= io->high)
                return fail(r, "input %.*s has %" PRId32, STR_ARG(io->name), x);
        }
    }
    if (!io->has_slot)
        return true;
    void *slot = r->buffers[io->slot].data;
    if (!given) {
        fill(slot, io->dtype, count, io->value);
    } else if (io->dtype == DT_bool) {
        for (int64_t j = 0; j < count; j++)
            ((uint8_t *)slot)[j] = ((const uint8_t *)given)[j] != 0;
    } else {
        memcpy(slot, given, (size_t)count * dtype_bytes(io->dtype));
    }
    return true;
}

// ---- steps --------------------------------------------------------------------------------------

static Block find_operand(const Run *r, Operand operand)
{
    uint32_t i = operand.index;
    switch (operand.kind) {
    case OPERAND_input:
        if (r->p->inputs.items[i].has_slot)
            return r->buffers[r->p->inputs.items[i].slot];
        return (Block){.data = (void *)r->inputs[i], .count = r->input_counts[i]};
    case OPERAND_output: return (Block){.data = r->outputs[i], .count = r->output_counts[i]};
    case OPERAND_buffer: return r->buffers[i];
    case OPERAND_constant: break;
    }
    const Constant *c = &r->p->constants.items[i];
    Block out = {.data = (void *)r->constants[i], .count = 1};
    for (size_t j = 0; j < c->rank; j++)
        out.count *= c->shape[j];
    return out;
}

static bool run_step(Run *r, const Step *step, uint32_t *fault)
{
    void **data = arena_new(r->tmp, void *, step->noperands);
    int64_t *counts = arena_new(r->tmp, int64_t, step->noperands);
    for (size_t i = 0; i < step->noperands; i++) {
        Block block = find_operand(r, step->operands[i]);
        data[i] = block.data;
        counts[i] = block.count;
    }
    Buf reason = {.arena = r->tmp};
    return kernel_eval(r->p->kernels.items[step->kernel], r->symbols, r->nsymbols, data, counts,
                       fault, &reason) ||
           fail(r, "step %.*s: %.*s", STR_ARG(step->name), STR_ARG(buf_str(&reason)));
}

static bool run(Run *r, uint32_t *fault)
{
    if (!make_checks(r) || !open_memory(r))
        return false;
    for (size_t i = 0; i < r->p->inputs.n; i++) {
        if (!fill_slot(r, i))
            return false;
    }
    for (size_t i = 0; i < r->p->steps.n; i++) {
        if (!run_step(r, &r->p->steps.items[i], fault))
            return false;
    }
    return true;
}

bool program_eval(const Program *p, const SizeBinding *symbols, size_t nsymbols,
                  const ProgramData *data, uint32_t *fault, Buf *why)
{
    if (!program_verify(p, why))
        return false;
    Run r = {.p = p, .tmp = arena_create(), .symbols = symbols, .nsymbols = nsymbols};
    r.inputs = data->inputs;
    r.constants = data->constants;
    r.outputs = data->outputs;
    r.why = why;
    r.input_counts = arena_new(r.tmp, int64_t, p->inputs.n);
    r.output_counts = arena_new(r.tmp, int64_t, p->outputs.n);
    r.buffers = arena_new(r.tmp, Block, p->buffers.n);
    bool ok = run(&r, fault);
    for (size_t i = 0; i < p->buffers.n && !r.arena; i++)
        free(r.buffers[i].data);
    free(r.arena);
    arena_destroy(r.tmp);
    return ok;
}
