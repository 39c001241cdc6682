// Checks a program: that its parts name each other rightly, that steps fit their kernels, and that
// nothing is read before it is written. Every kernel is checked too.
#include "base/map.h"
#include "loop/internal.h"

#include <inttypes.h>

typedef struct Check {
    const Program *p;
    Arena *tmp;
    Str *symbols; // [p->symbols.n]
    Buf *why;
    bool *output_written; // [outputs]
    bool *buffer_written; // [buffers]
} Check;

__attribute__((format(printf, 2, 3))) static bool fail(Check *c, const char *format, ...)
{
    buf_format(c->why, "program %.*s: ", STR_ARG(c->p->name));
    va_list args;
    va_start(args, format);
    buf_vformat(c->why, format, args);
    va_end(args);
    return false;
}

static bool check_size(Check *c, const Size *size, const char *what, Str of)
{
    Buf reason = {.arena = c->tmp};
    return loop_check_size(size, c->symbols, c->p->symbols.n, what, &reason) ||
           fail(c, "%.*s: %.*s", STR_ARG(of), STR_ARG(buf_str(&reason)));
}

// Adds a name to those of its kind.
static bool check_name(Check *c, Map *names, Str name, const char *what)
{
    if (name.len == 0)
        return fail(c, "%s has no name", what);
    if (map_has(names, name))
        return fail(c, "%s %.*s is there twice", what, STR_ARG(name));
    map_put(names, name, c);
    return true;
}

static bool check_symbols(Check *c)
{
    Map names = {.arena = c->tmp};
    for (size_t i = 0; i < c->p->symbols.n; i++) {
        const ProgramSymbol *s = &c->p->symbols.items[i];
        if (!check_name(c, &names, s->name, "symbol"))
            return false;
        if (s->low < 1 || s->high < s->low)
            return fail(c, "symbol %.*s lies between %" PRId64 " and %" PRId64, STR_ARG(s->name),
                        s->low, s->high);
    }
    for (size_t i = 0; i < c->p->checks.n; i++) {
        const ProgramCheck *check = &c->p->checks.items[i];
        if (check->op == SIZE_gt || check->op == SIZE_ge)
            return fail(c, "a check compares by %s", size_op_text(check->op));
        if (!check_size(c, check->left, "the left side", check->text) ||
            !check_size(c, check->right, "the right side", check->text))
            return false;
    }
    return true;
}

static bool check_slot(Check *c, const ProgramIo *io, bool *taken)
{
    if (!io->has_slot) {
        if (io->dtype != DT_f32 || io->has_default)
            return fail(c, "input %.*s needs a slot and has none", STR_ARG(io->name));
        return true;
    }
    if (io->slot >= c->p->buffers.n)
        return fail(c, "input %.*s: there is no buffer %" PRIu32, STR_ARG(io->name), io->slot);
    const ArenaBuffer *b = &c->p->buffers.items[io->slot];
    if (!b->is_slot || taken[io->slot])
        return fail(c, "input %.*s: buffer %" PRIu32 " is %s", STR_ARG(io->name), io->slot,
                    b->is_slot ? "another input's slot" : "no slot");
    const Size *count = size_product(c->tmp, io->shape, io->rank);
    if (b->dtype != io->dtype || !count || !b->count || !size_equal(count, b->count))
        return fail(c, "input %.*s: its slot has another type or size", STR_ARG(io->name));
    taken[io->slot] = true;
    c->buffer_written[io->slot] = true;
    return true;
}

static bool check_io(Check *c, Map *names, const ProgramIo *io, const char *what)
{
    if (!check_name(c, names, io->name, what))
        return false;
    if (!dtype_is_element(io->dtype))
        return fail(c, "%s %.*s is %s", what, STR_ARG(io->name), dtype_name(io->dtype));
    for (size_t i = 0; i < io->rank; i++) {
        if (!check_size(c, io->shape[i], "a size", io->name))
            return false;
    }
    if (io->has_range && (io->dtype != DT_i32 || io->low >= io->high))
        return fail(c, "%s %.*s, %s, has the range %" PRId64 " .. %" PRId64, what,
                    STR_ARG(io->name), dtype_name(io->dtype), io->low, io->high);
    return true;
}

