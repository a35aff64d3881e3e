/* score_fields.h - the results of a scorer by name: their types and shapes, sets of them, buffers for a block of
 * them. Internal; the fields themselves (vg_field) are public. */
#ifndef VG_WORKFLOW_SCORE_FIELDS_H
#define VG_WORKFLOW_SCORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "vargate/formats.h"
#include "vargate/measures.h"
#include "vargate/workflow.h"

/* The sizes of what is scored. */
typedef struct vg_score_layout {
    size_t n, m, c;  /* samples, members, classes or labels */
    size_t k_count;  /* gate settings */
    const double *k; /* borrowed */
    bool multilabel;
    const double *class_k; /* c: a k for every class, borrowed; NULL: none */
} vg_score_layout;

const char *vg_field__name(vg_field field);
vg_element vg_field__element(vg_field field);
bool vg_field__gated(vg_field field); /* one value per gate setting */
/* Values per sample: 1, K, C or C K. */
size_t vg_field__width(vg_field field, const vg_score_layout *layout);
size_t vg_field__bytes(vg_field field, const vg_score_layout *layout);
/* Bytes per sample of all fields in the set. */
size_t vg_field__set_bytes(vg_field_set set, const vg_score_layout *layout);
/* Shape of the whole array in an output file; returns its rank. */
size_t vg_field__shape(vg_field field, const vg_score_layout *layout, size_t shape[3]);

/* "tu", or "gtu@2" for gate setting k of a gated field. */
enum { VG_FIELD_TITLE = 48 };
void vg_field__title(char out[VG_FIELD_TITLE], vg_field field, const vg_score_layout *layout, size_t k);

/* Buffers for `rows` samples of every field in the set; NULL for the others. */
vg_status vg_score_block__new(vg_scores *block, vg_field_set set, const vg_score_layout *layout, size_t rows);
void vg_score_block__free(vg_scores *block);
/* Marks the samples whose mark is not 0 as left out: measures, means and spreads NaN, decisions VG_DECISION_LEFT_OUT.
 * Predictions and flags stay. */
enum { VG_DECISION_LEFT_OUT = -2 };
void vg_score_block__leave_out(const vg_scores *block, const vg_score_layout *layout, const uint8_t *marks,
                               size_t rows);
/* The buffer of a field in a block. */
void *vg_score_block__place(const vg_scores *block, vg_field field);

#endif
