// One model to one graph: its call, what the command line sets, and what must hold in the end.
#include "front/elab.h"

#include "front/limits.h"
#include "front/parse.h"

// A place on the command line, which shows `flag value`.
static Place command_place(Elab *e, const char *flag, Str value)
{
    Str text = str_format(e->perm, "%s%.*s", flag, STR_ARG(value));
    const Source *source = diag_source(e->perm, STR("<command line>"), text, false);
    return (Place){source, 0, (uint32_t)text.len};
}

static Str item_name(const Function *f) { return f->item->name.text; }

// ---- what is called ----

// Follows `model x = f(…)` to a model with a body: `call` becomes its arguments and place. False
// after errors.
static bool follow_call(Elab *e, ModelCall *call)
{
    for (size_t depth = 0; call->f->item->value; depth++) {
        const Expr *x = call->f->item->value;
        Str name = item_name(call->f);
        Scope scope = scope_new(e, call->f->unit, NULL);
        if (x->kind != EXPR_call || depth > LIMIT_CALLS) {
            elab_error(e, x->at,
                       depth > LIMIT_CALLS ? "`%.*s` is defined by itself"
                                           : "`%.*s` must be a call of a model",
                       STR_ARG(name));
            return false;
        }
        Value callee = elab_eval(e, x->left, &scope);
        if (callee.kind == VALUE_error)
            return false;
        if (callee.kind != VALUE_function || !callee.function->item ||
            callee.function->item->kind != ITEM_model) {
            elab_error(e, x->at, "expected a model, found %.*s",
                       STR_ARG(value_describe(e->perm, callee)));
            return false;
        }
        if (call->args.list.n) {
            elab_error(e, call->at, "`%.*s` is a model with all its arguments: it takes no more",
                       STR_ARG(name));
            return false;
        }
        call->at = x->at;
        call->f = callee.function;
        if (!elab_arguments(e, x, &scope, &call->args))
            return false;
    }
    return true;
}

// ---- settings ----

typedef struct Settings {
    Elab *e;
    ModelCall *call;
    Rest *rest; // integers that name no parameter: options, or free sizes
} Settings;

// Which argument a parameter of the model has; their number if it has none.
static size_t find_given(const ModelCall *call, Str name)
{
    const ParamList *params = &call->f->item->params.list;
    size_t i = 0;
    for (; i < call->args.list.n; i++) {
        const GivenArg *given = &call->args.list.items[i];
        bool is_positional = i < call->args.npositional;
        if (is_positional ? i < params->n && str_equal(params->items[i].name, name)
                          : str_equal(given->name, name))
            break;
    }
    return i;
}

static bool is_param(const ModelCall *call, Str name)
{
    const ParamList *params = &call->f->item->params.list;
    for (size_t i = 0; i < params->n; i++) {
        if (str_equal(params->items[i].name, name))
            return true;
    }
    return false;
}

static void add_free_size(Settings *s, Str name, Value value, Place at)
{
    Elab *e = s->e;
    RestArg *arg = arena_new(e->perm, RestArg, 1);
    *arg = (RestArg){.name = name, .value = value, .at = at, .from_model = true};
    vec_push(e->perm, &s->rest->args, arg);
    Fixed fixed = {.name = name, .value = value.integer, .at = at, .rest = arg};
    vec_push(e->perm, &e->fixed, fixed);
}

static bool apply_setting(Settings *s, const FrontSetting *setting)
{
    Elab *e = s->e;
    Str name = str_format(e->perm, "--set %.*s", STR_ARG(setting->name));
    Str whole = str_format(e->perm, "%.*s=%.*s", STR_ARG(setting->name), STR_ARG(setting->value));
    Place at = command_place(e, "--set ", whole);
    const Expr *x = parse_expr(e->perm, e->dx, diag_source(e->perm, name, setting->value, false));
    if (!x)
        return false;
    Scope scope = scope_new(e, e->program->main, NULL);
    Value value =
        x->kind == EXPR_name ? (Value){.kind = VALUE_word, .word = x} : elab_eval(e, x, &scope);
    if (value.kind == VALUE_error)
        return false;
    size_t given = find_given(s->call, setting->name);
    if (given < s->call->args.list.n) {
        s->call->args.list.items[given].value = value;
        s->call->args.list.items[given].at = at;
    } else if (is_param(s->call, setting->name) || value.kind != VALUE_int) {
        GivenArg arg = {setting->name, value, at};
        vec_push(e->perm, &s->call->args.list, arg);
    } else {
        add_free_size(s, setting->name, value, at);
    }
    return true;
}

static bool refuse_twice(Elab *e, Place at, Str name)
{
    elab_error(e, at, "`%.*s` is set twice", STR_ARG(name));
    return false;
}

static bool fix_size(Elab *e, const FrontSize *size)
{
    for (size_t i = 0; i < e->fixed.n; i++) {
        if (str_equal(e->fixed.items[i].name, size->name))
            return refuse_twice(e, e->fixed.items[i].at, size->name);
    }
    Str value = str_format(e->perm, "%.*s %lld", STR_ARG(size->name), (long long)size->value);
    Fixed fixed = {.name = size->name, .value = size->value, .at = command_place(e, "--", value)};
    vec_push(e->perm, &e->fixed, fixed);
    return true;
}

