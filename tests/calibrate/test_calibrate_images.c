/* test_calibrate_images.c - samples that are sites of images: folds of whole images, errors that count images, one
 * image, and held-out figures of images with an effect that their sites share. */
#include "calibrate/calibration.h"
#include "calibrate_util.h"
#include "vargate/temperatures.h"

static vg_calibration *fit_with(const problem *p, const vg_calibrate_options *options) {
    vg_calibration *fit;
    vg_predictions view = view_f64(p);
    assert_ok(vg_calibrate(&fit, &view, p->y, options));
    return fit;
}

static vg_k_fit *fit_k_with(const problem *p, vg_fit_k_options options) {
    vg_k_fit *fit;
    vg_predictions view = view_f64(p);
    options.logits = 1;
    assert_ok(vg_fit_k(&fit, &view, p->y, &options));
    return fit;
}

/* Images of `sites` samples each. */
static const size_t *equal_images(const problem *p, size_t sites, size_t *count) {
    static size_t ends[4096];
    *count = p->n / sites;
    assert_true(*count <= sizeof ends / sizeof *ends);
    for (size_t i = 0; i < *count; i++)
        ends[i] = (i + 1) * sites;
    return ends;
}

/* Images that each prefer some classes, which the logits do not show: a bias that helps on some harms on others. */
static problem with_effects(uint64_t seed, size_t images, size_t sites) {
    problem p = make_problem(images * sites, 1, 3, seed, 0.2, 0);
    for (size_t i = 0; i < p.n; i++) {
        const double *z = p.z + i * p.c;
        double weight[3], sum = 0;
        for (size_t c = 0; c < p.c; c++) {
            double u = 0;
            for (uint64_t j = 0; j < 3; j++)
                u += uniform_at(seed ^ 0x777, 3 * (i / sites * p.c + c) + j);
            sum += weight[c] = exp(z[c] + 4 * (u - 1.5));
        }
        double at = uniform_at(seed ^ 0x999, i) * sum;
        p.y[i] = at < weight[0] ? 0 : at < weight[0] + weight[1] ? 1 : 2;
    }
    return p;
}

/* The NLL of uncalibrated logits minus that at the map. */
static double gain_on(const problem *p, const vg_calibration *fit) {
    char *text;
    vg_calibration_map *map;
    double *mapped = malloc(p->n * p->c * sizeof *mapped), gain = 0;
    vg_predictions view = view_f64(p);
    assert_ok(vg_temperatures_text(&text, fit));
    assert_ok(vg_calibration_map_load(&map, text));
    assert_ok(vg_calibration_map_apply(mapped, NULL, NULL, map, &view, 1, 1));
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (size_t c = 0; c < p->c; c++)
            sum += exp(p->z[i * p->c + c] - p->z[i * p->c + (size_t)p->y[i]]);
        gain += (log(sum) + log(mapped[i * p->c + (size_t)p->y[i]])) / (double)p->n;
    }
    vg_free(map);
    vg_free(text);
    free(mapped);
    return gain;
}

/* What is promised of a map on data sets of 6 images: the gain held out by site, by image in 2 folds and in 6, and the
 * gain on others. */
typedef struct promises {
    double sites, images, each, others;
    size_t advised_by_sites, advised_by_images;
} promises;

static void add_promises(promises *sum, uint64_t seed) {
    problem p = with_effects(seed, 6, 200), others = with_effects(seed + 100, 60, 50);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.method = VG_CALIBRATE_VECTOR;
    options.compare = 1;
    vg_calibration *sites = fit_with(&p, &options);
    options.image_ends = equal_images(&p, 200, &options.image_count);
    vg_calibration *images = fit_with(&p, &options);
    assert_true(images->after.nll == sites->after.nll); /* the map is the same */
    assert_true(images->images == 6 && sites->images == 0);
    assert_non_null(strstr(images->advice, "paired test of 6 images"));
    assert_non_null(strstr(images->text, "every image at a map fitted without it, 2 folds of 6 images"));
    sum->sites += sites->before.nll - sites->held_out.nll;
    sum->images += images->before.nll - images->held_out.nll;
    sum->others += gain_on(&others, images);
    options.folds = 6;
    vg_calibration *each = fit_with(&p, &options);
    sum->each += each->before.nll - each->held_out.nll;
    vg_calibration_free(each);
    sum->advised_by_sites += strcmp(sites->supported, "none") != 0;
    sum->advised_by_images += strcmp(images->supported, "none") != 0;
    vg_calibration_free(sites);
    vg_calibration_free(images);
    free_problem(&p);
    free_problem(&others);
}

