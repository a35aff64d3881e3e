/* test_calibrate_maps.c - calibration maps: the optimum by its own conditions, exact curves by brute force, the same
 * bits at any thread count and after a file, hostile files. */
#include "calibrate_util.h"

#include <stdio.h>

#include "vargate/temperatures.h"

static vg_calibration *fit(const problem *p, const vg_calibrate_options *options) {
    vg_predictions z = view_f64(p);
    vg_calibration *out = NULL;
    if (vg_calibrate(&out, &z, p->y, options) != VG_OK)
        fail_msg("%s", vg_error_message());
    return out;
}

static double *apply(const vg_calibration_map *map, const problem *p, unsigned threads) {
    vg_predictions z = view_f64(p);
    double *out = malloc(p->n * p->m * p->c * sizeof *out);
    assert_non_null(out);
    if (vg_calibration_map_apply(out, NULL, NULL, map, &z, 1, threads) != VG_OK)
        fail_msg("%s", vg_error_message());
    return out;
}

/* At the minimiser of vector's loss the mean of p - [y = c], and of it times z, are 0: checked on what the map gives,
 * which the solver's own derivative plays no part in. */
static void test_vector_optimum(void **state) {
    (void)state;
    problem p = make_problem(700, 2, 5, 3, 1, 0.8);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.method = VG_CALIBRATE_VECTOR;
    vg_calibration *found = fit(&p, &options);
    double *q = apply(found->map, &p, 1);
    for (size_t m = 0; m < p.m; m++)
        for (size_t c = 0; c < p.c; c++) {
            double bias = 0, scale = 0;
            for (size_t n = 0; n < p.n; n++) {
                size_t at = (n * p.m + m) * p.c + c;
                double off = q[at] - ((size_t)p.y[n] == c);
                bias += off / (double)p.n;
                scale += off * p.z[at] / (double)p.n;
            }
            assert_true(fabs(bias) < 2e-8 && fabs(scale) < 2e-8);
        }
    assert_true(found->after.member_nll < found->before.member_nll);
    assert_true(found->map_fits[0].converged && found->map_fits[1].converged);
    free(q);
    vg_calibration_free(found);
    free_problem(&p);
}

/* Every method and form: threads change no bit, a file gives the map back, members sum to 1. */
static void test_bits(void **state) {
    (void)state;
    problem p = make_problem(500, 3, 4, 11, 1, 0.7);
    for (int method = 0; method <= VG_CALIBRATE_VENN_ABERS; method++)
        for (int form = 0; form < 3; form++) {
            vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
            options.method = (vg_calibration_method)method;
            options.shared = form == 1;
            options.mean = form == 2;
            options.threads = 1;
            vg_calibration *one = fit(&p, &options), *other;
            options.threads = 3;
            other = fit(&p, &options);
            assert_true(one->after.nll == other->after.nll && one->held_out.nll == other->held_out.nll);
            assert_true(one->nll_change[0] <= one->held_out.nll - one->before.nll);
            char *text;
            vg_calibration_map *map;
            assert_int_equal(vg_temperatures_text(&text, one), VG_OK);
            assert_int_equal(vg_calibration_map_load(&map, text), VG_OK);
            double *q = apply(map, &p, 3);
            for (size_t i = 0; i < p.n * p.m; i++) {
                double sum = 0;
                for (size_t c = 0; c < p.c; c++)
                    sum += q[i * p.c + c];
                assert_true(fabs(sum - 1) < 1e-12);
            }
            if (one->map) {
                double *same = apply(other->map, &p, 1);
                assert_memory_equal(q, same, p.n * p.m * p.c * sizeof *q);
                free(same);
            }
            free(q);
            vg_free(map);
            vg_free(text);
            vg_calibration_free(one);
            vg_calibration_free(other);
        }
    free_problem(&p);
}

static void refuse(const char *text, const char *words) {
    vg_calibration_map *map = NULL;
    assert_int_not_equal(vg_calibration_map_load(&map, text), VG_OK);
    assert_null(map);
    if (!strstr(vg_error_message(), words))
        fail_msg("'%s' does not say '%s'", vg_error_message(), words);
}

static void test_hostile_texts(void **state) {
    (void)state;
#define HEAD "\"members\": 1, \"classes\": 2, \"input\": \"logits\", "
    refuse("{", "not JSON");
    refuse("{}", "temperatures");
    refuse("{\"method\": \"vector\", \"maps\": []}", "input");
    refuse("{\"method\": \"vector\", " HEAD "\"maps\": []}", "one map, or one for each member");
    refuse("{\"method\": \"vector\", " HEAD "\"maps\": [{}]}", "scale");
    refuse("{\"method\": \"vector\", " HEAD "\"maps\": [{\"scale\": [1, 1e999], \"bias\": [0, 0]}]}", "not JSON");
    refuse("{\"method\": \"vector\", " HEAD "\"maps\": [{\"scale\": [1, null], \"bias\": [0, 0]}]}", "finite numbers");
    refuse("{\"method\": \"dirichlet\", " HEAD "\"maps\": [{\"weights\": [[1, 0]], \"bias\": [0, 0]}]}", "weights");
    refuse("{\"method\": \"isotonic\", " HEAD "\"maps\": [{\"classes\": [{\"x\": [], \"y\": []}, {}]}]}", "x");
    refuse("{\"method\": \"isotonic\", " HEAD
           "\"maps\": [{\"classes\": [{\"x\": [0.5, 0.1], \"y\": [0, 1]}, {\"x\": [0], \"y\": [0]}]}]}",
           "numbers that increase");
    refuse("{\"method\": \"isotonic\", " HEAD
           "\"maps\": [{\"classes\": [{\"x\": [0.5], \"y\": [7]}, {\"x\": [0], \"y\": [0]}]}]}",
           "probabilities");
    refuse("/nowhere/map.json", "/nowhere/map.json");
#undef HEAD
}

static void test_refusals(void **state) {
    (void)state;
    problem p = make_problem(40, 2, 3, 5, 1, 1);
    vg_predictions z = view_f64(&p);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibration *out;
    options.method = VG_CALIBRATE_ISOTONIC;
    for (size_t n = 0; n < p.n; n++)
        p.y[n] = p.y[n] == 2 ? 0 : p.y[n];
    assert_int_equal(vg_calibrate(&out, &z, p.y, &options), VG_ERR_DATA);
    assert_non_null(strstr(vg_error_message(), "no sample of class 2 among 40"));
    options.mean = options.shared = 1;
    assert_int_equal(vg_calibrate(&out, &z, p.y, &options), VG_ERR_ARGUMENT);
    options.shared = 0;
    options.probabilities = 1; /* these are logits */
    assert_int_equal(vg_calibrate(&out, &z, p.y, &options), VG_ERR_DATA);
    options = (vg_calibrate_options)VG_CALIBRATE_OPTIONS_INIT;
    options.method = (vg_calibration_method)6;
    assert_int_equal(vg_calibrate(&out, &z, p.y, &options), VG_ERR_ARGUMENT);
    assert_null(out);
    free_problem(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vector_optimum), cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_hostile_texts), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
