// Sizes: the normal form, its arithmetic, values and text.
//
// Two sizes are equal as functions of their symbols wherever the rules here can see it, because
// every operation brings its result to one form: terms sorted by degree and then by their atoms, no
// zero factors, floors only of what is left after whole multiples of the divisor came out.
#include "base/size.h"

#include "base/ints.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHT = 4096, MOST_DEPTH = 64 };

// ---- order ----

static int compare_sizes(const Size *x, const Size *y);

static int compare_ints(int64_t x, int64_t y) { return (x > y) - (x < y); }

// Symbols by name, before floors.
static int compare_atoms(const SizeAtom *x, const SizeAtom *y)
{
    if (x == y) {
        return 0;
    }
    if (!x->top || !y->top) {
        return !x->top && !y->top ? str_compare(x->symbol, y->symbol) : x->top ? 1 : -1;
    }
    int order = compare_sizes(x->top, y->top);
    return order != 0 ? order : compare_ints(x->by, y->by);
}

// Higher degree first. Multiplying two monomials by a third keeps their order: size_exact_div
// depends on that.
static int compare_monomials(const SizeTerm *x, const SizeTerm *y)
{
    if (x->natoms != y->natoms) {
        return x->natoms > y->natoms ? -1 : 1;
    }
    for (size_t i = 0; i < x->natoms; i++) {
        int order = compare_atoms(x->atoms[i], y->atoms[i]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static int compare_sizes(const Size *x, const Size *y)
{
    if (x == y) {
        return 0;
    }
    for (size_t i = 0; i < x->nterms && i < y->nterms; i++) {
        int order = compare_monomials(&x->terms[i], &y->terms[i]);
        order = order != 0 ? order : compare_ints(x->terms[i].factor, y->terms[i].factor);
        if (order != 0) {
            return order;
        }
    }
    return (x->nterms > y->nterms) - (x->nterms < y->nterms);
}

static int compare_terms(const void *x, const void *y) { return compare_monomials(x, y); }

// ---- making ----

// A size of terms that are sorted, different and not zero. Takes `terms` over.
static const Size *make(Arena *a, SizeTerm *terms, size_t n)
{
    size_t weight = 0;
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        weight += 1 + terms[i].natoms;
        for (size_t j = 0; j < terms[i].natoms && weight <= MOST_WEIGHT; j++) {
            const Size *top = terms[i].atoms[j]->top;
            if (top) {
                weight += top->weight;
                depth = depth > top->depth + 1 ? depth : top->depth + 1;
            }
        }
        if (weight > MOST_WEIGHT || depth > MOST_DEPTH) {
            return NULL;
        }
    }
    Size *size = arena_new(a, Size, 1);
    *size = (Size){.nterms = n, .terms = terms, .weight = weight, .depth = depth};
    return size;
}

// A size of terms in any order, repeats allowed.
static const Size *make_sorted(Arena *a, SizeTerm *terms, size_t n)
{
    if (n > 1) {
        qsort(terms, n, sizeof *terms, compare_terms);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        SizeTerm sum = terms[i];
        for (i++; i < n && compare_monomials(&sum, &terms[i]) == 0; i++) {
            if (__builtin_add_overflow(sum.factor, terms[i].factor, &sum.factor)) {
                return NULL;
            }
        }
        if (sum.factor != 0) {
            terms[kept] = sum;
            kept++;
        }
    }
    return make(a, terms, kept);
}

static const Size *one_atom(Arena *a, SizeAtom atom)
{
    SizeAtom *copy = arena_new(a, SizeAtom, 1);
    *copy = atom;
    const SizeAtom **atoms = arena_new(a, const SizeAtom *, 1);
    atoms[0] = copy;
    SizeTerm *term = arena_new(a, SizeTerm, 1);
    *term = (SizeTerm){.factor = 1, .natoms = 1, .atoms = atoms};
    return make(a, term, 1);
}

const Size *size_int(Arena *a, int64_t n)
{
    SizeTerm *term = arena_new(a, SizeTerm, 1);
    term->factor = n;
    return make(a, term, n == 0 ? 0 : 1);
}

const Size *size_symbol(Arena *a, Str name) { return one_atom(a, (SizeAtom){.symbol = name}); }

// ---- arithmetic ----

// x + y, or x - y: a merge of two sorted lists.
static const Size *combine(Arena *a, const Size *x, const Size *y, bool minus)
{
    if (!x || !y) {
        return NULL;
    }
    SizeTerm *terms = arena_new(a, SizeTerm, x->nterms + y->nterms);
    size_t n = 0;
    for (size_t i = 0, j = 0; i < x->nterms || j < y->nterms;) {
        int order = i == x->nterms   ? 1
                    : j == y->nterms ? -1
                                     : compare_monomials(&x->terms[i], &y->terms[j]);
        SizeTerm term = order <= 0 ? x->terms[i] : y->terms[j];
        int64_t left = order <= 0 ? x->terms[i].factor : 0;
        int64_t right = order >= 0 ? y->terms[j].factor : 0;
        if (minus ? __builtin_sub_overflow(left, right, &term.factor)
                  : __builtin_add_overflow(left, right, &term.factor)) {
            return NULL;
        }
        i += order <= 0;
        j += order >= 0;
        if (term.factor != 0) {
            terms[n] = term;
            n++;
        }
    }
    return make(a, terms, n);
}

const Size *size_add(Arena *a, const Size *x, const Size *y) { return combine(a, x, y, false); }

const Size *size_sub(Arena *a, const Size *x, const Size *y) { return combine(a, x, y, true); }

static bool multiply_terms(Arena *a, const SizeTerm *x, const SizeTerm *y, SizeTerm *out)
{
    if (__builtin_mul_overflow(x->factor, y->factor, &out->factor)) {
        return false;
    }
    out->natoms = x->natoms + y->natoms;
    if (x->natoms == 0 || y->natoms == 0) {
        out->atoms = x->natoms == 0 ? y->atoms : x->atoms;
        return true;
    }
    out->atoms = arena_new(a, const SizeAtom *, out->natoms);
    for (size_t i = 0, j = 0; i + j < out->natoms;) {
        bool left =
            j == y->natoms || (i < x->natoms && compare_atoms(x->atoms[i], y->atoms[j]) <= 0);
        out->atoms[i + j] = left ? x->atoms[i] : y->atoms[j];
        i += left;
        j += !left;
    }
    return true;
}

const Size *size_mul(Arena *a, const Size *x, const Size *y)
{
    if (!x || !y) {
        return NULL;
    }
    // So many products make too heavy a size anyhow, unless almost all of them cancelled.
    if (x->nterms * y->nterms > (size_t)4 * MOST_WEIGHT) {
        return NULL;
    }
    SizeTerm *terms = arena_new(a, SizeTerm, x->nterms * y->nterms);
    size_t n = 0;
    for (size_t i = 0; i < x->nterms; i++) {
        for (size_t j = 0; j < y->nterms; j++, n++) {
            if (!multiply_terms(a, &x->terms[i], &y->terms[j], &terms[n])) {
                return NULL;
            }
        }
    }
    return make_sorted(a, terms, n);
}

const Size *size_scale(Arena *a, const Size *x, int64_t k)
{
    return size_mul(a, x, size_int(a, k));
}

// floor(x / d) where every factor of x lies in 0 … d-1, and not all terms are constant.
static const Size *divide_rest(Arena *a, const Size *x, int64_t d)
{
    size_t nlinear = x->nterms - (x->terms[x->nterms - 1].natoms == 0);
    int64_t constant = nlinear < x->nterms ? x->terms[nlinear].factor : 0;
    int64_t common = d;
    for (size_t i = 0; i < nlinear; i++) {
        common = int_gcd(common, x->terms[i].factor);
    }
    if (common > 1) { // floor((g p + c) / (g e)) is floor((p + floor(c / g)) / e)
        SizeTerm *terms = arena_new(a, SizeTerm, x->nterms);
        for (size_t i = 0; i < x->nterms; i++) {
            terms[i] = x->terms[i];
            terms[i].factor /= common;
        }
        bool has_constant = nlinear < x->nterms && constant >= common;
        return size_div(a, make(a, terms, nlinear + has_constant), d / common);
    }
    const SizeTerm *first = &x->terms[0];
    if (nlinear == 1 && first->factor == 1 && first->natoms == 1 && first->atoms[0]->top) {
        // floor((floor(p / e) + c) / d) is floor((p + c e) / (d e))
        const SizeAtom *inner = first->atoms[0];
        int64_t shift = 0;
        int64_t by = 0;
        if (__builtin_mul_overflow(constant, inner->by, &shift) ||
            __builtin_mul_overflow(d, inner->by, &by)) {
            return NULL;
        }
        return size_div(a, size_add(a, inner->top, size_int(a, shift)), by);
    }
    return one_atom(a, (SizeAtom){.top = x, .by = d});
}

// x is d times `whole`, plus `rest`, whose factors lie in 0 … d-1. NULLs where they do not fit.
typedef struct Split {
    const Size *whole;
    const Size *rest;
} Split;

static Split split(Arena *a, const Size *x, int64_t d)
{
    if (!x || d <= 0) {
        return (Split){NULL, NULL};
    }
    SizeTerm *whole = arena_new(a, SizeTerm, x->nterms);
    SizeTerm *rest = arena_new(a, SizeTerm, x->nterms);
    size_t nwhole = 0;
    size_t nrest = 0;
    for (size_t i = 0; i < x->nterms; i++) {
        SizeTerm term = x->terms[i];
        int64_t below = term.factor % d;
        term.factor = int_floor_div(term.factor, d);
        if (term.factor != 0) {
            whole[nwhole] = term;
            nwhole++;
        }
        term.factor = below < 0 ? below + d : below;
        if (term.factor != 0) {
            rest[nrest] = term;
            nrest++;
        }
    }
    return (Split){make(a, whole, nwhole), make(a, rest, nrest)};
}

const Size *size_div(Arena *a, const Size *x, int64_t d)
{
    Split parts = split(a, x, d);
    if (!parts.rest || !size_has_symbols(parts.rest)) { // a constant below d is nothing
        return parts.rest ? parts.whole : NULL;
    }
    return size_add(a, parts.whole, divide_rest(a, parts.rest, d));
}

const Size *size_mod(Arena *a, const Size *x, int64_t d)
{
    const Size *rest = split(a, x, d).rest;
    return size_sub(a, rest, size_scale(a, size_div(a, rest, d), d));
}

const Size *size_product(Arena *a, const Size *const *sizes, size_t n)
{
    const Size *product = size_int(a, 1);
    for (size_t i = 0; i < n; i++) {
        product = size_mul(a, product, sizes[i]);
    }
    return product;
}

const Size *size_sum(Arena *a, const Size *const *sizes, size_t n)
{
    const Size *sum = size_int(a, 0);
    for (size_t i = 0; i < n; i++) {
        sum = size_add(a, sum, sizes[i]);
    }
    return sum;
}

// x / y for single terms.
static bool divide_term(Arena *a, const SizeTerm *x, const SizeTerm *y, SizeTerm *out)
{
    // The one quotient that does not fit is INT64_MIN / -1; its remainder is no value either.
    if (x->natoms < y->natoms || (y->factor == -1 && x->factor == INT64_MIN) ||
        x->factor % y->factor != 0) {
        return false;
    }
    *out = (SizeTerm){.factor = x->factor / y->factor};
    out->atoms = arena_new(a, const SizeAtom *, x->natoms);
    size_t taken = 0;
    for (size_t i = 0; i < x->natoms; i++) {
        if (taken < y->natoms && compare_atoms(x->atoms[i], y->atoms[taken]) == 0) {
            taken++;
        } else {
            out->atoms[out->natoms] = x->atoms[i];
            out->natoms++;
        }
    }
    return taken == y->natoms;
}

const Size *size_exact_div(Arena *a, const Size *x, const Size *y)
{
    if (!x || !y || y->nterms == 0) {
        return NULL;
    }
    // Long division: the first term of what is left must be a multiple of y's first.
    const Size *quotient = size_int(a, 0);
    while (x && x->nterms > 0 && quotient) {
        SizeTerm *term = arena_new(a, SizeTerm, 1);
        if (!divide_term(a, &x->terms[0], &y->terms[0], term)) {
            return NULL;
        }
        const Size *part = make(a, term, 1);
        quotient = size_add(a, quotient, part);
        x = size_sub(a, x, size_mul(a, part, y));
    }
    return x ? quotient : NULL;
}

// ---- questions ----

bool size_is_int(const Size *x, int64_t *out)
{
    if (!x || size_has_symbols(x)) {
        return false;
    }
    if (out) {
        *out = x->nterms == 0 ? 0 : x->terms[0].factor;
    }
    return true;
}

bool size_is(const Size *x, int64_t n)
{
    int64_t value = 0;
    return size_is_int(x, &value) && value == n;
}

bool size_is_symbol(const Size *x, Str *name)
{
    bool is_one = x && x->nterms == 1 && x->terms[0].factor == 1 && x->terms[0].natoms == 1 &&
                  !x->terms[0].atoms[0]->top;
    if (is_one && name) {
        *name = x->terms[0].atoms[0]->symbol;
    }
    return is_one;
}

bool size_equal(const Size *x, const Size *y) { return x && y && compare_sizes(x, y) == 0; }

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) + 0x9e3779b97f4a7c15U;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    return hash ^ (hash >> 27);
}

