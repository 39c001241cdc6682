// The tree: precedence, places, printing and reading back, and what each break of the grammar is
// told.
#include "front/limits.h"
#include "front/parse.h"
#include "front/std_files.h"

#include "front_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// ---- a form of trees that hides nothing: (+ a (f x)) ----

static void show(Buf *buf, const Expr *e);

static void show_path(Buf *buf, const Path *path)
{
    for (size_t i = 0; i < path->n; i++) {
        buf_add(buf, STR(" "));
        if (path->items[i].value)
            show(buf, path->items[i].value);
        else
            buf_quoted(buf, path->items[i].text);
    }
}

static void show_optional(Buf *buf, const Expr *e)
{
    if (e)
        show(buf, e);
    else
        buf_char(buf, '_');
}

static void show_subs(Buf *buf, const SubList *subs)
{
    for (size_t i = 0; i < subs->n; i++) {
        const Sub *sub = &subs->items[i];
        buf_char(buf, ' ');
        switch (sub->kind) {
        case SUBSCRIPT_index: show(buf, sub->start); break;
        case SUBSCRIPT_new: buf_add(buf, STR("new")); break;
        case SUBSCRIPT_rest: buf_add(buf, STR("..")); break;
        case SUBSCRIPT_slice:
            buf_add(buf, STR("(: "));
            show_optional(buf, sub->start);
            buf_char(buf, ' ');
            show_optional(buf, sub->stop);
            buf_char(buf, ' ');
            show_optional(buf, sub->step);
            buf_char(buf, ')');
            break;
        }
    }
}

static void show_args(Buf *buf, const ArgList *args)
{
    for (size_t i = 0; i < args->n; i++) {
        buf_format(buf, " %.*s", STR_ARG(args->items[i].name));
        buf_add(buf, args->items[i].name.len ? STR(":") : STR(""));
        if (args->items[i].value)
            show(buf, args->items[i].value);
        else
            buf_add(buf, STR(".."));
    }
}

static void show_parts(Buf *buf, const Expr *e)
{
    const Expr *const parts[] = {e->left, e->right, e->third};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i]) {
            buf_char(buf, ' ');
            show(buf, parts[i]);
        }
    }
}

static void show(Buf *buf, const Expr *e)
{
    switch (e->kind) {
    case EXPR_name: buf_add(buf, e->name); return;
    case EXPR_int: buf_format(buf, "%lld", (long long)e->integer); return;
    case EXPR_float: buf_format(buf, "%a", e->real); return;
    case EXPR_bool: buf_add(buf, e->truth ? STR("true") : STR("false")); return;
    case EXPR_text: buf_quoted(buf, e->name); return;
    case EXPR_layout: buf_add(buf, e->layout->text); return;
    case EXPR_list:
        buf_add(buf, STR("(list"));
        for (size_t i = 0; i < e->items.n; i++) {
            buf_char(buf, ' ');
            show(buf, e->items.items[i]);
        }
        break;
    case EXPR_not: buf_add(buf, STR("(not")); break;
    case EXPR_minus: buf_add(buf, STR("(neg")); break;
    case EXPR_binary: buf_format(buf, "(%s", binary_op_text(e->op)); break;
    case EXPR_choice: buf_add(buf, STR("(if")); break;
    case EXPR_call: buf_add(buf, STR("(call")); break;
    case EXPR_index: buf_add(buf, STR("(index")); break;
    case EXPR_field: buf_format(buf, "(field \"%.*s\"", STR_ARG(e->name)); break;
    case EXPR_as: buf_add(buf, e->is_shared ? STR("(shared") : STR("(as")); break;
    }
    if (e->kind != EXPR_list)
        show_parts(buf, e);
    if (e->kind == EXPR_call)
        show_args(buf, &e->args);
    else if (e->kind == EXPR_index)
        show_subs(buf, &e->subs);
    else if (e->kind == EXPR_as)
        show_path(buf, &e->path);
    buf_char(buf, ')');
}

