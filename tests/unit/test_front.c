// Programs as a whole: files that use each other, which model is meant, settings, the library,
// limits, and what wrong programs are told.
#include "front/front.h"
#include "front/limits.h"

#include "front_text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// ---- wrong programs ----

typedef struct Fault {
    const char *text;
    const char *messages;
} Fault;

static void check_faults(const Fault *faults, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        FrontText t = front_text_open();
        assert_null(front_text_elaborate(&t, faults[i].text, NULL));
        assert_string_equal(front_text_messages(&t), faults[i].messages);
        front_text_close(&t);
    }
}
#define CHECK_FAULTS(faults) check_faults((faults), sizeof(faults) / sizeof(faults)[0])

static void test_library_faults(void **state)
{
    (void)state;
    // At the user's own line; the library's is a note.
    static const Fault faults[] = {
        {"model m {\n  input x: f32[b, 9, 6]\n  output y = gmlp_layer(x, 255) as l\n}",
         "t.slu:3:14: error: gmlp_layer: inner width 255 is odd, but the gate splits it in halves\n"
         "std/gmlp.slu:102:11: note: checked here\n"},
        {"block mine(x) { return layer_norm(x) }\nmodel m { input x: f32[8] output y = mine(x) }",
         "t.slu:1:24: error: layer_norm: argument `eps` is missing\n"
         "t.slu:2:38: note: called here\n"},
        // The library calls a block of the user's, which calls the library.
        {"block gate(z, added, mix, ..) { return z @ z }\nmodel m { input x: f32[b, 9, 6]\n  "
         "output y = "
         "gmlp_layer(x, 8, gate: gate) as l }",
         "t.slu:1:40: error: inner dimensions differ: f32[b, 9, 8] @ f32[b, 9, 8]\n"
         "t.slu:3:14: note: called here\n"},
        {"model m = funnel(B2-2H8A2, pool: \"avg\")",
         "t.slu:1:11: error: funnel: pool is mean, max or min, not avg\n"
         "std/core.slu:50:11: note: checked here\n"},
        {"model m = bert(L2H54A4)",
         "t.slu:1:16: error: layout L2H54A4: width 54 does not divide into 4 heads; give another "
         "number of heads A, or the width of a head E\n"
         "std/bert.slu:194:65: note: `.E` is read here\n"},
        {"model m = bert(L2H8A2, acr: gelu)",
         "t.slu:1:24: error: bert: nothing takes the argument `acr`; did you mean `act`?\n"},
        {"model m = bert(L2H8A2, acr: gelu, foo: 3)",
         "t.slu:1:24: error: bert: nothing takes the argument `acr`; did you mean `act`?\n"
         "t.slu:1:35: error: bert: nothing takes the argument `foo`\n"},
        {"model m = bert(L2H8A2, keep: true)",
         "t.slu:1:24: error: bert: nothing takes the argument `keep`: whoever has it is given "
         "another\n"},
        {"model m { input x: f32[3, 8] x = dense(x, 8) as a output y = dense(x, 8) as a }",
         "t.slu:1:62: error: dense: parameter `a.weight` is reached twice: if two tensors are "
         "meant, give each call a name, `as NAME`, in a loop `as NAME[i]`; if one is, say "
         "`shared`\n"
         "std/core.slu:6:11: note: here\nt.slu:1:34: note: first here\n"},
        {"model m { input x: f32[3, 8] x = dense(x, 8) as a output y = dense(x, 9) as a shared }",
         "t.slu:1:62: error: dense: parameter `a.weight` is shared as f32[8, 8] and as f32[9, 8]\n"
         "std/core.slu:6:11: note: here\nt.slu:1:34: note: first here\n"},
    };
    CHECK_FAULTS(faults);
}

static void test_several(void **state)
{
    (void)state;
    // A model goes on after a wrong statement; what the statement would have bound is not
    // complained about.
    static const Fault faults[] = {
        {"model m {\n input x: f32[2]\n a = nothing\n b = a + 1\n c = x + \"t\"\n output y = b\n "
         "output z "
         "= other\n}",
         "t.slu:3:6: error: unknown name `nothing`\n"
         "t.slu:5:6: error: no `+` of f32[2] and \"t\"\n"
         "t.slu:7:13: error: unknown name `other`\n"},
        {"model m {\n input x: f32[2]\n if nothing { a = x } else { b = x }\n output y = a\n "
         "output z = b\n}",
         "t.slu:3:5: error: unknown name `nothing`\n"},
        {"model m {\n input x: f32[2]\n for i in 0 .. 9 { x = x + q\n r = w }\n output y = x + "
         "r\n}",
         "t.slu:3:28: error: unknown name `q`\nt.slu:4:6: error: unknown name `w`\n"},
        {"model m {\n input x: f33[2]\n input z: f32[-1]\n output y = x\n}",
         "t.slu:2:11: error: no tensor type `f33`; did you mean `f32`?\n"
         "t.slu:3:15: error: a size must be at least 1, not -1\n"},
        {"model m {\n input x: f32[2]\n output y = f(p, q, x)\n}",
         "t.slu:3:13: error: unknown name `f`\n"},
        {"model m {\n input x: f32[2]\n output y = dense(p, q, with_bias: r)\n}",
         "t.slu:3:19: error: unknown name `p`\nt.slu:3:22: error: unknown name `q`\n"
         "t.slu:3:36: error: unknown name `r`\n"},
        {"let a = 1 let a = 2 block b(x) { return x } block b(x) { return x }",
         "t.slu:1:15: error: `a` is defined twice\nt.slu:1:5: note: first here\n"
         "t.slu:1:51: error: `b` is defined twice\nt.slu:1:27: note: first here\n"},
    };
    CHECK_FAULTS(faults);
    // After 20 there is an end.
    FrontText t = front_text_open();
    Buf text = {.arena = t.arena};
    buf_add(&text, STR("model m { input x: f32 output y = x "));
    for (int i = 0; i < 50; i++)
        buf_format(&text, "a%d = b%d ", i, i);
    buf_add(&text, STR("}"));
    assert_null(front_text_elaborate(&t, text.ptr, NULL));
    assert_int_equal(diag_nerrors(t.dx), 20);
    front_text_close(&t);
}

