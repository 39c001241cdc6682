// dump: a model as text, at any stage of its compilation.
#include "driver/command.h"
#include "driver/progress.h"

#include <string.h>

static const OptionId options[] = {OPT_stage,  OPT_after,   OPT_seq,   OPT_set,         OPT_without,
                                   OPT_target, OPT_disable, OPT_level, OPT_verify_each, OPT_output};

typedef enum Stage {
    STAGE_ast,
    STAGE_graph,
    STAGE_loops,
    STAGE_program,
    STAGE_llvm,
    STAGE_asm,
    STAGE_count
} Stage;

static const char *const stage_names[STAGE_count] = {"ast",     "graph", "loops",
                                                     "program", "llvm",  "asm"};

typedef struct Dump {
    Call *call;
    CompileOptions compile;
    Stage stage;
    bool has_after;
    PassId after;
    Buf text;
} Dump;

// ---- what is asked for ----

static bool read_after(Dump *d)
{
    const char *text = option_text(d->call, OPT_after);
    Str names[PASS_count];
    if (!text) {
        return true;
    }
    for (size_t i = 0; i < PASS_count; i++) {
        names[i] = str_from(pass_info((PassId)i)->name);
    }
    if (!pass_from_name(str_from(text), &d->after)) {
        Str hint = str_hint(d->call->arena, str_from(text), names, PASS_count);
        return command_wrong(d->call, "--after: there is no pass `%s`%.*s", text, STR_ARG(hint));
    }
    const PassInfo *info = pass_info(d->after);
    if (!info->is_stage && (d->compile.only_stages || d->compile.disabled[d->after])) {
        return command_wrong(d->call, "--after: the pass `%s` is switched off", text);
    }
    Stage stage = info->is_graph ? STAGE_graph : STAGE_program;
    if (option_given(d->call, OPT_stage) && d->stage != stage) {
        return command_wrong(d->call, "--after: after `%s` there is the %s, not --stage %s", text,
                             stage_names[stage], stage_names[d->stage]);
    }
    d->stage = stage;
    d->has_after = true;
    return true;
}

static bool read_options(Dump *d)
{
    Call *call = d->call;
    size_t stage = 0;
    if (!command_compile(call, &d->compile) ||
        !option_choice(call, OPT_stage, stage_names, STAGE_count, &stage)) {
        return false;
    }
    d->stage = (Stage)stage;
    if (!option_given(call, OPT_stage) && !option_given(call, OPT_after)) {
        return command_wrong(call, "dump needs --stage ast, graph, loops, program, llvm or asm, "
                                   "or --after PASS");
    }
    if (!read_after(d)) {
        return false;
    }
    // The tree is what stands in the file; the graph is the model before any pass.
    bool is_early = d->stage == STAGE_ast || (d->stage == STAGE_graph && !d->has_after);
    for (size_t i = 0; i < call->command->noptions; i++) {
        OptionId id = options[i];
        bool is_of_graph = id == OPT_seq || id == OPT_set || id == OPT_without;
        bool is_general = id == OPT_stage || id == OPT_output || id == OPT_after;
        if (option_given(call, id) && !is_general && is_early &&
            !(is_of_graph && d->stage == STAGE_graph)) {
            command_ineffective(call, id,
                                d->stage == STAGE_ast
                                    ? "the tree is what stands in the file"
                                    : "the graph is shown before any pass; see --after");
        }
    }
    return true;
}

// ---- the stages ----

static bool dump_ast(Dump *d)
{
    FrontFile file;
    return spec_read(d->call->arena, d->call->dx, d->call->operand, &file) &&
           front_print_ast(d->call->arena, d->call->dx, &file, &d->text);
}

static bool dump_graph(Dump *d)
{
    Spec spec;
    if (!spec_load(d->call->arena, d->call->dx, d->compile.spec, &d->compile.front, &spec)) {
        return false;
    }
    graph_print(&d->text, spec.graph);
    return true;
}

static void keep_graph(void *ctx, PassId id, const Graph *graph)
{
    Dump *d = ctx;
    if (id == d->after) {
        graph_print(&d->text, graph);
    }
}

static void keep_program(void *ctx, PassId id, const Program *program)
{
    Dump *d = ctx;
    if (id == d->after) {
        program_print(&d->text, program);
    }
}

static bool dump_compiled(Dump *d)
{
    Arena *arena = d->call->arena;
    Diag *dx = d->call->dx;
    Compiled c;
    if (d->has_after) {
        d->compile.after = keep_graph;
        d->compile.after_program = keep_program;
        d->compile.ctx = d;
    }
    if (!compile_program(arena, dx, &d->compile, &c)) {
        return false;
    }
    switch (d->stage) {
    case STAGE_loops:
        for (size_t i = 0; i < c.program->kernels.n; i++) {
            kernel_print(&d->text, c.program->kernels.items[i]);
        }
        return true;
    case STAGE_program:
        if (!d->has_after) {
            program_print(&d->text, c.program);
        }
        return true;
    case STAGE_llvm: return compile_emit(arena, dx, &d->compile, &c, CODEGEN_llvm, &d->text);
    case STAGE_asm: return compile_emit(arena, dx, &d->compile, &c, CODEGEN_asm, &d->text);
    case STAGE_graph: return true;
    case STAGE_ast:
    case STAGE_count: break;
    }
    die("dump of stage %d", (int)d->stage);
}

static bool run(Call *call)
{
    Dump d = {.call = call, .text = {.arena = call->arena}};
    if (!read_options(&d)) {
        return false;
    }
    bool ok = d.stage == STAGE_ast                     ? dump_ast(&d)
              : d.stage == STAGE_graph && !d.has_after ? dump_graph(&d)
                                                       : dump_compiled(&d);
    progress(NULL);
    return ok && command_write(call, buf_str(&d.text));
}

const Command command_dump = {
    .name = "dump",
    .operand = "SPEC",
    .summary = "shows a model at a stage of its compilation",
    .help =
        "Prints a model as text, as it is at one stage of its compilation:\n"
        "  ast        the parsed file, as source text\n"
        "  graph      tensors, before any pass; --after PASS: behind that one (opt --help lists\n"
        "             them)\n"
        "  loops      the kernels\n"
        "  program    constants, buffers, kernels and steps: what a model file holds\n"
        "  llvm, asm  the code\n"
        "No weights are needed for any of it. Graphs are read again by every command, as "
        "FILE.ir.\n",
    .examples = "  sluice dump model.slu --seq 128 --stage graph -o model.ir\n"
                "  sluice dump B6-6-6H768 --seq 128 --after fuse\n"
                "  sluice dump model.slu --seq 128 --stage asm --target x86-64-v4\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
