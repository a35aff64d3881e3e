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
    vr inverse;    /* 1/mu; a large number where every member is 0, whose terms are multiplied by 0 */
    vri empty;
    vr phi, psi; /* means over members */
} P(column);

INLINE P(column) P(column_of)(size_t j, vr mean, vr rest) {
    P(column) at; /* not an initialiser, for which GCC fills the whole struct with zeros by a slow instruction */
    at.j = j;
    at.mean = mean;
    at.rest = rest;
    at.empty = mean < (PANEL_REAL)PANEL_NONE;
    at.inverse = vr_reciprocal(vr_max(mean, vr_set((PANEL_REAL)PANEL_NONE)));
    at.phi = at.psi = vr_set(0);
    return at;
}

/* phi, and psi = r lambda - phi where `reverse`; p lambda is left at `keep` unless it is NULL. `log`: log p of the
 * first member, where the input is logits, the next `step` further; else NULL. */
INLINE void P(column_logs)(P(source) of, const size_t M, P(column) * at, vr *keep, const vr *log, size_t step,
                           bool reverse) {
    vr inverse = at->inverse, rest = at->rest * inverse;
    vr least = inverse * (PANEL_REAL)TINY, lambda, psi, phi;
    vr phi_total = vr_set(0), both_total = vr_set(0);
#if VG_PANEL_DOUBLE
    vr log_mu = log ? vm_log(vr_max(at->mean, vr_set(PANEL_NONE))) : vr_set(0);
#else
    (void)log;
    (void)step;
#endif
    for (size_t m = 0; m < M;) {
        size_t stop = M - m < PANEL_MEMBERS ? M : m + PANEL_MEMBERS;
        vr sum_phi = vr_set(0), both = vr_set(0);
        for (; m < stop; m++) {
            vr p = P(member)(of, m), y = vr_max(p * inverse, least);
            vr r = vr_rounded((p - at->mean) * inverse - rest);
            P(bregman)(y, r, &lambda, &psi, &phi);
#if VG_PANEL_DOUBLE
            if (log) { /* Far from mu the logit itself is more accurate, and it does not underflow. */
                vl far = ~(vd_abs(r) < 0.25) & ~at->empty;
                lambda = vd_select(far, log[m * step] - log_mu, lambda);
                phi = vd_select(far, y * lambda - r, phi);
            }
#endif
            sum_phi += vr_rounded(phi);
            lambda = vr_rounded(lambda); /* the same bits whatever else it is used for */
            if (reverse)
                both += r * lambda;
            if (keep)
                keep[m] = p * lambda;
        }
        phi_total += vr_rounded(sum_phi);
        both_total += vr_rounded(both);
    }
    const PANEL_REAL share = (PANEL_REAL)(1.0 / (double)M);
    at->phi = phi_total * share;
    at->psi = (both_total - phi_total) * share;
}

/* Adds a column's share of TU to the ungated set's sums; `sum`: the mean in double. */
INLINE void P(add_entropy)(P(parts) * part, const P(column) * at, const P(acc) * sum) {
    vr e, rest;
    P(log_parts)(at->mean, sum, &e, &rest);
    P(add_product)(&part->exponent, e, sum);
    part->rest += at->mean * rest;
}
/* The same for EU. */
INLINE void P(add_divergence)(P(parts) * part, const P(column) * at) { part->eu += vr_rounded(at->mean * at->phi); }

#define PANEL_FAR 2 /* a mean of psi above which float does not hold its absolute error */

/* Lanes whose psi float does not hold: a large mean, or a member far below it (class32.h). */
INLINE vri P(far_lanes)(const P(panel) * t, const P(column) * at) {
    vri far = at->psi > PANEL_FAR;
    if (t->extremes)
        far |= (t->low[at->j] * (PANEL_REAL)FAR_RATIO < at->mean) &
               (at->mean * (PANEL_REAL)t->C > (PANEL_REAL)FAR_SHARE);
    return far & ~at->empty;
}

/* The mean of psi in double: y = 2^e (1 + f), and psi = (y - 1) - log(1 + f) - e log 2. The sum of the exponents is
 * exact, and that of the rest is small, because the mean of y - 1 is 0. */
