// Files and data that the tests of the runtime share.
#define _XOPEN_SOURCE 700 // nftw

#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Also in builds without assertions.
static void must(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        abort();
    }
}

void fill_weights(float *weights)
{
    for (int w = 0; w < TINY_WORDS; w++) {
        for (int j = 0; j < TINY_WIDTH; j++)
            weights[w * TINY_WIDTH + j] = (float)w + (float)j / 8;
    }
    for (int j = 0; j < TINY_WIDTH; j++)
        weights[TINY_BIAS + j] = (float)j / 16 - 1;
}

const char *work_folder(void)
{
    static char folder[64];
    if (!folder[0]) {
        strcpy(folder, "/tmp/sluice-abi-XXXXXX");
        must(mkdtemp(folder) != NULL, folder);
    }
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

void remove_work_folder(void) { nftw(work_folder(), remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char *path_in(const char *folder, const char *name)
{
    enum { MOST = 64, LONGEST = 256 };
    static char paths[MOST][LONGEST];
    char path[LONGEST];
    must(snprintf(path, sizeof path, "%s/%s", folder, name) < LONGEST, name);
    unsigned i = 0;
    while (i < MOST && paths[i][0] && strcmp(paths[i], path) != 0)
        i++;
    must(i < MOST, "paths");
    return strcpy(paths[i], path);
}

Bytes read_bytes(const char *path)
{
    Bytes bytes = {NULL, 0};
    FILE *file = fopen(path, "rb");
    must(file != NULL, path);
    fseek(file, 0, SEEK_END);
    bytes.n = (size_t)ftell(file);
    rewind(file);
    bytes.at = malloc(bytes.n + 1);
    must(bytes.at && fread(bytes.at, 1, bytes.n, file) == bytes.n, path);
    fclose(file);
    return bytes;
}

// A new file: the old one may be mapped.
void write_bytes(const char *path, const void *bytes, size_t n)
{
    remove(path);
    FILE *file = fopen(path, "wb");
    must(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0, path);
}

void append_bytes(Bytes *to, const void *bytes, size_t n)
{
    to->at = realloc(to->at, to->n + n);
    must(to->at != NULL, "memory");
    memcpy(to->at + to->n, bytes, n);
    to->n += n;
}

static void append_weights(Bytes *to)
{
    float weights[TINY_WEIGHTS];
    unsigned char zero[4096] = {0};
    fill_weights(weights);
    append_bytes(to, zero, (4096 - to->n % 4096) % 4096);
    SlAbiFooter footer = {
        .offset = to->n, .bytes = sizeof weights, .hash = tiny_query(SL_ABI_VERSION)->weights_hash};
    memcpy(footer.magic, SL_FOOTER_MAGIC, sizeof footer.magic);
    append_bytes(to, weights, sizeof weights);
    append_bytes(to, &footer, sizeof footer);
}

void write_tiny(const char *path)
{
    Bytes bytes = read_bytes(ABI_MODELS "/model_tiny.so");
    append_weights(&bytes);
    write_bytes(path, bytes.at, bytes.n);
    free(bytes.at);
}

void write_weights(const char *path)
{
    Bytes bytes = {NULL, 0};
    append_weights(&bytes);
    write_bytes(path, bytes.at, bytes.n);
    free(bytes.at);
}

static const SlAbiModel *table_wanted;

static const SlAbiModel *query_wanted(uint32_t max_abi)
{
    return max_abi >= table_wanted->abi ? table_wanted : NULL;
}

SlModel *open_table_with(const SlAbiModel *table, const SlOpenOptions *options, SlError *error)
{
    SlModel *model;
    table_wanted = table;
    sl_model_from_query(query_wanted, options, &model, error);
    return model;
}

SlModel *open_table(const SlAbiModel *table, SlError *error)
{
    static _Alignas(64) float weights[TINY_WEIGHTS + SL_ABI_SLACK / 4];
    fill_weights(weights);
    const SlOpenOptions options = {
        .weights = weights, .weights_bytes = TINY_WEIGHTS * 4, .verify = 1};
    return open_table_with(table, &options, error);
}

SlModel *open_linked(void)
{
    SlError error;
    SlModel *model = open_table(tiny_query(SL_ABI_VERSION), &error);
    must(model != NULL, error.text);
    return model;
}

void bag_make(Bag *bag, uint32_t batch, uint32_t seed, float factor)
{
    float weights[TINY_WEIGHTS];
    must(batch <= BAG_MOST, "batch");
    fill_weights(weights);
    memset(bag, 0, sizeof *bag);
    bag->in_shape[0] = bag->sum_shape[0] = batch;
    bag->in_shape[1] = TINY_LENGTH;
    bag->sum_shape[1] = TINY_WIDTH;
    bag->total_shape[0] = 1;
    for (uint32_t i = 0; i < batch * TINY_LENGTH; i++) {
        uint32_t random = (seed * TINY_LENGTH + i) * 2654435761u >> 8;
        bag->ids[i] = (int32_t)(random % TINY_WORDS);
        bag->weight[i] = (float)(random / 8 % 16) / 4 - 2;
        bag->mask[i] = random / 128 % 4 ? (uint8_t)(random / 128 % 256) : 0;
        for (uint32_t j = 0; j < TINY_WIDTH; j++) {
            float word = weights[bag->ids[i] * TINY_WIDTH + (int)j] + weights[TINY_BIAS + j];
            float term = bag->mask[i] ? factor * bag->weight[i] * word : 0;
            bag->expected[i / TINY_LENGTH * TINY_WIDTH + j] += term;
            bag->expected_total += term;
        }
    }
    for (uint32_t i = 0; i < BAG_MOST * TINY_WIDTH; i++)
        bag->sum[i] = 12345;
    bag->total[0] = 12345;
    size_t elements = batch * TINY_LENGTH;
    bag->inputs[0] = (SlTensor){bag->ids, 4 * elements, bag->in_shape, NULL, 2, SL_I32};
    bag->inputs[1] = (SlTensor){bag->weight, 4 * elements, bag->in_shape, NULL, 2, SL_F32};
    bag->inputs[2] = (SlTensor){bag->mask, elements, bag->in_shape, NULL, 2, SL_BOOL};
    bag->outputs[0] = (SlTensor){bag->sum, 4 * batch * TINY_WIDTH, bag->sum_shape, NULL, 2, SL_F32};
    bag->outputs[1] = (SlTensor){bag->total, 4, bag->total_shape, NULL, 1, SL_F32};
}

bool bag_is_right(const Bag *bag)
{
    size_t n = (size_t)bag->sum_shape[0] * TINY_WIDTH;
    for (size_t i = n; i < BAG_MOST * TINY_WIDTH; i++) {
        if (bag->sum[i] != 12345)
            return false;
    }
    return memcmp(bag->sum, bag->expected, n * sizeof(float)) == 0 &&
           bag->total[0] == bag->expected_total;
}

bool bag_is_untouched(const Bag *bag)
{
    for (size_t i = 0; i < BAG_MOST * TINY_WIDTH; i++) {
        if (bag->sum[i] != 12345)
            return false;
    }
    return bag->total[0] == 12345;
}
