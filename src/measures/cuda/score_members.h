/* score_members.h - phases over members: they check the rows and compute every gate's normalisers.
 *
 * z_m = sum_c Gamma (p_m - mu) / Zbar, y = 1 + z_m = Z_m/Zbar, omega = 1/y - 1. */
#ifndef VG_MEASURES_SCORE_MEMBERS_H
#define VG_MEASURES_SCORE_MEMBERS_H

#include "measures/cuda/score_input.h"
#include "measures/cuda/score_moments.h"

/* The full check of a row that the fast check did not accept as a distribution. */
SCORE_FN bool row_good(const score_view *v, int row, const int wide) {
    double sum = 0.0;
    bool good = true;
    for (int c = 0; c < v->job->c; c++) {
        double p = get(v->p, row * v->job->row + c, wide);
        good = good && p >= 0.0;
        sum += p;
    }
    return good && fabs(sum - 1.0) <= 1e-3;
}

/* Sums over a row: p, its smallest value, and Gamma (p - mu) of up to four gates: in float over ROW_PART classes, then
 * added in double. Where classes are equal but for one, their small terms are rounded alike beside its large one, and a
 * sum of all in float would be off by their number times that. */
#define ROW_PART 16
typedef struct row_sums {
    float all, least, part[SCORE_GROUP];
    double sum[SCORE_GROUP];
} row_sums;
SCORE_FN void row_take(row_sums *x, float p, const float *halves, const float *gamma, const int G) {
    float d = (p - halves[0]) - halves[1], g[SCORE_GROUP];
    x->all += p;
    x->least = score_least32(p, x->least);
    get4(g, gamma);
    SCORE_UNROLL
    for (int j = 0; j < G; j++)
        x->part[j] += g[j] * d;
}
SCORE_FN void row_move(row_sums *x, const int G) {
    SCORE_UNROLL
    for (int j = 0; j < G; j++) {
        x->sum[j] += (double)x->part[j];
        x->part[j] = 0.0f;
    }
}

/* sum_c Gamma (p - mu) of G gates from k on for one member, stored where omega will be; in float also the row's sum and
 * smallest value. */
SCORE_FN void member_gates32(const score_view *v, int s, int m, int k, float *row_sum, float *row_least, const int G) {
    const score_job *job = v->job;
    int C = job->c;
    const float *p = (const float *)v->p + (s * job->m + m) * job->row, *halves = v->halves + 2 * s * C,
                *gamma = (const float *)v->gamma + s * C * job->groups + k;
    row_sums x = {0.0f, 1.0f, {0.0f, 0.0f, 0.0f, 0.0f}, {0.0, 0.0, 0.0, 0.0}};
    /* rows lie on multiples of 16 bytes, and so do their classes' halves */
    const bool fours = job->place == SCORE_SHARED && C % 4 == 0;
    SCORE_ROLLED
    for (int from = 0; from < C; from += ROW_PART) {
        int to = C - from < ROW_PART ? C : from + ROW_PART;
        if (fours) {
            SCORE_ROLLED
            for (int c = from; c < to; c += 4) {
                float four[4], h[8];
                get4(four, p + c);
                get4(h, halves + 2 * c);
                get4(h + 4, halves + 2 * c + 4);
                SCORE_UNROLL
                for (int u = 0; u < 4; u++, gamma += job->groups)
                    row_take(&x, four[u], h + 2 * u, gamma, G);
            }
        } else {
            for (int c = from; c < to; c++, gamma += job->groups)
                row_take(&x, p[c], halves + 2 * c, gamma, G);
        }
        row_move(&x, G);
    }
    *row_sum = x.all;
    *row_least = x.least;
    SCORE_UNROLL
    for (int j = 0; j < SCORE_GROUP; j++)
        ((float *)v->omega)[(s * job->m + m) * job->groups + k + j] = j < G ? (float)x.sum[j] : 0.0f;
}

SCORE_FN void member_gates64(const score_view *v, int s, int m, int k) {
    const score_job *job = v->job;
    int C = job->c, row = (s * job->m + m) * job->row, gamma = s * C * job->groups + k;
    double deviation[SCORE_GROUP] = {0.0, 0.0, 0.0, 0.0};
    for (int c = 0; c < C; c++, gamma += job->groups) {
        double d = ((const double *)v->p)[row + c] - v->mu[s * C + c];
        SCORE_UNROLL
        for (int j = 0; j < SCORE_GROUP; j++)
            deviation[j] += ((const double *)v->gamma)[gamma + j] * d;
    }
    SCORE_UNROLL
    for (int j = 0; j < SCORE_GROUP; j++)
        ((double *)v->omega)[(s * job->m + m) * job->groups + k + j] = deviation[j];
}

