// Facts about a machine, as numbers: what lowering and the passes decide by. The driver fills it
// from the instruction set's row; no instruction set is named here. Any layer from loop on may
// include this.
#ifndef SLUICE_LOOP_TARGET_H
#define SLUICE_LOOP_TARGET_H

#include <stdint.h>

#define TILE_COLS 16 // columns of a packed panel: one layout (P16) for every machine

// A shape of the tile leaf on offer: up to `rows` rows by up to `panels` panels of TILE_COLS
// columns.
typedef struct TileShape {
    int64_t rows;
    int64_t panels;
} TileShape;

typedef struct Target {
    int64_t lanes;  // f32 elements of a vector
    TileShape tile; // the leaf used; leaves with fewer rows or panels exist too
} Target;

#endif
