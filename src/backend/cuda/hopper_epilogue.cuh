/* hopper_epilogue.cuh - what hopper_forward.cu and hopper_lean.cu share: rings of stages, and the way of the sums out.
 *
 * Sums go through shared memory to whole 16-byte writes, an addend is added on the way.
 *
 * NORM: in prediction the batch-norm, dropout and ReLU behind the convolution are a line, a mask and a floor: they are applied
 * to the 16 bytes on their way out, the plain sums are written only where a residual needs them. A thread draws the masks of
 * its 22 pieces while the tensor cores are at work and keeps them as 176 bits.
 *
 * The tensor cores wait meanwhile, with two warps to a scheduler: what counts is how many instructions there are and how few
 * wait for each other. A thread therefore keeps to the same eight channels, 120 of 128 threads six rows at a time; all
 * arithmetic is unconditional, only writes are not. */
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
    WRITERS = 120,      /* threads of a group that pass rows on, six rows of 20 pieces at a time */
    PIECES = 11,        /* of eight channels, a thread has of 64 pixels; the last one may be past them */
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
                     : "r"(at + i * (LINE_BYTES / 2)));
}

/* Where the 64 rows of a half lie in memory: one after another, or (`woven`) eight at a time in four images of 8 x 8, two rows
 * of pixels of each. */
struct half_rows {
    size_t first;
    bool woven;
    __device__ int after(int r) const { return woven ? (r >> 3 & 3) * 64 + (r >> 5) * 8 + (r & 7) : r; }
    /* How many of `rows` in memory are not before the first. */
    __device__ int left(size_t rows) const { return rows <= first ? 0 : rows - first < 1024 ? (int)(rows - first) : 1024; }
};

/* A thread's piece i of a half: its row, below 64 or else not there, and where in the row it begins. */
struct piece_of {
    int r, q;
    __device__ explicit piece_of(int i) : r(6 * i + threadIdx.x % 128 / 20), q(threadIdx.x % 128 % 20) {}
    __device__ uint32_t staged(uint32_t out) const { return out + (r < 64 ? r : 63) * PITCH + q * 16; }
};

/* The masks of a thread's pieces, eight bits each, the newest lowest. */
struct kept_bits {
    uint32_t word[6];
};

/* Draws the mask of piece t, 0 to 21; `first`, `second`: the group's halves. */
__device__ static inline void draw_piece(kept_bits &kept, int t, const hopper_forward &work, const half_rows &first,
                                         const half_rows &second, int n0) {
    const cuda_mask &mask = work.norm.mask;
    cuda_draw draw = draw_of<CUDA_MASK_ALIGNED>(mask);
    piece_of at(t < PIECES ? t : t - PIECES);
    const half_rows &half = t < PIECES ? first : second;
    uint32_t position = (uint32_t)half.first + (uint32_t)half.after(at.r), image = cuda_divide(position, mask.area);
    uint32_t pixel = position - image * mask.area.divisor, lanes[4], byte = 0;
    asm volatile("" : "+r"(draw.key0), "+r"(draw.key1)); /* or twenty registers would hold the rounds' keys */
    cuda_lanes_aligned(lanes, &draw, image, pixel * mask.channels + n0 + at.q * 8);
#pragma unroll
    for (int j = 0; j < 8; j++)
        byte |= (uint32_t)cuda_kept(lanes, j, draw.threshold) << j;
#pragma unroll
    for (int i = 5; i > 0; i--)
        kept.word[i] = __funnelshift_l(kept.word[i - 1], kept.word[i], 8);
    kept.word[0] = kept.word[0] << 8 | byte;
}

/* Batch-norm, dropout and ReLU of eight channels. */
template <int MASK>
__device__ static inline uint4 normal(uint4 words, const float (&a)[8], const float (&c)[8], uint32_t kept, float floor) {
    float v[8];
    widen(v, pack<bf16>{words});
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = MASK == CUDA_MASK_NONE || (kept >> j & 1) ? fmaf(a[j], v[j], c[j]) : c[j];
    return make_uint4(narrow2_above(v[0], v[1], floor), narrow2_above(v[2], v[3], floor), narrow2_above(v[4], v[5], floor),
                      narrow2_above(v[6], v[7], floor));
}

