// Where elements are, and moving them between memory and registers.
//
// The address of x[base + Σ coef·var + row(index)] is built from the outermost part inwards: the
// buffer's pointer, what is known in front of the outermost loop, then each loop's own terms, each
// where it first can be known; accesses that begin alike share these pointers. Constant parts come
// last and become part of the instruction.
#include "codegen/kernel.h"

#define NO_VAR UINT32_MAX // a term that is a coefficient alone

typedef struct Address {
    LLVMValueRef ptr;
    int64_t bytes;     // behind ptr
    uint32_t level;    // of what is read there
    const Size *step;  // elements from one lane to the next; NULL: all lanes read the same one
    LLVMValueRef rows; // each lane's own row: i64 vector of elements behind ptr; NULL: none
} Address;

// How the lanes of an access lie.
typedef enum Pattern {
    PATTERN_one,      // all the same element
    PATTERN_forward,  // side by side
    PATTERN_backward, // side by side, the first lane last
    PATTERN_even,     // every second one
    PATTERN_scattered,
} Pattern;

static int64_t element_bytes(const KernelGen *k, uint32_t buffer)
{
    return (int64_t)dtype_bytes(k->kernel->buffers.items[buffer].dtype);
}

static LLVMTypeRef memory_type(const Gen *g, DType dtype)
{
    return dtype == DT_bool ? g->i8 : element_type(g, dtype);
}

static LLVMValueRef buffer_pointer(KernelGen *k, uint32_t buffer)
{
    if (k->pointers[buffer]) {
        return k->pointers[buffer];
    }
    Gen *g = k->g;
    scope_goto(k, 0);
    LLVMValueRef ptr;
    if (k->kernel->buffers.items[buffer].kind == BUFFER_operand) {
        LLVMValueRef all =
            gen_load(g, g->ptr, gen_offset_const(g, k->frame, offsetof(SlFrame, operands)), 8);
        ptr = gen_load(g, g->ptr, gen_offset_const(g, all, (int64_t)buffer * 8), 8);
    } else {
        ptr = gen_load(g, g->ptr, gen_offset_const(g, k->frame, offsetof(SlFrame, scratch)), 8);
        ptr = gen_offset_const(g, ptr, kernel_scratch_offset(k->kernel, buffer));
    }
    k->pointers[buffer] = ptr;
    return ptr;
}

// ---- the pointer --------------------------------------------------------------------------------

// Adds x · y to a byte count known when compiling.
static void add_fixed(const KernelGen *k, int64_t *bytes, int64_t x, int64_t y)
{
    int64_t product;
    if (__builtin_mul_overflow(x, y, &product) || __builtin_add_overflow(*bytes, product, bytes)) {
        die("kernel %.*s: an address is over 64 bits", STR_ARG(k->kernel->name));
    }
}

// The constant term of a size.
static int64_t fixed_part(const Size *size)
{
    size_t n = size->nterms;
    return n > 0 && size->terms[n - 1].natoms == 0 ? size->terms[n - 1].factor : 0;
}

static uint32_t term_level(const KernelGen *k, const AffineTerm *term)
{
    return term->var == NO_VAR ? 0 : k->vars[term->var].level;
}

// The terms whose value is not known when compiling, outermost first; known ones go to a->bytes.
static size_t sort_terms(KernelGen *k, const Access *access, Address *a, AffineTerm *terms)
{
    int64_t unit = element_bytes(k, access->buffer);
    Arena *arena = k->g->arena;
    int64_t fixed = fixed_part(access->at.base);
    size_t n = 0;
    add_fixed(k, &a->bytes, fixed, unit);
    if (!size_is(access->at.base, fixed)) {
        terms[n++] = (AffineTerm){NO_VAR, size_sub(arena, access->at.base, size_int(arena, fixed))};
    }
    for (size_t i = 0; i < access->at.nterms; i++) {
        AffineTerm term = access->at.terms[i];
        const VarPlace *place = &k->vars[term.var];
        int64_t coef;
        if (k->lanes.loop && k->lanes.loop->var == term.var) {
            a->step = term.coef;
        }
        a->level = a->level < place->level ? place->level : a->level;
        if (place->value) {
            terms[n++] = term;
        } else if (size_is_int(term.coef, &coef)) {
            int64_t step = 0;
            add_fixed(k, &step, coef, unit);
            add_fixed(k, &a->bytes, step, place->fixed);
        } else if (place->fixed != 0) {
            terms[n++] = (AffineTerm){NO_VAR, size_scale(arena, term.coef, place->fixed)};
        }
    }
    for (size_t i = 1; i < n; i++) {
        AffineTerm term = terms[i];
        size_t j = i;
        for (; j > 0 && term_level(k, &terms[j - 1]) > term_level(k, &term); j--) {
            terms[j] = terms[j - 1];
        }
        terms[j] = term;
    }
    return n;
}

