// Import of Hugging Face's configurations and of sentence-transformers' folders: text that was
// written by hand, and what is said of wrong ones. The golden cases are test_import_golden's.
#include "front/front.h"

#include "import_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A small BERT, with `more` keys behind it.
#define BERT(more)                                                                                 \
    "{\"model_type\": \"bert\", \"vocab_size\": 60, \"hidden_size\": 128,\n"                       \
    " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 512,\n"         \
    " \"max_position_embeddings\": 40, \"type_vocab_size\": 2, \"hidden_act\": \"gelu\",\n"        \
    " \"layer_norm_eps\": 1e-12" more "}"
#define BERT_MODEL(more) BERT(",\n \"architectures\": [\"BertModel\"]" more)

#define FUNNEL(class, more)                                                                        \
    "{\"model_type\": \"funnel\", \"vocab_size\": 60, \"block_sizes\": [1, 2],\n"                  \
    " \"block_repeats\": [1, 1], \"d_model\": 128, \"n_head\": 2, \"d_head\": 64,\n"               \
    " \"d_inner\": 512, \"hidden_act\": \"gelu_new\", \"layer_norm_eps\": 1e-9,\n"                 \
    " \"pooling_type\": \"mean\", \"attention_type\": \"relative_shift\",\n"                       \
    " \"separate_cls\": true, \"truncate_seq\": true, \"pool_q_only\": true,\n"                    \
    " \"num_decoder_layers\": 2, \"architectures\": [\"" class "\"]" more "}"

// ---- BERT ----

static void test_bert(void **state)
{
    Env *env = *state;
    assert_becomes(env, BERT_MODEL(""),
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
    assert_becomes(env, BERT(", \"architectures\": [\"BertForMaskedLM\"]"),
                   "# from config.json: bert, BertForMaskedLM\n"
                   "model bert_for_masked_lm = bert_masked_lm(L2H128, vocab: 60, positions: 40)\n");
    assert_becomes(env,
                   BERT(", \"architectures\": [\"BertForSequenceClassification\"], "
                        "\"num_labels\": 7, \"problem_type\": \"regression\""),
                   "# from config.json: bert, BertForSequenceClassification\n"
                   "model bert_for_sequence_classification = bert_classifier(L2H128, vocab: 60, "
                   "positions: 40,\n    labels: 7)\n");
    assert_becomes(env,
                   BERT(", \"architectures\": [\"BertForTokenClassification\"], "
                        "\"id2label\": {\"0\": \"O\", \"1\": \"B\", \"2\": \"I\"}, "
                        "\"label2id\": {\"O\": 0, \"B\": 1, \"I\": 2}"),
                   "# from config.json: bert, BertForTokenClassification\n"
                   "model bert_for_token_classification = bert_token_classifier(L2H128, vocab: 60, "
                   "positions: 40,\n    labels: 3)\n");
    assert_becomes(env, BERT(", \"architectures\": [\"BertForQuestionAnswering\"]"),
                   "# from config.json: bert, BertForQuestionAnswering\n"
                   "model bert_for_question_answering = bert_question_answering(L2H128, vocab: 60, "
                   "positions: 40)\n");
}

// What the released base model has says nothing but its layout.
static void test_defaults(void **state)
{
    Env *env = *state;
    assert_becomes(
        env,
        "{\"architectures\": [\"BertModel\"], \"attention_probs_dropout_prob\": 0.1,"
        "\"gradient_checkpointing\": false, \"hidden_act\": \"gelu\","
        "\"hidden_dropout_prob\": 0.1, \"hidden_size\": 768, \"initializer_range\": 0.02,"
        "\"intermediate_size\": 3072, \"layer_norm_eps\": 1e-12,"
        "\"max_position_embeddings\": 512, \"model_type\": \"bert\","
        "\"num_attention_heads\": 12, \"num_hidden_layers\": 12, \"pad_token_id\": 0,"
        "\"position_embedding_type\": \"absolute\", \"transformers_version\": \"4.6.0\","
        "\"type_vocab_size\": 2, \"use_cache\": true, \"vocab_size\": 30522}",
        "# from config.json: bert, BertModel\nmodel bert_model = bert(L12H768)\n");
    assert_becomes(env, "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"]}",
                   "# from config.json: bert, BertModel\n"
                   "# not given, so as the library has it: num_hidden_layers 12, hidden_size 768,\n"
                   "#   num_attention_heads 12, intermediate_size 3072, vocab_size 30522, "
                   "type_vocab_size 2,\n"
                   "#   max_position_embeddings 512, hidden_act gelu, layer_norm_eps 1e-12\n"
                   "model bert_model = bert(L12H768)\n");
    assert_becomes(
        env,
        "{\"model_type\": \"electra\", \"architectures\": [\"ElectraModel\"],"
        "\"vocab_size\": 30522, \"type_vocab_size\": 2, \"num_hidden_layers\": 12,"
        "\"max_position_embeddings\": 512, \"hidden_act\": \"gelu\"}",
        "# from config.json: electra, ElectraModel\n"
        "# not given, so as the library has it: hidden_size 256, num_attention_heads 4,\n"
        "#   intermediate_size 1024, embedding_size 128, layer_norm_eps 1e-12\n"
        "model electra_model = bert(L12H256, embed: 128, pooler: false)\n");
    assert_becomes(env, "{\"model_type\": \"funnel\", \"architectures\": [\"FunnelModel\"]}",
                   "# from config.json: funnel, FunnelModel\n"
                   "# not given, so as the library has it: block_sizes [4, 4, 4], d_model 768, "
                   "n_head 12, d_head 64,\n"
                   "#   d_inner 3072, num_decoder_layers 2, vocab_size 30522, pooling_type mean, "
                   "separate_cls true,\n"
                   "#   truncate_seq true, pool_q_only true, attention_type relative_shift, "
                   "hidden_act gelu_new,\n"
                   "#   layer_norm_eps 1e-9\n"
                   "model funnel_model = funnel(B4-4-4H768D2, mask_pool: \"all_real\")\n");
}

