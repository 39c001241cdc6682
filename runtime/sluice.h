/* libsluice: opens compiled models and runs them.
 *
 *     SlModel *model;
 *     SlContext *context;
 *     SlError error;
 *     if (sl_model_open("model.so", NULL, &model, &error) ||
 *         sl_context_open(model, NULL, &context, &error))
 *         return fail(error.text);
 *     int64_t ids_shape[] = {8, 128}, hidden_shape[] = {8, 128, 384};
 *     SlTensor in = {ids, sizeof ids, ids_shape, NULL, 2, SL_I32};
 *     SlTensor out = {hidden, sizeof hidden, hidden_shape, NULL, 3, SL_F32};
 *     if (sl_run(context, 0, &in, 1, &out, 1, &error))
 *         return fail(error.text);
 *     sl_context_close(context);
 *     sl_model_close(model);
 *
 * That is the simple path: open, run, close. A *model* is what a file holds, read-only, and may be
 * shared by any number of threads. A *context* is what one run at a time needs: memory for what
 * lies between inputs and outputs, and a pool of threads. A model offers one or more *entries*
 * (callables), counted from 0; what `sluice build` makes has one. An entry's shapes are fixed or
 * follow *symbols*, sizes that are free until run time, such as `batch`.
 *
 * What holds for all functions, unless one says otherwise:
 *
 * Failure. Functions that can fail return SlStatus and write `*error`, which may be NULL. On
 * failure nothing was changed, no output was written, and what would have been returned through a
 * pointer is NULL. Nothing aborts, nothing is printed.
 *
 * Ownership. Whoever opens closes. Buffers given by the caller stay the caller's and are borrowed
 * for the call; texts that are returned live as long as the model.
 *
 * Threads. Distinct contexts may be used at the same time. One context serves one thread at a time:
 * a second call meets SL_E_BUSY. Functions that take a model are safe from any thread, but for
 * sl_model_close().
 *
 * Options are structs: set them to zero, then the fields that matter. All zero is the default, and
 * so is NULL.
 *
 * After sl_bind() a run makes no heap call, and no system call but futex. It needs less than 16 KB
 * of stack. The library uses pthreads, allocates through the caller's allocator if one is given,
 * and keeps no state of its own but a count of forks: in a child process after fork() contexts
 * still work, on one thread; one that another thread was running at that moment stays busy.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SL_API __attribute__((visibility("default")))
#else
#define SL_API
#endif

#define SL_VERSION_MAJOR 0
#define SL_VERSION_MINOR 1
#define SL_VERSION_PATCH 0

#define SL_MAX_RANK    64u
#define SL_MAX_SYMBOLS 64u /* of one entry */
#define SL_MAX_THREADS 1024u

/* ---- Statuses -------------------------------------------------------------------------------- */

/* The numbers are pinned; gaps are left for more of the same topic. */
typedef enum SlStatus {
    SL_OK = 0,

    /* what the system refused */
    SL_E_MEMORY = 10, /* the allocator gave nothing */
    SL_E_FILE = 11,   /* a file cannot be opened, read or mapped */
    SL_E_THREAD = 12, /* a thread cannot be started */

    /* opening a model */
    SL_E_NOT_MODEL = 20,       /* no shared object, or one without a model */
    SL_E_VERSION = 21,         /* made for a newer runtime */
    SL_E_CPU = 22,             /* this processor lacks what the model was compiled for */
    SL_E_TABLE = 23,           /* the model's table contradicts itself */
    SL_E_TRUNCATED = 24,       /* the file, or its weights, end early */
    SL_E_WEIGHTS_MISSING = 30, /* the model was built with weights, they are not there */
    SL_E_WEIGHTS_FOREIGN = 31, /* these are another model's */
    SL_E_WEIGHTS_FLIPPED = 32, /* bytes differ from those that were written */

    /* how a function was called */
    SL_E_ARGUMENT = 40,    /* NULL where an object must be */
    SL_E_OPTION = 41,      /* an option's value, or SLUICE_THREADS, is not allowed */
    SL_E_INDEX = 42,       /* no entry, input, output, symbol or weight of that number */
    SL_E_BUSY = 43,        /* the context is in use, or the model has open contexts */
    SL_E_ARENA = 44,       /* the caller's arena is too small for these sizes */
    SL_E_OVERFLOW = 45,    /* a size computed from these sizes does not fit 63 bits */
    SL_E_HOOK = 46,        /* parallel_for returned before all was done; outputs are undefined */
    SL_E_UNSUPPORTED = 47, /* the model keeps state between runs, this runtime does not */

    /* the tensors of a run; `text` names the tensor, what was expected and what was given */
    SL_E_COUNT = 50,   /* number of inputs, outputs or symbols */
    SL_E_DTYPE = 51,   /* element type */
    SL_E_RANK = 52,    /* number of axes */
    SL_E_SHAPE = 53,   /* sizes */
    SL_E_STRIDE = 54,  /* not contiguous */
    SL_E_ALIGN = 55,   /* address is no multiple of the element's size */
    SL_E_NULL = 56,    /* no data, and no default */
    SL_E_BYTES = 57,   /* buffer smaller than its shape */
    SL_E_OVERLAP = 58, /* an output shares memory with another tensor */
    SL_E_SYMBOL = 59,  /* a symbol out of its bounds, or not determined by the inputs */
    SL_E_CHECK = 60,   /* a check that the model states */
    SL_E_RANGE = 61,   /* an element of an i32 input */

    /* found while running; outputs are undefined */
    SL_E_FAULT = 70 /* an index computed by the model lay outside its table */
} SlStatus;

