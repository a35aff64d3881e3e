/* evaluate.h - figures of predictions and their uncertainties: accuracy, calibration, selective prediction, the
 * decision rule, thresholds chosen on validation data, out-of-distribution detection. docs/evaluation.md defines
 * every figure.
 *
 *     vg_tally *tally;                              // accuracy, calibration: fed by blocks, keeps no N x C
 *     vg_tally_new(&tally, C, NULL);
 *     for each block of rows starting at sample `first`:
 *         vg_scores scores = {.tu = tu + first, .snr = snr + first, .mean = mean, .std = std};
 *         vg_scorer_feed(scorer, &scores, &block, NULL);  // mean, std: rows x C, the caller's, for this block
 *         vg_tally_feed(tally, mean, std, labels + first, rows);
 *     vg_measure measures[] = {{"tu", tu, 1, 0}, {"snr", snr, 1, 1}};
 *     vg_evaluate(&evaluation, tally, measures, 2, NULL);
 *
 * Rows. In multiclass mode a row is a sample. In multilabel mode it is a (sample, label) pair, row = sample * C +
 * label, and every per-row array has N * C values.
 *
 * Errors: NaN in a measure or a mean, and labels out of range, are VG_ERR_DATA naming the index. Undefined figures
 * (the AUROC of error detection where nothing is wrong, accuracy on an empty set) are NaN. Nothing here depends on
 * the thread count or, ties included, on the order of the samples (figures that are sums of doubles: up to
 * rounding), but for risk selection, which draws an order of the samples under a seed. */
#ifndef VARGATE_EVALUATE_H
#define VARGATE_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VG_NAME_SIZE = 32 }; /* room for a measure's name with its NUL */

/* The shortest decimal that reads back as k: "1", "0.5", "2.25". The key of JSON's rule."k" and the part after @ in
 * names. */
VG_API void vg_k_name(char name[VG_NAME_SIZE], double k);

/* --- measures by name ------------------------------------------------------------------------------------------- */

/* One column of values, values[row * stride]. Borrowed. */
typedef struct vg_measure {
    char name[VG_NAME_SIZE]; /* "tu", "gmu", "snr", "gtu@1", ... */
    const double *values;
    size_t stride; /* in elements; K for gated measures as the scorer lays them out at first */
    int certainty; /* 1: larger is MORE certain ("snr"), ranked by the negated value. 0: larger is less certain */
} vg_measure;

/* --- accuracy and calibration, streaming ------------------------------------------------------------------------ */

typedef struct vg_tally_options {
    size_t struct_size;
    vg_task task;          /* VG_TASK_MULTICLASS, or either multilabel form */
    size_t bins;           /* of ECE, MCE, adaptive and classwise ECE and the reliability diagram; 1 .. 10,000 */
    double floor;          /* NLL takes log(max(p, floor)) */
    int confusion;         /* 1: keep the C x C confusion matrix (multiclass); 0: do not; -1: if C <= 1024 */
    int bootstrap;         /* 1: also keep what resampling needs: 16 bytes per row */
    size_t expected;       /* samples expected, 0 unknown: only saves copying */
    const double *class_k; /* classes: a k for every class of the rule, as in vg_score_options; NULL: 1. Copied */
} vg_tally_options;
#define VG_TALLY_OPTIONS_INIT                                                                                          \
    { sizeof(vg_tally_options), VG_TASK_MULTICLASS, 15, 1e-12, -1, 0, 0, NULL }

/* Collects what the metrics need: sums, and per row a confidence, an error mark, label, prediction and margin ratio.
 * One thread feeds a tally; once it is complete, several threads may evaluate and read it at once. Freed by
 * vg_tally_free, after the evaluations that use it have returned. */
typedef struct vg_tally vg_tally;
/* Makes an empty tally of `classes` classes (or labels); options NULL: the defaults. *out is the caller's.
 * VG_ERR_ARGUMENT for options out of range. */
VG_API vg_status vg_tally_new(vg_tally **out, size_t classes, const vg_tally_options *options);
/* NULL is accepted. */
VG_API void vg_tally_free(vg_tally *tally);
/* mean, std: n x C member mean and spread as the scorer gives them (std NULL: no decision rule). labels: n classes,
 * or n x C values 0/1 in multilabel mode. The prediction is the class of largest mean (ties: lower index);
 * multilabel: mean > 0.5. */
