/* panel_load.h - members of any element type and stride into the columns of a panel; logits become probabilities. */

#ifndef VG_PANEL_LOAD_ONCE
#define VG_PANEL_LOAD_ONCE
typedef uint16_t vhalves __attribute__((vector_size(VG_LANES * 4)));

/* 2 VG_LANES float16 or bfloat16 as floats. Infinite and NaN float16 become numbers above 65504, which no check of a
 * row passes. */
INLINE vf half_floats(const uint16_t *from, vg_element type) {
    vhalves bits;
    memcpy(&bits, from, sizeof bits);
    vu wide = __builtin_convertvector(bits, vu);
    if (type == VG_BF16)
        return (vf)(wide << 16);
    return (vf)((vu)((vf)((wide & 0x7fff) << 13) * 0x1p112f) | (wide & 0x8000) << 16);
}
#endif

INLINE const char *P(row_at)(const vg_predictions *in, size_t n, size_t m) {
    static const ptrdiff_t sizes[] = {4, 8, 2, 2};
    return (const char *)in->data + ((ptrdiff_t)n * in->stride_n + (ptrdiff_t)m * in->stride_m) * sizes[in->dtype];
}

/* Classes c .. c + lanes - 1 of one row, all of which exist and lie side by side. */
INLINE vr P(load)(const char *row, vg_element type, size_t c) {
    vr v = vr_set(0);
#if VG_PANEL_DOUBLE
    vh narrow;
    switch (type) {
    case VG_F64: memcpy(&v, (const double *)(const void *)row + c, sizeof v); return v;
    case VG_F32: memcpy(&narrow, (const float *)(const void *)row + c, sizeof narrow); return vd_from(narrow);
    default:
        for (int i = 0; i < VG_LANES; i++) {
            uint16_t bits = ((const uint16_t *)(const void *)row)[c + (size_t)i];
            v[i] = (double)(type == VG_F16 ? vg_measures__half(bits) : vg_measures__bfloat(bits));
        }
        return v;
    }
#else
    if (type == VG_F32) {
        memcpy(&v, (const float *)(const void *)row + c, sizeof v);
        return v;
    }
    return half_floats((const uint16_t *)(const void *)row + c, type);
#endif
}

/* Column j of member m of an across panel's sample, as it is in memory; 0 past the last class. */
static inline vr P(fetch)(const P(panel) * t, size_t m, size_t j) {
    const vg_predictions *in = &t->job->in;
    size_t c = j * PANEL_LANES;
    if (in->stride_c == 1 && c + PANEL_LANES <= t->C)
        return P(load)(P(row_at)(in, t->first, m), in->dtype, c);
    vr v = vr_set(0);
    for (size_t i = 0; i < PANEL_LANES && c + i < t->C; i++)
        v[i] = (PANEL_REAL)vg_measures__value(in, t->first, m, c + i);
    return v;
}

/* All ones in the lanes of column j that are classes. */
INLINE vri P(exists)(const P(panel) * t, size_t j) {
    vri mask = {0};
    for (size_t i = 0; i < PANEL_LANES; i++)
        mask[i] = !t->across || j * PANEL_LANES + i < t->C ? -1 : 0;
    return mask;
}

INLINE double P(across_sum)(vr x) {
    double sum = 0;
    for (int i = 0; i < PANEL_LANES; i++)
        sum += (double)x[i];
    return sum;
}

#if VG_PANEL_DOUBLE
INLINE double P(inverse_temperature)(const P(panel) * t, size_t m) {
    return t->job->inverse_temperature ? t->job->inverse_temperature[m] : 1.0;
}

/* Largest logit of a row of an across panel, and logsumexp minus it; the latter is NaN where not all are finite. */
static void P(row_total)(P(panel) * t, size_t m) {
    double inverse = P(inverse_temperature)(t, m), top = -INFINITY;
    vr most = vr_set(-INFINITY), sum = vr_set(0);
    vri bad = {0};
    for (size_t j = 0; j < t->J; j++) {
        vr v = P(fetch)(t, m, j);
        bad |= ~(vd_abs(v) < (double)INFINITY);
        most = vr_max(P(choose)(P(exists)(t, j), v, vr_set(-INFINITY)), most);
    }
    for (int i = 0; i < PANEL_LANES; i++)
        top = most[i] > top ? most[i] : top;
    for (size_t j = 0; j < t->J; j++)
        sum += P(choose)(P(exists)(t, j), vm_exp(below_top(P(fetch)(t, m, j), vr_set(top), inverse)), vr_set(0));
    t->top[m] = top;
    t->offset[m] = vri_any(bad) ? (double)NAN : log(P(across_sum)(sum));
}

