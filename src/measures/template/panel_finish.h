/* panel_finish.h - the sums of a panel to results. */

/* Sums over lanes of an across panel, and the leading classes of all lanes in lane 0. */
static void P(join_lanes)(P(panel) * t) {
    if (!t->across)
        return;
    t->variance_sum = P(complete)(t, t->variance_sum);
    t->total = P(complete)(t, t->total);
    for (size_t s = 0; s <= t->K; s++) {
        P(set) *set = &t->sets[s];
        set->tu = P(complete)(t, set->tu);
        set->excess = P(complete)(t, set->excess);
        set->eu = P(complete)(t, set->eu);
        set->reverse = P(complete)(t, set->reverse);
        set->floors = P(complete)(t, set->floors);
        set->diagonal = P(complete)(t, set->diagonal);
        set->pairs = P(complete)(t, set->pairs);
    }
}

/* GTU of the mean over its sum, which rounding of the weights in float takes off 1: H(q / s) = H(q) / s + log s, to
 * first order in s - 1. */
static void P(normalise_entropies)(P(panel) * t) {
    for (size_t k = 0; !VG_PANEL_DOUBLE && k < t->K; k++)
        for (int h = 0; h < PANEL_HALVES; h++) {
            P(set) *set = &t->sets[1 + k];
            set->tu.h[h] += set->excess.h[h] * (1.0 - set->tu.h[h]);
        }
}

/* The two leading classes of all lanes of an across panel, in lane 0. */
static margin P(leaders_across)(const P(panel) * t) {
    double mu1 = -3, mu2 = -3; /* below every lane's */
    int64_t first = 0, second = 0;
    for (int i = 0; i < PANEL_LANES; i++) {
        const double mu[2] = {t->mu1[i / VG_LANES][i % VG_LANES], t->mu2[i / VG_LANES][i % VG_LANES]};
        const int64_t at[2] = {t->first1[i / VG_LANES][i % VG_LANES], t->second1[i / VG_LANES][i % VG_LANES]};
        for (int own = 0; own < 2; own++) {
            if (mu[own] > mu1 || (mu[own] == mu1 && at[own] < first)) {
                mu2 = mu1;
                second = first;
                mu1 = mu[own];
                first = at[own];
            } else if (mu[own] > mu2 || (mu[own] == mu2 && at[own] < second)) {
                mu2 = mu[own];
                second = at[own];
            }
        }
    }
    const vr *variance = t->variance;
    return (margin){vd_set(mu1),
                    vd_set(mu2),
                    vd_set((double)variance[first / PANEL_LANES][first % PANEL_LANES]),
                    vd_set((double)variance[second / PANEL_LANES][second % PANEL_LANES]),
                    (vl){0} + first,
                    (vl){0} + second};
}

/* The two leading classes of half h; of an across panel those of all lanes. */
INLINE margin P(leaders)(const P(panel) * t, int h) {
    if (t->across)
        return P(leaders_across)(t);
    return (margin){t->mu1[h], t->mu2[h], t->var1[h], t->var2[h], t->first1[h], t->second1[h]};
}

/* mean and std of every class of an across panel. */
static void P(write_classes)(const P(panel) * t) {
    const vg_scores *out = &t->job->out;
    for (size_t c = 0; (out->mean || out->std) && c < t->C; c++) {
        size_t j = c / PANEL_LANES, i = c % PANEL_LANES, at = t->first * t->C + c;
        if (out->mean)
            out->mean[at] = t->mu[j].h[i / VG_LANES][i % VG_LANES];
        if (out->std)
            out->std[at] = sqrt((double)t->variance[j][i]);
    }
}

/* mean and std of half h of a panel of samples. */
static VG_NOINLINE void P(write_columns)(const P(panel) * t, int h, size_t first, size_t count) {
    const vg_scores *out = &t->job->out;
    vd columns[PANEL_ACROSS];
    for (size_t j = 0; out->mean && j < t->J; j++)
        columns[j] = t->mu[j].h[h];
    if (out->mean)
        put_rows(out->mean + first * t->C, t->C, columns, count);
    for (size_t j = 0; out->std && j < t->J; j++)
        columns[j] = vd_sqrt(P(half)(t->variance[j], h));
    if (out->std)
        put_rows(out->std + first * t->C, t->C, columns, count);
}

