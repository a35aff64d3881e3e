/* tier_avx2.c - the kernel with AVX2 and FMA: four doubles per vector. */
#if defined(__x86_64__)
#include "measures/kernel.h"
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define VG_LANES 4
#define VG_TIER_IS_AVX2
#include "measures/template/all.h"

const vg_kernel_tier vg_measures__avx2 = {"avx2",     tier_units, tier_shares, tier_workspace,
                                          tier_score, tier_votes, first_top,   NULL};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int vg_not_x86_avx2;
#endif
