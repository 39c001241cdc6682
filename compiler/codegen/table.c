// The table. Each of abi.h's structs is filled in as the C struct that it is, with pointers left
// NULL, and becomes a constant of its bytes with the addresses of other constants in those places:
// the layout has one source, the header.
#include "codegen/table.h"

#include "base/vec.h"
#include "runtime/abi.h"

#include <assert.h>
#include <string.h>

_Static_assert(LOOP_ALIGN == SL_ABI_ALIGN, "kernels rely on what the runtime aligns");

// Bytes of a constant, some of which are the address of another one.
typedef struct Pointer {
    size_t at;
    LLVMValueRef to;
} Pointer;

typedef struct Image {
    Buf bytes;
    VEC(Pointer) pointers; // by place
} Image;

typedef struct TableGen {
    Gen *g;
    const Program *program;
    const ArtefactInfo *info;
    LLVMValueRef *kernels;
    LLVMValueRef code; // SlAbiInst [ninsts], all expressions' code; its bytes come last
    Buf insts;
    Map exprs; // text of a size → where its code is
    Map texts; // text → constant
} TableGen;

typedef struct CodePlace {
    uint64_t first;
    uint64_t n;
} CodePlace;

// ---- images -------------------------------------------------------------------------------------

static void image_pointer(TableGen *t, Image *image, size_t at, LLVMValueRef to)
{
    Pointer pointer = {image->bytes.len + at, to};
    vec_push(t->g->arena, &image->pointers, pointer);
}

static void image_add(Image *image, const void *bytes, size_t n)
{
    buf_add(&image->bytes, (Str){bytes, n});
}

static LLVMValueRef byte_array(const Gen *g, const char *bytes, size_t n)
{
    return LLVMConstStringInContext2(g->context, bytes, n, true);
}

