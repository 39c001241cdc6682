// Opening files: every way in which a model file or its weights can be wrong has its own status.
#define _XOPEN_SOURCE 700 // mkfifo

#include "runtime/sluice.h"

#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *in_folder(const char *name) { return path_in(work_folder(), name); }

// Refused with that status, and a text that holds `word`.
static void assert_refused(const char *path, const SlOpenOptions *options, SlStatus status,
                           const char *word)
{
    SlModel *model = (SlModel *)(void *)&status;
    SlError error;
    assert_int_equal(sl_model_open(path, options, &model, &error), status);
    assert_int_equal(error.status, status);
    assert_null(model);
    if (!strstr(error.text, word))
        fail_msg("'%s' does not say '%s'", error.text, word);
    assert_int_equal(sl_model_open(path, options, &model, NULL), status);
}

static SlModel *assert_opens(const char *path, const SlOpenOptions *options)
{
    SlModel *model = NULL;
    SlError error = {SL_E_BUSY, "old"};
    if (sl_model_open(path, options, &model, &error) != SL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(error.status, SL_OK);
    assert_string_equal(error.text, "");
    return model;
}

// One run of "bag", right but for a factor.
static void assert_runs(SlModel *model, float factor)
{
    static Bag bag;
    SlContext *context;
    SlError error;
    assert_int_equal(sl_context_open(model, NULL, &context, &error), SL_OK);
    bag_make(&bag, 7, 3, factor);
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag_is_right(&bag));
    assert_int_equal(sl_context_close(context), SL_OK);
}

static void test_appended(void **state)
{
    (void)state;
    const SlOpenOptions verify = {.verify = 1};
    const char *path = in_folder("tiny.so");
    write_tiny(path);
    SlModel *model = assert_opens(path, &verify);
    assert_runs(model, 1);
    SlWeightInfo info;
    assert_int_equal(sl_weight_info(model, 1, &info, NULL), SL_OK);
    assert_int_equal((uintptr_t)info.data % 64, 0);
    // Bytes behind the weights can be read, though the file's last page may end with them.
    const volatile unsigned char *end = (const unsigned char *)info.data + info.bytes;
    unsigned sum = 0;
    for (size_t i = 0; i < SL_ABI_SLACK; i++)
        sum += end[i];
    assert_true(sum > 0); // the footer's magic
    assert_int_equal(sl_model_close(model), SL_OK);
}

// A blob that ends at a page's end: with the footer in the same page, and without.
static void test_slack(void **state)
{
    (void)state;
    const size_t sizes[] = {4096 - 48, 4096 - 64, 4096, 8192 - 48, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Bytes bytes = {NULL, 0};
        unsigned char *blob = calloc(1, sizes[i]);
        fill_weights((float *)(void *)blob);
        SlAbiModel table = *tiny_query(SL_ABI_VERSION);
        table.weights_bytes = sizes[i];
        SlAbiFooter footer = {.bytes = sizes[i], .hash = table.weights_hash};
        memcpy(footer.magic, SL_FOOTER_MAGIC, sizeof footer.magic);
        append_bytes(&bytes, blob, sizes[i]);
        append_bytes(&bytes, &footer, sizeof footer);
        write_bytes(in_folder("blob"), bytes.at, bytes.n);
        const SlOpenOptions options = {.weights_file = in_folder("blob"), .verify = 1};
        SlError error;
        SlModel *model = open_table_with(&table, &options, &error);
        assert_non_null(model);
        SlWeightInfo info;
        assert_int_equal(sl_weight_info(model, 0, &info, NULL), SL_OK);
        const volatile unsigned char *base = info.data;
        unsigned sum = 0;
        for (size_t at = 0; at < sizes[i] + SL_ABI_SLACK; at++)
            sum += base[at];
        assert_true(sum > 0);
        assert_int_equal(sl_model_close(model), SL_OK);
        free(blob);
        free(bytes.at);
    }
}

