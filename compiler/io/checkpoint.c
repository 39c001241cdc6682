// Finds a model's parameters in a weights file, and reports what does not fit.
#include "io/checkpoint_internal.h"

#include "base/vec.h"
#include "io/tensor_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Two names of one tensor, in models that have `head`; all without a base.
static const struct {
    const char *head;
    const char *param; // the model's name
    const char *other;
} ties[] = {
    {"cls.predictions.bias", "embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
    {"cls.predictions.bias", "cls.predictions.bias", "cls.predictions.decoder.bias"},
    {"lm_head.bias", "embeddings.word_embeddings.weight", "lm_head.weight"},
    {"generator_lm_head.bias", "embeddings.word_embeddings.weight", "generator_lm_head.weight"},
};
enum { NTIES = sizeof ties / sizeof *ties };

// While parameters are looked for.
typedef struct Search {
    Arena *arena;
    Diag *dx;
    const StFile *file;
    Node *const *params;
    size_t n;
    Map by_name;          // params
    const WeightMap *map; // NULL: none
    const Counted *counted;
    Str map_name; // of a shipped one that was not asked for; or nothing
    Str removed;  // a base of the model's names that the file's have not; or nothing
    Str added;    // one of the file's names that the model's have not; or nothing
    Map used;     // names of tensors
    Map *found;
} Search;

// ---- names ----

static Str join(Arena *a, Str x, Str y)
{
    return str_format(a, "%.*s%.*s", STR_ARG(x), STR_ARG(y));
}

static Str without(Str name, size_t n) { return (Str){name.ptr + n, name.len - n}; }

// Also behind what the map strips.
static const StTensor *find_exact(const Search *s, Str name)
{
    const StTensor *t = st_find(s->file, name);
    for (size_t i = 0; !t && s->map && i < s->map->nstrip; i++) {
        t = st_find(s->file, join(s->arena, s->map->strip[i], name));
    }
    return t;
}

static const StTensor *find_form(const Search *s, Str name)
{
    const StTensor *t = find_exact(s, name);
    Str old = t ? (Str){0} : name_old_form(s->arena, name);
    return old.len > 0 ? find_exact(s, old) : t;
}

// With what was found to be before the names.
static const StTensor *find_name(const Search *s, Str name)
{
    const StTensor *t = find_form(s, name);
    if (!t && s->removed.len > 0 && str_starts(name, s->removed)) {
        t = find_form(s, without(name, s->removed.len));
    } else if (!t && s->added.len > 0) {
        t = find_form(s, join(s->arena, s->added, name));
    }
    return t;
}

// ---- values ----

static bool is_equal(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

// Reports two tensors that should be one and differ; `why` says what makes them one.
static bool check_equal(const Search *s, const StTensor *x, const StTensor *y, const char *why)
{
    bool same_type = str_equal(x->dtype, y->dtype) && x->count == y->count;
    if ((same_type && memcmp(x->data, y->data, (size_t)x->bytes) == 0) || !tensor_is_number(x) ||
        !tensor_is_number(y)) {
        return true; // a type that is none is reported with the parameter
    }
    if (x->count != y->count) {
        diag_error(s->dx, (Place){0},
                   "%.*s: %.*s and %.*s are one tensor %s, but have %lld and %lld "
                   "elements",
                   STR_ARG(s->file->path), STR_ARG(x->name), STR_ARG(y->name), why,
                   (long long)x->count, (long long)y->count);
        return false;
    }
    double *a = tensor_read_new(s->dx, s->file, x);
    double *b = a ? tensor_read_new(s->dx, s->file, y) : NULL;
    int64_t i = 0;
    while (b && i < x->count && is_equal(a[i], b[i])) {
        i++;
    }
    bool ok = b && i == x->count;
    if (b && !ok) {
        diag_error(s->dx, (Place){0},
                   "%.*s: %.*s and %.*s are one tensor %s, but differ: element "
                   "%lld is %.9g and %.9g",
                   STR_ARG(s->file->path), STR_ARG(x->name), STR_ARG(y->name), why, (long long)i,
                   a[i], b[i]);
    }
    free(a);
    free(b);
    return ok;
}

// ---- finding ----

static void use(Search *s, const StTensor *t) { map_put(&s->used, t->name, s); }

static bool has_head(const Search *s, const char *head)
{
    return map_has(&s->by_name, str_from(head));
}

// The tensor under another name that the parameter has in this model. False after a report.
static bool find_tied(Search *s, Str name, const StTensor **t)
{
    for (size_t i = 0; i < NTIES; i++) {
        if (!str_equal(name_stem(name), str_from(ties[i].param)) || !has_head(s, ties[i].head)) {
            continue;
        }
        const StTensor *other = find_name(s, str_from(ties[i].other));
        if (!other) {
            continue;
        }
        use(s, other);
        if (!*t) {
            *t = other;
        } else if (!check_equal(s, *t, other, "in this model")) {
            return false;
        }
    }
    return true;
}

// Both the new and the old name of a norm's parameter.
static bool check_old_form(Search *s, const StTensor *t)
{
    Str old = name_old_form(s->arena, t->name);
    const StTensor *other = old.len > 0 ? st_find(s->file, old) : NULL;
    if (!other) {
        return true;
    }
    use(s, other);
    return check_equal(s, t, other, "under its new and its old name");
}

static Found *new_found(const Search *s, size_t n)
{
    Found *found = arena_new(s->arena, Found, 1);
    found->tensors = arena_new(s->arena, const StTensor *, n);
    found->n = n;
    return found;
}

// The shape that the rule's steps make, or the step that does not fit.
static void try_steps(const Search *s, Found *found)
{
    Moving arrays[MOST_PARTS] = {0};
    Buf why = {.arena = s->arena};
    size_t n = found->n;
    for (size_t i = 0; i < n; i++) {
        const StTensor *t = found->tensors[i];
        arrays[i].shape.rank = t->rank < MOST_RANK ? t->rank : MOST_RANK;
        if (t->rank > MOST_RANK || t->count == 0) {
            found->misfit = found->rule->steps;
            found->why = STR("a tensor without elements, or with more than 8 axes");
            return;
        }
        if (t->rank > 0) {
            memcpy(arrays[i].shape.sizes, t->shape, t->rank * sizeof *t->shape);
        }
    }
    for (size_t i = 0; i < found->rule->nsteps; i++) {
        if (!step_apply(&found->rule->steps[i], arrays, &n, 0, &why)) {
            found->misfit = &found->rule->steps[i];
            found->why = buf_str(&why);
            return;
        }
    }
    found->shape = arrays[0].shape;
}

// The first rule that fits a name, or the name without its base.
static bool fit_rule(const Search *s, const MapRule *rule, Str name, Str *names)
{
    return rule_names(s->arena, rule, s->counted, name, names) ||
           rule_names(s->arena, rule, s->counted, name_stem(name), names);
}

// By the map's first rule that fits and whose tensors are all there; NULL if there is none.
static Found *find_by_map(const Search *s, Str name)
{
    Str names[MOST_PARTS];
    for (size_t i = 0; s->map && i < s->map->nrules; i++) {
        const MapRule *rule = &s->map->rules[i];
        if (!fit_rule(s, rule, name, names)) {
            continue;
        }
        Found *found = new_found(s, rule->nfrom);
        size_t nthere = 0;
        for (size_t k = 0; k < rule->nfrom; k++) {
            found->tensors[k] = find_exact(s, names[k]);
            nthere += found->tensors[k] != NULL;
        }
        if (nthere == rule->nfrom && rule->nsteps > 0) {
            found->rule = rule;
            try_steps(s, found);
        }
        if (nthere == rule->nfrom) { // without steps there is one tensor, as it is
            return found;
        }
    }
    return NULL;
}

// ---- what names differ by ----

static size_t count_found(const Search *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        Str name = s->params[i]->attr.name;
        n += find_name(s, name) || find_by_map(s, name);
    }
    return n;
}

static bool has_base(const Search *s, Str base)
{
    for (size_t i = 0; i < s->n; i++) {
        if (str_starts(s->params[i]->attr.name, base)) {
            return true;
        }
    }
    return false;
}

// Decides for one base, with which the file holds the most parameters; none if that is as good.
static void resolve_base(Search *s)
{
    size_t most = count_found(s);
    Search best = *s;
    for (size_t i = 0; i < NAME_BASES && most < s->n; i++) {
        Search try = *s;
        if (has_base(s, name_bases[i])) {
            try.removed = name_bases[i];
        } else {
            try.added = name_bases[i];
        }
        size_t n = count_found(&try);
        if (n > most) {
            most = n;
            best = try;
        }
    }
    *s = best;
}

// Names are counted as they are and without their bases, as rules read them.
static const Counted *count_names(Arena *arena, const WeightMap *map, Node *const *params, size_t n)
{
    Str *names = arena_new(arena, Str, 2 * n);
    for (size_t i = 0; i < n; i++) {
        names[2 * i] = params[i]->attr.name;
        names[2 * i + 1] = name_stem(params[i]->attr.name);
    }
    return weight_map_count(arena, map, names, 2 * n);
}

static void set_map(Search *s, const WeightMap *map)
{
    s->map = map;
    s->counted = count_names(s->arena, map, s->params, s->n);
}

// Takes the shipped map with which the file holds the most parameters, if that is most of those
// which it does not hold under their own names.
static void resolve_map(Search *s)
{
    size_t plain = count_found(s);
    size_t most = plain + (s->n - plain) / 2;
    Search best = *s;
    Str name;
    const WeightMap *map;
    for (size_t i = 0; most < s->n && (map = weight_map_shipped(s->arena, s->dx, i, &name)); i++) {
        Search try = *s;
        set_map(&try, map);
        try.map_name = name;
        size_t n = count_found(&try);
        if (n > most) {
            most = n;
            best = try;
        }
    }
    *s = best;
}

static void note_map(const Search *s)
{
    if (s->map_name.len > 0) {
        diag_note(s->dx, (Place){0}, "%.*s: its names are read by the map %.*s",
                  STR_ARG(s->file->path), STR_ARG(s->map_name));
    }
}

static void note_base(const Search *s)
{
    if (s->added.len > 0) {
        diag_note(s->dx, (Place){0}, "%.*s: its names begin with `%.*s`, which the model's do not",
                  STR_ARG(s->file->path), STR_ARG(s->added));
    } else if (s->removed.len > 0) {
        diag_note(s->dx, (Place){0}, "%.*s: its names lack the `%.*s` that the model's begin with",
                  STR_ARG(s->file->path), STR_ARG(s->removed));
    }
}

// ---- all of them ----

// Finds all; false after a report of those with two values. What is missing has no entry.
static bool find_all(Search *s)
{
    bool ok = true;
    for (size_t i = 0; i < s->n; i++) {
        Str name = s->params[i]->attr.name;
        Found *found = find_by_map(s, name);
        if (!found) {
            const StTensor *t = find_name(s, name);
            ok = find_tied(s, name, &t) && ok;
            ok = (!t || check_old_form(s, t)) && ok;
            found = t ? new_found(s, 1) : NULL;
            if (t) {
                found->tensors[0] = t;
            }
        }
        for (size_t k = 0; found && k < found->n; k++) {
            use(s, found->tensors[k]);
        }
        if (found) {
            map_put(s->found, name, found);
        }
    }
    return ok;
}

// ---- what does not fit ----

static Str tensor_text(Arena *a, const StTensor *t)
{
    Buf text = {.arena = a};
    buf_format(&text, "%.*s[", STR_ARG(t->dtype));
    for (size_t i = 0; i < t->rank; i++) {
        buf_format(&text, i ? ", %lld" : "%lld", (long long)t->shape[i]);
    }
    buf_char(&text, ']');
    return buf_str(&text);
}

static bool same_shape(const Type *type, size_t rank, const int64_t *sizes)
{
    bool ok = rank == type->rank;
    for (size_t i = 0; ok && i < rank; i++) {
        ok = size_is(type->shape[i], sizes[i]);
    }
    return ok;
}

// The first tensor whose type is no number's, or NULL.
static const StTensor *other_type(const Found *found)
{
    for (size_t i = 0; i < found->n; i++) {
        if (!tensor_is_number(found->tensors[i])) {
            return found->tensors[i];
        }
    }
    return NULL;
}

static bool is_good(const Search *s, const Node *param)
{
    const Found *found = map_get(s->found, param->attr.name);
    if (!found || found->misfit || other_type(found)) {
        return false;
    }
    if (found->rule) {
        return same_shape(&param->type, found->shape.rank, found->shape.sizes);
    }
    const StTensor *own = found->tensors[0];
    return own && same_shape(&param->type, own->rank, own->shape);
}

static bool is_missing(const Search *s, const Node *param)
{
    return !map_has(s->found, param->attr.name);
}

// The part that all missing names begin with, up to a dot; nothing if there is none.
static Str common_part(const Search *s, size_t *nmissing)
{
    Str common = {0};
    *nmissing = 0;
    for (size_t i = 0; i < s->n; i++) {
        Str name = s->params[i]->attr.name;
        if (!is_missing(s, s->params[i])) {
            continue;
        }
        common = (*nmissing)++ == 0 ? name : common;
        size_t len = 0;
        while (len < common.len && len < name.len && common.ptr[len] == name.ptr[len]) {
            len++;
        }
        common.len = len;
    }
    while (common.len > 0 && common.ptr[common.len - 1] != '.') {
        common.len--;
    }
    return common;
}

// A base checkpoint for a model with a decoder or a head: says that all of that is not there.
static void note_absent_part(const Search *s)
{
    size_t nmissing;
    Str part = common_part(s, &nmissing);
    if (nmissing < 2 || part.len == 0) {
        return;
    }
    for (size_t i = 0; i < s->file->n; i++) {
        if (str_starts(s->file->tensors[i].name, part)) {
            return;
        }
    }
    diag_note(s->dx, (Place){0}, "the file has nothing of %.*s", (int)part.len - 1, part.ptr);
}

// `longer` is `shorter` behind a prefix that ends at a dot or a slash: its length, else 0.
static size_t prefix_length(Str longer, Str shorter)
{
    if (shorter.len == 0 || longer.len <= shorter.len || !str_ends(longer, shorter)) {
        return 0;
    }
    size_t n = longer.len - shorter.len;
    return longer.ptr[n - 1] == '.' || longer.ptr[n - 1] == '/' ? n : 0;
}

// How many missing parameters the file has behind `prefix`, or, if it is the model's, without it.
static size_t count_behind(const Search *s, Str prefix, bool is_models)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        Str name = s->params[i]->attr.name;
        if (is_missing(s, s->params[i]) && (!is_models || str_starts(name, prefix))) {
            n += is_models ? find_form(s, without(name, prefix.len)) != NULL
                           : find_form(s, join(s->arena, prefix, name)) != NULL;
        }
    }
    return n;
}

