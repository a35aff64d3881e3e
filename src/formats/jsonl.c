/* jsonl.c - predictions and labels as one JSON object a line.
 *
 *     {"id": ..., "p": [[.7, .2, .1], [.6, .3, .1]], "label": 0}
 *
 * "p" (or "probs") holds probabilities, "z" (or "logits") logits: a list of members, each a list of classes, or one
 * such list for a single member. "label" (or "labels", "l", "y", "y_true", "target") is a whole number, a list of
 * them, or the name of a class; "id" any value; "classes" in the first line names the classes. Keys count without
 * regard to case, others are passed over. Every line must have the same keys and shapes. Arrays: P or Z (N, M, C), or
 * (N, C) for flat lists; L (N) or (N, C). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/lines.h"

enum { LINE_LIMIT = 64 << 20 }; /* a parsed line takes some 20 times its bytes */

typedef struct records {
    vg_source *source;
    vg_lines lines;
    size_t count;
    bool logits, flat, has_values, has_labels, flat_labels, named, has_ids;
    size_t m, c, label_columns;
    vg_column value, label;
} records;

static vg_status wrong(const records *r, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s", r->source->path, r->lines.number, reason);
}

/* The value of the first key of `names`; *found counts those there are. */
static const json_t *find(json_t *object, const char *const *names, size_t *found) {
    const json_t *value = NULL;
    const char *key;
    json_t *each;
    *found = 0;
    json_object_foreach(object, key, each) {
        for (const char *const *name = names; *name; name++)
            if (strcasecmp(*name, key) == 0) {
                value = each;
                ++*found;
            }
    }
    return value;
}

static vg_status add_classes(records *r, const json_t *list, size_t member) {
    if (!json_is_array(list) || json_array_size(list) != r->c)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: member %zu is no list of %zu numbers", r->source->path,
                             r->lines.number, member, r->c);
    for (size_t i = 0; i < r->c; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number))
            return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: member %zu, class %zu is no number", r->source->path,
                                 r->lines.number, member, i);
        VG_TRY(vg_column__push_f64(&r->value, json_number_value(number)));
    }
    return VG_OK;
}

static vg_status add_values(records *r, const json_t *values, bool logits) {
    if (!json_is_array(values) || json_array_size(values) == 0)
        return wrong(r, "its predictions are no list, or an empty one");
    bool flat = !json_is_array(json_array_get(values, 0));
    size_t m = flat ? 1 : json_array_size(values),
           c = flat ? json_array_size(values) : json_array_size(json_array_get(values, 0));
    if (r->count == 0)
        r->flat = flat, r->m = m, r->c = c, r->logits = logits;
    if (flat != r->flat || m != r->m || logits != r->logits)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %s of %zu members, the first line has %s of %zu",
                             r->source->path, r->lines.number, logits ? "logits" : "probabilities", m,
                             r->logits ? "logits" : "probabilities", r->m);
    if (c == 0)
        return wrong(r, "its first member has no classes");
    if (flat)
        return add_classes(r, values, 0);
    for (size_t i = 0; i < m; i++)
        VG_TRY(add_classes(r, json_array_get(values, i), i));
    return VG_OK;
}

/* A label that is a name: its code. All lines have names or none has. */
static vg_status add_name(records *r, const json_t *label) {
    size_t code;
    VG_TRY(vg_strings__intern(&r->source->labels.names, json_string_value(label), json_string_length(label), &code));
    return vg_column__push_i64(&r->label, (int64_t)code);
}

static vg_status add_label(records *r, const json_t *label) {
    if (json_is_boolean(label))
        return vg_column__push_i64(&r->label, json_is_true(label));
    if (json_is_integer(label))
        return vg_column__push_i64(&r->label, (int64_t)json_integer_value(label));
    if (json_is_real(label) && json_real_value(label) >= -0x1p53 && json_real_value(label) <= 0x1p53 &&
        (double)(int64_t)json_real_value(label) == json_real_value(label))
        return vg_column__push_i64(&r->label, (int64_t)json_real_value(label));
    return wrong(r, "its label is no whole number and no name");
}

static vg_status add_labels(records *r, const json_t *label) {
    bool flat = !json_is_array(label);
    size_t columns = flat ? 1 : json_array_size(label);
    if (r->count == 0)
        r->flat_labels = flat, r->label_columns = columns, r->named = json_is_string(label);
    if (r->named != json_is_string(label))
        return wrong(r, r->named ? "its label is no name, the first line's is"
                                 : "its label is a name, the first line's is none");
    if (r->named)
        return add_name(r, label);
    if (flat != r->flat_labels || columns != r->label_columns || columns == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: %zu labels, the first line has %zu", r->source->path,
                             r->lines.number, columns, r->label_columns);
    if (flat)
        return add_label(r, label);
    for (size_t i = 0; i < columns; i++)
        VG_TRY(add_label(r, json_array_get(label, i)));
    return VG_OK;
}

/* "id" of any JSON type: text as it is, other values as JSON. */
static vg_status add_id(records *r, const json_t *id) {
    if (r->count == 0)
        r->has_ids = id != NULL;
    if (!id || !r->has_ids) { /* ids of some lines only are none */
        r->has_ids = false;
        return VG_OK;
    }
    if (json_is_string(id))
        return vg_strings__push(&r->source->ids, json_string_value(id), json_string_length(id));
    char *text = json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for an id", r->source->path);
    vg_status status = vg_strings__push(&r->source->ids, text, strlen(text));
    free(text);
    return status;
}