uint64_t size_hash(const Size *x)
{
    if (!x) {
        return 0;
    }
    uint64_t hash = x->nterms;
    for (size_t i = 0; i < x->nterms; i++) {
        const SizeTerm *term = &x->terms[i];
        hash = mix(mix(hash, (uint64_t)term->factor), term->natoms);
        for (size_t j = 0; j < term->natoms; j++) {
            const SizeAtom *atom = term->atoms[j];
            hash = mix(hash, atom->top ? size_hash(atom->top) : str_hash(atom->symbol));
            hash = mix(hash, atom->top ? (uint64_t)atom->by : 0);
        }
    }
    return hash;
}

void size_symbols(const Size *x, void (*visit)(void *ctx, Str name), void *ctx)
{
    for (size_t i = 0; x && i < x->nterms; i++) {
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            const SizeAtom *atom = x->terms[i].atoms[j];
            if (atom->top) {
                size_symbols(atom->top, visit, ctx);
            } else {
                visit(ctx, atom->symbol);
            }
        }
    }
}

bool size_has_symbols(const Size *x) { return x && x->nterms > 0 && x->terms[0].natoms > 0; }

// ---- text ----

// `p / d`, with p in parentheses unless it is one symbol.
static void print_floor(Buf *buf, const SizeAtom *atom)
{
    const Size *top = atom->top;
    bool is_symbol = size_is_symbol(top, NULL);
    if (!is_symbol) {
        buf_char(buf, '(');
    }
    size_print(buf, top);
    if (!is_symbol) {
        buf_char(buf, ')');
    }
    buf_format(buf, " / %lld", (long long)atom->by);
}

