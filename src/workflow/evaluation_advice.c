/* evaluation_advice.c - advice in one sentence from the findings of an evaluation; and which calibrator the
 * predictions of a file support, as one more finding.
 *
 * A calibrator of the mean needs only the mean over members. It is taken over all samples or, of large files, over
 * runs of samples spread over the file, and given to vg_calibrate as probabilities of one member, which compares the
 * methods on samples that they were not fitted to. */
#include <stdio.h>
#include <string.h>

#include "vargate/calibrate.h"
#include "workflow/evaluation_figures.h"
#include "workflow/prediction_input.h"

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

enum { ADVICE_ELEMENTS = 1 << 20, ADVICE_MEMBERS = 1 << 23, RUNS = 16, FEWEST = 40 };

/* The number of samples used: limits the means and the predictions that are read for them. */
static size_t samples_of(const vg_score_layout *layout) {
    size_t most = ADVICE_ELEMENTS / layout->c, read = ADVICE_MEMBERS / layout->m / layout->c;
    most = read < most ? read : most;
    return layout->n < most ? layout->n : most;
}

/* Means and labels of `count` samples: RUNS runs, or all. */
static vg_status gather(double *mean, int64_t *labels, const vg_score_input *in, size_t count) {
    const vg_score_layout *layout = &in->layout;
    size_t runs = count < layout->n ? RUNS : 1, done = 0;
    vg_score_options options = in->options;
    options.device = VG_SCORE_ON_CPU;
    for (size_t r = 0; r < runs; r++) {
        size_t rows = count * (r + 1) / runs - done, first = layout->n / runs * r;
        vg_predictions view;
        if (rows == 0)
            continue;
        VG_TRY(vg_prediction_file_block(in->file, first, rows, &view));
        vg_scores places = {.mean = mean + done * layout->c};
        VG_TRY(vg_score(&places, NULL, &view, &options));
        memcpy(labels + done, in->labels + first, rows * sizeof *labels);
        done += rows;
    }
    return VG_OK;
}

static vg_status compare(vg_calibration **out, const double *mean, const int64_t *labels, size_t n,
                         const vg_score_input *in) {
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(mean, n, 1, in->layout.c);
    options.mean = options.probabilities = options.compare = 1;
    options.threads = in->options.threads;
    return vg_calibrate(out, &view, labels, &options);
}

vg_status vg_evaluation__advise_calibrator(vg_finding *out, const vg_score_input *in) {
    size_t n = samples_of(&in->layout);
    double *mean = NULL;
    int64_t *labels = NULL;
    vg_calibration *found = NULL;
    snprintf(out->about, sizeof out->about, "calibrator");
    snprintf(out->verdict, sizeof out->verdict, "unknown");
    snprintf(out->text, sizeof out->text, "Calibrators: %zu samples are too few to compare them.", in->layout.n);
    if (n < FEWEST)
        return VG_OK;
    vg_status status = vg_base__alloc(&mean, n, in->layout.c * sizeof *mean, "means over members");
    if (status == VG_OK)
        status = vg_base__alloc(&labels, n, sizeof *labels, "labels");
    if (status == VG_OK)
        status = gather(mean, labels, in, n);
    if (status == VG_OK)
        status = compare(&found, mean, labels, n, in);
    if (status == VG_OK && found->candidate_count > 0) {
        bool none = strcmp(found->supported, "none") == 0;
        snprintf(out->verdict, sizeof out->verdict, "%s", none ? "noise" : "clear");
        snprintf(out->choice, sizeof out->choice, "%s", found->supported);
        snprintf(out->text, sizeof out->text, "%s", found->advice);
    }
    if (status == VG_ERR_DATA ||
        status == VG_ERR_NUMERIC) /* the evaluated predictions may be impossible to calibrate */
        status = VG_OK;
    vg_calibration_free(found);
    vg_base__release(mean);
    vg_base__release(labels);
    return status;
}
