/* js32_small.h - the wide form for few members, the integral of js.h: all sets of a class side by side, so that none waits.
 *
 * Nodes s_j = 2^(j-2), weights W_j. The variance comes from first moments alone, since E[b_j^2] = 2 E[b_j] - E[b_(j+1)]; from
 * s = 2 on a = 1 - b is squared instead and E[a_j^2] = E[a_(j+1)]. The first node's weight is large: its squares are summed,
 * not derived. With A_j the sum of a over the M members, M^2 times the integral from s = 2 on is sum_(j>=3) W_j (M A_(j+1) -
 * A_j^2) = -W_3 A_3^2 + sum_(j>=4) A_j (M W_(j-1) - W_j A_j) and W_(j-1) = 2 W_j from j = 7 on. Sums over members never leave
 * the registers, and what follows from them is had for two sets a vector.
 *
 * The error of a class is some 1e-7 of its largest member. Where that may be too much of the value, the class is marked, and
 * js_class.h asks whether it is too much of the sum over classes. */

#define JS32_WIDE_S0 0.25
#define JS32_WIDE_LAST 30 /* node: s = 2^28 */
#define JS32_WIDE_LEAST 7 /* the least last node */
#define JS32_CLEAR 0.005f /* of the largest member: a smaller value is marked */

/* The sums over two sets' members, one set a half. */
INLINE vf js32_fold(vf a, vf b) {
#if defined(VG_TIER_IS_AVX512)
    return (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0x44) + (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0xee);
#else
    return vf_join(vf_halves(a), vf_halves(b));
#endif
}

typedef struct js32_sets { /* up to four sets of a class; two share a vector in all but b */
    vf b[4][8];
    vf here[2], value[2]; /* sum over members at the node, M^2 times the integral so far */
    vi last[2];           /* node a lane takes */
} js32_sets;

INLINE vf js32_both(const js32_sets *at, const int g, const int B) {
    return vf_rounded(js32_fold(js32_sum(at->b[2 * g], B), js32_sum(at->b[2 * g + 1], B)));
}

/* The last node of each lane: the one before it has s x >= JS32_REACH for every member, so that its own a is below e^(-2
 * REACH). */
INLINE void js32_few_plan(const tile *t, js32_sets *at, size_t c, size_t from, size_t last, const int S) {
    vl none = t->high[c] < 1e-30;
    vh low = vh_from(vd_select(none, vd_set(1.0), t->low[c]) * vd_reciprocal(vd_select(none, vd_set(1.0), t->high[c])));
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        size_t one = from + (size_t)(2 * g) < last ? from + (size_t)(2 * g) : last, two = one < last ? one + 1 : last;
        vf least = vf_max(vf_join(low * t->weight_ratio[one], low * t->weight_ratio[two]), vf_set(1e-30f));
        vi octaves = ((vi)vf_set((float)(JS32_REACH / JS32_WIDE_S0)) - (vi)least) >> 23; /* of their ratio, rounded down */
        at->last[g] = vi_within(octaves + 2, JS32_WIDE_LEAST, JS32_WIDE_LAST);
    }
}

/* 1 - exp(-u s) for u in 0 .. 1 and s = 1/4: t P(t), t = u s, P of degree 3. Its relative error, 2.4e-7, is as one of u. */
INLINE vf js32_few_start(vf u) {
    const float s = (float)JS32_WIDE_S0;
    const float a = 0.999999756258816f * s, b = -0.499969314370167f * s * s, c = 0.166055088230401f * s * s * s;
    const float d = -0.0377099921747203f * s * s * s * s;
    return vf_rounded(u * (a + u * (b + u * (c + u * d))));
}

/* The first node. B vectors hold the members, zeros after the last. */
INLINE void js32_few_enter(const tile *t, js32_sets *at, size_t from, size_t last, float count, const int S, const int B) {
    UNROLL
    for (int s = 0; s < S; s++) {
        size_t set = from + (size_t)s < last ? from + (size_t)s : last;
        const vf *w = set ? t->weights32 + (set - 1) * t->vectors : NULL;
        if (w)
            UNROLL
        for (int v = 0; v < B; v++)
            at->b[s][v] = js32_few_start(t->scaled32[v] * w[v]);
        else UNROLL for (int v = 0; v < B; v++) at->b[s][v] = js32_few_start(t->scaled32[v]);
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        vf sums[2];
        UNROLL
        for (int i = 0; i < 2; i++) {
            vf square[8];
            UNROLL
            for (int v = 0; v < B; v++)
                square[v] = vf_rounded(at->b[2 * g + i][v] * at->b[2 * g + i][v]);
            sums[i] = js32_sum(square, B);
        }
        vf squares = vf_rounded(js32_fold(sums[0], sums[1])), here = js32_both(at, g, B);
        at->value[g] = vf_rounded((count * squares - here * here) * (float)js32_wide_weight[0]);
        at->here[g] = here;
    }
}

