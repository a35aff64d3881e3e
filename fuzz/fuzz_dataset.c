/* fuzz_dataset.c - files of images on any bytes: the first byte picks the kind (IDX, CIFAR, .npz, PNG, tar, JPEG, WebP,
 * CSV, SVHN's .mat), the rest is the file. */
#include <stdbool.h>

#include "fuzz_check.h"
#include "fuzz_file.h"

#include "data/samples.h"
#include "data/tarball.h"
#include "vargate/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[300];

/* A labels file beside the IDX images and a class for the PNG. */
static void fill_folder(void) {
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 1, 0};
    snprintf(path, sizeof path, "%s/class", fuzz_folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/f-labels-idx1-ubyte", fuzz_folder);
    fuzz_write(path, labels, sizeof labels);
}

static const char *choose(void *context, const char *name) { return name[0] == 'a' ? context : NULL; }

/* Sets of image files are read twice: as they are, and resized, decoded as they are needed, without damaged ones. */
static void read_set(const char *from, bool resized) {
    vg_dataset *set;
    vg_statistics statistics;
    char name[320];
    vg_dataset_options options = VG_DATASET_OPTIONS_INIT;
    if (resized)
        options.resize[0] = 9, options.channels = 1, options.skip_corrupt = 1, options.in_memory = 0;
    options.threads = 1;
    snprintf(name, sizeof name, "path:%s", from);
    vg_status status = vg_dataset_open(&set, name, VG_PART_ANY, &options);
    fuzz_check(status);
    if (status != VG_OK)
        return;
    if (vg_dataset_statistics(&statistics, set, NULL, 0) != VG_OK) /* touches every pixel */
        abort();
    vg_dataset_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"f-images-idx3-ubyte", "f.bin",        "f.npz", "class/f.png", "f.tar",
                                        "class/f.jpg",         "class/f.webp", "f.csv", "f.mat"};
    if (size == 0)
        return 0;
    if (fuzz_make_folder())
        fill_folder();
    unsigned kind = data[0] % 9;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, names[kind]);
    fuzz_write(path, data + 1, size - 1);
    if (kind != 4) {
        bool image = kind == 3 || kind == 5 || kind == 6;
        read_set(image ? fuzz_folder : path, false);
        if (image)
            read_set(fuzz_folder, true);
    } else {
        char target[300];
        snprintf(target, sizeof target, "%s/out", fuzz_folder);
        fuzz_check(vg_tarball__extract(path, choose, target));
        unlink(target);
    }
    unlink(path);
    return 0;
}