static void leave_out(Elab *e, Str name)
{
    for (size_t i = 0; i < e->without.n; i++) {
        if (str_equal(e->without.items[i].name, name))
            return; // twice the same is the same
    }
    Without without = {.name = name, .at = command_place(e, "--without ", name)};
    vec_push(e->perm, &e->without, without);
}

static bool apply_settings(Elab *e, ModelCall *call, const FrontOptions *options)
{
    Settings s = {e, call, arena_new(e->perm, Rest, 1)};
    bool ok = true;
    s.rest->from_model = true;
    for (size_t i = 0; i < options->nsettings; i++) {
        const FrontSetting *setting = &options->settings[i];
        for (size_t k = 0; k < i; k++) {
            if (str_equal(options->settings[k].name, setting->name))
                ok = refuse_twice(e, command_place(e, "--set ", setting->name), setting->name);
        }
        ok = apply_setting(&s, setting) && ok;
    }
    for (size_t i = 0; i < options->nsizes; i++)
        ok = fix_size(e, &options->sizes[i]) && ok;
    for (size_t i = 0; i < options->nwithout; i++)
        leave_out(e, options->without[i]);
    if (s.rest->args.n)
        call->args.rest = s.rest;
    return ok;
}

// ---- what must hold in the end ----

static Str list_names(Elab *e, const Names *names)
{
    Buf buf = {.arena = e->perm};
    for (size_t i = 0; i < names->n; i++)
        buf_format(&buf, "%s`%.*s`", i ? ", " : "", STR_ARG(names->items[i]));
    return buf_str(&buf);
}

static void check_fixed(Elab *e, const ModelCall *call)
{
    Str model = item_name(call->f);
    for (size_t i = 0; i < e->fixed.n; i++) {
        const Fixed *fixed = &e->fixed.items[i];
        if (fixed->is_used || (fixed->rest && fixed->rest->is_taken))
            continue;
        Names names = e->symbols;
        if (!fixed->rest) {
            elab_error(e, fixed->at, "`%.*s` has no size `%.*s`%s%.*s", STR_ARG(model),
                       STR_ARG(fixed->name), names.n ? "; it has " : "",
                       STR_ARG(list_names(e, &names)));
            continue;
        }
        for (size_t k = 0; k < e->options.n; k++)
            vec_push(e->perm, &names, e->options.items[k].name);
        elab_error(e, fixed->at, "`%.*s` has no parameter, option or size `%.*s`%.*s",
                   STR_ARG(model), STR_ARG(fixed->name),
                   STR_ARG(name_hint(e->perm, fixed->name, &names)));
    }
}

static void check_without(Elab *e, const ModelCall *call)
{
    Names names = {0};
    for (size_t i = 0; i < e->inputs.n; i++)
        vec_push(e->perm, &names, e->inputs.entries[i].key);
    for (size_t i = 0; i < e->without.n; i++) {
        const Without *without = &e->without.items[i];
        if (!without->is_used)
            elab_error(e, without->at, "`%.*s` has no input `%.*s`%.*s",
                       STR_ARG(item_name(call->f)), STR_ARG(without->name),
                       STR_ARG(name_list_hint(e->perm, without->name, &names)));
    }
}

// Every symbol must be the size of some input's axis, so that it is known when the model runs.
static void check_symbols(Elab *e, const ModelCall *call)
{
    const Graph *graph = e->graph;
    Map measured = {.arena = e->perm};
    for (size_t i = 0; i < graph->nodes.n; i++) {
        Node *node = graph->nodes.items[i];
        for (size_t k = 0; node->op == OP_input && k < node->type.rank; k++) {
            Str name;
            if (size_is_symbol(node->type.shape[k], &name))
                map_put(&measured, name, node);
        }
    }
    for (size_t i = 0; i < graph->symbols.n; i++) {
        Str name = graph->symbols.items[i].name;
        if (!map_has(&measured, name))
            elab_error(e, call->f->item->name.at,
                       "no input has an axis of just `%.*s`, so that size would not be known when "
                       "the model runs",
                       STR_ARG(name));
    }
}

// A size that nothing reads promises something that the model has not. The width has to be given.
static void check_layouts(Elab *e, const ModelCall *call)
{
    for (size_t i = 0; i < e->layouts.n; i++) {
        const LayoutUse *use = e->layouts.entries[i].value;
        const Layout *layout = use->layout;
        for (LayoutTag tag = LAYOUT_F; tag < LAYOUT_ntags; tag++) {
            if (layout->tags[tag] && !use->is_read[tag])
                elab_error(e, layout->places[tag], "layout %.*s: `%.*s` has no use for %c: %s",
                           STR_ARG(layout->text), STR_ARG(item_name(call->f)), LAYOUT_LETTERS[tag],
                           layout_tag_meaning(tag));
        }
    }
}

bool elab_model(Elab *e, ModelCall *call, const FrontOptions *options)
{
    if (!follow_call(e, call) || !apply_settings(e, call, options))
        return false;
    elab_apply(e, call->f, &call->args, call->at, (Str){0}, false);
    if (diag_nerrors(e->dx) != e->nerrors)
        return false;
    if (e->graph->outputs.n == 0)
        elab_error(e, call->f->item->name.at, "model `%.*s` has no output",
                   STR_ARG(item_name(call->f)));
    check_fixed(e, call);
    check_without(e, call);
    check_symbols(e, call);
    check_layouts(e, call);
    return diag_nerrors(e->dx) == e->nerrors;
}
