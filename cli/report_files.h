/* report_files.h - what a report may also show: images, class names, epochs of training; and its figures drawn by gnuplot. */
#ifndef CLI_REPORT_FILES_H
#define CLI_REPORT_FILES_H

#include "vargate/data.h"
#include "vargate/report.h"

/* Images of the samples, in their order. */
typedef struct report_images {
    vg_dataset *set;
    vg_dataset_info info;
    size_t *indices; /* NULL: sample i is image i */
} report_images;

/* Opens a data set by name, "path:..." or file; the test part. `limit` > 0: cut as predicting does, with `seed`. False, with
 * the reason as the library's message, when there is none that fits n samples (and the labels, where both have them). */
bool report_images_open(report_images *images, const char *name, const char *folder, size_t n, const int64_t *labels,
                        size_t limit, uint64_t seed, const char **problem);
void report_images_close(report_images *images);
/* For vg_report.image. */
vg_status report_images_pixels(void *context, size_t sample, uint8_t *pixels);

/* One name a line of a file, or names separated by commas. `*out` has `classes` names, freed with report_names_free. */
int report_names_read(char ***out, size_t classes, const char *text);
/* The names kept in a file of predictions; *out = NULL when it has none. */
int report_names_of(char ***out, size_t classes, const char *path);
void report_names_free(char **names, size_t classes);

/* metrics.jsonl. *collapse: the first epoch with "collapsed": true; in files that do not say, the first whose diversity has
 * been under 5 % of its peak for 3 epochs; NaN when there is none. Returns an exit code. */
int report_epochs_read(vg_report_epoch **out, size_t *count, double *collapse, const char *path);

/* Draws every possible figure as .svg, .pdf and .png into `folder`. *drawn: files written; 0 with a note when there is no
 * gnuplot. Returns an exit code. */
int report_figures_draw(const vg_report *report, const char *folder, size_t *drawn);

#endif
