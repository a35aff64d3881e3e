/* fill.h - from the input's element type and strides to the tile p[m][c] in double (and log p from logits), rows checked. */

/* Rows of floats or doubles, one a lane, to [element][lane]. */
#define TRANSPOSE(NAME, TYPE, VECTOR)                                                      \
    INLINE void NAME(VECTOR *out, const TYPE *const *rows, size_t from, size_t count) {    \
        for (size_t i = from; i < count; i++) {                                            \
            VECTOR v;                                                                      \
            for (int lane = 0; lane < VG_LANES; lane++)                                    \
                v[lane] = rows[lane][i];                                                   \
            out[i] = v;                                                                    \
        }                                                                                  \
    }
TRANSPOSE(transpose_plain_f32, float, vh)
TRANSPOSE(transpose_plain_f64, double, vd)

#if VG_LANES == 8
#define SHUFFLE8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
/* 8 x 8 blocks by three rounds, each shuffle one instruction on x86. */
#define TRANSPOSE8(r, T)                                                                                         \
    T a0 = SHUFFLE8(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13), a1 = SHUFFLE8(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15); \
    T a2 = SHUFFLE8(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13), a3 = SHUFFLE8(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15); \
    T a4 = SHUFFLE8(r[4], r[5], 0, 8, 1, 9, 4, 12, 5, 13), a5 = SHUFFLE8(r[4], r[5], 2, 10, 3, 11, 6, 14, 7, 15); \
    T a6 = SHUFFLE8(r[6], r[7], 0, 8, 1, 9, 4, 12, 5, 13), a7 = SHUFFLE8(r[6], r[7], 2, 10, 3, 11, 6, 14, 7, 15); \
    T b0 = SHUFFLE8(a0, a2, 0, 1, 8, 9, 4, 5, 12, 13), b1 = SHUFFLE8(a0, a2, 2, 3, 10, 11, 6, 7, 14, 15);         \
    T b2 = SHUFFLE8(a1, a3, 0, 1, 8, 9, 4, 5, 12, 13), b3 = SHUFFLE8(a1, a3, 2, 3, 10, 11, 6, 7, 14, 15);         \
    T b4 = SHUFFLE8(a4, a6, 0, 1, 8, 9, 4, 5, 12, 13), b5 = SHUFFLE8(a4, a6, 2, 3, 10, 11, 6, 7, 14, 15);         \
    T b6 = SHUFFLE8(a5, a7, 0, 1, 8, 9, 4, 5, 12, 13), b7 = SHUFFLE8(a5, a7, 2, 3, 10, 11, 6, 7, 14, 15);         \
    r[0] = SHUFFLE8(b0, b4, 0, 1, 2, 3, 8, 9, 10, 11);                                                           \
    r[1] = SHUFFLE8(b1, b5, 0, 1, 2, 3, 8, 9, 10, 11);                                                           \
    r[2] = SHUFFLE8(b2, b6, 0, 1, 2, 3, 8, 9, 10, 11);                                                           \
    r[3] = SHUFFLE8(b3, b7, 0, 1, 2, 3, 8, 9, 10, 11);                                                           \
    r[4] = SHUFFLE8(b0, b4, 4, 5, 6, 7, 12, 13, 14, 15);                                                         \
    r[5] = SHUFFLE8(b1, b5, 4, 5, 6, 7, 12, 13, 14, 15);                                                         \
    r[6] = SHUFFLE8(b2, b6, 4, 5, 6, 7, 12, 13, 14, 15);                                                         \
    r[7] = SHUFFLE8(b3, b7, 4, 5, 6, 7, 12, 13, 14, 15)

#define TRANSPOSE_BLOCK TRANSPOSE8

static void transpose_f64(vd *out, const double *const *rows, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        vd r[8];
        for (int lane = 0; lane < 8; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE8(r, vd);
        memcpy(out + i, r, sizeof r);
    }
    transpose_plain_f64(out, rows, i, count);
}
#elif VG_LANES == 4
/* 4 x 4 blocks by two rounds. */
#define TRANSPOSE4(r, T)                                                                                     \
    T a0 = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6), a1 = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7); \
    T a2 = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6), a3 = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7); \
    r[0] = __builtin_shufflevector(a0, a2, 0, 1, 4, 5);                                                      \
    r[1] = __builtin_shufflevector(a1, a3, 0, 1, 4, 5);                                                      \
    r[2] = __builtin_shufflevector(a0, a2, 2, 3, 6, 7);                                                      \
    r[3] = __builtin_shufflevector(a1, a3, 2, 3, 6, 7)

#define TRANSPOSE_BLOCK TRANSPOSE4

static void transpose_f64(vd *out, const double *const *rows, size_t count) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        vd r[4];
        for (int lane = 0; lane < 4; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE4(r, vd);
        memcpy(out + i, r, sizeof r);
    }
    transpose_plain_f64(out, rows, i, count);
}
#else
static void transpose_f64(vd *out, const double *const *rows, size_t count) { transpose_plain_f64(out, rows, 0, count); }
#endif

