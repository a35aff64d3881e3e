/* svhn_mat.c - the cropped digits of SVHN as published: MATLAB files of level 5.
 *
 *     X   (32, 32, 3, N) bytes, first axis fastest: row, column, channel, image
 *     y   (N, 1) labels 1..10; 10 is the digit 0
 *
 * The file, little-endian: 116 bytes of text, 8 of an offset, a version (0x0100), the letters "IM"; then elements. An
 * element is a tag, type and size (32 bits each), and its data, padded to 8 bytes inside a matrix; up to 4 bytes of
 * data may lie in the tag itself, whose size is then in the upper half of the type. A variable is an element of type
 * 14, or of type 15, whose data is such an element deflated:
 *
 *     flags (uint32: class in the lowest byte, 0x0800 complex; reserved), dimensions (int32), name (int8), values
 *
 * The values may have a smaller type than the class: labels of class double are stored as bytes. */
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "data/dataset.h"

enum {
    HEADER = 128,
    INT8 = 1,
    UINT8 = 2,
    UINT16 = 4,
    INT32 = 5,
    UINT32 = 6,
    SINGLE = 7,
    DOUBLE = 9,
    MATRIX = 14,
    COMPRESSED = 15,
    CLASS_UINT8 = 9,
    MOST_AXES = 8,
    MOST_RATIO = 1032 /* deflate expands by at most that */
};

typedef struct element {
    uint32_t type;
    size_t size, end; /* of the data; where the next element begins */
    const uint8_t *data;
} element;

typedef struct variable {
    uint8_t *inflated; /* NULL: the values lie in the file */
    uint32_t class, type;
    bool complex;
    size_t rank, dims[MOST_AXES];
    const uint8_t *values;
    size_t size;
} variable;

static uint32_t number_at(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static vg_status truncated(const char *path) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: truncated: an element ends after the end of the file", path);
}

/* The element at `at` of bytes[size]; padded: inside a matrix. */
static vg_status take(element *out, const uint8_t *bytes, size_t size, size_t at, bool padded, const char *path) {
    if (size < 8 || at > size - 8)
        return truncated(path);
    uint32_t first = number_at(bytes + at);
    if (first >> 16) {
        *out = (element){first & 0xffff, first >> 16, at + 8, bytes + at + 4};
        return out->size <= 4 ? VG_OK : vg_base__fail(VG_ERR_FORMAT, "%s: damaged: a small element of %zu bytes", path,
                                                      out->size);
    }
    *out = (element){first, number_at(bytes + at + 4), 0, bytes + at + 8};
    if (out->size > size - at - 8)
        return truncated(path);
    out->end = at + 8 + out->size;
    if (padded && out->end % 8)
        out->end = out->end + 8 - out->end % 8 < size ? out->end + 8 - out->end % 8 : size;
    return VG_OK;
}

/* Inflates the matrix in a deflated element; out: its bytes with the tag. */
static vg_status inflate_matrix(uint8_t **out, size_t *size, const element *deflated, const char *path) {
    uint8_t tag[8];
    z_stream z = {0};
    z.next_in = (Bytef *)(uintptr_t)deflated->data;
    z.avail_in = (uInt)deflated->size;
    z.next_out = tag;
    z.avail_out = sizeof tag;
    if (inflateInit(&z) != Z_OK)
        return vg_base__fail(VG_ERR_MEMORY, "%s: cannot inflate", path);
    inflate(&z, Z_SYNC_FLUSH);
    size_t head = sizeof tag - z.avail_out, whole = head == sizeof tag ? (size_t)number_at(tag + 4) + sizeof tag : 0;
    *out = NULL;
    vg_status status;
    if (whole == 0 || whole / MOST_RATIO > deflated->size)
        status = vg_base__fail(VG_ERR_FORMAT, "%s: damaged: a variable that cannot be inflated", path);
    else
        status = vg_base__alloc(out, whole, 1, "a variable");
    if (status == VG_OK) {
        memcpy(*out, tag, sizeof tag);
        z.next_out = *out + sizeof tag;
        z.avail_out = (uInt)(whole - sizeof tag);
        int code = inflate(&z, Z_FINISH);
        if (code != Z_STREAM_END || z.avail_out != 0)
            status = vg_base__fail(VG_ERR_FORMAT, "%s: damaged: a variable ends after %zu of %zu bytes", path,
                                   whole - z.avail_out, whole);
    }
    inflateEnd(&z);
    if (status != VG_OK) {
        vg_base__release(*out);
        *out = NULL;
    }
    *size = whole;
    return status;
}

/* Finds the parts of a matrix in data[size]; *letter is its name if that has one letter, else 0. */
static vg_status take_parts(variable *out, char *letter, const uint8_t *data, size_t size, const char *path) {
    element flags, dims, name, values;
    VG_TRY(take(&flags, data, size, 0, true, path));
    VG_TRY(take(&dims, data, size, flags.end, true, path));
    VG_TRY(take(&name, data, size, dims.end, true, path));
    *letter = name.size == 1 ? (char)name.data[0] : '\0';
    if (*letter != 'X' && *letter != 'y') /* other variables are ignored, whatever their class */
        return VG_OK;
    VG_TRY(take(&values, data, size, name.end, true, path));
    if (flags.type != UINT32 || flags.size != 8 || dims.type != INT32 || dims.size % 4 || dims.size > 4 * MOST_AXES)
        return vg_base__fail(VG_ERR_FORMAT, "%s: damaged: variable '%c' has no shape", path, *letter);
    uint32_t bits = number_at(flags.data);
    out->class = bits & 0xff;
    out->complex = (bits & 0x0800) != 0;
    out->rank = dims.size / 4;
    for (size_t i = 0; i < out->rank; i++)
        out->dims[i] = number_at(dims.data + 4 * i);
    out->type = values.type;
    out->values = values.data;
    out->size = values.size;
    return VG_OK;
}

