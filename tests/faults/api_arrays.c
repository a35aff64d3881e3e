/* api_arrays.c - the public functions that compute on arrays, for api_walk.c. */
#include <math.h>
#include <string.h>

#include "api_walk.h"

enum { N = 40, M = 3, C = 4 };
static double probabilities[N * M * C], logits[N * M * C], values[N];
static int64_t labels[N];
static uint8_t errors[N];

static vg_predictions view(void) {
    for (size_t i = 0; i < N * M; i++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            logits[i * C + c] = (double)((i * 7 + c * 13 + i * c) % 17) / 3;
            sum += exp(logits[i * C + c]);
        }
        for (size_t c = 0; c < C; c++)
            probabilities[i * C + c] = exp(logits[i * C + c]) / sum;
    }
    for (size_t i = 0; i < N; i++) {
        labels[i] = (int64_t)(i % C);
        errors[i] = i % 5 == 0;
        values[i] = (double)(i * 31 % 41);
    }
    return vg_predictions_f64(probabilities, N, M, C);
}
static vg_predictions logit_view(void) {
    view();
    return vg_predictions_f64(logits, N, M, C);
}

static vg_status scorer(double *figure) {
    static double tu[N], gmu[N], mean[N * C], std[N * C];
    vg_scores out = {.tu = tu, .gmu = gmu, .mean = mean, .std = std};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_predictions all = view();
    vg_scorer *one = NULL;
    vg_score_summary summary = {0};
    vg_scorer_state state = {.struct_size = sizeof state};
    vg_verdict verdict = VG_VERDICT_INIT;
    vg_status status;
    options.threads = 2;
    TRY(vg_score_options_preset(&options, VG_PRESET_VGE));
    TRY(vg_score(&out, &summary, &all, &options));
    *figure += tu[3] + gmu[4] + summary.diversity;
    TRY(vg_scorer_new(&one, M, C, &options));
    TRY(vg_scorer_feed(one, &out, &all, NULL));
    TRY(vg_scorer_save(one, &state));
    TRY(vg_scorer_restore(one, &state));
    TRY(vg_scorer_summary(one, &summary));
    TRY(vg_verdict_judge(&verdict, &summary, 30, N));
    *figure += summary.diversity + (double)strlen(vg_scorer_device(one)) + vg_predictions_normalised(&all);
    *figure += (double)strlen(vg_measure_info_at(0)->name) + (double)strlen(vg_cpu_tier());
done:
    vg_scorer_free(one);
    return status;
}

static vg_status sites(double *figure) {
    vg_sites out = VG_SITES_INIT;
    const size_t shape[] = {2, 5, 2, 2, 3};
    vg_status status = vg_sites_view(&out, probabilities, VG_ELEMENT_F64, "NCHWM", 5, shape, NULL);
    *figure += status == VG_OK ? (double)out.struct_size : 0;
    return status == VG_ERR_ARGUMENT ? VG_OK : status;
}

static vg_status trees(double *figure) {
    static const int64_t left[] = {1, -1, -1}, right[] = {2, -1, -1}, feature[] = {0, -2, -2};
    static const double threshold[] = {0.5, 0, 0}, value[] = {0.5, 0.5, 1, 0, 0, 1};
    static const float x[] = {0.25F, 0.75F};
    const vg_tree tree = {left, right, feature, threshold, NULL, sizeof(int64_t), 3, value, 2};
    uint32_t leaves[2] = {0, 0};
    double out[4] = {0, 0, 0, 0};
    vg_status status = vg_trees_check(&tree, 1, 1);
    if (status != VG_OK)
        return status;
    vg_trees_leaves(leaves, &tree, 1, x, 2, 1);
    vg_trees_values(out, &tree, 1, leaves, 1, 2, 2);
    *figure += out[0] + 2 * out[3] + leaves[1];
    return VG_OK;
}

static vg_status rows_of_logits(void *context, size_t first, size_t rows, vg_predictions *out) {
    (void)context;
    *out = vg_predictions_f64(logits + first * M * C, rows, M, C);
    return VG_OK;
}

static vg_status calibration(double *figure) {
    vg_predictions all = logit_view();
    vg_calibration *one = NULL, *two = NULL;
    vg_k_fit *fit = NULL;
    char *text = NULL, *json = NULL;
    vg_status status;
    TRY(vg_calibrate(&one, &all, labels, NULL));
    TRY(vg_calibrate_blocks(&two, rows_of_logits, NULL, N, M, C, labels, NULL));
    TRY(vg_temperatures_text(&text, one));
    all = view();
    TRY(vg_fit_k(&fit, &all, labels, NULL));
    TRY(vg_k_fit_json(&json, fit, 0));
    *figure += (double)strlen(text) + (double)strlen(json);
done:
    vg_calibration_free(one);
    vg_calibration_free(two);
    vg_free(fit);
    vg_free(text);
    vg_free(json);
    return status;
}

/* A figure and the ends of its interval. */
static double interval(vg_estimate e) {
    return (isnan(e.value) ? 7 : e.value) + 2 * (isnan(e.low) ? 7 : e.low) + 3 * (isnan(e.high) ? 7 : e.high);
}

