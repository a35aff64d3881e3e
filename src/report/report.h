/* report.h - the report page on what an ensemble knows about a data set, and figures for print.
 *
 *     vg_report__rows_new(&rows, N, C);                     // what the page shows of each sample
 *     for each block of rows starting at sample `first`:
 *         vg_report__rows_feed(rows, first, count, mean, std);
 *         vg_report__rows_votes(rows, first, &block);       // optional: the members' votes
 *     vg_report report = VG_REPORT_INIT;                   // then set what there is: measures, images, ...
 *     vg_report__page(&report, &sink);                      // one self-contained HTML file
 *     vg_report__figure_script(&report, 0, "pdfcairo", "decomposition.pdf", &sink); // text for gnuplot
 *
 * A row is what the decision rule decides: a sample, in multilabel mode a (sample, label) pair, of images a site.
 * Nothing here opens files or starts programs: bytes go to the caller's sink. The page holds every row while they fit;
 * of more than VG_REPORT_COLUMN_BYTES of measures it plots a random sample (and the cases a person would look for),
 * while the numbers of the decision rule still come from all of them: from their margin ratios or, of more than
 * VG_REPORT_EXACT_ROWS, from counts at a list of k. */
#ifndef VG_REPORT_H
#define VG_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/evaluate.h"
#include "vargate/measures.h"
#include "vargate/status.h"
#include "vargate/types.h"

enum {
    VG_REPORT_TOP = 5,                /* classes shown of each sample */
    VG_REPORT_COLUMN_BYTES = 2200000, /* bytes of measures in the page */
    VG_REPORT_IMAGE_BYTES = 700000,   /* bytes of pixels in the page */
    VG_REPORT_OOD_POINTS = 1000,      /* points of each OOD set in the scatter plot */
    VG_REPORT_CURVE_POINTS = 200,     /* points of a risk-coverage curve, to be asked of vg_evaluate */
    VG_REPORT_EXACT_ROWS = 1000000,   /* whose margin ratios are all in the page */
    VG_REPORT_GROUP_CELLS = 200000    /* counts of groups (classes or labels) at every k, at most */
};

/* What the page shows of each sample besides its measures. Fields may be read, not written. Owned by the caller,
 * freed by vg_report__rows_free. One thread feeds it at a time. */
typedef struct vg_report_rows {
    size_t n, classes, top; /* top: min(VG_REPORT_TOP, classes) */
    size_t label_count;     /* > 0: multilabel, row = sample * label_count + label; classes is 2: absent, present */
    double present_above;   /* multilabel: what a member that sees a label present exceeds: 0.5, or 0 of logits */
    const double *class_k;  /* classes, or labels: a k for every one, borrowed; NULL: 1 */
    double *ratio;          /* n: the margin ratio; the rule keeps a sample exactly when k < ratio */
    int32_t *top_class;     /* n x top, by falling mean (ties: lower index); the first is the prediction */
    float *top_mean, *top_std;
    uint32_t *top_votes; /* n x top: members whose own largest class this is. Meaningful where has_votes */
    uint32_t *agree;     /* n: votes of the most voted class */
    int has_votes;
} vg_report_rows;
vg_status vg_report__rows_new(vg_report_rows **out, size_t n, size_t classes);
void vg_report__rows_free(vg_report_rows *rows);
/* mean, std: count x C of samples first .. first + count - 1, std the spread the decision rule uses. Multilabel: both
 * of rows first .. first + count - 1, the mean that of "present". */
vg_status vg_report__rows_feed(vg_report_rows *rows, size_t first, size_t count, const double *mean, const double *std);
/* Members' votes of the same samples, after they were fed: probabilities or logits, float32 or float64. */
vg_status vg_report__rows_votes(vg_report_rows *rows, size_t first, const vg_predictions *block);

/* The decision rule at a list of k, counted over any number of rows, so that a page of any of them stays small. A group
 * is a true class (without labels: a predicted one) or a label. One thread adds. */
typedef struct vg_report_counts {
    size_t count, groups; /* gate settings; groups that are counted, 0: too many of them */
    double *k;            /* count, rising, each once */
    unsigned long long rows, errors;
    unsigned long long *kept, *wrong;                        /* count: rows that k keeps, and of these the errors */
    uint32_t *group_kept, *group_wrong;                      /* count x groups: the same of a group's rows */
    unsigned long long *total, *support, *predicted, *found; /* groups: rows; of that class; predicted so; both */
} vg_report_counts;
/* At the k of the page's slider and at `extra` more. Freed with vg_report__counts_free, also after a failure. */
vg_status vg_report__counts_new(vg_report_counts *counts, const double *extra, size_t extra_count, size_t groups);
void vg_report__counts_free(vg_report_counts *counts);
/* How many of the k are below a margin ratio: the rule keeps the row at these. */
size_t vg_report__counts_steps(const vg_report_counts *counts, double ratio);
/* Counts a row by its steps. truth: -1 where it is not known. label: SIZE_MAX where truth and pred are classes, else
 * they are 0 or 1 of that label. */
void vg_report__counts_add(vg_report_counts *counts, size_t steps, size_t label, int64_t truth, int64_t pred);
/* Ends the counting. */
void vg_report__counts_end(vg_report_counts *counts);

