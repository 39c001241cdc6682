// compiler/std/funnel.slu against the formulas of the papers, written out here for one item, one
// head and one pair of tokens at a time: distances are taken from positions, segments from token
// types, and nothing is shifted, sliced or fused. Every option with every other, at lengths down to
// the shortest; and each head on top.
#include "said.h"
#include "std_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 11, ITEMS = 2, MAX_LEN = 24, MAX_STATES = 16 };

typedef struct Config {
    const char *layout;
    bool max, joined, whole, pool_all, all_real, by_factors; // joined: <cls> pooled, whole: not cut
    bool absolute;
    int embed;  // 0: as wide as the layers
    double eps; // 0: 1e-9
    // read from the layout
    int nblocks, layers[4], repeats[4], ndecoder;
    int width, heads, head_width, inner;
} Config;

// A sequence: its states, and what is known of each token.
typedef struct Stream {
    int len;
    const double *x; // [len, width]
    int pos[MAX_LEN];
    int type[MAX_LEN];
    bool keep[MAX_LEN];
} Stream;

typedef struct Oracle {
    StdRun *run;
    Config config;
    const char *prefix; // of the encoder's parameters
    int seq;
    double ids[ITEMS * MAX_LEN], types[ITEMS * MAX_LEN], keep[ITEMS * MAX_LEN];
    int nstates;
    int lens[MAX_STATES];
    double *states[ITEMS][MAX_STATES]; // [lens, width]
} Oracle;

// ---- layouts ----

static int number(const char **s)
{
    char *end;
    int n = (int)strtol(*s, &end, 10);
    *s = end;
    return n;
}

static void read_layout(Config *c)
{
    const char *s = c->layout + 1;
    c->eps = c->eps > 0 ? c->eps : 1e-9;
    do {
        c->layers[c->nblocks] = number(&s);
        c->repeats[c->nblocks] = *s == 'x' ? (s++, number(&s)) : 1;
        c->nblocks++;
    } while (*s == '-' && s++);
    while (*s) {
        char tag = *s++;
        int n = number(&s);
        *(tag == 'H'   ? &c->width
          : tag == 'A' ? &c->heads
          : tag == 'E' ? &c->head_width
          : tag == 'F' ? &c->inner
                       : &c->ndecoder) = n;
    }
    c->head_width = c->head_width ? c->head_width : c->width / c->heads;
    c->inner = c->inner ? c->inner : 4 * c->width;
    c->embed = c->embed ? c->embed : c->width;
}

// ---- pieces ----

static double *room(Oracle *o, int n) { return arena_new(o->run->arena, double, (size_t)n); }

static const double *param(Oracle *o, int n, const char *format, ...)
{
    char name[160];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return std_param(o->run, name, n);
}

// x [rows, in] times the weight [out, in], and the bias if there is one.
static double *dense(Oracle *o, const double *x, int rows, int in, int out, const char *prefix,
                     const char *name, bool bias)
{
    const double *w = param(o, out * in, "%s%s.weight", prefix, name);
    const double *b = bias ? param(o, out, "%s%s.bias", prefix, name) : NULL;
    return std_dense(o->run, x, rows, in, out, w, b);
}

static void norm_rows(Oracle *o, double *x, int rows, int n, const char *prefix, const char *name)
{
    const double *w = param(o, n, "%s%s.weight", prefix, name);
    const double *b = param(o, n, "%s%s.bias", prefix, name);
    const double *y = std_layer_norm(o->run, x, rows, n, o->config.eps, w, b);
    memcpy(x, y, (size_t)(rows * n) * sizeof *x);
}

