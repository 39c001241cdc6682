// Statements. A model goes on after a wrong one, with the names that it would have bound marked as
// wrong, so that one run reports several errors; a block ends at the first.
#include "front/elab.h"

static bool in_model(const Elab *e)
{
    return e->frame && e->frame->function->item->kind == ITEM_model;
}

// ---- names ----

Scope scope_new(const Elab *e, const Unit *unit, const Rest *rest)
{
    return (Scope){unit, rest, e->bindings.n};
}

Binding *scope_find(const Elab *e, const Scope *scope, Str name)
{
    for (size_t i = e->bindings.n; i-- > scope->base;) {
        if (str_equal(e->bindings.items[i].name, name))
            return &e->bindings.items[i];
    }
    return NULL;
}

void scope_bind(Elab *e, const Scope *scope, Str name, Value value)
{
    Binding *found = scope_find(e, scope, name);
    if (found) {
        found->value = value;
        found->from = NULL;
        return;
    }
    vec_push(e->perm, &e->bindings, ((Binding){.name = name, .value = value}));
}

// Marks every name that the statements could bind.
static void poison(Elab *e, const StmtList *body, const Scope *scope);

static void poison_stmt(Elab *e, const Stmt *stmt, const Scope *scope)
{
    switch (stmt->kind) {
    case STMT_assign:
        for (size_t i = 0; i < stmt->names.n; i++)
            scope_bind(e, scope, stmt->names.items[i].text, value_error());
        break;
    case STMT_input:
    case STMT_param: scope_bind(e, scope, stmt->name.text, value_error()); break;
    case STMT_for:
    case STMT_if:
        poison(e, &stmt->body, scope);
        poison(e, &stmt->otherwise, scope);
        break;
    case STMT_output:
    case STMT_check:
    case STMT_return: break;
    }
}

static void poison(Elab *e, const StmtList *body, const Scope *scope)
{
    for (size_t i = 0; i < body->n; i++)
        poison_stmt(e, body->items[i], scope);
}

// ---- assignment, return ----

// Evaluates all of them, so that each wrong one is reported. values: [exprs->n]
static bool eval_all(Elab *e, const ExprList *exprs, const Scope *scope, Value *values)
{
    bool ok = true;
    for (size_t i = 0; i < exprs->n; i++) {
        values[i] = elab_eval(e, exprs->items[i], scope);
        ok = ok && values[i].kind != VALUE_error;
    }
    return ok;
}

static Flow run_assign(Elab *e, const Stmt *stmt, const Scope *scope)
{
    size_t n = stmt->values.n;
    Value one;
    Value *computed = n == 1 ? &one : arena_new(e->tmp, Value, n);
    if (!eval_all(e, &stmt->values, scope, computed))
        return FLOW_failed;
    const Value *values = computed;
    if (n == 1 && stmt->names.n > 1 && values[0].kind == VALUE_list) {
        n = values[0].list->n;
        values = values[0].list->items;
    }
    if (n != stmt->names.n) {
        elab_error(e, stmt->at, "%zu name%s for %zu value%s", stmt->names.n,
                   stmt->names.n == 1 ? "" : "s", n, n == 1 ? "" : "s");
        return FLOW_failed;
    }
    for (size_t i = 0; i < n; i++)
        scope_bind(e, scope, stmt->names.items[i].text, values[i]);
    return FLOW_next;
}

static Flow run_return(Elab *e, const Stmt *stmt, const Scope *scope, Value *result)
{
    if (in_model(e)) {
        elab_error(e, stmt->at, "a model has outputs, it does not return");
        return FLOW_failed;
    }
    Value *values = arena_new(e->tmp, Value, stmt->values.n);
    if (!eval_all(e, &stmt->values, scope, values))
        return FLOW_failed;
    *result = stmt->values.n == 1 ? values[0] : value_list(e->perm, values, stmt->values.n);
    return FLOW_return;
}

// ---- loops ----