VG_API vg_status vg_tally_feed(vg_tally *tally, const double *mean, const double *std, const int64_t *labels, size_t n);
/* What a tally holds of its rows. Pointers are borrowed from it, valid until the next feed. */
typedef struct vg_tally_info {
    size_t struct_size;    /* set by VG_TALLY_INFO_INIT; of a smaller struct only what it has is filled */
    size_t rows;           /* fed so far: samples, or samples times labels in multilabel mode */
    const uint8_t *errors; /* rows; 1: misclassified */
    const double *ratio;   /* rows: the margin ratios; NULL without std */
    /* Signed gaps by class and bin (classes x bins), which add up over parts of a set. class_gaps: sum of mean -
     * [label] by bins of the class's own probability, for the classwise ECE. label_gaps: sum of confidence - correct by
     * bins of confidence, of a multilabel tally; else NULL. */
    const double *class_gaps, *label_gaps;
} vg_tally_info;
#define VG_TALLY_INFO_INIT                                                                                             \
    { sizeof(vg_tally_info), 0, NULL, NULL, NULL, NULL }
/* Fills *out, whose struct_size the caller has set. VG_ERR_ARGUMENT when it is not. */
VG_API vg_status vg_tally_describe(vg_tally_info *out, const vg_tally *tally);

/* A figure and its interval, which contains it. NaN, NaN: no interval was asked for, or no method with the right
 * coverage is known. */
typedef struct vg_estimate {
    double value, low, high;
} vg_estimate;

/* One class (one-against-rest), or one label's positive outcome. Undefined ratios are 0 (zero_division = 0). */
typedef struct vg_class_row {
    size_t support, predicted, true_positive; /* rows labelled c, predicted c, both */
    double precision, recall, f1;
} vg_class_row;

/* More about one class. Multilabel: about the rows of one label. */
typedef struct vg_class_figures {
    vg_estimate recall, precision; /* the values of vg_class_row with Clopper-Pearson intervals; of independent rows */
    double uncertainty;            /* mean of vg_evaluation.class_measure over the rows of the class; NaN without any */
    size_t abstained;              /* rows of the class on which the rule abstains at the first k */
    double iou;                    /* intersection over union; NaN for a class that is nowhere */
} vg_class_figures;

/* One bar of the reliability diagram: confidences in (low, high], the first bin closed at 0. Means are NaN in empty
 * bins. */
typedef struct vg_reliability_bin {
    double low, high;
    size_t count;
    double confidence, accuracy;
    /* means of confidence^2, and of confidence where right (else 0): for vg_evaluation_finish */
    double square, hit;
} vg_reliability_bin;

/* What an ECE says about calibration at this number of samples (docs/evaluation.md). */
typedef struct vg_calibration_check {
    double expected; /* the ECE that a perfectly calibrated model with these confidences would show on average */
    double p_value;  /* chance of as large an ECE under perfect calibration; NaN: multilabel with more than 128 bins */
    double debiased; /* the ECE less what chance alone adds to it; at least 0 */
    size_t mce_rows; /* rows of the bin that decides MCE */
} vg_calibration_check;

/* --- ranking: selective prediction and error detection ---------------------------------------------------------- */

enum { VG_MAX_OPERATING_POINTS = 8 }; /* coverages, and risks, to report */

/* How well one measure separates errors from correct predictions. */
typedef struct vg_ranking {
    char name[VG_NAME_SIZE];
    vg_estimate aurc, eaurc, augrc; /* lower is better */
    /* errors positive, higher is better; NaN when all or none are errors (aupr: none) */
    vg_estimate error_auroc, error_aupr;
    vg_estimate risk_at[VG_MAX_OPERATING_POINTS]; /* risk among the most certain ceil(coverage N) */
    /* largest coverage a threshold reaches at risk <= this one; 0: none */
    vg_estimate coverage_at[VG_MAX_OPERATING_POINTS];
    double *curve; /* curve_points: risk among the most certain ceil(N (i + 1) / curve_points); NULL without a curve */
} vg_ranking;

typedef struct vg_auroc_options {
    size_t struct_size;
    double confidence;
    size_t rows_per_sample; /* consecutive rows of one sample, not independent: classes in multilabel mode, else 1 */
} vg_auroc_options;
#define VG_AUROC_OPTIONS_INIT                                                                                          \
    { sizeof(vg_auroc_options), 0.95, 1 }

