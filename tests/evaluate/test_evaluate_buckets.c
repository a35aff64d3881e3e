/* test_evaluate_buckets.c - how much work an ordering takes, seen through the kernels that it calls: rows are gathered
 * once, buckets are of about equal mass, they are counted into about as many cells as they have rows, and few
 * inversions are left, but for one bucket beside 0 whose values are of many powers of two. The order itself is tested
 * in test_evaluate_order.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "evaluate/evaluate_internal.h"
#include "runs_util.h"

/* What the kernels were asked for during one ordering. */
static struct {
    size_t gathered, cells, given_up;
} work;

static bool gather_rows(vg_rank_room *room, const vg_bucket_map *map, const vg_rank_rows *rows, size_t first,
                        size_t last) {
    work.gathered += last - first;
    return vg_evaluate__rows()->gather_rows(room, map, rows, first, last);
}
static void prefix_sums(uint16_t *cells, size_t count) {
    work.cells += count;
    vg_evaluate__rows()->prefix_sums(cells, count);
}
static bool fix_bucket_order(uint64_t *items, size_t n, size_t most) {
    bool fixed = vg_evaluate__rows()->fix_bucket_order(items, n, most);
    work.given_up += !fixed;
    return fixed;
}

/* Distributions that measures have: even, towards 0, towards 1, over many powers of two, in the middle, and in both
 * signs. Values that crowd at one end share a bucket there. */
enum { KINDS = 6, AT_ONE = 2, BOTH_SIGNS = 5, MOST = 600000 };
static double value_of(vg_random *random, int kind) {
    double u = vg_random__unit(random), v = vg_random__unit(random);
    switch (kind) {
    case 0: return u;
    case 1: return -log(1 - u);
    case 2: return 1 - u * u * u * v;
    case 3: return exp(20 * (u + v) - 20);
    case 4: return (u + v + vg_random__unit(random)) / 3;
    default: return u * v - 0.5;
    }
}

typedef struct shape {
    size_t runs, largest;
} shape;

static shape order(const double *values, const uint8_t *errors, size_t n, int certainty) {
    vg_row_kernels kernels = *vg_evaluate__rows();
    vg_rank_room room;
    vg_rank_order ordered;
    vg_rank_run run;
    shape s = {0, 0};
    kernels.gather_rows = gather_rows;
    kernels.prefix_sums = prefix_sums;
    kernels.fix_bucket_order = fix_bucket_order;
    memset(&work, 0, sizeof work);
    assert_int_equal(vg_evaluate__rank_room(&room, n, NULL, 0), VG_OK);
    room.kernels = &kernels;
    vg_rank_column column = {.measure = {"u", values, 1, certainty}};
    assert_int_equal(vg_evaluate__rank_order(&ordered, &room, &column, errors, 1, n), VG_OK);
    for (size_t b = 0; b < ordered.buckets; b++) { /* where the range of a bucket is known, its items are inside */
        size_t rows = vg_evaluate__bucket_rows(&room, b);
        vg_rank_bounds known = room.bounds[b], found;
        if (rows == 0 || known.range == 0)
            continue;
        room.bounds[b].range = 0; /* look at the items */
        found = vg_evaluate__bucket_bounds(&room, b, rows);
        room.bounds[b] = known;
        assert_true(found.least >= known.least && known.least % 2 == 0);
        uint64_t span = found.range ? (uint64_t)1 << (found.range - 1) : 0; /* at least, to the largest item */
        assert_true(known.range >= 64 || found.least - known.least + span < (uint64_t)1 << known.range);
    }
    while (next_run(&run, &ordered)) {
        s.runs++;
        s.largest = run.count > s.largest ? run.count : s.largest;
    }
    vg_evaluate__rank_room_free(&room);
    return s;
}

static void buckets_are_even(void **state) {
    static const size_t sizes[] = {2000, 20000, 200000, MOST};
    static double values[MOST];
    static uint8_t errors[MOST];
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            size_t n = sizes[i];
            vg_random random = vg_random__start(41, (uint64_t)kind);
            for (size_t r = 0; r < n; r++) {
                values[r] = value_of(&random, kind);
                errors[r] = vg_random__unit(&random) < 0.1;
            }
            shape s = order(values, errors, n, kind == AT_ONE);
            if (n == MOST)
                print_message("kind %d: %zu runs, at most %zu rows, %.2f cells a row\n", kind, s.runs, s.largest,
                              (double)work.cells / (double)n);
            assert_int_equal(work.gathered, n);
            assert_true(work.given_up <= (kind == BOTH_SIGNS));
            assert_true(work.cells <= 2 * n && 5 * work.cells >= 3 * n);
            if (n == 2000)
                continue;
            assert_true(s.runs >= 50 && s.runs <= 1000);
            assert_true(s.largest <= (kind == AT_ONE ? n / 8 : n / 100 > 1500 ? n / 100 : 1500));
        }
}

/* Rows of at most 32 values are counted value by value and put into no buckets; of one value more they are. */
static void few_values_are_counted(void **state) {
    enum { ROWS = 50000 };
    static double values[ROWS];
    static const uint8_t errors[ROWS];
    (void)state;
    for (size_t distinct = 1; distinct <= 33; distinct += 16) {
        vg_row_kernels kernels = *vg_evaluate__rows();
        vg_rank_room room;
        vg_rank_groups groups;
        for (size_t i = 0; i < ROWS; i++)
            values[i] = (double)(i % distinct);
        kernels.gather_rows = gather_rows;
        memset(&work, 0, sizeof work);
        assert_int_equal(vg_evaluate__rank_room(&room, ROWS, NULL, 0), VG_OK);
        room.kernels = &kernels;
        vg_rank_column column = {.measure = {"u", values, 1, 0}};
        assert_int_equal(vg_evaluate__rank_groups(&groups, &room, &column, errors, 1, ROWS), VG_OK);
        assert_int_equal(work.gathered, distinct > 32 ? ROWS : 0);
        vg_evaluate__rank_room_free(&room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(buckets_are_even), cmocka_unit_test(few_values_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
