/* png_folder.c - a folder with one sub-folder of PNG files a class.
 *
 * Classes are the sub-folders that hold a .png, numbered in byte order of their names, which become the class names;
 * images come class by class, in byte order of the file names. All must have one size. A set with any colour in it has
 * three channels, otherwise one; transparency is laid on black; 16-bit files are reduced to 8. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"

typedef struct list {
    char **items;
    size_t count, room;
} list;

static void drop(list *names) {
    for (size_t i = 0; i < names->count; i++)
        vg_base__release(names->items[i]);
    free(names->items);
    *names = (list){0};
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Entries of a folder that are sub-folders (ending NULL) or files with that ending, sorted; hidden ones left out. */
static vg_status entries(list *out, const char *folder, const char *ending) {
    *out = (list){0};
    DIR *directory = opendir(folder);
    if (!directory)
        return vg_base__fail(VG_ERR_IO, "%s: %s", folder, strerror(errno));
    vg_status status = VG_OK;
    for (struct dirent *entry; status == VG_OK && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.' || (ending && !vg_data__ends_with(entry->d_name, ending)))
            continue;
        char *path;
        status = vg_data__join(&path, folder, entry->d_name);
        if (status != VG_OK)
            break;
        bool wanted = ending ? vg_data__is_file(path) : vg_data__is_folder(path);
        vg_base__release(path);
        if (!wanted)
            continue;
        if (out->count == out->room) {
            size_t room = out->room ? 2 * out->room : 64;
            char **grown = realloc(out->items, room * sizeof *grown);
            if (!grown) {
                status = vg_base__fail(VG_ERR_MEMORY, "%s: no memory for %zu names", folder, room);
                break;
            }
            out->items = grown, out->room = room;
        }
        status = vg_base__strdup(&out->items[out->count], entry->d_name);
        if (status == VG_OK)
            out->count++;
    }
    closedir(directory);
    if (status != VG_OK)
        drop(out);
    else if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_bytes);
    return status;
}

bool vg_png_folder__looks_like(const char *folder) {
    list classes, files;
    if (entries(&classes, folder, NULL) != VG_OK)
        return false;
    bool found = false;
    for (size_t i = 0; i < classes.count && !found; i++) {
        char *path;
        if (vg_data__join(&path, folder, classes.items[i]) != VG_OK)
            break;
        if (entries(&files, path, ".png") == VG_OK) {
            found = files.count > 0;
            drop(&files);
        }
        vg_base__release(path);
    }
    drop(&classes);
    return found;
}

#ifdef VG_HAVE_PNG
#include <png.h>

/* The images found: full paths and labels, in order. */
typedef struct found {
    list paths;
    list classes; /* names of those that hold images */
    size_t *labels;
    size_t room;
} found;

static vg_status take_class(found *all, const char *folder, const char *class) {
    char *path;
    list files;
    VG_TRY(vg_data__join(&path, folder, class));
    vg_status status = entries(&files, path, ".png");
    if (status == VG_OK && files.count > 0) {
        size_t total = all->paths.count + files.count;
        char **grown_paths = realloc(all->paths.items, total * sizeof *grown_paths);
        if (grown_paths)
            all->paths.items = grown_paths;
        size_t *grown_labels = realloc(all->labels, total * sizeof *grown_labels);
        if (grown_labels)
            all->labels = grown_labels;
        if (!grown_paths || !grown_labels)
            status = vg_base__fail(VG_ERR_MEMORY, "%s: no memory for %zu paths", folder, total);
        for (size_t i = 0; status == VG_OK && i < files.count; i++) {
            status = vg_data__join(&all->paths.items[all->paths.count], path, files.items[i]);
            if (status == VG_OK)
                all->labels[all->paths.count++] = all->classes.count;
        }
        if (status == VG_OK)
            status = vg_base__strdup(&all->classes.items[all->classes.count], class);
        if (status == VG_OK)
            all->classes.count++;
    }
    drop(&files);
    vg_base__release(path);
    return status;
}

