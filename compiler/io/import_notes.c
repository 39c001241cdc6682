// What a folder says to those who call its model, besides what the model is: how texts become
// tokens and images pixels. None of it changes what is computed, so it is kept as notes, which the
// compiler puts into the model file.
#include "io/import_internal.h"

#include <string.h>
#include <unistd.h>

enum {
    MOST_NOTES = 100,
    MOST_VALUE = 4096 // bytes of one; a longer one is none that a caller looks for
};

static const struct {
    const char *file;
    const char *about; // stands before the names
    const char *keys;  // with spaces between them
} sources[] = {
    {"tokenizer_config.json", "tokenizer",
     "tokenizer_class model_max_length padding_side truncation_side do_lower_case strip_accents "
     "tokenize_chinese_chars pad_token unk_token cls_token sep_token mask_token"},
    {"sentence_bert_config.json", "sentence", "max_seq_length do_lower_case"},
    {"config_sentence_transformers.json", "sentence",
     "similarity_fn_name default_prompt_name prompts"},
    {"preprocessor_config.json", "image",
     "do_resize size resample do_center_crop crop_size do_rescale rescale_factor do_normalize "
     "image_mean image_std"},
};

// A value as JSON, on one line.
static Str one_line(Import *im, const Json *value)
{
    Str text = {value->at.source->text.ptr + value->at.begin, value->at.end - value->at.begin};
    Buf buf = {.arena = im->arena};
    bool is_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (is_string && c == '\\') {
            buf_char(&buf, c);
            c = text.ptr[++i]; // valid JSON does not end here
        } else if (c == '"') {
            is_string = !is_string;
        }
        bool is_space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (is_string || !is_space) {
            buf_char(&buf, c);
        } else if (buf.len > 0 && buf.ptr[buf.len - 1] != ' ') {
            buf_char(&buf, ' ');
        }
    }
    return buf_str(&buf);
}

static void add_name(Buf *buf, Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '.';
        buf_char(buf, is_plain ? c : '_');
    }
}

// `inner` is the name of a member, or nothing.
static void add_note(Import *im, const char *about, Str key, Str inner, const Json *value)
{
    Str text = one_line(im, value);
    if (im->notes.n >= MOST_NOTES || text.len > MOST_VALUE) {
        return;
    }
    Buf note = {.arena = im->arena};
    buf_format(&note, "%s.", about);
    add_name(&note, key);
    if (inner.len > 0) {
        buf_char(&note, '.');
        add_name(&note, inner);
    }
    buf_char(&note, ' ');
    buf_add(&note, text);
    vec_push(im->arena, &im->notes, buf_str(&note));
}

// The text of a special token, which may stand in an object with options.
static const Json *token_text(const Json *value)
{
    const Json *content = json_tree_find(value, STR("content"));
    return content && content->kind == JSON_text ? content : value;
}

static void note_key(Import *im, const char *about, Str key, const Json *value)
{
    static const Str none = {0};
    bool is_length = str_ends(key, STR("_length"));
    value = str_ends(key, STR("_token")) ? token_text(value) : value;
    if (value->kind == JSON_null ||
        (is_length && (value->kind != JSON_int || value->integer > MOST_SIZE))) {
        return; // not set; the library says "no limit" by 10^30
    }
    if (value->kind != JSON_object) {
        add_note(im, about, key, none, value);
        return;
    }
    for (size_t i = 0; i < value->n; i++) {
        if (value->items[i].kind != JSON_null) {
            add_note(im, about, key, value->keys[i].name, &value->items[i]);
        }
    }
}

// The number of the token that pads: the model's configuration has it, or the tokenizer's list of
// tokens by number.
static void note_pad(Import *im, const Json *tokenizer)
{
    const Json *id = json_tree_find(im->config, STR("pad_token_id"));
    if (id && id->kind == JSON_int) {
        add_note(im, "tokenizer", STR("pad_token_id"), (Str){0}, id);
        return;
    }
    const Json *pad = json_tree_find(tokenizer, STR("pad_token"));
    const Json *tokens = json_tree_find(tokenizer, STR("added_tokens_decoder"));
    pad = pad ? token_text(pad) : NULL;
    for (size_t i = 0; pad && pad->kind == JSON_text && tokens && i < tokens->n; i++) {
        int64_t number;
        const Json *text = tokens->kind == JSON_object ? token_text(&tokens->items[i]) : NULL;
        if (text && text->kind == JSON_text && str_equal(text->text, pad->text) &&
            str_to_int(tokens->keys[i].name, &number)) {
            vec_push(im->arena, &im->notes,
                     str_format(im->arena, "tokenizer.pad_token_id %lld", (long long)number));
            return;
        }
    }
}

static void read_source(Import *im, size_t source)
{
    const char *path =
        str_cstr(im->arena, str_format(im->arena, "%s/%s", im->folder, sources[source].file));
    if (access(path, F_OK) != 0) {
        return;
    }
    const Json *tree = json_tree_read(im->arena, diag_create(im->arena), path);
    if (!tree || tree->kind != JSON_object) {
        diag_warning(im->dx, (Place){0},
                     "%s is no object of JSON that can be read, so the model "
                     "says nothing of it",
                     path);
        return;
    }
    for (const char *key = sources[source].keys; *key;) {
        Str name = {key, strcspn(key, " ")};
        const Json *value = json_tree_find(tree, name);
        if (value) {
            note_key(im, sources[source].about, name, value);
        }
        key += name.len + (key[name.len] == ' ');
    }
    if (source == 0) {
        note_pad(im, tree);
    }
}

void import_notes(Import *im)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        read_source(im, i);
    }
}
