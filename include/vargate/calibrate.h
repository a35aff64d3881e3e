/* calibrate.h - calibrators: maps of predictions that make them as likely as possible on held-out labels. The usual one
 * is temperature scaling, the T of softmax(z / T); the others (vg_calibration_method) are fitted by the same call.
 *
 * A member's loss on N validation samples with labels y is its mean cross-entropy,
 *
 *     L(T) = 1/N sum_n [ logsumexp_c(z[n][c] / T) - z[n][y_n] / T ],
 *
 * convex in b = 1/T. Two solvers: `newton`, the exact minimiser, with its derivative conditions reported; `bayes`, a
 * Gaussian-process search over log T (Matern 5/2, EI / LCB / PI hedged). Either one temperature per member, each
 * minimising that member's loss, or one shared by all, minimising the mean of the members' losses (the form for Monte
 * Carlo dropout).
 *
 *     vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
 *     vg_predictions z = vg_predictions_f32(logits, N, M, C);
 *     vg_calibration *fit;
 *     if (vg_calibrate(&fit, &z, labels, &options) != VG_OK) puts(vg_error_message());
 *     else printf("%g\n", fit->temperatures[0]);
 *     vg_calibration_free(fit);
 *
 * Results are the same to the bit at any thread count. Every logit must be finite: NaN and infinities of either sign
 * are refused, naming (n, m); a class to be ruled out is written as a large negative number. Logits are read and
 * converted block by block; sums are float64 whatever the input. docs/calibration.md says what is computed and what
 * it costs. */
#ifndef VARGATE_CALIBRATE_H
#define VARGATE_CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"
#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vg_solver { VG_SOLVER_NEWTON = 0, VG_SOLVER_BAYES = 1, VG_SOLVER_BOTH = 2 } vg_solver;

/* What is fitted, with p = softmax(z) of logits z, or the probabilities that the input holds. Each row is mapped to
 *     temperature   softmax(z / T)                        one T; exact, by newton or bayes above
 *     vector        softmax(w z + b)                      a scale and a bias per class; probabilities: z = log p
 *     dirichlet     softmax(W log p + b)                  a matrix; off-diagonal entries and biases are penalised
 *     isotonic      f_c(p_c), divided by their sum        f_c: the monotone function nearest to [y = c], by PAVA,
 *                                                         linear between its steps
 *     histogram     f_c(p_c), divided by their sum        f_c: the share of class c among the samples of a bin
 *     venn-abers    p1 / (1 - p0 + p1), by their sum      p0, p1: isotonic values at p_c with the sample itself added
 *                                                         as a miss, as a hit; for two classes an interval
 * Of two classes the second one's curve decides, and the first has the rest.
 * vector and dirichlet are convex: Newton steps by conjugate gradients, converged as vg_map_fit says; isotonic,
 * histogram and venn-abers are exact. Every class needs a sample. docs/calibration.md compares them. */
typedef enum vg_calibration_method {
    VG_CALIBRATE_TEMPERATURE = 0,
    VG_CALIBRATE_VECTOR = 1,
    VG_CALIBRATE_DIRICHLET = 2,
    VG_CALIBRATE_ISOTONIC = 3,
    VG_CALIBRATE_HISTOGRAM = 4,
    VG_CALIBRATE_VENN_ABERS = 5
} vg_calibration_method;

