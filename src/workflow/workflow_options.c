/* workflow_options.c - options of older callers. See workflow_options.h. */
#include "workflow/workflow_options.h"

#include <string.h>

vg_status vg_workflow__options(void *out, size_t size, const void *given, const char *what) {
    size_t given_size;
    if (!given)
        return VG_OK;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < 2 * sizeof given_size || given_size > size)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: struct_size is %zu, expected %zu or less; begin with its _INIT macro", what,
                             given_size, size);
    memcpy(out, given, given_size);
    memcpy(out, &size, sizeof size);
    return VG_OK;
}
