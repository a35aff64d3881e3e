/* test_workflow_sites.c - images evaluated site by site in bounded memory: every figure is that of the sites as
 * samples, held in memory, also where rankings are put together from many parts; ties and values of any sign come back
 * in order. VARGATE_LONG_TESTS=1 adds 10^8 sites (3.2 GB of files). */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/arrays.h"
#include "vargate/vargate.h"
#include "workflow/site_evaluation.h"
#include "workflow/value_spill.h"

enum { M = 2, C = 3, LEFT_OUT = 255 };

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static double uniform(uint64_t seed) { return (double)(mix(seed * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53; }

/* Probabilities of a site, coarse enough that measures tie now and then, and its label. */
static void draw_site(float p[M * C], uint8_t *label, size_t site) {
    *label = uniform(site * 7 + 1) < 0.1 ? LEFT_OUT : (uint8_t)(uniform(site * 7 + 2) * C);
    for (size_t m = 0; m < M; m++) {
        double sum = 0, z[C];
        for (size_t c = 0; c < C; c++) {
            double own = floor(4 * uniform(site * 7 + 3 + c)), more = floor(3 * uniform((site * 8 + m) * 3 + c + 99));
            z[c] = exp(own + more + (c == *label) + 1e-3 * floor(1000 * uniform(site / 2 * 11 + c)));
            sum += z[c];
        }
        for (size_t c = 0; c < C; c++)
            p[m * C + c] = (float)(z[c] / sum);
    }
}

/* Sites as images (N, H, W, M, C) with label maps beside them, and those that are not left out as samples (N, M, C). */
static void write_files(const char *images, const char *maps, const char *samples, const size_t shape[3]) {
    size_t n = shape[0] * shape[1] * shape[2], kept = 0, left = 0;
    float p[M * C];
    uint8_t label;
    for (size_t i = 0; i < n; i++) {
        draw_site(p, &label, i);
        kept += label != LEFT_OUT;
    }
    size_t all[] = {shape[0], shape[1], shape[2], M, C}, some[] = {kept, M, C};
    vg_writer *a, *b, *c, *d;
    char labels[256];
    snprintf(labels, sizeof labels, "%s.labels.npy", samples);
    assert_int_equal(vg_writer_open(&a, images), VG_OK);
    assert_int_equal(vg_writer_open(&b, maps), VG_OK);
    assert_int_equal(vg_writer_open(&c, samples), VG_OK);
    assert_int_equal(vg_writer_open(&d, labels), VG_OK);
    assert_int_equal(vg_writer__begin(a, "P", VG_ELEMENT_F32, 5, all), VG_OK);
    assert_int_equal(vg_writer__begin(b, "L", VG_ELEMENT_U8, 3, shape), VG_OK);
    assert_int_equal(vg_writer__begin(c, "P", VG_ELEMENT_F32, 3, some), VG_OK);
    assert_int_equal(vg_writer__begin(d, "L", VG_ELEMENT_U8, 1, &kept), VG_OK);
    for (size_t i = 0; i < n; i++) {
        draw_site(p, &label, i);
        left |= vg_writer__append(a, p, sizeof p) | vg_writer__append(b, &label, 1);
        if (label != LEFT_OUT)
            left |= vg_writer__append(c, p, sizeof p) | vg_writer__append(d, &label, 1);
    }
    assert_int_equal(left, VG_OK);
    assert_int_equal(vg_writer_close(a) | vg_writer_close(b) | vg_writer_close(c) | vg_writer_close(d), VG_OK);
}

static vg_evaluation_result *evaluate(const char *path, const char *labels, const char *axes, const char *fields) {
    static const int64_t left_out = LEFT_OUT;
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_evaluation_result *result = NULL;
    input.labels = labels;
    input.axes = axes;
    input.ignore = axes ? &left_out : NULL;
    if (fields)
        assert_int_equal(vg_fields_parse(&input.fields, fields), VG_OK);
    if (vg_evaluate_file(&result, path, &input, &how) != VG_OK)
        fail_msg("%s", vg_error_message());
    return result;
}

static void same(const char *what, double a, double b) {
    if (!(fabs(a - b) <= 1e-9) && !(isnan(a) && isnan(b)))
        fail_msg("%s: %.17g of the sites, %.17g of the samples", what, a, b);
}

static void same_evaluations(const vg_evaluation_result *sites, const vg_evaluation_result *samples) {
    const vg_evaluation *a = sites->evaluation, *b = samples->evaluation;
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->errors, b->errors);
    same("accuracy", a->accuracy.value, b->accuracy.value);
    same("F1", a->f1_macro.value, b->f1_macro.value);
    same("ECE", a->ece.value, b->ece.value);
    same("adaptive ECE", a->ece_adaptive.value, b->ece_adaptive.value);
    same("classwise ECE", a->ece_classwise.value, b->ece_classwise.value);
    same("MCE", a->mce.value, b->mce.value);
    same("NLL", a->nll.value, b->nll.value);
    same("Brier", a->brier.value, b->brier.value);
    assert_int_equal(a->measure_count, b->measure_count);
    for (size_t i = 0; i < a->measure_count; i++) {
        const vg_ranking *x = &a->measures[i], *y = &b->measures[i];
        assert_string_equal(x->name, y->name);
        same(x->name, x->aurc.value, y->aurc.value);
        same(x->name, x->eaurc.value, y->eaurc.value);
        same(x->name, x->augrc.value, y->augrc.value);
        same(x->name, x->error_auroc.value, y->error_auroc.value);
        same(x->name, x->error_aupr.value, y->error_aupr.value);
        for (size_t j = 0; j < a->coverage_count; j++)
            same(x->name, x->risk_at[j].value, y->risk_at[j].value);
        for (size_t j = 0; j < a->risk_count; j++)
            same(x->name, x->coverage_at[j].value, y->coverage_at[j].value);
    }
    for (size_t i = 0; i < a->rule_count; i++) {
        assert_int_equal(a->rule[i].kept, b->rule[i].kept);
        assert_int_equal(a->rule[i].kept_errors, b->rule[i].kept_errors);
    }
    double iou = 0;
    for (size_t c = 0; c < C; c++) {
        const vg_class_row *row = &b->per_class[c];
        assert_int_equal(a->per_class[c].true_positive, row->true_positive);
        same("uncertainty", a->class_figures[c].uncertainty, b->class_figures[c].uncertainty);
        iou += (double)row->true_positive / (double)(row->support + row->predicted - row->true_positive) / C;
    }
    same("mIoU", a->miou.value, iou);
    same("diversity", sites->verdict->diversity, samples->verdict->diversity);
}

/* Two threads on any machine: the stacks of sixteen would not fit the limit. */
static void use_two_cores(void) {
    cpu_set_t all, two;
    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&two) < 2; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &two);
    (void)sched_setaffinity(0, sizeof two, &two);
}

