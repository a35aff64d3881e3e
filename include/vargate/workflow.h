/* workflow.h - the commands of the program as functions: options in, typed results out, nothing printed.
 *
 * The modules below compute; this one does the whole of a task: it opens files, checks that they fit each other,
 * streams them through a scorer, evaluates, writes outputs beside their names and renames them. The command line and
 * the Python package are two interfaces to it.
 *
 * Listening to a job. The options of every function that takes its time end in a `vg_job` (listener.h).
 *
 * Threads. Functions here may be called from several threads at once, each with its own options and results.
 *
 * Errors. A function that returns vg_status leaves its reason in vg_error_message(), and *out is then NULL or holds
 * nothing to be freed. VG_ERR_IO, VG_ERR_FORMAT and VG_ERR_DATA: a file, as in formats.h. VG_ERR_ARGUMENT: an option,
 * or files that do not fit each other. VG_ERR_UNSUPPORTED: a device that is not here. VG_ERR_INTERRUPTED: the listener
 * asked to stop. */
#ifndef VARGATE_WORKFLOW_H
#define VARGATE_WORKFLOW_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/calibrate.h"
#include "vargate/data.h"
#include "vargate/evaluate.h"
#include "vargate/fields.h"
#include "vargate/formats.h"
#include "vargate/listener.h"
#include "vargate/measures.h"
#include "vargate/nn.h"
#include "vargate/sets.h"
#include "vargate/status.h"
#include "vargate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- checking outputs --------------------------------------------------------------------------------------------- */

/* Whether `path` may be written as that product; "-", standard output, always. VG_ERR_ARGUMENT when its ending does
 * not belong to the product (scores, decisions, figures), when it is one of the inputs (the same file by device and
 * inode, so also through links; "-" is standard input; NULL entries are ignored), and, unless `force`, when it
 * exists and vargate did not write it as that product. Functions that write an output call it before any work. */
VG_API vg_status vg_target_check(const char *path, vg_product product, const char *const *inputs, size_t input_count,
                                 int force);

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The name among `count` that a person who wrote `word` probably meant: one that begins with it (three letters or
 * more), or the one of the fewest edits, if these are at most 1 + a quarter of its length. NULL: none. Borrowed. */
VG_API const char *vg_nearest_name(const char *word, const char *const *names, size_t count);

/* --- recipes and training ----------------------------------------------------------------------------------------- */

/* Reads a recipe: a file, or the name of one that ships (a copy in recipes/ of the working folder comes first), then
 * applies `change_count` changes "key=value" and refuses settings that cannot be combined. */
VG_API vg_status vg_recipe_find(vg_recipe *recipe, const char *name, const char *const *changes, size_t change_count);

typedef struct vg_train_recipe_options {
    size_t struct_size;
    const vg_recipe *recipe;
    const char *folder; /* run folder, made where it is missing; NULL: runs/NAME of the recipe */
    const char *data;   /* folder searched first for data sets; NULL: the places of vg_data_places alone */
    const char *device; /* "auto", "cpu", "cuda"; NULL: auto */
    unsigned threads;   /* 0: one per core */
    int resume;         /* continue from the folder's last checkpoint if there is one */
    /* The events of vg_train as they are, for callers that want figures rather than lines; may be NULL. A non-zero
     * return asks for a checkpoint and a stop. */
    int (*event)(void *context, const vg_train_event *event);
    void *event_context;
    vg_job job;
    /* Networks of a deep ensemble trained at once on the CPU, each with `threads` threads (0: the cores divided by
     * jobs); fewer where memory does not suffice. The result is the same one by one, as a GPU trains them. 0: 1. */
    unsigned jobs;
    int tensorboard; /* 1: figures of the epochs also as an event file in RUN/tensorboard */
} vg_train_recipe_options;
#define VG_TRAIN_RECIPE_OPTIONS_INIT                                                                                   \
    { sizeof(vg_train_recipe_options), NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, VG_JOB_INIT, 0, 0 }

