/* test_evaluate_order.c - the orderings behind rankings, against a plain sort: values of every spread, ties,
 * infinities, sizes around every change of method; and that long calls stop on request. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "runs_util.h"
#include "vargate/evaluate.h"

enum { KINDS = 11 };

static double draw(vg_random *random, int kind, size_t i) {
    double r = vg_random__unit(random), s = i % 2 ? 1 : -1;
    switch (kind) {
    case 0: return r;
    case 1: return floor(8 * r) - 4;                                         /* few values */
    case 2: return i % 97 ? s * exp(1200 * (r - .5)) : s * (double)INFINITY; /* every exponent */
    case 3: return 1 + r * 1e-13;                                            /* a few hundred neighbours */
    case 4: return r < .9 ? 0 : r;                                           /* one value far ahead */
    case 5: return r < .5 ? 1 + floor(r * 1e4) * 0x1p-52 : 1 + r * 0x1p-30;  /* a bunch inside one bucket */
    case 6: return -exp(8 * r);                                              /* certainties, negated */
    case 7: return (double)i;                                                /* sorted already */
    case 8: return floor(33 * r) / 8;                                        /* 33 values: one too many to count */
    case 9: return s * (r > .5 ? 1e300 : 1) * (1 + floor(4 * r) * 0x1p-52);  /* apart in the last bits */
    default: return (double)(float)(r * r) * (i % 1000 ? 1 : -1e-17);        /* single precision, a few below zero */
    }
}

typedef struct row {
    double value;
    uint8_t error;
} row;

static int by_value_then_error(const void *a, const void *b) {
    const row *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : x->error - y->error;
}

/* The groups of a ranking: rows of equal value that hold an error, by rising value. */
static void check_groups(const vg_rank_groups *g, const row *rows, size_t n) {
    size_t group = 0, tied = 0, seen = 0;
    for (size_t first = 0, end; first < n; first = end) {
        size_t wrong = 0;
        for (end = first; end < n && rows[end].value == rows[first].value; end++)
            wrong += rows[end].error;
        if (wrong == 0)
            continue;
        assert_true(group < g->count);
        assert_int_equal(g->before[group], first);
        if (end - first > 1) {
            assert_true(tied < g->tied_count);
            assert_int_equal(g->tied[tied].group, group);
            assert_int_equal(g->tied[tied].mass, end - first);
            assert_int_equal(g->tied[tied].errors, wrong);
            assert_int_equal(g->tied[tied++].seen, seen);
        }
        seen += wrong;
        group++;
    }
    assert_int_equal(group, g->count);
    assert_int_equal(tied, g->tied_count);
    assert_int_equal(seen, g->wrong);
}

