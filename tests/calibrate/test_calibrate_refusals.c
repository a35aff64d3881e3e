/* test_calibrate_refusals.c - what calibration refuses and how it says so: options, shapes, labels, maps for other
 * predictions; and data at the edge: one class, ties, logits that do not depend on anything. */
#include "calibrate/calibration.h"
#include "calibrate_util.h"
#include "vargate/temperatures.h"

static vg_status fit(const problem *p, vg_calibrate_options o) {
    vg_calibration *c = NULL;
    vg_predictions view = view_f64(p);
    o.threads = 1;
    vg_status status = vg_calibrate(&c, &view, p->y, &o);
    vg_calibration_free(c);
    return status;
}

static void options_of_calibration(void **state) {
    (void)state;
    problem p = make_problem(30, 2, 3, 5, 1, 1);
    const vg_calibrate_options usual = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibrate_options o = usual;
    vg_predictions view = view_f64(&p);
    vg_calibration_metrics metrics;
    vg_calibration *c;
    o.method = (vg_calibration_method)6;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "method is 6, expected 0 (temperature) .. 5 (venn-abers)");
    o = usual, o.method = VG_CALIBRATE_VECTOR, o.mean = o.shared = 1;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "of the mean over members or shared by them, not both");
    o = usual, o.method = VG_CALIBRATE_VECTOR, o.solver = VG_SOLVER_BAYES;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "'bayes' is for temperatures of members alone");
    o = usual, o.probabilities = 1;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "are fitted to logits, not to probabilities");
    o = usual, o.method = VG_CALIBRATE_HISTOGRAM, o.map_bins = 0;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "map_bins is 0, expected 1 .. 10000");
    o = usual, o.method = VG_CALIBRATE_DIRICHLET, o.intercept = -1;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "the penalties of dirichlet are 0.001 and -1");
    o = usual, o.method = VG_CALIBRATE_DIRICHLET, o.off_diagonal = NAN;
    assert_fails(fit(&p, o), VG_ERR_ARGUMENT, "the penalties of dirichlet are");
    assert_fails(vg_calibrate(&c, NULL, p.y, NULL), VG_ERR_ARGUMENT, "logits must not be NULL");
    assert_fails(vg_calibrate__measure(NULL, &view, p.y, NULL, 0, NULL), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_calibrate__measure(&metrics, &view, p.y, (const double[]){1, 1, 1}, 3, NULL), VG_ERR_ARGUMENT,
                 "3 temperatures for 2 members, expected 1 or 2");
    view.dtype = (vg_dtype)9;
    assert_fails(vg_calibrate(&c, &view, p.y, NULL), VG_ERR_ARGUMENT, "element type of logits is 9, expected 0 .. 3");
    free_problem(&p);
}

static vg_status fit_k(const problem *p, vg_fit_k_options o) {
    vg_k_fit *f = NULL;
    vg_predictions view = view_f64(p);
    o.threads = 1;
    o.logits = o.temperature && o.temperature[0] == 0.5 ? 0 : 1;
    vg_status status = vg_fit_k(&f, &view, p->y, &o);
    vg_free(f);
    return status;
}

