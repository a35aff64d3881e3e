/* json_lines.c - reads a file of JSON lines. A file that cannot be read to its end, or memory that runs out, is an
 * error and not a shorter file. Lines have any length. */
#include "formats/json_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/json_text.h"

static vg_status hand_over(const char *path, const char *line, vg_json_line_fn take, void *context) {
    json_error_t error = {.line = 0};
    json_t *value = vg_base__json_load(line, strlen(line), 0, &error);
    if (!value && vg_base__json_no_memory(&error))
        return vg_base__fail(VG_ERR_MEMORY, "%s: out of memory for its lines", path);
    vg_status status = take(context, line, value);
    json_decref(value);
    return status;
}

vg_status vg_json_lines__read(const char *path, vg_json_line_fn take, void *context) {
    char *line = NULL;
    size_t room = 0;
    vg_status status = VG_OK;
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? VG_OK : vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    while (status == VG_OK && (errno = 0, getline(&line, &room, file)) > 0)
        status = hand_over(path, line, take, context);
    if (status == VG_OK && (errno == ENOMEM || ferror(file)))
        status = vg_base__fail(errno == ENOMEM ? VG_ERR_MEMORY : VG_ERR_IO, "%s: %s", path, strerror(errno));
    free(line);
    fclose(file);
    return status;
}
