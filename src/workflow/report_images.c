/* report_images.c - images and class names of a report's samples. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/samples.h"
#include "vargate/formats.h"
#include "workflow/report_files.h"
#include "workflow/training_data.h"

static vg_status open_set(vg_dataset **out, const vg_report_image_request *request) {
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    char path[4200];
    if (request->recipe)
        options = vg_training_data__options(request->recipe, NULL);
    options.folder = request->folder;
    if (request->resize[0])
        memcpy(options.resize, request->resize, sizeof options.resize);
    if (strncmp(request->name, "path:", 5) == 0 || vg_data_find(request->name, NULL))
        return vg_dataset_open(out, request->name, request->part, &options);
    int length = snprintf(path, sizeof path, "path:%s", request->name);
    if (length <= 0 || (size_t)length >= sizeof path)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the name is too long", request->name);
    return vg_dataset_open(out, path, request->part, &options);
}

/* Where both have labels they must agree: otherwise these are other images, or in another order. */
static bool labels_agree(const vg_report_images *images, size_t n, const int64_t *labels) {
    const int32_t *own = vg_dataset__labels(images->set);
    for (size_t i = 0; own && labels && i < n; i++) {
        if (own[images->indices ? images->indices[i] : i] != labels[i])
            return false;
    }
    return true;
}

static vg_status check_fit(vg_report_images *images, const vg_report_image_request *request) {
    size_t count = images->info.n, limit = request->limit;
    if (limit && limit < count)
        VG_TRY(vg_dataset__limit(&images->indices, &count, images->set, NULL, 0, limit, request->seed));
    if (request->class_names && images->info.labels && images->info.class_names) /* numbered as the predictions' */
        VG_TRY(vg_dataset__map_classes(images->set, request->class_names, request->classes));
    if (images->info.channels != 1 && images->info.channels != 3)
        return vg_base__fail(VG_ERR_DATA, "the images are neither grey nor RGB");
    if (count != request->n)
        return vg_base__fail(VG_ERR_DATA, "the set holds another number of images");
    if (!labels_agree(images, request->n, request->labels))
        return vg_base__fail(VG_ERR_DATA, "its labels are not those of the predictions");
    return VG_OK;
}

/* Images of an array of numbers: (N, H, W), (N, H, W, C) or (N, C, H, W) with one or three channels. */
static vg_status open_array(vg_report_images *images, const vg_report_image_request *request) {
    vg_array_info array;
    VG_TRY(vg_source__open(&images->array, request->name));
    VG_TRY(vg_source__info(images->array, 0, &array));
    const size_t *shape = array.shape;
    bool four = array.rank == 4, first = four && (shape[1] == 1 || shape[1] == 3);
    images->channels_last = four && !first;
    if (array.rank < 3 || array.rank > 4 || array.count == 0 || (four && !first && shape[3] != 1 && shape[3] != 3))
        return vg_base__fail(VG_ERR_DATA, "images are (N, H, W), or (N, H, W, C) or (N, C, H, W) of 1 or 3 channels");
    if (shape[0] != request->n)
        return vg_base__fail(VG_ERR_DATA, "%zu images, but the predictions are of %zu", shape[0], request->n);
    images->whole = array.element != VG_ELEMENT_F32 && array.element != VG_ELEMENT_F64 &&
                    array.element != VG_ELEMENT_F16 && array.element != VG_ELEMENT_BF16;
    images->info = (vg_dataset_info){.name = request->name,
                                     .n = shape[0],
                                     .channels = !four   ? 1
                                                 : first ? shape[1]
                                                         : shape[3],
                                     .height = shape[first ? 2 : 1],
                                     .width = shape[first ? 3 : 2]};
    return VG_OK;
}

static vg_status array_pixels(const vg_report_images *images, size_t sample, uint8_t *pixels) {
    size_t plane = images->info.height * images->info.width, channels = images->info.channels;
    double *values;
    VG_TRY(vg_base__alloc(&values, channels * plane, sizeof *values, "an image"));
    vg_status status = vg_source__read_f64(images->array, 0, sample, 1, values);
    for (size_t i = 0; i < channels * plane && status == VG_OK; i++) {
        size_t from = images->channels_last ? i % plane * channels + i / plane : i;
        double value = images->whole ? values[from] : 255 * values[from] + 0.5;
        pixels[i] = (uint8_t)(value > 255 ? 255 : value > 0 ? value : 0);
    }
    vg_base__release(values);
    return status;
}

