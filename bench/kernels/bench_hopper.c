/* bench_hopper.c - times the Hopper kernels for 3x3 convolutions (src/backend/cuda/hopper) and the best of cuDNN's
 * engines at the sizes of WRN-28-10, batch 128, in bfloat16. One JSON line per figure:
 *
 *     bench_hopper
 *     {"bench": "hopper", "layer": "forward 32x32 160 to 160", "us": ..., "tflops": ..., "cudnn_us": ..., ...}
 *
 * Operands have random mantissas, because the values that are multiplied decide how much power the GPU draws. */
#include <stdio.h>
#include <stdlib.h>

#ifndef VG_WITH_CUDA_HOPPER
int main(void) {
    fputs("bench_hopper: this build has no Hopper kernels\n", stderr);
    return 1;
}
#else
#include "backend/cuda/hopper/hopper_conv.h"

enum { WARM_UP = 3, RUNS = 20, LARGEST = 128 * 32 * 32 * 160 };

typedef struct layer {
    int width, channels;
} layer;

static void fail(const char *what) {
    fprintf(stderr, "bench_hopper: %s: %s\n", what, vg_error_message());
    exit(1);
}
static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "bench_hopper: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

/* Device memory of the largest tensor with random bfloat16 values between 2^-5 and 2^3. */
static void *operand(uint64_t seed) {
    uint16_t *host = malloc(LARGEST * sizeof *host);
    void *device = NULL;
    if (!host) {
        fputs("bench_hopper: out of memory\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < LARGEST; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        host[i] = (uint16_t)((seed >> 40 & 0x807f) | (122 + (seed >> 60 & 7)) << 7);
    }
    check(cudaMalloc(&device, LARGEST * 4), "memory");
    check(cudaMemcpy(device, host, LARGEST * sizeof *host, cudaMemcpyHostToDevice), "copying");
    check(cudaDeviceSynchronize(), "copying");
    free(host);
    return device;
}

static void run(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places, bool own) {
    bool served = true;
    vg_status status = own ? vg_cuda__hopper_run(b, key, places) : vg_cuda__conv_run(b, key, places, &served);
    if (status != VG_OK)
        fail("a convolution");
}

/* Microseconds of one run. */
static double time_of(vg_backend *b, const cuda_conv_key *key, const cuda_conv_places *places, bool own) {
    cudaStream_t stream = cuda_of(b)->stream;
    cudaEvent_t start, stop;
    float milliseconds = 0;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    for (int i = 0; i < WARM_UP; i++)
        run(b, key, places, own);
    check(cudaEventRecord(start, stream), "event");
    for (int i = 0; i < RUNS; i++)
        run(b, key, places, own);
    check(cudaEventRecord(stop, stream), "event");
    check(cudaEventSynchronize(stop), "waiting");
    check(cudaEventElapsedTime(&milliseconds, start, stop), "time");
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds * 1000.0 / RUNS;
}

int main(void) {
    static const layer layers[] = {{32, 160}, {16, 320}, {8, 640}};
    static const char *const kinds[] = {"forward", "data gradient", "weight gradient"};
    vg_backend_options options = {.compute = VG_COMPUTE_BF16, .acceleration = VG_ACCELERATE_NEVER};
    vg_backend *b;
    if (vg_backend__open(&b, "cuda", &options) != VG_OK)
        fail("opening the GPU");
    cuda_conv_places places = {operand(1), operand(2), operand(3), operand(4)};
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int addend = 0; addend <= (kind == CUDA_CONV_FORWARD); addend++) {
                int64_t w = layers[i].width, c = layers[i].channels;
                cuda_conv_key key = {kind, 128, c, w, w, c, 3, 3, w, w, 1, 1, addend, kind == CUDA_CONV_WEIGHTS};
                if (!vg_cuda__hopper_serves(b, &key))
                    fail("the Hopper kernels do not serve this GPU");
                double own = time_of(b, &key, &places, true), flops = 2.0 * 9 * 128 * (double)(w * w * c * c);
                key.wide = 0; /* cuDNN writes weight gradients in bfloat16 */
                printf("{\"bench\": \"hopper\", \"layer\": \"%s%s %dx%d %d to %d\", \"us\": %.1f, \"tflops\": %.0f, "
                       "\"cudnn_us\": %.1f, \"device\": \"%s\"}\n",
                       kinds[kind], addend ? " + addend" : "", (int)w, (int)w, (int)c, (int)c, own, flops / own * 1e-6,
                       time_of(b, &key, &places, false), b->device);
                fflush(stdout);
            }
    vg_backend__close(b);
    return 0;
}
#endif
