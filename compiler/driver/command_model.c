// What the commands share: the options of models and of compilations, and where results go.
#include "driver/command.h"
#include "io/file.h"

#include <string.h>
#include <sys/stat.h>

// ---- the model ----

static bool read_settings(Call *call, FrontOptions *front)
{
    const Given *given = &call->given[OPT_set];
    FrontSetting *settings = arena_new(call->arena, FrontSetting, given->n);
    for (size_t i = 0; i < given->n; i++) {
        if (!option_pair(call, OPT_set, given->values[i], &settings[i].name, &settings[i].value)) {
            return false;
        }
        if (option_given(call, OPT_seq) && str_equal(settings[i].name, STR("seq"))) {
            return command_wrong(call, "--seq and --set seq=… both fix the size `seq`");
        }
    }
    front->settings = settings;
    front->nsettings = given->n;
    return true;
}

static bool read_seq(Call *call, FrontOptions *front)
{
    FrontSize *size = arena_new(call->arena, FrontSize, 1);
    size->name = STR("seq");
    if (!option_int(call, OPT_seq, 1, INT64_MAX, &size->value)) {
        return false;
    }
    front->sizes = size;
    front->nsizes = call->given[OPT_seq].n;
    return true;
}

static void read_without(Call *call, FrontOptions *front)
{
    const Given *given = &call->given[OPT_without];
    Str *names = arena_new(call->arena, Str, given->n);
    for (size_t i = 0; i < given->n; i++) {
        names[i] = str_from(given->values[i]);
    }
    front->without = names;
    front->nwithout = given->n;
}

static bool is_graph_text(const char *spec) { return str_ends(str_from(spec), STR(".ir")); }

bool command_model(Call *call, CompileOptions *out)
{
    static const OptionId of_models[] = {OPT_seq, OPT_set, OPT_without};
    static const OptionId of_files[] = {OPT_map, OPT_strict};
    int64_t seed = 0;
    *out = (CompileOptions){
        .spec = call->operand,
        .weights = option_text(call, OPT_weights),
        .reading = {.map = option_text(call, OPT_map), .strict = option_given(call, OPT_strict)},
        .random = option_given(call, OPT_random)};
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++) {
        if (is_graph_text(call->operand) && option_given(call, of_models[i])) {
            return command_wrong(call, "%s is for .slu models and layouts: the graph %s is fixed",
                                 option_name(of_models[i]), call->operand);
        }
    }
    if (out->weights && out->random) {
        return command_wrong(call, "--weights and --random: parameters come from a file, or are "
                                   "made up, not both");
    }
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++) {
        if (option_given(call, of_files[i]) && out->random) {
            command_ineffective(call, of_files[i], "--random reads no file");
        }
    }
    if (!read_settings(call, &out->front) || !read_seq(call, &out->front) ||
        !option_int(call, OPT_random, 0, INT64_MAX, &seed)) {
        return false;
    }
    read_without(call, &out->front);
    out->seed = (uint64_t)seed;
    return true;
}

// ---- the compilation ----

static bool read_disabled(Call *call, CompileOptions *out)
{
    const Given *given = &call->given[OPT_disable];
    Str names[PASS_count];
    size_t n = 0;
    for (size_t i = 0; i < PASS_count; i++) {
        const PassInfo *info = pass_info((PassId)i);
        if (!info->is_stage) {
            names[n++] = str_from(info->name);
        }
    }
    for (size_t i = 0; i < given->n; i++) {
        PassId id;
        Str name = str_from(given->values[i]);
        if (!pass_from_name(name, &id)) {
            return command_wrong(call, "--disable: there is no pass `%s`%.*s", given->values[i],
                                 STR_ARG(str_hint(call->arena, name, names, n)));
        }
        if (pass_info(id)->is_stage) {
            return command_wrong(call, "--disable: `%s` is a stage, which always runs",
                                 given->values[i]);
        }
        out->disabled[id] = true;
    }
    return true;
}

static void add_flag(Buf *flags, OptionId id, const char *value)
{
    buf_format(flags, "%s%s%s", flags->len > 0 ? " " : "", option_name(id),
               id == OPT_level || !value[0] ? "" : " ");
    if (value[0]) { // else a flag
        buf_word(flags, str_from(value));
    }
}

// What changes the result, in one order, and nothing of where files lie.
static Str list_flags(const Call *call, const char *target)
{
    static const OptionId that_count[] = {OPT_seq,    OPT_set,     OPT_without, OPT_random,
                                          OPT_target, OPT_disable, OPT_level,   OPT_weights_beside};
    Buf flags = {.arena = call->arena};
    for (size_t k = 0; k < sizeof that_count / sizeof *that_count; k++) {
        OptionId id = that_count[k];
        for (size_t i = 0; i < call->given[id].n; i++) {
            // `native` stands for the target it was found to be.
            add_flag(&flags, id, id == OPT_target ? target : call->given[id].values[i]);
        }
    }
    return buf_str(&flags);
}

// An instruction set that does not exist is a mistake; one that this machine lacks is its.
bool command_target(Call *call, CodegenTarget *out)
{
    const char *text = option_text(call, OPT_target);
    Str name = text ? str_from(text) : STR("x86-64-v3");
    Str why;
    if (codegen_target(call->arena, name, out, &why)) {
        return true;
    }
    if (str_equal(name, STR("native"))) {
        diag_fail(call->dx, "--target: %.*s", STR_ARG(why));
        return false;
    }
    return command_wrong(call, "--target: %.*s", STR_ARG(why));
}

bool command_compile(Call *call, CompileOptions *out)
{
    const char *level = option_text(call, OPT_level);
    if (!command_model(call, out) || !read_disabled(call, out)) {
        return false;
    }
    if (level && strcmp(level, "0") != 0) {
        return command_wrong(call, "-O%s: there is -O0, and all optimisations without it", level);
    }
    if (level && option_given(call, OPT_disable)) {
        command_ineffective(call, OPT_disable, "-O0 switches all of them off");
    }
    out->weights_beside = option_given(call, OPT_weights_beside);
    out->only_stages = level != NULL;
    out->verify_each = option_given(call, OPT_verify_each);
    out->say_commands = option_given(call, OPT_verbose);
    if (!command_target(call, &out->target)) {
        return false;
    }
    out->flags = list_flags(call, str_cstr(call->arena, out->target.name));
    return true;
}

// ---- results ----

static bool is_same_file(const char *x, const char *y)
{
    struct stat a;
    struct stat b;
    return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// A SPEC such as model.slu:NAME is the file before the colon.
static const char *file_of(Arena *arena, const char *spec)
{
    const char *colon = strstr(spec, ".slu:");
    return colon ? str_cstr(arena, (Str){spec, (size_t)(colon - spec) + 4}) : spec;
}

bool command_check_output(Call *call, const char *path, const char *const *read, size_t nread)
{
    for (size_t i = 0; i < nread; i++) {
        if (read[i] && is_same_file(path, file_of(call->arena, read[i]))) {
            return command_wrong(call, "%s would be written over %s, which is read", path, read[i]);
        }
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        return true; // opening a pipe twice would be two writers to its reader
    }
    FileWriter *writer = file_create(call->dx, path);
    if (writer) {
        file_abandon(writer);
    }
    return writer != NULL;
}

bool command_write(Call *call, Str text)
{
    const char *path = option_text(call, OPT_output);
    if (path) {
        return command_check_output(call, path, &call->operand, 1) &&
               file_write_text(call->dx, path, text);
    }
    // What fails here is found, and said, when the command ends.
    return fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
}
