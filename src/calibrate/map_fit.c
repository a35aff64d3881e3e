/* map_fit.c - calibration maps fitted to predictions: one per member, one for all members, or one of their mean.
 *
 *     1  all predictions are read, checked and measured without a map
 *     2  the maps are fitted to all samples, and measured on them
 *     3  for each fold, maps are fitted without its samples, which are then measured at them */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/map_data.h"
#include "calibrate/solvers.h"

enum { FOLD_LEAST = 10 };

typedef struct fit_work {
    vg_map_data data;
    const vg_calibrate_options *options;
    vg_calibration *result;
    vg_calibration_map like; /* what the maps have in common */
    double *inputs;          /* as data->x or data->mean: features, or probabilities */
    size_t *take;            /* rows of one fit */
    int64_t *y;              /* their labels */
    vg_sample_figures was, is;
    size_t done;        /* fits done */
    bool held_out_only; /* the steps that only other figures need are left out */
} fit_work;

vg_status vg_calibrate__check_method(const vg_calibrate_options *o) {
    if ((unsigned)o->method > VG_CALIBRATE_VENN_ABERS)
        return vg_base__fail(VG_ERR_ARGUMENT, "method is %d, expected 0 (temperature) .. 5 (venn-abers)",
                             (int)o->method);
    if (o->mean && o->shared)
        return vg_base__fail(VG_ERR_ARGUMENT, "a map is of the mean over members or shared by them, not both");
    bool maps = o->method != VG_CALIBRATE_TEMPERATURE || o->mean;
    if (maps && o->solver != VG_SOLVER_NEWTON)
        return vg_base__fail(VG_ERR_ARGUMENT, "the search 'bayes' is for temperatures of members alone");
    if (!maps && o->probabilities)
        return vg_base__fail(VG_ERR_ARGUMENT, "temperatures of members are fitted to logits, not to probabilities; one "
                                              "of the mean can be");
    if (o->map_bins < 1 || o->map_bins > 10000)
        return vg_base__fail(VG_ERR_ARGUMENT, "map_bins is %u, expected 1 .. 10000", o->map_bins);
    if (!(o->off_diagonal >= 0 && isfinite(o->off_diagonal)) || !(o->intercept >= 0 && isfinite(o->intercept)))
        return vg_base__fail(VG_ERR_ARGUMENT, "the penalties of dirichlet are %g and %g, expected numbers >= 0",
                             o->off_diagonal, o->intercept);
    return VG_OK;
}

/* --- inputs of the fits ------------------------------------------------------------------------------------------- */
static vg_status prepare_row(void *context, size_t n, unsigned worker) {
    fit_work *w = context;
    const vg_map_data *d = &w->data;
    const vg_softmax_kernels *kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    bool logits = d->logits && !d->mean;
    size_t rows = d->mean ? 1 : d->m;
    (void)worker;
    for (size_t m = 0; m < rows; m++) {
        const double *from = (d->mean ? d->mean : d->x) + (n * rows + m) * d->c;
        double *to = w->inputs + (n * rows + m) * d->c;
        if (vg_calibration_method__linear(w->like.method))
            vg_map__features(to, from, d->c, logits, w->like.method, kernels);
        else
            vg_map__probabilities(to, from, d->c, logits, kernels);
    }
    return VG_OK;
}

/* The rows of map `which`, without the samples of `fold`. */
static vg_map_rows choose_rows(fit_work *w, size_t which, size_t folds, size_t fold) {
    const vg_map_data *d = &w->data;
    size_t count = 0, each = d->mean ? 1 : d->m, first = w->like.count > 1 ? which : 0;
    size_t last = w->like.count > 1 ? which + 1 : each;
    for (size_t n = 0; n < d->n; n++) {
        if (folds && vg_units__fold(&d->units, n, folds) == fold)
            continue;
        for (size_t m = first; m < last; m++) {
            w->take[count] = n * each + m;
            w->y[count++] = d->labels[n];
        }
    }
    return (vg_map_rows){.take = w->take, .y = w->y, .count = count, .c = d->c, .pool = d->pool};
}

/* --- one set of maps ---------------------------------------------------------------------------------------------- */
static void start_linear(double *linear, const fit_work *w) {
    size_t c = w->data.c, matrix = w->like.method == VG_CALIBRATE_DIRICHLET;
    if (w->like.method == VG_CALIBRATE_TEMPERATURE)
        linear[0] = 1;
    else
        for (size_t i = 0; i < c; i++)
            linear[matrix ? i * c + i : i] = 1;
}

