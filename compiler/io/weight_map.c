// Weight maps: reads their text, and counts a model's names for them.
#include "io/weight_map.h"

#include "io/file.h"
#include "io/map_files.h"
#include "io/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TEXT ((size_t)1 << 20) // bytes of a file

enum { MOST_NUMBER = 1 << 20 }; // an axis, a number of parts; sizes may be larger

typedef struct Reader {
    Arena *arena;
    Diag *dx;
    const Yaml *counts; // NULL: none
} Reader;

// ---- values ----

static bool wrong(Reader *r, Place at, const char *what)
{
    diag_error(r->dx, at, "%s", what);
    return false;
}

// Reports the keys of an object that are none of `names`.
static bool check_keys(Reader *r, const Yaml *object, const char *const *names, size_t n)
{
    enum { MOST = 8 };
    Str known[MOST];
    bool ok = true;
    for (size_t i = 0; i < n && i < MOST; i++) {
        known[i] = str_from(names[i]);
    }
    for (size_t i = 0; i < object->n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < n; k++) {
            is_known = is_known || str_equal(object->keys[i].name, known[k]);
        }
        if (!is_known) {
            Str near = str_nearest(object->keys[i].name, known, n);
            diag_error(r->dx, object->keys[i].at, "the key `%.*s` is not known here%s%.*s%s",
                       STR_ARG(object->keys[i].name), near.len > 0 ? "; did you mean `" : "",
                       STR_ARG(near), near.len > 0 ? "`?" : "");
            ok = false;
        }
    }
    return ok;
}

static bool read_number(Reader *r, const Yaml *value, int64_t least, int64_t most, int64_t *out)
{
    if (value && value->kind == YAML_text && str_to_int(value->text, out) && *out >= least &&
        *out <= most) {
        return true;
    }
    if (value) {
        diag_error(r->dx, value->at, "here must be a whole number of at least %lld",
                   (long long)least);
    }
    return false;
}

// A text, or a list of texts: as a list.
static bool list_texts(Reader *r, const Yaml *value, const Yaml **items, size_t *n)
{
    *items = value->kind == YAML_text ? value : value->items;
    *n = value->kind == YAML_text ? 1 : value->n;
    bool ok = value->kind != YAML_object && *n > 0;
    for (size_t i = 0; ok && i < *n; i++) {
        ok = (*items)[i].kind == YAML_text;
    }
    return ok ? true : wrong(r, value->at, "here must be a name, or a list of names");
}

static bool read_patterns(Reader *r, const Yaml *value, const Pattern **out, size_t *n)
{
    const Yaml *items;
    if (!list_texts(r, value, &items, n)) {
        return false;
    }
    Pattern *patterns = arena_new(r->arena, Pattern, *n);
    bool ok = true;
    for (size_t i = 0; i < *n; i++) {
        ok = pattern_parse(r->dx, items[i].at, items[i].text, &patterns[i]) && ok;
    }
    *out = patterns;
    return ok;
}

// ---- steps ----

static bool read_axes(Reader *r, const Yaml *value, MapStep *out)
{
    if (value->kind != YAML_list || value->n == 0 || value->n > MOST_RANK) {
        return wrong(r, value->at, "here must be a list of axes, from 0, at most 8");
    }
    unsigned seen = 0;
    for (size_t i = 0; i < value->n; i++) {
        int64_t axis = 0;
        if (!read_number(r, &value->items[i], 0, MOST_NUMBER, &axis)) {
            return false;
        }
        if (axis >= (int64_t)value->n || (seen >> axis & 1) != 0) {
            return wrong(r, value->at, "each axis must be there once, counted from 0");
        }
        seen |= 1U << axis;
        out->numbers[i] = axis;
    }
    out->n = value->n;
    return true;
}

static bool read_sizes(Reader *r, const Yaml *value, MapStep *out)
{
    if (value->kind != YAML_list || value->n > MOST_RANK) {
        return wrong(r, value->at, "here must be a list of sizes, at most 8; one may be `rest`");
    }
    bool has_rest = false;
    for (size_t i = 0; i < value->n; i++) {
        const Yaml *size = &value->items[i];
        if (size->kind == YAML_text && str_equal(size->text, STR("rest"))) {
            if (has_rest) {
                return wrong(r, size->at, "one size can be `rest`");
            }
            has_rest = true;
            out->numbers[i] = REST;
        } else if (!read_number(r, size, 1, INT64_MAX, &out->numbers[i])) {
            return false;
        }
    }
    out->n = value->n;
    return true;
}

