/* json_records.c - samples as JSON values, collected into arrays. See json_records.h.
 *
 * "p" (or "probs", "probabilities", "q") holds probabilities, "z" (or "logits") logits: a list of members, each a
 * list of classes, or one such list for a single member. "label" (or "labels", "l", "y", "y_true", "target") is a
 * whole number, a list of them, or the name of a class; "id" any value. Other keys are ignored. Arrays: P or Z (N,
 * M, C), or (N, C) for flat lists; L (N) or (N, C). Lines without values that hold log-probabilities of tokens are
 * answers of language models (answers.h). */
#include "formats/json_records.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_text.h"

static vg_status wrong(const vg_json_records *r, const char *reason) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: %s", r->source->path, r->unit, r->number, reason);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */
static bool is_one_of(const char *key, const char *const *names) {
    for (; *names; names++)
        if (strcasecmp(*names, key) == 0)
            return true;
    return false;
}

vg_json_role vg_json__role(const vg_roles *roles, const char *key) {
    static const char *const probabilities[] = {"p", "probs", "probabilities", "q", NULL};
    static const char *const logits[] = {"z", "logits", NULL};
    static const char *const labels[] = {"label", "labels", "l", "y", "y_true", "target", NULL};
    static const char *const ids[] = {"id", "ids", NULL}, *const classes[] = {"classes", "class_names", NULL};
    /* P and Z are also the names of the resulting arrays, by which --key may ask for them. */
    bool own = roles->key && strcasecmp(roles->key, "P") != 0 && strcasecmp(roles->key, "Z") != 0;
    if (roles->label ? strcasecmp(roles->label, key) == 0 : is_one_of(key, labels))
        return VG_JSON_LABEL;
    if (roles->id ? strcasecmp(roles->id, key) == 0 : is_one_of(key, ids))
        return VG_JSON_ID;
    if (own && strcasecmp(roles->key, key) != 0)
        return is_one_of(key, classes) ? VG_JSON_CLASSES : VG_JSON_OTHER;
    if (is_one_of(key, logits))
        return VG_JSON_LOGITS;
    if (own || is_one_of(key, probabilities))
        return VG_JSON_PROBABILITIES;
    return is_one_of(key, classes) ? VG_JSON_CLASSES : VG_JSON_OTHER;
}

/* --- values ------------------------------------------------------------------------------------------------------- */
static vg_status add_classes(vg_json_records *r, const json_t *list, size_t member) {
    if (!json_is_array(list) || json_array_size(list) != r->c)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: member %zu is not a list of %zu numbers", r->source->path,
                             r->unit, r->number, member, r->c);
    for (size_t i = 0; i < r->c; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number))
            return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: member %zu, class %zu is not a number", r->source->path,
                                 r->unit, r->number, member, i);
        VG_TRY(vg_column__push_f64(&r->value, vg_base__json_number(number)));
    }
    return VG_OK;
}

vg_status vg_json__add_values(vg_json_records *r, const json_t *values, bool logits) {
    if (!json_is_array(values) || json_array_size(values) == 0)
        return wrong(r, "its predictions are not a list, or an empty one");
    bool flat = !json_is_array(json_array_get(values, 0));
    size_t m = flat ? 1 : json_array_size(values),
           c = flat ? json_array_size(values) : json_array_size(json_array_get(values, 0));
    if (r->count == 0)
        r->flat = flat, r->m = m, r->c = c, r->logits = logits;
    if (flat != r->flat || m != r->m || logits != r->logits)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: %s of %zu members, the first %s has %s of %zu",
                             r->source->path, r->unit, r->number, logits ? "logits" : "probabilities", m, r->unit,
                             r->logits ? "logits" : "probabilities", r->m);
    if (c == 0)
        return wrong(r, "its first member has no classes");
    if (flat)
        return add_classes(r, values, 0);
    for (size_t i = 0; i < m; i++)
        VG_TRY(add_classes(r, json_array_get(values, i), i));
    return VG_OK;
}

