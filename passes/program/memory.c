// memory: the buffers' places in the arena, by their lifetimes.
//
//   buffer 0 "ids" i32[128 * batch] slot        buffer 0 … at 0
//   buffer 1 "x" f32[98304 * batch]         →   buffer 1 … at 512 * batch
//   buffer 2 "y" f32[98304 * batch]             buffer 2 … at 393728 * batch
//                                               arena 786944 * batch + 64
//
// A buffer's size is a number of bytes times what its symbols make of it, the factor. Buffers of
// one factor share a region, in which places are numbers times that factor; the regions follow each
// other. A buffer lives from the first step that touches it to the last, an input's slot from
// before the first step; buffers that live at one time lie apart. Places and sizes are multiples of
// 64 bytes, and 64 readable bytes follow the last.
//
// Inside a region buffers are placed one by one, each in the lowest gap that holds it. The best
// order depends on the graph: several are tried, then orders that begin with what made the arena as
// large as it is, until nothing is wasted or the budget is spent.
//
// Requires: steps. Establishes: offsets, arena_bytes. Does not let regions share memory, nor an
// output take its input's place. Quadratic in the number of buffers of a region.
#include "passes/pass.h"

#include "base/ints.h"

#include <stdlib.h>

// Orders tried in a region: at most so many, fewer where buffers are so many that looking at their
// pairs would take long.
#define MOST_TRIES 500
#define MOST_PAIRS 20000000

typedef struct Item {
    uint32_t buffer;
    int64_t bytes; // times the region's factor
    int64_t begin; // the first step; -1: before it
    int64_t end;   // the last step; less than `begin`: no step touches it
    int64_t place;
} Item;

typedef struct Region {
    const Size *factor;
    VEC(Item) items;
} Region;

typedef VEC(Region) Regions;

// ---- lifetimes and regions ----------------------------------------------------------------------

typedef struct Lifetime {
    int64_t begin;
    int64_t end;
} Lifetime;

static Lifetime *find_lifetimes(Arena *tmp, const Program *p)
{
    Lifetime *lives = arena_new(tmp, Lifetime, p->buffers.n);
    for (size_t i = 0; i < p->buffers.n; i++)
        lives[i] = p->buffers.items[i].is_slot ? (Lifetime){-1, -1} : (Lifetime){INT64_MAX, -1};
    for (size_t i = 0; i < p->steps.n; i++) {
        const Step *step = &p->steps.items[i];
        for (size_t j = 0; j < step->noperands; j++) {
            Operand operand = step->operands[j];
            if (operand.kind == OPERAND_input && p->inputs.items[operand.index].has_slot)
                operand = (Operand){OPERAND_buffer, p->inputs.items[operand.index].slot};
            if (operand.kind != OPERAND_buffer)
                continue;
            Lifetime *life = &lives[operand.index];
            life->end = (int64_t)i;
            if (life->begin > (int64_t)i)
                life->begin = (int64_t)i;
        }
    }
    return lives;
}

// size = number · factor, the factor's coefficients without a common divisor. False: over 64 bits.
static bool split_size(Arena *a, const Size *size, int64_t *number, const Size **factor)
{
    int64_t gcd = 0;
    for (size_t i = 0; size && i < size->nterms; i++) {
        if (size->terms[i].factor == INT64_MIN)
            return false;
        gcd = int_gcd(gcd, size->terms[i].factor);
    }
    if (gcd == 0) {
        *number = 0;
        *factor = size_int(a, 1);
        return size != NULL;
    }
    *number = gcd;
    *factor = size_exact_div(a, size, size_int(a, gcd));
    return *factor != NULL;
}

static Region *find_region(Arena *tmp, Regions *regions, const Size *factor)
{
    for (size_t i = 0; i < regions->n; i++) {
        if (size_equal(regions->items[i].factor, factor))
            return &regions->items[i];
    }
    vec_push(tmp, regions, (Region){.factor = factor});
    return &regions->items[regions->n - 1];
}

