// Types: an argument against its parameter's type, which binds the sizes it names; the types of
// inputs and stored tensors.
#include "front/elab.h"

#include "front/limits.h"

typedef enum ValueType {
    TYPE_int,
    TYPE_float,
    TYPE_bool,
    TYPE_text,
    TYPE_layout,
    TYPE_list,
    TYPE_function,
    TYPE_nvalues
} ValueType;

static const char *const value_types[TYPE_nvalues] = {
    [TYPE_int] = "int",           [TYPE_float] = "float",   [TYPE_bool] = "bool",
    [TYPE_text] = "text",         [TYPE_layout] = "layout", [TYPE_list] = "list",
    [TYPE_function] = "function",
};

static bool has_value_type(Value v, ValueType type)
{
    switch (type) {
    case TYPE_int: return value_is_integer(v);
    case TYPE_float: return v.kind == VALUE_int || v.kind == VALUE_float;
    case TYPE_bool: return v.kind == VALUE_bool;
    case TYPE_text: return v.kind == VALUE_text;
    case TYPE_layout: return v.kind == VALUE_layout;
    case TYPE_list: return v.kind == VALUE_list;
    case TYPE_function: return v.kind == VALUE_function;
    case TYPE_nvalues: break;
    }
    return false;
}

// Also where the elements are not named but must be.
static void refuse_type_name(Elab *e, const TypeRef *ref, bool with_values)
{
    Names names = {0};
    Str known = STR("f32, i32, bool");
    for (DType dtype = DT_f32; dtype <= DT_bool; dtype++)
        vec_push(e->perm, &names, str_from(dtype_name(dtype)));
    for (ValueType type = 0; with_values && type < TYPE_nvalues; type++)
        vec_push(e->perm, &names, str_from(value_types[type]));
    if (ref->name.len == 0)
        elab_error(e, ref->at, "the type needs its elements named: %.*s", STR_ARG(known));
    else
        elab_error(e, ref->at, "no %stype `%.*s`%.*s", with_values ? "" : "tensor ",
                   STR_ARG(ref->name), STR_ARG(name_hint(e->perm, ref->name, &names)));
}

// ---- sizes ----

// Whether a dimension's name means something already; blocks and operations are no sizes.
static bool is_bound(const Elab *e, Str name, const Scope *scope)
{
    if (scope_find(e, scope, name))
        return true;
    Found found = program_find(e->program, scope->unit, name);
    return found.item && found.item->kind == ITEM_let;
}

static const Size *eval_size(Elab *e, const Expr *x, const Scope *scope)
{
    Value v = elab_simplify(e, elab_eval(e, x, scope));
    if (v.kind == VALUE_error)
        return NULL;
    if (!value_is_integer(v)) {
        elab_error(e, x->at, "a size must be an integer, not %.*s",
                   STR_ARG(value_describe(e->perm, v)));
        return NULL;
    }
    if (v.kind == VALUE_int && v.integer < 1) {
        elab_error(e, x->at, "a size must be at least 1, not %lld", (long long)v.integer);
        return NULL;
    }
    return value_to_size(e->perm, v);
}

// ---- arguments ----

typedef struct Match {
    Elab *e;
    const Param *param;
    Value value;
    Place at;
    const Scope *scope;
    Str callee;
} Match;

// `why` is empty, or begins with ": ".
static bool refuse(const Match *m, Str why)
{
    Elab *e = m->e;
    const TypeRef *type = m->param->type;
    Buf wanted = {.arena = e->perm};
    ast_print_type(&wanted, type);
    elab_error(e, m->at, "%.*s: `%.*s` must be %.*s, not %.*s%.*s", STR_ARG(m->callee),
               STR_ARG(m->param->name), STR_ARG(buf_str(&wanted)),
               STR_ARG(value_describe(e->perm, m->value)), STR_ARG(why));
    diag_note(e->dx, type->at, "declared here");
    return false;
}

static bool refuse_dim(const Match *m, const Expr *dim, const Size *want)
{
    Elab *e = m->e;
    Buf why = {.arena = e->perm};
    buf_add(&why, STR(": "));
    ast_print_expr(&why, dim);
    buf_add(&why, dim->kind == EXPR_name ? STR(" is ") : STR(" = "));
    size_print(&why, want);
    buf_add(&why, dim->kind == EXPR_name ? STR(" here") : STR(""));
    refuse(m, buf_str(&why));
    const Binding *binding = dim->kind == EXPR_name ? scope_find(e, m->scope, dim->name) : NULL;
    if (binding && binding->from)
        diag_note(e->dx, binding->at, "%.*s comes from %.*s", STR_ARG(dim->name),
                  STR_ARG(type_text(e->perm, &binding->from->type)));
    return false;
}

// One dimension of the type against one of the tensor's.
static bool match_dim(const Match *m, const Expr *dim, const Size *size)
{
    Elab *e = m->e;
    if (dim->kind == EXPR_name && !is_bound(e, dim->name, m->scope)) {
        Binding binding = {dim->name, value_size(size), m->at, m->value.node};
        vec_push(e->perm, &e->bindings, binding);
        return true;
    }
    const Size *want = eval_size(e, dim, m->scope);
    if (!want)
        return false;
    if (size_compare(SIZE_eq, size, want, e->graph->facts) != TRUTH_yes)
        return refuse_dim(m, dim, want);
    return true;
}

