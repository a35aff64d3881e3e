/* bayes.c - Gaussian-process search for the best temperature, as the paper does it: log T, a fixed number of
 * evaluations.
 *
 * The model is of log(loss + 1e-12) against log T. The logarithm is monotone, so the minimiser is the same, and the
 * steep left side (the loss grows like 1/T) gets the scale of the valley. The range is cut into `initial` equal parts,
 * and the loss is evaluated at one point drawn in each. Every later evaluation takes four steps:
 *
 *     1  fit the hyperparameters by marginal likelihood
 *     2  maximise expected improvement, minus the lower confidence bound, and the probability of improvement, each on a
 *        grid and by golden section around the best point of it
 *     3  draw one of the three proposals by softmax of their gains (GP-Hedge); the gain of a criterion is minus the sum
 *        of the posterior means at the points it proposed before
 *     4  evaluate the loss there
 *
 * The answer is the minimiser of the last posterior mean; its loss is evaluated once more for the report. All
 * temperatures advance together, each with its own model and random stream, and share every sweep over the data. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "calibrate/gaussian_process.h"
#include "calibrate/solvers.h"

enum { GRID = 161, GOLDEN_STEPS = 20, FRESH_STEPS = 12, FIT_STEPS = 3, FRESH_EVERY = 10, OFTEN = 100, BISECTIONS = 50 };
#define KAPPA 1.96     /* of the lower confidence bound */
#define XI 0.01        /* required improvement, in standard deviations of the values seen */
#define TOO_CLOSE 1e-4 /* in log T: a point this near to an evaluated one is not evaluated again */
#define LOSS_FLOOR 1e-12

typedef enum acquisition { EXPECTED_IMPROVEMENT, LOWER_BOUND, PROBABILITY, ACQUISITIONS } acquisition;

/* The search for one temperature. */
typedef struct temperature_search {
    double *x, *y; /* evaluations: log T, log(loss + floor) */
    double log_length, log_noise;
    double gains[ACQUISITIONS];
    vg_random random;
    double next;
} temperature_search;

typedef struct bayes {
    vg_problem *problem;
    temperature_search *searches; /* count */
    double *points;  /* count x 2 x evaluations */
    vg_gp **models;  /* one for each worker */
    unsigned workers;
    double low, high; /* log T */
    size_t done;      /* evaluations done */
    double *log_b;
    vg_temperature_loss *losses;
} bayes;

static double value_of(acquisition which, double mean, double deviation, double best) {
    if (which == LOWER_BOUND)
        return KAPPA * deviation - mean;
    double gain = best - XI - mean;
    if (deviation <= 0)
        return which == PROBABILITY ? gain > 0 : fmax(gain, 0);
    double z = gain / deviation, below = 0.5 * erfc(-z * 0.70710678118654752440);
    if (which == PROBABILITY)
        return below;
    return gain * below + deviation * 0.39894228040143267794 * exp(-0.5 * z * z);
}

/* Golden-section search for a maximum of the acquisition between low and high. */
static double sharpen(vg_gp *gp, acquisition which, double low, double high, double best) {
    const double ratio = 0.61803398874989484820;
    double at[2] = {high - ratio * (high - low), low + ratio * (high - low)}, value[2];
    for (int i = 0; i < 2; i++) {
        double mean, deviation;
        vg_gp__predict(gp, &at[i], 1, &mean, &deviation);
        value[i] = value_of(which, mean, deviation, best);
    }
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        int worse = value[0] > value[1]; /* 1: the right one is dropped */
        if (worse) {
            high = at[1];
            at[1] = at[0];
            value[1] = value[0];
            at[0] = high - ratio * (high - low);
        } else {
            low = at[0];
            at[0] = at[1];
            value[0] = value[1];
            at[1] = low + ratio * (high - low);
        }
        double mean, deviation, *place = &at[worse ? 0 : 1];
        vg_gp__predict(gp, place, 1, &mean, &deviation);
        value[worse ? 0 : 1] = value_of(which, mean, deviation, best);
    }
    return value[0] > value[1] ? at[0] : at[1];
}

static double lowest_target(const vg_gp *gp) {
    double best = gp->target[0];
    for (size_t i = 1; i < gp->n; i++)
        best = fmin(best, gp->target[i]);
    return best;
}

