// The module: made, filled by one-line builders, verified, turned into bytes, disposed of.
#include "codegen/llvm.h"

#include <assert.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <string.h>

// ---- the module ---------------------------------------------------------------------------------

// LLVM gives up only over what we built: unknown instructions, broken invariants.
static void on_fatal(const char *reason) { die("LLVM: %s", reason); }

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx)
{
    (void)ctx;
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
        die("LLVM: %s", LLVMGetDiagInfoDescription(info));
    }
}

static LLVMTargetMachineRef create_machine(Diag *dx, const CodegenTarget *t)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMTargetRef target;
    char *reason = NULL;
    if (LLVMGetTargetFromTriple(t->triple, &target, &reason)) {
        diag_fail(dx, "LLVM does not know the target %s: %s", t->triple, reason);
        LLVMDisposeMessage(reason);
        return NULL;
    }
    // Level 1 does all that code from a builder needs: it allocates registers well and folds
    // addresses. Level 0 would spill everything.
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(target, t->triple, t->cpu, t->features, LLVMCodeGenLevelLess,
                                LLVMRelocPIC, LLVMCodeModelDefault);
    if (!machine) {
        diag_fail(dx, "LLVM cannot make code for %s", t->triple);
    }
    return machine;
}

// LLVM keeps options for the process, and takes each only once. The scheduler goes: it takes chains
// of operations that were put side by side one after the other, to save registers, which made gelu
// half as fast (1.15 against 0.66 ns an element on Zen 3).
static void set_options(void)
{
    static bool is_done;
    if (!is_done) {
        const char *const options[] = {"sluice", "-enable-misched=0"};
        LLVMParseCommandLineOptions(2, options, NULL);
        is_done = true;
    }
}

bool gen_create(Gen *g, Arena *arena, Diag *dx, const CodegenTarget *target)
{
    LLVMInstallFatalErrorHandler(on_fatal);
    set_options();
    *g = (Gen){.arena = arena, .target = target, .functions = {.arena = arena}};
    g->machine = create_machine(dx, target);
    if (!g->machine) {
        LLVMResetFatalErrorHandler();
        return false;
    }
    g->lanes = (unsigned)target->loop.lanes;
    g->layout = LLVMCreateTargetDataLayout(g->machine);
    g->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(g->context, on_diagnostic, NULL);
    g->module = LLVMModuleCreateWithNameInContext("model", g->context);
    LLVMSetModuleDataLayout(g->module, g->layout);
    LLVMSetTarget(g->module, target->triple);
    g->builder = LLVMCreateBuilderInContext(g->context);
    g->f32 = LLVMFloatTypeInContext(g->context);
    g->f64 = LLVMDoubleTypeInContext(g->context);
    g->i1 = LLVMInt1TypeInContext(g->context);
    g->i8 = LLVMInt8TypeInContext(g->context);
    g->i32 = LLVMInt32TypeInContext(g->context);
    g->i64 = LLVMInt64TypeInContext(g->context);
    g->ptr = LLVMPointerTypeInContext(g->context, 0);
    return true;
}

void gen_destroy(Gen *g)
{
    LLVMDisposeBuilder(g->builder);
    LLVMDisposeModule(g->module);
    LLVMContextDispose(g->context);
    LLVMDisposeTargetData(g->layout);
    LLVMDisposeTargetMachine(g->machine);
    LLVMResetFatalErrorHandler();
}

bool gen_output(Gen *g, Diag *dx, CodegenKind kind, Buf *out)
{
    char *reason = NULL;
    if (LLVMVerifyModule(g->module, LLVMReturnStatusAction, &reason)) {
        die("LLVM: %s", reason);
    }
    LLVMDisposeMessage(reason);
    if (kind == CODEGEN_llvm) {
        char *text = LLVMPrintModuleToString(g->module);
        buf_add(out, str_from(text));
        LLVMDisposeMessage(text);
        return true;
    }
    LLVMMemoryBufferRef bytes;
    LLVMCodeGenFileType type = kind == CODEGEN_asm ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(g->machine, g->module, type, &reason, &bytes)) {
        diag_fail(dx, "LLVM made no code: %s", reason);
        LLVMDisposeMessage(reason);
        return false;
    }
    buf_add(out, (Str){LLVMGetBufferStart(bytes), LLVMGetBufferSize(bytes)});
    LLVMDisposeMemoryBuffer(bytes);
    return true;
}

