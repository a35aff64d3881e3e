/* test_evaluate_columns.c - columns in planes and lean ones: the same values, and the same evaluations to the bit,
 * as columns that hold every measure side by side. */
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

#include "evaluate/columns_layout.h"
#include "evaluate/evaluate_internal.h"
#include "measures/measure_table.h"
#include "measures/scorer.h"
#include "measures_util.h"
#include "vargate/evaluate.h"

enum { M = 5, C = 4, K = 3, N = 3001, BLOCK = 1234 };
static const double gates[K] = {2, 1e300, 0.5}; /* the second gates members to nothing */

typedef struct scored {
    vg_columns *columns;
    vg_tally *tally;
} scored;

/* Every hundredth sample has members that agree on nothing, others occur twice. */
static double *predictions(void) {
    double *p = make_predictions(N, M, C, MAKE_DIRICHLET, 1);
    for (size_t i = 0; i < N; i += 100)
        for (size_t j = 0; j < M * C; j++)
            p[i * M * C + j] = j % C == j / C % C;
    for (size_t i = 1; i < N; i += 50)
        memcpy(p + i * M * C, p + (i + 7) * M * C, M * C * sizeof *p);
    return p;
}

/* Scores in blocks. */
static scored score(const double *p, unsigned extra, bool single, bool multilabel) {
    scored out;
    double mean[BLOCK * C], std[BLOCK * C];
    float *narrow = malloc(N * M * C * sizeof *narrow);
    int64_t labels[BLOCK * C];
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_tally_options counted = VG_TALLY_OPTIONS_INIT;
    size_t each = multilabel ? C : 1, rows = N * each;
    vg_scorer *scorer;
    for (size_t i = 0; i < N * M * C; i++)
        narrow[i] = (float)p[i];
    options.k = gates;
    options.k_count = K;
    options.task = counted.task = multilabel ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    counted.bootstrap = 1;
    assert_int_equal(vg_scorer_new(&scorer, M, C, &options), VG_OK);
    assert_int_equal(vg_tally_new(&out.tally, C, &counted), VG_OK);
    assert_int_equal(vg_columns__new(&out.columns, rows, gates, K, VG_COLUMNS_ALL | extra), VG_OK);
    if (extra & VG_COLUMNS_PLANES)
        vg_scorer__set_planes(scorer, rows);
    for (size_t first = 0; first < N; first += BLOCK) {
        size_t here = N - first < BLOCK ? N - first : BLOCK;
        vg_scores places;
        vg_predictions block = single ? vg_predictions_f32(narrow + first * M * C, here, M, C)
                                      : vg_predictions_f64(p + first * M * C, here, M, C);
        vg_columns__prefault(out.columns, first * each, here * each);
        vg_columns__at(out.columns, first * each, &places);
        places.mean = mean;
        places.std = std;
        assert_int_equal(vg_scorer_feed(scorer, &places, &block, NULL), VG_OK);
        for (size_t i = 0; i < here * each; i++)
            labels[i] = (int64_t)((first * each + i) * 7 % 11 % (multilabel ? 2 : C));
        assert_int_equal(vg_tally_feed(out.tally, mean, std, labels, here), VG_OK);
    }
    vg_scorer_free(scorer);
    free(narrow);
    return out;
}

static void release(scored *s) {
    vg_columns__free(s->columns);
    vg_tally_free(s->tally);
}

/* Each measure of `other`, stored or made, has the values that are in the columns of all. */
static void same_values(const scored *all, const scored *other, size_t rows) {
    enum { MEASURES = 8 + 6 * K };
    vg_rank_column one[MEASURES], two[MEASURES];
    assert_int_equal(vg_evaluate__columns_list(one, all->columns), MEASURES);
    assert_int_equal(vg_evaluate__columns_list(two, other->columns), MEASURES);
    for (size_t m = 0; m < MEASURES; m++) {
        assert_string_equal(one[m].measure.name, two[m].measure.name);
        assert_int_equal(one[m].measure.certainty, two[m].measure.certainty);
        for (size_t i = 0; i < rows; i++) {
            double a = vg_evaluate__value(&one[m], i), b = vg_evaluate__value(&two[m], i);
            if (!(a == b))
                print_error("%s of row %zu: %.17g and %.17g\n", one[m].measure.name, i, a, b);
            assert_true(a == b);
        }
    }
}

static void same_estimate(vg_estimate a, vg_estimate b) { assert_memory_equal(&a, &b, sizeof a); }