/* What went wrong, for people. Statuses are for programs. */
typedef struct SlError {
    SlStatus status;
    char text[256];
} SlError;

/* A status in words, never NULL. */
SL_API const char *sl_status_text(SlStatus status);

/* "0.1.0", of the library itself. */
SL_API const char *sl_version(void);

/* ---- Opening and closing models -------------------------------------------------------------- */

typedef struct SlModel SlModel;
struct SlAbiModel; /* the table as it stands in the file: abi.h */

/* Where memory comes from: `bytes` at a multiple of `align` (a power of two, at most 64), or NULL.
 * Both functions may be called from any thread that calls the library. */
typedef struct SlAllocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes, size_t align);
    void (*release)(void *context, void *memory, size_t bytes);
} SlAllocator;

typedef struct SlOpenOptions {
    const SlAllocator *allocator; /* copied; NULL: aligned_alloc and free */
    /* The file that carries the weights, if they are not where the model says. */
    const char *weights_file;
    /* Or the weights themselves, borrowed until the model is closed: at a multiple of 64, with 64
     * more readable bytes behind them. */
    const void *weights;
    uint64_t weights_bytes;
    int verify; /* not 0: hash all weights, which reads all of them */
} SlOpenOptions;

/* Opens the shared object `path`. That runs code of it: open only files you trust, and replace an
 * open one by rename, not in place. Checks that the file is whole, the version, the processor (the
 * most demanding variant that it can run is taken), that the weights are there and are this
 * model's, and maps them; with `verify` also that their bytes are what was written. Returns SL_OK
 * and *model, or SL_E_FILE, SL_E_NOT_MODEL, SL_E_VERSION, SL_E_CPU, SL_E_TABLE, SL_E_TRUNCATED,
 * SL_E_WEIGHTS_…, SL_E_ALIGN, SL_E_UNSUPPORTED, SL_E_MEMORY, SL_E_ARGUMENT, SL_E_OPTION. */
SL_API SlStatus sl_model_open(const char *path, const SlOpenOptions *options, SlModel **model,
                              SlError *error);

/* The same for a table that the program has already: `query` is the function that a model exports
 * (abi.h). Weights that are not in the table's code come from `weights` or `weights_file`. */
SL_API SlStatus sl_model_from_query(const struct SlAbiModel *(*query)(uint32_t max_abi),
                                    const SlOpenOptions *options, SlModel **model, SlError *error);

/* Unmaps and unloads. All contexts of the model must be closed before, else SL_E_BUSY, and it stays
 * open. NULL is nothing to do. No other thread may be using the model. */
SL_API SlStatus sl_model_close(SlModel *model);

/* ---- What a model is ------------------------------------------------------------------------- */

typedef enum SlDType { SL_F32 = 0, SL_I32 = 1, SL_BOOL = 2 /* one byte, true if not 0 */ } SlDType;

typedef enum SlText {
    SL_TEXT_NAME = 0,
    SL_TEXT_TARGET = 1,   /* the instruction set in use: "x86-64-v3" */
    SL_TEXT_COMPILER = 2, /* its version */
    SL_TEXT_SPEC = 3,     /* what was compiled, in canonical form */
    SL_TEXT_FLAGS = 4,    /* that changed the result */
    SL_TEXT_GRAPH = 5,    /* the optimised graph */
    SL_TEXT_PREPARE = 6,  /* how the weights come from the model's parameters */
    SL_TEXT_NOTES = 7     /* what callers should know, a line each: a name, a space, a value */
} SlText;

