/* entropy.h - the ungated measures, and the gated ones from sums that need no logarithm per gate.
 *
 * Ungated. With r = p/mu - 1, lambda = log(p/mu), phi = (1+r) lambda - r and psi = r - lambda (both >= 0), means over
 * members:
 *     EU = sum_c mu phi        KL(p_m || mu)
 *     R  = sum_c mu psi        KL(mu || p_m)        EPKL = EU + R
 *     TU = H(mu)   AU = TU - EU   EPCE = AU + EPKL
 * Nothing is a difference of nearly equal numbers, and because the terms are Bregman divergences an error of one ulp in
 * mu only enters squared.
 *
 * Gated. Zbar = sum_c Gamma mu, z_m = Z_m/Zbar - 1 = sum_c Gamma (p_m - mu)/Zbar, omega_m = 1/(1 + z_m) - 1, g =
 * Gamma/Zbar:
 *     q_m = g (1 + omega_m) p_m        q = g (mu + U)          U(c) = mean_m omega_m p_m
 *     log(q_m/q) = lambda_m - log(1 + z_m) - log(1 + U/mu)     T(c) = mean_m omega_m p_m lambda_m
 * Putting these into the sums and cancelling what is zero exactly (sum_c g U = 0, sum_c g mu mean_m r = mean_m z):
 *     GEU = sum_c g (mu phi + T - mu phi(U/mu)) + psi(z)
 *     R   = sum_c (q psi + g mu phi(U/mu)) - psi(z)            GEPKL = GEU + R
 * so a gate costs three multiply-adds per member and class: z, U and T. Floors of cross terms enter as a correction,
 * see floored().
 *
 * VG_FLOOR_ADD: every logarithm sees p + floor. With p' = p + floor, mu' = mu + floor: EU = sum mu' phi' + floor psi',
 * EPKL = sum mu' (phi' + psi'); gated members have no such shortcut, so their set is built and measured like an ungated
 * one. */

#define TINY 1e-35 /* replaces smaller probabilities inside logarithms; corrected by floored() */

typedef struct measures { /* one set's results, per lane, nats, all pairs */
    vd tu, eu, reverse, diagonal;
} measures;

INLINE bool floor_max(const tile *t) { return !t->job->options.logits && t->job->options.floor_form == VG_FLOOR_MAX; }
INLINE bool floor_add(const tile *t) { return !t->job->options.logits && t->job->options.floor_form == VG_FLOOR_ADD; }

/* H(q) with 0 log 0 = 0; `add` shifts the logarithm's argument. */
INLINE vd entropy(const vd *q, size_t C, double add) {
    vd h = {0};
    for (size_t c = 0; c < C; c++)
        h -= q[c] * vm_log(vd_max(q[c] + add, vd_set(1e-300)));
    return h;
}

/* phi and psi of one class, and p lambda where it will be needed. */
INLINE void class_terms(tile *t, size_t c, vd mu, double add, bool from_logits, bool keep) {
    size_t M = t->M, C = t->C;
    vd shifted = mu + add;
    /* No member has probability in this class: its weight is 0, so its terms do not matter. */
    vl empty = shifted < 1e-290;
    vd inverse = vd_reciprocal(vd_select(empty, vd_set(1.0), shifted)),
       fill = vd_select(empty, vd_set(1.0), vd_set(0.0));
    vd log_mu = from_logits ? vm_log(vd_select(empty, vd_set(1.0), mu)) : (vd){0};
    vd sum_phi = {0}, sum_psi = {0};
    for (size_t m = 0; m < M; m++) {
        vd p = value_at(t, t->fused, m, c);
        vd r = (p - mu) * inverse, y = vd_max(p + add, vd_set(TINY)) * inverse + fill, lambda, psi, phi;
        vm_bregman(y, r, &lambda, &psi, &phi);
        if (from_logits) { /* Far from mu the logit itself is more accurate, and it does not underflow. */
            vl far = ~(vd_abs(r) < 0.25) & ~empty;
            lambda = vd_select(far, t->log[m * C + c] - log_mu, lambda);
            psi = vd_select(far, r - lambda, psi);
            phi = vd_select(far, p * inverse * lambda - r, phi);
        }
        sum_phi += phi;
        sum_psi += psi;
        if (keep)
            t->plog[m * C + c] = p * lambda;
    }
    double scale = 1.0 / (double)M;
    t->phi[c] = vd_select(t->write, sum_phi * scale, t->phi[c]);
    t->psi[c] = vd_select(t->write_psi, sum_psi * scale, t->psi[c]);
}

