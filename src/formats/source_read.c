/* source_read.c - elements of an opened source, converted piece by piece. The CRC of a stored zip member is checked
 * as its bytes are read. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "formats/source.h"

enum { STEP = 1 << 16 }; /* bytes inflated at a time: stays in the cache between inflating and converting */

static vg_status check_index(const vg_source *source, size_t index) {
    if (index >= source->count)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: array %zu wanted, but it holds %zu", source->path, index,
                             source->count);
    return VG_OK;
}

vg_status vg_source__check_crc(vg_source *source, size_t index, size_t bytes) {
    vg_stored *array = source->arrays + index;
    if (!array->has_crc || (bytes <= array->summed && array->summed > 0))
        return VG_OK;
    const size_t step = (size_t)1 << 24;
    if (array->summed == 0)
        array->sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), array->data - array->skip, array->skip);
    bool large = bytes - array->summed > 4 * step; /* the whole of a large member must not become resident */
    while (array->summed < bytes) {
        size_t now = bytes - array->summed < step ? bytes - array->summed : step;
        array->sum = (uint32_t)crc32_z(array->sum, array->data + array->summed, now);
        if (large)
            vg_file__forget(&source->map, (size_t)(array->data - source->map.bytes) + array->summed, now);
        array->summed += now;
    }
    if (array->summed == array->bytes && array->sum != array->crc) {
        array->summed = 0;
        return vg_base__fail(VG_ERR_FORMAT, "%s: member '%.200s.npy': CRC-32 is %08" PRIx32 ", expected %08" PRIx32,
                             source->path, array->name, array->sum, array->crc);
    }
    return VG_OK;
}

/* Converts `count` elements of the array from `first` on. */
static vg_status convert(const vg_source *source, const vg_stored *array, const uint8_t *raw, size_t first,
                         size_t count, vg_element target, void *out) {
    if (target == VG_ELEMENT_F32) {
        vg_convert__f32(out, raw, count, array->element, array->swapped);
        return VG_OK;
    }
    if (target == VG_ELEMENT_F64) {
        vg_convert__f64(out, raw, count, array->element, array->swapped);
        return VG_OK;
    }
    size_t good = vg_convert__i64(out, raw, count, array->element, array->swapped);
    if (good == count)
        return VG_OK;
    double value;
    vg_convert__f64(&value, raw + good * vg_element__size(array->element), 1, array->element, array->swapped);
    bool named = array->name[0] != 0; /* the only array of an .npy file has no name */
    return vg_base__fail(VG_ERR_DATA, "%s: %s%.100s%selement %zu is %.17g, expected a whole number of 64 bits",
                         source->path, named ? "array '" : "", array->name, named ? "': " : "", first + good, value);
}

static vg_status read_deflated(vg_source *source, vg_stored *array, size_t first, size_t count, vg_element target,
                               void *out) {
    uint8_t raw[STEP];
    size_t size = vg_element__size(array->element), width = vg_element__size(target), many = STEP / size;
    for (size_t done = 0; done < count; done += many) {
        size_t now = count - done < many ? count - done : many;
        VG_TRY(vg_inflate__read(array->stream, array->skip + (first + done) * size, raw, now * size));
        VG_TRY(convert(source, array, raw, first + done, now, target, (uint8_t *)out + done * width));
    }
    return VG_OK;
}

vg_status vg_source__read(vg_source *source, size_t index, size_t first, size_t count, vg_element target, void *out) {
    vg_stored *array = source->arrays + index;
    size_t size = vg_element__size(array->element);
    if (array->stream && !array->held)
        return read_deflated(source, array, first, count, target, out);
    VG_TRY(vg_source__check_crc(source, index, (first + count) * size));
    const uint8_t *raw = array->held ? array->held : array->data;
    return convert(source, array, raw + first * size, first, count, target, out);
}