/* Folds of sites promise a gain that other images do not have; folds of images do not. */
static void an_effect_of_images_is_no_gain(void **state) {
    (void)state;
    enum { SETS = 50 };
    promises sum = {0, 0, 0, 0, 0, 0};
    for (uint64_t seed = 0; seed < SETS; seed++)
        add_promises(&sum, 1000 + seed);
    print_message(
        "mean gain held out by site %.4f, by image %.4f and %.4f, on other images %.4f; advised %zu and %zu times\n",
        sum.sites / SETS, sum.images / SETS, sum.each / SETS, sum.others / SETS, sum.advised_by_sites,
        sum.advised_by_images);
    assert_true(sum.sites / SETS > 0.03 && sum.others / SETS < -0.03);
    assert_true(sum.images < sum.each && sum.each < sum.others); /* folds are fitted to fewer images, 3 and 5 */
    assert_true(sum.advised_by_sites > SETS / 2);
    /* At most 5 % of the sets, and three standard errors of a share of SETS. */
    assert_true((double)sum.advised_by_images <= 0.05 * SETS + 3 * sqrt(0.05 * 0.95 * SETS));
}

/* Samples in the order that puts those of fold f at n % folds == f. */
static problem by_fold(const problem *p, size_t sites, size_t folds) {
    problem out = {p->n, p->m, p->c, malloc(p->n * p->m * p->c * sizeof(double)), malloc(p->n * sizeof(int64_t))};
    size_t taken[8] = {0}, row = p->m * p->c;
    for (size_t i = 0; i < p->n; i++) {
        size_t fold = i / sites % folds, to = taken[fold]++ * folds + fold;
        memcpy(out.z + to * row, p->z + i * row, row * sizeof(double));
        out.y[to] = p->y[i];
    }
    return out;
}

static void folds_have_whole_images(void **state) {
    (void)state;
    for (unsigned folds = 2; folds <= 3; folds++) {
        problem p = make_problem(480, 2, 3, 21, 1.3, 0.8), sorted = by_fold(&p, 40, folds);
        vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT, plain = options;
        options.folds = plain.folds = folds;
        options.image_ends = equal_images(&p, 40, &options.image_count);
        for (int method = VG_CALIBRATE_TEMPERATURE; method <= VG_CALIBRATE_VENN_ABERS; method++) {
            options.method = plain.method = (vg_calibration_method)method;
            vg_calibration *a = fit_with(&p, &options), *b = fit_with(&sorted, &plain);
            assert_true(a->folds == folds && a->images == 12);
            assert_close(a->held_out.nll, b->held_out.nll, 1e-9);
            assert_close(a->held_out.member_nll, b->held_out.member_nll, 1e-9);
            assert_close(a->held_out.ece, b->held_out.ece, 1e-9);
            vg_calibration_free(a);
            vg_calibration_free(b);
        }
        vg_fit_k_options gate = VG_FIT_K_OPTIONS_INIT;
        gate.folds = folds;
        vg_k_fit *b = fit_k_with(&sorted, gate);
        gate.image_ends = equal_images(&p, 40, &gate.image_count);
        vg_k_fit *a = fit_k_with(&p, gate);
        assert_true(a->folds == folds && a->images == 12 && b->images == 0);
        assert_close(a->one.held_out.nll, b->one.held_out.nll, 1e-8);
        assert_close(a->by_class.held_out.nll, b->by_class.held_out.nll, 1e-7);
        vg_free(a);
        vg_free(b);
        free_problem(&p);
        free_problem(&sorted);
    }
}

