// Table and kernels of the model that tiny.h describes. Operands of a kernel are in the order of
// its step. The files model_*.c make shared objects of it, with other values of these:
#include "tiny.h"

#ifndef TINY_QUERY
#define TINY_QUERY  tiny_query
#define TINY_NAME   "tiny"
#define TINY_FACTOR 1.0f // of `sum`
#define TINY_PLACE  SL_WEIGHTS_APPENDED
#define TINY_FILE   NULL
#endif

// XXH3 of the weights that fill_weights() of support.h makes, as `xxhsum -H3` computes it.
#define TABLE_HASH UINT64_C(0xa7d49d53a960185e)
#define BIAS_HASH  UINT64_C(0xe84aff9191a3ad41)
#define ALL_HASH   UINT64_C(0x078aab4045cee35d)

// ids, table, bias → h [batch, 4, 8]; a part is an item
static void embed(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    const int32_t *ids = frame->operands[0];
    const float *table = frame->operands[1];
    const float *bias = frame->operands[2];
    float *h = frame->operands[3];
    (void)nparts;
    for (size_t i = 0; i < TINY_LENGTH; i++) {
        size_t row = (size_t)part * TINY_LENGTH + i;
        for (size_t j = 0; j < TINY_WIDTH; j++)
            h[row * TINY_WIDTH + j] = table[(size_t)ids[row] * TINY_WIDTH + j] + bias[j];
    }
}

// h, weight, mask → sum [batch, 8]; a part is an item
static void mix(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    const float *h = frame->operands[0];
    const float *weight = frame->operands[1];
    const uint8_t *mask = frame->operands[2];
    float *sum = frame->operands[3];
    float *own = (float *)(void *)frame->scratch;
    (void)nparts;
    for (size_t j = 0; j < TINY_WIDTH; j++)
        own[j] = 0;
    for (size_t i = 0; i < TINY_LENGTH; i++) {
        size_t row = (size_t)part * TINY_LENGTH + i;
        // A mask that is not 0 or 1 would show in the result.
        for (size_t j = 0; j < TINY_WIDTH; j++)
            own[j] += (float)mask[row] * weight[row] * h[row * TINY_WIDTH + j];
    }
    for (size_t j = 0; j < TINY_WIDTH; j++)
        sum[part * TINY_WIDTH + j] = TINY_FACTOR * own[j];
}

// sum (the caller's output) → total [1]
static void add_up(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    const float *sum = frame->operands[0];
    float *total = frame->operands[1];
    (void)part;
    (void)nparts;
    *total = 0;
    for (int64_t i = 0; i < frame->symbols[0] * TINY_WIDTH; i++)
        *total += sum[i];
}

// a, b, c, d → half, sign; 3 parts, each every third row
static void halve(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    const float *a = frame->operands[0];
    const float *b = frame->operands[1];
    const float *c = frame->operands[2];
    const int32_t *d = frame->operands[3];
    float *half = frame->operands[4];
    uint8_t *sign = frame->operands[5];
    int64_t rows = frame->symbols[0];
    int64_t cols = frame->symbols[1];
    int64_t kept = cols / 2 + 1;
    for (int64_t i = part; i < rows; i += nparts) {
        for (int64_t j = 0; j < kept; j++)
            half[i * kept + j] = a[i * cols + j] + b[j] + c[j] + (float)d[i];
        sign[i] = a[i * cols] < 0;
    }
}

// at, bias → picked; one part
static void pick(const SlFrame *frame, uint32_t part, uint32_t nparts)
{
    const float *at = frame->operands[0];
    const float *bias = frame->operands[1];
    float *picked = frame->operands[2];
    (void)part;
    (void)nparts;
    for (int64_t i = 0; i < frame->symbols[0]; i++) {
        float x = at[i];
        if (!(x >= 0 && x < TINY_WIDTH)) {
            *frame->fault = SL_FAULT_INDEX;
            x = x >= TINY_WIDTH ? TINY_WIDTH - 1 : 0;
        }
        picked[i] = bias[(int32_t)x];
    }
}

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(array)[0])
#define EXPR(...)                                                                                  \
    {                                                                                              \
        .code = (const SlAbiInst[]){__VA_ARGS__},                                                  \
        .n = sizeof((const SlAbiInst[]){__VA_ARGS__}) / sizeof(SlAbiInst)                          \
    }
#define CONST(x)                                                                                   \
    {                                                                                              \
        .op = SL_X_CONST, .value = (x)                                                             \
    }
#define SYMBOL(x)                                                                                  \
    {                                                                                              \
        .op = SL_X_SYMBOL, .value = (x)                                                            \
    }
#define DO(x)                                                                                      \
    {                                                                                              \
        .op = SL_X_##x                                                                             \
    }
// x · symbol 0, rounded up to a multiple of 64
#define PADDED(x)                                                                                  \
    SYMBOL(0), CONST(x), DO(MUL), CONST(63), DO(ADD), CONST(64), DO(DIV), CONST(64), DO(MUL)
