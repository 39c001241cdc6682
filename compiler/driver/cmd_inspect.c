// inspect: what a compiled model says of itself. It is opened, but not run.
#include "driver/run.h"
#include "runtime/abi.h"

#include <dlfcn.h>
#include <string.h>

static const OptionId options[] = {OPT_show, OPT_output};

typedef enum Show {
    SHOW_steps,
    SHOW_weights,
    SHOW_spec,
    SHOW_graph,
    SHOW_prepare,
    SHOW_notes,
    SHOW_count,
} Show;

static const char *const show_names[SHOW_count] = {"steps", "weights", "spec",
                                                   "graph", "prepare", "notes"};

typedef struct Inspection {
    Call *call;
    SlModel *model; // NULL: this machine cannot run it
    void *handle;   // of the shared object then
    const SlAbiModel *table;
    const SlAbiVariant *variant; // the one that this machine would run, or the first
    Buf text;
} Inspection;

// The i-th of an array whose elements say how large they are.
static const void *at(const void *array, uint32_t i)
{
    uint32_t size;
    memcpy(&size, array, sizeof size);
    return (const char *)array + (size_t)i * size;
}

// ---- sizes ----

// One step of postfix code over a stack of n sizes. False: it is no such code.
static bool apply(Arena *arena, const SlAbiEntry *entry, const SlAbiInst *inst, const Size **stack,
                  size_t *n)
{
    if (inst->op == SL_X_CONST) {
        stack[(*n)++] = size_int(arena, inst->value);
        return true;
    }
    if (inst->op == SL_X_SYMBOL) {
        if (inst->value < 0 || inst->value >= entry->nsymbols) {
            return false;
        }
        const SlAbiSymbol *symbol = at(entry->symbols, (uint32_t)inst->value);
        stack[(*n)++] = size_symbol(arena, str_from(symbol->name));
        return true;
    }
    if (*n < 2) {
        return false;
    }
    const Size *y = stack[--*n];
    const Size *x = stack[--*n];
    int64_t d = 0;
    stack[(*n)++] = inst->op == SL_X_ADD                    ? size_add(arena, x, y)
                    : inst->op == SL_X_MUL                  ? size_mul(arena, x, y)
                    : y && size_is_int(y, &d) && x && d > 0 ? size_div(arena, x, d)
                                                            : NULL;
    return true;
}

// Postfix code as a size, to be printed; NULL if it does not fit.
static const Size *size_of(Arena *arena, const SlAbiEntry *entry, const SlAbiExpr *expr)
{
    const Size **stack = arena_new(arena, const Size *, expr->n + 1);
    size_t n = 0;
    for (uint64_t i = 0; i < expr->n; i++) {
        if (!apply(arena, entry, &expr->code[i], stack, &n)) {
            return NULL;
        }
    }
    return n == 1 ? stack[0] : NULL;
}

static void print_expr(Inspection *in, const SlAbiEntry *entry, const SlAbiExpr *expr)
{
    const Size *size = size_of(in->call->arena, entry, expr);
    if (size) {
        size_print(&in->text, size);
    } else {
        buf_char(&in->text, '?');
    }
}

// ---- the summary ----

static const char *const dtype_names[] = {
    [SL_ABI_F32] = "f32", [SL_ABI_I32] = "i32", [SL_ABI_BOOL] = "bool"};

static void print_type(Inspection *in, const SlAbiEntry *entry, const SlAbiIo *io)
{
    buf_add(&in->text, str_from(dtype_names[io->dtype]));
    for (uint32_t i = 0; i < io->rank; i++) {
        buf_add(&in->text, i > 0 ? STR(", ") : STR("["));
        print_expr(in, entry, &io->shape[i]);
    }
    buf_add(&in->text, io->rank > 0 ? STR("]") : STR(""));
}

static void print_io(Inspection *in, const SlAbiEntry *entry, const char *kind, const SlAbiIo *io)
{
    buf_format(&in->text, "  %-8s%s : ", kind, io->name);
    print_type(in, entry, io);
    if (io->flags & SL_IO_RANGE) {
        buf_format(&in->text, " in %lld .. %lld", (long long)io->low, (long long)io->high);
    }
    if (io->flags & SL_IO_DEFAULT) {
        buf_format(&in->text, " = %g, may be left out", io->fill);
    }
    buf_char(&in->text, '\n');
}

