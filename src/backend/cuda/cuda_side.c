/* cuda_side.c - the streams beside the main one: the second for weight gradients, the third for Adam of parameters
 * whose gradients are complete early.
 *
 * The main stream has the highest priority and the second the next: where the device cannot run everything at once, the
 * work that the next operation waits for comes before the work that only the end of the step waits for. */
#include "backend/cuda/cuda_backend.h"

vg_status vg_cuda__side_begin(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    if (!c->side)
        return VG_OK;
    VG_TRY(vg_cuda__check(cudaEventRecord(c->fork, c->main), "the second stream"));
    VG_TRY(vg_cuda__check(cudaStreamWaitEvent(c->side, c->fork, 0), "the second stream"));
    c->stream = c->side;
    return vg_cuda__plans_stream(b, c->side);
}

vg_status vg_cuda__side_end(vg_backend *b, const vg_tensor *x, const vg_tensor *dy) {
    cuda_context *c = cuda_of(b);
    if (!c->side)
        return VG_OK;
    c->stream = c->main;
    VG_TRY(vg_cuda__plans_stream(b, c->main));
    /* The ring of events is full, so its oldest event is about to be reused. */
    if (c->side_count - c->side_joined >= CUDA_SIDE_EVENTS)
        VG_TRY(vg_cuda__join_side(b));
    c->side_count++;
    cuda_t(x)->side_read = cuda_t(dy)->side_read = c->side_count;
    return vg_cuda__check(cudaEventRecord(c->read[c->side_count % CUDA_SIDE_EVENTS], c->side), "the second stream");
}

/* Waits for the operations up to number `count`; they run in order. */
static vg_status wait_for(cuda_context *c, uint64_t count) {
    if (count <= c->side_joined)
        return VG_OK;
    c->side_joined = count;
    return vg_cuda__check(cudaStreamWaitEvent(c->main, c->read[count % CUDA_SIDE_EVENTS], 0), "the second stream");
}

vg_status vg_cuda__join_side(vg_backend *b) { return wait_for(cuda_of(b), cuda_of(b)->side_count); }

vg_status vg_cuda__join(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    VG_TRY(vg_cuda__join_side(b));
    if (!c->late_busy)
        return VG_OK;
    c->late_busy = false;
    return vg_cuda__check(cudaStreamWaitEvent(c->main, c->late_done, 0), "the third stream");
}

vg_status vg_cuda__writes(vg_backend *b, const vg_tensor *t) { return wait_for(cuda_of(b), cuda_t(t)->side_read); }

vg_status vg_cuda__late_begin(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    if (!c->late)
        return vg_cuda__join_side(b);
    VG_TRY(vg_cuda__check(cudaEventRecord(c->fork, c->main), "the third stream"));
    VG_TRY(vg_cuda__check(cudaStreamWaitEvent(c->late, c->fork, 0), "the third stream"));
    if (c->side_count > c->side_joined)
        VG_TRY(vg_cuda__check(cudaStreamWaitEvent(c->late, c->read[c->side_count % CUDA_SIDE_EVENTS], 0),
                              "the third stream"));
    c->late_busy = true;
    c->stream = c->late;
    return VG_OK;
}

vg_status vg_cuda__late_end(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    c->stream = c->main;
    return c->late ? vg_cuda__check(cudaEventRecord(c->late_done, c->late), "the third stream") : VG_OK;
}

/* `level` 0 has the highest priority. */
static vg_status make_stream(cudaStream_t *out, int level) {
    int least = 0, greatest = 0;
    VG_TRY(vg_cuda__check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "querying the device"));
    int most = least - 2 > greatest ? least - 2 : greatest, priority = most + level < least ? most + level : least;
    return vg_cuda__check(cudaStreamCreateWithPriority(out, cudaStreamNonBlocking, priority), "making a stream");
}

vg_status vg_cuda__streams_open(cuda_context *c, unsigned streams) {
    unsigned count = streams ? streams : 3;
    VG_TRY(make_stream(&c->main, 0));
    c->stream = c->main;
    if (count < 2)
        return VG_OK;
    VG_TRY(make_stream(&c->side, 1));
    VG_TRY(vg_cuda__check(cudaEventCreateWithFlags(&c->fork, cudaEventDisableTiming), "making an event"));
    for (int i = 0; i < CUDA_SIDE_EVENTS; i++)
        VG_TRY(vg_cuda__check(cudaEventCreateWithFlags(&c->read[i], cudaEventDisableTiming), "making an event"));
    if (count < 3)
        return VG_OK;
    VG_TRY(make_stream(&c->late, 2));
    return vg_cuda__check(cudaEventCreateWithFlags(&c->late_done, cudaEventDisableTiming), "making an event");
}

void vg_cuda__streams_close(cuda_context *c) {
    cudaStream_t streams[] = {c->side, c->late, c->main};
    for (int i = 0; i < 3; i++)
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    if (c->fork)
        cudaEventDestroy(c->fork);
    if (c->late_done)
        cudaEventDestroy(c->late_done);
    for (int i = 0; i < CUDA_SIDE_EVENTS; i++)
        if (c->read[i])
            cudaEventDestroy(c->read[i]);
}
