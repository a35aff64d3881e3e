/* tfevents.c - TensorBoard event files: TFRecords of small protobuf messages.
 *
 *   record   u64 length | u32 masked CRC32C of those 8 bytes | length bytes | u32 masked CRC32C of them; little endian
 *   masked   ((crc >> 15) | (crc << 17)) + 0xa282ead8
 *   Event    1: double wall_time, 2: int64 step, 3: string file_version ("brain.Event:2", of the first record alone),
 *            5: Summary
 *   Summary  1: Value, repeated
 *   Value    1: string tag, 2: float simple_value */
#include "formats/tfevents.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

enum { MESSAGE = 4096, TAG = 100 };

struct vg_events {
    FILE *file;
    char path[4200];
};

/* A protobuf message that is being written. Its buffer holds VG_EVENT_SCALARS values of the longest tags. */
typedef struct message {
    unsigned char bytes[MESSAGE];
    size_t length;
} message;

static uint32_t crc32c(const unsigned char *bytes, size_t count) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

static uint32_t masked(const unsigned char *bytes, size_t count) {
    uint32_t crc = crc32c(bytes, count);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static void little_endian(unsigned char *out, uint64_t value, int count) {
    for (int i = 0; i < count; i++)
        out[i] = (unsigned char)(value >> (8 * i));
}

/* --- protobuf */

static void put_bytes(message *m, const void *bytes, size_t count) {
    if (count > sizeof m->bytes - m->length)
        return;
    memcpy(m->bytes + m->length, bytes, count);
    m->length += count;
}

static void put_varint(message *m, uint64_t value) {
    do {
        unsigned char byte = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        put_bytes(m, &byte, 1);
        value >>= 7;
    } while (value);
}

/* The wire types: 0 varint, 1 eight bytes, 2 a length and bytes, 5 four bytes. */
static void put_key(message *m, unsigned field, unsigned type) { put_varint(m, field << 3 | type); }

static void put_double(message *m, unsigned field, double value) {
    uint64_t bits;
    unsigned char bytes[8];
    memcpy(&bits, &value, sizeof bits);
    little_endian(bytes, bits, 8);
    put_key(m, field, 1);
    put_bytes(m, bytes, sizeof bytes);
}

static void put_float(message *m, unsigned field, float value) {
    uint32_t bits;
    unsigned char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    little_endian(bytes, bits, 4);
    put_key(m, field, 5);
    put_bytes(m, bytes, sizeof bytes);
}

static void put_part(message *m, unsigned field, const void *bytes, size_t count) {
    put_key(m, field, 2);
    put_varint(m, count);
    put_bytes(m, bytes, count);
}

/* --- records */

static vg_status write_record(vg_events *e, const message *m) {
    unsigned char head[12], tail[4];
    little_endian(head, m->length, 8);
    little_endian(head + 8, masked(head, 8), 4);
    little_endian(tail, masked(m->bytes, m->length), 4);
    if (fwrite(head, 1, sizeof head, e->file) != sizeof head || fwrite(m->bytes, 1, m->length, e->file) != m->length ||
        fwrite(tail, 1, sizeof tail, e->file) != sizeof tail || fflush(e->file) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", e->path, strerror(errno));
    return VG_OK;
}

vg_status vg_events__open(vg_events **out, const char *path) {
    static const char version[] = "brain.Event:2";
    vg_events *e;
    message m = {.length = 0};
    *out = NULL;
    VG_TRY(vg_base__zalloc(&e, 1, sizeof *e, "an event file"));
    snprintf(e->path, sizeof e->path, "%s", path);
    e->file = fopen(path, "wb");
    vg_status status = e->file ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    put_double(&m, 1, 0);
    put_part(&m, 3, version, sizeof version - 1);
    if (status == VG_OK)
        status = write_record(e, &m);
    if (status == VG_OK)
        *out = e;
    else
        vg_events__close(e);
    return status;
}

vg_status vg_events__write(vg_events *e, double wall_time, int64_t step, const vg_event_scalar *scalars, size_t count) {
    message event = {.length = 0}, summary = {.length = 0};
    if (count > VG_EVENT_SCALARS)
        return vg_base__fail(VG_ERR_ARGUMENT, "an event of %zu scalars, expected at most %d", count, VG_EVENT_SCALARS);
    for (size_t i = 0; i < count; i++) {
        message value = {.length = 0};
        size_t length = strlen(scalars[i].tag);
        put_part(&value, 1, scalars[i].tag, length < TAG ? length : TAG);
        put_float(&value, 2, scalars[i].value);
        put_part(&summary, 1, value.bytes, value.length);
    }
    put_double(&event, 1, wall_time);
    put_key(&event, 2, 0);
    put_varint(&event, (uint64_t)step);
    put_part(&event, 5, summary.bytes, summary.length);
    return write_record(e, &event);
}

vg_status vg_events__close(vg_events *e) {
    vg_status status = VG_OK;
    if (e && e->file && fclose(e->file) != 0)
        status = vg_base__fail(VG_ERR_IO, "%s: %s", e->path, strerror(errno));
    vg_base__release(e);
    return status;
}
