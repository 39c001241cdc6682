// build: a SPEC becomes a shared object, or the code of one.
#include "driver/command.h"
#include "driver/progress.h"
#include "io/file.h"

#include <string.h>
#include <sys/stat.h>

static const OptionId options[] = {OPT_output,  OPT_weights,        OPT_map,    OPT_strict,
                                   OPT_random,  OPT_weights_beside, OPT_seq,    OPT_set,
                                   OPT_without, OPT_target,         OPT_emit,   OPT_disable,
                                   OPT_level,   OPT_verify_each,    OPT_verbose};

typedef enum Emit { EMIT_so, EMIT_obj, EMIT_asm, EMIT_llvm, EMIT_count } Emit;

static const struct {
    const char *suffix;
    CodegenKind kind;
} emits[EMIT_count] = {
    [EMIT_so] = {".so", CODEGEN_object},
    [EMIT_obj] = {".o", CODEGEN_object},
    [EMIT_asm] = {".s", CODEGEN_asm},
    [EMIT_llvm] = {".ll", CODEGEN_llvm},
};
static const char *const emit_names[EMIT_count] = {"so", "obj", "asm", "llvm"};

// The last part of SPEC's path, or the model's name behind it, without what says its kind.
static const char *default_path(Call *call, Emit emit)
{
    Str name = str_from(call->operand);
    const char *colon = strstr(call->operand, ".slu:");
    if (colon) {
        name = str_from(colon + 5);
    }
    while (name.len > 0 && name.ptr[name.len - 1] == '/') {
        name.len--;
    }
    for (size_t i = name.len; i-- > 0;) {
        if (name.ptr[i] == '/') {
            name = (Str){name.ptr + i + 1, name.len - i - 1};
            break;
        }
    }
    name.len -= str_ends(name, STR(".slu")) ? 4 : str_ends(name, STR(".ir")) ? 3 : 0;
    bool is_none = name.len == 0 || str_equal(name, STR(".")) || str_equal(name, STR(".."));
    name = is_none ? STR("model") : name;
    return str_cstr(call->arena,
                    str_format(call->arena, "%.*s%s", STR_ARG(name), emits[emit].suffix));
}

static bool build_shared(Call *call, const CompileOptions *compile, const char *path)
{
    Built built;
    bool ok = compile_shared(call->arena, call->dx, compile, path, &built);
    progress(NULL);
    if (!ok) {
        return false;
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return true; // it may be standard output
    }
    Buf text = {.arena = call->arena};
    buf_format(&text, "%s: ", path);
    text_plural(&text, built.nsteps, "step");
    buf_add(&text, STR(", "));
    text_plural(&text, built.nkernels, "kernel");
    buf_add(&text, STR(", "));
    text_bytes(&text, built.weights_bytes);
    buf_add(&text, STR(" of weights"));
    if (compile->weights_beside && built.weights_bytes > 0) {
        buf_format(&text, " in %s", compile_weights_path(call->arena, path));
    }
    buf_format(&text, ", for %.*s\n", STR_ARG(compile->target.name));
    fputs(text.ptr, stdout);
    return true;
}

static bool build_code(Call *call, const CompileOptions *compile, Emit emit, const char *path)
{
    static const OptionId of_weights[] = {OPT_weights, OPT_map, OPT_strict, OPT_random,
                                          OPT_weights_beside};
    for (size_t i = 0; i < sizeof of_weights / sizeof *of_weights; i++) {
        if (option_given(call, of_weights[i])) {
            command_ineffective(call, of_weights[i], "what --emit makes holds no weights");
        }
    }
    Compiled compiled;
    Buf code = {.arena = call->arena};
    bool ok = compile_program(call->arena, call->dx, compile, &compiled) &&
              compile_emit(call->arena, call->dx, compile, &compiled, emits[emit].kind, &code);
    progress(NULL);
    return ok && file_write_text(call->dx, path, buf_str(&code));
}

// Whether what is made can be written, so that nobody waits for it in vain.
static bool check_outputs(Call *call, const CompileOptions *compile, Emit emit, const char *path)
{
    const char *const read[] = {call->operand, compile->weights, compile->reading.map};
    if (!command_check_output(call, path, read, 3)) {
        return false;
    }
    if (emit != EMIT_so || !compile->weights_beside) {
        return true;
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return command_wrong(call, "--weights-beside: %s is no file that another can lie beside",
                             path);
    }
    return command_check_output(call, compile_weights_path(call->arena, path), read, 3);
}

static bool run(Call *call)
{
    CompileOptions compile;
    size_t emit = EMIT_so;
    if (!command_compile(call, &compile) ||
        !option_choice(call, OPT_emit, emit_names, EMIT_count, &emit)) {
        return false;
    }
    const char *path = option_text(call, OPT_output);
    path = path ? path : default_path(call, (Emit)emit);
    if (!check_outputs(call, &compile, (Emit)emit, path)) {
        return false;
    }
    if (emit != EMIT_so && compile.say_commands) {
        command_ineffective(call, OPT_verbose, "no command is run to make that");
    }
    return emit == EMIT_so ? build_shared(call, &compile, path)
                           : build_code(call, &compile, (Emit)emit, path);
}

const Command command_build = {
    .name = "build",
    .operand = "SPEC",
    .summary = "compiles a model to a shared object",
    .help =
        "Compiles a model to a shared object that holds its code and its weights. Programs run it\n"
        "with libsluice (sluice.h); `sluice run` runs it from here.\n"
        "\n"
        "Without -o the result is named after SPEC and goes to this folder. The file appears when\n"
        "it is whole; if anything fails, an older one stays as it is. With --weights-beside there\n"
        "are two files, OUT and OUT.weights, which belong together and stay in one folder.\n",
    .examples = "  sluice build B6-6-6H768 --seq 128 --random 1 -o funnel.so\n"
                "  sluice build checkpoint/ --seq 128 --target native -o model.so\n"
                "  sluice build model.slu --weights w.safetensors --set eps=1e-9 --without mask\n"
                "  sluice build model.slu --seq 128 --emit asm -o model.s\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
