// The text form of graphs; parse.c reads it back. Sizes are printed with what the facts know put
// in, so that what is printed does not depend on when a fact was learnt.
#include "ir/internal.h"

static void print_size(Buf *buf, const Graph *graph, const Size *size)
{
    const Size *simple = ir_simplify(graph, size);
    size_print(buf, simple ? simple : size);
}

static void print_type(Buf *buf, const Graph *graph, const Type *type)
{
    const Size **shape = arena_new(graph->arena, const Size *, type->rank);
    for (size_t i = 0; i < type->rank; i++) {
        const Size *simple = ir_simplify(graph, type->shape[i]);
        shape[i] = simple ? simple : type->shape[i];
    }
    type_print(buf, &(Type){.dtype = type->dtype, .rank = type->rank, .shape = shape});
}

// ---- attributes ----

static void print_ints(Buf *buf, const int64_t *items, size_t n)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < n; i++) {
        buf_format(buf, "%s%lld", i > 0 ? ", " : "", (long long)items[i]);
    }
    buf_char(buf, ']');
}

static void print_sizes(Buf *buf, const Graph *graph, const Size *const *items, size_t n)
{
    buf_char(buf, '[');
    for (size_t i = 0; i < n; i++) {
        buf_add(buf, i > 0 ? STR(", ") : STR(""));
        print_size(buf, graph, items[i]);
    }
    buf_char(buf, ']');
}

// A field that stands in braces.
static void print_value(Buf *buf, const Graph *graph, const Node *node, const AttrField *field)
{
    const Attr *attr = &node->attr;
    const void *at = (const char *)attr + field->offset;
    switch (field->kind) {
    case ATTR_number: buf_double(buf, *(const double *)at); break;
    case ATTR_size: print_size(buf, graph, *(const Size *const *)at); break;
    case ATTR_int: buf_format(buf, "%lld", (long long)*(const int64_t *)at); break;
    case ATTR_index: buf_format(buf, "%u", (unsigned)*(const uint32_t *)at); break;
    case ATTR_flag: buf_add(buf, *(const bool *)at ? STR("true") : STR("false")); break;
    case ATTR_mode: buf_add(buf, str_from(pool_mode_name(attr->mode))); break;
    case ATTR_ints: print_ints(buf, attr->axes, attr->naxes); break;
    case ATTR_steps: print_ints(buf, attr->step, node->args[0]->type.rank); break;
    case ATTR_starts: print_sizes(buf, graph, attr->start, node->args[0]->type.rank); break;
    case ATTR_strides: print_sizes(buf, graph, attr->strides, node->type.rank); break;
    case ATTR_name:
    case ATTR_word:
    case ATTR_range:
    case ATTR_filler:
    case ATTR_function: die("attribute %s does not stand in braces", field->name);
    }
}

// What stands between the operation and its operands.
static void print_before(Buf *buf, const Attr *attr, const AttrField *field)
{
    if (field->kind == ATTR_name) {
        buf_char(buf, ' ');
        buf_quoted(buf, attr->name);
    } else if (field->kind == ATTR_word) {
        buf_format(buf, " %s", kernel_class_name(attr->kernel));
    } else if (field->kind == ATTR_range && attr->has_range) {
        buf_format(buf, " in %lld .. %lld", (long long)attr->low, (long long)attr->high);
    } else if (field->kind == ATTR_filler && attr->has_default) {
        buf_add(buf, STR(" = "));
        buf_double(buf, attr->value);
    }
}

// ---- nodes ----

void node_print(Buf *buf, const Graph *graph, const Node *node)
{
    size_t nfields;
    const AttrField *fields = op_attributes(node->op, &nfields);
    bool is_map = node->op == OP_map;
    buf_add(buf, str_from(is_map ? scalar_name(node->attr.fn) : op_name(node->op)));
    for (size_t i = 0; i < nfields; i++) {
        print_before(buf, &node->attr, &fields[i]);
    }
    for (size_t i = 0; i < node->nargs; i++) {
        buf_format(buf, "%s%%%u", i > 0 ? ", " : " ", (unsigned)node->args[i]->id);
    }
    const char *opening = " {";
    for (size_t i = 0; i < nfields; i++) {
        if (ir_in_braces(fields[i].kind)) {
            buf_format(buf, "%s%s = ", opening, fields[i].name);
            print_value(buf, graph, node, &fields[i]);
            opening = ", ";
        }
    }
    if (*opening == ',') {
        buf_char(buf, '}');
    }
    if (node->op == OP_input) { // as declared: checks may say what its sizes equal
        buf_add(buf, STR(" : "));
        type_print(buf, &node->type);
    } else if (node->op != OP_kernel) {
        buf_add(buf, STR(" : "));
        print_type(buf, graph, &node->type);
    }
}

// ---- graphs ----

static void print_body(Buf *buf, const Graph *graph, const char *indent);

static void print_line(Buf *buf, const Graph *graph, const Node *node, const char *indent)
{
    buf_format(buf, "%s%%%u = ", indent, (unsigned)node->id);
    node_print(buf, graph, node);
    if (node->region != NULL) {
        buf_add(buf, STR(" {\n"));
        print_body(buf, node->region, "    ");
        buf_format(buf, "%s}", indent);
    }
    buf_char(buf, '\n');
}

static void print_body(Buf *buf, const Graph *graph, const char *indent)
{
    for (size_t i = 0; i < graph->checks.n; i++) {
        const Check *check = &graph->checks.items[i];
        buf_format(buf, "%scheck ", indent);
        size_print(buf, check->left); // as declared: put in, what it declares would be lost
        buf_format(buf, " %s ", size_op_text(check->op));
        size_print(buf, check->right);
        buf_add(buf, STR(", "));
        buf_quoted(buf, check->text);
        buf_char(buf, '\n');
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        print_line(buf, graph, graph->nodes.items[i], indent);
    }
    for (size_t i = 0; i < graph->outputs.n; i++) {
        const Output *output = &graph->outputs.items[i];
        buf_format(buf, "%soutput ", indent);
        if (output->name.len > 0) {
            buf_quoted(buf, output->name);
            buf_add(buf, STR(" = "));
        }
        buf_format(buf, "%%%u\n", (unsigned)output->node->id);
    }
}

static void print_symbols(Buf *buf, const Graph *graph)
{
    buf_char(buf, '(');
    for (size_t i = 0; i < graph->symbols.n; i++) {
        const Symbol *symbol = &graph->symbols.items[i];
        buf_format(buf, "%s%.*s", i > 0 ? ", " : "", STR_ARG(symbol->name));
        if (symbol->low != 1 || symbol->high != SIZE_INF) {
            buf_format(buf, " in %lld ..", (long long)symbol->low);
        }
        if (symbol->high != SIZE_INF) {
            buf_format(buf, " %lld", (long long)symbol->high + 1);
        }
    }
    buf_char(buf, ')');
}

void graph_print(Buf *buf, const Graph *graph)
{
    buf_add(buf, STR("graph "));
    buf_quoted(buf, graph->name);
    print_symbols(buf, graph);
    buf_add(buf, STR(" {\n"));
    print_body(buf, graph, "  ");
    buf_add(buf, STR("}\n"));
    if (graph->prepare != NULL) {
        buf_add(buf, STR("\nprepare "));
        buf_quoted(buf, graph->prepare->name);
        buf_add(buf, STR(" {\n"));
        print_body(buf, graph->prepare, "  ");
        buf_add(buf, STR("}\n"));
    }
}
