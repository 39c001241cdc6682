// Instruction sets by name, from isa.def and ukernel.def.
#include "codegen/codegen.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, reg_bit, llvm) FEATURE_##id = (bit),
#define ISA(id, name, cpu, arch, vector_bytes, nregs, features)
#include "runtime/isa.def"
};

enum {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, reg_bit, llvm)
#define ISA(id, name, cpu, arch, vector_bytes, nregs, features) ISA_##id,
#include "runtime/isa.def"
    ISA_count
};

#define F(id) (UINT64_C(1) << FEATURE_##id)

typedef struct Isa {
    const char *name;
    const char *cpu;
    const char *arch;
    int64_t vector_bytes;
    uint64_t needs;
} Isa;

static const Isa isas[ISA_count] = {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, reg_bit, llvm)
#define ISA(id, name, cpu, arch, vector_bytes, nregs, features)                                    \
    [ISA_##id] = {(name), (cpu), (arch), (vector_bytes), (features)},
#include "runtime/isa.def"
};

typedef enum CpuidRegister { REG_eax, REG_ebx, REG_ecx, REG_edx } CpuidRegister;

typedef struct Feature {
    uint64_t bit;
    unsigned leaf;
    unsigned subleaf;
    CpuidRegister reg;
    unsigned reg_bit;
    const char *llvm;
} Feature;

static const Feature features[] = {
#define CPU_FEATURE(id, bit, leaf, subleaf, reg, reg_bit, llvm)                                    \
    {F(id), (leaf), (subleaf), REG_##reg, (reg_bit), (llvm)},
#define ISA(id, name, cpu, arch, vector_bytes, nregs, features)
#include "runtime/isa.def"
};

static const TileShape tiles[ISA_count] = {
#define UKERNEL(isa, rows, panels, emitter) [ISA_##isa] = {(rows), (panels)},
#include "codegen/ukernel.def"
};

// ---- this machine -------------------------------------------------------------------------------

#if defined(__x86_64__)

static bool cpu_has_feature(const Feature *f)
{
    unsigned regs[4];
    return __get_cpuid_count(f->leaf, f->subleaf, &regs[REG_eax], &regs[REG_ebx], &regs[REG_ecx],
                             &regs[REG_edx]) &&
           (regs[f->reg] >> f->reg_bit & 1) != 0;
}

// Which register files the operating system keeps for a process: XCR0.
static uint64_t kept_state(void)
{
    unsigned eax;
    unsigned ebx;
    unsigned ecx;
    unsigned edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx >> 27 & 1) == 0) { // OSXSAVE
        return 0;
    }
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool machine_runs(const Isa *isa)
{
    // XMM and YMM; for 64-byte vectors also the mask registers and both parts of ZMM.
    uint64_t state = isa->vector_bytes == 64 ? 0xe6 : 0x06;
    if ((kept_state() & state) != state) {
        return false;
    }
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if ((isa->needs & features[i].bit) != 0 && !cpu_has_feature(&features[i])) {
            return false;
        }
    }
    return true;
}

#else

static bool machine_runs(const Isa *isa)
{
    (void)isa;
    return false;
}

#endif

// ---- by name ------------------------------------------------------------------------------------

static const char *feature_text(Arena *arena, uint64_t needs)
{
    Buf buf = {.arena = arena};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if ((needs & features[i].bit) != 0) {
            buf_format(&buf, "%s%s", buf.len ? "," : "", features[i].llvm);
        }
    }
    return str_cstr(arena, buf_str(&buf));
}

static void fill_target(Arena *arena, uint32_t row, CodegenTarget *out)
{
    const Isa *isa = &isas[row];
    *out = (CodegenTarget){
        .name = str_from(isa->name),
        .loop = {.lanes = isa->vector_bytes / 4, .tile = tiles[row]},
        .needs = isa->needs,
        .isa = row,
        .triple = str_cstr(arena, str_format(arena, "%s-unknown-linux-gnu", isa->arch)),
        .cpu = isa->cpu,
        .features = feature_text(arena, isa->needs),
    };
}

static Str known_targets(Arena *arena)
{
    Buf buf = {.arena = arena};
    for (uint32_t row = 0; row < ISA_count; row++) {
        buf_format(&buf, "%s, ", isas[row].name);
    }
    buf_add(&buf, STR("native"));
    return buf_str(&buf);
}

bool codegen_target(Arena *arena, Str name, CodegenTarget *out, Str *why)
{
    bool is_native = str_equal(name, STR("native"));
    for (uint32_t row = ISA_count; row-- > 0;) { // the most demanding last
        if (is_native ? machine_runs(&isas[row]) : str_equal(name, str_from(isas[row].name))) {
            fill_target(arena, row, out);
            return true;
        }
    }
    if (is_native) {
        *why = str_format(arena, "this machine runs none of the targets: %.*s",
                          STR_ARG(known_targets(arena)));
    } else {
        *why = str_format(arena, "there is no target %.*s; there are %.*s", STR_ARG(name),
                          STR_ARG(known_targets(arena)));
    }
    return false;
}