static void test_model_faults(void **state)
{
    (void)state;
    static const Fault faults[] = {
        {"model m { }", "t.slu:1:7: error: model `m` has no output\n"},
        {"model m { input x: f32 return x }",
         "t.slu:1:24: error: a model has outputs, it does not return\n"},
        {"block f(x) { input y: f32 return x } model m { input x: f32 output y = f(x) }",
         "t.slu:1:14: error: `input` stands in a model, not in a block\nt.slu:1:72: note: called "
         "here\n"},
        {"block f(x) { output y = x return x } model m { input x: f32 output y = f(x) }",
         "t.slu:1:14: error: `output` stands in a model, not in a block\nt.slu:1:72: note: called "
         "here\n"},
        {"block f(x) { y = x } model m { input x: f32 output y = f(x) }",
         "t.slu:1:7: error: block `f` ends without `return`\nt.slu:1:56: note: called here\n"},
        {"model m { input x: f32 input x: f32 output y = x }",
         "t.slu:1:30: error: input `x` is declared twice\n"},
        {"model m { input x: f32 output y = x output y = x }",
         "t.slu:1:44: error: output `y` is given twice\n"},
        {"model m { input x: f32 output y = 3 }",
         "t.slu:1:35: error: an output is a tensor or a list of tensors, not 3\n"},
        {"model m { input x: f32 output y = [x, [x]] }",
         "t.slu:1:35: error: an output is a tensor or a list of tensors, not a list\n"},
        {"model m { input x: [2] output y = x }",
         "t.slu:1:20: error: the type needs its elements named: f32, i32, bool\n"},
        {"model m { input x: f32[..] output y = x }",
         "t.slu:1:20: error: `..` is for a block's parameters; every size must be given here\n"},
        {"model m { input x: f32[1.5] output y = x }",
         "t.slu:1:24: error: a size must be an integer, not 1.5\n"},
        {"model m { input x: i32 in 0 .. 1.5 output y = x }",
         "t.slu:1:32: error: a range is of integers, for i32 inputs, not 1.5\n"},
        {"model m { input x: f32 in 0 .. 1 output y = x }",
         "t.slu:1:27: error: a range is of integers, for i32 inputs, not f32\n"},
        {"model m { input x: i32 in 3 .. 3 output y = x }",
         "t.slu:1:27: error: the range 3 .. 3 is empty\n"},
        {"model m { input x: i32 in 0 .. 3 = 3 output y = x }",
         "t.slu:1:36: error: 3 lies outside 0 .. 3\n"},
        {"model m { input x: i32 = true output y = x }",
         "t.slu:1:26: error: the default of i32 must be one i32 value, not true\n"},
        {"model m { input x: bool[2] = 1 output y = x }",
         "t.slu:1:30: error: the default of bool[2] must be one bool value, not 1\n"},
        {"model m { input x: f32[n] param w: f32[n] output y = x * w }",
         "t.slu:1:40: error: a stored tensor's sizes must be numbers; n is symbolic: fix it with "
         "--set "
         "n=N\n"},
        {"model m { input x: f32[n] param w: f32[seq] output y = x * w }",
         "t.slu:1:40: error: unknown name `seq`\n"},
        {"model m { input x: f32[n] input y: f32[n * n] k = 2 input z: f32[2 * q] output w = x }",
         "t.slu:1:70: error: unknown name `q`\n"},
        {"model m { input x: f32 check 1 == 2, \"{x} {y}\" output y = x }",
         "t.slu:1:38: error: unknown name `y`\n"},
        {"model m { input x: f32 check x, \"\" output y = x }",
         "t.slu:1:30: error: expected true or false, not f32\n"},
        {"model m { input x: f32 check false, 3 output y = x }",
         "t.slu:1:37: error: expected a text, not 3\n"},
        {"model m { input x: f32 if x > 0 { } output y = x }",
         "t.slu:1:27: error: a condition is decided when the model is built, but this is bool; "
         "select(c, a, b) chooses by tensor\n"},
        {"model m { input x: f32 a, b = x output y = x }",
         "t.slu:1:24: error: 2 names for 1 value\n"},
        {"model m { input x: f32 a = x, x output y = x }",
         "t.slu:1:24: error: 1 name for 2 values\n"},
        {"model m = 3", "t.slu:1:11: error: `m` must be a call of a model\n"},
        {"model m = dense(3)", "t.slu:1:11: error: expected a model, found block dense\n"},
        {"model m = bert()", "t.slu:1:11: error: bert: argument `layout` is missing\n"},
        {"model m = bert(3)", "t.slu:1:16: error: bert: `layout` must be layout, not 3\n"
                              "std/bert.slu:9:20: note: declared here\n"},
        {"model m = m()", "t.slu:1:11: error: `m` is defined by itself\n"},
        {"let a = b let b = a model m { input x: f32[a] output y = x }",
         "t.slu:1:5: error: `a` is defined by itself\n"},
        {"use \"b.slu\" model m { input x: f32 output y = x }",
         "t.slu:1:5: error: no file `b.slu`\n"},
    };
    CHECK_FAULTS(faults);
}

