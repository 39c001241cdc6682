// Reading the keys of a configuration: each is understood, known to be harmless, or an error.
#include "io/import_internal.h"

#include <string.h>

// ---- what is known of keys that no model needs ----

// Keys that do not change what a model computes. `only` names the values for which that holds, as
// they stand in a file, with a bar between them; NULL: all; NOTHING: those that hold nothing.
typedef struct KeyRule {
    unsigned forms;
    const char *key;
    const char *only;
} KeyRule;

#define NOTHING ""

static const KeyRule rules[] = {
    // Who made it, with what.
    {FORM_hf, "_name_or_path", NULL},
    {FORM_hf, "name_or_path", NULL},
    {FORM_hf, "_commit_hash", NULL},
    {FORM_hf, "transformers_version", NULL},
    {FORM_hf, "finetuning_task", NULL},
    {FORM_hf, "task_specific_params", NULL},
    {FORM_hf, "language", NULL},
    {FORM_hf, "name", NULL},
    {FORM_hf, "model_name", NULL},
    {FORM_hf, "license", NULL},
    {FORM_hf, "tags", NULL},
    // How it was trained, or how a library runs it.
    {FORM_hf, "initializer_range", NULL},
    {FORM_hf, "hidden_dropout_prob", NULL},
    {FORM_hf, "attention_probs_dropout_prob", NULL},
    {FORM_hf, "classifier_dropout", NULL},
    {FORM_hf, "classifier_dropout_prob", NULL},
    {FORM_hf, "problem_type", NULL},
    {FORM_hf, "gradient_checkpointing", NULL},
    {FORM_hf, "torch_dtype", NULL},
    {FORM_hf, "dtype", NULL},
    {FORM_hf, "torchscript", NULL},
    {FORM_hf, "use_bfloat16", NULL},
    {FORM_hf, "use_cache", NULL},
    {FORM_hf, "return_dict", NULL},
    {FORM_hf, "tf_legacy_loss", NULL},
    {FORM_hf, "chunk_size_feed_forward", NULL},
    {FORM_hf, "attn_implementation", NULL},
    {FORM_hf, "_attn_implementation", NULL},
    {FORM_hf, "_attn_implementation_autoset", NULL},
    {FORM_hf, "output_past", NULL},
    {FORM_hf, "xla_device", NULL},
    {FORM_hf, "trust_remote_code", NULL},
    {FORM_hf, "reference_compile", "null|false"},
    {FORM_hf, "output_attentions", NULL},   // asks for more outputs, which there are not
    {FORM_hf, "tie_word_embeddings", NULL}, // where a head is tied, that is asked for
    // What token ids and labels mean, and what is done with logits afterwards.
    {FORM_hf, "tokenizer_class", NULL},
    {FORM_hf, "tokenizer_name", NULL},
    {FORM_hf, "do_lower_case", NULL},
    {FORM_hf, "model_max_length", NULL},
    {FORM_hf, "max_seq_length", NULL},
    {FORM_hf, "pad_token_id", NULL},
    {FORM_hf, "bos_token_id", NULL},
    {FORM_hf, "eos_token_id", NULL},
    {FORM_hf, "eos_token_ids", NULL},
    {FORM_hf, "sep_token_id", NULL},
    {FORM_hf, "cls_token_id", NULL},
    {FORM_hf, "mask_token_id", NULL},
    {FORM_hf, "unk_token_id", NULL},
    {FORM_hf, "label2id", NULL},
    {FORM_hf, "_num_labels", NULL}, // an old copy of their number, which no class reads
    {FORM_hf, "sbert_ce_default_activation_function", NULL},
    {FORM_hf, "sentence_transformers", NULL},
    // Options of generating text, which no encoder does.
    {FORM_hf, "prefix", NULL},
    {FORM_hf, "max_length", NULL},
    {FORM_hf, "min_length", NULL},
    {FORM_hf, "do_sample", NULL},
    {FORM_hf, "early_stopping", NULL},
    {FORM_hf, "num_beams", NULL},
    {FORM_hf, "num_beam_groups", NULL},
    {FORM_hf, "diversity_penalty", NULL},
    {FORM_hf, "temperature", NULL},
    {FORM_hf, "top_k", NULL},
    {FORM_hf, "top_p", NULL},
    {FORM_hf, "typical_p", NULL},
    {FORM_hf, "repetition_penalty", NULL},
    {FORM_hf, "length_penalty", NULL},
    {FORM_hf, "no_repeat_ngram_size", NULL},
    {FORM_hf, "encoder_no_repeat_ngram_size", NULL},
    {FORM_hf, "bad_words_ids", NULL},
    {FORM_hf, "num_return_sequences", NULL},
    {FORM_hf, "output_scores", NULL},
    {FORM_hf, "return_dict_in_generate", NULL},
    {FORM_hf, "forced_bos_token_id", NULL},
    {FORM_hf, "forced_eos_token_id", NULL},
    {FORM_hf, "remove_invalid_values", NULL},
    {FORM_hf, "exponential_decay_length_penalty", NULL},
    {FORM_hf, "suppress_tokens", NULL},
    {FORM_hf, "begin_suppress_tokens", NULL},
    {FORM_hf, "decoder_start_token_id", NULL},
    {FORM_hf, "tie_encoder_decoder", NULL},
    {FORM_hf, "cross_attention_hidden_size", NULL},
    // Another architecture, unless it is switched off.
    {FORM_hf, "is_decoder", "false"},
    {FORM_hf, "is_encoder_decoder", "false"},
    {FORM_hf, "add_cross_attention", "false"},
    {FORM_hf, "pruned_heads", "{}|null"},
    {FORM_hf, "adapters", NOTHING}, // lists of layers between the model's own
    {FORM_hf, "static_position_embeddings", "false"},
    {FORM_bert | FORM_electra, "position_embedding_type", "\"absolute\""},
    // In old files of BERT and read by nobody.
    {FORM_bert, "directionality", "\"bidi\""},
    {FORM_bert, "pooler_fc_size", NULL},
    {FORM_bert, "pooler_num_attention_heads", NULL},
    {FORM_bert, "pooler_num_fc_layers", NULL},
    {FORM_bert, "pooler_size_per_head", NULL},
    {FORM_bert, "pooler_type", "\"first_token_transform\""},
    // Of ELECTRA's multiple choice, which asks for those that matter; others do not read them.
    {FORM_hf, "summary_type", NULL},
    {FORM_hf, "summary_use_proj", NULL},
    {FORM_hf, "summary_activation", NULL},
    {FORM_hf, "summary_proj_to_labels", NULL},
    {FORM_hf, "summary_first_dropout", NULL},
    {FORM_hf, "summary_last_dropout", NULL},
    // Of ViT's masked image modelling, which is not offered.
    {FORM_image, "encoder_stride", NULL},
    {FORM_image, "pooler_output_size", NULL}, // where there is a pooler, they are asked for
    {FORM_image, "pooler_act", NULL},
    // Of the official Funnel code; its attention has the same result in either form.
    {FORM_funnel, "rel_attn_type", "\"factorized\"|\"rel_shift\""},
    {FORM_funnel, "max_position_embeddings", NULL},
    {FORM_funnel, "type_vocab_size", NULL},
    {FORM_funnel, "initializer_std", NULL},
    {FORM_funnel, "hidden_dropout", NULL},
    {FORM_funnel, "attention_dropout", NULL},
    {FORM_funnel, "activation_dropout", NULL},
    // Sentence embeddings: ways to pool that are not offered, switched off.
    {FORM_pooling, "pooling_mode_weightedmean_tokens", "false"},
    {FORM_pooling, "pooling_mode_lasttoken", "false"},
    {FORM_pooling, "include_prompt", "true"},
    // timm: how images are prepared, who made the model, what its labels are.
    {FORM_timm, "num_features", NULL},
    {FORM_timm, "fixed_input_size", NULL},
    {FORM_timm, "min_input_size", NULL},
    {FORM_timm, "test_input_size", NULL},
    {FORM_timm, "pool_size", NULL},
    {FORM_timm, "interpolation", NULL},
    {FORM_timm, "mean", NULL},
    {FORM_timm, "std", NULL},
    {FORM_timm, "crop_pct", NULL},
    {FORM_timm, "test_crop_pct", NULL},
    {FORM_timm, "crop_mode", NULL},
    {FORM_timm, "first_conv", NULL},
    {FORM_timm, "classifier", NULL},
    {FORM_timm, "labels", NULL},
    {FORM_timm, "label_names", NULL},
    {FORM_timm, "label_descriptions", NULL},
    {FORM_timm, "custom_load", NULL},
    {FORM_timm, "tag", NULL},
    {FORM_timm, "url", NULL},
    {FORM_timm, "hf_hub_id", NULL},
    {FORM_timm, "source", NULL},
    {FORM_timm, "license", NULL},
    {FORM_timm, "origin_url", NULL},
    {FORM_timm, "description", NULL},
    {FORM_timm, "notes", NULL},
    {FORM_timm, "paper_name", NULL},
    {FORM_timm, "paper_ids", NULL},
    {FORM_timm, "library_name", NULL},
    // Its arguments for training.
    {FORM_timm_args, "drop_rate", NULL},
    {FORM_timm_args, "proj_drop_rate", NULL},
    {FORM_timm_args, "drop_path_rate", NULL},
    {FORM_vit_args, "pos_drop_rate", NULL},
    {FORM_vit_args, "patch_drop_rate", NULL},
    {FORM_vit_args, "attn_drop_rate", NULL},
    {FORM_vit_args, "weight_init", NULL},
    {FORM_vit_args, "fix_init", NULL},
    {FORM_mlp_args, "nlhb", NULL},
    // Variants of its models, switched off.
    {FORM_timm_args, "norm_layer", "null"},
    {FORM_mlp_args, "stem_norm", "false"},
    {FORM_vit_args, "qk_norm", "false"},
    {FORM_vit_args, "proj_bias", "true"},
    {FORM_vit_args, "init_values", "null"},
    {FORM_vit_args, "pos_embed", "\"learn\""},
    {FORM_vit_args, "no_embed_class", "false"},
    {FORM_vit_args, "reg_tokens", "0"},
    {FORM_vit_args, "pre_norm", "false"},
    {FORM_vit_args, "final_norm", "true"},
    {FORM_vit_args, "fc_norm", "null"},
    {FORM_vit_args, "scale_attn_norm", "false"},
    {FORM_vit_args, "scale_mlp_norm", "false"},
    {FORM_vit_args, "dynamic_img_size", "false"},
    {FORM_vit_args, "dynamic_img_pad", "false"},
    // lucidrains: a chance to skip a layer while training.
    {FORM_lucid_args, "prob_survival", NULL},
    // Sentence embeddings: where a module stands in its list.
    {FORM_module, "idx", NULL},
    {FORM_module, "name", NULL},
};

