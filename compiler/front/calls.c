// Calls: arguments, `..`, and running a block's or a model's body.
#include "front/elab.h"

#include "front/limits.h"

// ---- arguments ----

bool elab_arguments(Elab *e, const Expr *call, const Scope *scope, Args *out)
{
    bool ok = true;
    for (size_t i = 0; i < call->args.n; i++) {
        const Arg *arg = &call->args.items[i];
        if (!arg->value) {
            out->rest = scope->rest;
            if (!scope->rest) {
                elab_error(e, arg->at,
                           "`..` passes on the rest of the arguments, but there is "
                           "none: end the block's parameters with `..`");
                ok = false;
            }
            continue;
        }
        GivenArg given = {arg->name, elab_eval(e, arg->value, scope), arg->at};
        ok = ok && given.value.kind != VALUE_error;
        out->npositional += arg->name.len == 0;
        vec_push(e->tmp, &out->list, given);
    }
    return ok;
}

Value elab_word(Elab *e, Value v, bool is_text)
{
    if (v.kind != VALUE_word)
        return v;
    if (is_text)
        return value_text(v.word->name);
    // Settings are expressions of the user's file.
    Scope scope = scope_new(e, e->program->main, NULL);
    return elab_eval(e, v.word, &scope);
}

static bool is_passed(const Rest *rest, Str name)
{
    for (const Passed *passed = rest->passed; passed; passed = passed->up) {
        for (size_t i = 0; i < passed->params->list.n; i++) {
            if (str_equal(passed->params->list.items[i].name, name))
                return true;
        }
    }
    return false;
}

void elab_offer(Elab *e, const Rest *rest, FrontOption option, const Expr *fallback)
{
    if (rest && !rest->from_model)
        return;
    for (size_t i = 0; i < e->options.n; i++) {
        const FrontOption *known = &e->options.items[i];
        if (str_equal(known->name, option.name) && str_equal(known->owner, option.owner))
            return;
    }
    for (size_t i = 0; rest && i < rest->args.n; i++) {
        const RestArg *arg = rest->args.items[i];
        if (str_equal(arg->name, option.name) && !arg->from_model)
            return;
    }
    if (rest && is_passed(rest, option.name))
        return;
    if (fallback) {
        Buf buf = {.arena = e->perm};
        ast_print_expr(&buf, fallback);
        option.value = buf_str(&buf);
    }
    vec_push(e->perm, &e->options, option);
}

// ---- filling parameters ----

typedef struct Slot {
    Value value;
    Place at;
    bool is_given;
} Slot;

typedef struct Call {
    Elab *e;
    const Function *f;
    const Params *params;
    const Args *args;
    Place at;
    Slot *slots;          // [params->list.n]
    Rest rest;            // what goes on, if the block is open
    VEC(RestArg *) fresh; // named arguments that start on their way here
} Call;

static Str param_names(Elab *e, const Params *params)
{
    Buf buf = {.arena = e->perm};
    for (size_t i = 0; i < params->list.n; i++)
        buf_format(&buf, "%s%.*s", i ? ", " : "", STR_ARG(params->list.items[i].name));
    return buf_str(&buf);
}

// params->list.n if there is none.
static size_t param_index(const Params *params, Str name)
{
    size_t i = 0;
    while (i < params->list.n && !str_equal(params->list.items[i].name, name))
        i++;
    return i;
}

static void add_param_names(Elab *e, const Params *params, Names *out)
{
    for (size_t i = 0; i < params->list.n; i++)
        vec_push(e->perm, out, params->list.items[i].name);
}

static bool fill_positional(Call *c)
{
    size_t n = c->params->list.n;
    const Args *args = c->args;
    if (args->npositional > n) {
        elab_error(c->e, args->list.items[n].at, "%.*s: takes %zu argument%s%s%.*s",
                   STR_ARG(c->f->name), n, n == 1 ? "" : "s", n ? ": " : "",
                   STR_ARG(param_names(c->e, c->params)));
        return false;
    }
    for (size_t i = 0; i < args->npositional; i++)
        c->slots[i] = (Slot){args->list.items[i].value, args->list.items[i].at, true};
    return true;
}

