// YAML as trees: values, places, and what is refused.
#include "io/yaml_tree.h"

#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Env {
    Arena *arena;
    Diag *dx;
} Env;

static int set_up(void **state)
{
    Env *env = calloc(1, sizeof *env);
    env->arena = arena_create();
    env->dx = diag_create(env->arena);
    *state = env;
    return 0;
}

static int tear_down(void **state)
{
    Env *env = *state;
    arena_destroy(env->arena);
    free(env);
    return 0;
}

static const Yaml *parse_bytes(Env *env, Str text)
{
    return yaml_tree_parse(env->arena, env->dx, diag_source(env->arena, STR("f"), text, false));
}

static const Yaml *parse(Env *env, const char *text) { return parse_bytes(env, str_from(text)); }

static void assert_text(const Yaml *y, const char *text)
{
    assert_non_null(y);
    assert_int_equal(y->kind, YAML_text);
    assert_int_equal(y->text.len, strlen(text));
    assert_memory_equal(y->text.ptr, text, strlen(text));
}

// Its first and last byte, as a piece of the source.
static void assert_place(const Yaml *y, const char *piece)
{
    Str text = y->at.source->text;
    assert_true(y->at.begin <= y->at.end && y->at.end <= text.len);
    assert_int_equal(y->at.end - y->at.begin, strlen(piece));
    assert_memory_equal(text.ptr + y->at.begin, piece, strlen(piece));
}

static void assert_refused(Env *env, const char *text, const char *message)
{
    assert_null(parse(env, text));
    assert_says(env->dx, message);
}

static void test_values(void **state)
{
    Env *env = *state;
    const Yaml *y = parse(env, "# a comment\n"
                               "a: 1\n"
                               "b: [x, 'y z', \"t\\tu\", {k: v}]\n"
                               "c:\n"
                               "  - |\n"
                               "    two\n"
                               "    lines\n"
                               "  -\n"
                               "d: {}\n");
    assert_non_null(y);
    assert_int_equal(y->kind, YAML_object);
    assert_int_equal(y->n, 4);
    assert_text(yaml_tree_find(y, STR("a")), "1");
    const Yaml *b = yaml_tree_find(y, STR("b"));
    assert_int_equal(b->kind, YAML_list);
    assert_int_equal(b->n, 4);
    assert_text(&b->items[1], "y z");
    assert_text(&b->items[2], "t\tu");
    assert_text(yaml_tree_find(&b->items[3], STR("k")), "v");
    const Yaml *c = yaml_tree_find(y, STR("c"));
    assert_text(&c->items[0], "two\nlines\n");
    assert_text(&c->items[1], "");
    assert_int_equal(yaml_tree_find(y, STR("d"))->n, 0);
    assert_null(yaml_tree_find(y, STR("e")));
    assert_null(yaml_tree_find(b, STR("a")));
}

// Columns are characters for libyaml and bytes for us.
static void test_places(void **state)
{
    Env *env = *state;
    const Yaml *y =
        parse(env, "\xc3\xa4: [\"\xe2\x82\xac\", \xf0\x9f\x98\x80, end]\r\nkey: last\n");
    assert_non_null(y);
    assert_int_equal(y->keys[0].at.begin, 0);
    assert_int_equal(y->keys[0].at.end, 2);
    assert_place(&y->items[0].items[0], "\"\xe2\x82\xac\"");
    assert_place(&y->items[0].items[1], "\xf0\x9f\x98\x80");
    assert_place(&y->items[0].items[2], "end");
    assert_place(&y->items[1], "last");
    // A mark of the byte order is no part of the first key.
    y = parse(env, "\xef\xbb\xbfk: v\n");
    assert_non_null(y);
    assert_text(yaml_tree_find(y, STR("k")), "v");
    assert_place(&y->items[0], "v");
}

static void test_refused(void **state)
{
    Env *env = *state;
    assert_refused(env, "", "f:1:1: error: the file is empty");
    assert_refused(env, "# nothing\n", "the file is empty");
    assert_refused(env, "a: &x 1\n", "f:1:4: error: anchors");
    assert_refused(env, "a: &x [1]\n", "f:1:4: error: anchors");
    assert_refused(env, "a: &x {b: 1}\n", "f:1:4: error: anchors");
    assert_refused(env, "a: 1\nb: *x\n", "f:2:4: error: aliases");
    assert_refused(env, "a: !t 1\n", "f:1:4: error: tags");
    assert_refused(env, "a: !!int 1\n", "f:1:4: error: tags");
    assert_refused(env, "%YAML 1.1\n---\na: 1\n", "directives");
    assert_refused(env, "a: 1\n---\nb: 2\n", "f:2:1: error: a second document");
    assert_refused(env, "? [a]\n: 1\n", "f:1:3: error: a key must be a text");
    assert_refused(env, "a: 1\nb: 2\na: 3\n", "f:3:1: error: the key `a` is there twice");
    assert_refused(env, "a: 1\nb: 2\na: 3\n", "f:1:1: note: the first one is here");
    assert_refused(env, "{a: {x: 1, \"x\": 2}}\n", "the key `x` is there twice");
    assert_refused(env, "a: \"\\0\"\n", "f:1:4: error: a NUL byte");
    assert_refused(env, "a: [1\n", "no valid YAML");
    assert_refused(env, "a: 1\n\tb: 2\n", "f:2:1: error: no valid YAML");
    assert_refused(env, "\xff\xfe", "no valid YAML");
    assert_refused(env, "a: \xc3", "no valid YAML");
}

// `n` times `open`, a value, `n` times `close`.
static const Yaml *parse_nested(Env *env, size_t n, char open, char close)
{
    Buf text = {.arena = env->arena};
    for (size_t i = 0; i < n; i++) {
        buf_char(&text, open);
    }
    buf_char(&text, '1');
    for (size_t i = 0; i < n; i++) {
        buf_char(&text, close);
    }
    return parse_bytes(env, buf_str(&text));
}

static void test_limits(void **state)
{
    Env *env = *state;
    assert_non_null(parse_nested(env, 64, '[', ']'));
    assert_null(parse_nested(env, 65, '[', ']'));
    assert_says(env->dx, "f:1:66: error: at most 64 lists and objects inside each other");
    assert_null(parse_nested(env, 500000, '[', ']'));
    assert_null(parse_nested(env, 500000, '{', '}'));
    Buf many = {.arena = env->arena};
    for (size_t i = 0; i < 70000; i++) {
        buf_add(&many, STR("- a\n"));
    }
    assert_null(parse_bytes(env, buf_str(&many)));
    assert_says(env->dx, "at most 65536 values");
    Str large = {arena_alloc(env->arena, 2 << 20, 1), 2 << 20};
    assert_null(parse_bytes(env, large));
    assert_says(env->dx, "at most 1048576 are read");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_values),
        TEST(test_places),
        TEST(test_refused),
        TEST(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
