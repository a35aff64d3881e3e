/* panel_moments.h - the first pass: mean, spread and extremes of every column, the two leading classes, the gates and
 * every member's normaliser.
 *
 * Means are sums in double, exact for floats: members that agree give their value and a variance of exactly 0, and
 * classes with the same members tie. Deviations are taken from the mean in two parts, so that they keep their relative
 * accuracy in float. */

/* Members of a panel for whose number and gates the passes are compiled apart, or 0. With few elements in a sample
 * loops over members and gates take as long to begin and end as their bodies. */
INLINE size_t P(unrolled)(const P(panel) * t) {
    if (VG_PANEL_DOUBLE || t->across)
        return 0;
    return t->M == 1 && t->K == 1 ? 1 : t->K == 3 && t->M <= 3 && t->extremes ? t->M : 0;
}

/* The two largest means among the columns of the block; ties go to the lower index, so that lanes past the last class,
 * whose mean is 0, never lead. A panel of samples is one block, which begins them. The variances of one member are 0.
 */
INLINE void P(half_leaders)(P(panel) * t, const int h, const bool across, const bool spread) {
    size_t end = t->from + t->block < t->end ? t->from + t->block : t->end;
    vd mu1 = vd_set(-1.0), mu2 = mu1, var1 = {0}, var2 = {0};
    vl first = {0}, second = {0}, at = (vl){0} + (int64_t)t->from;
    if (across) {
        mu1 = t->mu1[h], mu2 = t->mu2[h];
        first = t->first1[h], second = t->second1[h];
    }
    for (int i = 0; across && i < VG_LANES; i++)
        at[i] = (int64_t)(t->from * PANEL_LANES + (size_t)(h * VG_LANES + i));
    for (size_t j = t->from; j < end; j++) {
        vd mu = t->mu[j].h[h], var = spread ? P(half)(t->variance[j], h) : vd_set(0.0);
        vdm best = vd_above(mu, mu1), next = vd_above(mu, mu2);
        second = vl_pick(best, first, vl_pick(next, at, second));
        first = vl_pick(best, at, first);
        if (spread) {
            var2 = (vd)vl_pick(best, (vl)var1, vl_pick(next, (vl)var, (vl)var2));
            var1 = (vd)vl_pick(best, (vl)var, (vl)var1);
        }
        mu2 = vd_max(mu2, vd_min(mu1, mu));
        mu1 = vd_max(mu1, mu);
        at += across ? PANEL_LANES : 1;
    }
    t->mu1[h] = mu1;
    t->mu2[h] = mu2;
    t->var1[h] = var1;
    t->var2[h] = var2;
    t->first1[h] = first;
    t->second1[h] = second;
}
static VG_NOINLINE void P(block_leaders)(P(panel) * t) {
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        t->across   ? P(half_leaders)(t, h, true, false)
        : t->M == 1 ? P(half_leaders)(t, h, false, false)
                    : P(half_leaders)(t, h, false, true);
}

/* Adds `count` columns of a row to its sum and to the OR of all members. */
INLINE void P(add_row)(vr *to, vri *sign, const char *row, size_t count) {
    vr sum = *to, other = vr_set(0), a, b; /* two sums, because an addition takes several cycles */
    size_t j = 0;
    for (; j + 2 <= count; j += 2) {
        memcpy(&a, row + j * sizeof a, sizeof a);
        memcpy(&b, row + (j + 1) * sizeof b, sizeof b);
        sum += a;
        other += b;
        *sign |= (vri)a | (vri)b;
    }
    if (j < count) {
        memcpy(&a, row + j * sizeof a, sizeof a);
        sum += a;
        *sign |= (vri)a;
    }
    *to = sum + other;
}

/* Sums of rows and the OR of all members, for the check of the rows. */
static VG_NOINLINE void P(block_rows)(P(panel) * t) {
    size_t count = t->end - t->from < t->block ? t->end - t->from : t->block;
    size_t direct = t->direct > t->from ? t->direct - t->from : 0;
    vri sign = t->sign;
    direct = direct < count ? direct : count;
    for (size_t m = 0; m < t->M; m++) {
        if (direct)
            P(add_row)(&t->rows[m], &sign, P(row_at)(&t->job->in, t->first, m) + t->from * sizeof(vr), direct);
        P(add_row)(&t->rows[m], &sign, (const char *)(t->x + m * t->block + direct), count - direct);
    }
    t->sign = sign;
}

