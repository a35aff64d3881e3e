/* prediction_run.c - ensemble predictions over a set of images, streamed to an .npz: P (or logits Z) of shape (N, M,
 * C), the labels L where the set has them, and the names of the classes where they are known (classes). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "console.h"
#include "prediction.h"
#include "progress.h"
#include "vargate/formats.h"

static void close_all(prediction *p) {
    for (size_t i = 0; i < p->request->run_count; i++)
        vg_predictor_free(p->predictors[i]);
    training_data_close(&p->data);
    vg_dataset_free(p->set);
    vg_indices_free(p->limited);
    free(p->images);
    free(p->one);
    free(p->all);
}

/* The checkpoint of a run folder that is to be used; a file as it is. */
static int checkpoint_path(char *out, size_t room, const char *run, int which) {
    struct stat st;
    if (stat(run, &st) != 0)
        return console_fail("%s: no such run folder or checkpoint", run);
    if (S_ISDIR(st.st_mode))
        return vg_run_checkpoint(out, room, run, which, NULL) == VG_OK ? CLI_OK : console_fail_library();
    int length = snprintf(out, room, "%s", run);
    return length > 0 && (size_t)length < room ? CLI_OK : console_fail("%s: the name is too long", run);
}

/* Network i must have the shape and the classes of the first; classes in another order are put into its. */
static int join_ensemble(prediction *p, size_t i, const char *path) {
    const prediction_request *r = p->request;
    const vg_predictor_info *a = &p->info[0], *b = &p->info[i];
    if (a->classes != b->classes || a->channels != b->channels || a->height != b->height || a->width != b->width)
        return console_fail("%s: %zu classes of %zux%zux%zu images, but %s has %zu classes of %zux%zux%zu", path,
                            b->classes, b->channels, b->height, b->width, r->runs[0], a->classes, a->channels,
                            a->height, a->width);
    if (!a->class_names != !b->class_names)
        console_warn("%s: class names are known of one network only; classes are matched with %s's by number", path,
                     r->runs[0]);
    if (!a->class_names || !b->class_names)
        return CLI_OK;
    if (vg_predictor_order_classes(p->predictors[i], a->class_names, a->classes) != VG_OK)
        return console_fail("%s and %s do not make one ensemble: %s", r->runs[0], path, vg_error_message());
    p->info[i] = vg_predictor_describe(p->predictors[i]);
    return CLI_OK;
}

static int open_predictors(prediction *p) {
    const prediction_request *r = p->request;
    vg_predictor_options options = VG_PREDICTOR_OPTIONS_INIT;
    options.device = r->device;
    options.threads = r->threads;
    options.ensemble = r->ensemble;
    options.members = r->members;
    options.passes = r->passes;
    options.heads = r->heads;
    for (size_t i = 0; i < r->run_count; i++) {
        char path[4200];
        int code = checkpoint_path(path, sizeof path, r->runs[i], r->checkpoint);
        if (code != CLI_OK)
            return code;
        if (vg_predictor_open(&p->predictors[i], path, &options) != VG_OK)
            return console_fail_library();
        p->info[i] = vg_predictor_describe(p->predictors[i]);
        code = i > 0 ? join_ensemble(p, i, path) : CLI_OK;
        if (code != CLI_OK)
            return code;
        p->members += p->info[i].members;
    }
    return CLI_OK;
}

/* An input that is not a name of the catalogue and not "path:...": a file or folder. */
static vg_status open_input(vg_dataset **out, const char *input, const char *folder) {
    if (strncmp(input, "path:", 5) == 0 || vg_data_find(input, NULL))
        return vg_dataset_open(out, input, VG_PART_ANY, folder);
    return vg_dataset_read(out, input, VG_PART_ANY);
}

/* The images of --split val or train: those that every network held out, or was trained on. */
static int open_training_part(prediction *p, bool held) {
    const prediction_request *r = p->request;
    const vg_predictor_info *net = &p->info[0];
    for (size_t i = 1; i < r->run_count; i++)
        if (vg_recipe_check_split(net->recipe, p->info[i].recipe) != VG_OK)
            return console_fail("--split %s: %s and %s: %s; give them one split_seed, or predict each by itself",
                                r->split, r->runs[0], r->runs[i], vg_error_message());
    if (training_data_open(&p->data, net->recipe, r->data) != VG_OK)
        return console_fail_library();
    p->source = p->data.set;
    p->indices = held ? p->data.held : p->data.fit;
    p->n = held ? p->data.held_count : p->data.fit_count;
    return CLI_OK;
}

