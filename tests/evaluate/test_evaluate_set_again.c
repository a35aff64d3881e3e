/* test_evaluate_set_again.c - test samples of prediction sets that begin anew, after a call without a block: figures
 * and sets are those of an object that saw them first. */
#include "sets_util.h"

enum { C = 3, N = 90 };

static void draw(samples *s, vg_random *random) {
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += s->p[i * C + c] = 0.1 + vg_random__unit(random);
        for (size_t c = 0; c < C; c++)
            s->p[i * C + c] /= sum;
        s->labels[i] = (int64_t)vg_random__below(random, C);
    }
}

static void same_estimate(vg_estimate a, vg_estimate b) { assert_memory_equal(&a, &b, sizeof a); }

static void same_figures(const vg_sets *a, const vg_sets *b) {
    assert_true(a->samples == b->samples && a->labelled == b->labelled);
    for (size_t i = 0; i < a->alpha_count; i++) {
        const vg_set_figures *f = &a->figures[i], *g = &b->figures[i];
        assert_true(f->samples == g->samples && f->labelled == g->labelled && f->worst_class == g->worst_class);
        same_estimate(f->coverage, g->coverage);
        same_estimate(f->mean_size, g->mean_size);
        same_estimate(f->median_size, g->median_size);
        same_estimate(f->singletons, g->singletons);
        same_estimate(f->empty, g->empty);
        same_estimate(f->worst_class_coverage, g->worst_class_coverage);
        same_estimate(f->singleton_accuracy, g->singleton_accuracy);
        assert_int_equal(f->stratum_count, g->stratum_count);
        for (size_t s = 0; s < f->stratum_count; s++) {
            assert_true(f->strata[s].samples == g->strata[s].samples && f->strata[s].covered == g->strata[s].covered);
            same_estimate(f->strata[s].coverage, g->strata[s].coverage);
        }
    }
}

static void feed(vg_sets *sets, const samples *s, uint8_t *mask, int32_t *size) {
    vg_set_places out = VG_SET_PLACES_INIT;
    vg_predictions block = view_of(s, 0, s->n);
    out.mask = mask, out.size = size;
    ok(vg_sets_feed(sets, &out, &block, s->labels, NULL));
}

static void begins_anew(void **state) {
    (void)state;
    static const double alphas[] = {0.1, 0.5, 0.02};
    vg_random random = vg_random__start(11, 1);
    samples calibration = samples_new(N, 1, C), first = samples_new(N, 1, C), second = samples_new(N, 1, C);
    draw(&calibration, &random);
    draw(&first, &random);
    draw(&second, &random);
    for (int score = 0; score < SCORES; score++) {
        vg_sets_options o = VG_SETS_OPTIONS_INIT;
        vg_set_places nothing = VG_SET_PLACES_INIT;
        vg_predictions block = view_of(&calibration, 0, N);
        vg_sets *used, *fresh;
        uint8_t masks[2][3 * N];
        int32_t sizes[2][3 * N];
        o.score = (vg_set_score)score;
        o.alphas = alphas, o.alpha_count = 3;
        ok(vg_sets_new(&used, &o));
        ok(vg_sets_new(&fresh, &o));
        ok(vg_sets_feed(used, NULL, &block, calibration.labels, NULL));
        ok(vg_sets_feed(fresh, NULL, &block, calibration.labels, NULL));
        feed(used, &first, masks[0], sizes[0]);
        ok(vg_sets_feed(used, &nothing, NULL, NULL, NULL));
        assert_true(used->samples == 0 && !used->figures);
        feed(used, &second, masks[0], sizes[0]);
        feed(fresh, &second, masks[1], sizes[1]);
        assert_memory_equal(masks[0], masks[1], sizeof masks[0]);
        assert_memory_equal(sizes[0], sizes[1], sizeof sizes[0]);
        same_figures(used, fresh);
        vg_sets_free(used);
        vg_sets_free(fresh);
    }
    samples_free(&calibration);
    samples_free(&first);
    samples_free(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(begins_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
