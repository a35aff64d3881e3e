/* class32.h - float32 probabilities, taken as they are: the same sums as
 * entropy.h, class by class in float, two members a vector.
 *
 * p is a float exactly, so p - mu is had to full relative accuracy from mu in
 * two floats; lambda and psi then carry a relative error of 2e-7, phi = r
 * lambda - psi little more, and so do EU, GEU, EPKL, GEPKL. Means stay in
 * double. Where a divergence is so large that this is more than 1e-6 (above 2
 * nats), the double forms correct those lanes. */

#define LARGE 2.0 /* nats */

/* phi and psi of the class at hand; p lambda goes to t->plog32 where a gate
 * will need it. */
INLINE void class_terms32(tile *t, size_t c, bool keep) {
    const vf *x = t->members32;
    size_t full = t->M / 2, i = 0;
    vd mu = t->mu[c];
    vl empty = mu < 1e-30;
    vd over = vd_reciprocal(vd_select(empty, vd_set(1.0), mu));
    t->over_mu[c] = vd_select(empty, vd_set(0.0), over);
    vf hi = vf_twice(t->mu_high[c]), lo = vf_twice(t->mu_low[c]);
    vf inverse = vf_both(over), least = vf_both(vd_select(empty, vd_set(1.0), over * TINY)); /* 1: an empty class has y = 1 */
    vd total_both = {0}, total_psi = {0};
    for (; i < t->pairs;) {
        size_t stop = t->pairs - i < 32 ? t->pairs : i + 32; /* float sums stay short */
        vf sum_both = vf_set(0.0f), sum_psi = vf_set(0.0f), lambda, psi;
        for (; i < stop; i++) {
            vf p = x[i], r = ((p - hi) - lo) * inverse, y = vf_max(p * inverse, least);
            if (i == full) { /* the odd member's partner */
                y = vf_pair(y, 1.0f);
                r = vf_pair(r, 0.0f);
            }
            vm_bregman32(y, r, &lambda, &psi);
            sum_both += r * lambda;
            sum_psi += psi;
            if (keep)
                t->plog32[i] = p * lambda;
        }
        total_both += vf_fold(sum_both);
        total_psi += vf_fold(sum_psi);
    }
    double scale = 1.0 / (double)t->M;
    t->psi[c] = vd_select(empty, vd_set(0.0), total_psi * scale);
    t->phi[c] = vd_select(empty, vd_set(0.0), (total_both - total_psi) * scale);
}

/* U of the class at hand at G gates from k on, and T where `cross`; in two
 * interleaved sums. */
INLINE void class_sums32_block(tile *t, size_t c, size_t k, bool cross, const int G) {
    size_t half = t->pairs, i = 0;
    const vf *omega = t->omega32 + k * half, *x = t->members32;
    vf shift[4][2], both[4][2];
    UNROLL
    for (int j = 0; j < G; j++)
        shift[j][0] = shift[j][1] = both[j][0] = both[j][1] = vf_set(0.0f);
    for (; i + 2 <= half; i += 2)
        UNROLL
    for (int a = 0; a < 2; a++) {
        vf p = vf_held(x[i + (size_t)a]), q = cross ? vf_held(t->plog32[i + (size_t)a]) : p;
        UNROLL
        for (int j = 0; j < G; j++) {
            vf w = vf_held(omega[(size_t)j * half + i + (size_t)a]);
            shift[j][a] += w * p;
            if (cross)
                both[j][a] += w * q;
        }
    }
    UNROLL
    for (int j = 0; j < G; j++) {
        size_t at = (k + (size_t)j) * t->C + c;
        if (i < half) {
            shift[j][0] += omega[(size_t)j * half + i] * x[i];
            if (cross)
                both[j][0] += omega[(size_t)j * half + i] * t->plog32[i];
        }
        t->shift[at] = vf_fold(shift[j][0] + shift[j][1]) * (1.0 / (double)t->M);
        if (cross)
            t->cross[at] = vf_fold(both[j][0] + both[j][1]) * (1.0 / (double)t->M);
    }
}

INLINE void class_sums32_of(tile *t, size_t c, bool cross) {
    size_t k = 0;
    for (; k + 4 <= t->K; k += 4)
        class_sums32_block(t, c, k, cross, 4);
    if (t->K - k == 3)
        class_sums32_block(t, c, k, cross, 3);
    else
        for (; k < t->K; k++)
            class_sums32_block(t, c, k, cross, 1);
    for (k = 0; k < t->K; k++)
        gated_mean(t, k, c, t->gmean);
}
static void class_sums32(tile *t, size_t c) {
    t->job->need_gated_logs ? class_sums32_of(t, c, true) : class_sums32_of(t, c, false);
}

/* The lanes whose divergences are too large for float; which they are must not
 * depend on what else is asked for. */
static void find_large(tile *t) {
    vd forward = {0}, reverse = {0};
    for (size_t c = 0; c < t->C; c++) {
        forward += t->mu[c] * t->phi[c];
        reverse += t->mu[c] * t->psi[c];
    }
    t->write = t->write_psi = ~(forward < LARGE) | ~(reverse < LARGE);
}

static void fused_classes(tile *t) {
    const vg_kernel_job *job = t->job;
    bool logs = job->need_logs, keep = job->need_gated_logs, integral = job->out.epjs || job->out.gepjs;
    if (integral)
        js_prepare(t);
    for (size_t c = 0; c < t->C; c++) {
        js32_load(t, c, integral);
        if (logs)
            keep ? class_terms32(t, c, true) : class_terms32(t, c, false);
        if (t->K)
            class_sums32(t, c);
        if (integral)
            js_class(t, c, true);
    }
    if (integral && t->M <= JS32_FEW)
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
        gated |= ~(t->psi_z[k] < LARGE) | ~(reverse < LARGE);
    }
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
