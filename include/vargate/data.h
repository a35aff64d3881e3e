/* data.h - labelled images: reading well-known data sets and one's own, splitting, normalising, augmenting, batches.
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
 * Images are held in memory as bytes or float32, planar: pixel[((n * C + c) * H + y) * W + x]. A byte b stands for
 * b / 255; floats are used as they are. An "index" is always the position of a sample in its vg_dataset.
 *
 * Threads: a data set that nobody changes (vg_dataset_map_classes changes it) may be read by several threads at once. A
 * loader serves one caller at a time, whatever its own threads do. The catalogue is constant.
 * Errors: every function that returns vg_status leaves its reason in vg_error_message(). VG_ERR_IO: a file cannot be
 * read. VG_ERR_FORMAT: it is damaged or of another format. VG_ERR_DATA: its values or sizes cannot be used.
 * VG_ERR_ARGUMENT: a parameter is out of range. Where a function fails, out-parameters hold NULL or nothing that needs
 * to be freed. */
#ifndef VARGATE_DATA_H
#define VARGATE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VG_MAX_CHANNELS = 16 };

/* A part of a data set. ANY: the test part if there is one, else the only part. */
typedef enum vg_part { VG_PART_TRAIN = 0, VG_PART_TEST = 1, VG_PART_ANY = 2 } vg_part;

/* --- a set of images ---------------------------------------------------------------------------------------------- */
typedef struct vg_dataset vg_dataset;

/* Pointers are borrowed from the set. */
typedef struct vg_dataset_info {
    const char *name;               /* "mnist", or the path that was read */
    const char *source;             /* the file or folder that was read */
    const char *const *class_names; /* `classes` names; NULL when there are none */
    size_t n, channels, height, width;
    size_t classes; /* labels are 0 .. classes - 1; 0 when there are no labels */
    int is_float;   /* pixels are float32, not bytes */
    int verified;   /* every file that was read has its published checksum */
} vg_dataset_info;

/* Opens a data set by name: an entry of vg_data_catalogue, or "path:FILE_OR_FOLDER", which has no checksums. `folder`
 * is searched first (NULL: none), then the places of vg_data_places. *out is the caller's. VG_ERR_IO, naming the places
 * that were searched, when the set is not on this machine. */
VG_API vg_status vg_dataset_open(vg_dataset **out, const char *name, vg_part part, const char *folder);
/* Reads a user's own set: an .npz, an IDX file of images with its labels file beside it, a CIFAR .bin, an SVHN .mat, a
 * folder that holds such files, or one folder of PNGs a class. docs/data.md describes each. *out is the caller's. */
VG_API vg_status vg_dataset_read(vg_dataset **out, const char *path, vg_part part);

/* Images in the caller's memory. */
typedef struct vg_dataset_images {
    size_t struct_size;    /* set by VG_DATASET_IMAGES_INIT */
    const char *name;      /* for messages */
    const void *pixels;    /* n * channels * height * width, planar */
    int is_float;          /* float32; else bytes */
    const int32_t *labels; /* n, or NULL */
    size_t n, channels, height, width;
    size_t classes; /* labels lie in 0 .. classes - 1; 0: as many as the labels say */
} vg_dataset_images;
#define VG_DATASET_IMAGES_INIT {sizeof(vg_dataset_images), NULL, NULL, 0, NULL, 0, 0, 0, 0, 0}
/* Makes a set of a copy of the images. *out is the caller's. */
VG_API vg_status vg_dataset_from_memory(vg_dataset **out, const vg_dataset_images *images);
VG_API void vg_dataset_free(vg_dataset *set); /* NULL is fine */

VG_API vg_dataset_info vg_dataset_describe(const vg_dataset *set);
/* Borrowed: n labels, or NULL; n * channels * height * width bytes or floats. */
VG_API const int32_t *vg_dataset_labels(const vg_dataset *set);
VG_API const void *vg_dataset_pixels(const vg_dataset *set);

/* A seeded, stratified hold-out: round(fraction * n) indices, spread over the classes in proportion, go to *held, the
 * others to *kept, both increasing. They depend on labels, fraction and seed alone. Both are the caller's, each freed
 * with vg_indices_free. */
VG_API vg_status vg_dataset_split(size_t **kept, size_t *kept_count, size_t **held, size_t *held_count,
                                  const vg_dataset *set, double fraction, uint64_t seed);
VG_API void vg_indices_free(size_t *indices); /* NULL is fine */

/* Mean and population standard deviation of each channel, of pixels on their 0..1 scale. */
typedef struct vg_statistics {
    size_t channels;
    double mean[VG_MAX_CHANNELS], std[VG_MAX_CHANNELS];
} vg_statistics;
/* Over the given samples (indices NULL: all). A channel that never varies gets std 1. */
VG_API vg_status vg_dataset_statistics(vg_statistics *out, const vg_dataset *set, const size_t *indices, size_t count);

