/* score_columns.h - steps of a group of lanes (score_lanes.h): mean, variance and gates of every class, then the
 * rows' sums and the normalisers of every gate and member.
 *
 * The mean is a double, kept as the sum of two floats, so that p - mu is exact to the last bits of p. Gates are
 * floats with a relative error of 3e-7. P: members that a thread keeps in registers (M <= P), 0: it reads them
 * again. G: whether there are gates. Both constants. */
#ifndef VG_MEASURES_SCORE_COLUMNS_H
#define VG_MEASURES_SCORE_COLUMNS_H

#include "measures/cuda/score_lanes.h"

/* The members of one class. */
typedef struct lane_column {
    float p[SCORE_FEW]; /* where P > 0 */
    int c, at;          /* the class, and the one that is read in its place where there is none */
} lane_column;

SCORE_FN lane_column column_load(const lane_view *v, int lane, int r, const int P) {
    lane_column x;
    x.c = lane_class(v, lane, r);
    x.at = x.c < v->job->c ? x.c : v->job->c - 1;
    SCORE_UNROLL
    for (int m = 0; m < P; m++)
        x.p[m] = lane_value(v, m, x.at);
    return x;
}
/* Member m: a constant where P > 0. */
SCORE_FN float column_at(const lane_view *v, const lane_column *x, int m, const int P) {
    return P ? x->p[m] : lane_value(v, m, x->at);
}

/* log2 x with an absolute error of 2e-7 (relative, outside 1/2 .. 2). */
SCORE_FN float score_log2(float x) {
#ifdef __CUDA_ARCH__
    float log;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(x));
    return log;
#else
    float log = log2f(x); /* with the error of the device's instruction */
    return fabsf(log) < 1.0f ? rintf(log * 0x1p22f) * 0x1p-22f : log;
#endif
}

/* psi(r) = r - log(1 + r) for |r| <= 1/4, relative error 3e-7. */
SCORE_FN float psi_near(float r) {
    float p = SCORE_FMA(r, 0.135853499f, -0.155815378f);
    p = SCORE_FMA(p, r, 0.166372404f);
    p = SCORE_FMA(p, r, -0.199588016f);
    p = SCORE_FMA(p, r, 0.250001103f);
    p = SCORE_FMA(p, r, -0.333336562f);
    return (r * r) * SCORE_FMA(p, r, 0.5f);
}

/* For y = 1 + r > 0, both given: lambda = log y, phi = y lambda - r, psi = r - lambda. Next to 1 without cancellation,
 * elsewhere with an absolute error of 2e-7 (of the logarithm, from 2 on relative). */
SCORE_FN void lane_bregman(float y, float r, float *lambda, float *phi, float *psi) {
    float small = psi_near(r), near = r - small, far = score_log2(y) * (float)SCORE_LN2;
    bool is_near = fabsf(r) <= 0.25f;
    *lambda = is_near ? near : far;
    *psi = is_near ? small : r - far;
    *phi = is_near ? SCORE_FMA(r, near, -small) : SCORE_FMA(y, far, -r);
}

/* 1 - exp(-x), x >= 0, relative error 2e-7: template/vmath.h. */
SCORE_FN float gate32(float x) {
    x = score_least32(x, 80.0f);
    float shifted = SCORE_FMA(x, 1.44269504f, 12582912.0f), whole = shifted - 12582912.0f;
    float r = SCORE_FMA(whole, -2.12194440e-4f, SCORE_FMA(whole, 0.693359375f, -x));
    float p = SCORE_FMA(r, 1.388251643e-3f, 8.366547130e-3f), scale;
    p = SCORE_FMA(p, r, 4.166720071e-2f);
    p = SCORE_FMA(p, r, 1.666654342e-1f);
    p = SCORE_FMA(p, r, 4.999999815e-1f);
    int bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int)((unsigned)(127 + 0x4b400000 - bits) << 23);
    memcpy(&scale, &bits, sizeof scale);
    return SCORE_FMA(-scale, SCORE_FMA(p, r * r, r), 1.0f - scale);
}

/* Gamma of gate k; sigma: the spread that gates use. */
SCORE_FN float gate_value(const lane_view *v, int k, int c, float mu, float sigma) {
    const score_job *job = v->job;
    float gate = job->class_k ? v->gates[k] * (float)job->class_k[c] : v->gates[k], eps = job->eps32;
    float below = job->inside ? score_most32(gate, 1e-3f) * (sigma + eps) : SCORE_FMA(gate, sigma, eps);
    float gamma = gate32(mu * score_over32(score_most32(below, 1e-37f)));
    return job->inside ? score_most32(gamma, eps) : gamma;
}

/* Sum, extremes and squared deviations of the members. */
typedef struct lane_moments {
    double mean;
    float hi, lo, low, high, variance;
} lane_moments;

/* Sum of squared deviations of the P members or, where P is 0, of up to SCORE_FEW members from `from` on. */
SCORE_FN float column_squares(const lane_view *v, const lane_column *x, const lane_moments *at, int from, const int P) {
    float sum = 0.0f;
    SCORE_UNROLL
    for (int i = 0; i < (P ? P : SCORE_FEW); i++)
        if (P || from + i < v->job->m) {
            float d = (column_at(v, x, from + i, P) - at->hi) - at->lo;
            sum = SCORE_FMA(d, d, sum);
        }
    return sum;
}