/* 64 rows of the addend to where the sums will pass; there are `rows` in memory. */
__device__ static inline void bring_addend(const hopper_forward &work, uint32_t out, const half_rows &half, size_t rows, int n0,
                                           int group) {
    const __nv_bfloat16 *addend =
        (const __nv_bfloat16 *)work.addend + half.first * (size_t)work.columns + n0 + piece_of(0).q * 8;
    int left = half.left(rows);
    if (threadIdx.x % 128 < WRITERS) {
#pragma unroll
        for (int from = 0; from < PIECES; from += 6) {
            uint4 v[6];
#pragma unroll
            for (int i = 0; i < 6 && from + i < PIECES; i++) {
                piece_of at(from + i);
                int row = half.after(at.r);
                v[i] = make_uint4(0, 0, 0, 0);
                if (at.r < 64 && row < left)
                    v[i] = *(const uint4 *)(addend + row * work.columns);
            }
#pragma unroll
            for (int i = 0; i < 6 && from + i < PIECES; i++)
                if (piece_of(from + i).r < 64)
                    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(piece_of(from + i).staged(out)), "r"(v[i].x),
                                 "r"(v[i].y), "r"(v[i].z), "r"(v[i].w)
                                 : "memory");
        }
    }
    warpgroup_sync(group);
}

/* A thread's sums of one product of 64 rows to shared memory, the addend that lies there added. `mine`: of its first two
 * columns; its other row lies `below` bytes further. */
__device__ static inline void stage_sums(const float (&d)[80], uint32_t mine, uint32_t below, bool addend) {
#pragma unroll
    for (int from = 0; from < 40; from += 8) { /* i / 2: eight columns; i % 2: the row 8 below */
        uint32_t pair[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            pair[i] = 0;
        if (addend) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pair[i]) : "r"(mine + (from + i) / 2 * 16 + i % 2 * below));
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float u = d[2 * (from + i)], v = d[2 * (from + i) + 1];
            if (addend) {
                u += __uint_as_float(pair[i] << 16);
                v += __uint_as_float(pair[i] & 0xffff0000u);
            }
            __nv_bfloat162 both = __floats2bfloat162_rn(u, v);
            asm volatile("st.shared.b32 [%0], %1;" ::"r"(mine + (from + i) / 2 * 16 + i % 2 * below), "r"(*(uint32_t *)&both)
                         : "memory");
        }
    }
}

/* 64 rows of sums from shared memory to memory. HALF: the first 64 of a group's 128 or the second. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put_rows(const hopper_forward &work, uint32_t out, const half_rows &half, size_t rows, int n0,
                                       uint32_t line, const kept_bits &kept) {
    size_t begin = half.first * (size_t)work.columns + n0 + piece_of(0).q * 8;
    __nv_bfloat16 *y = (__nv_bfloat16 *)work.y + begin, *z = (__nv_bfloat16 *)work.norm.z + begin;
    bool plain = !NORM || work.y;
    int left = half.left(rows);
    float a[8], c[8];
    if (threadIdx.x % 128 >= WRITERS)
        return;
    if (NORM) {
        get_line(a, line + piece_of(0).q * 16);
        get_line(c, line + LINE_BYTES + piece_of(0).q * 16);
    }
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        piece_of at(i);
        constexpr int last = 2 * PIECES - 1 - HALF * PIECES;
        uint4 v, w;
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(at.staged(out)));
        int row = half.after(at.r), to = row * work.columns;
        bool there = at.r < 64 && row < left;
        if (NORM)
            w = normal<MASK>(v, a, c, kept.word[(last - i) / 4] >> (last - i) % 4 * 8, work.norm.floor);
        if (there && plain)
            *(uint4 *)(y + to) = v;
        if (NORM && there)
            *(uint4 *)(z + to) = w;
    }
}

/* 64 rows of sums to memory. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put(const float (&d)[80], const hopper_forward &work, uint32_t out, const half_rows &half,
                                  size_t rows, int n0, int group, uint32_t line, const kept_bits &kept) {
    int thread = threadIdx.x % 128, lane = thread % 32;
    if (work.addend)
        bring_addend(work, out, half, rows, n0, group);
    stage_sums(d, out + (thread / 32 * 16 + lane / 4) * PITCH + lane % 4 * 4, 8 * PITCH, work.addend);
    warpgroup_sync(group);
    put_rows<HALF, NORM, MASK>(work, out, half, rows, n0, line, kept);
    warpgroup_sync(group);
}

/* 64 rows where the products belong to every other row: even rows' sums in `even`, odd rows' in `odd`. */
template <int HALF, int NORM, int MASK>
__device__ static inline void put_pairs(const float (&even)[80], const float (&odd)[80], const hopper_forward &work,
                                        uint32_t out, const half_rows &half, size_t rows, int n0, int group, uint32_t line,
                                        const kept_bits &kept) {
    int thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;
    if (work.addend)
        bring_addend(work, out, half, rows, n0, group);
    if (warp / 2 == HALF) { /* two warps have these rows */
        uint32_t mine = out + 2 * (warp % 2 * 16 + lane / 4) * PITCH + lane % 4 * 4;
        stage_sums(even, mine, 16 * PITCH, work.addend);
        stage_sums(odd, mine + PITCH, 16 * PITCH, work.addend);
    }
    warpgroup_sync(group);
    put_rows<HALF, NORM, MASK>(work, out, half, rows, n0, line, kept);
    warpgroup_sync(group);
}

} // namespace hopper

#endif