static void show_type(Buf *buf, const TypeRef *type)
{
    buf_format(buf, " <%.*s", STR_ARG(type->name));
    for (size_t i = 0; type->has_dims && i < type->dims.n; i++) {
        buf_char(buf, ' ');
        show_optional(buf, type->dims.items[i].size);
    }
    buf_add(buf, type->has_dims ? STR("]>") : STR(">"));
}

static void show_body(Buf *buf, const StmtList *body);

static void show_stmt(Buf *buf, const Stmt *s)
{
    static const char *const words[] = {"input", "output", "param", "assign",
                                        "for",   "if",     "check", "return"};
    buf_format(buf, "(%s %.*s", words[s->kind], STR_ARG(s->name.text));
    if (s->is_shared)
        buf_add(buf, STR(" shared"));
    show_path(buf, &s->path);
    if (s->type)
        show_type(buf, s->type);
    for (size_t i = 0; i < s->names.n; i++)
        buf_format(buf, " %.*s", STR_ARG(s->names.items[i].text));
    const Expr *const parts[] = {s->low, s->high, s->condition, s->value};
    for (size_t i = 0; i < 4; i++) {
        buf_char(buf, ' ');
        show_optional(buf, parts[i]);
    }
    for (size_t i = 0; i < s->values.n; i++) {
        buf_char(buf, ' ');
        show(buf, s->values.items[i]);
    }
    show_body(buf, &s->body);
    show_body(buf, &s->otherwise);
    buf_char(buf, ')');
}

static void show_body(Buf *buf, const StmtList *body)
{
    buf_char(buf, '{');
    for (size_t i = 0; i < body->n; i++)
        show_stmt(buf, body->items[i]);
    buf_char(buf, '}');
}

static void show_item(Buf *buf, const Item *item)
{
    buf_format(buf, "(%d %.*s %.*s %d", (int)item->kind, STR_ARG(item->name.text),
               STR_ARG(item->target.text), (int)item->params.is_open);
    for (size_t i = 0; i < item->params.list.n; i++) {
        const Param *param = &item->params.list.items[i];
        buf_format(buf, " %.*s", STR_ARG(param->name));
        if (param->type)
            show_type(buf, param->type);
        show_optional(buf, param->fallback);
    }
    show_optional(buf, item->value);
    show_body(buf, &item->body);
    buf_char(buf, ')');
}

static const char *show_file(FrontText *t, const File *file)
{
    Buf buf = {.arena = t->arena};
    buf_add(&buf, STR(""));
    for (size_t i = 0; i < file->items.n; i++) {
        show_item(&buf, file->items.items[i]);
        buf_char(&buf, '\n');
    }
    return buf.ptr ? buf.ptr : "";
}

static const char *shown_expr(FrontText *t, const char *text)
{
    const Expr *e = parse_expr(t->arena, t->dx, front_text_source(t, text));
    if (!e)
        return front_text_messages(t);
    Buf buf = {.arena = t->arena};
    show(&buf, e);
    return buf.ptr;
}

// ---- tests ----

