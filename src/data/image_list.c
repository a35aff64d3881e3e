/* image_list.c - the image files of folders, and the numbers of their classes. See image_list.h.
 *
 * Classes are numbered in byte order of their names, whatever the order in which files were found. */
#include "data/image_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/image_file.h"

void vg_image_list__free(vg_image_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].path);
        free(list->entries[i].class);
    }
    free(list->entries);
    vg_base__release(list->classes); /* the names are the entries' */
    vg_base__release(list->labels);
    *list = (vg_image_list){0};
}

vg_status vg_image_list__add(vg_image_list *list, const char *path, const char *class, bool held, size_t line) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        vg_image_entry *grown = realloc(list->entries, room * sizeof *grown);
        if (!grown)
            return vg_base__fail(VG_ERR_MEMORY, "no memory for %zu names of images", room);
        list->entries = grown, list->room = room;
    }
    vg_image_entry entry = {strdup(path), class ? strdup(class) : NULL, held, line};
    if (!entry.path || (class && !entry.class)) {
        free(entry.path);
        free(entry.class);
        return vg_base__fail(VG_ERR_MEMORY, "no memory for the names of images");
    }
    list->entries[list->count++] = entry;
    list->fixed_split = list->fixed_split || held;
    return VG_OK;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

vg_status vg_image_list__number(vg_image_list *list) {
    if (list->count == 0 || !list->entries[0].class)
        return VG_OK;
    VG_TRY(vg_base__alloc(&list->classes, list->count, sizeof *list->classes, "class names"));
    VG_TRY(vg_base__alloc(&list->labels, list->count, sizeof *list->labels, "labels"));
    for (size_t i = 0; i < list->count; i++)
        list->classes[i] = list->entries[i].class;
    qsort(list->classes, list->count, sizeof *list->classes, by_bytes);
    for (size_t i = 0; i < list->count; i++)
        if (list->class_count == 0 || strcmp(list->classes[list->class_count - 1], list->classes[i]) != 0)
            list->classes[list->class_count++] = list->classes[i];
    for (size_t i = 0; i < list->count; i++) {
        char *const *at =
            bsearch(&list->entries[i].class, list->classes, list->class_count, sizeof *list->classes, by_bytes);
        list->labels[i] = (int32_t)(at - list->classes);
    }
    return VG_OK;
}

/* --- folders --- */

typedef struct names {
    char **items;
    size_t count, room;
} names;

static void drop(names *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (names){0};
}

static vg_status keep(names *list, const char *folder, const char *name) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        char **grown = realloc(list->items, room * sizeof *grown);
        if (!grown)
            return vg_base__fail(VG_ERR_MEMORY, "%s: no memory for %zu names", folder, room);
        list->items = grown, list->room = room;
    }
    if (!(list->items[list->count] = strdup(name)))
        return vg_base__fail(VG_ERR_MEMORY, "%s: no memory for its names", folder);
    list->count++;
    return VG_OK;
}

/* Entries of a folder that are sub-folders, or files that end like images, sorted; hidden ones left out. With `most` >
 * 0 at most that many. */
static vg_status entries(names *out, const char *folder, bool images, size_t most) {
    *out = (names){0};
    DIR *directory = opendir(folder);
    if (!directory)
        return vg_base__fail(VG_ERR_IO, "%s: %s", folder, strerror(errno));
    vg_status status = VG_OK;
    for (struct dirent *entry; status == VG_OK && (!most || out->count < most) && (entry = readdir(directory));) {
        char *path;
        if (entry->d_name[0] == '.' || (images && !vg_image__has_name(entry->d_name)))
            continue;
        status = vg_data__join(&path, folder, entry->d_name);
        if (status != VG_OK)
            break;
        if (images ? vg_data__is_file(path) : vg_data__is_folder(path))
            status = keep(out, folder, entry->d_name);
        vg_base__release(path);
    }
    closedir(directory);
    if (status != VG_OK)
        drop(out);
    else if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_bytes);
    return status;
}

static bool holds_images(const char *folder) {
    names files;
    if (entries(&files, folder, true, 1) != VG_OK)
        return false;
    bool found = files.count > 0;
    drop(&files);
    return found;
}

vg_image_folder vg_image_list__kind(const char *folder) {
    names folders;
    if (entries(&folders, folder, false, 0) != VG_OK)
        return VG_FOLDER_NONE;
    bool found = false;
    for (size_t i = 0; i < folders.count && !found; i++) {
        char *path;
        if (vg_data__join(&path, folder, folders.items[i]) != VG_OK)
            break;
        found = holds_images(path);
        vg_base__release(path);
    }
    drop(&folders);
    return found ? VG_FOLDER_CLASSES : holds_images(folder) ? VG_FOLDER_FLAT : VG_FOLDER_NONE;
}

static vg_status add_files(vg_image_list *list, const char *folder, const char *class, bool held) {
    names files;
    VG_TRY(entries(&files, folder, true, 0));
    vg_status status = VG_OK;
    for (size_t i = 0; status == VG_OK && i < files.count; i++) {
        char *path;
        status = vg_data__join(&path, folder, files.items[i]);
        if (status != VG_OK)
            break;
        status = vg_image_list__add(list, path, class, held, 0);
        vg_base__release(path);
    }
    drop(&files);
    return status;
}

vg_status vg_image_list__classes(vg_image_list *list, const char *folder, bool held) {
    names folders;
    VG_TRY(entries(&folders, folder, false, 0));
    vg_status status = VG_OK;
    for (size_t i = 0; status == VG_OK && i < folders.count; i++) {
        char *path;
        status = vg_data__join(&path, folder, folders.items[i]);
        if (status != VG_OK)
            break;
        status = add_files(list, path, folders.items[i], held);
        vg_base__release(path);
    }
    drop(&folders);
    return status;
}

vg_status vg_image_list__flat(vg_image_list *list, const char *folder) { return add_files(list, folder, NULL, false); }
