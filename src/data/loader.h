/* loader.h - batches of augmented, normalised images, prepared ahead by worker threads.
 *
 *     vg_loader_options options = VG_LOADER_OPTIONS_INIT;
 *     options.statistics = statistics;
 *     vg_loader__new(&loader, set, fit, fit_count, &options);
 *     for (;;) vg_loader__next(loader, &batch);                       // epoch after epoch, without end
 *
 * A loader serves one caller at a time. */
#ifndef VG_LOADER_H
#define VG_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "data/samples.h"
#include "vargate/data.h"
#include "vargate/status.h"
#include "vargate/types.h"

/* --- augmentation ------------------------------------------------------------------------------------------------- */
/* Settings of the augmentation; zeros are off. Applied in this order: crop, flip, jitter, normalisation, erasing. Every
 * draw depends on (seed, epoch, index of the sample) alone. The values in brackets are usual for 32x32 images. */
typedef struct vg_augment {
    unsigned crop_pad; /* pixels of reflection padding, before the original size is cropped at a random position [4] */
    double flip;       /* probability of a left-right flip [0.5] */
    double erase;      /* probability of random erasing: area 2..33 %, aspect 0.3..3.3, set to the mean [0.5] */
    /* Strengths of the colour jitter [0.2, 0.2, 0.2, 0.1]; pixels must lie in 0..1. */
    double brightness, contrast, saturation, hue;
} vg_augment;
#define VG_AUGMENT_NONE {0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
#define VG_AUGMENT_CIFAR {4, 0.5, 0.5, 0.2, 0.2, 0.2, 0.1}

/* --- batches ------------------------------------------------------------------------------------------------------ */
typedef struct vg_loader_options {
    size_t struct_size; /* set by VG_LOADER_OPTIONS_INIT; a smaller one, of an older header, is accepted */
    size_t batch;       /* samples per batch; the last of an epoch may be smaller */
    int shuffle;        /* a new order every epoch, from (seed, epoch); else the order of the indices */
    int drop_last;      /* leave out an incomplete last batch */
    uint64_t seed;
    vg_layout layout;
    vg_augment augment;
    vg_statistics statistics; /* channels = 0: plain 0..1 values */
    unsigned threads;         /* workers that prepare batches; 0: one per core, at most 4 (16 for images that are not
                                 in memory). They change no content */
    unsigned prefetch;        /* batches prepared ahead; 0: 2 per worker (1 for images that are not in memory) */
    /* An epoch has as many samples as the set, drawn with replacement from (seed, epoch): classes equally often, the
     * samples of a class equally often. Replaces shuffle. */
    int balance;
} vg_loader_options;
#define VG_LOADER_OPTIONS_INIT                                                                                         \
    {sizeof(vg_loader_options), 128, 1, 0, 0, VG_LAYOUT_NCHW, VG_AUGMENT_NONE, {0, {0}, {0}}, 0, 0, 0}

/* Pointers are borrowed from the loader until the next call of vg_loader__next, _seek or _free. */
typedef struct vg_batch {
    const float *images;   /* count * C * H * W in the loader's layout, normalised, 64-byte aligned */
    const int32_t *labels; /* count; -1 each when the set has none */
    const size_t *indices; /* count: positions in the vg_dataset */
    size_t count;
    uint64_t epoch; /* from 0 */
    size_t step;    /* within the epoch, 0 .. vg_loader__steps - 1 */
} vg_batch;

typedef struct vg_loader vg_loader;
/* *out is owned by the caller. `set` is borrowed until vg_loader__free; `indices` (NULL: all of the set) and the
 * options (NULL: the defaults) are copied. The workers start at once, at epoch 0, step 0. */
vg_status vg_loader__new(vg_loader **out, const vg_dataset *set, const size_t *indices, size_t count,
                         const vg_loader_options *options);
void vg_loader__free(vg_loader *loader);          /* NULL is accepted */
size_t vg_loader__steps(const vg_loader *loader); /* batches per epoch */
/* Gives the next batch, waiting until it is ready. The last batch of an epoch is followed by the first of the next. */
vg_status vg_loader__next(vg_loader *loader, vg_batch *batch);
/* Makes (epoch, step) the next batch, so that a resumed run continues where it stopped. step = vg_loader__steps
 * means the first of the next epoch; VG_ERR_ARGUMENT beyond. */
vg_status vg_loader__seek(vg_loader *loader, uint64_t epoch, size_t step);

/* Writes the draws of an epoch in the order of its batches, as many as vg_loader__new was given samples. Does not
 * change the loader's position, and may run concurrently with next and seek. VG_ERR_ARGUMENT for images of more than
 * 32767 pixels on a side. */
vg_status vg_loader__draws(const vg_loader *loader, uint64_t epoch, vg_sample_draw *samples);

#endif