static void options_of_fit_k(void **state) {
    (void)state;
    static const double negative[] = {1, -1, 1}, half[] = {0.5}, two[] = {1, 1};
    problem p = make_problem(30, 3, 3, 5, 1, 1);
    const vg_fit_k_options usual = VG_FIT_K_OPTIONS_INIT;
    vg_fit_k_options o = usual;
    vg_k_fit *f;
    o.k_min = 1e-4;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "k_min is 0.0001 and k_max 1000, expected 0.001 <= k_min < k_max");
    o = usual, o.k_min = 5, o.k_max = 5;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "k_min is 5 and k_max 5");
    o = usual, o.k_max = 1e300;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "k_max 1e+300");
    o = usual, o.tolerance = 0;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "tolerance is 0, expected 0 < tolerance < 1");
    o = usual, o.max_iterations = 0;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "max_iterations is 0, expected 1 .. 10000");
    o = usual, o.bins = 1001;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "bins is 1001, expected 1 .. 1000");
    o = usual, o.folds = 1;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "folds is 1, expected 0 (none) or 2 .. 100");
    o = usual, o.temperature = negative, o.temperature_count = 3;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "temperature 1 must be greater than 0, got -1");
    o = usual, o.temperature = half, o.temperature_count = 1;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "the input holds probabilities");
    o = usual, o.temperature = two, o.temperature_count = 2;
    assert_fails(fit_k(&p, o), VG_ERR_ARGUMENT, "2 temperatures for 3 members, expected 1 or 3");
    assert_fails(vg_fit_k(&f, NULL, p.y, NULL), VG_ERR_ARGUMENT, "predictions and labels must not be NULL");
    vg_predictions view = view_f64(&p);
    assert_fails(vg_fit_k(&f, &view, NULL, NULL), VG_ERR_ARGUMENT, "and labels");
    p.y[4] = 3;
    assert_fails(fit_k(&p, usual), VG_ERR_DATA, "label of sample 4 is 3, expected 0 .. 2");
    p.y[4] = -1;
    assert_fails(fit_k(&p, usual), VG_ERR_DATA, "label of sample 4 is -1");
    view.c = 1;
    assert_fails(vg_fit_k(&f, &view, p.y, NULL), VG_ERR_ARGUMENT, "expected N >= 1, M >= 1, C >= 2");
    view = view_f64(&p), view.m = 1;
    assert_fails(vg_fit_k(&f, &view, p.y, NULL), VG_ERR_DATA, "one member has no spread");
    free_problem(&p);
}

/* A fit that is stopped early says so, and still has a usable answer. */
static void fit_k_that_does_not_converge(void **state) {
    (void)state;
    problem p = make_problem(60, 3, 4, 8, 2, 1);
    vg_fit_k_options o = VG_FIT_K_OPTIONS_INIT;
    vg_predictions view = view_f64(&p);
    vg_k_fit *f;
    o.logits = 1;
    o.max_iterations = 1;
    o.tolerance = 1e-15;
    o.folds = 0;
    assert_ok(vg_fit_k(&f, &view, p.y, &o));
    assert_false(f->by_class.converged);
    assert_non_null(strstr(f->warning, "the fit did not converge"));
    for (size_t c = 0; c < f->classes; c++)
        assert_true(f->k[c] >= o.k_min && f->k[c] <= o.k_max);
    assert_true(isnan(f->by_class.held_out.nll));
    vg_free(f);
    free_problem(&p);
}

/* --- data at the edge */

/* All logits of every row are equal: no temperature changes anything, and T = 1 is kept. */
static void logits_that_are_all_equal(void **state) {
    (void)state;
    problem p = make_problem(40, 2, 3, 5, 0, 0);
    vg_calibrate_options o = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = view_f64(&p);
    vg_calibration *c;
    for (size_t i = 0; i < 240; i++)
        p.z[i] = 7;
    o.threads = 1;
    assert_ok(vg_calibrate(&c, &view, p.y, &o));
    for (size_t m = 0; m < 2; m++) {
        assert_true(c->temperatures[m] == 1);
        assert_true(c->newton[m].flags & VG_FIT_FLAT);
        assert_close(c->newton[m].loss, log(3), 1e-12);
    }
    assert_int_equal(c->flat, 2);
    assert_non_null(strstr(c->warning, "the loss of 2 of 2 temperatures does not depend on T, which stays 1"));
    vg_calibration_free(c);
    free_problem(&p);
}

/* Labels of one class alone: a temperature runs to its end, a map of every class is refused. */
static void labels_of_one_class(void **state) {
    (void)state;
    problem p = make_problem(40, 1, 3, 5, 1, 1);
    vg_calibrate_options o = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = view_f64(&p);
    vg_calibration *c;
    for (size_t n = 0; n < p.n; n++) {
        p.y[n] = 1;
        p.z[n * 3 + 1] = 50;
    }
    o.threads = 1;
    assert_ok(vg_calibrate(&c, &view, p.y, &o));
    assert_true(c->newton[0].flags & VG_FIT_AT_MIN);
    assert_true(c->temperatures[0] == o.t_min);
    vg_calibration_free(c);
    o.method = VG_CALIBRATE_VENN_ABERS;
    assert_fails(vg_calibrate(&c, &view, p.y, &o), VG_ERR_DATA, "no sample of class 0 among 40");
    free_problem(&p);
}

