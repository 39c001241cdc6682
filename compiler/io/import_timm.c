// timm's MLP-Mixer, gMLP, ViT and DeiT: {"architecture": name, "num_classes": n, "model_args":
// {…}}. A name says what a model is; arguments change it.
#include "io/import_internal.h"

typedef enum Kind { KIND_mixer, KIND_gmlp, KIND_vit, KIND_distilled } Kind;

// A name, and what timm builds by it without arguments.
typedef struct TimmModel {
    const char *name;
    Kind kind;
    int64_t layers;
    int64_t width;
    int64_t heads; // 0: none
    int64_t patch;
    int64_t image; // height and width
} TimmModel;

static const TimmModel models[] = {
    {"mixer_s32_224", KIND_mixer, 8, 512, 0, 32, 224},
    {"mixer_s16_224", KIND_mixer, 8, 512, 0, 16, 224},
    {"mixer_b32_224", KIND_mixer, 12, 768, 0, 32, 224},
    {"mixer_b16_224", KIND_mixer, 12, 768, 0, 16, 224},
    {"mixer_l32_224", KIND_mixer, 24, 1024, 0, 32, 224},
    {"mixer_l16_224", KIND_mixer, 24, 1024, 0, 16, 224},
    {"gmlp_ti16_224", KIND_gmlp, 30, 128, 0, 16, 224},
    {"gmlp_s16_224", KIND_gmlp, 30, 256, 0, 16, 224},
    {"gmlp_b16_224", KIND_gmlp, 30, 512, 0, 16, 224},
    {"vit_tiny_patch16_224", KIND_vit, 12, 192, 3, 16, 224},
    {"vit_tiny_patch16_384", KIND_vit, 12, 192, 3, 16, 384},
    {"vit_small_patch32_224", KIND_vit, 12, 384, 6, 32, 224},
    {"vit_small_patch32_384", KIND_vit, 12, 384, 6, 32, 384},
    {"vit_small_patch16_224", KIND_vit, 12, 384, 6, 16, 224},
    {"vit_small_patch16_384", KIND_vit, 12, 384, 6, 16, 384},
    {"vit_small_patch8_224", KIND_vit, 12, 384, 6, 8, 224},
    {"vit_base_patch32_224", KIND_vit, 12, 768, 12, 32, 224},
    {"vit_base_patch32_384", KIND_vit, 12, 768, 12, 32, 384},
    {"vit_base_patch16_224", KIND_vit, 12, 768, 12, 16, 224},
    {"vit_base_patch16_384", KIND_vit, 12, 768, 12, 16, 384},
    {"vit_base_patch8_224", KIND_vit, 12, 768, 12, 8, 224},
    {"vit_large_patch32_224", KIND_vit, 24, 1024, 16, 32, 224},
    {"vit_large_patch32_384", KIND_vit, 24, 1024, 16, 32, 384},
    {"vit_large_patch16_224", KIND_vit, 24, 1024, 16, 16, 224},
    {"vit_large_patch16_384", KIND_vit, 24, 1024, 16, 16, 384},
    {"vit_large_patch14_224", KIND_vit, 24, 1024, 16, 14, 224},
    {"vit_huge_patch14_224", KIND_vit, 32, 1280, 16, 14, 224},
    {"deit_tiny_patch16_224", KIND_vit, 12, 192, 3, 16, 224},
    {"deit_small_patch16_224", KIND_vit, 12, 384, 6, 16, 224},
    {"deit_base_patch16_224", KIND_vit, 12, 768, 12, 16, 224},
    {"deit_base_patch16_384", KIND_vit, 12, 768, 12, 16, 384},
    {"deit_tiny_distilled_patch16_224", KIND_distilled, 12, 192, 3, 16, 224},
    {"deit_small_distilled_patch16_224", KIND_distilled, 12, 384, 6, 16, 224},
    {"deit_base_distilled_patch16_224", KIND_distilled, 12, 768, 12, 16, 224},
    {"deit_base_distilled_patch16_384", KIND_distilled, 12, 768, 12, 16, 384},
};

enum { NMODELS = sizeof models / sizeof models[0] };

