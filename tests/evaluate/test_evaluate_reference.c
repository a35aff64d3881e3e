/* test_evaluate_reference.c - every metric against the values scikit-learn, SciPy and NumPy gave
 * (tests/data/evaluate, with the script that made them). */
#include <jansson.h>
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
#include "evaluate/bounds.h"
#include "vargate/evaluate.h"

static json_t *values;

static int load(void **state) {
    (void)state;
    json_error_t error;
    values = json_load_file("tests/data/evaluate/values.json", 0, &error);
    return values ? 0 : -1;
}

static int unload(void **state) {
    (void)state;
    json_decref(values);
    return 0;
}

static void *room(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

/* Numbers of a nested array, flattened; the caller frees. */
static void flatten(const json_t *array, double **out, size_t *count, size_t *capacity) {
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)array, i, item) {
        if (json_is_array(item)) {
            flatten(item, out, count, capacity);
            continue;
        }
        if (*count == *capacity) {
            *capacity = *capacity * 2 + 64;
            *out = realloc(*out, *capacity * sizeof **out);
            assert_non_null(*out);
        }
        (*out)[(*count)++] = json_number_value(item);
    }
}

static double *numbers(const json_t *array, size_t *count) {
    double *out = NULL;
    size_t capacity = 0;
    *count = 0;
    assert_true(json_is_array(array));
    flatten(array, &out, count, &capacity);
    return out;
}

static int64_t *integers(const json_t *array, size_t *count) {
    double *x = numbers(array, count);
    int64_t *out = room(*count, sizeof *out);
    for (size_t i = 0; i < *count; i++)
        out[i] = (int64_t)x[i];
    free(x);
    return out;
}

/* null stands for NaN. */
static void close_to(double found, const json_t *expected, double tolerance, const char *where, const char *what) {
    assert_non_null(expected);
    bool same = json_is_null(expected) ? isnan(found) : fabs(found - json_number_value(expected)) <= tolerance;
    if (!same)
        fail_msg("%s: %s is %.17g, expected %.17g", where, what, found, json_number_value(expected));
}

static void check_ranking(const vg_ranking *r, const json_t *expected, const char *where) {
    close_to(r->aurc.value, json_object_get(expected, "aurc"), 1e-12, where, "aurc");
    close_to(r->eaurc.value, json_object_get(expected, "eaurc"), 1e-12, where, "eaurc");
    close_to(r->augrc.value, json_object_get(expected, "augrc"), 1e-12, where, "augrc");
    close_to(r->error_auroc.value, json_object_get(expected, "error_auroc"), 1e-12, where, "error_auroc");
    close_to(r->error_aupr.value, json_object_get(expected, "error_aupr"), 1e-12, where, "error_aupr");
    for (size_t i = 0; i < 3; i++)
        close_to(r->risk_at[i].value, json_array_get(json_object_get(expected, "risk_at"), i), 1e-12, where, "risk_at");
    for (size_t i = 0; i < 2; i++)
        close_to(r->coverage_at[i].value, json_array_get(json_object_get(expected, "coverage_at"), i), 1e-12, where,
                 "coverage_at");
    for (size_t i = 0; r->curve && i < 10; i++)
        close_to(r->curve[i], json_array_get(json_object_get(expected, "curve"), i), 1e-12, where, "curve");
}

/* One data set of the file, fed in two blocks, evaluated. */
typedef struct problem {
    double *mean;
    int64_t *labels;
    size_t n, classes, measure_count;
    vg_measure measures[4];
    vg_tally *tally;
    vg_evaluation *evaluation;
} problem;

static void set_up(problem *p, const json_t *data, vg_task task) {
    size_t cells, label_count;
    memset(p, 0, sizeof *p);
    p->mean = numbers(json_object_get(data, "mean"), &cells);
    p->labels = integers(json_object_get(data, "labels"), &label_count);
    p->n = json_array_size(json_object_get(data, "mean"));
    p->classes = cells / p->n;
    const char *name;
    json_t *column;
    json_object_foreach(json_object_get(data, "measures"), name, column) {
        vg_measure *m = &p->measures[p->measure_count++];
        size_t count;
        strncpy(m->name, name, sizeof m->name - 1);
        m->values = numbers(column, &count);
        m->stride = 1;
    }
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = task;
    size_t width = task == VG_TASK_MULTICLASS ? 1 : p->classes, first = p->n / 3;
    assert_int_equal(vg_tally_new(&p->tally, p->classes, &options), VG_OK);
    assert_int_equal(vg_tally_feed(p->tally, p->mean, NULL, p->labels, first), VG_OK);
    assert_int_equal(
        vg_tally_feed(p->tally, p->mean + first * p->classes, NULL, p->labels + first * width, p->n - first), VG_OK);
    vg_evaluate_options evaluate = VG_EVALUATE_OPTIONS_INIT;
    evaluate.curve_points = 10;
    assert_int_equal(vg_evaluate(&p->evaluation, p->tally, p->measures, p->measure_count, &evaluate), VG_OK);
}

