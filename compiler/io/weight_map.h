// Weight maps: how the tensors of a file that knows nothing of the model's names become its
// parameters. Main type: WeightMap. docs/weights.md is the manual of the text form; io/ and driver/
// include this.
//
//   MAP.yaml ──yaml_tree──▶ WeightMap ──checkpoint.c asks for each parameter──▶ tensors, steps
#ifndef SLUICE_IO_WEIGHT_MAP_H
#define SLUICE_IO_WEIGHT_MAP_H

#include "base/map.h"
#include "io/map_pattern.h"
#include "io/map_steps.h"

typedef struct MapRule {
    Pattern to; // the model's name
    size_t nfrom;
    const Pattern *from; // [nfrom] the file's names; their captures are of `to`, or counts
    size_t nsteps;
    const MapStep *steps; // [nsteps] in order
} MapRule;

// Numbers what its patterns fit in the model's names: from 0, pattern by pattern, by the numbers in
// it. So a file's running number of a layer is told from the model's block and layer.
typedef struct MapCount {
    Str name; // as a capture
    size_t npatterns;
    const Pattern *patterns; // [npatterns] of beginnings, without <x..>
} MapCount;

typedef struct WeightMap {
    size_t nstrip;
    const Str *strip; // [nstrip] what the file's names may begin with
    size_t ncounts;
    const MapCount *counts; // [ncounts]
    size_t nrules;
    const MapRule *rules; // [nrules] the first that fits and whose tensors are there counts
} WeightMap;

// A shipped map by its name, or a file: one whose name has a slash or ends in .yaml or .yml. NULL
// after a report of all that is wrong with it.
const WeightMap *weight_map_read(Arena *arena, Diag *dx, const char *name);
// The shipped map of that number, counted from 0, and its name; NULL behind the last.
const WeightMap *weight_map_shipped(Arena *arena, Diag *dx, size_t i, Str *name);
// The same of a text.
const WeightMap *weight_map_parse(Arena *arena, Diag *dx, const Source *source);

// The numbers of a model's names, [n], for the counts of a map.
typedef struct Counted Counted;
Counted *weight_map_count(Arena *arena, const WeightMap *map, const Str *names, size_t n);

// The file's names that a rule gives a model's name: out [rule->nfrom]. False if it does not fit.
bool rule_names(Arena *arena, const MapRule *rule, const Counted *counted, Str name, Str *out);

#endif
