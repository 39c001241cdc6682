// Any bytes as a file, as a layout and as a setting: lexer, parser, printer, elaborator. What
// parses must print to text that prints the same again; what elaborates must verify.
#include "front/front.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MOST_BYTES = 1 << 16,
    MOST_SETTING_BYTES = 200,
    MOST_DIGITS = 3 // in a row: endless loops are legal until the step limit, and slow
};

static void check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

// A graph that verifies, or a message.
static void check_graph(const Diag *dx, const Graph *graph, size_t nerrors)
{
    Buf why = {0};
    check((graph == NULL) == (diag_nerrors(dx) > nerrors), "a graph or an error, not both");
    if (graph) {
        why.arena = graph->arena;
        check(graph_verify(graph, &why), "the graph does not verify");
    }
}

static void try_file(Arena *arena, Diag *dx, Str text)
{
    FrontFile file = {STR("fuzz.slu"), STR("fuzz.slu"), text};
    FrontSpec spec = {.file = &file};
    Buf once = {.arena = arena};
    if (front_print_ast(arena, dx, &file, &once)) {
        Buf twice = {.arena = arena};
        FrontFile printed = {STR("printed"), STR("printed"), buf_str(&once)};
        check(front_print_ast(arena, dx, &printed, &twice), "printed text does not parse");
        check(str_equal(buf_str(&once), buf_str(&twice)), "printed text prints otherwise");
    }
    size_t nerrors = diag_nerrors(dx);
    check_graph(dx, front_elaborate(arena, dx, &spec, NULL, NULL), nerrors);
}

static void try_setting(Arena *arena, Diag *dx, Str text)
{
    static const char model[] = "model m(a = 1, b = \"t\", ..) { input x: f32[n, 4] check a == a, "
                                "\"{a}\" output y = pool(x, ..) }";
    const FrontSetting settings[] = {{STR("a"), text}, {STR("mode"), text}};
    FrontFile file = {STR("fuzz.slu"), STR("fuzz.slu"), str_from(model)};
    FrontSpec spec = {.file = &file};
    FrontOptions options = {.settings = settings, .nsettings = 2};
    size_t nerrors = diag_nerrors(dx);
    check_graph(dx, front_elaborate(arena, dx, &spec, &options, NULL), nerrors);
}

static void try_layout(Arena *arena, Diag *dx, Str text)
{
    FrontSpec spec = {.layout = text};
    size_t nerrors = diag_nerrors(dx);
    check_graph(dx, front_elaborate(arena, dx, &spec, NULL, NULL), nerrors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t ndigits = 0;
    for (size_t i = 0; i < size; i++) {
        ndigits = data[i] >= '0' && data[i] <= '9' ? ndigits + 1 : 0;
        if (ndigits > MOST_DIGITS)
            return -1;
    }
    if (size > MOST_BYTES)
        return -1;
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    Str text = {(const char *)data, size};
    if (front_is_layout(text))
        try_layout(arena, dx, text);
    else if (size <= MOST_SETTING_BYTES)
        try_setting(arena, dx, text);
    try_file(arena, dx, text);
    arena_destroy(arena);
    return 0;
}