/* The point where each acquisition is largest, and the posterior mean there. */
static void propose(const bayes *b, vg_gp *gp, double at[ACQUISITIONS], double means[ACQUISITIONS]) {
    double grid[GRID], mean[GRID], deviation[GRID], step = (b->high - b->low) / (GRID - 1), best = lowest_target(gp);
    for (int i = 0; i < GRID; i++)
        grid[i] = b->low + step * i;
    vg_gp__predict(gp, grid, GRID, mean, deviation);
    for (int which = 0; which < ACQUISITIONS; which++) {
        int top = 0;
        double most = -INFINITY;
        for (int i = 0; i < GRID; i++) {
            double value = value_of((acquisition)which, mean[i], deviation[i], best);
            if (value > most) {
                most = value;
                top = i;
            }
        }
        at[which] =
            sharpen(gp, (acquisition)which, grid[top > 0 ? top - 1 : 0], grid[top < GRID - 1 ? top + 1 : top], best);
        vg_gp__predict(gp, &at[which], 1, &means[which], NULL);
    }
}

/* The minimiser of the posterior mean: the best point of the grid, then the root of the mean's derivative beside it. */
static double mean_minimiser(const bayes *b, vg_gp *gp) {
    double grid[GRID], mean[GRID], step = (b->high - b->low) / (GRID - 1);
    int best = 0;
    for (int i = 0; i < GRID; i++)
        grid[i] = b->low + step * i;
    vg_gp__predict(gp, grid, GRID, mean, NULL);
    for (int i = 1; i < GRID; i++) {
        if (mean[i] < mean[best])
            best = i;
    }
    double low = grid[best > 0 ? best - 1 : 0], high = grid[best < GRID - 1 ? best + 1 : best];
    if (vg_gp__mean_slope(gp, low) >= 0)
        return low;
    if (vg_gp__mean_slope(gp, high) <= 0)
        return high;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = 0.5 * (low + high);
        if (vg_gp__mean_slope(gp, middle) > 0)
            high = middle;
        else
            low = middle;
    }
    return 0.5 * (low + high);
}

static bool known(const temperature_search *s, size_t n, double at) {
    for (size_t i = 0; i < n; i++) {
        if (fabs(s->x[i] - at) < TOO_CLOSE)
            return true;
    }
    return false;
}

/* Draws one of the proposals by its gain. Where all of them were evaluated already, draws a point around the
 * minimiser of the mean. */
static double choose(const bayes *b, temperature_search *s, vg_gp *gp, const double at[ACQUISITIONS]) {
    double weight[ACQUISITIONS], total = 0, most = -INFINITY;
    for (int i = 0; i < ACQUISITIONS; i++)
        most = fmax(most, s->gains[i]);
    bool any = false;
    for (int i = 0; i < ACQUISITIONS; i++) {
        bool fresh = !known(s, b->done, at[i]);
        any |= fresh;
        weight[i] = fresh ? exp(fmax(s->gains[i] - most, -700)) : 0;
        total += weight[i];
    }
    double draw = vg_random__unit(&s->random);
    if (!any) {
        double distance = 0.3 * exp(-4.6 * vg_random__unit(&s->random)), around = mean_minimiser(b, gp);
        return fmin(fmax(draw < 0.5 ? around - distance : around + distance, b->low), b->high);
    }
    draw *= total;
    int chosen = ACQUISITIONS - 1;
    while (chosen > 0 && weight[chosen] == 0)
        chosen--;
    for (int i = 0; i < chosen; i++) {
        if (draw < weight[i])
            return at[i];
        draw -= weight[i];
    }
    return at[chosen];
}

static vg_status fit_model(const bayes *b, temperature_search *s, vg_gp *gp) {
    bool fresh = b->done == b->problem->options->initial || b->done % FRESH_EVERY == 0;
    gp->log_length = s->log_length;
    gp->log_noise = s->log_noise;
    vg_status status = vg_gp__fit(gp, s->x, s->y, b->done, fresh,
                                  fresh              ? FRESH_STEPS
                                  : b->done <= OFTEN ? FIT_STEPS
                                                     : 0);
    s->log_length = gp->log_length;
    s->log_noise = gp->log_noise;
    return status;
}

static vg_status guide(void *context, size_t index, unsigned worker) {
    bayes *b = context;
    temperature_search *s = &b->searches[index];
    vg_gp *gp = b->models[worker];
    VG_TRY(fit_model(b, s, gp));
    double at[ACQUISITIONS], means[ACQUISITIONS];
    propose(b, gp, at, means);
    s->next = choose(b, s, gp, at);
    for (int i = 0; i < ACQUISITIONS; i++)
        s->gains[i] -= means[i];
    return VG_OK;
}