static void start_rest_arg(Call *c, const GivenArg *given)
{
    RestArg *arg = arena_new(c->e->perm, RestArg, 1);
    *arg = (RestArg){.name = given->name,
                     .value = given->value,
                     .at = given->at,
                     .from_model = c->f->item->kind == ITEM_model};
    vec_push(c->e->tmp, &c->fresh, arg);
}

static bool fill_named(Call *c)
{
    bool ok = true;
    for (size_t i = c->args->npositional; i < c->args->list.n; i++) {
        const GivenArg *given = &c->args->list.items[i];
        size_t index = param_index(c->params, given->name);
        if (index < c->params->list.n && c->slots[index].is_given) {
            elab_error(c->e, given->at, "%.*s: argument `%.*s` is given twice", STR_ARG(c->f->name),
                       STR_ARG(given->name));
            ok = false;
        } else if (index < c->params->list.n) {
            c->slots[index] = (Slot){given->value, given->at, true};
        } else if (c->params->is_open) {
            start_rest_arg(c, given);
        } else {
            Names names = {0};
            add_param_names(c->e, c->params, &names);
            elab_error(c->e, given->at, "%.*s: no argument `%.*s`%.*s", STR_ARG(c->f->name),
                       STR_ARG(given->name),
                       STR_ARG(name_list_hint(c->e->perm, given->name, &names)));
            ok = false;
        }
    }
    return ok;
}

static bool names_fresh(const Call *c, Str name)
{
    for (size_t i = 0; i < c->fresh.n; i++) {
        if (str_equal(c->fresh.items[i]->name, name))
            return true;
    }
    return false;
}

static void note_seen(Elab *e, RestArg *arg, const Params *params)
{
    for (size_t i = 0; i < arg->seen.n; i++) {
        if (arg->seen.items[i] == params)
            return;
    }
    if (arg->seen.n < ELAB_MOST_SEEN)
        vec_push(e->perm, &arg->seen, params);
}

// Takes what `..` brings for parameters that were not given; the rest goes on.
static void fill_rest(Call *c)
{
    const Rest *rest = c->args->rest;
    for (size_t i = 0; rest && i < rest->args.n; i++) {
        RestArg *arg = rest->args.items[i];
        note_seen(c->e, arg, c->params);
        size_t index = param_index(c->params, arg->name);
        if (index < c->params->list.n) {
            arg->is_hidden = arg->is_hidden || c->slots[index].is_given;
            if (!c->slots[index].is_given) {
                c->slots[index] = (Slot){arg->value, arg->at, true};
                arg->is_taken = true;
            }
        } else if (names_fresh(c, arg->name)) {
            arg->is_hidden = true;
        } else {
            vec_push(c->e->tmp, &c->rest.args, arg);
        }
    }
    for (size_t i = 0; i < c->fresh.n; i++)
        vec_push(c->e->tmp, &c->rest.args, c->fresh.items[i]);
}

// Which parameters the command line could give: the model's own, and those that its `..` reaches.
static void offer_params(Call *c)
{
    Elab *e = c->e;
    bool is_model = c->f->item->kind == ITEM_model;
    const Rest *rest = c->args->rest;
    for (size_t i = 0; (is_model || rest) && i < c->params->list.n; i++) {
        const Param *param = &c->params->list.items[i];
        bool is_explicit = i < c->args->npositional;
        for (size_t k = c->args->npositional; k < c->args->list.n; k++)
            is_explicit = is_explicit || str_equal(c->args->list.items[k].name, param->name);
        if (is_explicit && !is_model)
            continue;
        FrontOption option = {.name = param->name, .owner = c->f->name, .at = param->at};
        elab_offer(e, is_model ? NULL : rest, option, param->fallback);
    }
}

