/* figures_file.h - figures of evaluations and comparisons in a file: JSON or CSV by its name, "-" as JSON. */
#ifndef CLI_FIGURES_FILE_H
#define CLI_FIGURES_FILE_H

#include <stdbool.h>

#include "vargate/formats.h"
#include "vargate/workflow.h"

typedef struct figures_file {
    vg_text *text; /* NULL: standard output */
    bool csv;
    size_t documents; /* written so far */
    bool list;        /* JSON: several documents, as a list */
} figures_file;

/* Before any work: CLI_USAGE for another ending, CLI_FAILED where the file must not be replaced. */
int figures_file_check(const char *path, bool force, const char *const *inputs, size_t count);
int figures_file_open(figures_file *file, const char *path, bool list);
/* One more evaluation or comparison. Both return an exit code. */
int figures_file_evaluation(figures_file *file, const vg_evaluation_result *result);
int figures_file_ood(figures_file *file, const vg_ood_result *result);
/* code CLI_OK: renames into place; else removes what was written. Returns the code, or that of closing. */
int figures_file_close(figures_file *file, int code);

#endif