// ---- functions ----------------------------------------------------------------------------------

void gen_add_attribute(const Gen *g, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                       uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    assert(kind != 0);
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->context, kind, value));
}

static void add_text_attribute(const Gen *g, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(g->context, name, (unsigned)strlen(name),
                                                           value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

LLVMValueRef gen_function(Gen *g, const char *name, LLVMTypeRef *types, unsigned n)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->context), types, n, false);
    LLVMValueRef fn = LLVMAddFunction(g->module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    gen_add_attribute(g, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind", 0);
    // Copying and clearing loops stay loops: there is no memcpy and no memset to call.
    add_text_attribute(g, fn, "no-builtins", "");
    // Whole vectors of the target, also where LLVM would rather have halves of them.
    add_text_attribute(g, fn, "prefer-vector-width", "512");
    return fn;
}

// ---- types and constants ------------------------------------------------------------------------

static bool is_vector_type(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

LLVMTypeRef gen_element(LLVMTypeRef type)
{
    return is_vector_type(type) ? LLVMGetElementType(type) : type;
}

bool gen_is_vector(LLVMValueRef x) { return is_vector_type(LLVMTypeOf(x)); }

LLVMTypeRef gen_like(LLVMValueRef x, LLVMTypeRef element)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return is_vector_type(type) ? LLVMVectorType(element, LLVMGetVectorSize(type)) : element;
}

LLVMValueRef gen_int(const Gen *g, int64_t n) { return LLVMConstInt(g->i64, (uint64_t)n, true); }

static LLVMValueRef in_every_lane(LLVMTypeRef type, LLVMValueRef element)
{
    if (!is_vector_type(type)) {
        return element;
    }
    LLVMValueRef all[MAX_LANES];
    unsigned n = LLVMGetVectorSize(type);
    assert(n <= MAX_LANES);
    for (unsigned i = 0; i < n; i++) {
        all[i] = element;
    }
    return LLVMConstVector(all, n);
}

LLVMValueRef gen_const(LLVMTypeRef type, double value)
{
    return in_every_lane(type, LLVMConstReal(gen_element(type), value));
}

LLVMValueRef gen_iconst(LLVMTypeRef type, int64_t value)
{
    return in_every_lane(type, LLVMConstInt(gen_element(type), (uint64_t)value, true));
}

LLVMValueRef gen_steps(LLVMTypeRef element, unsigned n, int64_t step)
{
    LLVMValueRef lanes[MAX_LANES];
    assert(n <= MAX_LANES);
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = gen_iconst(element, i * step);
    }
    return LLVMConstVector(lanes, n);
}

LLVMValueRef gen_lane_mask(const Gen *g, unsigned n, unsigned live)
{
    LLVMValueRef bits[MAX_LANES];
    assert(n <= MAX_LANES);
    for (unsigned i = 0; i < n; i++) {
        bits[i] = LLVMConstInt(g->i1, i < live, false);
    }
    return LLVMConstVector(bits, n);
}

// ---- instructions -------------------------------------------------------------------------------

LLVMValueRef gen_call(Gen *g, const char *intrinsic, LLVMTypeRef *types, unsigned ntypes,
                      LLVMValueRef *args, unsigned nargs)
{
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    if (id == 0) {
        die("LLVM has no %s", intrinsic);
    }
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->module, id, types, ntypes);
    return LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn), fn, args, nargs, "");
}

void gen_prefetch(Gen *g, LLVMValueRef ptr, bool is_stored)
{
    enum { INTO_L1 = 3, DATA = 1 };
    LLVMValueRef args[] = {ptr, LLVMConstInt(g->i32, is_stored, false),
                           LLVMConstInt(g->i32, INTO_L1, false), LLVMConstInt(g->i32, DATA, false)};
    gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

LLVMValueRef gen_offset(Gen *g, LLVMValueRef ptr, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(g->builder, g->i8, ptr, &bytes, 1, "");
}

LLVMValueRef gen_offset_const(Gen *g, LLVMValueRef ptr, int64_t bytes)
{
    return bytes == 0 ? ptr : gen_offset(g, ptr, gen_int(g, bytes));
}

LLVMValueRef gen_load(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, unsigned align)
{
    LLVMValueRef load = LLVMBuildLoad2(g->builder, type, ptr, "");
    LLVMSetAlignment(load, align);
    return load;
}

LLVMValueRef gen_load_masked(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, unsigned align,
                             LLVMValueRef mask)
{
    if (!mask) {
        return gen_load(g, type, ptr, align);
    }
    LLVMValueRef args[] = {ptr, LLVMConstInt(g->i32, align, false), mask, LLVMConstNull(type)};
    return gen_call(g, "llvm.masked.load", (LLVMTypeRef[]){type, g->ptr}, 2, args, 4);
}

void gen_store(Gen *g, LLVMValueRef value, LLVMValueRef ptr, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(g->builder, value, ptr), align);
}

