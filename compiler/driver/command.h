// The command line: what a command is, how its arguments are read, and what it says when they are
// wrong. One file a command (cmd_NAME.c), which states its options and what to do; main.c calls it.
// Only driver/ includes this.
#ifndef SLUICE_DRIVER_COMMAND_H
#define SLUICE_DRIVER_COMMAND_H

#include "driver/compile.h"

// Exit statuses that diag_exit_code does not give.
enum { STATUS_WRONG_COMMAND = 2, STATUS_DIFFERENT = 4 };

typedef enum OptionId {
#define OPTION(id, letter, name, argument, repeat, help) OPT_##id,
#include "driver/options.def"
    OPT_count
} OptionId;

typedef struct Call Call;

typedef struct Command {
    const char *name;
    const char *operand;     // what it takes: "SPEC"
    const char *summary;     // one line
    const char *help;        // what it does and what it prints, in lines
    const char *examples;    // in lines
    const OptionId *options; // [noptions]; `help` is understood by all
    size_t noptions;
    void (*print_more)(FILE *out); // behind `help`; NULL: nothing
    bool (*run)(Call *call);       // false after a report in call->dx
} Command;

// All commands, ended by NULL (main.c).
extern const Command *const commands[];

typedef struct Given {
    size_t n;
    const char **values; // [n] in order; of a flag: ""
} Given;

// One call of a command.
struct Call {
    Arena *arena;
    Diag *dx;
    const Command *command;
    const char *operand;
    Given given[OPT_count];
    bool is_wrong;     // the command line is: status 2
    bool is_different; // results are not what was expected: status 4
};

// ---- reading (command.c) ----

// Reads argv[1 …] as options and operand; argv[0] is the command's name. False after a report; also
// when help is asked for, call->operand may then be NULL.
bool command_parse(Call *call, int argc, char **argv);
void command_print_help(const Command *command, FILE *out);
// Reports that the command line is wrong; false.
__attribute__((format(printf, 2, 3))) bool command_wrong(Call *call, const char *format, ...);
// Warns that an option changes nothing here.
void command_ineffective(Call *call, OptionId id, const char *because);
// `--seq`, `-O`
const char *option_name(OptionId id);

bool option_given(const Call *call, OptionId id);
const char *option_text(const Call *call, OptionId id); // NULL: not given
// These leave *out alone if the option was not given; false after a report.
bool option_int(Call *call, OptionId id, int64_t low, int64_t high, int64_t *out);
bool option_tolerance(Call *call, OptionId id, double *out); // finite, not negative
bool option_choice(Call *call, OptionId id, const char *const *names, size_t n, size_t *out);
// NAME=VALUE; false after a report.
bool option_pair(Call *call, OptionId id, const char *given, Str *name, Str *value);

// ---- what commands share ----

// These are in command_model.c; false after a report.
// SPEC and the options of models: --seq, --set, --without, --weights, --random.
bool command_model(Call *call, CompileOptions *out);
// --target, or its default.
bool command_target(Call *call, CodegenTarget *out);
// A model's options, and --target, --disable, -O0, --verify-each.
bool command_compile(Call *call, CompileOptions *out);

// Writes text to the file that --output names, or to standard output. False after a report.
bool command_write(Call *call, Str text);
// Whether `path` could be written, so that nobody waits for a result that has no place; and that it
// is none of the files read. False after a report.
bool command_check_output(Call *call, const char *path, const char *const *read, size_t nread);

// ---- text (text.c) ----

void text_count(Buf *buf, uint64_t n);                    // 115,611,648
void text_bytes(Buf *buf, uint64_t n);                    // 462.4 MB
void text_plural(Buf *buf, uint64_t n, const char *what); // 12 kernels
// A space, and more of them until `width` bytes stand behind `begin`.
void text_pad(Buf *buf, size_t begin, size_t width);
void text_json(Buf *buf, Str s); // "…", escaped as JSON wants it

#endif
