// Each operation's right uses, with the type it gives, and wrong ones, with the argument at fault
// and the message.
#include "graph_fixture.h"

#include "ir/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define IN(type)   fixture_input(&f, (type))
#define SIZE(text) fixture_size(&f, (text))
#define INT(n)     size_int(f.arena, (n))
#define NODES(...) ((Node *[]){__VA_ARGS__})
#define AXES(...)  ((int64_t[]){__VA_ARGS__})
#define SHAPE(...) ((const Size *[]){__VA_ARGS__})

static void leaves(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Type ids = fixture_type(&f, "i32[batch, seq]");
    Type mask = fixture_type(&f, "bool[batch]");
    Type real = fixture_type(&f, "f32[2, 3]");
    double one = 1, half = 0.5, high = 60;
    expect_type(&f, ir_input(&f.b, STR("a"), &ids, AXES(0, 60), NULL), "i32[batch, seq]");
    expect_type(&f, ir_input(&f.b, STR("b"), &mask, NULL, &one), "bool[batch]");
    expect_type(&f, ir_param(&f.b, STR("p"), &real), "f32[2, 3]");
    expect_type(&f, ir_fill(&f.b, DT_f32, -INFINITY), "f32");
    expect_type(&f, ir_fill(&f.b, DT_i32, -7), "i32");
    expect_type(&f, ir_size(&f.b, DT_f32, SIZE("2 * seq")), "f32");
    expect_type(&f, ir_iota(&f.b, SIZE("(seq + 1) / 2")), "i32[(seq + 1) / 2]");

    expect_fault(&f, ir_input(&f.b, STR("c"), &real, AXES(0, 2), NULL), 2,
                 "a range is for i32, not f32[2, 3]");
    expect_fault(&f, ir_input(&f.b, STR("c"), &ids, AXES(3, 3), NULL), 2,
                 "the range 3 .. 3 is empty");
    expect_fault(&f, ir_input(&f.b, STR("c"), &ids, NULL, &half), 3,
                 "0.5 does not fit i32[batch, seq]");
    expect_fault(&f, ir_input(&f.b, STR("c"), &ids, AXES(0, 60), &high), 3,
                 "60 lies outside 0 .. 60");
    expect_fault(&f, ir_param(&f.b, STR("p"), &ids), 1,
                 "a stored tensor has no symbols in its sizes: i32[batch, seq]");
    expect_fault(&f, ir_fill(&f.b, DT_bool, 2), 1, "2 does not fit bool");
    expect_fault(&f, ir_fill(&f.b, DT_i32, 2147483648.0), 1, "2.14748e+09 does not fit i32");
    expect_fault(&f, ir_size(&f.b, DT_bool, INT(3)), 0,
                 "a size becomes one f32 or one i32, not bool");
    expect_fault(&f, ir_iota(&f.b, INT(0)), 0, "a size must be at least 1, but axis 0 has 0");
    expect_fault(&f, ir_iota(&f.b, SIZE("seq - 1")), 0,
                 "a size must be at least 1, but axis 0 has seq - 1 (whether seq - 1 >= 1 is not "
                 "known; fix it with --seq N, or declare it: check seq - 1 >= 1, \"…\")");
    Type half_float = {.dtype = DT_f16};
    expect_fault(&f, ir_param(&f.b, STR("q"), &half_float), 1,
                 "a tensor has f32, i32 or bool elements, not f16");
    fixture_end(&f);
}

static void broadcasting(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_map(&f.b, S_add, NODES(x, IN("f32[8]")), 2), "f32[batch, seq, 8]");
    expect_type(&f, ir_map(&f.b, S_add, NODES(IN("f32[seq, 1]"), x), 2), "f32[batch, seq, 8]");
    expect_type(&f, ir_map(&f.b, S_mul, NODES(IN("f32[3, 1]"), IN("f32[1, 4]")), 2), "f32[3, 4]");
    expect_type(&f, ir_map(&f.b, S_mul, NODES(IN("f32"), IN("f32[1]")), 2), "f32[1]");
    expect_type(&f, ir_map(&f.b, S_lt, NODES(IN("i32[3]"), IN("i32[1]")), 2), "bool[3]");
    expect_type(&f, ir_map(&f.b, S_eq, NODES(IN("bool[3]"), IN("bool")), 2), "bool[3]");
    expect_type(&f, ir_map(&f.b, S_select, NODES(IN("bool[batch, 1]"), IN("i32[5]"), IN("i32")), 3),
                "i32[batch, 5]");
    expect_type(&f, ir_map(&f.b, S_to_f32, NODES(IN("bool[seq]")), 1), "f32[seq]");
    expect_fault(&f, ir_map(&f.b, S_add, NODES(IN("f32[2, 3]"), IN("f32[4]")), 2), -1,
                 "shapes do not broadcast: f32[2, 3] and f32[4]");
    expect_fault(&f, ir_map(&f.b, S_add, NODES(x, IN("f32[n, 8]")), 2), -1,
                 "shapes do not broadcast: f32[batch, seq, 8] and f32[n, 8] (whether seq == n is "
                 "not known; fix it with --seq N or --set n=N, or declare it: check seq == n, "
                 "\"…\")");
    fixture_end(&f);
}

