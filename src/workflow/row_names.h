/* row_names.h - ids of the samples and names of the classes, passed from an input to every output. Internal.
 *
 * Ids that are all whole numbers, in the form that a program writes, are passed as numbers; others as texts. So a
 * table of results joins with its source table by `id`. */
#ifndef VG_WORKFLOW_ROW_NAMES_H
#define VG_WORKFLOW_ROW_NAMES_H

#include <stdbool.h>

#include "vargate/formats.h"
#include "workflow/text_rows.h"

typedef struct vg_row_names {
    const char *const *classes; /* c; NULL: not known. Borrowed */
    const char *const *ids;     /* n; NULL: none, or numbers. Borrowed */
    int64_t *numbers;           /* n: ids that are whole numbers; NULL: none */
} vg_row_names;

/* The names of a file; ids that are all numbers become numbers. */
vg_status vg_row_names__of_file(vg_row_names *out, vg_prediction_file *file);
/* Names in the caller's memory; either may be NULL. */
vg_status vg_row_names__of_texts(vg_row_names *out, const char *const *classes, const char *const *ids, size_t n);
void vg_row_names__free(vg_row_names *names);
static inline bool vg_row_names__has_ids(const vg_row_names *names) { return names->ids || names->numbers; }

/* The id of a sample in a row of CSV or JSON; its number where there are no ids. */
void vg_row_names__put_id(vg_text_rows *rows, const vg_row_names *names, size_t n, bool json);
/* The name of a class; -1: nothing in CSV, null in JSON. */
void vg_row_names__put_class(vg_text_rows *rows, const vg_row_names *names, int32_t c, bool json);

/* A cell of CSV: the names of several classes, separated by semicolons. */
void vg_row_names__put_classes(vg_text_rows *rows, const vg_row_names *names, const uint32_t *classes, size_t count);
/* The names of the labels whose value is `wanted`, of `count` values: a cell of CSV as above, or a list of JSON. */
void vg_row_names__put_labels(vg_text_rows *rows, const vg_row_names *names, const int32_t *values, size_t count,
                              int32_t wanted, bool json);

/* Arrays `id`, where there are ids or `always` (then the samples' numbers), and `classes`. `path`: as of
 * vg_name_list__write. */
vg_status vg_row_names__write_ids(vg_writer *writer, const char *path, const vg_row_names *names, size_t n,
                                  bool always);
vg_status vg_row_names__write_classes(vg_writer *writer, const char *path, const vg_row_names *names, size_t c);

#endif
