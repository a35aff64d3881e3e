/* test_measures_pinned.c - scoring at many shapes and options in every SIMD tier: a second run with other threads and
 * blocks must have the same bits, and every call must end, also with sizes that no machine has. Where VARGATE_BITS
 * names a file, every result to its last bit, plans, and what is asked of the rest of the library (memory, threads,
 * pieces, calls of the kernels) are held against what another build wrote there: work_log.h. Other tests show that
 * results are right; that comparison notices that something changed. */
#include "random_trials.h"

#include "measures/cuda/score_job.h"
#include "measures/disagreement.h"
#include "measures/kernel.h"
#include "measures/result_staging.h"
#include "measures/scorer.h"
#include "work_log.h"

typedef struct seen {
    uint64_t work, bits;
} seen;

/* --- scoring */

/* A problem: predictions and how they are scored. */
typedef struct problem {
    double *values; /* [n][m][c] */
    void *data;     /* the same as `view` has them */
    vg_predictions view;
    vg_score_options options;
    uint64_t asked; /* bit f: result f is asked for; bits from OTHER_RESULTS on: those that score_fields lacks */
    bool summary;
    size_t first; /* samples of a first block of their own; 0: all at once */
} problem;
enum { OTHER_RESULTS = 32, OTHERS = 6, CLASSES = 40 };

static double **other_place(vg_scores *s, int i) {
    double **const places[OTHERS] = {&s->maxprob, &s->gap, &s->topstd, &s->votes, &s->maxlogit, &s->energy};
    return places[i];
}

/* Places for what is asked for; `all` has them all. */
static vg_scores asked_places(const problem *p, vg_scores *all, score_shape shape) {
    *all = scores_new(shape);
    vg_scores some = *all;
    for (int f = 0; f < SCORE_FIELDS; f++)
        if (!(p->asked >> f & 1))
            *score_place(&some, f) = NULL;
    for (int i = 0; i < OTHERS; i++) {
        *other_place(all, i) = ref_alloc(shape.problems, sizeof(double));
        memset(*other_place(all, i), 0xee, shape.problems * sizeof(double));
        *other_place(&some, i) =
            (p->asked >> (OTHER_RESULTS + i) & 1) && (i < 4 || p->options.logits) ? *other_place(all, i) : NULL;
    }
    if (!(p->asked >> CLASSES & 1))
        some.pred = some.second = some.decision = NULL, some.flags = NULL;
    return some;
}

static uint64_t hash_scores(vg_scores *s, score_shape shape) {
    uint64_t hash = 1;
    for (int f = 0; f < SCORE_FIELDS; f++)
        hash = hash_bytes(hash, *score_place(s, f), score_count(shape, score_fields[f].size) * sizeof(double));
    for (int i = 0; i < OTHERS; i++)
        hash = hash_bytes(hash, *other_place(s, i), shape.problems * sizeof(double));
    hash = hash_bytes(hash, s->pred, shape.problems * sizeof *s->pred);
    hash = hash_bytes(hash, s->second, shape.problems * sizeof *s->second);
    hash = hash_bytes(hash, s->flags, shape.problems * sizeof *s->flags);
    return hash_bytes(hash, s->decision, shape.problems * shape.k * sizeof *s->decision);
}

static uint64_t hash_summary(const vg_scorer *s) {
    vg_score_summary m;
    assert_int_equal(vg_scorer_summary(s, &m), VG_OK);
    const double figures[] = {m.diversity,       m.k_sensitivity,  m.mean_tu,      m.mean_gtu,
                              m.member_variance, m.total_variance, m.disagreement, m.abstained};
    uint64_t hash = hash_step(1, m.samples);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        hash = isnan(figures[i]) ? hash_step(hash, 1) : hash_bytes(hash, &figures[i], sizeof *figures);
    return hash;
}

