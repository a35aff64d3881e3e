/* option_struct.c - options structs filled by callers compiled against an older header, and result structs of
 * theirs.
 *
 * Every options struct begins with `size_t struct_size`, which the caller's _INIT macro sets to the size of the
 * struct in its header. Fields are only ever added at the end, and an added field starts at or after the previous
 * end of the struct, never in its padding. So the first struct_size bytes mean the same to the caller and to the
 * library, and every later field takes its default. */
#include <string.h>

#include "base/base.h"

static vg_status check_size(size_t found, size_t size, const char *name) {
    if (found >= sizeof found && found <= size && found % _Alignof(size_t) == 0)
        return VG_OK;
    return vg_base__fail(VG_ERR_ARGUMENT, "%s.struct_size is %zu, expected at most %zu (use the _INIT macro)", name,
                         found, size);
}

vg_status vg_base__take_options(void *out, const void *given, const void *defaults, size_t size, const char *name) {
    size_t given_size = size;
    memcpy(out, defaults, size);
    if (!given)
        return VG_OK;
    memcpy(&given_size, given, sizeof given_size);
    VG_TRY(check_size(given_size, size, name));
    memcpy(out, given, given_size);
    memcpy(out, &size, sizeof size);
    return VG_OK;
}

vg_status vg_base__give_result(void *out, const void *result, size_t size, const char *name) {
    size_t room;
    memcpy(&room, out, sizeof room);
    VG_TRY(check_size(room, size, name));
    memcpy((char *)out + sizeof room, (const char *)result + sizeof room, room - sizeof room);
    return VG_OK;
}
