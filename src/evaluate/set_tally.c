/* set_tally.c - figures of prediction sets from counts: coverage, sizes, and their intervals. See vg_set_figures. */
#include <math.h>

#include "base/distributions.h"
#include "evaluate/evaluate_internal.h"
#include "evaluate/set_rule.h"

vg_status vg_set_tally__new(vg_set_tally *t, size_t classes) {
    unsigned long long *counts;
    *t = (vg_set_tally){.classes = classes};
    VG_TRY(vg_base__zalloc(&counts, 4 * (classes + 1), sizeof *counts, "counts of sets"));
    t->size = counts;
    t->held = counts + (classes + 1);
    t->of_class = counts + 2 * (classes + 1);
    t->covered = counts + 3 * (classes + 1);
    return VG_OK;
}

void vg_set_tally__free(vg_set_tally *t) {
    vg_base__release(t->size);
    *t = (vg_set_tally){0};
}

/* A share with its Clopper-Pearson interval. */
static vg_estimate share(unsigned long long part, unsigned long long whole, double confidence) {
    if (whole == 0)
        return (vg_estimate){NAN, NAN, NAN};
    double tail = (1 - confidence) / 2, n = (double)whole, k = (double)part;
    return (vg_estimate){k / n, part == 0 ? 0 : vg_base__beta_quantile(tail, k, n - k + 1),
                         part == whole ? 1 : vg_base__beta_quantile(1 - tail, k + 1, n - k)};
}

/* The size of the set with index `place` in rising order of size. */
static double size_at(const vg_set_tally *t, double place) {
    double seen = 0;
    for (size_t s = 0; s < t->classes; s++) {
        seen += (double)t->size[s];
        if (place < seen)
            return (double)s;
    }
    return (double)t->classes;
}

static void sizes(vg_set_figures *out, const vg_set_tally *t, double z) {
    double n = (double)t->samples, sum = 0, squares = 0;
    for (size_t s = 0; s <= t->classes; s++)
        sum += (double)s * (double)t->size[s];
    double mean = sum / n;
    for (size_t s = 0; s <= t->classes; s++)
        squares += ((double)s - mean) * ((double)s - mean) * (double)t->size[s];
    double error = t->samples > 1 ? z * sqrt(squares / (n - 1) / n) : NAN;
    out->mean_size = (vg_estimate){mean, mean - error, mean + error};
    double middle = (n - 1) / 2, low = floor(middle), reach = z * sqrt(n) / 2;
    out->median_size =
        (vg_estimate){(size_at(t, low) + size_at(t, ceil(middle))) / 2, size_at(t, fmax(floor(n / 2 - reach), 0)),
                      size_at(t, fmin(ceil(n / 2 + reach), n - 1))};
}

static void worst_class(vg_set_figures *out, const vg_set_tally *t, double confidence) {
    size_t seen = 0;
    double least = INFINITY;
    for (size_t c = 0; c < t->classes; c++) {
        if (t->of_class[c] == 0)
            continue;
        double here = (double)t->covered[c] / (double)t->of_class[c];
        seen++;
        if (here < least) {
            least = here;
            out->worst_class = c;
        }
    }
    if (seen)
        out->worst_class_coverage =
            share(t->covered[out->worst_class], t->of_class[out->worst_class], 1 - (1 - confidence) / (double)seen);
}

static void strata(vg_set_figures *out, const vg_set_tally *t, double confidence) {
    static const size_t upper[VG_SET_STRATA] = {0, 1, 3, 10, 100, SIZE_MAX};
    size_t size = 0;
    for (size_t i = 0; i < VG_SET_STRATA && size <= t->classes; i++) {
        vg_set_stratum s = {.low = size, .high = upper[i] < t->classes ? upper[i] : t->classes};
        for (; size <= s.high; size++) {
            s.samples += t->size[size];
            s.covered += t->held[size];
        }
        s.coverage = share(s.covered, s.samples, confidence);
        if (s.samples)
            out->strata[out->stratum_count++] = s;
    }
}

