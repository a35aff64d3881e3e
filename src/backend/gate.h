/* gate.h - the variance gate that the gated loss trains: its constants, and k as a function of the trained
 * parameter. Internal. Formulas of the loss: ref/ref_gate.c.
 *
 * k(c) = softplus(l(c)) + 1e-8 is positive for any l, and .693 at l = 0, where it starts. It is bounded on both
 * sides: as k -> 0 every gate is 1, and as a common k -> infinity the loss does not depend on it. At a bound its
 * gradient is 0. */
#ifndef VG_BACKEND_GATE_H
#define VG_BACKEND_GATE_H

#include <math.h>

#define VG_GATE_EPSILON 1e-8 /* added to sigma */
#define VG_GATE_FLOOR 1e-8   /* of Gamma, of Z_m and of the mean probability in the logarithm */
#define VG_GATE_LEAST 1e-3
#define VG_GATE_MOST 1e3

/* k before it is bounded. */
static inline double vg_gate__softplus(double l) { return (l > 30 ? l : log1p(exp(l))) + 1e-8; }

static inline double vg_gate__k(double l) { return fmin(fmax(vg_gate__softplus(l), VG_GATE_LEAST), VG_GATE_MOST); }

/* dk/dl. */
static inline double vg_gate__slope(double l) {
    const double k = vg_gate__softplus(l);
    return k <= VG_GATE_LEAST || k >= VG_GATE_MOST ? 0 : 1 / (1 + exp(-l));
}

#endif
