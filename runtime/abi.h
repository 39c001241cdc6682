/* The contract between a compiled model and the runtime: the table that a model file holds, and how
 * its kernels are called. Shared by the code generator and the runtime; standalone; versioned as if
 * it were a schema.
 *
 * A model exports one function, `sluice_model_query`. It answers with a table in read-only data, or
 * with NULL if the table's version is over what the caller knows:
 *
 *   model ─▶ variants (needed CPU features) ─▶ entries ─▶ steps ─▶ operands
 *
 * To run an entry: find the symbols' values from the inputs' shapes, make the checks, lay out the
 * arena, then for each step call its kernel once for every part. Parts of one step are independent;
 * a step sees all that earlier ones wrote. A kernel makes no system call, allocates nothing, keeps
 * no state, reads no global but constants.
 *
 * Every struct begins with its own size: a reader steps through arrays by it, and fields may be
 * added at the end.
 */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_ABI_VERSION 1u
#define SL_ABI_ALIGN   64u /* bytes: arena buffers, scratch, constants in the weights */
#define SL_ABI_SLACK   64u /* readable bytes behind each of these */
#define SL_QUERY_NAME  "sluice_model_query"

/* Element types, as in the table. */
#define SL_ABI_F32  0u
#define SL_ABI_I32  1u
#define SL_ABI_BOOL 2u /* one byte, 0 or 1 */

/* Postfix code of an integer expression over the entry's symbols, checked int64. */
#define SL_X_CONST  0u /* push value */
#define SL_X_SYMBOL 1u /* push symbol number `value` */
#define SL_X_ADD    2u
#define SL_X_MUL    3u
#define SL_X_DIV    4u /* floor; the divisor is positive */

typedef struct SlAbiInst {
    uint32_t op;
    uint32_t reserved;
    int64_t value;
} SlAbiInst;

typedef struct SlAbiExpr {
    const SlAbiInst *code; /* [n] */
    uint64_t n;
} SlAbiExpr;

/* A size that is free until run time; its value comes from the inputs' shapes. low <= value <=
 * high. */
typedef struct SlAbiSymbol {
    uint32_t size;
    uint32_t reserved;
    const char *name;
    int64_t low;
    int64_t high; /* INT64_MAX: no bound */
} SlAbiSymbol;

#define SL_CHECK_EQ 0u
#define SL_CHECK_LE 1u
#define SL_CHECK_LT 2u
#define SL_CHECK_NE 3u

/* Made before the first step: left op right, or the run is refused with `text`. */
typedef struct SlAbiCheck {
    uint32_t size;
    uint32_t op;
    SlAbiExpr left;
    SlAbiExpr right;
    const char *text;
} SlAbiCheck;

#define SL_IO_RANGE   1u /* i32 input: low <= x < high is checked */
#define SL_IO_DEFAULT 2u /* input: may be left out, every element then is `fill` */
#define SL_IO_SLOT    4u /* input: kernels read a copy in the arena; f32 may have none */

typedef struct SlAbiIo {
    uint32_t size;
    uint32_t dtype;
    uint32_t rank;
    uint32_t flags;
    const char *name;
    const SlAbiExpr *shape; /* [rank] */
    int64_t low;
    int64_t high;
    double fill;
    SlAbiExpr slot; /* SL_IO_SLOT: byte offset in the arena of the copy that kernels read */
} SlAbiIo;

/* Whose memory an operand is; `index` is the number of the input or output. */
#define SL_OPERAND_INPUT   0u /* the caller's buffer, or the input's slot if it has one */
#define SL_OPERAND_OUTPUT  1u /* the caller's buffer */
#define SL_OPERAND_ARENA   2u
#define SL_OPERAND_WEIGHTS 3u
#define SL_OPERAND_STATE   4u /* kept from run to run */

typedef struct SlAbiOperand {
    uint32_t size;
    uint32_t kind;
    uint32_t index;
    uint32_t reserved;
    SlAbiExpr offset; /* bytes from the beginning of that buffer */
} SlAbiOperand;

