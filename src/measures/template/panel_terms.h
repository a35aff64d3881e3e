/* panel_terms.h - the second pass: logarithms, the gates' sums and the pairs of every column. The algebra is that of
 * entropy.h, and EPJS follows from EU and from one more convex function of every pair:
 *
 *     phi(r) = (1 + r) log(1 + r) - r,   x_m = mean (1 + r_m)
 *     JS(x_i, x_j) = mean [(phi(r_i) + phi(r_j)) / 2 - phi((r_i + r_j) / 2)]
 *     EPJS = (1 - 1/M) EU - 2/M^2 sum_c mean(c) sum_{i<j} phi((r_i(c) + r_j(c)) / 2)
 *
 * for the members of any set, x_m = p_m or q_m. The r_m have mean 0, so the second term is about half of the first and
 * its relative accuracy is kept down to members that are nearly the same. panel_integral.h serves many members. */

/* What the second pass knows of a column. */
typedef struct P(column) {
    size_t j;
    vr mean, rest; /* mu as a real and the rest of it */
    vr inverse;    /* 1/mu; where no member has probability a large number: what it gives counts for nothing */
    vri empty;
    vr phi, psi; /* means over members */
} P(column);

INLINE P(column) P(column_of)(size_t j, vr mean, vr rest) {
    return (P(column)){.j = j,
                       .mean = mean,
                       .rest = rest,
                       .empty = mean < (PANEL_REAL)PANEL_NONE,
                       .inverse = vr_reciprocal(vr_max(mean, vr_set((PANEL_REAL)PANEL_NONE)))};
}

/* phi and psi; p lambda is left at `keep` unless it is NULL. `log`: log p of the first member, where the input is
 * logits, the next `step` further; else NULL. */
INLINE void P(column_logs)(P(source) of, size_t M, P(column) * at, vr *keep, const vr *log, size_t step) {
    vr inverse = at->inverse, rest = at->rest * inverse;
    vr least = inverse * (PANEL_REAL)TINY, lambda, psi;
    vr both_total = vr_set(0), psi_total = vr_set(0);
#if VG_PANEL_DOUBLE
    vr log_mu = log ? vm_log(vr_max(at->mean, vr_set(PANEL_NONE))) : vr_set(0);
#else
    (void)log;
    (void)step;
#endif
    for (size_t m = 0; m < M;) {
        size_t stop = M - m < 64 ? M : m + 64; /* Sums in float are kept short to limit rounding. */
        vr both = vr_set(0), sum_psi = vr_set(0);
        for (; m < stop; m++) {
            vr p = P(member)(of, m), y = vr_max(p * inverse, least);
            vr r = vr_rounded((p - at->mean) * inverse - rest);
            P(bregman)(y, r, &lambda, &psi);
#if VG_PANEL_DOUBLE
            if (log) { /* Far from mu the logit itself is more accurate, and it does not underflow. */
                vl far = ~(vd_abs(r) < 0.25) & ~at->empty;
                lambda = vd_select(far, log[m * step] - log_mu, lambda);
                psi = vd_select(far, r - lambda, psi);
            }
#endif
            both += r * lambda;
            sum_psi += psi;
            if (keep)
                keep[m] = p * lambda;
        }
        both_total += vr_rounded(both);
        psi_total += vr_rounded(sum_psi);
    }
    const PANEL_REAL share = (PANEL_REAL)(1.0 / (double)M);
    at->phi = (both_total - psi_total) * share;
    at->psi = psi_total * share;
}

/* Adds a column's share of TU to the ungated set's sums; `sum`: the mean in double. */
INLINE void P(add_entropy)(P(parts) * part, const P(column) * at, const P(acc) * sum) {
    vr e, rest;
    P(log_parts)(at->mean, sum, &e, &rest);
    P(add_product)(&part->exponent, e, sum);
    part->rest += at->mean * rest;
}
/* The same for EU and its reverse. */
INLINE void P(add_divergences)(P(parts) * part, const P(column) * at) {
    part->eu += vr_rounded(at->mean * at->phi);
    part->reverse += vr_rounded(at->mean * at->psi);
}

/* Floors of cross terms, as floored() of entropy.h: mean_m log(max(x, floor)/x'), and mean_m x log(x'/max(x, floor))
 * into *diagonal. `set`: 0, or 1 + the gate. */
