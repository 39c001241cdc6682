// Parts of the runtime by themselves: expressions and their texts, the processor's features, how
// many processors there are.
#define _GNU_SOURCE // sched_setaffinity

#include "runtime/internal.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define C(x)                                                                                       \
    {                                                                                              \
        .op = SL_X_CONST, .value = (x)                                                             \
    }
#define S(x)                                                                                       \
    {                                                                                              \
        .op = SL_X_SYMBOL, .value = (x)                                                            \
    }
#define ADD                                                                                        \
    {                                                                                              \
        .op = SL_X_ADD                                                                             \
    }
#define MUL                                                                                        \
    {                                                                                              \
        .op = SL_X_MUL                                                                             \
    }
#define DIV                                                                                        \
    {                                                                                              \
        .op = SL_X_DIV                                                                             \
    }
#define E(...)                                                                                     \
    (SlAbiExpr)                                                                                    \
    {                                                                                              \
        (const SlAbiInst[]){__VA_ARGS__},                                                          \
            sizeof((const SlAbiInst[]){__VA_ARGS__}) / sizeof(SlAbiInst)                           \
    }

static const SlAbiSymbol symbols[] = {
    {.size = sizeof(SlAbiSymbol), .name = "n", .low = 1, .high = INT64_MAX},
    {.size = sizeof(SlAbiSymbol), .name = "seq", .low = 1, .high = 512},
};
static const SlAbiEntry entry = {.name = "test", .nsymbols = 2, .symbols = symbols};

// ---- expressions ------------------------------------------------------------------------------

static void assert_value(SlAbiExpr expr, int64_t n, int64_t seq, int64_t expected)
{
    const int64_t values[] = {n, seq};
    int64_t value;
    assert_true(sli_expr_ok(&expr, 2));
    assert_true(sli_eval(&expr, values, &value));
    assert_true(value == expected);
}

static void assert_overflows(SlAbiExpr expr, int64_t n)
{
    const int64_t values[] = {n, 1};
    int64_t value;
    assert_true(sli_expr_ok(&expr, 2));
    assert_false(sli_eval(&expr, values, &value));
}

static void test_values(void **state)
{
    (void)state;
    assert_value(E(C(7)), 0, 0, 7);
    assert_value(E(S(1)), 3, 5, 5);
    assert_value(E(S(0), S(1), MUL, C(-4), ADD), 3, 5, 11);
    assert_value(E(S(0), C(2), DIV), 7, 0, 3);
    assert_value(E(S(0), C(2), DIV), -7, 0, -4); // towards minus infinity
    assert_value(E(S(0), C(2), DIV), -8, 0, -4);
    assert_value(E(S(0), C(3), DIV), -1, 0, -1);
    assert_value(E(S(0), C(1), DIV), INT64_MIN, 0, INT64_MIN);
    assert_value(E(C(INT64_MAX), C(INT64_MIN), ADD), 0, 0, -1);
    assert_value(E(C(INT64_MAX), C(1), MUL), 0, 0, INT64_MAX);
    assert_overflows(E(S(0), C(1), ADD), INT64_MAX);
    assert_overflows(E(S(0), C(-1), ADD), INT64_MIN);
    assert_overflows(E(S(0), C(2), MUL), INT64_MAX / 2 + 1);
    assert_overflows(E(S(0), C(-1), MUL), INT64_MIN);
    assert_overflows(E(C(1), S(0), DIV), 0);
    assert_overflows(E(C(1), S(0), DIV), -1);
}

static void test_stack(void **state)
{
    (void)state;
    SlAbiInst deep[65];
    for (uint32_t depth = 1; depth <= 33; depth++) {
        for (uint32_t i = 0; i < depth; i++)
            deep[i] = (SlAbiInst)C(1);
        for (uint32_t i = depth; i < 2 * depth - 1; i++)
            deep[i] = (SlAbiInst)ADD;
        const SlAbiExpr expr = {deep, 2 * depth - 1};
        assert_int_equal(sli_expr_ok(&expr, 0), depth <= 32);
        if (depth <= 32)
            assert_value(expr, 0, 0, depth);
    }
    assert_int_equal(sli_lone_symbol(&E(S(1))), 1);
    assert_int_equal(sli_lone_symbol(&E(C(1))), -1);
    assert_int_equal(sli_lone_symbol(&E(S(1), C(1), MUL)), -1);
}

