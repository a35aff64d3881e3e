/* npz.c - NumPy's .npz: a zip file whose members are .npy files, stored or deflated; member P.npy is the array P.
 *
 * Members that are not .npy files, or hold types that are not supported (strings, objects), are skipped; asking for
 * one gives the reason. */
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "formats/source.h"

/* A deflated member: its header is inflated here, its elements when they are read. */
static vg_status deflated_header(vg_source *source, vg_stored *array, const vg_member *member, const char *what,
                                 size_t *header) {
    VG_TRY(vg_inflate__new(&array->stream, &source->map, member, what));
    uint8_t first[12];
    size_t some = member->size < sizeof first ? (size_t)member->size : sizeof first;
    VG_TRY(vg_inflate__read(array->stream, 0, first, some));
    VG_TRY(vg_npy__header_size(header, first, some, what));
    if (*header > member->size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends after %llu bytes, inside its .npy header of %zu", what,
                             (unsigned long long)member->size, *header);
    uint8_t *text;
    VG_TRY(vg_base__alloc(&text, *header, 1, "an .npy header"));
    memcpy(text, first, some);
    vg_status status = some < *header ? vg_inflate__read(array->stream, some, text + some, *header - some) : VG_OK;
    if (status == VG_OK)
        status = vg_npy__header(array, text, *header, what);
    vg_base__release(text);
    array->skip = *header;
    return status;
}

static vg_status stored_header(vg_source *source, vg_stored *array, const vg_member *member, const char *what,
                               size_t *header) {
    const uint8_t *bytes = source->map.bytes + member->data;
    VG_TRY(vg_npy__header(array, bytes, (size_t)member->size, what));
    VG_TRY(vg_npy__header_size(header, bytes, (size_t)member->size, what));
    array->has_crc = true;
    array->crc = member->crc;
    array->data = bytes + *header;
    array->skip = *header;
    return VG_OK;
}

static vg_status read_member(vg_source *source, const vg_member *member) {
    char what[512];
    size_t length = member->name_length;
    snprintf(what, sizeof what, "%.300s: member '%.*s'", source->path, (int)(length > 160 ? 160 : length),
             member->name);
    if (length < 4 || memcmp(member->name + length - 4, ".npy", 4) != 0) {
        vg_base__fail(VG_ERR_FORMAT, "%s is not an .npy file", what);
        return vg_source__skip(source, member->name, length);
    }
    length -= 4;
    vg_stored *array;
    VG_TRY(vg_source__add(source, &array, member->name, length));
    size_t header = 0;
    vg_status status = member->deflated ? deflated_header(source, array, member, what, &header)
                                        : stored_header(source, array, member, what, &header);
    if (status == VG_ERR_UNSUPPORTED) {
        vg_inflate__free(array->stream);
        vg_base__release(array->name);
        source->count--;
        return vg_source__skip(source, member->name, length);
    }
    VG_TRY(status);
    if (member->size - header != array->bytes)
        return vg_base__fail(
            VG_ERR_FORMAT, "%s: %s: %llu bytes follow its .npy header, expected %zu for %zu elements of %s", what,
            member->size - header < array->bytes ? "truncated" : "has bytes left over",
            (unsigned long long)(member->size - header), array->bytes, array->count, vg_element__name(array->element));
    /* The elements of an empty array are never read, so its header is checked now. */
    return array->bytes == 0 ? vg_source__check_crc(source, (size_t)(array - source->arrays), 0) : VG_OK;
}

/* The archive's comment, when it is a JSON object of texts: metadata that npz_write.c put there. Any other comment
 * is ignored. vg_zip__list has checked the end record; the comment follows it. */
static vg_status read_comment(vg_source *source) {
    const uint8_t *bytes = source->map.bytes;
    size_t size = source->map.size, lowest = size > 22 + 65535 ? size - 22 - 65535 : 0, at = size - 22;
    while (at > lowest && (memcmp(bytes + at, "PK\5\6", 4) != 0 || at + 22 + vg_le16(bytes + at + 20) != size))
        at--;
    json_error_t error = {.line = 0};
    json_t *object = vg_base__json_load((const char *)bytes + at + 22, size - at - 22, 0, &error);
    if (vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its comment", source->path);
    bool texts = json_is_object(object) && json_object_size(object) > 0;
    const char *key;
    json_t *value;
    if (texts)
        json_object_foreach(object, key, value) texts &= json_is_string(value);
    vg_status status = texts ? vg_source__set_metadata(source, object) : VG_OK;
    json_decref(object);
    return status;
}

vg_status vg_npz__read(vg_source *source) {
    vg_member *members;
    size_t count;
    VG_TRY(vg_zip__list(&members, &count, source->map.bytes, source->map.size, source->path));
    vg_status status = VG_OK;
    for (size_t i = 0; i < count && status == VG_OK; i++)
        status = read_member(source, members + i);
    vg_base__release(members);
    return status == VG_OK ? read_comment(source) : status;
}
