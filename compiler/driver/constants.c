// The constants: `prepare` is evaluated one output at a time and streamed to a file, so that memory
// holds one constant. What only moves a parameter's elements (most of a model's weights: packing)
// goes in float32, straight; the rest goes through the evaluator, in double.
#define _GNU_SOURCE // O_TMPFILE

#include "base/ints.h"
#include "driver/compile.h"
#include "ir/eval.h"
#include "loop/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

// Memory that the next constant uses again: fresh pages cost more than the work on them.
typedef struct Room {
    void *data; // [bytes], from malloc
    size_t bytes;
} Room;

typedef struct Constants {
    Arena *arena;
    Diag *dx;
    const Graph *prepare;
    const Weights *weights;
    Room constant; // as it goes to the blob
    Room param;    // what it is moved from
} Constants;

// NULL after a report.
static void *make_room(Diag *dx, Room *room, uint64_t bytes, Str name)
{
    if (room->bytes < bytes) {
        free(room->data);
        *room = (Room){.data = malloc(bytes), .bytes = bytes};
    }
    if (!room->data) {
        room->bytes = 0;
        diag_fail(dx, "no memory for the %llu bytes of %.*s", (unsigned long long)bytes,
                  STR_ARG(name));
    }
    return room->data;
}

// ---- movement alone ----

// pack(view(param)), each of the two steps or none.
typedef struct Movement {
    const Node *param;
    const Node *view; // NULL: the parameter as it is
    bool packed;
} Movement;

static bool is_movement(const Node *node, Movement *out)
{
    *out = (Movement){.packed = node->op == OP_pack};
    node = out->packed ? node->args[0] : node;
    out->view = node->op == OP_view ? node : NULL;
    node = out->view ? node->args[0] : node;
    out->param = node;
    return node->op == OP_param && node->type.dtype == DT_f32;
}

static int64_t fixed(const Size *size)
{
    int64_t n = 0;
    if (!size_is_int(size, &n)) {
        die("prepare has a symbolic size");
    }
    return n;
}

typedef struct Strided {
    size_t rank;
    int64_t *shape;
    int64_t *strides;
    int64_t offset;
} Strided;

static Strided strided(Arena *a, const Movement *m)
{
    const Node *node = m->view ? m->view : m->param;
    Strided s = {.rank = node->type.rank,
                 .shape = arena_new(a, int64_t, node->type.rank + 1),
                 .strides = arena_new(a, int64_t, node->type.rank + 1),
                 .offset = m->view ? fixed(m->view->attr.offset) : 0};
    int64_t step = 1;
    for (size_t i = s.rank; i-- > 0;) {
        s.shape[i] = fixed(node->type.shape[i]);
        s.strides[i] = m->view ? fixed(m->view->attr.strides[i]) : step;
        step *= s.shape[i];
    }
    return s;
}

// One matrix [K, N] as panels [ceil(N / 16)][K][16], zeros behind the last column.
static void pack_matrix(const float *from, const Strided *s, float *out)
{
    int64_t k = s->shape[s->rank - 2];
    int64_t n = s->shape[s->rank - 1];
    int64_t step_k = s->strides[s->rank - 2];
    int64_t step_n = s->strides[s->rank - 1];
    for (int64_t first = 0; first < n; first += TILE_COLS) {
        int64_t columns = n - first < TILE_COLS ? n - first : TILE_COLS;
        for (int64_t i = 0; i < k; i++) {
            const float *row = from + i * step_k + first * step_n;
            for (int64_t j = 0; j < columns; j++) {
                out[j] = row[j * step_n];
            }
            for (int64_t j = columns; j < TILE_COLS; j++) {
                out[j] = 0;
            }
            out += TILE_COLS;
        }
    }
}

// Calls for each index of the axes in front of the last `inner`: `from` at that place, `out` moved
// on by `block`.
static void move_blocks(const float *from, const Strided *s, bool packed, float *out)
{
    size_t inner = packed ? 2 : s->rank > 0 ? 1 : 0;
    int64_t nblocks = 1;
    for (size_t i = 0; i + inner < s->rank; i++) {
        nblocks *= s->shape[i];
    }
    int64_t last = inner ? s->shape[s->rank - 1] : 1;
    int64_t step = inner ? s->strides[s->rank - 1] : 1;
    int64_t panels = int_ceil_div(last, TILE_COLS);
    int64_t block = packed ? panels * s->shape[s->rank - 2] * TILE_COLS : last;
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t at = s->offset;
        int64_t rest = b;
        for (size_t i = s->rank - inner; i-- > 0;) {
            at += rest % s->shape[i] * s->strides[i];
            rest /= s->shape[i];
        }
        if (packed) {
            pack_matrix(from + at, s, out);
        }
        for (int64_t j = 0; !packed && j < last; j++) {
            out[j] = from[at + j * step];
        }
        out += block;
    }
}