// What the missing parameters' names differ by from the file's.
typedef struct Prefix {
    Str text;
    bool is_models; // the model's names have it; else the file's
    size_t n;       // how many differ so; 0: none
} Prefix;

// That which one missing parameter shows.
static Prefix prefix_of(const Search *s, Str wanted)
{
    Prefix prefix = {0};
    for (size_t i = 0; prefix.n == 0 && i < s->file->n; i++) {
        Str there = s->file->tensors[i].name;
        size_t theirs = prefix_length(there, wanted);
        size_t models = prefix_length(wanted, there);
        if (theirs > 0 || models > 0) {
            prefix.text = (Str){theirs > 0 ? there.ptr : wanted.ptr, theirs + models};
            prefix.is_models = models > 0;
            prefix.n = count_behind(s, prefix.text, prefix.is_models);
        }
    }
    return prefix;
}

// That of most of the missing parameters, of which the first few show it. One alone that is not the
// first may be there by chance: every layer has a `bias`.
static Prefix find_prefix(const Search *s)
{
    enum { MOST_TRIED = 16 };
    Prefix best = {0};
    size_t tried = 0;
    for (size_t i = 0; i < s->n && tried < MOST_TRIED; i++) {
        if (is_missing(s, s->params[i]) && ++tried > 0) {
            Prefix prefix = prefix_of(s, s->params[i]->attr.name);
            best = prefix.n > best.n && (tried == 1 || prefix.n > 1) ? prefix : best;
        }
    }
    return best;
}

