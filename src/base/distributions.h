/* distributions.h - the beta distribution, the normal one and Student's t. NaN outside of a function's domain. */
#ifndef VG_DISTRIBUTIONS_H
#define VG_DISTRIBUTIONS_H

/* Regularised incomplete beta function I_x(a, b) and its inverse in x; a, b > 0. */
double vg_base__beta_cdf(double x, double a, double b);
double vg_base__beta_quantile(double probability, double a, double b);
/* The value that a standard normal variable does not exceed with this probability, and the same of Student's t with
 * `freedom` > 0 degrees of freedom (infinity, NaN: the normal distribution). */
double vg_base__normal_quantile(double probability);
double vg_base__t_quantile(double probability, double freedom);
/* P(|T| > t) for t >= 0. */
double vg_base__t_tails(double t, double freedom);

#endif
