/* dataset.c - a set of images in memory: creation, description, other shapes, and samples as normalised floats.
 *
 * Pixels are planar, [n][c][y][x], bytes or float32; labels int32. One allocation each. */
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vg_status vg_dataset__new(vg_dataset **out, const char *name, const vg_dataset_shape *shape) {
    size_t n = shape->n, channels = shape->channels, height = shape->height, width = shape->width, count;
    *out = NULL;
    if (n == 0 || channels == 0 || height == 0 || width == 0)
        return vg_base__fail(VG_ERR_DATA, "%s: holds no pixels (%zu images of %zu x %zu x %zu)", name, n, channels,
                             height, width);
    if (channels > VG_MAX_CHANNELS)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu channels, at most %d expected", name, channels, VG_MAX_CHANNELS);
    if (!vg_base__mul(&count, n, channels) || !vg_base__mul(&count, count, height) ||
        !vg_base__mul(&count, count, width))
        return vg_base__fail(VG_ERR_MEMORY, "%s: %zu images of %zu x %zu x %zu are too many to hold", name, n, channels,
                             height, width);
    vg_dataset *set;
    VG_TRY(vg_base__zalloc(&set, 1, sizeof *set, "a data set"));
    set->n = n, set->channels = channels, set->height = height, set->width = width, set->is_float = shape->is_float;
    vg_status status = vg_base__alloc(&set->pixels.any, count, shape->is_float ? sizeof(float) : 1, "images");
    if (status == VG_OK && shape->labelled)
        status = vg_base__alloc(&set->labels, n, sizeof *set->labels, "labels");
    if (status == VG_OK)
        status = vg_dataset__rename(set, name, name);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}

void vg_dataset_free(vg_dataset *set) {
    if (!set)
        return;
    if (set->class_names)
        for (size_t i = 0; i < set->classes; i++)
            vg_base__release(set->class_names[i]);
    vg_base__release(set->class_names);
    vg_base__release(set->name);
    vg_base__release(set->source);
    vg_base__release(set->pixels.any);
    vg_base__release(set->labels);
    for (size_t i = 0; set->files && i < set->n; i++)
        vg_base__release(set->files[i]);
    for (size_t i = 0; i < set->skipped_count; i++)
        vg_base__release(set->skipped[i]);
    vg_base__release(set->files);
    for (size_t i = 0; i < set->note_count; i++)
        vg_base__release(set->notes[i]);
    vg_base__release(set->skipped);
    vg_base__release(set->held);
    vg_base__release(set);
}

vg_status vg_dataset__note(vg_dataset *set, const char *text) {
    char line[1024];
    if (set->note_count == VG_DATASET_NOTES)
        return VG_OK;
    snprintf(line, sizeof line, "%.400s: %s", set->source, text);
    return vg_base__strdup(&set->notes[set->note_count++], line);
}

vg_status vg_dataset__rename(vg_dataset *set, const char *name, const char *source) {
    char *new_name, *new_source;
    VG_TRY(vg_base__strdup(&new_name, name));
    vg_status status = vg_base__strdup(&new_source, source);
    if (status != VG_OK) {
        vg_base__release(new_name);
        return status;
    }
    vg_base__release(set->name);
    vg_base__release(set->source);
    set->name = new_name, set->source = new_source;
    return VG_OK;
}

vg_status vg_dataset__name_classes(vg_dataset *set, const char *const *names, size_t count) {
    if (count != set->classes)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu class names for %zu classes", set->name, count, set->classes);
    VG_TRY(vg_base__zalloc(&set->class_names, count ? count : 1, sizeof *set->class_names, "class names"));
    for (size_t i = 0; i < count; i++)
        VG_TRY(vg_base__strdup(&set->class_names[i], names[i]));
    return VG_OK;
}

