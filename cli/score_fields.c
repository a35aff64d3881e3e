/* score_fields.c - names, types and shapes of scores. See score_fields.h. */
#include "score_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_options.h"
#include "console.h"
#include "vargate/evaluate.h"

typedef enum field_shape { PER_ENTRY, PER_GATE, PER_CLASS } field_shape;

static const struct field_facts {
    const char *name;
    size_t place; /* of the pointer in vg_scores */
    vg_element element;
    field_shape shape;
} facts[FIELD_COUNT] = {
    [FIELD_TU] = {"tu", offsetof(vg_scores, tu), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_AU] = {"au", offsetof(vg_scores, au), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_EU] = {"eu", offsetof(vg_scores, eu), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_EPCE] = {"epce", offsetof(vg_scores, epce), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_EPKL] = {"epkl", offsetof(vg_scores, epkl), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_EPJS] = {"epjs", offsetof(vg_scores, epjs), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_GMU] = {"gmu", offsetof(vg_scores, gmu), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_SNR] = {"snr", offsetof(vg_scores, snr), VG_ELEMENT_F64, PER_ENTRY},
    [FIELD_GTU] = {"gtu", offsetof(vg_scores, gtu), VG_ELEMENT_F64, PER_GATE},
    [FIELD_GAU] = {"gau", offsetof(vg_scores, gau), VG_ELEMENT_F64, PER_GATE},
    [FIELD_GEU] = {"geu", offsetof(vg_scores, geu), VG_ELEMENT_F64, PER_GATE},
    [FIELD_GEPCE] = {"gepce", offsetof(vg_scores, gepce), VG_ELEMENT_F64, PER_GATE},
    [FIELD_GEPKL] = {"gepkl", offsetof(vg_scores, gepkl), VG_ELEMENT_F64, PER_GATE},
    [FIELD_GEPJS] = {"gepjs", offsetof(vg_scores, gepjs), VG_ELEMENT_F64, PER_GATE},
    [FIELD_PRED] = {"pred", offsetof(vg_scores, pred), VG_ELEMENT_I32, PER_ENTRY},
    [FIELD_SECOND] = {"second", offsetof(vg_scores, second), VG_ELEMENT_I32, PER_ENTRY},
    [FIELD_DECISION] = {"decision", offsetof(vg_scores, decision), VG_ELEMENT_I32, PER_GATE},
    [FIELD_MEAN] = {"mean", offsetof(vg_scores, mean), VG_ELEMENT_F64, PER_CLASS},
    [FIELD_STD] = {"std", offsetof(vg_scores, std), VG_ELEMENT_F64, PER_CLASS},
    [FIELD_FLAGS] = {"flags", offsetof(vg_scores, flags), VG_ELEMENT_U32, PER_ENTRY},
};

static const struct field_group {
    const char *name;
    score_set set;
} groups[] = {
    {"all", SCORE_ALL},
    {"entropies", SCORE_BIT(FIELD_TU) | SCORE_BIT(FIELD_AU) | SCORE_BIT(FIELD_EU)},
    {"pairwise", SCORE_BIT(FIELD_EPCE) | SCORE_BIT(FIELD_EPKL) | SCORE_BIT(FIELD_EPJS)},
    {"ungated", SCORE_BIT(FIELD_GMU) - 1},
    {"gated", SCORE_BIT(FIELD_PRED) - SCORE_BIT(FIELD_GTU)},
    {"margin",
     SCORE_BIT(FIELD_GMU) | SCORE_BIT(FIELD_SNR) | SCORE_BIT(FIELD_PRED) | SCORE_BIT(FIELD_SECOND) | SCORE_BIT(FIELD_DECISION)},
};
enum { GROUP_COUNT = sizeof groups / sizeof *groups };

const char *score_field_name(score_field field) { return facts[field].name; }
vg_element score_field_element(score_field field) { return facts[field].element; }
bool score_field_gated(score_field field) { return facts[field].shape == PER_GATE; }

size_t score_field_width(score_field field, const score_layout *layout) {
    size_t entries = layout->multilabel ? layout->c : 1;
    switch (facts[field].shape) {
    case PER_GATE: return entries * layout->k_count;
    case PER_CLASS: return layout->c;
    default: return entries;
    }
}

size_t score_field_bytes(score_field field, const score_layout *layout) {
    return score_field_width(field, layout) * vg_element_size(facts[field].element);
}

size_t score_set_bytes(score_set set, const score_layout *layout) {
    size_t total = 0;
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (set & SCORE_BIT(f))
            total += score_field_bytes(f, layout);
    }
    return total;
}

size_t score_field_shape(score_field field, const score_layout *layout, size_t shape[3]) {
    size_t rank = 0;
    shape[rank++] = layout->n;
    if (layout->multilabel || facts[field].shape == PER_CLASS)
        shape[rank++] = layout->c;
    if (facts[field].shape == PER_GATE)
        shape[rank++] = layout->k_count;
    return rank;
}

static int unknown_measure(const char *word) {
    const char *names[FIELD_COUNT + GROUP_COUNT];
    for (int f = 0; f < FIELD_COUNT; f++)
        names[f] = facts[f].name;
    for (int g = 0; g < GROUP_COUNT; g++)
        names[FIELD_COUNT + g] = groups[g].name;
    const char *near = options_nearest(word, names, FIELD_COUNT + GROUP_COUNT);
    if (near)
        return console_usage("--measures: unknown '%s'; did you mean '%s'?", word, near);
    return console_usage("--measures: unknown '%s'; 'vargate help %s' lists them", word, console_command());
}

static score_set named_set(const char *word) {
    for (int g = 0; g < GROUP_COUNT; g++) {
        if (strcmp(groups[g].name, word) == 0)
            return groups[g].set;
    }
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (strcmp(facts[f].name, word) == 0)
            return SCORE_BIT(f);
    }
    return 0;
}

int score_set_parse(const char *text, score_set *out) {
    *out = 0;
    for (const char *p = text;; p++) {
        char word[32];
        size_t length = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), p);
        score_set set = named_set(word);
        if (set == 0)
            return unknown_measure(word);
        *out |= set;
        p += length;
        if (*p == '\0')
            return CLI_OK;
    }
}

void score_name(char out[SCORE_NAME], score_field field, const score_layout *layout, size_t k) {
    char text[VG_NAME_SIZE];
    if (facts[field].shape != PER_GATE) {
        snprintf(out, SCORE_NAME, "%s", facts[field].name);
        return;
    }
    vg_k_name(text, layout->k[k]);
    snprintf(out, SCORE_NAME, "%s@%s", facts[field].name, text);
}

static void **block_slot(vg_scores *block, score_field field) { return (void **)(void *)((char *)block + facts[field].place); }

void *score_block_place(const vg_scores *block, score_field field) {
    void *place;
    memcpy(&place, (const char *)block + facts[field].place, sizeof place);
    return place;
}

bool score_block_new(vg_scores *block, score_set set, const score_layout *layout, size_t rows) {
    *block = (vg_scores){0};
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (!(set & SCORE_BIT(f)))
            continue;
        size_t bytes = 0;
        void *place = NULL;
        if (!__builtin_mul_overflow(rows, score_field_bytes(f, layout), &bytes))
            place = malloc(bytes ? bytes : 1);
        if (!place) {
            score_block_free(block);
            return false;
        }
        memcpy(block_slot(block, f), &place, sizeof place);
    }
    return true;
}

void score_block_free(vg_scores *block) {
    for (int f = 0; f < FIELD_COUNT; f++)
        free(score_block_place(block, f));
    *block = (vg_scores){0};
}
