/* json_lines.h - the lines of a file, each with the JSON value that it holds. Internal. */
#ifndef VG_FORMATS_JSON_LINES_H
#define VG_FORMATS_JSON_LINES_H

#include <jansson.h>

#include "vargate/status.h"

/* `line` as it is in the file, with its end; `value` NULL where it is not JSON. Both are borrowed for the call, which
 * may change the value. A status other than VG_OK ends the reading. */
typedef vg_status (*vg_json_line_fn)(void *context, const char *line, json_t *value);

/* Calls `take` for every line, in order. VG_ERR_IO: the file cannot be read; one that does not exist has no lines. */
vg_status vg_json_lines__read(const char *path, vg_json_line_fn take, void *context);

#endif
