/* train_ensemble.c - the networks of a deep ensemble, each a run of its own.
 *
 *     FOLDER/recipe.yaml      the ensemble's recipe
 *     FOLDER/network-1, ...   run folders of the networks; network i has the seed of the recipe plus i - 1
 *     FOLDER/metrics.jsonl    the lines of all networks, each with its number ("network")
 *     FOLDER/train.lock       held while networks are trained
 *
 * All networks read one data set and one split. On a GPU they are trained in sequence on one device, which holds the
 * images once; on the CPU `jobs` threads train a network each. A network is a function of its recipe, the data and
 * its thread count, so that the result does not depend on the number of jobs. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/json_text.h"
#include "data/dataset.h"
#include "formats/arrays.h"
#include "formats/json_lines.h"
#include "formats/text_file.h"
#include "nn/network.h"
#include "nn/recipe.h"
#include "nn/run_lock.h"
#include "nn/train_device.h"
#include "vargate/formats.h"
#include "workflow/job.h"
#include "workflow/run_networks.h"
#include "workflow/train_recipe.h"

enum { MESSAGE = 1024 };

typedef struct ensemble {
    const vg_train_recipe_options *options;
    const vg_training_data *data;
    vg_training_crew crew;
    size_t networks, next; /* next: the first that no worker has taken; under crew.lock */
    unsigned jobs, threads;
    vg_train_result results[VG_MAX_RUNS];
    vg_status status; /* the first failure, under crew.lock */
    char message[MESSAGE];
} ensemble;

/* --- files ---------------------------------------------------------------------------------------------------------*/

static vg_status make_folder(const char *folder) {
    char path[VG_NETWORK_PATH];
    if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path - 64)
        return vg_base__fail(VG_ERR_ARGUMENT, "the run folder's name is too long");
    return vg_file__make_folders(folder);
}

/* Whether the file holds exactly this text. */
static bool holds(const char *path, const char *text) {
    FILE *file = fopen(path, "rb");
    size_t at = 0;
    int c = 0;
    while (file && (c = fgetc(file)) != EOF && text[at] && c == (unsigned char)text[at])
        at++;
    bool same = file && c == EOF && !text[at];
    if (file)
        fclose(file);
    return same;
}

/* recipe.yaml is replaced only when it changes, because predictions older than it are made again. */
static vg_status write_recipe(const ensemble *e) {
    char path[VG_NETWORK_PATH], *text = NULL;
    snprintf(path, sizeof path, "%s/recipe.yaml", e->options->folder);
    vg_status status = vg_recipe_text(&text, e->options->recipe);
    if (status == VG_OK && !holds(path, text))
        status = vg_text_save(path, text, strlen(text));
    vg_free(text);
    return status;
}

typedef struct network_lines {
    json_t *out;
    size_t network;
    bool single;
} network_lines;

/* Adds a line of one network's metrics.jsonl, with its number. A network of one member has no figures of an
 * ensemble. */
static vg_status add_line(void *context, const char *line, json_t *value) {
    static const char *const of_ensembles[] = {"diversity", "k_sensitivity", "verdict",
                                               "share",     "disagreement",  "collapsed"};
    const network_lines *to = context;
    (void)line;
    for (size_t i = 0; to->single && i < sizeof of_ensembles / sizeof *of_ensembles; i++)
        json_object_del(value, of_ensembles[i]);
    bool good = !value || (json_object_set_new(value, "network", json_integer((json_int_t)to->network)) == 0 &&
                           json_array_append(to->out, value) == 0);
    return good ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for metrics");
}

static vg_status write_lines(const char *path, const json_t *lines) {
    vg_text *file;
    VG_TRY(vg_text__open(&file, path));
    vg_status status = VG_OK;
    for (size_t i = 0; i < json_array_size(lines) && status == VG_OK; i++) {
        char *line = vg_base__json_text(json_array_get(lines, i), JSON_REAL_PRECISION(17));
        status =
            line ? vg_text__write(file, line, strlen(line)) : vg_base__fail(VG_ERR_MEMORY, "out of memory for metrics");
        if (status == VG_OK)
            status = vg_text__write(file, "\n", 1);
        free(line);
    }
    if (status == VG_OK)
        return vg_text__close(file);
    vg_text__abandon(file);
    return status;
}