/* The factors of column j's classes, where they have some. */
static vr P(column_factor)(const P(panel) * t, size_t j) {
    const double *factor = t->job->class_k;
    vr out = vr_set(t->across ? 1 : (PANEL_REAL)factor[j]);
    for (size_t i = 0; t->across && i < PANEL_LANES && j * PANEL_LANES + i < t->C; i++)
        out[i] = (PANEL_REAL)factor[j * PANEL_LANES + i];
    return out;
}

/* What the options say of gates; sigma: the factor of the population's spread. */
typedef struct P(gating) {
    bool inside;
    PANEL_REAL eps, sigma;
} P(gating);

INLINE P(gating) P(gating_of)(const vg_kernel_job *job) {
    const vg_score_options *o = &job->options;
    bool sample = o->sigma_gate == VG_SIGMA_SAMPLE && job->m > 1;
    double M = (double)job->m;
    return (P(gating)){o->gate_eps_form == VG_GATE_EPS_INSIDE, (PANEL_REAL)o->eps,
                       sample ? (PANEL_REAL)sqrt(M / (M - 1)) : 1};
}

/* Gamma at setting k of classes with these means, spreads and factors of k. */
INLINE vr P(gate_of)(P(gating) by, PANEL_REAL k, vr factor, vr mu, vr sigma) {
    vr gate = k * factor, spread = sigma * by.sigma;
    vr below = by.inside ? vr_max(gate, vr_set((PANEL_REAL)1e-3)) * (spread + by.eps) : gate * spread + by.eps;
    vr gamma = P(gate)(mu * vr_reciprocal(vr_max(below, vr_set((PANEL_REAL)1e-37))));
    return by.inside ? vr_max(gamma, vr_set(by.eps)) : gamma;
}

/* Gamma of column j at every k. M and K are those of the panel, here and below: constants where it has few members
 * (unrolled). */
INLINE void P(column_gates)(P(panel) * t, size_t j, P(gating) by, const size_t M, const size_t K) {
    vr sigma = M == 1 ? vr_set(0) : vr_sqrt(t->variance[j]), mu = t->mu_high[j], *gamma = t->gamma + j * K;
    vr factor = t->job->class_k ? P(column_factor)(t, j) : vr_set(1);
    const double *setting = t->job->gates;
    for (size_t k = 0; k < K; k++)
        gamma[k] = P(gate_of)(by, (PANEL_REAL)setting[k], factor, mu, sigma);
}

/* The share of column j, the current one, in Zbar and in the members' deviations from it, which are in t->dev. */
INLINE void P(column_normalisers)(P(panel) * t, size_t j, const size_t M, const size_t K) {
    const vr *gamma = t->gamma + j * K;
    for (size_t k = 0; k < K; k++)
        P(add_product)(&t->zbar[k], gamma[k], &t->mu[j]);
    size_t k = 0;
    for (; M > 1 && k + 3 <= K; k += 3) {
        vr *sum = t->zsum + k * M, g0 = gamma[k], g1 = gamma[k + 1], g2 = gamma[k + 2];
        for (size_t m = 0; m < M; m++) {
            vr d = t->dev[m];
            sum[m] += g0 * d;
            sum[M + m] += g1 * d;
            sum[2 * M + m] += g2 * d;
        }
    }
    for (; M > 1 && k < K; k++)
        for (size_t m = 0; m < M; m++)
            t->zsum[k * M + m] += gamma[k] * t->dev[m];
}

/* Moves the deviations of the latest columns to the sums of the block, which the first ones begin anew: equal classes
 * are rounded alike, and sums in float are kept short. */
INLINE void P(fold_normalisers)(P(panel) * t, bool first, const size_t M, const size_t K) {
    for (size_t i = 0; M > 1 && i < K * M; i++) {
        t->zblock[i] = first ? t->zsum[i] : t->zblock[i] + t->zsum[i];
        t->zsum[i] = vr_set(0);
    }
}

/* The sums over all columns of a panel of samples for Zbar at gate k. */
INLINE P(acc) P(samples_zbar)(const P(panel) * t, size_t k, const size_t K) {
    P(acc) sum = {{{0}}};
    for (size_t j = 0; j < t->J; j++)
        P(add_product)(&sum, t->gamma[j * K + k], &t->mu[j]);
    return sum;
}