/* Images of different sizes, two of them without samples: the figures of separate fits. */
static void images_of_different_sizes(void **state) {
    (void)state;
    static const size_t ends[] = {0, 30, 170, 170, 260, 300};
    problem p = make_problem(300, 1, 3, 33, 1.5, 0.6);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT, alone = options;
    options.folds = 3;
    options.image_ends = ends;
    options.image_count = 6;
    alone.folds = 0;
    vg_calibration *whole = fit_with(&p, &options);
    static const size_t fold_ends[] = {30, 170, 260, 300}, fold_of[] = {0, 1, 2, 0};
    double nll = 0;
    for (size_t fold = 0; fold < 3; fold++) {
        problem part[2]; /* the others, the fold */
        for (size_t k = 0; k < 2; k++)
            part[k] = (problem){0, 1, 3, malloc(300 * 3 * sizeof(double)), malloc(300 * sizeof(int64_t))};
        for (size_t i = 0, image = 0; i < p.n; i++) {
            image += i == fold_ends[image];
            problem *to = &part[fold_of[image] == fold];
            memcpy(to->z + to->n * 3, p.z + i * 3, 3 * sizeof(double));
            to->y[to->n++] = p.y[i];
        }
        vg_calibration *fit = fit_with(&part[0], &alone);
        vg_calibration_metrics metrics;
        vg_predictions view = view_f64(&part[1]);
        assert_ok(vg_calibrate__measure(&metrics, &view, part[1].y, fit->temperatures, 1, &alone));
        nll += metrics.nll * (double)part[1].n / 300;
        vg_calibration_free(fit);
        free_problem(&part[0]);
        free_problem(&part[1]);
    }
    assert_true(whole->images == 4 && whole->folds == 3);
    assert_close(whole->held_out.nll, nll, 1e-9);
    vg_calibration_free(whole);
    free_problem(&p);
}

/* The error of a mean over clusters by its definition, and quantiles of Student's t from tables. */
static void errors_count_images(void **state) {
    (void)state;
    static const struct {
        size_t images;
        double t;
    } rows[] = {{2, 12.706204736174707}, {3, 4.302652729749464},  {4, 3.182446305283708},
                {5, 2.7764451051977987}, {13, 2.178812829667228}, {40, 2.022690920036761}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        size_t sites = 600 / rows[k].images;
        problem p = make_problem(sites * rows[k].images, 2, 3, 5 + k, 1.5, 0.7);
        vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
        options.folds = 100; /* at most as many as images */
        options.image_ends = equal_images(&p, sites, &options.image_count);
        vg_calibration *fit = fit_with(&p, &options);
        double mean = 0, squares = 0, g = (double)rows[k].images, n = (double)p.n;
        for (size_t i = 0; i < p.n; i++)
            mean += (fit->sample_nll[1][i] - fit->sample_nll[0][i]) / n;
        for (size_t i = 0; i < rows[k].images; i++) {
            double sum = 0;
            for (size_t j = i * sites; j < (i + 1) * sites; j++)
                sum += fit->sample_nll[1][j] - fit->sample_nll[0][j] - mean;
            squares += sum * sum;
        }
        double error = sqrt(g / (g - 1) * squares) / n, half = (fit->nll_change[1] - fit->nll_change[0]) / 2;
        assert_int_equal(fit->folds, rows[k].images);
        assert_close(fit->held_out_nll_error, error, 1e-12);
        assert_close(half / error, rows[k].t, 1e-9);
        assert_close((fit->nll_change[1] + fit->nll_change[0]) / 2, fit->held_out.nll - fit->before.nll, 1e-12);
        vg_calibration_free(fit);
        free_problem(&p);
    }
}

/* Images of one site are samples, but for Student's t in place of the normal distribution. */
static void images_of_one_site(void **state) {
    (void)state;
    problem p = make_problem(1000, 2, 3, 8, 1.4, 0.8);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_calibration *samples = fit_with(&p, &options);
    options.image_ends = equal_images(&p, 1, &options.image_count);
    vg_calibration *images = fit_with(&p, &options);
    assert_memory_equal(&samples->held_out, &images->held_out, sizeof images->held_out);
    assert_true(samples->held_out_nll_error == images->held_out_nll_error);
    double more = (images->ece_change[1] - images->ece_change[0]) / (samples->ece_change[1] - samples->ece_change[0]);
    assert_close(more, 1.9623414611334487 / 1.959963984540054, 1e-9);
    vg_calibration_free(images);
    options.struct_size = offsetof(vg_calibrate_options, image_ends); /* a program compiled before there were images */
    images = fit_with(&p, &options);
    assert_int_equal(images->images, 0);
    assert_memory_equal(samples->nll_change, images->nll_change, sizeof images->nll_change);
    vg_calibration_free(images);
    vg_calibration_free(samples);
    free_problem(&p);
}

