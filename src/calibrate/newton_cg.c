/* newton_cg.c - a trust-region Newton method with conjugate gradients. See newton_cg.h.
 *
 *     min over |s| <= radius of  g s + s H s / 2,  by conjugate gradients from s = 0, until the residual is small
 *     against the gradient, the border is reached or the curvature is negative.
 *     ratio = actual / predicted decrease: below 0.25 the radius shrinks, above 0.75 it grows; below 1e-4 the step is
 *     not taken. */
#include "calibrate/newton_cg.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 250 };

typedef struct workspace {
    double *g, *trial_g, *x, *s, *r, *d, *hd, *hs;
} workspace;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double largest(const double *a, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    return most;
}

/* Moves s by t d, and H s accordingly; t >= 0. */
static void move(workspace *w, double t, size_t n) {
    for (size_t i = 0; i < n; i++) {
        w->s[i] += t * w->d[i];
        w->hs[i] += t * w->hd[i];
    }
}

/* The distance along d to the border |s| = radius. */
static double to_border(const workspace *w, double radius, size_t n) {
    double dd = dot(w->d, w->d, n), sd = dot(w->s, w->d, n), ss = dot(w->s, w->s, n);
    double root = sqrt(sd * sd + dd * (radius * radius - ss));
    return sd > 0 ? (radius * radius - ss) / (sd + root) : (root - sd) / dd;
}

/* The step into w->s, and H s into w->hs. */
static vg_status solve(workspace *w, const double *x, const vg_objective *o, double radius, unsigned *products) {
    size_t n = o->n;
    double rr = dot(w->g, w->g, n), start = sqrt(rr), enough = start * fmin(0.1, sqrt(start));
    memset(w->s, 0, n * sizeof *w->s);
    memset(w->hs, 0, n * sizeof *w->hs);
    for (size_t i = 0; i < n; i++)
        w->r[i] = w->d[i] = -w->g[i];
    for (unsigned i = 0; i < MOST_PRODUCTS && sqrt(rr) > enough; i++) {
        VG_TRY(o->product(o->context, x, w->d, w->hd));
        ++*products;
        double curvature = dot(w->d, w->hd, n), border = to_border(w, radius, n), t = rr / curvature;
        if (!(curvature > 0) || t >= border) {
            move(w, border, n);
            return VG_OK;
        }
        move(w, t, n);
        for (size_t j = 0; j < n; j++)
            w->r[j] -= t * w->hd[j];
        double next = dot(w->r, w->r, n), beta = next / rr;
        for (size_t j = 0; j < n; j++)
            w->d[j] = w->r[j] + beta * w->d[j];
        rr = next;
    }
    return VG_OK;
}

static vg_status iterate(vg_minimum *out, double *x, const vg_objective *o, workspace *w, double tolerance,
                         unsigned max_iterations) {
    size_t n = o->n;
    double radius = 1;
    VG_TRY(o->value(o->context, x, &out->value, w->g));
    for (;; out->iterations++) {
        out->gradient = largest(w->g, n);
        out->converged = out->gradient <= tolerance;
        if (!isfinite(out->value) || !isfinite(out->gradient))
            return vg_base__fail(VG_ERR_NUMERIC, "the loss is not finite");
        if (out->converged || out->iterations >= max_iterations)
            return VG_OK;
        double trial, predicted, length;
        VG_TRY(solve(w, x, o, radius, &out->products));
        predicted = -dot(w->g, w->s, n) - 0.5 * dot(w->s, w->hs, n);
        length = sqrt(dot(w->s, w->s, n));
        out->converged = predicted <= 4e-16 * fabs(out->value);
        if (out->converged || length == 0)
            return VG_OK;
        for (size_t i = 0; i < n; i++)
            w->x[i] = x[i] + w->s[i];
        VG_TRY(o->value(o->context, w->x, &trial, w->trial_g));
        double ratio = (out->value - trial) / predicted;
        if (!(ratio >= 0.25))
            radius = 0.25 * length;
        else if (ratio > 0.75 && length > 0.9 * radius)
            radius = fmin(2 * radius, 1e3);
        if (ratio > 1e-4) {
            memcpy(x, w->x, n * sizeof *x);
            memcpy(w->g, w->trial_g, n * sizeof *w->g);
            out->value = trial;
        }
    }
}

vg_status vg_newton_cg(vg_minimum *out, double *x, const vg_objective *objective, double tolerance,
                       unsigned max_iterations) {
    size_t n = objective->n;
    double *room;
    *out = (vg_minimum){0};
    VG_TRY(vg_base__alloc(&room, n, 8 * sizeof *room, "a minimisation"));
    workspace w = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, room + 5 * n, room + 6 * n, room + 7 * n};
    vg_status status = iterate(out, x, objective, &w, tolerance, max_iterations);
    vg_base__release(room);
    return status;
}
