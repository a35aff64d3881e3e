/* prediction.c - opens networks and images together, and computes logits. See prediction.h. */
#include "workflow/prediction.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nn/predictor.h"
#include "nn/recipe.h"
#include "workflow/job.h"
#include "workflow/workflow_options.h"

/* The checkpoint of a run folder to use; a checkpoint file is taken directly. */
static vg_status checkpoint_path(char *out, size_t room, const char *run, int which) {
    struct stat st;
    if (stat(run, &st) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: no such run folder or checkpoint", run);
    if (S_ISDIR(st.st_mode))
        return vg_run__checkpoint(out, room, run, which, NULL);
    int length = snprintf(out, room, "%s", run);
    if (length <= 0 || (size_t)length >= room)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: the name is too long", run);
    return VG_OK;
}

/* Network i must have the shape and the classes of the first; classes in another order are reordered. */
static vg_status join_ensemble(vg_prediction *p, size_t i, const char *path) {
    const vg_predict_runs_options *r = &p->options;
    const vg_predictor_info *a = &p->info[0], *b = &p->info[i];
    if (a->classes != b->classes || a->channels != b->channels || a->height != b->height || a->width != b->width)
        return vg_base__fail(
            VG_ERR_DATA, "%s: %zu classes of %zux%zux%zu images, but %s has %zu classes of %zux%zux%zu", path,
            b->classes, b->channels, b->height, b->width, r->runs[0], a->classes, a->channels, a->height, a->width);
    if (vg_recipe__check_reading(a->recipe, b->recipe) != VG_OK)
        return vg_base__fail(VG_ERR_DATA, "%s and %s do not make one ensemble: %s", r->runs[0], path,
                             vg_error_message());
    if (!a->class_names != !b->class_names)
        vg_job__warn(&r->job, "%s: class names are known of one network only; classes are matched with %s's by number",
                     path, r->runs[0]);
    if (!a->class_names || !b->class_names)
        return VG_OK;
    if (vg_predictor__order_classes(p->predictors[i], a->class_names, a->classes) != VG_OK)
        return vg_base__fail(VG_ERR_DATA, "%s and %s do not make one ensemble: %s", r->runs[0], path,
                             vg_error_message());
    p->info[i] = vg_predictor__info(p->predictors[i]);
    return VG_OK;
}

static vg_status open_predictors(vg_prediction *p) {
    const vg_predict_runs_options *r = &p->options;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    options.device = r->device;
    options.threads = r->threads;
    options.ensemble = r->ensemble;
    options.members = r->members;
    options.passes = r->passes;
    options.heads = r->heads;
    for (size_t i = 0; i < r->run_count; i++) {
        char path[4200];
        VG_TRY(checkpoint_path(path, sizeof path, r->runs[i], r->checkpoint));
        VG_TRY(vg_predictor_open(&p->predictors[i], path, &options));
        p->info[i] = vg_predictor__info(p->predictors[i]);
        if (i > 0)
            VG_TRY(join_ensemble(p, i, path));
        p->members += p->info[i].members;
    }
    return VG_OK;
}

/* How images are read for the first network: by its recipe, in its number of channels where that loses nothing. */
static vg_dataset_options image_options(const vg_prediction *p) {
    const vg_predictor_info *net = &p->info[0];
    vg_dataset_options options = vg_training_data__options(net->recipe, p->options.data);
    if (p->options.skip_corrupt)
        options.skip_corrupt = 1;
    if (!options.channels && net->channels == 3)
        options.channels = 3;
    options.threads = p->options.threads;
    return options;
}

vg_status vg_prediction__open_set(vg_dataset **out, const char *input, const vg_dataset_options *options) {
    char path[4200];
    if (strncmp(input, "path:", 5) == 0 || vg_data_find(input, NULL))
        return vg_dataset_open(out, input, VG_PART_ANY, options);
    int length = snprintf(path, sizeof path, "path:%s", input);
    if (length <= 0 || (size_t)length >= sizeof path)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the name is too long", input);
    return vg_dataset_open(out, path, VG_PART_ANY, options);
}

/* All networks must have split their data set in the same way. */
static vg_status check_splits(const vg_prediction *p) {
    const vg_predict_runs_options *r = &p->options;
    for (size_t i = 1; i < r->run_count; i++)
        if (vg_recipe__check_split(p->info[0].recipe, p->info[i].recipe) != VG_OK)
            return vg_base__fail(VG_ERR_DATA,
                                 "--split %s: %s and %s: %s; train them with one split, or predict each by itself",
                                 r->split, r->runs[0], r->runs[i], vg_error_message());
    return VG_OK;
}

/* The images of --split val or train: those that every network held out, or was trained on. */
static vg_status open_training_part(vg_prediction *p, bool held) {
    VG_TRY(check_splits(p));
    VG_TRY(vg_training_data__open(&p->data, p->info[0].recipe, p->options.data));
    p->source = p->data.set;
    p->indices = held ? p->data.held : p->data.fit;
    p->n = held ? p->data.held_count : p->data.fit_count;
    return VG_OK;
}

static vg_status check_training_classes(const vg_prediction *p, const vg_dataset_info *info, size_t i) {
    const vg_predictor_info *net = &p->info[i];
    if (info->classes != net->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu classes, the checkpoint has %zu", info->source, info->classes,
                             net->classes);
    for (size_t c = 0; info->class_names && net->class_names && c < net->classes; c++)
        if (strcmp(info->class_names[c], net->class_names[c]) != 0)
            return vg_base__fail(VG_ERR_DATA, "%s: class %zu is '%s', but '%s' in %s", info->source, c,
                                 info->class_names[c], net->class_names[c], p->options.runs[i]);
    return VG_OK;
}

/* Training images must be those of every network, with its classes in their order: the split depends on them. They
 * are recognised by the mean and standard deviation stored with the network, whatever their path. */
static vg_status check_training_images(const vg_prediction *p, const vg_dataset_info *info) {
    for (size_t i = 0; i < p->options.run_count; i++) {
        const vg_recipe *first = p->info[0].recipe, *own = p->info[i].recipe;
        vg_statistics now = p->data.statistics;
        VG_TRY(check_training_classes(p, info, i));
        if (own->train_limit != first->train_limit || vg_recipe__limit_seed(own) != vg_recipe__limit_seed(first))
            VG_TRY(vg_training_data__statistics(&now, p->data.set, own));
        if (memcmp(now.mean, p->info[i].mean, sizeof now.mean) == 0 &&
            memcmp(now.std, p->info[i].std, sizeof now.std) == 0)
            continue;
        if (strcmp(own->dataset, first->dataset) != 0)
            return vg_base__fail(VG_ERR_DATA,
                                 "--split %s: %s and %s were trained on different images, of '%s' and of '%s'; predict "
                                 "each by itself",
                                 p->options.split, p->options.runs[0], p->options.runs[i], first->dataset,
                                 own->dataset);
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: not the images that %s was trained on: their mean or spread differs, so what was held out "
            "is not known",
            info->source, p->options.runs[i]);
    }
    return VG_OK;
}

