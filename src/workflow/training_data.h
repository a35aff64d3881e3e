/* training_data.h - the images of a recipe: the data set, its split, loaders, and the feeds of vg_train. Internal.
 *
 * The training module takes batches through callbacks and does not depend on data sets; this is the adapter between
 * the two. */
#ifndef VG_WORKFLOW_TRAINING_DATA_H
#define VG_WORKFLOW_TRAINING_DATA_H

#include "data/loader.h"
#include "vargate/data.h"
#include "vargate/nn.h"
#include "vargate/workflow.h"

typedef struct vg_training_data {
    vg_dataset *set;
    size_t *fit, *held; /* indices trained on and held out */
    size_t fit_count, held_count;
    vg_statistics statistics; /* of the images trained on */
    vg_loader *train, *validation;
    double *class_weights; /* balanced ones, where the recipe wants them; else NULL */
} vg_training_data;

/* How the recipe reads image files; `folder` is searched first for data sets, NULL: none. */
vg_dataset_options vg_training_data__options(const vg_recipe *recipe, const char *folder);
/* Warns of the files that were skipped, with their number and the first names, and of the data set's notes. */
void vg_training_data__report(const vg_job *job, const vg_dataset *set);

/* The recipe's training set, split as the recipe says. `folder` is searched first for data sets; NULL: none. On failure
 * nothing is open. */
vg_status vg_training_data__open(vg_training_data *data, const vg_recipe *recipe, const char *folder);
/* Mean and standard deviation of the images that the recipe would train on. */
vg_status vg_training_data__statistics(vg_statistics *out, vg_dataset *set, const vg_recipe *recipe);
/* Safe on data that are not open (all zero). */
void vg_training_data__close(vg_training_data *data);

/* The same images with separate loaders, for another training at the same time. `data` must stay open; closing the
 * copy frees only what vg_training_data__describe made. */
void vg_training_data__borrow(vg_training_data *out, const vg_training_data *data);
void vg_training_data__close_loaders(vg_training_data *data);

/* Makes the loaders and fills in everything in the options of vg_train that depends on the data: shape, classes,
 * normalisation, feeds and the resident images. They are valid until the data is closed. */
vg_status vg_training_data__describe(vg_train_options *options, vg_training_data *data, const vg_recipe *recipe);

#endif