static vg_status conclude(void *context, size_t index, unsigned worker) {
    bayes *b = context;
    temperature_search *s = &b->searches[index];
    VG_TRY(fit_model(b, s, b->models[worker]));
    s->next = mean_minimiser(b, b->models[worker]);
    return VG_OK;
}

/* Evaluates the losses of all searches at their next points in one sweep. */
static vg_status evaluate(bayes *b) {
    for (size_t i = 0; i < b->problem->count; i++)
        b->log_b[i] = -b->searches[i].next;
    VG_TRY(vg_problem__evaluate(b->problem, b->log_b, NULL, b->losses));
    for (size_t i = 0; i < b->problem->count; i++) {
        if (!isfinite(b->losses[i].loss))
            return vg_base__fail(VG_ERR_NUMERIC,
                                 "the loss of temperature %zu at T = %g is not finite: logits too large", i,
                                 exp(b->searches[i].next));
    }
    return VG_OK;
}

static vg_status search(bayes *b, vg_temperature_fit *fits) {
    const vg_calibrate_options *o = b->problem->options;
    size_t count = b->problem->count;
    for (b->done = 0; b->done < o->evaluations; b->done++) {
        if (b->done < o->initial) {
            for (size_t i = 0; i < count; i++)
                b->searches[i].next = b->low + (b->high - b->low) *
                                                   ((double)b->done + vg_random__unit(&b->searches[i].random)) /
                                                   o->initial;
        } else {
            VG_TRY(vg_pool__run(b->problem->logits->pool, count, guide, b));
        }
        VG_TRY(evaluate(b));
        for (size_t i = 0; i < count; i++) {
            b->searches[i].x[b->done] = b->searches[i].next;
            b->searches[i].y[b->done] = log(b->losses[i].loss + LOSS_FLOOR);
        }
    }
    VG_TRY(vg_pool__run(b->problem->logits->pool, count, conclude, b));
    VG_TRY(evaluate(b));
    for (size_t i = 0; i < count; i++) {
        double at = b->searches[i].next;
        fits[i] = vg_problem__fit(-at, &b->losses[i]);
        fits[i].flags = at <= b->low ? VG_FIT_AT_MIN : at >= b->high ? VG_FIT_AT_MAX : 0;
        fits[i].evaluations = o->evaluations;
    }
    return VG_OK;
}

static vg_status prepare(bayes *b) {
    const vg_calibrate_options *o = b->problem->options;
    size_t count = b->problem->count, points;
    if (!vg_base__mul(&points, count, 2 * (size_t)o->evaluations))
        return vg_base__fail(VG_ERR_MEMORY, "%zu searches of %u evaluations do not fit memory", count, o->evaluations);
    VG_TRY(vg_base__zalloc(&b->searches, count, sizeof *b->searches, "bayes searches"));
    VG_TRY(vg_base__alloc(&b->points, points, sizeof(double), "bayes evaluations"));
    VG_TRY(vg_base__alloc(&b->log_b, count, sizeof(double), "bayes searches"));
    VG_TRY(vg_base__alloc(&b->losses, count, sizeof(vg_temperature_loss), "bayes losses"));
    for (size_t i = 0; i < count; i++) {
        temperature_search *s = &b->searches[i];
        s->x = b->points + i * 2 * o->evaluations;
        s->y = s->x + o->evaluations;
        s->random = vg_random__start(o->seed, i);
        s->log_length = 0.7;
        s->log_noise = -18;
    }
    b->workers = vg_pool__threads(b->problem->logits->pool);
    VG_TRY(vg_base__zalloc(&b->models, b->workers, sizeof *b->models, "Gaussian processes"));
    for (unsigned i = 0; i < b->workers; i++)
        VG_TRY(vg_gp__new(&b->models[i], o->evaluations, GRID));
    return VG_OK;
}

vg_status vg_bayes__solve(vg_problem *problem, vg_temperature_fit *fits) {
    bayes b = {.problem = problem, .low = log(problem->options->t_min), .high = log(problem->options->t_max)};
    vg_status status = prepare(&b);
    if (status == VG_OK)
        status = search(&b, fits);
    for (unsigned i = 0; b.models != NULL && i < b.workers; i++)
        vg_gp__free(b.models[i]);
    vg_base__release(b.models);
    vg_base__release(b.searches);
    vg_base__release(b.points);
    vg_base__release(b.log_b);
    vg_base__release(b.losses);
    return status;
}
