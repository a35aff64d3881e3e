/* score_sets.h - phases for the ungated set and every gated one: sums over members by class, then by class the terms of
 * TU, EU, the reverse divergence and EPJS, then their sums over classes and the finished measures. The algebra is that
 * of template/entropy.h. */
#ifndef VG_MEASURES_SCORE_SETS_H
#define VG_MEASURES_SCORE_SETS_H

#include "measures/cuda/score_integral.h"
#include "measures/cuda/score_members.h"
#include "measures/cuda/score_results.h"

/* Part f of class c: 0 phi, 1 and 2 psi (two floats, because it can be large), then U and then T for each gate. */
SCORE_FN int member_sum(const score_job *job, int s, int f, int which, int c) {
    return ((s * job->split + f) * (3 + 2 * job->gated) + which) * job->c + c;
}

typedef struct member_sums {
    double phi, psi, shift[SCORE_GROUP], cross[SCORE_GROUP];
} member_sums;

/* Members x.from .. x.to - 1 in float, accumulated in double every 32 members: relative error 2e-7. G: gates from k
 * on. */
SCORE_FN void sums32(const score_view *v, const class_item *x, int k, bool logs, member_sums *out, const int G) {
    const score_job *job = v->job;
    double mu = v->mu[x->s * job->c + x->c];
    bool empty = mu < 1e-30;
    double inverse64 = 1.0 / (empty ? 1.0 : mu);
    float hi = v->halves[2 * (x->s * job->c + x->c)], lo = v->halves[2 * (x->s * job->c + x->c) + 1];
    float inverse = (float)inverse64, fill = empty ? 1.0f : 0.0f, least = (float)(inverse64 * SCORE_TINY);
    int at = (x->s * job->m + x->from) * job->row + x->c, exponents = 0;
    const float *omega = (const float *)v->omega + (x->s * job->m + x->from) * job->groups + k;
    SCORE_ROLLED
    for (int m = x->from; m < x->to;) {
        int stop = x->to - m < 32 ? x->to : m + 32;
        float phi = 0.0f, psi = 0.0f, shift[SCORE_GROUP] = {0.0f, 0.0f, 0.0f, 0.0f},
              cross[SCORE_GROUP] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (; m < stop; m++, at += job->row, omega += job->groups) {
            float p = ((const float *)v->p)[at], w[SCORE_GROUP] = {0.0f, 0.0f, 0.0f, 0.0f}, lambda = 0.0f, own_phi,
                  own_psi;
            int exponent;
            if (G)
                get4(w, omega);
            if (logs) {
                float r = ((p - hi) - lo) * inverse, y = score_most32(p * inverse + fill, least);
                score_bregman32(y, r, &lambda, &own_phi, &own_psi, &exponent);
                phi += own_phi;
                psi += own_psi;
                exponents += exponent;
            }
            float weighted = p * lambda;
            SCORE_UNROLL
            for (int j = 0; j < G; j++) {
                shift[j] += w[j] * p;
                cross[j] += w[j] * weighted;
            }
        }
        out->phi += (double)phi;
        out->psi += (double)psi;
        SCORE_UNROLL
        for (int j = 0; j < G; j++) {
            out->shift[j] += (double)shift[j];
            out->cross[j] += (double)cross[j];
        }
    }
    out->psi -= (double)exponents * SCORE_LN2;
    if (empty)
        out->phi = out->psi = 0.0;
}

/* The same in double. */
SCORE_FN void sums64(const score_view *v, const class_item *x, int k, bool logs, member_sums *out) {
    const score_job *job = v->job;
    double mu = v->mu[x->s * job->c + x->c];
    bool empty = mu < 1e-290;
    double inverse = 1.0 / (empty ? 1.0 : mu), fill = empty ? 1.0 : 0.0, log_mu = job->logits && !empty ? log(mu) : 0.0;
    SCORE_ROLLED
    for (int m = x->from; m < x->to; m++) {
        double p = ((const double *)v->p)[(x->s * job->m + m) * job->row + x->c], lambda = 0.0, psi, phi;
        if (logs) {
            double r = (p - mu) * inverse, y = score_most(p, SCORE_TINY) * inverse + fill;
            score_bregman64(y, r, &lambda, &psi, &phi);
            /* The logit is more accurate here, and it does not underflow. */
            if (job->logits && !empty && !(fabs(r) < 0.25)) {
                lambda = logit_log(v, x->s, m, x->c) - log_mu;
                psi = r - lambda;
                phi = p * inverse * lambda - r;
            }
            out->phi += phi;
            out->psi += psi;
        }
        SCORE_UNROLL
        for (int j = 0; j < SCORE_GROUP; j++) {
            double w = job->gated ? ((const double *)v->omega)[(x->s * job->m + m) * job->groups + k + j] : 0.0;
            out->shift[j] += w * p;
            out->cross[j] += w * (p * lambda);
        }
    }
}

