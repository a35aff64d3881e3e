/* test_calibrate_files.c - temps.json: what is written is read back to the bit, and what is not right is refused in
 * one line */
#include "calibrate_util.h"

#include <stdio.h>
#include <unistd.h>

#include "calibrate/calibration.h"
#include "vargate/temperatures.h"

static char folder[256], path[300];

static int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/vargate-temps-XXXXXX",
             base != NULL && *base != '\0' && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/temps.json", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static vg_calibration *fit(vg_solver solver, int shared) {
    problem p = make_problem(120, 3, 4, 41, 0.9, 0.8);
    vg_predictions view = view_f64(&p);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.solver = solver;
    options.shared = shared;
    options.evaluations = 15;
    options.initial = 8;
    vg_calibration *out;
    assert_ok(vg_calibrate(&out, &view, p.y, &options));
    free_problem(&p);
    return out;
}

static void check_metrics(const json_t *root, const vg_calibration *c) {
    assert_true(number(root, "nll_before") == c->before.nll);
    assert_true(number(root, "nll_after") == c->after.nll);
    assert_true(number(root, "ece_before") == c->before.ece);
    assert_true(number(root, "ece_after") == c->after.ece);
    assert_true(number(root, "accuracy_before") == c->before.accuracy);
    assert_true(number(root, "accuracy_after") == c->after.accuracy);
    assert_true(number(root, "member_nll_before") == c->before.member_nll);
    assert_true(number(root, "member_nll_after") == c->after.member_nll);
    assert_true(number(root, "member_ece_before") == c->before.member_ece);
    assert_true(number(root, "member_ece_after") == c->after.member_ece);
    assert_true(number(root, "member_accuracy_after") == c->after.member_accuracy);
}

static void check_file(vg_solver solver, int shared) {
    vg_calibration *c = fit(solver, shared);
    assert_ok(vg_temperatures__save(path, c));
    double *temperatures;
    size_t count;
    assert_ok(vg_temperatures_load(&temperatures, &count, path));
    assert_int_equal(count, c->count);
    assert_memory_equal(temperatures, c->temperatures, count * sizeof(double));
    vg_free(temperatures);

    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "solver")), vg_solver__name(solver));
    assert_int_equal(json_is_true(json_object_get(root, "shared")), shared);
    assert_int_equal(number(root, "samples"), 120);
    assert_int_equal(number(root, "members"), 3);
    assert_int_equal(number(root, "classes"), 4);
    assert_int_equal(number(root, "bins"), 15);
    check_metrics(root, c);
    const json_t *newton = json_object_get(root, "newton"), *bayes = json_object_get(root, "bayes");
    assert_int_equal(newton != NULL, solver != VG_SOLVER_BAYES);
    assert_int_equal(bayes != NULL, solver != VG_SOLVER_NEWTON);
    for (size_t i = 0; newton != NULL && i < count; i++) {
        assert_true(number_at(newton, "losses", i) == c->newton[i].loss);
        assert_true(number_at(newton, "gradients", i) == c->newton[i].gradient);
        assert_true(number_at(newton, "curvatures", i) == c->newton[i].curvature);
        assert_true(json_is_true(json_array_get(json_object_get(newton, "converged"), i)));
        assert_true(json_is_false(json_array_get(json_object_get(newton, "at_min"), i)));
    }
    for (size_t i = 0; bayes != NULL && i < count; i++)
        assert_true(number_at(bayes, "temperatures", i) == c->bayes[i].temperature);
    const json_t *gap = json_object_get(root, "gap");
    assert_int_equal(gap != NULL, solver == VG_SOLVER_BOTH);
    if (gap != NULL) {
        assert_true(number(gap, "log_t_max") == c->gap_log_t_max);
        assert_true(number(gap, "log_t_median") == c->gap_log_t_median);
        assert_true(number(gap, "loss_max") == c->gap_loss_max);
    }
    json_decref(root);
    vg_calibration_free(c);
}