static void layer_norm(Oracle *o, double *x, int rows, const char *prefix, const char *name)
{
    norm_rows(o, x, rows, o->config.width, prefix, name);
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static void apply(double (*f)(double), double *x, int n)
{
    for (int k = 0; k < n; k++) {
        x[k] = f(x[k]);
    }
}

static void softmax(double *x, int n)
{
    double top = x[0], sum = 0;
    for (int k = 0; k < n; k++) {
        top = fmax(top, x[k]);
    }
    for (int k = 0; k < n; k++) {
        sum += x[k] = exp(x[k] - top);
    }
    for (int k = 0; k < n; k++) {
        x[k] /= sum;
    }
}

// ---- attention ----

// Element k of the sinusoid of a distance: sines, then cosines.
static double sinusoid(int distance, int k, int width)
{
    int half = width / 2;
    double angle = distance * pow(10000, -(double)(k % half) / half);
    return k < half ? sin(angle) : cos(angle);
}

// (query + bias) · what, for one head
static double with_bias(const Oracle *o, const double *query, const double *bias,
                        const double *what)
{
    double sum = 0;
    for (int e = 0; e < o->config.head_width; e++) {
        sum += (query[e] + bias[e]) * what[e];
    }
    return sum;
}

// What head h adds to the score of query i and key j for their distance and their segments.
static double relative_score(Oracle *o, const char *prefix, const double *query, int h,
                             const Stream *q, int i, const Stream *k, int j)
{
    const Config *c = &o->config;
    if (c->absolute || (!c->joined && (i == 0 || j == 0))) {
        return 0; // <cls> sees and is seen by content alone
    }
    int width = c->width, n = c->heads, e = c->head_width;
    const double *kernel = param(o, width * n * e, "%sattention.r_kernel", prefix);
    const double *r_bias = param(o, n * e, "%sattention.r_r_bias", prefix) + h * e;
    const double *s_bias = param(o, n * e, "%sattention.r_s_bias", prefix) + h * e;
    const double *segments = param(o, 2 * n * e, "%sattention.seg_embed", prefix);
    double at[16] = {0};
    for (int w = 0; w < width; w++) {
        double r = sinusoid(q->pos[i] - k->pos[j], w, width);
        for (int d = 0; d < e; d++) {
            at[d] += r * kernel[(w * n + h) * e + d];
        }
    }
    int a = q->type[i], b = k->type[j];
    int same = a == b || a == 2 || b == 2;
    return with_bias(o, query, r_bias, at) +
           with_bias(o, query, s_bias, segments + (same * n + h) * e);
}

static double *attend(Oracle *o, const char *prefix, const Stream *q, const Stream *k)
{
    const Config *c = &o->config;
    int n = c->heads, e = c->head_width, inside = n * e;
    double *query = dense(o, q->x, q->len, c->width, inside, prefix, "attention.q_head", false);
    double *key = dense(o, k->x, k->len, c->width, inside, prefix, "attention.k_head", true);
    double *value = dense(o, k->x, k->len, c->width, inside, prefix, "attention.v_head", true);
    const double *bias = param(o, inside, "%sattention.r_w_bias", prefix);
    double *out = room(o, q->len * inside);
    for (int i = 0; i < q->len; i++) {
        for (int h = 0; h < n; h++) {
            double p[MAX_LEN];
            const double *qh = query + i * inside + h * e;
            for (int j = 0; j < k->len; j++) {
                p[j] = with_bias(o, qh, bias + h * e, key + j * inside + h * e);
                p[j] += relative_score(o, prefix, qh, h, q, i, k, j);
                p[j] = p[j] / sqrt(e) - (k->keep[j] ? 0 : 1e6);
            }
            softmax(p, k->len);
            for (int j = 0; j < k->len; j++) {
                for (int d = 0; d < e; d++) {
                    out[i * inside + h * e + d] += p[j] * value[j * inside + h * e + d];
                }
            }
        }
    }
    return dense(o, out, q->len, inside, c->width, prefix, "attention.post_proj", true);
}

static double *layer(Oracle *o, const char *prefix, const Stream *q, const Stream *k)
{
    const Config *c = &o->config;
    int count = q->len * c->width;
    double *y = attend(o, prefix, q, k);
    for (int i = 0; i < count; i++) {
        y[i] += q->x[i];
    }
    layer_norm(o, y, q->len, prefix, "attention.layer_norm");
    double *f = dense(o, y, q->len, c->width, c->inner, prefix, "ffn.linear_1", true);
    apply(gelu_tanh, f, q->len * c->inner);
    double *z = dense(o, f, q->len, c->inner, c->width, prefix, "ffn.linear_2", true);
    for (int i = 0; i < count; i++) {
        z[i] += y[i];
    }
    layer_norm(o, z, q->len, prefix, "ffn.layer_norm");
    return z;
}

// ---- pooling ----

// Slot by slot: the first token of each window, and how many there are in it.
static int windows(const Config *c, int len, int *first, int *count)
{
    int n = 0, at = 0, end = len;
    if (!c->joined) {
        first[n] = 0;
        count[n++] = 1;
        at = 1;
        end = c->whole ? len : len - 1;
    }
    for (; at < end; at += 2) {
        first[n] = at;
        count[n++] = at + 1 < end ? 2 : 1;
    }
    return n;
}

static Stream pooled(Oracle *o, const Stream *s)
{
    const Config *c = &o->config;
    int first[MAX_LEN], count[MAX_LEN];
    Stream out = {.len = windows(c, s->len, first, count)};
    double *x = room(o, out.len * c->width);
    for (int i = 0; i < out.len; i++) {
        out.pos[i] = s->pos[first[i]];
        out.type[i] = s->type[first[i]];
        int real = 0;
        for (int m = first[i]; m < first[i] + count[i]; m++) {
            real += s->keep[m];
        }
        out.keep[i] = c->all_real ? real == count[i] : real > 0;
        for (int d = 0; d < c->width; d++) {
            double a = s->x[first[i] * c->width + d];
            double b = s->x[(first[i] + count[i] - 1) * c->width + d];
            x[i * c->width + d] = c->max ? fmax(a, b) : (a + b) / 2;
        }
    }
    out.x = x;
    return out;
}

// The last state at full length, and the state at the end of block 0 added.
static double *upsampled(Oracle *o, const double *last, int len, const double *skip)
{
    const Config *c = &o->config;
    int times = 1 << (c->nblocks - 1);
    double *x = room(o, o->seq * c->width);
    for (int t = 0; t < o->seq; t++) {
        int from = c->joined ? t / times : t == 0 ? 0 : 1 + (t - 1) / times;
        for (int d = 0; d < c->width; d++) {
            double up = from < len ? last[from * c->width + d] : 0;
            x[t * c->width + d] = up + skip[t * c->width + d];
        }
    }
    return x;
}

// ---- the whole ----

static void add_state(Oracle *o, int item, int n, const Stream *s)
{
    o->lens[n] = s->len;
    o->states[item][n] = room(o, s->len * o->config.width);
    memcpy(o->states[item][n], s->x, (size_t)(s->len * o->config.width) * sizeof(double));
    o->nstates = n + 1;
}

// The learned rows of a token's place and of its segment: of the second one, or of the first.
static void add_absolute(Oracle *o, double *x, int place, int type)
{
    int n = o->config.embed;
    const double *places = param(o, 20 * n, "%sembeddings.position_embeddings.weight", o->prefix);
    const double *segments =
        param(o, 2 * n, "%sembeddings.token_type_embeddings.weight", o->prefix);
    for (int d = 0; d < n; d++) {
        x[d] += places[place * n + d] + segments[type % 2 * n + d];
    }
}

static Stream embedded(Oracle *o, int item)
{
    const Config *c = &o->config;
    int n = c->embed;
    Stream s = {.len = o->seq};
    double *x = room(o, o->seq * n);
    const double *table = param(o, VOCAB * n, "%sembeddings.word_embeddings.weight", o->prefix);
    for (int t = 0; t < o->seq; t++) {
        int at = item * o->seq + t;
        memcpy(x + t * n, table + (int)o->ids[at] * n, (size_t)n * sizeof(double));
        if (c->absolute) {
            add_absolute(o, x + t * n, t, (int)o->types[at]);
        }
        s.pos[t] = t;
        s.type[t] = (int)o->types[at];
        s.keep[t] = o->keep[at] != 0;
    }
    norm_rows(o, x, o->seq, n, o->prefix, "embeddings.layer_norm");
    s.x = n == c->width
              ? x
              : dense(o, x, o->seq, n, c->width, o->prefix, "encoder.input_projection", true);
    return s;
}

static void run_item(Oracle *o, int item)
{
    const Config *c = &o->config;
    char prefix[96];
    Stream x = embedded(o, item);
    const Stream start = x;
    int n = 0, skip = c->layers[0] * c->repeats[0];
    add_state(o, item, n++, &x);
    for (int b = 0; b < c->nblocks; b++) {
        for (int l = 0; l < c->layers[b]; l++) {
            for (int r = 0; r < c->repeats[b]; r++) {
                snprintf(prefix, sizeof prefix, "%sencoder.blocks.%d.%d.", o->prefix, b, l);
                Stream q = b > 0 && l == 0 && r == 0 ? pooled(o, &x) : x;
                q.x = layer(o, prefix, &q, c->pool_all ? &q : &x);
                x = q;
                add_state(o, item, n++, &x);
            }
        }
    }
    if (c->ndecoder == 0) {
        return;
    }
    Stream d = start;
    d.x = upsampled(o, x.x, x.len, o->states[item][skip]);
    add_state(o, item, n++, &d);
    for (int l = 0; l < c->ndecoder; l++) {
        snprintf(prefix, sizeof prefix, "%sdecoder.layers.%d.", o->prefix, l);
        d.x = layer(o, prefix, &d, &d);
        add_state(o, item, n++, &d);
    }
}

static void make_inputs(Oracle *o)
{
    for (int i = 0; i < ITEMS * o->seq; i++) {
        int t = i % o->seq;
        o->ids[i] = floor((std_made_up("ids", i) + 1) / 2 * VOCAB);
        o->types[i] = t == 0 ? 2 : t > o->seq / 2;
        // The first item is whole; the second has holes, and its end is padding.
        o->keep[i] = i < o->seq || t == 0 || (t % 3 != 0 && t < o->seq * 3 / 4);
    }
}

// The model's text: NAME(LAYOUT, vocab, the options, EXTRA).
static const char *model_text(Oracle *o, const char *name, const char *extra)
{
    const Config *c = &o->config;
    Str text = str_format(
        o->run->arena,
        "model m = %s(%s, vocab: %d, pool: \"%s\", separate_cls: %s, truncate: %s, pool_q_only: "
        "%s, mask_pool: \"%s\", attention: %s, all_states: true%s%s)",
        name, c->layout, VOCAB, c->max ? "max" : "mean", c->joined ? "false" : "true",
        c->whole ? "false" : "true", c->pool_all ? "false" : "true",
        c->all_real ? "all_real" : "any_real", c->by_factors ? "by_factors" : "by_distance",
        c->absolute ? ", absolute: true, positions: 20" : "", extra);
    return str_cstr(o->run->arena, text);
}

// Runs the model with `more` inputs besides, computes its states, and compares them.
static void compare(Oracle *o, const char *name, const char *extra, const StdInput *more,
                    size_t nmore)
{
    read_layout(&o->config);
    make_inputs(o);
    size_t n = (size_t)(ITEMS * o->seq);
    StdInput inputs[8] = {
        {"input_ids", o->ids, n}, {"token_type_ids", o->types, n}, {"attention_mask", o->keep, n}};
    for (size_t i = 0; i < nmore; i++) {
        inputs[3 + i] = more[i];
    }
    StdSize sizes[] = {{"batch", ITEMS}, {"seq", o->seq}, {"starts", 3}};
    const char *text = model_text(o, name, extra);
    if (!std_run(o->run, text, sizes, strstr(name, "squad") && nmore > 1 ? 3 : 2, inputs,
                 3 + nmore)) {
        fail_msg("%s, seq %d: %s", text, o->seq, said(o->run->dx));
    }
    for (int item = 0; item < ITEMS; item++) {
        run_item(o, item);
    }
    for (int s = 0; s < o->nstates; s++) {
        char output[32];
        snprintf(output, sizeof output, "hidden_states.%d", s);
        int count = o->lens[s] * o->config.width;
        double *want = room(o, ITEMS * count);
        for (int item = 0; item < ITEMS; item++) {
            memcpy(want + item * count, o->states[item][s], (size_t)count * sizeof(double));
        }
        std_expect(o->run, output, want, ITEMS * count);
    }
}

static void check_model(Config config, int seq)
{
    StdRun run = std_open();
    Oracle o = {.run = &run, .config = config, .prefix = "", .seq = seq};
    compare(&o, "funnel", "", NULL, 0);
    const Config *c = &o.config;
    size_t layers = (size_t)c->ndecoder;
    for (int b = 0; b < c->nblocks; b++) {
        layers += (size_t)c->layers[b];
    }
    assert_int_equal(std_nparams(&run), c->absolute ? 5 + 16 * layers : 3 + 20 * layers);
    std_close(&run);
}

// ---- tests of the encoder and decoder ----

static Config with_options(const char *layout, unsigned bits)
{
    return (Config){.layout = layout,
                    .max = bits & 1,
                    .joined = bits & 2,
                    .whole = bits & 4,
                    .pool_all = bits & 8,
                    .all_real = bits & 16,
                    .by_factors = bits & 32};
}

// Every option with every other.
static void test_options(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        check_model(with_options("B1-1H4F6A2", bits), 7);
        check_model(with_options("B1-2x2-1H4F6A2E3D1", bits), 10);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    static const char *const layouts[] = {
        "B2H4F6A1",         "B1x3H4F6A2",         "B2-1H6A2",
        "B1-1x3H6A3E2F6D2", "B2x2-1-1H4F6A2D1",   "B1-1-1H4F6A2D1",
        "B1-1-1-1H4F6A2",   "B1-1x2-1-1H4F6A2D1", "B1-1-1x2-1H4F6A1",
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        for (int seq = 13; seq <= 17; seq++) {
            check_model(with_options(layouts[i], (unsigned)i * 7 % 64), seq);
            check_model(with_options(layouts[i], 0), seq);
        }
    }
}

// The paper's ablation: learned places and segments in the embedding, attention by content alone.
static void test_absolute(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 32; bits++) {
        Config config = with_options("B1-2x2-1H4F6A2E3D1", bits);
        config.absolute = true;
        check_model(config, 11);
    }
    Config config = with_options("B2H4F6A2", 0);
    config.absolute = true;
    check_model(config, 20);
    StdRun run = std_open();
    Oracle o = {.run = &run, .config = config};
    StdSize sizes[] = {{"batch", ITEMS}, {"seq", 21}};
    assert_false(std_run(&run, model_text(&o, "funnel", ""), sizes, 2, NULL, 0));
    assert_says(run.dx, "a sequence of 21 is longer than the table of 20 positions");
    std_close(&run);
}

