/* tier_neon.c - the kernel on 64-bit Arm: two doubles per vector, which the compiler maps to NEON. */
#if defined(__aarch64__)
#include "measures/kernel.h"

#define VG_LANES 2
#include "measures/template/all.h"

const vg_kernel_tier vg_measures__neon = {"neon",     tier_units, tier_shares, tier_workspace,
                                          tier_score, tier_votes, first_top,   NULL};
#else
typedef int vg_not_aarch64;
#endif
