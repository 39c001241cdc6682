// The two ways to run a model: a compiled one by libsluice, and a SPEC by the evaluator. Only
// driver/ includes this.
#ifndef SLUICE_DRIVER_RUN_H
#define SLUICE_DRIVER_RUN_H

#include "driver/tensors.h"
#include "runtime/sluice.h"

typedef struct RunOptions {
    const char *input; // NULL: made up, by `seed`
    uint64_t seed;
    const SizeBinding *sizes; // of made-up inputs, [nsizes]; others have their smallest value
    size_t nsizes;
    unsigned threads; // 0: all that there are
} RunOptions;

// Both run the model once and give its outputs, those of the evaluator in f64. False after a
// report; free the outputs either way.
bool run_native(Call *call, const RunOptions *options, Tensors *outputs);
bool run_reference(Call *call, const CompileOptions *model, const RunOptions *options,
                   Tensors *outputs);

// Reports what libsluice says; false.
bool native_report(Call *call, const SlError *error);
// The value of a size of made-up inputs. `low`: its smallest.
int64_t run_size(const RunOptions *options, Str name, int64_t low);
// Whether every size given is one of the model's; false after a report.
bool run_check_sizes(Call *call, const RunOptions *options, const Str *names, size_t n);
// Neither a file nor a seed was given, but the model has inputs: false after a report.
bool run_check_inputs(Call *call, size_t ninputs);

#endif