SCORE_FN lane_moments column_moments(const lane_view *v, const lane_column *x, const int P) {
    const score_job *job = v->job;
    lane_moments at = {0.0, 0.0f, 0.0f, 2.0f, 0.0f, 0.0f};
    double sum = 0.0, squares = 0.0;
    const int most = P ? P : job->m;
    SCORE_STEPS
    for (int m = 0; m < most; m++) {
        float p = column_at(v, x, m, P);
        sum = P && m == 0 ? (double)p : sum + (double)p;
        at.low = score_least32(p, at.low);
        at.high = score_most32(p, at.high);
    }
    at.mean = sum * job->inverse_m; /* then rounded correctly, so that equal members have exactly their mean */
    at.mean = SCORE_FMA64(SCORE_FMA64(-at.mean, (double)job->m, sum), job->inverse_m, at.mean);
    at.hi = (float)at.mean;
    at.lo = (float)(at.mean - (double)at.hi);
    if (P) {
        at.variance = column_squares(v, x, &at, 0, P) * (1.0f / (float)P);
        return at;
    }
    SCORE_ROLLED
    for (int from = 0; from < most; from += SCORE_FEW)
        squares += (double)column_squares(v, x, &at, from, P);
    at.variance = (float)(squares * job->inverse_m);
    return at;
}

/* A class: its members, moments and gates. */
typedef struct class_values {
    lane_column x;
    lane_moments at;
    float gates[4]; /* Gamma of every gate */
    bool in;        /* not past the last class; past it, as one to which every member gives 0 */
} class_values;

SCORE_FN class_values class_of(const lane_view *v, const lane_column *x, const int P, const int G) {
    const score_job *job = v->job;
    class_values of = {*x, column_moments(v, x, P), {0.0f, 0.0f, 0.0f, 0.0f}, x->c < job->c};
    float sigma = G ? score_root32(of.at.variance * job->gate_spread32) : 0.0f;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (G && k < job->gated) {
            float gate = gate_value(v, k, x->at, of.at.hi, sigma);
            of.gates[k] = of.in ? gate : 0.0f;
        }
    of.at.hi = of.in ? of.at.hi : 0.0f;
    of.at.lo = of.in ? of.at.lo : 0.0f;
    return of;
}