/* The same for the deviations of member m at G gates from k on. */
INLINE void P(samples_deviation)(P(panel) * t, size_t k, size_t m, const int G, const size_t M, const size_t K) {
    const vr *x = t->x + m * t->block, *gamma = t->gamma + k;
    vr total[3] = {vr_set(0), vr_set(0), vr_set(0)};
    for (size_t j = 0; j < t->J;) { /* Sums in float are kept short: equal classes are rounded alike. */
        size_t stop = t->J - j < PANEL_PART ? t->J : j + PANEL_PART;
        vr sum[3] = {vr_set(0), vr_set(0), vr_set(0)};
        for (; j < stop; j++, gamma += K) {
            vr d = (x[j] - t->mu_high[j]) - t->mu_low[j];
            UNROLL
            for (int g = 0; g < G; g++)
                sum[g] += gamma[g] * d;
        }
        UNROLL
        for (int g = 0; g < G; g++)
            total[g] += vr_rounded(sum[g]);
    }
    UNROLL
    for (int g = 0; g < G; g++)
        t->zsum[(k + (size_t)g) * M + m] = total[g];
}

/* The sums stay in registers over all columns: a store for each column would take longer than the arithmetic. */
INLINE void P(samples_normalisers)(P(panel) * t, const size_t M, const size_t K) {
    for (size_t k = 0; k < K; k++)
        t->zbar[k] = P(samples_zbar)(t, k, K);
    for (size_t m = 0; M > 1 && m < M; m++) {
        size_t k = 0;
        for (; k + 3 <= K; k += 3)
            P(samples_deviation)(t, k, m, 3, M, K);
        for (; k < K; k++)
            P(samples_deviation)(t, k, m, 1, M, K);
    }
}

/* Variance of the current column; the deviations are left in t->dev where `gated`. */
INLINE vr P(column_variance)(P(panel) * t, vr mean, vr rest, bool gated, const size_t M) {
    if (M == 1)
        return vr_set(0);
    const PANEL_REAL inverse = (PANEL_REAL)(1.0 / (double)M);
    vr off = vr_set(0), squares = vr_set(0);
    for (size_t m = 0; m < M;) {
        size_t stop = M - m < PANEL_MEMBERS ? M : m + PANEL_MEMBERS;
        vr square = vr_set(0);
        for (; m < stop; m++) {
            vr d = P(member)(t->of, m) - mean;
            if (!VG_PANEL_DOUBLE)
                d -= rest;
            else
                off += d;
            square += d * d;
            if (gated)
                t->dev[m] = d;
        }
        squares += vr_rounded(square);
    }
    vr variance = squares * inverse;
    if (VG_PANEL_DOUBLE)
        variance = vr_max(variance - (off * inverse) * (off * inverse), vr_set(0));
    return vr_rounded(variance);
}

/* The mean of a column in double, and as a real and the rest of it; the smallest member where `extremes`. */
typedef struct P(moments) {
    P(acc) sum;
    vr mean, rest, low;
} P(moments);

INLINE P(moments) P(column_mean)(P(source) of, const size_t M, double inverse, bool extremes) {
    P(moments) o; /* not an initialiser: see column_of */
    o.sum = (P(acc)){{{0}}};
    o.rest = vr_set(0);
    o.low = P(member)(of, 0);
    vr high = o.low;
    for (size_t m = 0; m < M; m++) {
        P(add_member)(&o.sum, of, m);
        if (extremes || VG_PANEL_DOUBLE)
            o.low = vr_min(P(member)(of, m), o.low);
        if (VG_PANEL_DOUBLE)
            high = vr_max(P(member)(of, m), high);
    }
#if VG_PANEL_DOUBLE
    (void)inverse;
    o.sum.h[0] = vd_select(o.low == high, o.low, o.sum.h[0] / (double)M); /* sums of doubles are not exact */
    o.mean = o.sum.h[0];
#else
    P(acc) high_part = o.sum, low_part = {{{0}}};
    UNROLL
    for (int h = 0; M > 1 && h < 2; h++) { /* one member is a float */
        o.sum.h[h] = vd_quotient(o.sum.h[h], (double)M, inverse);
        high_part.h[h] = (vd)((vl)o.sum.h[h] & ~0x1fffffffLL); /* a float, unless it is tiny */
        low_part.h[h] = o.sum.h[h] - high_part.h[h];
    }
    o.mean = P(narrow)(high_part);
    o.rest = M > 1 ? P(narrow)(low_part) : vr_set(0);
#endif
    return o;
}