// A text as YAML has it: in quotes if it might be something else without them.
static Str yaml_text(const Search *s, Str text)
{
    bool is_plain = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool is_inner = (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
        is_plain = is_plain && (is_letter || (is_inner && i > 0));
    }
    Buf quoted = {.arena = s->arena};
    buf_quoted(&quoted, text);
    return is_plain ? text : buf_str(&quoted);
}

// Says how parameters are found whose names differ by that.
static void note_prefix(const Search *s, const Prefix *prefix)
{
    Buf line = {.arena = s->arena};
    if (prefix->is_models) {
        buf_format(&line, "rules: [{to: \"%.*s<name..>\", from: \"<name..>\"}]",
                   STR_ARG(prefix->text));
    } else {
        buf_format(&line, "strip: %.*s", STR_ARG(yaml_text(s, prefix->text)));
    }
    diag_note(s->dx, (Place){0},
              "%zu of them are there %s `%.*s`: --map MAP.yaml reads them, a file with the line "
              "`%.*s`",
              prefix->n, prefix->is_models ? "without" : "behind", STR_ARG(prefix->text),
              STR_ARG(buf_str(&line)));
}

// The names that no parameter uses, to suggest one of them: as many as can be compared in no time.
typedef VEC(Str) Strs;

static Strs unused_names(const Search *s)
{
    enum { MOST = 2000 };
    Strs names = {0};
    for (size_t i = 0; i < s->file->n && names.n < MOST; i++) {
        if (!map_has(&s->used, s->file->tensors[i].name)) {
            vec_push(s->arena, &names, s->file->tensors[i].name);
        }
    }
    return names;
}