/* What a kernel sees; one per share of the work. */
typedef struct SlFrame {
    const int64_t *symbols; /* [nsymbols] of the entry */
    void *const *operands;  /* [noperands] of the step */
    uint8_t *scratch;       /* this share's, SL_ABI_ALIGN aligned */
    uint32_t *fault;        /* the run's fault word: a kernel stores SL_FAULT_…, never 0 */
} SlFrame;

#define SL_FAULT_INDEX 1u /* an index lay outside its table; it was clamped */

/* Does part `part` of `nparts`; nparts is what the step's `parts` gives. */
typedef void (*SlAbiKernel)(const SlFrame *frame, uint32_t part, uint32_t nparts);

typedef struct SlAbiStep {
    uint32_t size;
    uint32_t noperands;
    const char *name;
    SlAbiKernel kernel;
    const SlAbiOperand *operands; /* [noperands] */
    SlAbiExpr parts;              /* >= 1 */
} SlAbiStep;

typedef struct SlAbiEntry {
    uint32_t size;
    uint32_t nsymbols;
    uint32_t nchecks;
    uint32_t ninputs;
    uint32_t noutputs;
    uint32_t nsteps;
    const char *name;
    const SlAbiSymbol *symbols;
    const SlAbiCheck *checks;
    const SlAbiIo *inputs;
    const SlAbiIo *outputs;
    const SlAbiStep *steps;
    SlAbiExpr arena_bytes;
    SlAbiExpr scratch_bytes; /* of one share */
    SlAbiExpr state_bytes;
} SlAbiEntry;

typedef struct SlAbiVariant {
    uint32_t size;
    uint32_t nentries;
    uint64_t features;  /* bits of isa.def that the CPU must have */
    const char *target; /* "x86-64-v3" */
    const SlAbiEntry *entries;
} SlAbiVariant;

/* One constant of the weights blob. */
typedef struct SlAbiWeight {
    uint32_t size;
    uint32_t dtype;
    uint32_t rank;
    uint32_t reserved;
    const char *name;     /* as in `prepare` */
    const int64_t *shape; /* [rank] as stored */
    const char *layout;   /* "rows" or a packed layout's name: "P16" */
    uint64_t offset;      /* bytes in the blob */
    uint64_t bytes;
    uint64_t hash; /* XXH3, 64 bits, of its bytes */
} SlAbiWeight;

#define SL_WEIGHTS_NONE     0u
#define SL_WEIGHTS_APPENDED 1u /* behind the ELF image of the model's own file */
#define SL_WEIGHTS_BESIDE   2u /* in `weights_file`, in the model's folder */

typedef struct SlAbiModel {
    uint32_t size;
    uint32_t abi; /* SL_ABI_VERSION it was built for */
    const char *name;
    uint32_t nvariants;
    uint32_t nweights;
    const SlAbiVariant *variants; /* the most demanding first */
    const SlAbiWeight *weights;
    uint32_t weights_place; /* SL_WEIGHTS_… */
    uint32_t reserved;
    const char *weights_file;
    uint64_t weights_bytes; /* of the blob */
    uint64_t weights_hash;  /* XXH3, 64 bits, over the hashes of the constants in order */
    const char *compiler;   /* version */
    const char *spec;       /* canonical text of what was compiled */
    const char *flags;      /* that changed the result */
    const char *graph;      /* the optimised graph, as text */
    const char *prepare;    /* how the constants come from the parameters, as graph text */
    /* Added later, so a table may end before it. */
    const char *notes; /* for callers: a line each, NAME VALUE */
} SlAbiModel;

typedef const SlAbiModel *(*SlAbiQuery)(uint32_t max_abi);

/* Last 48 bytes of a file that carries a weights blob, little-endian. The blob begins at `offset`,
 * page-aligned. */
#define SL_FOOTER_MAGIC "SLUICEW1"
typedef struct SlAbiFooter {
    uint64_t offset; /* of the blob in the file */
    uint64_t bytes;
    uint64_t hash; /* as weights_hash */
    uint64_t reserved[2];
    char magic[8];
} SlAbiFooter;

#ifdef __cplusplus
}
#endif
#endif
