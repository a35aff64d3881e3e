/* png_image.c - PNG files by libpng's simplified interface. 16 bits are reduced to 8, palettes resolved. The
 * orientation is in a chunk eXIf. A file is a signature of 8 bytes, then chunks: length (32 bits, big-endian),
 * type, data, checksum. */
#include <string.h>

#include "data/image_file.h"

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static bool recognise(const uint8_t *bytes, size_t size) { return size >= 8 && memcmp(bytes, signature, 8) == 0; }

#ifdef VG_HAVE_PNG
#include <png.h>

static unsigned orientation_of(const vg_image_bytes *file) {
    size_t at = 8;
    while (at + 12 <= file->size) {
        const uint8_t *chunk = file->bytes + at;
        size_t length = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (length > file->size - at - 12)
            return 1;
        if (memcmp(chunk + 4, "eXIf", 4) == 0)
            return vg_exif__orientation(chunk + 8, length);
        at += 12 + length;
    }
    return 1;
}

static vg_status begin(png_image *image, const vg_image_bytes *file) {
    memset(image, 0, sizeof *image);
    image->version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(image, file->bytes, file->size))
        return vg_base__fail(VG_ERR_FORMAT, "%s: damaged PNG: %s", file->path, image->message);
    return VG_OK;
}

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    png_image image;
    VG_TRY(begin(&image, file));
    *out =
        (vg_image_header){image.height, image.width, (image.format & PNG_FORMAT_FLAG_COLOR) != 0, orientation_of(file)};
    png_image_free(&image);
    return VG_OK;
}

static vg_status decode(uint8_t *packed, const vg_image_header *header, const vg_image_bytes *file) {
    png_image image;
    VG_TRY(begin(&image, file));
    if (image.height != header->height || image.width != header->width) {
        png_image_free(&image);
        return vg_base__fail(VG_ERR_FORMAT, "%s: changed while it was read", file->path);
    }
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16-bit files hold the same scale as 8-bit ones, not linear light */
    image.format = header->colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    const png_color black = {0, 0, 0};
    if (png_image_finish_read(&image, &black, packed, 0, NULL))
        return VG_OK;
    vg_status status = vg_base__fail(VG_ERR_FORMAT, "%s: damaged PNG: %s", file->path, image.message);
    png_image_free(&image);
    return status;
}

#else

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    *out = (vg_image_header){0};
    return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: this build has no libpng to read PNG files", file->path);
}

static vg_status decode(uint8_t *packed, const vg_image_header *given, const vg_image_bytes *file) {
    vg_image_header none;
    (void)packed, (void)given;
    return header(&none, file);
}

#endif

const vg_image_codec vg_image__png = {"PNG", recognise, header, decode};

/* --- writing ------------------------------------------------------------------------------------------------------ */
#ifdef VG_HAVE_PNG

bool vg_image__can_write_png(void) { return true; }

vg_status vg_image__write_png(uint8_t **out, size_t *size, const uint8_t *rgb, size_t height, size_t width) {
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    png_alloc_size_t bytes = 0;
    image.height = (png_uint_32)height;
    image.width = (png_uint_32)width;
    *out = NULL;
    if (height > VG_IMAGE_SIDE || width > VG_IMAGE_SIDE ||
        !png_image_write_get_memory_size(image, bytes, 0, rgb, 0, NULL))
        return vg_base__fail(VG_ERR_UNSUPPORTED, "a picture of %zu x %zu pixels is not written", height, width);
    VG_TRY(vg_base__alloc(out, bytes, 1, "a picture"));
    if (png_image_write_to_memory(&image, *out, &bytes, 0, rgb, 0, NULL)) {
        *size = bytes;
        return VG_OK;
    }
    vg_base__release(*out);
    *out = NULL;
    return vg_base__fail(VG_ERR_UNSUPPORTED, "a picture is not written: %s", image.message);
}

#else

bool vg_image__can_write_png(void) { return false; }

vg_status vg_image__write_png(uint8_t **out, size_t *size, const uint8_t *rgb, size_t height, size_t width) {
    (void)rgb, (void)height, (void)width;
    *out = NULL, *size = 0;
    return vg_base__fail(VG_ERR_UNSUPPORTED, "this build has no libpng to write pictures");
}

#endif
