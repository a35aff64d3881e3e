/* safetensors.c - reading .safetensors.
 *
 *     offset  bytes  content
 *     0       8      length H of the header, little-endian
 *     8       H      the header, JSON:
 *                    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
 *                     "__metadata__": {"key": "text"}}
 *     8 + H   rest   the elements, C order, little-endian; data_offsets count from here
 *
 * As in the reference implementation, the tensors must fill the file exactly: no overlap, no gap, nothing left
 * over. Types that are not supported (8-bit floats) are skipped; asking for one gives the reason. */
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "formats/source.h"

enum { HEADER_LIMIT = 100000000 };

typedef struct span {
    uint64_t begin, end;
    const char *name; /* borrowed from the parsed header */
} span;

/* A type of the format. */
typedef struct tensor_type {
    const char *name;
    unsigned bits;
    int element; /* vg_element, or UNSUPPORTED: its arrays are skipped */
} tensor_type;
enum { UNSUPPORTED = -1 };

static const tensor_type *find_type(const char *name) {
    static const tensor_type known[] = {
        {"F16", 16, VG_ELEMENT_F16},  {"BF16", 16, VG_ELEMENT_BF16},   {"F32", 32, VG_ELEMENT_F32},
        {"F64", 64, VG_ELEMENT_F64},  {"I8", 8, VG_ELEMENT_I8},        {"I16", 16, VG_ELEMENT_I16},
        {"I32", 32, VG_ELEMENT_I32},  {"I64", 64, VG_ELEMENT_I64},     {"U8", 8, VG_ELEMENT_U8},
        {"U16", 16, VG_ELEMENT_U16},  {"U32", 32, VG_ELEMENT_U32},     {"U64", 64, VG_ELEMENT_U64},
        {"BOOL", 8, VG_ELEMENT_BOOL}, {"F4", 4, UNSUPPORTED},          {"F6_E2M3", 6, UNSUPPORTED},
        {"F6_E3M2", 6, UNSUPPORTED},  {"F8_E5M2", 8, UNSUPPORTED},     {"F8_E4M3", 8, UNSUPPORTED},
        {"F8_E8M0", 8, UNSUPPORTED},  {"F8_E4M3FNUZ", 8, UNSUPPORTED}, {"F8_E5M2FNUZ", 8, UNSUPPORTED},
        {"C64", 64, UNSUPPORTED}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known + i;
    return NULL;
}

/* Reads a JSON integer as a size. */
static bool size_of_json(const json_t *value, size_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uintmax_t)json_integer_value(value) > SIZE_MAX)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static vg_status wrong(const vg_source *source, const char *name, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: tensor '%.200s': %s", source->path, name, reason);
}

/* The shape, whose elements of so many bits must have `bytes` bytes. Of more axes than can be read only that is
 * checked, and the rank is VG_MAX_RANK + 1. */
static vg_status read_shape(const vg_source *source, vg_stored *array, const char *name, const json_t *shape,
                            unsigned bits, size_t bytes) {
    size_t count = 1, length = 0;
    bool empty = false, fits = true;
    array->rank = json_array_size(shape);
    for (size_t i = 0; i < array->rank; i++) {
        if (!size_of_json(json_array_get(shape, i), &length))
            return wrong(source, name, "its shape has an entry that is not a length");
        if (i < VG_MAX_RANK)
            array->shape[i] = length;
        empty |= length == 0;
        fits = fits && vg_base__mul(&count, count, length ? length : 1);
    }
    if (!fits || !vg_base__mul(&count, count, bits) || count > SIZE_MAX / 2 || (empty ? 0 : count) % 8 ||
        (empty ? 0 : count) / 8 != bytes)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: tensor '%.200s': %zu bytes, but its shape of %u-bit elements needs another number",
                             source->path, name, bytes, bits);
    array->rank = array->rank > VG_MAX_RANK ? VG_MAX_RANK + 1 : array->rank;
    return VG_OK;
}

/* Adds a tensor that has been checked, or notes why it cannot be read. */
static vg_status add_tensor(vg_source *source, const char *name, const tensor_type *type, vg_stored *about) {
    vg_stored *array;
    if (about->rank > VG_MAX_RANK)
        vg_base__fail(VG_ERR_UNSUPPORTED, "%s: tensor '%.200s': more than %d axes cannot be read", source->path, name,
                      VG_MAX_RANK);
    else if (type->element == UNSUPPORTED)
        vg_base__fail(VG_ERR_UNSUPPORTED, "%s: tensor '%.200s': type '%s' is not supported", source->path, name,
                      type->name);
    if (about->rank > VG_MAX_RANK || type->element == UNSUPPORTED)
        return vg_source__skip(source, name, strlen(name));
    const uint16_t one = 1;
    about->element = (vg_element)type->element;
    about->swapped = *(const uint8_t *)&one != 1 && vg_element__size(about->element) > 1;
    if (!vg_stored__measure(about))
        return wrong(source, name, "its shape has more elements than fit in memory");
    VG_TRY(vg_source__add(source, &array, name, strlen(name)));
    about->name = array->name;
    *array = *about;
    return VG_OK;
}

