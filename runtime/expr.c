// Integer expressions of the table: whether they are well formed, their value, their text.
#include "runtime/internal.h"

#include <string.h>

enum { STACK_DEPTH = 32, TEXT_BYTES = 128 };

bool sli_expr_ok(const SlAbiExpr *expr, uint32_t nsymbols)
{
    uint32_t depth = 0;
    if (expr->n > 0 && !expr->code)
        return false;
    for (uint64_t i = 0; i < expr->n; i++) {
        const SlAbiInst *inst = &expr->code[i];
        bool leaf = inst->op == SL_X_CONST || inst->op == SL_X_SYMBOL;
        if (inst->op > SL_X_DIV || depth < (leaf ? 0u : 2u))
            return false;
        if (inst->op == SL_X_SYMBOL && (inst->value < 0 || inst->value >= (int64_t)nsymbols))
            return false;
        depth = leaf ? depth + 1 : depth - 1;
        if (depth > STACK_DEPTH)
            return false;
    }
    return depth == 1;
}

static bool apply(uint32_t op, int64_t a, int64_t b, int64_t *value)
{
    if (op == SL_X_ADD)
        return !__builtin_add_overflow(a, b, value);
    if (op == SL_X_MUL)
        return !__builtin_mul_overflow(a, b, value);
    if (b <= 0)
        return false;
    *value = a / b - (a % b < 0);
    return true;
}

bool sli_eval(const SlAbiExpr *expr, const int64_t *symbols, int64_t *value)
{
    int64_t stack[STACK_DEPTH] = {0};
    uint32_t depth = 0;
    for (uint64_t i = 0; i < expr->n; i++) {
        const SlAbiInst *inst = &expr->code[i];
        if (inst->op == SL_X_CONST) {
            stack[depth++] = inst->value;
        } else if (inst->op == SL_X_SYMBOL) {
            stack[depth++] = symbols[inst->value];
        } else {
            depth--;
            if (!apply(inst->op, stack[depth - 1], stack[depth], &stack[depth - 1]))
                return false;
        }
    }
    *value = stack[0];
    return true;
}

int64_t sli_lone_symbol(const SlAbiExpr *expr)
{
    return expr->n == 1 && expr->code[0].op == SL_X_SYMBOL ? expr->code[0].value : -1;
}

// How tightly a text binds: a sum, a product or quotient, a single word.
enum { BINDS_SUM = 1, BINDS_PRODUCT = 2, BINDS_WORD = 3 };

// One value of the stack: its text goes from `begin` to where the next one's begins.
typedef struct Piece {
    size_t begin;
    uint32_t binds;
} Piece;

static bool insert(SliText *text, size_t at, const char *what)
{
    size_t n = strlen(what);
    if (text->used + n >= text->bytes)
        return false;
    memmove(text->at + at + n, text->at + at, text->used - at + 1);
    memcpy(text->at + at, what, n);
    text->used += n;
    return true;
}

static bool insert_around(SliText *text, size_t begin, size_t end)
{
    return insert(text, end, ")") && insert(text, begin, "(");
}

// Makes one piece of the last two: `right` is the text's end, `left` stands before it.
static bool join(SliText *text, uint32_t op, Piece *left, Piece right)
{
    uint32_t binds = op == SL_X_ADD ? BINDS_SUM : BINDS_PRODUCT;
    // Floor division: a*(b/c) is not a*b/c.
    if (binds == BINDS_PRODUCT && right.binds < BINDS_WORD &&
        !insert_around(text, right.begin, text->used))
        return false;
    const char *word = op == SL_X_ADD ? " + " : op == SL_X_MUL ? "*" : "/";
    if (op == SL_X_ADD && text->at[right.begin] == '-') {
        memmove(text->at + right.begin, text->at + right.begin + 1, text->used - right.begin);
        text->used--;
        word = " - ";
    }
    if (!insert(text, right.begin, word))
        return false;
    if (left->binds < binds && !insert_around(text, left->begin, right.begin))
        return false;
    left->binds = binds;
    return true;
}

static bool add_leaf(SliText *text, const SlAbiInst *inst, const SlAbiEntry *entry)
{
    char number[24];
    if (inst->op == SL_X_SYMBOL) {
        const SlAbiSymbol *symbol = sli_at(entry->symbols, (uint32_t)inst->value);
        return insert(text, text->used, symbol->name);
    }
    SliText digits = sli_text(number, sizeof number);
    sli_add(&digits, "%lld", (long long)inst->value);
    return insert(text, text->used, number);
}