static VG_NOINLINE P(acc) P(exact_psi)(const P(panel) * t, const P(column) * at) {
    vr least = at->inverse * (PANEL_REAL)TINY;
    P(acc) whole = {{{0}}}, psi = {{{0}}};
    for (size_t m = 0; m < t->M;) {
        size_t stop = t->M - m < 64 ? t->M : m + 64;
        vr exponents = vr_set(0), sum = vr_set(0), exponent, part;
        for (; m < stop; m++) {
            vr y = vr_max(P(member)(t->of, m) * at->inverse, least), own = y - 1;
            P(log_parts_of)(y, own, &exponent, &part);
            exponents += exponent;
            sum += own - part;
        }
        P(add)(&whole, exponents);
        P(add)(&psi, sum);
    }
    for (int h = 0; h < PANEL_HALVES; h++)
        psi.h[h] = (psi.h[h] - whole.h[h] * VG_LN2) * (1.0 / (double)t->M);
    return psi;
}

/* The ungated set's divergence from the mean to the members. */
INLINE void P(add_reverse)(P(panel) * t, P(column) * at) {
    vr own = at->psi;
    vri far = P(far_lanes)(t, at);
    if (!VG_PANEL_DOUBLE && vri_any(far)) {
        P(column) own_column = *at; /* the original stays in registers */
        P(acc) psi = P(exact_psi)(t, &own_column), lanes = P(widen)(P(choose)(far, vr_set(1), vr_set(0)));
        for (int h = 0; h < PANEL_HALVES; h++)
            t->sets[0].floors.h[h] -= lanes.h[h] * t->mu[at->j].h[h] * psi.h[h]; /* floors are subtracted */
        t->floored = true;
        at->psi = P(choose)(far, P(narrow)(psi), own); /* for the gates */
        own = P(choose)(far, vr_set(0), own);
    }
    t->sets[0].part.reverse += vr_rounded(at->mean * own);
}

/* Floors of cross terms, as floored() of entropy.h. With x = p g over and x' = max(p, TINY) g over, log(max(x, floor) /
 * x') is log(floor / max(p, TINY)) - log g - log over where that is positive or p is below TINY, else 0: one logarithm
 * of a member serves every set. Here it is for the members of the current column. */
static VG_NOINLINE void P(floor_logs)(P(panel) * t) {
    const double log_floor = log(t->job->options.floor);
    for (size_t m = 0; m < t->M; m++) {
        vr own = P(member)(t->of, m), p = vr_max(own, vr_set((PANEL_REAL)TINY)), e, rest;
        P(log_parts_of)(p, p - 1, &e, &rest);
        for (int h = 0; h < PANEL_HALVES; h++)
            t->floor_log[m].h[h] = log_floor - (P(half)(e, h) * VG_LN2 + P(half)(rest, h));
        t->floor_least[m] = P(choose)(own < (PANEL_REAL)TINY, vr_set(-1000), vr_set(0));
    }
}

/* mean_m log(max(x, floor)/x') of set s at column j, and mean_m x log(x'/max(x, floor)) into *diagonal, which counts
 * for distinct pairs. `s`: 0, or 1 + the gate. Both are 0 in lanes whose class is empty, whatever other lanes need. */
static VG_NOINLINE P(acc) P(floored)(const P(panel) * t, size_t j, size_t s, P(acc) * diagonal) {
    bool distinct = t->job->options.pairs == VG_PAIRS_DISTINCT;
    const double inverse = 1.0 / (double)t->M;
    const size_t first = s ? (s - 1) * t->M : 0;
    vr some = P(choose)(t->mu_high[j] < (PANEL_REAL)PANEL_NONE, vr_set(0), vr_set(1));
    P(acc) out;
    for (int h = 0; h < PANEL_HALVES; h++) {
        vd gate = s ? P(half)(t->gamma[j * t->K + s - 1], h) * t->inverse_zbar[s - 1].h[h] : vd_set(1.0);
        vd log_gate = s ? vm_log(vd_max(gate, vd_set(1e-45))) : vd_set(0.0), sum = {0}, own = {0};
        for (size_t m = 0; m < t->M; m++) {
            vd term = t->floor_log[m].h[h] - log_gate;
            if (s)
                term += P(half)(t->lambda_z[first + m], h);
            term = vd_max(term, P(half)(t->floor_least[m], h));
            sum += term;
            if (distinct)
                own -=
                    P(half)(P(member)(t->of, m), h) * gate * term * (s ? P(half)(t->over[first + m], h) : vd_set(1.0));
        }
        vd share = P(half)(some, h) * inverse;
        out.h[h] = sum * share;
        diagonal->h[h] += own * share;
    }
    return out;
}

