/* score_writer.h - scores of every sample in a file: .npz (or .safetensors), .csv, .jsonl by its name. Internal.
 *
 * The file appears, complete, under its name when vg_score_writer__close succeeds, and not at all otherwise. Names and
 * shapes: docs/cli.md. */
#ifndef VG_WORKFLOW_SCORE_WRITER_H
#define VG_WORKFLOW_SCORE_WRITER_H

#include "formats/text_file.h"
#include "vargate/formats.h"
#include "workflow/column_store.h"
#include "workflow/job.h"
#include "workflow/row_names.h"

typedef enum vg_file_kind { VG_FILE_ARRAYS, VG_FILE_CSV, VG_FILE_JSONL } vg_file_kind;

typedef struct vg_score_writer {
    const char *path;
    vg_file_kind kind;
    vg_writer *arrays;  /* VG_FILE_ARRAYS */
    vg_text *text;      /* the others */
    vg_row_names names; /* set after opening; borrowed */
} vg_score_writer;

/* VG_ERR_ARGUMENT when the name has an unknown ending. */
vg_status vg_score_writer__kind(const char *path, vg_file_kind *out);
/* Opens the file beside its name, marked as that product. */
vg_status vg_score_writer__open(vg_score_writer *file, const char *path, vg_product product);
/* Writes every field of the store, with k, diversity and k_sensitivity, and the names. */
vg_status vg_score_writer__write(vg_score_writer *file, const vg_column_store *store, const vg_score_summary *summary,
                                 const vg_job *job);
/* `status` VG_OK: renames into place. Anything else: removes what was written. Returns the status, or why closing
 * failed. */
vg_status vg_score_writer__close(vg_score_writer *file, vg_status status);

#endif