// The lengths at which the shift of a pooling layer and that of the others are easily confused.
static void test_shifts(void **state)
{
    (void)state;
    static const int lengths[] = {5, 6, 7, 16, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_model(with_options("B1-2H4F6A2", 0), lengths[i]);
        check_model(with_options("B1-2H4F6A2", 2), lengths[i]);
        check_model(with_options("B1-2H4F6A2", 8), lengths[i]);
    }
}

// At the shortest sequence all is right, and one token less is refused, with the numbers.
static void test_shortest(void **state)
{
    (void)state;
    static const char *const layouts[] = {"B1-1H4F6A2", "B1-1-1H4F6A2", "B1-1-1-1H4F6A2"};
    static const struct {
        unsigned bits;
        int shortest[3];
    } cases[] = {{0, {3, 5, 9}}, {4, {3, 4, 6}}, {2, {2, 3, 5}}, {6, {2, 3, 5}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int b = 0; b < 3; b++) {
            int shortest = cases[i].shortest[b];
            check_model(with_options(layouts[b], cases[i].bits), shortest);
            check_model(with_options(layouts[b], cases[i].bits | 32), shortest);
            StdRun run = std_open();
            Oracle o = {.run = &run, .config = with_options(layouts[b], cases[i].bits)};
            StdSize sizes[] = {{"batch", ITEMS}, {"seq", shortest - 1}};
            assert_false(std_run(&run, model_text(&o, "funnel", ""), sizes, 2, NULL, 0));
            Str text = str_format(run.arena,
                                  "a sequence of %d is too short for %s: %d blocks need at least "
                                  "%d tokens",
                                  shortest - 1, layouts[b], b + 2, shortest);
            assert_says(run.dx, str_cstr(run.arena, text));
            std_close(&run);
        }
    }
}

