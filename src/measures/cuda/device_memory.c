/* device_memory.c - device memory of the scorer, the fields of vg_scores by index, and packing of samples from any
 * view. */
#include <string.h>

#include "measures/cuda/device_scorer.h"

vg_status vg_device__check(cudaError_t error, const char *doing) {
    if (error == cudaSuccess)
        return VG_OK;
    (void)cudaGetLastError(); /* Clears a non-sticky error, so that the next call does not report it again. */
    return vg_base__fail(error == cudaErrorMemoryAllocation ? VG_ERR_MEMORY : VG_ERR_UNSUPPORTED, "CUDA, %s: %s", doing,
                         cudaGetErrorString(error));
}

vg_status vg_device__grow(device_memory *m, size_t bytes, const char *what) {
    if (bytes <= m->bytes)
        return VG_OK;
    vg_device__drop(m);
    cudaError_t error = m->host ? cudaHostAlloc(&m->data, bytes, cudaHostAllocDefault) : cudaMalloc(&m->data, bytes);
    if (error != cudaSuccess) {
        m->data = NULL;
        (void)cudaGetLastError();
        return vg_base__fail(VG_ERR_MEMORY, "CUDA, %zu bytes of %s memory for %s: %s", bytes,
                             m->host ? "host" : "device", what, cudaGetErrorString(error));
    }
    m->bytes = bytes;
    return VG_OK;
}

void vg_device__drop(device_memory *m) {
    if (m->data && m->host)
        (void)cudaFreeHost(m->data);
    else if (m->data)
        (void)cudaFree(m->data);
    m->data = NULL;
    m->bytes = 0;
}

/* --- output pointers and result fields */
typedef enum field_shape { ONE, BY_GATE, BY_CLASS } field_shape;
static const struct {
    size_t place, element;
    field_shape shape;
} fields[DEVICE_FIELDS] = {
    {offsetof(vg_scores, tu), 8, ONE},           {offsetof(vg_scores, au), 8, ONE},
    {offsetof(vg_scores, eu), 8, ONE},           {offsetof(vg_scores, epce), 8, ONE},
    {offsetof(vg_scores, epkl), 8, ONE},         {offsetof(vg_scores, epjs), 8, ONE},
    {offsetof(vg_scores, gtu), 8, BY_GATE},      {offsetof(vg_scores, gau), 8, BY_GATE},
    {offsetof(vg_scores, geu), 8, BY_GATE},      {offsetof(vg_scores, gepce), 8, BY_GATE},
    {offsetof(vg_scores, gepkl), 8, BY_GATE},    {offsetof(vg_scores, gepjs), 8, BY_GATE},
    {offsetof(vg_scores, gmu), 8, ONE},          {offsetof(vg_scores, snr), 8, ONE},
    {offsetof(vg_scores, mean), 8, BY_CLASS},    {offsetof(vg_scores, std), 8, BY_CLASS},
    {offsetof(vg_scores, pred), 4, ONE},         {offsetof(vg_scores, second), 4, ONE},
    {offsetof(vg_scores, decision), 4, BY_GATE}, {offsetof(vg_scores, flags), 4, ONE},
};

void *vg_device__field(const vg_scores *scores, int field) {
    void *place;
    memcpy(&place, (const char *)scores + fields[field].place, sizeof place);
    return place;
}
void vg_device__set_field(vg_scores *scores, int field, void *place) {
    memcpy((char *)scores + fields[field].place, &place, sizeof place);
}

size_t vg_device__field_bytes(const vg_device_scorer *s, int field) {
    size_t entries = s->options.task == VG_TASK_MULTICLASS ? 1 : s->c;
    switch (fields[field].shape) {
    case BY_GATE: return fields[field].element * entries * s->k;
    case BY_CLASS: return fields[field].element * s->c;
    default: return fields[field].element * entries;
    }
}

vg_scores vg_device__places_from(const vg_device_scorer *s, const vg_scores *out, size_t first) {
    vg_scores at = *out;
    for (int f = 0; f < DEVICE_FIELDS; f++) {
        char *place = vg_device__field(out, f);
        if (place)
            vg_device__set_field(&at, f, place + first * vg_device__field_bytes(s, f));
    }
    return at;
}

/* --- samples */
size_t vg_device__element(vg_dtype dtype) {
    static const size_t sizes[] = {4, 8, 2, 2};
    return sizes[dtype];
}

