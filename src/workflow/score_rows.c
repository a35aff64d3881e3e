/* score_rows.c - scores as CSV or JSON lines, one row per sample.
 *
 * CSV header: n, id where the samples have ids, then per field its name, with _c for class or label c and @k for a
 * gate setting (tu, gtu@1, mean_0, gtu_0@1), pred_name after pred where classes have names (multilabel: of the
 * labels predicted to be present), then diversity and k_sensitivity, the same in every row. JSONL: the names of the
 * .npz arrays as keys, with arrays nested in the same way. */
#include "workflow/score_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "vargate/evaluate.h"
#include "workflow/text_rows.h"

typedef struct row_writer {
    vg_text_rows rows;
    bool json;
    const vg_column_store *store;
    const vg_score_summary *summary;
    const vg_row_names *names;
    const vg_job *job;
} row_writer;

/* Whether the name of the predicted class, or those of the predicted labels, follow field f. */
static bool has_name(const row_writer *w, int f) { return f == VG_FIELD_PRED && w->names->classes; }

static void write_name(row_writer *w, const vg_scores *block, size_t row) {
    const vg_score_layout *layout = &w->store->layout;
    vg_text_rows__put(&w->rows, w->json ? ",\"pred_name\":" : ",");
    if (layout->multilabel)
        vg_row_names__put_labels(&w->rows, w->names, block->pred + row * layout->c, layout->c, 1, w->json);
    else
        vg_row_names__put_class(&w->rows, w->names, block->pred[row], w->json);
}

/* Columns of a field: `outer` classes or labels (0: none), each with `inner` gate settings (0: none). */
static void field_axes(const vg_column_store *store, vg_field field, size_t *outer, size_t *inner) {
    *inner = vg_field__gated(field) ? store->layout.k_count : 0;
    bool classes = store->layout.multilabel || field == VG_FIELD_MEAN || field == VG_FIELD_STD;
    *outer = classes ? store->layout.c : 0;
}

static void write_heading(row_writer *w) {
    vg_text_rows__put(&w->rows, vg_row_names__has_ids(w->names) ? "n,id" : "n");
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        size_t outer, inner;
        if (!(w->store->set & VG_FIELD_BIT(f)))
            continue;
        field_axes(w->store, f, &outer, &inner);
        for (size_t i = 0; i < vg_field__width(f, &w->store->layout); i++) {
            char name[96], k[VG_NAME_SIZE] = "";
            int used = snprintf(name, sizeof name, ",%s", vg_field__name(f));
            if (outer)
                used += snprintf(name + used, sizeof name - (size_t)used, "_%zu", inner ? i / inner : i);
            if (inner) {
                vg_k_name(k, w->store->layout.k[i % inner]);
                snprintf(name + used, sizeof name - (size_t)used, "@%s", k);
            }
            vg_text_rows__put(&w->rows, name);
        }
        if (has_name(w, f))
            vg_text_rows__put(&w->rows, ",pred_name");
    }
    vg_text_rows__put(&w->rows, ",diversity,k_sensitivity\n");
}

static void write_value(row_writer *w, vg_field field, const void *values, size_t index) {
    switch (vg_field__element(field)) {
    case VG_ELEMENT_I32: vg_text_rows__int(&w->rows, ((const int32_t *)values)[index]); break;
    case VG_ELEMENT_U32: vg_text_rows__int(&w->rows, ((const uint32_t *)values)[index]); break;
    default: vg_text_rows__real(&w->rows, ((const double *)values)[index], w->json); break;
    }
}

static void write_csv_row(row_writer *w, size_t n, const vg_scores *block, size_t row) {
    vg_text_rows__int(&w->rows, (long long)n);
    if (vg_row_names__has_ids(w->names)) {
        vg_text_rows__put(&w->rows, ",");
        vg_row_names__put_id(&w->rows, w->names, n, false);
    }
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        size_t width = vg_field__width(f, &w->store->layout);
        for (size_t i = 0; (w->store->set & VG_FIELD_BIT(f)) && i < width; i++) {
            vg_text_rows__put(&w->rows, ",");
            write_value(w, f, vg_score_block__place(block, f), row * width + i);
        }
        if ((w->store->set & VG_FIELD_BIT(f)) && has_name(w, f))
            write_name(w, block, row);
    }
    vg_text_rows__put(&w->rows, ",");
    vg_text_rows__real(&w->rows, w->summary->diversity, false);
    vg_text_rows__put(&w->rows, ",");
    vg_text_rows__real(&w->rows, w->summary->k_sensitivity, false);
    vg_text_rows__put(&w->rows, "\n");
}

