/* run_folder.c - the files of a run: recipe.yaml, run.json, metrics.jsonl, last.safetensors, best.safetensors. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/names.h"
#include "formats/arrays.h"
#include "formats/json_lines.h"
#include "nn/predictor.h"
#include "nn/recipe.h"
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
    return vg_file__make_folders(t->options.folder);
}

const char *vg_train__snapshot_name(char out[VG_SNAPSHOT_NAME], size_t i) {
    snprintf(out, VG_SNAPSHOT_NAME, "snapshot-%zu.safetensors", i);
    return out;
}

/* --- resuming */

/* Keys that a resumed run may change, because they have no effect on training. For `epochs` see vg_train. */
static bool is_free(const char *line, size_t length) {
    static const char *const keys[] = {"name",       "ood",
                                       "test_limit", "members",
                                       "checkpoint", "checkpoint_every",
                                       "k",          "collapse_fraction",
                                       "calibrate",  "collapse_epochs",
                                       "epochs",     "in_memory",
                                       "patience"};
    size_t name = strcspn(line, ":");
    for (size_t i = 0; name < length && i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == name && strncmp(keys[i], line, name) == 0)
            return true;
    return false;
}

/* Refuses a recipe that would train differently, and lists the settings that changed otherwise. */
static vg_status compare_recipes(vg_training *t, const char *path, const vg_recipe *was) {
    char *a = NULL, *b = NULL;
    vg_status status = vg_recipe_text(&a, was);
    if (status == VG_OK)
        status = vg_recipe_text(&b, &t->recipe);
    const char *x = a, *y = b;
    t->changes[0] = 0;
    while (status == VG_OK && *x && *y) {
        size_t lx = strcspn(x, "\n"), ly = strcspn(y, "\n"), used = strlen(t->changes);
        if (lx != ly || memcmp(x, y, lx) != 0) {
            bool networks = vg_recipe__is_joint(was) && strncmp(x, "members:", 8) == 0; /* part of the network */
            if (is_free(x, lx) && !networks)
                snprintf(t->changes + used, sizeof t->changes - used, "%s%.*s (was %.*s)", used ? ", " : "", (int)ly, y,
                         (int)(lx - strcspn(x, " ") - 1), x + strcspn(x, " ") + 1);
            else
                status = vg_base__fail(VG_ERR_ARGUMENT, "%s was trained with another recipe: '%.*s' there, '%.*s' here",
                                       path, (int)lx, x, (int)ly, y);
        }
        x += lx + (x[lx] == '\n');
        y += ly + (y[ly] == '\n');
    }
    vg_free(a);
    vg_free(b);
    return status;
}

static vg_status compare_data(const vg_training *t, const char *path, const vg_train_state *state) {
    if (state->channels != t->state.channels || state->height != t->state.height || state->width != t->state.width)
        return vg_base__fail(VG_ERR_DATA, "%s is for images of %zu x %zu x %zu, the data has %zu x %zu x %zu", path,
                             state->channels, state->height, state->width, t->state.channels, t->state.height,
                             t->state.width);
    if (memcmp(state->mean, t->state.mean, sizeof state->mean) || memcmp(state->std, t->state.std, sizeof state->std))
        return vg_base__fail(VG_ERR_DATA, "%s was trained on other data: the mean or spread of its images differs",
                             path);
    return VG_OK;
}

/* Names must be the same in the same order. Those of the checkpoint are kept where the data has none. */
static vg_status compare_names(vg_training *t, const char *path, size_t had) {
    size_t classes = t->state.classes;
    if (had != classes)
        return vg_base__fail(VG_ERR_DATA, "%s has %zu classes, the data %zu", path, had, classes);
    VG_TRY(vg_checkpoint__names(&t->kept_names, path, classes));
    const char *const *kept = (const char *const *)t->kept_names;
    if (!kept)
        return VG_OK;
    if (!t->class_names) {
        t->class_names = kept;
        return VG_OK;
    }
    size_t c = vg_names__differ(kept, t->class_names, classes);
    if (c < classes)
        return vg_base__fail(VG_ERR_DATA, "%s: class %zu is '%.100s' there, '%.100s' in the data", path, c, kept[c],
                             t->class_names[c]);
    return VG_OK;
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
        return vg_base__fail(VG_ERR_ARGUMENT, "%s exists already: resume it, or choose another folder", path);
    VG_TRY(vg_checkpoint__peek(path, &recipe, &state));
    VG_TRY(compare_recipes(t, path, &recipe));
    VG_TRY(compare_names(t, path, state.classes));
    VG_TRY(compare_data(t, path, &state));
    if (t->recipe.epochs < state.epoch + (state.step > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s has trained for %zu epochs%s already: epochs %zu is less", path,
                             state.epoch, state.step > 0 ? " and a part" : "", t->recipe.epochs);
    if (t->recipe.snapshots && t->recipe.epochs != recipe.epochs)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s has snapshots along a schedule of %zu epochs: a run of %zu needs another folder", path,
                             recipe.epochs, t->recipe.epochs);
    t->old_epochs = recipe.epochs;
    t->old_threads = state.threads;
    t->state = state;
    *resumed = true;
    return VG_OK;
}

