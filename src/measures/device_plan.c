/* device_plan.c - how a scoring job is laid out on a device: the switches it takes from the options, where a block's
 * arrays lie, how many samples and threads a block has. No device is needed to make a plan. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "measures/cuda/score_job.h"
#include "measures/cuda/score_weights.h"
#include "measures/scorer.h"

static const float power_weight[JS32_TRIANGLE] = {JS32_WEIGHTS};

void vg_measures__score_switches(score_job *job, const vg_score_options *o, const vg_scores *out) {
    double M = (double)job->m, corrected = job->m > 1 ? M / (M - 1) : 1.0;
    job->logits = o->logits != 0;
    job->double_integral = job->dtype == VG_F64 || vg_measures__wide_gates(o);
    job->wide = job->logits || job->double_integral;
    job->distinct = o->pairs == VG_PAIRS_DISTINCT;
    job->inside = o->gate_eps_form == VG_GATE_EPS_INSIDE;
    job->gate_spread = o->sigma_gate == VG_SIGMA_SAMPLE ? corrected : 1.0;
    job->margin_spread = o->sigma_margin == VG_SIGMA_SAMPLE ? corrected : 1.0;
    job->eps = o->eps;
    job->margin_eps = o->margin_eps_form == VG_MARGIN_EPS_TWICE ? 2 * o->eps : o->eps;
    job->floor = o->floor;
    job->eps32 = (float)job->eps;
    job->floor32 = (float)job->floor;
    job->gate_spread32 = (float)job->gate_spread;
    job->unit = o->log_base == VG_LOG_2 ? 1 / log(2) : 1.0;
    job->share = o->normalise ? 1 / log((double)job->c) : job->unit;
    job->pairs = !job->distinct ? 1.0 : job->m > 1 ? corrected : 0.0;
    job->out = *out;
    job->need_gated_reverse = out->gepce || out->gepkl;
    job->need_gated_logs = job->need_gated_reverse || out->gau || out->geu;
    job->need_gated = job->need_gated_logs || out->gtu || out->gepjs;
    job->need_reverse = out->epce || out->epkl;
    job->need_logs = job->need_reverse || out->au || out->eu || job->need_gated_logs;
    job->need_sets = job->need_logs || job->need_gated || out->tu || out->epjs;
    job->gated = job->need_gated ? job->k : 0;
    job->inverse_m = 1 / M;
    memcpy(job->power_weight, power_weight, sizeof job->power_weight);
    for (int j = 0; j < 33; j++)
        job->narrow_weight[j] = (float)score_narrow_weight[j];
    for (int j = 0; j < 104; j++) {
        double s = exp2(((double)j - 10) / 2), factor = j < 10 ? score_fine_factor[j] : 1.0;
        job->fine_weight[j] = log(2) / 4 / s * factor;
    }
}

/* --- memory */
typedef struct cutter {
    size_t used;
    bool fits;
} cutter;

/* Reserves a x b x c x each bytes at a multiple of 16. */
static size_t cut(cutter *at, size_t a, size_t b, size_t c, size_t each) {
    size_t bytes, end, from = at->used;
    at->fits = at->fits && vg_base__mul(&bytes, a, b) && vg_base__mul(&bytes, bytes, c) &&
               vg_base__mul(&bytes, bytes, each) && vg_base__add(&end, from, bytes) && vg_base__add(&end, end, 15) &&
               end < ((size_t)1 << 31);
    if (at->fits)
        at->used = end / 16 * 16;
    return from;
}

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* Elements from row to row of p. In shared memory rows begin in different banks: an odd number of elements, or of four
 * at a time where classes come in fours. */
static int row_of(const score_job *job) {
    if (job->place != SCORE_SHARED)
        return job->c;
    return !job->wide && job->c % 4 == 0 ? (job->c / 4 | 1) * 4 : job->c | 1;
}