static void print_check(Inspection *in, const SlAbiEntry *entry, const SlAbiCheck *check)
{
    static const char *const ops[] = {
        [SL_CHECK_EQ] = "==", [SL_CHECK_LE] = "<=", [SL_CHECK_LT] = "<", [SL_CHECK_NE] = "!="};
    buf_add(&in->text, STR("  check   "));
    print_expr(in, entry, &check->left);
    buf_format(&in->text, " %s ", ops[check->op]);
    print_expr(in, entry, &check->right);
    buf_format(&in->text, ", \"%s\"\n", check->text);
}

static void print_entry(Inspection *in, const SlAbiEntry *entry)
{
    Buf *text = &in->text;
    buf_format(text, "\nEntry %s\n", entry->name);
    for (uint32_t i = 0; i < entry->nsymbols; i++) {
        const SlAbiSymbol *symbol = at(entry->symbols, i);
        buf_format(text, "  size    %s, at least %lld", symbol->name, (long long)symbol->low);
        if (symbol->high != INT64_MAX) {
            buf_format(text, ", at most %lld", (long long)symbol->high);
        }
        buf_char(text, '\n');
    }
    for (uint32_t i = 0; i < entry->ninputs; i++) {
        print_io(in, entry, "input", at(entry->inputs, i));
    }
    for (uint32_t i = 0; i < entry->noutputs; i++) {
        print_io(in, entry, "output", at(entry->outputs, i));
    }
    for (uint32_t i = 0; i < entry->nchecks; i++) {
        print_check(in, entry, at(entry->checks, i));
    }
    buf_format(text, "  steps   %u\n  memory  ", entry->nsteps);
    print_expr(in, entry, &entry->arena_bytes);
    buf_add(text, STR(" bytes, and "));
    print_expr(in, entry, &entry->scratch_bytes);
    buf_add(text, STR(" a thread\n"));
}

// Tables may be from before there were notes.
static const char *notes_of(const SlAbiModel *table)
{
    const char *notes = table->size >= sizeof *table ? table->notes : NULL;
    return notes ? notes : "";
}