#if defined(__SANITIZE_ADDRESS__)
enum { HAS_LIMITS = 0 }; /* AddressSanitizer's shadow memory exceeds any of them */
#else
enum { HAS_LIMITS = 1 };
#endif

/* The memory that is not a mapping of the files may not exceed this many bytes; in a child process. */
static int in_little_memory(size_t bytes, void (*work)(const char *), const char *argument) {
    pid_t child = fork();
    if (child == 0) {
        use_two_cores();
        struct rlimit limit = {bytes, bytes};
        setrlimit(RLIMIT_DATA, &limit);
        work(argument);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static char folder[64], images[128], maps[128], samples[128], sample_labels[160];

static void evaluate_images(const char *fields) {
    vg_evaluation_result *result = evaluate(images, maps, "NHWMC", fields);
    vg_evaluation_result_free(result);
}
static void evaluate_samples(const char *fields) {
    vg_evaluate_file_options how = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_evaluation_result *result = NULL;
    (void)fields;
    input.labels = sample_labels;
    _exit(vg_evaluate_file(&result, samples, &input, &how) == VG_ERR_MEMORY ? 3 : 4);
}

static void check_shape(const size_t shape[3], const char *fields, size_t rows, size_t limit) {
    snprintf(folder, sizeof folder, "/tmp/vargate-sites-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(images, sizeof images, "%s/images.npy", folder);
    snprintf(maps, sizeof maps, "%s/maps.npy", folder);
    snprintf(samples, sizeof samples, "%s/samples.npy", folder);
    snprintf(sample_labels, sizeof sample_labels, "%s.labels.npy", samples);
    write_files(images, maps, samples, shape);
    vg_site_evaluation__part_rows = rows;
    setenv("TMPDIR", folder, 1);
    if (HAS_LIMITS)
        assert_int_equal(in_little_memory(limit, evaluate_images, fields), 0);
    if (HAS_LIMITS && !fields) /* the limit is one: what holds every sample fails */
        assert_int_equal(WEXITSTATUS(in_little_memory(limit, evaluate_samples, NULL)), 3);
    vg_evaluation_result *a = evaluate(images, maps, "NHWMC", fields),
                         *b = evaluate(samples, sample_labels, NULL, fields);
    same_evaluations(a, b);
    size_t sites = 0, errors = 0;
    for (size_t i = 0; i < a->image_count; i++)
        sites += a->images[i].sites, errors += a->images[i].errors;
    assert_int_equal(a->image_count, shape[0]);
    assert_int_equal(sites, a->evaluation->rows);
    assert_int_equal(errors, a->evaluation->errors);
    assert_int_equal(a->ignored + sites, shape[0] * shape[1] * shape[2]);
    vg_evaluation_result_free(a);
    vg_evaluation_result_free(b);
    unlink(images);
    unlink(maps);
    unlink(samples);
    unlink(sample_labels);
    rmdir(folder);
}

static void small_parts(void **state) {
    (void)state;
    static const size_t shape[] = {5, 300, 300};
    check_shape(shape, NULL, 10000, (size_t)96 << 20);
}

static void many_sites(void **state) {
    (void)state;
    static const size_t shape[] = {100, 1000, 1000};
    if (!getenv("VARGATE_LONG_TESTS"))
        skip();
    check_shape(shape, "tu,gmu,votes", 8000000, (size_t)1 << 30);
}

/* The risk promise of images: images, not sites, are set aside and tested. */
static void promise_of_images(void **state) {
    (void)state;
    enum { N = 60, H = 8, W = 8, SITES = N * H * W };
    static float p[SITES * M * C];
    static int64_t labels[SITES];
    const size_t shape[] = {N, H, W, M, C};
    char path[] = "/tmp/vargate-promise-XXXXXX.npz", *place = path;
    int file = mkstemps(place, 4);
    assert_true(file >= 0);
    close(file);
    for (size_t i = 0; i < SITES; i++) {
        labels[i] = (int64_t)(uniform(i + 77) * C);
        for (size_t j = 0; j < M * C; j++) /* sure and right, or undecided */
            p[i * M * C + j] = uniform(i + 4000000) < 0.9 ? (j % C == (size_t)labels[i] ? 0.96f : 0.02f) : 1.0f / C;
    }
    vg_writer *writer;
    assert_int_equal(vg_writer_open(&writer, path), VG_OK);
    assert_int_equal(vg_writer_array(writer, "P", VG_ELEMENT_F32, 5, shape, p), VG_OK);
    assert_int_equal(vg_writer_array(writer, "L", VG_ELEMENT_I64, 3, shape, labels), VG_OK);
    assert_int_equal(vg_writer_close(writer), VG_OK);
    vg_policy_options want = VG_POLICY_OPTIONS_INIT;
    vg_input_options input = VG_INPUT_OPTIONS_INIT;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    vg_policy *policy;
    want.by = "gmu";
    want.target_risk = 0.2;
    want.calibration = path;
    input.axes = "NHWMC";
    assert_int_equal(vg_policy_new(&policy, &want), VG_OK);
    if (vg_decide_file(&result, policy, path, &input, NULL) != VG_OK)
        fail_msg("%s", vg_error_message());
    assert_int_equal(policy->selection->samples + policy->selection->set_aside, N);
    assert_int_equal(policy->selection->rows, policy->selection->samples * H * W);
    assert_int_equal(result.entries, SITES);
    vg_policy_free(policy);
    want.by = NULL; /* the search */
    assert_int_equal(vg_policy_new(&policy, &want), VG_OK);
    assert_int_equal(vg_decide_file(&result, policy, path, &input, NULL), VG_ERR_UNSUPPORTED);
    assert_non_null(strstr(vg_error_message(), "for images name one way: --by gmu"));
    vg_policy_free(policy);
    unlink(path);
}

/* --- values in order ---------------------------------------------------------------------------------------------- */
typedef struct walked {
    double last;
    size_t rows, wrong, parts, tied;
    double sum;
} walked;

static vg_status look(void *context, const vg_spill_part *part) {
    walked *w = context;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; part->values && i < part->rows; i++) {
        low = part->values[i] < low ? part->values[i] : low;
        high = part->values[i] > high ? part->values[i] : high;
        w->sum += part->values[i] * (1 + part->errors[i]);
    }
    if (!part->values) {
        low = high = part->value;
        w->sum += part->value * (double)(part->rows + part->wrong);
        w->tied += part->rows;
    }
    assert_true(low > w->last);
    w->last = high;
    w->rows += part->rows;
    w->wrong += part->wrong;
    w->parts++;
    return VG_OK;
}

static void values_in_order(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    static double values[3][ROWS];
    static uint8_t errors[ROWS];
    double sum[3] = {0, 0, 0};
    size_t wrong = 0;
    vg_value_spill *spill;
    assert_int_equal(vg_value_spill__new(&spill, 3, 5000), VG_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double u = uniform(i + 1);
        values[0][i] = exp(40 * (u - 0.5)) * (i % 2 ? -1 : 1); /* any sign and size */
        values[1][i] = 1 + 1e-12 * u;                          /* the leading digits are one */
        values[2][i] = u < 0.7 ? (i % 2 ? 0.0 : -0.0) : u;     /* more ties than fit */
        errors[i] = uniform(i + 5000000) < 0.3;
        wrong += errors[i];
        for (int c = 0; c < 3; c++)
            sum[c] += values[c][i] * (1 + errors[i]);
    }
    for (size_t first = 0, now; first < ROWS; first += now) {
        now = ROWS - first < 7777 ? ROWS - first : 7777;
        const double *columns[] = {values[0] + first, values[1] + first, values[2] + first};
        assert_int_equal(vg_value_spill__add(spill, columns, errors + first, now), VG_OK);
    }
    for (size_t c = 0; c < 3; c++) {
        walked w = {.last = -INFINITY};
        assert_int_equal(vg_value_spill__walk(spill, c, look, &w), VG_OK);
        assert_int_equal(w.rows, ROWS);
        assert_int_equal(w.wrong, wrong);
        assert_true(w.parts >= ROWS / 5000 || w.tied > 0);
        assert_true((c == 2) == (w.tied > 60000));
        assert_true(fabs(w.sum - sum[c]) <= 1e-9 * ROWS * 1e9);
    }
    const double bad[] = {NAN}, *columns[] = {bad, bad, bad};
    assert_int_equal(vg_value_spill__add(spill, columns, errors, 1), VG_ERR_DATA);
    vg_value_spill__free(spill);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_in_order), cmocka_unit_test(small_parts),
                                       cmocka_unit_test(promise_of_images), cmocka_unit_test(many_sites)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
