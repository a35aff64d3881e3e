/* fit_k.c - fits k of the gate by the likelihood of the gated mean: one k for all classes, then one for every class,
 * both again without each fold, and a statement of what the data support. gate_loss.c has the loss, newton_cg.c the
 * solver. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "calibrate/gate_loss.h"

#define START 0.69314718055994531 /* log 2: k where training begins */

static vg_status check_options(vg_fit_k_options *out, const vg_fit_k_options *given) {
    static const vg_fit_k_options defaults = VG_FIT_K_OPTIONS_INIT;
    VG_TRY(vg_base__take_options(out, given, &defaults, sizeof *out, "vg_fit_k_options"));
    if (!(out->k_min >= 1e-3 && out->k_min < out->k_max && out->k_max <= VG_CLASS_K_MOST))
        return vg_base__fail(VG_ERR_ARGUMENT, "k_min is %g and k_max %g, expected 0.001 <= k_min < k_max <= %g",
                             out->k_min, out->k_max, VG_CLASS_K_MOST);
    if (!(out->tolerance > 0 && out->tolerance < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "tolerance is %g, expected 0 < tolerance < 1", out->tolerance);
    if (out->max_iterations < 1 || out->max_iterations > 10000)
        return vg_base__fail(VG_ERR_ARGUMENT, "max_iterations is %u, expected 1 .. 10000", out->max_iterations);
    if (out->bins < 1 || out->bins > 1000)
        return vg_base__fail(VG_ERR_ARGUMENT, "bins is %u, expected 1 .. 1000", out->bins);
    if (out->folds == 1 || out->folds > 100)
        return vg_base__fail(VG_ERR_ARGUMENT, "folds is %u, expected 0 (none) or 2 .. 100", out->folds);
    for (size_t i = 0; out->temperature && i < out->temperature_count; i++)
        if (!(out->temperature[i] > 0 && isfinite(out->temperature[i])))
            return vg_base__fail(VG_ERR_ARGUMENT, "temperature %zu must be greater than 0, got %g", i,
                                 out->temperature[i]);
    if (out->temperature && !out->logits)
        return vg_base__fail(VG_ERR_ARGUMENT, "a temperature applies to logits, and the input holds probabilities");
    return VG_OK;
}

/* Working memory of a fit. */
typedef struct fit_work {
    vg_gate_data data;
    vg_fit_k_options options;
    vg_k_fit *fit;
    double *x, *again;       /* c: variables of the answer, and of a fold */
    double *fold_k;          /* folds x c */
    double *was, *is, *held; /* n: NLL of every sample */
} fit_work;

static vg_status minimise(vg_minimum *found, fit_work *w, double *x) {
    vg_objective objective = vg_gate_data__objective(&w->data);
    return vg_newton_cg(found, x, &objective, w->options.tolerance, w->options.max_iterations);
}

/* Measures samples at ks that were fitted without them, and the paired change. */
static vg_status hold_out(vg_k_solution *out, fit_work *w) {
    vg_gate_data *d = &w->data;
    size_t folds = w->options.folds;
    vg_minimum found;
    d->folds = folds;
    for (d->fold = 0; d->fold < folds; d->fold++) {
        memcpy(w->again, w->x, d->c * sizeof *w->again);
        vg_status status = minimise(&found, w, w->again);
        if (status != VG_OK) {
            d->folds = 0;
            return status;
        }
        for (size_t c = 0; c < d->c; c++)
            w->fold_k[d->fold * d->c + c] = vg_gate_data__k(d, w->again[d->one ? 0 : c]);
    }
    d->folds = 0;
    VG_TRY(vg_gate_data__measure(&out->held_out, w->held, d, w->fold_k, folds, w->options.bins));
    vg_change change = vg_units__change(&d->units, w->was, w->held, d->n);
    out->nll_change = change.mean;
    out->nll_low = change.low;
    out->nll_high = change.high;
    return VG_OK;
}

/* The better of two minima, found from w->x and from w->again: the loss is not convex. */
static vg_status minimise_twice(vg_minimum *found, fit_work *w) {
    vg_minimum other;
    VG_TRY(minimise(found, w, w->x));
    VG_TRY(minimise(&other, w, w->again));
    if (other.value < found->value) {
        *found = other;
        memcpy(w->x, w->again, (w->data.one ? 1 : w->data.c) * sizeof *w->x);
    }
    return VG_OK;
}

/* Fits as data.one says, starting from w->x or w->again; w->x becomes the answer. */
static vg_status solve(vg_k_solution *out, fit_work *w, double *k) {
    vg_gate_data *d = &w->data;
    vg_minimum found;
    size_t count = d->one ? 1 : d->c;
    double near = 0.01 * (d->high - d->low);
    const double none = NAN;
    VG_TRY(minimise_twice(&found, w));
    *out = (vg_k_solution){.held_out = {none, none, none}, .nll_change = none, .nll_low = none, .nll_high = none};
    out->gradient = found.gradient;
    out->iterations = found.iterations;
    out->converged = found.converged;
    for (size_t c = 0; c < d->c; c++)
        k[c] = vg_gate_data__k(d, w->x[d->one ? 0 : c]);
    for (size_t c = 0; c < count; c++) {
        out->at_min += log(k[c]) < d->low + near;
        out->at_max += log(k[c]) > d->high - near;
    }
    VG_TRY(vg_gate_data__measure(&out->after, w->is, d, k, 0, w->options.bins));
    return w->options.folds && d->n >= 2 * (size_t)w->options.folds ? hold_out(out, w) : VG_OK;
}

/* --- statement ---------------------------------------------------------------------------------------------------- */
static void judge(vg_k_fit *f) {
    const vg_k_solution *one = &f->one, *all = &f->by_class;
    bool better = all->held_out.nll < one->held_out.nll;
    const vg_k_solution *best = better ? all : one;
    const char *units = f->images ? "images" : "samples";
    f->supported = !(best->nll_high < 0) ? "none" : better && all->nll_high < 0 ? "class" : "one";
    if (f->images == 1)
        snprintf(f->text, sizeof f->text,
                 "Nothing was held out: the sites of one image are not independent. The gain of k on other images is "
                 "not known.");
    else if (isnan(best->nll_change))
        snprintf(f->text, sizeof f->text,
                 "Nothing was held out (folds 0, or too few samples): the gain of k on new "
                 "data is not known.");
    else if (strcmp(f->supported, "none") == 0)
        snprintf(f->text, sizeof f->text,
                 "Keep the plain mean: on held-out %s the best k changes the NLL by %+.2g (95 %% interval %+.2g to "
                 "%+.2g), which is no gain that these %zu %s show.",
                 units, best->nll_change, best->nll_low, best->nll_high, f->images ? f->images : f->samples, units);
    else
        snprintf(f->text, sizeof f->text,
                 "%s: on held-out %s the NLL changes by %+.2g (95 %% interval %+.2g to %+.2g)%s.",
                 better ? "A k for every class is supported" : "One k for all is supported", units, best->nll_change,
                 best->nll_low, best->nll_high, better ? "" : "; a k for every class gains nothing beyond it");
}

static void warn(vg_k_fit *f, const vg_units *units) {
    const vg_k_solution *all = &f->by_class;
    size_t used = 0, room = sizeof f->warning;
    if (!all->converged || !f->one.converged)
        used += (size_t)snprintf(f->warning, room, "the fit did not converge (largest derivative %.2g); ",
                                 all->converged ? f->one.gradient : all->gradient);
    if (all->nll_low > 0)
        used += (size_t)snprintf(f->warning + used, room - used,
                                 "on held-out %s a k for every class makes the NLL worse: %.4g -> %.4g (%+.2g), "
                                 "although it improves the samples it was fitted to; ",
                                 f->images ? "images" : "samples", f->before.nll, all->held_out.nll, all->nll_change);
    if (units->undivided)
        used += (size_t)snprintf(f->warning + used, room - used,
                                 "no held-out figures: the sites of one image are not independent, and there is no "
                                 "other image; ");
    if (all->at_max > 0)
        used += (size_t)snprintf(f->warning + used, room - used, "%zu of %zu ks reached the upper bound %g; ",
                                 all->at_max, f->classes, f->k_max);
    if (used >= 2)
        f->warning[used - 2 < room ? used - 2 : room - 1] = '\0';
}

static vg_status make_room(fit_work *w) {
    vg_k_fit *f;
    const vg_gate_data *d = &w->data;
    VG_TRY(vg_base__zalloc(&f, 1, sizeof *f + d->c * sizeof(double), "the fit"));
    w->fit = f;
    *f = (vg_k_fit){.struct_size = sizeof *f,
                    .samples = d->n,
                    .members = d->m,
                    .classes = d->c,
                    .k = (const double *)(const void *)(f + 1),
                    .k_min = w->options.k_min,
                    .k_max = w->options.k_max,
                    .bins = w->options.bins,
                    .folds = w->options.folds,
                    .images = d->units.count};
    VG_TRY(vg_base__alloc(&w->x, d->c, 2 * sizeof *w->x, "ks"));
    w->again = w->x + d->c;
    VG_TRY(vg_base__alloc(&w->fold_k, d->c, ((size_t)w->options.folds + 1) * sizeof *w->fold_k, "ks of folds"));
    VG_TRY(vg_base__alloc(&w->was, d->n, 3 * sizeof *w->was, "losses"));
    w->is = w->was + d->n;
    w->held = w->was + 2 * d->n;
    return VG_OK;
}

static vg_status fit(fit_work *w) {
    vg_gate_data *d = &w->data;
    VG_TRY(make_room(w));
    vg_k_fit *f = w->fit;
    double *k = (double *)(void *)(f + 1);
    VG_TRY(vg_gate_data__measure(&f->before, w->was, d, NULL, 0, w->options.bins));
    double start = START > f->k_min && START < f->k_max ? START : sqrt(f->k_min * f->k_max);
    d->one = true;
    w->x[0] = vg_gate_data__variable(d, start);
    w->again[0] = vg_gate_data__variable(d, pow(start, 0.5) * pow(f->k_max, 0.5));
    VG_TRY(solve(&f->one, w, k));
    f->k_one = k[0];
    d->one = false;
    for (size_t c = 0; c < d->c; c++) {
        w->x[c] = vg_gate_data__variable(d, fmin(fmax(f->k_one, 1.1 * f->k_min), f->k_max / 1.1));
        w->again[c] = vg_gate_data__variable(d, start);
    }
    VG_TRY(solve(&f->by_class, w, k));
    judge(f);
    warn(f, &d->units);
    return VG_OK;
}

vg_status vg_fit_k(vg_k_fit **out, const vg_predictions *predictions, const int64_t *labels,
                   const vg_fit_k_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_fit_k: out"));
    VG_IN_C_LOCALE;
    fit_work w = {.fit = NULL};
    *out = NULL;
    VG_TRY(vg_base__given(predictions && labels, "vg_fit_k: predictions and labels"));
    if (predictions->m == 1)
        return vg_base__fail(VG_ERR_DATA, "one member has no spread, which a gate needs: no k can be fitted");
    VG_TRY(check_options(&w.options, options));
    vg_status status = vg_gate_data__start(&w.data, predictions, labels, &w.options);
    if (status == VG_OK)
        status =
            vg_units__start(&w.data.units, w.data.n, w.options.image_ends, w.options.image_count, &w.options.folds);
    if (status == VG_OK)
        status = fit(&w);
    vg_gate_data__stop(&w.data);
    vg_base__release(w.x);
    vg_base__release(w.fold_k);
    vg_base__release(w.was);
    if (status == VG_OK)
        *out = w.fit;
    else
        vg_base__release(w.fit);
    return status;
}
