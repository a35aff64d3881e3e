/* columns.h - float members to x[c][m], some members at a time: a chunk is transposed into a buffer that fits the
 * cache, then its rows are checked, sums over members are taken and the classes are moved to their places.
 *
 * Squared deviations are summed in the same pass, from the mean of the first members (in t->mu_high until moments32 has
 * used it). Their differences are exact where members agree, and the correction that is later subtracted is at most M /
 * 8 times the variance. Sums in float cover 64 members at most. */

/* Members m .. m + count - 1 of every lane to t->chunk. */
static void fill_chunk(tile *t, const float *const *rows, size_t m, size_t count, size_t first, size_t units) {
    const vg_predictions *in = &t->job->in;
    size_t C = t->C;
    if (in->stride_c != 1 && side_by_side(in, units)) {
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < C; c++)
                t->chunk[i * C + c] = sites_f32(in, first, m + i, c);
        return;
    }
    if (in->stride_c != 1 || in->dtype != VG_F32) {
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < C; c++)
                for (int lane = 0; lane < VG_LANES; lane++)
                    t->chunk[i * C + c][lane] = (float)vg_measures__value(in, lane_unit(first, units, lane), m + i, c);
        return;
    }
    bool packed = in->stride_m == (ptrdiff_t)C;
    size_t pieces = packed ? 1 : count, length = packed ? count * C : C;
    for (size_t i = 0; i < pieces; i++) {
        const float *from[VG_LANES];
        for (int lane = 0; lane < VG_LANES; lane++)
            from[lane] = rows[lane] + (ptrdiff_t)(m + i) * in->stride_m;
        transpose_f32(t->chunk + i * C, from, length);
    }
}

typedef struct taking {
    /* largest |sum of a row - 1|, as bits, so that NaN is larger than any number; and the OR of all signs */
    vi worst, sign;
    const float *prefetch_at[VG_LANES]; /* addresses to prefetch, one per lane */
    bool fetch;
} taking;

/* H members from m on, H even, that are at `from`: adds them to the sums in t->mu and t->squares, and stores them in
 * x where `keep`. */
INLINE void take_members(tile *t, const vh *from, size_t m, taking *taken, bool keep, const int H) {
    size_t C = t->C, lane = 0, line = 0;
    vf *to = (vf *)(t->x + m), rows[CHUNK / 2];
    vi sign = taken->sign;
    UNROLL
    for (int i = 0; i < H / 2; i++)
        rows[i] = vf_set(0.0f);
    for (size_t c = 0; c < C; c++) {
        vd sum[CHUNK];
        vf members[CHUNK / 2];
        UNROLL
        for (int i = 0; i < H / 2; i++) {
            vh a = from[(size_t)(2 * i) * C + c], b = from[(size_t)(2 * i + 1) * C + c];
            vf both = vf_join(a, b);
            sum[i] = vd_from(a) + vd_from(b);
            rows[i] += both;
            sign |= (vi)both;
            members[i] = both;
            if (keep)
                to[i] = both;
        }
        if (H == 8)
            sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        else if (H == 4)
            sum[0] += sum[1];
        t->mu[c] += sum[0];
        if (m == 0)
            t->mu_high[c] = vh_from(sum[0] * (1.0 / H));
        vf about = vf_twice(t->mu_high[c]), squares = vf_set(0.0f);
        UNROLL
        for (int i = 0; i < H / 2; i++) {
            vf d = members[i] - about;
            squares += d * d;
        }
        t->squares[c] += squares; /* not one by one: equal members are rounded alike */
        to += t->pitch / 2;
        if (H / 2 <= VG_LANES && taken->fetch) { /* prefetches as many cache lines as were read */
            UNROLL
            for (int i = 0; i < H / 2; i++)
                __builtin_prefetch(taken->prefetch_at[lane + (size_t)i] + line, 0, 3);
            lane += (size_t)H / 2;
            if (lane == VG_LANES) {
                lane = 0;
                line += 16;
            }
        }
    }
    UNROLL
    for (int i = 0; i < H / 2; i++)
        taken->worst = vi_more((vi)(rows[i] - 1.0f) & INT32_MAX, taken->worst);
    taken->sign = sign;
}
/* The odd last member. */
static void take_last(tile *t, const vh *from, taking *taken) {
    vh sum = {0};
    for (size_t c = 0; c < t->C; c++) {
        vh *to = t->x + c * t->pitch + t->M - 1;
        to[0] = from[c];
        to[1] = (vh){0};
        t->mu[c] += vd_from(from[c]);
        if (t->M == 1)
            t->mu_high[c] = from[c];
        vh d = from[c] - t->mu_high[c];
        t->variance[c] += vd_from(d * d);
        sum += from[c];
        taken->sign |= (vi)vf_twice(from[c]);
    }
    taken->worst = vi_more((vi)(vf_twice(sum) - 1.0f) & INT32_MAX, taken->worst);
}

