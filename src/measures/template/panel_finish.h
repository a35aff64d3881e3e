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
        set->eu = P(complete)(t, set->eu);
        set->reverse = P(complete)(t, set->reverse);
        set->floors = P(complete)(t, set->floors);
        set->diagonal = P(complete)(t, set->diagonal);
        set->pairs = P(complete)(t, set->pairs);
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

/* mean and std of every class. */
static void P(write_columns)(const P(panel) * t) {
    const vg_scores *out = &t->job->out;
    for (size_t j = 0; (out->mean || out->std) && j < t->J; j++)
        for (size_t i = 0; i < PANEL_LANES; i++) {
            size_t c = t->across ? j * PANEL_LANES + i : j, n = t->across ? t->first : t->first + i;
            if (t->across ? c >= t->C : i >= t->count)
                break;
            if (out->mean)
                out->mean[n * t->C + c] = t->mu[j].h[i / VG_LANES][i % VG_LANES];
            if (out->std)
                out->std[n * t->C + c] = sqrt((double)t->variance[j][i]);
        }
}

static VG_NOINLINE void P(write_margins)(const P(panel) * t, int h, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    margin g = P(leaders)(t, h);
    if (job->figures) {
        write_abstention(job, &g, first, count);
        for (size_t i = 0; i < count; i++) {
            job->unit_variance[first + i] = t->variance_sum.h[h][i];
            job->unit_total[first + i] = t->total.h[h][i];
        }
    }
    if (wants_margin(&job->out))
        write_margin(job, &g, first, count);
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

/* EPJS of a set: panel_terms.h, or the sum itself. */
INLINE vd P(set_epjs)(const P(panel) * t, const measures *set, vd pairs) {
    double M = (double)t->M;
    if (t->many)
        return pairs;
    return vd_max(set->eu * (1.0 - 1.0 / M) - pairs * (2.0 / (M * M)), vd_set(0.0));
}

INLINE measures P(set_of)(const P(panel) * t, size_t s, int h) {
    const P(set) *set = &t->sets[s];
    measures out = {set->tu.h[h], set->eu.h[h], set->reverse.h[h] - set->floors.h[h], set->diagonal.h[h]};
    if (t->given_tu) /* AU is TU - EU of the TU that is written */
        out.tu = vd_set(t->given_tu[s]);
    if (s > 0) {
        out.eu += t->psi_z[s - 1].h[h];
        out.reverse -= t->psi_z[s - 1].h[h];
    }
    return out;
}

static VG_NOINLINE void P(write_ungated)(const P(panel) * t, int h, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_scores *out = &job->out;
    places to = {{out->tu, out->au, out->eu, out->epce, out->epkl, out->epjs}};
    measures set = P(set_of)(t, 0, h);
    vd results[SET_RESULTS];
    finish_set(job, &set, P(set_epjs)(t, &set, t->sets[0].pairs.h[h]), results, 1);
    for (int i = 0; i < SET_RESULTS; i++)
        put(to.at[i], results[i], first, count);
    for (size_t i = 0; out->tu && job->figures && i < count; i++)
        job->unit_tu[first + i] = set.tu[i];
}

/* A unit's members and gates, one by one. */
typedef struct P(lost) {
    const P(panel) * t;
    size_t lane, k;
} P(lost);

static double P(lost_gate)(const P(lost) * of, size_t c) {
    const P(panel) *t = of->t;
    size_t j = t->across ? c / PANEL_LANES : c, at = t->across ? c % PANEL_LANES : of->lane;
    return (double)t->gamma[j * t->K + of->k][at];
}
static double P(lost_value)(const P(lost) * of, size_t m, size_t c) {
    const P(panel) *t = of->t;
    size_t j = t->across ? c / PANEL_LANES : c, at = t->across ? c % PANEL_LANES : of->lane;
    vr x = t->across ? P(fetch_value)(t, m, j) : t->x[m * t->block + j];
    return (double)x[at];
}
static double P(lost_member)(const void *context, size_t m, size_t c) {
    const P(lost) *of = context;
    double sum = of->t->ztotal[of->k * of->t->M + m], p = P(lost_value)(of, m, c);
    return sum > 1e-290 ? p * P(lost_gate)(of, c) / sum : p;
}

/* A unit of which some member's Z_m vanished at some k: its gated sets are built and measured one by one. */
static __attribute__((noinline)) void P(rescue)(P(panel) * t, size_t lane, size_t k, const places *to, size_t unit) {
    const vg_kernel_job *job = t->job;
    double *sums = t->ztotal + k * t->M, results[6]; /* no longer needed: holds Z_m */
    P(lost) of = {t, lane, k};
    for (size_t m = 0; m < t->M; m++) {
        sums[m] = 0;
        for (size_t c = 0; c < t->C; c++)
            sums[m] += P(lost_gate)(&of, c) * P(lost_value)(&of, m, c);
    }
    vg_measures__direct(results, P(lost_member), &of, job);
    for (int i = 0; i < SET_RESULTS; i++)
        if (to->at[i])
            to->at[i][job->plane ? k * job->plane + unit : unit * t->K + k] = results[i];
}

static VG_NOINLINE void P(write_gated)(P(panel) * t, int h, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_scores *out = &job->out;
    size_t K = t->K;
    places to = {{out->gtu, out->gau, out->geu, out->gepce, out->gepkl, out->gepjs}};
    for (size_t k = 0; k < K; k++) {
        measures set = P(set_of)(t, 1 + k, h);
        finish_set(job, &set, P(set_epjs)(t, &set, t->sets[1 + k].pairs.h[h]), t->results + k, K);
        if (k == job->widest && out->gtu && job->figures)
            for (size_t i = 0; i < count; i++)
                job->unit_gtu[first + i] = set.tu[i];
    }
    for (int i = 0; i < SET_RESULTS; i++) {
        if (to.at[i] && !job->plane && K == 3)
            put_threes(to.at[i] + first * 3, t->results + 3 * i, count);
        else if (to.at[i] && !job->plane)
            put_rows(to.at[i] + first * K, K, t->results + (size_t)i * K, count);
        for (size_t k = 0; to.at[i] && job->plane && k < K; k++)
            put(to.at[i] + k * job->plane, t->results[(size_t)i * K + k], first, count);
    }
    if (!vri_any(t->gated_out))
        return;
    for (size_t i = 0; i < count; i++) {
        size_t lane = (size_t)h * VG_LANES + i;
        if (!t->gated_out[t->across ? 0 : lane])
            continue;
        for (size_t k = 0; k < K; k++)
            P(rescue)(t, lane, k, &to, first + i);
        if (out->flags)
            out->flags[first + i] |= VG_FLAG_GATED_OUT;
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
    P(write_columns)(t);
#if VG_PANEL_DOUBLE
    if (job->options.logits && (job->out.energy || job->out.maxlogit))
        P(write_logits)(t);
#endif
    for (int h = 0; h < PANEL_HALVES; h++) {
        size_t done = (size_t)h * VG_LANES, some = count > done ? count - done : 0;
        if (some == 0)
            break;
        some = some < VG_LANES ? some : VG_LANES;
        if (t->margins)
            P(write_margins)(t, h, first + done, some);
        if (t->ungated)
            P(write_ungated)(t, h, first + done, some);
        if (t->K)
            P(write_gated)(t, h, first + done, some);
    }
}
