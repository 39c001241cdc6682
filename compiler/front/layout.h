// Layout literals: `B6-3x2-3x2H768`, a family letter, block groups, tagged sizes. Main type:
// Layout. For front/ alone.
#ifndef SLUICE_FRONT_LAYOUT_H
#define SLUICE_FRONT_LAYOUT_H

#include "base/diag.h"

// The sizes that may follow the groups, in canonical order.
typedef enum LayoutTag {
    LAYOUT_H, // width
    LAYOUT_F, // feed-forward width, 4 H if not given
    LAYOUT_A, // number of heads, H / 64
    LAYOUT_E, // width of a head, H / A
    LAYOUT_D, // decoder layers, 0
    LAYOUT_T, // width of the tiny attention, 0
    LAYOUT_S, // token-mixing width, 0
    LAYOUT_ntags
} LayoutTag;

#define LAYOUT_LETTERS "HFAEDTS" // [LAYOUT_ntags]

typedef struct LayoutGroup {
    int64_t layers;  // stored
    int64_t repeats; // how often each runs in a row
} LayoutGroup;

typedef struct Layout {
    Place at;
    char family;
    size_t ngroups;
    const LayoutGroup *groups;   // [ngroups]
    int64_t tags[LAYOUT_ntags];  // as written; 0: not given
    Place places[LAYOUT_ntags];  // of those given
    int64_t sizes[LAYOUT_ntags]; // with the defaults; A and E are 0 where no whole number is their
                                 // default
    Str text;                    // canonical: no `x1`, no leading zeros, tags in the order above
} Layout;

// Whether `text` begins as every layout literal and nothing else does: a capital letter and a
// digit.
bool layout_starts(Str text);
// Reads the literal that is the whole of `at`; NULL after an error, placed at the part at fault.
const Layout *layout_parse(Arena *arena, Diag *dx, Place at);
bool layout_tag_from_name(Str name, LayoutTag *out);
// "decoder layers, as in B6-6-6H768D2": what a tag says, and for whom.
const char *layout_tag_meaning(LayoutTag tag);
// Why A or E has no value and what would give it one.
Str layout_missing(Arena *arena, const Layout *layout);

#endif
