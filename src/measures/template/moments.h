/* moments.h - mean, population variance and extremes of every class over the members. */

/* mu, population variance and extremes of every class, in two passes. Plain sums, so that classes with the same members
 * tie exactly; members that agree give mu = that member and a variance of exactly 0; the second pass is corrected for
 * the rounding of the mean. */
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

/* The smallest and largest of the class's floats. */
static void extremes32_class(tile *t, size_t c) {
    const vh *x = class_at(t, c);
    const vf *pair = (const vf *)x;
    size_t M = t->M, full = M / 2, i = 0;
    vf least[2], most[2];
    least[0] = least[1] = most[0] = most[1] = vf_twice(x[0]);
    for (; i + 2 <= full; i += 2)
        UNROLL
    for (int a = 0; a < 2; a++) {
        vf value = vf_held(pair[i + (size_t)a]);
        least[a] = vf_least(value, least[a]);
        most[a] = vf_most(value, most[a]);
    }
    for (; i < full; i++) {
        least[0] = vf_least(pair[i], least[0]);
        most[0] = vf_most(pair[i], most[0]);
    }
    if (M % 2) {
        least[1] = vf_least(vf_twice(x[M - 1]), least[1]);
        most[1] = vf_most(vf_twice(x[M - 1]), most[1]);
    }
    least[0] = vf_least(least[1], least[0]);
    most[0] = vf_most(most[1], most[0]);
    t->low[c] = vd_from(vh_min(vf_low(least[0]), vf_high(least[0])));
    t->high[c] = vd_from(vh_max(vf_low(most[0]), vf_high(most[0])));
}

/* A square of the first members' distance from the mean, beside the variance, above which the correction for it leaves
 * too few digits of the variance. */
#define FAR_START 4.0

/* Mean and variance of every class from the sums that columns.h took (sums of floats in double need no correction:
 * equal members give their value). The variance is -1 in lanes whose first members lie too far from the mean; returns
 * whether there are some. */
static bool means32(tile *t) {
    double count = (double)t->M;
    vl some = {0};
    for (size_t c = 0; c < t->C; c++) {
        vd mean = t->mu[c] / count, off = mean - vd_from(t->mu_high[c]), square = off * off;
        vd variance = vd_max(t->variance[c] / count - square, vd_set(0.0));
        vl far = square > FAR_START * variance;
        some |= far;
        t->variance[c] = vd_select(far, vd_set(-1.0), variance);
        t->mu[c] = mean;
        t->mu_high[c] = vh_from(mean);
        t->mu_low[c] = vh_from(mean - vd_from(t->mu_high[c]));
    }
    return vl_any(some);
}

/* The variances that means32 left. */
static void variances_again(tile *t) {
    for (size_t c = 0; c < t->C; c++) {
        vd squares = {0};
        vl far = t->variance[c] < 0.0;
        for (size_t m = 0; vl_any(far) && m < t->M; m++) {
            vd d = vd_from(class_at(t, c)[m]) - t->mu[c];
            squares += d * d;
        }
        t->variance[c] = vd_select(far, squares * (1.0 / (double)t->M), t->variance[c]);
    }
}

/* The same as moments() from floats. `extremes`: smallest and largest are needed too. */
static void moments32(tile *t, bool extremes) {
    bool again = means32(t);
    if (again && !beyond_moments(t)) { /* only their sums were kept */
        fill_columns(t, t->first, t->count);
        means32(t);
    }
    if (again)
        variances_again(t);
    for (size_t c = 0; extremes && c < t->C; c++)
        extremes32_class(t, c);
}