/* Keeps the class of round r, and finds it again. */
SCORE_FN void class_store(const lane_view *v, const class_values *of, int lane, int r) {
    const float low[4] = {of->at.hi, of->at.lo, of->at.variance, of->at.low};
    const float high[4] = {of->gates[0], of->gates[1], of->gates[2], of->at.high};
    put4(lane_info(v, lane, r, 0), low);
    put4(lane_info(v, lane, r, 1), high);
}
SCORE_FN class_values class_stored(const lane_view *v, const lane_column *x, int lane, int r) {
    class_values of = {*x, {0.0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, x->c < v->job->c};
    float low[4];
    get4(low, lane_info(v, lane, r, 0));
    get4(of.gates, lane_info(v, lane, r, 1));
    of.at.hi = low[0];
    of.at.lo = low[1];
    of.at.variance = low[2];
    of.at.low = low[3];
    of.at.high = of.gates[3];
    return of;
}

/* Adds a member to its row's sums. one: 1, or 0 past the last class, whose gates are 0. */
SCORE_FN void row_add(float *row, float p, float one, const float *half, const float *gates, const int G) {
    float d = (p - half[0]) - half[1];
    row[0] = SCORE_FMA(p, one, row[0]);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (G) {
            row[1 + k] = SCORE_FMA(gates[k], d, row[1 + k]);
            row[5 + k] = SCORE_FMA(gates[k], p, row[5 + k]);
        }
}

/* Clears the sums of `count` rows. */
SCORE_FN void rows_begin(lane_state *s, const int count) {
    SCORE_UNROLL
    for (int i = 0; i < count * LANE_ROW_SUMS; i++)
        s->rows[i] = 0.0f;
}

/* Before the first pass over the classes. */
SCORE_FN void first_begin(lane_state *s, const int P) {
    leading none = {-1.0, -1.0, 0.0, 0.0, 0x7fffffff, 0x7fffffff};
    s->lead = none;
    s->least = 1.0f;
    SCORE_UNROLL
    for (int i = 0; i < LANE_FIRST; i++)
        s->first[i] = 0.0;
    rows_begin(s, P);
}

/* What a class adds in the first pass: to the rows, and to the sums and results over classes. */
SCORE_FN void first_add(const lane_view *v, lane_state *s, const class_values *of, const int P, const int G) {
    const score_job *job = v->job;
    const double mean = of->at.mean, variance = (double)of->at.variance;
    const float half[2] = {of->at.hi, of->at.lo};
    SCORE_UNROLL
    for (int m = 0; m < P; m++)
        row_add(s->rows + m * LANE_ROW_SUMS, of->x.p[m], of->in ? 1.0f : 0.0f, half, of->gates, G);
    if (!of->in)
        return;
    s->first[0] += variance;
    s->first[1] += mean * (1.0 - mean);
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (G)
            s->first[2 + k] = SCORE_FMA64((double)of->gates[k], mean, s->first[2 + k]);
    lead(&s->lead, mean, variance, of->x.c);
    s->least = score_least32(of->at.low, s->least);
    if (job->out.mean && !v->idle)
        job->out.mean[v->n * job->c + of->x.c] = mean;
    if (job->out.std && !v->idle)
        job->out.std[v->n * job->c + of->x.c] = sqrt(variance);
}

/* Step: the sums of rows m .. m + LANE_ROWS - 1 over the lane's classes, where P is 0. */
SCORE_FN void lane_rows(const lane_view *v, lane_state *s, int lane, int m, const int G) {
    const score_job *job = v->job;
    rows_begin(s, LANE_ROWS);
    SCORE_ROLLED
    for (int r = 0; r < v->rounds; r++) {
        lane_column x = column_load(v, lane, r, 0);
        float half[4] = {0.0f, 0.0f, 0.0f, 0.0f}, gates[4] = {0.0f, 0.0f, 0.0f, 0.0f}, one = x.c < job->c ? 1.0f : 0.0f;
        if (G) {
            get4(half, lane_info(v, lane, r, 0));
            get4(gates, lane_info(v, lane, r, 1));
        }
        SCORE_UNROLL
        for (int i = 0; i < LANE_ROWS; i++)
            if (m + i < job->m)
                row_add(s->rows + i * LANE_ROW_SUMS, lane_value(v, m + i, x.at), one, half, gates, G);
    }
}

/* Whether a row's sum leaves no doubt that it is a distribution, together with its smallest value. */
SCORE_FN bool row_sure(double sum, float least) { return sum > 0.9991 && sum < 1.0009 && least >= 0.0f; }

/* Weights of member m from its row's sums, and what they add to psi(z) and to the extremes. */
SCORE_FN void member_weights(const lane_view *v, lane_state *s, int m, const double *sums, const double *zbar,
                             bool counts) {
    const score_job *job = v->job;
    float out[8] = {0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f};
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++)
        if (k < job->gated) {
            double inverse = v->inverse_zbar[k], direct = sums[5 + k];
            float z = (float)(sums[1 + k] * inverse), y = 1.0f + z;
            bool far = z < -0.5f; /* The difference has lost digits. */
            if (far) {
                y = (float)(direct * inverse);
                z = (float)((direct - zbar[k]) * inverse);
            }
            if (!(zbar[k] > SCORE_FAINT) || (far && !(direct > SCORE_FAINT))) {
                s->large |= counts;
                y = 1.0f;
                z = 0.0f;
            }
            float over = score_over32(y), lambda, phi, psi;
            lane_bregman(y, z, &lambda, &phi, &psi);
            out[k] = -z * over;
            out[5 + k] = over;
            if (counts) {
                s->psi[k] += (double)psi;
                s->over_low[k] = score_least32(over, s->over_low[k]);
                s->over_high[k] = score_most32(over, s->over_high[k]);
            }
        }
    if (counts) {
        put4(v->weights + 8 * m, out);
        put4(v->weights + 8 * m + 4, out + 4);
    }
}

/* Before the members' weights are computed: clears their sums, and sets the weights of padding members. */
SCORE_FN void weights_begin(const lane_view *v, lane_state *s, int lane) {
    const score_job *job = v->job;
    SCORE_UNROLL
    for (int k = 0; k < SCORE_GATES; k++) {
        s->psi[k] = 0.0;
        s->over_low[k] = 1e30f;
        s->over_high[k] = 0.0f;
    }
    for (int m = job->m + lane; m < job->padded; m += v->lanes) {
        const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        put4(v->weights + 8 * m, none);
        put4(v->weights + 8 * m + 4, none);
    }
}

/* Step: the weights of members m .. m + LANE_ROWS - 1 from `rows`, one member for each of the first lanes. */
SCORE_FN void lane_weights(const lane_view *v, lane_state *s, const float *rows, int lane, int m) {
    const score_job *job = v->job;
    int together = v->lanes < LANE_ROWS ? v->lanes : LANE_ROWS;
    double zbar[SCORE_GATES] = {s->first[2], s->first[3], s->first[4]};
    SCORE_ROLLED
    for (int from = 0; from < LANE_ROWS; from += together) {
        int i = from + (lane & (together - 1));
        double sums[LANE_ROW_SUMS];
        SCORE_UNROLL
        for (int j = 0; j < LANE_ROW_SUMS; j++) {
            float low = i & 1 ? rows[LANE_ROW_SUMS + j] : rows[j];
            float high = i & 1 ? rows[3 * LANE_ROW_SUMS + j] : rows[2 * LANE_ROW_SUMS + j];
            sums[j] = (double)(i & 2 ? high : low);
        }
        bool own = lane < together && m + i < job->m;
        member_weights(v, s, own ? m + i : 0, sums, zbar, own);
    }
}

#endif
