// Errors, limits and graph building for the elaborator: what all its parts use.
#include "front/elab.h"

#include "front/limits.h"

static bool in_library(Place at) { return at.source && at.source->is_std; }

// The innermost call that stands in a user's file, NULL if there is none.
static const Frame *user_frame(const Elab *e)
{
    const Frame *frame = e->frame;
    while (frame && in_library(frame->at))
        frame = frame->up;
    return frame;
}

Place elab_user_place(const Elab *e, Place at)
{
    const Frame *frame = in_library(at) ? user_frame(e) : NULL;
    return frame ? frame->at : at;
}

Value elab_fail(Elab *e, Place at, const char *note, const char *format, ...)
{
    Buf message = {.arena = e->perm};
    va_list args;
    va_start(args, format);
    buf_vformat(&message, format, args);
    va_end(args);
    Str text = buf_str(&message);
    const Frame *frame = user_frame(e);
    if (in_library(at) && frame) {
        diag_error(e->dx, frame->at, "%.*s: %.*s", STR_ARG(frame->function->name), STR_ARG(text));
        diag_note(e->dx, at, "%s", note);
    } else {
        diag_error(e->dx, at, "%.*s", STR_ARG(text));
        // Which call it was matters in a block of the user's own; a model is called by nobody else.
        if (frame && frame->function->item->kind == ITEM_block)
            diag_note(e->dx, frame->at, "called here");
    }
    e->is_stopped = e->is_stopped || diag_full(e->dx);
    return value_error();
}

bool elab_step(Elab *e, Place at, size_t n)
{
    if (e->is_stopped)
        return false;
    e->steps += n;
    if (e->steps <= LIMIT_STEPS)
        return true;
    elab_error(e, at, "this model takes more than %d steps to elaborate", LIMIT_STEPS);
    e->is_stopped = true;
    return false;
}

// ---- the graph ----

static void report_failure(void *ctx, int arg, Str message)
{
    Elab *e = ctx;
    const Site *site = e->site;
    Place at = site->at;
    if (arg >= 0 && (size_t)arg < site->nargs && site->args[arg].source)
        at = site->args[arg];
    if (site->name)
        elab_error(e, at, "%s: %.*s", site->name, STR_ARG(message));
    else
        elab_error(e, at, "%.*s", STR_ARG(message));
}

Builder *elab_builder(Elab *e, const Site *site)
{
    e->site = site;
    e->builder = (Builder){e->graph, elab_user_place(e, site->at), report_failure, e};
    return &e->builder;
}

Value elab_made(Elab *e, Node *node, Place at)
{
    size_t weight = 0; // of the sizes, all of which were looked at
    for (size_t i = 0; node && i < node->type.rank; i++)
        weight += node->type.shape[i]->weight;
    elab_step(e, at, weight);
    if (node && e->graph->nodes.n > LIMIT_NODES && !e->is_stopped) {
        elab_error(e, at, "more than %d operations", LIMIT_NODES);
        e->is_stopped = true;
    }
    return e->is_stopped ? value_error() : value_tensor(node);
}

// ---- sizes ----

Str elab_undecided(Elab *e, const Condition *condition)
{
    return ir_undecided(e->graph, condition->op, condition->left, condition->right);
}

Value elab_size(Elab *e, const Size *size, Place at)
{
    if (!size)
        return elab_error(e, at, "a size does not fit in 64 bits, or is too long");
    return value_size(size);
}

Value elab_simplify(Elab *e, Value v)
{
    if (v.kind != VALUE_size)
        return v;
    const Size *size = size_simplify(e->perm, v.size, e->graph->facts);
    return size ? value_size(size) : v;
}
