/* cpu_gemm_tiers.c - the inner loops of cpu_gemm.h built for each instruction tier, and the choice among them. */
#include "backend/cpu/cpu_gemm.h"

#include "base/cpu.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast")
#endif

#if defined(__x86_64__)
#define TIER(name) avx512_##name
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define LANES 16
#define ROWS 12
#define OUTER 16
#include "backend/cpu/cpu_gemm_body.h"

#define TIER(name) avx2_##name
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define OUTER 4
#include "backend/cpu/cpu_gemm_body.h"
#endif

/* The baseline of the processor: NEON with 32 registers, SSE2 with 16. */
#define TIER(name) portable_##name
#define TARGET
#define LANES 4
#if defined(__aarch64__)
#define ROWS 6
#else
#define ROWS 3
#endif
#define OUTER 4
#include "backend/cpu/cpu_gemm_body.h"

const vg_gemm_kernels *vg_gemm__kernels(void) {
#if defined(__x86_64__)
    switch (vg_base__cpu_tier()) {
    case VG_TIER_AVX512: return &avx512_kernels;
    case VG_TIER_AVX2: return &avx2_kernels;
    default: break;
    }
#endif
    return &portable_kernels;
}
