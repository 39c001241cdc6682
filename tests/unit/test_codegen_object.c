// What code generation makes as a whole: the table against the program it was made from, the object
// file's symbols and sections, the instructions of tile leaves, targets by name.
#include "codegen/codegen.h"
#include "loop/loop.h"
#include "native.h"

#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Affine at_var(Arena *a, Var var, int64_t coef)
{
    return affine_var(a, var, size_int(a, coef));
}

// y[n, 40] = gelu(x[n, 40]), parts by n.
static Kernel *map_kernel(Arena *a)
{
    Kernel *k = kernel_create(a, STR("map"));
    uint32_t x = kernel_add_operand(k, STR("x"), DT_f32, false);
    uint32_t y = kernel_add_operand(k, STR("y"), DT_f32, true);
    kernel_add_scratch(k, STR("s"), DT_f32, 100);
    Var i = kernel_add_var(k, "i");
    Var j = kernel_add_var(k, "j");
    Stmt *rows = stmt_loop(a, &k->body, LOOP_parallel, i, size_symbol(a, STR("n")));
    Stmt *lanes = stmt_loop(a, &rows->body, LOOP_vector, j, size_int(a, 40));
    Access at = {.buffer = x, .at = affine_add(a, at_var(a, i, 40), at_var(a, j, 1))};
    const Expr *e = expr_load(a, k, at);
    at.buffer = y;
    stmt_store(a, &lanes->body, at, expr_map(a, S_gelu, &e, 1));
    return k;
}

// One tile of that shape, and its first element stored.
static Kernel *tile_kernel(Arena *a, const char *name, int64_t rows, int64_t panels, int64_t k)
{
    Kernel *kernel = kernel_create(a, str_from(name));
    uint32_t x = kernel_add_operand(kernel, STR("x"), DT_f32, false);
    uint32_t w = kernel_add_operand(kernel, STR("w"), DT_f32, false);
    uint32_t y = kernel_add_operand(kernel, STR("y"), DT_f32, true);
    uint32_t c = kernel_add_scratch(kernel, STR("c"), DT_f32, rows * panels * TILE_COLS);
    Affine zero = affine_int(a, 0);
    Tile tile = {.c = {.buffer = c, .at = zero},
                 .c_row = panels * TILE_COLS,
                 .a = {.buffer = x, .at = zero},
                 .a_row = size_int(a, k),
                 .a_k = size_int(a, 1),
                 .b = {.buffer = w, .at = zero},
                 .b_panel = size_int(a, k * TILE_COLS),
                 .b_k = size_int(a, TILE_COLS),
                 .rows = rows,
                 .panels = panels,
                 .k = k};
    stmt_tile(a, &kernel->body, &tile);
    const Expr *first = expr_load(a, kernel, (Access){.buffer = c, .at = zero});
    stmt_store(a, &kernel->body, (Access){.buffer = y, .at = zero}, first);
    return kernel;
}

// ---- targets ------------------------------------------------------------------------------------

static void test_targets_by_name(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget t;
    Str why = {0};
    assert_true(codegen_target(a, STR("x86-64-v3"), &t, &why));
    assert_int_equal(t.loop.lanes, 8);
    assert_int_equal(t.loop.tile.rows, 6);
    assert_int_equal(t.loop.tile.panels, 1);
    assert_int_equal(t.needs & 0x1ff, 0x0f); // avx2, fma, bmi2, f16c
    assert_non_null(strstr(t.features, "+avx2,+fma,"));
    assert_true(codegen_target(a, STR("x86-64-v4"), &t, &why));
    assert_int_equal(t.loop.lanes, 16);
    assert_int_equal(t.loop.tile.rows, 9);
    assert_int_equal(t.loop.tile.panels, 3);
    assert_int_equal(t.needs & 0x1ff, 0x1ff);
    assert_non_null(strstr(t.features, "+avx512f"));
    assert_false(codegen_target(a, STR("z80"), &t, &why));
    Str text = STR("there is no target z80; there are x86-64-v3, x86-64-v4, native");
    assert_true(str_equal(why, text));
    // What is native here runs here: every other test of native code relies on v3 alone.
    if (codegen_target(a, STR("native"), &t, &why)) {
        Kernel *k = map_kernel(a);
        Str n = STR("n");
        Native native = native_load(a, native_program(a, &k, 1, &n, 1), &t);
        float x[40] = {1};
        float y[40];
        native_run(&native, k, 0, (int64_t[]){1}, (void *[]){x, y});
        assert_true(y[0] > 0.8413F && y[0] < 0.8414F);
        native_close(&native);
    }
    arena_destroy(a);
}

