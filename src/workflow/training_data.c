/* training_data.c - the images of a recipe in the form that the trainer takes. See training_data.h. */
#include "workflow/training_data.h"

#include <string.h>

#include "base/base.h"
#include "nn/recipe.h"
#include "workflow/job.h"

vg_dataset_options vg_training_data__options(const vg_recipe *r, const char *folder) {
    static const unsigned channels[] = {0, 1, 3};
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    options.folder = folder;
    memcpy(options.resize, r->resize, sizeof options.resize);
    memcpy(options.center_crop, r->center_crop, sizeof options.center_crop);
    options.channels = channels[r->channels];
    options.skip_corrupt = r->skip_corrupt;
    options.in_memory = r->in_memory;
    options.test_share = r->test;
    options.test_seed = r->split_seed;
    return options;
}

void vg_training_data__report(const vg_job *job, const vg_dataset *set) {
    enum { NAMED = 20 };
    vg_dataset_info info = vg_dataset__info(set);
    for (size_t i = 0; i < info.note_count; i++)
        vg_job__warn(job, "%s", info.notes[i]);
    if (info.skipped_count == 0)
        return;
    vg_job__warn(job, "%s: %zu of %zu files skipped, which cannot be read", info.source, info.skipped_count,
                 info.skipped_count + info.n);
    for (size_t i = 0; i < info.skipped_count && i < NAMED; i++)
        vg_job__warn(job, "skipped %s", info.skipped[i]);
    if (info.skipped_count > NAMED)
        vg_job__warn(job, "and %zu more; 'vargate data info path:%s --set skip_corrupt=yes' names all",
                     info.skipped_count - NAMED, info.source);
}

/* Chooses the samples to train on and to hold out, and computes the statistics of the former. */
static vg_status choose_samples(vg_training_data *data, const vg_recipe *r) {
    VG_TRY(vg_dataset__split(&data->fit, &data->fit_count, &data->held, &data->held_count, data->set, r->validation,
                             r->split_seed));
    if (r->train_limit && r->train_limit < data->fit_count) {
        size_t *fewer, count;
        VG_TRY(vg_dataset__limit(&fewer, &count, data->set, data->fit, data->fit_count, r->train_limit,
                                 vg_recipe__limit_seed(r)));
        vg_indices__free(data->fit);
        data->fit = fewer;
        data->fit_count = count;
    }
    return vg_dataset_statistics(&data->statistics, data->set, data->fit, data->fit_count);
}

vg_status vg_training_data__open(vg_training_data *data, const vg_recipe *r, const char *folder) {
    memset(data, 0, sizeof *data);
    vg_dataset_options options = vg_training_data__options(r, folder);
    vg_status status = vg_dataset_open(&data->set, r->dataset, VG_PART_TRAIN, &options);
    if (status == VG_OK)
        status = choose_samples(data, r);
    if (status != VG_OK)
        vg_training_data__close(data);
    return status;
}

vg_status vg_training_data__statistics(vg_statistics *out, vg_dataset *set, const vg_recipe *r) {
    vg_training_data data = {.set = set};
    vg_status status = choose_samples(&data, r);
    *out = data.statistics;
    data.set = NULL; /* the caller's */
    vg_training_data__close(&data);
    return status;
}

void vg_training_data__borrow(vg_training_data *out, const vg_training_data *data) {
    *out = *data;
    out->train = out->validation = NULL;
    out->class_weights = NULL;
}

void vg_training_data__close_loaders(vg_training_data *data) {
    vg_loader__free(data->train);
    vg_loader__free(data->validation);
    vg_base__release(data->class_weights);
    data->train = data->validation = NULL;
    data->class_weights = NULL;
}

void vg_training_data__close(vg_training_data *data) {
    vg_training_data__close_loaders(data);
    vg_indices__free(data->fit);
    vg_indices__free(data->held);
    vg_dataset_free(data->set);
    memset(data, 0, sizeof *data);
}

static vg_status feed_seek(void *context, uint64_t epoch, size_t step) { return vg_loader__seek(context, epoch, step); }