static int open_images(prediction *p) {
    const prediction_request *r = p->request;
    const vg_predictor_info *net = &p->info[0];
    vg_status status = r->split ? vg_dataset_open(&p->set, net->recipe->dataset, VG_PART_TEST, r->data)
                                : open_input(&p->set, r->input, r->data);
    if (status != VG_OK)
        return console_fail_library();
    vg_dataset_info info = vg_dataset_describe(p->set);
    if (!r->split && (info.channels != net->channels || info.height != net->height || info.width != net->width)) {
        vg_dataset *adapted;
        if (vg_dataset_adapt(&adapted, p->set, net->channels, net->height, net->width) != VG_OK)
            return console_fail_library();
        vg_dataset_free(p->set);
        p->set = adapted;
    }
    p->source = p->set;
    p->n = info.n;
    size_t limit = net->recipe->test_limit;
    if (limit && limit < p->n) {
        if (vg_dataset_limit(&p->limited, &p->n, p->source, NULL, 0, limit, net->recipe->seed) != VG_OK)
            return console_fail_library();
        p->indices = p->limited;
    }
    return CLI_OK;
}

/* Training images must be those of the first network, with the classes of every network in their order: the split depends
 * on them. */
static int check_training_images(const prediction *p, const vg_dataset_info *info) {
    const vg_statistics *now = &p->data.statistics;
    for (size_t i = 0; i < p->request->run_count; i++) {
        const vg_predictor_info *net = &p->info[i];
        if (info->classes != net->classes)
            return console_fail("%s: %zu classes, the checkpoint has %zu", info->source, info->classes, net->classes);
        for (size_t c = 0; info->class_names && net->class_names && c < net->classes; c++)
            if (strcmp(info->class_names[c], net->class_names[c]) != 0)
                return console_fail("%s: class %zu is '%s', but '%s' in %s", info->source, c, info->class_names[c],
                                    net->class_names[c], p->request->runs[i]);
    }
    if (memcmp(now->mean, p->info[0].mean, sizeof now->mean) != 0 || memcmp(now->std, p->info[0].std, sizeof now->std) != 0)
        return console_fail("%s: not the images that %s was trained on: their mean or spread differs, so what was held out "
                            "is not known",
                            info->source, p->request->runs[0]);
    return CLI_OK;
}

/* Labels of test or other images in the network's numbers: by name where both have names, else as they are. */
static int settle_labels(prediction *p) {
    const vg_predictor_info *net = &p->info[0];
    vg_dataset_info info = vg_dataset_describe(p->source);
    char remark[512];
    p->labels = info.classes > 0;
    if (!p->labels)
        return CLI_OK;
    if (info.class_names && net->class_names) {
        if (vg_dataset_map_classes(p->set, net->class_names, net->classes) == VG_OK)
            return CLI_OK;
        if (p->request->split)
            return console_fail_library();
        console_note("%s; labels are left out", vg_error_message());
        p->labels = false;
        return CLI_OK;
    }
    if (vg_dataset_remark(remark, sizeof remark, p->source) == 2)
        console_warn("%s", remark);
    if (p->request->split && info.classes > net->classes)
        return console_fail("%s: %zu classes, the checkpoint has %zu", info.source, info.classes, net->classes);
    if (info.classes > net->classes) {
        console_warn("%s has %zu classes, the checkpoint %zu: labels are left out", info.source, info.classes,
                     net->classes);
        p->labels = false;
    }
    return CLI_OK;
}

static int open_set(prediction *p) {
    const char *split = p->request->split;
    const vg_predictor_info *net = &p->info[0];
    bool held = split && strcmp(split, "val") == 0, fit = split && strcmp(split, "train") == 0;
    int code = held || fit ? open_training_part(p, held) : open_images(p);
    if (code != CLI_OK)
        return code;
    vg_dataset_info info = vg_dataset_describe(p->source);
    if (info.channels != net->channels || info.height != net->height || info.width != net->width)
        return console_fail("%s: images of %zux%zux%zu, the checkpoint is for %zux%zux%zu", info.source, info.channels,
                            info.height, info.width, net->channels, net->height, net->width);
    p->labels = true;
    return held || fit ? check_training_images(p, &info) : settle_labels(p);
}

vg_status prediction_images(prediction *p, size_t k, size_t first, size_t count) {
    size_t order[PREDICTION_CHUNK];
    vg_statistics statistics = {.channels = p->info[k].channels};
    for (size_t i = 0; i < count; i++)
        order[i] = p->indices ? p->indices[first + i] : first + i;
    memcpy(statistics.mean, p->info[k].mean, sizeof statistics.mean);
    memcpy(statistics.std, p->info[k].std, sizeof statistics.std);
    return vg_dataset_fill(p->images, p->source, order, count, &statistics, VG_LAYOUT_NCHW);
}