// `names` are suggested: none if the reason is known already.
static void note_missing(const Search *s, const Node *param, const Strs *names)
{
    Str wanted[MOST_PARTS];
    Str name = param->attr.name;
    Buf text = {.arena = s->arena};
    for (size_t i = 0; s->map && i < s->map->nrules && text.len == 0; i++) {
        if (fit_rule(s, &s->map->rules[i], name, wanted)) {
            for (size_t k = 0; k < s->map->rules[i].nfrom; k++) {
                buf_format(&text, "%s%.*s", k > 0 ? ", " : "; the map reads it from ",
                           STR_ARG(wanted[k]));
            }
        }
    }
    Str near = text.len > 0 ? (Str){0} : str_nearest(name, names->items, names->n);
    if (near.len > 0) {
        buf_format(&text, "; there is %.*s", STR_ARG(near));
    }
    diag_note(s->dx, (Place){0}, "missing: %.*s : %.*s%.*s", STR_ARG(name),
              STR_ARG(type_text(s->arena, &param->type)), STR_ARG(buf_str(&text)));
}

// A parameter that a rule does not make as it should be.
static void note_made(const Search *s, const Node *param, const Found *found)
{
    Buf text = {.arena = s->arena};
    for (size_t i = 0; i < found->n; i++) {
        buf_format(&text, "%s%.*s %.*s", i > 0 ? ", " : "", STR_ARG(found->tensors[i]->name),
                   STR_ARG(tensor_text(s->arena, found->tensors[i])));
    }
    Str want = type_text(s->arena, &param->type);
    if (found->misfit) {
        diag_note(s->dx, found->misfit->at, "%.*s : %.*s from %.*s: %.*s",
                  STR_ARG(param->attr.name), STR_ARG(want), STR_ARG(buf_str(&text)),
                  STR_ARG(found->why));
        return;
    }
    Buf made = {.arena = s->arena};
    shape_print(&made, &found->shape);
    diag_note(s->dx, found->rule->to.at, "another shape: %.*s : %.*s, but %.*s becomes %.*s",
              STR_ARG(param->attr.name), STR_ARG(want), STR_ARG(buf_str(&text)),
              STR_ARG(buf_str(&made)));
}