// What a check declares holds from then on, and the sizes of new nodes have it put in.
static void declared_facts(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[seq]");
    Node *y = IN("f32[2 * n]");
    graph_add_check(f.graph, SIZE_eq, SIZE("seq"), SIZE("2 * n"), STR("even"), (Place){0});
    Node *sum = ir_map(&f.b, S_add, NODES(x, y), 2);
    Node *copy = ir_map(&f.b, S_neg, NODES(x), 1);
    assert_non_null(sum);
    assert_non_null(copy);
    assert_true(type_equal(&sum->type, &copy->type));
    expect_type(&f, ir_reshape(&f.b, x, SHAPE(SIZE("n"), INT(2)), 2), "f32[n, 2]");
    fixture_end(&f);
}

static void element_types(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[2]"), *i = IN("i32[2]"), *m = IN("bool[2]");
    expect_fault(&f, ir_map(&f.b, S_add, NODES(x, i), 2), -1,
                 "element types differ: f32[2] and i32[2]");
    expect_fault(&f, ir_map(&f.b, S_add, NODES(m, m), 2), -1,
                 "no `+` of bool elements: bool[2] and bool[2]; f32(x) converts");
    expect_fault(&f, ir_map(&f.b, S_div, NODES(i, i), 2), -1,
                 "no `/` of i32 elements: i32[2] and i32[2]; f32(x) converts");
    expect_fault(&f, ir_map(&f.b, S_lt, NODES(m, m), 2), -1,
                 "no `<` of bool elements: bool[2] and bool[2]; f32(x) converts");
    expect_fault(&f, ir_map(&f.b, S_exp, NODES(i), 1), 0, "expected f32, not i32[2]");
    expect_fault(&f, ir_map(&f.b, S_neg, NODES(m), 1), 0,
                 "no `-` of bool[2]; f32(x) makes numbers of it");
    expect_fault(&f, ir_map(&f.b, S_and, NODES(m, x), 2), 1, "expected bool, not f32[2]");
    expect_fault(&f, ir_map(&f.b, S_not, NODES(i), 1), 0, "expected bool, not i32[2]");
    expect_fault(&f, ir_map(&f.b, S_select, NODES(x, x, x), 3), 0, "expected bool, not f32[2]");
    expect_fault(&f, ir_map(&f.b, S_select, NODES(m, x, i), 3), -1,
                 "element types differ: f32[2] and i32[2]");
    expect_fault(&f, ir_map(&f.b, S_add, NODES(x), 1), -1, "takes 2 operands, not 1");
    expect_fault(&f, ir_map(&f.b, S_count, NODES(x), 1), -1, "there is no such operation");
    assert_null(ir_map(&f.b, S_add, NODES(x, NULL), 2)); // reported when it failed
    assert_int_equal(f.nreports, 0);
    fixture_end(&f);
}

static void reductions(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]"), *i = IN("i32[3, 4]"), *m = IN("bool[3, 4]");
    Node *both = ir_reduce(&f.b, OP_reduce_mean, x, AXES(-1, 0), 2);
    expect_type(&f, both, "f32[seq]");
    assert_int_equal(both->attr.axes[0], 0);
    assert_int_equal(both->attr.axes[1], 2);
    expect_type(&f, ir_reduce(&f.b, OP_reduce_sum, i, AXES(1), 1), "i32[3]");
    expect_type(&f, ir_reduce(&f.b, OP_reduce_max, m, AXES(0, 1), 2), "bool");
    expect_type(&f, ir_softmax(&f.b, x, -2), "f32[batch, seq, 8]");
    expect_fault(&f, ir_reduce(&f.b, OP_reduce_sum, m, AXES(0), 1), 0,
                 "no sum of bool elements: bool[3, 4]; f32(x) converts");
    expect_fault(&f, ir_reduce(&f.b, OP_reduce_mean, i, AXES(0), 1), 0,
                 "no mean of i32 elements: i32[3, 4]; f32(x) converts");
    expect_fault(&f, ir_reduce(&f.b, OP_reduce_sum, i, AXES(2), 1), 1,
                 "axis 2 is out of range for a tensor of rank 2");
    expect_fault(&f, ir_reduce(&f.b, OP_reduce_sum, i, AXES(1, -1), 2), 1,
                 "axis 1 of i32[3, 4] is named twice");
    expect_fault(&f, ir_reduce(&f.b, OP_reduce_sum, i, NULL, 0), 1, "no axis is named");
    expect_fault(&f, ir_softmax(&f.b, i, 0), 0, "expected f32, not i32[3, 4]");
    expect_fault(&f, ir_softmax(&f.b, x, -4), 1, "axis -4 is out of range for a tensor of rank 3");
    fixture_end(&f);
}