vg_status vg_dataset__settle_labels(vg_dataset *set, size_t classes) {
    int32_t largest = 0;
    for (size_t i = 0; i < set->n; i++) {
        int32_t label = set->labels[i];
        if (label < 0 || (classes > 0 && (size_t)label >= classes)) {
            if (classes > 0)
                return vg_base__fail(VG_ERR_DATA, "%s: label %d of sample %zu, expected 0..%zu", set->source,
                                     (int)label, i, classes - 1);
            return vg_base__fail(VG_ERR_DATA, "%s: label %d of sample %zu is negative", set->source, (int)label, i);
        }
        largest = label > largest ? label : largest;
    }
    set->classes = classes > 0 ? classes : (size_t)largest + 1;
    return VG_OK;
}

vg_status vg_dataset__from_memory(vg_dataset **out, const vg_dataset_images *images) {
    static const vg_dataset_images defaults = VG_DATASET_IMAGES_INIT;
    vg_dataset_images in;
    vg_dataset *set;
    *out = NULL;
    VG_TRY(vg_base__take_options(&in, images, &defaults, sizeof in, "vg_dataset_images"));
    if (!in.name || !in.pixels)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_dataset__from_memory: name and pixels must not be NULL");
    vg_dataset_shape shape = {in.n, in.channels, in.height, in.width, in.is_float != 0, in.labels != NULL};
    VG_TRY(vg_dataset__new(&set, in.name, &shape));
    memcpy(set->pixels.any, in.pixels, in.n * vg_dataset__image(set) * (in.is_float ? sizeof(float) : 1));
    vg_status status = VG_OK;
    if (in.labels) {
        memcpy(set->labels, in.labels, in.n * sizeof *in.labels);
        status = vg_dataset__settle_labels(set, in.classes);
    }
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}

vg_dataset_info vg_dataset__info(const vg_dataset *set) {
    return (vg_dataset_info){.struct_size = sizeof(vg_dataset_info),
                             .name = set->name,
                             .source = set->source,
                             .class_names = (const char *const *)set->class_names,
                             .n = set->n,
                             .channels = set->channels,
                             .height = set->height,
                             .width = set->width,
                             .classes = set->labels ? set->classes : 0,
                             .is_float = set->is_float,
                             .verified = set->verified,
                             .pixels = set->pixels.any,
                             .labels = set->labels,
                             .files = (const char *const *)set->files,
                             .skipped = (const char *const *)set->skipped,
                             .skipped_count = set->skipped_count,
                             .notes = (const char *const *)set->notes,
                             .note_count = set->note_count};
}

vg_status vg_dataset_describe(vg_dataset_info *out, const vg_dataset *set) {
    if (!out || !set)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_dataset_describe: out and set must not be NULL");
    vg_dataset_info info = vg_dataset__info(set);
    return vg_base__give_result(out, &info, sizeof info, "vg_dataset_info");
}

const int32_t *vg_dataset__labels(const vg_dataset *set) { return set->labels; }

const void *vg_dataset__pixels(const vg_dataset *set) { return set->pixels.any; }

vg_status vg_dataset__check_indices(const vg_dataset *set, const size_t *indices, size_t count) {
    if (!indices && count != set->n)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples asked for without indices, it holds %zu", set->name,
                             count, set->n);
    for (size_t i = 0; indices && i < count; i++)
        if (indices[i] >= set->n)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: index %zu (number %zu) is beyond its %zu samples", set->name,
                                 indices[i], i, set->n);
    return VG_OK;
}

/* Copies one image of `from` into the centre of one of `to`, which is zero; grey is copied to every channel. */
static void place_image(vg_dataset *to, const vg_dataset *from, size_t n) {
    size_t element = from->is_float ? sizeof(float) : 1;
    size_t top = (to->height - from->height) / 2, left = (to->width - from->width) / 2;
    for (size_t c = 0; c < to->channels; c++) {
        size_t source_plane = n * from->channels + (from->channels == 1 ? 0 : c);
        for (size_t y = 0; y < from->height; y++) {
            size_t source = (source_plane * from->height + y) * from->width;
            size_t target = ((n * to->channels + c) * to->height + top + y) * to->width + left;
            memcpy((char *)to->pixels.any + target * element, (const char *)from->pixels.any + source * element,
                   from->width * element);
        }
    }
}

