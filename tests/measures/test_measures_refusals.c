/* test_measures_refusals.c - what scoring refuses, each with its message, and the nearest values that it accepts;
 * progress, and arrays of results that nothing is written beside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measures/device_scorer_api.h"
#include "refusal.h"
#include "vargate/measures.h"

enum { N = 9, M = 2, C = 3 };
static const vg_score_options usual = VG_SCORE_OPTIONS_INIT;
static const double below_one = 1 - 0x1p-53;

/* Scores N samples of which one element is replaced. */
static vg_status score(const vg_score_options *o, size_t at, double value) {
    double p[N * M * C], tu[N * C], mean[N * C];
    vg_scores out = {.tu = tu, .mean = mean};
    for (size_t i = 0; i < N * M * C; i++)
        p[i] = i % C == 0 ? 0.5 : 0.25;
    p[at] = value;
    vg_predictions view = vg_predictions_f64(p, N, M, C);
    return vg_score(&out, NULL, &view, o);
}
static vg_status with(vg_score_options o) { return score(&o, 0, 0.5); }

static void options(void **state) {
    (void)state;
    vg_score_options o = usual;
    ACCEPTED(with(o));
    o.floor = 1e-31;
    WRONG(with(o), "score options: floor is 1e-31, expected 1e-30 to 1");
    o.floor = 1;
    WRONG(with(o), "score options: floor is 1, expected");
    o.floor = NAN;
    WRONG(with(o), "score options: floor is nan");
    o.floor = 1e-30;
    ACCEPTED(with(o));
    o.floor = below_one;
    ACCEPTED(with(o));
    o.floor_form = VG_FLOOR_CLAMP, o.floor = 0.34;
    WRONG(with(o), "a floor of 0.34 is too high for 3 classes");
    o.floor = 0.33;
    ACCEPTED(with(o));
    o.task = VG_TASK_MULTILABEL, o.floor = 0.4;
    ACCEPTED(with(o));
    o = usual, o.eps = 0;
    WRONG(with(o), "score options: eps is 0, expected between 0 and 1");
    o.eps = 1;
    WRONG(with(o), "score options: eps is 1, expected");
    o.eps = below_one;
    ACCEPTED(with(o));
    const double k[] = {1, 0}, endless[] = {INFINITY};
    o = usual, o.k = k, o.k_count = 2;
    WRONG(with(o), "k must be greater than 0, got 0");
    o.k_count = 1;
    ACCEPTED(with(o));
    o.k = endless;
    WRONG(with(o), "k must be greater than 0, got inf");
    o.k = k, o.k_count = 0; /* the defaults */
    ACCEPTED(with(o));
    const double class_k[] = {1e6, 1, 2e6};
    o = usual, o.class_k = class_k, o.class_k_count = 2;
    WRONG(with(o), "a k for each of 2 classes, the predictions have 3");
    o.class_k_count = 3;
    WRONG(with(o), "k of class 2 is 2e+06, expected more than 0 and at most 1e+06");
    o.class_k_count = 1;
    ACCEPTED(with(o));
}

static void temperatures(void **state) {
    (void)state;
    const double t[] = {1, 0, 2}, endless[] = {2, INFINITY};
    vg_score_options o = usual;
    o.temperature = t, o.temperature_count = 1;
    WRONG(with(o), "a temperature applies to logits, and the input holds probabilities");
    o.logits = 1;
    ACCEPTED(with(o));
    o.temperature_count = 3;
    WRONG(with(o), "3 temperatures for 2 members, expected 1 or 2");
    o.temperature_count = 2;
    WRONG(with(o), "temperature 1 must be greater than 0, got 0");
    o.temperature = endless;
    WRONG(with(o), "temperature 1 must be greater than 0, got inf");
    o.temperature_count = 1;
    ACCEPTED(with(o));
}

static void switches(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
        int most;
    } fields[] = {{"task", offsetof(vg_score_options, task), 2},
                  {"pairs", offsetof(vg_score_options, pairs), 1},
                  {"sigma_gate", offsetof(vg_score_options, sigma_gate), 1},
                  {"sigma_margin", offsetof(vg_score_options, sigma_margin), 1},
                  {"log_base", offsetof(vg_score_options, log_base), 1},
                  {"floor_form", offsetof(vg_score_options, floor_form), 2},
                  {"gate_eps_form", offsetof(vg_score_options, gate_eps_form), 1},
                  {"margin_eps_form", offsetof(vg_score_options, margin_eps_form), 1}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (int value = -1; value <= fields[i].most + 1; value++) {
            char text[100];
            vg_score_options o = usual;
            memcpy((char *)&o + fields[i].offset, &value, sizeof value);
            snprintf(text, sizeof text, "score options: %s is %d, expected 0 to %d", fields[i].name, value,
                     fields[i].most);
            if (value < 0 || value > fields[i].most)
                WRONG(with(o), text);
            else
                ACCEPTED(with(o));
        }
    vg_score_options o = usual;
    o.device = (vg_score_device)3;
    WRONG(with(o), "score options: device is 3, expected 0 to 2");
    o = usual, o.scores_size = offsetof(vg_scores, maxprob) - 1;
    WRONG(with(o), "score options: scores_size is");
    o.scores_size = sizeof(vg_scores) + 1;
    WRONG(with(o), "score options: scores_size is");
    o.scores_size = offsetof(vg_scores, maxprob);
    ACCEPTED(with(o));
    WRONG(vg_score_options_preset(&o, (vg_preset)3), "preset 3 is not known");
    o.struct_size = offsetof(vg_score_options, k) - 1;
    WRONG(vg_score_options_preset(&o, VG_PRESET_VGE), "start from VG_SCORE_OPTIONS_INIT");
    o.struct_size = sizeof o + 1;
    WRONG(vg_score_options_preset(&o, VG_PRESET_VGE), "start from VG_SCORE_OPTIONS_INIT");
    o.struct_size = offsetof(vg_score_options, k);
    ACCEPTED(vg_score_options_preset(&o, VG_PRESET_VGE));
}

