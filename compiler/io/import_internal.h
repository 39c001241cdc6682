// Inside of import: reading a configuration's keys, and writing the call of a standard model. Main
// types: Import, Keys, Call. For io/import*.c alone.
//
//   config.json ──json_tree──▶ Keys ──import_<family>──▶ Call ──import.c──▶ .slu text
//
// Reading goes on after a fault, with a value that fits, so that one run reports all of them; what
// was written then is dropped.
#ifndef SLUICE_IO_IMPORT_INTERNAL_H
#define SLUICE_IO_IMPORT_INTERNAL_H

#include "base/vec.h"
#include "io/json_tree.h"

#define MOST_SIZE ((int64_t)INT32_MAX) // of a width, a vocabulary, an image: the language's limit
enum {
    MOST_LAYERS = 1024, // run by one model: a file's number must not keep the compiler busy
    MOST_BLOCKS = 16    // of a Funnel layout; each halves the sequence
};

// What kind of keys an object holds; the rules of import_keys.c say for which they are.
typedef enum Form {
    FORM_bert = 1,
    FORM_electra = 2,
    FORM_funnel = 4,
    FORM_image = 2048, // its ViT and DeiT
    FORM_hf = 2055,    // every family of Hugging Face
    FORM_pooling = 8,
    FORM_module = 16,     // an entry of modules.json
    FORM_sluice = 32,     // our own key, which asks for what the others cannot say
    FORM_timm = 64,       // a model's file
    FORM_mlp_args = 128,  // arguments of timm's Mixer and gMLP
    FORM_vit_args = 256,  // of its ViT and DeiT
    FORM_timm_args = 384, // of both
    FORM_lucid = 512,
    FORM_lucid_args = 1024
} Form;

typedef VEC(Str) Strs;

// One import: a file, and what holds for all of it.
typedef struct Import {
    Arena *arena;
    Diag *dx;
    const char *folder; // that was given, or NULL: a file
    const Json *config;
    bool is_sentence;         // modules.json makes a sentence embedding of it
    const char *pool;         // how; the language's word
    bool normalizes;          // to length 1
    const Json *pooled_width; // what 1_Pooling says of the model's width; NULL: nothing
    Strs notes;               // for callers: "tokenizer.padding_side \"right\""
    Strs missing;             // keys not given, and their values then: "layer_norm_eps 1e-12"
} Import;

// ---- reading ----

// An object's keys while they are read. Every key that is asked for counts as understood.
typedef struct Keys {
    Import *im;
    const Json *object;
    Form form;
    bool notes_missing; // whether a key not given is to be noted in im->missing
    bool *taken;        // [object->n] understood
    Strs known;         // asked for, to suggest one where a name is misspelt
} Keys;

// A value of a configuration and the language's word for it.
typedef struct Word {
    const char *name;
    const char *slu;
} Word;

// `object` must be an object; else a report, and an empty one is read.
Keys keys_open(Import *im, const Json *object, Form form);
// The value of a key; NULL if it is not there.
const Json *keys_take(Keys *k, const char *key);
// The value of a key, or `missing` if it is not there. One that does not fit is reported.
int64_t keys_int(Keys *k, const char *key, int64_t least, int64_t most, int64_t missing);
int64_t keys_size(Keys *k, const char *key, int64_t missing); // 1 … MOST_SIZE
// The same of a key that must be there: 1 … most.
int64_t keys_need(Keys *k, const char *key, int64_t most);
// Two sizes, or one for both; they stay as they are, and false, if the key is not there.
bool keys_pair(Keys *k, const char *key, int64_t *first, int64_t *second);
double keys_positive(Keys *k, const char *key, double missing);
bool keys_bool(Keys *k, const char *key, bool missing);
// The language's word for a text that is one of `words`.
const char *keys_word(Keys *k, const char *key, const Word *words, size_t n, const char *missing);
const char *keys_act(Keys *k, const char *key, const char *missing); // an activation
// Reports a value that is none of `only`: values as they stand in a file, with a bar between them.
void keys_only(Keys *k, const char *key, const char *only);
// Reports every key that was not asked for and is in no rule.
void keys_finish(Keys *k);

// The same of a value that stands elsewhere; NULL: `missing`.
int64_t import_int(Import *im, const char *key, const Json *value, int64_t least, int64_t most,
                   int64_t missing);
