/* training_data.c - recipes and the images they name. See training_data.h. */
#include "training_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- recipes */

/* PLACE/NAME.yaml, if there is one. */
static bool recipe_in(char *out, size_t room, const char *place, const char *name) {
    size_t length = strlen(name);
    bool yaml = length > 5 && strcmp(name + length - 5, ".yaml") == 0;
    int written = snprintf(out, room, "%s/%s%s", place, name, yaml ? "" : ".yaml");
    return written > 0 && (size_t)written < room && access(out, R_OK) == 0;
}

static bool installed_recipe(char *out, size_t room, const char *name) {
    char self[4096], place[4200];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    for (int up = 0; length > 0 && up < 2; up++) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        length = slash ? slash - self : 0;
    }
    if (length <= 0)
        return false;
    self[length] = '\0';
    snprintf(place, sizeof place, "%s/share/vargate/recipes", self);
    return recipe_in(out, room, place, name);
}

vg_status training_recipe(vg_recipe *recipe, const char *name, const char *const *changes, size_t change_count) {
    char path[8300];
    bool bare = !strchr(name, '/');
    if (access(name, R_OK) != 0 && bare &&
        (recipe_in(path, sizeof path, "recipes", name) || installed_recipe(path, sizeof path, name)))
        name = path;
    vg_status status = vg_recipe_read(recipe, name);
    for (size_t i = 0; i < change_count && status == VG_OK; i++)
        status = vg_recipe_set(recipe, changes[i]);
    return status == VG_OK ? vg_recipe_check(recipe) : status;
}

/* --- data */

vg_status training_data_open(training_data *data, const vg_recipe *r, const char *folder) {
    memset(data, 0, sizeof *data);
    vg_status status = vg_dataset_open(&data->set, r->dataset, VG_PART_TRAIN, folder);
    if (status == VG_OK)
        status = vg_dataset_split(&data->fit, &data->fit_count, &data->held, &data->held_count, data->set,
                                  r->validation, r->split_seed);
    if (status == VG_OK && r->train_limit && r->train_limit < data->fit_count) {
        size_t *fewer, count;
        status = vg_dataset_limit(&fewer, &count, data->set, data->fit, data->fit_count, r->train_limit, r->seed);
        if (status == VG_OK) {
            vg_indices_free(data->fit);
            data->fit = fewer;
            data->fit_count = count;
        }
    }
    if (status == VG_OK)
        status = vg_dataset_statistics(&data->statistics, data->set, data->fit, data->fit_count);
    if (status != VG_OK)
        training_data_close(data);
    return status;
}

void training_data_close(training_data *data) {
    vg_loader_free(data->train);
    vg_loader_free(data->validation);
    vg_indices_free(data->fit);
    vg_indices_free(data->held);
    vg_dataset_free(data->set);
    memset(data, 0, sizeof *data);
}

static vg_status feed_seek(void *context, uint64_t epoch, size_t step) { return vg_loader_seek(context, epoch, step); }

static vg_status feed_next(void *context, vg_nn_batch *out) {
    vg_batch batch;
    vg_status status = vg_loader_next(context, &batch);
    if (status == VG_OK)
        *out = (vg_nn_batch){batch.images, batch.labels, batch.indices, batch.count};
    return status;
}

/* The two structs say the same; each module has its own. */
static vg_status resident_plan(void *context, uint64_t epoch, vg_nn_sample *samples) {
    training_data *data = context;
    vg_sample_draw *draws = malloc(data->fit_count * sizeof *draws);
    if (!draws)
        return VG_ERR_MEMORY;
    vg_status status = vg_loader_draws(data->train, epoch, draws);
    for (size_t i = 0; status == VG_OK && i < data->fit_count; i++) {
        const vg_sample_draw *d = &draws[i];
        samples[i] = (vg_nn_sample){d->index, d->dy,  d->dx,   d->flip,   d->erase, d->jitter,
                                    d->order, d->top, d->left, d->height, d->width, {0}};
        memcpy(samples[i].factor, d->factor, sizeof d->factor);
    }
    free(draws);
    return status;
}

void training_resident(training_data *data, vg_resident *resident) {
    vg_dataset_info info = vg_dataset_describe(data->set);
    *resident =
        (vg_resident){data, vg_dataset_pixels(data->set), info.is_float, vg_dataset_labels(data->set), info.n, resident_plan};
}

vg_status training_feeds(training_data *data, const vg_recipe *r, vg_feed *train, vg_feed *validation) {
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.batch = r->batch;
    options.seed = r->seed;
    options.statistics = data->statistics;
    options.augment = (vg_augment){(unsigned)r->crop, r->flip, r->erase, r->brightness, r->contrast, r->saturation, r->hue};
    bool jitter = r->brightness > 0 || r->contrast > 0 || r->saturation > 0 || r->hue > 0;
    options.threads = jitter ? 0 : 1;
    vg_status status = vg_loader_new(&data->train, data->set, data->fit, data->fit_count, &options);
    options.shuffle = 0;
    options.threads = 1;
    options.augment = (vg_augment)VG_AUGMENT_NONE;
    if (status == VG_OK)
        status = vg_loader_new(&data->validation, data->set, data->held, data->held_count, &options);
    if (status != VG_OK)
        return status;
    *train = (vg_feed){data->train, data->fit_count, vg_loader_steps(data->train), feed_seek, feed_next};
    *validation = (vg_feed){data->validation, data->held_count, vg_loader_steps(data->validation), feed_seek, feed_next};
    return VG_OK;
}
