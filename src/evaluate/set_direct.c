/* set_direct.c - values of samples: means that the scorer wrote, or probabilities of one member in place. See
 * prediction_sets.h.
 *
 * The mean over one member is that member, so that a set needs one read of the array and no mean. A row that is not
 * clearly a distribution is left to the scorer, which reports the error. */
#include <math.h>
#include <string.h>

#include "evaluate/prediction_sets.h"

bool vg_sets__reads_directly(const vg_sets_data *s, const vg_predictions *block) {
    const vg_score_options *o = &s->scoring;
    return block->m == 1 && block->stride_c == 1 && (block->dtype == VG_F32 || block->dtype == VG_F64) && !o->logits &&
           !o->renormalise && o->floor_form != VG_FLOOR_CLAMP && o->task == VG_TASK_MULTICLASS &&
           isnan(s->shown.gate) && s->rule.score != VG_SET_SNR;
}

const double *vg_sets__values(const vg_sets_data *s, const vg_sets_piece *piece, size_t i, vg_set_room *room) {
    const vg_predictions *block = piece->direct;
    size_t C = s->shown.classes;
    if (!block)
        return (s->gated ? s->gated : s->mean) + i * C;
    ptrdiff_t at = (ptrdiff_t)i * block->stride_n;
    if (block->dtype == VG_F32)
        return s->rule.kernels->widen(room->row, (const float *)block->data + at, C) ? room->row : NULL;
    const double *row = (const double *)block->data + at;
    return s->rule.kernels->is_distribution(row, C) ? row : NULL;
}

bool vg_sets__floats(vg_set_floats *out, const vg_sets_data *s, const vg_sets_piece *piece, size_t first, size_t rows) {
    const vg_predictions *block = piece->direct;
    const vg_set_places *places = piece->out;
    bool plain = block && !s->sites && block->dtype == VG_F32 && s->rule.score == VG_SET_LAC &&
                 s->shown.by == VG_SETS_BY_NONE && s->shown.classes <= VG_SET_FLOATS &&
                 !(places && (places->pred || places->p_value || places->value || s->shown.never_empty));
    if (plain)
        *out = (vg_set_floats){(const float *)block->data + (ptrdiff_t)first * block->stride_n, block->stride_n, rows,
                               s->shown.classes};
    return plain;
}

float vg_sets__float_bound(double threshold) {
    uint32_t low = 0,
             high = UINT32_C(0x40000000); /* the bits of 0 and of 2; positive floats are ordered like their bits */
    float found;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(&found, &middle, sizeof found);
        *(1 - (double)found <= threshold ? &high : &low) = 1 - (double)found <= threshold ? middle : middle + 1;
    }
    memcpy(&found, &low, sizeof found);
    return low == UINT32_C(0x40000000) ? INFINITY : found;
}
