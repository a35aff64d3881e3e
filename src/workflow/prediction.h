/* prediction.h - an ensemble of trained networks and the images it predicts, opened together. Internal.
 *
 * Writing predictions and scoring them both begin here: the networks are opened and checked against each other, the
 * images are opened, adapted and checked against the networks, and logits are computed a chunk at a time. */
#ifndef VG_WORKFLOW_PREDICTION_H
#define VG_WORKFLOW_PREDICTION_H

#include <stdbool.h>

#include "workflow/prediction_input.h"
#include "workflow/run_networks.h"
#include "workflow/training_data.h"

enum { VG_PREDICTION_CHUNK = 256 }; /* samples per chunk */

typedef struct vg_prediction {
    vg_predict_runs_options options; /* checked; exactly one of split and input is set; its runs point into `runs` */
    vg_run_list runs;
    vg_predictor *predictors[VG_MAX_RUNS];
    vg_predictor_info info[VG_MAX_RUNS];
    size_t members, classes;  /* members of all networks together */
    vg_training_data data;    /* split val, train */
    vg_dataset *set;          /* split test, input */
    const vg_dataset *source; /* whichever of the two is open */
    vg_dataset *window;       /* images of the chunk from window_first on, where the source is not in memory */
    size_t window_first, window_count;
    const size_t *indices; /* n of the source; NULL: all of it */
    size_t *limited;
    size_t n;
    bool labels;               /* the labels of the source are in the network's numbers */
    float *images, *one, *all; /* a chunk: images, logits of one network, logits[chunk][members][classes] of all */
    const char **id_names;     /* n: names of the images' files, made by vg_prediction__id_names; NULL: none */
    int64_t *all_labels;       /* n, made by vg_prediction__input */
    vg_block_source blocks;    /* of that input */
    bool on_device;            /* its blocks stay in the memory of the GPU */
} vg_prediction;

/* Copies and checks the options; opens nothing. The caller must close afterwards, also on failure. */
vg_status vg_prediction__begin(vg_prediction *p, const vg_predict_runs_options *options);
/* Refuses an output that is one of the inputs, or that would replace a file that vargate did not write as that
 * product. */
typedef struct vg_prediction_output {
    const char *path;
    vg_product product;
    int force;
    const char *temperature; /* one more input; NULL: none */
} vg_prediction_output;
vg_status vg_prediction__check_output(const vg_prediction *p, const vg_prediction_output *output);
/* Opens the networks and the images. */
vg_status vg_prediction__open(vg_prediction *p);
void vg_prediction__close(vg_prediction *p);

/* Normalised images of samples first .. first + count - 1 (at most a chunk) into p->images, normalised for network
 * k. */
vg_status vg_prediction__images(vg_prediction *p, size_t k, size_t first, size_t count);
/* Logits of those samples into p->all, the members of the networks side by side. */
vg_status vg_prediction__logits(vg_prediction *p, size_t first, size_t count);
/* Makes p->id_names, where the images are files. */
vg_status vg_prediction__id_names(vg_prediction *p);
/* Label of sample i; only where p->labels. */
int64_t vg_prediction__label(const vg_prediction *p, size_t i);

/* The images that `input` of vg_predict_runs_options names: a data set, or a file or folder. */
vg_status vg_prediction__open_set(vg_dataset **out, const char *input, const vg_dataset_options *options);

/* The logits as input of a scoring pass, computed while it runs; they are scored on the device of the networks. Of
 * the options the temperature, fields and scoring are used. Closed with vg_score_input__close, before the
 * prediction. */
vg_status vg_prediction__input(vg_score_input *in, vg_prediction *p, const vg_input_options *options);

#endif
