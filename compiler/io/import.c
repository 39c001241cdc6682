// From a checkpoint's configuration to .slu text: finds the file, tells whose it is, and lets the
// family read it.
#include "io/import.h"

#include "io/import_internal.h"

#include <string.h>
#include <sys/stat.h>

// The families of Hugging Face, by `model_type`.
static const struct {
    const char *type;
    Form form;
    Call (*import)(Keys *k);
} families[] = {
    {"bert", FORM_bert, import_bert},       {"electra", FORM_electra, import_electra},
    {"funnel", FORM_funnel, import_funnel}, {"vit", FORM_image, import_vit},
    {"deit", FORM_image, import_deit},
};

enum { NFAMILIES = sizeof families / sizeof families[0] };

static const char *family_names(Import *im)
{
    Buf buf = {.arena = im->arena};
    for (size_t i = 0; i < NFAMILIES; i++) {
        buf_format(&buf, "%s\"%s\"",
                   i == 0              ? ""
                   : i + 1 < NFAMILIES ? ", "
                                       : " or ",
                   families[i].type);
    }
    return str_cstr(im->arena, buf_str(&buf));
}

static bool import_hf(Import *im, const Json *type, Call *out)
{
    for (size_t i = 0; i < NFAMILIES; i++) {
        if (type->kind == JSON_text && str_equal(type->text, str_from(families[i].type))) {
            if (im->is_sentence && families[i].form != FORM_bert) {
                diag_error(im->dx, type->at,
                           "modules.json makes a sentence embedding, but of %s; what is understood "
                           "is \"bert\"",
                           families[i].type);
                return false;
            }
            Keys k = keys_open(im, im->config, families[i].form);
            k.notes_missing = true;
            keys_take(&k, "model_type");
            *out = families[i].import(&k);
            return true;
        }
    }
    import_misfit(im, "model_type", type, family_names(im));
    return false;
}

// Whose file it is, by the key that only they have.
static bool import_any(Import *im, Call *out)
{
    const Json *type = json_tree_find(im->config, STR("model_type"));
    if (type) {
        return import_hf(im, type, out);
    }
    if (json_tree_find(im->config, STR("architecture"))) {
        Keys k = keys_open(im, im->config, FORM_timm);
        *out = import_timm(&k);
        return true;
    }
    if (json_tree_find(im->config, STR("class"))) {
        Keys k = keys_open(im, im->config, FORM_lucid);
        *out = import_lucid(&k);
        return true;
    }
    diag_error(im->dx, im->config->at,
               "this is no configuration that is known; what is understood has model_type (Hugging "
               "Face: %s), architecture (timm), or class and args (g-mlp-pytorch)",
               family_names(im));
    return false;
}

bool import_config(Arena *arena, Diag *dx, const char *path, Str *out)
{
    size_t before = diag_nerrors(dx);
    struct stat st;
    Import im = {.arena = arena, .dx = dx};
    const char *file = path;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        im.folder = path;
        file = str_cstr(arena, str_format(arena, "%s/config.json", path));
    }
    im.config = json_tree_read(arena, dx, file);
    if (!im.config || (im.folder && !import_modules(&im))) {
        return false;
    }
    Call call;
    if (!import_any(&im, &call) || diag_nerrors(dx) > before) {
        return false;
    }
    if (im.folder) {
        import_notes(&im);
    }
    *out = call_print(&call);
    return true;
}
