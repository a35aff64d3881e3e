/* monitor.h - the figures of an epoch over the validation set, added up batch by batch. Internal.
 *
 *     vg_monitor__new(&monitor, &options);
 *     for every batch: vg_monitor__feed(monitor, logits, labels, n);
 *     vg_monitor__figures(monitor, &metrics);
 *
 * The scorer (measures) and the tally (evaluate) compute everything that they define: diversity, k-sensitivity and the
 * figures of the verdict; accuracy, ECE and the NLL of the mixture. They are therefore the figures that `vargate score`
 * and `vargate evaluate` give for the same logits. The monitor adds the members' mean cross-entropy, and takes the
 * disagreement from every sample where the scorer takes it from a selection, because it decides the collapse alarm.
 * Results do not depend on the number of threads or on how the set is cut into batches. A monitor serves one caller at
 * a time. With the gate of a network that was trained with it, the loss is that of training: ref/ref_gate.c. */
#ifndef VG_MONITOR_H
#define VG_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/nn.h"

typedef struct vg_monitor_options {
    size_t members, classes; /* M, C */
    bool mixture;            /* val_loss is the NLL of the mean probability, not the members' mean cross-entropy */
    double k;                /* gate setting of the k-sensitivity */
    unsigned threads;        /* 0: one per core */
    const double *gates;     /* C: accuracy, ECE and loss are those of the mean of the gated members, with this k for
                                every class, of which k is then a multiple. NULL: of the plain mean. Borrowed */
} vg_monitor_options;

typedef struct vg_monitor vg_monitor;
vg_status vg_monitor__new(vg_monitor **out, const vg_monitor_options *options);
void vg_monitor__free(vg_monitor *monitor);

/* Adds n samples: logits[n][M][C], labels[n] in 0 .. C - 1 (others: VG_ERR_DATA). Logits that are NaN or infinite are
 * no error here, because the training step that follows reports them: the figures are then not numbers. */
vg_status vg_monitor__feed(vg_monitor *monitor, const float *logits, const int32_t *labels, size_t n);

/* Sets the validation figures of `metrics` (val_*, diversity, k_sensitivity, verdict) and no others. Where a logit
 * was not finite they are NaN, the accuracy 0 and the verdict unknown. */
vg_status vg_monitor__figures(const vg_monitor *monitor, vg_epoch_metrics *metrics);

#endif