static double number(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }

static vg_epoch_metrics metrics_of(const json_t *j) {
    return (vg_epoch_metrics){.epoch = (size_t)json_integer_value(json_object_get(j, "epoch")),
                              .train_loss = number(j, "train_loss"),
                              .train_accuracy = number(j, "train_accuracy"),
                              .val_loss = number(j, "val_loss"),
                              .val_accuracy = number(j, "val_accuracy"),
                              .val_ece = number(j, "val_ece"),
                              .diversity = number(j, "diversity"),
                              .k_sensitivity = number(j, "k_sensitivity"),
                              .rate = number(j, "lr"),
                              .images_per_s = number(j, "images_per_s")};
}

/* Appends to the text of metrics.jsonl. */
static vg_status extend_log(vg_training *t, const char *line, size_t length) {
    char *longer;
    VG_TRY(vg_base__alloc(&longer, t->log_length + length + 1, 1, "metrics"));
    if (t->log_length)
        memcpy(longer, t->log, t->log_length);
    memcpy(longer + t->log_length, line, length);
    longer[t->log_length + length] = 0;
    vg_base__release(t->log);
    t->log = longer;
    t->log_length += length;
    return VG_OK;
}

static vg_status take_line(void *training, const char *line, json_t *value) {
    vg_training *t = training;
    json_int_t epoch = json_integer_value(json_object_get(value, "epoch"));
    size_t length = strlen(line);
    if (epoch < 1 || (size_t)epoch > t->state.epoch || !length || line[length - 1] != '\n')
        return VG_OK;
    t->result.last = metrics_of(value);
    if ((size_t)epoch == t->state.best_epoch)
        t->result.best = t->result.last;
    return extend_log(t, line, length);
}

/* The lines of metrics.jsonl up to the checkpoint's epoch. */
static vg_status read_log(vg_training *t) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    return vg_json_lines__read(path, take_line, t);
}

vg_status vg_train__rewrite(vg_training *t, const char *name, vg_status (*change)(vg_training *t)) {
    char path[4096];
    vg_recipe recipe;
    vg_train_state state = t->state;
    VG_TRY(vg_train__path(path, sizeof path, t, name));
    vg_status status = vg_checkpoint__peek(path, &recipe, &t->state);
    if (status == VG_OK)
        status = vg_checkpoint__load(path, t->learner, false);
    if (status == VG_OK && change)
        status = change(t);
    if (status == VG_OK)
        status = vg_train__save(t, name, false);
    t->state = state;
    return status;
}

/* Writes the current recipe into all checkpoints and recipe.yaml, because prediction reads it from there. */
static vg_status adopt_recipe(vg_training *t, const char *last) {
    char name[VG_SNAPSHOT_NAME];
    bool refreshed = t->learner->model->has_refreshed;
    if (t->state.best_epoch > 0)
        VG_TRY(vg_train__rewrite(t, "best.safetensors", NULL));
    for (size_t i = 1; i <= t->recipe.snapshots; i++)
        if (vg_train__snapshot_epoch(&t->recipe, i) <= t->state.epoch)
            VG_TRY(vg_train__rewrite(t, vg_train__snapshot_name(name, i), NULL));
    VG_TRY(vg_checkpoint__load(last, t->learner, true));
    t->learner->model->has_refreshed = refreshed;
    VG_TRY(vg_train__describe(t));
    return vg_train__save(t, "last.safetensors", true);
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
    if (!vg_train__finished(t)) /* a finished run that is extended */
        t->learner->model->has_refreshed = false;
    if (t->changes[0])
        VG_TRY(adopt_recipe(t, path));
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    return vg_text_save(path, t->log ? t->log : "", t->log_length);
}

/* --- writing */

vg_status vg_train__describe(vg_training *t) {
    char path[4096], *text = NULL;
    VG_TRY(vg_recipe_text(&text, &t->recipe));
    vg_status status = vg_train__path(path, sizeof path, t, "recipe.yaml");
    if (status == VG_OK)
        status = vg_text_save(path, text, strlen(text));
    vg_free(text);
    VG_TRY(status);
    json_t *j = json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "version", vg_version(), "recipe", t->recipe.name,
                          "seed", (json_int_t)t->recipe.seed, "device", t->backend->device, "threads",
                          (json_int_t)t->backend->threads, "train_samples", (json_int_t)t->options.train.samples,
                          "validation_samples", (json_int_t)t->options.validation.samples);
    char *json = vg_base__json_text(j, JSON_INDENT(2));
    json_decref(j);
    if (!json)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for run.json");
    status = vg_train__path(path, sizeof path, t, "run.json");
    if (status == VG_OK)
        status = vg_text_save(path, json, strlen(json));
    free(json);
    return status;
}

vg_status vg_train__begin_log(vg_training *t) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, "metrics.jsonl"));
    return vg_text_save(path, "", 0);
}

static double finite(double value) { return isfinite(value) ? value : 0; }

