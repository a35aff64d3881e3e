/* test_evaluate_set_images.c - prediction sets of images, whose sites are the rows: thresholds, p-values and figures
 * against their definitions, site by site; the promise for new images; sites that are left out. */
#include "sets_util.h"

enum { S = 12, IMAGES = 40, N = S * IMAGES, C = 3 };

/* Sites of images, a third of them left out, the whole of image 5 too. */
static samples image_samples(size_t members, uint64_t seed) {
    samples s = random_samples(N, members, C, 0, seed);
    vg_random random = vg_random__start(seed, 1);
    for (size_t i = 0; i < N; i++)
        if (i / S == 5 || vg_random__below(&random, 3) == 0)
            s.labels[i] = -1;
    return s;
}

static vg_sets *calibrated(vg_sets_options *o, const samples *s, size_t step) {
    vg_sets *sets = new_sets(o, 2);
    for (size_t i = 0; i < s->n; i += step) {
        vg_predictions block = view_of(s, i, s->n - i < step ? s->n - i : step);
        ok(vg_sets_feed(sets, NULL, &block, s->labels + i, NULL));
    }
    ok(vg_sets_feed(sets, NULL, NULL, NULL, NULL));
    return sets;
}

static double mean_at(const samples *s, size_t i, size_t c) {
    double sum = 0;
    for (size_t m = 0; m < s->m; m++)
        sum += s->p[(i * s->m + m) * s->c + c];
    return sum / (double)s->m;
}

/* lac's score of the label. */
static double label_score(const samples *s, size_t i) { return 1 - mean_at(s, i, (size_t)s->labels[i]); }

/* The sum over images of the share of sites with that label (-1: any) whose score is above t, or at least t; *images:
 * those that have such a site. */
static double losses_at(const samples *s, int64_t label, double t, bool or_equal, size_t *images) {
    double sum = 0;
    *images = 0;
    for (size_t image = 0; image < s->n / S; image++) {
        double missed = 0, sites = 0;
        for (size_t i = image * S; i < (image + 1) * S; i++) {
            if (s->labels[i] < 0 || (label >= 0 && s->labels[i] != label))
                continue;
            double score = label_score(s, i);
            sites++;
            missed += or_equal ? score >= t : score > t;
        }
        *images += sites > 0;
        sum += sites > 0 ? missed / sites : 0;
    }
    return sum;
}

/* The smallest score that meets the definition. */
static double expected_threshold(const samples *s, int64_t label, double alpha, size_t *images) {
    double best = INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        if (s->labels[i] < 0 || (label >= 0 && s->labels[i] != label))
            continue;
        double t = label_score(s, i), losses = losses_at(s, label, t, false, images);
        if (t < best && losses <= ((double)*images + 1) * alpha - 1 + 1e-9)
            best = t;
    }
    losses_at(s, label, 0, false, images);
    return best;
}

static void thresholds_meet_their_definition(void **state) {
    static const double alphas[] = {0.4, 0.1, 0.03, 0.01};
    (void)state;
    for (size_t members = 1; members <= 3; members += 2) /* one member is read in place */
        for (int by_class = 0; by_class < 2; by_class++) {
            samples s = image_samples(members, 11 + members);
            vg_sets_options o = VG_SETS_OPTIONS_INIT;
            o.alphas = alphas, o.alpha_count = 4, o.sites = S;
            o.by = by_class ? VG_SETS_BY_CLASS : VG_SETS_BY_NONE;
            vg_sets *sets = calibrated(&o, &s, 100); /* blocks end within images */
            assert_int_equal(sets->by_image, 1);
            assert_int_equal(sets->calibrated, IMAGES - 1);
            for (size_t a = 0; a < 4; a++)
                for (size_t cell = 0; cell < sets->cell_count; cell++) {
                    size_t images;
                    double t = expected_threshold(&s, by_class ? (int64_t)cell : -1, alphas[a], &images);
                    double found = sets->thresholds[a * sets->cell_count + cell];
                    assert_int_equal(sets->cell_samples[cell], images);
                    assert_true(isinf(t) ? isinf(found) : fabs(found - t) < 1e-15);
                }
            vg_sets_free(sets);
            samples_free(&s);
        }
}

/* An image of one site is a sample: the same thresholds as without images. */
static void images_of_one_site_are_samples(void **state) {
    static const double alphas[] = {0.1, 0.25, 0.5};
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        samples s = random_samples(199, 2, C, 0, 3);
        vg_sets_options o = options_of(score);
        o.alphas = alphas, o.alpha_count = 3;
        vg_sets *plain = calibrated(&o, &s, 199);
        o.sites = 1;
        vg_sets *images = calibrated(&o, &s, 199);
        assert_memory_equal(plain->thresholds, images->thresholds, 3 * sizeof *plain->thresholds);
        assert_int_equal(plain->calibrated, images->calibrated);
        vg_sets_free(plain);
        vg_sets_free(images);
        samples_free(&s);
    }
}

