#include "io/link.h"

#include "io/file.h"
#include "io/temp.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_CODE ((size_t)1 << 30) // a model's code and table are some 100 KB

extern char **environ;

static const char *const linkers[] = {"ld.lld-19", "ld.lld", "ld"};

static bool is_in_path(Arena *arena, const char *name)
{
    const char *path = getenv("PATH");
    for (Str rest = str_from(path ? path : "/usr/bin:/bin"); rest.len > 0;) {
        const char *colon = memchr(rest.ptr, ':', rest.len);
        size_t len = colon ? (size_t)(colon - rest.ptr) : rest.len;
        Str file = str_format(arena, "%.*s/%s", (int)len, rest.ptr, name);
        if (access(str_cstr(arena, file), X_OK) == 0) {
            return true;
        }
        size_t used = colon ? len + 1 : len;
        rest = (Str){rest.ptr + used, rest.len - used};
    }
    return false;
}

static const char *find_linker(Arena *arena, Diag *dx)
{
    for (size_t i = 0; i < sizeof linkers / sizeof *linkers; i++) {
        if (is_in_path(arena, linkers[i])) {
            return linkers[i];
        }
    }
    diag_fail(dx, "no linker found: none of ld.lld-19, ld.lld and ld is in PATH; install the "
                  "package lld-19 or binutils");
    return NULL;
}

static void say(Arena *arena, const char *const *argv)
{
    Buf line = {.arena = arena};
    buf_char(&line, '+');
    for (size_t i = 0; argv[i]; i++) {
        buf_char(&line, ' ');
        buf_word(&line, str_from(argv[i]));
    }
    fprintf(stderr, "%s\n", line.ptr);
}

// Runs a command with nothing on its standard input.
static bool run(Diag *dx, const char *const *argv)
{
    pid_t pid;
    char *const *words; // that posix_spawnp does not change
    memcpy(&words, &argv, sizeof words);
    int error = posix_spawnp(&pid, argv[0], NULL, NULL, words, environ);
    if (error) {
        diag_fail(dx, "cannot run %s: %s", argv[0], strerror(error));
        return false;
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            diag_fail(dx, "cannot wait for %s: %s", argv[0], strerror(errno));
            return false;
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        diag_fail(dx, "the linker %s failed%s; with -v its command is shown", argv[0],
                  WIFSIGNALED(status) ? ": it was killed" : "");
        return false;
    }
    return true;
}

static bool link_in(Arena *arena, Diag *dx, const char *work, Str object, bool say_commands,
                    Str *out)
{
    const char *in = str_cstr(arena, str_format(arena, "%s/model.o", work));
    const char *so = str_cstr(arena, str_format(arena, "%s/model.so", work));
    const char *linker = find_linker(arena, dx);
    temp_note(in);
    temp_note(so);
    bool ok = linker && file_write_text(dx, in, object);
    if (ok) {
        const char *argv[] = {
            linker, "-shared", "--build-id=none", "-z", "relro", "-z", "now", "-z", "noexecstack",
            "-z",   "text",    "--no-undefined",  "-o", so,      in,   NULL};
        if (say_commands) {
            say(arena, argv);
        }
        ok = run(dx, argv) && file_read(arena, dx, so, MOST_CODE, out);
    }
    unlink(so);
    if (!say_commands) {
        unlink(in);
    }
    temp_forget(in);
    temp_forget(so);
    return ok;
}

bool link_shared(Arena *arena, Diag *dx, const char *folder, Str object, bool say_commands,
                 Str *out)
{
    Str pattern = str_format(arena, "%s/.sluice-XXXXXX", folder);
    char *work = arena_new(arena, char, pattern.len + 1);
    memcpy(work, pattern.ptr, pattern.len);
    if (!mkdtemp(work)) {
        diag_fail(dx, "cannot work in %s: %s", folder, strerror(errno));
        return false;
    }
    temp_note(work);
    bool ok = link_in(arena, dx, work, object, say_commands, out);
    rmdir(work); // unless the object stays in it
    temp_forget(work);
    return ok;
}