static void products(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, 1, seq, 8]");
    expect_type(&f, ir_matmul(&f.b, x, IN("f32[12, 8, 5]")), "f32[batch, 12, seq, 5]");
    expect_type(&f, ir_matmul(&f.b, IN("f32[2, 3]"), IN("f32[3, 4]")), "f32[2, 4]");
    expect_fault(&f, ir_matmul(&f.b, IN("f32[batch, 3]"), IN("f32[4, 5]")), -1,
                 "inner dimensions differ: f32[batch, 3] @ f32[4, 5]");
    expect_fault_start(&f, ir_matmul(&f.b, x, IN("f32[n, 5]")), -1,
                       "inner dimensions differ: f32[batch, 1, seq, 8] @ f32[n, 5] (whether 8 == "
                       "n is not known; fix it with --set n=N, or declare it: check");
    expect_fault(&f, ir_matmul(&f.b, IN("f32[2, 3, 4]"), IN("f32[5, 4, 4]")), -1,
                 "shapes do not broadcast: f32[2, 3, 4] and f32[5, 4, 4]");
    expect_fault(&f, ir_matmul(&f.b, IN("f32[3]"), IN("f32[3, 4]")), 0,
                 "both sides need two axes: f32[3] @ f32[3, 4]; [.., new] adds one");
    expect_fault(&f, ir_matmul(&f.b, IN("f32[2, 3]"), IN("i32[3, 4]")), 1,
                 "both sides must be f32: f32[2, 3] @ i32[3, 4]");
    fixture_end(&f);
}

static void gathers(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *ids = IN("i32[batch, seq]"), *table = IN("f32[60, 48]");
    expect_type(&f, ir_gather(&f.b, table, ids), "f32[batch, seq, 48]");
    expect_type(&f, ir_gather(&f.b, IN("bool[5]"), IN("i32")), "bool");
    expect_type(
        &f,
        ir_add_node(&f.b, OP_gather, NODES(IN("f32[2, 9, 4]"), ids), 2, &(Attr){.axis = -2}, NULL),
        "f32[2, batch, seq, 4]");
    expect_fault(&f, ir_gather(&f.b, table, table), 1, "expected i32, not f32[60, 48]");
    expect_fault(&f, ir_gather(&f.b, IN("f32"), ids), 0, "needs an axis at least: f32");
    fixture_end(&f);
}

static void orders(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_transpose(&f.b, x), "f32[batch, 8, seq]");
    expect_type(&f, ir_permute(&f.b, x, AXES(2, 0, -2), 3), "f32[8, batch, seq]");
    expect_fault(&f, ir_transpose(&f.b, IN("i32[3]")), 0, "needs two axes at least: i32[3]");
    expect_fault(&f, ir_permute(&f.b, x, AXES(0, 1), 2), 1,
                 "the order names 2 axes, but f32[batch, seq, 8] has 3");
    expect_fault(&f, ir_permute(&f.b, x, AXES(0, 1, 1), 3), 1,
                 "axis 1 of f32[batch, seq, 8] is named twice");
    expect_fault(&f, ir_permute(&f.b, x, AXES(0, 1, 3), 3), 1,
                 "axis 3 is out of range for a tensor of rank 3");
    fixture_end(&f);
}

