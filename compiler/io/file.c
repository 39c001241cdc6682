// Reading and writing of whole files.
#define _GNU_SOURCE // NOLINT: realpath, copy_file_range
#include "io/file.h"

#include "io/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- reading ----

static void report(Diag *dx, const char *verb, const char *path, int error)
{
    diag_fail(dx, "cannot %s %s: %s", verb, path, strerror(error));
}

// An open file that is no directory, or -1 after a report.
static int open_to_read(Diag *dx, const char *path, int flags, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) {
        report(dx, "read", path, errno);
        return -1;
    }
    if (fstat(fd, about) != 0) {
        report(dx, "read", path, errno);
    } else if (S_ISDIR(about->st_mode)) {
        report(dx, "read", path, EISDIR);
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

// Reads until the end of the file or of the buffer; false with errno set.
static bool read_some(int fd, char *buffer, size_t room, size_t *got)
{
    *got = 0;
    while (*got < room) {
        ssize_t n = read(fd, buffer + *got, room - *got);
        if (n == 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
        *got += n < 0 ? 0 : (size_t)n;
    }
    return true;
}

// Pipes and devices do not say how long they are, and a regular file may grow while it is read, so
// the buffer grows up to one byte over the limit.
static bool read_whole(Arena *arena, int fd, size_t expected, size_t most_bytes, Str *out)
{
    size_t room = expected < most_bytes ? expected + 1 : most_bytes + 1;
    char *text = arena_new(arena, char, room + 1);
    size_t len = 0;
    for (;;) {
        size_t got = 0;
        if (!read_some(fd, text + len, room - len, &got)) {
            return false;
        }
        len += got;
        if (len < room || room > most_bytes) {
            break;
        }
        size_t more = room < most_bytes / 2 ? 2 * room : most_bytes + 1;
        char *larger = arena_new(arena, char, more + 1);
        memcpy(larger, text, len);
        text = larger;
        room = more;
    }
    text[len] = '\0';
    *out = (Str){text, len};
    return true;
}

bool file_read(Arena *arena, Diag *dx, const char *path, size_t most_bytes, Str *out)
{
    struct stat about;
    int fd = open_to_read(dx, path, 0, &about);
    if (fd < 0) {
        return false;
    }
    enum { FIRST_BYTES = 4096 };
    size_t expected = S_ISREG(about.st_mode) ? (size_t)about.st_size : FIRST_BYTES;
    bool is_read = expected <= most_bytes || !S_ISREG(about.st_mode);
    if (is_read && !read_whole(arena, fd, expected, most_bytes, out)) {
        report(dx, "read", path, errno);
        close(fd);
        return false;
    }
    close(fd);
    if (is_read && out->len <= most_bytes) {
        return true;
    }
    if (S_ISREG(about.st_mode)) {
        diag_error(dx, (Place){0}, "%s: the file has %lld bytes, but at most %zu are read", path,
                   (long long)about.st_size, most_bytes);
    } else {
        diag_error(dx, (Place){0}, "%s: there are more than the %zu bytes that are read", path,
                   most_bytes);
    }
    return false;
}

bool file_is_inside(Str path)
{
    bool is_plain = path.len > 0 && path.ptr[0] != '/' && !memchr(path.ptr, '\0', path.len);
    for (size_t i = 0; is_plain && i + 1 < path.len; i++) {
        is_plain = !(path.ptr[i] == '.' && path.ptr[i + 1] == '.');
    }
    return is_plain;
}

bool file_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// ---- mapping ----

bool file_map(Diag *dx, const char *path, FileMap *out)
{
    *out = (FileMap){0};
    struct stat about;
    // A pipe without a writer would block an open without O_NONBLOCK.
    int fd = open_to_read(dx, path, O_NONBLOCK, &about);
    if (fd < 0) {
        return false;
    }
    bool is_good = true;
    if (!S_ISREG(about.st_mode)) {
        diag_fail(dx, "cannot read %s: it is no regular file", path);
        is_good = false;
    } else if (about.st_size > 0) {
        void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            report(dx, "map", path, errno);
            is_good = false;
        } else {
            *out = (FileMap){.data = data, .size = (size_t)about.st_size};
        }
    }
    close(fd);
    return is_good;
}

void file_unmap(FileMap *map)
{
    if (map->data) {
        munmap((void *)map->data, map->size);
    }
    *map = (FileMap){0};
}

// ---- writing ----

struct FileWriter {
    Diag *dx;
    char *shown; // the path as it was given
    char *path;  // behind symbolic links
    char *temp;  // NULL: written in place
    FILE *file;
    int error; // the first errno, 0 if all went well
};

static void free_writer(FileWriter *w)
{
    if (w->temp) {
        temp_forget(w->temp);
    }
    free(w->shown);
    free(w->path);
    free(w->temp);
    free(w);
}

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

// Creates a file beside w->path. Its name is short, so that it fits where the final name does; it
// is not mkstemp's, because the mode is to follow the umask.
static int create_temp(FileWriter *w)
{
    enum { MOST_TRIES = 1000, NAME_BYTES = 64 };
    size_t length = directory_length(w->path);
    w->temp = malloc(length + NAME_BYTES);
    if (!w->temp) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(w->temp, w->path, length);
    for (int i = 0; i < MOST_TRIES; i++) {
        snprintf(w->temp + length, NAME_BYTES, ".sluice-%ld-%d", (long)getpid(), i);
        int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            temp_note(w->temp);
        }
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

static void report_create(const FileWriter *w, int error)
{
    size_t length = directory_length(w->path);
    if (error == EISDIR) {
        diag_fail(w->dx, "cannot write %s: it is a directory; name a file in it", w->shown);
    } else if (error == ENOENT && length > 1) {
        diag_fail(w->dx, "cannot write %s: there is no directory %.*s", w->shown, (int)length - 1,
                  w->path);
    } else {
        report(w->dx, "write", w->shown, error);
    }
}

// Opens what is written to; false with errno set.
static bool open_to_write(FileWriter *w, const char *path)
{
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return false;
    }
    // What is no file may have no path behind its links: /dev/stdout that is a pipe.
    bool is_file = exists && S_ISREG(about.st_mode);
    w->path = is_file ? realpath(path, NULL) : strdup(path);
    if (!w->path) {
        return false;
    }
    int fd = -1;
    if (exists && !is_file) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else if (path[0] == '\0' || path[strlen(path) - 1] == '/') {
        errno = path[0] == '\0' ? ENOENT : EISDIR;
    } else {
        fd = create_temp(w);
    }
    w->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (fd >= 0 && !w->file) {
        int error = errno;
        close(fd);
        if (w->temp) {
            unlink(w->temp);
        }
        errno = error;
    }
    return w->file != NULL;
}

FileWriter *file_create(Diag *dx, const char *path)
{
    FileWriter *w = calloc(1, sizeof *w);
    char *shown = strdup(path);
    if (!w || !shown) {
        report(dx, "write", path, ENOMEM);
        free(w);
        free(shown);
        return NULL;
    }
    w->dx = dx;
    w->shown = shown;
    if (open_to_write(w, path)) {
        return w;
    }
    int error = errno;
    if (!w->path) {
        w->path = strdup(path);
    }
    if (w->path) {
        report_create(w, error);
    } else {
        report(dx, "write", path, error);
    }
    free_writer(w);
    return NULL;
}

void file_write(FileWriter *w, const void *data, size_t bytes)
{
    if (w->error == 0 && bytes > 0 && fwrite(data, 1, bytes, w->file) != bytes) {
        w->error = errno != 0 ? errno : EIO;
    }
}

// The rest of a copy, where the kernel cannot do it between these two files: pipes, two disks.
static bool copy_through_memory(FileWriter *w, int from, uint64_t at, uint64_t bytes)
{
    static uint8_t buffer[1 << 20];
    while (w->error == 0 && at < bytes) {
        size_t most = bytes - at < sizeof buffer ? (size_t)(bytes - at) : sizeof buffer;
        ssize_t n = pread(from, buffer, most, (off_t)at);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        if (n > 0) {
            file_write(w, buffer, (size_t)n);
            at += (uint64_t)n;
        }
    }
    return true;
}

void file_write_copy(FileWriter *w, int from, uint64_t bytes)
{
    uint64_t at = 0;
    bool by_kernel = fflush(w->file) == 0;
    while (by_kernel && at < bytes) {
        off_t offset = (off_t)at;
        ssize_t n = copy_file_range(from, &offset, fileno(w->file), NULL, (size_t)(bytes - at), 0);
        by_kernel = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (uint64_t)n : 0;
    }
    if (!copy_through_memory(w, from, at, bytes) && w->error == 0) {
        w->error = errno;
    }
}

static void close_file(FileWriter *w)
{
    if (fclose(w->file) != 0 && w->error == 0) {
        w->error = errno;
    }
}

static bool put_in_place(FileWriter *w)
{
    if (w->error == 0 && w->temp && rename(w->temp, w->path) != 0) {
        w->error = errno;
    }
    return w->error == 0;
}

// Frees the writer of a closed file, which is in its place or not wanted.
static void end(FileWriter *w, bool is_placed)
{
    if (!is_placed && w->temp) {
        unlink(w->temp);
    }
    if (w->error != 0) {
        report(w->dx, "write", w->shown, w->error);
    }
    free_writer(w);
}

bool file_commit(FileWriter *w)
{
    close_file(w);
    bool is_good = put_in_place(w);
    end(w, is_good);
    return is_good;
}

// A second name for what stands at w->path, to be freed; NULL: nothing does, or the file system
// knows no second names.
static char *keep_old(const FileWriter *w)
{
    size_t length = w->temp ? strlen(w->temp) : 0;
    char *kept = length > 0 ? malloc(length + 2) : NULL;
    if (kept) {
        memcpy(kept, w->temp, length);
        memcpy(kept + length, "o", 2);
        if (link(w->path, kept) != 0) {
            free(kept);
            kept = NULL;
        }
    }
    return kept;
}

static bool place_both(FileWriter *first, FileWriter *second)
{
    char *kept = keep_old(first);
    bool is_first = put_in_place(first);
    bool is_good = is_first && put_in_place(second);
    if (kept) {
        if (is_first && !is_good) {
            rename(kept, first->path);
        }
        unlink(kept);
        free(kept);
    } else if (is_first && !is_good && first->temp) {
        unlink(first->path);
    }
    return is_good;
}

bool file_commit_both(FileWriter *first, FileWriter *second)
{
    close_file(first);
    close_file(second);
    bool is_good = first->error == 0 && second->error == 0 && place_both(first, second);
    end(first, is_good);
    end(second, is_good);
    return is_good;
}

void file_abandon(FileWriter *w)
{
    fclose(w->file);
    if (w->temp) {
        unlink(w->temp);
    }
    free_writer(w);
}

bool file_write_text(Diag *dx, const char *path, Str text)
{
    FileWriter *w = file_create(dx, path);
    if (!w) {
        return false;
    }
    file_write(w, text.ptr, text.len);
    return file_commit(w);
}
