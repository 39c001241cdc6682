// What import keeps of a folder for those who call the model: notes above the model's line.
#include "import_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define BERT(more)                                                                                 \
    "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"vocab_size\": 30522,"        \
    "\"hidden_size\": 64, \"num_hidden_layers\": 1, \"num_attention_heads\": 1,"                   \
    "\"intermediate_size\": 256, \"max_position_embeddings\": 512, \"type_vocab_size\": 2,"        \
    "\"hidden_act\": \"gelu\", \"layer_norm_eps\": 1e-12" more "}"
#define HEAD  "# from config.json: bert, BertModel\n"
#define MODEL "model my_model_v2 = bert(L1H64)\n"

static void test_tokenizer(void **state)
{
    Env *env = *state;
    put(env, "config.json", BERT(", \"pad_token_id\": 3"));
    put(env, "tokenizer_config.json",
        "{\"tokenizer_class\": \"BertTokenizer\", \"model_max_length\": 512, \"pad_token\":\n"
        "{\"__type\": \"AddedToken\", \"content\": \"[PAD]\", \"lstrip\": false},\n"
        "\"padding_side\": \"left\", \"do_lower_case\": true, \"strip_accents\": null,\n"
        "\"sep_token\": \"[S \\\"]\\n\", \"never_split\": [1]}");
    assert_folder_becomes(env, HEAD "#: tokenizer.tokenizer_class \"BertTokenizer\"\n"
                                    "#: tokenizer.model_max_length 512\n"
                                    "#: tokenizer.padding_side \"left\"\n"
                                    "#: tokenizer.do_lower_case true\n"
                                    "#: tokenizer.pad_token \"[PAD]\"\n"
                                    "#: tokenizer.sep_token \"[S \\\"]\\n\"\n"
                                    "#: tokenizer.pad_token_id 3\n" MODEL);
    // A file alone says nothing of tokens.
    assert_becomes(env, BERT(", \"pad_token_id\": 3"), HEAD "model bert_model = bert(L1H64)\n");
}

// No limit, as the library writes it; the pad token's number from the tokenizer's own list.
static void test_pad(void **state)
{
    Env *env = *state;
    put(env, "config.json", BERT(""));
    put(env, "tokenizer_config.json",
        "{\"model_max_length\": 1000000000000000019884624838656, \"pad_token\": \"<p>\","
        "\"added_tokens_decoder\": {\"0\": {\"content\": \"<s>\"}, \"1\": {\"content\": "
        "\"<p>\"}}}");
    assert_folder_becomes(env, HEAD "#: tokenizer.pad_token \"<p>\"\n"
                                    "#: tokenizer.pad_token_id 1\n" MODEL);
    put(env, "tokenizer_config.json",
        "{\"model_max_length\": 1e30, \"pad_token\": \"<p>\", \"added_tokens_decoder\": [7]}");
    assert_folder_becomes(env, HEAD "#: tokenizer.pad_token \"<p>\"\n" MODEL);
    put(env, "tokenizer_config.json",
        "{\"pad_token\": 7, \"added_tokens_decoder\": {\"x\": \"<p>\", \"2\": 7}}");
    assert_folder_becomes(env, HEAD "#: tokenizer.pad_token 7\n" MODEL);
}

static void test_others(void **state)
{
    Env *env = *state;
    put(env, "config.json", BERT(""));
    put(env, "sentence_bert_config.json", "{\"max_seq_length\": 256, \"do_lower_case\": false}");
    put(env, "config_sentence_transformers.json",
        "{\"__version__\": {\"pytorch\": \"2\"}, \"prompts\": {\"query\": \"query: \",\n"
        "\"a b\\nmodel\": \"x\"}, \"default_prompt_name\": null,\n"
        "\"similarity_fn_name\": \"cosine\"}");
    put(env, "preprocessor_config.json",
        "{\"image_mean\": [\n  0.5,\n  0.5,\n  0.25\n], \"size\": {\"height\": 224, \"width\": 32},"
        "\"do_resize\": true}");
    assert_folder_becomes(env, HEAD "#: sentence.max_seq_length 256\n"
                                    "#: sentence.do_lower_case false\n"
                                    "#: sentence.similarity_fn_name \"cosine\"\n"
                                    "#: sentence.prompts.query \"query: \"\n"
                                    "#: sentence.prompts.a_b_model \"x\"\n"
                                    "#: image.do_resize true\n"
                                    "#: image.size.height 224\n"
                                    "#: image.size.width 32\n"
                                    "#: image.image_mean [ 0.5, 0.5, 0.25 ]\n" MODEL);
}

// Whatever is in such a file, the model builds.
static void test_broken(void **state)
{
    static const char *const texts[] = {"", "{", "[1]", "\"x\"", "{\"a\": 1, \"a\": 2}"};
    Env *env = *state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(env, "config.json", BERT(""));
        put(env, "tokenizer_config.json", texts[i]);
        assert_folder_warns(env, "tokenizer_config.json is no object of JSON that can be read",
                            HEAD MODEL);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {TEST(test_tokenizer), TEST(test_pad), TEST(test_others),
                                       TEST(test_broken)};
    return cmocka_run_group_tests_name("import_notes", tests, NULL, NULL);
}