typedef enum vg_layout { VG_LAYOUT_NCHW = 0, VG_LAYOUT_NHWC = 1 } vg_layout;

/* Writes normalised images (x - mean) / std of `count` samples to out[count * C * H * W], without augmentation, on the
 * calling thread. statistics NULL: the plain 0..1 values. */
VG_API vg_status vg_dataset_fill(float *out, const vg_dataset *set, const size_t *indices, size_t count,
                                 const vg_statistics *statistics, vg_layout layout);

/* --- augmentation ------------------------------------------------------------------------------------------------- */
/* Settings of the augmentation; zeros are off. Applied in this order: crop, flip, jitter, normalisation, erasing. Every
 * draw depends on (seed, epoch, index of the sample) alone. The values in brackets are usual for 32x32 images. */
typedef struct vg_augment {
    unsigned crop_pad; /* pixels of reflection padding, before the original size is cut at a random place [4] */
    double flip;       /* probability of a left-right flip [0.5] */
    double erase;      /* probability of random erasing: area 2..33 %, aspect 0.3..3.3, set to the mean [0.5] */
    /* Strengths of the colour jitter [0.2, 0.2, 0.2, 0.1]; pixels must lie in 0..1. */
    double brightness, contrast, saturation, hue;
} vg_augment;
#define VG_AUGMENT_NONE {0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
#define VG_AUGMENT_CIFAR {4, 0.5, 0.5, 0.2, 0.2, 0.2, 0.1}

/* --- batches ------------------------------------------------------------------------------------------------------ */
typedef struct vg_loader_options {
    size_t struct_size; /* set by VG_LOADER_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    size_t batch;       /* samples a batch; the last of an epoch may be smaller */
    int shuffle;        /* a new order every epoch, from (seed, epoch); else the order of the indices */
    int drop_last;      /* leave out an incomplete last batch */
    uint64_t seed;
    vg_layout layout;
    vg_augment augment;
    vg_statistics statistics; /* channels = 0: plain 0..1 values */
    unsigned threads;         /* workers that prepare batches; 0: one per core, at most 4. They change no content */
    unsigned prefetch;        /* batches prepared ahead; 0: 2 per worker */
} vg_loader_options;
#define VG_LOADER_OPTIONS_INIT                                                                                         \
    {sizeof(vg_loader_options), 128, 1, 0, 0, VG_LAYOUT_NCHW, VG_AUGMENT_NONE, {0, {0}, {0}}, 0, 0}

/* Pointers are borrowed from the loader until the next call of vg_loader_next, _seek or _free. */
typedef struct vg_batch {
    const float *images;   /* count * C * H * W in the loader's layout, normalised, 64-byte aligned */
    const int32_t *labels; /* count; -1 each when the set has none */
    const size_t *indices; /* count: positions in the vg_dataset */
    size_t count;
    uint64_t epoch; /* from 0 */
    size_t step;    /* within the epoch, 0 .. vg_loader_steps - 1 */
} vg_batch;

typedef struct vg_loader vg_loader;
/* *out is the caller's. `set` is borrowed for the life of the loader; `indices` (NULL: all of the set) and the options
 * (NULL: the defaults) are copied. The workers start at once, at epoch 0, step 0. */
VG_API vg_status vg_loader_new(vg_loader **out, const vg_dataset *set, const size_t *indices, size_t count,
                               const vg_loader_options *options);
VG_API void vg_loader_free(vg_loader *loader);          /* NULL is fine */
VG_API size_t vg_loader_steps(const vg_loader *loader); /* batches an epoch */
/* Gives the next batch, waiting until it is ready. The last batch of an epoch is followed by the first of the next. */
VG_API vg_status vg_loader_next(vg_loader *loader, vg_batch *batch);
/* Makes (epoch, step) the next batch, so that a resumed run continues where it stopped. step = vg_loader_steps stands
 * for the first of the next epoch; VG_ERR_ARGUMENT beyond. */
VG_API vg_status vg_loader_seek(vg_loader *loader, uint64_t epoch, size_t step);

/* --- where data sets are ------------------------------------------------------------------------------------------ */
typedef struct vg_data_file {
    const char *name; /* as published, "train-images-idx3-ubyte.gz" */
    vg_part part;
    uint64_t size;         /* of the file as published */
    const char *md5;       /* of the file as published */
    uint64_t plain_size;   /* of the same file uncompressed; 0: it is not compressed */
    const char *plain_md5; /* NULL: not known */
} vg_data_file;

