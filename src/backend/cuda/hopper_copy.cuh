/* hopper_copy.cuh - what hopper_forward.cu and hopper_norm.cu share: rings of stages, and the warp that copies. */
#ifndef VG_CUDA_HOPPER_COPY_CUH
#define VG_CUDA_HOPPER_COPY_CUH

#include "backend/cuda/hopper_kernels.h"
#include "backend/cuda/hopper_ptx.cuh"

namespace hopper {

enum { N = HOPPER_N };

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

/* What the copying thread does. P: places in shared memory, with the number of stages and their bytes. MODE: hopper_kernels.h.
 */
template <int TURNED, int MODE, typename P>
__device__ static inline void copy(const hopper_forward &work, const P &at, int tiles) {
    place<P::A_STAGES> a;
    place<P::B_STAGES> b;
    int columns = work.columns / N, width = work.width;
    uint32_t a_bytes = width == 16 ? 18 * 16 * 128 : 320 * 128;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int pixels = tile / columns, n0 = tile % columns * N;
        int image = width == 32 ? pixels / 4 : width == 16 ? pixels : pixels * 4, y = width == 32 ? pixels % 4 * 8 : 0;
        for (int k0 = 0; k0 < work.k; k0 += HOPPER_K)
            for (int kx = 0; kx < 3; kx++) {
                barrier_wait(at.a_empty(a.stage), a.phase ^ 1);
                if (MODE == 1)
                    barrier_arrive(at.a_full(a.stage));
                else {
                    barrier_expect(at.a_full(a.stage), a_bytes);
                    load_box(at.a + a.stage * P::A_BYTES, &work.x, k0, kx - 1, y - 1, image, at.a_full(a.stage));
                }
                a.next();
                for (int ky = 0; ky < 3; ky++) {
                    uint32_t to = at.b + b.stage * P::B_BYTES, full = at.b_full(b.stage);
                    barrier_wait(at.b_empty(b.stage), b.phase ^ 1);
                    if (MODE == 1)
                        barrier_arrive(full);
                    else
                        barrier_expect(full, P::B_BYTES);
                    if (MODE == 1) {
                    } else if (TURNED)
                        for (int i = 0; i < 3; i++)
                            load_box(to + i * 8192, &work.w, n0 + 64 * i, 8 - (3 * ky + kx), k0, full);
                    else
                        load_box(to, &work.w, k0, 3 * ky + kx, n0, full);
                    b.next();
                }
            }
    }
}

} // namespace hopper

#endif
