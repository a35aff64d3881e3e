/* What the page holds: names that cannot break out, base64 against known words, rows and votes by hand, samples
 * chosen of many, scripts for gnuplot that quote what comes from outside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/report_emit.h"
#include "report/report_parts.h"

typedef struct text {
    char *bytes;
    size_t size, room;
} text;

static vg_status append(void *context, const void *bytes, size_t size) {
    text *t = context;
    if (t->size + size + 1 > t->room) {
        t->room = 2 * (t->size + size + 1);
        t->bytes = realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
    return VG_OK;
}

/* --- text ------------------------------------------------------------------------------------------------------- */

static char *quoted(const char *name) {
    static text t;
    static vg_emit e;
    vg_sink sink = {&t, append};
    t.size = 0;
    vg_report__emit_begin(&e, &sink);
    vg_report__text(&e, name);
    assert_int_equal(vg_report__emit_end(&e), VG_OK);
    return t.bytes;
}

static void names_stay_names(void **state) {
    (void)state;
    assert_string_equal(quoted("plain"), "\"plain\"");
    assert_string_equal(quoted("</script>"), "\"\\u003c/script\\u003e\"");
    assert_string_equal(quoted("<!--&"), "\"\\u003c!--\\u0026\"");
    assert_string_equal(quoted("a\"b\\c\n\t"), "\"a\\u0022b\\u005cc\\u000a\\u0009\"");
    assert_string_equal(quoted("\xc3\xa9"), "\"\xc3\xa9\"");                  /* e acute stays */
    assert_string_equal(quoted("\xc3"), "\"\\ufffd\"");                       /* cut off */
    assert_string_equal(quoted("\xff\xfe"), "\"\\ufffd\\ufffd\"");            /* never UTF-8 */
    assert_string_equal(quoted("\xc0\xbc"), "\"\\ufffd\\ufffd\"");            /* overlong '<' */
    assert_string_equal(quoted("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    assert_string_equal(quoted(NULL), "null");
}

static void numbers_are_json(void **state) {
    (void)state;
    text t = {0};
    static vg_emit e;
    vg_sink sink = {&t, append};
    vg_report__emit_begin(&e, &sink);
    vg_report__open(&e, '[');
    vg_report__number(&e, 0.1);
    vg_report__number(&e, NAN);
    vg_report__number(&e, INFINITY);
    vg_report__open(&e, '{');
    vg_report__key_count(&e, "n", 3);
    vg_report__key_text(&e, "t", "x");
    vg_report__close(&e, '}');
    vg_report__close(&e, ']');
    assert_int_equal(vg_report__emit_end(&e), VG_OK);
    assert_string_equal(t.bytes, "[0.10000000000000001,null,null,{\"n\":3,\"t\":\"x\"}]");
    free(t.bytes);
}

static void base64_of_known_words(void **state) {
    (void)state;
    static const char *const words[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}}; /* RFC 4648 */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (size_t cut = 0; cut <= strlen(words[i][0]); cut++) {
            text t = {0};
            static vg_emit e;
            vg_sink sink = {&t, append};
            append(&t, "", 0);
            vg_report__emit_begin(&e, &sink);
            vg_base64 b = {.out = &e};
            vg_report__base64(&b, words[i][0], cut);
            vg_report__base64(&b, words[i][0] + cut, strlen(words[i][0]) - cut);
            vg_report__base64_finish(&b);
            assert_int_equal(vg_report__emit_end(&e), VG_OK);
            assert_string_equal(t.bytes, words[i][1]);
            free(t.bytes);
        }
    }
}

static vg_status refuse(void *context, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    ++*(int *)context;
    return VG_ERR_IO;
}