/* For a test set that is a share of the training images, no network may have been trained with another split. */
static vg_status check_test_share(vg_prediction *p) {
    bool share = false;
    for (size_t i = 0; i < p->options.run_count; i++)
        share = share || p->info[i].recipe->test > 0;
    if (!p->options.split || !share)
        return VG_OK;
    VG_TRY(check_splits(p));
    VG_TRY(vg_training_data__open(&p->data, p->info[0].recipe, p->options.data));
    vg_dataset_info info = vg_dataset__info(p->data.set);
    vg_status status = check_training_images(p, &info);
    vg_training_data__close(&p->data);
    return status;
}

static vg_status open_images(vg_prediction *p) {
    const vg_predict_runs_options *r = &p->options;
    const vg_predictor_info *net = &p->info[0];
    vg_dataset_options options = image_options(p);
    VG_TRY(check_test_share(p));
    VG_TRY(r->split ? vg_dataset_open(&p->set, net->recipe->dataset, VG_PART_TEST, &options)
                    : vg_prediction__open_set(&p->set, r->input, &options));
    vg_training_data__report(&r->job, p->set);
    vg_dataset_info info = vg_dataset__info(p->set);
    if (!r->split && (info.channels != net->channels || info.height != net->height || info.width != net->width)) {
        vg_dataset *adapted;
        VG_TRY(vg_dataset__adapt(&adapted, p->set, net->channels, net->height, net->width));
        vg_dataset_free(p->set);
        p->set = adapted;
    }
    p->source = p->set;
    p->n = info.n;
    size_t limit = net->recipe->test_limit;
    if (limit && limit < p->n) {
        VG_TRY(vg_dataset__limit(&p->limited, &p->n, p->source, NULL, 0, limit, vg_recipe__limit_seed(net->recipe)));
        p->indices = p->limited;
    }
    return VG_OK;
}

