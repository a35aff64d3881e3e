/* gates32.h - the gates of float members, two classes per vector; z, omega and 1/Z_m, two members per vector.
 *
 * A gate's relative error of 3e-7 acts like an error of the same size in the distribution that is measured. z is
 * computed in float from exact differences: its error is 1e-7 of the members' spread, and the gated measures multiply
 * it by the spread again. */

static void gates32(tile *t) {
    const vg_score_options *o = &t->job->options;
    size_t C = t->C, K = t->K;
    bool inside = o->gate_eps_form == VG_GATE_EPS_INSIDE, sample = o->sigma_gate == VG_SIGMA_SAMPLE && t->M > 1;
    float eps = (float)o->eps, scale = sample ? (float)sqrt((double)t->M / (double)(t->M - 1)) : 1.0f;
    for (size_t c = 0; c < C; c += 2) {
        size_t next = c + 1 < C ? c + 1 : c;
        vf mu = vf_join(t->mu_high[c], t->mu_high[next]), sigma = vf_pack(t->sigma[c], t->sigma[next]) * scale;
        vf factor = t->job->class_k ? vf_pack(class_factor(t, c), class_factor(t, next)) : vf_set(1.0f);
        for (size_t k = 0; k < K; k++) {
            vf gate = (float)(t->job->gates[k] < 1e25 ? t->job->gates[k] : 1e25) * factor;
            vf below = inside ? vf_max(gate, vf_set(1e-3f)) * (sigma + eps) : gate * sigma + eps;
            vf gamma = vm_gate32(mu * vf_reciprocal(vf_max(below, vf_set(1e-37f))));
            gamma = inside ? vf_max(gamma, vf_set(eps)) : gamma;
            t->gamma32[c * K + k] = vf_low(gamma);
            t->gamma32[next * K + k] = vf_high(gamma); /* of an odd last class both halves are its own */
            t->gamma[k * C + c] = vd_from(t->gamma32[c * K + k]);
            t->gamma[k * C + next] = vd_from(t->gamma32[next * K + k]);
        }
    }
    gate_totals(t);
}

typedef struct gate32 {  /* running results of one gate */
    vf inverse;          /* 1/Zbar */
    vf least, most, psi; /* extremes of 1 + omega, sum of psi(z) */
} gate32;

/* Recomputes Z_m/Zbar directly in double for lanes in which it is far below 1. */
static __attribute__((noinline)) vf far_below(tile *t, size_t k, size_t i, vf y, vf z) {
    vd fixed[2];
    for (size_t b = 0; b < 2; b++) {
        size_t m = 2 * i + b;
        vd own = vd_from(vf_low(y));
        if (b)
            own = vd_from(vf_high(y));
        fixed[b] = own;
        if (m >= t->M)
            continue;
        vl low = vd_from(b ? vf_high(z) : vf_low(z)) < -0.5;
        fixed[b] = vd_select(low, normaliser(t, k, m) * t->inverse_zbar[k], own);
    }
    return vf_pack(fixed[0], fixed[1]);
}

/* From sum_c Gamma (p - mu) of pair i. Where all z are small, the logarithm in psi needs no exponent, and fewer
 * operations give the same value. */
INLINE void member_weight32(tile *t, size_t k, size_t i, vf deviation, gate32 *g, bool logs) {
    vf z = deviation * g->inverse;
    if (2 * i + 1 == t->M)
        z = vf_pair(z, 0.0f);
    vf y = 1.0f + z, psi;
    if (vi_any(z < -0.5f)) {
        vi low = z < -0.5f;
        y = far_below(t, k, i, y, z);
        vf fixed = y - 1.0f;
        z = (vf)(((vi)fixed & low) | ((vi)z & ~low));
    }
    vf over = vf_reciprocal(y), omega = -z * over;
    if (2 * i + 1 == t->M)
        over = vf_pair(over, 1.0f);
    t->over32[k * t->pairs + i] = over;
    t->omega32[k * t->pairs + i] = omega;
    g->least = vf_least(over, g->least);
    g->most = vf_most(over, g->most);
    if (!logs)
        return;
    if (vi_any((z > 0.29f) | (z < -0.29f))) {
        vf lambda, phi;
        vm_bregman32(vf_max(y, vf_set(1e-30f)), z, &lambda, &psi, &phi);
    } else
        psi = vm_psi32(z);
    g->psi += vf_rounded(psi);
}

/* Classes that are summed in float before the sum is added to others: equal classes are rounded alike. */
enum { CLASSES_IN_FLOAT = 16 };