static LLVMValueRef add_constant(Gen *g, LLVMValueRef value, const char *name, unsigned align)
{
    LLVMValueRef global = LLVMAddGlobal(g->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetAlignment(global, align);
    return global;
}

// The image as a constant; an empty one is NULL.
static LLVMValueRef image_constant(TableGen *t, const Image *image, const char *name)
{
    Gen *g = t->g;
    if (image->bytes.len == 0) {
        return NULL;
    }
    VEC(LLVMValueRef) pieces = {0};
    size_t done = 0;
    for (size_t i = 0; i < image->pointers.n; i++) {
        const Pointer *p = &image->pointers.items[i];
        assert(p->at >= done);
        if (p->at > done) {
            LLVMValueRef bytes = byte_array(g, image->bytes.ptr + done, p->at - done);
            vec_push(g->arena, &pieces, bytes);
        }
        LLVMValueRef to = p->to ? p->to : LLVMConstNull(g->ptr);
        vec_push(g->arena, &pieces, to);
        done = p->at + sizeof(void *);
    }
    if (done < image->bytes.len) {
        LLVMValueRef bytes = byte_array(g, image->bytes.ptr + done, image->bytes.len - done);
        vec_push(g->arena, &pieces, bytes);
    }
    LLVMValueRef value =
        LLVMConstStructInContext(g->context, pieces.items, (unsigned)pieces.n, true);
    return add_constant(g, value, name, 8);
}

static LLVMValueRef text_constant(TableGen *t, Str text)
{
    text = text.len == 0 ? STR("") : text;
    LLVMValueRef known = map_get(&t->texts, text);
    if (known) {
        return known;
    }
    // A text may hold no 0: whoever reads the table sees where it ends.
    Gen *g = t->g;
    const char *bytes = str_cstr(g->arena, text);
    LLVMValueRef value = byte_array(g, bytes, strlen(bytes) + 1);
    LLVMValueRef global = add_constant(g, value, "text", 1);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    map_put(&t->texts, text, global);
    return global;
}

static void image_text(TableGen *t, Image *image, size_t at, Str text)
{
    image_pointer(t, image, at, text_constant(t, text));
}

// ---- expressions --------------------------------------------------------------------------------

static void add_inst(TableGen *t, uint32_t op, int64_t value)
{
    SlAbiInst inst = {.op = op, .value = value};
    buf_add(&t->insts, (Str){(const char *)&inst, sizeof inst});
}

static int64_t symbol_number(const TableGen *t, Str name)
{
    for (size_t i = 0; i < t->program->symbols.n; i++) {
        if (str_equal(t->program->symbols.items[i].name, name)) {
            return (int64_t)i;
        }
    }
    die("program %.*s: there is no symbol %.*s", STR_ARG(t->program->name), STR_ARG(name));
}

static void add_size_code(TableGen *t, const Size *size)
{
    if (size->nterms == 0) {
        add_inst(t, SL_X_CONST, 0);
    }
    for (size_t i = 0; i < size->nterms; i++) {
        const SizeTerm *term = &size->terms[i];
        bool has_factor = term->factor != 1 || term->natoms == 0;
        if (has_factor) {
            add_inst(t, SL_X_CONST, term->factor);
        }
        for (size_t j = 0; j < term->natoms; j++) {
            const SizeAtom *atom = term->atoms[j];
            if (atom->top) {
                add_size_code(t, atom->top);
                add_inst(t, SL_X_CONST, atom->by);
                add_inst(t, SL_X_DIV, 0);
            } else {
                add_inst(t, SL_X_SYMBOL, symbol_number(t, atom->symbol));
            }
            if (j > 0 || has_factor) {
                add_inst(t, SL_X_MUL, 0);
            }
        }
        if (i > 0) {
            add_inst(t, SL_X_ADD, 0);
        }
    }
}

static CodePlace find_code(TableGen *t, const Size *size)
{
    if (!size) {
        die("program %.*s: a size of the table is missing", STR_ARG(t->program->name));
    }
    Str text = size_text(t->g->arena, size);
    CodePlace *known = map_get(&t->exprs, text);
    if (known) {
        return *known;
    }
    CodePlace *place = arena_new(t->g->arena, CodePlace, 1);
    place->first = t->insts.len / sizeof(SlAbiInst);
    add_size_code(t, size);
    place->n = t->insts.len / sizeof(SlAbiInst) - place->first;
    map_put(&t->exprs, text, place);
    return *place;
}

// Fills in the SlAbiExpr at `at` of the struct that is added next.
static SlAbiExpr image_expr(TableGen *t, Image *image, size_t at, const Size *size)
{
    Gen *g = t->g;
    CodePlace place = find_code(t, size);
    LLVMValueRef bytes = gen_int(g, (int64_t)(place.first * sizeof(SlAbiInst)));
    LLVMValueRef to = LLVMConstInBoundsGEP2(g->i8, t->code, &bytes, 1);
    image_pointer(t, image, at + offsetof(SlAbiExpr, code), to);
    return (SlAbiExpr){.n = place.n};
}

static const Size *fixed(TableGen *t, int64_t n) { return size_int(t->g->arena, n); }

static Image new_image(TableGen *t) { return (Image){.bytes = {.arena = t->g->arena}}; }

// ---- the entry's parts --------------------------------------------------------------------------

static uint32_t abi_dtype(DType dtype)
{
    switch (dtype) {
    case DT_f32: return SL_ABI_F32;
    case DT_i32: return SL_ABI_I32;
    case DT_bool: return SL_ABI_BOOL;
    case DT_f16:
    case DT_bf16:
    case DT_f64:
    case DT_i64:
    case DT_u8:
    case DT_count: break;
    }
    die("the table has no type %s", dtype_name(dtype));
}

static LLVMValueRef symbols_constant(TableGen *t)
{
    Image image = new_image(t);
    for (size_t i = 0; i < t->program->symbols.n; i++) {
        const ProgramSymbol *from = &t->program->symbols.items[i];
        SlAbiSymbol s = {.size = sizeof s, .low = from->low, .high = from->high};
        image_text(t, &image, offsetof(SlAbiSymbol, name), from->name);
        image_add(&image, &s, sizeof s);
    }
    return image_constant(t, &image, "symbols");
}

static uint32_t check_op(SizeOp op)
{
    switch (op) {
    case SIZE_eq: return SL_CHECK_EQ;
    case SIZE_ne: return SL_CHECK_NE;
    case SIZE_le: return SL_CHECK_LE;
    case SIZE_lt: return SL_CHECK_LT;
    case SIZE_gt:
    case SIZE_ge: break;
    }
    die("a check by %s", size_op_text(op));
}

static LLVMValueRef checks_constant(TableGen *t)
{
    Image image = new_image(t);
    for (size_t i = 0; i < t->program->checks.n; i++) {
        const ProgramCheck *from = &t->program->checks.items[i];
        SlAbiCheck c = {.size = sizeof c};
        c.op = check_op(from->op);
        c.left = image_expr(t, &image, offsetof(SlAbiCheck, left), from->left);
        c.right = image_expr(t, &image, offsetof(SlAbiCheck, right), from->right);
        image_text(t, &image, offsetof(SlAbiCheck, text), from->text);
        image_add(&image, &c, sizeof c);
    }
    return image_constant(t, &image, "checks");
}

static LLVMValueRef shape_constant(TableGen *t, const ProgramIo *io)
{
    Image image = new_image(t);
    for (size_t i = 0; i < io->rank; i++) {
        SlAbiExpr e = image_expr(t, &image, 0, io->shape[i]);
        image_add(&image, &e, sizeof e);
    }
    return image_constant(t, &image, "shape");
}

static LLVMValueRef io_constant(TableGen *t, const ProgramIo *items, size_t n, const char *name)
{
    Image image = new_image(t);
    for (size_t i = 0; i < n; i++) {
        const ProgramIo *from = &items[i];
        SlAbiIo io = {.size = sizeof io,
                      .dtype = abi_dtype(from->dtype),
                      .rank = (uint32_t)from->rank,
                      .low = from->low,
                      .high = from->high,
                      .fill = from->value};
        io.flags = (from->has_range ? SL_IO_RANGE : 0) | (from->has_default ? SL_IO_DEFAULT : 0) |
                   (from->has_slot ? SL_IO_SLOT : 0);
        image_text(t, &image, offsetof(SlAbiIo, name), from->name);
        image_pointer(t, &image, offsetof(SlAbiIo, shape), shape_constant(t, from));
        if (from->has_slot) {
            const Size *offset = t->program->buffers.items[from->slot].offset;
            io.slot = image_expr(t, &image, offsetof(SlAbiIo, slot), offset);
        }
        image_add(&image, &io, sizeof io);
    }
    return image_constant(t, &image, name);
}

static LLVMValueRef operands_constant(TableGen *t, const Step *step)
{
    Image image = new_image(t);
    for (size_t i = 0; i < step->noperands; i++) {
        const Operand *from = &step->operands[i];
        SlAbiOperand o = {.size = sizeof o, .index = from->index};
        const Size *offset = fixed(t, 0);
        switch (from->kind) {
        case OPERAND_input: o.kind = SL_OPERAND_INPUT; break;
        case OPERAND_output: o.kind = SL_OPERAND_OUTPUT; break;
        case OPERAND_buffer:
            o.kind = SL_OPERAND_ARENA;
            o.index = 0;
            offset = t->program->buffers.items[from->index].offset;
            break;
        case OPERAND_constant:
            o.kind = SL_OPERAND_WEIGHTS;
            o.index = 0;
            offset = fixed(t, (int64_t)t->program->constants.items[from->index].offset);
            break;
        }
        o.offset = image_expr(t, &image, offsetof(SlAbiOperand, offset), offset);
        image_add(&image, &o, sizeof o);
    }
    return image_constant(t, &image, "operands");
}

static LLVMValueRef steps_constant(TableGen *t)
{
    Image image = new_image(t);
    for (size_t i = 0; i < t->program->steps.n; i++) {
        const Step *from = &t->program->steps.items[i];
        SlAbiStep s = {.size = sizeof s, .noperands = (uint32_t)from->noperands};
        image_text(t, &image, offsetof(SlAbiStep, name), from->name);
        image_pointer(t, &image, offsetof(SlAbiStep, kernel), t->kernels[from->kernel]);
        image_pointer(t, &image, offsetof(SlAbiStep, operands), operands_constant(t, from));
        const Size *parts = kernel_parts(t->program->kernels.items[from->kernel]);
        s.parts = image_expr(t, &image, offsetof(SlAbiStep, parts), parts);
        image_add(&image, &s, sizeof s);
    }
    return image_constant(t, &image, "steps");
}

static int64_t scratch_bytes(const TableGen *t)
{
    int64_t most = 0;
    for (size_t i = 0; i < t->program->kernels.n; i++) {
        int64_t bytes = kernel_scratch_bytes(t->program->kernels.items[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static LLVMValueRef entry_constant(TableGen *t)
{
    const Program *p = t->program;
    Image image = new_image(t);
    SlAbiEntry e = {.size = sizeof e,
                    .nsymbols = (uint32_t)p->symbols.n,
                    .nchecks = (uint32_t)p->checks.n,
                    .ninputs = (uint32_t)p->inputs.n,
                    .noutputs = (uint32_t)p->outputs.n,
                    .nsteps = (uint32_t)p->steps.n};
    image_text(t, &image, offsetof(SlAbiEntry, name), STR("run"));
    image_pointer(t, &image, offsetof(SlAbiEntry, symbols), symbols_constant(t));
    image_pointer(t, &image, offsetof(SlAbiEntry, checks), checks_constant(t));
    image_pointer(t, &image, offsetof(SlAbiEntry, inputs),
                  io_constant(t, p->inputs.items, p->inputs.n, "inputs"));
    image_pointer(t, &image, offsetof(SlAbiEntry, outputs),
                  io_constant(t, p->outputs.items, p->outputs.n, "outputs"));
    image_pointer(t, &image, offsetof(SlAbiEntry, steps), steps_constant(t));
    e.arena_bytes = image_expr(t, &image, offsetof(SlAbiEntry, arena_bytes), p->arena_bytes);
    e.scratch_bytes =
        image_expr(t, &image, offsetof(SlAbiEntry, scratch_bytes), fixed(t, scratch_bytes(t)));
    e.state_bytes = image_expr(t, &image, offsetof(SlAbiEntry, state_bytes), fixed(t, 0));
    image_add(&image, &e, sizeof e);
    return image_constant(t, &image, "entries");
}

// ---- the model ----------------------------------------------------------------------------------

static LLVMValueRef variants_constant(TableGen *t)
{
    Image image = new_image(t);
    SlAbiVariant v = {.size = sizeof v, .nentries = 1, .features = t->g->target->needs};
    image_text(t, &image, offsetof(SlAbiVariant, target), t->g->target->name);
    image_pointer(t, &image, offsetof(SlAbiVariant, entries), entry_constant(t));
    image_add(&image, &v, sizeof v);
    return image_constant(t, &image, "variants");
}

static LLVMValueRef weights_constant(TableGen *t)
{
    Image image = new_image(t);
    for (size_t i = 0; i < t->program->constants.n; i++) {
        const Constant *from = &t->program->constants.items[i];
        SlAbiWeight w = {.size = sizeof w,
                         .dtype = abi_dtype(from->dtype),
                         .rank = (uint32_t)from->rank,
                         .offset = from->offset,
                         .bytes = from->bytes,
                         .hash = from->hash};
        Image shape = new_image(t);
        image_add(&shape, from->shape, from->rank * sizeof *from->shape);
        image_text(t, &image, offsetof(SlAbiWeight, name), from->name);
        image_pointer(t, &image, offsetof(SlAbiWeight, shape),
                      image_constant(t, &shape, "weight_shape"));
        image_text(t, &image, offsetof(SlAbiWeight, layout), from->layout);
        image_add(&image, &w, sizeof w);
    }
    return image_constant(t, &image, "weights");
}

static LLVMValueRef model_constant(TableGen *t)
{
    const ArtefactInfo *info = t->info;
    Image image = new_image(t);
    SlAbiModel m = {.size = sizeof m,
                    .abi = SL_ABI_VERSION,
                    .nvariants = 1,
                    .nweights = (uint32_t)t->program->constants.n,
                    .weights_place = info->weights_place,
                    .weights_bytes = info->weights_bytes,
                    .weights_hash = info->weights_hash};
    image_text(t, &image, offsetof(SlAbiModel, name), t->program->name);
    image_pointer(t, &image, offsetof(SlAbiModel, variants), variants_constant(t));
    image_pointer(t, &image, offsetof(SlAbiModel, weights), weights_constant(t));
    image_text(t, &image, offsetof(SlAbiModel, weights_file), info->weights_file);
    image_text(t, &image, offsetof(SlAbiModel, compiler), info->compiler);
    image_text(t, &image, offsetof(SlAbiModel, spec), info->spec);
    image_text(t, &image, offsetof(SlAbiModel, flags), info->flags);
    image_text(t, &image, offsetof(SlAbiModel, graph), info->graph);
    image_text(t, &image, offsetof(SlAbiModel, prepare), info->prepare);
    image_text(t, &image, offsetof(SlAbiModel, notes), info->notes);
    image_add(&image, &m, sizeof m);
    return image_constant(t, &image, "model");
}

// The exported function: the table, unless it is newer than the caller.
static void gen_query(TableGen *t, LLVMValueRef model)
{
    Gen *g = t->g;
    LLVMTypeRef type = LLVMFunctionType(g->ptr, &g->i32, 1, false);
    if (LLVMGetNamedFunction(g->module, SL_QUERY_NAME)) {
        die("a kernel is called " SL_QUERY_NAME);
    }
    LLVMValueRef fn = LLVMAddFunction(g->module, SL_QUERY_NAME, type);
    gen_add_attribute(g, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind", 0);
    LLVMPositionBuilderAtEnd(g->builder, LLVMAppendBasicBlockInContext(g->context, fn, "entry"));
    LLVMValueRef ours = LLVMConstInt(g->i32, SL_ABI_VERSION, false);
    LLVMValueRef is_new = gen_icmp(g, LLVMIntUGT, ours, LLVMGetParam(fn, 0));
    LLVMBuildRet(g->builder, gen_select(g, is_new, LLVMConstNull(g->ptr), model));
}

void table_gen(Gen *g, const Program *program, const ArtefactInfo *info, LLVMValueRef *kernels)
{
    TableGen t = {.g = g,
                  .program = program,
                  .info = info,
                  .kernels = kernels,
                  .insts = {.arena = g->arena},
                  .exprs = {.arena = g->arena},
                  .texts = {.arena = g->arena}};
    // Expressions refer to their code before all of it is there: until then to a stand-in.
    t.code = LLVMAddGlobal(g->module, g->i8, "");
    LLVMValueRef model = model_constant(&t);
    LLVMValueRef bytes = byte_array(g, t.insts.ptr, t.insts.len);
    LLVMValueRef code = add_constant(g, bytes, "code", 8);
    LLVMReplaceAllUsesWith(t.code, code);
    LLVMDeleteGlobal(t.code);
    gen_query(&t, model);
}
