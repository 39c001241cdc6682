// The table's layout, pinned byte for byte: a model built by one version of the compiler is read by
// every later runtime. A number that has to change here means a new SL_ABI_VERSION, unless a field
// was added at a struct's end.
#include "runtime/abi.h"

#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SIZE(type, bytes)       _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

SIZE(SlAbiInst, 16);
AT(SlAbiInst, op, 0);
AT(SlAbiInst, value, 8);

SIZE(SlAbiExpr, 16);
AT(SlAbiExpr, code, 0);
AT(SlAbiExpr, n, 8);

SIZE(SlAbiSymbol, 32);
AT(SlAbiSymbol, size, 0);
AT(SlAbiSymbol, name, 8);
AT(SlAbiSymbol, low, 16);
AT(SlAbiSymbol, high, 24);

SIZE(SlAbiCheck, 48);
AT(SlAbiCheck, size, 0);
AT(SlAbiCheck, op, 4);
AT(SlAbiCheck, left, 8);
AT(SlAbiCheck, right, 24);
AT(SlAbiCheck, text, 40);

SIZE(SlAbiIo, 72);
AT(SlAbiIo, size, 0);
AT(SlAbiIo, dtype, 4);
AT(SlAbiIo, rank, 8);
AT(SlAbiIo, flags, 12);
AT(SlAbiIo, name, 16);
AT(SlAbiIo, shape, 24);
AT(SlAbiIo, low, 32);
AT(SlAbiIo, high, 40);
AT(SlAbiIo, fill, 48);
AT(SlAbiIo, slot, 56);

SIZE(SlAbiOperand, 32);
AT(SlAbiOperand, size, 0);
AT(SlAbiOperand, kind, 4);
AT(SlAbiOperand, index, 8);
AT(SlAbiOperand, offset, 16);

SIZE(SlFrame, 32);
AT(SlFrame, symbols, 0);
AT(SlFrame, operands, 8);
AT(SlFrame, scratch, 16);
AT(SlFrame, fault, 24);

SIZE(SlAbiStep, 48);
AT(SlAbiStep, size, 0);
AT(SlAbiStep, noperands, 4);
AT(SlAbiStep, name, 8);
AT(SlAbiStep, kernel, 16);
AT(SlAbiStep, operands, 24);
AT(SlAbiStep, parts, 32);

SIZE(SlAbiEntry, 120);
AT(SlAbiEntry, size, 0);
AT(SlAbiEntry, nsymbols, 4);
AT(SlAbiEntry, nchecks, 8);
AT(SlAbiEntry, ninputs, 12);
AT(SlAbiEntry, noutputs, 16);
AT(SlAbiEntry, nsteps, 20);
AT(SlAbiEntry, name, 24);
AT(SlAbiEntry, symbols, 32);
AT(SlAbiEntry, checks, 40);
AT(SlAbiEntry, inputs, 48);
AT(SlAbiEntry, outputs, 56);
AT(SlAbiEntry, steps, 64);
AT(SlAbiEntry, arena_bytes, 72);
AT(SlAbiEntry, scratch_bytes, 88);
AT(SlAbiEntry, state_bytes, 104);

SIZE(SlAbiVariant, 32);
AT(SlAbiVariant, size, 0);
AT(SlAbiVariant, nentries, 4);
AT(SlAbiVariant, features, 8);
AT(SlAbiVariant, target, 16);
AT(SlAbiVariant, entries, 24);

SIZE(SlAbiWeight, 64);
AT(SlAbiWeight, size, 0);
AT(SlAbiWeight, dtype, 4);
AT(SlAbiWeight, rank, 8);
AT(SlAbiWeight, name, 16);
AT(SlAbiWeight, shape, 24);
AT(SlAbiWeight, layout, 32);
AT(SlAbiWeight, offset, 40);
AT(SlAbiWeight, bytes, 48);
AT(SlAbiWeight, hash, 56);

SIZE(SlAbiModel, 120);
AT(SlAbiModel, size, 0);
AT(SlAbiModel, abi, 4);
AT(SlAbiModel, name, 8);
AT(SlAbiModel, nvariants, 16);
AT(SlAbiModel, nweights, 20);
AT(SlAbiModel, variants, 24);
AT(SlAbiModel, weights, 32);
AT(SlAbiModel, weights_place, 40);
AT(SlAbiModel, weights_file, 48);
AT(SlAbiModel, weights_bytes, 56);
AT(SlAbiModel, weights_hash, 64);
AT(SlAbiModel, compiler, 72);
AT(SlAbiModel, spec, 80);
AT(SlAbiModel, flags, 88);
AT(SlAbiModel, graph, 96);
AT(SlAbiModel, prepare, 104);
AT(SlAbiModel, notes, 112);

SIZE(SlAbiFooter, 48);
AT(SlAbiFooter, offset, 0);
AT(SlAbiFooter, bytes, 8);
AT(SlAbiFooter, hash, 16);
AT(SlAbiFooter, magic, 40);

_Static_assert(SL_ABI_VERSION == 1 && SL_ABI_ALIGN == 64 && SL_ABI_SLACK == 64, "constants");
_Static_assert(SL_ABI_F32 == 0 && SL_ABI_I32 == 1 && SL_ABI_BOOL == 2, "element types");
_Static_assert(SL_X_CONST == 0 && SL_X_SYMBOL == 1 && SL_X_ADD == 2 && SL_X_MUL == 3 &&
                   SL_X_DIV == 4,
               "operators");
_Static_assert(SL_CHECK_EQ == 0 && SL_CHECK_LE == 1 && SL_CHECK_LT == 2 && SL_CHECK_NE == 3,
               "checks");
