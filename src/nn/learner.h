/* learner.h - a network with everything that learns around it: heads kept apart, loss, one optimiser step, ensemble prediction.
 * Internal. The trainer owns epochs, files and messages; this owns arithmetic. */
#ifndef VG_LEARNER_H
#define VG_LEARNER_H

#include "nn/model.h"

typedef struct vg_learner_options {
    vg_network_spec network;
    vg_loss_form loss;
    double head_features;   /* share of the trunk's features each head reads; 0 or 1: all */
    double head_prior;      /* standard deviation of the fixed random logits; 0: none */
    bool head_bootstrap;    /* Exp(1) weights of each (training image, head) */
    double head_init_scale; /* head weights start with standard deviation scale/sqrt(fan in); 0: as the other weights */
    bool uniform_init;      /* PyTorch's default initialisation instead of He's */
    double head_anchor;     /* 0: none */
    double weight_decay;
    double beta1, beta2, epsilon;
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
    vg_tensor *labels, *weights;
    float *host_weights;
    size_t batch_room;
    struct { /* the step over stored images as the device noted it, for batches of `rows` */
        vg_recording *recording;
        size_t rows;
        bool refused; /* it could not be noted: run operation by operation */
    } noted;
    vg_tensor *kept; /* logits of members that stay on the device */
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
/* Makes room for the mask / the anchor, to be filled by a loader. */
vg_status vg_learner__room_for_heads(vg_learner *learner);

/* One step on a batch: number counts from 0. indices name the images (bootstrap). The loss is added to the backend's totals. */
vg_status vg_learner__step(vg_learner *learner, const float *images, const int32_t *labels, const size_t *indices, size_t n,
                           uint32_t number, double rate);
/* The same without the optimiser: gradients are left in model->grad. */
vg_status vg_learner__gradients(vg_learner *learner, const float *images, const int32_t *labels, const size_t *indices,
                                size_t n, uint32_t number, double rate);
/* One step on n images of a store (backend.h), from place `at` of its plan on. From the second full batch on the device replays
 * the step as a whole where it can. */
vg_status vg_learner__step_stored(vg_learner *learner, const vg_store *store, uint64_t at, size_t n, uint32_t number,
                                  double rate);
/* Whether this learner can train on a store: bootstrap weights need the images' numbers on the host. */
bool vg_learner__takes_store(const vg_learner *learner);
/* One batch of the batch-norm refresh, the index-th from 0: images, or where they are NULL the store's from place `at`. */
vg_status vg_learner__refresh(vg_learner *learner, const float *images, const vg_store *store, uint64_t at, size_t n,
                              size_t index);

/* How members are made in prediction. */
typedef struct vg_members {
    bool dropout;  /* MCD, MCD-LLE */
    size_t passes; /* T; 1 without dropout */
    size_t heads;  /* G: heads read in every pass */
    bool paired;   /* pass t through head t alone (passes = members) */
    size_t count;  /* M */
} vg_members;

/* Logits[n][M][C] of n images, of which the first is number `first` of its set (masks depend on that). rows: how many (image,
 * pass) rows to compute at once. */
vg_status vg_learner__predict(vg_learner *learner, float *logits, const float *images, size_t n, uint64_t first,
                              const vg_members *members, size_t rows);
/* The same, left on the device: PLAIN, n rows of members x classes, valid until the next call. VG_ERR_UNSUPPORTED where the
 * backend does not place members. */
vg_status vg_learner__predict_there(vg_learner *learner, vg_tensor **logits, const float *images, size_t n, uint64_t first,
                                    const vg_members *members, size_t rows);

#endif
