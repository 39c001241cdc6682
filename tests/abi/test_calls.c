// Describing a model, and every wrong call: its own status, a text that names the tensor, what was
// expected and what was given, and outputs that nobody touched.
#include "runtime/sluice.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static SlModel *model;
static SlContext *context;
static Bag bag; // good; tests spoil it

static int open_all(void **state)
{
    (void)state;
    const SlContextOptions options = {.threads = 2};
    model = open_linked();
    return (int)sl_context_open(model, &options, &context, NULL);
}

static int close_all(void **state)
{
    (void)state;
    return sl_context_close(context) != SL_OK || sl_model_close(model) != SL_OK;
}

static int make_bag(void **state)
{
    (void)state;
    bag_make(&bag, 8, 5, 1);
    return 0;
}

static void assert_text(const SlError *error, const char *word)
{
    if (!strstr(error->text, word))
        fail_msg("'%s' does not say '%s'", error->text, word);
}

// ---- describing -------------------------------------------------------------------------------

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(sl_model_text(model, SL_TEXT_NAME), "tiny");
    assert_string_equal(sl_model_text(model, SL_TEXT_TARGET), "any");
    assert_string_equal(sl_model_text(model, SL_TEXT_COMPILER), "by hand");
    assert_string_equal(sl_model_text(model, SL_TEXT_SPEC), "model tiny");
    assert_string_equal(sl_model_text(model, SL_TEXT_FLAGS), "");
    assert_string_equal(sl_model_text(model, SL_TEXT_GRAPH), "graph text");
    assert_string_equal(sl_model_text(model, SL_TEXT_PREPARE), "prepare text");
    assert_string_equal(sl_model_text(model, SL_TEXT_NOTES), "made by hand\n");
    assert_null(sl_model_text(model, (SlText)8));
    assert_null(sl_model_text(model, (SlText)-1));
    assert_null(sl_model_text(NULL, SL_TEXT_NAME));
    assert_ptr_equal(sl_model_table(model), tiny_query(SL_ABI_VERSION));
    assert_null(sl_model_table(NULL));
    assert_string_equal(sl_version(), "0.1.0");
}

// Every status has its own words, and no other number has.
static void test_status_texts(void **state)
{
    (void)state;
    const int known[] = {0,  10, 11, 12, 20, 21, 22, 23, 24, 30, 31, 32, 40, 41, 42, 43, 44,
                         45, 46, 47, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 70};
    const size_t n = sizeof known / sizeof known[0];
    size_t found = 0;
    for (int i = -2; i < 200; i++) {
        const char *text = sl_status_text((SlStatus)i);
        bool is_known = found < n && known[found] == i;
        assert_int_equal(strcmp(text, "unknown status") != 0, is_known);
        found += is_known;
        for (int k = 0; k < i && is_known; k++)
            assert_string_not_equal(text, sl_status_text((SlStatus)k));
    }
    assert_int_equal(found, n);
}

