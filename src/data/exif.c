/* exif.c - the orientation of a photograph, from its EXIF block.
 *
 * EXIF is a TIFF file: "II" or "MM" (byte order), 42 as 16 bits, the offset of the first directory as 32 bits. A
 * directory is a 16-bit count of entries of 12 bytes: tag, type (16 bits each), count, value (32 bits each). Tag 0x0112
 * of type 3 (16 bits) is the orientation:
 *
 *     1 upright   2 mirrored   3 turned by 180   4 upside down, mirrored
 *     5 transposed   6 to be turned right   7 transposed the other way   8 to be turned left
 *
 * Where the block cannot be read, the image is taken as upright. */
#include "data/image_file.h"

static unsigned two(const uint8_t *at, bool big) {
    return big ? (unsigned)at[0] << 8 | at[1] : (unsigned)at[1] << 8 | at[0];
}

static size_t four(const uint8_t *at, bool big) {
    return big ? (size_t)two(at, big) << 16 | two(at + 2, big) : (size_t)two(at + 2, big) << 16 | two(at, big);
}

unsigned vg_exif__orientation(const uint8_t *tiff, size_t size) {
    if (size < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M'))
        return 1;
    bool big = tiff[0] == 'M';
    size_t directory = four(tiff + 4, big);
    if (two(tiff + 2, big) != 42 || directory > size - 2)
        return 1;
    size_t entries = two(tiff + directory, big), room = (size - directory - 2) / 12;
    for (size_t i = 0; i < entries && i < room; i++) {
        const uint8_t *entry = tiff + directory + 2 + 12 * i;
        if (two(entry, big) == 0x0112 && two(entry + 2, big) == 3) {
            unsigned value = two(entry + 8, big);
            return value >= 1 && value <= 8 ? value : 1;
        }
    }
    return 1;
}
