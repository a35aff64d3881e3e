/* test_measures_sites.c - axes in any order: blocks of sites give the same bits as the packed array (N, M, C), for
 * every permutation, element type and a tile's worth of shapes; what does not fit is refused with what does. In every
 * SIMD tier. */
#include "measures_util.h"

enum { LETTERS = 6 };
static const char names[] = "NHWDMC";

typedef struct example {
    const char *letters; /* some of names */
    size_t size[LETTERS];
    vg_element dtype;
    int logits;
} example;

/* Elements by name: sites in the order N, H, W, D, then M, C. */
static double value_of(const size_t at[LETTERS], const size_t size[LETTERS], const double *made) {
    size_t place = 0;
    for (int i = 0; i < LETTERS; i++)
        place = place * size[i] + at[i];
    return made[place];
}

static void store(char *out, size_t place, vg_element dtype, double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == VG_ELEMENT_F64)
        memcpy(out + place * 8, &value, 8);
    else if (dtype == VG_ELEMENT_F32)
        memcpy(out + place * 4, &single, 4);
    else
        memcpy(out + place * 2, &half, 2);
}

/* The array with its axes in the order of `axes`. */
static char *lay_out(const example *e, const char *axes, const double *made) {
    size_t rank = strlen(axes), total = 1, at[LETTERS] = {0};
    for (int i = 0; i < LETTERS; i++)
        total *= e->size[i];
    char *out = ref_alloc(total, 8);
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;
        for (size_t a = rank; a-- > 0;) {
            size_t which = (size_t)(strchr(names, axes[a]) - names);
            at[which] = rest % e->size[which];
            rest /= e->size[which];
        }
        store(out, i, e->dtype, value_of(at, e->size, made));
    }
    return out;
}

typedef struct results {
    double *tu, *eu, *gepjs, *gmu;
    int32_t *decision;
} results;

static results room(size_t n) {
    return (results){ref_alloc(n, 8), ref_alloc(n, 8), ref_alloc(3 * n, 8), ref_alloc(n, 8), ref_alloc(3 * n, 4)};
}
static void let_go(results *r) {
    free(r->tu);
    free(r->eu);
    free(r->gepjs);
    free(r->gmu);
    free(r->decision);
}

/* Scores the array block by block, in blocks of at most `most` sites. */
static results score_axes(const example *e, const char *axes, const double *made, size_t most) {
    size_t shape[LETTERS], n = e->size[0] * e->size[1] * e->size[2] * e->size[3];
    for (size_t i = 0; axes[i]; i++)
        shape[i] = e->size[strchr(names, axes[i]) - names];
    char *data = lay_out(e, axes, made);
    vg_sites sites = VG_SITES_INIT;
    assert_int_equal(vg_sites_view(&sites, data, e->dtype, axes, strlen(axes), shape, NULL), VG_OK);
    assert_true(sites.n == n && sites.m == e->size[4] && sites.c == e->size[5] && n % sites.run == 0);
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    options.logits = e->logits;
    options.renormalise = !e->logits && e->dtype == VG_ELEMENT_BF16;
    options.threads = 2;
    vg_scorer *scorer;
    assert_int_equal(vg_scorer_new(&scorer, sites.m, sites.c, &options), VG_OK);
    results r = room(n);
    vg_predictions block = {0};
    for (size_t first = 0; first < n; first += block.n) {
        vg_sites_block(&block, &sites, first, most);
        assert_true(block.n > 0 && block.n <= most && block.n <= n - first);
        vg_scores places = {.tu = r.tu + first,
                            .eu = r.eu + first,
                            .gepjs = r.gepjs + 3 * first,
                            .gmu = r.gmu + first,
                            .decision = r.decision + 3 * first};
        assert_int_equal(vg_scorer_feed(scorer, &places, &block, NULL), VG_OK);
    }
    vg_sites_block(&block, &sites, n, most);
    assert_int_equal(block.n, 0);
    vg_scorer_free(scorer);
    free(data);
    return r;
}

