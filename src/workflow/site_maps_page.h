/* site_maps_page.h - maps of some images as an HTML page: predicted classes overlaid with the sites that the rule
 * abstains on, at a k that the reader changes, beside the uncertainty. Internal. */
#ifndef VG_WORKFLOW_SITE_MAPS_PAGE_H
#define VG_WORKFLOW_SITE_MAPS_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

typedef struct vg_maps_page {
    const char *path, *file; /* of the page; of the predictions, as its title */
    size_t count, images;    /* all images; those that the page shows */
    size_t height, width, depth;
    size_t class_count;
    const char *const *classes; /* names; NULL: numbers */
    unsigned long long ignored;
    double k;            /* the first k of the page */
    const char *measure; /* the uncertainty's name, and its range over all sites */
    double low, high;
    /* The slice of an image that is shown: classes, margin ratios (NaN: left out) and uncertainties. */
    vg_status (*slice)(void *context, size_t image, int32_t *pred, double *ratio, double *level);
    void *context;
} vg_maps_page;

enum { VG_MAPS_PAGE_CLASSES = 255 }; /* the most classes of a page */
/* Writes the page beside its name and renames it. */
vg_status vg_maps_page__write(const vg_maps_page *page);

#endif