static void test_call_faults(void **state)
{
    (void)state;
    static const Fault faults[] = {
        {"model m { input x: f32 output y = bert(x) }",
         "t.slu:1:35: error: `bert` is a model: only `model NAME = bert(…)` can call it\n"},
        {"model m { input x: f32 output y = x(1) }",
         "t.slu:1:35: error: `x` is f32, not a block or an operation\n"},
        {"model m { input x: f32 output y = [x][0](1) }",
         "t.slu:1:35: error: this is f32, not a block or an operation\n"},
        {"model m { input x: f32[2] output y = layer_norm(x, 1, 2) }",
         "t.slu:1:55: error: layer_norm: takes 2 arguments: x, eps\n"},
        {"model m { input x: f32[2] output y = layer_norm(x, 1, eps: 2) }",
         "t.slu:1:55: error: layer_norm: argument `eps` is given twice\n"},
        {"model m { input x: f32[2] output y = layer_norm(x, esp: 2) }",
         "t.slu:1:52: error: layer_norm: no argument `esp`; did you mean `eps`?\n"},
        {"model m { input x: f32[2] output y = pool(x, 1, 1, \"max\", 0, true, 3) }",
         "t.slu:1:68: error: pool: takes 6 arguments: x, size, stride, mode, axis, ceil\n"},
        {"model m { input x: f32[2] output y = pool(x, siez: 1) }",
         "t.slu:1:46: error: pool: no argument `siez`; did you mean `size`?\n"},
        {"model m { input x: f32[2] output y = pool(x, 3, size: 1) }",
         "t.slu:1:49: error: pool: argument `size` is given twice\n"},
        {"model m { input x: f32[2] output y = concat([x]) }",
         "t.slu:1:38: error: concat: argument `axis` is missing\n"},
        {"block f(x) { return dense(x, ..) } model m { input x: f32[2] output y = f(x) }",
         "t.slu:1:30: error: `..` passes on the rest of the arguments, but there is none: end the "
         "block's parameters with `..`\nt.slu:1:73: note: called here\n"},
        {"block f(x: int) { return x } model m { input x: f32 output y = x + f(1.5) }",
         "t.slu:1:70: error: f: `x` must be int, not 1.5\nt.slu:1:12: note: declared here\n"},
        {"block f(x: quux) { return x } model m { input x: f32 output y = x + f(1.5) }",
         "t.slu:1:12: error: no type `quux`\n"},
        {"block f(x: i32[..]) { return x } model m { input x: f32 output y = f(x) }",
         "t.slu:1:70: error: f: `x` must be i32[..], not f32\nt.slu:1:12: note: declared here\n"},
        {"block f(x: f32[A, B, C]) { return x } model m { input x: f32[2, 3] output y = f(x) }",
         "t.slu:1:81: error: f: `x` must be f32[A, B, C], not f32[2, 3]\nt.slu:1:12: note: "
         "declared "
         "here\n"},
        // Both shapes and both places.
        {"block f(a: f32[N, D], b: f32[.., D]) { return a }\nmodel m { input x: f32[8, 4] input z: "
         "f32[5]\n output y = f(x,\n b: z) }",
         "t.slu:4:2: error: f: `b` must be f32[.., D], not f32[5]: D is 4 here\n"
         "t.slu:1:26: note: declared here\nt.slu:3:15: note: D comes from f32[8, 4]\n"},
        {"block f(a: f32[N, 2 * N]) { return a } model m { input x: f32[2, 5] output y = f(x) }",
         "t.slu:1:82: error: f: `a` must be f32[N, 2 * N], not f32[2, 5]: 2 * N = 4\n"
         "t.slu:1:12: note: declared here\n"},
        {"model m { input x: f32[2] output y = split(x, 3) }",
         "t.slu:1:47: error: split: 2 does not divide into 3 equal parts: axis 0 of f32[2]\n"},
        {"model m { input x: f32[2] output y = split(x, [1, 2]) }",
         "t.slu:1:47: error: split: the parts add up to 3, but axis 0 of f32[2] has 2\n"},
        {"model m { input x: f32[2] output y = split(x, 2, axis: 1) }",
         "t.slu:1:50: error: split: axis 1 is out of range for a tensor of rank 1\n"},
        {"model m { input x: f32[2] output y = concat([], axis: 0) }",
         "t.slu:1:45: error: concat: `parts` is an empty list\n"},
        {"model m { input x: f32[2] output y = concat([x, 3], axis: 0) }",
         "t.slu:1:45: error: concat: `parts` must be tensors, not 3\n"},
        {"model m { input x: f32[2] output y = reshape(x, [2, 0]) }",
         "t.slu:1:49: error: reshape: `shape` is 0, but must be at least 1\n"},
        {"model m { input x: f32[2] output y = reshape(x, 2) }",
         "t.slu:1:49: error: reshape: `shape` must be a list of sizes, not 2\n"},
        {"model m { input x: f32[n] output y = repeat(x, n, axis: 0) }",
         "t.slu:1:48: error: repeat: `times` must be a number, not the symbolic size n\n"},
        {"model m { input x: f32[2] output y = sum(x, \"a\") }",
         "t.slu:1:45: error: sum: `axis` must be an integer, not \"a\"\n"},
        {"model m { input x: f32[2] output y = max(x) }",
         "t.slu:1:38: error: max: give two values, or one tensor and `axis:`\n"},
        {"model m { input x: f32[n] output y = x * max(n, 3) }",
         "t.slu:1:42: error: max: whether n <= 3 is not known; fix it with --set n=N, or declare "
         "it: "
         "check n <= 3, \"…\"\n"},
        {"model m { input x: f32[2] output y = exp(\"a\") + sqrt(-1.0) }",
         "t.slu:1:42: error: exp: `x` must be a tensor, not \"a\"\n"},
        {"model m { input x: f32[2] output y = x + sqrt(-1.0) }",
         "t.slu:1:47: error: sqrt: the result is not a finite number\n"},
    };
    CHECK_FAULTS(faults);
}