static void rows(void **state) {
    (void)state;
    vg_score_options o = usual;
    BAD(score(&o, 8, NAN), "sample 1, member 0, class 2: a probability is not a number");
    BAD(score(&o, 10, INFINITY), "sample 1, member 1, class 1: a probability is infinite");
    BAD(score(&o, 53, -0.25), "sample 8, member 1, class 2: a probability is negative (-0.25)");
    BAD(score(&o, 4, 0.26), "sample 0, member 1: the probabilities sum to 1.01, not 1 (logits: --logits; else");
    BAD(score(&o, 4, 0.2489), "sample 0, member 1: the probabilities sum to 0.9989, not 1");
    ACCEPTED(score(&o, 4, 0.2509));
    ACCEPTED(score(&o, 4, 0.2491));
    o.renormalise = 1;
    ACCEPTED(score(&o, 4, 5));
    BAD(score(&o, 4, -1), "a probability is negative (-1)");
    o = usual, o.task = VG_TASK_MULTILABEL;
    ACCEPTED(score(&o, 7, 1));
    ACCEPTED(score(&o, 7, 0));
    BAD(score(&o, 7, 1.5), "sample 1, member 0, label 1: a probability is above 1 (1.5)");
    BAD(score(&o, 7, -0.5), "sample 1, member 0, class 1: a probability is negative (-0.5)");
    o = usual, o.logits = 1;
    ACCEPTED(score(&o, 7, -100));
    BAD(score(&o, 7, NAN), "sample 1, member 0, class 1: a logit is not a number");
    BAD(score(&o, 7, INFINITY), "sample 1, member 0, class 1: a logit is infinite");
}

static void blocks(void **state) {
    (void)state;
    double p[M * C] = {1, 0, 0, 1, 0, 0}, energy;
    vg_scores out = {.energy = &energy};
    vg_scorer_feed_options there = VG_SCORER_FEED_OPTIONS_INIT;
    vg_predictions block = vg_predictions_f64(p, 1, M, C), other = vg_predictions_f64(p, 1, C, M), odd = block;
    vg_scorer *scorer;
    WRONG(vg_scorer_new(&scorer, 0, C, &usual),
          "predictions have 0 members and 3 classes, expected at least 1 of each");
    WRONG(vg_scorer_new(&scorer, M, 0, &usual), "predictions have 2 members and 0 classes");
    WRONG(vg_scorer_new(&scorer, M, 1, &usual), "one class cannot be scored in multiclass mode");
    ACCEPTED(vg_scorer_new(&scorer, M, C, &usual));
    WRONG(vg_scorer_feed(scorer, &out, &block, NULL), "maxlogit and energy need logits, and the input holds probab");
    out = (vg_scores){.maxlogit = &energy};
    WRONG(vg_scorer_feed(scorer, &out, &block, NULL), "maxlogit and energy need logits");
    out = (vg_scores){.tu = &energy};
    WRONG(vg_scorer_feed(scorer, &out, &other, NULL), "a block has 3 members and 2 classes, the scorer was made for 2");
    odd.dtype = (vg_dtype)(VG_BF16 + 1);
    WRONG(vg_scorer_feed(scorer, &out, &odd, NULL), "element type 4 is not known");
    odd = block, odd.data = NULL;
    WRONG(vg_scorer_feed(scorer, &out, &odd, NULL), "a block of 1 samples has no data");
    odd.n = 0;
    ACCEPTED(vg_scorer_feed(scorer, &out, &odd, NULL));
    there.predictions = VG_MEMORY_DEVICE;
    WRONG(vg_scorer_feed(scorer, &out, &block, &there), "arrays in device memory, and the scorer computes on the CPU");
    there.predictions = VG_MEMORY_HOST, there.scores = VG_MEMORY_DEVICE;
    WRONG(vg_scorer_feed(scorer, &out, &block, &there), "arrays in device memory, and the scorer computes on the CPU");
    there.scores = VG_MEMORY_HOST;
    ACCEPTED(vg_scorer_feed(scorer, &out, &block, &there));
    assert_string_equal(vg_scorer_device(scorer), "cpu");
    vg_scorer_state saved;
    ACCEPTED(vg_scorer_save(scorer, &saved));
    saved.struct_size--;
    WRONG(vg_scorer_restore(scorer, &saved), "a scorer's state has");
    vg_scorer_free(scorer);
    size_t shape[] = {SIZE_MAX / 2, 4};
    vg_sites sites = VG_SITES_INIT;
    REFUSED(vg_sites_view(&sites, p, VG_ELEMENT_F64, "NC", 2, shape, NULL), VG_ERR_MEMORY,
            "an array of that shape does");
    shape[0] = 2;
    WRONG(vg_sites_view(&sites, p, VG_ELEMENT_I64, "NC", 2, shape, NULL),
          "predictions are float32, float64, float16 or");
}