static void test_entries(void **state)
{
    (void)state;
    SlEntryInfo info;
    SlError error;
    assert_int_equal(sl_entry_count(model), TINY_ENTRIES);
    assert_int_equal(sl_entry_count(NULL), 0);
    assert_int_equal(sl_entry_info(model, TINY_BAG, &info, &error), SL_OK);
    assert_string_equal(info.name, "bag");
    assert_int_equal(info.ninputs, 3);
    assert_int_equal(info.noutputs, 2);
    assert_int_equal(info.nsymbols, 1);
    assert_int_equal(info.nchecks, 1);
    assert_int_equal(info.nsteps, 3);
    assert_int_equal(sl_entry_info(model, TINY_ENTRIES, &info, &error), SL_E_INDEX);
    assert_text(&error, "'tiny' has no entry 3, it has 3");
    assert_int_equal(sl_entry_info(model, UINT32_MAX, &info, &error), SL_E_INDEX);
    assert_int_equal(sl_entry_info(NULL, 0, &info, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_entry_info(model, 0, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_find_entry(model, "pair"), TINY_PAIR);
    assert_int_equal(sl_find_entry(model, "pai"), -1);
    assert_int_equal(sl_find_entry(model, NULL), -1);
    assert_int_equal(sl_find_entry(NULL, "pair"), -1);
    assert_string_equal(sl_check_text(model, TINY_BAG, 0), "bag: at most 128 positions");
    assert_null(sl_check_text(model, TINY_BAG, 1));
    assert_null(sl_check_text(model, TINY_PAIR, 0));
    assert_null(sl_check_text(model, TINY_ENTRIES, 0));
}

static void test_tensors(void **state)
{
    (void)state;
    SlTensorInfo info;
    SlSymbolInfo symbol;
    SlError error;
    assert_int_equal(sl_input_info(model, TINY_BAG, 0, &info, &error), SL_OK);
    assert_string_equal(info.name, "ids");
    assert_int_equal(info.dtype, SL_I32);
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.flags, SL_HAS_RANGE);
    assert_int_equal(info.low, 0);
    assert_int_equal(info.high, TINY_WORDS);
    assert_true(info.shape[0] == -1 && info.shape[1] == TINY_LENGTH);
    assert_string_equal(info.shape_text, "[batch, 4]");
    assert_int_equal(sl_input_info(model, TINY_BAG, 2, &info, &error), SL_OK);
    assert_int_equal(info.dtype, SL_BOOL);
    assert_int_equal(info.flags, SL_HAS_DEFAULT);
    assert_true(info.fill == 1);
    assert_int_equal(sl_output_info(model, TINY_PAIR, 0, &info, &error), SL_OK);
    assert_string_equal(info.name, "half");
    assert_string_equal(info.shape_text, "[rows, cols/2 + 1]");
    assert_true(info.shape[0] == -1 && info.shape[1] == -1);
    assert_int_equal(info.flags, 0);
    assert_int_equal(sl_output_info(model, TINY_PAIR, 2, &info, &error), SL_E_INDEX);
    assert_text(&error, "entry 'pair' has no output 2, it has 2");
    assert_int_equal(sl_input_info(model, TINY_PAIR, 4, &info, &error), SL_E_INDEX);
    assert_int_equal(sl_input_info(model, TINY_PAIR, 0, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_find_input(model, TINY_BAG, "mask"), 2);
    assert_int_equal(sl_find_input(model, TINY_BAG, "sum"), -1);
    assert_int_equal(sl_find_input(model, TINY_ENTRIES, "mask"), -1);
    assert_int_equal(sl_find_input(model, TINY_BAG, NULL), -1);
    assert_int_equal(sl_find_output(model, TINY_BAG, "total"), 1);
    assert_int_equal(sl_find_output(model, TINY_BAG, ""), -1);

    assert_int_equal(sl_symbol_info(model, TINY_PAIR, 1, &symbol, &error), SL_OK);
    assert_string_equal(symbol.name, "cols");
    assert_true(symbol.low == 4 && symbol.high == 1024);
    assert_int_equal(sl_symbol_info(model, TINY_PAIR, 2, &symbol, &error), SL_E_INDEX);
    assert_int_equal(sl_symbol_info(model, TINY_PAIR, 0, NULL, &error), SL_E_ARGUMENT);
}

static void test_weights(void **state)
{
    (void)state;
    SlWeightInfo info;
    SlError error;
    assert_int_equal(sl_weight_count(model), 2);
    assert_int_equal(sl_weight_count(NULL), 0);
    assert_int_equal(sl_weight_info(model, 0, &info, &error), SL_OK);
    assert_string_equal(info.name, "table");
    assert_string_equal(info.layout, "rows");
    assert_int_equal(info.dtype, SL_F32);
    assert_int_equal(info.rank, 2);
    assert_true(info.shape[0] == TINY_WORDS && info.shape[1] == TINY_WIDTH);
    assert_int_equal(info.bytes, TINY_BIAS * 4);
    assert_int_equal(sl_weight_info(model, 1, &info, &error), SL_OK);
    assert_true(((const float *)info.data)[4] == -0.75f);
    assert_int_equal(sl_weight_info(model, 2, &info, &error), SL_E_INDEX);
    assert_int_equal(sl_weight_info(model, 0, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_weight_info(NULL, 0, &info, &error), SL_E_ARGUMENT);
}

static void test_shapes(void **state)
{
    (void)state;
    int64_t shape[SL_MAX_RANK];
    SlError error;
    const int64_t symbols[] = {3, 9};
    assert_int_equal(sl_output_shape(model, TINY_PAIR, 0, symbols, 2, shape, &error), SL_OK);
    assert_true(shape[0] == 3 && shape[1] == 5);
    assert_int_equal(sl_input_shape(model, TINY_PAIR, 0, symbols, 2, shape, &error), SL_OK);
    assert_true(shape[0] == 3 && shape[1] == 9);
    assert_int_equal(sl_input_shape(model, TINY_PAIR, 0, symbols, 1, shape, &error), SL_E_COUNT);
    assert_text(&error, "expected 2 symbols, got 1");
    assert_int_equal(sl_input_shape(model, TINY_PAIR, 0, NULL, 2, shape, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_input_shape(model, TINY_PAIR, 0, symbols, 2, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_input_shape(model, TINY_PAIR, 9, symbols, 2, shape, &error), SL_E_INDEX);
    const int64_t narrow[] = {3, 3};
    assert_int_equal(sl_output_shape(model, TINY_PAIR, 0, narrow, 2, shape, &error), SL_E_SYMBOL);
    assert_text(&error, "cols is 3, 4 to 1024 is allowed");
    const int64_t none[] = {0, 4};
    assert_int_equal(sl_output_shape(model, TINY_PAIR, 0, none, 2, shape, &error), SL_E_SYMBOL);
    assert_text(&error, "rows is 0, at least 1 is allowed");
}

static void test_symbols(void **state)
{
    (void)state;
    int64_t symbols[2] = {-7, -7};
    uint32_t entry = 99;
    SlError error;
    assert_int_equal(sl_symbols(model, TINY_BAG, bag.inputs, 3, symbols, 1, &error), SL_OK);
    assert_true(symbols[0] == 8 && symbols[1] == -7);
    assert_int_equal(sl_symbols(model, TINY_BAG, bag.inputs, 3, symbols, 2, &error), SL_E_COUNT);
    assert_int_equal(sl_symbols(model, TINY_BAG, bag.inputs, 3, NULL, 1, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_symbols(model, TINY_BAG, bag.inputs, 2, symbols, 1, &error), SL_E_COUNT);
    assert_int_equal(sl_symbols(model, TINY_ENTRIES, bag.inputs, 3, symbols, 1, &error),
                     SL_E_INDEX);

    assert_int_equal(sl_match_entry(model, bag.inputs, 3, &entry, &error), SL_OK);
    assert_int_equal(entry, TINY_BAG);
    const int64_t shape[] = {5};
    const SlTensor at = {bag.weight, sizeof bag.weight, shape, NULL, 1, SL_F32};
    assert_int_equal(sl_match_entry(model, &at, 1, &entry, &error), SL_OK);
    assert_int_equal(entry, TINY_PICK);
    assert_int_equal(sl_match_entry(model, bag.inputs, 2, &entry, &error), SL_E_SHAPE);
    assert_text(&error, "none of its 3 entries");
    assert_int_equal(entry, TINY_PICK);
    assert_int_equal(sl_match_entry(model, bag.inputs, 3, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_match_entry(NULL, bag.inputs, 3, &entry, &error), SL_E_ARGUMENT);
}

// ---- wrong runs -------------------------------------------------------------------------------

static void assert_refused(SlStatus status, const char *word)
{
    SlError error = {SL_OK, ""};
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), status);
    assert_int_equal(error.status, status);
    assert_text(&error, word);
    assert_true(bag_is_untouched(&bag));
    // Without a place for the text too; and the next good run is right.
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, NULL), status);
    bag_make(&bag, 8, 5, 1);
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag_is_right(&bag));
    bag_make(&bag, 8, 5, 1);
}

static void test_run_counts(void **state)
{
    (void)state;
    SlError error;
    assert_int_equal(sl_run(NULL, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_run(context, TINY_ENTRIES, bag.inputs, 3, bag.outputs, 2, &error),
                     SL_E_INDEX);
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 2, bag.outputs, 2, &error), SL_E_COUNT);
    assert_text(&error, "entry 'bag': expected 3 inputs, got 2");
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 4, bag.outputs, 2, &error), SL_E_COUNT);
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 1, &error), SL_E_COUNT);
    assert_text(&error, "entry 'bag': expected 2 outputs, got 1");
    assert_int_equal(sl_run(context, TINY_BAG, NULL, 3, bag.outputs, 2, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, NULL, 2, &error), SL_E_ARGUMENT);
    assert_true(bag_is_untouched(&bag));
}

