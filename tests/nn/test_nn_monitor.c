/* test_nn_monitor.c - the validation figures of an epoch against a plain computation in double, and their independence
 * of threads and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/random.h"
#include "nn/monitor.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("%s", vg_error_message());                                                                        \
    } while (0)

enum { N = 2000, M = 7, C = 11, BINS = 15 }; /* N: more than the scorer looks at for its disagreement */

typedef struct sample_set {
    float logits[N][M][C];
    int32_t labels[N];
} sample_set;

/* Members share a preference for one class, which is the label four times in five. */
static void draw(sample_set *set, uint64_t seed, double spread) {
    vg_random random = vg_random__start(seed, 0);
    for (size_t n = 0; n < N; n++) {
        size_t preferred = (size_t)vg_random__below(&random, C);
        set->labels[n] = (int32_t)(vg_random__unit(&random) < 0.8 ? preferred : vg_random__below(&random, C));
        double strength = 6 * vg_random__unit(&random);
        for (size_t m = 0; m < M; m++)
            for (size_t c = 0; c < C; c++)
                set->logits[n][m][c] = (float)(spread * vg_random__normal(&random) + (c == preferred ? strength : 0));
    }
}

static vg_epoch_metrics figures(const sample_set *set, vg_monitor_options options, size_t step) {
    vg_epoch_metrics out = {.epoch = 77, .train_loss = 5};
    vg_monitor *monitor;
    OK(vg_monitor__new(&monitor, &options));
    for (size_t n = 0; n < N; n += step)
        OK(vg_monitor__feed(monitor, &set->logits[n][0][0], set->labels + n, N - n < step ? N - n : step));
    OK(vg_monitor__figures(monitor, &out));
    vg_monitor__free(monitor);
    assert_true(out.epoch == 77 && out.train_loss == 5); /* not the monitor's */
    return out;
}

/* --- the definitions, in plain loops */

typedef struct expected {
    double member_loss, mixture_loss, accuracy, ece, diversity, k_sensitivity, disagreement, abstained;
} expected;

typedef struct sample_figures {
    double p[M][C], mean[C], std[C];
} sample_figures;

static void softmax(double *p, const float *z) {
    double top = z[0], sum = 0;
    for (size_t c = 1; c < C; c++)
        top = fmax(top, z[c]);
    for (size_t c = 0; c < C; c++)
        sum += p[c] = exp(z[c] - top);
    for (size_t c = 0; c < C; c++)
        p[c] /= sum;
}

static sample_figures moments(const sample_set *set, size_t n) {
    sample_figures f = {0};
    for (size_t m = 0; m < M; m++)
        softmax(f.p[m], set->logits[n][m]);
    for (size_t c = 0; c < C; c++) {
        for (size_t m = 0; m < M; m++)
            f.mean[c] += f.p[m][c] / M;
        for (size_t m = 0; m < M; m++)
            f.std[c] += (f.p[m][c] - f.mean[c]) * (f.p[m][c] - f.mean[c]) / M;
        f.std[c] = sqrt(f.std[c]);
    }
    return f;
}

static double entropy(const double *p) {
    double sum = 0;
    for (size_t c = 0; c < C; c++)
        sum -= p[c] > 0 ? p[c] * log(p[c]) : 0;
    return sum;
}

static double gated_entropy(const sample_figures *f, double k) {
    double q[C] = {0};
    for (size_t m = 0; m < M; m++) {
        double gated[C], sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += gated[c] = f->p[m][c] * -expm1(-f->mean[c] / (k * f->std[c] + 1e-8));
        for (size_t c = 0; c < C; c++)
            q[c] += gated[c] / sum / M;
    }
    return entropy(q);
}

static size_t largest(const double *p, size_t except) {
    size_t best = except == 0 ? 1 : 0;
    for (size_t c = best + 1; c < C; c++)
        if (c != except && p[c] > p[best])
            best = c;
    return best;
}

static double differing_pairs(const sample_figures *f) {
    double differ = 0;
    for (size_t a = 0; a < M; a++)
        for (size_t b = 0; b < a; b++)
            differ += largest(f->p[a], C) != largest(f->p[b], C);
    return differ / (M * (M - 1) / 2.0);
}