static bool read_merge(Reader *r, const Yaml *value, MapStep *out)
{
    int64_t first = 0;
    int64_t last = 0;
    if (value->kind != YAML_list || value->n != 2) {
        return wrong(r, value->at, "here must be two axes: the first and the last to be merged");
    }
    if (!read_number(r, &value->items[0], 0, MOST_NUMBER, &first) ||
        !read_number(r, &value->items[1], first + 1, MOST_NUMBER, &last)) {
        return false;
    }
    out->axis = (size_t)first;
    out->last = (size_t)last;
    return true;
}

static bool read_split(Reader *r, const Yaml *value, MapStep *out)
{
    static const char *const names[] = {"axis", "parts", "take"};
    int64_t axis = 0;
    const Yaml *members[3];
    if (value->kind != YAML_object) {
        return wrong(r, value->at, "here must be {axis: …, parts: …, take: …}");
    }
    bool ok = check_keys(r, value, names, 3);
    for (size_t i = 0; i < 3; i++) {
        members[i] = yaml_tree_find(value, str_from(names[i]));
        if (!members[i]) {
            diag_error(r->dx, value->at, "`%s` is missing", names[i]);
            ok = false;
        }
    }
    ok = ok && read_number(r, members[0], 0, MOST_NUMBER, &axis) &&
         read_number(r, members[1], 1, MOST_NUMBER, &out->parts) &&
         read_number(r, members[2], 0, MOST_NUMBER, &out->take);
    out->axis = (size_t)axis;
    if (ok && out->take >= out->parts) {
        return wrong(r, members[2]->at, "parts are counted from 0");
    }
    return ok;
}

static bool read_join(Reader *r, const Yaml *value, MapStep *out)
{
    int64_t axis = 0;
    bool ok = read_number(r, value, 0, MOST_NUMBER, &axis);
    out->axis = (size_t)axis;
    return ok;
}

