/* train_recipe.c - trains a recipe into a run folder: opens its data set, feeds it to vg_train and reports its
 * events to the job. */
#include "workflow/train_recipe.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "nn/recipe.h"
#include "workflow/job.h"
#include "workflow/workflow_options.h"

vg_status vg_train_recipe__network(vg_train_result *result, const vg_network_task *task) {
    const vg_train_recipe_options *o = task->watch->crew->options;
    vg_train_options options = VG_TRAIN_OPTIONS_INIT;
    options.recipe = task->recipe;
    options.folder = task->folder;
    options.device = o->device;
    options.threads = task->threads;
    options.resume = o->resume;
    options.event = vg_training_watch__event;
    options.event_context = task->watch;
    options.shared = task->device;
    options.tensorboard = o->tensorboard;
    VG_TRY(vg_training_data__describe(&options, task->data, task->recipe));
    return vg_train(result, &options);
}

/* Warns of classes that the network cannot learn. */
static vg_status report_empty_classes(const vg_job *job, const vg_training_data *data, const vg_dataset_info *info) {
    size_t *images, empty = 0, first = 0;
    char name[128];
    VG_TRY(vg_base__zalloc(&images, info->classes, sizeof *images, "images of the classes"));
    for (size_t i = 0; i < data->fit_count; i++)
        images[info->labels[data->fit[i]]]++;
    for (size_t c = info->classes; c-- > 0;)
        if (images[c] == 0)
            empty++, first = c;
    vg_base__release(images);
    if (info->class_names)
        snprintf(name, sizeof name, "'%.100s'", info->class_names[first]);
    else
        snprintf(name, sizeof name, "%zu", first);
    bool noted = !info->class_names && empty == 1 && first == 0; /* labels that run from 1: a note of the data set */
    if (empty > 0 && !noted)
        vg_job__warn(job, "%s: %zu of %zu classes %s no image to train on, the first is %s", info->source, empty,
                     info->classes, empty > 1 ? "have" : "has", name);
    return VG_OK;
}

static vg_status check_data(const vg_train_recipe_options *o, const vg_training_data *data) {
    vg_dataset_info info = vg_dataset__info(data->set);
    if (info.classes < 2)
        return vg_base__fail(VG_ERR_DATA, "%s: training needs labels of at least 2 classes, found %zu", info.source,
                             info.classes);
    vg_training_data__report(&o->job, data->set);
    VG_TRY(report_empty_classes(&o->job, data, &info));
    vg_job__note(&o->job, "%s: %zu images to train on, %zu held out%s", info.name, data->fit_count, data->held_count,
                 info.pixels ? "" : ", decoded as they are needed");
    return VG_OK;
}

static vg_status train_one(vg_train_result *result, const vg_train_recipe_options *o, vg_training_data *data) {
    vg_training_crew crew;
    char other[4200];
    struct stat st;
    snprintf(other, sizeof other, "%.4000s/network-1", o->folder);
    if (stat(other, &st) == 0)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s is the run folder of a deep ensemble: choose another folder for a single network",
                             o->folder);
    vg_training_crew__begin(&crew, o, 1);
    vg_training_watch watch = {.crew = &crew, .what = "training"};
    vg_network_task task = {o->recipe, o->folder, data, &watch, NULL, o->threads};
    vg_status status = vg_train_recipe__network(result, &task);
    vg_training_crew__end(&crew);
    return status;
}

vg_status vg_train_recipe(vg_train_result *result, const vg_train_recipe_options *options) {
    VG_IN_C_LOCALE;
    vg_train_recipe_options o = VG_TRAIN_RECIPE_OPTIONS_INIT;
    vg_training_data data;
    char folder[VG_RECIPE_TEXT + 8];
    VG_TRY(vg_workflow__options(&o, sizeof o, options, "vg_train_recipe_options"));
    if (!o.recipe || !result)
        return vg_base__fail(VG_ERR_ARGUMENT, "train: result and the recipe of the options must not be NULL");
    if (!o.folder) {
        snprintf(folder, sizeof folder, "runs/%s", o.recipe->name);
        o.folder = folder;
    }
    VG_TRY(vg_recipe__check(o.recipe));
    VG_TRY(vg_training_data__open(&data, o.recipe, o.data));
    vg_status status = check_data(&o, &data);
    if (status == VG_OK)
        status =
            vg_recipe__is_deep(o.recipe) ? vg_train_recipe__ensemble(result, &o, &data) : train_one(result, &o, &data);
    vg_training_data__close(&data);
    return status;
}
