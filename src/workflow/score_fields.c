/* score_fields.c - names, types and shapes of scores. See score_fields.h. */
#include "workflow/score_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "formats/arrays.h"
#include "vargate/evaluate.h"

typedef enum field_shape { PER_ENTRY, PER_GATE, PER_CLASS } field_shape;

static const struct field_facts {
    const char *name;
    size_t place; /* offset of the pointer in vg_scores */
    vg_element element;
    field_shape shape;
} facts[VG_FIELD_COUNT] = {
    [VG_FIELD_TU] = {"tu", offsetof(vg_scores, tu), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_AU] = {"au", offsetof(vg_scores, au), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_EU] = {"eu", offsetof(vg_scores, eu), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_EPCE] = {"epce", offsetof(vg_scores, epce), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_EPKL] = {"epkl", offsetof(vg_scores, epkl), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_EPJS] = {"epjs", offsetof(vg_scores, epjs), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_GMU] = {"gmu", offsetof(vg_scores, gmu), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_SNR] = {"snr", offsetof(vg_scores, snr), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_MAXPROB] = {"maxprob", offsetof(vg_scores, maxprob), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_GAP] = {"gap", offsetof(vg_scores, gap), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_TOPSTD] = {"topstd", offsetof(vg_scores, topstd), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_VOTES] = {"votes", offsetof(vg_scores, votes), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_MAXLOGIT] = {"maxlogit", offsetof(vg_scores, maxlogit), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_ENERGY] = {"energy", offsetof(vg_scores, energy), VG_ELEMENT_F64, PER_ENTRY},
    [VG_FIELD_GTU] = {"gtu", offsetof(vg_scores, gtu), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_GAU] = {"gau", offsetof(vg_scores, gau), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_GEU] = {"geu", offsetof(vg_scores, geu), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_GEPCE] = {"gepce", offsetof(vg_scores, gepce), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_GEPKL] = {"gepkl", offsetof(vg_scores, gepkl), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_GEPJS] = {"gepjs", offsetof(vg_scores, gepjs), VG_ELEMENT_F64, PER_GATE},
    [VG_FIELD_PRED] = {"pred", offsetof(vg_scores, pred), VG_ELEMENT_I32, PER_ENTRY},
    [VG_FIELD_SECOND] = {"second", offsetof(vg_scores, second), VG_ELEMENT_I32, PER_ENTRY},
    [VG_FIELD_DECISION] = {"decision", offsetof(vg_scores, decision), VG_ELEMENT_I32, PER_GATE},
    [VG_FIELD_MEAN] = {"mean", offsetof(vg_scores, mean), VG_ELEMENT_F64, PER_CLASS},
    [VG_FIELD_STD] = {"std", offsetof(vg_scores, std), VG_ELEMENT_F64, PER_CLASS},
    [VG_FIELD_FLAGS] = {"flags", offsetof(vg_scores, flags), VG_ELEMENT_U32, PER_ENTRY},
};

static const struct field_group {
    const char *name;
    vg_field_set set;
} groups[] = {
    {"all", VG_FIELDS_ALL},
    {"entropies", VG_FIELD_BIT(VG_FIELD_TU) | VG_FIELD_BIT(VG_FIELD_AU) | VG_FIELD_BIT(VG_FIELD_EU)},
    {"pairwise", VG_FIELD_BIT(VG_FIELD_EPCE) | VG_FIELD_BIT(VG_FIELD_EPKL) | VG_FIELD_BIT(VG_FIELD_EPJS)},
    {"baselines", VG_FIELDS_BASELINES & ~VG_FIELDS_OF_LOGITS},
    {"ungated", VG_FIELD_BIT(VG_FIELD_GMU) - 1},
    {"gated", VG_FIELD_BIT(VG_FIELD_PRED) - VG_FIELD_BIT(VG_FIELD_GTU)},
    {"margin", VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED) |
                   VG_FIELD_BIT(VG_FIELD_SECOND) | VG_FIELD_BIT(VG_FIELD_DECISION)},
};
enum { GROUP_COUNT = sizeof groups / sizeof *groups };

const char *vg_field__name(vg_field field) { return facts[field].name; }
vg_element vg_field__element(vg_field field) { return facts[field].element; }
bool vg_field__gated(vg_field field) { return facts[field].shape == PER_GATE; }

size_t vg_field__width(vg_field field, const vg_score_layout *layout) {
    size_t entries = layout->multilabel ? layout->c : 1;
    switch (facts[field].shape) {
    case PER_GATE: return entries * layout->k_count;
    case PER_CLASS: return layout->c;
    default: return entries;
    }
}

