/* own.c - users' own data sets, by path: a file recognised by its extension and first bytes, a folder by the files it
 * holds.
 *
 *     folder with train.npz, test.npz                                  the .npz of each part
 *     folder with train-images-idx3-ubyte, ... (.gz or not)            IDX, t10k- or test- for the test part
 *     folder with data_batch_*.bin, test_batch.bin                     CIFAR-10
 *     folder with train.bin, test.bin                                  CIFAR-100
 *     folder with train_32x32.mat (.npz), test_32x32.mat (.npz)        SVHN
 *     folder with train/CLASS/x.jpg, test/CLASS/x.jpg                  image files by class; val/CLASS is held out
 *     folder with CLASS/x.jpg                                          the same, a single part
 *     folder with x.jpg                                                image files without labels, a single part
 *     file .csv, .tsv                                                  names image files, labels and splits
 *     file .npz, .bin, .mat, IDX images                                a single part, except .npz that name two
 *
 * A single part serves as training set or, with VG_PART_ANY, as input; it has no test part. */
#include <stdio.h>
#include <string.h>

#include "data/image_list.h"

enum { PATH = 4096 };

/* FOLDER/NAME if that is a file. */
static bool has(char path[PATH], const char *folder, const char *name) {
    int length = snprintf(path, PATH, "%s/%s", folder, name);
    return length > 0 && length < PATH && vg_data__is_file(path);
}

static bool has_folder(char path[PATH], const char *folder, const char *name) {
    int length = snprintf(path, PATH, "%s/%s", folder, name);
    return length > 0 && length < PATH && vg_data__is_folder(path);
}

static vg_status one_part(const char *path, vg_part part) {
    if (part == VG_PART_TEST)
        return vg_base__fail(
            VG_ERR_ARGUMENT,
            "%s: has one part only, so no test part beside its training part; see docs/data.md for folders "
            "with both",
            path);
    return VG_OK;
}

/* The labels file of an IDX images file: "images" becomes "labels", "idx3" becomes "idx1"; with or without .gz. */
static bool labels_beside(char path[PATH], const char *images) {
    const char *base = strrchr(images, '/');
    base = base ? base + 1 : images;
    const char *word = strstr(base, "images");
    if (!word || strlen(images) + 4 >= PATH)
        return false;
    snprintf(path, PATH, "%.*slabels%s", (int)(word - images), images, word + 6);
    char *three = strstr(path + (word - images), "idx3");
    if (three)
        three[3] = '1';
    if (vg_data__is_file(path))
        return true;
    size_t length = strlen(path);
    if (vg_data__ends_with(path, ".gz"))
        path[length - 3] = '\0';
    else
        memcpy(path + length, ".gz", 4);
    return vg_data__is_file(path);
}

static vg_status read_idx(vg_dataset **out, const char *images) {
    char labels[PATH];
    return vg_idx__read(out, images, labels_beside(labels, images) ? labels : NULL, 0);
}

/* A CIFAR file of either kind: records of 3073 or 3074 bytes, recognised by the size, or by the name when both sizes
 * fit. */
static vg_status read_bin(vg_dataset **out, const char *path) {
    vg_bytes bytes;
    VG_TRY(vg_bytes__open(&bytes, path));
    size_t size = bytes.file_size;
    bool plain = bytes.plain;
    vg_bytes__close(&bytes);
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    bool named = strncmp(base, "train.bin", 9) == 0 || strncmp(base, "test.bin", 8) == 0;
    bool coarse = plain ? size % 3074 == 0 && (size % 3073 != 0 || named) : named;
    return vg_cifar__read(out, &path, 1, coarse, 0);
}

static vg_status read_table(vg_dataset **out, const char *path, vg_part part, const vg_dataset_options *options) {
    vg_image_list list = {0};
    bool single;
    vg_status status = vg_image_list__table(&list, &single, path, part);
    if (status == VG_OK && single)
        status = one_part(path, part);
    if (status == VG_OK)
        status = vg_image_set__open(out, &list, path, options);
    vg_image_list__free(&list);
    return status;
}

static vg_status read_file(vg_dataset **out, const char *path, vg_part part, const vg_dataset_options *options) {
    if (vg_data__ends_with(path, ".npz"))
        return vg_images_npz__read(out, path, part, 0);
    if (vg_image_list__is_table(path))
        return read_table(out, path, part, options);
    VG_TRY(one_part(path, part));
    if (vg_data__ends_with(path, ".mat"))
        return vg_svhn_mat__read(out, path);
    if (vg_data__ends_with(path, ".bin") || vg_data__ends_with(path, ".bin.gz"))
        return read_bin(out, path);
    vg_bytes bytes;
    unsigned char magic[4] = {0};
    size_t got;
    VG_TRY(vg_bytes__open(&bytes, path));
    vg_status status = vg_bytes__read(&bytes, magic, 4, &got);
    vg_bytes__close(&bytes);
    VG_TRY(status);
    if ((got == 4 && magic[0] == 0 && magic[1] == 0 && magic[2] == 8) || strstr(path, "idx"))
        return read_idx(out, path);
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: starts with 0x%02x%02x%02x%02x; expected a .npz, an IDX images file, a CIFAR .bin, an "
                         "SVHN .mat, or a .csv "
                         "or .tsv that names image files",
                         path, magic[0], magic[1], magic[2], magic[3]);
}

/* The five training batches (those that are there, in order), or the test batch. *found is false when there are
 * none. */