static void fold_squares(tile *t) {
    for (size_t c = 0; c < t->C; c++) {
        t->variance[c] += vf_fold(t->squares[c]);
        t->squares[c] = vf_set(0.0f);
    }
}

/* The whole tile. t->mu and t->variance hold sums afterwards. `keep`: x is needed. Returns whether some row failed the
 * fast check and may not be a distribution. */
INLINE bool fill_columns_of(tile *t, size_t first, size_t count, bool keep) {
    const vg_predictions *in = &t->job->in;
    size_t M = t->M, C = t->C, step = chunk_members(C), done;
    const float *rows[VG_LANES] = {0};
    taking taken = {.fetch = in->dtype == VG_F32 && in->stride_c == 1};
    for (int lane = 0; lane < VG_LANES && in->dtype == VG_F32; lane++)
        rows[lane] = (const float *)in->data + (ptrdiff_t)lane_unit(first, count, lane) * in->stride_n;
    for (size_t c = 0; c < C; c++) {
        t->mu[c] = t->variance[c] = vd_set(0.0);
        t->squares[c] = vf_set(0.0f);
    }
    for (size_t m = 0; m < M; m += step) {
        if (m > 0 && m % 64 == 0)
            fold_squares(t);
        size_t members = M - m < step ? M - m : step;
        fill_chunk(t, rows, m, members, first, count);
        /* the next chunk, of this tile or of the next */
        ptrdiff_t further = m + step < M                    ? (ptrdiff_t)(m + step) * in->stride_m
                            : first + 2 * VG_LANES <= in->n ? VG_LANES * in->stride_n
                                                            : 0;
        for (done = 0; done < members;) {
            const vh *from = t->chunk + done * C;
            size_t left = members - done, at = m + done;
            for (int lane = 0; lane < VG_LANES && taken.fetch; lane++)
                taken.prefetch_at[lane] = rows[lane] + further + (ptrdiff_t)done * in->stride_m;
            if (left >= CHUNK) {
                take_members(t, from, at, &taken, keep, CHUNK);
                done += CHUNK;
            } else if (left >= 4) {
                take_members(t, from, at, &taken, keep, 4);
                done += 4;
            } else if (left >= 2) {
                take_members(t, from, at, &taken, keep, 2);
                done += 2;
            } else {
                take_last(t, from, &taken);
                done++;
            }
        }
    }
    if (taken.fetch && in->stride_m == (ptrdiff_t)C && first + 2 * VG_LANES <= in->n) {
        t->prefetch_at = (const char *)(rows[0] + VG_LANES * in->stride_n);
        t->prefetch_stride = in->stride_n * (ptrdiff_t)sizeof(float);
        t->prefetch_bytes = (M * sizeof(float) + 63) & ~(size_t)63;
    }
    fold_squares(t);
    return vi_any((taken.sign < 0) | ~((vf)taken.worst < 0.0009f));
}
static bool fill_columns(tile *t, size_t first, size_t count) { return fill_columns_of(t, first, count, true); }
/* For moments alone. Where a row failed the fast check, x is stored nevertheless, for the full check. */
static bool sum_columns(tile *t, size_t first, size_t count) {
    return fill_columns_of(t, first, count, false) && fill_columns(t, first, count);
}
