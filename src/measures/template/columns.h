/* columns.h - float members to x[c][m], some at a time: transposed into a piece that the cache holds, then rows are checked,
 * sums over members taken and classes moved to their places while it is there. */

/* Members m .. m + count - 1 of every lane to t->chunk. */
static void fill_chunk(tile *t, const float *const *rows, size_t m, size_t count, size_t first, size_t units) {
    const vg_predictions *in = &t->job->in;
    size_t C = t->C;
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

/* H members from m on, H even, the first of them at t->chunk: to their places, and into the sums over members in t->mu. Returns
 * whether some row is not surely a distribution: sums in float, signs of all values together. */
INLINE bool take_members(tile *t, const vh *from, size_t m, const float *const *ahead, ptrdiff_t further, const int H) {
    size_t C = t->C;
    vf *to = (vf *)(t->x + m), rows[CHUNK / 2];
    vi sign = {0}, doubt = {0};
    UNROLL
    for (int i = 0; i < H / 2; i++)
        rows[i] = vf_set(0.0f);
    for (size_t c = 0; c < C; c++) {
        vd sum[CHUNK];
        UNROLL
        for (int i = 0; i < H / 2; i++) {
            vh a = from[(size_t)(2 * i) * C + c], b = from[(size_t)(2 * i + 1) * C + c];
            vf both = vf_join(a, b);
            sum[i] = vd_from(a) + vd_from(b);
            rows[i] += both;
            sign |= (vi)both;
            to[i] = both;
        }
        if (H == 8)
            sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        else if (H == 4)
            sum[0] += sum[1];
        t->mu[c] += sum[0];
        if (ahead)
            UNROLL
        for (size_t i = 0; i < (size_t)H / 2; i++) {
            size_t q = c * ((size_t)H / 2) + i;
            __builtin_prefetch(ahead[q % VG_LANES] + further + (ptrdiff_t)(q / VG_LANES * 16), 0, 3);
        }
        to += t->pitch / 2;
    }
    UNROLL
    for (int i = 0; i < H / 2; i++)
        doubt |= ~((rows[i] < 1.0009f) & (rows[i] > 0.9991f));
    return vi_any(doubt | (sign < 0));
}
/* The odd last member. */
static bool take_last(tile *t, const vh *from) {
    vh sum = {0}, least = {0};
    for (size_t c = 0; c < t->C; c++) {
        vh *to = t->x + c * t->pitch + t->M - 1;
        to[0] = from[c];
        to[1] = (vh){0};
        t->mu[c] += vd_from(from[c]);
        sum += from[c];
        least = vh_min(from[c], least);
    }
    vj doubt = ~((least >= 0.0f) & (sum < 1.0009f) & (sum > 0.9991f));
    return vl_any(__builtin_convertvector(doubt, vl));
}

/* The whole tile. t->mu holds sums afterwards. Returns whether some row is in doubt. */
static bool fill_columns(tile *t, size_t first, size_t count) {
    const vg_predictions *in = &t->job->in;
    size_t M = t->M, C = t->C, step = C > MANY_CLASSES ? CHUNK / 2 : CHUNK, taken;
    const float *rows[VG_LANES] = {0};
    bool doubt = false, plain = in->dtype == VG_F32 && in->stride_c == 1;
    const float *const *ahead = plain ? rows : NULL;
    if (plain)
        for (int lane = 0; lane < VG_LANES; lane++)
            rows[lane] = (const float *)in->data + (ptrdiff_t)lane_unit(first, count, lane) * in->stride_n;
    for (size_t c = 0; c < C; c++)
        t->mu[c] = vd_set(0.0);
    for (size_t m = 0; m < M; m += step) {
        size_t members = M - m < step ? M - m : step;
        fill_chunk(t, rows, m, members, first, count);
        /* where the next chunk starts, in this tile or the next; it is fetched from memory meanwhile */
        ptrdiff_t further = m + step < M                    ? (ptrdiff_t)(m + step) * in->stride_m
                            : first + 2 * VG_LANES <= in->n ? VG_LANES * in->stride_n
                                                            : 0;
        if (members == CHUNK) {
            doubt |= take_members(t, t->chunk, m, ahead, further, CHUNK);
            continue;
        }
        for (taken = 0; taken + 4 <= members; taken += 4)
            doubt |= take_members(t, t->chunk + taken * C, m + taken, ahead, further, 4);
        for (; taken + 2 <= members; taken += 2)
            doubt |= take_members(t, t->chunk + taken * C, m + taken, NULL, 0, 2);
        if (taken < members)
            doubt |= take_last(t, t->chunk + taken * C);
    }
    return doubt;
}