static void note_misfit(const Search *s, const Node *param, const Strs *names)
{
    Str name = param->attr.name;
    Str want = type_text(s->arena, &param->type);
    const Found *found = map_get(s->found, name);
    if (!found) {
        note_missing(s, param, names);
        return;
    }
    const StTensor *t = other_type(found);
    if (found->rule && !t) {
        note_made(s, param, found);
        return;
    }
    t = t ? t : found->tensors[0];
    bool is_renamed = !str_equal(t->name, name);
    diag_note(s->dx, (Place){0}, "another %s: %.*s : %.*s, but %.*s is %.*s there",
              tensor_is_number(t) ? "shape" : "type", STR_ARG(name), STR_ARG(want),
              STR_ARG(is_renamed ? t->name : STR("it")), STR_ARG(tensor_text(s->arena, t)));
}

static bool check_all(const Search *s)
{
    enum { MOST_SUGGESTED = 8, MOST_LISTED = 20 };
    size_t nbad = 0;
    for (size_t i = 0; i < s->n; i++) {
        nbad += !is_good(s, s->params[i]);
    }
    if (nbad == 0) {
        return true;
    }
    diag_error(s->dx, (Place){0}, "%.*s does not hold %zu of the model's %zu parameter%s",
               STR_ARG(s->file->path), nbad, s->n, s->n == 1 ? "" : "s");
    note_map(s);
    note_absent_part(s);
    Prefix prefix = find_prefix(s);
    Strs names = prefix.n > 0 || nbad > MOST_SUGGESTED ? (Strs){0} : unused_names(s);
    size_t nlisted = 0;
    for (size_t i = 0; i < s->n && nlisted < MOST_LISTED; i++) {
        if (!is_good(s, s->params[i])) {
            note_misfit(s, s->params[i], &names);
            nlisted++;
        }
    }
    if (nbad > MOST_LISTED) {
        diag_note(s->dx, (Place){0}, "and %zu more", nbad - MOST_LISTED);
    }
    if (prefix.n > 0) {
        note_prefix(s, &prefix); // last, where it is seen
    }
    return false;
}