static void test_expression_faults(void **state)
{
    (void)state;
    static const Fault faults[] = {
        {"model m { input x: i32[2] output y = x + 1.5 output z = x + 3000000000 }",
         "t.slu:1:38: error: 1.5 does not fit among i32 values\n"
         "t.slu:1:57: error: 3000000000 does not fit among i32 values\n"},
        {"model m { input x: f32[2] output y = x + 1e39 output z = x + true }",
         "t.slu:1:38: error: 1e39 does not fit among f32 values\n"
         "t.slu:1:58: error: true does not fit among f32 values\n"},
        {"model m { input x: f32[2] output y = x[0, 1] output z = x[1.5] output w = x[n] }",
         "t.slu:1:38: error: 2 subscripts for f32[2]\n"
         "t.slu:1:59: error: a subscript must be an integer, not 1.5\n"
         "t.slu:1:77: error: unknown name `n`\n"},
        {"model m { input x: f32[2] output y = [x][1] output z = [x][\"a\"] output w = [x][new] "
         "output v = [x][:: 2] output u = 3[0] }",
         "t.slu:1:42: error: index 1 is out of range for a list of 1\n"
         "t.slu:1:60: error: a list is indexed by integers, not by \"a\"\n"
         "t.slu:1:80: error: a list is indexed by one integer or one slice\n"
         "t.slu:1:103: error: a slice of a list has no step\n"
         "t.slu:1:117: error: 3 cannot be subscripted\n"},
        {"model m { input x: f32[2] output y = x.shap output z = B1H8.q output w = 3 .x }",
         "t.slu:1:38: error: f32[2] has no field `shap`\n"
         "t.slu:1:56: error: a layout has no field `q`: it has groups, text, family, H, F, A, E, "
         "D, T "
         "and S\n"
         "t.slu:1:74: error: 3 has no field `x`\n"},
        {"model m { input x: f32[2] a = 1 / 0 b = 1 % 0 c = 1.0 / 0 d = 2 ** 63 e = 1e300 ** 2 "
         "output y "
         "= x }",
         "t.slu:1:31: error: division by zero\nt.slu:1:41: error: division by zero\n"
         "t.slu:1:51: error: division by zero\nt.slu:1:63: error: the result does not fit in 64 "
         "bits\n"
         "t.slu:1:75: error: the result is not a finite number\n"},
        {"model m { input x: f32[n] a = n / n b = n ** 2 c = n % 0 d = -\"a\" e = not 3 f = 1 == "
         "\"a\" "
         "output y = x }",
         "t.slu:1:31: error: a size is divided by a positive number only, not by n; f32(n) makes a "
         "number of a size\n"
         "t.slu:1:41: error: no `**` of n and 2\n"
         "t.slu:1:52: error: a size is divided by a positive number only, not by 0; f32(n) makes a "
         "number of a size\n"
         "t.slu:1:62: error: no `-` of \"a\"\nt.slu:1:71: error: no `not` of 3\n"
         "t.slu:1:81: error: 1 and \"a\" are of different kinds\n"},
        {"model m { input x: f32[2] y = dense(x, 2) as a[1.5] z = dense(x, 2) as [\"\"] output w = "
         "x }",
         "t.slu:1:48: error: a path takes integers and texts in brackets, not 1.5\n"
         "t.slu:1:73: error: a piece of a path is empty\n"},
    };
    CHECK_FAULTS(faults);
}

// ---- programs that would not end ----

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message; // in the only line that is an error
    } cases[] = {
        {"block f(x) { return f(x) } model m { input x: f32 output y = f(x) }",
         "f: calls nested deeper than 100, since it calls itself"},
        {"block f(x) { return g(x) } block g(x) { return f(x) } model m { input x: f32 output y = "
         "f(x) }",
         "calls nested deeper than 100, since it calls itself"},
        {"model m { input x: f32 for i in 0 .. 9000000000000000000 { } output y = x }",
         "this model takes more than 20000000 steps to elaborate"},
        {"block f(n) { if n < 2 { return 1 } return f(n - 1) + f(n - 2) } model m { input x: f32 "
         "output "
         "y = x + f(90) }",
         "this model takes more than 20000000 steps to elaborate"},
        {"model m { input x: f32 for i in 0 .. 9000000000000000000 { x = x + 1 } output y = x }",
         "more than 1000000 operations"},
        {"model m { input x: f32 l = [1] for i in 0 .. 99 { l = l + l } output y = x }",
         "a list of more than 100000 members"},
        {"model m { input x: f32 l = [1] for i in 0 .. 999 { l = [l] } output y = x }",
         "lists nested deeper than 200"},
        {"model m { input x: f32 l, k = [1], [1] for i in 0 .. 99 { l, k = [l, l], [k, k] } if l "
         "== k { "
         "} output y = x }",
         "this model takes more than 20000000 steps to elaborate"},
        {"model m { input x: f32[n] s = n for i in 0 .. 999 { s = s * s } output y = x }",
         "a size does not fit in 64 bits, or is too long"},
        {"model m { input x: f32[n] s = n for i in 0 .. 999 { s = s / 2 + s / 3 } output y = x }",
         "a size does not fit in 64 bits, or is too long"},
        {"model m { input x: f32[n] for i in 0 .. 999 { x = concat([x, x], axis: 0) } output y = x "
         "}",
         "has too many elements"},
        {"model m = funnel(B2147483647H8A2)", "funnel: more than 1000000 operations"},
        {"model m { input x: f32[2] output y = split(x, 4000000000000000000) }",
         "split: `parts` must be a number of parts or a list of sizes, not 4000000000000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_null(front_text_elaborate(&t, cases[i].text, NULL));
        assert_int_equal(diag_nerrors(t.dx), 1);
        const char *messages = front_text_messages(&t);
        if (!strstr(messages, cases[i].message))
            assert_string_equal(messages, cases[i].message);
        front_text_close(&t);
    }
}

