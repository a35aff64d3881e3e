/* output_path.h - the check of -o that every command makes before it begins to work. */
#ifndef CLI_OUTPUT_PATH_H
#define CLI_OUTPUT_PATH_H

#include <stdbool.h>

#include "vargate/workflow.h"

#define OUTPUT_FORCE_HELP "replace an existing output file even if vargate did not write it"

/* CLI_FAILED, with a line, when `path` is one of the inputs (NULL entries are passed over) or
 * would replace a file that is no such product of ours, unless forced. CLI_OK for path NULL. */
int output_path_check(const char *path, vg_product product, bool force, const char *const *inputs, size_t count);
/* CLI_USAGE, with a line, for a folder named "-"; CLI_OK for any other and for NULL. */
int output_folder_check(const char *path);

#endif
