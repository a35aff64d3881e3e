/* fuzz_images.c - JPEG, PNG and WebP decoders on any bytes in memory, and the orientation in EXIF data. Images of more
 * than 2^18 pixels are read in their header only, so that an execution stays short. */
#include <stdint.h>

#include "base/base.h"
#include "data/image_file.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PIXELS = 1 << 18 };

static void decode(const vg_image_codec *codec, const vg_image_bytes *file) {
    vg_image_header header;
    uint8_t *packed;
    vg_status status = codec->header(&header, file);
    fuzz_check(status);
    if (status != VG_OK)
        return;
    if (header.orientation < 1 || header.orientation > 8)
        abort();
    if (header.height > FUZZ_PIXELS || header.width > FUZZ_PIXELS || header.height * header.width > FUZZ_PIXELS)
        return;
    status = vg_base__alloc(&packed, header.height * header.width, header.colour ? 3 : 1, "pixels");
    fuzz_check(status);
    if (status != VG_OK)
        return;
    fuzz_check(codec->decode(packed, &header, file));
    vg_base__release(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const vg_image_codec *const codecs[] = {&vg_image__jpeg, &vg_image__png, &vg_image__webp};
    vg_image_bytes file = {"fuzz", data, size};
    bool known = false;
    for (int i = 0; i < 3; i++)
        if (codecs[i]->recognise(data, size)) {
            known = true;
            decode(codecs[i], &file);
        }
    if (!known) {
        unsigned orientation = vg_exif__orientation(data, size);
        if (orientation < 1 || orientation > 8)
            abort();
    }
    return 0;
}