/* --- progress: after every chunk, up to the number of samples */
static unsigned long long reported[8];
static size_t reports;
static int report(void *context, unsigned long long done, unsigned long long total) {
    assert_true(total == *(size_t *)context && reports < 8);
    reported[reports++] = done;
    return 0;
}

static void progress(void **state) {
    (void)state;
    enum { MANY = 65536 * 2 + 5 };
    size_t n = MANY;
    float *p = malloc(2 * sizeof *p * MANY);
    double *tu = malloc(sizeof *tu * MANY);
    vg_score_options o = usual;
    vg_scores out = {.tu = tu};
    o.progress = report, o.progress_context = &n;
    for (size_t i = 0; i < 2 * MANY; i++)
        p[i] = 0.5;
    vg_predictions view = vg_predictions_f32(p, MANY, 1, 2);
    ACCEPTED(vg_score(&out, NULL, &view, &o));
    assert_int_equal(reports, 3);
    assert_true(reported[0] == 65536 && reported[1] == 131072 && reported[2] == MANY);
    free(p);
    free(tu);
}

/* --- nothing is written beside the arrays of results, staged or not */
enum { EDGE = 64, MARK = 0x5a };
typedef struct guarded {
    unsigned char *memory;
    size_t bytes;
} guarded;
static void *guard(guarded *g, size_t bytes, size_t shift) {
    *g = (guarded){malloc(bytes + 2 * EDGE + shift), bytes + shift};
    memset(g->memory, MARK, bytes + 2 * EDGE + shift);
    return g->memory + EDGE + shift;
}
static void intact(guarded *g, size_t shift) {
    for (size_t i = 0; i < EDGE + shift; i++)
        assert_int_equal(g->memory[i], MARK);
    for (size_t i = 0; i < EDGE; i++)
        assert_int_equal(g->memory[EDGE + g->bytes + i], MARK);
    free(g->memory);
}

static void beside(void **state) {
    (void)state;
    static const size_t counts[] = {1, 7, 8, 9, 63, 1000, 80001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t shift = 0; shift < 64; shift += 24) {
            size_t n = counts[i];
            float *p = malloc(4 * n * sizeof *p);
            guarded room[10];
            for (size_t j = 0; j < 4 * n; j++)
                p[j] = j % 2 ? 0.25f : 0.75f;
            vg_scores out = {.tu = guard(&room[0], 8 * n, shift),
                             .au = guard(&room[1], 8 * n, shift),
                             .eu = guard(&room[2], 8 * n, shift),
                             .gtu = guard(&room[3], 24 * n, shift),
                             .gepjs = guard(&room[4], 24 * n, shift),
                             .gmu = guard(&room[5], 8 * n, shift),
                             .pred = guard(&room[6], 4 * n, shift),
                             .decision = guard(&room[7], 12 * n, shift),
                             .flags = guard(&room[8], 4 * n, shift),
                             .geu = guard(&room[9], 24 * n, shift)};
            vg_predictions view = vg_predictions_f32(p, n, 2, 2);
            ACCEPTED(vg_score(&out, NULL, &view, &usual));
            assert_true(fabs(out.tu[n - 1] - out.tu[0]) == 0 && out.pred[n - 1] == 0 && out.gtu[3 * n - 1] > 0);
            for (size_t j = 0; j < 10; j++)
                intact(&room[j], shift);
            free(p);
        }
}

/* Where a scorer of a device cannot be made, there is none. */
static void no_device(void **state) {
    vg_score_options o = VG_SCORE_OPTIONS_INIT;
    vg_device_scorer *made = (vg_device_scorer *)(void *)&o;
    (void)state;
    if (vg_device_scorer__available() != VG_OK) {
        REFUSED(vg_device_scorer__new(&made, 3, 4, &o), VG_ERR_UNSUPPORTED, "no CUDA device: ");
        assert_null(made);
        REFUSED(vg_device_scorer__feed(made, NULL, NULL, NULL), VG_ERR_UNSUPPORTED, "no CUDA device: ");
        vg_device_scorer__free(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(options),  cmocka_unit_test(temperatures),
                                       cmocka_unit_test(switches), cmocka_unit_test(rows),
                                       cmocka_unit_test(blocks),   cmocka_unit_test(progress),
                                       cmocka_unit_test(beside),   cmocka_unit_test(no_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
