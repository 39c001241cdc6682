// The elementwise functions of f32 that are more than one instruction: polynomials in straight
// code, the same for one element and for vectors, for whole vectors and for masked ones.
//
// Errors are the largest found against double on dense grids (tests/unit/test_codegen_math.c holds
// them to these figures); u is a unit in the last place of the exact result.
//
//   exp           1 u; 0 below -87.336, inf from 88.723 on
//   log           1 u
//   tanh          2 u
//   erf           2 u
//   sigmoid       2.5 u for x over -80
//   silu          2.5 u for x over -80
//   gelu_sigmoid  2.5 u for x over -1
//   gelu          3 u for x over -1; further left it grows: 40 u at -5, of a result of 1e-6
//   gelu_tanh     3 u for x over -1, the same
//   rsqrt         1.5 u: two roundings
//   sin, cos, pow 1 u, see math_double.c
//
// The absolute error of all but exp, log and rsqrt is under 1.2e-7 · max(1, |x|).
//
// NaN gives NaN, and every limit at an infinity is the function's: gelu(-inf) is -0. Comparisons
// are ordered so that a NaN passes through them; where one would end in integer arithmetic, x · 0
// is added to the result.
//
// Polynomials: minimax over the range given, with coefficients that are floats (Sollya's
// fpminimax).
#include "codegen/math.h"

// ---- polynomials --------------------------------------------------------------------------------

LLVMValueRef math_poly(Gen *g, LLVMValueRef x, const double *coefs, size_t n)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef sum = gen_const(type, coefs[n - 1]);
    for (size_t i = n - 1; i-- > 0;) {
        sum = gen_fma(g, sum, x, gen_const(type, coefs[i]));
    }
    return sum;
}

LLVMValueRef math_const(LLVMValueRef x, double value) { return gen_const(LLVMTypeOf(x), value); }

LLVMValueRef math_abs(Gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_call(g, "llvm.fabs", &type, 1, &x, 1);
}

static LLVMValueRef with_sign(Gen *g, LLVMValueRef x, LLVMValueRef sign)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_call(g, "llvm.copysign", &type, 1, (LLVMValueRef[]){x, sign}, 2);
}

// ---- powers of e and 2 --------------------------------------------------------------------------

// Added to a small number, it leaves its nearest integer in the low bits.
#define ROUNDER 12582912.0 // 1.5 · 2^23

#define EXP_LOW  (-87.3365402) // the last float above log(2^-126): from there on down e^x is 0
#define EXP_HIGH 88.722839355  // the first one whose power is over the largest float

// The bits of x · 2^n, n in the low bits of a number that ROUNDER was added to.
static LLVMValueRef scale(Gen *g, LLVMValueRef x, LLVMValueRef rounded)
{
    LLVMTypeRef ints = gen_like(x, g->i32);
    LLVMValueRef n = LLVMBuildShl(g->builder, gen_bits(g, rounded), gen_iconst(ints, 23), "");
    return LLVMBuildAdd(g->builder, gen_bits(g, x), n, "");
}

// e^x in bits for x in EXP_LOW … EXP_HIGH; without a meaning for NaN.
static LLVMValueRef exp_bits(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {1.0,
                                  1.0,
                                  0.499999940395355224609375,
                                  0.16666519641876220703125,
                                  4.1668236255645751953125e-2,
                                  8.3688236773014068603515625e-3,
                                  1.382355228997766971588134765625e-3};
    LLVMValueRef rounder = math_const(x, ROUNDER);
    LLVMValueRef rounded = gen_fma(g, x, math_const(x, 1.44269502162933349609375), rounder);
    LLVMValueRef n = LLVMBuildFSub(g->builder, rounded, rounder, "");
    LLVMValueRef r = gen_fma(g, n, math_const(x, -0.693145751953125), x); // exact: 16 bits
    r = gen_fma(g, n, math_const(x, -1.428606765330187045037746429443359375e-6), r);
    return scale(g, POLY(g, r, poly), rounded);
}

