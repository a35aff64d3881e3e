/* data_walk.c - shows one data set piece by piece. See data_walk.h. */
#include "workflow/data_walk.h"

#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "data/samples.h"
#include "vargate/data.h"
#include "workflow/training_data.h"

static const char *const state_names[] = {"missing", "wrong", "not compared", "good"};
static const char *const part_names[] = {"train", "test"};

static vg_status show_set(const vg_data_visitor *visitor, const char *title, const vg_dataset *set) {
    vg_dataset_info info = vg_dataset__info(set);
    vg_statistics statistics;
    VG_TRY(vg_dataset_statistics(&statistics, set, NULL, 0));
    visitor->contents(visitor->context, title, &info, &statistics);
    return VG_OK;
}

static vg_status show_part(const vg_data_visitor *visitor, const char *title, const char *name, vg_part part,
                           const vg_dataset_options *options) {
    vg_dataset *set;
    VG_TRY(vg_dataset_open(&set, name, part, options));
    vg_status status = show_set(visitor, title, set);
    vg_dataset_free(set);
    return status;
}

/* A user's own set: each of its parts, or all of it where it has no parts. A part that exists and cannot be read is
 * a failure. */
static vg_status show_own(const vg_data_visitor *visitor, const char *name, const vg_dataset_options *options) {
    vg_dataset *sets[2] = {NULL, NULL};
    vg_status status = VG_OK;
    for (int part = 0; part < 2 && status == VG_OK; part++) {
        status = vg_dataset_open(&sets[part], name, (vg_part)part, options);
        if (status == VG_ERR_ARGUMENT)
            status = VG_OK; /* it has no such part */
    }
    for (int part = 0; part < 2 && status == VG_OK; part++)
        if (sets[part])
            status = show_set(visitor, sets[0] && sets[1] ? part_names[part] : "holds", sets[part]);
    if (status == VG_OK && !sets[0] && !sets[1])
        status = show_part(visitor, "holds", name, VG_PART_ANY, options);
    for (int part = 0; part < 2; part++)
        vg_dataset_free(sets[part]);
    return status;
}

/* Counts the files of each part that are missing or wrong. */
static vg_status show_files(const vg_data_visitor *visitor, const vg_data_entry *entry, const char *folder,
                            size_t lacking[2]) {
    for (size_t i = 0; i < entry->file_count; i++) {
        const vg_data_file *file = &entry->files[i];
        vg_data_found found;
        VG_TRY(vg_data_look(&found, entry, i, folder, 1));
        lacking[file->part] += found.state == VG_DATA_MISSING || found.state == VG_DATA_WRONG;
        visitor->file(visitor->context, file, part_names[file->part], state_names[found.state], &found);
    }
    return VG_OK;
}

static vg_status show_known(const vg_data_visitor *visitor, const vg_data_entry *entry,
                            const vg_dataset_options *options, bool statistics) {
    const size_t sizes[2] = {entry->train, entry->test};
    size_t lacking[2] = {0, 0}, count;
    char **places;
    VG_TRY(vg_data_places(&places, &count, options->folder));
    visitor->entry(visitor->context, entry);
    visitor->places(visitor->context, places, count);
    vg_data_places_free(places, count);
    VG_TRY(show_files(visitor, entry, options->folder, lacking));
    for (int part = 0; part < 2 && statistics; part++)
        if (sizes[part] > 0 && lacking[part] == 0)
            VG_TRY(show_part(visitor, part_names[part], entry->name, (vg_part)part, options));
    return VG_OK;
}

vg_status vg_data__walk(const vg_data_visitor *visitor, const char *name, const vg_dataset_options *options,
                        bool statistics) {
    const char *nearest = NULL;
    if (strncmp(name, "path:", 5) == 0)
        return show_own(visitor, name, options);
    const vg_data_entry *entry = vg_data_find(name, &nearest);
    if (entry)
        return show_known(visitor, entry, options, statistics);
    if (nearest)
        return vg_base__fail(VG_ERR_ARGUMENT, "no data set is called '%s'; did you mean '%s'?", name, nearest);
    return vg_base__fail(
        VG_ERR_ARGUMENT,
        "no data set is called '%s'; 'vargate data list' shows those known (your own: path:FILE_OR_FOLDER)", name);
}

vg_status vg_data_reading(vg_dataset_options *out, const char *folder, const char *const *settings, size_t count) {
    VG_IN_C_LOCALE;
    vg_recipe recipe;
    if (!out || (!settings && count))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_data_reading: out and settings must not be NULL");
    vg_recipe_defaults(&recipe);
    for (size_t i = 0; i < count; i++)
        VG_TRY(vg_recipe_set(&recipe, settings[i]));
    vg_dataset_options made = vg_training_data__options(&recipe, folder);
    return vg_base__give_result(out, &made, sizeof made, "vg_dataset_options");
}
