/* train_events.c - the figures of epochs for TensorBoard: FOLDER/tensorboard/events.out.tfevents.vargate. The file
 * is rewritten from metrics.jsonl when a training begins or is resumed, so that both agree; then every epoch is
 * appended. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/json_text.h"
#include "formats/tfevents.h"
#include "nn/trainer.h"

/* Keys of metrics.jsonl and the names of their curves. */
static const struct {
    const char *key, *tag;
} curves[] = {
    {"train_loss", "loss/train"},
    {"val_loss", "loss/validation"},
    {"refreshed_val_loss", "loss/validation_refreshed"},
    {"train_accuracy", "accuracy/train"},
    {"val_accuracy", "accuracy/validation"},
    {"refreshed_val_accuracy", "accuracy/validation_refreshed"},
    {"val_ece", "ece/validation"},
    {"refreshed_val_ece", "ece/validation_refreshed"},
    {"diversity", "ensemble/diversity"},
    {"k_sensitivity", "ensemble/k_sensitivity"},
    {"disagreement", "ensemble/disagreement"},
    {"lr", "training/rate"},
    {"images_per_s", "training/images_per_s"},
};
enum { CURVES = sizeof curves / sizeof *curves };

vg_status vg_train__write_event(vg_training *t, const json_t *line) {
    vg_event_scalar scalars[CURVES + 2];
    size_t count = 0;
    struct timespec now;
    if (!t->events)
        return VG_OK;
    for (size_t i = 0; i < CURVES; i++) {
        const json_t *value = json_object_get(line, curves[i].key);
        if (json_is_number(value))
            scalars[count++] = (vg_event_scalar){curves[i].tag, (float)json_number_value(value)};
    }
    const json_t *k = json_object_get(line, "k"); /* of every class, where the loss is gated */
    float low = INFINITY, high = -INFINITY;
    for (size_t c = 0; c < json_array_size(k); c++) {
        low = fminf(low, (float)json_number_value(json_array_get(k, c)));
        high = fmaxf(high, (float)json_number_value(json_array_get(k, c)));
    }
    if (low <= high) {
        scalars[count++] = (vg_event_scalar){"gate/k_least", low};
        scalars[count++] = (vg_event_scalar){"gate/k_largest", high};
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return vg_events__write(t->events, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
                            json_integer_value(json_object_get(line, "epoch")), scalars, count);
}

static vg_status write_lines(vg_training *t) {
    const char *line = t->log ? t->log : "";
    vg_status status = VG_OK;
    while (*line && status == VG_OK) {
        size_t length = strcspn(line, "\n");
        json_error_t error = {.line = 0};
        json_t *j = vg_base__json_load(line, length, 0, &error);
        if (vg_base__json_no_memory(&error))
            status = vg_base__fail(VG_ERR_MEMORY, "out of memory for the log of training");
        if (j)
            status = vg_train__write_event(t, j);
        json_decref(j);
        line += length + (line[length] == '\n');
    }
    return status;
}

vg_status vg_train__begin_events(vg_training *t) {
    char path[4096];
    if (!t->options.tensorboard)
        return VG_OK;
    VG_TRY(vg_train__path(path, sizeof path, t, "tensorboard"));
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    VG_TRY(vg_train__path(path, sizeof path, t, "tensorboard/events.out.tfevents.vargate"));
    VG_TRY(vg_events__open(&t->events, path));
    return write_lines(t);
}