static vg_scores places_after(const problem *p, const vg_scores *some, size_t n) {
    size_t units = p->options.task == VG_TASK_MULTICLASS ? n : n * p->view.c, k = p->options.k ? p->options.k_count : 3;
    vg_scores at = vg_measures__places_at(some, units, k, 0);
    at.mean = some->mean ? some->mean + n * p->view.c : NULL;
    at.std = some->std ? some->std + n * p->view.c : NULL;
    return at;
}

static uint64_t score_problem(const problem *p) {
    score_shape shape = shape_of(&p->view, &p->options);
    vg_scores all, some = asked_places(p, &all, shape);
    vg_scorer *s = NULL;
    uint64_t hash = 0;
    if (p->summary) {
        static const size_t sizes[] = {4, 8, 2, 2};
        vg_predictions first = p->view, rest = p->view;
        first.n = p->first;
        rest.n -= p->first;
        rest.data = (const char *)p->view.data + (ptrdiff_t)(p->first * sizes[p->view.dtype]) * p->view.stride_n;
        vg_scores after = places_after(p, &some, p->first);
        assert_int_equal(vg_scorer_new(&s, p->view.m, p->view.c, &p->options), VG_OK);
        vg_status status = p->first ? vg_scorer_feed(s, &some, &first, NULL) : VG_OK;
        status = status == VG_OK ? vg_scorer_feed(s, &after, &rest, NULL) : status;
        hash = hash_step(hash_step(hash, status), hash_summary(s));
        vg_scorer_free(s);
    } else {
        hash = hash_step(hash, vg_score(&some, NULL, &p->view, &p->options));
    }
    hash = hash_step(hash, hash_scores(&all, shape));
    for (int i = 0; i < OTHERS; i++)
        free(*other_place(&all, i));
    scores_free(&all);
    return hash;
}

/* Scores a problem; the second time with other threads and in one block, which may not change a bit. */
static seen see_problem(problem *p) {
    seen s;
    work_taken();
    s.bits = score_problem(p);
    s.work = work_taken();
    p->options.threads = p->options.threads == 1 ? 3 : 1;
    p->first = p->first ? 0 : p->view.n / 2;
    if (score_problem(p) != s.bits)
        fail_msg("N %zu, M %zu, C %zu: other bits with other threads and blocks", p->view.n, p->view.m, p->view.c);
    work_taken();
    return s;
}

static uint64_t draw_asked(void) {
    static const uint64_t few[] = {7, 1, 2, 4, 8, 16, 32, 64, 0x1000, 0x2000, 0x70, 0x800, 0xc000, 0x7000};
    uint64_t all = ~(uint64_t)0;
    return rng_below(3) ? all : rng_below(2) ? few[rng_below(14)] | (uint64_t)rng_below(2) << CLASSES : rng_next();
}

/* Small problems of every kind: random_trials.h. */
static seen see_trial(size_t number) {
    trial t = trial_new(4711, number);
    trial_settle(&t);
    problem p = {.values = t.p, .options = t.options, .asked = draw_asked(), .summary = rng_below(2)};
    p.data = narrowed(t.p, t.n * t.m * t.c, t.dtype);
    p.view = (vg_predictions){p.data, t.dtype, t.n, t.m, t.c, (ptrdiff_t)(t.m * t.c), (ptrdiff_t)t.c, 1};
    p.options.threads = 1 + (unsigned)rng_below(3);
    seen s = see_problem(&p);
    free(p.data);
    trial_free(&t);
    return s;
}

/* Members and classes around which the kernels take other forms. */
static const size_t many_members[] = {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 15, 16, 17, 20, 21, 24, 31, 33, 54, 56, 100};
static const size_t many_classes[] = {2,  3,  4,  5,  8,   10,  15,  16,  17,  31,  32,  33,  63, 64,
                                      65, 80, 96, 99, 100, 127, 191, 192, 193, 256, 257, 320, 321};
#define PICK(list) list[rng_below(sizeof list / sizeof *list)]