static void ungated_terms(tile *t) {
    double add = floor_add(t) ? t->job->options.floor : 0.0;
    bool keep = t->job->need_gated_logs && !floor_add(t);
    for (size_t c = 0; c < t->C; c++) {
        if (t->job->options.logits)
            keep ? class_terms(t, c, t->mu[c], 0.0, true, true) : class_terms(t, c, t->mu[c], 0.0, true, false);
        else
            keep ? class_terms(t, c, t->mu[c], add, false, true) : class_terms(t, c, t->mu[c], add, false, false);
    }
}

/* Sums over the members of one class that floored() needs: logarithms of ratios max(x, floor) / x', multiplied in
 * groups of 6, so that one logarithm replaces 6, and what the diagonal pairs add. */
typedef struct floor_sums {
    vd sum, diagonal, product;
} floor_sums;

/* Adds member m with probability p. Ratios above 1e45 belong to classes without weight. */
INLINE void floor_add_member(floor_sums *f, size_t m, vd p, vd scale, vd floor, bool distinct) {
    vd x = p * scale, used = vd_max(p, vd_set(TINY)) * scale;
    vd ratio = vd_min(vd_max(x, floor) * vd_reciprocal(used), vd_set(1e45)); /* also where the product is NaN */
    ratio = vd_select((x == used) & (x >= floor), vd_set(1.0), ratio); /* exactly: neighbours change no result */
    if (distinct)
        f->diagonal -= x * vm_log(ratio);
    f->product *= ratio;
    if (m % 6 == 5) {
        f->sum += vm_log(f->product);
        f->product = vd_set(1.0);
    }
}

/* Floors of cross terms. The terms above used x' = max(p, TINY) scale inside the logarithm of a member's value x = p
 * scale; the definition has max(x, floor). Returns mean_m log(max(x, floor)/x') and adds to `diagonal` mean_m x
 * log(x'/max(x, floor)), the divergence of the diagonal pairs. `set`: 0, or 1 + the gate. */
INLINE vd floored(const tile *t, size_t c, size_t set, vd *diagonal) {
    size_t M = t->M, C = t->C;
    vd floor = vd_set(t->job->options.floor);
    bool distinct = t->job->options.pairs == VG_PAIRS_DISTINCT;
    vd gate = set ? t->gamma[(set - 1) * C + c] : vd_set(1.0);
    floor_sums f = {.product = vd_set(1.0)};
    for (size_t m = 0; m < M; m++)
        floor_add_member(&f, m, value_at(t, t->fused, m, c), set ? gate * weight_at(t, set - 1, m) : vd_set(1.0), floor,
                         distinct);
    double inverse = 1.0 / (double)M;
    *diagonal += f.diagonal * inverse;
    return (f.sum + vm_log(f.product)) * inverse;
}

/* TU, EU and the reverse divergence of the ungated members; phi and psi are already computed when logarithms are
 * needed. */
static measures ungated(tile *t) {
    const vg_kernel_job *job = t->job;
    double add = floor_add(t) ? job->options.floor : 0.0;
    measures out = {.tu = entropy(t->mu, t->C, add)};
    if (!job->need_logs)
        return out;
    for (size_t c = 0; c < t->C; c++) {
        vd mu = t->mu[c];
        out.eu += (mu + add) * t->phi[c] + add * t->psi[c];
        out.reverse += mu * t->psi[c];
        if (job->need_reverse && floor_max(t) && vl_any(t->low[c] < job->options.floor))
            out.reverse -= mu * floored(t, c, 0, &out.diagonal);
    }
    return out;
}