static vg_status feed_next(void *context, vg_nn_batch *out) {
    vg_batch batch;
    vg_status status = vg_loader__next(context, &batch);
    if (status == VG_OK)
        *out = (vg_nn_batch){batch.images, batch.labels, batch.indices, batch.count};
    return status;
}

/* The trainer's and the loader's structs hold the same fields; each module has its own. */
static vg_status resident_plan(void *context, uint64_t epoch, vg_nn_sample *samples) {
    vg_training_data *data = context;
    vg_sample_draw *draws;
    VG_TRY(vg_base__alloc(&draws, data->fit_count, sizeof *draws, "the samples of an epoch"));
    vg_status status = vg_loader__draws(data->train, epoch, draws);
    for (size_t i = 0; status == VG_OK && i < data->fit_count; i++) {
        const vg_sample_draw *d = &draws[i];
        samples[i] = (vg_nn_sample){d->index, d->dy,  d->dx,   d->flip,   d->erase, d->jitter,
                                    d->order, d->top, d->left, d->height, d->width, {0}};
        memcpy(samples[i].factor, d->factor, sizeof d->factor);
    }
    vg_base__release(draws);
    return status;
}

static vg_status make_loaders(vg_training_data *data, const vg_recipe *r) {
    vg_loader_options options = VG_LOADER_OPTIONS_INIT;
    options.batch = r->batch;
    options.seed = r->seed;
    options.statistics = data->statistics;
    options.augment =
        (vg_augment){(unsigned)r->crop, r->flip, r->erase, r->brightness, r->contrast, r->saturation, r->hue};
    bool jitter = r->brightness > 0 || r->contrast > 0 || r->saturation > 0 || r->hue > 0;
    bool decodes = vg_dataset__pixels(data->set) == NULL;
    options.threads = jitter || decodes ? 0 : 1;
    options.balance = r->sampling;
    VG_TRY(vg_loader__new(&data->train, data->set, data->fit, data->fit_count, &options));
    options.shuffle = options.balance = 0;
    options.threads = decodes ? 0 : 1;
    options.augment = (vg_augment)VG_AUGMENT_NONE;
    return vg_loader__new(&data->validation, data->set, data->held, data->held_count, &options);
}

/* The number of training images divided by the number of classes times the images of the class: scikit-learn's
 * "balanced". A class without images has no weight in the loss. */
static vg_status balance_classes(vg_training_data *data, size_t classes) {
    const int32_t *labels = vg_dataset__labels(data->set);
    double *w;
    VG_TRY(vg_base__zalloc(&w, classes, sizeof *w, "class weights"));
    data->class_weights = w;
    for (size_t i = 0; i < data->fit_count; i++)
        w[labels[data->fit[i]]]++;
    for (size_t c = 0; c < classes; c++)
        w[c] = w[c] > 0 ? (double)data->fit_count / ((double)classes * w[c]) : 0;
    return VG_OK;
}

vg_status vg_training_data__describe(vg_train_options *options, vg_training_data *data, const vg_recipe *recipe) {
    vg_dataset_info info = vg_dataset__info(data->set);
    VG_TRY(make_loaders(data, recipe));
    if (recipe->class_balance == 1)
        VG_TRY(balance_classes(data, info.classes));
    options->class_weights = data->class_weights;
    options->channels = info.channels;
    options->height = info.height;
    options->width = info.width;
    options->classes = info.classes;
    options->class_names = info.class_names;
    memcpy(options->mean, data->statistics.mean, sizeof options->mean);
    memcpy(options->std, data->statistics.std, sizeof options->std);
    options->train = (vg_feed){data->train, data->fit_count, vg_loader__steps(data->train), feed_seek, feed_next};
    options->validation =
        (vg_feed){data->validation, data->held_count, vg_loader__steps(data->validation), feed_seek, feed_next};
    options->resident = (vg_resident){
        data, vg_dataset__pixels(data->set), info.is_float, vg_dataset__labels(data->set), info.n, resident_plan};
    if (!info.pixels) /* without pixels in memory, images come through the feed alone, decoded when needed */
        options->resident = (vg_resident){0};
    return VG_OK;
}