bool vg_measures__score_layout(score_job *job) {
    size_t S = (size_t)job->samples, M = (size_t)job->m, C = (size_t)job->c, K = (size_t)job->gated,
           F = (size_t)job->split;
    size_t R = job->wide ? 8 : 4, padded = (M + 7) / 8 * 8, parts = SCORE_PARTS;
    cutter at = {0, true}, own = {0, true};
    bool in_place = job->packed && !job->logits && job->dtype == (job->wide ? VG_F64 : VG_F32);
    job->groups = (int)((K + SCORE_GROUP - 1) / SCORE_GROUP * SCORE_GROUP);
    job->row = row_of(job);
    size_t groups = (size_t)job->groups;
    if (job->place == SCORE_SHARED)
        job->p = cut(&at, S * M + padded - M, (size_t)job->row, 1, R);
    else if (!in_place)
        cut(&own, S, M, C, R);
    job->p_bytes = (own.used + 255) / 256 * 256;
    job->mu = cut(&at, S, C, 1, 8);
    job->halves = cut(&at, S, C, 2, 4);
    job->variance = cut(&at, S, C, 1, 8);
    job->low = cut(&at, S, C, 1, R);
    job->high = cut(&at, S, C, 1, R);
    job->gamma = cut(&at, S, C, groups, R);
    job->omega = cut(&at, S, M, groups, R);
    job->weight = cut(&at, S, padded, K + 1, R);
    /* The parts of the moments, psi of every member and gate, and the sums over members are never needed at the same
     * time. */
    size_t moments = 24 + 2 * R, psi = (M * K * R + F * C - 1) / (F * C), sums = (3 + 2 * K) * R;
    job->partial = cut(&at, S, F * C, most(moments, most(psi, sums)), 1);
    job->leads = cut(&at, S, parts, 6, 8);
    job->pass = cut(&at, S, parts, most(2 + K, most(3 * K, SCORE_SUMS * (K + 1))), 8);
    job->zbar = cut(&at, S, K, 2, 8);
    job->psi_mean = cut(&at, S, K, 1, 8);
    job->weight_bounds = cut(&at, S, K, 2, 8);
    job->terms = cut(&at, S, K + 1, SCORE_SUMS * C, job->need_sets ? R : 0);
    job->offset = cut(&at, S, M, 1, job->logits ? 8 : 0);
    job->large = cut(&at, S, 1, 1, 4);
    job->bytes = (at.used + 255) / 256 * 256;
    return at.fits && own.fits && vg_base__mul(&M, M, C) && M < ((size_t)1 << 30);
}

/* --- shape */
/* QUARTER: registers of one of a multiprocessor's four schedulers */
enum { QUARTER = 16384, MOST_THREADS = 512, MOST_SAMPLES = 32 };
/* Relative cost of reading the predictions from device memory in every phase instead of from shared memory, and the
 * elements of a sample above which it is tried for the integral too, which then takes eight members at a time. */
#define LARGE_WORTH 0.7
enum { LARGE_FROM = 1 << 14 };

static int least(int a, int b) { return a < b ? a : b; }

/* Number of threads that share the members of one class. */
static int split_for(const score_job *job) {
    long long items = (long long)job->samples * job->c;
    int split = (int)(job->threads / (items < job->threads ? items : job->threads));
    split = least(split, SCORE_MOST_SPLIT);
    return split < job->m / 4 ? (split > 1 ? split : 1) : job->m / 4 > 1 ? least(split, job->m / 4) : 1;
}

/* Blocks resident on a multiprocessor, limited by its shared memory and by the warps for which it has registers. */
static int resident(const score_job *job, size_t shared_all) {
    int registers = job->wide || job->place != SCORE_SHARED ? SCORE_REGISTERS_WIDE : SCORE_REGISTERS;
    int warps = least(4 * (QUARTER / (registers * 32)), 64);
    return least((int)(shared_all / (job->bytes + 1024)), warps / (job->threads / 32));
}

/* Model of the throughput, fitted to measurements on an H200: a block's time grows with the rounds of its widest phase
 * on top of a fixed part; up to five resident blocks overlap their narrow phases; up to 24 active warps hide latency; a
 * partial last wave costs as much as a full one. */
static double worth(const score_job *job, size_t shared_all, int multiprocessors) {
    double items = (double)job->samples * (job->gated + 1) * job->c, T = job->threads, rounds = ceil(items / T);
    int blocks = resident(job, shared_all), together = least(blocks, 5);
    if (blocks == 0)
        return 0;
    double warps = blocks * (items < T ? ceil(items / 32) : T / 32), hidden = pow((warps < 24 ? warps : 24) / 24, 0.8);
    double waves = ceil((double)job->n / job->samples) / ((double)blocks * multiprocessors);
    return job->samples * together / (1 + 0.35 * rounds) * hidden * (waves / ceil(waves));
}