/* The sites of an image, and of these the classes in sets, the sets of one class and the empty ones. */
typedef struct image_counts {
    double sites, of[3];
} image_counts;

/* The share sum x / sum n over images, and its interval by the spread of x - r n. */
static void check_ratio(const vg_estimate *found, const image_counts *images, size_t f, double most) {
    double x = 0, n = 0, squares = 0, count = 0;
    for (size_t i = 0; i < IMAGES; i++)
        x += images[i].of[f], n += images[i].sites, count += images[i].sites > 0;
    for (size_t i = 0; i < IMAGES; i++)
        squares += pow(images[i].of[f] - x / n * images[i].sites, 2);
    double error = 1.959963984540054 * sqrt(squares * count / (count - 1)) / n;
    assert_true(fabs(found->value - x / n) < 1e-12);
    assert_true(fabs(found->low - fmax(x / n - error, 0)) < 1e-9);
    assert_true(fabs(found->high - fmin(x / n + error, most)) < 1e-9);
}

static void sites_left_out_are_in_no_figure(void **state) {
    samples s = image_samples(2, 21), test = image_samples(2, 22);
    static uint8_t mask[N];
    static int32_t size[N];
    static double p_value[N * C], value[N * C];
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_set_places places = VG_SET_PLACES_INIT;
    double covered = 0, squares = 0, kept = 0;
    image_counts counts[IMAGES] = {{0}};
    (void)state;
    o.sites = S, o.p_values = 1;
    vg_sets *sets = calibrated(&o, &s, N);
    places.mask = mask, places.size = size, places.p_value = p_value, places.value = value, places.sites = S;
    vg_predictions block = view_of(&test, 0, N);
    ok(vg_sets_feed(sets, &places, &block, test.labels, NULL));
    for (size_t image = 0; image < IMAGES; image++) {
        double held = 0, sites = 0;
        for (size_t i = image * S; i < (image + 1) * S; i++) {
            if (test.labels[i] < 0) {
                assert_int_equal(size[i], -1);
                assert_int_equal(mask[i], 0);
                assert_true(isnan(p_value[i * C]) && isnan(value[i * C]));
                continue;
            }
            sites++, kept++;
            counts[image].of[0] += size[i], counts[image].of[1] += size[i] == 1, counts[image].of[2] += size[i] == 0;
            held += mask[i] >> (7 - test.labels[i]) & 1;
            for (size_t c = 0; c < C; c++) { /* a class is in the set where its p-value is above alpha */
                size_t images;
                double at = losses_at(&s, -1, 1 - mean_at(&test, i, c), true, &images);
                assert_true(fabs(p_value[i * C + c] - (1 + at) / ((double)images + 1)) < 1e-12);
                assert_int_equal(p_value[i * C + c] > 0.1, mask[i] >> (7 - c) & 1);
            }
        }
        counts[image].sites = sites;
        covered += sites > 0 ? held / sites : 0;
        squares += sites > 0 ? held / sites * (held / sites) : 0;
    }
    const vg_set_figures *f = sets->figures;
    double n = IMAGES - 1, mean = covered / n, error = 1.959963984540054 * sqrt((squares / n - mean * mean) / (n - 1));
    assert_int_equal(sets->samples, (size_t)kept);
    assert_int_equal(sets->images, IMAGES - 1);
    assert_int_equal(sets->left_out, N - (size_t)kept);
    assert_true(fabs(f->coverage.value - mean) < 1e-12);
    assert_true(fabs(f->coverage.low - (mean - error)) < 1e-9);
    check_ratio(&f->mean_size, counts, 0, C);
    check_ratio(&f->singletons, counts, 1, 1);
    check_ratio(&f->empty, counts, 2, 1);
    assert_true(isnan(f->expected_low) && isnan(f->worst_class_coverage.low) && isnan(f->strata[0].coverage.low));
    vg_sets_free(sets);
    samples_free(&s);
    samples_free(&test);
}

/* Images that are hard or easy as a whole. The score of a site's label is d + a little, d the image's difficulty. */
static void fill_images(samples *s, vg_random *random) {
    for (size_t i = 0; i < s->n; i++) {
        static double difficulty;
        if (i % S == 0)
            difficulty = vg_random__unit(random) * 0.9;
        double p = 1 - difficulty - 0.05 * vg_random__unit(random);
        s->labels[i] = (int64_t)vg_random__below(random, 2);
        s->p[i * 2 + (size_t)s->labels[i]] = p;
        s->p[i * 2 + 1 - (size_t)s->labels[i]] = 1 - p;
    }
}