/* The area under the ROC curve of a measure that is expected to be large (a certainty: small) for the rows marked
 * positive, ties half, with DeLong's interval on the logit scale; where that has no width (perfect separation),
 * Newcombe's score interval. NaN when all or none are positive. Errors against correct predictions, or OOD (marked)
 * against ID samples. */
VG_API vg_status vg_auroc(vg_estimate *out, const vg_measure *measure, const uint8_t *positive, size_t rows,
                          const vg_auroc_options *options);

/* Two measures on the same rows: areas, first - second, and the p-value of no difference (DeLong's paired test,
 * two-sided). */
typedef struct vg_auroc_comparison {
    vg_estimate first, second, difference;
    double p_value;
} vg_auroc_comparison;
/* Fills *out. Errors as for vg_auroc. */
VG_API vg_status vg_auroc_compare(vg_auroc_comparison *out, const vg_measure *first, const vg_measure *second,
                                  const uint8_t *positive, size_t rows, const vg_auroc_options *options);

/* --- the decision rule ------------------------------------------------------------------------------------------ */

/* The rule keeps a row, mu_i - k sigma_i > mu_j + k sigma_j, exactly when k < ratio:
 *     ratio = (mu_i - mu_j) / (sigma_i + sigma_j),
 *             infinite when both sigmas are 0 and mu_i > mu_j, 0 when mu_i = mu_j,
 * so one number per row answers for every k. i, j: the two classes of largest mean (pred and second; NULL: found here).
 * mean, std: n x C. classes = 1: a row is one label of a multilabel task, ratio = (2 max(u, 1 - u) - 1) / (2 sigma),
 * and pred and second are NULL. */
VG_API vg_status vg_margin_ratio(double *ratio, const double *mean, const double *std, const int32_t *pred,
                                 const int32_t *second, size_t n, size_t classes);

typedef struct vg_rule_row {
    double k;
    char name[VG_NAME_SIZE];                                     /* vg_k_name(k) */
    size_t rows, kept, kept_errors, abstained, abstained_errors; /* abstained_errors: errors caught */
    size_t abstained_correct;                                    /* correct predictions given up */
    vg_estimate coverage, accuracy;                              /* accuracy: on the kept, NaN if none */
    /* classes counts. Multilabel: rows of that label, and of those the ones predicted 1. Of a vg_evaluation: owned
     * with the rest */
    size_t *abstained_by_label, *abstained_by_prediction;
} vg_rule_row;

/* --- everything about one data set ------------------------------------------------------------------------------ */

typedef struct vg_evaluate_options {
    size_t struct_size;
    const double *k; /* of the decision rule; NULL: 1, 2, 3 */
    size_t k_count;
    const double *coverages; /* NULL: 0.8, 0.9, 0.95 */
    size_t coverage_count;   /* at most VG_MAX_OPERATING_POINTS */
    const double *risks;     /* NULL: 0.01, 0.05 */
    size_t risk_count;
    size_t curve_points; /* points of each measure's risk-coverage curve; 0: none */
    size_t resamples;    /* bootstrap, for intervals; 0: no intervals. Needs a tally made with bootstrap = 1 */
    uint64_t seed;
    double confidence; /* of the intervals */
    unsigned threads;  /* 0: one per core */
    /* called between slices of a few milliseconds, with or without a bootstrap */
    vg_progress_fn progress;
    void *progress_context;
} vg_evaluate_options;
#define VG_EVALUATE_OPTIONS_INIT                                                                                       \
    { sizeof(vg_evaluate_options), NULL, 0, NULL, 0, NULL, 0, 0, 0, 1, 0.95, 0, NULL, NULL }

/* One label of a multilabel evaluation. */
typedef struct vg_label_row {
    vg_class_row positive; /* of the outcome 1 */
    double accuracy, f1, ece, nll, brier;
    vg_ranking *measures; /* measure_count, no intervals, no curve */
} vg_label_row;

/* The measure of largest error AUROC (the leader, of equals the first) against the one that is preferred unless it
 * is beaten: TU, or the second best where TU leads or is missing. DeLong's paired test, or with resamples the paired
 * bootstrap (percentiles; p-value by the deviation of the resamples). The p-value is multiplied by the number of
 * other measures, because the leader was picked on the same rows. */
