// The standard library as it stands in compiler/std/, embedded in the binary when it is built.
// The table is generated (tools/embed.cmake), sorted by name; for front/ and driver/.
#ifndef SLUICE_FRONT_STD_FILES_H
#define SLUICE_FRONT_STD_FILES_H

#include <stddef.h>

typedef struct StdFile {
    const char *name; // "std/core.slu"
    const char *text; // UTF-8, static; a zero byte follows the last one
    size_t length;    // bytes, without that zero
} StdFile;

extern const StdFile std_files[];
extern const size_t std_nfiles;

#endif