/* Too few samples for folds: figures that need them are NaN, the fit is the same. */
static void folds_that_are_too_small(void **state) {
    (void)state;
    problem p = make_problem(12, 2, 2, 5, 1, 1);
    vg_calibrate_options o = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = view_f64(&p);
    vg_calibration *c;
    o.threads = 1;
    o.folds = 4;
    assert_ok(vg_calibrate(&c, &view, p.y, &o));
    assert_true(isnan(c->held_out.nll) && isnan(c->held_out.ece));
    assert_true(isfinite(c->after.nll));
    vg_calibration_free(c);
    free_problem(&p);
}

/* A histogram of bins with equal numbers of samples, with ties that a bin must keep together. */
static void histograms_of_equal_mass(void **state) {
    (void)state;
    problem p = make_problem(200, 1, 2, 3, 1, 1);
    vg_calibrate_options o = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = view_f64(&p);
    vg_calibration *c;
    char *text;
    for (size_t i = 0; i < 400; i++)
        p.z[i] = round(p.z[i]); /* many equal values */
    o.threads = 1;
    o.method = VG_CALIBRATE_HISTOGRAM;
    o.equal_mass = 1;
    o.map_bins = 5;
    assert_ok(vg_calibrate(&c, &view, p.y, &o));
    assert_ok(vg_temperatures_text(&text, c));
    vg_calibration_map *map;
    double q[400];
    assert_ok(vg_calibration_map_load(&map, text));
    assert_ok(vg_calibration_map_apply(q, NULL, NULL, map, &view, 1, 1));
    for (size_t n = 0; n < 200; n++) {
        assert_true(q[2 * n] >= 0 && q[2 * n + 1] >= 0);
        assert_close(q[2 * n] + q[2 * n + 1], 1, 1e-12);
        for (size_t k = 0; k < n; k++) /* equal logits get equal probabilities */
            if (p.z[2 * n] - p.z[2 * n + 1] == p.z[2 * k] - p.z[2 * k + 1] && p.z[2 * n] == p.z[2 * k])
                assert_true(q[2 * n] == q[2 * k]);
    }
    assert_true(c->after.nll <= c->before.nll);
    vg_free(map);
    vg_free(text);
    vg_calibration_free(c);
    free_problem(&p);
}

/* --- maps */

#define HEAD "\"members\": 1, \"classes\": 2, \"input\": \"probabilities\", "

static void maps_for_other_predictions(void **state) {
    (void)state;
    static const char vector[] =
        "{\"method\": \"vector\", \"members\": 3, \"classes\": 2, \"input\": \"logits\", \"maps\": ["
        "{\"scale\": [1, 1], \"bias\": [0, 0]}, {\"scale\": [1, 2], \"bias\": [0, 1]},"
        "{\"scale\": [1, 3], \"bias\": [1, 0]}]}";
    static const char temperature[] = "{\"method\": \"temperature\", " HEAD "\"mean\": true, "
                                      "\"maps\": [{\"scale\": [0.5]}]}";
    problem p = make_problem(4, 2, 2, 3, 1, 1);
    vg_predictions view = view_f64(&p);
    vg_calibration_map *map;
    double q[16];
    assert_ok(vg_calibration_map_load(&map, vector));
    assert_fails(vg_calibration_map_apply(NULL, NULL, NULL, map, &view, 1, 1), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_calibration_map_apply(q, NULL, NULL, map, &view, 1, 1), VG_ERR_DATA,
                 "the vector map is for 3 members");
    vg_free(map);
    assert_ok(vg_calibration_map_load(&map, temperature));
    const double even[8] = {0.5, 0.5, 0.5, 0.5};
    vg_predictions fair = {even, VG_F64, 2, 1, 2, 2, 2, 1};
    assert_fails(vg_calibration_map_apply(q, q, q, map, &fair, 0, 1), VG_ERR_ARGUMENT,
                 "intervals come from a venn-abers map");
    assert_fails(vg_calibration_map_apply(q, NULL, NULL, map, &view, 0, 1), VG_ERR_DATA, "sample 0, member 0");
    const double halves[8] = {0.5, 0.5, 0.25, 0.75, 1, 0, 0.5, 0.5};
    view.data = halves;
    view.n = 2;
    assert_ok(vg_calibration_map_apply(q, NULL, NULL, map, &view, 0, 1));
    for (int i = 0; i < 8; i += 2)
        assert_close(q[i] + q[i + 1], 1, 1e-12);
    vg_free(map);
    assert_fails(vg_calibration_map_load(NULL, vector), VG_ERR_ARGUMENT, "must not be NULL");
    assert_fails(vg_calibration_map_load(&map, NULL), VG_ERR_ARGUMENT, "must not be NULL");
    free_problem(&p);
}

