/* device_scorer.c - the scorer of a GPU behind vg_scorer. It scores blocks in chunks and keeps two chunks in flight, so
 * that copies overlap with kernels. Each chunk has its own stream: host predictions are copied in, the kernel runs, the
 * kernel in double repeats the samples whose divergences are too large for float, the summary is reduced, and the
 * results are copied out. */
#include <math.h>
#include <string.h>

#include "base/cuda/cuda_reason.h"
#include "measures/cuda/device_scorer.h"
#include "measures/scorer.h"

enum { CHUNK_INPUT = 48 << 20, CHUNK_RESULTS = 32 << 20, CHUNK_SAMPLES = 1 << 18, WORK_BYTES = 512 << 20 };
enum { GROUP_SAMPLES = 1 << 22 }; /* of a chunk in a form by lanes, which keeps 8 bytes of a sample */

/* --- making */
vg_status vg_device_scorer__available(void) {
    int count = 0, device = 0, major = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        error = cudaGetDevice(&device);
    if (error == cudaSuccess && count > 0)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess || count == 0) {
        char reason[160];
        vg_cuda__reason(reason, sizeof reason, error);
        return vg_base__fail(VG_ERR_UNSUPPORTED, "no CUDA device: %s", reason);
    }
    if (major < 8)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "no CUDA device: compute capability %d found, 8 or later expected",
                             major);
    return VG_OK;
}

static vg_status copy_options(vg_device_scorer *s, const vg_score_options *o) {
    static const double three[] = {1, 2, 3};
    bool given = o->k && o->k_count > 0;
    const double *k = given ? o->k : three;
    s->options = *o;
    s->options.device = VG_SCORE_ON_CPU; /* they also make the scorers of device_host.c */
    s->k = given ? o->k_count : 3;
    VG_TRY(vg_base__alloc(&s->gates, s->k, sizeof *s->gates, "gate settings"));
    for (size_t i = 0; i < s->k; i++)
        s->gates[i] = k[i] < VG_SCORE_K_MOST ? k[i] : VG_SCORE_K_MOST;
    s->options.k = s->gates;
    s->options.k_count = s->k;
    for (size_t i = 1; i < s->k; i++)
        s->widest = k[i] > k[s->widest] ? (int)i : s->widest;
    if (o->class_k) {
        VG_TRY(vg_base__alloc(&s->class_k, s->c, sizeof *s->class_k, "a k for every class"));
        for (size_t i = 0; i < s->c; i++)
            s->class_k[i] = o->class_k[o->class_k_count == 1 ? 0 : i];
        s->options.class_k = s->class_k;
        s->options.class_k_count = s->c;
    }
    s->options.temperature = NULL;
    if (o->temperature) {
        VG_TRY(vg_base__alloc(&s->temperature, o->temperature_count, sizeof *s->temperature, "temperatures"));
        memcpy(s->temperature, o->temperature, o->temperature_count * sizeof *s->temperature);
        s->options.temperature = s->temperature;
    }
    bool probabilities = !o->logits;
    s->by_host = o->task != VG_TASK_MULTICLASS ||
                 (probabilities && (o->renormalise || o->floor_form != VG_FLOOR_MAX)) || s->m > 1 << 27 ||
                 s->c > 1 << 26 || s->k > 1 << 16;
    return VG_OK;
}

static vg_status copy_gates(double **out, const double *values, size_t count) {
    VG_TRY(vg_device__check(cudaMalloc((void **)out, count * sizeof(double)), "memory for the gates"));
    return vg_device__check(cudaMemcpy(*out, values, count * sizeof(double), cudaMemcpyHostToDevice), "the gates");
}

