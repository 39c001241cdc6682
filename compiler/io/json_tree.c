// From jansson's values to a tree with places. jansson keeps no places, so the text is walked once
// more beside its values, which stand in the same order. That walk trusts the text: it is valid by
// then.
#include "io/json_tree.h"

#include "io/file.h"
#include "io/json_text.h"

#include <string.h>

enum {
    MOST_BYTES = 8 << 20,
    MOST_DEPTH = 64,       // lists and objects inside each other; configurations need about 5
    MOST_VALUES = 1 << 18, // of one file; the labels of large classifiers are some 50000
};

// ---- limits ----

// Whether nesting and number of values stay within the limits. Looks at brackets and commas outside
// of strings; of a text that is no JSON it may think what it likes, jansson reads that next.
static bool check_limits(Diag *dx, const Source *source)
{
    size_t depth = 0;
    size_t nvalues = 1;
    bool is_string = false;
    for (uint32_t i = 0; i < source->text.len; i++) {
        char c = source->text.ptr[i];
        if (is_string) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                is_string = false;
            }
            continue;
        }
        is_string = c == '"';
        if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
        nvalues += c == '[' || c == '{' || c == ',';
        if (depth > MOST_DEPTH || nvalues > MOST_VALUES) {
            const char *what =
                depth > MOST_DEPTH ? "lists and objects inside each other" : "values";
            diag_error(dx, (Place){source, i, i + 1}, "at most %d %s are read",
                       depth > MOST_DEPTH ? MOST_DEPTH : MOST_VALUES, what);
            return false;
        }
    }
    return true;
}

// ---- parsing ----

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '+' || c == '-';
}

// jansson counts the bytes up to the end of the token at fault; what it quotes of the file after
// "near" is left out, since the place is shown.
static void report(Diag *dx, const Source *source, const json_error_t *error)
{
    if (json_error_code(error) == json_error_out_of_memory) {
        diag_fail(dx, "cannot read %.*s: out of memory", STR_ARG(source->name));
        return;
    }
    size_t end = error->position > 0 ? (size_t)error->position : 0;
    end = end < source->text.len ? end : source->text.len;
    size_t begin = end > 0 ? end - 1 : 0;
    while (begin > 0 && is_word(source->text.ptr[begin]) && is_word(source->text.ptr[begin - 1])) {
        begin--;
    }
    const char *near = strstr(error->text, " near ");
    size_t length = near ? (size_t)(near - error->text) : strlen(error->text);
    diag_error(dx, (Place){source, (uint32_t)begin, (uint32_t)end}, "no valid JSON: %.*s",
               (int)length, error->text);
}

// ---- values and their places ----

typedef struct Walk {
    Arena *arena;
    const Source *source;
    uint32_t at; // byte reached
} Walk;

static char peek(Walk *w)
{
    const char *text = w->source->text.ptr;
    while (text[w->at] == ' ' || text[w->at] == '\t' || text[w->at] == '\n' ||
           text[w->at] == '\r') {
        w->at++;
    }
    return text[w->at];
}

static void step_over(Walk *w, char c)
{
    if (peek(w) != c) {
        die("'%c' expected at byte %u of a JSON text that was found valid", c, w->at);
    }
    w->at++;
}

static Place walk_string(Walk *w)
{
    Place at = {w->source, w->at, w->at};
    step_over(w, '"');
    at.begin = w->at - 1;
    while (w->source->text.ptr[w->at] != '"') {
        w->at += w->source->text.ptr[w->at] == '\\' ? 2 : 1;
    }
    w->at++;
    at.end = w->at;
    return at;
}

static Str copy_string(Arena *arena, const json_t *value)
{
    return str_copy(arena, (Str){json_string_value(value), json_string_length(value)});
}

static void convert(Walk *w, json_t *value, Json *out);

static void convert_list(Walk *w, json_t *value, Json *out)
{
    out->n = json_array_size(value);
    Json *items = arena_new(w->arena, Json, out->n);
    step_over(w, '[');
    for (size_t i = 0; i < out->n; i++) {
        if (i > 0) {
            step_over(w, ',');
        }
        convert(w, json_array_get(value, i), &items[i]);
    }
    step_over(w, ']');
    out->items = items;
}

static void convert_object(Walk *w, json_t *value, Json *out)
{
    out->n = json_object_size(value);
    Json *items = arena_new(w->arena, Json, out->n);
    JsonKey *keys = arena_new(w->arena, JsonKey, out->n);
    void *member = json_object_iter(value);
    step_over(w, '{');
    for (size_t i = 0; i < out->n; i++) {
        if (i > 0) {
            step_over(w, ',');
        }
        peek(w);
        keys[i].at = walk_string(w);
        keys[i].name = str_copy(
            w->arena, (Str){json_object_iter_key(member), json_object_iter_key_len(member)});
        step_over(w, ':');
        convert(w, json_object_iter_value(member), &items[i]);
        member = json_object_iter_next(value, member);
    }
    step_over(w, '}');
    out->items = items;
    out->keys = keys;
}

// jansson reads all numbers as reals here, since it refuses whole ones that are large.
static void convert_number(Walk *w, uint32_t begin, const json_t *value, Json *out)
{
    uint32_t end = begin;
    while (is_word(w->source->text.ptr[end])) {
        end++;
    }
    Str text = {w->source->text.ptr + begin, end - begin};
    out->real = json_real_value(value);
    out->kind = str_to_int(text, &out->integer) ? JSON_int : JSON_real;
}

// Its depth is that of the text, so at most MOST_DEPTH.
static void convert(Walk *w, json_t *value, Json *out)
{
    peek(w);
    uint32_t begin = w->at;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        out->kind = JSON_object;
        convert_object(w, value, out);
        break;
    case JSON_ARRAY:
        out->kind = JSON_list;
        convert_list(w, value, out);
        break;
    case JSON_STRING:
        out->kind = JSON_text;
        out->text = copy_string(w->arena, value);
        walk_string(w);
        break;
    case JSON_INTEGER:
    case JSON_REAL: convert_number(w, begin, value, out); break;
    case JSON_TRUE:
    case JSON_FALSE:
        out->kind = JSON_bool;
        out->truth = json_is_true(value);
        break;
    case JSON_NULL: out->kind = JSON_null; break;
    }
    while (is_word(w->source->text.ptr[w->at])) { // of a number, true, false, null
        w->at++;
    }
    out->at = (Place){w->source, begin, w->at};
}

const Json *json_tree_read(Arena *arena, Diag *dx, const char *path)
{
    Str text;
    if (!file_read(arena, dx, path, MOST_BYTES, &text)) {
        return NULL;
    }
    const Source *source = diag_source(arena, str_copy(arena, str_from(path)), text, false);
    if (!check_limits(dx, source)) {
        return NULL;
    }
    json_error_t error;
    json_t *value = json_text_parse(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (!value) {
        report(dx, source, &error);
        return NULL;
    }
    Json *tree = arena_new(arena, Json, 1);
    Walk walk = {.arena = arena, .source = source};
    convert(&walk, value, tree);
    json_decref(value);
    return tree;
}

const Json *json_tree_find(const Json *object, Str key)
{
    for (size_t i = 0; object->kind == JSON_object && i < object->n; i++) {
        if (str_equal(object->keys[i].name, key)) {
            return &object->items[i];
        }
    }
    return NULL;
}