_Static_assert(SL_IO_RANGE == 1 && SL_IO_DEFAULT == 2 && SL_IO_SLOT == 4, "flags of inputs");
_Static_assert(SL_OPERAND_INPUT == 0 && SL_OPERAND_OUTPUT == 1 && SL_OPERAND_ARENA == 2 &&
                   SL_OPERAND_WEIGHTS == 3 && SL_OPERAND_STATE == 4,
               "operands");
_Static_assert(SL_WEIGHTS_NONE == 0 && SL_WEIGHTS_APPENDED == 1 && SL_WEIGHTS_BESIDE == 2,
               "places");
_Static_assert(SL_FAULT_INDEX == 1, "faults");

// The public numbers that programs were compiled with.
_Static_assert(SL_OK == 0 && SL_E_MEMORY == 10 && SL_E_FILE == 11 && SL_E_THREAD == 12, "system");
_Static_assert(SL_E_NOT_MODEL == 20 && SL_E_VERSION == 21 && SL_E_CPU == 22 && SL_E_TABLE == 23 &&
                   SL_E_TRUNCATED == 24 && SL_E_WEIGHTS_MISSING == 30 &&
                   SL_E_WEIGHTS_FOREIGN == 31 && SL_E_WEIGHTS_FLIPPED == 32,
               "opening");
_Static_assert(SL_E_ARGUMENT == 40 && SL_E_OPTION == 41 && SL_E_INDEX == 42 && SL_E_BUSY == 43 &&
                   SL_E_ARENA == 44 && SL_E_OVERFLOW == 45 && SL_E_HOOK == 46 &&
                   SL_E_UNSUPPORTED == 47,
               "calls");
_Static_assert(SL_E_COUNT == 50 && SL_E_DTYPE == 51 && SL_E_RANK == 52 && SL_E_SHAPE == 53 &&
                   SL_E_STRIDE == 54 && SL_E_ALIGN == 55 && SL_E_NULL == 56 && SL_E_BYTES == 57 &&
                   SL_E_OVERLAP == 58 && SL_E_SYMBOL == 59 && SL_E_CHECK == 60 && SL_E_RANGE == 61,
               "tensors");
_Static_assert(SL_E_FAULT == 70, "while running");
_Static_assert((int)SL_F32 == SL_ABI_F32 && (int)SL_I32 == SL_ABI_I32 &&
                   (int)SL_BOOL == SL_ABI_BOOL,
               "element types are the table's");

// The table that is written by hand runs.
static void test_runs(void **state)
{
    (void)state;
    SlModel *model = open_linked();
    SlContext *context;
    SlError error;
    static Bag bag;
    const SlContextOptions options = {.threads = 2};
    assert_int_equal(sl_context_open(model, &options, &context, &error), SL_OK);
    for (uint32_t batch = 1; batch <= BAG_MOST; batch++) {
        bag_make(&bag, batch, batch, 1);
        assert_int_equal(sl_run(context, TINY_BAG, bag.inputs, 3, bag.outputs, 2, &error), SL_OK);
        assert_true(bag_is_right(&bag));
    }
    assert_int_equal(sl_context_close(context), SL_OK);
    assert_int_equal(sl_model_close(model), SL_OK);
}

// A table of a later compiler, with longer structs, is read by stepping over what is not known.
static void test_longer_structs(void **state)
{
    (void)state;
    struct LongEntry {
        SlAbiEntry known;
        uint64_t news[3];
    } entries[TINY_ENTRIES];
    struct LongVariant {
        SlAbiVariant known;
        uint64_t news;
    } variants[2];
    SlAbiModel table = *tiny_query(SL_ABI_VERSION);
    for (size_t i = 0; i < TINY_ENTRIES; i++) {
        memset(&entries[i], 0xa5, sizeof entries[i]);
        entries[i].known = table.variants[1].entries[i];
        entries[i].known.size = sizeof entries[i];
    }
    for (size_t i = 0; i < 2; i++) {
        memset(&variants[i], 0xa5, sizeof variants[i]);
        variants[i].known = table.variants[i];
        variants[i].known.size = sizeof variants[i];
        variants[i].known.entries = &entries[0].known;
    }
    table.variants = &variants[0].known;
    SlError error;
    SlModel *model = open_table(&table, &error);
    assert_non_null(model);
    assert_int_equal(sl_find_entry(model, "bag"), TINY_BAG);
    assert_int_equal(sl_find_entry(model, "pair"), TINY_PAIR);
    assert_int_equal(sl_find_entry(model, "pick"), TINY_PICK);
    assert_string_equal(sl_model_text(model, SL_TEXT_TARGET), "any");
    assert_int_equal(sl_model_close(model), SL_OK);
}

// A table from before there were notes: it ends where they stand now.
static void test_short_table(void **state)
{
    (void)state;
    SlAbiModel table = *tiny_query(SL_ABI_VERSION);
    table.size = offsetof(SlAbiModel, notes);
    memset(&table.notes, 0xa5, sizeof table.notes);
    SlError error;
    SlModel *model = open_table(&table, &error);
    assert_non_null(model);
    assert_string_equal(sl_model_text(model, SL_TEXT_PREPARE), "prepare text");
    assert_string_equal(sl_model_text(model, SL_TEXT_NOTES), "");
    assert_int_equal(sl_model_close(model), SL_OK);
    table.size = offsetof(SlAbiModel, notes) - 8;
    assert_null(open_table(&table, &error));
    assert_int_equal(error.status, SL_E_TABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_longer_structs),
        cmocka_unit_test(test_short_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
