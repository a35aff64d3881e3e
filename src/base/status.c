/* status.c - the thread-local error message and the names of statuses. */
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/base.h"

static _Thread_local char message[1024];

const char *vg_error_message(void) { return message; }

vg_status vg_base__fail(vg_status status, const char *format, ...) {
    VG_IN_C_LOCALE;
    char text[sizeof message]; /* a message may quote the one before it */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vg_printable(message, sizeof message, text); /* one line whatever it quotes */
    return status;
}

vg_status vg_base__fail_text(vg_status status, const char *text) { return vg_base__fail(status, "%s", text); }

vg_status vg_base__given(bool all, const char *what) {
    return all ? VG_OK : vg_base__fail(VG_ERR_ARGUMENT, "%s must not be NULL", what);
}

const char *vg_status__name(vg_status status) {
    switch (status) {
    case VG_OK: return "ok";
    case VG_ERR_ARGUMENT: return "argument";
    case VG_ERR_MEMORY: return "memory";
    case VG_ERR_IO: return "io";
    case VG_ERR_FORMAT: return "format";
    case VG_ERR_DATA: return "data";
    case VG_ERR_UNSUPPORTED: return "unsupported";
    case VG_ERR_NUMERIC: return "numeric";
    case VG_ERR_INTERRUPTED: return "interrupted";
    }
    return "unknown";
}

#ifndef VG_VERSION
#error "the build must define VG_VERSION"
#endif
const char *vg_version(void) { return VG_VERSION; }