static const KeyRule *find_rule(Form form, Str key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if ((rules[i].forms & form) && str_equal(key, str_from(rules[i].key))) {
            return &rules[i];
        }
    }
    return NULL;
}

// ---- messages ----

Str import_show(Import *im, const Json *value)
{
    enum { MOST = 40 };
    Str text = {value->at.source->text.ptr + value->at.begin, value->at.end - value->at.begin};
    bool is_cut = text.len > MOST;
    if (is_cut) {
        text.len = MOST;
        while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) {
            text.len--; // not inside a character
        }
    }
    Buf buf = {.arena = im->arena};
    for (size_t i = 0; i < text.len; i++) {
        buf_char(&buf, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    }
    buf_add(&buf, is_cut ? STR("...") : STR(""));
    return buf_str(&buf);
}

void import_misfit(Import *im, const char *key, const Json *value, const char *understood)
{
    diag_error(im->dx, value->at, "%s is %.*s, but what is understood is %s", key,
               STR_ARG(import_show(im, value)), understood);
}

// "a, b or c" of texts with a bar between them.
static const char *spell_choices(Import *im, const char *only)
{
    if (strcmp(only, NOTHING) == 0) {
        return "one that holds nothing";
    }
    Buf buf = {.arena = im->arena};
    for (const char *p = only; *p; p++) {
        if (*p == '|') {
            buf_add(&buf, strchr(p + 1, '|') ? STR(", ") : STR(" or "));
        } else {
            buf_char(&buf, *p);
        }
    }
    return str_cstr(im->arena, buf_str(&buf));
}

