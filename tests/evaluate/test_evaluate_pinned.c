/* test_evaluate_pinned.c - every figure of evaluations, rankings, selections, OOD detection and prediction sets, for
 * random options and shapes, against stored checksums: pinned.h. */
#include "pinned.h"
#include "pinned_values.h"

enum { ROWS = 700, MOST = 24, MEASURES = 3, PLACES = ROWS * MOST };

/* A data set: distributions, spreads and labels, and measures that find errors more or less well. */
static struct {
    size_t n, classes, rows; /* rows: n, or n x classes with several labels */
    bool multilabel;
    double mean[PLACES], std[PLACES], values[PLACES * MEASURES], ratio[PLACES];
    int64_t labels[PLACES];
    uint8_t errors[PLACES];
    vg_measure measures[MEASURES];
} set;

static void draw_row(draws *d, double *mean, double *std, bool sums) {
    double sum = 0;
    size_t sharp = once_in(d, 3) ? set.classes : below(d, set.classes);
    for (size_t c = 0; c < set.classes; c++) {
        mean[c] = sums ? (double)(1 + below(d, 64) + (c == sharp ? 200 : 0)) : (double)below(d, 129) / 128;
        std[c] = once_in(d, 8) ? 0 : (double)(1 + below(d, 64)) / 256;
        sum += mean[c];
    }
    for (size_t c = 0; sums && c < set.classes; c++)
        mean[c] /= sum;
}

/* The prediction of a row and its confidence; of several labels 0 or 1. */
static int64_t prediction(size_t row, double *confidence) {
    const double *p = set.mean + (set.multilabel ? row : row * set.classes);
    size_t best = 0;
    if (set.multilabel) {
        *confidence = *p > 0.5 ? *p : 1 - *p;
        return *p > 0.5;
    }
    for (size_t c = 1; c < set.classes; c++)
        best = p[c] > p[best] ? c : best;
    *confidence = p[best];
    return (int64_t)best;
}

/* One measure, any of them, knows errors, one confidences, one little; the last is a certainty. Half of the sets have
 * few different values. They lie one after the other or side by side. */
static void draw_measures(draws *d) {
    static const char *const names[MEASURES] = {"tu", "gmu", "snr"};
    double noise = 0.2 + unit(d), steps = once_in(d, 2) ? 16 : 1 << 20, confidence;
    size_t turn = below(d, MEASURES);
    bool beside = once_in(d, 2);
    for (size_t m = 0; m < MEASURES; m++) {
        set.measures[m] = (vg_measure){"", set.values + (beside ? m : m * set.rows), beside ? MEASURES : 1, m == 2};
        strcpy(set.measures[m].name, names[m]);
    }
    for (size_t row = 0; row < set.rows; row++) {
        set.errors[row] = set.labels[row] != prediction(row, &confidence);
        const double known[MEASURES] = {set.errors[row], 1 - confidence, confidence / 4};
        for (size_t m = 0; m < MEASURES; m++)
            set.values[beside ? row * MEASURES + m : m * set.rows + row] =
                floor((known[(m + turn) % MEASURES] + noise * unit(d)) * steps) / steps;
        set.ratio[row] = once_in(d, 20) ? (double)INFINITY : floor((1 - known[0] / 2) * unit(d) * 8 * steps) / steps;
    }
}

static void draw_set(draws *d, bool multilabel) {
    static const size_t sizes[] = {1, 2, 7, 30, 60, 150, 400, ROWS};
    set.n = sizes[below(d, 8)];
    set.multilabel = multilabel;
    set.classes = multilabel ? 1 + below(d, 6) : 2 + (once_in(d, 3) ? below(d, MOST - 1) : below(d, 4));
    set.rows = set.n * (multilabel ? set.classes : 1);
    for (size_t i = 0; i < set.n; i++)
        draw_row(d, set.mean + i * set.classes, set.std + i * set.classes, !multilabel);
    for (size_t row = 0; row < set.rows; row++) {
        double confidence;
        int64_t right = prediction(row, &confidence);
        set.labels[row] = !once_in(d, 4) ? right : (int64_t)below(d, multilabel ? 2 : set.classes);
    }
    draw_measures(d);
}

/* --- evaluations */
static const double some_k[] = {0.5, 1, 1.5, 4}, some_coverages[] = {0.1, 0.5, 0.77, 1},
                    some_risks[] = {0.02, 0.2, 0.4};