static vg_status write_metrics(const ensemble *e) {
    char path[VG_NETWORK_PATH];
    network_lines lines = {json_array(), 0, e->options->recipe->ensemble == VG_ENSEMBLE_DEEP};
    vg_status status = lines.out ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for metrics");
    for (size_t i = 0; status == VG_OK && i < e->networks; i++) {
        lines.network = i + 1;
        snprintf(path, sizeof path, "%s/network-%zu/metrics.jsonl", e->options->folder, i + 1);
        status = vg_json_lines__read(path, add_line, &lines);
    }
    snprintf(path, sizeof path, "%s/metrics.jsonl", e->options->folder);
    if (status == VG_OK)
        status = write_lines(path, lines.out);
    json_decref(lines.out);
    return status;
}

/* A folder of checkpoints is continued only when that was asked for, and only if it is not a single network's. */
static vg_status check_folder(const ensemble *e) {
    char path[VG_NETWORK_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/last.safetensors", e->options->folder);
    if (stat(path, &st) == 0)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s is the run folder of a single network: choose another folder for a deep ensemble",
                             path);
    for (size_t i = 0; i < e->networks && !e->options->resume; i++) {
        snprintf(path, sizeof path, "%s/network-%zu/last.safetensors", e->options->folder, i + 1);
        if (stat(path, &st) == 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s exists already: resume it, or choose another folder", path);
    }
    return VG_OK;
}

/* --- networks trained at once ------------------------------------------------------------------------------------- */

/* Memory that new work may take, in bytes, by the kernel's estimate; SIZE_MAX where it is not known. */
static size_t available_memory(void) {
    char line[128];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return kilobytes ? (size_t)kilobytes * 1024 : SIZE_MAX;
}

static void choose_jobs(ensemble *e) {
    const vg_train_recipe_options *o = e->options;
    vg_dataset_info info = vg_dataset__info(e->data->set);
    vg_shape image = {info.channels, info.height, info.width};
    size_t each = vg_network__training_memory(o->recipe, image, info.classes), room = available_memory();
    size_t fit = each && room < SIZE_MAX ? (size_t)(0.8 * (double)room / (double)each) : o->jobs;
    e->jobs = o->jobs > e->networks ? (unsigned)e->networks : o->jobs ? o->jobs : 1;
    if (e->jobs > 1 && vg_train_device__is_gpu(o->device)) {
        vg_job__note(&o->job, "a GPU trains the networks one after another: jobs is not used");
        e->jobs = 1;
    } else if (e->jobs > 1 && fit < e->jobs) {
        e->jobs = fit > 1 ? (unsigned)fit : 1;
        vg_job__note(&o->job, "memory suffices for %u network%s at once: each takes at least %.1f GB, %.1f GB are free",
                     e->jobs, e->jobs > 1 ? "s" : "", 1e-9 * (double)each, 1e-9 * (double)room);
    }
    e->threads = o->threads;
    if (e->jobs > 1 && !e->threads) {
        unsigned cores = vg_base__cores();
        e->threads = cores / e->jobs ? cores / e->jobs : 1;
        vg_job__note(&o->job, "%u networks at once with %u thread%s each", e->jobs, e->threads,
                     e->threads > 1 ? "s" : "");
    }
}

/* --- training ------------------------------------------------------------------------------------------------------*/

static vg_status train_network(ensemble *e, size_t i, struct vg_train_device *device) {
    vg_recipe recipe;
    char folder[VG_NETWORK_PATH];
    vg_training_data data;
    vg_training_watch watch = {.crew = &e->crew, .network = i, .what = "training"};
    vg_recipe__network(&recipe, e->options->recipe, i);
    snprintf(folder, sizeof folder, "%s/network-%zu", e->options->folder, i + 1);
    vg_training_data__borrow(&data, e->data);
    vg_network_task task = {&recipe, folder, &data, &watch, device, e->threads};
    vg_status status = vg_train_recipe__network(&e->results[i], &task);
    vg_training_data__close_loaders(&data);
    return status;
}

/* Records the first failure and stops the other networks. */
static void note_failure(ensemble *e, vg_status status, size_t network) {
    pthread_mutex_lock(&e->crew.lock);
    if (e->status == VG_OK || (e->status == VG_ERR_INTERRUPTED && status != VG_ERR_INTERRUPTED)) {
        e->status = status;
        snprintf(e->message, sizeof e->message, "network %zu of %zu: %.900s", network + 1, e->networks,
                 vg_error_message());
    }
    e->crew.stop = true;
    pthread_mutex_unlock(&e->crew.lock);
}

static bool take_next(ensemble *e, size_t *network) {
    pthread_mutex_lock(&e->crew.lock);
    *network = e->next;
    bool more = e->next < e->networks && !e->crew.stop;
    e->next += more;
    pthread_mutex_unlock(&e->crew.lock);
    return more;
}

static void *work(void *argument) {
    VG_IN_C_LOCALE;
    ensemble *e = argument;
    struct vg_train_device *device;
    size_t i = 0;
    vg_status status = vg_train_device__new(&device, e->jobs > 1);
    while (status == VG_OK && take_next(e, &i))
        status = train_network(e, i, device);
    if (status != VG_OK)
        note_failure(e, status, i);
    vg_train_device__free(device);
    return NULL;
}

static void run_workers(ensemble *e) {
    pthread_t threads[VG_MAX_RUNS];
    unsigned started = 0;
    while (e->jobs > 1 && started < e->jobs && pthread_create(&threads[started], NULL, work, e) == 0)
        started++;
    if (!started)
        work(e);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* --- the result ----------------------------------------------------------------------------------------------------*/

static void add_metrics(vg_epoch_metrics *sum, const vg_epoch_metrics *m, double share) {
    sum->epoch = m->epoch > sum->epoch ? m->epoch : sum->epoch;
    sum->train_loss += share * m->train_loss;
    sum->train_accuracy += share * m->train_accuracy;
    sum->val_loss += share * m->val_loss;
    sum->val_accuracy += share * m->val_accuracy;
    sum->val_ece += share * m->val_ece;
    sum->diversity += share * m->diversity;
    sum->k_sensitivity += share * m->k_sensitivity;
    sum->rate += share * m->rate;
    sum->images_per_s += share * m->images_per_s;
    sum->verdict = m->verdict;
}

static void sum_up(vg_train_result *result, const ensemble *e) {
    double share = 1.0 / (double)e->networks;
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < e->networks; i++) {
        const vg_train_result *r = &e->results[i];
        add_metrics(&result->last, &r->last, share);
        add_metrics(&result->best, &r->best, share);
        result->seconds += r->seconds;
        result->collapsed |= r->collapsed;
        result->epochs_done += r->epochs_done;
    }
}

static vg_status train_all(ensemble *e) {
    VG_TRY(write_recipe(e));
    choose_jobs(e);
    vg_training_crew__begin(&e->crew, e->options, e->networks);
    run_workers(e);
    vg_training_crew__end(&e->crew);
    vg_status written = write_metrics(e);
    return e->status == VG_OK ? written : vg_base__fail(e->status, "%s", e->message);
}

vg_status vg_train_recipe__ensemble(vg_train_result *result, const vg_train_recipe_options *options,
                                    vg_training_data *data) {
    struct vg_run_lock *lock;
    ensemble *e;
    VG_TRY(vg_base__zalloc(&e, 1, sizeof *e, "a deep ensemble"));
    e->options = options;
    e->data = data;
    e->networks = vg_recipe__networks(options->recipe);
    vg_status status = make_folder(options->folder);
    if (status == VG_OK)
        status = vg_run_lock__take(&lock, options->folder);
    if (status == VG_OK) {
        status = check_folder(e);
        if (status == VG_OK)
            status = train_all(e);
        vg_run_lock__release(lock);
    }
    sum_up(result, e);
    vg_base__release(e);
    return status;
}