static void test_run_dtype(void **state)
{
    (void)state;
    bag.inputs[0].dtype = SL_F32;
    assert_refused(SL_E_DTYPE, "input 'ids': expected i32, got f32");
    bag.inputs[2].dtype = SL_I32;
    assert_refused(SL_E_DTYPE, "input 'mask': expected bool, got i32");
    bag.outputs[0].dtype = (SlDType)17;
    assert_refused(SL_E_DTYPE, "output 'sum': expected f32, got no known type");
}

static void test_run_rank(void **state)
{
    (void)state;
    bag.inputs[1].rank = 1;
    assert_refused(SL_E_RANK, "input 'weight': expected 2 axes, [batch, 4], got 1");
    bag.outputs[1].rank = 0;
    assert_refused(SL_E_RANK, "output 'total': expected 1 axes, [1], got 0");
    bag.inputs[0].rank = UINT32_MAX;
    assert_refused(SL_E_RANK, "input 'ids'");
}

static void test_run_shape(void **state)
{
    (void)state;
    int64_t shape[] = {8, 5};
    bag.inputs[0].shape = shape;
    assert_refused(SL_E_SHAPE, "input 'ids': expected [batch, 4] where batch = 8, got [8, 5]");
    // The first input that has the symbol decides.
    shape[0] = 4;
    shape[1] = TINY_LENGTH;
    bag.inputs[2].shape = shape;
    assert_refused(SL_E_SHAPE, "input 'mask': expected [batch, 4] where batch = 8, got [4, 4]");
    shape[0] = 8;
    shape[1] = TINY_WIDTH + 1;
    bag.outputs[0].shape = shape;
    assert_refused(SL_E_SHAPE, "output 'sum': expected [batch, 8] where batch = 8, got [8, 9]");
    const int64_t odd[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        shape[0] = odd[i];
        shape[1] = TINY_LENGTH;
        bag.inputs[0].shape = shape;
        assert_refused(SL_E_SHAPE, "input 'ids': expected sizes of at least 1");
        shape[0] = 8;
        shape[1] = odd[i];
        bag.outputs[0].shape = shape;
        assert_refused(SL_E_SHAPE, "output 'sum': expected sizes of at least 1");
    }
}

