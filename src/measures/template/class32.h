/* class32.h - the sums of entropy.h for float32 probabilities that need no conversion: class by class in float,
 * with two members per vector.
 *
 * p is exactly a float, so p - mu has full relative accuracy when mu is held in two floats. lambda and psi then have a
 * relative error of 2e-7, phi = r lambda - psi a little more, and so have EU, GEU, EPKL and GEPKL. Means stay in
 * double. Where a divergence is so large that this error exceeds 1e-6 (above 2 nats), the double forms correct those
 * lanes. */

#define LARGE 2.0 /* nats */
/* The same for the mean of psi, which one member far below the others can make up alone: the sum of its term, up to 80,
 * and of small terms that are rounded alike is less accurate than the terms. Sums in float are taken over so many pairs
 * of members, of these over some at a time, and go on in double. */
#define LARGE_REVERSE 1.2
enum { PAIRS_IN_FLOAT = 32, PAIRS_AT_A_TIME = 8, PAIRS_GATED = 32 };
/* Where a member is this much below the mean its term is above 13, and psi is taken in double, unless the class has so
 * small a share of its place among C that the error does not matter. */
#define FAR_RATIO 0x1p20
#define FAR_SHARE 0x1p-6 /* of 1/C */

/* phi and psi of the current class; p lambda is stored in t->plog32 where a gate will need it. */
INLINE void class_terms32(tile *t, size_t c, bool keep) {
    const vf *x = t->members32;
    size_t full = t->M / 2, i = 0;
    vd mu = t->mu[c];
    vl empty = mu < 1e-30;
    vd over = vd_reciprocal(vd_select(empty, vd_set(1.0), mu));
    vf hi = vf_twice(t->mu_high[c]), lo = vf_twice(t->mu_low[c]);
    /* 1: an empty class has y = 1 */
    vf inverse = vf_both(over), least = vf_both(vd_select(empty, vd_set(1.0), over * TINY));
    vd total_both = {0}, total_psi = {0};
    while (i < t->pairs) {
        size_t end = t->pairs - i < PAIRS_IN_FLOAT ? t->pairs : i + PAIRS_IN_FLOAT;
        vf both = vf_set(0.0f), psis = vf_set(0.0f), lambda, psi, phi;
        while (i < end) {
            size_t stop = end - i < PAIRS_AT_A_TIME ? end : i + PAIRS_AT_A_TIME;
            vf sum_both = vf_set(0.0f), sum_psi = vf_set(0.0f);
            for (; i < stop; i++) {
                vf p = x[i], r = ((p - hi) - lo) * inverse, y = vf_max(p * inverse, least);
                if (i == full) { /* The second half of the last pair is padding when M is odd. */
                    y = vf_pair(y, 1.0f);
                    r = vf_pair(r, 0.0f);
                }
                vm_bregman32(y, r, &lambda, &psi, &phi);
                sum_both += r * lambda;
                sum_psi += psi;
                if (keep)
                    t->plog32[i] = p * lambda;
            }
            both += vf_rounded(sum_both);
            psis += vf_rounded(sum_psi);
        }
        total_both += vf_fold(both);
        total_psi += vf_fold(psis);
    }
    double scale = 1.0 / (double)t->M;
    t->psi[c] = vd_select(empty, vd_set(0.0), total_psi * scale);
    t->phi[c] = vd_select(empty, vd_set(0.0), (total_both - total_psi) * scale);
}

/* Sums over members at up to four gates: of omega p, and of omega p lambda. */
typedef struct gated_sums {
    vf shift[4], both[4];
} gated_sums;

INLINE void clear_gated(gated_sums *of, const int G) {
    UNROLL
    for (int j = 0; j < G; j++)
        of->shift[j] = of->both[j] = vf_set(0.0f);
}

