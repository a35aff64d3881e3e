/* map_data.h - predictions in memory for the fit of calibration maps, and figures of calibrated ones. Internal. */
#ifndef VG_CALIBRATE_MAP_DATA_H
#define VG_CALIBRATE_MAP_DATA_H

#include "calibrate/calibrate_data.h"
#include "calibrate/map.h"

typedef struct vg_map_data {
    size_t n, m, c;
    const int64_t *labels;
    vg_pool *pool;
    bool logits;
    double *x;      /* n m c: the rows as given */
    double *mean;   /* n c: their mean over members as probabilities; only where a map of the mean is fitted */
    vg_units units; /* those of the logits, borrowed */
} vg_map_data;

/* Reads all predictions and checks them. Freed with vg_map_data__stop, also after a failure. */
vg_status vg_map_data__start(vg_map_data *out, vg_logits *logits, bool are_logits, bool mean);
void vg_map_data__stop(vg_map_data *data);

/* Figures of the predictions with sample n at the map of its fold (NULL: uncalibrated); those of each sample into
 * `samples`. */
vg_status vg_map_data__measure(vg_calibration_metrics *out, vg_sample_figures *samples, const vg_map_data *data,
                               vg_calibration_map *const *maps, size_t folds, unsigned bins);

#endif
