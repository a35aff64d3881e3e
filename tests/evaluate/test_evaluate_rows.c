/* test_evaluate_rows.c - the vector kernels on rows and samples against the plain ones, to the bit: strides, lengths
 * that are no whole vectors, values of either sign, ties, NaN; means on the edges of bins and beside them. Memory
 * requested ahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "evaluate/columns_layout.h"
#include "evaluate/evaluate_internal.h"
#include "runs_util.h"

static uint64_t state = 12345;
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static double uniform(void) { return (double)(draw() >> 11) * 0x1p-53; }

static void *room_for(size_t bytes) {
    void *memory = malloc(bytes);
    assert_non_null(memory);
    return memory;
}

/* All items of an ordering by one set of kernels. */
static size_t ordered(uint64_t *out, const vg_row_kernels *kernels, const vg_measure *measure, const uint8_t *errors,
                      size_t stride, size_t rows) {
    vg_rank_room room;
    vg_rank_order order;
    vg_rank_run run;
    size_t count = 0;
    assert_int_equal(vg_evaluate__rank_room(&room, rows, NULL, 0), VG_OK);
    room.kernels = kernels;
    assert_int_equal(
        vg_evaluate__rank_order(&order, &room, &(vg_rank_column){.measure = *measure}, errors, stride, rows), VG_OK);
    while (next_run(&run, &order)) {
        memcpy(out + count, run.items, run.count * sizeof *out);
        count += run.count;
    }
    vg_evaluate__rank_room_free(&room);
    return count;
}

static void same_order(void **unused) {
    static const size_t lengths[] = {1, 7, 8, 9, 100, 1025, 5003, 70001}, strides[] = {1, 2, 3, 5};
    (void)unused;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t j = 0; j < sizeof strides / sizeof *strides; j++)
            for (int kind = 0; kind < 4; kind++) {
                size_t rows = lengths[i], stride = strides[j], error_stride = kind == 3 ? 2 : 1;
                double *values = room_for(rows * stride * sizeof *values);
                uint8_t *errors = room_for(rows * error_stride);
                uint64_t *one = room_for(rows * sizeof *one), *two = room_for(rows * sizeof *two);
                for (size_t r = 0; r < rows * stride; r++) {
                    double u = uniform();
                    values[r] = kind == 0   ? u
                                : kind == 1 ? (u - 0.5) * 1e-3
                                : kind == 2 ? floor(8 * u) - 4
                                            : exp(40 * u - 60);
                    if (kind == 2 && values[r] == 0 && draw() % 2)
                        values[r] = -0.0;
                }
                for (size_t r = 0; r < rows * error_stride; r++)
                    errors[r] = draw() % 4 == 0 ? 3 : 0; /* any value but 0 marks an error */
                vg_measure measure = {.name = "u", .values = values, .stride = stride, .certainty = kind == 1};
                assert_int_equal(ordered(one, &vg_evaluate__rows_plain, &measure, errors, error_stride, rows), rows);
                assert_int_equal(ordered(two, vg_evaluate__rows(), &measure, errors, error_stride, rows), rows);
                assert_memory_equal(one, two, rows * sizeof *one);
                free(values);
                free(errors);
                free(one);
                free(two);
            }
}

