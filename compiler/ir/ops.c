// The columns of ops.def and attr.def that tell operations and attributes apart by name, number and
// kind.
#include "ir/internal.h"

#define ANY IR_ANY_ARITY

typedef enum Schema {
    SCHEMA_none,
    SCHEMA_input,
    SCHEMA_name,
    SCHEMA_layout,
    SCHEMA_index,
    SCHEMA_value,
    SCHEMA_size,
    SCHEMA_function,
    SCHEMA_axes,
    SCHEMA_axis,
    SCHEMA_slice,
    SCHEMA_pad,
    SCHEMA_repeat,
    SCHEMA_window,
    SCHEMA_pool,
    SCHEMA_shift,
    SCHEMA_view,
    SCHEMA_kernel
} Schema;

typedef struct OpRow {
    const char *name;
    int arity;
    OpTrait trait;
    Schema schema;
} OpRow;

static const OpRow rows[OP_count] = {
#define OP(id, arity, trait, attributes, infer, eval)                                              \
    [OP_##id] = {#id, arity, TRAIT_##trait, SCHEMA_##attributes},
#include "ir/ops.def"
};

static const AttrField fields[] = {
#define ATTR(schema, field, kind) {#field, ATTR_##kind, offsetof(Attr, field)},
#include "ir/attr.def"
};

static const Schema field_schemas[] = {
#define ATTR(schema, field, kind) SCHEMA_##schema,
#include "ir/attr.def"
};

#define NFIELDS (sizeof fields / sizeof fields[0])

const char *op_name(Op op) { return rows[op].name; }

OpTrait op_trait(Op op) { return rows[op].trait; }

int op_arity(Op op) { return rows[op].arity; }

bool op_from_name(Str name, Op *out)
{
    for (size_t i = 0; i < OP_count; i++) {
        if (str_equal(name, str_from(rows[i].name))) {
            *out = (Op)i;
            return true;
        }
    }
    return false;
}

const AttrField *op_attributes(Op op, size_t *n)
{
    size_t first = 0;
    while (first < NFIELDS && field_schemas[first] != rows[op].schema) {
        first++;
    }
    size_t end = first;
    while (end < NFIELDS && field_schemas[end] == rows[op].schema) {
        end++;
    }
    *n = end - first;
    return &fields[first == NFIELDS ? 0 : first];
}

bool ir_in_braces(AttrKind kind)
{
    return kind != ATTR_name && kind != ATTR_word && kind != ATTR_range && kind != ATTR_filler &&
           kind != ATTR_function;
}

const char *kernel_class_name(KernelClass kernel)
{
    static const char *const names[KERNEL_count] = {
        [KERNEL_elementwise] = "elementwise",
        [KERNEL_reduction] = "reduction",
        [KERNEL_contraction] = "contraction",
        [KERNEL_attention] = "attention",
    };
    return names[kernel];
}

const char *pool_mode_name(PoolMode mode)
{
    static const char *const names[] = {
        [POOL_mean] = "mean", [POOL_max] = "max", [POOL_min] = "min"};
    return names[mode];
}
