/* js32_small.h - the wide form for few members, the integral of js.h: all sets of a class side by side, so that their
 * dependency chains overlap.
 *
 * Nodes s_j = 2^(j-2), weights W_j. The variance comes from first moments alone, since E[b_j^2] = 2 E[b_j] -
 * E[b_(j+1)]; from s = 2 on a = 1 - b is squared instead and E[a_j^2] = E[a_(j+1)]. The first node's weight is large,
 * so its squares are summed instead of derived. With A_j the sum of a over the M members, M^2 times the integral from s
 * = 2 on is
 *     sum_(j>=3) W_j (M A_(j+1) - A_j^2) = -W_3 A_3^2 + sum_(j>=4) A_j (M W_(j-1) - W_j A_j)
 * where W_(j-1) = 2 W_j from j = 7 on.
 * Sums over members stay in registers, and the steps after them are computed for two sets per vector.
 *
 * The error of a class is about 1e-7 of its largest member. Where that may be too much of the value, the class is
 * marked, and js_class.h checks whether it is too much of the sum over classes. */

#define JS32_WIDE_S0 0.25
#define JS32_WIDE_LAST 30 /* node: s = 2^28 */
#define JS32_WIDE_LEAST 7 /* the smallest last node */
#define JS32_CLEAR 0.005f /* of the largest member: a smaller value is marked */

typedef struct js32_sets { /* up to two pairs of sets of a class, members by themselves */
    vf b[2][FEW_MEMBERS];
    vf here[2], value[2]; /* sum over members at the node, M^2 times the integral so far */
    vi last[2];           /* node a lane takes */
} js32_sets;

/* The sum over the members. */
INLINE vf js32_members(const vf *b) { return vf_rounded(js32_sum(b, FEW_MEMBERS)); }

/* For few members: the weights of sets first .. last, in pairs and in order. */
static void pack_pairs32(tile *t, size_t first, size_t last) {
    size_t members = 2 * t->vectors;
    vh one = vh_from(vd_set(1.0));
    for (size_t s = first, g = 0; s <= last; s += 2, g++) {
        size_t next = s < last ? s + 1 : last;
        const vh *a = s ? (const vh *)(t->weights32 + (s - 1) * t->vectors) : NULL;
        const vh *b = next ? (const vh *)(t->weights32 + (next - 1) * t->vectors) : NULL;
        for (size_t m = 0; m < members; m++)
            t->pairs32[g * members + m] = vf_join(a ? a[m] : one, b ? b[m] : one);
    }
}

/* The last node of each lane: the one before it has s x >= JS32_REACH for every member, so that its own a is below
 * e^(-2 REACH). */
INLINE void js32_few_plan(const tile *t, js32_sets *at, size_t c, size_t from, size_t last, const int G) {
    vl none = t->high[c] < 1e-30;
    vh low = vh_from(vd_select(none, vd_set(1.0), t->low[c]) * vd_reciprocal(vd_select(none, vd_set(1.0), t->high[c])));
    UNROLL
    for (int g = 0; g < G; g++) {
        size_t one = from + (size_t)(2 * g) < last ? from + (size_t)(2 * g) : last, two = one < last ? one + 1 : last;
        vf least = vf_max(vf_join(low * t->weight_ratio[one], low * t->weight_ratio[two]), vf_set(1e-30f));
        /* of their ratio, rounded down */
        vi octaves = ((vi)vf_set((float)(JS32_REACH / JS32_WIDE_S0)) - (vi)least) >> 23;
        at->last[g] = vi_within(octaves + 2, JS32_WIDE_LEAST, JS32_WIDE_LAST);
    }
}

/* 1 - exp(-u s) for u in 0 .. 1 and s = 1/4: t P(t), t = u s, P of degree 3. Its relative error, 2.4e-7, is as one of
 * u. */
INLINE vf js32_few_start(vf u) {
    const float s = (float)JS32_WIDE_S0;
    const float a = 0.999999756258816f * s, b = -0.499969314370167f * s * s, c = 0.166055088230401f * s * s * s;
    const float d = -0.0377099921747203f * s * s * s * s;
    return vf_rounded(u * (a + u * (b + u * (c + u * d))));
}

/* The first node. `w`: the pairs' weights; entries after the last member are zeros. */
INLINE void js32_few_enter(const tile *t, js32_sets *at, const vf *w, float count, const int G) {
    const vh *u = (const vh *)t->scaled32;
    UNROLL
    for (int m = 0; m < FEW_MEMBERS; m++) {
        vf own = vf_twice(u[m]);
        UNROLL
        for (int g = 0; g < G; g++)
            at->b[g][m] = js32_few_start(vf_rounded(own * w[g * FEW_MEMBERS + m]));
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        vf square[FEW_MEMBERS];
        UNROLL
        for (int m = 0; m < FEW_MEMBERS; m++)
            square[m] = vf_rounded(at->b[g][m] * at->b[g][m]);
        vf squares = js32_members(square), here = js32_members(at->b[g]);
        at->value[g] = vf_rounded((count * squares - here * here) * (float)js32_wide_weight[0]);
        at->here[g] = here;
    }
}

