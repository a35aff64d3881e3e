/* writer.c - named arrays into a new file: the calls that every kind shares, and .npy itself.
 *
 * The bytes of an array are counted against its shape. After a failed step every later call fails, and close removes
 * the file. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "base/printable.h"
#include "formats/writer.h"

static vg_status kind_of(vg_kind *kind, const char *path) {
    static const char *const extensions[] = {".npy", ".npz", ".safetensors"};
    size_t length = strlen(path);
    for (size_t i = 0; i < 3; i++) {
        size_t wanted = strlen(extensions[i]);
        if (length > wanted && strcasecmp(path + length - wanted, extensions[i]) == 0) {
            *kind = (vg_kind)i;
            return VG_OK;
        }
    }
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: arrays are written to .npy, .npz or .safetensors", path);
}

vg_status vg_writer_open(vg_writer **out, const char *path) {
    if (!out || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer_open: out and path must not be NULL");
    *out = NULL;
    vg_kind kind = VG_KIND_NPY;
    VG_TRY(kind_of(&kind, path));
    vg_writer *writer;
    VG_TRY(vg_base__zalloc(&writer, 1, sizeof *writer, "a writer"));
    writer->kind = kind;
    writer->scratch = -1;
    vg_status status = vg_output__open(&writer->output, path);
    if (status == VG_OK && kind == VG_KIND_SAFETENSORS)
        status = vg_output__scratch(&writer->scratch, writer->output);
    if (status != VG_OK) {
        vg_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return VG_OK;
}

static vg_status spoil(vg_writer *writer, vg_status status) {
    writer->failed |= status != VG_OK;
    return status;
}

static vg_status check_ready(const vg_writer *writer) {
    const char *path = vg_output__path(writer->output);
    if (writer->failed)
        return vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", path);
    if (writer->left > 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: array '%.100s' is %zu bytes short", path,
                             writer->entries[writer->count - 1].name, writer->left);
    return VG_OK;
}

/* Makes room for one more entry in a list. */
static vg_status grow(void *list, size_t *room, size_t count, size_t size) {
    if (count < *room)
        return VG_OK;
    void *old, *larger;
    memcpy(&old, list, sizeof old);
    VG_TRY(vg_base__zalloc(&larger, *room ? *room * 2 : 8, size, "a list of arrays"));
    if (count)
        memcpy(larger, old, count * size);
    vg_base__release(old);
    memcpy(list, &larger, sizeof larger);
    *room = *room ? *room * 2 : 8;
    return VG_OK;
}

