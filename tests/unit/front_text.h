// For tests of front/: sources from strings, messages as strings.
#ifndef SLUICE_TESTS_UNIT_FRONT_TEXT_H
#define SLUICE_TESTS_UNIT_FRONT_TEXT_H

#include "front/front.h"

typedef struct FrontText {
    Arena *arena;
    Diag *dx;
} FrontText;

FrontText front_text_open(void);
void front_text_close(FrontText *t);
const Source *front_text_source(FrontText *t, const char *text); // called t.slu
// The first lines of all messages so far, `t.slu:1:2: error: …`, each with its newline; forgets
// them.
const char *front_text_messages(FrontText *t);

// The graph of a file's only model; NULL after errors. `options` may be NULL.
Graph *front_text_elaborate(FrontText *t, const char *text, const FrontOptions *options);
// One line of `name: type` for each output; the messages if there is no graph.
const char *front_text_show(FrontText *t, const Graph *graph);
// Both in one.
const char *front_text_outputs(FrontText *t, const char *text, const FrontOptions *options);

#endif
