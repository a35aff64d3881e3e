/* image_file.h - one compressed image file (JPEG, PNG, WebP) from its bytes to planar pixels of the target size.
 * Internal.
 *
 *     file -> header (size, colour, orientation) -> packed pixels -> upright planes, grey or RGB -> resized, cropped
 *
 * Files are not trusted: sizes are checked in the header, before any memory is allocated for them. */
#ifndef VG_IMAGE_FILE_H
#define VG_IMAGE_FILE_H

#include "base/base.h"

enum {
    VG_IMAGE_SIDE = 16384,         /* most pixels of a side */
    VG_IMAGE_PIXELS = 1 << 27,     /* most pixels of an image, 134 million: 400 MB as RGB */
    VG_IMAGE_FILE_BYTES = 1 << 29, /* largest file */
    VG_IMAGE_TARGET = 4096         /* largest side of what an image is resized or cropped to */
};

typedef struct vg_image_bytes {
    const char *path;
    const uint8_t *bytes;
    size_t size;
} vg_image_bytes;

typedef struct vg_image_header {
    size_t height, width; /* as stored, before the orientation */
    bool colour;
    unsigned orientation; /* EXIF: 1 upright .. 8 */
} vg_image_header;

/* A file format. `recognise` checks the first bytes. `decode` writes packed[height * width * (colour ? 3 : 1)],
 * channels fastest, transparency composited on black. Both begin messages with the path. */
typedef struct vg_image_codec {
    const char *name;
    bool (*recognise)(const uint8_t *bytes, size_t size);
    vg_status (*header)(vg_image_header *out, const vg_image_bytes *file);
    vg_status (*decode)(uint8_t *packed, const vg_image_header *header, const vg_image_bytes *file);
} vg_image_codec;
extern const vg_image_codec vg_image__jpeg, vg_image__png, vg_image__webp;

/* Whether this build can write PNG files; and rgb[height * width * 3] as the bytes of one, which the caller owns
 * (vg_base__release). */
bool vg_image__can_write_png(void);
vg_status vg_image__write_png(uint8_t **out, size_t *size, const uint8_t *rgb, size_t height, size_t width);

/* The orientation in a block of EXIF data (TIFF); 1 where there is none. */
unsigned vg_exif__orientation(const uint8_t *tiff, size_t size);

/* The size and channels that images are converted to. */
typedef struct vg_image_target {
    size_t resize[2];  /* {0, 0}: unchanged; {n, 0}: the shorter side n; {height, width} */
    size_t crop[2];    /* {0, 0}: none, or n x n after resize {n, 0}; {n, 0}: n x n; {height, width} */
    unsigned channels; /* 1 or 3; 0: not known yet */
} vg_image_target;
/* The size of the resized image, and the position of the result in it. */
typedef struct vg_image_window {
    size_t resized_height, resized_width;
    size_t top, left, height, width;
} vg_image_window;
/* For an image of height x width pixels. False when the crop is larger than the resized image. */
bool vg_image__window(vg_image_window *out, const vg_image_target *target, size_t height, size_t width);

/* Memory of one thread, which grows as images need it. Zero before its first use. */
typedef struct vg_image_scratch {
    uint8_t *file, *packed, *planes, *rows; /* the file; packed pixels; upright planes; rows resized one way */
    size_t file_room, packed_room, planes_room, rows_room;
    int32_t *weights[2]; /* of the resampling: across, down */
    size_t *bounds[2];   /* first source pixel and number of weights of each result */
    size_t weights_room[2], bounds_room[2];
} vg_image_scratch;
void vg_image__release(vg_image_scratch *scratch);
/* Makes room for at least `size` bytes at *memory; the content is not kept. */
vg_status vg_image__room(void *memory, size_t *room, size_t size, const char *what);

/* One plane of height x width bytes to out[window.height * window.width]. `scratch` holds rows and weights. */
vg_status vg_image__resize(uint8_t *out, const uint8_t *plane, size_t height, size_t width,
                           const vg_image_window *window, vg_image_scratch *scratch);

/* Size and colour of the upright image, from the header alone where the format allows. */
vg_status vg_image__survey(vg_image_header *out, const char *path, vg_image_scratch *scratch);
/* Decodes a file to out[channels * height * width], planar; VG_ERR_DATA when the target gives another size. */
vg_status vg_image__load(uint8_t *out, const char *path, const vg_image_target *target, size_t height, size_t width,
                         vg_image_scratch *scratch);
/* The same for planes in memory: channels 1 or 3 to target->channels. */
vg_status vg_image__fit(uint8_t *out, const uint8_t *planes, size_t channels, size_t height, size_t width,
                        const vg_image_target *target, vg_image_scratch *scratch);

/* True for names that end like an image file: .jpg, .jpeg, .png, .webp in either case. */
bool vg_image__has_name(const char *name);

#endif
