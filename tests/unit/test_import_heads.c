// Import of the classes of BERT and ELECTRA: which model each becomes, and what is said of options
// that a head does not have. That they compute the same is tests/cli/hf_heads.sh's.
#include "import_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *config_of(Env *env, const char *type, const char *class, const char *more)
{
    return str_cstr(
        env->arena,
        str_format(env->arena,
                   "{\"model_type\": \"%s\", \"architectures\": [\"%s\"],\n"
                   "\"vocab_size\": 60, \"hidden_size\": 64, \"num_hidden_layers\": 1,\n"
                   "\"num_attention_heads\": 1, \"intermediate_size\": 256,\n"
                   "\"max_position_embeddings\": 512, \"type_vocab_size\": 2,\n"
                   "\"hidden_act\": \"gelu\", \"layer_norm_eps\": 1e-12%s}",
                   type, class, more));
}

static void test_classes(void **state)
{
    static const struct {
        const char *type;
        const char *class;
        const char *more;
        const char *model;
    } cases[] = {
        {"bert", "BertForPreTraining", "",
         "model bert_for_pre_training = bert_pretraining(L1H64, vocab: 60)\n"},
        {"bert", "BertForNextSentencePrediction", "",
         "model bert_for_next_sentence_prediction = bert_next_sentence(L1H64, vocab: 60)\n"},
        {"bert", "BertForMultipleChoice", "",
         "model bert_for_multiple_choice = bert_multiple_choice(L1H64, vocab: 60)\n"},
        {"bert", "BertLMHeadModel", ", \"is_decoder\": false",
         "model bert_lm_head_model = bert_masked_lm(L1H64, vocab: 60)\n"},
        {"electra", "ElectraForTokenClassification",
         ", \"embedding_size\": 64, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}",
         "model electra_for_token_classification = electra_token_classifier(L1H64, vocab: 60, "
         "labels: 3)\n"},
        {"electra", "ElectraForQuestionAnswering", ", \"embedding_size\": 32",
         "model electra_for_question_answering = electra_question_answering(L1H64, vocab: 60, "
         "embed: 32)\n"},
        {"electra", "ElectraForMultipleChoice",
         ", \"embedding_size\": 64, \"summary_type\": \"first\", \"summary_use_proj\": true,"
         "\"summary_activation\": \"gelu\", \"summary_last_dropout\": 0.1",
         "model electra_for_multiple_choice = electra_multiple_choice(L1H64, vocab: 60)\n"},
        {"electra", "ElectraForMultipleChoice",
         ", \"embedding_size\": 64, \"summary_activation\": \"tanh\"",
         "model electra_for_multiple_choice = electra_multiple_choice(L1H64, vocab: 60, "
         "summary_act: tanh)\n"},
        {"electra", "ElectraForCausalLM", ", \"embedding_size\": 64",
         "model electra_for_causal_lm = electra_generator(L1H64, vocab: 60)\n"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Str text = str_format(env->arena, "# from config.json: %s, %s\n%s", cases[i].type,
                              cases[i].class, cases[i].model);
        assert_becomes(env, config_of(env, cases[i].type, cases[i].class, cases[i].more),
                       str_cstr(env->arena, text));
    }
}

static void test_errors(void **state)
{
    static const struct {
        const char *class;
        const char *more;
        const char *part;
    } wrong[] = {
        {"ElectraForMultipleChoice", "\"summary_type\": \"mean\"",
         "summary_type is \"mean\", but what is understood is \"first\""},
        {"ElectraForMultipleChoice", "\"summary_use_proj\": false", "summary_use_proj is false"},
        {"ElectraForMultipleChoice", "\"summary_activation\": null", "summary_activation is null"},
        {"ElectraForMultipleChoice", "\"summary_proj_to_labels\": true",
         "summary_proj_to_labels is true"},
        {"ElectraForQuestionAnswering", "\"num_labels\": 3", "has 2 labels, start and end, not 3"},
        {"ElectraForCausalLM", "\"is_decoder\": true",
         "is_decoder is true, but what is understood is false"},
        {"ElectraForMaskedLM", "\"tie_word_embeddings\": false", "tie_word_embeddings is false"},
    };
    Env *env = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        Str more = str_format(env->arena, ", %s", wrong[i].more);
        assert_refuses(env, config_of(env, "electra", wrong[i].class, str_cstr(env->arena, more)),
                       wrong[i].part);
    }
    assert_refuses(env,
                   config_of(env, "bert", "BertForPreTraining", ", \"tie_word_embeddings\": false"),
                   "tie_word_embeddings is false");
    // Where there is no such head, its options do not matter.
    assert_becomes(env,
                   config_of(env, "electra", "ElectraModel",
                             ", \"embedding_size\": 64, \"summary_type\": \"mean\""),
                   "# from config.json: electra, ElectraModel\n"
                   "model electra_model = bert(L1H64, vocab: 60, pooler: false)\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, env_set_up, env_tear_down)
    const struct CMUnitTest tests[] = {TEST(test_classes), TEST(test_errors)};
    return cmocka_run_group_tests_name("import_heads", tests, NULL, NULL);
}