// `before`, then n times `format` with a number and the next in it, then `after`.
static const char *numbered(FrontText *t, const char *before, const char *format[3], size_t n,
                            const char *after)
{
    Buf buf = {.arena = t->arena};
    buf_add(&buf, str_from(before));
    for (size_t i = 0; i < n; i++)
        buf_format(&buf, "%s%zu%s%zu%s", format[0], i, format[1], i + 1, format[2]);
    buf_add(&buf, str_from(after));
    return buf.ptr;
}

static void test_long(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const char *inputs[] = {"input x", ": f32[n", "] "};
    const char *output = " output y = x0 }";
    assert_non_null(
        front_text_elaborate(&t, numbered(&t, "model m { ", inputs, LIMIT_SYMBOLS, output), NULL));
    assert_null(front_text_elaborate(
        &t, numbered(&t, "model m { ", inputs, LIMIT_SYMBOLS + 1, output), NULL));
    assert_non_null(
        strstr(front_text_messages(&t), "error: more than 1000 names of sizes in the inputs\n"));
    const char *lets[] = {"let a", " = a", "\n"};
    const char *model = "let a200 = 1 model m { input x: f32 output y = x + a0 }";
    assert_null(front_text_elaborate(&t, numbered(&t, "", lets, 200, model), NULL));
    assert_string_equal(front_text_messages(&t),
                        "t.slu:100:5: error: `a99` is defined by too many others\n");
    const char *words[] = {"a_long_enough_word_", ".so_that_some_of_them_are_much_", "."};
    assert_null(front_text_elaborate(&t,
                                     numbered(&t, "model m { input x: f32[1] y = dense(x, 1) as ",
                                              words, 2000, "end output z = y }"),
                                     NULL));
    assert_string_equal(front_text_messages(&t),
                        "t.slu:1:31: error: a path of more than 65536 characters\n");
    // Each hole is short, what comes of it is not.
    const char *holes[] = {"{t} ", " {t} ", " {t}"};
    const char *text =
        numbered(&t, "let t = \"", words, 900, "\" model m { input x: f32 check false, \"");
    text = numbered(&t, text, holes, 9, "\" output y = x }");
    assert_null(front_text_elaborate(&t, text, NULL));
    assert_non_null(strstr(front_text_messages(&t), "error: a text of more than 65536 bytes\n"));
    front_text_close(&t);
}

// Twenty thousand levels of expressions inside each other, from a thread with hardly any stack.
static void *run_deep(void *ctx)
{
    FrontText *t = ctx;
    Buf text = {.arena = t->arena};
    buf_add(&text, STR("block g(x) { return x } block f(n) { return "));
    for (int i = 0; i < LIMIT_NESTING - 5; i++)
        buf_add(&text, STR("g("));
    buf_add(&text, STR("f(n + 1)"));
    for (int i = 0; i < LIMIT_NESTING - 5; i++)
        buf_add(&text, STR(")"));
    buf_add(&text, STR(" } model m { input x: f32 output y = x + f(0) }"));
    return front_text_elaborate(t, text.ptr, NULL);
}

static void test_small_stack(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    pthread_attr_t attributes;
    pthread_t thread;
    void *graph;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_deep, &t), 0);
    assert_int_equal(pthread_join(thread, &graph), 0);
    pthread_attr_destroy(&attributes);
    assert_null(graph);
    assert_non_null(strstr(front_text_messages(&t), "calls nested deeper than 100"));
    front_text_close(&t);
}

// ---- files ----

