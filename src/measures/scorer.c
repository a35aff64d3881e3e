/* scorer.c - the public scorer: blocks of samples in, blocks of results out.
 *
 * A block is cut into chunks (so that memory, progress and cancellation stay fine-grained), a chunk into tiles of
 * one SIMD vector of units, and tiles are distributed over the pool. Every unit's result depends on that unit alone,
 * and the figures over all samples are summed one by one in order, compensated: the same bits at any thread count
 * and for any division into blocks. */
#include <math.h>
#include <string.h>

#include "measures/device_scorer_api.h"
#include "measures/disagreement.h"
#include "measures/kernel.h"
#include "measures/result_staging.h"
#include "measures/scorer.h"

typedef struct running_sum { /* a compensated sum */
    double sum, rest;
} running_sum;

struct vg_scorer {
    size_t m, c;
    vg_score_options options;
    vg_device_scorer *device;    /* computes everything on a GPU; what follows up to busy is then unused. NULL: CPU */
    double *gates;               /* K */
    double *class_k;             /* C, or NULL */
    double *inverse_temperature; /* m, or NULL */
    size_t k, widest, plane;
    double *gated_means;     /* see vg_scorer__set_gated_means */
    const uint8_t *left_out; /* see vg_scorer__set_left_out; of the chunk while one is fed */
    bool wide_gates;         /* vg_measures__wide_gates */
    const vg_kernel_tier *tier;
    vg_pool *pool;
    unsigned threads;
    char *workspace; /* threads x workspace_bytes */
    size_t workspace_bytes;
    char *staging; /* threads x staging_bytes, for blocks with many results (result_staging.h) */
    size_t staging_bytes;
    bool staged;     /* the current block uses it */
    double *scratch; /* UNIT_FIGURES x chunk_units */
    uint32_t *tops;  /* threads x tops_room: workspace of the disagreement */
    size_t tops_room, thinning;
    size_t chunk_samples;
    unsigned long long samples, skipped; /* skipped: left out of the figures */
    bool has_tu, has_gtu;
    bool no_summary; /* the figures over all samples are not needed */
    running_sum variance, tu, gtu, total, disagreement;
    double abstained, looked_at; /* counts */
    vg_busy busy;
};
enum { UNIT_FIGURES = 6 };

static const double default_gates[] = {1, 2, 3};

static void add_to(running_sum *s, double x) {
    double next = s->sum + x, back = next - s->sum; /* the rounding error, without a branch */
    s->rest += (s->sum - (next - back)) + (x - back);
    s->sum = next;
}

static vg_status copy_settings(vg_scorer *s, const vg_score_options *o) {
    bool given = o->k && o->k_count > 0;
    const double *k = given ? o->k : default_gates;
    s->k = given ? o->k_count : sizeof default_gates / sizeof *default_gates;
    VG_TRY(vg_base__alloc(&s->gates, s->k, sizeof *s->gates, "gate settings"));
    for (size_t i = 0; i < s->k; i++) {
        s->gates[i] = fmin(k[i], VG_SCORE_K_MOST);
        if (k[i] > s->gates[s->widest])
            s->widest = i;
    }
    if (o->class_k) {
        VG_TRY(vg_base__alloc(&s->class_k, s->c, sizeof *s->class_k, "a k for every class"));
        for (size_t i = 0; i < s->c; i++)
            s->class_k[i] = o->class_k[o->class_k_count == 1 ? 0 : i];
    }
    if (o->logits && o->temperature) {
        VG_TRY(vg_base__alloc(&s->inverse_temperature, s->m, sizeof *s->inverse_temperature, "temperatures"));
        for (size_t i = 0; i < s->m; i++)
            s->inverse_temperature[i] = fmin(1 / o->temperature[o->temperature_count == 1 ? 0 : i], 1e300);
    }
    return VG_OK;
}

/* A chunk has about 64 million elements, which take some tens of milliseconds; threads wait for each other at its end.
 * It is smaller where a progress callback is set, so that reports and cancellation come often enough. */