/* Means over members of phi, psi, omega p and omega p lambda, in F parts. */
SCORE_FN void phase_member_sums(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    double scale = 1.0 / (double)job->m;
    for (int i = tid; i < v->samples * job->split * job->c; i += job->threads) {
        class_item x = class_item_of(job, i);
        for (int k = 0; k == 0 || k < job->gated; k += SCORE_GROUP) {
            member_sums sums = {0.0, 0.0, {0.0, 0.0, 0.0, 0.0}, {0.0, 0.0, 0.0, 0.0}};
            bool logs = k == 0 ? job->need_logs : job->need_gated_logs;
            if (wide)
                sums64(v, &x, k, logs, &sums);
            else if (!job->gated)
                sums32(v, &x, k, logs, &sums, 0);
            else if (job->gated - k == 3)
                sums32(v, &x, k, logs, &sums, 3);
            else
                sums32(v, &x, k, logs, &sums, SCORE_GROUP);
            if (k == 0) {
                put(v->partial, member_sum(job, x.s, x.f, 0, x.c), sums.phi * scale, wide);
                put_pieces(v->partial, member_sum(job, x.s, x.f, 1, x.c), job->c, sums.psi * scale, wide);
            }
            SCORE_UNROLL
            for (int j = 0; j < SCORE_GROUP; j++)
                if (k + j < job->gated) {
                    put(v->partial, member_sum(job, x.s, x.f, 3 + k + j, x.c), sums.shift[j] * scale, wide);
                    put(v->partial, member_sum(job, x.s, x.f, 3 + job->gated + k + j, x.c), sums.cross[j] * scale,
                        wide);
                }
        }
    }
}

/* Floors of cross terms: mean_m log(max(x, floor)/x'), where x' = max(p, TINY) scale is what the terms used; members at
 * or above the floor contribute nothing. Adds mean_m x log(x'/max(x, floor)) to `diagonal`. */
SCORE_FN double floored(const score_job *job, const score_column *x, double *diagonal, const int wide) {
    double sum = 0.0, diag = 0.0, log_floor = log(job->floor), scale = 1.0 / (double)x->members;
    SCORE_ROLLED
    for (int m = 0; m < x->members; m++) {
        double p = column_value(x, m, wide), by = x->gate * column_weight(x, m, wide), own = p * by;
        if (own < job->floor || p < SCORE_TINY) {
            double used = score_most(p, SCORE_TINY) * by, inside = own < job->floor ? log_floor : log(own);
            double ratio = used > 0.0 ? score_least(inside - log(used), 103.616329) : 103.616329; /* log 1e45 */
            sum += ratio;
            diag -= own * ratio;
        }
    }
    *diagonal += diag * scale;
    return sum * scale;
}

/* Item (s, set, c) with its bounds. */
SCORE_FN score_column column_of(const score_view *v, int s, int set, int c, double shift, const int wide,
                                const int held) {
    const score_job *job = v->job;
    int at = s * job->c + c, element = wide ? 8 : 4;
    score_column x;
    x.p = (const char *)v->p + (size_t)(s * job->m * job->row + c) * (size_t)element;
    x.row = job->row;
    x.weight = (const char *)v->weight + (size_t)(s * padded_members(job) * (job->gated + 1) + set) * (size_t)element;
    x.weight_row = job->gated + 1;
    x.omega = set ? (const char *)v->omega + (size_t)(s * job->m * job->groups + set - 1) * (size_t)element : NULL;
    x.omega_row = job->groups;
    x.members = job->m;
    x.padded = (job->m + job->block - 1) / job->block * job->block;
    x.held = held;
    x.mu = v->mu[at];
    x.variance = v->variance[at];
    x.shift = shift;
    x.gate = 1.0;
    x.mean = x.mu;
    x.low = get(v->low, at, wide);
    x.high = get(v->high, at, wide);
    if (set) {
        int k = s * job->gated + set - 1;
        x.gate = get(v->gamma, at * job->groups + set - 1, wide) * v->zbar[2 * k + 1];
        x.mean = score_most(x.gate * (x.mu + shift), 0.0);
        x.low *= x.gate * v->bounds[2 * k];
        x.high *= x.gate * v->bounds[2 * k + 1];
    }
    return x;
}

SCORE_FN double entropy_term(double q) { return -q * log(score_most(q, 1e-300)); }

/* The terms of every class in every set. All threads of a warp take part, because the integral compares values across
 * the warp. The sets of a class need similar numbers of nodes, so they are processed side by side. */