static void write_json_field(row_writer *w, vg_field field, const void *values, size_t row) {
    size_t outer, inner, width = vg_field__width(field, &w->store->layout);
    field_axes(w->store, field, &outer, &inner);
    vg_text_rows__put(&w->rows, ",\"");
    vg_text_rows__put(&w->rows, vg_field__name(field));
    vg_text_rows__put(&w->rows, outer ? "\":[" : "\":");
    for (size_t i = 0; i < width; i++) {
        if (inner && i % inner == 0)
            vg_text_rows__put(&w->rows, i ? ",[" : "[");
        else if (i)
            vg_text_rows__put(&w->rows, ",");
        write_value(w, field, values, row * width + i);
        if (inner && i % inner == inner - 1)
            vg_text_rows__put(&w->rows, "]");
    }
    if (outer)
        vg_text_rows__put(&w->rows, "]");
}

static void write_json_row(row_writer *w, size_t n, const vg_scores *block, size_t row) {
    const vg_score_layout *layout = &w->store->layout;
    vg_text_rows__put(&w->rows, "{\"n\":");
    vg_text_rows__int(&w->rows, (long long)n);
    if (vg_row_names__has_ids(w->names)) {
        vg_text_rows__put(&w->rows, ",\"id\":");
        vg_row_names__put_id(&w->rows, w->names, n, true);
    }
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (!(w->store->set & VG_FIELD_BIT(f)))
            continue;
        write_json_field(w, f, vg_score_block__place(block, f), row);
        if (has_name(w, f))
            write_name(w, block, row);
    }
    vg_text_rows__put(&w->rows, ",\"k\":[");
    for (size_t i = 0; i < layout->k_count; i++) {
        vg_text_rows__put(&w->rows, i ? "," : "");
        vg_text_rows__real(&w->rows, layout->k[i], true);
    }
    vg_text_rows__put(&w->rows, "],\"diversity\":");
    vg_text_rows__real(&w->rows, w->summary->diversity, true);
    vg_text_rows__put(&w->rows, ",\"k_sensitivity\":");
    vg_text_rows__real(&w->rows, w->summary->k_sensitivity, true);
    vg_text_rows__put(&w->rows, "}\n");
}

/* Reads `rows` samples of every field back into a block. */
static vg_status read_block(const vg_column_store *store, size_t first, size_t rows, const vg_scores *block) {
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        if (store->set & VG_FIELD_BIT(f))
            VG_TRY(vg_column_store__get(store, f, first, rows, vg_score_block__place(block, f)));
    }
    return VG_OK;
}

static vg_status write_block(row_writer *w, size_t first, size_t rows, const vg_scores *block) {
    VG_TRY(read_block(w->store, first, rows, block));
    for (size_t r = 0; r < rows; r++) {
        if (w->json)
            write_json_row(w, first + r, block, r);
        else
            write_csv_row(w, first + r, block, r);
    }
    VG_TRY(w->rows.status);
    return vg_job__progress(w->job, "writing", first + rows, w->store->layout.n);
}

static vg_status write_all(row_writer *w, const vg_scores *block, size_t step) {
    size_t n = w->store->layout.n;
    vg_status status = vg_job__begin(w->job, "writing", "samples");
    if (!w->json)
        write_heading(w);
    for (size_t first = 0; first < n && status == VG_OK; first += step)
        status = write_block(w, first, n - first < step ? n - first : step, block);
    if (status == VG_OK)
        vg_text_rows__flush(&w->rows);
    vg_job__end(w->job);
    return status == VG_OK ? w->rows.status : status;
}

vg_status vg_score_rows__write(const vg_score_writer *file, const vg_column_store *store,
                               const vg_score_summary *summary, const vg_job *job) {
    size_t row = vg_field__set_bytes(store->set, &store->layout);
    size_t step = row < 1 << 20 ? ((size_t)1 << 20) / (row + 1) + 1 : 1;
    vg_scores block;
    VG_TRY(vg_score_block__new(&block, store->set, &store->layout, step));
    row_writer *w = malloc(sizeof *w);
    vg_status status = w ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the output");
    if (w) {
        w->rows.out = file->text;
        w->rows.status = VG_OK;
        w->rows.used = 0;
        w->json = file->kind == VG_FILE_JSONL;
        w->names = &file->names;
        w->store = store;
        w->summary = summary;
        w->job = job;
        status = write_all(w, &block, step);
    }
    vg_score_block__free(&block);
    free(w);
    return status;
}
