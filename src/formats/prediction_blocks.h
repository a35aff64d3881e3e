/* prediction_blocks.h - blocks of samples out of stored arrays whose axes lie in any order. Internal to formats. */
#ifndef VG_PREDICTION_BLOCKS_H
#define VG_PREDICTION_BLOCKS_H

#include "formats/prediction_arrays.h"
#include "formats/source.h"
#include "vargate/measures.h"

/* Blocks of one array with all members, or of one array per member (arrays.parts), whose axes `sites` then
 * describes. */
typedef struct vg_prediction_blocks {
    vg_source *source;           /* borrowed */
    vg_prediction_arrays arrays; /* parts are owned by the file */
    vg_sites sites;              /* strides in elements of a stored array */
    size_t n, m, c;
    /* A block is read in pieces of at most `run` samples, a piece in runs of `inner` elements per sample: m_outside
     * times c_outside runs per piece, one for each combination of the axes that are not among the `inner` elements. */
    size_t run, inner, m_outside, c_outside;
    bool direct;       /* elements are stored as in memory */
    vg_element target; /* what the buffer holds: VG_ELEMENT_F32 or _F64 */
    void *buffer;
    size_t room; /* of the buffer, in elements */
} vg_prediction_blocks;

/* `axes` as in vg_prediction_options, without the M where each member has an array. */
vg_status vg_prediction_blocks__open(vg_prediction_blocks *out, vg_source *source, const vg_prediction_arrays *arrays,
                                     const char *axes);
void vg_prediction_blocks__close(vg_prediction_blocks *blocks);
/* Implements vg_prediction_file_block. */
vg_status vg_prediction_blocks__view(vg_prediction_blocks *blocks, size_t first, size_t rows, vg_predictions *view);

#endif