typedef struct vg_measure_lead {
    size_t leader, rival;   /* numbers in `measures`; measure_count: there is none */
    vg_estimate difference; /* leader - rival, with its interval */
    double p_value, corrected;
} vg_measure_lead;

typedef struct vg_evaluation {
    size_t struct_size;
    vg_task task;
    size_t n, classes, rows, bins;
    size_t resamples;
    uint64_t seed;
    double confidence;
    /* Multiclass: as named. Multilabel: over all N C pairs (micro), f1_macro the mean over labels. */
    vg_estimate accuracy, f1_macro, ece, ece_adaptive, ece_classwise, mce, nll, brier;
    /* Multilabel only (NaN otherwise): pooled F1; share of samples right in every label; mean over labels of the
     * labels' ECE. */
    vg_estimate f1_micro, subset_accuracy, ece_macro;
    vg_class_row *per_class;         /* classes */
    uint64_t *confusion;             /* classes x classes, [label * classes + prediction]; NULL when not kept */
    vg_reliability_bin *reliability; /* bins */
    double coverages[VG_MAX_OPERATING_POINTS], risks[VG_MAX_OPERATING_POINTS];
    size_t coverage_count, risk_count, curve_points;
    size_t measure_count;
    vg_ranking *measures;
    size_t rule_count; /* 0 without std */
    vg_rule_row *rule;
    size_t label_count; /* multilabel: classes; else 0 */
    vg_label_row *labels;
    vg_calibration_check calibration; /* of ece and mce */
    size_t errors;                    /* rows predicted wrong */
    vg_measure_lead lead;
    size_t class_measure;            /* GMU, or the first measure; measure_count: there is none */
    vg_class_figures *class_figures; /* classes */
    vg_estimate
        miou; /* of images: mean over the classes that are there of the intersection over union; NaN elsewhere */
    /* The caller's, for vg_evaluation_finish; NULL elsewhere. The variance of leader - rival in error AUROC (DeLong).
     * Multilabel, at most 128 bins: with r[s][b] the sum of confidence - correct over the rows of sample s that are in
     * bin b, and m[s][b] how many these are, the sums over samples of r r', r m' and m m', bins x bins each, and of
     * m > 0, bins. */
    const double *lead_variance, *bin_products;
} vg_evaluation;

/* One image: its sites that are not left out, and class_measure over them. NaN without sites. */
typedef struct vg_image_row {
    unsigned long long sites, errors, abstained; /* abstained: by the rule at the first k */
    double accuracy, abstained_share, mean, max, median, p95;
} vg_image_row;

/* Computes every figure from the tally and the measures, each of which holds a value for every row of the tally;
 * options NULL: the defaults. *out is the caller's. VG_ERR_DATA for a NaN in a measure; VG_ERR_INTERRUPTED after the
 * progress function asked to stop. */
VG_API vg_status vg_evaluate(vg_evaluation **out, const vg_tally *tally, const vg_measure *measures,
                             size_t measure_count, const vg_evaluate_options *options);
/* Frees the evaluation with its arrays. NULL is accepted. */
VG_API void vg_evaluation_free(vg_evaluation *evaluation);
/* Completes an evaluation that the caller put together from parts of its rows, in memory of the caller's: counts added,
 * bins as means weighted by count, rankings from vg_rank_parts_merge. Read are the counts, values, rows, errors, bins,
 * confidence and resamples; arrays that a pointer does not lead to are left out. Set are `calibration` (of bins of
 * independent rows; multilabel from bin_products, or NaN), `class_measure`, `lead` (tested by `resampled` or by
 * lead_variance, or not), and, where resamples > 0, the intervals: from the counts, and from the figures of that many
 * resamples of all rows. resampled[r * F + f], NULL: those intervals are left out; F figures follow each other:
 *     accuracy, f1_macro, ece, ece_adaptive, ece_classwise, mce, nll, brier, f1_micro, subset_accuracy, ece_macro, of
 *     which those of calibration are not read;
 *     of each measure aurc, eaurc, augrc, error_auroc, error_aupr, risk_at[coverage_count], coverage_at[risk_count];
 *     of each rule row coverage, accuracy */
VG_API vg_status vg_evaluation_finish(vg_evaluation *evaluation, const double *resampled);