/* Numbers the labels of test or other images as the network does: by name where both have names, else unchanged. */
static vg_status settle_labels(vg_prediction *p) {
    const vg_predictor_info *net = &p->info[0];
    const vg_job *job = &p->options.job;
    vg_dataset_info info = vg_dataset__info(p->source);
    p->labels = info.classes > 0;
    if (!p->labels)
        return VG_OK;
    if (info.class_names && net->class_names) {
        vg_status status = vg_dataset__map_classes(p->set, net->class_names, net->classes);
        if (status == VG_OK || p->options.split)
            return status;
        if (!p->options.labels_optional)
            vg_job__note(job, "%s; labels are left out", vg_error_message());
        p->labels = false;
        return VG_OK;
    }
    if (p->options.split && info.classes > net->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu classes, the checkpoint has %zu", info.source, info.classes,
                             net->classes);
    if (info.classes > net->classes) {
        if (!p->options.labels_optional)
            vg_job__warn(job, "%s has %zu classes, the checkpoint %zu: labels are left out", info.source, info.classes,
                         net->classes);
        p->labels = false;
    }
    return VG_OK;
}

static vg_status open_set(vg_prediction *p) {
    const char *split = p->options.split;
    const vg_predictor_info *net = &p->info[0];
    bool held = split && strcmp(split, "val") == 0, fit = split && strcmp(split, "train") == 0;
    VG_TRY(held || fit ? open_training_part(p, held) : open_images(p));
    vg_dataset_info info = vg_dataset__info(p->source);
    if (info.channels != net->channels || info.height != net->height || info.width != net->width)
        return vg_base__fail(VG_ERR_DATA, "%s: images of %zux%zux%zu, the checkpoint is for %zux%zux%zu", info.source,
                             info.channels, info.height, info.width, net->channels, net->height, net->width);
    p->labels = true;
    return held || fit ? check_training_images(p, &info) : settle_labels(p);
}

vg_status vg_prediction__images(vg_prediction *p, size_t k, size_t first, size_t count) {
    size_t order[VG_PREDICTION_CHUNK];
    vg_statistics statistics = {.channels = p->info[k].channels};
    for (size_t i = 0; i < count; i++)
        order[i] = p->indices ? p->indices[first + i] : first + i;
    memcpy(statistics.mean, p->info[k].mean, sizeof statistics.mean);
    memcpy(statistics.std, p->info[k].std, sizeof statistics.std);
    if (vg_dataset__pixels(p->source))
        return vg_dataset__fill(p->images, p->source, order, count, &statistics, VG_LAYOUT_NCHW);
    if (!p->window || p->window_first != first || p->window_count != count) { /* decoded once for all networks */
        vg_dataset_free(p->window);
        VG_TRY(vg_dataset__gather(&p->window, p->source, order, count, p->options.threads));
        p->window_first = first, p->window_count = count;
    }
    return vg_dataset__fill(p->images, p->window, NULL, count, &statistics, VG_LAYOUT_NCHW);
}

vg_status vg_prediction__logits(vg_prediction *p, size_t first, size_t count) {
    size_t C = p->info[0].classes, done = 0;
    for (size_t k = 0; k < p->options.run_count; k++) {
        size_t M = p->info[k].members;
        VG_TRY(vg_prediction__images(p, k, first, count));
        VG_TRY(vg_predictor_run(p->predictors[k], p->one, p->images, count, first));
        for (size_t i = 0; i < count; i++)
            memcpy(p->all + (i * p->members + done) * C, p->one + i * M * C, M * C * sizeof(float));
        done += M;
    }
    return VG_OK;
}

