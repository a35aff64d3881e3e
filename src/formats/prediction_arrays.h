/* prediction_arrays.h - which array of a file holds the predictions, or which arrays, one per member. Internal to
 * formats. */
#ifndef VG_PREDICTION_ARRAYS_H
#define VG_PREDICTION_ARRAYS_H

#include "formats/source.h"

typedef struct vg_prediction_arrays {
    size_t index;  /* the array, or the first member's */
    /* the members' arrays (N, C), or as the axes say, all of one shape and order; NULL: one array holds all members */
    size_t *parts;
    size_t count;  /* of parts */
} vg_prediction_arrays;

/* `key` NULL: by the usual names. Else the name of an array, names separated by commas, or "prefix*": the arrays of
 * the members. `labels_key` (or NULL) is never taken for predictions. `axes` (or NULL) gives their number of axes.
 * What is ambiguous is refused with the option to give. out->parts is released by the caller. */
vg_status vg_prediction_arrays__choose(vg_prediction_arrays *out, const vg_source *source, const char *key,
                                       const char *labels_key, const char *axes);
/* Whether an array of that name holds logits. */
bool vg_prediction_arrays__are_logits(const char *name);

extern const char *const vg_prediction_class_keys[]; /* arrays of the classes' names; ends with NULL */
extern const char *const vg_prediction_id_keys[];    /* arrays of the samples' ids */

#endif
