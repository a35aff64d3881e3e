/* compare_methods.c - which calibrator the data support: several methods, each measured on samples that it was not
 * fitted to, are compared with the uncalibrated predictions and with each other.
 *
 * A sample's held-out NLL under each method is paired with its uncalibrated NLL. The mean of the differences divided
 * by its standard error is taken as normal, that of images as Student's t (units.h); p-values are corrected by Holm's
 * method, because the best method is picked on the same samples. A method is supported where it is better and its
 * corrected p-value is below 0.05. Of those the simplest is advised, unless the best is better than it by the same
 * test, with its p-value times the number of comparisons. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/map.h"
#include "calibrate/solvers.h"

#define LEVEL 0.05

/* From few parameters to many. */
static const vg_calibration_method order[VG_CALIBRATION_CANDIDATES] = {VG_CALIBRATE_TEMPERATURE, VG_CALIBRATE_VECTOR,
                                                                       VG_CALIBRATE_ISOTONIC, VG_CALIBRATE_VENN_ABERS};

/* is - was: the mean, its interval and the two-sided p-value of no difference. */
static void compare(vg_calibration_candidate *out, const vg_logits *logits, const double *was, const double *is) {
    vg_change change = vg_units__change(&logits->units, was, is, logits->n);
    out->nll_change = change.mean;
    out->low = change.low;
    out->high = change.high;
    out->p_value = change.p_value;
}

/* Holm: the i-th smallest of m p-values times m - i, never below the one before. */
static void correct(vg_calibration_candidate *rows, size_t count) {
    double least = 0;
    bool done[VG_CALIBRATION_CANDIDATES] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t next = count;
        for (size_t j = 0; j < count; j++)
            if (!done[j] && (next == count || rows[j].p_value < rows[next].p_value))
                next = j;
        done[next] = true;
        least = fmax(least, fmin(1, rows[next].p_value * (double)(count - i)));
        rows[next].corrected = least;
    }
}

static void name_p(char out[32], double p) {
    if (p < 0.001)
        snprintf(out, 32, "p < 0.001");
    else
        snprintf(out, 32, "p = %.2g", p);
}

/* "changes the held-out NLL by ... (95 % interval ...; p ... corrected for ...)". */
static void name_change(char *out, size_t room, const vg_calibration *r, const vg_calibration_candidate *row) {
    char p[32], images[40] = "";
    if (r->images)
        snprintf(images, sizeof images, " of %zu images", r->images);
    name_p(p, row->corrected);
    snprintf(out, room,
             "changes the held-out NLL by %+.2g (95 %% interval %+.2g to %+.2g; paired test%s, %s corrected for %zu "
             "methods)",
             row->nll_change, row->low, row->high, images, p, r->candidate_count);
}

static void say(vg_calibration *r, size_t best, size_t first, bool further) {
    char words[240];
    const vg_calibration_candidate *rows = r->candidates;
    name_change(words, sizeof words, r, &rows[first == r->candidate_count ? best : first]);
    if (first == r->candidate_count) {
        snprintf(r->advice, sizeof r->advice, "Calibrate nothing: the best of the calibrators, %s, %s, which is %s.",
                 rows[best].name, words, rows[best].nll_change > 0 ? "no gain" : "within noise");
        return;
    }
    snprintf(r->advice, sizeof r->advice, "Calibrate with %s: it %s%s%s%s.", rows[first].name, words,
             further || first == best ? "" : "; that ", further || first == best ? "" : rows[best].name,
             further || first == best ? "" : " does better is within noise");
}

/* Which methods the candidates' figures support. nll: candidates x n. */
static void judge(vg_calibration *r, const vg_logits *logits, double *const *nll) {
    vg_calibration_candidate *rows = r->candidates, lead;
    size_t count = r->candidate_count, first = count, best = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i].supported = rows[i].nll_change < 0 && rows[i].corrected < LEVEL;
        first = rows[i].supported && first == count ? i : first;
        best = rows[i].nll_change < rows[best].nll_change ? i : best;
    }
    bool further = false;
    if (first < count && rows[best].supported && best != first) {
        compare(&lead, logits, nll[first], nll[best]);
        further = lead.p_value * (double)(count - 1) < LEVEL;
        first = further ? best : first;
    }
    snprintf(r->supported, sizeof r->supported, "%s", first < count ? rows[first].name : "none");
    say(r, best, first, further);
}

/* Fits one method. *out is NULL where the data cannot be fitted or are too few to hold any out. */
static vg_status fit_method(vg_calibration **out, vg_calibration_method method, vg_logits *logits,
                            const vg_calibrate_options *options) {
    vg_calibrate_options o = *options;
    o.method = method;
    o.compare = 0;
    *out = NULL;
    vg_status status = method != VG_CALIBRATE_TEMPERATURE || o.mean ? vg_calibrate__maps(out, logits, &o, true)
                                                                    : vg_calibrate__fit(out, logits, &o);
    if (status == VG_ERR_DATA || status == VG_ERR_NUMERIC || status == VG_ERR_ARGUMENT)
        return VG_OK; /* a class has no samples: this method cannot be fitted to these data */
    if (status != VG_OK || !(*out)->folds) {
        vg_calibration_free(*out);
        *out = NULL;
    }
    return status;
}

vg_status vg_calibrate__compare(vg_calibration *r, vg_logits *logits, const vg_calibrate_options *options) {
    vg_calibration *fits[VG_CALIBRATION_CANDIDATES] = {NULL};
    double *nll[VG_CALIBRATION_CANDIDATES];
    vg_status status = VG_OK;
    /* Without held-out figures of the result itself there are none to compare with. */
    for (size_t i = 0; r->folds && i < VG_CALIBRATION_CANDIDATES && status == VG_OK; i++) {
        if (order[i] != r->method)
            status = fit_method(&fits[i], order[i], logits, options);
        const vg_calibration *fit = order[i] == r->method ? r : fits[i];
        if (!fit)
            continue;
        vg_calibration_candidate *row = &r->candidates[r->candidate_count];
        nll[r->candidate_count++] = fit->sample_nll[1];
        snprintf(row->name, sizeof row->name, "%s", vg_calibration_method__name(order[i]));
        row->nll = fit->held_out.nll;
        row->ece = fit->held_out.ece;
        compare(row, logits, r->sample_nll[0], fit->sample_nll[1]);
    }
    if (status == VG_OK && r->candidate_count > 0) {
        correct(r->candidates, r->candidate_count);
        judge(r, logits, nll);
    } else
        snprintf(r->supported, sizeof r->supported, "unknown");
    for (size_t i = 0; i < VG_CALIBRATION_CANDIDATES; i++)
        vg_calibration_free(fits[i]);
    return status;
}