/* Opens the recipe's data set, holds out its validation images and trains with vg_train, whose files and errors are the
 * same. The job receives every epoch's figures as a note, steps as progress (whose text changes with epoch and loss),
 * and an alarm of diversity collapse as a warning. Stopped by the job or the event function, it leaves a checkpoint to
 * resume from and fails with VG_ERR_INTERRUPTED.
 *
 * The networks of a deep ensemble are runs of their own in FOLDER/network-1, -2, ...: a resumed call continues those
 * that are not finished. The figures of `result` are then means over the networks, its epochs_done and seconds sums.
 * The listeners receive one message at a time, possibly from several threads. */
VG_API vg_status vg_train_recipe(vg_train_result *result, const vg_train_recipe_options *options);

/* --- predicting with trained networks ----------------------------------------------------------------------------- */

enum { VG_MAX_RUNS = 64 }; /* most networks of one deep ensemble */

typedef struct vg_predict_runs_options {
    size_t struct_size;
    const char *const *runs; /* run folders or checkpoint files; several make one ensemble */
    size_t run_count;
    int checkpoint;     /* of a run folder: 0 last, 1 best, -1 the recipe's */
    const char *split;  /* "test", "val" (held out) or "train" of the first network's data set; NULL: see input */
    const char *input;  /* other images: a data set's name, "path:...", a file or a folder; both NULL: split "test" */
    const char *data;   /* folder searched first for data sets; NULL: the places of vg_data_places alone */
    const char *device; /* "auto", "cpu", "cuda"; NULL: auto */
    unsigned threads;   /* 0: one per core */
    int ensemble;       /* a vg_ensemble, or -1: the recipe's */
    size_t members, passes, heads; /* as in vg_predictor_options */
    int logits;                    /* write logits Z instead of probabilities P */
    const char *output;            /* .npz or .safetensors, written beside and renamed */
    int force;                     /* replace an existing output even if vargate did not write it */
    vg_job job;
    int skip_corrupt;    /* leave out image files that cannot be decoded, also where the recipe does not */
    int labels_optional; /* labels that the network does not know are left out without a warning (OOD images) */
} vg_predict_runs_options;
#define VG_PREDICT_RUNS_OPTIONS_INIT                                                                                   \
    {                                                                                                                  \
        sizeof(vg_predict_runs_options), NULL, 0, -1, NULL, NULL, NULL, NULL, 0, -1, 0, 0, 0, 0, NULL, 0, VG_JOB_INIT, \
            0, 0                                                                                                       \
    }

typedef struct vg_predict_runs_result {
    size_t struct_size; /* set by the caller: VG_PREDICT_RUNS_RESULT_INIT */
    size_t samples, members, classes;
    size_t epoch;   /* epochs that the first network's checkpoint was trained for */
    int has_labels; /* the images have labels, and the network knows their classes */
} vg_predict_runs_result;
#define VG_PREDICT_RUNS_RESULT_INIT                                                                                    \
    { sizeof(vg_predict_runs_result), 0, 0, 0, 0, 0 }

/* Writes P (or Z) of shape (samples, members, classes), the members of several networks side by side, the labels L and
 * the names of the classes where they are known. Networks must agree in the shape of images and the set of classes; a
 * class order of their own is put into the first network's. VG_ERR_DATA when images do not fit the network, or, for
 * "val" and "train", are not those it was trained on. `result` may be NULL. */
VG_API vg_status vg_predict_runs(vg_predict_runs_result *result, const vg_predict_runs_options *options);

/* --- predictions to be scored ------------------------------------------------------------------------------------- */

