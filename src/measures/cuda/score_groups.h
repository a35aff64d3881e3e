/* score_groups.h - a sample by one group of lanes, or by a group for each tile of its classes (score_lanes.h).
 *
 * One group: columns, rows and weights, terms, results. Tiles: the same steps in four kernels with sums over tiles in
 * device memory between them.
 *
 *     tile_first    group (n, tile)  columns; sums of the rows; without weights the terms too
 *     tile_member   group (n, m)     adds a row's sums over tiles, checks it, computes its weights
 *     tile_second   group (n, tile)  columns again, which costs less than keeping them; terms
 *     tile_finish   group (n)        adds the tiles' sums, writes the results */
#ifndef VG_MEASURES_SCORE_GROUPS_H
#define VG_MEASURES_SCORE_GROUPS_H

#include "measures/cuda/score_results.h"
#include "measures/cuda/score_terms.h"

/* Checks every row of the sample in full, where a quick check did not accept them: reports those that are not
 * distributions. Lanes take a row each. */
SCORE_FN void group_check(const lane_view *v, int lane) {
    const score_job *job = v->job;
    for (int m = lane; m < job->m && !v->idle; m += v->lanes) {
        double sum = 0.0;
        bool good = true;
        for (int c = 0; c < job->c; c++) {
            double p = (double)lane_value(v, m, c);
            good = good && p >= 0.0;
            sum += p;
        }
        if (!good || !(fabs(sum - 1.0) <= 1e-3))
            report_row(job, v->n * job->m + m);
    }
}

/* After the columns: the sums over the group. */
SCORE_FN void group_first(lane_view *v, lane_state *s, const int G) {
    lanes_sum(v, s->first, G ? LANE_FIRST : 2);
    lanes_lead(v, &s->lead);
    lanes_least32(v, &s->least, 1);
    (void)G;
}

SCORE_FN void group_zbar(lane_view *v, const double *zbar) {
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        v->inverse_zbar[k] = zbar[k] > SCORE_FAINT ? 1.0 / zbar[k] : 1.0;
}

/* Adds up to LANE_ROWS rows' sums over the group. */
SCORE_FN void group_rows(const lane_view *v, float *rows, const int count, const int G) {
    SCORE_UNROLL
    for (int i = 0; i < (count < LANE_ROWS ? count : LANE_ROWS); i++) {
        lanes_sum32(v, rows + i * LANE_ROW_SUMS, G ? 1 + SCORE_GATES : 1);
        if (G)
            lanes_sum32(v, rows + i * LANE_ROW_SUMS + 5, SCORE_GATES);
    }
}

/* The extremes of the weights, over the group. */
SCORE_FN void group_bounds(const lane_view *v, lane_state *s) {
    lanes_least32(v, s->over_low, SCORE_GATES);
    lanes_most32(v, s->over_high, SCORE_GATES);
}

/* Members m .. m + LANE_ROWS - 1, `count` of them or fewer, whose rows' sums lie at index `at` of the lanes' states:
 * whether all are certainly distributions; their weights. */
SCORE_FN bool group_members(const lane_view *v, lane_state *s, int m, int at, const int count, const int G) {
    const score_job *job = v->job;
    bool sure = true;
    group_rows(v, s->rows + at, count, G);
    SCORE_UNROLL
    for (int i = 0; i < LANE_ROWS; i++)
        sure = sure && (m + i >= job->m || row_sure((double)s->rows[at + LANE_ROW_SUMS * i], s->least));
    if (job->weighted)
        FOR_LANES(v, lane)
    lane_weights(v, lane_at(s, lane), lane_at(s, lane)->rows + at, lane, m);
    return sure;
}

/* Rows and weights of a sample whose tile is all of its classes. */
SCORE_FN void group_weights(lane_view *v, lane_state *s, const int P, const int G) {
    const score_job *job = v->job;
    bool sure = true;
    group_zbar(v, &s->first[2]);
    FOR_LANES(v, lane) {
        lane_at(s, lane)->large = 0;
        if (job->weighted)
            weights_begin(v, lane_at(s, lane), lane);
    }
    SCORE_UNROLL
    for (int m = 0; m < P; m += LANE_ROWS)
        sure = group_members(v, s, m, m * LANE_ROW_SUMS, P - m, G) && sure;
    SCORE_ROLLED
    for (int m = 0; !P && m < job->m; m += LANE_ROWS) {
        FOR_LANES(v, lane)
        lane_rows(v, lane_at(s, lane), lane, m, G);
        sure = group_members(v, s, m, 0, LANE_ROWS, G) && sure;
    }
    if (!sure)
        FOR_LANES(v, lane)
    group_check(v, lane);
    if (G) {
        lanes_sum(v, s->psi, SCORE_GATES);
        group_bounds(v, s);
    }
    lanes_wait();
}