void sli_add_expr(SliText *text, const SlAbiExpr *expr, const SlAbiEntry *entry)
{
    char buffer[TEXT_BYTES];
    SliText infix = sli_text(buffer, sizeof buffer);
    Piece stack[STACK_DEPTH] = {{0, 0}};
    uint32_t depth = 0;
    bool fits = true;
    for (uint64_t i = 0; i < expr->n && fits; i++) {
        const SlAbiInst *inst = &expr->code[i];
        if (inst->op == SL_X_CONST || inst->op == SL_X_SYMBOL) {
            stack[depth++] = (Piece){infix.used, BINDS_WORD};
            fits = add_leaf(&infix, inst, entry);
        } else {
            depth--;
            fits = join(&infix, inst->op, &stack[depth - 1], stack[depth]);
        }
    }
    sli_add(text, "%s", fits ? buffer : "...");
}

void sli_add_shape(SliText *text, const SlAbiIo *io, const SlAbiEntry *entry)
{
    sli_add(text, "[");
    for (uint32_t i = 0; i < io->rank; i++) {
        sli_add(text, i ? ", " : "");
        sli_add_expr(text, &io->shape[i], entry);
    }
    sli_add(text, "]");
}

SlStatus sli_eval_shape(const SlAbiIo *io, const int64_t *symbols, int64_t *shape, SlError *error)
{
    for (uint32_t i = 0; i < io->rank; i++) {
        if (!sli_eval(&io->shape[i], symbols, &shape[i]))
            return SL_FAIL(error, SL_E_OVERFLOW, "'%s': the size of axis %u overflows", io->name,
                           i);
        if (shape[i] < 1)
            return SL_FAIL(error, SL_E_SHAPE,
                           "'%s': the size of axis %u is %lld, at least 1 is needed", io->name, i,
                           (long long)shape[i]);
    }
    return SL_OK;
}

SlStatus sli_check_bounds(const SlAbiEntry *entry, const int64_t *symbols, SlError *error)
{
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        const SlAbiSymbol *symbol = sli_at(entry->symbols, i);
        if (symbols[i] >= symbol->low && symbols[i] <= symbol->high)
            continue;
        if (symbol->high == INT64_MAX)
            return SL_FAIL(error, SL_E_SYMBOL, "%s is %lld, at least %lld is allowed", symbol->name,
                           (long long)symbols[i], (long long)symbol->low);
        return SL_FAIL(error, SL_E_SYMBOL, "%s is %lld, %lld to %lld is allowed", symbol->name,
                       (long long)symbols[i], (long long)symbol->low, (long long)symbol->high);
    }
    return SL_OK;
}

SlStatus sli_check_symbols(const SlAbiEntry *entry, const int64_t *symbols, uint32_t nsymbols,
                           SlError *error)
{
    if (nsymbols != entry->nsymbols)
        return SL_FAIL(error, SL_E_COUNT, "entry '%s': expected %u symbols, got %u", entry->name,
                       entry->nsymbols, nsymbols);
    if (nsymbols > 0 && !symbols)
        return SL_FAIL(error, SL_E_ARGUMENT, "symbols is NULL");
    return sli_check_bounds(entry, symbols, error);
}

SlStatus sli_check_checks(const SlAbiEntry *entry, const int64_t *symbols, SlError *error)
{
    static const char *const words[] = {
        [SL_CHECK_EQ] = "==", [SL_CHECK_LE] = "<=", [SL_CHECK_LT] = "<", [SL_CHECK_NE] = "!="};
    for (uint32_t i = 0; i < entry->nchecks; i++) {
        const SlAbiCheck *check = sli_at(entry->checks, i);
        int64_t a;
        int64_t b;
        if (!sli_eval(&check->left, symbols, &a) || !sli_eval(&check->right, symbols, &b))
            return SL_FAIL(error, SL_E_OVERFLOW, "a size overflows in the check: %s", check->text);
        bool holds = check->op == SL_CHECK_EQ   ? a == b
                     : check->op == SL_CHECK_NE ? a != b
                     : check->op == SL_CHECK_LE ? a <= b
                                                : a < b;
        if (!holds)
            return SL_FAIL(error, SL_E_CHECK, "%s (%lld %s %lld does not hold)", check->text,
                           (long long)a, words[check->op], (long long)b);
    }
    return SL_OK;
}
