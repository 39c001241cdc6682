// The program: what a model file holds. Constants, buffers, kernels, steps that run them in order,
// and the entry's inputs, outputs, symbols and checks. Codegen turns it into an object file. Main
// type: Program. loop, passes, codegen and driver may include this.
#ifndef SLUICE_LOOP_PROGRAM_H
#define SLUICE_LOOP_PROGRAM_H

#include "loop/loop.h"

typedef struct ProgramSymbol {
    Str name;
    int64_t low;
    int64_t high; // SIZE_INF: no bound
} ProgramSymbol;

typedef struct ProgramCheck {
    SizeOp op; // eq, ne, le or lt
    const Size *left;
    const Size *right;
    Str text;
} ProgramCheck;

typedef struct ProgramIo {
    Str name;
    DType dtype;
    size_t rank;
    const Size *const *shape; // [rank]
    bool has_range;
    int64_t low;
    int64_t high;
    bool has_default;
    double value;
    bool has_slot; // input: kernels read a copy in the arena
    uint32_t slot; // the buffer it is
} ProgramIo;

// A result of `prepare`, in the layout that its reader wants.
typedef struct Constant {
    Str name; // of an output of `prepare`
    DType dtype;
    size_t rank;
    const int64_t *shape; // [rank] as stored
    Str layout;           // "rows", or a packed layout: "P16" ([.., N/16, K, 16])
    uint64_t offset;      // bytes in the blob; set when it is written
    uint64_t bytes;
    uint64_t hash;
} Constant;

// A piece of the arena, alive from the first step that touches it to the last.
typedef struct ArenaBuffer {
    Str name;
    DType dtype;
    const Size *count;  // elements
    bool is_slot;       // an input's: alive from the beginning
    const Size *offset; // bytes; set by the pass `memory`
} ArenaBuffer;

typedef enum OperandKind {
    OPERAND_input,
    OPERAND_output,
    OPERAND_buffer,
    OPERAND_constant
} OperandKind;

typedef struct Operand {
    OperandKind kind;
    uint32_t index; // of inputs, outputs, buffers or constants
} Operand;

typedef struct Step {
    Str name; // what it does, for people: "encoder.layer.0.attention"
    uint32_t kernel;
    size_t noperands;
    const Operand *operands; // [noperands] as the kernel's
} Step;

typedef struct Program {
    Arena *arena;
    Str name;
    VEC(ProgramSymbol) symbols;
    VEC(ProgramCheck) checks;
    VEC(ProgramIo) inputs;
    VEC(ProgramIo) outputs;
    VEC(Constant) constants;
    VEC(ArenaBuffer) buffers;
    VEC(Kernel *) kernels;
    VEC(Step) steps;
    const Size *arena_bytes; // set by `memory`
} Program;

Program *program_create(Arena *arena, Str name);
void program_print(Buf *buf, const Program *p);
// Whether the parts name each other rightly, steps fit their kernels, nothing is read before it is
// written, and every kernel holds its rules; the first fault goes to `why`.
bool program_verify(const Program *p, Buf *why);

// What a run reads and writes, in storage form (float, int32_t, uint8_t), sized as the program
// says.
typedef struct ProgramData {
    const void *const *inputs;    // [inputs]; NULL where an input with a default is left out
    const void *const *constants; // [constants] in their stored layouts
    void *const *outputs;         // [outputs]
} ProgramData;

// Checks the symbols' values and the inputs' ranges, then runs every step in order by kernel_eval.
// Once the arena is laid out, buffers lie as it says. False after the first failure. `fault`
// becomes 1 if a row's number was clamped.
bool program_eval(const Program *p, const SizeBinding *symbols, size_t nsymbols,
                  const ProgramData *data, uint32_t *fault, Buf *why);

// What a model file says of itself beside the program; texts are copied into the artefact.
typedef struct ArtefactInfo {
    Str spec;               // canonical text of what was compiled
    Str flags;              // that changed the result
    Str compiler;           // version
    Str graph;              // the optimised graph
    Str prepare;            // how the constants come from the parameters
    Str notes;              // for callers: a line each, NAME VALUE
    uint32_t weights_place; // SL_WEIGHTS_… of the ABI
    Str weights_file;
    uint64_t weights_bytes;
    uint64_t weights_hash;
} ArtefactInfo;

#endif