// ---- tests of the heads ----

// A model on top of a small encoder with a decoder, or without; its states are compared.
static Oracle head(StdRun *run, const char *name, const char *layout, const char *extra, double eps,
                   const StdInput *more, size_t nmore)
{
    Config config = with_options(layout, 0);
    config.embed = strstr(extra, "embed: 6") ? 6 : 0;
    config.eps = eps;
    Oracle o = {.run = run, .config = config, .prefix = "funnel.", .seq = 9};
    compare(&o, name, extra, more, nmore);
    return o;
}

static const double *last(const Oracle *o, int item) { return o->states[item][o->nstates - 1]; }

// Dense, from all items' states: rows of the last state, or its first row alone.
static double *each(Oracle *o, int rows, int out, const char *name)
{
    int width = o->config.width;
    double *y = room(o, ITEMS * rows * out);
    for (int item = 0; item < ITEMS; item++) {
        double *one = dense(o, last(o, item), rows, width, out, "", name, true);
        memcpy(y + item * rows * out, one, (size_t)(rows * out) * sizeof(double));
    }
    return y;
}

// h [rows, embed] times the embedding's table, and a bias.
static double *tied(Oracle *o, const double *h, int rows, const char *bias)
{
    int width = o->config.embed;
    const double *table = param(o, VOCAB * width, "funnel.embeddings.word_embeddings.weight");
    const double *b = param(o, VOCAB, "%s", bias);
    double *y = room(o, rows * VOCAB);
    for (int i = 0; i < rows * VOCAB; i++) {
        y[i] = b[i % VOCAB];
        for (int k = 0; k < width; k++) {
            y[i] += h[i / VOCAB * width + k] * table[i % VOCAB * width + k];
        }
    }
    return y;
}