/* from: maps of the same kind to start from; NULL: identity maps. */
static vg_status fit_linear(vg_calibration_map **out, vg_map_fit *fits, fit_work *w, size_t folds, size_t fold,
                            const vg_calibration_map *from) {
    VG_TRY(vg_calibration_map__new(out, &w->like, 0));
    vg_calibration_map *map = *out;
    for (size_t i = 0; i < map->count; i++) {
        double *linear = map->linear + i * map->width;
        vg_map_rows rows = choose_rows(w, i, folds, fold);
        if (from)
            memcpy(linear, from->linear + i * map->width, map->width * sizeof *linear);
        else
            start_linear(linear, w);
        rows.done = w->done++;
        rows.total = map->count * (1 + w->options->folds);
        rows.rough = w->held_out_only;
        VG_TRY(vg_map__fit_linear(&fits[i], linear, w->inputs, &rows, w->options));
    }
    return VG_OK;
}

/* Copies the curves of all maps into one block. */
static vg_status pack(vg_calibration_map **out, const vg_calibration_map *like, const vg_curve *curves) {
    size_t total = 0, count = like->count * like->classes, at = 0;
    for (size_t i = 0; i < count; i++)
        total += curves[i].count;
    VG_TRY(vg_calibration_map__new(out, like, total));
    for (size_t i = 0; i < count; i++) {
        size_t bytes = curves[i].count * sizeof(double);
        (*out)->at[i] = at;
        memcpy((*out)->x + at, curves[i].x, bytes);
        memcpy((*out)->low + at, curves[i].low, bytes);
        if (like->method == VG_CALIBRATE_VENN_ABERS)
            memcpy((*out)->high + at, curves[i].high, bytes);
        at += curves[i].count;
    }
    (*out)->at[count] = at;
    return VG_OK;
}

static vg_status fit_curves(vg_calibration_map **out, vg_map_fit *fits, fit_work *w, size_t folds, size_t fold) {
    size_t c = w->data.c, count = w->like.count * c;
    vg_curve *curves;
    vg_status status = VG_OK;
    VG_TRY(vg_base__zalloc(&curves, count, sizeof *curves, "curves"));
    for (size_t i = 0; i < w->like.count && status == VG_OK; i++) {
        vg_map_rows rows = choose_rows(w, i, folds, fold);
        status = vg_map__fit_curves(curves + i * c, w->inputs, &rows, w->options);
        fits[i] = (vg_map_fit){NAN, 0, 0, 1};
    }
    if (status == VG_OK)
        status = pack(out, &w->like, curves);
    for (size_t i = 0; i < count; i++)
        vg_base__release(curves[i].x);
    vg_base__release(curves);
    return status;
}

static vg_status fit_maps(vg_calibration_map **out, vg_map_fit *fits, fit_work *w, size_t folds, size_t fold,
                          const vg_calibration_map *from) {
    return vg_calibration_method__linear(w->like.method) ? fit_linear(out, fits, w, folds, fold, from)
                                                         : fit_curves(out, fits, w, folds, fold);
}

/* --- held-out figures --------------------------------------------------------------------------------------------- */
static vg_status hold_out(fit_work *w) {
    vg_calibration *r = w->result;
    size_t folds = w->options->folds;
    vg_calibration_map **maps;
    vg_map_fit *fits;
    if (folds == 0 || w->data.n / folds < FOLD_LEAST)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&maps, folds, sizeof *maps, "maps of folds"));
    vg_status status = vg_base__alloc(&fits, r->count, sizeof *fits, "fits of a fold");
    for (size_t f = 0; f < folds && status == VG_OK; f++)
        status = fit_maps(&maps[f], fits, w, folds, f, r->map || f == 0 ? r->map : maps[f - 1]);
    if (status == VG_OK)
        status = vg_map_data__measure(&r->held_out, &w->is, &w->data, maps, folds, r->bins);
    if (status == VG_OK && w->held_out_only) {
        r->sample_nll[0] = w->was.nll; /* not filled; its memory holds the other, too */
        r->sample_nll[1] = w->is.nll;
    } else if (status == VG_OK)
        status = vg_sample_figures__compare(r, &w->data.units, &w->was, &w->is);
    if (status == VG_OK)
        r->folds = (unsigned)folds;
    for (size_t f = 0; f < folds; f++)
        vg_base__release(maps[f]);
    vg_base__release(maps);
    vg_base__release(fits);
    return status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
