/* compare.h - comparison of runs and predictions, and of runs of the paper's recipes with its table.
 *
 *     const char *inputs[] = {"runs/a", "runs/b"};
 *     vg_compare_result *result;
 *     if (vg_compare(&result, inputs, 2, NULL, NULL) == VG_OK)
 *         vg_compare_result_save(result, "comparison.md");
 *
 * Threads. Functions here may be called from several threads at once, each with its own options and results; a
 * result may be read by several. */
#ifndef VARGATE_COMPARE_H
#define VARGATE_COMPARE_H

#include "vargate/workflow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- comparing runs ----------------------------------------------------------------------------------------------- */

typedef struct vg_compare_options {
    size_t struct_size; /* sizeof(vg_compare_options), set by VG_COMPARE_OPTIONS_INIT */
    size_t resamples;   /* bootstrap for intervals and paired tests; 0: neither */
    uint64_t seed;
    double confidence;
    vg_job job;
} vg_compare_options;
#define VG_COMPARE_OPTIONS_INIT {sizeof(vg_compare_options), 1000, 1, 0.95, VG_JOB_INIT}

/* One row of a comparison. */
typedef struct vg_compared {
    const char *name; /* the run's, followed by "calibrated" or "mcd-lle" where a run has several rows */
    const char *path; /* of the run folder or the file */
    size_t n, m, c;
    const char *measure; /* the one of lowest AURC, by which AURC and error AUROC are given; "" where there is none */
    int predictions;     /* 1: computed from predictions; 0: figures that were stored, without intervals */
    int paired;          /* 1: the same samples as the first row, so that differences can be tested */
    const double *curve; /* risk of `measure` at curve_points coverages 1/points .. 1; NULL without predictions */
    size_t curve_points;
    const char *const *ood_names; /* out-of-distribution sets of a run, and the best AUROC on each */
    const double *ood_auroc;
    size_t ood_count;
} vg_compared;

/* Everything belongs to the result. */
typedef struct vg_compare_result {
    size_t struct_size;
    size_t resamples;
    double confidence;
    size_t count;
    const vg_compared *rows;        /* count */
    const vg_figure_table *table;   /* accuracy, F1, ECE, NLL, Brier, D, AURC, error AUROC, OOD AUROC of each row */
    const vg_estimate *differences; /* count x columns: to the first row, with intervals; NaN where not paired */
    const double *p_values;         /* count x columns; NaN where there is no test. Accuracy: McNemar's exact test;
                                         others, and all of images, whole ones of which are drawn: paired bootstrap.
                                         ECE, D and OOD AUROC have none */
} vg_compare_result;

enum { VG_COMPARE_MOST = 64 }; /* inputs of a comparison */

/* Compares `count` inputs with the first of them: folders of finished runs (their test predictions as trained, and
 * calibrated where they have temperatures; without predictions the figures in results.json), files of predictions with
 * labels, and documents of `vargate evaluate --json` or results.json. VG_ERR_DATA, naming the input, for a run that is
 * not finished, other classes than the first's, and predictions without labels. `input` and `options` may be NULL:
 * defaults. `*out` is the caller's, freed with vg_compare_result_free. */
VG_API vg_status vg_compare(vg_compare_result **out, const char *const *paths, size_t count,
                            const vg_input_options *input, const vg_compare_options *options);
/* Frees the result and everything in it. NULL is accepted. */
VG_API void vg_compare_result_free(vg_compare_result *result);
/* docs/schema/compare.schema.json. `*out` is freed with vg_free. */
VG_API vg_status vg_compare_result_json(char **out, const vg_compare_result *result);
/* The table as a file: .json, .csv, .md, or .html (a page with curves), written beside and renamed. */
VG_API vg_status vg_compare_result_save(const vg_compare_result *result, const char *path);

/* --- a grid of runs ----------------------------------------------------------------------------------------------- */

typedef struct vg_sweep_options {
    size_t struct_size;          /* sizeof(vg_sweep_options), set by VG_SWEEP_OPTIONS_INIT */
    const char *recipe;          /* as of vg_recipe_find */
    const char *const *settings; /* "key=value", or "key=a,b,c" for a run with each; commas in [] belong to a value */
    size_t setting_count;
    const char *folder; /* folder of the runs, made where it is missing; NULL: runs/NAME-sweep of the recipe */
    const char *data;   /* folder searched first for data sets; NULL: the places of vg_data_places alone */
    const char *device; /* "auto", "cpu", "cuda"; NULL: auto */
    unsigned threads;   /* of each run on the CPU; 0: the cores divided by jobs */
    unsigned jobs;      /* runs at once; 0: 1. Results do not depend on it */
    size_t resamples;   /* as of vg_compare_options */
    vg_job job;         /* receives the lines of every run with its name, and finished runs as progress */
} vg_sweep_options;
#define VG_SWEEP_OPTIONS_INIT {sizeof(vg_sweep_options), NULL, NULL, 0, NULL, NULL, NULL, 0, 0, 1000, VG_JOB_INIT}

/* Runs the recipe with every combination of the settings (vg_run_recipe), at most VG_COMPARE_MOST, into
 * FOLDER/KEY=VALUE,..., and compares them (vg_compare) with the first; writes FOLDER/comparison.md and .html. All
 * recipes are checked before the first training. Called again, it skips what is finished and continues what was
 * stopped. `*out` is the caller's, freed with vg_compare_result_free. */
VG_API vg_status vg_sweep(vg_compare_result **out, const vg_sweep_options *options);

/* --- the paper's table -------------------------------------------------------------------------------------------- */

/* A cell of the paper's table of accuracy, macro F1 and ECE. */
typedef struct vg_paper_cell {
    const char *dataset;  /* "mnist", "svhn", "cifar10", "cifar100" */
    const char *ensemble; /* "mcd", "mcd-lle", "lle", "lle-calibrated" */
    const char *recipe;   /* whose run has it: "mnist-mcd", "mnist-lle" */
    double paper[3];      /* accuracy, F1, ECE as published; a misprinted accuracy is given as corrected */
    double ours[3];       /* of the run; NaN where it is not there */
    int there;            /* the run is finished */
    int within;           /* accuracy and ECE are within the tolerances of a repetition (docs/cli.md, reproduce) */
} vg_paper_cell;

typedef struct vg_reproduction {
    size_t struct_size;
    size_t count;               /* 16 */
    const vg_paper_cell *cells; /* data set by data set, ensembles in the paper's order */
} vg_reproduction;

/* Reads the finished runs FOLDER/DATASET-mcd and FOLDER/DATASET-lle of the paper's recipes; a run that is missing
 * leaves its cells empty, one that cannot be read is VG_ERR_DATA. `folder` NULL: no run is read. `*out` is the
 * caller's, freed with vg_reproduction_free. */
VG_API vg_status vg_reproduction_read(vg_reproduction **out, const char *folder);
/* Frees the table. NULL is accepted. */
VG_API void vg_reproduction_free(vg_reproduction *reproduction);
/* Writes table.md, table.json and index.html, a page with the table and the figures that the runs' reports have drawn,
 * into the folder that was read. */
VG_API vg_status vg_reproduction_save(const vg_reproduction *reproduction);

#ifdef __cplusplus
}
#endif
#endif
