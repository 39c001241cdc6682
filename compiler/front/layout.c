// Layout literals: reading, defaults, canonical spelling.
#include "front/layout.h"

#include "base/vec.h"

#define HEAD_WIDTH 64         // of a head, where neither A nor E is given
#define FFN_FACTOR 4          // F / H, where F is not given
#define NUMBER_MAX 2147483647 // of a layout: every product of two stays below 2^63

_Static_assert(sizeof LAYOUT_LETTERS == LAYOUT_ntags + 1, "a letter for each tag");

typedef struct Reader {
    Arena *arena;
    Diag *dx;
    Place at;
    Str text;
    size_t pos;
} Reader;

// The rest of the message follows the literal's text.
static bool fail(Reader *r, size_t begin, size_t end, Str message)
{
    uint32_t base = r->at.begin;
    Place place = {r->at.source, base + (uint32_t)begin, base + (uint32_t)end};
    diag_error(r->dx, place, "layout %.*s: %.*s", STR_ARG(r->text), STR_ARG(message));
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const Reader *r) { return r->pos < r->text.len ? r->text.ptr[r->pos] : '\0'; }

static bool read_number(Reader *r, Str what, int64_t *out)
{
    size_t start = r->pos;
    int64_t n = 0;
    while (is_digit(peek(r))) {
        n = n > NUMBER_MAX ? n : n * 10 + (r->text.ptr[r->pos] - '0');
        r->pos++;
    }
    Str digits = {r->text.ptr + start, r->pos - start};
    if (digits.len == 0)
        return fail(r, start, start + 1,
                    str_format(r->arena, "the %.*s is missing", STR_ARG(what)));
    if (n == 0)
        return fail(r, start, r->pos, str_format(r->arena, "the %.*s is zero", STR_ARG(what)));
    if (n > NUMBER_MAX)
        return fail(r, start, r->pos,
                    str_format(r->arena, "the %.*s, %.*s, is over %d", STR_ARG(what),
                               STR_ARG(digits), NUMBER_MAX));
    *out = n;
    return true;
}

static bool read_groups(Reader *r, Layout *layout)
{
    VEC(LayoutGroup) groups = {0};
    for (;;) {
        LayoutGroup group = {0, 1};
        if (!read_number(r, STR("number of layers"), &group.layers))
            return false;
        if (peek(r) == 'x') {
            r->pos++;
            if (!read_number(r, STR("number of repeats"), &group.repeats))
                return false;
        }
        vec_push(r->arena, &groups, group);
        if (peek(r) != '-')
            break;
        r->pos++;
    }
    layout->groups = groups.items;
    layout->ngroups = groups.n;
    return true;
}

static bool find_tag(char letter, LayoutTag *out)
{
    for (LayoutTag tag = 0; tag < LAYOUT_ntags; tag++) {
        if (LAYOUT_LETTERS[tag] == letter) {
            *out = tag;
            return true;
        }
    }
    return false;
}

static Str no_tag(const Reader *r, char letter)
{
    if (letter <= ' ' || letter > '~') // a byte of a longer character, or one that cannot be seen
        return STR("only letters, digits and `-` stand in a layout");
    Buf buf = {.arena = r->arena};
    buf_format(&buf, "`%c` is no tag; the tags are ", letter);
    for (LayoutTag tag = 0; tag < LAYOUT_ntags; tag++)
        buf_format(&buf, "%s%c", tag ? ", " : "", LAYOUT_LETTERS[tag]);
    return buf_str(&buf);
}

static bool read_tags(Reader *r, Layout *layout)
{
    while (r->pos < r->text.len) {
        size_t start = r->pos++;
        char letter = r->text.ptr[start];
        LayoutTag tag;
        if (!find_tag(letter, &tag))
            return fail(r, start, start + 1, no_tag(r, letter));
        if (layout->tags[tag])
            return fail(r, start, start + 1,
                        str_format(r->arena, "the tag %c is given twice", letter));
        if (!read_number(r, str_format(r->arena, "size after %c", letter), &layout->tags[tag]))
            return false;
        uint32_t base = r->at.begin;
        layout->places[tag] =
            (Place){r->at.source, base + (uint32_t)start, base + (uint32_t)r->pos};
    }
    if (!layout->tags[LAYOUT_H])
        return fail(r, 0, r->text.len, STR("the width is missing: H and a number"));
    return true;
}

