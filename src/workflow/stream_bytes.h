/* stream_bytes.h - a text format on standard input, read whole. Internal. */
#ifndef VG_WORKFLOW_STREAM_BYTES_H
#define VG_WORKFLOW_STREAM_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/status.h"

typedef struct vg_stream_bytes {
    char *text; /* freed with free; NULL: nothing was read */
    size_t size;
} vg_stream_bytes;

/* Formats that the reader of arrays takes from standard input by itself, spooled to a temporary file. */
bool vg_stream_bytes__is_binary(const char *format);
/* Reads all of standard input: text formats are parsed in memory. */
vg_status vg_stream_bytes__read(vg_stream_bytes *out);

#endif