/* Rows that the sample of the rows cannot show: of the other sign, zeros, far away. Rising keys, none lost. */
static void rows_unlike_the_sample(void **unused) {
    static const double odd[] = {-1, 0, -0.0, 1e-310, 1e300, INFINITY, -INFINITY, -1e-310, 1.5};
    enum { ROWS = 70001, KINDS = sizeof odd / sizeof *odd };
    double *values = room_for(ROWS * sizeof *values);
    uint8_t *errors = room_for(ROWS);
    (void)unused;
    for (size_t kind = 0; kind < 4 * KINDS; kind++) {
        vg_rank_column column = {.measure = {.name = "u", .values = values, .stride = 1, .certainty = kind % 2}};
        double sign = kind / 2 % 2 ? -1 : 1;
        uint64_t sum = 0, last = 0;
        vg_rank_room room;
        vg_rank_order order;
        vg_rank_run run;
        for (size_t r = 0; r < ROWS; r++) {
            values[r] = r % 1000 == 999 ? odd[kind / 4] : sign * (1 + uniform());
            errors[r] = draw() % 2;
            sum += vg_evaluate__row_key(&column, r) + errors[r];
        }
        assert_int_equal(vg_evaluate__rank_room(&room, ROWS, NULL, 0), VG_OK);
        assert_int_equal(vg_evaluate__rank_order(&order, &room, &column, errors, 1, ROWS), VG_OK);
        while (next_run(&run, &order))
            for (size_t i = 0; i < run.count; i++) {
                uint64_t key = run.high | run.items[i] >> 1;
                assert_true(key >= last);
                last = key;
                sum -= key + (run.items[i] & 1);
            }
        assert_int_equal(sum, 0);
        values[4999] = NAN;
        assert_int_equal(vg_evaluate__rank_order(&order, &room, &column, errors, 1, ROWS), VG_ERR_DATA);
        vg_evaluate__rank_room_free(&room);
    }
    free(values);
    free(errors);
}

static void nan_is_found_in_every_lane(void **unused) {
    enum { ROWS = 67 };
    double values[3 * ROWS];
    uint8_t errors[ROWS] = {0};
    vg_rank_room room;
    vg_rank_order order;
    (void)unused;
    assert_int_equal(vg_evaluate__rank_room(&room, ROWS, NULL, 0), VG_OK);
    for (size_t stride = 1; stride <= 3; stride++)
        for (size_t bad = 0; bad < ROWS; bad++) {
            for (size_t i = 0; i < 3 * ROWS; i++)
                values[i] = uniform();
            values[bad * stride] = NAN;
            vg_measure measure = {.name = "u", .values = values, .stride = stride};
            assert_int_equal(
                vg_evaluate__rank_order(&order, &room, &(vg_rank_column){.measure = measure}, errors, 1, ROWS),
                VG_ERR_DATA);
        }
    vg_evaluate__rank_room_free(&room);
}

static void same_sums_and_marks(void **unused) {
    enum { MOST = 2048, AFTER = 32 };
    uint16_t one[MOST + AFTER], two[MOST + AFTER];
    uint64_t items[MOST];
    uint32_t here[MOST + 8], there[MOST + 8];
    (void)unused;
    for (size_t count = 1; count <= MOST; count += count < 70 ? 1 : 97) {
        for (size_t i = 0; i < MOST + AFTER; i++)
            one[i] = two[i] = (uint16_t)(draw() % 20);
        for (size_t i = 0; i < count; i++) {
            items[i] = count % 3 ? draw() : 2 * i + draw() % 3; /* every third time some neighbours share a key */
        }
        vg_evaluate__rows_plain.prefix_sums(one, count);
        vg_evaluate__rows()->prefix_sums(two, count);
        assert_memory_equal(one, two, sizeof one); /* what follows the cells is left as it was */
        bool tied, tied_too, expected = false;
        for (size_t i = 1; i < count; i++)
            expected |= items[i] >> 1 == items[i - 1] >> 1;
        size_t found = vg_evaluate__rows_plain.find_errors(here, &tied, items, count, 77);
        assert_int_equal(found, vg_evaluate__rows()->find_errors(there, &tied_too, items, count, 77));
        assert_memory_equal(here, there, found * sizeof *here);
        assert_true(tied == expected && tied_too == expected);
        for (size_t i = 0, w = 0; i < count; i++)
            if (items[i] & 1)
                assert_int_equal(here[w++], 77 + i);
    }
}