/* Keeps the mean of column j, the current one, and its spread. */
INLINE void P(keep_column)(P(panel) * t, size_t j, const P(moments) * o, bool gated, const size_t M) {
    t->mu[j] = o->sum;
    t->mu_high[j] = o->mean;
    t->mu_low[j] = o->rest;
    t->variance[j] = P(column_variance)(t, o->mean, o->rest, gated, M);
    if (!t->job->figures)
        return;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        t->total.h[h] += o->sum.h[h] * (1.0 - o->sum.h[h]);
    t->variance_part += t->variance[j];
    if (j % PANEL_PART == PANEL_PART - 1 || j + 1 == t->J) {
        P(add)(&t->variance_sum, t->variance_part);
        t->variance_part = vr_set(0);
    }
}

/* Mean, spread and extremes of column j, which becomes the current one. */
INLINE void P(column_moments)(P(panel) * t, size_t j, bool gated, bool extremes, const size_t M) {
    t->of = P(column_source)(t, j);
    P(moments) o = P(column_mean)(t->of, M, 1.0 / (double)M, extremes);
    P(keep_column)(t, j, &o, gated, M);
    if (extremes)
        t->low[j] = o.low;
}

/* The same of all columns of the block; of a panel across classes also their gates where `gated`. */
INLINE void P(columns_moments)(P(panel) * t, bool gated, bool extremes, const size_t M, const size_t K) {
    size_t end = t->from + t->block < t->end ? t->from + t->block : t->end;
    const P(gating) by = P(gating_of)(t->job);
    for (size_t j = t->from; j < end; j++) {
        P(column_moments)(t, j, gated, extremes, M);
        if (gated) {
            P(column_gates)(t, j, by, M, K);
            P(column_normalisers)(t, j, M, K);
            if ((j - t->from) % PANEL_PART == PANEL_PART - 1 || j + 1 == end)
                P(fold_normalisers)(t, j < t->from + PANEL_PART, M, K);
        }
    }
}

/* The same of a panel of samples, gated. Moments and gates are long chains of dependent operations, which the processor
 * overlaps with those of the next columns where one loop has no more than one of them. */
INLINE void P(samples_moments)(P(panel) * t, bool extremes, const size_t M, const size_t K) {
    const P(gating) by = P(gating_of)(t->job);
    for (size_t j = 0; j < t->J; j++)
        P(column_moments)(t, j, false, extremes, M);
    for (size_t j = 0; j < t->J; j++)
        P(column_gates)(t, j, by, M, K);
    P(samples_normalisers)(t, M, K);
}

/* The columns of the block. */
static VG_NOINLINE void P(block_moments)(P(panel) * t) {
    size_t M = t->M, K = t->K;
    switch (P(unrolled)(t)) {
    case 1: P(samples_moments)(t, false, 1, 1); break;
    case 2: P(samples_moments)(t, true, 2, 3); break;
    case 3: P(samples_moments)(t, true, 3, 3); break;
    default:
        if (K && !t->across)
            t->extremes ? P(samples_moments)(t, true, M, K) : P(samples_moments)(t, false, M, K);
        else if (K)
            t->extremes ? P(columns_moments)(t, true, true, M, K) : P(columns_moments)(t, true, false, M, K);
        else
            t->extremes ? P(columns_moments)(t, false, true, M, 0) : P(columns_moments)(t, false, false, M, 0);
    }
#if VG_PANEL_DOUBLE
    size_t end = t->from + t->block < t->end ? t->from + t->block : t->end;
    for (size_t j = t->from; t->job->options.logits && t->job->out.maxlogit && j < end; j++) {
        vr sum = vr_set(0);
        for (size_t m = 0; m < t->M; m++)
            sum += t->log[m * t->block + (j - t->from)];
        t->top_log = vr_max(P(choose)(P(exists)(t, j), sum, vr_set(-INFINITY)), t->top_log);
    }
#endif
    for (size_t i = 0; t->across && M > 1 && i < K * M; i++)
        t->ztotal[i] += P(across_sum)(t->zblock[i]);
}

/* The sum over lanes in every lane of an across panel; another panel's sums are complete. */
INLINE P(acc) P(complete)(const P(panel) * t, P(acc) a) {
    if (!t->across)
        return a;
    double sum = 0;
    for (int h = 0; h < PANEL_HALVES; h++)
        for (int i = 0; i < VG_LANES; i++)
            sum += a.h[h][i];
    for (int h = 0; h < PANEL_HALVES; h++)
        a.h[h] = vd_set(sum);
    return a;
}

/* Z_m itself, for lanes in which it is so far below its mean that the deviation form has lost digits. */
static __attribute__((noinline)) P(acc) P(normaliser)(const P(panel) * t, size_t k, size_t m) {
    P(acc) sum = {{{0}}};
    for (size_t j = 0; j < t->J; j++) {
        vr x = t->across ? P(fetch_value)(t, m, j) : t->x[m * t->block + j];
        P(acc) gamma = P(widen)(t->gamma[j * t->K + k]), own = P(widen)(x);
        for (int h = 0; h < PANEL_HALVES; h++)
            sum.h[h] += gamma.h[h] * own.h[h];
    }
    return P(complete)(t, sum);
}

