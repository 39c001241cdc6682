// What the files of ir/ share and nobody else includes: the operations' table with the schemas of
// attributes, and the type rules. Main types: AttrField, Call.
#ifndef SLUICE_IR_INTERNAL_H
#define SLUICE_IR_INTERNAL_H

#include "ir/ir.h"

#define IR_ANY_ARITY (-1)
// What a NULL size means.
#define IR_TOO_LARGE "a size is over 64 bits, or has too many terms"

typedef enum AttrKind {
    ATTR_name,
    ATTR_word,
    ATTR_range,
    ATTR_filler,
    ATTR_function,
    ATTR_number,
    ATTR_size,
    ATTR_int,
    ATTR_index,
    ATTR_flag,
    ATTR_mode,
    ATTR_ints,
    ATTR_steps,
    ATTR_starts,
    ATTR_strides
} AttrKind;

typedef struct AttrField {
    const char *name;
    AttrKind kind;
    size_t offset; // in Attr, of the field of that name
} AttrField;

int op_arity(Op op); // IR_ANY_ARITY: one or more; a kernel may have none
// The fields of the operation's schema, in the order of attr.def.
const AttrField *op_attributes(Op op, size_t *n);
// Whether the text form shows such a field in braces: {name = value}.
bool ir_in_braces(AttrKind kind);

// A call under inference. attr is a copy that inference may normalise (axes counted from the front,
// sizes simplified).
typedef struct Call {
    Builder *b;
    Arena *arena;
    const SizeFacts *facts;
    Op op;
    Node *const *args; // [nargs]
    size_t nargs;
    Attr *attr;
    const Type *given;   // NULL: the caller leaves the type to inference
    const Graph *region; // of a kernel
    Type out;
} Call;

// Finds call->out; false after b->fail was called with what does not fit.
bool ir_infer(Call *call);
// Whether an operation's operands may be `args`: their number, and no kernel where a tensor is
// meant.
bool ir_check_operands(Call *call);

// Reports through b->fail; always false.
__attribute__((format(printf, 3, 4))) bool ir_fail(Builder *b, int arg, const char *format, ...);
// Whether `left op right` is known to hold; a NULL size (over 64 bits) is not.
bool ir_holds(const Graph *graph, SizeOp op, const Size *left, const Size *right);
// Reports that `left op right` does not hold, and where that is merely unknown, what would settle
// it; always false.
__attribute__((format(printf, 6, 7))) bool ir_refuse(Builder *b, int arg, SizeOp op,
                                                     const Size *left, const Size *right,
                                                     const char *format, ...);
// `axis` counted from the front, or false after a report.
bool ir_axis(Builder *b, int arg, int64_t axis, size_t rank, int64_t *out);
const Size *ir_simplify(const Graph *graph, const Size *size);
// `[a, b]`, the list of sizes alone.
Str ir_shape_text(Arena *arena, const Size *const *shape, size_t rank);

#endif
