/* cpu_kernels.c - the CPU backend's vector loops built for each instruction tier, and the choice among them. */
#include "backend/cpu/cpu_accelerators.h"

#include <math.h>
#include <pthread.h>

#include "base/cpu.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE float load(const void *data, size_t i, bool bf16) {
    return bf16 ? vg_cpu__from_bf16(((const uint16_t *)data)[i]) : ((const float *)data)[i];
}

ALWAYS_INLINE void store(void *data, size_t i, float value, bool bf16) {
    if (bf16)
        ((uint16_t *)data)[i] = vg_cpu__to_bf16(value);
    else
        ((float *)data)[i] = value;
}

#if defined(__x86_64__)
#define TIER(name) avx512_##name
#define TIER_NAME "avx512"
#define LANES 16
#if defined(__clang__)
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#else
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")))
#endif
#include "backend/cpu/cpu_kernels_body.h"
#undef TIER
#undef TIER_NAME
#undef LANES
#undef TARGET

#define TIER(name) avx2_##name
#define TIER_NAME "avx2"
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#include "backend/cpu/cpu_kernels_body.h"
#undef TIER
#undef TIER_NAME
#undef LANES
#undef TARGET
#endif

#define TIER(name) portable_##name
#define TIER_NAME "portable"
#define LANES 4
#define TARGET
#include "backend/cpu/cpu_kernels_body.h"

#if defined(__x86_64__)
static vg_cpu_kernels best;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void choose_best(void) {
    best = avx512_kernels;
    vg_cpu__accelerate_kernels(&best, &avx512_kernels);
}
#endif

const vg_cpu_kernels *vg_cpu__kernels(void) {
#if defined(__x86_64__)
    switch (vg_base__cpu_tier()) {
    case VG_TIER_AVX512: pthread_once(&once, choose_best); return &best;
    case VG_TIER_AVX2: return &avx2_kernels;
    default: break;
    }
#endif
    return &portable_kernels;
}
