/* prediction_input.h - an opened prediction file with its labels and temperatures, ready to be scored. Internal. */
#ifndef VG_WORKFLOW_PREDICTION_INPUT_H
#define VG_WORKFLOW_PREDICTION_INPUT_H

#include "formats/prediction_file.h"
#include "vargate/calibrate.h"
#include "vargate/formats.h"
#include "workflow/job.h"
#include "workflow/row_names.h"
#include "workflow/score_fields.h"

typedef struct vg_calibrator vg_calibrator;

/* Blocks of predictions that are computed during a pass instead of being read from a file. */
typedef struct vg_block_source {
    void *context;
    /* Samples first .. first + rows - 1 (at most `most`); `feed` receives their memory and the stream that writes
     * them. */
    vg_status (*block)(void *context, size_t first, size_t rows, vg_predictions *view, vg_scorer_feed_options *feed);
    size_t most;
    const char *what, *unit; /* for progress: "predicting", "images" */
} vg_block_source;

typedef struct vg_score_input {
    const char *path;
    const vg_job *job;             /* receives warnings while the file is opened, and the progress of passes over it */
    vg_prediction_file *file;      /* NULL with a source */
    const vg_block_source *source; /* NULL: the file. Borrowed */
    vg_score_layout layout;
    bool logits, called_logits; /* the latter: by an option */
    vg_score_options options;   /* ready for vg_scorer_new */
    vg_field_set measures;      /* the fields that are asked for */
    const char *own_key;        /* the labels' name, for need_labels */
    const int64_t *labels;      /* borrowed from the file: N, or N x C in multilabel mode; NULL: none */
    /* Of images whose labels are read a block at a time (vg_score_input__open_maps): the maps, the label that marks
     * sites to leave out (NULL: none), and of the block that is scored the labels, -1 at sites that are left out. */
    vg_label_maps maps;
    const int64_t *ignore;
    int64_t *block_labels;
    uint8_t *block_left;
    size_t block_room;
    unsigned long long ignored; /* sites left out so far */
    /* Of a source: names of the classes, ids of the samples, their numbers in the data set; NULL: unknown, 0, 1, ... */
    const char *const *class_names, *const *ids;
    const size_t *sample_numbers;
    char *streamed;            /* the bytes of a text format on standard input; the file borrows them */
    vg_calibrator *calibrator; /* NULL: none */
    double *class_k;           /* read from a file; options.class_k points to it */
} vg_score_input;

/* Opens `path` by the options, with labels from options->labels or from beside the predictions, and checks everything
 * that can be checked before scoring. `path`, `options` and `job` are borrowed until the input is closed. On failure
 * `in` holds nothing. */
vg_status vg_score_input__open(vg_score_input *in, const char *path, const vg_input_options *options,
                               const vg_job *job);
/* The same with the labels taken from `labels` instead of options->labels: a path, NULL for those in the file
 * itself, vg_score_no_labels for none at all, or vg_score_labels_if_any for those in the file itself and none where
 * it lacks the array that labels_key names. */
extern const char vg_score_no_labels[];
extern const char vg_score_labels_if_any[];
vg_status vg_score_input__open_labels(vg_score_input *in, const char *path, const vg_input_options *options,
                                      const char *labels, const vg_job *job);
/* As vg_score_input__open_labels, but labels of images are maps. A scoring pass reads them a block at a time and leaves
 * out the sites that options->ignore marks. */
vg_status vg_score_input__open_maps(vg_score_input *in, const char *path, const vg_input_options *options,
                                    const char *labels, const vg_job *job);
/* Whether the input has labels, and those from sample `first` of the block that is scored on; NULL: none. */
bool vg_score_input__labelled(const vg_score_input *in);
const int64_t *vg_score_input__labels(const vg_score_input *in, size_t first);
/* Reads the labels of a block, where the input has maps. */
vg_status vg_score_input__read_block(vg_score_input *in, size_t first, size_t rows);
/* VG_ERR_DATA after a pass that left out every site. */
vg_status vg_score_input__some_left(const vg_score_input *in);
/* Whether the samples are sites of images, and the lengths of N, H, W, D. */
bool vg_score_input__images(const vg_score_input *in);
const size_t *vg_score_input__shape(const vg_score_input *in);
/* Rows that are not independent of each other: the labels of a sample in multilabel mode, the sites of an image; else
 * 1. */
size_t vg_score_input__unit_rows(const vg_score_input *in);
/* Closes what is open; safe on an input that was never opened (all zero). */
void vg_score_input__close(vg_score_input *in);
/* The measures of a comparison: those asked for, and by default (all) the baselines too, where the input allows
 * them; on a GPU without the baselines. */
vg_field_set vg_score_input__compared(const vg_score_input *in);
/* Ids of the samples and names of the classes, for outputs; freed with vg_row_names__free before the input is. */
vg_status vg_score_input__names(vg_row_names *out, const vg_score_input *in);
/* Whether the first rows of the file are all distributions, which probabilities are and logits hardly ever. */
bool vg_score_input__normalised(const vg_score_input *in);
/* Reads options->temperature, checks it against the input and applies it: temperatures in in->options, a map to
 * every block, which makes the input one of probabilities. */
vg_status vg_score_input__calibrate(vg_score_input *in, const vg_input_options *options);
/* VG_ERR_DATA where an option says logits and the rows are distributions. */
vg_status vg_score_input__check_logits(const vg_score_input *in);
/* VG_ERR_DATA with a message that names what to give when there are no labels. */
vg_status vg_score_input__need_labels(const vg_score_input *in);

/* The scoring options alone, checked, for predictions that are not a file. Temperatures and logits are not set. */
vg_status vg_score_input__settings(vg_score_options *out, const vg_input_options *options);

/* A k for every class from text: numbers with commas, or the name of a file. `*out` is released by vg_base__release. */
vg_status vg_class_k__read(double **out, size_t *count, const char *text);
/* Reads options->class_k and checks a k for every class against the input's layout. */
vg_status vg_score_input__gates(vg_score_input *in, const vg_input_options *options);

/* A calibration: temperatures, by which the scorer divides logits, or a map, which makes probabilities of every
 * block before it is scored. */
struct vg_calibrator {
    double *temperature; /* count; NULL: none */
    size_t count;
    vg_calibration_map *map; /* NULL: none */
    bool logits;             /* the blocks that it maps hold logits */
    unsigned threads;
    double *room; /* a mapped block */
    size_t room_size;
};
/* From text (see vg_input_options): numbers, the name of a file or, from "{" on, the text of a map. *out is NULL when
 * there is none. */
vg_status vg_calibrator__read(vg_calibrator **out, const char *text);
void vg_calibrator__free(vg_calibrator *calibrator);
/* VG_ERR_DATA or VG_ERR_ARGUMENT unless it is for such predictions. */
vg_status vg_calibrator__check(const vg_calibrator *calibrator, const vg_score_layout *layout, bool logits,
                               const char *path);
/* Replaces a view by its mapped values; a vg_block_map_fn. */
vg_status vg_calibrator__map(void *calibrator, vg_predictions *view);

#endif
