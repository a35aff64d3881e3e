/* test_evaluate_bootstrap.c - the weighted rankings of the bootstrap against the direct computation: each resample
 * is written out row by row and evaluated like any data set. The same seed gives the same bits at any thread count,
 * and intervals contain their figure. Figures whose interval does not come from resamples: test_evaluate_calibration.c,
 * test_evaluate_auroc.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/distributions.h"
#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "vargate/evaluate.h"

enum { N = 160, C = 4, R = 21, MEASURES = 3, FIGURES = 11 + MEASURES * 10 + 6 };

typedef struct world {
    size_t n;
    vg_task task;
    double mean[N * C], std[N * C], u[N * C * MEASURES];
    int64_t labels[N * C];
} world;

static void make(world *w, vg_task task) {
    vg_random random = vg_random__start(5, task);
    w->n = N;
    w->task = task;
    for (size_t i = 0; i < N * C; i++) {
        w->mean[i] = floor(40 * pow(vg_random__unit(&random), 2) + 1) / 41; /* coarse: ties */
        w->std[i] = .3 * vg_random__unit(&random);
        for (size_t m = 0; m < MEASURES; m++)
            w->u[i * MEASURES + m] = m ? floor(9 * vg_random__unit(&random)) : w->mean[i] + vg_random__unit(&random);
    }
    for (size_t i = 0; i < N; i++) {
        double sum = 0, pick = vg_random__unit(&random);
        for (size_t c = 0; c < C; c++)
            sum += w->mean[i * C + c];
        for (size_t c = 0; task == VG_TASK_MULTICLASS && c < C; c++)
            w->mean[i * C + c] /= sum;
        size_t label = 0;
        for (; label < C - 1 && pick > w->mean[i * C + label]; label++)
            pick -= w->mean[i * C + label];
        if (task == VG_TASK_MULTICLASS)
            w->labels[i] = (int64_t)label;
        for (size_t c = 0; task != VG_TASK_MULTICLASS && c < C; c++)
            w->labels[i * C + c] = vg_random__unit(&random) < w->mean[i * C + c];
    }
}

/* Sample `from` of a becomes sample `to` of b. */
static void copy_sample(world *b, size_t to, const world *a, size_t from) {
    size_t width = a->task == VG_TASK_MULTICLASS ? 1 : C;
    memcpy(b->mean + to * C, a->mean + from * C, C * sizeof(double));
    memcpy(b->std + to * C, a->std + from * C, C * sizeof(double));
    memcpy(b->labels + to * width, a->labels + from * width, width * sizeof(int64_t));
    memcpy(b->u + to * width * MEASURES, a->u + from * width * MEASURES, width * MEASURES * sizeof(double));
}

static vg_evaluation *evaluate(const world *w, size_t resamples, unsigned threads) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = w->task;
    options.bootstrap = resamples > 0;
    options.bins = 7;
    vg_evaluate_options evaluate = VG_EVALUATE_OPTIONS_INIT;
    evaluate.resamples = resamples;
    evaluate.threads = threads;
    evaluate.seed = 42;
    evaluate.confidence = .8;
    vg_measure measures[MEASURES] = {
        {"a", w->u, MEASURES, 0}, {"b", w->u + 1, MEASURES, 0}, {"c", w->u + 2, MEASURES, 1}};
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, C, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, w->mean, w->std, w->labels, w->n), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, measures, MEASURES, &evaluate), VG_OK);
    vg_tally_free(tally);
    return e;
}

/* Every estimate of an evaluation in a fixed order. */
static void estimates(const vg_estimate **out, const vg_evaluation *e) {
    const vg_estimate *first[] = {&e->accuracy, &e->f1_macro, &e->ece,   &e->ece_adaptive, &e->ece_classwise,
                                  &e->mce,      &e->nll,      &e->brier, &e->f1_micro,     &e->subset_accuracy,
                                  &e->ece_macro};
    for (size_t i = 0; i < 11; i++)
        *out++ = first[i];
    for (size_t m = 0; m < MEASURES; m++) {
        const vg_ranking *r = &e->measures[m];
        const vg_estimate *all[] = {&r->aurc,           &r->eaurc,         &r->augrc,      &r->error_auroc,
                                    &r->error_aupr,     &r->risk_at[0],    &r->risk_at[1], &r->risk_at[2],
                                    &r->coverage_at[0], &r->coverage_at[1]};
        for (size_t i = 0; i < 10; i++)
            *out++ = all[i];
    }
    for (size_t j = 0; j < 3; j++) {
        *out++ = &e->rule[j].coverage;
        *out++ = &e->rule[j].accuracy;
    }
}

