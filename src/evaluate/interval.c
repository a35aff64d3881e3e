/* interval.c - confidence intervals from a figure and its resamples; docs/evaluation.md says which figure has which.
 *
 *     method        ends of the interval
 *     logarithm     exp(log v +- z s), s the spread of the resamples' logarithms; for positive figures without an upper
 *                   limit
 *     logit         the same on log(v / (1 - v)); for figures between 0 and 1. z is a quantile of Student's t with one
 *                   degree of freedom less than there are errors, because the figure and its spread depend on those
 *                   few rows
 *     share         Clopper-Pearson at the effective sample size v (1 - v) / variance of the resamples, at most the
 *                   rows counted (Korn and Graubard 1998): exact where rows are independent, wider where they come
 *                   in groups or where their threshold is itself an estimate
 *     area          logit, and an upper end that counts one error more than was seen, in a row drawn at random: the
 *                   areas under risk curves of a good model depend on rare errors among its most certain rows, and a
 *                   sample without any of them shows neither their weight nor their spread
 *
 * An interval never excludes its own figure. Where a method has no answer (all resamples alike, a figure at its end)
 * the ends are NaN: no interval. */

#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"

enum { FEWEST_EVENTS = 3, FEW = 200 };

double vg_evaluate__variance(const double *values, size_t count) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? square / (double)(count - 1) : 0;
}

/* Resamples whose logarithms or logits spread less than that differ by rounding alone. */
#define ALIKE 1e-9

static double logit(double p) { return log(p) - log1p(-p); }
static double inverse_logit(double x) { return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

/* Resamples at an end of the scale (a resample without errors) count as half an event: the logarithm stays finite,
 * and they are still extreme. */
static void transformed(vg_estimate *e, double events, double *values, size_t count, double confidence, bool bounded) {
    double v = e->value, least = INFINITY, most = 0;
    if (!(v > 0) || (bounded && !(v < 1)) || events < FEWEST_EVENTS)
        return;
    for (size_t i = 0; i < count; i++) {
        if (values[i] > 0 && values[i] < least)
            least = values[i];
        if (values[i] < 1 && values[i] > most)
            most = values[i];
    }
    for (size_t i = 0; i < count; i++) {
        double x = values[i] > 0 ? values[i] : least / 2;
        if (bounded)
            x = x < 1 ? x : (1 + most) / 2;
        values[i] = bounded ? logit(x) : log(x);
    }
    double spread = sqrt(vg_evaluate__variance(values, count)),
           z = vg_base__t_quantile(1 - (1 - confidence) / 2, events - 1);
    if (!(spread > ALIKE))
        return;
    e->low = bounded ? inverse_logit(logit(v) - z * spread) : v * exp(-z * spread);
    e->high = bounded ? inverse_logit(logit(v) + z * spread) : v * exp(z * spread);
}

/* Moves the upper end to where it would be with one more error in a random row. square: variance of the resamples. */
static void count_unseen_error(vg_estimate *e, const vg_interval_rule *rule, double square, double confidence) {
    double v = e->value + rule->unseen_mean, spread = sqrt(square + rule->unseen_square) / (v * (1 - v));
    if (isnan(e->high) || !(v < 1))
        return;
    double z = vg_base__t_quantile(1 - (1 - confidence) / 2, rule->events - 1);
    e->high = fmax(e->high, inverse_logit(logit(v) + z * spread));
}

void vg_evaluate__share_interval(vg_estimate *e, double rows, double deviation, double confidence) {
    double v = e->value, half = (1 - confidence) / 2, effective = rows;
    e->low = e->high = NAN;
    if (!(v >= 0 && v <= 1) || !(rows >= 1))
        return;
    if (deviation > 0 && v > 0 && v < 1 && v * (1 - v) / deviation < rows)
        effective = v * (1 - v) / deviation;
    double hits = v * effective;
    e->low = hits > 0 ? vg_base__beta_quantile(half, hits, effective - hits + 1) : 0;
    e->high = hits < effective ? vg_base__beta_quantile(1 - half, hits + 1, effective - hits) : 1;
}

void vg_evaluate__interval(vg_estimate *e, const vg_interval_rule *rule, double *values, size_t count,
                           double confidence) {
    vg_interval_kind kind = rule->kind;
    size_t defined = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[defined++] = values[i];
    e->low = e->high = NAN;
    if (defined == 0 || isnan(e->value))
        return;
    if (kind == VG_INTERVAL_LOG || kind == VG_INTERVAL_LOGIT)
        transformed(e, rule->events, values, defined, confidence, kind == VG_INTERVAL_LOGIT);
    else if (kind == VG_INTERVAL_SHARE)
        vg_evaluate__share_interval(e, rule->events, vg_evaluate__variance(values, defined), confidence);
    else if (kind == VG_INTERVAL_AREA) {
        double square = vg_evaluate__variance(values, defined);
        transformed(e, rule->events, values, defined, confidence, true);
        count_unseen_error(e, rule, square, confidence);
    }
    if (e->low > e->value)
        e->low = e->value;
    if (e->high < e->value)
        e->high = e->value;
}

/* The variance of an AUROC of `area` with a positives and b negatives, scores exponential on both sides (Hanley and
 * McNeil 1982), in Newcombe's (2006) symmetrical form. */
static double hanley_mcneil(double area, double a, double b) {
    double n = (a + b) / 2 - 1;
    return area * (1 - area) * (1 + n * (1 - area) / (2 - area) + n * area / (1 + area)) / (a * b);
}

/* The point between the area `from` and the end `to` where |area - x| = z sqrt(variance at x): a score interval,
 * which has a width even where the area is 0 or 1. */
static double newcombe_end(double area, double to, double z, double a, double b) {
    double from = area;
    for (int i = 0; i < 100; i++) {
        double middle = (from + to) / 2;
        if (fabs(middle - area) < z * sqrt(hanley_mcneil(middle, a, b)))
            from = middle;
        else
            to = middle;
    }
    return (from + to) / 2;
}

void vg_evaluate__auroc_interval(vg_estimate *e, double deviation, double positives, double negatives,
                                 double confidence) {
    double v = e->value, fewer = positives < negatives ? positives : negatives, level = 1 - (1 - confidence) / 2;
    double z = vg_base__normal_quantile(level);
    e->low = e->high = NAN;
    if (isnan(v) || !(positives >= 1 && negatives >= 1))
        return;
    if (deviation > 0 && v > 0 && v < 1) {
        double far = vg_base__t_quantile(level, fewer > 2 ? fewer - 1 : 1) * sqrt(deviation) / (v * (1 - v));
        e->low = inverse_logit(logit(v) - far);
        e->high = inverse_logit(logit(v) + far);
    }
    /* Perfect separation, all rows tied, one row on a side: DeLong's variance is 0 or undefined. Few rows on a side
     * may be alike by chance, which makes it too small: the wider end is taken there. */
    if (isnan(e->low) || fewer < FEW) {
        e->low = fmin(newcombe_end(v, 0, z, positives, negatives), e->low); /* fmin of a number and NaN: the number */
        e->high = fmax(newcombe_end(v, 1, z, positives, negatives), e->high);
    }
    e->low = fmin(e->low, v);
    e->high = fmax(e->high, v);
}
