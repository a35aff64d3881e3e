/* stream_bytes.c - reads standard input to its end. See stream_bytes.h. */
#include "workflow/stream_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

enum { FIRST_ROOM = 1 << 20 };

bool vg_stream_bytes__is_binary(const char *format) {
    return strcmp(format, "npy") == 0 || strcmp(format, "npz") == 0 || strcmp(format, "safetensors") == 0;
}

vg_status vg_stream_bytes__read(vg_stream_bytes *out) {
    size_t room = FIRST_ROOM;
    *out = (vg_stream_bytes){malloc(room), 0};
    while (out->text) {
        ssize_t got = read(STDIN_FILENO, out->text + out->size, room - out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            if (got == 0)
                return VG_OK;
            int error = errno;
            free(out->text);
            out->text = NULL;
            return vg_base__fail(VG_ERR_IO, "standard input: %s", strerror(error));
        }
        out->size += (size_t)got;
        if (out->size < room)
            continue;
        char *larger = room < SIZE_MAX / 2 ? realloc(out->text, 2 * room) : NULL;
        if (!larger)
            free(out->text);
        out->text = larger;
        room *= 2;
    }
    return vg_base__fail(VG_ERR_MEMORY, "out of memory for standard input");
}
