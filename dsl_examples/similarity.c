// Which sentences mean the same? Embeds them with a compiled sentence encoder and prints the cosine
// of each pair.
//
//   cc -o similarity similarity.c -lsluice -lm
//   sluice build all-MiniLM-L6-v2/ --seq 20 -o minilm.so
//   ./similarity minilm.so sentences.txt
//
// A line of sentences.txt is a sentence: its token numbers, as the model's tokenizer makes them,
// then `|` and the words, for people. A third file may hold the cosines that are expected, row by
// row; the exit status is 4 if one is off by more than 1e-5.
#include <sluice.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SENTENCES = 64, LINE_BYTES = 4096, SHOWN_BYTES = 36 };

static const double tolerance = 1e-5;

typedef struct Batch {
    int64_t n;
    int64_t seq;                // the length that the model was built for
    int32_t *ids;               // [n, seq], zeros behind a sentence's end
    uint8_t *mask;              // [n, seq], 1 where there is a token
    char *text[MOST_SENTENCES]; // [n]
} Batch;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "similarity: %s: %s\n", what, why);
    exit(1);
}

// What every call of the library can return.
static void must(SlStatus status, const SlError *error)
{
    if (status)
        fail(sl_status_text(status), error->text);
}

static FILE *open_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path, "cannot be read");
    return file;
}

static void *make(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        fail("calloc", "no memory");
    return memory;
}

// ---- the sentences ----

// Adds a line's tokens and words as row `batch->n`.
static void read_sentence(Batch *batch, char *line)
{
    int32_t *ids = batch->ids + batch->n * batch->seq;
    uint8_t *mask = batch->mask + batch->n * batch->seq;
    char *rest = line;
    line[strcspn(line, "\n")] = '\0';
    for (int64_t i = 0;; i++) {
        char *end;
        long id = strtol(rest, &end, 10);
        if (end == rest)
            break;
        if (i == batch->seq)
            fail(line, "longer than the model was built for");
        ids[i] = (int32_t)id;
        mask[i] = 1;
        rest = end;
    }
    rest += strspn(rest, " |");
    batch->text[batch->n] = make(strlen(rest) + 1, 1);
    strcpy(batch->text[batch->n++], rest);
}

static void read_sentences(Batch *batch, const char *path)
{
    char line[LINE_BYTES];
    FILE *file = open_text(path);
    batch->ids = make((size_t)(MOST_SENTENCES * batch->seq), sizeof *batch->ids);
    batch->mask = make((size_t)(MOST_SENTENCES * batch->seq), sizeof *batch->mask);
    while (batch->n < MOST_SENTENCES && fgets(line, sizeof line, file))
        read_sentence(batch, line);
    fclose(file);
    if (batch->n == 0)
        fail(path, "holds no sentence");
}

// ---- the model ----

// The length that sentences are padded to: the second size of `input_ids`.
static int64_t sequence_length(const SlModel *model)
{
    SlTensorInfo info;
    SlError error;
    int64_t ids = sl_find_input(model, 0, "input_ids");
    if (ids < 0 || sl_find_input(model, 0, "attention_mask") < 0)
        fail("the model", "takes no input_ids and attention_mask");
    must(sl_input_info(model, 0, (uint32_t)ids, &info, &error), &error);
    if (info.rank != 2 || info.shape[1] < 1)
        fail("the model", "was built without --seq");
    return info.shape[1];
}

// Runs all sentences at once. The caller frees what is returned: [batch->n, *width].
static float *embed(SlModel *model, const Batch *batch, int64_t *width)
{
    SlContext *context;
    SlEntryInfo entry;
    SlTensorInfo info;
    SlError error;
    must(sl_context_open(model, NULL, &context, &error), &error);
    must(sl_entry_info(model, 0, &entry, &error), &error);
    must(sl_output_info(model, 0, 0, &info, &error), &error);
    *width = info.shape[info.rank - 1];

    // Inputs whose data stays NULL are left out: they have a default.
    SlTensor *inputs = make(entry.ninputs, sizeof *inputs);
    size_t count = (size_t)(batch->n * batch->seq);
    int64_t shape[] = {batch->n, batch->seq};
    inputs[sl_find_input(model, 0, "input_ids")] =
        (SlTensor){batch->ids, count * sizeof *batch->ids, shape, NULL, 2, SL_I32};
    inputs[sl_find_input(model, 0, "attention_mask")] =
        (SlTensor){batch->mask, count, shape, NULL, 2, SL_BOOL};

    size_t bytes = (size_t)(batch->n * *width) * sizeof(float);
    int64_t embedding_shape[] = {batch->n, *width};
    SlTensor output = {make(1, bytes), bytes, embedding_shape, NULL, 2, SL_F32};
    must(sl_run(context, 0, inputs, entry.ninputs, &output, 1, &error), &error);

    free(inputs);
    must(sl_context_close(context), &error);
    return output.data;
}

// ---- the table ----

static double cosine(const float *x, const float *y, int64_t n)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < n; i++) {
        xy += (double)x[i] * (double)y[i];
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
    }
    return xy / sqrt(xx * yy);
}

// A row's sentence, cut between characters if it is long.
static void print_text(const char *text)
{
    size_t n = strlen(text);
    if (n <= SHOWN_BYTES) {
        printf("  %s\n", text);
        return;
    }
    n = SHOWN_BYTES;
    while (((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    printf("  %.*s...\n", (int)n, text);
}

static void print_table(const Batch *batch, const double *cosines)
{
    printf("   ");
    for (int64_t k = 0; k < batch->n; k++)
        printf("%7lld", (long long)k + 1);
    printf("\n");
    for (int64_t i = 0; i < batch->n; i++) {
        printf("%3lld", (long long)i + 1);
        for (int64_t k = 0; k < batch->n; k++)
            printf("%7.3f", cosines[i * batch->n + k]);
        print_text(batch->text[i]);
    }
}

// Whether the file's numbers are these, [n, n].
static int agrees(const double *cosines, int64_t n, const char *path)
{
    double worst = 0;
    int ok = 1;
    FILE *file = open_text(path);
    for (int64_t i = 0; i < n * n; i++) {
        double expected;
        if (fscanf(file, "%lf", &expected) != 1)
            fail(path, "holds too few numbers");
        double off = fabs(cosines[i] - expected);
        worst = off > worst ? off : worst;
        ok = ok && off <= tolerance; // not if it is no number
    }
    fclose(file);
    printf("%s: the largest difference from %s is %.1e, %g is allowed\n", ok ? "right" : "WRONG",
           path, worst, tolerance);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: similarity MODEL.so SENTENCES [EXPECTED]\n");
        return 2;
    }
    SlModel *model;
    SlError error;
    must(sl_model_open(argv[1], NULL, &model, &error), &error);
    Batch batch = {.seq = sequence_length(model)};
    read_sentences(&batch, argv[2]);

    int64_t width;
    float *rows = embed(model, &batch, &width);
    double *cosines = make((size_t)(batch.n * batch.n), sizeof *cosines);
    for (int64_t i = 0; i < batch.n * batch.n; i++)
        cosines[i] = cosine(rows + i / batch.n * width, rows + i % batch.n * width, width);
    print_table(&batch, cosines);
    int ok = argc == 3 || agrees(cosines, batch.n, argv[3]);

    for (int64_t i = 0; i < batch.n; i++)
        free(batch.text[i]);
    free(batch.ids);
    free(batch.mask);
    free(rows);
    free(cosines);
    must(sl_model_close(model), &error);
    return ok ? 0 : 4;
}
