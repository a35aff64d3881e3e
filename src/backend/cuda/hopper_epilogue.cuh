/* hopper_epilogue.cuh - what hopper_forward.cu and hopper_lean.cu share: rings of stages, and the way of the sums out.
 *
 * Sums go through shared memory to whole 16-byte writes, an addend is added on the way.
 *
 * NORM: in prediction the batch-norm, dropout and ReLU behind the convolution are a line, a mask and a floor: they are applied
 * to the 16 bytes on their way out, the plain sums are written only where a residual needs them. A thread draws the masks of
 * its twenty pieces while the tensor cores are at work and keeps them as 160 bits. */
#ifndef VG_CUDA_HOPPER_EPILOGUE_CUH
#define VG_CUDA_HOPPER_EPILOGUE_CUH

#include <cuda_bf16.h>

#include "backend/cuda/affine.cuh"
#include "backend/cuda/hopper_kernels.h"
#include "backend/cuda/hopper_ptx.cuh"
#include "backend/cuda/vec.cuh"

namespace hopper {

enum {
    N = HOPPER_N,
    PITCH = 336, /* bytes a row of the output on its way: 320, and 16 against bank conflicts */
    OUT_BYTES = 64 * PITCH,
    PIECES = 10,        /* of eight channels, a thread has of 64 pixels */
    LINE_BYTES = N * 4, /* a or c of a tile's columns: first the lower four of each eight channels, then the upper */
};

/* A ring's place: which stage, and which time round. */
template <int STAGES> struct place {
    int stage = 0;
    uint32_t phase = 0;
    __device__ void next() {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

/* --- batch-norm behind the convolution */

/* a and c of the columns from n0 on. */
__device__ static inline void put_lines(const hopper_forward &work, uint32_t line, int n0) {
    for (int i = threadIdx.x % 128; i < N; i += 128) {
        const hopper_norm &norm = work.norm;
        int channel = n0 + i;
        uint32_t to = line + ((i >> 2 & 1) * (N / 8) + i / 8) * 16 + i % 4 * 4;
        float a, c;
        affine(&a, &c, norm.gamma[channel], norm.beta[channel], norm.running[channel],
               inverse_std(norm.running[work.columns + channel], norm.epsilon));
        a *= norm.mask.scale;
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(a) : "memory");
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to + LINE_BYTES), "f"(c) : "memory");
    }
}
__device__ static inline void get_line(float (&v)[8], uint32_t at) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[4 * i]), "=f"(v[4 * i + 1]), "=f"(v[4 * i + 2]), "=f"(v[4 * i + 3])
                     : "r"(at + i * (LINE_BYTES / 2))
                     : "memory");
}

/* The masks of a thread's pieces, eight bits each, the newest lowest. */
struct kept_bits {
    uint32_t word[5];
};

/* Draws the mask of piece t, 0 to 19; `row`: the group's first pixel. */
__device__ static inline void draw_piece(kept_bits &kept, int t, const hopper_forward &work, uint32_t row, int n0) {
    const cuda_mask &mask = work.norm.mask;
    cuda_draw draw = draw_of<CUDA_MASK_ALIGNED>(mask);
    int piece = (t < PIECES ? t : t - PIECES) * 128 + threadIdx.x % 128, r = piece / 20, q = piece % 20;
    uint32_t position = row + (t < PIECES ? 0 : 64) + r, image = cuda_divide(position, mask.area);
    uint32_t pixel = position - image * mask.area.divisor, lanes[4], byte = 0;
    asm volatile("" : "+r"(draw.key0), "+r"(draw.key1)); /* or twenty registers would hold the rounds' keys */
    cuda_lanes_aligned(lanes, &draw, image, pixel * mask.channels + n0 + q * 8);
#pragma unroll
    for (int j = 0; j < 8; j++)
        byte |= (uint32_t)cuda_kept(lanes, j, draw.threshold) << j;
#pragma unroll
    for (int i = 4; i > 0; i--)
        kept.word[i] = __funnelshift_l(kept.word[i - 1], kept.word[i], 8);
    kept.word[0] = kept.word[0] << 8 | byte;
}

template <int MASK>
__device__ static inline void put_normal(const hopper_forward &work, size_t to, uint4 words, uint32_t line, int q,
                                         uint32_t kept) {
    float v[8], a[8], c[8];
    widen(v, pack<bf16>{words});
    get_line(a, line + q * 16);
    get_line(c, line + LINE_BYTES + q * 16);
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = MASK == CUDA_MASK_NONE || (kept >> j & 1) ? fmaf(a[j], v[j], c[j]) : c[j];
    store_above((bf16 *)work.norm.z, to / 8, v, work.norm.floor);
}

