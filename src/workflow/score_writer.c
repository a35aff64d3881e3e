/* score_writer.c - opens, fills and closes a file of scores; arrays are written here, rows by score_rows.c. */
#include "workflow/score_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "formats/arrays.h"
#include "formats/text_file.h"
#include "workflow/score_rows.h"

vg_status vg_score_writer__kind(const char *path, vg_file_kind *out) {
    if (vg_names__ends_with(path, ".npz") || vg_names__ends_with(path, ".safetensors"))
        *out = VG_FILE_ARRAYS;
    else if (vg_names__ends_with(path, ".csv") || strcmp(path, "-") == 0)
        *out = VG_FILE_CSV;
    else if (vg_names__ends_with(path, ".jsonl"))
        *out = VG_FILE_JSONL;
    else
        return vg_base__fail(VG_ERR_ARGUMENT, "-o %s: the name must end in .npz, .safetensors, .csv or .jsonl", path);
    return VG_OK;
}

vg_status vg_score_writer__open(vg_score_writer *file, const char *path, vg_product product) {
    *file = (vg_score_writer){.path = path};
    VG_TRY(vg_score_writer__kind(path, &file->kind));
    vg_status status =
        file->kind == VG_FILE_ARRAYS ? vg_writer_open(&file->arrays, path) : vg_text__open(&file->text, path);
    if (status == VG_OK && file->arrays)
        status = vg_writer__mark(file->arrays, product);
    if (status != VG_OK) {
        vg_writer_abandon(file->arrays);
        *file = (vg_score_writer){0};
    }
    return status;
}

/* Bytes written so far of all fields, for the listener. */
typedef struct write_progress {
    const vg_job *job;
    size_t done, total;
} write_progress;

/* One field, read back in pieces. */
static vg_status write_field(vg_score_writer *file, const vg_column_store *store, vg_field field, void *piece,
                             size_t piece_bytes, write_progress *progress) {
    size_t shape[3], rank = vg_field__shape(field, &store->layout, shape);
    size_t row = vg_field__bytes(field, &store->layout), step = piece_bytes / row;
    VG_TRY(vg_writer__begin(file->arrays, vg_field__name(field), vg_field__element(field), rank, shape));
    for (size_t first = 0; first < store->layout.n; first += step) {
        size_t rows = store->layout.n - first < step ? store->layout.n - first : step;
        VG_TRY(vg_column_store__get(store, field, first, rows, piece));
        VG_TRY(vg_writer__append(file->arrays, piece, rows * row));
        progress->done += rows * row;
        VG_TRY(vg_job__progress(progress->job, "writing", progress->done, progress->total));
    }
    return VG_OK;
}

static vg_status write_scalars(vg_score_writer *file, const vg_column_store *store, const vg_score_summary *summary) {
    VG_TRY(vg_writer_array(file->arrays, "k", VG_ELEMENT_F64, 1, &store->layout.k_count, store->layout.k));
    if (store->layout.class_k)
        VG_TRY(vg_writer_array(file->arrays, "class_k", VG_ELEMENT_F64, 1, &store->layout.c, store->layout.class_k));
    /* members to abstained_at_1: the input of the verdict, so that a report on these scores can state it */
    double members = (double)summary->members;
    const struct {
        const char *name;
        const double *value;
    } figures[] = {{"diversity", &summary->diversity},
                   {"k_sensitivity", &summary->k_sensitivity},
                   {"members", &members},
                   {"member_variance", &summary->member_variance},
                   {"total_variance", &summary->total_variance},
                   {"disagreement", &summary->disagreement},
                   {"abstained_at_1", &summary->abstained}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        VG_TRY(vg_writer_array(file->arrays, figures[i].name, VG_ELEMENT_F64, 0, NULL, figures[i].value));
    return VG_OK;
}

static vg_status write_arrays(vg_score_writer *file, const vg_column_store *store, const vg_score_summary *summary,
                              const vg_job *job) {
    size_t piece_bytes = (size_t)4 << 20;
    write_progress progress = {job, 0, store->bytes};
    for (int f = 0; f < VG_FIELD_COUNT; f++) {
        size_t row = vg_field__bytes(f, &store->layout);
        piece_bytes = row > piece_bytes ? row : piece_bytes;
    }
    void *piece = malloc(piece_bytes);
    if (!piece)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the output");
    vg_status status = vg_job__begin(job, "writing", "bytes");
    for (int f = 0; f < VG_FIELD_COUNT && status == VG_OK; f++) {
        if (store->set & VG_FIELD_BIT(f))
            status = write_field(file, store, f, piece, piece_bytes, &progress);
    }
    vg_job__end(job);
    free(piece);
    if (status == VG_OK)
        status = write_scalars(file, store, summary);
    /* Names follow the arrays, so that the arrays of a set with names are those of one without. */
    if (status == VG_OK)
        status = vg_row_names__write_classes(file->arrays, file->path, &file->names, store->layout.c);
    return status == VG_OK ? vg_row_names__write_ids(file->arrays, file->path, &file->names, store->layout.n, false)
                           : status;
}

vg_status vg_score_writer__write(vg_score_writer *file, const vg_column_store *store, const vg_score_summary *summary,
                                 const vg_job *job) {
    if (file->kind == VG_FILE_ARRAYS)
        return write_arrays(file, store, summary, job);
    return vg_score_rows__write(file, store, summary, job);
}

vg_status vg_score_writer__close(vg_score_writer *file, vg_status status) {
    if (status != VG_OK) {
        vg_writer_abandon(file->arrays);
        vg_text__abandon(file->text);
    } else {
        status = file->arrays ? vg_writer_close(file->arrays) : vg_text__close(file->text);
    }
    *file = (vg_score_writer){0};
    return status;
}