// All items' last states, one behind the other.
static double *all(Oracle *o)
{
    int count = o->lens[o->nstates - 1] * o->config.width;
    double *x = room(o, ITEMS * count);
    for (int item = 0; item < ITEMS; item++) {
        memcpy(x + item * count, last(o, item), (size_t)count * sizeof(double));
    }
    return x;
}

#define ENCODER "B1-1x2H4F6A2"
#define DECODED "B1-1x2H4F6A2D1"

static void test_heads(void **state)
{
    (void)state;
    StdRun run = std_open();
    Oracle o = head(&run, "funnel_classifier", ENCODER, ", labels: 3", 0, NULL, 0);
    double *h = each(&o, 1, 4, "classifier.linear_hidden");
    apply(tanh, h, ITEMS * 4);
    std_expect(&run, "logits", dense(&o, h, ITEMS, 4, 3, "", "classifier.linear_out", true),
               ITEMS * 3);

    o = head(&run, "funnel_token_classifier", DECODED, ", labels: 3", 0, NULL, 0);
    std_expect(&run, "logits", each(&o, 9, 3, "classifier"), ITEMS * 9 * 3);

    o = head(&run, "funnel_question_answering", DECODED, "", 0, NULL, 0);
    double *spans = each(&o, 9, 2, "qa_outputs");
    double start[ITEMS * 9], end[ITEMS * 9];
    for (int i = 0; i < ITEMS * 9; i++) {
        start[i] = spans[2 * i];
        end[i] = spans[2 * i + 1];
    }
    std_expect(&run, "start_logits", start, ITEMS * 9);
    std_expect(&run, "end_logits", end, ITEMS * 9);

    o = head(&run, "funnel_masked_lm", DECODED, "", 0, NULL, 0);
    std_expect(&run, "logits", tied(&o, all(&o), ITEMS * 9, "lm_head.bias"), ITEMS * 9 * VOCAB);

    o = head(&run, "funnel_discriminator", DECODED, "", 0, NULL, 0);
    h = each(&o, 9, 4, "discriminator_predictions.dense");
    apply(gelu_tanh, h, ITEMS * 9 * 4);
    std_expect(
        &run, "logits",
        dense(&o, h, ITEMS * 9, 4, 1, "", "discriminator_predictions.dense_prediction", true),
        ITEMS * 9);
    std_close(&run);
}

