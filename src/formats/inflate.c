/* inflate.c - a deflated zip member read forward, in bounded memory.
 *
 * The stream never gives more than the member's declared size. More data, an early end, input left over and a wrong
 * CRC-32 are errors. Deflate expands at most 1032 times, so a larger declared size is refused at once. */
#include <string.h>
#include <zlib.h>

#include "formats/source.h"

enum { INPUT_STEP = 1 << 20, SKIP_STEP = 1 << 16 };

struct vg_inflate {
    z_stream z;
    bool started, finished; /* finished: the end and the CRC were checked */
    const vg_mapping *map;
    const uint8_t *packed;
    size_t packed_size, fed; /* bytes given to zlib */
    size_t size, position;   /* declared bytes, bytes returned so far */
    uint32_t expected;
    uint32_t sum;
    size_t dropped;
    char *what;
    uint8_t skip[SKIP_STEP];
};

vg_status vg_inflate__new(vg_inflate **out, const vg_mapping *map, const vg_member *member, const char *what) {
    *out = NULL;
    if (member->size / 1032 > member->packed_size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %llu deflated bytes cannot hold the %llu declared", what,
                             (unsigned long long)member->packed_size, (unsigned long long)member->size);
    if (member->size > SIZE_MAX / 2)
        return vg_base__fail(VG_ERR_FORMAT, "%s: its declared size does not fit in memory", what);
    vg_inflate *stream;
    VG_TRY(vg_base__zalloc(&stream, 1, sizeof *stream, "an inflater"));
    vg_status status = vg_base__strdup(&stream->what, what);
    if (status == VG_OK && inflateInit2(&stream->z, -15) != Z_OK)
        status = vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for inflating", what);
    else
        stream->started = status == VG_OK;
    if (status != VG_OK) {
        vg_inflate__free(stream);
        return status;
    }
    stream->map = map;
    stream->packed = map->bytes + member->data;
    stream->packed_size = (size_t)member->packed_size;
    stream->size = (size_t)member->size;
    stream->expected = member->crc;
    stream->sum = (uint32_t)crc32(0, NULL, 0);
    *out = stream;
    return VG_OK;
}

void vg_inflate__free(vg_inflate *stream) {
    if (!stream)
        return;
    if (stream->started)
        inflateEnd(&stream->z);
    vg_base__release(stream->what);
    vg_base__release(stream);
}

static vg_status restart(vg_inflate *stream) {
    if (inflateReset(&stream->z) != Z_OK)
        return vg_base__fail(VG_ERR_MEMORY, "%s: cannot inflate again from its start", stream->what);
    stream->z.avail_in = 0;
    stream->fed = stream->position = stream->dropped = 0;
    stream->finished = false;
    stream->sum = (uint32_t)crc32(0, NULL, 0);
    return VG_OK;
}

/* Gives zlib more input, and releases the pages that it has consumed. */
static void feed(vg_inflate *stream) {
    size_t left = stream->packed_size - stream->fed, now = left < INPUT_STEP ? left : INPUT_STEP;
    size_t start = (size_t)(stream->packed - stream->map->bytes);
    if (stream->fed - stream->dropped >= 16 * (size_t)INPUT_STEP) {
        vg_file__forget(stream->map, start + stream->dropped, stream->fed - stream->dropped);
        stream->dropped = stream->fed;
    }
    vg_file__prefetch(stream->map, start + stream->fed, 4 * (size_t)INPUT_STEP);
    stream->z.next_in = (Bytef *)(stream->packed + stream->fed);
    stream->z.avail_in = (uInt)now;
    stream->fed += now;
}

/* Inflates at most `room` bytes: *got of them; *end is true when the deflate stream ended. */
static vg_status step(vg_inflate *stream, uint8_t *out, size_t room, size_t *got, bool *end) {
    if (stream->z.avail_in == 0)
        feed(stream);
    uInt now = room < (1u << 30) ? (uInt)room : 1u << 30;
    stream->z.next_out = out;
    stream->z.avail_out = now;
    int result = inflate(&stream->z, Z_NO_FLUSH);
    *got = now - stream->z.avail_out;
    *end = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for inflating", stream->what);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return vg_base__fail(VG_ERR_FORMAT, "%s: damaged deflate data at byte %zu of %zu: %s", stream->what,
                             stream->fed - stream->z.avail_in, stream->packed_size,
                             stream->z.msg ? stream->z.msg : "no reason given");
    if (result == Z_BUF_ERROR && *got == 0 && stream->z.avail_in == 0 && stream->fed == stream->packed_size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: its deflate data end after %zu bytes, %zu expected", stream->what,
                             stream->position, stream->size);
    return VG_OK;
}

/* Called when all declared bytes were returned: the stream must end here too, and the CRC must match. */
static vg_status finish(vg_inflate *stream) {
    bool end = stream->finished;
    while (!end) {
        uint8_t extra;
        size_t got;
        VG_TRY(step(stream, &extra, 1, &got, &end));
        if (got > 0)
            return vg_base__fail(VG_ERR_FORMAT, "%s: inflates to more than the %zu bytes declared", stream->what,
                                 stream->size);
    }
    if (stream->z.avail_in != 0 || stream->fed != stream->packed_size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: its deflate data end before the %zu bytes declared", stream->what,
                             stream->packed_size);
    if (stream->sum != stream->expected)
        return vg_base__fail(VG_ERR_FORMAT, "%s: CRC-32 is %08x, expected %08x", stream->what, (unsigned)stream->sum,
                             (unsigned)stream->expected);
    stream->finished = true;
    return VG_OK;
}

static vg_status advance(vg_inflate *stream, uint8_t *out, size_t size) {
    while (size > 0) {
        size_t got;
        bool end;
        VG_TRY(step(stream, out, size, &got, &end));
        stream->sum = (uint32_t)crc32_z(stream->sum, out, got);
        stream->position += got;
        out += got;
        size -= got;
        if (end && stream->position < stream->size)
            return vg_base__fail(VG_ERR_FORMAT, "%s: inflates to %zu bytes, expected %zu", stream->what,
                                 stream->position, stream->size);
        if (end) {
            if (stream->z.avail_in != 0 || stream->fed != stream->packed_size)
                return vg_base__fail(VG_ERR_FORMAT, "%s: its deflate data end before the %zu bytes declared",
                                     stream->what, stream->packed_size);
            stream->finished = true; /* the CRC follows in finish() */
        }
    }
    return VG_OK;
}

vg_status vg_inflate__read(vg_inflate *stream, size_t offset, void *out, size_t size) {
    if (offset > stream->size || size > stream->size - offset)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu bytes wanted at %zu, but it declares %zu", stream->what, size,
                             offset, stream->size);
    if (offset < stream->position)
        VG_TRY(restart(stream));
    while (stream->position < offset) {
        size_t left = offset - stream->position;
        VG_TRY(advance(stream, stream->skip, left < SKIP_STEP ? left : SKIP_STEP));
    }
    VG_TRY(advance(stream, out, size));
    return stream->position == stream->size ? finish(stream) : VG_OK;
}