static size_t chunk_for(size_t m, size_t c, bool watched) {
    size_t chunk = (watched ? 4000000 : 64000000) / m / c, least = 128;
    return chunk < least ? least : chunk > 65536 ? 65536 : chunk;
}

static vg_status prepare(vg_scorer *s, const vg_score_options *o) {
    s->tier = vg_measures__tier();
    VG_TRY(copy_settings(s, o));
    s->options.k = s->gates;
    s->options.k_count = s->k;
    s->options.class_k = s->class_k;
    s->options.class_k_count = s->c;
    s->wide_gates = vg_measures__wide_gates(&s->options);
    s->options.temperature = NULL;
    s->threads = o->threads ? o->threads : vg_base__cores();
    s->chunk_samples = chunk_for(s->m, s->c, s->options.progress != NULL);
    size_t units, tops;
    if (!vg_base__mul(&units, s->chunk_samples, o->task == VG_TASK_MULTICLASS ? 1 : s->c))
        return vg_base__fail(VG_ERR_MEMORY, "%zu labels do not fit in memory", s->c);
    s->thinning = vg_disagreement__base(s->m, s->c);
    if (!vg_disagreement__room(&s->tops_room, s->m, s->c) || !vg_base__mul(&tops, s->tops_room, s->threads))
        return vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", s->m, s->c);
    if (o->task == VG_TASK_MULTICLASS)
        VG_TRY(vg_base__zalloc(&s->tops, tops, sizeof *s->tops, "members' classes"));
    return vg_base__alloc(&s->scratch, units, UNIT_FIGURES * sizeof *s->scratch, "scoring scratch");
}

vg_status vg_scorer_new(vg_scorer **out, size_t m, size_t c, const vg_score_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_scorer_new: out"));
    vg_scorer *s;
    *out = NULL;
    vg_score_options taken;
    VG_TRY(vg_measures__take_options(&taken, options, m, c));
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "a scorer"));
    s->m = m;
    s->c = c;
    bool device = taken.device == VG_SCORE_ON_CUDA ||
                  (taken.device == VG_SCORE_ON_AUTO && vg_device_scorer__available() == VG_OK);
    s->options = taken;
    vg_status status = device ? vg_device_scorer__new(&s->device, m, c, &taken) : prepare(s, &taken);
    if (status != VG_OK) {
        vg_scorer_free(s);
        return status;
    }
    *out = s;
    return VG_OK;
}

void vg_scorer_free(vg_scorer *s) {
    if (!s)
        return;
    vg_device_scorer__free(s->device);
    vg_pool__free(s->pool);
    vg_base__release(s->gates);
    vg_base__release(s->class_k);
    vg_base__release(s->inverse_temperature);
    vg_base__release(s->workspace);
    vg_base__release(s->staging);
    vg_base__release(s->scratch);
    vg_base__release(s->tops);
    vg_base__release(s);
}

void vg_scorer__set_planes(vg_scorer *s, size_t plane) { s->plane = plane; }
void vg_scorer__set_gated_means(vg_scorer *s, double *place) { s->gated_means = place; }

void vg_scorer__set_left_out(vg_scorer *s, const uint8_t *marks) { s->left_out = marks; }

void vg_scorer__count_from(vg_scorer *s, unsigned long long sample) { s->samples = sample; }

static void plan(vg_kernel_job *job, const vg_scorer *s, const vg_scores *out, const vg_predictions *block) {
    bool multilabel = s->options.task != VG_TASK_MULTICLASS;
    *job = (vg_kernel_job){.m = s->m,
                           .c = multilabel ? 2 : s->c,
                           .k = s->k,
                           .labels = multilabel ? s->c : 0,
                           .options = s->options,
                           .gates = s->gates,
                           .class_k = s->class_k,
                           .inverse_temperature = s->inverse_temperature,
                           .in = *block,
                           .single_precision = block->dtype != VG_F64 && !s->wide_gates,
                           .widest = s->widest,
                           .plane = s->plane,
                           .figures = !s->no_summary,
                           .gated_means = multilabel ? NULL : s->gated_means};
    job->need_gated_reverse = out->gepce || out->gepkl;
    job->need_gated_logs = job->need_gated_reverse || out->gau || out->geu;
    job->need_gated = job->need_gated_logs || out->gtu || out->gepjs || job->gated_means;
    job->need_reverse = out->epce || out->epkl;
    job->need_logs = job->need_reverse || out->au || out->eu || job->need_gated_logs;
}