static void test_official_pretraining(void **state)
{
    (void)state;
    StdRun run = std_open();
    // An eps that shows.
    Oracle o = head(&run, "funnel_official_masked_lm", DECODED, ", eps: 0.1", 0.1, NULL, 0);
    double *h = each(&o, 9, 4, "lm_proj.dense");
    apply(gelu_tanh, h, ITEMS * 9 * 4);
    layer_norm(&o, h, ITEMS * 9, "", "lm_proj.layer_norm");
    std_expect(&run, "logits", tied(&o, h, ITEMS * 9, "lm_loss.bias"), ITEMS * 9 * VOCAB);
    // One block has nothing to decode: the head reads the encoder.
    o = head(&run, "funnel_official_masked_lm", "B2H4F6A2", "", 1e-8, NULL, 0);
    h = each(&o, 9, 4, "lm_proj.dense");
    apply(gelu_tanh, h, ITEMS * 9 * 4);
    layer_norm(&o, h, ITEMS * 9, "", "lm_proj.layer_norm");
    std_expect(&run, "logits", tied(&o, h, ITEMS * 9, "lm_loss.bias"), ITEMS * 9 * VOCAB);
    std_close(&run);
}

// ELECTRA's generator: layers of another width than the table.
static void test_official_generator(void **state)
{
    (void)state;
    StdRun run = std_open();
    Oracle o = head(&run, "funnel_official_masked_lm", DECODED, ", embed: 6", 1e-8, NULL, 0);
    double *h = dense(&o, all(&o), ITEMS * 9, 4, 6, "", "lm_proj.dense", true);
    apply(gelu_tanh, h, ITEMS * 9 * 6);
    norm_rows(&o, h, ITEMS * 9, 6, "", "lm_proj.layer_norm");
    std_expect(&run, "logits", tied(&o, h, ITEMS * 9, "lm_loss.bias"), ITEMS * 9 * VOCAB);
    std_close(&run);
}