// ---- the table ----------------------------------------------------------------------------------

static const Size *symbol(Arena *a, const char *name) { return size_symbol(a, str_from(name)); }

// A program with something in every field.
static Program *full_program(Arena *a)
{
    Program *p = program_create(a, STR("the_model"));
    p->arena = a;
    ProgramSymbol n = {STR("n"), 1, SIZE_INF};
    ProgramSymbol seq = {STR("seq"), 2, 512};
    vec_push(a, &p->symbols, n);
    vec_push(a, &p->symbols, seq);
    const Size *odd = size_add(a, symbol(a, "seq"), size_int(a, 1));
    ProgramCheck check = {SIZE_le, size_div(a, odd, 2), size_mul(a, symbol(a, "n"), odd),
                          STR("half of it fits")};
    vec_push(a, &p->checks, check);
    const Size **shape = arena_new(a, const Size *, 2);
    shape[0] = symbol(a, "n");
    shape[1] = size_int(a, 40);
    ProgramIo ids = {.name = STR("ids"),
                     .dtype = DT_i32,
                     .rank = 2,
                     .shape = shape,
                     .has_range = true,
                     .low = -5,
                     .high = 30522,
                     .has_default = true,
                     .value = 1.5,
                     .has_slot = true,
                     .slot = 1};
    ProgramIo x = {.name = STR("x"), .dtype = DT_f32, .rank = 2, .shape = shape};
    ProgramIo y = {.name = STR("y"), .dtype = DT_f32, .rank = 2, .shape = shape};
    vec_push(a, &p->inputs, ids);
    vec_push(a, &p->inputs, x);
    vec_push(a, &p->outputs, y);
    static const int64_t weight_shape[] = {3, 64, 16};
    Constant constant = {STR("layer.weight"), DT_f32, 3,     weight_shape,
                         STR("P16"),          128,    12288, UINT64_C(0xfedcba9876543210)};
    vec_push(a, &p->constants, constant);
    const Size *bytes = size_scale(a, symbol(a, "n"), 160);
    ArenaBuffer first = {.name = STR("h"), .count = bytes, .offset = size_int(a, 64)};
    ArenaBuffer slot = {.name = STR("ids"), .count = bytes, .is_slot = true, .offset = bytes};
    vec_push(a, &p->buffers, first);
    vec_push(a, &p->buffers, slot);
    Kernel *kernel = map_kernel(a);
    vec_push(a, &p->kernels, kernel);
    static const Operand to_buffer[] = {{OPERAND_input, 1}, {OPERAND_buffer, 0}};
    static const Operand to_output[] = {{OPERAND_constant, 0}, {OPERAND_output, 0}};
    Step steps[] = {{STR("first"), 0, 2, to_buffer}, {STR("second"), 0, 2, to_output}};
    vec_push(a, &p->steps, steps[0]);
    vec_push(a, &p->steps, steps[1]);
    p->arena_bytes = size_scale(a, symbol(a, "n"), 320);
    return p;
}

static int64_t value(SlAbiExpr e, int64_t n, int64_t seq)
{
    const int64_t symbols[] = {n, seq};
    return native_size(&e, symbols);
}

