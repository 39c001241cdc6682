// The functions that need more than a float inside: sin and cos for the distance from a multiple of
// pi / 2, pow for the logarithm. Computed in double and rounded once, so that they are within 1 u.
// They are rare in kernels and may be slow: vectors are halves or quarters of a register's lanes.
#include "codegen/math.h"

// Added to a number under 2^51, it leaves its nearest integer in the low bits.
#define ROUNDER 6755399441055744.0 // 1.5 · 2^52

static LLVMValueRef to_double(Gen *g, LLVMValueRef x)
{
    return LLVMBuildFPExt(g->builder, x, gen_like(x, g->f64), "");
}

static LLVMValueRef to_float(Gen *g, LLVMValueRef x)
{
    return LLVMBuildFPTrunc(g->builder, x, gen_like(x, g->f32), "");
}

static LLVMValueRef double_bits(Gen *g, LLVMValueRef x)
{
    return LLVMBuildBitCast(g->builder, x, gen_like(x, g->i64), "");
}

static LLVMValueRef from_double_bits(Gen *g, LLVMValueRef x)
{
    return LLVMBuildBitCast(g->builder, x, gen_like(x, g->f64), "");
}

// Whether bit `bit` of integers is set.
static LLVMValueRef has_bit(Gen *g, LLVMValueRef x, unsigned bit)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef only = LLVMBuildAnd(g->builder, x, gen_iconst(type, INT64_C(1) << bit), "");
    return gen_icmp(g, LLVMIntNE, only, LLVMConstNull(type));
}

// ---- sin and cos --------------------------------------------------------------------------------

// sin(x + turn · pi / 2). x = n · pi / 2 + r; pi / 2 is a sum of two doubles, and both steps of the
// subtraction are exact to 2^-106 of n. NaN from 2^51 on, where floats lie 2^28 apart.
static LLVMValueRef sin_turned(Gen *g, LLVMValueRef x, int64_t turn)
{
    static const double sin_poly[] = {-0.1666666664077623150053142353499424643814563751220703125,
                                      8.33332930241639617541249407395298476330935955047607421875e-3,
                                      -1.9839311485147243115621795706005059400922618806362152e-4,
                                      2.71811411545353432979492949312564000365455e-6};
    static const double cos_poly[] = {1.0,
                                      -0.499999997248889715972808289734530262649059295654296875,
                                      4.166662329843646983551508355958503670990467071533203125e-2,
                                      -1.3886762948636264418961434468855031809653155505657e-3,
                                      2.439036910475752615418652824441636539631872437894e-5};
    LLVMBuilderRef b = g->builder;
    LLVMValueRef wide = to_double(g, x);
    LLVMValueRef rounder = math_const(wide, ROUNDER);
    LLVMValueRef two_over_pi = math_const(wide, 0.63661977236758134307553505349005745);
    LLVMValueRef rounded = gen_fma(g, wide, two_over_pi, rounder);
    LLVMValueRef n = LLVMBuildFSub(b, rounded, rounder, "");
    LLVMValueRef r =
        gen_fma(g, n, math_const(wide, -1.5707963267948965579989817342720925807953), wide);
    r = gen_fma(g, n, math_const(wide, -6.1232339957367660358688201472919830231285e-17), r);
    LLVMValueRef square = LLVMBuildFMul(b, r, r, "");
    LLVMValueRef cube = LLVMBuildFMul(b, square, r, "");
    LLVMValueRef sine = gen_fma(g, cube, POLY(g, square, sin_poly), r);
    LLVMValueRef cosine = POLY(g, square, cos_poly);

    LLVMValueRef quarter = double_bits(g, rounded);
    quarter = LLVMBuildAdd(b, quarter, gen_iconst(LLVMTypeOf(quarter), turn), "");
    LLVMValueRef out = gen_select(g, has_bit(g, quarter, 0), cosine, sine);
    out = gen_select(g, has_bit(g, quarter, 1), LLVMBuildFNeg(b, out, ""), out);
    LLVMValueRef is_known = gen_fcmp(g, LLVMRealOLT, math_abs(g, x), math_const(x, 0x1p51));
    return gen_select(g, is_known, to_float(g, out), math_const(x, (double)NAN));
}