/* Column j of member m of an across panel: log p from a logit. */
INLINE vr P(fetch_log)(const P(panel) * t, size_t m, size_t j) {
    vr v = below_top(P(fetch)(t, m, j), vr_set(t->top[m]), P(inverse_temperature)(t, m)) - t->offset[m];
    return P(choose)(P(exists)(t, j), v, vr_set(0));
}

/* The logits of every row of a panel of samples become log p in log and p in x. Returns whether all are finite. */
static bool P(softmax)(P(panel) * t) {
    vri bad = {0};
    for (size_t m = 0; m < t->M; m++) {
        vr *x = t->x + m * t->block, *log = t->log + m * t->block;
        double inverse = P(inverse_temperature)(t, m);
        vr top = x[0], sum = vr_set(0);
        for (size_t j = 0; j < t->J; j++) {
            bad |= ~(vd_abs(x[j]) < (double)INFINITY);
            top = vr_max(x[j], top);
        }
        for (size_t j = 0; j < t->J; j++) {
            log[j] = below_top(x[j], top, inverse);
            x[j] = vm_exp(log[j]);
            sum += x[j];
        }
        vr inverse_sum = 1.0 / sum, offset = vm_log(sum);
        t->total_lse += top * inverse + offset;
        for (size_t j = 0; j < t->J; j++) {
            log[j] -= offset;
            x[j] *= inverse_sum;
        }
    }
    return !vri_any(bad);
}
#endif

/* Column j of member m of an across panel: a probability. */
INLINE vr P(fetch_value)(const P(panel) * t, size_t m, size_t j) {
#if VG_PANEL_DOUBLE
    if (t->job->options.logits)
        return P(choose)(P(exists)(t, j), vm_exp(P(fetch_log)(t, m, j)), vr_set(0));
#endif
    return P(fetch)(t, m, j);
}

/* Columns of an across panel that need neither a conversion nor padding. */
INLINE size_t P(direct_columns)(const P(panel) * t) {
    const vg_predictions *in = &t->job->in;
    bool same = in->stride_c == 1 && in->dtype == (VG_PANEL_DOUBLE ? VG_F64 : VG_F32);
    return t->across && same && !t->job->options.logits ? t->C / PANEL_LANES : 0;
}

INLINE P(source) P(column_source)(const P(panel) * t, size_t j) {
    if (j >= t->direct)
        return (P(source)){(const char *)(t->x + (j - t->from)), (ptrdiff_t)(t->block * sizeof(vr))};
    return (P(source)){P(row_at)(&t->job->in, t->first, 0) + j * sizeof(vr),
                       t->job->in.stride_m * (ptrdiff_t)sizeof(PANEL_REAL)};
}

INLINE vr P(member)(P(source) of, size_t m) {
    vr v;
    memcpy(&v, of.at + (ptrdiff_t)m * of.step, sizeof v);
    return v;
}
/* The same, added to sums in double. Halves are loaded, because to split a vector takes longer. */
INLINE void P(add_member)(P(acc) * sum, P(source) of, size_t m) {
#if VG_PANEL_DOUBLE
    sum->h[0] += P(member)(of, m);
#else
    vh part;
    UNROLL
    for (size_t h = 0; h < PANEL_HALVES; h++) {
        memcpy(&part, of.at + (ptrdiff_t)m * of.step + h * sizeof part, sizeof part);
        sum->h[h] += vd_from(part);
    }
#endif
}

