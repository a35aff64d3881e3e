/* sets.h - prediction sets: for every sample the classes that cannot be excluded, with a promised coverage.
 *
 * Split conformal prediction. Every class of a sample has a nonconformity score; t is the ceil((n + 1)(1 - alpha))-th
 * smallest score of the labels of n calibration samples, and a set holds the classes whose score is at most t. Where
 * calibration and test samples are exchangeable, a set holds the label with probability 1 - alpha or more.
 * docs/sets.md has the scores, docs/design/prediction-sets.md how they are computed.
 *
 *     vg_sets_options options = VG_SETS_OPTIONS_INIT;                 // lac, alpha = 0.1
 *     vg_sets *sets;
 *     vg_sets_new(&sets, &options);
 *     vg_sets_feed(sets, NULL, &calibration, labels, NULL);           // any number of blocks
 *     vg_set_places out = VG_SET_PLACES_INIT;
 *     out.mask = mask;                                                // n x alphas x (C + 7) / 8 bytes
 *     vg_sets_feed(sets, &out, &test, NULL, NULL);
 *     vg_sets_free(sets);
 *
 * Multilabel: a set holds the labels whose mean is at least 1 - t, and t is the smallest that the bound of
 * vg_select_threshold allows: with `confidence`, the expected share of a sample's true labels that its set misses is at
 * most alpha.
 *
 * Images: sites of an image are rows, and not independent, so that the image is the unit of exchange (`sites` of the
 * options). The loss of an image is the share of its sites whose set misses the label; t is the smallest score at which
 * the losses of n calibration images sum to at most (n + 1) alpha - 1, which is the rule above where an image has one
 * site. Over exchangeable images the expected loss is then at most alpha (conformal risk control). */
#ifndef VARGATE_SETS_H
#define VARGATE_SETS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"
#include "vargate/measures.h"
#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nonconformity of class y: v is the mean over members, or the gated mean; r the rank of y by falling v (ties: the
 * lower class first); u uniform in (0, 1), or 1. */
typedef enum vg_set_score {
    VG_SET_LAC = 0,    /* 1 - v(y) */
    VG_SET_APS = 1,    /* sum of v ranked above y, plus u v(y) */
    VG_SET_RAPS = 2,   /* aps + lambda max(0, r - k_reg) */
    VG_SET_SAPS = 3,   /* u max v where r = 1, else max v + (r - 2 + u) lambda */
    VG_SET_MARGIN = 4, /* largest v of the other classes minus v(y) */
    VG_SET_TOPK = 5,   /* r */
    /* (v(j) - v(y)) / (sigma(j) + sigma(y) + eps), j the first class other than y: the smallest k at which the decision
     * rule excludes y. t is then a k that was calibrated, and a set is single where the rule at that k decides. */
    VG_SET_SNR = 6
} vg_set_score;

/* Which calibration samples a threshold comes from: all; those of the class (a threshold for each class); those of the
 * sample's group; those with the same most probable class. */
typedef enum vg_set_by {
    VG_SETS_BY_NONE = 0,
    VG_SETS_BY_CLASS = 1,
    VG_SETS_BY_GROUP = 2,
    VG_SETS_BY_TOP = 3
} vg_set_by;

enum { VG_SETS_ALPHAS = 64, VG_SET_STRATA = 6 };

typedef struct vg_sets_options {
    size_t struct_size;
    vg_set_score score;
    vg_set_by by;
    const double *alphas; /* alpha_count shares of samples whose label may be missed, in (0, 1); NULL: 0.1 */
    size_t alpha_count;   /* at most VG_SETS_ALPHAS */
    double gate;          /* sets from the gated mean at this k; NaN: from the plain mean */
    double lambda, k_reg; /* of raps and saps; NaN: tuned for each alpha on a part of the calibration samples; with
                             p_values for the first */
    double tuning;        /* that part, in (0, 1); these samples do not count for the threshold */
    int never_empty;      /* 1: the first class is added to an empty set */
    int randomise;        /* 1, 0: u = 1; -1: 1 for aps, raps and saps */
    uint64_t seed;        /* of u and of the tuning part; u of a sample depends on it and on the sample's number */
    double confidence;    /* of the intervals, and of the promise in multilabel mode */
    int p_values;         /* 1: calibration scores are kept for vg_set_places.p_values */
    /* logits, temperature, task, conventions and threads; k is not read. NULL: the defaults. Copied */
    const vg_score_options *scoring;
    const char *thresholds; /* a file of thresholds to apply: score, by, alphas, gate and what follows are then the
                               file's, `scoring` says how predictions are read. NULL: calibrate */
    /* A map that blocks of vg_sets_feed go through first: a source of vg_calibration_map_load. NULL: none */
    const char *calibration_map;
    /* Sites of an image: so many rows in sequence are one image, and a label of -1 leaves a site out of every figure:
     * the size of its set is -1, its values are NaN. 0: each row is a sample. Not with multilabel */
    size_t sites;
} vg_sets_options;
#define VG_SETS_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(vg_sets_options), VG_SET_LAC, VG_SETS_BY_NONE, NULL, 0, NAN, NAN, NAN, 0.2, 0, -1, 1, 0.95, 0, NULL,    \
            NULL, NULL, 0                                                                                              \
    }

/* Sets of low to high classes, and how often they held the label. */
typedef struct vg_set_stratum {
    size_t low, high;
    unsigned long long samples, covered;
    vg_estimate coverage;
} vg_set_stratum;