static void test_precedence(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a + b * c", "(+ a (* b c))"},
        {"(a + b) * c", "(* (+ a b) c)"},
        {"a - b - c", "(- (- a b) c)"},
        {"a / b % c @ d * e", "(* (@ (% (/ a b) c) d) e)"},
        {"a ** b ** c", "(** a (** b c))"},
        {"-a ** b", "(neg (** a b))"},
        {"a ** -b", "(** a (neg b))"},
        {"a * E ** -0.5", "(* a (** E (neg 0x1p-1)))"},
        {"- -a", "(neg (neg a))"},
        {"-a * b", "(* (neg a) b)"},
        {"a or b and c", "(or a (and b c))"},
        {"not a and b", "(and (not a) b)"},
        {"not a == b", "(not (== a b))"},
        {"not not a or b", "(or (not (not a)) b)"},
        {"a + b < c * d and e", "(and (< (+ a b) (* c d)) e)"},
        {"if a then b else c + d", "(if a b (+ c d))"},
        {"1 + if a then b else c + d", "(+ 1 (if a b (+ c d)))"},
        {"if a then if b then c else d else e", "(if a (if b c d) e)"},
        {"f(x).y[0](z)", "(call (index (field \"y\" (call f x)) 0) z)"},
        {"x + f(y) as p", "(+ x (as (call f y) \"p\"))"},
        {"f(y) as p + x", "(+ (as (call f y) \"p\") x)"},
        {"(f(y) as p)(z)", "(call (as (call f y) \"p\") z)"},
        {"f(x) as a.output[i].\"0\"[j + 1] shared",
         "(shared (call f x) \"a\" \"output\" i \"0\" (+ j 1))"},
        {"-f(x) as p", "(neg (as (call f x) \"p\"))"},
        {"f(a, b: c, ..)", "(call f a b:c ..)"},
        {"f(a,)", "(call f a)"},
        {"f()", "(call f)"},
        {"x[.., new, 1, 2 : 3, :: -1, a :, : b, :]",
         "(index x .. new 1 (: 2 3 _) (: _ _ (neg 1)) (: a _ _) (: _ b _) (: _ _ _))"},
        {"x[1,]", "(index x 1)"},
        {"[]", "(list)"},
        {"[1, [2, 3,],]", "(list 1 (list 2 3))"},
        {"B6x1-3x2H8", "B6-3x2H8"},
        {"true == \"a\"", "(== true \"a\")"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_string_equal(shown_expr(&t, cases[i][0]), cases[i][1]);
        front_text_close(&t);
    }
}

// What is printed parses to the same tree, and prints the same again.
static void check_round_trip(FrontText *t, const Source *source)
{
    const File *first = parse_file(t->arena, t->dx, source);
    assert_string_equal(front_text_messages(t), "");
    assert_non_null(first);
    Buf printed = {.arena = t->arena};
    ast_print(&printed, first);
    const Source *again = diag_source(t->arena, STR("again"), buf_str(&printed), false);
    const File *second = parse_file(t->arena, t->dx, again);
    assert_string_equal(front_text_messages(t), "");
    assert_string_equal(show_file(t, first), show_file(t, second));
    Buf twice = {.arena = t->arena};
    ast_print(&twice, second);
    assert_true(str_equal(buf_str(&printed), buf_str(&twice)));
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "use \"a \\\" b\" let x = 1 family Q = m model m = f(L1H8)",
        "model m { } model n() { } block b(..) { return 1 }",
        "block b(a, b: int, c = 2, d: f32[.., D, 2 * D] = 3, e: [], f: f32, ..) { return a, b }",
        "model m { input x: i32[n] in 0 .. 2 + n = 1 input y: f32 output z = x }",
        "model m { param a: f32 param b as c: f32[3] param d as e.\"f g\"[1].\"0\" shared: bool[1] "
        "}",
        "model m { a = 1 a, b = b, a for i in 0 .. n { for j in i .. 9 { } } }",
        "model m { if a { b = 1 } if a { } else { c = 1 } if a { } else if b { } else { d = 1 } }",
        "model m { if a { } else { if b { } c = 1 } check a, \"b\" check a and b, c }",
        "let a = (a + b) * c - (d - e) - f / (g / h) let b = -(a + b) ** 2 + (-a) ** 2",
        "let a = (a ** b) ** c let b = a ** b ** c let c = not (a or b) let d = (not a) == b",
        "let a = (a < b) == c let b = a and (b and c) let c = (a or b) and c let d = - - -a",
        "let a = (if a then b else c) + (if d then e else f) let b = if (if a then b else c) then "
        "d "
        "else if e then f else g",
        "let a = (1).x let b = 1.5.x let c = (f(x) as p).y let d = (f(x) as p)[0] let e = (a + "
        "b)(c)",
        "let a = x[1 : 2, : 2, 1 :, :, :: 2, 1 :: 2, 1 : 2 : 3, : 2 : 3, new, .., 1, -1]",
        "let a = [1e-5, 1e300, 0.1, 1., .5, 5e-324, 100000000000000000000.0]",
        "let a = \"\\\\ \\\" {x}\" let b = B06x1-3x2H0768 let c = x.model.in.B2",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        check_round_trip(&t, front_text_source(&t, cases[i]));
        front_text_close(&t);
    }
}