static bool check_ios(Check *c)
{
    Map inputs = {.arena = c->tmp};
    Map outputs = {.arena = c->tmp};
    bool *taken = arena_new(c->tmp, bool, c->p->buffers.n);
    for (size_t i = 0; i < c->p->inputs.n; i++) {
        const ProgramIo *io = &c->p->inputs.items[i];
        if (!check_io(c, &inputs, io, "input") || !check_slot(c, io, taken))
            return false;
    }
    for (size_t i = 0; i < c->p->outputs.n; i++) {
        const ProgramIo *io = &c->p->outputs.items[i];
        if (!check_io(c, &outputs, io, "output"))
            return false;
        if (io->has_slot || io->has_range || io->has_default)
            return fail(c, "output %.*s has what only inputs have", STR_ARG(io->name));
    }
    for (size_t i = 0; i < c->p->buffers.n; i++) {
        if (c->p->buffers.items[i].is_slot && !taken[i])
            return fail(c, "buffer %zu is the slot of no input", i);
    }
    return true;
}

static bool check_memory(Check *c)
{
    Map names = {.arena = c->tmp};
    for (size_t i = 0; i < c->p->constants.n; i++) {
        const Constant *constant = &c->p->constants.items[i];
        if (!check_name(c, &names, constant->name, "constant"))
            return false;
        if (!dtype_is_element(constant->dtype) || constant->layout.len == 0)
            return fail(c, "constant %.*s has no layout or is %s", STR_ARG(constant->name),
                        dtype_name(constant->dtype));
        for (size_t j = 0; j < constant->rank; j++) {
            if (constant->shape[j] < 0)
                return fail(c, "constant %.*s has the size %" PRId64, STR_ARG(constant->name),
                            constant->shape[j]);
        }
    }
    for (size_t i = 0; i < c->p->buffers.n; i++) {
        const ArenaBuffer *b = &c->p->buffers.items[i];
        if (!dtype_is_element(b->dtype))
            return fail(c, "buffer %zu is %s", i, dtype_name(b->dtype));
        if (!check_size(c, b->count, "the buffer's size", b->name))
            return false;
        if (c->p->arena_bytes && !check_size(c, b->offset, "the buffer's offset", b->name))
            return false;
    }
    return !c->p->arena_bytes || check_size(c, c->p->arena_bytes, "its size", STR("arena"));
}

static bool check_kernels(Check *c)
{
    Map names = {.arena = c->tmp};
    for (size_t i = 0; i < c->p->kernels.n; i++) {
        const Kernel *k = c->p->kernels.items[i];
        if (!check_name(c, &names, k->name, "kernel") ||
            !kernel_verify(k, c->symbols, c->p->symbols.n, c->why))
            return false;
    }
    return true;
}

// ---- steps --------------------------------------------------------------------------------------

// What an operand is, as `output "hidden"`; `written`, if it can be written, tells whether it was.
typedef struct Place {
    const char *what;
    Str name;
    DType dtype;
    bool *written; // NULL: always there, and never stored to
} Place;

static bool find_place(Check *c, Operand operand, Place *out)
{
    const Program *p = c->p;
    uint32_t i = operand.index;
    switch (operand.kind) {
    case OPERAND_input:
        if (i >= p->inputs.n)
            break;
        *out = (Place){"input", p->inputs.items[i].name, p->inputs.items[i].dtype, NULL};
        return true;
    case OPERAND_output:
        if (i >= p->outputs.n)
            break;
        *out = (Place){"output", p->outputs.items[i].name, p->outputs.items[i].dtype,
                       &c->output_written[i]};
        return true;
    case OPERAND_buffer:
        if (i >= p->buffers.n)
            break;
        *out = (Place){"buffer", p->buffers.items[i].name, p->buffers.items[i].dtype,
                       p->buffers.items[i].is_slot ? NULL : &c->buffer_written[i]};
        return true;
    case OPERAND_constant:
        if (i >= p->constants.n)
            break;
        *out = (Place){"constant", p->constants.items[i].name, p->constants.items[i].dtype, NULL};
        return true;
    }
    return false;
}