static void test_official_discriminator(void **state)
{
    (void)state;
    StdRun run = std_open();
    Oracle o = head(&run, "funnel_official_discriminator", DECODED, "", 1e-8, NULL, 0);
    double *h = each(&o, 9, 4, "binary_proj.dense");
    apply(gelu_tanh, h, ITEMS * 9 * 4);
    const double *w = param(&o, 4, "binary_loss.weight");
    double b = param(&o, 1, "binary_loss.bias")[0];
    double want[ITEMS * 9];
    for (int i = 0; i < ITEMS * 9; i++) {
        want[i] = b;
        for (int k = 0; k < 4; k++) {
            want[i] += h[4 * i + k] * w[k];
        }
    }
    std_expect(&run, "logits", want, ITEMS * 9);
    std_close(&run);
}

// Answers stand at <cls> and from token 4 to the last but one.
static void mask_answers(double *mask)
{
    for (int i = 0; i < ITEMS * 9; i++) {
        mask[i] = i % 9 == 0 || (i % 9 >= 4 && i % 9 < 8);
    }
}

// The dense layer reads a token and the start beside each other.
static double end_logit(Oracle *o, const double *token, const double *start)
{
    double pair[8];
    memcpy(pair, token, 4 * sizeof(double));
    memcpy(pair + 4, start, 4 * sizeof(double));
    double *h = dense(o, pair, 1, 8, 4, "", "end_logits.dense_0", true);
    apply(tanh, h, 4);
    layer_norm(o, h, 1, "", "end_logits.layer_norm");
    return dense(o, h, 1, 4, 1, "", "end_logits.dense_1", true)[0];
}

