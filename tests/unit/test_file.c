// Reading, mapping and writing of files: limits, what is left behind, and what the messages say.
#define _XOPEN_SOURCE 700 // NOLINT: mkdtemp, symlink, mkfifo
#include "io/file.h"

#include "said.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Env {
    Arena *arena;
    Diag *dx;
    char dir[64];
} Env;

static int set_up(void **state)
{
    Env *env = calloc(1, sizeof *env);
    env->arena = arena_create();
    env->dx = diag_create(env->arena);
    strcpy(env->dir, "/tmp/sluice-test-XXXXXX");
    assert_non_null(mkdtemp(env->dir));
    *state = env;
    return 0;
}

// The directory must be empty by then but for the names that a test makes, all in `names`.
static int tear_down(void **state)
{
    static const char *const names[] = {"a", "b", "link", "pipe", "sub"};
    Env *env = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Str path = str_format(env->arena, "%s/%s", env->dir, names[i]);
        remove(path.ptr);
    }
    int left = rmdir(env->dir);
    arena_destroy(env->arena);
    free(env);
    return left; // what else is there was left behind
}

static const char *in_dir(Env *env, const char *name)
{
    return str_format(env->arena, "%s/%s", env->dir, name).ptr;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(Env *env, const char *path, const char *text)
{
    Str got;
    assert_true(file_read(env->arena, env->dx, path, 1 << 20, &got));
    assert_int_equal(got.len, strlen(text));
    assert_memory_equal(got.ptr, text, got.len);
}

static void test_read(void **state)
{
    Env *env = *state;
    const char *path = in_dir(env, "a");
    Str text;
    put(path, "hello");
    assert_true(file_read(env->arena, env->dx, path, 5, &text));
    assert_int_equal(text.len, 5);
    assert_string_equal(text.ptr, "hello");
    put(path, "");
    assert_true(file_read(env->arena, env->dx, path, 5, &text));
    assert_int_equal(text.len, 0);
    assert_int_equal(diag_nerrors(env->dx), 0);
}

static void test_read_limits(void **state)
{
    Env *env = *state;
    const char *path = in_dir(env, "a");
    Str text;
    put(path, "hello!");
    assert_false(file_read(env->arena, env->dx, path, 5, &text));
    assert_says(env->dx, "/a: the file has 6 bytes, but at most 5 are read");
    assert_int_equal(diag_exit_code(env->dx), 1);
    assert_false(file_read(env->arena, env->dx, "/dev/zero", 100000, &text));
    assert_says(env->dx, "/dev/zero: there are more than the 100000 bytes that are read");
    assert_true(file_read(env->arena, env->dx, "/dev/null", 100000, &text));
    assert_int_equal(text.len, 0);
    assert_true(file_read(env->arena, env->dx, "/proc/self/status", 100000, &text));
    assert_true(text.len > 100); // a file that says it has 0 bytes
}

static void test_read_failures(void **state)
{
    Env *env = *state;
    Str text;
    assert_false(file_read(env->arena, env->dx, in_dir(env, "none"), 5, &text));
    assert_says(env->dx, "/none: No such file or directory");
    assert_int_equal(diag_exit_code(env->dx), 3);
    assert_false(file_read(env->arena, env->dx, env->dir, 5, &text));
    assert_says(env->dx, "Is a directory");
    assert_false(file_read(env->arena, env->dx, "", 5, &text));
    assert_says(env->dx, "No such file or directory");
}

static void test_map(void **state)
{
    Env *env = *state;
    const char *path = in_dir(env, "a");
    FileMap map;
    put(path, "hello");
    assert_true(file_map(env->dx, path, &map));
    assert_int_equal(map.size, 5);
    assert_memory_equal(map.data, "hello", 5);
    file_unmap(&map);
    assert_null(map.data);
    put(path, "");
    assert_true(file_map(env->dx, path, &map));
    assert_int_equal(map.size, 0);
    file_unmap(&map);
}

static void test_map_failures(void **state)
{
    Env *env = *state;
    FileMap map;
    assert_false(file_map(env->dx, in_dir(env, "none"), &map));
    assert_says(env->dx, "No such file or directory");
    assert_false(file_map(env->dx, env->dir, &map));
    assert_says(env->dx, "Is a directory");
    assert_false(file_map(env->dx, "/dev/zero", &map));
    assert_says(env->dx, "/dev/zero: it is no regular file");
    // A pipe that nobody writes to must not block.
    assert_int_equal(mkfifo(in_dir(env, "pipe"), 0600), 0);
    assert_false(file_map(env->dx, in_dir(env, "pipe"), &map));
    assert_says(env->dx, "/pipe: it is no regular file");
}

static void test_write(void **state)
{
    Env *env = *state;
    const char *path = in_dir(env, "a");
    assert_true(file_write_text(env->dx, path, STR("one")));
    assert_content(env, path, "one");
    FileWriter *writer = file_create(env->dx, path);
    assert_non_null(writer);
    file_write(writer, "tw", 2);
    file_write(writer, NULL, 0);
    assert_content(env, path, "one"); // until commit
    file_write(writer, "o", 1);
    assert_true(file_commit(writer));
    assert_content(env, path, "two");
    assert_true(file_write_text(env->dx, path, STR("")));
    assert_content(env, path, "");
}

static void test_abandon(void **state)
{
    Env *env = *state;
    put(in_dir(env, "a"), "old");
    FileWriter *writer = file_create(env->dx, in_dir(env, "a"));
    file_write(writer, "new", 3);
    file_abandon(writer);
    assert_content(env, in_dir(env, "a"), "old");
}

static void test_mode_follows_umask(void **state)
{
    Env *env = *state;
    struct stat about;
    mode_t before = umask(027);
    assert_true(file_write_text(env->dx, in_dir(env, "a"), STR("x")));
    umask(before);
    assert_int_equal(stat(in_dir(env, "a"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void test_two_writers(void **state)
{
    Env *env = *state;
    FileWriter *first = file_create(env->dx, in_dir(env, "a"));
    FileWriter *second = file_create(env->dx, in_dir(env, "b"));
    file_write(first, "1", 1);
    file_write(second, "2", 1);
    assert_true(file_commit(second));
    assert_true(file_commit(first));
    assert_content(env, in_dir(env, "a"), "1");
    assert_content(env, in_dir(env, "b"), "2");
}

static void test_write_through_link(void **state)
{
    Env *env = *state;
    struct stat about;
    put(in_dir(env, "a"), "old");
    assert_int_equal(symlink("a", in_dir(env, "link")), 0);
    assert_true(file_write_text(env->dx, in_dir(env, "link"), STR("new")));
    assert_content(env, in_dir(env, "a"), "new");
    assert_int_equal(lstat(in_dir(env, "link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
}

static void test_write_device(void **state)
{
    Env *env = *state;
    struct stat about;
    assert_true(file_write_text(env->dx, "/dev/null", STR("x")));
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    assert_false(file_write_text(env->dx, "/dev/full", STR("x")));
    assert_says(env->dx, "cannot write /dev/full: No space left on device");
    assert_int_equal(diag_exit_code(env->dx), 3);
}

// Between a text before and one behind it, to a file and to a pipe, which the kernel does not copy
// to by itself.
static void test_write_copy(void **state)
{
    Env *env = *state;
    put(in_dir(env, "a"), "copied and not");
    int from = open(in_dir(env, "a"), O_RDONLY);
    assert_true(from >= 0);
    assert_int_equal(mkfifo(in_dir(env, "pipe"), 0600), 0);
    int pipe = open(in_dir(env, "pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(pipe >= 0);
    static const char *const names[] = {"b", "pipe"};
    for (size_t i = 0; i < 2; i++) {
        FileWriter *writer = file_create(env->dx, in_dir(env, names[i]));
        assert_non_null(writer);
        file_write(writer, "<", 1);
        file_write_copy(writer, from, strlen("copied"));
        file_write(writer, ">", 1);
        assert_true(file_commit(writer));
    }
    assert_content(env, in_dir(env, "b"), "<copied>");
    char text[32] = {0};
    assert_int_equal(read(pipe, text, sizeof text), strlen("<copied>"));
    assert_string_equal(text, "<copied>");
    close(pipe);
    close(from);
}

// A file that is shorter than what is asked of it.
static void test_write_copy_short(void **state)
{
    Env *env = *state;
    put(in_dir(env, "a"), "short");
    int from = open(in_dir(env, "a"), O_RDONLY);
    assert_true(from >= 0);
    FileWriter *writer = file_create(env->dx, in_dir(env, "b"));
    assert_non_null(writer);
    file_write_copy(writer, from, 6);
    assert_false(file_commit(writer));
    assert_says(env->dx, "cannot write");
    assert_int_equal(access(in_dir(env, "b"), F_OK), -1);
    close(from);
}

static void test_write_nowhere(void **state)
{
    Env *env = *state;
    assert_int_equal(mkdir(in_dir(env, "sub"), 0700), 0);
    put(in_dir(env, "a"), "x");
    assert_null(file_create(env->dx, in_dir(env, "sub")));
    assert_says(env->dx, "/sub: it is a directory; name a file in it");
    assert_null(file_create(env->dx, in_dir(env, "sub/")));
    assert_says(env->dx, "/sub/: it is a directory; name a file in it");
    assert_null(file_create(env->dx, in_dir(env, "none/b")));
    assert_says(env->dx, str_format(env->arena, "there is no directory %s/none", env->dir).ptr);
    assert_null(file_create(env->dx, in_dir(env, "none/")));
    assert_says(env->dx, "/none/: it is a directory");
    assert_null(file_create(env->dx, in_dir(env, "a/b")));
    assert_says(env->dx, "Not a directory");
    assert_null(file_create(env->dx, ""));
    assert_says(env->dx, "No such file or directory");
}

static void test_name_too_long(void **state)
{
    Env *env = *state;
    char name[301];
    memset(name, 'x', 300);
    name[300] = '\0';
    assert_false(file_write_text(env->dx, in_dir(env, name), STR("x")));
    assert_says(env->dx, "File name too long");
}

// Runs out of room in the middle: the old content stays, and nothing else.
static void test_no_room(void **state)
{
    Env *env = *state;
    put(in_dir(env, "a"), "old");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 20000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    FileWriter *writer = file_create(env->dx, in_dir(env, "a"));
    static const char block[1000];
    for (int i = 0; i < 30; i++) {
        file_write(writer, block, sizeof block);
    }
    bool is_good = file_commit(writer);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(is_good);
    assert_says(env->dx, "/a: File too large");
    assert_content(env, in_dir(env, "a"), "old");
}

// Writes "A" to `first` and "B" to `second`, and commits both.
static bool write_both(Env *env, const char *first, const char *second)
{
    FileWriter *a = file_create(env->dx, first);
    FileWriter *b = file_create(env->dx, second);
    assert_non_null(a);
    assert_non_null(b);
    file_write(a, "A", 1);
    file_write(b, "B", 1);
    if (strcmp(second, in_dir(env, "sub")) == 0) {
        assert_int_equal(mkdir(second, 0777), 0); // so that its rename fails
    }
    return file_commit_both(a, b);
}

static void test_both(void **state)
{
    Env *env = *state;
    assert_true(write_both(env, in_dir(env, "a"), in_dir(env, "b")));
    assert_content(env, in_dir(env, "a"), "A");
    assert_content(env, in_dir(env, "b"), "B");
    put(in_dir(env, "a"), "old");
    assert_true(write_both(env, in_dir(env, "a"), in_dir(env, "b")));
    assert_content(env, in_dir(env, "a"), "A");
    assert_int_equal(diag_nerrors(env->dx), 0);
}

static void test_neither(void **state)
{
    Env *env = *state;
    assert_false(write_both(env, in_dir(env, "a"), in_dir(env, "sub")));
    assert_int_equal(access(in_dir(env, "a"), F_OK), -1);
    assert_says(env->dx, "/sub: Is a directory");
    assert_int_equal(rmdir(in_dir(env, "sub")), 0);
    put(in_dir(env, "a"), "old");
    assert_false(write_both(env, in_dir(env, "a"), in_dir(env, "sub")));
    assert_content(env, in_dir(env, "a"), "old");
    assert_int_equal(diag_nerrors(env->dx), 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_read_limits),
        TEST(test_read_failures),
        TEST(test_map),
        TEST(test_map_failures),
        TEST(test_write),
        TEST(test_abandon),
        TEST(test_mode_follows_umask),
        TEST(test_two_writers),
        TEST(test_write_device),
        TEST(test_write_through_link),
        TEST(test_write_copy),
        TEST(test_write_copy_short),
        TEST(test_write_nowhere),
        TEST(test_name_too_long),
        TEST(test_no_room),
        TEST(test_both),
        TEST(test_neither),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
