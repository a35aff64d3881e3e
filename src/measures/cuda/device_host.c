/* device_host.c - the cases that the device scorer passes to vg_scorer on the host: options that the kernels do not
 * implement, samples in which all gated probabilities of a member are too small for them, and the message for a row
 * that is not a distribution. */
#include <string.h>

#include "measures/cuda/device_scorer.h"
#include "measures/disagreement.h"
#include "measures/kernel.h"

/* Host buffers for `samples` samples of every result in `out`, in one allocation. */
static vg_status places_new(const vg_device_scorer *s, vg_scores *places, char **memory, const vg_scores *out,
                            size_t samples) {
    size_t bytes = 0;
    *places = (vg_scores){0};
    for (int f = 0; f < DEVICE_FIELDS; f++)
        bytes += vg_device__field(out, f) ? (samples * vg_device__field_bytes(s, f) + 63) / 64 * 64 : 0;
    VG_TRY(vg_base__alloc(memory, bytes, 1, "results"));
    bytes = 0;
    for (int f = 0; f < DEVICE_FIELDS; f++)
        if (vg_device__field(out, f)) {
            vg_device__set_field(places, f, *memory + bytes);
            bytes += (samples * vg_device__field_bytes(s, f) + 63) / 64 * 64;
        }
    return VG_OK;
}

/* Copies results from host buffers to the caller's device memory. */
static vg_status places_out(const vg_device_scorer *s, const vg_scores *to, const vg_scores *from, size_t samples) {
    for (int f = 0; f < DEVICE_FIELDS; f++)
        if (vg_device__field(to, f))
            VG_TRY(vg_device__check(cudaMemcpy(vg_device__field(to, f), vg_device__field(from, f),
                                               samples * vg_device__field_bytes(s, f), cudaMemcpyHostToDevice),
                                    "results to the device"));
    return vg_device__check(cudaDeviceSynchronize(), "results to the device");
}

/* Predictions and output pointers, and in which memory each lies. */
typedef struct host_feed {
    const vg_scores *out;
    vg_memory out_at;
    const vg_predictions *p;
    vg_memory at;
} host_feed;

/* Scores some samples on the host: copies predictions from the device where needed, and copies results back. */
static vg_status feed_part(vg_device_scorer *s, vg_scorer *scorer, const host_feed *feed, size_t first, size_t count) {
    const vg_scores *out = feed->out;
    const vg_predictions *p = feed->p;
    const vg_memory out_at = feed->out_at, at = feed->at;
    vg_predictions view = *p;
    vg_scores to = vg_device__places_from(s, out, first), places = to;
    char *memory = NULL, *data = NULL;
    vg_status status = VG_OK;
    view.n = count;
    if (at == VG_MEMORY_DEVICE) {
        status = vg_base__alloc(&data, count * p->m * p->c, vg_device__element(p->dtype), "predictions");
        if (status == VG_OK)
            status = vg_device__pack(s, data, p, at, first, count);
        view.data = data;
        view.stride_c = 1;
        view.stride_m = (ptrdiff_t)p->c;
        view.stride_n = (ptrdiff_t)(p->m * p->c);
    } else
        view.data = (const char *)p->data + (ptrdiff_t)first * p->stride_n * (ptrdiff_t)vg_device__element(p->dtype);
    if (status == VG_OK && out_at == VG_MEMORY_DEVICE)
        status = places_new(s, &places, &memory, out, count);
    if (status == VG_OK)
        status = vg_scorer_feed(scorer, &places, &view, NULL);
    if (status == VG_OK && out_at == VG_MEMORY_DEVICE)
        status = places_out(s, &to, &places, count);
    vg_base__release(memory);
    vg_base__release(data);
    return status;
}

vg_status vg_device__feed_host(vg_device_scorer *s, const vg_scores *out, vg_memory out_at, const vg_predictions *p,
                               vg_memory at) {
    if (!s->host)
        VG_TRY(vg_scorer_new(&s->host, s->m, s->c, &s->options));
    if (at == VG_MEMORY_HOST && out_at == VG_MEMORY_HOST)
        return vg_scorer_feed(s->host, out, p, NULL);
    size_t each = p->m * p->c * vg_device__element(p->dtype), step = ((size_t)32 << 20) / each + 1;
    for (size_t first = 0; first < p->n; first += step)
        VG_TRY(
            feed_part(s, s->host, &(host_feed){out, out_at, p, at}, first, p->n - first < step ? p->n - first : step));
    return VG_OK;
}

vg_status vg_device__rescore(vg_device_scorer *s, const vg_scores *out, vg_memory out_at, const vg_predictions *p,
                             vg_memory at, size_t sample) {
    if (!s->rescorer) {
        vg_score_options options = s->options;
        options.threads = 1;
        options.progress = NULL;
        VG_TRY(vg_scorer_new(&s->rescorer, s->m, s->c, &options));
    }
    return feed_part(s, s->rescorer, &(host_feed){out, out_at, p, at}, sample, 1);
}