/* How figure f's interval is made of its resamples, and its events: rows of a share, or errors. */
static vg_interval_kind kind_of(double *events, size_t f, const vg_evaluation *e) {
    static const vg_interval_kind kinds[128] = {
        ['a'] = VG_INTERVAL_AREA, ['l'] = VG_INTERVAL_LOG, ['o'] = VG_INTERVAL_LOGIT, ['s'] = VG_INTERVAL_SHARE};
    static const char whole[] = "so....llos.", ranking[] = "aaa.osss.."; /* area, log, logit, share, none */
    static const double coverages[] = {.8, .9, .95};
    *events = (double)e->errors;
    if (f < 11) {
        if (whole[f] == 's')
            *events = (double)(f == 0 ? e->rows : e->n);
        return kinds[(size_t)whole[f]];
    }
    f -= 11;
    if (f < MEASURES * 10) {
        if (ranking[f % 10] == 's')
            *events = ceil(coverages[f % 10 - 5] * (double)e->rows - 1e-6);
        return kinds[(size_t)ranking[f % 10]];
    }
    f -= MEASURES * 10;
    *events = (double)(f % 2 ? e->rule[f / 2].kept : e->rule[f / 2].rows);
    return VG_INTERVAL_SHARE;
}

/* What one more error in a row drawn at random adds to AURC, E-AURC (0, 1) or AUGRC (2) of N samples. */
static void unseen_error(vg_interval_rule *rule, size_t f) {
    bool augrc = (f - 11) % 10 == 2;
    rule->unseen_mean = (augrc ? .5 : 1) / N;
    rule->unseen_square = (augrc ? 1. / 3 : 2) / ((double)N * N);
}

static void against_written_out(vg_task task) {
    static world w, resampled;
    static double values[FIGURES][R], weights[N * VG_LANES];
    const vg_estimate *one[FIGURES];
    make(&w, task);
    for (size_t r = 0; r < R; r++) {
        vg_evaluate__weights(weights, N, 42, 0, r / VG_LANES * VG_LANES, NULL, 0);
        resampled.task = task;
        resampled.n = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t copies = (size_t)weights[i * VG_LANES + r % VG_LANES]; copies > 0; copies--)
                copy_sample(&resampled, resampled.n++, &w, i);
        assert_int_equal(resampled.n, N);
        vg_evaluation *e = evaluate(&resampled, 0, 1);
        estimates(one, e);
        for (size_t f = 0; f < FIGURES; f++)
            values[f][r] = one[f]->value;
        vg_evaluation_free(e);
    }
    vg_evaluation *e = evaluate(&w, R, 2);
    estimates(one, e);
    for (size_t f = 0; f < FIGURES; f++) {
        vg_estimate expected = {one[f]->value, 0, 0};
        double events;
        vg_interval_kind kind = kind_of(&events, f, e);
        if (kind == VG_INTERVAL_NONE)
            continue;
        vg_interval_rule rule = {kind, events, 0, 0};
        if (kind == VG_INTERVAL_AREA)
            unseen_error(&rule, f);
        vg_evaluate__interval(&expected, &rule, values[f], R, .8);
        if (isnan(expected.low) && isnan(one[f]->low) && isnan(one[f]->high))
            continue;
        if (!(fabs(expected.low - one[f]->low) <= 1e-11 && fabs(expected.high - one[f]->high) <= 1e-11))
            fail_msg("figure %zu: [%.12g, %.12g], expected [%.12g, %.12g]", f, one[f]->low, one[f]->high, expected.low,
                     expected.high);
    }
    for (size_t f = 0; f < FIGURES; f++)
        assert_true(isnan(one[f]->low) || (one[f]->low <= one[f]->value && one[f]->value <= one[f]->high));
    assert_true(isnan(e->mce.low) && isnan(e->ece_adaptive.low) && isnan(e->ece_classwise.low) &&
                isnan(e->ece_macro.low));
    assert_true(e->ece.low <= e->ece.value && e->ece.value <= e->ece.high);
    vg_evaluation_free(e);
}