static vg_evaluate_options draw_options(draws *d) {
    vg_evaluate_options o = VG_EVALUATE_OPTIONS_INIT;
    if (once_in(d, 2))
        o.k = some_k, o.k_count = 1 + below(d, 4);
    if (once_in(d, 2))
        o.coverages = some_coverages, o.coverage_count = below(d, 5);
    if (once_in(d, 2))
        o.risks = some_risks, o.risk_count = below(d, 4);
    o.curve_points = once_in(d, 2) ? 0 : 1 + below(d, 30);
    o.resamples = once_in(d, 2) ? 0 : 10 + below(d, 40);
    o.confidence = once_in(d, 2) ? 0.95 : 0.8;
    o.seed = below(d, 100);
    o.threads = 1 + (unsigned)below(d, 3);
    return o;
}

static void add_ranking(checksum *c, const vg_ranking *r, size_t coverages, size_t risks, size_t points) {
    const vg_estimate figures[] = {r->aurc, r->eaurc, r->augrc, r->error_auroc, r->error_aupr};
    add_text(c, r->name);
    for (size_t i = 0; i < 5; i++)
        add_estimate(c, figures[i]);
    for (size_t i = 0; i < coverages; i++)
        add_estimate(c, r->risk_at[i]);
    for (size_t i = 0; i < risks; i++)
        add_estimate(c, r->coverage_at[i]);
    add_all(c, r->curve, points);
}
static void add_class(checksum *c, const vg_class_row *row) {
    add_count(c, row->support);
    add_count(c, row->predicted);
    add_count(c, row->true_positive);
    add(c, row->precision);
    add(c, row->recall);
    add(c, row->f1);
}
static void add_rule(checksum *c, const vg_rule_row *row, size_t classes) {
    const size_t counts[] = {
        row->rows, row->kept, row->kept_errors, row->abstained, row->abstained_errors, row->abstained_correct};
    add(c, row->k);
    add_text(c, row->name);
    add_counts(c, counts, 6);
    add_estimate(c, row->coverage);
    add_estimate(c, row->accuracy);
    add_counts(c, row->abstained_by_label, classes);
    add_counts(c, row->abstained_by_prediction, classes);
}
static void add_classes(checksum *c, const vg_evaluation *e) {
    for (size_t i = 0; i < e->classes; i++) {
        const vg_class_figures *f = &e->class_figures[i];
        add_class(c, &e->per_class[i]);
        add_estimate(c, f->recall);
        add_estimate(c, f->precision);
        add(c, f->uncertainty);
        add_count(c, f->abstained);
        add(c, f->iou);
    }
    for (size_t i = 0; e->confusion && i < e->classes * e->classes; i++)
        add_count(c, e->confusion[i]);
    for (size_t i = 0; i < e->label_count; i++) {
        const double figures[] = {e->labels[i].accuracy, e->labels[i].f1, e->labels[i].ece, e->labels[i].nll,
                                  e->labels[i].brier};
        add_class(c, &e->labels[i].positive);
        add_all(c, figures, 5);
        for (size_t m = 0; m < e->measure_count; m++)
            add_ranking(c, &e->labels[i].measures[m], e->coverage_count, e->risk_count, 0);
    }
}
static void add_bins(checksum *c, const vg_evaluation *e) {
    for (size_t b = 0; b < e->bins; b++) {
        const vg_reliability_bin *bin = &e->reliability[b];
        const double figures[] = {bin->low,    bin->high, (double)bin->count, bin->confidence, bin->accuracy,
                                  bin->square, bin->hit};
        add_all(c, figures, 7);
    }
    add(c, e->calibration.expected);
    add(c, e->calibration.p_value);
    add(c, e->calibration.debiased);
    add_count(c, e->calibration.mce_rows);
}
static void add_words(checksum *c, const vg_evaluation *e) {
    char notes[VG_MAX_NOTES][VG_NOTE_SIZE];
    vg_finding findings[VG_MAX_FINDINGS];
    size_t count = vg_evaluation_notes(notes, e);
    for (size_t i = 0; i < count; i++)
        add_text(c, notes[i]);
    count = vg_evaluation_findings(findings, e, NULL);
    for (size_t i = 0; i < count; i++) {
        add_text(c, findings[i].about);
        add_text(c, findings[i].verdict);
        add_text(c, findings[i].choice);
        add_text(c, findings[i].text);
    }
}
static void add_evaluation(checksum *c, const vg_evaluation *e) {
    const vg_estimate figures[] = {e->accuracy,  e->f1_macro, e->ece,   e->ece_adaptive, e->ece_classwise,
                                   e->mce,       e->nll,      e->brier, e->f1_micro,     e->subset_accuracy,
                                   e->ece_macro, e->miou};
    const size_t counts[] = {e->n,           e->classes,      e->rows,         e->bins,        e->coverage_count,
                             e->risk_count,  e->curve_points, e->rule_count,   e->label_count, e->errors,
                             e->lead.leader, e->lead.rival,   e->class_measure};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        add_estimate(c, figures[i]);
    add_counts(c, counts, sizeof counts / sizeof *counts);
    add_all(c, e->coverages, e->coverage_count);
    add_all(c, e->risks, e->risk_count);
    for (size_t m = 0; m < e->measure_count; m++)
        add_ranking(c, &e->measures[m], e->coverage_count, e->risk_count, e->curve_points);
    for (size_t i = 0; i < e->rule_count; i++)
        add_rule(c, &e->rule[i], e->classes);
    add_estimate(c, e->lead.difference);
    add(c, e->lead.p_value);
    add(c, e->lead.corrected);
    add_classes(c, e);
    add_bins(c, e);
    add_words(c, e);
}

