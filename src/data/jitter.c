/* jitter.c - colour jitter with torchvision's formulas for float tensors (ColorJitter, transforms.functional).
 *
 *     blend(a, b, f)   clamp(f a + (1 - f) b, 0, 1)
 *     brightness       blend(x, 0, f)
 *     contrast         blend(x, mean of the grey image, f)
 *     saturation       blend(x, grey, f)                    grey = 0.2989 R + 0.587 G + 0.114 B
 *     hue              to HSV, H + f modulo 1, back
 *
 * A grey image keeps its saturation and hue. A strength of 0 leaves its operation out. */
#include <math.h>

#include "data/augment.h"

static float clamp(float x) {
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

static float blend(float a, float b, float factor) {
    return clamp(factor * a + (1.0f - factor) * b);
}

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

/* H, S, V of one pixel, each in 0..1. */
static void to_hsv(float hsv[3], float r, float g, float b) {
    float high = fmaxf(r, fmaxf(g, b)), low = fminf(r, fminf(g, b)), range = high - low;
    bool equal = high == low;
    float divisor = equal ? 1.0f : range;
    float rc = (high - r) / divisor, gc = (high - g) / divisor, bc = (high - b) / divisor, h;
    if (high == r)
        h = bc - gc;
    else if (high == g)
        h = 2.0f + rc - bc;
    else
        h = 4.0f + gc - rc;
    h = h / 6.0f + 1.0f; /* 5/6 .. 11/6, so that modulo 1 is one subtraction */
    hsv[0] = h >= 1.0f ? h - 1.0f : h;
    hsv[1] = range / (equal ? 1.0f : high);
    hsv[2] = high;
}

static void from_hsv(float rgb[3], const float hsv[3]) {
    float h = hsv[0], s = hsv[1], v = hsv[2], sector = floorf(h * 6.0f), f = h * 6.0f - sector;
    float p = clamp(v * (1.0f - s)), q = clamp(v * (1.0f - s * f)), t = clamp(v * (1.0f - s * (1.0f - f)));
    const float wheel[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    unsigned i = (unsigned)sector % 6;
    rgb[0] = wheel[i][0], rgb[1] = wheel[i][1], rgb[2] = wheel[i][2];
}

static void hue(float *planar, size_t pixels, float shift) {
    for (size_t p = 0; p < pixels; p++) {
        float hsv[3], rgb[3];
        to_hsv(hsv, planar[p], planar[pixels + p], planar[2 * pixels + p]);
        float turned = hsv[0] + shift; /* -1/2 .. 3/2 */
        hsv[0] = turned < 0.0f ? turned + 1.0f : turned >= 1.0f ? turned - 1.0f : turned;
        from_hsv(rgb, hsv);
        for (size_t c = 0; c < 3; c++)
            planar[c * pixels + p] = rgb[c];
    }
}

void vg_jitter__apply(float *planar, size_t channels, size_t pixels, const vg_augment *augment, const vg_augment_draw *draw) {
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