static void test_run_symbol(void **state)
{
    (void)state;
    int64_t shape[] = {65, TINY_LENGTH};
    for (int i = 0; i < 3; i++)
        bag.inputs[i].shape = shape;
    assert_refused(SL_E_SYMBOL, "batch is 65, 1 to 64 is allowed");
    shape[0] = INT64_MAX;
    for (int i = 0; i < 3; i++)
        bag.inputs[i].shape = shape;
    assert_refused(SL_E_SYMBOL, "batch is 9223372036854775807, 1 to 64 is allowed");
}

static void test_run_check(void **state)
{
    (void)state;
    static float big[64 * TINY_WIDTH];
    int64_t shape[] = {33, TINY_LENGTH};
    int64_t sum_shape[] = {33, TINY_WIDTH};
    static int32_t ids[33 * TINY_LENGTH];
    bag.inputs[0] = (SlTensor){ids, sizeof ids, shape, NULL, 2, SL_I32};
    bag.inputs[1] = (SlTensor){ids, sizeof ids, shape, NULL, 2, SL_F32};
    bag.inputs[2] = (SlTensor){ids, sizeof ids, shape, NULL, 2, SL_BOOL};
    bag.outputs[0] = (SlTensor){big, sizeof big, sum_shape, NULL, 2, SL_F32};
    assert_refused(SL_E_CHECK, "bag: at most 128 positions (132 <= 128 does not hold)");
}

