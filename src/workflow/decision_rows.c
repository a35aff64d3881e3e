/* decision_rows.c - writes decisions as arrays (.npz), CSV or JSON lines. id is the sample's id, or its number where
 * it has none; in multilabel mode the other columns have one value per label (pred_0, ... in CSV). Where classes
 * have names, the arrays are followed by `classes`, the other columns by pred_name and decision_name; in multilabel
 * mode these are the labels predicted and decided to be present, and abstained_name, the labels that were abstained
 * on. */
#include "workflow/decision_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/arrays.h"
#include "workflow/text_rows.h"

static const vg_field fields[] = {VG_FIELD_PRED, VG_FIELD_DECISION, VG_FIELD_GMU, VG_FIELD_SNR};
enum { FIELDS = sizeof fields / sizeof *fields, STEP_BYTES = 1 << 20 };

/* The decision has one gate setting only, so its last axis is dropped: every field has the shape of pred. */
static vg_status begin_field(vg_score_writer *file, const vg_column_store *store, vg_field field) {
    size_t shape[3], rank = vg_field__shape(VG_FIELD_PRED, &store->layout, shape);
    return vg_writer__begin(file->arrays, vg_field__name(field), vg_field__element(field), rank, shape);
}

static vg_status write_arrays(vg_score_writer *file, const vg_column_store *store, const vg_scores *block, size_t step,
                              const vg_job *job) {
    size_t n = store->layout.n;
    VG_TRY(vg_row_names__write_ids(file->arrays, file->path, &file->names, n, true));
    for (size_t f = 0; f < FIELDS; f++) {
        size_t row = vg_field__bytes(fields[f], &store->layout);
        void *piece = vg_score_block__place(block, fields[f]);
        VG_TRY(begin_field(file, store, fields[f]));
        for (size_t first = 0; first < n; first += step) {
            size_t rows = n - first < step ? n - first : step;
            VG_TRY(vg_column_store__get(store, fields[f], first, rows, piece));
            VG_TRY(vg_writer__append(file->arrays, piece, rows * row));
            VG_TRY(vg_job__progress(job, "writing", f * n + first + rows, FIELDS * n));
        }
    }
    return VG_OK;
}

static void write_value(vg_text_rows *rows, vg_field field, const void *values, size_t index, bool json) {
    if (vg_field__element(field) == VG_ELEMENT_I32)
        vg_text_rows__int(rows, ((const int32_t *)values)[index]);
    else
        vg_text_rows__real(rows, ((const double *)values)[index], json);
}

/* The names of the labels predicted and decided to be present, and of those abstained on. */
static void write_label_names(vg_text_rows *rows, const vg_row_names *names, const vg_scores *block, size_t row,
                              size_t labels, bool json) {
    const int32_t *pred = block->pred + row * labels, *decision = block->decision + row * labels;
    vg_text_rows__put(rows, json ? ",\"pred_name\":" : ",");
    vg_row_names__put_labels(rows, names, pred, labels, 1, json);
    vg_text_rows__put(rows, json ? ",\"decision_name\":" : ",");
    vg_row_names__put_labels(rows, names, decision, labels, 1, json);
    vg_text_rows__put(rows, json ? ",\"abstained_name\":" : ",");
    vg_row_names__put_labels(rows, names, decision, labels, -1, json);
}

/* The names of the predicted and of the decided class. */
static void write_names(vg_text_rows *rows, const vg_score_writer *file, const vg_scores *block, size_t row,
                        bool json) {
    vg_text_rows__put(rows, json ? ",\"pred_name\":" : ",");
    vg_row_names__put_class(rows, &file->names, block->pred[row], json);
    vg_text_rows__put(rows, json ? ",\"decision_name\":" : ",");
    vg_row_names__put_class(rows, &file->names, block->decision[row], json);
}

