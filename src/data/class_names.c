/* class_names.c - labels by the names of their classes: renumbering the labels of a set for a network, and the
 * detection of labels that look like a mistake. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "data/dataset.h"

/* Sets map[c] to the position of the set's class c in `names`, or to `count` when it is not there. */
static void find_all(size_t *map, const vg_dataset *set, const char *const *names, size_t count) {
    for (size_t c = 0; c < set->classes; c++)
        map[c] = vg_names__find(names, count, set->class_names[c]);
}

/* Counts the samples of every class. */
static vg_status count_classes(size_t **out, const vg_dataset *set) {
    VG_TRY(vg_base__zalloc(out, set->classes, sizeof **out, "counts of classes"));
    for (size_t i = 0; i < set->n; i++)
        (*out)[set->labels[i]]++;
    return VG_OK;
}

static vg_status replace_names(vg_dataset *set, const char *const *names, size_t count) {
    char **old = set->class_names;
    size_t old_count = set->classes;
    set->classes = count;
    vg_status status = vg_dataset__name_classes(set, names, count);
    if (status != VG_OK) {
        for (size_t i = 0; set->class_names && set->class_names != old && i < count; i++)
            vg_base__release(set->class_names[i]);
        if (set->class_names != old)
            vg_base__release(set->class_names);
        set->class_names = old;
        set->classes = old_count;
        return status;
    }
    for (size_t i = 0; i < old_count; i++)
        vg_base__release(old[i]);
    vg_base__release(old);
    return VG_OK;
}

/* Refuses a class that has samples but no position; classes without samples need none. */
static vg_status check_map(const vg_dataset *set, const size_t *map, const char *const *names, size_t count) {
    size_t *samples;
    char list[300];
    vg_status status = VG_OK;
    VG_TRY(count_classes(&samples, set));
    for (size_t c = 0; c < set->classes && status == VG_OK; c++)
        if (map[c] == count && samples[c] > 0)
            status = vg_base__fail(VG_ERR_DATA, "%s: its class '%.100s' is none of the known classes: %s", set->source,
                                   set->class_names[c], vg_names__list(list, sizeof list, names, count));
    vg_base__release(samples);
    return status;
}

vg_status vg_dataset__map_classes(vg_dataset *set, const char *const *names, size_t count) {
    size_t *map;
    if (!set || !names || !set->labels || !set->class_names)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "vg_dataset__map_classes: expected a set with labels and class names, and names");
    VG_TRY(vg_base__alloc(&map, set->classes, sizeof *map, "numbers of classes"));
    find_all(map, set, names, count);
    vg_status status = check_map(set, map, names, count);
    if (status == VG_OK)
        status = replace_names(set, names, count);
    for (size_t i = 0; status == VG_OK && i < set->n; i++)
        set->labels[i] = (int32_t)map[set->labels[i]];
    vg_base__release(map);
    return status;
}

bool vg_dataset__counts_from_one(const vg_dataset *set) {
    size_t *samples, absent = 0;
    if (!set->labels || set->class_names || set->classes < 2 || count_classes(&samples, set) != VG_OK)
        return false;
    for (size_t c = 0; c < set->classes; c++)
        absent += samples[c] == 0;
    bool shifted = samples[0] == 0 && absent == 1;
    vg_base__release(samples);
    return shifted;
}