static bool collect_regions(Arena *tmp, const Program *p, Regions *regions)
{
    Lifetime *lives = find_lifetimes(tmp, p);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const ArenaBuffer *b = &p->buffers.items[i];
        const Size *bytes = size_scale(p->arena, b->count, (int64_t)dtype_bytes(b->dtype));
        const Size *factor;
        Item item = {.buffer = (uint32_t)i, .begin = lives[i].begin, .end = lives[i].end};
        if (!split_size(p->arena, bytes, &item.bytes, &factor) ||
            item.bytes > INT64_MAX - LOOP_ALIGN)
            return false;
        item.bytes = (item.bytes + LOOP_ALIGN - 1) / LOOP_ALIGN * LOOP_ALIGN;
        Region *region = find_region(tmp, regions, factor);
        vec_push(tmp, &region->items, item);
    }
    return true;
}

// ---- places in a region -------------------------------------------------------------------------

static bool live_together(const Item *x, const Item *y)
{
    return x->begin <= y->end && y->begin <= x->end;
}

// The most bytes that live at one time, which no placement can go under; -1: over 64 bits.
static int64_t largest_live_set(const Region *region)
{
    int64_t most = 0;
    // A largest set is there when one of its members begins.
    for (size_t i = 0; i < region->items.n; i++) {
        const Item *first = &region->items.items[i];
        int64_t sum = 0;
        for (size_t j = 0; j < region->items.n; j++) {
            const Item *x = &region->items.items[j];
            if (x->begin <= first->begin && first->begin <= x->end &&
                __builtin_add_overflow(sum, x->bytes, &sum))
                return -1;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

// Places items[order[n]] among the n before it, which `placed` lists by their places.
static bool place_item(Item *items, uint32_t *placed, size_t n, uint32_t index)
{
    Item *item = &items[index];
    int64_t place = 0;
    for (size_t i = 0; i < n; i++) {
        const Item *other = &items[placed[i]];
        if (!live_together(item, other))
            continue;
        if (other->place - place >= item->bytes)
            break;
        int64_t end = other->place + other->bytes;
        place = end > place ? end : place;
    }
    if (place > INT64_MAX - item->bytes)
        return false;
    item->place = place;
    size_t at = n;
    while (at > 0 && items[placed[at - 1]].place > place) {
        placed[at] = placed[at - 1];
        at--;
    }
    placed[at] = index;
    return true;
}

// Places all in that order; the bytes they take, or -1 if that is over 64 bits.
static int64_t place_all(Region *region, const uint32_t *order, uint32_t *placed)
{
    int64_t end = 0;
    for (size_t n = 0; n < region->items.n; n++) {
        if (!place_item(region->items.items, placed, n, order[n]))
            return -1;
        const Item *item = &region->items.items[order[n]];
        end = item->place + item->bytes > end ? item->place + item->bytes : end;
    }
    return end;
}

typedef struct Ranked {
    const Item *item;
    uint32_t index;
} Ranked;

static int compare(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int64_t life_length(const Item *x) { return x->end - x->begin; }

// Larger ones first, then those that live longer.
static int by_size(const void *x, const void *y)
{
    const Ranked *p = x;
    const Ranked *q = y;
    int order = compare(q->item->bytes, p->item->bytes);
    if (order == 0)
        order = compare(life_length(q->item), life_length(p->item));
    return order != 0 ? order : compare(p->index, q->index);
}

// Those that live longer first, then larger ones.
static int by_life(const void *x, const void *y)
{
    const Ranked *p = x;
    const Ranked *q = y;
    int order = compare(life_length(q->item), life_length(p->item));
    if (order == 0)
        order = compare(q->item->bytes, p->item->bytes);
    return order != 0 ? order : compare(p->index, q->index);
}

// As they come to life, larger ones first.
static int by_begin(const void *x, const void *y)
{
    const Ranked *p = x;
    const Ranked *q = y;
    int order = compare(p->item->begin, q->item->begin);
    if (order == 0)
        order = compare(q->item->bytes, p->item->bytes);
    return order != 0 ? order : compare(p->index, q->index);
}

typedef int (*Ranking)(const void *x, const void *y);

static void make_order(const Region *region, Ranked *ranks, Ranking ranking, uint32_t *order)
{
    size_t n = region->items.n;
    for (size_t i = 0; i < n; i++)
        ranks[i] = (Ranked){&region->items.items[i], (uint32_t)i};
    qsort(ranks, n, sizeof *ranks, ranking);
    for (size_t i = 0; i < n; i++)
        order[i] = ranks[i].index;
}

// The search for the best order of one region.
typedef struct Search {
    Region *region;
    int64_t least;    // bytes under which nothing can go
    int64_t best;     // bytes; -1: none found
    int64_t *places;  // [items] of the best
    uint32_t *order;  // [items] that is tried
    uint32_t *placed; // [items]
    size_t tries;     // left
} Search;

// Tries s->order; true once nothing is left to gain or to spend.
static bool try_order(Search *s)
{
    int64_t bytes = place_all(s->region, s->order, s->placed);
    if (bytes >= 0 && (s->best < 0 || bytes < s->best)) {
        s->best = bytes;
        for (size_t i = 0; i < s->region->items.n; i++)
            s->places[i] = s->region->items.items[i].place;
    }
    s->tries--;
    return s->best == s->least || s->tries == 0;
}

// Moves the item that reaches highest to the front of the order: it gets its place first.
static void move_highest_first(Search *s)
{
    size_t highest = 0;
    int64_t most = -1;
    for (size_t i = 0; i < s->region->items.n; i++) {
        const Item *item = &s->region->items.items[s->order[i]];
        if (item->place + item->bytes > most) {
            most = item->place + item->bytes;
            highest = i;
        }
    }
    uint32_t index = s->order[highest];
    for (size_t i = highest; i > 0; i--)
        s->order[i] = s->order[i - 1];
    s->order[0] = index;
}

// Finds the places in a region; the bytes they take, or -1 if that is over 64 bits.
static int64_t place_region(Arena *tmp, Region *region)
{
    static const Ranking rankings[] = {by_size, by_life, by_begin};
    size_t n = region->items.n;
    Search s = {.region = region, .least = largest_live_set(region), .best = -1};
    s.places = arena_new(tmp, int64_t, n);
    s.order = arena_new(tmp, uint32_t, n);
    s.placed = arena_new(tmp, uint32_t, n);
    Ranked *ranks = arena_new(tmp, Ranked, n);
    size_t affordable = MOST_PAIRS / (n * n);
    s.tries = affordable > MOST_TRIES ? MOST_TRIES : affordable + 3;
    bool done = false;
    for (size_t i = 0; i < sizeof rankings / sizeof *rankings && !done; i++) {
        make_order(region, ranks, rankings[i], s.order);
        done = try_order(&s);
    }
    if (!done) {
        make_order(region, ranks, by_size, s.order);
        done = try_order(&s);
    }
    while (!done && s.best >= 0) {
        move_highest_first(&s);
        done = try_order(&s);
    }
    for (size_t i = 0; i < n; i++)
        region->items.items[i].place = s.places[i];
    return s.best;
}

// ---- the pass -----------------------------------------------------------------------------------

static bool lay_out(Arena *tmp, Program *p)
{
    Regions regions = {0};
    if (!collect_regions(tmp, p, &regions))
        return false;
    const Size *base = size_int(p->arena, 0);
    for (size_t i = 0; i < regions.n; i++) {
        Region *region = &regions.items[i];
        int64_t bytes = place_region(tmp, region);
        if (bytes < 0)
            return false;
        for (size_t j = 0; j < region->items.n; j++) {
            const Item *item = &region->items.items[j];
            const Size *place = size_scale(p->arena, region->factor, item->place);
            ArenaBuffer *b = &p->buffers.items[item->buffer];
            b->offset = size_add(p->arena, base, place);
            if (!b->offset)
                return false;
        }
        base = size_add(p->arena, base, size_scale(p->arena, region->factor, bytes));
    }
    p->arena_bytes = size_add(p->arena, base, size_int(p->arena, LOOP_ALIGN));
    return p->arena_bytes != NULL;
}

bool pass_memory(PassContext *cx, Program *p)
{
    Arena *tmp = arena_create();
    bool ok = lay_out(tmp, p);
    arena_destroy(tmp);
    if (!ok)
        diag_error(cx->dx, (Place){0},
                   "what the steps hand to each other is over 64 bits of bytes");
    return ok;
}