/* Adds the sums over some members: those in float are kept short. */
INLINE void add_gated(gated_sums *to, const gated_sums *some, const int G) {
    UNROLL
    for (int j = 0; j < G; j++) {
        to->shift[j] += vf_rounded(some->shift[j]);
        to->both[j] += vf_rounded(some->both[j]);
    }
}

/* U of the current class at G gates from k on, and T where `cross`; `slip` is added to every lambda. */
INLINE void class_sums32_block(tile *t, size_t c, size_t k, bool cross, vd slip, const int G) {
    size_t half = t->pairs;
    const vf *omega = t->omega32 + k * half, *x = t->members32;
    gated_sums sums, some;
    clear_gated(&sums, G);
    for (size_t i = 0; i < half;) {
        size_t stop = half - i < PAIRS_GATED ? half : i + PAIRS_GATED;
        clear_gated(&some, G);
        for (; i < stop; i++) {
            vf p = vf_held(x[i]), q = cross ? vf_held(t->plog32[i]) : p;
            UNROLL
            for (int j = 0; j < G; j++) {
                vf w = vf_held(omega[(size_t)j * half + i]);
                some.shift[j] += w * p;
                if (cross)
                    some.both[j] += w * q;
            }
        }
        add_gated(&sums, &some, G);
    }
    UNROLL
    for (int j = 0; j < G; j++) {
        size_t at = (k + (size_t)j) * t->C + c;
        t->shift[at] = vf_fold(sums.shift[j]) * (1.0 / (double)t->M);
        if (cross)
            t->cross[at] = vf_fold(sums.both[j]) * (1.0 / (double)t->M) + slip * t->shift[at];
    }
}

#if defined(VG_TIER_IS_AVX512)
/* Classes with a spread of at least 0.14 of their mean. Their terms are not differences of nearly equal numbers, and
 * because the mean of r is 0 they follow from lambda alone: psi = -mean lambda and phi = mean y lambda. The rounding of
 * 1/mu to float shifts every lambda by the same amount, which is added back to the sums. */
typedef struct far_class {
    vl lanes; /* The other lanes keep their values. */
    vd over, slip;
    vf inverse, least;
} far_class;

INLINE far_class far_class_of(const tile *t, size_t c) {
    vd mu = t->mu[c];
    far_class far;
    far.lanes = (t->variance[c] >= 0.02 * (mu * mu)) & ~(mu < 1e-30);
    if (t->M > 4096) /* A rounding error that nearly all members share must not accumulate. */
        far.lanes = (vl){0};
    far.over = vd_reciprocal(vd_select(far.lanes, mu, vd_set(1.0)));
    far.inverse = vf_both(far.over);
    far.least = vf_both(far.over * TINY);
    far.slip = vd_select(far.lanes, 1.0 - vd_from(vf_low(far.inverse)) * mu, vd_set(0.0));
    return far;
}

/* phi and psi, and with them U and T at the first G gates. `mixed`: at least one lane has a smaller spread; the general
 * path has stored that lane's p lambda in t->plog32. */
