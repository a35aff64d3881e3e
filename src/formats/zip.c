/* zip.c - the parts of the zip format that .npz needs: directory, stored and deflated members, zip64, data descriptors.
 *
 * All numbers are little-endian; the number after a field is its size in bytes.
 *
 *     record           signature  fields
 *     local header     PK\3\4     version 2, flags 2, method 2, time 4, crc 4, packed size 4, size 4, name length 2,
 *                                 extra length 2; then name, extra field, the member's bytes, and with flag bit 3 a
 *                                 data descriptor
 *     central entry    PK\1\2     made by 2, version 2, flags 2, method 2, time 4, crc 4, packed size 4, size 4,
 *                                 name length 2, extra length 2, comment length 2, disk 2, attributes 2 + 4,
 *                                 offset of the local header 4; then name, extra field, comment
 *     zip64 end        PK\6\6     record size 8, made by 2, version 2, disk 4, disk 4, entries 8, entries 8,
 *                                 directory size 8, directory offset 8
 *     zip64 locator    PK\6\7     disk 4, offset of the zip64 end 8, disks 4
 *     end              PK\5\6     disk 2, disk 2, entries 2, entries 2, directory size 4, directory offset 4,
 *                                 comment length 2; then comment
 *
 * A size or offset of 0xffffffff is in the zip64 extra field (id 1) instead, which holds the fields so marked in
 * the order size, packed size, offset. The central directory is the authority; each local header must agree with it,
 * and no two members may overlap. */
#include <stdlib.h>
#include <string.h>

#include "formats/source.h"

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, VERSION = 63 };

typedef struct archive {
    const uint8_t *bytes;
    size_t size;
    const char *path;
    size_t entries, directory, directory_size; /* count, offset, bytes */
} archive;

static vg_status find_end(const archive *zip, size_t *at) {
    if (zip->size < END)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu bytes are too few for a zip file", zip->path, zip->size);
    size_t lowest = zip->size > END + 65535 ? zip->size - END - 65535 : 0;
    for (size_t i = zip->size - 4 + 1; i-- > lowest;)
        if (memcmp(zip->bytes + i, "PK\5\6", 4) == 0) { /* the last one counts, also where a comment holds it */
            if (i > zip->size - END || i + END + vg_le16(zip->bytes + i + 20) != zip->size)
                break;
            *at = i;
            return VG_OK;
        }
    return vg_base__fail(VG_ERR_FORMAT, "%s: no end-of-directory record: truncated, or not a zip file", zip->path);
}

/* Reads the end records, and checks that the directory lies in the file before them. */
static vg_status read_end(archive *zip) {
    size_t end = 0;
    VG_TRY(find_end(zip, &end));
    const uint8_t *p = zip->bytes + end;
    uint64_t disk = vg_le16(p + 4), disk2 = vg_le16(p + 6), here = vg_le16(p + 8), entries = vg_le16(p + 10);
    uint64_t bytes = vg_le32(p + 12), offset = vg_le32(p + 16);
    if (end >= LOCATOR && memcmp(p - LOCATOR, "PK\6\7", 4) == 0) {
        uint64_t at = vg_le64(p - LOCATOR + 8);
        if (end - LOCATOR < END64 || at > end - LOCATOR - END64 || memcmp(zip->bytes + at, "PK\6\6", 4) != 0)
            return vg_base__fail(VG_ERR_FORMAT, "%s: no zip64 end record at offset %llu, where its locator says",
                                 zip->path, (unsigned long long)at);
        p = zip->bytes + at;
        disk = vg_le32(p + 16), disk2 = vg_le32(p + 20), here = vg_le64(p + 24), entries = vg_le64(p + 32);
        bytes = vg_le64(p + 40), offset = vg_le64(p + 48);
        end = (size_t)at;
    }
    if (disk != 0 || disk2 != 0 || here != entries)
        return vg_base__fail(VG_ERR_FORMAT, "%s: zip files in several parts cannot be read", zip->path);
    if (offset > end || bytes != end - offset)
        return vg_base__fail(VG_ERR_FORMAT, "%s: zip directory of %llu bytes at %llu, but its end record is at %zu",
                             zip->path, (unsigned long long)bytes, (unsigned long long)offset, end);
    if (entries > bytes / CENTRAL)
        return vg_base__fail(VG_ERR_FORMAT, "%s: zip directory of %llu bytes cannot hold %llu entries", zip->path,
                             (unsigned long long)bytes, (unsigned long long)entries);
    zip->entries = (size_t)entries, zip->directory = (size_t)offset, zip->directory_size = (size_t)bytes;
    return VG_OK;
}

