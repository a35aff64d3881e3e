/* newton.c - the exact minimiser of the cross-entropy in b = 1/T, for many temperatures in the same sweeps.
 *
 * L is convex in b, so its minimiser is the root of dL/db, an increasing function. The iteration runs in u = log b:
 *
 *     u <- u - slope / bend,     slope = b dL/db,  bend = b^2 d2L/db2 >= 0,
 *
 * Newton's step for the root, relative in b. With a previous point near by, the root of the cubic through both
 * points and their derivatives (of u as a function of dL/db) is taken instead: its order is 2.7 instead of 2, which
 * saves a sweep. The sign of the slope keeps a bracket [low, high]. A step that leaves the bracket, is longer than
 * 2, or does not shrink from one to the next is replaced: by the end of the range when that side has not been
 * evaluated (there the sign of the slope shows whether the minimiser lies beyond, which is flagged), else by the
 * middle of the bracket. Temperatures that are done drop out of later sweeps. */
#include <math.h>

#include "calibrate/solvers.h"

typedef struct search {
    double u, low, high;      /* log b, and the bracket */
    bool low_seen, high_seen; /* the slope's sign was seen on that side */
    double step;              /* the last one taken */
    double before, before_d,
        /* the previous point: u, dL/db there, and the derivative of u in dL/db; before_i = 0: none */
        before_i;
    unsigned evaluations, in_a_row; /* over the full data; consecutive slow steps */
    bool done;
} search;

static void finish(search *s, vg_temperature_fit *fit, uint32_t flags) {
    fit->flags = VG_FIT_CONVERGED | flags;
    s->done = true;
}

/* Newton's step from s->u, or the better one of the cubic through the previous point, which s->u replaces. */
static double improve(search *s, const vg_temperature_loss *loss) {
    double step = -loss->slope / loss->bend, b = exp(s->u), d = loss->slope / b, i = b / loss->bend,
           h = d - s->before_d;
    double apart = s->before - s->u, t = -s->before_d / h, cubic = NAN;
    if (s->before_i > 0 && fabs(apart) < 1)
        cubic =
            (1 + 2 * t) * (1 - t) * (1 - t) * apart + t * (1 - t) * (1 - t) * h * s->before_i + t * t * (t - 1) * h * i;
    s->before = s->u;
    s->before_d = d;
    s->before_i = loss->bend > 0 ? i : 0;
    return fabs(cubic - step) < 0.5 * fabs(step) ? cubic : step;
}

/* The end of the range, or the middle of the bracket. */
static double retreat(const search *s, bool up, double u_min, double u_max) {
    if (up ? s->high_seen : s->low_seen)
        return 0.5 * (s->low + s->high);
    return up ? u_max : u_min;
}

/* Takes the losses at s->u: either the search is done, or s->u moves to the next point. */
static void advance(search *s, const vg_calibrate_options *o, const vg_temperature_loss *loss,
                    vg_temperature_fit *fit) {
    const double u_min = -log(o->t_max), u_max = -log(o->t_min), most = 2;
    *fit = vg_problem__fit(s->u, loss);
    fit->evaluations = s->evaluations;
    if (loss->slope == 0 && loss->bend == 0 && s->u > u_min && s->u < u_max) {
        finish(s, fit, VG_FIT_FLAT);
        return;
    }
    if (loss->slope > 0) {
        s->high = s->u;
        s->high_seen = true;
    } else {
        s->low = s->u;
        s->low_seen = true;
    }
    if (s->u >= u_max && loss->slope <= 0) {
        finish(s, fit, VG_FIT_AT_MIN);
        fit->temperature = o->t_min;
        return;
    }
    if (s->u <= u_min && loss->slope >= 0) {
        finish(s, fit, VG_FIT_AT_MAX);
        fit->temperature = o->t_max;
        return;
    }
    if (loss->bend > 0 && (fabs(fit->step) <= o->tolerance || s->high - s->low <= o->tolerance)) {
        finish(s, fit, 0);
        return;
    }
    double step = improve(s, loss); /* may be infinite or NaN where the bend vanishes */
    bool slow = s->evaluations > 1 && fabs(step) > 0.5 * fabs(s->step);
    s->in_a_row = slow ? s->in_a_row + 1 : 0;
    double next = s->u + step;
    if (!(loss->bend > 0 && fabs(step) <= most && s->in_a_row < 2 && next > s->low && next < s->high)) {
        next = retreat(s, loss->slope <= 0, u_min, u_max);
        s->in_a_row = 0;
    }
    s->step = next - s->u;
    s->u = next;
}

