/* cpu_kernels_body.h - the loops of cpu_kernels.h, included once for each tier with TIER(name) and TARGET defined,
 * therefore without an include guard. Bodies are always inlined with b, the element type and the presence of a mask as
 * constants, so that the compiler vectorises each case separately. */

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
                winner = v > best ? (uint8_t)r : winner;
                best = v > best ? v : best;
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

/* The gradient of element i of the pooled row, behind dropout and ReLU, added to the sum of its channel. */
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
    const void *dy = row->dy;
    const void *restrict y = row->y;
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

/* Calls BODY(..., b, bf16, masked) with those three constant in the usual cases. `at` is the current run or row. */
#define DISPATCH(at, channels, half, BODY, ...)                                                                        \
    do {                                                                                                               \
        bool masked_ = (at)->mask.lanes != NULL;                                                                       \
        if ((channels) == 16 && !(half) && !masked_)                                                                   \
            BODY(__VA_ARGS__, 16, false, false);                                                                       \
        else if ((channels) == 16 && !(half))                                                                          \
            BODY(__VA_ARGS__, 16, false, true);                                                                        \
        else if ((channels) == 16 && !masked_)                                                                         \
            BODY(__VA_ARGS__, 16, true, false);                                                                        \
        else if ((channels) == 16)                                                                                     \
            BODY(__VA_ARGS__, 16, true, true);                                                                         \
        else                                                                                                           \
            BODY(__VA_ARGS__, (channels), (half), masked_);                                                            \
    } while (0)

static TARGET void TIER(pooling_forward)(const vg_cpu_window *g, const vg_cpu_pooling_row *row) {
    if (g->pool == 2)
        DISPATCH(row, g->b, g->bf16, TIER(pooling_forward_body), g, row, 2);
    else
        DISPATCH(row, g->b, g->bf16, TIER(pooling_forward_body), g, row, g->pool);
}

static TARGET void TIER(pooling_backward)(const vg_cpu_window *g, const vg_cpu_pooling_back *row) {
    if (g->pool == 1)
        DISPATCH(row, g->b, g->bf16, TIER(flat_backward_body), g, row);
    else if (g->pool == 2)
        DISPATCH(row, g->b, g->bf16, TIER(pooling_backward_body), g, row, 2);
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

#undef MASKED
#undef DISPATCH
