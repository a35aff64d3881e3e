/* set_groups.c - names of groups as numbers: a hash table with open addressing. */
#include <string.h>

#include "evaluate/prediction_sets.h"

static uint64_t hash(const char *text) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 29;
}

/* The slot of the name, or the free one where it belongs. */
static size_t slot_of(const vg_set_groups *g, const char *name) {
    size_t at = (size_t)hash(name) & (g->slot_count - 1);
    while (g->slots[at] && strcmp(g->names[g->slots[at] - 1], name) != 0)
        at = (at + 1) & (g->slot_count - 1);
    return at;
}

static vg_status widen(vg_set_groups *g) {
    vg_set_groups more = *g;
    more.slot_count = g->slot_count ? 2 * g->slot_count : 64;
    VG_TRY(vg_base__zalloc(&more.slots, more.slot_count, sizeof *more.slots, "groups"));
    for (size_t i = 0; i < g->count; i++)
        more.slots[slot_of(&more, g->names[i])] = (uint32_t)(i + 1);
    vg_base__release(g->slots);
    *g = more;
    return VG_OK;
}

vg_status vg_set_groups__find(uint32_t *out, vg_set_groups *g, const char *name, bool add) {
    if (2 * g->count >= g->slot_count)
        VG_TRY(widen(g));
    size_t at = slot_of(g, name);
    *out = g->slots[at] ? g->slots[at] - 1 : VG_SET_NO_CELL;
    if (g->slots[at] || !add)
        return VG_OK;
    VG_TRY(vg_set__grow(&g->names, g->count, &g->room, g->count + 1, sizeof *g->names));
    VG_TRY(vg_base__strdup(&g->names[g->count], name));
    *out = (uint32_t)g->count;
    g->slots[at] = (uint32_t)++g->count;
    return VG_OK;
}

void vg_set_groups__free(vg_set_groups *g) {
    for (size_t i = 0; i < g->count; i++)
        vg_base__release(g->names[i]);
    vg_base__release(g->names);
    vg_base__release(g->slots);
    *g = (vg_set_groups){0};
}