static void test_beside(void **state)
{
    (void)state;
    const SlOpenOptions verify = {.verify = 1};
    Bytes image = read_bytes(ABI_MODELS "/model_twin.so");
    write_bytes(in_folder("twin.so"), image.at, image.n);
    free(image.at);
    remove(in_folder("twin.weights"));
    assert_refused(in_folder("twin.so"), NULL, SL_E_WEIGHTS_MISSING, "twin.weights");
    write_weights(in_folder("twin.weights"));
    SlModel *model = assert_opens(in_folder("twin.so"), &verify);
    assert_runs(model, 2);
    assert_int_equal(sl_model_close(model), SL_OK);

    // Moved weights, named; also from a model that has its own appended.
    assert_int_equal(rename(in_folder("twin.weights"), in_folder("moved")), 0);
    assert_refused(in_folder("twin.so"), NULL, SL_E_WEIGHTS_MISSING, "twin.weights");
    const SlOpenOptions moved = {.weights_file = in_folder("moved")};
    model = assert_opens(in_folder("twin.so"), &moved);
    assert_runs(model, 2);
    assert_int_equal(sl_model_close(model), SL_OK);
    assert_int_equal(mkdir(in_folder("twin.weights"), 0700), 0);
    assert_refused(in_folder("twin.so"), NULL, SL_E_FILE, "twin.weights");
}

// A relative path without a slash means this folder, not the system's libraries.
static void test_relative(void **state)
{
    (void)state;
    char before[512];
    assert_non_null(getcwd(before, sizeof before));
    write_tiny(in_folder("tiny.so"));
    Bytes image = read_bytes(ABI_MODELS "/model_twin.so");
    write_bytes(in_folder("near.so"), image.at, image.n);
    free(image.at);
    rmdir(in_folder("twin.weights"));
    write_weights(in_folder("twin.weights"));
    assert_int_equal(chdir(work_folder()), 0);
    SlModel *model = assert_opens("tiny.so", NULL);
    assert_runs(model, 1);
    assert_int_equal(sl_model_close(model), SL_OK);
    model = assert_opens("near.so", NULL);
    assert_runs(model, 2);
    assert_int_equal(sl_model_close(model), SL_OK);
    assert_int_equal(chdir(before), 0);
}

// Cut anywhere: before its end in the code, in the padding, the weights or the footer.
static void test_truncated(void **state)
{
    (void)state;
    const char *path = in_folder("cut.so");
    write_tiny(in_folder("tiny.so"));
    Bytes whole = read_bytes(in_folder("tiny.so"));
    Bytes image = read_bytes(ABI_MODELS "/model_tiny.so");
    for (size_t n = 64; n<whole.n; n += n + 64> image.n ? 13 : 211) {
        if (n == image.n)
            continue;
        write_bytes(path, whole.at, n);
        assert_refused(path, NULL, SL_E_TRUNCATED, "cut.so");
    }
    for (size_t n = 0; n < 64; n++) {
        write_bytes(path, whole.at, n);
        assert_refused(path, NULL, SL_E_NOT_MODEL, "not a shared object");
    }
    write_bytes(path, whole.at, image.n);
    assert_refused(path, NULL, SL_E_WEIGHTS_MISSING, "no weights");

    // The weights alone in a file: there is no image that would say where they begin.
    write_weights(in_folder("weights"));
    Bytes weights = read_bytes(in_folder("weights"));
    const SlOpenOptions options = {.weights_file = path};
    for (size_t n = 0; n < weights.n; n += 7) {
        write_bytes(path, weights.at, n);
        assert_refused(in_folder("tiny.so"), &options, SL_E_TRUNCATED, "cut.so");
    }
    free(whole.at);
    free(image.at);
    free(weights.at);
}

// The footer of tiny.so with one field changed.
static void write_footer(size_t field, uint64_t value)
{
    write_tiny(in_folder("tiny.so"));
    Bytes bytes = read_bytes(in_folder("tiny.so"));
    memcpy(bytes.at + bytes.n - sizeof(SlAbiFooter) + field, &value, sizeof value);
    write_bytes(in_folder("footer.so"), bytes.at, bytes.n);
    free(bytes.at);
}

