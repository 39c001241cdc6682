// Files: read whole under a limit, mapped, and written so that nothing is ever left half written.
// Main types: FileMap, FileWriter. io/ and driver/ include this; every message names the path.
#ifndef SLUICE_IO_FILE_H
#define SLUICE_IO_FILE_H

#include "base/diag.h"

// Reads a file, device or pipe whole into the arena, at most `most_bytes` of it. False after a
// report, also when there is more: /dev/zero ends there. The text is followed by a NUL that is not
// counted.
bool file_read(Arena *arena, Diag *dx, const char *path, size_t most_bytes, Str *out);

// Whether a path that stands in a file stays in the folder that it is taken from: it is neither
// absolute, nor has it `..` or a NUL.
bool file_is_inside(Str path);

// Whether there is a folder, or a link to one.
bool file_is_folder(const char *path);

// A regular file in memory, read only. The pages are the file's own: whoever shortens the file
// while it is mapped ends the process, so it is for files that programs replace by rename, as
// FileWriter does.
typedef struct FileMap {
    const uint8_t *data; // [size], page aligned; NULL if size is 0
    size_t size;
} FileMap;

bool file_map(Diag *dx, const char *path, FileMap *out);
void file_unmap(FileMap *map);

// What is written goes to a file beside `path`, which file_commit renames to `path`: whoever reads
// sees the old content or the new one. After a failure nothing of it stays. Devices and pipes are
// written in place; a symbolic link stays one, its target is replaced. Each writer made ends in
// file_commit or file_abandon, which free it.
typedef struct FileWriter FileWriter;

// NULL after a report: a missing directory, a directory in place of the file, no permission.
FileWriter *file_create(Diag *dx, const char *path);
// Writes in order. A failure is kept and reported by file_commit, so that calls need no check each.
void file_write(FileWriter *writer, const void *data, size_t bytes);
// The first bytes of an open regular file, by the kernel where it can. The same of failures.
void file_write_copy(FileWriter *writer, int from, uint64_t bytes);
// False after a report; the old content of `path` is then untouched.
bool file_commit(FileWriter *writer);
// Two files that belong together: both are replaced, or after a report neither is. What is only
// whole with `first` is given as `second`, which appears last.
bool file_commit_both(FileWriter *first, FileWriter *second);
void file_abandon(FileWriter *writer);

// The whole of a text at once.
bool file_write_text(Diag *dx, const char *path, Str text);

#endif
