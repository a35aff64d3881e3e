/* tarball.c - extracts chosen regular files from a tar archive (ustar, and plain files of the GNU and pax formats).
 *
 *     512-byte header   offset   0  name[100]
 *                              124  size[12], octal
 *                              148  checksum[8], octal: sum of the header's bytes, with this field read as spaces
 *                              156  type, '0' or NUL for a regular file
 *     data, padded to 512; the archive ends with zero blocks
 *
 * Only the last component of a name is used and the caller chooses the path, so that no member can write elsewhere. */
#include "data/tarball.h"

#include <string.h>

#include "base/file.h"
#include "data/dataset.h"

enum { BLOCK = 512 };

/* Reads an octal field; false if it is not one. */
static bool octal(uint64_t *out, const char *field, size_t size) {
    size_t i = 0;
    *out = 0;
    while (i < size && field[i] == ' ')
        i++;
    size_t digits = 0;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++, digits++)
        *out = *out << 3 | (uint64_t)(field[i] - '0');
    return digits > 0 && digits < 21 && (i == size || field[i] == '\0' || field[i] == ' ');
}

static bool sound(const char header[BLOCK]) {
    uint64_t expected, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    return octal(&expected, header + 148, 8) && expected == sum;
}

static vg_status copy_member(vg_bytes *bytes, uint64_t size, const char *target) {
    vg_output *output;
    char block[16384];
    VG_TRY(vg_output__open(&output, target));
    vg_status status = VG_OK;
    for (uint64_t left = size; status == VG_OK && left > 0;) {
        size_t part = left < sizeof block ? (size_t)left : sizeof block;
        status = vg_bytes__exactly(bytes, block, part, bytes->taken + (size_t)left);
        if (status == VG_OK)
            status = vg_output__write(output, block, part);
        left -= part;
    }
    if (status != VG_OK) {
        vg_output__abandon(output);
        return status;
    }
    return vg_output__commit(output);
}

static vg_status skip(vg_bytes *bytes, uint64_t size) {
    char block[16384];
    while (size > 0) {
        size_t part = size < sizeof block ? (size_t)size : sizeof block;
        VG_TRY(vg_bytes__exactly(bytes, block, part, bytes->taken + (size_t)size));
        size -= part;
    }
    return VG_OK;
}

static vg_status extract(vg_bytes *bytes, vg_tarball_choose choose, void *context) {
    char header[BLOCK], name[101];
    for (;;) {
        size_t got;
        uint64_t size;
        VG_TRY(vg_bytes__read(bytes, header, BLOCK, &got));
        if (got == 0 || (got == BLOCK && header[0] == '\0'))
            return VG_OK;
        if (got < BLOCK || !sound(header) || !octal(&size, header + 124, 12))
            return vg_base__fail(VG_ERR_FORMAT, "%s: damaged tar header at byte %zu", bytes->path, bytes->taken - got);
        memcpy(name, header, 100);
        name[100] = '\0';
        const char *base = strrchr(name, '/');
        base = base ? base + 1 : name;
        bool regular = header[156] == '0' || header[156] == '\0';
        const char *target = regular && *base ? choose(context, base) : NULL;
        VG_TRY(target ? copy_member(bytes, size, target) : skip(bytes, size));
        VG_TRY(skip(bytes, (BLOCK - size % BLOCK) % BLOCK));
    }
}

vg_status vg_tarball__extract(const char *path, vg_tarball_choose choose, void *context) {
    vg_bytes bytes;
    VG_TRY(vg_bytes__open(&bytes, path));
    vg_status status = extract(&bytes, choose, context);
    vg_bytes__close(&bytes);
    return status;
}
