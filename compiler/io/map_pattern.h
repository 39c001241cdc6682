// Patterns of names: text with captures, `encoder.layer.<n>.<which..>.weight`. Main types: Pattern,
// Captures. For io/ alone.
//
//   <n>     digits, as many as there are
//   <x..>   any text but none; once in a pattern
//
// Between two captures, and between digits and a <n>, there is text that tells where one ends, so a
// name fits in one way or not at all, and finding out takes one walk.
#ifndef SLUICE_IO_MAP_PATTERN_H
#define SLUICE_IO_MAP_PATTERN_H

#include "base/diag.h"

enum { MOST_CAPTURES = 8 }; // of one pattern

typedef struct PatternItem {
    Str text; // literal, or a capture's name
    bool is_capture;
    bool is_any; // <x..>
} PatternItem;

typedef struct Pattern {
    Place at;
    size_t n;
    PatternItem items[2 * MOST_CAPTURES + 1];
    size_t ncaptures;
} Pattern;

// What a name holds at a pattern's captures.
typedef struct Captures {
    size_t n;
    Str names[MOST_CAPTURES];
    Str values[MOST_CAPTURES];
} Captures;

// False after a report at the place.
bool pattern_parse(Diag *dx, Place at, Str text, Pattern *out);
const PatternItem *pattern_capture(const Pattern *pattern, Str name); // NULL: it has none
bool pattern_fits(const Pattern *pattern, Str name, Captures *out);
// Whether the pattern, which has no <x..>, fits the beginning of a name up to a dot or its end.
bool pattern_begins(const Pattern *pattern, Str name, Captures *out);
// The pattern with values for its captures, all of which are there.
Str pattern_fill(Arena *arena, const Pattern *pattern, const Captures *values);
// NULL if there is none.
const Str *captures_find(const Captures *captures, Str name);

#endif