/* Gates and 1/T on the device. */
static vg_status copy_settings(vg_device_scorer *s) {
    double *inverse;
    VG_TRY(copy_gates(&s->gates_device, s->gates, s->k));
    if (s->class_k)
        VG_TRY(copy_gates(&s->class_k_device, s->class_k, s->c));
    /* A copy of a few bytes may return before it has arrived, and other streams do not wait for it. */
    VG_TRY(vg_device__check(cudaDeviceSynchronize(), "the gates"));
    if (!s->temperature)
        return VG_OK;
    VG_TRY(vg_base__alloc(&inverse, s->m, sizeof *inverse, "temperatures"));
    for (size_t i = 0; i < s->m; i++)
        inverse[i] = 1 / s->temperature[s->options.temperature_count == 1 ? 0 : i];
    cudaError_t error = cudaMalloc((void **)&s->inverse_temperature, s->m * sizeof(double));
    if (error == cudaSuccess)
        error = cudaMemcpy(s->inverse_temperature, inverse, s->m * sizeof(double), cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    vg_base__release(inverse);
    return vg_device__check(error, "the temperatures");
}

static vg_status open_device(vg_device_scorer *s) {
    int device, shared, shared_all;
    struct cudaDeviceProp properties;
    VG_TRY(vg_device__check(cudaGetDevice(&device), "the current device"));
    VG_TRY(vg_device__check(cudaGetDeviceProperties(&properties, device), "the device's properties"));
    VG_TRY(vg_device__check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                            "shared memory"));
    VG_TRY(vg_device__check(cudaDeviceGetAttribute(&shared_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
                            "shared memory"));
    memcpy(s->device, properties.name,
           sizeof properties.name < sizeof s->device ? sizeof properties.name : sizeof s->device - 1);
    s->multiprocessors = properties.multiProcessorCount;
    s->shared = (size_t)shared;
    s->shared_all = (size_t)shared_all;
    VG_TRY(vg_device__check(cudaEventCreateWithFlags(&s->ready, cudaEventDisableTiming), "an event"));
    for (int i = 0; i < 2; i++) {
        device_slot *slot = &s->slots[i];
        slot->staged.host = slot->arrived.host = true;
        VG_TRY(vg_device__check(cudaStreamCreateWithFlags(&slot->stream, cudaStreamNonBlocking), "a stream"));
        VG_TRY(vg_device__check(cudaMalloc((void **)&slot->totals, sizeof *slot->totals), "memory for totals"));
        VG_TRY(vg_device__check(cudaMemset(slot->totals, 0, sizeof *slot->totals), "totals"));
    }
    return copy_settings(s);
}

vg_status vg_device_scorer__new(vg_device_scorer **out, size_t m, size_t c, const vg_score_options *options) {
    vg_device_scorer *s;
    *out = NULL;
    VG_TRY(vg_device_scorer__available());
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "a scorer"));
    s->m = m;
    s->c = c;
    vg_status status = copy_options(s, options);
    if (status == VG_OK)
        status = open_device(s);
    if (status != VG_OK) {
        vg_device_scorer__free(s);
        return status;
    }
    *out = s;
    return VG_OK;
}

void vg_device_scorer__free(vg_device_scorer *s) {
    if (!s)
        return;
    for (int i = 0; i < 2; i++) {
        device_slot *slot = &s->slots[i];
        if (slot->stream) {
            (void)cudaStreamSynchronize(slot->stream);
            (void)cudaStreamDestroy(slot->stream);
        }
        device_memory *all[] = {&slot->input,   &slot->staged,  &slot->results,
                                &slot->arrived, &slot->work[0], &slot->work[1]};
        for (size_t j = 0; j < sizeof all / sizeof *all; j++)
            vg_device__drop(all[j]);
        (void)cudaFree(slot->totals);
    }
    if (s->ready)
        (void)cudaEventDestroy(s->ready);
    (void)cudaFree(s->gates_device);
    (void)cudaFree(s->class_k_device);
    (void)cudaFree(s->inverse_temperature);
    vg_pool__free(s->pool);
    vg_scorer_free(s->host);
    vg_scorer_free(s->rescorer);
    vg_base__release(s->gates);
    vg_base__release(s->class_k);
    vg_base__release(s->temperature);
    vg_base__release(s->tops);
    vg_base__release(s);
}

/* --- a chunk */
typedef struct feeding { /* one call of feed */
    const vg_scores *out;
    const vg_predictions *block;
    vg_memory out_at, at;
    size_t step; /* samples per chunk */
    bool direct; /* the caller's memory is pinned: the device can copy from it directly */
} feeding;