/* Subtracts the floors of set s at column j, the current one; `mean`: the set's mean there. */
static VG_NOINLINE void P(take_floors)(P(panel) * t, size_t j, size_t s, const P(acc) * mean) {
    if (t->floors_of != j)
        P(floor_logs)(t);
    t->floors_of = j;
    t->floored = true;
    P(acc) floors = P(floored)(t, j, s, &t->sets[s].diagonal);
    for (int h = 0; h < PANEL_HALVES; h++)
        t->sets[s].floors.h[h] += mean->h[h] * floors.h[h];
}

#if !VG_PANEL_DOUBLE && !defined(VG_TIER_IS_AVX512)
/* The sum over pairs of phi_far, VM_SIDE pairs side by side. */
INLINE vr P(pair_sum_far)(const vr *half, size_t M) {
    vr pairs[PANEL_PAIRS * (PANEL_PAIRS - 1) / 2], phi[VM_SIDE], sum = vr_set(0);
    size_t count = 0, p = 0;
    for (size_t i = 1; i < M; i++)
        for (size_t k = 0; k < i; k++)
            pairs[count++] = half[i] + half[k];
    for (; p + VM_SIDE <= count; p += VM_SIDE) {
        vm_phi32_side(phi, pairs + p, VM_SIDE);
        UNROLL
        for (int q = 0; q < VM_SIDE; q++)
            sum += phi[q];
    }
    for (; p < count; p++) {
        vm_phi32_side(phi, pairs + p, 1);
        sum += phi[0];
    }
    return sum;
}
#else
INLINE vr P(pair_sum_far)(const vr *half, size_t M) {
    vr sum = vr_set(0);
    for (size_t i = 1; i < M; i++)
        for (size_t k = 0; k < i; k++)
            sum += vr_rounded(P(phi_far)(half[i] + half[k]));
    return sum;
}
#endif

/* The sum over pairs of phi((r_i + r_j) / 2). Lanes in which every ratio is small take the power series of half the
 * members' ratios, whose relative error is 4e-7; the others take phi from the logarithm of half the sum of 1 + r, which
 * is accurate also where members are next to 0, and whose error is small beside the sum. Each lane decides for itself,
 * so that a sample's value does not depend on its neighbours. */
INLINE vr P(pair_sum_of)(const vr *half, size_t M, bool near) {
    vr sum = vr_set(0);
    if (!near)
        return P(pair_sum_far)(half, M);
    for (size_t i = 1; i < M; i++)
        for (size_t k = 0; k < i; k++)
            sum += vr_rounded(P(phi_series)(half[i] + half[k]));
    return sum;
}
/* Half the members' ratios, (1 + r)/2, and their range. */
typedef struct P(halves) {
    vr y[PANEL_PAIRS], low, high;
} P(halves);

INLINE P(halves) P(no_halves)(void) {
    P(halves) of; /* not an initialiser: see column_of */
    of.low = vr_set((PANEL_REAL)1e30);
    of.high = vr_set(0);
    return of;
}

INLINE void P(add_half)(P(halves) * of, size_t m, vr y) {
    of->y[m] = vr_max(y, vr_set((PANEL_REAL)1e-37));
    of->low = vr_min(of->y[m], of->low);
    of->high = vr_max(of->y[m], of->high);
}

