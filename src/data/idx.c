/* idx.c - the IDX format of MNIST, Fashion-MNIST and KMNIST, plain or gzipped.
 *
 *     images   u32 0x00000803   u32 count   u32 rows   u32 columns   count * rows * columns bytes, row by row
 *     labels   u32 0x00000801   u32 count   count bytes
 *
 * Integers are big-endian. The file must end where its header says. */
#include "data/dataset.h"

enum { IMAGES_MAGIC = 0x803, LABELS_MAGIC = 0x801 };

static uint32_t big(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static vg_status check_magic(const vg_bytes *bytes, const unsigned char *header, uint32_t expected, const char *what) {
    if (big(header) != expected)
        return vg_base__fail(VG_ERR_FORMAT, "%s: starts with 0x%08x, expected 0x%08x (IDX %s)", bytes->path,
                             (unsigned)big(header), (unsigned)expected, what);
    return VG_OK;
}

static vg_status read_images(vg_dataset **out, vg_bytes *bytes, bool labelled) {
    unsigned char header[16];
    VG_TRY(vg_bytes__exactly(bytes, header, 4, 16));
    VG_TRY(check_magic(bytes, header, IMAGES_MAGIC, "images"));
    VG_TRY(vg_bytes__exactly(bytes, header + 4, 12, 16));
    size_t n = big(header + 4), rows = big(header + 8), columns = big(header + 12), size, expected;
    if (!vg_base__mul(&size, n, rows) || !vg_base__mul(&size, size, columns) || !vg_base__add(&expected, size, 16))
        return vg_base__fail(VG_ERR_FORMAT, "%s: its header asks for %zu images of %zux%zu", bytes->path, n, rows,
                             columns);
    VG_TRY(vg_bytes__could_hold(bytes, expected));
    VG_TRY(vg_dataset__new(out, bytes->path, &(vg_dataset_shape){n, 1, rows, columns, false, labelled}));
    VG_TRY(vg_bytes__exactly(bytes, (*out)->pixels.bytes, size, expected));
    return vg_bytes__at_end(bytes, expected);
}

/* Reads labels as bytes into the set's int32 array and widens them from the end, so that no other memory is needed. */
static vg_status read_labels(vg_dataset *set, vg_bytes *bytes, size_t classes) {
    unsigned char header[8];
    VG_TRY(vg_bytes__exactly(bytes, header, 4, 8));
    VG_TRY(check_magic(bytes, header, LABELS_MAGIC, "labels"));
    VG_TRY(vg_bytes__exactly(bytes, header + 4, 4, 8));
    size_t n = big(header + 4);
    if (n != set->n)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu labels, but %s holds %zu images", bytes->path, n, set->source,
                             set->n);
    VG_TRY(vg_bytes__could_hold(bytes, n + 8));
    unsigned char *packed = (unsigned char *)set->labels;
    VG_TRY(vg_bytes__exactly(bytes, packed, n, n + 8));
    VG_TRY(vg_bytes__at_end(bytes, n + 8));
    for (size_t i = n; i-- > 0;) {
        unsigned char label = packed[i];
        if (classes > 0 && label >= classes)
            return vg_base__fail(VG_ERR_DATA, "%s: label %u of sample %zu, expected 0..%zu", bytes->path, label, i,
                                 classes - 1);
        set->labels[i] = label;
    }
    return vg_dataset__settle_labels(set, classes);
}

vg_status vg_idx__read(vg_dataset **out, const char *images_path, const char *labels_path, size_t classes) {
    vg_dataset *set = NULL;
    vg_bytes bytes;
    *out = NULL;
    VG_TRY(vg_bytes__open(&bytes, images_path));
    vg_status status = read_images(&set, &bytes, labels_path != NULL);
    vg_bytes__close(&bytes);
    if (status == VG_OK && labels_path) {
        status = vg_bytes__open(&bytes, labels_path);
        if (status == VG_OK)
            status = read_labels(set, &bytes, classes);
        vg_bytes__close(&bytes);
    }
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}