static vg_status gather(found *all, const char *folder) {
    list folders;
    *all = (found){0};
    VG_TRY(entries(&folders, folder, NULL));
    vg_status status = VG_OK;
    all->classes.items = malloc((folders.count + 1) * sizeof *all->classes.items);
    if (!all->classes.items)
        status = vg_base__fail(VG_ERR_MEMORY, "%s: no memory for class names", folder);
    for (size_t i = 0; status == VG_OK && i < folders.count; i++)
        status = take_class(all, folder, folders.items[i]);
    drop(&folders);
    if (status == VG_OK && all->paths.count == 0)
        status =
            vg_base__fail(VG_ERR_FORMAT, "%s: no .png in any sub-folder (one sub-folder a class expected)", folder);
    return status;
}

static vg_status begin(png_image *image, const char *path) {
    memset(image, 0, sizeof *image);
    image->version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(image, path))
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s", path, image->message);
    return VG_OK;
}

/* Sizes and colour of the whole set, from the headers alone. */
static vg_status survey(const found *all, size_t *height, size_t *width, bool *colour) {
    *colour = false;
    for (size_t i = 0; i < all->paths.count; i++) {
        png_image image;
        VG_TRY(begin(&image, all->paths.items[i]));
        size_t rows = image.height, columns = image.width;
        *colour = *colour || (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
        png_image_free(&image);
        if (i == 0)
            *height = rows, *width = columns;
        if (rows != *height || columns != *width)
            return vg_base__fail(VG_ERR_DATA,
                                 "%s: %zux%zu pixels (rows x columns), but %s has %zux%zu: one size expected",
                                 all->paths.items[i], rows, columns, all->paths.items[0], *height, *width);
    }
    if (*height > 16384 || *width > 16384)
        return vg_base__fail(VG_ERR_DATA, "%s: %zux%zu pixels, at most 16384 each way expected", all->paths.items[0],
                             *height, *width);
    return VG_OK;
}

/* Decodes one file into image n of the set; `packed` holds height * width * channels bytes, channels fastest. */
static vg_status decode(vg_dataset *set, size_t n, const char *path, uint8_t *packed) {
    png_image image;
    VG_TRY(begin(&image, path));
    if (image.height != set->height || image.width != set->width) {
        png_image_free(&image);
        return vg_base__fail(VG_ERR_DATA, "%s: changed while it was read", path);
    }
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16-bit files hold the same scale as 8-bit ones, not linear light */
    image.format = set->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    const png_color black = {0, 0, 0};
    if (!png_image_finish_read(&image, &black, packed, 0, NULL)) {
        vg_status status = vg_base__fail(VG_ERR_FORMAT, "%s: %s", path, image.message);
        png_image_free(&image);
        return status;
    }
    size_t plane = set->height * set->width;
    uint8_t *to = set->pixels.bytes + n * plane * set->channels;
    for (size_t c = 0; c < set->channels; c++)
        for (size_t p = 0; p < plane; p++)
            to[c * plane + p] = packed[p * set->channels + c];
    return VG_OK;
}

static vg_status load(vg_dataset **out, const found *all, const char *folder) {
    size_t height = 0, width = 0;
    bool colour;
    VG_TRY(survey(all, &height, &width, &colour));
    vg_dataset_shape shape = {all->paths.count, colour ? 3 : 1, height, width, false, true};
    VG_TRY(vg_dataset__new(out, folder, &shape));
    uint8_t *packed;
    VG_TRY(vg_base__alloc(&packed, vg_dataset__image(*out), 1, "one image"));
    vg_status status = VG_OK;
    for (size_t i = 0; status == VG_OK && i < all->paths.count; i++) {
        status = decode(*out, i, all->paths.items[i], packed);
        (*out)->labels[i] = (int32_t)all->labels[i];
    }
    vg_base__release(packed);
    VG_TRY(status);
    (*out)->classes = all->classes.count;
    return vg_dataset__name_classes(*out, (const char *const *)all->classes.items, all->classes.count);
}

vg_status vg_png_folder__read(vg_dataset **out, const char *folder) {
    found all;
    vg_dataset *set = NULL;
    *out = NULL;
    vg_status status = gather(&all, folder);
    if (status == VG_OK)
        status = load(&set, &all, folder);
    drop(&all.paths);
    drop(&all.classes);
    free(all.labels);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}

#else

vg_status vg_png_folder__read(vg_dataset **out, const char *folder) {
    *out = NULL;
    return vg_base__fail(VG_ERR_UNSUPPORTED,
                         "%s: this build has no libpng to read PNG files; an .npz with images and labels works",
                         folder);
}

#endif