// ---- keys ----

Keys keys_open(Import *im, const Json *object, Form form)
{
    Keys k = {.im = im, .object = object, .form = form};
    if (object->kind != JSON_object) {
        diag_error(im->dx, object->at, "an object expected, not %.*s",
                   STR_ARG(import_show(im, object)));
        static const Json empty = {.kind = JSON_object};
        k.object = &empty;
    }
    k.taken = arena_new(im->arena, bool, k.object->n);
    return k;
}

const Json *keys_take(Keys *k, const char *key)
{
    Str name = str_from(key);
    vec_push(k->im->arena, &k->known, name);
    const Json *value = json_tree_find(k->object, name);
    if (value) {
        k->taken[value - k->object->items] = true;
    }
    return value;
}

// As keys_take, and notes what stands for a key that is not there.
__attribute__((format(printf, 3, 4))) static const Json *take_or(Keys *k, const char *key,
                                                                 const char *format, ...)
{
    const Json *value = keys_take(k, key);
    if (!value && k->notes_missing) {
        Buf buf = {.arena = k->im->arena};
        buf_format(&buf, "%s ", key);
        va_list args;
        va_start(args, format);
        buf_vformat(&buf, format, args);
        va_end(args);
        vec_push(k->im->arena, &k->im->missing, buf_str(&buf));
    }
    return value;
}

