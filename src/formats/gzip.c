/* gzip.c - files compressed by gzip: .csv.gz, .tsv.gz, .jsonl.gz, and the other kinds.
 *
 *     member   1f 8b, method 8, flags, time 4, extra flags, system; optional fields; deflate data; CRC-32 4, size 4
 *
 * A file is one member or several in sequence, whose contents are joined; zeros may follow (tape padding). zlib
 * reads the headers and checks each CRC and size. The content goes to an unnamed temporary file, which is mapped in
 * place of the compressed one, so that memory stays bounded and every reader works as on a plain file. Real data do
 * not reach 200 times their compressed size: a file that does, beyond 1 GiB, is refused before it fills the disk. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/source.h"

enum { STEP = 1 << 18, RATIO = 200 };
static const uint64_t GENEROUS = (uint64_t)1 << 30;

typedef struct expander {
    z_stream z;
    const vg_mapping *map;
    const char *path;
    size_t fed, dropped;
    uint64_t written;
    int fd;
    uint8_t *out;
} expander;

static void feed(expander *e) {
    size_t left = e->map->size - e->fed, now = left < STEP ? left : STEP;
    if (e->fed - e->dropped >= 64 * (size_t)STEP) {
        vg_file__forget(e->map, e->dropped, e->fed - e->dropped);
        e->dropped = e->fed;
    }
    e->z.next_in = (Bytef *)(e->map->bytes + e->fed);
    e->z.avail_in = (uInt)now;
    e->fed += now;
}

static vg_status keep(expander *e, size_t size) {
    e->written += size;
    if (e->written > GENEROUS && e->written / RATIO > e->map->size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: inflates to more than %d times its %zu bytes", e->path, RATIO,
                             e->map->size);
    return vg_file__write_all(e->fd, e->out, size, "temporary copy of a gzip file");
}

/* After a member: another one, zeros to the end of the file, or the end. */
static vg_status next_member(expander *e, bool *done) {
    size_t at = e->fed - e->z.avail_in;
    const uint8_t *rest = e->map->bytes + at;
    size_t left = e->map->size - at;
    *done = true;
    if (left >= 2 && rest[0] == 0x1f && rest[1] == 0x8b) {
        *done = false;
        return inflateReset(&e->z) == Z_OK ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "%s: cannot inflate", e->path);
    }
    for (size_t i = 0; i < left; i++)
        if (rest[i] != 0)
            return vg_base__fail(VG_ERR_FORMAT, "%s: byte %zu, after its gzip data, does not begin a gzip member",
                                 e->path, at + i);
    return VG_OK;
}

static vg_status expand(expander *e) {
    for (bool done = false; !done;) {
        if (e->z.avail_in == 0)
            feed(e);
        e->z.next_out = e->out;
        e->z.avail_out = STEP;
        bool starved = e->z.avail_in == 0;
        int result = inflate(&e->z, Z_NO_FLUSH);
        VG_TRY(keep(e, STEP - e->z.avail_out));
        if (result == Z_STREAM_END)
            VG_TRY(next_member(e, &done));
        else if (result == Z_MEM_ERROR)
            return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for inflating", e->path);
        else if (result == Z_BUF_ERROR && starved)
            return vg_base__fail(VG_ERR_FORMAT, "%s: truncated: its gzip data end after %zu bytes", e->path,
                                 e->map->size);
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return vg_base__fail(VG_ERR_FORMAT, "%s: damaged gzip data at byte %zu: %s", e->path,
                                 e->fed - e->z.avail_in, e->z.msg ? e->z.msg : "no reason given");
    }
    return VG_OK;
}

vg_status vg_gzip__expand(vg_mapping *map, const char *path) {
    expander e = {.map = map, .path = path, .fd = vg_file__temporary()};
    if (e.fd < 0)
        return vg_base__fail(VG_ERR_IO, "%s: cannot make a temporary file for its content: %s", path, strerror(errno));
    vg_status status = vg_base__alloc(&e.out, STEP, 1, "a buffer for inflating");
    bool started = false;
    if (status == VG_OK) {
        started = inflateInit2(&e.z, 15 + 16) == Z_OK;
        status = started ? expand(&e) : vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for inflating", path);
    }
    if (started)
        inflateEnd(&e.z);
    vg_base__release(e.out);
    vg_mapping content;
    if (status == VG_OK)
        status = vg_file__map_temporary(&content, e.fd, path);
    close(e.fd);
    VG_TRY(status);
    vg_file__unmap(map);
    *map = content;
    return VG_OK;
}
