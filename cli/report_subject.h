/* report_subject.h - what a report is about, read from a prediction file or from scores that `vargate score -o` wrote. */
#ifndef CLI_REPORT_SUBJECT_H
#define CLI_REPORT_SUBJECT_H

#include "score_bridge.h"
#include "vargate/evaluate.h"
#include "vargate/report.h"

typedef struct report_subject {
    const char *path;
    size_t n, m, c; /* m 0: the file does not tell */
    bool is_scores; /* the file holds scores */
    bool logits;
    double *k;
    size_t k_count;
    vg_columns *columns;
    vg_measure *measures;
    size_t measure_count;
    vg_report_rows *rows; /* NULL for an OOD set */
    int64_t *labels;      /* NULL: none */
    vg_score_summary summary;
    vg_evaluation *evaluation; /* NULL without labels */
} report_subject;

/* Reads and scores `path`; labels from --labels or the file. for_ood: measures alone. Returns an exit code; free also then. */
int report_subject_read(report_subject *out, const score_options *options, const char *path, bool for_ood);
void report_subject_free(report_subject *subject);

/* Figures of the same predictions at the options' temperature (NULL: none), without measures. */
int report_subject_evaluate_at(vg_evaluation **out, const score_options *options, const char *path, const char *temperature);

/* The tally's figures and the measures' rankings with curves for the page. */
int report_subject_evaluate(vg_evaluation **out, const report_subject *subject, const vg_tally *tally, unsigned threads);

/* From scores: see report_scores.c. */
bool report_scores_holds(const char *path);
int report_scores_read(report_subject *out, const score_options *options, bool for_ood);

#endif