typedef struct vg_calibrate_options {
    size_t struct_size; /* sizeof(vg_calibrate_options), set by VG_CALIBRATE_OPTIONS_INIT */
    vg_solver solver;
    int shared; /* 0: one temperature per member; 1: one for all */
    /* the range that both solvers search; where the minimiser lies outside, the answer is the end, flagged */
    double t_min, t_max;
    double tolerance;     /* newton stops when the next step would move log T by less than this */
    unsigned max_sweeps;  /* newton: most evaluations of the full data, 2 .. 1000 */
    unsigned evaluations; /* bayes: evaluations of the loss, `initial` of them included; 3 .. 500 */
    /* bayes: evaluations before the first fit, stratified over log T; 2 .. evaluations */
    unsigned initial;
    uint64_t seed; /* bayes: its random draws; member m uses stream m */
    unsigned bins; /* equal-width bins of the calibration error, 1 .. 1000 */
    /* held-out figures: temperatures fitted without samples n % folds == f measure those; 0: none. See image_ends */
    unsigned folds;
    unsigned threads;        /* 0: one per core. Results do not depend on it */
    vg_progress_fn progress; /* done: sweeps over the data so far; total: the most there can be */
    void *progress_context;
    vg_calibration_method method;
    /* 1: one map, of the mean over members, instead of one per member. Members are then replaced by the nearest ones
     * (least Kullback-Leibler divergence) whose mean is the mapped mean, by iterative proportional fitting. Excludes
     * `shared`, which fits one map to the rows of all members. */
    int mean;
    int probabilities; /* 1: the input holds probabilities. A temperature then needs `mean` */
    unsigned map_bins; /* histogram: bins of a class, 1 .. 10,000 */
    int equal_mass;    /* histogram: 0: bins of equal width; 1: with equal numbers of samples, equal values together */
    /* dirichlet: the loss is the mean NLL + off_diagonal / (C (C - 1)) sum of the squares of the entries of W off the
     * diagonal + intercept / C sum of the squares of b; >= 0 */
    double off_diagonal, intercept;
    int compare; /* 1: other methods are fitted too, and vg_calibration.advice says which the data support */
    /* Samples that are sites of images, image after image: image i ends before sample image_ends[i], the last one with
     * the last sample; an image may have no samples. Folds then have whole images, at most as many folds as images, and
     * errors and intervals count images. Of one image nothing is held out. NULL: samples are independent. */
    const size_t *image_ends;
    size_t image_count;
} vg_calibrate_options;

#define VG_CALIBRATE_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(vg_calibrate_options), VG_SOLVER_NEWTON, 0, 0.01, 10.0, 1e-9, 40, 50, 10, 0, 15, 2, 0, NULL, NULL,      \
            VG_CALIBRATE_TEMPERATURE, 0, 0, 15, 0, 1e-3, 1e-3, 0, NULL, 0                                              \
    }

/* Bits of vg_temperature_fit.flags. */
enum {
    /* newton: |step| <= tolerance and curvature > 0, or the end of the range is the minimiser in it */
    VG_FIT_CONVERGED = 1,
    /* T is the lower end: the loss still falls towards smaller T (labels predicted with margin to spare) */
    VG_FIT_AT_MIN = 2,
    VG_FIT_AT_MAX = 4, /* T is the upper end: the loss still falls towards larger T (the label scores below average) */
    VG_FIT_FLAT = 8    /* the loss does not depend on T (all logits of every row equal); T = 1 is kept */
};

/* One solver's answer for one temperature, with the loss and its derivatives in b = 1/T evaluated at that very T. */
typedef struct vg_temperature_fit {
    double temperature;
    double loss;      /* L, nats */
    double gradient;  /* dL/db: 0 at the minimiser */
    double curvature; /* d2L/db2: > 0 */
    double step;      /* gradient / (b curvature): how far log T is from the minimiser, to first order; 0 when flat */
    double sharpness; /* b^2 curvature = d2L/d(log T)2 at the minimiser: how well the data determine T */
    uint32_t flags;
    uint32_t evaluations; /* of the full data, for this temperature */
} vg_temperature_fit;

/* What the temperatures do to the validation data. */
typedef struct vg_calibration_metrics {
    double nll, ece;               /* of the mean distribution over members */
    double member_nll, member_ece; /* means over members of each member's own NLL and ECE */
    /* of the mean distribution (one temperature per member can move it); of each member */
    double accuracy, member_accuracy;
} vg_calibration_metrics;

/* A method compared with the uncalibrated predictions: its NLL and ECE on samples that it was not fitted to, the
 * change of the NLL with its 95 % interval, the p-value of no change by a paired test, and Holm's correction over
 * candidates. */
enum { VG_CALIBRATION_CANDIDATES = 4, VG_CALIBRATION_ADVICE = 480 };
typedef struct vg_calibration_candidate {
    char name[16];
    double nll, ece, nll_change, low, high, p_value, corrected;
    int supported; /* better, with a corrected p-value below 0.05 */
} vg_calibration_candidate;

/* How the fit of one map ended. */
typedef struct vg_map_fit {
    double loss;         /* mean NLL of the rows it was fitted to, penalties included; NaN of exact maps */
    double gradient;     /* largest |derivative| at the answer; 0 of exact maps */
    uint32_t iterations; /* Newton steps; 0 of exact maps */
    int32_t converged;   /* gradient <= 1e-8, or no step changes the loss by more than rounding; 1 of exact maps */
} vg_map_fit;

