/* results.h - finished sums to results: the conventions applied, and where they are written. */

typedef struct places { /* where one set's results are written */
    double *at[SET_RESULTS];
} places;

/* What the options make of finished sums, the same for every sample: factors of the results, and the least values. */
typedef struct conventions {
    double share, unit; /* of TU AU EU, and of the others: base of the logarithm, and normalisation */
    double pairs;       /* M/(M - 1) where only distinct pairs count, else 1 */
    double diagonal;    /* 1/M there, else 0 */
    /* The shifted logarithm of VG_FLOOR_ADD can make an entropy negative; otherwise a negative value is rounding. */
    double least_au, least_epkl;
    double forward, meets; /* EPJS by pairs (panel_terms.h): factors of EU and of the sum over pairs */
    bool alone;            /* one member, of which every epistemic term is 0 */
} conventions;

static conventions conventions_of(const vg_kernel_job *job) {
    const vg_score_options *o = &job->options;
    bool add = !o->logits && o->floor_form == VG_FLOOR_ADD, distinct = o->pairs == VG_PAIRS_DISTINCT;
    double M = (double)job->m, unit = o->log_base == VG_LOG_2 ? 1.0 / VG_LN2 : 1.0;
    return (conventions){.share = unit * (o->normalise ? 1.0 / (log((double)job->c) * unit) : 1.0),
                         .unit = unit,
                         .pairs = distinct ? (job->m > 1 ? M / (M - 1) : 0.0) : 1.0,
                         .diagonal = distinct ? 1.0 / M : 0.0,
                         .least_au = add ? -(double)INFINITY : 0.0,
                         .least_epkl = add ? 0.0 : -(double)INFINITY,
                         .forward = 1.0 - 1.0 / M,
                         .meets = 2.0 / (M * M),
                         .alone = job->m == 1};
}

/* The results TU AU EU EPCE EPKL EPJS of a set, `pitch` apart. */
INLINE void finish_set(const conventions *by, const measures *set, vd epjs, vd *to, size_t pitch) {
    vd zero = {0}, eu = vd_max(set->eu, zero), epkl = (eu + set->reverse - set->diagonal * by->diagonal) * by->pairs;
    if (by->alone)
        eu = epkl = epjs = zero;
    vd au = vd_max(set->tu - eu, vd_set(by->least_au)), epce = au + epkl;
    to[0] = set->tu * by->share;
    to[pitch] = au * by->share;
    to[2 * pitch] = eu * by->share;
    to[3 * pitch] = epce * by->unit;
    to[4 * pitch] = vd_max(epkl, vd_set(by->least_epkl)) * by->unit;
    to[5 * pitch] = epjs * (by->pairs * by->unit);
}
