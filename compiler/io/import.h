// Import: what a checkpoint's configuration says, as the text of a model in the language. io/ and
// driver/ include this.
#ifndef SLUICE_IO_IMPORT_H
#define SLUICE_IO_IMPORT_H

#include "base/diag.h"

// Reads a configuration file, or the model folder that holds one (config.json, and beside it what
// says how sentences are embedded: modules.json, 1_Pooling/config.json). `out` is .slu text with
// one model. False after a report: a kind of model that is not known, a key that changes the
// mathematics and is not understood, a value that does not fit.
bool import_config(Arena *arena, Diag *dx, const char *path, Str *out);

#endif
