// Funnel-Transformer as Hugging Face configures it. What is not given is as in the library's
// configuration class.
#include "io/import_internal.h"

static const HfClass classes[] = {
    {"FunnelBaseModel", "funnel", "last_hidden_state", LABELS_none, 0},
    {"FunnelModel", "funnel", "last_hidden_state", LABELS_none, TRAIT_decoder},
    {"FunnelForSequenceClassification", "funnel_classifier", "logits", LABELS_any, 0},
    {"FunnelForMultipleChoice", "funnel_multiple_choice", "logits", LABELS_none, 0},
    {"FunnelForTokenClassification", "funnel_token_classifier", "logits", LABELS_any,
     TRAIT_decoder},
    {"FunnelForQuestionAnswering", "funnel_question_answering", "start_logits end_logits",
     LABELS_two, TRAIT_decoder},
    {"FunnelForMaskedLM", "funnel_masked_lm", "logits", LABELS_none, TRAIT_decoder | TRAIT_tied},
    {"FunnelForPreTraining", "funnel_discriminator", "logits", LABELS_none,
     TRAIT_decoder | TRAIT_head_act},
};

typedef struct Blocks {
    size_t n;
    int64_t layers[MOST_BLOCKS];
    int64_t repeats[MOST_BLOCKS];
} Blocks;

// Reads a list of at most MOST_BLOCKS numbers of layers; false after a report.
static bool read_list(Import *im, const char *key, const Json *list, int64_t *out)
{
    Str understood = str_format(im->arena, "a list of 1 to %d whole numbers from 1 to %d",
                                MOST_BLOCKS, MOST_LAYERS);
    bool is_good = list->kind == JSON_list && list->n >= 1 && list->n <= MOST_BLOCKS;
    for (size_t i = 0; is_good && i < list->n; i++) {
        const Json *item = &list->items[i];
        is_good = item->kind == JSON_int && item->integer >= 1 && item->integer <= MOST_LAYERS;
        out[i] = item->integer;
    }
    if (!is_good) {
        import_misfit(im, key, list, str_cstr(im->arena, understood));
    }
    return is_good;
}

static void check_count(Keys *k, const char *key, int64_t count)
{
    const Json *value = keys_take(k, key);
    if (value && (value->kind != JSON_int || value->integer != count)) {
        Str understood = str_format(k->im->arena, "%lld, as block_sizes has it", (long long)count);
        import_misfit(k->im, key, value, str_cstr(k->im->arena, understood));
    }
}

static Blocks read_blocks(Keys *k)
{
    static const Blocks standard = {3, {4, 4, 4}, {1, 1, 1}};
    Import *im = k->im;
    const Json *sizes = keys_take(k, "block_sizes");
    const Json *repeats = keys_take(k, "block_repeats");
    Blocks blocks = {0};
    if (!sizes) {
        vec_push(im->arena, &im->missing, STR("block_sizes [4, 4, 4]"));
        blocks = standard;
    } else if (!read_list(im, "block_sizes", sizes, blocks.layers)) {
        return standard;
    } else {
        blocks.n = sizes->n;
    }
    for (size_t b = 0; b < blocks.n; b++) {
        blocks.repeats[b] = 1;
    }
    if (repeats && repeats->kind != JSON_null &&
        read_list(im, "block_repeats", repeats, blocks.repeats) && repeats->n != blocks.n) {
        diag_error(im->dx, repeats->at, "block_repeats has %zu numbers, but block_sizes %zu",
                   repeats->n, blocks.n);
    }
    int64_t run = 0;
    int64_t stored = 0;
    for (size_t b = 0; b < blocks.n; b++) {
        stored += blocks.layers[b];
        run += blocks.layers[b] * blocks.repeats[b]; // at most 16 · 1024 · 1024
    }
    if (run > MOST_LAYERS) {
        diag_error(im->dx, sizes ? sizes->at : repeats->at,
                   "the blocks run %lld layers, but at most %d are built", (long long)run,
                   MOST_LAYERS);
    }
    check_count(k, "num_hidden_layers", stored);
    check_count(k, "num_blocks", (int64_t)blocks.n);
    return blocks;
}