static vg_status ready(vg_scorer *s, const vg_kernel_job *job, size_t units) {
    size_t bytes, all;
    bool fits = s->tier->workspace(&bytes, job) && vg_base__add(&bytes, bytes, 128);
    bytes = bytes / 64 * 64;
    /* For a handful of samples, waking threads costs more than it saves. */
    bool small = (double)s->m * (double)s->c * (double)units < 65536;
    small |= units <= s->tier->units(job) && s->tier->shares(job) == 1;
    if (!fits || !vg_base__mul(&all, bytes, s->threads))
        return vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", s->m, s->c);
    if (bytes > s->workspace_bytes) {
        vg_base__release(s->workspace);
        s->workspace_bytes = 0;
        /* not cleared: parts of it are never touched, and of many classes it has many pages */
        VG_TRY(vg_base__alloc(&s->workspace, s->threads, bytes, "scoring workspace"));
        s->workspace_bytes = bytes;
    }
    if (!small && s->threads > 1 && !s->pool)
        VG_TRY(vg_pool__new(&s->pool, s->threads));
    return VG_OK;
}

/* Results of fewer bytes stay in the caches, where the caller finds them; a few arrays need no staging. */
enum { STAGED_BYTES = 8 << 20, STAGED_EACH = 64 };

static vg_status ready_staging(vg_scorer *s, const vg_kernel_job *job, size_t units) {
    size_t each = vg_measures__result_bytes(&job->out, s->k), bytes;
    s->staged = !job->labels && !s->plane && each >= STAGED_EACH && units > STAGED_BYTES / each;
    if (!s->staged)
        return VG_OK;
    if (!vg_measures__staging_bytes(&bytes, &job->out, s->k))
        return vg_base__fail(VG_ERR_MEMORY, "the results of %zu settings of k do not fit in memory", s->k);
    if (bytes > s->staging_bytes) {
        vg_base__release(s->staging);
        s->staging_bytes = 0;
        VG_TRY(vg_base__alloc(&s->staging, s->threads, bytes, "staged results"));
        s->staging_bytes = bytes;
    }
    return VG_OK;
}

typedef struct chunk_work {
    const vg_kernel_job *job;
    const vg_scorer *scorer;
    double *unit_disagreement; /* of the units whose sample counts; the others' are not written */
    size_t units, per;         /* units in the chunk, and units per index (whole tiles) */
    bool staged;               /* results go through the staging buffer */
    size_t runs;               /* the first indices take RUN times as many, so that a tile can prefetch the next one */
} chunk_work;
enum { RUN = 4 };

/* The value above which a member votes for a label. */
static double half_of(const vg_scorer *s) { return s->options.logits ? 0 : 0.5; }

/* The disagreement of units u .. end - 1, in those of samples that count. */
static void compare_tops(const chunk_work *w, size_t u, size_t end, unsigned worker) {
    const vg_scorer *s = w->scorer;
    size_t labels = w->job->labels;
    unsigned long long from = s->samples, next;
    double weight;
    for (; labels == 0 && u < end; u++) {
        next = vg_disagreement__next(from + u, s->thinning, &weight) - from;
        if (next >= end)
            return;
        u = (size_t)next;
        w->unit_disagreement[u] = vg_disagreement__sample(&w->job->in, u, s->tops + worker * s->tops_room);
    }
    for (; u < end; u++)
        if (vg_disagreement__next(from + u / labels, s->thinning, &weight) == from + u / labels)
            w->unit_disagreement[u] = vg_disagreement__label(&w->job->in, u / labels, u % labels, half_of(s));
}

