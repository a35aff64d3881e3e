/* js32_many.h - the wide form for many members: the powers of js32_wide.h for all sets of a class in sequence,
 * and then the quadratic form in their means for two sets per vector. */

/* The sums over two sets' members, one set in each half. */
INLINE vf js32_fold(vf a, vf b) {
#if defined(VG_TIER_IS_AVX512)
    return (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0x44) + (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0xee);
#else
    return vf_join(vf_halves(a), vf_halves(b));
#endif
}

typedef struct js32_plan { /* up to four sets of a class, two per vector */
    size_t count;
    const vf *weights[4];
    vf mean[2];       /* over the largest member */
    vi own[2];        /* doublings a lane takes */
    vi maybe, unsure; /* lanes that may need this form; lanes that may need another */
} js32_plan;

/* A table that the compiler must read from memory: it would otherwise build a vector of every number and fill the cache
 * with them. */
INLINE const float *js32_hidden(const float *table) {
    __asm__("" : "+r"(table));
    return table;
}

/* Values over the largest member, from two sets' sums. */
INLINE vf js32_power_values(const tile *t, const vf *one, const vf *two, vf mean, vi own, const int L) {
    static const float weight[] = {JS32_WEIGHTS};
    const float *w = js32_hidden(weight);
    float count = (float)t->M, spare = (float)(2 * t->vectors - t->M); /* padding: u is 0, its powers are 1 */
    vf f[2 + JS32_POWERS + 1];
    f[0] = vf_set(count);
    f[1] = mean * count;
    UNROLL
    for (int j = 0; j < js32_powers(L); j++)
        f[2 + j] = js32_fold(one[j], two[j]) - spare;
    if (L > 0 && vi_any(own != L)) {
        UNROLL
        for (int l = 1; l <= L; l++)
            f[1 + js32_powers(l)] = (vf)((vi)f[1 + js32_powers(l)] & (own >= l));
    }
    f[2 + js32_powers(L)] = vf_set(0.0f);
    vf value = vf_set(0.0f);
    UNROLL
    /* From index 2 on the function is the difference of neighbouring powers. */
    for (int i = 0; i < 2 + js32_powers(L); i++) {
        vf row = vf_set(0.0f), other = row; /* two independent sums shorten the dependency chain */
        if (i >= 2)
            f[i] -= f[i + 1];
        UNROLL
        for (int j = 0; j <= i; j++)
            *(j % 2 ? &other : &row) += w[j] * f[j];
        value += f[i] * (row + other);
        w += i + 1;
    }
    return value * (1.0f / (count * count));
}

INLINE void js32_many_of(const tile *t, js32_plan *plan, vd *wide, const int L) {
    vf sums[4][JS32_POWERS];
    for (size_t s = 0; s < plan->count; s++)
        plan->weights[s] ? js32_power_sums(sums[s], t, plan->weights[s], L) : js32_power_sums(sums[s], t, NULL, L);
    for (size_t s = 0; s < plan->count; s += 2) {
        size_t next = s + 1 < plan->count ? s + 1 : s;
        vf values = js32_power_values(t, sums[s], sums[next], plan->mean[s / 2], plan->own[s / 2], L);
        plan->unsure |= ~(values > (float)(1.01 * JS32_WORTH) * plan->mean[s / 2]);
        wide[next] = vd_from(vf_high(values)); /* the same where there is no second set */
        wide[s] = vd_from(vf_low(values));
    }
}
#define JS32_MANY(L)                                                                                                   \
    static void js32_many_##L(const tile *t, js32_plan *plan, vd *wide) { js32_many_of(t, plan, wide, L); }
JS32_MANY(0)
JS32_MANY(1)
JS32_MANY(2)
JS32_MANY(3)
JS32_MANY(4)
JS32_MANY(5)

/* A set's mean over its largest member; for gates (mu + U)/high over the largest 1/Z_m. */
INLINE vh js32_many_center(const tile *t, size_t c, size_t set, vd over) {
    return vh_from(set ? (t->mu[c] + t->shift[(set - 1) * t->C + c]) * (over * t->weight_share[set]) : t->mu[c] * over);
}

/* Sets from .. from + 3, the last at most. js32() makes the same decision in double; here it has a safety margin. */
INLINE void js32_many_plan(const tile *t, js32_plan *plan, size_t c, size_t from, size_t last) {
    static const float bound[] = {JS32_LEAST};
    vd mu = t->mu[c], variance = t->variance[c];
    vl none = t->high[c] < 1e-30;
    vd over = vd_reciprocal(vd_select(none, vd_set(1.0), t->high[c]));
    vh low = vh_from(t->low[c] * over);
    vi wide = (vi)vf_twice((vh) __builtin_convertvector((variance > 0.0198 * (mu * mu)) & ~none, vj));
    plan->count = last - from < 4 ? last - from + 1 : 4;
    plan->maybe = (vi){0};
    plan->unsure = (vi)vf_twice((vh) __builtin_convertvector(~(variance > 0.0202 * (mu * mu)), vj));
    for (size_t s = 0; s < plan->count; s += 2) {
        size_t one = from + s, two = s + 1 < plan->count ? one + 1 : one;
        plan->weights[s] = one ? t->weights32 + (one - 1) * t->vectors : NULL;
        plan->weights[s + 1] = two ? t->weights32 + (two - 1) * t->vectors : NULL;
        vf least = vf_join(low * t->weight_ratio[one], low * t->weight_ratio[two]);
        vf mean = vf_join(js32_many_center(t, c, one, over), js32_many_center(t, c, two, over));
        vf most = vf_max(1.0f - mean, mean - least);
        vi own = {0}, maybe = wide & (most > 0.3495f * mean);
        UNROLL
        for (size_t l = 0; l < sizeof bound / sizeof *bound; l++)
            own -= least < bound[l];
        plan->own[s / 2] = own & maybe;
        plan->mean[s / 2] = mean;
        plan->maybe |= maybe;
        plan->unsure |= ~(most > 0.3505f * mean);
    }
}

/* All sets of class c into t->wide, where any lane needs this form. Returns whether it is accurate in all lanes. */
static bool js32_many(const tile *t, size_t c, size_t from, size_t to) {
    static void (*const by_doublings[])(const tile *, js32_plan *, vd *) = {js32_many_0, js32_many_1, js32_many_2,
                                                                            js32_many_3, js32_many_4, js32_many_5};
    bool clear = true;
    for (size_t s = from; s <= to; s += 4) {
        js32_plan plan;
        js32_many_plan(t, &plan, c, s, to);
        if (vi_any(plan.maybe)) {
            vi own = plan.count > 2 ? vi_more(plan.own[0], plan.own[1]) : plan.own[0];
            by_doublings[vi_most(own)](t, &plan, t->wide + s);
        }
        clear &= !vi_any(plan.unsure);
    }
    return clear;
}