// The library knows some sizes by two names: the one that stands in the file. Both may, if they
// agree.
static const char *either(Keys *k, const char *name, const char *alias)
{
    const Json *a = keys_take(k, name);
    const Json *b = keys_take(k, alias);
    if (a && b && (a->kind != JSON_int || b->kind != JSON_int || a->integer != b->integer)) {
        diag_error(k->im->dx, b->at, "%s is %.*s, but %s, which means the same, is %.*s", alias,
                   STR_ARG(import_show(k->im, b)), name, STR_ARG(import_show(k->im, a)));
    }
    return b && !a ? alias : name;
}

static void read_sizes(Keys *k, Call *call, const HfClass *cls, const Blocks *blocks)
{
    bool decodes = cls->traits & TRAIT_decoder;
    int64_t width = keys_size(k, either(k, "d_model", "hidden_size"), 768);
    int64_t heads = keys_size(k, either(k, "n_head", "num_attention_heads"), 12);
    int64_t head_width = keys_size(k, "d_head", 64);
    int64_t ffn = keys_size(k, "d_inner", 3072);
    bool notes = k->notes_missing;
    k->notes_missing = notes && decodes;
    int64_t decoder = keys_int(k, "num_decoder_layers", decodes ? 1 : 0, MOST_LAYERS, 2);
    k->notes_missing = notes;
    for (size_t b = 0; b < blocks->n; b++) {
        call_group(call, blocks->layers[b], blocks->repeats[b]);
    }
    call_widths(call, width, ffn, heads, head_width);
    if (decodes) {
        call_tag(call, 'D', decoder);
    }
    if (width % 2 != 0) {
        const char *key = either(k, "d_model", "hidden_size");
        import_misfit(k->im, key, keys_take(k, key), "an even number: half of it sines");
    }
}

static void check_decoder(Keys *k, const HfClass *cls, const Blocks *blocks, bool is_official)
{
    const Json *sizes = keys_take(k, "block_sizes");
    Place at = sizes ? sizes->at : k->object->at;
    if (blocks->n == 1) {
        diag_error(k->im->dx, at,
                   "%s has a decoder, but one block pools nothing that it could undo; what is "
                   "understood is FunnelBaseModel",
                   cls->name);
    } else if (blocks->repeats[0] > 1 && !is_official) {
        diag_warning(k->im->dx, at,
                     "the decoder adds the state at the end of block 0; Hugging Face's code adds "
                     "the one after %lld layers, as if none were repeated",
                     (long long)blocks->layers[0]);
    }
}

Call import_funnel(Keys *k)
{
    static const Word pools[] = {{"mean", "mean"}, {"max", "max"}};
    static const Word attentions[] = {{"relative_shift", "by_distance"},
                                      {"factorized", "by_factors"}};
    bool is_known;
    const HfClass *cls =
        hf_class(k, "funnel", classes, sizeof classes / sizeof classes[0], &is_known);
    Call call = hf_call(k, "funnel", cls, is_known, 'B');
    Blocks blocks = read_blocks(k);
    read_sizes(k, &call, cls, &blocks);
    call_int(&call, "vocab", keys_size(k, "vocab_size", 30522), 30522);
    call_text(&call, "pool", keys_word(k, "pooling_type", pools, 2, "mean"), "mean");
    call_flag(&call, "separate_cls", keys_bool(k, "separate_cls", true), true);
    call_flag(&call, "truncate", keys_bool(k, "truncate_seq", true), true);
    call_flag(&call, "pool_q_only", keys_bool(k, "pool_q_only", true), true);
    call_word(&call, "attention", keys_word(k, "attention_type", attentions, 2, "relative_shift"),
              "by_distance");
    const char *act = keys_act(k, "hidden_act", "gelu_new");
    call_word(&call, "act", act, "gelu_tanh");
    if (cls->traits & TRAIT_head_act) {
        call_word(&call, "head_act", act, "gelu_tanh");
    }
    call_float(&call, "eps", keys_positive(k, "layer_norm_eps", 1e-9), 1e-9);
    const char *mask_pool = "all_real"; // the library's rule; the official one is the standard
    hf_head(k, &call, cls, "hidden_states", &mask_pool);
    call_text(&call, "mask_pool", mask_pool, "any_real");
    if (cls->traits & TRAIT_decoder) {
        check_decoder(k, cls, &blocks, str_equal(str_from(mask_pool), STR("any_real")));
    }
    keys_finish(k);
    return call;
}