static const char *element_at(const vg_predictions *block, size_t n) {
    static const size_t sizes[] = {4, 8, 2, 2};
    return (const char *)block->data + (ptrdiff_t)n * block->stride_n * (ptrdiff_t)sizes[block->dtype];
}

/* Output pointers for the samples from `first` on. */
static vg_scores places_from(const vg_scores *out, size_t first, const vg_scorer *s, bool multilabel) {
    vg_scores at = vg_measures__places_at(out, multilabel ? first * s->c : first, s->k, s->plane);
    at.mean = at.mean ? at.mean + first * s->c : NULL;
    at.std = at.std ? at.std + first * s->c : NULL;
    return at;
}

static vg_status score_units(const vg_scorer *s, const vg_kernel_job *job, void *workspace, size_t u, size_t count) {
    vg_status status = s->tier->score(job, workspace, u, count);
    if (status == VG_ERR_DATA && job->options.logits)
        status = vg_measures__score_masked(s->tier, job, u, count);
    return status;
}

/* The same through the worker's staging buffer, some units at a time (result_staging.h). Multiclass, and no planes. */
static vg_status score_staged(const vg_scorer *s, const vg_kernel_job *job, unsigned worker, size_t u, size_t stop) {
    vg_kernel_job own = *job;
    vg_staging staging;
    vg_scores to = places_from(&job->out, u, s, false);
    if (!s->tier->votes(job))
        to.votes = NULL;
    vg_staging__begin(&staging, s->staging + worker * s->staging_bytes, &to, s->k);
    for (; u < stop; u += VG_STAGING_UNITS) {
        size_t count = stop - u < VG_STAGING_UNITS ? stop - u : VG_STAGING_UNITS;
        own.in.data = element_at(&job->in, u);
        own.in.n = job->in.n - u;
        own.first = job->first + u;
        own.out = staging.places;
        own.out.mean = job->out.mean ? job->out.mean + u * s->c : NULL;
        own.out.std = job->out.std ? job->out.std + u * s->c : NULL;
        own.gated_means = job->gated_means ? job->gated_means + u * s->k * s->c : NULL;
        own.unit_variance = job->unit_variance + u;
        own.unit_tu = job->unit_tu + u;
        own.unit_gtu = job->unit_gtu + u;
        own.unit_total = job->unit_total + u;
        own.unit_abstains = job->unit_abstains + u;
        VG_TRY(score_units(s, &own, s->workspace + worker * s->workspace_bytes, 0, count));
        vg_staging__advance(&staging, count);
        own.laid_out = !own.options.logits; /* masked_logits.c has workspaces of its own */
    }
    vg_staging__end(&staging);
    return VG_OK;
}

static vg_status run_tiles(void *context, size_t index, unsigned worker) {
    const chunk_work *w = context;
    size_t steps = index < w->runs ? RUN : 1;
    size_t first = index < w->runs ? index * RUN : w->runs * (RUN - 1) + index, end = (first + steps) * w->per;
    void *workspace = w->scorer->workspace + worker * w->scorer->workspace_bytes;
    size_t u = first * w->per, stop = end < w->units ? end : w->units;
    if (u >= stop)
        return VG_OK;
    if (w->staged)
        VG_TRY(score_staged(w->scorer, w->job, worker, u, stop));
    else
        VG_TRY(score_units(w->scorer, w->job, workspace, u, stop - u));
    if (w->job->figures)
        compare_tops(w, u, stop, worker);
    double *votes = w->scorer->tier->votes(w->job) ? NULL : w->job->out.votes;
    size_t labels = w->job->labels;
    if (votes && !labels)
        vg_disagreement__votes(votes + u, &w->job->in, u, stop - u, w->scorer->tops + worker * w->scorer->tops_room);
    for (; votes && labels && u < stop; u++)
        votes[u] = vg_disagreement__label_votes(&w->job->in, u / labels, u % labels, half_of(w->scorer));
    return VG_OK;
}

