// compiler/std/gmlp.slu against its formulas, written out here for one item and one position at a
// time: every gate, every projection along the sequence, tiny attention, token shift, causal
// sequences that are shorter, and sequences that are halved between groups of layers.
#include "said.h"
#include "std_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 2, WIDTH = 6, MAX_LEN = 9, INNER = 8 };

typedef enum Gate { GATE_split, GATE_linear, GATE_additive, GATE_multiplicative } Gate;
typedef enum Mix { MIX_dense, MIX_toeplitz, MIX_lucid, MIX_circulant } Mix;

static const char *const gates[] = {"split_gate", "linear_gate", "additive_gate",
                                    "multiplicative_gate"};

typedef struct Layer {
    Gate gate;
    Mix mix;
    bool causal, tanh_gate, tanh_act, qkv_bias;
    int attend, heads, shift; // heads: of a lucid gate
    int length;               // of a lucid gate, over or equal to the sequence's
} Layer;

typedef struct Oracle {
    StdRun *run;
    Layer layer;
    int seq;
    const char *prefix; // of the layer's parameters
} Oracle;

static bool is_lucid(const Layer *l) { return l->mix == MIX_lucid || l->mix == MIX_circulant; }

static double *room(Oracle *o, int n) { return arena_new(o->run->arena, double, (size_t)n); }

// A parameter by timm's name or by lucidrains'.
static const double *param(Oracle *o, int n, const char *timm, const char *lucid, const char *end)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", o->prefix, is_lucid(&o->layer) ? lucid : timm, end);
    return std_param(o->run, name, n);
}

static double *dense(Oracle *o, const double *x, int rows, int in, int out, const char *timm,
                     const char *lucid, bool bias)
{
    const double *w = param(o, out * in, timm, lucid, ".weight");
    const double *b = bias ? param(o, out, timm, lucid, ".bias") : NULL;
    return std_dense(o->run, x, rows, in, out, w, b);
}

static double *layer_norm(Oracle *o, const double *x, int rows, int n, double eps, const char *timm,
                          const char *lucid)
{
    const double *w = param(o, n, timm, lucid, ".weight");
    const double *b = param(o, n, timm, lucid, ".bias");
    return std_layer_norm(o->run, x, rows, n, eps, w, b);
}

static double activation(const Layer *l, double x)
{
    double cube = x + 0.044715 * x * x * x;
    return l->tanh_act ? 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * cube))
                       : 0.5 * x * (1 + erf(x / sqrt(2)));
}

// ---- along the sequence ----

// What position i takes of position j, in the channels of a head.
static double mix_weight(Oracle *o, int head, int i, int j)
{
    const Layer *l = &o->layer;
    int n = o->seq, most = l->length;
    if (l->causal && j > i) {
        return 0;
    }
    switch (l->mix) {
    case MIX_dense: return param(o, n * n, "mlp_channels.gate.proj", "", ".weight")[i * n + j];
    case MIX_toeplitz:
        return param(o, 2 * n - 1, "mlp_channels.gate.proj", "", ".weight")[n - 1 + i - j];
    case MIX_lucid:
        return param(o, l->heads * most * most, "", "fn.in.sgu",
                     ".weight")[(head * most + i) * most + j];
    case MIX_circulant:
        // Lower triangular, and scaled by row and by column.
        return j > i ? 0
                     : param(o, l->heads * most, "", "fn.in.sgu",
                             ".weight")[head * most + most - 1 - i + j] *
                           param(o, l->heads * most, "", "fn.in.sgu",
                                 ".circulant_pos_x")[head * most + i] *
                           param(o, l->heads * most, "", "fn.in.sgu",
                                 ".circulant_pos_y")[head * most + j];
    }
    return 0;
}

