/* row_names.c - ids and names of classes in outputs. See row_names.h. */
#include "workflow/row_names.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "formats/arrays.h"
#include "workflow/csv_cell.h"
#include "workflow/json_build.h"
#include "workflow/name_list.h"

/* Whether the text is a number in the form that a program writes: "17", not "017", "+17" or "17.0". */
static bool is_number(const char *text, int64_t *out) {
    char *end, again[24];
    if (*text == '\0' || strlen(text) > 19)
        return false;
    long long value = strtoll(text, &end, 10);
    snprintf(again, sizeof again, "%lld", value);
    *out = (int64_t)value;
    return *end == '\0' && strcmp(again, text) == 0;
}

vg_status vg_row_names__of_texts(vg_row_names *out, const char *const *classes, const char *const *ids, size_t n) {
    *out = (vg_row_names){classes, ids, NULL};
    if (!ids || n == 0)
        return VG_OK;
    int64_t first;
    if (!is_number(ids[0], &first))
        return VG_OK;
    VG_TRY(vg_base__alloc(&out->numbers, n, sizeof *out->numbers, "ids of the samples"));
    for (size_t i = 0; i < n; i++) {
        if (is_number(ids[i], &out->numbers[i]))
            continue;
        vg_row_names__free(out);
        *out = (vg_row_names){classes, ids, NULL};
        return VG_OK;
    }
    out->ids = NULL;
    return VG_OK;
}

vg_status vg_row_names__of_file(vg_row_names *out, vg_prediction_file *file) {
    const char *const *classes, *const *ids;
    size_t n, m, c;
    int logits;
    vg_prediction_file_shape(file, &n, &m, &c, &logits);
    VG_TRY(vg_prediction_file_classes(file, &classes));
    VG_TRY(vg_prediction_file_ids(file, &ids));
    return vg_row_names__of_texts(out, classes, ids, n);
}

void vg_row_names__free(vg_row_names *names) {
    vg_base__release(names->numbers);
    names->numbers = NULL;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */
static void put_piece(void *context, const char *piece) { vg_text_rows__put(context, piece); }

static void put_text(vg_text_rows *rows, const char *text, bool json) {
    if (!json) {
        vg_csv__cell(text, put_piece, rows);
        return;
    }
    json_t *value = vg_json__string(text);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        vg_text_rows__put(rows, quoted);
    else if (rows->status == VG_OK)
        rows->status = vg_base__fail(VG_ERR_MEMORY, "out of memory for a name");
    free(quoted);
    json_decref(value);
}

void vg_row_names__put_id(vg_text_rows *rows, const vg_row_names *names, size_t n, bool json) {
    if (names->ids)
        put_text(rows, names->ids[n], json);
    else
        vg_text_rows__int(rows, names->numbers ? (long long)names->numbers[n] : (long long)n);
}

void vg_row_names__put_class(vg_text_rows *rows, const vg_row_names *names, int32_t c, bool json) {
    if (c < 0)
        vg_text_rows__put(rows, json ? "null" : "");
    else
        put_text(rows, names->classes[c], json);
}

void vg_row_names__put_classes(vg_text_rows *rows, const vg_row_names *names, const uint32_t *classes, size_t count) {
    size_t room = 1, used = 0;
    char *joined;
    for (size_t i = 0; i < count; i++)
        room += strlen(names->classes[classes[i]]) + 1;
    vg_status status = vg_base__alloc(&joined, room, 1, "names of classes");
    if (status != VG_OK) {
        rows->status = rows->status == VG_OK ? status : rows->status;
        return;
    }
    joined[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(joined + used, room - used, "%s%s", i ? ";" : "", names->classes[classes[i]]);
    put_text(rows, joined, false);
    vg_base__release(joined);
}

void vg_row_names__put_labels(vg_text_rows *rows, const vg_row_names *names, const int32_t *values, size_t count,
                              int32_t wanted, bool json) {
    uint32_t *found;
    size_t found_count = 0;
    vg_status status = vg_base__alloc(&found, count, sizeof *found, "labels of a sample");
    if (status != VG_OK) {
        rows->status = rows->status == VG_OK ? status : rows->status;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (values[i] == wanted)
            found[found_count++] = (uint32_t)i;
    if (!json)
        vg_row_names__put_classes(rows, names, found, found_count);
    for (size_t i = 0; i < found_count && json; i++) {
        vg_text_rows__put(rows, i ? "," : "[");
        vg_row_names__put_class(rows, names, (int32_t)found[i], true);
    }
    if (json)
        vg_text_rows__put(rows, found_count ? "]" : "[]");
    vg_base__release(found);
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */
vg_status vg_row_names__write_ids(vg_writer *writer, const char *path, const vg_row_names *names, size_t n,
                                  bool always) {
    enum { PIECE = 1024 };
    int64_t ids[PIECE];
    if (names->ids)
        return vg_name_list__write(writer, path, "id", names->ids, n);
    if (!names->numbers && !always)
        return VG_OK;
    VG_TRY(vg_writer__begin(writer, "id", VG_ELEMENT_I64, 1, &n));
    for (size_t first = 0; first < n; first += PIECE) {
        size_t count = n - first < PIECE ? n - first : PIECE;
        for (size_t i = 0; i < count; i++)
            ids[i] = names->numbers ? names->numbers[first + i] : (int64_t)(first + i);
        VG_TRY(vg_writer__append(writer, ids, count * sizeof *ids));
    }
    return VG_OK;
}

vg_status vg_row_names__write_classes(vg_writer *writer, const char *path, const vg_row_names *names, size_t c) {
    return names->classes ? vg_name_list__write(writer, path, "classes", names->classes, c) : VG_OK;
}
