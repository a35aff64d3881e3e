/* prediction_sets.h - the object behind vg_sets: calibration, thresholds, sets of blocks, figures. Internal.
 *
 * A block of predictions is cut into pieces whose means fit the cache. Each piece is scored (mean, for snr the
 * spread, for a gate the gated mean), then its rows are divided among threads, which write only their rows' own
 * results; calibration scores and counts are added in the order of the samples. Probabilities of one member are
 * their own mean: threads read and check such rows in place, and no mean is written (set_direct.c). */
#ifndef VG_PREDICTION_SETS_H
#define VG_PREDICTION_SETS_H

#include "evaluate/set_rule.h"

/* Texts to numbers, in the order of their first use. */
typedef struct vg_set_groups {
    char **names;
    size_t count, room;
    uint32_t *slots; /* slot_count, a power of two: number + 1, 0: free */
    size_t slot_count;
} vg_set_groups;
#define VG_SET_NO_CELL UINT32_MAX
/* The number of a text; VG_SET_NO_CELL where it is unknown. `add`: unknown ones are added. */
vg_status vg_set_groups__find(uint32_t *out, vg_set_groups *groups, const char *name, bool add);
void vg_set_groups__free(vg_set_groups *groups);

typedef struct vg_sets_data {
    vg_sets shown; /* the public part; first, so that a pointer to it is a pointer to the whole */
    vg_busy busy;
    vg_set_rule rule; /* lambda and k_reg are those of an alpha: vg_sets__rule */
    double alphas[VG_SETS_ALPHAS], lambdas[VG_SETS_ALPHAS], k_regs[VG_SETS_ALPHAS];
    vg_score_options scoring; /* the caller's, without its pointers */
    double *temperature, *class_k;
    char *map;       /* the calibration map applied to the predictions, as text for applying it to others; or NULL */
    bool map_logits; /* and they were logits before */
    double tuning;   /* the share of calibration samples used for tuning */
    size_t sites;    /* of an image; 0: samples are no sites */
    bool needs_tuning, p_values, settled, loaded;
    bool tunes_lambda, tunes_k_reg;
    bool one_rule;      /* all alphas have the same lambda and k_reg */
    char **class_names; /* classes, or NULL */
    char *origin;       /* the file that thresholds were read from; NULL: calibrated here */

    vg_scorer *scorer;
    vg_pool *pool;
    unsigned threads;
    /* Rows of a piece with means, of one that needs none, and of one that needs no scratch for results either. */
    size_t rows, long_rows, longest_rows;
    double *mean, *std, *gated; /* rows x C */
    double *scores;             /* threads x C */
    uint32_t *order;            /* threads x C */
    double *memory;             /* memory of the rooms */
    vg_set_room *rooms;         /* threads */
    uint32_t *cells;            /* rows */
    vg_set_parts *parts;        /* rows, while lambda or k_reg is not known */
    uint8_t *mask;              /* rows x alphas x bytes */
    int32_t *size;              /* rows x alphas */

    unsigned long long seen, tested; /* calibration samples; test samples, also those left out */
    vg_set_pool pooled;
    vg_set_tuning tuning_rows;
    vg_set_parts *deferred; /* of calibration samples until tuning is done */
    size_t deferred_count, deferred_room;
    vg_set_positives positives;
    vg_set_groups groups;
    double *thresholds;               /* alphas x cells */
    double limits[VG_SETS_ALPHAS];    /* the largest threshold of each alpha; with one rule, of all alphas */
    float bounds[VG_SETS_ALPHAS];     /* lac, one threshold: the least float in a set of each alpha */
    size_t *cell_samples;             /* cells */
    vg_set_tally *tallies;            /* alphas */
    vg_set_figures *figures;          /* alphas */
    unsigned long long unseen_groups; /* test samples of groups without calibration samples */
    char *unseen_group;               /* the first such group */
} vg_sets_data;