static double mix_bias(Oracle *o, int head, int i)
{
    const Layer *l = &o->layer;
    return is_lucid(l)
               ? param(o, l->heads * l->length, "", "fn.in.sgu", ".bias")[head * l->length + i]
               : param(o, o->seq, "mlp_channels.gate.proj", "", ".bias")[i];
}

static double *mixed(Oracle *o, const double *v, int channels)
{
    double *normed =
        layer_norm(o, v, o->seq, channels, 1e-5, "mlp_channels.gate.norm", "fn.in.sgu.norm");
    double *y = room(o, o->seq * channels);
    for (int i = 0; i < o->seq; i++) {
        for (int c = 0; c < channels; c++) {
            int head = is_lucid(&o->layer) ? c / (channels / o->layer.heads) : 0;
            y[i * channels + c] = mix_bias(o, head, i);
            for (int j = 0; j < o->seq; j++) {
                y[i * channels + c] += mix_weight(o, head, i, j) * normed[j * channels + c];
            }
        }
    }
    return y;
}

// One head over the normed input; zeros if there is none.
static double *tiny_attention(Oracle *o, const double *y)
{
    const Layer *l = &o->layer;
    int n = o->seq, a = l->attend;
    if (a == 0) {
        return room(o, n * INNER);
    }
    double *qkv = dense(o, y, n, WIDTH, 3 * a, "attn.to_qkv", "fn.in.attn.to_qkv", l->qkv_bias);
    double *out = room(o, n * a);
    for (int i = 0; i < n; i++) {
        double p[MAX_LEN], sum = 0;
        for (int j = 0; j < n; j++) {
            double score = 0;
            for (int k = 0; k < a; k++) {
                score += qkv[i * 3 * a + k] * qkv[j * 3 * a + a + k] / sqrt(a);
            }
            sum += p[j] = l->causal && j > i ? 0 : exp(score);
        }
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < a; k++) {
                out[i * a + k] += p[j] / sum * qkv[j * 3 * a + 2 * a + k];
            }
        }
    }
    return dense(o, out, n, a, INNER / 2, "attn.to_out", "fn.in.attn.to_out", true);
}

// Group g of the channels moves g places along, from -shift on or from 0.
static double *shifted(Oracle *o, const double *y)
{
    const Layer *l = &o->layer;
    int low = l->causal ? 0 : -l->shift;
    int ngroups = l->shift - low + 1, width = WIDTH / ngroups;
    double *out = room(o, o->seq * WIDTH);
    for (int t = 0; t < o->seq; t++) {
        for (int c = 0; c < WIDTH; c++) {
            int by = l->shift > 0 && c < ngroups * width ? low + c / width : 0;
            int from = t - by;
            out[t * WIDTH + c] = from >= 0 && from < o->seq ? y[from * WIDTH + c] : 0;
        }
    }
    return out;
}

// ---- the layer ----

static double gated(const Layer *l, double z, double g)
{
    switch (l->gate) {
    case GATE_split: return z * (l->tanh_gate ? tanh(g) : g);
    case GATE_linear: return g;
    case GATE_additive: return z + g;
    case GATE_multiplicative: return z * g;
    }
    return 0;
}

// x [seq, WIDTH] of one item
static double *layer(Oracle *o, const double *x)
{
    const Layer *l = &o->layer;
    int n = o->seq, half = l->gate == GATE_split ? INNER / 2 : INNER;
    double *y = layer_norm(o, x, n, WIDTH, is_lucid(l) ? 1e-5 : 1e-6, "norm", "fn.norm");
    y = shifted(o, y);
    double *z = dense(o, y, n, WIDTH, INNER, "mlp_channels.fc1", "fn.in.proj_in.0", true);
    double *u = room(o, n * half), *v = room(o, n * half);
    for (int i = 0; i < n * half; i++) {
        u[i] = activation(l, z[i / half * INNER + i % half]);
        v[i] = activation(l, z[i / half * INNER + (INNER - half) + i % half]);
    }
    double *g = mixed(o, v, half), *a = tiny_attention(o, y);
    for (int i = 0; i < n * half; i++) {
        g[i] = gated(l, u[i], g[i] + a[i]);
    }
    double *out = dense(o, g, n, half, WIDTH, "mlp_channels.fc2", "fn.in.proj_out", true);
    for (int i = 0; i < n * WIDTH; i++) {
        out[i] += x[i];
    }
    return out;
}

