/* report_epochs.c - metrics.jsonl: one object per epoch, as training writes it (docs/training.md). Of a deep ensemble
 * it has one object for each network and epoch; an epoch's figures are then the means over the networks. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/json_lines.h"
#include "workflow/report_files.h"

static double number(const json_t *line, const char *key, const char *other) {
    const json_t *value = json_object_get(line, key);
    if (!value && other)
        value = json_object_get(line, other);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static vg_report_epoch epoch_of(const json_t *line) {
    return (vg_report_epoch){
        .epoch = number(line, "epoch", NULL),
        .train_loss = number(line, "train_loss", NULL),
        .val_loss = number(line, "val_loss", NULL),
        .val_accuracy = number(line, "val_accuracy", "val_acc"),
        .val_ece = number(line, "val_ece", NULL),
        .diversity = number(line, "diversity", NULL),
        .k_sensitivity = number(line, "k_sensitivity", NULL),
    };
}

/* For files without "collapsed": diversity under 5 % of its peak for three epochs. */
static double find_collapse(const vg_report_epoch *epochs, size_t count) {
    double peak = 0;
    int low = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(epochs[i].diversity))
            continue;
        if (epochs[i].diversity > peak)
            peak = epochs[i].diversity;
        low = epochs[i].diversity < 0.05 * peak ? low + 1 : 0;
        if (low == 3)
            return epochs[i].epoch;
    }
    return NAN;
}

typedef struct epoch_list {
    vg_report_epoch *items;
    double *train_accuracy;
    double *gates; /* of the first gate_epochs epochs; NULL: none */
    size_t gate_count, gate_epochs;
    size_t count, room;
    double collapse;
    bool says; /* the file has the key "collapsed" */
    const char *path;
    size_t lines; /* read so far */
} epoch_list;

/* Adds the n-th figure to a mean; NaN is left out. */
static void fold(double *mean, double value, size_t n) {
    if (isnan(*mean))
        *mean = value;
    else if (!isnan(value))
        *mean += (value - *mean) / (double)n;
}

/* Adds another network's figures to its epoch. False: there is no such epoch yet. */
static bool fold_epoch(epoch_list *list, const vg_report_epoch *e, double train_accuracy, size_t n) {
    for (size_t i = 0; i < list->count; i++) {
        vg_report_epoch *mean = &list->items[i];
        if (mean->epoch != e->epoch)
            continue;
        fold(&mean->train_loss, e->train_loss, n);
        fold(&mean->val_loss, e->val_loss, n);
        fold(&mean->val_accuracy, e->val_accuracy, n);
        fold(&list->train_accuracy[i], train_accuracy, n);
        fold(&mean->val_ece, e->val_ece, n);
        fold(&mean->diversity, e->diversity, n);
        fold(&mean->k_sensitivity, e->k_sensitivity, n);
        return true;
    }
    return false;
}

/* Keeps the k of an epoch that has as many as the first. */
static bool add_gates(epoch_list *list, const json_t *k) {
    size_t count = json_array_size(k);
    if (list->gate_epochs == 0)
        list->gate_count = count;
    if (count == 0 || count != list->gate_count || list->gate_epochs != list->count)
        return true;
    double *gates = realloc(list->gates, (list->gate_epochs + 1) * count * sizeof *gates);
    if (!gates)
        return false;
    list->gates = gates;
    for (size_t c = 0; c < count; c++)
        gates[list->gate_epochs * count + c] = json_number_value(json_array_get(k, c));
    list->gate_epochs++;
    return true;
}

static bool add(epoch_list *list, const json_t *line) {
    const json_t *collapsed = json_object_get(line, "collapsed");
    vg_report_epoch epoch = epoch_of(line);
    double accuracy_of_line = number(line, "train_accuracy", NULL);
    if (isnan(epoch.epoch))
        return true; /* an event, not an epoch */
    json_int_t network = json_integer_value(json_object_get(line, "network"));
    if (network > 1 && fold_epoch(list, &epoch, accuracy_of_line, (size_t)network))
        return true;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        vg_report_epoch *items = realloc(list->items, room * sizeof *items);
        if (items)
            list->items = items;
        double *accuracy = realloc(list->train_accuracy, room * sizeof *accuracy);
        if (accuracy)
            list->train_accuracy = accuracy;
        if (!items || !accuracy)
            return false;
        list->room = room;
    }
    list->says = list->says || collapsed;
    if (isnan(list->collapse) &&
        (json_is_true(collapsed) || (json_is_integer(collapsed) && json_integer_value(collapsed))))
        list->collapse = epoch.epoch;
    if (!add_gates(list, json_object_get(line, "k")))
        return false;
    list->train_accuracy[list->count] = accuracy_of_line;
    list->items[list->count++] = epoch;
    return true;
}

static vg_status take_line(void *context, const char *text, json_t *line) {
    epoch_list *list = context;
    list->lines++;
    if (text[strspn(text, " \t\r\n")] == '\0')
        return VG_OK;
    if (!json_is_object(line))
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu is not a JSON object", list->path, list->lines);
    return add(list, line) ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the epochs");
}

void vg_report_epochs__free(vg_report_epochs *epochs) {
    free(epochs->items);
    free(epochs->train_accuracy);
    free(epochs->gates);
    *epochs = (vg_report_epochs){.collapse = NAN};
}

vg_status vg_report_epochs__read(vg_report_epochs *out, const char *path) {
    epoch_list list = {.collapse = NAN, .path = path};
    if (access(path, R_OK) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    vg_status status = vg_json_lines__read(path, take_line, &list);
    out->items = list.items;
    out->train_accuracy = list.train_accuracy;
    out->count = list.count;
    out->gates = list.gates;
    out->gate_count = list.gate_epochs == list.count ? list.gate_count : 0;
    out->collapse = list.says ? list.collapse : find_collapse(list.items, list.count);
    return status;
}