static __attribute__((noinline)) P(acc) P(floored)(const P(panel) * t, size_t j, size_t set, P(acc) * diagonal) {
    vd floor = vd_set(t->job->options.floor);
    bool distinct = t->job->options.pairs == VG_PAIRS_DISTINCT;
    const double inverse = 1.0 / (double)t->M;
    P(acc) out;
    for (int h = 0; h < PANEL_HALVES; h++) {
        vd gate = set ? P(half)(t->gamma[j * t->K + set - 1], h) * t->inverse_zbar[set - 1].h[h] : vd_set(1.0);
        floor_sums f = {.product = vd_set(1.0)};
        for (size_t m = 0; m < t->M; m++)
            floor_add_member(&f, m, P(half)(P(member)(t->of, m), h),
                             set ? gate * P(half)(t->over[(set - 1) * t->M + m], h) : vd_set(1.0), floor, distinct);
        diagonal->h[h] += f.diagonal * inverse;
        out.h[h] = (f.sum + vm_log(f.product)) * inverse;
    }
    return out;
}

/* Subtracts the floors of set s at column j; `mean`: the set's mean there. */
static __attribute__((noinline)) void P(take_floors)(P(panel) * t, size_t j, size_t s, const P(acc) * mean) {
    P(acc) floors = P(floored)(t, j, s, &t->sets[s].diagonal);
    for (int h = 0; h < PANEL_HALVES; h++)
        t->sets[s].floors.h[h] += mean->h[h] * floors.h[h];
}

/* The sum over pairs of phi(h_i + h_j), from half the members' ratios. Lanes in which every ratio is small take the
 * power series, whose relative error is 4e-7; the others take phi from the logarithm, whose error is then small beside
 * the sum. Each lane decides for itself, so that a sample's value does not depend on its neighbours. */
INLINE vr P(pair_sum_of)(const vr *h, size_t M, bool near) {
    vr sum = vr_set(0);
    for (size_t i = 1; i < M; i++)
        for (size_t k = 0; k < i; k++)
            sum += vr_rounded(near ? P(phi_series)(h[i] + h[k]) : P(phi_far)(h[i] + h[k]));
    return sum;
}
static vr P(pair_sum)(const vr *h, size_t M) {
    vr most = vr_set(0);
    for (size_t m = 0; m < M; m++)
        most = vr_max(most, vr_max(h[m], -h[m]));
    vri small = most < (PANEL_REAL)PANEL_NEAR;
    if (M <= 2) /* the two ratios cancel */
        return vr_set(0);
    if (!vri_any(small))
        return P(pair_sum_of)(h, M, false);
    if (!vri_any(~small))
        return P(pair_sum_of)(h, M, true);
    return P(choose)(small, P(pair_sum_of)(h, M, true), P(pair_sum_of)(h, M, false));
}

/* r_m of the column's members: x_m = mu (1 + r_m). */
INLINE void P(ratios)(vr *r, const P(panel) * t, const P(column) * at) {
    vr rest = at->rest * at->inverse;
    for (size_t m = 0; m < t->M; m++)
        r[m] = vr_rounded((P(member)(t->of, m) - at->mean) * at->inverse - rest);
}

static void P(ungated_pairs)(P(panel) * t, const P(column) * at, vr *r) {
    vr half[PANEL_PAIRS];
    P(ratios)(r, t, at);
    for (size_t m = 0; m < t->M; m++)
        half[m] = (PANEL_REAL)0.5 * r[m];
    if (t->job->out.epjs)
        t->sets[0].part.pairs +=
            P(choose)(at->empty, vr_set(0), vr_rounded(t->mu_high[at->j] * P(pair_sum)(half, t->M)));
}

/* The gated members' ratios to their mean: (1 + r)(1 + omega)/(1 + u) - 1, u = U/mu, by differences alone. */
static void P(gated_pairs)(P(panel) * t, const vr *r, size_t k, vr u, vr q) {
    vr own[PANEL_PAIRS], over = (PANEL_REAL)0.5 * vr_reciprocal(1 + u);
    const vr *omega = t->omega + k * t->M;
    for (size_t m = 0; m < t->M; m++)
        own[m] = ((r[m] - u) + (omega[m] + omega[m] * r[m])) * over;
    t->sets[1 + k].part.pairs += vr_rounded(q * P(pair_sum)(own, t->M));
}