/* The block of columns from `from` on of an across panel, as far as they are not read where they lie. */
static VG_NOINLINE void P(load_block)(P(panel) * t, size_t from) {
    const vg_predictions *in = &t->job->in;
    size_t count = t->end - from < t->block ? t->end - from : t->block;
    size_t whole = in->stride_c == 1 ? t->C / PANEL_LANES : 0, plain = whole > from ? whole - from : 0;
    size_t direct = t->direct > from ? t->direct - from : 0;
    t->from = from;
    plain = plain < count ? plain : count;
    for (size_t m = 0; m < t->M; m++) {
        vr *to = t->x + m * t->block;
        size_t j = direct < count ? direct : count;
#if VG_PANEL_DOUBLE
        if (t->job->options.logits) {
            vr *log = t->log + m * t->block;
            for (; j < count; j++) {
                log[j] = P(fetch_log)(t, m, from + j);
                to[j] = P(choose)(P(exists)(t, from + j), vm_exp(log[j]), vr_set(0));
            }
        }
#endif
        for (const char *row = P(row_at)(in, t->first, m); j < plain; j++)
            to[j] = P(load)(row, in->dtype, (from + j) * PANEL_LANES);
        for (; j < count; j++)
            to[j] = P(fetch)(t, m, from + j);
    }
}

#if !VG_PANEL_DOUBLE && (defined(VG_TIER_IS_AVX512) || defined(VG_TIER_IS_AVX2))
#define PANEL_FOURS /* rows are transposed four elements at a time */
/* Up to four elements of every row, from element `at` on: register i holds those of rows i, i + 4 and so on. */
INLINE void transpose_four(vf *out, const float *const *rows, size_t at, size_t count) {
#if defined(VG_TIER_IS_AVX512)
    const __mmask8 here = (__mmask8)((1u << count) - 1);
    __m512 r[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_castps128_ps512(_mm_maskz_loadu_ps(here, rows[i] + at));
        r[i] = _mm512_insertf32x4(r[i], _mm_maskz_loadu_ps(here, rows[i + 4] + at), 1);
        r[i] = _mm512_insertf32x4(r[i], _mm_maskz_loadu_ps(here, rows[i + 8] + at), 2);
        r[i] = _mm512_insertf32x4(r[i], _mm_maskz_loadu_ps(here, rows[i + 12] + at), 3);
    }
    __m512d a = (__m512d)_mm512_unpacklo_ps(r[0], r[1]), b = (__m512d)_mm512_unpacklo_ps(r[2], r[3]);
    __m512d c = (__m512d)_mm512_unpackhi_ps(r[0], r[1]), d = (__m512d)_mm512_unpackhi_ps(r[2], r[3]);
    const __m512d columns[4] = {_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b), _mm512_unpacklo_pd(c, d),
                                _mm512_unpackhi_pd(c, d)};
#else
    static const int32_t masks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    const __m128i here = _mm_loadu_si128((const __m128i *)(const void *)(masks + 4 - count));
    __m256 r[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        __m128 low = count == 4 ? _mm_loadu_ps(rows[i] + at) : _mm_maskload_ps(rows[i] + at, here);
        __m128 high = count == 4 ? _mm_loadu_ps(rows[i + 4] + at) : _mm_maskload_ps(rows[i + 4] + at, here);
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
    }
    __m256d a = (__m256d)_mm256_unpacklo_ps(r[0], r[1]), b = (__m256d)_mm256_unpacklo_ps(r[2], r[3]);
    __m256d c = (__m256d)_mm256_unpackhi_ps(r[0], r[1]), d = (__m256d)_mm256_unpackhi_ps(r[2], r[3]);
    const __m256d columns[4] = {_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), _mm256_unpacklo_pd(c, d),
                                _mm256_unpackhi_pd(c, d)};
#endif
    UNROLL
    for (size_t i = 0; i < 4; i++)
        if (i < count)
            out[i] = (vf)columns[i];
}
#endif

