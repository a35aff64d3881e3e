/* images_npz.c - images and labels as NumPy arrays, for users' own sets and for SVHN.
 *
 *     one part     images, labels
 *     two parts    train_images, train_labels, test_images, test_labels     or     x_train, y_train, x_test, y_test
 *
 * images: (N, H, W), (N, H, W, C) or (N, C, H, W); of the last two, the channels are the last axis unless the second is
 * shorter. Unsigned bytes, or other integers all in 0..255, are bytes (b stands for b / 255). Booleans are 0.0 and 1.0,
 * floats are taken as they are and must be finite. labels: N whole numbers >= 0, in (N) or (N, 1), or N texts, whose
 * sorted values are the classes; they may be missing. classes: names of the classes in the order of the numbers; it may
 * be missing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "data/dataset.h"
#include "formats/source.h"

enum { CHUNK = 64 };

typedef struct shape {
    size_t n, channels, height, width;
    bool planar; /* the file's axes are N, C, H, W already */
} shape;

static bool find(vg_source *source, const char *name, size_t *index, vg_array_info *info) {
    for (size_t i = 0; i < vg_source__count(source); i++)
        if (vg_source__info(source, i, info) == VG_OK && strcmp(info->name, name) == 0) {
            *index = i;
            return true;
        }
    return false;
}

/* Names of (images, labels) for a part, most preferred first. */
static const char *const names[3][2][2] = {{{"train_images", "train_labels"}, {"x_train", "y_train"}},
                                           {{"test_images", "test_labels"}, {"x_test", "y_test"}},
                                           {{"images", "labels"}, {"x", "y"}}};

/* Picks the arrays of `part`. Row 2 of the names is that of files with a single part. */
static vg_status pick(vg_source *source, const char *path, vg_part part, size_t *images, vg_array_info *info,
                      const char **labels_name) {
    static const int tried[3][3] = {{0, 2, -1}, {1, 2, -1}, {1, 2, 0}};
    for (int t = 0; t < 3 && tried[part][t] >= 0; t++)
        for (int spelling = 0; spelling < 2; spelling++) {
            const char *const *pair = names[tried[part][t]][spelling];
            if (!find(source, pair[0], images, info))
                continue;
            /* A file without train and test in its names has one part. It cannot serve as both, because the test set
             * would be the training set. */
            if (tried[part][t] == 2 && part == VG_PART_TEST)
                return vg_base__fail(
                    VG_ERR_ARGUMENT,
                    "%s: has one part only, so no test part beside its training part; store test_images and "
                    "test_labels in it, or train.npz and test.npz in one folder",
                    path);
            *labels_name = pair[1];
            return VG_OK;
        }
    return vg_base__fail(VG_ERR_FORMAT, "%s: no array named '%s' (or '%s')", path, names[part][0][0], names[2][0][0]);
}

static vg_status settle_shape(shape *out, const vg_array_info *info, const char *path) {
    if (info->rank != 3 && info->rank != 4)
        return vg_base__fail(VG_ERR_FORMAT, "%s: '%s' has %zu axes, expected (N,H,W), (N,H,W,C) or (N,C,H,W)", path,
                             info->name, info->rank);
    out->n = info->shape[0];
    out->planar = info->rank == 3 || info->shape[1] < info->shape[3];
    out->channels = info->rank == 3 ? 1 : out->planar ? info->shape[1] : info->shape[3];
    out->height = info->shape[info->rank == 4 && out->planar ? 2 : 1];
    out->width = info->shape[info->rank == 4 && out->planar ? 3 : 2];
    return VG_OK;
}

/* Copies one plane of an image whose pixels are `step` apart in the file. False, with the value in *bad, for a value
 * that cannot be stored. */
static bool place_plane(vg_dataset *set, size_t target, const float *from, size_t step, size_t plane, float *bad) {
    for (size_t p = 0; p < plane; p++) {
        float value = from[p * step];
        *bad = value;
        if (set->is_float) {
            if (!isfinite(value))
                return false;
            set->pixels.floats[target + p] = value;
        } else {
            if (!(value >= 0.0f && value <= 255.0f))
                return false;
            set->pixels.bytes[target + p] = (uint8_t)value;
        }
    }
    return true;
}