static void same_results(const example *e, const char *axes, const results *a, const results *b, size_t n) {
    int same = memcmp(a->tu, b->tu, n * 8) == 0 && memcmp(a->eu, b->eu, n * 8) == 0 &&
               memcmp(a->gepjs, b->gepjs, 3 * n * 8) == 0 && memcmp(a->gmu, b->gmu, n * 8) == 0 &&
               memcmp(a->decision, b->decision, 3 * n * 4) == 0;
    if (!same)
        fail_msg("axes %s of element type %d differ from %s", axes, (int)e->dtype, e->letters);
}

/* Every permutation of the letters from `fixed` on, compared with the packed order. */
static void permute(const example *e, char *axes, size_t fixed, const double *made, const results *packed) {
    size_t rank = strlen(axes), n = e->size[0] * e->size[1] * e->size[2] * e->size[3];
    if (fixed == rank) {
        results r = score_axes(e, axes, made, SIZE_MAX);
        same_results(e, axes, &r, packed, n);
        let_go(&r);
        return;
    }
    for (size_t i = fixed; i < rank; i++) {
        char held = axes[fixed];
        axes[fixed] = axes[i], axes[i] = held;
        permute(e, axes, fixed + 1, made, packed);
        held = axes[fixed], axes[fixed] = axes[i], axes[i] = held;
    }
}

static void permutations(void **state) {
    (void)state;
    static const example examples[] = {
        {"NHWMC", {2, 5, 9, 1, 3, 4}, VG_ELEMENT_F32, 0},    {"NHWMC", {2, 3, 35, 1, 7, 3}, VG_ELEMENT_F32, 0},
        {"NHWMC", {1, 4, 20, 1, 3, 5}, VG_ELEMENT_F64, 0},   {"NHWMC", {2, 1, 40, 1, 8, 3}, VG_ELEMENT_F64, 1},
        {"NHWMC", {2, 2, 21, 1, 3, 4}, VG_ELEMENT_BF16, 0},  {"NHWMC", {2, 2, 21, 1, 9, 4}, VG_ELEMENT_BF16, 1},
        {"NHWMC", {1, 2, 17, 1, 2, 200}, VG_ELEMENT_F32, 0}, {"NHWC", {2, 3, 19, 1, 1, 4}, VG_ELEMENT_F32, 0},
        {"HWMC", {1, 3, 19, 1, 2, 4}, VG_ELEMENT_F32, 1},    {"NMC", {37, 1, 1, 1, 5, 3}, VG_ELEMENT_F32, 0},
        {"NHWDMC", {2, 2, 3, 5, 2, 3}, VG_ELEMENT_F32, 0}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *e = examples + i;
        size_t n = e->size[0] * e->size[1] * e->size[2] * e->size[3], rows = n * e->size[4], c = e->size[5];
        double *made = ref_alloc(rows * c, 8);
        rng_state = 24 + i;
        for (size_t r = 0; r < rows; r++) {
            for (size_t k = 0; k < c; k++)
                made[r * c + k] = 2 * rng_normal();
            if (!e->logits)
                to_distribution(made + r * c, c);
        }
        char axes[LETTERS + 1];
        strcpy(axes, e->letters);
        results packed = score_axes(e, axes, made, SIZE_MAX), cut = score_axes(e, axes, made, 7);
        same_results(e, axes, &packed, &cut, n);
        permute(e, axes, 0, made, &packed);
        let_go(&packed);
        let_go(&cut);
        free(made);
    }
}

/* Strides of the caller: a crop of a larger image, and one that is turned over. */
static void given_strides(void **state) {
    (void)state;
    enum { M = 3, C = 4, H = 6, W = 10 };
    float image[M * C * H * W];
    for (size_t i = 0; i < M * H * W; i++) {
        double row[C];
        for (size_t c = 0; c < C; c++)
            row[c] = rng_normal();
        to_distribution(row, C);
        for (size_t c = 0; c < C; c++)
            image[(i / (H * W) * C + c) * H * W + i % (H * W)] = (float)row[c];
    }
    size_t shape[] = {M, C, H - 2, W - 4};
    ptrdiff_t strides[] = {C * H * W, H * W, -W, 1};
    vg_sites sites = VG_SITES_INIT;
    vg_predictions block;
    assert_int_equal(vg_sites_view(&sites, image + 4 * W + 2, VG_ELEMENT_F32, "MCHW", 4, shape, strides), VG_OK);
    assert_true(sites.n == (H - 2) * (W - 4) && sites.run == W - 4 && sites.shape[0] == 1);
    vg_sites_block(&block, &sites, 2 * (W - 4) + 1, SIZE_MAX);
    assert_true(block.n == W - 5 && block.stride_n == 1 && block.stride_c == H * W && block.stride_m == C * H * W);
    assert_ptr_equal(block.data, image + 2 * W + 3);
}

