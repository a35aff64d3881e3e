/* data.h - labelled images: reading the usual data sets and one's own, splitting, normalising, augmenting, batches.
 *
 *     vg_dataset *set;
 *     vg_dataset_open(&set, "mnist", VG_PART_TRAIN, NULL);            // or "path:FOLDER_OR_FILE"
 *     vg_dataset_split(&fit, &fit_count, &val, &val_count, set, 0.1, seed);
 *     vg_dataset_statistics(&statistics, set, fit, fit_count);
 *     vg_loader_options options = VG_LOADER_OPTIONS_INIT;
 *     options.statistics = statistics;
 *     vg_loader_new(&loader, set, fit, fit_count, &options);
 *     for (;;) vg_loader_next(loader, &batch);                        // epoch after epoch, without end
 *
 * Images are held in memory as bytes or float32, planar: pixel[((n * C + c) * H + y) * W + x]. A byte b stands for b / 255;
 * floats are taken as they are. An "index" is always the position of a sample in its vg_dataset. */
#ifndef VARGATE_DATA_H
#define VARGATE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VG_MAX_CHANNELS = 16 };

/* Which part of a data set. ANY: the test part if there is one, else the only part (out-of-distribution sets, --input). */
typedef enum vg_part { VG_PART_TRAIN = 0, VG_PART_TEST = 1, VG_PART_ANY = 2 } vg_part;

/* --- a set of images --------------------------------------------------------------------------------------------------- */
typedef struct vg_dataset vg_dataset;

typedef struct vg_dataset_info {
    const char *name;   /* "mnist", or the path it came from. Borrowed, as the next two */
    const char *source; /* the file or folder that was read */
    const char *const *class_names; /* `classes` names; NULL when there are none */
    size_t n, channels, height, width;
    size_t classes;     /* labels are 0 .. classes - 1; 0 when there are no labels */
    int is_float;       /* pixels are float32, not bytes */
    int verified;       /* every file read had its published checksum */
} vg_dataset_info;

/* Opens a data set by name: one of vg_data_catalogue's, or "path:FILE_OR_FOLDER" (no checksums there).
 * `folder` is searched first (NULL: none), then the places of vg_data_places. */
VG_API vg_status vg_dataset_open(vg_dataset **out, const char *name, vg_part part, const char *folder);
/* Reads a user's own set: a .npz, an IDX images file with its labels file beside it, a CIFAR .bin, an SVHN .mat, a folder that
 * holds such files or one folder of PNGs a class. See docs/data.md for what each looks like. */
VG_API vg_status vg_dataset_read(vg_dataset **out, const char *path, vg_part part);
/* From memory, copied: bytes if `is_float` is 0. labels may be NULL; otherwise each lies in 0 .. classes - 1. */
VG_API vg_status vg_dataset_from_memory(vg_dataset **out, const char *name, const void *pixels, int is_float,
                                        const int32_t *labels, size_t n, size_t channels, size_t height, size_t width,
                                        size_t classes);
VG_API void vg_dataset_free(vg_dataset *set);

VG_API vg_dataset_info vg_dataset_describe(const vg_dataset *set);
VG_API const int32_t *vg_dataset_labels(const vg_dataset *set); /* n labels, or NULL */
VG_API const void *vg_dataset_pixels(const vg_dataset *set);    /* n * channels * height * width bytes or floats */

/* Gives the set's samples the numbers that their classes have among `names` (those a network was trained with),
 * whatever classes are missing in the set; the set then has `count` classes of these names. VG_ERR_DATA, naming it and
 * leaving the set as it was, for a class that is not among them. The set needs labels and class names of its own. */
VG_API vg_status vg_dataset_map_classes(vg_dataset *set, const char *const *names, size_t count);
/* One line about labels that look like a mistake. Returns 2 for labels without names that run from 1 and leave 0 out,
 * 1 for other classes without a sample, and 0 with "" in out when there is nothing to say. */
VG_API int vg_dataset_remark(char *out, size_t room, const vg_dataset *set);
/* The same set in another shape, where that loses nothing: grey to three equal channels, smaller images centred on black.
 * Anything else is refused with VG_ERR_DATA. For out-of-distribution sets, which must have the shape of the trained one. */
VG_API vg_status vg_dataset_adapt(vg_dataset **out, const vg_dataset *set, size_t channels, size_t height, size_t width);