/* Sums of rows as their elements pass by. */
typedef struct row_watch {
    vh sum, least;
    size_t left, length; /* elements to the row's end; elements a row */
    vj doubt;            /* lanes with a row that is not surely a distribution */
} row_watch;

INLINE void watch(row_watch *w, vh x) {
    w->sum += x;
    w->least = vh_min(x, w->least);
    if (--w->left == 0) {
        w->doubt |= ~((w->least >= 0.0f) & (w->sum < 1.0009f) & (w->sum > 0.9991f));
        w->sum = (vh){0};
        w->least = (vh){0} + 1.0f;
        w->left = w->length;
    }
}

static void transpose_f32(vh *out, const float *const *rows, size_t count, row_watch *watching) {
    row_watch w = *watching;
    size_t i = 0;
#if VG_LANES > 2
    for (; i + VG_LANES <= count; i += VG_LANES) {
        vh r[VG_LANES];
        UNROLL
        for (int lane = 0; lane < VG_LANES; lane++)
            memcpy(&r[lane], rows[lane] + i, sizeof r[lane]);
        TRANSPOSE_BLOCK(r, vh);
        UNROLL
        for (int j = 0; j < VG_LANES; j++) {
            out[i + (size_t)j] = r[j];
            watch(&w, r[j]);
        }
    }
#endif
    transpose_plain_f32(out, rows, i, count);
    for (; i < count; i++)
        watch(&w, out[i]);
    *watching = w;
}

/* The samples behind the lanes; spare lanes repeat the last one. */
INLINE size_t lane_unit(size_t first, size_t count, int lane) { return first + ((size_t)lane < count ? (size_t)lane : count - 1); }