static void test_round_trip(void **state) {
    (void)state;
    check_file(VG_SOLVER_NEWTON, 0);
    check_file(VG_SOLVER_NEWTON, 1);
    check_file(VG_SOLVER_BAYES, 0);
    check_file(VG_SOLVER_BOTH, 0);
    check_file(VG_SOLVER_BOTH, 1);
}

static void test_save_fails(void **state) {
    (void)state;
    vg_calibration *c = fit(VG_SOLVER_NEWTON, 0);
    char missing[300];
    snprintf(missing, sizeof missing, "%s/no/temps.json", folder);
    assert_fails(vg_temperatures__save(missing, c), VG_ERR_IO, "no/temps.json");
    assert_fails(vg_temperatures__save(NULL, c), VG_ERR_ARGUMENT, "path");
    assert_fails(vg_temperatures__save(path, NULL), VG_ERR_ARGUMENT, "calibration");
    vg_calibration_free(c);
}

static void write_text(const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_accepts(void **state) {
    (void)state;
    const char text[] = "{\"temperatures\": [2, 0.5, 1e-3], \"note\": {\"anything\": [null]}}";
    write_text(text, sizeof text - 1);
    double *t;
    size_t count;
    assert_ok(vg_temperatures_load(&t, &count, path));
    assert_int_equal(count, 3);
    assert_true(t[0] == 2 && t[1] == 0.5 && t[2] == 1e-3);
    vg_free(t);
}

static void test_hostile(void **state) {
    (void)state;
    const struct {
        const char *text, *part;
    } cases[] = {
        {"", "not JSON at line 1"},
        {"{\"temperatures\": [1, 2", "not JSON at line 1"},
        {"{\n\"temperatures\":\n[1,\n\n]}", "not JSON at line 5"},
        {"{\"temperatures\": [NaN]}", "not JSON"},
        {"{\"temperatures\": [1e999]}", "not JSON"},
        {"{\"temperatures\": [1], \"temperatures\": [2]}", "not JSON"},
        {"{\"temperatures\": [1]} trailing", "not JSON"},
        {"[1, 2]", "found an array, expected an object"},
        {"3", "found a number, expected an object"},
        {"{}", "\"temperatures\" holds nothing"},
        {"{\"temperatures\": 1.5}", "\"temperatures\" holds a number, expected an array"},
        {"{\"temperatures\": null}", "holds null"},
        {"{\"temperatures\": []}", "an empty array"},
        {"{\"temperatures\": [1, \"2\"]}", "temperatures[1] is a string, expected a number > 0"},
        {"{\"temperatures\": [1, [2]]}", "temperatures[1] is an array"},
        {"{\"temperatures\": [1, 2, true]}", "temperatures[2] is a boolean"},
        {"{\"temperatures\": [0]}", "temperatures[0] is 0, expected a finite number > 0"},
        {"{\"temperatures\": [1, -2.5]}", "temperatures[1] is -2.5"},
        {"{\"temperatures\": [1e-310]}", "expected a finite number > 0"},
        {"\x93NUMPY\x01", "not JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double *t;
        size_t count;
        write_text(cases[i].text, strlen(cases[i].text));
        assert_fails(vg_temperatures_load(&t, &count, path), VG_ERR_FORMAT, cases[i].part);
        assert_non_null(strstr(vg_error_message(), "temps.json: "));
    }
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP);
    memset(deep, '[', DEEP);
    write_text(deep, DEEP);
    free(deep);
    double *t;
    size_t count;
    assert_fails(vg_temperatures_load(&t, &count, path), VG_ERR_FORMAT, "depth");
    assert_fails(vg_temperatures_load(&t, &count, "no/such/file.json"), VG_ERR_IO, "no/such/file.json");
    assert_fails(vg_temperatures_load(&t, &count, folder), VG_ERR_IO, folder);
    assert_fails(vg_temperatures_load(NULL, &count, path), VG_ERR_ARGUMENT, "out");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_save_fails),
                                       cmocka_unit_test(test_accepts), cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