vg_status vg_device__bad_row(vg_device_scorer *s, const vg_predictions *p, vg_memory at, size_t sample) {
    char *data;
    VG_TRY(vg_base__alloc(&data, p->m * p->c, vg_device__element(p->dtype), "a sample"));
    vg_status status = vg_device__pack(s, data, p, at, sample, 1);
    if (status == VG_OK) {
        vg_kernel_job job = {
            .m = s->m, .c = s->c, .options = s->options, .in = *p, .first = (size_t)s->samples + sample};
        job.in.data = data;
        job.in.n = 1;
        job.in.stride_c = 1;
        job.in.stride_m = (ptrdiff_t)p->c;
        job.in.stride_n = (ptrdiff_t)(p->m * p->c);
        status = vg_measures__bad_row(&job, 0, 1);
    }
    vg_base__release(data);
    return status;
}

/* A run of samples of one weight: first, first + step, ... of the block. */
typedef struct top_run {
    size_t first, step, count;
} top_run;

/* The run from stream position *n on; *n moves past it. False: none before `end`. */
static bool next_run(top_run *run, const vg_device_scorer *s, unsigned long long *n, unsigned long long end) {
    size_t base = vg_disagreement__base(s->m, s->c);
    double weight, same;
    unsigned long long first = vg_disagreement__next(*n, base, &weight), next = first;
    if (first >= end)
        return false;
    *run = (top_run){(size_t)(first - s->samples), (size_t)weight, 0};
    do {
        run->count++;
        *n = next + 1;
        next = vg_disagreement__next(*n, base, &same);
    } while (next < end && same == weight);
    return true;
}

/* Predictions that lie on the host, or whose classes do not lie side by side. */
static vg_status compare_run(vg_device_scorer *s, const vg_predictions *p, vg_memory at, const top_run *run) {
    vg_predictions view = *p;
    char *data = NULL;
    vg_status status = VG_OK;
    view.n = run->count;
    view.stride_n = (ptrdiff_t)run->step * p->stride_n;
    view.data = (const char *)p->data + (ptrdiff_t)run->first * p->stride_n * (ptrdiff_t)vg_device__element(p->dtype);
    if (at == VG_MEMORY_DEVICE) {
        status = vg_base__alloc(&data, run->count * p->m * p->c, vg_device__element(p->dtype), "predictions");
        if (status == VG_OK)
            status = vg_device__pack(s, data, &view, at, 0, run->count);
        view.data = data;
        view.stride_c = 1;
        view.stride_m = (ptrdiff_t)p->c;
        view.stride_n = (ptrdiff_t)(p->m * p->c);
    }
    for (size_t i = 0; status == VG_OK && i < run->count; i++)
        s->disagreement += (double)run->step * vg_disagreement__sample(&view, i, s->tops);
    s->looked_at += (double)(run->step * run->count);
    vg_base__release(data);
    return status;
}

/* Predictions on the device: their most probable classes are found there, and only these are copied. */
static vg_status compare_on_device(vg_device_scorer *s, const vg_predictions *p, const top_run *run) {
    device_slot *slot = &s->slots[0];
    size_t bytes = run->count * s->m * sizeof(uint32_t);
    score_job job = {.dtype = p->dtype, .n = (long long)run->count, .m = (int)s->m, .c = (int)s->c};
    job.in = (const char *)p->data + (ptrdiff_t)run->first * p->stride_n * (ptrdiff_t)vg_device__element(p->dtype);
    job.stride_n = p->stride_n;
    job.stride_m = p->stride_m;
    VG_TRY(vg_device__grow(&slot->results, bytes, "members' classes"));
    VG_TRY(vg_device__grow(&slot->arrived, bytes, "members' classes"));
    VG_TRY(vg_device__check(vg_measures__tops_launch(&job, (long long)run->step, slot->results.data, slot->stream),
                            "members' classes"));
    VG_TRY(vg_device__check(
        cudaMemcpyAsync(slot->arrived.data, slot->results.data, bytes, cudaMemcpyDeviceToHost, slot->stream),
        "members' classes"));
    VG_TRY(vg_device__check(cudaStreamSynchronize(slot->stream), "members' classes"));
    for (size_t i = 0; i < run->count; i++)
        s->disagreement += (double)run->step * vg_disagreement__of_tops((const uint32_t *)slot->arrived.data + i * s->m,
                                                                        s->m, s->tops + s->m);
    s->looked_at += (double)(run->step * run->count);
    return VG_OK;
}

vg_status vg_device__compare_tops(vg_device_scorer *s, const vg_predictions *p, vg_memory at) {
    unsigned long long n = s->samples, end = n + p->n;
    bool on_device = at == VG_MEMORY_DEVICE && p->stride_c == 1;
    size_t room;
    top_run run;
    if (!s->tops) {
        if (!vg_disagreement__room(&room, s->m, s->c))
            return vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", s->m, s->c);
        VG_TRY(vg_base__zalloc(&s->tops, room, sizeof *s->tops, "members' classes"));
    }
    while (next_run(&run, s, &n, end))
        if (s->m < 2) /* agrees with itself */
            s->looked_at += (double)(run.step * run.count);
        else
            VG_TRY(on_device ? compare_on_device(s, p, &run) : compare_run(s, p, at, &run));
    return VG_OK;
}
