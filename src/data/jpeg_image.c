/* jpeg_image.c - JPEG files by libjpeg-turbo.
 *
 * libjpeg reports errors by a function that must not return; here it jumps back to the caller, so that the process
 * continues. Warnings about the data (it ends early, a code is not in the table) are errors too: libjpeg would fill
 * the rest of the picture with grey. Memory is limited by the size of the picture, work by a limit on the scans of a
 * progressive file. CMYK is converted as Pillow does. */
#include "data/image_file.h"

static bool recognise(const uint8_t *bytes, size_t size) {
    return size >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

#ifdef VG_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum { MOST_SCANS = 500 };

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
} decoder;

static void leave(j_common_ptr jpeg) {
    decoder *d = (decoder *)jpeg->client_data;
    jpeg->err->format_message(jpeg, d->message);
    longjmp(d->failed, 1);
}

/* level -1: a warning about the data. Some of them do not affect the picture. */
static void on_message(j_common_ptr jpeg, int level) {
    int code = jpeg->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR)
        leave(jpeg);
}

static void print_nothing(j_common_ptr jpeg) { (void)jpeg; }

static void count_scans(j_common_ptr jpeg) {
    decoder *d = (decoder *)jpeg->client_data;
    if (d->jpeg.input_scan_number > MOST_SCANS) {
        snprintf(d->message, sizeof d->message, "more than %d scans", MOST_SCANS);
        longjmp(d->failed, 1);
    }
}

/* Must be followed by jpeg_destroy_decompress, also on failure. Jumps on failure. */
static void begin(decoder *d, const vg_image_bytes *file) {
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = leave;
    d->errors.emit_message = on_message;
    d->errors.output_message = print_nothing;
    d->jpeg.client_data = d;
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.client_data = d;
    d->progress.progress_monitor = count_scans;
    d->jpeg.progress = &d->progress;
    d->jpeg.mem->max_memory_to_use = 1L << 30;
    jpeg_save_markers(&d->jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_mem_src(&d->jpeg, (unsigned char *)(uintptr_t)file->bytes, (unsigned long)file->size);
    jpeg_read_header(&d->jpeg, TRUE);
}

static vg_status failure(const decoder *d, const vg_image_bytes *file) {
    return vg_base__fail(VG_ERR_FORMAT, "%s: damaged JPEG: %s", file->path, d->message);
}

static unsigned orientation_of(const struct jpeg_decompress_struct *jpeg) {
    for (const struct jpeg_marker_struct *m = jpeg->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return vg_exif__orientation(m->data + 6, m->data_length - 6);
    return 1;
}

/* The decoder belongs to the caller, so that its content is defined after a jump. */
static vg_status read_header(decoder *d, vg_image_header *out, const vg_image_bytes *file) {
    if (setjmp(d->failed))
        return failure(d, file);
    begin(d, file);
    *out = (vg_image_header){d->jpeg.image_height, d->jpeg.image_width, d->jpeg.jpeg_color_space != JCS_GRAYSCALE,
                             orientation_of(&d->jpeg)};
    return VG_OK;
}

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    decoder d = {0};
    vg_status status = read_header(&d, out, file);
    jpeg_destroy_decompress(&d.jpeg);
    return status;
}

/* x y / 255, rounded. */
static uint8_t product(unsigned x, unsigned y) {
    unsigned p = x * y + 128;
    return (uint8_t)((p + (p >> 8)) >> 8);
}

/* Converts a row of CMYK to RGB in place. Adobe's programs store it inverted and mark the file. */
static void to_rgb(uint8_t *out, const uint8_t *row, size_t width, bool inverted) {
    for (size_t x = 0; x < width; x++) {
        unsigned white = inverted ? row[4 * x + 3] : 255u - row[4 * x + 3];
        for (size_t c = 0; c < 3; c++) {
            unsigned ink = inverted ? 255u - row[4 * x + c] : row[4 * x + c];
            out[3 * x + c] = (uint8_t)(white - product(ink, white));
        }
    }
}

/* Jumps on failure. */
static void read_rows(decoder *d, uint8_t *packed, const vg_image_header *header) {
    size_t line = header->width * (header->colour ? 3 : 1);
    bool cmyk = d->jpeg.jpeg_color_space == JCS_CMYK || d->jpeg.jpeg_color_space == JCS_YCCK;
    d->jpeg.out_color_space = cmyk ? JCS_CMYK : header->colour ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&d->jpeg);
    JSAMPARRAY inks = NULL;
    if (cmyk)
        inks = d->jpeg.mem->alloc_sarray((j_common_ptr)&d->jpeg, JPOOL_IMAGE, (JDIMENSION)(4 * header->width), 1);
    while (d->jpeg.output_scanline < d->jpeg.output_height) {
        uint8_t *to = packed + d->jpeg.output_scanline * line;
        JSAMPROW row = cmyk ? inks[0] : to;
        if (jpeg_read_scanlines(&d->jpeg, &row, 1) == 1 && cmyk)
            to_rgb(to, row, header->width, d->jpeg.saw_Adobe_marker);
    }
    jpeg_finish_decompress(&d->jpeg);
}

static vg_status read_image(decoder *d, uint8_t *packed, const vg_image_header *header, const vg_image_bytes *file) {
    if (setjmp(d->failed))
        return failure(d, file);
    begin(d, file);
    if (d->jpeg.image_height != header->height || d->jpeg.image_width != header->width ||
        (d->jpeg.jpeg_color_space != JCS_GRAYSCALE) != header->colour)
        return vg_base__fail(VG_ERR_FORMAT, "%s: changed while it was read", file->path);
    read_rows(d, packed, header);
    return VG_OK;
}

static vg_status decode(uint8_t *packed, const vg_image_header *header, const vg_image_bytes *file) {
    decoder d = {0};
    vg_status status = read_image(&d, packed, header, file);
    jpeg_destroy_decompress(&d.jpeg);
    return status;
}

#else

static vg_status header(vg_image_header *out, const vg_image_bytes *file) {
    *out = (vg_image_header){0};
    return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: this build has no libjpeg to read JPEG files", file->path);
}

static vg_status decode(uint8_t *packed, const vg_image_header *given, const vg_image_bytes *file) {
    vg_image_header none;
    (void)packed, (void)given;
    return header(&none, file);
}

#endif

const vg_image_codec vg_image__jpeg = {"JPEG", recognise, header, decode};
