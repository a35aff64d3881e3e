/* augment.c - random crop, flip and erasing, and the processing of one sample.
 *
 *     stored pixels -> reflect-pad crop -> flip -> colour jitter -> (x - mean) / std -> random erasing -> layout
 *
 * Crop: pad p pixels by reflection (the border row is not repeated: -1 is 1), cut at one of (2p + 1)^2 offsets. Erasing
 * as torchvision's RandomErasing: up to ten tries of an area of 2..33 % and a ratio of 0.3..3.3 on a log scale; the
 * rectangle, if one fits, becomes 0 after normalisation, that is the mean. Draws come from Philox (seed, stream =
 * index, position from epoch). */
#include "data/augment.h"

#include <math.h>
#include <string.h>

/* Separates these draws from all others that use the seed of the run. */
static const uint64_t augment_domain = 0x6175676d656e7421ULL;
/* Random words reserved for one sample of one epoch; at most 110 are drawn. */
enum { EPOCH_SHIFT = 9 };

static double between(vg_random *random, double low, double high) {
    return low + (high - low) * vg_random__unit(random);
}

/* torchvision.transforms.RandomErasing.get_params, default scale and ratio. */
static void draw_rectangle(vg_augment_draw *draw, vg_random *random, size_t height, size_t width) {
    double area = (double)height * (double)width;
    draw->erase = false;
    for (int attempt = 0; attempt < 10; attempt++) {
        double part = area * between(random, 0.02, 0.33);
        double ratio = exp(between(random, log(0.3), log(3.3)));
        size_t h = (size_t)lrint(sqrt(part * ratio)), w = (size_t)lrint(sqrt(part / ratio));
        if (h >= height || w >= width)
            continue;
        draw->erase = true;
        draw->height = h, draw->width = w;
        draw->top = (size_t)vg_random__below(random, height - h + 1);
        draw->left = (size_t)vg_random__below(random, width - w + 1);
        return;
    }
}

static void draw_jitter(vg_augment_draw *draw, vg_random *random, const vg_augment *augment) {
    size_t order[4] = {0, 1, 2, 3};
    const double strength[3] = {augment->brightness, augment->contrast, augment->saturation};
    vg_random__shuffle(random, order, 4);
    for (int i = 0; i < 4; i++)
        draw->order[i] = (unsigned char)order[i];
    for (int i = 0; i < 3; i++)
        draw->factor[i] = between(random, fmax(0.0, 1.0 - strength[i]), 1.0 + strength[i]);
    draw->factor[3] = between(random, -augment->hue, augment->hue);
}

vg_augment_draw vg_augment__draw(const vg_augment *augment, uint64_t seed, uint64_t epoch, size_t index, size_t height,
                                 size_t width) {
    vg_augment_draw draw = {0};
    uint64_t start = epoch << EPOCH_SHIFT;
    /* Each setting draws from its own range of the sample's words, so that switching one on does not change the
     * others. */
    vg_random random = vg_random__at(seed ^ augment_domain, index, start);
    if (augment->crop_pad > 0) {
        uint64_t places = 2 * (uint64_t)augment->crop_pad + 1;
        draw.dy = (ptrdiff_t)vg_random__below(&random, places) - (ptrdiff_t)augment->crop_pad;
        draw.dx = (ptrdiff_t)vg_random__below(&random, places) - (ptrdiff_t)augment->crop_pad;
    }
    vg_random__jump(&random, start + 64);
    if (augment->flip > 0)
        draw.flip = vg_random__unit(&random) < augment->flip;
    vg_random__jump(&random, start + 128);
    if (vg_augment__jitters(augment))
        draw_jitter(&draw, &random, augment);
    vg_random__jump(&random, start + 256);
    if (augment->erase > 0 && vg_random__unit(&random) < augment->erase)
        draw_rectangle(&draw, &random, height, width);
    return draw;
}

vg_status vg_augment__check(const vg_augment *augment, const vg_dataset *set) {
    if (!(augment->flip >= 0 && augment->flip <= 1) || !(augment->erase >= 0 && augment->erase <= 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "augmentation: flip %g and erase %g are probabilities, expected 0..1",
                             augment->flip, augment->erase);
    if (!(augment->brightness >= 0) || !(augment->contrast >= 0) || !(augment->saturation >= 0) ||
        augment->brightness > 1e3 || augment->contrast > 1e3 || augment->saturation > 1e3)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "augmentation: brightness %g, contrast %g, saturation %g, expected at least 0",
                             augment->brightness, augment->contrast, augment->saturation);
    if (!(augment->hue >= 0 && augment->hue <= 0.5))
        return vg_base__fail(VG_ERR_ARGUMENT, "augmentation: hue %g, expected 0..0.5", augment->hue);
    if (augment->crop_pad >= set->height || augment->crop_pad >= set->width)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "augmentation: a reflected border of %u pixels needs images larger than %s's %zux%zu",
                             augment->crop_pad, set->name, set->height, set->width);
    if (!vg_augment__jitters(augment))
        return VG_OK;
    if (set->channels != 1 && set->channels != 3)
        return vg_base__fail(VG_ERR_ARGUMENT, "augmentation: colour jitter needs 1 or 3 channels, %s has %zu",
                             set->name, set->channels);
    size_t count = set->n * vg_dataset__image(set);
    for (size_t i = 0; set->is_float && i < count; i++)
        if (!(set->pixels.floats[i] >= 0.0f && set->pixels.floats[i] <= 1.0f))
            return vg_base__fail(VG_ERR_ARGUMENT, "augmentation: colour jitter needs pixels in 0..1, %s holds %g",
                                 set->name, (double)set->pixels.floats[i]);
    return VG_OK;
}