/* Nodes 1 and 2, and on to a = e^(-us) at the third. */
INLINE void js32_few_rise(js32_sets *at, float count, float spare, const int S, const int B) {
    UNROLL
    for (int j = 1; j <= 3; j++) {
        UNROLL
        for (int i = 0; i < S * B; i++) {
            vf *b = &at->b[i / B][i % B], a = 1.0f - *b;
            *b = vf_rounded(j < 3 ? *b * (2.0f - *b) : a * a);
        }
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf here = at->here[g], next = j < 3 ? js32_both(at, g, B) : js32_both(at, g, B) - spare;
            vf next_b = j < 3 ? next : count - next;
            if (j > 1)
                at->value[g] += (count * (2.0f * here - next_b) - here * here) * (float)js32_wide_weight[j - 1];
            at->here[g] = next;
        }
    }
    UNROLL
    for (int g = 0; g < S / 2; g++)
        at->value[g] -= at->here[g] * at->here[g] * (float)js32_wide_weight[3];
}

INLINE void js32_few_square(js32_sets *at, const int S, const int B) {
    UNROLL
    for (int i = 0; i < S * B; i++)
        at->b[i / B][i % B] = vf_rounded(at->b[i / B][i % B] * at->b[i / B][i % B]);
}

/* Sets from .. from + S - 1 of class c (past the last: the last again); values over the largest member, below zero where
 * marked, in wide[]. Returns whether none is marked. */
INLINE bool js32_few_block(const tile *t, size_t c, size_t from, size_t last, vh *wide, const int S, const int B) {
    float count = (float)t->M, spare = (float)(2 * B - (int)t->M);
    js32_sets at;
    js32_few_plan(t, &at, c, from, last, S);
    js32_few_enter(t, &at, from, last, count, S, B);
    js32_few_rise(&at, count, spare, S, B);
    UNROLL
    for (int j = 4; j < JS32_WIDE_LEAST; j++) {
        js32_few_square(&at, S, B);
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf here = js32_both(&at, g, B) - spare;
            at.value[g] += here * (count * (float)js32_wide_weight[j - 1] - here * (float)js32_wide_weight[j]);
        }
    }
    int nodes = S == 4 ? vi_most(vi_more(at.last[0], at.last[1])) : vi_most(at.last[0]);
    for (int j = JS32_WIDE_LEAST; j <= nodes; j++) {
        float weight = (float)js32_wide_weight[j] * (j == JS32_WIDE_LAST ? 2.0f : 1.0f); /* the upper tail */
        js32_few_square(&at, S, B);
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf here = js32_both(&at, g, B) - spare, taken = (vf)((vi)vf_set(weight) & (at.last[g] >= j));
            at.value[g] += vf_rounded(here * (2.0f * count - here)) * taken;
        }
    }
    vi marked = {0};
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        vf value = vf_max(at.value[g] * (1.0f / (count * count)), vf_set(0.0f));
        vi mark = value < JS32_CLEAR;
        value = (vf)((vi)value | (mark & INT32_MIN));
        wide[2 * g] = vf_low(value);
        wide[2 * g + 1] = vf_high(value);
        marked |= mark;
    }
    return !vi_any(marked);
}

static bool js32_few_four(const tile *t, size_t c, size_t from, size_t last, vh *wide) {
    return js32_few_block(t, c, from, last, wide, 4, 4);
}
static bool js32_few_two(const tile *t, size_t c, size_t from, size_t last, vh *wide) {
    return js32_few_block(t, c, from, last, wide, 2, 4);
}
static bool js32_few_large(const tile *t, size_t c, size_t from, size_t last, vh *wide) {
    return js32_few_block(t, c, from, last, wide, 2, 8);
}

/* All sets of class c into wide[from .. to], and up to three more. Returns whether none is marked. */
static bool js32_few(const tile *t, size_t c, size_t from, size_t to, vh *wide) {
    bool clear = true;
    if (t->pairs > 4)
        for (size_t s = from; s <= to; s += 2)
            clear &= js32_few_large(t, c, s, to, wide + s);
    else if (to - from >= 2)
        for (size_t s = from; s <= to; s += 4)
            clear &= js32_few_four(t, c, s, to, wide + s);
    else
        clear = js32_few_two(t, c, from, to, wide + from);
    return clear;
}
