/* student.c - quantiles of the normal distribution and of Student's t, and the tails of t. With v degrees of freedom
 * and x = v / (v + t^2), P(|T| > t) is the regularised incomplete beta function I_x(v / 2, 1 / 2). */
#include <math.h>

#include "base/distributions.h"

/* From so many degrees of freedom on, t is taken as normal. */
static const double many = 1e6;

double vg_base__normal_quantile(double probability) {
    if (!(probability > 0 && probability < 1))
        return probability == 0 ? -INFINITY : probability == 1 ? INFINITY : NAN;
    double tail = probability < 0.5 ? probability : 1 - probability, low = 0, high = 40;
    for (int i = 0; i < 60; i++) { /* erfc falls: bisect the upper tail */
        double middle = (low + high) / 2;
        if (0.5 * erfc(middle / sqrt(2)) > tail)
            low = middle;
        else
            high = middle;
    }
    return probability < 0.5 ? -(low + high) / 2 : (low + high) / 2;
}

double vg_base__t_quantile(double probability, double freedom) {
    if (!(freedom < many) || probability == 0.5)
        return vg_base__normal_quantile(probability);
    double tail = probability < 0.5 ? probability : 1 - probability,
           x = vg_base__beta_quantile(2 * tail, freedom / 2, 0.5);
    double t = sqrt(freedom * (1 - x) / x);
    return probability < 0.5 ? -t : t;
}

double vg_base__t_tails(double t, double freedom) {
    return freedom < many ? vg_base__beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5) : erfc(t / sqrt(2));
}
