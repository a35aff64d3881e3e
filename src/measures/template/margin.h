/* margin.h - the two leading classes of every lane, SNR, GMU and the decision rule. */

typedef struct margin {
    vd mu1, mu2, var1, var2;
    vl first, second;
} margin;

/* Ties go to the lower index. */
static margin leaders(const tile *t) {
    margin g = {.mu1 = vd_set(-1.0), .mu2 = vd_set(-1.0)};
    for (size_t c = 0; c < t->C; c++) {
        vd mu = t->mu[c], var = t->variance[c];
        vl at = (vl){0} + (int64_t)c, best = mu > g.mu1, next = mu > g.mu2;
        g.mu2 = vd_select(best, g.mu1, vd_select(next, mu, g.mu2));
        g.var2 = vd_select(best, g.var1, vd_select(next, var, g.var2));
        g.second = vl_select(best, g.first, vl_select(next, at, g.second));
        g.mu1 = vd_select(best, mu, g.mu1);
        g.var1 = vd_select(best, var, g.var1);
        g.first = vl_select(best, at, g.first);
    }
    return g;
}

/* Whether the rule abstains at k = 1, for the verdict: population spread whatever the options say. */
static void write_abstention(const vg_kernel_job *job, const margin *g, size_t first, size_t count) {
    vd spread = vd_sqrt(g->var1) + vd_sqrt(g->var2), gap = g->mu1 - g->mu2;
    for (size_t i = 0; i < count; i++)
        job->unit_abstains[first + i] = gap[i] > spread[i] ? 0.0 : 1.0;
}

/* Whether a result is asked for that depends on the leading classes. */
INLINE bool wants_margin(const vg_scores *out) {
    return out->gmu || out->snr || out->pred || out->second || out->decision || out->flags || out->maxprob ||
           out->gap || out->topstd;
}

/* Stores one value for each lane at consecutive addresses. */
INLINE void put(double *place, vd value, size_t first, size_t count) {
    if (place && count == VG_LANES)
        memcpy(place + first, &value, sizeof value);
    else if (place)
        for (size_t i = 0; i < count; i++)
            place[first + i] = value[i];
}

/* Stores one integer for each lane at consecutive addresses. */
INLINE void put_classes(int32_t *place, vl value, size_t first, size_t count) {
    vj narrow = vj_from(value);
    if (place && count == VG_LANES)
        memcpy(place + first, &narrow, sizeof narrow);
    else if (place)
        for (size_t i = 0; i < count; i++)
            place[first + i] = narrow[i];
}

/* The factors of k of the lanes' classes; 1 where there are none. */
INLINE vd class_factors(const vg_kernel_job *job, vl class, size_t first, size_t count) {
    vd factor = vd_set(1.0);
    for (size_t i = 0; job->class_k && i < count; i++)
        factor[i] = job->class_k[job->labels ? (first + i) % job->labels : (size_t) class[i]];
    return factor;
}

/* Writes three values of each lane to rows of `out`: three gates are the usual case. THREES makes the rows x, y and z
 * of the vectors a, b and d. */
#if VG_LANES == 8
#define THREES(VECTOR)                                                                                                 \
    VECTOR x = SHUFFLE8(a, b, 0, 8, 0, 1, 9, 0, 2, 10), y = SHUFFLE8(a, b, 0, 3, 11, 0, 4, 12, 0, 5);                  \
    VECTOR z = SHUFFLE8(a, b, 13, 0, 6, 14, 0, 7, 15, 0);                                                              \
    x = SHUFFLE8(x, d, 0, 1, 8, 3, 4, 9, 6, 7);                                                                        \
    y = SHUFFLE8(y, d, 10, 1, 2, 11, 4, 5, 12, 7);                                                                     \
    z = SHUFFLE8(z, d, 0, 13, 2, 3, 14, 5, 6, 15)
#elif VG_LANES == 4
#define SHUFFLE4(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define THREES(VECTOR)                                                                                                 \
    VECTOR ab = SHUFFLE4(a, b, 0, 4, 2, 6), da = SHUFFLE4(d, a, 0, 5, 2, 7), bd = SHUFFLE4(b, d, 1, 5, 3, 7);          \
    VECTOR x = SHUFFLE4(ab, da, 0, 1, 4, 5), y = SHUFFLE4(bd, ab, 0, 1, 6, 7), z = SHUFFLE4(da, bd, 2, 3, 6, 7)
