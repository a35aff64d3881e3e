/* cuda_loss.c - columns of logits, the loss, and its totals that accumulate on the device. */
#include "backend/cuda/head_gate.h"

vg_status vg_cuda__loss(vg_backend *b, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                        const vg_tensor *addend, const vg_tensor *labels, const vg_tensor *weights) {
    cuda_context *c = cuda_of(b);
    unsigned char *work;
    if (loss->form == VG_LOSS_GATED)
        return vg_cuda__gated_loss(b, loss, dlogits, logits, addend, labels);
    if ((loss->heads + loss->classes) * sizeof(float) > (size_t)40 << 10)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: %zu heads of %zu classes are more than the loss supports",
                             loss->heads, loss->classes);
    if (dlogits)
        VG_TRY(vg_cuda__writes(b, dlogits));
    VG_TRY(vg_cuda__scratch(c, &work, logits->n * (sizeof(double) + sizeof(unsigned))));
    cuda_loss_work w = {.logits = cuda_t(logits)->data,
                        .addend = addend ? cuda_t(addend)->data : NULL,
                        .weights = weights ? cuda_t(weights)->data : NULL,
                        .labels = cuda_t(labels)->data,
                        .dlogits = dlogits ? cuda_t(dlogits)->data : NULL,
                        .twin = dlogits ? cuda_t(dlogits)->twin : NULL,
                        .twin_row = dlogits ? cuda_t(dlogits)->twin_row : 0,
                        .rows = logits->n,
                        .heads = loss->heads,
                        .classes = loss->classes,
                        .mixture = loss->form == VG_LOSS_MIXTURE,
                        .targets = loss->smoothing > 0 || loss->class_weights,
                        .smoothing = loss->smoothing,
                        .class_weights = loss->class_weights ? cuda_t(loss->class_weights)->data : NULL,
                        .row_loss = (double *)work,
                        .row_right = (unsigned *)(work + logits->n * sizeof(double)),
                        .counter = c->counters,
                        .totals = c->totals,
                        .step = c->step};
    vg_cuda__k_loss(c->stream, &w);
    if (dlogits)
        cuda_t(dlogits)->twin_valid = cuda_t(dlogits)->twin != NULL;
    return vg_cuda__launched("loss");
}

vg_status vg_cuda__copy_columns(vg_backend *b, vg_tensor *y, size_t y_at, const vg_tensor *x, size_t x_at,
                                size_t count) {
    const size_t value = sizeof(float);
    VG_TRY(vg_cuda__writes(b, y));
    cuda_t(y)->twin_valid = false;
    return vg_cuda__check(cudaMemcpy2DAsync((float *)cuda_t(y)->data + y_at, cuda_t(y)->row * value,
                                            (const float *)cuda_t(x)->data + x_at, cuda_t(x)->row * value,
                                            count * value, x->n, cudaMemcpyDeviceToDevice, cuda_of(b)->stream),
                          "copying columns");
}

vg_status vg_cuda__loss_read(vg_backend *b, vg_loss_totals *totals) {
    cuda_context *c = cuda_of(b);
    VG_TRY(vg_cuda__check(
        cudaMemcpyAsync(c->totals_host, c->totals, sizeof *c->totals_host, cudaMemcpyDeviceToHost, c->stream),
        "reading the loss"));
    VG_TRY(vg_cuda__check(
        cudaMemcpyAsync(c->totals, c->totals_host + 1, sizeof *c->totals_host, cudaMemcpyHostToDevice, c->stream),
        "clearing the loss"));
    VG_TRY(vg_cuda__check(cudaStreamSynchronize(c->stream), "waiting for the device"));
    totals->loss = c->totals_host->loss;
    totals->rows = c->totals_host->rows;
    totals->correct = c->totals_host->correct;
    totals->bad_step = c->totals_host->bad_step;
    return VG_OK;
}

vg_status vg_cuda__totals_new(cuda_context *c) {
    VG_TRY(vg_cuda__alloc(c, &c->totals, sizeof *c->totals, true, "loss totals"));
    VG_TRY(vg_cuda__check(cudaMallocHost((void **)&c->totals_host, 2 * sizeof *c->totals_host), "pinned memory"));
    c->totals_host[0] = c->totals_host[1] = (cuda_totals){0, 0, 0, -1};
    return vg_cuda__copy(c, c->totals, c->totals_host + 1, sizeof *c->totals, cudaMemcpyHostToDevice, "loss totals");
}
