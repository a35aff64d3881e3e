/* cpu_kernels_body.h - the loops of cpu_kernels.h, included once a tier with TIER(name) and TARGET defined. No include guard:
 * that is the point. Bodies are always inlined with b, element type and mask presence as constants, so that each case
 * vectorises on its own. */

static TARGET void TIER(lanes)(uint16_t *lanes, uint64_t seed, uint32_t stream, uint32_t step, uint64_t row, uint32_t first,
                               uint32_t stride, uint32_t per, size_t groups) {
    enum { WIDE = 16 };
    uint32_t high = ((uint32_t)(row >> 32) & 0xFFFFFFu) | stream << 24;
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

ALWAYS_INLINE TARGET void TIER(stage_forward_body)(const vg_cpu_window *g, void *restrict y, uint8_t *restrict choice,
                                                   const void *restrict x, const float *restrict bias, vg_cpu_mask mask,
                                                   size_t b, size_t pool, bool bf16, bool masked) {
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

ALWAYS_INLINE TARGET void TIER(stage_backward_body)(const vg_cpu_window *g, void *restrict dx, float *restrict sums,
                                                    const void *dy, const void *restrict y, const uint8_t *restrict choice,
                                                    vg_cpu_mask mask, size_t b, size_t pool, bool bf16, bool masked) {
    for (size_t q = 0; q < g->width; q++)
        for (size_t j = 0; j < b; j++) {
            size_t i = q * b + j;
            float d = load(dy, i, bf16);
            d = masked ? MASKED(d, i) : d * mask.scale;
            if (g->relu)
                d = load(y, i, bf16) > 0.0f ? d : 0.0f;
            sums[j] += d;
            for (size_t r = 0; r < pool * pool; r++)
                store(dx, ((r / pool) * g->in_width + q * pool + r % pool) * b + j,
                      pool == 1 || choice[i] == (uint8_t)r ? d : 0.0f, bf16);
        }
}

/* dx may be dy itself: no restrict between those two, so the pool = 1 case goes element by element. */
ALWAYS_INLINE TARGET void TIER(flat_backward_body)(const vg_cpu_window *g, void *dx, float *restrict sums, const void *dy,
                                                   const void *restrict y, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    for (size_t q = 0; q < g->width; q++)
        for (size_t j = 0; j < b; j++) {
            size_t i = q * b + j;
            float d = load(dy, i, bf16);
            d = masked ? MASKED(d, i) : d * mask.scale;
            if (g->relu)
                d = load(y, i, bf16) > 0.0f ? d : 0.0f;
            sums[j] += d;
            store(dx, i, d, bf16);
        }
}

/* Calls BODY(..., b, bf16, masked) with those three constant in the usual cases. */
#define DISPATCH(BODY, ...)                                                                                                    \
    do {                                                                                                                       \
        bool masked_ = mask.lanes != NULL;                                                                                     \
        if (b == 16 && !bf16 && !masked_)                                                                                      \
            BODY(__VA_ARGS__, 16, false, false);                                                                               \
        else if (b == 16 && !bf16)                                                                                             \
            BODY(__VA_ARGS__, 16, false, true);                                                                                \
        else if (b == 16 && !masked_)                                                                                          \
            BODY(__VA_ARGS__, 16, true, false);                                                                                \
        else if (b == 16)                                                                                                      \
            BODY(__VA_ARGS__, 16, true, true);                                                                                 \
        else                                                                                                                   \
            BODY(__VA_ARGS__, b, bf16, masked_);                                                                               \
    } while (0)

ALWAYS_INLINE TARGET void TIER(stage_forward_pool2)(const vg_cpu_window *g, void *y, uint8_t *choice, const void *x,
                                                    const float *bias, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    TIER(stage_forward_body)(g, y, choice, x, bias, mask, b, 2, bf16, masked);
}
ALWAYS_INLINE TARGET void TIER(stage_forward_any)(const vg_cpu_window *g, void *y, uint8_t *choice, const void *x,
                                                  const float *bias, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    TIER(stage_forward_body)(g, y, choice, x, bias, mask, b, g->pool, bf16, masked);
}
ALWAYS_INLINE TARGET void TIER(stage_backward_pool2)(const vg_cpu_window *g, void *dx, float *sums, const void *dy,
                                                     const void *y, const uint8_t *choice, vg_cpu_mask mask, size_t b,
                                                     bool bf16, bool masked) {
    TIER(stage_backward_body)(g, dx, sums, dy, y, choice, mask, b, 2, bf16, masked);
}
ALWAYS_INLINE TARGET void TIER(stage_backward_any)(const vg_cpu_window *g, void *dx, float *sums, const void *dy, const void *y,
                                                   const uint8_t *choice, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    TIER(stage_backward_body)(g, dx, sums, dy, y, choice, mask, b, g->pool, bf16, masked);
}

static TARGET void TIER(stage_forward)(const vg_cpu_window *g, void *y, uint8_t *choice, const void *x, const float *bias,
                                       vg_cpu_mask mask) {
    size_t b = g->b;
    bool bf16 = g->bf16;
    if (g->pool == 2)
        DISPATCH(TIER(stage_forward_pool2), g, y, choice, x, bias, mask);
    else
        DISPATCH(TIER(stage_forward_any), g, y, choice, x, bias, mask);
}

static TARGET void TIER(stage_backward)(const vg_cpu_window *g, void *dx, float *sums, const void *dy, const void *y,
                                        const uint8_t *choice, vg_cpu_mask mask) {
    size_t b = g->b;
    bool bf16 = g->bf16;
    if (g->pool == 1)
        DISPATCH(TIER(flat_backward_body), g, dx, sums, dy, y, mask);
    else if (g->pool == 2)
        DISPATCH(TIER(stage_backward_pool2), g, dx, sums, dy, y, choice, mask);
    else
        DISPATCH(TIER(stage_backward_any), g, dx, sums, dy, y, choice, mask);
}

ALWAYS_INLINE TARGET void TIER(sum_body)(float *restrict sums, const void *restrict x, size_t count, vg_cpu_mask mask, size_t b,
                                         bool bf16, bool masked) {
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            sums[j] += MASKED(v, k * b + j);
        }
}

static TARGET void TIER(sum)(float *sums, const void *x, size_t count, size_t b, bool bf16, vg_cpu_mask mask) {
    DISPATCH(TIER(sum_body), sums, x, count, mask);
}

ALWAYS_INLINE TARGET void TIER(squares_body)(float *restrict squares, const void *restrict x, const float *restrict mean,
                                             size_t count, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            float d = MASKED(v, k * b + j) - mean[j];
            squares[j] += d * d;
        }
}