#define OPERAND(k, i, ...)                                                                         \
    {                                                                                              \
        .size = sizeof(SlAbiOperand), .kind = SL_OPERAND_##k, .index = (i),                        \
        .offset = EXPR(__VA_ARGS__)                                                                \
    }
#define IO(text, type, axes, shp, ...)                                                             \
    {                                                                                              \
        .size = sizeof(SlAbiIo), .dtype = SL_ABI_##type, .rank = (axes), .name = (text),           \
        .shape = (shp), __VA_ARGS__                                                                \
    }
#define STEP(text, function, list, ...)                                                            \
    {                                                                                              \
        .size = sizeof(SlAbiStep), .noperands = COUNT(list), .name = (text), .kernel = (function), \
        .operands = (list), .parts = EXPR(__VA_ARGS__)                                             \
    }

// ---- bag: arena = ids | mask | h --------------------------------------------------------------

static const SlAbiSymbol bag_symbols[] = {
    {.size = sizeof(SlAbiSymbol), .name = "batch", .low = 1, .high = 64}};
static const SlAbiCheck bag_checks[] = {{.size = sizeof(SlAbiCheck),
                                         .op = SL_CHECK_LE,
                                         .left = EXPR(SYMBOL(0), CONST(4), DO(MUL)),
                                         .right = EXPR(CONST(128)),
                                         .text = "bag: at most 128 positions"}};
static const SlAbiExpr bag_shape[] = {EXPR(SYMBOL(0)), EXPR(CONST(TINY_LENGTH))};
static const SlAbiExpr sum_shape[] = {EXPR(SYMBOL(0)), EXPR(CONST(TINY_WIDTH))};
static const SlAbiExpr one_shape[] = {EXPR(CONST(1))};
static const SlAbiIo bag_inputs[] = {
    IO("ids", I32, 2, bag_shape, .flags = SL_IO_RANGE | SL_IO_SLOT, .low = 0, .high = TINY_WORDS,
       .slot = EXPR(CONST(0))),
    IO("weight", F32, 2, bag_shape, .flags = 0),
    IO("mask", BOOL, 2, bag_shape, .flags = SL_IO_DEFAULT | SL_IO_SLOT, .fill = 1,
       .slot = EXPR(PADDED(16))),
};
static const SlAbiIo bag_outputs[] = {
    IO("sum", F32, 2, sum_shape, .flags = 0),
    IO("total", F32, 1, one_shape, .flags = 0),
};
static const SlAbiOperand embed_operands[] = {
    OPERAND(INPUT, 0, CONST(0)),
    OPERAND(WEIGHTS, 0, CONST(0)),
    OPERAND(WEIGHTS, 0, CONST(TINY_BIAS * 4)),
    OPERAND(ARENA, 0, PADDED(16), PADDED(4), DO(ADD)),
};
static const SlAbiOperand mix_operands[] = {
    OPERAND(ARENA, 0, PADDED(16), PADDED(4), DO(ADD)),
    OPERAND(INPUT, 1, CONST(0)),
    OPERAND(INPUT, 2, CONST(0)),
    OPERAND(OUTPUT, 0, CONST(0)),
};
static const SlAbiOperand add_up_operands[] = {
    OPERAND(OUTPUT, 0, CONST(0)),
    OPERAND(OUTPUT, 1, CONST(0)),
};
static const SlAbiStep bag_steps[] = {
    STEP("embed", embed, embed_operands, SYMBOL(0)),
    STEP("mix", mix, mix_operands, SYMBOL(0)),
    STEP("add_up", add_up, add_up_operands, CONST(1)),
};

// ---- pair: arena = c | d ----------------------------------------------------------------------

static const SlAbiSymbol pair_symbols[] = {
    {.size = sizeof(SlAbiSymbol), .name = "rows", .low = 1, .high = INT64_MAX},
    {.size = sizeof(SlAbiSymbol), .name = "cols", .low = 4, .high = 1024},
};
static const SlAbiExpr a_shape[] = {EXPR(SYMBOL(0)), EXPR(SYMBOL(1))};
static const SlAbiExpr b_shape[] = {EXPR(SYMBOL(1))};
static const SlAbiExpr d_shape[] = {EXPR(SYMBOL(0))};
static const SlAbiExpr half_shape[] = {EXPR(SYMBOL(0)),
                                       EXPR(SYMBOL(1), CONST(2), DO(DIV), CONST(1), DO(ADD))};