/* With nine images, quantiles over sites miss more than alpha of a new image's sites; those over images do not. */
static void the_promise_holds_for_images(void **state) {
    enum { RUNS = 2000, VAL = 9 };
    static const double alpha = 0.15;
    samples s = samples_new(VAL * S, 1, 2), test = samples_new(S, 1, 2);
    double missed[2] = {0, 0}, squares = 0;
    vg_random random = vg_random__start(7, 0);
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        fill_images(&s, &random);
        fill_images(&test, &random);
        for (int way = 0; way < 2; way++) {
            vg_sets_options o = VG_SETS_OPTIONS_INIT;
            o.alphas = &alpha, o.alpha_count = 1, o.sites = way ? S : 0;
            vg_sets *sets = calibrated(&o, &s, s.n);
            double loss = 0;
            for (size_t i = 0; i < S; i++)
                loss += label_score(&test, i) > sets->thresholds[0] ? 1.0 / S : 0;
            missed[way] += loss / RUNS;
            squares += way ? loss * loss / RUNS : 0;
            vg_sets_free(sets);
        }
    }
    double error = sqrt((squares - missed[1] * missed[1]) / RUNS);
    assert_true(missed[1] < alpha + 3 * error);
    assert_true(missed[1] > alpha - 0.12); /* and sets are not full */
    assert_true(missed[0] > alpha + 3 * error);
    samples_free(&s);
    samples_free(&test);
}

/* Tuning takes whole images, and thresholds come from the others. */
static void tuning_takes_whole_images(void **state) {
    samples s = image_samples(2, 31);
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    size_t expected = 0;
    (void)state;
    o.score = VG_SET_RAPS, o.sites = S;
    vg_sets *sets = calibrated(&o, &s, 50);
    for (size_t image = 0; image < IMAGES; image++) {
        size_t kept = 0;
        for (size_t i = image * S; i < (image + 1) * S; i++)
            kept += s.labels[i] >= 0;
        expected += kept > 0;
    }
    assert_true(sets->tuned > 0 && sets->calibrated < expected && sets->calibrated > expected / 2);
    /* The sites of the images that calibrate, and the tuned ones, are all sites that are kept. */
    vg_sets_options given = o;
    given.lambda = sets->lambda, given.k_reg = sets->k_reg;
    vg_sets *all = calibrated(&given, &s, 50);
    assert_int_equal(all->calibrated, expected);
    vg_sets_free(all);
    vg_sets_free(sets);
    samples_free(&s);
}

static void wrong_labels_are_named(void **state) {
    samples s = image_samples(1, 41);
    vg_sets_options o = VG_SETS_OPTIONS_INIT;
    vg_predictions block = view_of(&s, 0, N);
    (void)state;
    for (int sites = 0; sites < 2; sites++) {
        o.sites = sites ? S : 0;
        s.labels[3] = sites ? -2 : -1;
        s.labels[0] = s.labels[1] = s.labels[2] = 0;
        vg_sets *sets = new_sets(&o, 1);
        assert_int_equal(vg_sets_feed(sets, NULL, &block, s.labels, NULL), VG_ERR_DATA);
        assert_non_null(strstr(vg_error_message(), sites ? "sample 3 has the label -2" : "sample 3 has the label -1"));
        vg_sets_free(sets);
    }
    vg_score_options scoring = VG_SCORE_OPTIONS_INIT;
    scoring.task = VG_TASK_MULTILABEL;
    o.scoring = &scoring;
    vg_sets *sets;
    assert_int_equal(vg_sets_new(&sets, &o), VG_ERR_ARGUMENT);
    /* test samples as sites, with labels that are not */
    int32_t size[N * C];
    int64_t *labels = calloc(N * C, sizeof *labels);
    vg_set_places places = VG_SET_PLACES_INIT;
    places.size = size, places.sites = S;
    o.sites = 0;
    sets = new_sets(&o, 1);
    for (size_t i = 0; i < N * C; i++)
        labels[i] = i % 3 == 0;
    ok(vg_sets_feed(sets, NULL, &block, labels, NULL));
    assert_int_equal(vg_sets_feed(sets, &places, &block, labels, NULL), VG_ERR_ARGUMENT);
    assert_non_null(strstr(vg_error_message(), "they do not go with multilabel"));
    vg_sets_free(sets);
    free(labels);
    samples_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_meet_their_definition), cmocka_unit_test(images_of_one_site_are_samples),
        cmocka_unit_test(sites_left_out_are_in_no_figure),  cmocka_unit_test(the_promise_holds_for_images),
        cmocka_unit_test(tuning_takes_whole_images),        cmocka_unit_test(wrong_labels_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
