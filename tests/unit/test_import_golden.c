// Every configuration of the golden cases becomes a model whose parameters are the tensors of the
// case's weights, by name and shape, and whose outputs hold those that the case compares.
#include "front/front.h"
#include "io/import.h"
#include "io/safetensors.h"

#include "said.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// Where the cases are: FAMILY/CASE/config.json. Another folder may be given as an argument.
static const char *data_path = SOURCE_DIR "/tests/golden/data";

static void check_parameters(const Graph *graph, const StFile *weights)
{
    size_t nparams = 0;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op != OP_param) {
            continue;
        }
        nparams++;
        const StTensor *tensor = st_find(weights, node->attr.name);
        if (!tensor) {
            fail_msg("no tensor %.*s", STR_ARG(node->attr.name));
            return;
        }
        if (tensor->rank != node->type.rank) {
            fail_msg("%.*s has another rank", STR_ARG(node->attr.name));
        }
        for (size_t axis = 0; axis < tensor->rank; axis++) {
            if (!size_is(node->type.shape[axis], tensor->shape[axis])) {
                fail_msg("%.*s has another shape", STR_ARG(node->attr.name));
            }
        }
    }
    assert_int_equal(nparams, weights->n);
}

static void check_outputs(const Graph *graph, const StFile *outputs)
{
    for (size_t i = 0; i < outputs->n; i++) {
        bool is_there = false;
        for (size_t j = 0; j < graph->outputs.n; j++) {
            is_there =
                is_there || str_equal(graph->outputs.items[j].name, outputs->tensors[i].name);
        }
        if (!is_there) {
            fail_msg("no output %.*s", STR_ARG(outputs->tensors[i].name));
        }
    }
}

static StFile *open_tensors(Arena *arena, Diag *dx, const char *folder, const char *name)
{
    const char *path = str_cstr(arena, str_format(arena, "%s/%s", folder, name));
    return access(path, F_OK) == 0 ? st_open(arena, dx, path) : NULL;
}

static void check_case(const char *folder)
{
    Arena *arena = arena_create();
    Diag *dx = diag_create(arena);
    FrontFile file = {.name = STR("imported.slu"), .key = STR("imported.slu")};
    bool is_good = import_config(arena, dx, folder, &file.text);
    FrontSpec spec = {.file = &file};
    FrontOptions options = {0};
    Graph *graph = is_good ? front_elaborate(arena, dx, &spec, &options, NULL) : NULL;
    char *text = said(dx);
    if (!graph || *text) {
        fail_msg("%s: %s", folder, text);
    }
    free(text);
    StFile *weights = open_tensors(arena, dx, folder, "weights.safetensors");
    StFile *outputs = open_tensors(arena, dx, folder, "outputs.safetensors");
    if (!weights || !outputs) {
        fail_msg("%s: no weights or no outputs", folder);
        return;
    }
    print_message("%s\n", folder);
    check_parameters(graph, weights);
    check_outputs(graph, outputs);
    st_close(weights);
    st_close(outputs);
    arena_destroy(arena);
}

// Calls check_case for each folder with a config.json, `depth` levels down; returns how many.
static size_t check_folder(const char *path, int depth)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return 0;
    }
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        assert_true(length > 0 && (size_t)length < sizeof inner - 16);
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (depth > 0) {
            n += check_folder(inner, depth - 1);
            continue;
        }
        char config[4096 + 16];
        snprintf(config, sizeof config, "%s/config.json", inner);
        if (access(config, F_OK) == 0) {
            check_case(inner);
            n++;
        }
    }
    closedir(folder);
    return n;
}

static void test_cases(void **state)
{
    (void)state;
    if (access(data_path, F_OK) != 0) {
        print_message("%s is not there\n", data_path);
        skip();
    }
    assert_true(check_folder(data_path, 1) >= 50);
}

int main(int argc, char **argv)
{
    data_path = argc > 1 ? argv[1] : data_path;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests_name("import_golden", tests, NULL, NULL);
}
