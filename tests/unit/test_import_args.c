// Import of what timm and g-mlp-pytorch are called with: text that was written by hand, and what is
// said of wrong arguments.
#include "import_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// ---- timm ----

static void test_timm(void **state)
{
    Env *env = *state;
    assert_becomes(env, "{\"architecture\": \"gmlp_s16_224\"}",
                   "# from config.json: timm, gmlp_s16_224\n"
                   "model gmlp_s16_224 = gmlp_vision(G30H256F1536, classes: 1000)\n");
    assert_becomes(env,
                   "{\"architecture\": \"mixer_b16_224.goog_in21k\", \"num_classes\": 21843,"
                   "\"num_features\": 768, \"global_pool\": \"avg\", \"pretrained_cfg\": {\"tag\": "
                   "\"goog_in21k\", \"input_size\": [3, 224, 224], \"mean\": [0.5, 0.5, 0.5]}}",
                   "# from config.json: timm, mixer_b16_224\n"
                   "model mixer_b16_224 = mixer(M12H768, classes: 21843)\n");
    assert_becomes(env,
                   "{\"architecture\": \"vit_large_patch14_224\", \"model_args\": {\"depth\": 1,"
                   "\"img_size\": [28, 42], \"embed_dim\": 64, \"num_heads\": 2, \"in_chans\": 1,"
                   "\"mlp_ratio\": 2.5, \"class_token\": false, \"global_pool\": \"avg\","
                   "\"act_layer\": \"quick_gelu\", \"qkv_bias\": false, \"num_classes\": 5,"
                   "\"drop_rate\": 0.1}}",
                   "# from config.json: timm, vit_large_patch14_224\n"
                   "model vit_large_patch14_224 = vit(V1H64F160A2, height: 28, width: 42, "
                   "channels: 1, patch: 14,\n"
                   "    classes: 5, qkv_bias: false, class_token: false, readout: \"mean\", "
                   "act: gelu_sigmoid)\n");
    assert_becomes(env,
                   "{\"architecture\": \"deit_base_distilled_patch16_384\", \"num_classes\": 7}",
                   "# from config.json: timm, deit_base_distilled_patch16_384\n"
                   "model deit_base_distilled_patch16_384 = deit_distilled(V12H768, height: 384, "
                   "classes: 7)\n");
    // An old file: image sizes stand beside the architecture. Token widths that are no half.
    assert_becomes(env,
                   "{\"architecture\": \"mixer_s32_224\", \"input_size\": [1, 64, 96],"
                   "\"num_classes\": 3, \"crop_pct\": 0.875, \"model_args\": {\"num_blocks\": 2,"
                   "\"embed_dim\": 10, \"mlp_ratio\": [0.25, 3]}}",
                   "# from config.json: timm, mixer_s32_224\n"
                   "model mixer_s32_224 = mixer(M2H10F30S2, height: 64, width: 96, channels: 1, "
                   "patch: 32, classes: 3)\n");
}

static void test_timm_errors(void **state)
{
    static const struct {
        const char *architecture;
        const char *args;
        const char *says;
    } cases[] = {
        {"resnet50", "", "architecture \"resnet50\" is not known; known are mixer_s32_224, "},
        {"vit_base_patch16_225", "", "is not known; the nearest that is: vit_base_patch16_224"},
        {"mixer_s16_224", "\"num_blocks\": 0", "num_blocks is 0, but"},
        {"mixer_s16_224", "\"mlp_ratio\": 0.0001", "embed_dim 512 times mlp_ratio is no width"},
        {"mixer_s16_224", "\"embed_dim\": 1", "embed_dim 1 times mlp_ratio is no width from 1"},
        {"mixer_s16_224", "\"mlp_ratio\": \"4\"",
         "mlp_ratio is \"4\", but what is understood is a"},
        {"mixer_s16_224", "\"mlp_ratio\": [1, 2, 3]", "mlp_ratio is [1, 2, 3], but"},
        {"mixer_s16_224", "\"mlp_ratio\": 1e300", "times mlp_ratio is no width"},
        {"mixer_s16_224", "\"global_pool\": \"token\"",
         "global_pool is \"token\", but what is "
         "understood is \"avg\""},
        {"mixer_s16_224", "\"img_size\": 100",
         "an image of 100 x 100 does not divide into patches "
         "of 16"},
        {"mixer_s16_224", "\"img_size\": [32]",
         "img_size is [32], but what is understood is a size"},
        {"mixer_s16_224", "\"img_size\": [32, 0]", "img_size is [32, 0], but"},
        {"mixer_s16_224", "\"depth\": 12", "key \"depth\", here 12, is not known"},
        {"gmlp_s16_224", "\"embed_dim\": 25, \"mlp_ratio\": 1.0", "the inner width 25 is odd"},
        {"vit_tiny_patch16_224", "\"init_values\": 1e-05",
         "init_values is 1e-05, but what is understood is null"},
        {"vit_tiny_patch16_224", "\"reg_tokens\": 4",
         "reg_tokens is 4, but what is understood is 0"},
        {"vit_tiny_patch16_224", "\"num_heads\": 5", "a width of 192 does not divide into 5 heads"},
        {"vit_tiny_patch16_224", "\"class_token\": false",
         "global_pool is token, but class_token is false"},
        {"vit_tiny_patch16_224", "\"num_classes\": 0", "num_classes is 0, but"},
        {"vit_tiny_patch16_224", "\"num_classes\": 10",
         "num_classes is 10 here, but 1000 outside of model_args"},
        {"deit_tiny_distilled_patch16_224", "\"global_pool\": \"avg\"",
         "global_pool is \"avg\", but what is understood is \"token\""},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str config = str_format(env->arena,
                                "{\"architecture\": \"%s\", \"num_classes\": 1000, "
                                "\"model_args\": {%s}}",
                                cases[i].architecture, cases[i].args);
        assert_refuses(env, str_cstr(env->arena, config), cases[i].says);
    }
    assert_refuses(env, "{\"architecture\": 3}", "architecture 3 is not known");
    assert_refuses(env, "{\"architecture\": \"mixer_s16_224\", \"model_args\": [1]}",
                   "an object expected, not [1]");
    assert_refuses(env, "{\"architecture\": \"mixer_s16_224\", \"input_size\": [3, 224]}",
                   "input_size is [3, 224], but what is understood is a list of channels");
    assert_refuses(env, "{\"architecture\": \"mixer_s16_224\", \"nonsense\": 1}",
                   "key \"nonsense\"");
}

