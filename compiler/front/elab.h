// The elaborator's inside: a program is run at compile time, and what it does to tensors is
// recorded as a graph. Main type: Elab. For model.c, elaborate.c, statements.c, calls.c, types.c,
// expressions.c, arithmetic.c and operations.c alone.
//
//   model.c       a model and its settings
//   elaborate.c   errors, steps, adding nodes
//   statements.c  bodies: bindings, loops, checks, inputs, outputs, parameters
//   calls.c       arguments, `..`, running a block
//   types.c       a parameter's type against its argument; shapes of inputs and parameters
//   expressions.c every form of expression; arithmetic.c: what operators do
//   operations.c  the language's own functions
#ifndef SLUICE_FRONT_ELAB_H
#define SLUICE_FRONT_ELAB_H

#include "front/program.h"

typedef struct Binding {
    Str name;
    Value value;
    Place at;         // of a size that a type bound: the argument that it comes from
    const Node *from; // that argument
} Binding;

#define ELAB_MOST_SEEN 64 // blocks whose parameters a hint may name

// A named argument on its way along `..` until somebody takes it.
typedef struct RestArg {
    Str name;
    Value value;
    Place at;
    bool is_taken;
    bool is_hidden;           // somewhere another argument of this name took its place
    bool from_model;          // given to the model, so that a setting can give it
    VEC(const Params *) seen; // whose parameters it was offered to
    VEC(const Operation *) seen_operations;
} RestArg;

// Blocks that `..` came through: their own parameters go no further.
typedef struct Passed {
    const struct Passed *up;
    const Params *params;
} Passed;

// What a block's `..` holds.
typedef struct Rest {
    VEC(RestArg *) args;
    bool from_model; // the model's own `..` leads here
    const Passed *passed;
} Rest;

// The names of a call's body: those of Elab's bindings from `base` on. The innermost scope alone
// gets new ones, so one stack holds all. The taken branch of an `if` has no names of its own, a
// `for` body drops its own after each turn.
typedef struct Scope {
    const Unit *unit;
    const Rest *rest; // NULL: the block does not end with `..`
    size_t base;
} Scope;

// A call that is running.
typedef struct Frame {
    const struct Frame *up;
    Place at;
    const Function *function;
} Frame;

// Where faults of a graph operation are placed: the call, and each of its arguments.
typedef struct Site {
    const char *name; // NULL: an operator
    Place at;
    const Place *args; // [nargs]
    size_t nargs;
} Site;

typedef struct StoredParam {
    Node *node;
    Place at; // the user's line that reached it first
} StoredParam;

// A symbol that the command line fixes.
typedef struct Fixed {
    Str name;
    int64_t value;
    Place at;
    bool is_used;
    const RestArg *rest; // the same number as an option, or NULL
} Fixed;

typedef struct Without {
    Str name;
    Place at;
    bool is_used;
} Without;

// A layout of which some size was read.
typedef struct LayoutUse {
    const Layout *layout;
    bool is_read[LAYOUT_ntags];
} LayoutUse;

typedef struct Elab {
    Arena *perm; // the result, and every value
    Arena *tmp;  // what the statements that are running need
    Diag *dx;
    const Program *program;
    Graph *graph;
    Builder builder;
    VEC(Binding) bindings; // of all scopes, innermost last
    const Site *site;      // of the graph operation being added
    const Frame *frame;    // innermost call
    size_t ncalls;
    size_t steps;
    bool is_stopped; // a limit is exceeded: unwind
    Str prefix;      // path of the call that is running
    bool is_shared;  // that call or one around it says so
    Map params;      // path → StoredParam
    Map inputs;      // name → anything
    Map outputs;
    Map layouts;   // the bytes of a layout's address → LayoutUse
    Names symbols; // met in the inputs' types, fixed ones too
    VEC(Fixed) fixed;
    VEC(Without) without;
    VEC(FrontOption) options;
    const Layout *refused; // last to lack a number that was asked for
    size_t nerrors;        // before this elaboration
} Elab;

// ---- elaborate.c ----

// At the user's own line: a fault in the library is placed at the innermost call that stands in the
// user's file, and the library's place becomes a note that says `note`.
__attribute__((format(printf, 4, 5))) Value elab_fail(Elab *e, Place at, const char *note,
                                                      const char *format, ...);