LLVMValueRef math_sin(Gen *g, LLVMValueRef x)
{
    LLVMValueRef out = sin_turned(g, x, 0);
    LLVMValueRef is_zero = gen_fcmp(g, LLVMRealOEQ, x, math_const(x, 0));
    return gen_select(g, is_zero, x, out); // with its sign
}

LLVMValueRef math_cos(Gen *g, LLVMValueRef x) { return sin_turned(g, x, 1); }

// ---- pow ----------------------------------------------------------------------------------------

// The value of a constant that is the same in all lanes.
static bool is_constant(LLVMValueRef x, double *value)
{
    if (gen_is_vector(x) && LLVMIsConstant(x)) {
        x = LLVMGetAggregateElement(x, 0);
    }
    if (!x || !LLVMIsAConstantFP(x)) {
        return false;
    }
    LLVMBool loses_info;
    *value = LLVMConstRealGetDouble(x, &loses_info);
    return true;
}

// Exponents for which a few multiplications do; NULL: it is another one.
static LLVMValueRef easy_pow(Gen *g, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = g->builder;
    double n;
    if (!is_constant(y, &n)) {
        return NULL;
    }
    if (n == 1) {
        return x;
    }
    if (n == 2) {
        return LLVMBuildFMul(b, x, x, "");
    }
    if (n == 3) {
        return LLVMBuildFMul(b, LLVMBuildFMul(b, x, x, ""), x, "");
    }
    return n == -1 ? LLVMBuildFDiv(b, math_const(x, 1), x, "") : NULL;
}

// log2 of a double that is positive, or 0 or infinity. x = 2^n · m with m in sqrt(1/2) … sqrt(2);
// log2 m is a series in (m - 1) / (m + 1). Relative error under 2^-40.
static LLVMValueRef log2_double(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {2.885390081777927218098511730204336345195770263671875,
                                  0.96179669392441036190888326018466614186763763427734375,
                                  0.577078017227909523256812462932430207729339599609375,
                                  0.41219840397100870887925339047797024250030517578125,
                                  0.32061629061408647434205931858741678297519683837890625,
                                  0.2614466162607793631167396397447805106639862060546875,
                                  0.242894110069930169171215084134018979966640472412109375};
    LLVMBuilderRef b = g->builder;
    LLVMTypeRef ints = gen_like(x, g->i64);
    LLVMValueRef root_half = gen_iconst(ints, 0x3fe6a09e667f3bcd);
    LLVMValueRef above = LLVMBuildSub(b, double_bits(g, x), root_half, "");
    // The exponent as the low bits of a double: there is no conversion of 64-bit integers here.
    LLVMValueRef rounder = math_const(x, ROUNDER);
    LLVMValueRef n = LLVMBuildAShr(b, above, gen_iconst(ints, 52), "");
    n = from_double_bits(g, LLVMBuildAdd(b, n, double_bits(g, rounder), ""));
    n = LLVMBuildFSub(b, n, rounder, "");
    LLVMValueRef m = LLVMBuildAnd(b, above, gen_iconst(ints, (INT64_C(1) << 52) - 1), "");
    m = from_double_bits(g, LLVMBuildAdd(b, m, root_half, ""));
    LLVMValueRef one = math_const(x, 1);
    LLVMValueRef top = LLVMBuildFSub(b, m, one, "");
    LLVMValueRef s = LLVMBuildFDiv(b, top, LLVMBuildFAdd(b, m, one, ""), "");
    LLVMValueRef series = POLY(g, LLVMBuildFMul(b, s, s, ""), poly);
    LLVMValueRef out = gen_fma(g, s, series, n);
    LLVMValueRef inf = math_const(x, (double)INFINITY);
    out = gen_select(g, gen_fcmp(g, LLVMRealOLT, x, inf), out, x);
    LLVMValueRef is_zero = gen_fcmp(g, LLVMRealOEQ, x, math_const(x, 0));
    return gen_select(g, is_zero, LLVMBuildFNeg(b, inf, ""), out);
}

