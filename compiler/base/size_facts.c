// What is known of sizes: bounds of symbols, equalities, divisors; and what follows for a
// comparison.
//
// An equality that gives a symbol removes it: from then on it is replaced by what it equals. A
// divisor, p % d == 0, is an equality too: p is d times a *part*, a symbol of our own named by the
// quotient's text, which no user's name can be. size_simplify puts the quotients back, so that no
// part is ever seen outside.
#include "base/ints.h"
#include "base/map.h"
#include "base/size.h"
#include "base/vec.h"

typedef struct Interval {
    int64_t low;  // -SIZE_INF: none
    int64_t high; // SIZE_INF: none
} Interval;

// The symbol `name` stands for top / by, which has no remainder.
typedef struct Part {
    Str name;
    const Size *top; // may have parts made before this one
    int64_t by;
} Part;

struct SizeFacts {
    Arena *arena;
    Map bounds;            // of symbols and parts: to Interval *
    VEC(SizeSubst) equals; // no value has a symbol that stands here as a name
    VEC(Part) parts;       // in order of making
};

static const Interval anything = {-SIZE_INF, SIZE_INF};
static const Interval any_symbol = {1, SIZE_INF};

SizeFacts *size_facts(Arena *a)
{
    SizeFacts *facts = arena_new(a, SizeFacts, 1);
    facts->arena = a;
    facts->bounds.arena = a;
    return facts;
}

void size_facts_bound(SizeFacts *facts, Str name, int64_t low, int64_t high)
{
    Interval *bound = map_get(&facts->bounds, name);
    if (!bound) {
        bound = arena_new(facts->arena, Interval, 1);
        map_put(&facts->bounds, str_copy(facts->arena, name), bound);
    }
    *bound = (Interval){low, high};
}

static Interval symbol_bound(const SizeFacts *facts, Str name)
{
    const Interval *bound = facts ? map_get(&facts->bounds, name) : NULL;
    return bound ? *bound : any_symbol;
}

void size_facts_get(const SizeFacts *facts, Str name, int64_t *low, int64_t *high)
{
    Interval bound = symbol_bound(facts, name);
    *low = bound.low;
    *high = bound.high;
}

const char *size_op_text(SizeOp op)
{
    static const char *const texts[] = {
        [SIZE_eq] = "==", [SIZE_ne] = "!=", [SIZE_lt] = "<",
        [SIZE_le] = "<=", [SIZE_gt] = ">",  [SIZE_ge] = ">=",
    };
    return texts[op];
}

SizeOp size_op_not(SizeOp op)
{
    static const SizeOp opposites[] = {
        [SIZE_eq] = SIZE_ne, [SIZE_ne] = SIZE_eq, [SIZE_lt] = SIZE_ge,
        [SIZE_le] = SIZE_gt, [SIZE_gt] = SIZE_le, [SIZE_ge] = SIZE_lt,
    };
    return opposites[op];
}

bool size_op_holds(SizeOp op, int64_t x, int64_t y)
{
    switch (op) {
    case SIZE_eq: return x == y;
    case SIZE_ne: return x != y;
    case SIZE_lt: return x < y;
    case SIZE_le: return x <= y;
    case SIZE_gt: return x > y;
    case SIZE_ge: return x >= y;
    }
    return false;
}

// ---- intervals ----
// What does not fit 64 bits makes an interval `anything`: true, if not tight.

static bool is_infinite(int64_t n) { return n == SIZE_INF || n <= -SIZE_INF; }

// What does not fit is as good as infinite: corners only bound.
static int64_t multiply(int64_t x, int64_t y)
{
    int64_t product = 0;
    if (x == 0 || y == 0) {
        return 0;
    }
    if (is_infinite(x) || is_infinite(y) || __builtin_mul_overflow(x, y, &product)) {
        return (x < 0) == (y < 0) ? SIZE_INF : -SIZE_INF;
    }
    return product;
}