static void test_run_strides(void **state)
{
    (void)state;
    int64_t strides[] = {TINY_LENGTH, 1};
    SlError error;
    for (int i = 0; i < 3; i++)
        bag.inputs[i].strides = strides;
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag_is_right(&bag));
    bag_make(&bag, 8, 5, 1);
    strides[0] = 1;
    strides[1] = 8; // transposed
    bag.inputs[1].strides = strides;
    assert_refused(SL_E_STRIDE, "input 'weight': expected a contiguous tensor, got strides [1, 8]");
    strides[0] = TINY_WIDTH;
    strides[1] = -1;
    bag.outputs[0].strides = strides;
    assert_refused(SL_E_STRIDE, "output 'sum': expected a contiguous tensor, got strides [8, -1]");
    strides[0] = 0;
    strides[1] = 1;
    bag.inputs[0].strides = strides; // broadcast
    assert_refused(SL_E_STRIDE, "input 'ids'");

    // An axis of size 1 may have any stride.
    bag_make(&bag, 1, 5, 1);
    strides[0] = 77;
    strides[1] = 1;
    bag.inputs[1].strides = strides;
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag_is_right(&bag));
}

static void test_run_align(void **state)
{
    (void)state;
    for (size_t i = 1; i < 4; i++) {
        bag.inputs[0].data = (char *)bag.ids + i;
        assert_refused(SL_E_ALIGN, "input 'ids': expected an address that is a multiple of 4");
        bag.outputs[1].data = (char *)bag.total + i;
        assert_refused(SL_E_ALIGN, "output 'total'");
    }
}

static void test_run_null(void **state)
{
    (void)state;
    bag.inputs[0].data = NULL;
    assert_refused(SL_E_NULL, "input 'ids': data is NULL, and it has no default");
    bag.outputs[1].data = NULL;
    assert_refused(SL_E_NULL, "output 'total': data is NULL");
    bag.inputs[1].shape = NULL;
    assert_refused(SL_E_NULL, "input 'weight': shape is NULL");
}

static void test_run_bytes(void **state)
{
    (void)state;
    bag.inputs[0].bytes--;
    assert_refused(SL_E_BYTES, "input 'ids': expected a buffer of 128 bytes, got 127");
    bag.inputs[2].bytes = 0;
    assert_refused(SL_E_BYTES, "input 'mask': expected a buffer of 32 bytes, got 0");
    bag.outputs[0].bytes -= 4;
    assert_refused(SL_E_BYTES, "output 'sum': expected a buffer of 256 bytes, got 252");
    // Larger is fine.
    SlError error;
    bag.inputs[0].bytes = UINT64_MAX;
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    bag_make(&bag, 8, 5, 1);
}

static void test_run_overlap(void **state)
{
    (void)state;
    bag.outputs[0].data = bag.weight; // read in place
    assert_refused(SL_E_OVERLAP, "output 'sum' shares memory with input 'weight'");
    bag.outputs[1].data = bag.ids + 31; // the last id
    assert_refused(SL_E_OVERLAP, "output 'total' shares memory with input 'ids'");
    bag.outputs[1].data = bag.sum + 63;
    assert_refused(SL_E_OVERLAP, "output 'total' shares memory with output 'sum'");
    // Side by side is fine.
    SlError error;
    bag.outputs[1].data = bag.sum + 64;
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag.sum[64] == bag.expected_total);
}

static void test_run_range(void **state)
{
    (void)state;
    bag.ids[31] = TINY_WORDS;
    assert_refused(SL_E_RANGE, "input 'ids': element 31 is 6, 0 to 5 is allowed");
    bag.ids[0] = -1;
    assert_refused(SL_E_RANGE, "input 'ids': element 0 is -1, 0 to 5 is allowed");
    bag.ids[7] = INT32_MIN;
    assert_refused(SL_E_RANGE, "input 'ids': element 7 is -2147483648");
    bag.ids[7] = INT32_MAX;
    assert_refused(SL_E_RANGE, "input 'ids': element 7 is 2147483647");
}

