// Expressions. The left edge of an expression is walked by a loop, all else by recursion: the
// parser bounds both.
#include "front/elab.h"

#include "front/limits.h"

// ---- names ----

#define BINDINGS_PER_STEP 16 // looked through for a name
#define BYTES_PER_STEP    8  // of texts and paths

static Value eval_let(Elab *e, const Expr *x, const Unit *unit, Let *let)
{
    if (let->state == LET_running || e->ncalls >= LIMIT_CALLS) {
        return elab_error(e, let->item->name.at, "`%.*s` is defined %s", STR_ARG(x->name),
                          let->state == LET_running ? "by itself" : "by too many others");
    }
    if (let->state == LET_new) {
        let->state = LET_running;
        Str prefix = e->prefix;
        e->prefix = (Str){0};
        e->ncalls++;
        Scope scope = scope_new(e, unit, NULL);
        let->value = elab_eval(e, let->item->value, &scope);
        e->ncalls--;
        e->prefix = prefix;
        let->state = LET_done;
    }
    return let->value;
}

// Whether the statement binds `name`, which is used at `at`, further on.
static bool binds(const Stmt *stmt, Str name, Place at)
{
    Place end = stmt->kind == STMT_for     ? stmt->high->at
                : stmt->kind == STMT_param ? stmt->type->at
                                           : stmt->at;
    if (end.end > at.begin)
        return false;
    bool is_found =
        (stmt->kind == STMT_for || stmt->kind == STMT_param) && str_equal(stmt->name.text, name);
    for (size_t i = 0; i < stmt->names.n; i++)
        is_found = is_found || str_equal(stmt->names.items[i].text, name);
    return is_found;
}

// The innermost `for`, else `if`, inside of which `name` is bound before `at`; NULL if none is.
static const Stmt *bound_inside(const StmtList *body, Str name, Place at, const Stmt *around)
{
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *stmt = body->items[i];
        if (stmt->at.source != at.source || stmt->at.begin >= at.begin)
            break;
        bool is_loop = stmt->kind == STMT_for;
        if (binds(stmt, name, at) && (is_loop || around))
            return is_loop ? stmt : around;
        if (!is_loop && stmt->kind != STMT_if)
            continue;
        const Stmt *inner = is_loop || !around ? stmt : around;
        const Stmt *found = bound_inside(&stmt->body, name, at, inner);
        found = found ? found : bound_inside(&stmt->otherwise, name, at, inner);
        if (found)
            return found;
    }
    return NULL;
}

// Why a name that stands in the body is not known where it is used.
static Str ended_hint(Elab *e, const Expr *x)
{
    const Item *item = e->frame ? e->frame->function->item : NULL;
    const Stmt *around = item ? bound_inside(&item->body, x->name, x->at, NULL) : NULL;
    if (!around)
        return (Str){0};
    return around->kind == STMT_for
               ? str_format(e->perm, ": it ended with the `for` that binds it; bind `%.*s` before",
                            STR_ARG(x->name))
               : STR(": it is bound in a branch of an `if` that was not run");
}

static Value unknown_name(Elab *e, const Expr *x, const Scope *scope)
{
    Str ended = ended_hint(e, x);
    if (ended.len)
        return elab_error(e, x->at, "unknown name `%.*s`%.*s", STR_ARG(x->name), STR_ARG(ended));
    Names names = {0};
    for (size_t i = scope->base; i < e->bindings.n; i++)
        vec_push(e->perm, &names, e->bindings.items[i].name);
    program_names(e->program, scope->unit, &names);
    operation_names(e->perm, &names);
    return elab_error(e, x->at, "unknown name `%.*s`%.*s", STR_ARG(x->name),
                      STR_ARG(name_hint(e->perm, x->name, &names)));
}

static Value eval_name(Elab *e, const Expr *x, const Scope *scope)
{
    if (!elab_step(e, x->at, (e->bindings.n - scope->base) / BINDINGS_PER_STEP))
        return value_error();
    const Binding *binding = scope_find(e, scope, x->name);
    if (binding)
        return binding->value;
    Found found = program_find(e->program, scope->unit, x->name);
    if (found.item && found.item->kind == ITEM_let)
        return eval_let(e, x, found.unit, unit_let(found.unit, x->name));
    const Operation *operation = found.item ? NULL : operation_find(x->name);
    if (!found.item && !operation)
        return unknown_name(e, x, scope);
    Function *f = arena_new(e->perm, Function, 1);
    *f = (Function){x->name, found.item, found.unit, operation};
    return (Value){.kind = VALUE_function, .function = f};
}

