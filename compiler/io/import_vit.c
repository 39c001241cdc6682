// ViT and DeiT as Hugging Face configures them. What is not given is as in the library's
// configuration classes, which agree. Parameters have timm's names; the map vit-hf reads theirs.
#include "io/import_internal.h"

#include <string.h>

static const HfClass vit_classes[] = {
    {"ViTModel", "vit_encoder", "last_hidden_state pooler_output", LABELS_none, TRAIT_pooler},
    {"ViTForImageClassification", "vit", "logits", LABELS_classes, 0},
};

// All of them have the second token; the first head alone reads the class token.
static const HfClass deit_classes[] = {
    {"DeiTModel", "vit_encoder", "last_hidden_state pooler_output", LABELS_none, TRAIT_pooler},
    {"DeiTForImageClassification", "vit", "logits", LABELS_classes, 0},
    {"DeiTForImageClassificationWithTeacher", "deit_distilled",
     "logits cls_logits distillation_logits", LABELS_classes, TRAIT_two_heads},
};

static void read_image(Keys *k, Call *call)
{
    Image image = {.height = 224, .width = 224, .channels = 3, .patch = 16};
    int64_t across = image.patch;
    if (!keys_pair(k, "image_size", &image.height, &image.width)) {
        vec_push(k->im->arena, &k->im->missing, STR("image_size 224"));
    }
    if (!keys_pair(k, "patch_size", &image.patch, &across)) {
        vec_push(k->im->arena, &k->im->missing, STR("patch_size 16"));
    } else if (image.patch != across) {
        import_misfit(k->im, "patch_size", keys_take(k, "patch_size"), "one size: square patches");
    }
    image.channels = keys_size(k, "num_channels", image.channels);
    const Json *at = keys_take(k, "image_size");
    call_image(call, &image, at ? at->at : k->object->at);
}

static void read_pooler(Keys *k, Call *call, bool is_known, int64_t width)
{
    bool notes = k->notes_missing;
    k->notes_missing = false; // keys that the library has had for a short time
    const Json *size = keys_take(k, "pooler_output_size");
    bool is_given = size && size->kind != JSON_null;
    int64_t pooled = is_given ? keys_size(k, "pooler_output_size", width) : width;
    const char *act = keys_act(k, "pooler_act", "tanh");
    k->notes_missing = notes;
    call_flag(call, "pooler", is_known, true); // a checkpoint with a head has none as a rule
    if (is_known) {
        call_int(call, "pooler_width", pooled, width);
        call_word(call, "pooler_act", act, "tanh");
    }
}

static Call import_image(Keys *k, const char *family, const HfClass *classes, size_t n,
                         bool is_distilled)
{
    bool is_known;
    const HfClass *cls = hf_class(k, family, classes, n, &is_known);
    Call call = hf_call(k, family, cls, is_known, 'V');
    call.name = str_format(k->im->arena, "%s%s", family, cls->name + strlen(family)); // not vi_t
    int64_t layers = keys_int(k, "num_hidden_layers", 1, MOST_LAYERS, 12);
    int64_t width = keys_size(k, "hidden_size", 768);
    int64_t heads = keys_size(k, "num_attention_heads", 12);
    int64_t ffn = keys_size(k, "intermediate_size", 3072);
    import_check_heads(k, "num_attention_heads", width, heads);
    call_group(&call, layers, 1);
    call_widths(&call, width, ffn, heads, width / heads);
    read_image(k, &call);
    if (cls->traits & TRAIT_two_heads) {
        call_flag(&call, "all_logits", true, false);
    } else {
        call_flag(&call, "distilled", is_distilled, false);
    }
    call_word(&call, "act", keys_act(k, "hidden_act", "gelu"), "gelu");
    call_float(&call, "eps", keys_positive(k, "layer_norm_eps", 1e-12), 1e-6);
    call_flag(&call, "qkv_bias", keys_bool(k, "qkv_bias", true), true);
    if (cls->traits & TRAIT_pooler) {
        read_pooler(k, &call, is_known, width);
    }
    hf_head(k, &call, cls, cls->labels == LABELS_none ? "hidden_states" : "features blocks", NULL);
    keys_finish(k);
    return call;
}

Call import_vit(Keys *k)
{
    return import_image(k, "vit", vit_classes, sizeof vit_classes / sizeof vit_classes[0], false);
}

Call import_deit(Keys *k)
{
    return import_image(k, "deit", deit_classes, sizeof deit_classes / sizeof deit_classes[0],
                        true);
}
