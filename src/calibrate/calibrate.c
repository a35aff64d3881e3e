/* calibrate.c - the public calls: checks options, runs the sweeps in order, and assembles the result.
 *
 *     1  a measuring sweep at T = 1: every logit checked, `before`, losses and derivatives at T = 1, a subsample kept
 *     2  newton: a start from the subsample, then full sweeps; bayes: one full sweep per evaluation
 *     3  a measuring sweep at the answer: `after` */
#include "vargate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/sort.h"
#include "calibrate/calibration.h"
#include "calibrate/map.h"
#include "calibrate/solvers.h"

enum {
    SUBSAMPLE_SHARE = 16,
    SUBSAMPLE_LEAST = 256,
    SUBSAMPLE_ELEMENTS = 1 << 23,
    SUBSAMPLE_SWEEPS = 10,
    MEASURING_SWEEPS = 2
};
#define SUBSAMPLE_TOLERANCE 1e-3

const char *vg_solver__name(vg_solver solver) {
    static const char *const names[] = {"newton", "bayes", "both"};
    return (unsigned)solver < 3 ? names[solver] : "unknown";
}

static vg_status check_range(const char *what, double low, double high) {
    if (!(low > 0 && low < high && isfinite(high)))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s is %g .. %g, expected 0 < low < high", what, low, high);
    return VG_OK;
}

