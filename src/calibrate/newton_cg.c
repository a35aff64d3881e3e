/* newton_cg.c - a trust-region Newton method with conjugate gradients. See newton_cg.h.
 *
 *     min over |s| <= radius of  g s + s H s / 2,  by conjugate gradients from s = 0, until the residual is small
 *     against the gradient, the border is reached or the curvature is negative.
 *     ratio = actual / predicted decrease: below 0.25 the radius shrinks, above 0.75 it grows; below 1e-4 the step is
 *     not taken.
 * |s| is the norm sum_i e(i) s(i)^2 with e the diagonal of H, made positive: the conjugate gradients are preconditioned
 * by it. Variables at a bound which the gradient points out of are held. For a radius that is small enough the step
 * follows the scaled gradient, whose part inside the bounds still descends, so that a cut step fails only finitely
 * often. */
#include "calibrate/newton_cg.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 250, ARRAYS = 10 };
#define LEAST_SCALE 1e-5 /* of the diagonal against its largest entry */

typedef struct workspace {
    double *g, *trial_g, *x, *s, *r, *d, *hd, *hs;
    double *scale; /* e, 0 for a variable that is held */
    double *z;     /* r / e */
} workspace;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* sum_i e(i) a(i) b(i) */
static double scaled_dot(const double *a, const double *b, const double *e, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += e[i] * a[i] * b[i];
    return sum;
}

