/* score_moments.h - phases for means, variances and gates, and for what depends on them alone: the two leading classes,
 * SNR, GMU and decisions. */
#ifndef VG_MEASURES_SCORE_MOMENTS_H
#define VG_MEASURES_SCORE_MOMENTS_H

#include "measures/cuda/score_view.h"

/* Items (s, f, c) of phases in which F threads share the members of a class. */
typedef struct class_item {
    int s, f, c, from, to; /* members from .. to - 1 */
} class_item;
SCORE_FN class_item class_item_of(const score_job *job, int i) {
    class_item x;
    x.c = i % job->c;
    x.f = i / job->c % job->split;
    x.s = i / job->c / job->split;
    x.from = part_from(job->m, x.f, job->split);
    x.to = part_from(job->m, x.f + 1, job->split);
    return x;
}

/* Sums in double (of floats: exact but for rare tails), smallest and largest. */
SCORE_FN void phase_sums(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    for (int i = tid; i < v->samples * job->split * job->c; i += job->threads) {
        class_item x = class_item_of(job, i);
        int at = (x.s * job->m + x.from) * job->row + x.c;
        double sum = 0.0, low = 2.0, high = 0.0;
        float low32 = 2.0f, high32 = 0.0f;
        for (int m = x.from; m < x.to; m++, at += job->row) {
            if (wide) {
                double p = ((const double *)v->p)[at];
                sum += p;
                low = score_least(p, low);
                high = score_most(p, high);
            } else {
                float p = ((const float *)v->p)[at];
                sum += (double)p;
                low32 = score_least32(p, low32);
                high32 = score_most32(p, high32);
            }
        }
        moment_sums(v, 0)[i] = sum;
        put(moment_extremes(v, 0, wide), i, wide ? low : (double)low32, wide);
        put(moment_extremes(v, 1, wide), i, wide ? high : (double)high32, wide);
    }
}

/* Squared deviations. Each of a class's threads computes the class's mean in the same way; the first stores it. */
SCORE_FN void phase_squares(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int C = job->c, F = job->split;
    for (int i = tid; i < v->samples * F * C; i += job->threads) {
        class_item x = class_item_of(job, i);
        double sum = 0.0, low = 2.0, high = 0.0;
        for (int f = 0; f < F; f++) {
            int part = (x.s * F + f) * C + x.c;
            sum += moment_sums(v, 0)[part];
            low = score_least(get(moment_extremes(v, 0, wide), part, wide), low);
            high = score_most(get(moment_extremes(v, 1, wide), part, wide), high);
        }
        double mean = wide && low == high ? low : sum / (double)job->m;
        float hi = (float)mean, lo = (float)(mean - (double)hi);
        double squares = 0.0, rest = 0.0;
        int at = (x.s * job->m + x.from) * job->row + x.c;
        if (wide) {
            for (int m = x.from; m < x.to; m++, at += job->row) {
                double d = ((const double *)v->p)[at] - mean;
                rest += d;
                squares += d * d;
            }
        } else {
            for (int m = x.from; m < x.to;) {
                int stop = x.to - m < 8 ? x.to : m + 8;
                float part = 0.0f;
                for (; m < stop; m++, at += job->row) {
                    float d = (((const float *)v->p)[at] - hi) - lo;
                    part += d * d;
                }
                squares += (double)part;
            }
        }
        moment_sums(v, 1)[i] = squares;
        moment_sums(v, 2)[i] = rest;
        if (x.f == 0) {
            int to = x.s * C + x.c;
            v->mu[to] = mean;
            v->halves[2 * to] = hi;
            v->halves[2 * to + 1] = lo;
            put(v->low, to, low, wide);
            put(v->high, to, high, wide);
        }
    }
}

/* k of class c at setting k. */
SCORE_FN double gate_of(const score_job *job, int k, int c) {
    return job->class_k ? job->gates[k] * job->class_k[c] : job->gates[k];
}

/* Variances, gates, and the results mean and std. One thread per class and gate; the first of a class stores its
 * variance. */
SCORE_FN void phase_gates(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int C = job->c, F = job->split, gates = job->gated ? job->groups : 1;
    double count = (double)job->m;
    for (int j = tid; j < v->samples * C * gates; j += job->threads) {
        int i = j / gates, k = j - i * gates, s = i / C, c = i - s * C;
        double squares = 0.0, rest = 0.0, mu = v->mu[i];
        SCORE_ROLLED
        for (int f = 0; f < F; f++) {
            squares += moment_sums(v, 1)[(s * F + f) * C + c];
            rest += moment_sums(v, 2)[(s * F + f) * C + c];
        }
        double variance = wide ? score_most((squares - rest * (rest / count)) / count, 0.0) : squares / count;
        if (k == 0) {
            v->variance[i] = variance;
            if (job->out.mean)
                job->out.mean[sample_of(v, s) * C + c] = mu;
            if (job->out.std)
                job->out.std[sample_of(v, s) * C + c] = sqrt(variance);
        }
        if (k < job->gated) {
            double sigma = sqrt(variance * job->gate_spread), gate = gate_of(job, k, c);
            double below = job->inside ? score_most(gate, 1e-3) * (sigma + job->eps) : gate * sigma + job->eps;
            double gamma = -expm1(-mu / below);
            put(v->gamma, i * job->groups + k, job->inside ? score_most(gamma, job->eps) : gamma, wide);
        } else if (job->gated) {
            put(v->gamma, i * job->groups + k, 0.0, wide);
        }
    }
}

