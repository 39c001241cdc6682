// What the processor and the system offer of isa.def, and the floating point mode of kernels.
#include "runtime/internal.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <xmmintrin.h>

// Register state that the system must save for a feature to be usable: bits of XCR0.
enum { XCR0_NONE = 0, XCR0_YMM = 0x06, XCR0_ZMM = 0xe6 };

// A feature new in isa.def is missing here until its state is named.
enum {
    STATE_avx2 = XCR0_YMM,
    STATE_fma = XCR0_YMM,
    STATE_bmi2 = XCR0_NONE,
    STATE_f16c = XCR0_YMM,
    STATE_bmi1 = XCR0_NONE,
    STATE_lzcnt = XCR0_NONE,
    STATE_movbe = XCR0_NONE,
    STATE_popcnt = XCR0_NONE,
    STATE_avx512f = XCR0_ZMM,
    STATE_avx512bw = XCR0_ZMM,
    STATE_avx512dq = XCR0_ZMM,
    STATE_avx512vl = XCR0_ZMM,
    STATE_avx512cd = XCR0_ZMM
};

// One row of isa.def; registers are counted as CPUID fills them.
enum { REGISTER_eax, REGISTER_ebx, REGISTER_ecx, REGISTER_edx };

typedef struct Test {
    uint32_t leaf;
    uint8_t subleaf, reg, reg_bit, bit;
    uint64_t state;
} Test;

static bool has_bit(uint32_t leaf, uint32_t subleaf, uint32_t reg, uint32_t bit)
{
    unsigned r[4];
    return __get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]) && r[reg] >> bit & 1;
}

static uint64_t saved_state(void)
{
    const uint32_t osxsave = 27;
    if (!has_bit(1, 0, REGISTER_ecx, osxsave))
        return 0;
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

uint64_t sli_cpu_features(void)
{
    static const Test tests[] = {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, regbit, llvm)                                     \
    {leaf, subleaf, REGISTER_##reg, regbit, bit, STATE_##id},
#define ISA(id, name, cpu, arch, bytes, registers, needs)
#include "runtime/isa.def"
    };
    uint64_t state = saved_state();
    uint64_t features = 0;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const Test *t = &tests[i];
        if ((state & t->state) == t->state && has_bit(t->leaf, t->subleaf, t->reg, t->reg_bit))
            features |= UINT64_C(1) << t->bit;
    }
    return features;
}

// MXCSR: all exceptions masked, round to nearest, flush to zero (bit 15), denormals are zero (6).
unsigned sli_float_begin(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(0x9fc0);
    return before;
}

void sli_float_end(unsigned before) { _mm_setcsr(before); }

#else

uint64_t sli_cpu_features(void) { return 0; }

unsigned sli_float_begin(void) { return 0; }

void sli_float_end(unsigned before) { (void)before; }

#endif

void sli_add_features(SliText *text, uint64_t features)
{
    static const char *const names[64] = {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, regbit, llvm) [bit] = #id,
#define ISA(id, name, cpu, arch, bytes, registers, needs)
#include "runtime/isa.def"
    };
    const char *comma = "";
    for (uint32_t i = 0; i < 64; i++) {
        if (!(features >> i & 1))
            continue;
        if (names[i])
            sli_add(text, "%s%s", comma, names[i]);
        else
            sli_add(text, "%sfeature %u, unknown to this runtime", comma, i);
        comma = ", ";
    }
}