/* The most members of each lane that name one class, the class of their largest value, the first of equals. */
static VG_NOINLINE vri P(most_named)(const P(panel) * t) {
    vri tops[PANEL_FEW_SMALL], most = {0};
    for (size_t m = 0; m < t->M; m++) {
        const vr *x = t->x + m * t->block;
        vr best = x[0];
        vri at = {0}, earlier = {0};
        for (size_t c = 1; c < t->C; c++) {
            vri more = x[c] > best, here = (vri){0} + (int)c;
            best = vr_max(x[c], best);
            at = (here & more) | (at & ~more);
        }
        tops[m] = at;
        for (size_t other = 0; other < m; other++)
            earlier -= tops[other] == at;
        vri more = earlier > most;
        most = (earlier & more) | (most & ~more);
    }
    return most + 1;
}

/* The number of units in half h. */
INLINE size_t P(half_count)(const P(panel) * t, int h) {
    size_t done = (size_t)h * VG_LANES, some = t->count > done ? t->count - done : 0;
    return some < VG_LANES ? some : VG_LANES;
}

/* The votes of a panel of samples. Members lie in x as in the input, where they are not logits. */
static void P(write_votes)(const P(panel) * t) {
    double members = (double)t->M;
    vr most = __builtin_convertvector(P(most_named)(t), vr);
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        put(t->job->out.votes, (members - P(half)(most, h)) / members, t->first + (size_t)h * VG_LANES,
            P(half_count)(t, h));
}

/* Values of the margin are long chains of dependent operations, so both halves are computed before one is written. */
static VG_NOINLINE void P(write_margins)(const P(panel) * t) {
    const vg_kernel_job *job = t->job;
    margin g[PANEL_HALVES];
    margin_values v[PANEL_HALVES];
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++) {
        g[h] = P(leaders)(t, h);
        if (job->figures)
            write_abstention(job, &g[h], t->first + (size_t)h * VG_LANES, P(half_count)(t, h));
    }
    if (!wants_margin(&job->out))
        return;
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++)
        v[h] = margin_of(job, &g[h]);
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++) {
        size_t first = t->first + (size_t)h * VG_LANES, count = P(half_count)(t, h);
        if (count == VG_LANES)
            put_margin(job, &g[h], &v[h], first, VG_LANES);
        else
            put_margin(job, &g[h], &v[h], first, count);
    }
}

/* The figures of half h for the summary, but for those of the margin. */
static VG_NOINLINE void P(write_figures)(const P(panel) * t, int h, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    put(job->unit_variance, t->variance_sum.h[h], first, count);
    put(job->unit_total, t->total.h[h], first, count);
    if (job->out.tu)
        put(job->unit_tu, t->sets[0].tu.h[h], first, count);
    if (job->out.gtu)
        put(job->unit_gtu, t->sets[t->alike ? 1 : 1 + job->widest].tu.h[h], first, count);
}

#if VG_PANEL_DOUBLE
/* maxlogit and energy, from log p = z/T - logsumexp(z/T). */
static VG_NOINLINE void P(write_logits)(const P(panel) * t) {
    const vg_scores *out = &t->job->out;
    double inverse = 1.0 / (double)t->M;
    vd total = t->total_lse * inverse, top = t->top_log * inverse;
    for (int i = 1; t->across && i < VG_LANES; i++)
        top[0] = top[i] > top[0] ? top[i] : top[0];
    for (size_t i = 0; i < t->count; i++) {
        if (out->energy)
            out->energy[t->first + i] = -total[i];
        if (out->maxlogit)
            out->maxlogit[t->first + i] = -(top[i] + total[i]);
    }
}
#endif

/* The results of set s in half h, `pitch` apart. */
INLINE void P(finish)(const P(panel) * t, const conventions *by, size_t s, int h, vd *to, size_t pitch) {
    const P(set) *set = &t->sets[s];
    measures sums = {set->tu.h[h], set->eu.h[h], set->reverse.h[h] - set->floors.h[h], set->diagonal.h[h]};
    vd epjs = set->pairs.h[h]; /* panel_terms.h, or the sum itself */
    if (t->given_tu)           /* AU is TU - EU of the TU that is written */
        sums.tu = vd_set(t->given_tu[s]);
    if (s > 0) {
        sums.eu += t->psi_z[s - 1].h[h];
        sums.reverse -= t->psi_z[s - 1].h[h];
    }
    if (!t->many)
        epjs = vd_max(sums.eu * by->forward - epjs * by->meets, vd_set(0.0));
    finish_set(by, &sums, epjs, to, pitch);
}

/* Where result i of the ungated set and of the gated sets goes. */
INLINE double *P(plain_place)(const vg_scores *out, int i) {
    return i == 0 ? out->tu : i == 1 ? out->au : i == 2 ? out->eu : i == 3 ? out->epce : i == 4 ? out->epkl : out->epjs;
}
INLINE double *P(gated_place)(const vg_scores *out, int i) {
    return i == 0   ? out->gtu
           : i == 1 ? out->gau
           : i == 2 ? out->geu
           : i == 3 ? out->gepce
           : i == 4 ? out->gepkl
                    : out->gepjs;
}

