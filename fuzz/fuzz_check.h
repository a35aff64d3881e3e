/* fuzz_check.h - what every fuzz target asks of a call that may fail: a failure comes with a message of one line. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "vargate/status.h"

static inline void fuzz_check(vg_status status) {
    if (status != VG_OK && (vg_error_message()[0] == '\0' || strchr(vg_error_message(), '\n')))
        abort();
}

#endif
