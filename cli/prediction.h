/* prediction.h - an ensemble and the images it predicts: what writing predictions and scoring them share. */
#ifndef CLI_PREDICTION_H
#define CLI_PREDICTION_H

#include "training_data.h"
#include "vargate/device.h"

enum { PREDICTION_CHUNK = 256, PREDICTION_RUNS = 64 };

typedef struct prediction {
    const prediction_request *request;
    vg_predictor *predictors[PREDICTION_RUNS];
    vg_predictor_info info[PREDICTION_RUNS];
    size_t members;     /* of all together */
    training_data data; /* val, train */
    vg_dataset *set;    /* test, input */
    const vg_dataset *source;
    const size_t *indices; /* NULL: all of the source */
    size_t *limited;
    size_t n;
    bool labels;
    float *images, *one, *all; /* a chunk: images, logits of one network, logits of all */
} prediction;

/* Logits of samples first .. first + count - 1 (at most PREDICTION_CHUNK) into p->all, members of the networks side by side. */
vg_status prediction_logits(prediction *p, size_t first, size_t count);

/* Normalised images of those samples into p->images, as network k wants them. */
vg_status prediction_images(prediction *p, size_t k, size_t first, size_t count);

/* Scores the logits as they come, a chunk in memory at a time: a file of scores, or a summary. Returns an exit code. */
int prediction_scores(prediction *p);

#endif
