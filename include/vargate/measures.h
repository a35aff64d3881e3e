/* measures.h - uncertainty of ensemble predictions.
 *
 * Shapes, everywhere: N samples, M ensemble members, C classes (or labels), K gate settings.
 *
 *     vg_score_options options = VG_SCORE_OPTIONS_INIT;          // the paper's conventions, k = 1, 2, 3
 *     vg_predictions p = vg_predictions_f32(data, N, M, C);      // data[n][m][c]
 *     vg_scores out = {.tu = tu, .gmu = gmu, .gtu = gtu};        // only results with a pointer are computed
 *     if (vg_score(&out, NULL, &p, &options) != VG_OK) puts(vg_error_message());
 *
 * Multiclass results have one value per sample; gated ones K values per sample, k fastest: gtu[n * K + k]. In
 * multilabel mode every label is a two-outcome problem of its own, and each result has C values per sample: tu[n * C +
 * c], gtu[(n * C + c) * K + k]. */
#ifndef VARGATE_MEASURES_H
#define VARGATE_MEASURES_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Former names of the element types of predictions. Deprecated: use vg_element. */
typedef vg_element vg_dtype;
#define VG_F32 VG_ELEMENT_F32
#define VG_F64 VG_ELEMENT_F64
#define VG_F16 VG_ELEMENT_F16
#define VG_BF16 VG_ELEMENT_BF16

/* A view of predictions, data[n * stride_n + m * stride_m + c * stride_c], strides in elements (any sign). Borrowed. */
typedef struct vg_predictions {
    const void *data;
    vg_element dtype; /* one of VG_ELEMENT_F32, _F64, _F16, _BF16 */
    size_t n, m, c;
    ptrdiff_t stride_n, stride_m, stride_c;
} vg_predictions;

/* Views of a packed array with axes N, M, C. */
static inline vg_predictions vg_predictions_f32(const float *data, size_t n, size_t m, size_t c) {
    vg_predictions view = {data, VG_ELEMENT_F32, n, m, c, (ptrdiff_t)(m * c), (ptrdiff_t)c, 1};
    return view;
}
static inline vg_predictions vg_predictions_f64(const double *data, size_t n, size_t m, size_t c) {
    vg_predictions view = {data, VG_ELEMENT_F64, n, m, c, (ptrdiff_t)(m * c), (ptrdiff_t)c, 1};
    return view;
}

/* --- axes in any order, images and volumes ------------------------------------------------------------------------
 *
 * Axes are any permutation of the letters N M C and, for images and volumes, H W D. A site (n, h, w, d) is a sample:
 * sites are counted in the order N, H, W, D, whatever the order in memory. Nothing is copied; a block of sites is a
 * vg_predictions, as long as the sites lie at one stride:
 *
 *     vg_sites sites = VG_SITES_INIT;
 *     size_t shape[] = {20, 5, 19, 256, 256};
 *     vg_sites_view(&sites, data, VG_ELEMENT_F32, "NMCHW", 5, shape, NULL);
 *     for (size_t first = 0; first < sites.n; first += block.n) {
 *         vg_sites_block(&block, &sites, first, SIZE_MAX);          // here: an image
 *         vg_scores places = {.tu = tu + first};
 *         vg_scorer_feed(scorer, &places, &block, NULL);
 *     } */
enum { VG_SITE_AXES = 4 };
typedef struct vg_sites {
    size_t struct_size; /* sizeof(vg_sites), set by VG_SITES_INIT */
    const void *data;
    vg_element dtype;
    size_t n, m, c;                 /* sites, members, classes */
    size_t shape[VG_SITE_AXES];     /* of N, H, W, D; 1 for a letter that the axes do not have */
    ptrdiff_t stride[VG_SITE_AXES]; /* in elements */
    ptrdiff_t stride_m, stride_c;
    size_t run;           /* sites that lie at one stride, before an outer axis advances: the longest block */
    ptrdiff_t stride_run; /* that stride */
} vg_sites;
#define VG_SITES_INIT                                                                                                  \
    { sizeof(vg_sites), NULL, VG_ELEMENT_F32, 0, 0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0, 0, 0 }