static void test_footer(void **state)
{
    (void)state;
    const char *path = in_folder("footer.so");
    write_footer(offsetof(SlAbiFooter, hash), 12345);
    assert_refused(path, NULL, SL_E_WEIGHTS_FOREIGN, "another model");
    write_footer(offsetof(SlAbiFooter, bytes), TINY_WEIGHTS * 4 - 4);
    assert_refused(path, NULL, SL_E_WEIGHTS_FOREIGN, "another model");
    write_footer(offsetof(SlAbiFooter, offset), UINT64_MAX - 4095);
    assert_refused(path, NULL, SL_E_TRUNCATED, "no room");
    write_footer(offsetof(SlAbiFooter, offset), 0);
    assert_refused(path, NULL, SL_E_TRUNCATED, "no room");
    write_footer(offsetof(SlAbiFooter, magic), 0);
    assert_refused(path, NULL, SL_E_TRUNCATED, "inside the weights");
    Bytes bytes = read_bytes(in_folder("tiny.so"));
    write_footer(offsetof(SlAbiFooter, offset),
                 bytes.n - sizeof(SlAbiFooter) - TINY_WEIGHTS * 4 - 64);
    assert_refused(path, NULL, SL_E_FILE, "between two pages");
    free(bytes.at);
}

// One bit of each constant, found when asked for.
static void test_flipped(void **state)
{
    (void)state;
    const SlOpenOptions verify = {.verify = 1};
    const char *path = in_folder("flipped.so");
    write_tiny(in_folder("tiny.so"));
    Bytes bytes = read_bytes(in_folder("tiny.so"));
    unsigned char *weights = bytes.at + bytes.n - sizeof(SlAbiFooter) - TINY_WEIGHTS * 4;
    const struct {
        size_t at;
        const char *name;
    } flips[] = {{0, "'table'"},
                 {TINY_BIAS * 4 - 1, "'table'"},
                 {TINY_BIAS * 4, "'bias'"},
                 {TINY_WEIGHTS * 4 - 1, "'bias'"}};
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        weights[flips[i].at] ^= 0x10;
        write_bytes(path, bytes.at, bytes.n);
        assert_refused(path, &verify, SL_E_WEIGHTS_FLIPPED, flips[i].name);
        SlModel *model = assert_opens(path, NULL);
        assert_int_equal(sl_model_close(model), SL_OK);
        weights[flips[i].at] ^= 0x10;
    }
    free(bytes.at);
}

static void test_not_models(void **state)
{
    (void)state;
    const char *path = in_folder("odd.so");
    assert_refused(in_folder("nothing.so"), NULL, SL_E_FILE, "No such file");
    assert_refused(work_folder(), NULL, SL_E_FILE, "not a file");
    assert_refused("/dev/zero", NULL, SL_E_FILE, "not a file");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_refused(in_folder("pipe"), NULL, SL_E_FILE, "not a file");
    assert_refused("/proc/self/exe", NULL, SL_E_NOT_MODEL, "/proc/self/exe");
    assert_refused(ABI_SHARED_RUNTIME, NULL, SL_E_NOT_MODEL, "no compiled model");
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789\n"
                              "size 12345678\n";
    write_bytes(path, lfs, sizeof lfs);
    assert_refused(path, NULL, SL_E_NOT_MODEL, "not a shared object");

    Bytes bytes = read_bytes(ABI_MODELS "/model_tiny.so");
    bytes.at[18] = 3; // e_machine: i386
    write_bytes(path, bytes.at, bytes.n);
    assert_refused(path, NULL, SL_E_CPU, "another kind of processor");
    bytes.at[18] = 62;
    memset(bytes.at + 32, 0xff, 8); // e_phoff
    write_bytes(path, bytes.at, bytes.n);
    assert_refused(path, NULL, SL_E_TRUNCATED, "odd.so");
    free(bytes.at);
}