static void check_entry(const SlAbiEntry *e)
{
    assert_int_equal(e->size, sizeof *e);
    assert_string_equal(e->name, "run");
    assert_int_equal(e->nsymbols, 2);
    assert_string_equal(e->symbols[0].name, "n");
    assert_int_equal(e->symbols[0].high, INT64_MAX);
    assert_string_equal(e->symbols[1].name, "seq");
    assert_int_equal(e->symbols[1].low, 2);
    assert_int_equal(e->symbols[1].high, 512);
    assert_int_equal(e->nchecks, 1);
    assert_int_equal(e->checks[0].op, SL_CHECK_LE);
    assert_string_equal(e->checks[0].text, "half of it fits");
    assert_int_equal(value(e->checks[0].left, 7, 10), 5);
    assert_int_equal(value(e->checks[0].right, 7, 10), 77);
    assert_int_equal(e->ninputs, 2);
    const SlAbiIo *ids = &e->inputs[0];
    assert_string_equal(ids->name, "ids");
    assert_int_equal(ids->dtype, SL_ABI_I32);
    assert_int_equal(ids->flags, SL_IO_RANGE | SL_IO_DEFAULT | SL_IO_SLOT);
    assert_int_equal(ids->rank, 2);
    assert_int_equal(value(ids->shape[0], 7, 10), 7);
    assert_int_equal(value(ids->shape[1], 7, 10), 40);
    assert_int_equal(ids->low, -5);
    assert_int_equal(ids->high, 30522);
    assert_true(ids->fill == 1.5);
    assert_int_equal(value(ids->slot, 7, 10), 7 * 160);
    assert_int_equal(e->inputs[1].flags, 0);
    assert_int_equal(e->noutputs, 1);
    assert_string_equal(e->outputs[0].name, "y");
    assert_int_equal(value(e->arena_bytes, 7, 10), 7 * 320);
    assert_int_equal(value(e->scratch_bytes, 7, 10), 448 + 64);
    assert_int_equal(value(e->state_bytes, 7, 10), 0);
}

static void check_steps(const SlAbiEntry *e)
{
    assert_int_equal(e->nsteps, 2);
    const SlAbiStep *s = e->steps;
    assert_int_equal(s[0].size, sizeof *s);
    assert_string_equal(s[0].name, "first");
    assert_string_equal(s[1].name, "second");
    assert_true(s[0].kernel == s[1].kernel);
    assert_int_equal(value(s[0].parts, 7, 10), 7);
    assert_int_equal(s[0].noperands, 2);
    const SlAbiOperand *o = s[0].operands;
    assert_int_equal(o[0].kind, SL_OPERAND_INPUT);
    assert_int_equal(o[0].index, 1);
    assert_int_equal(value(o[0].offset, 7, 10), 0);
    assert_int_equal(o[1].kind, SL_OPERAND_ARENA);
    assert_int_equal(value(o[1].offset, 7, 10), 64);
    o = s[1].operands;
    assert_int_equal(o[0].kind, SL_OPERAND_WEIGHTS);
    assert_int_equal(value(o[0].offset, 7, 10), 128);
    assert_int_equal(o[1].kind, SL_OPERAND_OUTPUT);
    assert_int_equal(o[1].index, 0);
}

static void test_table(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Native native = native_load(a, full_program(a), &target);
    const SlAbiModel *m = native.model;
    assert_int_equal(m->size, sizeof *m);
    assert_int_equal(m->abi, SL_ABI_VERSION);
    assert_string_equal(m->name, "the_model");
    assert_string_equal(m->compiler, "test");
    assert_string_equal(m->spec, "a spec");
    assert_string_equal(m->flags, "");
    assert_string_equal(m->weights_file, "");
    assert_int_equal(m->weights_place, SL_WEIGHTS_NONE);
    assert_int_equal(m->nweights, 1);
    assert_int_equal(m->weights[0].size, sizeof(SlAbiWeight));
    assert_string_equal(m->weights[0].name, "layer.weight");
    assert_string_equal(m->weights[0].layout, "P16");
    assert_int_equal(m->weights[0].rank, 3);
    assert_int_equal(m->weights[0].shape[1], 64);
    assert_int_equal(m->weights[0].offset, 128);
    assert_int_equal(m->weights[0].bytes, 12288);
    assert_true(m->weights[0].hash == UINT64_C(0xfedcba9876543210));
    assert_int_equal(m->nvariants, 1);
    assert_int_equal(m->variants[0].size, sizeof(SlAbiVariant));
    assert_true(m->variants[0].features == target.needs);
    assert_string_equal(m->variants[0].target, "x86-64-v3");
    assert_int_equal(m->variants[0].nentries, 1);
    check_entry(m->variants[0].entries);
    check_steps(m->variants[0].entries);
    native_close(&native);
    arena_destroy(a);
}