/* How a file of predictions is read and scored. Texts and arrays are borrowed for the call. */
typedef struct vg_input_options {
    size_t struct_size; /* sizeof(vg_input_options), set by VG_INPUT_OPTIONS_INIT */
    const char *key;    /* array to take from the file; NULL: P, Q or Z, or the only one that fits */
    const char *axes; /* a letter each, see vg_sites_view; NULL: NMC, with a warning where the shape looks otherwise */
    int logits;       /* 1: the file holds logits; -1: known by the name of the array */
    const char *classes, *id, *member; /* columns of a table, see vg_prediction_options */
    const char *labels;                /* file with the labels; NULL: those stored beside the predictions */
    const char *labels_key;            /* their array, column or field; NULL: by the usual names */
    int labels_from;                   /* the number that labels have for the first class, 0 or 1 */
    const char
        *temperature;    /* logits are divided by it: a number, numbers separated by commas with one per member, or a
                                file of temperatures; NULL: none */
    vg_field_set fields; /* what to compute; 0: everything */
    const vg_score_options *scoring; /* conventions, gate settings, task, threads, device; NULL: the defaults. Its
                                        logits and temperature are not read: the fields above decide */
    const char *separator, *decimal; /* of a table, see vg_prediction_options; NULL: recognised */
    const char *format;  /* of predictions on standard input: an ending of file names without its dot ("csv"); NULL: a
                           binary kind, known by its content */
    const char *class_k; /* file with a k for every class, written by 'vargate fit-k'; the gate settings are multiples
                            of it (vg_score_options.class_k, which it replaces). NULL: none */
    /* Label of the sites of images that are left out of every figure: their measures are NaN, their decisions -2.
     * NULL: none. */
    const int64_t *ignore;
    const char *group; /* column of a table, see vg_prediction_options */
} vg_input_options;
#define VG_INPUT_OPTIONS_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(vg_input_options), NULL, NULL, -1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL,    \
            NULL, NULL, NULL                                                                                           \
    }

/* --- scoring a file ----------------------------------------------------------------------------------------------- */

typedef struct vg_score_file_options {
    size_t struct_size; /* sizeof(vg_score_file_options), set by VG_SCORE_FILE_OPTIONS_INIT */
    const char *output; /* scores of every sample: .npz, .safetensors, .csv or .jsonl by its ending; NULL: no file */
    int force;          /* replace an output that vargate did not write */
    int summary;        /* statistics of every measure, counts of decisions and the verdict in the result */
    vg_job job;
    /* Of images: folder for maps of measures, predictions and decisions, as .npy (N, H, W) and as PNG pictures of the
     * first `pictures` images (docs/cli.md); NULL: none. */
    const char *maps;
    size_t pictures;
} vg_score_file_options;
#define VG_SCORE_FILE_OPTIONS_INIT                                                                                     \
    { sizeof(vg_score_file_options), NULL, 0, 1, VG_JOB_INIT, NULL, 20 }

/* Over the samples; quantiles as NumPy's: linear between neighbours. NaN when any value is NaN. */
typedef struct vg_column_stats {
    double mean, median, p95;
} vg_column_stats;

/* One measure at one gate setting. Multilabel: `stats` of the mean over a sample's labels, `max` of the largest. */
typedef struct vg_score_row {
    char name[48]; /* "tu", "gtu@2" */
    vg_column_stats stats, max;
} vg_score_row;

/* The decision rule at one k. */
typedef struct vg_gate_row {
    double k;
    unsigned long long kept, kept_correct;
    double coverage, accuracy; /* accuracy on the kept; NaN without labels */
} vg_gate_row;

/* Entries are samples, or (sample, label) pairs in multilabel mode. Everything belongs to the result. */
typedef struct vg_score_result {
    size_t struct_size;
    const char *file;
    size_t n, m, c;
    int logits, multilabel, labelled;
    const double *k; /* k_count gate settings */
    size_t k_count;
    const vg_score_summary *summary; /* diversity and what the verdict looks at */
    /* The following only with options.summary. */
    size_t measure_count;
    const vg_score_row *measures;
    size_t rule_count; /* 0 where decisions were not computed */
    const vg_gate_row *rule;
    unsigned long long entries, correct; /* correct: only where `judged` */
    int judged;                          /* predictions were compared with labels */
    double accuracy;                     /* NaN unless judged */
    int flagged;                         /* flags were computed: ties and gated_out are counted */
    unsigned long long ties, gated_out;
    const vg_verdict *verdict;
    /* Of images, whose sites are the samples, with options.summary or an output: lengths of N, H, W, D (0: no images),
     * sites that `ignore` leaves out, and a row for each image, of image_measure and of the rule at the first k. */
    size_t sites[4], image_count;
    unsigned long long ignored;
    const vg_image_row *images;
    const size_t *image_order; /* by falling abstained_share */
    const char *image_measure; /* "gmu"; NULL: no measure was computed */
} vg_score_result;

/* Scores the predictions in `path` ("-": from standard input, in the format of `input`). `input` and `options` may be
 * NULL: defaults. `out` may be NULL where only the output file is wanted; else `*out` is the caller's, freed with
 * vg_score_result_free. The output appears under its name, complete, or not at all. */