/* --- gates */

/* 1/Zbar. Zbar and every Z_m are far from 0: a member has a class with p >= about 1/C, whose mean is p/M or more, and
 * k times the class's factor is at most VG_SCORE_K_MOST VG_CLASS_K_MOST = 1e21, so that Gamma there is at least about
 * 1e-21 / (M C). Even in float that is a normal number for every array that fits an address space. */
static void gate_totals(tile *t) {
    for (size_t k = 0; k < t->K; k++) {
        vd sum = {0};
        for (size_t c = 0; c < t->C; c++)
            sum += t->gamma[k * t->C + c] * t->mu[c];
        t->inverse_zbar[k] = 1.0 / sum;
    }
}

/* The factor of class c in every lane; in multilabel mode that of each lane's label. */
static vd class_factor(const tile *t, size_t c) {
    const vg_kernel_job *job = t->job;
    vd factor = vd_set(1.0);
    if (job->class_k && !job->labels)
        factor = vd_set(job->class_k[c]);
    for (int lane = 0; job->class_k && job->labels && lane < VG_LANES; lane++)
        factor[lane] = job->class_k[lane_unit(t->first, t->count, lane) % job->labels];
    return factor;
}

static void gates(tile *t) {
    const vg_score_options *o = &t->job->options;
    double sample = t->M > 1 ? (double)t->M / (double)(t->M - 1) : 1.0;
    bool inside = o->gate_eps_form == VG_GATE_EPS_INSIDE;
    for (size_t c = 0; c < t->C; c++) {
        vd mu = t->mu[c], sigma = o->sigma_gate == VG_SIGMA_SAMPLE ? vd_sqrt(t->variance[c] * sample) : t->sigma[c];
        vd factor = class_factor(t, c);
        for (size_t k = 0; k < t->K; k++) {
            vd gate = t->job->gates[k] * factor;
            vd below = inside ? vd_max(gate, vd_set(1e-3)) * (sigma + o->eps) : gate * sigma + o->eps;
            vd gamma = vm_gate(mu * vd_reciprocal(below));
            t->gamma[k * t->C + c] = inside ? vd_max(gamma, vd_set(o->eps)) : gamma;
        }
    }
    gate_totals(t);
}

/* Z_m computed directly, for lanes in which it is so far below its mean that the deviation form has lost digits. */
static __attribute__((noinline)) vd normaliser(const tile *t, size_t k, size_t m) {
    vd sum = {0};
    for (size_t c = 0; c < t->C; c++)
        sum += t->gamma[k * t->C + c] * value_at(t, t->fused, m, c);
    return sum;
}

INLINE void member_weight(tile *t, size_t k, size_t m, vd deviation) {
    vd inverse = t->inverse_zbar[k], z = deviation * inverse;
    vl low = z < -0.5;
    vd y = 1.0 + z;
    if (vl_any(low)) {
        y = vd_select(low, normaliser(t, k, m) * inverse, y);
        z = vd_select(low, y - 1.0, z);
    }
    vd over = vd_reciprocal(y);
    t->z[k * t->M + m] = z;
    t->omega[k * t->M + m] = -z * over;
    t->weight[k * t->M + m] = inverse * over;
}