vg_status vg_source__hold(vg_source *source, size_t index) {
    vg_stored *array = source->arrays + index;
    if (!array->stream || array->held)
        return VG_OK;
    uint8_t *held;
    VG_TRY(vg_base__alloc(&held, array->bytes, 1, array->name));
    vg_status status = vg_inflate__read(array->stream, array->skip, held, array->bytes);
    if (status != VG_OK) {
        vg_base__release(held);
        return status;
    }
    array->held = held;
    return VG_OK;
}

/* --- rows in C order -------------------------------------------------------------------------------------------- */
/* The position in C order, within a row, of the `o`-th combination of axes 1.. counted with axis 1 fastest. */
static size_t c_position(const vg_stored *array, size_t o) {
    size_t position = 0, stride = array->count / array->shape[0];
    for (size_t axis = 1; axis < array->rank; axis++) {
        stride /= array->shape[axis];
        position += o % array->shape[axis] * stride;
        o /= array->shape[axis];
    }
    return position;
}

/* Fortran order: for each position in a row the elements of all rows lie together. They are scattered to the output. */
static vg_status read_fortran(vg_source *source, size_t index, size_t first, size_t rows, vg_element target,
                              uint8_t *out) {
    VG_TRY(vg_source__hold(source, index));
    vg_stored *array = source->arrays + index;
    size_t length = array->shape[0], row = array->count / length, width = vg_element__size(target);
    uint64_t values[1024]; /* room for any of the three target types */
    for (size_t o = 0; o < row; o++) {
        size_t position = c_position(array, o);
        for (size_t done = 0; done < rows; done += 1024) {
            size_t now = rows - done < 1024 ? rows - done : 1024;
            VG_TRY(vg_source__read(source, index, o * length + first + done, now, target, values));
            for (size_t i = 0; i < now; i++)
                memcpy(out + ((done + i) * row + position) * width, (const uint8_t *)values + i * width, width);
        }
    }
    return VG_OK;
}

static vg_status read_rows(vg_source *source, size_t index, size_t first, size_t rows, vg_element target, void *out) {
    VG_TRY(check_index(source, index));
    const vg_stored *array = source->arrays + index;
    size_t length = array->rank ? array->shape[0] : 1;
    if (first > length || rows > length - first)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: array '%.100s': rows %zu .. %zu wanted, but it has %zu",
                             source->path, array->name, first, first + rows, length);
    if (array->count == 0 || rows == 0)
        return VG_OK;
    if (array->fortran)
        return read_fortran(source, index, first, rows, target, out);
    size_t row = array->count / length;
    return vg_source__read(source, index, first * row, rows * row, target, out);
}

vg_status vg_source__read_f64(vg_source *source, size_t index, size_t first, size_t rows, double *out) {
    return read_rows(source, index, first, rows, VG_ELEMENT_F64, out);
}

vg_status vg_source__read_f32(vg_source *source, size_t index, size_t first, size_t rows, float *out) {
    return read_rows(source, index, first, rows, VG_ELEMENT_F32, out);
}

vg_status vg_source__read_i64(vg_source *source, size_t index, size_t first, size_t rows, int64_t *out) {
    return read_rows(source, index, first, rows, VG_ELEMENT_I64, out);
}

vg_status vg_source__map(vg_source *source, size_t index, const void **out) {
    *out = NULL;
    VG_TRY(check_index(source, index));
    vg_stored *array = source->arrays + index;
    if (array->stream || array->swapped || (uintptr_t)array->data % vg_element__size(array->element) != 0)
        return VG_OK;
    VG_TRY(vg_source__check_crc(source, index, array->bytes));
    *out = array->data;
    return VG_OK;
}

void vg_source__drop(vg_source *source, size_t index, size_t row) {
    if (index >= source->count)
        return;
    vg_stored *array = source->arrays + index;
    if (array->stream || array->owned || array->fortran || array->rank == 0 || array->count == 0)
        return;
    size_t length = array->shape[0], end = array->bytes / length * (row < length ? row : length);
    if (end < array->dropped) /* an earlier row was read: what was released is resident again */
        array->dropped = 0;
    vg_file__forget(&source->map, (size_t)(array->data - source->map.bytes) + array->dropped, end - array->dropped);
    array->dropped = end;
}
