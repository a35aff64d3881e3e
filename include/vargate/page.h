/* page.h - the report page of a run, of predictions or of scores, and its figures for print. */
#ifndef VARGATE_PAGE_H
#define VARGATE_PAGE_H

#include <stddef.h>

#include "vargate/listener.h"
#include "vargate/status.h"
#include "vargate/workflow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file and the name under which it is shown. */
typedef struct vg_named_file {
    const char *name, *path;
} vg_named_file;

enum { VG_PAGE_OOD = 16 }; /* the most OOD sets of a page */

typedef struct vg_page_options {
    size_t struct_size;
    const vg_named_file *ood; /* predictions or scores of out-of-distribution sets, after those of a run */
    size_t ood_count;
    const char *title;  /* heading; NULL: the recipe's name, or the file's */
    const char *images; /* the samples' images: a data set's name or file; NULL: the run's, where they can be had */
    const char *class_names; /* names separated by commas, or a file with one per line; NULL: the file's */
    const char *metrics;     /* metrics.jsonl of the training; NULL: the run's */
    const char *data;        /* folder searched first for data sets */
    int force;               /* replace an existing page even if vargate did not write it */
    vg_job job;
    const char *const *command; /* words of the command that makes the page, which it shows; NULL: none */
    size_t command_words;
    int transient; /* the input does not outlast the call: the page shows no command that reads it */
    /* Predictions with labels that the page's prediction sets are calibrated on; NULL: the run's val.npz, or a random
     * half of the samples */
    const char *calibration;
} vg_page_options;
#define VG_PAGE_OPTIONS_INIT                                                                                           \
    { sizeof(vg_page_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, VG_JOB_INIT, NULL, 0, 0, NULL }

/* A figure for print: "decomposition", "gated", "risk-coverage", "reliability", "diversity", "training", "ood". */
typedef struct vg_page_figure {
    const char *name;
    int present; /* 1: the page has what the figure shows */
} vg_page_figure;

/* A page that was written, and what it shows. Read its fields; free with vg_page_free. Threads: may be read by several
 * at once. */
typedef struct vg_page {
    size_t struct_size;
    const char *folder, *path; /* the folder and the file that were written */
    const vg_page_figure *figures;
    size_t figure_count;
} vg_page;

/* Writes FOLDER/report.html, one self-contained file, and makes the folder where it is missing. `input` is the
 * folder of a run (test.npz or scores.npz, and the other files of the run), a file of predictions or one of scores.
 * `folder` NULL: INPUT/report of a run. `reading` and `options` may be NULL: defaults. Without gate settings in
 * `reading` those of the run's recipe are taken, or 1, 2, 3; its fields are not read, because a page shows all
 * measures. Rows of the page are samples, in multilabel mode labels of samples, of images (axes with H) sites. *out is
 * owned by the caller. */
VG_API vg_status vg_page_write(vg_page **out, const char *input, const char *folder, const vg_input_options *reading,
                               const vg_page_options *options);
/* Frees the page with everything it owns. NULL is accepted. */
VG_API void vg_page_free(vg_page *page);
/* Runs gnuplot in `folder` with the script, `length` bytes, as its standard input, until it ends. VG_OK when it ended
 * well, VG_ERR_UNSUPPORTED when it is not installed, else any other status. */
typedef vg_status (*vg_gnuplot_fn)(void *context, const char *folder, const char *script, size_t length);
/* Draws the figures that the page has as .svg, .pdf and .png into FOLDER/figures, which is made where it is missing;
 * those of an earlier page that this one does not have are removed. The library starts no program: `gnuplot` is called
 * once, from the calling thread, with one script for all files. NULL, or where it answers VG_ERR_UNSUPPORTED: nothing
 * is drawn, and all figures of an earlier page are removed. `*files`: how many were drawn. VG_ERR_IO, naming the first
 * that was not, when some are missing. */
VG_API vg_status vg_page_draw(size_t *files, const vg_page *page, vg_gnuplot_fn gnuplot, void *context);

#ifdef __cplusplus
}
#endif
#endif