/* A view of an array whose `rank` axes are named by `axes`, each by one letter. C is there; M is not where there is one
 * member, N where there is one image. strides are in elements, any sign; NULL: C order. The array is borrowed.
 * VG_ERR_ARGUMENT for a letter that is unknown or comes twice, and for a rank that does not fit: the message lists what
 * does. */
VG_API vg_status vg_sites_view(vg_sites *out, const void *data, vg_element dtype, const char *axes, size_t rank,
                               const size_t *shape, const ptrdiff_t *strides);
/* The view of at most `most` sites from `first` on, as many as lie at one stride; *block has n = 0 past the last. */
static inline void vg_sites_block(vg_predictions *block, const vg_sites *sites, size_t first, size_t most) {
    size_t left = first < sites->n ? sites->run - first % sites->run : 0, rest = first;
    ptrdiff_t at = 0, size = sites->dtype == VG_ELEMENT_F64 ? 8 : sites->dtype == VG_ELEMENT_F32 ? 4 : 2;
    for (size_t i = VG_SITE_AXES; left > 0 && i-- > 0; rest /= sites->shape[i])
        at += (ptrdiff_t)(rest % sites->shape[i]) * sites->stride[i];
    vg_predictions view = {at ? (const char *)sites->data + at * size : sites->data,
                           sites->dtype,
                           left < most ? left : most,
                           sites->m,
                           sites->c,
                           sites->stride_run,
                           sites->stride_m,
                           sites->stride_c};
    *block = view;
}

/* Which conventions published code uses; a preset sets every switch below it. */
typedef enum vg_preset { VG_PRESET_PAPER = 0, VG_PRESET_VGE = 1, VG_PRESET_MLJKU = 2 } vg_preset;
/* Pairs of members in EPCE, EPKL, EPJS: all M^2 ordered pairs, or the M(M-1) of distinct members. */
typedef enum vg_pairs { VG_PAIRS_ALL = 0, VG_PAIRS_DISTINCT = 1 } vg_pairs;
/* Spread over members: divided by M, or by M - 1. */
typedef enum vg_sigma { VG_SIGMA_POPULATION = 0, VG_SIGMA_SAMPLE = 1 } vg_sigma;
typedef enum vg_log_base { VG_LOG_E = 0, VG_LOG_2 = 1 } vg_log_base;
/* How logarithms of small probabilities are kept finite (probability input only; logits need no floor):
 * MAX: cross terms use log(max(p, floor)). CLAMP: members are clamped to [floor, 1] and renormalised, twice, on entry.
 * ADD: every logarithm is log(p + floor), and differences are clamped at 0. */
typedef enum vg_floor { VG_FLOOR_MAX = 0, VG_FLOOR_CLAMP = 1, VG_FLOOR_ADD = 2 } vg_floor;
/* Gate denominators: OUTSIDE k sigma + eps; INSIDE k (sigma + eps) with Gamma >= eps and k >= 1e-3. */
typedef enum vg_gate_eps { VG_GATE_EPS_OUTSIDE = 0, VG_GATE_EPS_INSIDE = 1 } vg_gate_eps;
/* Margin denominators: ONCE sigma_i + sigma_j + eps; TWICE (sigma_i + eps) + (sigma_j + eps). */
typedef enum vg_margin_eps { VG_MARGIN_EPS_ONCE = 0, VG_MARGIN_EPS_TWICE = 1 } vg_margin_eps;
typedef enum vg_task {
    VG_TASK_MULTICLASS = 0,
    VG_TASK_MULTILABEL = 1,        /* the continuous form of the multilabel GMU */
    VG_TASK_MULTILABEL_LITERAL = 2 /* the paper's printed cases, read on u */
} vg_task;

