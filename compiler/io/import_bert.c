// BERT and ELECTRA as Hugging Face configures them. What is not given is as in the library's
// configuration classes.
#include "io/import_internal.h"

static const HfClass bert_classes[] = {
    {"BertModel", "bert", "last_hidden_state pooler_output", LABELS_none, TRAIT_pooler},
    {"BertForMaskedLM", "bert_masked_lm", "logits", LABELS_none, TRAIT_tied},
    {"BertLMHeadModel", "bert_masked_lm", "logits", LABELS_none, TRAIT_tied}, // is_decoder false
    {"BertForPreTraining", "bert_pretraining", "prediction_logits seq_relationship_logits",
     LABELS_none, TRAIT_tied},
    {"BertForNextSentencePrediction", "bert_next_sentence", "logits", LABELS_none, 0},
    {"BertForMultipleChoice", "bert_multiple_choice", "logits", LABELS_none, 0},
    {"BertForSequenceClassification", "bert_classifier", "logits", LABELS_any, 0},
    {"BertForTokenClassification", "bert_token_classifier", "logits", LABELS_any, 0},
    {"BertForQuestionAnswering", "bert_question_answering", "start_logits end_logits", LABELS_two,
     0},
};

static const HfClass electra_classes[] = {
    {"ElectraModel", "bert", "last_hidden_state", LABELS_none, TRAIT_pooler},
    {"ElectraForPreTraining", "electra", "logits", LABELS_none, 0},
    {"ElectraForMaskedLM", "electra_generator", "logits", LABELS_none, TRAIT_tied},
    {"ElectraForCausalLM", "electra_generator", "logits", LABELS_none, TRAIT_tied},
    {"ElectraForSequenceClassification", "electra_classifier", "logits", LABELS_any, 0},
    {"ElectraForTokenClassification", "electra_token_classifier", "logits", LABELS_any, 0},
    {"ElectraForQuestionAnswering", "electra_question_answering", "start_logits end_logits",
     LABELS_two, 0},
    {"ElectraForMultipleChoice", "electra_multiple_choice", "logits", LABELS_none, TRAIT_summary},
};

// What a family's configuration class has where a file says nothing.
typedef struct Sizes {
    int64_t width;
    int64_t heads;
    int64_t ffn;
} Sizes;

// The keys that both families have; returns the width.
static int64_t read_encoder(Keys *k, Call *call, Sizes missing)
{
    int64_t layers = keys_int(k, "num_hidden_layers", 1, MOST_LAYERS, 12);
    int64_t width = keys_size(k, "hidden_size", missing.width);
    int64_t heads = keys_size(k, "num_attention_heads", missing.heads);
    int64_t ffn = keys_size(k, "intermediate_size", missing.ffn);
    import_check_heads(k, "num_attention_heads", width, heads);
    call_group(call, layers, 1);
    call_widths(call, width, ffn, heads, width / heads);
    call_int(call, "vocab", keys_size(k, "vocab_size", 30522), 30522);
    call_int(call, "type_vocab", keys_size(k, "type_vocab_size", 2), 2);
    call_int(call, "positions", keys_size(k, "max_position_embeddings", 512), 512);
    return width;
}

static void read_functions(Keys *k, Call *call)
{
    call_word(call, "act", keys_act(k, "hidden_act", "gelu"), "gelu");
    call_float(call, "eps", keys_positive(k, "layer_norm_eps", 1e-12), 1e-12);
}

Call import_bert(Keys *k)
{
    static const HfClass sentence = {"BertModel", "sentence_embedding", "sentence_embedding",
                                     LABELS_none, 0};
    Import *im = k->im;
    bool is_known;
    const HfClass *cls =
        hf_class(k, "bert", bert_classes, sizeof bert_classes / sizeof bert_classes[0], &is_known);
    cls = im->is_sentence ? &sentence : cls;
    Call call = hf_call(k, "bert", cls, is_known, 'L');
    int64_t width = read_encoder(k, &call, (Sizes){.width = 768, .heads = 12, .ffn = 3072});
    read_functions(k, &call);
    if (cls->traits & TRAIT_pooler) {
        call_flag(&call, "pooler", is_known, true); // a checkpoint with a head has none as a rule
    }
    if (im->is_sentence) {
        call_text(&call, "pool", im->pool, "mean");
        call_flag(&call, "normalize", im->normalizes, true);
    }
    if (im->pooled_width && im->pooled_width->integer != width) {
        diag_error(im->dx, im->pooled_width->at,
                   "the pooling is for a width of %lld, but the model's is %lld",
                   (long long)im->pooled_width->integer, (long long)width);
    }
    hf_head(k, &call, cls, im->is_sentence ? "last_hidden_state hidden_states" : "hidden_states",
            NULL);
    keys_finish(k);
    return call;
}

// Of multiple choice: a dense layer on the first token.
static void read_summary(Keys *k, Call *call)
{
    keys_only(k, "summary_type", "\"first\"");
    keys_only(k, "summary_use_proj", "true");
    keys_only(k, "summary_proj_to_labels", "false|null");
    call_word(call, "summary_act", keys_act(k, "summary_activation", "gelu"), "gelu");
}

Call import_electra(Keys *k)
{
    bool is_known;
    const HfClass *cls = hf_class(k, "electra", electra_classes,
                                  sizeof electra_classes / sizeof electra_classes[0], &is_known);
    Call call = hf_call(k, "electra", cls, is_known, 'L');
    int64_t width = read_encoder(k, &call, (Sizes){.width = 256, .heads = 4, .ffn = 1024});
    call_int(&call, "embed", keys_size(k, "embedding_size", 128), width);
    read_functions(k, &call);
    if (cls->traits & TRAIT_pooler) {
        call_flag(&call, "pooler", false, true);
    }
    if (cls->traits & TRAIT_summary) {
        read_summary(k, &call);
    }
    hf_head(k, &call, cls, "hidden_states", NULL);
    keys_finish(k);
    return call;
}