static void test_multiclass(void **state) {
    (void)state;
    against_written_out(VG_TASK_MULTICLASS);
}

static void test_multilabel(void **state) {
    (void)state;
    against_written_out(VG_TASK_MULTILABEL);
}

static void test_threads(void **state) {
    (void)state;
    static world w;
    make(&w, VG_TASK_MULTICLASS);
    const vg_estimate *a[FIGURES], *b[FIGURES];
    vg_evaluation *base = evaluate(&w, 50, 1);
    estimates(a, base);
    for (unsigned threads = 2; threads < 6; threads++) {
        vg_evaluation *e = evaluate(&w, 50, threads);
        estimates(b, e);
        for (size_t f = 0; f < FIGURES; f++)
            assert_memory_equal(a[f], b[f], sizeof(vg_estimate));
        vg_evaluation_free(e);
    }
    vg_evaluation_free(base);
}

/* Resamples without the figure are left out. */
static void test_interval(void **state) {
    (void)state;
    double none[] = {NAN, NAN};
    vg_estimate e = {3, 0, 0};
    vg_evaluate__interval(&e, &(vg_interval_rule){VG_INTERVAL_LOG, 3, 0, 0}, none, 2, .9);
    assert_true(isnan(e.low) && isnan(e.high));
    /* logarithms 0, 1, 2 spread by 1; t of 2 degrees at .975 is 4.302653 */
    double powers[] = {1, NAN, exp(1), exp(2)};
    e = (vg_estimate){exp(1), 0, 0};
    vg_evaluate__interval(&e, &(vg_interval_rule){VG_INTERVAL_LOG, 3, 0, 0}, powers, 4, .95);
    assert_true(fabs(log(e.high) - 5.302653) < 1e-6 && fabs(log(e.low) + 3.302653) < 1e-6);
    double odds[] = {.5, 1 / (1 + exp(-1)), 1 / (1 + exp(1))};
    e = (vg_estimate){.5, 0, 0};
    vg_evaluate__interval(&e, &(vg_interval_rule){VG_INTERVAL_LOGIT, 3, 0, 0}, odds, 3, .95);
    assert_true(fabs(log(e.high / (1 - e.high)) - 4.302653) < 1e-6 && fabs(e.low + e.high - 1) < 1e-12);
    double few[] = {.4, .5, .6};
    e.value = .5;
    vg_evaluate__interval(&e, &(vg_interval_rule){VG_INTERVAL_LOGIT, 2, 0, 0}, few, 3, .95);
    assert_true(isnan(e.low)); /* two errors do not determine their spread */
    /* An area counts one error more above: logit(.5) + t sqrt(.01 + .03) / (.5 * .5) where resamples spread by .1. */
    double areas[] = {.2, .3, .4};
    e = (vg_estimate){.3, 0, 0};
    vg_evaluate__interval(&e, &(vg_interval_rule){VG_INTERVAL_AREA, 3, .2, .03}, areas, 3, .95);
    assert_true(fabs(log(e.high / (1 - e.high)) - 4.302653 * .2 / .25) < 1e-5 && e.low > 0 && e.low < .3);
    assert_true(fabs(vg_base__normal_quantile(.975) - 1.959963984540054) < 1e-12);
    assert_true(fabs(vg_base__t_quantile(.05, 10) + 1.812461) < 1e-6);
}

/* Clopper-Pearson of 2 in 20 is .01235 .. .31698; of 0 in 20 it ends at 1 - .025^(1/20). A variance twice the
 * binomial's halves the sample, one below it changes nothing. */
static void test_share(void **state) {
    (void)state;
    vg_estimate e = {.1, 0, 0}, half = {.1, 0, 0};
    vg_evaluate__share_interval(&e, 20, 0, .95);
    assert_true(fabs(e.low - .0123485) < 1e-6 && fabs(e.high - .3169827) < 1e-6);
    vg_evaluate__share_interval(&half, 40, 2 * .1 * .9 / 40, .95);
    assert_true(fabs(half.low - e.low) < 1e-12 && fabs(half.high - e.high) < 1e-12);
    vg_evaluate__share_interval(&half, 20, .5 * .1 * .9 / 20, .95);
    assert_true(half.low == e.low && half.high == e.high);
    e.value = 0;
    vg_evaluate__share_interval(&e, 20, 0, .95);
    assert_true(e.low == 0 && fabs(e.high - (1 - pow(.025, 1. / 20))) < 1e-12);
    e.value = 1;
    vg_evaluate__share_interval(&e, 20, 0, .95);
    assert_true(e.high == 1 && fabs(e.low - pow(.025, 1. / 20)) < 1e-12);
}

