/* score_tally.c - counts over blocks of scores. See score_tally.h. */
#include "workflow/score_tally.h"

vg_status vg_score_tally__new(vg_score_tally *tally, size_t k_count) {
    *tally = (vg_score_tally){0};
    VG_TRY(vg_base__zalloc(&tally->kept, 2 * k_count, sizeof *tally->kept, "the counts of decisions"));
    tally->kept_correct = tally->kept + k_count;
    return VG_OK;
}

void vg_score_tally__free(vg_score_tally *tally) {
    vg_base__release(tally->kept);
    *tally = (vg_score_tally){0};
}

void vg_score_tally__add(vg_score_tally *tally, const vg_score_layout *layout, const vg_scores *block, size_t rows,
                         const int64_t *labels) {
    size_t entries = rows * (layout->multilabel ? layout->c : 1), gates = layout->k_count;
    for (size_t i = 0; i < entries; i++) {
        if (labels && labels[i] < 0)
            continue; /* left out */
        tally->entries++;
        bool correct = labels && block->pred && block->pred[i] == labels[i];
        tally->correct += correct;
        for (size_t k = 0; block->decision && k < gates; k++) {
            int32_t decided = block->decision[i * gates + k]; /* of a kept entry its prediction, else -1 */
            tally->kept[k] += decided >= 0;
            tally->kept_correct[k] += labels && decided >= 0 && decided == labels[i];
        }
        if (block->flags) {
            tally->ties += (block->flags[i] & VG_FLAG_TIE) != 0;
            tally->gated_out += (block->flags[i] & VG_FLAG_GATED_OUT) != 0;
        }
    }
}