static void add_all(running_sum *to, const double *x, size_t count) {
    running_sum sum = *to;
    for (size_t i = 0; i < count; i++)
        add_to(&sum, x[i]);
    *to = sum;
}

/* Sets the figures of samples that are left out to 0, which changes no sum. */
static void clear_left_out(vg_scorer *s, const uint8_t *left_out, size_t samples) {
    for (size_t i = 0; left_out && i < samples; i++) {
        s->skipped += left_out[i] != 0;
        for (size_t f = 0; left_out[i] && f < UNIT_FIGURES - 1; f++)
            s->scratch[f * samples + i] = 0;
    }
}

/* The figures of a chunk's units, one by one in order. */
static void add_units(vg_scorer *s, const vg_kernel_job *job, const vg_scores *out, size_t units) {
    running_sum variance = s->variance, total = s->total;
    double abstained = s->abstained;
    for (size_t u = 0; u < units; u++) {
        add_to(&variance, job->unit_variance[u]);
        add_to(&total, job->unit_total[u]);
        abstained += job->unit_abstains[u];
    }
    s->variance = variance;
    s->total = total;
    s->abstained = abstained;
    add_all(&s->tu, job->unit_tu, out->tu ? units : 0);
    add_all(&s->gtu, job->unit_gtu, out->gtu ? units : 0);
}

/* The disagreement of the chunk's samples that count. */
static void add_disagreement(vg_scorer *s, const double *disagreement, size_t labels, size_t samples,
                             const uint8_t *left_out) {
    unsigned long long end = s->samples + samples, next;
    double weight;
    for (unsigned long long n = s->samples; (next = vg_disagreement__next(n, s->thinning, &weight)) < end;
         n = next + 1) {
        const double *at = disagreement + (size_t)(next - s->samples) * labels;
        if (left_out && left_out[next - s->samples])
            continue;
        for (size_t i = 0; i < labels; i++)
            add_to(&s->disagreement, weight * at[i]);
        s->looked_at += weight * (double)labels;
    }
}

static vg_status feed_chunk(vg_scorer *s, vg_kernel_job *job, const vg_scores *out, const vg_predictions *block,
                            size_t first, size_t samples) {
    size_t units = job->labels ? samples * job->labels : samples, lanes = s->tier->units(job);
    job->in = *block;
    job->in.data = element_at(block, first);
    job->in.n = samples;
    job->out = places_from(out, first, s, job->labels > 0);
    if (job->gated_means)
        job->gated_means = s->gated_means + first * s->k * s->c;
    job->first = (size_t)s->samples;
    job->unit_variance = s->scratch;
    job->unit_tu = s->scratch + units;
    job->unit_gtu = s->scratch + 2 * units;
    job->unit_total = s->scratch + 3 * units;
    job->unit_abstains = s->scratch + 4 * units;
    size_t per = lanes * (1 + 16384 / (s->m * job->c * lanes)), count = (units + per - 1) / per;
    size_t runs = count / RUN > 4 * s->threads ? count / RUN - 2 * s->threads : 0; /* threads end together */
    chunk_work work = {job, s, s->scratch + 5 * units, units, per, s->staged, runs};
    count -= runs * (RUN - 1);
    /* Few units of many classes, so that some threads would have nothing to do for a tenth of the time or more: they
     * share the classes of one unit after the other. */
    size_t rounds = (units + s->threads - 1) / s->threads;
    bool divided = s->pool && s->tier->shares(job) > 1 && 10 * rounds * s->threads > 11 * units;
    job->pool = divided ? s->pool : NULL;
    job->workspaces = s->workspace;
    job->workspace_bytes = s->workspace_bytes;
    if (s->pool && count > 1 && !divided)
        VG_TRY(vg_pool__run(s->pool, count, run_tiles, &work));
    else
        for (size_t i = 0; i < count; i++)
            VG_TRY(run_tiles(&work, i, 0));
    const uint8_t *left_out = s->left_out && !job->labels ? s->left_out + first : NULL;
    if (job->figures) {
        clear_left_out(s, left_out, samples);
        add_units(s, job, out, units);
        add_disagreement(s, work.unit_disagreement, job->labels ? job->labels : 1, samples, left_out);
    }
    s->samples += samples;
    return VG_OK;
}