/* Set `set` of the group's sums, which lie in registers. */
SCORE_FN set_figures group_figures(const score_job *job, const lane_state *s, int set) {
    double sums[LANE_SUMS], psi = 0.0, inverse = job->inverse_m;
    SCORE_UNROLL
    for (int i = 0; i < LANE_SUMS; i++) {
        sums[i] = s->sets[0][i];
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            sums[i] = set == k + 1 ? s->sets[k + 1][i] : sums[i];
    }
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        psi = set == k + 1 && job->lane_gated_logs ? s->psi[k] * inverse : psi;
    set_figures x;
    x.psi = psi;
    x.tu = sums[0];
    x.eu = score_most(sums[1] + psi, 0.0);
    x.reverse = sums[2] - psi;
    x.epjs = job->m > SCORE_FEW
                 ? sums[3]
                 : score_most(SCORE_FMA64(-2.0 * inverse * inverse, sums[3], (1.0 - inverse) * x.eu), 0.0);
    return x;
}

/* Step: the results of the leading classes, by the first lane; adds the sample's figures for the summary to `units`. */
SCORE_FN void lane_margin(const lane_view *v, const lane_state *s, int lane, double *units) {
    if (lane != 0 || v->idle)
        return;
    units[0] += s->first[0];
    units[3] += s->first[1];
    units[4] += margin_abstains(&s->lead);
    write_margin(v->job, &s->lead, v->n);
}

/* Step: the results of the sets, one for each lane. */
SCORE_FN void lane_results(const lane_view *v, lane_state *s, int lane, double *units) {
    const score_job *job = v->job;
    SCORE_ROLLED
    for (int from = 0; job->need_sets && from <= job->gated; from += v->lanes) {
        int set = from + lane;
        if (set <= job->gated) {
            set_figures x = group_figures(job, s, set);
            if (job->m > 1 && set_too_large(job, &x, set))
                s->large = 1;
            if (!v->idle)
                write_set(job, v->n, set, &x);
        }
    }
    if (lane == 0 && !v->idle && job->need_sets) {
        units[1] += s->sets[0][0];
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            units[2] += job->gated && k == job->widest ? s->sets[k + 1][0] : 0.0;
    }
}

/* Lists the sample where this form cannot score it accurately. */
SCORE_FN void group_list(const lane_view *v, lane_state *s) {
    const score_job *job = v->job;
    lanes_any(v, &s->large, 1);
    FOR_LANES(v, lane)
    if (lane == 0 && !v->idle && s->large && job->need_sets) {
#ifdef __CUDA_ARCH__
        unsigned at = atomicAdd(job->redo_count, 1u);
#else
        unsigned at = (*job->redo_count)++;
#endif
        job->redo[at] = (unsigned)v->n;
    }
}

SCORE_FN void group_results(const lane_view *v, lane_state *s, double *units) {
    FOR_LANES(v, lane)
    lane_results(v, lane_at(s, lane), lane, units);
    group_list(v, s);
}

/* A whole sample. */
SCORE_FN void group_score(lane_view *v, lane_state *s, double *units, const int P, const int G) {
    const bool once = P && !G; /* the terms need no weights */
    FOR_LANES(v, lane)
    lane_pass(v, lane_at(s, lane), lane, P, G, PASS_FIRST | (once ? PASS_TERMS : PASS_STORE));
    group_first(v, s, G);
    group_weights(v, s, P, G);
    FOR_LANES(v, lane)
    lane_margin(v, lane_at(s, lane), lane, units);
    if (!once)
        FOR_LANES(v, lane)
    lane_pass(v, lane_at(s, lane), lane, P, G, PASS_STORED | PASS_TERMS);
    if (v->job->need_sets)
        lanes_sum(v, &s->sets[0][0], (G ? SCORE_GATES + 1 : 1) * LANE_SUMS);
    group_results(v, s, units);
    lanes_wait();
}

/* --- tiles */
/* Where the sums of row m lie. */
SCORE_FN float *tile_row(const score_job *job, long long n, int tile, int m) {
    return job->tile_rows + (((size_t)n * (size_t)job->tiles + (size_t)tile) * (size_t)job->m + (size_t)m) * 8;
}
SCORE_FN tile_sums *tile_of(const score_job *job, long long n, int tile) {
    return job->tile + (size_t)n * (size_t)job->tiles + (size_t)tile;
}

/* Stores the sums of LANE_ROWS rows from m on over a tile: 32 values, one for each lane. */
SCORE_FN void tile_rows(const lane_view *v, lane_state *s, int tile, int m, int at) {
    lanes_scatter(v, s->rows + at);
    FOR_LANES(v, lane)
    if (m + lane / LANE_ROW_SUMS < v->job->m)
        tile_row(v->job, v->n, tile, m)[lane] = lane_at(s, lane)->rows[at];
}

