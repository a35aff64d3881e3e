/* calibrate_data.c - sweeps over logits: blocks from the source, chunks for the threads, sums in a fixed order; and
 * the sweep that computes losses. */
#include "calibrate/calibrate_data.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK_ELEMENTS = 1 << 16, /* logits per chunk: tens of microseconds of work */
    BLOCK_CHUNKS = 128,       /* most chunks asked for at once: 32 MB of float32 */
    BLOCK_ELEMENTS = 1 << 23, /* most logits at once, if that leaves this many chunks for threads to share */
    BLOCK_LEAST = 8,
    BLOCK_SUMS = 1 << 21, /* most doubles of chunk sums held at once */
    ROWS_PER_LOG = 16     /* s0 <= C < 2^62: a product of 16 stays below 2^1024 */
};

static vg_status check_labels(const int64_t *labels, size_t n, size_t c) {
    for (size_t i = 0; i < n; i++) {
        if (labels[i] < 0 || (uint64_t)labels[i] >= c)
            return vg_base__fail(VG_ERR_DATA, "label of sample %zu is %lld, expected 0 .. %zu", i, (long long)labels[i],
                                 c - 1);
    }
    return VG_OK;
}

vg_status vg_logits__start(vg_logits *out, const vg_logits_source *source, vg_pool *pool) {
    size_t n = source->n, m = source->m, c = source->c;
    memset(out, 0, sizeof *out);
    if (n == 0 || m == 0 || c < 2)
        return vg_base__fail(VG_ERR_ARGUMENT, "logits of shape (%zu, %zu, %zu): expected N >= 1, M >= 1, C >= 2", n, m,
                             c);
    size_t row, scratch;
    if (!vg_base__mul(&row, m, c) || !vg_base__mul(&scratch, c, 3 * (size_t)vg_pool__threads(pool)))
        return vg_base__fail(VG_ERR_MEMORY, "logits of shape (%zu, %zu, %zu) do not fit memory", n, m, c);
    VG_TRY(check_labels(source->labels, n, c));
    VG_TRY(vg_base__alloc(&out->scratch, scratch, sizeof(double), "calibration scratch"));
    out->block = source->block;
    out->context = source->context;
    out->n = n;
    out->m = m;
    out->c = c;
    out->labels = source->labels;
    out->chunk = CHUNK_ELEMENTS / row;
    if (out->chunk == 0)
        out->chunk = 1;
    out->pool = pool;
    out->kernels = vg_calibrate__softmax_kernels(vg_base__cpu_tier());
    return VG_OK;
}

void vg_logits__stop(vg_logits *logits) {
    vg_base__release(logits->scratch);
    logits->scratch = NULL;
    vg_units__stop(&logits->units);
}

static size_t element_size(vg_dtype dtype) { return dtype == VG_F64 ? 8 : dtype == VG_F32 ? 4 : 2; }

vg_status vg_logits__view_block(void *context, size_t first, size_t rows, vg_predictions *view) {
    const vg_predictions *whole = context;
    *view = *whole;
    view->data = (const char *)whole->data + (ptrdiff_t)first * whole->stride_n * (ptrdiff_t)element_size(whole->dtype);
    view->n = rows;
    return VG_OK;
}

/* --- reading one row -------------------------------------------------------------------------------------------- */
static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Moves exponent and fraction to their float32 positions, then scales by the difference of the biases, which is
 * correct for subnormals too. */
static double from_f16(uint16_t half) {
    float size = from_bits((uint32_t)(half & 0x7fff) << 13) * 0x1p112f;
    if ((half & 0x7c00) == 0x7c00)
        size = from_bits(0x7f800000u | (uint32_t)(half & 0x3ff) << 13);
    return (double)(half & 0x8000 ? -size : size);
}

static void widen(double *wide, const vg_predictions *view, ptrdiff_t at) {
    size_t count = view->c;
    ptrdiff_t step = view->stride_c;
    if (view->dtype == VG_F32) {
        const float *z = (const float *)view->data + at;
        for (size_t c = 0; c < count; c++)
            wide[c] = (double)z[(ptrdiff_t)c * step];
    } else if (view->dtype == VG_F64) {
        const double *z = (const double *)view->data + at;
        for (size_t c = 0; c < count; c++)
            wide[c] = z[(ptrdiff_t)c * step];
    } else if (view->dtype == VG_F16) {
        const uint16_t *z = (const uint16_t *)view->data + at;
        for (size_t c = 0; c < count; c++)
            wide[c] = from_f16(z[(ptrdiff_t)c * step]);
    } else {
        const uint16_t *z = (const uint16_t *)view->data + at;
        for (size_t c = 0; c < count; c++)
            wide[c] = (double)from_bits((uint32_t)z[(ptrdiff_t)c * step] << 16);
    }
}

