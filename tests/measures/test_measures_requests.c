/* test_measures_requests.c - every field of vg_scores, asked for at random beside any others, written where the caller
 * wants it and nowhere else, in every SIMD tier.
 *
 * A trial draws a shape near the limits at which the kernels choose another layout, options and values. All fields of
 * the packed input, by one thread and in one call, are what the trial is compared with, to the bit: fields drawn at
 * random, arrays that begin anywhere in a line of the cache, samples cut into blocks, one to four threads, members and
 * classes and samples in any order in memory with elements between them, gated results in planes. Elements around an
 * array keep their bytes. Many settings of k make results large, so that they go through the staging buffer. */
#include "measures_util.h"

#include "measures/scorer.h"

typedef struct field {
    const char *name;
    size_t offset, bytes;
    enum field_size size;
    int logits, planes; /* for logits only; in planes where the scorer is told so */
} field;
#define ONE(name)                                                                                                      \
    { #name, offsetof(vg_scores, name), sizeof *((vg_scores *)0)->name, PER_PROBLEM, 0, 0 }
#define LOGITS(name)                                                                                                   \
    { #name, offsetof(vg_scores, name), sizeof(double), PER_PROBLEM, 1, 0 }
#define GATED(name, planes)                                                                                            \
    { #name, offsetof(vg_scores, name), sizeof *((vg_scores *)0)->name, PER_K, 0, planes }
#define CLASSES(name)                                                                                                  \
    { #name, offsetof(vg_scores, name), sizeof(double), PER_CLASS, 0, 0 }
static const field fields[] = {
    ONE(tu),          ONE(au),        ONE(eu),       ONE(epce),       ONE(epkl),          ONE(epjs),
    GATED(gtu, 1),    GATED(gau, 1),  GATED(geu, 1), GATED(gepce, 1), GATED(gepkl, 1),    GATED(gepjs, 1),
    ONE(gmu),         ONE(snr),       ONE(pred),     ONE(second),     GATED(decision, 0), CLASSES(mean),
    CLASSES(std),     ONE(flags),     ONE(maxprob),  ONE(gap),        ONE(topstd),        ONE(votes),
    LOGITS(maxlogit), LOGITS(energy),
};
enum { FIELDS = sizeof fields / sizeof *fields, GUARD = 64, FILL = 0xa7, MOST_K = 2048, TU = 0, GTU = 6 };
_Static_assert(FIELDS * sizeof(void *) == sizeof(vg_scores), "every field");

/* One array for each field that is wanted, with GUARD bytes before and after it. */
typedef struct arrays {
    char *memory[FIELDS], *at[FIELDS]; /* at: NULL where the field is not asked for */
    size_t bytes[FIELDS];
} arrays;

typedef struct request {
    size_t n, m, c, problems; /* problems: of a sample */
    void *data;               /* packed */
    size_t element;
    vg_predictions packed;
    vg_score_options options;
    double k[MOST_K], class_k[512], temperature[64];
    arrays want;
    vg_score_summary summary;
    int number, no_gates; /* no_gates: no gated measure is asked for */
} request;

/* --- arrays of results */

static size_t count_of(const request *r, const field *f, size_t n) {
    size_t problems = n * r->problems;
    return f->size == PER_CLASS ? n * r->c : f->size == PER_K ? problems * r->options.k_count : problems;
}

static void take(arrays *a, const request *r, int f, int shifted) {
    size_t shift = shifted ? fields[f].bytes * rng_below(16) : 0, front = GUARD + shift;
    a->bytes[f] = count_of(r, &fields[f], r->n) * fields[f].bytes;
    a->memory[f] = aligned_alloc(64, (front + a->bytes[f] + GUARD + 63) / 64 * 64);
    assert_non_null(a->memory[f]);
    memset(a->memory[f], FILL, front + a->bytes[f] + GUARD);
    a->at[f] = a->memory[f] + front;
}

static void drop(arrays *a) {
    for (int f = 0; f < FIELDS; f++)
        free(a->memory[f]);
}

static void guards_hold(const request *r, const arrays *a) {
    for (int f = 0; f < FIELDS; f++) {
        const char *end = a->memory[f] ? a->at[f] + a->bytes[f] : NULL;
        for (const char *p = a->memory[f]; p && p < end + GUARD; p++) {
            p = p == a->at[f] ? end : p;
            if ((unsigned char)*p != FILL)
                fail_msg("%s trial %d: %s: written at byte %td of %zu", vg_cpu_tier(), r->number, fields[f].name,
                         p - a->at[f], a->bytes[f]);
        }
    }
}

/* The places of samples from `first` on; plane as for vg_scorer__set_planes. */
static vg_scores places(const request *r, const arrays *a, size_t first, size_t plane) {
    vg_scores s = {0};
    for (int f = 0; f < FIELDS; f++) {
        size_t elements = plane && fields[f].planes ? first * r->problems : count_of(r, &fields[f], first);
        char *at = a->at[f] ? a->at[f] + elements * fields[f].bytes : NULL;
        memcpy((char *)&s + fields[f].offset, &at, sizeof at);
    }
    return s;
}

static void compare(const request *r, const arrays *got, size_t plane) {
    size_t K = r->options.k_count;
    for (int f = 0; f < FIELDS; f++) {
        size_t count = got->at[f] ? count_of(r, &fields[f], r->n) : 0, b = fields[f].bytes;
        int planes = plane && fields[f].planes;
        if (!planes && count && memcmp(got->at[f], r->want.at[f], count * b) == 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            size_t at = planes ? i % K * plane + i / K : i;
            if (memcmp(got->at[f] + at * b, r->want.at[f] + i * b, b) != 0)
                fail_msg("%s trial %d (N=%zu M=%zu C=%zu type %d task %d logits %d K=%zu): %s[%zu] differs",
                         vg_cpu_tier(), r->number, r->n, r->m, r->c, (int)r->packed.dtype, (int)r->options.task,
                         r->options.logits, K, fields[f].name, i);
        }
    }
    guards_hold(r, got);
}

/* --- what is drawn */

static void draw_options(request *r) {
    vg_score_options *o = &r->options;
    *o = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    assert_int_equal(vg_score_options_preset(o, rng_below(2) ? VG_PRESET_PAPER : (vg_preset)rng_below(3)), VG_OK);
    o->task = rng_below(5) ? VG_TASK_MULTICLASS : (vg_task)(1 + rng_below(2));
    o->logits = rng_below(3) == 0;
    o->renormalise = !o->logits && rng_below(8) == 0;
    o->threads = 1;
    o->k = r->k;
    o->k_count = rng_below(2) ? 3 : 1 + rng_below(9);
    for (size_t i = 0; i < MOST_K; i++)
        r->k[i] = exp(3 * rng_normal());
    if (rng_below(4) == 0) {
        o->class_k = r->class_k;
        o->class_k_count = rng_below(4) ? r->c : 1;
    }
    for (size_t i = 0; i < 512; i++)
        r->class_k[i] = exp((r->number % 2 ? 0.3 : 1.5) * rng_normal());
    if (o->logits && rng_below(2)) {
        o->temperature = r->temperature;
        o->temperature_count = rng_below(2) ? r->m : 1;
    }
    for (size_t i = 0; i < 64; i++)
        r->temperature[i] = 0.5 + rng_uniform();
}

static void draw_values(request *r) {
    static const maker kinds[] = {MAKE_DIRICHLET, MAKE_DIRICHLET, MAKE_NEAR, MAKE_SOME_ZERO,
                                  MAKE_FAR,       MAKE_TIE,       MAKE_FLOOR};
    vg_dtype dtype = (vg_dtype[]){VG_F32, VG_F32, VG_F64, VG_F16, VG_BF16}[rng_below(5)];
    size_t count = r->n * r->m * r->c;
    maker kind = r->options.logits ? MAKE_LOGITS : kinds[rng_below(sizeof kinds / sizeof *kinds)];
    double parameter = kind == MAKE_NEAR ? 1e-3 : kind == MAKE_FAR ? 4 : kind == MAKE_LOGITS ? 3 : 0.5;
    int labels = r->options.task != VG_TASK_MULTICLASS;
    double *p = labels && !r->options.logits ? make_labels(r->n, r->m, r->c, kind, parameter)
                                             : make_predictions(r->n, r->m, r->c, kind, parameter);
    for (size_t i = 0; r->options.logits && !labels && rng_below(3) == 0 && i < 3; i++)
        p[rng_below(count) / r->c * r->c] = -INFINITY;               /* never a whole row */
    if (!r->options.logits && (dtype == VG_F16 || dtype == VG_BF16)) /* their rows sum to 1 no better than 1 / 512 */
        r->options.renormalise = 1;
    r->element = dtype == VG_F64 ? 8 : dtype == VG_F32 ? 4 : 2;
    r->data = narrowed(p, count, dtype);
    r->packed = (vg_predictions){r->data, dtype, r->n, r->m, r->c, (ptrdiff_t)(r->m * r->c), (ptrdiff_t)r->c, 1};
    free(p);
}

static void draw_shape(request *r, size_t elements) {
    static const size_t members[] = {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 15, 16, 17, 20, 21, 33};
    static const size_t classes[] = {2,  2,  3,  4,  5,  7,  8,  9,  10,  15,  16,  17,  20,
                                     31, 32, 33, 40, 63, 64, 65, 66, 127, 191, 192, 193, 209};
    r->m = members[rng_below(sizeof members / sizeof *members)];
    r->c = classes[rng_below(sizeof classes / sizeof *classes)];
    size_t most = elements / (r->m * r->c);
    r->n = 1 + rng_below(most < 2 ? 2 : most < 140 ? most : 140);
}

/* Feeds a view in blocks of `most` samples, or of as many as are drawn. */
static void feed(const request *r, const vg_predictions *view, const arrays *to, const vg_score_options *o,
                 size_t plane, size_t most, int drawn, vg_score_summary *summary) {
    vg_scorer *s;
    assert_int_equal(vg_scorer_new(&s, r->m, r->c, o), VG_OK);
    vg_scorer__set_planes(s, plane);
    for (size_t first = 0, n; first < r->n; first += n) {
        n = drawn ? 1 + rng_below(most) : most;
        n = n < r->n - first ? n : r->n - first;
        vg_predictions block = *view;
        vg_scores out = places(r, to, first, plane);
        block.data = (const char *)view->data + (ptrdiff_t)first * view->stride_n * (ptrdiff_t)r->element;
        block.n = n;
        if (vg_scorer_feed(s, &out, &block, NULL) != VG_OK)
            fail_msg("%s trial %d: %s", vg_cpu_tier(), r->number, vg_error_message());
    }
    assert_int_equal(vg_scorer_summary(s, summary), VG_OK);
    vg_scorer_free(s);
}

/* Scores everything as the others are compared with, `part` samples at a time. */
static void score_all(request *r, size_t part) {
    for (int f = 0; f < FIELDS; f++)
        if ((r->options.logits || !fields[f].logits) && !(r->no_gates && fields[f].planes))
            take(&r->want, r, f, 0);
    feed(r, &r->packed, &r->want, &r->options, 0, part, 0, &r->summary);
    guards_hold(r, &r->want);
}

static request *request_new(int number, size_t elements) {
    request *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->number = number;
    rng_state = 7000 + (uint64_t)number * 977 + seed_shift();
    draw_shape(r, elements);
    draw_options(r);
    draw_values(r);
    r->problems = r->options.task == VG_TASK_MULTICLASS ? 1 : r->c;
    return r;
}

static void request_free(request *r) {
    drop(&r->want);
    free(r->data);
    free(r);
}

/* The values in another order in memory, with gaps and backwards steps; *memory is to be freed. */
static vg_predictions rearranged(const request *r, void **memory) {
    size_t lengths[3] = {r->n, r->m, r->c}, order[3] = {0, 1, 2}, room = 1;
    ptrdiff_t strides[3], base = 0;
    for (size_t i = 3; i-- > 1;) {
        size_t j = rng_below(3) ? i : rng_below(i + 1), kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
    for (size_t i = 3; i-- > 0;) {
        room *= rng_below(3) ? 1 : 1 + rng_below(3);
        strides[order[i]] = (ptrdiff_t)room * (rng_below(5) ? 1 : -1);
        base += strides[order[i]] < 0 ? (ptrdiff_t)(room * (lengths[order[i]] - 1)) : 0;
        room = room * lengths[order[i]] + (rng_below(3) ? 0 : rng_below(5));
    }
    char *to = malloc((room + 1) * r->element);
    assert_non_null(to);
    memset(to, 0xff, (room + 1) * r->element); /* NaN between the elements */
    *memory = to;
    to += base * (ptrdiff_t)r->element;
    for (size_t i = 0; i < r->n * r->m * r->c; i++) {
        ptrdiff_t at = (ptrdiff_t)(i / r->c / r->m) * strides[0] + (ptrdiff_t)(i / r->c % r->m) * strides[1] +
                       (ptrdiff_t)(i % r->c) * strides[2];
        memcpy(to + at * (ptrdiff_t)r->element, (const char *)r->data + i * r->element, r->element);
    }
    return (vg_predictions){to, r->packed.dtype, r->n, r->m, r->c, strides[0], strides[1], strides[2]};
}

/* --- tests */

static void same(const request *r, const char *name, double want, double got, int known) {
    if (known ? memcmp(&want, &got, sizeof want) != 0 : !isnan(got))
        fail_msg("%s trial %d: %s is %.17g, and %.17g of everything", vg_cpu_tier(), r->number, name, got, want);
}

static void compare_summary(const request *r, const vg_score_summary *got, const arrays *a) {
    const vg_score_summary *want = &r->summary;
    int tu = a->at[TU] != NULL, gtu = a->at[GTU] != NULL;
    assert_true(got->samples == want->samples && got->members == want->members && got->outcomes == want->outcomes);
    same(r, "diversity", want->diversity, got->diversity, 1);
    same(r, "member_variance", want->member_variance, got->member_variance, 1);
    same(r, "total_variance", want->total_variance, got->total_variance, 1);
    same(r, "disagreement", want->disagreement, got->disagreement, 1);
    same(r, "abstained", want->abstained, got->abstained, 1);
    same(r, "mean_tu", want->mean_tu, got->mean_tu, tu);
    same(r, "mean_gtu", want->mean_gtu, got->mean_gtu, gtu);
    same(r, "k_sensitivity", want->k_sensitivity, got->k_sensitivity, tu && gtu);
}

/* Of four fields `of_four`, and always one, of a view in blocks of at most `most` samples. */
static void ask(const request *r, const vg_predictions *view, size_t most, size_t of_four) {
    arrays got = {0};
    vg_score_options o = r->options;
    vg_score_summary summary;
    size_t plane = rng_below(4) ? 0 : r->n * r->problems, chosen = rng_below(FIELDS - 2);
    for (int f = 0; f < FIELDS; f++)
        if ((rng_below(4) < of_four || (size_t)f == chosen) && r->want.at[f])
            take(&got, r, f, 1);
    o.threads = 1 + (unsigned)rng_below(4);
    feed(r, view, &got, &o, plane, most, most < r->n, &summary);
    compare(r, &got, plane);
    compare_summary(r, &summary, &got);
    drop(&got);
}

static void small_requests(void **state) {
    (void)state;
    for (int number = 0; number < 160; number++) {
        request *r = request_new(number, 1600);
        void *memory;
        score_all(r, r->n);
        vg_predictions view = rearranged(r, &memory);
        ask(r, &r->packed, r->n, 0);
        ask(r, &r->packed, r->n, 1);
        ask(r, &view, r->n, rng_below(5));
        ask(r, &view, 1 + r->n / 3, 2);
        free(memory);
        request_free(r);
    }
}

/* Each two of TU to GEPJS alone, with 1 to 12 members and 1 to 4 gates: kernels are compiled for small numbers of both,
 * and what is not asked for is left out of them. */
static void pairs_of_fields(void **state) {
    enum { ENTROPIES = 12 };
    (void)state;
    for (int number = 5000; number < 5000 + 12 * 4; number++) {
        request *r = request_new(number, 1);
        r->m = 1 + (size_t)(number - 5000) % 12, r->c = 3 + (size_t)number % 3, r->n = 100;
        r->options = (vg_score_options)VG_SCORE_OPTIONS_INIT;
        r->options.k = r->k, r->options.k_count = 1 + (size_t)(number - 5000) / 12, r->options.threads = 1;
        r->problems = 1;
        free(r->data);
        draw_values(r);
        score_all(r, r->n);
        for (int first = 0; first < ENTROPIES; first++)
            for (int second = 0; second < first; second++) {
                arrays got = {0};
                vg_score_summary summary;
                take(&got, r, first, 0);
                take(&got, r, second, 0);
                feed(r, &r->packed, &got, &r->options, 0, r->n, 0, &summary);
                compare(r, &got, 0);
                drop(&got);
            }
        request_free(r);
    }
}

/* As many elements that threads share the work. */
static void large_requests(void **state) {
    (void)state;
    for (int number = 1000; number < 1005; number++) {
        request *r = request_new(number, 1600);
        r->n = 80000 / (r->m * r->c) + 1 + rng_below(20);
        r->options.k_count = 1 + rng_below(2);
        free(r->data);
        draw_values(r);
        score_all(r, r->n);
        ask(r, &r->packed, r->n, 4);
        ask(r, &r->packed, r->n, 1);
        request_free(r);
    }
}

/* Many settings of k: more than 8 MiB of results, which are staged; scored before in parts that are not. */
static void staged_requests(void **state) {
    (void)state;
    for (int number = 2000; number < 2003; number++) {
        request *r = request_new(number, 1);
        r->m = 1 + (size_t)number % 3, r->c = 2 + (size_t)number % 4, r->n = 2500 + rng_below(200);
        r->options.task = VG_TASK_MULTICLASS, r->problems = 1;
        r->options.k_count = 160 - rng_below(30);
        r->options.class_k = NULL, r->options.temperature = NULL;
        free(r->data);
        draw_values(r);
        score_all(r, 300);
        ask(r, &r->packed, r->n, 4);
        ask(r, &r->packed, r->n, 3);
        request_free(r);
    }
}

/* The same of decisions alone, of so many members and classes that there are more pieces than threads, the last one
 * of which has one to three samples. */
static void staged_decisions(void **state) {
    (void)state;
    for (int number = 3000; number < 3004; number++) {
        static const size_t shapes[][2] = {{20, 20}, {2, 200}, {40, 10}};
        request *r = request_new(number, 1);
        r->m = shapes[number % 3][0], r->c = shapes[number % 3][1], r->n = 2112 + (size_t)number % 4;
        r->options.task = VG_TASK_MULTICLASS, r->problems = 1, r->no_gates = 1;
        r->options.k_count = MOST_K;
        r->options.class_k = NULL, r->options.temperature = NULL;
        free(r->data);
        draw_values(r);
        score_all(r, 300);
        ask(r, &r->packed, r->n, 4);
        ask(r, &r->packed, r->n, 4);
        request_free(r);
    }
}

/* More samples than a scorer takes at once, 65,536. */
static void chunked_requests(void **state) {
    (void)state;
    for (int number = 4000; number < 4004; number++) {
        request *r = request_new(number, 1);
        r->m = 1 + (size_t)number / 2 % 2, r->c = 2, r->n = 65536 + 1 + rng_below(100);
        r->options.task = number % 2 ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
        r->problems = number % 2 ? r->c : 1;
        r->options.k_count = 2;
        r->options.class_k = NULL, r->options.temperature = NULL;
        free(r->data);
        draw_values(r);
        score_all(r, 30000);
        for (size_t plane = 0; plane < 2; plane++) {
            arrays got = {0};
            vg_score_summary summary;
            for (int f = 0; f < FIELDS; f++)
                if (r->want.at[f])
                    take(&got, r, f, 1);
            feed(r, &r->packed, &got, &r->options, plane * r->n * r->problems, r->n, 0, &summary);
            compare(r, &got, plane * r->n * r->problems);
            compare_summary(r, &summary, &got);
            drop(&got);
        }
        request_free(r);
    }
}

static int suite(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_requests),   cmocka_unit_test(pairs_of_fields),
                                       cmocka_unit_test(large_requests),   cmocka_unit_test(staged_requests),
                                       cmocka_unit_test(staged_decisions), cmocka_unit_test(chunked_requests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
