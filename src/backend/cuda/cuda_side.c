/* cuda_side.c - the second queue, for weight gradients. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_backend.h"

vg_status vg_cuda__side_begin(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    if (!c->side)
        return VG_OK;
    VG_TRY(vg_cuda__check(cudaEventRecord(c->fork, c->main), "a second queue"));
    VG_TRY(vg_cuda__check(cudaStreamWaitEvent(c->side, c->fork, 0), "a second queue"));
    c->stream = c->side;
    return vg_cuda__plans_stream(b, c->side);
}

vg_status vg_cuda__side_end(vg_backend *b, const vg_tensor *x, const vg_tensor *dy) {
    cuda_context *c = cuda_of(b);
    if (!c->side)
        return VG_OK;
    c->stream = c->main;
    VG_TRY(vg_cuda__plans_stream(b, c->main));
    if (c->side_count - c->side_joined >= CUDA_SIDE_EVENTS) /* the ring is full: its oldest event is to be used again */
        VG_TRY(vg_cuda__join(b));
    c->side_count++;
    cuda_t(x)->side_read = cuda_t(dy)->side_read = c->side_count;
    return vg_cuda__check(cudaEventRecord(c->read[c->side_count % CUDA_SIDE_EVENTS], c->side), "a second queue");
}

/* Waits for operations up to number `count`: they run in order. */
static vg_status wait_for(cuda_context *c, uint64_t count) {
    if (count <= c->side_joined)
        return VG_OK;
    c->side_joined = count;
    return vg_cuda__check(cudaStreamWaitEvent(c->main, c->read[count % CUDA_SIDE_EVENTS], 0), "a second queue");
}

vg_status vg_cuda__join(vg_backend *b) { return wait_for(cuda_of(b), cuda_of(b)->side_count); }

vg_status vg_cuda__writes(vg_backend *b, const vg_tensor *t) { return wait_for(cuda_of(b), cuda_t(t)->side_read); }

vg_status vg_cuda__side_open(cuda_context *c) {
    const char *wanted = getenv("VARGATE_CUDA_QUEUES");
    if (wanted && strcmp(wanted, "1") == 0)
        return VG_OK;
    VG_TRY(vg_cuda__check(cudaStreamCreateWithFlags(&c->side, cudaStreamNonBlocking), "making a stream"));
    VG_TRY(vg_cuda__check(cudaEventCreateWithFlags(&c->fork, cudaEventDisableTiming), "making an event"));
    for (int i = 0; i < CUDA_SIDE_EVENTS; i++)
        VG_TRY(vg_cuda__check(cudaEventCreateWithFlags(&c->read[i], cudaEventDisableTiming), "making an event"));
    return VG_OK;
}

void vg_cuda__side_close(cuda_context *c) {
    if (c->side)
        cudaStreamDestroy(c->side);
    if (c->fork)
        cudaEventDestroy(c->fork);
    for (int i = 0; i < CUDA_SIDE_EVENTS; i++)
        if (c->read[i])
            cudaEventDestroy(c->read[i]);
}
