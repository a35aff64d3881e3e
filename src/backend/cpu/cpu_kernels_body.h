/* cpu_kernels_body.h - the loops of cpu_kernels.h, included once for each tier with TIER(name), TARGET and LANES
 * (floats of a register) defined, therefore without an include guard. Bodies are always inlined with b, the element
 * type and the presence of a mask as constants, so that the compiler vectorises each case separately. */

static TARGET void TIER(lanes)(uint16_t *lanes, const vg_cpu_draw *draw, size_t groups) {
    enum { WIDE = 16 };
    const uint64_t seed = draw->seed, row = draw->row;
    const uint32_t step = draw->step, first = draw->first, stride = draw->stride, per = draw->per;
    const uint32_t high = ((uint32_t)(row >> 32) & 0xFFFFFFu) | draw->stream << 24;
    for (size_t g = 0; g < groups; g += WIDE) {
        uint32_t x0[WIDE], x1[WIDE], x2[WIDE], x3[WIDE], k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (uint32_t j = 0; j < WIDE; j++) {
            uint32_t at = (uint32_t)g + j;
            x0[j] = first + at / per * stride + at % per;
            x1[j] = (uint32_t)row;
            x2[j] = step;
            x3[j] = high;
        }
        for (int round = 0; round < 10; round++) {
            for (int j = 0; j < WIDE; j++) {
                uint64_t a = (uint64_t)0xD2511F53u * x0[j], b = (uint64_t)0xCD9E8D57u * x2[j];
                uint32_t y0 = (uint32_t)(b >> 32) ^ x1[j] ^ k0, y2 = (uint32_t)(a >> 32) ^ x3[j] ^ k1;
                x1[j] = (uint32_t)b;
                x3[j] = (uint32_t)a;
                x0[j] = y0;
                x2[j] = y2;
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        size_t left = groups - g < WIDE ? groups - g : WIDE;
        for (size_t j = 0; j < left; j++) {
            uint16_t *out = lanes + (g + j) * 8;
            out[0] = (uint16_t)x0[j], out[1] = (uint16_t)(x0[j] >> 16);
            out[2] = (uint16_t)x1[j], out[3] = (uint16_t)(x1[j] >> 16);
            out[4] = (uint16_t)x2[j], out[5] = (uint16_t)(x2[j] >> 16);
            out[6] = (uint16_t)x3[j], out[7] = (uint16_t)(x3[j] >> 16);
        }
    }
}

#define MASKED(value, i) (masked ? ((uint32_t)mask.lanes[i] < mask.threshold ? 0.0f : (value)*mask.scale) : (value))

ALWAYS_INLINE TARGET void TIER(pooling_forward_body)(const vg_cpu_window *g, const vg_cpu_pooling_row *row, size_t pool,
                                                     size_t b, bool bf16, bool masked) {
    void *restrict y = row->y;
    uint8_t *restrict choice = row->choice;
    const void *restrict x = row->x;
    const float *restrict bias = row->bias;
    const vg_cpu_mask mask = row->mask;
    for (size_t q = 0; q < g->width; q++)
        for (size_t j = 0; j < b; j++) {
            float best = load(x, q * pool * b + j, bf16);
            uint8_t winner = 0;
            for (size_t r = 1; r < pool * pool; r++) {
                float v = load(x, ((r / pool) * g->in_width + q * pool + r % pool) * b + j, bf16);
                bool larger = v > best || v != v; /* a NaN is the largest, so that the loss shows it */
                winner = larger ? (uint8_t)r : winner;
                best = larger ? v : best;
            }
            best += bias[j];
            if (g->relu)
                best = best < 0.0f ? 0.0f : best;
            size_t i = q * b + j;
            store(y, i, MASKED(best, i), bf16);
            if (choice)
                choice[i] = winner;
        }
}

/* The gradient of element i of the pooled row, through dropout and ReLU, added to the sum of its channel. */
#define POOLING_GRADIENT(d, i, j)                                                                                      \
    float d = load(dy, i, bf16);                                                                                       \
    d = masked ? MASKED(d, i) : d * mask.scale;                                                                        \
    if (g->relu)                                                                                                       \
        d = load(y, i, bf16) > 0.0f ? d : 0.0f;                                                                        \
    sums[j] += d

ALWAYS_INLINE TARGET void TIER(pooling_backward_body)(const vg_cpu_window *g, const vg_cpu_pooling_back *row,
                                                      size_t pool, size_t b, bool bf16, bool masked) {
    void *restrict dx = row->dx;
    float *restrict sums = row->sums;
    const void *dy = row->dy, *restrict y = row->y;
    const uint8_t *restrict choice = row->choice;
    const vg_cpu_mask mask = row->mask;
    for (size_t q = 0; q < g->width; q++)
        for (size_t j = 0; j < b; j++) {
            size_t i = q * b + j;
            POOLING_GRADIENT(d, i, j);
            for (size_t r = 0; r < pool * pool; r++)
                store(dx, ((r / pool) * g->in_width + q * pool + r % pool) * b + j,
                      pool == 1 || choice[i] == (uint8_t)r ? d : 0.0f, bf16);
        }
}

/* dx may be dy itself: those two are not restrict, and without pooling each element is read before it is written. */
ALWAYS_INLINE TARGET void TIER(flat_backward_body)(const vg_cpu_window *g, const vg_cpu_pooling_back *row, size_t b,
                                                   bool bf16, bool masked) {
    void *dx = row->dx;
    float *restrict sums = row->sums;
    const void *dy = row->dy;
    const void *restrict y = row->y;
    const vg_cpu_mask mask = row->mask;
    for (size_t q = 0; q < g->width; q++)
        for (size_t j = 0; j < b; j++) {
            size_t i = q * b + j;
            POOLING_GRADIENT(d, i, j);
            store(dx, i, d, bf16);
        }
}

/* Windows of 2 x 2 and blocks of 16 channels, the case of most networks, in vectors as wide as the tier's registers:
 * gcc vectorises neither the search for the winner nor its inverse by itself. */
typedef float TIER(vf) __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int32_t TIER(vi) __attribute__((vector_size(LANES * 4), aligned(4)));
typedef uint32_t TIER(vu) __attribute__((vector_size(LANES * 4), aligned(4)));
typedef uint16_t TIER(vh) __attribute__((vector_size(LANES * 2), aligned(2)));
typedef uint8_t TIER(vb) __attribute__((vector_size(LANES), aligned(1)));

#define AT(type, p) (*(const TIER(type) *)(p))
#define PUT(type, p, v) (*(TIER(type) *)(p) = (v))
#define CHOOSE(where, a, b) ((TIER(vf))(((where) & (TIER(vi))(a)) | (~(where) & (TIER(vi))(b))))
#define WHERE(where, a) ((TIER(vf))((where) & (TIER(vi))(a))) /* elsewhere 0 */
#define KEPT(i) (__builtin_convertvector(AT(vh, mask.lanes + (i)), TIER(vi)) >= (int32_t)mask.threshold)
#define GET(data, i)                                                                                                   \
    (bf16 ? (TIER(vf))(__builtin_convertvector(AT(vh, (const uint16_t *)(data) + (i)), TIER(vu)) << 16)                \
          : AT(vf, (const float *)(data) + (i)))

/* The vectors of a pooled row: position q, channels from j. */
#define EACH_VECTOR(q, j)                                                                                              \
    for (size_t q = 0, width = g->width; q < width; q++)                                                               \
        for (size_t j = 0; j < 16; j += LANES)

ALWAYS_INLINE TARGET void TIER(put)(void *data, size_t i, TIER(vf) v, bool bf16) {
    if (!bf16) {
        PUT(vf, (float *)data + i, v);
        return;
    }
    TIER(vu) bits = (TIER(vu))v, nan = (TIER(vu))((bits & 0x7FFFFFFFu) > 0x7F800000u); /* as vg_cpu__to_bf16 */
    bits = (nan & (bits >> 16 | 0x40u)) | (~nan & (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
    PUT(vh, (uint16_t *)data + i, __builtin_convertvector(bits, TIER(vh)));
}

ALWAYS_INLINE TARGET void TIER(forward2)(const vg_cpu_window *g, const vg_cpu_pooling_row *row, bool bf16,
                                         bool masked) {
    const vg_cpu_mask mask = row->mask;
    const size_t below = g->in_width * 16;
    const bool relu = g->relu;
    EACH_VECTOR(q, j) {
        size_t i = q * 16 + j, at = q * 32 + j;
        const size_t window[3] = {at + 16, at + below, at + below + 16};
        TIER(vf) best = GET(row->x, at);
        TIER(vi) winner = {0};
        for (int r = 0; r < 3; r++) {
            TIER(vf) v = GET(row->x, window[r]);
            TIER(vi) larger = (v > best) | (v != v); /* a NaN is the largest */
            winner = (~larger & winner) | (larger & (r + 1));
            best = CHOOSE(larger, v, best);
        }
        best += AT(vf, row->bias + j);
        if (relu) /* a NaN is kept */
            best = WHERE(~(best < 0.0f), best);
        if (masked)
            best = WHERE(KEPT(i), best * mask.scale);
        TIER(put)(row->y, i, best, bf16);
        if (row->choice)
            PUT(vb, row->choice + i, __builtin_convertvector(winner, TIER(vb)));
    }
}

ALWAYS_INLINE TARGET void TIER(backward2)(const vg_cpu_window *g, const vg_cpu_pooling_back *row, bool bf16,
                                          bool masked) {
    const vg_cpu_mask mask = row->mask;
    const size_t below = g->in_width * 16;
    EACH_VECTOR(q, j) {
        size_t i = q * 16 + j, at = q * 32 + j;
        TIER(vf) d = GET(row->dy, i) * mask.scale;
        if (masked)
            d = WHERE(KEPT(i), d);
        if (g->relu)
            d = WHERE(GET(row->y, i) > 0.0f, d);
        PUT(vf, row->sums + j, AT(vf, row->sums + j) + d);
        TIER(vi) winner = __builtin_convertvector(AT(vb, row->choice + i), TIER(vi));
        TIER(put)(row->dx, at, WHERE(winner == 0, d), bf16);
        TIER(put)(row->dx, at + 16, WHERE(winner == 1, d), bf16);
        TIER(put)(row->dx, at + below, WHERE(winner == 2, d), bf16);
        TIER(put)(row->dx, at + below + 16, WHERE(winner == 3, d), bf16);
    }
}

/* Calls BODY(..., bf16, masked) with those two constant. */
#define DISPATCH_TYPES(at, half, BODY, ...)                                                                            \
    do {                                                                                                               \
        bool masked_ = (at)->mask.lanes != NULL;                                                                       \
        if (!(half) && !masked_)                                                                                       \
            BODY(__VA_ARGS__, false, false);                                                                           \
        else if (!(half))                                                                                              \
            BODY(__VA_ARGS__, false, true);                                                                            \
        else if (!masked_)                                                                                             \
            BODY(__VA_ARGS__, true, false);                                                                            \
        else                                                                                                           \
            BODY(__VA_ARGS__, true, true);                                                                             \
    } while (0)

/* Calls BODY(..., b, bf16, masked) with those three constant in the usual cases. `at` is the current run or row. */
#define DISPATCH(at, channels, half, BODY, ...)                                                                        \
    do {                                                                                                               \
        if ((channels) == 16)                                                                                          \
            DISPATCH_TYPES(at, half, BODY, __VA_ARGS__, 16);                                                           \
        else                                                                                                           \
            BODY(__VA_ARGS__, (channels), (half), (at)->mask.lanes != NULL);                                           \
    } while (0)

static TARGET void TIER(pooling_forward)(const vg_cpu_window *g, const vg_cpu_pooling_row *row) {
    if (g->pool == 2 && g->b == 16)
        DISPATCH_TYPES(row, g->bf16, TIER(forward2), g, row);
    else if (g->pool == 2)
        TIER(pooling_forward_body)(g, row, 2, g->b, g->bf16, row->mask.lanes != NULL);
    else
        DISPATCH(row, g->b, g->bf16, TIER(pooling_forward_body), g, row, g->pool);
}

static TARGET void TIER(pooling_backward)(const vg_cpu_window *g, const vg_cpu_pooling_back *row) {
    if (g->pool == 1)
        DISPATCH(row, g->b, g->bf16, TIER(flat_backward_body), g, row);
    else if (g->pool == 2 && g->b == 16)
        DISPATCH_TYPES(row, g->bf16, TIER(backward2), g, row);
    else if (g->pool == 2)
        TIER(pooling_backward_body)(g, row, 2, g->b, g->bf16, row->mask.lanes != NULL);
    else
        DISPATCH(row, g->b, g->bf16, TIER(pooling_backward_body), g, row, g->pool);
}

ALWAYS_INLINE TARGET void TIER(sum_body)(float *restrict sums, const vg_cpu_norm_run *run, size_t b, bool bf16,
                                         bool masked) {
    const void *restrict x = run->x;
    const vg_cpu_mask mask = run->mask;
    for (size_t k = 0; k < run->count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            sums[j] += MASKED(v, k * b + j);
        }
}

static TARGET void TIER(sum)(float *sums, const vg_cpu_norm_run *run) {
    DISPATCH(run, run->b, run->bf16, TIER(sum_body), sums, run);
}

ALWAYS_INLINE TARGET void TIER(squares_body)(float *restrict squares, const vg_cpu_norm_run *run, size_t b, bool bf16,
                                             bool masked) {
    const void *restrict x = run->x;
    const float *restrict mean = run->mean;
    const vg_cpu_mask mask = run->mask;
    for (size_t k = 0; k < run->count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            float d = MASKED(v, k * b + j) - mean[j];
            squares[j] += d * d;
        }
}

static TARGET void TIER(squares)(float *squares, const vg_cpu_norm_run *run) {
    DISPATCH(run, run->b, run->bf16, TIER(squares_body), squares, run);
}

ALWAYS_INLINE TARGET void TIER(affine_body)(const vg_cpu_norm_run *run, size_t b, bool bf16, bool masked) {
    void *restrict y = run->out;
    const void *restrict x = run->x;
    const float *restrict a = run->a, *restrict c = run->c;
    const bool relu = run->relu;
    const vg_cpu_mask mask = run->mask;
    for (size_t k = 0, count = run->count; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            v = MASKED(v, k * b + j) * a[j] + c[j];
            store(y, k * b + j, relu && v < 0.0f ? 0.0f : v, bf16);
        }
}

static TARGET void TIER(affine)(const vg_cpu_norm_run *run) {
    DISPATCH(run, run->b, run->bf16, TIER(affine_body), run);
}

ALWAYS_INLINE TARGET void TIER(norm_sums_body)(float *restrict dbeta, float *restrict dgamma,
                                               const vg_cpu_norm_run *run, size_t b, bool bf16, bool masked) {
    const void *restrict dy = run->dy, *restrict x = run->x;
    const float *restrict a = run->a, *restrict c = run->c, *restrict mean = run->mean,
                          *restrict inverse = run->inverse;
    const bool relu = run->relu;
    const vg_cpu_mask mask = run->mask;
    for (size_t k = 0, count = run->count; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16), d = load(dy, k * b + j, bf16);
            v = MASKED(v, k * b + j);
            d = !relu || v * a[j] + c[j] > 0.0f ? d : 0.0f;
            dbeta[j] += d;
            dgamma[j] += d * ((v - mean[j]) * inverse[j]);
        }
}

static TARGET void TIER(norm_sums)(float *dbeta, float *dgamma, const vg_cpu_norm_run *run) {
    DISPATCH(run, run->b, run->bf16, TIER(norm_sums_body), dbeta, dgamma, run);
}

/* dx may be dy or addend: sixteen elements are read before they are written. */
ALWAYS_INLINE TARGET void TIER(norm_apply_body)(const vg_cpu_norm_run *run, size_t b, bool bf16, bool masked) {
    void *dx = run->out;
    const void *dy = run->dy, *addend = run->addend;
    const void *restrict x = run->x;
    const float *restrict a = run->a, *restrict c = run->c, *restrict e = run->e, *restrict f = run->f;
    const bool relu = run->relu;
    const vg_cpu_mask mask = run->mask;
    for (size_t k = 0, count = run->count; k < count; k++) {
        float out[16];
        for (size_t j0 = 0; j0 < b; j0 += 16) {
            size_t left = b - j0 < 16 ? b - j0 : 16;
            for (size_t j = 0; j < left; j++) {
                size_t i = k * b + j0 + j;
                float v = load(x, i, bf16), d = load(dy, i, bf16);
                v = MASKED(v, i);
                d = !relu || v * a[j0 + j] + c[j0 + j] > 0.0f ? d : 0.0f;
                d = a[j0 + j] * d + e[j0 + j] * v + f[j0 + j];
                out[j] = MASKED(d, i) + (addend ? load(addend, i, bf16) : 0.0f);
            }
            for (size_t j = 0; j < left; j++)
                store(dx, k * b + j0 + j, out[j], bf16);
        }
    }
}

static TARGET void TIER(norm_apply)(const vg_cpu_norm_run *run) {
    DISPATCH(run, run->b, run->bf16, TIER(norm_apply_body), run);
}

static TARGET void TIER(copy_masked)(void *y, const void *x, size_t count, bool bf16, vg_cpu_mask mask) {
    const bool masked = true;
    if (bf16)
        for (size_t i = 0; i < count; i++)
            store(y, i, MASKED(load(x, i, true), i), true);
    else
        for (size_t i = 0; i < count; i++)
            store(y, i, MASKED(load(x, i, false), i), false);
}

static TARGET void TIER(add)(void *y, const void *x, size_t count, bool bf16) {
    if (bf16)
        for (size_t i = 0; i < count; i++)
            store(y, i, load(y, i, true) + load(x, i, true), true);
    else
        for (size_t i = 0; i < count; i++)
            store(y, i, load(y, i, false) + load(x, i, false), false);
}

/* figures: rate / correction1, beta1, beta2, epsilon, decay, 1 / sqrt(correction2), 1 - beta1. */
static TARGET void TIER(adam)(float *restrict theta, const float *restrict grad, float *restrict m, float *restrict v,
                              size_t count, const float figures[7]) {
    const float rate = figures[0], b1 = figures[1], b2 = figures[2], epsilon = figures[3], decay = figures[4],
                root = figures[5], c1 = figures[6];
    for (size_t i = 0; i < count; i++) {
        float g = grad[i] + decay * theta[i];
        m[i] = b1 * m[i] + c1 * g;
        float u = b2 * v[i] + (1.0f - b2) * g * g;
        v[i] = u;
        theta[i] -= rate * m[i] / (sqrtf(u) * root + epsilon);
    }
}

static TARGET void TIER(to_bf16)(uint16_t *restrict to, const float *restrict from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] = vg_cpu__to_bf16(from[i]);
}

static const vg_cpu_kernels TIER(kernels) = {
    TIER_NAME,     TIER(lanes),  TIER(pooling_forward), TIER(pooling_backward), TIER(sum),
    TIER(squares), TIER(affine), TIER(norm_sums),       TIER(norm_apply),       TIER(copy_masked),
    TIER(add),     TIER(adam),   TIER(to_bf16),
};

#undef AT
#undef PUT
#undef CHOOSE
#undef WHERE
#undef KEPT
#undef EACH_VECTOR
#undef GET
#undef MASKED
#undef DISPATCH
#undef DISPATCH_TYPES