/* A fitted map, ready to be applied (temperatures.h). Several threads may use it at once. */
typedef struct vg_calibration_map vg_calibration_map;

enum { VG_CALIBRATION_WARNING = 600 };

/* A result. Read its fields; free with vg_calibration_free (NULL is accepted). Several threads may read it at once. */
typedef struct vg_calibration {
    size_t struct_size;
    size_t samples, members, classes;
    vg_solver solver;
    int shared;
    size_t count;               /* 1 when shared, else `members` */
    double *temperatures;       /* count: the answer; newton's when the solver is `both` */
    vg_temperature_fit *newton; /* count; NULL when not run */
    vg_temperature_fit *bayes;  /* count; NULL when not run */
    /* |log T_bayes - log T_newton| over the temperatures whose minimiser lies inside the range (near an end the loss is
     * flat and does not determine T): NaN unless `both` ran and there is one. */
    double gap_log_t_median, gap_log_t_max;
    double gap_loss_max;                  /* over temperatures: L(T_bayes) - L(T_newton); NaN unless `both` */
    unsigned newton_sweeps, bayes_sweeps; /* times the full data were evaluated */
    double newton_passes;                 /* the same in work: rows evaluated, subsample included, / (N M) */
    unsigned bins;
    vg_calibration_metrics before, after; /* at T = 1, at `temperatures` */
    double t_min, t_max;                  /* the range */
    size_t at_min, at_max, flat;          /* temperatures with these flags */
    /* Every sample at temperatures that were fitted without it (newton, on the other folds): the figures to expect
     * on new data, to be compared with `before`. NaN with folds 0, of one image, or with fewer than 10 samples in a
     * fold. */
    vg_calibration_metrics held_out;
    /* standard error of held_out.nll - before.nll, from the differences of samples, or of images */
    double held_out_nll_error;
    unsigned folds;
    /* one line on ends that were reached and on figures that became worse; "": none */
    char warning[VG_CALIBRATION_WARNING];
    vg_calibration_method method;
    int mean, probabilities; /* as the options say */
    vg_calibration_map *map; /* NULL where `temperatures` are the answer; they are NULL where this is not */
    vg_map_fit *map_fits;    /* count; NULL without a map */
    double nll_change[2];    /* 95 % interval of held_out.nll - before.nll, from the same differences */
    double ece_change[2];    /* the same of the ECE, for which the sign of each bin's gap is taken as known */
    char *text;              /* a summary of a few lines for a reader, each with its newline */
    double *sample_nll[2];   /* samples: each one's NLL before, and held out; NULL without held-out figures */
    /* With options.compare: the candidates, which of them the data support ("none": keep the predictions as they are;
     * "unknown": too few samples), and why, in one sentence. */
    size_t candidate_count;
    vg_calibration_candidate candidates[VG_CALIBRATION_CANDIDATES];
    char supported[16];
    char advice[VG_CALIBRATION_ADVICE];
    size_t images; /* whose sites the samples are, those with samples; 0: samples are independent */
} vg_calibration;

/* Fits temperatures, or the maps of options->method, to logits (N, M, C) and N labels in 0 .. C-1. C >= 2. options
 * NULL: the defaults. VG_ERR_DATA names the first logit that is not finite or label out of range, and a class
 * without samples where the method needs one. A temperature whose minimiser lies outside the range is flagged, not
 * an error. Methods other than temperature, and `mean`, keep the predictions in memory as doubles. *out is owned by
 * the caller, freed with vg_calibration_free. Several threads may call it at once. */
VG_API vg_status vg_calibrate(vg_calibration **out, const vg_predictions *logits, const int64_t *labels,
                              const vg_calibrate_options *options);
/* Frees the result and its arrays. NULL is accepted. */
VG_API void vg_calibration_free(vg_calibration *calibration);

/* A source of logits that need not fit in memory. It is asked for samples first .. first + rows - 1, in increasing
 * order, once per sweep, and gives a view of them (rows, M, C) that is valid until the next call. Always called from
 * the thread that called vg_calibrate_blocks. A status other than VG_OK ends the fit, which returns it. */