static LLVMValueRef terms_bytes(KernelGen *k, const AffineTerm *terms, size_t n, int64_t unit,
                                uint32_t *level)
{
    Gen *g = k->g;
    LLVMValueRef sizes[2];
    LLVMValueRef sum = NULL;
    for (size_t i = 0; i < n; i++) {
        LLVMValueRef coef = kernel_size(k, terms[i].coef);
        *level = scope_goto(k, *level);
        sizes[1] = LLVMBuildNSWMul(g->builder, coef, gen_int(g, unit), "");
        if (terms[i].var != NO_VAR) {
            sizes[1] = LLVMBuildNSWMul(g->builder, k->vars[terms[i].var].value, sizes[1], "");
        }
        sizes[0] = sum;
        sum = sum ? LLVMBuildNSWAdd(g->builder, sizes[0], sizes[1], "") : sizes[1];
    }
    return sum;
}

// Advances the pointer by terms that become known at one level.
static void advance(KernelGen *k, Address *a, const AffineTerm *terms, size_t n, int64_t unit)
{
    Memo *m = memo_find_pointer(k, a->ptr, terms, n);
    if (m) {
        a->ptr = m->val.v;
        return;
    }
    uint32_t level = term_level(k, &terms[0]);
    LLVMValueRef bytes = terms_bytes(k, terms, n, unit, &level);
    LLVMValueRef from = a->ptr;
    a->ptr = gen_offset(k->g, from, bytes);
    memo_add_pointer(k, from, terms, n, a->ptr, level);
}

// ---- rows found at run time ---------------------------------------------------------------------

// Stores the fault if any bit of `bad` is set; no branch, so that it can stand anywhere.
static void report_fault(KernelGen *k, LLVMValueRef bad)
{
    Gen *g = k->g;
    if (LLVMIsConstant(bad) && LLVMIsNull(bad)) {
        return;
    }
    if (gen_is_vector(bad)) {
        LLVMTypeRef bits = LLVMIntTypeInContext(g->context, LLVMGetVectorSize(LLVMTypeOf(bad)));
        bad = LLVMBuildBitCast(g->builder, bad, bits, "");
        bad = gen_icmp(g, LLVMIntNE, bad, LLVMConstNull(bits));
    }
    LLVMValueRef word = gen_select(g, bad, k->fault, k->no_fault);
    gen_store(g, LLVMConstInt(g->i32, SL_FAULT_INDEX, false), word, 4);
}

static void make_fault_words(KernelGen *k)
{
    if (k->fault) {
        return;
    }
    Gen *g = k->g;
    scope_goto(k, 0);
    k->no_fault = LLVMBuildAlloca(g->builder, g->i32, "no_fault");
    k->fault = gen_load(g, g->ptr, gen_offset_const(g, k->frame, offsetof(SlFrame, fault)), 8);
}