INLINE void class_far32(tile *t, size_t c, const far_class *far, bool mixed, bool odd, const int G) {
    const vf *x = t->members32, *omega = t->omega32;
    size_t half = t->pairs, full = t->M / 2, i = 0;
    vf inverse = far->inverse, least = far->least;
    vi taken = (vi)vf_twice((vh) __builtin_convertvector(far->lanes, vj));
    vd total_log = {0}, total_both = {0};
    gated_sums sums, some;
    clear_gated(&sums, G);
    while (i < half) {
        size_t end = half - i < PAIRS_IN_FLOAT ? half : i + PAIRS_IN_FLOAT;
        vf logs = vf_set(0.0f), boths = vf_set(0.0f);
        clear_gated(&some, G);
        while (i < end) {
            size_t stop = end - i < PAIRS_AT_A_TIME ? end : i + PAIRS_AT_A_TIME;
            vf sum_log = vf_set(0.0f), sum_both = vf_set(0.0f);
            for (; i < stop; i++) {
                vf p = vf_held(x[i]), y = vf_max(p * inverse, least);
                if (odd && i == full) /* The second half of the last pair is padding when M is odd. */
                    y = vf_pair(y, 1.0f);
                vf lambda = vf_rounded(vm_log32(y)), q = vf_rounded(p * lambda);
                sum_log += lambda;
                sum_both += q;
                if (mixed)
                    q = vf_choose(~vi_zero(taken), q, t->plog32[i]);
                if (G != 0 && G != 3)
                    t->plog32[i] = q; /* for the other gates */
                UNROLL
                for (int j = 0; j < G; j++) {
                    vf w = vf_held(omega[(size_t)j * half + i]);
                    some.shift[j] += w * p;
                    some.both[j] += w * q;
                }
            }
            logs += vf_rounded(sum_log);
            boths += vf_rounded(sum_both);
        }
        total_log += vf_fold(logs);
        total_both += vf_fold(boths);
        add_gated(&sums, &some, G);
    }
    double scale = 1.0 / (double)t->M;
    t->psi[c] = vd_select(far->lanes, -(total_log * scale + far->slip), t->psi[c]);
    t->phi[c] = vd_select(far->lanes, total_both * scale * far->over + far->slip, t->phi[c]);
    UNROLL
    for (int j = 0; j < G; j++) {
        size_t at = (size_t)j * t->C + c;
        t->shift[at] = vf_fold(sums.shift[j]) * scale;
        t->cross[at] = vf_fold(sums.both[j]) * scale + far->slip * t->shift[at];
    }
}

INLINE void class_far32_of(tile *t, size_t c, const far_class *far, const int G) {
    bool mixed = vl_any(~far->lanes);
    if (mixed || t->M % 2)
        class_far32(t, c, far, mixed, true, G);
    else
        class_far32(t, c, far, false, false, G);
}
static void class_far32_0(tile *t, size_t c, const far_class *far) { class_far32_of(t, c, far, 0); }
static void class_far32_1(tile *t, size_t c, const far_class *far) { class_far32_of(t, c, far, 1); }
static void class_far32_3(tile *t, size_t c, const far_class *far) { class_far32_of(t, c, far, 3); }
static void class_far32_4(tile *t, size_t c, const far_class *far) { class_far32_of(t, c, far, 4); }

/* phi and psi; returns the number of gates whose U and T are already computed. */
static size_t class_logs32(tile *t, size_t c, bool keep, vd *slip) {
    far_class far = far_class_of(t, c);
    if (vl_any(~far.lanes))
        keep ? class_terms32(t, c, true) : class_terms32(t, c, false);
    if (!vl_any(far.lanes))
        return 0;
    *slip = far.slip;
    size_t gates = !keep ? 0 : t->K == 3 ? 3 : t->K > 3 ? 4 : 1;
    gates == 0   ? class_far32_0(t, c, &far)
    : gates == 1 ? class_far32_1(t, c, &far)
    : gates == 3 ? class_far32_3(t, c, &far)
                 : class_far32_4(t, c, &far);
    return gates;
}
#else
static size_t class_logs32(tile *t, size_t c, bool keep, vd *slip) {
    (void)slip;
    keep ? class_terms32(t, c, true) : class_terms32(t, c, false);
    return 0;
}
#endif

INLINE void class_sums32_of(tile *t, size_t c, size_t k, bool cross, vd slip) {
    for (; k + 4 <= t->K; k += 4)
        class_sums32_block(t, c, k, cross, slip, 4);
    if (t->K - k == 3)
        class_sums32_block(t, c, k, cross, slip, 3);
    else
        for (; k < t->K; k++)
            class_sums32_block(t, c, k, cross, slip, 1);
    for (k = 0; k < t->K; k++)
        gated_mean(t, k, c, t->gmean);
}
/* U and T from gate k on, and the means of all gates. */
static void class_sums32(tile *t, size_t c, size_t k, vd slip) {
    t->job->need_gated_logs ? class_sums32_of(t, c, k, true, slip) : class_sums32_of(t, c, k, false, slip);
}