static void set_sizes(Layout *layout)
{
    const int64_t *tags = layout->tags;
    int64_t h = tags[LAYOUT_H];
    int64_t head = tags[LAYOUT_E] ? tags[LAYOUT_E] : HEAD_WIDTH;
    int64_t a = tags[LAYOUT_A] ? tags[LAYOUT_A] : h % head == 0 ? h / head : 0;
    int64_t e = tags[LAYOUT_E] ? tags[LAYOUT_E] : a && h % a == 0 ? h / a : 0;
    for (LayoutTag tag = 0; tag < LAYOUT_ntags; tag++)
        layout->sizes[tag] = tags[tag];
    if (!tags[LAYOUT_F])
        layout->sizes[LAYOUT_F] = FFN_FACTOR * h;
    layout->sizes[LAYOUT_A] = a;
    layout->sizes[LAYOUT_E] = e;
}

static Str canonical_text(Arena *arena, const Layout *layout)
{
    Buf buf = {.arena = arena};
    buf_char(&buf, layout->family);
    for (size_t i = 0; i < layout->ngroups; i++) {
        const LayoutGroup *group = &layout->groups[i];
        buf_format(&buf, "%s%lld", i ? "-" : "", (long long)group->layers);
        if (group->repeats != 1)
            buf_format(&buf, "x%lld", (long long)group->repeats);
    }
    for (LayoutTag tag = 0; tag < LAYOUT_ntags; tag++) {
        if (layout->tags[tag])
            buf_format(&buf, "%c%lld", LAYOUT_LETTERS[tag], (long long)layout->tags[tag]);
    }
    return buf_str(&buf);
}

bool layout_starts(Str text)
{
    return text.len >= 2 && text.ptr[0] >= 'A' && text.ptr[0] <= 'Z' && is_digit(text.ptr[1]);
}

const Layout *layout_parse(Arena *arena, Diag *dx, Place at)
{
    Str text = {at.source->text.ptr + at.begin, at.end - at.begin};
    Reader r = {arena, dx, at, text, 0};
    Layout *layout = arena_new(arena, Layout, 1);
    layout->at = at;
    layout->family = text.len ? text.ptr[0] : '\0';
    if (layout->family < 'A' || layout->family > 'Z') {
        fail(&r, 0, 1, STR("it begins with a family's capital letter"));
        return NULL;
    }
    r.pos = 1;
    if (!read_groups(&r, layout) || !read_tags(&r, layout))
        return NULL;
    set_sizes(layout);
    layout->text = canonical_text(arena, layout);
    return layout;
}

bool layout_tag_from_name(Str name, LayoutTag *out)
{
    return name.len == 1 && find_tag(name.ptr[0], out);
}

const char *layout_tag_meaning(LayoutTag tag)
{
    switch (tag) {
    case LAYOUT_H: return "the width, as in L12H768";
    case LAYOUT_F: return "the width inside the feed-forward part, as in L12H768F3072";
    case LAYOUT_A: return "the number of heads, as in L12H768A12";
    case LAYOUT_E: return "the width of a head, as in L12H768E64";
    case LAYOUT_D: return "decoder layers, as in B6-6-6H768D2";
    case LAYOUT_T: return "the width of a small attention, as in G30H256T64";
    case LAYOUT_S: return "the width of token mixing, as in M8H512S256";
    case LAYOUT_ntags: break;
    }
    die("layout tag %d", (int)tag);
}

Str layout_missing(Arena *arena, const Layout *layout)
{
    long long h = (long long)layout->tags[LAYOUT_H];
    if (layout->sizes[LAYOUT_A])
        return str_format(
            arena,
            "width %lld does not divide into %lld heads; give another number of heads "
            "A, or the width of a head E",
            h, (long long)layout->sizes[LAYOUT_A]);
    if (layout->tags[LAYOUT_E])
        return str_format(arena,
                          "width %lld is no multiple of the head width %lld; give the number of "
                          "heads A",
                          h, (long long)layout->tags[LAYOUT_E]);
    return str_format(arena,
                      "width %lld is no multiple of %d, so the number of heads must be given: A", h,
                      HEAD_WIDTH);
}
