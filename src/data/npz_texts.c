/* npz_texts.c - texts in an .npz. The member's header is that of an .npy whose descr is '<U8' (eight UTF-32 code points
 * a text) or
 * '|S8' (eight bytes); it is read as the header of an array of numbers of the same layout. */
#include "data/npz_texts.h"

#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "base/file.h"
#include "formats/source.h"

enum { MOST_CHARACTERS = 4096 };

typedef struct layout {
    char kind; /* 'U' or 'S' */
    bool swapped;
    size_t characters, count;
} layout;

/* Rewrites 'descr': '<U8' to '<u4' (or '|u1') in a copy of the header, and says what it was. */
static bool take_descr(uint8_t *header, size_t size, layout *l) {
    static const char key[] = "'descr': '";
    for (size_t i = 10; i + sizeof key + 4 < size; i++) {
        if (memcmp(header + i, key, sizeof key - 1) != 0)
            continue;
        uint8_t *type = header + i + sizeof key - 1, *end = memchr(type, '\'', size - i - sizeof key);
        if (!end || end - type < 3 || (type[1] != 'U' && type[1] != 'S'))
            return false;
        l->kind = (char)type[1];
        l->swapped = type[0] == '>';
        for (const uint8_t *d = type + 2; d < end; d++) {
            if (*d < '0' || *d > '9' || l->characters > MOST_CHARACTERS)
                return false;
            l->characters = 10 * l->characters + (size_t)(*d - '0');
        }
        memset(type, ' ', (size_t)(end - type) + 1);
        memcpy(type, l->kind == 'U' ? "<u4'" : "|u1'", 4);
        return l->characters > 0 && l->characters <= MOST_CHARACTERS;
    }
    return false;
}

static vg_status read_layout(layout *l, bool *found, const uint8_t *bytes, size_t size, size_t *start,
                             const char *path) {
    uint8_t *header;
    vg_stored array = {0};
    *found = false;
    VG_TRY(vg_npy__header_size(start, bytes, size, path));
    if (*start > size)
        return vg_base__fail(VG_ERR_FORMAT, "%s: ends inside the header of an array of texts", path);
    VG_TRY(vg_base__alloc(&header, *start, 1, "an .npy header"));
    memcpy(header, bytes, *start);
    vg_status status = VG_OK;
    if (take_descr(header, *start, l)) {
        status = vg_npy__header(&array, header, *start, path);
        size_t width = l->characters * (l->kind == 'U' ? 4 : 1), wanted = 0;
        bool list = array.rank == 1 || (array.rank == 2 && array.shape[1] == 1);
        if (status == VG_OK && (!list || !vg_base__mul(&wanted, array.shape[0], width) || wanted != size - *start))
            status = vg_base__fail(VG_ERR_FORMAT, "%s: an array of texts of shape (N) expected, with %zu bytes each",
                                   path, width);
        l->count = status == VG_OK ? array.shape[0] : 0;
        *found = status == VG_OK;
    }
    vg_base__release(header);
    return status;
}

/* UTF-8 of one code point; returns its bytes. */
static size_t put_utf8(char *to, uint32_t c) {
    if (c >= 0xd800 && (c < 0xe000 || c > 0x10ffff))
        c = 0xfffd;
    size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[bytes] | c);
    return bytes;
}

/* One text: its code points up to the first zero, without spaces at the end. */
static vg_status take_text(char **out, const layout *l, const uint8_t *from) {
    char text[4 * MOST_CHARACTERS + 1];
    size_t length = 0;
    for (size_t i = 0; i < l->characters; i++) {
        uint32_t c = from[i];
        if (l->kind == 'U') {
            const uint8_t *p = from + 4 * i;
            c = l->swapped ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : vg_le32(p);
        }
        if (c == 0)
            break;
        if (l->kind == 'S')
            text[length++] = (char)c;
        else
            length += put_utf8(text + length, c);
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = 0;
    return vg_base__strdup(out, text);
}

static vg_status take_member(vg_texts *out, bool *found, const uint8_t *bytes, size_t size, const char *path) {
    layout l = {0};
    size_t start = 0;
    VG_TRY(read_layout(&l, found, bytes, size, &start, path));
    if (!*found)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&out->items, l.count + 1, sizeof *out->items, "texts"));
    out->count = l.count;
    for (size_t i = 0; i < l.count; i++)
        VG_TRY(take_text(&out->items[i], &l, bytes + start + i * l.characters * (l.kind == 'U' ? 4 : 1)));
    return VG_OK;
}

static vg_status inflate_member(vg_texts *out, bool *found, const vg_mapping *map, const vg_member *member,
                                const char *path) {
    vg_inflate *stream;
    uint8_t *bytes;
    VG_TRY(vg_inflate__new(&stream, map, member, path));
    vg_status status = vg_base__alloc(&bytes, (size_t)member->size, 1, "texts");
    if (status == VG_OK) {
        status = vg_inflate__read(stream, 0, bytes, (size_t)member->size);
        if (status == VG_OK)
            status = take_member(out, found, bytes, (size_t)member->size, path);
        vg_base__release(bytes);
    }
    vg_inflate__free(stream);
    return status;
}

static vg_status read_zip(vg_texts *out, bool *found, const vg_mapping *map, const char *path, const char *name) {
    vg_member *members;
    size_t count, length = strlen(name);
    VG_TRY(vg_zip__list(&members, &count, map->bytes, map->size, path));
    vg_status status = VG_OK;
    for (size_t i = 0; i < count && status == VG_OK && !*found; i++) {
        const vg_member *m = &members[i];
        if (m->name_length != length + 4 || memcmp(m->name, name, length) != 0 ||
            memcmp(m->name + length, ".npy", 4) != 0)
            continue;
        if (m->deflated)
            status = inflate_member(out, found, map, m, path);
        else if (crc32_z(0, map->bytes + m->data, (size_t)m->size) != m->crc)
            status = vg_base__fail(VG_ERR_FORMAT, "%s: array '%.100s' is damaged: its checksum is wrong", path, name);
        else
            status = take_member(out, found, map->bytes + m->data, (size_t)m->size, path);
    }
    vg_base__release(members);
    return status;
}

vg_status vg_npz_texts__read(vg_texts *out, bool *found, const char *path, const char *name) {
    vg_mapping map;
    *out = (vg_texts){0};
    *found = false;
    VG_TRY(vg_file__map(&map, path));
    vg_status status = read_zip(out, found, &map, path, name);
    vg_file__unmap(&map);
    if (status != VG_OK)
        vg_npz_texts__free(out);
    return status;
}

void vg_npz_texts__free(vg_texts *texts) {
    for (size_t i = 0; texts->items && i < texts->count; i++)
        vg_base__release(texts->items[i]);
    vg_base__release(texts->items);
    *texts = (vg_texts){0};
}
