/* run_folder.c - the files of a run: recipe.yaml, run.json, metrics.jsonl, last.safetensors, best.safetensors. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nn/trainer.h"
#include "vargate/formats.h"

vg_status vg_train__path(char *out, size_t room, const vg_training *t, const char *name) {
    int length = snprintf(out, room, "%s/%s", t->options.folder, name);
    if (length < 0 || (size_t)length >= room)
        return vg_base__fail(VG_ERR_ARGUMENT, "the run folder's name is too long");
    return VG_OK;
}

vg_status vg_train__folder(vg_training *t) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, ""));
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
        *c = '/';
    }
    return VG_OK;
}

static vg_status write_text(const char *path, const char *text, size_t length) {
    vg_text *file;
    VG_TRY(vg_text_open(&file, path));
    vg_status status = vg_text_write(file, text, length);
    if (status != VG_OK) {
        vg_text_abandon(file);
        return status;
    }
    return vg_text_close(file);
}

/* --- going on */

/* The first line in which two recipes differ, by key. */
static vg_status compare_recipes(const char *path, const vg_recipe *was, const vg_recipe *now) {
    char *a = NULL, *b = NULL;
    vg_status status = vg_recipe_text(&a, was);
    if (status == VG_OK)
        status = vg_recipe_text(&b, now);
    const char *x = a, *y = b;
    while (status == VG_OK && *x && *y) {
        size_t lx = strcspn(x, "\n"), ly = strcspn(y, "\n");
        if (lx != ly || memcmp(x, y, lx) != 0)
            status = vg_base__fail(VG_ERR_ARGUMENT, "%s was trained with another recipe: '%.*s' there, '%.*s' here", path,
                                   (int)lx, x, (int)ly, y);
        x += lx + (x[lx] == '\n');
        y += ly + (y[ly] == '\n');
    }
    vg_recipe_text_free(a);
    vg_recipe_text_free(b);
    return status;
}

vg_status vg_train__resumable(vg_training *t, bool *resumed) {
    char path[4096];
    struct stat file;
    vg_recipe recipe;
    vg_train_state state;
    *resumed = false;
    VG_TRY(vg_train__path(path, sizeof path, t, "last.safetensors"));
    if (stat(path, &file) != 0)
        return errno == ENOENT ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    if (!t->options.resume)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s is there already: resume it, or choose another folder", path);
    VG_TRY(vg_checkpoint__peek(path, &recipe, &state));
    VG_TRY(compare_recipes(path, &recipe, &t->recipe));
    if (state.classes != t->state.classes)
        return vg_base__fail(VG_ERR_DATA, "%s has %zu classes, the data %zu", path, state.classes, t->state.classes);
    if (state.channels != t->state.channels || state.height != t->state.height || state.width != t->state.width)
        return vg_base__fail(VG_ERR_DATA, "%s is for images of %zu x %zu x %zu, the data has %zu x %zu x %zu", path,
                             state.channels, state.height, state.width, t->state.channels, t->state.height, t->state.width);
    if (memcmp(state.mean, t->state.mean, sizeof state.mean) || memcmp(state.std, t->state.std, sizeof state.std))
        return vg_base__fail(VG_ERR_DATA, "%s was trained on other data: the mean or spread of its images differs", path);
    t->state = state;
    *resumed = true;
    return VG_OK;
}

/* The lines of metrics.jsonl up to the checkpoint's epoch. */
static vg_status read_log(vg_training *t) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    char line[2048];
    vg_status status = VG_OK;
    while (status == VG_OK && fgets(line, sizeof line, file)) {
        json_t *j = json_loads(line, 0, NULL);
        json_int_t epoch = json_integer_value(json_object_get(j, "epoch"));
        size_t length = strlen(line);
        if (epoch >= 1 && (size_t)epoch <= t->state.epoch && length && line[length - 1] == '\n') {
            char *longer;
            status = vg_base__alloc(&longer, t->log_length + length + 1, 1, "metrics");
            if (status == VG_OK) {
                if (t->log_length)
                    memcpy(longer, t->log, t->log_length);
                memcpy(longer + t->log_length, line, length + 1);
                vg_base__release(t->log);
                t->log = longer;
                t->log_length += length;
            }
        }
        json_decref(j);
    }
    fclose(file);
    return status;
}

