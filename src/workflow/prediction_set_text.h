/* prediction_set_text.h - prediction sets as JSON: figures, and thresholds in a file. Internal. */
#ifndef VG_WORKFLOW_PREDICTION_SET_TEXT_H
#define VG_WORKFLOW_PREDICTION_SET_TEXT_H

#include "evaluate/prediction_sets.h"

/* Words of scores and of cells, in the order of the enums; NULL past the last. */
const char *vg_sets__score_word(size_t i);
const char *vg_sets__by_word(size_t i);

/* The figures as a table, or the shares that are answered automatically and left to a person; freed with vg_free. */
vg_status vg_sets__table(char **out, const vg_sets *sets, bool decisions);
/* Writes the thresholds, beside and renamed. */
vg_status vg_sets__save(vg_sets_data *sets, const char *path);
/* Makes an object from such a file; `options` says how predictions are read. */
vg_status vg_sets__load(vg_sets_data **out, const vg_sets_options *options);

#endif