SCORE_FN void phase_sets(const score_view *v, int tid, const int B, const int wide, const int held, const int fine) {
    const score_job *job = v->job;
    int C = job->c, sets = job->gated + 1, items = v->samples * sets * C, F = job->split;
    bool reverse = false, integral = job->out.epjs || job->out.gepjs;
    SCORE_ROLLED
    for (int base = 0; base < items; base += job->threads) {
        bool idle = base + tid >= items;
        int i = idle ? items - 1 : base + tid, set = i % sets, c = i / sets % C, s = i / sets / C, k = set - 1;
        double phi = 0.0, psi = 0.0, shift = 0.0, cross = 0.0;
        for (int f = 0; f < F && (job->need_logs || job->gated); f++) {
            phi += get(v->partial, member_sum(job, s, f, 0, c), wide);
            psi += get_pieces(v->partial, member_sum(job, s, f, 1, c), C, wide);
            if (set) {
                shift += get(v->partial, member_sum(job, s, f, 3 + k, c), wide);
                cross += get(v->partial, member_sum(job, s, f, 3 + job->gated + k, c), wide);
            }
        }
        score_column x = column_of(v, s, set, c, shift, wide, held);
        double eu = x.mu * phi, back = x.mu * psi, diagonal = 0.0, js = 0.0;
        if (set && job->need_gated_logs) {
            double empty = x.mu < 1e-290, r = empty ? 0.0 : shift / x.mu, lambda, other, phi_mean;
            score_bregman64(score_most(1.0 + r, 1e-300), r, &lambda, &other, &phi_mean);
            double own = x.gate * x.mu;
            eu = own * (phi - phi_mean) + x.gate * cross;
            back = x.mean * psi + own * phi_mean;
        }
        reverse = set ? job->need_gated_reverse : job->need_reverse;
        if (reverse && !job->logits && x.low < job->floor && !idle)
            back -= x.mean * floored(job, &x, &diagonal, wide);
        if (integral) {
            bool skip = idle || (set ? !job->out.gepjs : !job->out.epjs);
            js = fine ? integral64(job, &x, skip) : integral32(job, &x, skip, B, wide);
        }
        if (!idle) {
            int to = (s * sets + set) * SCORE_SUMS * C + c;
            put(v->terms, to, entropy_term(x.mean), wide);
            put(v->terms, to + C, eu, wide);
            put_pieces(v->terms, to + 2 * C, C, back - (job->distinct ? diagonal / (double)job->m : 0.0), wide);
            put(v->terms, to + 4 * C, js, wide);
        }
    }
}

/* Parts of the sums over classes: item (s, set, which, r). */
SCORE_FN void phase_set_parts(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int C = job->c, items = v->samples * (job->gated + 1) * SCORE_SUMS * SCORE_PARTS;
    for (int i = tid; i < items; i += job->threads) {
        int r = i % SCORE_PARTS, row = i / SCORE_PARTS, to = part_from(C, r + 1, SCORE_PARTS);
        double sum = 0.0;
        for (int c = part_from(C, r, SCORE_PARTS); c < to; c++)
            sum += get(v->terms, row * C + c, wide);
        v->pass[i] = sum;
    }
}

SCORE_FN double set_sum(const score_view *v, int row) {
    double sum = 0.0;
    for (int r = 0; r < SCORE_PARTS; r++)
        sum += v->pass[row * SCORE_PARTS + r];
    return sum;
}

/* Applies the conventions for pairs, the base of the logarithm and the normalisation, and writes the results. Item (s,
 * set). */
SCORE_FN void phase_write(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int sets = job->gated + 1;
    for (int i = tid; i < v->samples * sets; i += job->threads) {
        int s = i / sets, set = i % sets, row = i * SCORE_SUMS;
        long long n = sample_of(v, s);
        set_figures x;
        x.psi = set && job->need_gated_logs ? v->psi_mean[s * job->gated + set - 1] : 0.0;
        x.tu = set_sum(v, row);
        x.eu = score_most(set_sum(v, row + 1) + x.psi, 0.0);
        x.reverse = set_sum(v, row + 2) + set_sum(v, row + 3) - x.psi;
        x.epjs = set_sum(v, row + 4);
        if (!wide && set_too_large(job, &x, set))
            raise_flag(v->large + s);
        write_set(job, n, set, &x);
        if (set == 0)
            put_unit(job, 1, n, x.tu);
        else if (set - 1 == job->widest)
            put_unit(job, 2, n, x.tu);
    }
}

/* Lists the samples that this kernel cannot score accurately. */
SCORE_FN void phase_list(const score_view *v, int tid) {
    const score_job *job = v->job;
    for (int s = tid; s < v->samples; s += job->threads)
        if (v->large[s]) {
#ifdef __CUDA_ARCH__
            unsigned at = atomicAdd(job->redo_count, 1u);
#else
            unsigned at = (*job->redo_count)++;
#endif
            job->redo[at] = (unsigned)sample_of(v, s);
        }
}

#endif
