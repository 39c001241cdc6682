// JSON files as trees whose every value and key has its place, so that a message about one can show
// it. Main type: Json. jansson judges the text, duplicate keys are refused; size, depth and number
// of values are limited before it sees anything. For io/ alone.
#ifndef SLUICE_IO_JSON_TREE_H
#define SLUICE_IO_JSON_TREE_H

#include "base/diag.h"

typedef enum JsonKind {
    JSON_null,
    JSON_bool,
    JSON_int,
    JSON_real,
    JSON_text,
    JSON_list,
    JSON_object
} JsonKind;

typedef struct JsonKey {
    Str name;
    Place at;
} JsonKey;

typedef struct Json {
    JsonKind kind;
    Place at;
    bool truth;               // of a bool
    int64_t integer;          // of an int
    double real;              // of an int or a real, which a whole number beyond int64_t is too
    Str text;                 // of a text, decoded
    size_t n;                 // of a list or an object
    const struct Json *items; // [n]: members of a list, values of an object
    const JsonKey *keys;      // [n]: of an object, in the order of the file
} Json;

// Reads and parses a file, a list or an object; NULL after a report.
const Json *json_tree_read(Arena *arena, Diag *dx, const char *path);
// The value of an object's key; NULL if there is none or `object` is no object.
const Json *json_tree_find(const Json *object, Str key);

#endif