static vg_status evaluation(double *figure) {
    static double mean[N * C], std[N * C];
    static char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    static vg_finding findings[VG_MAX_FINDINGS];
    vg_predictions all = view();
    vg_scores out = {.mean = mean, .std = std};
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_tally_info info = VG_TALLY_INFO_INIT;
    vg_measure measure = {"tu", values, 1, 0};
    vg_tally *tally = NULL;
    vg_evaluation *result = NULL;
    vg_status status;
    how.bootstrap = 1;
    options.resamples = 10;
    TRY(vg_score(&out, NULL, &all, &scoring));
    TRY(vg_tally_new(&tally, C, &how));
    TRY(vg_tally_feed(tally, mean, std, labels, N));
    TRY(vg_tally_describe(&info, tally));
    TRY(vg_evaluate(&result, tally, &measure, 1, &options));
    *figure += interval(result->accuracy) + interval(result->measures[0].error_auroc) +
               interval(result->rule[0].coverage) + interval(result->ece) + interval(result->lead.difference) +
               result->calibration.p_value;
    *figure += (double)vg_evaluation_notes(notes, result) + (double)vg_evaluation_findings(findings, result, NULL);
    TRY(vg_calibrator_finding(&findings[0], mean, labels, N, C, 1));
    *figure += (double)strlen(findings[0].text);
    status = vg_evaluation_finish(result, NULL) == VG_ERR_MEMORY ? VG_ERR_MEMORY : VG_OK;
done:
    vg_evaluation_free(result);
    vg_tally_free(tally);
    return status;
}

static vg_status ranking(double *figure) {
    view();
    vg_measure measure = {"tu", values, 1, 0};
    vg_ranking out, merged;
    vg_rank_part part = VG_RANK_PART_INIT;
    vg_estimate auroc;
    vg_auroc_comparison comparison;
    double risk[5], ece, mce, ratio[N];
    int32_t first[N] = {0}, second[N];
    char name[VG_NAME_SIZE];
    vg_ood_row row;
    vg_ood_options resampled = VG_OOD_OPTIONS_INIT;
    vg_status status;
    resampled.resamples = 10;
    part.rows_total = N;
    part.errors_total = 8;
    for (size_t i = 0; i < N; i++)
        second[i] = 1;
    vg_k_name(name, 2);
    TRY(vg_rank(&out, &measure, errors, N, NULL));
    TRY(vg_rank_part_walk(&part, NULL, 0, &measure, errors, N, NULL));
    TRY(vg_rank_parts_merge(&merged, &part, 1, NULL));
    TRY(vg_risk_coverage(risk, 5, &measure, errors, N));
    TRY(vg_auroc(&auroc, &measure, errors, N, NULL));
    TRY(vg_auroc_compare(&comparison, &measure, &measure, errors, N, NULL));
    TRY(vg_calibration_error(&ece, &mce, probabilities, VG_ELEMENT_F64, labels, N, C, 15));
    TRY(vg_margin_ratio(ratio, probabilities, logits, first, second, N, C));
    TRY(vg_ood_evaluate(&row, &measure, N, &measure, N / 2, 1, &resampled));
    *figure += out.aurc.value + merged.aurc.value + risk[4] + interval(auroc) + ece + mce + ratio[1];
    *figure += interval(row.auroc) + interval(row.fpr95) + interval(comparison.difference);
done:
    return status;
}

static vg_status selection(double *figure) {
    view();
    vg_measure measure = {"tu", values, 1, 0};
    vg_select_options options = VG_SELECT_OPTIONS_INIT;
    vg_selection out = VG_SELECTION_INIT;
    vg_candidate candidate = {.measure = measure, .errors = errors};
    char reason[300];
    size_t chosen;
    vg_status status;
    options.target_risk = 0.3;
    TRY(vg_select_threshold(&out, &measure, errors, N, &options));
    *figure += out.threshold;
    vg_selection_reason(reason, sizeof reason, &out);
    TRY(vg_select_k(&out, values, errors, N, &options));
    *figure += out.threshold;
    TRY(vg_select_among(&out, &chosen, &candidate, 1, N, &options));
    *figure += out.threshold;
done:
    return status;
}

static vg_status sets(double *figure) {
    vg_predictions all = view();
    vg_sets *one = NULL;
    vg_set_places places = VG_SET_PLACES_INIT;
    int32_t size[N];
    char *text = NULL;
    vg_status status;
    places.size = size;
    TRY(vg_sets_new(&one, NULL));
    TRY(vg_sets_feed(one, NULL, &all, labels, NULL));
    TRY(vg_sets_feed(one, &places, &all, labels, NULL));
    TRY(vg_sets_text(&text, one, VG_SETS_FIGURES));
    *figure += size[0] + 2 * size[N - 1] + (double)strlen(text);
done:
    vg_sets_free(one);
    vg_free(text);
    return status;
}

static vg_status words(double *figure) {
    static const char *const names[] = {"score", "evaluate"};
    char shown[32];
    vg_field_set fields;
    vg_recipe *recipe = NULL;
    static vg_recipe room;
    char *text = NULL;
    vg_status status;
    recipe = &room;
    vg_recipe_defaults(recipe);
    TRY(vg_fields_parse(&fields, "tu,gmu"));
    TRY(vg_recipe_set(recipe, "epochs=3"));
    TRY(vg_recipe_text(&text, recipe));
    *figure += (double)strlen(text) + (double)fields + (double)strlen(vg_fields_word(0)) +
               (double)strlen(vg_printable(shown, sizeof shown, "\033[1m")) + (double)strlen(vg_version()) +
               (double)strlen(vg_nearest_name("scor", names, 2)) + (double)strlen(vg_build_facts());
done:
    vg_free(text);
    return status;
}

const api_case array_cases[] = {{"scorer", scorer, 1},         {"sites", sites, 1},
                                {"trees", trees, 1},           {"calibration", calibration, 1},
                                {"evaluation", evaluation, 1}, {"ranking", ranking, 1},
                                {"selection", selection, 1},   {"sets", sets, 1},
                                {"words", words, 1},           {NULL, NULL, 0}};
