/* test_calibrate_compare.c - the advice on calibrators: at the nominal rate "none" where the predictions are calibrated
 * already, and the simplest that helps where they are not. */
#include "calibrate_util.h"

#include <stdio.h>

#include "vargate/temperatures.h"

enum { SETS = 300, N = 300, C = 3 };

/* Probabilities of one member; labels drawn from them, after they were raised to 1 / `power` for the caller to see. */
static problem draw(uint64_t seed, size_t n, double power, double tilt) {
    problem p = make_problem(n, 1, C, seed, 0.7, 0);
    for (size_t i = 0; i < n; i++) {
        double *z = p.z + i * C, shown[C], drawn[C], sum[2] = {0, 0}, u = uniform_at(seed ^ 0x5555, i);
        for (size_t c = 0; c < C; c++) {
            drawn[c] = exp(z[c]);
            shown[c] = exp(power * z[c] + tilt * (double)c);
            sum[0] += drawn[c];
            sum[1] += shown[c];
        }
        p.y[i] = 0;
        for (size_t c = 0; c < C; c++) {
            z[c] = shown[c] / sum[1];
            u -= drawn[c] / sum[0];
            if (u > 0 && c + 1 < C)
                p.y[i] = (int64_t)c + 1;
        }
    }
    return p;
}

static vg_calibration *compare(const problem *p) {
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_predictions view = view_f64(p);
    vg_calibration *out;
    options.mean = options.probabilities = options.compare = 1;
    options.threads = 1;
    if (vg_calibrate(&out, &view, p->y, &options) != VG_OK)
        fail_msg("%s", vg_error_message());
    return out;
}

static void test_noise_is_called_noise(void **state) {
    (void)state;
    size_t advised = 0;
    for (uint64_t s = 0; s < SETS; s++) {
        problem p = draw(1000 + s, N, 1, 0);
        vg_calibration *found = compare(&p);
        assert_int_equal(found->candidate_count, VG_CALIBRATION_CANDIDATES);
        advised += strcmp(found->supported, "none") != 0;
        vg_calibration_free(found);
        free_problem(&p);
    }
    /* At most 5 % of the sets, and three standard errors of a share of SETS. */
    printf("a calibrator is advised for %zu of %d calibrated sets\n", advised, SETS);
    assert_true((double)advised <= 0.05 * SETS + 3 * sqrt(0.05 * 0.95 * SETS));
}

static void test_help_is_found(void **state) {
    (void)state;
    problem p = draw(7, 3000, 2.5, 0); /* overconfident: a temperature is all that is needed */
    vg_calibration *found = compare(&p);
    assert_string_equal(found->supported, "temperature");
    assert_non_null(strstr(found->advice, "Calibrate with temperature"));
    vg_calibration_free(found);
    free_problem(&p);
    p = draw(8, 3000, 1, 1.5); /* one class preferred: temperature cannot undo it, vector can */
    found = compare(&p);
    assert_string_equal(found->supported, "vector");
    vg_calibration_free(found);
    free_problem(&p);
}

/* Holm's p-values are those of their definition, and the change is that of the fit. */
static void test_corrected(void **state) {
    (void)state;
    problem p = draw(9, 500, 1.3, 0.2);
    vg_calibration *found = compare(&p);
    for (size_t i = 0; i < found->candidate_count; i++) {
        const vg_calibration_candidate *row = &found->candidates[i];
        double most = 0;
        for (size_t j = 0; j < found->candidate_count; j++) {
            size_t before = 0;
            for (size_t k = 0; k < found->candidate_count; k++)
                before += found->candidates[k].p_value < found->candidates[j].p_value;
            if (found->candidates[j].p_value <= row->p_value)
                most = fmax(most, fmin(1, found->candidates[j].p_value * (double)(found->candidate_count - before)));
        }
        assert_true(fabs(row->corrected - most) < 1e-14);
        assert_true(fabs(row->nll - found->before.nll - row->nll_change) < 1e-9);
        assert_true(row->low <= row->nll_change && row->nll_change <= row->high);
    }
    char *text;
    assert_int_equal(vg_temperatures_text(&text, found), VG_OK);
    assert_non_null(strstr(text, "\"comparison\""));
    vg_free(text);
    vg_calibration_free(found);
    free_problem(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise_is_called_noise),
                                       cmocka_unit_test(test_help_is_found), cmocka_unit_test(test_corrected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
