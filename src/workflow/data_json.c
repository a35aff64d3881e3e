/* data_json.c - data sets as JSON: the known ones, or one with its files and contents. docs/schema/data.schema.json. */
#include "base/base.h"
#include "base/c_locale.h"
#include "vargate/data.h"
#include "workflow/data_walk.h"
#include "workflow/json_build.h"

/* The catalogue's entry of a set. */
static void put_entry(void *object, const vg_data_entry *entry) {
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
static vg_status put_list(json_t *document, const char *folder) {
    size_t count;
    const vg_data_entry *all = vg_data_catalogue(&count);
    json_t *array = json_array();
    vg_json__put(document, "sets", array);
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        int here[2];
        put_entry(object, &all[i]);
        vg_json__append(array, object);
        VG_TRY(vg_data_here(here, &all[i], folder));
        vg_json__put(object, "train_here", json_boolean(here[0]));
        vg_json__put(object, "test_here", json_boolean(here[1]));
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

static void put_contents(void *document, const char *key, const vg_dataset_info *info,
                         const vg_statistics *statistics) {
    json_t *contents = json_object();
    vg_json__put_text(contents, "source", info->source);
    vg_json__put_count(contents, "n", info->n);
    vg_json__put_count(contents, "channels", info->channels);
    vg_json__put_count(contents, "height", info->height);
    vg_json__put_count(contents, "width", info->width);
    vg_json__put_count(contents, "classes", info->classes);
    vg_json__put(contents, "float", json_boolean(info->is_float));
    vg_json__put(contents, "verified", json_boolean(info->verified));
    vg_json__put(contents, "mean", vg_json__numbers(statistics->mean, statistics->channels));
    vg_json__put(contents, "std", vg_json__numbers(statistics->std, statistics->channels));
    if (info->classes > 0 && info->class_names)
        vg_json__put(contents, "class_names", texts(info->class_names, info->classes));
    vg_json__put(contents, "notes", texts(info->notes, info->note_count));
    if (info->files)
        put_skipped(contents, info);
    vg_json__put(document, key, contents);
}

static void put_places(void *document, char *const *places, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, vg_json__string(places[i]));
    vg_json__put(document, "places", array);
    vg_json__put(document, "files", json_array());
}

static void put_file(void *document, const vg_data_file *file, const char *part, const char *state,
                     const vg_data_found *found) {
    json_t *object = json_object();
    vg_json__put_text(object, "name", file->name);
    vg_json__put_text(object, "part", part);
    vg_json__put_text(object, "md5", file->md5);
    vg_json__put_text(object, "state", state);
    if (found->path[0])
        vg_json__put_text(object, "path", found->path);
    if (found->problem[0])
        vg_json__put_text(object, "problem", found->problem);
    vg_json__append(json_object_get(document, "files"), object);
}

vg_status vg_data_json(char **out, const char *name, const vg_dataset_options *options, int statistics) {
    VG_TRY(vg_base__given(out != NULL, "vg_data_json: out"));
    VG_IN_C_LOCALE;
    static const vg_dataset_options defaults = VG_DATASET_OPTIONS_INIT;
    vg_dataset_options o;
    *out = NULL;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_dataset_options"));
    json_t *document = vg_json__document("data");
    const vg_data_visitor writer = {document, put_entry, put_places, put_file, put_contents};
    vg_status status = name ? vg_data__walk(&writer, name, &o, statistics != 0) : put_list(document, o.folder);
    if (status == VG_OK)
        return vg_json__text(out, document);
    vg_json__drop(document);
    return status;
}
