/* panel_refine.h - GEPCE and GEPKL of float panels in lanes in which the gated members lie far from their mean.
 *
 * The divergence from the mean to the members is sum_c q psi, and psi may be tens of nats: the relative error of a gate
 * in float, 3e-7, is then an absolute error above 1e-6. Spreads, gates and normalisers are taken again in double, and
 * psi with its exponents apart (exact_psi), without a logarithm in double:
 *
 *     Z_m = sum_c Gamma p_m    q = Gamma mean_m p_m / Z_m    1 + u = Zbar mean_m p_m / (Z_m mu)
 *     divergence = sum_c q psi + g mu phi(u) */

/* The factor of k at the classes of half h of column j. */
static vd refine_factor(const panel_s *t, size_t j, int h) {
    vd factor = vd_set(1.0);
    for (size_t i = 0; t->job->class_k && i < VG_LANES; i++) {
        size_t c = t->across ? j * 2 * VG_LANES + (size_t)h * VG_LANES + i : j;
        factor[i] = c < t->C ? t->job->class_k[c] : 1.0;
    }
    return factor;
}

/* The gates of column j, which becomes the current one, and its shares of the normalisers. */
static void refine_gates(panel_s *t, size_t j) {
    size_t M = t->M, K = t->K;
    const gating_d by = gating_of_d(t->job);
    t->of = column_source_s(t, j);
    for (int h = 0; h < 2; h++) {
        vd mu = t->mu[j].h[h], squares = {0}, *gamma = t->fine_gamma + 2 * j * K + h;
        for (size_t m = 0; m < M; m++) {
            vd d = half_s(member_s(t->of, m), h) - mu;
            squares += d * d;
        }
        vd sigma = vd_sqrt(squares * (1.0 / (double)M)), factor = refine_factor(t, j, h);
        for (size_t k = 0; k < K; k++)
            gamma[2 * k] = gate_of_d(by, t->job->gates[k], factor, mu, sigma);
        for (size_t m = 0; m < M; m++) {
            vd p = half_s(member_s(t->of, m), h);
            for (size_t k = 0; k < K; k++)
                t->fine_z[2 * (k * M + m) + (size_t)h] += gamma[2 * k] * p;
        }
    }
}

/* Zbar at gate k, and 1/Z_m in place of Z_m. */
static void refine_weights(panel_s *t, size_t k) {
    fine_s *sums = &t->fine_sums[k];
    memset(sums, 0, sizeof *sums);
    for (size_t m = 0; m < t->M; m++) {
        acc_s z;
        vd *place = t->fine_z + 2 * (k * t->M + m);
        memcpy(&z, place, sizeof z);
        z = complete_s(t, z);
        for (int h = 0; h < 2; h++) {
            sums->zbar.h[h] += z.h[h] * (1.0 / (double)t->M);
            place[h] = 1.0 / z.h[h];
        }
    }
}

/* The divergence of the current column at gate k, and the floors in it. */
static void refine_gate(panel_s *t, size_t j, size_t k, const acc_s *psi) {
    size_t M = t->M;
    fine_s *sums = &t->fine_sums[k];
    acc_s q, own, u;
    for (int h = 0; h < 2; h++) {
        vd sum = {0}, gamma = t->fine_gamma[2 * (j * t->K + k) + (size_t)h], mu = t->mu[j].h[h], zbar = sums->zbar.h[h];
        const vd *weight = t->fine_z + 2 * k * M + h;
        for (size_t m = 0; m < M; m++)
            sum += half_s(member_s(t->of, m), h) * weight[2 * m];
        sum *= 1.0 / (double)M;
        q.h[h] = gamma * sum;
        own.h[h] = gamma * mu * vd_reciprocal(zbar);
        u.h[h] = vd_select(mu < 1e-30, vd_set(0.0), sum * zbar * vd_reciprocal(vd_max(mu, vd_set(1e-30))) - 1.0);
    }
    acc_s phi = widen_s(phi_s(narrow_s(u)));
    for (int h = 0; h < 2; h++)
        sums->reverse.h[h] += q.h[h] * psi->h[h] + own.h[h] * phi.h[h];
    vf least = t->low[j] * t->gamma[j * t->K + k] * t->inverse_real[k] * t->over_low[k];
    if (vi_any((least < (float)t->job->options.floor) & ~(t->mu_high[j] < 1e-30f))) {
        acc_s diagonal = {{{0}}}, floors;
        if (t->floors_of != j)
            floor_logs_s(t);
        t->floors_of = j;
        floors = floored_s(t, j, 1 + k, &diagonal);
        for (int h = 0; h < 2; h++)
            sums->floors.h[h] += q.h[h] * floors.h[h];
    }
}

/* The divergences of column j, which becomes the current one. */
static void refine_terms(panel_s *t, size_t j) {
    t->of = column_source_s(t, j);
    t->floors_of = t->J;
    column_s at = column_of_s(j, t->mu_high[j], t->mu_low[j]);
    acc_s psi = exact_psi_s(t, &at);
    for (size_t k = 0; k < t->K; k++)
        refine_gate(t, j, k, &psi);
}

/* One of the two above for every column, block by block. */
static void refine_columns(panel_s *t, void (*column)(panel_s *, size_t)) {
    for (size_t from = 0; from < t->J; from += t->block) {
        if (t->across)
            load_block_s(t, from);
        for (size_t j = from; j < from + t->block && j < t->J; j++)
            column(t, j);
    }
}

/* The choice of lanes does not depend on other lanes, nor on which results are requested. */
static void refine_panel(panel_s *t) {
    vdm some = vd_reaches(vd_set(0.0), LARGE_REVERSE);
    for (size_t k = 0; t->logs && t->job->need_gated_reverse && k < t->K; k++)
        some |= vd_reaches(t->sets[1 + k].reverse.h[0], LARGE_REVERSE) |
                vd_reaches(t->sets[1 + k].reverse.h[1], LARGE_REVERSE);
    if (!vdm_any(some))
        return;
    t->floored = true;
    memset(t->fine_z, 0, 2 * t->K * t->M * sizeof *t->fine_z);
    refine_columns(t, refine_gates);
    for (size_t k = 0; k < t->K; k++)
        refine_weights(t, k);
    refine_columns(t, refine_terms);
    for (size_t k = 0; k < t->K; k++) {
        set_s *set = &t->sets[1 + k];
        acc_s reverse = complete_s(t, t->fine_sums[k].reverse), floors = complete_s(t, t->fine_sums[k].floors);
        for (int h = 0; h < 2; h++) {
            vl large = ~(set->reverse.h[h] < LARGE_REVERSE);
            set->floors.h[h] = vd_select(large, floors.h[h], set->floors.h[h]);
            set->reverse.h[h] = vd_select(large, reverse.h[h], set->reverse.h[h]);
        }
    }
}