static void tear_down(problem *p) {
    vg_evaluation_free(p->evaluation);
    vg_tally_free(p->tally);
    for (size_t i = 0; i < p->measure_count; i++)
        free((void *)p->measures[i].values);
    free(p->mean);
    free(p->labels);
}

static void check_figures(const vg_evaluation *e, const json_t *expected, const char *where) {
    const struct {
        const char *name;
        const vg_estimate *estimate;
    } all[] = {{"accuracy", &e->accuracy},
               {"f1_macro", &e->f1_macro},
               {"ece", &e->ece},
               {"ece_adaptive", &e->ece_adaptive},
               {"ece_classwise", &e->ece_classwise},
               {"mce", &e->mce},
               {"nll", &e->nll},
               {"brier", &e->brier},
               {"f1_micro", &e->f1_micro},
               {"subset_accuracy", &e->subset_accuracy},
               {"ece_macro", &e->ece_macro}};
    size_t seen = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const json_t *value = json_object_get(expected, all[i].name);
        if (value) {
            close_to(all[i].estimate->value, value, 1e-12, where, all[i].name);
            seen++;
        } else {
            assert_true(isnan(all[i].estimate->value)); /* multilabel figures of a multiclass set */
        }
        assert_true(isnan(all[i].estimate->low) && isnan(all[i].estimate->high));
    }
    assert_int_equal(seen, json_object_size(expected));
}

static void check_classes(const vg_evaluation *e, const json_t *data, const char *where) {
    for (size_t c = 0; c < e->classes; c++) {
        close_to(e->per_class[c].precision, json_array_get(json_object_get(data, "precision"), c), 1e-14, where,
                 "precision");
        close_to(e->per_class[c].recall, json_array_get(json_object_get(data, "recall"), c), 1e-14, where, "recall");
        close_to(e->per_class[c].f1, json_array_get(json_object_get(data, "f1"), c), 1e-14, where, "f1");
        close_to((double)e->per_class[c].support, json_array_get(json_object_get(data, "support"), c), 0, where,
                 "support");
        const json_t *row = json_array_get(json_object_get(data, "confusion"), c);
        for (size_t j = 0; j < e->classes; j++)
            close_to((double)e->confusion[c * e->classes + j], json_array_get(row, j), 0, where, "confusion");
    }
    for (size_t b = 0; b < e->bins; b++) {
        const json_t *bin = json_array_get(json_object_get(data, "reliability"), b);
        close_to((double)e->reliability[b].count, json_array_get(bin, 0), 0, where, "bin count");
        close_to(e->reliability[b].confidence, json_array_get(bin, 1), 1e-13, where, "bin confidence");
        close_to(e->reliability[b].accuracy, json_array_get(bin, 2), 1e-13, where, "bin accuracy");
    }
}

static void test_multiclass(void **state) {
    (void)state;
    const char *name;
    json_t *data;
    size_t cases = 0;
    json_object_foreach(json_object_get(values, "multiclass"), name, data) {
        problem p;
        set_up(&p, data, VG_TASK_MULTICLASS);
        check_figures(p.evaluation, json_object_get(data, "expected"), name);
        check_classes(p.evaluation, data, name);
        assert_int_equal(p.evaluation->measure_count, json_object_size(json_object_get(data, "rankings")));
        for (size_t m = 0; m < p.measure_count; m++)
            check_ranking(&p.evaluation->measures[m],
                          json_object_get(json_object_get(data, "rankings"), p.measures[m].name), name);
        tear_down(&p);
        cases++;
    }
    assert_int_equal(cases, 9);
}