/* Copies a chunk of images in the file's order of axes into the set. */
static vg_status place(vg_dataset *set, const shape *s, size_t first, size_t rows, const float *chunk,
                       const char *path) {
    size_t plane = s->height * s->width, image = plane * s->channels;
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < s->channels; c++) {
            const float *from = chunk + i * image + (s->planar ? c * plane : c);
            float bad = 0.0f;
            if (!place_plane(set, (first + i) * image + c * plane, from, s->planar ? 1 : s->channels, plane, &bad))
                return vg_base__fail(VG_ERR_DATA, "%s: image %zu holds %g, expected %s", path, first + i, (double)bad,
                                     set->is_float ? "finite values" : "integers in 0..255 (or floats)");
        }
    return VG_OK;
}

static vg_status read_images(vg_dataset *set, vg_source *source, size_t index, const shape *s, const char *path) {
    float *chunk;
    VG_TRY(vg_base__alloc(&chunk, CHUNK * vg_dataset__image(set), sizeof *chunk, "a chunk of images"));
    vg_status status = VG_OK;
    for (size_t first = 0; status == VG_OK && first < set->n; first += CHUNK) {
        size_t rows = set->n - first < CHUNK ? set->n - first : CHUNK;
        status = vg_source__read_f32(source, index, first, rows, chunk);
        if (status == VG_OK)
            status = place(set, s, first, rows, chunk, path);
        vg_source__drop(source, index, first);
    }
    vg_base__release(chunk);
    return status;
}

static vg_status read_labels(vg_dataset *set, vg_source *source, size_t index, const vg_array_info *info,
                             size_t classes, const char *path) {
    if (info->count != set->n || info->shape[0] != set->n)
        return vg_base__fail(VG_ERR_FORMAT, "%s: '%s' holds %zu values for %zu images, expected one each", path,
                             info->name, info->count, set->n);
    int64_t *wide;
    VG_TRY(vg_base__alloc(&wide, set->n, sizeof *wide, "labels"));
    vg_status status = vg_source__read_i64(source, index, 0, set->n, wide);
    for (size_t i = 0; status == VG_OK && i < set->n; i++) {
        if (wide[i] < 0 || wide[i] > 1000000)
            status = vg_base__fail(VG_ERR_DATA, "%s: label %lld of sample %zu, expected 0..1000000", path,
                                   (long long)wide[i], i);
        set->labels[i] = (int32_t)wide[i];
    }
    vg_base__release(wide);
    VG_TRY(status);
    return vg_dataset__settle_labels(set, classes);
}

/* --- names */

/* An array of texts in the file: labels that are names, or the names of classes. */
typedef struct text_array {
    const char *const *items; /* borrowed from `strings`; NULL: the file has none */
    size_t count;
    vg_strings strings;
} text_array;

/* Padding with spaces is not part of a text. */
static void cut_spaces(char *text) {
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
}

/* Reads array `name` of NumPy's str_ or bytes_ type, of shape (N) or (N, 1); items is NULL when there is none. */
static vg_status read_texts(text_array *out, vg_source *source, const char *name) {
    *out = (text_array){0};
    for (size_t i = source->count; i < source->count + source->text_count; i++) {
        const vg_stored *array = &source->arrays[i]; /* its last axis runs over the characters */
        if (strcmp(array->name, name) != 0)
            continue;
        if (array->rank != 2)
            return vg_base__fail(VG_ERR_FORMAT, "%s: '%.100s' is a single text, expected a list", source->path, name);
        VG_TRY(vg_source__texts(source, i, &out->strings));
        for (size_t k = 0; k < out->strings.count; k++)
            cut_spaces(out->strings.bytes + out->strings.starts[k]);
        out->count = out->strings.count;
        return vg_strings__list(&out->strings, &out->items);
    }
    return VG_OK;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Numbers labels that are texts: their distinct values, sorted by bytes, are the classes. */
static vg_status number_texts(vg_dataset *set, const text_array *labels, const char *path) {
    const char **names;
    size_t classes = 0;
    if (labels->count != set->n)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu labels for %zu images, expected one each", path, labels->count,
                             set->n);
    VG_TRY(vg_base__alloc(&names, set->n, sizeof *names, "class names"));
    memcpy(names, labels->items, set->n * sizeof *names);
    qsort(names, set->n, sizeof *names, by_bytes);
    for (size_t i = 0; i < set->n; i++)
        if (classes == 0 || strcmp(names[classes - 1], names[i]) != 0)
            names[classes++] = names[i];
    for (size_t i = 0; i < set->n; i++) {
        const char **at = bsearch(&labels->items[i], names, classes, sizeof *names, by_bytes);
        set->labels[i] = (int32_t)(at - names);
    }
    set->classes = classes;
    vg_status status = vg_dataset__name_classes(set, names, classes);
    vg_base__release(names);
    return status;
}