/* Appends the object as a line and writes the file. Owns the object. ok: everything could be put into it. */
static vg_status log_object(vg_training *t, json_t *j, bool ok) {
    char path[4096];
    char *line = ok ? vg_base__json_text(j, JSON_REAL_PRECISION(17)) : NULL;
    vg_status status = line ? vg_train__write_event(t, j) : VG_OK;
    json_decref(j);
    if (!line)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for metrics.jsonl");
    if (status == VG_OK)
        status = extend_log(t, line, strlen(line));
    if (status == VG_OK)
        status = extend_log(t, "\n", 1);
    if (status == VG_OK)
        status = vg_train__path(path, sizeof path, t, "metrics.jsonl");
    free(line);
    return status == VG_OK ? vg_text_save(path, t->log, t->log_length) : status;
}

static json_t *gates_list(const double *gates, size_t classes, bool *ok) {
    json_t *list = json_array();
    for (size_t c = 0; c < classes; c++)
        vg_base__json_add(list, json_real(finite(gates[c])), ok);
    return list;
}

vg_status vg_train__write_gates(vg_training *t) {
    char path[4096], *text = NULL;
    double *gates = NULL;
    if (!t->gates)
        return VG_OK;
    VG_TRY(vg_train__path(path, sizeof path, t, t->recipe.checkpoint ? "best.safetensors" : "last.safetensors"));
    if (access(path, F_OK) != 0)
        return VG_OK;
    vg_status status = vg_checkpoint__gates(&gates, path, t->state.classes);
    if (status != VG_OK)
        return status;
    bool ok = true;
    json_t *j =
        json_pack("{s:s, s:s, s:o, s:s}", "schema", "vargate/1", "command", "train", "k",
                  gates_list(gates, t->state.classes, &ok), "checkpoint", t->recipe.checkpoint ? "best" : "last");
    text = ok ? vg_base__json_text(j, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(j);
    status = text ? vg_train__path(path, sizeof path, t, "k.json")
                  : vg_base__fail(VG_ERR_MEMORY, "out of memory for k.json");
    if (status == VG_OK)
        status = vg_text_save(path, text, strlen(text));
    free(text);
    vg_base__release(gates);
    return status;
}

vg_status vg_train__log(vg_training *t, const vg_epoch_metrics *m) {
    json_t *j =
        json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:f, s:f, s:b}", "epoch",
                  (json_int_t)m->epoch, "train_loss", finite(m->train_loss), "train_accuracy", m->train_accuracy,
                  "val_loss", finite(m->val_loss), "val_accuracy", m->val_accuracy, "val_ece", finite(m->val_ece),
                  "diversity", finite(m->diversity), "k_sensitivity", finite(m->k_sensitivity), "lr", m->rate,
                  "images_per_s", m->images_per_s, "verdict", m->verdict.name, "share", finite(m->verdict.share),
                  "disagreement", finite(m->verdict.disagreement), "collapsed", (int)t->state.collapsed);
    bool ok = j != NULL;
    if (j && t->gates)
        vg_base__json_put(j, "k", gates_list(t->gates, t->state.classes, &ok), &ok);
    return log_object(t, j, ok);
}

vg_status vg_train__log_refreshed(vg_training *t, const vg_epoch_metrics *m) {
    size_t start = t->log_length;
    while (start > 0 && (start == t->log_length || t->log[start - 1] != '\n'))
        start--;
    json_error_t error = {.line = 0};
    json_t *j = t->log ? vg_base__json_load(t->log + start, strlen(t->log + start), 0, &error) : NULL;
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the log of training");
    if (!j) /* the file was removed: there is no line to add to */
        return VG_OK;
    t->log_length = start;
    bool ok = true;
    vg_base__json_put(j, "refreshed_val_loss", json_real(finite(m->val_loss)), &ok);
    vg_base__json_put(j, "refreshed_val_accuracy", json_real(m->val_accuracy), &ok);
    vg_base__json_put(j, "refreshed_val_ece", json_real(finite(m->val_ece)), &ok);
    return log_object(t, j, ok);
}

vg_status vg_train__save(vg_training *t, const char *name, bool full) {
    char path[4096];
    VG_TRY(vg_train__path(path, sizeof path, t, name));
    VG_TRY(vg_checkpoint__save(path, t->learner, &t->recipe, &t->state, t->class_names, full));
    if (full) {
        t->saved_epoch = t->state.epoch;
        t->saved_at = vg_train__clock();
    }
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

/* --- queries */

vg_status vg_run__checkpoint(char *out, size_t room, const char *folder, int which, int *best) {
    char last[4096];
    int length = snprintf(last, sizeof last, "%s/last.safetensors", folder);
    if (length < 0 || (size_t)length >= sizeof last || strlen(last) >= room)
        return vg_base__fail(VG_ERR_ARGUMENT, "%.100s...: the run folder's name is too long", folder);
    if (which < 0) {
        vg_recipe recipe;
        vg_train_state state;
        VG_TRY(vg_checkpoint__peek(last, &recipe, &state));
        which = recipe.checkpoint;
    }
    if (best)
        *best = which;
    snprintf(out, room, "%s/%s.safetensors", folder, which ? "best" : "last");
    return VG_OK;
}