static void draw_switches(vg_score_options *o) {
    static const double ks[] = {1, 0.05, 20, 2, 3, 0.7, 300};
    *o = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    assert_int_equal(vg_score_options_preset(o, (vg_preset)rng_below(3)), VG_OK);
    if (rng_below(2)) {
        size_t count = 1 + rng_below(7);
        o->k = ks + rng_below(8 - count);
        o->k_count = count;
    }
    if (rng_below(3) == 0)
        o->pairs = (vg_pairs)rng_below(2), o->floor_form = (vg_floor)rng_below(3), o->normalise = (int)rng_below(2);
    o->threads = 1 + (unsigned)rng_below(3);
}

/* A k for every class, near each other or far apart. */
static void draw_class_k(vg_score_options *o, size_t c) {
    static double class_k[1000];
    for (size_t i = 0; i < c && i < 1000; i++)
        class_k[i] = log_uniform(-0.3, 0.3);
    if (rng_below(4) == 0)
        class_k[rng_below(c)] = 9;
    o->class_k = c <= 1000 ? class_k : NULL;
    o->class_k_count = rng_below(4) ? c : 1;
}

static void draw_values(problem *p, size_t n, size_t m, size_t c) {
    static const maker kinds[] = {MAKE_DIRICHLET,  MAKE_ONE_HOT,   MAKE_IDENTICAL, MAKE_NEAR,  MAKE_UNIFORM,
                                  MAKE_ZERO_CLASS, MAKE_SOME_ZERO, MAKE_TIE,       MAKE_FLOOR, MAKE_DENORMAL,
                                  MAKE_PEAKED,     MAKE_FAR,       MAKE_MIXED,     MAKE_FIRST, MAKE_DIRICHLET};
    size_t chosen = rng_below(sizeof kinds / sizeof *kinds);
    maker kind = p->options.logits ? rng_below(2) ? MAKE_LOGITS : MAKE_LOGITS_NEAR : kinds[chosen];
    double parameter = kind == MAKE_NEAR || kind == MAKE_LOGITS_NEAR ? log_uniform(-7, 0) : log_uniform(-2, 1);
    if (kind == MAKE_FAR || kind == MAKE_MIXED)
        parameter = 1 + 12 * rng_uniform();
    p->values = p->options.task == VG_TASK_MULTICLASS ? make_predictions(n, m, c, kind, parameter)
                                                      : make_labels(n, m, c, kind, parameter);
}

/* The values in this type, with the axes in one of the six orders and some room between rows. */
static void draw_view(problem *p, vg_dtype type, size_t n, size_t m, size_t c) {
    size_t order = rng_below(3) ? 0 : rng_below(6), pad = rng_below(4) ? 0 : 1 + rng_below(5);
    static const unsigned char axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    size_t sizes[3] = {n, m, c}, strides[3], step = 1;
    for (int i = 2; i >= 0; i--) {
        strides[axes[order][i]] = step;
        step *= sizes[axes[order][i]] + (i == 2 ? pad : 0);
    }
    double *spread = ref_alloc(step, sizeof *spread);
    for (size_t i = 0; i < n * m * c; i++)
        spread[i / (m * c) * strides[0] + i / c % m * strides[1] + i % c * strides[2]] = p->values[i];
    p->data = narrowed(spread, step, type);
    p->view =
        (vg_predictions){p->data, type, n, m, c, (ptrdiff_t)strides[0], (ptrdiff_t)strides[1], (ptrdiff_t)strides[2]};
    free(spread);
}

static seen see_shape(size_t n, size_t m, size_t c, vg_dtype type, vg_task task) {
    problem p = {.asked = draw_asked(), .summary = rng_below(3) > 0};
    draw_switches(&p.options);
    p.options.task = task;
    p.options.logits = rng_below(5) == 0;
    p.options.renormalise = type != VG_F64 && type != VG_F32 && !p.options.logits && task == VG_TASK_MULTICLASS;
    p.first = rng_below(2) ? 0 : rng_below(n + 1);
    if (rng_below(5) == 0)
        draw_class_k(&p.options, c);
    draw_values(&p, n, m, c);
    draw_view(&p, type, n, m, c);
    seen s = see_problem(&p);
    free(p.values);
    free(p.data);
    return s;
}