/* The first of `rows`, which rise, whose value is not below (`above`: is above) `value`. */
static size_t first_row(const row *rows, size_t n, double value, bool above) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].value < value || (above && rows[middle].value == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows of the other kind below every row, against counts over the sorted rows. */
static void check_below(vg_rank_room *room, const vg_rank_column *column, const uint8_t *positive, const row *rows,
                        size_t n) {
    double *below = malloc(n * sizeof *below), sum = 0;
    vg_rows_below counts;
    size_t *errors = calloc(n + 1, sizeof *errors); /* among the first i rows */
    for (size_t i = 0; i < n; i++)
        errors[i + 1] = errors[i] + rows[i].error;
    assert_int_equal(vg_evaluate__count_below(&counts, room, column, positive, n), VG_OK);
    for (size_t i = 0; i < n; i += VG_ROW_BATCH)
        vg_evaluate__next_below(below + i, &counts, n - i < VG_ROW_BATCH ? n - i : (size_t)VG_ROW_BATCH);
    for (size_t i = 0; i < n; i++) {
        double value = vg_evaluate__value(column, i);
        value = column->measure.certainty ? -value : value;
        size_t first = first_row(rows, n, value, false), end = first_row(rows, n, value, true);
        double under = (double)errors[first], equal = (double)(errors[end] - errors[first]);
        if (positive[i]) {
            under = (double)first - under;
            equal = (double)(end - first) - equal;
        }
        assert_true(below[i] == under + equal / 2);
        sum += positive[i] ? below[i] : 0;
    }
    assert_true(counts.sum == sum);
    assert_true(counts.positives == (double)errors[n] && counts.negatives == (double)(n - errors[n]));
    free(below);
    free(errors);
}

/* Groups and counts of what check_order ordered. */
static void check_beside(vg_rank_room *room, const vg_rank_column *column, const uint8_t *errors, const row *rows,
                         size_t n) {
    vg_rank_groups groups;
    uint8_t *positive = malloc(n);
    for (size_t i = 0; i < n; i++)
        positive[i] = errors[2 * i];
    assert_int_equal(vg_evaluate__rank_groups(&groups, room, column, errors, 2, n), VG_OK);
    check_groups(&groups, rows, n);
    check_below(room, column, positive, rows, n);
    free(positive);
}

static void check_order(int kind, size_t n, bool certainty, double rate) {
    vg_random random = vg_random__start(31, (uint64_t)kind);
    double *values = malloc(3 * n * sizeof *values);
    uint8_t *errors = malloc(2 * n);
    row *rows = malloc(n * sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        values[3 * i] = draw(&random, kind, i);
        values[3 * i + 1] = NAN; /* not to be looked at */
        errors[2 * i] = vg_random__unit(&random) < rate;
        rows[i] = (row){certainty ? -values[3 * i] : values[3 * i], errors[2 * i]};
    }
    qsort(rows, n, sizeof *rows, by_value_then_error);
    vg_rank_room room;
    vg_rank_order order;
    vg_rank_run run;
    vg_measure measure = {"x", values, 3, certainty};
    assert_int_equal(vg_evaluate__rank_room(&room, n, NULL, 0), VG_OK);
    assert_int_equal(vg_evaluate__rank_order(&order, &room, &(vg_rank_column){.measure = measure}, errors, 2, n),
                     VG_OK);
    size_t done = 0;
    while (next_run(&run, &order)) {
        assert_int_equal(run.before, done);
        assert_true(run.count > 0 && run.count <= n - done);
        for (size_t i = 0; i < run.count; i++, done++) {
            double value = vg_evaluate__unkey(run.high | run.items[i] >> 1);
            if (value != rows[done].value || (run.items[i] & 1) != rows[done].error)
                fail_msg("kind %d, %zu rows: place %zu holds %.17g, %d, expected %.17g, %d", kind, n, done, value,
                         (int)(run.items[i] & 1), rows[done].value, rows[done].error);
        }
    }
    assert_int_equal(done, n);
    check_beside(&room, &(vg_rank_column){.measure = measure}, errors, rows, n);
    vg_evaluate__rank_room_free(&room);
    free(values);
    free(errors);
    free(rows);
}

static void test_order(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 13, 1024, 1025, 32767, 32768, 150000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < KINDS; kind++)
            check_order(kind, sizes[s], kind == 6 || kind == 2, kind % 2 ? .03 : .4);
}

static void test_first_nan_is_named(void **state) {
    (void)state;
    enum { ROWS = 50000 };
    double *values = calloc(ROWS, sizeof *values);
    uint8_t *errors = calloc(ROWS, 1);
    values[40001] = values[49999] = NAN;
    vg_measure measure = {"gtu@1", values, 1, 0};
    vg_ranking ranking;
    assert_int_equal(vg_rank(&ranking, &measure, errors, ROWS, NULL), VG_ERR_DATA);
    assert_string_equal(vg_error_message(), "measure gtu@1: value 40001 is NaN; a number is needed to rank it");
    free(values);
    free(errors);
}

/* --- stopping --------------------------------------------------------------------------------------------------- */
typedef struct asked {
    unsigned long long times, stop_at, done, total;
    bool went_back;
} asked;

static int ask(void *context, unsigned long long done, unsigned long long total) {
    asked *a = context;
    a->went_back |= done < a->done || done > total || (a->total && total != a->total);
    a->done = done;
    a->total = total;
    return ++a->times == a->stop_at;
}

enum { SAMPLES = 20000, CLASSES = 3 };

static vg_tally *make_tally(void) {
    vg_random random = vg_random__start(5, 1);
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.bootstrap = 1;
    vg_tally *tally;
    assert_int_equal(vg_tally_new(&tally, CLASSES, &options), VG_OK);
    for (size_t i = 0; i < SAMPLES; i++) {
        double a = vg_random__unit(&random), mean[CLASSES] = {a, (1 - a) / 4, (1 - a) * 3 / 4},
               std[CLASSES] = {.1, .1, .1};
        int64_t label = (int64_t)vg_random__below(&random, CLASSES);
        assert_int_equal(vg_tally_feed(tally, mean, std, &label, 1), VG_OK);
    }
    return tally;
}

