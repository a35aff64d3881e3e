/* option_struct.c - options structs that older callers filled.
 *
 * Every options struct begins with `size_t struct_size`, which the caller's _INIT macro sets to the size that its
 * header knew. Fields are only ever added at the end, and a new field starts at or after the old end of the struct,
 * never in its padding. So the first struct_size bytes mean the same to the caller and to the library, and every later
 * field takes its default. */
#include <string.h>

#include "base/base.h"

vg_status vg_base__take_options(void *out, const void *given, const void *defaults, size_t size, const char *name) {
    size_t given_size = size;
    memcpy(out, defaults, size);
    if (!given)
        return VG_OK;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size || given_size > size || given_size % _Alignof(size_t) != 0)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s.struct_size is %zu, expected at most %zu (use the _INIT macro)", name,
                             given_size, size);
    memcpy(out, given, given_size);
    memcpy(out, &size, sizeof size);
    return VG_OK;
}
