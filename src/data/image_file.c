/* image_file.c - a compressed image from its file to planes of the target size. See image_file.h.
 *
 * Grey from colour is Pillow's and ITU-R 601-2's luma: (19595 R + 38470 G + 7471 B + 32768) / 65536. The conversion
 * precedes the resampling. The size of the resized image and the position of the crop are those of torchvision's
 * Resize and CenterCrop. */
#include "data/image_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 1 << 18, /* enough for the header of almost every JPEG, its EXIF thumbnail included */
    LARGE = 1 << 24         /* pixels of an image that takes 100 MB or more */
};

void vg_image__release(vg_image_scratch *s) {
    void *all[] = {s->file, s->packed, s->planes, s->rows, s->weights[0], s->weights[1], s->bounds[0], s->bounds[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vg_base__release(all[i]);
    *s = (vg_image_scratch){0};
}

vg_status vg_image__room(void *memory, size_t *room, size_t size, const char *what) {
    void **place = memory;
    if (*place && *room >= size)
        return VG_OK;
    vg_base__release(*place);
    *place = NULL;
    *room = 0;
    VG_TRY(vg_base__alloc(place, size, 1, what));
    *room = size;
    return VG_OK;
}

bool vg_image__has_name(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

/* --- bytes of the file --- */

static vg_status read_bytes(vg_image_bytes *out, int descriptor, const char *path, size_t most,
                            vg_image_scratch *scratch) {
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return vg_base__fail(VG_ERR_IO, "%s: not a file", path);
    size_t size = (size_t)about.st_size, got = 0;
    if (size > VG_IMAGE_FILE_BYTES)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %zu bytes, at most %d expected of an image", path, size,
                             VG_IMAGE_FILE_BYTES);
    size = size < most ? size : most;
    VG_TRY(vg_image__room(&scratch->file, &scratch->file_room, size ? size : 1, "an image file"));
    while (got < size) {
        ssize_t part = read(descriptor, scratch->file + got, size - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
        if (part == 0)
            break;
        got += (size_t)part;
    }
    *out = (vg_image_bytes){path, scratch->file, got};
    return VG_OK;
}

/* Reads at most the first `most` bytes. */
static vg_status take_bytes(vg_image_bytes *out, const char *path, size_t most, vg_image_scratch *scratch) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of this name must not block */
    if (descriptor < 0)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    vg_status status = read_bytes(out, descriptor, path, most, scratch);
    close(descriptor);
    return status;
}

static vg_status find_codec(const vg_image_codec **out, const vg_image_bytes *file) {
    static const vg_image_codec *const codecs[] = {&vg_image__jpeg, &vg_image__png, &vg_image__webp};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i]->recognise(file->bytes, file->size)) {
            *out = codecs[i];
            return VG_OK;
        }
    uint8_t first[4] = {0};
    memcpy(first, file->bytes, file->size < 4 ? file->size : 4);
    if (file->size == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: is empty, a JPEG, PNG or WebP image expected", file->path);
    return vg_base__fail(VG_ERR_FORMAT, "%s: starts with 0x%02x%02x%02x%02x, a JPEG, PNG or WebP image expected",
                         file->path, first[0], first[1], first[2], first[3]);
}

static vg_status check_size(const vg_image_header *header, const char *path) {
    size_t height = header->height, width = header->width;
    if (height == 0 || width == 0 || height > VG_IMAGE_SIDE || width > VG_IMAGE_SIDE ||
        height * width > VG_IMAGE_PIXELS)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: %zux%zu pixels (rows x columns), at most %d each way and %d in all expected", path,
                             height, width, VG_IMAGE_SIDE, VG_IMAGE_PIXELS);
    return VG_OK;
}

static bool lies_down(const vg_image_header *header) { return header->orientation >= 5; }

vg_status vg_image__survey(vg_image_header *out, const char *path, vg_image_scratch *scratch) {
    vg_image_bytes file;
    const vg_image_codec *codec;
    VG_TRY(take_bytes(&file, path, HEADER_BYTES, scratch));
    VG_TRY(find_codec(&codec, &file));
    vg_status status = codec == &vg_image__jpeg ? codec->header(out, &file) : VG_ERR_FORMAT;
    if (status != VG_OK && status != VG_ERR_UNSUPPORTED) {
        if (file.size == HEADER_BYTES)
            VG_TRY(take_bytes(&file, path, SIZE_MAX, scratch));
        status = codec->header(out, &file);
    }
    VG_TRY(status);
    VG_TRY(check_size(out, path));
    if (lies_down(out)) {
        size_t height = out->height;
        out->height = out->width, out->width = height;
    }
    out->orientation = 1;
    return VG_OK;
}

/* --- from packed pixels to upright planes --- */

