/* balance.h - an epoch's samples drawn so that classes are equally frequent. Internal. */
#ifndef VG_BALANCE_H
#define VG_BALANCE_H

#include "base/random.h"
#include "vargate/status.h"

typedef struct vg_balance {
    size_t *grouped; /* the samples, those of a class together */
    size_t *starts;  /* groups + 1: where each class begins in grouped; classes without samples are left out */
    size_t groups;
} vg_balance;

/* Groups `count` samples by the label of each. */
vg_status vg_balance__new(vg_balance *out, const size_t *samples, size_t count, const int32_t *labels);
void vg_balance__free(vg_balance *balance);
/* Draws `count` samples with replacement: a class, then one of its samples, each uniformly. The same distribution as
 * PyTorch's WeightedRandomSampler with weights 1 / (samples of the class). */
void vg_balance__draw(size_t *out, size_t count, const vg_balance *balance, vg_random *random);

#endif
