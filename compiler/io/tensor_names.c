#include "io/tensor_names.h"

const Str name_bases[NAME_BASES] = {
    {"bert.", 5},
    {"electra.", 8},
    {"funnel.", 7},
};

// What old files call the parameters of norms.
static const struct {
    Str now;
    Str then;
} old_names[] = {
    {{".weight", 7}, {".gamma", 6}},
    {{".bias", 5}, {".beta", 5}},
};

// Buffers, by the last part of their name.
static const char *const buffers[] = {"position_ids", "token_type_ids"};

// Of the families that the library holds, all without a base: Hugging Face's heads, then timm's.
static const char *const parts[] = {
    "cls.",
    "pooler.",
    "classifier.",
    "qa_outputs.",
    "discriminator_predictions.",
    "generator_predictions.",
    "generator_lm_head.",
    "lm_head.",
    "sequence_summary.",
    "decoder.",
    "cls_classifier.",
    "distillation_classifier.",
    "embeddings.mask_token",
    "head.",
    "head_dist.",
};

Str name_stem(Str name)
{
    for (size_t i = 0; i < NAME_BASES; i++) {
        if (str_starts(name, name_bases[i])) {
            return (Str){name.ptr + name_bases[i].len, name.len - name_bases[i].len};
        }
    }
    return name;
}

Str name_old_form(Arena *arena, Str name)
{
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++) {
        if (str_ends(name, old_names[i].now)) {
            Str before = {name.ptr, name.len - old_names[i].now.len};
            return str_format(arena, "%.*s%.*s", STR_ARG(before), STR_ARG(old_names[i].then));
        }
    }
    return (Str){0};
}

// Those that a map may have read have bases of their own.
static Str without_base(Str name)
{
    static const Str others[] = {{"vit.", 4}, {"deit.", 5}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (str_starts(name, others[i])) {
            return (Str){name.ptr + others[i].len, name.len - others[i].len};
        }
    }
    return name_stem(name);
}

bool name_is_dispensable(Str name)
{
    Str stem = without_base(name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (str_starts(stem, str_from(parts[i]))) {
            return true;
        }
    }
    Str last = stem;
    for (size_t i = 0; i < stem.len; i++) {
        if (stem.ptr[i] == '.') {
            last = (Str){stem.ptr + i + 1, stem.len - i - 1};
        }
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (str_equal(last, str_from(buffers[i]))) {
            return true;
        }
    }
    return false;
}