VG_API vg_status vg_score_file(vg_score_result **out, const char *path, const vg_input_options *input,
                               const vg_score_file_options *options);
/* The same for what networks predict: their logits are scored as they are computed, where the networks run, and never
 * kept. Of `runs` everything counts but logits, output, force and job; of `input` temperature, fields and scoring. */
VG_API vg_status vg_score_runs(vg_score_result **out, const vg_predict_runs_options *runs,
                               const vg_input_options *input, const vg_score_file_options *options);
/* Frees the result with everything it owns. NULL is accepted. */
VG_API void vg_score_result_free(vg_score_result *result);
/* docs/schema/score.schema.json. `*out` is freed with vg_free. */
VG_API vg_status vg_score_result_json(char **out, const vg_score_result *result);

/* Scores that a caller holds, of vg_score or of a scorer: any number of samples, all fields that were computed. */
typedef struct vg_score_set {
    size_t struct_size; /* sizeof(vg_score_set), set by VG_SCORE_SET_INIT */
    size_t n, m, c;
    int logits, multilabel;
    const double *k; /* k_count gate settings, > 0 */
    size_t k_count;
    const vg_scores *scores;         /* NULL pointers: not computed */
    const vg_score_summary *summary; /* diversity and what the verdict looks at */
    const int64_t *labels;           /* n, or n x c of 0 and 1 in multilabel mode; NULL: none */
    const char *const *class_names;  /* c, UTF-8; NULL: none. Written to files of arrays as `classes` */
    const char *const *ids;          /* n, UTF-8; NULL: none. Written to files of arrays as `id` */
    unsigned threads;                /* 0: one per core */
    const double *class_k;           /* c: the k for every class that the scores were made with; NULL: none */
} vg_score_set;
#define VG_SCORE_SET_INIT                                                                                              \
    { sizeof(vg_score_set), 0, 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL }

/* Ends the scoring of such a set as vg_score_file ends that of a file: with the same output, byte for byte, and the
 * same figures, whose `file` is "". Everything is borrowed for the call. */
VG_API vg_status vg_score_set_finish(vg_score_result **out, const vg_score_set *set,
                                     const vg_score_file_options *options);

/* --- tables of figures -------------------------------------------------------------------------------------------- */

typedef struct vg_figure {
    const char *key;   /* its name in JSON; NULL: it has none of its own */
    const char *title; /* "AURC", "risk@80%" */
    int higher;        /* the larger the better */
    int percent;       /* a share that is best shown as a percentage */
} vg_figure;

/* One row per measure, one column per figure. */
typedef struct vg_figure_table {
    size_t rows, columns;
    const char *const *names;  /* rows */
    const vg_figure *figures;  /* columns */
    const vg_estimate *values; /* rows x columns */
    const size_t *best;        /* columns: the row of the best figure, the first of equals; `rows` when all are NaN */
} vg_figure_table;

/* --- evaluating a file -------------------------------------------------------------------------------------------- */

typedef struct vg_evaluate_file_options {
    size_t struct_size;      /* sizeof(vg_evaluate_file_options), set by VG_EVALUATE_FILE_OPTIONS_INIT */
    size_t bins;             /* of the calibration errors */
    size_t resamples;        /* bootstrap for intervals; 0: none */
    uint64_t seed;           /* of the bootstrap */
    double confidence;       /* of the intervals */
    const double *coverages; /* whose risk is given, in (0, 1], at most VG_MAX_OPERATING_POINTS; NULL: the usual */
    size_t coverage_count;
    const double *risks; /* whose coverage is given; likewise */
    size_t risk_count;
    size_t curve_points; /* of each measure's risk-coverage curve; 0: none */
    vg_job job;
} vg_evaluate_file_options;
#define VG_EVALUATE_FILE_OPTIONS_INIT                                                                                  \
    { sizeof(vg_evaluate_file_options), 15, 0, 1, 0.95, NULL, 0, NULL, 0, 0, VG_JOB_INIT }

