/* json_records.h - samples as JSON values, collected into arrays: what .jsonl and .json share. Internal to formats. */
#ifndef VG_JSON_RECORDS_H
#define VG_JSON_RECORDS_H

#include <jansson.h>

#include "formats/answers.h"
#include "formats/lines.h"

enum { VG_JSON_LIMIT = 64 << 20 }; /* bytes of one sample; parsed it takes about 20 times as many */

/* What was read so far. The first sample (count == 0) decides shapes and keys, which the others must repeat. */
typedef struct vg_json_records {
    vg_source *source;
    const char *unit; /* "line" or "sample", in messages */
    size_t number;    /* of the current line or sample */
    size_t count;     /* samples read */
    bool logits, flat, has_values, has_labels, flat_labels, named, has_ids;
    size_t m, c, label_columns;
    vg_column value, label;
    bool answered; /* samples are answers of language models */
    vg_answers answers;
} vg_json_records;

typedef enum vg_json_role {
    VG_JSON_OTHER,
    VG_JSON_PROBABILITIES,
    VG_JSON_LOGITS,
    VG_JSON_LABEL,
    VG_JSON_ID,
    VG_JSON_CLASSES
} vg_json_role;
/* The role of a key, by the caller's names and the usual ones, ignoring case. */
vg_json_role vg_json__role(const vg_roles *roles, const char *key);

/* Adds one sample, an object {"id": ..., "p": [[...], ...], "label": ...}, and counts it. */
vg_status vg_json__add_record(vg_json_records *records, json_t *object);
/* Add parts of a sample without counting it. */
vg_status vg_json__add_values(vg_json_records *records, const json_t *values, bool logits);
vg_status vg_json__add_label(vg_json_records *records, const json_t *label);
vg_status vg_json__add_id(vg_json_records *records, const json_t *id);
vg_status vg_json__add_class_names(vg_json_records *records, const json_t *names);
/* Gives `count` samples to the source: arrays P or Z and L, names of labels, ids. */
vg_status vg_json__finish(vg_json_records *records);
void vg_json__free(vg_json_records *records);

#endif