/* Figures of the sets at one alpha. An interval of shares is Clopper-Pearson's; of the mean size, normal; of the
 * median, by order statistics. Figures that need labels are NaN without. Of images coverage and risk are means over
 * images of the image's own share; their intervals, and those of mean size, single and empty sets, are normal over
 * images. The other figures of images have none (NaN). */
typedef struct vg_set_figures {
    double alpha;
    unsigned long long samples, labelled;
    vg_estimate coverage; /* share of the labels that are in their set; multilabel: 1 - risk */
    vg_estimate mean_size, median_size;
    vg_estimate singletons, empty;      /* shares of the sets that hold one class, none */
    vg_estimate worst_class_coverage;   /* its interval holds for all classes at once (Bonferroni) */
    size_t worst_class;                 /* the class; SIZE_MAX: none */
    vg_estimate singleton_accuracy;     /* share of the single sets that hold the label */
    double expected_low, expected_high; /* interval of the coverage of many test samples, by its beta distribution;
                                           NaN where there are several thresholds */
    vg_estimate risk;                   /* multilabel: mean over samples of the share of true labels that are missed;
                                           images: mean over images of the share of sites that are missed */
    size_t stratum_count;               /* sizes 0, 1, 2-3, 4-10, 11-100, more; those that occur */
    vg_set_stratum strata[VG_SET_STRATA];
} vg_set_figures;

/* Thresholds and, once test samples were fed, figures. Read its fields; they change with every call that is given it.
 * Threads: one caller at a time. */
typedef struct vg_sets {
    size_t struct_size;
    vg_set_score score;
    vg_set_by by;
    int multilabel, randomised, never_empty;
    double gate, lambda, k_reg, confidence; /* NaN: none */
    uint64_t seed;
    size_t members, classes; /* 0: not known yet */
    size_t alpha_count;
    const double *alphas;
    size_t calibrated, tuned;      /* samples behind the thresholds; samples that lambda and k_reg were tuned on. Of
                                      images: images, and sites of others. cell_samples has images, too */
    size_t cell_count;             /* 1, classes, or groups */
    const char *const *cell_names; /* groups; NULL: classes by number, or none */
    const size_t *cell_samples;
    const double *thresholds; /* alpha_count x cell_count; NULL: not calibrated yet. INFINITY: too few samples, every
                                 class is in the set */
    unsigned long long samples, labelled; /* test samples so far */
    const vg_set_figures *figures;        /* alpha_count; NULL: no test samples yet */
    const char *const *class_names;       /* classes; NULL: not known */
    /* alpha_count: raps and saps, lambda and k_reg (raps) of each alpha; NULL: none, or not calibrated yet. The fields
     * lambda and k_reg above are those of the first */
    const double *lambdas, *k_regs;
    int by_image;                /* 1: the thresholds were calibrated on images */
    unsigned long long images;   /* test images so far; 0: samples are no sites */
    unsigned long long left_out; /* sites of test images that were left out */
} vg_sets;

/* Results of a block, written to the caller's arrays; those with a NULL pointer are not computed. */
typedef struct vg_set_places {
    size_t struct_size;
    uint8_t *mask;   /* n x alphas x (C + 7) / 8: class c is bit 7 - c % 8 of byte c / 8, as numpy.packbits has it */
    int32_t *size;   /* n x alphas; -1: a site that is left out */
    int32_t *pred;   /* n: the first class; multilabel: n x C, mean above 0.5 */
    double *p_value; /* n x C: (1 + #{calibration scores >= s}) / (n + 1) of the class's own samples */
    double *value;   /* n x C: what the sets were made from: the mean, or the gated mean */
    size_t sites;    /* of an image, where test samples are sites; 0: as the options say */
} vg_set_places;
#define VG_SET_PLACES_INIT                                                                                             \
    { sizeof(vg_set_places), NULL, NULL, NULL, NULL, NULL, 0 }

/* Makes the object; `*out` is owned by the caller. VG_ERR_ARGUMENT, naming the option, where options contradict each
 * other. */
VG_API vg_status vg_sets_new(vg_sets **out, const vg_sets_options *options);
/* Frees the object with everything it owns. NULL is accepted. */
VG_API void vg_sets_free(vg_sets *sets);
/* out = NULL: calibration samples, any number of blocks; block = NULL then ends the calibration, as the first test
 * block does. Else test samples, which begin anew (numbers, figures) after a call with block = NULL. labels: n, or
 * n x C of 0 and 1 in multilabel mode; NULL for test samples without. groups: n texts, with VG_SETS_BY_GROUP, else
 * NULL. VG_ERR_DATA names the first sample that cannot be used. */
VG_API vg_status vg_sets_feed(vg_sets *sets, const vg_set_places *out, const vg_predictions *block,
                              const int64_t *labels, const char *const *groups);
/* What vg_sets_text writes: the figures as JSON (docs/schema/sets.schema.json); the calibrated thresholds, which
 * vg_sets_options.thresholds takes (docs/schema/thresholds.schema.json); the figures as a table for a person; what a
 * machine answers and what is left to a person. */
typedef enum vg_sets_document {
    VG_SETS_FIGURES = 0,
    VG_SETS_THRESHOLDS = 1,
    VG_SETS_TABLE = 2,
    VG_SETS_DECISIONS = 3
} vg_sets_document;
/* `*out` is freed with vg_free. Tables end in a newline. */
VG_API vg_status vg_sets_text(char **out, vg_sets *sets, vg_sets_document document);

#ifdef __cplusplus
}
#endif
#endif
