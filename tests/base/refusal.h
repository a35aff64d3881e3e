/* refusal.h - expectations of calls that are refused, with their message, and of calls that are not. */
#ifndef VG_TEST_REFUSAL_H
#define VG_TEST_REFUSAL_H
#include <string.h>

#include "vargate/status.h"

static inline void check_refused(vg_status status, vg_status expected, const char *text, int line) {
    if (status != expected || !strstr(vg_error_message(), text))
        fail_msg("line %d: status %d (%s), expected %d with '%s'", line, (int)status, vg_error_message(), (int)expected,
                 text);
}
#define REFUSED(call, status, text) check_refused(call, status, text, __LINE__)
#define WRONG(call, text) check_refused(call, VG_ERR_ARGUMENT, text, __LINE__)
#define BAD(call, text) check_refused(call, VG_ERR_DATA, text, __LINE__)
#define ACCEPTED(call)                                                                                                 \
    do {                                                                                                               \
        if ((call) != VG_OK)                                                                                           \
            fail_msg("line %d: %s", __LINE__, vg_error_message());                                                     \
    } while (0)

#endif