/* The first point to evaluate, or the answer at once. */
static void begin(search *s, const vg_newton_start *start, size_t i, const vg_calibrate_options *o,
                  vg_temperature_fit *fit) {
    const double u_min = -log(o->t_max), u_max = -log(o->t_min);
    *s = (search){.u = 0, .low = u_min, .high = u_max};
    if (!(u_min < 0 && u_max > 0) && (start->at_one != NULL || start->guess == NULL)) {
        s->u = 0.5 * (u_min + u_max);
        return;
    }
    if (start->at_one == NULL) {
        if (start->guess != NULL && isfinite(start->guess[i]))
            s->u = fmin(fmax(start->guess[i], u_min), u_max);
        return;
    }
    s->evaluations = 1;
    advance(s, o, &start->at_one[i], fit);
    if (s->done)
        return;
    if (start->separable[i])
        s->u = u_max;
    else if (start->guess != NULL && start->guess[i] > s->low && start->guess[i] < s->high)
        s->u = start->guess[i];
    s->step = s->u;
}

static vg_status iterate(vg_problem *problem, search *searches, vg_temperature_fit *fits, double *log_b, bool *active,
                         vg_temperature_loss *losses, double *rows) {
    for (unsigned sweep = 0; sweep < problem->options->max_sweeps; sweep++) {
        bool any = false;
        for (size_t i = 0; i < problem->count; i++) {
            active[i] = !searches[i].done;
            log_b[i] = searches[i].u;
            any |= active[i];
            *rows += active[i];
        }
        if (!any)
            return VG_OK;
        VG_TRY(vg_problem__evaluate(problem, log_b, active, losses));
        for (size_t i = 0; i < problem->count; i++) {
            if (!active[i])
                continue;
            if (!isfinite(losses[i].loss) || !isfinite(losses[i].slope) || !isfinite(losses[i].bend))
                return vg_base__fail(VG_ERR_NUMERIC,
                                     "the loss of temperature %zu at T = %g is not finite: logits too large", i,
                                     exp(-log_b[i]));
            searches[i].evaluations++;
            advance(&searches[i], problem->options, &losses[i], &fits[i]);
        }
    }
    return VG_OK;
}

vg_status vg_newton__solve(vg_problem *problem, const vg_newton_start *start, vg_temperature_fit *fits, double *rows) {
    size_t count = problem->count;
    search *searches = NULL;
    double *log_b = NULL;
    bool *active = NULL;
    vg_temperature_loss *losses = NULL;
    *rows = 0;
    vg_status status = vg_base__zalloc(&searches, count, sizeof *searches, "newton searches");
    if (status == VG_OK)
        status = vg_base__alloc(&log_b, count, sizeof *log_b, "newton searches");
    if (status == VG_OK)
        status = vg_base__alloc(&active, count, sizeof *active, "newton searches");
    if (status == VG_OK)
        status = vg_base__alloc(&losses, count, sizeof *losses, "newton losses");
    if (status == VG_OK) {
        for (size_t i = 0; i < count; i++)
            begin(&searches[i], start, i, problem->options, &fits[i]);
        status = iterate(problem, searches, fits, log_b, active, losses, rows);
    }
    vg_base__release(searches);
    vg_base__release(log_b);
    vg_base__release(active);
    vg_base__release(losses);
    return status;
}