// e^z for z in EXP_LOW … EXP_HIGH, where it is infinity; anything for NaN.
static LLVMValueRef exp_clamped(Gen *g, LLVMValueRef z)
{
    LLVMValueRef bits = exp_bits(g, z);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef inf = gen_iconst(type, 0x7f800000);
    return gen_from_bits(g, gen_call(g, "llvm.smin", &type, 1, (LLVMValueRef[]){bits, inf}, 2));
}

// x between EXP_LOW and EXP_HIGH; NaN stays.
static LLVMValueRef clamp(Gen *g, LLVMValueRef x)
{
    x = gen_max_or_second(g, math_const(x, EXP_LOW), x);
    return gen_min_or_second(g, math_const(x, EXP_HIGH), x);
}

// NaN where x is, else y; x is finite or NaN.
static LLVMValueRef keep_nan(Gen *g, LLVMValueRef x, LLVMValueRef y)
{
    return gen_fma(g, x, math_const(x, 0), y);
}

static LLVMValueRef math_exp(Gen *g, LLVMValueRef x)
{
    LLVMValueRef z = clamp(g, x);
    LLVMValueRef power = exp_clamped(g, z);
    LLVMValueRef is_seen = gen_fcmp(g, LLVMRealOGT, z, math_const(z, EXP_LOW));
    return keep_nan(g, z, gen_select(g, is_seen, power, math_const(z, 0)));
}

// x / (1 + e^-z) for a z of x's sign that is at least as steep as x: x at infinity, -0 at
// -infinity.
static LLVMValueRef gate(Gen *g, LLVMValueRef x, LLVMValueRef z)
{
    LLVMBuilderRef b = g->builder;
    LLVMValueRef power = exp_clamped(g, clamp(g, LLVMBuildFNeg(b, z, "")));
    LLVMValueRef below = LLVMBuildFAdd(b, power, math_const(x, 1), "");
    // Finite, so that the quotient by infinity is -0. Every z down there has an infinite power.
    x = gen_max_or_second(g, math_const(x, -1e38), x);
    return LLVMBuildFDiv(b, x, below, "");
}

static LLVMValueRef math_sigmoid(Gen *g, LLVMValueRef x)
{
    LLVMBuilderRef b = g->builder;
    LLVMValueRef z = clamp(g, LLVMBuildFNeg(b, x, ""));
    LLVMValueRef power = keep_nan(g, z, exp_clamped(g, z));
    LLVMValueRef below = LLVMBuildFAdd(b, power, math_const(x, 1), "");
    return LLVMBuildFDiv(b, math_const(x, 1), below, "");
}

static LLVMValueRef math_gelu_sigmoid(Gen *g, LLVMValueRef x)
{
    return gate(g, x, LLVMBuildFMul(g->builder, x, math_const(x, 1.702), ""));
}

// 0.5 (1 + tanh u) is sigmoid(2 u); 2 u = x (a + b x²).
static LLVMValueRef math_gelu_tanh(Gen *g, LLVMValueRef x)
{
    const double twice_root = 1.5957691216057307117597842397375; // 2 sqrt(2 / pi)
    LLVMValueRef square = LLVMBuildFMul(g->builder, x, x, "");
    LLVMValueRef factor =
        gen_fma(g, square, math_const(x, twice_root * 0.044715), math_const(x, twice_root));
    return gate(g, x, LLVMBuildFMul(g->builder, x, factor, ""));
}

// ---- tanh, erf, gelu ----------------------------------------------------------------------------

// Near 0 an odd polynomial; further out 1 - 2 / (e^2|x| + 1), where that loses no bits.
static LLVMValueRef math_tanh(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {-0.3333294689655303955078125, 0.1332072913646697998046875,
                                  -5.267201364040374755859375e-2,
                                  1.64378918707370758056640625e-2}; // |x| <= 0.55
    LLVMBuilderRef b = g->builder;
    // From 9.02 on the result is 1.
    LLVMValueRef a = gen_min_or_second(g, math_const(x, 10), math_abs(g, x));
    LLVMValueRef square = LLVMBuildFMul(b, a, a, "");
    LLVMValueRef cube = LLVMBuildFMul(b, square, a, "");
    LLVMValueRef near = gen_fma(g, cube, POLY(g, square, poly), a);
    LLVMValueRef power = gen_from_bits(g, exp_bits(g, LLVMBuildFAdd(b, a, a, "")));
    LLVMValueRef below = LLVMBuildFAdd(b, power, math_const(x, 1), "");
    LLVMValueRef part = LLVMBuildFDiv(b, math_const(x, 2), below, "");
    LLVMValueRef far = keep_nan(g, a, LLVMBuildFSub(b, math_const(x, 1), part, ""));
    LLVMValueRef is_near = gen_fcmp(g, LLVMRealOLT, a, math_const(x, 0.55));
    return with_sign(g, gen_select(g, is_near, near, far), x);
}