static void a_full_disk_ends_the_writing(void **state) {
    (void)state;
    int calls = 0;
    static vg_emit e;
    vg_sink sink = {&calls, refuse};
    vg_report__emit_begin(&e, &sink);
    for (int i = 0; i < 100000; i++)
        vg_report__raw(&e, "words and words");
    assert_int_equal(vg_report__emit_end(&e), VG_ERR_IO);
    assert_int_equal(calls, 1);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

static void rows_by_hand(void **state) {
    (void)state;
    vg_report_rows *rows;
    const double mean[] = {0.1, 0.5, 0.1, 0.2, 0.05, 0.05, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1};
    const double std[] = {0.0, 0.1, 0.0, 0.05, 0.0, 0.0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(vg_report__rows_new(&rows, 2, 6), VG_OK);
    assert_int_equal(rows->top, 5);
    assert_int_equal(vg_report__rows_feed(rows, 0, 2, mean, std), VG_OK);
    assert_true(fabs(rows->ratio[0] - 0.3 / 0.15) < 1e-12);
    assert_true(rows->ratio[1] == 0); /* two equal means: never kept */
    const int32_t first[] = {1, 3, 0, 2, 4}, second[] = {0, 1, 2, 3, 4};
    assert_memory_equal(rows->top_class, first, sizeof first);
    assert_memory_equal(rows->top_class + 5, second, sizeof second);
    assert_true(rows->top_mean[0] == 0.5f && rows->top_std[1] == 0.05f);
    /* Three members: two vote for class 3, one for class 1. */
    const float p[] = {0, .1f, 0, .9f, 0, 0, 0, .6f, 0, .4f, 0, 0, .2f, .1f, .1f, .6f, 0, 0};
    vg_predictions block = vg_predictions_f32(p, 1, 3, 6);
    assert_int_equal(vg_report__rows_votes(rows, 0, &block), VG_OK);
    assert_int_equal(rows->top_votes[0], 1);
    assert_int_equal(rows->top_votes[1], 2);
    assert_int_equal(rows->agree[0], 2);
    assert_int_equal(vg_report__rows_feed(rows, 1, 2, mean, std), VG_ERR_ARGUMENT);
    const double bad[] = {0.1, NAN, 0.1, 0.2, 0.05, 0.05};
    assert_int_equal(vg_report__rows_feed(rows, 0, 1, bad, std), VG_ERR_DATA);
    vg_report__rows_free(rows);
    assert_int_equal(vg_report__rows_new(&rows, 2, 1), VG_ERR_ARGUMENT);
}

/* --- a report of invented samples ------------------------------------------------------------------------------- */

typedef struct invented {
    vg_report report;
    vg_report_rows *rows;
    vg_measure measures[2];
    double *values;
    int64_t *labels;
} invented;

/* n samples of two classes; gmu falls with the index, every 10th is wrong. */
static void invent(invented *out, size_t n) {
    *out = (invented){.report = VG_REPORT_INIT};
    out->values = malloc(2 * n * sizeof(double));
    out->labels = malloc(n * sizeof(int64_t));
    assert_int_equal(vg_report__rows_new(&out->rows, n, 2), VG_OK);
    for (size_t i = 0; i < n; i++) {
        double gmu = 1 - (double)i / (double)n, mean[] = {1 - gmu / 2, gmu / 2}, std[] = {0.1, 0.1};
        out->values[i] = gmu;
        out->values[n + i] = gmu / 2;
        out->labels[i] = i % 10 == 0;
        assert_int_equal(vg_report__rows_feed(out->rows, i, 1, mean, std), VG_OK);
    }
    out->measures[0] = (vg_measure){.name = "gmu", .values = out->values, .stride = 1};
    out->measures[1] = (vg_measure){.name = "tu", .values = out->values + n, .stride = 1};
    out->report.n = n;
    out->report.classes = 2;
    out->report.rows = out->rows;
    out->report.labels = out->labels;
    out->report.measures = out->measures;
    out->report.measure_count = 2;
    out->report.collapse_epoch = NAN;
}

static void drop(invented *made) {
    vg_report__rows_free(made->rows);
    free(made->values);
    free(made->labels);
}

static void few_are_all_held(void **state) {
    (void)state;
    invented made;
    vg_chosen chosen;
    invent(&made, 5000);
    assert_int_equal(vg_report__choose(&chosen, &made.report), VG_OK);
    assert_int_equal(chosen.count, 5000);
    for (size_t i = 0; i < 5000; i++)
        assert_true(chosen.samples[i] == i && chosen.plotted[i] == 1);
    assert_int_equal(chosen.image_count, 0);
    vg_report__chosen_free(&chosen);
    drop(&made);
}

static vg_status no_image(void *context, size_t sample, uint8_t *pixels) {
    (void)context, (void)sample;
    memset(pixels, 7, 3 * 32 * 32);
    return VG_OK;
}

static void of_many_a_sample_and_those_looked_for(void **state) {
    (void)state;
    invented made;
    vg_chosen chosen;
    size_t n = 400000, room = VG_REPORT_COLUMN_BYTES / (2 * sizeof(float)), plotted = 0, sum = 0, found = 0;
    invent(&made, n);
    made.report.image = no_image;
    made.report.channels = 3;
    made.report.height = made.report.width = 32;
    assert_int_equal(vg_report__choose(&chosen, &made.report), VG_OK);
    assert_true(chosen.count <= room && chosen.count > room / 2);
    for (size_t i = 0; i < chosen.count; i++) {
        plotted += chosen.plotted[i];
        sum += chosen.plotted[i] ? chosen.samples[i] : 0;
        found += chosen.samples[i] < 1000;
        assert_true(i == 0 || chosen.samples[i] > chosen.samples[i - 1]);
    }
    assert_int_equal(plotted, room - room / 8);
    assert_true(fabs((double)sum / (double)plotted / (double)n - 0.5) < 0.01); /* the sample is spread evenly */
    assert_int_equal(found, 1000);                                             /* the most uncertain are there */
    assert_int_equal(chosen.image_count, VG_REPORT_IMAGE_BYTES / (3 * 32 * 32));
    vg_report__chosen_free(&chosen);
    drop(&made);
}

static void the_page_holds_it(void **state) {
    (void)state;
    invented made;
    text t = {0};
    vg_sink sink = {&t, append};
    invent(&made, 50);
    made.report.title = "</script><script>alert(1)</script>";
    made.report.dataset = "<!-- \xff";
    assert_int_equal(vg_report__page(&made.report, &sink), VG_OK);
    assert_non_null(strstr(t.bytes, "id=\"vg-ratio\">"));
    assert_non_null(strstr(t.bytes, "\\u003c/script\\u003e"));
    assert_null(strstr(t.bytes, "alert(1)</script>"));
    assert_null(strstr(t.bytes, "<!--VARGATE-DATA-->"));
    assert_non_null(strstr(t.bytes, "\"n\":50"));
    made.report.n = 49; /* rows of 50 */
    assert_int_equal(vg_report__page(&made.report, &sink), VG_ERR_ARGUMENT);
    free(t.bytes);
    drop(&made);
}

static void ood_curves_by_hand(void **state) {
    (void)state;
    const double in[] = {0, 1, 2, 3}, out[] = {2, 3, 4, 4};
    vg_measure id = {.name = "tu", .values = in, .stride = 1}, ood = {.name = "tu", .values = out, .stride = 1};
    static vg_ood_curves curves;
    assert_int_equal(vg_report__ood_curves(&curves, &id, 4, &ood, 4), VG_OK);
    assert_true(curves.low == 0 && curves.high == 4);
    assert_int_equal(curves.id[0], 1);
    assert_int_equal(curves.id[10], 1);
    assert_int_equal(curves.ood[VG_OOD_BINS - 1], 2);
    size_t total = 0;
    for (size_t b = 0; b < VG_OOD_BINS; b++)
        total += curves.ood[b];
    assert_int_equal(total, 4);
    assert_true(curves.fpr[0] == 0 && curves.tpr[0] == 0 && curves.fpr[1] == 0.25 && curves.tpr[1] == 0.75);
    assert_true(curves.fpr[VG_OOD_ROC - 1] == 1 && curves.tpr[VG_OOD_ROC - 1] == 1);
    for (size_t j = 1; j < VG_OOD_ROC; j++)
        assert_true(curves.fpr[j] >= curves.fpr[j - 1] && curves.tpr[j] >= curves.tpr[j - 1]);
}

/* --- figures ---------------------------------------------------------------------------------------------------- */

static void figures_quote_what_comes_from_outside(void **state) {
    (void)state;
    invented made;
    text t = {0};
    vg_sink sink = {&t, append};
    invent(&made, 100);
    vg_ood_row figures[2] = {{.name = "gmu", .auroc = {0.9, NAN, NAN}}, {.name = "tu", .auroc = {0.8, NAN, NAN}}};
    vg_report_ood set = {"x'; system 'touch hacked' \n`id` \\", 100, made.measures, figures};
    made.report.ood = &set;
    made.report.ood_count = 1;
    size_t ood = 0, count = 0;
    while (vg_report__figure_name(count))
        count++;
    while (ood < count && strcmp(vg_report__figure_name(ood), "ood") != 0)
        ood++;
    assert_true(vg_report__figure_possible(&made.report, ood));
    assert_int_equal(vg_report__figure_script(&made.report, ood, "svg", "ood.svg", &sink), VG_OK);
    assert_non_null(strstr(t.bytes, "'x''; system ''touch hacked'' ??id? ?"));
    assert_null(strchr(t.bytes, '`'));
    assert_int_equal(vg_report__figure_script(&made.report, ood, "x11", "ood.svg", &sink), VG_ERR_ARGUMENT);
    assert_false(vg_report__figure_possible(&made.report, count));
    for (size_t f = 0; f < count; f++) {
        if (!vg_report__figure_possible(&made.report, f))
            assert_int_equal(vg_report__figure_script(&made.report, f, "svg", "x", &sink), VG_ERR_ARGUMENT);
    }
    free(t.bytes);
    drop(&made);
}

/* What the page promises at a risk is what vg_select_k finds on the same samples. */
static void promises_are_those_of_the_library(void **state) {
    (void)state;
    enum { N = 3000 };
    static double ratio[N];
    static int32_t class[N];
    static int64_t labels[N];
    static uint8_t errors[N];
    for (size_t i = 0; i < N; i++) {
        ratio[i] = 50000 / (1 + (double)(i * 7919 % N));
        errors[i] = (i * 7919 % N) * (i * 104729 % N) > N * (N / 5 * 4);
        labels[i] = errors[i];
    }
    vg_report_rows rows = {.n = N, .classes = 2, .top = 1, .ratio = ratio, .top_class = class};
    vg_report report = VG_REPORT_INIT;
    report.n = N, report.classes = 2, report.rows = &rows, report.labels = labels;
    text t = {0};
    static vg_emit e;
    vg_promises *promises;
    vg_sink sink = {&t, append};
    vg_report__emit_begin(&e, &sink);
    assert_int_equal(vg_report__promise(&promises, &report), VG_OK);
    vg_report__emit_promises(&e, promises);
    vg_base__release(promises);
    assert_int_equal(vg_report__emit_end(&e), VG_OK);
    json_t *root = json_loads(t.bytes, 0, NULL), *row;
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "set_aside")), 600);
    assert_int_equal(json_integer_value(json_object_get(root, "tested")), 2400);
    size_t at, met = 0;
    double before = 0;
    json_array_foreach(json_object_get(root, "rows"), at, row) {
        vg_select_options options = VG_SELECT_OPTIONS_INIT;
        vg_selection s = VG_SELECTION_INIT;
        options.target_risk = json_number_value(json_array_get(row, 0));
        assert_true(options.target_risk > before);
        before = options.target_risk;
        assert_int_equal(vg_select_k(&s, ratio, errors, N, &options), VG_OK);
        met += s.met != 0;
        if (s.met)
            assert_true(json_number_value(json_array_get(row, 1)) == s.threshold);
        else
            assert_true(json_is_null(json_array_get(row, 1)));
        assert_int_equal(json_integer_value(json_array_get(row, 3)), s.needed);
    }
    assert_true(at == 270 && met > 50 && met < 260 && fabs(before - .5) < 1e-12);
    json_decref(root);
    report.labels = NULL;
    t.size = 0;
    vg_report__emit_begin(&e, &sink);
    assert_int_equal(vg_report__promise(&promises, &report), VG_OK);
    vg_report__emit_promises(&e, promises);
    vg_base__release(promises);
    assert_int_equal(vg_report__emit_end(&e), VG_OK);
    assert_string_equal(t.bytes, "null");
    free(t.bytes);
}