#define elab_error(e, at, ...) elab_fail((e), (at), "here", __VA_ARGS__)
// The user's own line for a place in the library; the place itself if there is none.
Place elab_user_place(const Elab *e, Place at);
// Counts work; false once there was too much.
bool elab_step(Elab *e, Place at, size_t n);
// For one ir_… call that adds nodes, failures placed as `site` says.
Builder *elab_builder(Elab *e, const Site *site);
// The node as a value; NULL, an error that was reported, and too many nodes are errors.
Value elab_made(Elab *e, Node *node, Place at);
// "whether … is not known; fix it with …"
Str elab_undecided(Elab *e, const Condition *condition);
// Numbers where nothing is left to know; NULL: over 64 bits, which is reported.
Value elab_size(Elab *e, const Size *size, Place at);
// With what the checks declared put in.
Value elab_simplify(Elab *e, Value v);

// ---- statements.c ----

typedef enum Flow {
    FLOW_next,
    FLOW_return, // a value is returned
    FLOW_failed  // a message was written
} Flow;

Scope scope_new(const Elab *e, const Unit *unit, const Rest *rest);
Binding *scope_find(const Elab *e, const Scope *scope, Str name); // NULL if the name is not bound
// Binds it anew where it is bound, else here.
void scope_bind(Elab *e, const Scope *scope, Str name, Value value);
Flow elab_body(Elab *e, const StmtList *body, const Scope *scope, Value *result);

// ---- calls.c ----

typedef struct GivenArg {
    Str name; // empty: positional
    Value value;
    Place at;
} GivenArg;

typedef struct Args {
    VEC(GivenArg) list; // positional ones first
    size_t npositional;
    const Rest *rest; // passed on; NULL: none
} Args;

// False after errors.
bool elab_arguments(Elab *e, const Expr *call, const Scope *scope, Args *out);
// Calls what `callee` is; parameters inside are named under `path`.
Value elab_call(Elab *e, const Expr *call, Value callee, const Scope *scope, const Expr *as);
// Runs a block's or a model's body.
Value elab_apply(Elab *e, const Function *f, const Args *args, Place at, Str path, bool is_shared);
// The value of a bare word of the command line, for a parameter whose default is a text or not.
Value elab_word(Elab *e, Value v, bool is_text);
// Notes a parameter that a setting could give, for `options`: an own one of the model (`rest`
// NULL), or one that the model's `..` leads to. The default is `fallback` or the text `value`.
void elab_offer(Elab *e, const Rest *rest, FrontOption option, const Expr *fallback);

// ---- types.c ----

// Checks an argument against its parameter's type and binds the sizes that the type names.
bool elab_match(Elab *e, const Param *param, Value value, Place at, const Scope *scope, Str callee);
// The type of an input (new names are symbols) or a parameter; false after errors.
bool elab_type(Elab *e, const TypeRef *ref, const Scope *scope, bool is_input, Type *out);

// ---- expressions.c ----

Value elab_eval(Elab *e, const Expr *x, const Scope *scope);
// A condition that must be decided now.
bool elab_truth(Elab *e, const Expr *x, const Scope *scope, bool *out);
// A check's text with `{name}` and `{name.field}` put in.
bool elab_text(Elab *e, const Expr *x, const Scope *scope, Str *out);
// `outer.inner`, or the one that is not empty. False where that is too long.
bool elab_join_path(Elab *e, Str outer, Str inner, Place at, Str *out);
// The pieces of a path joined by dots.
bool elab_path(Elab *e, const Path *path, const Scope *scope, Place at, Str *out);

// ---- arithmetic.c ----

Value elab_binary(Elab *e, const Expr *x, Value a, const Scope *scope);
Value elab_minus(Elab *e, Place at, Value v);
Value elab_not(Elab *e, Place at, Value v);
// The element type in which two tensors, numbers or bools meet: a tensor's, else f32 if one is a
// float.
DType elab_common_type(Value a, Value b);
// A number or bool among tensors of a type: a tensor of rank 0.
Node *elab_constant(Elab *e, const Site *site, Value v, DType dtype);
// Two numbers or tensors through an elementwise function, at least one a tensor or a size.
Value elab_map2(Elab *e, const Site *site, Scalar fn, Value a, Value b);

// ---- model.c ----

typedef struct ModelCall {
    const Function *f;
    Args args;
    Place at;
} ModelCall;

// Elaborates a model, or what `model x = f(…)` says, into e->graph. False after errors.
bool elab_model(Elab *e, ModelCall *call, const FrontOptions *options);

// ---- operations.c ----

const Operation *operation_find(Str name);
void operation_names(Arena *arena, Names *out);
void operation_params(Arena *arena, const Operation *op, Names *out);
Value elab_operation(Elab *e, const Function *f, const Args *args, Place at);

#endif
