// From libyaml's events to a tree with places.
#include "io/yaml_tree.h"

#include "base/map.h"
#include "base/vec.h"

#include <string.h>
#include <yaml.h>

enum {
    MOST_BYTES = 1 << 20,
    MOST_DEPTH = 64,       // lists and objects inside each other
    MOST_VALUES = 1 << 16, // of one file
};

typedef struct Reader {
    Arena *arena;
    Diag *dx;
    const Source *source;
    yaml_parser_t parser;
    size_t nvalues;
    // libyaml counts characters; these are one place in both counts.
    size_t chars;
    size_t bytes;
} Reader;

// ---- places ----

static size_t char_bytes(char c)
{
    unsigned char first = (unsigned char)c;
    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The byte of a character, from one that is known.
static size_t to_bytes(const Reader *r, size_t index, size_t chars, size_t bytes)
{
    while (chars < index && bytes < r->source->text.len) {
        bytes += char_bytes(r->source->text.ptr[bytes]);
        chars++;
    }
    return bytes < r->source->text.len ? bytes : r->source->text.len;
}

static Place place_of(Reader *r, const yaml_event_t *event)
{
    if (event->start_mark.index < r->chars) {
        r->chars = 0;
        r->bytes = 0;
    }
    r->bytes = to_bytes(r, event->start_mark.index, r->chars, r->bytes);
    r->chars = event->start_mark.index;
    size_t end = to_bytes(r, event->end_mark.index, r->chars, r->bytes);
    return (Place){r->source, (uint32_t)r->bytes, (uint32_t)end};
}

// ---- what is refused ----

static bool refuse(Reader *r, Place at, const char *what)
{
    diag_error(r->dx, at, "%s", what);
    return false;
}

static bool report_syntax(Reader *r)
{
    const yaml_parser_t *p = &r->parser;
    size_t at = p->error == YAML_READER_ERROR ? p->problem_offset
                                              : to_bytes(r, p->problem_mark.index, 0, 0);
    at = at < r->source->text.len ? at : r->source->text.len;
    if (p->error == YAML_MEMORY_ERROR) {
        diag_fail(r->dx, "cannot read %.*s: out of memory", STR_ARG(r->source->name));
        return false;
    }
    diag_error(r->dx, (Place){r->source, (uint32_t)at, (uint32_t)at}, "no valid YAML: %s%s%s",
               p->context ? p->context : "", p->context ? ", " : "",
               p->problem ? p->problem : "it cannot be read");
    return false;
}

// The next event, which the caller deletes. False after a report.
static bool next(Reader *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? true : report_syntax(r);
}

// An anchor or a tag on what the event begins; they may be NULL.
static bool check_plain(Reader *r, Place at, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor) {
        return refuse(r, at, "anchors (&) are not understood here");
    }
    return tag ? refuse(r, at, "tags (!) are not understood here") : true;
}

static bool check_limits(Reader *r, Place at, size_t depth)
{
    if (depth > MOST_DEPTH || ++r->nvalues > MOST_VALUES) {
        diag_error(r->dx, at, "at most %d %s are read",
                   depth > MOST_DEPTH ? (int)MOST_DEPTH : (int)MOST_VALUES,
                   depth > MOST_DEPTH ? "lists and objects inside each other" : "values");
        return false;
    }
    return true;
}

// ---- values ----

static bool read_value(Reader *r, yaml_event_t *event, size_t depth, Yaml *out);

static bool read_text(Reader *r, const yaml_event_t *event, Yaml *out)
{
    out->kind = YAML_text;
    Str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    out->text = str_copy(r->arena, text);
    if (memchr(text.ptr, 0, text.len)) {
        return refuse(r, out->at, "a NUL byte");
    }
    // A tag that is only implied comes as none.
    return check_plain(r, out->at, event->data.scalar.anchor, event->data.scalar.tag);
}

static bool read_list(Reader *r, size_t depth, Yaml *out)
{
    VEC(Yaml) items = {0};
    yaml_event_t event;
    bool ok = true;
    bool is_open = true;
    out->kind = YAML_list;
    while (ok && is_open) {
        if (!next(r, &event)) {
            return false;
        }
        is_open = event.type != YAML_SEQUENCE_END_EVENT;
        Yaml item = {0};
        ok = !is_open || read_value(r, &event, depth + 1, &item);
        yaml_event_delete(&event);
        if (ok && is_open) {
            vec_push(r->arena, &items, item);
        }
    }
    out->items = items.items;
    out->n = items.n;
    return ok;
}

typedef VEC(YamlKey) Keys;

