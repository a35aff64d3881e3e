/* device_host.c - the cases that the device scorer passes to vg_scorer on the host: options that the kernels do not
 * implement, samples in which a member's gated probabilities are all zero, and the message for a row that is not a
 * distribution. */
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

/* Samples first, first + step, ... of a block that is packed on the device, packed to the host in one copy. */
static vg_status fetch_every(char *to, const vg_predictions *p, size_t first, size_t step, size_t count) {
    size_t each = p->m * p->c * vg_device__element(p->dtype);
    return vg_device__check(
        cudaMemcpy2D(to, each, (const char *)p->data + first * each, step * each, each, count, cudaMemcpyDeviceToHost),
        "predictions to the host");
}

/* A run of samples of one weight. Their predictions are in the block, or fetched. */
static vg_status compare_run(vg_device_scorer *s, const vg_predictions *p, vg_memory at, size_t first, size_t step,
                             size_t count) {
    vg_predictions view = *p;
    char *data = NULL;
    vg_status status = VG_OK;
    view.n = count;
    view.stride_n = (ptrdiff_t)step * p->stride_n;
    view.data = (const char *)p->data + (ptrdiff_t)first * p->stride_n * (ptrdiff_t)vg_device__element(p->dtype);
    if (at == VG_MEMORY_DEVICE) {
        status = vg_base__alloc(&data, count * p->m * p->c, vg_device__element(p->dtype), "predictions");
        if (status == VG_OK)
            status = vg_device__packed(p) ? fetch_every(data, p, first, step, count)
                                          : vg_device__pack(s, data, &view, at, 0, count);
        view.data = data;
        view.stride_c = 1;
        view.stride_m = (ptrdiff_t)p->c;
        view.stride_n = (ptrdiff_t)(p->m * p->c);
    }
    for (size_t i = 0; status == VG_OK && i < count; i++)
        s->disagreement += (double)step * vg_disagreement__sample(&view, i, s->tops);
    s->looked_at += (double)(step * count);
    vg_base__release(data);
    return status;
}

vg_status vg_device__compare_tops(vg_device_scorer *s, const vg_predictions *p, vg_memory at) {
    size_t base = vg_disagreement__base(s->m, s->c), room;
    unsigned long long from = s->samples, end = from + p->n, first;
    double weight, same;
    if (!s->tops) {
        if (!vg_disagreement__room(&room, s->m, s->c))
            return vg_base__fail(VG_ERR_MEMORY, "%zu members x %zu classes do not fit in memory", s->m, s->c);
        VG_TRY(vg_base__zalloc(&s->tops, room, sizeof *s->tops, "members' classes"));
    }
    for (unsigned long long n = from; (first = vg_disagreement__next(n, base, &weight)) < end;) {
        size_t count = 0;
        unsigned long long next = first;
        do {
            count++;
            n = next + 1;
            next = vg_disagreement__next(n, base, &same);
        } while (next < end && same == weight);
        VG_TRY(compare_run(s, p, at, (size_t)(first - from), (size_t)weight, count));
    }
    return VG_OK;
}
