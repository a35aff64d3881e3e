/* member_figures.c - see member_figures.h. The sums over classes are those of calibration (softmax_rows.h), the pairs
 * of members those of the measures (disagreement.h). */
#include "nn/member_figures.h"

#include <math.h>

#include "calibrate/softmax_rows.h"
#include "measures/disagreement.h"

enum { SAMPLES_PER_TASK = 16 };

typedef struct figures_task {
    const vg_member_figures *out;
    const vg_member_logits *in;
    const vg_softmax_kernels *kernels;
    vg_predictions view; /* of the same logits */
} figures_task;

static double sample_loss(const figures_task *task, size_t n) {
    const vg_member_logits *in = task->in;
    size_t label = (size_t)in->labels[n];
    double sum = 0;
    for (size_t m = 0; m < in->members; m++) {
        const float *z = in->logits + (n * in->members + m) * in->classes;
        vg_row_sums row;
        task->kernels->sums_f32(&row, z, in->classes, 1.0);
        sum += log(row.s0) + (row.top - (double)z[label]);
    }
    return sum / (double)in->members;
}

static vg_status run_task(void *context, size_t index, unsigned worker) {
    const figures_task *task = context;
    size_t first = index * SAMPLES_PER_TASK, end = first + SAMPLES_PER_TASK;
    uint32_t *work = task->out->work + worker * (task->in->members + task->in->classes);
    for (size_t n = first; n < end && n < task->in->n; n++) {
        task->out->disagreement[n] = vg_disagreement__sample(&task->view, n, work);
        if (task->out->loss)
            task->out->loss[n] = sample_loss(task, n);
    }
    return VG_OK;
}

vg_status vg_member_figures__batch(const vg_member_figures *out, const vg_member_logits *in, vg_pool *pool) {
    figures_task task = {.out = out,
                         .in = in,
                         .kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier()),
                         .view = vg_predictions_f32(in->logits, in->n, in->members, in->classes)};
    return vg_pool__run(pool, (in->n + SAMPLES_PER_TASK - 1) / SAMPLES_PER_TASK, run_task, &task);
}
