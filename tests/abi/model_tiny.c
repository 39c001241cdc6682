// model_tiny.so: the model of tiny.h, its weights to be appended.
#include "runtime/abi.h"

__attribute__((visibility("default"))) const SlAbiModel *sluice_model_query(uint32_t max_abi);

#define TINY_QUERY  sluice_model_query
#define TINY_NAME   "tiny"
#define TINY_FACTOR 1.0f
#define TINY_PLACE  SL_WEIGHTS_APPENDED
#define TINY_FILE   NULL
#include "tiny.c"