static bool loop_bound(Elab *e, const Expr *x, const Scope *scope, int64_t *out)
{
    Value v = elab_simplify(e, elab_eval(e, x, scope));
    if (v.kind == VALUE_int)
        *out = v.integer;
    else if (v.kind == VALUE_size)
        elab_error(e, x->at, "a loop's bounds must be numbers; %.*s is symbolic: fix it with %.*s",
                   STR_ARG(value_describe(e->perm, v)), STR_ARG(ir_flags(e->perm, v.size)));
    else if (v.kind != VALUE_error)
        elab_error(e, x->at, "a loop's bounds must be integers, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
    return v.kind == VALUE_int;
}

static Flow run_for(Elab *e, const Stmt *stmt, const Scope *scope, Value *result)
{
    int64_t low;
    int64_t high;
    bool ok = loop_bound(e, stmt->low, scope, &low);
    if (!loop_bound(e, stmt->high, scope, &high) || !ok)
        return FLOW_failed;
    Flow flow = FLOW_next;
    size_t outer = e->bindings.n;
    for (int64_t i = low; i < high && flow == FLOW_next; i++) {
        if (!elab_step(e, stmt->at, 1))
            return FLOW_failed;
        Binding counter = {.name = stmt->name.text, .value = value_int(i)};
        vec_push(e->perm, &e->bindings, counter);
        flow = elab_body(e, &stmt->body, scope, result);
        e->bindings.n = outer;
    }
    return flow; // after a failure the next turns would say the same again
}

static Flow run_if(Elab *e, const Stmt *stmt, const Scope *scope, Value *result)
{
    bool truth;
    if (!elab_truth(e, stmt->condition, scope, &truth))
        return FLOW_failed;
    return elab_body(e, truth ? &stmt->body : &stmt->otherwise, scope, result);
}

// ---- checks ----

// One condition that `and` does not split.
static Flow run_condition(Elab *e, const Expr *x, const Stmt *stmt, const Scope *scope)
{
    Value v = elab_eval(e, x, scope);
    Str text;
    if (v.kind == VALUE_error || (v.kind == VALUE_bool && v.truth))
        return v.kind == VALUE_error ? FLOW_failed : FLOW_next;
    if (v.kind != VALUE_bool && v.kind != VALUE_condition) {
        elab_error(e, x->at, "expected true or false, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
        return FLOW_failed;
    }
    if (!elab_text(e, stmt->value, scope, &text))
        return FLOW_failed;
    if (v.kind == VALUE_condition) { // made when the model runs, and true from here on
        const Condition *c = v.condition;
        graph_add_check(e->graph, c->op, c->left, c->right, text, elab_user_place(e, x->at));
        return FLOW_next;
    }
    elab_fail(e, x->at, "checked here", "%.*s", STR_ARG(text));
    return FLOW_failed;
}

static Flow run_check(Elab *e, const Stmt *stmt, const Scope *scope)
{
    // `a and b and c` groups to the left: its parts, last first.
    VEC(const Expr *) parts = {0};
    const Expr *x = stmt->condition;
    for (; x->kind == EXPR_binary && x->op == BINARY_and; x = x->left)
        vec_push(e->tmp, &parts, x->right);
    Flow flow = run_condition(e, x, stmt, scope);
    for (size_t i = parts.n; i-- > 0 && flow == FLOW_next;)
        flow = run_condition(e, parts.items[i], stmt, scope);
    return flow;
}

// ---- inputs and outputs ----

static bool stands_in_model(Elab *e, const Stmt *stmt, const char *word)
{
    if (in_model(e))
        return true;
    elab_error(e, stmt->at, "`%s` stands in a model, not in a block", word);
    return false;
}

static bool input_range(Elab *e, const Stmt *stmt, const Scope *scope, DType dtype, int64_t *range)
{
    const Expr *const bounds[] = {stmt->low, stmt->high};
    for (size_t i = 0; i < 2; i++) {
        Value v = elab_eval(e, bounds[i], scope);
        if (v.kind == VALUE_error)
            return false;
        if (v.kind != VALUE_int || dtype != DT_i32) {
            elab_error(e, bounds[i]->at, "a range is of integers, for i32 inputs, not %.*s",
                       dtype == DT_i32 ? (int)value_describe(e->perm, v).len : 3,
                       dtype == DT_i32 ? value_describe(e->perm, v).ptr : dtype_name(dtype));
            return false;
        }
        range[i] = v.integer;
    }
    return true;
}

static bool input_default(Elab *e, const Stmt *stmt, const Scope *scope, const Type *type,
                          double *out)
{
    Value v = elab_eval(e, stmt->value, scope);
    if (v.kind == VALUE_error)
        return false;
    bool fits = type->dtype == DT_bool  ? v.kind == VALUE_bool
                : type->dtype == DT_i32 ? v.kind == VALUE_int
                                        : v.kind == VALUE_int || v.kind == VALUE_float;
    if (!fits) {
        elab_error(e, stmt->value->at, "the default of %.*s must be one %s value, not %.*s",
                   STR_ARG(type_text(e->perm, type)), dtype_name(type->dtype),
                   STR_ARG(value_describe(e->perm, v)));
        return false;
    }
    *out = v.kind == VALUE_bool ? (double)v.truth : value_to_double(v);
    return true;
}

// The input's default in its place: every element the same.
static Value fill_input(Elab *e, const Site *site, const Type *type, const double *value,
                        const Without *without)
{
    if (!value)
        return elab_error(e, without->at, "the input `%.*s` has no default",
                          STR_ARG(without->name));
    Node *fill = ir_fill(elab_builder(e, site), type->dtype, *value);
    Node *node = ir_broadcast(elab_builder(e, site), fill, type->shape, type->rank);
    return elab_made(e, node, site->at);
}

static Without *find_without(Elab *e, Str name)
{
    for (size_t i = 0; i < e->without.n; i++) {
        if (str_equal(e->without.items[i].name, name))
            return &e->without.items[i];
    }
    return NULL;
}

static Flow run_input(Elab *e, const Stmt *stmt, const Scope *scope)
{
    Str name = stmt->name.text;
    Type type;
    int64_t range[2];
    double value;
    if (!stands_in_model(e, stmt, "input"))
        return FLOW_failed;
    if (map_has(&e->inputs, name)) {
        elab_error(e, stmt->name.at, "input `%.*s` is declared twice", STR_ARG(name));
        return FLOW_failed;
    }
    map_put(&e->inputs, name, e);
    if (!elab_type(e, stmt->type, scope, true, &type) ||
        (stmt->low && !input_range(e, stmt, scope, type.dtype, range)) ||
        (stmt->value && !input_default(e, stmt, scope, &type, &value)))
        return FLOW_failed;
    Place range_at = stmt->low ? stmt->low->at : stmt->name.at;
    if (stmt->high)
        range_at.end = stmt->high->at.end;
    Place places[] = {stmt->name.at, stmt->type->at, range_at,
                      stmt->value ? stmt->value->at : stmt->name.at};
    Site site = {NULL, stmt->name.at, places, 4};
    Without *without = find_without(e, name);
    Value v;
    if (without) {
        without->is_used = true;
        v = fill_input(e, &site, &type, stmt->value ? &value : NULL, without);
    } else {
        v = elab_made(e,
                      ir_input(elab_builder(e, &site), name, &type, stmt->low ? range : NULL,
                               stmt->value ? &value : NULL),
                      stmt->name.at);
    }
    scope_bind(e, scope, name, v);
    return v.kind == VALUE_error ? FLOW_failed : FLOW_next;
}

static bool add_output(Elab *e, const Stmt *stmt, Str name, Value v)
{
    if (v.kind != VALUE_tensor) {
        elab_error(e, stmt->value->at, "an output is a tensor or a list of tensors, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
        return false;
    }
    if (map_has(&e->outputs, name)) {
        elab_error(e, stmt->name.at, "output `%.*s` is given twice", STR_ARG(name));
        return false;
    }
    map_put(&e->outputs, name, e);
    graph_add_output(e->graph, name, v.node, elab_user_place(e, stmt->name.at));
    return true;
}

static Flow run_output(Elab *e, const Stmt *stmt, const Scope *scope)
{
    if (!stands_in_model(e, stmt, "output"))
        return FLOW_failed;
    Value v = elab_eval(e, stmt->value, scope);
    if (v.kind == VALUE_error)
        return FLOW_failed;
    if (v.kind != VALUE_list)
        return add_output(e, stmt, stmt->name.text, v) ? FLOW_next : FLOW_failed;
    for (size_t i = 0; i < v.list->n; i++) {
        Str name = str_format(e->perm, "%.*s.%zu", STR_ARG(stmt->name.text), i);
        if (!add_output(e, stmt, name, v.list->items[i]))
            return FLOW_failed;
    }
    return FLOW_next;
}

// ---- stored tensors ----

// The tensor that the path reached before, if this may be the same.
static Value shared_param(Elab *e, const Stmt *stmt, Str path, const Type *type,
                          const StoredParam *first)
{
    Value failed = value_error();
    if (!e->is_shared && !stmt->is_shared)
        elab_error(e, stmt->name.at,
                   "parameter `%.*s` is reached twice: if two tensors are meant, give each call a "
                   "name, `as NAME`, in a loop `as NAME[i]`; if one is, say `shared`",
                   STR_ARG(path));
    else if (!type_equal(&first->node->type, type))
        elab_error(e, stmt->name.at, "parameter `%.*s` is shared as %.*s and as %.*s",
                   STR_ARG(path), STR_ARG(type_text(e->perm, &first->node->type)),
                   STR_ARG(type_text(e->perm, type)));
    else
        return value_tensor(first->node);
    diag_note(e->dx, first->at, "first here");
    return failed;
}

static Flow run_param(Elab *e, const Stmt *stmt, const Scope *scope)
{
    Type type;
    Str own;
    if (!elab_type(e, stmt->type, scope, false, &type) ||
        !elab_path(e, &stmt->path, scope, stmt->name.at, &own))
        return FLOW_failed;
    Str path;
    if (!elab_join_path(e, e->prefix, stmt->path.n ? own : stmt->name.text, stmt->name.at, &path))
        return FLOW_failed;
    const StoredParam *first = map_get(&e->params, path);
    Value v;
    if (first) {
        v = shared_param(e, stmt, path, &type, first);
    } else {
        Place places[] = {stmt->name.at, stmt->type->at};
        Site site = {NULL, stmt->name.at, places, 2};
        v = elab_made(e, ir_param(elab_builder(e, &site), path, &type), stmt->name.at);
        StoredParam *stored = arena_new(e->perm, StoredParam, 1);
        // Of a block, the call is what tells one time from another.
        Place at = in_model(e) ? stmt->name.at : elab_user_place(e, e->frame->at);
        *stored = (StoredParam){v.kind == VALUE_tensor ? v.node : NULL, at};
        if (stored->node)
            map_put(&e->params, path, stored);
    }
    scope_bind(e, scope, stmt->name.text, v);
    return v.kind == VALUE_error ? FLOW_failed : FLOW_next;
}

// ---- bodies ----

static Flow run_stmt(Elab *e, const Stmt *stmt, const Scope *scope, Value *result)
{
    switch (stmt->kind) {
    case STMT_input: return run_input(e, stmt, scope);
    case STMT_output: return run_output(e, stmt, scope);
    case STMT_param: return run_param(e, stmt, scope);
    case STMT_assign: return run_assign(e, stmt, scope);
    case STMT_for: return run_for(e, stmt, scope, result);
    case STMT_if: return run_if(e, stmt, scope, result);
    case STMT_check: return run_check(e, stmt, scope);
    case STMT_return: return run_return(e, stmt, scope, result);
    }
    die("statement %d", (int)stmt->kind);
}

Flow elab_body(Elab *e, const StmtList *body, const Scope *scope, Value *result)
{
    Flow all = FLOW_next;
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *stmt = body->items[i];
        if (!elab_step(e, stmt->at, 1))
            return FLOW_failed;
        ArenaMark mark = arena_mark(e->tmp);
        Flow flow = run_stmt(e, stmt, scope, result);
        arena_reset(e->tmp, mark);
        if (flow == FLOW_return || (flow == FLOW_failed && (e->is_stopped || !in_model(e))))
            return flow;
        if (flow == FLOW_failed) {
            poison_stmt(e, stmt, scope);
            all = FLOW_failed;
        }
    }
    return all;
}
