/* sample_measures.h - every measure of a file as columns with one value a sample, whatever the task. */
#ifndef CLI_SAMPLE_MEASURES_H
#define CLI_SAMPLE_MEASURES_H

#include "score_options.h"
#include "vargate/evaluate.h"

typedef struct sample_measures {
    size_t n, c, count;
    vg_measure *list; /* count; multilabel: mean over the labels, then the max as NAME_max (gtu_max@1; snr_min) */
    vg_columns *columns;
    double *folded; /* multilabel: the columns' memory */
} sample_measures;

/* Scores the file; its labels are not read. Returns an exit code. */
int sample_measures_read(sample_measures *out, const score_options *options, const char *path);
void sample_measures_free(sample_measures *measures);

#endif
