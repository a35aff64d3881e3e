/* score_file.c - opens, fills and closes a file of scores; arrays are written here, rows by score_rows.c. */
#include "score_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "console.h"
#include "progress.h"
#include "score_rows.h"

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

int score_file_kind(const char *path, file_kind *out) {
    if (ends_with(path, ".npz") || ends_with(path, ".safetensors"))
        *out = FILE_ARRAYS;
    else if (ends_with(path, ".csv"))
        *out = FILE_CSV;
    else if (ends_with(path, ".jsonl"))
        *out = FILE_JSONL;
    else
        return console_usage("-o %s: the name must end in .npz, .csv or .jsonl", path);
    return CLI_OK;
}

int score_file_open(score_file *file, const char *path, vg_product product) {
    *file = (score_file){.path = path};
    int code = score_file_kind(path, &file->kind);
    if (code != CLI_OK)
        return code;
    console_guard();
    vg_status status = file->kind == FILE_ARRAYS ? vg_writer_open(&file->arrays, path) : vg_text_open(&file->text, path);
    if (status == VG_OK && file->arrays)
        status = vg_writer_mark(file->arrays, product);
    if (status == VG_OK)
        return CLI_OK;
    vg_writer_abandon(file->arrays);
    *file = (score_file){0};
    console_unguard();
    return console_fail_library();
}

/* One field, read back in pieces. */
static int write_field(score_file *file, const column_store *store, score_field field, void *piece, size_t piece_bytes) {
    size_t shape[3], rank = score_field_shape(field, &store->layout, shape);
    size_t row = score_field_bytes(field, &store->layout), step = piece_bytes / row;
    if (vg_writer_begin(file->arrays, score_field_name(field), score_field_element(field), rank, shape) != VG_OK)
        return console_fail_library();
    for (size_t first = 0; first < store->layout.n; first += step) {
        size_t rows = store->layout.n - first < step ? store->layout.n - first : step;
        int code = column_store_get(store, field, first, rows, piece);
        if (code == CLI_OK && vg_writer_append(file->arrays, piece, rows * row) != VG_OK)
            code = console_fail_library();
        if (code == CLI_OK && console_interrupted())
            code = CLI_FAILED;
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

static int write_scalars(score_file *file, const column_store *store, const vg_score_summary *summary) {
    if (vg_writer_array(file->arrays, "k", VG_ELEMENT_F64, 1, &store->layout.k_count, store->layout.k) != VG_OK ||
        vg_writer_array(file->arrays, "diversity", VG_ELEMENT_F64, 0, NULL, &summary->diversity) != VG_OK ||
        vg_writer_array(file->arrays, "k_sensitivity", VG_ELEMENT_F64, 0, NULL, &summary->k_sensitivity) != VG_OK)
        return console_fail_library();
    /* what a verdict on the ensemble needs, so that a report on these scores can give it */
    double members = (double)summary->members;
    const struct {
        const char *name;
        const double *value;
    } figures[] = {{"members", &members},
                   {"member_variance", &summary->member_variance},
                   {"total_variance", &summary->total_variance},
                   {"disagreement", &summary->disagreement},
                   {"abstained_at_1", &summary->abstained}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (vg_writer_array(file->arrays, figures[i].name, VG_ELEMENT_F64, 0, NULL, figures[i].value) != VG_OK)
            return console_fail_library();
    return CLI_OK;
}

static int write_arrays(score_file *file, const column_store *store, const vg_score_summary *summary) {
    size_t piece_bytes = (size_t)4 << 20;
    for (int f = 0; f < FIELD_COUNT; f++) {
        size_t row = score_field_bytes(f, &store->layout);
        piece_bytes = row > piece_bytes ? row : piece_bytes;
    }
    void *piece = malloc(piece_bytes);
    if (!piece)
        return console_fail_memory("the output");
    progress bar;
    progress_begin(&bar, "writing", "bytes");
    size_t done = 0;
    int code = CLI_OK;
    for (int f = 0; f < FIELD_COUNT && code == CLI_OK; f++) {
        if (!(store->set & SCORE_BIT(f)))
            continue;
        code = write_field(file, store, f, piece, piece_bytes);
        done += store->layout.n * score_field_bytes(f, &store->layout);
        progress_update(&bar, done, store->bytes);
    }
    progress_end(&bar);
    free(piece);
    return code == CLI_OK ? write_scalars(file, store, summary) : code;
}

int score_file_write(score_file *file, const column_store *store, const vg_score_summary *summary) {
    if (file->kind == FILE_ARRAYS)
        return write_arrays(file, store, summary);
    return score_rows_write(file->text, file->kind == FILE_JSONL, store, summary);
}

int score_file_close(score_file *file, int code) {
    if (code == CLI_OK && console_interrupted())
        code = CLI_FAILED;
    if (code != CLI_OK) {
        vg_writer_abandon(file->arrays);
        vg_text_abandon(file->text);
    } else if ((file->arrays ? vg_writer_close(file->arrays) : vg_text_close(file->text)) != VG_OK) {
        code = console_fail_library();
    }
    *file = (score_file){0};
    console_unguard();
    return code;
}
