// gMLP and aMLP of the package g-mlp-pytorch, by the arguments of its classes:
// {"library": "g-mlp-pytorch", "class": "gMLP", "args": {…}}.
#include "io/import_internal.h"

// What both classes take; `heads` groups of channels of the gate, each with a matrix of its own.
static int64_t read_layers(Keys *k, Call *call)
{
    Import *im = k->im;
    int64_t width = keys_need(k, "dim", MOST_SIZE);
    int64_t layers = keys_need(k, "depth", MOST_LAYERS);
    int64_t times = keys_int(k, "ff_mult", 1, MOST_SIZE / width, 4);
    int64_t heads = keys_size(k, "heads", 1);
    const Json *attend = keys_take(k, "attn_dim"); // null: none
    int64_t inner = width * times;
    call_group(call, layers, 1);
    call_tag(call, 'H', width);
    if (times != 4) {
        call_tag(call, 'F', inner);
    }
    if (attend && attend->kind != JSON_null) {
        call_tag(call, 'T', keys_size(k, "attn_dim", 1));
    }
    if (inner % 2 != 0) {
        diag_error(im->dx, k->object->at,
                   "dim %lld times ff_mult %lld is odd, but the gate splits it in halves",
                   (long long)width, (long long)times);
    } else if (inner / 2 % heads != 0) {
        diag_error(im->dx, k->object->at, "%lld channels of the gate do not divide into %lld heads",
                   (long long)(inner / 2), (long long)heads);
    }
    return heads;
}

// Whether it reads ids and gives logits: without a vocabulary, features go in and come out.
static bool read_text_model(Keys *k, Call *call)
{
    static const Word acts[] = {{"identity", "identity"}, {"tanh", "tanh"}, {"sigmoid", "sigmoid"},
                                {"relu", "relu"},         {"gelu", "gelu"}, {"silu", "silu"}};
    const Json *tokens = keys_take(k, "num_tokens");
    bool has_ends = tokens && tokens->kind != JSON_null;
    int64_t heads = read_layers(k, call);
    call->model = has_ends ? "lucid_gmlp" : "lucid_gmlp_features";
    if (has_ends) {
        call_int(call, "vocab", keys_size(k, "num_tokens", 1), 20000);
    }
    call_int(call, "length", keys_need(k, "seq_len", MOST_SIZE), 256);
    call_flag(call, "causal", keys_bool(k, "causal", false), false);
    call_int(call, "heads", heads, 1);
    call_flag(call, "circulant", keys_bool(k, "circulant_matrix", false), false);
    call_int(call, "shift", keys_int(k, "shift_tokens", 0, MOST_SIZE, 0), 0);
    call_word(call, "gate_act", keys_word(k, "act", acts, sizeof acts / sizeof acts[0], "identity"),
              "identity");
    return has_ends;
}

static void read_image_model(Keys *k, Call *call)
{
    int64_t heads = read_layers(k, call);
    Image image = {.height = 1, .width = 1};
    if (!keys_pair(k, "image_size", &image.height, &image.width)) {
        keys_need(k, "image_size", MOST_SIZE);
    }
    image.patch = keys_need(k, "patch_size", MOST_SIZE);
    image.classes = keys_need(k, "num_classes", MOST_SIZE);
    image.channels = keys_size(k, "channels", 3);
    call->model = "lucid_gmlp_vision";
    call_image(call, &image, k->object->at);
    call_int(call, "heads", heads, 1);
}

Call import_lucid(Keys *k)
{
    static const Word classes[] = {{"gMLP", "text"}, {"gMLPVision", "image"}};
    Import *im = k->im;
    keys_only(k, "library", "\"g-mlp-pytorch\"");
    bool is_image = *keys_word(k, "class", classes, 2, "gMLP") == 'i';
    Call call = {.im = im,
                 .origin = is_image ? STR("g-mlp-pytorch, gMLPVision") : STR("g-mlp-pytorch, gMLP"),
                 .name = is_image ? STR("gmlp_image") : STR("gmlp_text"),
                 .layout = {.arena = im->arena}};
    buf_char(&call.layout, 'G');
    const Json *value = keys_take(k, "args");
    if (!value) {
        diag_error(im->dx, k->object->at, "the class's arguments, args, are missing");
        return call;
    }
    Keys args = keys_open(im, value, FORM_lucid_args);
    bool wants_states;
    if (is_image) {
        read_image_model(&args, &call);
        wants_states = import_wants(k, "logits", "layers", NULL);
    } else {
        bool has_ends = read_text_model(&args, &call);
        wants_states =
            import_wants(k, has_ends ? "logits" : "features", has_ends ? "layers" : "", NULL);
    }
    call_flag(&call, "all_states", wants_states, false);
    keys_finish(&args);
    keys_finish(k);
    return call;
}