static void shapes(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_reshape(&f.b, x, SHAPE(SIZE("batch * seq"), INT(2), INT(4)), 3),
                "f32[batch * seq, 2, 4]");
    expect_type(&f, ir_reshape(&f.b, IN("f32[1, 1]"), NULL, 0), "f32");
    expect_type(&f, ir_broadcast(&f.b, IN("f32[seq, 1]"), SHAPE(INT(3), SIZE("seq"), INT(8)), 3),
                "f32[3, seq, 8]");
    expect_type(&f, ir_broadcast(&f.b, IN("bool"), SHAPE(SIZE("n")), 1), "bool[n]");
    expect_fault(&f, ir_reshape(&f.b, IN("f32[2, 3]"), SHAPE(INT(4), INT(2)), 2), 1,
                 "f32[2, 3] has 6 elements, but [4, 2] has 8");
    expect_fault_start(&f, ir_reshape(&f.b, x, SHAPE(SIZE("batch"), INT(8)), 2), 1,
                       "f32[batch, seq, 8] has 8 * batch * seq elements, but [batch, 8] has 8 * "
                       "batch (whether ");
    expect_fault(&f, ir_reshape(&f.b, IN("f32[2]"), SHAPE(INT(0)), 1), 1,
                 "a size must be at least 1, but axis 0 has 0");
    expect_fault(&f, ir_broadcast(&f.b, IN("f32[3]"), SHAPE(INT(2), INT(4)), 2), 1,
                 "f32[3] does not broadcast to [2, 4]");
    expect_fault(&f, ir_broadcast(&f.b, IN("f32[3, 4]"), SHAPE(INT(4)), 1), 1,
                 "f32[3, 4] does not broadcast to [4]");
    const Size *many[IR_MAX_RANK + 1];
    for (size_t i = 0; i <= IR_MAX_RANK; i++) {
        many[i] = INT(1);
    }
    expect_type(&f, ir_reshape(&f.b, IN("f32[1]"), many, 1), "f32[1]");
    assert_non_null(ir_reshape(&f.b, IN("f32[1]"), many, IR_MAX_RANK));
    expect_fault(&f, ir_reshape(&f.b, IN("f32[1]"), many, IR_MAX_RANK + 1), 1,
                 "a tensor has at most 64 axes, not 65");
    fixture_end(&f);
}

static void overflow(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    int64_t big = INT64_MAX / 2;
    Node *x = ir_broadcast(&f.b, IN("f32"), SHAPE(INT(big / 8)), 1);
    assert_non_null(x);
    expect_fault_start(&f, ir_broadcast(&f.b, x, SHAPE(INT(8), INT(big / 8)), 2), -1, "f32[8, ");
    expect_fault(&f, ir_repeat(&f.b, x, 100, 0), -1,
                 "a size is over 64 bits, or has too many terms");
    expect_fault(&f, ir_pad(&f.b, x, 0, INT(INT64_MAX - 1), INT(1), 0), -1,
                 "a size is over 64 bits, or has too many terms");
    // Each pooling and joining doubles the size's length.
    graph_add_check(f.graph, SIZE_ge, SIZE("seq"), INT(9), STR("short"), (Place){0});
    Node *y = IN("f32[seq]");
    for (size_t i = 0; i < 40 && y != NULL; i++) {
        Node *half = ir_pool(&f.b, y, 3, 2, POOL_max, 0, true);
        y = half ? ir_concat(&f.b, NODES(y, half), 2, 0) : NULL;
    }
    assert_null(y);
    assert_string_equal(str_cstr(f.arena, f.message),
                        "a size is over 64 bits, or has too many terms");
    fixture_end(&f);
}

static void parts(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_concat(&f.b, NODES(x, IN("f32[batch, 1, 8]")), 2, 1),
                "f32[batch, seq + 1, 8]");
    expect_type(&f, ir_concat(&f.b, NODES(x), 1, -1), "f32[batch, seq, 8]");
    expect_type(&f, ir_part(&f.b, x, -1, INT(3), INT(5)), "f32[batch, seq, 5]");
    expect_type(&f, ir_part(&f.b, x, 1, INT(0), SIZE("(seq + 1) / 2")),
                "f32[batch, (seq + 1) / 2, 8]");
    expect_fault(&f, ir_concat(&f.b, NODES(x, IN("f32[batch, 8]")), 2, 1), 0,
                 "parts differ: f32[batch, seq, 8] and f32[batch, 8]");
    expect_fault(&f, ir_concat(&f.b, NODES(IN("f32[2, 3]"), IN("f32[2, 4]")), 2, 0), 0,
                 "parts differ on axis 1: f32[2, 3] and f32[2, 4]");
    expect_fault(&f, ir_concat(&f.b, NODES(IN("f32[2]"), IN("i32[2]")), 2, 0), 0,
                 "parts differ: f32[2] and i32[2]");
    expect_fault(&f, ir_concat(&f.b, NULL, 0, 0), -1, "needs an operand");
    expect_fault(&f, ir_part(&f.b, x, 3, INT(0), INT(1)), 1,
                 "axis 3 is out of range for a tensor of rank 3");
    expect_fault(&f, ir_part(&f.b, x, 2, INT(-1), INT(1)), 2,
                 "a part of axis 2 of f32[batch, seq, 8] starts before 0");
    expect_fault(&f, ir_part(&f.b, x, 2, INT(0), INT(0)), 3,
                 "a part of axis 2 of f32[batch, seq, 8] is empty");
    expect_fault(&f, ir_part(&f.b, x, 2, INT(4), INT(5)), 3,
                 "a part of axis 2 of f32[batch, seq, 8] ends after it");
    fixture_end(&f);
}

