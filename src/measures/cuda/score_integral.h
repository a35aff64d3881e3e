/* score_integral.h - expected pairwise Jensen-Shannon divergence of one class by one thread. The approximations and the
 * choice among them are those of template/js.h, js32_wide.h, js32.h and js64.h; here a thread loops over the members
 * and keeps all sums in registers.
 *
 * Deviations for the series come from pieces that are exact in float: with x_m = g p_m (1 + omega_m) and mean x = g (mu
 * + U), x_m/mean - 1 = ((p_m - mu) + (omega_m p_m - U)) / (mu + U). */
#ifndef VG_MEASURES_SCORE_INTEGRAL_H
#define VG_MEASURES_SCORE_INTEGRAL_H

#include "measures/cuda/score_job.h"
#include "measures/cuda/score_math.h"
#include "measures/integral_series.h"

enum { INTEGRAL_NARROW_MOST = 33, INTEGRAL_FINE_MOST = 104, INTEGRAL_STEPS = 11 };

/* One class of one set: x_m = gate p_m w_m. */
typedef struct score_column {
    const void *p;      /* element (m = 0, c) */
    const void *weight; /* w of member 0: 1 for the ungated set; 0 from member M on */
    const void *omega;  /* w - 1; NULL: 0 */
    int row, weight_row, omega_row;
    int members, padded;          /* M, and rounded up to the block */
    bool held;                    /* p ends with member M - 1: later ones must not be read */
    double gate, mean, low, high; /* bounds of x */
    double mu, shift;             /* ungated mean, and U */
    double variance;              /* ungated */
} score_column;

SCORE_FN double column_value(const score_column *x, int m, const int wide) {
    return wide ? ((const double *)x->p)[m * x->row] : (double)((const float *)x->p)[m * x->row];
}
SCORE_FN float column_value32(const score_column *x, int m, const int wide) {
    return wide ? (float)((const double *)x->p)[m * x->row] : ((const float *)x->p)[m * x->row];
}
SCORE_FN double column_weight(const score_column *x, int m, const int wide) {
    int at = m * x->weight_row;
    return wide ? ((const double *)x->weight)[at] : (double)((const float *)x->weight)[at];
}
SCORE_FN float column_weight32(const score_column *x, int m, const int wide) {
    int at = m * x->weight_row;
    return wide ? (float)((const double *)x->weight)[at] : ((const float *)x->weight)[at];
}
SCORE_FN double column_omega(const score_column *x, int m, const int wide) {
    int at = m * x->omega_row;
    return !x->omega ? 0.0 : wide ? ((const double *)x->omega)[at] : (double)((const float *)x->omega)[at];
}

/* Nodes until s low >= reach, s_0 = 1/inverse_s0, `steps` nodes per octave. */
SCORE_FN int integral_nodes(double low, double inverse_s0, double reach, int steps, int fewest, int most) {
    double span = reach * inverse_s0 / score_most(low, 1e-30);
    int64_t bits;
    memcpy(&bits, &span, sizeof bits);
    int nodes = ((int)(bits >> 52) - 1023 + 1) * steps + 1;
    nodes = nodes < most ? nodes : most;
    return nodes > fewest ? nodes : fewest;
}

/* The largest value in the warp. On the host a warp is one thread. */
SCORE_FN int warp_most(int x) {
#ifdef __CUDA_ARCH__
    return __reduce_max_sync(0xffffffffu, x);
#else
    return x;
#endif
}

/* 1 - exp(-u s), u in 0 .. 1, s <= 1/4. */
SCORE_FN float integral_start(float u, const float s) {
    const float a = 0.999999997061f * s, b = -0.499999434391f * s * s, c = 0.166649194651f * s * s * s;
    const float d = -0.0414768632327f * s * s * s * s, e = 0.00748274195487f * s * s * s * s * s;
    return u * (a + u * (b + u * (c + u * (d + u * e))));
}

SCORE_FN float block_sum(const float *b, const int B) {
    if (B == 8)
        return ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
    return (b[0] + b[1]) + (b[2] + b[3]);
}

/* The number of powers after L doublings. */
SCORE_FN int powers_after(const int L) { return JS32_ALWAYS + L; }

/* The value, divided by the largest member, from the sums of the powers. Functions above the thread's own doublings are
 * left out. */