static TARGET void TIER(squares)(float *squares, const void *x, const float *mean, size_t count, size_t b, bool bf16,
                                 vg_cpu_mask mask) {
    DISPATCH(TIER(squares_body), squares, x, mean, count, mask);
}

ALWAYS_INLINE TARGET void TIER(affine_body)(void *restrict y, const void *restrict x, const float *restrict a,
                                            const float *restrict c, size_t count, bool relu, vg_cpu_mask mask, size_t b,
                                            bool bf16, bool masked) {
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16);
            v = MASKED(v, k * b + j) * a[j] + c[j];
            store(y, k * b + j, relu && v < 0.0f ? 0.0f : v, bf16);
        }
}

static TARGET void TIER(affine)(void *y, const void *x, const float *a, const float *c, size_t count, size_t b, bool bf16,
                                bool relu, vg_cpu_mask mask) {
    DISPATCH(TIER(affine_body), y, x, a, c, count, relu, mask);
}

ALWAYS_INLINE TARGET void TIER(norm_sums_body)(float *restrict dbeta, float *restrict dgamma, const void *restrict dy,
                                               const void *restrict x, const float *restrict a, const float *restrict c,
                                               const float *restrict mean, const float *restrict inverse, size_t count,
                                               bool relu, vg_cpu_mask mask, size_t b, bool bf16, bool masked) {
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < b; j++) {
            float v = load(x, k * b + j, bf16), d = load(dy, k * b + j, bf16);
            v = MASKED(v, k * b + j);
            d = !relu || v * a[j] + c[j] > 0.0f ? d : 0.0f;
            dbeta[j] += d;
            dgamma[j] += d * ((v - mean[j]) * inverse[j]);
        }
}

static TARGET void TIER(norm_sums)(float *dbeta, float *dgamma, const void *dy, const void *x, const float *a, const float *c,
                                   const float *mean, const float *inverse, size_t count, size_t b, bool bf16, bool relu,
                                   vg_cpu_mask mask) {
    DISPATCH(TIER(norm_sums_body), dbeta, dgamma, dy, x, a, c, mean, inverse, count, relu, mask);
}

/* dx may be dy or addend: element by element. */
ALWAYS_INLINE TARGET void TIER(norm_apply_body)(void *dx, const void *dy, const void *restrict x, const void *addend,
                                                const float *restrict a, const float *restrict c, const float *restrict e,
                                                const float *restrict f, size_t count, bool relu, vg_cpu_mask mask, size_t b,
                                                bool bf16, bool masked) {
    for (size_t k = 0; k < count; k++) {
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

static TARGET void TIER(norm_apply)(void *dx, const void *dy, const void *x, const void *addend, const float *a, const float *c,
                                    const float *e, const float *f, size_t count, size_t b, bool bf16, bool relu,
                                    vg_cpu_mask mask) {
    DISPATCH(TIER(norm_apply_body), dx, dy, x, addend, a, c, e, f, count, relu, mask);
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
    TIER_NAME,     TIER(lanes),  TIER(stage_forward), TIER(stage_backward), TIER(sum),
    TIER(squares), TIER(affine), TIER(norm_sums),     TIER(norm_apply),     TIER(copy_masked),
    TIER(add),     TIER(adam),   TIER(to_bf16),
};

#undef MASKED
#undef DISPATCH
