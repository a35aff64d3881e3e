/* workflow_util.h - files in the folder of a test of workflows (folder_util.h). */
#ifndef VG_TEST_WORKFLOW_UTIL_H
#define VG_TEST_WORKFLOW_UTIL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "folder_util.h"

enum { PATH = 512 };

static inline const char *in_folder(char out[PATH], const char *name) {
    snprintf(out, PATH, "%s/%s", folder, name);
    return out;
}

static inline bool is_there(const char *name) {
    char path[PATH];
    struct stat st;
    return stat(in_folder(path, name), &st) == 0;
}

static inline bool same_bytes(const char *one, const char *other) {
    char command[4 * PATH];
    snprintf(command, sizeof command, "cmp -s '%s/%s' '%s/%s'", folder, one, folder, other);
    return system(command) == 0;
}

#endif
