/* fill.h - from the input's element type and strides to the tile: p[m][c] in double (and log p from logits), or x[c][m]
 * in float; rows checked. */

/* Transposes rows of floats or doubles, one per lane, to [element][lane]. */
#define TRANSPOSE(NAME, TYPE, VECTOR)                                                                                  \
    INLINE void NAME(VECTOR *out, const TYPE *const *rows, size_t from, size_t count) {                                \
        for (size_t i = from; i < count; i++) {                                                                        \
            VECTOR v = {0};                                                                                            \
            for (int lane = 0; lane < VG_LANES; lane++)                                                                \
                v[lane] = rows[lane][i];                                                                               \
            out[i] = v;                                                                                                \
        }                                                                                                              \
    }
TRANSPOSE(transpose_plain_f32, float, vh)
TRANSPOSE(transpose_plain_f64, double, vd)

#if VG_LANES == 8
#define SHUFFLE8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
/* 8 x 8 blocks by three rounds, each shuffle one instruction on x86. */
#define TRANSPOSE8(r, T)                                                                                               \
    T a0 = SHUFFLE8(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13), a1 = SHUFFLE8(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);      \
    T a2 = SHUFFLE8(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13), a3 = SHUFFLE8(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);      \
    T a4 = SHUFFLE8(r[4], r[5], 0, 8, 1, 9, 4, 12, 5, 13), a5 = SHUFFLE8(r[4], r[5], 2, 10, 3, 11, 6, 14, 7, 15);      \
    T a6 = SHUFFLE8(r[6], r[7], 0, 8, 1, 9, 4, 12, 5, 13), a7 = SHUFFLE8(r[6], r[7], 2, 10, 3, 11, 6, 14, 7, 15);      \
    T b0 = SHUFFLE8(a0, a2, 0, 1, 8, 9, 4, 5, 12, 13), b1 = SHUFFLE8(a0, a2, 2, 3, 10, 11, 6, 7, 14, 15);              \
    T b2 = SHUFFLE8(a1, a3, 0, 1, 8, 9, 4, 5, 12, 13), b3 = SHUFFLE8(a1, a3, 2, 3, 10, 11, 6, 7, 14, 15);              \
    T b4 = SHUFFLE8(a4, a6, 0, 1, 8, 9, 4, 5, 12, 13), b5 = SHUFFLE8(a4, a6, 2, 3, 10, 11, 6, 7, 14, 15);              \
    T b6 = SHUFFLE8(a5, a7, 0, 1, 8, 9, 4, 5, 12, 13), b7 = SHUFFLE8(a5, a7, 2, 3, 10, 11, 6, 7, 14, 15);              \
    r[0] = SHUFFLE8(b0, b4, 0, 1, 2, 3, 8, 9, 10, 11);                                                                 \
    r[1] = SHUFFLE8(b1, b5, 0, 1, 2, 3, 8, 9, 10, 11);                                                                 \
    r[2] = SHUFFLE8(b2, b6, 0, 1, 2, 3, 8, 9, 10, 11);                                                                 \
    r[3] = SHUFFLE8(b3, b7, 0, 1, 2, 3, 8, 9, 10, 11);                                                                 \
    r[4] = SHUFFLE8(b0, b4, 4, 5, 6, 7, 12, 13, 14, 15);                                                               \
    r[5] = SHUFFLE8(b1, b5, 4, 5, 6, 7, 12, 13, 14, 15);                                                               \
    r[6] = SHUFFLE8(b2, b6, 4, 5, 6, 7, 12, 13, 14, 15);                                                               \
    r[7] = SHUFFLE8(b3, b7, 4, 5, 6, 7, 12, 13, 14, 15)

#define TRANSPOSE_BLOCK TRANSPOSE8