static double total(const double *a, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

/* --- variables that move, and their scales ------------------------------------------------------------------------ */
static bool is_held(const vg_objective *o, double x, double g) {
    return o->low < o->high && ((x <= o->low && g > 0) || (x >= o->high && g < 0));
}

/* The largest |derivative| of a variable that is not held. */
static double slope(const double *x, const double *g, const vg_objective *o) {
    double most = 0;
    for (size_t i = 0; i < o->n; i++)
        most = !is_held(o, x[i], g[i]) && !(fabs(g[i]) <= most) ? fabs(g[i]) : most;
    return most;
}

static vg_status scale_variables(workspace *w, const double *x, const vg_objective *o) {
    double most = 0;
    if (o->diagonal)
        VG_TRY(o->diagonal(o->context, x, w->scale));
    for (size_t i = 0; i < o->n; i++) {
        w->scale[i] = is_held(o, x[i], w->g[i]) ? 0 : o->diagonal ? fabs(w->scale[i]) : 1;
        most = fmax(most, w->scale[i]);
    }
    for (size_t i = 0; i < o->n; i++)
        if (!is_held(o, x[i], w->g[i]))
            w->scale[i] = most > 0 ? fmax(w->scale[i], LEAST_SCALE * most) : 1;
    return VG_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */
/* Moves s by t d, and H s accordingly; t >= 0. */
static void move(workspace *w, double t, size_t n) {
    for (size_t i = 0; i < n; i++) {
        w->s[i] += t * w->d[i];
        w->hs[i] += t * w->hd[i];
    }
}

/* The distance along d to the border |s| = radius. */
static double to_border(const workspace *w, double radius, size_t n) {
    double dd = scaled_dot(w->d, w->d, w->scale, n), sd = scaled_dot(w->s, w->d, w->scale, n),
           ss = scaled_dot(w->s, w->s, w->scale, n);
    double root = sqrt(sd * sd + dd * (radius * radius - ss));
    return sd > 0 ? (radius * radius - ss) / (sd + root) : (root - sd) / dd;
}

/* z = r / e over the variables that are not held, r = 0 for the others; returns r z. */
static double precondition(workspace *w, size_t n) {
    for (size_t i = 0; i < n; i++) {
        w->r[i] = w->scale[i] > 0 ? w->r[i] : 0;
        w->z[i] = w->scale[i] > 0 ? w->r[i] / w->scale[i] : 0;
    }
    return dot(w->r, w->z, n);
}

/* The step into w->s, and H s into w->hs. */
static vg_status solve(workspace *w, const double *x, const vg_objective *o, double radius, unsigned *products) {
    size_t n = o->n;
    memset(w->s, 0, n * sizeof *w->s);
    memset(w->hs, 0, n * sizeof *w->hs);
    for (size_t i = 0; i < n; i++)
        w->r[i] = -w->g[i];
    double rz = precondition(w, n), first = rz, gradient = sqrt(dot(w->r, w->r, n)), enough = fmin(0.1, sqrt(gradient));
    memcpy(w->d, w->z, n * sizeof *w->d);
    for (unsigned i = 0; i < MOST_PRODUCTS && rz > enough * enough * first; i++) {
        VG_TRY(o->product(o->context, x, w->d, w->hd));
        ++*products;
        double curvature = dot(w->d, w->hd, n), border = to_border(w, radius, n), t = rz / curvature;
        if (!(curvature > 0) || t >= border) {
            move(w, border, n);
            return VG_OK;
        }
        move(w, t, n);
        for (size_t j = 0; j < n; j++)
            w->r[j] -= t * w->hd[j];
        double next = precondition(w, n), beta = next / rz;
        for (size_t j = 0; j < n; j++)
            w->d[j] = w->z[j] + beta * w->d[j];
        rz = next;
    }
    return VG_OK;
}

/* Cuts the step off at the bounds; *cut says whether it was. w->x becomes the point that it leads to. */
static vg_status stay_inside(workspace *w, const double *x, const vg_objective *o, bool *cut, unsigned *products) {
    *cut = false;
    for (size_t i = 0; i < o->n; i++) {
        double to = x[i] + w->s[i];
        w->x[i] = o->low < o->high ? fmin(fmax(to, o->low), o->high) : to;
        if (w->x[i] != to) {
            w->s[i] = w->x[i] - x[i];
            *cut = true;
        }
    }
    if (*cut) {
        VG_TRY(o->product(o->context, x, w->s, w->hs));
        ++*products;
    }
    return VG_OK;
}

/* --- iterations --------------------------------------------------------------------------------------------------- */
static vg_status iterate(vg_minimum *out, double *x, const vg_objective *o, workspace *w, double tolerance,
                         unsigned max_iterations) {
    size_t n = o->n;
    double radius = 0;
    bool stay = false; /* the point is that of the last iteration */
    VG_TRY(o->value(o->context, x, &out->value, w->g));
    for (;; out->iterations++) {
        double trial, predicted, length, ratio;
        bool cut;
        out->gradient = slope(x, w->g, o);
        out->converged = out->gradient <= tolerance;
        if (!isfinite(out->value) || !isfinite(out->gradient))
            return vg_base__fail(VG_ERR_NUMERIC, "the loss is not finite");
        if (out->converged || out->iterations >= max_iterations)
            return VG_OK;
        if (!stay)
            VG_TRY(scale_variables(w, x, o));
        if (radius == 0)
            radius = o->diagonal ? sqrt(total(w->scale, n)) : 1;
        VG_TRY(solve(w, x, o, radius, &out->products));
        VG_TRY(stay_inside(w, x, o, &cut, &out->products));
        predicted = -dot(w->g, w->s, n) - 0.5 * dot(w->s, w->hs, n);
        length = sqrt(scaled_dot(w->s, w->s, w->scale, n));
        out->converged = !cut && predicted <= 4e-16 * fabs(out->value);
        if (out->converged || length == 0)
            return VG_OK;
        VG_TRY(o->value(o->context, w->x, &trial, w->trial_g));
        ratio = predicted > 0 ? (out->value - trial) / predicted : -1;
        stay = !(ratio > 1e-4);
        if (!(ratio >= 0.25))
            radius = 0.25 * fmin(length, radius);
        else if (ratio > 0.75 && length > 0.9 * radius)
            radius = fmin(2 * radius, 1e3);
        if (!stay) {
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
    VG_TRY(vg_base__alloc(&room, n, ARRAYS * sizeof *room, "a minimisation"));
    workspace w = {room,         room + n,     room + 2 * n, room + 3 * n, room + 4 * n,
                   room + 5 * n, room + 6 * n, room + 7 * n, room + 8 * n, room + 9 * n};
    vg_status status = iterate(out, x, objective, &w, tolerance, max_iterations);
    vg_base__release(room);
    return status;
}
