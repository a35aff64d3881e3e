/* score_file.h - scores of every sample in a file: .npz (or .safetensors), .csv, .jsonl by its name.
 *
 * The file appears, complete, under its name when score_file_close succeeds, and not at all otherwise. Names and shapes:
 * docs/cli.md. */
#ifndef CLI_SCORE_FILE_H
#define CLI_SCORE_FILE_H

#include "column_store.h"
#include "vargate/formats.h"

typedef enum file_kind { FILE_ARRAYS, FILE_CSV, FILE_JSONL } file_kind;

typedef struct score_file {
    const char *path;
    file_kind kind;
    vg_writer *arrays; /* FILE_ARRAYS */
    vg_text *text;     /* the others */
} score_file;

/* CLI_USAGE, with a line, when the name's ending is none of those known. */
int score_file_kind(const char *path, file_kind *out);
/* Opens the file beside its name, marked as that product; until closed or abandoned, signals are held back. */
int score_file_open(score_file *file, const char *path, vg_product product);
/* Writes every field of the store, with k, diversity and k_sensitivity. Returns an exit code. */
int score_file_write(score_file *file, const column_store *store, const vg_score_summary *summary);
/* code CLI_OK: renames into place. Anything else: removes what was written. Returns the exit code. */
int score_file_close(score_file *file, int code);

#endif
