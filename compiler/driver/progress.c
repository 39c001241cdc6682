// A thread sleeps for a second after the first step and then shows each step as it begins. It ends
// with the last one.
#include "driver/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool is_running;
    const char *doing; // NULL: the thread ends
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

#define CLEAR_LINE "\r\033[K"

static void *show(void *unused)
{
    (void)unused;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&state.mutex);
    while (state.doing &&
           pthread_cond_timedwait(&state.changed, &state.mutex, &until) != ETIMEDOUT) {
    }
    bool is_shown = false;
    while (state.doing) {
        fprintf(stderr, CLEAR_LINE "%s ...", state.doing);
        fflush(stderr);
        is_shown = true;
        pthread_cond_wait(&state.changed, &state.mutex);
    }
    if (is_shown) {
        fputs(CLEAR_LINE, stderr);
        fflush(stderr);
    }
    pthread_mutex_unlock(&state.mutex);
    return NULL;
}

void progress(const char *doing)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    pthread_mutex_lock(&state.mutex);
    state.doing = doing;
    pthread_cond_signal(&state.changed);
    pthread_mutex_unlock(&state.mutex);
    if (doing && !state.is_running) {
        state.is_running = pthread_create(&state.thread, NULL, show, NULL) == 0;
    } else if (!doing && state.is_running) {
        pthread_join(state.thread, NULL);
        state.is_running = false;
    }
}