/* Everything belongs to the result. */
typedef struct vg_evaluation_result {
    size_t struct_size;
    const char *file;
    size_t n, m, c;
    int logits, multilabel;
    const vg_evaluation *evaluation;
    const vg_figure_table *whole;    /* one row: the figures of the data set as a whole */
    const vg_figure_table *measures; /* one row per measure: how well it separates errors from correct predictions */
    size_t interval_columns;         /* of `measures`: those with an interval of interest come first */
    /* The rows and columns of `measures` that a first look needs, in 80 columns of text: what is best, the
     * variance-gated measures and the usual ones. */
    const vg_figure_table *brief;
    const vg_verdict *verdict;
    size_t finding_count; /* the findings of the evaluation */
    const vg_finding *findings;
    const char *const *class_names; /* c names; NULL: not known */
    size_t sites[4], image_count;   /* of images, whose sites are the rows: lengths of N, H, W, D; 0: none */
    unsigned long long ignored;     /* sites left out */
    const vg_image_row *images;
    const size_t *image_order; /* by falling abstained_share */
    const char *advice;        /* which measure, k and calibrator to use, in one sentence; the findings say why */
} vg_evaluation_result;

/* Evaluates the predictions in `path` against their labels; VG_ERR_DATA where there are none. `input` and `options` may
 * be NULL: defaults. `*out` is the caller's, freed with vg_evaluation_result_free. */
VG_API vg_status vg_evaluate_file(vg_evaluation_result **out, const char *path, const vg_input_options *input,
                                  const vg_evaluate_file_options *options);
/* Frees the result with everything it owns. NULL is accepted. */
VG_API void vg_evaluation_result_free(vg_evaluation_result *result);
/* docs/schema/evaluate.schema.json. */
VG_API vg_status vg_evaluation_result_json(char **out, const vg_evaluation_result *result);

/* Which calibrator of the mean over members these predictions support, as the finding on it in an evaluation:
 * mean[n][c] and n labels in 0 .. c - 1 of independent samples, which sites of an image are not (for those: compare of
 * vg_calibrate_options); of many samples some are used, which the text says. threads: 0: one per core.
 * Predictions that are too few or no distributions are no error: the verdict is then "unknown". The finding is the
 * caller's; several threads may call it at once. */
VG_API vg_status vg_calibrator_finding(vg_finding *out, const double *mean, const int64_t *labels, size_t n, size_t c,
                                       unsigned threads);

/* Writes every figure of `count` evaluations, beside and renamed: .json (a document; with `list`, or of several, a
 * list of them) or .csv (one row per file and measure); "-": JSON on standard output. An existing file is replaced:
 * call vg_target_check before. */
VG_API vg_status vg_evaluation_results_save(const vg_evaluation_result *const *results, size_t count, int list,
                                            const char *path);

/* --- detecting out-of-distribution samples ------------------------------------------------------------------------ */

typedef struct vg_ood_files_options {
    size_t struct_size; /* sizeof(vg_ood_files_options), set by VG_OOD_FILES_OPTIONS_INIT */
    size_t resamples;   /* bootstrap for intervals; 0: none */
    uint64_t seed;
    double confidence;
    vg_job job;
} vg_ood_files_options;
#define VG_OOD_FILES_OPTIONS_INIT                                                                                      \
    { sizeof(vg_ood_files_options), 0, 1, 0.95, VG_JOB_INIT }

/* One out-of-distribution file. */
typedef struct vg_ood_set {
    const char *name; /* the file's name without folder and ending, made unique */
    const char *file;
    size_t n;
    const vg_ood_row *rows;       /* one per measure */
    const vg_figure_table *table; /* the same as a table; its last column, the detection error, has no interval */
} vg_ood_set;

/* Everything belongs to the result. */
typedef struct vg_ood_result {
    size_t struct_size;
    const char *id_file;
    size_t id_n;
    size_t resamples;
    double confidence;
    size_t set_count;
    const vg_ood_set *sets;
} vg_ood_result;

/* How well each measure separates the samples of each of `count` files from those of `id_path`; labels are not read.
 * Multilabel: the mean over a sample's labels, and under NAME_max (snr: snr_min) the most uncertain. `input` and
 * `options` may be NULL. `*out` is owned by the caller, freed with vg_ood_result_free. */
VG_API vg_status vg_ood_files(vg_ood_result **out, const char *id_path, const char *const *paths, size_t count,
                              const vg_input_options *input, const vg_ood_files_options *options);
