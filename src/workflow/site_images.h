/* site_images.h - figures of every image, collected while its sites are scored: the share that abstains, and a
 * measure over the sites. Internal. */
#ifndef VG_WORKFLOW_SITE_IMAGES_H
#define VG_WORKFLOW_SITE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "vargate/evaluate.h"
#include "workflow/prediction_input.h"

typedef struct vg_site_images {
    size_t count;       /* images */
    vg_image_row *rows; /* count */
    size_t *order;      /* by falling share of abstained sites; made by vg_site_images__end */
    size_t sites, at;   /* sites of an image; the image that is being counted */
    double *values;     /* of its sites so far */
    size_t held;
} vg_site_images;

/* Allocates the images of `shape`, the lengths of N, H, W, D. Freed with vg_site_images__free, also after a failure. */
vg_status vg_site_images__new(vg_site_images *images, const size_t shape[4]);
void vg_site_images__free(vg_site_images *images);
/* Counts site number `site` of all, in rising order; sites that are left out must not be counted. `value` is that of
 * the measure. */
void vg_site_images__count(vg_site_images *images, size_t site, double value, bool error, bool abstained);
/* Ends the last image and orders them. `labelled`: errors were counted; else accuracies are NaN. */
vg_status vg_site_images__end(vg_site_images *images, bool labelled);

/* The measure whose figures a row has: gmu where it is computed, else the first; VG_FIELD_MEASURES: none. */
vg_field vg_site_images__field(vg_field_set set);
/* Counts the sites of a block that are not left out, with the decisions at the first k. */
void vg_site_images__add(vg_site_images *images, const vg_score_input *in, size_t first, size_t rows,
                         const vg_scores *block);
/* The arrays image_sites, image_abstained (the share), image_mean, image_median, image_p95 and image_max, and, where
 * `refer_above` is not NaN, image_referred. */
vg_status vg_site_images__write(const vg_site_images *images, vg_writer *writer, double refer_above);

#endif
