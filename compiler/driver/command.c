// Reading a command line by getopt_long, and saying what is wrong with it.
#include "driver/command.h"

#include <getopt.h>
#include <math.h>
#include <string.h>

typedef struct OptionInfo {
    const char *name;
    const char *argument; // NULL: a flag
    const char *help;
    char letter;
    bool is_many;
} OptionInfo;

static const OptionInfo infos[OPT_count] = {
#define REPEAT_once false
#define REPEAT_many true
#define OPTION(id, letter, name, argument, repeat, help)                                           \
    [OPT_##id] = {name, argument, help, letter, REPEAT_##repeat},
#include "driver/options.def"
};

static const char *const spec_help =
    "SPEC is one of\n"
    "  B6-6-6H768          a layout: the standard model of that family\n"
    "  model.slu           a file with one model; model.slu:NAME if it has several\n"
    "  checkpoint/         a folder with config.json and model.safetensors\n"
    "  graph.ir            a graph as text, as `sluice dump --stage graph` prints it\n";

const char *option_name(OptionId id) { return infos[id].name; }

// Without the dashes; NULL: there is no long form.
static const char *long_form(size_t id)
{
    return infos[id].name[1] == '-' ? infos[id].name + 2 : NULL;
}

// ---- what is wrong ----

bool command_wrong(Call *call, const char *format, ...)
{
    Buf text = {.arena = call->arena};
    va_list args;
    va_start(args, format);
    buf_vformat(&text, format, args);
    va_end(args);
    diag_error(call->dx, (Place){0}, "%s", text.ptr);
    call->is_wrong = true;
    return false;
}

void command_ineffective(Call *call, OptionId id, const char *because)
{
    diag_warning(call->dx, (Place){0}, "%s has no effect: %s", option_name(id), because);
}

static bool takes(const Command *command, OptionId id)
{
    for (size_t i = 0; i < command->noptions; i++) {
        if (command->options[i] == id) {
            return true;
        }
    }
    return id == OPT_help;
}

// The commands that take a long option, other than the one called.
static Str takers(const Call *call, Str name)
{
    Buf text = {.arena = call->arena};
    for (size_t id = 0; id < OPT_count; id++) {
        const char *form = long_form(id);
        for (size_t i = 0; form && str_equal(name, str_from(form)) && commands[i]; i++) {
            if (takes(commands[i], (OptionId)id)) {
                buf_format(&text, "%s%s", text.len > 0 ? ", " : "", commands[i]->name);
            }
        }
    }
    return buf_str(&text);
}

static void wrong_long(Call *call, Str name)
{
    Str names[OPT_count];
    size_t n = 0;
    for (size_t i = 0; i < OPT_count; i++) {
        if (long_form(i) && takes(call->command, (OptionId)i)) {
            names[n++] = str_from(long_form(i));
        }
    }
    Str others = takers(call, name);
    Str near = str_nearest(name, names, n);
    for (size_t i = 0; i < n && near.len == 0 && name.len > 1; i++) {
        near = str_starts(names[i], name) ? names[i] : near;
    }
    if (near.len > 0) {
        command_wrong(call, "%s has no option --%.*s; did you mean --%.*s?", call->command->name,
                      STR_ARG(name), STR_ARG(near));
    } else if (others.len > 0) {
        command_wrong(call, "%s has no option --%.*s; it is one of %.*s", call->command->name,
                      STR_ARG(name), STR_ARG(others));
    } else {
        command_wrong(call, "%s has no option --%.*s", call->command->name, STR_ARG(name));
    }
}

// ---- parsing ----

// What getopt_long wants to know of a command.
typedef struct Tables {
    struct option longs[OPT_count + 1]; // val: FIRST + id
    char letters[2 * OPT_count + 3];
} Tables;

enum { FIRST = 256 }; // above every letter

static void fill_tables(const Command *command, Tables *tables)
{
    size_t nlongs = 0;
    size_t nletters = 0;
    // Operands are returned where they stand; a missing argument is told from a wrong option.
    tables->letters[nletters++] = '-';
    tables->letters[nletters++] = ':';
    for (size_t i = 0; i < OPT_count; i++) {
        if (!takes(command, (OptionId)i)) {
            continue;
        }
        int has = infos[i].argument ? required_argument : no_argument;
        if (long_form(i)) {
            tables->longs[nlongs++] = (struct option){long_form(i), has, NULL, FIRST + (int)i};
        }
        if (infos[i].letter) {
            tables->letters[nletters++] = infos[i].letter;
            if (infos[i].argument) {
                tables->letters[nletters++] = ':';
            }
        }
    }
    tables->longs[nlongs] = (struct option){0};
    tables->letters[nletters] = '\0';
}

static OptionId option_of(int code)
{
    for (size_t i = 0; i < OPT_count; i++) {
        if (code == FIRST + (int)i || (infos[i].letter && code == infos[i].letter)) {
            return (OptionId)i;
        }
    }
    die("no option has code %d", code);
}

static void add_value(Call *call, OptionId id, const char *value)
{
    Given *given = &call->given[id];
    for (size_t i = 0; i < given->n; i++) {
        if (strcmp(given->values[i], value) == 0) {
            return;
        }
        if (!infos[id].is_many) {
            command_wrong(call, "%s is given twice: %s and %s", option_name(id), given->values[i],
                          value);
            return;
        }
    }
    const char **values = arena_new(call->arena, const char *, given->n + 1);
    if (given->n > 0) {
        memcpy(values, given->values, given->n * sizeof *values);
    }
    values[given->n++] = value;
    given->values = values;
}

static void add_operand(Call *call, const char *operand)
{
    if (call->operand) {
        command_wrong(call, "%s takes one %s, but there is %s and %s", call->command->name,
                      call->command->operand, call->operand, operand);
        return;
    }
    call->operand = operand;
}

static Str long_name(const char *token) { return (Str){token + 2, strcspn(token + 2, "=")}; }

// What getopt_long could not take.
static void wrong_option(Call *call, const char *token)
{
    if (token[0] == '-' && token[1] == '-') {
        if (optopt >= FIRST) {
            command_wrong(call, "%s takes no value", option_name(option_of(optopt)));
        } else {
            wrong_long(call, long_name(token));
        }
        return;
    }
    Str name = {token + 1, strcspn(token + 1, "=")};
    for (size_t i = 0; i < OPT_count; i++) {
        if (long_form(i) && name.len > 1 && str_equal(name, str_from(long_form(i))) &&
            takes(call->command, (OptionId)i)) {
            command_wrong(call, "%s has no option %s; did you mean -%s?", call->command->name,
                          token, token);
            return;
        }
    }
    command_wrong(call, "%s has no option -%c", call->command->name, optopt);
}

// One step of getopt_long. `token` is the argument that it stands at.
static void take(Call *call, int code, int index, const Tables *tables, const char *token)
{
    if (code == 1) {
        add_operand(call, optarg);
    } else if (code == '?') {
        wrong_option(call, token);
    } else if (code == ':') {
        OptionId id = option_of(optopt);
        command_wrong(call, "%s needs a value: %s %s", option_name(id), option_name(id),
                      infos[id].argument);
    } else if (index >= 0 && !str_equal(long_name(token), str_from(tables->longs[index].name))) {
        wrong_long(call, long_name(token)); // getopt_long takes beginnings of names
    } else {
        add_value(call, option_of(code), optarg ? optarg : "");
    }
}

bool command_parse(Call *call, int argc, char **argv)
{
    Tables tables;
    fill_tables(call->command, &tables);
    opterr = 0;
    optind = 1;
    while (!call->is_wrong) {
        int index = -1;
        const char *token = optind < argc ? argv[optind] : "";
        optarg = NULL;
        int code = getopt_long(argc, argv, tables.letters, tables.longs, &index);
        if (code == -1) {
            break;
        }
        take(call, code, index, &tables, token);
    }
    for (; optind < argc && !call->is_wrong; optind++) { // behind `--`
        add_operand(call, argv[optind]);
    }
    if (option_given(call, OPT_help)) {
        return !call->is_wrong;
    }
    if (!call->operand && !call->is_wrong) {
        command_wrong(call, "%s takes a %s", call->command->name, call->command->operand);
    }
    if (call->is_wrong) {
        diag_note(call->dx, (Place){0}, "`sluice %s --help` shows what there is",
                  call->command->name);
    }
    return !call->is_wrong;
}

// ---- help ----

static void print_option(const OptionInfo *info, FILE *out)
{
    enum { WIDTH = 28 };
    char left[80];
    int n = 0;
    const char *argument = info->argument ? info->argument : "";
    if (info->name[1] != '-') {
        n = snprintf(left, sizeof left, "%s%s", info->name, argument);
    } else if (info->letter) {
        n = snprintf(left, sizeof left, "-%c, %s %s", info->letter, info->name, argument);
    } else {
        n = snprintf(left, sizeof left, "    %s %s", info->name, argument);
    }
    bool is_long = n >= WIDTH;
    fprintf(out, "  %-*s%s%*s%s\n", WIDTH, left, is_long ? "\n" : "", is_long ? WIDTH + 2 : 0, "",
            info->help);
}

void command_print_help(const Command *command, FILE *out)
{
    fprintf(out, "usage: sluice %s %s [option]...\n\n%s\n", command->name, command->operand,
            command->help);
    if (strstr(command->operand, "SPEC")) {
        fprintf(out, "%s\n", spec_help);
    }
    if (command->print_more) {
        command->print_more(out);
    }
    fprintf(out, "Options\n");
    for (size_t i = 0; i < command->noptions; i++) {
        print_option(&infos[command->options[i]], out);
    }
    print_option(&infos[OPT_help], out);
    fprintf(out, "\nExamples\n%s", command->examples);
}

// ---- values ----

bool option_given(const Call *call, OptionId id) { return call->given[id].n > 0; }

const char *option_text(const Call *call, OptionId id)
{
    return option_given(call, id) ? call->given[id].values[0] : NULL;
}

bool option_int(Call *call, OptionId id, int64_t low, int64_t high, int64_t *out)
{
    const char *text = option_text(call, id);
    int64_t value = 0;
    if (!text) {
        return true;
    }
    if (!str_to_int(str_from(text), &value) || value < low || value > high) {
        if (high == INT64_MAX) {
            return command_wrong(call, "%s takes a whole number of at least %lld, not `%s`",
                                 option_name(id), (long long)low, text);
        }
        return command_wrong(call, "%s takes a whole number from %lld to %lld, not `%s`",
                             option_name(id), (long long)low, (long long)high, text);
    }
    *out = value;
    return true;
}

bool option_tolerance(Call *call, OptionId id, double *out)
{
    const char *text = option_text(call, id);
    double value = 0;
    if (!text) {
        return true;
    }
    if (!str_to_double(str_from(text), &value) || !isfinite(value) || value < 0) {
        return command_wrong(call, "%s takes a number of at least 0, such as 1e-5, not `%s`",
                             option_name(id), text);
    }
    *out = value;
    return true;
}

bool option_choice(Call *call, OptionId id, const char *const *names, size_t n, size_t *out)
{
    const char *text = option_text(call, id);
    Buf list = {.arena = call->arena};
    Str *all = arena_new(call->arena, Str, n);
    for (size_t i = 0; text && i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
        all[i] = str_from(names[i]);
        buf_format(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
    }
    if (!text) {
        return true;
    }
    return command_wrong(call, "%s takes %s, not `%s`%.*s", option_name(id), list.ptr, text,
                         STR_ARG(str_hint(call->arena, str_from(text), all, n)));
}

bool option_pair(Call *call, OptionId id, const char *given, Str *name, Str *value)
{
    const char *equals = strchr(given, '=');
    if (!equals || equals == given || equals[1] == '\0') {
        return command_wrong(call, "%s takes %s, not `%s`", option_name(id), infos[id].argument,
                             given);
    }
    *name = (Str){given, (size_t)(equals - given)};
    *value = str_from(equals + 1);
    return true;
}
