/* hopper_ptx.cuh - instructions of Hopper that CUDA C++ does not provide: barriers in shared memory, box copies by the
 * copy engine, products of a warpgroup. For sm_90a only. */
#ifndef VG_CUDA_HOPPER_PTX_CUH
#define VG_CUDA_HOPPER_PTX_CUH

#include <cuda.h>
#include <stdint.h>

namespace hopper {

__device__ static inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* --- barriers: a phase ends when `count` have arrived and the bytes announced have come */

__device__ static inline void barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
/* To be called after the barriers are initialised and before they are used (with a __syncthreads). */
__device__ static inline void barrier_init_done() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ static inline void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ static inline void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* Waits until the phase of this parity has ended. */
__device__ static inline void barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni over;\n"
                 "bra.uni again;\n"
                 "over:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* A position in a ring of buffers: the index, and the parity of the round. */
template <int SLOTS> struct place {
    int slot = 0;
    uint32_t phase = 0;
    __device__ void next() {
        if (++slot == SLOTS) {
            slot = 0;
            phase ^= 1;
        }
    }
};

/* --- boxes of a tensor into shared memory; elements outside of the tensor are zeros and count as bytes */

__device__ static inline void load_box(uint32_t to, const CUtensorMap *map, int i0, int i1, int i2, int i3,
                                       uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(i0), "r"(i1), "r"(i2), "r"(i3), "r"(barrier)
                 : "memory");
}
__device__ static inline void load_box(uint32_t to, const CUtensorMap *map, int i0, int i1, int i2, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(map), "r"(i0), "r"(i1), "r"(i2), "r"(barrier)
                 : "memory");
}
__device__ static inline void prefetch_map(const CUtensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* --- registers of a warpgroup, threads of a warpgroup */

template <int REGISTERS> __device__ static inline void registers_up() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS> __device__ static inline void registers_down() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
/* A value that is equal in all threads of a warp, made known to the compiler, which then keeps it in uniform
 * registers. */
__device__ static inline int warp_uniform(int number) { return __shfl_sync(0xffffffffu, number, 0); }
template <int THREADS> __device__ static inline void threads_sync(int id) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

/* --- shared memory: 16 and 8 bytes of a thread; four 8 x 8 matrices of a warp, the other way of mma.cuh's
 * load_matrices */

__device__ static inline uint4 load_shared(uint32_t from) {
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}
__device__ static inline void store_shared(uint32_t to, uint32_t v0, uint32_t v1) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(v0), "r"(v1) : "memory");
}
__device__ static inline void store_matrices(uint32_t to, uint32_t v0, uint32_t v1, uint32_t v2, uint32_t v3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v0), "r"(v1),
                 "r"(v2), "r"(v3)
                 : "memory");
}
/* Orders reads and writes of shared memory by threads before a copy to the same address. */
__device__ static inline void fence_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* --- products: D (64 x 160, float) += A (64 x 16) B (16 x 160), both in shared memory.
 * A thread's d[i]: row 16 (warp % 4) + lane / 4 + 8 ((i / 2) % 2), column 8 (i / 4) + 2 (lane % 4) + i % 2. */

__device__ static inline void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ static inline void product_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> __device__ static inline void product_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
/* Keeps the compiler from moving accesses of the sums across. */
template <int COUNT> __device__ static inline void keep_in_registers(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* bits 0-13 address, 16-29 leading offset, 32-45 stride offset, 62-63 swizzle; all in 16 bytes. */
__device__ static inline uint64_t descriptor(uint64_t bits, uint32_t address) {
    return bits | (uint64_t)((address & 0x3ffff) >> 4);
}

/* A_TRANSPOSED, B_TRANSPOSED: the operand is contiguous along its 64 or 160, not along its 16. Without `more`: D = A
 * B. */
template <int A_TRANSPOSED, int B_TRANSPOSED>
__device__ static inline void product(float (&d)[80], uint64_t a, uint64_t b, bool more = true) {
    asm volatile(
        "{\n"
        ".reg .pred more;\n"
        "setp.ne.b32 more, %84, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, "
        "%80, %81, more, 1, 1, %82, %83;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
          "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
          "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
          "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
          "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
        : "l"(a), "l"(b), "n"(A_TRANSPOSED), "n"(B_TRANSPOSED), "r"((int)more));
}

} // namespace hopper

#endif