/* Takes names for labels that are numbers, where the file has at least as many as there are classes. */
static vg_status take_names(vg_dataset *set, const text_array *names, const char *path) {
    if (names->count < set->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: 'classes' names %zu classes, but the labels reach %zu", path,
                             names->count, set->classes - 1);
    for (size_t c = 0; c < names->count; c++)
        if (vg_names__find(names->items, c, names->items[c]) < c)
            return vg_base__fail(VG_ERR_DATA, "%s: 'classes' names '%.100s' twice", path, names->items[c]);
    set->classes = names->count;
    return vg_dataset__name_classes(set, names->items, names->count);
}

static vg_status read_text_labels(vg_dataset *set, const text_array *texts, vg_source *source, const char *name,
                                  const char *path) {
    if (texts->items)
        return number_texts(set, texts, path);
    size_t index;
    return vg_source__find(source, name, &index); /* fails with the reason */
}

static vg_status name_numbers(vg_dataset *set, vg_source *source, const char *path) {
    text_array names;
    vg_status status = read_texts(&names, source, "classes");
    if (status == VG_OK && names.items)
        status = take_names(set, &names, path);
    vg_strings__free(&names.strings);
    return status;
}

/* The arrays of one part. */
typedef struct part_arrays {
    size_t images, labels; /* indices of arrays */
    vg_array_info images_info, labels_info;
    const char *labels_name;
    shape shape;
    bool has_numbers; /* labels are numbers */
    bool
        has_unread; /* the file has labels but they cannot be read (texts, until `texts` holds them; pickled objects) */
    text_array texts; /* labels that are texts */
} part_arrays;

static vg_status find_arrays(part_arrays *p, vg_source *source, const char *path, vg_part part) {
    VG_TRY(pick(source, path, part, &p->images, &p->images_info, &p->labels_name));
    VG_TRY(settle_shape(&p->shape, &p->images_info, path));
    p->has_numbers = find(source, p->labels_name, &p->labels, &p->labels_info);
    if (p->has_numbers)
        return VG_OK;
    p->has_unread = vg_source__find(source, p->labels_name, &p->labels) == VG_ERR_UNSUPPORTED;
    return read_texts(&p->texts, source, p->labels_name);
}

static bool is_real(vg_element element) { return element <= VG_ELEMENT_BF16 || element == VG_ELEMENT_BOOL; }

static vg_status fill_set(vg_dataset **out, part_arrays *p, vg_source *source, const char *path, size_t classes) {
    const shape *s = &p->shape;
    bool labelled = p->has_numbers || p->texts.items || p->has_unread;
    vg_dataset_shape made = {s->n, s->channels, s->height, s->width, is_real(p->images_info.element), labelled};
    VG_TRY(vg_dataset__new(out, path, &made));
    VG_TRY(read_images(*out, source, p->images, s, path));
    if (p->has_numbers) {
        VG_TRY(read_labels(*out, source, p->labels, &p->labels_info, classes, path));
        return classes == 0 ? name_numbers(*out, source, path) : VG_OK;
    }
    return labelled ? read_text_labels(*out, &p->texts, source, p->labels_name, path) : VG_OK;
}

static vg_status read_source(vg_dataset **out, vg_source *source, const char *path, vg_part part, size_t classes) {
    part_arrays arrays = {0};
    vg_status status = find_arrays(&arrays, source, path, part);
    if (status == VG_OK)
        status = fill_set(out, &arrays, source, path, classes);
    vg_strings__free(&arrays.texts.strings);
    return status;
}

vg_status vg_images_npz__read(vg_dataset **out, const char *path, vg_part part, size_t classes) {
    vg_source *source;
    vg_dataset *set = NULL;
    *out = NULL;
    VG_TRY(vg_source__open(&source, path));
    vg_status status = read_source(&set, source, path, part, classes);
    vg_source__close(source);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}