static seen see_random_shape(size_t number) {
    static const vg_dtype types[] = {VG_F32, VG_F32, VG_F32, VG_F64, VG_F64, VG_F16, VG_BF16};
    rng_state = 31 + 7 * number;
    size_t m = PICK(many_members), c = PICK(many_classes), most = 20000 / (m * c);
    vg_task task = rng_below(8) ? VG_TASK_MULTICLASS : rng_below(2) ? VG_TASK_MULTILABEL : VG_TASK_MULTILABEL_LITERAL;
    return see_shape(1 + rng_below(1 + (most < 70 ? most : 70)), m, c, PICK(types), task);
}

/* Large ones: shares of a sample, staged results, several chunks, few and many samples for the threads. */
static seen see_large(size_t number) {
    static const size_t shapes[][3] = {{1, 4, 40011},  {3, 2, 70001}, {2, 40, 4001}, {1, 12, 12001},
                                       {30011, 2, 2},  {38000, 1, 3}, {66000, 1, 2}, {9000, 3, 4},
                                       {2000, 10, 10}, {700, 20, 16}, {40, 5, 1000}, {5, 17, 2000},
                                       {16, 100, 100}, {33, 30, 64},  {129, 8, 192}, {1, 1, 131072}};
    const size_t *shape = shapes[number % 16];
    rng_state = 977 + 5 * number;
    return see_shape(shape[0], shape[1], shape[2], number % 5 == 4 ? VG_F64 : VG_F32, VG_TASK_MULTICLASS);
}

/* Equal rows of two classes: what counts is how the samples are divided. */
static uint64_t divided_work(size_t n, size_t m, size_t c, unsigned threads, uint64_t asked) {
    problem p = {.asked = asked, .options = VG_SCORE_OPTIONS_INIT};
    float *data = ref_alloc(n * m * c, sizeof *data);
    for (size_t i = 0; i < n * m * c; i++)
        data[i] = i % c == 0 ? 0.75f : 0.25f / (float)(c - 1);
    p.options.threads = threads;
    p.view = vg_predictions_f32(data, n, m, c);
    work_taken();
    uint64_t bits = score_problem(&p), work = work_taken();
    free(data);
    return hash_step(work, bits != 0);
}

/* Numbers of samples at which another division begins, and those next to them: one tile, too few samples for threads,
 * samples that share their classes, runs of tiles, results that go through the staging buffer. */
static seen see_division(size_t number) {
    static const size_t few[][3] = {
        {63, 8, 128},  {62, 8, 128},  {64, 8, 128},   {31, 16, 128},  {30, 16, 128},  {7, 64, 128},   {8, 64, 128},
        {1, 4, 16384}, {16, 64, 128}, {17, 64, 128},  {32, 64, 128},  {9, 16, 512},   {10, 2, 65536}, {11, 2, 65536},
        {3, 2, 65536}, {4, 2, 65536}, {20, 2, 65536}, {21, 2, 65536}, {22, 2, 65536}, {30, 2, 65536}, {33, 2, 65536}};
    enum { FEW = sizeof few / sizeof *few, EIGHT = 0x303f }; /* EIGHT: the ungated measures, 64 bytes of a sample */
    if (number < FEW)
        return (seen){divided_work(few[number][0], few[number][1], few[number][2], 3, 1), 0};
    if (number < FEW + 4)
        return (seen){divided_work((1 << 17) - 1 + number - FEW, 1, 2, 2, number == FEW + 3 ? EIGHT - 1 : EIGHT), 0};
    static const vg_kernel_job job = {.m = 1, .c = 2, .k = 3, .single_precision = true, .in = {.dtype = VG_F32}};
    size_t lanes = vg_measures__tier()->units(&job), per = lanes * (1 + 16384 / (2 * lanes));
    size_t times = 47 + (number - FEW - 4) / 2;
    return (seen){divided_work(times * per + (number & 1), 1, 2, 3, 1), 0};
}