#endif
#if VG_LANES > 2
#define PUT_THREES(NAME, ELEMENT, VECTOR)                                                                              \
    INLINE void NAME(ELEMENT *out, const VECTOR *from, size_t count) {                                                 \
        const VECTOR a = from[0], b = from[1], d = from[2];                                                            \
        THREES(VECTOR);                                                                                                \
        if (count == VG_LANES) {                                                                                       \
            memcpy(out, &x, sizeof x);                                                                                 \
            memcpy(out + VG_LANES, &y, sizeof y);                                                                      \
            memcpy(out + 2 * VG_LANES, &z, sizeof z);                                                                  \
        } else {                                                                                                       \
            const VECTOR rows[3] = {x, y, z};                                                                          \
            memcpy(out, rows, 3 * count * sizeof *out);                                                                \
        }                                                                                                              \
    }
#else
#define PUT_THREES(NAME, ELEMENT, VECTOR)                                                                              \
    INLINE void NAME(ELEMENT *out, const VECTOR *from, size_t count) {                                                 \
        for (size_t i = 0; i < count; i++)                                                                             \
            for (size_t c = 0; c < 3; c++)                                                                             \
                out[3 * i + c] = from[c][i];                                                                           \
    }
#endif
PUT_THREES(put_threes, double, vd)
/* Writes each lane's value three times. */
INLINE void put_thrice(double *out, vd value) {
    if (!out)
        return;
#if VG_LANES == 8
    vd x = SHUFFLE8(value, value, 0, 0, 0, 1, 1, 1, 2, 2), y = SHUFFLE8(value, value, 2, 3, 3, 3, 4, 4, 4, 5);
    vd z = SHUFFLE8(value, value, 5, 5, 6, 6, 6, 7, 7, 7);
#elif VG_LANES == 4
    vd x = SHUFFLE4(value, value, 0, 0, 0, 1), y = SHUFFLE4(value, value, 1, 1, 2, 2);
    vd z = SHUFFLE4(value, value, 2, 3, 3, 3);
#endif
#if VG_LANES > 2
    memcpy(out, &x, sizeof x);
    memcpy(out + VG_LANES, &y, sizeof y);
    memcpy(out + 2 * VG_LANES, &z, sizeof z);
#else
    put_threes(out, (vd[3]){value, value, value}, VG_LANES);
#endif
}
PUT_THREES(put_three_classes, int32_t, vj)

/* The class where mu1 - k sigma1 > mu2 + k sigma2 with the k of each class, else -1. */
INLINE vj decision_at(const margin *g, double k, vd factor1, vd factor2, const vd *sigma) {
    vdm clear = vd_above(g->mu1 - k * factor1 * sigma[0], g->mu2 + k * factor2 * sigma[1]);
    return vj_from(vl_pick(clear, g->first, (vl){0} - 1));
}

/* The decisions at every k. */
INLINE void write_decisions(const vg_kernel_job *job, const margin *g, size_t first, size_t count, const vd *sigma) {
    vd own1 = class_factors(job, g->first, first, count), own2 = class_factors(job, g->second, first, count);
    int32_t *to = job->out.decision + first * job->k;
    if (job->k == 3) {
        const vj three[3] = {decision_at(g, job->gates[0], own1, own2, sigma),
                             decision_at(g, job->gates[1], own1, own2, sigma),
                             decision_at(g, job->gates[2], own1, own2, sigma)};
        put_three_classes(to, three, count);
        return;
    }
    for (size_t k = 0; k < job->k; k++) {
        vj class = decision_at(g, job->gates[k], own1, own2, sigma);
        for (size_t i = 0; i < count; i++)
            to[i * job->k + k] = class[i];
    }
}

typedef struct margin_values {
    vd sigma[2], snr, gmu;
} margin_values;