static vg_status enter(const vg_scorer *s) { return vg_base__enter(&((vg_scorer *)s)->busy, "the scorer"); }
static void leave(const vg_scorer *s) { vg_base__leave(&((vg_scorer *)s)->busy); }

static vg_status feed_block(vg_scorer *s, const vg_scores *out, const vg_predictions *block) {
    if ((out->maxlogit || out->energy) && !s->options.logits)
        return vg_base__fail(VG_ERR_ARGUMENT, "maxlogit and energy need logits, and the input holds probabilities");
    vg_kernel_job job;
    plan(&job, s, out, block);
    job.out = *out;
    VG_TRY(ready(s, &job, job.labels ? block->n * job.labels : block->n));
    VG_TRY(ready_staging(s, &job, block->n));
    s->has_tu = out->tu != NULL;
    s->has_gtu = out->gtu != NULL;
    for (size_t first = 0; first < block->n; first += s->chunk_samples) {
        size_t left = block->n - first, samples = left < s->chunk_samples ? left : s->chunk_samples;
        VG_TRY(feed_chunk(s, &job, out, block, first, samples));
        if (s->options.progress && s->options.progress(s->options.progress_context, first + samples, block->n))
            return vg_base__fail(VG_ERR_INTERRUPTED, "scoring was stopped after %llu samples", s->samples);
    }
    return VG_OK;
}

static vg_status feed_somewhere(vg_scorer *s, const vg_scores *out, const vg_predictions *block,
                                const vg_scorer_feed_options *given) {
    const vg_scorer_feed_options defaults = VG_SCORER_FEED_OPTIONS_INIT;
    vg_scorer_feed_options options = defaults;
    vg_scores places = {0};
    VG_TRY(vg_measures__check_block(out, block, s->m, s->c));
    memcpy(&places, out, s->options.scores_size);
    if (given)
        VG_TRY(vg_base__take_options(&options, given, &defaults, sizeof options, "vg_scorer_feed_options"));
    if (s->device)
        return vg_device_scorer__feed(s->device, &places, block, &options);
    if (options.predictions != VG_MEMORY_HOST || options.scores != VG_MEMORY_HOST)
        return vg_base__fail(VG_ERR_ARGUMENT, "arrays in device memory, and the scorer computes on the CPU");
    return feed_block(s, &places, block);
}

vg_status vg_scorer_feed(vg_scorer *s, const vg_scores *out, const vg_predictions *block,
                         const vg_scorer_feed_options *options) {
    VG_TRY(vg_base__given(s != NULL, "vg_scorer_feed: scorer"));
    VG_TRY(enter(s));
    vg_status status = feed_somewhere(s, out, block, options);
    leave(s);
    return status;
}

const char *vg_scorer_device(const vg_scorer *s) {
    return !s ? NULL : s->device ? vg_device_scorer__device(s->device) : "cpu";
}

static vg_status need_sums(const vg_scorer *s) {
    if (s->device)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "a scorer on a GPU cannot be saved or restored");
    return VG_OK;
}