// ---- the object ---------------------------------------------------------------------------------

static const Elf64_Shdr *section(const Elf64_Ehdr *elf, const char *name)
{
    const Elf64_Shdr *sections = (const void *)((const char *)elf + elf->e_shoff);
    const char *names = (const char *)elf + sections[elf->e_shstrndx].sh_offset;
    for (size_t i = 0; i < elf->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0) {
            return &sections[i];
        }
    }
    return NULL;
}

static void test_symbols_and_sections(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Str bytes = native_text(a, full_program(a), &target, CODEGEN_object);
    char *copy = arena_alloc(a, bytes.len, 64);
    memcpy(copy, bytes.ptr, bytes.len);
    const Elf64_Ehdr *elf = (const void *)copy;
    const Elf64_Shdr *symbols = section(elf, ".symtab");
    const Elf64_Shdr *strings = section(elf, ".strtab");
    assert_non_null(symbols);
    assert_non_null(strings);
    size_t exported = 0;
    for (size_t i = 1; i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(copy + symbols->sh_offset) + i;
        const char *name = copy + strings->sh_offset + s->st_name;
        if (ELF64_ST_BIND(s->st_info) != STB_LOCAL) {
            assert_string_equal(name, SL_QUERY_NAME);
            assert_int_not_equal(s->st_shndx, SHN_UNDEF);
            exported++;
        }
        if (ELF64_ST_TYPE(s->st_info) == STT_FILE) {
            assert_string_equal(name, "model");
        }
    }
    assert_int_equal(exported, 1);
    assert_non_null(section(elf, ".note.GNU-stack"));
    assert_int_equal(section(elf, ".note.GNU-stack")->sh_flags & SHF_EXECINSTR, 0);
    assert_null(section(elf, ".data"));
    assert_null(section(elf, ".bss"));
    assert_null(section(elf, ".comment"));
    arena_destroy(a);
}

static void test_same_input_same_bytes(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v4", NULL);
    for (int kind = CODEGEN_object; kind <= CODEGEN_llvm; kind++) {
        Str first = native_text(a, full_program(a), &target, (CodegenKind)kind);
        Str second = native_text(a, full_program(a), &target, (CodegenKind)kind);
        assert_true(first.len > 0 && str_equal(first, second));
    }
    arena_destroy(a);
}

static void test_llvm_text_names_the_target(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Str text = native_text(a, full_program(a), &target, CODEGEN_llvm);
    assert_non_null(strstr(text.ptr, "target datalayout = \"e-m:e-p270:32:32"));
    assert_non_null(strstr(text.ptr, "target triple = \"x86_64-unknown-linux-gnu\""));
    assert_null(strstr(text.ptr, " nnan "));
    assert_null(strstr(text.ptr, " fast "));
    arena_destroy(a);
}

// ---- instructions -------------------------------------------------------------------------------

typedef struct Listing {
    const char *lines[20000];
    size_t n;
} Listing;

static bool starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static Listing *split_lines(Arena *a, Str text)
{
    Listing *l = arena_new(a, Listing, 1);
    char *copy = arena_alloc(a, text.len + 1, 1);
    memcpy(copy, text.ptr, text.len);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(l->n < sizeof l->lines / sizeof *l->lines);
        l->lines[l->n++] = line;
    }
    return l;
}

// Line of a label before `end`, or SIZE_MAX.
static size_t find_label(const Listing *l, const char *label, size_t end)
{
    for (size_t i = end; i-- > 0;) {
        size_t n = strlen(label);
        if (strncmp(l->lines[i], label, n) == 0 && l->lines[i][n] == ':') {
            return i;
        }
    }
    return SIZE_MAX;
}