// clamp(index, 0, limit - 1) · stride in elements, for one index or a vector of them.
static LLVMValueRef clamped_row(KernelGen *k, LLVMValueRef index, LLVMValueRef limit,
                                LLVMValueRef stride, LLVMValueRef mask)
{
    Gen *g = k->g;
    LLVMTypeRef wide = gen_like(index, g->i64);
    index = LLVMBuildSExt(g->builder, index, wide, "");
    LLVMValueRef last = LLVMBuildNSWSub(g->builder, limit, gen_int(g, 1), "");
    if (gen_is_vector(index)) {
        last = gen_splat(g, last, k->lanes.width);
        stride = gen_splat(g, stride, k->lanes.width);
    }
    // As an unsigned number a negative index is past every limit.
    LLVMValueRef bad = gen_icmp(g, LLVMIntUGT, index, last);
    LLVMValueRef zero = LLVMConstNull(wide);
    LLVMValueRef is_low = gen_icmp(g, LLVMIntSLT, index, zero);
    LLVMValueRef row = gen_select(g, bad, gen_select(g, is_low, zero, last), index);
    report_fault(k, mask ? LLVMBuildAnd(g->builder, bad, mask, "") : bad);
    return LLVMBuildNSWMul(g->builder, row, stride, "");
}

// The lanes in use; NULL: all.
static LLVMValueRef current_mask(const KernelGen *k)
{
    bool is_full = k->lanes.live == k->lanes.width;
    return is_full ? NULL : gen_lane_mask(k->g, k->lanes.width, k->lanes.live);
}

// The level at which the index of a row can be used: its clamping reports faults, so that it must
// not run where the access itself would not.
static uint32_t row_level(const KernelGen *k, const Access *access, const Val *index)
{
    uint32_t level = scope_load_level(k, access->buffer);
    return level < index->level ? index->level : level;
}

// Advances the pointer to a row that is the same for all lanes.
static void go_to_row(KernelGen *k, Address *a, const Access *access, const DynTerm *dyn,
                      const Val *index)
{
    Gen *g = k->g;
    Memo *m = memo_find_row(k, a->ptr, dyn);
    if (m) {
        a->ptr = m->val.v;
        return;
    }
    LLVMValueRef limit = kernel_size(k, dyn->limit);
    LLVMValueRef stride = kernel_size(k, dyn->stride);
    Val to = {.reads = index->reads, .level = scope_goto(k, row_level(k, access, index))};
    LLVMValueRef row = clamped_row(k, index->v, limit, stride, NULL);
    LLVMValueRef unit = gen_int(g, element_bytes(k, access->buffer));
    to.v = gen_offset(g, a->ptr, LLVMBuildNSWMul(g->builder, row, unit, ""));
    memo_add_row(k, a->ptr, dyn, &to);
    a->ptr = to.v;
}

// Each lane goes to a row of its own.
static void spread_rows(KernelGen *k, Address *a, const Access *access, const DynTerm *dyn,
                        const Val *index)
{
    Gen *g = k->g;
    LLVMValueRef limit = kernel_size(k, dyn->limit);
    LLVMValueRef stride = kernel_size(k, dyn->stride);
    uint32_t level = row_level(k, access, index);
    uint32_t least = scope_lanes_level(k);
    level = scope_goto(k, level < least ? least : level);
    a->level = a->level < level ? level : a->level;
    scope_goto(k, a->level);
    LLVMValueRef row = clamped_row(k, index->v, limit, stride, current_mask(k));
    a->rows = a->rows ? LLVMBuildNSWAdd(g->builder, a->rows, row, "") : row;
}

static Address find_address(KernelGen *k, const Access *access)
{
    Arena *arena = k->g->arena;
    Val *rows = arena_new(arena, Val, access->ndyn);
    for (size_t i = 0; i < access->ndyn; i++) {
        rows[i] = kernel_expr(k, access->dyn[i].index);
        make_fault_words(k);
    }
    Address a = {.ptr = buffer_pointer(k, access->buffer)};
    AffineTerm *terms = arena_new(arena, AffineTerm, access->at.nterms + 1);
    int64_t unit = element_bytes(k, access->buffer);
    size_t n = sort_terms(k, access, &a, terms);
    size_t next = 0;
    for (uint32_t level = 0; level <= k->scopes.n; level++) {
        size_t first = next;
        while (next < n && term_level(k, &terms[next]) == level) {
            next++;
        }
        if (next > first) {
            advance(k, &a, terms + first, next - first, unit);
        }
        for (size_t i = 0; i < access->ndyn; i++) {
            if (!rows[i].is_lanes && row_level(k, access, &rows[i]) == level) {
                go_to_row(k, &a, access, &access->dyn[i], &rows[i]);
                a.level = a.level < level ? level : a.level;
            }
        }
    }
    for (size_t i = 0; i < access->ndyn; i++) {
        if (rows[i].is_lanes) {
            spread_rows(k, &a, access, &access->dyn[i], &rows[i]);
        }
    }
    return a;
}