LLVMValueRef gen_splat(Gen *g, LLVMValueRef scalar, unsigned n)
{
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), n);
    if (LLVMIsConstant(scalar)) {
        return in_every_lane(type, scalar);
    }
    LLVMValueRef poison = LLVMGetPoison(type);
    LLVMValueRef first =
        LLVMBuildInsertElement(g->builder, poison, scalar, LLVMConstInt(g->i64, 0, false), "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(g->i32, n));
    return LLVMBuildShuffleVector(g->builder, first, poison, zeros, "");
}

LLVMValueRef gen_shuffle(Gen *g, LLVMValueRef x, LLVMValueRef y, const unsigned *lanes, unsigned n)
{
    LLVMValueRef mask[MAX_LANES];
    assert(n <= MAX_LANES);
    for (unsigned i = 0; i < n; i++) {
        mask[i] = LLVMConstInt(g->i32, lanes[i], false);
    }
    return LLVMBuildShuffleVector(g->builder, x, y, LLVMConstVector(mask, n), "");
}

LLVMValueRef gen_slice(Gen *g, LLVMValueRef x, unsigned first, unsigned n)
{
    unsigned lanes[MAX_LANES];
    if (n == LLVMGetVectorSize(LLVMTypeOf(x))) {
        return x;
    }
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = first + i;
    }
    return gen_shuffle(g, x, LLVMGetPoison(LLVMTypeOf(x)), lanes, n);
}

LLVMValueRef gen_join(Gen *g, LLVMValueRef *pieces, unsigned n)
{
    unsigned lanes[MAX_LANES];
    for (unsigned i = 0; i < MAX_LANES; i++) {
        lanes[i] = i;
    }
    for (; n > 1; n /= 2) {
        unsigned nlanes = 2 * LLVMGetVectorSize(LLVMTypeOf(pieces[0]));
        for (unsigned i = 0; i < n / 2; i++) {
            LLVMValueRef *pair = pieces + (size_t)2 * i;
            pieces[i] = gen_shuffle(g, pair[0], pair[1], lanes, nlanes);
        }
    }
    return pieces[0];
}

LLVMValueRef gen_reverse(Gen *g, LLVMValueRef x)
{
    unsigned lanes[MAX_LANES];
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x));
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = n - 1 - i;
    }
    return gen_shuffle(g, x, LLVMGetPoison(LLVMTypeOf(x)), lanes, n);
}

LLVMValueRef gen_bits(Gen *g, LLVMValueRef x)
{
    return LLVMBuildBitCast(g->builder, x, gen_like(x, g->i32), "");
}

LLVMValueRef gen_from_bits(Gen *g, LLVMValueRef x)
{
    return LLVMBuildBitCast(g->builder, x, gen_like(x, g->f32), "");
}

LLVMValueRef gen_fma(Gen *g, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_call(g, "llvm.fma", &type, 1, (LLVMValueRef[]){x, y, z}, 3);
}

LLVMValueRef gen_select(Gen *g, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildSelect(g->builder, mask, x, y, "");
}

LLVMValueRef gen_fcmp(Gen *g, LLVMRealPredicate op, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildFCmp(g->builder, op, x, y, "");
}

LLVMValueRef gen_icmp(Gen *g, LLVMIntPredicate op, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildICmp(g->builder, op, x, y, "");
}

LLVMValueRef gen_min_or_second(Gen *g, LLVMValueRef c, LLVMValueRef x)
{
    return gen_select(g, gen_fcmp(g, LLVMRealOLT, c, x), c, x);
}

LLVMValueRef gen_max_or_second(Gen *g, LLVMValueRef c, LLVMValueRef x)
{
    return gen_select(g, gen_fcmp(g, LLVMRealOGT, c, x), c, x);
}