// ---- running ----

#define COMPARISONS_PER_STEP 16

static bool bind_param(Call *c, size_t i, const Scope *scope, const Frame *caller)
{
    Elab *e = c->e;
    const Frame *own = e->frame;
    const Param *param = &c->params->list.items[i];
    Slot *slot = &c->slots[i];
    bool ok = true;
    if (slot->is_given) {
        e->frame = caller; // faults of an argument are the caller's
        bool is_text = (param->fallback && param->fallback->kind == EXPR_text) ||
                       (param->type && str_equal(param->type->name, STR("text")));
        slot->value = elab_word(e, slot->value, is_text);
        ok = slot->value.kind != VALUE_error &&
             elab_match(e, param, slot->value, slot->at, scope, c->f->name);
        e->frame = own;
    } else if (param->fallback) {
        slot->value = elab_eval(e, param->fallback, scope);
        ok = slot->value.kind != VALUE_error &&
             elab_match(e, param, slot->value, param->fallback->at, scope, c->f->name);
    } else {
        e->frame = caller;
        elab_error(e, c->at, "%.*s: argument `%.*s` is missing", STR_ARG(c->f->name),
                   STR_ARG(param->name));
        e->frame = own;
        return false;
    }
    if (ok)
        scope_bind(e, scope, param->name, slot->value);
    return ok;
}

static bool check_taken(Call *c)
{
    Arena *arena = c->e->perm;
    bool ok = true;
    for (size_t i = 0; i < c->fresh.n; i++) {
        const RestArg *arg = c->fresh.items[i];
        if (arg->is_taken)
            continue;
        Names names = {0};
        add_param_names(c->e, c->params, &names);
        for (size_t k = 0; k < arg->seen.n; k++)
            add_param_names(c->e, arg->seen.items[k], &names);
        for (size_t k = 0; k < arg->seen_operations.n; k++)
            operation_params(arena, arg->seen_operations.items[k], &names);
        Str hint = arg->is_hidden ? STR(": whoever has it is given another")
                                  : name_hint(arena, arg->name, &names);
        elab_error(c->e, arg->at, "%.*s: nothing takes the argument `%.*s`%.*s",
                   STR_ARG(c->f->name), STR_ARG(arg->name), STR_ARG(hint));
        ok = false;
    }
    return ok;
}

static Value run_body(Call *c, const Scope *scope)
{
    Elab *e = c->e;
    const Item *item = c->f->item;
    Value result = value_error();
    Flow flow = elab_body(e, &item->body, scope, &result);
    if (flow == FLOW_next && item->kind == ITEM_block)
        return elab_error(e, item->name.at, "block `%.*s` ends without `return`",
                          STR_ARG(item->name.text));
    if (flow == FLOW_next) // a model: it has outputs instead
        return value_bool(true);
    return flow == FLOW_return ? result : value_error();
}

// Names are looked for one by one, so a call costs about as much as it has parameters times what
// they are compared with.
static size_t call_cost(const Call *c)
{
    const Rest *rest = c->args->rest;
    size_t ncompared = c->args->list.n;
    if (rest) {
        ncompared += rest->args.n + c->e->options.n;
        for (const Passed *passed = rest->passed; passed; passed = passed->up)
            ncompared += passed->params->list.n;
    }
    return 1 + (c->params->list.n + c->args->list.n) * ncompared / COMPARISONS_PER_STEP;
}

static bool enter_call(Call *c)
{
    Elab *e = c->e;
    const Function *f = c->f;
    Place at = c->at;
    if (e->ncalls < LIMIT_CALLS)
        return elab_step(e, at, call_cost(c));
    bool is_cycle = false;
    for (const Frame *frame = e->frame; frame; frame = frame->up)
        is_cycle = is_cycle || frame->function->item == f->item;
    elab_error(e, at, "%.*s: calls nested deeper than %d%s", STR_ARG(f->name), LIMIT_CALLS,
               is_cycle ? ", since it calls itself" : "");
    return false;
}