static vg_status check_options(vg_calibrate_options *out, const vg_calibrate_options *options) {
    static const vg_calibrate_options defaults = VG_CALIBRATE_OPTIONS_INIT;
    VG_TRY(vg_base__take_options(out, options, &defaults, sizeof *out, "vg_calibrate_options"));
    if ((unsigned)out->solver > VG_SOLVER_BOTH)
        return vg_base__fail(VG_ERR_ARGUMENT, "solver is %d, expected 0 (newton), 1 (bayes) or 2 (both)",
                             (int)out->solver);
    VG_TRY(check_range("the range of T", out->t_min, out->t_max));
    if (!(out->tolerance > 0 && out->tolerance < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "tolerance is %g, expected 0 < tolerance < 1", out->tolerance);
    if (out->max_sweeps < 2 || out->max_sweeps > 1000)
        return vg_base__fail(VG_ERR_ARGUMENT, "max_sweeps is %u, expected 2 .. 1000", out->max_sweeps);
    if (out->evaluations < 3 || out->evaluations > 500)
        return vg_base__fail(VG_ERR_ARGUMENT, "evaluations is %u, expected 3 .. 500", out->evaluations);
    if (out->initial < 2 || out->initial > out->evaluations)
        return vg_base__fail(VG_ERR_ARGUMENT, "initial evaluations is %u, expected 2 .. %u", out->initial,
                             out->evaluations);
    if (out->bins < 1 || out->bins > 1000)
        return vg_base__fail(VG_ERR_ARGUMENT, "bins is %u, expected 1 .. 1000", out->bins);
    if (out->folds == 1 || out->folds > 100)
        return vg_base__fail(VG_ERR_ARGUMENT, "folds is %u, expected 0 (none) or 2 .. 100", out->folds);
    return vg_calibrate__check_method(out);
}

/* --- the result ------------------------------------------------------------------------------------------------- */
static vg_status new_result(vg_calibration **out, const vg_logits *l, const vg_calibrate_options *o) {
    vg_calibration *r;
    VG_TRY(vg_base__zalloc(&r, 1, sizeof *r, "calibration result"));
    r->struct_size = sizeof *r;
    r->samples = l->n;
    r->members = l->m;
    r->classes = l->c;
    r->images = l->units.count;
    r->solver = o->solver;
    r->shared = o->shared != 0;
    r->count = r->shared ? 1 : l->m;
    r->bins = o->bins;
    r->t_min = o->t_min;
    r->t_max = o->t_max;
    r->held_out = (vg_calibration_metrics){NAN, NAN, NAN, NAN, NAN, NAN};
    r->held_out_nll_error = r->nll_change[0] = r->nll_change[1] = r->ece_change[0] = r->ece_change[1] = NAN;
    r->gap_log_t_median = r->gap_log_t_max = r->gap_loss_max = NAN;
    vg_status status = vg_base__alloc(&r->temperatures, r->count, sizeof(double), "temperatures");
    if (status == VG_OK && o->solver != VG_SOLVER_BAYES)
        status = vg_base__zalloc(&r->newton, r->count, sizeof *r->newton, "newton's fits");
    if (status == VG_OK && o->solver != VG_SOLVER_NEWTON)
        status = vg_base__zalloc(&r->bayes, r->count, sizeof *r->bayes, "bayes' fits");
    if (status != VG_OK) {
        vg_calibration_free(r);
        return status;
    }
    *out = r;
    return VG_OK;
}

void vg_calibration_free(vg_calibration *calibration) {
    if (calibration == NULL)
        return;
    vg_base__release(calibration->temperatures);
    vg_base__release(calibration->newton);
    vg_base__release(calibration->bayes);
    vg_base__release(calibration->map);
    vg_base__release(calibration->map_fits);
    vg_base__release(calibration->text);
    vg_base__release(calibration->sample_nll[0]);
    vg_base__release(calibration);
}

static vg_status find_gaps(vg_calibration *r) {
    double *gaps;
    size_t inside = 0;
    VG_TRY(vg_base__alloc(&gaps, r->count, sizeof *gaps, "gaps"));
    r->gap_loss_max = -INFINITY;
    for (size_t i = 0; i < r->count; i++) {
        if (!(r->newton[i].flags & (VG_FIT_AT_MIN | VG_FIT_AT_MAX | VG_FIT_FLAT)))
            gaps[inside++] = fabs(log(r->bayes[i].temperature / r->newton[i].temperature));
        r->gap_loss_max = fmax(r->gap_loss_max, r->bayes[i].loss - r->newton[i].loss);
    }
    vg_base__sort_doubles(gaps, inside);
    if (inside > 0) {
        r->gap_log_t_median = 0.5 * (gaps[(inside - 1) / 2] + gaps[inside / 2]);
        r->gap_log_t_max = gaps[inside - 1];
    }
    vg_base__release(gaps);
    return VG_OK;
}

/* --- newton ----------------------------------------------------------------------------------------------------- */
/* Room for every stride-th sample, about N / 16 of them; keep->n = 0 when the data are too small for it to help. */
static vg_status new_subsample(vg_subsample *keep, const vg_logits *l) {
    memset(keep, 0, sizeof *keep);
    size_t row = l->m * l->c, n = l->n / SUBSAMPLE_SHARE;
    if (n > SUBSAMPLE_ELEMENTS / row)
        n = SUBSAMPLE_ELEMENTS / row;
    if (n < SUBSAMPLE_LEAST)
        return VG_OK;
    VG_TRY(vg_base__alloc(&keep->z, n * row, sizeof(float), "subsample of logits"));
    VG_TRY(vg_base__alloc(&keep->labels, n, sizeof(int64_t), "subsample of labels"));
    keep->stride = l->n / n;
    keep->n = n;
    return VG_OK;
}

static void free_subsample(vg_subsample *keep) {
    vg_base__release(keep->z);
    vg_base__release(keep->labels);
}

/* Solves the problem of the subsample approximately: guess[i] = log b, NaN where it did not converge. */
static vg_status guess_from(const vg_subsample *keep, const vg_problem *full, vg_temperature_fit *fits, double *guess,
                            double *rows) {
    const vg_logits *l = full->logits;
    vg_calibrate_options options = *full->options;
    options.tolerance = SUBSAMPLE_TOLERANCE;
    options.max_sweeps = SUBSAMPLE_SWEEPS;
    options.progress = NULL;
    ptrdiff_t c = (ptrdiff_t)l->c;
    vg_predictions view = {keep->z, VG_F32, keep->n, l->m, l->c, (ptrdiff_t)l->m * c, c, 1};
    vg_logits logits;
    const vg_logits_source source = {vg_logits__view_block, &view, keep->n, l->m, l->c, keep->labels};
    VG_TRY(vg_logits__start(&logits, &source, l->pool));
    vg_problem problem;
    vg_status status = vg_problem__start(&problem, &logits, &options, 0);
    if (status == VG_OK) {
        vg_newton_start start = {NULL, NULL, NULL};
        status = vg_newton__solve(&problem, &start, fits, rows);
        vg_problem__stop(&problem);
    }
    vg_logits__stop(&logits);
    for (size_t i = 0; status == VG_OK && i < full->count; i++)
        guess[i] = fits[i].flags == VG_FIT_CONVERGED ? -log(fits[i].temperature) : NAN;
    if (status == VG_ERR_NUMERIC) { /* the fit to the full data reports it */
        for (size_t i = 0; i < full->count; i++)
            guess[i] = NAN;
        status = VG_OK;
    }
    return status;
}

/* losses, excess: of the members at T = 1. */
static vg_status run_newton(vg_calibration *r, vg_problem *problem, const vg_temperature_loss *losses,
                            const double *excess, const vg_subsample *keep) {
    size_t count = problem->count;
    double *guess = NULL, rows = 0, sub_rows = 0;
    bool *separable = NULL;
    vg_temperature_loss *at_one = NULL;
    vg_status status = vg_base__alloc(&guess, count, sizeof *guess, "newton's start");
    if (status == VG_OK)
        status = vg_base__alloc(&separable, count, sizeof *separable, "newton's start");
    if (status == VG_OK)
        status = vg_base__alloc(&at_one, count, sizeof *at_one, "newton's start");
    if (status == VG_OK && keep->n > 0)
        status = guess_from(keep, problem, r->newton, guess, &sub_rows);
    if (status == VG_OK) {
        for (size_t i = 0; i < count; i++) {
            at_one[i] = vg_problem__share(problem, losses, i);
            separable[i] = true;
            for (size_t m = problem->shared ? 0 : i; m < (problem->shared ? problem->logits->m : i + 1); m++)
                separable[i] &= excess[m] == 0;
        }
        vg_newton_start start = {at_one, separable, keep->n > 0 ? guess : NULL};
        unsigned sweeps = problem->sweeps;
        status = vg_newton__solve(problem, &start, r->newton, &rows);
        r->newton_sweeps = 1 + problem->sweeps - sweeps;
        r->newton_passes = 1 + (rows + sub_rows * (double)keep->n / (double)r->samples) / (double)count;
    }
    vg_base__release(guess);
    vg_base__release(separable);
    vg_base__release(at_one);
    return status;
}

/* --- the whole -------------------------------------------------------------------------------------------------- */
/* samples: before, and held out. */
static vg_status solve(vg_calibration *r, vg_problem *problem, double *b, vg_temperature_loss *losses, double *excess,
                       vg_subsample *keep, vg_sample_figures samples[2]) {
    const vg_calibrate_options *o = problem->options;
    size_t m_count = problem->logits->m;
    for (size_t m = 0; m < m_count; m++)
        b[m] = 1;
    if (r->newton != NULL)
        VG_TRY(new_subsample(keep, problem->logits));
    if (o->folds)
        VG_TRY(vg_sample_figures__new(&samples[0], &samples[1], problem->logits->n));
    problem->logits->keep = o->folds ? &samples[0] : NULL;
    VG_TRY(vg_logits__measure(problem->logits, b, o->bins, &r->before, losses, excess, keep->n > 0 ? keep : NULL));
    VG_TRY(vg_problem__swept(problem));
    problem->logits->keep = NULL;
    if (r->newton != NULL)
        VG_TRY(run_newton(r, problem, losses, excess, keep));
    if (r->bayes != NULL) {
        unsigned sweeps = problem->sweeps;
        VG_TRY(vg_bayes__solve(problem, r->bayes));
        r->bayes_sweeps = problem->sweeps - sweeps;
    }
    if (r->newton != NULL && r->bayes != NULL)
        VG_TRY(find_gaps(r));
    for (size_t i = 0; i < r->count; i++)
        r->temperatures[i] = r->newton != NULL ? r->newton[i].temperature : r->bayes[i].temperature;
    for (size_t m = 0; m < m_count; m++)
        b[m] = 1 / r->temperatures[r->shared ? 0 : m];
    VG_TRY(vg_logits__measure(problem->logits, b, o->bins, &r->after, NULL, NULL, NULL));
    VG_TRY(vg_problem__swept(problem));
    return vg_calibrate__hold_out(r, problem, samples);
}

static vg_status calibrate(vg_calibration **out, vg_logits *logits, const vg_calibrate_options *options) {
    vg_calibration *result = NULL;
    double *b = NULL, *excess = NULL;
    vg_temperature_loss *losses = NULL;
    vg_subsample keep = {0, 0, NULL, NULL};
    vg_sample_figures samples[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    vg_problem problem;
    unsigned most = MEASURING_SWEEPS + (options->solver != VG_SOLVER_BAYES ? options->max_sweeps : 0) +
                    (options->solver != VG_SOLVER_NEWTON ? options->evaluations + 1 : 0) +
                    (options->folds ? options->folds * options->max_sweeps + 1 : 0);
    VG_TRY(vg_problem__start(&problem, logits, options, most));
    vg_status status = new_result(&result, logits, options);
    if (status == VG_OK)
        status = vg_base__alloc(&b, logits->m, sizeof *b, "inverse temperatures");
    if (status == VG_OK)
        status = vg_base__alloc(&excess, logits->m, sizeof *excess, "label margins");
    if (status == VG_OK)
        status = vg_base__alloc(&losses, logits->m, sizeof *losses, "losses");
    if (status == VG_OK)
        status = solve(result, &problem, b, losses, excess, &keep, samples);
    if (status == VG_OK)
        status = vg_calibrate__write_text(result);
    if (status == VG_OK)
        vg_calibrate__warn(result, &logits->units);
    vg_problem__stop(&problem);
    free_subsample(&keep);
    vg_sample_figures__give(&samples[0], result, status);
    vg_sample_figures__free(&samples[0]);
    vg_base__release(b);
    vg_base__release(excess);
    vg_base__release(losses);
    if (status != VG_OK) {
        vg_calibration_free(result);
        return status;
    }
    *out = result;
    return VG_OK;
}

vg_status vg_calibrate__fit(vg_calibration **out, vg_logits *logits, const vg_calibrate_options *options) {
    bool maps = options->method != VG_CALIBRATE_TEMPERATURE || options->mean;
    return maps ? vg_calibrate__maps(out, logits, options, false) : calibrate(out, logits, options);
}

static vg_status fit_and_compare(vg_calibration **out, vg_logits *logits, vg_calibrate_options *o) {
    VG_TRY(vg_units__start(&logits->units, logits->n, o->image_ends, o->image_count, &o->folds));
    vg_status status = vg_calibrate__fit(out, logits, o);
    if (status == VG_OK && o->compare)
        status = vg_calibrate__compare(*out, logits, o);
    if (status != VG_OK) {
        vg_calibration_free(*out);
        *out = NULL;
    }
    return status;
}

vg_status vg_calibrate_blocks(vg_calibration **out, vg_logits_block_fn block, void *block_context, size_t n, size_t m,
                              size_t c, const int64_t *labels, const vg_calibrate_options *options) {
    VG_IN_C_LOCALE;
    if (out == NULL || block == NULL || labels == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibrate: out, logits and labels must not be NULL");
    *out = NULL;
    vg_calibrate_options o;
    VG_TRY(check_options(&o, options));
    vg_pool *pool;
    VG_TRY(vg_pool__new(&pool, o.threads));
    vg_logits logits;
    const vg_logits_source source = {block, block_context, n, m, c, labels};
    vg_status status = vg_logits__start(&logits, &source, pool);
    if (status == VG_OK) {
        status = fit_and_compare(out, &logits, &o);
        vg_logits__stop(&logits);
    }
    vg_pool__free(pool);
    return status;
}

static vg_status check_view(const vg_predictions *view) {
    if (view == NULL || view->data == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibrate: logits must not be NULL");
    if ((unsigned)view->dtype > VG_BF16)
        return vg_base__fail(VG_ERR_ARGUMENT, "element type of logits is %d, expected 0 .. 3", (int)view->dtype);
    return VG_OK;
}

vg_status vg_calibrate(vg_calibration **out, const vg_predictions *logits, const int64_t *labels,
                       const vg_calibrate_options *options) {
    VG_IN_C_LOCALE;
    VG_TRY(check_view(logits));
    vg_predictions view = *logits;
    return vg_calibrate_blocks(out, vg_logits__view_block, &view, view.n, view.m, view.c, labels, options);
}

vg_status vg_calibrate__measure(vg_calibration_metrics *out, const vg_predictions *logits, const int64_t *labels,
                                const double *temperatures, size_t count, const vg_calibrate_options *options) {
    VG_TRY(check_view(logits));
    if (out == NULL || labels == NULL)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibrate__measure: out and labels must not be NULL");
    if (temperatures != NULL && count != 1 && count != logits->m)
        return vg_base__fail(VG_ERR_ARGUMENT, "%zu temperatures for %zu members, expected 1 or %zu", count, logits->m,
                             logits->m);
    for (size_t i = 0; temperatures != NULL && i < count; i++) {
        if (!(temperatures[i] > 0 && isfinite(temperatures[i]) && isfinite(1 / temperatures[i])))
            return vg_base__fail(VG_ERR_ARGUMENT, "temperature %zu is %g, expected a finite number > 0", i,
                                 temperatures[i]);
    }
    vg_calibrate_options o;
    VG_TRY(check_options(&o, options));
    vg_pool *pool;
    VG_TRY(vg_pool__new(&pool, o.threads));
    vg_predictions view = *logits;
    vg_logits walked;
    const vg_logits_source source = {vg_logits__view_block, &view, view.n, view.m, view.c, labels};
    vg_status status = vg_logits__start(&walked, &source, pool);
    if (status == VG_OK) {
        double *b;
        status = vg_base__alloc(&b, view.m, sizeof *b, "inverse temperatures");
        if (status == VG_OK) {
            for (size_t m = 0; m < view.m; m++)
                b[m] = temperatures == NULL ? 1 : 1 / temperatures[count == 1 ? 0 : m];
            status = vg_logits__measure(&walked, b, o.bins, out, NULL, NULL, NULL);
            vg_base__release(b);
        }
        vg_logits__stop(&walked);
    }
    vg_pool__free(pool);
    return status;
}