// A header that speaks of more than there is: an error, never a signal.
static void test_wild_headers(void **state)
{
    (void)state;
    enum { HEADER = 64, SEGMENT = 56 };
    const char *path = in_folder("wild.so");
    Bytes bytes = read_bytes(ABI_MODELS "/model_tiny.so");
    uint16_t nsegments;
    memcpy(&nsegments, bytes.at + 56, sizeof nsegments);
    const uint64_t values[] = {bytes.n + 1, UINT64_MAX, UINT64_MAX - bytes.n, INT64_MAX,
                               UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        // e_phoff, e_shoff, then each segment's offset and size in the file, if it has any
        for (uint32_t field = 0; field < 2 + 2u * nsegments; field++) {
            size_t segment = HEADER + (field - 2) / 2 * SEGMENT;
            size_t at = field < 2 ? 32 + 8 * field : segment + (field % 2 ? 32 : 8);
            uint64_t old;
            uint64_t size = 1;
            memcpy(&old, bytes.at + at, sizeof old);
            if (field >= 2)
                memcpy(&size, bytes.at + segment + 32, sizeof size);
            if (size > 0) { // else nothing is read there
                memcpy(bytes.at + at, &values[i], sizeof old);
                write_bytes(path, bytes.at, bytes.n);
                assert_refused(path, NULL, SL_E_TRUNCATED, "inside its code");
                memcpy(bytes.at + at, &old, sizeof old);
            }
        }
    }
    bytes.at[54] = 1; // e_phentsize
    write_bytes(path, bytes.at, bytes.n);
    assert_refused(path, NULL, SL_E_NOT_MODEL, "not a shared object");
    bytes.at[54] = SEGMENT;
    memset(bytes.at + 56, 0xff, 2); // e_phnum
    write_bytes(path, bytes.at, bytes.n);
    assert_refused(path, NULL, SL_E_NOT_MODEL, "not a shared object");
    free(bytes.at);
}

