#include "io/temp.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 8 };

// A handler reads them between any two instructions: a name is whole before it is marked as used.
static char names[MOST_NAMES][PATH_MAX];
static volatile sig_atomic_t is_used[MOST_NAMES];

static void clean_up(int number)
{
    for (size_t i = MOST_NAMES; i-- > 0;) {
        if (is_used[i] && unlink(names[i]) != 0) {
            rmdir(names[i]);
        }
    }
    raise(number); // by SA_RESETHAND it is as it was by default
}

static void watch(int number)
{
    struct sigaction old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        struct sigaction action = {.sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        sigaction(number, &action, NULL);
    }
}

void temp_note(const char *path)
{
    size_t length = strlen(path);
    size_t i = MOST_NAMES; // the one behind the last that is used
    while (i > 0 && !is_used[i - 1]) {
        i--;
    }
    if (i == MOST_NAMES || length >= PATH_MAX) {
        return;
    }
    memcpy(names[i], path, length + 1);
    is_used[i] = 1;
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
}

void temp_forget(const char *path)
{
    for (size_t i = 0; i < MOST_NAMES; i++) {
        if (is_used[i] && strcmp(names[i], path) == 0) {
            is_used[i] = 0;
        }
    }
}
