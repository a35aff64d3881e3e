/* open.c - opens a data set by its name, or by the path of a user's own file or folder.
 *
 * By name: every file of the part asked for is found, checked and read. By path: the kind is recognised by the
 * file's extension and first bytes, or from the files a folder holds; nothing is compared with published checksums. */
#include <stdio.h>
#include <string.h>

#include "data/catalogue.h"

enum { MOST_FILES = 8 };

static const char *const part_names[] = {"train", "test", "any"};

static vg_status missing(const vg_data_entry *entry, const vg_data_file *file, const char *folder) {
    char **places, text[1024] = "";
    size_t count, used = 0;
    VG_TRY(vg_data_places(&places, &count, folder));
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(places[i]);
        if (used + length + 3 >= sizeof text)
            break;
        if (used > 0)
            memcpy(text + used, ", ", 2), used += 2;
        memcpy(text + used, places[i], length + 1);
        used += length;
    }
    vg_data_places_free(places, count);
    return vg_base__fail(VG_ERR_IO,
                         "%s: %s not found; looked for a folder '%s' in %s; 'vargate data fetch %s' downloads it",
                         entry->name, file->name, entry->name, text, entry->name);
}

/* Finds the part's files, all present and none wrong; *verified if every checksum agreed. */
static vg_status locate(vg_data_found *found, size_t *count, bool *verified, const vg_data_entry *entry, vg_part part,
                        const char *folder) {
    *count = 0;
    *verified = true;
    for (size_t i = 0; i < entry->file_count; i++) {
        if (entry->files[i].part != part || *count == MOST_FILES)
            continue;
        vg_data_found *f = &found[*count];
        VG_TRY(vg_data_look(f, entry, i, folder, 1));
        if (f->state == VG_DATA_MISSING)
            return missing(entry, &entry->files[i], folder);
        if (f->state == VG_DATA_WRONG)
            return vg_base__fail(VG_ERR_DATA, "%s: %s (not the published %s; 'path:FOLDER' reads your own files)",
                                 f->path, f->problem, entry->title);
        *verified = *verified && f->state == VG_DATA_GOOD;
        ++*count;
    }
    return VG_OK;
}

static vg_status read_known(vg_dataset **out, vg_data_kind kind, const vg_data_found *found, size_t count,
                            size_t classes) {
    const char *paths[MOST_FILES];
    for (size_t i = 0; i < count; i++)
        paths[i] = found[i].path;
    switch (kind) {
    case VG_KIND_IDX: return vg_idx__read(out, paths[0], paths[1], classes);
    case VG_KIND_CIFAR10: return vg_cifar__read(out, paths, count, false, classes);
    case VG_KIND_CIFAR100: return vg_cifar__read(out, paths, count, true, classes);
    case VG_KIND_SVHN:
        if (vg_data__ends_with(paths[0], ".npz"))
            return vg_images_npz__read(out, paths[0], VG_PART_ANY, classes);
        return vg_svhn_mat__read(out, paths[0]);
    }
    return vg_base__fail(VG_ERR_ARGUMENT, "a data set of unknown kind");
}

static vg_status open_known(vg_dataset **out, const vg_data_entry *entry, vg_part part, const char *folder) {
    const vg_data_known *known = vg_catalogue__known(entry);
    vg_data_found *found;
    size_t count;
    bool verified;
    if (part == VG_PART_ANY)
        part = VG_PART_TEST;
    if ((part == VG_PART_TRAIN ? entry->train : entry->test) == 0)
        return vg_base__fail(VG_ERR_DATA, "%s: has no %s part", entry->name, part_names[part]);
    VG_TRY(vg_base__alloc(&found, MOST_FILES, sizeof *found, "paths"));
    vg_status status = locate(found, &count, &verified, entry, part, folder);
    vg_dataset *set = NULL;
    if (status == VG_OK)
        status = read_known(&set, known->kind, found, count, entry->classes);
    if (status == VG_OK &&
        (set->channels != entry->channels || set->height != entry->height || set->width != entry->width))
        status = vg_base__fail(VG_ERR_DATA, "%s: images of %zux%zux%zu, expected %zux%zux%zu", found[0].path,
                               set->channels, set->height, set->width, entry->channels, entry->height, entry->width);
    if (status == VG_OK && !set->labels)
        status = vg_base__fail(VG_ERR_DATA, "%s: holds no labels", found[0].path);
    if (status == VG_OK)
        status = vg_dataset__name_classes(set, known->class_names, entry->classes);
    if (status == VG_OK)
        status = vg_dataset__rename(set, entry->name, found[0].path);
    vg_base__release(found);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    set->verified = verified;
    *out = set;
    return VG_OK;
}

static vg_status open_part(vg_dataset **out, const char *name, vg_part part, const vg_dataset_options *o) {
    vg_image_target target;
    VG_TRY(vg_image_set__target(&target, o));
    if (strncmp(name, "path:", 5) == 0)
        return vg_own__read(out, name + 5, part, o);
    const char *nearest = NULL;
    const vg_data_entry *entry = vg_data_find(name, &nearest);
    if (!entry)
        return vg_base__fail(VG_ERR_ARGUMENT, "no data set is called '%s'%s%s%s (your own: path:FILE_OR_FOLDER)", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    if (o->folder && !vg_data__is_folder(o->folder))
        return vg_base__fail(VG_ERR_IO, "%s: no such folder", o->folder);
    VG_TRY(open_known(out, entry, part, o->folder));
    return vg_image_set__refit(out, &target);
}

static vg_status note_first_label(vg_dataset *set) {
    char line[256];
    snprintf(line, sizeof line,
             "labels run from 1 to %zu and none is 0: class 0 stays empty; labels are counted from 0, so subtract 1 if "
             "there are %zu classes",
             set->classes - 1, set->classes - 1);
    return vg_dataset__note(set, line);
}

vg_status vg_dataset_open(vg_dataset **out, const char *name, vg_part part, const vg_dataset_options *options) {
    static const vg_dataset_options defaults = VG_DATASET_OPTIONS_INIT;
    vg_dataset_options o;
    if (!out || !name)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_dataset_open: out and name must not be NULL");
    *out = NULL;
    VG_TRY(vg_base__take_options(&o, options, &defaults, sizeof o, "vg_dataset_options"));
    if (!(o.test_share >= 0 && o.test_share < 1))
        return vg_base__fail(VG_ERR_ARGUMENT, "test share %g, expected at least 0 and below 1", o.test_share);
    bool cut = o.test_share > 0 && part != VG_PART_ANY;
    vg_status status = open_part(out, name, cut ? VG_PART_TRAIN : part, &o);
    if (status == VG_OK && vg_dataset__counts_from_one(*out))
        status = note_first_label(*out);
    if (status == VG_OK && cut)
        status = vg_dataset__cut(*out, part == VG_PART_TEST, o.test_share, o.test_seed);
    if (status != VG_OK) {
        vg_dataset_free(*out);
        *out = NULL;
    }
    return status;
}