static void add_tally(checksum *c, const vg_tally *tally, size_t bins) {
    vg_tally_info info = VG_TALLY_INFO_INIT;
    ok(vg_tally_describe(&info, tally));
    for (size_t i = 0; i < info.rows; i++)
        add_count(c, info.errors[i]);
    add_all(c, info.ratio, info.rows);
    add_all(c, info.class_gaps, set.classes * bins);
    add_all(c, info.label_gaps, set.classes * bins);
}

static void evaluation(checksum *c, draws *d) {
    static const size_t bins[] = {1, 5, 15, 130};
    double class_k[MOST];
    draw_set(d, once_in(d, 3));
    vg_evaluate_options o = draw_options(d);
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.task = set.multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    how.bins = bins[below(d, 4)];
    how.bootstrap = o.resamples > 0;
    how.confusion = once_in(d, 4) ? 0 : -1;
    how.expected = once_in(d, 2) ? set.n : 0;
    for (size_t i = 0; i < set.classes; i++)
        class_k[i] = 0.5 + unit(d);
    how.class_k = once_in(d, 4) ? class_k : NULL;
    bool spread = !once_in(d, 4);
    vg_tally *tally;
    vg_evaluation *e;
    ok(vg_tally_new(&tally, set.classes, &how));
    size_t cut = below(d, set.n + 1), width = set.multilabel ? set.classes : 1; /* in two pieces */
    ok(vg_tally_feed(tally, set.mean, spread ? set.std : NULL, set.labels, cut));
    ok(vg_tally_feed(tally, set.mean + cut * set.classes, spread ? set.std + cut * set.classes : NULL,
                     set.labels + cut * width, set.n - cut));
    ok(vg_evaluate(&e, tally, set.measures, below(d, MEASURES + 1), &o));
    add_tally(c, tally, how.bins);
    add_evaluation(c, e);
    vg_evaluation_free(e);
    vg_tally_free(tally);
}

/* --- rankings of measures alone */
static void ranking(checksum *c, draws *d) {
    vg_evaluate_options o = draw_options(d);
    vg_auroc_options how = VG_AUROC_OPTIONS_INIT;
    vg_ranking r;
    vg_estimate area;
    vg_auroc_comparison pair;
    double curve[40];
    draw_set(d, once_in(d, 3));
    how.confidence = o.confidence;
    how.rows_per_sample = set.multilabel ? set.classes : 1;
    size_t points = 1 + below(d, 40), m = below(d, MEASURES);
    ok(vg_rank(&r, &set.measures[m], set.errors, set.rows, &o));
    add_ranking(c, &r, o.coverages ? o.coverage_count : 3, o.risks ? o.risk_count : 2, 0);
    ok(vg_risk_coverage(curve, points, &set.measures[m], set.errors, set.rows));
    add_all(c, curve, points);
    ok(vg_auroc(&area, &set.measures[m], set.errors, set.rows, &how));
    add_estimate(c, area);
    ok(vg_auroc_compare(&pair, &set.measures[m], &set.measures[(m + 1) % MEASURES], set.errors, set.rows, &how));
    add_estimate(c, pair.first);
    add_estimate(c, pair.second);
    add_estimate(c, pair.difference);
    add(c, pair.p_value);
    double ece, mce;
    if (!set.multilabel) {
        ok(vg_calibration_error(&ece, &mce, set.mean, VG_F64, set.labels, set.n, set.classes, 1 + below(d, 30)));
        add(c, ece);
        add(c, mce);
    }
}

