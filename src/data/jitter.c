/* jitter.c - colour jitter with torchvision's formulas for float tensors (ColorJitter, transforms.functional).
 *
 *     blend(a, b, f)   clamp(f a + (1 - f) b, 0, 1)
 *     brightness       blend(x, 0, f)
 *     contrast         blend(x, mean of the grey image, f)
 *     saturation       blend(x, grey, f)                    grey = 0.2989 R + 0.587 G + 0.114 B
 *     hue              to HSV, H + f modulo 1, back
 *
 * A grey image keeps its saturation and hue. A strength of 0 leaves its operation out. */
#include <string.h>

#include "data/augment.h"

static float clamp(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

static float blend(float a, float b, float factor) { return clamp(factor * a + (1.0f - factor) * b); }

static float grey(const float *planar, size_t pixels, size_t p) {
    return 0.2989f * planar[p] + 0.587f * planar[pixels + p] + 0.114f * planar[2 * pixels + p];
}

static void contrast(float *planar, size_t channels, size_t pixels, float factor) {
    double sum = 0.0;
    for (size_t p = 0; p < pixels; p++)
        sum += (double)(channels == 3 ? grey(planar, pixels, p) : planar[p]);
    float mean = (float)(sum / (double)pixels);
    for (size_t i = 0; i < channels * pixels; i++)
        planar[i] = blend(planar[i], mean, factor);
}

static void saturation(float *planar, size_t pixels, float factor) {
    for (size_t p = 0; p < pixels; p++) {
        float level = grey(planar, pixels, p);
        for (size_t c = 0; c < 3; c++)
            planar[c * pixels + p] = blend(planar[c * pixels + p], level, factor);
    }
}

/* One block of pixels: hue in sixths of a turn from the largest channel, rotated, and converted back with the same V
 * and range: channel = V - range clamp(min(k, 4 - k), 0, 1), k = (n + 6 H) mod 6 with n = 5, 3, 1 for red, green,
 * blue. The same function as torchvision's six sectors without branches; the fixed block lets compilers vectorise
 * it. */
enum { BLOCK = 16 };

static inline float channel(float high, float range, float turned, float n) {
    float k = turned + n; /* 0 .. 11 */
    k = k >= 6.0f ? k - 6.0f : k;
    float other = 4.0f - k, least = k < other ? k : other;
    least = least < 0.0f ? 0.0f : least;
    least = least > 1.0f ? 1.0f : least;
    return high - range * least;
}

static void hue_block(float *restrict r, float *restrict g, float *restrict b, float sixths) {
    for (size_t i = 0; i < BLOCK; i++) {
        float high = r[i] > g[i] ? r[i] : g[i], low = r[i] < g[i] ? r[i] : g[i];
        high = high > b[i] ? high : b[i];
        low = low < b[i] ? low : b[i];
        float range = high - low, over = 1.0f / (range > 0.0f ? range : 1.0f);
        float from_red = (g[i] - b[i]) * over, from_green = 2.0f + (b[i] - r[i]) * over,
              from_blue = 4.0f + (r[i] - g[i]) * over;
        float h = high == g[i] ? from_green : from_blue;
        h = high == r[i] ? from_red : h;
        float turned = h + sixths; /* -4 .. 8 */
        turned = turned < 0.0f ? turned + 6.0f : turned;
        turned = turned >= 6.0f ? turned - 6.0f : turned;
        r[i] = channel(high, range, turned, 5.0f);
        g[i] = channel(high, range, turned, 3.0f);
        b[i] = channel(high, range, turned, 1.0f);
    }
}

static void hue(float *planar, size_t pixels, float shift) {
    for (size_t p = 0; p < pixels; p += BLOCK) {
        size_t count = pixels - p < BLOCK ? pixels - p : BLOCK;
        float rgb[3][BLOCK] = {{0}};
        for (size_t c = 0; c < 3; c++)
            memcpy(rgb[c], planar + c * pixels + p, count * sizeof(float));
        hue_block(rgb[0], rgb[1], rgb[2], 6.0f * shift);
        for (size_t c = 0; c < 3; c++)
            memcpy(planar + c * pixels + p, rgb[c], count * sizeof(float));
    }
}

void vg_jitter__apply(float *planar, size_t channels, size_t pixels, const vg_augment *augment,
                      const vg_augment_draw *draw) {
    for (int i = 0; i < 4; i++) {
        unsigned what = draw->order[i];
        float factor = (float)draw->factor[what];
        if (what == 0 && augment->brightness > 0)
            for (size_t p = 0; p < channels * pixels; p++)
                planar[p] = clamp(factor * planar[p]);
        else if (what == 1 && augment->contrast > 0)
            contrast(planar, channels, pixels, factor);
        else if (what == 2 && augment->saturation > 0 && channels == 3)
            saturation(planar, pixels, factor);
        else if (what == 3 && augment->hue > 0 && channels == 3)
            hue(planar, pixels, factor);
    }
}