static bool move(Constants *c, const Movement *m, float *out)
{
    if (!m->view && !m->packed) {
        return weights_read_f32(c->dx, c->weights, m->param, out);
    }
    uint64_t count = (uint64_t)fixed(type_count(c->arena, &m->param->type));
    float *values = make_room(c->dx, &c->param, count * sizeof *values, m->param->attr.name);
    if (!values || !weights_read_f32(c->dx, c->weights, m->param, values)) {
        return false;
    }
    Strided s = strided(c->arena, m);
    move_blocks(values, &s, m->packed, out);
    return true;
}

// ---- everything else ----

static bool read_leaf(void *ctx, const Node *node, EvalTensor *out)
{
    const Constants *c = ctx;
    return weights_read_f64(c->dx, c->weights, node, out->data);
}

static void narrow(const EvalTensor *from, uint8_t *out)
{
    for (int64_t i = 0; i < from->count; i++) {
        if (from->dtype == DT_f32) {
            ((float *)(void *)out)[i] = (float)from->data[i];
        } else if (from->dtype == DT_i32) {
            ((int32_t *)(void *)out)[i] = (int32_t)from->data[i];
        } else {
            out[i] = from->data[i] != 0;
        }
    }
}

static bool evaluate(Constants *c, size_t output, uint8_t *out)
{
    EvalOptions options = {.leaf = read_leaf, .ctx = c};
    EvalTensor value;
    if (!eval_output(c->arena, c->dx, c->prepare, &options, output, &value)) {
        return false;
    }
    narrow(&value, out);
    eval_free(&value, 1);
    return true;
}

// ---- the blob ----

static bool write_all(Diag *dx, int fd, const uint8_t *data, uint64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno != EINTR) {
            diag_fail(dx, "cannot write the weights: %s", strerror(errno));
            return false;
        }
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

static bool add_constant(Constants *c, Constant *constant, Blob *blob)
{
    uint64_t padded = (constant->bytes + LOOP_ALIGN - 1) / LOOP_ALIGN * LOOP_ALIGN;
    uint8_t *data = make_room(c->dx, &c->constant, padded, constant->name);
    if (!data) {
        return false;
    }
    memset(data + constant->bytes, 0, padded - constant->bytes);
    ArenaMark mark = arena_mark(c->arena);
    size_t output = graph_find_output(c->prepare, constant->name);
    if (output == SIZE_MAX) {
        die("prepare has no output %.*s", STR_ARG(constant->name));
    }
    Movement m;
    bool ok = is_movement(c->prepare->outputs.items[output].node, &m)
                  ? move(c, &m, (float *)(void *)data)
                  : evaluate(c, output, data);
    arena_reset(c->arena, mark);
    constant->offset = blob->bytes;
    constant->hash = XXH3_64bits(data, constant->bytes);
    ok = ok && write_all(c->dx, blob->fd, data, padded);
    blob->bytes += padded;
    return ok;
}

static int open_nameless(Arena *arena, Diag *dx, const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { // not every file system can
        Str pattern = str_format(arena, "%s/.sluice-XXXXXX", folder);
        char *path = arena_new(arena, char, pattern.len + 1);
        memcpy(path, pattern.ptr, pattern.len);
        fd = mkstemp(path);
        if (fd >= 0) {
            unlink(path);
        }
    }
    if (fd < 0) {
        diag_fail(dx, "cannot write in %s: %s", folder, strerror(errno));
    }
    return fd;
}

bool blob_create(Arena *arena, Diag *dx, const Graph *prepare, Program *program,
                 const Weights *weights, const char *folder, Blob *out)
{
    Constants c = {.arena = arena_create(), .dx = dx, .prepare = prepare, .weights = weights};
    *out = (Blob){.fd = open_nameless(arena, dx, folder)};
    bool ok = out->fd >= 0;
    XXH3_state_t *hash = XXH3_createState();
    XXH3_64bits_reset(hash);
    for (size_t i = 0; ok && i < program->constants.n; i++) {
        Constant *constant = &program->constants.items[i];
        ok = add_constant(&c, constant, out);
        XXH3_64bits_update(hash, &constant->hash, sizeof constant->hash);
    }
    out->hash = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    arena_destroy(c.arena);
    free(c.constant.data);
    free(c.param.data);
    if (!ok) {
        blob_close(out);
    }
    return ok;
}

void blob_close(Blob *blob)
{
    if (blob->fd >= 0) {
        close(blob->fd);
    }
    blob->fd = -1;
}