static int go_on(void *context, unsigned long long done, unsigned long long total) {
    (void)context;
    work_note(WORK_PROGRESS, done, total);
    return 0;
}

/* What a scorer asks for before it is fed: chunks of about 64 million elements, 4 million with a progress callback. */
static seen see_scorer(size_t number) {
    static const size_t elements[] = {976,  977, 1000, 1024, 1250,   2000,   4000,   62500,  64000, 31250, 31251,
                                      3000, 62,  61,   64,   500000, 499999, 500001, 640000, 10,    320,   65};
    seen s = {1, 0};
    vg_score_options options = VG_SCORE_OPTIONS_INIT;
    vg_scorer *scorer;
    size_t c = elements[number / 4];
    options.progress = number & 1 ? go_on : NULL;
    options.threads = number & 2 ? 2 : 1;
    work_taken();
    assert_int_equal(vg_scorer_new(&scorer, 1, c, &options), VG_OK);
    s.work = work_taken();
    vg_scorer_free(scorer);
    return s;
}

/* Blocks of several chunks, watched: when the caller is told. */
static seen see_progress(size_t number) {
    static const size_t samples[] = {0, 1, 65536, 65537, 131072, 131073, 200000};
    problem p = {.asked = 1, .options = VG_SCORE_OPTIONS_INIT};
    size_t n = samples[number];
    float *data = ref_alloc(n * 2, sizeof *data);
    for (size_t i = 0; i < n * 2; i++)
        data[i] = 0.5f;
    p.options.threads = 1;
    p.options.progress = go_on;
    p.view = vg_predictions_f32(data, n, 1, 2);
    work_taken();
    score_problem(&p);
    free(data);
    return (seen){work_taken(), 0};
}

/* --- plans and sizes */

static size_t huge(void) {
    static const size_t sizes[] = {1, 2, 3, 10, 64, 1000, 1 << 16, (size_t)1 << 29, (size_t)1 << 31, (size_t)1 << 40};
    size_t base = PICK(sizes), step = rng_below(6);
    return step == 0   ? SIZE_MAX / (1 + rng_below(5000))
           : step == 1 ? SIZE_MAX - rng_below(200)
           : step == 2 ? ((size_t)1 << rng_below(64)) + rng_below(3)
                       : base + rng_below(9);
}

/* What a tier says of a job, of any size. */
static seen see_sizes(size_t number) {
    seen s = {1, 0};
    const vg_kernel_tier *tier = vg_measures__tier();
    double k[] = {1, 2, 3, 4, 5};
    rng_state = 17 + number;
    vg_kernel_job job = {.m = huge(), .c = 1 + huge() / 2, .k = rng_below(4) ? 1 + rng_below(5) : huge(), .gates = k};
    draw_switches(&job.options);
    if (rng_below(4) == 0)
        job.labels = job.c, job.c = 2, job.options.task = VG_TASK_MULTILABEL;
    job.in = (vg_predictions){.dtype = (vg_dtype)rng_below(4), .n = huge(), .m = job.m, .c = job.c, .stride_c = 1};
    job.in.stride_c = rng_below(3) ? 1 : (ptrdiff_t)(job.c / 2 + 1);
    job.single_precision = job.in.dtype != VG_F64;
    job.need_gated_reverse = rng_below(2);
    job.need_gated_logs = job.need_gated_reverse || rng_below(2);
    job.need_gated = job.need_gated_logs || rng_below(2);
    job.need_reverse = rng_below(2);
    job.need_logs = job.need_reverse || rng_below(2);
    job.figures = rng_below(2);
    vg_scores all, some;
    problem p = {.asked = draw_asked()};
    some = asked_places(&p, &all, (score_shape){1, 1, 1});
    job.out = some;
    size_t bytes = 0, room = 0;
    bool fits = tier->workspace(&bytes, &job);
    s.work = hash_step(hash_step(s.work, fits), fits ? bytes : 0);
    s.work = hash_step(hash_step(s.work, tier->units(&job)), tier->shares(&job));
    s.work = hash_step(s.work, tier->votes(&job));
    fits = vg_disagreement__room(&room, job.m, job.c);
    s.work = hash_step(hash_step(s.work, fits), fits ? room : 0);
    s.work = hash_step(s.work, vg_disagreement__base(job.m, job.c));
    s.work = hash_step(s.work, vg_measures__result_bytes(&some, job.k));
    fits = vg_measures__staging_bytes(&bytes, &some, job.k);
    s.work = hash_step(hash_step(s.work, fits), fits ? bytes : 0);
    for (int i = 0; i < OTHERS; i++)
        free(*other_place(&all, i));
    scores_free(&all);
    work_taken();
    return s;
}