/* The longest blocks: sites at one stride. */
static void runs(void **state) {
    (void)state;
    static const struct {
        const char *axes;
        size_t shape[6], run;
        ptrdiff_t stride;
    } layouts[] = {{"NMC", {7, 3, 4}, 7, 12},
                   {"NMCHW", {2, 3, 4, 5, 6}, 30, 1},  /* an image */
                   {"NHWMC", {2, 5, 6, 3, 4}, 60, 12}, /* all images */
                   {"MNCHW", {3, 2, 4, 5, 6}, 30, 1},
                   {"MCNHW", {3, 4, 2, 5, 6}, 60, 1},
                   {"NHMCW", {2, 5, 3, 4, 6}, 6, 1},   /* a row */
                   {"WHNMC", {6, 5, 2, 3, 4}, 6, 120}, /* a row: the axes are in reverse */
                   {"NMCHWD", {1, 2, 3, 4, 5, 6}, 120, 1},
                   {"NMCHW", {4, 3, 2, 1, 1}, 4, 6}, /* of one site each */
                   {"NMCHW", {4, 3, 2, 5, 1}, 5, 1},
                   {"NHMCW", {2, 1, 3, 4, 6}, 6, 1}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        vg_sites sites = VG_SITES_INIT;
        float data = 0;
        assert_int_equal(vg_sites_view(&sites, &data, VG_ELEMENT_F32, layouts[i].axes, strlen(layouts[i].axes),
                                       layouts[i].shape, NULL),
                         VG_OK);
        if (sites.run != layouts[i].run || sites.stride_run != layouts[i].stride)
            fail_msg("%zu, %s: runs of %zu at %td, expected %zu at %td", i, layouts[i].axes, sites.run,
                     sites.stride_run, layouts[i].run, layouts[i].stride);
    }
}

static void refuse(const char *axes, size_t rank, const char *says) {
    static const size_t shape[] = {20, 5, 19, 256, 256, 2, 2};
    vg_sites sites = VG_SITES_INIT;
    assert_int_equal(vg_sites_view(&sites, NULL, VG_ELEMENT_F32, axes, rank, shape, NULL), VG_ERR_ARGUMENT);
    if (!strstr(vg_error_message(), says) || strchr(vg_error_message(), '\n'))
        fail_msg("'%s', expected '%s'", vg_error_message(), says);
}

static void refusals(void **state) {
    (void)state;
    refuse("NMXHW", 5, "'X' is not an axis; use N samples, M members, C classes and, of images and volumes, H W D");
    refuse("nmc", 3, "'n' is not an axis");
    refuse("NMCNW", 5, "N is there twice");
    refuse("NMC", 5, "names 3, but the array has 5 (20, 5, 19, 256, 256); what fits: NMCHW, MNCHW or NCHWM");
    refuse("NMCHW", 4, "names 5, but the array has 4 (20, 5, 19, 256); what fits: NCHW (one member) or MCHW");
    refuse("C", 2, "what fits: NC (one member), or");
    refuse("C", 3, "what fits: NMC or MNC, or CHW (one image, one member), or");
    refuse("C", 4, "what fits: NCHW (one member) or MCHW (one image), or");
    refuse("C", 5, "what fits: NMCHW, MNCHW or NCHWM, or NCHWD (one member), or");
    refuse("C", 6, "what fits: NMCHWD, MNCHWD or NCHWDM, or");
    refuse("NC", 1, "what fits: NC, NMC, NMCHW or NMCHWD, of 2 to 6 axes, or");
    refuse("NMHW", 4, "has no C, the classes; what fits 4 axes");
    refuse("MC", 2, "has neither N nor H, W, D; what fits 2 axes (20, 5): NC (one member)");
    refuse("", 0, "has no C");
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(permutations), cmocka_unit_test(given_strides),
                                       cmocka_unit_test(refusals), cmocka_unit_test(runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
