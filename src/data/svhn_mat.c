/* svhn_mat.c - the cropped digits of SVHN as published, MATLAB 5 files read through matio.
 *
 *     X   (32, 32, 3, N) bytes, first axis fastest: row, column, channel, image
 *     y   (N, 1) labels 1..10; 10 is the digit 0 */
#include "data/dataset.h"

#ifdef VG_HAVE_MATIO
#include <matio.h>

static vg_status check_images(const matvar_t *x, const char *path) {
    if (!x || !x->data)
        return vg_base__fail(VG_ERR_FORMAT, "%s: no variable 'X' that can be read", path);
    if (x->class_type != MAT_C_UINT8 || x->data_type != MAT_T_UINT8 || x->isComplex)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' does not hold unsigned bytes", path);
    if (x->rank != 4 || x->dims[2] == 0 || x->dims[2] > VG_MAX_CHANNELS)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' has %d axes, expected 4 (rows, columns, channels, images)", path,
                             x->rank);
    size_t count;
    if (!vg_base__mul(&count, x->dims[0], x->dims[1]) || !vg_base__mul(&count, count, x->dims[2]) ||
        !vg_base__mul(&count, count, x->dims[3]) || count != x->nbytes)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' has %zu bytes of data, fewer than its shape asks for", path,
                             x->nbytes);
    return VG_OK;
}

/* The i-th label, whatever number type holds it; -1 when it is none of 1..10. */
static int label_at(const matvar_t *y, size_t i) {
    double value = -1.0;
    switch (y->data_type) {
    case MAT_T_UINT8: value = ((const uint8_t *)y->data)[i]; break;
    case MAT_T_INT8: value = ((const int8_t *)y->data)[i]; break;
    case MAT_T_UINT16: value = ((const uint16_t *)y->data)[i]; break;
    case MAT_T_INT32: value = ((const int32_t *)y->data)[i]; break;
    case MAT_T_SINGLE: value = (double)((const float *)y->data)[i]; break;
    case MAT_T_DOUBLE: value = ((const double *)y->data)[i]; break;
    default: break;
    }
    return value >= 0.0 && value <= 10.0 && value == (double)(int)value ? (int)value : -1;
}

static vg_status read_labels(vg_dataset *set, const matvar_t *y, const char *path) {
    if (!y || !y->data || y->rank < 1 || y->data_size <= 0 || y->isComplex)
        return vg_base__fail(VG_ERR_FORMAT, "%s: no variable 'y' that can be read", path);
    size_t count = y->nbytes / (size_t)y->data_size;
    if (count != set->n)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'y' holds %zu labels for %zu images", path, count, set->n);
    for (size_t i = 0; i < count; i++) {
        int label = label_at(y, i);
        if (label < 0)
            return vg_base__fail(VG_ERR_DATA, "%s: label %zu is not a whole number in 0..10", path, i);
        set->labels[i] = label % 10;
    }
    set->classes = 10;
    return VG_OK;
}

static vg_status read_variables(vg_dataset **out, const matvar_t *x, const matvar_t *y, const char *path) {
    VG_TRY(check_images(x, path));
    size_t height = x->dims[0], width = x->dims[1], channels = x->dims[2], n = x->dims[3];
    VG_TRY(vg_dataset__new(out, path, &(vg_dataset_shape){n, channels, height, width, false, true}));
    const uint8_t *from = x->data;
    uint8_t *to = (*out)->pixels.bytes;
    for (size_t plane = 0; plane < n * channels; plane++, from += height * width, to += height * width)
        for (size_t column = 0; column < width; column++)
            for (size_t row = 0; row < height; row++)
                to[row * width + column] = from[column * height + row];
    return read_labels(*out, y, path);
}

vg_status vg_svhn_mat__read(vg_dataset **out, const char *path) {
    *out = NULL;
    if (!vg_data__is_file(path))
        return vg_base__fail(VG_ERR_IO, "%s: no such file", path);
    mat_t *file = Mat_Open(path, MAT_ACC_RDONLY);
    if (!file)
        return vg_base__fail(VG_ERR_FORMAT, "%s: not a MATLAB file that matio can open", path);
    matvar_t *x = Mat_VarRead(file, "X"), *y = Mat_VarRead(file, "y");
    vg_dataset *set = NULL;
    vg_status status = read_variables(&set, x, y, path);
    Mat_VarFree(x);
    Mat_VarFree(y);
    Mat_Close(file);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}

#else

vg_status vg_svhn_mat__read(vg_dataset **out, const char *path) {
    *out = NULL;
    return vg_base__fail(VG_ERR_UNSUPPORTED,
                         "%s: this build has no matio to read .mat files; an .npz with images and labels works", path);
}

#endif
