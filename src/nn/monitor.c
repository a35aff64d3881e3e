/* monitor.c - loss, accuracy, calibration error, diversity and k-sensitivity of ensemble logits, in double.
 *
 *     mu = mean over members of p, sigma their population spread;  D = mean of sigma^2
 *     Gamma = 1 - exp(-mu / (k sigma + 1e-8)),  q_m = p_m Gamma / sum(p_m Gamma),  GTU = H(mean of q_m),  TU = H(mu)
 *     ECE: 15 equal bins of the largest mean probability, sum of |accuracy - confidence| weighted by count */
#include "nn/monitor.h"

#include <math.h>
#include <string.h>

static double entropy(const double *p, size_t classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return sum;
}

/* Softmax of one member; returns log p of the label. */
static double member(double *p, const float *z, size_t classes, size_t label) {
    double top = z[0], sum = 0;
    for (size_t c = 1; c < classes; c++)
        top = z[c] > top ? z[c] : top;
    for (size_t c = 0; c < classes; c++) {
        p[c] = exp(z[c] - top);
        sum += p[c];
    }
    for (size_t c = 0; c < classes; c++)
        p[c] /= sum;
    return z[label] - top - log(sum);
}

static double gated_entropy(const double *p, const double *mean, double *gate, double *q, size_t M, size_t C, double k) {
    for (size_t c = 0; c < C; c++) {
        double var = 0;
        for (size_t m = 0; m < M; m++)
            var += (p[m * C + c] - mean[c]) * (p[m * C + c] - mean[c]);
        gate[c] = -expm1(-mean[c] / (k * sqrt(var / (double)M) + 1e-8));
        q[c] = 0;
    }
    for (size_t m = 0; m < M; m++) {
        double z = 0;
        for (size_t c = 0; c < C; c++)
            z += p[m * C + c] * gate[c];
        for (size_t c = 0; c < C; c++)
            q[c] += (z > 0 ? p[m * C + c] * gate[c] / z : p[m * C + c]) / (double)M;
    }
    return entropy(q, C);
}

/* The members' most probable classes, pair by pair; `named`: C of workspace. */
static double disagreement(const double *p, double *named, size_t M, size_t C) {
    double agree = 0, members = (double)M;
    memset(named, 0, C * sizeof *named);
    for (size_t m = 0; m < M; m++) {
        size_t top = 0;
        for (size_t c = 1; c < C; c++)
            top = p[m * C + c] > p[m * C + top] ? c : top;
        agree += named[top]++;
    }
    return M > 1 ? 1 - agree / (0.5 * members * (members - 1)) : 0;
}

/* What a verdict looks at; `work`: C. */
static void add_verdict(vg_monitor *s, const double *p, const double *mean, double *work) {
    size_t M = s->members, C = s->classes;
    double mu1 = -1, mu2 = -1, sigma1 = 0, sigma2 = 0;
    for (size_t c = 0; c < C; c++) {
        double square = 0;
        for (size_t m = 0; m < M; m++)
            square += (p[m * C + c] - mean[c]) * (p[m * C + c] - mean[c]) / (double)M;
        s->total += mean[c] * (1 - mean[c]);
        if (mean[c] > mu1) {
            mu2 = mu1, sigma2 = sigma1;
            mu1 = mean[c], sigma1 = sqrt(square);
        } else if (mean[c] > mu2) {
            mu2 = mean[c], sigma2 = sqrt(square);
        }
    }
    s->abstained += mu1 - sigma1 > mu2 + sigma2 ? 0 : 1;
    s->disagreement += disagreement(p, work, M, C);
}

static void add_sample(vg_monitor *s, const float *logits, size_t label, double *work) {
    size_t M = s->members, C = s->classes, best = 0;
    double *p = work, *mean = work + M * C, loss = 0;
    memset(mean, 0, C * sizeof *mean);
    for (size_t m = 0; m < M; m++) {
        loss -= member(p + m * C, logits + m * C, C, label) / (double)M;
        for (size_t c = 0; c < C; c++)
            mean[c] += p[m * C + c] / (double)M;
    }
    for (size_t c = 0; c < C; c++) {
        best = mean[c] > mean[best] ? c : best;
        for (size_t m = 0; m < M; m++)
            s->variance += (p[m * C + c] - mean[c]) * (p[m * C + c] - mean[c]) / (double)(M * C);
    }
    s->loss += s->mixture ? -log(mean[label]) : loss;
    s->entropy += entropy(mean, C);
    s->gated_entropy += gated_entropy(p, mean, mean + C, mean + 2 * C, M, C, s->k);
    add_verdict(s, p, mean, mean + C);
    s->correct += best == label;
    size_t bin = (size_t)ceil(mean[best] * VG_MONITOR_BINS);
    bin = bin < 1 ? 0 : bin > VG_MONITOR_BINS ? VG_MONITOR_BINS - 1 : bin - 1;
    s->bin_confidence[bin] += mean[best];
    s->bin_count[bin]++;
    s->bin_correct[bin] += best == label;
    s->n++;
}

void vg_monitor__add(vg_monitor *s, const float *logits, const int32_t *labels, size_t n, double *work) {
    for (size_t i = 0; i < n; i++)
        add_sample(s, logits + i * s->members * s->classes, (size_t)labels[i], work);
}

double vg_monitor__ece(const vg_monitor *s) {
    double sum = 0;
    for (int i = 0; i < VG_MONITOR_BINS; i++)
        sum += fabs((double)s->bin_correct[i] - s->bin_confidence[i]);
    return s->n ? sum / (double)s->n : NAN;
}

double vg_monitor__diversity(const vg_monitor *s) { return s->n ? s->variance / (double)s->n : NAN; }

double vg_monitor__k_sensitivity(const vg_monitor *s) { return s->entropy > 0 ? 1 - s->gated_entropy / s->entropy : 0; }

vg_score_summary vg_monitor__summary(const vg_monitor *s) {
    double n = (double)s->n;
    return (vg_score_summary){.samples = s->n,
                              .diversity = vg_monitor__diversity(s),
                              .k_sensitivity = vg_monitor__k_sensitivity(s),
                              .mean_tu = s->entropy / n,
                              .mean_gtu = s->gated_entropy / n,
                              .members = s->members,
                              .outcomes = s->classes,
                              .member_variance = s->variance / n * (double)s->classes,
                              .total_variance = s->total / n,
                              .disagreement = s->disagreement / n,
                              .abstained = s->abstained / n};
}