/* Accuracy of 400 samples: the interval is near value +- 1.96 sqrt(p (1 - p) / n). OOD intervals hold their value
 * likewise. */
static void test_width(void **state) {
    (void)state;
    enum { ROWS = 400 };
    static double mean[ROWS * 2];
    static int64_t labels[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        mean[2 * i] = .9;
        mean[2 * i + 1] = .1;
        labels[i] = i % 5 == 0;
    }
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.bootstrap = 1;
    vg_evaluate_options evaluate_options = VG_EVALUATE_OPTIONS_INIT;
    evaluate_options.resamples = 2000;
    vg_tally *tally;
    vg_evaluation *e;
    assert_int_equal(vg_tally_new(&tally, 2, &options), VG_OK);
    assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, ROWS), VG_OK);
    assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &evaluate_options), VG_OK);
    double half = 1.96 * sqrt(.8 * .2 / ROWS);
    assert_true(fabs(e->accuracy.low - (.8 - half)) < .006 && fabs(e->accuracy.high - (.8 + half)) < .006);
    vg_evaluation_free(e);
    vg_tally_free(tally);

    static double id[300], ood[200];
    vg_random random = vg_random__start(8, 8);
    for (size_t i = 0; i < 300; i++)
        id[i] = vg_random__normal(&random);
    for (size_t i = 0; i < 200; i++)
        ood[i] = vg_random__normal(&random) + 1;
    vg_measure a = {"tu", id, 1, 0}, b = {"tu", ood, 1, 0};
    vg_ood_options ood_options = VG_OOD_OPTIONS_INIT;
    ood_options.resamples = 1000;
    vg_ood_row one, two;
    ood_options.threads = 1;
    assert_int_equal(vg_ood_evaluate(&one, &a, 300, &b, 200, 1, &ood_options), VG_OK);
    ood_options.threads = 3;
    assert_int_equal(vg_ood_evaluate(&two, &a, 300, &b, 200, 1, &ood_options), VG_OK);
    assert_memory_equal(&one, &two, sizeof one);
    assert_true(one.auroc.low < one.auroc.value && one.auroc.value < one.auroc.high);
    /* Hanley and McNeil's standard error at AUROC .76 with 300 and 200 is .022. */
    double width = (one.auroc.high - one.auroc.low) / (2 * 1.96);
    assert_true(width > .018 && width < .026);
    assert_true(one.fpr95.low <= one.fpr95.value && one.fpr95.value <= one.fpr95.high);
}