int64_t import_int(Import *im, const char *key, const Json *value, int64_t least, int64_t most,
                   int64_t missing)
{
    if (!value) {
        return missing;
    }
    if (value->kind != JSON_int || value->integer < least || value->integer > most) {
        Str range = str_format(im->arena, "a whole number from %lld to %lld", (long long)least,
                               (long long)most);
        import_misfit(im, key, value, str_cstr(im->arena, range));
        return missing;
    }
    return value->integer;
}

int64_t keys_int(Keys *k, const char *key, int64_t least, int64_t most, int64_t missing)
{
    const Json *value = take_or(k, key, "%lld", (long long)missing);
    return import_int(k->im, key, value, least, most, missing);
}

int64_t keys_size(Keys *k, const char *key, int64_t missing)
{
    return keys_int(k, key, 1, MOST_SIZE, missing);
}

int64_t keys_need(Keys *k, const char *key, int64_t most)
{
    if (!json_tree_find(k->object, str_from(key))) {
        keys_take(k, key);
        diag_error(k->im->dx, k->object->at, "%s is missing", key);
        return 1;
    }
    return keys_int(k, key, 1, most, 1);
}

bool keys_pair(Keys *k, const char *key, int64_t *first, int64_t *second)
{
    const Json *value = keys_take(k, key);
    if (!value) {
        return false;
    }
    const Json *a = value;
    const Json *b = value;
    if (value->kind == JSON_list && value->n == 2) {
        a = &value->items[0];
        b = &value->items[1];
    }
    if (a->kind != JSON_int || a->integer < 1 || a->integer > MOST_SIZE || b->kind != JSON_int ||
        b->integer < 1 || b->integer > MOST_SIZE) {
        import_misfit(k->im, key, value, "a size from 1, or two in a list");
        return true;
    }
    *first = a->integer;
    *second = b->integer;
    return true;
}

double keys_positive(Keys *k, const char *key, double missing)
{
    Buf shown = {.arena = k->im->arena};
    buf_double(&shown, missing);
    const Json *value = take_or(k, key, "%.*s", STR_ARG(buf_str(&shown)));
    if (!value) {
        return missing;
    }
    if ((value->kind != JSON_int && value->kind != JSON_real) || value->real <= 0) {
        import_misfit(k->im, key, value, "a number greater than 0");
        return missing;
    }
    return value->real;
}

bool keys_bool(Keys *k, const char *key, bool missing)
{
    const Json *value = take_or(k, key, "%s", missing ? "true" : "false");
    if (!value) {
        return missing;
    }
    if (value->kind != JSON_bool) {
        import_misfit(k->im, key, value, "true or false");
        return missing;
    }
    return value->truth;
}

const char *import_word(Import *im, const char *key, const Json *value, const Word *words, size_t n,
                        const char *missing)
{
    Buf names = {.arena = im->arena};
    const char *standard = NULL;
    for (size_t i = 0; i < n; i++) {
        if (value && value->kind == JSON_text && str_equal(value->text, str_from(words[i].name))) {
            return words[i].slu;
        }
        buf_format(&names, "%s\"%s\"", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i].name);
        standard = strcmp(words[i].name, missing) == 0 ? words[i].slu : standard;
    }
    if (value) {
        import_misfit(im, key, value, str_cstr(im->arena, buf_str(&names)));
    }
    return standard;
}