vg_status vg_report_images__open(vg_report_images *images, const vg_report_image_request *request) {
    size_t length = strlen(request->name);
    *images = (vg_report_images){0};
    if (length > 4 && strcmp(request->name + length - 4, ".npy") == 0) {
        vg_status status = open_array(images, request);
        if (status != VG_OK)
            vg_report_images__close(images);
        return status;
    }
    VG_TRY(open_set(&images->set, request));
    images->info = vg_dataset__info(images->set);
    vg_status status = check_fit(images, request);
    images->info = vg_dataset__info(images->set);
    if (status != VG_OK)
        vg_report_images__close(images);
    return status;
}

void vg_report_images__close(vg_report_images *images) {
    vg_indices__free(images->indices);
    vg_dataset_free(images->set);
    vg_source__close(images->array);
    *images = (vg_report_images){0};
}

vg_status vg_report_images__pixels(void *context, size_t sample, uint8_t *pixels) {
    const vg_report_images *images = context;
    size_t size = images->info.channels * images->info.height * images->info.width;
    size_t index = images->indices ? images->indices[sample] : sample;
    if (images->array)
        return array_pixels(images, index, pixels);
    const void *all = vg_dataset__pixels(images->set);
    if (!all) {
        vg_dataset *one;
        VG_TRY(vg_dataset__gather(&one, images->set, &index, 1, 1));
        memcpy(pixels, vg_dataset__pixels(one), size);
        vg_dataset_free(one);
        return VG_OK;
    }
    if (!images->info.is_float) {
        memcpy(pixels, (const uint8_t *)all + index * size, size);
        return VG_OK;
    }
    for (size_t i = 0; i < size; i++) {
        float value = ((const float *)all)[index * size + i];
        pixels[i] = (uint8_t)(value > 1 ? 255 : value > 0 ? 255 * value + 0.5f : 0);
    }
    return VG_OK;
}

static char *copy_part(const char *from, size_t length) {
    char *name = malloc(length + 1);
    if (name) {
        memcpy(name, from, length);
        name[length] = '\0';
    }
    return name;
}

static char *read_text(const char *path) {
    enum { ROOM = 1 << 22 };
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(ROOM) : NULL;
    if (text)
        text[fread(text, 1, ROOM - 1, file)] = '\0';
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

vg_status vg_report_names__read(char ***out, size_t classes, const char *text) {
    char *file = strchr(text, ',') ? NULL : read_text(text);
    const char *at = file ? file : text, *ends = file ? "\r\n" : ",";
    char **names = calloc(classes, sizeof *names);
    size_t count = 0;
    bool failed = !names;
    while (*at && !failed) {
        size_t length = strcspn(at, ends);
        if (length > 0 || !file) {
            if (count < classes)
                failed = !(names[count] = copy_part(at, length));
            count++;
        }
        at += length;
        at += strspn(at, ends) > 0 && !file ? 1 : strspn(at, ends);
    }
    free(file);
    *out = names;
    if (!failed && count == classes)
        return VG_OK;
    vg_report_names__free(names, classes);
    *out = NULL;
    if (failed)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the class names");
    return vg_base__fail(VG_ERR_DATA, "--class-names: %zu names for %zu classes", count, classes);
}

vg_status vg_report_names__copy(char ***out, const char *const *names, size_t count) {
    *out = NULL;
    if (!names)
        return VG_OK;
    char **copy = calloc(count ? count : 1, sizeof *copy);
    bool failed = !copy;
    for (size_t i = 0; i < count && !failed; i++)
        failed = !(copy[i] = strdup(names[i]));
    if (failed) {
        vg_report_names__free(copy, count);
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for names of classes or samples");
    }
    *out = copy;
    return VG_OK;
}

void vg_report_names__free(char **names, size_t classes) {
    for (size_t c = 0; names && c < classes; c++)
        free(names[c]);
    free(names);
}
