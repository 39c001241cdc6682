// jansson's parser, without what it lets through. For io/ alone: json_tree.c reads files by it,
// safetensors.c pieces of a header.
#ifndef SLUICE_IO_JSON_TEXT_H
#define SLUICE_IO_JSON_TEXT_H

#include "base/str.h"

#include <jansson.h>

// As json_loadb, but a NUL byte is a fault wherever it stands: jansson skips those behind a number
// or a word. The caller drops the reference; NULL: `error` is set.
json_t *json_text_parse(Str text, size_t flags, json_error_t *error);

#endif