/* A seeded, stratified hold-out: round(fraction * n) indices, spread over the classes in proportion, go to *held, the others to
 * *kept, both increasing. They depend on labels, fraction and seed alone. Free each with vg_indices_free. */
VG_API vg_status vg_dataset_split(size_t **kept, size_t *kept_count, size_t **held, size_t *held_count, const vg_dataset *set,
                                  double fraction, uint64_t seed);
/* The first `limit` samples of `count` in a seeded stratified order, increasing: a smaller set of the same mixture.
 * indices NULL: all of the set. */
VG_API vg_status vg_dataset_limit(size_t **out, size_t *out_count, const vg_dataset *set, const size_t *indices, size_t count,
                                  size_t limit, uint64_t seed);
VG_API void vg_indices_free(size_t *indices);

/* Per-channel mean and population standard deviation, of pixels on their 0..1 scale. */
typedef struct vg_statistics {
    size_t channels;
    double mean[VG_MAX_CHANNELS], std[VG_MAX_CHANNELS];
} vg_statistics;
/* Over the given samples (indices NULL: all). A channel that never varies gets std 1. */
VG_API vg_status vg_dataset_statistics(vg_statistics *out, const vg_dataset *set, const size_t *indices, size_t count);

typedef enum vg_layout { VG_LAYOUT_NCHW = 0, VG_LAYOUT_NHWC = 1 } vg_layout;

/* Normalised images (x - mean) / std of `count` samples into out[count * C * H * W]; no augmentation, on the calling thread.
 * statistics NULL: the plain 0..1 values. */
VG_API vg_status vg_dataset_fill(float *out, const vg_dataset *set, const size_t *indices, size_t count,
                                 const vg_statistics *statistics, vg_layout layout);

/* --- augmentation ------------------------------------------------------------------------------------------------------ */
/* Each switch on its own; zeros are off. Applied in this order: crop, flip, jitter, normalisation, erasing. Every draw depends
 * on (seed, epoch, index of the sample) alone. */
typedef struct vg_augment {
    unsigned crop_pad;  /* reflect-pad by so many pixels, then cut the original size at a random place; 4 for 32x32 */
    double flip;        /* probability of a left-right flip; 0.5 */
    double erase;       /* probability of random erasing: area 2..33 %, ratio 0.3..3.3, the rectangle set to the mean; 0.5 */
    double brightness, contrast, saturation, hue; /* colour jitter strengths; 0.2, 0.2, 0.2, 0.1. Pixels must lie in 0..1 */
} vg_augment;
#define VG_AUGMENT_NONE { 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }
#define VG_AUGMENT_CIFAR { 4, 0.5, 0.5, 0.2, 0.2, 0.2, 0.1 }

/* --- batches ----------------------------------------------------------------------------------------------------------- */
typedef struct vg_loader_options {
    size_t struct_size;
    size_t batch;             /* samples a batch; the last of an epoch may be smaller */
    int shuffle;              /* a new order every epoch, from (seed, epoch); else the order of the indices */
    int drop_last;            /* leave out an incomplete last batch */
    uint64_t seed;
    vg_layout layout;
    vg_augment augment;
    vg_statistics statistics; /* channels = 0: plain 0..1 values */
    unsigned threads;         /* workers that prepare batches; 0: one per core, at most 4. Content does not depend on it */
    unsigned prefetch;        /* batches prepared ahead; 0: 2 per worker */
} vg_loader_options;
#define VG_LOADER_OPTIONS_INIT                                                                                              \
    {                                                                                                                       \
        sizeof(vg_loader_options), 128, 1, 0, 0, VG_LAYOUT_NCHW, VG_AUGMENT_NONE, {0, {0}, {0}}, 0, 0                        \
    }

typedef struct vg_batch {
    const float *images;   /* count * C * H * W in the loader's layout, normalised, 64-byte aligned */
    const int32_t *labels; /* count; -1 each when the set has none */
    const size_t *indices; /* count: positions in the vg_dataset */
    size_t count;
    uint64_t epoch;        /* from 0 */
    size_t step;           /* within the epoch, 0 .. vg_loader_steps - 1 */
} vg_batch;

typedef struct vg_loader vg_loader;
/* `set` is borrowed for the life of the loader; `indices` (NULL: all of the set) and the options are copied.
 * Workers start at once, at epoch 0, step 0. */
VG_API vg_status vg_loader_new(vg_loader **out, const vg_dataset *set, const size_t *indices, size_t count,
                               const vg_loader_options *options);
