/* panel_integral.h - EPJS of many members: half a column is a tile of one class (workspace.h), and js_class.h chooses
 * the form that suits each lane. Across classes the members' weights 1/Z_m are the same in every lane, because all
 * lanes belong to one sample; else each half has its own. */

/* Whether the float forms of the integral are accurate enough. */
INLINE bool P(integral_single)(const P(panel) * t) { return !VG_PANEL_DOUBLE || t->job->single_precision; }

/* The workspace of the tile. A panel of doubles loads them as doubles, also where the input is float32 logits and the
 * float forms of the integral suffice: the tile must then not be one of float32 input (`fused`). */
static bool P(carve_integral)(P(panel) * t, void *base, size_t *used) {
    vg_kernel_job one = *t->job;
    size_t bytes;
    one.c = 1;
    if (VG_PANEL_DOUBLE)
        one.single_precision = false;
    one.options.logits = 0;
    for (int h = 0; h < (t->across ? 1 : PANEL_HALVES); h++) {
        if (!carve(&t->integral[h], &one, base ? (char *)base + *used : NULL, &bytes) ||
            !vg_base__add(used, *used, bytes))
            return false;
        t->integral[h].job = t->job;
    }
    return true;
}

/* The members' weights at every gate, once a panel, in the lanes of half h. */
static void P(half_weights)(P(panel) * t, int h) {
    tile *of = &t->integral[h];
    size_t M = t->M;
    for (size_t k = 0; k < t->K; k++) {
        vd inverse = t->inverse_zbar[k].h[h], low = vd_set(1e300), high = vd_set(0.0);
        for (size_t m = 0; m < M; m++) {
            vd over = P(half)(t->over[k * M + m], h);
            low = vd_min(over, low);
            high = vd_max(over, high);
#if VG_PANEL_DOUBLE
            of->weight[k * M + m] = inverse * over;
#else
            vf own = t->over[k * M + m], omega = t->omega[k * M + m];
            ((vh *)(of->over32 + k * of->pairs))[m] = h ? vf_high(own) : vf_low(own);
            ((vh *)(of->omega32 + k * of->pairs))[m] = h ? vf_high(omega) : vf_low(omega);
#endif
        }
#if !VG_PANEL_DOUBLE
        if (M % 2) { /* the padding of the last pair */
            ((vh *)(of->over32 + k * of->pairs))[M] = vh_from(vd_set(1.0));
            ((vh *)(of->omega32 + k * of->pairs))[M] = vh_from(vd_set(0.0));
        }
#endif
        of->inverse_zbar[k] = inverse;
        of->weight_low[k] = inverse * low;
        of->weight_high[k] = inverse * high;
    }
    if (P(integral_single)(t))
        js_prepare(of);
}
static VG_NOINLINE void P(integral_weights)(P(panel) * t) {
    for (int h = 0; h < (t->across ? 1 : PANEL_HALVES); h++)
        P(half_weights)(t, h);
}

/* Half h of column j as the tile's class. */
INLINE void P(integral_load)(P(panel) * t, tile *of, size_t j, int h) {
    size_t M = t->M;
    vr first = P(member)(t->of, 0);
#if VG_PANEL_DOUBLE
    vd low = first, high = first;
    for (size_t m = 0; m < M; m++) {
        of->p[m] = P(member)(t->of, m);
        low = vd_min(of->p[m], low);
        high = vd_max(of->p[m], high);
    }
    of->low[0] = low;
    of->high[0] = high;
#else
    vh *to = of->x, low = h ? vf_high(first) : vf_low(first), high = low;
    for (size_t m = 0; m < M; m++) {
        vh own; /* loaded by halves, because to split a vector takes longer */
        memcpy(&own, t->of.at + (ptrdiff_t)m * t->of.step + (size_t)h * sizeof own, sizeof own);
        low = vh_min(own, low);
        high = vh_max(own, high);
        to[m] = own;
    }
    if (M % 2)
        to[M] = vh_from(vd_set(0.0));
    of->low[0] = vd_from(low);
    of->high[0] = vd_from(high);
    of->mu_high[0] = h ? vf_high(t->mu_high[j]) : vf_low(t->mu_high[j]);
    of->mu_low[0] = h ? vf_high(t->mu_low[j]) : vf_low(t->mu_low[j]);
#endif
    of->mu[0] = t->mu[j].h[h];
    of->variance[0] = P(half)(t->variance[j], h);
    for (size_t k = 0; k < t->K; k++) {
        of->gamma[k] = P(half)(t->gamma[j * t->K + k], h);
        of->shift[k] = P(half)(t->shift[k], h);
        gated_mean(of, k, 0, of->gmean);
    }
}

/* Adds column j to the sums of every set; U of its gates is in t->shift. */
static VG_NOINLINE void P(column_integral)(P(panel) * t, size_t j) {
    bool single = P(integral_single)(t);
    UNROLL
    for (int h = 0; h < PANEL_HALVES; h++) {
        tile *of = &t->integral[t->across ? 0 : h];
        P(integral_load)(t, of, j, h);
        js_reset(of);
        if (single)
            js32_load(of, 0, true);
        js_class(of, 0, single);
        for (size_t s = 0; s <= t->K; s++)
            t->sets[s].pairs.h[h] += of->js[s];
    }
}