/* Lanes in which every ratio is small. */
INLINE vri P(near_lanes)(const P(halves) * of) {
    return (of->low > (PANEL_REAL)(0.5 - PANEL_NEAR)) & (of->high < (PANEL_REAL)(0.5 + PANEL_NEAR));
}

/* `r`: r/2 of every member; needed where `near` has a lane. */
INLINE vr P(pair_sum)(const P(halves) * of, const vr *r, vri near, size_t M) {
    if (!vri_any(near))
        return P(pair_sum_of)(of->y, M, false);
    if (!vri_any(~near))
        return P(pair_sum_of)(r, M, true);
    return P(choose)(near, P(pair_sum_of)(r, M, true), P(pair_sum_of)(of->y, M, false));
}

/* r_m of the current column's members, x_m = mu (1 + r_m). */
INLINE vr P(ratio)(const P(panel) * t, const P(column) * at, size_t m) {
    return vr_rounded((P(member)(t->of, m) - at->mean) * at->inverse - at->rest * at->inverse);
}

INLINE void P(ungated_pairs)(P(panel) * t, const P(column) * at, const size_t M) {
    vr scale = (PANEL_REAL)0.5 * at->inverse, r[PANEL_PAIRS];
    P(halves) of = P(no_halves)();
    for (size_t m = 0; m < M; m++)
        P(add_half)(&of, m, P(member)(t->of, m) * scale);
    vri near = P(near_lanes)(&of);
    for (size_t m = 0; vri_any(near) && m < M; m++)
        r[m] = (PANEL_REAL)0.5 * P(ratio)(t, at, m);
    t->sets[0].part.pairs +=
        P(choose)(at->empty, vr_set(0), vr_rounded(t->mu_high[at->j] * P(pair_sum)(&of, r, near, M)));
}

/* The gated members' ratios to their mean: (1 + r)(1 + omega)/(1 + u) - 1, u = U/mu, by differences alone where they
 * are small. */
INLINE void P(gated_pairs)(P(panel) * t, const P(column) * at, size_t k, vr u, vr q, const size_t M) {
    const vr *omega = t->omega + k * M, *over = t->over + k * M;
    vr half = (PANEL_REAL)0.5 * vr_reciprocal(1 + u), scale = half * at->inverse, r[PANEL_PAIRS];
    P(halves) of = P(no_halves)();
    for (size_t m = 0; m < M; m++)
        P(add_half)(&of, m, P(member)(t->of, m) * over[m] * scale);
    vri near = P(near_lanes)(&of);
    for (size_t m = 0; vri_any(near) && m < M; m++) {
        vr own = P(ratio)(t, at, m);
        r[m] = ((own - u) + (omega[m] + omega[m] * own)) * half;
    }
    t->sets[1 + k].part.pairs += vr_rounded(q * P(pair_sum)(&of, r, near, M));
}

/* U and T of the current column at gate k, over M. */
INLINE void P(gate_sums)(const P(panel) * t, size_t k, const size_t M, bool cross, const int G, vr *shift, vr *both) {
    const vr *omega = t->omega + k * M;
    vr before[3], both_before[3]; /* sums over the members of earlier blocks */
    UNROLL
    for (int g = 0; g < G; g++)
        shift[g] = both[g] = before[g] = both_before[g] = vr_set(0);
    for (size_t m = 0; M > 1 && m < M;) {
        size_t stop = M - m < PANEL_MEMBERS ? M : m + PANEL_MEMBERS;
        UNROLL
        for (int g = 0; m > 0 && g < G; g++) {
            before[g] += vr_rounded(shift[g]);
            both_before[g] += vr_rounded(both[g]);
            shift[g] = both[g] = vr_set(0);
        }
        for (; m < stop; m++) {
            vr p = P(member)(t->of, m), q = cross ? t->dev[m] : p;
            UNROLL
            for (int g = 0; g < G; g++) {
                vr w = omega[(size_t)g * M + m];
                shift[g] += w * p;
                if (cross)
                    both[g] += w * q;
            }
        }
    }
    UNROLL
    for (int g = 0; M > PANEL_MEMBERS && g < G; g++) {
        shift[g] += before[g];
        both[g] += both_before[g];
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        shift[g] = vr_rounded(shift[g] * (PANEL_REAL)(1.0 / (double)M));
        both[g] = vr_rounded(both[g] * (PANEL_REAL)(1.0 / (double)M));
    }
}

