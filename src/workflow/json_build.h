/* json_build.h - results as JSON: numbers with 17 significant digits, NaN and infinities as null, keys in the order
 * given. Internal.
 *
 * A value that could not be made for lack of memory is remembered by the thread until it asks for a document's text,
 * which then fails: builders need no checks in between. */
#ifndef VG_WORKFLOW_JSON_BUILD_H
#define VG_WORKFLOW_JSON_BUILD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "vargate/measures.h"
#include "vargate/workflow.h"

/* A text. Names may hold any bytes: one that is not UTF-8 is given as vg_printable shows it. */
json_t *vg_json__string(const char *text);
/* A number, or null when it is not finite. */
json_t *vg_json__number(double value);
/* A result: an object that begins with "schema" (VG_JSON_SCHEMA) and "command". Its keys:
 * docs/schema/COMMAND.schema.json. */
#define VG_JSON_SCHEMA "vargate/1"
json_t *vg_json__document(const char *command);
/* Sets object[key]; takes ownership of the value. */
void vg_json__put(json_t *object, const char *key, json_t *value);
void vg_json__put_number(json_t *object, const char *key, double value);
void vg_json__put_count(json_t *object, const char *key, unsigned long long value);
void vg_json__put_text(json_t *object, const char *key, const char *value);
void vg_json__append(json_t *array, json_t *value);
json_t *vg_json__numbers(const double *values, size_t count);
/* "verdict", its "verdict_text", and "verdict_figures": what it was derived from. */
void vg_json__put_verdict(json_t *object, const vg_verdict *verdict);

/* Images: "sites", their number and size, "ignored", the sites left out, and "images", a row for each. */
typedef struct vg_image_list {
    const size_t *sites; /* N, H, W, D */
    unsigned long long ignored;
    const vg_image_row *rows;
    size_t count;
    bool labelled;      /* accuracies are known */
    double refer_above; /* an image is referred whose abstained share is larger; NaN: none is */
} vg_image_list;
void vg_json__put_images(json_t *object, const vg_image_list *images);

/* {key: name of the row that is best at it} for the figures of a table that have a key. */
json_t *vg_json__best(const vg_figure_table *table);

/* The value as text without a final newline, freed by the caller with free(); releases the value. Objects and arrays
 * of arrays are on lines of their own, plain arrays on one line. */
vg_status vg_json__text(char **out, json_t *value);
/* The same with every value on a line of its own: the layout of results.json. */
vg_status vg_json__indented(char **out, json_t *value);
/* Releases a value whose text is not wanted, and forgets what could not be made for it. */
void vg_json__drop(json_t *value);

/* Documents that are also parts of others: an evaluation ("schema" and "command" included), one OOD set. */
json_t *vg_evaluation_result__json(const vg_evaluation_result *result);
json_t *vg_ood_set__json(const vg_ood_set *set, bool intervals);

#endif