enum { VG_NOTE_SIZE = 256, VG_MAX_NOTES = 4 };
/* Notes that a reader of the figures needs, one sentence each: whether the ECE is more than chance, MCE from a few
 * rows, too few errors for reliable ranking figures. Returns how many there are, at most VG_MAX_NOTES. */
VG_API size_t vg_evaluation_notes(char notes[VG_MAX_NOTES][VG_NOTE_SIZE], const vg_evaluation *evaluation);

enum { VG_FINDING_SIZE = 480, VG_MAX_FINDINGS = 6 };
/* One answer in plain words. */
typedef struct vg_finding {
    char about[16];   /* "diversity", "calibration", "measure", "k", "abstaining", "calibrator" */
    char verdict[16]; /* for programs: "collapsed", "overconfident", "noise", ...; docs/evaluation.md lists them */
    char choice[VG_NAME_SIZE]; /* what is advised: a measure, or a k as text; "" where there is nothing to choose */
    char text[VG_FINDING_SIZE];
} vg_finding;
/* The findings of an evaluation: whether the ensemble is diverse (only with a verdict), whether it is calibrated,
 * which measure finds errors best and whether its lead is noise, which k to use, and the gain of abstaining. Returns
 * how many there are, at most VG_MAX_FINDINGS. */
VG_API size_t vg_evaluation_findings(vg_finding findings[VG_MAX_FINDINGS], const vg_evaluation *evaluation,
                                     const vg_verdict *verdict);

/* Expected and maximum calibration error alone (either pointer may be NULL), of p[n][c], packed float32 or float64:
 * what vg_evaluate gives as ece and mce, without the rest. `bins` is 15 by custom. */
VG_API vg_status vg_calibration_error(double *ece, double *mce, const void *p, vg_dtype dtype, const int64_t *labels,
                                      size_t n, size_t c, size_t bins);

/* The ranking figures of one measure alone, from any uncertainties and error marks (0/1). Of `options` only coverages
 * and risks are used; out->curve is left NULL. */
VG_API vg_status vg_rank(vg_ranking *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                         const vg_evaluate_options *options);
/* --- ranking rows that do not fit in one memory -------------------------------------------------------------------
 *
 * Cut the rows by value into parts, so that rows of equal uncertainty are in one part and every row of a part is
 * more certain than those of the next. vg_rank_part_walk sums up one part in one pass from its most to its least
 * certain row (a walk), and vg_rank_parts_merge adds up the walks. Figures are those of vg_rank except for the order
 * of their additions. */
typedef struct vg_rank_part {
    size_t struct_size;                            /* sizeof(vg_rank_part), set by VG_RANK_PART_INIT */
    unsigned long long rows_before, errors_before; /* in the parts before this one */
    unsigned long long rows_total, errors_total;   /* in all parts */
    double aurc, augrc, pairs, precision;          /* set by the walk, as all that follows */
    double hits[VG_MAX_OPERATING_POINTS], covered[VG_MAX_OPERATING_POINTS];
    /* for intervals of coverage_at, set by walks whose options have resamples > 0: coverages, in rows, up to which the
     * risk is lower than a given one for certain, and may be */
    double below[VG_MAX_OPERATING_POINTS], within[VG_MAX_OPERATING_POINTS];
    double rows_per_sample; /* the caller's: rows that count as one there; 0: 1 */
} vg_rank_part;
#define VG_RANK_PART_INIT                                                                                              \
    { sizeof(vg_rank_part), 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, 0 }

/* Walks the rows of one part, whose counts before it and in all are set. `rows` may be 0. Where `gap` is not NULL the
 * measure is the confidence and rises with it: gap[bins] gets what the part adds to the bins of the adaptive ECE (the
 * sum of their absolute values over all rows is N times the ECE), and nothing is ranked. */
VG_API vg_status vg_rank_part_walk(vg_rank_part *part, double *gap, size_t bins, const vg_measure *measure,
                                   const uint8_t *errors, size_t rows, const vg_evaluate_options *options);
/* The ranking of all rows from the walks of all parts; `options` as in the walks. out->name is empty. coverage_at has
 * intervals where options->resamples > 0; the others are vg_evaluation_finish's. */
VG_API vg_status vg_rank_parts_merge(vg_ranking *out, const vg_rank_part *parts, size_t count,
                                     const vg_evaluate_options *options);

