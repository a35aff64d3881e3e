/* js32_small.h - the wide form for few members, the integral of js.h: all sets of a class side by side, so that none waits.
 *
 * Nodes s_j = 2^(j-2). The variance comes from first moments alone, since E[b_j^2] = 2 E[b_j] - E[b_(j+1)]; from s = 2 on
 * a = 1 - b is squared instead and E[a_j^2] = E[a_(j+1)]. The first node's weight is large: its squares are summed, not
 * derived. Sums over members never leave the registers, and what follows from them is had for two sets a vector. */

#define JS32_WIDE_S0 0.25
#define JS32_WIDE_MOST 31 /* s up to 2^28 */
#define JS32_SWITCH 3     /* first node in the form a = 1 - b: s = 2 */

/* The sums over two sets' members, one set a half. */
INLINE vf js32_fold(vf a, vf b) {
#if defined(VG_TIER_IS_AVX512)
    return (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0x44) + (vf)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0xee);
#else
    return vf_join(vf_halves(a), vf_halves(b));
#endif
}

/* Means over members at a node: of b, or of a = 1 - b, in which spare places (b = 0) count 1 each. */
INLINE vf js32_mean(const vf (*b)[8], float spare, float scale, const int B) {
    return vf_rounded((js32_fold(js32_sum(b[0], B), js32_sum(b[1], B)) - spare) * scale);
}

/* A set's mean over its largest member; for gates (mu + U)/high over the largest 1/Z_m. */
INLINE vh js32_center(const tile *t, size_t c, size_t set, vd over) {
    return set ? vh_from((t->mu[c] + t->shift[(set - 1) * t->C + c]) * over) * t->weight_top[set] : vh_from(t->mu[c] * over);
}

INLINE vf js32_positive(vf x) { return vf_max(x, vf_set(0.0f)); }

typedef struct js32_sets { /* up to four sets of a class; two share a vector in all but b */
    vf b[4][8];
    vf here[2], value[2], mean[2]; /* mean over members at the node, the integral so far, the sets' means */
    vi own[2], unclear;            /* nodes a lane takes; lanes in which another form may be wanted */
} js32_sets;

/* Nodes a lane takes, and what foretells which form serves, of sets one and two. */
INLINE void js32_few_plan(const tile *t, js32_sets *at, size_t c, const int g, size_t one, size_t two) {
    vl none = t->high[c] < 1e-30;
    vd over = vd_reciprocal(vd_select(none, vd_set(1.0), t->high[c]));
    vh low = vh_from(vd_select(none, vd_set(1.0), t->low[c]) * over);
    vf least = vf_join(low * t->weight_ratio[one], low * t->weight_ratio[two]);
    vf mean = vf_join(js32_center(t, c, one, over), js32_center(t, c, two, over));
    vf span = (float)(JS32_REACH / JS32_WIDE_S0) / vf_max(least, vf_set(1e-30f));
    at->own[g] = vi_within(((vi)span >> 23) - 127 + 2, JS32_SWITCH + 1, JS32_WIDE_MOST);
    at->unclear |= ~((1.0f - mean > 0.3505f * mean) | (mean - least > 0.3505f * mean));
    at->mean[g] = mean;
}

/* The first node. B vectors hold the members. */
INLINE void js32_few_enter(const tile *t, js32_sets *at, size_t from, size_t last, float scale, const int S, const int B) {
    UNROLL
    for (int s = 0; s < S; s++) {
        size_t set = from + (size_t)s < last ? from + (size_t)s : last;
        const vf *w = set ? t->weights32 + (set - 1) * t->vectors : NULL;
        UNROLL
        for (int v = 0; v < B; v++) {
            at->b[s][v] = vf_set(0.0f);
            if ((size_t)v < t->pairs)
                at->b[s][v] = vf_rounded(js32_start(w ? t->scaled32[v] * w[v] : t->scaled32[v], (float)JS32_WIDE_S0));
        }
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        vf square[2][8];
        UNROLL
        for (int v = 0; v < B; v++) {
            square[0][v] = vf_rounded(at->b[2 * g][v] * at->b[2 * g][v]);
            square[1][v] = vf_rounded(at->b[2 * g + 1][v] * at->b[2 * g + 1][v]);
        }
        vf squares = js32_mean((const vf(*)[8])square, 0.0f, scale, B);
        vf here = js32_mean((const vf(*)[8])(at->b + 2 * g), 0.0f, scale, B);
        at->value[g] = vf_rounded(js32_positive(squares - here * here) * (float)js32_wide_weight[0]);
        at->here[g] = here;
    }
}

