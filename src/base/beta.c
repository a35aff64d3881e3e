/* beta.c - the regularised incomplete beta function and its inverse.
 *
 *     I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * F,   F the continued fraction (Lentz), for x below (a+1)/(a+b+2); else by
 *     I_x(a, b) = 1 - I_{1-x}(b, a)
 * The leading factor is the binomial probability in the saddle-point form of Loader (2000): Stirling remainders and
 * deviances instead of differences of large log-gammas, so it keeps full precision at millions of samples. */
#include <math.h>

#include "base/distributions.h"

static const double two_pi = 6.283185307179586476925;

/* log(Gamma(n + 1)) - [(n + 1/2) log n - n + log(2 pi) / 2], n > 0. */
static double stirling_remainder(double n) {
    if (n < 12)
        return log(tgamma(n + 1)) - ((n + 0.5) * log(n) - n + 0.5 * log(two_pi));
    double r = 1 / (n * n);
    return (1. / 12 - (1. / 360 - (1. / 1260 - (1. / 1680 - (1. / 1188 - 691. / 360360 * r) * r) * r) * r) * r) / n;
}

/* x log(x / m) + m - x without cancellation where x is near m; x, m > 0. */
static double deviance(double x, double m) {
    double d = (x - m) / (x + m);
    if (fabs(d) > 0.1)
        return x * log(x / m) + m - x;
    /* log(x / m) = 2 atanh d; x log(x/m) + m - x = (x - m) d + 2 x (d^3/3 + d^5/5 + ...) */
    double sum = (x - m) * d, term = 2 * x * d, d2 = d * d;
    for (int j = 3; j < 100; j += 2) {
        term *= d2;
        double next = sum + term / j;
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* x^a y^b Gamma(a + b) / (Gamma(a) Gamma(b)). y = 1 - x is given separately so that neither loses digits. */
static double front(double x, double y, double a, double b) {
    double n = a + b;
    double log_p =
        stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b) - deviance(a, n * x) - deviance(b, n * y);
    return exp(log_p) * sqrt(a * b / (two_pi * n));
}

/* The continued fraction of I_x(a, b) a / front, by Lentz's method. */
static double fraction(double x, double a, double b) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        double step = d * c;
        f *= step;
        if (fabs(step - 1) < 1e-16)
            break;
    }
    return f;
}

/* I_x(a, b) and its complement; 0 < x < 1, y = 1 - x. */
static void both_tails(double *lower, double *upper, double x, double y, double a, double b) {
    if (x < (a + 1) / (a + b + 2)) {
        *lower = front(x, y, a, b) * fraction(x, a, b) / a;
        *lower = *lower > 1 ? 1 : *lower;
        *upper = 1 - *lower;
    } else {
        *upper = front(x, y, a, b) * fraction(y, b, a) / b;
        *upper = *upper > 1 ? 1 : *upper;
        *lower = 1 - *upper;
    }
}

double vg_base__beta_cdf(double x, double a, double b) {
    if (isnan(x) || !(a > 0 && b > 0) || !isfinite(a) || !isfinite(b))
        return NAN;
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double lower, upper;
    both_tails(&lower, &upper, x, 1 - x, a, b);
    return lower;
}

/* The x at which the lower tail is p and the upper q = 1 - p, by Newton steps kept inside a bracket that bisection
 * shrinks. Halving runs in the exponent while the bracket spans more than a factor of two, so that tiny quantiles
 * keep their digits. */
static double solve(double p, double q, double a, double b) {
    double low = 0, high = 1, x = a / (a + b);
    for (int i = 0; i < 2000; i++) {
        double lower, upper;
        both_tails(&lower, &upper, x, 1 - x, a, b);
        double miss = p < q ? lower - p : q - upper; /* the smaller tail has the accurate digits */
        if (miss == 0)
            return x;
        *(miss > 0 ? &high : &low) = x;
        double slope = front(x, 1 - x, a, b) / (x * (1 - x)), next = x - miss / slope;
        if (!(next > low && next < high))
            next = low > 0 && high > 2 * low ? sqrt(low * high) : low > 0 ? low + (high - low) / 2 : high / 16;
        if (fabs(next - x) <= 4e-16 * x || next == low || next == high)
            return next;
        x = next;
        if (x < 1e-300)
            return x;
    }
    return x;
}

double vg_base__beta_quantile(double probability, double a, double b) {
    if (!(probability >= 0 && probability <= 1) || !(a > 0 && b > 0) || !isfinite(a) || !isfinite(b))
        return NAN;
    if (probability == 0 || probability == 1)
        return probability;
    /* A quantile close to 1 is more accurate as 1 minus that of the other tail. */
    double middle = vg_base__beta_cdf(0.5, a, b);
    return probability > middle ? 1 - solve(1 - probability, probability, b, a)
                                : solve(probability, 1 - probability, a, b);
}