/* Where scores are computed. AUTO: on the current CUDA device where there is one, else on the CPU. */
typedef enum vg_score_device { VG_SCORE_ON_CPU = 0, VG_SCORE_ON_AUTO = 1, VG_SCORE_ON_CUDA = 2 } vg_score_device;

typedef struct vg_score_options {
    size_t struct_size; /* sizeof(vg_score_options), set by VG_SCORE_OPTIONS_INIT */
    vg_task task;
    int logits;      /* the input holds logits, not probabilities */
    int renormalise; /* divide rows by their sum instead of refusing them (probabilities only) */
    vg_pairs pairs;
    vg_sigma sigma_gate, sigma_margin;
    vg_log_base log_base;
    int normalise; /* divide TU, AU, EU and their gated forms by log C (multilabel: log 2) */
    vg_floor floor_form;
    double floor;
    vg_gate_eps gate_eps_form;
    vg_margin_eps margin_eps_form;
    double eps;
    const double *k; /* the K gate settings, > 0; NULL: 1, 2, 3. Borrowed until the scorer is freed */
    size_t k_count;
    const double
        *temperature; /* logits are divided by it: one value, or one per member; NULL: none. Borrowed likewise */
    size_t temperature_count;
    unsigned threads; /* 0: one per core. Results do not depend on it */
    vg_progress_fn progress;
    void *progress_context;
    size_t scores_size; /* sizeof(vg_scores) where the program was compiled: later fields are not read */
    /* A GPU computes what the CPU does within 1e-6, and the same bits every time. Options that its kernels do not
     * implement (multilabel tasks, the floors CLAMP and ADD of probabilities, renormalise) are computed by the CPU in
     * the same call. The measures from maxprob to energy are refused there with VG_ERR_UNSUPPORTED. */
    vg_score_device device;
    /* A k for every class (multilabel: for every label): at setting k, class c is gated with k class_k[c], and the
     * rule is mu(i) - k class_k[i] sigma(i) > mu(j) + k class_k[j] sigma(j). With k = 1 the values are the ks
     * themselves. In (0, VG_CLASS_K_MOST]; NULL: 1 everywhere. Borrowed likewise */
    const double *class_k;
    size_t class_k_count; /* C, or 1: the same for every class */
} vg_score_options;
#define VG_CLASS_K_MOST 1e6

#define VG_SCORE_OPTIONS_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(vg_score_options), VG_TASK_MULTICLASS, 0, 0, VG_PAIRS_ALL, VG_SIGMA_POPULATION, VG_SIGMA_POPULATION,    \
            VG_LOG_E, 0, VG_FLOOR_MAX, 1e-12, VG_GATE_EPS_OUTSIDE, VG_MARGIN_EPS_ONCE, 1e-8, NULL, 0, NULL, 0, 0,      \
            NULL, NULL, sizeof(vg_scores), VG_SCORE_ON_CPU, NULL, 0                                                    \
    }

/* Sets the switches from `pairs` to `eps` to a preset's; leaves task, logits, k, temperature, threads, progress
 * and device alone. */
VG_API vg_status vg_score_options_preset(vg_score_options *options, vg_preset preset);

/* Bits of vg_scores.flags. */
enum {
    /* Every class of a member is gated to 0. Reserved: k counts as at most 1e15, which leaves each member a class. */
    VG_FLAG_GATED_OUT = 1,
    VG_FLAG_TIE = 2        /* the two largest means are equal */
};

/* The arrays that results are written to, in the caller's memory; what has a NULL pointer is not computed. Sizes in
 * elements: n here is N samples (times C in multilabel mode), K the number of gate settings. */