/* From node j < JS32_SWITCH to the next. */
INLINE void js32_few_step(js32_sets *at, int j, float spare, float scale, const int S, const int B) {
    bool turn = j + 1 == JS32_SWITCH;
    UNROLL
    for (int i = 0; i < S * B; i++) {
        vf *b = &at->b[i / B][i % B];
        *b = vf_rounded(*b * (2.0f - *b));
        if (turn)
            *b = 1.0f - *b;
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        vf next = js32_mean((const vf(*)[8])(at->b + 2 * g), turn ? spare : 0.0f, scale, B), both = turn ? 1.0f - next : next;
        vf here = at->here[g];
        if (j > 0)
            at->value[g] += js32_positive((2.0f * here - both) - here * here) * (float)js32_wide_weight[j];
        at->here[g] = next;
    }
}

/* Sets from .. from + S - 1 of class c (past the last: the last again); values over the largest member, in wide[]. Returns
 * whether these surely serve in all lanes: js32() asks the same in double, here with something to spare. */
INLINE bool js32_few_block(const tile *t, size_t c, size_t from, size_t last, vd *wide, const int S, const int B) {
    float scale = (float)(1.0 / (double)t->M), spare = (float)(2 * B - (int)t->M);
    js32_sets at;
    at.unclear = (vi){0};
    js32_few_enter(t, &at, from, last, scale, S, B);
    vi most = {0};
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        size_t one = from + (size_t)(2 * g) < last ? from + (size_t)(2 * g) : last;
        js32_few_plan(t, &at, c, g, one, one < last ? one + 1 : last);
        most = vi_more(at.own[g], most);
    }
    for (int j = 0; j < JS32_SWITCH; j++)
        js32_few_step(&at, j, spare, scale, S, B);
    int nodes = vi_most(most);
    for (int j = JS32_SWITCH; j < nodes; j++) {
        float weight = (float)js32_wide_weight[j] * (j == JS32_WIDE_MOST - 1 ? 2.0f : 1.0f); /* the upper tail */
        UNROLL
        for (int i = 0; i < S * B; i++)
            at.b[i / B][i % B] = vf_rounded(at.b[i / B][i % B] * at.b[i / B][i % B]);
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf next = js32_mean((const vf(*)[8])(at.b + 2 * g), spare, scale, B);
            vf taken = (vf)((vi)vf_set(weight) & (at.own[g] > j));
            at.value[g] += js32_positive(next - at.here[g] * at.here[g]) * taken;
            at.here[g] = next;
        }
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        wide[2 * g] = vd_from(vf_low(at.value[g]));
        wide[2 * g + 1] = vd_from(vf_high(at.value[g]));
        at.unclear |= ~(at.value[g] > 0.00505f * at.mean[g]);
    }
    return !vi_any(at.unclear) && !vl_any(~(t->variance[c] > 0.0202 * t->mu[c] * t->mu[c]));
}

static bool js32_few_four(const tile *t, size_t c, size_t from, size_t last, vd *wide) {
    return js32_few_block(t, c, from, last, wide, 4, 4);
}
static bool js32_few_two(const tile *t, size_t c, size_t from, size_t last, vd *wide) {
    return js32_few_block(t, c, from, last, wide, 2, 4);
}
static bool js32_few_large(const tile *t, size_t c, size_t from, size_t last, vd *wide) {
    return js32_few_block(t, c, from, last, wide, 2, 8);
}

/* All sets of class c into t->wide. */
static bool js32_few(const tile *t, size_t c, size_t from, size_t to) {
    bool clear = true;
    if (t->pairs > 4)
        for (size_t s = from; s <= to; s += 2)
            clear &= js32_few_large(t, c, s, to, t->wide + s);
    else if (to - from >= 2)
        for (size_t s = from; s <= to; s += 4)
            clear &= js32_few_four(t, c, s, to, t->wide + s);
    else
        clear = js32_few_two(t, c, from, to, t->wide + from);
    return clear;
}