const char *import_word(Import *im, const char *key, const Json *value, const Word *words, size_t n,
                        const char *missing);
// Reports that a value does not fit; `understood` says what would.
void import_misfit(Import *im, const char *key, const Json *value, const char *understood);
// A value as it stands in the file, short enough for a message.
Str import_show(Import *im, const Json *value);
// Whether width splits into heads; else a report at the heads' key.
bool import_check_heads(Keys *k, const char *heads_key, int64_t width, int64_t heads);

// ---- writing ----

// The model's line: name(layout, arguments).
typedef struct Call {
    Import *im;
    const char *model; // of the standard library
    Str origin;        // for the comment above: "bert, BertModel"
    Str name;          // for the model, unless its folder has a better one
    Buf layout;
    Strs args;
} Call;

void call_group(Call *call, int64_t layers, int64_t repeats);
void call_tag(Call *call, char tag, int64_t value);
// H, F, A and E, as far as the layout's own defaults are others.
void call_widths(Call *call, int64_t width, int64_t ffn, int64_t heads, int64_t head_width);
// An argument, unless it is the standard model's default.
void call_int(Call *call, const char *name, int64_t value, int64_t standard);
void call_float(Call *call, const char *name, double value, double standard);
void call_flag(Call *call, const char *name, bool value, bool standard);
void call_word(Call *call, const char *name, const char *value, const char *standard);
void call_text(Call *call, const char *name, const char *value, const char *standard);
// An argument in any case.
void call_size(Call *call, const char *name, int64_t value);

// What an image model reads and says.
typedef struct Image {
    int64_t height;
    int64_t width;
    int64_t channels;
    int64_t patch;   // height and width of a patch
    int64_t classes; // 0: the model has none
} Image;

// Adds those; reports at `at` an image that does not divide into patches.
void call_image(Call *call, const Image *image, Place at);

// The text of the model.
Str call_print(const Call *call);

// ---- our own key ----

// Reads `sluice`, which says what outputs are wanted besides a model's own. `outputs` and `further`
// are names with spaces between them; true if one of `further` is wanted. `mask_pool` NULL: that is
// not understood.
bool import_wants(Keys *k, const char *outputs, const char *further, const char **mask_pool);

// ---- Hugging Face ----

typedef enum Labels {
    LABELS_none,
    LABELS_any,
    LABELS_classes, // of images: the same, under another name
    LABELS_two      // there must be two: start and end
} Labels;

typedef enum Trait {
    TRAIT_tied = 1,      // the output's matrix is the embedding's table
    TRAIT_decoder = 2,   // Funnel's
    TRAIT_head_act = 4,  // the head has the layers' activation, as an option of its own
    TRAIT_pooler = 8,    // the standard model has one that can be left out
    TRAIT_summary = 32,  // ELECTRA's dense layer on the first token, which has options
    TRAIT_two_heads = 16 // DeiT's, of which outputs are made as well
} Trait;

// A class of the library and the standard model that computes it.
typedef struct HfClass {
    const char *name;
    const char *model;
    const char *outputs; // of that model, with spaces between them
    Labels labels;
    unsigned traits;
} HfClass;

// What `architectures` names, of [n] classes. If that is none of them: the first, which is the
// encoder, and a warning.
const HfClass *hf_class(Keys *k, const char *family, const HfClass *classes, size_t n,
                        bool *is_known);
// Starts the call with what the class says.
Call hf_call(Keys *k, const char *family, const HfClass *cls, bool is_known, char letter);
// Adds the number of labels, if the class has some, and the states, if the file or its own key
// wants one of `further`. `mask_pool` as in import_wants.
void hf_head(Keys *k, Call *call, const HfClass *cls, const char *further, const char **mask_pool);

// ---- families: each adds to the text what its configuration says ----

Call import_bert(Keys *k);
Call import_electra(Keys *k);
Call import_funnel(Keys *k);
Call import_vit(Keys *k);
Call import_deit(Keys *k);
Call import_timm(Keys *k);
Call import_lucid(Keys *k);

// Notes what the folder's other files say to callers; a file that cannot be read is a warning.
void import_notes(Import *im);
// Reads modules.json of the folder, if there is one, and what it names. False after a report.
bool import_modules(Import *im);

#endif
