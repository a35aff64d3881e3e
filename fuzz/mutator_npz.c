/* mutator_npz.c - the .npz target's mutator: takes the archive apart, changes one member (its .npy, its deflated bytes
 * or its name), and writes an archive whose checksums, sizes and offsets fit again. */
#include <stdbool.h>
#include <zlib.h>

#include "mutate.h"

enum { MEMBERS = 4, CONTENT = 1024, NAME = 32, LOCAL = 30, CENTRAL = 46, END = 22 };

typedef struct member {
    uint8_t name[NAME], content[CONTENT]; /* content: inflated, or as it is where `raw` */
    size_t name_length, size, declared;   /* declared: the size in the headers of a raw member */
    bool deflated, raw;
    uint32_t crc; /* of a raw member */
} member;

static uint32_t get16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t get32(const uint8_t *p) { return get16(p) | get16(p + 2) << 16; }
static void put16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static void put32(uint8_t *p, uint32_t v) { put16(p, v), put16(p + 2, v >> 16); }

static bool inflate_into(member *out, const uint8_t *packed, size_t size) {
    static z_stream z;
    static bool ready;
    if (!ready && inflateInit2(&z, -9) != Z_OK)
        return false;
    ready = true;
    inflateReset2(&z, -15);
    z.next_in = (Bytef *)(uintptr_t)packed, z.avail_in = (uInt)size;
    z.next_out = out->content, z.avail_out = CONTENT;
    bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
    out->size = CONTENT - z.avail_out;
    return whole;
}