/* Nodes 1 and 2, and the step to a = e^(-us) at the third. */
INLINE void js32_few_rise(js32_sets *at, float count, float spare, const int G) {
    UNROLL
    for (int j = 1; j <= 3; j++)
        UNROLL
    for (int g = 0; g < G; g++) {
        UNROLL
        for (int m = 0; m < FEW_MEMBERS; m++) {
            vf *b = &at->b[g][m], a = 1.0f - *b;
            *b = vf_rounded(j < 3 ? *b * (2.0f - *b) : a * a);
        }
        vf here = at->here[g], next = js32_members(at->b[g]);
        if (j == 3)
            next -= spare;
        if (j > 1)
            at->value[g] +=
                (count * (2.0f * here - (j < 3 ? next : count - next)) - here * here) * (float)js32_wide_weight[j - 1];
        at->here[g] = next;
    }
    UNROLL
    for (int g = 0; g < G; g++)
        at->value[g] -= at->here[g] * at->here[g] * (float)js32_wide_weight[3];
}

/* a squared, and its sum over members. */
INLINE vf js32_few_square(js32_sets *at, const int g, float spare, bool padded) {
    UNROLL
    for (int m = 0; m < FEW_MEMBERS; m++)
        at->b[g][m] = vf_rounded(at->b[g][m] * at->b[g][m]);
    vf sum = js32_members(at->b[g]);
    return padded ? sum - spare : sum;
}

/* value + x weight in the lanes whose last node is j or a later one. */
INLINE vf js32_few_take(vf value, vf x, float weight, vi last, int j) {
#if defined(VG_TIER_IS_AVX512)
    __mmask16 taken = _mm512_cmp_epi32_mask((__m512i)last, _mm512_set1_epi32(j), _MM_CMPINT_NLT);
    return (vf)_mm512_mask3_fmadd_ps((__m512)x, _mm512_set1_ps(weight), (__m512)value, taken);
#else
    return value + x * (vf)((vi)vf_set(weight) & (last >= j));
#endif
}

/* Some sets of a class: from `from` on, past `last` the last again; `first`: the group of the pairs' weights that is
 * theirs. */
typedef struct js32_range {
    size_t from, last, first;
} js32_range;

/* G pairs of sets of class c; values over the largest member, below zero where marked, in wide[]. `padded`: there are
 * fewer than FEW_MEMBERS. Returns whether none is marked. */
INLINE bool js32_few_block(const tile *t, size_t c, js32_range sets, vh *wide, bool padded, const int G) {
    float count = (float)t->M, spare = (float)(FEW_MEMBERS - (int)t->M);
    js32_sets at;
    js32_few_plan(t, &at, c, sets.from, sets.last, G);
    js32_few_enter(t, &at, t->pairs32 + sets.first * FEW_MEMBERS, count, G);
    js32_few_rise(&at, count, spare, G);
    UNROLL
    for (int j = 4; j < JS32_WIDE_LEAST; j++)
        UNROLL
    for (int g = 0; g < G; g++) {
        vf here = js32_few_square(&at, g, spare, padded);
        at.value[g] += here * (count * (float)js32_wide_weight[j - 1] - here * (float)js32_wide_weight[j]);
    }
    int nodes = G == 2 ? vi_most(vi_more(at.last[0], at.last[1])) : vi_most(at.last[0]);
    for (int j = JS32_WIDE_LEAST; j <= nodes; j++) {
        float weight = (float)js32_wide_weight[j] * (j == JS32_WIDE_LAST ? 2.0f : 1.0f); /* the upper tail */
        UNROLL
        for (int g = 0; g < G; g++) {
            vf here = js32_few_square(&at, g, spare, padded);
            at.value[g] = js32_few_take(at.value[g], vf_rounded(here * (2.0f * count - here)), weight, at.last[g], j);
        }
    }
    vi marked = {0};
    UNROLL
    for (int g = 0; g < G; g++) {
        vf value = vf_max(at.value[g] * (1.0f / (count * count)), vf_set(0.0f));
        vi mark = value < JS32_CLEAR;
        value = (vf)((vi)value | (mark & INT32_MIN));
        wide[2 * g] = vf_low(value);
        wide[2 * g + 1] = vf_high(value);
        marked |= mark;
    }
    return !vi_any(marked);
}

typedef bool js32_few_run(const tile *t, size_t c, size_t from, size_t last, size_t first, vh *wide);
#define JS32_FEW_RUN(NAME, PADDED, G)                                                                                  \
    static bool NAME(const tile *t, size_t c, size_t from, size_t last, size_t first, vh *wide) {                      \
        return js32_few_block(t, c, (js32_range){from, last, first}, wide, PADDED, G);                                 \
    }
JS32_FEW_RUN(js32_few_full, false, 2)
JS32_FEW_RUN(js32_few_four, true, 2)
JS32_FEW_RUN(js32_few_two, true, 1)

/* All sets of class c into wide[from .. to], and up to three more. Returns whether none is marked. */
static bool js32_few(const tile *t, size_t c, size_t from, size_t to, vh *wide) {
    bool clear = true, two = to - from < 2;
    js32_few_run *run = two ? js32_few_two : t->M == FEW_MEMBERS ? js32_few_full : js32_few_four;
    size_t step = two ? 2 : 4;
    for (size_t s = from; s <= to; s += step)
        clear &= run(t, c, s, to, (s - from) / 2, wide + s);
    return clear;
}
