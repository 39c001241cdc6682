// A model's parameters in a weights file: under which names they stand there, whether all of them
// do, and their values. Main type: Checkpoint. driver/ includes this.
//
// The names of checkpoints are not always the model's: a head's file has its encoder under a prefix
// (`bert.`, `electra.`, `funnel.`) that the encoder's own file has not; old files call the
// parameters of norms gamma and beta; a table that serves twice is stored under either name.
#ifndef SLUICE_IO_CHECKPOINT_H
#define SLUICE_IO_CHECKPOINT_H

#include "io/safetensors.h"
#include "io/weight_map.h"
#include "ir/ir.h"

typedef struct Checkpoint Checkpoint;

typedef struct CheckpointOptions {
    const WeightMap *map; // NULL: names are the model's, or a shipped map's that fits
    bool strict;          // a tensor that is neither used nor known from other models is an error
} CheckpointOptions;

// Finds every parameter, [n], in the file at `path`, or in those that an index, NAME.index.json,
// names. NULL after a report: up to 20 that are missing or of another shape or type at once, each
// with both shapes; names for one parameter whose values differ. What is not used, a prefix or a
// map that was resolved is a note. The file stays mapped until checkpoint_close.
Checkpoint *checkpoint_open(Arena *arena, Diag *dx, const char *path,
                            const CheckpointOptions *options, Node *const *params, size_t n);
void checkpoint_close(Checkpoint *checkpoint);
// The values of a parameter that was found, row by row: [count]. False after a report.
bool checkpoint_read_f32(Diag *dx, const Checkpoint *checkpoint, const Node *param, float *out);
bool checkpoint_read_f64(Diag *dx, const Checkpoint *checkpoint, const Node *param, double *out);

#endif