vg_status vg_train__resume(vg_training *t) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, "last.safetensors"));
    VG_TRY(vg_checkpoint__load(path, t->learner, true));
    t->saved_epoch = t->state.epoch;
    t->result.best.epoch = t->state.best_epoch;
    t->result.best.val_accuracy = t->state.best_accuracy;
    t->result.best.val_loss = t->state.best_loss;
    VG_TRY(read_log(t));
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    return write_text(path, t->log ? t->log : "", t->log_length);
}

/* --- writing */

vg_status vg_train__describe(vg_training *t) {
    char path[4096], *text = NULL;
    VG_TRY(vg_recipe_text(&text, &t->recipe));
    vg_status status = vg_train__path(path, sizeof path, t, "recipe.yaml");
    if (status == VG_OK)
        status = write_text(path, text, strlen(text));
    vg_recipe_text_free(text);
    VG_TRY(status);
    json_t *j = json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "version", vg_version(), "recipe", t->recipe.name, "seed",
                          (json_int_t)t->recipe.seed, "device", t->backend->device, "threads", (json_int_t)t->backend->threads,
                          "train_samples", (json_int_t)t->options.train.samples, "validation_samples",
                          (json_int_t)t->options.validation.samples);
    char *json = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
    json_decref(j);
    if (!json)
        return vg_base__fail(VG_ERR_MEMORY, "no memory for run.json");
    status = vg_train__path(path, sizeof path, t, "run.json");
    if (status == VG_OK)
        status = write_text(path, json, strlen(json));
    free(json);
    VG_TRY(status);
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    return write_text(path, "", 0);
}

static double finite(double value) { return isfinite(value) ? value : 0; }

vg_status vg_train__log(vg_training *t, const vg_epoch_metrics *m) {
    char path[4096], *longer;
    json_t *j = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "epoch", (json_int_t)m->epoch,
                          "train_loss", finite(m->train_loss), "train_accuracy", m->train_accuracy, "val_loss",
                          finite(m->val_loss), "val_accuracy", m->val_accuracy, "val_ece", finite(m->val_ece), "diversity",
                          finite(m->diversity), "k_sensitivity", finite(m->k_sensitivity), "lr", m->rate, "images_per_s",
                          m->images_per_s, "collapsed", (int)t->state.collapsed);
    char *line = j ? json_dumps(j, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(j);
    if (!line)
        return vg_base__fail(VG_ERR_MEMORY, "no memory for metrics.jsonl");
    size_t length = strlen(line);
    vg_status status = vg_base__alloc(&longer, t->log_length + length + 2, 1, "metrics");
    if (status == VG_OK) {
        if (t->log_length)
            memcpy(longer, t->log, t->log_length);
        memcpy(longer + t->log_length, line, length);
        longer[t->log_length + length] = '\n';
        longer[t->log_length + length + 1] = 0;
        vg_base__release(t->log);
        t->log = longer;
        t->log_length += length + 1;
        status = vg_train__path(path, sizeof path, t, "metrics.jsonl");
    }
    free(line);
    return status == VG_OK ? write_text(path, t->log, t->log_length) : status;
}

vg_status vg_train__save(vg_training *t, const char *name, bool full) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, name));
    VG_TRY(vg_checkpoint__save(path, t->learner, &t->recipe, &t->state, full));
    if (full)
        t->saved_epoch = t->state.epoch;
    if (t->options.event) {
        vg_train_event event = {.kind = VG_TRAIN_CHECKPOINT,
                                .text = path,
                                .epoch = t->state.epoch,
                                .epochs = t->recipe.epochs,
                                .step = t->state.step,
                                .steps = t->options.train.steps,
                                .loss = NAN};
        if (t->options.event(t->options.event_context, &event))
            t->stop = true;
    }
    return VG_OK;
}
