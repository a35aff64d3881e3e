/* cpu.c - finds the vector tier from cpuid and xcr0, once.
 *
 * cpuid leaf 1:  ecx bit 12 FMA, 27 OSXSAVE, 28 AVX. Leaf 7.0: ebx bit 5 AVX2, 16 AVX512F, 17 DQ, 30 BW, 31 VL.
 * xcr0: bits 1, 2 the SSE and AVX registers; bits 5, 6, 7 the mask registers and the upper halves AVX-512 adds. */
#include "base/cpu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum {
    LEAF1_ECX_FMA = 1 << 12,
    LEAF1_ECX_OSXSAVE = 1 << 27,
    LEAF1_ECX_AVX = 1 << 28,
    XCR0_AVX = 0x06,
    XCR0_AVX512 = 0xe6
};
static const unsigned LEAF7_EBX_AVX2 = 1u << 5;
static const unsigned LEAF7_EBX_AVX512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */

static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static vg_tier detect(void) {
    const unsigned needed = LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed)
        return VG_TIER_PORTABLE;
    uint64_t saved = read_xcr0();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & LEAF7_EBX_AVX2) || (saved & XCR0_AVX) != XCR0_AVX)
        return VG_TIER_PORTABLE;
    if ((b & LEAF7_EBX_AVX512) != LEAF7_EBX_AVX512 || (saved & XCR0_AVX512) != XCR0_AVX512)
        return VG_TIER_AVX2;
    return VG_TIER_AVX512;
}
#elif defined(__aarch64__)
static vg_tier detect(void) { return VG_TIER_NEON; /* Advanced SIMD is part of the base architecture */ }
#else
static vg_tier detect(void) { return VG_TIER_PORTABLE; }
#endif

static const char *const NAMES[] = {"portable", "neon", "avx2", "avx512"};
enum { TIERS = sizeof NAMES / sizeof NAMES[0] };

bool vg_base__cpu_can_run(vg_tier best, vg_tier tier) {
    if (tier == VG_TIER_PORTABLE || tier == best)
        return true;
    return tier == VG_TIER_AVX2 && best == VG_TIER_AVX512;
}

vg_tier vg_base__cpu_choose_tier(vg_tier best, const char *wanted) {
    for (int i = 0; wanted != NULL && i < TIERS; i++) {
        if (strcmp(wanted, NAMES[i]) == 0 && vg_base__cpu_can_run(best, (vg_tier)i))
            return (vg_tier)i;
    }
    return best;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vg_tier best_tier, chosen_tier;

static void find(void) {
    best_tier = detect();
    chosen_tier = vg_base__cpu_choose_tier(best_tier, getenv("VARGATE_CPU"));
}

vg_tier vg_base__cpu_tier(void) {
    pthread_once(&once, find);
    return chosen_tier;
}

vg_tier vg_base__cpu_best_tier(void) {
    pthread_once(&once, find);
    return best_tier;
}

const char *vg_base__tier_name(vg_tier tier) { return (unsigned)tier < TIERS ? NAMES[tier] : "unknown"; }