/* Z_m/Zbar itself in lanes in which it is low, at gate k; z is 1 less. */
static VG_NOINLINE void P(low_weight)(const P(panel) * t, size_t k, size_t m, vr *z, vr *y) {
    vri low = *z < (PANEL_REAL)-0.5;
    if (!vri_any(low))
        return;
    P(acc) ratio = P(normaliser)(t, k, m);
    for (int h = 0; h < PANEL_HALVES; h++)
        ratio.h[h] *= t->inverse_zbar[k].h[h];
    *y = P(choose)(low, P(narrow)(ratio), *y);
    *z = P(choose)(low, *y - 1, *z);
}

/* z = Z_m/Zbar - 1 of member m at G gates from k on: omega and over; adds psi(z). The gates take every step together:
 * see gate_terms. */
INLINE void P(member_weights)(P(panel) * t, size_t k, size_t m, P(acc) * psi, const int G, const size_t M) {
    const size_t at = k * M + m;
    vr z[3], y[3], lambda[3], own[3], phi;
    vri low = {0};
    UNROLL
    for (int g = 0; g < G; g++) {
        size_t i = at + (size_t)g * M;
        vr deviation = t->across ? vr_set((PANEL_REAL)t->ztotal[i]) : t->zsum[i];
        z[g] = deviation * t->inverse_real[k + (size_t)g];
        y[g] = 1 + z[g];
        low |= z[g] < (PANEL_REAL)-0.5;
    }
    for (int g = 0; vri_any(low) && g < G; g++) {
        vr exact_z = z[g], exact_y = y[g]; /* the originals stay in registers */
        P(low_weight)(t, k + (size_t)g, m, &exact_z, &exact_y);
        z[g] = exact_z, y[g] = exact_y;
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        vr over = vr_reciprocal(y[g]);
        t->omega[at + (size_t)g * M] = -z[g] * over;
        t->over[at + (size_t)g * M] = over;
        t->over_low[k + (size_t)g] = vr_min(over, t->over_low[k + (size_t)g]);
        P(bregman)(vr_max(y[g], vr_set((PANEL_REAL)1e-30)), z[g], &lambda[g], &own[g], &phi);
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        t->lambda_z[at + (size_t)g * M] = lambda[g];
        P(add)(&psi[g], own[g]);
    }
}

/* The members' weights at G gates from k on. */
INLINE void P(some_weights)(P(panel) * t, size_t k, const int G, const size_t M) {
    P(acc) psi[3];
    UNROLL
    for (int g = 0; g < G; g++) {
        psi[g] = (P(acc)){{{0}}};
        t->over_low[k + (size_t)g] = vr_set((PANEL_REAL)1e30);
    }
    for (size_t m = 0; M > 1 && m < M; m++)
        P(member_weights)(t, k, m, psi, G, M);
    UNROLL
    for (int g = 0; g < G; g++)
        for (int h = 0; h < PANEL_HALVES; h++)
            t->psi_z[k + (size_t)g].h[h] = psi[g].h[h] * (1.0 / (double)M);
}

/* Zbar and the members' weights at every gate. */
INLINE void P(gate_weights)(P(panel) * t, const size_t M, const size_t K) {
    for (size_t k = 0; k < K; k++) {
        t->zbar[k] = P(complete)(t, t->zbar[k]);
        UNROLL
        for (int h = 0; h < PANEL_HALVES; h++)
            t->inverse_zbar[k].h[h] = 1.0 / t->zbar[k].h[h]; /* entropy.h: Zbar is not 0 */
        t->inverse_real[k] = P(narrow)(t->inverse_zbar[k]);
    }
    size_t k = 0;
    for (; k + 3 <= K; k += 3)
        P(some_weights)(t, k, 3, M);
    for (; k < K; k++)
        P(some_weights)(t, k, 1, M);
}

/* Between the passes. */
static VG_NOINLINE void P(weights)(P(panel) * t) {
    switch (P(unrolled)(t)) {
    case 1: P(gate_weights)(t, 1, 1); break;
    case 2: P(gate_weights)(t, 2, 3); break;
    case 3: P(gate_weights)(t, 3, 3); break;
    default: P(gate_weights)(t, t->M, t->K);
    }
}