/* Sums along a walk, to the bit. */
static void same_walks(void **unused) {
    enum { MOST = 301 };
    static double tail[2 * MOST];
    uint32_t before[MOST];
    (void)unused;
    for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 29) {
        double one[8], two[8];
        for (size_t i = 0; i < 2 * MOST; i++)
            tail[i] = uniform();
        for (size_t i = 0; i < n; i++)
            before[i] = (uint32_t)(2 * i + draw() % 2);
        for (size_t i = 0; i < 8; i++)
            one[i] = two[i] = uniform();
        uint64_t sum = vg_evaluate__rows_plain.walk(one, before, n, tail, (double)n + 7, 3.0 * MOST), expected = 0;
        assert_int_equal(sum, vg_evaluate__rows()->walk(two, before, n, tail, (double)n + 7, 3.0 * MOST));
        assert_memory_equal(one, two, sizeof one);
        for (size_t i = 0; i < n; i++)
            expected += before[i];
        assert_int_equal(sum, expected);
    }
}

static int by_size(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Items that are in order except within a cell, as the counting sort leaves them, are sorted, and nothing after them is
 * changed. For a reversed array the function gives up and loses no item. */
static void bucket_order_is_fixed(void **unused) {
    enum { MOST = 2100, MARK = 77 };
    const vg_row_kernels *kernels[] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    uint64_t items[MOST + 16], sorted[MOST];
    (void)unused;
    for (size_t n = 1; n <= MOST; n += n < 40 ? 1 : 103)
        for (unsigned cell = 1; cell <= 7; cell++)
            for (size_t which = 0; which < 2; which++) {
                for (size_t i = 0; i < MOST + 16; i++)
                    items[i] = MARK;
                for (size_t i = 0; i < n; i++) /* the largest that there are, too, and ties */
                    sorted[i] = items[i] =
                        UINT64_MAX - 16 * (uint64_t)((n - 1 - i) / cell) - draw() % 16 / (1 + draw() % 4);
                qsort(sorted, n, sizeof *sorted, by_size);
                assert_true(kernels[which]->fix_bucket_order(items, n, cell * n));
                assert_memory_equal(items, sorted, n * sizeof *items);
                for (size_t i = n; i < MOST + 16; i++)
                    assert_int_equal(items[i], MARK);
            }
    for (size_t which = 0; which < 2; which++) {
        for (size_t i = 0; i < MOST; i++)
            items[i] = MOST - i;
        assert_false(kernels[which]->fix_bucket_order(items, MOST, 4 * (size_t)MOST));
        qsort(items, MOST, sizeof *items, by_size);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(items[i], i + 1);
    }
}

/* Inversions that are left after passes of exchanges: pass p exchanges the neighbours from[p], from[p] + step, and so
 * on, in this order. With a step of 1 it is a pass of bubble sort. */
static size_t inversions_after(uint64_t *items, size_t n, size_t step, const size_t *from, size_t passes) {
    size_t left = 0;
    for (size_t pass = 0; pass < passes; pass++)
        for (size_t i = from[pass]; i + 1 < n; i += step)
            if (items[i] > items[i + 1]) {
                uint64_t item = items[i];
                items[i] = items[i + 1];
                items[i + 1] = item;
            }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            left += items[i] > items[j];
    return left;
}

/* Insertion moves an item once for each inversion that the exchanges before it have left: with so many moves allowed
 * the items are in order, with one less the function gives up. Nothing beside them is changed. */
static void moves_are_counted(void **unused) {
    enum { MOST = 45, MARK = 88, BESIDE = 8 };
    static const size_t bubble[] = {0, 0}, odd_even[] = {0, 1, 0};
    bool vectors = vg_evaluate__rows() != &vg_evaluate__rows_plain;
    uint64_t items[MOST + 2 * BESIDE], copy[MOST], *own = items + BESIDE;
    (void)unused;
    for (size_t trial = 0; trial < 400; trial++) {
        size_t n = 1 + draw() % MOST;
        for (size_t which = 0; which < 1u + vectors; which++) {
            const vg_row_kernels *kernels = which ? vg_evaluate__rows() : &vg_evaluate__rows_plain;
            uint64_t drawn[MOST];
            for (size_t i = 0; i < n; i++)
                drawn[i] = copy[i] = draw() % (trial % 2 ? 50 : 5) + i * (trial % 3);
            size_t left = inversions_after(copy, n, which ? 2 : 1, which ? odd_even : bubble, which ? 3 : 2);
            for (size_t less = 0; less <= (left > 0); less++) {
                for (size_t i = 0; i < MOST + 2 * BESIDE; i++)
                    items[i] = MARK;
                memcpy(own, drawn, n * sizeof *own);
                assert_int_equal(kernels->fix_bucket_order(own, n, left - less), !less);
                for (size_t i = 0; i < MOST + 2 * BESIDE; i++)
                    assert_true((i >= BESIDE && i < BESIDE + n) || items[i] == MARK);
                for (size_t i = 1; !less && i < n; i++)
                    assert_true(own[i - 1] <= own[i]);
            }
        }
    }
}

/* Means that lie on an edge, beside one, at 0 and above 1; equal ones. */
static double some_mean(size_t bins) {
    double edge = (double)(draw() % (bins + 1)) / (double)bins;
    switch (draw() % 6) {
    case 0: return edge;
    case 1: return nextafter(edge, 2);
    case 2: return edge > 0 ? nextafter(edge, -1) : 0;
    case 3: return 1.0019 * uniform();
    case 4: return (double)(draw() % 3) / 4;
    default: return uniform() * uniform();
    }
}

static void same_samples(void **unused) {
    enum { MOST = 40, N = 60 };
    static const size_t bin_counts[] = {1, 2, 15, 49, 10000};
    vg_sample_batch one, two;
    double *mean = room_for(N * MOST * sizeof *mean), *edges = room_for(10001 * sizeof *edges);
    int64_t labels[N];
    vg_sample_batch *both[2] = {&one, &two};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        both[i]->gap = room_for(N * MOST * sizeof(double));
        both[i]->cell = room_for(N * MOST * sizeof(uint32_t));
    }
    for (size_t b = 0; b < sizeof bin_counts / sizeof *bin_counts; b++)
        for (size_t classes = 2; classes <= MOST; classes++) {
            size_t bins = bin_counts[b];
            for (size_t i = 0; i <= bins; i++)
                edges[i] = (double)i / (double)bins;
            for (size_t i = 0; i < N * classes; i++)
                mean[i] = some_mean(bins);
            for (size_t i = 0; i < N; i++)
                labels[i] = (int64_t)(draw() % classes);
            vg_evaluate__rows_plain.samples(&one, mean, labels, N, classes, edges, bins);
            vg_evaluate__rows()->samples(&two, mean, labels, N, classes, edges, bins);
            assert_memory_equal(one.best, two.best, N * sizeof *one.best);
            assert_memory_equal(one.second, two.second, N * sizeof *one.second);
            assert_memory_equal(one.gap, two.gap, N * classes * sizeof *one.gap);
            assert_memory_equal(one.cell, two.cell, N * classes * sizeof *one.cell);
            for (size_t i = 0; i < N; i++)
                assert_true(fabs(one.brier[i] - two.brier[i]) <= 1e-14 * one.brier[i]);
        }
    for (int i = 0; i < 2; i++) {
        free(both[i]->gap);
        free(both[i]->cell);
    }
    free(mean);
    free(edges);
}