/* The risk-coverage curve: risk[i] among the most certain ceil(rows (i + 1) / points), ties averaged over their
 * orders. */
VG_API vg_status vg_risk_coverage(double *risk, size_t points, const vg_measure *measure, const uint8_t *errors,
                                  size_t rows);
/* --- choosing a threshold on validation data ---------------------------------------------------------------------- */

/* How the probability of a wrong promise is divided among the grid points tried; docs/evaluation.md gives the
 * argument. */
typedef enum vg_multiplicity {
    VG_MULTIPLICITY_AUTO = 0,     /* the sequence */
    VG_MULTIPLICITY_SEQUENCE = 1, /* fixed-sequence tests from the most selective on, from several starts */
    VG_MULTIPLICITY_BONFERRONI = 2,
    VG_MULTIPLICITY_NONE = 3 /* each bound holds alone; the choice among them is not accounted for */
} vg_multiplicity;

/* The bound a result rests on: 0/1 losses with one row per sample have the first, others the smaller of the last two.
 */
typedef enum vg_bound { VG_BOUND_CLOPPER_PEARSON = 0, VG_BOUND_HOEFFDING_BENTKUS = 1, VG_BOUND_BETTING = 2 } vg_bound;

/* Where the thresholds that were tried come from. */
typedef enum vg_grid_source {
    VG_GRID_NONE = 0,       /* none were tried: a coverage target */
    VG_GRID_GIVEN = 1,      /* options.grid */
    VG_GRID_UNLABELLED = 2, /* quantiles of the predictions to be decided */
    VG_GRID_SET_ASIDE = 3   /* quantiles of validation samples that are not tested */
} vg_grid_source;

typedef struct vg_select_options {
    size_t struct_size;     /* a smaller one, of an older caller, is accepted: what it lacks takes its default */
    double target_risk;     /* in (0, 1); 0: no such target. Exactly one of the two targets is given */
    double target_coverage; /* in (0, 1]; 0: no such target */
    double confidence;      /* that the risk is below target_risk */
    const double *grid;     /* thresholds to try, fixed before the data was seen, in any order; NULL: quantiles */
    size_t grid_count;      /* of `grid`, or how many quantiles (0: 40) */
    vg_multiplicity multiplicity;
    size_t starts; /* of the sequence; 0: 3 on quantiles, one for every 4 points of a given grid */
    /* The unit: rows of one sample are not independent of each other, samples are. Rows of a sample follow each other,
     * rows_per_sample of them (0: 1; multilabel: C), or sample_of_row tells the sample of each row, in any order and
     * number. */
    size_t rows_per_sample;
    const size_t *sample_of_row; /* rows; NULL: rows_per_sample holds */
    /* Values of the same measure (vg_select_k: ratios) on the predictions to be decided, which need no labels:
     * thresholds are their quantiles. Without them, or where they are the validation values themselves, some validation
     * samples are set aside for that. */
    const double *unlabelled;
    size_t unlabelled_rows, unlabelled_stride; /* stride 0: 1 */
    size_t set_aside;                          /* samples to set aside; 0: a fifth, at most 1,000 */
    uint64_t seed;                             /* of the order in which samples are set aside and bet on */
} vg_select_options;
#define VG_SELECT_OPTIONS_INIT                                                                                         \
    { sizeof(vg_select_options), 0, 0, 0.95, NULL, 0, VG_MULTIPLICITY_AUTO, 0, 0, NULL, NULL, 0, 0, 0, 1 }

