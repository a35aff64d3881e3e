/* decide_search.c - the search for a policy that meets a target risk: k of the rule and thresholds of every measure,
 * of plain logits and of logits at a temperature.
 *
 * The validation samples are divided once. Those set aside (a fifth, at most 1,000) fit the temperature, one number
 * for all members, and nominate the candidates to test; in a stream they also place the thresholds. The others test
 * the nominees, which share the probability of a wrong promise. Choices made on samples that no test uses need no
 * correction, so the promise covers the whole search (docs/evaluation.md). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/select_internal.h"
#include "vargate/calibrate.h"
#include "workflow/decide.h"
#include "workflow/job.h"

static const double searched_gates[] = {1, 2, 3};
enum { GATES = sizeof searched_gates / sizeof *searched_gates, SEED = 1 };
/* The most logits that a temperature is fitted to: 64 Mi float64 are 512 MB. */
enum { MOST_LOGITS = 64 << 20 };

typedef struct search_work {
    vg_policy_data *policy;
    const vg_decide_request *request;
    double gates[VG_DECIDE_CANDIDATES];
    vg_decide_input input;
    vg_decide_scored validation[2], others[2]; /* plain, at the temperature */
    uint8_t *marks;                            /* samples: 1 = set aside */
    size_t aside;
} search_work;

/* --- the candidates ----------------------------------------------------------------------------------------------- */
/* The number of candidates of a measure: one per gate setting. Baselines, which are computed only when named, are
 * not searched. */
static size_t ways_of(vg_field field) {
    if (!(VG_FIELDS_ALL & VG_FIELD_BIT(field)))
        return 0;
    return vg_field__gated(field) ? GATES : 1;
}

static void add_ways(vg_policy_data *policy, bool calibrated) {
    policy->items[policy->count++] = (vg_decide_candidate){.by_rule = true, .k = 1, .calibrated = calibrated};
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        for (size_t g = 0; g < ways_of((vg_field)f); g++)
            policy->items[policy->count++] = (vg_decide_candidate){.field = (vg_field)f,
                                                                   .certainty = f == VG_FIELD_SNR,
                                                                   .k = searched_gates[g],
                                                                   .threshold = NAN,
                                                                   .calibrated = calibrated};
}

/* --- the temperature ---------------------------------------------------------------------------------------------- */
static double logit_at(const vg_predictions *view, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
    return view->dtype == VG_ELEMENT_F32 ? (double)((const float *)view->data)[at] : ((const double *)view->data)[at];
}

/* Logits and labels of the first `wanted` samples that are set aside. */
static vg_status gather_aside(double *logits, int64_t *labels, size_t wanted, search_work *work) {
    vg_score_input *in = &work->validation[0].in;
    size_t M = in->layout.m, C = in->layout.c, count = 0;
    for (size_t n = 0; n < in->layout.n && count < wanted; n++) {
        vg_predictions view;
        if (!work->marks[n])
            continue;
        VG_TRY(vg_prediction_file_block(in->file, n, 1, &view));
        for (size_t m = 0; m < M; m++)
            for (size_t c = 0; c < C; c++)
                logits[(count * M + m) * C + c] = logit_at(&view, 0, m, c);
        labels[count++] = in->labels[n];
    }
    return VG_OK;
}

/* One temperature for all members, to four digits: few samples determine no more, and it is short enough to type. */
static vg_status fit_temperature(char out[VG_NAME_SIZE], const double *logits, const int64_t *labels, size_t n,
                                 const search_work *work) {
    const vg_score_layout *layout = &work->validation[0].in.layout;
    vg_calibrate_options how = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = vg_predictions_f64(logits, n, layout->m, layout->c);
    vg_calibration *fit;
    how.shared = 1;
    how.folds = 0;
    how.threads = work->input.scoring.threads;
    vg_status status = vg_calibrate(&fit, &view, labels, &how);
    if (status != VG_OK)
        return vg_base__fail(status, "%s: %s", work->policy->calibration, vg_error_message());
    snprintf(out, VG_NAME_SIZE, "%.4g", fit->temperatures[0]);
    vg_calibration_free(fit);
    return VG_OK;
}

/* Fits the temperature where the input is plain logits. */
static vg_status find_temperature(search_work *work) {
    const vg_score_input *in = &work->validation[0].in;
    size_t each = in->layout.m * in->layout.c, most = each ? MOST_LOGITS / each : 0;
    size_t n = work->aside < most ? work->aside : most;
    char text[VG_NAME_SIZE];
    double *logits = NULL;
    int64_t *labels = NULL;
    if (!in->logits || in->layout.multilabel || in->calibrator || n == 0)
        return VG_OK;
    vg_status status = vg_base__alloc(&logits, n * each, sizeof *logits, "logits set aside");
    if (status == VG_OK)
        status = vg_base__alloc(&labels, n, sizeof *labels, "labels set aside");
    if (status == VG_OK)
        status = gather_aside(logits, labels, n, work);
    if (status == VG_OK)
        status = fit_temperature(text, logits, labels, n, work);
    if (status == VG_OK && strcmp(text, "1") != 0)
        status = vg_base__strdup(&work->policy->temperature, text);
    vg_base__release(logits);
    vg_base__release(labels);
    return status;
}