/* The mean of the current column's members at gate k, from its U. */
INLINE P(acc) P(gated_mean)(const P(panel) * t, size_t j, size_t k, vr gamma, vr shift) {
    P(acc) mean;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        mean.h[h] =
            vd_max(P(half)(gamma, h) * t->inverse_zbar[k].h[h] * (t->mu[j].h[h] + P(half)(shift, h)), vd_set(0.0));
    return mean;
}

/* Subtracts the floors of G gates from k on at a column, in sets some of whose members are below the floor. */
INLINE void P(gate_floors)(P(panel) * t, const P(column) * at, size_t k, const int G, const vr *scale,
                           const P(acc) * mean) {
    const PANEL_REAL floor = (PANEL_REAL)t->job->options.floor;
    vr low[3], least = vr_set(1);
    UNROLL
    for (int g = 0; g < G; g++) {
        low[g] = t->low[at->j] * scale[g] * t->over_low[k + (size_t)g];
        least = vr_min(low[g], least);
    }
    if (!vri_any((least < floor) & ~at->empty))
        return;
    for (int g = 0; g < G; g++) {
        P(acc) kept = mean[g]; /* the original stays in registers */
        if (vri_any((low[g] < floor) & ~at->empty))
            P(take_floors)(t, at->j, 1 + k + (size_t)g, &kept);
    }
}

/* G gates of a column from k on. Each is a chain of dependent operations, so the gates take every step together. */
INLINE void P(gate_terms)(P(panel) * t, const P(column) * at, size_t k, bool logs, const int G, const size_t M,
                          const size_t K) {
    const vg_kernel_job *job = t->job;
    const vr *gamma = t->gamma + at->j * K + k, mu = t->mu_high[at->j];
    P(set) *sets = &t->sets[1 + k];
    vr shift[3], cross[3], q[3], e[3], rest[3], u[3], scale[3];
    P(acc) mean[3];
    P(gate_sums)(t, k, M, logs, G, shift, cross);
    UNROLL
    for (int g = 0; g < G; g++) {
        mean[g] = P(gated_mean)(t, at->j, k + (size_t)g, gamma[g], shift[g]);
        q[g] = P(narrow)(mean[g]);
        u[g] = P(choose)(at->empty, vr_set(0), shift[g] * at->inverse);
        if (M > PANEL_PAIRS) /* panel_integral.h */
            t->shift[k + (size_t)g] = shift[g];
    }
    P(log_parts_each)(q, mean, G, e, rest);
    UNROLL
    for (int g = 0; g < G; g++) {
        P(add_product)(&sets[g].part.exponent, e[g], &mean[g]);
        sets[g].part.rest += q[g] * rest[g];
        scale[g] = vr_rounded(gamma[g] * t->inverse_real[k + (size_t)g]);
        if (!VG_PANEL_DOUBLE)
            sets[g].part.excess += vr_rounded(scale[g] * shift[g]);
    }
    if (!logs)
        return;
    UNROLL
    for (int g = 0; g < G; g++) {
        vr own = scale[g] * mu;
        vr moved = vr_rounded(own * P(phi)(u[g]));
        sets[g].part.eu += vr_rounded((own * at->phi - moved) + scale[g] * cross[g]);
        sets[g].part.reverse += vr_rounded(q[g] * at->psi + moved);
    }
    if (M > 1 && job->need_gated_reverse && !job->options.logits)
        P(gate_floors)(t, at, k, G, scale, mean);
    for (int g = 0; M > 2 && t->each_pair && job->out.gepjs && g < G; g++)
        P(gated_pairs)(t, at, k + (size_t)g, u[g], q[g], M);
}

INLINE void P(column_gated)(P(panel) * t, const P(column) * at, bool logs, const size_t M, const size_t K) {
    size_t k = 0;
    for (; k + 3 <= K; k += 3)
        P(gate_terms)(t, at, k, logs, 3, M, K);
    for (; k < K; k++)
        P(gate_terms)(t, at, k, logs, 1, M, K);
}