/* Level 1 with the smallest tables, or stored blocks: these are cheap to initialise for every input. */
static size_t deflate_into(uint8_t *out, size_t room, const uint8_t *bytes, size_t size) {
    static z_stream z;
    static bool ready;
    if (!ready && deflateInit2(&z, 1, Z_DEFLATED, -9, 1, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    ready = true;
    deflateReset(&z);
    z.next_in = (Bytef *)(uintptr_t)bytes, z.avail_in = (uInt)size;
    z.next_out = out, z.avail_out = (uInt)room;
    return deflate(&z, Z_FINISH) == Z_STREAM_END ? room - z.avail_out : 0;
}

/* One member from its entry in the central directory. */
static bool take_member(member *out, const uint8_t *data, size_t size, const uint8_t *entry) {
    size_t local = get32(entry + 42), packed = get32(entry + 20), length = get16(entry + 28);
    if (local + LOCAL > size || get32(data + local) != 0x04034b50u || length > NAME)
        return false;
    size_t at = local + LOCAL + get16(data + local + 26) + get16(data + local + 28);
    if (at > size || packed > size - at)
        return false;
    memcpy(out->name, entry + CENTRAL, length);
    out->name_length = length;
    out->deflated = get16(entry + 10) == 8;
    out->declared = get32(entry + 24), out->crc = get32(entry + 16);
    out->raw = false;
    if (out->deflated && inflate_into(out, data + at, packed))
        return true;
    out->raw = out->deflated;
    if (packed > CONTENT)
        return false;
    memcpy(out->content, data + at, packed);
    out->size = packed;
    return true;
}

static size_t take_apart(member *members, const uint8_t *data, size_t size) {
    size_t count = 0;
    if (size < END || get32(data + size - END) != 0x06054b50u)
        return 0;
    size_t at = get32(data + size - 6), entries = get16(data + size - 12);
    for (size_t i = 0; i < entries && count < MEMBERS && at + CENTRAL <= size; i++) {
        if (get32(data + at) != 0x02014b50u || at + CENTRAL + get16(data + at + 28) > size)
            break;
        if (take_member(&members[count], data, size, data + at))
            count++;
        at += CENTRAL + get16(data + at + 28) + get16(data + at + 30) + get16(data + at + 32);
    }
    return count;
}

/* Writes header `fields` that the local and the central header share, at p. */
static void put_fields(uint8_t *p, const member *m, uint32_t crc, size_t packed) {
    put16(p, 20), put16(p + 2, 0), put16(p + 4, m->deflated ? 8 : 0), put32(p + 6, 0), put32(p + 10, crc);
    put32(p + 14, (uint32_t)packed), put32(p + 18, (uint32_t)(m->raw ? m->declared : m->size));
    put16(p + 22, (uint32_t)m->name_length), put16(p + 24, 0);
}

/* Writes the archive; 0 where it does not fit. */
static size_t put_together(uint8_t *out, size_t room, const member *members, size_t count) {
    uint8_t central[MEMBERS * (CENTRAL + NAME)] = {0}, packed[2 * CONTENT];
    size_t at = 0, listed = 0;
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        bool pack = m->deflated && !m->raw;
        size_t size = pack ? deflate_into(packed, sizeof packed, m->content, m->size) : m->size;
        uint32_t crc = m->raw ? m->crc : (uint32_t)crc32(0, m->content, (uInt)m->size);
        if (at + LOCAL + m->name_length + size > room)
            return 0;
        put32(out + at, 0x04034b50u);
        put_fields(out + at + 4, m, crc, size);
        memcpy(out + at + LOCAL, m->name, m->name_length);
        memcpy(out + at + LOCAL + m->name_length, pack ? packed : m->content, size);
        uint8_t *entry = central + listed;
        put32(entry, 0x02014b50u), put16(entry + 4, 20);
        put_fields(entry + 6, m, crc, size);
        put32(entry + 42, (uint32_t)at);
        memcpy(entry + CENTRAL, m->name, m->name_length);
        listed += CENTRAL + m->name_length;
        at += LOCAL + m->name_length + size;
    }
    if (at + listed + END > room)
        return 0;
    memcpy(out + at, central, listed);
    uint8_t *end = out + at + listed;
    memset(end, 0, END);
    put32(end, 0x06054b50u), put16(end + 8, (uint32_t)count), put16(end + 10, (uint32_t)count);
    put32(end + 12, (uint32_t)listed), put32(end + 16, (uint32_t)at);
    return at + listed + END;
}

static void change_member(member *m, unsigned *state) {
    static const char *const names[] = {"P.npy", "Z.npy", "L.npy", "classes.npy", "x", "images.npy", "labels.npy", ""};
    uint8_t packed[2 * CONTENT];
    const char *name;
    switch (mutate_draw(state, 8)) {
    case 0:
        name = names[mutate_draw(state, sizeof names / sizeof *names)];
        m->name_length = strlen(name);
        memcpy(m->name, name, m->name_length);
        break;
    case 1: m->deflated = !m->deflated && !m->raw; break;
    case 2: /* the deflated bytes themselves; size and checksum stay those of the content */
        if (m->deflated && !m->raw) {
            m->declared = m->size, m->crc = (uint32_t)crc32(0, m->content, (uInt)m->size);
            m->size = deflate_into(packed, CONTENT, m->content, m->size);
            memcpy(m->content, packed, m->size);
            m->raw = true;
        }
        m->size = LLVMFuzzerMutate(m->content, m->size, CONTENT);
        break;
    case 3: m->declared = m->raw ? mutate_draw(state, 4096) : m->declared; break;
    default: m->size = mutate_npy(m->content, m->size, CONTENT, *state); break;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) {
    static member members[MEMBERS];
    unsigned state = seed;
    size_t count = mutate_draw(&state, 4) ? take_apart(members, data, size) : 0;
    if (count == 0)
        return LLVMFuzzerMutate(data, size, room);
    unsigned which = mutate_draw(&state, (unsigned)count), kind = mutate_draw(&state, 16);
    if (kind == 0 && count > 1)
        members[which] = members[--count];
    else if (kind == 1 && count < MEMBERS)
        members[count++] = members[which];
    else
        change_member(&members[which], &state);
    size_t written = put_together(data, room, members, count);
    return written ? written : LLVMFuzzerMutate(data, size, room);
}
