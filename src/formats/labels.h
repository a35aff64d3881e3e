/* labels.h - the usual forms of labels, converted to class numbers. Internal to formats. */
#ifndef VG_LABELS_H
#define VG_LABELS_H

#include "formats/source.h"

/* Where labels are in a source. */
typedef enum vg_label_kind { VG_LABELS_NONE, VG_LABELS_NUMBERS, VG_LABELS_TEXTS, VG_LABELS_NAMES } vg_label_kind;

/* What the labels must match. */
typedef struct vg_label_frame {
    size_t n, m, c;
    const char *path;    /* of the file of labels, in messages */
    vg_strings *classes; /* C names, or empty */
    int multilabel;      /* 1: (N, C) of 0 and 1; 0: one class per sample; -1: as they are stored */
    int64_t from;        /* the number of the first class: 0 or 1 */
    bool may_be_mnc;     /* the predictions have three axes and were read as (N, M, C) */
    const size_t *sites; /* of images: the lengths of N, H, W, D, whose product is n; NULL: samples have one axis */
} vg_label_frame;

/* Whether arrays of that name are taken for labels. */
bool vg_labels__is_usual(const char *name);
/* The array (or names) called `key`, or the first with one of the usual names, other than array `except` (SIZE_MAX:
 * none). VG_ERR_ARGUMENT when a key was given and is not there. */
vg_status vg_labels__find(const vg_source *source, const char *key, size_t except, vg_label_kind *kind, size_t *index);
/* Reads them as class numbers (N), or as stored (N, C): names are matched with frame->classes, one-hot rows become
 * their class, numbers are checked. *out is the caller's. */
vg_status vg_labels__load(int64_t **out, size_t *columns, vg_source *source, vg_label_kind kind, size_t index,
                          const vg_label_frame *frame);
/* Reads a whole array of numbers: (N) or (N, C), or where `sites` is not NULL label maps (N, H, W) or (N, H, W, D).
 * Values are not checked. */
vg_status vg_labels__numbers(int64_t **out, size_t *n, size_t *columns, vg_source *source, size_t index,
                             const size_t *sites);

/* Whether an array has the shape of label maps of these sites. */
vg_status vg_labels__check_maps(const vg_source *source, const vg_stored *array, const size_t *sites);

/* The names in array `key` (or in the first of the usual names) as texts; adds nothing when there are none. */
vg_status vg_names__read(vg_strings *out, vg_source *source, const char *key, const char *const *usual, size_t wanted);
/* The metadata "classes", a JSON list of texts. */
vg_status vg_names__metadata(vg_strings *out, const vg_source *source);

#endif
