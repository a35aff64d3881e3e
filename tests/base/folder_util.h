/* folder_util.h - a folder of a test program's own, as set-up and tear-down of its group. */
#ifndef VG_TEST_FOLDER_UTIL_H
#define VG_TEST_FOLDER_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[256];

static inline int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/vargate-test-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

#endif