typedef struct vg_selection {
    size_t struct_size; /* set by the caller: VG_SELECTION_INIT; of a smaller one only what it has is filled */
    int met; /* 1: the target is met at `threshold`; 0: it is not, and what follows is the best that can be reached:
                risk target: the smallest bound tested; coverage target: the largest coverage */
    double threshold; /* keep rows with value < threshold, or > threshold where the measure is a certainty (k: ratio >
                         k) */
    size_t rows, kept, errors; /* on the validation rows that are tested; errors: among the kept */
    double coverage;           /* kept / rows */
    double risk; /* mean over the samples that keep a row of the share of errors among the rows they keep: errors / kept
                    with one row per sample. NaN if none */
    double risk_bound; /* upper bound of the risk at level `level` */
    double level;      /* 1 - confidence of this one bound, its share of 1 - options.confidence */
    size_t grid_count; /* grid points, of the chosen candidate; 0 where none were (coverage target without a grid) */
    size_t starts;     /* of the sequence; 0 with another method */
    vg_multiplicity multiplicity; /* the method used, never AUTO */
    size_t samples, answered; /* tested samples, and those that keep a row; with one row per sample: rows and kept */
    size_t set_aside;         /* samples that placed the thresholds and are not tested */
    size_t tested;            /* hypotheses tested, over all candidates */
    size_t candidates;        /* among which 1 - confidence was shared */
    vg_grid_source source;
    vg_bound bound;
    double target_risk, confidence; /* as asked for; 0 with a coverage target */
    size_t needed; /* not met: validation samples that would meet the target at the risks found, roughly; 0: no number
                      would */
    size_t fewest; /* kept samples that meet the target without an error, at the level of one start */
} vg_selection;
#define VG_SELECTION_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(vg_selection), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, VG_MULTIPLICITY_AUTO, 0, 0, 0, 0, 0, VG_GRID_NONE,      \
            VG_BOUND_CLOPPER_PEARSON, 0, 0, 0, 0                                                                       \
    }

/* Risk target: the threshold of largest coverage whose bound meets it. Coverage target: the most selective threshold
 * that keeps at least that share of the validation rows. */
VG_API vg_status vg_select_threshold(vg_selection *out, const vg_measure *measure, const uint8_t *errors, size_t rows,
                                     const vg_select_options *options);
/* The same for k of the decision rule from margin ratios; thresholds are ks > 0. */
VG_API vg_status vg_select_k(vg_selection *out, const double *ratio, const uint8_t *errors, size_t rows,
                             const vg_select_options *options);
/* One of several ways to decide: a measure, or the rule; of plain or calibrated predictions. */
typedef struct vg_candidate {
    vg_measure measure;       /* `rows` values; the margin ratios for the rule */
    int rule;                 /* 1: thresholds are ks */
    const uint8_t *errors;    /* rows, of the predictions this candidate decides on */
    const double *unlabelled; /* as in the options, of this candidate; NULL: samples are set aside */
    size_t unlabelled_rows, unlabelled_stride;
} vg_candidate;
/* The candidate and threshold of largest coverage that meet a risk target, with 1 - confidence shared evenly among the
 * candidates, so that the choice among them is paid for. `chosen`: its number. options: no grid, no unlabelled. */
VG_API vg_status vg_select_among(vg_selection *out, size_t *chosen, const vg_candidate *candidates, size_t count,
                                 size_t rows, const vg_select_options *options);
/* Why a risk target was not met and how many validation samples it would take, as a clause without a full stop; "" when
 * it was met. Written to text[0 .. room - 1]. */
VG_API void vg_selection_reason(char *text, size_t room, const vg_selection *selection);
/* --- out-of-distribution detection ------------------------------------------------------------------------------ */

/* OOD is the positive class; a measure scores it high (a certainty: low). NaN for all five when either side is empty.
 */
typedef struct vg_ood_row {
    char name[VG_NAME_SIZE];
    vg_estimate auroc;           /* midranks; all tied: 0.5 */
    vg_estimate aupr_out;        /* average precision, OOD positive */
    vg_estimate aupr_in;         /* average precision, ID positive, by the negated score */
    vg_estimate fpr95;           /* smallest share of ID called OOD by a threshold that calls at least 95 % of OOD so */
    vg_estimate detection_error; /* min over thresholds of (FPR + FNR) / 2; at most 0.5 */
} vg_ood_row;

typedef struct vg_ood_options {
    size_t struct_size;
    size_t resamples; /* bootstrap of both sides, for intervals; 0: no intervals */
    uint64_t seed;
    double confidence;
    unsigned threads;
    vg_progress_fn progress;
    void *progress_context;
} vg_ood_options;
#define VG_OOD_OPTIONS_INIT                                                                                            \
    { sizeof(vg_ood_options), 0, 1, 0.95, 0, NULL, NULL }

/* Measures of the same names in the same order on both sides. Results go to out[0 .. count - 1]. */
VG_API vg_status vg_ood_evaluate(vg_ood_row *out, const vg_measure *id, size_t id_rows, const vg_measure *ood,
                                 size_t ood_rows, size_t count, const vg_ood_options *options);

#ifdef __cplusplus
}
#endif
#endif