/* Whether an extra field consists of whole parts: id 2, size 2, then so many bytes. Up to 3 bytes may be left over, as
 * other readers allow. */
static bool whole_extra(const uint8_t *extra, size_t length) {
    while (length >= 4) {
        size_t size = vg_le16(extra + 2);
        if (size > length - 4)
            return false;
        extra += 4 + size, length -= 4 + size;
    }
    return true;
}

/* Replaces each of the `count` values that is 0xffffffff by the next one of the zip64 extra field. */
static bool widen(uint64_t *const values[], size_t count, const uint8_t *extra, size_t length) {
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += *values[i] == 0xffffffffu;
    if (wanted == 0)
        return true;
    while (length >= 4) {
        size_t id = vg_le16(extra), size = vg_le16(extra + 2);
        if (size > length - 4)
            return false;
        if (id == 1) {
            if (size < 8 * wanted)
                return false;
            const uint8_t *p = extra + 4;
            for (size_t i = 0; i < count; i++)
                if (*values[i] == 0xffffffffu)
                    *values[i] = vg_le64(p), p += 8;
            return true;
        }
        extra += 4 + size, length -= 4 + size;
    }
    return false;
}

static vg_status wrong(const archive *zip, const vg_member *member, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: zip member '%.*s': %s", zip->path,
                         (int)(member->name_length > 200 ? 200 : member->name_length), member->name, reason);
}

/* Compares the local header with the central entry, and finds the member's bytes. */
static vg_status check_local(const archive *zip, vg_member *member, unsigned flags, unsigned method) {
    if (member->header > zip->directory || zip->directory - member->header < LOCAL)
        return wrong(zip, member, "its local header lies outside the file");
    const uint8_t *p = zip->bytes + member->header;
    size_t room = zip->directory - member->header, name = vg_le16(p + 26), extra = vg_le16(p + 28);
    if (memcmp(p, "PK\3\4", 4) != 0)
        return wrong(zip, member, "no local header where the directory says");
    if (LOCAL + name + extra > room)
        return wrong(zip, member, "its local header runs into the directory");
    bool same_code = ((vg_le16(p + 6) ^ flags) & 0x800) == 0; /* UTF-8 or not */
    if (name != member->name_length || memcmp(p + LOCAL, member->name, name) != 0 || !same_code)
        return wrong(zip, member, "its local header has another name");
    if (vg_le16(p + 8) != method || (vg_le16(p + 6) & 1))
        return wrong(zip, member, "its local header has another method");
    uint64_t crc = vg_le32(p + 14), packed = vg_le32(p + 18), size = vg_le32(p + 22);
    bool later = flags & 8 && vg_le16(p + 6) & 8; /* sizes follow the data */
    if (!widen((uint64_t *const[]){&size, &packed}, 2, p + LOCAL + name, extra) && !later)
        return wrong(zip, member, "its local header lacks the zip64 sizes");
    bool same = crc == member->crc && packed == member->packed_size && size == member->size;
    if (!same && !(later && crc == 0))
        return wrong(zip, member, "its local header has another size or CRC");
    if (member->packed_size > room - LOCAL - name - extra)
        return wrong(zip, member, "its bytes run into the directory");
    member->data = member->header + LOCAL + name + extra;
    return VG_OK;
}

