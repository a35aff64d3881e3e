/* report_subject.h - what a report is about, read from a prediction file or from scores that `vargate score -o` wrote.
 * Internal. */
#ifndef VG_WORKFLOW_REPORT_SUBJECT_H
#define VG_WORKFLOW_REPORT_SUBJECT_H

#include "evaluate/whole_columns.h"
#include "report/report.h"
#include "vargate/evaluate.h"
#include "workflow/prediction_input.h"

typedef struct vg_report_subject {
    const char *path; /* borrowed */
    size_t n, m, c;   /* m 0: the file does not tell */
    bool is_scores;   /* the file holds scores */
    bool logits;
    double *k;
    size_t k_count;
    double *class_k; /* c: a k for every class; NULL: none */
    vg_columns *columns;
    vg_measure *measures;
    size_t measure_count;
    vg_report_rows *rows; /* NULL for an OOD set */
    int64_t *labels;      /* NULL: none */
    vg_score_summary summary;
    vg_evaluation *evaluation; /* NULL without labels */
    char **class_names, **ids; /* c and n, or NULL: the file has none */
} vg_report_subject;

/* What is read, and how. All borrowed. */
typedef struct vg_report_source {
    const char *path;
    const vg_input_options *options;
    const vg_job *job;
    bool for_ood; /* measures alone, no labels */
} vg_report_source;

/* Reads and scores the file; labels from options->labels or the file. Free the subject also after a failure. */
vg_status vg_report_subject__read(vg_report_subject *out, const vg_report_source *source);
void vg_report_subject__free(vg_report_subject *subject);

/* Figures of the source's predictions at a temperature (as in vg_input_options; NULL: none), without measures. */
vg_status vg_report_subject__evaluate_at(vg_evaluation **out, const vg_report_source *source, const char *temperature);

/* The tally's figures and the measures' rankings with curves for the page. */
vg_status vg_report_subject__evaluate(vg_evaluation **out, const vg_report_subject *subject, const vg_tally *tally,
                                      unsigned threads, const vg_job *job);

/* From scores: see report_scores.c. */
bool vg_report_scores__holds(const char *path);
vg_status vg_report_scores__read(vg_report_subject *out, const vg_report_source *source);

#endif