static uint8_t luma(const uint8_t *rgb) {
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* Pixel (y, x) of the upright image lies at packed pixel origin + y * down + x * across. */
typedef struct pixel_order {
    ptrdiff_t origin, down, across;
} pixel_order;

static pixel_order upright(const vg_image_header *h) {
    ptrdiff_t width = (ptrdiff_t)h->width, last_row = ((ptrdiff_t)h->height - 1) * width, last = width - 1;
    switch (h->orientation) {
    case 2: return (pixel_order){last, width, -1};
    case 3: return (pixel_order){last_row + last, -width, -1};
    case 4: return (pixel_order){last_row, -width, 1};
    case 5: return (pixel_order){0, 1, width};
    case 6: return (pixel_order){last_row, 1, -width};
    case 7: return (pixel_order){last_row + last, -1, -width};
    case 8: return (pixel_order){last, -1, width};
    default: return (pixel_order){0, width, 1};
    }
}

static void to_planes(uint8_t *planes, const uint8_t *packed, const vg_image_header *header, unsigned channels) {
    size_t height = lies_down(header) ? header->width : header->height, plane = header->height * header->width;
    size_t width = plane / height;
    pixel_order w = upright(header);
    for (size_t y = 0; y < height; y++) {
        ptrdiff_t at = w.origin + (ptrdiff_t)y * w.down;
        uint8_t *to = planes + y * width;
        if (header->colour && channels == 3)
            for (size_t x = 0; x < width; x++, at += w.across) {
                to[x] = packed[3 * at];
                to[x + plane] = packed[3 * at + 1];
                to[x + 2 * plane] = packed[3 * at + 2];
            }
        else
            for (size_t x = 0; x < width; x++, at += w.across)
                to[x] = header->colour ? luma(packed + 3 * at) : packed[at];
    }
}

/* --- the target --- */

bool vg_image__window(vg_image_window *out, const vg_image_target *target, size_t height, size_t width) {
    size_t n = target->resize[0], crop_height = target->crop[0], crop_width = target->crop[1];
    out->resized_height = n ? n : height;
    out->resized_width = n ? target->resize[1] : width;
    if (n && !target->resize[1]) { /* the shorter side becomes n */
        out->resized_height = height <= width ? n : n * height / width;
        out->resized_width = height <= width ? n * width / height : n;
        if (!crop_height)
            crop_height = n;
    }
    if (!crop_width)
        crop_width = crop_height;
    out->height = crop_height ? crop_height : out->resized_height;
    out->width = crop_width ? crop_width : out->resized_width;
    if (out->height > out->resized_height || out->width > out->resized_width)
        return false;
    out->top = (size_t)lrint((double)(out->resized_height - out->height) / 2.0);
    out->left = (size_t)lrint((double)(out->resized_width - out->width) / 2.0);
    return true;
}

/* Resizes the `made` planes; a single grey plane is copied to all channels of the target. */
static vg_status fit_planes(uint8_t *out, const uint8_t *planes, size_t made, size_t height, size_t width,
                            const vg_image_target *target, vg_image_scratch *scratch) {
    vg_image_window window;
    vg_image__window(&window, target, height, width);
    size_t plane = window.height * window.width;
    for (size_t c = 0; c < made; c++)
        VG_TRY(vg_image__resize(out + c * plane, planes + c * height * width, height, width, &window, scratch));
    for (size_t c = made; c < target->channels; c++)
        memcpy(out + c * plane, out, plane);
    return VG_OK;
}

vg_status vg_image__fit(uint8_t *out, const uint8_t *planes, size_t channels, size_t height, size_t width,
                        const vg_image_target *target, vg_image_scratch *scratch) {
    size_t plane = height * width;
    if (channels == 3 && target->channels == 1) {
        VG_TRY(vg_image__room(&scratch->planes, &scratch->planes_room, plane, "a grey image"));
        for (size_t p = 0; p < plane; p++) {
            const uint8_t rgb[3] = {planes[p], planes[plane + p], planes[2 * plane + p]};
            scratch->planes[p] = luma(rgb);
        }
        planes = scratch->planes, channels = 1;
    }
    return fit_planes(out, planes, channels, height, width, target, scratch);
}

static vg_status check_target(const vg_image_target *target, size_t rows, size_t columns, size_t height, size_t width,
                              const char *path) {
    vg_image_window window;
    if (!vg_image__window(&window, target, rows, columns))
        return vg_base__fail(VG_ERR_DATA,
                             "%s: %zux%zu pixels (rows x columns), smaller than the %zux%zu that are to be cut out of "
                             "it; resize makes it larger first",
                             path, window.resized_height, window.resized_width, window.height, window.width);
    if (window.height != height || window.width != width)
        return vg_base__fail(VG_ERR_DATA, "%s: %zux%zu pixels (rows x columns), %zux%zu expected", path, window.height,
                             window.width, height, width);
    return VG_OK;
}

/* Decodes the file and fits it; sizes are checked. */
static vg_status make(uint8_t *out, const vg_image_codec *codec, const vg_image_header *header,
                      const vg_image_bytes *file, const vg_image_target *target, vg_image_scratch *scratch) {
    size_t rows = lies_down(header) ? header->width : header->height, plane = header->height * header->width;
    size_t made = header->colour && target->channels == 3 ? 3 : 1;
    VG_TRY(vg_image__room(&scratch->packed, &scratch->packed_room, plane * (header->colour ? 3 : 1), "an image"));
    VG_TRY(vg_image__room(&scratch->planes, &scratch->planes_room, plane * made, "planes of an image"));
    VG_TRY(codec->decode(scratch->packed, header, file));
    to_planes(scratch->planes, scratch->packed, header, target->channels);
    return fit_planes(out, scratch->planes, made, rows, plane / rows, target, scratch);
}

vg_status vg_image__load(uint8_t *out, const char *path, const vg_image_target *target, size_t height, size_t width,
                         vg_image_scratch *scratch) {
    vg_image_bytes file;
    const vg_image_codec *codec;
    vg_image_header header;
    VG_TRY(take_bytes(&file, path, SIZE_MAX, scratch));
    VG_TRY(find_codec(&codec, &file));
    VG_TRY(codec->header(&header, &file));
    VG_TRY(check_size(&header, path));
    size_t rows = lies_down(&header) ? header.width : header.height, plane = header.height * header.width;
    VG_TRY(check_target(target, rows, plane / rows, height, width, path));
    if (plane <= LARGE)
        return make(out, codec, &header, &file, target, scratch);
    /* Large images are decoded one at a time and their memory is released, so that threads do not hold several at
     * once. */
    static pthread_mutex_t one_large = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_large);
    vg_status status = make(out, codec, &header, &file, target, scratch);
    vg_image__release(scratch);
    pthread_mutex_unlock(&one_large);
    return status;
}
