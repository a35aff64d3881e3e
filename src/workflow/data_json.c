/* data_json.c - data sets as JSON: those that are known, or one with its files and what it holds.
 * docs/schema/data.schema.json. */
#include <string.h>

#include "base/base.h"
#include "data/samples.h"
#include "vargate/data.h"
#include "vargate/workflow.h"
#include "workflow/json_build.h"

static const char *const state_names[] = {"missing", "wrong", "not compared", "good"};
static const char *const part_names[] = {"train", "test"};

/* What the catalogue says of a set. */
static void put_entry(json_t *object, const vg_data_entry *entry) {
    vg_json__put_text(object, "name", entry->name);
    vg_json__put_text(object, "title", entry->title);
    vg_json__put_text(object, "licence", entry->licence);
    vg_json__put_text(object, "homepage", entry->homepage);
    vg_json__put_count(object, "channels", entry->channels);
    vg_json__put_count(object, "height", entry->height);
    vg_json__put_count(object, "width", entry->width);
    vg_json__put_count(object, "classes", entry->classes);
    vg_json__put_count(object, "train", entry->train);
    vg_json__put_count(object, "test", entry->test);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */
/* Whether every file of a part is on this machine; none is read. */
static vg_status put_here(json_t *object, const char *key, const vg_data_entry *entry, vg_part part,
                          const char *folder) {
    size_t found_count = 0, file_count = 0;
    for (size_t i = 0; i < entry->file_count; i++) {
        vg_data_found found;
        if (entry->files[i].part != part)
            continue;
        VG_TRY(vg_data_look(&found, entry, i, folder, 0));
        file_count++;
        found_count += found.state != VG_DATA_MISSING;
    }
    vg_json__put(object, key, json_boolean(file_count > 0 && found_count == file_count));
    return VG_OK;
}

static vg_status put_list(json_t *document, const char *folder) {
    size_t count;
    const vg_data_entry *all = vg_data_catalogue(&count);
    json_t *array = json_array();
    vg_json__put(document, "sets", array);
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        put_entry(object, &all[i]);
        vg_json__append(array, object);
        VG_TRY(put_here(object, "train_here", &all[i], VG_PART_TRAIN, folder));
        VG_TRY(put_here(object, "test_here", &all[i], VG_PART_TEST, folder));
    }
    return VG_OK;
}

/* --- one set ------------------------------------------------------------------------------------------------------ */
static json_t *texts(const char *const *lines, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, vg_json__string(lines[i]));
    return array;
}

/* Of image files: whether they are in memory, and those that were left out. */
static void put_skipped(json_t *contents, const vg_dataset_info *info) {
    vg_json__put(contents, "in_memory", json_boolean(info->pixels != NULL));
    vg_json__put(contents, "skipped", texts(info->skipped, info->skipped_count));
}

/* Reads one part and puts what is in it under `key`. */
static vg_status put_contents(json_t *document, const char *key, const char *name, vg_part part,
                              const vg_dataset_options *options) {
    vg_dataset *set;
    vg_statistics statistics;
    VG_TRY(vg_dataset_open(&set, name, part, options));
    vg_status status = vg_dataset_statistics(&statistics, set, NULL, 0);
    if (status == VG_OK) {
        vg_dataset_info info = vg_dataset__info(set);
        json_t *contents = json_object();
        vg_json__put_text(contents, "source", info.source);
        vg_json__put_count(contents, "n", info.n);
        vg_json__put_count(contents, "channels", info.channels);
        vg_json__put_count(contents, "height", info.height);
        vg_json__put_count(contents, "width", info.width);
        vg_json__put_count(contents, "classes", info.classes);
        vg_json__put(contents, "float", json_boolean(info.is_float));
        vg_json__put(contents, "verified", json_boolean(info.verified));
        vg_json__put(contents, "mean", vg_json__numbers(statistics.mean, statistics.channels));
        vg_json__put(contents, "std", vg_json__numbers(statistics.std, statistics.channels));
        if (info.classes > 0 && info.class_names)
            vg_json__put(contents, "class_names", texts(info.class_names, info.classes));
        vg_json__put(contents, "notes", texts(info.notes, info.note_count));
        if (info.files)
            put_skipped(contents, &info);
        vg_json__put(document, key, contents);
    }
    vg_dataset_free(set);
    return status;
}

