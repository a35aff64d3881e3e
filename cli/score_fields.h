/* score_fields.h - the results a scorer can give, by name: their types and shapes, sets of them, buffers for a block of them.
 */
#ifndef CLI_SCORE_FIELDS_H
#define CLI_SCORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vargate/formats.h"
#include "vargate/measures.h"

typedef enum score_field {
    FIELD_TU,
    FIELD_AU,
    FIELD_EU,
    FIELD_EPCE,
    FIELD_EPKL,
    FIELD_EPJS,
    FIELD_GMU,
    FIELD_SNR,
    FIELD_GTU,
    FIELD_GAU,
    FIELD_GEU,
    FIELD_GEPCE,
    FIELD_GEPKL,
    FIELD_GEPJS,
    FIELD_PRED,
    FIELD_SECOND,
    FIELD_DECISION,
    FIELD_MEAN,
    FIELD_STD,
    FIELD_FLAGS,
    FIELD_COUNT,
    FIELD_MEASURES = FIELD_PRED /* those before are measures of uncertainty */
} score_field;

/* A set of fields, bit f for field f. */
typedef uint32_t score_set;
#define SCORE_BIT(field) ((score_set)1 << (field))
enum { SCORE_ALL = (1 << FIELD_COUNT) - 1, SCORE_MEASURES = (1 << FIELD_MEASURES) - 1 };

/* What is being scored. */
typedef struct score_layout {
    size_t n, m, c;  /* samples, members, classes or labels */
    size_t k_count;  /* gate settings */
    const double *k; /* borrowed */
    bool multilabel;
} score_layout;

const char *score_field_name(score_field field);
vg_element score_field_element(score_field field);
bool score_field_gated(score_field field); /* one value per gate setting */
/* Values a sample: 1, K, C or C K. */
size_t score_field_width(score_field field, const score_layout *layout);
size_t score_field_bytes(score_field field, const score_layout *layout);
/* Bytes a sample of all fields in the set. */
size_t score_set_bytes(score_set set, const score_layout *layout);
/* Shape of the whole array in an output file; returns its rank. */
size_t score_field_shape(score_field field, const score_layout *layout, size_t shape[3]);

/* "all", names and groups separated by commas. Returns an exit code. */
int score_set_parse(const char *text, score_set *out);

/* "tu", or "gtu@2" for gate setting k of a gated field. */
enum { SCORE_NAME = 48 };
void score_name(char out[SCORE_NAME], score_field field, const score_layout *layout, size_t k);

/* Places for `rows` samples of every field in the set; NULL for the others. False when out of memory. */
bool score_block_new(vg_scores *block, score_set set, const score_layout *layout, size_t rows);
void score_block_free(vg_scores *block);
/* Where a field's values lie in a block. */
void *score_block_place(const vg_scores *block, score_field field);

#endif