static size_t up(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* Allocates memory for a chunk's results and sets the job's pointers into it. */
static vg_status place_results(const vg_device_scorer *s, device_slot *slot, const feeding *f, score_job *job) {
    size_t n = slot->samples, at = up(sizeof(score_report)), redo;
    bool device = f->out_at == VG_MEMORY_DEVICE;
    vg_scores places = vg_device__places_from(s, f->out, slot->first);
    for (int field = 0; field < DEVICE_FIELDS && !device; field++)
        at += vg_device__field(&places, field) ? up(n * vg_device__field_bytes(s, field)) : 0;
    slot->fields_bytes = at;
    redo = at;
    at += up(2 * n * sizeof(unsigned));
    size_t units = SCORE_FIGURES * (size_t)job->unit_count * sizeof(double);
    VG_TRY(vg_device__grow(&slot->results, at + units, "results"));
    VG_TRY(vg_device__grow(&slot->arrived, slot->fields_bytes, "results"));
    char *base = slot->results.data;
    size_t field_at = up(sizeof(score_report));
    for (int field = 0; field < DEVICE_FIELDS && !device; field++)
        if (vg_device__field(&places, field)) {
            vg_device__set_field(&places, field, base + field_at);
            field_at += up(n * vg_device__field_bytes(s, field));
        }
    slot->redo = redo;
    job->out = places;
    job->report = (score_report *)(void *)base;
    job->redo = (unsigned *)(void *)(base + redo);
    job->redo_count = &job->report->redo[job->wide ? 1 : 0];
    job->units = (double *)(void *)(base + at);
    return VG_OK;
}

/* The chunk's predictions on the device: in place, or copied there. */
static vg_status place_input(vg_device_scorer *s, device_slot *slot, const feeding *f, score_job *job) {
    const vg_predictions *p = f->block;
    size_t each = p->m * p->c * vg_device__element(p->dtype), bytes = slot->samples * each;
    const char *from = (const char *)p->data + slot->first * each;
    bool packed = vg_device__packed(p);
    if (f->at == VG_MEMORY_DEVICE && p->stride_c == 1) {
        ptrdiff_t sample = packed ? (ptrdiff_t)(p->m * p->c) : p->stride_n;
        job->in = (const char *)p->data + (ptrdiff_t)slot->first * sample * (ptrdiff_t)vg_device__element(p->dtype);
        job->packed = packed;
        job->stride_n = sample;
        job->stride_m = packed ? (ptrdiff_t)p->c : p->stride_m;
        return vg_device__check(cudaStreamWaitEvent(slot->stream, s->ready, 0), "waiting for predictions");
    }
    VG_TRY(vg_device__grow(&slot->input, bytes, "predictions"));
    job->in = slot->input.data;
    if (!(f->direct && packed)) {
        if (f->at == VG_MEMORY_DEVICE)
            VG_TRY(vg_device__check(cudaEventSynchronize(s->ready), "waiting for predictions"));
        VG_TRY(vg_device__grow(&slot->staged, bytes, "predictions"));
        VG_TRY(vg_device__pack(s, slot->staged.data, p, f->at, slot->first, slot->samples));
        from = slot->staged.data;
    }
    return vg_device__check(cudaMemcpyAsync(slot->input.data, from, bytes, cudaMemcpyHostToDevice, slot->stream),
                            "predictions");
}

/* A job with a list takes as many samples as that has, and is always laid out for every measure, so that its sums have
 * one order whatever is asked for. */
static bool same_plan(const score_job *a, const score_job *b) {
    bool same = a->dtype == b->dtype && a->wide == b->wide && a->packed == b->packed;
    bool integral = (a->out.epjs || a->out.gepjs) == (b->out.epjs || b->out.gepjs);
    return same && integral && (a->list || (a->n == b->n && a->gated == b->gated && a->need_sets == b->need_sets));
}

/* Plans the job; reuses the last plan where the job is the same. False: too large for the device. */
static bool shape_job(vg_device_scorer *s, score_job *job, int which) {
    score_job *last = &s->plans[which];
    if (last->threads == 0 || !same_plan(job, last)) {
        *last = *job;
        if (job->list) {
            last->gated = job->k;
            last->need_sets = true;
        }
        if (!vg_measures__score_plan(last, s->shared, s->shared_all, s->multiprocessors)) {
            last->threads = 0;
            return false;
        }
    }
    const void *in = job->in;
    score_job shaped = *last;
    shaped.in = in;
    shaped.packed = job->packed;
    shaped.stride_n = job->stride_n;
    shaped.stride_m = job->stride_m;
    shaped.out = job->out;
    shaped.units = job->units;
    shaped.report = job->report;
    shaped.redo = job->redo;
    shaped.redo_count = job->redo_count;
    shaped.list = job->list;
    shaped.list_count = job->list_count;
    shaped.n = job->n;
    shaped.nats = job->nats;
    shaped.unit_count = job->unit_count;
    vg_measures__score_switches(&shaped, &s->options, &job->out);
    shaped.wide = job->wide;
    *job = shaped;
    return true;
}

static vg_status launch(vg_device_scorer *s, device_slot *slot, score_job *job, int which) {
    long long blocks = 0;
    if (!shape_job(s, job, which))
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%zu members x %zu classes do not fit the device", s->m, s->c);
    size_t each = job->p_bytes + (job->place == SCORE_GLOBAL ? job->bytes : 0);
    if (each > 0 || job->list) {
        long long tiles = (job->n + job->samples - 1) / job->samples;
        blocks = 2LL * s->multiprocessors < tiles ? 2LL * s->multiprocessors : tiles;
        if (each > 0 && (size_t)blocks > WORK_BYTES / each)
            blocks = WORK_BYTES / each > 0 ? (long long)(WORK_BYTES / each) : 1;
        VG_TRY(vg_device__grow(&slot->work[which], (size_t)blocks * each, "work"));
        job->memory = slot->work[which].data;
    }
    return vg_device__check(vg_measures__score_launch(job, blocks, slot->stream), "scoring");
}

/* Queues the kernels of a form by lanes. */
static vg_status launch_groups(device_slot *slot, score_job *job) {
    if (job->form == SCORE_TILES) {
        size_t bytes = (size_t)job->n * vg_measures__score_tile_bytes(job);
        VG_TRY(vg_device__grow(&slot->work[0], bytes, "work"));
        vg_measures__score_tile_memory(job, slot->work[0].data);
    }
    return vg_device__check(vg_measures__groups_launch(job, slot->stream), "scoring");
}

static score_job job_of(const vg_device_scorer *s, const feeding *f, size_t samples) {
    score_job job;
    memset(&job, 0, sizeof job);
    job.dtype = f->block->dtype;
    job.n = (long long)samples;
    job.m = (int)s->m;
    job.c = (int)s->c;
    job.k = (int)s->k;
    job.gates = s->gates_device;
    job.class_k = s->class_k_device;
    job.inverse_temperature = s->inverse_temperature;
    job.widest = s->widest;
    job.packed = true;
    job.stride_m = (long long)s->c;
    job.stride_n = (long long)(s->m * s->c);
    vg_measures__score_switches(&job, &s->options, f->out);
    return job;
}

/* Queues everything of a chunk. */
static vg_status begin_chunk(vg_device_scorer *s, device_slot *slot, const feeding *f, size_t first, size_t samples) {
    slot->first = first;
    slot->samples = samples;
    score_job job = job_of(s, f, samples);
    VG_TRY(place_input(s, slot, f, &job));
    vg_measures__score_form(&job);
    job.unit_count = job.n;
    if (job.form != SCORE_BLOCKS)
        vg_measures__score_units(&job, s->multiprocessors);
    VG_TRY(place_results(s, slot, f, &job));
    VG_TRY(vg_device__check(cudaMemsetAsync(job.report, 0, sizeof *job.report, slot->stream), "a report"));
    VG_TRY(job.form == SCORE_BLOCKS ? launch(s, slot, &job, 0) : launch_groups(slot, &job));
    if (!job.wide && job.need_sets) {
        score_job again = job;
        vg_measures__score_again(&again);
        VG_TRY(launch(s, slot, &again, 1));
    }
    VG_TRY(vg_device__check(vg_measures__score_total(&job, slot->totals, slot->stream), "totals"));
    return vg_device__check(cudaMemcpyAsync(slot->arrived.data, slot->results.data, slot->fields_bytes,
                                            cudaMemcpyDeviceToHost, slot->stream),
                            "results");
}

/* Scores on the host the samples that the kernels did not handle. */
static vg_status rescore_all(vg_device_scorer *s, device_slot *slot, const feeding *f, unsigned count, bool second) {
    unsigned *list;
    VG_TRY(vg_base__alloc(&list, count, sizeof *list, "samples"));
    size_t at = slot->redo + (second ? slot->samples * sizeof *list : 0);
    vg_status status = vg_device__check(
        cudaMemcpy(list, (char *)slot->results.data + at, count * sizeof *list, cudaMemcpyDeviceToHost),
        "samples left to the host");
    for (unsigned i = 0; status == VG_OK && i < count; i++)
        status = vg_device__rescore(s, f->out, f->out_at, f->block, f->at, slot->first + list[i]);
    vg_base__release(list);
    return status;
}

/* Waits for a chunk and delivers its results. */
static vg_status end_chunk(vg_device_scorer *s, device_slot *slot, const feeding *f) {
    size_t n = slot->samples, at = up(sizeof(score_report));
    slot->samples = 0;
    VG_TRY(vg_device__check(cudaStreamSynchronize(slot->stream), "scoring"));
    const score_report *report = slot->arrived.data;
    if (report->bad)
        return vg_device__bad_row(s, f->block, f->at, slot->first + (size_t)(~report->bad / s->m));
    vg_scores places = vg_device__places_from(s, f->out, slot->first);
    for (int field = 0; field < DEVICE_FIELDS && f->out_at == VG_MEMORY_HOST; field++)
        if (vg_device__field(&places, field)) {
            VG_TRY(vg_device__copy(s, vg_device__field(&places, field), (const char *)slot->arrived.data + at,
                                   n * vg_device__field_bytes(s, field)));
            at += up(n * vg_device__field_bytes(s, field));
        }
    if (report->redo[1] == 0)
        return VG_OK;
    slot->samples = n;
    vg_status status = rescore_all(s, slot, f, report->redo[1], !s->options.logits && f->block->dtype != VG_F64);
    slot->samples = 0;
    return status;
}

/* --- feeding */
/* Samples per chunk: bounded memory, and for host input several chunks so that copies overlap work. */
static size_t chunk_samples(const vg_device_scorer *s, const feeding *f) {
    size_t input = s->m * s->c * vg_device__element(f->block->dtype), results = 32, step = CHUNK_SAMPLES;
    for (int field = 0; field < DEVICE_FIELDS && f->out_at == VG_MEMORY_HOST; field++)
        results += vg_device__field(f->out, field) ? vg_device__field_bytes(s, field) : 0;
    score_job trial = job_of(s, f, 1);
    vg_measures__score_form(&trial);
    if (trial.form != SCORE_BLOCKS && f->at == VG_MEMORY_DEVICE && f->out_at == VG_MEMORY_DEVICE)
        step = GROUP_SAMPLES;
    else if (CHUNK_RESULTS / results < step)
        step = CHUNK_RESULTS / results;
    if (trial.form == SCORE_TILES && WORK_BYTES / vg_measures__score_tile_bytes(&trial) < step)
        step = WORK_BYTES / vg_measures__score_tile_bytes(&trial);
    if ((f->at == VG_MEMORY_HOST || f->block->stride_c != 1) && CHUNK_INPUT / input < step)
        step = CHUNK_INPUT / input;
    return step > 0 ? step : 1;
}

/* Whether the caller's memory is pinned, so that the device can copy from it directly. */
static bool pinned(const void *memory) {
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeManaged;
}

static vg_status feed_chunks(vg_device_scorer *s, const feeding *f) {
    const vg_score_options *o = &s->options;
    size_t n = f->block->n, next = 0;
    for (int i = 0; next < n || s->slots[0].samples || s->slots[1].samples; i = 1 - i) {
        /* The chunk before the current one has finished, so its slot is reused. */
        if (s->slots[i].samples) {
            size_t done = s->slots[i].first + s->slots[i].samples;
            VG_TRY(end_chunk(s, &s->slots[i], f));
            if (o->progress && o->progress(o->progress_context, done, n))
                return vg_base__fail(VG_ERR_INTERRUPTED, "scoring was stopped after %llu samples", s->samples + done);
        }
        if (next < n) {
            size_t samples = n - next < f->step ? n - next : f->step;
            VG_TRY(begin_chunk(s, &s->slots[i], f, next, samples));
            next += samples;
        }
    }
    return VG_OK;
}

/* Whether the block's arrays can be laid out at all. */
static bool fits_device(const vg_device_scorer *s, const feeding *f) {
    score_job trial = job_of(s, f, 1);
    for (int i = 0; i < 2; i++) {
        const score_job *last = &s->plans[i];
        if (last->threads && last->dtype == trial.dtype && last->gated >= trial.gated &&
            last->need_sets >= trial.need_sets)
            return true;
    }
    return vg_measures__score_plan(&trial, s->shared, s->shared_all, s->multiprocessors);
}

vg_status vg_device_scorer__feed(vg_device_scorer *s, const vg_scores *out, const vg_predictions *block,
                                 const vg_scorer_feed_options *options) {
    const vg_memory out_at = options->scores, block_at = options->predictions;
    if (out->maxprob || out->gap || out->topstd || out->votes || out->maxlogit || out->energy)
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "maxprob, gap, topstd, votes, maxlogit and energy are computed on the CPU only");
    feeding f = {out, block, out_at, block_at, 1, false};
    if (block->n == 0)
        return VG_OK;
    if (!s->by_host)
        s->by_host = !fits_device(s, &f);
    if (block_at == VG_MEMORY_DEVICE)
        VG_TRY(vg_device__check(cudaEventRecord(s->ready, options->stream), "an event"));
    if (s->by_host) {
        if (block_at == VG_MEMORY_DEVICE)
            VG_TRY(vg_device__check(cudaEventSynchronize(s->ready), "waiting for predictions"));
        return vg_device__feed_host(s, out, out_at, block, block_at);
    }
    s->has_tu = out->tu != NULL;
    s->has_gtu = out->gtu != NULL;
    f.step = chunk_samples(s, &f);
    f.direct = block_at == VG_MEMORY_HOST && pinned(block->data);
    vg_status status = feed_chunks(s, &f);
    for (int i = 0; i < 2; i++) /* after a failure */
        if (s->slots[i].samples) {
            (void)cudaStreamSynchronize(s->slots[i].stream);
            s->slots[i].samples = 0;
        }
    if (status == VG_OK)
        status = vg_device__compare_tops(s, block, block_at);
    if (status == VG_OK)
        s->samples += block->n;
    return status;
}

