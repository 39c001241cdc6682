// The shipped weight maps as they stand in compiler/maps/, embedded in the binary when it is built.
// The table is generated (tools/embed.cmake), sorted by name; for io/ alone.
#ifndef SLUICE_IO_MAP_FILES_H
#define SLUICE_IO_MAP_FILES_H

#include <stddef.h>

typedef struct MapFile {
    const char *name; // "maps/funnel-tf.yaml"
    const char *text; // UTF-8, static; a zero byte follows the last one
    size_t length;    // bytes, without that zero
} MapFile;

extern const MapFile map_files[];
extern const size_t map_nfiles;

#endif
