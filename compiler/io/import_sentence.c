// Folders of sentence-transformers: modules.json lists what runs one after the other. What is
// understood is an encoder, a vector made of its tokens, and the scaling to length 1.
#include "io/file.h"
#include "io/import_internal.h"

#include <string.h>
#include <unistd.h>

static const char *const steps[] = {"Transformer", "Pooling", "Normalize"};
enum { NSTEPS = sizeof steps / sizeof steps[0] };

// A module's class without the package it is in.
static Str last_part(Str type)
{
    size_t begin = type.len;
    while (begin > 0 && type.ptr[begin - 1] != '.') {
        begin--;
    }
    return (Str){type.ptr + begin, type.len - begin};
}

static bool is_text(const Json *value) { return value && value->kind == JSON_text; }

// Whether a module is the one that must stand there; its `path` then.
static const Json *read_module(Import *im, const Json *module, const char *step)
{
    Keys k = keys_open(im, module, FORM_module);
    const Json *type = keys_take(&k, "type");
    const Json *path = keys_take(&k, "path");
    keys_finish(&k);
    if (!is_text(type) || !str_starts(type->text, STR("sentence_transformers.")) ||
        !str_equal(last_part(type->text), str_from(step))) {
        diag_error(im->dx, type ? type->at : module->at,
                   "this module is not %s of sentence_transformers; what is understood is "
                   "Transformer, Pooling and Normalize, in this order",
                   step);
        return NULL;
    }
    if (!is_text(path)) {
        diag_error(im->dx, path ? path->at : module->at, "this module's path is no text");
        return NULL;
    }
    return path;
}

// By one key for each way, as it was, or by the name of one.
static void read_mode(Keys *k)
{
    static const char *const flags[] = {"pooling_mode_cls_token", "pooling_mode_max_tokens",
                                        "pooling_mode_mean_tokens",
                                        "pooling_mode_mean_sqrt_len_tokens"};
    static const Word modes[] = {{"cls", "cls"},
                                 {"max", "max"},
                                 {"mean", "mean"},
                                 {"mean_sqrt_len_tokens", "mean_sqrt_len"}};
    enum { NMODES = sizeof modes / sizeof modes[0] };
    const Json *at = NULL; // of the second way
    size_t n = 0;
    k->im->pool = "mean";
    for (size_t i = 0; i < NMODES; i++) {
        if (keys_bool(k, flags[i], false)) {
            k->im->pool = modes[i].slu;
            at = ++n == 2 ? json_tree_find(k->object, str_from(flags[i])) : at;
        }
    }
    if (json_tree_find(k->object, STR("pooling_mode"))) {
        k->im->pool = keys_word(k, "pooling_mode", modes, NMODES, "mean");
    } else if (at) {
        diag_error(k->im->dx, at->at, "two ways to pool at once; what is understood is one");
    }
}

static bool read_pooling(Import *im, const Json *folder)
{
    if (!file_is_inside(folder->text)) {
        diag_error(im->dx, folder->at, "%.*s is no folder inside of %s",
                   STR_ARG(import_show(im, folder)), im->folder);
        return false;
    }
    Str path = str_format(im->arena, "%s/%.*s/config.json", im->folder, STR_ARG(folder->text));
    const Json *config = json_tree_read(im->arena, im->dx, str_cstr(im->arena, path));
    if (!config) {
        return false;
    }
    Keys k = keys_open(im, config, FORM_pooling);
    read_mode(&k);
    const char *width = "word_embedding_dimension"; // as it was called before
    width = json_tree_find(k.object, str_from(width)) ? width : "embedding_dimension";
    keys_size(&k, width, 1);
    im->pooled_width = json_tree_find(k.object, str_from(width));
    keys_finish(&k);
    return true;
}

bool import_modules(Import *im)
{
    const char *path = str_cstr(im->arena, str_format(im->arena, "%s/modules.json", im->folder));
    if (access(path, F_OK) != 0) {
        return true;
    }
    const Json *list = json_tree_read(im->arena, im->dx, path);
    if (!list) {
        return false;
    }
    if (list->kind != JSON_list || list->n < 2 || list->n > NSTEPS) {
        diag_error(im->dx, list->at,
                   "the modules understood are Transformer, Pooling and, or not, Normalize");
        return false;
    }
    const Json *paths[NSTEPS];
    bool is_good = true;
    for (size_t i = 0; i < list->n; i++) {
        paths[i] = read_module(im, &list->items[i], steps[i]);
        is_good = is_good && paths[i];
    }
    if (!is_good) {
        return false;
    }
    if (paths[0]->text.len > 0) {
        import_misfit(im, "the Transformer's path", paths[0],
                      "\"\": config.json and weights in the folder itself");
        return false;
    }
    im->is_sentence = true;
    im->normalizes = list->n == NSTEPS;
    return read_pooling(im, paths[1]);
}
