// run: a compiled model once, or a SPEC through the evaluator; shows, writes or compares outputs.
#include "driver/run.h"
#include "io/file.h"

#include <sys/stat.h>

static const OptionId options[] = {OPT_input,     OPT_random_input, OPT_size, OPT_output,
                                   OPT_expect,    OPT_atol,         OPT_rtol, OPT_threads,
                                   OPT_reference, OPT_weights,      OPT_map,  OPT_strict,
                                   OPT_random,    OPT_seq,          OPT_set,  OPT_without};

// ---- what is asked for ----

int64_t run_size(const RunOptions *o, Str name, int64_t low)
{
    for (size_t i = 0; i < o->nsizes; i++) {
        if (str_equal(o->sizes[i].name, name)) {
            return o->sizes[i].value;
        }
    }
    return low;
}

bool run_check_sizes(Call *call, const RunOptions *o, const Str *names, size_t n)
{
    for (size_t i = 0; i < o->nsizes; i++) {
        bool is_known = false;
        for (size_t k = 0; k < n; k++) {
            is_known = is_known || str_equal(o->sizes[i].name, names[k]);
        }
        if (!is_known) {
            Str hint = str_hint(call->arena, o->sizes[i].name, names, n);
            return command_wrong(call, "--size: the model has no free size `%.*s`%.*s",
                                 STR_ARG(o->sizes[i].name), STR_ARG(hint));
        }
    }
    return true;
}

bool run_check_inputs(Call *call, size_t ninputs)
{
    if (ninputs > 0 && !option_given(call, OPT_input) && !option_given(call, OPT_random_input)) {
        return command_wrong(call, "the model has inputs: --input FILE.safetensors gives them, "
                                   "--random-input SEED makes some up");
    }
    return true;
}

static bool read_sizes(Call *call, RunOptions *o)
{
    const Given *given = &call->given[OPT_size];
    SizeBinding *sizes = arena_new(call->arena, SizeBinding, given->n);
    for (size_t i = 0; i < given->n; i++) {
        Str value;
        if (!option_pair(call, OPT_size, given->values[i], &sizes[i].name, &value)) {
            return false;
        }
        if (!str_to_int(value, &sizes[i].value) || sizes[i].value < 1) {
            return command_wrong(call,
                                 "--size %.*s: a size is a whole number of at least 1, not "
                                 "`%.*s`",
                                 STR_ARG(sizes[i].name), STR_ARG(value));
        }
        for (size_t k = 0; k < i; k++) {
            if (str_equal(sizes[k].name, sizes[i].name)) {
                return command_wrong(call, "--size gives `%.*s` twice", STR_ARG(sizes[i].name));
            }
        }
    }
    o->sizes = sizes;
    o->nsizes = given->n;
    return true;
}

static bool read_options(Call *call, RunOptions *o, Tolerance *tolerance)
{
    int64_t seed = 0;
    int64_t threads = 0;
    *o = (RunOptions){.input = option_text(call, OPT_input)};
    *tolerance = (Tolerance){1e-5, 1e-5};
    if (!option_int(call, OPT_random_input, 0, INT64_MAX, &seed) ||
        !option_int(call, OPT_threads, 1, SL_MAX_THREADS, &threads) || !read_sizes(call, o) ||
        !option_tolerance(call, OPT_atol, &tolerance->absolute) ||
        !option_tolerance(call, OPT_rtol, &tolerance->relative)) {
        return false;
    }
    if (o->input && option_given(call, OPT_random_input)) {
        return command_wrong(call, "--input and --random-input: inputs come from a file, or are "
                                   "made up, not both");
    }
    o->seed = (uint64_t)seed;
    o->threads = (unsigned)threads;
    return true;
}

// Options that change nothing as things stand.
static void warn_ineffective(Call *call)
{
    static const OptionId of_expect[] = {OPT_atol, OPT_rtol};
    for (size_t i = 0; i < 2; i++) {
        if (option_given(call, of_expect[i]) && !option_given(call, OPT_expect)) {
            command_ineffective(call, of_expect[i], "there is no --expect");
        }
    }
    if (option_given(call, OPT_size) && !option_given(call, OPT_random_input)) {
        command_ineffective(call, OPT_size, "the sizes are those of the inputs in the file");
    }
}

