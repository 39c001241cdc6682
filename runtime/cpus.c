// How many processors this process may use.
#define _GNU_SOURCE // sched_getaffinity

#include "runtime/internal.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPU_WORDS = 128, FILE_BYTES = 4096, PATH_BYTES = 1024 };

uint32_t sli_affinity_cpus(void)
{
    unsigned long mask[CPU_WORDS] = {0};
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)(void *)mask) != 0)
        return 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < CPU_WORDS; i++)
        n += (uint32_t)__builtin_popcountl(mask[i]);
    return n > 0 ? n : 1;
}

// The file's beginning as a string; false if there is none.
static bool read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, bytes - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

// "quota period" of one group, in microseconds; false if it states no limit.
typedef bool ReadQuota(const char *folder, long long *quota, long long *period);

static bool read_v2(const char *folder, long long *quota, long long *period)
{
    char path[PATH_BYTES];
    char text[64];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_text(path, text, sizeof text) && sscanf(text, "%lld %lld", quota, period) == 2;
}

static bool read_v1(const char *folder, long long *quota, long long *period)
{
    char path[PATH_BYTES];
    char text[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%lld", quota) != 1)
        return false;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_text(path, text, sizeof text) && sscanf(text, "%lld", period) == 1;
}

// The least of the group's own limit and those above it, up to `mount`. Inside a container the path
// may be one of the host, of which only the mount's top is there.
static uint32_t least_quota(const char *mount, const char *group, ReadQuota *read_quota)
{
    char folder[PATH_BYTES];
    uint32_t least = UINT32_MAX;
    int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n < 0 || (size_t)n >= sizeof folder - 32)
        return least;
    for (;;) {
        long long quota;
        long long period;
        if (read_quota(folder, &quota, &period) && quota > 0 && period > 0) {
            long long cpus = quota / period;
            uint32_t whole = cpus < 1 ? 1 : cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
            least = whole < least ? whole : least;
        }
        char *slash = strrchr(folder + strlen(mount), '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

// Is "cpu" one of the controllers of "cpu,cpuacct"?
static bool names_cpu(const char *controllers)
{
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    }
    return false;
}

// One line of /proc/self/cgroup: "number:controllers:path"; version 2 has no controllers.
static uint32_t quota_of_line(const char *root, char *line)
{
    char mount[PATH_BYTES];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT32_MAX;
    controllers++;
    *group++ = '\0';
    if (controllers[0] == '\0') {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return least_quota(mount, group, read_v2);
    }
    if (!names_cpu(controllers))
        return UINT32_MAX;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
    if (access(mount, F_OK) != 0)
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    return least_quota(mount, group, read_v1);
}

uint32_t sli_quota_cpus(const char *root)
{
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    uint32_t least = UINT32_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof text))
        return least;
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        uint32_t cpus = quota_of_line(root, line);
        least = cpus < least ? cpus : least;
        line = next;
    }
    return least;
}

bool sli_parse_threads(const char *text, uint32_t *threads)
{
    uint32_t n = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        n = n * 10 + (uint32_t)(*at - '0');
        if (n > SL_MAX_THREADS)
            return false;
    }
    *threads = n;
    return n > 0;
}

SlStatus sli_default_threads(uint32_t *threads, SlError *error)
{
    const char *wanted = getenv("SLUICE_THREADS");
    if (wanted) {
        if (!sli_parse_threads(wanted, threads))
            return SL_FAIL(error, SL_E_OPTION,
                           "SLUICE_THREADS is '%.40s', a whole number from 1 to %u is allowed",
                           wanted, SL_MAX_THREADS);
        return SL_OK;
    }
    uint32_t cpus = sli_affinity_cpus();
    uint32_t quota = sli_quota_cpus("");
    cpus = quota < cpus ? quota : cpus;
    *threads = cpus < SL_MAX_THREADS ? cpus : SL_MAX_THREADS;
    return SL_OK;
}