/* The mean of n losses from their sum and the sum of their squares. */
static void risk(vg_set_figures *out, double sum, double squares, double n, double z) {
    double mean = sum / n;
    double variance = n > 1 ? fmax(squares - n * mean * mean, 0) / (n - 1) : NAN, error = z * sqrt(variance / n);
    out->risk = (vg_estimate){mean, fmax(mean - error, 0), fmin(mean + error, 1)};
    out->coverage = (vg_estimate){1 - mean, 1 - out->risk.high, 1 - out->risk.low};
}

void vg_set_tally__figures(vg_set_figures *out, const vg_set_tally *t, bool multilabel, double confidence) {
    const vg_estimate none = {NAN, NAN, NAN};
    double z = vg_base__normal_quantile(1 - (1 - confidence) / 2);
    unsigned long long held = 0;
    *out = (vg_set_figures){.samples = t->samples, .labelled = t->labelled};
    out->expected_low = out->expected_high = NAN;
    out->coverage = out->worst_class_coverage = out->singleton_accuracy = out->risk = none;
    out->worst_class = SIZE_MAX;
    sizes(out, t, z);
    out->singletons = share(t->size[1], t->samples, confidence);
    out->empty = share(t->size[0], t->samples, confidence);
    if (t->labelled == 0)
        return;
    if (multilabel) {
        risk(out, t->loss, t->squares, (double)t->labelled, z);
        return;
    }
    for (size_t s = 0; s <= t->classes; s++)
        held += t->held[s];
    out->coverage = share(held, t->labelled, confidence);
    out->singleton_accuracy = share(t->held[1], t->size[1], confidence);
    worst_class(out, t, confidence);
    strata(out, t, confidence);
}

/* The interval of r = sum x / sum n over images, by the spread of x - r n. */
static void ratio_interval(vg_estimate *r, const vg_set_units *u, size_t f, double sites, double z) {
    double spread = u->squares[f] - 2 * r->value * u->products[f] + r->value * r->value * u->rows_squared;
    double n = (double)u->count, error = z * sqrt(fmax(spread, 0) * n / (n - 1)) / sites;
    bool known = u->count > 1;
    r->low = known ? fmax(r->value - error, 0) : NAN;
    r->high = !known ? NAN : f == VG_SET_UNIT_SIZE ? r->value + error : fmin(r->value + error, 1);
}

unsigned long long vg_set_tally__unit_figures(vg_set_figures *out, const vg_set_tally *t, double confidence) {
    double z = vg_base__normal_quantile(1 - (1 - confidence) / 2);
    vg_set_units u = t->units;
    vg_set_units__close(&u);
    if (t->labelled)
        risk(out, u.loss, u.losses, (double)u.count, z);
    ratio_interval(&out->mean_size, &u, VG_SET_UNIT_SIZE, (double)t->samples, z);
    ratio_interval(&out->singletons, &u, VG_SET_UNIT_SINGLE, (double)t->samples, z);
    ratio_interval(&out->empty, &u, VG_SET_UNIT_EMPTY, (double)t->samples, z);
    vg_estimate *const of_sites[] = {&out->median_size, &out->worst_class_coverage, &out->singleton_accuracy};
    for (size_t i = 0; i < sizeof of_sites / sizeof *of_sites; i++)
        of_sites[i]->low = of_sites[i]->high = NAN;
    for (size_t i = 0; i < out->stratum_count; i++)
        out->strata[i].coverage.low = out->strata[i].coverage.high = NAN;
    return u.count;
}

void vg_set__beta_law(double *low, double *high, size_t n, double alpha, double confidence) {
    size_t place = vg_set__quantile_place(n, alpha);
    double tail = (1 - confidence) / 2, l = (double)place;
    *low = place > n ? 1 : place == 0 ? 0 : vg_base__beta_quantile(tail, l, (double)(n + 1) - l);
    *high = place > n ? 1 : place == 0 ? 0 : vg_base__beta_quantile(1 - tail, l, (double)(n + 1) - l);
}
