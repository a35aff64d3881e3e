/* cuda_reason.h - why the CUDA runtime finds no device, in words that say what to do. Without any driver the runtime
 * itself says that the driver's version is insufficient. Internal to the folders cuda/. */
#ifndef VG_CUDA_REASON_H
#define VG_CUDA_REASON_H

#include <cuda_runtime_api.h>
#include <stdio.h>

/* `error` is that of cudaGetDeviceCount; success means that it counted none. */
static inline void vg_cuda__reason(char *out, size_t size, cudaError_t error) {
    int driver = 0;
    (void)cudaGetLastError();
    if (error == cudaSuccess)
        snprintf(out, size, "the NVIDIA driver lists no device");
    else if (error != cudaErrorInsufficientDriver)
        snprintf(out, size, "%s", cudaGetErrorString(error));
    else if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        snprintf(out, size, "no NVIDIA driver is loaded; install one that supports CUDA %d", CUDART_VERSION / 1000);
    else
        snprintf(out, size, "the NVIDIA driver supports CUDA %d.%d; install one that supports CUDA %d", driver / 1000,
                 driver % 1000 / 10, CUDART_VERSION / 1000);
}

#endif