const char *vg_device_scorer__device(const vg_device_scorer *s) { return s->device; }

vg_status vg_device_scorer__summary(const vg_device_scorer *s, vg_score_summary *summary) {
    if (s->by_host && s->host)
        return vg_scorer_summary(s->host, summary);
    score_totals part[2];
    for (int i = 0; i < 2; i++)
        VG_TRY(vg_device__check(cudaMemcpy(&part[i], s->slots[i].totals, sizeof part[i], cudaMemcpyDeviceToHost),
                                "totals"));
    double n = (double)s->samples, sum[SCORE_FIGURES];
    for (int i = 0; i < SCORE_FIGURES; i++)
        sum[i] = (part[0].sum[i] + part[1].sum[i]) + (part[0].rest[i] + part[1].rest[i]);
    *summary = (vg_score_summary){.samples = s->samples};
    summary->diversity = n > 0 ? sum[0] / (n * (double)s->c) : NAN;
    summary->mean_tu = n > 0 && s->has_tu ? sum[1] / n : NAN;
    summary->mean_gtu = n > 0 && s->has_gtu ? sum[2] / n : NAN;
    summary->k_sensitivity = summary->mean_tu > 0 ? 1 - summary->mean_gtu / summary->mean_tu : NAN;
    summary->members = s->m;
    summary->outcomes = s->c;
    summary->member_variance = n > 0 ? sum[0] / n : NAN;
    summary->total_variance = n > 0 ? sum[3] / n : NAN;
    summary->abstained = n > 0 ? sum[4] / n : NAN;
    summary->disagreement = s->looked_at > 0 ? s->disagreement / s->looked_at : NAN;
    return VG_OK;
}
