/* calibrate_data.h - sweeps over validation logits, block by block: losses and derivatives, and calibration metrics.
 * Internal.
 *
 * A sweep visits all N samples once. Samples are cut into chunks whose size depends on M and C alone. Each chunk is
 * summed by one thread, and chunk sums are added in order, so that results do not depend on the number of threads
 * nor on the memory layout of the logits. */
#ifndef VG_CALIBRATE_DATA_H
#define VG_CALIBRATE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "calibrate/softmax_rows.h"
#include "calibrate/units.h"
#include "vargate/calibrate.h"

/* Where logits and labels come from. */
typedef struct vg_logits_source {
    vg_logits_block_fn block;
    void *context;
    size_t n, m, c;
    const int64_t *labels; /* n */
} vg_logits_source;

/* Logits during sweeps: the source, and the working memory. */
typedef struct vg_logits {
    vg_logits_block_fn block;
    void *context;
    size_t n, m, c;
    const int64_t *labels; /* n */
    size_t chunk;          /* samples per chunk */
    vg_pool *pool;
    const vg_softmax_kernels *kernels;
    double *scratch; /* threads x 3 c: a row widened, its exponentials, the mean over members */
    vg_units units;  /* owned */
    /* 0: no folds. Otherwise samples of `fold` are left out of losses, and metrics use b of their own fold, */
    size_t folds;
    size_t fold;                    /* b[fold of n][m] */
    struct vg_sample_figures *keep; /* filled by measuring sweeps; NULL: not */
} vg_logits;

/* Figures of the mean distribution of every sample: its NLL, its confidence minus 1 where it is right, and its bin. */
typedef struct vg_sample_figures {
    double *nll, *gap;
    uint16_t *bin;
} vg_sample_figures;
/* Allocates the figures of n samples twice, `was` and `is`. Released with vg_sample_figures__free(was). */
vg_status vg_sample_figures__new(vg_sample_figures *was, vg_sample_figures *is, size_t n);
void vg_sample_figures__free(vg_sample_figures *was);
/* After vg_sample_figures__compare: gives the NLLs to the result if the fit succeeded. result may be NULL. */
void vg_sample_figures__give(vg_sample_figures *was, vg_calibration *result, vg_status status);
/* held_out_nll_error, nll_change and ece_change of a result from the figures of its samples before and held out. */
vg_status vg_sample_figures__compare(vg_calibration *result, const vg_units *units, const vg_sample_figures *was,
                                     const vg_sample_figures *is);

/* Mean loss of one member (or of all) at b, and its derivatives in units of b. */
typedef struct vg_temperature_loss {
    double loss;  /* L */
    double slope; /* b dL/db */
    double bend;  /* b^2 d2L/db2 */
} vg_temperature_loss;

/* Prepares sweeps; checks shapes and labels. Free with vg_logits__stop. */
vg_status vg_logits__start(vg_logits *out, const vg_logits_source *source, vg_pool *pool);
void vg_logits__stop(vg_logits *logits);

/* A block function for logits that are in memory as a whole: context is a const vg_predictions *. */
vg_status vg_logits__view_block(void *context, size_t first, size_t rows, vg_predictions *view);

/* One sweep: losses of member m at b[m] into out[m], for the members with active[m] (NULL: all). Other entries are
 * not changed. */
vg_status vg_logits__losses(vg_logits *logits, const double *b, const bool *active, vg_temperature_loss *out);

/* A subset of samples kept in memory: every stride-th, as float32. */
typedef struct vg_subsample {
    size_t stride, n;
    float *z;        /* n m c */
    int64_t *labels; /* n */
} vg_subsample;

/* One sweep that checks every logit and measures the predictions at b[m]. losses[m] and excess[m] (sum over samples of
 * max_c z - z_y: 0 when every label has the largest logit) may be NULL, and so may `keep`, which is filled. */
vg_status vg_logits__measure(vg_logits *logits, const double *b, unsigned bins, vg_calibration_metrics *out,
                             vg_temperature_loss *losses, double *excess, vg_subsample *keep);

/* --- shared by the two sweeps ----------------------------------------------------------------------------------- */
/* One sweep: `body` sums the samples first .. first + rows - 1 of `view` (numbered from `origin` on) into
 * sums[width], zeroed. */
typedef vg_status (*vg_chunk_body)(void *context, double *sums, double *scratch, const vg_predictions *view,
                                   size_t first, size_t rows, size_t origin);
vg_status vg_logits__sweep(vg_logits *logits, size_t width, double *total, vg_chunk_body body, void *context);
/* Row (n, m) of a view, contiguous: in place (float32 when *f32, else float64) or widened into `wide`. */
const void *vg_logits__row(const vg_predictions *view, size_t n, size_t m, double *wide, bool *f32);

#endif