typedef struct SlEntryInfo {
    const char *name;
    uint32_t ninputs;
    uint32_t noutputs;
    uint32_t nsymbols;
    uint32_t nchecks;
    uint32_t nsteps; /* runs of a kernel, one after the other */
} SlEntryInfo;

/* A size that is free until run time: low <= value <= high. */
typedef struct SlSymbolInfo {
    const char *name;
    int64_t low;
    int64_t high; /* INT64_MAX: no bound */
} SlSymbolInfo;

/* An i32 input: low <= x < high for all elements, or the run is refused. */
#define SL_HAS_RANGE 1u
/* An input that may be left out; all its elements are `fill` then. So without a mask nothing is
 * padding: a batch that was padded needs its mask. */
#define SL_HAS_DEFAULT 2u

typedef struct SlTensorInfo {
    const char *name;
    SlDType dtype;
    uint32_t rank;
    uint32_t flags;             /* SL_HAS_… */
    int64_t shape[SL_MAX_RANK]; /* [rank]; -1 where it follows symbols */
    char shape_text[128];       /* "[batch, 128]"; ends in "..." if it is too long */
    int64_t low;
    int64_t high;
    double fill;
} SlTensorInfo;

/* One constant in the weights. */
typedef struct SlWeightInfo {
    const char *name;
    const char *layout; /* "rows", or a packed layout's name */
    SlDType dtype;
    uint32_t rank;
    const int64_t *shape; /* [rank] as stored; lives as long as the model */
    uint64_t bytes;
    uint64_t hash;
    const void *data;
} SlWeightInfo;

/* "" if the model has none; NULL if there is no such text. */
SL_API const char *sl_model_text(const SlModel *model, SlText which);
SL_API uint32_t sl_entry_count(const SlModel *model);
SL_API uint32_t sl_weight_count(const SlModel *model);

/* These fill *info, or return SL_E_INDEX, SL_E_ARGUMENT. */
SL_API SlStatus sl_entry_info(const SlModel *model, uint32_t entry, SlEntryInfo *info,
                              SlError *error);
SL_API SlStatus sl_symbol_info(const SlModel *model, uint32_t entry, uint32_t symbol,
                               SlSymbolInfo *info, SlError *error);
SL_API SlStatus sl_input_info(const SlModel *model, uint32_t entry, uint32_t input,
                              SlTensorInfo *info, SlError *error);
SL_API SlStatus sl_output_info(const SlModel *model, uint32_t entry, uint32_t output,
                               SlTensorInfo *info, SlError *error);
SL_API SlStatus sl_weight_info(const SlModel *model, uint32_t weight, SlWeightInfo *info,
                               SlError *error);

/* The text of a check that is made before every run, or NULL: no such check. */
SL_API const char *sl_check_text(const SlModel *model, uint32_t entry, uint32_t check);

/* Numbers of things by name, or -1. */
SL_API int64_t sl_find_entry(const SlModel *model, const char *name);
SL_API int64_t sl_find_input(const SlModel *model, uint32_t entry, const char *name);
SL_API int64_t sl_find_output(const SlModel *model, uint32_t entry, const char *name);

/* The sizes of an input or output for given symbols: shape[rank] is written.
 * symbols: [nsymbols], all of the entry's. Returns SL_E_COUNT, SL_E_SYMBOL, SL_E_OVERFLOW,
 * SL_E_INDEX, SL_E_SHAPE (a size below 1). */
SL_API SlStatus sl_input_shape(const SlModel *model, uint32_t entry, uint32_t input,
                               const int64_t *symbols, uint32_t nsymbols, int64_t *shape,
                               SlError *error);
SL_API SlStatus sl_output_shape(const SlModel *model, uint32_t entry, uint32_t output,
                                const int64_t *symbols, uint32_t nsymbols, int64_t *shape,
                                SlError *error);

/* The table itself, for tools that read abi.h. */
SL_API const struct SlAbiModel *sl_model_table(const SlModel *model);

/* ---- Contexts -------------------------------------------------------------------------------- */

typedef struct SlContext SlContext;

/* Calls fn(arg, i) once for each i < n, on any threads, in any order, and returns after all have
 * returned. */
typedef void (*SlParallelFor)(void *context, uint32_t n, void (*fn)(void *arg, uint32_t i),
                              void *arg);