/* Frees the result with everything it owns. NULL is accepted. */
VG_API void vg_ood_result_free(vg_ood_result *result);
/* Writes the figures of a comparison as vg_evaluation_results_save does those of evaluations. */
VG_API vg_status vg_ood_result_save(const vg_ood_result *result, const char *path);
/* docs/schema/ood.schema.json. */
VG_API vg_status vg_ood_result_json(char **out, const vg_ood_result *result);

/* --- calibrating a file ------------------------------------------------------------------------------------------- */

typedef struct vg_calibrate_file_options {
    size_t struct_size;
    const vg_calibrate_options *fit; /* the solver and its settings; NULL: the defaults. Its progress is the job's */
    const char *output;              /* temperatures as JSON, for vg_input_options.temperature; NULL: no file */
    int force;                       /* replace an existing output even if vargate did not write it */
    vg_job job;
} vg_calibrate_file_options;
#define VG_CALIBRATE_FILE_OPTIONS_INIT                                                                                 \
    { sizeof(vg_calibrate_file_options), NULL, NULL, 0, VG_JOB_INIT }

/* Fits temperatures, or the maps of fit->method, to a file of validation predictions with labels. Temperatures of
 * members need logits; the other maps take probabilities too. `input` and `options` may be NULL: defaults. Temperature,
 * fields, scoring and device of the input are not read. `*out` is owned by the caller, freed with vg_calibration_free;
 * vg_temperatures_text gives it as JSON. */
VG_API vg_status vg_calibrate_file(vg_calibration **out, const char *path, const vg_input_options *input,
                                   const vg_calibrate_file_options *options);

/* --- a whole run -------------------------------------------------------------------------------------------------- */

typedef struct vg_run_recipe_options {
    size_t struct_size;
    const vg_recipe *recipe;
    const char *folder; /* run folder, made where it is missing; NULL: runs/NAME of the recipe */
    const char *data;   /* folder searched first for data sets; NULL: the places of vg_data_places alone */
    const char *device; /* of training and predicting: "auto", "cpu", "cuda"; NULL: auto */
    unsigned threads;   /* 0: one per core */
    int (*event)(void *context, const vg_train_event *event); /* as in vg_train_recipe_options */
    void *event_context;
    vg_job job;
    unsigned jobs;   /* as in vg_train_recipe_options */
    int tensorboard; /* likewise */
    int mcd_lle;     /* of a last-layer ensemble with dropout, evaluate the members with dropout too: mcd-lle.json */
    const vg_recipe *later; /* recipes that are run afterwards: their data sets must be here too; NULL: none */
    size_t later_count;
} vg_run_recipe_options;
#define VG_RUN_RECIPE_OPTIONS_INIT                                                                                     \
    { sizeof(vg_run_recipe_options), NULL, NULL, NULL, NULL, 0, NULL, NULL, VG_JOB_INIT, 0, 0, 0, NULL, 0 }

/* Everything belongs to the result. */
typedef struct vg_run_result {
    size_t struct_size;
    const char *folder;
    vg_train_result training;                           /* epochs_done 0: it was finished already */
    const vg_evaluation_result *test, *test_calibrated; /* NULL: the recipe does not calibrate */
    const vg_ood_result *ood, *ood_calibrated;          /* sets in the recipe's order, possibly none; likewise */
    const char *const *ood_names;                       /* as the recipe has them */
} vg_run_result;

/* Trains a recipe, predicts its validation, test and out-of-distribution images, calibrates, scores and evaluates.
 * Everything is kept in the run folder (docs/training.md), all figures in its results.json. Called again, it skips
 * finished stages and continues the one that was stopped. A recipe that differs only in settings used after training
 * (k, calibrate, ood, test_limit, members, checkpoint) continues the same run. A failed call keeps the files of
 * earlier stages. `*out` is owned by the caller, freed with vg_run_result_free. vg_page_write (page.h) makes a page
 * of the run. */
VG_API vg_status vg_run_recipe(vg_run_result **out, const vg_run_recipe_options *options);
/* Frees the result with everything it owns. NULL is accepted. */
VG_API void vg_run_result_free(vg_run_result *result);

#ifdef __cplusplus
}
#endif
#endif