vg_status vg_scorer_save(const vg_scorer *s, vg_scorer_state *out) {
    VG_TRY(vg_base__given(s && out, "vg_scorer_save: scorer and out"));
    VG_TRY(need_sums(s));
    VG_TRY(enter(s));
    *out = (vg_scorer_state){.struct_size = sizeof *out,
                             .samples = s->samples,
                             .has_tu = s->has_tu,
                             .has_gtu = s->has_gtu,
                             .variance = {s->variance.sum, s->variance.rest},
                             .tu = {s->tu.sum, s->tu.rest},
                             .gtu = {s->gtu.sum, s->gtu.rest},
                             .total = {s->total.sum, s->total.rest},
                             .disagreement = {s->disagreement.sum, s->disagreement.rest},
                             .abstained = s->abstained,
                             .looked_at = s->looked_at};
    leave(s);
    return VG_OK;
}

vg_status vg_scorer_restore(vg_scorer *s, const vg_scorer_state *state) {
    VG_TRY(vg_base__given(s && state, "vg_scorer_restore: scorer and state"));
    if (state->struct_size != sizeof *state)
        return vg_base__fail(VG_ERR_ARGUMENT, "a scorer's state has %zu bytes, expected %zu", state->struct_size,
                             sizeof *state);
    VG_TRY(need_sums(s));
    VG_TRY(enter(s));
    s->samples = state->samples;
    s->has_tu = state->has_tu != 0;
    s->has_gtu = state->has_gtu != 0;
    s->variance = (running_sum){state->variance[0], state->variance[1]};
    s->tu = (running_sum){state->tu[0], state->tu[1]};
    s->gtu = (running_sum){state->gtu[0], state->gtu[1]};
    s->total = (running_sum){state->total[0], state->total[1]};
    s->disagreement = (running_sum){state->disagreement[0], state->disagreement[1]};
    s->abstained = state->abstained;
    s->looked_at = state->looked_at;
    leave(s);
    return VG_OK;
}

static void summarise(const vg_scorer *s, vg_score_summary *summary) {
    bool multilabel = s->options.task != VG_TASK_MULTICLASS;
    double n = (double)(s->samples - s->skipped), labels = multilabel ? (double)s->c : 1;
    *summary = (vg_score_summary){.samples = s->samples - s->skipped};
    summary->diversity = n > 0 ? (s->variance.sum + s->variance.rest) / (n * (double)s->c) : NAN;
    summary->mean_tu = n > 0 && s->has_tu ? (s->tu.sum + s->tu.rest) / (n * labels) : NAN;
    summary->mean_gtu = n > 0 && s->has_gtu ? (s->gtu.sum + s->gtu.rest) / (n * labels) : NAN;
    summary->k_sensitivity = summary->mean_tu > 0 ? 1 - summary->mean_gtu / summary->mean_tu : NAN;
    summary->members = s->m;
    summary->outcomes = multilabel ? 2 : s->c;
    summary->member_variance = n > 0 ? (s->variance.sum + s->variance.rest) / (n * labels) : NAN;
    summary->total_variance = n > 0 ? (s->total.sum + s->total.rest) / (n * labels) : NAN;
    summary->abstained = n > 0 ? s->abstained / (n * labels) : NAN;
    summary->disagreement = n > 0 ? (s->disagreement.sum + s->disagreement.rest) / s->looked_at : NAN;
}

vg_status vg_scorer_summary(const vg_scorer *s, vg_score_summary *summary) {
    VG_TRY(vg_base__given(s && summary, "vg_scorer_summary: scorer and summary"));
    vg_status status = VG_OK;
    VG_TRY(enter(s));
    if (s->device)
        status = vg_device_scorer__summary(s->device, summary);
    else
        summarise(s, summary);
    leave(s);
    return status;
}

vg_status vg_score(vg_scores *out, vg_score_summary *summary, const vg_predictions *predictions,
                   const vg_score_options *options) {
    vg_scorer *s;
    if (!out || !predictions)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_score: out and predictions must not be NULL");
    VG_TRY(vg_scorer_new(&s, predictions->m, predictions->c, options));
    s->no_summary = summary == NULL;
    vg_status status = vg_scorer_feed(s, out, predictions, NULL);
    if (status == VG_OK && summary)
        status = vg_scorer_summary(s, summary);
    vg_scorer_free(s);
    return status;
}