// ---- lucidrains ----

static void test_lucid(void **state)
{
    Env *env = *state;
    assert_becomes(env,
                   "{\"class\": \"gMLP\", \"args\": {\"num_tokens\": 20000, \"dim\": 64, "
                   "\"depth\": 2, \"seq_len\": 256}}",
                   "# from config.json: g-mlp-pytorch, gMLP\n"
                   "model gmlp_text = lucid_gmlp(G2H64)\n");
    assert_becomes(env,
                   "{\"library\": \"g-mlp-pytorch\", \"class\": \"gMLP\", \"args\": {"
                   "\"num_tokens\": 60, \"dim\": 12, \"depth\": 2, \"seq_len\": 16, \"heads\": 3,"
                   "\"ff_mult\": 2, \"attn_dim\": 8, \"prob_survival\": 0.9, \"causal\": true,"
                   "\"circulant_matrix\": true, \"shift_tokens\": 1, \"act\": \"tanh\"}}",
                   "# from config.json: g-mlp-pytorch, gMLP\n"
                   "model gmlp_text = lucid_gmlp(G2H12F24T8, vocab: 60, length: 16, causal: true, "
                   "heads: 3,\n    circulant: true, shift: 1, gate_act: tanh)\n");
    assert_becomes(env,
                   "{\"class\": \"gMLP\", \"args\": {\"num_tokens\": null, \"dim\": 64, "
                   "\"depth\": 2, \"seq_len\": 9}}",
                   "# from config.json: g-mlp-pytorch, gMLP\n"
                   "model gmlp_text = lucid_gmlp_features(G2H64, length: 9)\n");
    assert_becomes(env,
                   "{\"class\": \"gMLPVision\", \"args\": {\"image_size\": [32, 64], "
                   "\"patch_size\": 16, \"num_classes\": 10, \"dim\": 64, \"depth\": 2, "
                   "\"channels\": 1, \"heads\": 2}, \"sluice\": {\"outputs\": [\"layers.1\"]}}",
                   "# from config.json: g-mlp-pytorch, gMLPVision\n"
                   "model gmlp_image = lucid_gmlp_vision(G2H64, height: 32, width: 64, "
                   "channels: 1, classes: 10,\n    heads: 2, all_states: true)\n");
}

static void test_lucid_errors(void **state)
{
    static const struct {
        const char *args;
        const char *says;
    } cases[] = {
        {"\"dim\": 64, \"depth\": 2", "seq_len is missing"},
        {"\"dim\": 64, \"seq_len\": 2", "depth is missing"},
        {"\"dim\": 0, \"depth\": 2, \"seq_len\": 2", "dim is 0, but"},
        {"\"dim\": 64, \"depth\": 2000, \"seq_len\": 2", "depth is 2000, but"},
        {"\"dim\": 2147483647, \"depth\": 2, \"seq_len\": 2, \"ff_mult\": 2", "ff_mult is 2, but"},
        {"\"dim\": 5, \"depth\": 2, \"seq_len\": 2, \"ff_mult\": 3",
         "dim 5 times ff_mult 3 is odd, but the gate splits it in halves"},
        {"\"dim\": 5, \"depth\": 2, \"seq_len\": 2, \"ff_mult\": 2, \"heads\": 2",
         "5 channels of the gate do not divide into 2 heads"},
        {"\"dim\": 64, \"depth\": 2, \"seq_len\": 2, \"act\": \"softsign\"",
         "act is \"softsign\", but what is understood is \"identity\", \"tanh\""},
        {"\"dim\": 64, \"depth\": 2, \"seq_len\": 2, \"shift_token\": 1",
         "key \"shift_token\", here 1, is not known, so the model may mean something else; the "
         "nearest that is: shift_tokens"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str config = str_format(env->arena, "{\"class\": \"gMLP\", \"args\": {%s}}", cases[i].args);
        assert_refuses(env, str_cstr(env->arena, config), cases[i].says);
    }
    assert_refuses(env, "{\"class\": \"MLP\", \"args\": {}}",
                   "class is \"MLP\", but what is understood is \"gMLP\" or \"gMLPVision\"");
    assert_refuses(env, "{\"class\": \"gMLP\"}", "the class's arguments, args, are missing");
    assert_refuses(env, "{\"class\": \"gMLP\", \"library\": \"x\", \"args\": {}}",
                   "library is \"x\", but what is understood is \"g-mlp-pytorch\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_timm),
        TEST(test_timm_errors),
        TEST(test_lucid),
        TEST(test_lucid_errors),
    };
    return cmocka_run_group_tests_name("import_args", tests, NULL, NULL);
}