static bool is_spec(const char *operand)
{
    Str name = str_from(operand);
    if (str_ends(name, STR(".so"))) {
        return false; // of a layout too: B6-6-6H768.so
    }
    return str_ends(name, STR(".slu")) || str_ends(name, STR(".ir")) || front_is_layout(name) ||
           file_is_folder(operand);
}

// A compiled model and a SPEC are not taken for each other.
static bool check_operand(Call *call)
{
    static const OptionId of_specs[] = {OPT_weights, OPT_map, OPT_strict, OPT_random,
                                        OPT_seq,     OPT_set, OPT_without};
    const char *operand = call->operand;
    if (option_given(call, OPT_reference)) {
        if (str_ends(str_from(operand), STR(".so"))) {
            return command_wrong(call, "--reference runs what %s was built from: give the SPEC",
                                 operand);
        }
        return true;
    }
    struct stat st;
    if (is_spec(operand) &&
        (stat(operand, &st) != 0 || !S_ISREG(st.st_mode) || !front_is_layout(str_from(operand)))) {
        return command_wrong(call,
                             "%s is not compiled: sluice build makes a shared object of it, "
                             "--reference runs it as it is",
                             operand);
    }
    for (size_t i = 0; i < sizeof of_specs / sizeof *of_specs; i++) {
        if (option_given(call, of_specs[i])) {
            return command_wrong(call, "%s goes with --reference: %s is compiled already",
                                 option_name(of_specs[i]), operand);
        }
    }
    return true;
}

// ---- running ----

static bool finish(Call *call, const Tolerance *tolerance, const Tensors *outputs)
{
    const char *output = option_text(call, OPT_output);
    const char *expect = option_text(call, OPT_expect);
    if (output && !tensors_write(call, output, outputs)) {
        return false;
    }
    if (expect) {
        return tensors_compare(call, expect, tolerance, outputs);
    }
    if (!output) {
        tensors_print(call, outputs);
    }
    return true;
}

static bool run(Call *call)
{
    RunOptions o;
    Tolerance tolerance;
    CompileOptions model;
    Tensors outputs = {0};
    const char *output = option_text(call, OPT_output);
    const char *const read[] = {call->operand, option_text(call, OPT_input),
                                option_text(call, OPT_expect), option_text(call, OPT_weights),
                                option_text(call, OPT_map)};
    if (!read_options(call, &o, &tolerance) || !check_operand(call) ||
        !command_model(call, &model) || (output && !command_check_output(call, output, read, 5))) {
        return false;
    }
    warn_ineffective(call);
    bool ok = (option_given(call, OPT_reference) ? run_reference(call, &model, &o, &outputs)
                                                 : run_native(call, &o, &outputs)) &&
              finish(call, &tolerance, &outputs);
    tensors_free(&outputs);
    return ok;
}

const Command command_run = {
    .name = "run",
    .operand = "OUT.so|SPEC",
    .summary = "runs a compiled model, or a SPEC by --reference; compares outputs",
    .help =
        "Runs a compiled model once. With --reference it runs a SPEC instead, through the\n"
        "evaluator: slowly, plainly, in double precision.\n"
        "\n"
        "Inputs are read by their names: f32 from F32, F16 or BF16, i32 from any integers that\n"
        "fit, bool from BOOL or integers 0 and 1. Free sizes are those of the inputs. An input\n"
        "that may be left out is left out if the file has none of that name.\n"
        "\n"
        "Prints what the outputs are, or writes them to the file that --output names (those of\n"
        "--reference as F64), or compares them with the tensors of the file that --expect names:\n"
        "every tensor there must be an output of the same shape, f32 within the tolerance, NaN\n"
        "equal to NaN, i32 and bool exactly. Exit status 4: they differ.\n",
    .examples =
        "  sluice run model.so --input in.safetensors --output out.safetensors\n"
        "  sluice run model.so --input in.safetensors --expect ref.safetensors --atol 1e-5\n"
        "  sluice run model.slu --seq 16 --random 1 --reference --random-input 7 -o "
        "ref.safetensors\n"
        "  sluice run model.so --random-input 7 --expect ref.safetensors\n"
        "  sluice run model.so --random-input 7 --size batch=4 --threads 1\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