static Interval interval_mul(Interval x, Interval y)
{
    const int64_t corners[] = {multiply(x.low, y.low), multiply(x.low, y.high),
                               multiply(x.high, y.low), multiply(x.high, y.high)};
    Interval product = {corners[0], corners[0]};
    for (size_t i = 1; i < sizeof corners / sizeof *corners; i++) {
        product.low = corners[i] < product.low ? corners[i] : product.low;
        product.high = corners[i] > product.high ? corners[i] : product.high;
    }
    // The infinities mean that there is no bound, which they must not say on the other side.
    product.low = product.low == SIZE_INF ? SIZE_INF - 1 : product.low;
    product.high = product.high <= -SIZE_INF ? 1 - SIZE_INF : product.high;
    return product;
}

static Interval interval_add(Interval x, Interval y)
{
    Interval sum = anything;
    if (is_infinite(x.low) || is_infinite(y.low) ||
        __builtin_add_overflow(x.low, y.low, &sum.low) || is_infinite(sum.low)) {
        sum.low = -SIZE_INF;
    }
    if (is_infinite(x.high) || is_infinite(y.high) ||
        __builtin_add_overflow(x.high, y.high, &sum.high) || is_infinite(sum.high)) {
        sum.high = SIZE_INF;
    }
    return sum;
}

static Interval interval_and(Interval x, Interval y)
{
    return (Interval){x.low > y.low ? x.low : y.low, x.high < y.high ? x.high : y.high};
}

// ---- bounds ----

// One question: its scratch memory, and how much work it may still do. The answer to what runs out
// of work is `anything`; no size that somebody means comes near it.
typedef struct Query {
    const SizeFacts *facts;
    Arena *arena;
    size_t steps;
} Query;

enum { MOST_STEPS = 20000 };

static Interval bounds(Query *query, const Size *x);

static Interval atom_bound(Query *query, const SizeAtom *atom)
{
    if (!atom->top) {
        return symbol_bound(query->facts, atom->symbol);
    }
    Interval top = bounds(query, atom->top);
    return (Interval){is_infinite(top.low) ? top.low : int_floor_div(top.low, atom->by),
                      is_infinite(top.high) ? top.high : int_floor_div(top.high, atom->by)};
}

// By interval arithmetic, each atom for itself.
static Interval interval_of(Query *query, const Size *x)
{
    Interval sum = {0, 0};
    for (size_t i = 0; i < x->nterms; i++) {
        if (is_infinite(x->terms[i].factor)) {
            return anything;
        }
        Interval term = {x->terms[i].factor, x->terms[i].factor};
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            if (query->steps == 0) {
                return anything;
            }
            query->steps--;
            term = interval_mul(term, atom_bound(query, x->terms[i].atoms[j]));
        }
        sum = interval_add(sum, term);
    }
    return sum;
}

// A size over a positive number, without a floor: top / by.
typedef struct Ratio {
    const Size *top; // NULL: it does not fit
    int64_t by;
} Ratio;

static Ratio ratio_add(Arena *a, Ratio x, Ratio y)
{
    int64_t g = int_gcd(x.by, y.by);
    Ratio sum = {NULL, 1};
    if (__builtin_mul_overflow(x.by, y.by / g, &sum.by)) {
        return (Ratio){NULL, 1};
    }
    sum.top = size_add(a, size_scale(a, x.top, y.by / g), size_scale(a, y.top, x.by / g));
    return sum;
}

// What x cannot be above (below, if not `up`), as a ratio: floors that are terms of their own are
// replaced by the end of (p - d + 1) / d … p / d that lies on that side.
static Ratio relax(Query *query, const Size *x, bool up)
{
    Arena *a = query->arena;
    Ratio sum = {size_int(a, 0), 1};
    for (size_t i = 0; i < x->nterms && sum.top; i++) {
        const SizeTerm *term = &x->terms[i];
        Ratio part = {size_int(a, term->factor), 1};
        if (term->natoms == 1 && term->atoms[0]->top) {
            const SizeAtom *atom = term->atoms[0];
            bool above = up == (term->factor > 0);
            part = relax(query, atom->top, above);
            if (!above) {
                part = ratio_add(a, part, (Ratio){size_int(a, 1 - atom->by), 1});
            }
            part.top = size_scale(a, part.top, term->factor);
            if (__builtin_mul_overflow(part.by, atom->by, &part.by)) {
                return (Ratio){NULL, 1};
            }
        } else {
            SizeTerm *copy = arena_new(a, SizeTerm, 1);
            *copy = *term;
            Size *one = arena_new(a, Size, 1);
            *one = (Size){.nterms = 1, .terms = copy, .weight = x->weight, .depth = x->depth};
            part.top = one;
        }
        sum = ratio_add(a, sum, part);
    }
    return sum;
}

