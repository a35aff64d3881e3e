/* older_api.h - the interface as a program compiled against an older header sees it.
 *
 * Nothing of include/vargate is used here: the structs of options are declared again, each without its last fields,
 * with _INIT macros that give the smaller sizes. A field that is missing here starts at or after the end of the
 * older struct, never in its padding: that is the rule by which structs grow. */
#ifndef VG_TESTS_OLDER_API_H
#define VG_TESTS_OLDER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int vg_status; /* 0: VG_OK, 1: VG_ERR_ARGUMENT */
extern const char *vg_error_message(void);

typedef struct vg_predictions {
    const void *data;
    int dtype;
    size_t n, m, c;
    ptrdiff_t stride_n, stride_m, stride_c;
} vg_predictions;
static inline vg_predictions vg_predictions_f64(const double *data, size_t n, size_t m, size_t c) {
    vg_predictions view = {data, 1, n, m, c, (ptrdiff_t)(m * c), (ptrdiff_t)c, 1};
    return view;
}

/* Without threads and progress. */
typedef struct vg_score_options {
    size_t struct_size;
    int task, logits, renormalise, pairs, sigma_gate, sigma_margin, log_base, normalise, floor_form;
    double floor;
    int gate_eps_form, margin_eps_form;
    double eps;
    const double *k;
    size_t k_count;
    const double *temperature;
    size_t temperature_count;
} vg_score_options;
#define VG_SCORE_OPTIONS_INIT                                                                                          \
    { sizeof(vg_score_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 1e-12, 0, 0, 1e-8, NULL, 0, NULL, 0 }
typedef struct vg_scores {
    double *tu, *au, *eu, *epce, *epkl, *epjs, *gtu, *gau, *geu, *gepce, *gepkl, *gepjs, *gmu, *snr;
    int32_t *pred, *second, *decision;
    double *mean, *std;
    uint32_t *flags;
} vg_scores;
extern vg_status vg_score(vg_scores *out, void *summary, const vg_predictions *p, const vg_score_options *options);
extern vg_status vg_score_options_preset(vg_score_options *options, int preset);

/* Without expected. */
typedef struct vg_tally_options {
    size_t struct_size;
    int task;
    size_t bins;
    double floor;
    int confusion, bootstrap;
} vg_tally_options;
#define VG_TALLY_OPTIONS_INIT                                                                                          \
    { sizeof(vg_tally_options), 0, 15, 1e-12, -1, 0 }
typedef struct vg_tally vg_tally;
extern vg_status vg_tally_new(vg_tally **out, size_t classes, const vg_tally_options *options);
extern vg_status vg_tally_feed(vg_tally *t, const double *mean, const double *std, const int64_t *labels, size_t n);
extern void vg_tally_free(vg_tally *tally);

typedef struct vg_measure {
    char name[32];
    const double *values;
    size_t stride;
    int certainty;
} vg_measure;
typedef struct vg_estimate {
    double value, low, high;
} vg_estimate;

/* Without threads and progress. */
typedef struct vg_evaluate_options {
    size_t struct_size;
    const double *k;
    size_t k_count;
    const double *coverages;
    size_t coverage_count;
    const double *risks;
    size_t risk_count, curve_points, resamples;
    uint64_t seed;
    double confidence;
} vg_evaluate_options;
#define VG_EVALUATE_OPTIONS_INIT                                                                                       \
    { sizeof(vg_evaluate_options), NULL, 0, NULL, 0, NULL, 0, 0, 0, 1, 0.95 }
/* The beginning of the result: what a program reads that knows no later field. */
typedef struct vg_evaluation {
    size_t struct_size;
    int task;
    size_t n, classes, rows, bins, resamples;
    uint64_t seed;
    double confidence;
    vg_estimate accuracy;
} vg_evaluation;
extern vg_status vg_evaluate(vg_evaluation **out, const vg_tally *tally, const vg_measure *measures, size_t count,
                             const vg_evaluate_options *options);
extern void vg_evaluation_free(vg_evaluation *evaluation);

/* Without rows_per_sample. */
typedef struct vg_auroc_options {
    size_t struct_size;
    double confidence;
} vg_auroc_options;
extern vg_status vg_auroc(vg_estimate *out, const vg_measure *measure, const uint8_t *positive, size_t rows,
                          const vg_auroc_options *options);

/* Without threads and progress. */
typedef struct vg_ood_options {
    size_t struct_size, resamples;
    uint64_t seed;
    double confidence;
} vg_ood_options;
typedef struct vg_ood_row {
    char name[32];
    vg_estimate auroc, aupr_out, aupr_in, fpr95, detection_error;
} vg_ood_row;
extern vg_status vg_ood_evaluate(vg_ood_row *out, const vg_measure *id, size_t id_rows, const vg_measure *ood,
                                 size_t ood_rows, size_t count, const vg_ood_options *options);

/* Without rows_per_sample and what follows it; the result without samples and what follows it. */
typedef struct vg_select_options {
    size_t struct_size;
    double target_risk, target_coverage, confidence;
    const double *grid;
    size_t grid_count;
    int multiplicity;
    size_t starts;
} vg_select_options;
typedef struct vg_selection {
    size_t struct_size;
    int met;
    double threshold;
    size_t rows, kept, errors;
    double coverage, risk, risk_bound, level;
    size_t grid_count, starts;
    int multiplicity;
} vg_selection;
extern vg_status vg_select_threshold(vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                                     const vg_select_options *options);

/* Without bins and what follows it. */
typedef struct vg_calibrate_options {
    size_t struct_size;
    int solver, shared;
    double t_min, t_max, tolerance;
    unsigned max_sweeps, evaluations, initial;
    uint64_t seed;
} vg_calibrate_options;
#define VG_CALIBRATE_OPTIONS_INIT                                                                                      \
    { sizeof(vg_calibrate_options), 0, 0, 0.01, 10.0, 1e-9, 40, 50, 10, 0 }
typedef struct vg_calibration_metrics {
    double nll, ece, member_nll, member_ece, accuracy, member_accuracy;
} vg_calibration_metrics;
/* Without what follows the figures. */
typedef struct vg_calibration {
    size_t struct_size, samples, members, classes;
    int solver, shared;
    size_t count;
    double *temperatures;
    void *newton, *bayes;
    double gap_log_t_median, gap_log_t_max, gap_loss_max;
    unsigned newton_sweeps, bayes_sweeps;
    double newton_passes;
    unsigned bins;
    vg_calibration_metrics before, after;
} vg_calibration;
extern vg_status vg_calibrate(vg_calibration **out, const vg_predictions *logits, const int64_t *labels,
                              const vg_calibrate_options *options);
extern void vg_calibration_free(vg_calibration *calibration);

/* Without labels_key and what follows it. */
typedef struct vg_prediction_options {
    size_t struct_size;
    const char *key;
    int axes, logits;
} vg_prediction_options;
typedef struct vg_prediction_file vg_prediction_file;
extern vg_status vg_prediction_file_open(vg_prediction_file **out, const char *path,
                                         const vg_prediction_options *options);
extern void vg_prediction_file_shape(const vg_prediction_file *file, size_t *n, size_t *m, size_t *c, int *logits);
extern void vg_prediction_file_close(vg_prediction_file *file);

/* Without pixels and labels. */
typedef struct vg_dataset_info {
    size_t struct_size;
    const char *name, *source;
    const char *const *class_names;
    size_t n, channels, height, width, classes;
    int is_float, verified;
} vg_dataset_info;
typedef struct vg_dataset vg_dataset;
/* Without resize and what follows it. */
typedef struct vg_dataset_options {
    size_t struct_size;
    const char *folder;
} vg_dataset_options;
extern vg_status vg_dataset_open(vg_dataset **out, const char *name, int part, const vg_dataset_options *options);
extern vg_status vg_dataset_describe(vg_dataset_info *out, const vg_dataset *set);
extern void vg_dataset_free(vg_dataset *set);

#endif
