/* test_measures_baselines.c - maxprob, gap, topstd, votes, maxlogit and energy against their formulas in plain double
 * loops, for every element type, for both layouts of the kernels, for logits and labels, in every SIMD tier; what needs
 * logits is refused without them. */
#include "measures_util.h"

enum { BASELINES = 6 };
static const char *const names[BASELINES] = {"maxprob", "gap", "topstd", "votes", "maxlogit", "energy"};

static double **place(vg_scores *s, int i) {
    double **places[BASELINES] = {&s->maxprob, &s->gap, &s->topstd, &s->votes, &s->maxlogit, &s->energy};
    return places[i];
}

/* One sample's z[m][c] (logits over T, or probabilities p): the six figures. */
static void expected(double want[BASELINES], const double *z, size_t m, size_t c, int logits) {
    double *p = ref_alloc(m * c, sizeof *p), *mean = ref_alloc(c, sizeof *mean), *count = ref_alloc(c, sizeof *count);
    double lse = 0, top_logit = -INFINITY, most = 0;
    size_t first = 0, second = 1;
    for (size_t i = 0; i < m; i++) {
        const double *row = z + i * c;
        size_t best = 0;
        double largest = row[0], sum = 0;
        for (size_t j = 0; j < c; j++) {
            best = row[j] > row[best] ? j : best;
            largest = row[j] > largest ? row[j] : largest;
        }
        for (size_t j = 0; j < c; j++)
            sum += exp(row[j] - largest);
        lse += (largest + log(sum)) / (double)m;
        count[best]++;
        for (size_t j = 0; j < c; j++)
            p[i * c + j] = logits ? exp(row[j] - largest) / sum : row[j];
    }
    for (size_t j = 0; j < c; j++) {
        double logit = 0;
        for (size_t i = 0; i < m; i++) {
            mean[j] += p[i * c + j] / (double)m;
            logit += z[i * c + j] / (double)m;
        }
        top_logit = logit > top_logit ? logit : top_logit;
        most = count[j] > most ? count[j] : most;
    }
    for (size_t j = 1; j < c; j++)
        first = mean[j] > mean[first] ? j : first;
    second = first == 0 ? 1 : 0;
    for (size_t j = 0; j < c; j++)
        second = j != first && mean[j] > mean[second] ? j : second;
    double variance = 0;
    for (size_t i = 0; i < m; i++)
        variance += (p[i * c + first] - mean[first]) * (p[i * c + first] - mean[first]) / (double)m;
    want[0] = 1 - mean[first];
    want[1] = 1 - (mean[first] - mean[second]);
    want[2] = sqrt(variance);
    want[3] = 1 - most / (double)m;
    want[4] = -top_logit;
    want[5] = -lse;
    free(p);
    free(mean);
    free(count);
}

typedef struct setting {
    size_t n, m, c;
    int logits, f32;
    double temperature;
} setting;

/* As float, and the input itself rounded to float, so that both sides see the same numbers. */
static void *rounded(double *data, size_t count, int f32) {
    float *narrow = ref_alloc(count, sizeof *narrow);
    for (size_t i = 0; i < count; i++) {
        narrow[i] = (float)data[i];
        data[i] = f32 ? (double)narrow[i] : data[i];
    }
    return narrow;
}

static void check(const setting *s) {
    double *data = make_predictions(s->n, s->m, s->c, s->logits ? MAKE_LOGITS : MAKE_DIRICHLET, s->logits ? 3 : 0.5);
    float *narrow = rounded(data, s->n * s->m * s->c, s->f32);
    vg_predictions view =
        s->f32 ? vg_predictions_f32(narrow, s->n, s->m, s->c) : vg_predictions_f64(data, s->n, s->m, s->c);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.logits = s->logits;
    options.temperature = s->temperature > 0 ? &s->temperature : NULL;
    options.temperature_count = 1;
    vg_scores out = {0};
    int used = s->logits ? BASELINES : BASELINES - 2;
    for (int i = 0; i < used; i++)
        *place(&out, i) = ref_alloc(s->n, sizeof(double));
    assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
    for (int i = 0; i < used; i++) { /* alone: the same bits */
        vg_scores one = {0};
        *place(&one, i) = ref_alloc(s->n, sizeof(double));
        assert_int_equal(vg_score(&one, NULL, &view, &options), VG_OK);
        assert_memory_equal(*place(&one, i), *place(&out, i), s->n * sizeof(double));
        free(*place(&one, i));
    }
    for (size_t n = 0; n < s->n; n++) {
        double want[BASELINES], *row = data + n * s->m * s->c, tolerance = s->f32 ? 1e-6 : 1e-12;
        for (size_t i = 0; s->temperature > 0 && i < s->m * s->c; i++)
            row[i] /= s->temperature;
        expected(want, row, s->m, s->c, s->logits);
        for (int i = 0; i < used; i++)
            if (!(fabs((*place(&out, i))[n] - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
                fail_msg("%s of sample %zu (M=%zu C=%zu): got %.17g, want %.17g", names[i], n, s->m, s->c,
                         (*place(&out, i))[n], want[i]);
    }
    for (int i = 0; i < used; i++)
        free(*place(&out, i));
    free(narrow);
    free(data);
}

static void formulas(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{37, 5, 10},  {19, 1, 2},   {9, 2, 19},  {5, 16, 7},  {3, 40, 33}, {3, 5, 300},
                                       {2, 3, 1001}, {2, 12, 500}, {9, 15, 16}, {9, 16, 16}, {9, 4, 17}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int kind = 0; kind < 6; kind++) {
            setting s = {shapes[i][0], shapes[i][1], shapes[i][2], kind >= 2, kind % 2, kind >= 4 ? 1.7 : 0};
            check(&s);
        }
}

/* Each label is a problem of two outcomes, (0, z) as logits. */
static void labels(void **state) {
    (void)state;
    enum { N = 6, M = 4, C = 3 };
    double *data = make_predictions(N, M, C, MAKE_LOGITS, 2), got[BASELINES][N * C];
    vg_predictions view = vg_predictions_f64(data, N, M, C);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.logits = 1;
    options.task = VG_TASK_MULTILABEL;
    vg_scores out = {0};
    for (int i = 0; i < BASELINES; i++)
        *place(&out, i) = got[i];
    assert_int_equal(vg_score(&out, NULL, &view, &options), VG_OK);
    for (size_t u = 0; u < N * C; u++) {
        double pair[2 * M], want[BASELINES];
        for (size_t m = 0; m < M; m++) {
            pair[2 * m] = 0;
            pair[2 * m + 1] = data[(u / C * M + m) * C + u % C];
        }
        expected(want, pair, M, 2, 1);
        for (int i = 0; i < BASELINES; i++)
            assert_true(fabs(got[i][u] - want[i]) <= 1e-12 * fmax(1, fabs(want[i])));
    }
    free(data);
}

static void logits_needed(void **state) {
    (void)state;
    const float p[] = {0.5f, 0.5f, 0.25f, 0.75f};
    double value[1];
    vg_predictions view = vg_predictions_f32(p, 1, 2, 2);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scores energy = {.energy = value}, top = {.maxlogit = value};
    assert_int_equal(vg_score(&energy, NULL, &view, &options), VG_ERR_ARGUMENT);
    assert_int_equal(vg_score(&top, NULL, &view, &options), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "logits"));
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(formulas), cmocka_unit_test(labels),
                                       cmocka_unit_test(logits_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