static void write_row(vg_text_rows *rows, const vg_score_writer *file, const vg_column_store *store,
                      const vg_scores *block, size_t id, size_t row) {
    bool json = file->kind == VG_FILE_JSONL, array = json && store->layout.multilabel;
    vg_text_rows__put(rows, json ? "{\"id\":" : "");
    vg_row_names__put_id(rows, &file->names, id, json);
    for (int f = 0; f < FIELDS; f++) {
        size_t width = vg_field__width(fields[f], &store->layout);
        vg_text_rows__put(rows, json ? ",\"" : ",");
        vg_text_rows__put(rows, json ? vg_field__name(fields[f]) : "");
        vg_text_rows__put(rows, array ? "\":[" : json ? "\":" : "");
        for (size_t i = 0; i < width; i++) {
            vg_text_rows__put(rows, i ? "," : "");
            write_value(rows, fields[f], vg_score_block__place(block, fields[f]), row * width + i, json);
        }
        vg_text_rows__put(rows, array ? "]" : "");
    }
    if (file->names.classes && store->layout.multilabel)
        write_label_names(rows, &file->names, block, row, store->layout.c, json);
    else if (file->names.classes)
        write_names(rows, file, block, row, json);
    vg_text_rows__put(rows, json ? "}\n" : "\n");
}

static void write_heading(vg_text_rows *rows, const vg_score_writer *file, const vg_column_store *store) {
    vg_text_rows__put(rows, "id");
    for (int f = 0; f < FIELDS; f++) {
        for (size_t i = 0; i < vg_field__width(fields[f], &store->layout); i++) {
            char name[64];
            snprintf(name, sizeof name, store->layout.multilabel ? ",%s_%zu" : ",%s", vg_field__name(fields[f]), i);
            vg_text_rows__put(rows, name);
        }
    }
    vg_text_rows__put(rows, file->names.classes ? ",pred_name,decision_name" : "");
    vg_text_rows__put(rows, file->names.classes && store->layout.multilabel ? ",abstained_name\n" : "\n");
}

static vg_status write_text_block(vg_text_rows *rows, const vg_score_writer *file, const vg_column_store *store,
                                  const vg_scores *block, size_t first, size_t count) {
    for (int f = 0; f < FIELDS; f++)
        VG_TRY(vg_column_store__get(store, fields[f], first, count, vg_score_block__place(block, fields[f])));
    for (size_t i = 0; i < count; i++)
        write_row(rows, file, store, block, first + i, i);
    return rows->status;
}

static vg_status write_text(vg_score_writer *file, const vg_column_store *store, const vg_scores *block, size_t step,
                            const vg_job *job) {
    vg_text_rows *rows = malloc(sizeof *rows);
    bool json = file->kind == VG_FILE_JSONL;
    size_t n = store->layout.n;
    if (!rows)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the output");
    rows->out = file->text;
    rows->status = VG_OK;
    rows->used = 0;
    if (!json)
        write_heading(rows, file, store);
    vg_status status = VG_OK;
    for (size_t first = 0; first < n && status == VG_OK; first += step) {
        size_t count = n - first < step ? n - first : step;
        status = write_text_block(rows, file, store, block, first, count);
        if (status == VG_OK)
            status = vg_job__progress(job, "writing", first + count, n);
    }
    if (status == VG_OK) {
        vg_text_rows__flush(rows);
        status = rows->status;
    }
    free(rows);
    return status;
}

vg_status vg_decision_rows__write(vg_score_writer *file, const vg_column_store *store, const char *name, double value,
                                  const vg_job *job) {
    vg_scores block;
    size_t row = vg_field__set_bytes(store->set, &store->layout), step = row < STEP_BYTES ? STEP_BYTES / row : 1;
    bool arrays = file->kind == VG_FILE_ARRAYS;
    VG_TRY(vg_score_block__new(&block, store->set, &store->layout, step));
    vg_status status =
        arrays ? write_arrays(file, store, &block, step, job) : write_text(file, store, &block, step, job);
    vg_score_block__free(&block);
    if (status == VG_OK && arrays)
        status = vg_writer_array(file->arrays, name, VG_ELEMENT_F64, 0, NULL, &value);
    if (status == VG_OK && arrays)
        status = vg_row_names__write_classes(file->arrays, file->path, &file->names, store->layout.c);
    return status;
}