// What import leaves out must be what the standard library puts in.
static void test_standard_defaults(void **state)
{
    static const struct {
        const char *layout;
        const char *name;
        const char *value;
    } wanted[] = {
        {"L1H64", "vocab", "30522"},       {"L1H64", "type_vocab", "2"},
        {"L1H64", "positions", "512"},     {"L1H64", "act", "gelu"},
        {"L1H64", "eps", "1e-12"},         {"L1H64", "pooler", "true"},
        {"L1H64", "embed", "layout.H"},    {"L1H64", "all_states", "false"},
        {"B1H64", "vocab", "30522"},       {"B1H64", "pool", "\"mean\""},
        {"B1H64", "separate_cls", "true"}, {"B1H64", "truncate", "true"},
        {"B1H64", "pool_q_only", "true"},  {"B1H64", "mask_pool", "\"any_real\""},
        {"B1H64", "act", "gelu_tanh"},     {"B1H64", "attention", "by_distance"},
        {"B1H64", "eps", "1e-9"},          {"M1H64", "height", "224"},
        {"M1H64", "width", "height"},      {"M1H64", "channels", "3"},
        {"M1H64", "patch", "16"},          {"M1H64", "act", "gelu"},
        {"M1H64", "eps", "1e-6"},          {"G1H64", "height", "224"},
        {"G1H64", "width", "height"},      {"G1H64", "channels", "3"},
        {"G1H64", "patch", "16"},          {"G1H64", "act", "gelu"},
        {"G1H64", "eps", "1e-6"},          {"G1H64", "gate_eps", "1e-5"},
        {"V1H64", "height", "224"},        {"V1H64", "width", "height"},
        {"V1H64", "channels", "3"},        {"V1H64", "patch", "16"},
        {"V1H64", "class_token", "true"},  {"V1H64", "readout", "\"token\""},
        {"V1H64", "act", "gelu"},          {"V1H64", "eps", "1e-6"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        FrontSpec spec = {.layout = str_from(wanted[i].layout)};
        FrontOptions options = {0};
        FrontReport report;
        assert_non_null(front_elaborate(env->arena, env->dx, &spec, &options, &report));
        const FrontOption *found = NULL;
        for (size_t j = 0; j < report.noptions && !found; j++) {
            if (str_equal(report.options[j].name, str_from(wanted[i].name))) {
                found = &report.options[j];
            }
        }
        if (!found) {
            fail_msg("%s has no option %s", wanted[i].layout, wanted[i].name);
            return;
        }
        assert_string_equal(str_cstr(env->arena, found->value), wanted[i].value);
    }
}

static void test_bert_options(void **state)
{
    Env *env = *state;
    assert_becomes(env,
                   "{\"model_type\": \"bert\", \"vocab_size\": 60, \"hidden_size\": 48,"
                   "\"num_hidden_layers\": 3, \"num_attention_heads\": 4,"
                   "\"intermediate_size\": 96, \"max_position_embeddings\": 512,"
                   "\"type_vocab_size\": 3, \"hidden_act\": \"swish\", \"layer_norm_eps\": 0.001,"
                   "\"architectures\": [\"BertModel\"], \"output_hidden_states\": true}",
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L3H48F96A4, vocab: 60, type_vocab: 3, act: silu, "
                   "eps: 0.001,\n    all_states: true)\n");
    // A whole number is a number; our own key asks for states as well.
    assert_becomes(env,
                   "{\"model_type\": \"bert\", \"vocab_size\": 30522, \"hidden_size\": 64,"
                   "\"num_hidden_layers\": 1, \"num_attention_heads\": 1,"
                   "\"intermediate_size\": 256, \"max_position_embeddings\": 512,"
                   "\"type_vocab_size\": 2, \"hidden_act\": \"gelu_pytorch_tanh\","
                   "\"layer_norm_eps\": 1, \"architectures\": [\"BertModel\"],"
                   "\"sluice\": {\"outputs\": [\"pooler_output\", \"hidden_states.0\"]}}",
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L1H64, act: gelu_tanh, eps: 1.0, all_states: true)\n");
    assert_becomes(env, BERT_MODEL(", \"sluice\": {\"outputs\": [\"last_hidden_state\"]}"),
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
}

// Every way to say nothing of a class gives the encoder, and a warning.
static void test_unknown_classes(void **state)
{
    const char *expected =
        "# from config.json: bert\n"
        "model bert_model = bert(L2H128, vocab: 60, positions: 40, pooler: false)\n";
    Env *env = *state;
    assert_warns(env, BERT(""),
                 "config.json:1:1: warning: architectures names no class, so this is the encoder "
                 "of bert without a head",
                 expected);
    assert_warns(env, BERT(", \"architectures\": []"), "names no class", expected);
    assert_warns(env, BERT(", \"architectures\": null"), "names no class", expected);
    assert_warns(env, BERT(",\n\"architectures\": [\"BertForFortuneTelling\"]"),
                 "config.json:5:19: warning: class \"BertForFortuneTelling\" is not known, so this "
                 "is the encoder of bert without a head; known are BertModel, BertForMaskedLM, ",
                 expected);
    assert_warns(env, BERT(", \"architectures\": [3]"), "class 3 is not known", expected);
    // A class may hold what a comment must not.
    assert_warns(env, BERT(", \"architectures\": [\"B\\nmodel x = bert(L1H64)\"]"),
                 "is not known, so", expected);
    assert_refuses(env, BERT(", \"architectures\": \"BertModel\""),
                   "architectures is \"BertModel\", but what is understood is a list of classes");
}

static void test_harmless_keys(void **state)
{
    Env *env = *state;
    assert_becomes(env,
                   BERT_MODEL(", \"_name_or_path\": \"x\", \"torch_dtype\": \"float16\", "
                              "\"is_decoder\": false, \"pruned_heads\": {}, \"top_k\": 50, "
                              "\"add_cross_attention\": false, \"directionality\": \"bidi\", "
                              "\"pooler_type\": \"first_token_transform\""),
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
    assert_refuses(env, BERT_MODEL(", \"is_decoder\": true"),
                   "is_decoder is true, but what is understood is false");
    assert_refuses(env, BERT_MODEL(", \"is_decoder\": \"false\""),
                   "is_decoder is \"false\", but what is understood is false");
    assert_refuses(env, BERT_MODEL(", \"pruned_heads\": {\"1\": [0, 2]}"),
                   "pruned_heads is {\"1\": [0, 2]}, but what is understood is {} or null");
    assert_refuses(env, BERT_MODEL(",\n\"position_embedding_type\": \"relative_key\""),
                   "config.json:6:28: error: position_embedding_type is \"relative_key\", but what "
                   "is understood is \"absolute\"");
    assert_refuses(env,
                   BERT(", \"architectures\": [\"BertForMaskedLM\"], \"tie_word_embeddings\": "
                        "false"),
                   "tie_word_embeddings is false, but what is understood is true");
    assert_becomes(env, BERT_MODEL(", \"tie_word_embeddings\": false"),
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
}

static void test_unknown_keys(void **state)
{
    Env *env = *state;
    assert_refuses(env, BERT_MODEL(",\n \"hiden_act\": \"relu\""),
                   "config.json:6:2: error: key \"hiden_act\", here \"relu\", is not known, so the "
                   "model may mean something else; the nearest that is: hidden_act\n");
    assert_refuses(env, BERT_MODEL(", \"quantization_config\": {\"bits\": 4}"),
                   "key \"quantization_config\", here {\"bits\": 4}, is not known");
    assert_refuses(env, BERT_MODEL(", \"pooling_type\": \"mean\""), "key \"pooling_type\"");
    assert_refuses(env, BERT_MODEL(", \"\\u0007\": 1"), "key \"\\x07\", here 1, is not known");
    assert_refuses(env, BERT_MODEL(", \"sluice\": {\"output\": []}"),
                   "key \"output\", here [], is not known, so the model may mean something else; "
                   "the nearest that is: outputs");
    assert_refuses(env, BERT_MODEL(", \"sluice\": {\"mask_pool\": \"any_real\"}"),
                   "key \"mask_pool\"");
    assert_refuses(env, BERT_MODEL(", \"sluice\": {\"outputs\": [\"hidden\"]}"),
                   "no output \"hidden\"; there are: last_hidden_state pooler_output "
                   "hidden_states");
    assert_refuses(env, BERT_MODEL(", \"sluice\": {\"outputs\": \"hidden_states\"}"),
                   "outputs is \"hidden_states\", but what is understood is a list of outputs");
    assert_refuses(env, BERT_MODEL(", \"sluice\": 3"), "an object expected, not 3");
}

// Keys of released checkpoints that nobody's inference reads.
static void test_released_keys(void **state)
{
    Env *env = *state;
    assert_becomes(
        env,
        BERT_MODEL(", \"output_past\": true, \"xla_device\": null, \"name\": \"Bert\",\n"
                   " \"adapters\": {\"adapters\": {}, \"config_map\": {}, \"fusions\": [], "
                   "\"fusion_config_map\": {}},\n"
                   " \"eos_token_ids\": 0, \"_num_labels\": 5, \"do_lower_case\": true,\n"
                   " \"model_max_length\": 512, \"max_seq_length\": 128,\n"
                   " \"summary_type\": \"last\", \"summary_use_proj\": true,\n"
                   " \"summary_activation\": null, \"summary_last_dropout\": 0.1,\n"
                   " \"summary_first_dropout\": 0.1, \"reference_compile\": null,\n"
                   " \"cls_token_id\": 2, \"mask_token_id\": 4, \"unk_token_id\": 1,\n"
                   " \"static_position_embeddings\": false, \"auto_map\": null"),
        "# from config.json: bert, BertModel\n"
        "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
    assert_warns(env, BERT_MODEL(",\n \"auto_map\": {\"AutoModel\": \"own.BertModel\"}"),
                 "config.json:6:14: warning: code that comes with a checkpoint is not read: this "
                 "is the library's own bert",
                 "# from config.json: bert, BertModel\n"
                 "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
    // The same keys, where they would be something else.
    assert_refuses(env, BERT_MODEL(", \"adapters\": {\"adapters\": {\"sst-2\": \"x\"}}"),
                   "but what is understood is one that holds nothing");
    assert_refuses(env, BERT_MODEL(", \"static_position_embeddings\": true"),
                   "static_position_embeddings is true, but what is understood is false");
    assert_refuses(env, BERT_MODEL(", \"reference_compile\": true"),
                   "reference_compile is true, but what is understood is null or false");
    // What to do about one that is not known.
    assert_refuses(env, BERT_MODEL(", \"someones_note\": 1"),
                   "note: a key that means nothing to the mathematics can be deleted from the "
                   "configuration");
}

static void test_wrong_values(void **state)
{
    // One key at a time, in a file that says nothing else.
    static const struct {
        const char *key;
        const char *says;
    } cases[] = {
        {"\"num_hidden_layers\": 0",
         "is 0, but what is understood is a whole number from 1 to 1024"},
        {"\"num_hidden_layers\": -1", "num_hidden_layers is -1, but"},
        {"\"num_hidden_layers\": 1025", "num_hidden_layers is 1025, but"},
        {"\"num_hidden_layers\": 1000000", "num_hidden_layers is 1000000, but"},
        {"\"num_hidden_layers\": 2147483648", "num_hidden_layers is 2147483648, but"},
        {"\"num_hidden_layers\": 12.0", "num_hidden_layers is 12.0, but"},
        {"\"num_hidden_layers\": \"12\"", "num_hidden_layers is \"12\", but"},
        {"\"num_hidden_layers\": true", "num_hidden_layers is true, but"},
        {"\"num_hidden_layers\": null", "num_hidden_layers is null, but"},
        {"\"num_hidden_layers\": 99999999999999999999",
         "is 99999999999999999999, but what is "
         "understood is a whole number from 1 to 1024"},
        {"\"hidden_size\": 2147483648", "a whole number from 1 to 2147483647"},
        {"\"hidden_size\": 100", "error: a width of 100 does not divide into 12 heads"},
        {"\"num_attention_heads\": 7",
         "config.json:1:47: error: a width of 768 does not divide into 7"},
        {"\"vocab_size\": 0", "vocab_size is 0, but"},
        {"\"layer_norm_eps\": 0",
         "layer_norm_eps is 0, but what is understood is a number greater"},
        {"\"layer_norm_eps\": -1e-12", "layer_norm_eps is -1e-12, but"},
        {"\"layer_norm_eps\": \"1e-12\"", "layer_norm_eps is \"1e-12\", but"},
        {"\"layer_norm_eps\": 1e999", "no valid JSON: real number overflow"},
        {"\"layer_norm_eps\": NaN", "no valid JSON: invalid token"},
        {"\"hidden_act\": \"mish\"",
         "hidden_act is \"mish\", but what is understood is \"gelu\", "},
        {"\"hidden_act\": [\"gelu\"]", "hidden_act is [\"gelu\"], but"},
        {"\"hidden_act\": \"gelu\\u0000\"", "no valid JSON: \\u0000 is not allowed"},
        {"\"output_hidden_states\": 1", "output_hidden_states is 1, but what is understood is true "
                                        "or false"},
        {"\"id2label\": []", "id2label is [], but what is understood is an object with a name"},
        {"\"id2label\": {}", "id2label is {}, but"},
        {"\"num_labels\": 0", "num_labels is 0, but"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str config = str_format(env->arena,
                                "{\"model_type\": \"bert\", %s, \"architectures\": "
                                "[\"BertModel\"]}",
                                cases[i].key);
        assert_refuses(env, str_cstr(env->arena, config), cases[i].says);
    }
    assert_refuses(env,
                   BERT(", \"architectures\": [\"BertForTokenClassification\"], \"num_labels\": 2, "
                        "\"id2label\": {\"0\": \"a\"}"),
                   "id2label names 1 labels, but num_labels is 2");
    assert_refuses(env,
                   BERT(", \"architectures\": [\"BertForQuestionAnswering\"], \"num_labels\": 3"),
                   "BertForQuestionAnswering has 2 labels, start and end, not 3");
}

// One run reports all that is wrong.
static void test_many_errors(void **state)
{
    Env *env = *state;
    const char *config = "{\"model_type\": \"bert\",\n\"hidden_size\": 0,\n\"vocab_size\": "
                         "\"x\",\n\"nonsense\": 1,\n\"architectures\": [\"BertModel\"]}";
    assert_refuses(env, config, ":2:16: error: hidden_size is 0, but");
    assert_refuses(env, config, ":3:15: error: vocab_size is \"x\", but");
    assert_refuses(env, config, ":4:1: error: key \"nonsense\", here 1");
}

// ---- files that are no configuration ----

static void test_bad_files(void **state)
{
    Env *env = *state;
    assert_refuses(env, "", "config.json:1:1: error: no valid JSON: '[' or '{' expected");
    assert_refuses(env, "<!DOCTYPE html>", "config.json:1:1: error: no valid JSON: '[' or '{'");
    assert_refuses(env, "{\"model_type\": \"bert\"", ":1:21: error: no valid JSON: '}' expected");
    assert_refuses(env, "{\n  \"model_type\": \"bert\"\n  \"x\": 1}",
                   ":3:5: error: no valid JSON: '}' expected");
    assert_refuses(env, "{\"a\": 1, \"a\": 2}", "no valid JSON: duplicate object key");
    assert_refuses(env, "{\"a\": 1, \"\\u0061\": 2}", "no valid JSON: duplicate object key");
    assert_refuses(env, "{\"a\": 1e}", "no valid JSON: invalid token");
    assert_refuses(env, "{\"a\": 'b'}", "no valid JSON: invalid token");
    assert_refuses(env, "{\"a\": \"\xff\"}", "no valid JSON: unable to decode byte 0xff");
    assert_refuses(env, "{\"a\": 1} x", "no valid JSON: end of file expected");
    assert_refuses(
        env, "[]",
        "this is no configuration that is known; what is understood has "
        "model_type (Hugging Face: \"bert\", \"electra\", \"funnel\", \"vit\" or \"deit\"), "
        "architecture (timm), or class and args (g-mlp-pytorch)");
    assert_refuses(env, "{\"hidden_size\": 768}", "this is no configuration that is known");
    assert_refuses(env, "{\n\"model_type\": \"llama\"}",
                   ":2:15: error: model_type is \"llama\", but what is understood is \"bert\", "
                   "\"electra\", \"funnel\", \"vit\" or \"deit\"");
    assert_refuses(env, "{\"model_type\": null}", "model_type is null, but");
    assert_refuses(env, "{\"model_type\": [\"bert\"]}", "model_type is [\"bert\"], but");
    put_bytes(env, "config.json", STR("{\"model_type\": \"bert\", \"top_k\": 1\0}"));
    assert_folder_refuses(env, ":1:34: error: no valid JSON: a NUL byte");
    remove(str_cstr(env->arena, str_format(env->arena, "%s/config.json", env->model)));
    assert_folder_refuses(env, "config.json: No such file or directory");
}

// `n` times `part`, as a text.
static const char *repeat(Env *env, const char *before, const char *part, size_t n)
{
    Buf buf = {.arena = env->arena};
    buf_add(&buf, str_from(before));
    for (size_t i = 0; i < n; i++) {
        buf_add(&buf, str_from(part));
    }
    return buf.ptr;
}

static void test_limits(void **state)
{
    Env *env = *state;
    const char *deep = "at most 64 lists and objects inside each other are read";
    const char *many = "at most 262144 values are read";
    assert_refuses(env, repeat(env, "", "[", 64), "no valid JSON");
    assert_refuses(env, repeat(env, "", "[", 65), deep);
    assert_refuses(env, repeat(env, "", "[", 1000000), deep);
    assert_refuses(env, repeat(env, "", "{\"a\":", 1000000), deep);
    assert_refuses(env, repeat(env, "{\"a\": [", "1,", 1000000), many);
    assert_refuses(env, repeat(env, "{\"a\": \"", "[", 1000000), "premature end of input");
    assert_refuses(env, repeat(env, "{\"a\": \"", "[[[[[[[[[[", 1000000), "config.json");
    // A value in a message is cut, and not inside of a character.
    assert_refuses(env, BERT_MODEL(", \"x\": \"12345678901234567890123456789012345678\u00e9\""),
                   "here \"12345678901234567890123456789012345678..., is not known");
    assert_refuses(env, BERT_MODEL(", \"x\": [1,\n2]"), "here [1, 2], is not known");
}

// ---- Funnel ----

static void test_funnel(void **state)
{
    Env *env = *state;
    assert_becomes(env, FUNNEL("FunnelBaseModel", ""),
                   "# from config.json: funnel, FunnelBaseModel\n"
                   "model funnel_base_model = funnel(B1-2H128, vocab: 60, "
                   "mask_pool: \"all_real\")\n");
    assert_becomes(env, FUNNEL("FunnelModel", ", \"sluice\": {\"mask_pool\": \"any_real\"}"),
                   "# from config.json: funnel, FunnelModel\n"
                   "model funnel_model = funnel(B1-2H128D2, vocab: 60)\n");
    assert_becomes(env, FUNNEL("FunnelForSequenceClassification", ", \"id2label\": {\"0\": \"a\"}"),
                   "# from config.json: funnel, FunnelForSequenceClassification\n"
                   "model funnel_for_sequence_classification = funnel_classifier(B1-2H128, "
                   "vocab: 60, labels: 1,\n    mask_pool: \"all_real\")\n");
    assert_becomes(
        env, FUNNEL("FunnelForMultipleChoice", ""),
        "# from config.json: funnel, FunnelForMultipleChoice\n"
        "model funnel_for_multiple_choice = funnel_multiple_choice(B1-2H128, vocab: 60,\n"
        "    mask_pool: \"all_real\")\n");
    assert_becomes(env, FUNNEL("FunnelForTokenClassification", ""),
                   "# from config.json: funnel, FunnelForTokenClassification\n"
                   "# not given, so as the library has it: num_labels 2\n"
                   "model funnel_for_token_classification = funnel_token_classifier(B1-2H128D2, "
                   "vocab: 60, labels: 2,\n    mask_pool: \"all_real\")\n");
    assert_becomes(env, FUNNEL("FunnelForQuestionAnswering", ""),
                   "# from config.json: funnel, FunnelForQuestionAnswering\n"
                   "model funnel_for_question_answering = funnel_question_answering(B1-2H128D2, "
                   "vocab: 60,\n    mask_pool: \"all_real\")\n");
    assert_becomes(env, FUNNEL("FunnelForMaskedLM", ", \"output_hidden_states\": true"),
                   "# from config.json: funnel, FunnelForMaskedLM\n"
                   "model funnel_for_masked_lm = funnel_masked_lm(B1-2H128D2, vocab: 60, "
                   "all_states: true,\n    mask_pool: \"all_real\")\n");
    assert_becomes(env, FUNNEL("FunnelForPreTraining", ""),
                   "# from config.json: funnel, FunnelForPreTraining\n"
                   "model funnel_for_pre_training = funnel_discriminator(B1-2H128D2, vocab: 60, "
                   "mask_pool: \"all_real\")\n");
    assert_warns(env, FUNNEL("FunnelForFortuneTelling", ""),
                 "so this is the encoder of funnel without a head",
                 "# from config.json: funnel\n"
                 "model funnel_base_model = funnel(B1-2H128, vocab: 60, "
                 "mask_pool: \"all_real\")\n");
}

static void test_funnel_options(void **state)
{
    Env *env = *state;
    assert_becomes(
        env,
        "{\"model_type\": \"funnel\", \"vocab_size\": 60, \"block_sizes\": [6, 3, 3],"
        "\"block_repeats\": [1, 2, 2], \"hidden_size\": 96, \"num_attention_heads\": 2,"
        "\"d_head\": 32, \"d_inner\": 200, \"hidden_act\": \"relu\", \"layer_norm_eps\": 1e-05,"
        "\"pooling_type\": \"max\", \"attention_type\": \"factorized\", \"separate_cls\": false,"
        "\"truncate_seq\": false, \"pool_q_only\": false, \"num_decoder_layers\": 1,"
        "\"num_hidden_layers\": 12, \"num_blocks\": 3, \"rel_attn_type\": \"factorized\","
        "\"type_vocab_size\": 3, \"max_position_embeddings\": 512, \"initializer_std\": null,"
        "\"architectures\": [\"FunnelForPreTraining\"]}",
        "# from config.json: funnel, FunnelForPreTraining\n"
        "model funnel_for_pre_training = funnel_discriminator(B6-3x2-3x2H96F200A2E32D1, "
        "vocab: 60,\n"
        "    pool: \"max\", separate_cls: false, truncate: false, pool_q_only: false, "
        "attention: by_factors,\n"
        "    act: relu, head_act: relu, eps: 1e-5, mask_pool: \"all_real\")\n");
    // Both names of a width, if they agree; repeats that are null.
    assert_becomes(env,
                   "{\"model_type\": \"funnel\", \"vocab_size\": 30522, \"block_sizes\": [2],"
                   "\"block_repeats\": null, \"d_model\": 64, \"hidden_size\": 64, \"n_head\": 1,"
                   "\"d_head\": 64, \"d_inner\": 256, \"hidden_act\": \"gelu_new\","
                   "\"layer_norm_eps\": 1e-9, \"pooling_type\": \"mean\","
                   "\"attention_type\": \"relative_shift\", \"separate_cls\": true,"
                   "\"truncate_seq\": true, \"pool_q_only\": true,"
                   "\"architectures\": [\"FunnelBaseModel\"]}",
                   "# from config.json: funnel, FunnelBaseModel\n"
                   "model funnel_base_model = funnel(B2H64, mask_pool: \"all_real\")\n");
}

static void test_funnel_errors(void **state)
{
    static const struct {
        const char *keys;
        const char *says;
    } cases[] = {
        {"\"block_sizes\": []", "block_sizes is [], but what is understood is a list of 1 to 16 "
                                "whole numbers from 1 to 1024"},
        {"\"block_sizes\": [1, 0]", "block_sizes is [1, 0], but"},
        {"\"block_sizes\": [1, -1]", "block_sizes is [1, -1], but"},
        {"\"block_sizes\": [1, 1.5]", "block_sizes is [1, 1.5], but"},
        {"\"block_sizes\": 6", "block_sizes is 6, but"},
        {"\"block_sizes\": null", "block_sizes is null, but"},
        {"\"block_sizes\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "block_sizes is [1,1,"},
        {"\"block_sizes\": [1024, 1]", "the blocks run 1025 layers, but at most 1024 are built"},
        {"\"block_sizes\": [2, 2], \"block_repeats\": [1, 512]", "the blocks run 1026 layers"},
        {"\"block_sizes\": [2, 2], \"block_repeats\": [1]",
         "block_repeats has 1 numbers, but block_sizes 2"},
        {"\"block_repeats\": [1, 0, 1]", "block_repeats is [1, 0, 1], but"},
        {"\"num_hidden_layers\": 11", "num_hidden_layers is 11, but what is understood is 12, as "
                                      "block_sizes has it"},
        {"\"num_blocks\": 2", "num_blocks is 2, but what is understood is 3, as"},
        {"\"d_model\": 768, \"hidden_size\": 512",
         "hidden_size is 512, but d_model, which means the same, is 768"},
        {"\"d_model\": 7", "d_model is 7, but what is understood is an even number"},
        {"\"hidden_size\": 7", "hidden_size is 7, but what is understood is an even number"},
        {"\"pooling_type\": \"min\"",
         "pooling_type is \"min\", but what is understood is \"mean\" or \"max\""},
        {"\"attention_type\": \"absolute\"", "\"relative_shift\" or \"factorized\""},
        {"\"rel_attn_type\": \"null\"", "rel_attn_type is \"null\", but what is understood is "
                                        "\"factorized\" or \"rel_shift\""},
        {"\"separate_cls\": 1", "separate_cls is 1, but what is understood is true or false"},
        {"\"num_decoder_layers\": 0", "num_decoder_layers is 0, but what is understood is a whole "
                                      "number from 1 to 1024"},
        {"\"block_sizes\": [2]", "FunnelModel has a decoder, but one block pools nothing that it "
                                 "could undo; what is understood is FunnelBaseModel"},
        {"\"sluice\": {\"mask_pool\": \"some_real\"}",
         "mask_pool is \"some_real\", but what is understood is \"any_real\" or \"all_real\""},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str config = str_format(env->arena,
                                "{\"model_type\": \"funnel\", %s, \"architectures\": "
                                "[\"FunnelModel\"]}",
                                cases[i].keys);
        assert_refuses(env, str_cstr(env->arena, config), cases[i].says);
    }
    // Where the library reads another state than the formula says.
    assert_warns(env,
                 "{\"model_type\": \"funnel\", \"vocab_size\": 60, \"block_sizes\": [1, 1],"
                 "\"block_repeats\": [2, 1], \"d_model\": 64, \"n_head\": 1, \"d_head\": 64,"
                 "\"d_inner\": 256, \"num_decoder_layers\": 1, \"hidden_act\": \"gelu_new\","
                 "\"layer_norm_eps\": 1e-9, \"pooling_type\": \"mean\","
                 "\"attention_type\": \"relative_shift\", \"separate_cls\": true,"
                 "\"truncate_seq\": true, \"pool_q_only\": true,"
                 "\"architectures\": [\"FunnelModel\"]}",
                 "the decoder adds the state at the end of block 0; Hugging Face's code adds the "
                 "one after 1 layers, as if none were repeated",
                 "# from config.json: funnel, FunnelModel\n"
                 "model funnel_model = funnel(B1x2-1H64D1, vocab: 60, mask_pool: \"all_real\")\n");
}

// ---- sentence embeddings ----

#define MODULE(index, path, type)                                                                  \
    "{\"idx\": " index ", \"name\": \"" index "\", \"path\": \"" path                              \
    "\", \"type\": \"sentence_transformers.models." type "\"}"
#define MODULES                                                                                    \
    "[" MODULE("0", "", "Transformer") ", " MODULE("1", "1_Pooling", "Pooling") ",\n" MODULE(      \
        "2", "2_Normalize", "Normalize") "]"
#define POOLING(width, cls, mean, more)                                                            \
    "{\"word_embedding_dimension\": " width ", \"pooling_mode_cls_token\": " cls                   \
    ", \"pooling_mode_mean_tokens\": " mean ", \"pooling_mode_max_tokens\": false, "               \
    "\"pooling_mode_mean_sqrt_len_tokens\": false" more "}"

// Each way to pool, as it was written and as it is; without the scaling to length 1.
static void test_poolings(Env *env)
{
    static const struct {
        const char *config;
        bool normalizes;
        const char *options;
    } ways[] = {
        {"\"pooling_mode_cls_token\": true", true, ", pool: \"cls\""},
        {"\"pooling_mode_max_tokens\": true", true, ", pool: \"max\""},
        {"\"pooling_mode_mean_tokens\": true", true, ""},
        {"\"pooling_mode_mean_sqrt_len_tokens\": true", true, ", pool: \"mean_sqrt_len\""},
        {"\"pooling_mode\": \"cls\"", false, ", pool: \"cls\",\n    normalize: false"},
        {"\"pooling_mode\": \"max\"", false, ", pool: \"max\",\n    normalize: false"},
        {"\"pooling_mode\": \"mean\"", false, ", normalize: false"},
        {"\"pooling_mode\": \"mean_sqrt_len_tokens\"", true, ", pool: \"mean_sqrt_len\""},
        {"\"include_prompt\": true", true, ""},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        Str config = str_format(env->arena, "{\"embedding_dimension\": 128, %s}", ways[i].config);
        put(env, "1_Pooling/config.json", str_cstr(env->arena, config));
        put(env, "modules.json",
            ways[i].normalizes
                ? MODULES
                : "[" MODULE("0", "", "Transformer") ", " MODULE("1", "1_Pooling", "Pooling") "]");
        Str text = str_format(env->arena,
                              "# from config.json and modules.json: bert, BertModel\n"
                              "model my_model_v2 = sentence_embedding(L2H128, vocab: 60, "
                              "positions: 40%s)\n",
                              ways[i].options);
        assert_folder_becomes(env, str_cstr(env->arena, text));
    }
    put(env, "modules.json", MODULES);
    put(env, "1_Pooling/config.json", POOLING("128", "false", "true", ""));
}

static void test_sentence(void **state)
{
    Env *env = *state;
    put(env, "config.json", BERT_MODEL(""));
    assert_folder_becomes(env, "# from config.json: bert, BertModel\n"
                               "model my_model_v2 = bert(L2H128, vocab: 60, positions: 40)\n");
    put(env, "modules.json", MODULES);
    put(env, "1_Pooling/config.json", POOLING("128", "false", "true", ""));
    assert_folder_becomes(
        env, "# from config.json and modules.json: bert, BertModel\n"
             "model my_model_v2 = sentence_embedding(L2H128, vocab: 60, positions: 40)\n");
    // The file itself is the encoder that it describes.
    assert_becomes(env, BERT_MODEL(""),
                   "# from config.json: bert, BertModel\n"
                   "model bert_model = bert(L2H128, vocab: 60, positions: 40)\n");
    put(env, "1_Pooling/config.json",
        POOLING("128", "false", "true",
                ", \"pooling_mode_weightedmean_tokens\": false, "
                "\"pooling_mode_lasttoken\": false, \"include_prompt\": true"));
    test_poolings(env);
    put(env, "config.json", BERT_MODEL(", \"sluice\": {\"outputs\": [\"last_hidden_state\"]}"));
    assert_folder_becomes(env, "# from config.json and modules.json: bert, BertModel\n"
                               "model my_model_v2 = sentence_embedding(L2H128, vocab: 60, "
                               "positions: 40, all_states: true)\n");
}

static void test_sentence_errors(void **state)
{
    Env *env = *state;
    put(env, "config.json", BERT_MODEL(""));
    put(env, "modules.json", MODULES);
    assert_folder_refuses(env, "1_Pooling/config.json: No such file or directory");
    put(env, "1_Pooling/config.json", POOLING("64", "false", "true", ""));
    assert_folder_refuses(env, "1_Pooling/config.json:1:30: error: the pooling is for a width of "
                               "64, but the model's is 128");
    put(env, "1_Pooling/config.json", POOLING("128", "true", "true", ""));
    assert_folder_refuses(env, "two ways to pool at once; what is understood is one");
    put(env, "1_Pooling/config.json",
        POOLING("128", "false", "false", ", \"pooling_mode_lasttoken\": true"));
    assert_folder_refuses(env, "pooling_mode_lasttoken is true, but what is understood is false");
    put(env, "1_Pooling/config.json",
        "{\"embedding_dimension\": 128, \"pooling_mode\": \"weightedmean\"}");
    assert_folder_refuses(env,
                          "pooling_mode is \"weightedmean\", but what is understood is \"cls\"");
    put(env, "1_Pooling/config.json",
        "{\"embedding_dimension\": 128, \"pooling_mode\": [\"cls\", \"max\"]}");
    assert_folder_refuses(env, "pooling_mode is [\"cls\", \"max\"], but");
    put(env, "1_Pooling/config.json", "{\"embedding_dimension\": 64, \"include_prompt\": false}");
    assert_folder_refuses(env, "the pooling is for a width of 64, but the model's is 128");
    assert_folder_refuses(env, "include_prompt is false, but what is understood is true");
    put(env, "1_Pooling/config.json", POOLING("128", "false", "true", ", \"pooling\": 1"));
    assert_folder_refuses(env, "key \"pooling\", here 1, is not known");
    put(env, "modules.json", "[" MODULE("0", "", "Transformer") "]");
    assert_folder_refuses(env, "modules.json:1:1: error: the modules understood are "
                               "Transformer, Pooling and, or not, Normalize");
    put(env, "modules.json",
        "[" MODULE("0", "", "Transformer") ", " MODULE("1", "1_Pooling", "Pooling") ",\n" MODULE(
            "2", "2_Dense", "Dense") "]");
    assert_folder_refuses(env, "modules.json:2:52: error: this module is not Normalize of "
                               "sentence_transformers");
    put(env, "modules.json",
        "[" MODULE("0", "0_BERT", "Transformer") ", " MODULE(
            "1", "1_Pooling", "Pooling") ", " MODULE("2", "", "Normalize") "]");
    assert_folder_refuses(env, "the Transformer's path is \"0_BERT\", but");
    static const char *const escapes[] = {"../secret", "/etc", "a/../../b", "", "a\\u0000b"};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        Str text = str_format(env->arena,
                              "[" MODULE("0", "", "Transformer") ", " MODULE(
                                  "1", "%s", "Pooling") ", " MODULE("2", "", "Normalize") "]",
                              escapes[i]);
        put(env, "modules.json", str_cstr(env->arena, text));
        assert_folder_refuses(env, i < 4 ? "is no folder inside of" : "no valid JSON");
    }
    put(env, "modules.json", "{}");
    assert_folder_refuses(env, "the modules understood are Transformer");
    put(env, "modules.json", "[1, 2, 3]");
    assert_folder_refuses(env, "an object expected, not 1");
    put(env, "modules.json", MODULES);
    put(env, "1_Pooling/config.json", POOLING("128", "false", "true", ""));
    put(env, "config.json", FUNNEL("FunnelBaseModel", ""));
    assert_folder_refuses(env, "modules.json makes a sentence embedding, but of funnel; what is "
                               "understood is \"bert\"");
}

// ---- names ----

// A folder's name becomes a name of the language, and hides nothing that the model uses.
static void test_names(void **state)
{
    static const struct {
        const char *folder;
        const char *name;
    } cases[] = {
        {"all-MiniLM-L6-v2", "all_minilm_l6_v2"},
        {"my bert (2)", "my_bert_2"},
        {"bert", "bert_model"},
        {"gelu_tanh", "gelu_tanh_model"},
        {"tanh_gelu", "tanh_gelu"},
        {"gelu_tanh2", "gelu_tanh2"},
        {"int", "int_model"},
        {"model", "model_model"},
        {"9b-x", "model_9b_x"},
        {"L12H768", "l12h768_model"},
        {"_", "bert_model"},
        {"\xc3\xa4", "bert_model"},
        {"a\nmodel x = y", "a_model_x_y"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_model"},
    };
    Env *env = *state;
    put(env, "config.json",
        "{\"model_type\": \"bert\", \"vocab_size\": 30522, \"hidden_size\": 64,"
        "\"num_hidden_layers\": 1, \"num_attention_heads\": 1, \"intermediate_size\": 256,"
        "\"max_position_embeddings\": 512, \"type_vocab_size\": 2, \"hidden_act\": \"gelu_new\","
        "\"layer_norm_eps\": 1e-12, \"architectures\": [\"BertModel\"]}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rename_folder(env, cases[i].folder);
        Str expected = str_format(env->arena,
                                  "# from config.json: bert, BertModel\n"
                                  "model %s = bert(L1H64,%sact: gelu_tanh)\n",
                                  cases[i].name, strlen(cases[i].name) > 60 ? "\n    " : " ");
        assert_folder_becomes(env, str_cstr(env->arena, expected));
    }
    rename_folder(env, "some_model");
    size_t length = strlen(env->model);
    strcat(env->model, "//");
    assert_folder_becomes(env, "# from config.json: bert, BertModel\n"
                               "model some_model = bert(L1H64, act: gelu_tanh)\n");
    strcat(env->model, ".");
    assert_folder_becomes(env, "# from config.json: bert, BertModel\n"
                               "model bert_model = bert(L1H64, act: gelu_tanh)\n");
    env->model[length] = '\0';
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bert),         TEST(test_defaults),        TEST(test_standard_defaults),
        TEST(test_bert_options), TEST(test_unknown_classes), TEST(test_harmless_keys),
        TEST(test_unknown_keys), TEST(test_released_keys),   TEST(test_wrong_values),
        TEST(test_many_errors),  TEST(test_bad_files),       TEST(test_limits),
        TEST(test_funnel),       TEST(test_funnel_options),  TEST(test_funnel_errors),
        TEST(test_sentence),     TEST(test_sentence_errors), TEST(test_names),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