// ---- fields ----

// Where one of A and E is not given, the other decides it.
static void note_read(Elab *e, const Layout *layout, LayoutTag tag)
{
    Str key = {(const char *)&layout, sizeof layout};
    LayoutUse *use = map_get(&e->layouts, key);
    if (!use) {
        use = arena_new(e->perm, LayoutUse, 1);
        *use = (LayoutUse){.layout = layout};
        key.ptr = (const char *)&use->layout;
        map_put(&e->layouts, key, use);
    }
    use->is_read[tag] = true;
    if (!layout->tags[tag] && tag == LAYOUT_A)
        use->is_read[LAYOUT_E] = true;
    if (!layout->tags[tag] && tag == LAYOUT_E)
        use->is_read[LAYOUT_A] = true;
}

static Value layout_field(Elab *e, const Expr *x, const Layout *layout)
{
    LayoutTag tag;
    if (str_equal(x->name, STR("groups"))) {
        Value *groups = arena_new(e->perm, Value, layout->ngroups);
        for (size_t i = 0; i < layout->ngroups; i++)
            groups[i] = (Value){.kind = VALUE_group, .group = &layout->groups[i]};
        return value_list(e->perm, groups, layout->ngroups);
    }
    if (str_equal(x->name, STR("text")))
        return value_text(layout->text);
    if (str_equal(x->name, STR("family")))
        return value_text((Str){&layout->family, 1});
    if (!layout_tag_from_name(x->name, &tag))
        return elab_error(e, x->at,
                          "a layout has no field `%.*s`: it has groups, text, family, H, F, A, E, "
                          "D, T and S",
                          STR_ARG(x->name));
    note_read(e, layout, tag);
    if (layout->sizes[tag] == 0 && (tag == LAYOUT_A || tag == LAYOUT_E)) {
        if (e->refused == layout) // once is enough
            return value_error();
        e->refused = layout;
        elab_error(e, layout->at, "layout %.*s: %.*s", STR_ARG(layout->text),
                   STR_ARG(layout_missing(e->perm, layout)));
        diag_note(e->dx, x->at, "`.%.*s` is read here", STR_ARG(x->name));
        return value_error();
    }
    return value_int(layout->sizes[tag]);
}

static Value eval_field(Elab *e, const Expr *x, Value base)
{
    if (base.kind == VALUE_layout)
        return layout_field(e, x, base.layout);
    if (base.kind == VALUE_group && str_equal(x->name, STR("layers")))
        return value_int(base.group->layers);
    if (base.kind == VALUE_group && str_equal(x->name, STR("repeats")))
        return value_int(base.group->repeats);
    if (base.kind == VALUE_tensor && str_equal(x->name, STR("shape"))) {
        const Type *type = &base.node->type;
        Value *sizes = arena_new(e->perm, Value, type->rank);
        for (size_t i = 0; i < type->rank; i++)
            sizes[i] = value_size(type->shape[i]);
        return value_list(e->perm, sizes, type->rank);
    }
    return elab_error(e, x->at, "%.*s has no field `%.*s`", STR_ARG(value_describe(e->perm, base)),
                      STR_ARG(x->name));
}

// ---- subscripts ----

// An integer in a list's subscript; `x` NULL: `absent`.
static bool list_position(Elab *e, const Expr *x, const Scope *scope, int64_t absent, int64_t *out)
{
    if (!x) {
        *out = absent;
        return true;
    }
    Value v = elab_simplify(e, elab_eval(e, x, scope));
    if (v.kind == VALUE_int) {
        *out = v.integer;
        return true;
    }
    if (v.kind != VALUE_error)
        elab_error(e, x->at, "a list is indexed by integers, not by %.*s",
                   STR_ARG(value_describe(e->perm, v)));
    return false;
}

