/* map_picture.h - maps of images as pictures: the values of every site as colours, magnified, with a title and a colour
 * bar or a legend beside them. RGB, 8 bits per channel. Internal. */
#ifndef VG_REPORT_MAP_PICTURE_H
#define VG_REPORT_MAP_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

typedef struct vg_map_picture {
    size_t height, width;
    uint8_t *rgb; /* height x width x 3; the caller's, vg_base__release */
} vg_map_picture;

/* values[h * w] from `low` (dark) to `high` (bright). A NaN marks a site that is left out; it is drawn grey. */
vg_status vg_map_picture__measure(vg_map_picture *out, const double *values, size_t h, size_t w, double low,
                                  double high, const char *title);
/* decisions[h * w]: a class, -1 abstained, -2 left out. names: those of the classes; NULL: numbers. The legend lists
 * what occurs in `decisions`. */
vg_status vg_map_picture__classes(vg_map_picture *out, const int32_t *decisions, size_t h, size_t w,
                                  const char *const *names, const char *title);

#endif
