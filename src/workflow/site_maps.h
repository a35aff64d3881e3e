/* site_maps.h - scores of images as maps in a folder: arrays with the axes of the images, and pictures. Internal.
 *
 *     NAME.npy          (N, H, W) or (N, H, W, D): a measure (float64), pred or decision (int32); gated ones NAME@K
 *     NAME-IMAGE.png    pictures of the first images; of volumes the slice in the middle
 *     maps.html         the same images as a page whose k can be changed, where snr and pred are computed
 *     images.csv        one row per image
 *     maps.json         what the files hold; it marks the folder as written by vargate */
#ifndef VG_WORKFLOW_SITE_MAPS_H
#define VG_WORKFLOW_SITE_MAPS_H

#include "workflow/column_store.h"
#include "workflow/row_names.h"
#include "workflow/site_images.h"

typedef struct vg_site_maps {
    const char *folder;
    size_t pictures; /* the largest number of images with pictures */
    int force;
    double refer_above; /* as of vg_decide_options */
    bool decided;       /* decisions are those of a policy: their name has no gate setting */
} vg_site_maps;

/* The fields of a set that have maps. */
vg_field_set vg_site_maps__fields(vg_field_set set);
/* Checks before any work: VG_ERR_ARGUMENT where the folder holds files and is not marked as written by vargate,
 * unless forced, and where the input has no images. */
vg_status vg_site_maps__check(const vg_site_maps *maps, const vg_score_input *in);
/* Writes everything, each file beside its name and renamed, maps.json last. */
vg_status vg_site_maps__write(const vg_site_maps *maps, const vg_score_input *in, const vg_column_store *store,
                              const vg_site_images *images);

#endif