VG_API void vg_loader_free(vg_loader *loader);
VG_API size_t vg_loader_steps(const vg_loader *loader); /* batches an epoch */
/* The next batch, waiting for it if need be; after an epoch's last comes the next epoch's first. What `batch` points at is
 * valid until the next call of next, seek or free. One caller at a time. */
VG_API vg_status vg_loader_next(vg_loader *loader, vg_batch *batch);
/* Makes (epoch, step) the next batch: a resumed run goes on exactly where it was. step = steps is the next epoch's first. */
VG_API vg_status vg_loader_seek(vg_loader *loader, uint64_t epoch, size_t step);

/* One sample of an epoch for a device that keeps the images itself: which one, and what its augmentation drew. */
typedef struct vg_sample_draw {
    uint32_t index;        /* position in the vg_dataset */
    int16_t dy, dx;        /* output (y, x) is stored pixel (y + dy, x + dx), reflected at the border */
    uint8_t flip, erase;
    uint8_t jitter, order; /* bit i: operation i (brightness, contrast, saturation, hue) is on; which comes when, two bits each */
    uint16_t top, left, height, width; /* the erased rectangle */
    float factor[4];
} vg_sample_draw;
/* The samples of an epoch, in the order of its batches: as many as vg_loader_new was given. Leaves the loader's place alone and
 * may run beside next and seek. Refused for images larger than 32767 pixels a side. */
VG_API vg_status vg_loader_draws(const vg_loader *loader, uint64_t epoch, vg_sample_draw *samples);

/* --- where data sets live ---------------------------------------------------------------------------------------------- */
typedef struct vg_data_file {
    const char *name;       /* as published, "train-images-idx3-ubyte.gz" */
    vg_part part;
    uint64_t size;          /* of the file as published */
    const char *md5;        /* of the file as published */
    uint64_t plain_size;    /* of the same file uncompressed; 0: it is not compressed */
    const char *plain_md5;  /* NULL: not known */
} vg_data_file;

typedef struct vg_data_entry {
    const char *name, *title, *licence, *homepage;
    size_t channels, height, width, classes, train, test; /* train, test: samples in each part */
    const vg_data_file *files;
    size_t file_count;
} vg_data_entry;

/* The data sets known by name. */
VG_API const vg_data_entry *vg_data_catalogue(size_t *count);
/* NULL when there is none of that name; then *nearest (if wanted) is the most similar known one, or NULL. */
VG_API const vg_data_entry *vg_data_find(const char *name, const char **nearest);

/* Folders searched, in order: `folder` if given, $VARGATE_DATA, $XDG_DATA_HOME/vargate (~/.local/share/vargate), the data
 * installed with the program, ./data. A set lies in PLACE/NAME. Free with vg_data_places_free. */
VG_API vg_status vg_data_places(char ***out, size_t *count, const char *folder);
VG_API void vg_data_places_free(char **places, size_t count);

/* What is on this machine of one set. */
typedef enum vg_data_state { VG_DATA_MISSING = 0, VG_DATA_WRONG = 1, VG_DATA_UNCHECKED = 2, VG_DATA_GOOD = 3 } vg_data_state;
typedef struct vg_data_found {
    char path[4096];     /* the file, "" if missing */
    vg_data_state state; /* GOOD: its checksum is the published one. UNCHECKED: not compared, or none is published */
    char problem[512];   /* WRONG: what differs */
} vg_data_found;
/* Looks for file number `file` of the entry; `verify` reads it whole and compares checksums. */
VG_API vg_status vg_data_look(vg_data_found *out, const vg_data_entry *entry, size_t file, const char *folder, int verify);

typedef struct vg_fetch_options {
    size_t struct_size;
    const char *from;    /* copy from this folder instead of downloading; NULL: download */
    const char *folder;  /* put it in FOLDER/NAME; NULL: $VARGATE_DATA, else the XDG data folder */
    void (*message)(void *context, const char *line); /* what is being done; NULL: silence */
    void *message_context;
} vg_fetch_options;
#define VG_FETCH_OPTIONS_INIT { sizeof(vg_fetch_options), NULL, NULL, NULL, NULL }
/* Brings a set's files, each checked against its published checksum before it appears under its name. Files already there and
 * good are left alone. Downloading runs curl or wget (and npm or apt-get for sets that are packages there). */
VG_API vg_status vg_data_fetch(const char *name, const vg_fetch_options *options);

#ifdef __cplusplus
}
#endif
#endif