static void padding(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq]");
    expect_type(&f, ir_pad(&f.b, x, -1, INT(1), SIZE("n"), -INFINITY), "f32[batch, n + seq + 1]");
    expect_type(&f, ir_repeat(&f.b, x, 2, 1), "f32[batch, 2 * seq]");
    expect_fault(&f, ir_pad(&f.b, x, 2, INT(1), INT(1), 0), 1,
                 "axis 2 is out of range for a tensor of rank 2");
    expect_fault(&f, ir_pad(&f.b, x, 1, INT(-1), INT(1), 0), 2, "`before` must be at least 0");
    expect_fault_start(&f, ir_pad(&f.b, x, 1, INT(0), SIZE("n - 2"), 0), 3,
                       "`after` must be at least 0 (whether n - 2 >= 0 is not known; fix it with "
                       "--set n=N, or declare it: ");
    expect_fault(&f, ir_pad(&f.b, IN("bool[3]"), 0, INT(1), INT(1), 0.5), 4,
                 "0.5 does not fit bool[3]");
    expect_fault(&f, ir_repeat(&f.b, x, 0, 1), 1, "`times` must be at least 1, not 0");
    expect_fault(&f, ir_repeat(&f.b, x, 2, 2), 2, "axis 2 is out of range for a tensor of rank 2");
    fixture_end(&f);
}

static void windows(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    expect_type(&f, ir_window(&f.b, IN("f32[2, 10, 3]"), 4, 2, 1), "f32[2, 4, 4, 3]");
    expect_type(&f, ir_window(&f.b, IN("f32[4 * n]"), 4, 4, 0), "f32[n, 4]");
    expect_type(&f, ir_window(&f.b, IN("f32[5]"), 5, 3, -1), "f32[1, 5]");
    expect_fault(&f, ir_window(&f.b, IN("f32[9]"), 4, 2, 0), -1,
                 "windows of 4 at stride 2 do not fill axis 0 of f32[9] exactly; slice or pad it "
                 "first");
    expect_fault(&f, ir_window(&f.b, IN("f32[3]"), 4, 1, 0), 1,
                 "a window of 4 does not fit axis 0 of f32[3]");
    expect_fault(&f, ir_window(&f.b, IN("f32[3]"), 0, 1, 0), 1, "`size` must be at least 1, not 0");
    expect_fault(&f, ir_window(&f.b, IN("f32[3]"), 1, 0, 0), 2,
                 "`stride` must be at least 1, not 0");
    expect_fault(&f, ir_window(&f.b, IN("f32[3]"), 1, 1, 1), 3,
                 "axis 1 is out of range for a tensor of rank 1");
    fixture_end(&f);
}

static void pools(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_pool(&f.b, x, 2, 2, POOL_mean, 1, true), "f32[batch, (seq + 1) / 2, 8]");
    expect_type(&f, ir_pool(&f.b, IN("bool[7]"), 2, 2, POOL_max, 0, true), "bool[4]");
    expect_type(&f, ir_pool(&f.b, IN("i32[7]"), 2, 2, POOL_min, 0, false), "i32[3]");
    expect_type(&f, ir_pool(&f.b, IN("f32[8]"), 3, 2, POOL_mean, 0, true), "f32[4]"); // last of 2
    expect_type(&f, ir_pool(&f.b, IN("f32[1]"), 3, 3, POOL_mean, 0, true), "f32[1]");
    expect_fault(&f, ir_pool(&f.b, IN("f32[1]"), 3, 2, POOL_mean, 0, true), 1,
                 "a window of 3 does not fit axis 0 of f32[1]");
    expect_fault_start(&f, ir_pool(&f.b, x, 2, 2, POOL_mean, 1, false), 1,
                       "a window of 2 does not fit axis 1 of f32[batch, seq, 8] (whether seq >= 2");
    expect_fault(&f, ir_pool(&f.b, IN("f32[9]"), 2, 3, POOL_max, 0, true), 2,
                 "stride 3 is over the window's size 2: members would be lost");
    expect_fault(&f, ir_pool(&f.b, IN("bool[9]"), 2, 2, POOL_mean, 0, true), 0,
                 "mode \"mean\" is for f32, not bool[9]");
    expect_fault(&f, ir_pool(&f.b, x, 2, 2, POOL_mean, 3, true), 4,
                 "axis 3 is out of range for a tensor of rank 3");
    fixture_end(&f);
}

