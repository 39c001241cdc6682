// What the tests of the runtime share: files of models, and the bag model's inputs and answers.
#ifndef SLUICE_TESTS_ABI_SUPPORT_H
#define SLUICE_TESTS_ABI_SUPPORT_H

#include "runtime/sluice.h"
#include "tiny.h"

#include <stdbool.h>

// table[w][j] = w + j/8, then bias[j] = j/16 − 1: [TINY_WEIGHTS]
void fill_weights(float *weights);

// A folder of this process alone, empty at first; ends in no slash.
const char *work_folder(void);
void remove_work_folder(void);

// `folder`/`name`; the same text for the same name, which stays.
const char *path_in(const char *folder, const char *name);

typedef struct Bytes {
    unsigned char *at; // malloc
    size_t n;
} Bytes;

Bytes read_bytes(const char *path);
void write_bytes(const char *path, const void *bytes, size_t n);
void append_bytes(Bytes *to, const void *bytes, size_t n);

// A model file with its weights behind it, as the compiler links it: model_tiny.so in `path`.
void write_tiny(const char *path);
// The weights alone with their footer, as in a file beside a model.
void write_weights(const char *path);

// The model linked into the test, its weights in memory.
SlModel *open_linked(void);
// A model of another table, which must live as long; NULL and *error if it is refused.
SlModel *open_table(const SlAbiModel *table, SlError *error);
SlModel *open_table_with(const SlAbiModel *table, const SlOpenOptions *options, SlError *error);

enum { BAG_MOST = 32 };

// Inputs and outputs of "bag" for `batch` items, of which item i depends on `seed` + i alone; all
// numbers are exact in f32, whatever the order of sums.
typedef struct Bag {
    int64_t in_shape[2], sum_shape[2], total_shape[1];
    int32_t ids[BAG_MOST * TINY_LENGTH];
    float weight[BAG_MOST * TINY_LENGTH];
    uint8_t mask[BAG_MOST * TINY_LENGTH];
    float sum[BAG_MOST * TINY_WIDTH];
    float total[1];
    float expected[BAG_MOST * TINY_WIDTH];
    float expected_total;
    SlTensor inputs[3], outputs[2];
} Bag;

void bag_make(Bag *bag, uint32_t batch, uint32_t seed, float factor);
bool bag_is_right(const Bag *bag);
bool bag_is_untouched(const Bag *bag); // outputs are as bag_make() left them

#endif
