// What the files of the runtime share and no caller sees. An `sli_` function is hidden in the
// shared library.
//
//   sl_model_open ─ loader.c ─ cpu.c, table.c       describe.c ─ expr.c
//   sl_context_open, sl_bind ─ bind.c ─ cpus.c, threads.c
//   sl_run ─ run.c: tensors.c (views, symbols) → bind.c (sizes, plan) → inputs → threads.c (steps)
#ifndef SLUICE_RUNTIME_INTERNAL_H
#define SLUICE_RUNTIME_INTERNAL_H

#include "runtime/abi.h"
#include "runtime/sluice.h"

#include <stdatomic.h>
#include <stdbool.h>

#define SL_TRY(call)                                                                               \
    do {                                                                                           \
        SlStatus status_ = (call);                                                                 \
        if (status_ != SL_OK)                                                                      \
            return status_;                                                                        \
    } while (0)

struct SlModel {
    SlAllocator allocator;
    const SlAbiModel *table;
    const SlAbiVariant *variant; // the one in use
    void *handle;                // of dlopen, or NULL
    const uint8_t *weights;      // or NULL: none
    void *map;                   // what was mapped for them, or NULL
    size_t map_bytes;
    atomic_uint contexts; // open ones
};

// status.c

// Writes *error, if there is one. SL_FAIL() is `status`, which compiler and reader see to be none
// that SL_TRY() would pass over.
__attribute__((cold, format(printf, 3, 4))) void sli_fail(SlError *error, SlStatus status,
                                                          const char *format, ...);
#define SL_FAIL(error, status, ...) (sli_fail(error, status, __VA_ARGS__), (status))

SlStatus sli_ok(SlError *error);

// A text in a fixed buffer, cut at its end.
typedef struct SliText {
    char *at; // [bytes]
    size_t bytes;
    size_t used; // < bytes; the terminator stands there
} SliText;

SliText sli_text(char *buffer, size_t bytes);
__attribute__((cold, format(printf, 2, 3))) void sli_add(SliText *text, const char *format, ...);
void sli_add_sizes(SliText *text, const int64_t *sizes, uint32_t n); // "[8, 128]"

// loader.c

// `wanted`, or `otherwise`, or the C library's: the first that is not NULL. SL_E_OPTION.
SlStatus sli_choose_allocator(const SlAllocator *wanted, const SlAllocator *otherwise,
                              SlAllocator *allocator, SlError *error);

// cpu.c

uint64_t sli_cpu_features(void); // bits of isa.def that this processor and system offer
void sli_add_features(SliText *text, uint64_t features); // their names, joined by ", "

// Makes subnormals 0, rounds to nearest, masks exceptions; returns what the calling thread had.
unsigned sli_float_begin(void);
void sli_float_end(unsigned before);

// cpus.c

// How many threads to use if the caller does not say: SLUICE_THREADS, or the processors of the
// affinity mask within the cgroup's quota.
SlStatus sli_default_threads(uint32_t *threads, SlError *error);
uint32_t sli_affinity_cpus(void);          // at least 1
uint32_t sli_quota_cpus(const char *root); // UINT32_MAX: no quota; `root` goes before "/proc"
bool sli_parse_threads(const char *text, uint32_t *threads); // 1 to SL_MAX_THREADS

// table.c

// The i-th struct of an array of the table: structs begin with their own size and may have grown.
const void *sli_at(const void *array, uint32_t i);

// Everything the other files rely on: pointers, sizes, counts, kinds, code that evaluates.
SlStatus sli_check_model(const SlAbiModel *model, SlError *error);
SlStatus sli_check_variant(const SlAbiModel *model, const SlAbiVariant *variant, SlError *error);

// Entry `number`: SL_E_INDEX, SL_E_ARGUMENT.
SlStatus sli_find_entry(const SlModel *model, uint32_t number, const SlAbiEntry **entry,
                        SlError *error);

uint64_t sli_dtype_bytes(uint32_t dtype);
const char *sli_dtype_name(uint32_t dtype);

// expr.c

// Right if all operators are known, the stack holds, one value is left, symbols are < nsymbols.
bool sli_expr_ok(const SlAbiExpr *expr, uint32_t nsymbols);
bool sli_eval(const SlAbiExpr *expr, const int64_t *symbols, int64_t *value); // false: overflow
// The number of the symbol that the expression consists of, or -1.
int64_t sli_lone_symbol(const SlAbiExpr *expr);
void sli_add_expr(SliText *text, const SlAbiExpr *expr, const SlAbiEntry *entry);
void sli_add_shape(SliText *text, const SlAbiIo *io, const SlAbiEntry *entry); // "[batch, 128]"