static bool has_floor_term(const Size *x)
{
    for (size_t i = 0; i < x->nterms; i++) {
        if (x->terms[i].natoms == 1 && x->terms[i].atoms[0]->top) {
            return true;
        }
    }
    return false;
}

static Interval bounds(Query *query, const Size *x)
{
    Interval found = interval_of(query, x);
    if (!has_floor_term(x)) {
        return found;
    }
    Ratio below = relax(query, x, false);
    if (below.top) {
        int64_t low = interval_of(query, below.top).low;
        low = is_infinite(low) ? low : int_ceil_div(low, below.by);
        found.low = low > found.low ? low : found.low;
    }
    Ratio above = relax(query, x, true);
    if (above.top) {
        int64_t high = interval_of(query, above.top).high;
        high = is_infinite(high) ? high : int_floor_div(high, above.by);
        found.high = high < found.high ? high : found.high;
    }
    return found;
}

// x with the equalities put in; parts stand for quotients.
static const Size *put_in(Arena *a, const Size *x, const SizeFacts *facts)
{
    return facts ? size_replace(a, x, facts->equals.items, facts->equals.n) : x;
}

// Bounds of x as it stands and with the equalities put in: both hold.
static Interval bounds_both(Arena *a, const Size *x, const SizeFacts *facts)
{
    Query query = {.facts = facts, .arena = a, .steps = MOST_STEPS};
    Interval found = bounds(&query, x);
    if (facts && facts->equals.n > 0) {
        const Size *reduced = put_in(a, x, facts);
        if (reduced) {
            query.steps = MOST_STEPS;
            found = interval_and(found, bounds(&query, reduced));
        }
    }
    return found;
}

// Bounds of x - y.
static Interval bounds_apart(const Size *x, const Size *y, const SizeFacts *facts)
{
    Arena *a = facts ? facts->arena : arena_create();
    ArenaMark mark = arena_mark(a);
    const Size *apart = size_sub(a, x, y);
    Interval found = apart ? bounds_both(a, apart, facts) : anything;
    arena_reset(a, mark);
    if (!facts) {
        arena_destroy(a);
    }
    return found;
}

void size_bounds(const Size *x, const SizeFacts *facts, int64_t *low, int64_t *high)
{
    static const Size zero = {0};
    Interval found = bounds_apart(x, &zero, facts);
    *low = found.low;
    *high = found.high;
}

static Truth truth(bool yes, bool no) { return yes ? TRUTH_yes : no ? TRUTH_no : TRUTH_unknown; }

Truth size_compare(SizeOp op, const Size *x, const Size *y, const SizeFacts *facts)
{
    Interval apart = bounds_apart(x, y, facts);
    bool equal = apart.low == 0 && apart.high == 0;
    bool above = apart.low > 0;
    bool below = apart.high < 0;
    switch (op) {
    case SIZE_eq: return truth(equal, above || below);
    case SIZE_ne: return truth(above || below, equal);
    case SIZE_lt: return truth(below, apart.low >= 0);
    case SIZE_le: return truth(apart.high <= 0, above);
    case SIZE_gt: return truth(above, apart.high <= 0);
    case SIZE_ge: return truth(apart.low >= 0, below);
    }
    return TRUTH_unknown;
}

// ---- putting quotients back ----