// ---- sizes that are too large -----------------------------------------------------------------

static void test_overflow(void **state)
{
    (void)state;
    SlError error;
    uint64_t bytes;
    int64_t symbols[] = {INT64_MAX / 4 + 1, 4}; // 4 · rows overflows
    assert_int_equal(sl_bind(context, TINY_PAIR, symbols, 2, &error), SL_E_OVERFLOW);
    assert_text(&error, "entry 'pair'");
    assert_int_equal(sl_arena_bytes(context, TINY_PAIR, symbols, 2, &bytes, &error), SL_E_OVERFLOW);
    symbols[0] = INT64_MAX / 4 - 64; // that fits, no machine has it
    assert_int_equal(sl_bind(context, TINY_PAIR, symbols, 2, &error), SL_E_OVERFLOW);
    symbols[0] = INT64_MAX / 64; // and so does this
    assert_int_equal(sl_arena_bytes(context, TINY_PAIR, symbols, 2, &bytes, &error), SL_OK);
    assert_true(bytes > INT64_MAX / 16);

    // A buffer cannot be that large either, whatever is said of it.
    int64_t a_shape[] = {INT64_MAX / 64, 64};
    int64_t b_shape[] = {64};
    float numbers[64] = {0};
    const SlTensor inputs[] = {{numbers, UINT64_MAX, a_shape, NULL, 2, SL_F32},
                               {numbers, sizeof numbers, b_shape, NULL, 1, SL_F32},
                               {0},
                               {0}};
    const SlTensor outputs[2] = {{numbers, UINT64_MAX, a_shape, NULL, 2, SL_F32},
                                 {numbers, UINT64_MAX, a_shape, NULL, 1, SL_BOOL}};
    assert_int_not_equal(sl_run(context, TINY_PAIR, inputs, 4, outputs, 2, &error), SL_OK);
    // The context still works.
    assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
    assert_true(bag_is_right(&bag));
}

// A symbol that no given input determines.
static void test_undetermined(void **state)
{
    (void)state;
    SlAbiModel table = *tiny_query(SL_ABI_VERSION);
    SlAbiVariant variant = table.variants[1];
    SlAbiEntry entry = variant.entries[TINY_PAIR];
    entry.inputs = &entry.inputs[2]; // c and d, both with a default
    entry.ninputs = 2;
    entry.nsteps = 0;
    variant.entries = &entry;
    variant.nentries = 1;
    table.variants = &variant;
    table.nvariants = 1;
    SlError error;
    SlModel *odd = open_table(&table, &error);
    assert_non_null(odd);
    int64_t symbols[2];
    const SlTensor none[2] = {{0}, {0}};
    assert_int_equal(sl_symbols(odd, 0, none, 2, symbols, 2, &error), SL_E_SYMBOL);
    assert_text(&error, "rows follows from no input that was given");
    // A model of one entry says what it does not like.
    uint32_t which;
    assert_int_equal(sl_match_entry(odd, none, 2, &which, &error), SL_E_SYMBOL);
    assert_int_equal(sl_model_close(odd), SL_OK);
}

// ---- contexts ---------------------------------------------------------------------------------