static const TimmModel *find_model(Keys *k)
{
    Import *im = k->im;
    const Json *value = keys_take(k, "architecture");
    Str name = value->kind == JSON_text ? value->text : (Str){0};
    for (size_t i = 0; i < name.len; i++) {
        name.len = name.ptr[i] == '.' ? i : name.len; // what follows names the training
    }
    Str names[NMODELS];
    Buf known = {.arena = im->arena};
    for (size_t i = 0; i < NMODELS; i++) {
        names[i] = str_from(models[i].name);
        if (str_equal(name, names[i])) {
            return &models[i];
        }
        buf_format(&known, "%s%s", i > 0 ? ", " : "", models[i].name);
    }
    Str near = str_nearest(name, names, NMODELS);
    diag_error(im->dx, value->at, "architecture %.*s is not known; %s%.*s",
               STR_ARG(import_show(im, value)),
               near.len > 0 ? "the nearest that is: " : "known are ",
               STR_ARG(near.len > 0 ? near : buf_str(&known)));
    return NULL;
}

// ---- what the file says besides the arguments ----

// What the library lets an argument decide and else finds elsewhere in the file.
typedef struct Around {
    const Json *classes;
    const Json *pool;
    int64_t channels;
    int64_t height;
    int64_t width;
} Around;

// An input as [channels, height, width].
static void read_input(Import *im, const Json *value, Around *out)
{
    bool is_good = value->kind == JSON_list && value->n == 3;
    for (size_t i = 0; is_good && i < 3; i++) {
        const Json *size = &value->items[i];
        is_good = size->kind == JSON_int && size->integer >= 1 && size->integer <= MOST_SIZE;
    }
    if (!is_good) {
        import_misfit(im, "input_size", value, "a list of channels, height and width");
        return;
    }
    out->channels = value->items[0].integer;
    out->height = value->items[1].integer;
    out->width = value->items[2].integer;
}

// pretrained_cfg is about training data and images, but for these keys; old files have them beside
// the architecture.
static Around read_around(Keys *k, const TimmModel *model)
{
    Around around = {.channels = 3, .height = model->image, .width = model->image};
    const Json *pretrained = keys_take(k, "pretrained_cfg");
    const Json *inner = pretrained ? pretrained : k->object;
    around.classes = keys_take(k, "num_classes");
    around.pool = keys_take(k, "global_pool");
    const Json *input = keys_take(k, "input_size");
    around.classes = around.classes ? around.classes : json_tree_find(inner, STR("num_classes"));
    around.pool = around.pool ? around.pool : json_tree_find(inner, STR("global_pool"));
    input = input ? input : json_tree_find(inner, STR("input_size"));
    if (input) {
        read_input(k->im, input, &around);
    }
    return around;
}

// ---- arguments ----

// The value of an argument that may also stand outside of model_args; NULL if it stands nowhere.
static const Json *inside_or(Keys *args, const char *key, const Json *outside)
{
    const Json *inside = keys_take(args, key);
    Import *im = args->im;
    if (inside && outside && !str_equal(import_show(im, inside), import_show(im, outside))) {
        diag_error(im->dx, inside->at, "%s is %.*s here, but %.*s outside of model_args", key,
                   STR_ARG(import_show(im, inside)), STR_ARG(import_show(im, outside)));
    }
    return inside ? inside : outside;
}

static void read_image(Keys *args, const Around *around, const TimmModel *model, Call *call)
{
    const Json *classes = inside_or(args, "num_classes", around->classes);
    Image image = {.height = around->height, .width = around->width};
    keys_pair(args, "img_size", &image.height, &image.width);
    image.patch = keys_size(args, "patch_size", model->patch);
    image.channels = keys_size(args, "in_chans", around->channels);
    image.classes = import_int(args->im, "num_classes", classes, 1, MOST_SIZE, 1000);
    call_image(call, &image, args->object->at);
}

// A width as a multiple of another, cut to a whole number.
static int64_t times(Keys *args, int64_t width, const Json *ratio, double missing)
{
    bool is_number = !ratio || ratio->kind == JSON_int || ratio->kind == JSON_real;
    double product = (double)width * (ratio ? ratio->real : missing);
    if (!is_number) {
        import_misfit(args->im, "mlp_ratio", ratio, "a number");
        return width;
    }
    if (product < 1 || product > (double)MOST_SIZE) {
        diag_error(args->im->dx, ratio ? ratio->at : args->object->at,
                   "embed_dim %lld times mlp_ratio is no width from 1 to %lld", (long long)width,
                   (long long)MOST_SIZE);
        return width;
    }
    return (int64_t)product;
}

