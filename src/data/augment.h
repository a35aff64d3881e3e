/* augment.h - one sample from its stored pixels to normalised, possibly augmented floats. Internal. */
#ifndef VG_AUGMENT_H
#define VG_AUGMENT_H

#include "base/random.h"
#include "data/dataset.h"
#include "data/loader.h"

/* The draws of an augmentation for one sample. */
typedef struct vg_augment_draw {
    ptrdiff_t dy, dx; /* output (y, x) is stored pixel (y + dy, x + dx), reflected at the border */
    bool flip;
    unsigned char order[4]; /* jitter operations in the order drawn: 0 brightness, 1 contrast, 2 saturation, 3 hue */
    double factor[4];       /* brightness, contrast, saturation factors; hue shift in turns */
    bool erase;
    size_t top, left, height, width; /* the erased rectangle */
} vg_augment_draw;

/* Makes the draws for (seed, epoch, index). Each setting that is on takes a fixed number of draws, so that no
 * setting influences another. */
vg_augment_draw vg_augment__draw(const vg_augment *augment, uint64_t seed, uint64_t epoch, size_t index, size_t height,
                                 size_t width);
/* VG_ERR_ARGUMENT for values out of range, or for a set that the augmentation cannot be applied to. */
vg_status vg_augment__check(const vg_augment *augment, const vg_dataset *set);
static inline bool vg_augment__jitters(const vg_augment *augment) {
    return augment->brightness > 0 || augment->contrast > 0 || augment->saturation > 0 || augment->hue > 0;
}

/* Colour jitter in place on planar[channels][pixels], values in 0..1, channels 1 or 3. */
void vg_jitter__apply(float *planar, size_t channels, size_t pixels, const vg_augment *augment,
                      const vg_augment_draw *draw);

/* The constants of one loader. */
typedef struct vg_sample_plan {
    const vg_dataset *set;
    vg_augment augment;
    vg_statistics statistics; /* channels = 0: none */
    vg_layout layout;
    uint64_t seed;
    float table[VG_MAX_CHANNELS][256]; /* of a byte, normalised */
    float raw[256];                    /* of a byte, 0..1 */
} vg_sample_plan;
/* Scratch memory of one worker. */
typedef struct vg_sample_scratch {
    float *image;             /* C * H * W */
    uint32_t *columns;        /* W */
    uint8_t *bytes;           /* C * H * W, of a set that is not in memory */
    vg_image_scratch decoder; /* of such a set */
} vg_sample_scratch;
void vg_sample__plan(vg_sample_plan *plan, const vg_dataset *set, const vg_augment *augment,
                     const vg_statistics *statistics, vg_layout layout, uint64_t seed);
vg_status vg_sample__scratch(vg_sample_scratch *out, const vg_dataset *set);
void vg_sample__release(vg_sample_scratch *scratch);
/* Writes sample `index` of `epoch` to out[C * H * W]. Fails where its file cannot be decoded. */
vg_status vg_sample__make(float *out, vg_sample_scratch *scratch, const vg_sample_plan *plan, uint64_t epoch,
                          size_t index);

#endif