// The term without its sign. A floor stands in parentheses where it is not all there is: `2 * (seq
// / 4)` is not `2 * seq / 4`.
static void print_term(Buf *buf, const SizeTerm *term, bool has_minus)
{
    uint64_t factor = term->factor < 0 ? -(uint64_t)term->factor : (uint64_t)term->factor;
    bool has_factor = factor != 1 || term->natoms == 0;
    if (has_factor) {
        buf_format(buf, "%llu", (unsigned long long)factor);
    }
    bool is_alone = !has_factor && term->natoms == 1 && !has_minus;
    for (size_t i = 0; i < term->natoms; i++) {
        const SizeAtom *atom = term->atoms[i];
        if (has_factor || i > 0) {
            buf_add(buf, STR(" * "));
        }
        if (!atom->top) {
            buf_add(buf, atom->symbol);
        } else if (is_alone) {
            print_floor(buf, atom);
        } else {
            buf_char(buf, '(');
            print_floor(buf, atom);
            buf_char(buf, ')');
        }
    }
}

void size_print(Buf *buf, const Size *x)
{
    if (!x) {
        buf_char(buf, '?');
        return;
    }
    if (x->nterms == 0) {
        buf_char(buf, '0');
    }
    for (size_t i = 0; i < x->nterms; i++) {
        bool is_negative = x->terms[i].factor < 0;
        if (i > 0) {
            buf_add(buf, is_negative ? STR(" - ") : STR(" + "));
        } else if (is_negative) {
            buf_char(buf, '-');
        }
        print_term(buf, &x->terms[i], is_negative && i == 0);
    }
}