// Files of a made-up folder: pairs of name and text, ended by NULL.
static bool read_file(void *ctx, Arena *arena, Str from, Str path, FrontFile *out)
{
    (void)arena;
    assert_true(str_ends(from, STR(".slu")));
    for (const char *const *file = ctx; *file; file += 2) {
        if (str_equal(str_from(file[0]), path)) {
            *out = (FrontFile){path, path, str_from(file[1])};
            return true;
        }
    }
    if (str_equal(path, STR("locked.slu")))
        out->text = STR("permission denied");
    return false;
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *files[9]; // the first is the main one
        const char *messages; // NULL: none
    } cases[] = {
        {{"a.slu", "use \"b.slu\" model m { input x: f32[K] output y = f(x) }", "b.slu",
          "let K = 4 block f(x) { return g(x) } block g(x) { return x }"},
         NULL},
        // A used file sees its own names, not those of its user, nor does use reach further than
        // one file.
        {{"a.slu", "use \"b.slu\" let K = 3 model m { input x: f32 output y = f(x) }", "b.slu",
          "block f(x) { return x * K }"},
         "b.slu:1:25: error: unknown name `K`\na.slu:1:57: note: called here\n"},
        {{"a.slu", "use \"b.slu\" model m { input x: f32 output y = f(x) }", "b.slu",
          "use \"c.slu\"", "c.slu", "block f(x) { return x }"},
         "a.slu:1:47: error: unknown name `f`\n"},
        // Twice the same file is no harm, also by two ways.
        {{"a.slu",
          "use \"b.slu\" use \"c.slu\" use \"b.slu\" model m { input x: f32 output y = f(x) }",
          "b.slu", "use \"c.slu\"", "c.slu", "block f(x) { return x }"},
         NULL},
        {{"a.slu", "use \"a.slu\""},
         "a.slu:1:5: error: files use each other: `a.slu` is being read\n"},
        {{"a.slu", "use \"b.slu\"", "b.slu", "use \"c.slu\"", "c.slu", "let x = 1 use \"b.slu\""},
         "c.slu:1:15: error: files use each other: `b.slu` is being read\n"},
        {{"a.slu", "use \"no.slu\" use \"locked.slu\" use \"b.slu\"", "b.slu", "let x = "},
         "a.slu:1:5: error: no file `no.slu`\n"
         "a.slu:1:18: error: cannot read `locked.slu`: permission denied\n"
         "b.slu:1:9: error: expected an expression, found the end of the file\n"},
        // A used file's families are its own; the user's come before the library's.
        {{"a.slu", "use \"b.slu\" model m = tiny(B1H8)", "b.slu",
          "model tiny(l) { input x: f32[l.H] output y = x }"},
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        FrontReader reader = {read_file, (void *)cases[i].files};
        FrontFile file = {STR("a.slu"), STR("a.slu"), str_from(cases[i].files[1])};
        FrontSpec spec = {.file = &file, .reader = &reader};
        const Graph *graph = front_elaborate(t.arena, t.dx, &spec, NULL, NULL);
        assert_string_equal(front_text_messages(&t), cases[i].messages ? cases[i].messages : "");
        assert_int_equal(graph == NULL, cases[i].messages != NULL);
        front_text_close(&t);
    }
}

static void test_many_files(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const char *files[2 * LIMIT_FILES + 4] = {NULL};
    for (size_t i = 0; i <= LIMIT_FILES; i++) {
        files[2 * i] = str_cstr(t.arena, str_format(t.arena, "%zu.slu", i));
        files[2 * i + 1] = str_cstr(t.arena, str_format(t.arena, "use \"%zu.slu\"", i + 1));
    }
    FrontReader reader = {read_file, (void *)files};
    FrontFile file = {STR("0.slu"), STR("0.slu"), str_from(files[1])};
    FrontSpec spec = {.file = &file, .reader = &reader};
    assert_null(front_elaborate(t.arena, t.dx, &spec, NULL, NULL));
    assert_string_equal(front_text_messages(&t), "99.slu:1:5: error: more than 100 files\n");
    front_text_close(&t);
}

// ---- which model ----

static Graph *elaborate_spec(FrontText *t, const char *text, const char *model, const char *layout,
                             FrontReport *report)
{
    FrontFile file = {STR("t.slu"), STR("t.slu"), text ? str_from(text) : (Str){0}};
    FrontSpec spec = {.file = text ? &file : NULL,
                      .model = model ? str_from(model) : (Str){0},
                      .layout = layout ? str_from(layout) : (Str){0}};
    return front_elaborate(t->arena, t->dx, &spec, NULL, report);
}

static void test_choice(void **state)
{
    (void)state;
    const char *two = "model first { input x: f32 output y = x } model second = third() "
                      "model third { input x: f32 output y = x }";
    FrontText t = front_text_open();
    const Graph *graph = elaborate_spec(&t, two, "second", NULL, NULL);
    assert_non_null(graph);
    assert_true(str_equal(graph->name, STR("second")));
    assert_null(elaborate_spec(&t, two, NULL, NULL, NULL));
    assert_null(elaborate_spec(&t, two, "thrid", NULL, NULL));
    assert_null(elaborate_spec(&t, "let a = 1", NULL, NULL, NULL));
    assert_null(elaborate_spec(&t, NULL, NULL, "Q2H8", NULL));
    assert_null(elaborate_spec(&t, NULL, NULL, "B2--2H8", NULL));
    assert_null(elaborate_spec(&t, NULL, NULL, "L2-2H8A2", NULL));
    assert_string_equal(
        front_text_messages(&t),
        "<command line>:1:1: error: t.slu has 3 models: first, second, third; name one: "
        "t.slu:first\n"
        "<command line>:1:7: error: no model `thrid`; did you mean `third`?\n"
        "<command line>:1:1: error: t.slu has no model\n"
        "<command line>:1:1: error: layout Q2H8: no family `Q`; there are `L`, `B`, `G`, `M`, "
        "`V`\n"
        "<command line>:1:4: error: layout B2--2H8: the number of layers is missing\n"
        "<command line>:1:1: error: bert: L2-2H8A2: of text layouts only Funnel's (B...) pool "
        "between "
        "groups\n"
        "std/bert.slu:191:11: note: checked here\n");
    size_t n;
    FrontFile file = {STR("t.slu"), STR("t.slu"), str_from(two)};
    const Str *models = front_models(t.arena, t.dx, &file, &n);
    assert_int_equal(n, 3);
    assert_true(str_equal(models[1], STR("second")));
    assert_true(front_is_layout(STR("B6-6H8")));
    assert_false(front_is_layout(STR("B6-6H8.slu")));
    assert_false(front_is_layout(STR("b6")));
    front_text_close(&t);
}

