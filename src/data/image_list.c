/* image_list.c - the image files of folders, and the numbers of their classes. See image_list.h.
 *
 * Classes are numbered in byte order of their names, independent of the order in which files were found. */
#include "data/image_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "data/image_file.h"

void vg_image_list__free(vg_image_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].path);
        free(list->entries[i].class);
    }
    free(list->entries);
    for (int kind = 0; kind < VG_LEFT_KINDS; kind++)
        free(list->left[kind].first);
    vg_base__release(list->classes); /* the names belong to the entries */
    vg_base__release(list->labels);
    *list = (vg_image_list){0};
}

vg_status vg_image_list__add(vg_image_list *list, const char *path, const char *class, bool held, size_t line) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        vg_image_entry *grown = realloc(list->entries, room * sizeof *grown);
        if (!grown)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for %zu names of images", room);
        list->entries = grown, list->room = room;
    }
    vg_image_entry entry = {strdup(path), class ? strdup(class) : NULL, held, line};
    if (!entry.path || (class && !entry.class)) {
        free(entry.path);
        free(entry.class);
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the names of images");
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
            return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for %zu names", folder, room);
        list->items = grown, list->room = room;
    }
    if (!(list->items[list->count] = strdup(name)))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its names", folder);
    list->count++;
    return VG_OK;
}

/* A file, or a broken link, which is reported when it is read. */
static bool is_readable_name(const char *path) { return vg_data__is_file(path) || access(path, F_OK) != 0; }

/* Entries of a folder that are sub-folders, or files that end like images, sorted, without hidden ones. With `most`
 * > 0 at most that many. */
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
        if (images ? is_readable_name(path) : vg_data__is_folder(path))
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

/* --- what is left out --- */

static bool has_other_format(const char *name) {
    static const char *const endings[] = {".gif", ".bmp", ".tif", ".tiff", ".heic", ".avif", ".jp2", ".ppm", ".pgm"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static void leave_out(vg_image_list *list, vg_image_leftover kind, const char *path) {
    char **first = &list->left[kind].first;
    list->left[kind].count++;
    if (*first && strcmp(*first, path) <= 0)
        return;
    free(*first);
    *first = strdup(path); /* without memory the line names no file */
}

/* Counts the entries of a folder of images, or (`classes`) of the folders of classes, that are not read. */
static vg_status count_left_out(vg_image_list *list, const char *folder, bool classes) {
    DIR *directory = opendir(folder);
    if (!directory)
        return vg_base__fail(VG_ERR_IO, "%s: %s", folder, strerror(errno));
    vg_status status = VG_OK;
    for (struct dirent *entry; status == VG_OK && (entry = readdir(directory));) {
        char *path;
        bool image = vg_image__has_name(entry->d_name);
        if (entry->d_name[0] == '.' || (image && !classes))
            continue;
        status = vg_data__join(&path, folder, entry->d_name);
        if (status != VG_OK)
            break;
        if (vg_data__is_file(path)) {
            if (image || has_other_format(entry->d_name))
                leave_out(list, image ? VG_LEFT_BESIDE : VG_LEFT_FORMAT, path);
        } else if (vg_data__is_folder(path) && holds_images(path) != classes)
            leave_out(list, classes ? VG_LEFT_EMPTY : VG_LEFT_NESTED, path);
        vg_base__release(path);
    }
    closedir(directory);
    return status;
}

void vg_image_list__left_out(char *out, size_t room, const vg_image_list *list, vg_image_leftover kind) {
    static const char *const what[VG_LEFT_KINDS][2] = {
        {"file of another format than JPEG, PNG and WebP is", "files of other formats than JPEG, PNG and WebP are"},
        {"folder inside the folder of a class is", "folders inside the folders of classes are"},
        {"image beside the folders of the classes is", "images beside the folders of the classes are"},
        {"folder without images is not a class and is", "folders without images are not classes and are"}};
    size_t count = list->left[kind].count;
    out[0] = 0;
    if (count > 0)
        snprintf(out, room, "%zu %s left out%s %s", count, what[kind][count > 1], count > 1 ? ", the first is" : ":",
                 list->left[kind].first ? list->left[kind].first : "");
}

/* --- lists of folders --- */

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
    return status == VG_OK ? count_left_out(list, folder, false) : status;
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
    return status == VG_OK ? count_left_out(list, folder, true) : status;
}

vg_status vg_image_list__flat(vg_image_list *list, const char *folder) { return add_files(list, folder, NULL, false); }
