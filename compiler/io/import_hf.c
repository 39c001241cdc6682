// What the configurations of all Hugging Face families have in common: the class, labels, outputs.
#include "io/import_internal.h"

#include <string.h>

// ---- our own key ----

// Whether `name` is one of `names`, which have spaces between them.
static bool is_listed(Str name, const char *names)
{
    for (const char *p = names; *p;) {
        size_t length = strcspn(p, " ");
        if (str_equal(name, (Str){p, length})) {
            return true;
        }
        p += length + (p[length] == ' ');
    }
    return false;
}

// Whether one of the outputs in a list is of `further`; each must be of that or of `outputs`.
static bool wants_further(Import *im, const Json *list, const char *outputs, const char *further)
{
    bool wants = false;
    if (list->kind != JSON_list) {
        import_misfit(im, "outputs", list, "a list of outputs");
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        const Json *item = &list->items[i];
        Str name = item->kind == JSON_text ? item->text : (Str){0};
        const char *dot = name.len > 0 ? memchr(name.ptr, '.', name.len) : NULL;
        Str whole = dot ? (Str){name.ptr, (size_t)(dot - name.ptr)} : name; // hidden_states.1
        if (is_listed(whole, further)) {
            wants = true;
        } else if (name.len == 0 || !is_listed(name, outputs)) {
            diag_error(im->dx, item->at, "no output %.*s; there are: %s%s%s",
                       STR_ARG(import_show(im, item)), outputs, *further ? " " : "", further);
        }
    }
    return wants;
}

bool import_wants(Keys *k, const char *outputs, const char *further, const char **mask_pool)
{
    static const Word rules[] = {{"any_real", "any_real"}, {"all_real", "all_real"}};
    const Json *value = keys_take(k, "sluice");
    if (!value) {
        return false;
    }
    Keys own = keys_open(k->im, value, FORM_sluice);
    if (mask_pool) {
        *mask_pool = keys_word(&own, "mask_pool", rules, 2, *mask_pool);
    }
    const Json *list = keys_take(&own, "outputs");
    bool wants = list && wants_further(k->im, list, outputs, further);
    keys_finish(&own);
    return wants;
}

// ---- the class ----

static const char *class_names(Import *im, const HfClass *classes, size_t n)
{
    Buf buf = {.arena = im->arena};
    for (size_t i = 0; i < n; i++) {
        buf_format(&buf, "%s%s", i > 0 ? ", " : "", classes[i].name);
    }
    return str_cstr(im->arena, buf_str(&buf));
}

const HfClass *hf_class(Keys *k, const char *family, const HfClass *classes, size_t n,
                        bool *is_known)
{
    Import *im = k->im;
    const Json *list = keys_take(k, "architectures");
    *is_known = false;
    if (list && list->kind != JSON_list && list->kind != JSON_null) {
        import_misfit(im, "architectures", list, "a list of classes");
        return &classes[0];
    }
    if (!list || list->n == 0) {
        diag_warning(im->dx, list ? list->at : k->object->at,
                     "architectures names no class, so this is the encoder of %s without a head",
                     family);
        return &classes[0];
    }
    const Json *first = &list->items[0]; // the library builds this one, too
    for (size_t i = 0; first->kind == JSON_text && i < n; i++) {
        if (str_equal(first->text, str_from(classes[i].name))) {
            *is_known = true;
            return &classes[i];
        }
    }
    diag_warning(im->dx, first->at,
                 "class %.*s is not known, so this is the encoder of %s without a head; known are "
                 "%s",
                 STR_ARG(import_show(im, first)), family, class_names(im, classes, n));
    return &classes[0];
}

Call hf_call(Keys *k, const char *family, const HfClass *cls, bool is_known, char letter)
{
    const Json *own = keys_take(k, "auto_map");
    if (own && own->kind != JSON_null) {
        diag_warning(k->im->dx, own->at,
                     "code that comes with a checkpoint is not read: this is the library's own %s",
                     family);
    }
    Call call = {.im = k->im,
                 .model = cls->model,
                 .origin = str_format(k->im->arena, "%s%s%s", family, is_known ? ", " : "",
                                      is_known ? cls->name : ""),
                 .name = str_from(cls->name),
                 .layout = {.arena = k->im->arena}};
    buf_char(&call.layout, letter);
    return call;
}

static void read_labels(Keys *k, Call *call, const HfClass *cls)
{
    const Json *names = keys_take(k, "id2label");
    bool is_named = names && names->kind != JSON_null;
    int64_t count = 2; // the library's default
    if (is_named && (names->kind != JSON_object || names->n == 0)) {
        import_misfit(k->im, "id2label", names, "an object with a name for each label");
    } else if (is_named) {
        count = (int64_t)names->n;
    }
    bool notes = k->notes_missing;
    bool is_free = cls->labels == LABELS_any || cls->labels == LABELS_classes;
    k->notes_missing = notes && is_free && !is_named;
    int64_t stated = keys_size(k, "num_labels", count);
    k->notes_missing = notes;
    if (stated != count && is_named && cls->labels != LABELS_none) {
        diag_error(k->im->dx, names->at, "id2label names %lld labels, but num_labels is %lld",
                   (long long)count, (long long)stated);
    }
    if (cls->labels == LABELS_two && stated != 2) {
        diag_error(k->im->dx, is_named ? names->at : k->object->at,
                   "%s has 2 labels, start and end, not %lld", cls->name, (long long)stated);
    }
    if (is_free) {
        call_size(call, cls->labels == LABELS_classes ? "classes" : "labels", stated);
    }
}

void hf_head(Keys *k, Call *call, const HfClass *cls, const char *further, const char **mask_pool)
{
    read_labels(k, call, cls);
    if (cls->traits & TRAIT_tied) {
        keys_only(k, "tie_word_embeddings", "true");
    }
    bool notes = k->notes_missing;
    k->notes_missing = false; // what is put out is no part of the model
    bool wants_states = keys_bool(k, "output_hidden_states", false);
    k->notes_missing = notes;
    wants_states |= import_wants(k, cls->outputs, further, mask_pool);
    call_flag(call, "all_states", wants_states, false);
}