static void same_ranking(const vg_ranking *a, const vg_ranking *b) {
    assert_string_equal(a->name, b->name);
    same_estimate(a->aurc, b->aurc);
    same_estimate(a->eaurc, b->eaurc);
    same_estimate(a->augrc, b->augrc);
    same_estimate(a->error_auroc, b->error_auroc);
    same_estimate(a->error_aupr, b->error_aupr);
    assert_memory_equal(a->risk_at, b->risk_at, 3 * sizeof *a->risk_at);
    assert_memory_equal(a->coverage_at, b->coverage_at, 2 * sizeof *a->coverage_at);
}

static void same_evaluations(const scored *all, const scored *other, size_t resamples) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_evaluation *a, *b, *c;
    vg_measure listed[64];
    options.k = gates;
    options.k_count = K;
    options.resamples = resamples;
    size_t count = vg_columns__measures(all->columns, listed, 64);
    assert_int_equal(vg_evaluate(&a, all->tally, listed, count, &options), VG_OK);
    assert_int_equal(vg_evaluate__columns(&b, other->tally, other->columns, &options), VG_OK);
    options.threads = 3;
    assert_int_equal(vg_evaluate__columns(&c, other->tally, other->columns, &options), VG_OK);
    assert_int_equal(a->measure_count, b->measure_count);
    same_estimate(a->ece_adaptive, b->ece_adaptive);
    for (size_t m = 0; m < a->measure_count; m++) {
        same_ranking(&a->measures[m], &b->measures[m]);
        same_ranking(&a->measures[m], &c->measures[m]);
        for (size_t l = 0; l < a->label_count; l++)
            same_ranking(&a->labels[l].measures[m], &b->labels[l].measures[m]);
    }
    for (size_t j = 0; j < a->rule_count; j++) {
        assert_int_equal(a->rule[j].kept, b->rule[j].kept);
        assert_int_equal(a->rule[j].kept_errors, b->rule[j].kept_errors);
    }
    vg_evaluation_free(a);
    vg_evaluation_free(b);
    vg_evaluation_free(c);
}

static void every_form_is_the_same(void **state) {
    static const unsigned forms[] = {VG_COLUMNS_PLANES, VG_COLUMNS_LEAN, VG_COLUMNS_PLANES | VG_COLUMNS_LEAN};
    double *p = predictions();
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool single = kind & 1, multilabel = kind & 2;
        scored all = score(p, 0, single, multilabel);
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            scored other = score(p, forms[f], single, multilabel);
            same_values(&all, &other, N * (multilabel ? C : 1));
            same_evaluations(&all, &other, 0);
            if (f == 2)
                same_evaluations(&all, &other, 16);
            release(&other);
        }
        release(&all);
    }
    free(p);
}

/* The largest mean probability, stored and from the tally's confidences. */
static void the_tally_has_the_largest_probability(void **state) {
    const unsigned lean = VG_COLUMN_MAXPROB | VG_COLUMNS_PLANES | VG_COLUMNS_LEAN | VG_COLUMNS_TALLIED;
    double *p = predictions();
    vg_scores places;
    (void)state;
    for (int single = 0; single < 2; single++) {
        scored all = score(p, VG_COLUMN_MAXPROB, single, false), other = score(p, lean, single, false);
        vg_columns__at(other.columns, 0, &places);
        assert_null(places.maxprob);
        same_evaluations(&all, &other, 0);
        same_evaluations(&all, &other, 16);
        release(&all);
        release(&other);
    }
    free(p);
}

