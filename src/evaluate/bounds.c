/* bounds.c - upper confidence bounds of a mean: Clopper-Pearson for 0/1 losses, and for losses in [0, 1] the smaller of
 * a Hoeffding-Bentkus and a betting bound.
 *
 * The hypothesis is "the mean is at least r"; x is the observed mean of n independent losses, L_1 .. L_n the losses.
 *     Clopper-Pearson     p = P(Bin(n, r) <= n x)
 *     Hoeffding-Bentkus   p = min(exp(-n h(x, r)), e P(Bin(n, r) <= ceil(n x)))
 *     betting             p = 1 / max_j K_j,  K_j = K_{j-1} (1 - v_j (L_j - r)),  K_0 = 1
 *
 * (Bates et al. 2021; Waudby-Smith and Ramdas 2024.) h is the Kullback-Leibler divergence of x from r. The bet
 * v_j = min(1, sqrt(2 log(1 / b) / (n s_{j-1}))) uses the losses before j alone, s their variance with a prior of one
 * loss; K is then a nonnegative supermartingale under the hypothesis and exceeds 1 / a with probability a at most
 * (Ville). b only tunes the bet: it does not depend on the level of the test, so that p is one p-value for all
 * levels. Hoeffding's and Bentkus's are bounds of one tail, so their minimum is one too; the betting bound is a
 * different event, so the two share the level: p = 2 min(p_HB, p_bet). */
#include "evaluate/bounds.h"
#include "base/distributions.h"
#include "evaluate/select_internal.h"

double vg_evaluate__binomial_cdf(double errors, double n, double risk) {
    return errors >= n ? 1 : vg_base__beta_cdf(1 - risk, n - errors, errors + 1);
}

/* x log(x / r) + (1 - x) log((1 - x) / (1 - r)), x <= r < 1. */
static double divergence(double x, double r) {
    double low = x > 0 ? x * log(x / r) : 0;
    return low + (1 - x) * (log1p(-x) - log1p(-r));
}

double vg_evaluate__hoeffding_bentkus(double mean, size_t n, double risk) {
    if (n == 0 || !(mean < risk))
        return 1;
    if (risk >= 1)
        return 0;
    double count = (double)n, hoeffding = exp(-count * divergence(mean, risk));
    /* A mean of whole losses can differ from its count by rounding, which must not count as one more error. */
    double bentkus = exp(1) * vg_evaluate__binomial_cdf(ceil(count * mean - 1e-9), count, risk);
    return bentkus < hoeffding ? bentkus : hoeffding;
}

double vg_evaluate__betting_capital(const double *losses, size_t n, double risk, double tuned) {
    double scale = 2 * log(1 / tuned) / (double)n, sum = 0.5, squares = 0.25, mean = 0.5;
    double settled = 0, capital = 1, highest = 1, best = 0; /* log K is settled + log(capital) */
    for (size_t j = 0; j < n; j++) {
        double weight = (double)(j + 1), bet2 = scale * weight / squares, loss = losses[j];
        capital *= 1 - (bet2 < 1 ? sqrt(bet2) : 1) * (loss - risk);
        highest = capital > highest ? capital : highest;
        if (capital < 1e-200 || capital > 1e200) {
            best = settled + log(highest) > best ? settled + log(highest) : best;
            settled += log(capital);
            capital = highest = 1;
        }
        sum += loss;
        mean = sum / (weight + 1);
        squares += (loss - mean) * (loss - mean);
    }
    return settled + log(highest) > best ? settled + log(highest) : best;
}

/* The p-values of both kinds of bound; both are 1 without losses. */
typedef struct bounded_p_values {
    double hoeffding_bentkus, betting;
} bounded_p_values;

static bounded_p_values p_values(const double *losses, size_t n, double risk, double tuned) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += losses[j];
    return (bounded_p_values){vg_evaluate__hoeffding_bentkus(sum / (double)n, n, risk),
                              exp(-vg_evaluate__betting_capital(losses, n, risk, tuned))};
}

double vg_evaluate__bounded_p(const double *losses, size_t n, double risk, double tuned) {
    bounded_p_values own = p_values(losses, n, risk, tuned);
    return fmin(1, 2 * fmin(own.hoeffding_bentkus, own.betting));
}

vg_bound vg_evaluate__bounded_kind(const double *losses, size_t n, double risk, double tuned) {
    bounded_p_values own = p_values(losses, n, risk, tuned);
    return own.betting < own.hoeffding_bentkus ? VG_BOUND_BETTING : VG_BOUND_HOEFFDING_BENTKUS;
}

/* Both p-values fall in r, so the bound is where p crosses the level. Found by bisection; the upper end is returned. */
double vg_evaluate__bounded_upper(const double *losses, size_t n, double level, double tuned) {
    double low = 0, high = 1;
    while (high - low > 1e-12) {
        double middle = low + (high - low) / 2;
        *(vg_evaluate__bounded_p(losses, n, middle, tuned) <= level ? &high : &low) = middle;
    }
    return high;
}

vg_status vg_bounds__mean_upper(double *bound, const double *losses, size_t n, double confidence) {
    if (!bound || (n > 0 && !losses))
        return vg_base__fail(VG_ERR_ARGUMENT, "bounded mean: bound and losses must not be NULL");
    if (!(confidence > 0 && confidence < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "bounded mean: confidence %g, expected above 0 and below 1", confidence);
    for (size_t i = 0; i < n; i++)
        if (!(losses[i] >= 0 && losses[i] <= 1))
            return vg_base__fail(VG_ERR_DATA, "bounded mean: loss %zu is %g, expected 0 to 1", i, losses[i]);
    *bound = vg_evaluate__bounded_upper(losses, n, 1 - confidence, (1 - confidence) / 2);
    return VG_OK;
}

double vg_bounds__clopper_pearson(size_t errors, size_t n, double confidence) {
    if (errors >= n)
        return 1;
    return vg_base__beta_quantile(confidence, (double)errors + 1, (double)(n - errors));
}
