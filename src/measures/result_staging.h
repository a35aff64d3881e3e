/* result_staging.h - where the results of a unit are: the arrays of vg_scores as a table, and a staging buffer for
 * the results of some units, from which they are copied to their arrays by whole cache lines. Internal to measures. */
#ifndef VG_MEASURES_RESULT_STAGING_H
#define VG_MEASURES_RESULT_STAGING_H

#include <stdbool.h>

#include "vargate/measures.h"

/* The arrays of one value per unit, or one for each k, from unit n on. plane: as in vg_kernel_job. mean and std, which
 * have a row of classes per sample, are left as they are. */
vg_scores vg_measures__places_at(const vg_scores *out, size_t n, size_t k, size_t plane);

/* Bytes of these results per unit, and of a staging buffer for them; false where that does not fit size_t. */
size_t vg_measures__result_bytes(const vg_scores *out, size_t k);
bool vg_measures__staging_bytes(size_t *bytes, const vg_scores *out, size_t k);

/* Units staged at once; arrays of vg_scores but mean and std. */
enum { VG_STAGING_UNITS = 64, VG_STAGING_ARRAYS = 24 };

/* The results of consecutive units on their way to their arrays. The gated ones must not lie in planes. */
typedef struct vg_staging {
    vg_scores places; /* where the next units' results are to be written; mean and std are the caller's to set */
    size_t count;     /* arrays that are asked for */
    struct vg_staged {
        char *to, *from; /* where the next byte goes; the buffer's memory for this array */
        size_t width;    /* bytes per unit */
        size_t held;     /* bytes of earlier units before `from`, fewer than a line, that have not been copied yet */
    } at[VG_STAGING_ARRAYS];
} vg_staging;

/* `memory` is aligned to 64 bytes; `out` begins at the first unit. */
void vg_staging__begin(vg_staging *staging, char *memory, const vg_scores *out, size_t k);
/* `count` <= VG_STAGING_UNITS more units have been written to `places`: copies the lines that are complete. */
void vg_staging__advance(vg_staging *staging, size_t count);
/* Copies the rest. */
void vg_staging__end(vg_staging *staging);

#endif