INLINE margin_values margin_of(const vg_kernel_job *job, const margin *g) {
    const vg_score_options *o = &job->options;
    double spread = o->sigma_margin == VG_SIGMA_SAMPLE && job->m > 1 ? (double)job->m / (double)(job->m - 1) : 1.0;
    double eps = o->margin_eps_form == VG_MARGIN_EPS_TWICE ? 2 * o->eps : o->eps;
    vd sigma1 = {0}, sigma2 = {0};
    if (job->m > 1) {
        sigma1 = vd_sqrt(g->var1 * spread);
        sigma2 = vd_sqrt(g->var2 * spread);
    }
    vd snr = (g->mu1 - g->mu2) / (sigma1 + sigma2 + eps), sure = g->mu1 * vm_gate(snr), gmu = 1.0 - sure;
    if (o->task == VG_TASK_MULTILABEL_LITERAL)
        gmu = vd_select(g->first == 1, gmu, sure);
    return (margin_values){{sigma1, sigma2}, snr, gmu};
}

INLINE void put_margin(const vg_kernel_job *job, const margin *g, const margin_values *v, size_t first, size_t count) {
    const vg_scores *out = &job->out;
    put(out->snr, v->snr, first, count);
    put(out->gmu, v->gmu, first, count);
    put(out->maxprob, 1.0 - g->mu1, first, count);
    put(out->gap, 1.0 - (g->mu1 - g->mu2), first, count);
    if (out->topstd)
        put(out->topstd, vd_sqrt(g->var1), first, count);
    put_classes(out->pred, g->first, first, count);
    put_classes(out->second, g->second, first, count);
    for (size_t i = 0; out->flags && i < count; i++)
        out->flags[first + i] |= g->mu1[i] == g->mu2[i] ? VG_FLAG_TIE : 0;
    if (out->decision)
        write_decisions(job, g, first, count, v->sigma);
}

static void write_margins(const tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    margin g = leaders(t);
    if (job->figures)
        write_abstention(job, &g, first, count);
    if (!wants_margin(&job->out))
        return;
    margin_values v = margin_of(job, &g);
    put_margin(job, &g, &v, first, count);
}

/* Writes width values of each lane to rows of `out`, one row per lane. */
static void put_rows(double *out, size_t width, const vd *from, size_t count) {
    size_t c = 0;
#if VG_LANES > 2
    for (; count == VG_LANES && c + VG_LANES <= width; c += VG_LANES) {
        vd r[VG_LANES];
        UNROLL
        for (int i = 0; i < VG_LANES; i++)
            r[i] = from[c + (size_t)i];
        TRANSPOSE_BLOCK(r, vd);
        UNROLL
        for (int lane = 0; lane < VG_LANES; lane++)
            memcpy(out + (size_t)lane * width + c, &r[lane], sizeof r[lane]);
    }
#endif
#if VG_LANES == 8
    for (; count == VG_LANES && c + 2 <= width; c += 2) {
        vd low = SHUFFLE8(from[c], from[c + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        vd high = SHUFFLE8(from[c], from[c + 1], 4, 12, 5, 13, 6, 14, 7, 15);
        double pairs[2 * VG_LANES];
        memcpy(pairs, &low, sizeof low);
        memcpy(pairs + VG_LANES, &high, sizeof high);
        UNROLL
        for (size_t lane = 0; lane < VG_LANES; lane++)
            memcpy(out + lane * width + c, pairs + 2 * lane, 2 * sizeof *pairs);
    }
#endif
    for (; c < width; c++)
        for (size_t i = 0; i < count; i++)
            out[i * width + c] = from[c][i];
}

/* mean and std of the classes; in multilabel mode of outcome 1. */
static void write_moments(const tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    size_t from = job->labels ? 1 : 0, width = t->C - from;
    vd variance = {0}, total = {0};
    for (size_t c = from; job->figures && c < t->C; c++) { /* multilabel: outcome 1 stands for both */
        variance += t->variance[c];
        total += t->mu[c] * (1.0 - t->mu[c]);
    }
    for (size_t i = 0; job->figures && i < count; i++) {
        job->unit_variance[first + i] = variance[i];
        job->unit_total[first + i] = total[i];
    }
    if (job->out.mean)
        put_rows(job->out.mean + first * width, width, t->mu + from, count);
    if (job->out.std)
        put_rows(job->out.std + first * width, width, t->sigma + from, count);
}