static double cls_logit(Oracle *o, const double *x, const double *start_logits)
{
    double p[9], pair[8] = {0};
    memcpy(p, start_logits, sizeof p);
    softmax(p, 9);
    for (int t = 0; t < 9; t++) {
        for (int k = 0; k < 4; k++) {
            pair[k] += p[t] * x[4 * t + k];
        }
    }
    memcpy(pair + 4, x, 4 * sizeof(double));
    double *h = dense(o, pair, 1, 8, 4, "", "answer_class.dense_0", true);
    apply(tanh, h, 4);
    return dense(o, h, 1, 4, 1, "", "answer_class.dense_1", false)[0];
}

static void test_official_squad(void **state)
{
    (void)state;
    StdRun run = std_open();
    static const double starts[ITEMS * 3] = {4, 0, 7, 5, 8, 5};
    double mask[ITEMS * 9];
    mask_answers(mask);
    StdInput inputs[] = {{"answer_mask", mask, ITEMS * 9}, {"start_positions", starts, ITEMS * 3}};
    Oracle o = head(&run, "funnel_official_squad", DECODED, "", 1e-8, inputs, 2);
    double *start = each(&o, 9, 1, "start_logits.dense");
    double end[ITEMS * 3 * 9], cls[ITEMS];
    for (int i = 0; i < ITEMS * 9; i++) {
        start[i] = mask[i] != 0 ? start[i] : -1e30;
    }
    for (int i = 0; i < ITEMS * 3 * 9; i++) {
        const double *x = last(&o, i / 27);
        int token = i % 9, first = (int)starts[i / 9];
        end[i] = mask[token] != 0 ? end_logit(&o, x + 4 * token, x + 4 * first) : -1e30;
    }
    for (int i = 0; i < ITEMS; i++) {
        cls[i] = cls_logit(&o, last(&o, i), start + 9 * i);
    }
    std_expect(&run, "start_logits", start, ITEMS * 9);
    std_expect(&run, "end_logits", end, ITEMS * 3 * 9);
    std_expect(&run, "cls_logits", cls, ITEMS);

    o = head(&run, "funnel_official_squad", DECODED,
             ", conditional_end: false, answer_class: false", 1e-8, inputs, 1);
    double *alone = each(&o, 9, 1, "end_logits.dense");
    for (int i = 0; i < ITEMS * 9; i++) {
        alone[i] = mask[i] != 0 ? alone[i] : -1e30;
    }
    std_expect(&run, "end_logits", alone, ITEMS * 9);
    assert_int_equal(run.graph->outputs.n, 2 + o.nstates);
    std_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_shifts),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_official_pretraining),
        cmocka_unit_test(test_official_generator),
        cmocka_unit_test(test_official_discriminator),
        cmocka_unit_test(test_official_squad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
