/* decision_rows.c - writes decisions as arrays (.npz), CSV or JSON lines. See decide_file.c for the columns. */
#include "decision_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "text_rows.h"

static const score_field fields[] = {FIELD_PRED, FIELD_DECISION, FIELD_GMU, FIELD_SNR};
enum { FIELDS = sizeof fields / sizeof *fields, STEP_BYTES = 1 << 20 };

/* The decision has one gate setting only, so its last axis is dropped: every field has the shape of pred. */
static int begin_field(score_file *file, const column_store *store, score_field field) {
    size_t shape[3], rank = score_field_shape(FIELD_PRED, &store->layout, shape);
    if (vg_writer_begin(file->arrays, score_field_name(field), score_field_element(field), rank, shape) != VG_OK)
        return console_fail_library();
    return CLI_OK;
}

static int write_ids(score_file *file, size_t n) {
    enum { PIECE = 1024 };
    int64_t ids[PIECE];
    if (vg_writer_begin(file->arrays, "id", VG_ELEMENT_I64, 1, &n) != VG_OK)
        return console_fail_library();
    for (size_t first = 0; first < n; first += PIECE) {
        size_t count = n - first < PIECE ? n - first : PIECE;
        for (size_t i = 0; i < count; i++)
            ids[i] = (int64_t)(first + i);
        if (vg_writer_append(file->arrays, ids, count * sizeof *ids) != VG_OK)
            return console_fail_library();
    }
    return CLI_OK;
}

static int write_arrays(score_file *file, const column_store *store, const decide_policy *policy, const vg_scores *block,
                        size_t step) {
    int code = write_ids(file, store->layout.n);
    for (int f = 0; f < FIELDS && code == CLI_OK; f++) {
        size_t row = score_field_bytes(fields[f], &store->layout);
        void *piece = score_block_place(block, fields[f]);
        code = begin_field(file, store, fields[f]);
        for (size_t first = 0; first < store->layout.n && code == CLI_OK; first += step) {
            size_t rows = store->layout.n - first < step ? store->layout.n - first : step;
            code = column_store_get(store, fields[f], first, rows, piece);
            if (code == CLI_OK && vg_writer_append(file->arrays, piece, rows * row) != VG_OK)
                code = console_fail_library();
            if (console_interrupted())
                code = CLI_FAILED;
        }
    }
    const char *name = policy->by_rule ? "k" : "threshold";
    const double *value = policy->by_rule ? &policy->k : &policy->threshold;
    if (code == CLI_OK && vg_writer_array(file->arrays, name, VG_ELEMENT_F64, 0, NULL, value) != VG_OK)
        code = console_fail_library();
    return code;
}

static void write_value(text_rows *rows, score_field field, const void *values, size_t index, bool json) {
    if (score_field_element(field) == VG_ELEMENT_I32)
        text_rows_int(rows, ((const int32_t *)values)[index]);
    else
        text_rows_real(rows, ((const double *)values)[index], json);
}

static void write_row(text_rows *rows, const column_store *store, const vg_scores *block, size_t id, size_t row, bool json) {
    bool array = json && store->layout.multilabel;
    text_rows_put(rows, json ? "{\"id\":" : "");
    text_rows_int(rows, (long long)id);
    for (int f = 0; f < FIELDS; f++) {
        size_t width = score_field_width(fields[f], &store->layout);
        text_rows_put(rows, json ? ",\"" : ",");
        text_rows_put(rows, json ? score_field_name(fields[f]) : "");
        text_rows_put(rows, array ? "\":[" : json ? "\":" : "");
        for (size_t i = 0; i < width; i++) {
            text_rows_put(rows, i ? "," : "");
            write_value(rows, fields[f], score_block_place(block, fields[f]), row * width + i, json);
        }
        text_rows_put(rows, array ? "]" : "");
    }
    text_rows_put(rows, json ? "}\n" : "\n");
}

static void write_heading(text_rows *rows, const column_store *store) {
    text_rows_put(rows, "id");
    for (int f = 0; f < FIELDS; f++) {
        for (size_t i = 0; i < score_field_width(fields[f], &store->layout); i++) {
            char name[64];
            snprintf(name, sizeof name, store->layout.multilabel ? ",%s_%zu" : ",%s", score_field_name(fields[f]), i);
            text_rows_put(rows, name);
        }
    }
    text_rows_put(rows, "\n");
}

static int write_text(score_file *file, const column_store *store, const vg_scores *block, size_t step) {
    text_rows *rows = malloc(sizeof *rows);
    bool json = file->kind == FILE_JSONL;
    if (!rows)
        return console_fail_memory("the output");
    rows->out = file->text;
    rows->status = VG_OK;
    rows->used = 0;
    if (!json)
        write_heading(rows, store);
    int code = CLI_OK;
    for (size_t first = 0; first < store->layout.n && code == CLI_OK; first += step) {
        size_t count = store->layout.n - first < step ? store->layout.n - first : step;
        for (int f = 0; f < FIELDS && code == CLI_OK; f++)
            code = column_store_get(store, fields[f], first, count, score_block_place(block, fields[f]));
        for (size_t i = 0; i < count && code == CLI_OK; i++)
            write_row(rows, store, block, first + i, i, json);
        if (console_interrupted() || rows->status != VG_OK)
            break;
    }
    text_rows_flush(rows);
    if (code == CLI_OK && rows->status != VG_OK)
        code = console_fail_library();
    free(rows);
    return code;
}

int decision_rows_write(score_file *file, const column_store *store, const decide_policy *policy) {
    vg_scores block;
    size_t row = score_set_bytes(store->set, &store->layout), step = row < STEP_BYTES ? STEP_BYTES / row : 1;
    if (!score_block_new(&block, store->set, &store->layout, step))
        return console_fail_memory("the output");
    int code =
        file->kind == FILE_ARRAYS ? write_arrays(file, store, policy, &block, step) : write_text(file, store, &block, step);
    score_block_free(&block);
    return code;
}
