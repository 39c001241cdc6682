// Native code of kernels: emitted, linked, loaded, called.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "native.h"

#include "codegen/codegen.h"
#include "loop/loop.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

CodegenTarget native_target(Arena *a, const char *name, const char *as)
{
    CodegenTarget target;
    CodegenTarget other;
    Str why;
    if (!codegen_target(a, str_from(name), &target, &why)) {
        fail_msg("%.*s", STR_ARG(why));
    }
    bool runs = codegen_target(a, STR("native"), &other, &why) &&
                (other.needs & target.needs) == target.needs;
    if (as && !runs) {
        assert_true(codegen_target(a, str_from(as), &other, &why));
        target.cpu = other.cpu;
        target.features = other.features;
    }
    return target;
}

Program *native_program(Arena *a, Kernel *const *kernels, size_t n, const Str *symbols,
                        size_t nsymbols)
{
    Program *p = program_create(a, STR("test"));
    for (size_t i = 0; i < nsymbols; i++) {
        ProgramSymbol symbol = {.name = symbols[i], .low = 1, .high = SIZE_INF};
        vec_push(a, &p->symbols, symbol);
    }
    for (size_t i = 0; i < n; i++) {
        Kernel *k = kernels[i];
        Buf why = {.arena = a};
        if (!kernel_verify(k, symbols, nsymbols, &why)) {
            fail_msg("%.*s", STR_ARG(buf_str(&why)));
        }
        vec_push(a, &p->kernels, k);
        Operand *operands = arena_new(a, Operand, k->noperands);
        for (size_t j = 0; j < k->noperands; j++) {
            const Buffer *b = &k->buffers.items[j];
            ProgramIo io = {.name = str_format(a, "%.*s_%zu", STR_ARG(b->name), i),
                            .dtype = b->dtype};
            if (b->written) {
                operands[j] = (Operand){OPERAND_output, (uint32_t)p->outputs.n};
                vec_push(a, &p->outputs, io);
            } else {
                operands[j] = (Operand){OPERAND_input, (uint32_t)p->inputs.n};
                vec_push(a, &p->inputs, io);
            }
        }
        Step step = {.name = k->name,
                     .kernel = (uint32_t)i,
                     .noperands = k->noperands,
                     .operands = operands};
        vec_push(a, &p->steps, step);
    }
    p->arena_bytes = size_int(a, 0);
    return p;
}

Str native_text(Arena *a, const Program *program, const CodegenTarget *target, CodegenKind kind)
{
    Diag *dx = diag_create(a);
    Buf out = {.arena = a};
    ArtefactInfo info = {.compiler = STR("test"), .spec = STR("a spec")};
    if (!codegen_emit(a, dx, program, &info, target, kind, &out)) {
        diag_flush(dx, stderr, false);
        fail_msg("no code");
    }
    return buf_str(&out);
}

static void write_file(const char *path, Str bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
    assert_int_equal(fclose(file), 0);
}

// Links with nothing beside: an undefined symbol is an error.
static void link_object(const char *object, const char *out)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *const linkers[] = {"ld.lld-19", "ld.lld", "ld"};
        for (size_t i = 0; i < 3; i++) {
            execlp(linkers[i], linkers[i], "-shared", "-z", "defs", "-z", "noexecstack", "-z",
                   "text", "-o", out, object, (char *)NULL);
        }
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

Native native_load(Arena *a, const Program *program, const CodegenTarget *target)
{
    Native native = {.object = native_text(a, program, target, CODEGEN_object)};
    char folder[] = "/tmp/sluice-native-XXXXXX";
    char object[sizeof folder + 16];
    char library[sizeof folder + 16];
    assert_non_null(mkdtemp(folder));
    snprintf(object, sizeof object, "%s/model.o", folder);
    snprintf(library, sizeof library, "%s/model.so", folder);
    write_file(object, native.object);
    link_object(object, library);
    native.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!native.handle) {
        fail_msg("%s", dlerror());
    }
    unlink(object);
    unlink(library);
    rmdir(folder);
    SlAbiQuery query;
    void *symbol = dlsym(native.handle, SL_QUERY_NAME);
    assert_non_null(symbol);
    memcpy(&query, &symbol, sizeof query);
    assert_null(query(0));
    native.model = query(SL_ABI_VERSION);
    assert_non_null(native.model);
    return native;
}

void native_close(Native *native) { dlclose(native->handle); }

int64_t native_size(const SlAbiExpr *e, const int64_t *symbols)
{
    int64_t stack[16];
    size_t n = 0;
    for (uint64_t i = 0; i < e->n; i++) {
        const SlAbiInst *inst = &e->code[i];
        if (inst->op == SL_X_CONST || inst->op == SL_X_SYMBOL) {
            assert_true(n < 16);
            stack[n++] = inst->op == SL_X_CONST ? inst->value : symbols[inst->value];
            continue;
        }
        assert_true(n >= 2);
        n--;
        int64_t y = stack[n];
        int64_t *x = &stack[n - 1];
        *x = inst->op == SL_X_ADD ? *x + y : inst->op == SL_X_MUL ? *x * y : *x / y;
    }
    assert_int_equal(n, 1);
    return stack[0];
}

