// YAML files as trees whose every value and key has its place, so that a message about one can show
// it. Main type: Yaml. A subset, read from libyaml's events: one document of texts, lists and
// objects, nested at most 64 deep. Anchors, aliases, tags, directives and duplicate keys are
// refused. What a text means (a number, a word) is for the reader to say. For io/ alone.
#ifndef SLUICE_IO_YAML_TREE_H
#define SLUICE_IO_YAML_TREE_H

#include "base/diag.h"

typedef enum YamlKind { YAML_text, YAML_list, YAML_object } YamlKind;

typedef struct YamlKey {
    Str name;
    Place at;
} YamlKey;

typedef struct Yaml {
    YamlKind kind;
    Place at;
    Str text;                 // of a text, decoded
    size_t n;                 // of a list or an object
    const struct Yaml *items; // [n]: members of a list, values of an object
    const YamlKey *keys;      // [n]: of an object, in the order of the file
} Yaml;

// Parses the text of a source; NULL after a report.
const Yaml *yaml_tree_parse(Arena *arena, Diag *dx, const Source *source);
// The value of an object's key; NULL if there is none or `object` is no object.
const Yaml *yaml_tree_find(const Yaml *object, Str key);

#endif
