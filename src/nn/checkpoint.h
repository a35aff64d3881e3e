/* checkpoint.h - a learner and the state of its training in one .safetensors file. Internal. */
#ifndef VG_CHECKPOINT_H
#define VG_CHECKPOINT_H

#include "nn/learner.h"
#include "vargate/nn.h"

/* Everything that, with the recipe and the data, decides how training goes on. Randomness needs no more: every draw is a
 * function of the seed and of where it is made, and the order of the data one of (seed, epoch). */
typedef struct vg_train_state {
    size_t epoch;         /* epochs done */
    size_t step;          /* steps done of the next one */
    uint64_t total_steps; /* optimiser steps in all */
    double loss_sum;      /* of the epoch under way: over rows */
    uint64_t loss_rows, correct;
    double seconds; /* spent training in the epoch under way */
    size_t best_epoch;
    double best_accuracy, best_loss;
    double peak_diversity;
    size_t low_epochs; /* epochs in a row below the alarm */
    bool collapsed;
    size_t channels, height, width, classes;
    double mean[16], std[16];
} vg_train_state;

/* full: with the optimiser's moments, for going on; else for prediction alone. */
vg_status vg_checkpoint__save(const char *path, vg_learner *learner, const vg_recipe *recipe, const vg_train_state *state,
                              bool full);

/* The text parts of a checkpoint, without touching its arrays. */
vg_status vg_checkpoint__peek(const char *path, vg_recipe *recipe, vg_train_state *state);
/* Everything into a learner made for the same recipe. full: the moments as well. */
vg_status vg_checkpoint__load(const char *path, vg_learner *learner, bool full);

/* The learner a recipe describes, for data of this shape. */
vg_learner_options vg_checkpoint__learner_options(const vg_recipe *recipe, const vg_train_state *state, bool training);

#endif
