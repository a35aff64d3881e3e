/* kept_sites.h - what a fit takes from an opened file: samples with labels, of images the sites that are not left out.
 * Internal. */
#ifndef VG_WORKFLOW_KEPT_SITES_H
#define VG_WORKFLOW_KEPT_SITES_H

#include "workflow/prediction_input.h"

typedef struct vg_kept_sites {
    vg_score_input *in; /* borrowed */
    size_t n;
    const int64_t *labels; /* n */
    int64_t *own_labels;   /* of images; NULL: the file's */
    size_t *image_ends;    /* images: image i ends before this sample of those kept; NULL: samples are no sites */
    size_t images;
    size_t *site; /* n: the numbers of the sites; NULL: all samples */
    size_t width; /* bytes of an element of a block of these */
    void *buffer; /* such a block */
    size_t room;  /* of it, in bytes */
} vg_kept_sites;

/* VG_ERR_DATA where there are no labels, or every site is left out. */
vg_status vg_kept_sites__open(vg_kept_sites *out, vg_score_input *in);
/* A block of samples first .. first + rows - 1 among those kept; valid until the next call. A vg_logits_block_fn. */
vg_status vg_kept_sites__block(void *kept, size_t first, size_t rows, vg_predictions *view);
/* After a fit, whose status it returns: the message of a failure with the file's name and with what its numbers of
 * samples count. */
vg_status vg_kept_sites__conclude(const vg_kept_sites *kept, vg_status status);
void vg_kept_sites__close(vg_kept_sites *kept);

#endif