vg_status prediction_logits(prediction *p, size_t first, size_t count) {
    size_t C = p->info[0].classes, done = 0;
    for (size_t k = 0; k < p->request->run_count; k++) {
        size_t M = p->info[k].members;
        vg_status status = prediction_images(p, k, first, count);
        if (status == VG_OK)
            status = vg_predictor_run(p->predictors[k], p->one, p->images, count, first);
        if (status != VG_OK)
            return status;
        for (size_t i = 0; i < count; i++)
            memcpy(p->all + (i * p->members + done) * C, p->one + i * M * C, M * C * sizeof(float));
        done += M;
    }
    return VG_OK;
}

static vg_status write_labels(prediction *p, vg_writer *writer) {
    const int32_t *labels = vg_dataset_labels(p->source);
    vg_status status = vg_writer_begin(writer, "L", VG_ELEMENT_I64, 1, &p->n);
    for (size_t i = 0; i < p->n && status == VG_OK; i++) {
        int64_t label = labels[p->indices ? p->indices[i] : i];
        status = vg_writer_append(writer, &label, sizeof label);
    }
    return status;
}

/* Names of the classes in the order of the last axis: an array of texts, or metadata where the format has none. */
static vg_status write_names(const prediction *p, vg_writer *writer) {
    const char *path = p->request->output;
    size_t length = strlen(path), ending = strlen(".safetensors");
    if (length < ending || strcmp(path + length - ending, ".safetensors") != 0)
        return vg_writer_texts(writer, "classes", p->info[0].class_names, p->info[0].classes);
    json_t *list = json_array();
    for (size_t c = 0; c < p->info[0].classes; c++)
        json_array_append_new(list, json_string(p->info[0].class_names[c]));
    char *text = json_dumps(list, 0);
    json_decref(list);
    vg_status status = text ? vg_writer_metadata(writer, "classes", text) : VG_OK;
    free(text);
    return status;
}

static vg_status write_all(prediction *p, vg_writer *writer) {
    size_t C = p->info[0].classes, shape[3] = {p->n, p->members, C};
    progress bar;
    progress_begin(&bar, "predicting", "images");
    vg_status status = vg_writer_begin(writer, p->request->logits ? "Z" : "P", VG_ELEMENT_F32, 3, shape);
    for (size_t i = 0; i < p->n && status == VG_OK && !console_interrupted(); i += PREDICTION_CHUNK) {
        size_t count = p->n - i < PREDICTION_CHUNK ? p->n - i : PREDICTION_CHUNK;
        status = prediction_logits(p, i, count);
        if (status == VG_OK && !p->request->logits)
            vg_softmax_rows(p->all, count * p->members, C);
        if (status == VG_OK)
            status = vg_writer_append(writer, p->all, count * p->members * C * sizeof(float));
        progress_update(&bar, i + count, p->n);
    }
    progress_end(&bar);
    if (status == VG_OK && p->labels && !console_interrupted())
        status = write_labels(p, writer);
    if (status == VG_OK && p->info[0].class_names && !console_interrupted())
        status = write_names(p, writer);
    return status;
}

static int run(prediction *p) {
    int code = open_predictors(p);
    if (code == CLI_OK)
        code = open_set(p);
    if (code != CLI_OK)
        return code;
    size_t C = p->info[0].classes, image = p->info[0].channels * p->info[0].height * p->info[0].width;
    p->images = malloc(PREDICTION_CHUNK * image * sizeof(float));
    p->one = malloc(PREDICTION_CHUNK * p->members * C * sizeof(float));
    p->all = malloc(PREDICTION_CHUNK * p->members * C * sizeof(float));
    if (!p->images || !p->one || !p->all)
        return console_fail_memory("predictions");
    if (p->request->score)
        return prediction_scores(p);
    vg_writer *writer;
    if (vg_writer_open(&writer, p->request->output) != VG_OK)
        return console_fail_library();
    console_guard();
    vg_status status = vg_writer_mark(writer, VG_PRODUCT_PREDICTIONS);
    if (status == VG_OK)
        status = write_all(p, writer);
    if (status == VG_OK && !console_interrupted())
        status = vg_writer_close(writer);
    else
        vg_writer_abandon(writer);
    bool interrupted = console_interrupted();
    console_unguard();
    if (status != VG_OK)
        return console_fail_library();
    if (interrupted)
        return console_fail("stopped; nothing was written");
    console_note("%s: %s of %zu images, %zu members, %zu classes%s, of epoch %zu", p->request->output,
                 p->request->logits ? "logits" : "probabilities", p->n, p->members, C, p->labels ? ", with labels" : "",
                 p->info[0].epoch);
    return CLI_OK;
}

int prediction_run(const prediction_request *request) {
    prediction p = {.request = request};
    if (request->run_count > PREDICTION_RUNS)
        return console_usage("at most %d runs make a deep ensemble, found %zu", PREDICTION_RUNS, request->run_count);
    int code = run(&p);
    close_all(&p);
    return code;
}