static void assert_shown(SlAbiExpr expr, const char *expected)
{
    char buffer[160];
    SliText text = sli_text(buffer, sizeof buffer);
    assert_true(sli_expr_ok(&expr, 2));
    sli_add_expr(&text, &expr, &entry);
    assert_string_equal(buffer, expected);
}

static void test_expression_texts(void **state)
{
    (void)state;
    assert_shown(E(C(128)), "128");
    assert_shown(E(S(1)), "seq");
    assert_shown(E(S(0), C(4), MUL), "n*4");
    assert_shown(E(S(1), C(2), DIV, C(1), ADD), "seq/2 + 1");
    assert_shown(E(S(1), C(1), ADD, C(2), DIV), "(seq + 1)/2");
    assert_shown(E(S(1), C(-1), ADD), "seq - 1");
    assert_shown(E(C(2), S(1), C(1), ADD, MUL), "2*(seq + 1)");
    assert_shown(E(S(0), S(1), C(2), DIV, MUL), "n*(seq/2)");
    assert_shown(E(S(0), S(1), MUL, C(2), DIV), "n*seq/2");
    assert_shown(E(S(0), C(2), DIV, C(2), DIV), "n/2/2");
    assert_shown(E(S(0), S(1), C(2), MUL, DIV), "n/(seq*2)");
    assert_shown(E(S(0), S(1), C(1), ADD, ADD), "n + seq + 1");
    assert_shown(E(C(-1), S(1), MUL, S(0), ADD), "-1*seq + n");
    assert_shown(E(C(INT64_MIN)), "-9223372036854775808");
    SlAbiInst longest[63];
    for (size_t i = 0; i < 32; i++)
        longest[i] = (SlAbiInst)C(INT64_MAX);
    for (size_t i = 32; i < 63; i++)
        longest[i] = (SlAbiInst)MUL;
    assert_shown((SlAbiExpr){longest, 63}, "...");
}

static void test_shape_texts(void **state)
{
    (void)state;
    char buffer[16];
    const SlAbiExpr shape[] = {E(S(0)), E(C(12)), E(C(1234567))};
    SlAbiIo io = {.rank = 2, .shape = shape};
    SliText text = sli_text(buffer, sizeof buffer);
    sli_add_shape(&text, &io, &entry);
    assert_string_equal(buffer, "[n, 12]");
    io.rank = 0;
    text = sli_text(buffer, sizeof buffer);
    sli_add_shape(&text, &io, &entry);
    assert_string_equal(buffer, "[]");
    io.rank = 3;
    text = sli_text(buffer, sizeof buffer);
    sli_add_shape(&text, &io, &entry);
    sli_add(&text, "more");
    assert_string_equal(buffer, "[n, 12, 1234...");
    assert_int_equal(text.used, 15);
}

// ---- the processor ----------------------------------------------------------------------------

// Valgrind's processor is its own: no modes but rounding, and fewer features than the system lists.
static bool is_emulated(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x9fc0);
    bool has_modes = (_mm_getcsr() & 0xffc0) == 0x9fc0;
    _mm_setcsr(before);
    return !has_modes;
}