/* --- selections */
static void add_selection(checksum *c, const vg_selection *s) {
    const double figures[] = {s->threshold, s->coverage,    s->risk,      s->risk_bound,
                              s->level,     s->target_risk, s->confidence};
    const size_t counts[] = {
        (size_t)s->met,    s->rows,         s->kept,   s->errors,     s->grid_count, s->starts, s->samples,
        s->answered,       s->set_aside,    s->tested, s->candidates, s->needed,     s->fewest, (size_t)s->multiplicity,
        (size_t)s->source, (size_t)s->bound};
    char reason[200];
    add_all(c, figures, 7);
    add_counts(c, counts, sizeof counts / sizeof *counts);
    vg_selection_reason(reason, sizeof reason, s);
    add_text(c, reason);
}

static vg_select_options draw_selection(draws *d, size_t *samples) {
    static const double grid[] = {0.9, 0.1, 0.3, 0.5, 2, 0.7, 0.2};
    vg_select_options o = VG_SELECT_OPTIONS_INIT;
    o.target_risk = 0.03 + 0.4 * unit(d);
    if (once_in(d, 4))
        o.target_coverage = 0.05 + 0.9 * unit(d), o.target_risk = 0;
    o.confidence = once_in(d, 2) ? 0.95 : 0.7;
    o.grid_count = once_in(d, 2) ? 0 : 1 + below(d, 60);
    if (once_in(d, 3))
        o.grid = grid, o.grid_count = 1 + below(d, 7);
    o.multiplicity = (vg_multiplicity)below(d, 4);
    o.starts = once_in(d, 2) ? 0 : 1 + below(d, 4);
    o.rows_per_sample = set.multilabel ? set.classes : 0;
    for (size_t i = 0; i < set.rows; i++)
        samples[i] = below(d, 1 + set.rows / 2);
    if (once_in(d, 5))
        o.sample_of_row = samples, o.rows_per_sample = 0;
    o.set_aside = once_in(d, 3) ? 1 + below(d, 20) : 0;
    o.seed = below(d, 100);
    return o;
}

/* A selection that is refused (too few samples, ...) counts by its message. */
static void add_answer(checksum *c, vg_status status, const vg_selection *s) {
    add_count(c, status);
    if (status == VG_OK)
        add_selection(c, s);
    else
        add_text(c, vg_error_message());
}

static void selection(checksum *c, draws *d) {
    static size_t samples[PLACES];
    draw_set(d, once_in(d, 3));
    vg_select_options o = draw_selection(d, samples);
    const vg_measure *m = &set.measures[below(d, MEASURES)];
    if (!o.grid && once_in(d, 3))
        o.unlabelled = set.ratio, o.unlabelled_rows = set.rows - set.rows / 3, o.unlabelled_stride = 1;
    vg_selection s = VG_SELECTION_INIT;
    add_answer(c, vg_select_k(&s, set.ratio, set.errors, set.rows, &o), &s);
    o.unlabelled = NULL;
    s = (vg_selection)VG_SELECTION_INIT;
    add_answer(c, vg_select_threshold(&s, m, set.errors, set.rows, &o), &s);
    vg_candidate list[MEASURES + 1] = {{.measure = {"k", set.ratio, 1, 1}, .rule = 1, .errors = set.errors}};
    for (size_t i = 0; i < MEASURES; i++)
        list[1 + i] = (vg_candidate){.measure = set.measures[i], .errors = set.errors};
    list[2].unlabelled = set.measures[1].values;
    list[2].unlabelled_rows = set.rows;
    list[2].unlabelled_stride = set.measures[1].stride;
    o.grid = NULL;
    s = (vg_selection)VG_SELECTION_INIT;
    size_t chosen = 0;
    add_answer(c, vg_select_among(&s, &chosen, list, 1 + below(d, MEASURES + 1), set.rows, &o), &s);
    add_count(c, chosen);
}