static Value index_list(Elab *e, const Expr *x, const List *list, const Scope *scope)
{
    int64_t n = (int64_t)list->n;
    const Sub *sub = &x->subs.items[0];
    if (x->subs.n != 1 || sub->kind == SUBSCRIPT_new || sub->kind == SUBSCRIPT_rest)
        return elab_error(e, x->subs.n == 1 ? sub->at : x->at,
                          "a list is indexed by one integer or one slice");
    if (sub->step)
        return elab_error(e, sub->step->at, "a slice of a list has no step");
    int64_t start;
    int64_t stop = n;
    if (!list_position(e, sub->start, scope, 0, &start) ||
        !list_position(e, sub->stop, scope, n, &stop))
        return value_error();
    int64_t from = start < 0 ? start + n : start;
    if (sub->kind == SUBSCRIPT_slice)
        return list_slice(e->perm, list, from, stop < 0 ? stop + n : stop);
    if (from < 0 || from >= n)
        return elab_error(e, sub->at, "index %lld is out of range for a list of %zu",
                          (long long)start, list->n);
    return list->items[from];
}

// The size at one place of a tensor's subscript; NULL for an absent one and, with *ok false, after
// errors.
static const Size *tensor_position(Elab *e, const Sub *sub, const Expr *x, const Scope *scope,
                                   bool *ok)
{
    if (!x)
        return NULL;
    Value v = elab_eval(e, x, scope);
    if (value_is_integer(v))
        return value_to_size(e->perm, v);
    if (v.kind != VALUE_error)
        elab_error(e, sub->at, "a subscript must be an integer, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
    *ok = false;
    return NULL;
}

static bool tensor_sub(Elab *e, const Sub *sub, const Scope *scope, Subscript *out)
{
    bool ok = true;
    switch (sub->kind) {
    case SUBSCRIPT_new: *out = (Subscript){.kind = SUB_new}; return true;
    case SUBSCRIPT_rest: *out = (Subscript){.kind = SUB_rest}; return true;
    case SUBSCRIPT_index:
        *out = (Subscript){.kind = SUB_index,
                           .start = tensor_position(e, sub, sub->start, scope, &ok)};
        return ok;
    case SUBSCRIPT_slice: break;
    }
    *out = (Subscript){.kind = SUB_slice,
                       .start = tensor_position(e, sub, sub->start, scope, &ok),
                       .stop = tensor_position(e, sub, sub->stop, scope, &ok),
                       .step = 1};
    const Size *step = tensor_position(e, sub, sub->step, scope, &ok);
    if (step && !size_is_int(step, &out->step)) {
        elab_error(e, sub->step->at, "a step must be a number, not the symbolic size %.*s",
                   STR_ARG(size_text(e->perm, step)));
        return false;
    }
    return ok;
}

static Value index_tensor(Elab *e, const Expr *x, Node *node, const Scope *scope)
{
    size_t n = x->subs.n;
    size_t ntaken = 0; // axes
    for (size_t i = 0; i < n; i++)
        ntaken +=
            x->subs.items[i].kind == SUBSCRIPT_index || x->subs.items[i].kind == SUBSCRIPT_slice;
    if (ntaken > node->type.rank)
        return elab_error(e, x->at, "%zu subscripts for %.*s", ntaken,
                          STR_ARG(type_text(e->perm, &node->type)));
    Subscript *subs = arena_new(e->tmp, Subscript, n);
    Place *places = arena_new(e->tmp, Place, n);
    bool ok = elab_step(e, x->at, n);
    for (size_t i = 0; i < n && ok; i++) {
        places[i] = x->subs.items[i].at;
        ok = tensor_sub(e, &x->subs.items[i], scope, &subs[i]);
    }
    if (!ok)
        return value_error();
    Site site = {NULL, x->at, places, n};
    return elab_made(e, ir_subscript(elab_builder(e, &site), node, subs, n), x->at);
}

static Value eval_index(Elab *e, const Expr *x, Value base, const Scope *scope)
{
    if (base.kind == VALUE_list)
        return index_list(e, x, base.list, scope);
    if (base.kind == VALUE_tensor)
        return index_tensor(e, x, base.node, scope);
    return elab_error(e, x->at, "%.*s cannot be subscripted",
                      STR_ARG(value_describe(e->perm, base)));
}

// ---- all forms ----

static Value eval_list(Elab *e, const Expr *x, const Scope *scope)
{
    bool ok = elab_step(e, x->at, x->items.n);
    Value *items = arena_new(e->tmp, Value, x->items.n);
    for (size_t i = 0; i < x->items.n; i++) {
        items[i] = elab_eval(e, x->items.items[i], scope);
        ok = ok && items[i].kind != VALUE_error;
    }
    if (!ok)
        return value_error();
    Value list = value_list(e->perm, items, x->items.n);
    if (list.list->depth > LIMIT_NESTING)
        return elab_error(e, x->at, "lists nested deeper than %d", LIMIT_NESTING);
    return list;
}

static Value eval_choice(Elab *e, const Expr *x, const Scope *scope)
{
    bool truth;
    if (!elab_truth(e, x->left, scope, &truth))
        return value_error();
    return elab_eval(e, truth ? x->right : x->third, scope);
}

// An expression without a left edge.
static Value eval_prefix(Elab *e, const Expr *x, const Scope *scope)
{
    switch (x->kind) {
    case EXPR_name: return eval_name(e, x, scope);
    case EXPR_int: return value_int(x->integer);
    case EXPR_float: return value_float(x->real);
    case EXPR_bool: return value_bool(x->truth);
    case EXPR_text: return value_text(x->name);
    case EXPR_layout: return (Value){.kind = VALUE_layout, .layout = x->layout};
    case EXPR_list: return eval_list(e, x, scope);
    case EXPR_not: return elab_not(e, x->at, elab_eval(e, x->left, scope));
    case EXPR_minus: return elab_minus(e, x->at, elab_eval(e, x->left, scope));
    case EXPR_choice: return eval_choice(e, x, scope);
    case EXPR_binary:
    case EXPR_call:
    case EXPR_index:
    case EXPR_field:
    case EXPR_as: break;
    }
    die("expression %d has a left edge", (int)x->kind);
}

// An expression whose left edge is worth `left`.
static Value eval_suffix(Elab *e, const Expr *x, Value left, const Scope *scope)
{
    if (left.kind == VALUE_error || !elab_step(e, x->at, 1))
        return value_error();
    switch (x->kind) {
    case EXPR_binary: return elab_binary(e, x, left, scope);
    case EXPR_call: return elab_call(e, x, left, scope, NULL);
    case EXPR_as: return elab_call(e, x->left, left, scope, x);
    case EXPR_index: return eval_index(e, x, left, scope);
    case EXPR_field: return eval_field(e, x, left);
    case EXPR_name:
    case EXPR_int:
    case EXPR_float:
    case EXPR_bool:
    case EXPR_text:
    case EXPR_layout:
    case EXPR_list:
    case EXPR_not:
    case EXPR_minus:
    case EXPR_choice: break;
    }
    die("expression %d has no left edge", (int)x->kind);
}

// What stands at the left edge; the call under an `as` is part of it.
static const Expr *edge(const Expr *x)
{
    const Expr *left = expr_left(x);
    return x->kind == EXPR_as ? left->left : left;
}

Value elab_eval(Elab *e, const Expr *x, const Scope *scope)
{
    if (!elab_step(e, x->at, 1))
        return value_error();
    if (!edge(x))
        return eval_prefix(e, x, scope);
    // No name of this body is bound meanwhile, so that everything allocated here can go in the end.
    ArenaMark mark = arena_mark(e->tmp);
    size_t n = 0;
    for (const Expr *part = x; edge(part); part = edge(part))
        n++;
    const Expr **parts = arena_new(e->tmp, const Expr *, n);
    const Expr *part = x;
    for (size_t i = 0; i < n; i++, part = edge(part))
        parts[i] = part;
    Value v = elab_eval(e, part, scope);
    for (size_t i = n; i-- > 0;)
        v = eval_suffix(e, parts[i], v, scope);
    arena_reset(e->tmp, mark);
    return v;
}

bool elab_truth(Elab *e, const Expr *x, const Scope *scope, bool *out)
{
    Value v = elab_eval(e, x, scope);
    if (v.kind == VALUE_bool)
        *out = v.truth;
    else if (v.kind == VALUE_condition)
        elab_error(e, x->at, "%.*s", STR_ARG(elab_undecided(e, v.condition)));
    else if (v.kind == VALUE_tensor)
        elab_error(
            e, x->at,
            "a condition is decided when the model is built, but this is %.*s; select(c, a, b) "
            "chooses by tensor",
            STR_ARG(value_describe(e->perm, v)));
    else if (v.kind != VALUE_error)
        elab_error(e, x->at, "expected true or false, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
    return v.kind == VALUE_bool;
}

// ---- texts ----

static bool is_word_char(char c, bool is_first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!is_first && ((c >= '0' && c <= '9') || c == '.'));
}

// The length of the `{name}` or `{name.field}` that `s` begins with, 0 if it begins with none.
static size_t hole_length(Str s)
{
    size_t i = 1;
    while (i < s.len && is_word_char(s.ptr[i], i == 1))
        i++;
    return i > 1 && i < s.len && s.ptr[i] == '}' ? i + 1 : 0;
}

// The value of `name.field.…` as an expression that stands at `at`.
static Value eval_hole(Elab *e, Str text, Place at, const Scope *scope)
{
    const Expr *x = NULL;
    while (text.len) {
        size_t n = 0;
        while (n < text.len && text.ptr[n] != '.')
            n++;
        Expr *part = arena_new(e->perm, Expr, 1);
        part->kind = x ? EXPR_field : EXPR_name;
        part->at = at;
        part->name = (Str){text.ptr, n};
        part->left = x;
        x = part;
        n += n < text.len;
        text = (Str){text.ptr + n, text.len - n};
    }
    return elab_eval(e, x, scope);
}

bool elab_text(Elab *e, const Expr *x, const Scope *scope, Str *out)
{
    Value v = elab_eval(e, x, scope);
    if (v.kind != VALUE_text) {
        if (v.kind != VALUE_error)
            elab_error(e, x->at, "expected a text, not %.*s", STR_ARG(value_describe(e->perm, v)));
        return false;
    }
    Buf buf = {.arena = e->perm};
    for (Str rest = v.text; rest.len;) {
        size_t n = rest.ptr[0] == '{' ? hole_length(rest) : 0;
        if (n) {
            Value value = eval_hole(e, (Str){rest.ptr + 1, n - 2}, x->at, scope);
            if (value.kind == VALUE_error)
                return false;
            buf_add(&buf, value.kind == VALUE_text ? value.text : value_describe(e->perm, value));
        } else {
            n = 1;
            buf_char(&buf, rest.ptr[0]);
        }
        if (buf.len > LIMIT_TEXT) {
            elab_error(e, x->at, "a text of more than %d bytes", LIMIT_TEXT);
            return false;
        }
        rest = (Str){rest.ptr + n, rest.len - n};
    }
    *out = buf_str(&buf);
    return elab_step(e, x->at, buf.len / BYTES_PER_STEP);
}

// ---- paths ----

bool elab_join_path(Elab *e, Str outer, Str inner, Place at, Str *out)
{
    if (outer.len == 0 || inner.len == 0) {
        *out = outer.len ? outer : inner;
        return true;
    }
    if (outer.len + inner.len >= LIMIT_TEXT) {
        elab_error(e, at, "a path of more than %d characters", LIMIT_TEXT);
        return false;
    }
    *out = str_format(e->perm, "%.*s.%.*s", STR_ARG(outer), STR_ARG(inner));
    return elab_step(e, at, out->len / BYTES_PER_STEP);
}

static bool path_part(Elab *e, const PathPart *part, const Scope *scope, Place at, Str *out)
{
    Value v = part->value ? elab_eval(e, part->value, scope) : value_text(part->text);
    at = part->value ? part->value->at : at;
    if (v.kind == VALUE_error)
        return false;
    if (v.kind != VALUE_int && v.kind != VALUE_text) {
        elab_error(e, at, "a path takes integers and texts in brackets, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
        return false;
    }
    *out = v.kind == VALUE_text ? v.text : value_describe(e->perm, v);
    if (out->len)
        return true;
    elab_error(e, at, "a piece of a path is empty");
    return false;
}

bool elab_path(Elab *e, const Path *path, const Scope *scope, Place at, Str *out)
{
    Buf buf = {.arena = e->perm};
    for (size_t i = 0; i < path->n; i++) {
        Str piece;
        if (!path_part(e, &path->items[i], scope, at, &piece))
            return false;
        if (i > 0)
            buf_char(&buf, '.');
        buf_add(&buf, piece);
        if (buf.len > LIMIT_TEXT) {
            elab_error(e, at, "a path of more than %d characters", LIMIT_TEXT);
            return false;
        }
    }
    *out = buf_str(&buf);
    return true;
}
