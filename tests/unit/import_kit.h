// Configurations written to a folder of their own and imported, for tests.
#ifndef SLUICE_TESTS_IMPORT_KIT_H
#define SLUICE_TESTS_IMPORT_KIT_H

#include "base/diag.h"

typedef struct Env {
    Arena *arena;
    Diag *dx;
    char dir[64];
    char model[256]; // the model folder in it: my-Model.v2
} Env;

int env_set_up(void **state);
int env_tear_down(void **state);

// Gives the model folder another name.
void rename_folder(Env *env, const char *name);
// Writes a file into the model folder.
void put(Env *env, const char *name, const char *text);
void put_bytes(Env *env, const char *name, Str bytes);
// A file there named config.json, imported as a file: the text must be `expected` and no message be
// there. With the text goes what elaborates it.
void assert_becomes(Env *env, const char *config, const char *expected);
// As that, but the import warns, and the message holds `part`.
void assert_warns(Env *env, const char *config, const char *part, const char *expected);
// The same of the whole folder, as it was put.
void assert_folder_becomes(Env *env, const char *expected);
void assert_folder_warns(Env *env, const char *part, const char *expected);
// The import fails, and what it says holds `part`.
void assert_refuses(Env *env, const char *config, const char *part);
void assert_folder_refuses(Env *env, const char *part);

#endif
