/* sets_util.h - samples and options for the tests of prediction sets. */
#ifndef VG_TEST_SETS_UTIL_H
#define VG_TEST_SETS_UTIL_H

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

#include "base/random.h"
#include "evaluate/bounds.h"
#include "vargate/formats.h"
#include "vargate/sets.h"
#include "vargate/workflow.h"

enum { SCORES = 7 };

static inline bool is_long(void) { return getenv("VARGATE_LONG_TESTS") != NULL; }
static inline void ok(vg_status status) {
    if (status != VG_OK)
        fail_msg("%s", vg_error_message());
}

/* --- data --------------------------------------------------------------------------------------------------------- */
typedef struct samples {
    size_t n, m, c;
    double *p; /* n x m x c */
    int64_t *labels;
} samples;

static inline samples samples_new(size_t n, size_t m, size_t c) {
    samples s = {n, m, c, malloc(n * m * c * sizeof(double)), malloc(n * sizeof(int64_t))};
    assert_non_null(s.p);
    assert_non_null(s.labels);
    return s;
}
static inline void samples_free(samples *s) {
    free(s->p);
    free(s->labels);
}
static inline vg_predictions view_of(const samples *s, size_t first, size_t count) {
    return vg_predictions_f64(s->p + first * s->m * s->c, count, s->m, s->c);
}

/* The example's logits as probabilities, each group of members averaged to one of `m` members. */
static inline samples example(size_t m) {
    vg_prediction_file *file;
    size_t n, M, c, columns;
    int logits;
    const int64_t *labels;
    vg_predictions view;
    ok(vg_prediction_file_open(&file, "data/example-predictions.npz", NULL));
    vg_prediction_file_shape(file, &n, &M, &c, &logits);
    assert_int_equal(logits, 1);
    ok(vg_prediction_file_labels(file, &labels, &columns));
    ok(vg_prediction_file_block(file, 0, n, &view));
    samples s = samples_new(n, m, c);
    memset(s.p, 0, n * m * c * sizeof *s.p);
    const float *z = view.data;
    for (size_t i = 0; i < n; i++) {
        s.labels[i] = labels[i];
        for (size_t j = 0; j < M; j++) {
            const float *row = z + (ptrdiff_t)i * view.stride_n + (ptrdiff_t)j * view.stride_m;
            double sum = 0;
            for (size_t k = 0; k < c; k++)
                sum += exp((double)row[k]);
            for (size_t k = 0; k < c; k++)
                s.p[(i * m + j % m) * c + k] += exp((double)row[k]) / sum / (double)(M / m);
        }
    }
    vg_prediction_file_close(file);
    return s;
}

/* Puts the samples into a random order. */
static inline void shuffle(samples *s, vg_random *random) {
    size_t row = s->m * s->c;
    double kept[64 * 16];
    assert_true(row <= sizeof kept / sizeof *kept);
    for (size_t i = s->n; i > 1; i--) {
        size_t j = (size_t)vg_random__below(random, i);
        int64_t label = s->labels[i - 1];
        memcpy(kept, s->p + j * row, row * sizeof *kept);
        memmove(s->p + j * row, s->p + (i - 1) * row, row * sizeof *kept);
        memcpy(s->p + (i - 1) * row, kept, row * sizeof *kept);
        s->labels[i - 1] = s->labels[j];
        s->labels[j] = label;
    }
}

/* Random members: `levels` > 0 rounds probabilities to multiples of 1 / levels, so that many are equal. */
static inline samples random_samples(size_t n, size_t m, size_t c, unsigned levels, uint64_t seed) {
    samples s = samples_new(n, m, c);
    vg_random random = vg_random__start(seed, 0);
    for (size_t r = 0; r < n * m; r++) {
        double sum = 0, *p = s.p + r * c;
        for (size_t k = 0; k < c; k++)
            sum += p[k] = pow(vg_random__unit(&random), 4);
        for (size_t k = 0; k < c; k++)
            p[k] /= sum;
        if (levels == 0)
            continue;
        for (size_t k = 0; k < c; k++)
            p[k] = 0;
        for (unsigned i = 0; i < levels; i++)
            p[vg_random__below(&random, 1 + vg_random__below(&random, c))] += 1.0 / levels;
    }
    for (size_t i = 0; i < n; i++)
        s.labels[i] = (int64_t)vg_random__below(&random, 1 + vg_random__below(&random, c));
    return s;
}

static inline vg_sets *new_sets(vg_sets_options *o, unsigned threads) {
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    vg_sets *sets;
    scoring.threads = threads;
    if (!o->scoring)
        o->scoring = &scoring;
    ok(vg_sets_new(&sets, o));
    if (o->scoring == &scoring)
        o->scoring = NULL;
    return sets;
}

static inline vg_sets_options options_of(int score) {
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    o.score = (vg_set_score)score;
    if (score == VG_SET_RAPS || score == VG_SET_SAPS)
        o.lambda = 0.05;
    if (score == VG_SET_RAPS)
        o.k_reg = 1;
    return o;
}

#endif