static void shifts(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    expect_type(&f, ir_toeplitz(&f.b, IN("f32[4, 9]"), INT(5)), "f32[4, 5, 5]");
    expect_type(&f, ir_toeplitz(&f.b, IN("f32[2 * seq - 1]"), SIZE("seq")), "f32[seq, seq]");
    expect_type(&f, ir_add_node(&f.b, OP_toeplitz, NODES(IN("f32[7]")), 1, NULL, NULL),
                "f32[4, 4]");
    expect_fault(&f, ir_toeplitz(&f.b, IN("f32[8]"), INT(5)), 0,
                 "for n = 5 the last axis must have 2 n - 1 = 9 members: f32[8]");
    expect_fault(&f, ir_toeplitz(&f.b, IN("f32"), INT(5)), 0, "needs an axis at least: f32");
    expect_fault(&f, ir_toeplitz(&f.b, IN("f32[9]"), INT(0)), 1,
                 "a size must be at least 1, but axis 0 has 0");

    expect_type(&f, ir_rel_shift(&f.b, IN("f32[2, seq, 2 * seq]"), SIZE("seq"), 1),
                "f32[2, seq, seq]");
    expect_type(&f, ir_rel_shift(&f.b, IN("f32[3, 11]"), INT(5), 2), "f32[3, 5]");
    expect_fault(&f, ir_rel_shift(&f.b, IN("f32[3, 10]"), INT(5), 2), 0,
                 "the last axis must have 2 * 3 + 5 = 11 distances: f32[3, 10]");
    expect_fault(&f, ir_rel_shift(&f.b, IN("f32[3]"), INT(5), 2), 0,
                 "needs two axes at least: f32[3]");
    expect_fault(&f, ir_rel_shift(&f.b, IN("f32[3, 5]"), INT(5), 0), 2,
                 "`shift` must be at least 1, not 0");

    expect_type(&f, ir_triangle(&f.b, IN("f32[2, 3, 4]")), "f32[2, 3, 4]");
    expect_fault(&f, ir_triangle(&f.b, IN("f32[3]")), 0, "needs two axes at least: f32[3]");
    fixture_end(&f);
}

static Node *view(Fixture *f, Node *x, const char *type, const Size *const *strides,
                  const Size *offset)
{
    Type parsed = fixture_type(f, type);
    return ir_add_node(&f->b, OP_view, &x, 1, &(Attr){.strides = strides, .offset = offset},
                       &parsed);
}

static void views(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[seq, 2 * seq]");
    // The relative shift: offset seq, strides (2 seq - 1, 1).
    expect_type(&f, view(&f, x, "f32[seq, seq]", SHAPE(SIZE("2 * seq - 1"), INT(1)), SIZE("seq")),
                "f32[seq, seq]");
    expect_type(&f, view(&f, IN("f32[5]"), "f32[5]", SHAPE(INT(-1)), INT(4)), "f32[5]");
    expect_fault(&f, view(&f, IN("f32[5]"), "f32[5]", SHAPE(INT(-1)), INT(3)), -1,
                 "elements -1 to 3 lie outside f32[5]");
    expect_fault(&f, view(&f, IN("f32[2, 3]"), "f32[3]", SHAPE(INT(3)), INT(0)), -1,
                 "elements 0 to 6 lie outside f32[2, 3]");
    expect_fault(&f, view(&f, IN("i32[5]"), "f32[5]", SHAPE(INT(1)), INT(0)), -1,
                 "the elements of i32[5] cannot become f32");
    Attr p16 = {.name = STR("P16")};
    expect_type(&f, ir_add_node(&f.b, OP_pack, NODES(IN("f32[2, 48, 40]")), 1, &p16, NULL),
                "f32[2, 3, 48, 16]");
    expect_fault(&f, ir_add_node(&f.b, OP_pack, NODES(IN("f32[48]")), 1, &p16, NULL), 0,
                 "needs two axes at least: f32[48]");
    Attr p17 = {.name = STR("P17")};
    expect_fault(&f, ir_add_node(&f.b, OP_pack, NODES(IN("f32[4, 4]")), 1, &p17, NULL), 1,
                 "there is no layout \"P17\"; there is \"P16\"");
    expect_type(&f, ir_add_node(&f.b, OP_copy, NODES(x), 1, NULL, NULL), "f32[seq, 2 * seq]");
    Type other = fixture_type(&f, "f32[seq, seq]");
    expect_fault(&f, ir_add_node(&f.b, OP_copy, NODES(x), 1, NULL, &other), -1,
                 "the result is f32[seq, 2 * seq], not f32[seq, seq]");
    fixture_end(&f);
}

