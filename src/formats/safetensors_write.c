/* safetensors_write.c - writing .safetensors (layout: safetensors.c).
 *
 * The header comes first but describes every tensor, so elements are collected in a scratch file and copied after
 * the header at the end. Tensors are laid out by falling element size (in the order begun among equals), and the
 * header is padded with spaces to a multiple of 8: every tensor is then aligned to its elements. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/printable.h"
#include "formats/writer.h"

vg_status vg_safetensors__begin(vg_writer *writer, vg_entry *entry) {
    entry->offset = writer->scratch_size;
    return VG_OK;
}

static const char *type_name(vg_element element) {
    static const char *const names[] = {
        [VG_ELEMENT_F16] = "F16",  [VG_ELEMENT_BF16] = "BF16", [VG_ELEMENT_F32] = "F32", [VG_ELEMENT_F64] = "F64",
        [VG_ELEMENT_I8] = "I8",    [VG_ELEMENT_I16] = "I16",   [VG_ELEMENT_I32] = "I32", [VG_ELEMENT_I64] = "I64",
        [VG_ELEMENT_U8] = "U8",    [VG_ELEMENT_U16] = "U16",   [VG_ELEMENT_U32] = "U32", [VG_ELEMENT_U64] = "U64",
        [VG_ELEMENT_BOOL] = "BOOL"};
    return names[element];
}

static int by_size(const void *a, const void *b) {
    const vg_entry *left = *(const vg_entry *const *)a, *right = *(const vg_entry *const *)b;
    size_t left_size = vg_element__size(left->element), right_size = vg_element__size(right->element);
    if (left_size != right_size)
        return left_size > right_size ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; NULL when memory ran out. */
static json_t *describe(const vg_entry *entry, uint64_t begin) {
    json_t *shape = json_array();
    bool ok = true;
    for (size_t i = 0; i < entry->rank; i++)
        vg_base__json_add(shape, json_integer((json_int_t)entry->shape[i]), &ok);
    if (!ok) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_name(entry->element), "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + entry->bytes));
}

static vg_status build(vg_writer *writer, json_t *header, vg_entry *const *order) {
    const char *path = vg_output__path(writer->output);
    if (writer->metadata_count > 0) {
        json_t *metadata = json_object();
        if (json_object_set_new(header, "__metadata__", metadata) != 0)
            return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its header", path);
        VG_TRY(vg_writer__put_metadata(writer, metadata));
    }
    uint64_t at = 0;
    for (size_t i = 0; i < writer->count; at += order[i++]->bytes) {
        if (!vg_printable__is_utf8(order[i]->name))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: the name '%.100s' is not UTF-8", path, order[i]->name);
        if (json_object_set_new(header, order[i]->name, describe(order[i], at)) != 0)
            return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its header", path);
    }
    return VG_OK;
}

static vg_status write_header(vg_writer *writer, vg_entry *const *order) {
    const char *path = vg_output__path(writer->output);
    json_t *header = json_object();
    if (!header)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its header", path);
    vg_status status = build(writer, header, order);
    char *text = status == VG_OK ? vg_base__json_text(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (status == VG_OK && !text)
        status = vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its header", path);
    if (status == VG_OK) {
        size_t length = strlen(text), padding = (8 - length % 8) % 8;
        uint8_t size[8];
        vg_put64(size, length + padding);
        status = vg_output__write(writer->output, size, sizeof size);
        if (status == VG_OK)
            status = vg_output__write(writer->output, text, length);
        if (status == VG_OK)
            status = vg_output__write(writer->output, "        ", padding);
    }
    free(text);
    return status;
}

static vg_status copy_elements(vg_writer *writer, vg_entry *const *order) {
    const size_t step = (size_t)1 << 20;
    uint8_t *buffer;
    VG_TRY(vg_base__alloc(&buffer, step, 1, "a copy buffer"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < writer->count && status == VG_OK; i++)
        for (size_t done = 0; done < order[i]->bytes && status == VG_OK; done += step) {
            size_t now = order[i]->bytes - done < step ? order[i]->bytes - done : step;
            status = vg_file__read_at(writer->scratch, order[i]->offset + done, buffer, now,
                                      vg_output__path(writer->output));
            if (status == VG_OK)
                status = vg_output__write(writer->output, buffer, now);
        }
    vg_base__release(buffer);
    return status;
}

vg_status vg_safetensors__finish(vg_writer *writer) {
    const uint16_t one = 1;
    if (*(const uint8_t *)&one != 1)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: safetensors are written on little-endian machines only",
                             vg_output__path(writer->output));
    vg_entry **order;
    VG_TRY(vg_base__alloc(&order, writer->count, sizeof *order, "a list of tensors"));
    for (size_t i = 0; i < writer->count; i++)
        order[i] = writer->entries + i;
    if (writer->count > 1)
        qsort(order, writer->count, sizeof *order, by_size);
    vg_status status = write_header(writer, order);
    if (status == VG_OK)
        status = copy_elements(writer, order);
    vg_base__release(order);
    return status;
}
