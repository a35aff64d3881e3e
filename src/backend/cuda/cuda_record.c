/* cuda_record.c - a step as a CUDA graph: captured from the stream once, launched as a whole after that. */
#include "backend/cuda/cuda_record.h"

struct vg_recording {
    cudaGraphExec_t graph;
};

vg_status vg_cuda__record_begin(vg_backend *b) {
    cuda_context *c = cuda_of(b);
    VG_TRY(vg_cuda__join(b));
    VG_TRY(vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device"));
    VG_TRY(vg_cuda__check(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal), "recording"));
    c->recording = true;
    return VG_OK;
}

vg_status vg_cuda__record_end(vg_backend *b, vg_recording **out) {
    cuda_context *c = cuda_of(b);
    cudaGraph_t graph = NULL;
    vg_recording *recording = NULL;
    if (out)
        *out = NULL;
    vg_cuda__join(b);
    c->recording = false;
    vg_status status = vg_cuda__check(cudaStreamEndCapture(c->stream, &graph), "recording");
    if (status == VG_OK && out)
        status = vg_base__zalloc(&recording, 1, sizeof *recording, "recording");
    if (status == VG_OK && out) {
        status = vg_cuda__check(cudaGraphInstantiate(&recording->graph, graph, cudaGraphInstantiateFlagUseNodePriority),
                                "recording");
        if (status == VG_OK)
            status = vg_cuda__check(cudaGraphUpload(recording->graph, c->stream), "recording");
        c->recordings++;
        if (status == VG_OK)
            *out = recording;
        else
            vg_cuda__recording_free(b, recording);
    }
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

vg_status vg_cuda__replay(vg_backend *b, const vg_recording *recording) {
    return vg_cuda__check(cudaGraphLaunch(recording->graph, cuda_of(b)->stream), "a recorded step");
}

void vg_cuda__recording_free(vg_backend *b, vg_recording *recording) {
    if (!recording)
        return;
    cuda_of(b)->recordings--;
    bool alive =
        /* otherwise the device failed and nothing can be freed on it */
        cudaStreamSynchronize(cuda_of(b)->stream) == cudaSuccess;
    if (recording->graph && alive)
        cudaGraphExecDestroy(recording->graph);
    vg_base__release(recording);
}