/* z, omega and 1/Z_m of G gates from k on, for B members at a time, so that the sums are independent of each other. */
INLINE void weights_block(tile *t, size_t k, size_t m, bool fused, const int G, const int B) {
    size_t C = t->C;
    const vd *gamma = t->gamma + k * C;
    vd sum[2][4];
    UNROLL
    for (int b = 0; b < B; b++)
        UNROLL
    for (int j = 0; j < G; j++)
        sum[b][j] = vd_set(0.0);
    for (size_t c = 0; c < C; c++)
        UNROLL
    for (int b = 0; b < B; b++) {
        vd d = value_at(t, fused, m + (size_t)b, c) - t->mu[c];
        UNROLL
        for (int j = 0; j < G; j++)
            sum[b][j] += gamma[(size_t)j * C + c] * d;
    }
    UNROLL
    for (int b = 0; b < B; b++)
        UNROLL
    for (int j = 0; j < G; j++)
        member_weight(t, k + (size_t)j, m + (size_t)b, sum[b][j]);
}
#define WEIGHTS(NAME, FUSED, G)                                                                                        \
    static void NAME(tile *t, size_t k) {                                                                              \
        size_t M = t->M, m = 0;                                                                                        \
        for (; m + 2 <= M; m += 2)                                                                                     \
            weights_block(t, k, m, FUSED, G, 2);                                                                       \
        for (; m < M; m++)                                                                                             \
            weights_block(t, k, m, FUSED, G, 1);                                                                       \
        for (size_t j = k; j < k + G; j++) {                                                                           \
            vd low = vd_set(1e300), high = vd_set(0.0);                                                                \
            for (m = 0; m < M; m++) {                                                                                  \
                low = vd_min(t->weight[j * M + m], low);                                                               \
                high = vd_max(t->weight[j * M + m], high);                                                             \
            }                                                                                                          \
            t->weight_low[j] = low;                                                                                    \
            t->weight_high[j] = high;                                                                                  \
        }                                                                                                              \
    }
WEIGHTS(weights_1, false, 1)
WEIGHTS(weights_3, false, 3)
WEIGHTS(weights_4, false, 4)
WEIGHTS(weights32_1, true, 1)

/* Mean over members of psi(z). */
static void normaliser_psi(tile *t) {
    for (size_t k = 0; k < t->K; k++) {
        vd sum = {0}, lambda, psi, phi;
        for (size_t m = 0; m < t->M; m++) {
            vd z = t->z[k * t->M + m];
            vm_bregman(vd_max(1.0 + z, vd_set(1e-300)), z, &lambda, &psi, &phi);
            sum += psi;
        }
        t->psi_z[k] = vd_select(t->write, sum * (1.0 / (double)t->M), t->psi_z[k]);
    }
}

/* Means over members of omega times p (U) or p lambda (T), for B classes from c on at G gates from k on. */
INLINE void gated_sums_block(tile *t, size_t k, size_t c, bool cross, bool fused, const int G, const int B) {
    size_t M = t->M, C = t->C;
    const vd *omega = t->omega + k * M;
    vd sum[2][4], *to = cross ? t->cross : t->shift;
    UNROLL
    for (int b = 0; b < B; b++)
        UNROLL
    for (int j = 0; j < G; j++)
        sum[b][j] = vd_set(0.0);
    for (size_t m = 0; m < M; m++)
        UNROLL
    for (int b = 0; b < B; b++) {
        size_t at = m * C + c + (size_t)b;
        vd value = cross ? t->plog[at] : value_at(t, fused, m, c + (size_t)b);
        UNROLL
        for (int j = 0; j < G; j++)
            sum[b][j] += omega[(size_t)j * M + m] * value;
    }
    UNROLL
    for (int b = 0; b < B; b++)
        UNROLL
    for (int j = 0; j < G; j++) {
        size_t at = (k + (size_t)j) * C + c + (size_t)b;
        to[at] = vd_select(t->write, sum[b][j] * (1.0 / (double)M), to[at]);
    }
}
#define GATED_SUMS(NAME, CROSS, FUSED, G)                                                                              \
    static void NAME(tile *t, size_t k) {                                                                              \
        size_t c = 0;                                                                                                  \
        for (; c + 2 <= t->C; c += 2)                                                                                  \
            gated_sums_block(t, k, c, CROSS, FUSED, G, 2);                                                             \
        for (; c < t->C; c++)                                                                                          \
            gated_sums_block(t, k, c, CROSS, FUSED, G, 1);                                                             \
    }
