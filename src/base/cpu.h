/* cpu.h - which vector instructions this process may use. Internal.
 *
 * A tier is a set of instructions that one build of a kernel needs. The processor (cpuid) must have them and the
 * operating system must save their registers (xcr0). VARGATE_CPU=portable|neon|avx2|avx512 asks for a lower tier, so
 * that tests can run each; a tier that is higher than the machine's, of another architecture, or unknown is ignored. */
#ifndef VG_CPU_H
#define VG_CPU_H

#include <stdbool.h>

typedef enum vg_tier {
    VG_TIER_PORTABLE = 0,
    VG_TIER_NEON = 1,  /* aarch64 */
    VG_TIER_AVX2 = 2,  /* AVX2 and FMA */
    VG_TIER_AVX512 = 3 /* AVX-512 F, DQ, VL, BW, and all of AVX2's */
} vg_tier;

/* The tier to use: the machine's best, or the lower one that VARGATE_CPU names. Found once, on the first call of any
 * thread. */
vg_tier vg_base__cpu_tier(void);

/* The best tier of this machine, whatever VARGATE_CPU says. */
vg_tier vg_base__cpu_best_tier(void);

/* The tier that the text `wanted` (may be NULL) leads to on a machine whose best is `best`: the rule of
 * vg_base__cpu_tier. */
vg_tier vg_base__cpu_choose_tier(vg_tier best, const char *wanted);

/* Whether kernels of `tier` can run on a machine whose best is `best`. */
bool vg_base__cpu_can_run(vg_tier best, vg_tier tier);

/* "portable", "neon", "avx2", "avx512". */
const char *vg_base__tier_name(vg_tier tier);

#endif
