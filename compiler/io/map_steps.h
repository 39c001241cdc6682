// What a weight map does to the tensors of a file on their way to a parameter. Main types: MapStep,
// MapShape. For io/ alone.
#ifndef SLUICE_IO_MAP_STEPS_H
#define SLUICE_IO_MAP_STEPS_H

#include "base/diag.h"

enum {
    MOST_RANK = 8,
    MOST_PARTS = 64 // of one join: tensors that a rule takes
};

typedef struct MapShape {
    size_t rank;
    int64_t sizes[MOST_RANK];
} MapShape;

typedef enum StepKind {
    STEP_transpose, // axes [n] in the new order; n is 0: the last two change places
    STEP_reshape,   // sizes [n], one of them may be REST
    STEP_merge,     // the axes first … last become one
    STEP_split,     // of `parts` equal parts along `axis`, that with the number `take`
    STEP_join       // all tensors, one behind the other along `axis`
} StepKind;

#define REST ((int64_t)-1) // in a reshape: what is left

typedef struct MapStep {
    StepKind kind;
    Place at;
    size_t n;
    int64_t numbers[MOST_RANK]; // axes or sizes
    size_t axis;                // of split and join; the first of merge
    size_t last;                // of merge
    int64_t parts;
    int64_t take;
} MapStep;

// A tensor under way: row by row, elements of one size for all.
typedef struct Moving {
    MapShape shape;
    uint8_t *data; // malloc'd; NULL while only shapes are asked for
} Moving;

// Does the step to `arrays`, [*n] of them; a join leaves one. Elements have `bytes` bytes; data
// that a step replaces is freed. False if the step does not fit (`why` says how), or, with data, if
// there is no memory (`why` is left empty).
bool step_apply(const MapStep *step, Moving *arrays, size_t *n, size_t bytes, Buf *why);

void shape_print(Buf *buf, const MapShape *shape);
int64_t shape_count(const MapShape *shape); // elements; the sizes are a file's, so it fits

#endif
