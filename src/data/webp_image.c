/* webp_image.c - WebP files by libwebp. Always colour. The orientation is in a chunk EXIF of the container: "RIFF",
 * size, "WEBP", then chunks of four letters, size (32 bits, little-endian) and data, padded to even sizes.
 * Animations are refused, because they hold several pictures. */
#include <string.h>

#include "data/image_file.h"

static bool recognise(const uint8_t *bytes, size_t size) {
    return size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

#ifdef VG_HAVE_WEBP
#include <webp/decode.h>

static unsigned orientation_of(const vg_image_bytes *file) {
    size_t at = 12;
    while (at + 8 <= file->size) {
        const uint8_t *chunk = file->bytes + at, *data = chunk + 8;
        size_t length = (size_t)chunk[7] << 24 | (size_t)chunk[6] << 16 | (size_t)chunk[5] << 8 | chunk[4];
        if (length > file->size - at - 8)
            return 1;
        if (memcmp(chunk, "EXIF", 4) == 0) {
            bool named =
                length > 6 && memcmp(data, "Exif\0\0", 6) == 0; /* some writers keep the prefix that JPEG uses */
            return vg_exif__orientation(named ? data + 6 : data, named ? length - 6 : length);
        }
        at += 8 + length + (length & 1);
    }
    return 1;
}

static vg_status features_of(WebPBitstreamFeatures *out, const vg_image_bytes *file) {
    static const char *const reasons[] = {
        "",          "out of memory", "invalid parameter", "a bitstream error", "an unsupported feature",
        "suspended", "aborted",       "it ends early"};
    VP8StatusCode code = WebPGetFeatures(file->bytes, file->size, out);
    if (code != VP8_STATUS_OK)
        return vg_base__fail(VG_ERR_FORMAT, "%s: damaged WebP: %s", file->path,
                             (unsigned)code < 8 ? reasons[code] : "unreadable");
    if (out->has_animation)
        return vg_base__fail(VG_ERR_FORMAT, "%s: an animated WebP, one picture expected", file->path);
    return VG_OK;
}

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    WebPBitstreamFeatures features;
    VG_TRY(features_of(&features, file));
    if (features.width <= 0 || features.height <= 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: damaged WebP: no size", file->path);
    *out = (vg_image_header){(size_t)features.height, (size_t)features.width, true, orientation_of(file)};
    return VG_OK;
}

/* Composites RGBA on black. */
static void drop_alpha(uint8_t *packed, const uint8_t *rgba, size_t pixels) {
    for (size_t p = 0; p < pixels; p++)
        for (size_t c = 0; c < 3; c++)
            packed[3 * p + c] = (uint8_t)((rgba[4 * p + c] * rgba[4 * p + 3] + 127) / 255);
}

static vg_status decode(uint8_t *packed, const vg_image_header *header, const vg_image_bytes *file) {
    WebPBitstreamFeatures features;
    size_t pixels = header->height * header->width;
    VG_TRY(features_of(&features, file));
    if ((size_t)features.height != header->height || (size_t)features.width != header->width)
        return vg_base__fail(VG_ERR_FORMAT, "%s: changed while it was read", file->path);
    bool done;
    if (features.has_alpha) {
        uint8_t *rgba;
        VG_TRY(vg_base__alloc(&rgba, pixels, 4, "an image with transparency"));
        done = WebPDecodeRGBAInto(file->bytes, file->size, rgba, 4 * pixels, (int)(4 * header->width)) != NULL;
        if (done)
            drop_alpha(packed, rgba, pixels);
        vg_base__release(rgba);
    } else {
        done = WebPDecodeRGBInto(file->bytes, file->size, packed, 3 * pixels, (int)(3 * header->width)) != NULL;
    }
    return done ? VG_OK : vg_base__fail(VG_ERR_FORMAT, "%s: damaged WebP: it cannot be decoded", file->path);
}

#else

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    *out = (vg_image_header){0};
    return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: this build has no libwebp to read WebP files", file->path);
}

static vg_status decode(uint8_t *packed, const vg_image_header *given, const vg_image_bytes *file) {
    vg_image_header none;
    (void)packed, (void)given;
    return header(&none, file);
}

#endif

const vg_image_codec vg_image__webp = {"WebP", recognise, header, decode};