typedef struct vg_data_entry {
    const char *name, *title, *licence, *homepage;
    size_t channels, height, width, classes, train, test; /* train, test: samples in each part */
    const vg_data_file *files;
    size_t file_count;
} vg_data_entry;

/* The data sets known by name: *count entries, constant. */
VG_API const vg_data_entry *vg_data_catalogue(size_t *count);
/* The entry of that name, or NULL; then *nearest (may be NULL) becomes the most similar known name, or NULL. */
VG_API const vg_data_entry *vg_data_find(const char *name, const char **nearest);

/* Lists the folders that are searched, in order: `folder` if given, $VARGATE_DATA, $XDG_DATA_HOME/vargate
 * (~/.local/share/vargate), the data installed with the program, ./data. A set is in PLACE/NAME. *out is the caller's,
 * freed with vg_data_places_free. */
VG_API vg_status vg_data_places(char ***out, size_t *count, const char *folder);
VG_API void vg_data_places_free(char **places, size_t count);

/* What this machine has of one file. */
typedef enum vg_data_state {
    VG_DATA_MISSING = 0,
    VG_DATA_WRONG = 1,     /* its size or checksum is not the published one */
    VG_DATA_UNCHECKED = 2, /* not compared, or no checksum is published */
    VG_DATA_GOOD = 3       /* its checksum is the published one */
} vg_data_state;
typedef struct vg_data_found {
    char path[4096]; /* the file, "" if missing */
    vg_data_state state;
    char problem[512]; /* WRONG: what differs */
} vg_data_found;
/* Looks for file number `file` of the entry; `verify` reads it whole and compares checksums. */
VG_API vg_status vg_data_look(vg_data_found *out, const vg_data_entry *entry, size_t file, const char *folder,
                              int verify);

typedef struct vg_fetch_options {
    size_t struct_size; /* set by VG_FETCH_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    const char *from;   /* copy from this folder instead of downloading; NULL: download */
    const char *folder; /* put the set in FOLDER/NAME; NULL: $VARGATE_DATA, else the XDG data folder */
    void (*message)(void *context, const char *line); /* progress in words, from the calling thread; NULL: none */
    void *message_context;
} vg_fetch_options;
#define VG_FETCH_OPTIONS_INIT {sizeof(vg_fetch_options), NULL, NULL, NULL, NULL}
/* Brings the files of a set to this machine, each compared with its published checksum before it appears under its
 * name. Files that are already there and good are left alone. Downloading runs curl or wget, and npm or apt-get for
 * sets that are published as packages there. VG_ERR_IO when a download or copy fails, VG_ERR_DATA when a checksum
 * differs. */
VG_API vg_status vg_data_fetch(const char *name, const vg_fetch_options *options);

/* --- for the command line -----------------------------------------------------------------------------------------
 *
 * The functions below serve the rest of this library and the command line. The shared library does not export them. */

/* Renumbers the labels of the set: every class gets the number that its name has in `names` (those a network was
 * trained with), and the set then has `count` classes of these names, also where it has no sample of some. VG_ERR_DATA,
 * naming the class and leaving the set as it was, when a class is not in `names`. The set needs labels and class names
 * of its own. */
vg_status vg_dataset_map_classes(vg_dataset *set, const char *const *names, size_t count);
/* Writes one line about labels that look like a mistake to out[room]. Returns 2 for labels without names that run from
 * 1 and leave 0 out, 1 for other classes without a sample, and 0 with "" in out when there is nothing to report. */
int vg_dataset_remark(char *out, size_t room, const vg_dataset *set);
/* Makes a copy in another shape, where that loses nothing: grey to three equal channels, smaller images centred on
 * black. VG_ERR_DATA otherwise. For out-of-distribution sets, which must have the shape of the trained one. *out is the
 * caller's. */
vg_status vg_dataset_adapt(vg_dataset **out, const vg_dataset *set, size_t channels, size_t height, size_t width);
/* The first `limit` samples of `count` in a seeded stratified order, increasing: a smaller set with the same
 * proportions of classes. indices NULL: all of the set. *out is freed with vg_indices_free. */
vg_status vg_dataset_limit(size_t **out, size_t *out_count, const vg_dataset *set, const size_t *indices, size_t count,
                           size_t limit, uint64_t seed);
/* Writes the draws of an epoch in the order of its batches, as many as vg_loader_new was given samples. Leaves the
 * loader's position alone and may run beside next and seek. VG_ERR_ARGUMENT for images larger than 32767 pixels a side.
 */
vg_status vg_loader_draws(const vg_loader *loader, uint64_t epoch, vg_sample_draw *samples);

#ifdef __cplusplus
}
#endif
#endif
