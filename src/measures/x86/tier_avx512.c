/* tier_avx512.c - the kernel with AVX-512 (F, DQ, VL, BW): eight doubles per vector. */
#if defined(__x86_64__)
#include "measures/kernel.h"
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))),                   \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#endif
#define VG_LANES 8
#define VG_TIER_IS_AVX512
#include "measures/template/all.h"

const vg_kernel_tier vg_measures__avx512 = {"avx512",   tier_units, tier_shares, tier_workspace,
                                            tier_score, tier_votes, first_top,   first_tops};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int vg_not_x86_avx512;
#endif
