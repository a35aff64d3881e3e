/* report_files.h - what a report may show besides scores: images, class names, epochs of training. Internal. */
#ifndef VG_WORKFLOW_REPORT_FILES_H
#define VG_WORKFLOW_REPORT_FILES_H

#include "base/base.h"
#include "formats/arrays.h"
#include "report/report.h"
#include "vargate/data.h"
#include "vargate/nn.h"
#include "vargate/page.h"
#include "vargate/workflow.h"

/* Images of the samples, in their order. */
typedef struct vg_report_images {
    vg_dataset *set;
    vg_dataset_info info;
    size_t *indices;           /* NULL: sample i is image i */
    vg_source *array;          /* images of an .npy, in place of a set; NULL: none */
    bool channels_last, whole; /* its axes are N, H, W, C; its values are 0..255, not 0..1 */
} vg_report_images;

/* Where the images are searched, and what they must match. */
typedef struct vg_report_image_request {
    const char *name;      /* a data set's name, "path:..." or a file */
    const char *folder;    /* searched first; NULL: none */
    size_t n;              /* samples */
    const int64_t *labels; /* n; NULL: none */
    size_t limit;          /* > 0: limited as in prediction, with `seed` */
    uint64_t seed;
    const vg_recipe *recipe;        /* how image files are read; NULL: as they are */
    vg_part part;                   /* VG_PART_ANY: the test part where there is one */
    const char *const *class_names; /* of the labels, `classes` of them; NULL: not known */
    size_t classes;
    size_t resize[2]; /* image files of any size become height x width; 0: they are as they are */
} vg_report_image_request;

/* Fails, with the reason, when no set has n samples (and the same labels, where both have them). */
vg_status vg_report_images__open(vg_report_images *images, const vg_report_image_request *request);
void vg_report_images__close(vg_report_images *images);
/* For vg_report.image; context is a vg_report_images *. */
vg_status vg_report_images__pixels(void *context, size_t sample, uint8_t *pixels);

/* One name per line of a file, or names separated by commas. `*out` has `classes` names, freed with
 * vg_report_names__free. */
vg_status vg_report_names__read(char ***out, size_t classes, const char *text);
/* A copy of `count` names; *out = NULL for NULL. */
vg_status vg_report_names__copy(char ***out, const char *const *names, size_t count);
void vg_report_names__free(char **names, size_t classes);

/* metrics.jsonl. collapse: the first epoch with "collapsed": true; in files without that key, the first whose
 * diversity has been under 5 % of its peak for 3 epochs; NaN when there is none. Freed with vg_report_epochs__free,
 * also after a failure. */
typedef struct vg_report_epochs {
    vg_report_epoch *items;
    double *train_accuracy; /* count */
    double *gates;          /* count x gate_count: the trained k of every class; NULL: none, or not in every epoch */
    size_t count, gate_count;
    double collapse;
} vg_report_epochs;
vg_status vg_report_epochs__read(vg_report_epochs *out, const char *path);
void vg_report_epochs__free(vg_report_epochs *epochs);

/* What a page shows. Borrowed from the page. */
const vg_report *vg_page__report(const vg_page *page);

#endif