static void test_library(void **state)
{
    (void)state;
    assert_true(std_nfiles >= 6);
    for (size_t i = 0; i < std_nfiles; i++) {
        FrontText t = front_text_open();
        Str text = {std_files[i].text, std_files[i].length};
        check_round_trip(&t, diag_source(t.arena, str_from(std_files[i].name), text, true));
        front_text_close(&t);
    }
}

static void check_place(Place at, const char *expected)
{
    Str text = {at.source->text.ptr + at.begin, at.end - at.begin};
    assert_true(str_equal(text, str_from(expected)));
}

static void test_places(void **state)
{
    (void)state;
    FrontText t = front_text_open();
    const Expr *e = parse_expr(t.arena, t.dx,
                               front_text_source(&t, "(a + b) * f(x, k: -1) as p[(1)].q shared"));
    assert_non_null(e);
    check_place(e->at, "(a + b) * f(x, k: -1) as p[(1)].q shared");
    check_place(e->left->at, "a + b");
    const Expr *as = e->right;
    check_place(as->at, "f(x, k: -1)"); // a call's faults are not its path's
    check_place(as->left->at, "f(x, k: -1)");
    check_place(as->left->args.items[1].at, "k: -1");
    check_place(as->left->args.items[1].value->at, "-1");
    check_place(as->path.items[1].value->at, "1");
    e = parse_expr(t.arena, t.dx, front_text_source(&t, "x[a : b, ::2, c].d"));
    check_place(e->left->at, "x[a : b, ::2, c]");
    check_place(e->left->subs.items[0].at, "a : b");
    check_place(e->left->subs.items[1].at, "::2");
    check_place(e->left->subs.items[2].at, "c");
    front_text_close(&t);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *messages;
    } cases[] = {
        {"foo", "1:1: error: expected `model`, `block`, `let`, `family` or `use`, found `foo`"},
        {"model", "1:6: error: expected a name, found the end of the file"},
        {"model in { }", "1:7: error: expected a name, found the keyword `in`"},
        {"model m", "1:8: error: expected `=`, `(` or `{`, found the end of the file"},
        {"model m {", "1:10: error: expected a statement or `}`, found the end of the file"},
        {"model m { 3 }", "1:11: error: expected a statement or `}`, found `3`"},
        {"model m { x y = 3 }", "1:13: error: expected `,` or `=`, found `y`"},
        {"model m { x, 3 = 3 }", "1:14: error: expected a name, found `3`"},
        {"model m { input in: f32 }",
         "1:17: error: expected the input's name, found the keyword `in`"},
        {"model m { input x f32 }", "1:19: error: expected `:`, found `f32`"},
        {"model m { input x: 3 }", "1:20: error: expected a type, found `3`"},
        {"model m { input x: f32[a b] }", "1:26: error: expected `,` or `]`, found `b`"},
        {"model m { input x: i32 in 3 }", "1:29: error: expected `..`, found `}`"},
        {"model m { output 3 }", "1:18: error: expected the output's name, found `3`"},
        {"model m { output x: 3 }", "1:19: error: expected `=`, found `:`"},
        {"block f() { param x as a.b f32[1] }", "1:28: error: expected `:`, found `f32`"},
        {"model m { for i in 1 { } }", "1:22: error: expected `..`, found `{`"},
        {"model m { if a then b }", "1:16: error: expected `{`, found `then`"},
        {"model m { check a }", "1:19: error: expected `,`, found `}`"},
        {"model m { return }", "1:18: error: expected an expression, found `}`"},
        {"model m { x = }", "1:15: error: expected an expression, found `}`"},
        {"block f", "1:8: error: expected `(`, found the end of the file"},
        {"block f(3) { }", "1:9: error: expected a parameter, found `3`"},
        {"block f(a b) { }", "1:11: error: expected `,` or `)`, found `b`"},
        {"block f(a: ) { }", "1:12: error: expected a type, found `)`"},
        {"block f(a = ) { }", "1:13: error: expected an expression, found `)`"},
        {"use foo", "1:5: error: expected a file's name in quotes, found `foo`"},
        {"family = x", "1:8: error: expected a capital letter, found `=`"},
        {"let x = f(a b)", "1:13: error: expected `,` or `)`, found `b`"},
        {"let x = f(a,", "1:13: error: expected an expression, found the end of the file"},
        {"let x = (a", "1:11: error: expected `)`, found the end of the file"},
        {"let x = [1 2]", "1:12: error: expected `,` or `]`, found `2`"},
        {"let x = y[1 2]", "1:13: error: expected `,` or `]`, found `2`"},
        {"let x = y[]", "1:11: error: expected a subscript, found `]`"},
        {"let x = y.[1]", "1:11: error: expected a field's name, found `[`"},
        {"let x = f() as", "1:15: error: expected a path, found the end of the file"},
        {"let x = f() as a.", "1:18: error: expected a piece of a path, found the end of the file"},
        {"let x = if a then b", "1:20: error: expected `else`, found the end of the file"},
        {"let x = if a b", "1:14: error: expected `then`, found `b`"},
        {"let x = 1 < 2 < 3", "1:15: error: comparisons do not chain: join two by `and`"},
        {"let x = 1 == 2 != 3", "1:16: error: comparisons do not chain: join two by `and`"},
        {"let x = f() as layers.3.weight",
         "1:22: error: write a number in a path in brackets: `[3]`"},
        {"model m { x = f() as a[i].0 }",
         "1:26: error: write a number in a path in brackets: `[0]`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_null(parse_file(t.arena, t.dx, front_text_source(&t, cases[i].text)));
        Str expected = str_format(t.arena, "t.slu:%s\n", cases[i].messages);
        assert_string_equal(front_text_messages(&t), str_cstr(t.arena, expected));
        front_text_close(&t);
    }
}

