/* moments.h - mean, population variance and extremes of every class over the members. */

/* mu, population variance and extremes of every class, in two passes. Plain sums, so that classes with the same members tie;
 * members that agree give mu = that member and a variance of 0 exactly; the second pass is corrected for the rounding of the
 * mean. */
static void moments(tile *t) {
    size_t M = t->M, C = t->C;
    double count = (double)M, inverse = 1.0 / count;
    for (size_t c = 0; c < C; c++) {
        const vd *p = t->p + c;
        vd sum = *p, squares = {0}, low = *p, high = *p;
        for (size_t m = 1; m < M; m++) {
            vd x = p[m * C];
            sum += x;
            low = vd_min(x, low);
            high = vd_max(x, high);
        }
        vd mean = vd_select(low == high, low, sum / count), rest = {0};
        for (size_t m = 0; m < M; m++) {
            vd d = p[m * C] - mean;
            rest += d;
            squares += d * d;
        }
        t->mu[c] = mean;
        t->variance[c] = vd_max((squares - rest * (rest * inverse)) * inverse, vd_set(0.0));
        t->low[c] = low;
        t->high[c] = high;
    }
}

/* The same from floats, sums over members standing in mu (sums of floats in double carry no rounding worth correcting for:
 * equal members give their value). Squared deviations from the mean in two floats, in double by thirty-twos. `extremes`:
 * smallest and largest are wanted too. */
INLINE void spread32_class(tile *t, size_t c, bool extremes) {
    const vh *x = class_at(t, c);
    const vf *pair = (const vf *)x;
    size_t M = t->M, full = M / 2, i = 0;
    vh high = t->mu_high[c], low = t->mu_low[c];
    vf hi = vf_twice(high), lo = vf_twice(low), least = vf_twice(x[0]), most = least;
    vd squares = {0};
    while (i < full) {
        size_t stop = full - i < 32 ? full : i + 32;
        vf part[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 <= stop; i += 4)
            UNROLL
        for (int a = 0; a < 4; a++) {
            vf value = vf_held(pair[i + (size_t)a]), d = (value - hi) - lo;
            part[a] += d * d;
            if (extremes) {
                least = vf_least(value, least);
                most = vf_most(value, most);
            }
        }
        for (; i < stop; i++) {
            vf value = vf_held(pair[i]), d = (value - hi) - lo;
            part[0] += d * d;
            if (extremes) {
                least = vf_least(value, least);
                most = vf_most(value, most);
            }
        }
        squares += vf_fold((part[0] + part[1]) + (part[2] + part[3]));
    }
    if (M % 2) {
        vh value = x[M - 1], d = (value - high) - low;
        squares += vd_from(d * d);
        least = vf_least(vf_twice(value), least);
        most = vf_most(vf_twice(value), most);
    }
    t->low[c] = vd_from(vh_min(vf_low(least), vf_high(least)));
    t->high[c] = vd_from(vh_max(vf_low(most), vf_high(most)));
    t->variance[c] = squares / (double)M;
}

static void moments32(tile *t, bool extremes) {
    for (size_t c = 0; c < t->C; c++) {
        vd mean = t->mu[c] / (double)t->M;
        t->mu[c] = mean;
        t->mu_high[c] = vh_from(mean);
        t->mu_low[c] = vh_from(mean - vd_from(t->mu_high[c]));
    }
    if (extremes)
        for (size_t c = 0; c < t->C; c++)
            spread32_class(t, c, true);
    else
        for (size_t c = 0; c < t->C; c++)
            spread32_class(t, c, false);
}
