/* evaluation_advice.c - advice in one sentence from the findings of an evaluation; and which calibrator the
 * predictions of a file support, as one more finding.
 *
 * A calibrator of the mean needs only the means over members. The scoring pass keeps them, of large files those of
 * samples spread over the file, and vg_calibrate takes them as probabilities of one member and compares the methods on
 * samples that they were not fitted to. */
#include <stdio.h>
#include <string.h>

#include "vargate/calibrate.h"
#include "workflow/evaluation_figures.h"
#include "workflow/measure_columns.h"

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
                                                              : "no other leads";
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

/* A calibrator that is worth its trouble shows in some thousand samples: its gain is then several times its standard
 * error. More samples would only cost time, several times that of the rest of the evaluation. */
enum { ADVICE_ELEMENTS = 1 << 15, SAMPLES_ENOUGH = 1024, FEWEST = 40 };

size_t vg_evaluation__advice_samples(size_t n, size_t classes) {
    size_t most = ADVICE_ELEMENTS / classes;
    most = most > SAMPLES_ENOUGH ? most : SAMPLES_ENOUGH;
    return n < most ? n : most;
}

static vg_status compare(vg_calibration **out, const vg_kept_means *kept, const vg_score_input *in) {
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(kept->mean, kept->count, 1, in->layout.c);
    options.mean = options.probabilities = options.compare = 1;
    options.threads = in->options.threads;
    return vg_calibrate(out, &view, kept->labels, &options);
}

vg_status vg_evaluation__advise_calibrator(vg_finding *out, const vg_kept_means *kept, const vg_score_input *in) {
    vg_calibration *found = NULL;
    size_t n = in->layout.n;
    snprintf(out->about, sizeof out->about, "calibrator");
    snprintf(out->verdict, sizeof out->verdict, "unknown");
    snprintf(out->text, sizeof out->text, "Calibrators: %zu samples are too few to compare them.", n);
    if (n < FEWEST)
        return VG_OK;
    vg_status status = compare(&found, kept, in);
    if (status == VG_OK && found->candidate_count > 0) {
        bool none = strcmp(found->supported, "none") == 0;
        snprintf(out->verdict, sizeof out->verdict, "%s", none ? "noise" : "clear");
        snprintf(out->choice, sizeof out->choice, "%s", found->supported);
        snprintf(out->text, sizeof out->text, "%s", found->advice);
        size_t used = strlen(out->text);
        if (kept->count < n)
            snprintf(out->text + used, sizeof out->text - used, " Compared on %zu of %zu samples.", kept->count, n);
    }
    if (status == VG_ERR_DATA ||
        status == VG_ERR_NUMERIC) /* the evaluated predictions may be impossible to calibrate */
        status = VG_OK;
    vg_calibration_free(found);
    return status;
}