/* --- detection of OOD samples */
static void detection(checksum *c, draws *d) {
    static double id_values[PLACES * MEASURES];
    vg_measure id[MEASURES];
    vg_ood_row rows[MEASURES];
    vg_ood_options o = VG_OOD_OPTIONS_INIT;
    draw_set(d, false);
    size_t id_rows = set.rows;
    memcpy(id_values, set.values, sizeof id_values);
    for (size_t m = 0; m < MEASURES; m++) {
        id[m] = set.measures[m];
        id[m].values = id_values + (set.measures[m].values - set.values);
    }
    draw_set(d, false);
    o.resamples = once_in(d, 2) ? 0 : 5 + below(d, 40);
    o.confidence = 0.5 + unit(d) / 2.1;
    o.seed = below(d, 100);
    o.threads = 1 + (unsigned)below(d, 3);
    ok(vg_ood_evaluate(rows, id, id_rows, set.measures, set.rows, MEASURES, &o));
    for (size_t m = 0; m < MEASURES; m++) {
        add_text(c, rows[m].name);
        add_estimate(c, rows[m].auroc);
        add_estimate(c, rows[m].aupr_out);
        add_estimate(c, rows[m].aupr_in);
        add_estimate(c, rows[m].fpr95);
        add_estimate(c, rows[m].detection_error);
    }
}

/* --- prediction sets */
static const double some_alphas[] = {0.1, 0.02, 0.3, 0.5, 0.25};

static vg_sets_options draw_sets(draws *d) {
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    o.score = (vg_set_score)(set.multilabel ? 0 : below(d, 7));
    o.by = (vg_set_by)(set.multilabel || once_in(d, 2) ? 0 : below(d, 4));
    o.alphas = some_alphas + below(d, 2);
    o.alpha_count = 1 + below(d, 4);
    o.gate = once_in(d, 3) && !set.multilabel && o.score != VG_SET_SNR ? 0.5 + unit(d) : (double)NAN;
    bool tuned = once_in(d, 2);
    o.lambda = tuned || (o.score != VG_SET_RAPS && o.score != VG_SET_SAPS) ? (double)NAN : 0.1 * unit(d);
    o.k_reg = tuned || o.score != VG_SET_RAPS ? (double)NAN : (double)below(d, 4);
    o.never_empty = (int)below(d, 2);
    bool has_u = o.score == VG_SET_APS || o.score == VG_SET_RAPS || o.score == VG_SET_SAPS;
    o.randomise = has_u ? (int)below(d, 3) - 1 : -1;
    o.p_values = !set.multilabel && once_in(d, 3);
    o.seed = below(d, 100);
    return o;
}

static void add_figures(checksum *c, const vg_set_figures *f) {
    const vg_estimate figures[] = {f->coverage,           f->mean_size, f->median_size,
                                   f->singletons,         f->empty,     f->worst_class_coverage,
                                   f->singleton_accuracy, f->risk};
    add(c, f->alpha);
    add_count(c, f->samples);
    add_count(c, f->labelled);
    for (size_t i = 0; i < 8; i++)
        add_estimate(c, figures[i]);
    add_count(c, f->worst_class % 1000);
    add(c, f->expected_low);
    add(c, f->expected_high);
    for (size_t i = 0; i < f->stratum_count; i++) {
        const vg_set_stratum *s = &f->strata[i];
        const size_t counts[] = {s->low, s->high % 1000, (size_t)s->samples, (size_t)s->covered};
        add_counts(c, counts, 4);
        add_estimate(c, s->coverage);
    }
}

static void add_sets(checksum *c, const vg_sets *s) {
    const double figures[] = {s->gate, s->lambda, s->k_reg, s->confidence};
    const size_t counts[] = {s->members, s->classes, s->calibrated, s->tuned, s->cell_count, (size_t)s->randomised};
    add_all(c, figures, 4);
    add_counts(c, counts, 6);
    add_all(c, s->thresholds, s->thresholds ? s->alpha_count * s->cell_count : 0);
    add_counts(c, s->cell_samples, s->cell_count);
    add_all(c, s->lambdas, s->alpha_count);
    add_all(c, s->k_regs, s->alpha_count);
    for (size_t a = 0; s->figures && a < s->alpha_count; a++)
        add_figures(c, &s->figures[a]);
}