/* Some images with what the rule abstains from: the sites of one are held every `stride`-th, row by row, and of a
 * volume those of the slice in the middle. 255 levels of the measure lie between low and high. */
typedef struct vg_report_sites {
    size_t shape[4], classes;            /* N, H, W, D of all images */
    unsigned long long ignored;          /* sites left out */
    size_t count, stride, height, width; /* images in the page, and the sites that are held of each */
    const size_t *numbers;               /* count */
    const uint16_t *pred, *label;        /* count x height x width; label NULL: none */
    const uint16_t *steps;               /* likewise: counts_steps of the ratio; UINT16_MAX: left out */
    const uint8_t *level;                /* likewise; 255: left out */
    const uint8_t *photo;                /* count x channels x height x width; NULL: none */
    size_t channels;
    const uint32_t *sites, *abstained; /* count; count x counts->count: of all sites of an image */
    const char *measure;
    double low, high;
} vg_report_sites;

/* An out-of-distribution set: measures of the same names in the same order as the report's. */
typedef struct vg_report_ood {
    const char *name;
    size_t n;
    const vg_measure *measures;
    const vg_ood_row *figures; /* measure_count, of vg_ood_evaluate */
} vg_report_ood;

/* An epoch of training; NaN where a figure is not known. */
typedef struct vg_report_epoch {
    double epoch, train_loss, val_loss, val_accuracy, val_ece, diversity, k_sensitivity;
} vg_report_epoch;

/* What a page or a figure is made of. Everything it points to belongs to the caller and must live until the call
 * returns; the library keeps none of it. A report may be used by several threads at once if `image` allows it. A
 * smaller struct of an older caller is accepted. */
typedef struct vg_report {
    size_t struct_size;
    const char *title, *dataset, *ensemble, *source; /* names as they come, any bytes; NULL: not known */
    const char *note;                                /* a sentence on what was scored ("calibrated with temps.json") */
    size_t n, members, classes;                      /* members 0: not known */
    const char *const *class_names;                  /* classes; NULL: numbers */
    const double *k;
    size_t k_count;
    const vg_measure *measures; /* n values each */
    size_t measure_count;
    const vg_report_rows *rows;
    const int64_t *labels; /* n; NULL: none */
    vg_score_summary summary;
    const char *verdict, *verdict_text; /* on collapse: a word and a sentence */
    /* The evaluation of these predictions (NULL: no labels), and of the same ones at other temperatures.
     * is_calibrated says which of the two is after calibration: 1 `evaluation`, 0 `other`. */
    const vg_evaluation *evaluation, *other;
    int is_calibrated;
    const vg_report_ood *ood;
    size_t ood_count;
    const vg_report_epoch *epochs;
    size_t epoch_count;
    double collapse_epoch; /* the first epoch that raised the alarm; NaN: none */
    /* Images: image(context, sample, pixels) fills channels x height x width bytes, planar; grey or RGB. NULL: none. */
    vg_status (*image)(void *context, size_t sample, uint8_t *pixels);
    void *image_context;
    size_t channels, height, width;
    const double *train_accuracy; /* epoch_count, beside epochs; NULL: not known */
    const char *const *ids;       /* n: names of the samples; NULL: their numbers */
    /* Provenance shown to the reader, any bytes; NULL: not shown. The time it was made (2026-11-16T19:05:00Z), the
     * command that made it, and the command that decides these samples, to which the page adds -k K. */
    const char *created, *command, *decide;
    /* The command that reproduces the promise of the page, to which it adds --target-risk R --save policy.json. */
    const char *policy;
    /* epoch_count x gate_count, beside epochs: the k of the gate of every class that was trained; NULL: none */
    const double *gates;
    size_t gate_count;
    /* Multilabel: row = sample * label_count + label; ids and images are those of samples. 0: rows are samples. */
    size_t label_count;
    const char *const *label_names; /* label_count; NULL: numbers */
    /* Rows are a random sample of more, which are counted here; row i is number positions[i] of them. NULL: all */
    const vg_report_counts *counts;
    const size_t *positions;
    const vg_report_sites *sites; /* rows are sites of images; NULL: they are not */
    const char *advice;           /* which measure, k and calibrator to use, in a sentence; NULL: not known */
    const vg_finding *findings;   /* why */
    size_t finding_count;
    const char *sets;      /* figures of prediction sets (docs/schema/sets.schema.json); NULL: none */
    const char *sets_from; /* what they were calibrated on, in words */
} vg_report;
#define VG_REPORT_INIT                                                                                                 \
    { .struct_size = sizeof(vg_report) }

/* Writes the page: one self-contained HTML file. */
vg_status vg_report__page(const vg_report *report, const vg_sink *sink);

/* Figures: gnuplot scripts with their data inside. Names: "decomposition", "gated", "risk-coverage", "reliability",
 * "diversity", "training", "ood". */
const char *vg_report__figure_name(size_t figure); /* NULL past the last */
/* 1 when the report has the data of the figure, else 0. */
int vg_report__figure_possible(const vg_report *report, size_t figure);
/* terminal: "svg", "pdfcairo" or "pngcairo"; output: the file that gnuplot will write. */
vg_status vg_report__figure_script(const vg_report *report, size_t figure, const char *terminal, const char *output,
                                   const vg_sink *sink);

#endif