static void transpose_f64(vd *out, const double *const *rows, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        vd r[8];
        for (int lane = 0; lane < 8; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE8(r, vd);
        UNROLL
        for (int j = 0; j < VG_LANES; j++)
            out[i + (size_t)j] = r[j];
    }
    transpose_plain_f64(out, rows, i, count);
}
#elif VG_LANES == 4
/* 4 x 4 blocks by two rounds. */
#define TRANSPOSE4(r, T)                                                                                               \
    T a0 = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6), a1 = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);      \
    T a2 = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6), a3 = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);      \
    r[0] = __builtin_shufflevector(a0, a2, 0, 1, 4, 5);                                                                \
    r[1] = __builtin_shufflevector(a1, a3, 0, 1, 4, 5);                                                                \
    r[2] = __builtin_shufflevector(a0, a2, 2, 3, 6, 7);                                                                \
    r[3] = __builtin_shufflevector(a1, a3, 2, 3, 6, 7)

#define TRANSPOSE_BLOCK TRANSPOSE4

static void transpose_f64(vd *out, const double *const *rows, size_t count) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        vd r[4];
        for (int lane = 0; lane < 4; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE4(r, vd);
        UNROLL
        for (int j = 0; j < VG_LANES; j++)
            out[i + (size_t)j] = r[j];
    }
    transpose_plain_f64(out, rows, i, count);
}
#else
static void transpose_f64(vd *out, const double *const *rows, size_t count) {
    transpose_plain_f64(out, rows, 0, count);
}
#endif

/* Elements of float rows to out[i]. */
static void transpose_f32(vh *out, const float *const *rows, size_t count) {
    size_t i = 0;
#if defined(VG_TIER_IS_AVX512)
    for (; i + 8 <= count; i += 8)
        UNROLL
    for (size_t part = 0; part < 8;
         /* Four elements: rows 0 to 3 in the lower half, 4 to 7 in the upper, so that no shuffle crosses the halves. */
         part += 4) {
        vh r[4];
        UNROLL
        for (int lane = 0; lane < 4; lane++)
            r[lane] = (vh)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[lane] + i + part)),
                                               _mm_loadu_ps(rows[lane + 4] + i + part), 1);
        vh a0 = SHUFFLE8(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13), a1 = SHUFFLE8(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);
        vh a2 = SHUFFLE8(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13), a3 = SHUFFLE8(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);
        out[i + part] = SHUFFLE8(a0, a2, 0, 1, 8, 9, 4, 5, 12, 13);
        out[i + part + 1] = SHUFFLE8(a0, a2, 2, 3, 10, 11, 6, 7, 14, 15);
        out[i + part + 2] = SHUFFLE8(a1, a3, 0, 1, 8, 9, 4, 5, 12, 13);
        out[i + part + 3] = SHUFFLE8(a1, a3, 2, 3, 10, 11, 6, 7, 14, 15);
    }
#elif VG_LANES > 2
    for (; i + VG_LANES <= count; i += VG_LANES) {
        vh r[VG_LANES];
        UNROLL
        for (int lane = 0; lane < VG_LANES; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE_BLOCK(r, vh);
        UNROLL
        for (int j = 0; j < VG_LANES; j++)
            out[i + (size_t)j] = r[j];
    }
#endif
    transpose_plain_f32(out, rows, i, count);
}

/* Pointers to the lanes' samples; unused lanes repeat the last one. */
INLINE size_t lane_unit(size_t first, size_t count, int lane) {
    return first + ((size_t)lane < count ? (size_t)lane : count - 1);
}

/* Multiclass, class stride 1: whole samples at once where members are contiguous, else a member at a time. */
#define FILL_ROWS(NAME, TYPE, VECTOR, TRANSPOSE)                                                                       \
    static void NAME(VECTOR *out, const tile *t, size_t first, size_t count) {                                         \
        const vg_predictions *in = &t->job->in;                                                                        \
        bool packed = in->stride_m == (ptrdiff_t)t->C;                                                                 \
        size_t pieces = packed ? 1 : t->M, length = packed ? t->M * t->C : t->C;                                       \
        for (size_t m = 0; m < pieces; m++) {                                                                          \
            const TYPE *rows[VG_LANES];                                                                                \
            for (int lane = 0; lane < VG_LANES; lane++)                                                                \
                rows[lane] = (const TYPE *)in->data + (ptrdiff_t)lane_unit(first, count, lane) * in->stride_n +        \
                             (ptrdiff_t)m * in->stride_m;                                                              \
            TRANSPOSE;                                                                                                 \
        }                                                                                                              \
    }