/* Multiclass, class stride 1: whole samples at once where members follow each other, else a member at a time. */
#define FILL_ROWS(NAME, TYPE, VECTOR, WATCH_TYPE, TRANSPOSE)                                                           \
    static void NAME(VECTOR *out, const tile *t, size_t first, size_t count WATCH_TYPE) {                              \
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
#define WATCHED , row_watch *watching
#define UNWATCHED
FILL_ROWS(fill_rows_f32, float, vh, WATCHED, transpose_f32(out + m * t->C, rows, length, watching))
FILL_ROWS(fill_rows_f64, double, vd, UNWATCHED, transpose_f64(out + m * t->C, rows, length))

/* Any strides, any type. */
static void fill_any(tile *t, size_t first, size_t count) {
    for (int lane = 0; lane < VG_LANES; lane++) {
        size_t n = lane_unit(first, count, lane);
        for (size_t m = 0; m < t->M; m++)
            for (size_t c = 0; c < t->C; c++) {
                double value = vg_measures__value(&t->job->in, n, m, c);
                if (t->fused)
                    t->x[m * t->C + c][lane] = (float)value;
                else
                    t->p[m * t->C + c][lane] = value;
            }
    }
}

INLINE row_watch watch_rows(const tile *t) { return (row_watch){(vh){0}, (vh){0} + 1.0f, t->C, t->C, (vj){0}}; }

/* Float rows into the double tile, in place: the floats first fill its second half. */
static void widen_rows(tile *t, size_t first, size_t count) {
    vh *x = (vh *)t->p + t->M * t->C; /* the second half of p: element i is read before p[i] reaches it */
    row_watch watching = watch_rows(t);
    fill_rows_f32(x, t, first, count, &watching);
    for (size_t i = 0; i < t->M * t->C; i++) {
        vh v = x[i];
        t->p[i] = __builtin_convertvector(v, vd);
    }
}

/* Multilabel: outcome 1 of label u % labels of sample u / labels; outcome 0 is what is left of 1. Logits z become (0, z). */
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

/* Rows must be distributions; with renormalise they only need a positive finite sum. Returns the lanes with a bad row. */
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

/* The same on floats, for tiles that were not found surely good while they were filled. */
static vl check_rows32(const tile *t) {
    vl bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        const vh *row = t->x + m * t->C;
        vd sum = {0}, least = vd_set(1.0);
        for (size_t c = 0; c < t->C; c++) {
            vd x = __builtin_convertvector(row[c], vd);
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
        vd top = row[0] * inverse;
        for (size_t c = 0; c < t->C; c++) {
            log[c] = row[c] * inverse;
            bad |= ~(vd_abs(row[c]) < (double)INFINITY);
            top = vd_max(log[c], top);
        }
        vd sum = {0};
        for (size_t c = 0; c < t->C; c++) {
            row[c] = vm_exp(log[c] - top);
            sum += row[c];
        }
        vd inverse_sum = 1.0 / sum, offset = vm_log(sum);
        for (size_t c = 0; c < t->C; c++) {
            log[c] = (log[c] - top) - offset;
            row[c] *= inverse_sum;
        }
    }
    return bad;
}

static vg_status fill(tile *t, size_t first, size_t count) {
    const vg_kernel_job *job = t->job;
    const vg_predictions *in = &job->in;
    vl bad = {0};
    row_watch watching = watch_rows(t);
    bool watched = in->stride_c == 1 && in->dtype == VG_F32 && t->fused;
    if (job->labels)
        bad = fill_labels(t, first, count);
    else if (in->stride_c == 1 && in->dtype == VG_F64)
        fill_rows_f64(t->p, t, first, count);
    else if (watched)
        fill_rows_f32(t->x, t, first, count, &watching);
    else if (in->stride_c == 1 && in->dtype == VG_F32)
        widen_rows(t, first, count);
    else
        fill_any(t, first, count);
    if (job->options.logits)
        bad |= softmax_rows(t);
    else if (!job->labels && !t->fused)
        bad |= check_rows(t);
    else if (!job->labels && (!watched || vl_any(__builtin_convertvector(watching.doubt, vl))))
        bad |= check_rows32(t);
    if (vl_any(bad))
        return vg_measures__bad_row(job, first, count);
    if (!job->options.logits && job->options.floor_form == VG_FLOOR_CLAMP)
        clamp_rows(t);
    return VG_OK;
}

/* mu, population variance and extremes of every class, in two passes. Plain sums, so that classes with the same members tie; members
 * that agree give mu = that member and a variance of 0 exactly; the second pass is corrected for the rounding of the mean. */
static void moments(tile *t) {
    size_t M = t->M, C = t->C;
    double count = (double)M, inverse = 1.0 / count;
    for (size_t c = 0; c < C; c++) {
        const vd *p = t->p + c;
        vd sum = *p, squares = {0}, low = *p, high = *p;
        for (size_t m = 1; m < M; m++) {
            vd x = p[m * C];
            sum += x;
            low = vd_min(x, low);
            high = vd_max(x, high);
        }
        vd mean = vd_select(low == high, low, sum / count), rest = {0};
        for (size_t m = 0; m < M; m++) {
            vd d = p[m * C] - mean;
            rest += d;
            squares += d * d;
        }
        t->mu[c] = mean;
        t->variance[c] = vd_max((squares - rest * (rest * inverse)) * inverse, vd_set(0.0));
        t->low[c] = low;
        t->high[c] = high;
    }
}

/* The same from floats, for G classes from c on that lie side by side in memory. The mean in double, in A interleaved sums so that
 * additions need not wait for each other (sums of floats carry no rounding worth correcting for: equal members give their value);
 * squared deviations from the mean in two floats, in double by eights. `extremes`: smallest and largest are wanted too. */
INLINE void moments32_block(tile *t, size_t c, bool extremes, const int G, const int A) {
    size_t M = t->M, C = t->C, m = 0;
    double count = (double)M;
    vd sum[4][2], mean[4], squares[4];
    vh low[4], high[4], hi[4], lo[4];
    const vh *x = t->x + c;
    UNROLL
    for (int g = 0; g < G; g++) {
        sum[g][0] = sum[g][1] = squares[g] = vd_set(0.0);
        low[g] = high[g] = x[g];
    }
    for (; m + (size_t)A <= M; m += (size_t)A)
        UNROLL
        for (int a = 0; a < A; a++)
            UNROLL
            for (int g = 0; g < G; g++)
                sum[g][a] += __builtin_convertvector(x[(m + (size_t)a) * C + (size_t)g], vd);
    UNROLL
    for (int g = 0; g < G; g++) {
        if (m < M)
            sum[g][0] += __builtin_convertvector(x[m * C + (size_t)g], vd);
        mean[g] = (sum[g][0] + sum[g][1]) / count;
        hi[g] = __builtin_convertvector(mean[g], vh);
        lo[g] = __builtin_convertvector(mean[g] - __builtin_convertvector(hi[g], vd), vh);
    }
    for (m = 0; m < M;) {
        size_t stop = M - m < 8 ? M : m + 8;
        vh part[4];
        UNROLL
        for (int g = 0; g < G; g++)
            part[g] = (vh){0};
        for (; m < stop; m++)
            UNROLL
            for (int g = 0; g < G; g++) {
                vh value = x[m * C + (size_t)g], d = (value - hi[g]) - lo[g];
                part[g] += d * d;
                if (extremes) {
                    low[g] = vh_min(value, low[g]);
                    high[g] = vh_max(value, high[g]);
                }
            }
        UNROLL
        for (int g = 0; g < G; g++)
            squares[g] += __builtin_convertvector(part[g], vd);
    }
    UNROLL
    for (int g = 0; g < G; g++) {
        size_t at = c + (size_t)g;
        t->low[at] = __builtin_convertvector(low[g], vd);
        t->high[at] = __builtin_convertvector(high[g], vd);
        t->mu[at] = mean[g];
        t->variance[at] = squares[g] / count;
    }
}

INLINE void moments32_all(tile *t, bool extremes) {
    size_t c = 0;
    for (; c + 4 <= t->C; c += 4)
        moments32_block(t, c, extremes, 4, 1);
    for (; c + 2 <= t->C; c += 2)
        moments32_block(t, c, extremes, 2, 2);
    for (; c < t->C; c++)
        moments32_block(t, c, extremes, 1, 2);
}
static void moments32(tile *t, bool extremes) {
    if (extremes)
        moments32_all(t, true);
    else
        moments32_all(t, false);
}