// 2^x for any double, with a relative error under 2^-28 in the range of floats; what is over it is
// over it, what is under it is 0 as a float.
static LLVMValueRef exp2_double(Gen *g, LLVMValueRef x)
{
    static const double poly[] = {1.0,
                                  0.693147202855024513468151781125925481319427490234375,
                                  0.240226479136198545205616028397344052791595458984375,
                                  5.5503324711712355432613463790403329767286777496337890625e-2,
                                  9.618437358515259660851626222211052663624286651611328125e-3,
                                  1.3398874402353912194119089917876408435404300689697265625e-3,
                                  1.535336171356867056292383466598039376549422740936279296875e-4};
    LLVMBuilderRef b = g->builder;
    LLVMValueRef rounder = math_const(x, ROUNDER);
    LLVMValueRef z = gen_max_or_second(g, math_const(x, -300), x);
    z = gen_min_or_second(g, math_const(x, 300), z);
    LLVMValueRef rounded = LLVMBuildFAdd(b, z, rounder, "");
    LLVMValueRef r = LLVMBuildFSub(b, z, LLVMBuildFSub(b, rounded, rounder, ""), "");
    LLVMValueRef power = double_bits(g, POLY(g, r, poly));
    LLVMTypeRef ints = LLVMTypeOf(power);
    LLVMValueRef n = LLVMBuildShl(b, double_bits(g, rounded), gen_iconst(ints, 52), "");
    power = from_double_bits(g, LLVMBuildAdd(b, power, n, ""));
    return gen_fma(g, z, math_const(x, 0), power); // NaN stays
}

LLVMValueRef math_pow(Gen *g, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef easy = easy_pow(g, x, y);
    if (easy) {
        return easy;
    }
    LLVMBuilderRef b = g->builder;
    LLVMValueRef zero = math_const(x, 0);
    LLVMValueRef one = math_const(x, 1);
    LLVMValueRef size = math_abs(g, x);
    LLVMValueRef log = log2_double(g, to_double(g, size));
    LLVMValueRef power = exp2_double(g, LLVMBuildFMul(b, log, to_double(g, y), ""));
    LLVMValueRef out = to_float(g, power);

    // A negative x: NaN unless y is an integer; the sign stays if y is odd.
    LLVMTypeRef type = LLVMTypeOf(y);
    LLVMValueRef whole = gen_call(g, "llvm.trunc", &type, 1, &y, 1);
    LLVMValueRef is_whole = gen_fcmp(g, LLVMRealOEQ, whole, y);
    LLVMValueRef half = LLVMBuildFMul(b, y, math_const(y, 0.5), "");
    LLVMValueRef half_whole = gen_call(g, "llvm.trunc", &type, 1, &half, 1);
    LLVMValueRef is_odd = LLVMBuildAnd(b, is_whole, gen_fcmp(g, LLVMRealONE, half_whole, half), "");
    LLVMValueRef is_minus =
        gen_icmp(g, LLVMIntSLT, gen_bits(g, x), LLVMConstNull(gen_like(x, g->i32)));
    LLVMValueRef turned = LLVMBuildFNeg(b, out, "");
    out = gen_select(g, LLVMBuildAnd(b, is_odd, is_minus, ""), turned, out);
    LLVMValueRef has_none = gen_fcmp(g, LLVMRealOLT, x, zero);
    LLVMValueRef is_finite = gen_fcmp(g, LLVMRealOLT, size, math_const(x, (double)INFINITY));
    has_none = LLVMBuildAnd(b, has_none, is_finite, "");
    has_none = LLVMBuildAnd(b, has_none, LLVMBuildNot(b, is_whole, ""), "");
    out = gen_select(g, has_none, math_const(x, (double)NAN), out);

    // 1 to the power of anything, anything to the power of 0, -1 to an infinite one.
    LLVMValueRef is_one = gen_fcmp(g, LLVMRealOEQ, y, zero);
    is_one = LLVMBuildOr(b, is_one, gen_fcmp(g, LLVMRealOEQ, x, one), "");
    LLVMValueRef is_unit = gen_fcmp(g, LLVMRealOEQ, size, one);
    LLVMValueRef y_size = math_abs(g, y);
    LLVMValueRef y_inf = gen_fcmp(g, LLVMRealOEQ, y_size, math_const(y, (double)INFINITY));
    is_one = LLVMBuildOr(b, is_one, LLVMBuildAnd(b, is_unit, y_inf, ""), "");
    return gen_select(g, is_one, one, out);
}
