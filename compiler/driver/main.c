// The command: finds the sub-command, reads its arguments, runs it, and turns what it reports into
// an exit status.
#include "driver/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const Command command_build;
extern const Command command_run;
extern const Command command_params;
extern const Command command_options;
extern const Command command_import;
extern const Command command_inspect;
extern const Command command_dump;
extern const Command command_opt;

const Command *const commands[] = {&command_build,   &command_run,    &command_params,
                                   &command_options, &command_import, &command_inspect,
                                   &command_dump,    &command_opt,    NULL};

static void print_help(FILE *out)
{
    fputs("usage: sluice COMMAND ...\n\n"
          "Compiles neural networks, ahead of time, to native code.\n\nCommands\n",
          out);
    for (size_t i = 0; commands[i]; i++) {
        fprintf(out, "  %-8s %-19s %s\n", commands[i]->name, commands[i]->operand,
                commands[i]->summary);
    }
    fputs("\nsluice COMMAND --help says more, with examples; sluice --version says which this is.\n"
          "\nExamples\n"
          "  sluice build B6-6-6H768 --seq 128 --random 1 -o funnel.so   a Funnel-Transformer\n"
          "  sluice inspect funnel.so                                    what it takes and gives\n"
          "  sluice build checkpoint/ --seq 128 -o model.so              a model with its weights\n"
          "  sluice run model.so --input in.safetensors                  runs it\n"
          "\nExit status\n"
          "  0 done, 1 the input is wrong, 2 the command line is wrong, 3 the environment failed,\n"
          "  4 results differ from those expected, 70 a fault of sluice itself\n",
          out);
}

static const Command *find_command(Str name)
{
    for (size_t i = 0; commands[i]; i++) {
        if (str_equal(name, str_from(commands[i]->name))) {
            return commands[i];
        }
    }
    return NULL;
}

static void wrong_name(Call *call, Str name)
{
    enum { MOST = 32 };
    Str names[MOST];
    size_t n = 0;
    for (; commands[n] && n < MOST; n++) {
        names[n] = str_from(commands[n]->name);
    }
    if (front_is_layout(name) || str_ends(name, STR(".slu"))) {
        command_wrong(call, "no command is named; to compile it: sluice build %.*s", STR_ARG(name));
        return;
    }
    command_wrong(call, "there is no command `%.*s`%.*s", STR_ARG(name),
                  STR_ARG(str_hint(call->arena, name, names, n)));
    diag_note(call->dx, (Place){0}, "`sluice --help` shows what there is");
}

// After a fault of ours: what was called, so that it can be called again.
static void set_repro(Arena *arena, int argc, char **argv)
{
    Buf text = {.arena = arena};
    buf_add(&text, STR("this is a fault of sluice " SLUICE_VERSION ", not of its input; it came "
                       "from\n  sluice"));
    for (int i = 1; i < argc; i++) {
        buf_char(&text, ' ');
        buf_word(&text, str_from(argv[i]));
    }
    diag_set_repro(text.ptr);
}

// --help, --version and help COMMAND, which are no commands of their own. True if it was one.
static bool answer(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    bool is_help = strcmp(word, "help") == 0;
    const Command *about = is_help && argc == 3 ? find_command(str_from(argv[2])) : NULL;
    if (about) {
        command_print_help(about, stdout);
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (is_help && argc == 2)) {
        print_help(stdout);
    } else if (strcmp(word, "--version") == 0) {
        puts("sluice " SLUICE_VERSION);
    } else {
        return false;
    }
    return true;
}

static void run(Call *call, int argc, char **argv)
{
    call->command = find_command(str_from(argv[1]));
    if (!call->command) {
        wrong_name(call, str_from(argv[1]));
    } else if (command_parse(call, argc - 1, argv + 1)) {
        if (option_given(call, OPT_help)) {
            command_print_help(call->command, stdout);
        } else {
            call->command->run(call);
        }
    }
}

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no_colour && no_colour[0]) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

static int status_of(const Call *call)
{
    return call->is_wrong       ? STATUS_WRONG_COMMAND
           : call->is_different ? STATUS_DIFFERENT
                                : diag_exit_code(call->dx);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return STATUS_WRONG_COMMAND;
    }
    Arena *arena = arena_create();
    Call call = {.arena = arena, .dx = diag_create(arena)};
    set_repro(arena, argc, argv);
    signal(SIGXFSZ, SIG_IGN); // a file that grows over the limit is a write that fails
    if (!answer(argc, argv)) {
        run(&call, argc, argv);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        diag_fail(call.dx, "cannot write to standard output: %s", strerror(errno));
    }
    diag_flush(call.dx, stderr, wants_colour());
    int status = status_of(&call);
    diag_set_repro(NULL);
    arena_destroy(arena);
    return status;
}
