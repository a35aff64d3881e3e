/* cuda_faults.c - linked into a program of the tests, whose linker replaces calls of the CUDA runtime's functions
 * cudaX() by calls of __wrap_cudaX() (tests/CMakeLists.txt): counts the calls of the two kinds below and lets the n-th
 * of one kind fail, as the driver would. tests/faults/fault_walk.c sets the variables and judges how the program ends.
 *
 *   VARGATE_FAULT        memory: device memory or pinned host memory cannot be allocated; device: any call fails, as it
 *                        does on a GPU that has stopped working
 *   VARGATE_FAULT_AT     n, from 1; 0 or absent: nothing fails
 *   VARGATE_FAULT_LAST   "yes": every call of the kind from the n-th on fails; with "device" the GPU is lost
 *   VARGATE_FAULT_COUNT  a file that receives the kinds and their numbers of calls at the end of the program
 *
 * Calls that free something are neither counted nor failed before the GPU is lost. cuDNN and cuBLAS have a runtime of
 * their own; their calls do not pass here. */
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong memory_calls, device_calls;
static atomic_int pending; /* what cudaGetLastError() reports for a call that was failed here */
static unsigned long at;
static bool memory_fails, device_fails, every;

__attribute__((constructor)) static void start(void) {
    const char *kind = getenv("VARGATE_FAULT"), *n = getenv("VARGATE_FAULT_AT"), *last = getenv("VARGATE_FAULT_LAST");
    at = n ? strtoul(n, NULL, 10) : 0;
    memory_fails = kind && strcmp(kind, "memory") == 0;
    device_fails = kind && strcmp(kind, "device") == 0;
    every = last && strcmp(last, "yes") == 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("VARGATE_FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "memory %lu\ndevice %lu\n", atomic_load(&memory_calls), atomic_load(&device_calls));
    fclose(file);
}

static bool reached(unsigned long call) { return at > 0 && (every ? call >= at : call == at); }

static bool lost(void) { return device_fails && every && at > 0 && atomic_load(&device_calls) >= at; }

static cudaError_t failed(cudaError_t error) {
    atomic_store(&pending, (int)error);
    return error;
}

/* The error of the next call, or cudaSuccess: it may go on. */
static cudaError_t device_fault(void) {
    unsigned long call = atomic_fetch_add(&device_calls, 1) + 1;
    return device_fails && reached(call) ? failed(cudaErrorECCUncorrectable) : cudaSuccess;
}

static cudaError_t memory_fault(void) {
    unsigned long call = atomic_fetch_add(&memory_calls, 1) + 1;
    if (memory_fails && reached(call))
        return failed(cudaErrorMemoryAllocation);
    return device_fault();
}

#define WRAP(fault, name, parameters, arguments)                                                                       \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters {                                                                             \
        cudaError_t error = fault;                                                                                     \
        return error == cudaSuccess ? __real_##name arguments : error;                                                 \
    }
#define LOST (lost() ? cudaErrorECCUncorrectable : cudaSuccess)

WRAP(memory_fault(), cudaMalloc, (void **p, size_t size), (p, size))
WRAP(memory_fault(), cudaMallocHost, (void **p, size_t size), (p, size))
WRAP(memory_fault(), cudaHostAlloc, (void **p, size_t size, unsigned flags), (p, size, flags))
WRAP(device_fault(), cudaMemcpy, (void *to, const void *from, size_t size, enum cudaMemcpyKind kind),
     (to, from, size, kind))
WRAP(device_fault(), cudaMemcpyAsync,
     (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, size, kind, stream))
WRAP(device_fault(), cudaMemcpy2D,
     (void *to, size_t to_pitch, const void *from, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind),
     (to, to_pitch, from, pitch, width, height, kind))
WRAP(device_fault(), cudaMemcpy2DAsync,
     (void *to, size_t to_pitch, const void *from, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
      cudaStream_t stream),
     (to, to_pitch, from, pitch, width, height, kind, stream))
WRAP(device_fault(), cudaMemset, (void *p, int value, size_t size), (p, value, size))
WRAP(device_fault(), cudaMemsetAsync, (void *p, int value, size_t size, cudaStream_t stream), (p, value, size, stream))
WRAP(device_fault(), cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WRAP(device_fault(), cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
     (stream, flags, priority))
WRAP(device_fault(), cudaStreamSynchronize, (cudaStream_t stream), (stream))
WRAP(device_fault(), cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     (stream, event, flags))
WRAP(device_fault(), cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode))
WRAP(device_fault(), cudaDeviceSynchronize, (void), ())
WRAP(device_fault(), cudaEventCreate, (cudaEvent_t * event), (event))
WRAP(device_fault(), cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WRAP(device_fault(), cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(device_fault(), cudaEventSynchronize, (cudaEvent_t event), (event))
WRAP(device_fault(), cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
     (exec, graph, flags))
WRAP(device_fault(), cudaGraphUpload, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))
WRAP(device_fault(), cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))
WRAP(device_fault(), cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value),
     (function, attribute, value))
WRAP(device_fault(), cudaLaunchKernel,
     (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
     (function, grid, block, arguments, shared, stream))
WRAP(device_fault(), cudaLaunchKernelExC, (const cudaLaunchConfig_t *how, const void *function, void **arguments),
     (how, function, arguments))
WRAP(LOST, cudaFree, (void *p), (p))
WRAP(LOST, cudaFreeHost, (void *p), (p))
WRAP(LOST, cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP(LOST, cudaEventDestroy, (cudaEvent_t event), (event))
WRAP(LOST, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), (stream, graph))

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void) {
    cudaError_t real = __real_cudaGetLastError(), ours = (cudaError_t)atomic_exchange(&pending, (int)cudaSuccess);
    if (lost())
        return cudaErrorECCUncorrectable;
    return ours != cudaSuccess ? ours : real;
}
