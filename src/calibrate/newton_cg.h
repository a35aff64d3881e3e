/* newton_cg.h - minimises a smooth function of many variables, between bounds where there are any. Internal to
 * calibrate.
 *
 * A trust region surrounds the current point. Inside it Newton's equation is solved by conjugate gradients (Steihaug)
 * over the variables that no bound holds. They need products of the Hessian with vectors and never the Hessian itself,
 * and follow a direction of negative curvature to the border. A step that leaves the bounds is cut off at them. Near a
 * minimiser the step is Newton's own, and convergence is better than linear. */
#ifndef VG_CALIBRATE_NEWTON_CG_H
#define VG_CALIBRATE_NEWTON_CG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

typedef struct vg_objective {
    size_t n;
    void *context;
    /* f(x), and the gradient where g is not NULL. */
    vg_status (*value)(void *context, const double *x, double *f, double *g);
    /* hv = Hessian(x) v */
    vg_status (*product)(void *context, const double *x, const double *v, double *hv);
    /* d = the Hessian's diagonal at x, which scales the variables; NULL: they are alike. */
    vg_status (*diagonal)(void *context, const double *x, double *d);
    double low, high; /* bounds of every variable; none where they are equal */
} vg_objective;

typedef struct vg_minimum {
    double value, gradient; /* f, and the largest |df/dx| of variables that no bound holds */
    unsigned iterations, products;
    bool converged; /* gradient <= tolerance, or no step changes f by more than rounding */
} vg_minimum;

/* Moves x[n] to a minimiser. */
vg_status vg_newton_cg(vg_minimum *out, double *x, const vg_objective *objective, double tolerance,
                       unsigned max_iterations);

#endif