/* U and T of the current column at gate k, over M. */
INLINE void P(gate_sums)(const P(panel) * t, size_t k, bool cross, const int G, vr *shift, vr *both) {
    const vr *omega = t->omega + k * t->M;
    size_t M = t->M;
    UNROLL
    for (int g = 0; g < G; g++)
        shift[g] = both[g] = vr_set(0);
    for (size_t m = 0; m < M; m++) {
        vr p = P(member)(t->of, m), q = cross ? t->dev[m] : p;
        UNROLL
        for (int g = 0; g < G; g++) {
            vr w = omega[(size_t)g * M + m];
            shift[g] += w * p;
            if (cross)
                both[g] += w * q;
        }
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        shift[g] = vr_rounded(shift[g] * (PANEL_REAL)(1.0 / (double)M));
        both[g] = vr_rounded(both[g] * (PANEL_REAL)(1.0 / (double)M));
    }
}

/* One gate of a column, from its U and T. */
INLINE void P(gate_terms)(P(panel) * t, const P(column) * at, size_t k, vr shift, vr cross, const vr *r, bool logs) {
    size_t j = at->j;
    P(set) *set = &t->sets[1 + k];
    vr gamma = t->gamma[j * t->K + k], u = P(choose)(at->empty, vr_set(0), shift * at->inverse);
    P(acc) mean;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        mean.h[h] =
            vd_max(P(half)(gamma, h) * t->inverse_zbar[k].h[h] * (t->mu[j].h[h] + P(half)(shift, h)), vd_set(0.0));
    vr q = P(narrow)(mean), e, rest;
    t->shift[k] = shift;
    P(log_parts)(q, &mean, &e, &rest);
    P(add_product)(&set->part.exponent, e, &mean);
    set->part.rest += q * rest;
    if (!logs)
        return;
    vr g = vr_rounded(gamma * t->inverse_real[k]), own = g * t->mu_high[j];
    vr moved = vr_rounded(own * P(phi)(u));
    set->part.eu += vr_rounded((own * at->phi - moved) + g * cross);
    set->part.reverse += vr_rounded(q * at->psi + moved);
    if (t->job->need_gated_reverse && t->extremes && !t->job->options.logits &&
        vri_any((t->low[j] * g * t->over_low[k] < (PANEL_REAL)t->job->options.floor) & ~at->empty))
        P(take_floors)(t, j, 1 + k, &mean);
    if (t->job->out.gepjs && !t->many)
        P(gated_pairs)(t, r, k, u, q);
}

INLINE void P(column_gated)(P(panel) * t, const P(column) * at, const vr *r, bool logs) {
    vr shift[4], cross[4];
    size_t k = 0;
    for (; k + 3 <= t->K; k += 3) {
        P(gate_sums)(t, k, logs, 3, shift, cross);
        for (size_t g = 0; g < 3; g++)
            P(gate_terms)(t, at, k + g, shift[g], cross[g], r, logs);
    }
    for (; k < t->K; k++) {
        P(gate_sums)(t, k, logs, 1, shift, cross);
        P(gate_terms)(t, at, k, shift[0], cross[0], r, logs);
    }
}

/* The terms of column j, which becomes the current one. */
static void P(column_terms)(P(panel) * t, size_t j) {
    const vg_kernel_job *job = t->job;
    vr r[PANEL_PAIRS];
    P(column) at = P(column_of)(j, t->mu_high[j], t->mu_low[j]);
    t->of = P(column_source)(t, j);
    P(add_entropy)(&t->sets[0].part, &at, &t->mu[j]);
    bool keep = t->K && (job->need_gated_logs || (job->out.gepjs && !t->many));
    if (t->logs) {
        const vr *log = t->log + (j - t->from);
        if (VG_PANEL_DOUBLE && job->options.logits)
            keep ? P(column_logs)(t->of, t->M, &at, t->dev, log, t->block)
                 : P(column_logs)(t->of, t->M, &at, NULL, log, t->block);
        else
            keep ? P(column_logs)(t->of, t->M, &at, t->dev, NULL, 0) : P(column_logs)(t->of, t->M, &at, NULL, NULL, 0);
        P(add_divergences)(&t->sets[0].part, &at);
        if (job->need_reverse && !job->options.logits &&
            vri_any((t->low[j] < (PANEL_REAL)job->options.floor) & ~at.empty))
            P(take_floors)(t, j, 0, &t->mu[j]);
    }
    if (t->pairs && !t->many)
        P(ungated_pairs)(t, &at, r);
    if (t->K)
        keep ? P(column_gated)(t, &at, r, true) : P(column_gated)(t, &at, r, false);
    if (t->many)
        P(column_integral)(t, j);
}