static void add_places(checksum *c, const vg_set_places *places, size_t n, size_t alphas) {
    size_t width = set.multilabel ? set.classes : 1;
    for (size_t i = 0; i < n * alphas * ((set.classes + 7) / 8); i++)
        add_count(c, places->mask[i]);
    for (size_t i = 0; i < n * alphas; i++)
        add_count(c, (unsigned)places->size[i]);
    for (size_t i = 0; i < n * width; i++)
        add_count(c, (unsigned)places->pred[i]);
    add_all(c, places->p_value, n * set.classes);
    add_all(c, places->value, n * set.classes);
}

static void prediction_sets(checksum *c, draws *d) {
    static const char *const names[] = {"north", "east", "south", "west"};
    static const char *groups[ROWS];
    static uint8_t mask[PLACES * 5];
    static int32_t size[ROWS * 5], pred[PLACES];
    static double p_value[PLACES], value[PLACES];
    static float narrow[PLACES];
    draw_set(d, once_in(d, 5));
    size_t half = set.n / 2, width = set.multilabel ? set.classes : 1, m = set.n > 1 ? 1 + below(d, 2) : 1;
    vg_sets_options o = draw_sets(d);
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    scoring.task = set.multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    scoring.threads = 1 + (unsigned)below(d, 3);
    o.scoring = &scoring;
    for (size_t i = 0; i < set.n; i++)
        groups[i] = names[below(d, i < half ? 3 : 4)];
    for (size_t i = 0; i < set.n * set.classes; i++)
        narrow[i] = (float)set.mean[i];
    /* Members are consecutive rows. */
    size_t n = half / m;
    bool floats = once_in(d, 2);
    vg_predictions first =
        floats ? vg_predictions_f32(narrow, n, m, set.classes) : vg_predictions_f64(set.mean, n, m, set.classes);
    vg_predictions rest = floats ? vg_predictions_f32(narrow + n * m * set.classes, n, m, set.classes)
                                 : vg_predictions_f64(set.mean + n * m * set.classes, n, m, set.classes);
    const char *const *of_rows = o.by == VG_SETS_BY_GROUP ? groups : NULL;
    vg_set_places places = VG_SET_PLACES_INIT;
    places.mask = mask, places.size = size, places.pred = pred, places.value = once_in(d, 2) ? value : NULL;
    places.p_value = o.p_values ? p_value : NULL;
    vg_sets *sets;
    ok(vg_sets_new(&sets, &o));
    vg_status status = vg_sets_feed(sets, NULL, &first, set.labels, of_rows);
    if (status == VG_OK)
        status = vg_sets_feed(sets, &places, &rest, once_in(d, 4) ? NULL : set.labels + n * width,
                              of_rows ? groups + n : NULL);
    add_count(c, status);
    if (status == VG_OK) {
        add_places(c, &places, n, o.alpha_count);
        add_sets(c, sets);
    } else {
        add_text(c, vg_error_message());
    }
    vg_sets_free(sets);
}

/* --- many rows */
enum { MANY = 70000 };

/* Values in one of several patterns: spread evenly or over many powers, few or two or all equal, rising. */
static void draw_column(draws *d, double *values, size_t rows) {
    size_t pattern = below(d, 6);
    for (size_t i = 0; i < rows; i++) {
        double u = unit(d);
        const double kinds[] = {u, exp(60 * u - 50), floor(u * 40), u < 0.7 ? 1 : 2, 5, (double)i};
        values[i] = kinds[pattern];
    }
}

