// Linking: an object file's bytes become a shared object, by ld.lld-19, ld.lld or ld, whichever is
// found first. io/ and driver/ include this.
#ifndef SLUICE_IO_LINK_H
#define SLUICE_IO_LINK_H

#include "base/diag.h"

// The shared object's bytes go to `out`. Works in a folder of its own inside `folder`, which it
// removes. With `say_commands` the command is written to standard error, and the object stays, so
// that it can be run again as it is. False after a report that names the command that failed.
bool link_shared(Arena *arena, Diag *dx, const char *folder, Str object, bool say_commands,
                 Str *out);

#endif
