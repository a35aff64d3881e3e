/* workflow_options.h - options structs of callers compiled against any version. Internal. */
#ifndef VG_WORKFLOW_WORKFLOW_OPTIONS_H
#define VG_WORKFLOW_WORKFLOW_OPTIONS_H

#include "base/base.h"

/* Copies the caller's options over the defaults in `out`, a struct of `size` bytes that begins with struct_size.
 * `given` may be NULL (defaults), or a shorter struct of an older caller, whose missing fields keep their defaults.
 * VG_ERR_ARGUMENT, naming `what`, when struct_size is not set or larger than this library's. */
vg_status vg_workflow__options(void *out, size_t size, const void *given, const char *what);

#endif
