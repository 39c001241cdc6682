// model_twin.so: the model of tiny.h with twice the sum, its weights in a file beside it.
#include "runtime/abi.h"

__attribute__((visibility("default"))) const SlAbiModel *sluice_model_query(uint32_t max_abi);

#define TINY_QUERY  sluice_model_query
#define TINY_NAME   "twin"
#define TINY_FACTOR 2.0f
#define TINY_PLACE  SL_WEIGHTS_BESIDE
#define TINY_FILE   "twin.weights"
#include "tiny.c"
