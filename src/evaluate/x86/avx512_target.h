/* avx512_target.h - the functions that follow are compiled for AVX-512 (F, DQ, VL, BW). Included after every other
 * header. The including file ends this with VG_AVX512_END. */
#ifndef VG_EVALUATE_AVX512_TARGET_H
#define VG_EVALUATE_AVX512_TARGET_H

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt"))),            \
                             apply_to = function)
#define VG_AVX512_END _Pragma("clang attribute pop")
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,popcnt")
#define VG_AVX512_END
#endif

#endif