// ---- rules that do nothing ----

// What a rule does for the model.
typedef struct RuleUse {
    bool fits; // a parameter
    bool made; // its tensors are all there for one of them
    size_t k;  // else the first that is not
    Str absent;
} RuleUse;

static RuleUse try_rule(const Search *s, const MapRule *rule)
{
    Str names[MOST_PARTS];
    RuleUse use = {0};
    for (size_t i = 0; i < s->n && !use.made; i++) {
        if (!fit_rule(s, rule, s->params[i]->attr.name, names)) {
            continue;
        }
        size_t k = 0;
        while (k < rule->nfrom && find_exact(s, names[k])) {
            k++;
        }
        use.made = k == rule->nfrom;
        if (!use.made && !use.fits) {
            use.k = k;
            use.absent = names[k];
        }
        use.fits = true;
    }
    return use;
}

static void note_rule(const Search *s, const MapRule *rule, const RuleUse *use, const Strs *names)
{
    if (!use->fits) {
        diag_note(s->dx, rule->to.at, "this rule makes no parameter of the model");
        return;
    }
    Str near = str_nearest(use->absent, names->items, names->n);
    diag_note(s->dx, rule->from[use->k].at,
              "this rule reads `%.*s`, which the file does not hold%s%.*s%s", STR_ARG(use->absent),
              near.len > 0 ? "; did you mean `" : "", STR_ARG(near), near.len > 0 ? "`?" : "");
}

