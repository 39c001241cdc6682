// A user's file, the files it uses, and the standard library: what a name outside of a body means.
// Main type: Program. For front/ alone.
#ifndef SLUICE_FRONT_PROGRAM_H
#define SLUICE_FRONT_PROGRAM_H

#include "front/front.h"
#include "front/value.h"

// A `let`, computed when it is first read.
typedef struct Let {
    const Item *item;
    enum { LET_new, LET_running, LET_done } state;
    Value value;
} Let;

// One file. Each keeps its own view of names.
struct Unit {
    Str key; // equal for the same file, however it is named
    const File *file;
    bool is_std;
    Map items;    // name → const Item
    Map lets;     // name → Let
    Map families; // letter → const Item
    VEC(Unit *) uses;
    bool is_loading;
};

typedef struct Program {
    Arena *arena;
    Diag *dx;
    const FrontReader *reader; // NULL: no file may be used
    VEC(Unit *) std;
    VEC(Unit *) loaded;
    Unit *main; // the user's file, or an empty one
} Program;

// False after errors. `source` NULL: no file, only the library.
bool program_load(Program *program, const FrontFile *source);

typedef struct Found {
    const Unit *unit;
    const Item *item; // NULL: nothing has this name
} Found;

// What `name` means in a file: its own items, those of the files it uses, the library's.
Found program_find(const Program *program, const Unit *unit, Str name);
Found program_find_family(const Program *program, char letter);
Let *unit_let(const Unit *unit, Str name);

typedef VEC(Str) Names;
// All names that a file can use for items; and the models of the user's file.
void program_names(const Program *program, const Unit *unit, Names *out);
void program_models(const Program *program, Names *out);
// "; did you mean `x`?", or nothing.
Str name_hint(Arena *arena, Str name, const Names *names);
// The same where the names are few: "; there are `x`, `y`" if none is near.
Str name_list_hint(Arena *arena, Str name, const Names *names);
void program_families(const Program *program, Names *out); // letters

#endif
