// Loads a program's files and finds what names mean in them.
#include "front/program.h"

#include "front/limits.h"
#include "front/parse.h"
#include "front/std_files.h"

static void add_item(Program *program, Unit *unit, const Item *item)
{
    Map *map = item->kind == ITEM_family ? &unit->families : &unit->items;
    const Item *first = map_get(map, item->name.text);
    if (first) {
        diag_error(program->dx, item->name.at, "`%.*s` is defined twice", STR_ARG(item->name.text));
        diag_note(program->dx, first->name.at, "first here");
        return;
    }
    map_put(map, item->name.text, (void *)item);
    if (item->kind == ITEM_let) {
        Let *let = arena_new(program->arena, Let, 1);
        let->item = item;
        map_put(&unit->lets, item->name.text, let);
    }
}

// NULL after errors.
static Unit *parse_unit(Program *program, Str key, Str name, Str text, bool is_std)
{
    Arena *a = program->arena;
    Unit *unit = arena_new(a, Unit, 1);
    unit->key = key;
    unit->is_std = is_std;
    unit->items.arena = unit->lets.arena = unit->families.arena = a;
    size_t nerrors = diag_nerrors(program->dx);
    unit->file = parse_file(a, program->dx, diag_source(a, name, text, is_std));
    if (!unit->file)
        return NULL;
    for (size_t i = 0; i < unit->file->items.n; i++) {
        const Item *item = unit->file->items.items[i];
        if (item->kind != ITEM_use)
            add_item(program, unit, item);
    }
    return diag_nerrors(program->dx) == nerrors ? unit : NULL;
}

static Unit *load_file(Program *program, const FrontFile *source);

static Unit *find_loaded(const Program *program, Str key)
{
    for (size_t i = 0; i < program->loaded.n; i++) {
        if (str_equal(program->loaded.items[i]->key, key))
            return program->loaded.items[i];
    }
    return NULL;
}

static bool load_use(Program *program, Unit *unit, const Item *use)
{
    FrontFile found = {0};
    Str from = unit->file->source->name;
    const FrontReader *reader = program->reader;
    if (!reader || !reader->read(reader->ctx, program->arena, from, use->target.text, &found)) {
        if (found.text.len)
            diag_error(program->dx, use->target.at, "cannot read `%.*s`: %.*s",
                       STR_ARG(use->target.text), STR_ARG(found.text));
        else
            diag_error(program->dx, use->target.at, "no file `%.*s`", STR_ARG(use->target.text));
        return false;
    }
    Unit *other = find_loaded(program, found.key);
    if (other && other->is_loading) {
        diag_error(program->dx, use->target.at, "files use each other: `%.*s` is being read",
                   STR_ARG(found.name));
        return false;
    }
    if (!other && program->loaded.n >= LIMIT_FILES) {
        diag_error(program->dx, use->target.at, "more than %d files", LIMIT_FILES);
        return false;
    }
    if (!other)
        other = load_file(program, &found);
    if (!other)
        return false;
    vec_push(program->arena, &unit->uses, other);
    return true;
}

// Files nest at most LIMIT_FILES deep.
static Unit *load_file(Program *program, const FrontFile *source)
{
    Unit *unit = parse_unit(program, source->key, source->name, source->text, false);
    if (!unit)
        return NULL;
    vec_push(program->arena, &program->loaded, unit);
    unit->is_loading = true;
    bool ok = true;
    for (size_t i = 0; i < unit->file->items.n; i++) {
        const Item *item = unit->file->items.items[i];
        if (item->kind == ITEM_use && !load_use(program, unit, item))
            ok = false;
    }
    unit->is_loading = false;
    return ok ? unit : NULL;
}

bool program_load(Program *program, const FrontFile *source)
{
    for (size_t i = 0; i < std_nfiles; i++) {
        Str name = str_from(std_files[i].name);
        Str text = {std_files[i].text, std_files[i].length};
        Unit *unit = parse_unit(program, name, name, text, true);
        if (!unit)
            return false;
        vec_push(program->arena, &program->std, unit);
    }
    FrontFile empty = {.name = STR("<command line>")};
    program->main = load_file(program, source ? source : &empty);
    return program->main != NULL;
}

// ---- names ----

Found program_find(const Program *program, const Unit *unit, Str name)
{
    const Item *item = map_get(&unit->items, name);
    if (item)
        return (Found){unit, item};
    for (size_t i = 0; i < unit->uses.n; i++) {
        item = map_get(&unit->uses.items[i]->items, name);
        if (item)
            return (Found){unit->uses.items[i], item};
    }
    for (size_t i = 0; i < program->std.n; i++) {
        item = map_get(&program->std.items[i]->items, name);
        if (item)
            return (Found){program->std.items[i], item};
    }
    return (Found){NULL, NULL};
}

Found program_find_family(const Program *program, char letter)
{
    Str name = {&letter, 1};
    const Item *item = map_get(&program->main->families, name);
    if (item)
        return (Found){program->main, item};
    for (size_t i = 0; i < program->std.n; i++) {
        item = map_get(&program->std.items[i]->families, name);
        if (item)
            return (Found){program->std.items[i], item};
    }
    return (Found){NULL, NULL};
}

static void add_families(const Program *program, const Unit *unit, Names *out)
{
    for (size_t i = 0; i < unit->families.n; i++) {
        Str letter = unit->families.entries[i].key;
        if (unit == program->main || !map_has(&program->main->families, letter))
            vec_push(program->arena, out, letter);
    }
}

void program_families(const Program *program, Names *out)
{
    add_families(program, program->main, out);
    for (size_t i = 0; i < program->std.n; i++)
        add_families(program, program->std.items[i], out);
}

Let *unit_let(const Unit *unit, Str name) { return map_get(&unit->lets, name); }

static void add_names(const Program *program, const Unit *unit, Names *out)
{
    for (size_t i = 0; i < unit->items.n; i++)
        vec_push(program->arena, out, unit->items.entries[i].key);
}

void program_names(const Program *program, const Unit *unit, Names *out)
{
    add_names(program, unit, out);
    for (size_t i = 0; i < unit->uses.n; i++)
        add_names(program, unit->uses.items[i], out);
    for (size_t i = 0; i < program->std.n; i++)
        add_names(program, program->std.items[i], out);
}

void program_models(const Program *program, Names *out)
{
    const Unit *unit = program->main;
    for (size_t i = 0; i < unit->file->items.n; i++) {
        const Item *item = unit->file->items.items[i];
        if (item->kind == ITEM_model)
            vec_push(program->arena, out, item->name.text);
    }
}

Str name_hint(Arena *arena, Str name, const Names *names)
{
    return str_hint(arena, name, names->items, names->n);
}

Str name_list_hint(Arena *arena, Str name, const Names *names)
{
    Str hint = name_hint(arena, name, names);
    if (hint.len || names->n == 0)
        return hint;
    Buf buf = {.arena = arena};
    for (size_t i = 0; i < names->n; i++)
        buf_format(&buf, "%s`%.*s`",
                   i               ? ", "
                   : names->n == 1 ? "; there is "
                                   : "; there are ",
                   STR_ARG(names->items[i]));
    return buf_str(&buf);
}
