/* bytes.c - reads a file sequentially, decompressing gzip where its first two bytes say so (zlib's gzFile reads
 * both), and tests of paths. Sizes in a header are not trusted: deflate expands by at most 1032 times, so the
 * largest possible content is known before memory is allocated. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "data/dataset.h"

vg_status vg_bytes__open(vg_bytes *bytes, const char *path) {
    struct stat about;
    memset(bytes, 0, sizeof *bytes);
    bytes->path = path;
    if (stat(path, &about) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return vg_base__fail(VG_ERR_IO, "%s: is not a regular file", path);
    bytes->file_size = (size_t)about.st_size;
    gzFile stream = gzopen(path, "rb");
    if (!stream)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, errno ? strerror(errno) : "cannot be opened");
    gzbuffer(stream, 1u << 17);
    bytes->stream = stream;
    bytes->plain = gzdirect(stream) != 0;
    return VG_OK;
}

void vg_bytes__close(vg_bytes *bytes) {
    if (bytes->stream)
        gzclose((gzFile)bytes->stream);
    bytes->stream = NULL;
}

vg_status vg_bytes__read(vg_bytes *bytes, void *out, size_t size, size_t *got) {
    char *to = out;
    *got = 0;
    while (*got < size) {
        size_t part = size - *got < (size_t)1 << 30 ? size - *got : (size_t)1 << 30;
        int read = gzread((gzFile)bytes->stream, to + *got, (unsigned)part);
        int code = Z_OK;
        if (read < 0) {
            const char *text = gzerror((gzFile)bytes->stream, &code);
            if (code == Z_BUF_ERROR) /* a truncated gzip stream: the caller reports what was expected */
                return VG_OK;
            return vg_base__fail(code == Z_ERRNO ? VG_ERR_IO : VG_ERR_FORMAT, "%s: %s after %zu bytes", bytes->path,
                                 code == Z_ERRNO ? strerror(errno)
                                 : text && *text ? text
                                                 : "damaged gzip data",
                                 bytes->taken);
        }
        if (read == 0)
            return VG_OK;
        *got += (size_t)read;
        bytes->taken += (size_t)read;
    }
    return VG_OK;
}

vg_status vg_bytes__exactly(vg_bytes *bytes, void *out, size_t size, size_t expected) {
    size_t got;
    VG_TRY(vg_bytes__read(bytes, out, size, &got));
    if (got < size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: truncated: %zu bytes expected%s, %zu found", bytes->path, expected,
                             bytes->plain ? "" : " after unpacking", bytes->taken);
    return VG_OK;
}

vg_status vg_bytes__could_hold(const vg_bytes *bytes, size_t expected) {
    size_t most = bytes->file_size;
    if (!bytes->plain && !vg_base__mul(&most, most, 1032))
        most = SIZE_MAX;
    if (expected > most)
        return vg_base__fail(VG_ERR_FORMAT, "%s: truncated: %zu bytes expected, %s%zu found", bytes->path, expected,
                             bytes->plain ? "" : "at most ", most);
    return VG_OK;
}

vg_status vg_bytes__at_end(vg_bytes *bytes, size_t expected) {
    unsigned char extra;
    size_t got;
    int code = Z_OK;
    VG_TRY(vg_bytes__read(bytes, &extra, 1, &got));
    if (got > 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: too long: %zu bytes expected, %s%zu found", bytes->path, expected,
                             bytes->plain ? "" : "at least ", bytes->plain ? bytes->file_size : bytes->taken);
    gzerror((gzFile)bytes->stream, &code);
    if (code == Z_BUF_ERROR)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: truncated: the gzip stream breaks off after %zu bytes of data, before its checksum",
                             bytes->path, bytes->taken);
    return VG_OK;
}

bool vg_data__is_file(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

bool vg_data__is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

vg_status vg_data__join(char **out, const char *a, const char *b) {
    size_t first = strlen(a), second = strlen(b);
    VG_TRY(vg_base__alloc(out, first + second + 2, 1, "a path"));
    bool slash = first > 0 && a[first - 1] != '/' && second > 0;
    memcpy(*out, a, first);
    if (slash)
        (*out)[first++] = '/';
    memcpy(*out + first, b, second + 1);
    return VG_OK;
}

bool vg_data__ends_with(const char *text, const char *ending) {
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && strcmp(text + a - b, ending) == 0;
}
