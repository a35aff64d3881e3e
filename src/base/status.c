/* status.c - the thread-local error message and the names of statuses. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/c_locale.h"

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

#ifndef VG_VERSION
#error "the build must define VG_VERSION"
#endif
const char *vg_version(void) { return VG_VERSION; }