const void *vg_logits__row(const vg_predictions *view, size_t n, size_t m, double *wide, bool *f32) {
    ptrdiff_t at = (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m;
    *f32 = view->dtype == VG_F32 && view->stride_c == 1;
    if (*f32)
        return (const float *)view->data + at;
    if (view->dtype == VG_F64 && view->stride_c == 1)
        return (const double *)view->data + at;
    widen(wide, view, at);
    return wide;
}

/* --- sweeps ----------------------------------------------------------------------------------------------------- */
typedef struct sweep_state {
    vg_logits *logits;
    vg_predictions view; /* the current block */
    size_t origin;       /* its first sample */
    size_t width;
    double *sums; /* chunks x width */
    vg_chunk_body body;
    void *context;
} sweep_state;

static vg_status sweep_chunk(void *context, size_t index, unsigned worker) {
    sweep_state *w = context;
    size_t first = index * w->logits->chunk, rows = w->view.n - first;
    if (rows > w->logits->chunk)
        rows = w->logits->chunk;
    double *sums = w->sums + index * w->width;
    memset(sums, 0, w->width * sizeof *sums);
    return w->body(w->context, sums, w->logits->scratch + (size_t)worker * 3 * w->logits->c, &w->view, first, rows,
                   w->origin);
}

static vg_status sweep_block(sweep_state *w, size_t rows, double *total) {
    const vg_logits *l = w->logits;
    VG_TRY(l->block(l->context, w->origin, rows, &w->view));
    if (w->view.n != rows || w->view.m != l->m || w->view.c != l->c)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "block of samples from %zu on is of shape (%zu, %zu, %zu), expected (%zu, %zu, %zu)",
                             w->origin, w->view.n, w->view.m, w->view.c, rows, l->m, l->c);
    if (w->view.data == NULL || (unsigned)w->view.dtype > VG_BF16)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "block of samples from %zu on has no data or element type %d, expected 0 .. 3", w->origin,
                             (int)w->view.dtype);
    size_t chunks = (rows + l->chunk - 1) / l->chunk;
    VG_TRY(vg_pool__run(l->pool, chunks, sweep_chunk, w));
    for (size_t i = 0; i < chunks; i++) {
        for (size_t j = 0; j < w->width; j++)
            total[j] += w->sums[i * w->width + j];
    }
    return VG_OK;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Chunks per block: at least 1, at most all. Results do not depend on it. */
static size_t block_chunks(const vg_logits *l, size_t width) {
    size_t by_elements = BLOCK_ELEMENTS / (l->m * l->c) / l->chunk, by_sums = BLOCK_SUMS / width;
    size_t chunks = least(BLOCK_CHUNKS, by_elements > BLOCK_LEAST ? by_elements : BLOCK_LEAST);
    chunks = least(chunks, by_sums > 0 ? by_sums : 1);
    return least(chunks, (l->n + l->chunk - 1) / l->chunk);
}

vg_status vg_logits__sweep(vg_logits *logits, size_t width, double *total, vg_chunk_body body, void *context) {
    size_t chunks = block_chunks(logits, width);
    size_t size;
    if (!vg_base__mul(&size, chunks, width))
        return vg_base__fail(VG_ERR_MEMORY, "calibration sums of %zu x %zu values do not fit memory", chunks, width);
    sweep_state w = {.logits = logits, .width = width, .body = body, .context = context};
    VG_TRY(vg_base__alloc(&w.sums, size, sizeof(double), "calibration sums"));
    memset(total, 0, width * sizeof *total);
    vg_status status = VG_OK;
    size_t step = chunks * logits->chunk;
    for (w.origin = 0; status == VG_OK && w.origin < logits->n; w.origin += step)
        status = sweep_block(&w, least(logits->n - w.origin, step), total);
    vg_base__release(w.sums);
    return status;
}

/* --- losses ----------------------------------------------------------------------------------------------------- */
typedef struct loss_sweep {
    const vg_logits *logits;
    const double *b;
    const bool *active;
} loss_sweep;

/* sums[3 m ..]: loss, slope and bend of member m over the chunk. Members are the outer loop, so that the product of
 * s0 stays in a register; a chunk is small enough to stay in the second-level cache. */
static vg_status loss_chunk(void *context, double *sums, double *scratch, const vg_predictions *view, size_t first,
                            size_t rows, size_t origin) {
    const loss_sweep *sweep = context;
    const vg_logits *l = sweep->logits;
    for (size_t m = 0; m < l->m; m++) {
        if (sweep->active != NULL && !sweep->active[m])
            continue;
        double b = sweep->b[m], loss = 0, slope = 0, bend = 0, product = 1;
        size_t taken = 0;
        for (size_t i = 0; i < rows; i++) {
            bool f32;
            if (l->folds && vg_units__fold(&l->units, origin + first + i, l->folds) == l->fold)
                continue;
            const void *row = vg_logits__row(view, first + i, m, scratch, &f32);
            size_t y = (size_t)l->labels[origin + first + i];
            vg_row_sums s;
            double label;
            if (f32) {
                l->kernels->sums_f32(&s, row, l->c, b);
                label = (double)((const float *)row)[y];
            } else {
                l->kernels->sums_f64(&s, row, l->c, b);
                label = ((const double *)row)[y];
            }
            double x = b * (label - s.top), mean = s.s1 / s.s0;
            loss -= x;
            slope += mean - x;
            bend += s.s2 / s.s0 - mean * mean;
            product *= s.s0;
            if (++taken % ROWS_PER_LOG == 0) {
                loss += log(product);
                product = 1;
            }
        }
        sums[3 * m] = loss + log(product);
        sums[3 * m + 1] = slope;
        sums[3 * m + 2] = bend;
    }
    return VG_OK;
}

vg_status vg_logits__losses(vg_logits *logits, const double *b, const bool *active, vg_temperature_loss *out) {
    loss_sweep sweep = {logits, b, active};
    double *total;
    VG_TRY(vg_base__alloc(&total, logits->m, 3 * sizeof(double), "calibration losses"));
    vg_status status = vg_logits__sweep(logits, 3 * logits->m, total, loss_chunk, &sweep);
    size_t left_out = logits->folds ? vg_units__in_fold(&logits->units, logits->n, logits->folds, logits->fold) : 0;
    double n = (double)(logits->n - left_out);
    for (size_t m = 0; status == VG_OK && m < logits->m; m++) {
        if (active == NULL || active[m])
            out[m] = (vg_temperature_loss){total[3 * m] / n, total[3 * m + 1] / n, total[3 * m + 2] / n};
    }
    vg_base__release(total);
    return status;
}