/* --- labels, ids, names ------------------------------------------------------------------------------------------- */
/* A label that is a name, as its code. Either all samples have names or none has. */
static vg_status add_name(vg_json_records *r, const json_t *label) {
    size_t code;
    VG_TRY(vg_strings__intern(&r->source->labels.names, json_string_value(label), json_string_length(label), &code));
    return vg_column__push_i64(&r->label, (int64_t)code);
}

static vg_status add_number(vg_json_records *r, const json_t *label) {
    if (json_is_boolean(label))
        return vg_column__push_i64(&r->label, json_is_true(label));
    if (json_is_integer(label))
        return vg_column__push_i64(&r->label, (int64_t)json_integer_value(label));
    if (json_is_real(label) && json_real_value(label) >= -0x1p53 && json_real_value(label) <= 0x1p53 &&
        (double)(int64_t)json_real_value(label) == json_real_value(label))
        return vg_column__push_i64(&r->label, (int64_t)json_real_value(label));
    return wrong(r, "its label is neither a whole number nor a name");
}

vg_status vg_json__add_label(vg_json_records *r, const json_t *label) {
    bool flat = !json_is_array(label), name = json_is_string(label);
    size_t columns = flat ? 1 : json_array_size(label);
    if (r->count == 0)
        r->flat_labels = flat, r->label_columns = columns, r->named = name;
    if (r->named != name)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: its label is %s name, the first %s's is %s", r->source->path,
                             r->unit, r->number, name ? "a" : "no", r->unit, name ? "none" : "one");
    if (r->named)
        return add_name(r, label);
    if (flat != r->flat_labels || columns != r->label_columns || columns == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: %zu labels, the first %s has %zu", r->source->path, r->unit,
                             r->number, columns, r->unit, r->label_columns);
    if (flat)
        return add_number(r, label);
    for (size_t i = 0; i < columns; i++)
        VG_TRY(add_number(r, json_array_get(label, i)));
    return VG_OK;
}

/* An id of any JSON type: text as it is, other values as JSON. */
vg_status vg_json__add_id(vg_json_records *r, const json_t *id) {
    if (r->count == 0)
        r->has_ids = id != NULL;
    if (!id || !r->has_ids) { /* ids are kept only if every sample has one */
        r->has_ids = false;
        return VG_OK;
    }
    if (json_is_string(id))
        return vg_strings__push(&r->source->ids, json_string_value(id), json_string_length(id));
    char *text = vg_base__json_text(id, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for an id", r->source->path);
    vg_status status = vg_strings__push(&r->source->ids, text, strlen(text));
    free(text);
    return status;
}

vg_status vg_json__add_class_names(vg_json_records *r, const json_t *names) {
    size_t index;
    const json_t *name;
    if (!json_is_array(names))
        return wrong(r, "its classes are not a list of names");
    json_array_foreach((json_t *)names, index, name) {
        size_t place;
        if (!json_is_string(name))
            return wrong(r, "its classes are not a list of names");
        VG_TRY(vg_strings__intern(&r->source->classes, json_string_value(name), json_string_length(name), &place));
        if (place != index)
            return wrong(r, "names a class twice");
    }
    return VG_OK;
}

/* --- whole samples ------------------------------------------------------------------------------------------------ */
typedef struct fields {
    const json_t *values, *label, *id, *classes;
    size_t value_count, label_count;
    bool logits;
} fields;

static fields fields_of(const vg_roles *roles, json_t *object) {
    fields f = {.values = NULL};
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        vg_json_role role = vg_json__role(roles, key);
        if (role == VG_JSON_PROBABILITIES || role == VG_JSON_LOGITS)
            f.values = value, f.value_count++, f.logits |= role == VG_JSON_LOGITS;
        else if (role == VG_JSON_LABEL)
            f.label = value, f.label_count++;
        else if (role == VG_JSON_ID)
            f.id = value;
        else if (role == VG_JSON_CLASSES)
            f.classes = value;
    }
    if (roles->labels_only)
        f.values = NULL, f.value_count = 0;
    return f;
}