/* Asked before every measure at least, on any number of threads; a stop at any of the questions ends the call. */
static void test_evaluate_stops(void **state) {
    (void)state;
    static double values[4][SAMPLES];
    vg_random random = vg_random__start(6, 1);
    for (size_t i = 0; i < 4 * SAMPLES; i++)
        values[i / SAMPLES][i % SAMPLES] = vg_random__unit(&random);
    vg_measure measures[4] = {
        {"a", values[0], 1, 0}, {"b", values[1], 1, 0}, {"c", values[2], 1, 0}, {"d", values[3], 1, 0}};
    vg_tally *tally = make_tally();
    for (size_t resamples = 0; resamples <= 16; resamples += 16) {
        vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
        vg_evaluation *e;
        asked all = {0};
        options.threads = 1;
        options.resamples = resamples;
        options.progress = ask;
        options.progress_context = &all;
        assert_int_equal(vg_evaluate(&e, tally, measures, 4, &options), VG_OK);
        vg_evaluation_free(e);
        assert_true(all.times >= 8 && !all.went_back && all.total >= 8 + resamples && all.done == all.total);
        for (unsigned long long stop = 1; stop <= all.times; stop++) {
            asked one = {.stop_at = stop};
            options.progress_context = &one;
            assert_int_equal(vg_evaluate(&e, tally, measures, 4, &options), VG_ERR_INTERRUPTED);
            assert_null(e);
            assert_true(one.times == stop);
        }
        asked first = {.stop_at = 1};
        options.progress_context = &first;
        options.threads = 3;
        assert_int_equal(vg_evaluate(&e, tally, measures, 4, &options), VG_ERR_INTERRUPTED);
    }
    vg_tally_free(tally);
}

static void test_ood_stops(void **state) {
    (void)state;
    static double values[2][SAMPLES];
    vg_random random = vg_random__start(7, 1);
    for (size_t i = 0; i < 2 * SAMPLES; i++)
        values[i / SAMPLES][i % SAMPLES] = vg_random__unit(&random);
    vg_measure id[2] = {{"a", values[0], 1, 0}, {"b", values[0], 1, 0}},
               ood[2] = {{"a", values[1], 1, 0}, {"b", values[1], 1, 0}};
    vg_ood_row rows[2];
    for (size_t resamples = 0; resamples <= 16; resamples += 16) {
        vg_ood_options options = VG_OOD_OPTIONS_INIT;
        asked all = {0};
        options.threads = 1;
        options.resamples = resamples;
        options.progress = ask;
        options.progress_context = &all;
        assert_int_equal(vg_ood_evaluate(rows, id, SAMPLES, ood, SAMPLES, 2, &options), VG_OK);
        assert_true(all.times >= 2 && !all.went_back && all.done > 0 && all.done + 8 >= all.total);
        for (unsigned long long stop = 1; stop <= all.times; stop++) {
            asked one = {.stop_at = stop};
            options.progress_context = &one;
            assert_int_equal(vg_ood_evaluate(rows, id, SAMPLES, ood, SAMPLES, 2, &options), VG_ERR_INTERRUPTED);
        }
    }
}

/* While another worker is still busy, the calling thread keeps asking. */
typedef struct waiting {
    atomic_bool started, asked;
} waiting;

static void be_asked(void *context) { atomic_store(&((waiting *)context)->asked, true); }

static vg_status wait_until_asked(void *context, size_t index, unsigned worker) {
    waiting *w = context;
    (void)index;
    const struct timespec moment = {0, 1000000};
    if (worker != 0)
        atomic_store(&w->started, true);
    for (int i = 0; i < 20000 && !atomic_load(worker == 0 ? &w->started : &w->asked); i++)
        nanosleep(&moment, NULL);
    return VG_OK;
}

static void test_asked_while_waiting(void **state) {
    (void)state;
    vg_pool *pool;
    waiting w = {false, false};
    assert_int_equal(vg_pool__new(&pool, 2), VG_OK);
    vg_pool__while_waiting(pool, be_asked, &w);
    assert_int_equal(vg_pool__run(pool, 2, wait_until_asked, &w), VG_OK);
    assert_true(atomic_load(&w.started) && atomic_load(&w.asked));
    vg_pool__free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_first_nan_is_named),
        cmocka_unit_test(test_evaluate_stops),
        cmocka_unit_test(test_ood_stops),
        cmocka_unit_test(test_asked_while_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