static vg_status read_entry(const archive *zip, vg_member *member, size_t *at, size_t index) {
    size_t room = zip->directory + zip->directory_size - *at;
    const uint8_t *p = zip->bytes + *at;
    if (room < CENTRAL || memcmp(p, "PK\1\2", 4) != 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: zip directory entry %zu at offset %zu is not one", zip->path, index,
                             *at);
    size_t name = vg_le16(p + 28), extra = vg_le16(p + 30), comment = vg_le16(p + 32);
    if (name + extra + comment > room - CENTRAL)
        return vg_base__fail(VG_ERR_FORMAT, "%s: zip directory entry %zu at offset %zu is cut short", zip->path, index,
                             *at);
    unsigned flags = vg_le16(p + 8), method = vg_le16(p + 10);
    uint64_t header = vg_le32(p + 42);
    *member = (vg_member){.name = (const char *)p + CENTRAL,
                          .name_length = name,
                          .deflated = method == 8,
                          .crc = vg_le32(p + 16),
                          .packed_size = vg_le32(p + 20),
                          .size = vg_le32(p + 24)};
    if (!whole_extra(p + CENTRAL + name, extra))
        return wrong(zip, member, "its directory entry has a damaged extra field");
    if (memchr(member->name, 0, name))
        return wrong(zip, member, "its name has a zero byte");
    if (!widen((uint64_t *const[]){&member->size, &member->packed_size, &header}, 3, p + CENTRAL + name, extra))
        return wrong(zip, member, "its directory entry lacks the zip64 sizes");
    if (flags & 0x41)
        return wrong(zip, member, "is encrypted");
    if (flags & 0x20 || vg_le16(p + 6) > VERSION)
        return wrong(zip, member, "needs a newer reader of zip files");
    if (method != 0 && method != 8)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: zip member '%.*s': compression method %u, expected 0 (stored) or 8 (deflated)",
                             zip->path, (int)(name > 200 ? 200 : name), member->name, method);
    if (method == 0 && member->packed_size != member->size)
        return wrong(zip, member, "is stored, but its two sizes differ");
    member->header = header > zip->size ? zip->size : (size_t)header;
    *at += CENTRAL + name + extra + comment;
    return check_local(zip, member, flags, method);
}

static int by_offset(const void *a, const void *b) {
    size_t left = ((const vg_member *)a)->header, right = ((const vg_member *)b)->header;
    return left < right ? -1 : left > right;
}

vg_status vg_zip__list(vg_member **out, size_t *count, const uint8_t *bytes, size_t size, const char *path) {
    archive zip = {bytes, size, path, 0, 0, 0};
    *out = NULL, *count = 0;
    VG_TRY(read_end(&zip));
    vg_member *members;
    VG_TRY(vg_base__zalloc(&members, zip.entries, sizeof *members, "a zip directory"));
    vg_status status = VG_OK;
    size_t at = zip.directory;
    for (size_t i = 0; i < zip.entries && status == VG_OK; i++)
        status = read_entry(&zip, members + i, &at, i);
    if (status == VG_OK && at != zip.directory + zip.directory_size)
        status = vg_base__fail(VG_ERR_FORMAT, "%s: zip directory of %zu bytes, but its %zu entries have %zu", path,
                               zip.directory_size, zip.entries, at - zip.directory);
    if (status == VG_OK && zip.entries > 1) {
        qsort(members, zip.entries, sizeof *members, by_offset);
        for (size_t i = 1; i < zip.entries && status == VG_OK; i++)
            if (members[i].header < members[i - 1].data + members[i - 1].packed_size)
                status = wrong(&zip, members + i, "overlaps another member");
    }
    if (status != VG_OK) {
        vg_base__release(members);
        return status;
    }
    *out = members, *count = zip.entries;
    return VG_OK;
}