/* The first value that is none must be at or after the answer, and before it nothing is wrong. */
static void ambiguous_values_are_named(void **unused) {
    enum { COUNT = 50 };
    static const double wrong[] = {-1e-300, 1.0021, NAN, INFINITY, -INFINITY};
    double values[COUNT];
    const vg_row_kernels *kernels[2] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
            for (size_t bad = 0; bad < COUNT; bad++) {
                for (size_t i = 0; i < COUNT; i++)
                    values[i] = uniform();
                values[bad] = wrong[w];
                size_t answer = kernels[k]->find_out_of_range(values, COUNT, 1.002);
                assert_true(answer <= bad && bad < answer + 8);
            }
}

/* Probabilities from 0 to the bound pass the quick check in any number, wherever they lie. */
static void valid_values_pass(void **unused) {
    enum { MOST = 70 };
    double values[MOST];
    const vg_row_kernels *kernels[2] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (size_t count = 8; count <= MOST; count++) {
            for (size_t i = 0; i < count; i++)
                values[i] = i % 5 == 0 ? 0 : i % 5 == 1 ? 1.002 : i % 5 == 2 ? 1e-310 : uniform();
            size_t answer = kernels[k]->find_out_of_range(values, count, 1.002);
            assert_true(answer == SIZE_MAX || answer > count - 8); /* the last values may be left to the caller */
            assert_true(count % 8 || answer == SIZE_MAX);
        }
}