/* G gates from k on, B pairs of members from i on. */
INLINE void weights32_block(tile *t, size_t k, size_t i, gate32 *g, bool logs, const int G, const int B) {
    const vf *x = (const vf *)t->x + i;
    const vh *gamma = t->gamma32 + k;
    vf sum[8][4], before[8][4];
    UNROLL
    for (int b = 0; b < B; b++)
        UNROLL
    for (int j = 0; j < G; j++)
        sum[b][j] = vf_set(0.0f);
    if (t->C > CLASSES_IN_FLOAT)
        memset(before, 0, sizeof before);
    for (size_t c = 0; c < t->C; c++) {
        vf high = vf_twice(t->mu_high[c]), low = vf_twice(t->mu_low[c]), gate[4];
        if (c % CLASSES_IN_FLOAT == 0 && c > 0) {
            UNROLL
            for (int b = 0; b < B; b++)
                UNROLL
            for (int j = 0; j < G; j++) {
                before[b][j] += sum[b][j];
                sum[b][j] = vf_set(0.0f);
            }
        }
        UNROLL
        for (int j = 0; j < G; j++)
            gate[j] = vf_twice(gamma[j]);
        UNROLL
        for (int b = 0; b < B; b++) {
            vf d = (x[b] - high) - low;
            UNROLL
            for (int j = 0; j < G; j++)
                sum[b][j] += gate[j] * d;
        }
        x += t->pitch / 2;
        gamma += t->K;
    }
    for (int b = 0; t->C > CLASSES_IN_FLOAT && b < B; b++)
        for (int j = 0; j < G; j++)
            sum[b][j] += before[b][j];
    /* Not unrolled: a copy for every pair and gate would be a quarter of the kernel's code. */
    for (int b = 0; b < B; b++)
        for (int j = 0; j < G; j++)
            member_weight32(t, k + (size_t)j, i + (size_t)b, sum[b][j], &g[j], logs);
}

INLINE void weights32(tile *t, size_t k, bool logs, const int G) {
    gate32 g[4];
    size_t i = 0;
    UNROLL
    for (int j = 0; j < G; j++)
        g[j] = (gate32){vf_both(t->inverse_zbar[k + (size_t)j]), vf_set(1e30f), vf_set(0.0f), vf_set(0.0f)};
    const size_t many = G < 4 ? 8 : 4; /* as many sums as fit the registers */
    for (; i + many <= t->pairs; i += many)
        weights32_block(t, k, i, g, logs, G, G < 4 ? 8 : 4);
    for (; i + 2 <= t->pairs; i += 2)
        weights32_block(t, k, i, g, logs, G, 2);
    for (; i < t->pairs; i++)
        weights32_block(t, k, i, g, logs, G, 1);
    UNROLL
    for (int j = 0; j < G; j++) {
        size_t at = k + (size_t)j;
        vh least = vh_min(vf_low(g[j].least), vf_high(g[j].least)),
           most = vh_max(vf_low(g[j].most), vf_high(g[j].most));
        t->weight_low[at] = t->inverse_zbar[at] * vd_from(least);
        t->weight_high[at] = t->inverse_zbar[at] * vd_from(most);
        t->psi_z[at] = vf_fold(g[j].psi) * (1.0 / (double)t->M);
    }
}
static void weights32_four(tile *t, size_t k) {
    t->job->need_gated_logs ? weights32(t, k, true, 4) : weights32(t, k, false, 4);
}
static void weights32_three(tile *t, size_t k) {
    t->job->need_gated_logs ? weights32(t, k, true, 3) : weights32(t, k, false, 3);
}
static void weights32_one(tile *t, size_t k) {
    t->job->need_gated_logs ? weights32(t, k, true, 1) : weights32(t, k, false, 1);
}

static void gated_weights32(tile *t) {
    gate_groups(t, weights32_four, weights32_three, weights32_one);
}

/* gated() of entropy.h, two classes per vector: logarithms in float, because phi(U/mu) is of fourth order in the
 * members' spread. */
static measures gated32(tile *t, size_t k) {
    const vg_kernel_job *job = t->job;
    size_t C = t->C, first = k * C;
    const vd *entropic = t->gmean + first, *q = t->gmean64 + first, *gamma = t->gamma + first;
    bool logs = job->need_gated_logs;
    vd inverse = t->inverse_zbar[k], least = vd_set(1.0), zero = {0};
    vd share = zero;
    measures out = {.eu = logs ? t->psi_z[k] : zero, .reverse = logs ? -t->psi_z[k] : zero};
    for (size_t c = 0; c < C; c += 2) {
        size_t next = c + 1 < C ? c + 1 : c, count = next - c + 1;
        vf e, rest, phi = vf_set(0.0f);
        vm_log32_parts(vf_max(vf_pack(entropic[c], entropic[next]), vf_set(1e-37f)),
                       vf_pack(entropic[c] - 1.0, entropic[next] - 1.0), &e, &rest);
        if (logs)
            phi = vm_phi32(vf_pack(t->shift[first + c] * t->over_mu[c], t->shift[first + next] * t->over_mu[next]));
        for (size_t i = 0; i < count; i++) {
            size_t at = c + i;
            vd whole = vd_from(i ? vf_high(e) : vf_low(e)), part = vd_from(i ? vf_high(rest) : vf_low(rest));
            out.tu -= entropic[at] * (whole * VG_LN2 + part);
            share += entropic[at];
            if (!logs)
                continue;
            vd g = gamma[at] * inverse, own = g * t->mu[at], own_phi = own * vd_from(i ? vf_high(phi) : vf_low(phi));
            out.eu += (own * t->phi[at] - own_phi) + g * t->cross[first + at];
            out.reverse += q[at] * t->psi[at] + own_phi;
            least = vd_min(t->low[at] * gamma[at], least);
        }
    }
    out.tu += (share - 1.0) * (1.0 - out.tu); /* of the mean over its sum: H(q / s) = H(q) / s + log s */
    if (job->need_gated_reverse && vl_any(least * t->weight_low[k] < job->options.floor))
        for (size_t c = 0; c < C; c++)
            if (vl_any(t->low[c] * gamma[c] * t->weight_low[k] < job->options.floor))
                out.reverse -= q[c] * floored(t, c, 1 + k, &out.diagonal);
    return out;
}
