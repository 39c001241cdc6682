// Native code of kernels: emitted, linked, loaded, called.
#include "native.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    if (as) {
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
    CodegenOutput output = {.kind = kind};
    if (!codegen_emit(a, dx, program, &info, target, &output, &out)) {
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

static int64_t evaluate(const SlAbiExpr *e, const int64_t *symbols)
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
    assert_true(kernel_scratch_bytes(kernel) <= evaluate(&entry->scratch_bytes, symbols));
    size_t bytes = (size_t)kernel_scratch_bytes(kernel);
    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(scratch, 0xff, bytes); // NaN: what a kernel reads, it must have written
    uint32_t fault = 0;
    SlFrame frame = {.symbols = symbols, .operands = operands, .scratch = scratch, .fault = &fault};
    uint32_t parts = (uint32_t)evaluate(&step->parts, symbols);
    for (uint32_t part = 0; part < parts; part++) {
        step->kernel(&frame, part, parts);
    }
    free(scratch);
    return fault;
}