/* The lanes whose divergences are too large for float. The choice must not depend on which results are requested, so
 * that a result has the same bits in every request. */
static void find_large(tile *t) {
    vd forward = {0}, reverse = {0};
    for (size_t c = 0; c < t->C; c++) {
        forward += t->mu[c] * t->phi[c];
        reverse += t->mu[c] * t->psi[c];
    }
    t->write = t->write_psi = ~(forward < LARGE) | ~(reverse < LARGE_REVERSE);
}

/* psi in double of classes with a member far below the mean. Only the divergences from the mean to members have it. */
static void far_psi(tile *t) {
    for (size_t c = 0; c < t->C; c++) {
        vd mu = t->mu[c], sum = {0};
        vl far = (t->low[c] * FAR_RATIO < mu) & (mu * (double)t->C > FAR_SHARE);
        if (!vl_any(far))
            continue;
        vd inverse = vd_reciprocal(vd_select(far, mu, vd_set(1.0)));
        for (size_t m = 0; m < t->M; m++)
            sum -= vm_log(vd_max(value_at(t, true, m, c), vd_set(TINY)) * inverse);
        t->psi[c] = vd_select(far, sum * (1.0 / (double)t->M), t->psi[c]);
    }
}

/* Prefetches the next tile's samples, a share with each class. */
INLINE void fetch_class(const tile *t, size_t c) {
    if (t->prefetch_at)
        for (int lane = 0; lane < VG_LANES; lane++) {
            const char *row = t->prefetch_at + (ptrdiff_t)lane * t->prefetch_stride;
            for (size_t i = c * t->prefetch_bytes; i < (c + 1) * t->prefetch_bytes; i += 64)
                __builtin_prefetch(row + i, 0, 2);
        }
}

static void fused_classes(tile *t) {
    const vg_kernel_job *job = t->job;
    bool logs = job->need_logs, keep = job->need_gated_logs, integral = job->out.epjs || job->out.gepjs;
    bool few = integral && t->M <= JS32_FEW, many = integral && !few;
    if (integral)
        js_prepare(t);
    for (size_t c = 0; c < t->C; c++) {
        vd slip = {0};
        js32_load(t, c, few);
        t->over_mu[c] = vd_select(t->mu[c] < 1e-30, vd_set(0.0), vd_reciprocal(vd_max(t->mu[c], vd_set(1e-30))));
        size_t done = logs ? class_logs32(t, c, keep, &slip) : 0;
        if (t->K)
            class_sums32(t, c, done, slip);
        if (few)
            js_class(t, c, true);
    }
    /* Prefetched a second time: the first-level cache cannot hold both tiles. */
    for (size_t c = 0; many && c < t->C; c++) {
        fetch_class(t, c);
        js32_load(t, c, true);
        js_class(t, c, true);
    }
    if (few)
        js_finish(t);
    vd *corrected = t->gmean64;
    t->gmean64 = t->gmean;
    if (!logs)
        return;
    find_large(t);
    vl gated = t->write;
    for (size_t k = 0; keep && k < t->K; k++) {
        vd reverse = {0};
        for (size_t c = 0; c < t->C; c++)
            reverse += t->gmean[k * t->C + c] * t->psi[c];
        gated |= ~(t->psi_z[k] < LARGE) | ~(reverse < LARGE_REVERSE);
    }
    if (job->need_reverse || job->need_gated_reverse)
        far_psi(t);
    if (vl_any(t->write | (keep ? gated : (vl){0})))
        ungated_terms(t);
    t->write = gated;
    if (keep && vl_any(gated)) {
        t->gmean64 = corrected;
        gated_weights(t);
        correct_means(t);
        gated_cross(t);
    }
    t->write = t->write_psi = ~(vl){0};
}
