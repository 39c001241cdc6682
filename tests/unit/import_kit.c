#define _XOPEN_SOURCE 700 // NOLINT: mkdtemp
#include "import_kit.h"

#include "front/front.h"
#include "io/import.h"

#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

int env_set_up(void **state)
{
    Env *env = calloc(1, sizeof *env);
    assert_non_null(env);
    env->arena = arena_create();
    env->dx = diag_create(env->arena);
    strcpy(env->dir, "/tmp/sluice-test-XXXXXX");
    assert_non_null(mkdtemp(env->dir));
    snprintf(env->model, sizeof env->model, "%s/my-Model.v2", env->dir);
    assert_int_equal(mkdir(env->model, 0700), 0);
    *state = env;
    return 0;
}

static const char *path_of(Env *env, const char *name)
{
    return str_cstr(env->arena, str_format(env->arena, "%s/%s", env->model, name));
}

int env_tear_down(void **state)
{
    static const char *const names[] = {"config.json",
                                        "modules.json",
                                        "tokenizer_config.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json",
                                        "preprocessor_config.json",
                                        "1_Pooling/config.json",
                                        "1_Pooling",
                                        ""};
    Env *env = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        remove(path_of(env, names[i]));
    }
    int left = rmdir(env->dir);
    arena_destroy(env->arena);
    free(env);
    return left;
}

void rename_folder(Env *env, const char *name)
{
    Str before = str_copy(env->arena, str_from(env->model));
    snprintf(env->model, sizeof env->model, "%s/%s", env->dir, name);
    assert_int_equal(rename(str_cstr(env->arena, before), env->model), 0);
}

void put_bytes(Env *env, const char *name, Str bytes)
{
    if (strchr(name, '/')) {
        mkdir(path_of(env, "1_Pooling"), 0700);
    }
    FILE *file = fopen(path_of(env, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
    assert_int_equal(fclose(file), 0);
}

void put(Env *env, const char *name, const char *text) { put_bytes(env, name, str_from(text)); }

static void check(Env *env, const char *path, const char *warning, const char *expected)
{
    Str text = {0};
    bool is_good = import_config(env->arena, env->dx, path, &text);
    char *messages = said(env->dx);
    if (!is_good || (!warning && *messages)) {
        fail_msg("import says: %s", messages);
    }
    if (warning && !strstr(messages, warning)) {
        fail_msg("expected \"%s\" in: %s", warning, messages);
    }
    free(messages);
    assert_string_equal(str_cstr(env->arena, text), expected);
    FrontFile file = {.name = STR("imported.slu"), .key = STR("imported.slu"), .text = text};
    FrontSpec spec = {.file = &file};
    FrontOptions options = {0};
    if (!front_elaborate(env->arena, env->dx, &spec, &options, NULL)) {
        diag_flush(env->dx, stderr, false);
        fail_msg("the text does not elaborate: %s", expected);
    }
}

void assert_becomes(Env *env, const char *config, const char *expected)
{
    put(env, "config.json", config);
    check(env, path_of(env, "config.json"), NULL, expected);
}

void assert_warns(Env *env, const char *config, const char *part, const char *expected)
{
    put(env, "config.json", config);
    check(env, path_of(env, "config.json"), part, expected);
}

void assert_folder_becomes(Env *env, const char *expected)
{
    check(env, env->model, NULL, expected);
}

void assert_folder_warns(Env *env, const char *part, const char *expected)
{
    check(env, env->model, part, expected);
}

static void check_refusal(Env *env, const char *path, const char *part)
{
    Diag *dx = diag_create(env->arena); // each with its own count of errors
    Str text = {0};
    if (import_config(env->arena, dx, path, &text)) {
        fail_msg("accepted, where expected \"%s\": %.*s", part, STR_ARG(text));
    }
    assert_true(diag_nerrors(dx) > 0);
    assert_says(dx, part);
}

void assert_refuses(Env *env, const char *config, const char *part)
{
    put(env, "config.json", config);
    check_refusal(env, path_of(env, "config.json"), part);
}

void assert_folder_refuses(Env *env, const char *part) { check_refusal(env, env->model, part); }
