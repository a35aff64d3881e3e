/* json_build.c - builds JSON results and renders them. See json_build.h. */
#include "workflow/json_build.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/json_text.h"

static _Thread_local bool out_of_memory;

json_t *vg_json__number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

void vg_json__put(json_t *object, const char *key, json_t *value) {
    if (!value || json_object_set_new(object, key, value) != 0)
        out_of_memory = true;
}

json_t *vg_json__document(const char *command) {
    json_t *object = json_object();
    vg_json__put_text(object, "schema", VG_JSON_SCHEMA);
    vg_json__put_text(object, "command", command);
    return object;
}

void vg_json__put_number(json_t *object, const char *key, double value) {
    vg_json__put(object, key, vg_json__number(value));
}

void vg_json__put_count(json_t *object, const char *key, unsigned long long value) {
    vg_json__put(object, key, json_integer((json_int_t)value));
}

json_t *vg_json__string(const char *text) {
    json_t *value = json_string(text);
    if (!value) { /* not UTF-8, or out of memory: then the second call fails too */
        char shown[1024];
        value = json_string(vg_printable(shown, sizeof shown, text));
    }
    return value;
}

void vg_json__put_text(json_t *object, const char *key, const char *value) {
    vg_json__put(object, key, vg_json__string(value));
}

void vg_json__append(json_t *array, json_t *value) {
    if (!value || json_array_append_new(array, value) != 0)
        out_of_memory = true;
}

json_t *vg_json__numbers(const double *values, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        vg_json__append(array, vg_json__number(values[i]));
    return array;
}

static bool holds_containers(const json_t *value) {
    if (json_is_object(value))
        return true;
    size_t count = json_array_size(value);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (json_is_object(item) || json_is_array(item))
            return true;
    }
    return false;
}

void vg_json__put_verdict(json_t *object, const vg_verdict *verdict) {
    json_t *figures = json_object();
    vg_json__put_text(object, "verdict", verdict->name);
    vg_json__put_text(object, "verdict_text", verdict->text);
    vg_json__put_number(figures, "share", verdict->share);
    vg_json__put_number(figures, "disagreement", verdict->disagreement);
    vg_json__put_number(figures, "abstained", verdict->abstained);
    vg_json__put_number(figures, "diversity", verdict->diversity);
    vg_json__put_number(figures, "class_variance", verdict->class_variance);
    vg_json__put_number(figures, "accuracy", verdict->accuracy);
    vg_json__put_number(figures, "chance", verdict->chance);
    vg_json__put(object, "verdict_figures", figures);
}

json_t *vg_json__best(const vg_figure_table *table) {
    json_t *object = json_object();
    for (size_t i = 0; i < table->columns; i++) {
        if (table->figures[i].key && table->best[i] < table->rows)
            vg_json__put_text(object, table->figures[i].key, table->names[table->best[i]]);
    }
    return object;
}

/* --- text --------------------------------------------------------------------------------------------------------- */
typedef struct json_text {
    char *bytes; /* with a NUL */
    size_t used, room;
} json_text;

static int add(const char *bytes, size_t size, void *context) {
    json_text *text = context;
    if (size >= text->room - text->used) {
        size_t room = 2 * text->room + size + 1;
        char *grown = realloc(text->bytes, room);
        if (!grown)
            return -1;
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
    text->bytes[text->used] = '\0';
    return 0;
}

static void add_text(json_text *text, const char *piece) {
    if (add(piece, strlen(piece), text) != 0)
        out_of_memory = true;
}

static void add_leaf(json_text *text, const json_t *value) {
    if (!value || json_dump_callback(value, add, text, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0)
        out_of_memory = true;
}

static void add_line(json_text *text, const char *separator, int depth) {
    char indent[64];
    snprintf(indent, sizeof indent, "%s%*s", separator, 2 * depth, "");
    add_text(text, indent);
}

static void add_value(json_text *text, const json_t *value, int depth) {
    const char *key, *separator = "\n";
    json_t *item;
    size_t index;
    if (!holds_containers(value)) {
        add_leaf(text, value);
        return;
    }
    add_text(text, json_is_object(value) ? "{" : "[");
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, item) {
            json_t *name = json_string(key);
            add_line(text, separator, depth + 1);
            add_leaf(text, name);
            add_text(text, ": ");
            add_value(text, item, depth + 1);
            json_decref(name);
            separator = ",\n";
        }
    } else {
        json_array_foreach(value, index, item) {
            add_line(text, separator, depth + 1);
            add_value(text, item, depth + 1);
            separator = ",\n";
        }
    }
    add_line(text, "\n", depth);
    add_text(text, json_is_object(value) ? "}" : "]");
}

vg_status vg_json__text(char **out, json_t *value) {
    json_text text = {NULL, 0, 0};
    bool failed = !value || out_of_memory;
    out_of_memory = false;
    if (!failed)
        add_value(&text, value, 0);
    failed |= out_of_memory;
    out_of_memory = false;
    json_decref(value);
    if (failed) {
        free(text.bytes);
        text.bytes = NULL;
    }
    *out = text.bytes;
    return failed ? vg_base__fail(VG_ERR_MEMORY, "out of memory for the JSON result") : VG_OK;
}

vg_status vg_json__indented(char **out, json_t *value) {
    *out = value && !out_of_memory ? vg_base__json_text(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    out_of_memory = false;
    json_decref(value);
    return *out ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the JSON result");
}

void vg_json__drop(json_t *value) {
    out_of_memory = false;
    json_decref(value);
}

void vg_json__put_images(json_t *object, const vg_image_list *images) {
    json_t *shape = json_array(), *rows = json_array();
    for (size_t i = 0; i < (images->sites[3] > 1 ? 4 : 3); i++)
        vg_json__append(shape, json_integer((json_int_t)images->sites[i]));
    for (size_t i = 0; i < images->count; i++) {
        const vg_image_row *image = &images->rows[i];
        json_t *row = json_object();
        vg_json__put_count(row, "sites", image->sites);
        if (images->labelled)
            vg_json__put_number(row, "accuracy", image->accuracy);
        vg_json__put_number(row, "abstained", image->abstained_share);
        vg_json__put_number(row, "mean", image->mean);
        vg_json__put_number(row, "median", image->median);
        vg_json__put_number(row, "p95", image->p95);
        vg_json__put_number(row, "max", image->max);
        if (!isnan(images->refer_above))
            vg_json__put(row, "referred", json_boolean(image->abstained_share > images->refer_above));
        vg_json__append(rows, row);
    }
    vg_json__put(object, "sites", shape);
    vg_json__put_count(object, "ignored", images->ignored);
    vg_json__put(object, "images", rows);
}
