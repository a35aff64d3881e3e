/* fuzz_file.h - a folder of this process, for targets whose reader takes a path. TMPDIR names where it is made. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_folder[256];

static void fuzz_remove_folder(void) {
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder);
    if (system(command) != 0)
        perror(fuzz_folder);
}

/* True when it was made now. */
static inline int fuzz_make_folder(void) {
    if (fuzz_folder[0])
        return 0;
    const char *base = getenv("TMPDIR");
    snprintf(fuzz_folder, sizeof fuzz_folder, "%.200s/vargate-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(fuzz_folder))
        abort();
    atexit(fuzz_remove_folder);
    return 1;
}

static inline void fuzz_write(const char *path, const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

#endif
