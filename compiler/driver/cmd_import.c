// import: a checkpoint's configuration as .slu text.
#include "driver/command.h"
#include "io/import.h"

static const OptionId options[] = {OPT_output};

static bool run(Call *call)
{
    Str text;
    return import_config(call->arena, call->dx, call->operand, &text) && command_write(call, text);
}

const Command command_import = {
    .name = "import",
    .operand = "CONFIG.json|FOLDER",
    .summary = "writes a checkpoint's configuration as a .slu model",
    .help =
        "Reads the configuration of a checkpoint, or of a model folder that holds config.json,\n"
        "and prints the model it describes as .slu text. Parameters have the checkpoint's\n"
        "names, so its weights file fits as it is. A model folder can also be built directly.\n",
    .examples = "  sluice import checkpoint/config.json -o model.slu\n"
                "  sluice build model.slu --seq 128 --weights checkpoint/model.safetensors\n",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .run = run,
};