Str size_text(Arena *a, const Size *x)
{
    Buf buf = {.arena = a};
    size_print(&buf, x);
    return buf_str(&buf);
}

// ---- values ----

static bool atom_value(const SizeAtom *atom, const SizeBinding *bindings, size_t n, int64_t *out)
{
    if (atom->top) {
        int64_t top = 0;
        if (!size_value(atom->top, bindings, n, &top)) {
            return false;
        }
        *out = int_floor_div(top, atom->by);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (str_equal(bindings[i].name, atom->symbol)) {
            *out = bindings[i].value;
            return true;
        }
    }
    return false;
}

bool size_value(const Size *x, const SizeBinding *bindings, size_t n, int64_t *out)
{
    if (!x) {
        return false;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < x->nterms; i++) {
        int64_t product = x->terms[i].factor;
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            int64_t value = 0;
            if (!atom_value(x->terms[i].atoms[j], bindings, n, &value) ||
                __builtin_mul_overflow(product, value, &product)) {
                return false;
            }
        }
        if (__builtin_add_overflow(sum, product, &sum)) {
            return false;
        }
    }
    *out = sum;
    return true;
}

static const Size *replace_atom(Arena *a, const SizeAtom *atom, const SizeSubst *table, size_t n)
{
    if (atom->top) {
        return size_div(a, size_replace(a, atom->top, table, n), atom->by);
    }
    for (size_t i = 0; i < n; i++) {
        if (str_equal(table[i].name, atom->symbol)) {
            return table[i].size;
        }
    }
    return one_atom(a, *atom);
}

const Size *size_replace(Arena *a, const Size *x, const SizeSubst *table, size_t n)
{
    if (!x || n == 0) {
        return x;
    }
    const Size *sum = size_int(a, 0);
    for (size_t i = 0; i < x->nterms; i++) {
        const Size *product = size_int(a, x->terms[i].factor);
        for (size_t j = 0; j < x->terms[i].natoms; j++) {
            product = size_mul(a, product, replace_atom(a, x->terms[i].atoms[j], table, n));
        }
        sum = size_add(a, sum, product);
    }
    return sum;
}
