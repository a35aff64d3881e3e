/* cuda_gate.c - the gated loss: its kernel's operands. */
#include "backend/cuda/head_gate.h"

vg_status vg_cuda__gated_loss(vg_backend *b, const vg_head_loss *loss, vg_tensor *dlogits, const vg_tensor *logits,
                              const vg_tensor *addend, const vg_tensor *labels) {
    cuda_context *c = cuda_of(b);
    const size_t rows = logits->n;
    double *work;
    if (cuda_gate_room(loss->heads, loss->classes) * sizeof(double) > (size_t)40 << 10)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "cuda: %zu heads of %zu classes are more than the gated loss supports",
                             loss->heads, loss->classes);
    if (dlogits)
        VG_TRY(vg_cuda__writes(b, dlogits));
    VG_TRY(vg_cuda__scratch(c, &work, rows * (2 + loss->classes) * sizeof(double)));
    cuda_gate_work w = {.logits = cuda_t(logits)->data,
                        .addend = addend ? cuda_t(addend)->data : NULL,
                        .labels = cuda_t(labels)->data,
                        .l = cuda_b(loss->theta)->data + loss->gate->offset,
                        .dlogits = dlogits ? cuda_t(dlogits)->data : NULL,
                        .dl = dlogits ? cuda_b(loss->grad)->data + loss->gate->offset : NULL,
                        .rows = rows,
                        .heads = loss->heads,
                        .classes = loss->classes,
                        .row_loss = work,
                        .row_right = work + rows,
                        .row_dk = work + 2 * rows,
                        .counter = c->counters,
                        .totals = c->totals,
                        .step = c->step};
    vg_cuda__k_gated_loss(c->stream, &w);
    if (dlogits) {
        cuda_t(dlogits)->twin_valid = false;
        loss->grad->version++;
    }
    return vg_cuda__launched("gated loss");
}
