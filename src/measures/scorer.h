/* scorer.h - functions of the scorer for the library's own modules. Internal. */
#ifndef VG_MEASURES_SCORER_H
#define VG_MEASURES_SCORER_H

#include <stdbool.h>

#include "vargate/measures.h"

/* Copies the caller's options to `out`, completes those of an older, smaller struct by the defaults, and checks them
 * for predictions of m members and c classes. */
vg_status vg_measures__take_options(vg_score_options *out, const vg_score_options *given, size_t m, size_t c);

/* Layout of the six gated measures in the blocks to come. plane = 0, the default: interleaved, out->gtu[i * K + k].
 * Otherwise one plane for each k, out->gtu[k * plane + i]. Decisions are always interleaved. */
void vg_scorer__set_planes(vg_scorer *scorer, size_t plane);

/* The memory for the gated predictive distributions of the next blocks, [n][K][C]; NULL: they are not written.
 * Multiclass only. The other results may then differ from those without in the last bits. */
void vg_scorer__set_gated_means(vg_scorer *scorer, double *place);

/* Samples of the next block that the summary leaves out: those whose mark is not 0. NULL: none. Multiclass on the CPU
 * only; borrowed until the block is fed. */
void vg_scorer__set_left_out(vg_scorer *scorer, const uint8_t *marks);

/* The number of the next sample, as messages name it: a caller that feeds several files begins each at 0. Summaries of
 * the scorer divide by the number of samples, so such a caller asks for none. */
void vg_scorer__count_from(vg_scorer *scorer, unsigned long long sample);

/* VG_ERR_ARGUMENT, saying what is wrong, unless `out` is not NULL and the block has M members, C classes and data of a
 * known type. */
vg_status vg_measures__check_block(const vg_scores *out, const vg_predictions *block, size_t m, size_t c);

/* Whether the ks of the classes lie so far apart that the members' normalisers may too. The float form of the integral
 * of EPJS scales all members by the smallest normaliser, and would lose digits. */
bool vg_measures__wide_gates(const vg_score_options *options);

/* A larger k counts as this one: the measures have settled long before, and beyond it p Gamma underflows in float. */
#define VG_SCORE_K_MOST 1e15

#endif
