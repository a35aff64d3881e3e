/* tool.h - running another program: curl, wget, npm, apt-get. Internal. */
#ifndef VG_TOOL_H
#define VG_TOOL_H

#include <stdbool.h>

#include "base/base.h"

/* True if `program` is found in PATH. */
bool vg_tool__present(const char *program);
/* Runs argv[0] from PATH in `folder` (NULL: here) with nothing on its input and output, and waits. VG_OK if it exits
 * with 0; otherwise VG_ERR_IO with the last line it wrote to its standard error. */
vg_status vg_tool__run(const char *const *argv, const char *folder);

#endif
