/* sample_measures.h - every measure of a file as columns with one value per sample, for every task. */
#ifndef VG_WORKFLOW_SAMPLE_MEASURES_H
#define VG_WORKFLOW_SAMPLE_MEASURES_H

#include "evaluate/whole_columns.h"
#include "vargate/evaluate.h"
#include "workflow/prediction_input.h"

typedef struct vg_sample_measures {
    size_t n, c, count;
    unsigned threads; /* as the options ask for */
    bool sites;       /* samples are the sites of images */
    vg_measure *list; /* count; multilabel: mean over the labels, then the max as NAME_max (gtu_max@1; snr_min) */
    vg_columns *columns;
    double *folded; /* multilabel: the columns' memory */
} vg_sample_measures;

/* Scores the file; its labels are not read. */
vg_status vg_sample_measures__read(vg_sample_measures *out, const char *path, const vg_input_options *options,
                                   const vg_job *job);
void vg_sample_measures__free(vg_sample_measures *measures);

#endif
