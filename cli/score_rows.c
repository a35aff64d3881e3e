/* score_rows.c - scores as CSV or JSON lines, one row a sample.
 *
 * CSV heading: n, then per field its name, with _c for class or label c and @k for a gate setting (tu, gtu@1, mean_0, gtu_0@1),
 * then diversity and k_sensitivity, the same in every row. JSONL: the names of the .npz arrays as keys, arrays nested alike. */
#include "score_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "progress.h"
#include "text_rows.h"
#include "vargate/evaluate.h"

typedef struct row_writer {
    text_rows rows;
    bool json;
    const column_store *store;
    const vg_score_summary *summary;
} row_writer;

/* Columns of a field: `outer` classes or labels (0: none), each with `inner` gate settings (0: none). */
static void field_axes(const column_store *store, score_field field, size_t *outer, size_t *inner) {
    *inner = score_field_gated(field) ? store->layout.k_count : 0;
    bool classes = store->layout.multilabel || field == FIELD_MEAN || field == FIELD_STD;
    *outer = classes ? store->layout.c : 0;
}

static void write_heading(row_writer *w) {
    text_rows_put(&w->rows, "n");
    for (int f = 0; f < FIELD_COUNT; f++) {
        size_t outer, inner;
        if (!(w->store->set & SCORE_BIT(f)))
            continue;
        field_axes(w->store, f, &outer, &inner);
        for (size_t i = 0; i < score_field_width(f, &w->store->layout); i++) {
            char name[96], k[VG_NAME_SIZE] = "";
            int used = snprintf(name, sizeof name, ",%s", score_field_name(f));
            if (outer)
                used += snprintf(name + used, sizeof name - (size_t)used, "_%zu", inner ? i / inner : i);
            if (inner) {
                vg_k_name(k, w->store->layout.k[i % inner]);
                snprintf(name + used, sizeof name - (size_t)used, "@%s", k);
            }
            text_rows_put(&w->rows, name);
        }
    }
    text_rows_put(&w->rows, ",diversity,k_sensitivity\n");
}

static void write_value(row_writer *w, score_field field, const void *values, size_t index) {
    switch (score_field_element(field)) {
    case VG_ELEMENT_I32: text_rows_int(&w->rows, ((const int32_t *)values)[index]); break;
    case VG_ELEMENT_U32: text_rows_int(&w->rows, ((const uint32_t *)values)[index]); break;
    default: text_rows_real(&w->rows, ((const double *)values)[index], w->json); break;
    }
}

static void write_csv_row(row_writer *w, size_t n, const vg_scores *block, size_t row) {
    text_rows_int(&w->rows, (long long)n);
    for (int f = 0; f < FIELD_COUNT; f++) {
        size_t width = score_field_width(f, &w->store->layout);
        for (size_t i = 0; (w->store->set & SCORE_BIT(f)) && i < width; i++) {
            text_rows_put(&w->rows, ",");
            write_value(w, f, score_block_place(block, f), row * width + i);
        }
    }
    text_rows_put(&w->rows, ",");
    text_rows_real(&w->rows, w->summary->diversity, false);
    text_rows_put(&w->rows, ",");
    text_rows_real(&w->rows, w->summary->k_sensitivity, false);
    text_rows_put(&w->rows, "\n");
}

static void write_json_field(row_writer *w, score_field field, const void *values, size_t row) {
    size_t outer, inner, width = score_field_width(field, &w->store->layout);
    field_axes(w->store, field, &outer, &inner);
    text_rows_put(&w->rows, ",\"");
    text_rows_put(&w->rows, score_field_name(field));
    text_rows_put(&w->rows, outer ? "\":[" : "\":");
    for (size_t i = 0; i < width; i++) {
        if (inner && i % inner == 0)
            text_rows_put(&w->rows, i ? ",[" : "[");
        else if (i)
            text_rows_put(&w->rows, ",");
        write_value(w, field, values, row * width + i);
        if (inner && i % inner == inner - 1)
            text_rows_put(&w->rows, "]");
    }
    if (outer)
        text_rows_put(&w->rows, "]");
}

static void write_json_row(row_writer *w, size_t n, const vg_scores *block, size_t row) {
    const score_layout *layout = &w->store->layout;
    text_rows_put(&w->rows, "{\"n\":");
    text_rows_int(&w->rows, (long long)n);
    for (int f = 0; f < FIELD_COUNT; f++) {
        if (w->store->set & SCORE_BIT(f))
            write_json_field(w, f, score_block_place(block, f), row);
    }
    text_rows_put(&w->rows, ",\"k\":[");
    for (size_t i = 0; i < layout->k_count; i++) {
        text_rows_put(&w->rows, i ? "," : "");
        text_rows_real(&w->rows, layout->k[i], true);
    }
    text_rows_put(&w->rows, "],\"diversity\":");
    text_rows_real(&w->rows, w->summary->diversity, true);
    text_rows_put(&w->rows, ",\"k_sensitivity\":");
    text_rows_real(&w->rows, w->summary->k_sensitivity, true);
    text_rows_put(&w->rows, "}\n");
}

/* Reads `rows` samples of every field back into a block. */
static int read_block(const column_store *store, size_t first, size_t rows, const vg_scores *block) {
    int code = CLI_OK;
    for (int f = 0; f < FIELD_COUNT && code == CLI_OK; f++) {
        if (store->set & SCORE_BIT(f))
            code = column_store_get(store, f, first, rows, score_block_place(block, f));
    }
    return code;
}

static int write_all(row_writer *w, const vg_scores *block, size_t step) {
    progress bar;
    progress_begin(&bar, "writing", "samples");
    if (!w->json)
        write_heading(w);
    int code = CLI_OK;
    for (size_t first = 0; first < w->store->layout.n && code == CLI_OK; first += step) {
        size_t rows = w->store->layout.n - first < step ? w->store->layout.n - first : step;
        code = read_block(w->store, first, rows, block);
        for (size_t r = 0; r < rows && code == CLI_OK; r++) {
            if (w->json)
                write_json_row(w, first + r, block, r);
            else
                write_csv_row(w, first + r, block, r);
        }
        if (code == CLI_OK && w->rows.status != VG_OK)
            code = console_fail_library();
        if (code == CLI_OK && console_interrupted())
            code = CLI_FAILED;
        progress_update(&bar, first + rows, w->store->layout.n);
    }
    text_rows_flush(&w->rows);
    progress_end(&bar);
    return code == CLI_OK && w->rows.status != VG_OK ? console_fail_library() : code;
}

int score_rows_write(vg_text *out, bool json, const column_store *store, const vg_score_summary *summary) {
    size_t row = score_set_bytes(store->set, &store->layout), step = row < 1 << 20 ? ((size_t)1 << 20) / (row + 1) + 1 : 1;
    row_writer *w = malloc(sizeof *w);
    vg_scores block = {0};
    int code = CLI_OK;
    if (!w || !score_block_new(&block, store->set, &store->layout, step)) {
        code = console_fail_memory("the output");
    } else {
        w->rows.out = out;
        w->rows.status = VG_OK;
        w->rows.used = 0;
        w->json = json;
        w->store = store;
        w->summary = summary;
        code = write_all(w, &block, step);
    }
    score_block_free(&block);
    free(w);
    return code;
}