/* A map with parameters for every class needs samples of every class: without them its probability is undetermined. */
static vg_status check_classes(const vg_map_data *d, const vg_calibrate_options *o) {
    size_t *seen, missing = d->c;
    if (o->method == VG_CALIBRATE_TEMPERATURE)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&seen, d->c, sizeof *seen, "counts of classes"));
    for (size_t n = 0; n < d->n; n++)
        seen[d->labels[n]]++;
    for (size_t c = d->c; c-- > 0;)
        missing = seen[c] ? missing : c;
    vg_base__release(seen);
    return missing == d->c ? VG_OK
                           : vg_base__fail(VG_ERR_DATA,
                                           "no sample of class %zu among %zu: method %s needs at least one of every "
                                           "class; use method temperature, or more samples",
                                           missing, d->n, vg_calibration_method__name(o->method));
}

static vg_status make_room(fit_work *w) {
    vg_map_data *d = &w->data;
    size_t rows = d->n * (d->mean ? 1 : d->m);
    VG_TRY(vg_base__alloc(&w->inputs, rows, d->c * sizeof *w->inputs, "inputs of maps"));
    VG_TRY(vg_base__alloc(&w->take, rows, sizeof *w->take, "rows of a map"));
    VG_TRY(vg_base__alloc(&w->y, rows, sizeof *w->y, "labels of rows"));
    return vg_sample_figures__new(&w->was, &w->is, d->n);
}

static vg_status fit(fit_work *w) {
    vg_calibration *r = w->result;
    vg_map_data *d = &w->data;
    VG_TRY(check_classes(d, w->options));
    VG_TRY(make_room(w));
    if (!w->held_out_only)
        VG_TRY(vg_map_data__measure(&r->before, &w->was, d, NULL, 1, r->bins));
    VG_TRY(vg_pool__run(d->pool, d->n, prepare_row, w));
    if (!w->held_out_only) {
        VG_TRY(fit_maps(&r->map, r->map_fits, w, 0, 0, NULL));
        VG_TRY(vg_map_data__measure(&r->after, &w->is, d, &r->map, 1, r->bins));
    }
    return hold_out(w);
}

static vg_status new_result(vg_calibration **out, const vg_logits *l, const vg_calibrate_options *o) {
    const double none = NAN;
    VG_TRY(vg_base__zalloc(out, 1, sizeof **out, "calibration result"));
    **out = (vg_calibration){.struct_size = sizeof **out,
                             .samples = l->n,
                             .members = l->m,
                             .classes = l->c,
                             .images = l->units.count,
                             .shared = o->shared != 0,
                             .count = o->shared || o->mean ? 1 : l->m,
                             .bins = o->bins,
                             .t_min = none,
                             .t_max = none,
                             .gap_log_t_median = none,
                             .gap_log_t_max = none,
                             .gap_loss_max = none,
                             .held_out = {none, none, none, none, none, none},
                             .held_out_nll_error = none,
                             .method = o->method,
                             .mean = o->mean != 0,
                             .probabilities = o->probabilities != 0,
                             .nll_change = {none, none},
                             .ece_change = {none, none}};
    return vg_base__zalloc(&(*out)->map_fits, (*out)->count, sizeof *(*out)->map_fits, "fits");
}

vg_status vg_calibrate__maps(vg_calibration **out, vg_logits *logits, const vg_calibrate_options *options,
                             bool held_out_only) {
    fit_work w = {.options = options, .held_out_only = held_out_only};
    vg_calibration *r = NULL;
    vg_status status = new_result(&r, logits, options);
    if (status == VG_OK) {
        w.result = r;
        w.like = (vg_calibration_map){.method = r->method,
                                      .mean = r->mean,
                                      .probabilities = r->probabilities,
                                      .members = r->members,
                                      .classes = r->classes,
                                      .count = r->count};
        status = vg_map_data__start(&w.data, logits, !options->probabilities, options->mean);
    }
    if (status == VG_OK)
        status = fit(&w);
    vg_map_data__stop(&w.data);
    vg_base__release(w.inputs);
    vg_base__release(w.take);
    vg_base__release(w.y);
    vg_sample_figures__give(&w.was, r, status);
    vg_sample_figures__free(&w.was);
    if (status == VG_OK && !held_out_only)
        status = vg_calibrate__write_text(r);
    if (status == VG_OK && !held_out_only)
        vg_calibrate__warn(r, &logits->units);
    if (status == VG_OK)
        *out = r;
    else
        vg_calibration_free(r);
    return status;
}