/* Reads one tensor of the header; data offsets count from `base`. */
static vg_status read_tensor(vg_source *source, const char *name, const json_t *about, size_t base, span *where) {
    const char *text = json_string_value(json_object_get(about, "dtype"));
    const json_t *shape = json_object_get(about, "shape"), *offsets = json_object_get(about, "data_offsets");
    size_t begin, end;
    if (!text || !json_is_array(shape) || !json_is_array(offsets) || json_array_size(offsets) != 2)
        return wrong(source, name, "expected \"dtype\" text, \"shape\" list and \"data_offsets\" of two numbers");
    const tensor_type *type = find_type(text);
    if (!type)
        return vg_base__fail(VG_ERR_FORMAT, "%s: tensor '%.200s': '%.40s' is not a type of safetensors", source->path,
                             name, text);
    if (!size_of_json(json_array_get(offsets, 0), &begin) || !size_of_json(json_array_get(offsets, 1), &end) ||
        begin > end)
        return wrong(source, name, "its data_offsets are not a range");
    if (end > source->map.size - base)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: tensor '%.200s': ends at byte %zu of the data, which have %zu: truncated",
                             source->path, name, end, source->map.size - base);
    *where = (span){begin, end, name};
    vg_stored found = {.data = source->map.bytes + base + begin};
    VG_TRY(read_shape(source, &found, name, shape, type->bits, end - begin));
    return add_tensor(source, name, type, &found);
}

vg_status vg_source__set_metadata(vg_source *source, const json_t *metadata) {
    if (!json_is_object(metadata))
        return vg_base__fail(VG_ERR_FORMAT, "%s: __metadata__ is not an object", source->path);
    VG_TRY(vg_base__zalloc(&source->metadata, json_object_size(metadata), sizeof *source->metadata, "metadata"));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)metadata, key, value) {
        if (!json_is_string(value))
            return vg_base__fail(VG_ERR_FORMAT, "%s: __metadata__ '%.100s' is not a text", source->path, key);
        vg_pair *pair = source->metadata + source->metadata_count++;
        VG_TRY(vg_base__strdup(&pair->key, key));
        VG_TRY(vg_base__strdup(&pair->value, json_string_value(value)));
    }
    return VG_OK;
}

static int by_begin(const void *a, const void *b) {
    const span *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->end < right->end ? -1 : left->end > right->end;
}

/* The tensors, in the order of their offsets, must follow one another and fill `size` bytes. */
static vg_status check_spans(const vg_source *source, span *spans, size_t count, size_t size) {
    if (count > 1)
        qsort(spans, count, sizeof *spans, by_begin);
    uint64_t at = 0;
    for (size_t i = 0; i < count; at = spans[i++].end)
        if (spans[i].begin != at)
            return vg_base__fail(
                VG_ERR_FORMAT,
                "%s: tensor '%.200s': begins at byte %llu of the data, but the tensor before it ends at %llu",
                source->path, spans[i].name, (unsigned long long)spans[i].begin, (unsigned long long)at);
    if (at != size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %llu bytes follow the last tensor", source->path,
                             (unsigned long long)(size - at));
    return VG_OK;
}

static vg_status read_header(vg_source *source, const json_t *header, size_t base) {
    span *spans;
    VG_TRY(vg_base__alloc(&spans, json_object_size(header), sizeof *spans, "a list of tensors"));
    vg_status status = VG_OK;
    size_t count = 0;
    const char *name;
    json_t *about;
    json_object_foreach((json_t *)header, name, about) {
        if (strcmp(name, "__metadata__") == 0)
            status = vg_source__set_metadata(source, about);
        else
            status = read_tensor(source, name, about, base, spans + count++);
        if (status != VG_OK)
            break;
    }
    if (status == VG_OK)
        status = check_spans(source, spans, count, source->map.size - base);
    vg_base__release(spans);
    return status;
}

/* Whether the header holds the number -0. It is not a valid length, but the JSON parser returns it as 0. */
static bool has_negative_zero(const char *text, size_t length) {
    bool inside = false;
    for (size_t i = 0; i + 1 < length; i++) {
        if (inside && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            inside = !inside;
        else if (!inside && text[i] == '-' && text[i + 1] == '0')
            return true;
    }
    return false;
}

vg_status vg_safetensors__read(vg_source *source) {
    const uint8_t *bytes = source->map.bytes;
    size_t size = source->map.size;
    if (size < 8)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu bytes are too few for a safetensors file", source->path, size);
    uint64_t length = vg_le64(bytes);
    if (length > HEADER_LIMIT || length > size - 8)
        return vg_base__fail(VG_ERR_FORMAT, "%s: its header of %llu bytes does not fit its %zu bytes", source->path,
                             (unsigned long long)length, size);
    json_error_t error;
    json_t *header = vg_base__json_load((const char *)bytes + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return vg_base__fail(vg_base__json_no_memory(&error) ? VG_ERR_MEMORY : VG_ERR_FORMAT,
                             "%s: its header, at byte %d: %s", source->path, 8 + error.position, error.text);
    vg_status status;
    if (!json_is_object(header))
        status = vg_base__fail(VG_ERR_FORMAT, "%s: its header is not a JSON object", source->path);
    else if (has_negative_zero((const char *)bytes + 8, (size_t)length))
        status = vg_base__fail(VG_ERR_FORMAT, "%s: its header has a negative number", source->path);
    else
        status = read_header(source, header, 8 + (size_t)length);
    json_decref(header);
    return status;
}