// What we find is what the system lists, which knows what it saves.
static void test_features(void **state)
{
    (void)state;
    if (is_emulated())
        skip();
    static char line[1 << 14];
    char name[64];
    static char flags[(1 << 14) + 8];
    FILE *file = fopen("/proc/cpuinfo", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && strncmp(line, "flags", 5) != 0) {
    }
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    snprintf(flags, sizeof flags, "%s ", line);
    uint64_t features = sli_cpu_features();
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, regbit, llvm)                                     \
    snprintf(name, sizeof name, " %s ", strcmp(#id, "lzcnt") == 0 ? "abm" : #id);                  \
    assert_int_equal(features >> bit & 1, strstr(flags, name) != NULL);
#define ISA(id, name, cpu, arch, bytes, registers, needs)
#include "runtime/isa.def"
}

static void test_feature_names(void **state)
{
    (void)state;
    char buffer[160];
    SliText text = sli_text(buffer, sizeof buffer);
    sli_add_features(&text, 0);
    assert_string_equal(buffer, "");
    sli_add_features(&text, 1u | 1u << 1 | UINT64_C(1) << 63);
    assert_string_equal(buffer, "avx2, fma, feature 63, unknown to this runtime");
}

static void test_float_mode(void **state)
{
    (void)state;
    if (is_emulated())
        skip();
    volatile float tiny = 1e-39f;
    volatile float one = 1;
    unsigned before = sli_float_begin();
    volatile float flushed = tiny * one;
    sli_float_end(before);
    volatile float kept = tiny * one;
    assert_true(flushed == 0);
    assert_true(kept != 0);
}

// ---- how many processors ----------------------------------------------------------------------

static char root[64];

static void put(const char *path, const char *text)
{
    char full[256];
    assert_true(snprintf(full, sizeof full, "%s%s", root, path) < (int)sizeof full);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/sluice-unit-XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void test_quota_none(void **state)
{
    (void)state;
    assert_true(sli_quota_cpus(root) == UINT32_MAX); // no such files at all
    put("/proc/self/cgroup", "");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
    put("/proc/self/cgroup", "nonsense\n1:2\n:::\n0::\n0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
    put("/sys/fs/cgroup/a/cpu.max", "nonsense");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
    put("/sys/fs/cgroup/a/cpu.max", "200000 0\n");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
}

static void test_quota_v2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/user/box\n");
    put("/sys/fs/cgroup/user/box/cpu.max", "200000 100000\n");
    assert_int_equal(sli_quota_cpus(root), 2);
    put("/sys/fs/cgroup/user/box/cpu.max", "350000 100000\n");
    assert_int_equal(sli_quota_cpus(root), 3); // never more than the quota
    put("/sys/fs/cgroup/user/box/cpu.max", "50000 100000\n");
    assert_int_equal(sli_quota_cpus(root), 1);
    put("/sys/fs/cgroup/user/box/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user/cpu.max", "400000 100000\n"); // a limit further up holds too
    assert_int_equal(sli_quota_cpus(root), 4);
    put("/sys/fs/cgroup/cpu.max", "100000 50000\n");
    assert_int_equal(sli_quota_cpus(root), 2);
    put("/proc/self/cgroup", "0::/of/the/host/only\n"); // as seen in a container
    assert_int_equal(sli_quota_cpus(root), 2);
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(sli_quota_cpus(root), 2);
}

static void test_quota_v1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "5:cpuset:/a\n4:memory:/b\n3:cpu,cpuacct:/box\n");
    put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
    put("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "600000\n");
    assert_int_equal(sli_quota_cpus(root), 6);
    put("/proc/self/cgroup", "1:cpuset:/a\n3:cpuacct:/box\n2:cpu:/box\n");
    put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(sli_quota_cpus(root), 3);
    put("/proc/self/cgroup", "3:cpuacct,cpu:/box\n"); // mounted under one of the names
    assert_int_equal(sli_quota_cpus(root), 3);
    put("/proc/self/cgroup", "3:cpuset:/box\n2:mycpu:/box\n");
    assert_true(sli_quota_cpus(root) == UINT32_MAX);
}

static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(sli_affinity_cpus(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(sli_affinity_cpus(), 1);
    uint32_t threads = 0;
    unsetenv("SLUICE_THREADS");
    assert_int_equal(sli_default_threads(&threads, NULL), SL_OK);
    assert_int_equal(threads, 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_expression_texts),
        cmocka_unit_test(test_shape_texts),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_feature_names),
        cmocka_unit_test(test_float_mode),
        cmocka_unit_test_setup_teardown(test_quota_none, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_quota_v2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_quota_v1, make_root, remove_root),
        cmocka_unit_test(test_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
