#include "golden_case.h"

#include "io/file.h"
#include "io/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const GoldenTensor *golden_find(const GoldenTensors *tensors, Str name)
{
    for (size_t i = 0; i < tensors->n; i++) {
        if (str_equal(tensors->items[i].name, name)) {
            return &tensors->items[i];
        }
    }
    return NULL;
}

double golden_value(const GoldenTensor *t, int64_t i)
{
    return t->dtype == DT_i32 ? (double)((const int32_t *)t->data)[i]
                              : (double)((const float *)t->data)[i];
}

static bool read_tensors(Arena *a, Diag *dx, const char *path, GoldenTensors *out)
{
    StFile *file = st_open(a, dx, path);
    if (!file) {
        return false;
    }
    bool ok = true;
    out->n = file->n;
    out->items = arena_new(a, GoldenTensor, file->n + 1);
    for (size_t i = 0; ok && i < file->n; i++) {
        const StTensor *t = &file->tensors[i];
        GoldenTensor *g = &out->items[i];
        *g = (GoldenTensor){
            .name = str_copy(a, t->name), .rank = t->rank, .shape = t->shape, .count = t->count};
        g->data = arena_new(a, float, (size_t)t->count + 1);
        g->dtype = str_equal(t->dtype, STR("F32")) ? DT_f32 : DT_i32;
        ok = g->dtype == DT_f32 ? st_read_f32(dx, file, t, g->data)
                                : st_read_i32(dx, file, t, g->data);
    }
    st_close(file);
    return ok;
}

static bool read_tolerances(const json_t *json, GoldenTensors *outputs, Arena *a)
{
    for (size_t i = 0; i < outputs->n; i++) {
        GoldenTensor *t = &outputs->items[i];
        const json_t *said =
            json_object_get(json_object_get(json, "outputs"), str_cstr(a, t->name));
        const json_t *tolerance = json_object_get(said, "tolerance");
        if (!tolerance) {
            return false;
        }
        t->atol = json_number_value(json_object_get(tolerance, "atol"));
        t->rtol = json_number_value(json_object_get(tolerance, "rtol"));
    }
    return true;
}

static bool copy(Arena *a, Diag *dx, const char *from, const char *to)
{
    Str text;
    return file_read(a, dx, from, (size_t)1 << 30, &text) && file_write_text(dx, to, text);
}

// What sentence-transformers write beside a model that embeds sentences.
static bool write_sentence_files(Arena *a, Diag *dx, const char *folder)
{
    const char *modules = str_cstr(a, str_format(a, "%s/modules.json", folder));
    const char *pooling = str_cstr(a, str_format(a, "%s/1_Pooling", folder));
    mkdir(pooling, 0777);
    return file_write_text(dx, modules,
                           STR("[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": "
                               "\"sentence_transformers.models.Transformer\"},\n"
                               "{\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": "
                               "\"sentence_transformers.models.Pooling\"},\n"
                               "{\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": "
                               "\"sentence_transformers.models.Normalize\"}]\n")) &&
           file_write_text(
               dx, str_cstr(a, str_format(a, "%s/config.json", pooling)),
               STR("{\"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true,\n"
                   "\"pooling_mode_max_tokens\": false, \"pooling_mode_mean_sqrt_len_tokens\": "
                   "false}\n"));
}

#define IN(folder, file) str_cstr(a, str_format(a, "%s/" file, folder))

bool golden_load_tensors(Arena *a, const char *folder, GoldenTensors *inputs,
                         GoldenTensors *outputs)
{
    Diag *dx = diag_create(a);
    json_t *json = json_load_file(IN(folder, "case.json"), 0, NULL);
    bool ok = json && read_tensors(a, dx, IN(folder, "inputs.safetensors"), inputs) &&
              read_tensors(a, dx, IN(folder, "outputs.safetensors"), outputs) &&
              read_tolerances(json, outputs, a);
    json_decref(json);
    diag_flush(dx, stderr, false);
    return ok;
}

bool golden_load(Arena *a, const char *data, const char *family, const char *name, const char *work,
                 GoldenCase *out)
{
    Diag *dx = diag_create(a);
    const char *from = str_cstr(a, str_format(a, "%s/%s/%s", data, family, name));
    const char *to = str_cstr(a, str_format(a, "%s/%s", work, name));
    json_t *json = json_load_file(IN(from, "case.json"), 0, NULL);
    *out = (GoldenCase){.name = str_cstr(a, str_format(a, "%s/%s", family, name)), .folder = to};
    mkdir(to, 0777);
    bool ok = json && copy(a, dx, IN(from, "config.json"), IN(to, "config.json")) &&
              copy(a, dx, IN(from, "weights.safetensors"), IN(to, "model.safetensors")) &&
              golden_load_tensors(a, from, &out->inputs, &out->outputs);
    if (ok && json_object_get(json_object_get(json, "config"), "sentence_embedding")) {
        ok = write_sentence_files(a, dx, to);
    }
    if (ok && !golden_find(&out->inputs, STR("pixel_values"))) {
        out->seq = json_integer_value(json_object_get(json, "seq"));
    }
    json_decref(json);
    diag_flush(dx, stderr, false);
    return ok;
}
