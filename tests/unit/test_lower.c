// Lowering against the evaluator: the graphs in tests/unit/lower go through the passes, with and
// without fusion, for two shapes of machine; the program, run without generated code, must give
// what the evaluator gives for the graph as written.
#include "ir/ir.h"
#include "lower_kit.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Case {
    Str name;
    Str text;
    size_t nkernels; // with fusion, as the file's second line says
} Case;

static bool read_case(Arena *a, const char *file, Case *out)
{
    static char text[1 << 16];
    Str path = str_format(a, "%s/tests/unit/lower/%s", SOURCE_DIR, file);
    FILE *in = fopen(str_cstr(a, path), "r");
    assert_non_null(in);
    size_t n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    const char *said = strstr(text, "# kernels: ");
    assert_non_null(said);
    out->nkernels = strtoul(said + strlen("# kernels: "), NULL, 10);
    out->name = str_copy(a, str_from(file));
    out->text = str_copy(a, (Str){text, n});
    return true;
}

static void run_case(const Case *c, const Target *target, bool only_stages, int64_t batch)
{
    Arena *a = arena_create();
    Diag *dx = diag_create(a);
    Graph *g = graph_parse(a, dx, diag_source(a, c->name, c->text, false));
    if (!g) {
        diag_flush(dx, stderr, false);
        fail_msg("%.*s does not parse", STR_ARG(c->name));
    }
    LowerKit kit = {.arena = a,
                    .graph = g,
                    .target = target,
                    .only_stages = only_stages,
                    .batch = batch,
                    .tolerance = 1e-5};
    Buf why = {.arena = a};
    if (lower_kit_run(&kit, &why) != LOWER_same) {
        fail_msg("%.*s: %s", STR_ARG(c->name), why.ptr ? why.ptr : "refused");
    }
    if (!only_stages && kit.nkernels != c->nkernels) {
        fail_msg("%.*s: %zu kernels, not %zu", STR_ARG(c->name), kit.nkernels, c->nkernels);
    }
    arena_destroy(a);
}

static void run_all(const Target *target)
{
    Arena *a = arena_create();
    size_t ncases = 0;
    DIR *folder = opendir(SOURCE_DIR "/tests/unit/lower");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!str_ends(str_from(entry->d_name), STR(".ir"))) {
            continue;
        }
        Case c;
        assert_true(read_case(a, entry->d_name, &c));
        for (int64_t batch = 1; batch <= 14; batch += batch == 1 ? 2 : 11) {
            run_case(&c, target, true, batch);
            run_case(&c, target, false, batch);
        }
        ncases++;
    }
    closedir(folder);
    arena_destroy(a);
    assert_true(ncases >= 13);
}

static void narrow_machine(void **state)
{
    (void)state;
    Target target = {.lanes = 8, .tile = {.rows = 6, .panels = 1}};
    run_all(&target);
}

static void wide_machine(void **state)
{
    (void)state;
    Target target = {.lanes = 16, .tile = {.rows = 9, .panels = 3}};
    run_all(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrow_machine),
                                       cmocka_unit_test(wide_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
