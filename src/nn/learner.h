/* learner.h - a network and its training arithmetic: independent heads, loss, one optimiser step, ensemble
 * prediction. The trainer owns epochs, files and messages. Internal. */
#ifndef VG_LEARNER_H
#define VG_LEARNER_H

#include "nn/model.h"

typedef enum vg_optimiser { VG_OPTIMISER_ADAM = 0, VG_OPTIMISER_ADAMW = 1, VG_OPTIMISER_SGD = 2 } vg_optimiser;

typedef struct vg_learner_options {
    vg_network_spec network;
    vg_loss_form loss;
    double head_features;   /* share of the trunk's features each head reads; 0 or 1: all */
    double head_prior;      /* standard deviation of the fixed random logits; 0: none */
    bool head_bootstrap;    /* Exp(1) weights of each (training image, head) */
    double head_init_scale; /* head weights start with standard deviation scale/sqrt(fan in); 0: as the other weights */
    bool uniform_init;      /* PyTorch's default initialisation instead of He's */
    double head_anchor;     /* 0: none */
    vg_optimiser optimiser;
    double weight_decay;
    double beta1, beta2, epsilon;
    double momentum; /* of SGD */
    bool nesterov;
    double clip_norm;           /* largest norm of all gradients together; 0: any */
    double ema;                 /* decay of the running mean of the parameters; 0: none */
    double label_smoothing;     /* 0: none */
    const float *class_weights; /* network.classes; NULL: all 1. Borrowed by vg_learner__new */
    uint64_t seed;
    bool training;
} vg_learner_options;

typedef struct vg_learner {
    vg_learner_options options;
    vg_backend *backend; /* borrowed */
    vg_model *model;
    vg_model *prior;                    /* NULL: none */
    float *feature_mask;                /* [H*C][F] 0/1, NULL: none */
    vg_block *mask;                     /* the same, laid out as the head weights */
    float *anchor_weight, *anchor_bias; /* the heads at the start; NULL: none */
    vg_block *anchor;
    vg_block *average;        /* running mean of the parameters (ema), which predictions use; NULL: none */
    vg_tensor *class_weights; /* NULL: all 1 */
    vg_tensor *labels, *weights;
    float *host_weights;
    size_t batch_room;
    struct { /* the step on resident data as the device recorded it, for batches of `rows` images */
        vg_recording *recording;
        size_t rows;
        bool refused; /* it could not be recorded and is run operation by operation */
    } recorded;
    vg_tensor *kept; /* logits of vg_learner__predict_on_device */
    double penalty;  /* sum over steps since last read of rows * anchor penalty */
} vg_learner;

vg_status vg_learner__new(vg_learner **out, vg_backend *backend, const vg_learner_options *options);
void vg_learner__free(vg_learner *learner);
/* Draws everything from the seed: parameters, masks, anchor, and the prior (before vg_learner__scale_prior). */
vg_status vg_learner__initialise(vg_learner *learner);
/* Scales the prior so that its logits over these images have standard deviation head_prior. */
vg_status vg_learner__scale_prior(vg_learner *learner, const float *images, size_t n);
/* Sends mask and anchor to the device, after they were drawn or loaded. */
vg_status vg_learner__place_heads(vg_learner *learner);
/* Allocates the mask and the anchor, which a loader of checkpoints fills. */
vg_status vg_learner__room_for_heads(vg_learner *learner);

/* The k of the gate of every class, network.classes values, from the parameters that model->theta holds. Of a learner
 * with the gated loss alone. */
vg_status vg_learner__gates(vg_learner *learner, double *k);

/* Exchanges the parameters and their running mean, for work that is not training: on before, off after. Nothing where
 * there is no running mean. */
void vg_learner__exchange(vg_learner *learner);

/* One optimiser step on a batch; number counts from 0, indices are the positions of the images in the training set
 * (bootstrap). The loss is added to the totals of the backend. */
vg_status vg_learner__step(vg_learner *learner, const float *images, const int32_t *labels, const size_t *indices,
                           size_t n, uint32_t number, double rate);
/* As vg_learner__step without the optimiser: gradients are left in model->grad. */
vg_status vg_learner__gradients(vg_learner *learner, const float *images, const int32_t *labels, const size_t *indices,
                                size_t n, uint32_t number, double rate);
/* One optimiser step on n images of resident data (vg_store, backend.h), from position `at` of its plan on. From the
 * second full batch on the device replays the whole step where it can. */
vg_status vg_learner__step_stored(vg_learner *learner, const vg_store *store, uint64_t at, size_t n, uint32_t number,
                                  double rate);
/* Whether this learner can train on resident data: bootstrap weights need the positions of the images on the host. */
bool vg_learner__takes_store(const vg_learner *learner);
/* One batch of the batch-norm refresh, the index-th from 0: `images`, or where they are NULL those of the store from
 * position `at` on. */
vg_status vg_learner__refresh(vg_learner *learner, const float *images, const vg_store *store, uint64_t at, size_t n,
                              size_t index);

/* How the members of a prediction are computed. */
typedef struct vg_members {
    bool dropout;  /* MCD, MCD-LLE */
    size_t passes; /* T; 1 without dropout */
    size_t heads;  /* G: heads read in every pass */
    bool paired;   /* pass t through head t alone (passes = members) */
    size_t count;  /* M */
} vg_members;

/* Writes logits[n][M][C] of n images, of which the first is number `first` of its set (the masks depend on it).
 * rows: (image, pass) rows computed at once. */
vg_status vg_learner__predict(vg_learner *learner, float *logits, const float *images, size_t n, uint64_t first,
                              const vg_members *members, size_t rows);
/* As vg_learner__predict, but the logits stay on the device: a PLAIN tensor of n rows of members x classes, valid
 * until the next call. VG_ERR_UNSUPPORTED where the backend has no such operation. */
vg_status vg_learner__predict_on_device(vg_learner *learner, vg_tensor **logits, const float *images, size_t n,
                                        uint64_t first, const vg_members *members, size_t rows);

#endif