/* What takes no memory has no column and is not among the stored measures; it needs the others. */
static void lean_columns(void **state) {
    static const struct {
        unsigned which;
        bool au, epce;
    } cases[] = {{VG_COLUMN_TU | VG_COLUMN_AU | VG_COLUMN_EU | VG_COLUMN_EPCE | VG_COLUMN_EPKL, false, false},
                 {VG_COLUMN_TU | VG_COLUMN_AU | VG_COLUMN_EU | VG_COLUMN_EPCE, false, true},
                 {VG_COLUMN_AU | VG_COLUMN_EU | VG_COLUMN_EPCE | VG_COLUMN_EPKL, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vg_columns *columns;
        vg_scores places;
        vg_measure found;
        assert_int_equal(vg_columns__new(&columns, 10, gates, K, cases[i].which | VG_COLUMNS_LEAN), VG_OK);
        vg_columns__at(columns, 0, &places);
        assert_true((places.au != NULL) == cases[i].au && (places.epce != NULL) == cases[i].epce);
        assert_int_equal(vg_columns__find(columns, "au", &found), cases[i].au ? VG_OK : VG_ERR_ARGUMENT);
        assert_int_equal(vg_evaluate__columns_list(NULL, columns), __builtin_popcount(cases[i].which));
        vg_columns__free(columns);
    }
    vg_evaluation *e;
    assert_int_equal(vg_evaluate__columns(&e, NULL, NULL, NULL), VG_ERR_ARGUMENT);
}

/* A NaN in any of the columns that a measure is made of is named as one of that measure. */
static void nan_of_others(void **state) {
    enum { ROWS = 300 };
    static double one[ROWS], two[ROWS], three[ROWS];
    static uint8_t errors[ROWS];
    double *const columns[] = {one, two, three};
    vg_rank_room room;
    vg_rank_order order;
    (void)state;
    assert_int_equal(vg_evaluate__rank_room(&room, ROWS, NULL, 0), VG_OK);
    for (size_t c = 0; c < 3; c++)
        for (size_t bad = 0; bad < ROWS; bad += 37) {
            for (size_t i = 0; i < ROWS; i++)
                one[i] = 2 + (double)i, two[i] = 1, three[i] = .5;
            columns[c][bad] = NAN;
            vg_rank_column made = {.measure = {"epce", one, 1, 0}, .less = two, .plus = three};
            assert_int_equal(vg_evaluate__rank_order(&order, &room, &made, errors, 1, ROWS), VG_ERR_DATA);
            assert_non_null(strstr(vg_error_message(), "measure epce: value"));
        }
    vg_evaluate__rank_room_free(&room);
}

/* The table, vg_scores, the bits of columns and the listing agree: a struct whose n-th pointer is n + 1 values into an
 * array lists each measure of the table once, in its order, with values from its own pointer. */
static void the_table_is_that_of_scores_and_columns(void **state) {
    (void)state;
    static double values[32];
    vg_scores scores = {0};
    vg_measure list[32];
    const double k = 2;
    size_t count = 0;
    while (vg_measure_info_at(count))
        count++;
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= 1u << vg_measure_info_at(i)->offset / sizeof(double *);
    assert_int_equal(bits, VG_COLUMNS_ALL | VG_COLUMNS_BASELINES);
    assert_null(vg_measure_info_at(count));
    for (size_t i = 0; i < count; i++) {
        double *at = values + i;
        memcpy((char *)&scores + vg_measure_info_at(i)->offset, &at, sizeof at);
    }
    assert_ptr_equal(scores.tu, values);
    assert_ptr_equal(scores.snr, values + 7);
    assert_ptr_equal(scores.gepjs, values + count - 1);
    assert_int_equal(vg_measures__list(list, 32, &scores, &k, 1), count);
    for (size_t i = 0; i < count; i++) {
        const vg_measure_info *info = vg_measure_info_at(i);
        char name[VG_NAME_SIZE];
        snprintf(name, sizeof name, "%s%s", info->name, info->gated ? "@2" : "");
        assert_string_equal(list[i].name, name);
        assert_ptr_equal(list[i].values, values + i);
        assert_int_equal(list[i].certainty, strcmp(info->name, "snr") == 0);
        assert_ptr_equal(vg_measure__find(name), info);
        assert_ptr_equal(vg_measure__find(info->name), info);
        assert_true(strlen(info->symbol) > 1 && strlen(info->meaning) > 10 && !strchr(info->meaning, '\n'));
    }
    /* k that are not named: 1, 2 and 3 */
    vg_scores gated = {.gtu = values};
    assert_int_equal(vg_measures__list(list, 32, &gated, NULL, 0), 3);
    for (size_t j = 0; j < 3; j++) {
        assert_int_equal(list[j].name[4], '1' + (int)j);
        assert_ptr_equal(list[j].values, values + j);
        assert_int_equal(list[j].stride, 3);
    }
    assert_null(vg_measure__find("tu@2"));
    assert_null(vg_measure__find("t"));
    assert_null(vg_measure__find(""));
    assert_null(vg_measure__find(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_that_of_scores_and_columns),
        cmocka_unit_test(every_form_is_the_same),
        cmocka_unit_test(the_tally_has_the_largest_probability),
        cmocka_unit_test(lean_columns),
        cmocka_unit_test(nan_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