// The normal distribution's tail, 0.5 erfc(a / sqrt(2)), for 0 <= a <= 16: 2^-p(a). The polynomial
// is fitted up to 5.5; further out it is larger than it should be, and at its bound of 127 the
// result is exactly 0. Anything for NaN.
static LLVMValueRef normal_tail(Gen *g, LLVMValueRef a)
{
    static const double exponent[] = {1.0,
                                      1.15110552310943603515625,
                                      0.4592071473598480224609375,
                                      5.2486635744571685791015625e-2,
                                      -7.016354240477085113525390625e-3,
                                      5.700396650354377925395965576171875e-5,
                                      2.527002361603081226348876953125e-4,
                                      -6.89016233081929385662078857421875e-5,
                                      9.733010301715694367885589599609375e-6,
                                      -7.5055186243844218552112579345703125e-7,
                                      2.49047058531459697405807673931121826171875e-8};
    // 2^-r, |r| <= 0.5
    static const double power[] = {1.0,
                                   -0.693147182464599609375,
                                   0.240226447582244873046875,
                                   -5.55035881698131561279296875e-2,
                                   9.61883366107940673828125e-3,
                                   -1.339130220003426074981689453125e-3,
                                   1.52412845636975717139617919921875e-4};
    LLVMBuilderRef b = g->builder;
    LLVMValueRef p = gen_min_or_second(g, math_const(a, 127), POLY(g, a, exponent));
    LLVMValueRef rounder = math_const(a, ROUNDER);
    LLVMValueRef rounded = LLVMBuildFSub(b, rounder, p, "");
    LLVMValueRef n = LLVMBuildFSub(b, rounded, rounder, "");
    LLVMValueRef r = LLVMBuildFAdd(b, p, n, "");
    return gen_from_bits(g, scale(g, POLY(g, r, power), rounded));
}

// x minus |x| times the tail on the side of 0 that x is on.
static LLVMValueRef math_gelu(Gen *g, LLVMValueRef x)
{
    LLVMValueRef a = gen_min_or_second(g, math_const(x, 16), math_abs(g, x));
    LLVMValueRef minus_a = LLVMBuildFNeg(g->builder, a, "");
    LLVMValueRef ramp = gen_max_or_second(g, math_const(x, -0.0), x);
    return gen_fma(g, minus_a, normal_tail(g, a), ramp);
}

static LLVMValueRef math_erf(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {
        0.12837915122509002685546875,     -0.3761251866817474365234375,
        0.112821169197559356689453125,    -2.677797712385654449462890625e-2,
        5.009992979466915130615234375e-3, -6.0752895660698413848876953125e-4}; // |x| <= 0.84
    LLVMBuilderRef b = g->builder;
    LLVMValueRef a = gen_min_or_second(g, math_const(x, 11), math_abs(g, x));
    LLVMValueRef square = LLVMBuildFMul(b, a, a, "");
    LLVMValueRef near = gen_fma(g, a, POLY(g, square, poly), a);
    LLVMValueRef root_two = math_const(x, 1.41421356237309504880);
    LLVMValueRef tail = normal_tail(g, LLVMBuildFMul(b, a, root_two, ""));
    LLVMValueRef far = gen_fma(g, tail, math_const(x, -2), math_const(x, 1));
    far = keep_nan(g, a, far);
    LLVMValueRef is_near = gen_fcmp(g, LLVMRealOLT, a, math_const(x, 0.84));
    return with_sign(g, gen_select(g, is_near, near, far), x);
}

// ---- log ----------------------------------------------------------------------------------------