static bool match_shape(const Match *m)
{
    const DimList *dims = &m->param->type->dims;
    const Type *type = &m->value.node->type;
    size_t rest = dims->n; // where `..` stands
    for (size_t i = 0; i < dims->n; i++)
        rest = dims->items[i].size ? rest : i;
    size_t nfixed = dims->n - (rest < dims->n);
    if (nfixed > type->rank || (rest == dims->n && nfixed != type->rank))
        return refuse(m, (Str){0});
    size_t skipped = type->rank - nfixed; // axes that `..` stands for
    for (size_t i = 0; i < dims->n; i++) {
        const Expr *dim = dims->items[i].size;
        size_t axis = i < rest ? i : i - 1 + skipped;
        if (dim && !match_dim(m, dim, type->shape[axis]))
            return false;
    }
    return true;
}

bool elab_match(Elab *e, const Param *param, Value value, Place at, const Scope *scope, Str callee)
{
    const TypeRef *ref = param->type;
    Match m = {e, param, value, at, scope, callee};
    DType dtype = DT_f32;
    if (!ref)
        return true;
    for (ValueType type = 0; type < TYPE_nvalues; type++) {
        if (!str_equal(ref->name, str_from(value_types[type])) ||
            (ref->has_dims && type == TYPE_bool)) // a tensor
            continue;
        if (!ref->has_dims)
            return has_value_type(value, type) || refuse(&m, (Str){0});
        elab_error(e, ref->at, "`%s` has no dimensions", value_types[type]);
        return false;
    }
    if (ref->name.len && !dtype_from_name(ref->name, &dtype)) {
        refuse_type_name(e, ref, true);
        return false;
    }
    if (value.kind != VALUE_tensor || (ref->name.len && value.node->type.dtype != dtype))
        return refuse(&m, (Str){0});
    return match_shape(&m);
}

// ---- inputs and stored tensors ----

static const Fixed *find_fixed(Elab *e, Str name)
{
    for (size_t i = 0; i < e->fixed.n; i++) {
        if (str_equal(e->fixed.items[i].name, name)) {
            e->fixed.items[i].is_used = true;
            return &e->fixed.items[i];
        }
    }
    return NULL;
}

// A name that means nothing yet becomes a symbol, or the number that the command line gives it.
static bool bind_symbol(Elab *e, Str name, Place at, const Scope *scope)
{
    const Fixed *fixed = find_fixed(e, name);
    if (e->symbols.n >= LIMIT_SYMBOLS) {
        elab_error(e, at, "more than %d names of sizes in the inputs", LIMIT_SYMBOLS);
        return false;
    }
    vec_push(e->perm, &e->symbols, name);
    if (fixed && fixed->value < 1) {
        elab_error(e, fixed->at, "a size must be at least 1, not %lld", (long long)fixed->value);
        scope_bind(e, scope, name, value_error());
        return false;
    }
    if (!fixed)
        graph_add_symbol(e->graph, name, 1, SIZE_INF);
    scope_bind(e, scope, name,
               fixed ? value_int(fixed->value) : value_size(size_symbol(e->perm, name)));
    return true;
}

static const Size *type_dim(Elab *e, const Dim *dim, const Scope *scope, bool is_input)
{
    if (is_input && dim->size->kind == EXPR_name && !is_bound(e, dim->size->name, scope) &&
        !bind_symbol(e, dim->size->name, dim->at, scope))
        return NULL;
    const Size *size = eval_size(e, dim->size, scope);
    if (size && !is_input && !size_is_int(size, NULL)) {
        elab_error(e, dim->at,
                   "a stored tensor's sizes must be numbers; %.*s is symbolic: fix it with %.*s",
                   STR_ARG(size_text(e->perm, size)), STR_ARG(ir_flags(e->perm, size)));
        return NULL;
    }
    return size;
}

bool elab_type(Elab *e, const TypeRef *ref, const Scope *scope, bool is_input, Type *out)
{
    DType dtype;
    if (!dtype_from_name(ref->name, &dtype)) {
        refuse_type_name(e, ref, false);
        return false;
    }
    if (ref->dims.n > IR_MAX_RANK) {
        elab_error(e, ref->at, "a tensor has at most %d axes, not %zu", IR_MAX_RANK, ref->dims.n);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < ref->dims.n; i++)
        ok = ok && ref->dims.items[i].size;
    if (!ok) {
        elab_error(e, ref->at, "`..` is for a block's parameters; every size must be given here");
        return false;
    }
    const Size **shape = arena_new(e->perm, const Size *, ref->dims.n);
    for (size_t i = 0; i < ref->dims.n; i++) {
        shape[i] = type_dim(e, &ref->dims.items[i], scope, is_input);
        ok = ok && shape[i];
    }
    *out = (Type){dtype, (uint32_t)ref->dims.n, shape};
    return ok;
}
