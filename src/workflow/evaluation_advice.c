/* evaluation_advice.c - advice in one sentence from the findings of an evaluation; and which calibrator the
 * predictions of a file support, as one more finding.
 *
 * A calibrator of the mean needs only the means over members. The scoring pass keeps them, of large files those of
 * samples spread over the file, and vg_calibrate takes them as probabilities of one member and compares the methods on
 * samples that they were not fitted to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "vargate/calibrate.h"
#include "workflow/evaluation_figures.h"
#include "workflow/kept_means.h"

bool vg_evaluation__is_advice(const vg_finding *finding) {
    return strcmp(finding->about, "measure") == 0 || strcmp(finding->about, "k") == 0 ||
           strcmp(finding->about, "calibrator") == 0;
}

/* What a finding advises: "tu to find errors (that another is better is within noise)". */
static void add_choice(char *out, size_t room, const vg_finding *f) {
    bool clear = strcmp(f->verdict, "clear") == 0, noise = strcmp(f->verdict, "noise") == 0;
    size_t used = strlen(out);
    const char *why = clear                                   ? "clearly better than the next"
                      : noise                                 ? "the lead of another is within noise"
                      : strcmp(f->verdict, "few-errors") == 0 ? "too few errors to tell"
                                                              : "not tested against others";
    if (!f->choice[0])
        return;
    if (used)
        used += (size_t)snprintf(out + used, room - used, "; ");
    if (f->about[0] == 'm')
        snprintf(out + used, room - used, "%s to find errors (%s)", f->choice, why);
    else if (f->about[0] == 'k')
        snprintf(out + used, room - used, "k = %s to abstain (%s)", f->choice, why);
    else if (clear)
        snprintf(out + used, room - used, "the calibrator %s (its gain is more than noise)", f->choice);
    else
        snprintf(out + used, room - used, "no calibrator (what the best gains is within noise)");
}

void vg_evaluation__advice(char out[VG_FINDING_SIZE], const vg_finding *findings, size_t count) {
    char words[VG_FINDING_SIZE - 16] = "";
    for (size_t i = 0; i < count; i++)
        if (vg_evaluation__is_advice(&findings[i]))
            add_choice(words, sizeof words, &findings[i]);
    snprintf(out, VG_FINDING_SIZE, words[0] ? "Use %s." : "%sNothing to choose.", words);
}

/* With some thousand samples a useful gain is several times its standard error. More samples would take several times
 * the time of the rest of the evaluation. A large gain is significant with a third of them already, so a third is
 * compared first where it has enough samples, and the rest is used only where that does not settle the question. */
enum { ADVICE_ELEMENTS = 1 << 15, SAMPLES_ENOUGH = 1024, FIRST_SHARE = 3, FEWEST = 40 };
#define FIRST_LEVEL 0.001

size_t vg_evaluation__advice_samples(size_t n, size_t classes) {
    size_t most = ADVICE_ELEMENTS / classes;
    most = most > SAMPLES_ENOUGH ? most : SAMPLES_ENOUGH;
    return n < most ? n : most;
}

/* Compares the calibrators on one of `step` kept samples each. */
static vg_status compare_some(vg_calibration **found, const vg_kept_means *kept, size_t step, unsigned threads) {
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    size_t count = kept->count / step;
    vg_predictions view = vg_predictions_f64(kept->mean, count, 1, kept->classes);
    int64_t *labels;
    view.stride_n *= (ptrdiff_t)step;
    VG_TRY(vg_base__alloc(&labels, count, sizeof *labels, "labels"));
    for (size_t i = 0; i < count; i++)
        labels[i] = kept->labels[i * step];
    options.mean = options.probabilities = options.compare = 1;
    options.threads = threads;
    vg_status status = vg_calibrate(found, &view, labels, &options);
    vg_base__release(labels);
    return status;
}

/* Whether one calibrator is supported beyond doubt and none does better, so that more samples would not change the
 * advice. The probability of a wrong advice grows from the 5 % of the test by FIRST_LEVEL at most. */
static bool is_beyond_doubt(const vg_calibration *found) {
    const vg_calibration_candidate *chosen = NULL;
    double best = INFINITY;
    for (size_t i = 0; i < found->candidate_count; i++) {
        const vg_calibration_candidate *row = &found->candidates[i];
        chosen = strcmp(row->name, found->supported) == 0 ? row : chosen;
        best = fmin(best, row->nll_change);
    }
    return chosen && chosen->nll_change <= best && chosen->corrected < FIRST_LEVEL;
}

static vg_status compare(vg_finding *out, const vg_kept_means *kept, unsigned threads) {
    vg_calibration *found = NULL;
    size_t step = kept->count / FIRST_SHARE >= SAMPLES_ENOUGH ? FIRST_SHARE : 1;
    vg_status status = compare_some(&found, kept, step, threads);
    if (step > 1 && (status != VG_OK || !is_beyond_doubt(found))) {
        vg_calibration_free(found);
        step = 1;
        status = compare_some(&found, kept, step, threads);
    }
    if (status == VG_OK && found->candidate_count > 0) {
        bool none = strcmp(found->supported, "none") == 0;
        snprintf(out->verdict, sizeof out->verdict, "%s", none ? "noise" : "clear");
        snprintf(out->choice, sizeof out->choice, "%s", found->supported);
        snprintf(out->text, sizeof out->text, "%s", found->advice);
        size_t used = strlen(out->text);
        if (kept->count / step < kept->n)
            snprintf(out->text + used, sizeof out->text - used, " Compared on %zu of %zu samples.", kept->count / step,
                     kept->n);
    }
    vg_calibration_free(found);
    return status;
}

vg_status vg_evaluation__advise_calibrator(vg_finding *out, const vg_kept_means *kept, unsigned threads) {
    vg_status status = VG_OK;
    memset(out, 0, sizeof *out);
    snprintf(out->about, sizeof out->about, "calibrator");
    snprintf(out->verdict, sizeof out->verdict, "unknown");
    snprintf(out->text, sizeof out->text, "Calibrators: %zu samples are too few to compare them.", kept->n);
    if (kept->n >= FEWEST)
        status = compare(out, kept, threads);
    if (status == VG_ERR_DATA || status == VG_ERR_NUMERIC) { /* what can be evaluated need not be a distribution */
        snprintf(out->text, sizeof out->text, "Calibrators cannot be compared: %s.", vg_error_message());
        status = VG_OK;
    }
    return status;
}

vg_status vg_calibrator_finding(vg_finding *out, const double *mean, const int64_t *labels, size_t n, size_t c,
                                unsigned threads) {
    VG_IN_C_LOCALE;
    vg_kept_means kept;
    if (!out || !mean || !labels || n == 0 || c < 2)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_calibrator_finding: expected means of samples of 2 or more classes, "
                                              "labels, and a finding to fill in, none NULL");
    VG_TRY(vg_kept_means__new(&kept, vg_evaluation__advice_samples(n, c), n, c));
    vg_kept_means__take(&kept, 0, n, mean, labels);
    vg_status status = vg_evaluation__advise_calibrator(out, &kept, threads);
    vg_kept_means__free(&kept);
    return status;
}
