/* held_out.c - figures of temperatures on samples they were not fitted to, and the warning of a result.
 *
 * units.h says which fold a sample belongs to. For each fold, newton fits temperatures to the samples of the other
 * folds. It starts from the answer for the whole set, so that two or three sweeps are enough. Then one measuring sweep
 * takes every sample at the temperatures of its own fold: the figures come from all samples, and no sample was used to
 * fit the temperatures that it is measured at. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/map.h"
#include "calibrate/solvers.h"

enum { FOLD_LEAST = 10 };
/* A smaller change is not reported: relative change of the NLL, and its standard errors; absolute change of the ECE,
 * and its noise, about 1 / (2 sqrt N). Of images both changes must lie outside their intervals, too. */
#define WORSE_NLL 1e-3
#define WORSE_ERRORS 2
#define WORSE_ECE 5e-3

/* b[f][m]: inverse temperatures for the samples of fold f. */
static vg_status fit_folds(const vg_calibration *r, vg_problem *problem, double *b, double *guess,
                           vg_temperature_fit *fits) {
    vg_newton_start start = {NULL, NULL, guess};
    vg_logits *l = problem->logits;
    double rows;
    for (size_t i = 0; i < r->count; i++)
        guess[i] = -log(r->temperatures[i]);
    for (l->fold = 0; l->fold < l->folds; l->fold++) {
        VG_TRY(vg_newton__solve(problem, &start, fits, &rows));
        for (size_t m = 0; m < l->m; m++)
            b[l->fold * l->m + m] = 1 / fits[r->shared ? 0 : m].temperature;
    }
    return VG_OK;
}

vg_status vg_calibrate__hold_out(vg_calibration *r, vg_problem *problem, vg_sample_figures samples[2]) {
    vg_logits *l = problem->logits;
    size_t folds = problem->options->folds;
    double *b = NULL, *guess = NULL;
    vg_temperature_fit *fits = NULL;
    if (folds == 0 || l->n / folds < FOLD_LEAST)
        return VG_OK;
    vg_status status = vg_base__alloc(&b, l->m, folds * sizeof *b, "held-out temperatures");
    if (status == VG_OK)
        status = vg_base__alloc(&guess, r->count, sizeof *guess, "held-out temperatures");
    if (status == VG_OK)
        status = vg_base__alloc(&fits, r->count, sizeof *fits, "held-out fits");
    l->folds = folds;
    if (status == VG_OK)
        status = fit_folds(r, problem, b, guess, fits);
    l->keep = &samples[1];
    if (status == VG_OK)
        status = vg_logits__measure(l, b, problem->options->bins, &r->held_out, NULL, NULL, NULL);
    l->keep = NULL;
    if (status == VG_OK)
        status = vg_sample_figures__compare(r, &l->units, &samples[0], &samples[1]);
    if (status == VG_OK) {
        r->folds = (unsigned)folds;
        status = vg_problem__swept(problem);
    } else if (status == VG_ERR_NUMERIC) { /* the whole set had an answer but a part of it has none: no figures */
        r->held_out = (vg_calibration_metrics){NAN, NAN, NAN, NAN, NAN, NAN};
        status = VG_OK;
    }
    l->folds = l->fold = 0;
    vg_base__release(b);
    vg_base__release(guess);
    vg_base__release(fits);
    return status;
}

/* --- the warning ------------------------------------------------------------------------------------------------ */
__attribute__((format(printf, 2, 3))) static void add_text(vg_calibration *r, const char *format, ...) {
    size_t used = strlen(r->warning);
    va_list list;
    if (used > 0 && used + 2 < sizeof r->warning) {
        memcpy(r->warning + used, "; ", 3);
        used += 2;
    }
    va_start(list, format);
    vsnprintf(r->warning + used, sizeof r->warning - used, format, list);
    va_end(list);
}

static void warn_of_end(vg_calibration *r, size_t count, const char *which, double end, const char *why) {
    if (count == 0)
        return;
    if (r->count == 1)
        add_text(r, "the temperature reached the %s end of its range, %g: %s", which, end, why);
    else
        add_text(r, "%zu of %zu temperatures reached the %s end of their range, %g: %s", count, r->count, which, end,
                 why);
}

static void warn_of_worse(vg_calibration *r) {
    bool held = r->folds > 0;
    const vg_calibration_metrics *was = &r->before, *is = held ? &r->held_out : &r->after;
    bool images = held && r->images > 0;
    const char *where = images ? "on held-out images"
                        : held ? "on held-out samples"
                               : "on the samples they were fitted to";
    bool map = r->map != NULL;
    const char *kind = r->count == 1 ? (map ? "the map makes" : "the temperature makes")
                                     : (map ? "the maps make" : "the temperatures make");
    double nll = is->nll - was->nll, ece = is->ece - was->ece, noise = 0.5 / sqrt((double)r->samples);
    if (nll > WORSE_NLL * was->nll &&
        (images ? r->nll_change[0] > 0 : nll > (held ? WORSE_ERRORS * r->held_out_nll_error : 0)))
        add_text(r, "%s %s the ensemble worse: NLL %.4g -> %.4g (%+.2g), ECE %.4g -> %.4g (%+.2g)%s", where, kind,
                 was->nll, is->nll, nll, was->ece, is->ece, ece,
                 is->member_nll < was->member_nll ? ", although the members alone improve" : "");
    else if (images ? ece > WORSE_ECE && r->ece_change[0] > 0 : ece > WORSE_ECE + noise)
        add_text(r, "%s %s the ensemble's ECE worse: %.4g -> %.4g (%+.2g), NLL %.4g -> %.4g", where, kind, was->ece,
                 is->ece, ece, was->nll, is->nll);
}

static void warn_of_map(vg_calibration *r) {
    size_t open = 0, numbers = r->method == VG_CALIBRATE_VECTOR ? 2 * r->classes : r->classes * (r->classes + 1);
    for (size_t i = 0; r->map && i < r->count; i++)
        open += !r->map_fits[i].converged;
    if (open > 0)
        add_text(r, "%zu of %zu fits did not converge", open, r->count);
    if (r->map && (r->method == VG_CALIBRATE_VECTOR || r->method == VG_CALIBRATE_DIRICHLET) &&
        r->samples < 10 * numbers)
        add_text(r, "%zu samples are few for the %zu numbers of a %s map", r->samples, numbers,
                 vg_calibration_method__name(r->method));
}

void vg_calibrate__warn(vg_calibration *r, const vg_units *units) {
    const vg_temperature_fit *fits = r->newton != NULL ? r->newton : r->bayes;
    for (size_t i = 0; fits != NULL && i < r->count; i++) {
        r->at_min += (fits[i].flags & VG_FIT_AT_MIN) != 0;
        r->at_max += (fits[i].flags & VG_FIT_AT_MAX) != 0;
        r->flat += (fits[i].flags & VG_FIT_FLAT) != 0;
    }
    warn_of_end(r, r->at_min, "lower", r->t_min, "the loss still falls towards smaller T");
    warn_of_end(r, r->at_max, "upper", r->t_max, "the loss still falls towards larger T");
    if (r->flat > 0)
        add_text(r, "the loss of %zu of %zu temperatures does not depend on T, which stays 1", r->flat, r->count);
    warn_of_map(r);
    if (units->undivided)
        add_text(r, "no held-out figures: the sites of one image are not independent, and there is no other image");
    warn_of_worse(r);
}