static void test_arguments(void **state)
{
    (void)state;
    SlModel *model = (SlModel *)(void *)&model;
    SlError error;
    assert_int_equal(sl_model_open("x", NULL, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_model_open(NULL, NULL, &model, &error), SL_E_ARGUMENT);
    assert_null(model);
    assert_int_equal(sl_model_from_query(NULL, NULL, &model, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_model_from_query(tiny_query, NULL, NULL, &error), SL_E_ARGUMENT);
    const SlAllocator half = {0};
    const SlOpenOptions no_functions = {.allocator = &half};
    assert_int_equal(sl_model_open("x", &no_functions, &model, &error), SL_E_OPTION);
    const SlOpenOptions both = {.weights = &model, .weights_bytes = 8, .weights_file = "x"};
    assert_int_equal(sl_model_open("x", &both, &model, &error), SL_E_OPTION);
    assert_int_equal(sl_model_close(NULL), SL_OK);
    char *name = malloc(10000);
    memset(name, 'x', 9999);
    name[9999] = '\0';
    assert_int_equal(sl_model_open(name, NULL, &model, &error), SL_E_FILE);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    free(name);
}

// The model linked in, its weights from memory or a file.
static void test_linked(void **state)
{
    (void)state;
    SlModel *model;
    SlError error;
    static _Alignas(64) float weights[TINY_WEIGHTS + 17];
    fill_weights(weights);
    assert_int_equal(sl_model_from_query(tiny_query, NULL, &model, &error), SL_E_WEIGHTS_MISSING);
    SlOpenOptions options = {.weights = weights, .weights_bytes = TINY_WEIGHTS * 4 - 1};
    assert_int_equal(sl_model_from_query(tiny_query, &options, &model, &error), SL_E_TRUNCATED);
    options.weights_bytes = TINY_WEIGHTS * 4;
    options.weights = weights + 1;
    assert_int_equal(sl_model_from_query(tiny_query, &options, &model, &error), SL_E_ALIGN);
    options.weights = weights;
    options.verify = 1;
    assert_int_equal(sl_model_from_query(tiny_query, &options, &model, &error), SL_OK);
    assert_runs(model, 1);
    assert_int_equal(sl_model_close(model), SL_OK);
    weights[TINY_BIAS] += 1;
    assert_int_equal(sl_model_from_query(tiny_query, &options, &model, &error),
                     SL_E_WEIGHTS_FLIPPED);

    write_weights(in_folder("linked.weights"));
    const SlOpenOptions file = {.weights_file = in_folder("linked.weights"), .verify = 1};
    assert_int_equal(sl_model_from_query(tiny_query, &file, &model, &error), SL_OK);
    assert_runs(model, 1);
    assert_int_equal(sl_model_close(model), SL_OK);
}

static const SlAbiModel *no_table(uint32_t max_abi)
{
    (void)max_abi;
    return NULL;
}

// Changes of a copy of the table, one at a time.
static void test_tables(void **state)
{
    (void)state;
    SlModel *model;
    SlError error;
    assert_int_equal(sl_model_from_query(no_table, NULL, &model, &error), SL_E_VERSION);
    const SlAbiModel good = *tiny_query(SL_ABI_VERSION);
    SlAbiModel table = good;
    table.nvariants = 1; // the one that no machine can run
    assert_null(open_table(&table, &error));
    assert_int_equal(error.status, SL_E_CPU);
    assert_non_null(strstr(error.text, "tomorrow"));
    assert_non_null(strstr(error.text, "feature 63, unknown to this runtime"));

#define REFUSED(expected)                                                                          \
    do {                                                                                           \
        assert_null(open_table(&table, &error));                                                   \
        assert_int_equal(error.status, (expected));                                                \
        table = good;                                                                              \
    } while (0)
    table = good;
    table.nvariants = 0;
    REFUSED(SL_E_TABLE);
    table.variants = NULL;
    REFUSED(SL_E_TABLE);
    table.size = 8;
    REFUSED(SL_E_TABLE);
    table.abi = 0;
    REFUSED(SL_E_TABLE);
    table.name = NULL;
    REFUSED(SL_E_TABLE);
    table.weights = NULL;
    REFUSED(SL_E_TABLE);
    table.weights_bytes = 64; // less than the constants take
    REFUSED(SL_E_TABLE);
    table.weights_place = 7;
    REFUSED(SL_E_TABLE);
    table.weights_place = SL_WEIGHTS_NONE;
    REFUSED(SL_E_TABLE);
    table.weights_place = SL_WEIGHTS_BESIDE;
    table.weights_file = "../other/weights";
    REFUSED(SL_E_TABLE);
    table.weights_place = SL_WEIGHTS_BESIDE;
    table.weights_file = NULL;
    REFUSED(SL_E_TABLE);
#undef REFUSED
}

// What is missing is named; what the machine has is not.
static void test_processor(void **state)
{
    (void)state;
    SlAbiModel table = *tiny_query(SL_ABI_VERSION);
    SlAbiVariant variant = table.variants[1];
    table.variants = &variant;
    table.nvariants = 1;
    uint32_t refused = 0;
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, reg_bit, llvm)                                    \
    {                                                                                              \
        SlError error;                                                                             \
        variant.features = UINT64_C(1) << bit;                                                     \
        SlModel *model = open_table(&table, &error);                                               \
        if (!model) {                                                                              \
            assert_int_equal(error.status, SL_E_CPU);                                              \
            assert_string_equal(error.text,                                                        \
                                "'tiny' is compiled for any, this processor lacks " #id);          \
            refused++;                                                                             \
        }                                                                                          \
        assert_int_equal(sl_model_close(model), SL_OK);                                            \
    }
#define ISA(id, name, cpu, arch, vector_bytes, nregs, features)
#include "runtime/isa.def"
    if (refused == 0)
        skip(); // a machine that has all of them
}

// One entry with one thing changed.
static SlStatus open_entry(const SlAbiEntry *entry, SlError *error)
{
    SlAbiModel table = *tiny_query(SL_ABI_VERSION);
    SlAbiVariant variant = table.variants[1];
    variant.entries = entry;
    variant.nentries = 1;
    table.variants = &variant;
    table.nvariants = 1;
    SlModel *model = open_table(&table, error);
    if (model)
        assert_int_equal(sl_model_close(model), SL_OK);
    return error->status;
}

// Everything that is an expression, replaced by one that is not well formed.
static void test_expressions(void **state)
{
    (void)state;
    const SlAbiEntry good = tiny_query(SL_ABI_VERSION)->variants[1].entries[TINY_BAG];
    SlAbiEntry entry = good;
    SlError error;
    assert_int_equal(open_entry(&entry, &error), SL_OK);

    SlAbiInst deep[40];
    for (size_t i = 0; i < 40; i++)
        deep[i] = (SlAbiInst){.op = SL_X_CONST};
    static const SlAbiInst missing[] = {{.op = SL_X_CONST}, {.op = SL_X_ADD}};
    static const SlAbiInst unknown[] = {{.op = SL_X_CONST}, {.op = 99}};
    static const SlAbiInst no_symbol[] = {{.op = SL_X_SYMBOL, .value = 1}};
    static const SlAbiInst negative[] = {{.op = SL_X_SYMBOL, .value = -1}};
    const SlAbiExpr bad[] = {{NULL, 0}, {NULL, 1},      {missing, 2},  {unknown, 2},
                             {deep, 2}, {no_symbol, 1}, {negative, 1}, {deep, 40}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        entry.arena_bytes = bad[i];
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        assert_non_null(strstr(error.text, "memory"));
        entry = good;
        entry.scratch_bytes = bad[i];
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        entry = good;

        SlAbiIo input = good.inputs[0];
        SlAbiExpr shape[2] = {input.shape[0], bad[i]};
        input.shape = shape;
        entry.inputs = &input;
        entry.ninputs = 1;
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        assert_non_null(strstr(error.text, "inputs"));
        input = good.inputs[0];
        input.slot = bad[i];
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        entry = good;

        SlAbiStep step = good.steps[0];
        step.parts = bad[i];
        entry.steps = &step;
        entry.nsteps = 1;
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        assert_non_null(strstr(error.text, "steps"));
        SlAbiOperand operand = good.steps[0].operands[0];
        operand.offset = bad[i];
        step = good.steps[0];
        step.operands = &operand;
        step.noperands = 1;
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        entry = good;

        SlAbiCheck check = good.checks[0];
        check.right = bad[i];
        entry.checks = &check;
        assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
        assert_non_null(strstr(error.text, "checks"));
        entry = good;
    }
}

static void test_entries(void **state)
{
    (void)state;
    const SlAbiEntry good = tiny_query(SL_ABI_VERSION)->variants[1].entries[TINY_BAG];
    SlAbiEntry entry = good;
    SlError error;
    SlAbiOperand operand = good.steps[0].operands[0];
    SlAbiStep step = good.steps[0];
    step.operands = &operand;
    step.noperands = 1;
    entry.steps = &step;
    entry.nsteps = 1;
    assert_int_equal(open_entry(&entry, &error), SL_OK);
    operand.index = 3; // inputs are 0 to 2
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    operand.kind = SL_OPERAND_OUTPUT;
    operand.index = 2;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    operand.kind = SL_OPERAND_STATE;
    operand.index = 0;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    step.kernel = NULL;
    step.noperands = 0;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    entry = good;
    SlAbiInst bytes = {.op = SL_X_CONST};
    entry.state_bytes = (SlAbiExpr){&bytes, 1};
    assert_int_equal(open_entry(&entry, &error), SL_OK);
    bytes.value = 8;
    assert_int_equal(open_entry(&entry, &error), SL_E_UNSUPPORTED);
    entry = good;

    SlAbiIo input = good.inputs[0];
    entry.inputs = &input;
    entry.ninputs = 1;
    input.flags &= ~SL_IO_SLOT; // an i32 input has to have one
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    input = good.inputs[0];
    input.dtype = 3;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    input = good.inputs[0];
    input.rank = SL_MAX_RANK + 1;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    input = good.inputs[0];
    input.flags |= SL_IO_DEFAULT;
    input.fill = 1e10;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
    input = good.inputs[0];
    input.name = NULL;
    assert_int_equal(open_entry(&entry, &error), SL_E_TABLE);
}

// Two models in one process, loaded in both orders, each answers as itself.
static void test_two_models(void **state)
{
    (void)state;
    const char *tiny = in_folder("one.so");
    const char *twin = in_folder("two.so");
    write_tiny(tiny);
    Bytes image = read_bytes(ABI_MODELS "/model_twin.so");
    write_bytes(twin, image.at, image.n);
    free(image.at);
    write_weights(in_folder("twin.weights"));
    for (int order = 0; order < 2; order++) {
        SlModel *first = assert_opens(order ? twin : tiny, NULL);
        SlModel *second = assert_opens(order ? tiny : twin, NULL);
        SlModel *linked = open_linked();
        assert_runs(order ? second : first, 1);
        assert_runs(order ? first : second, 2);
        assert_runs(linked, 1);
        assert_int_equal(sl_model_close(first), SL_OK);
        assert_runs(second, order ? 1 : 2);
        assert_int_equal(sl_model_close(second), SL_OK);
        assert_int_equal(sl_model_close(linked), SL_OK);
    }
    // A host that has made one's symbols global.
    void *global = dlopen(tiny, RTLD_NOW | RTLD_GLOBAL);
    assert_non_null(global);
    SlModel *model = assert_opens(twin, NULL);
    assert_runs(model, 2);
    assert_int_equal(sl_model_close(model), SL_OK);
    dlclose(global);
}

// A model replaced by rename while it is open goes on as it was.
static void test_replaced(void **state)
{
    (void)state;
    const char *path = in_folder("replaced.so");
    write_tiny(path);
    SlModel *old = assert_opens(path, NULL);
    write_tiny(in_folder("next.so"));
    assert_int_equal(rename(in_folder("next.so"), path), 0);
    SlModel *new = assert_opens(path, NULL);
    assert_runs(old, 1);
    assert_runs(new, 1);
    assert_int_equal(sl_model_close(old), SL_OK);
    assert_runs(new, 1);

    // By another model: its path is all that it shares with the open one.
    Bytes image = read_bytes(ABI_MODELS "/model_twin.so");
    write_bytes(in_folder("next.so"), image.at, image.n);
    free(image.at);
    write_weights(in_folder("twin.weights"));
    assert_int_equal(rename(in_folder("next.so"), path), 0);
    SlModel *twin = assert_opens(path, NULL);
    SlModel *again = assert_opens(path, NULL);
    assert_runs(new, 1);
    assert_runs(twin, 2);
    assert_int_equal(sl_model_close(new), SL_OK);
    assert_int_equal(sl_model_close(twin), SL_OK);
    assert_runs(again, 2);
    assert_int_equal(sl_model_close(again), SL_OK);
}

// The runtime itself loaded, used and unloaded: its threads are gone by then.
static void test_shared_runtime(void **state)
{
    (void)state;
    write_tiny(in_folder("tiny.so"));
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(ABI_SHARED_RUNTIME, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail_msg("%s", dlerror());
        SlStatus (*open_model)(const char *, const SlOpenOptions *, SlModel **, SlError *);
        SlStatus (*open_context)(SlModel *, const SlContextOptions *, SlContext **, SlError *);
        SlStatus (*run)(SlContext *, uint32_t, const SlTensor *, uint32_t, const SlTensor *,
                        uint32_t, SlError *);
        SlStatus (*close_context)(SlContext *);
        SlStatus (*close_model)(SlModel *);
        const struct {
            const char *name;
            void *function;
        } wanted[] = {{"sl_model_open", &open_model},
                      {"sl_context_open", &open_context},
                      {"sl_run", &run},
                      {"sl_context_close", &close_context},
                      {"sl_model_close", &close_model}};
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            void *symbol = dlsym(library, wanted[i].name);
            assert_non_null(symbol);
            memcpy(wanted[i].function, &symbol, sizeof symbol);
        }
        static Bag bag;
        SlModel *model;
        SlContext *context;
        const SlContextOptions options = {.threads = 3};
        assert_int_equal(open_model(in_folder("tiny.so"), NULL, &model, NULL), SL_OK);
        assert_int_equal(open_context(model, &options, &context, NULL), SL_OK);
        bag_make(&bag, 9, 1, 1);
        assert_int_equal(run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, NULL), SL_OK);
        assert_true(bag_is_right(&bag));
        assert_int_equal(close_context(context), SL_OK);
        assert_int_equal(close_model(model), SL_OK);
        assert_int_equal(dlclose(library), 0);
        // Its fork handler is gone too.
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        int exit_status;
        assert_int_equal(waitpid(child, &exit_status, 0), child);
        assert_int_equal(exit_status, 0);
    }
}

static int clean_up(void **state)
{
    (void)state;
    remove_work_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appended),     cmocka_unit_test(test_slack),
        cmocka_unit_test(test_beside),       cmocka_unit_test(test_relative),
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_footer),
        cmocka_unit_test(test_flipped),      cmocka_unit_test(test_not_models),
        cmocka_unit_test(test_wild_headers), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_linked),       cmocka_unit_test(test_tables),
        cmocka_unit_test(test_processor),    cmocka_unit_test(test_entries),
        cmocka_unit_test(test_expressions),  cmocka_unit_test(test_two_models),
        cmocka_unit_test(test_replaced),     cmocka_unit_test(test_shared_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