size_t vg_field__bytes(vg_field field, const vg_score_layout *layout) {
    return vg_field__width(field, layout) * vg_element__size(facts[field].element);
}

size_t vg_field__set_bytes(vg_field_set set, const vg_score_layout *layout) {
    size_t total = 0;
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (set & VG_FIELD_BIT(f))
            total += vg_field__bytes(f, layout);
    }
    return total;
}

size_t vg_field__shape(vg_field field, const vg_score_layout *layout, size_t shape[3]) {
    size_t rank = 0;
    shape[rank++] = layout->n;
    if (layout->multilabel || facts[field].shape == PER_CLASS)
        shape[rank++] = layout->c;
    if (facts[field].shape == PER_GATE)
        shape[rank++] = layout->k_count;
    return rank;
}

const char *vg_fields_word(size_t i) {
    if (i < VG_FIELD_COUNT)
        return facts[i].name;
    return i < VG_FIELD_COUNT + GROUP_COUNT ? groups[i - VG_FIELD_COUNT].name : NULL;
}

static vg_field_set named_set(const char *word) {
    for (int g = 0; g < GROUP_COUNT; g++) {
        if (strcmp(groups[g].name, word) == 0)
            return groups[g].set;
    }
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (strcmp(facts[f].name, word) == 0)
            return VG_FIELD_BIT(f);
    }
    return 0;
}

static vg_status unknown_word(const char *word) {
    const char *names[VG_FIELD_COUNT + GROUP_COUNT];
    for (size_t i = 0; i < VG_FIELD_COUNT + GROUP_COUNT; i++)
        names[i] = vg_fields_word(i);
    const char *near = vg_names__meant(word, names, VG_FIELD_COUNT + GROUP_COUNT);
    if (near)
        return vg_base__fail(VG_ERR_ARGUMENT, "unknown '%s'; did you mean '%s'?", word, near);
    return vg_base__fail(VG_ERR_ARGUMENT, "unknown '%s'; expected tu, gtu, pred, ... or groups: all, gated, ...", word);
}

vg_status vg_fields_parse(vg_field_set *out, const char *text) {
    VG_TRY(vg_base__given(out && text, "vg_fields_parse: out and text"));
    *out = 0;
    for (const char *p = text;; p++) {
        char word[32];
        size_t length = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), p);
        vg_field_set set = named_set(word);
        if (set == 0)
            return unknown_word(word);
        *out |= set;
        p += length;
        if (*p == '\0')
            return VG_OK;
    }
}

void vg_field__title(char out[VG_FIELD_TITLE], vg_field field, const vg_score_layout *layout, size_t k) {
    char text[VG_NAME_SIZE];
    if (facts[field].shape != PER_GATE) {
        snprintf(out, VG_FIELD_TITLE, "%s", facts[field].name);
        return;
    }
    vg_k_name(text, layout->k[k]);
    snprintf(out, VG_FIELD_TITLE, "%s@%s", facts[field].name, text);
}

static void **block_slot(vg_scores *block, vg_field field) {
    return (void **)(void *)((char *)block + facts[field].place);
}

void *vg_score_block__place(const vg_scores *block, vg_field field) {
    void *place;
    memcpy(&place, (const char *)block + facts[field].place, sizeof place);
    return place;
}

void vg_score_block__leave_out(const vg_scores *block, const vg_score_layout *layout, const uint8_t *marks,
                               size_t rows) {
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        void *place = vg_score_block__place(block, f);
        size_t width = vg_field__width(f, layout);
        if (!place || (facts[f].element != VG_ELEMENT_F64 && f != VG_FIELD_DECISION))
            continue;
        for (size_t i = 0; i < rows * width; i++) {
            if (marks[i / width] && f == VG_FIELD_DECISION)
                ((int32_t *)place)[i] = VG_DECISION_LEFT_OUT;
            else if (marks[i / width])
                ((double *)place)[i] = NAN;
        }
    }
}

vg_status vg_score_block__new(vg_scores *block, vg_field_set set, const vg_score_layout *layout, size_t rows) {
    *block = (vg_scores){0};
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (!(set & VG_FIELD_BIT(f)))
            continue;
        size_t bytes = 0;
        void *place = NULL;
        if (vg_base__mul(&bytes, rows, vg_field__bytes(f, layout)))
            place = malloc(bytes ? bytes : 1);
        if (!place) {
            vg_score_block__free(block);
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for a block of scores");
        }
        memcpy(block_slot(block, f), &place, sizeof place);
    }
    return VG_OK;
}

void vg_score_block__free(vg_scores *block) {
    for (int f = 0; f < VG_FIELD_COUNT; f++)
        free(vg_score_block__place(block, f));
    *block = (vg_scores){0};
}