/* The largest, the least and the sum of each row, wherever they stand in it. */
static void extremes_of_rows(void **unused) {
    enum { N = 5, MOST = 37 };
    double p[N * MOST], most[N], least[N], sum[N];
    const vg_row_kernels *kernels[2] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (size_t c = 2; c <= MOST; c++)
            for (size_t at = 0; at < c; at++) {
                for (size_t i = 0; i < N * c; i++)
                    p[i] = uniform();
                for (size_t i = 0; i < N; i++) {
                    p[i * c + at] = 2;
                    p[i * c + (at + 1 + i) % c] = -1;
                }
                kernels[k]->extremes(most, least, sum, p, N, c);
                for (size_t i = 0; i < N; i++) {
                    double high = -INFINITY, low = INFINITY, total = 0;
                    for (size_t j = 0; j < c; j++) {
                        high = fmax(high, p[i * c + j]);
                        low = fmin(low, p[i * c + j]);
                        total += p[i * c + j];
                    }
                    assert_true(most[i] == high && least[i] == low && fabs(sum[i] - total) <= 1e-14 * (double)c);
                }
                p[at] = NAN;
                kernels[k]->extremes(most, least, sum, p, N, c);
                assert_true(isnan(sum[0]) && !isnan(sum[1]));
            }
}

/* What a row adds to the area and its variance: the share of the other kind below (above) it less the area, over the
 * rows of its own kind. */
static void influences_of_rows(void **unused) {
    enum { MOST = 41 };
    double rows[MOST], before[MOST];
    uint8_t positive[MOST];
    const vg_area area = {0.7, 30, 50};
    const vg_row_kernels *kernels[2] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (size_t n = 1; n <= MOST; n++) {
            for (size_t i = 0; i < n; i++) {
                positive[i] = draw() % 2;
                before[i] = rows[i] = floor(30 * uniform()) / 2;
            }
            kernels[k]->influences(rows, positive, n, &area);
            for (size_t i = 0; i < n; i++) {
                double expected = positive[i] ? (before[i] / 50 - 0.7) / 30 : ((30 - before[i]) / 30 - 0.7) / 50;
                assert_true(fabs(rows[i] - expected) <= 1e-16);
            }
        }
}

/* Every item whose next neighbour has the same key, with the errors before it. */
static void ties_are_listed(void **unused) {
    enum { MOST = 300 };
    uint64_t items[MOST];
    vg_rank_tie ties[MOST];
    const vg_row_kernels *kernels[2] = {&vg_evaluate__rows_plain, vg_evaluate__rows()};
    (void)unused;
    for (int k = 0; k < 2; k++)
        for (size_t n = 1; n <= MOST; n++) {
            uint64_t key = 0;
            for (size_t i = 0; i < n; i++) {
                key += draw() % 3 ? 1 : 0;
                items[i] = key << 1 | draw() % 2;
            }
            size_t count = kernels[k]->find_ties(ties, items, n), expected = 0, errors = 0;
            for (size_t i = 0; i < n; errors += items[i++] & 1)
                if (i + 1 < n && items[i] >> 1 == items[i + 1] >> 1) {
                    assert_true(expected < count);
                    assert_int_equal(ties[expected].item, i);
                    assert_int_equal(ties[expected++].errors, errors);
                }
            assert_int_equal(count, expected);
        }
}