/* A part that is there and cannot be read is a failure. */
static vg_status has_part(bool *found, const char *name, vg_part part, const vg_dataset_options *options) {
    vg_dataset *set;
    vg_status status = vg_dataset_open(&set, name, part, options);
    *found = status == VG_OK;
    if (*found)
        vg_dataset_free(set);
    return status == VG_ERR_ARGUMENT ? VG_OK : status;
}

/* One's own set: each of its parts, or all of it where it has no parts. */
static vg_status put_own(json_t *document, const char *name, const vg_dataset_options *options) {
    bool parts[2];
    VG_TRY(has_part(&parts[0], name, VG_PART_TRAIN, options));
    VG_TRY(has_part(&parts[1], name, VG_PART_TEST, options));
    if (!parts[0] && !parts[1])
        return put_contents(document, "holds", name, VG_PART_ANY, options);
    for (int part = 0; part < 2; part++) {
        const char *key = parts[0] && parts[1] ? part_names[part] : "holds";
        if (parts[part])
            VG_TRY(put_contents(document, key, name, (vg_part)part, options));
    }
    return VG_OK;
}

/* The set's files, each compared with its checksum; counts those of each part that are missing or wrong. */
static vg_status put_files(json_t *document, const vg_data_entry *entry, const char *folder, size_t lacking[2]) {
    json_t *array = json_array();
    vg_json__put(document, "files", array);
    for (size_t i = 0; i < entry->file_count; i++) {
        const vg_data_file *file = &entry->files[i];
        vg_data_found found;
        VG_TRY(vg_data_look(&found, entry, i, folder, 1));
        lacking[file->part] += found.state == VG_DATA_MISSING || found.state == VG_DATA_WRONG;
        json_t *object = json_object();
        vg_json__put_text(object, "name", file->name);
        vg_json__put_text(object, "part", part_names[file->part]);
        vg_json__put_text(object, "md5", file->md5);
        vg_json__put_text(object, "state", state_names[found.state]);
        if (found.path[0])
            vg_json__put_text(object, "path", found.path);
        if (found.problem[0])
            vg_json__put_text(object, "problem", found.problem);
        vg_json__append(array, object);
    }
    return VG_OK;
}

static vg_status put_places(json_t *document, const char *folder) {
    char **places;
    size_t count;
    VG_TRY(vg_data_places(&places, &count, folder));
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, vg_json__string(places[i]));
    vg_json__put(document, "places", array);
    vg_data_places_free(places, count);
    return VG_OK;
}

static vg_status put_known(json_t *document, const vg_data_entry *entry, const vg_dataset_options *options,
                           bool statistics) {
    const char *folder = options->folder;
    const size_t sizes[2] = {entry->train, entry->test};
    size_t lacking[2] = {0, 0};
    put_entry(document, entry);
    VG_TRY(put_places(document, folder));
    VG_TRY(put_files(document, entry, folder, lacking));
    for (int part = 0; part < 2 && statistics; part++)
        if (sizes[part] > 0 && lacking[part] == 0)
            VG_TRY(put_contents(document, part_names[part], entry->name, (vg_part)part, options));
    return VG_OK;
}

static vg_status put_one(json_t *document, const char *name, const vg_dataset_options *options, bool statistics) {
    if (strncmp(name, "path:", 5) == 0)
        return put_own(document, name, options);
    const vg_data_entry *entry = vg_data_find(name, NULL);
    if (!entry)
        return vg_base__fail(VG_ERR_ARGUMENT, "no data set is called '%s'", name);
    return put_known(document, entry, options, statistics);
}

vg_status vg_data_json(char **out, const char *name, const vg_dataset_options *options, int statistics) {
    static const vg_dataset_options defaults = VG_DATASET_OPTIONS_INIT;
    vg_dataset_options o;
    *out = NULL;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_dataset_options"));
    json_t *document = vg_json__document("data");
    vg_status status = name ? put_one(document, name, &o, statistics != 0) : put_list(document, o.folder);
    if (status == VG_OK)
        return vg_json__text(out, document);
    json_decref(document);
    return status;
}