typedef struct vg_scores {
    double *tu, *au, *eu, *epce, *epkl, *epjs;       /* n */
    double *gtu, *gau, *geu, *gepce, *gepkl, *gepjs; /* n K */
    double *gmu, *snr;                               /* n */
    /* n: classes of largest and second largest mean (ties: lower index); multilabel: 0 or 1, and the other one */
    int32_t *pred, *second;
    int32_t *decision;  /* n K: the class, or -1 = uncertain */
    double *mean, *std; /* N C: member mean and population spread */
    uint32_t *flags;    /* n */
    /* n: measures from the literature, for comparison; larger is less certain. mu(i), mu(j): the two largest means */
    double *maxprob;  /* 1 - mu(i) */
    double *gap;      /* 1 - (mu(i) - mu(j)) */
    double *topstd;   /* sigma(i), population form */
    double *votes;    /* 1 - share of the members whose most probable class is the one most of them name */
    double *maxlogit; /* -max_c mean_m z_m(c)/T_m; logits only */
    double *energy;   /* -mean_m logsumexp(z_m/T_m); logits only */
} vg_scores;

/* --- the table of measures --------------------------------------------------------------------------------------
 *
 * One row for each measure of vg_scores, in the order of files and listings: tu au eu epce epkl epjs gmu snr, those
 * to compare with, maxprob gap topstd votes maxlogit energy, then the gated gtu gau geu gepce gepkl gepjs. Rows are
 * constants of the library, valid for the life of the program; any thread may read them at any time. */
typedef struct vg_measure_info {
    const char *name;    /* "gtu": in files, options and JSON; a listing adds "@" and the gate setting */
    const char *symbol;  /* "GTU": in text and plots */
    const char *meaning; /* one line without a full stop */
    int gated;           /* 1: K values per row, one for each gate setting; 0: one */
    int certainty;       /* 1: larger is more certain (snr); 0: larger is less certain */
    size_t offset;       /* of its pointer in vg_scores, in bytes */
} vg_measure_info;

/* Row `index` of the table; NULL past the last. */
VG_API const vg_measure_info *vg_measure_info_at(size_t index);
/* Figures over every sample fed so far. */
typedef struct vg_score_summary {
    unsigned long long samples; /* N */
    double diversity;           /* D: mean over samples and classes of the population variance over members */
    /* 1 - mean(GTU at the largest k) / mean(TU); NaN unless both tu and gtu were asked for */
    double k_sensitivity;
    double mean_tu, mean_gtu; /* the two means in it, in nats, not normalised */
    /* Input of vg_verdict_judge: always computed, independent of the k, measures and preset asked for. A unit is a
     * sample, or in multilabel mode a (sample, label) pair. NaN where nothing was fed. */
    size_t members, outcomes; /* M; C, or 2 in multilabel mode */
    double member_variance;   /* mean over units of sum_c Var_M[p(c)] (multilabel: of the one outcome) */
    double total_variance;    /* mean over units of sum_c mu(c) (1 - mu(c)): that variance plus the members' own */
    /* share of pairs of distinct members whose most probable classes differ; 0 when M = 1. From every sample up to
     * some hundreds, from a fixed, weighted selection of those that follow */
    double disagreement;
    /* share of units on which the decision rule abstains at k = 1, sigma in population form */
    double abstained;
    double reserved[8]; /* of later versions */
} vg_score_summary;

/* Scores a whole array. `summary` may be NULL, which saves its share of the work. Several threads may call it at once
 * with different `out`. VG_ERR_DATA names the first sample that cannot be scored; results are then incomplete. */
VG_API vg_status vg_score(vg_scores *out, vg_score_summary *summary, const vg_predictions *predictions,
                          const vg_score_options *options);

/* The streaming form: feed blocks of samples of the same M and C, take blocks of results. Memory is bounded by M, C
 * and the thread count whatever N. On the CPU results, summary included, are the same to the bit however the samples
 * are cut into blocks. A scorer serves one caller at a time: a call while another one is inside fails with
 * VG_ERR_ARGUMENT and changes nothing. It must not be freed while a call is inside. */
typedef struct vg_scorer vg_scorer;
/* Makes a scorer for blocks of M members and C classes. The options must be given, because they tell the size of
 * vg_scores. *out is the caller's. VG_ERR_ARGUMENT for options that are out of range or do not fit M;
 * VG_ERR_UNSUPPORTED, "no CUDA device: <reason>", for a device that this machine or this build does not have. */
