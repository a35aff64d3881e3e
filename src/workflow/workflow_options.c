/* workflow_options.c - options structs of older callers. See workflow_options.h. */
#include "workflow/workflow_options.h"

#include <string.h>

static vg_status check_size(size_t found, size_t size, const char *what) {
    if (found >= 2 * sizeof found && found <= size)
        return VG_OK;
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: struct_size is %zu, expected %zu or less; begin with its _INIT macro",
                         what, found, size);
}

vg_status vg_workflow__options(void *out, size_t size, const void *given, const char *what) {
    size_t given_size;
    if (!given)
        return VG_OK;
    memcpy(&given_size, given, sizeof given_size);
    VG_TRY(check_size(given_size, size, what));
    memcpy(out, given, given_size);
    memcpy(out, &size, sizeof size);
    return VG_OK;
}