// Rules that the grammar does not hold: all of them are reported.
static void test_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *messages;
    } cases[] = {
        {"family LL = x let y = a as b",
         "t.slu:1:8: error: a family is one capital letter, not `LL`\n"
         "t.slu:1:23: error: `as` names the parameters of the call "
         "just before it, and this is no call\n"},
        {"family b = x", "t.slu:1:8: error: a family is one capital letter, not `b`\n"},
        {"block f(.., a, ..) { }", "t.slu:1:9: error: `..` must be the last parameter\n"},
        {"block f(a, b, a) { }", "t.slu:1:15: error: parameter `a` is named twice\n"
                                 "t.slu:1:9: note: first here\n"},
        {"let x = f(.., a)", "t.slu:1:11: error: `..` must be the last argument\n"},
        {"let x = f(a: 1, 2, a: 3)", "t.slu:1:17: error: a positional argument after a named one\n"
                                     "t.slu:1:20: error: argument `a` is given twice\n"
                                     "t.slu:1:11: note: first here\n"},
        {"let x = y[.., 1, ..]", "t.slu:1:9: error: `..` stands once in a subscript\n"},
        {"block f(a: f32[.., B, ..]) { }", "t.slu:1:12: error: `..` stands once in a type\n"},
        {"let x = (a + b) as c", "t.slu:1:10: error: `as` names the parameters of the call just "
                                 "before it, and this is no call\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_null(parse_file(t.arena, t.dx, front_text_source(&t, cases[i].text)));
        assert_string_equal(front_text_messages(&t), cases[i].messages);
        front_text_close(&t);
    }
}

// ---- limits ----

