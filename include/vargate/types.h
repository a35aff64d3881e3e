/* types.h - types that several modules of the API share: element types of arrays, the draws of an augmentation, and
 * a sink for bytes. */
#ifndef VARGATE_TYPES_H
#define VARGATE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "vargate/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of arrays, in memory and in files. Predictions are one of the first four; integers are labels; bool is
 * stored as one byte, 0 or 1. */
typedef enum vg_element {
    VG_ELEMENT_F32, VG_ELEMENT_F64, VG_ELEMENT_F16, VG_ELEMENT_BF16,
    VG_ELEMENT_I8, VG_ELEMENT_I16, VG_ELEMENT_I32, VG_ELEMENT_I64,
    VG_ELEMENT_U8, VG_ELEMENT_U16, VG_ELEMENT_U32, VG_ELEMENT_U64, VG_ELEMENT_BOOL
} vg_element;

/* One sample of an epoch for a device that keeps the images itself: which image, and what its augmentation drew. Output
 * pixel (y, x) is stored pixel (y + dy, x + dx), reflected at the border, then flipped. The colour operations follow
 * (0 brightness, 1 contrast, 2 saturation, 3 hue), then normalisation, then erasing. */
typedef struct vg_sample_draw {
    uint32_t index; /* position in the data set */
    int16_t dy, dx;
    uint8_t flip, erase;               /* 0 or 1 */
    uint8_t jitter;                    /* bit i: colour operation i is on */
    uint8_t order;                     /* the operations in the order drawn, two bits each, the first lowest */
    uint16_t top, left, height, width; /* the erased rectangle */
    float factor[4];                   /* of brightness, contrast and saturation; the hue shift in turns */
} vg_sample_draw;

/* A consumer of bytes. A status other than VG_OK ends the writing, which returns it. */
typedef struct vg_sink {
    void *context;
    vg_status (*write)(void *context, const void *bytes, size_t size);
} vg_sink;

#ifdef __cplusplus
}
#endif
#endif