static void make_input(double *x, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = 2 * std_made_up("x", i);
    }
}

static const char *layer_text(StdRun *run, const Layer *l)
{
    const char *causal = l->causal ? "true" : "false";
    const char *bias = l->qkv_bias ? "true" : "false";
    const char *gate_act = l->tanh_gate ? ", gate_act: tanh" : "";
    Str text;
    if (is_lucid(l)) {
        text = str_format(run->arena,
                          "lucid_layer(x, %d, %d, \"in\", length: %d, heads: %d, circulant: "
                          "%s, shift: %d, causal: %s%s%s%s)",
                          INNER, l->attend, l->length, l->heads,
                          l->mix == MIX_circulant ? "true" : "false", l->shift, causal, gate_act,
                          l->attend ? ", qkv_bias: " : "", l->attend ? bias : "");
    } else {
        text = str_format(run->arena,
                          "gmlp_layer(x, %d, gate: %s, mix: %s, causal: %s, act: %s%s%s%s)", INNER,
                          gates[l->gate], l->mix == MIX_toeplitz ? "toeplitz_mix" : "dense_mix",
                          causal, l->tanh_act ? "gelu_tanh" : "gelu", gate_act,
                          l->attend ? ", qkv_bias: " : "", l->attend ? bias : "");
        text = l->attend ? str_format(run->arena, "%.*s, attend: %d)", (int)text.len - 1, text.ptr,
                                      l->attend)
                         : text;
    }
    return str_cstr(run->arena, text);
}

static void check_layer(Layer l, int seq)
{
    StdRun run = std_open();
    Oracle o = {.run = &run, .layer = l, .seq = seq, .prefix = ""};
    double x[ITEMS * MAX_LEN * WIDTH], want[ITEMS * MAX_LEN * WIDTH];
    int count = seq * WIDTH;
    make_input(x, ITEMS * count);
    StdInput input = {"x", x, (size_t)(ITEMS * count)};
    StdSize sizes[] = {{"batch", ITEMS}, {"seq", seq}};
    Str text = str_format(run.arena, "model m { input x: f32[batch, seq, 6] output y = %s }",
                          layer_text(&run, &l));
    if (!std_run(&run, str_cstr(run.arena, text), sizes, 2, &input, 1)) {
        fail_msg("%s", said(run.dx));
    }
    for (int item = 0; item < ITEMS; item++) {
        memcpy(want + item * count, layer(&o, x + item * count), (size_t)count * sizeof(double));
    }
    std_expect(&run, "y", want, ITEMS * count);
    std_close(&run);
}

// ---- tests ----

static void test_gates(void **state)
{
    (void)state;
    for (int bits = 0; bits < 32; bits++) {
        Layer l = {.gate = (Gate)(bits & 3),
                   .mix = bits & 4 ? MIX_toeplitz : MIX_dense,
                   .causal = bits & 8,
                   .tanh_act = bits & 16};
        check_layer(l, 5);
    }
    for (int bits = 0; bits < 16; bits++) {
        Layer l = {.mix = bits & 1 ? MIX_toeplitz : MIX_dense,
                   .causal = bits & 2,
                   .tanh_gate = bits & 4,
                   .qkv_bias = bits & 8,
                   .attend = 3};
        check_layer(l, 5);
    }
    check_layer((Layer){.attend = 2}, 1);
}