VG_API vg_status vg_scorer_new(vg_scorer **out, size_t m, size_t c, const vg_score_options *options);
/* NULL is accepted. */
VG_API void vg_scorer_free(vg_scorer *scorer);
/* Where an array lies. DEVICE: memory of the CUDA device that the scorer was made on. */
typedef enum vg_memory { VG_MEMORY_HOST = 0, VG_MEMORY_DEVICE = 1 } vg_memory;

typedef struct vg_scorer_feed_options {
    size_t struct_size;    /* sizeof(vg_scorer_feed_options), set by VG_SCORER_FEED_OPTIONS_INIT */
    vg_memory predictions; /* where the block lies */
    vg_memory scores;      /* where the arrays of `out` lie */
    /* The cudaStream_t whose queued work writes a block in device memory; NULL: the default stream. Borrowed. */
    void *stream;
} vg_scorer_feed_options;
#define VG_SCORER_FEED_OPTIONS_INIT                                                                                    \
    { sizeof(vg_scorer_feed_options), VG_MEMORY_HOST, VG_MEMORY_HOST, NULL }

/* Scores one block into `out` (arrays for this block only); the results are complete when it returns. Error messages
 * count samples from the first block's first. options NULL: everything lies in host memory. Blocks in device memory are
 * read in place where their classes follow each other, and are packed by way of the host otherwise; VG_ERR_ARGUMENT
 * where the scorer computes on the CPU. */
VG_API vg_status vg_scorer_feed(vg_scorer *scorer, const vg_scores *out, const vg_predictions *block,
                                const vg_scorer_feed_options *options);
/* The device in words, "cpu" or "NVIDIA H200". Borrowed from the scorer. */
VG_API const char *vg_scorer_device(const vg_scorer *scorer);
/* Figures over all samples fed so far. */
VG_API vg_status vg_scorer_summary(const vg_scorer *scorer, vg_score_summary *summary);

/* --- the verdict: do the members disagree, and does the ensemble decide -------------------------------------------
 *
 *     share = V / (V + A),   V = M/(M-1) member_variance,   A = total_variance - member_variance
 *
 * is the part of the predictive variance that lies between members: EU/TU with the variance of a class in place of its
 * entropy, without bias in M. It needs no logarithm, so that every scoring run has it. `disagreement` is free of M as
 * well. With d = disagreement / (1 - 1/outcomes), which is 1 when members name classes at random:
 *
 *     undecided  d >= 0.5, or the rule abstains at k = 1 on 95 % or more: the members disagree more than they agree
 *     diverse    share >= 0.02 or d >= 0.2
 *     collapsed  share < 0.001 and d < 0.05
 *     low        what is left
 *     no-skill   diverse or undecided, 30 labels or more, and an accuracy within two standard errors of chance or
 *                below it
 *
 * docs/measures.md says on what these were chosen. */
typedef enum vg_verdict_state {
    VG_VERDICT_UNKNOWN = 0,    /* nothing was scored, or a figure is missing */
    VG_VERDICT_ONE_MEMBER = 1, /* M = 1 */
    VG_VERDICT_IDENTICAL = 2,  /* every variance is 0 */
    VG_VERDICT_COLLAPSED = 3,
    VG_VERDICT_LOW = 4,
    VG_VERDICT_DIVERSE = 5,
    VG_VERDICT_UNDECIDED = 6,
    VG_VERDICT_NO_SKILL = 7
} vg_verdict_state;

enum { VG_VERDICT_TEXT = 400 };

/* A verdict and the figures it rests on. The caller sets struct_size (VG_VERDICT_INIT); fields added later follow
 * the last. */