/* A row's sum and least in float. */
SCORE_FN void row_look(const score_view *v, int row, float *sum, float *least) {
    const float *p = (const float *)v->p + row * v->job->row;
    float all = 0.0f, small = 1.0f;
    for (int c = 0; c < v->job->c; c++) {
        all += p[c];
        small = score_least32(p[c], small);
    }
    *sum = all;
    *least = small;
}

/* One thread per member: checks its row and computes the deviations of every gate. */
SCORE_FN void phase_members(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int padded = padded_members(job);
    for (int i = tid; i < v->samples * job->m; i += job->threads) {
        int s = i / job->m, m = i - s * job->m;
        float sum = 0.0f, least = 1.0f;
        if (!wide && !job->gated)
            row_look(v, i, &sum, &least);
        SCORE_ROLLED
        for (int k = 0; k < job->gated; k += SCORE_GROUP)
            if (wide)
                member_gates64(v, s, m, k);
            else if (job->gated - k == 3)
                member_gates32(v, s, m, k, &sum, &least, 3);
            else
                member_gates32(v, s, m, k, &sum, &least, SCORE_GROUP);
        /* The sum of very many floats may have a larger error than the tolerance. */
        bool sure = !wide && job->c <= 1024 && sum > 0.9991f && sum < 1.0009f && least >= 0.0f;
        if (!job->logits && !sure && !row_good(v, i, wide))
            report_row(job, sample_of(v, s) * job->m + m);
        put(v->weight, (s * padded + m) * (job->gated + 1), 1.0, wide);
    }
    int spare = (padded - job->m) * (job->gated + 1);
    for (int i = tid; i < v->samples * spare; i += job->threads)
        put(v->weight, (i / spare * padded + job->m) * (job->gated + 1) + i % spare, 0.0, wide);
}

/* One thread per member and gate: turns deviations into weights. */
SCORE_FN void phase_weights(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    for (int i = tid; i < v->samples * job->m * job->gated; i += job->threads) {
        int member = i / job->gated, k = i - member * job->gated, s = member / job->m, m = member - s * job->m;
        int at = member * job->groups + k;
        double inverse = v->zbar[2 * (s * job->gated + k) + 1], z = get(v->omega, at, wide) * inverse, y = 1.0 + z;
        if (z < -0.5) { /* Z_m is so far below the mean that the deviation form has lost digits. */
            double direct = 0.0;
            SCORE_ROLLED
            for (int c = 0; c < job->c; c++)
                direct +=
                    get(v->gamma, (s * job->c + c) * job->groups + k, wide) * get(v->p, member * job->row + c, wide);
            y = direct * inverse;
            if (!(direct > SCORE_FAINT)) {
                raise_flag(v->large + s);
                y = 1.0;
            }
            z = y - 1.0;
        }
        double over = 1.0 / y, lambda, psi, phi;
        put(v->omega, at, -z * over, wide);
        put(v->weight, (s * padded_members(job) + m) * (job->gated + 1) + 1 + k, over, wide);
        if (job->need_gated_logs) {
            score_bregman64(score_most(y, 1e-300), z, &lambda, &psi, &phi);
            put(v->partial, member * job->gated + k, psi, wide);
        }
    }
}

/* Parts of the mean of psi(z) and of the extremes of 1/y. */
SCORE_FN void phase_member_parts(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    for (int i = tid; i < v->samples * job->gated * SCORE_PARTS; i += job->threads) {
        int r = i % SCORE_PARTS, k = i / SCORE_PARTS % job->gated, s = i / SCORE_PARTS / job->gated;
        int from = part_from(job->m, r, SCORE_PARTS), to = part_from(job->m, r + 1, SCORE_PARTS);
        double psi = 0.0, low = 1e300, high = 0.0;
        SCORE_ROLLED
        for (int m = from; m < to; m++) {
            double w = get(v->weight, (s * padded_members(job) + m) * (job->gated + 1) + 1 + k, wide);
            if (job->need_gated_logs)
                psi += get(v->partial, (s * job->m + m) * job->gated + k, wide);
            low = score_least(w, low);
            high = score_most(w, high);
        }
        v->pass[3 * i] = psi;
        v->pass[3 * i + 1] = low;
        v->pass[3 * i + 2] = high;
    }
}

SCORE_FN void phase_member_totals(const score_view *v, int tid) {
    const score_job *job = v->job;
    for (int i = tid; i < v->samples * job->gated; i += job->threads) {
        double psi = 0.0, low = 1e300, high = 0.0;
        for (int r = 0; r < SCORE_PARTS; r++) {
            const double *part = v->pass + 3 * (i * SCORE_PARTS + r);
            psi += part[0];
            low = score_least(part[1], low);
            high = score_most(part[2], high);
        }
        psi /= (double)job->m;
        v->psi_mean[i] = psi;
        v->bounds[2 * i] = low;
        v->bounds[2 * i + 1] = high;
    }
}

#endif