typedef vg_status (*vg_logits_block_fn)(void *context, size_t first, size_t rows, vg_predictions *view);
/* vg_calibrate for such a source of n samples: the same result to the bit and the same errors; *out is owned by the
 * caller. `labels` has n values. Several threads may call it at once, each with its own source. */
VG_API vg_status vg_calibrate_blocks(vg_calibration **out, vg_logits_block_fn block, void *block_context, size_t n,
                                     size_t m, size_t c, const int64_t *labels, const vg_calibrate_options *options);

/* --- a k for every class ------------------------------------------------------------------------------------------
 *
 * The gate's k (vg_score_options.class_k) that makes the mean of the gated members as likely as possible on held-out
 * labels, members fixed:  loss(k) = mean over n of -log mean_m q_m(y). Fitted once with one k for all classes and, from
 * there, once with a k for every class; every sample is also measured at ks that were fitted without it. */
typedef struct vg_fit_k_options {
    size_t struct_size;        /* sizeof(vg_fit_k_options), set by VG_FIT_K_OPTIONS_INIT */
    int logits;                /* the input holds logits, not probabilities */
    const double *temperature; /* logits are divided by it: one value, or one per member; NULL: none */
    size_t temperature_count;
    double k_min, k_max;     /* k stays between them; a k at a bound is counted in the result */
    double tolerance;        /* largest derivative of the loss in a variable at the answer */
    unsigned max_iterations; /* 1 .. 10,000 */
    unsigned bins;           /* equal-width bins of the calibration error, 1 .. 1000 */
    unsigned folds;          /* held-out figures: sample n is measured at ks fitted without n % folds; 0: none */
    unsigned threads;        /* 0: one per core. Results do not depend on it */
    /* as in vg_calibrate_options: samples are sites of images, and folds have whole images */
    const size_t *image_ends;
    size_t image_count;
} vg_fit_k_options;
#define VG_FIT_K_OPTIONS_INIT                                                                                          \
    { sizeof(vg_fit_k_options), 0, NULL, 0, 1e-3, 1e3, 1e-9, 200, 15, 5, 0, NULL, 0 }

/* Of the mean distribution over members. */
typedef struct vg_k_figures {
    double nll, ece, accuracy;
} vg_k_figures;

/* One fit: how the solver ended, and the figures at its ks. */
typedef struct vg_k_solution {
    vg_k_figures after;    /* on the samples it was fitted to */
    vg_k_figures held_out; /* every sample at ks that were fitted without it; NaN with folds 0 */
    /* held_out.nll - before.nll and its 95 % interval, from the differences of samples, or of images */
    double nll_change, nll_low, nll_high;
    double gradient; /* largest |derivative| at the answer */
    unsigned iterations;
    int converged;
    size_t at_min, at_max; /* ks within 1 % of a bound: the loss still falls towards it */
} vg_k_solution;

enum { VG_K_FIT_TEXT = 400 };

/* One block of memory, freed with vg_free. Several threads may read it at once. */
typedef struct vg_k_fit {
    size_t struct_size;
    size_t samples, members, classes;
    const double *k;     /* classes */
    double k_one;        /* the k for all */
    vg_k_figures before; /* of the plain mean */
    vg_k_solution by_class, one;
    double k_min, k_max;
    unsigned bins, folds;
    /* What the held-out likelihood supports, "none", "one" or "class", and why, in one sentence. */
    const char *supported;
    char text[VG_K_FIT_TEXT];
    char warning[VG_K_FIT_TEXT]; /* a fit that did not converge, or is worse on held-out samples; "": none */
    size_t images;               /* as in vg_calibration */
} vg_k_fit;

/* Fits k to predictions (N, M, C) and N labels in 0 .. C-1. M >= 2 members that differ are needed for k to matter. The
 * predictions are kept in memory as doubles. options NULL: the defaults. VG_ERR_DATA names the first row that is no
 * distribution or label out of range. Several threads may call it at once. */
VG_API vg_status vg_fit_k(vg_k_fit **out, const vg_predictions *predictions, const int64_t *labels,
                          const vg_fit_k_options *options);
/* The text of k.json (docs/schema/fit-k.schema.json), which `-k` takes; freed with vg_free. one: 1 puts the k for all
 * under "k", 0 the k of every class. */
VG_API vg_status vg_k_fit_json(char **out, const vg_k_fit *fit, int one);

#ifdef __cplusplus
}
#endif
#endif