/* Which samples of a stream count for the disagreement. */
static seen see_thinning(size_t number) {
    seen s = {1, 0};
    rng_state = 71 + number;
    size_t base = (size_t)128 << rng_below(3);
    unsigned long long index = rng_below(2) ? rng_below(40 * base) : rng_next() >> (24 + rng_below(40));
    for (int i = 0; i < 50; i++) {
        double weight = 0;
        index = vg_disagreement__next(index, base, &weight);
        s.work = hash_step(hash_step(s.work, index), (uint64_t)weight);
        index += rng_below(3) ? 1 : rng_below(5000);
    }
    return s;
}

/* A scorer of a shape that no machine has, or hardly one, is refused before anything is computed. */
static seen see_refusal(size_t number) {
    seen s = {1, 0};
    rng_state = 5077 + number;
    vg_score_options options;
    vg_scorer *scorer = NULL;
    draw_switches(&options);
    options.task = rng_below(3) ? VG_TASK_MULTICLASS : VG_TASK_MULTILABEL;
    options.floor = 1e-30;
    options.threads = rng_below(3) ? 1 + (unsigned)rng_below(3) : 1u << rng_below(31);
    size_t m = huge(), c = 1 + huge() / 2;
    work_taken();
    vg_status status = vg_scorer_new(&scorer, m, c, &options);
    s.work = hash_step(work_taken(), status);
    if (scorer) { /* refused at the first block: nothing is read */
        double value = 0.5, place;
        vg_scores out = {.tu = &place, .gtu = rng_below(2) ? &place : NULL, .epjs = rng_below(2) ? &place : NULL};
        vg_predictions block = {&value, (vg_dtype)rng_below(2), 0, m, c, 0, 0, 0};
        status = vg_scorer_feed(scorer, &out, &block, NULL);
        s.work = hash_step(hash_step(s.work, status), work_taken());
    }
    vg_scorer_free(scorer);
    work_taken();
    return s;
}