int64_t vg_prediction__label(const vg_prediction *p, size_t i) {
    return vg_dataset__labels(p->source)[p->indices ? p->indices[i] : i];
}

/* --- opening and closing */

static vg_status make_buffers(vg_prediction *p) {
    const vg_predictor_info *net = &p->info[0];
    size_t image = net->channels * net->height * net->width, logits;
    p->classes = net->classes;
    if (!vg_base__mul(&logits, p->members, p->classes))
        return vg_base__fail(VG_ERR_MEMORY, "%zu members of %zu classes do not fit in memory", p->members, p->classes);
    VG_TRY(vg_base__alloc(&p->images, image, VG_PREDICTION_CHUNK * sizeof(float), "images"));
    VG_TRY(vg_base__alloc(&p->one, logits, VG_PREDICTION_CHUNK * sizeof(float), "predictions"));
    return vg_base__alloc(&p->all, logits, VG_PREDICTION_CHUNK * sizeof(float), "predictions");
}

static vg_status check_options(vg_predict_runs_options *o) {
    const char *split = o->split;
    if (!o->runs || o->run_count < 1 || o->run_count > VG_MAX_RUNS)
        return vg_base__fail(VG_ERR_ARGUMENT, "predict: 1 to %d runs make an ensemble, found %zu", VG_MAX_RUNS,
                             o->runs ? o->run_count : 0);
    if (split && o->input)
        return vg_base__fail(VG_ERR_ARGUMENT, "predict: split and input exclude each other");
    if (split && strcmp(split, "test") && strcmp(split, "val") && strcmp(split, "train"))
        return vg_base__fail(VG_ERR_ARGUMENT, "predict: split must be test, val or train, found '%s'", split);
    if (!split && !o->input)
        o->split = "test";
    return VG_OK;
}

vg_status vg_prediction__begin(vg_prediction *p, const vg_predict_runs_options *options) {
    *p = (vg_prediction){.options = VG_PREDICT_RUNS_OPTIONS_INIT};
    VG_TRY(vg_workflow__options(&p->options, sizeof p->options, options, "vg_predict_runs_options"));
    VG_TRY(check_options(&p->options));
    VG_TRY(vg_run_list__expand(&p->runs, p->options.runs, p->options.run_count, p->options.checkpoint));
    p->options.runs = p->runs.items;
    p->options.run_count = p->runs.count;
    return VG_OK;
}

/* A run's checkpoint may be named itself or by its folder. */
vg_status vg_prediction__check_output(const vg_prediction *p, const vg_prediction_output *output) {
    for (size_t i = 0; i < p->options.run_count; i++) {
        char last[4200], best[4200];
        snprintf(last, sizeof last, "%.4000s/last.safetensors", p->options.runs[i]);
        snprintf(best, sizeof best, "%.4000s/best.safetensors", p->options.runs[i]);
        const char *inputs[] = {p->options.runs[i], last, best, p->options.input, output->temperature};
        VG_TRY(vg_target_check(output->path, output->product, inputs, sizeof inputs / sizeof *inputs, output->force));
    }
    return VG_OK;
}

vg_status vg_prediction__open(vg_prediction *p) {
    VG_TRY(open_predictors(p));
    VG_TRY(open_set(p));
    return make_buffers(p);
}

void vg_prediction__close(vg_prediction *p) {
    for (size_t i = 0; i < VG_MAX_RUNS; i++)
        vg_predictor_free(p->predictors[i]);
    vg_run_list__free(&p->runs);
    vg_training_data__close(&p->data);
    vg_dataset_free(p->set);
    vg_dataset_free(p->window);
    vg_indices__free(p->limited);
    vg_base__release(p->images);
    vg_base__release(p->one);
    vg_base__release(p->all);
    vg_base__release(p->all_labels);
    vg_base__release(p->id_names);
}