static const Size *restore_part(Arena *a, const Size *x, const Part *part)
{
    const Size *sum = size_int(a, 0);
    for (size_t i = 0; i < x->nterms; i++) {
        int64_t factor = x->terms[i].factor;
        const Size *product = size_int(a, 1);
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            const SizeAtom *atom = x->terms[i].atoms[j];
            const Size *value = NULL;
            if (atom->top) {
                const Size *top = restore_part(a, atom->top, part);
                value = size_div(a, top, atom->by);
            } else if (!str_equal(atom->symbol, part->name)) {
                value = size_symbol(a, atom->symbol);
            } else if (factor % part->by == 0) {
                factor /= part->by;
                value = part->top;
            } else {
                value = size_div(a, part->top, part->by);
            }
            product = size_mul(a, product, value);
        }
        sum = size_add(a, sum, size_scale(a, product, factor));
        if (!sum) {
            return NULL;
        }
    }
    return sum;
}

const Size *size_simplify(Arena *a, const Size *x, const SizeFacts *facts)
{
    const Size *simple = put_in(a, x, facts);
    for (size_t i = facts ? facts->parts.n : 0; i > 0 && simple; i--) {
        simple = restore_part(a, simple, &facts->parts.items[i - 1]);
    }
    return simple;
}

// ---- declaring ----

// d >= edge, where d has one atom, a symbol or a floor of what has one again: narrows the symbol's
// bounds.
static void at_least(SizeFacts *facts, const Size *d, int64_t edge)
{
    Arena *a = facts->arena;
    if (!d || d->nterms == 0 || d->nterms > 2 || d->terms[0].natoms != 1 ||
        (d->nterms == 2 && d->terms[1].natoms != 0)) {
        return;
    }
    int64_t constant = d->nterms == 2 ? d->terms[1].factor : 0;
    int64_t factor = d->terms[0].factor; // factor * atom >= edge - constant
    if (__builtin_sub_overflow(edge, constant, &edge) || is_infinite(edge) || is_infinite(factor)) {
        return;
    }
    bool is_low = factor > 0;
    int64_t bound = is_low ? int_ceil_div(edge, factor) : int_floor_div(-edge, -factor);
    const SizeAtom *atom = d->terms[0].atoms[0];
    if (!atom->top) {
        Interval known = symbol_bound(facts, atom->symbol);
        Interval more = is_low ? (Interval){bound, SIZE_INF} : (Interval){-SIZE_INF, bound};
        known = interval_and(known, more);
        size_facts_bound(facts, atom->symbol, known.low, known.high);
        return;
    }
    // floor(p / d) >= n where p >= n d;  floor(p / d) <= n where p <= n d + d - 1
    int64_t top = 0;
    if (__builtin_mul_overflow(bound, atom->by, &top)) {
        return;
    }
    if (is_low) {
        at_least(facts, atom->top, top);
    } else if (!__builtin_add_overflow(top, atom->by - 1, &top) && !is_infinite(top)) {
        at_least(facts, size_scale(a, atom->top, -1), -top);
    }
}

static bool has_symbol(const Size *x, Str name)
{
    for (size_t i = 0; i < x->nterms; i++) {
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            const SizeAtom *atom = x->terms[i].atoms[j];
            if (atom->top ? has_symbol(atom->top, name) : str_equal(atom->symbol, name)) {
                return true;
            }
        }
    }
    return false;
}

// Replaces the symbol everywhere from here on. False if a value known already would not fit then.
static bool put(SizeFacts *facts, Str name, const Size *value)
{
    SizeSubst subst = {.name = name, .size = value};
    VEC(SizeSubst) equals = {0};
    for (size_t i = 0; i < facts->equals.n; i++) {
        SizeSubst old = facts->equals.items[i];
        old.size = size_replace(facts->arena, old.size, &subst, 1);
        if (!old.size) {
            return false;
        }
        vec_push(facts->arena, &equals, old);
    }
    vec_push(facts->arena, &equals, subst);
    facts->equals.items = equals.items;
    facts->equals.n = equals.n;
    facts->equals.cap = equals.cap;
    return true;
}

