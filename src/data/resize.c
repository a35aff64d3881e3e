/* resize.c - antialiased resampling of one plane of bytes, with the triangle filter.
 *
 * The definition is that of Pillow's Image.resize with BILINEAR: an output pixel is a weighted mean of the source
 * pixels within max(scale, 1) of its centre, scale = source / output. Weights are normalised in double and rounded to
 * 22 bits. Rows are resampled across first, rounded to bytes, then resampled down. The bytes are Pillow's wherever it
 * takes the two steps in this order (before version 13 always), and within one level otherwise. Only the window that
 * is kept afterwards is computed. */
#include <math.h>
#include <string.h>

#include "data/image_file.h"

enum { PRECISION = 32 - 8 - 2 };

static uint8_t clip(int32_t sum) {
    sum >>= PRECISION;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static double triangle(double x) { return fabs(x) < 1.0 ? 1.0 - fabs(x) : 0.0; }

/* Computes the weights of results first .. first + count - 1 of `out`, made from `in` pixels. *taps receives the
 * number of weights allocated for each; bounds[2 i] is the first source pixel of result i, bounds[2 i + 1] its
 * number of weights. */
static vg_status prepare(vg_image_scratch *scratch, int axis, size_t in, size_t out, size_t first, size_t count,
                         size_t *taps) {
    double scale = (double)in / (double)out, filter = scale < 1.0 ? 1.0 : scale, inverse = 1.0 / filter;
    *taps = (size_t)ceil(filter) * 2 + 1;
    VG_TRY(vg_image__room(&scratch->weights[axis], &scratch->weights_room[axis], count * *taps * sizeof(int32_t),
                          "weights of a resampling"));
    VG_TRY(vg_image__room(&scratch->bounds[axis], &scratch->bounds_room[axis], 2 * count * sizeof(size_t),
                          "bounds of a resampling"));
    for (size_t i = 0; i < count; i++) {
        double centre = ((double)(first + i) + 0.5) * scale, low = centre - filter + 0.5, high = centre + filter + 0.5;
        size_t from = low > 0.0 ? (size_t)low : 0, end = high < (double)in ? (size_t)high : in, used = end - from;
        double sum = 0.0;
        for (size_t x = 0; x < used; x++)
            sum += triangle(((double)(x + from) - centre + 0.5) * inverse);
        int32_t *weights = scratch->weights[axis] + i * *taps;
        for (size_t x = 0; x < used; x++) {
            double weight = triangle(((double)(x + from) - centre + 0.5) * inverse);
            weights[x] = (int32_t)(0.5 + (sum != 0.0 ? weight / sum : weight) * (1 << PRECISION));
        }
        scratch->bounds[axis][2 * i] = from;
        scratch->bounds[axis][2 * i + 1] = used;
    }
    return VG_OK;
}

static void across(uint8_t *out, const uint8_t *row, size_t count, size_t taps, const vg_image_scratch *scratch) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = row + scratch->bounds[0][2 * i];
        const int32_t *weights = scratch->weights[0] + i * taps;
        size_t used = scratch->bounds[0][2 * i + 1];
        int32_t sum = 1 << (PRECISION - 1);
        for (size_t x = 0; x < used; x++)
            sum += from[x] * weights[x];
        out[i] = clip(sum);
    }
}

/* One row of results from `used` rows of `width` bytes. */
static void down(uint8_t *out, const uint8_t *from, size_t width, const int32_t *weights, size_t used) {
    enum { BLOCK = 256 };
    for (size_t start = 0; start < width; start += BLOCK) {
        size_t count = width - start < BLOCK ? width - start : BLOCK;
        int32_t sums[BLOCK];
        for (size_t x = 0; x < count; x++)
            sums[x] = 1 << (PRECISION - 1);
        for (size_t y = 0; y < used; y++)
            for (size_t x = 0; x < count; x++)
                sums[x] += from[y * width + start + x] * weights[y];
        for (size_t x = 0; x < count; x++)
            out[start + x] = clip(sums[x]);
    }
}

static void copy_window(uint8_t *out, const uint8_t *plane, size_t width, const vg_image_window *window) {
    for (size_t y = 0; y < window->height; y++)
        memcpy(out + y * window->width, plane + (window->top + y) * width + window->left, window->width);
}

/* Resamples rows first .. end - 1 of the plane horizontally (or crops them, where the width stays) into
 * scratch->rows. */
static vg_status make_rows(const uint8_t *plane, size_t width, const vg_image_window *window, size_t first, size_t end,
                           vg_image_scratch *scratch) {
    size_t taps = 0;
    VG_TRY(vg_image__room(&scratch->rows, &scratch->rows_room, (end - first) * window->width, "rows of an image"));
    if (window->resized_width != width)
        VG_TRY(prepare(scratch, 0, width, window->resized_width, window->left, window->width, &taps));
    for (size_t y = first; y < end; y++) {
        uint8_t *out = scratch->rows + (y - first) * window->width;
        if (window->resized_width != width)
            across(out, plane + y * width, window->width, taps, scratch);
        else
            memcpy(out, plane + y * width + window->left, window->width);
    }
    return VG_OK;
}

vg_status vg_image__resize(uint8_t *out, const uint8_t *plane, size_t height, size_t width,
                           const vg_image_window *window, vg_image_scratch *scratch) {
    size_t taps = 0;
    if (window->resized_height == height && window->resized_width == width) {
        copy_window(out, plane, width, window);
        return VG_OK;
    }
    if (window->resized_height == height) {
        VG_TRY(make_rows(plane, width, window, window->top, window->top + window->height, scratch));
        memcpy(out, scratch->rows, window->height * window->width);
        return VG_OK;
    }
    VG_TRY(prepare(scratch, 1, height, window->resized_height, window->top, window->height, &taps));
    const size_t *bounds = scratch->bounds[1], *last = bounds + 2 * (window->height - 1);
    size_t first = bounds[0];
    VG_TRY(make_rows(plane, width, window, first, last[0] + last[1], scratch));
    for (size_t i = 0; i < window->height; i++)
        down(out + i * window->width, scratch->rows + (bounds[2 * i] - first) * window->width, window->width,
             scratch->weights[1] + i * taps, bounds[2 * i + 1]);
    return VG_OK;
}
