/* test_evaluate_ood_oracle.c - OOD figures of random small inputs against their plain definitions, by pairs of samples
 * in long double. Values are coarse, so that most are tied within and across the sides; some are all equal. */
#define WITHIN 2e-12L
#include "oracle_util.h"
#include "vargate/evaluate.h"

enum { MOST = 200 };

static void check_ood(const vg_ood_row *row, const double *u, size_t id, size_t ood) {
    static uint8_t positive[2 * MOST], negative[2 * MOST];
    static double turned[2 * MOST];
    size_t n = id + ood;
    real fpr95 = 1, detection = 0.5L;
    for (size_t i = 0; i < n; i++) {
        positive[i] = i >= id;
        negative[i] = i < id;
        turned[i] = -u[i];
        size_t called = 0, false_calls = 0; /* OOD and ID rows at a threshold of this value */
        for (size_t j = 0; j < n; j++) {
            called += u[j] >= u[i] && j >= id;
            false_calls += u[j] >= u[i] && j < id;
        }
        real fpr = (real)false_calls / (real)id, missed = (real)(ood - called) / (real)ood;
        if (20 * called >= 19 * ood && fpr < fpr95)
            fpr95 = fpr;
        if ((fpr + missed) / 2 < detection)
            detection = (fpr + missed) / 2;
    }
    near("auroc", row->auroc.value, area_of_roc(u, positive, n));
    near("aupr_out", row->aupr_out.value, average_precision(u, positive, n));
    near("aupr_in", row->aupr_in.value, average_precision(turned, negative, n));
    near("fpr95", row->fpr95.value, fpr95);
    near("detection error", row->detection_error.value, detection);
}

/* Without samples on one side there is nothing to separate. */
static void check_none(const vg_ood_row *row) {
    const vg_estimate all[] = {row->auroc, row->aupr_out, row->aupr_in, row->fpr95, row->detection_error};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(isnan(all[i].value) && isnan(all[i].low) && isnan(all[i].high));
}

/* Two measures, of values apart and of neighbours in one array; of every sixteenth trial one side is empty. */
static void test_ood(void **state) {
    (void)state;
    static double values[2][4 * MOST], u[2 * MOST];
    for (size_t trial = 0; trial < 400; trial++) {
        vg_random random = vg_random__start(118, trial);
        size_t id = 1 + below(&random, trial % 4 ? 40 : MOST), ood = 1 + below(&random, trial % 4 ? 40 : MOST);
        vg_measure sides[2][2];
        id = trial % 32 == 1 ? 0 : id, ood = trial % 32 == 17 ? 0 : ood;
        snprintf(place, sizeof place, "trial %zu, %zu ID and %zu OOD", trial, id, ood);
        for (size_t m = 0; m < 2; m++) {
            size_t stride = 1 + below(&random, 2);
            int certainty = (int)below(&random, 2);
            fill(values[m], stride * (id + ood), &random);
            sides[0][m] = (vg_measure){"", values[m], stride, certainty};
            snprintf(sides[0][m].name, VG_NAME_SIZE, "m%zu", m);
            sides[1][m] = sides[0][m];
            sides[1][m].values += stride * id;
        }
        for (size_t resamples = 0; resamples <= 9; resamples += 9) { /* two ways to sort */
            vg_ood_options options = VG_OOD_OPTIONS_INIT;
            options.resamples = resamples;
            options.threads = 1 + (unsigned)(trial % 3);
            vg_ood_row rows[2];
            assert_int_equal(vg_ood_evaluate(rows, sides[0], id, sides[1], ood, 2, &options), VG_OK);
            for (size_t m = 0; m < 2; m++) {
                for (size_t i = 0; i < id + ood; i++)
                    u[i] = (sides[0][m].certainty ? -1 : 1) * values[m][i * sides[0][m].stride];
                assert_string_equal(rows[m].name, sides[0][m].name);
                if (id > 0 && ood > 0)
                    check_ood(&rows[m], u, id, ood);
                else
                    check_none(&rows[m]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ood)};
    return cmocka_run_group_tests_name("evaluate: OOD by plain definitions", tests, NULL, NULL);
}