/* The terms of column j, which becomes the current one. M and K: column_gates. */
INLINE void P(column_terms)(P(panel) * t, size_t j, const size_t M, const size_t K) {
    const vg_kernel_job *job = t->job;
    P(column) at = P(column_of)(j, t->mu_high[j], t->mu_low[j]);
    t->of = P(column_source)(t, j);
    t->floors_of = t->J; /* none */
    P(add_entropy)(&t->sets[0].part, &at, &t->mu[j]);
    bool keep = K && M > 1 && t->logs && (job->need_gated_logs || (job->out.gepjs && !t->many));
    if (M > 1 && t->logs) {
        /* Kept beside gates whether or not they need it: of two forms a compiler may fuse the products of one alone,
         * and a result would have other bits when other fields are asked for. */
        vr *dev = K ? t->dev : NULL;
        if (VG_PANEL_DOUBLE && job->options.logits)
            P(column_logs)(t->of, M, &at, dev, t->log + (j - t->from), t->block, true);
        else
            P(column_logs)(t->of, M, &at, dev, NULL, 0, true);
        P(add_divergence)(&t->sets[0].part, &at);
        P(add_reverse)(t, &at);
        if (job->need_reverse && !job->options.logits &&
            vri_any((t->low[j] < (PANEL_REAL)job->options.floor) & ~at.empty))
            P(take_floors)(t, j, 0, &t->mu[j]);
    }
    if (M > 2 && t->each_pair && job->out.epjs)
        P(ungated_pairs)(t, &at, M);
    if (K)
        keep ? P(column_gated)(t, &at, true, M, K) : P(column_gated)(t, &at, false, M, K);
    if (M > PANEL_PAIRS && t->many)
        P(column_integral)(t, j);
}

/* Moves the sums of the latest columns, up to j, to those in double; the first ones of a pass begin them anew. */
INLINE void P(fold_parts)(const P(panel) * t, P(set) * set, P(parts) * part, size_t j, bool logs) {
    const P(acc) zero = {{{0}}};
    bool first = j < t->begin + PANEL_PART;
    P(acc) tu = first ? zero : set->tu;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        set->tu.h[h] = tu.h[h] - (part->exponent.h[h] * VG_LN2 + P(half)(part->rest, h));
    P(add_or_begin)(&set->excess, part->excess, first);
    part->exponent = (P(acc)){{{0}}};
    part->rest = part->excess = vr_set(0);
    if (!logs)
        return;
    P(add_or_begin)(&set->eu, part->eu, first);
    P(add_or_begin)(&set->reverse, part->reverse, first);
    P(add_or_begin)(&set->pairs, part->pairs, first && !t->many); /* panel_integral.h adds to it */
    part->eu = part->reverse = part->pairs = vr_set(0);
}

/* The address of the block after this one, at member 0: of the same sample, or of the next; NULL: none, or another
 * thread's. */
INLINE const char *P(prefetch_address)(const P(panel) * t) {
    const vg_predictions *in = &t->job->in;
    size_t next = t->from + t->block < t->end ? t->from + t->block : t->end;
    bool same = next < t->J, other = next == t->end && t->job->pool;
    if (t->direct == 0 || other || (!same && t->first + 1 >= in->n))
        return NULL;
    return P(row_at)(in, t->first + (same ? 0 : 1), 0) + (same ? next : 0) * sizeof(vr);
}

/* Prefetches one column of the block after this one. Rows are too short for the hardware prefetcher. */
INLINE void P(prefetch_column)(const P(panel) * t, const char *at) {
    ptrdiff_t step = t->job->in.stride_m * (ptrdiff_t)sizeof(PANEL_REAL);
    for (size_t m = 0; m < t->M; m++, at += step)
        __builtin_prefetch(at, 0, 3);
}

/* Prefetches column j's share of the next panel of samples. All of it at once would wait for memory. */
INLINE void P(prefetch_share)(const P(panel) * t, size_t j) {
    for (size_t at = 0; t->prefetch_at && at < t->prefetch_bytes; at += 64)
        __builtin_prefetch(t->prefetch_at + j * t->prefetch_bytes + at, 0, 2);
}

