/* prediction_sets.h - the object behind vg_sets: calibration, thresholds, sets of blocks, figures. Internal.
 *
 * A block of predictions is cut into pieces whose means fit the cache. Each is scored (mean, for snr the spread, for a
 * gate the gated mean), then threads take its rows. Nothing but the rows' own results is written by them; calibration
 * scores and counts are added in the order of the samples. */
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
enum { VG_SET_NO_CELL = UINT32_MAX };
/* The number of a text; VG_SET_NO_CELL where it is unknown. `add`: unknown ones are added. */
vg_status vg_set_groups__find(uint32_t *out, vg_set_groups *groups, const char *name, bool add);
void vg_set_groups__free(vg_set_groups *groups);

typedef struct vg_sets_data {
    vg_sets shown; /* what the caller sees; first, so that a pointer to it is a pointer to all */
    vg_set_rule rule;
    double alphas[VG_SETS_ALPHAS];
    vg_score_options scoring; /* as of the caller, without its pointers */
    double *temperature, *class_k;
    double tuning; /* the share */
    bool needs_tuning, p_values, settled, loaded;
    char **class_names; /* classes, or NULL */
    char *origin;       /* the file that thresholds were read from; NULL: calibrated here */

    vg_scorer *scorer;
    vg_pool *pool;
    unsigned threads;
    size_t rows;                /* of a piece */
    double *mean, *std, *gated; /* rows x C */
    double *scores;             /* threads x C, and of calibration rows: rows */
    uint32_t *order;            /* threads x C */
    uint32_t *cells;            /* rows */
    vg_set_parts *parts;        /* rows, while lambda or k_reg is not known */
    uint8_t *mask;              /* rows x alphas x bytes */
    int32_t *size;              /* rows x alphas */

    unsigned long long seen; /* calibration samples */
    vg_set_pool pooled;
    vg_set_tuning tuning_rows;
    vg_set_parts *deferred; /* of calibration samples until tuning is done */
    size_t deferred_count, deferred_room;
    vg_set_positives positives;
    vg_set_groups groups;
    double *thresholds;               /* alphas x cells */
    double *limits;                   /* cells: the largest threshold; by class: one */
    size_t *cell_samples;             /* cells */
    vg_set_tally *tallies;            /* alphas */
    vg_set_figures *figures;          /* alphas */
    unsigned long long unseen_groups; /* test samples of groups without calibration samples */
    char *unseen_group;               /* the first such group */
} vg_sets_data;

static inline vg_sets_data *vg_sets__data(vg_sets *sets) { return (vg_sets_data *)(void *)sets; }
static inline size_t vg_sets__mask_bytes(const vg_sets_data *s) { return (s->shown.classes + 7) / 8; }
/* A set is made from the gated mean, or from the mean. */
static inline const double *vg_sets__values(const vg_sets_data *s) { return s->gated ? s->gated : s->mean; }

/* An object from checked options; the thresholds of a file are filled in by the caller. */
vg_status vg_sets__new(vg_sets_data **out, const vg_sets_options *options);
void vg_sets__free(vg_sets_data *sets);
vg_status vg_sets__feed(vg_sets_data *sets, const vg_set_places *out, const vg_predictions *block,
                        const int64_t *labels, const char *const *groups);
/* Whether the blocks that follow hold logits; a temperature applies to logits alone. */
void vg_sets__read_logits(vg_sets_data *sets, bool logits);
/* Thresholds from the calibration samples so far; nothing where they are there already. */
vg_status vg_sets__settle(vg_sets_data *sets);
/* Makes room for what has the size of the cells, and shows it. */
vg_status vg_sets__make_cells(vg_sets_data *sets, size_t cells);
/* Limits from thresholds, and the tallies. */
vg_status vg_sets__ready(vg_sets_data *sets);
/* Brings shown.figures up to date, which feeding does not. */
void vg_sets__figure(vg_sets_data *sets);

/* A piece of rows whose means are in place: samples first .. first + rows - 1 of the calibration, or of the test. */
typedef struct vg_sets_piece {
    size_t rows;
    unsigned long long first;
    const int64_t *labels;
    const char *const *groups;
    const vg_set_places *out; /* NULL: calibration. Places for this piece */
} vg_sets_piece;
vg_status vg_sets__calibrate(vg_sets_data *sets, const vg_sets_piece *piece);
vg_status vg_sets__apply(vg_sets_data *sets, const vg_sets_piece *piece);
/* Runs body over the rows of a piece in chunks: index i takes rows VG_SET_CHUNK i and following. */
enum { VG_SET_CHUNK = 64 };
vg_status vg_sets__over_rows(vg_sets_data *sets, size_t rows, vg_pool_body body, void *context);

#endif