LLVMValueRef kernel_pointer(KernelGen *k, const Access *access)
{
    Address a = find_address(k, access);
    scope_here(k);
    return gen_offset_const(k->g, a.ptr, a.bytes);
}

// ---- moving lanes -------------------------------------------------------------------------------

static Pattern pattern_of(const KernelGen *k, const Address *a)
{
    if (a->rows) {
        return PATTERN_scattered;
    }
    if (!a->step) {
        return PATTERN_one;
    }
    if (size_is(a->step, 1)) {
        return PATTERN_forward;
    }
    if (size_is(a->step, -1)) {
        return PATTERN_backward;
    }
    return size_is(a->step, 2) && !current_mask(k) ? PATTERN_even : PATTERN_scattered;
}

// Where memory begins that lanes lie in side by side.
static LLVMValueRef run_pointer(KernelGen *k, const Address *a, Pattern pattern, int64_t unit)
{
    int64_t back = pattern == PATTERN_backward ? (k->lanes.width - 1) * unit : 0;
    return gen_offset_const(k->g, a->ptr, a->bytes - back);
}

// Pointers of all lanes.
static LLVMValueRef lane_pointers(KernelGen *k, const Address *a, LLVMTypeRef element)
{
    Gen *g = k->g;
    LLVMValueRef index = a->rows;
    if (a->step) {
        int64_t step = 1;
        bool is_fixed = size_is_int(a->step, &step);
        LLVMValueRef steps = gen_steps(g->i64, k->lanes.width, step);
        if (!is_fixed) {
            LLVMValueRef spread = gen_splat(g, kernel_size(k, a->step), k->lanes.width);
            steps = LLVMBuildNSWMul(g->builder, steps, spread, "");
        }
        index = index ? LLVMBuildNSWAdd(g->builder, index, steps, "") : steps;
    }
    LLVMValueRef ptr = gen_offset_const(g, a->ptr, a->bytes);
    return LLVMBuildGEP2(g->builder, element, ptr, &index, 1, "");
}

// The lanes in use.
static LLVMValueRef live_mask(const KernelGen *k)
{
    return gen_lane_mask(k->g, k->lanes.width, k->lanes.live);
}

// Every second element: for each register two loads, of which the second one begins one element
// early and so ends with the last element wanted.
static LLVMValueRef load_even(KernelGen *k, const Address *a, LLVMTypeRef element, unsigned unit)
{
    Gen *g = k->g;
    unsigned n = g->lanes;
    LLVMTypeRef type = LLVMVectorType(element, n);
    unsigned lanes[MAX_LANES];
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = 2 * i < n ? 2 * i : 2 * i + 1;
    }
    LLVMValueRef pieces[MAX_LANES];
    unsigned npieces = 0;
    for (int64_t first = 0; first < k->lanes.width; first += n) {
        int64_t at = a->bytes + 2 * first * unit;
        LLVMValueRef low = gen_load(g, type, gen_offset_const(g, a->ptr, at), unit);
        at += (int64_t)(n - 1) * unit;
        LLVMValueRef high = gen_load(g, type, gen_offset_const(g, a->ptr, at), unit);
        pieces[npieces++] = gen_shuffle(g, low, high, lanes, n);
    }
    return gen_join(g, pieces, npieces);
}