/* Columns that take each step together, for means, logarithms of the means and those of the members: a step is a long
 * chain of dependent operations, which the processor overlaps with those of the next columns where they follow at once.
 * The columns must stay in the first-level cache. */
#define PANEL_GROUP 8
#define PANEL_GROUP_MEMBERS 40

/* Both passes over the columns of a block at once, for TU, AU and EU without gates: a column is in the first-level
 * cache for the second. The same arithmetic in the same order as block_moments and block_terms. */
INLINE void P(block_plain)(P(panel) * t, bool spread) {
    size_t end = t->from + t->block < t->end ? t->from + t->block : t->end, M = t->M, next_column, columns;
    const char *next = P(prefetch_address)(t);
    const double inverse = 1.0 / (double)M;
    P(parts) part = t->sets[0].part; /* in registers */
    P(moments) o[PANEL_GROUP];
    P(column) at[PANEL_GROUP];
    size_t group = M * PANEL_GROUP > PANEL_GROUP_MEMBERS ? PANEL_GROUP_MEMBERS / M : PANEL_GROUP;
    group = group ? group : 1;
    for (size_t first = t->from; first < end; first = next_column) {
        size_t stop = (first / PANEL_PART + 1) * PANEL_PART; /* where sums are folded */
        stop = stop < end ? stop : end;
        next_column = stop - first < group ? stop : first + group;
        if (first < t->direct && next_column > t->direct)
            next_column = t->direct;
        columns = next_column - first;
        P(source) of = P(column_source)(t, first);
        for (size_t i = 0; i < columns; i++) {
            P(source) own = {of.at + i * sizeof(vr), of.step};
            if (next)
                P(prefetch_column)(t, next + (first + i - t->from) * sizeof(vr));
            P(prefetch_share)(t, first + i);
            o[i] = P(column_mean)(own, M, inverse, false);
            at[i] = P(column_of)(first + i, o[i].mean, o[i].rest);
            if (spread) {
                t->of = own;
                P(keep_column)(t, first + i, &o[i], false, M);
            }
        }
        for (size_t i = 0; i < columns; i++)
            P(add_entropy)(&part, &at[i], &o[i].sum);
        for (size_t i = 0; M > 1 && i < columns; i++, of.at += sizeof(vr)) {
            P(column_logs)(of, M, &at[i], NULL, NULL, 0, false);
            P(add_divergence)(&part, &at[i]);
        }
        if (next_column % PANEL_PART == 0 || next_column == t->J)
            P(fold_parts)(t, &t->sets[0], &part, next_column - 1, true);
    }
    t->sets[0].part = part;
}
static VG_NOINLINE void P(block_entropies)(P(panel) * t) { P(block_plain)(t, false); }
static VG_NOINLINE void P(block_spreads)(P(panel) * t) { P(block_plain)(t, true); }

INLINE void P(columns_terms)(P(panel) * t, const size_t M, const size_t K) {
    size_t end = t->from + t->block < t->end ? t->from + t->block : t->end;
    const char *next = P(prefetch_address)(t);
    for (size_t j = t->from; j < end; j++) {
        if (next)
            P(prefetch_column)(t, next + (j - t->from) * sizeof(vr));
        P(prefetch_share)(t, j);
        P(column_terms)(t, j, M, K);
        for (size_t s = 0; (j % PANEL_PART == PANEL_PART - 1 || j + 1 == t->J) && s <= K; s++)
            P(fold_parts)(t, &t->sets[s], &t->sets[s].part, j, M > 1 && t->logs);
    }
}

static VG_NOINLINE void P(block_terms)(P(panel) * t) {
    switch (P(unrolled)(t)) {
    case 1: P(columns_terms)(t, 1, 1); break;
    case 2: P(columns_terms)(t, 2, 3); break;
    case 3: P(columns_terms)(t, 3, 3); break;
    default: P(columns_terms)(t, t->M, t->K);
    }
}