// Numbers that others published for the same models.
static void test_library(void **state)
{
    (void)state;
    static const struct {
        const char *layout;
        int64_t nparams;
    } cases[] = {
        {"B6-3x2-3x2H768", 115611648}, {"B6-6-6H768", 161696256},  {"B8-8-8H1024", 358830080},
        {"B10-10-10H1024", 440723456}, {"L12H768", 109482240},     {"V12H384", 22050664},
        {"M8H512S256F2048", 18528264}, {"G30H256F1536", 19422656},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        const Graph *graph = elaborate_spec(&t, NULL, NULL, cases[i].layout, NULL);
        assert_non_null(graph);
        int64_t total = 0;
        for (size_t k = 0; k < graph->nodes.n; k++) {
            const Node *node = graph->nodes.items[k];
            int64_t count = 0;
            if (node->op == OP_param)
                assert_true(size_is_int(type_count(t.arena, &node->type), &count));
            total += count;
        }
        assert_int_equal(total, cases[i].nparams);
        Buf why = {.arena = t.arena};
        assert_true(graph_verify(graph, &why));
        front_text_close(&t);
    }
}

// Every model of the library elaborates.
static void test_models(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "bert(L1H8A2)",
        "sentence_embedding(L1H8A2)",
        "bert_classifier(L1H8A2)",
        "bert_token_classifier(L1H8A2)",
        "bert_question_answering(L1H8A2)",
        "bert_masked_lm(L1H8A2)",
        "bert_multiple_choice(L1H8A2)",
        "bert_next_sentence(L1H8A2)",
        "bert_pretraining(L1H8A2)",
        "electra(L1H8A2)",
        "electra_generator(L1H8A2, embed: 4)",
        "electra_classifier(L1H8A2)",
        "electra_token_classifier(L1H8A2, embed: 4)",
        "electra_question_answering(L1H8A2)",
        "electra_multiple_choice(L1H8A2)",
        "funnel(B1-1H8A2)",
        "relative_transformer(L1H8A2)",
        "funnel_classifier(B1-1x2H8A2)",
        "funnel_multiple_choice(B1-1H8A2)",
        "funnel_token_classifier(B1-1H8A2D1)",
        "funnel_question_answering(B1-1H8A2D1, separate_cls: false)",
        "funnel_masked_lm(B1-1H8A2D1, truncate: false)",
        "funnel_discriminator(B1-1H8A2D1, attention: by_factors, pool_q_only: false)",
        "vit(V1H8A2)",
        "vit(V1H8A2, distilled: true, qkv_bias: false)",
        "vit_encoder(V1H8A2, distilled: true)",
        "vit(V1H8A2, readout: \"mean\", class_token: false)",
        "deit_distilled(V1H8A2)",
        "mixer(M1H8)",
        "gmlp_vision(G1H8F16)",
        "gmlp_vision(G1-1H8F16T4, mix: toeplitz_mix)",
        "gmlp_vision(G1H8, gate: additive_gate)",
        "gmlp_masked_lm(G1H8F16)",
        "lucid_gmlp_features(G1H8F16T4, length: 9, causal: true, shift: 1)",
        "lucid_gmlp_vision(G1H8F16)",
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        FrontText t = front_text_open();
        // What reads few positions wants a fixed number of them.
        FrontSize seq = {STR("seq"), 9};
        bool is_text = strstr(calls[i], "funnel") || strstr(calls[i], "features");
        FrontOptions options = {.sizes = &seq, .nsizes = is_text ? 1 : 0};
        Str text = str_format(t.arena, "model m = %s", calls[i]);
        assert_non_null(front_text_elaborate(&t, str_cstr(t.arena, text), &options));
        front_text_close(&t);
    }
}

// ---- settings ----

#define TINY                                                                                       \
    "block scaled(x, factor = 2.0, mode = \"plain\", act = gelu) { check mode == \"plain\" or "    \
    "mode == "                                                                                     \
    "\"odd\", \"mode {mode}\" return act(x) * factor } "                                           \
    "model tiny(width = 3, kind = \"a\", ..) { input x: f32[batch, seq, width] input m: "          \
    "bool[batch] = "                                                                               \
    "true output y = scaled(x, ..) if kind == \"b\" { output z = m } } "

// The outputs of model `tiny`, or of `q` where there is one, or the messages.
static const char *set(FrontText *t, const char *text, const char *settings, const char *without)
{
    // "name=value name=value", and "--name=value" for a size
    FrontSetting list[8];
    FrontSize sizes[8];
    Str names[1];
    FrontOptions options = {.settings = list, .sizes = sizes, .without = names};
    for (const char *s = settings; *s;) {
        const char *equals = strchr(s, '=');
        const char *end = strchr(equals, ' ') ? strchr(equals, ' ') : equals + strlen(equals);
        Str name = {s, (size_t)(equals - s)};
        Str value = {equals + 1, (size_t)(end - equals - 1)};
        if (str_starts(name, STR("--"))) {
            FrontSize *size = &sizes[options.nsizes++];
            size->name = (Str){name.ptr + 2, name.len - 2};
            assert_true(str_to_int(value, &size->value));
        } else {
            list[options.nsettings++] = (FrontSetting){name, value};
        }
        s = *end ? end + 1 : end;
    }
    if (without) {
        names[0] = str_from(without);
        options.nwithout = 1;
    }
    FrontFile file = {STR("t.slu"), STR("t.slu"), str_from(text)};
    FrontSpec spec = {.file = &file, .model = strstr(text, "model q") ? STR("q") : STR("tiny")};
    return front_text_show(t, front_elaborate(t->arena, t->dx, &spec, &options, NULL));
}