/* 64 rows of the addend to where the sums will pass; rows from `row` on, of `rows`. */
__device__ static inline void bring_addend(const hopper_forward &work, uint32_t out, size_t row, size_t rows, int n0,
                                           int group) {
    int thread = threadIdx.x % 128;
    const __nv_bfloat16 *addend = (const __nv_bfloat16 *)work.addend;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        int piece = i * 128 + thread, r = piece / 20, q = piece % 20;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (row + r < rows)
            v = *(const uint4 *)(addend + (row + r) * work.columns + n0 + q * 8);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(out + r * PITCH + q * 16), "r"(v.x), "r"(v.y), "r"(v.z),
                     "r"(v.w)
                     : "memory");
    }
    warpgroup_sync(group);
}

/* A thread's sums of one product of 64 rows to shared memory, the addend that lies there added. `mine`: of its first two
 * columns; its other row lies `below` bytes further. */
__device__ static inline void stage_sums(const float (&d)[80], uint32_t mine, uint32_t below, bool addend) {
#pragma unroll
    for (int i = 0; i < 40; i++) { /* i / 2: eight columns; i % 2: the row 8 below */
        uint32_t to = mine + i / 2 * 16 + i % 2 * below;
        float u = d[2 * i], v = d[2 * i + 1];
        if (addend) {
            uint32_t pair;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pair) : "r"(to) : "memory");
            u += __uint_as_float(pair << 16);
            v += __uint_as_float(pair & 0xffff0000u);
        }
        __nv_bfloat162 both = __floats2bfloat162_rn(u, v);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*(uint32_t *)&both) : "memory");
    }
}

/* 64 rows of sums from shared memory to memory. HALF: the first 64 of a group's 128 or the second. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put_rows(const hopper_forward &work, uint32_t out, size_t row, size_t rows, int n0, uint32_t line,
                                       const kept_bits &kept) {
    int thread = threadIdx.x % 128;
    __nv_bfloat16 *y = (__nv_bfloat16 *)work.y;
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        int piece = i * 128 + thread, r = piece / 20, q = piece % 20;
        uint4 v;
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(out + r * PITCH + q * 16)
                     : "memory");
        size_t to = (row + r) * work.columns + n0 + q * 8;
        if (row + r < rows && (!NORM || y))
            *(uint4 *)(y + to) = v;
        constexpr int last = 2 * PIECES - 1 - HALF * PIECES;
        if (NORM && row + r < rows)
            put_normal<MASK>(work, to, v, line, q, kept.word[(last - i) / 4] >> (last - i) % 4 * 8);
    }
}

/* 64 rows of sums to memory. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put(const float (&d)[80], const hopper_forward &work, uint32_t out, size_t row, size_t rows,
                                  int n0, int group, uint32_t line, const kept_bits &kept) {
    int thread = threadIdx.x % 128, lane = thread % 32;
    if (work.addend)
        bring_addend(work, out, row, rows, n0, group);
    stage_sums(d, out + (thread / 32 * 16 + lane / 4) * PITCH + lane % 4 * 4, 8 * PITCH, work.addend);
    warpgroup_sync(group);
    put_rows<HALF, NORM, MASK>(work, out, row, rows, n0, line, kept);
    warpgroup_sync(group);
}

/* 64 rows where the products belong to every other row: even rows' sums in `even`, odd rows' in `odd`. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put_pairs(const float (&even)[80], const float (&odd)[80], const hopper_forward &work,
                                        uint32_t out, size_t row, size_t rows, int n0, int group, uint32_t line,
                                        const kept_bits &kept) {
    int thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;
    if (work.addend)
        bring_addend(work, out, row, rows, n0, group);
    if (warp / 2 == HALF) { /* two warps have these rows */
        uint32_t mine = out + 2 * (warp % 2 * 16 + lane / 4) * PITCH + lane % 4 * 4;
        stage_sums(even, mine, 16 * PITCH, work.addend);
        stage_sums(odd, mine + PITCH, 16 * PITCH, work.addend);
    }
    warpgroup_sync(group);
    put_rows<HALF, NORM, MASK>(work, out, row, rows, n0, line, kept);
    warpgroup_sync(group);
}

} // namespace hopper

#endif