static void nothing_of_one_image_is_held_out(void **state) {
    (void)state;
    static const char says[] = "no held-out figures: the sites of one image are not independent";
    static const size_t ends[] = {0, 300, 300};
    problem p = make_problem(300, 2, 3, 8, 1.4, 0.8);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_fit_k_options gate = VG_FIT_K_OPTIONS_INIT;
    options.compare = 1;
    options.image_ends = gate.image_ends = ends;
    options.image_count = gate.image_count = 3;
    for (int method = VG_CALIBRATE_TEMPERATURE; method <= VG_CALIBRATE_VECTOR; method++) {
        options.method = (vg_calibration_method)method;
        vg_calibration *fit = fit_with(&p, &options);
        assert_true(fit->images == 1 && fit->folds == 0 && isnan(fit->held_out.nll) && isnan(fit->nll_change[0]));
        assert_non_null(strstr(fit->warning, says));
        assert_string_equal(fit->supported, "unknown");
        vg_calibration_free(fit);
    }
    vg_k_fit *k = fit_k_with(&p, gate);
    assert_true(k->images == 1 && k->folds == 0 && isnan(k->one.held_out.nll));
    assert_non_null(strstr(k->warning, says));
    assert_non_null(strstr(k->text, "Nothing was held out: the sites of one image are not independent."));
    assert_string_equal(k->supported, "none");
    vg_free(k);
    options.folds = gate.folds = 0; /* nothing was asked for */
    vg_calibration *fit = fit_with(&p, &options);
    assert_null(strstr(fit->warning, says));
    vg_calibration_free(fit);
    k = fit_k_with(&p, gate);
    assert_null(strstr(k->warning, says));
    vg_free(k);
    free_problem(&p);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    problem p = with_effects(6, 30, 300);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    options.image_ends = equal_images(&p, 300, &options.image_count);
    for (int method = VG_CALIBRATE_TEMPERATURE; method <= VG_CALIBRATE_VECTOR; method++) {
        options.method = (vg_calibration_method)method;
        options.threads = 1;
        vg_calibration *one = fit_with(&p, &options);
        options.threads = 3;
        vg_calibration *three = fit_with(&p, &options);
        assert_memory_equal(&one->held_out, &three->held_out, sizeof one->held_out);
        assert_memory_equal(one->nll_change, three->nll_change, sizeof one->nll_change);
        assert_memory_equal(one->ece_change, three->ece_change, sizeof one->ece_change);
        vg_calibration_free(one);
        vg_calibration_free(three);
    }
    free_problem(&p);
}

static void what_is_refused(void **state) {
    (void)state;
    static const size_t falling[] = {20, 10, 40}, few[] = {10, 39}, far[] = {41, 40};
    problem p = make_problem(40, 2, 3, 8, 1.4, 0.8);
    vg_predictions view = view_f64(&p);
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    vg_fit_k_options gate = VG_FIT_K_OPTIONS_INIT;
    vg_calibration *fit;
    vg_k_fit *k;
    options.image_count = 2;
    assert_fails(vg_calibrate(&fit, &view, p.y, &options), VG_ERR_ARGUMENT, "image_count is 2, but image_ends is NULL");
    options.image_ends = few;
    assert_fails(vg_calibrate(&fit, &view, p.y, &options), VG_ERR_ARGUMENT,
                 "the 2 images end before sample 39, expected 40: every sample is one of an image");
    options.image_ends = far;
    assert_fails(vg_calibrate(&fit, &view, p.y, &options), VG_ERR_ARGUMENT, "image 0 ends before sample 41");
    options.image_count = 0;
    assert_fails(vg_calibrate(&fit, &view, p.y, &options), VG_ERR_ARGUMENT, "the 0 images end before sample 0");
    assert_null(fit);
    gate.logits = 1;
    gate.image_ends = falling;
    gate.image_count = 3;
    assert_fails(vg_fit_k(&k, &view, p.y, &gate), VG_ERR_ARGUMENT, "image 1 ends before sample 10, expected 20 .. 40");
    assert_null(k);
    free_problem(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_effect_of_images_is_no_gain),
        cmocka_unit_test(folds_have_whole_images),
        cmocka_unit_test(images_of_different_sizes),
        cmocka_unit_test(errors_count_images),
        cmocka_unit_test(images_of_one_site),
        cmocka_unit_test(nothing_of_one_image_is_held_out),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