static void test_settings(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const char *settings;
        const char *without;
        const char *expected;
    } cases[] = {
        {"", "", NULL, "y: f32[batch, seq, 3]\n"},
        {"", "width=5", NULL, "y: f32[batch, seq, 5]\n"},
        {"", "width=2+3*2", NULL, "y: f32[batch, seq, 8]\n"},
        {"", "--seq=7", NULL, "y: f32[batch, 7, 3]\n"},
        {"", "batch=4 --seq=7", NULL, "y: f32[4, 7, 3]\n"},
        {"", "seq=7 width=batch", NULL, "--set width:1:1: error: unknown name `batch`\n"},
        // A bare word is a text where the default is one, else a name.
        {"", "kind=b", NULL, "y: f32[batch, seq, 3]\nz: bool[batch]\n"},
        {"", "kind=\"b\"", NULL, "y: f32[batch, seq, 3]\nz: bool[batch]\n"},
        {"", "kind=b", "m", "y: f32[batch, seq, 3]\nz: bool[batch]\n"},
        {"", "mode=odd act=relu factor=3", NULL, "y: f32[batch, seq, 3]\n"},
        {"", "mode=max", NULL, "t.slu:1:67: error: mode max\nt.slu:1:251: note: called here\n"},
        {"", "act=relux", NULL,
         "--set act:1:1: error: unknown name `relux`; did you mean `relu`?\n"},
        {"", "act=3", NULL,
         "t.slu:1:122: error: `act` is 3, not a block or an operation\nt.slu:1:251: note: called "
         "here\n"},
        // Over what a call says, by place or by name.
        {"model q = tiny(4, kind: \"b\")", "", NULL, "y: f32[batch, seq, 4]\nz: bool[batch]\n"},
        {"model q = tiny(4, kind: \"b\")", "width=6 kind=a", NULL, "y: f32[batch, seq, 6]\n"},
        {"", "wdth=5", NULL,
         "<command line>:1:1: error: `tiny` has no parameter, option or size `wdth`; did you mean "
         "`width`?\n"},
        {"", "mod=odd", NULL,
         "<command line>:1:1: error: tiny: nothing takes the argument `mod`; did you mean "
         "`mode`?\n"},
        {"", "width=5 width=6", NULL, "<command line>:1:1: error: `width` is set twice\n"},
        {"", "seq=5 --seq=6", NULL, "<command line>:1:1: error: `seq` is set twice\n"},
        {"", "width=(5", NULL, "--set width:1:3: error: expected `)`, found the end of the file\n"},
        {"", "width=1.5", NULL, "t.slu:1:205: error: a size must be an integer, not 1.5\n"},
        {"", "batch=0", NULL, "<command line>:1:1: error: a size must be at least 1, not 0\n"},
        {"", "--n=7", NULL,
         "<command line>:1:1: error: `tiny` has no size `n`; it has `batch`, `seq`\n"},
        {"", "", "x", "<command line>:1:1: error: the input `x` has no default\n"},
        {"", "", "mm", "<command line>:1:1: error: `tiny` has no input `mm`; there are `x`, `m`\n"},
        {"", "", "nothing",
         "<command line>:1:1: error: `tiny` has no input `nothing`; there are `x`, `m`\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        Str text = str_format(t.arena, "%s%s", TINY, cases[i].model);
        assert_string_equal(set(&t, str_cstr(t.arena, text), cases[i].settings, cases[i].without),
                            cases[i].expected);
        front_text_close(&t);
    }
}

static void test_options(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    FrontReport report;
    assert_non_null(elaborate_spec(&t, TINY, NULL, NULL, &report));
    static const char *const expected[][3] = {
        {"width", "3", "tiny"},          {"kind", "\"a\"", "tiny"}, {"factor", "2.0", "scaled"},
        {"mode", "\"plain\"", "scaled"}, {"act", "gelu", "scaled"},
    };
    assert_int_equal(report.noptions, 5);
    for (size_t i = 0; i < 5; i++) {
        const FrontOption *option = &report.options[i];
        assert_true(str_equal(option->name, str_from(expected[i][0])));
        assert_true(str_equal(option->value, str_from(expected[i][1])));
        assert_true(str_equal(option->owner, str_from(expected[i][2])));
        Str at = {option->at.source->text.ptr + option->at.begin, option->name.len};
        assert_true(str_equal(at, option->name));
    }
    // What a block on the way gives is no option, nor what only an inner `..` leads to.
    assert_non_null(
        elaborate_spec(&t,
                       "block g(x, a = 1, b = 2, c = 3) { return x * a } "
                       "block f(x, c = 4, ..) { return g(x, b: 5, ..) } "
                       "block e(x, ..) { return f(x, a: 1, ..) } "
                       "model m(..) { input x: f32 output y = e(x) output z = e(x, ..) }",
                       NULL, NULL, &report));
    assert_int_equal(report.noptions, 1);
    assert_true(str_equal(report.options[0].name, STR("c")));
    assert_true(str_equal(report.options[0].owner, STR("f")));
    front_text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_faults),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_model_faults),
        cmocka_unit_test(test_call_faults),
        cmocka_unit_test(test_expression_faults),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_small_stack),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
