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
    SCORE_REGISTERS_WIDE = 96,
    SCORE_FEW = 8,             /* members that a lane keeps in registers */
    SCORE_GATES = 3,           /* the most gates of the forms by lanes */
    SCORE_GROUP_THREADS = 128, /* of their blocks, and the blocks that a multiprocessor holds at least */
    SCORE_GROUP_BLOCKS = 4,
    SCORE_TILE_BLOCKS = 5, /* the same for tiles of few members */
    LANE_FIRST = 5,        /* sums over classes of their first pass: variance, mu (1 - mu), Zbar of every gate */
    LANE_SUMS = 4          /* and of a set: entropy, EU, reverse divergence, EPJS (or its sum over pairs) */
};

/* Where arrays live: everything in shared memory; the probabilities left in device memory; everything in device
 * memory. */
typedef enum score_where { SCORE_SHARED = 0, SCORE_LARGE = 1, SCORE_GLOBAL = 2 } score_where;

/* What the kernel reports besides the results; zero at the start. */
typedef struct score_report {
    unsigned long long bad; /* ~(index of the first row (n M + m) that is not a distribution); 0: none */
    /* samples whose divergences are too large for float and are scored again in double; and among those the samples
     * left to the host, because a member's gated probabilities are all too small for the kernel */
    unsigned redo[2];
} score_report;

/* The form of the kernel: a block of threads for a sample (score_phases.h); a group of lanes for a sample; groups of
 * lanes that have a tile of its classes each (score_groups.h). */
typedef enum score_form { SCORE_BLOCKS = 0, SCORE_GROUPS = 1, SCORE_TILES = 2 } score_form;

typedef struct leading { /* the two classes of largest mean */
    double mu1, mu2, var1, var2;
    int first, second;
} leading;

/* What a tile adds to its sample. */
typedef struct tile_sums {
    double first[LANE_FIRST];
    double sets[SCORE_GATES + 1][LANE_SUMS];
    leading lead;
    float least;
} tile_sums;

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
    float eps32, floor32, gate_spread32; /* the same and gate_spread, rounded */
    double unit, share, pairs;           /* factors of finished sums */
    const double *gates;                 /* K */
    const double *class_k;               /* C factors of the gates, or NULL */
    const double *inverse_temperature;   /* M, or NULL */
    vg_scores out;
    /* [SCORE_FIGURES][unit_count], NULL: not wanted: sum over classes of the variance, TU, GTU at the largest k
     * (nats), sum over classes of mu (1 - mu), 1 where the rule abstains at k = 1 */
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
    /* forms by lanes: lanes of a group, classes of a lane, tiles of a sample */
    score_form form;
    int lanes, rounds, tiles;
    int padded;    /* members, rounded up to a step of the integral */
    bool weighted; /* the terms of a class need the members' weights: a second pass over the classes */
    bool lane_logs, lane_gated_logs; /* need_logs, need_gated_logs, and where EPJS is a sum over pairs */
    double inverse_m;                /* 1 / M */
    double nats;                     /* divergences from here on are too large for float */
    /* of SCORE_TILES, in device memory: T tiles */
    float *tile_rows;     /* [n][T][M][8] sums of a row: score_lanes.h */
    tile_sums *tile;      /* [n][T] */
    float *tile_weights;  /* [n][padded][8] lane_view.weights */
    double *tile_psi;     /* [n][M][4] psi(z) of every gate; the last is 1 where the member is too faint to score */
    double *tile_zbar;    /* [n][4] Zbar of every gate */
    long long unit_count; /* figures of the summary by part: n, or the blocks of a form by lanes */
} score_job;

/* Lays out the block's memory: fills row, groups, the offsets and bytes from m, c, k, wide, logits, samples, split,
 * place. False when it does not fit size_t. */
bool vg_measures__score_layout(score_job *job);
/* Chooses samples, threads, split, block and place for a device with the given number of multiprocessors, where a block
 * may have `shared` bytes of shared memory of the `shared_all` of a multiprocessor; then lays out. n must be set. */
bool vg_measures__score_plan(score_job *job, size_t shared, size_t shared_all, int multiprocessors);
/* Chooses among the forms by the shape alone, and lays out the groups of a form by lanes; m, c, the switches and the
 * strides must be set. */
void vg_measures__score_form(score_job *job);
/* Sets unit_count of a form by lanes: the number of blocks that sum up the figures of the summary. */
void vg_measures__score_units(score_job *job, int multiprocessors);
/* Turns a job that has been queued into the one in double for the samples it lists. */
void vg_measures__score_again(score_job *job);
/* Bytes of device memory that a sample needs in SCORE_TILES. */
size_t vg_measures__score_tile_bytes(const score_job *job);
/* Cuts `memory`, n times as large, into the arrays of SCORE_TILES. */
void vg_measures__score_tile_memory(score_job *job, char *memory);
/* Sets the switches from the options and the requested results; m, c and the input's type must be set. */
void vg_measures__score_switches(score_job *job, const vg_score_options *options, const vg_scores *out);

#ifdef __cplusplus
}
#endif
#endif