bool vg_device__packed(const vg_predictions *p) {
    return p->stride_c == 1 && (p->stride_m == (ptrdiff_t)p->c || p->m == 1) &&
           (p->stride_n == (ptrdiff_t)(p->m * p->c) || p->n <= 1);
}

/* Whole samples that follow each other. */
static vg_status copy_packed(void *to, const char *from, vg_memory at, size_t bytes) {
    if (at == VG_MEMORY_DEVICE)
        return vg_device__check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "predictions to the host");
    memcpy(to, from, bytes);
    return VG_OK;
}

/* One sample by its strides. From the device, the whole range between its first and last element is copied. */
static vg_status copy_strided(char *to, const vg_predictions *p, vg_memory at, size_t n) {
    size_t each = vg_device__element(p->dtype);
    ptrdiff_t m_span = (ptrdiff_t)(p->m - 1) * p->stride_m, c_span = (ptrdiff_t)(p->c - 1) * p->stride_c;
    ptrdiff_t low = (m_span < 0 ? m_span : 0) + (c_span < 0 ? c_span : 0),
              high = (m_span > 0 ? m_span : 0) + (c_span > 0 ? c_span : 0);
    const char *base = (const char *)p->data + ((ptrdiff_t)n * p->stride_n) * (ptrdiff_t)each;
    char *here = NULL;
    vg_status status = VG_OK;
    if (at == VG_MEMORY_DEVICE) {
        VG_TRY(vg_base__alloc(&here, (size_t)(high - low) + 1, each, "a sample"));
        status = copy_packed(here, base + low * (ptrdiff_t)each, at, ((size_t)(high - low) + 1) * each);
        base = here - low * (ptrdiff_t)each;
    }
    for (size_t m = 0; status == VG_OK && m < p->m; m++)
        for (size_t c = 0; c < p->c; c++, to += each)
            memcpy(to, base + ((ptrdiff_t)m * p->stride_m + (ptrdiff_t)c * p->stride_c) * (ptrdiff_t)each, each);
    vg_base__release(here);
    return status;
}

typedef struct copy_work {
    char *to;
    const char *from;
    const vg_predictions *view;
    size_t first, count, bytes, parts;
} copy_work;

static vg_status copy_part(void *context, size_t index, unsigned worker) {
    const copy_work *w = context;
    (void)worker;
    if (w->from) {
        size_t from = w->bytes / w->parts * index,
               to = index + 1 == w->parts ? w->bytes : w->bytes / w->parts * (index + 1);
        memcpy(w->to + from, w->from + from, to - from);
        return VG_OK;
    }
    size_t from = w->count * index / w->parts, to = w->count * (index + 1) / w->parts;
    for (size_t i = from; i < to; i++)
        VG_TRY(copy_strided(w->to + i * (w->bytes / w->count), w->view, VG_MEMORY_HOST, w->first + i));
    return VG_OK;
}

vg_status vg_device__copy(vg_device_scorer *s, void *to, const void *from, size_t bytes) {
    copy_work work = {to, from, NULL, 0, 0, bytes, bytes < (1 << 20) ? 1 : 8};
    if (work.parts > 1 && !s->pool)
        VG_TRY(vg_pool__new(&s->pool, s->options.threads));
    if (work.parts > 1 && vg_pool__threads(s->pool) > 1)
        return vg_pool__run(s->pool, work.parts, copy_part, &work);
    memcpy(to, from, bytes);
    return VG_OK;
}

vg_status vg_device__pack(vg_device_scorer *s, void *to, const vg_predictions *p, vg_memory at, size_t first,
                          size_t count) {
    size_t bytes = p->m * p->c * vg_device__element(p->dtype), all = count * bytes;
    const char *from = vg_device__packed(p) ? (const char *)p->data + first * bytes : NULL;
    if (at == VG_MEMORY_DEVICE) {
        if (from)
            return copy_packed(to, from, at, all);
        for (size_t i = 0; i < count; i++)
            VG_TRY(copy_strided((char *)to + i * bytes, p, at, first + i));
        return VG_OK;
    }
    copy_work work = {to, from, p, first, count, all, all < (1 << 20) ? 1 : 8};
    if (work.parts > 1 && !s->pool)
        VG_TRY(vg_pool__new(&s->pool, s->options.threads));
    if (work.parts > 1 && vg_pool__threads(s->pool) > 1)
        return vg_pool__run(s->pool, work.parts, copy_part, &work);
    work.parts = 1;
    return copy_part(&work, 0, 0);
}
