/* train_recipe.h - one network of a recipe, and the networks of a deep ensemble. Internal. */
#ifndef VG_WORKFLOW_TRAIN_RECIPE_H
#define VG_WORKFLOW_TRAIN_RECIPE_H

#include "base/base.h"
#include "workflow/training_data.h"
#include "workflow/training_watch.h"

/* Everything is borrowed. */
typedef struct vg_network_task {
    const vg_recipe *recipe; /* of this network */
    const char *folder;
    vg_training_data *data; /* its loaders are made by the training */
    vg_training_watch *watch;
    struct vg_train_device *device; /* shared with earlier and later trainings; NULL: its own */
    unsigned threads;
} vg_network_task;

vg_status vg_train_recipe__network(vg_train_result *result, const vg_network_task *task);

/* The networks of a deep ensemble into FOLDER/network-1, -2, ..., one after another or `jobs` at once. The result's
 * figures are means over the networks. */
vg_status vg_train_recipe__ensemble(vg_train_result *result, const vg_train_recipe_options *options,
                                    vg_training_data *data);

#endif
