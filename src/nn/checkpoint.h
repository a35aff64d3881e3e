/* checkpoint.h - a learner and the state of its training in one .safetensors file. Internal. */
#ifndef VG_CHECKPOINT_H
#define VG_CHECKPOINT_H

#include "nn/learner.h"
#include "vargate/nn.h"

/* Everything that, with recipe and data, determines the rest of a training. There is no state of random numbers:
 * every draw is a function of the seed and of where it is made, and the order of the data is one of (seed, epoch). */
typedef struct vg_train_state {
    size_t epoch;         /* epochs done */
    size_t step;          /* steps done of the next one */
    uint64_t total_steps; /* optimiser steps in all */
    double loss_sum;      /* of the current epoch, over rows */
    uint64_t loss_rows, correct;
    double seconds; /* spent training in the current epoch */
    size_t best_epoch;
    double best_accuracy, best_loss;
    double peak_diversity;
    double lowest_loss; /* of validation, that patience compares with */
    size_t waited;      /* epochs since it was reached */
    size_t low_epochs;  /* epochs in a row below the alarm */
    bool collapsed;
    size_t channels, height, width, classes;
    double mean[16], std[16];
    unsigned threads; /* of the CPU backend it was trained with; 0: not known */
} vg_train_state;

/* Writes a checkpoint. full: with the optimiser's moments, which resuming needs; otherwise for prediction alone.
 * class_names: state->classes of them, or NULL. */
vg_status vg_checkpoint__save(const char *path, vg_learner *learner, const vg_recipe *recipe,
                              const vg_train_state *state, const char *const *class_names, bool full);

/* Reads recipe and state without reading the arrays. */
vg_status vg_checkpoint__peek(const char *path, vg_recipe *recipe, vg_train_state *state);
/* The class names kept with a checkpoint: as many as it has classes, or *out = NULL. Freed with
 * vg_checkpoint__free_names. */
vg_status vg_checkpoint__names(char ***out, const char *path, size_t classes);
/* The k of the gate of every class, `classes` values, freed with vg_base__release; *out = NULL where the checkpoint has
 * none. */
vg_status vg_checkpoint__gates(double **out, const char *path, size_t classes);
/* Whether class names can be kept: they must be UTF-8. */
vg_status vg_checkpoint__check_names(const char *const *names, size_t classes);
void vg_checkpoint__free_names(char **names, size_t classes);
/* Loads all arrays into a learner made for the same recipe. full: the moments as well. */
vg_status vg_checkpoint__load(const char *path, vg_learner *learner, bool full);

/* The options of the learner that a recipe describes, for data of this shape. */
vg_learner_options vg_checkpoint__learner_options(const vg_recipe *recipe, const vg_train_state *state, bool training);

#endif