/* Finds the best shape with arrays in `place`, and with job.split parts of the members where that is not 0. Sets
 * `found` when it is better than *best. */
static void shape_best(score_job *found, double *best, score_job job, score_where place, size_t shared,
                       size_t shared_all, int multiprocessors) {
    int split = job.split;
    job.place = place;
    for (job.samples = 1; job.samples <= MOST_SAMPLES; job.samples++)
        for (job.threads = 64; job.threads <= MOST_THREADS; job.threads += 32) {
            job.split = split ? split : split_for(&job);
            if (!vg_measures__score_layout(&job) || job.bytes > shared)
                continue;
            double value = worth(&job, shared_all, multiprocessors) * (place == SCORE_SHARED ? 1 : LARGE_WORTH);
            if (value > *best * 1.005) {
                *best = value;
                *found = job;
            }
        }
}

/* Parts of the members and steps of the integral give the order of sums. They follow from members, classes and type
 * alone, as if a large H200 job asked for everything, so that a result depends neither on how many samples there are,
 * nor on what else is asked for, nor on the device where a sample fits its shared memory. */
static void fix_order(score_job *job) {
    enum { SAMPLES = 1 << 18, SHARED = 227 << 10, SHARED_ALL = 228 << 10, MULTIPROCESSORS = 132, THREADS = 256 };
    double best = 0;
    score_job usual = *job;
    job->block = job->wide || job->m > 128 || (long long)job->m * job->c > LARGE_FROM ? 8 : 4;
    usual.n = SAMPLES;
    usual.k = usual.gated = 3;
    usual.need_sets = usual.packed = true;
    usual.split = 0;
    shape_best(&usual, &best, usual, SCORE_SHARED, SHARED, SHARED_ALL, MULTIPROCESSORS);
    if (best == 0) {
        usual.samples = 1;
        usual.threads = THREADS;
        usual.split = split_for(&usual);
    }
    job->split = usual.split;
}

bool vg_measures__score_plan(score_job *job, size_t shared, size_t shared_all, int multiprocessors) {
    double best = 0;
    fix_order(job);
    score_job start = *job;
    shape_best(job, &best, start, SCORE_SHARED, shared, shared_all, multiprocessors);
    bool integral = start.out.epjs || start.out.gepjs;
    if (!start.wide && (start.block == 8 || !integral))
        shape_best(job, &best, start, SCORE_LARGE, shared, shared_all, multiprocessors);
    if (best > 0)
        return true;
    job->place = SCORE_GLOBAL;
    job->samples = 1;
    job->threads = 256;
    job->block = 8;
    return vg_measures__score_layout(job);
}

/* --- forms by lanes */
/* C above which a sample is divided into tiles. Below, a group takes samples of at most SCORE_FEW members; of up to
 * GROUP_MEMBERS where there are at most GROUP_TINY classes, which leave most threads of a block idle. */
enum { GROUP_CLASSES = 256, GROUP_TINY = 4, GROUP_MEMBERS = 32, MOST_ROUNDS = 8, WARP = 32 };
/* Bytes of shared memory that a warp may have for the weights of its samples. */
enum { GROUP_WEIGHTS = 12 << 10 };
/* Above 3 nats one ulp of a float exceeds an error of 1e-6. Gates of the forms by lanes are floats whose error the
 * divergence multiplies. */
#define BLOCK_NATS 3.0
#define LANE_NATS 2.0

/* Instructions of a lane for an element, for a sample, and for one exchange; cycles of the first-level cache for a
 * line, in instructions. They are estimates, which only choose between neighbouring numbers of lanes. */
static double group_cost(const score_job *job, int lanes, int rounds) {
    double samples = (double)WARP / lanes, line = (double)job->m * job->c * 4 / 128;
    double lines = samples * (line < 1 ? line : 1), element = 16 * lines > 200 ? 16 * lines : 200;
    return lanes * ((double)rounds * job->m * element + 300 + 100 * log2((double)lanes));
}