/* Counts at every k of the list are those of a walk over all rows; groups add up. */
static void counts_are_those_of_a_walk(void **state) {
    (void)state;
    enum { ROWS = 500, LABELS = 4 };
    const double extra[] = {1.2345, 1};
    vg_report_counts counts;
    assert_int_equal(vg_report__counts_new(&counts, extra, 2, LABELS), VG_OK);
    double ratio[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        ratio[i] = i % 50 == 0 ? INFINITY : i % 7 == 0 ? 1 : 5000 / (1 + (double)(i * 7919 % ROWS * 10));
        vg_report__counts_add(&counts, vg_report__counts_steps(&counts, ratio[i]), i % LABELS, i % 3 == 0, i % 2);
    }
    vg_report__counts_end(&counts);
    assert_true(counts.count == 401 || counts.count == 402);
    bool has = false;
    for (size_t g = 0; g < counts.count; g++) {
        unsigned long long kept = 0, wrong = 0, groups = 0;
        assert_true(g == 0 || counts.k[g] > counts.k[g - 1]);
        has = has || counts.k[g] == 1.2345;
        for (size_t i = 0; i < ROWS; i++) {
            kept += counts.k[g] < ratio[i];
            wrong += counts.k[g] < ratio[i] && (i % 3 == 0) != i % 2;
        }
        for (size_t l = 0; l < LABELS; l++)
            groups += counts.group_kept[g * LABELS + l];
        assert_true(counts.kept[g] == kept && counts.wrong[g] == wrong && groups == kept);
    }
    assert_true(has && counts.rows == ROWS && counts.total[0] == ROWS / LABELS);
    vg_report__counts_free(&counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_a_walk),
        cmocka_unit_test(promises_are_those_of_the_library),
        cmocka_unit_test(names_stay_names),
        cmocka_unit_test(numbers_are_json),
        cmocka_unit_test(base64_of_known_words),
        cmocka_unit_test(a_full_disk_ends_the_writing),
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(few_are_all_held),
        cmocka_unit_test(of_many_a_sample_and_those_looked_for),
        cmocka_unit_test(the_page_holds_it),
        cmocka_unit_test(ood_curves_by_hand),
        cmocka_unit_test(figures_quote_what_comes_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