static Node *slice(Fixture *f, Node *x, const char *type, const Size *const *start,
                   const int64_t *step)
{
    Type parsed = fixture_type(f, type);
    return ir_add_node(&f->b, OP_slice, &x, 1, &(Attr){.start = start, .step = step}, &parsed);
}

static void slices(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[seq, 9]");
    expect_type(&f, slice(&f, x, "f32[(seq + 1) / 2, 3]", SHAPE(INT(0), INT(2)), AXES(2, 3)),
                "f32[(seq + 1) / 2, 3]");
    expect_type(&f, slice(&f, x, "f32[seq, 5]", SHAPE(SIZE("seq - 1"), INT(8)), AXES(-1, -2)),
                "f32[seq, 5]");
    expect_fault(&f, slice(&f, x, "f32[seq, 4]", SHAPE(INT(0), INT(2)), AXES(1, 3)), -1,
                 "the slice of axis 1 of f32[seq, 9] ends after it");
    expect_fault(&f, slice(&f, x, "f32[seq, 4]", SHAPE(INT(0), INT(2)), AXES(1, -1)), -1,
                 "the slice of axis 1 of f32[seq, 9] starts before 0");
    expect_fault(&f, slice(&f, x, "f32[seq, 4]", SHAPE(INT(0), INT(2)), AXES(1, 0)), -1,
                 "the step of axis 1 is 0");
    expect_fault(&f, slice(&f, x, "f32[seq]", SHAPE(INT(0), INT(2)), AXES(1, 1)), -1,
                 "a slice of f32[seq, 9] keeps its axes: f32[seq]");
    fixture_end(&f);
}

#define SUBS(...)                                                                                  \
    ((Subscript[]){__VA_ARGS__}), sizeof((Subscript[]){__VA_ARGS__}) / sizeof(Subscript)
#define AT(n)                                                                                      \
    {                                                                                              \
        .kind = SUB_index, .start = (n)                                                            \
    }
#define FROM(a, b, s)                                                                              \
    {                                                                                              \
        .kind = SUB_slice, .start = (a), .stop = (b), .step = (s)                                  \
    }
#define REST                                                                                       \
    {                                                                                              \
        .kind = SUB_rest                                                                           \
    }
#define NEW                                                                                        \
    {                                                                                              \
        .kind = SUB_new                                                                            \
    }

static void subscripts(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[batch, seq, 8]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(REST, AT(INT(-1)))), "f32[batch, seq]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 1), AT(INT(0)))), "f32[batch, 8]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(REST, NEW)), "f32[batch, seq, 8, 1]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(-3), NULL, 1))),
                "f32[batch, seq, 3]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(1), INT(-1), 2))),
                "f32[batch, seq, 3]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(NEW, FROM(NULL, NULL, -1), REST, NEW, AT(INT(2)))),
                "f32[1, batch, seq, 1]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 1), FROM(NULL, NULL, 2))),
                "f32[batch, (seq + 1) / 2, 8]");
    expect_type(&f, ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 1), AT(SIZE("seq - 1")))),
                "f32[batch, 8]");
    // What takes everything is the operand itself.
    assert_ptr_equal(ir_subscript(&f.b, x, SUBS(REST)), x);
    assert_ptr_equal(ir_subscript(&f.b, x, SUBS(FROM(INT(0), NULL, 1), REST)), x);
    assert_ptr_equal(ir_subscript(&f.b, x, NULL, 0), x);
    // A reversal is a slice from the last member.
    Node *reversed = ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 1), FROM(NULL, NULL, -1)));
    assert_int_equal(reversed->op, OP_slice);
    assert_int_equal(reversed->attr.step[1], -1);
    assert_true(size_equal(reversed->attr.start[1], SIZE("seq - 1")));

    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, AT(INT(8)))), 1,
                 "index 8 is out of range for axis 2 of f32[batch, seq, 8]");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, AT(INT(-9)))), 1,
                 "index -9 is out of range for axis 2 of f32[batch, seq, 8]");
    expect_fault_start(&f, ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 1), AT(INT(1)))), 1,
                       "index 1 is out of range for axis 1 of f32[batch, seq, 8] (whether 1 < seq "
                       "is not known; fix it with --seq N, or declare it: ");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(2), INT(9), 1))), 1,
                 "slice 2 : 9 of axis 2 of f32[batch, seq, 8] ends after it");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(-9), INT(7), 1))), 1,
                 "slice -1 : 7 of axis 2 of f32[batch, seq, 8] starts before 0");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(4), INT(4), 1))), 1,
                 "slice 4 : 4 of axis 2 of f32[batch, seq, 8] is empty");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, FROM(INT(4), NULL, -1))), 1,
                 "a step is positive, or negative for the whole axis, as in [:: -1]");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(FROM(NULL, NULL, 0))), 0,
                 "a step is positive, or negative for the whole axis, as in [:: -1]");
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(REST, NEW, REST)), 2,
                 "`..` stands once in a subscript");
    Subscript zero = AT(INT(0));
    expect_fault(&f, ir_subscript(&f.b, x, SUBS(zero, zero, zero, zero)), 3,
                 "too many subscripts: f32[batch, seq, 8] has 3 axes");
    fixture_end(&f);
}