static const SlAbiIo pair_inputs[] = {
    IO("a", F32, 2, a_shape, .flags = 0),
    IO("b", F32, 1, b_shape, .flags = 0),
    IO("c", F32, 1, b_shape, .flags = SL_IO_DEFAULT | SL_IO_SLOT, .fill = 0.5,
       .slot = EXPR(CONST(0))),
    IO("d", I32, 1, d_shape, .flags = SL_IO_DEFAULT | SL_IO_SLOT, .fill = -3,
       .slot = EXPR(CONST(4096))),
};
static const SlAbiIo pair_outputs[] = {
    IO("half", F32, 2, half_shape, .flags = 0),
    IO("sign", BOOL, 1, d_shape, .flags = 0),
};
static const SlAbiOperand halve_operands[] = {
    OPERAND(INPUT, 0, CONST(0)), OPERAND(INPUT, 1, CONST(0)),  OPERAND(INPUT, 2, CONST(0)),
    OPERAND(INPUT, 3, CONST(0)), OPERAND(OUTPUT, 0, CONST(0)), OPERAND(OUTPUT, 1, CONST(0)),
};
static const SlAbiStep pair_steps[] = {STEP("halve", halve, halve_operands, CONST(3))};

// ---- pick -------------------------------------------------------------------------------------

static const SlAbiSymbol pick_symbols[] = {
    {.size = sizeof(SlAbiSymbol), .name = "batch", .low = 1, .high = INT64_MAX}};
static const SlAbiIo pick_inputs[] = {IO("at", F32, 1, d_shape, .flags = 0)};
static const SlAbiIo pick_outputs[] = {IO("picked", F32, 1, d_shape, .flags = 0)};
static const SlAbiOperand pick_operands[] = {
    OPERAND(INPUT, 0, CONST(0)),
    OPERAND(WEIGHTS, 0, CONST(TINY_BIAS * 4)),
    OPERAND(OUTPUT, 0, CONST(0)),
};
static const SlAbiStep pick_steps[] = {STEP("pick", pick, pick_operands, CONST(1))};

// ---- the model --------------------------------------------------------------------------------

#define ENTRY(text, prefix, nchecked, checked)                                                     \
    .size = sizeof(SlAbiEntry), .nsymbols = COUNT(prefix##_symbols), .nchecks = (nchecked),        \
    .ninputs = COUNT(prefix##_inputs), .noutputs = COUNT(prefix##_outputs),                        \
    .nsteps = COUNT(prefix##_steps), .name = (text), .symbols = prefix##_symbols,                  \
    .checks = (checked), .inputs = prefix##_inputs, .outputs = prefix##_outputs,                   \
    .steps = prefix##_steps

static const SlAbiEntry entries[] = {
    {ENTRY("bag", bag, 1, bag_checks),
     .arena_bytes = EXPR(PADDED(16), PADDED(4), DO(ADD), PADDED(128), DO(ADD)),
     .scratch_bytes = EXPR(CONST(TINY_WIDTH * 4)), .state_bytes = EXPR(CONST(0))},
    {ENTRY("pair", pair, 0, NULL), .arena_bytes = EXPR(CONST(4096), PADDED(4), DO(ADD)),
     .scratch_bytes = EXPR(CONST(0))},
    {ENTRY("pick", pick, 0, NULL), .arena_bytes = EXPR(CONST(0)), .scratch_bytes = EXPR(CONST(0))},
};
static const SlAbiVariant variants[] = {
    {.size = sizeof(SlAbiVariant),
     .nentries = COUNT(entries),
     .features = UINT64_C(1) << 63, // no machine has it
     .target = "tomorrow",
     .entries = entries},
    {.size = sizeof(SlAbiVariant), .nentries = COUNT(entries), .target = "any", .entries = entries},
};
static const int64_t table_shape[] = {TINY_WORDS, TINY_WIDTH};
static const int64_t bias_shape[] = {TINY_WIDTH};
static const SlAbiWeight tiny_weights[] = {
    {.size = sizeof(SlAbiWeight),
     .rank = 2,
     .name = "table",
     .shape = table_shape,
     .layout = "rows",
     .bytes = TINY_BIAS * 4,
     .hash = TABLE_HASH},
    {.size = sizeof(SlAbiWeight),
     .rank = 1,
     .name = "bias",
     .shape = bias_shape,
     .layout = "rows",
     .offset = TINY_BIAS * 4,
     .bytes = TINY_WIDTH * 4,
     .hash = BIAS_HASH},
};
static const SlAbiModel tiny_table = {.size = sizeof(SlAbiModel),
                                      .abi = SL_ABI_VERSION,
                                      .name = TINY_NAME,
                                      .nvariants = COUNT(variants),
                                      .nweights = COUNT(tiny_weights),
                                      .variants = variants,
                                      .weights = tiny_weights,
                                      .weights_place = TINY_PLACE,
                                      .weights_file = TINY_FILE,
                                      .weights_bytes = TINY_WEIGHTS * 4,
                                      .weights_hash = ALL_HASH,
                                      .compiler = "by hand",
                                      .spec = "model " TINY_NAME,
                                      .flags = "",
                                      .graph = "graph text",
                                      .prepare = "prepare text",
                                      .notes = "made by hand\n"};

const SlAbiModel *TINY_QUERY(uint32_t max_abi)
{
    return max_abi >= tiny_table.abi ? &tiny_table : NULL;
}