/* The plan of a device for a job: device_plan.c. */
static uint64_t hash_job(uint64_t hash, const score_job *j) {
    const uint64_t numbers[] = {(uint64_t)j->samples,
                                (uint64_t)j->threads,
                                (uint64_t)j->split,
                                (uint64_t)j->block,
                                (uint64_t)j->row,
                                (uint64_t)j->groups,
                                (uint64_t)j->place,
                                (uint64_t)j->gated,
                                j->p,
                                j->mu,
                                j->halves,
                                j->variance,
                                j->low,
                                j->high,
                                j->gamma,
                                j->omega,
                                j->weight,
                                j->partial,
                                j->leads,
                                j->pass,
                                j->zbar,
                                j->psi_mean,
                                j->weight_bounds,
                                j->terms,
                                j->offset,
                                j->large,
                                j->bytes,
                                j->p_bytes,
                                (uint64_t)j->form,
                                (uint64_t)j->lanes,
                                (uint64_t)j->rounds,
                                (uint64_t)j->tiles,
                                (uint64_t)j->padded,
                                j->weighted,
                                j->lane_logs,
                                j->lane_gated_logs,
                                (uint64_t)j->unit_count,
                                j->wide,
                                (uint64_t)(j->nats * 8)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = hash_step(hash, numbers[i]);
    return hash;
}
static seen see_device(size_t number) {
    static const size_t shared[] = {227 << 10, 99 << 10, 48 << 10, 2 << 10},
                        classes[] = {2, 3, 4, 5, 10, 100, 255, 256, 257, 1000, 5000, 100000};
    seen s = {1, 0};
    rng_state = 3301 + number;
    vg_score_options options;
    draw_switches(&options);
    options.logits = rng_below(4) == 0;
    score_job job;
    memset(&job, 0, sizeof job);
    job.n = rng_below(2) ? 1 + (long long)rng_below(300) : (long long)log_uniform(2, 7);
    job.m = (int)(rng_below(8) ? PICK(many_members) : (size_t)log_uniform(2, 5));
    job.c = (int)(rng_below(2) ? PICK(classes) : PICK(many_classes));
    job.k = (int)(options.k ? options.k_count : 3);
    job.dtype = rng_below(3) ? VG_F32 : VG_F64;
    job.packed = rng_below(3) > 0;
    job.stride_m = rng_below(8) ? job.c : INT32_MAX / job.m - job.c + (long long)rng_below(3) - 1;
    vg_scores all, some;
    problem p = {.asked = draw_asked()};
    some = asked_places(&p, &all, (score_shape){1, 1, 1});
    vg_measures__score_switches(&job, &options, &some);
    vg_measures__score_form(&job);
    s.work = hash_job(s.work, &job);
    if (job.form == SCORE_TILES) {
        static char memory[1];
        job.n %= 1000;
        s.work = hash_step(s.work, vg_measures__score_tile_bytes(&job));
        vg_measures__score_tile_memory(&job, memory);
        const char *const ends[] = {(char *)job.tile_rows, (char *)job.tile, (char *)job.tile_weights,
                                    (char *)job.tile_psi, (char *)job.tile_zbar};
        for (int i = 0; i < 5; i++)
            s.work = hash_step(s.work, (uint64_t)(ends[i] - memory));
    }
    if (job.lanes) {
        vg_measures__score_units(&job, 132);
        s.work = hash_job(s.work, &job);
    }
    size_t each = PICK(shared);
    bool planned = vg_measures__score_plan(&job, each, each + (1 << 10), rng_below(2) ? 132 : 20);
    s.work = hash_step(hash_job(s.work, &job), planned);
    for (int i = 0; i < OTHERS; i++)
        free(*other_place(&all, i));
    scores_free(&all);
    return s;
}

/* --- kinds of cases */
typedef struct kind {
    const char *name;
    seen (*see)(size_t number);
    size_t count;
} kind;
static const kind kinds[] = {{"trials", see_trial, 300},     {"shapes", see_random_shape, 300},
                             {"large", see_large, 16},       {"sizes", see_sizes, 200},
                             {"thinning", see_thinning, 40}, {"refusals", see_refusal, 100},
                             {"device", see_device, 60},     {"division", see_division, 35},
                             {"scorer", see_scorer, 88},     {"progress", see_progress, 7}};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST_CASES = 300 };

static void pin(void **state) {
    const kind *of = *state;
    uint32_t work[MOST_CASES], figures[MOST_CASES];
    for (size_t i = 0; i < of->count; i++) {
        seen s = of->see(i);
        work[i] = (uint32_t)(s.work >> 32), figures[i] = (uint32_t)(s.bits >> 32);
    }
    size_t differs = compare_recorded("work", of->name, work, of->count);
    if (differs < of->count)
        fail_msg("%s, %s, case %zu: other memory, threads, pieces or plans", vg_cpu_tier(), of->name, differs);
    differs = compare_recorded("bits", of->name, figures, of->count);
    if (differs < of->count)
        fail_msg("%s, %s, case %zu: other bits", vg_cpu_tier(), of->name, differs);
}

static int suite(void) {
    struct CMUnitTest tests[KINDS];
    for (size_t i = 0; i < KINDS; i++)
        tests[i] = (struct CMUnitTest){kinds[i].name, pin, NULL, NULL, (void *)(uintptr_t)&kinds[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_in_every_tier(suite); }