static void kernels(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    Node *x = IN("f32[seq]"), *i = IN("i32[seq]");
    Graph *region = graph_create_region(f.graph);
    Builder inner = f.b;
    inner.graph = region;
    Node *arg = ir_add_node(&inner, OP_arg, NULL, 0, &(Attr){.index = 0}, &x->type);
    Node *twice = ir_map(&inner, S_add, NODES(arg, arg), 2);
    expect_fault(&f, ir_add_kernel(&f.b, KERNEL_elementwise, NODES(x), 1, region), -1,
                 "a kernel needs a region with outputs");
    graph_add_output(region, (Str){0}, twice, (Place){0});
    Node *kernel = ir_add_kernel(&f.b, KERNEL_elementwise, NODES(x), 1, region);
    assert_non_null(kernel);
    expect_type(&f, ir_add_node(&f.b, OP_result, &kernel, 1, &(Attr){.index = 0}, NULL),
                "f32[seq]");
    expect_fault(&f, ir_add_kernel(&f.b, KERNEL_elementwise, NODES(i), 1, region), 0,
                 "operand 0 is i32[seq], but the region takes f32[seq]");
    expect_fault(&f, ir_add_kernel(&f.b, KERNEL_elementwise, NULL, 0, region), -1,
                 "the region reads operand 0 of 0");
    expect_fault(&f, ir_add_node(&f.b, OP_result, &kernel, 1, &(Attr){.index = 1}, NULL), 1,
                 "the kernel has 1 results, there is no 1");
    expect_fault(&f, ir_add_node(&f.b, OP_result, &x, 1, &(Attr){.index = 0}, NULL), 0,
                 "operand 0 is a tensor, not a kernel");
    expect_fault(&f, ir_map(&f.b, S_neg, &kernel, 1), 0,
                 "operand 0 is a kernel; `result` reads it");
    expect_fault(&f, ir_add_node(&f.b, OP_kernel, NODES(x), 1, NULL, NULL), -1,
                 "a kernel needs a region with outputs");
    fixture_end(&f);
}

// What is given is copied: the caller may change or free it.
static void copies(void **state)
{
    (void)state;
    Fixture f;
    fixture_start(&f);
    int64_t axes[] = {1, 0};
    char name[] = "x";
    const Size *shape[] = {INT(2), INT(3)};
    Type type = {.dtype = DT_f32, .rank = 2, .shape = shape};
    Node *x = ir_input(&f.b, (Str){name, 1}, &type, NULL, NULL);
    Node *y = ir_permute(&f.b, x, axes, 2);
    axes[0] = 7;
    name[0] = 'y';
    shape[0] = INT(9);
    expect_type(&f, x, "f32[2, 3]");
    assert_true(str_equal(x->attr.name, STR("x")));
    assert_int_equal(y->attr.axes[0], 1);
    // A node copied as passes do it is the same node.
    Node *again = ir_add_node(&f.b, y->op, y->args, y->nargs, &y->attr, &y->type);
    expect_type(&f, again, "f32[3, 2]");
    Buf a = {.arena = f.arena}, b = {.arena = f.arena};
    node_print(&a, f.graph, y);
    node_print(&b, f.graph, again);
    assert_string_equal(a.ptr, "permute %0 {axes = [1, 0]} : f32[3, 2]");
    assert_string_equal(b.ptr, a.ptr);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves),         cmocka_unit_test(broadcasting),
        cmocka_unit_test(declared_facts), cmocka_unit_test(element_types),
        cmocka_unit_test(reductions),     cmocka_unit_test(products),
        cmocka_unit_test(gathers),        cmocka_unit_test(orders),
        cmocka_unit_test(shapes),         cmocka_unit_test(overflow),
        cmocka_unit_test(parts),          cmocka_unit_test(padding),
        cmocka_unit_test(windows),        cmocka_unit_test(pools),
        cmocka_unit_test(shifts),         cmocka_unit_test(views),
        cmocka_unit_test(slices),         cmocka_unit_test(subscripts),
        cmocka_unit_test(kernels),        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
