/* samples.h - choosing and preparing samples of a data set: reading users' own files, splits, classes of other
 * numbers, other shapes, normalised images. For the modules above data; dataset.h is internal to data.
 *
 * Threads: a data set may be read by several threads at once while none changes it (vg_dataset__map_classes does). */
#ifndef VG_SAMPLES_H
#define VG_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/data.h"
#include "vargate/status.h"
#include "vargate/types.h"

/* Reads a user's own set: an .npz, an IDX file of images with its labels file beside it, a CIFAR .bin, an SVHN .mat, a
 * folder that holds such files or image files, a list of image files; as vg_dataset_open without options. *out is the
 * caller's. */
vg_status vg_dataset__read(vg_dataset **out, const char *path, vg_part part);

/* Images in the caller's memory. */
typedef struct vg_dataset_images {
    size_t struct_size;    /* set by VG_DATASET_IMAGES_INIT */
    const char *name;      /* for messages */
    const void *pixels;    /* n * channels * height * width, planar */
    int is_float;          /* float32; else bytes */
    const int32_t *labels; /* n, or NULL */
    size_t n, channels, height, width;
    size_t classes; /* labels lie in 0 .. classes - 1; 0: one more than the largest label */
} vg_dataset_images;
#define VG_DATASET_IMAGES_INIT {sizeof(vg_dataset_images), NULL, NULL, 0, NULL, 0, 0, 0, 0, 0}
/* Makes a set of a copy of the images. *out is owned by the caller. */
vg_status vg_dataset__from_memory(vg_dataset **out, const vg_dataset_images *images);

/* vg_dataset_describe for callers compiled with this library. */
vg_dataset_info vg_dataset__info(const vg_dataset *set);
/* Borrowed: n labels, or NULL; n * channels * height * width bytes or floats, NULL for a set that is not in memory. */
const int32_t *vg_dataset__labels(const vg_dataset *set);
const void *vg_dataset__pixels(const vg_dataset *set);

/* A seeded, stratified hold-out: round(fraction * n) indices, spread over the classes in proportion, go to *held,
 * the others to *kept, both increasing. They depend on labels, fraction and seed alone. A set that names its
 * validation images itself (a folder "val", a column "split") gives those, whatever the fraction. The caller frees
 * both with vg_indices__free. */
vg_status vg_dataset__split(size_t **kept, size_t *kept_count, size_t **held, size_t *held_count, const vg_dataset *set,
                            double fraction, uint64_t seed);
void vg_indices__free(size_t *indices); /* NULL is accepted */

/* Renumbers the labels of the set: every class gets the number that its name has in `names` (those a network was
 * trained with), and the set then has `count` classes of these names, also where it has no sample of some. VG_ERR_DATA,
 * naming the class and leaving the set as it was, when a class is not in `names`. The set needs labels and class names
 * of its own. */
vg_status vg_dataset__map_classes(vg_dataset *set, const char *const *names, size_t count);
/* Makes a copy in another shape, where that loses nothing: grey to three equal channels, smaller images centred on
 * black. VG_ERR_DATA otherwise. For out-of-distribution sets, which must have the shape of the trained one. *out is the
 * caller's. */
vg_status vg_dataset__adapt(vg_dataset **out, const vg_dataset *set, size_t channels, size_t height, size_t width);
/* Copies the images of the given samples (count of them, decoded by `threads` threads where they are not in memory;
 * 0: one per core) to a new set in memory, without labels. *out is owned by the caller. */
vg_status vg_dataset__gather(vg_dataset **out, const vg_dataset *set, const size_t *indices, size_t count,
                             unsigned threads);
/* The first `limit` samples of `count` in a seeded stratified order, increasing: a smaller set with the same
 * proportions of classes. indices NULL: all of the set. *out is freed with vg_indices__free. */
vg_status vg_dataset__limit(size_t **out, size_t *out_count, const vg_dataset *set, const size_t *indices, size_t count,
                            size_t limit, uint64_t seed);

typedef enum vg_layout { VG_LAYOUT_NCHW = 0, VG_LAYOUT_NHWC = 1 } vg_layout;

/* Writes normalised images (x - mean) / std of `count` samples to out[count * C * H * W], without augmentation, on the
 * calling thread. statistics NULL: the plain 0..1 values. Images that are not in memory are decoded. */
vg_status vg_dataset__fill(float *out, const vg_dataset *set, const size_t *indices, size_t count,
                           const vg_statistics *statistics, vg_layout layout);

#endif