/* Answers of a language model: log-probabilities of tokens. The classes are given, or the tokens that occur. */
static vg_status add_answers(vg_json_records *r, const json_t *line, const json_t *classes) {
    char why[160] = "";
    if (r->count == 0 && r->source->roles.classes)
        VG_TRY(vg_answers__fix(&r->answers, r->source->roles.classes));
    for (size_t i = 0; r->count == 0 && !r->source->roles.classes && i < json_array_size(classes); i++) {
        const json_t *name = json_array_get(classes, i);
        size_t place;
        if (!json_is_string(name))
            return wrong(r, "its classes are not a list of names");
        VG_TRY(vg_strings__intern(&r->answers.tokens, json_string_value(name), json_string_length(name), &place));
        r->answers.fixed = true;
    }
    vg_status status = vg_answers__add(&r->answers, line, why);
    return status == VG_ERR_DATA ? wrong(r, why) : status;
}

/* Adds their distributions, and the tokens as names of the classes. */
static vg_status finish_answers(vg_json_records *r) {
    vg_answers *a = &r->answers;
    double *values;
    r->m = a->members, r->c = a->tokens.count + 1;
    if (r->c < 2)
        return vg_base__fail(VG_ERR_DATA, "%s: no token of its answers is a class", r->source->path);
    VG_TRY(vg_base__alloc(&values, a->rows, r->c * sizeof *values, "answers"));
    vg_answers__fill(a, values);
    vg_status status = VG_OK;
    for (size_t i = 0; i < a->rows * r->c && status == VG_OK; i++)
        status = vg_column__push_f64(&r->value, values[i]);
    vg_base__release(values);
    for (size_t i = 0; i < a->tokens.count && status == VG_OK; i++)
        status =
            vg_strings__push(&r->source->classes, vg_strings__at(&a->tokens, i), strlen(vg_strings__at(&a->tokens, i)));
    return status == VG_OK ? vg_strings__push(&r->source->classes, VG_ANSWERS_OTHER, strlen(VG_ANSWERS_OTHER)) : status;
}

vg_status vg_json__add_record(vg_json_records *r, json_t *object) {
    const vg_roles *roles = &r->source->roles;
    fields f = fields_of(roles, object);
    if (roles->label && !f.label)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: --label: it has no key '%.60s'", r->source->path, r->unit,
                             r->number, roles->label);
    if (f.value_count > 1 || f.label_count > 1)
        return wrong(r, "has predictions or labels under two keys");
    bool answers = !f.values && !roles->labels_only && vg_answers__has(object), values = f.values || answers;
    if (!values && !f.label)
        return wrong(r, "has none of the keys p, z and label; if each of its fields is a class, write a .csv of them "
                        "(pandas.read_json, to_csv)");
    if (r->count == 0)
        r->has_values = values, r->answered = answers, r->has_labels = f.label != NULL;
    if (r->has_values != values || r->answered != answers || r->has_labels != (f.label != NULL))
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s %zu: has other keys than the first %s", r->source->path, r->unit,
                             r->number, r->unit);
    if (f.values)
        VG_TRY(vg_json__add_values(r, f.values, f.logits));
    if (answers)
        VG_TRY(add_answers(r, object, f.classes));
    if (f.label)
        VG_TRY(vg_json__add_label(r, f.label));
    VG_TRY(vg_json__add_id(r, f.id));
    if (f.classes && !answers && r->count == 0)
        VG_TRY(vg_json__add_class_names(r, f.classes));
    r->count++;
    return VG_OK;
}

vg_status vg_json__finish(vg_json_records *r) {
    const char *key = r->source->roles.key, *name = r->logits ? "Z" : key && strcasecmp(key, "Z") != 0 ? key : "P";
    if (!r->has_ids)
        vg_strings__free(&r->source->ids);
    if (r->answered)
        VG_TRY(finish_answers(r));
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

void vg_json__free(vg_json_records *r) {
    vg_column__free(&r->value);
    vg_column__free(&r->label);
    vg_answers__free(&r->answers);
}
