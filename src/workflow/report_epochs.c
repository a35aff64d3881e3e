/* report_epochs.c - metrics.jsonl: one object an epoch, as training writes it (docs/training.md). */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    size_t count, room;
    double collapse;
    bool says; /* the file has the key "collapsed" */
} epoch_list;

static bool add(epoch_list *list, const json_t *line) {
    const json_t *collapsed = json_object_get(line, "collapsed");
    vg_report_epoch epoch = epoch_of(line);
    if (isnan(epoch.epoch))
        return true; /* an event, not an epoch */
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        vg_report_epoch *items = realloc(list->items, room * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->room = room;
    }
    list->says = list->says || collapsed;
    if (isnan(list->collapse) &&
        (json_is_true(collapsed) || (json_is_integer(collapsed) && json_integer_value(collapsed))))
        list->collapse = epoch.epoch;
    list->items[list->count++] = epoch;
    return true;
}

static vg_status read_lines(epoch_list *list, FILE *file, const char *path) {
    size_t room = 0, number_of_line = 0;
    char *text = NULL;
    vg_status status = VG_OK;
    while (status == VG_OK && getline(&text, &room, file) >= 0) {
        number_of_line++;
        if (text[strspn(text, " \t\r\n")] == '\0')
            continue;
        json_t *line = json_loads(text, 0, NULL);
        if (!json_is_object(line))
            status = vg_base__fail(VG_ERR_FORMAT, "%s: line %zu is not a JSON object", path, number_of_line);
        else if (!add(list, line))
            status = vg_base__fail(VG_ERR_MEMORY, "out of memory for the epochs");
        json_decref(line);
    }
    free(text);
    return status;
}

vg_status vg_report_epochs__read(vg_report_epoch **out, size_t *count, double *collapse, const char *path) {
    epoch_list list = {.collapse = NAN};
    FILE *file = fopen(path, "r");
    if (!file)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    vg_status status = read_lines(&list, file, path);
    fclose(file);
    *out = list.items;
    *count = list.count;
    *collapse = list.says ? list.collapse : find_collapse(list.items, list.count);
    return status;
}