static const struct {
    const char *name;
    bool (*read)(Reader *r, const Yaml *value, MapStep *out);
} kinds[] = {
    [STEP_transpose] = {"transpose", read_axes}, [STEP_reshape] = {"reshape", read_sizes},
    [STEP_merge] = {"merge", read_merge},        [STEP_split] = {"split", read_split},
    [STEP_join] = {"join", read_join},
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

// A step is an object with one key, its name; `transpose` also stands alone.
static bool read_step(Reader *r, const Yaml *value, MapStep *out)
{
    *out = (MapStep){.at = value->at};
    if (value->kind == YAML_text && str_equal(value->text, STR("transpose"))) {
        out->kind = STEP_transpose;
        return true;
    }
    bool is_one = value->kind == YAML_object && value->n == 1;
    for (size_t i = 0; is_one && i < NKINDS; i++) {
        if (str_equal(value->keys[0].name, str_from(kinds[i].name))) {
            out->kind = (StepKind)i;
            out->at = value->keys[0].at;
            return kinds[i].read(r, &value->items[0], out);
        }
    }
    return wrong(r, value->at,
                 "a step is transpose, transpose: AXES, reshape: SIZES, merge: [FIRST, "
                 "LAST], split: {axis, parts, take}, or join: AXIS");
}

// A join is needed where there are several tensors, and makes no sense of one or of a second time.
static bool check_joins(Reader *r, Place at, const MapRule *rule)
{
    size_t njoins = 0;
    for (size_t i = 0; i < rule->nsteps; i++) {
        njoins += rule->steps[i].kind == STEP_join;
    }
    if (rule->nfrom > 1 && njoins == 0) {
        return wrong(r, at, "several tensors make one parameter by `do: [join: AXIS]`");
    }
    return njoins > 1 || (njoins == 1 && rule->nfrom == 1)
               ? wrong(r, at, "there is nothing to join, or it is joined already")
               : true;
}

static bool read_steps(Reader *r, const Yaml *value, MapRule *out)
{
    const Yaml *items = value->kind == YAML_list ? value->items : value;
    out->nsteps = value->kind == YAML_list ? value->n : 1;
    MapStep *steps = arena_new(r->arena, MapStep, out->nsteps);
    bool ok = true;
    for (size_t i = 0; i < out->nsteps; i++) {
        ok = read_step(r, &items[i], &steps[i]) && ok;
    }
    out->steps = steps;
    return ok;
}

// ---- rules ----

// Every capture of a file's name must be known when a parameter is.
static bool check_captures(Reader *r, const MapRule *rule)
{
    for (size_t i = 0; i < rule->nfrom; i++) {
        const Pattern *from = &rule->from[i];
        for (size_t k = 0; k < from->n; k++) {
            const PatternItem *item = &from->items[k];
            if (item->is_capture && !pattern_capture(&rule->to, item->text) &&
                !(r->counts && yaml_tree_find(r->counts, item->text))) {
                diag_error(r->dx, from->at, "<%.*s> is neither in `to` nor a count",
                           STR_ARG(item->text));
                return false;
            }
        }
    }
    return true;
}

static bool read_rule(Reader *r, const Yaml *value, MapRule *out)
{
    static const char *const names[] = {"to", "from", "do"};
    if (value->kind != YAML_object) {
        return wrong(r, value->at, "a rule has `to` and `from`, and may have `do`");
    }
    bool ok = check_keys(r, value, names, 3);
    const Yaml *to = yaml_tree_find(value, STR("to"));
    const Yaml *from = yaml_tree_find(value, STR("from"));
    const Yaml *steps = yaml_tree_find(value, STR("do"));
    if (!to || !from || to->kind != YAML_text) {
        return wrong(r, to ? to->at : value->at, "a rule has `to`, a parameter's name, and `from`");
    }
    ok = pattern_parse(r->dx, to->at, to->text, &out->to) && ok;
    ok = read_patterns(r, from, &out->from, &out->nfrom) && ok;
    ok = (!steps || read_steps(r, steps, out)) && ok;
    if (ok && out->nfrom > MOST_PARTS) {
        return wrong(r, from->at, "at most 64 tensors are joined");
    }
    return ok && check_captures(r, out) && check_joins(r, from->at, out);
}

static bool read_rules(Reader *r, const Yaml *value, WeightMap *out)
{
    if (value->kind != YAML_list) {
        return wrong(r, value->at, "`rules` is a list");
    }
    MapRule *rules = arena_new(r->arena, MapRule, value->n);
    bool ok = true;
    for (size_t i = 0; i < value->n; i++) {
        ok = read_rule(r, &value->items[i], &rules[i]) && ok;
    }
    out->rules = rules;
    out->nrules = value->n;
    return ok;
}

// ---- the rest of a map ----

static bool read_count(Reader *r, const Yaml *value, MapCount *out)
{
    bool ok = read_patterns(r, value, &out->patterns, &out->npatterns);
    for (size_t i = 0; ok && i < out->npatterns; i++) {
        for (size_t k = 0; k < out->patterns[i].n; k++) {
            if (out->patterns[i].items[k].is_any) {
                ok = wrong(r, out->patterns[i].at, "what is counted has numbers only, no <x..>");
            }
        }
    }
    return ok;
}

static bool read_counts(Reader *r, const Yaml *value, WeightMap *out)
{
    enum { MOST_COUNTS = 8 };
    if (value->kind != YAML_object || value->n > MOST_COUNTS) {
        return wrong(r, value->at, "`count` has at most 8 names, each with patterns");
    }
    MapCount *counts = arena_new(r->arena, MapCount, value->n);
    bool ok = true;
    for (size_t i = 0; i < value->n; i++) {
        counts[i].name = value->keys[i].name;
        ok = read_count(r, &value->items[i], &counts[i]) && ok;
    }
    out->counts = counts;
    out->ncounts = value->n;
    return ok;
}

static bool read_strip(Reader *r, const Yaml *value, WeightMap *out)
{
    const Yaml *items;
    if (!list_texts(r, value, &items, &out->nstrip)) {
        return false;
    }
    Str *strip = arena_new(r->arena, Str, out->nstrip);
    for (size_t i = 0; i < out->nstrip; i++) {
        strip[i] = items[i].text;
    }
    out->strip = strip;
    return true;
}

const WeightMap *weight_map_parse(Arena *arena, Diag *dx, const Source *source)
{
    static const char *const names[] = {"strip", "count", "rules"};
    const Yaml *tree = yaml_tree_parse(arena, dx, source);
    if (!tree) {
        return NULL;
    }
    Reader r = {.arena = arena, .dx = dx, .counts = yaml_tree_find(tree, STR("count"))};
    if (tree->kind != YAML_object || tree->n == 0) {
        wrong(&r, tree->at, "a weight map has `rules`, `strip` or both");
        return NULL;
    }
    WeightMap *map = arena_new(arena, WeightMap, 1);
    const Yaml *strip = yaml_tree_find(tree, STR("strip"));
    const Yaml *rules = yaml_tree_find(tree, STR("rules"));
    bool ok = check_keys(&r, tree, names, 3);
    ok = (!strip || read_strip(&r, strip, map)) && ok;
    ok = (!r.counts || read_counts(&r, r.counts, map)) && ok;
    ok = (!rules || read_rules(&r, rules, map)) && ok;
    return ok ? map : NULL;
}

static bool is_path(Str name)
{
    return memchr(name.ptr, '/', name.len) || str_ends(name, STR(".yaml")) ||
           str_ends(name, STR(".yml"));
}

// maps/NAME.yaml
static Str shipped_name(size_t i)
{
    Str file = str_from(map_files[i].name);
    size_t before = strlen("maps/");
    return (Str){file.ptr + before, file.len - before - strlen(".yaml")};
}

const WeightMap *weight_map_shipped(Arena *arena, Diag *dx, size_t i, Str *name)
{
    if (i >= map_nfiles) {
        return NULL;
    }
    *name = shipped_name(i);
    Str text = {map_files[i].text, map_files[i].length};
    return weight_map_parse(arena, dx, diag_source(arena, str_from(map_files[i].name), text, true));
}

static const WeightMap *read_shipped(Arena *arena, Diag *dx, Str name)
{
    Buf names = {.arena = arena};
    for (size_t i = 0; i < map_nfiles; i++) {
        Str shipped = shipped_name(i);
        if (str_equal(shipped, name)) {
            return weight_map_shipped(arena, dx, i, &shipped);
        }
        buf_format(&names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(shipped));
    }
    diag_error(dx, (Place){0},
               "`%.*s` is neither a weight map's file, NAME.yaml, nor one of those "
               "that are shipped: %s",
               STR_ARG(name), names.len > 0 ? names.ptr : "none");
    return NULL;
}

const WeightMap *weight_map_read(Arena *arena, Diag *dx, const char *name)
{
    Str text;
    if (!is_path(str_from(name))) {
        return read_shipped(arena, dx, str_from(name));
    }
    if (!file_read(arena, dx, name, MOST_TEXT, &text)) {
        return NULL;
    }
    return weight_map_parse(arena, dx, diag_source(arena, str_from(name), text, false));
}

// ---- counting ----

// One that is counted: a pattern's number and the numbers in it.
typedef struct Member {
    size_t pattern;
    size_t n;
    int64_t numbers[MOST_CAPTURES];
} Member;

struct Counted {
    const WeightMap *map;
    size_t *n;        // [map->ncounts]
    Member **members; // [map->ncounts][n] in order, each once
};

static int compare(const void *x, const void *y)
{
    const Member *a = x;
    const Member *b = y;
    if (a->pattern != b->pattern) {
        return a->pattern < b->pattern ? -1 : 1;
    }
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (a->numbers[i] != b->numbers[i]) {
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool find_member(const MapCount *count, Str name, Member *out)
{
    Captures captures;
    for (size_t i = 0; i < count->npatterns; i++) {
        if (pattern_begins(&count->patterns[i], name, &captures)) {
            *out = (Member){.pattern = i, .n = captures.n};
            bool ok = true;
            for (size_t k = 0; k < captures.n; k++) {
                ok = ok && str_to_int(captures.values[k], &out->numbers[k]);
            }
            return ok;
        }
    }
    return false;
}

Counted *weight_map_count(Arena *arena, const WeightMap *map, const Str *names, size_t n)
{
    Counted *counted = arena_new(arena, Counted, 1);
    *counted = (Counted){.map = map,
                         .n = arena_new(arena, size_t, map->ncounts),
                         .members = arena_new(arena, Member *, map->ncounts)};
    for (size_t c = 0; c < map->ncounts; c++) {
        Member *members = arena_new(arena, Member, n);
        size_t found = 0;
        for (size_t i = 0; i < n; i++) {
            found += find_member(&map->counts[c], names[i], &members[found]);
        }
        qsort(members, found, sizeof *members, compare);
        size_t kept = found > 0;
        for (size_t i = 1; i < found; i++) {
            if (compare(&members[i], &members[kept - 1]) != 0) {
                members[kept++] = members[i];
            }
        }
        counted->n[c] = kept;
        counted->members[c] = members;
    }
    return counted;
}

// Adds the number of a count to the captures; false if the name is none of what it counts.
static bool add_number(Arena *arena, const Counted *counted, size_t c, Str name, Captures *out)
{
    Member member;
    const Member *members = counted->members[c];
    if (counted->n[c] == 0 || !find_member(&counted->map->counts[c], name, &member)) {
        return false;
    }
    const Member *found = bsearch(&member, members, counted->n[c], sizeof member, compare);
    if (found) {
        out->names[out->n] = counted->map->counts[c].name;
        out->values[out->n++] = str_format(arena, "%td", found - members);
    }
    return found != NULL;
}

bool rule_names(Arena *arena, const MapRule *rule, const Counted *counted, Str name, Str *out)
{
    Captures captures;
    if (!pattern_fits(&rule->to, name, &captures)) {
        return false;
    }
    for (size_t i = 0; i < rule->nfrom; i++) {
        Captures all = captures;
        const WeightMap *map = counted->map;
        for (size_t c = 0; c < map->ncounts; c++) {
            bool is_used = pattern_capture(&rule->from[i], map->counts[c].name) &&
                           !captures_find(&captures, map->counts[c].name);
            if (is_used && (all.n == MOST_CAPTURES || !add_number(arena, counted, c, name, &all))) {
                return false;
            }
        }
        out[i] = pattern_fill(arena, &rule->from[i], &all);
    }
    return true;
}