/* Ties go to the lower index. */
SCORE_FN void lead(leading *g, double mu, double variance, int c) {
    const bool first = mu > g->mu1, second = mu > g->mu2;
    g->mu2 = first ? g->mu1 : second ? mu : g->mu2;
    g->var2 = first ? g->var1 : second ? variance : g->var2;
    g->second = first ? g->first : second ? c : g->second;
    g->mu1 = first ? mu : g->mu1;
    g->var1 = first ? variance : g->var1;
    g->first = first ? c : g->first;
}

/* Sums over a part of the classes: 0 the variance, then Zbar by gate, then mu (1 - mu). */
SCORE_FN double *class_part(const score_view *v, int s, int r) {
    return v->pass + (s * SCORE_PARTS + r) * (2 + v->job->gated);
}

SCORE_FN void part_lead(const score_view *v, int s, int r, int from, int to) {
    leading g = {-1.0, -1.0, 0.0, 0.0, 0, 0};
    double *part = v->leads + (s * SCORE_PARTS + r) * 6;
    SCORE_ROLLED
    for (int c = from; c < to; c++)
        lead(&g, v->mu[s * v->job->c + c], v->variance[s * v->job->c + c], c);
    part[0] = g.mu1;
    part[1] = g.mu2;
    part[2] = g.var1;
    part[3] = g.var2;
    part[4] = (double)g.first;
    part[5] = (double)g.second;
}

/* Parts of the sums over classes, and the leading classes of each: a thread per part and sum. */
SCORE_FN void phase_class_parts(const score_view *v, int tid, const int wide) {
    const score_job *job = v->job;
    int C = job->c, each = job->gated + 3, items = v->samples * SCORE_PARTS * each;
    for (int i = tid; i < items; i += job->threads) {
        int which = i / SCORE_PARTS % each, r = i % SCORE_PARTS, s = i / SCORE_PARTS / each;
        int from = part_from(C, r, SCORE_PARTS), to = part_from(C, r + 1, SCORE_PARTS);
        double sum = 0.0;
        if (which == job->gated + 2) {
            part_lead(v, s, r, from, to);
            continue;
        }
        SCORE_ROLLED
        for (int c = from; c < to; c++) {
            double mu = v->mu[s * C + c];
            sum += which == 0           ? v->variance[s * C + c]
                   : which > job->gated ? mu * (1.0 - mu)
                                        : get(v->gamma, (s * C + c) * job->groups + which - 1, wide) * mu;
        }
        class_part(v, s, r)[which] = sum;
    }
}

/* 1 where the rule abstains at k = 1. */
SCORE_FN double margin_abstains(const leading *g) {
    return g->mu1 - g->mu2 > sqrt(g->var1) + sqrt(g->var2) ? 0.0 : 1.0;
}

/* Figure `which` of sample n for the summary. */
SCORE_FN void put_unit(const score_job *job, int which, long long n, double value) {
    if (job->units)
        job->units[which * job->n + n] = value;
}

SCORE_FN void write_margin(const score_job *job, const leading *g, long long n) {
    double sigma1 = sqrt(g->var1 * job->margin_spread), sigma2 = sqrt(g->var2 * job->margin_spread);
    double snr = (g->mu1 - g->mu2) / (sigma1 + sigma2 + job->margin_eps);
    if (job->out.snr)
        job->out.snr[n] = snr;
    if (job->out.gmu)
        job->out.gmu[n] = 1.0 + g->mu1 * expm1(-snr);
    if (job->out.pred)
        job->out.pred[n] = g->first;
    if (job->out.second)
        job->out.second[n] = g->second;
    if (job->out.flags)
        job->out.flags[n] = g->mu1 == g->mu2 ? VG_FLAG_TIE : 0;
    for (int k = 0; job->out.decision && k < job->k; k++) {
        bool clear = g->mu1 - gate_of(job, k, g->first) * sigma1 > g->mu2 + gate_of(job, k, g->second) * sigma2;
        job->out.decision[n * job->k + k] = clear ? g->first : -1;
    }
}

#define SCORE_FAINT 1e-20 /* samples with smaller normalisers are left to the host */

/* The sums themselves: the variance, every gate's normaliser, and the variance of a class under the mean. */
SCORE_FN void phase_class_totals(const score_view *v, int tid) {
    const score_job *job = v->job;
    int items = 2 + job->gated;
    for (int i = tid; i < v->samples * items; i += job->threads) {
        int s = i / items, item = i - s * items;
        double sum = 0.0;
        for (int r = 0; r < SCORE_PARTS; r++)
            sum += class_part(v, s, r)[item];
        if (item == 0) {
            put_unit(job, 0, sample_of(v, s), sum);
        } else if (item > job->gated) {
            put_unit(job, 3, sample_of(v, s), sum);
        } else {
            bool faint = !(sum > SCORE_FAINT);
            v->zbar[2 * (s * job->gated + item - 1)] = sum;
            v->zbar[2 * (s * job->gated + item - 1) + 1] = faint ? 1.0 : 1.0 / sum;
            if (faint)
                raise_flag(v->large + s);
        }
    }
}

/* The leading classes and the results that depend on them, computed by the block's last threads in a phase that leaves
 * other warps idle. */
SCORE_FN void phase_margin(const score_view *v, int tid) {
    const score_job *job = v->job;
    for (int s = job->threads - 1 - tid; s < v->samples; s += job->threads) {
        leading g = {-1.0, -1.0, 0.0, 0.0, 0, 0};
        SCORE_ROLLED
        for (int r = 0; r < SCORE_PARTS; r++) {
            const double *part = v->leads + (s * SCORE_PARTS + r) * 6;
            lead(&g, part[0], part[2], (int)part[4]);
            lead(&g, part[1], part[3], (int)part[5]);
        }
        write_margin(job, &g, sample_of(v, s));
        put_unit(job, 4, sample_of(v, s), margin_abstains(&g));
    }
}

#endif
