/* js32_small.h - the wide form of js32.h for few members: all sets of a class side by side, so that no set waits for another.
 *
 * Same nodes and weights. Sums over members never leave the registers, and what follows from them is had for two sets a vector.
 */

#define JS32_FEW 16 /* members */

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

/* Sets from .. from + S - 1 of class c (past the last: the last again); values over the largest member, in wide[]. B vectors
 * hold the members. * Returns whether these surely serve in all lanes: js32() asks the same in double, here with something to
 * spare. */
INLINE bool js32_few_block(const tile *t, size_t c, size_t from, size_t last, vd *wide, const int S, const int B) {
    float scale = (float)(1.0 / (double)t->M), spare = (float)(2 * B - (int)t->M);
    vf b[4][8], here[2], value[2], squares[2], mean[2];
    vi own[2], most = {0}, unclear = {0};
    vd high = vd_select(t->high[c] < 1e-30, vd_set(1.0), t->high[c]);
    vd over = vd_reciprocal(high);
    vh low = vh_from(vd_select(t->high[c] < 1e-30, vd_set(1.0), t->low[c]) * over);
    UNROLL
    for (int s = 0; s < S; s++) {
        size_t set = from + (size_t)s < last ? from + (size_t)s : last;
        const vf *w = set ? t->weights32 + (set - 1) * t->pairs : NULL;
        UNROLL
        for (int v = 0; v < B; v++) {
            b[s][v] = vf_set(0.0f);
            if ((size_t)v < t->pairs)
                b[s][v] = vf_rounded(js32_start(w ? t->scaled32[v] * w[v] : t->scaled32[v], (float)JS32_WIDE_S0));
        }
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        size_t one = from + (size_t)(2 * g) < last ? from + (size_t)(2 * g) : last, two = one < last ? one + 1 : last;
        vf least = vf_join(low * t->weight_ratio[one], low * t->weight_ratio[two]);
        vf span = (float)(JS32_REACH / JS32_WIDE_S0) / vf_max(least, vf_set(1e-30f));
        own[g] = ((vi)span >> 23) - 127 + 2;
        mean[g] = vf_join(js32_center(t, c, one, over), js32_center(t, c, two, over));
        unclear |= ~((1.0f - mean[g] > 0.3505f * mean[g]) | (mean[g] - least > 0.3505f * mean[g]));
        own[g] = vi_within(own[g], JS32_SWITCH + 1, JS32_WIDE_MOST);
        most = vi_more(own[g], most);
        vf square[2][8];
        UNROLL
        for (int v = 0; v < B; v++) {
            square[0][v] = vf_rounded(b[2 * g][v] * b[2 * g][v]);
            square[1][v] = vf_rounded(b[2 * g + 1][v] * b[2 * g + 1][v]);
        }
        squares[g] = js32_mean((const vf(*)[8])square, 0.0f, scale, B);
        here[g] = js32_mean((const vf(*)[8])(b + 2 * g), 0.0f, scale, B);
        value[g] = vf_rounded(js32_positive(squares[g] - here[g] * here[g]) * (float)js32_wide_weight[0]);
    }
    for (int j = 0; j < JS32_SWITCH; j++) { /* to nodes 1, 2 and JS32_SWITCH */
        bool turn = j + 1 == JS32_SWITCH;
        UNROLL
        for (int s = 0; s < S; s++)
            UNROLL
        for (int v = 0; v < B; v++)
            b[s][v] = vf_rounded(b[s][v] * (2.0f - b[s][v]));
        if (turn)
            UNROLL
        for (int s = 0; s < S; s++)
            UNROLL
        for (int v = 0; v < B; v++)
            b[s][v] = 1.0f - b[s][v];
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf next = js32_mean((const vf(*)[8])(b + 2 * g), turn ? spare : 0.0f, scale, B), both = turn ? 1.0f - next : next;
            if (j > 0)
                value[g] += js32_positive((2.0f * here[g] - both) - here[g] * here[g]) * (float)js32_wide_weight[j];
            here[g] = next;
        }
    }
    int nodes = vi_most(most);
    for (int j = JS32_SWITCH; j < nodes; j++) {
        float weight = (float)js32_wide_weight[j] * (j == JS32_WIDE_MOST - 1 ? 2.0f : 1.0f); /* the upper tail */
        UNROLL
        for (int s = 0; s < S; s++)
            UNROLL
        for (int v = 0; v < B; v++)
            b[s][v] = b[s][v] * b[s][v];
        UNROLL
        for (int g = 0; g < S / 2; g++) {
            vf next = js32_mean((const vf(*)[8])(b + 2 * g), spare, scale, B);
            vf taken = (vf)((vi)vf_set(weight) & (own[g] > j));
            value[g] += js32_positive(next - here[g] * here[g]) * taken;
            here[g] = next;
        }
    }
    UNROLL
    for (int g = 0; g < S / 2; g++) {
        wide[2 * g] = vd_from(vf_low(value[g]));
        wide[2 * g + 1] = vd_from(vf_high(value[g]));
        unclear |= ~(value[g] > 0.00505f * mean[g]);
    }
    return !vi_any(unclear) && !vl_any((t->high[c] < 1e-29) | ~(t->variance[c] > 0.0202 * t->mu[c] * t->mu[c]));
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