// Of a map that was written for this model: the shipped ones have rules for heads of every kind.
static void note_rules(const Search *s)
{
    enum { MOST_LISTED = 20, MOST_SUGGESTED = 8 };
    size_t n = 0;
    Strs names = {0};
    for (size_t i = 0; s->map && i < s->map->nrules; i++) {
        const MapRule *rule = &s->map->rules[i];
        if (rule->to.at.source && rule->to.at.source->is_std) {
            return;
        }
        RuleUse use = try_rule(s, rule);
        if (use.made) {
            continue;
        }
        if (n++ == 0) {
            names = unused_names(s);
        }
        if (n <= MOST_LISTED) {
            note_rule(s, rule, &use, n <= MOST_SUGGESTED ? &names : &(Strs){0});
        }
    }
    if (n > MOST_LISTED) {
        diag_note(s->dx, (Place){0}, "and %zu more", n - MOST_LISTED);
    }
}

// Reports the tensors that are neither used nor what another model has.
static bool check_known(const Search *s)
{
    enum { MOST_LISTED = 20 };
    VEC(const StTensor *) unknown = {0};
    for (size_t i = 0; i < s->file->n; i++) {
        const StTensor *t = &s->file->tensors[i];
        if (!map_has(&s->used, t->name) && !name_is_dispensable(t->name)) {
            vec_push(s->arena, &unknown, t);
        }
    }
    if (unknown.n == 0) {
        return true;
    }
    diag_error(s->dx, (Place){0},
               "%.*s: %zu tensor%s neither the model's nor of a head, by --strict",
               STR_ARG(s->file->path), unknown.n, unknown.n == 1 ? " is" : "s are");
    for (size_t i = 0; i < unknown.n && i < MOST_LISTED; i++) {
        diag_note(s->dx, (Place){0}, "unknown: %.*s : %.*s", STR_ARG(unknown.items[i]->name),
                  STR_ARG(tensor_text(s->arena, unknown.items[i])));
    }
    if (unknown.n > MOST_LISTED) {
        diag_note(s->dx, (Place){0}, "and %zu more", unknown.n - MOST_LISTED);
    }
    return false;
}

static void note_unused(const Search *s)
{
    enum { MOST_NAMED = 5 };
    size_t n = 0;
    Buf names = {.arena = s->arena};
    for (size_t i = 0; i < s->file->n; i++) {
        Str name = s->file->tensors[i].name;
        if (!map_has(&s->used, name) && n++ < MOST_NAMED) {
            buf_format(&names, "%s%.*s", n > 1 ? ", " : "", STR_ARG(name));
        }
    }
    if (n > 0) {
        diag_note(s->dx, (Place){0}, "%.*s: %zu tensor%s not used: %s%s", STR_ARG(s->file->path), n,
                  n == 1 ? " is" : "s are", names.ptr, n > MOST_NAMED ? ", …" : "");
    }
}

// ---- opening ----

void checkpoint_close(Checkpoint *c) { st_close(c->file); }

Checkpoint *checkpoint_open(Arena *arena, Diag *dx, const char *path,
                            const CheckpointOptions *options, Node *const *params, size_t n)
{
    bool is_index = str_ends(str_from(path), STR(".index.json"));
    StFile *file = is_index ? st_open_index(arena, dx, path) : st_open(arena, dx, path);
    if (!file) {
        return NULL;
    }
    Checkpoint *c = arena_new(arena, Checkpoint, 1);
    *c = (Checkpoint){.file = file, .found = {.arena = arena}};
    Search s = {.arena = arena,
                .dx = dx,
                .file = file,
                .params = params,
                .n = n,
                .by_name = {.arena = arena},
                .used = {.arena = arena},
                .found = &c->found};
    for (size_t i = 0; i < n; i++) {
        map_put(&s.by_name, params[i]->attr.name, params[i]);
    }
    if (options->map) {
        set_map(&s, options->map);
    }
    resolve_base(&s);
    if (!options->map) {
        resolve_map(&s);
    }
    bool ok = find_all(&s);
    ok = check_all(&s) && ok;
    note_rules(&s);
    if (!ok || (options->strict && !check_known(&s))) {
        checkpoint_close(c);
        return NULL;
    }
    note_map(&s);
    note_base(&s);
    note_unused(&s);
    return c;
}