static void memory_ahead_changes_nothing(void **unused) {
    enum { ROWS = 5000 };
    const double k[] = {1, 2};
    vg_columns *columns;
    vg_scores places;
    (void)unused;
    assert_int_equal(vg_columns__new(&columns, ROWS, k, 2, VG_COLUMN_TU | VG_COLUMN_GEU), VG_OK);
    vg_columns__at(columns, 0, &places);
    for (size_t i = 0; i < ROWS; i++) {
        places.tu[i] = (double)i;
        places.geu[2 * i] = places.geu[2 * i + 1] = -(double)i;
    }
    vg_columns__prefault(columns, 0, ROWS);
    vg_columns__prefault(columns, 10, SIZE_MAX);
    vg_columns__prefault(columns, ROWS, 5);
    vg_columns__prefault(columns, SIZE_MAX, SIZE_MAX);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(places.tu[i] == (double)i);
        assert_true(places.geu[2 * i] == -(double)i && places.geu[2 * i + 1] == -(double)i);
    }
    vg_columns__free(columns);
}

/* The rule's counts by pairs of classes (few) and row by row (many) are those of the public call. */
static void same_rule(void **unused) {
    enum { ROWS = 700, MOST = 40 };
    static const size_t classes[] = {2, 10, 32, 33, MOST};
    static const double k = 0.7;
    static double mean[ROWS * MOST], std[ROWS * MOST];
    static int64_t labels[ROWS];
    (void)unused;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
        size_t width = classes[c], by_label[MOST], by_prediction[MOST];
        vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
        vg_tally *tally;
        vg_evaluation *e;
        size_t kept = 0, kept_errors = 0, abstained_errors = 0;
        memset(by_label, 0, sizeof by_label);
        memset(by_prediction, 0, sizeof by_prediction);
        for (size_t i = 0; i < ROWS * width; i++)
            mean[i] = uniform(), std[i] = uniform() / 4;
        for (size_t i = 0; i < ROWS; i++)
            labels[i] = (int64_t)(draw() % width);
        options.k = &k;
        options.k_count = 1;
        assert_int_equal(vg_tally_new(&tally, width, NULL), VG_OK);
        assert_int_equal(vg_tally_feed(tally, mean, std, labels, ROWS), VG_OK);
        assert_int_equal(vg_evaluate(&e, tally, NULL, 0, &options), VG_OK);
        for (size_t i = 0; i < ROWS; i++) { /* one row after the other */
            bool wrong = vg_tally__info(tally).errors[i] != 0, keeps = k < vg_tally__info(tally).ratio[i];
            kept += keeps;
            kept_errors += keeps && wrong;
            abstained_errors += !keeps && wrong;
            by_label[labels[i]] += !keeps;
            by_prediction[tally->prediction[i]] += !keeps;
        }
        assert_true(kept > 0 && kept < ROWS);
        assert_int_equal(e->rule[0].kept, kept);
        assert_int_equal(e->rule[0].abstained, ROWS - kept);
        assert_int_equal(e->rule[0].kept_errors, kept_errors);
        assert_int_equal(e->rule[0].abstained_errors, abstained_errors);
        assert_memory_equal(e->rule[0].abstained_by_label, by_label, width * sizeof *by_label);
        assert_memory_equal(e->rule[0].abstained_by_prediction, by_prediction, width * sizeof *by_prediction);
        vg_evaluation_free(e);
        vg_tally_free(tally);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_order),
        cmocka_unit_test(rows_unlike_the_sample),
        cmocka_unit_test(nan_is_found_in_every_lane),
        cmocka_unit_test(same_sums_and_marks),
        cmocka_unit_test(same_walks),
        cmocka_unit_test(bucket_order_is_fixed),
        cmocka_unit_test(moves_are_counted),
        cmocka_unit_test(same_samples),
        cmocka_unit_test(ambiguous_values_are_named),
        cmocka_unit_test(valid_values_pass),
        cmocka_unit_test(extremes_of_rows),
        cmocka_unit_test(influences_of_rows),
        cmocka_unit_test(ties_are_listed),
        cmocka_unit_test(memory_ahead_changes_nothing),
        cmocka_unit_test(same_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
