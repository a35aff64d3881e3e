/* results.h - finished sums to results: the conventions applied, and where they are written. */

typedef struct places { /* where one set's results are written */
    double *at[SET_RESULTS];
} places;

/* Pairs, base of the logarithm, normalisation: the results TU AU EU EPCE EPKL EPJS, `pitch` apart. */
INLINE void finish_set(const vg_kernel_job *job, const measures *set, vd epjs, vd *to, size_t pitch) {
    const vg_score_options *o = &job->options;
    bool add = !o->logits && o->floor_form == VG_FLOOR_ADD;
    double M = (double)job->m, pairs = o->pairs == VG_PAIRS_DISTINCT ? (job->m > 1 ? M / (M - 1) : 0.0) : 1.0;
    double unit = o->log_base == VG_LOG_2 ? 1.0 / VG_LN2 : 1.0;
    double share = unit * (o->normalise ? 1.0 / (log((double)job->c) * unit) : 1.0);
    vd zero = {0}, eu = vd_max(set->eu, zero), epkl = eu + set->reverse;
    if (o->pairs == VG_PAIRS_DISTINCT)
        epkl -= set->diagonal * (1.0 / M);
    epkl *= pairs;
    if (job->m == 1)
        eu = epkl = epjs = zero;
    /* The shifted logarithm of VG_FLOOR_ADD can make an entropy negative; otherwise a negative value is rounding. */
    vd au = add ? set->tu - eu : vd_max(set->tu - eu, zero), epce = au + epkl;
    if (add)
        epkl = vd_max(epkl, zero);
    to[0] = set->tu * share;
    to[pitch] = au * share;
    to[2 * pitch] = eu * share;
    to[3 * pitch] = epce * unit;
    to[4 * pitch] = epkl * unit;
    to[5 * pitch] = epjs * (pairs * unit);
}