const char *keys_word(Keys *k, const char *key, const Word *words, size_t n, const char *missing)
{
    return import_word(k->im, key, take_or(k, key, "%s", missing), words, n, missing);
}

const char *keys_act(Keys *k, const char *key, const char *missing)
{
    // The libraries' spellings; that of the tanh form differ in how they write its constants.
    static const Word acts[] = {
        {"gelu", "gelu"},
        {"gelu_python", "gelu"},
        {"gelu_new", "gelu_tanh"},
        {"gelu_fast", "gelu_tanh"},
        {"gelu_accurate", "gelu_tanh"},
        {"gelu_pytorch_tanh", "gelu_tanh"},
        {"gelu_tanh", "gelu_tanh"},
        {"quick_gelu", "gelu_sigmoid"},
        {"relu", "relu"},
        {"silu", "silu"},
        {"swish", "silu"},
        {"tanh", "tanh"},
        {"sigmoid", "sigmoid"},
    };
    return keys_word(k, key, acts, sizeof acts / sizeof acts[0], missing);
}

// Whether a value holds nothing but values of that kind.
static bool is_nothing(const Json *value)
{
    bool is_holder = value->kind == JSON_object || value->kind == JSON_list;
    for (size_t i = 0; is_holder && i < value->n; i++) {
        if (!is_nothing(&value->items[i])) { // a file's depth has a limit
            return false;
        }
    }
    return is_holder || value->kind == JSON_null;
}

// Whether a value is one of `only`.
static bool is_among(Import *im, const Json *value, const char *only)
{
    if (strcmp(only, NOTHING) == 0) {
        return is_nothing(value);
    }
    Str text = import_show(im, value);
    for (const char *p = only;; p++) {
        size_t length = strcspn(p, "|");
        if (str_equal(text, (Str){p, length})) {
            return true;
        }
        p += length;
        if (!*p) {
            return false;
        }
    }
}

void keys_only(Keys *k, const char *key, const char *only)
{
    const Json *value = keys_take(k, key);
    if (value && !is_among(k->im, value, only)) {
        import_misfit(k->im, key, value, spell_choices(k->im, only));
    }
}

static void report_unknown(Keys *k, size_t i)
{
    Str key = k->object->keys[i].name;
    Str near = str_nearest(key, k->known.items, k->known.n);
    Buf shown = {.arena = k->im->arena};
    buf_quoted(&shown, key);
    diag_error(k->im->dx, k->object->keys[i].at,
               "key %.*s, here %.*s, is not known, so the model may mean something else%s%.*s",
               STR_ARG(buf_str(&shown)), STR_ARG(import_show(k->im, &k->object->items[i])),
               near.len > 0 ? "; the nearest that is: " : "", STR_ARG(near));
}

void keys_finish(Keys *k)
{
    bool has_advice = k->form == FORM_sluice; // where a key is asked for, to be understood
    for (size_t i = 0; i < k->object->n && !diag_full(k->im->dx); i++) {
        if (k->taken[i]) {
            continue;
        }
        const Json *value = &k->object->items[i];
        const KeyRule *rule = find_rule(k->form, k->object->keys[i].name);
        if (!rule) {
            report_unknown(k, i);
            if (!has_advice) {
                diag_note(k->im->dx, (Place){0},
                          "a key that means nothing to the mathematics can be deleted from the "
                          "configuration");
            }
            has_advice = true;
        } else if (rule->only && !is_among(k->im, value, rule->only)) {
            import_misfit(k->im, rule->key, value, spell_choices(k->im, rule->only));
        }
    }
}

bool import_check_heads(Keys *k, const char *heads_key, int64_t width, int64_t heads)
{
    if (width % heads == 0) {
        return true;
    }
    const Json *value = json_tree_find(k->object, str_from(heads_key));
    diag_error(k->im->dx, value ? value->at : k->object->at,
               "a width of %lld does not divide into %lld heads", (long long)width,
               (long long)heads);
    return false;
}
