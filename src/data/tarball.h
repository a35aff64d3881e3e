/* tarball.h - regular files out of a tar archive, plain or gzipped. Internal. */
#ifndef VG_TARBALL_H
#define VG_TARBALL_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

/* Called for each regular file with the last component of its name. Returns the path to write it to, or NULL to skip
 * it; the path is borrowed until the next call. */
typedef const char *(*vg_tarball_choose)(void *context, const char *base_name);
/* Writes the chosen files, each complete or not at all. */
vg_status vg_tarball__extract(const char *path, vg_tarball_choose choose, void *context);

#endif