/* Moves the sums of the latest columns to those in double. */
INLINE void P(fold_parts)(P(set) * set, P(parts) * part, bool logs) {
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        set->tu.h[h] -= part->exponent.h[h] * VG_LN2 + P(half)(part->rest, h);
    part->exponent = (P(acc)){{{0}}};
    part->rest = vr_set(0);
    if (!logs)
        return;
    P(add)(&set->eu, part->eu);
    P(add)(&set->reverse, part->reverse);
    P(add)(&set->pairs, part->pairs);
    part->eu = part->reverse = part->pairs = vr_set(0);
}

/* The address of the block after this one, at member 0: of the same sample, or of the next; NULL: none. */
INLINE const char *P(next_block)(const P(panel) * t) {
    const vg_predictions *in = &t->job->in;
    bool same = t->from + t->block < t->J;
    if (t->direct == 0 || (!same && t->first + 1 >= in->n))
        return NULL;
    return P(row_at)(in, t->first + (same ? 0 : 1), 0) + (same ? t->from + t->block : 0) * sizeof(vr);
}

/* Prefetches one column of the block after this one. Rows are too short for the hardware prefetcher. */
INLINE void P(prefetch_column)(const P(panel) * t, const char *at) {
    ptrdiff_t step = t->job->in.stride_m * (ptrdiff_t)sizeof(PANEL_REAL);
    for (size_t m = 0; m < t->M; m++, at += step)
        __builtin_prefetch(at, 0, 3);
}

/* Both passes over the columns of a block at once, for TU, AU and EU without gates: a column is in the first-level
 * cache for the second. The same arithmetic in the same order as block_moments and block_terms. */
INLINE void P(block_plain)(P(panel) * t, bool spread) {
    size_t end = t->from + t->block < t->J ? t->from + t->block : t->J, M = t->M, direct = t->direct;
    const char *next = P(next_block)(t);
    const double inverse = 1.0 / (double)M;
    P(source) of = P(column_source)(t, t->from);
    P(parts) part = t->sets[0].part; /* in registers */
    for (size_t j = t->from; j < end; j++, of.at += sizeof(vr)) {
        if (j == direct)
            of = P(column_source)(t, j);
        if (next)
            P(prefetch_column)(t, next + (j - t->from) * sizeof(vr));
        P(moments) o = P(column_mean)(of, M, inverse, false);
        if (spread) {
            t->of = of;
            P(keep_column)(t, j, &o, false);
        }
        P(column) at = P(column_of)(j, o.mean, o.rest);
        P(add_entropy)(&part, &at, &o.sum);
        P(column_logs)(of, M, &at, NULL, NULL, 0);
        P(add_divergences)(&part, &at);
        if (j % PANEL_PART == PANEL_PART - 1 || j + 1 == t->J)
            P(fold_parts)(&t->sets[0], &part, true);
    }
    t->sets[0].part = part;
}
static VG_NOINLINE void P(block_entropies)(P(panel) * t) { P(block_plain)(t, false); }
static VG_NOINLINE void P(block_spreads)(P(panel) * t) { P(block_plain)(t, true); }

static void P(block_terms)(P(panel) * t) {
    size_t end = t->from + t->block < t->J ? t->from + t->block : t->J;
    const char *next = P(next_block)(t);
    for (size_t j = t->from; j < end; j++) {
        if (next)
            P(prefetch_column)(t, next + (j - t->from) * sizeof(vr));
        P(column_terms)(t, j);
        for (size_t s = 0; (j % PANEL_PART == PANEL_PART - 1 || j + 1 == t->J) && s <= t->K; s++)
            P(fold_parts)(&t->sets[s], &t->sets[s].part, t->logs);
    }
}
