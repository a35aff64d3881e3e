/* score_job.h - what the host passes to the scoring kernel: the job, and where each array lies in a block's memory.
 * Plain C, so that the kernel's phases can be compiled and tested on any machine. Internal to measures.
 *
 * A block of threads takes `samples` consecutive samples. Shapes in comments: S samples of the block, M members, C
 * classes, K gates, F parts of the members (F threads share the members of a class), R = SCORE_PARTS parts of a sum. */
#ifndef VG_MEASURES_SCORE_JOB_H
#define VG_MEASURES_SCORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measures/template/js_powers.h"
#include "vargate/measures.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SCORE_PARTS = 16,     /* R */
    SCORE_GROUP = 4,      /* gates handled together in registers */
    SCORE_MOST_SPLIT = 8, /* F */
    SCORE_FIGURES = 5,    /* of a sample, for the summary: score_job.units */
    SCORE_SUMS = 5,       /* TU, EU, reverse divergence in two pieces, EPJS */
    SCORE_REGISTERS = 72, /* of a thread: floats in shared memory */
    SCORE_REGISTERS_WIDE = 96
};

/* Where arrays live: everything in shared memory; the probabilities left in device memory; everything in device
 * memory. */
typedef enum score_where { SCORE_SHARED = 0, SCORE_LARGE = 1, SCORE_GLOBAL = 2 } score_where;

/* What the kernel reports besides the results; zero at the start. */
typedef struct score_report {
    unsigned long long bad; /* ~(index of the first row (n M + m) that is not a distribution); 0: none */
    /* samples whose divergences are too large for float and are scored again in double; and among those the samples
     * left to the host, because a member's gated probabilities are all zero, or nearly */
    unsigned redo[2];
} score_report;

typedef struct score_job {
    const void *in;               /* [n][M][C] */
    long long stride_n, stride_m; /* elements from sample to sample and member to member; classes follow each other */
    bool packed;                  /* C and M C */
    vg_dtype dtype;
    long long n;
    int m, c, k;
    bool wide; /* probabilities in double: float64 input, and logits */
    bool logits;
    bool double_integral;              /* float64 input, or ks of the classes that lie far apart */
    bool distinct, inside;             /* pairs; gate eps */
    double gate_spread, margin_spread; /* M/(M-1) for the sample form, else 1 */
    double eps, margin_eps, floor;
    double unit, share, pairs;         /* factors of finished sums */
    const double *gates;               /* K */
    const double *class_k;             /* C factors of the gates, or NULL */
    const double *inverse_temperature; /* M, or NULL */
    vg_scores out;
    /* [SCORE_FIGURES][n]: sum over classes of the variance, TU, GTU at the largest k (nats), sum over classes of
     * mu (1 - mu), 1 where the rule abstains at k = 1 */
    double *units;
    score_report *report;
    unsigned *redo, *redo_count;       /* n: samples to be done again, in any order */
    const unsigned *list, *list_count; /* the samples to take; NULL: all n */
    int widest;
    float power_weight[JS32_TRIANGLE]; /* template/js_powers.h */
    float narrow_weight[33];           /* of the integral's nodes: template/js_weights.h */
    double fine_weight[104];           /* the same in double, s^-1 included */
    bool need_logs, need_reverse, need_gated, need_gated_logs, need_gated_reverse, need_sets;
    /* how the work is laid out */
    int samples, threads, split, block; /* S, threads of a block, F, members per step of the integral */
    int row;                            /* elements from member to member of p */
    int groups;                         /* K rounded up to whole groups */
    score_where place;
    int gated; /* gates whose measures are wanted: k or 0 */
    size_t p, mu, halves, variance, low, high, gamma, omega, weight, partial, leads, pass, zbar, psi_mean,
        weight_bounds, terms, offset, large;
    size_t bytes;   /* of the arrays above for one block */
    char *memory;   /* SCORE_GLOBAL: blocks x bytes; SCORE_LARGE: blocks x p_bytes where p is not the input itself */
    size_t p_bytes; /* of p, where it is not in shared memory nor the input itself; else 0 */
} score_job;

/* Lays out the block's memory: fills row, groups, the offsets and bytes from m, c, k, wide, logits, samples, split,
 * place. False when it does not fit size_t. */
bool vg_measures__score_layout(score_job *job);
/* Chooses samples, threads, split, block and place for a device with the given number of multiprocessors, where a block
 * may have `shared` bytes of shared memory of the `shared_all` of a multiprocessor; then lays out. n must be set. */
bool vg_measures__score_plan(score_job *job, size_t shared, size_t shared_all, int multiprocessors);
/* Sets the switches from the options and the requested results; m, c and the input's type must be set. */
void vg_measures__score_switches(score_job *job, const vg_score_options *options, const vg_scores *out);

#ifdef __cplusplus
}
#endif
#endif