// A key, which is a text that no other key of the object is. `seen` has the keys' places.
static bool add_key(Reader *r, const Yaml *key, Map *seen, Keys *keys)
{
    if (key->kind != YAML_text) {
        return refuse(r, key->at, "a key must be a text");
    }
    const Place *before = map_get(seen, key->text);
    if (before) {
        diag_error(r->dx, key->at, "the key `%.*s` is there twice", STR_ARG(key->text));
        diag_note(r->dx, *before, "the first one is here");
        return false;
    }
    vec_push(r->arena, keys, ((YamlKey){key->text, key->at}));
    Place *at = arena_new(r->arena, Place, 1);
    *at = key->at;
    map_put(seen, key->text, at);
    return true;
}

static bool read_object(Reader *r, size_t depth, Yaml *out)
{
    VEC(Yaml) items = {0};
    Keys keys = {0};
    Map seen = {.arena = r->arena};
    yaml_event_t event;
    bool ok = true;
    bool is_open = true;
    out->kind = YAML_object;
    while (ok && is_open) {
        if (!next(r, &event)) {
            return false;
        }
        is_open = event.type != YAML_MAPPING_END_EVENT;
        Yaml item = {0};
        ok = !is_open || read_value(r, &event, depth + 1, &item);
        yaml_event_delete(&event);
        if (!ok || !is_open) {
            continue;
        }
        if (keys.n == items.n) {
            ok = add_key(r, &item, &seen, &keys);
        } else {
            vec_push(r->arena, &items, item);
        }
    }
    out->items = items.items;
    out->keys = keys.items;
    out->n = items.n;
    return ok;
}

// The value that the event begins, up to its end; nested at most MOST_DEPTH deep.
static bool read_value(Reader *r, yaml_event_t *event, size_t depth, Yaml *out)
{
    *out = (Yaml){.at = place_of(r, event)};
    if (!check_limits(r, out->at, depth)) {
        return false;
    }
    switch (event->type) { // NOLINT: of all kinds of events, those that begin values
    case YAML_SCALAR_EVENT: return read_text(r, event, out);
    case YAML_SEQUENCE_START_EVENT:
        return check_plain(r, out->at, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag) &&
               read_list(r, depth, out);
    case YAML_MAPPING_START_EVENT:
        return check_plain(r, out->at, event->data.mapping_start.anchor,
                           event->data.mapping_start.tag) &&
               read_object(r, depth, out);
    case YAML_ALIAS_EVENT: return refuse(r, out->at, "aliases (*) are not understood here");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: break;
    }
    return refuse(r, out->at, "a value is missing here");
}

// ---- the document ----

static bool check_directives(Reader *r, Place at, const yaml_event_t *event)
{
    bool has = event->data.document_start.version_directive ||
               event->data.document_start.tag_directives.start !=
                   event->data.document_start.tag_directives.end;
    return has ? refuse(r, at, "directives (%) are not understood here") : true;
}

// Reads events until the stream ends; there must be one document.
static bool read_stream(Reader *r, Yaml *out)
{
    size_t ndocuments = 0;
    bool ok = true;
    for (bool is_open = true; ok && is_open;) {
        yaml_event_t event;
        if (!next(r, &event)) {
            return false;
        }
        Place at = place_of(r, &event);
        is_open = event.type != YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            ok = ++ndocuments == 1 ? check_directives(r, at, &event)
                                   : refuse(r, at, "a second document begins here");
        } else if (event.type != YAML_STREAM_START_EVENT && is_open &&
                   event.type != YAML_DOCUMENT_END_EVENT) {
            ok = read_value(r, &event, 0, out);
        }
        yaml_event_delete(&event);
    }
    return ok && ndocuments == 0 ? refuse(r, (Place){r->source, 0, 0}, "the file is empty") : ok;
}

const Yaml *yaml_tree_parse(Arena *arena, Diag *dx, const Source *source)
{
    Reader r = {.arena = arena, .dx = dx, .source = source};
    if (source->text.len > MOST_BYTES) {
        diag_error(dx, (Place){0}, "%.*s: the file has %zu bytes, but at most %d are read",
                   STR_ARG(source->name), source->text.len, (int)MOST_BYTES);
        return NULL;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        diag_fail(dx, "cannot read %.*s: out of memory", STR_ARG(source->name));
        return NULL;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)source->text.ptr,
                                 source->text.len);
    Yaml *tree = arena_new(arena, Yaml, 1);
    bool ok = read_stream(&r, tree);
    yaml_parser_delete(&r.parser);
    return ok ? tree : NULL;
}

const Yaml *yaml_tree_find(const Yaml *object, Str key)
{
    for (size_t i = 0; object->kind == YAML_object && i < object->n; i++) {
        if (str_equal(object->keys[i].name, key)) {
            return &object->items[i];
        }
    }
    return NULL;
}