static expected by_definition(const sample_set *set, double k) {
    expected e = {0};
    double tu = 0, gtu = 0, gap[BINS] = {0};
    for (size_t n = 0; n < N; n++) {
        sample_figures f = moments(set, n);
        size_t label = (size_t)set->labels[n], best = largest(f.mean, C), second = largest(f.mean, best);
        for (size_t m = 0; m < M; m++)
            e.member_loss -= log(f.p[m][label]) / (M * (double)N);
        for (size_t c = 0; c < C; c++)
            e.diversity += f.std[c] * f.std[c] / (C * (double)N);
        e.mixture_loss -= log(f.mean[label]) / N;
        e.accuracy += (best == label) / (double)N;
        e.disagreement += differing_pairs(&f) / N;
        e.abstained += !(f.mean[best] - f.std[best] > f.mean[second] + f.std[second]) / (double)N;
        tu += entropy(f.mean);
        gtu += gated_entropy(&f, k);
        gap[(size_t)ceil(f.mean[best] * BINS) - 1] += f.mean[best] - (best == label);
    }
    for (size_t b = 0; b < BINS; b++)
        e.ece += fabs(gap[b]) / N;
    e.k_sensitivity = 1 - gtu / tu;
    return e;
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-12 + 1e-10 * fabs(b))

static void figures_are_the_definitions(void **state) {
    (void)state;
    static sample_set set;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double k = (double)seed;
        draw(&set, seed, 0.5 * k);
        expected e = by_definition(&set, k);
        vg_epoch_metrics m = figures(&set, (vg_monitor_options){M, C, false, k, 2, NULL}, 64);
        vg_epoch_metrics mixture = figures(&set, (vg_monitor_options){M, C, true, k, 2, NULL}, 64);
        NEAR(m.val_loss, e.member_loss);
        NEAR(mixture.val_loss, e.mixture_loss);
        NEAR(m.val_accuracy, e.accuracy);
        NEAR(m.val_ece, e.ece);
        NEAR(m.diversity, e.diversity);
        NEAR(m.k_sensitivity, e.k_sensitivity);
        NEAR(m.verdict.disagreement, e.disagreement);
        NEAR(m.verdict.abstained, e.abstained);
        NEAR(m.verdict.accuracy, e.accuracy);
    }
}

static void threads_and_batches_do_not_matter(void **state) {
    (void)state;
    static sample_set set;
    draw(&set, 9, 1);
    for (int mixture = 0; mixture < 2; mixture++) {
        vg_epoch_metrics one = figures(&set, (vg_monitor_options){M, C, mixture, 2, 1, NULL}, N);
        vg_epoch_metrics other = figures(&set, (vg_monitor_options){M, C, mixture, 2, 3, NULL}, 37);
        assert_memory_equal(&one, &other, sizeof one);
    }
}

static void identical_members_have_no_diversity(void **state) {
    (void)state;
    static sample_set set;
    draw(&set, 4, 1);
    for (size_t n = 0; n < N; n++)
        for (size_t m = 1; m < M; m++)
            memcpy(set.logits[n][m], set.logits[n][0], sizeof set.logits[n][m]);
    vg_epoch_metrics m = figures(&set, (vg_monitor_options){M, C, false, 3, 2, NULL}, 50);
    assert_true(m.diversity == 0);
    assert_int_equal(m.verdict.state, VG_VERDICT_IDENTICAL);
}

/* The training step after a diverged epoch reports it; the epoch's own figures say that there are none. */
static void logits_that_are_not_finite_give_no_figures(void **state) {
    (void)state;
    static sample_set set;
    draw(&set, 5, 1);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        set.logits[N - 2][3][4] = bad[i];
        vg_epoch_metrics m = figures(&set, (vg_monitor_options){M, C, i == 1, 3, 2, NULL}, 50);
        assert_true(isnan(m.val_loss) && isnan(m.val_ece) && isnan(m.diversity) && isnan(m.k_sensitivity));
        assert_true(m.val_accuracy == 0);
        assert_int_equal(m.verdict.state, VG_VERDICT_UNKNOWN);
    }
}

static void labels_out_of_range_are_refused(void **state) {
    (void)state;
    static sample_set set;
    draw(&set, 6, 1);
    static const int32_t bad[] = {-1, C};
    for (size_t i = 0; i < 2; i++) {
        vg_monitor *monitor;
        vg_monitor_options options = {M, C, false, 1, 1, NULL};
        set.labels[N / 2] = bad[i];
        OK(vg_monitor__new(&monitor, &options));
        assert_int_equal(vg_monitor__feed(monitor, &set.logits[0][0][0], set.labels, N), VG_ERR_DATA);
        assert_non_null(strstr(vg_error_message(), "label 1000"));
        vg_monitor__free(monitor);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_the_definitions),
        cmocka_unit_test(threads_and_batches_do_not_matter),
        cmocka_unit_test(identical_members_have_no_diversity),
        cmocka_unit_test(logits_that_are_not_finite_give_no_figures),
        cmocka_unit_test(labels_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