static void many_rows(checksum *c, draws *d) {
    static const size_t sizes[] = {1500, 5000, 20000, MANY};
    static double columns[2][MANY], curve[50];
    static uint8_t errors[MANY];
    vg_evaluate_options o = draw_options(d);
    vg_measure m[2] = {{"tu", columns[0], 1, 0}, {"snr", columns[1], 1, 1}};
    vg_ranking r;
    vg_auroc_comparison pair;
    vg_ood_row rows[2];
    size_t n = sizes[below(d, 4)], rare = 2 + below(d, 30);
    draw_column(d, columns[0], n);
    draw_column(d, columns[1], n);
    for (size_t i = 0; i < n; i++)
        errors[i] = once_in(d, rare);
    for (size_t i = 0; i < 2; i++) {
        ok(vg_rank(&r, &m[i], errors, n, &o));
        add_ranking(c, &r, o.coverages ? o.coverage_count : 3, o.risks ? o.risk_count : 2, 0);
        ok(vg_risk_coverage(curve, 50, &m[i], errors, n));
        add_all(c, curve, 50);
    }
    ok(vg_auroc_compare(&pair, &m[0], &m[1], errors, n, NULL));
    add_estimate(c, pair.first);
    add_estimate(c, pair.second);
    add_estimate(c, pair.difference);
    add(c, pair.p_value);
    vg_measure other[2] = {{"tu", columns[1], 1, 0}, {"snr", columns[0], 1, 1}};
    ok(vg_ood_evaluate(rows, m, n, other, n / 2, 2, NULL));
    for (size_t i = 0; i < 2; i++) {
        add(c, rows[i].auroc.value);
        add(c, rows[i].aupr_out.value);
        add(c, rows[i].aupr_in.value);
        add(c, rows[i].fpr95.value);
        add(c, rows[i].detection_error.value);
    }
}

/* Sets of many samples, read where they lie. */
static void many_sets(checksum *c, draws *d) {
    static const size_t classes[] = {2, 3, 10, 16, 17, 33, 130};
    static float p[MANY * 10];
    static int64_t labels[MANY];
    static uint8_t mask[MANY * 5];
    static int32_t size[MANY], pred[MANY];
    size_t C = classes[below(d, 7)], n = MANY / 10 * 10 / C > 2600 ? 2600 : MANY / C, half = n / 2;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        size_t top = below(d, C);
        for (size_t j = 0; j < C; j++)
            sum += p[i * C + j] = (float)(1 + below(d, 64) + (j == top ? 30 * C : 0));
        for (size_t j = 0; j < C; j++)
            p[i * C + j] /= (float)sum;
        labels[i] = (int64_t)(once_in(d, 4) ? below(d, C) : top);
    }
    set.classes = C, set.multilabel = false;
    vg_sets_options o = draw_sets(d);
    o.by = o.by == VG_SETS_BY_GROUP ? VG_SETS_BY_CLASS : o.by;
    o.p_values = 0;
    bool plain = once_in(d, 2);
    if (plain)
        o.score = VG_SET_LAC, o.by = VG_SETS_BY_NONE, o.gate = NAN, o.randomise = -1, o.never_empty = 0;
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    scoring.threads = 1 + (unsigned)below(d, 3);
    o.scoring = &scoring;
    if (o.score != VG_SET_RAPS && o.score != VG_SET_SAPS)
        o.lambda = o.k_reg = NAN;
    vg_predictions first = vg_predictions_f32(p, half, 1, C), rest = vg_predictions_f32(p + half * C, n - half, 1, C);
    vg_set_places places = VG_SET_PLACES_INIT;
    places.mask = mask, places.size = size, places.pred = !plain && once_in(d, 2) ? pred : NULL;
    vg_sets *sets;
    ok(vg_sets_new(&sets, &o));
    ok(vg_sets_feed(sets, NULL, &first, labels, NULL));
    ok(vg_sets_feed(sets, &places, &rest, labels + half, NULL));
    for (size_t i = 0; i < (n - half) * o.alpha_count; i++)
        add_count(c, (unsigned)size[i]);
    for (size_t i = 0; i < (n - half) * o.alpha_count * ((C + 7) / 8); i += 3)
        add_count(c, mask[i]);
    for (size_t i = 0; places.pred && i < n - half; i++)
        add_count(c, (unsigned)pred[i]);
    add_sets(c, sets);
    vg_sets_free(sets);
}

#define KIND(name)                                                                                                     \
    { #name, name, pinned_##name, sizeof pinned_##name / sizeof *pinned_##name }
static const pinned_kind kinds[] = {KIND(evaluation),      KIND(ranking),   KIND(selection), KIND(detection),
                                    KIND(prediction_sets), KIND(many_rows), KIND(many_sets)};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void compare_kind(void **state) { compare_cases(*state); }

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && strcmp(argv[1], "--write") == 0 && i < KINDS; i++)
        write_cases(&kinds[i]);
    if (argc > 1)
        return 0;
    struct CMUnitTest tests[KINDS];
    for (size_t i = 0; i < KINDS; i++)
        tests[i] = (struct CMUnitTest){kinds[i].name, compare_kind, NULL, NULL, (void *)(uintptr_t)&kinds[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