static void test_multilabel(void **state) {
    (void)state;
    const json_t *data = json_object_get(values, "multilabel"), *labels = json_object_get(data, "labels_expected");
    problem p;
    set_up(&p, data, VG_TASK_MULTILABEL);
    const vg_evaluation *e = p.evaluation;
    check_figures(e, json_object_get(data, "expected"), "multilabel");
    for (size_t m = 0; m < p.measure_count; m++)
        check_ranking(&e->measures[m], json_object_get(json_object_get(data, "rankings"), p.measures[m].name),
                      "pooled");
    assert_int_equal(e->label_count, 4);
    for (size_t c = 0; c < e->label_count; c++) {
        const json_t *expected = json_array_get(labels, c);
        close_to(e->labels[c].accuracy, json_object_get(expected, "accuracy"), 1e-12, "label", "accuracy");
        close_to(e->labels[c].f1, json_object_get(expected, "f1"), 1e-12, "label", "f1");
        close_to(e->labels[c].ece, json_object_get(expected, "ece"), 1e-12, "label", "ece");
        close_to(e->labels[c].nll, json_object_get(expected, "nll"), 1e-12, "label", "nll");
        close_to(e->labels[c].brier, json_object_get(expected, "brier"), 1e-12, "label", "brier");
        for (size_t m = 0; m < p.measure_count; m++)
            check_ranking(&e->labels[c].measures[m],
                          json_object_get(json_object_get(expected, "rankings"), p.measures[m].name), "label");
    }
    tear_down(&p);
}

static void test_ood(void **state) {
    (void)state;
    const char *name;
    json_t *data;
    json_object_foreach(json_object_get(values, "ood"), name, data) {
        size_t id_count, ood_count;
        double *id = numbers(json_object_get(data, "id"), &id_count),
               *ood = numbers(json_object_get(data, "ood"), &ood_count);
        for (int certainty = 0; certainty < 2; certainty++) { /* the same by the negated score as a certainty */
            vg_measure a = {"tu", id, 1, certainty}, b = {"tu", ood, 1, certainty};
            vg_ood_row row;
            assert_int_equal(vg_ood_evaluate(&row, &a, id_count, &b, ood_count, 1, NULL), VG_OK);
            close_to(row.auroc.value, json_object_get(data, "auroc"), 1e-12, name, "auroc");
            close_to(row.aupr_out.value, json_object_get(data, "aupr_out"), 1e-12, name, "aupr_out");
            close_to(row.aupr_in.value, json_object_get(data, "aupr_in"), 1e-12, name, "aupr_in");
            close_to(row.fpr95.value, json_object_get(data, "fpr95"), 1e-12, name, "fpr95");
            close_to(row.detection_error.value, json_object_get(data, "detection_error"), 1e-12, name,
                     "detection_error");
            for (size_t i = 0; i < id_count; i++)
                id[i] = -id[i];
            for (size_t i = 0; i < ood_count; i++)
                ood[i] = -ood[i];
        }
        free(id);
        free(ood);
    }
}

static void test_beta(void **state) {
    (void)state;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(values, "clopper_pearson"), i, row) {
        double x[4];
        for (size_t j = 0; j < 4; j++)
            x[j] = json_number_value(json_array_get(row, j));
        double found = vg_bounds__clopper_pearson((size_t)x[0], (size_t)x[1], x[2]);
        if (!(fabs(found - x[3]) <= 1e-10 * x[3]))
            fail_msg("Clopper-Pearson of %g in %g at %g: %.17g, expected %.17g", x[0], x[1], x[2], found, x[3]);
        double back = vg_base__beta_cdf(found, x[0] + 1, x[1] - x[0]);
        assert_true(fabs(back - x[2]) <= 1e-10);
    }
    json_array_foreach(json_object_get(values, "beta_cdf"), i, row) {
        double x[4];
        for (size_t j = 0; j < 4; j++)
            x[j] = json_number_value(json_array_get(row, j));
        double found = vg_base__beta_cdf(x[0], x[1], x[2]);
        if (!(fabs(found - x[3]) <= 1e-11 * x[3] + 1e-300))
            fail_msg("I_%g(%g, %g): %.17g, expected %.17g", x[0], x[1], x[2], found, x[3]);
    }
}

/* Ties: the mean over every order the ties allow. */
static void test_orders(void **state) {
    (void)state;
    const json_t *data = json_object_get(values, "orders");
    size_t n;
    double *u = numbers(json_object_get(data, "u"), &n);
    int64_t *e = integers(json_object_get(data, "errors"), &n);
    uint8_t errors[7];
    for (size_t i = 0; i < n; i++)
        errors[i] = (uint8_t)e[i];
    vg_measure measure = {"u", u, 1, 0};
    vg_ranking ranking;
    assert_int_equal(vg_rank(&ranking, &measure, errors, n, NULL), VG_OK);
    close_to(ranking.aurc.value, json_object_get(data, "aurc"), 1e-14, "orders", "aurc");
    close_to(ranking.augrc.value, json_object_get(data, "augrc"), 1e-14, "orders", "augrc");
    free(u);
    free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multiclass), cmocka_unit_test(test_multilabel), cmocka_unit_test(test_ood),
        cmocka_unit_test(test_beta),       cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests_name("evaluate: reference values", tests, load, unload);
}
