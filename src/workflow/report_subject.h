/* report_subject.h - the subject of a report, read from a prediction file or from scores that `vargate score -o`
 * wrote. Internal. */
#ifndef VG_WORKFLOW_REPORT_SUBJECT_H
#define VG_WORKFLOW_REPORT_SUBJECT_H

#include "evaluate/whole_columns.h"
#include "report/report.h"
#include "vargate/evaluate.h"
#include "vargate/workflow.h"
#include "workflow/prediction_input.h"
#include "workflow/site_report.h"

typedef struct vg_report_subject {
    const char *path;   /* borrowed */
    size_t n, m, c;     /* rows of the report; m 0: the file does not tell; c 2 in multilabel mode */
    size_t label_count; /* of a sample, in multilabel mode, where a row is a (sample, label) pair; else 0 */
    bool is_scores;     /* the file holds scores */
    bool logits;
    double *k;
    size_t k_count;
    double *class_k; /* a k for every class or label; NULL: none */
    vg_columns *columns;
    vg_measure *measures;
    size_t measure_count;
    vg_report_rows *rows; /* NULL for an OOD set */
    int64_t *labels;      /* NULL: none */
    vg_score_summary summary;
    const vg_evaluation *evaluation; /* NULL without labels; belongs to one of the next two */
    vg_evaluation *own_evaluation;   /* of scores */
    vg_evaluation_result *evaluated; /* of predictions: what `vargate evaluate` says of them */
    vg_site_report sites; /* of images, whose sites are the rows: a sample of them is held, all are counted */
    bool is_sites;
    char *sets;                /* figures of prediction sets as JSON; NULL: none */
    char **class_names, **ids; /* of classes or labels, and of samples; NULL: the file has none */
} vg_report_subject;

/* What is read, and how. All borrowed. */
typedef struct vg_report_source {
    const char *path;
    const vg_input_options *options;
    const vg_job *job;
    bool for_ood;            /* measures alone, no labels */
    const char *calibration; /* predictions that prediction sets are calibrated on; NULL: half of the samples */
} vg_report_source;

/* How many classes or labels, and samples, a subject has names for. */
size_t vg_report_subject__names(const vg_report_subject *subject);
size_t vg_report_subject__samples(const vg_report_subject *subject);

/* Reads and scores the file; labels from options->labels or the file. Free the subject also after a failure. */
vg_status vg_report_subject__read(vg_report_subject *out, const vg_report_source *source);
void vg_report_subject__free(vg_report_subject *subject);

/* Figures of the source's predictions at a temperature (as in vg_input_options; NULL: none), without measures. */
vg_status vg_report_subject__evaluate_at(vg_evaluation **out, const vg_report_source *source, const char *temperature);

/* The tally's figures and the measures' rankings with curves for the page. */
vg_status vg_report_subject__evaluate(vg_evaluation **out, const vg_report_subject *subject, const vg_tally *tally,
                                      unsigned threads, const vg_job *job);

/* What `vargate evaluate` says of the input, with curves for the page; nothing where it has no labels. */
vg_status vg_report_subject__judge(vg_report_subject *subject, vg_score_input *in);

/* From scores: see report_scores.c. */
bool vg_report_scores__holds(const char *path);
vg_status vg_report_scores__read(vg_report_subject *out, const vg_report_source *source);

#endif