typedef struct SlContextOptions {
    /* Threads that work on a run, the caller's included; results do not depend on it. If 0, the
     * environment variable SLUICE_THREADS, a whole number; if that is not set, the processors that
     * the affinity mask and the cgroup's CPU quota leave. */
    int32_t threads;
    const SlAllocator *allocator; /* copied; NULL: the model's */
    /* Memory for runs, instead of the allocator's; the caller's until the context is closed. */
    void *arena;
    uint64_t arena_bytes;
    /* The caller's thread pool: no thread is started then, and `threads` is the n of it. */
    SlParallelFor parallel_for;
    void *parallel_context; /* its first argument */
} SlContextOptions;

/* Makes a context and starts its threads: their stacks are small, all signals are blocked in them,
 * they spin for some microseconds after a run and then sleep. The model must stay open. Returns
 * SL_E_ARGUMENT, SL_E_OPTION, SL_E_MEMORY, SL_E_THREAD. */
SL_API SlStatus sl_context_open(SlModel *model, const SlContextOptions *options,
                                SlContext **context, SlError *error);

/* Ends the threads and frees the memory. SL_E_BUSY if a run is going on. NULL is nothing to do. */
SL_API SlStatus sl_context_close(SlContext *context);

SL_API uint32_t sl_thread_count(const SlContext *context);

/* Prepares for runs of `entry` with these symbol values (symbols: [nsymbols]) and allocates what
 * they need. A run does it itself if need be; binding the largest sizes beforehand keeps all later
 * runs from allocating. Memory grows only. Returns SL_E_INDEX, SL_E_COUNT, SL_E_SYMBOL, SL_E_CHECK,
 * SL_E_OVERFLOW, SL_E_MEMORY, SL_E_BUSY, SL_E_ARENA. */
SL_API SlStatus sl_bind(SlContext *context, uint32_t entry, const int64_t *symbols,
                        uint32_t nsymbols, SlError *error);

/* The bytes that a caller's arena must have for such runs, if it begins at a multiple of 64. */
SL_API SlStatus sl_arena_bytes(const SlContext *context, uint32_t entry, const int64_t *symbols,
                               uint32_t nsymbols, uint64_t *bytes, SlError *error);

/* Gives the memory of runs back to the allocator; the next run takes what it needs. */
SL_API SlStatus sl_trim(SlContext *context);

/* ---- Running --------------------------------------------------------------------------------- */

/* A view of the caller's memory. Sizes are at least 1. Inputs are not written. */
typedef struct SlTensor {
    /* The first element. NULL leaves out an input that has a default; then nothing else is read. */
    void *data;
    uint64_t bytes;         /* of the buffer at `data` */
    const int64_t *shape;   /* [rank] */
    const int64_t *strides; /* [rank], in elements; must say "contiguous". NULL says so too */
    uint32_t rank;
    SlDType dtype;
} SlTensor;

/* The symbol values that these inputs determine. symbols: [nsymbols] is written, also on failure. A
 * symbol takes its value from the first input that has it alone as a size; other places must agree.
 * Returns SL_E_INDEX, SL_E_COUNT and the statuses of inputs that concern shapes. */
SL_API SlStatus sl_symbols(const SlModel *model, uint32_t entry, const SlTensor *inputs,
                           uint32_t ninputs, int64_t *symbols, uint32_t nsymbols, SlError *error);

/* The first entry that takes these inputs, as *entry: for a model that was built for several
 * lengths. SL_E_SHAPE if there is none; a model of one entry says what it does not like. */
SL_API SlStatus sl_match_entry(const SlModel *model, const SlTensor *inputs, uint32_t ninputs,
                               uint32_t *entry, SlError *error);

/* Runs `entry` once, on the calling thread and the context's. inputs: [ninputs], outputs:
 * [noutputs], all of the entry's in its order, with dtype and shape as the infos say. Buffers need
 * no alignment but their element's. Outputs may share memory with nothing. Values of i32 inputs are
 * checked against their ranges. Subnormal numbers count as 0; the caller's floating point
 * environment is restored. The views are borrowed until return. Returns SL_E_INDEX, SL_E_BUSY, the
 * statuses of tensors (50 to 69) and those of sl_bind(), with outputs untouched; SL_E_FAULT and
 * SL_E_HOOK, with outputs undefined. */
SL_API SlStatus sl_run(SlContext *context, uint32_t entry, const SlTensor *inputs, uint32_t ninputs,
                       const SlTensor *outputs, uint32_t noutputs, SlError *error);

#ifdef __cplusplus
}
#endif
#endif