void vg_sample__plan(vg_sample_plan *plan, const vg_dataset *set, const vg_augment *augment,
                     const vg_statistics *statistics, vg_layout layout, uint64_t seed) {
    memset(plan, 0, sizeof *plan);
    plan->set = set, plan->augment = *augment, plan->statistics = *statistics, plan->layout = layout, plan->seed = seed;
    for (unsigned b = 0; b < 256; b++)
        plan->raw[b] = (float)(b / 255.0);
    for (size_t c = 0; c < set->channels; c++) {
        if (statistics->channels == 0)
            plan->statistics.mean[c] = 0.0, plan->statistics.std[c] = 1.0;
        for (unsigned b = 0; b < 256; b++)
            plan->table[c][b] = (float)((b / 255.0 - plan->statistics.mean[c]) / plan->statistics.std[c]);
    }
}

static size_t reflect(ptrdiff_t at, size_t size) {
    ptrdiff_t last = (ptrdiff_t)size - 1;
    if (at < 0)
        at = -at;
    return (size_t)(at > last ? 2 * last - at : at);
}

vg_status vg_sample__scratch(vg_sample_scratch *out, const vg_dataset *set) {
    *out = (vg_sample_scratch){0};
    VG_TRY(vg_base__alloc(&out->image, vg_dataset__image(set), sizeof *out->image, "a worker's image"));
    if (!set->pixels.any)
        VG_TRY(vg_base__alloc(&out->bytes, vg_dataset__image(set), 1, "a worker's image"));
    return vg_base__alloc(&out->columns, set->width, sizeof *out->columns, "a worker's columns");
}

void vg_sample__release(vg_sample_scratch *scratch) {
    vg_base__release(scratch->image);
    vg_base__release(scratch->columns);
    vg_base__release(scratch->bytes);
    vg_image__release(&scratch->decoder);
}

/* Where an image is written: pixel (c, y, x) to values[c * plane_step + (y * width + x) * step]. */
typedef struct image_place {
    float *values;
    size_t plane_step, step;
} image_place;

/* Writes the crop of an image, C * H * W bytes or floats. Bytes go through the table of the channel; `raw`: to 0..1,
 * because jitter follows. */
static void crop(image_place to_image, const vg_sample_plan *plan, uint32_t *columns, const vg_augment_draw *draw,
                 const void *image, bool raw) {
    const vg_dataset *set = plan->set;
    size_t width = set->width, step = to_image.step;
    for (size_t x = 0; x < width; x++)
        columns[x] = (uint32_t)reflect((ptrdiff_t)(draw->flip ? width - 1 - x : x) + draw->dx, width);
    for (size_t c = 0; c < set->channels; c++) {
        const float *table = raw ? plan->raw : plan->table[c];
        double mean = raw ? 0.0 : plan->statistics.mean[c], std = raw ? 1.0 : plan->statistics.std[c];
        for (size_t y = 0; y < set->height; y++) {
            size_t row = reflect((ptrdiff_t)y + draw->dy, set->height);
            size_t offset = (c * set->height + row) * width;
            float *to = to_image.values + c * to_image.plane_step + y * width * step;
            if (set->is_float)
                for (size_t x = 0; x < width; x++)
                    to[x * step] = (float)(((double)((const float *)image)[offset + columns[x]] - mean) / std);
            else
                for (size_t x = 0; x < width; x++)
                    to[x * step] = table[((const uint8_t *)image)[offset + columns[x]]];
        }
    }
}

static void erase(image_place image, const vg_dataset *set, const vg_augment_draw *draw) {
    for (size_t c = 0; c < set->channels; c++)
        for (size_t y = draw->top; y < draw->top + draw->height; y++)
            for (size_t x = draw->left; x < draw->left + draw->width; x++)
                image.values[c * image.plane_step + (y * set->width + x) * image.step] = 0.0f;
}

/* Crops into the scratch image, applies the colour jitter there, and writes the result normalised. */
static void make_jittered(image_place out, const vg_sample_scratch *scratch, const vg_sample_plan *plan,
                          const vg_augment_draw *draw, const void *image) {
    const vg_dataset *set = plan->set;
    size_t pixels = set->height * set->width;
    crop((image_place){scratch->image, pixels, 1}, plan, scratch->columns, draw, image, true);
    vg_jitter__apply(scratch->image, set->channels, pixels, &plan->augment, draw);
    for (size_t c = 0; c < set->channels; c++) {
        const float *plane = scratch->image + c * pixels;
        double mean = plan->statistics.mean[c], scale = 1.0 / plan->statistics.std[c];
        for (size_t p = 0; p < pixels; p++)
            out.values[c * out.plane_step + p * out.step] = (float)(((double)plane[p] - mean) * scale);
    }
}

vg_status vg_sample__make(float *out, vg_sample_scratch *scratch, const vg_sample_plan *plan, uint64_t epoch,
                          size_t index) {
    const vg_dataset *set = plan->set;
    bool channels_last = plan->layout == VG_LAYOUT_NHWC;
    image_place image = {out, channels_last ? 1 : set->height * set->width, channels_last ? set->channels : 1};
    const uint8_t *bytes = NULL;
    if (!set->is_float)
        VG_TRY(vg_dataset__bytes(&bytes, set, index, scratch->bytes, &scratch->decoder));
    const void *stored = set->is_float ? (const void *)(set->pixels.floats + index * vg_dataset__image(set)) : bytes;
    vg_augment_draw draw = vg_augment__draw(&plan->augment, plan->seed, epoch, index, set->height, set->width);
    if (vg_augment__jitters(&plan->augment))
        make_jittered(image, scratch, plan, &draw, stored);
    else
        crop(image, plan, scratch->columns, &draw, stored, false);
    if (draw.erase)
        erase(image, set, &draw);
    return VG_OK;
}