static vg_status read_cifar10(vg_dataset **out, bool *found, const char *folder, bool test) {
    char paths[5][PATH];
    const char *list[5];
    size_t count = 0;
    for (int i = 1; i <= (test ? 1 : 5); i++) {
        char name[32];
        snprintf(name, sizeof name, test ? "test_batch.bin" : "data_batch_%d.bin", i);
        if (has(paths[count], folder, name)) {
            list[count] = paths[count];
            count++;
        }
    }
    *found = count > 0;
    return count > 0 ? vg_cifar__read(out, list, count, false, 0) : VG_OK;
}

/* Image files in a folder, of classes or flat; `held`: another folder, of the validation images; NULL: none. */
static vg_status read_images(vg_dataset **out, const char *folder, vg_image_folder kind, const char *held,
                             const vg_dataset_options *options) {
    vg_image_list list = {0};
    vg_status status =
        kind == VG_FOLDER_FLAT ? vg_image_list__flat(&list, folder) : vg_image_list__classes(&list, folder, false);
    if (status == VG_OK && held)
        status = vg_image_list__classes(&list, held, true);
    if (status == VG_OK)
        status = vg_image_set__open(out, &list, folder, options);
    vg_image_list__free(&list);
    return status;
}

/* FOLDER/train or FOLDER/test; validation images beside train are read with it. */
static vg_status read_image_part(vg_dataset **out, bool *found, const char *folder, bool test,
                                 const vg_dataset_options *options) {
    static const char *const names[] = {"val", "valid", "validation"};
    char path[PATH], held[PATH];
    vg_image_folder kind = VG_FOLDER_NONE;
    bool has_held = false;
    if (has_folder(path, folder, test ? "test" : "train"))
        kind = vg_image_list__kind(path);
    *found = kind != VG_FOLDER_NONE;
    for (int i = 0; i < 3 && !test && kind == VG_FOLDER_CLASSES && !has_held; i++)
        has_held = has_folder(held, folder, names[i]) && vg_image_list__kind(held) == VG_FOLDER_CLASSES;
    return *found ? read_images(out, path, kind, has_held ? held : NULL, options) : VG_OK;
}

/* Reads the files of one part from a folder of two. *found is false where it has none. */
static vg_status read_folder_part(vg_dataset **out, bool *found, const char *folder, bool test,
                                  const vg_dataset_options *options) {
    static const char *const idx[2][4] = {
        {"train-images-idx3-ubyte.gz", "train-images-idx3-ubyte", "train-images.idx3-ubyte", NULL},
        {"t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", "test-images-idx3-ubyte.gz"}};
    static const char *const npz[2][2] = {{"train.npz", "train_32x32.npz"}, {"test.npz", "test_32x32.npz"}};
    char path[PATH];
    *found = true;
    for (int i = 0; i < 2; i++)
        if (has(path, folder, npz[test][i]))
            return vg_images_npz__read(out, path, VG_PART_ANY, 0);
    if (has(path, folder, test ? "test_32x32.mat" : "train_32x32.mat"))
        return vg_svhn_mat__read(out, path);
    for (int i = 0; i < 4 && idx[test][i]; i++)
        if (has(path, folder, idx[test][i]))
            return read_idx(out, path);
    VG_TRY(read_cifar10(out, found, folder, test));
    if (*found)
        return VG_OK;
    *found = true;
    if (has(path, folder, test ? "test.bin" : "train.bin")) {
        const char *list = path;
        return vg_cifar__read(out, &list, 1, true, 0);
    }
    return read_image_part(out, found, folder, test, options);
}

static vg_status read_folder(vg_dataset **out, const char *folder, vg_part part, const vg_dataset_options *options) {
    bool found = false;
    if (part != VG_PART_TRAIN)
        VG_TRY(read_folder_part(out, &found, folder, true, options));
    if (!found && part != VG_PART_TEST)
        VG_TRY(read_folder_part(out, &found, folder, false, options));
    if (found)
        return VG_OK;
    vg_image_folder kind = vg_image_list__kind(folder);
    if (kind != VG_FOLDER_NONE) {
        char path[PATH];
        if (has_folder(path, folder, "train") || has_folder(path, folder, "test"))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: has no folder '%s' with one folder of images per class", folder,
                                 part == VG_PART_TRAIN ? "train" : "test");
        VG_TRY(one_part(folder, part));
        return read_images(out, folder, kind, NULL, options);
    }
    return vg_base__fail(
        part == VG_PART_ANY ? VG_ERR_FORMAT : VG_ERR_ARGUMENT,
        "%s: no %s found in it (train.npz and test.npz, IDX files, CIFAR batches, SVHN files, or one folder of "
        "JPEG, PNG or WebP files per class)",
        folder,
        part == VG_PART_TRAIN  ? "training set"
        : part == VG_PART_TEST ? "test set"
                               : "data set");
}

vg_status vg_own__read(vg_dataset **out, const char *path, vg_part part, const vg_dataset_options *options) {
    if (!out || !path || (unsigned)part > VG_PART_ANY)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_dataset__read: out and path must not be NULL, part one of three");
    *out = NULL;
    vg_image_target target;
    VG_TRY(vg_image_set__target(&target, options));
    if (vg_data__is_folder(path))
        VG_TRY(read_folder(out, path, part, options));
    else if (vg_data__is_file(path))
        VG_TRY(read_file(out, path, part, options));
    else
        return vg_base__fail(VG_ERR_IO, "%s: no such file or folder", path);
    if ((*out)->files)
        return VG_OK;
    vg_status status = vg_image_set__refit(out, &target);
    if (status != VG_OK) {
        vg_dataset_free(*out);
        *out = NULL;
    }
    return status;
}

vg_status vg_dataset__read(vg_dataset **out, const char *path, vg_part part) {
    static const vg_dataset_options defaults = VG_DATASET_OPTIONS_INIT;
    return vg_own__read(out, path, part, &defaults);
}