/* --- the steps ---------------------------------------------------------------------------------------------------- */
static vg_status divide(search_work *work) {
    const vg_score_input *in = &work->validation[0].in;
    size_t samples = in->layout.n;
    if (!in->layout.multilabel && vg_score_input__unit_rows(in) > 1)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "%s: the search over ways to decide is for samples; for images name one way: --by gmu, or "
                             "--by k",
                             work->policy->calibration);
    work->aside = vg_evaluate__usual_aside(samples);
    if (work->aside >= samples)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu validation samples are too few to choose on",
                             work->policy->calibration, samples);
    VG_TRY(vg_base__alloc(&work->marks, samples, sizeof *work->marks, "samples set aside"));
    return vg_evaluate__draw_aside(work->marks, samples, work->aside, SEED);
}

/* Scores a file at the temperature, or without. */
static vg_status score(vg_decide_scored *out, search_work *work, const char *path, const char *labels,
                       bool calibrated) {
    vg_decide_input input = work->input;
    input.reading.scoring = &input.scoring;
    if (calibrated)
        input.reading.temperature = work->policy->temperature;
    return vg_decide_scored__open(out, work->policy, &input, path, labels, calibrated);
}

static vg_status score_validation(search_work *work) {
    vg_policy_data *policy = work->policy;
    policy->count = 0;
    add_ways(policy, false);
    memcpy(work->gates, searched_gates, sizeof searched_gates);
    VG_TRY(vg_decide__input(&work->input, work->request, work->gates, GATES));
    VG_TRY(vg_decide__open_validation(&work->validation[0], policy, &work->input, false));
    VG_TRY(divide(work));
    VG_TRY(find_temperature(work));
    if (!policy->temperature)
        return VG_OK;
    add_ways(policy, true);
    return score(&work->validation[1], work, policy->calibration, work->input.reading.labels, true);
}

/* Keeps only the nominees as the policy's candidates. */
static vg_status nominate(search_work *work) {
    vg_policy_data *policy = work->policy;
    const vg_decide_scored *plain = &work->validation[0];
    vg_candidate list[VG_DECIDE_CANDIDATES] = {{.rule = 0}};
    vg_decide_candidate kept[VG_DECIDE_NOMINEES];
    size_t nominees[VG_DECIDE_NOMINEES];
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    options.target_risk = policy->shown.target_risk;
    options.rows_per_sample = plain->in.layout.multilabel ? plain->in.layout.c : 1;
    VG_TRY(vg_decide_scored__list(list, policy, work->validation, NULL));
    VG_TRY(vg_evaluate__nominate(nominees, VG_DECIDE_NOMINEES, list, policy->count, vg_tally__info(plain->tally).rows,
                                 &options, work->marks));
    for (size_t i = 0; i < VG_DECIDE_NOMINEES; i++)
        kept[i] = policy->items[nominees[i]];
    policy->shown.searched = policy->count;
    policy->shown.tuning = work->aside;
    policy->count = VG_DECIDE_NOMINEES;
    memcpy(policy->items, kept, sizeof kept);
    return VG_OK;
}

/* The predictions to be decided, scored for the nominees: their values place the thresholds. */
static vg_status score_decided(search_work *work, const char *decided) {
    bool first = true;
    for (int calibrated = 0; calibrated < 2; calibrated++) {
        bool wanted = false;
        for (size_t i = 0; i < work->policy->count; i++)
            wanted = wanted || work->policy->items[i].calibrated == (calibrated != 0);
        if (!wanted)
            continue;
        VG_TRY(score(&work->others[calibrated], work, decided, vg_score_no_labels, calibrated != 0));
        if (first)
            VG_TRY(vg_policy__check_shape(&work->policy->shown, &work->others[calibrated].in));
        first = false;
    }
    return VG_OK;
}

static vg_status search(search_work *work, const char *decided) {
    vg_policy_data *policy = work->policy;
    VG_TRY(score_validation(work));
    VG_TRY(nominate(work));
    if (decided)
        VG_TRY(score_decided(work, decided));
    VG_TRY(vg_decide__select(policy, work->validation, decided ? work->others : NULL, work->marks));
    vg_policy__show(policy);
    return policy->selection.met ? VG_OK : vg_decide__missed(policy, &work->validation[0]);
}

vg_status vg_decide__search(vg_policy_data *policy, const vg_decide_request *request, const char *decided) {
    search_work *work;
    VG_TRY(vg_base__zalloc(&work, 1, sizeof *work, "the search"));
    work->policy = policy;
    work->request = request;
    vg_status status = search(work, decided);
    for (int i = 0; i < 2; i++) {
        vg_decide_scored__close(&work->others[i]);
        vg_decide_scored__close(&work->validation[i]);
    }
    vg_base__release(work->marks);
    vg_base__release(work);
    return status;
}
