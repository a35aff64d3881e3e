/* strings.c - lists of texts with a hash table over them. See strings.h. */
#include "formats/strings.h"

#include <stdint.h>
#include <string.h>

#include "base/base.h"

/* Makes room for `wanted` entries of `size` bytes, at least doubling it. */
static vg_status widen(void *place, size_t *room, size_t used, size_t wanted, size_t size) {
    if (wanted <= *room)
        return VG_OK;
    void *old, *larger;
    memcpy(&old, place, sizeof old);
    size_t wider = *room > wanted / 2 ? 2 * *room : wanted < 64 ? 64 : wanted;
    VG_TRY(vg_base__alloc(&larger, wider, size, "texts"));
    if (used)
        memcpy(larger, old, used * size);
    vg_base__release(old);
    memcpy(place, &larger, sizeof larger);
    *room = wider;
    return VG_OK;
}

vg_status vg_strings__push(vg_strings *strings, const char *text, size_t length) {
    size_t end;
    if (!vg_base__add(&end, strings->used, length) || !vg_base__add(&end, end, 1))
        return vg_base__fail(VG_ERR_MEMORY, "texts do not fit in memory");
    VG_TRY(widen(&strings->bytes, &strings->room, strings->used, end, 1));
    VG_TRY(widen(&strings->starts, &strings->starts_room, strings->count, strings->count + 1, sizeof *strings->starts));
    if (length)
        memcpy(strings->bytes + strings->used, text, length);
    strings->bytes[end - 1] = '\0';
    strings->starts[strings->count++] = strings->used;
    strings->used = end;
    return VG_OK;
}

const char *vg_strings__at(const vg_strings *strings, size_t index) { return strings->bytes + strings->starts[index]; }

static bool is_at(const vg_strings *strings, size_t index, const char *text, size_t length) {
    const char *here = vg_strings__at(strings, index);
    return strlen(here) == length && memcmp(here, text, length) == 0;
}

/* The slot of the text, or the free one where it would go (FNV-1a, linear probing; the table is never full). */
static size_t slot_of(const vg_strings *strings, const char *text, size_t length) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    size_t slot = (size_t)(hash ^ hash >> 32) & (strings->slot_count - 1);
    while (strings->slots[slot] && !is_at(strings, strings->slots[slot] - 1, text, length))
        slot = (slot + 1) & (strings->slot_count - 1);
    return slot;
}

/* Makes sure that the table has more than twice as many slots as texts. Of equal texts it holds the first. */
static vg_status make_table(vg_strings *strings) {
    if (strings->slot_count > 2 * (strings->count + 1))
        return VG_OK;
    size_t wanted = 64;
    while (wanted < 4 * (strings->count + 1))
        wanted *= 2;
    size_t *slots;
    VG_TRY(vg_base__zalloc(&slots, wanted, sizeof *slots, "a table of texts"));
    vg_base__release(strings->slots);
    strings->slots = slots;
    strings->slot_count = wanted;
    for (size_t i = 0; i < strings->count; i++) {
        const char *text = vg_strings__at(strings, i);
        size_t slot = slot_of(strings, text, strlen(text));
        if (!strings->slots[slot])
            strings->slots[slot] = i + 1;
    }
    return VG_OK;
}

vg_status vg_strings__find(vg_strings *strings, const char *text, size_t length, size_t *index, bool *found) {
    VG_TRY(make_table(strings));
    size_t slot = slot_of(strings, text, length);
    *found = strings->slots[slot] != 0;
    *index = *found ? strings->slots[slot] - 1 : 0;
    return VG_OK;
}

vg_status vg_strings__intern(vg_strings *strings, const char *text, size_t length, size_t *index) {
    bool found;
    VG_TRY(vg_strings__find(strings, text, length, index, &found));
    if (found)
        return VG_OK;
    size_t slot = slot_of(strings, text, length);
    VG_TRY(vg_strings__push(strings, text, length));
    *index = strings->count - 1;
    strings->slots[slot] = strings->count;
    return VG_OK;
}

vg_status vg_strings__list(vg_strings *strings, const char *const **out) {
    if (!strings->list) {
        VG_TRY(vg_base__alloc(&strings->list, strings->count, sizeof *strings->list, "texts"));
        for (size_t i = 0; i < strings->count; i++)
            strings->list[i] = vg_strings__at(strings, i);
    }
    *out = strings->list;
    return VG_OK;
}

void vg_strings__free(vg_strings *strings) {
    vg_base__release(strings->bytes);
    vg_base__release(strings->starts);
    vg_base__release(strings->slots);
    vg_base__release(strings->list);
    *strings = (vg_strings){.bytes = NULL};
}
