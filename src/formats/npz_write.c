/* npz_write.c - an .npz of stored members (layout: zip.c).
 *
 * A member's size is known when it begins; its CRC is put into the local header when its last byte is written. An
 * extra field of padding makes the elements start at a multiple of 64 in the file, so that a mapped file can be used
 * in place. Sizes or offsets of 4 GiB and more, and more than 65,534 members, use the zip64 records; smaller files
 * have none. Times are fixed, so the same arrays give the same bytes. Metadata are a JSON object in the archive's
 * comment. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/json_text.h"
#include "formats/writer.h"

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, ZIP64_LOCAL = 20 };
static const uint64_t LARGE = 0xffffffffu;

/* The fields that local header and central entry share, from the version to the length of the name. */
static void put_common(uint8_t *p, const vg_entry *entry, bool large) {
    vg_put16(p, large ? 45 : 20);
    vg_put16(p + 2, 0x0800);     /* names are UTF-8 */
    vg_put16(p + 4, 0);          /* stored */
    vg_put32(p + 6, 0x00210000); /* 1980-01-01 00:00 */
    vg_put32(p + 10, entry->crc);
    vg_put32(p + 14, large ? 0xffffffffu : (uint32_t)entry->size);
    vg_put32(p + 18, large ? 0xffffffffu : (uint32_t)entry->size);
    vg_put16(p + 22, (uint32_t)(strlen(entry->name) + 4));
}

vg_status vg_npz__begin(vg_writer *writer, vg_entry *entry) {
    uint8_t *header;
    size_t size, name = strlen(entry->name);
    VG_TRY(vg_writer__header(&header, &size, entry));
    entry->offset = vg_output__position(writer->output);
    entry->size = (uint64_t)size + entry->bytes;
    entry->crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), header, size);
    bool large = entry->size >= LARGE;
    uint8_t local[LOCAL + ZIP64_LOCAL + 4 + 64] = "PK\3\4";
    size_t extra = large ? ZIP64_LOCAL : 0;
    uint64_t data = entry->offset + LOCAL + name + 4 + extra + 4;
    size_t padding = (size_t)((64 - data % 64) % 64);
    put_common(local + 4, entry, large);
    vg_put16(local + 28, (uint32_t)(extra + 4 + padding));
    uint8_t *p = local + LOCAL;
    if (large) {
        vg_put16(p, 1), vg_put16(p + 2, 16);
        vg_put64(p + 4, entry->size), vg_put64(p + 12, entry->size);
        p += ZIP64_LOCAL;
    }
    vg_put16(p, 0xd935), vg_put16(p + 2, (uint32_t)padding); /* the id that zipalign uses for padding */
    vg_status status = vg_output__write(writer->output, local, LOCAL);
    if (status == VG_OK)
        status = vg_output__write(writer->output, entry->name, name);
    if (status == VG_OK)
        status = vg_output__write(writer->output, ".npy", 4);
    if (status == VG_OK)
        status = vg_output__write(writer->output, local + LOCAL, extra + 4 + padding);
    if (status == VG_OK)
        status = vg_output__write(writer->output, header, size);
    vg_base__release(header);
    return status;
}

vg_status vg_npz__end(vg_writer *writer, vg_entry *entry) {
    uint8_t crc[4];
    vg_put32(crc, entry->crc);
    return vg_output__patch(writer->output, entry->offset + 14, crc, sizeof crc);
}

static vg_status write_central(vg_writer *writer, const vg_entry *entry) {
    uint8_t record[CENTRAL] = "PK\1\2", extra[28];
    bool large = entry->size >= LARGE, far = entry->offset >= LARGE;
    size_t extra_size = 4 + (large ? 16 : 0) + (far ? 8 : 0);
    if (!large && !far)
        extra_size = 0;
    vg_put16(record + 4, 3 << 8 | 45); /* made by: Unix */
    put_common(record + 6, entry, large);
    vg_put16(record + 6, large || far ? 45 : 20);
    vg_put16(record + 30, (uint32_t)extra_size);
    vg_put32(record + 38, 0100644u << 16); /* a plain file, rw-r--r-- */
    vg_put32(record + 42, far ? 0xffffffffu : (uint32_t)entry->offset);
    vg_put16(extra, 1), vg_put16(extra + 2, (uint32_t)extra_size - 4);
    if (large)
        vg_put64(extra + 4, entry->size), vg_put64(extra + 12, entry->size);
    if (far)
        vg_put64(extra + (large ? 20 : 4), entry->offset);
    VG_TRY(vg_output__write(writer->output, record, CENTRAL));
    VG_TRY(vg_output__write(writer->output, entry->name, strlen(entry->name)));
    VG_TRY(vg_output__write(writer->output, ".npy", 4));
    return vg_output__write(writer->output, extra, extra_size);
}

/* The archive's comment: the metadata as a JSON object; NULL without any. The caller frees it. */
static vg_status make_comment(char **out, const vg_writer *writer) {
    *out = NULL;
    if (writer->metadata_count == 0)
        return VG_OK;
    const char *path = vg_output__path(writer->output);
    json_t *metadata = json_object();
    vg_status status = vg_writer__put_metadata(writer, metadata);
    *out = status == VG_OK ? vg_base__json_text(metadata, JSON_COMPACT) : NULL;
    json_decref(metadata);
    VG_TRY(status);
    if (!*out)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its metadata", path);
    size_t size = strlen(*out);
    if (size <= 0xffff)
        return VG_OK;
    free(*out);
    *out = NULL;
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu bytes of metadata, an .npz keeps at most 65535", path, size);
}

vg_status vg_npz__finish(vg_writer *writer) {
    uint64_t start = vg_output__position(writer->output), count = writer->count;
    for (size_t i = 0; i < writer->count; i++)
        VG_TRY(write_central(writer, writer->entries + i));
    uint64_t end = vg_output__position(writer->output), size = end - start;
    if (count >= 0xffff || size >= LARGE || start >= LARGE) {
        uint8_t record[END64 + LOCATOR] = "PK\6\6";
        vg_put64(record + 4, END64 - 12);
        vg_put16(record + 12, 3 << 8 | 45), vg_put16(record + 14, 45);
        vg_put64(record + 24, count), vg_put64(record + 32, count);
        vg_put64(record + 40, size), vg_put64(record + 48, start);
        memcpy(record + END64, "PK\6\7", 4);
        vg_put64(record + END64 + 8, end), vg_put32(record + END64 + 16, 1);
        VG_TRY(vg_output__write(writer->output, record, sizeof record));
    }
    uint8_t record[END] = "PK\5\6";
    vg_put16(record + 8, count < 0xffff ? (uint32_t)count : 0xffff),
        vg_put16(record + 10, count < 0xffff ? (uint32_t)count : 0xffff);
    vg_put32(record + 12, size < LARGE ? (uint32_t)size : 0xffffffffu);
    vg_put32(record + 16, start < LARGE ? (uint32_t)start : 0xffffffffu);
    char *comment = NULL;
    VG_TRY(make_comment(&comment, writer));
    vg_put16(record + 20, comment ? (uint32_t)strlen(comment) : 0);
    vg_status status = vg_output__write(writer->output, record, END);
    if (status == VG_OK && comment)
        status = vg_output__write(writer->output, comment, strlen(comment));
    free(comment);
    return status;
}