SCORE_FN float powers_value(const score_job *job, const score_column *x, const float *sum, float mean, int own,
                            const int L) {
    float f[2 + JS32_POWERS + 1], count = (float)x->members, spare = (float)(x->padded - x->members), value = 0.0f;
    f[0] = count;
    f[1] = mean * count;
    SCORE_UNROLL
    for (int j = 0; j < powers_after(L); j++)
        f[2 + j] = sum[j] - spare; /* padding contributes 1 to every power */
    SCORE_UNROLL
    for (int l = 1; l <= L; l++)
        f[1 + powers_after(l)] = l <= own ? f[1 + powers_after(l)] : 0.0f;
    f[2 + powers_after(L)] = 0.0f;
    SCORE_UNROLL
    for (int i = 0; i < 2 + powers_after(L); i++) {
        float row = 0.0f;
        if (i >= 2)
            f[i] -= f[i + 1];
        SCORE_UNROLL
        for (int j = 0; j <= i; j++)
            row = SCORE_FMA(job->power_weight[i * (i + 1) / 2 + j], f[j], row);
        value = SCORE_FMA(f[i], row, value);
    }
    return value / (count * count);
}

/* a b of B members. */
SCORE_FN void powers_times(float *to, const float *a, const float *b, const int B) {
    SCORE_UNROLL
    for (int v = 0; v < B; v++)
        to[v] = score_times32(a[v], b[v]);
}
/* Adds a power from which no other is derived. */
SCORE_FN void powers_add_product(float *sum, const float *a, const float *b, const int B) {
    SCORE_UNROLL
    for (int v = 0; v < B; v++)
        *sum = SCORE_FMA(a[v], b[v], *sum);
}

/* The inputs of the wide form for a class: 1 / its largest member, the mean, and its doublings. */
typedef struct powers_class {
    float over, mean;
    int own;
} powers_class;

/* Wide form: means of powers, template/js32_wide.h. L >= own, the thread's doublings (the others of the warp may need
 * more). */