/* Reads the variables X and y of a file and ignores others. The caller owns what was inflated, also on failure. */
static vg_status read_file(variable *x, variable *y, const vg_mapping *file, const char *path) {
    if (file->size < HEADER || memcmp(file->bytes, "MATLAB", 6) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: not a MATLAB file", path);
    if (number_at(file->bytes + 124) != 0x4d490100) /* version 0x0100, "IM" */
        return vg_base__fail(VG_ERR_UNSUPPORTED,
                             "%s: not a little-endian MATLAB file of level 5 (save it with -v7, not -v7.3)", path);
    for (size_t at = HEADER; at < file->size;) {
        element e;
        variable v = {0};
        char letter = '\0';
        VG_TRY(take(&e, file->bytes, file->size, at, false, path));
        at = e.end;
        if (e.type == COMPRESSED) {
            size_t size = 0;
            VG_TRY(inflate_matrix(&v.inflated, &size, &e, path));
            e = (element){number_at(v.inflated), size - 8, 0, v.inflated + 8};
        }
        vg_status status = e.type == MATRIX ? take_parts(&v, &letter, e.data, e.size, path) : VG_OK;
        variable *to = letter == 'X' ? x : letter == 'y' ? y : NULL;
        if (status != VG_OK || !to || to->values) {
            vg_base__release(v.inflated);
            VG_TRY(status);
        } else {
            *to = v;
        }
    }
    return VG_OK;
}

static vg_status check_images(const variable *x, const char *path) {
    if (!x->values)
        return vg_base__fail(VG_ERR_FORMAT, "%s: no variable 'X' that can be read", path);
    if (x->class != CLASS_UINT8 || x->type != UINT8 || x->complex)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' does not hold unsigned bytes", path);
    if (x->rank != 4 || x->dims[2] == 0 || x->dims[2] > VG_MAX_CHANNELS)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' has %zu axes, expected 4 (rows, columns, channels, images)", path,
                             x->rank);
    size_t count;
    if (!vg_base__mul(&count, x->dims[0], x->dims[1]) || !vg_base__mul(&count, count, x->dims[2]) ||
        !vg_base__mul(&count, count, x->dims[3]) || count != x->size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: 'X' has %zu bytes of data, not what its shape asks for", path,
                             x->size);
    return VG_OK;
}

/* The bytes of a value of each type that labels are stored in; 0 for others. */
static size_t width_of(uint32_t type) {
    switch (type) {
    case INT8:
    case UINT8: return 1;
    case UINT16: return 2;
    case INT32:
    case SINGLE: return 4;
    case DOUBLE: return 8;
    default: return 0;
    }
}

/* Label i, of any number type; -1 when it is outside 0..10. */
static int label_at(const variable *y, size_t i) {
    const uint8_t *p = y->values + i * width_of(y->type);
    double value = -1.0;
    float single;
    switch (y->type) {
    case INT8:
    case UINT8: value = p[0]; break; /* a negative byte reads as above 10 */
    case UINT16: value = p[0] | p[1] << 8; break;
    case INT32: value = (double)(int32_t)number_at(p); break;
    case SINGLE:
        memcpy(&single, p, sizeof single);
        value = (double)single;
        break;
    case DOUBLE: memcpy(&value, p, sizeof value); break;
    default: break;
    }
    return value >= 0.0 && value <= 10.0 && value == (double)(int)value ? (int)value : -1;
}

static vg_status read_labels(vg_dataset *set, const variable *y, const char *path) {
    size_t width = width_of(y->type);
    if (!y->values || width == 0 || y->complex)
        return vg_base__fail(VG_ERR_FORMAT, "%s: no variable 'y' that can be read", path);
    size_t count = y->size / width;
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

static vg_status read_variables(vg_dataset **out, const variable *x, const variable *y, const char *path) {
    VG_TRY(check_images(x, path));
    size_t height = x->dims[0], width = x->dims[1], channels = x->dims[2], n = x->dims[3];
    VG_TRY(vg_dataset__new(out, path, &(vg_dataset_shape){n, channels, height, width, false, true}));
    const uint8_t *from = x->values;
    uint8_t *to = (*out)->pixels.bytes;
    for (size_t plane = 0; plane < n * channels; plane++, from += height * width, to += height * width)
        for (size_t column = 0; column < width; column++)
            for (size_t row = 0; row < height; row++)
                to[row * width + column] = from[column * height + row];
    return read_labels(*out, y, path);
}

vg_status vg_svhn_mat__read(vg_dataset **out, const char *path) {
    vg_mapping file;
    variable x = {0}, y = {0};
    vg_dataset *set = NULL;
    *out = NULL;
    VG_TRY(vg_file__map(&file, path));
    vg_status status = read_file(&x, &y, &file, path);
    if (status == VG_OK)
        status = read_variables(&set, &x, &y, path);
    vg_base__release(x.inflated);
    vg_base__release(y.inflated);
    vg_file__unmap(&file);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}