/* Stores the sums of a tile's terms. */
SCORE_FN void tile_terms(const lane_view *v, lane_state *s, tile_sums *to, const int G) {
    lanes_sum(v, &s->sets[0][0], (G ? SCORE_GATES + 1 : 1) * LANE_SUMS);
    FOR_LANES(v, lane)
    if (lane == 0) {
        SCORE_UNROLL
        for (int set = 0; set <= (G ? SCORE_GATES : 0); set++) {
            SCORE_UNROLL
            for (int i = 0; i < LANE_SUMS; i++)
                to->sets[set][i] = s->sets[set][i];
        }
    }
}

SCORE_FN void tile_first(lane_view *v, lane_state *s, int tile, const int P, const int G) {
    const score_job *job = v->job;
    tile_sums *to = tile_of(job, v->n, tile);
    const bool terms = !G && !job->weighted && job->need_sets;
    FOR_LANES(v, lane)
    lane_pass(v, lane_at(s, lane), lane, P, G, PASS_FIRST | (!P ? PASS_STORE : G ? 0 : PASS_TERMS));
    group_first(v, s, G);
    FOR_LANES(v, lane)
    if (lane == 0) {
        SCORE_UNROLL
        for (int i = 0; i < LANE_FIRST; i++)
            to->first[i] = s->first[i];
        to->lead = s->lead;
        to->least = s->least;
    }
    SCORE_UNROLL
    for (int m = 0; m < P; m += LANE_ROWS)
        tile_rows(v, s, tile, m, m * LANE_ROW_SUMS);
    SCORE_ROLLED
    for (int m = 0; !P && m < job->m; m += LANE_ROWS) {
        FOR_LANES(v, lane)
        lane_rows(v, lane_at(s, lane), lane, m, G);
        tile_rows(v, s, tile, m, 0);
    }
    if (!P && terms)
        FOR_LANES(v, lane)
    lane_pass(v, lane_at(s, lane), lane, P, G, PASS_STORED | PASS_TERMS);
    if (terms)
        tile_terms(v, s, to, G);
}

/* Step: a row's sums over the lane's tiles. */
SCORE_FN void lane_add_row(const lane_view *v, lane_state *s, int lane, int m) {
    const score_job *job = v->job;
    SCORE_UNROLL
    for (int j = 0; j < LANE_ROW_SUMS; j++)
        s->totals[j] = 0.0;
    SCORE_UNROLL
    for (int j = 0; j < LANE_FIRST; j++)
        s->first[j] = 0.0;
    s->least = 1.0f;
    s->large = 0;
    for (int tile = lane; tile < job->tiles; tile += v->lanes) {
        const float *row = tile_row(job, v->n, tile, m);
        const tile_sums *at = tile_of(job, v->n, tile);
        SCORE_UNROLL
        for (int j = 0; j < LANE_ROW_SUMS; j++)
            s->totals[j] += (double)row[j];
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            s->first[2 + k] += at->first[2 + k];
        s->least = score_least32(at->least, s->least);
    }
}

/* Step: the weights of member m, by the first lane. */
SCORE_FN void lane_member(const lane_view *v, lane_state *s, int lane, int m) {
    const score_job *job = v->job;
    if (m == 0)
        weights_begin(v, s, lane);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        s->psi[k] = 0.0;
    if (lane != 0)
        return;
    member_weights(v, s, m, s->totals, &s->first[2], true);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        job->tile_psi[(v->n * job->m + m) * 4 + k] = s->psi[k];
        if (m == 0)
            job->tile_zbar[v->n * 4 + k] = s->first[2 + k];
    }
    job->tile_psi[(v->n * job->m + m) * 4 + 3] = (double)s->large;
}

/* Step: checks row m in full; the lane's part of the sum, and whether a value is bad. */
SCORE_FN void lane_check_row(const lane_view *v, lane_state *s, int lane, int m) {
    s->totals[0] = 0.0;
    for (int c = lane; c < v->job->c; c += v->lanes) {
        double p = (double)lane_value(v, m, c);
        s->totals[0] += p;
        s->large |= !(p >= 0.0);
    }
}