uint32_t native_run(const Native *native, const Kernel *kernel, size_t i, const int64_t *symbols,
                    void *const *operands)
{
    const SlAbiEntry *entry = native->model->variants[0].entries;
    const SlAbiStep *step = &entry->steps[i];
    assert_true(kernel_scratch_bytes(kernel) <= native_size(&entry->scratch_bytes, symbols));
    size_t bytes = (size_t)kernel_scratch_bytes(kernel);
    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(scratch, 0xff, bytes); // NaN: what a kernel reads, it must have written
    uint32_t fault = 0;
    SlFrame frame = {.symbols = symbols, .operands = operands, .scratch = scratch, .fault = &fault};
    uint32_t parts = (uint32_t)native_size(&step->parts, symbols);
    for (uint32_t part = 0; part < parts; part++) {
        step->kernel(&frame, part, parts);
    }
    free(scratch);
    return fault;
}

// ---- against the evaluator ----------------------------------------------------------------------

Data native_data(Arena *a, DType dtype, int64_t count)
{
    return (Data){dtype, count, arena_alloc(a, (size_t)count * dtype_bytes(dtype), 64)};
}

// Memory between two pages that cannot be touched.
typedef struct Guarded {
    uint8_t *map;
    size_t map_bytes;
    uint8_t *data;
    size_t bytes;
} Guarded;

static Guarded guard(const Data *d, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    Guarded g = {.bytes = (size_t)d->count * dtype_bytes(d->dtype)};
    size_t inner = (g.bytes + page - 1) / page * page;
    g.map_bytes = inner + 2 * page;
    g.map = mmap(NULL, g.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    if (inner > 0) {
        assert_int_equal(mprotect(g.map + page, inner, PROT_READ | PROT_WRITE), 0);
    }
    g.data = g.map + page + (at_end ? inner - g.bytes : 0);
    if (g.bytes > 0) {
        memcpy(g.data, d->bytes, g.bytes);
    }
    return g;
}

static double element(const Data *d, const void *bytes, int64_t i)
{
    if (d->dtype == DT_f32) {
        return (double)((const float *)bytes)[i];
    }
    return d->dtype == DT_i32 ? ((const int32_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
}

static bool is_close(double x, double expected, double tolerance)
{
    if (isnan(expected)) {
        return isnan(x);
    }
    if (isinf(expected) || tolerance == 0) {
        return x == expected;
    }
    return fabs(x - expected) <= tolerance * (1 + fabs(expected));
}

static void show_failure(const Kernel *kernel, size_t operand, int64_t i, double got, double want)
{
    Arena *a = arena_create();
    Buf text = {.arena = a};
    kernel_print(&text, kernel);
    fprintf(stderr, "%s%.*s[%lld]: native %a, evaluated %a\n", text.ptr,
            STR_ARG(kernel->buffers.items[operand].name), (long long)i, got, want);
    arena_destroy(a);
    fail();
}

static void compare(const Kernel *kernel, size_t operand, const Data *d, const void *got,
                    const void *want, double tolerance)
{
    for (int64_t i = 0; i < d->count; i++) {
        double x = element(d, got, i);
        double y = element(d, want, i);
        if (!is_close(x, y, d->dtype == DT_f32 ? tolerance : 0)) {
            show_failure(kernel, operand, i, x, y);
        }
    }
}

void native_check(const Native *native, const Kernel *kernel, size_t i, const SizeBinding *symbols,
                  size_t nsymbols, const Data *data, double tolerance)
{
    size_t n = kernel->noperands;
    Arena *a = arena_create();
    void **expected = arena_new(a, void *, n);
    int64_t *counts = arena_new(a, int64_t, n);
    int64_t *values = arena_new(a, int64_t, nsymbols + 1);
    for (size_t s = 0; s < nsymbols; s++) {
        values[s] = symbols[s].value;
    }
    for (size_t o = 0; o < n; o++) {
        size_t bytes = (size_t)data[o].count * dtype_bytes(data[o].dtype);
        assert_int_equal(data[o].dtype, kernel->buffers.items[o].dtype);
        expected[o] = arena_alloc(a, bytes, 64);
        memcpy(expected[o], data[o].bytes, bytes);
        counts[o] = data[o].count;
    }
    uint32_t fault = 0;
    Buf why = {.arena = a};
    if (!kernel_eval(kernel, symbols, nsymbols, expected, counts, &fault, &why)) {
        fail_msg("%.*s", STR_ARG(buf_str(&why)));
    }
    Guarded *guarded = arena_new(a, Guarded, n);
    void **operands = arena_new(a, void *, n);
    for (int run = 0; run < 2; run++) {
        for (size_t o = 0; o < n; o++) {
            guarded[o] = guard(&data[o], run == 0);
            operands[o] = guarded[o].data;
        }
        assert_int_equal(native_run(native, kernel, i, values, operands), fault);
        for (size_t o = 0; o < n; o++) {
            compare(kernel, o, &data[o], operands[o], expected[o], tolerance);
            munmap(guarded[o].map, guarded[o].map_bytes);
        }
    }
    arena_destroy(a);
}