/* Labels that repeat each other tell no more than one of them: intervals do not narrow with their number. */
static void test_repeated_labels(void **state) {
    (void)state;
    enum { ROWS = 300, MOST = 6 };
    static double mean[ROWS * MOST], u[ROWS * MOST];
    static int64_t labels[ROWS * MOST];
    vg_estimate found[2];
    for (size_t classes = 2; classes <= MOST; classes += MOST - 2) {
        vg_random random = vg_random__start(12, 0);
        for (size_t i = 0; i < ROWS; i++) {
            double own = vg_random__unit(&random);
            bool wrong = vg_random__unit(&random) < own * own / 4;
            for (size_t j = i * classes; j < (i + 1) * classes; j++) {
                u[j] = own;
                mean[j] = .8;
                labels[j] = !wrong;
            }
        }
        vg_tally_options options = VG_TALLY_OPTIONS_INIT;
        options.task = VG_TASK_MULTILABEL;
        options.bootstrap = 1;
        vg_evaluate_options evaluate_options = VG_EVALUATE_OPTIONS_INIT;
        evaluate_options.resamples = 400;
        vg_measure measure = {"u", u, 1, 0};
        vg_tally *tally;
        vg_evaluation *e;
        assert_int_equal(vg_tally_new(&tally, classes, &options), VG_OK);
        assert_int_equal(vg_tally_feed(tally, mean, NULL, labels, ROWS), VG_OK);
        assert_int_equal(vg_evaluate(&e, tally, &measure, 1, &evaluate_options), VG_OK);
        found[classes == MOST] = e->measures[0].coverage_at[1]; /* at a risk of 5 % */
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
    assert_true(fabs(found[0].value - found[1].value) < .01);
    assert_true(fabs(found[0].low - found[1].low) < .03 && fabs(found[0].high - found[1].high) < .03);
    assert_true(found[0].low > .4 && found[0].high < 1); /* 300 samples tell something */
}

/* OOD intervals against resamples written out, values coarse enough to tie within and across the sides. */
static void test_ood(void **state) {
    (void)state;
    enum { ID = 70, OOD = 45 };
    static double id[ID], ood[OOD], id_again[ID], ood_again[OOD], values[5][R], id_weights[ID * VG_LANES],
        ood_weights[OOD * VG_LANES];
    vg_random random = vg_random__start(31, 0);
    for (size_t i = 0; i < ID; i++)
        id[i] = floor(12 * vg_random__unit(&random));
    for (size_t i = 0; i < OOD; i++)
        ood[i] = floor(12 * vg_random__unit(&random) + 4) + (i % 3 ? 0 : .25 * vg_random__unit(&random));
    vg_measure a = {"tu", id_again, 1, 0}, b = {"tu", ood_again, 1, 0};
    vg_ood_row row;
    for (size_t r = 0; r < R; r++) {
        vg_evaluate__weights(id_weights, ID, 9, 0, r / VG_LANES * VG_LANES, NULL, 0);
        vg_evaluate__weights(ood_weights, OOD, 9, (uint64_t)1 << 32, r / VG_LANES * VG_LANES, NULL, 0);
        size_t n = 0, o = 0;
        for (size_t i = 0; i < ID; i++)
            for (double w = id_weights[i * VG_LANES + r % VG_LANES]; w > 0; w--)
                id_again[n++] = id[i];
        for (size_t i = 0; i < OOD; i++)
            for (double w = ood_weights[i * VG_LANES + r % VG_LANES]; w > 0; w--)
                ood_again[o++] = ood[i];
        assert_true(n == ID && o == OOD);
        assert_int_equal(vg_ood_evaluate(&row, &a, ID, &b, OOD, 1, NULL), VG_OK);
        const double one[] = {row.auroc.value, row.aupr_out.value, row.aupr_in.value, row.fpr95.value,
                              row.detection_error.value};
        for (size_t f = 0; f < 5; f++)
            values[f][r] = one[f];
    }
    vg_ood_options options = VG_OOD_OPTIONS_INIT;
    options.resamples = R;
    options.seed = 9;
    options.confidence = .8;
    a.values = id;
    b.values = ood;
    assert_int_equal(vg_ood_evaluate(&row, &a, ID, &b, OOD, 1, &options), VG_OK);
    const vg_estimate found[] = {row.auroc, row.aupr_out, row.aupr_in, row.fpr95, row.detection_error};
    static const vg_interval_kind kinds[] = {VG_INTERVAL_NONE, VG_INTERVAL_LOGIT, VG_INTERVAL_LOGIT, VG_INTERVAL_SHARE,
                                             VG_INTERVAL_NONE};
    assert_true(isnan(row.detection_error.low) && isnan(row.detection_error.high));
    for (size_t f = 1; f < 4; f++) {
        vg_estimate expected = {found[f].value, 0, 0};
        vg_interval_rule rule = {kinds[f], kinds[f] == VG_INTERVAL_SHARE ? ID : OOD, 0, 0};
        vg_evaluate__interval(&expected, &rule, values[f], R, .8);
        if (!(fabs(expected.low - found[f].low) < 1e-12 && fabs(expected.high - found[f].high) < 1e-12))
            fail_msg("figure %zu: [%.12g, %.12g], expected [%.12g, %.12g]", f, found[f].low, found[f].high,
                     expected.low, expected.high);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multiclass), cmocka_unit_test(test_multilabel),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_interval),   cmocka_unit_test(test_share),           cmocka_unit_test(test_width),
        cmocka_unit_test(test_ood),        cmocka_unit_test(test_repeated_labels),
    };
    return cmocka_run_group_tests_name("evaluate: bootstrap", tests, NULL, NULL);
}