/* The results of a full half at three k, whose places are adjacent: they stay in registers. One member has the results
 * of one gate for every k (`alike`). */
INLINE void P(write_threes)(const P(panel) * t, int h, size_t first, const bool alike) {
    const vg_scores *out = &t->job->out;
    conventions by = t->by;
    vd own[SET_RESULTS], at[3][SET_RESULTS];
    by.alone = alike || by.alone; /* known to the compiler */
    if (t->ungated) {
        P(finish)(t, &by, 0, h, own, 1);
        UNROLL
        for (int i = 0; i < SET_RESULTS; i++)
            put(P(plain_place)(out, i), own[i], first, VG_LANES);
    }
    if (!t->K)
        return;
    UNROLL
    for (size_t k = 0; k < 3; k++)
        if (k == 0 || !alike)
            P(finish)(t, &by, 1 + k, h, at[k], 1);
    UNROLL
    for (int i = 0; i < SET_RESULTS; i++) {
        double *to = P(gated_place)(out, i);
        if (to && alike)
            put_thrice(to + first * 3, at[0][i]);
        else if (to)
            put_threes(to + first * 3, (vd[3]){at[0][i], at[1][i], at[2][i]}, VG_LANES);
    }
}

/* The results of a half in general. */
static VG_NOINLINE void P(write_rows)(const P(panel) * t, int h, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_scores *out = &job->out;
    double *const plain[SET_RESULTS] = {out->tu, out->au, out->eu, out->epce, out->epkl, out->epjs};
    double *const gated[SET_RESULTS] = {out->gtu, out->gau, out->geu, out->gepce, out->gepkl, out->gepjs};
    size_t K = job->k, pitch = 1 + K;
    for (size_t s = t->ungated ? 0 : 1; s <= (t->K ? K : 0); s++)
        P(finish)(t, &t->by, t->alike && s ? 1 : s, h, t->results + s, pitch);
    for (size_t i = 0; i < SET_RESULTS; i++) {
        const vd *from = t->results + i * pitch;
        put(plain[i], from[0], first, count);
        if (gated[i] && !job->plane)
            put_rows(gated[i] + first * K, K, from + 1, count);
        for (size_t k = 0; gated[i] && job->plane && k < K; k++)
            put(gated[i] + k * job->plane, from[1 + k], first, count);
    }
}

static VG_NOINLINE void P(write_sets)(const P(panel) * t) {
    bool threes = t->job->k == 3 && !t->job->plane && t->count == PANEL_LANES;
    for (int h = 0; h < PANEL_HALVES && P(half_count)(t, h); h++) {
        size_t first = t->first + (size_t)h * VG_LANES;
        if (threes)
            t->alike ? P(write_threes)(t, h, first, true) : P(write_threes)(t, h, first, false);
        else
            P(write_rows)(t, h, first, P(half_count)(t, h));
    }
}

/* Whether some row of a panel may not be a distribution, by its sum in float and by its signs. */
static bool P(has_ambiguous_values)(const P(panel) * t) {
    vri bad = t->sign < 0;
    if (t->job->options.logits)
        return false;
    for (size_t m = 0; m < t->M; m++) {
        vr sum = t->across ? vr_set((PANEL_REAL)P(across_sum)(t->rows[m])) : t->rows[m];
        vr off = sum - 1;
        bad |= ~((off < (PANEL_REAL)0.0009) & (off > (PANEL_REAL)-0.0009));
    }
    return vri_any(bad);
}

/* The results, from the sums. */
static void P(write_panel)(P(panel) * t) {
    const vg_kernel_job *job = t->job;
    size_t first = t->first, count = t->count;
    if (job->out.flags)
        memset(job->out.flags + first, 0, count * sizeof *job->out.flags);
    if (t->across)
        P(write_classes)(t);
    if (job->out.votes && !t->across && !job->options.logits)
        P(write_votes)(t);
#if VG_PANEL_DOUBLE
    if (job->options.logits && (job->out.energy || job->out.maxlogit))
        P(write_logits)(t);
#endif
    if (t->margins)
        P(write_margins)(t);
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++) {
        size_t from = first + (size_t)h * VG_LANES, some = P(half_count)(t, h);
        if (some == 0)
            break;
        if (!t->across && (job->out.mean || job->out.std))
            P(write_columns)(t, h, from, some);
        if (job->figures)
            P(write_figures)(t, h, from, some);
    }
    if (t->ungated || t->K)
        P(write_sets)(t);
}