// x = 2^n · m with m in sqrt(1/2) … sqrt(2); log x = n log 2 + log(1 + (m - 1)).
static LLVMValueRef math_log(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {-0.49999988079071044921875,     0.3333332538604736328125,
                                  -0.2500160038471221923828125,   0.20002003014087677001953125,
                                  -0.1660876572132110595703125,   0.1418113410472869873046875,
                                  -0.13244561851024627685546875,  0.12909089028835296630859375,
                                  -7.6239742338657379150390625e-2};
    LLVMBuilderRef b = g->builder;
    LLVMValueRef is_tiny = gen_fcmp(g, LLVMRealOLT, x, math_const(x, 0x1p-126));
    LLVMValueRef big = LLVMBuildFMul(b, x, math_const(x, 0x1p23), "");
    LLVMValueRef bits = gen_bits(g, gen_select(g, is_tiny, big, x));
    LLVMTypeRef ints = LLVMTypeOf(bits);
    LLVMValueRef root_half = gen_iconst(ints, 0x3f3504f3);
    LLVMValueRef above = LLVMBuildSub(b, bits, root_half, "");
    LLVMValueRef n = LLVMBuildAShr(b, above, gen_iconst(ints, 23), "");
    n = LLVMBuildSIToFP(b, n, LLVMTypeOf(x), "");
    LLVMValueRef shift = gen_select(g, is_tiny, math_const(x, -23), math_const(x, 0));
    n = LLVMBuildFAdd(b, n, shift, "");
    LLVMValueRef m = LLVMBuildAnd(b, above, gen_iconst(ints, 0x7fffff), "");
    m = gen_from_bits(g, LLVMBuildAdd(b, m, root_half, ""));
    LLVMValueRef f = LLVMBuildFSub(b, m, math_const(x, 1), "");
    LLVMValueRef square = LLVMBuildFMul(b, f, f, "");
    LLVMValueRef rest = LLVMBuildFMul(b, square, POLY(g, f, poly), "");
    rest = gen_fma(g, n, math_const(x, 1.428606765330187045037746429443359375e-6), rest);
    rest = LLVMBuildFAdd(b, f, rest, "");
    LLVMValueRef sum = gen_fma(g, n, math_const(x, 0.693145751953125), rest);

    LLVMValueRef inf = math_const(x, (double)INFINITY);
    LLVMValueRef is_finite = gen_fcmp(g, LLVMRealOLT, x, inf);
    sum = gen_select(g, is_finite, sum, x);
    LLVMValueRef is_zero = gen_fcmp(g, LLVMRealOEQ, x, math_const(x, 0));
    sum = gen_select(g, is_zero, math_const(x, -(double)INFINITY), sum);
    LLVMValueRef is_negative = gen_fcmp(g, LLVMRealOLT, x, math_const(x, 0));
    return gen_select(g, is_negative, math_const(x, (double)NAN), sum);
}

// ---- all of them --------------------------------------------------------------------------------

static LLVMValueRef square_root(Gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_call(g, "llvm.sqrt", &type, 1, &x, 1);
}

LLVMValueRef math_call(Gen *g, Scalar fn, LLVMValueRef *args)
{
    LLVMValueRef x = args[0];
    switch ((int)fn) {
    case S_relu: return gen_max_or_second(g, math_const(x, 0), x);
    case S_sqrt: return square_root(g, x);
    case S_rsqrt: x = square_root(g, x); return LLVMBuildFDiv(g->builder, math_const(x, 1), x, "");
    case S_exp: return math_exp(g, x);
    case S_log: return math_log(g, x);
    case S_tanh: return math_tanh(g, x);
    case S_erf: return math_erf(g, x);
    case S_sigmoid: return math_sigmoid(g, x);
    case S_silu: return gate(g, x, x);
    case S_gelu: return math_gelu(g, x);
    case S_gelu_tanh: return math_gelu_tanh(g, x);
    case S_gelu_sigmoid: return math_gelu_sigmoid(g, x);
    case S_sin: return math_sin(g, x);
    case S_cos: return math_cos(g, x);
    case S_pow: return math_pow(g, x, args[1]);
    default: die("%s of f32 has no code", scalar_name(fn));
    }
}