// The sizes of `io`: shape[rank]. SL_E_OVERFLOW, or SL_E_SHAPE if one is below 1.
SlStatus sli_eval_shape(const SlAbiIo *io, const int64_t *symbols, int64_t *shape, SlError *error);
// Bounds of all symbols: SL_E_SYMBOL.
SlStatus sli_check_bounds(const SlAbiEntry *entry, const int64_t *symbols, SlError *error);
// Symbols given by the caller: their number, and bounds. SL_E_COUNT, SL_E_ARGUMENT, SL_E_SYMBOL.
SlStatus sli_check_symbols(const SlAbiEntry *entry, const int64_t *symbols, uint32_t nsymbols,
                           SlError *error);
// The model's own checks: SL_E_CHECK, SL_E_OVERFLOW.
SlStatus sli_check_checks(const SlAbiEntry *entry, const int64_t *symbols, SlError *error);

// tensors.c

// Views by themselves and against dtype and rank; symbols[nsymbols] from the inputs' shapes, and
// their bounds; then all shapes.
SlStatus sli_check_inputs(const SlAbiEntry *entry, const SlTensor *inputs, uint32_t ninputs,
                          int64_t *symbols, SlError *error);
SlStatus sli_check_outputs(const SlAbiEntry *entry, const SlTensor *outputs, uint32_t noutputs,
                           const int64_t *symbols, SlError *error);
// Outputs against inputs and one another: SL_E_OVERLAP.
SlStatus sli_check_overlaps(const SlAbiEntry *entry, const SlTensor *inputs,
                            const SlTensor *outputs, SlError *error);
// Of a contiguous tensor: shape[rank], sizes >= 1; UINT64_MAX if that overflows.
uint64_t sli_tensor_bytes(const int64_t *shape, const SlAbiIo *io);

// threads.c

// One step's work: `parts` calls of a kernel.
typedef struct SliJob {
    SlAbiKernel kernel;
    const int64_t *symbols;
    void *const *operands;
    uint8_t *scratch; // of share 0; share i's is i × scratch_stride bytes on
    uint64_t scratch_stride;
    uint32_t parts;
} SliJob;

typedef struct SliPool SliPool;

typedef struct SliPoolOptions {
    uint32_t threads;
    SlParallelFor parallel_for; // or NULL: own threads
    void *parallel_context;
} SliPoolOptions;

size_t sli_pool_bytes(uint32_t threads);
// Makes a pool in `memory`, 64-byte aligned. SL_E_THREAD, SL_E_MEMORY.
SlStatus sli_pool_open(SliPool *pool, const SliPoolOptions *options, SlError *error);
void sli_pool_close(SliPool *pool);
void sli_pool_wake(SliPool *pool); // lets sleeping threads spin for the work that is coming
// Does all parts; false if the caller's parallel_for did not. The calling thread is in
// sli_float_begin() state.
bool sli_pool_run(SliPool *pool, const SliJob *job);
uint32_t sli_pool_faults(SliPool *pool); // the shares' fault words, or-ed; clears them

// bind.c

// What a run of an entry needs for given symbols, all in the context's one block.
struct SlContext {
    SlModel *model;
    SlAllocator allocator;
    size_t block_bytes; // of this struct and what follows it
    uint32_t threads;
    atomic_flag busy;
    bool own_arena;

    uint8_t *memory; // arena, then the shares' scratch; 64-byte aligned; NULL: none yet
    uint64_t memory_bytes;
    uint8_t *scratch; // of share 0
    uint64_t scratch_stride;

    const SlAbiEntry *bound; // what the plan below is for, or NULL
    int64_t *symbols;        // [nsymbols] it was made with
    int64_t *wanted;         // [nsymbols] of the call at hand
    uint32_t *parts;         // [nsteps]
    int64_t *offsets;        // [noperands of all steps], bytes
    int64_t *slots;          // [ninputs], offset in the arena; -1: none
    uint64_t *slot_bytes;    // [ninputs]
    void **operands;         // [noperands of all steps], for the run at hand
    bool parallel;           // a step has several parts
    SliPool *pool;
};

// Makes the plan for the symbols in context->wanted, within the bounds of which they are known to
// be, and takes memory if need be. The context is busy with the caller.
SlStatus sli_bind_wanted(SlContext *context, const SlAbiEntry *entry, SlError *error);

bool sli_enter(SlContext *context); // false: busy
void sli_leave(SlContext *context);

#endif