static void texts_that_are_no_maps(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"method\": \"magic\", " HEAD "\"maps\": [{}]}", "unknown method \"magic\""},
        {"{\"method\": \"vector\", \"members\": 1, \"classes\": 1, \"input\": \"logits\", \"maps\": [{}]}",
         "a whole number of 2 or more"},
        {"{\"method\": \"vector\", \"members\": 1, \"classes\": 2, \"input\": \"odds\", \"maps\": [{}]}",
         "\"logits\" or \"probabilities\""},
        {"{\"method\": \"vector\", " HEAD "\"maps\": [{}, {}]}", "one map, or one for each member"},
        {"{\"method\": \"temperature\", " HEAD "\"maps\": [{\"scale\": 3}]}", "key \"scale\""},
        {"{\"method\": \"dirichlet\", " HEAD "\"maps\": [{\"weights\": [[1, 0], [1]], \"bias\": [0, 0]}]}",
         "key \"weights\""},
        {"{\"method\": \"dirichlet\", " HEAD "\"maps\": [{\"weights\": [[1, 0], [0, \"1\"]], \"bias\": [0, 0]}]}",
         "finite numbers"},
        {"{\"method\": \"isotonic\", " HEAD "\"maps\": [{\"classes\": [{\"x\": [0.5], \"y\": [1]}]}]}",
         "an object for each class"},
        {"{\"method\": \"histogram\", " HEAD "\"maps\": [{\"classes\": [{}, {}]}]}", "an array of one or more numbers"},
        {"{\"temperatures\": [1, 0]}", "temperatures"},
        {"{\"temperatures\": []}", "temperatures"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_calibration_map *map;
        assert_fails(vg_calibration_map_load(&map, cases[i].text), VG_ERR_FORMAT, cases[i].part);
        assert_null(map);
    }
}

/* Curves of a file need not be those of a fit: where p0 is 1 and p1 is 0 there is no probability between them, and
 * the result is still a distribution. */
static void curves_that_contradict_themselves(void **state) {
    (void)state;
    static const char text[] = "{\"method\": \"venn-abers\", " HEAD "\"maps\": [{\"classes\": ["
                               "{\"x\": [0.5], \"p0\": [1], \"p1\": [0]}, {\"x\": [0.5], \"p0\": [1], \"p1\": [0]}]}]}";
    const double half[] = {0.5, 0.5, 0.9, 0.1};
    vg_predictions view = {half, VG_F64, 2, 1, 2, 2, 2, 1};
    vg_calibration_map *map;
    double q[4], low[4], high[4];
    assert_ok(vg_calibration_map_load(&map, text));
    assert_ok(vg_calibration_map_apply(q, low, high, map, &view, 0, 1));
    for (int i = 0; i < 4; i += 2) {
        assert_true(q[i] >= 0 && q[i] <= 1);
        assert_close(q[i] + q[i + 1], 1, 1e-12);
    }
    assert_true(low[1] == 1 && high[1] == 0);
    vg_free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_calibration),       cmocka_unit_test(options_of_fit_k),
        cmocka_unit_test(fit_k_that_does_not_converge), cmocka_unit_test(logits_that_are_all_equal),
        cmocka_unit_test(labels_of_one_class),          cmocka_unit_test(folds_that_are_too_small),
        cmocka_unit_test(histograms_of_equal_mass),     cmocka_unit_test(maps_for_other_predictions),
        cmocka_unit_test(texts_that_are_no_maps),       cmocka_unit_test(curves_that_contradict_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