SCORE_FN void tile_member(lane_view *v, lane_state *s, int m) {
    const score_job *job = v->job;
    FOR_LANES(v, lane)
    lane_add_row(v, lane_at(s, lane), lane, m);
    lanes_sum(v, s->totals, LANE_ROW_SUMS);
    lanes_sum(v, s->first, LANE_FIRST);
    lanes_least32(v, &s->least, 1);
    if (job->weighted) {
        group_zbar(v, &s->first[2]);
        FOR_LANES(v, lane)
        lane_member(v, lane_at(s, lane), lane, m);
    }
    if (row_sure(s->totals[0], s->least))
        return;
    FOR_LANES(v, lane) {
        lane_at(s, lane)->large = 0;
        lane_check_row(v, lane_at(s, lane), lane, m);
    }
    lanes_sum(v, s->totals, 1);
    lanes_any(v, &s->large, 1);
    FOR_LANES(v, lane)
    if (lane == 0 && (s->large || !(fabs(s->totals[0] - 1.0) <= 1e-3)))
        report_row(job, v->n * job->m + m);
}

/* Step: the extremes of the weights of the lane's members. */
SCORE_FN void lane_bounds(const lane_view *v, lane_state *s, int lane) {
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        s->over_low[k] = 1e30f;
        s->over_high[k] = 0.0f;
    }
    for (int m = lane; m < v->job->m; m += v->lanes) {
        float over[4];
        get4(over, v->weights + 8 * m + 4);
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++) {
            s->over_low[k] = score_least32(over[1 + k], s->over_low[k]);
            s->over_high[k] = score_most32(over[1 + k], s->over_high[k]);
        }
    }
}

SCORE_FN void tile_second(lane_view *v, lane_state *s, int tile, const int P, const int G) {
    const score_job *job = v->job;
    if (G) {
        group_zbar(v, job->tile_zbar + v->n * 4);
        FOR_LANES(v, lane)
        lane_bounds(v, lane_at(s, lane), lane);
        group_bounds(v, s);
    }
    FOR_LANES(v, lane)
    lane_pass(v, lane_at(s, lane), lane, P, G, PASS_TERMS);
    tile_terms(v, s, tile_of(job, v->n, tile), G);
}

/* Step: what the lane's tiles and members add to the sample. */
SCORE_FN void lane_add_tiles(const lane_view *v, lane_state *s, int lane) {
    const score_job *job = v->job;
    leading none = {-1.0, -1.0, 0.0, 0.0, 0x7fffffff, 0x7fffffff};
    s->lead = none;
    s->large = 0;
    s->first[0] = s->first[1] = 0.0;
    SCORE_UNROLL
    for (int set = 0; set <= SCORE_GATES; set++) {
        SCORE_UNROLL
        for (int i = 0; i < LANE_SUMS; i++)
            s->sets[set][i] = 0.0;
        if (set < SCORE_GATES)
            s->psi[set] = 0.0;
    }
    for (int tile = lane; tile < job->tiles; tile += v->lanes) {
        const tile_sums *at = tile_of(job, v->n, tile);
        s->first[0] += at->first[0];
        s->first[1] += at->first[1];
        s->lead = lead_merge(&s->lead, &at->lead);
        SCORE_UNROLL
        for (int set = 0; set <= SCORE_GATES; set++) {
            SCORE_UNROLL
            for (int i = 0; i < LANE_SUMS; i++)
                s->sets[set][i] += set <= job->gated && job->need_sets ? at->sets[set][i] : 0.0;
        }
    }
    for (int m = lane; m < job->m && job->gated; m += v->lanes) {
        const double *psi = job->tile_psi + (v->n * job->m + m) * 4;
        SCORE_UNROLL
        for (int k = 0; k < SCORE_GATES; k++)
            s->psi[k] += psi[k];
        s->large |= psi[3] != 0.0;
    }
}

SCORE_FN void tile_finish(const lane_view *v, lane_state *s, double *units) {
    FOR_LANES(v, lane)
    lane_add_tiles(v, lane_at(s, lane), lane);
    lanes_sum(v, s->first, 2);
    lanes_lead(v, &s->lead);
    lanes_sum(v, &s->sets[0][0], (SCORE_GATES + 1) * LANE_SUMS);
    lanes_sum(v, s->psi, SCORE_GATES);
    FOR_LANES(v, lane)
    lane_margin(v, lane_at(s, lane), lane, units);
    group_results(v, s, units);
}

/* The group's view of sample n: `slot` its first lane in the warp. */
SCORE_FN lane_view lane_view_of(const score_job *job, long long n, int lane, int slot) {
    lane_view v;
    v.job = job;
    v.idle = n >= job->n;
    v.n = v.idle ? job->n - 1 : n;
    v.p = (const float *)job->in + v.n * job->stride_n;
    v.lane = lane;
    v.lanes = job->lanes;
    v.rounds = job->rounds;
    v.base = 0;
    v.slot = slot;
    v.info = v.weights = NULL;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        v.inverse_zbar[k] = 1.0;
        v.gates[k] = k < job->gated ? (float)job->gates[k] : 0.0f;
    }
    return v;
}

#endif
