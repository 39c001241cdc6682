// The front end's doors: elaborating on a stack of its own, listing models, printing a tree.
#include "front/front.h"

#include "front/elab.h"
#include "front/lexer.h"
#include "front/parse.h"

#include <pthread.h>
#include <string.h>

// Calls, nesting and chains are bounded (limits.h): 100 calls, each 200 levels deep, a level a few
// hundred bytes.
#define STACK_BYTES ((size_t)64 << 20)

typedef struct Job {
    Arena *arena;
    Diag *dx;
    const FrontSpec *spec;
    const FrontOptions *options;
    FrontReport *report;
    Graph *graph;
} Job;

bool front_is_layout(Str spec)
{
    bool is_path = false;
    for (size_t i = 0; i < spec.len; i++)
        is_path = is_path || spec.ptr[i] == '/' || spec.ptr[i] == '.' || spec.ptr[i] == ':';
    return layout_starts(spec) && !is_path;
}

static Place spec_place(Arena *arena, Str text)
{
    return (Place){diag_source(arena, STR("<command line>"), text, false), 0, (uint32_t)text.len};
}

// ---- which model ----

static Str list_models(Arena *arena, const Names *models)
{
    enum { MOST_SHOWN = 10 };
    Buf buf = {.arena = arena};
    for (size_t i = 0; i < models->n && i < MOST_SHOWN; i++)
        buf_format(&buf, "%s%.*s", i ? ", " : "", STR_ARG(models->items[i]));
    if (models->n > MOST_SHOWN)
        buf_add(&buf, STR(", …"));
    return buf_str(&buf);
}

static bool find_only_model(const Job *job, const Program *program, Str *name)
{
    Arena *a = job->arena;
    Names models = {0};
    program_models(program, &models);
    Str file = job->spec->file->name;
    if (models.n == 1) {
        *name = models.items[0];
        return true;
    }
    if (models.n == 0)
        diag_error(job->dx, spec_place(a, file), "%.*s has no model", STR_ARG(file));
    else
        diag_error(job->dx, spec_place(a, file), "%.*s has %zu models: %.*s; name one: %.*s:%.*s",
                   STR_ARG(file), models.n, STR_ARG(list_models(a, &models)), STR_ARG(file),
                   STR_ARG(models.items[0]));
    return false;
}

static bool find_named_model(const Job *job, const Program *program, ModelCall *call)
{
    Arena *a = job->arena;
    Str name = job->spec->model;
    Str file = job->spec->file->name;
    if (name.len == 0 && !find_only_model(job, program, &name))
        return false;
    Found found = program_find(program, program->main, name);
    if (!found.item || found.item->kind != ITEM_model) {
        Names models = {0};
        program_models(program, &models);
        Str text = str_format(a, "%.*s:%.*s", STR_ARG(file), STR_ARG(name));
        Place at = spec_place(a, text);
        at.begin = (uint32_t)file.len + 1;
        diag_error(job->dx, at, "no model `%.*s`%.*s", STR_ARG(name),
                   STR_ARG(name_hint(a, name, &models)));
        return false;
    }
    Function *f = arena_new(a, Function, 1);
    *f = (Function){name, found.item, found.unit, NULL};
    call->f = f;
    call->at = found.item->name.at;
    return true;
}

// A bare layout is the only argument of its family's model.
static bool find_family_model(const Job *job, const Program *program, ModelCall *call)
{
    Arena *a = job->arena;
    Place at = spec_place(a, job->spec->layout);
    const Layout *layout = layout_parse(a, job->dx, at);
    if (!layout)
        return false;
    Found family = program_find_family(program, layout->family);
    Found found = {0};
    if (family.item)
        found = program_find(program, family.unit, family.item->target.text);
    if (!found.item || found.item->kind != ITEM_model) {
        Names letters = {0};
        program_families(program, &letters);
        Str hint = name_list_hint(a, (Str){&layout->family, 1}, &letters);
        diag_error(job->dx, at, "layout %.*s: no family `%c`%.*s", STR_ARG(layout->text),
                   layout->family, STR_ARG(hint));
        return false;
    }
    Function *f = arena_new(a, Function, 1);
    *f = (Function){found.item->name.text, found.item, found.unit, NULL};
    call->f = f;
    call->at = at;
    GivenArg given = {.value = {.kind = VALUE_layout, .layout = layout}, .at = at};
    vec_push(a, &call->args.list, given);
    call->args.npositional = 1;
    return true;
}

// ---- elaborating ----

static void report_model(const Elab *e, const ModelCall *call, FrontReport *report)
{
    report->model = call->f->name;
    report->options = e->options.items;
    report->noptions = e->options.n;
}

static void elaborate(Job *job, Arena *tmp)
{
    Arena *a = job->arena;
    static const FrontOptions no_options;
    size_t nerrors = diag_nerrors(job->dx);
    Program program = {.arena = a, .dx = job->dx, .reader = job->spec->reader};
    ModelCall call = {0};
    if (!program_load(&program, job->spec->file))
        return;
    if (!(job->spec->file ? find_named_model(job, &program, &call)
                          : find_family_model(job, &program, &call)))
        return;
    Elab e = {.perm = a,
              .tmp = tmp,
              .dx = job->dx,
              .program = &program,
              .graph = graph_create(a, call.f->name),
              .params = {.arena = a},
              .inputs = {.arena = a},
              .layouts = {.arena = a},
              .outputs = {.arena = a},
              .nerrors = nerrors};
    if (!elab_model(&e, &call, job->options ? job->options : &no_options))
        return;
    job->graph = e.graph;
    if (job->report)
        report_model(&e, &call, job->report);
}

static void *run_job(void *ctx)
{
    Arena *tmp = arena_create();
    elaborate(ctx, tmp);
    arena_destroy(tmp);
    return NULL;
}

Graph *front_elaborate(Arena *arena, Diag *dx, const FrontSpec *spec, const FrontOptions *options,
                       FrontReport *report)
{
    if (diag_full(dx)) // nothing more would be said of it
        return NULL;
    Job job = {arena, dx, spec, options, report, NULL};
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
        error = error ? error : pthread_create(&thread, &attributes, run_job, &job);
        pthread_attr_destroy(&attributes);
    }
    if (error) {
        diag_fail(dx, "cannot start a thread: %s", strerror(error));
        return NULL;
    }
    pthread_join(thread, NULL);
    return job.graph;
}

// ---- without elaborating ----

static const File *parse_text(Arena *arena, Diag *dx, const FrontFile *file)
{
    if (diag_full(dx))
        return NULL;
    return parse_file(arena, dx, diag_source(arena, file->name, file->text, false));
}

const Str *front_models(Arena *arena, Diag *dx, const FrontFile *file, size_t *n)
{
    const File *tree = parse_text(arena, dx, file);
    Names models = {0};
    for (size_t i = 0; tree && i < tree->items.n; i++) {
        if (tree->items.items[i]->kind == ITEM_model)
            vec_push(arena, &models, tree->items.items[i]->name.text);
    }
    *n = models.n;
    return models.items;
}

bool front_print_ast(Arena *arena, Diag *dx, const FrontFile *file, Buf *out)
{
    const File *tree = parse_text(arena, dx, file);
    if (tree)
        ast_print(out, tree);
    return tree != NULL;
}