SCORE_FN float powers_wide(const score_job *job, const score_column *x, powers_class of, const int L, const int B,
                           const int wide) {
    const float over = of.over, mean = of.mean;
    const int own = of.own;
    float sum[JS32_POWERS];
    SCORE_UNROLL
    for (int j = 0; j < powers_after(L); j++)
        sum[j] = 0.0f;
    SCORE_ROLLED
    for (int m = 0; m < x->padded; m += B) {
        float a1[8], a2[8], a3[8], a6[8], a9[8], a15[8], a24[8], a48[8];
        SCORE_UNROLL
        for (int v = 0; v < B; v++) {
            int held = x->held && m + v >= x->members ? x->members - 1 : m + v;
            a1[v] = 1.0f - score_root32((column_value32(x, held, wide) * over) * column_weight32(x, m + v, wide));
        }
        sum[0] += block_sum(a1, B);
#define POWER(j, n, p, q)                                                                                              \
    powers_times(a##n, a##p, a##q, B);                                                                                 \
    sum[j] += block_sum(a##n, B);
#define PRODUCT(j, n, p, q) powers_add_product(&sum[j], a##p, a##q, B);
        JS32_CHAIN(POWER, PRODUCT)
#undef POWER
#undef PRODUCT
        SCORE_UNROLL
        for (int l = 0; l < L; l++) {
            powers_times(a48, a48, a48, B);
            sum[JS32_ALWAYS + l] += block_sum(a48, B);
        }
    }
    return powers_value(job, x, sum, mean, own, L);
}

/* Runs powers_wide with as many doublings as the warp's widest class needs. `own` below 0: this thread does not need
 * the form. */
SCORE_FN float powers_wide_any(const score_job *job, const score_column *x, float over, float mean, int own,
                               const int B, const int wide) {
    int most = warp_most(own);
    powers_class of = {over, mean, own};
    if (most < 0)
        return 0.0f;
#define AT_MOST(L)                                                                                                     \
    if (most <= (L))                                                                                                   \
    return powers_wide(job, x, of, L, B, wide)
    AT_MOST(0);
    AT_MOST(1);
    AT_MOST(2);
    AT_MOST(3);
    AT_MOST(4);
#undef AT_MOST
    return powers_wide(job, x, of, JS32_DOUBLINGS, B, wide);
}

/* Doublings for members of at least `low`. */
SCORE_FN int powers_own(double low) {
    const double least[] = {JS32_LEAST};
    int own = 0;
    SCORE_UNROLL
    for (int l = 0; l < JS32_DOUBLINGS; l++)
        own += low < least[l];
    return own;
}

/* For classes whose members lie near the mean except for some: deviations of b from its value at the mean, a few nodes
 * at a time. */
SCORE_FN double integral_narrow(const score_job *job, const score_column *x, float over, float start, int nodes,
                                const int wide) {
    double value = 0.0, inverse = 1.0 / (double)x->members;
    SCORE_ROLLED
    for (int from = 0; from < nodes; from += INTEGRAL_STEPS) {
        float beta[INTEGRAL_STEPS], first[INTEGRAL_STEPS], second[INTEGRAL_STEPS];
        float own = integral_start(start, 0.0625f);
        SCORE_ROLLED
        for (int j = 0; j < from; j++)
            own = own * (2.0f - own);
        SCORE_UNROLL
        for (int j = 0; j < INTEGRAL_STEPS; j++) {
            beta[j] = own;
            own = own * (2.0f - own);
            first[j] = second[j] = 0.0f;
        }
        SCORE_ROLLED
        for (int m = 0; m < x->members; m += 2) {
            float b[2];
            bool pair = m + 1 < x->members;
            SCORE_UNROLL
            for (int v = 0; v < 2; v++) {
                int at = v == 1 && !pair ? m : m + v;
                b[v] = integral_start((column_value32(x, at, wide) * over) * column_weight32(x, at, wide), 0.0625f);
            }
            SCORE_ROLLED
            for (int j = 0; j < from; j++) {
                b[0] = b[0] * (2.0f - b[0]);
                b[1] = b[1] * (2.0f - b[1]);
            }
            SCORE_UNROLL
            for (int j = 0; j < INTEGRAL_STEPS; j++) {
                float e = b[0] - beta[j], f = pair ? b[1] - beta[j] : 0.0f;
                first[j] += e + f;
                second[j] += e * e + f * f;
                b[0] = b[0] * (2.0f - b[0]);
                b[1] = b[1] * (2.0f - b[1]);
            }
        }
        SCORE_UNROLL
        for (int j = 0; j < INTEGRAL_STEPS; j++) {
            double e = (double)first[j] * inverse, variance = score_most((double)second[j] * inverse - e * e, 0.0);
            if (from + j < nodes)
                value += variance * (double)job->narrow_weight[from + j] *
                         (from + j == INTEGRAL_NARROW_MOST - 1 ? 2.0 : 1.0);
        }
    }
    return value;
}

/* Terms 2 .. 6 or 2 .. 10 of the series from the moments of r = x/mean - 1. */
SCORE_FN double integral_series_value(const double *moment, double mean, const int most) {
    const double binomial[11][6] = {{1, 0, 0, 0, 0, 0},     {1, 1, 0, 0, 0, 0},        {1, 2, 1, 0, 0, 0},
                                    {1, 3, 3, 0, 0, 0},     {1, 4, 6, 0, 0, 0},        {1, 5, 10, 0, 0, 0},
                                    {1, 6, 15, 20, 0, 0},   {1, 7, 21, 35, 0, 0},      {1, 8, 28, 56, 70, 0},
                                    {1, 9, 36, 84, 126, 0}, {1, 10, 45, 120, 210, 252}};
    double value = 0.0, power = 1.0;
    SCORE_UNROLL
    for (int n = 2; n <= most; n++) {
        double mixed = moment[n]; /* i and n - i are the same product; halved throughout */
        power *= 0.5;             /* 2^(1-n) */
        SCORE_UNROLL
        for (int i = 1; 2 * i < n; i++)
            mixed += binomial[n][i] * moment[i] * moment[n - i];
        if (n % 2 == 0)
            mixed += 0.5 * binomial[n][n / 2] * moment[n / 2] * moment[n / 2];
        value += (n % 2 ? -1.0 : 1.0) * (moment[n] - power * mixed) * (1.0 / (double)(n * (n - 1)));
    }
    return value * mean;
}

/* r of member m, as exact as the input. */
SCORE_FN double column_deviation(const score_column *x, int m, double inverse, const int wide) {
    if (wide) {
        double p = column_value(x, m, wide);
        return ((p - x->mu) + (column_omega(x, m, wide) * p - x->shift)) * inverse;
    }
    float p = column_value32(x, m, wide), high = (float)x->mu, low = (float)(x->mu - (double)high), omega = 0.0f;
    if (x->omega)
        omega = ((const float *)x->omega)[m * x->omega_row];
    return (double)((((p - high) - low) + (omega * p - (float)x->shift)) * (float)inverse);
}

SCORE_FN double integral_series32(const score_column *x, bool more, const int wide) {
    float sum[11];
    double moment[11], inverse = 1.0 / (x->mu + x->shift), scale = 1.0 / (double)x->members;
    SCORE_UNROLL
    for (int n = 1; n <= 10; n++)
        sum[n] = 0.0f;
    SCORE_ROLLED
    for (int m = 0; m < x->members; m++) {
        const float r = (float)column_deviation(x, m, inverse, wide);
        VG_ADD_POWERS(float, sum, r, more);
    }
    SCORE_UNROLL
    for (int n = 1; n <= 10; n++)
        moment[n] = (double)sum[n] * scale;
    return more ? integral_series_value(moment, x->mean, 10) : integral_series_value(moment, x->mean, 6);
}

SCORE_FN bool column_tight(const score_column *x, double rho) {
    return score_most(x->high - x->mean, x->mean - x->low) <= rho * x->mean;
}

/* The class's contribution to EPJS in float: error below 1e-6, relative 1e-4. Every thread of a warp must call it,
 * because it compares values across the warp; `idle` threads get 0. */
SCORE_FN double integral32(const score_job *job, const score_column *x, bool idle, const int B, const int wide) {
    bool empty = idle || x->high < 1e-30 || x->low == x->high, tight = !empty && column_tight(x, 0.35);
    double value = 0.0;
    if (tight)
        value = integral_series32(x, !column_tight(x, 0.15), wide);
    double inverse = empty ? 0.0 : 1.0 / x->high, low = x->low * inverse;
    /* p over high / (gate w_high) times w over w_high is x over high */
    float over = (float)(x->gate * inverse);
    bool narrow = !empty && !tight && x->variance < 0.02 * x->mu * x->mu;
    int own = empty || tight || narrow ? -1 : powers_own(low);
    double wide_value = (double)powers_wide_any(job, x, over, (float)(x->mean * inverse), own, B, wide);
    if (own >= 0) {
        value = wide_value * x->high;
        narrow = !(wide_value >= 0.0125 * x->mean * inverse);
    }
    if (narrow) {
        int nodes = integral_nodes(low, 16.0, 4.0, 1, 1, INTEGRAL_NARROW_MOST);
        value = integral_narrow(job, x, over, (float)(x->mean * inverse), nodes, wide) * x->high;
    }
    return score_most(value, 0.0);
}

/* --- in double, for float64 input: relative error below 1e-9 */

/* 1 - exp(-t), t in 0 .. 0.045. */
SCORE_FN double integral_start64(double t) {
    double b;
    VG_ONE_MINUS_EXP(double, b, t);
    return b;
}

/* Nodes offset, offset + 2, ... of s_j = 2^((j-10)/2), a few at a time. */
SCORE_FN double integral_chain64(const score_job *job, const score_column *x, double over, double mean, double s,
                                 int offset, int nodes) {
    double value = 0.0, inverse = 1.0 / (double)x->members;
    int count = nodes > offset ? (nodes - offset + 1) / 2 : 0;
    SCORE_ROLLED
    for (int from = 0; from < count; from += 8) {
        double beta[8], first[8], second[8], own = integral_start64(mean * s);
        SCORE_ROLLED
        for (int j = 0; j < from; j++)
            own = own * (2.0 - own);
        SCORE_UNROLL
        for (int j = 0; j < 8; j++) {
            beta[j] = own;
            own = own * (2.0 - own);
            first[j] = second[j] = 0.0;
        }
        SCORE_ROLLED
        for (int m = 0; m < x->members; m++) {
            double b = integral_start64(column_value(x, m, 1) * over * column_weight(x, m, 1) * s);
            SCORE_ROLLED
            for (int j = 0; j < from; j++)
                b = b * (2.0 - b);
            SCORE_UNROLL
            for (int j = 0; j < 8; j++) {
                double e = b - beta[j];
                first[j] += e;
                second[j] += e * e;
                b = b * (2.0 - b);
            }
        }
        SCORE_UNROLL
        for (int j = 0; j < 8; j++) {
            int node = 2 * (from + j) + offset;
            double e = first[j] * inverse, variance = second[j] * inverse - e * e;
            /* Past the last node the variance is constant, which adds 1/(sqrt 2 - 1) of its weight. */
            if (from + j < count)
                value +=
                    variance * job->fine_weight[node] * (node == INTEGRAL_FINE_MOST - 1 ? 3.41421356237309504880 : 1.0);
        }
    }
    return value;
}

SCORE_FN double integral_series64(const score_column *x) {
    double sum[11], inverse = 1.0 / (x->mu + x->shift);
    SCORE_UNROLL
    for (int n = 1; n <= 10; n++)
        sum[n] = 0.0;
    SCORE_ROLLED
    for (int m = 0; m < x->members; m++) {
        double r = column_deviation(x, m, inverse, 1), power = r;
        SCORE_UNROLL
        for (int n = 1; n <= 10; n++) {
            sum[n] += power;
            power *= r;
        }
    }
    SCORE_UNROLL
    for (int n = 1; n <= 10; n++)
        sum[n] *= 1.0 / (double)x->members;
    return integral_series_value(sum, x->mean, 10);
}

SCORE_FN double integral64(const score_job *job, const score_column *x, bool idle) {
    if (idle || x->high < 1e-290 || x->low == x->high)
        return 0.0;
    if (column_tight(x, 0.0625))
        return score_most(integral_series64(x), 0.0);
    double inverse = 1.0 / x->high, over = x->gate * inverse, mean = x->mean * inverse;
    int nodes = integral_nodes(x->low * inverse, 32.0, 22.0, 2, 1, INTEGRAL_FINE_MOST);
    double value = integral_chain64(job, x, over, mean, 0.03125, 0, nodes) +
                   integral_chain64(job, x, over, mean, 0.03125 * 1.41421356237309504880, 1, nodes);
    return score_most(value * x->high, 0.0);
}

#endif
