/* monitor.h - figures of an epoch over the validation set, added up batch by batch. Internal. */
#ifndef VG_MONITOR_H
#define VG_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"

enum { VG_MONITOR_BINS = 15 };

typedef struct vg_monitor {
    size_t members, classes;
    bool mixture; /* loss of the mean probability, not the mean loss of members */
    double k;     /* gate of the k-sensitivity */
    /* sums */
    size_t n, correct;
    double loss, variance, entropy, gated_entropy;
    double total, disagreement, abstained; /* for the verdict: vg_score_summary */
    double bin_confidence[VG_MONITOR_BINS];
    size_t bin_count[VG_MONITOR_BINS], bin_correct[VG_MONITOR_BINS];
} vg_monitor;

/* logits[n][M][C], labels[n]; work: (M + 3) * C doubles. */
void vg_monitor__add(vg_monitor *monitor, const float *logits, const int32_t *labels, size_t n, double *work);
double vg_monitor__ece(const vg_monitor *monitor);
/* D: mean over samples and classes of the variance over members. */
double vg_monitor__diversity(const vg_monitor *monitor);
/* The figures above as a scoring run over the same logits would give them. */
vg_score_summary vg_monitor__summary(const vg_monitor *monitor);
/* 1 - mean(gated total uncertainty) / mean(total uncertainty). */
double vg_monitor__k_sensitivity(const vg_monitor *monitor);

#endif