static void test_lucid(void **state)
{
    (void)state;
    for (int bits = 0; bits < 128; bits++) {
        Layer l = {.mix = bits & 1 ? MIX_circulant : MIX_lucid,
                   .causal = bits & 2,
                   .tanh_gate = bits & 4,
                   .attend = bits & 8 ? 3 : 0,
                   .qkv_bias = bits & 16,
                   .heads = bits & 32 ? 2 : 1,
                   .shift = bits & 64 ? 1 + bits % 2 : 0,
                   .length = 7};
        check_layer(l, 7);
        if (l.causal) {
            check_layer(l, 5); // shorter than the gate
        }
    }
}

// Halves the sequence: pairs, and what is left over alone.
static double *halved(Oracle *o, const double *x, bool max)
{
    int n = o->seq;
    o->seq = (n + 1) / 2;
    double *y = room(o, o->seq * WIDTH);
    for (int k = 0; k < o->seq * WIDTH; k++) {
        int first = k / WIDTH * 2, second = first + 1 < n ? first + 1 : first;
        double a = x[first * WIDTH + k % WIDTH], b = x[second * WIDTH + k % WIDTH];
        y[k] = max ? fmax(a, b) : (a + b) / 2;
    }
    return y;
}

// Groups halve the sequence between them: 5, 3, 2 positions, each with gates of its own.
static void test_pooled(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"l.0.", "l.1.", "l.2.", "l.3.", "l.3."};
    for (int max = 0; max < 2; max++) {
        StdRun run = std_open();
        double x[5 * WIDTH];
        make_input(x, 5 * WIDTH);
        StdInput input = {"x", x, 5 * WIDTH};
        StdSize sizes[] = {{"batch", 1}, {"seq", 5}};
        Str text = str_format(run.arena,
                              "model m { input x: f32[batch, seq, 6] "
                              "y = stack(x, G1-2-1x2H6F8, gmlp_layer, ffn: 8, pool: \"%s\") as l "
                              "output y = y[-1] }",
                              max ? "max" : "mean");
        if (!std_run(&run, str_cstr(run.arena, text), sizes, 2, &input, 1)) {
            fail_msg("%s", said(run.dx));
        }
        Oracle o = {.run = &run, .seq = 5};
        double *y = x;
        for (int i = 0; i < 5; i++) {
            y = i == 1 || i == 3 ? halved(&o, y, max) : y;
            o.prefix = prefixes[i];
            y = layer(&o, y);
        }
        std_expect(&run, "y", y, o.seq * WIDTH);
        assert_int_equal(o.seq, 2);
        std_close(&run);
    }
}

// What does not fit is refused with the numbers; above all, a gate has one length, unless it is
// causal.
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int seq;
        const char *says; // NULL: it runs
    } cases[] = {
        {"", 16, NULL},
        {"", 9, "this model reads exactly 16 positions, not 9; only a causal one reads fewer"},
        {"", 17, "this model reads exactly 16 positions, not 17"},
        {", causal: true", 16, NULL},
        {", causal: true", 9, NULL},
        {", causal: true", 17, "a sequence of 17 is longer than the gate's 16 positions"},
        {", shift: 15", 16, NULL},
        {", shift: 20", 16, "shift: 20 moves 41 groups of channels, but there are 40 channels"},
        {", shift: 16", 16, "a sequence of 16 cannot be shifted by -16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StdRun run = std_open();
        double x[17 * 40] = {0};
        StdInput input = {"x", x, (size_t)cases[i].seq * 40};
        StdSize sizes[] = {{"batch", 1}, {"seq", cases[i].seq}};
        Str text = str_format(run.arena, "model m = lucid_gmlp_features(G2H40F16, length: 16%s)",
                              cases[i].options);
        bool runs = std_run(&run, str_cstr(run.arena, text), sizes, 2, &input, 1);
        assert_int_equal(runs, !cases[i].says);
        if (cases[i].says) {
            assert_says(run.dx, cases[i].says);
        }
        std_close(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_lucid),
        cmocka_unit_test(test_pooled),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
