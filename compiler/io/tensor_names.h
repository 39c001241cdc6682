// What names of tensors mean in checkpoints, whatever the model: what may stand before them, what
// old files called them, and which of them a model can do without. For io/ alone.
#ifndef SLUICE_IO_TENSOR_NAMES_H
#define SLUICE_IO_TENSOR_NAMES_H

#include "base/str.h"

// What head models put before their encoder's names: "bert.", "electra.", "funnel.".
enum { NAME_BASES = 3 };
extern const Str name_bases[NAME_BASES];

// The name without one of those.
Str name_stem(Str name);
// The name that an old file has for a norm's parameter, gamma or beta; nothing if it has none.
Str name_old_form(Arena *arena, Str name);
// Whether a tensor that no parameter uses is nothing to wonder at: a buffer of indices, which holds
// no values, or a part of another model on the same encoder: a head, a pooler, a decoder.
bool name_is_dispensable(Str name);

#endif
