/* output_path.c - refuses an output that would destroy something. See output_path.h. */
#include "output_path.h"

#include <string.h>

#include "console.h"

int output_path_check(const char *path, vg_product product, bool force, const char *const *inputs, size_t count) {
    if (!path || vg_target_check(path, product, inputs, count, force) == VG_OK)
        return CLI_OK;
    return console_fail_library();
}

int output_folder_check(const char *path) {
    if (path && strcmp(path, "-") == 0)
        return console_usage("-o -: several files are written; name a folder");
    return CLI_OK;
}
