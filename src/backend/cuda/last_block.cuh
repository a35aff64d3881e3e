/* last_block.cuh - which block of a grid finishes last: it sums what the others left in device memory. */
#ifndef VG_CUDA_LAST_BLOCK_CUH
#define VG_CUDA_LAST_BLOCK_CUH

/* Called by every thread of a block that has written its results. True in the last block, which then sees the results
 * of all. *counter is 0 before the launch. */
__device__ static bool is_last_block(unsigned *counter) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(counter, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        __threadfence();
    return last;
}

#endif
