/* score_members.h - stages over members: rows are checked, and every gate's normalisers found.
 *
 * z_m = sum_c Gamma (p_m - mu) / Zbar, y = 1 + z_m = Z_m/Zbar, omega = 1/y - 1. */
#ifndef VG_MEASURES_SCORE_MEMBERS_H
#define VG_MEASURES_SCORE_MEMBERS_H

#include "measures/cuda/score_input.h"
#include "measures/cuda/score_moments.h"

/* A row of probabilities that may not be a distribution, in full. */
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

/* One gate of one member from sum_c Gamma (p - mu). */
SCORE_FN void member_weight(const score_view *v, int s, int m, int k, double deviation, const int wide) {
    const score_job *job = v->job;
    double inverse = v->zbar[2 * (s * job->gated + k) + 1], z = deviation * inverse, y = 1.0 + z;
    int member = s * job->m + m;
    if (z < -0.5) { /* so far below the mean that the deviations have lost digits */
        double direct = 0.0;
        for (int c = 0; c < job->c; c++)
            direct += get(v->gamma, (s * job->c + c) * job->groups + k, wide) * get(v->p, member * job->row + c, wide);
        y = direct * inverse;
        if (!(direct > SCORE_FAINT)) {
            raise_flag(v->large + s);
            y = 1.0;
        }
        z = y - 1.0;
    }
    double over = 1.0 / y, lambda, psi, phi;
    put(v->omega, member * job->groups + k, -z * over, wide);
    put(v->weight, (s * padded_members(job) + m) * (job->gated + 1) + 1 + k, over, wide);
    if (job->need_gated_logs) {
        score_bregman64(score_most(y, 1e-300), z, &lambda, &psi, &phi);
        put(v->partial, member * job->gated + k, psi, wide);
    }
}

/* Four gates from k on of one member. */
SCORE_FN void member_gates(const score_view *v, int s, int m, int k, const int wide) {
    const score_job *job = v->job;
    int C = job->c, row = (s * job->m + m) * job->row, gamma = s * C * job->groups + k;
    double deviation[SCORE_GROUP];
    if (wide) {
        SCORE_UNROLL
        for (int j = 0; j < SCORE_GROUP; j++)
            deviation[j] = 0.0;
        for (int c = 0; c < C; c++, gamma += job->groups) {
            double d = ((const double *)v->p)[row + c] - v->mu[s * C + c];
            SCORE_UNROLL
            for (int j = 0; j < SCORE_GROUP; j++)
                deviation[j] += ((const double *)v->gamma)[gamma + j] * d;
        }
    } else {
        const float *halves = v->halves + 2 * s * C;
        float sum[SCORE_GROUP], g[SCORE_GROUP];
        SCORE_UNROLL
        for (int j = 0; j < SCORE_GROUP; j++)
            sum[j] = 0.0f;
        for (int c = 0; c < C; c++, gamma += job->groups) {
            float d = (((const float *)v->p)[row + c] - halves[2 * c]) - halves[2 * c + 1];
            get4(g, (const float *)v->gamma + gamma);
            SCORE_UNROLL
            for (int j = 0; j < SCORE_GROUP; j++)
                sum[j] += g[j] * d;
        }
        SCORE_UNROLL
        for (int j = 0; j < SCORE_GROUP; j++)
            deviation[j] = (double)sum[j];
    }
    SCORE_UNROLL
    for (int j = 0; j < SCORE_GROUP; j++)
        if (k + j < job->gated)
            member_weight(v, s, m, k + j, deviation[j], wide);
        else
            put(v->omega, (s * job->m + m) * job->groups + k + j, 0.0, wide);
}

/* A thread a member. */
SCORE_FN void stage_members(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int padded = padded_members(job), C = job->c;
    for (int i = tid; i < v->samples * job->m; i += job->threads) {
        int s = i / job->m, m = i % job->m;
        if (!job->logits) {
            float sum = 0.0f, least = 1.0f;
            for (int c = 0; !wide && C <= 1024 && c < C; c++) {
                float p = ((const float *)v->p)[i * job->row + c];
                sum += p;
                least = score_least32(p, least);
            }
            bool sure = sum > 0.9991f && sum < 1.0009f && least >= 0.0f;
            if (!sure && !row_good(v, i, wide))
                report_row(job, sample_of(v, s) * job->m + m);
        }
        put(v->weight, (s * padded + m) * (job->gated + 1), 1.0, wide);
        for (int k = 0; k < job->gated; k += SCORE_GROUP)
            member_gates(v, s, m, k, wide);
    }
    int spare = (padded - job->m) * (job->gated + 1);
    for (int i = tid; i < v->samples * spare; i += job->threads)
        put(v->weight, (i / spare * padded + job->m) * (job->gated + 1) + i % spare, 0.0, wide);
}

/* Parts of the mean of psi(z) and of the extremes of 1/y. */
SCORE_FN void stage_member_parts(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    for (int i = tid; i < v->samples * job->gated * SCORE_PARTS; i += job->threads) {
        int r = i % SCORE_PARTS, k = i / SCORE_PARTS % job->gated, s = i / SCORE_PARTS / job->gated;
        int from = part_from(job->m, r, SCORE_PARTS), to = part_from(job->m, r + 1, SCORE_PARTS);
        double psi = 0.0, low = 1e300, high = 0.0;
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

SCORE_FN void stage_member_totals(const score_view *v, int tid) {
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
