// Inside of checkpoint: what was found for a parameter, and how it is read. Main type: Found. For
// io/checkpoint*.c alone.
//
//   names ──checkpoint.c──▶ Found ──checkpoint_read.c──▶ values
#ifndef SLUICE_IO_CHECKPOINT_INTERNAL_H
#define SLUICE_IO_CHECKPOINT_INTERNAL_H

#include "io/checkpoint.h"

// Where a parameter's values come from.
typedef struct Found {
    size_t n;
    const StTensor **tensors; // [n]
    const MapRule *rule;      // NULL: there is one tensor, as it is
    MapShape shape;           // after the rule's steps
    const MapStep *misfit;    // NULL: the steps can be done
    Str why;                  // of the misfit
} Found;

struct Checkpoint {
    StFile *file;
    Map found; // a parameter's name, to Found
};

// Whether its type is one that parameters are read from.
bool tensor_is_number(const StTensor *t);
// All values, to be freed by the caller; NULL after a report.
double *tensor_read_new(Diag *dx, const StFile *file, const StTensor *t);

#endif