/* The number of lanes for a sample; 0: none fits. */
static int group_lanes(const score_job *job) {
    int best = 0;
    for (int lanes = 1; lanes <= WARP; lanes *= 2) {
        int rounds = (job->c + lanes - 1) / lanes;
        size_t weights = (size_t)(WARP / lanes) * ((size_t)job->padded * 8 + 4) * sizeof(float);
        if (rounds > MOST_ROUNDS || weights > GROUP_WEIGHTS)
            continue;
        if (!best || group_cost(job, lanes, rounds) < group_cost(job, best, (job->c + best - 1) / best))
            best = lanes;
    }
    return best;
}

void vg_measures__score_form(score_job *job) {
    bool few = job->m <= SCORE_FEW, far = llabs(job->stride_m) > INT_MAX / job->m - job->c;
    bool pairs = few && job->m > 1;
    job->form = SCORE_BLOCKS;
    if (!job->list)
        job->nats = BLOCK_NATS;
    job->padded = (job->m + 7) / 8 * 8;
    if (job->wide || job->logits || job->list || job->dtype != VG_F32 || job->k > SCORE_GATES || far)
        return;
    job->lane_gated_logs = job->m > 1 && (job->need_gated_logs || (pairs && job->out.gepjs));
    job->lane_logs = job->m > 1 && (job->need_logs || job->lane_gated_logs || (pairs && job->out.epjs));
    job->weighted = job->gated > 0 || (!few && job->out.epjs);
    job->tiles = 1;
    if (job->c > GROUP_CLASSES) {
        job->form = SCORE_TILES;
        job->lanes = WARP;
        job->rounds = few ? MOST_ROUNDS : job->m <= 128 ? 4 : 2;
        job->tiles = (job->c + WARP * job->rounds - 1) / (WARP * job->rounds);
    } else if (job->m <= (job->c <= GROUP_TINY ? GROUP_MEMBERS : SCORE_FEW) && (job->lanes = group_lanes(job)) > 0) {
        job->form = SCORE_GROUPS;
        job->rounds = (job->c + job->lanes - 1) / job->lanes;
    }
    if (job->form != SCORE_BLOCKS)
        job->nats = LANE_NATS;
}

void vg_measures__score_units(score_job *job, int multiprocessors) {
    long long samples = (long long)SCORE_GROUP_THREADS / job->lanes, blocks = (job->n + samples - 1) / samples,
              most = 8LL * SCORE_GROUP_BLOCKS * multiprocessors;
    job->unit_count = blocks < most ? blocks : most;
}

void vg_measures__score_again(score_job *job) {
    job->wide = true;
    job->list = job->redo;
    job->list_count = job->redo_count;
    job->redo += job->n;
    job->redo_count = &job->report->redo[1];
    job->units = NULL;
    job->out.mean = job->out.std = job->out.gmu = job->out.snr = NULL;
    job->out.pred = job->out.second = job->out.decision = NULL;
    job->out.flags = NULL;
}

/* Bytes of a sample's arrays, each a multiple of 32. */
typedef struct tile_parts {
    size_t rows, sums, weights, psi, zbar;
} tile_parts;
static tile_parts tile_parts_of(const score_job *job) {
    size_t M = (size_t)job->m, T = (size_t)job->tiles;
    return (tile_parts){32 * T * M, sizeof(tile_sums) * T, 32 * (size_t)job->padded, 32 * M, 32};
}

size_t vg_measures__score_tile_bytes(const score_job *job) {
    tile_parts part = tile_parts_of(job);
    return part.rows + part.sums + part.weights + part.psi + part.zbar;
}

void vg_measures__score_tile_memory(score_job *job, char *memory) {
    tile_parts part = tile_parts_of(job);
    size_t n = (size_t)job->n;
    job->tile_rows = (float *)(void *)memory;
    job->tile_weights = (float *)(void *)(memory += n * part.rows);
    job->tile_psi = (double *)(void *)(memory += n * part.weights);
    job->tile_zbar = (double *)(void *)(memory += n * part.psi);
    job->tile = (tile_sums *)(void *)(memory + n * part.zbar);
}
