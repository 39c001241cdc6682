// Any bytes as a file, as a layout and as a setting: lexer, parser, printer, elaborator. What
// parses must print to text that prints the same again; what elaborates must verify.
#include "front/front.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MOST_BYTES = 1 << 16,
    MOST_SETTING_BYTES = 60,
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
static void try_spec(Arena *arena, const FrontSpec *spec, const FrontOptions *options)
{
    Diag *dx = diag_create(arena);
    const Graph *graph = front_elaborate(arena, dx, spec, options, NULL);
    Buf why = {.arena = arena};
    check((graph == NULL) == (diag_nerrors(dx) > 0), "a graph or an error, not both");
    check(!graph || graph_verify(graph, &why), "the graph does not verify");
}

static void try_file(Arena *arena, Str text)
{
    Diag *dx = diag_create(arena);
    FrontFile file = {STR("fuzz.slu"), STR("fuzz.slu"), text};
    FrontSpec spec = {.file = &file};
    Buf once = {.arena = arena};
    if (!front_print_ast(arena, dx, &file, &once)) {
        check(diag_nerrors(dx) > 0, "no tree and no error");
        return;
    }
    Buf twice = {.arena = arena};
    FrontFile printed = {STR("printed"), STR("printed"), buf_str(&once)};
    check(front_print_ast(arena, dx, &printed, &twice), "printed text does not parse");
    check(str_equal(buf_str(&once), buf_str(&twice)), "printed text prints otherwise");
    try_spec(arena, &spec, NULL);
}

static void try_setting(Arena *arena, Str text)
{
    static const char model[] = "model m(a = 1, b = \"t\", ..) { input x: f32[n, 4] check a == a, "
                                "\"{a}\" output y = pool(x, ..) }";
    const FrontSetting settings[] = {{STR("a"), text}, {STR("mode"), text}};
    FrontFile file = {STR("fuzz.slu"), STR("fuzz.slu"), str_from(model)};
    FrontSpec spec = {.file = &file};
    FrontOptions options = {.settings = settings, .nsettings = 2};
    try_spec(arena, &spec, &options);
}

static void try_layout(Arena *arena, Str text)
{
    FrontSpec spec = {.layout = text};
    try_spec(arena, &spec, NULL);
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
    Str text = {(const char *)data, size};
    if (front_is_layout(text))
        try_layout(arena, text);
    else if (size <= MOST_SETTING_BYTES)
        try_setting(arena, text);
    try_file(arena, text);
    arena_destroy(arena);
    return 0;
}
