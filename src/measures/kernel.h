/* kernel.h - the job that the scorer passes to a SIMD tier, and the table through which it picks one. Internal to
 * measures.
 *
 * A tier works on a tile: as many samples as it has lanes of double, one sample per lane, so that nothing is ever
 * summed across lanes. The tile holds p[m][c][lane] in double. For float32 probabilities that need no conversion it
 * holds x[c][m][lane] in float, for which there are float forms of the gates' sums (gates32.h), of the logarithms
 * (class32.h) and of EPJS (js32.h). */
#ifndef VG_MEASURES_KERNEL_H
#define VG_MEASURES_KERNEL_H

#include "base/base.h"
#include "vargate/measures.h"

/* A scoring job, derived once from the options and the requested results. */
typedef struct vg_kernel_job {
    size_t m, c, k; /* c: outcomes in the kernel (2 in multilabel mode) */
    size_t labels;  /* labels per sample in multilabel mode, else 0 */
    vg_score_options options;
    const double *gates; /* the k settings */
    /* the factor of each class (each label in multilabel mode), by which every k is multiplied there; NULL: 1 */
    const double *class_k;
    const double *inverse_temperature; /* m values; NULL: 1 */
    bool single_precision;             /* float32 accuracy is enough: the float forms of tiles are used */
    vg_predictions in;
    vg_scores out;
    size_t first; /* index of in's sample 0 in the whole stream, for messages */
    bool figures; /* the figures of each unit below are needed, because a summary may be requested */
    /* per unit (sample, or sample and label) for the summary: sum over outcomes of Var_M, TU and GTU at the largest k,
     * in nats */
    double *unit_variance, *unit_tu, *unit_gtu;
    /* for the verdict: sum over outcomes of mu (1 - mu); 1 where the rule abstains at k = 1, else 0 */
    double *unit_total, *unit_abstains;
    size_t widest; /* index of the largest k */
    /* 0: the gated results of a unit are adjacent; else the results of one k lie together, and those of the next k
     * follow after this many elements */
    size_t plane;
    /* Where set, the threads of the pool share the classes of each unit; worker w has the workspace at workspaces + w
     * workspace_bytes. */
    vg_pool *pool;
    char *workspaces;
    size_t workspace_bytes;
    double *gated_means; /* [unit][k][c] the gated predictive distributions; NULL: not wanted. Multiclass only */
    bool laid_out;       /* the workspace is that of a call before with the same job but for its places and its units */
    /* which phases are needed */
    bool need_logs;          /* AU EU EPCE EPKL or a gated form of them */
    bool need_reverse;       /* EPCE, EPKL: divergences from the mean to a member */
    bool need_gated;         /* any gated measure */
    bool need_gated_logs;    /* GAU GEU GEPCE GEPKL */
    bool need_gated_reverse; /* GEPCE GEPKL */
} vg_kernel_job;

typedef struct vg_kernel_tier {
    const char *name;
    size_t (*units)(const vg_kernel_job *job);  /* units that it processes at once */
    size_t (*shares)(const vg_kernel_job *job); /* parts of a unit that threads can compute at once; 1: none */
    /* Bytes of workspace for one thread; false when they do not fit size_t. */
    bool (*workspace)(size_t *bytes, const vg_kernel_job *job);
    /* Scores units first .. first + count - 1 of job->in; a unit is a sample, or in multilabel mode
     * sample u / labels and label u % labels. Rows that are not distributions make it fail and name the first. */
    vg_status (*score)(const vg_kernel_job *job, void *workspace, size_t first, size_t count);
    bool (*votes)(const vg_kernel_job *job);       /* whether it writes the votes, too */
    uint32_t (*top)(const float *x, size_t count); /* index of the largest, the first of equals */
    /* the same of `rows` rows of at most 16 floats, `step` apart; may be NULL */
    void (*tops)(uint32_t *tops, const float *x, ptrdiff_t step, size_t rows, size_t count);
} vg_kernel_tier;

extern const vg_kernel_tier vg_measures__portable;
#if defined(__x86_64__) && defined(VG_WITH_MEASURES_X86)
extern const vg_kernel_tier vg_measures__avx2;
extern const vg_kernel_tier vg_measures__avx512;
#endif
#if defined(__aarch64__)
extern const vg_kernel_tier vg_measures__neon;
#endif

/* The tier for this machine (and VARGATE_CPU). */
const vg_kernel_tier *vg_measures__tier(void);

/* The message for the first row of a tile that is not a distribution (or holds a NaN or infinite logit), by a plain
 * scan. */
vg_status vg_measures__bad_row(const vg_kernel_job *job, size_t first, size_t count);
/* The same where it is not known whether there is such a row. */
vg_status vg_measures__check_units(const vg_kernel_job *job, size_t first, size_t count);

/* Scores units again that a kernel refused, where logits of -inf are the only problem: see masked_logits.c.
 * VG_ERR_DATA otherwise, with the kernel's message or one of its own. */
vg_status vg_measures__score_masked(const vg_kernel_tier *tier, const vg_kernel_job *job, size_t first, size_t count);

/* Element (n, m, c) of the input as double. */
double vg_measures__value(const vg_predictions *in, size_t n, size_t m, size_t c);
/* float16 and bfloat16 bits to float. */
float vg_measures__half(uint16_t bits);
float vg_measures__bfloat(uint16_t bits);

#endif
