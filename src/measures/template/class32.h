/* class32.h - float32 probabilities, taken as they are: the same sums as entropy.h, class by class in float, two members a vector.
 *
 * p is a float exactly, so p - mu is had to full relative accuracy from mu in two floats; lambda, phi and psi then carry a relative
 * error of 2e-7 and so do EU, GEU, EPKL, GEPKL. Means stay in double. Where a divergence is so large that this is more than 1e-6 (above 2 nats), the
 * double forms correct those lanes. A class's members are fetched once for the logarithms, every gate's sums and every integral. */

#define LARGE 2.0 /* nats */

INLINE vf vf_both(vd x) { return vf_pack(x, x); }

/* phi and psi of a class whose members stand in t->columns; p lambda goes to t->plog32 where a gate will need it. */
INLINE void class_terms32(tile *t, size_t c, bool keep, bool reverse) {
    const vf *x = (const vf *)t->columns;
    size_t M = t->M, vectors = (M + 1) / 2;
    vd mu = t->mu[c];
    vl empty = mu < 1e-30;
    vd safe = vd_select(empty, vd_set(1.0), mu), over = 1.0 / safe;
    vh high = __builtin_convertvector(mu, vh);
    vf hi = vf_both(__builtin_convertvector(high, vd)), lo = vf_both(mu - __builtin_convertvector(high, vd));
    vf inverse = vf_both(over), fill = vf_both(vd_select(empty, vd_set(1.0), vd_set(0.0))), least = vf_both(over * TINY);
    vf sum_phi = vf_set(0.0f), sum_psi = vf_set(0.0f);
    vd total_phi = {0}, total_psi = {0};
    for (size_t i = 0; i < vectors; i++) {
        if (i % 32 == 31) { /* float sums stay short */
            total_phi += vf_fold(sum_phi);
            total_psi += vf_fold(sum_psi);
            sum_phi = sum_psi = vf_set(0.0f);
        }
        vf p = x[i], r = ((p - hi) - lo) * inverse, y = p * inverse + fill, lambda, psi, phi;
        y = vf_max(y, least);
        if (2 * i + 1 == M) { /* the odd member's partner */
            y = vf_pair(y, 1.0f);
            r = vf_pair(r, 0.0f);
        }
        vm_bregman32(y, r, &lambda, &psi, &phi);
        sum_phi += phi;
        if (reverse)
            sum_psi += psi;
        if (keep)
            t->plog32[i] = p * lambda;
    }
    double scale = 1.0 / (double)M;
    t->phi[c] = vd_select(empty, vd_set(0.0), (total_phi + vf_fold(sum_phi)) * scale);
    t->psi[c] = vd_select(empty, vd_set(0.0), (total_psi + vf_fold(sum_psi)) * scale);
}

static void class_terms32_of(tile *t, size_t c, bool keep, bool reverse) {
    if (keep)
        reverse ? class_terms32(t, c, true, true) : class_terms32(t, c, true, false);
    else
        reverse ? class_terms32(t, c, false, true) : class_terms32(t, c, false, false);
}

/* T of a class at G gates from k on. */
INLINE void class_cross32_block(tile *t, size_t c, size_t k, const int G) {
    size_t half = (t->M + 1) / 2, i = 0;
    const vf *omega = t->omega32 + k * half;
    vf sum[4][2];
    UNROLL
    for (int j = 0; j < G; j++)
        sum[j][0] = sum[j][1] = vf_set(0.0f);
    for (; i + 2 <= half; i += 2)
        UNROLL
        for (int j = 0; j < G; j++) {
            sum[j][0] += omega[(size_t)j * half + i] * t->plog32[i];
            sum[j][1] += omega[(size_t)j * half + i + 1] * t->plog32[i + 1];
        }
    UNROLL
    for (int j = 0; j < G; j++) {
        if (i < half)
            sum[j][0] += omega[(size_t)j * half + i] * t->plog32[i];
        t->cross[(k + (size_t)j) * t->C + c] = vf_fold(sum[j][0] + sum[j][1]) * (1.0 / (double)t->M);
    }
}

static void class_cross32(tile *t, size_t c) {
    size_t k = 0;
    for (; k + 4 <= t->K; k += 4)
        class_cross32_block(t, c, k, 4);
    if (t->K - k == 3)
        class_cross32_block(t, c, k, 3);
    else
        for (; k < t->K; k++)
            class_cross32_block(t, c, k, 1);
}

/* psi(z) in float. Where all z are small the logarithm needs no exponent: the same value by fewer operations. */
static void normaliser_psi32(tile *t) {
    size_t M = t->M;
    vd low = vd_set(1e-30);
    for (size_t k = 0; k < t->K; k++) {
        const vd *z = t->z + k * M;
        vf sum = vf_set(0.0f), lambda, psi, phi;
        for (size_t a = 0; a < M; a += 2) {
            vd other = a + 1 < M ? z[a + 1] : vd_set(0.0);
            vf both = vf_pack(z[a], other);
            if (vl_any((vd_abs(z[a]) > 0.29) | (vd_abs(other) > 0.29)))
                vm_bregman32(vf_pack(vd_max(1.0 + z[a], low), vd_max(1.0 + other, low)), both, &lambda, &psi, &phi);
            else
                psi = vm_psi32(both);
            sum += vf_rounded(psi);
        }
        t->psi_z[k] = vf_fold(sum) * (1.0 / (double)M);
    }
}

/* The lanes whose divergences are too large for float; which they are must not depend on what else is asked for. */
static void find_large(tile *t) {
    vd forward = {0}, reverse = {0};
    for (size_t c = 0; c < t->C; c++) {
        forward += t->mu[c] * t->phi[c];
        reverse += t->mu[c] * t->psi[c];
    }
    t->write = ~(forward < LARGE);
    t->write_psi = ~(reverse < LARGE);
}

static void fused_classes(tile *t) {
    const vg_kernel_job *job = t->job;
    bool logs = job->need_logs, keep = job->need_gated_logs, reverse = job->need_reverse || job->need_gated_reverse;
    bool integral = job->out.epjs || job->out.gepjs;
    if (t->K) {
        gated_means(t);
        if (keep) {
            normaliser_psi32(t);
            for (size_t k = 0; k < t->K; k++)
                pack_members(t->omega32 + k * ((t->M + 1) / 2), t->omega + k * t->M, t->M, vd_set(1.0));
        }
        if (job->out.gepjs)
            pack_weights32(t);
    }
    for (size_t c = 0; c < t->C && (logs || integral); c++) {
        js32_load(t, c, integral);
        if (logs)
            class_terms32_of(t, c, keep, reverse);
        if (keep)
            class_cross32(t, c);
        if (integral)
            js_class(t, c, true);
    }
    if (!logs)
        return;
    find_large(t);
    vl gated = t->write;
    for (size_t k = 0; keep && k < t->K; k++)
        gated |= ~(t->psi_z[k] < LARGE);
    if (vl_any(t->write | t->write_psi | (keep ? gated : (vl){0})))
        ungated_terms(t);
    t->write = gated;
    if (keep && vl_any(gated))
        gated_cross(t);
    t->write = t->write_psi = ~(vl){0};
}