// Takes d == 0 as giving the symbol of one term, ±x + the rest == 0. False if it does not.
static bool define_symbol(SizeFacts *facts, const Size *d, const SizeTerm *term)
{
    Arena *a = facts->arena;
    if (term->natoms != 1 || term->atoms[0]->top || (term->factor != 1 && term->factor != -1)) {
        return false;
    }
    Str name = term->atoms[0]->symbol;
    const Size *rest = size_sub(a, d, size_scale(a, size_symbol(a, name), term->factor));
    const Size *value = size_scale(a, rest, -term->factor);
    if (!value || has_symbol(value, name) || !put(facts, name, value)) {
        return false;
    }
    Interval known = symbol_bound(facts, name); // holds for what the symbol equals too
    if (!is_infinite(known.low)) {
        at_least(facts, value, known.low);
    }
    if (!is_infinite(known.high)) {
        at_least(facts, size_scale(a, value, -1), -known.high);
    }
    return true;
}

// Takes d == 0 as giving a symbol, one of `among` unless that is NULL. False if it gives none.
static bool define(SizeFacts *facts, const Size *d, const Size *among)
{
    for (size_t i = 0; i < d->nterms; i++) {
        const SizeTerm *term = &d->terms[i];
        bool is_asked = !among || (term->natoms == 1 && !term->atoms[0]->top &&
                                   has_symbol(among, term->atoms[0]->symbol));
        if (is_asked && define_symbol(facts, d, term)) {
            return true;
        }
    }
    return false;
}

// Takes d == 0 as saying that p is a multiple of k: p - k floor(p / k) == 0. False if it does not
// say that.
static bool define_part(SizeFacts *facts, const Size *d)
{
    Arena *a = facts->arena;
    for (size_t i = 0; i < d->nterms; i++) {
        if (d->terms[i].natoms != 1 || !d->terms[i].atoms[0]->top) {
            continue;
        }
        const SizeAtom *atom = d->terms[i].atoms[0];
        const Size *quotient = size_div(a, atom->top, atom->by);
        const Size *remainder = size_mod(a, atom->top, atom->by);
        if (!size_equal(d, remainder) && !size_equal(d, size_scale(a, remainder, -1))) {
            continue;
        }
        Part part = {.name = size_text(a, quotient), .top = atom->top, .by = atom->by};
        int64_t low = 0;
        int64_t high = 0;
        size_bounds(quotient, facts, &low, &high);
        size_facts_bound(facts, part.name, low, high);
        const Size *multiple = size_scale(a, size_symbol(a, part.name), part.by);
        const Size *equation = size_sub(a, part.top, multiple);
        if (equation && define(facts, equation, NULL)) {
            vec_push(a, &facts->parts, part);
            return true;
        }
    }
    return false;
}

// d divided by what all its factors have in common.
static const Size *primitive(Arena *a, const Size *d)
{
    int64_t common = 0;
    for (size_t i = 0; i < d->nterms; i++) {
        if (d->terms[i].factor == INT64_MIN) {
            return d;
        }
        common = int_gcd(common, d->terms[i].factor);
    }
    return common > 1 ? size_exact_div(a, d, size_int(a, common)) : d;
}

// x == y, and d their difference. The left side's symbols are the first to go: `seq == 2 * n` tells
// what seq is.
static void declare_equal(SizeFacts *facts, const Size *x, const Size *d)
{
    const Size *left = put_in(facts->arena, x, facts);
    const Size *reduced = put_in(facts->arena, d, facts);
    if (!left || !reduced) {
        return;
    }
    reduced = primitive(facts->arena, reduced);
    if (!define_part(facts, reduced) && !define(facts, reduced, left) &&
        !define(facts, reduced, NULL)) {
        at_least(facts, reduced, 0);
        at_least(facts, size_scale(facts->arena, reduced, -1), 0);
    }
    at_least(facts, d, 0);
    at_least(facts, size_scale(facts->arena, d, -1), 0);
}

void size_declare(SizeFacts *facts, SizeOp op, const Size *x, const Size *y)
{
    bool is_below = op == SIZE_lt || op == SIZE_le;
    const Size *d = is_below ? size_sub(facts->arena, y, x) : size_sub(facts->arena, x, y);
    if (!d || op == SIZE_ne) {
        return;
    }
    if (op == SIZE_eq) {
        declare_equal(facts, x, d);
        return;
    }
    int64_t edge = op == SIZE_lt || op == SIZE_gt ? 1 : 0;
    at_least(facts, d, edge);
    at_least(facts, put_in(facts->arena, d, facts), edge);
}