FILL_ROWS(fill_rows_f32, float, vh, transpose_f32(out + m * t->C, rows, length))
FILL_ROWS(fill_rows_f64, double, vd, transpose_f64(out + m * t->C, rows, length))

/* Whether a tile of `count` samples is full and its samples lie side by side, as the sites of an image do whose classes
 * are stored outside the rows: then an element of all lanes is one load, and nothing is transposed. */
INLINE bool side_by_side(const vg_predictions *in, size_t count) { return in->stride_n == 1 && count >= VG_LANES; }

/* Element (m, c) of the VG_LANES samples from `first` on, which lie side by side. The same element of the next tile is
 * prefetched: each plane of an image is a stream of its own, more of them than the processor follows. */
INLINE vh sites_f32(const vg_predictions *in, size_t first, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)first + (ptrdiff_t)m * in->stride_m + (ptrdiff_t)c * in->stride_c;
    vh v = {0};
    if (in->dtype == VG_F32) {
        const float *from = (const float *)in->data + at;
        __builtin_prefetch(from + VG_LANES, 0, 3);
        memcpy(&v, from, sizeof v);
        return v;
    }
    const uint16_t *from = (const uint16_t *)in->data + at;
    for (int lane = 0; lane < VG_LANES; lane++)
        v[lane] = in->dtype == VG_F16 ? vg_measures__half(from[lane]) : vg_measures__bfloat(from[lane]);
    return v;
}
INLINE vd sites_f64(const vg_predictions *in, size_t first, size_t m, size_t c) {
    if (in->dtype != VG_F64)
        return vd_from(sites_f32(in, first, m, c));
    vd v;
    const double *from = (const double *)in->data + (ptrdiff_t)first + (ptrdiff_t)m * in->stride_m;
    memcpy(&v, from + (ptrdiff_t)c * in->stride_c, sizeof v);
    return v;
}

/* Any strides, any type. */
static void fill_any(tile *t, size_t first, size_t count) {
    if (side_by_side(&t->job->in, count)) {
        for (size_t i = 0; i < t->M * t->C; i++)
            t->p[i] = sites_f64(&t->job->in, first, i / t->C, i % t->C);
        return;
    }
    for (int lane = 0; lane < VG_LANES; lane++) {
        size_t n = lane_unit(first, count, lane);
        for (size_t m = 0; m < t->M; m++)
            for (size_t c = 0; c < t->C; c++) {
                double value = vg_measures__value(&t->job->in, n, m, c);
                t->p[m * t->C + c][lane] = value;
            }
    }
}

/* Float rows into the double tile, in place: the floats first fill its second half. */
static void widen_rows(tile *t, size_t first, size_t count) {
    vh *x = (vh *)t->p + t->M * t->C; /* The second half of p: element i is read before p[i] overwrites it. */
    fill_rows_f32(x, t, first, count);
    for (size_t i = 0; i < t->M * t->C; i++) {
        vh v = x[i];
        t->p[i] = vd_from(v);
    }
}

/* Multilabel: outcome 1 of label u % labels of sample u / labels; outcome 0 is 1 minus it. Logits z become (0, z). */
static vl fill_labels(tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    vl bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        vd u;
        for (int lane = 0; lane < VG_LANES; lane++) {
            size_t unit = lane_unit(first, count, lane);
            u[lane] = vg_measures__value(&job->in, unit / job->labels, m, unit % job->labels);
        }
        if (job->options.logits) {
            t->p[2 * m] = vd_set(0.0);
            t->p[2 * m + 1] = u;
        } else {
            bad |= ~((u >= 0.0) & (u <= 1.0));
            t->p[2 * m] = 1.0 - u;
            t->p[2 * m + 1] = u;
        }
    }
    return bad;
}