// before, n times a, middle, n times b, after
static const Source *nested(FrontText *t, const char *const parts[5], size_t n)
{
    Buf buf = {.arena = t->arena};
    buf_add(&buf, str_from(parts[0]));
    for (size_t i = 0; i < n; i++)
        buf_add(&buf, str_from(parts[1]));
    buf_add(&buf, str_from(parts[2]));
    for (size_t i = 0; i < n; i++)
        buf_add(&buf, str_from(parts[3]));
    buf_add(&buf, str_from(parts[4]));
    return diag_source(t->arena, STR("t.slu"), buf_str(&buf), false);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *parts[5];
        size_t most; // repetitions that fit
        const char *message;
    } cases[] = {
        {{"let a = ", "(", "1", ")", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "[", "", "]", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "f(", "1", ")", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = x", "[x", "[0]", "]", ""}, LIMIT_NESTING - 1, "nesting deeper than 200"},
        {{"let a = ", "-", "1", "", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "not ", "b", "", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "b ** ", "b", "", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "if b then 1 else ", "2", "", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"let a = ", "if ", "b", " then 1 else 2", ""}, LIMIT_NESTING, "nesting deeper than 200"},
        {{"model m { ", "if a { ", "", "}", " }"}, LIMIT_NESTING - 1, "nesting deeper than 200"},
        {{"model m { ", "for i in 0 .. 1 { ", "", "}", " }"},
         LIMIT_NESTING - 1,
         "nesting deeper than 200"},
        {{"model m { if a { } ", "else if b { } ", "", "", "}"},
         LIMIT_NESTING - 2,
         "nesting deeper than 200"},
        {{"block f(x: f32[", "f(", "1", ")", "]) { }"},
         LIMIT_NESTING - 1,
         "nesting deeper than 200"},
        {{"let a = 1", " + 1", "", "", ""}, LIMIT_CHAIN, "more than 1000 operators in a row"},
        {{"let a = f", "(1)", "", "", ""},
         LIMIT_CHAIN,
         "more than 1000 calls and subscripts in a row"},
        {{"let a = f", "[0]", "", "", ""},
         LIMIT_CHAIN,
         "more than 1000 calls and subscripts in a row"},
        {{"let a = f", ".g", "", "", ""},
         LIMIT_CHAIN,
         "more than 1000 calls and subscripts in a row"},
        {{"let a = [", "1, ", "", "", "]"}, LIMIT_ITEMS, "more than 10000 items in a list"},
        {{"let a = f(", "1, ", "", "", ")"}, LIMIT_ITEMS, "more than 10000 items in a list"},
        {{"let a = x[", "1, ", "", "", "]"}, LIMIT_ITEMS, "more than 10000 items in a list"},
        {{"model m { input x: f32[", "1, ", "", "", "] }"},
         LIMIT_ITEMS,
         "more than 10000 items in a list"},
        {{"let a = f() as b", ".c", "", "", ""},
         LIMIT_ITEMS - 1,
         "more than 10000 items in a list"},
        {{"model m { a = 1", ", 1", "", "", " }"},
         LIMIT_ITEMS - 1,
         "more than 10000 items in a list"},
        {{"model m { a", ", a", "", "", " = 1 }"},
         LIMIT_ITEMS - 1,
         "more than 10000 items in a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FrontText t = front_text_open();
        assert_non_null(parse_file(t.arena, t.dx, nested(&t, cases[i].parts, cases[i].most)));
        assert_string_equal(front_text_messages(&t), "");
        assert_null(parse_file(t.arena, t.dx, nested(&t, cases[i].parts, cases[i].most + 1)));
        const char *message = front_text_messages(&t);
        assert_non_null(strstr(message, cases[i].message));
        assert_null(strchr(strchr(message, '\n') + 1, '\n')); // one message
        // And however deep it goes.
        assert_null(parse_file(t.arena, t.dx, nested(&t, cases[i].parts, 100000)));
        front_text_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_library),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_faults),     cmocka_unit_test(test_form),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