// Whether both name one piece of memory. An input with a slot is its slot.
static bool is_same_place(const Program *p, Operand x, Operand y)
{
    if (x.kind == OPERAND_input && p->inputs.items[x.index].has_slot)
        x = (Operand){OPERAND_buffer, p->inputs.items[x.index].slot};
    if (y.kind == OPERAND_input && p->inputs.items[y.index].has_slot)
        y = (Operand){OPERAND_buffer, p->inputs.items[y.index].slot};
    return x.kind == y.kind && x.index == y.index;
}

static bool check_operand(Check *c, const Step *step, const Kernel *k, size_t i)
{
    const Buffer *b = &k->buffers.items[i];
    Place place;
    if (!find_place(c, step->operands[i], &place))
        return fail(c, "step %.*s: operand %zu does not exist", STR_ARG(step->name), i);
    if (place.dtype != b->dtype)
        return fail(c, "step %.*s: %s %.*s is %s, kernel %.*s wants %s", STR_ARG(step->name),
                    place.what, STR_ARG(place.name), dtype_name(place.dtype), STR_ARG(k->name),
                    dtype_name(b->dtype));
    if (b->written && !place.written)
        return fail(c, "step %.*s: %s %.*s is stored to", STR_ARG(step->name), place.what,
                    STR_ARG(place.name));
    if (!b->written && place.written && !*place.written)
        return fail(c, "step %.*s: %s %.*s is read before it is written", STR_ARG(step->name),
                    place.what, STR_ARG(place.name));
    return true;
}

static bool check_step(Check *c, const Step *step)
{
    if (step->kernel >= c->p->kernels.n)
        return fail(c, "step %.*s: there is no kernel %" PRIu32, STR_ARG(step->name), step->kernel);
    const Kernel *k = c->p->kernels.items[step->kernel];
    if (step->noperands != k->noperands)
        return fail(c, "step %.*s: %zu operands, kernel %.*s has %zu", STR_ARG(step->name),
                    step->noperands, STR_ARG(k->name), k->noperands);
    for (size_t i = 0; i < step->noperands; i++) {
        if (!check_operand(c, step, k, i))
            return false;
    }
    // A kernel may take its operands for apart from each other.
    for (size_t i = 0; i < step->noperands; i++) {
        if (!k->buffers.items[i].written)
            continue;
        for (size_t j = 0; j < step->noperands; j++) {
            if (i != j && is_same_place(c->p, step->operands[i], step->operands[j]))
                return fail(c, "step %.*s: operand %zu is stored to and is operand %zu too",
                            STR_ARG(step->name), i, j);
        }
        Place place;
        if (find_place(c, step->operands[i], &place) && place.written)
            *place.written = true;
    }
    return true;
}

static bool check_steps(Check *c)
{
    for (size_t i = 0; i < c->p->steps.n; i++) {
        if (!check_step(c, &c->p->steps.items[i]))
            return false;
    }
    for (size_t i = 0; i < c->p->outputs.n; i++) {
        if (!c->output_written[i])
            return fail(c, "output %.*s is never written", STR_ARG(c->p->outputs.items[i].name));
    }
    return true;
}

bool program_verify(const Program *p, Buf *why)
{
    Arena *tmp = arena_create();
    Check c = {.p = p, .tmp = tmp, .why = why};
    c.symbols = arena_new(tmp, Str, p->symbols.n);
    for (size_t i = 0; i < p->symbols.n; i++)
        c.symbols[i] = p->symbols.items[i].name;
    c.output_written = arena_new(tmp, bool, p->outputs.n);
    c.buffer_written = arena_new(tmp, bool, p->buffers.n);
    bool ok = check_symbols(&c) && check_memory(&c) && check_ios(&c) && check_kernels(&c) &&
              check_steps(&c);
    arena_destroy(tmp);
    return ok;
}