// Counts fused multiply-adds in loops, and fails at a vector that goes through the stack there.
static size_t check_loops(const Listing *l, const char *registers)
{
    size_t fused = 0;
    for (size_t i = 0; i < l->n; i++) {
        const char *label =
            strstr(l->lines[i], "\tj") == l->lines[i] ? strrchr(l->lines[i], '.') : NULL;
        size_t begin = label ? find_label(l, label, i) : SIZE_MAX;
        for (size_t j = begin; j < i; j++) {
            bool is_vector = strstr(l->lines[j], "mm") != NULL;
            if (is_vector && (strstr(l->lines[j], "(%rsp") || strstr(l->lines[j], "(%rbp"))) {
                fail_msg("in a loop: %s", l->lines[j]);
            }
            if (starts(l->lines[j], "\tvmovap")) {
                fail_msg("in a loop: %s", l->lines[j]);
            }
            fused += strstr(l->lines[j], "\tvfmadd") && strstr(l->lines[j], registers);
        }
    }
    return fused;
}

// Every leaf keeps its sums in registers: eight k in a turn, then one.
static void check_leaves(const char *name, const char *registers)
{
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, name, NULL);
    const TileShape *most = &target.loop.tile;
    static const int64_t lengths[] = {32, 768, 3072};
    for (int64_t rows = 1; rows <= most->rows; rows++) {
        for (int64_t panels = 1; panels <= most->panels; panels++) {
            for (size_t i = 0; i < 3; i++) {
                Kernel *k = tile_kernel(a, "t", rows, panels, lengths[i]);
                Program *p = native_program(a, &k, 1, NULL, 0);
                Listing *l = split_lines(a, native_text(a, p, &target, CODEGEN_asm));
                size_t vectors = (size_t)(rows * panels * TILE_COLS / target.loop.lanes);
                assert_int_equal(check_loops(l, registers), 9 * vectors);
            }
        }
    }
    arena_destroy(a);
}

static void test_leaves_do_not_spill(void **state)
{
    (void)state;
    check_leaves("x86-64-v3", "%ymm");
    check_leaves("x86-64-v4", "%zmm");
}

// The full leaf of 6 x 16: two loads of B, six broadcasts of A and twelve products for each k.
static void test_the_leaf_is_lean(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v3", NULL);
    Kernel *k = tile_kernel(a, "t", 6, 1, 768);
    Program *p = native_program(a, &k, 1, NULL, 0);
    Listing *l = split_lines(a, native_text(a, p, &target, CODEGEN_asm));
    for (size_t i = 0; i < l->n; i++) {
        size_t begin =
            starts(l->lines[i], "\tjne") ? find_label(l, strrchr(l->lines[i], '.'), i) : SIZE_MAX;
        if (begin != SIZE_MAX) {
            // 21 with the fetching ahead; two pointers and a counter advance; the jump.
            assert_int_equal(i - begin - 1, 8 * 21 + 3);
            arena_destroy(a);
            return;
        }
    }
    fail_msg("there is no loop");
}

static void test_vectors_are_whole_registers(void **state)
{
    (void)state;
    Arena *a = arena_create();
    CodegenTarget target = native_target(a, "x86-64-v4", NULL);
    Str n = STR("n");
    Kernel *k = map_kernel(a);
    Str text = native_text(a, native_program(a, &k, 1, &n, 1), &target, CODEGEN_asm);
    assert_non_null(strstr(text.ptr, "zmm"));
    assert_non_null(strstr(text.ptr, "{%k")); // the masked rest: 40 = 2 · 16 + 8
    assert_null(strstr(text.ptr, "call"));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_by_name),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_symbols_and_sections),
        cmocka_unit_test(test_same_input_same_bytes),
        cmocka_unit_test(test_llvm_text_names_the_target),
        cmocka_unit_test(test_leaves_do_not_spill),
        cmocka_unit_test(test_the_leaf_is_lean),
        cmocka_unit_test(test_vectors_are_whole_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