/* "classes" in the first line: the names of the classes. */
static vg_status add_classes_names(records *r, const json_t *names) {
    size_t index;
    const json_t *name;
    if (r->count > 0 || !names)
        return VG_OK;
    if (!json_is_array(names))
        return wrong(r, "its classes are no list of names");
    json_array_foreach((json_t *)names, index, name) {
        size_t place;
        if (!json_is_string(name))
            return wrong(r, "its classes are no list of names");
        VG_TRY(vg_strings__intern(&r->source->classes, json_string_value(name), json_string_length(name), &place));
        if (place != index)
            return wrong(r, "names a class twice");
    }
    return VG_OK;
}

static vg_status add_record(records *r, json_t *object) {
    const vg_roles *roles = &r->source->roles;
    static const char *const id_keys[] = {"id", NULL}, *const class_keys[] = {"classes", "class_names", NULL};
    static const char *const usual_values[] = {"p", "probs", "z", "logits", NULL};
    static const char *const usual_labels[] = {"label", "labels", "l", "y", "y_true", "target", NULL};
    static const char *const logit_keys[] = {"z", "logits", NULL};
    const char *const named_value[] = {roles->key, NULL}, *const named_label[] = {roles->label, NULL},
                      *const named_id[] = {roles->id, NULL};
    bool own = roles->key && strcasecmp(roles->key, "P") != 0 && strcasecmp(roles->key, "Z") != 0;
    const char *const *value_keys = own ? named_value : usual_values, *const *label_keys =
                                                                          roles->label ? named_label : usual_labels;
    size_t ignored;
    size_t values_found, logits_found, labels_found;
    const json_t *values = find(object, value_keys, &values_found), *label = find(object, label_keys, &labels_found);
    find(object, logit_keys, &logits_found);
    if (roles->label && !label)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu: --label: it has no key '%.60s'", r->source->path,
                             r->lines.number, roles->label);
    if (roles->labels_only)
        values = NULL, values_found = 0;
    if (values_found > 1 || labels_found > 1)
        return wrong(r, "has predictions or labels under two keys");
    if (!values && !label)
        return wrong(r, "has none of the keys p, z and label");
    if (r->count == 0)
        r->has_values = values != NULL, r->has_labels = label != NULL;
    if (r->has_values != (values != NULL) || r->has_labels != (label != NULL))
        return wrong(r, "has other keys than the first line");
    if (values)
        VG_TRY(add_values(r, values, logits_found > 0));
    if (label)
        VG_TRY(add_labels(r, label));
    VG_TRY(add_id(r, find(object, roles->id ? named_id : id_keys, &ignored)));
    VG_TRY(add_classes_names(r, find(object, class_keys, &ignored)));
    r->count++;
    return VG_OK;
}

static vg_status read_line(records *r) {
    if (r->lines.length > LINE_LIMIT)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu has %zu bytes, at most %d can be read", r->source->path,
                             r->lines.number, r->lines.length, LINE_LIMIT);
    json_error_t error;
    json_t *object = json_loadb(r->lines.text, r->lines.length, JSON_REJECT_DUPLICATES, &error);
    if (!object)
        return vg_base__fail(VG_ERR_FORMAT, "%s: line %zu, column %d: %s", r->source->path, r->lines.number,
                             error.position, error.text);
    vg_status status = json_is_object(object) ? add_record(r, object) : wrong(r, "is no JSON object");
    json_decref(object);
    return status;
}

static vg_status read_records(records *r) {
    while (vg_lines__next(&r->lines))
        VG_TRY(read_line(r));
    if (r->count == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds only blank lines", r->source->path);
    const char *key = r->source->roles.key, *name = r->logits ? "Z" : key && strcasecmp(key, "Z") != 0 ? key : "P";
    if (!r->has_ids)
        vg_strings__free(&r->source->ids);
    if (r->has_values && r->flat)
        VG_TRY(vg_column__give(&r->value, r->source, name, VG_ELEMENT_F64, 2, (size_t[]){r->count, r->c}));
    else if (r->has_values)
        VG_TRY(vg_column__give(&r->value, r->source, name, VG_ELEMENT_F64, 3, (size_t[]){r->count, r->m, r->c}));
    if (r->has_labels && r->named) {
        vg_named_labels *labels = &r->source->labels;
        labels->codes = r->label.i64, labels->rows = r->count;
        r->label = (vg_column){.count = 0};
        vg_base__fail(VG_ERR_UNSUPPORTED, "%s: its labels are names ('%.60s', ...), expected numbers", r->source->path,
                      vg_strings__at(&labels->names, 0));
        return vg_source__skip(r->source, "L", 1);
    }
    if (r->has_labels)
        VG_TRY(vg_column__give(&r->label, r->source, "L", VG_ELEMENT_I64, r->flat_labels ? 1 : 2,
                               (size_t[]){r->count, r->label_columns}));
    return VG_OK;
}

vg_status vg_jsonl__read(vg_source *source) {
    records r = {.source = source, .lines = {.source = source}};
    vg_status status = read_records(&r);
    vg_column__free(&r.value);
    vg_column__free(&r.label);
    return status;
}