static LLVMValueRef load_lanes(KernelGen *k, const Address *a, Pattern pattern, LLVMTypeRef element,
                               unsigned unit)
{
    Gen *g = k->g;
    LLVMTypeRef type = LLVMVectorType(element, k->lanes.width);
    LLVMValueRef mask = current_mask(k);
    switch (pattern) {
    case PATTERN_one:
    case PATTERN_forward:
        return gen_load_masked(g, type, run_pointer(k, a, pattern, unit), unit, mask);
    case PATTERN_backward:
        mask = mask ? gen_reverse(g, mask) : NULL;
        return gen_reverse(g,
                           gen_load_masked(g, type, run_pointer(k, a, pattern, unit), unit, mask));
    case PATTERN_even: return load_even(k, a, element, unit);
    case PATTERN_scattered: break;
    }
    LLVMValueRef ptrs = lane_pointers(k, a, element);
    LLVMValueRef args[] = {ptrs, LLVMConstInt(g->i32, unit, false), live_mask(k),
                           LLVMConstNull(type)};
    return gen_call(g, "llvm.masked.gather", (LLVMTypeRef[]){type, LLVMTypeOf(ptrs)}, 2, args, 4);
}

Val kernel_load(KernelGen *k, const Access *access)
{
    Gen *g = k->g;
    DType dtype = k->kernel->buffers.items[access->buffer].dtype;
    LLVMTypeRef element = memory_type(g, dtype);
    unsigned unit = (unsigned)dtype_bytes(dtype);
    Address a = find_address(k, access);
    Pattern pattern = pattern_of(k, &a);
    Val out = {.is_lanes = pattern != PATTERN_one, .reads = buffer_bit(access->buffer)};
    uint32_t level = scope_load_level(k, access->buffer);
    uint32_t least = out.is_lanes ? scope_lanes_level(k) : 0;
    level = level < a.level ? a.level : level;
    out.level = scope_goto(k, level < least ? least : level);
    if (out.is_lanes) {
        out.v = load_lanes(k, &a, pattern, element, unit);
    } else {
        out.v = gen_load(g, element, gen_offset_const(g, a.ptr, a.bytes), unit);
    }
    if (dtype == DT_bool) { // a byte in memory, a bit in registers
        out.v = gen_icmp(g, LLVMIntNE, out.v, LLVMConstNull(LLVMTypeOf(out.v)));
    }
    return out;
}

static void store_lanes(KernelGen *k, const Address *a, Pattern pattern, LLVMValueRef x,
                        unsigned unit)
{
    Gen *g = k->g;
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef align = LLVMConstInt(g->i32, unit, false);
    if (pattern != PATTERN_forward && pattern != PATTERN_backward) {
        LLVMValueRef ptrs = lane_pointers(k, a, gen_element(type));
        LLVMValueRef args[] = {x, ptrs, align, live_mask(k)};
        gen_call(g, "llvm.masked.scatter", (LLVMTypeRef[]){type, LLVMTypeOf(ptrs)}, 2, args, 4);
        return;
    }
    LLVMValueRef ptr = run_pointer(k, a, pattern, unit);
    LLVMValueRef mask = current_mask(k);
    if (pattern == PATTERN_backward) {
        x = gen_reverse(g, x);
        mask = mask ? gen_reverse(g, mask) : NULL;
    }
    if (!mask) {
        gen_store(g, x, ptr, unit);
        return;
    }
    LLVMValueRef args[] = {x, ptr, align, mask};
    gen_call(g, "llvm.masked.store", (LLVMTypeRef[]){type, g->ptr}, 2, args, 4);
}

void kernel_store(KernelGen *k, const Access *access, const Val *val)
{
    Gen *g = k->g;
    DType dtype = k->kernel->buffers.items[access->buffer].dtype;
    Address a = find_address(k, access);
    Pattern pattern = pattern_of(k, &a);
    LLVMValueRef x = val->v;
    if (pattern != PATTERN_one && !val->is_lanes) {
        x = scope_spread(k, val, UINT32_MAX).v;
    } else if (pattern == PATTERN_one && val->is_lanes) {
        die("kernel %.*s: all lanes store to one element", STR_ARG(k->kernel->name));
    }
    scope_forget(k, buffer_bit(access->buffer));
    scope_here(k);
    if (dtype == DT_bool) {
        x = LLVMBuildZExt(g->builder, x, gen_like(x, g->i8), "");
    }
    unsigned unit = (unsigned)dtype_bytes(dtype);
    if (pattern == PATTERN_one) {
        gen_store(g, x, gen_offset_const(g, a.ptr, a.bytes), unit);
    } else {
        store_lanes(k, &a, pattern, x, unit);
    }
}