static void print_notes(Inspection *in)
{
    for (const char *line = notes_of(in->table); *line;) {
        size_t length = strcspn(line, "\n");
        buf_format(&in->text, "  note      %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_summary(Inspection *in)
{
    static const char *const places[] = {[SL_WEIGHTS_NONE] = "none",
                                         [SL_WEIGHTS_APPENDED] = "in this file",
                                         [SL_WEIGHTS_BESIDE] = "beside it"};
    const SlAbiModel *table = in->table;
    Buf *text = &in->text;
    buf_format(text, "Model %s\n  built by  %s%s%s\n  for      ", table->name, table->compiler,
               table->flags[0] ? " with " : "", table->flags);
    for (uint32_t i = 0; i < table->nvariants; i++) {
        const SlAbiVariant *variant = at(table->variants, i);
        buf_format(text, "%s %s", i > 0 ? "," : "", variant->target);
    }
    buf_format(text, "\n  weights   %u constants, ", table->nweights);
    text_bytes(text, table->weights_bytes);
    buf_format(text, ", %s\n", places[table->weights_place]);
    print_notes(in);
    for (uint32_t i = 0; i < in->variant->nentries; i++) {
        print_entry(in, at(in->variant->entries, i));
    }
}

// ---- parts of it ----

static void print_operand(Inspection *in, const SlAbiEntry *entry, const SlAbiOperand *operand)
{
    Buf *text = &in->text;
    const SlAbiIo *io = NULL;
    switch (operand->kind) {
    case SL_OPERAND_INPUT: io = at(entry->inputs, operand->index); break;
    case SL_OPERAND_OUTPUT: io = at(entry->outputs, operand->index); break;
    default: break;
    }
    static const char *const kinds[] = {[SL_OPERAND_INPUT] = "input",
                                        [SL_OPERAND_OUTPUT] = "output",
                                        [SL_OPERAND_ARENA] = "memory",
                                        [SL_OPERAND_WEIGHTS] = "weights",
                                        [SL_OPERAND_STATE] = "state"};
    buf_format(text, "    %s %s", kinds[operand->kind], io ? io->name : "at ");
    if (!io) {
        print_expr(in, entry, &operand->offset);
    }
    buf_char(text, '\n');
}

static void print_steps(Inspection *in)
{
    for (uint32_t e = 0; e < in->variant->nentries; e++) {
        const SlAbiEntry *entry = at(in->variant->entries, e);
        for (uint32_t i = 0; i < entry->nsteps; i++) {
            const SlAbiStep *step = at(entry->steps, i);
            buf_format(&in->text, "%u %s in ", i, step->name);
            print_expr(in, entry, &step->parts);
            buf_add(&in->text, STR(" parts\n"));
            for (uint32_t k = 0; k < step->noperands; k++) {
                print_operand(in, entry, at(step->operands, k));
            }
        }
    }
}

static void print_weights(Inspection *in)
{
    for (uint32_t i = 0; i < in->table->nweights; i++) {
        const SlAbiWeight *weight = at(in->table->weights, i);
        buf_format(&in->text, "%10llu  %016llx  %s : %s", (unsigned long long)weight->offset,
                   (unsigned long long)weight->hash, weight->name, dtype_names[weight->dtype]);
        for (uint32_t k = 0; k < weight->rank; k++) {
            buf_format(&in->text, k > 0 ? ", %lld" : "[%lld", (long long)weight->shape[k]);
        }
        buf_format(&in->text, "%s %s\n", weight->rank > 0 ? "]" : "", weight->layout);
    }
}

static void print_text(Inspection *in, const char *text)
{
    buf_add(&in->text, str_from(text ? text : ""));
    if (in->text.len > 0 && in->text.ptr[in->text.len - 1] != '\n') {
        buf_char(&in->text, '\n');
    }
}

static void print_part(Inspection *in, Show show)
{
    switch (show) {
    case SHOW_steps: print_steps(in); return;
    case SHOW_weights: print_weights(in); return;
    case SHOW_spec: print_text(in, in->table->spec); return;
    case SHOW_graph: print_text(in, in->table->graph); return;
    case SHOW_prepare: print_text(in, in->table->prepare); return;
    case SHOW_notes: print_text(in, notes_of(in->table)); return;
    case SHOW_count: break;
    }
    print_summary(in);
}

// ---- opening ----

static const SlAbiVariant *chosen_variant(const SlAbiModel *table, const char *target)
{
    for (uint32_t i = 0; i < table->nvariants; i++) {
        const SlAbiVariant *variant = at(table->variants, i);
        if (strcmp(variant->target, target) == 0) {
            return variant;
        }
    }
    die("the model has no variant %s", target);
}

// A model for another machine of this kind can be looked at: the table names no instruction set.
static bool open_table(Inspection *in)
{
    const char *path = in->call->operand;
    Str file = strchr(path, '/') ? str_from(path) : str_format(in->call->arena, "./%s", path);
    SlAbiQuery query = NULL;
    in->handle = dlopen(str_cstr(in->call->arena, file), RTLD_NOW | RTLD_LOCAL);
    void *symbol = in->handle ? dlsym(in->handle, SL_QUERY_NAME) : NULL;
    memcpy(&query, &symbol, sizeof query); // ISO C has no conversion from a data pointer
    in->table = query ? query(SL_ABI_VERSION) : NULL;
    in->variant = in->table && in->table->nvariants > 0 ? in->table->variants : NULL;
    return in->variant != NULL;
}

static bool open_model(Inspection *in)
{
    SlError error;
    SlStatus status = sl_model_open(in->call->operand, NULL, &in->model, &error);
    if (status == SL_OK) {
        in->table = sl_model_table(in->model);
        in->variant = chosen_variant(in->table, sl_model_text(in->model, SL_TEXT_TARGET));
        return true;
    }
    if (status == SL_E_CPU && open_table(in)) {
        diag_note(in->call->dx, (Place){0}, "it does not run here: %s", error.text);
        return true;
    }
    native_report(in->call, &error);
    return false;
}

static void close_model(Inspection *in)
{
    sl_model_close(in->model);
    if (in->handle) {
        dlclose(in->handle);
    }
}

static bool run(Call *call)
{
    Inspection in = {.call = call, .text = {.arena = call->arena}};
    size_t show = SHOW_count;
    if (!option_choice(call, OPT_show, show_names, SHOW_count, &show)) {
        return false;
    }
    bool ok = open_model(&in);
    if (ok) {
        print_part(&in, (Show)show);
    }
    close_model(&in);
    return ok && command_write(call, buf_str(&in.text));
}

const Command command_inspect = {
    .name = "inspect",
    .operand = "OUT.so",
    .summary = "shows what a compiled model is, without running it",
    .help =
        "Shows what a compiled model says of itself: inputs, outputs, sizes, checks, memory,\n"
        "what it was built from and for. --show gives one part alone: its steps with what they\n"
        "read and write, its weights as stored, the text it was built from, its optimised\n"
        "graph, how its weights come from the model's parameters, or notes for its callers.\n"
        "\n"
        "A model is code: inspect only files you trust.\n",
    .examples = "  sluice inspect model.so\n"
                "  sluice inspect model.so --show graph\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
