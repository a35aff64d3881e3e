/* disagreement.h - the share of pairs of members whose most probable classes differ. Internal to measures.
 *
 * Finding the largest of C values in every member of every sample would cost a noticeable part of a scoring run, so
 * a stream is thinned: all of the first `base` samples count, then every second of as many, every fourth of twice as
 * many, and so on, each with the weight of the samples it represents. Only a sample's position in the stream
 * decides, so results do not depend on blocks or threads. */
#ifndef VG_MEASURES_DISAGREEMENT_H
#define VG_MEASURES_DISAGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/measures.h"

/* The number of samples that a stream of (M, C) predictions counts before it is thinned: a power of two, fewer for
 * large samples. */
size_t vg_disagreement__base(size_t m, size_t c);
/* The first sample from `index` of a stream on that counts, and its weight. */
unsigned long long vg_disagreement__next(unsigned long long index, size_t base, double *weight);

/* Elements of workspace, uint32_t, that a caller of vg_disagreement__sample needs; zeroed before the first call. False
 * when they do not fit size_t. */
_Bool vg_disagreement__room(size_t *room, size_t m, size_t c);
/* Share of the pairs of distinct members that name different classes on sample n (ties: the lower index); 0 for M = 1.
 * Works on logits and on probabilities: neither a softmax nor a temperature moves a member's largest class. */
double vg_disagreement__sample(const vg_predictions *in, size_t n, uint32_t *work);
/* The same from the members' most probable classes. `named`: C, zero between calls. */
double vg_disagreement__of_tops(const uint32_t *tops, size_t members, uint32_t *named);
/* The same for one label of a multilabel sample: whether members lie above `half` (0 for logits, 1/2 for
 * probabilities). */
double vg_disagreement__label(const vg_predictions *in, size_t n, size_t label, double half);

/* The variation ratio of samples first .. first + count - 1: the share of members that do not name the class that most
 * of them name. The same workspace. */
void vg_disagreement__votes(double *votes, const vg_predictions *in, size_t first, size_t count, uint32_t *work);
/* The same for one label of a multilabel sample. */
double vg_disagreement__label_votes(const vg_predictions *in, size_t n, size_t label, double half);

#endif