static vg_status check_entry(const vg_writer *writer, const char *name, size_t rank) {
    const char *path = vg_output__path(writer->output);
    if (rank > VG_MAX_RANK)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: array '%.100s' has %zu axes, at most %d can be written", path, name,
                             rank, VG_MAX_RANK);
    if (writer->kind == VG_KIND_NPY && writer->count > 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: an .npy holds one array", path);
    if (strlen(name) > 60000)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: an array's name has %zu bytes, at most 60000 can be written", path,
                             strlen(name));
    if (writer->kind == VG_KIND_SAFETENSORS && strcmp(name, "__metadata__") == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: an array cannot be named __metadata__", path);
    return VG_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Refuses two arrays of one name. Names are checked once, after the last array, by sorting: a check at every array
 * would take quadratic time. */
static vg_status check_names(const vg_writer *writer) {
    const char **names;
    VG_TRY(vg_base__alloc(&names, writer->count, sizeof *names, "a list of names"));
    for (size_t i = 0; i < writer->count; i++)
        names[i] = writer->entries[i].name;
    if (writer->count > 1)
        qsort(names, writer->count, sizeof *names, by_name);
    vg_status status = VG_OK;
    for (size_t i = 1; i < writer->count && status == VG_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = vg_base__fail(VG_ERR_ARGUMENT, "%s: two arrays named '%.100s'", vg_output__path(writer->output),
                                   names[i]);
    vg_base__release(names);
    return status;
}

static vg_status npy_begin(vg_writer *writer, const vg_entry *entry) {
    uint8_t *header;
    size_t size;
    VG_TRY(vg_writer__header(&header, &size, entry));
    vg_status status = vg_output__write(writer->output, header, size);
    vg_base__release(header);
    return status;
}

/* Called when all bytes of the last array were written. */
static vg_status end_array(vg_writer *writer) {
    return writer->kind == VG_KIND_NPZ ? vg_npz__end(writer, writer->entries + writer->count - 1) : VG_OK;
}

/* characters > 0: an array of texts. Its last axis is the characters of a text, which the header states as part of
 * the element type. */
static vg_status begin(vg_writer *writer, const char *name, vg_element element, size_t rank, const size_t *shape,
                       size_t characters) {
    VG_TRY(check_ready(writer));
    VG_TRY(check_entry(writer, name, rank));
    vg_stored measure = {.element = element, .rank = rank};
    if (rank)
        memcpy(measure.shape, shape, rank * sizeof *shape);
    if (vg_element__size(element) == 0 || !vg_stored__measure(&measure))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: array '%.100s': its shape does not fit in memory, or its type is unknown",
                             vg_output__path(writer->output), name);
    VG_TRY(grow(&writer->entries, &writer->room, writer->count, sizeof *writer->entries));
    vg_entry *entry = writer->entries + writer->count;
    *entry = (vg_entry){.element = element, .rank = rank, .characters = characters, .bytes = measure.bytes};
    memcpy(entry->shape, measure.shape, sizeof entry->shape);
    VG_TRY(vg_base__strdup(&entry->name, name));
    writer->count++;
    writer->left = entry->bytes;
    switch (writer->kind) {
    case VG_KIND_NPY: VG_TRY(npy_begin(writer, entry)); break;
    case VG_KIND_NPZ: VG_TRY(vg_npz__begin(writer, entry)); break;
    case VG_KIND_SAFETENSORS: VG_TRY(vg_safetensors__begin(writer, entry)); break;
    }
    return writer->left == 0 ? end_array(writer) : VG_OK;
}

vg_status vg_writer__begin(vg_writer *writer, const char *name, vg_element element, size_t rank, const size_t *shape) {
    if (!writer || !name || (rank && !shape))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__begin: writer, name and shape must not be NULL");
    return spoil(writer, begin(writer, name, element, rank, shape, 0));
}

vg_status vg_writer__begin_texts(vg_writer *writer, const char *name, size_t characters, size_t count) {
    size_t shape[2] = {count, characters};
    if (writer->kind == VG_KIND_SAFETENSORS)
        return spoil(writer, vg_base__fail(VG_ERR_ARGUMENT,
                                           "%s: .safetensors cannot hold an array of texts; store them as metadata",
                                           vg_output__path(writer->output)));
    return spoil(writer, begin(writer, name, VG_ELEMENT_U32, 2, shape, characters));
}

vg_status vg_writer__header(uint8_t **out, size_t *size, const vg_entry *entry) {
    return entry->characters ? vg_npy__make_text_header(out, size, entry->characters, entry->shape[0])
                             : vg_npy__make_header(out, size, entry->element, entry->rank, entry->shape);
}

static vg_status append(vg_writer *writer, const void *bytes, size_t size) {
    if (writer->failed)
        return vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", vg_output__path(writer->output));
    if (size > writer->left)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu bytes given where the array begun takes %zu more",
                             vg_output__path(writer->output), size, writer->left);
    if (size == 0)
        return VG_OK;
    if (writer->kind == VG_KIND_SAFETENSORS) {
        VG_TRY(vg_file__write_all(writer->scratch, bytes, size, vg_output__path(writer->output)));
        writer->scratch_size += size;
    } else {
        VG_TRY(vg_output__write(writer->output, bytes, size));
    }
    if (writer->kind == VG_KIND_NPZ) {
        vg_entry *entry = writer->entries + writer->count - 1;
        entry->crc = (uint32_t)crc32_z(entry->crc, bytes, size);
    }
    writer->left -= size;
    return writer->left == 0 ? end_array(writer) : VG_OK;
}