// Parameters and body, under the callee's frame.
static Value run_call(Call *c)
{
    Elab *e = c->e;
    const Frame *caller = e->frame;
    const Frame frame = {caller, c->at, c->f};
    Passed passed = {c->args->rest ? c->args->rest->passed : NULL, c->params};
    c->rest.passed = &passed;
    c->rest.from_model =
        c->f->item->kind == ITEM_model || (c->args->rest && c->args->rest->from_model);
    Scope scope = scope_new(e, c->f->unit, c->params->is_open ? &c->rest : NULL);
    e->frame = &frame;
    bool ok = true;
    for (size_t i = 0; i < c->params->list.n && ok; i++)
        ok = bind_param(c, i, &scope, caller);
    Value result = ok ? run_body(c, &scope) : value_error();
    e->frame = caller;
    e->bindings.n = scope.base;
    c->rest.passed = NULL;
    return result;
}

Value elab_apply(Elab *e, const Function *f, const Args *args, Place at, Str path, bool is_shared)
{
    Call c = {.e = e, .f = f, .params = &f->item->params, .args = args, .at = at};
    if (!enter_call(&c))
        return value_error();
    c.slots = arena_new(e->tmp, Slot, c.params->list.n);
    bool ok = fill_positional(&c);
    if (!fill_named(&c) || !ok)
        return value_error();
    fill_rest(&c);
    offer_params(&c);
    size_t nerrors = diag_nerrors(e->dx);
    Str outer_prefix = e->prefix;
    bool outer_shared = e->is_shared;
    if (!elab_join_path(e, outer_prefix, path, at, &e->prefix))
        return value_error();
    e->is_shared = outer_shared || is_shared;
    e->ncalls++;
    Value result = run_call(&c);
    e->ncalls--;
    e->prefix = outer_prefix;
    e->is_shared = outer_shared;
    // After an error an argument may just not have got to whom it was meant for.
    if (diag_nerrors(e->dx) == nerrors && !check_taken(&c))
        return value_error();
    return result;
}

// `as` behind an operation is meant for a call inside it; a block passed as a value may be one.
static bool is_named_operation(const Expr *call, const Function *f)
{
    return !f->item && call->left->kind == EXPR_name && str_equal(call->left->name, f->name);
}

Value elab_call(Elab *e, const Expr *call, Value callee, const Scope *scope, const Expr *as)
{
    if (callee.kind != VALUE_function) {
        Str what = call->left->kind == EXPR_name
                       ? str_format(e->perm, "`%.*s` is", STR_ARG(call->left->name))
                       : STR("this is");
        return elab_error(e, call->at, "%.*s %.*s, not a block or an operation", STR_ARG(what),
                          STR_ARG(value_describe(e->perm, callee)));
    }
    const Function *f = callee.function;
    if (f->item && f->item->kind == ITEM_model)
        return elab_error(e, call->at, "`%.*s` is a model: only `model NAME = %.*s(…)` can call it",
                          STR_ARG(f->name), STR_ARG(f->name));
    if (as && is_named_operation(call, f))
        return elab_error(e, as->at,
                          "`as` names the parameters of the call just before it, and `%.*s` stores "
                          "none: put it directly behind the call that it is meant for",
                          STR_ARG(f->name));
    Str path = {0};
    if (as && !elab_path(e, &as->path, scope, as->at, &path))
        return value_error();
    // An expression binds no name of this body, so what it allocates goes with it.
    ArenaMark mark = arena_mark(e->tmp);
    Args args = {0};
    Value result = value_error();
    if (elab_arguments(e, call, scope, &args))
        result = f->item ? elab_apply(e, f, &args, call->at, path, as && as->is_shared)
                         : elab_operation(e, f, &args, call->at);
    arena_reset(e->tmp, mark);
    return result;
}