GATED_SUMS(shift_1, false, false, 1)
GATED_SUMS(shift_3, false, false, 3)
GATED_SUMS(shift_4, false, false, 4)
GATED_SUMS(shift32_1, false, true, 1)
GATED_SUMS(cross_1, true, false, 1)
GATED_SUMS(cross_4, true, false, 4)

/* Runs over the K gates in groups of four, then a group of three or single ones. */
typedef void gate_step(tile *t, size_t k);
INLINE void gate_groups(tile *t, gate_step *four, gate_step *three, gate_step *one) {
    size_t k = 0;
    for (; k + 4 <= t->K; k += 4)
        four(t, k);
    if (t->K - k == 3 && three) {
        three(t, k);
        return;
    }
    for (; k < t->K; k++)
        one(t, k);
}

/* Also from floats, for the lanes that the double forms correct. */
static void gated_weights(tile *t) {
    if (t->fused)
        for (size_t k = 0; k < t->K; k++)
            weights32_1(t, k);
    else
        gate_groups(t, weights_4, weights_3, weights_1);
}

/* U and the mean gated distribution. */
INLINE void gated_mean(const tile *t, size_t k, size_t c, vd *to) {
    size_t at = k * t->C + c;
    to[at] = vd_max(t->gamma[at] * t->inverse_zbar[k] * (t->mu[c] + t->shift[at]), vd_set(0.0));
}
static void gated_means(tile *t) {
    gate_groups(t, shift_4, shift_3, shift_1);
    for (size_t k = 0; k < t->K; k++)
        for (size_t c = 0; c < t->C; c++)
            gated_mean(t, k, c, t->gmean);
}
/* From floats, for the lanes that the double forms correct. GTU keeps its float value, so that it does not depend on
 * the other results requested. */
static void correct_means(tile *t) {
    for (size_t k = 0; k < t->K; k++) {
        shift32_1(t, k);
        for (size_t c = 0; c < t->C; c++)
            gated_mean(t, k, c, t->gmean64);
    }
}

/* T and psi(z). */
static void gated_cross(tile *t) {
    normaliser_psi(t);
    gate_groups(t, cross_4, NULL, cross_1);
}

/* U/mu of class c at gate k. */
INLINE vd shift_ratio(const tile *t, size_t k, size_t c) {
    vd mu = t->mu[c];
    vl empty = mu < 1e-290;
    return vd_select(empty, vd_set(0.0), t->shift[k * t->C + c] * vd_reciprocal(vd_select(empty, vd_set(1.0), mu)));
}
static measures gated(tile *t, size_t k) {
    const vg_kernel_job *job = t->job;
    const vd *q = t->gmean64 + k * t->C;
    measures out = {.tu = entropy(t->gmean + k * t->C, t->C, 0.0)};
    if (!job->need_gated_logs)
        return out;
    vd inverse = t->inverse_zbar[k];
    out.eu = t->psi_z[k];
    out.reverse = -t->psi_z[k];
    for (size_t c = 0; c < t->C; c++) {
        size_t at = k * t->C + c;
        vd g = t->gamma[at] * inverse, own = g * t->mu[c], ratio = shift_ratio(t, k, c), lambda, psi, phi;
        vm_bregman(vd_max(1.0 + ratio, vd_set(1e-300)), ratio, &lambda, &psi, &phi);
        out.eu += own * (t->phi[c] - phi) + g * t->cross[at];
        out.reverse += q[c] * t->psi[c] + own * phi;
        if (job->need_gated_reverse && floor_max(t) &&
            vl_any(t->low[c] * t->gamma[at] * t->weight_low[k] < job->options.floor))
            out.reverse -= q[c] * floored(t, c, 1 + k, &out.diagonal);
    }
    return out;
}
