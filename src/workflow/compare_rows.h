/* compare_rows.h - one input of a comparison: its figures, and the data of paired tests. Internal. */
#ifndef VG_WORKFLOW_COMPARE_ROWS_H
#define VG_WORKFLOW_COMPARE_ROWS_H

#include <stdbool.h>

#include "evaluate/paired.h"
#include "vargate/compare.h"
#include "workflow/report_files.h"

/* The columns of the table. */
typedef enum vg_compare_figure {
    VG_COMPARE_ACCURACY,
    VG_COMPARE_F1,
    VG_COMPARE_ECE,
    VG_COMPARE_NLL,
    VG_COMPARE_BRIER,
    VG_COMPARE_DIVERSITY,
    VG_COMPARE_AURC,
    VG_COMPARE_AUROC,
    VG_COMPARE_OOD,
    VG_COMPARE_FIGURES
} vg_compare_figure;

enum { VG_COMPARE_CURVE = 100 }; /* points of a risk-coverage curve */

typedef struct vg_compare_row {
    vg_compared shown; /* the public part; its texts and arrays are those below */
    char *name, *path;
    const char *variant; /* distinguishes the rows of one input: "", "calibrated", "mcd-lle" */
    char measure[VG_NAME_SIZE];
    double curve[VG_COMPARE_CURVE]; /* of the measure; shown.curve_points is 0 without one */
    bool multilabel;
    vg_estimate figures[VG_COMPARE_FIGURES];
    /* Of predictions: */
    int64_t *labels;
    size_t label_count;
    char **class_names; /* `classes` names; NULL: not known */
    size_t classes;
    uint8_t *errors; /* rows: samples, or (sample, label) pairs */
    size_t rows;
    double *replicates; /* resamples x VG_PAIRED_FIGURES; NULL without a bootstrap */
    size_t images;      /* whose sites are the rows, without labels and errors; 0: rows are samples */
    uint64_t digest;    /* of the label maps of images */
    /* OOD sets of a run. */
    char **ood_names;
    double *ood_auroc;
    vg_report_epochs epochs; /* of a run's first row; empty without metrics.jsonl */
} vg_compare_row;

typedef struct vg_compare_rows {
    vg_compare_row *items;
    size_t count, room;
} vg_compare_rows;

/* Appends the rows of one input: a run folder, a file of predictions, a JSON document. Rows are released by
 * vg_compare_rows__free, also after a failure. */
vg_status vg_compare_rows__add(vg_compare_rows *rows, const char *path, const vg_input_options *input,
                               const vg_compare_options *options);
/* Names every row after the end of its path, as short as tells it from the others, and its variant. */
vg_status vg_compare_rows__name(vg_compare_rows *rows);
void vg_compare_rows__free(vg_compare_rows *rows);

#endif
