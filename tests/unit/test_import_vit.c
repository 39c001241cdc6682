// Import of Hugging Face's ViT and DeiT: texts written by hand, and what is said of wrong
// configurations. That they compute the same is tests/cli/hf_vit.sh's.
#include "import_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

// A small one, with `more` keys behind it.
#define IMAGE(type, class, more)                                                                   \
    "{\"model_type\": \"" type "\", \"hidden_size\": 128, \"num_hidden_layers\": 2,\n"             \
    " \"num_attention_heads\": 2, \"intermediate_size\": 512, \"hidden_act\": \"gelu\",\n"         \
    " \"layer_norm_eps\": 1e-12, \"image_size\": 32, \"patch_size\": 8, \"num_channels\": 3,\n"    \
    " \"qkv_bias\": true, \"architectures\": [\"" class "\"]" more "}"
#define VIT(class, more) IMAGE("vit", class, more)

static void test_classes(void **state)
{
    Env *env = *state;
    assert_becomes(env, VIT("ViTModel", ""),
                   "# from config.json: vit, ViTModel\n"
                   "model vit_model = vit_encoder(V2H128, height: 32, patch: 8, eps: 1e-12)\n");
    assert_becomes(env, VIT("ViTForImageClassification", ", \"id2label\": {\"0\": \"cat\"}"),
                   "# from config.json: vit, ViTForImageClassification\n"
                   "model vit_for_image_classification = vit(V2H128, height: 32, patch: 8, "
                   "eps: 1e-12, classes: 1)\n");
    assert_becomes(env, IMAGE("deit", "DeiTModel", ""),
                   "# from config.json: deit, DeiTModel\n"
                   "model deit_model = vit_encoder(V2H128, height: 32, patch: 8, distilled: true, "
                   "eps: 1e-12)\n");
    assert_becomes(env, IMAGE("deit", "DeiTForImageClassification", ", \"num_labels\": 3"),
                   "# from config.json: deit, DeiTForImageClassification\n"
                   "model deit_for_image_classification = vit(V2H128, height: 32, patch: 8, "
                   "distilled: true,\n    eps: 1e-12, classes: 3)\n");
    assert_becomes(
        env, IMAGE("deit", "DeiTForImageClassificationWithTeacher", ", \"num_labels\": 3"),
        "# from config.json: deit, DeiTForImageClassificationWithTeacher\n"
        "model deit_for_image_classification_with_teacher = deit_distilled(V2H128, height: 32, "
        "patch: 8,\n    all_logits: true, eps: 1e-12, classes: 3)\n");
    assert_warns(env, VIT("ViTForMaskedImageModeling", ", \"encoder_stride\": 8"),
                 "class \"ViTForMaskedImageModeling\" is not known, so this is the encoder of vit",
                 "# from config.json: vit\n"
                 "model vit_model = vit_encoder(V2H128, height: 32, patch: 8, eps: 1e-12, "
                 "pooler: false)\n");
}

// Nothing but the class: what the library's configuration has then.
static void test_defaults(void **state)
{
    Env *env = *state;
    assert_becomes(
        env, "{\"model_type\": \"vit\", \"architectures\": [\"ViTForImageClassification\"]}",
        "# from config.json: vit, ViTForImageClassification\n"
        "# not given, so as the library has it: num_hidden_layers 12, hidden_size 768,\n"
        "#   num_attention_heads 12, intermediate_size 3072, image_size 224, patch_size 16, "
        "num_channels 3,\n"
        "#   hidden_act gelu, layer_norm_eps 1e-12, qkv_bias true, num_labels 2\n"
        "model vit_for_image_classification = vit(V12H768, eps: 1e-12, classes: 2)\n");
}

static void test_options(void **state)
{
    Env *env = *state;
    assert_becomes(env,
                   "{\"model_type\": \"vit\", \"architectures\": [\"ViTModel\"],"
                   "\"hidden_size\": 96, \"num_hidden_layers\": 3, \"num_attention_heads\": 3,"
                   "\"intermediate_size\": 100, \"hidden_act\": \"gelu_new\","
                   "\"layer_norm_eps\": 1e-6, \"image_size\": [24, 40], \"patch_size\": [8, 8],"
                   "\"num_channels\": 1, \"qkv_bias\": false, \"pooler_output_size\": 20,"
                   "\"pooler_act\": \"relu\", \"output_hidden_states\": true,"
                   "\"encoder_stride\": 32, \"id2label\": null}",
                   "# from config.json: vit, ViTModel\n"
                   "model vit_model = vit_encoder(V3H96F100A3, height: 24, width: 40, "
                   "channels: 1, patch: 8,\n    act: gelu_tanh, qkv_bias: false, "
                   "pooler_width: 20, pooler_act: relu, all_states: true)\n");
    assert_becomes(env, VIT("ViTModel", ", \"pooler_output_size\": null"),
                   "# from config.json: vit, ViTModel\n"
                   "model vit_model = vit_encoder(V2H128, height: 32, patch: 8, eps: 1e-12)\n");
    assert_becomes(env,
                   VIT("ViTForImageClassification",
                       ", \"num_labels\": 5, \"sluice\": {\"outputs\": [\"features\"]}"),
                   "# from config.json: vit, ViTForImageClassification\n"
                   "model vit_for_image_classification = vit(V2H128, height: 32, patch: 8, "
                   "eps: 1e-12, classes: 5,\n    all_states: true)\n");
}

static void test_errors(void **state)
{
    static const struct {
        const char *keys;
        const char *part;
    } wrong[] = {
        {"\"image_size\": 30", "an image of 30 x 30 does not divide into patches of 16"},
        {"\"image_size\": [32]", "image_size is [32], but what is understood is a size"},
        {"\"patch_size\": [16, 8]", "patch_size is [16, 8], but what is understood is one size"},
        {"\"num_attention_heads\": 5", "a width of 768 does not divide into 5 heads"},
        {"\"hidden_act\": \"selu\"", "hidden_act is \"selu\", but what is understood is \"gelu\""},
        {"\"pooler_act\": 3", "pooler_act is 3, but"},
        {"\"pooler_output_size\": 0", "pooler_output_size is 0, but"},
        {"\"num_labels\": 0", "num_labels is 0, but what is understood is a whole number from 1"},
        {"\"mlp_ratio\": 4", "key \"mlp_ratio\", here 4, is not known"},
        {"\"head_dim\": 8", "key \"head_dim\", here 8, is not known"},
        {"\"vocab_size\": 8", "key \"vocab_size\", here 8, is not known"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        Str config = str_format(env->arena,
                                "{\"model_type\": \"vit\", \"architectures\": [\"ViTModel\"], %s}",
                                wrong[i].keys);
        assert_refuses(env, str_cstr(env->arena, config), wrong[i].part);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_classes),
        TEST(test_defaults),
        TEST(test_options),
        TEST(test_errors),
    };
    return cmocka_run_group_tests_name("import_vit", tests, NULL, NULL);
}
