/* prediction_set_rows.h - prediction sets in a file, block by block. Internal.
 *
 *     .npz, .safetensors   id, pred (N), size (N, A), mask (N, A, B) as of vg_set_places, set_class with the classes of
 *                          all sets one after the other, set_start (N A + 1) where each begins, alpha (A), threshold
 *                          (A, cells), classes (names) and with p-values p_value (N, C)
 *     .csv                 id, pred, and for every alpha decision, size, set (and set_names), with "@ALPHA" after the
 *                          names where there are several alphas; classes of a set by falling probability, separated
 *                          by spaces (names: semicolons); p_0, p_1, ...
 *     .jsonl               {"id", "pred", "sets": [{"alpha", "decision", "size", "classes", "names"}], "p_values"}
 *
 * decision is the class of a set that holds one, else -1; of a site that is left out it is -2, and size is -1.
 * Multilabel files have neither pred nor decision. Arrays are kept in memory until all sets are there; rows of text are
 * written at once. */
#ifndef VG_WORKFLOW_PREDICTION_SET_ROWS_H
#define VG_WORKFLOW_PREDICTION_SET_ROWS_H

#include "evaluate/prediction_sets.h"
#include "workflow/score_writer.h"

typedef struct vg_set_rows {
    const vg_sets_data *sets;
    size_t n, block;      /* samples in all, and of a block at most */
    bool wants_p;         /* p-values */
    vg_score_writer file; /* names are set by the caller */
    bool open;
    vg_text_rows *text;   /* NULL: arrays */
    vg_set_places places; /* n samples (arrays), or a block */
    uint32_t *order;      /* C, scratch */
} vg_set_rows;

/* path NULL: no file; results go to a block that is then dropped. */
vg_status vg_set_rows__open(vg_set_rows *rows, const char *path, const vg_sets_data *sets, size_t n, size_t block);
/* Places for a block that begins at sample `first`. */
vg_set_places vg_set_rows__at(const vg_set_rows *rows, size_t first);
/* Writes or keeps the block whose results are in `places`. */
vg_status vg_set_rows__take(vg_set_rows *rows, size_t first, size_t count);
/* VG_OK: writes the rest and renames. Else removes the file. Frees everything; returns the status. */
vg_status vg_set_rows__close(vg_set_rows *rows, vg_status status);

/* The classes of a set by falling value (ties: the lower first), into order; returns how many. */
size_t vg_set_rows__classes(uint32_t *order, const uint8_t *mask, const double *value, size_t classes);

#endif