vg_status vg_writer__append(vg_writer *writer, const void *bytes, size_t size) {
    if (!writer || (!bytes && size))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__append: writer and bytes must not be NULL");
    return spoil(writer, append(writer, bytes, size));
}

static vg_status writer_array_alone(vg_writer *writer, const char *name, vg_element element, size_t rank,
                                    const size_t *shape, const void *data) {
    VG_TRY(vg_writer__begin(writer, name, element, rank, shape));
    return vg_writer__append(writer, data, writer->left);
}

vg_status vg_writer_array(vg_writer *writer, const char *name, vg_element element, size_t rank, const size_t *shape,
                          const void *data) {
    vg_status status;
    if (!writer)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer_array: writer must not be NULL");
    VG_ALONE(status, &writer->busy, "the writer", writer_array_alone(writer, name, element, rank, shape, data));
    return status;
}

static vg_status add_metadata(vg_writer *writer, const char *key, const char *value) {
    const char *path = vg_output__path(writer->output);
    if (writer->kind == VG_KIND_NPY)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: only .npz and .safetensors keep metadata", path);
    for (size_t i = 0; i < writer->metadata_count; i++)
        if (strcmp(writer->metadata[i].key, key) == 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: metadata '%.100s' given twice", path, key);
    VG_TRY(grow(&writer->metadata, &writer->metadata_room, writer->metadata_count, sizeof *writer->metadata));
    vg_pair *pair = writer->metadata + writer->metadata_count;
    VG_TRY(vg_base__strdup(&pair->key, key));
    writer->metadata_count++;
    return vg_base__strdup(&pair->value, value);
}

vg_status vg_writer__metadata(vg_writer *writer, const char *key, const char *value) {
    if (!writer || !key || !value)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__metadata: writer, key and value must not be NULL");
    return spoil(writer, add_metadata(writer, key, value));
}

vg_status vg_writer__put_metadata(const vg_writer *writer, json_t *object) {
    const char *path = vg_output__path(writer->output);
    for (size_t i = 0; i < writer->metadata_count; i++) {
        const vg_pair *pair = &writer->metadata[i];
        if (!vg_printable__is_utf8(pair->key) || !vg_printable__is_utf8(pair->value))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: metadata '%.100s' is not UTF-8", path, pair->key);
        if (json_object_set_new(object, pair->key, json_string(pair->value)) != 0)
            return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its metadata", path);
    }
    return VG_OK;
}

static vg_status finish(vg_writer *writer) {
    VG_TRY(check_ready(writer));
    VG_TRY(check_names(writer));
    if (writer->kind == VG_KIND_NPY && writer->count == 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: an .npy holds one array, none was written",
                             vg_output__path(writer->output));
    if (writer->kind == VG_KIND_NPZ)
        VG_TRY(vg_npz__finish(writer));
    if (writer->kind == VG_KIND_SAFETENSORS)
        VG_TRY(vg_safetensors__finish(writer));
    vg_output *output = writer->output;
    writer->output = NULL;
    return vg_output__commit(output);
}

vg_status vg_writer_close(vg_writer *writer) {
    if (!writer)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer_close: writer must not be NULL");
    vg_status status = finish(writer);
    vg_writer_abandon(writer);
    return status;
}

void vg_writer_abandon(vg_writer *writer) {
    if (!writer)
        return;
    vg_output__abandon(writer->output);
    if (writer->scratch >= 0)
        close(writer->scratch);
    for (size_t i = 0; i < writer->count; i++)
        vg_base__release(writer->entries[i].name);
    for (size_t i = 0; i < writer->metadata_count; i++) {
        vg_base__release(writer->metadata[i].key);
        vg_base__release(writer->metadata[i].value);
    }
    vg_base__release(writer->metadata);
    vg_base__release(writer->entries);
    vg_base__release(writer);
}
