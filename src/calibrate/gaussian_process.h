/* gaussian_process.h - Gaussian-process regression of a function of one variable. Internal.
 *
 * Prior: mean 0, covariance s2 (k(|x - x'| / l) + nu [x = x']), Matern 5/2: k = (1 + a + a^2/3) e^-a, a = sqrt(5) r
 * / l. Targets are standardised (mean 0, deviation 1). l and nu maximise the marginal likelihood with s2 at its own
 * maximiser, s2 = t' A^-1 t / n, A = K + nu I. A = L L' and the solves are those of cholesky.c. */
#ifndef VG_GAUSSIAN_PROCESS_H
#define VG_GAUSSIAN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/status.h"

typedef struct vg_gp {
    size_t capacity, candidates; /* largest number of points; of points predicted at once */
    size_t n;
    const double *x; /* n, borrowed */
    double *target;  /* n: standardised */
    double mean, deviation;
    double log_length, log_noise, signal; /* l, nu, s2 */
    double *factor;                       /* n n, column by column: L */
    double *alpha;                        /* n: A^-1 t */
    double *slope, *inverse;              /* n n: workspace of the likelihood */
    double *cross;                        /* n x candidates: workspace of prediction */
} vg_gp;

vg_status vg_gp__new(vg_gp **out, size_t capacity, size_t candidates);
void vg_gp__free(vg_gp *gp);

/* Takes n points (x borrowed until the next call) and maximises the marginal likelihood, starting from the
 * hyperparameters in the struct (`fresh`: from several starts as well), with at most `steps` steps each. steps = 0
 * keeps the hyperparameters. */
vg_status vg_gp__fit(vg_gp *gp, const double *x, const double *y, size_t n, bool fresh, unsigned steps);
/* Minus the profile log marginal likelihood, without constants, at (log l, log nu), and its gradient; infinite where
 * A has no factor. Leaves factor, alpha and signal at these hyperparameters. */
double vg_gp__objective(vg_gp *gp, const double point[2], double gradient[2]);
/* Posterior mean and deviation of the standardised function at count <= candidates points. */
void vg_gp__predict(vg_gp *gp, const double *at, size_t count, double *mean, double *deviation);
/* Derivative of the posterior mean. */
double vg_gp__mean_slope(const vg_gp *gp, double at);

/* Bounds of the hyperparameters. */
#define VG_GP_LOG_LENGTH_MIN (-2.5) /* l = 0.08 */
#define VG_GP_LOG_LENGTH_MAX 3.5    /* l = 33 */
#define VG_GP_LOG_NOISE_MIN (-23.0) /* nu = 1e-10 */
#define VG_GP_LOG_NOISE_MAX (-4.0)  /* nu = 0.018 */

#endif
