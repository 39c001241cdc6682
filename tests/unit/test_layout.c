// Layout literals: what each means, and the column of each fault.
#include "front/layout.h"

#include "front_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const Layout *read(FrontText *t, const char *text)
{
    const Source *source = front_text_source(t, text);
    return layout_parse(t->arena, t->dx, (Place){source, 0, (uint32_t)source->text.len});
}

static void check_sizes(const Layout *layout, const int64_t sizes[LAYOUT_ntags])
{
    for (size_t i = 0; i < LAYOUT_ntags; i++)
        assert_int_equal(layout->sizes[i], sizes[i]);
}

static void test_groups(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const Layout *layout = read(&t, "B6-3x2-10x12H768");
    assert_non_null(layout);
    assert_int_equal(layout->family, 'B');
    assert_int_equal(layout->ngroups, 3);
    const LayoutGroup expected[] = {{6, 1}, {3, 2}, {10, 12}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(layout->groups[i].layers, expected[i].layers);
        assert_int_equal(layout->groups[i].repeats, expected[i].repeats);
    }
    front_text_close(&t);
}

static void test_sizes(void **state)
{
    (void)state;
    // H, F, A, E, D, T, S
    static const struct {
        const char *text;
        int64_t sizes[LAYOUT_ntags];
    } cases[] = {
        {"B6-6-6H768", {768, 3072, 12, 64, 0, 0, 0}},
        {"B4-4-4H768D2", {768, 3072, 12, 64, 2, 0, 0}},
        {"M8H512S256F2048", {512, 2048, 8, 64, 0, 0, 256}},
        {"G36H512F3072T64", {512, 3072, 8, 64, 0, 64, 0}},
        {"L2H8A2", {8, 32, 2, 4, 0, 0, 0}},
        {"L2H8A2E6", {8, 32, 2, 6, 0, 0, 0}},
        {"L2H8E2", {8, 32, 4, 2, 0, 0, 0}},
        {"L2H54A4", {54, 216, 4, 0, 0, 0, 0}}, // no whole head width
        {"L2H8", {8, 32, 0, 0, 0, 0, 0}},      // no whole number of heads
        {"L2H8E3", {8, 32, 0, 3, 0, 0, 0}},
        {"L1H2147483647A1", {2147483647, 8589934588, 1, 2147483647, 0, 0, 0}},
    };
    FrontText t = front_text_open();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const Layout *layout = read(&t, cases[i].text);
        assert_non_null(layout);
        check_sizes(layout, cases[i].sizes);
    }
    assert_string_equal(front_text_messages(&t), "");
    front_text_close(&t);
}

static void test_canonical(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"B6-6-6H768", "B6-6-6H768"},
        {"B06x1-3x02H0768", "B6-3x2H768"},
        {"L2S3T4D5E6A7F8H9", "L2H9F8A7E6D5T4S3"},
    };
    FrontText t = front_text_open();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const Layout *layout = read(&t, cases[i][0]);
        assert_non_null(layout);
        assert_true(str_equal(layout->text, str_from(cases[i][1])));
    }
    front_text_close(&t);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *message;
    } cases[] = {
        {"B6-3x0H8", 6, "the number of repeats is zero"},
        {"B0-6H8", 2, "the number of layers is zero"},
        {"B6--6H8", 4, "the number of layers is missing"},
        {"B-6H8", 2, "the number of layers is missing"},
        {"B6-H8", 4, "the number of layers is missing"},
        {"B6xH8", 4, "the number of repeats is missing"},
        {"B6-6H", 6, "the size after H is missing"},
        {"B6-6H0", 6, "the size after H is zero"},
        {"L2H8A0", 6, "the size after A is zero"},
        {"B6-6H8H8", 7, "the tag H is given twice"},
        {"B6-6Q3H8", 5, "`Q` is no tag; the tags are H, F, A, E, D, T, S"},
        {"B6-6-6h768", 7, "`h` is no tag; the tags are H, F, A, E, D, T, S"},
        {"B6-6-6h768 ", 7, "`h` is no tag; the tags are H, F, A, E, D, T, S"},
        {"B6H8 ", 5, "only letters, digits and `-` stand in a layout"},
        {"B6H8\xc3\xa4", 5, "only letters, digits and `-` stand in a layout"},
        {"B6-6", 1, "the width is missing: H and a number"},
        {"B6A2", 1, "the width is missing: H and a number"},
        {"B6-6-6H99999999999999999999", 8,
         "the size after H, 99999999999999999999, is over 2147483647"},
        {"B2147483648H8", 2, "the number of layers, 2147483648, is over 2147483647"},
        {"H768", 1, "the width is missing: H and a number"}, // this H is the family
    };
    FrontText t = front_text_open();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(read(&t, cases[i].text));
        Str expected = str_format(t.arena, "t.slu:1:%d: error: layout %s: %s\n", cases[i].column,
                                  cases[i].text, cases[i].message);
        assert_string_equal(front_text_messages(&t), str_cstr(t.arena, expected));
    }
    front_text_close(&t);
}

static void test_missing(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    static const char *const cases[][2] = {
        {"L2H54A4", "width 54 does not divide into 4 heads; give another number of heads A, or the "
                    "width of a head E"},
        {"L2H8", "width 8 is no multiple of 64, so the number of heads must be given: A"},
        {"L2H8E3", "width 8 is no multiple of the head width 3; give the number of heads A"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str why = layout_missing(t.arena, read(&t, cases[i][0]));
        assert_string_equal(str_cstr(t.arena, why), cases[i][1]);
    }
    front_text_close(&t);
}

static void test_starts(void **state)
{
    (void)state;
    assert_true(layout_starts(STR("B6")));
    assert_true(layout_starts(STR("Z0anything")));
    assert_false(layout_starts(STR("B")));
    assert_false(layout_starts(STR("b6H8")));
    assert_false(layout_starts(STR("BH6")));
    assert_false(layout_starts(STR("6B")));
    assert_false(layout_starts(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_missing),   cmocka_unit_test(test_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