static void test_context_arguments(void **state)
{
    (void)state;
    SlContext *other = (SlContext *)(void *)&other;
    SlError error;
    assert_int_equal(sl_context_open(model, NULL, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_context_open(NULL, NULL, &other, &error), SL_E_ARGUMENT);
    assert_null(other);
    const int32_t bad[] = {-1, INT32_MIN, SL_MAX_THREADS + 1, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const SlContextOptions options = {.threads = bad[i]};
        assert_int_equal(sl_context_open(model, &options, &other, &error), SL_E_OPTION);
        assert_text(&error, "threads is ");
    }
    const SlContextOptions no_arena = {.arena_bytes = 4096};
    assert_int_equal(sl_context_open(model, &no_arena, &other, &error), SL_E_OPTION);
    assert_int_equal(sl_context_close(NULL), SL_OK);
    assert_int_equal(sl_thread_count(context), 2);
    assert_int_equal(sl_thread_count(NULL), 0);
    assert_int_equal(sl_trim(NULL), SL_OK);
    assert_int_equal(sl_bind(NULL, 0, NULL, 0, &error), SL_E_ARGUMENT);
    uint64_t bytes;
    assert_int_equal(sl_arena_bytes(NULL, 0, NULL, 0, &bytes, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_arena_bytes(context, 0, NULL, 1, NULL, &error), SL_E_ARGUMENT);
    assert_int_equal(sl_arena_bytes(context, 0, NULL, 1, &bytes, &error), SL_E_ARGUMENT);
}

// The variable stands between the option and the machine.
static void test_threads_variable(void **state)
{
    (void)state;
    SlContext *other;
    SlError error;
    const char *const bad[] = {"", "0", "-1", "abc", "2x", " 2", "1025", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("SLUICE_THREADS", bad[i], 1);
        assert_int_equal(sl_context_open(model, NULL, &other, &error), SL_E_OPTION);
        assert_text(&error, "SLUICE_THREADS");
    }
    setenv("SLUICE_THREADS", "3", 1);
    assert_int_equal(sl_context_open(model, NULL, &other, &error), SL_OK);
    assert_int_equal(sl_thread_count(other), 3);
    assert_int_equal(sl_context_close(other), SL_OK);
    const SlContextOptions two = {.threads = 2};
    assert_int_equal(sl_context_open(model, &two, &other, &error), SL_OK);
    assert_int_equal(sl_thread_count(other), 2);
    assert_int_equal(sl_context_close(other), SL_OK);
    unsetenv("SLUICE_THREADS");
    setenv("OMP_NUM_THREADS", "7", 1); // another library's
    assert_int_equal(sl_context_open(model, NULL, &other, &error), SL_OK);
    uint32_t n = sl_thread_count(other);
    assert_true(n >= 1 && n <= SL_MAX_THREADS);
    assert_int_equal(sl_context_close(other), SL_OK);
    unsetenv("OMP_NUM_THREADS");
}

// A model is closed after its contexts.
static void test_close_order(void **state)
{
    (void)state;
    SlModel *other = open_linked();
    SlContext *first;
    SlContext *second;
    assert_int_equal(sl_context_open(other, NULL, &first, NULL), SL_OK);
    assert_int_equal(sl_context_open(other, NULL, &second, NULL), SL_OK);
    assert_int_equal(sl_model_close(other), SL_E_BUSY);
    assert_int_equal(sl_context_close(first), SL_OK);
    assert_int_equal(sl_model_close(other), SL_E_BUSY);
    assert_int_equal(sl_run(second, TINY_BAG, bag.inputs, 3, bag.outputs, 2, NULL), SL_OK);
    assert_int_equal(sl_context_close(second), SL_OK);
    assert_int_equal(sl_model_close(other), SL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_status_texts),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test_setup(test_symbols, make_bag),
        cmocka_unit_test_setup(test_run_counts, make_bag),
        cmocka_unit_test_setup(test_run_dtype, make_bag),
        cmocka_unit_test_setup(test_run_rank, make_bag),
        cmocka_unit_test_setup(test_run_shape, make_bag),
        cmocka_unit_test_setup(test_run_symbol, make_bag),
        cmocka_unit_test_setup(test_run_check, make_bag),
        cmocka_unit_test_setup(test_run_strides, make_bag),
        cmocka_unit_test_setup(test_run_align, make_bag),
        cmocka_unit_test_setup(test_run_null, make_bag),
        cmocka_unit_test_setup(test_run_bytes, make_bag),
        cmocka_unit_test_setup(test_run_overlap, make_bag),
        cmocka_unit_test_setup(test_run_range, make_bag),
        cmocka_unit_test_setup(test_overflow, make_bag),
        cmocka_unit_test(test_undetermined),
        cmocka_unit_test(test_context_arguments),
        cmocka_unit_test(test_threads_variable),
        cmocka_unit_test_setup(test_close_order, make_bag),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
