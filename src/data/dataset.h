/* dataset.h - what the files of src/data share: the set in memory, the readers, and files that are plain or gzipped.
 * Internal. */
#ifndef VG_DATASET_H
#define VG_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "data/image_file.h"
#include "data/samples.h"
#include "vargate/data.h"

enum { VG_DATASET_NOTES = 8 };

struct vg_dataset {
    char *name, *source;
    char **class_names; /* `classes` names, owned, or NULL */
    size_t n, channels, height, width, classes;
    bool is_float, verified;
    union {
        uint8_t *bytes; /* n * channels * height * width, planar */
        float *floats;
        void *any; /* NULL: decoded from `files` when an image is needed */
    } pixels;
    int32_t *labels;        /* n, or NULL */
    char **files;           /* n paths, owned, or NULL where images are not separate files */
    vg_image_target target; /* the size and channels that files are converted to */
    unsigned char *held;    /* n: 1 for the validation part that the data set itself names; NULL: none is named */
    char **skipped;         /* one line for each file that was left out */
    size_t skipped_count;
    char *notes[VG_DATASET_NOTES]; /* lines about probable mistakes */
    size_t note_count;
};

/* The sizes of a new set. */
typedef struct vg_dataset_shape {
    size_t n, channels, height, width;
    bool is_float, labelled;
} vg_dataset_shape;
/* A set with uninitialised memory for its pixels and, where labelled, its labels. Checks every size. */
vg_status vg_dataset__new(vg_dataset **out, const char *name, const vg_dataset_shape *shape);
vg_status vg_dataset__rename(vg_dataset *set, const char *name, const char *source);
/* Copies `count` class names. */
vg_status vg_dataset__name_classes(vg_dataset *set, const char *const *names, size_t count);
/* Sets classes = largest label + 1 when `classes` is 0; otherwise checks that every label is below it. */
vg_status vg_dataset__settle_labels(vg_dataset *set, size_t classes);
/* Adds "SOURCE: TEXT" to the notes. */
vg_status vg_dataset__note(vg_dataset *set, const char *text);
/* Whether labels without names run from 1 and leave 0 out. */
bool vg_dataset__counts_from_one(const vg_dataset *set);
/* Keeps the test images in the set, a share of those it does not name as validation images, or (`test` false) all
 * others. Depends on labels, share and seed alone. */
vg_status vg_dataset__cut(vg_dataset *set, bool test, double share, uint64_t seed);
/* Elements of one image. */
static inline size_t vg_dataset__image(const vg_dataset *set) { return set->channels * set->height * set->width; }
/* Checks that every index lies in the set; NULL means 0 .. n - 1 and then count must be n. */
vg_status vg_dataset__check_indices(const vg_dataset *set, const size_t *indices, size_t count);

/* --- bytes of a file, plain or gzipped ---------------------------------------------------------------------------- */
typedef struct vg_bytes {
    void *stream; /* gzFile */
    const char *path;
    size_t file_size; /* on disk */
    size_t taken;     /* uncompressed bytes read so far */
    bool plain;       /* not gzipped: the content has file_size bytes */
} vg_bytes;
vg_status vg_bytes__open(vg_bytes *bytes, const char *path);
void vg_bytes__close(vg_bytes *bytes);
/* Reads up to `size` bytes; *got < size only at the end of the file. Damaged gzip data is an error. */
vg_status vg_bytes__read(vg_bytes *bytes, void *out, size_t size, size_t *got);
/* Reads exactly `size` bytes; `expected` is what the whole file should hold, for the message when it is short. */
vg_status vg_bytes__exactly(vg_bytes *bytes, void *out, size_t size, size_t expected);
/* VG_ERR_FORMAT unless the file could hold `expected` uncompressed bytes, so that a wrong header costs no memory. */
vg_status vg_bytes__could_hold(const vg_bytes *bytes, size_t expected);
/* VG_ERR_FORMAT unless the end is reached after `expected` bytes, with a correct gzip checksum. */
vg_status vg_bytes__at_end(vg_bytes *bytes, size_t expected);

/* --- readers ------------------------------------------------------------------------------------------------------ */
/* Each makes a set with name = source = the path that was read; classes = 0: one more than the largest label. */
vg_status vg_idx__read(vg_dataset **out, const char *images_path, const char *labels_path, size_t classes);
/* `coarse`: CIFAR-100's two label bytes, of which the second (fine) is taken. Files are joined in order. */
vg_status vg_cifar__read(vg_dataset **out, const char *const *paths, size_t count, bool coarse, size_t classes);
vg_status vg_svhn_mat__read(vg_dataset **out, const char *path);
/* prefix "", "train" or "test": arrays images/labels, train_images/train_labels (or x_train/y_train), ... */
vg_status vg_images_npz__read(vg_dataset **out, const char *path, vg_part part, size_t classes);
/* As vg_dataset__read, with the options of vg_dataset_open, which have all fields. */
vg_status vg_own__read(vg_dataset **out, const char *path, vg_part part, const vg_dataset_options *options);

/* --- images that may be files ------------------------------------------------------------------------------------- */
/* Checks sizes and channels of the options. */
vg_status vg_image_set__target(vg_image_target *out, const vg_dataset_options *options);
/* Converts a set in memory to the target, where it differs. *set is replaced. */
vg_status vg_image_set__refit(vg_dataset **set, const vg_image_target *target);
/* The planar bytes of image `index`: those in memory, or decoded to image[C * H * W]. Not for sets of floats. */
vg_status vg_dataset__bytes(const uint8_t **out, const vg_dataset *set, size_t index, uint8_t *image,
                            vg_image_scratch *scratch);

/* --- paths -------------------------------------------------------------------------------------------------------- */
bool vg_data__is_file(const char *path);
bool vg_data__is_folder(const char *path);
/* a/b; release with vg_base__release. */
vg_status vg_data__join(char **out, const char *a, const char *b);
bool vg_data__ends_with(const char *text, const char *ending);

#endif
