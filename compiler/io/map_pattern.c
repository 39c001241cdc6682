// Patterns of names: parsed, compared with names, filled in.
#include "io/map_pattern.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || !is_digit(c))) {
            return false;
        }
    }
    return s.len > 0;
}

// ---- parsing ----

static bool has_any(const Pattern *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].is_any) {
            return true;
        }
    }
    return false;
}

// `inner` is what stands between < and >.
static bool add_capture(Diag *dx, Str inner, Pattern *out)
{
    PatternItem item = {.text = inner, .is_capture = true, .is_any = str_ends(inner, STR(".."))};
    item.text.len -= item.is_any ? 2 : 0;
    const char *fault = NULL;
    if (!is_word(item.text)) {
        fault = "stands for nothing: <n> is a number, <x..> any text, with a word as the name";
    } else if (pattern_capture(out, item.text)) {
        fault = "is there twice";
    } else if (out->ncaptures == MOST_CAPTURES) {
        fault = "is one too many: a pattern has at most 8";
    } else if (out->n > 0 && out->items[out->n - 1].is_capture) {
        fault = "follows another one: text between them must say where it begins";
    } else if (item.is_any && has_any(out)) {
        fault = "is the second of that kind: one <x..> is understood";
    }
    if (fault) {
        diag_error(dx, out->at, "<%.*s> %s", STR_ARG(inner), fault);
        return false;
    }
    out->ncaptures++;
    out->items[out->n++] = item;
    return true;
}

// Digits beside a number would belong to it.
static bool check_digits(Diag *dx, const Pattern *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const PatternItem *item = &p->items[i];
        if (!item->is_capture || item->is_any) {
            continue;
        }
        Str before = i > 0 ? p->items[i - 1].text : STR(" ");
        Str after = i + 1 < p->n ? p->items[i + 1].text : STR(" ");
        if (is_digit(before.ptr[before.len - 1]) || is_digit(after.ptr[0])) {
            diag_error(dx, p->at, "digits beside <%.*s> cannot be told from it",
                       STR_ARG(item->text));
            return false;
        }
    }
    return true;
}

bool pattern_parse(Diag *dx, Place at, Str text, Pattern *out)
{
    *out = (Pattern){.at = at};
    for (size_t i = 0; i < text.len;) {
        size_t begin = i;
        while (i < text.len && text.ptr[i] != '<' && text.ptr[i] != '>') {
            i++;
        }
        if (i > begin) {
            out->items[out->n++] = (PatternItem){.text = {text.ptr + begin, i - begin}};
            continue;
        }
        const char *close = memchr(text.ptr + i, '>', text.len - i);
        if (text.ptr[i] == '>' || !close) {
            diag_error(dx, at, "%s", close ? "a > without <" : "a < without >");
            return false;
        }
        size_t end = (size_t)(close - text.ptr);
        if (!add_capture(dx, (Str){text.ptr + i + 1, end - i - 1}, out)) {
            return false;
        }
        i = end + 1;
    }
    if (out->n == 0) {
        diag_error(dx, at, "a name is missing");
        return false;
    }
    return check_digits(dx, out);
}

const PatternItem *pattern_capture(const Pattern *p, Str name)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].is_capture && str_equal(p->items[i].text, name)) {
            return &p->items[i];
        }
    }
    return NULL;
}

// ---- comparing ----

static void capture(Captures *out, const PatternItem *item, Str value)
{
    out->names[out->n] = item->text;
    out->values[out->n++] = value;
}

// Takes the item off the front of `rest`; not <x..>.
static bool take_front(const PatternItem *item, Str *rest, Captures *out)
{
    size_t n = 0;
    if (!item->is_capture) {
        n = str_starts(*rest, item->text) ? item->text.len : 0;
    } else {
        while (n < rest->len && is_digit(rest->ptr[n])) {
            n++;
        }
        if (n > 0) {
            capture(out, item, (Str){rest->ptr, n});
        }
    }
    *rest = (Str){rest->ptr + n, rest->len - n};
    return n > 0;
}

// Takes it off the back.
static bool take_back(const PatternItem *item, Str *rest, Captures *out)
{
    size_t n = 0;
    if (!item->is_capture) {
        n = str_ends(*rest, item->text) ? item->text.len : 0;
    } else {
        while (n < rest->len && is_digit(rest->ptr[rest->len - n - 1])) {
            n++;
        }
        if (n > 0) {
            capture(out, item, (Str){rest->ptr + rest->len - n, n});
        }
    }
    rest->len -= n;
    return n > 0;
}

bool pattern_fits(const Pattern *p, Str name, Captures *out)
{
    *out = (Captures){0};
    size_t front = 0;
    size_t back = p->n;
    while (front < p->n && !p->items[front].is_any) {
        if (!take_front(&p->items[front++], &name, out)) {
            return false;
        }
    }
    if (front == p->n) {
        return name.len == 0;
    }
    while (back > front + 1) {
        if (!take_back(&p->items[--back], &name, out)) {
            return false;
        }
    }
    capture(out, &p->items[front], name);
    return name.len > 0;
}

bool pattern_begins(const Pattern *p, Str name, Captures *out)
{
    *out = (Captures){0};
    for (size_t i = 0; i < p->n; i++) {
        if (!take_front(&p->items[i], &name, out)) {
            return false;
        }
    }
    return name.len == 0 || name.ptr[0] == '.';
}

// ---- filling in ----

const Str *captures_find(const Captures *captures, Str name)
{
    for (size_t i = 0; i < captures->n; i++) {
        if (str_equal(captures->names[i], name)) {
            return &captures->values[i];
        }
    }
    return NULL;
}

Str pattern_fill(Arena *arena, const Pattern *p, const Captures *values)
{
    Buf text = {.arena = arena};
    for (size_t i = 0; i < p->n; i++) {
        const PatternItem *item = &p->items[i];
        buf_add(&text, item->is_capture ? *captures_find(values, item->text) : item->text);
    }
    return buf_str(&text);
}