vg_status vg_dataset__adapt(vg_dataset **out, const vg_dataset *set, size_t channels, size_t height, size_t width) {
    *out = NULL;
    bool fits = set->channels == channels || (set->channels == 1 && channels == 3);
    if (!set->pixels.any)
        return vg_base__fail(VG_ERR_DATA, "%s: images of %zux%zux%zu, %zux%zux%zu expected; set resize and channels",
                             set->name, set->channels, set->height, set->width, channels, height, width);
    if (!fits || set->height > height || set->width > width)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: images of %zux%zu with %zu channel%s cannot become %zux%zu with %zu without loss (grey can become "
            "RGB, small images are centred on black)",
            set->name, set->height, set->width, set->channels, set->channels == 1 ? "" : "s", height, width, channels);
    vg_dataset *made;
    vg_dataset_shape shape = {set->n, channels, height, width, set->is_float, set->labels != NULL};
    VG_TRY(vg_dataset__new(&made, set->name, &shape));
    memset(made->pixels.any, 0, set->n * vg_dataset__image(made) * (set->is_float ? sizeof(float) : 1));
    for (size_t n = 0; n < set->n; n++)
        place_image(made, set, n);
    if (set->labels)
        memcpy(made->labels, set->labels, set->n * sizeof *set->labels);
    made->classes = set->classes;
    made->verified = set->verified;
    vg_status status = vg_dataset__rename(made, set->name, set->source);
    if (status == VG_OK && set->class_names)
        status = vg_dataset__name_classes(made, (const char *const *)set->class_names, set->classes);
    if (status != VG_OK) {
        vg_dataset_free(made);
        return status;
    }
    *out = made;
    return VG_OK;
}

/* The values of one image: bytes through the table of their channel, floats by mean and deviation. */
static void fill_image(float *out, const vg_dataset *set, const void *image, float (*table)[256],
                       const vg_statistics *statistics, vg_layout layout) {
    size_t plane = set->height * set->width, step = layout == VG_LAYOUT_NHWC ? set->channels : 1;
    for (size_t c = 0; c < set->channels; c++) {
        double mean = statistics ? statistics->mean[c] : 0.0, std = statistics ? statistics->std[c] : 1.0;
        float *to = out + (layout == VG_LAYOUT_NHWC ? c : c * plane);
        if (set->is_float)
            for (size_t p = 0; p < plane; p++)
                to[p * step] = (float)(((double)((const float *)image)[c * plane + p] - mean) / std);
        else
            for (size_t p = 0; p < plane; p++)
                to[p * step] = table[c][((const uint8_t *)image)[c * plane + p]];
    }
}

vg_status vg_dataset__fill(float *out, const vg_dataset *set, const size_t *indices, size_t count,
                           const vg_statistics *statistics, vg_layout layout) {
    if (indices)
        VG_TRY(vg_dataset__check_indices(set, indices, count));
    else if (count > set->n)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples asked for, it holds %zu", set->name, count, set->n);
    if (statistics && statistics->channels != set->channels)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: statistics of %zu channels for images of %zu", set->name,
                             statistics->channels, set->channels);
    size_t image = vg_dataset__image(set);
    float table[VG_MAX_CHANNELS][256];
    vg_image_scratch scratch = {0};
    uint8_t *decoded = NULL;
    vg_status status = VG_OK;
    for (size_t c = 0; c < set->channels; c++)
        for (unsigned b = 0; b < 256; b++)
            table[c][b] = (float)((b / 255.0 - (statistics ? statistics->mean[c] : 0.0)) /
                                  (statistics ? statistics->std[c] : 1.0));
    if (!set->pixels.any)
        VG_TRY(vg_base__alloc(&decoded, image, 1, "an image"));
    for (size_t i = 0; i < count && status == VG_OK; i++) {
        size_t index = indices ? indices[i] : i;
        const uint8_t *bytes = NULL;
        if (!set->is_float)
            status = vg_dataset__bytes(&bytes, set, index, decoded, &scratch);
        const void *from = set->is_float ? (const void *)(set->pixels.floats + index * image) : bytes;
        if (status == VG_OK)
            fill_image(out + i * image, set, from, table, statistics, layout);
    }
    vg_image__release(&scratch);
    vg_base__release(decoded);
    return status;
}