static inline vg_sets_data *vg_sets__data(vg_sets *sets) { return (vg_sets_data *)(void *)sets; }
static inline bool vg_sets__one_rule(const vg_sets_data *s) {
    bool one = true;
    for (size_t a = 1; a < s->shown.alpha_count;
         a++) /* NaN means that the score has no such parameter, at every alpha */
        one = one && !(s->lambdas[a] < s->lambdas[0]) && !(s->lambdas[a] > s->lambdas[0]) &&
              !(s->k_regs[a] < s->k_regs[0]) && !(s->k_regs[a] > s->k_regs[0]);
    return one;
}
static inline size_t vg_sets__mask_bytes(const vg_sets_data *s) { return (s->shown.classes + 7) / 8; }
/* What is exchanged: the image of a site, or the sample. */
static inline unsigned long long vg_sets__unit(const vg_sets_data *s, unsigned long long sample) {
    return s->sites ? sample / s->sites : sample;
}
/* The score at an alpha. */
static inline vg_set_rule vg_sets__rule(const vg_sets_data *s, size_t alpha) {
    vg_set_rule rule = s->rule;
    rule.lambda = s->lambdas[alpha];
    rule.k_reg = s->k_regs[alpha];
    return rule;
}

/* Makes an object from checked options; the caller fills in the thresholds of a file. */
vg_status vg_sets__new(vg_sets_data **out, const vg_sets_options *options);
void vg_sets__free(vg_sets_data *sets);
vg_status vg_sets__feed(vg_sets_data *sets, const vg_set_places *out, const vg_predictions *block,
                        const int64_t *labels, const char *const *groups);
/* Whether the following blocks hold logits; a temperature applies to logits alone. */
void vg_sets__read_logits(vg_sets_data *sets, bool logits);
/* Computes thresholds from the calibration samples so far, unless they exist already. */
vg_status vg_sets__settle(vg_sets_data *sets);
/* Allocates the arrays that have an entry per cell, and makes them visible in `shown`. */
vg_status vg_sets__make_cells(vg_sets_data *sets, size_t cells);
/* Computes limits from thresholds, and prepares the tallies. */
vg_status vg_sets__ready(vg_sets_data *sets);
/* Updates shown.figures, which feeding does not do. */
void vg_sets__figure(vg_sets_data *sets);

/* A piece of rows whose means are in place: samples first .. first + rows - 1 of the calibration, or of the test. */
typedef struct vg_sets_piece {
    size_t rows, chunk; /* chunk: rows that a thread takes at once */
    unsigned long long first;
    const int64_t *labels;
    const char *const *groups;
    const vg_set_places *out;     /* NULL: calibration. Places for this piece */
    const vg_predictions *direct; /* rows are read from these predictions; NULL: the means are in place */
} vg_sets_piece;
/* Whether the rows of the predictions can be read in place. */
bool vg_sets__reads_directly(const vg_sets_data *sets, const vg_predictions *block);
/* Rows of a piece as floats, for which lac with one threshold needs comparisons only; false where more is needed. */
bool vg_sets__floats(vg_set_floats *out, const vg_sets_data *sets, const vg_sets_piece *piece, size_t first,
                     size_t rows);
/* The smallest float f >= 0 with 1 - f <= threshold; INFINITY where none is below 2. */
float vg_sets__float_bound(double threshold);
/* The values of row i that its set is made from: the gated mean, or the mean; borrowed, or in room->row. NULL: a row
 * read in place may not be a distribution, and the scorer must decide. */
const double *vg_sets__values(const vg_sets_data *sets, const vg_sets_piece *piece, size_t i, vg_set_room *room);
/* *refused: a row that was read in place may not be a distribution, and nothing was added. */
vg_status vg_sets__calibrate(vg_sets_data *sets, const vg_sets_piece *piece, bool *refused);
vg_status vg_sets__apply(vg_sets_data *sets, const vg_sets_piece *piece, bool *refused);
/* Runs body over the rows of a piece in chunks: index i takes rows piece->chunk i and following. */
vg_status vg_sets__over_rows(vg_sets_data *sets, const vg_sets_piece *piece, vg_pool_body body, void *context);
static inline size_t vg_sets__chunk_end(const vg_sets_piece *piece, size_t index) {
    size_t end = (index + 1) * piece->chunk;
    return end < piece->rows ? end : piece->rows;
}

#endif