/* Rows must be distributions; with renormalise they only need a positive finite sum. Returns the lanes with a bad
 * row. */
static vl check_rows(tile *t) {
    bool renormalise = t->job->options.renormalise;
    vl bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        vd *row = t->p + m * t->C;
        vd sum = row[0], least = row[0];
        for (size_t c = 1; c < t->C; c++) {
            sum += row[c];
            least = vd_min(row[c], least);
        }
        /* a NaN makes the sum NaN, and so every comparison false */
        vl good = renormalise ? (least >= 0.0) & (sum > 0.0) & (sum < (double)INFINITY)
                              : (least >= 0.0) & (vd_abs(sum - 1.0) <= 1e-3);
        bad |= ~good;
        if (renormalise) {
            vd scale = 1.0 / sum;
            for (size_t c = 0; c < t->C; c++)
                row[c] *= scale;
        }
    }
    return bad;
}

/* The same on floats, for tiles with a row that failed the fast check. */
static __attribute__((noinline)) vl check_rows32(const tile *t) {
    vl bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        vd sum = {0}, least = vd_set(1.0);
        for (size_t c = 0; c < t->C; c++) {
            vd x = value_at(t, true, m, c);
            sum += x;
            least = vd_min(x, least);
        }
        bad |= ~((vd_abs(sum - 1.0) <= 1e-3) & (least >= 0.0));
    }
    return bad;
}

/* VG_FLOOR_CLAMP: to [floor, 1] and divided by the sum, twice. */
static void clamp_rows(tile *t) {
    vd floor = vd_set(t->job->options.floor);
    for (size_t m = 0; m < t->M; m++) {
        vd *row = t->p + m * t->C;
        for (int twice = 0; twice < 2; twice++) {
            vd sum = {0};
            for (size_t c = 0; c < t->C; c++) {
                row[c] = vd_min(vd_max(row[c], floor), vd_set(1.0));
                sum += row[c];
            }
            for (size_t c = 0; c < t->C; c++)
                row[c] = row[c] / sum;
        }
    }
}

/* Logits in p become log p in log and p in p. NaN and infinities are bad rows. */
static vl softmax_rows(tile *t) {
    vl bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        vd *row = t->p + m * t->C, *log = t->log + m * t->C;
        double inverse = t->job->inverse_temperature ? t->job->inverse_temperature[m] : 1.0;
        vd top = row[0];
        for (size_t c = 0; c < t->C; c++) {
            bad |= ~(vd_abs(row[c]) < (double)INFINITY);
            top = vd_max(row[c], top);
        }
        vd sum = {0};
        for (size_t c = 0; c < t->C; c++) {
            log[c] = below_top(row[c], top, inverse);
            row[c] = vm_exp(log[c]);
            sum += row[c];
        }
        vd inverse_sum = 1.0 / sum, offset = vm_log(sum);
        t->total_lse += top * inverse + offset;
        for (size_t c = 0; c < t->C; c++) {
            log[c] -= offset;
            row[c] *= inverse_sum;
        }
    }
    return bad;
}

#include "measures/template/columns.h"

static vg_status fill(tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_predictions *in = &job->in;
    vl bad = {0};
    bool doubt = false;
    if (job->labels)
        bad = fill_labels(t, first, count);
    else if (in->stride_c == 1 && in->dtype == VG_F64)
        fill_rows_f64(t->p, t, first, count);
    else if (t->fused)
        doubt = beyond_moments(t) ? fill_columns(t, first, count) : sum_columns(t, first, count);
    else if (in->stride_c == 1 && in->dtype == VG_F32)
        widen_rows(t, first, count);
    else
        fill_any(t, first, count);
    if (job->options.logits)
        bad |= softmax_rows(t);
    else if (!job->labels && !t->fused)
        bad |= check_rows(t);
    else if (!job->labels && doubt)
        bad |= check_rows32(t);
    if (vl_any(bad))
        return vg_measures__bad_row(job, first, count);
    if (!job->options.logits && job->options.floor_form == VG_FLOOR_CLAMP)
        clamp_rows(t);
    return VG_OK;
}