static const char *read_pool(Keys *args, const Around *around, const Word *pools, size_t n,
                             const char *missing)
{
    const Json *pool = inside_or(args, "global_pool", around->pool);
    return import_word(args->im, "global_pool", pool, pools, n, missing);
}

static void read_mlp(Keys *args, const Around *around, const TimmModel *model, Call *call)
{
    static const Word pools[] = {{"avg", "mean"}};
    int64_t layers = keys_int(args, "num_blocks", 1, MOST_LAYERS, model->layers);
    int64_t width = keys_size(args, "embed_dim", model->width);
    const Json *ratio = keys_take(args, "mlp_ratio");
    call_group(call, layers, 1);
    call_tag(call, 'H', width);
    int64_t ffn;
    if (model->kind == KIND_mixer) { // a ratio for tokens and one for channels, or one for both
        bool is_pair = ratio && ratio->kind == JSON_list && ratio->n == 2;
        ffn = times(args, width, is_pair ? &ratio->items[1] : ratio, 4.0);
        int64_t tokens = times(args, width, is_pair ? &ratio->items[0] : ratio, 0.5);
        if (ffn != 4 * width) {
            call_tag(call, 'F', ffn);
        }
        if (2 * tokens != width) {
            call_tag(call, 'S', tokens);
        }
    } else {
        ffn = times(args, width, ratio, 6.0);
        if (ffn % 2 != 0) {
            diag_error(args->im->dx, ratio ? ratio->at : args->object->at,
                       "the inner width %lld is odd, but the gate splits it in halves",
                       (long long)ffn);
        }
        if (ffn != 4 * width) {
            call_tag(call, 'F', ffn);
        }
    }
    read_pool(args, around, pools, 1, "avg");
    read_image(args, around, model, call);
}

static void read_vit(Keys *args, const Around *around, const TimmModel *model, Call *call)
{
    static const Word pools[] = {{"token", "token"}, {"avg", "mean"}};
    bool is_distilled = model->kind == KIND_distilled;
    int64_t layers = keys_int(args, "depth", 1, MOST_LAYERS, model->layers);
    int64_t width = keys_size(args, "embed_dim", model->width);
    int64_t heads = keys_size(args, "num_heads", model->heads);
    int64_t ffn = times(args, width, keys_take(args, "mlp_ratio"), 4.0);
    import_check_heads(args, "num_heads", width, heads);
    call_group(call, layers, 1);
    call_widths(call, width, ffn, heads, width / heads);
    const char *readout = read_pool(args, around, pools, is_distilled ? 1 : 2, "token");
    read_image(args, around, model, call);
    call_flag(call, "qkv_bias", keys_bool(args, "qkv_bias", true), true);
    if (is_distilled) {
        keys_only(args, "class_token", "true");
        return;
    }
    bool has_token = keys_bool(args, "class_token", true);
    if (!has_token && *readout == 't') {
        diag_error(args->im->dx, args->object->at,
                   "global_pool is token, but class_token is false: there is none to read");
    }
    call_flag(call, "class_token", has_token, true);
    call_text(call, "readout", readout, "token");
}

Call import_timm(Keys *k)
{
    static const Json empty = {.kind = JSON_object};
    static const char *const standard[] = {[KIND_mixer] = "mixer",
                                           [KIND_gmlp] = "gmlp_vision",
                                           [KIND_vit] = "vit",
                                           [KIND_distilled] = "deit_distilled"};
    Import *im = k->im;
    const TimmModel *model = find_model(k);
    if (!model) {
        return (Call){.im = im};
    }
    bool is_mlp = model->kind == KIND_mixer || model->kind == KIND_gmlp;
    Call call = {.im = im,
                 .model = standard[model->kind],
                 .origin = str_format(im->arena, "timm, %s", model->name),
                 .name = str_from(model->name),
                 .layout = {.arena = im->arena}};
    buf_char(&call.layout, model->kind == KIND_mixer ? 'M' : is_mlp ? 'G' : 'V');
    Around around = read_around(k, model);
    const Json *value = keys_take(k, "model_args");
    Keys args = keys_open(im, value ? value : &empty, is_mlp ? FORM_mlp_args : FORM_vit_args);
    (is_mlp ? read_mlp : read_vit)(&args, &around, model, &call);
    call_word(&call, "act", keys_act(&args, "act_layer", "gelu"), "gelu");
    call_flag(&call, "all_states", import_wants(k, "logits", "features blocks", NULL), false);
    keys_finish(&args);
    keys_finish(k);
    return call;
}