typedef struct vg_verdict {
    size_t struct_size;
    vg_verdict_state state;
    const char *name; /* "diverse": stable, for programs */
    double diversity; /* D x M/(M-1) */
    /* V: the variance over members summed over classes, unbiased (C D for a multiclass ensemble) */
    double class_variance;
    double share;               /* V / (V + A) */
    double disagreement;        /* as in the summary */
    double abstained;           /* as in the summary */
    double accuracy;            /* NaN without labels */
    double chance;              /* 1 / outcomes */
    char text[VG_VERDICT_TEXT]; /* a sentence with these numbers; begins with a word and a colon */
} vg_verdict;
#define VG_VERDICT_INIT                                                                                                \
    { sizeof(vg_verdict), VG_VERDICT_UNKNOWN, "unknown", 0, 0, 0, 0, 0, 0, 0, "" }

/* Judges a summary. `correct` of `labelled` units are right by their label; labelled = 0: there are no labels. */
VG_API vg_status vg_verdict_judge(vg_verdict *out, const vg_score_summary *summary, unsigned long long correct,
                                  unsigned long long labelled);
/* What a scorer has summed so far, to continue in another one made with the same M, C and options (another process, a
 * copy). Restoring gives the same bits as one scorer that saw every block. */
typedef struct vg_scorer_state {
    size_t struct_size;
    unsigned long long samples;
    int has_tu, has_gtu;
    /* Each a compensated sum: the sum and what rounding has left out. */
    double variance[2], tu[2], gtu[2], total[2], disagreement[2];
    double abstained, looked_at; /* counts, weighted */
} vg_scorer_state;
/* Copies the sums to *out and sets its struct_size. The scorer stays usable. VG_ERR_UNSUPPORTED on a GPU, which keeps
 * the sums. */
VG_API vg_status vg_scorer_save(const vg_scorer *scorer, vg_scorer_state *out);
/* Replaces the sums of a scorer by saved ones. VG_ERR_ARGUMENT for a state of another size. */
VG_API vg_status vg_scorer_restore(vg_scorer *scorer, const vg_scorer_state *state);

/* A decision tree in the caller's memory. The fields of a node are node_stride bytes apart from those of the next,
 * so that an array of structs and separate arrays both work; a node with left < 0 is a leaf, whose distribution is
 * value[node * value_stride]. Any other sends a sample to the left if x[feature] <= threshold; a NaN goes left where
 * `missing` (NULL: nowhere) is not 0. */
typedef struct vg_tree {
    const void *left, *right, *feature; /* int64, one per node */
    const void *threshold;              /* double, one per node */
    const void *missing;                /* uint8, one per node, or NULL */
    size_t node_stride, nodes;
    const double *value;
    size_t value_stride; /* in doubles */
} vg_tree;
/* Fails if the descent of a tree could leave it, never end, or read a feature that is not there. */
VG_API vg_status vg_trees_check(const vg_tree *trees, size_t tree_count, size_t features);
/* The node at which each sample x[n][features] ends in each tree, leaves[m][n], for trees that have passed the check.
 * The calling thread does all the work; calls on different samples may run at once. */
VG_API void vg_trees_leaves(uint32_t *leaves, const vg_tree *trees, size_t tree_count, const float *x, size_t n,
                            size_t features);
/* Members' predictions out[m][n][c] from leaves[m * leaf_stride + n]: n of the samples that vg_trees_leaves was called
 * with. */
VG_API void vg_trees_values(double *out, const vg_tree *trees, size_t tree_count, const uint32_t *leaves,
                            size_t leaf_stride, size_t n, size_t classes);

/* 1 if these rows are distributions already (values in [0, 1] that sum to 1 within 1e-3), judged from up to 256 rows
 * spread over the array: then they are probabilities, not logits. 0 for an empty array, and as soon as a row is
 * anything else. */
VG_API int vg_predictions_normalised(const vg_predictions *predictions);

/* The SIMD tier in use: "avx512", "avx2", "neon" or "portable". The environment variable VARGATE_CPU (read once)
 * forces a lower one by these names. */
VG_API const char *vg_cpu_tier(void);

#ifdef __cplusplus
}
#endif
#endif