/* Rows of reals, one per lane, to out[element][lane]. */
static void P(transpose)(vr *out, const PANEL_REAL *const *rows, size_t count) {
#if VG_PANEL_DOUBLE
    transpose_f64(out, rows, count);
#else
#if defined(PANEL_FOURS)
    size_t done = 0; /* the last four may overlap those before */
    for (; count >= 4 && done < count; done = done + 4 < count && count < done + 8 ? count - 4 : done + 4)
        transpose_four(out + done, rows, done, 4);
    if (count < 4)
        transpose_four(out, rows, 0, count);
#else
    enum { PIECE = 32 };
    vh low[PIECE], high[PIECE];
    for (size_t i = 0; i < count; i += PIECE) {
        size_t some = count - i < PIECE ? count - i : PIECE;
        const float *from[2 * VG_LANES];
        for (size_t lane = 0; lane < 2 * VG_LANES; lane++)
            from[lane] = rows[lane] + i;
        transpose_f32(low, from, some);
        transpose_f32(high, from + VG_LANES, some);
        for (size_t e = 0; e < some; e++)
            out[i + e] = vf_join(low[e], high[e]);
    }
#endif
#undef PANEL_FOURS
#endif
}

/* All members of sample n as reals at `to`. */
static void P(gather)(PANEL_REAL *to, const P(panel) * t, size_t n) {
    const vg_predictions *in = &t->job->in;
    bool packed = in->stride_c == 1 && in->stride_m == (ptrdiff_t)t->C; /* all members are one row */
    size_t rows = packed ? 1 : t->M, length = packed ? t->M * t->C : t->C;
    for (size_t m = 0; m < rows; m++) {
        const char *row = P(row_at)(in, n, m);
        size_t c = 0;
        for (; in->stride_c == 1 && c + PANEL_LANES <= length; c += PANEL_LANES) {
            vr v = P(load)(row, in->dtype, c);
            memcpy(to + m * t->C + c, &v, sizeof v);
        }
        for (; c < length; c++)
            to[m * t->C + c] = (PANEL_REAL)vg_measures__value(in, n, packed ? c / t->C : m, packed ? c % t->C : c);
    }
}

/* All columns of a full panel whose samples lie side by side, as the sites of an image do: a column is one load. */
static VG_NOINLINE void P(load_sites)(P(panel) * t) {
    static const ptrdiff_t sizes[] = {4, 8, 2, 2};
    const vg_predictions *in = &t->job->in;
    ptrdiff_t step = in->stride_c * sizes[in->dtype];
    for (size_t m = 0; m < t->M; m++) {
        const char *at = P(row_at)(in, t->first, m);
        for (size_t c = 0; c < t->C; c++, at += step) {
            __builtin_prefetch(at + PANEL_LANES * sizes[in->dtype], 0,
                               3); /* each plane is a separate stream, more than the hardware prefetcher follows */
            t->x[m * t->C + c] = P(load)(at, in->dtype, 0);
        }
    }
}

/* All columns of a panel of samples; lanes past the last sample repeat it. */
static VG_NOINLINE void P(load_samples)(P(panel) * t) {
    const vg_predictions *in = &t->job->in;
    const PANEL_REAL *rows[PANEL_LANES];
    bool direct = in->stride_c == 1 && in->dtype == (VG_PANEL_DOUBLE ? VG_F64 : VG_F32);
    bool packed = !direct || in->stride_m == (ptrdiff_t)t->C;
    size_t pieces = packed ? 1 : t->M, length = packed ? t->M * t->C : t->C;
    t->from = 0;
    t->prefetch_at = NULL;
    if (in->stride_n == 1 && in->stride_c != 1 && t->count == PANEL_LANES) {
        P(load_sites)(t);
        return;
    }
    if (direct && packed && in->stride_n == (ptrdiff_t)length && t->first + 2 * PANEL_LANES <= in->n) {
        t->prefetch_at = P(row_at)(in, t->first + PANEL_LANES, 0);
        t->prefetch_bytes = (length * sizeof(vr) / t->J + 63) & ~(size_t)63;
    }
    for (size_t lane = 0; !direct && lane < t->count; lane++)
        P(gather)(t->row + lane * t->M * t->C, t, t->first + lane);
    for (size_t m = 0; m < pieces; m++) {
        const PANEL_REAL *row = direct ? (const void *)P(row_at)(in, t->first, m) : t->row;
        ptrdiff_t step = direct ? in->stride_n : (ptrdiff_t)length, last = (ptrdiff_t)t->count - 1;
        for (ptrdiff_t lane = 0; lane < PANEL_LANES; lane++, row += lane <= last ? step : 0)
            rows[lane] = row;
        P(transpose)(t->x + m * t->C, rows, length);
    }
}
