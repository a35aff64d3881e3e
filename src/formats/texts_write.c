/* texts_write.c - a list of texts as an array of NumPy's str_ type: '<U8', eight UTF-32 code points per element,
 * padded with zeros (.npy and .npz; .safetensors has no texts). */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "formats/writer.h"

/* The next code point of UTF-8 text, or 0xfffd for bytes that are none, surrogates and overlong forms included: NumPy
 * reads no array that has them. *text moves past it. */
static uint32_t code_point(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    unsigned more = *p < 0x80                 ? 0
                    : *p >= 0xc2 && *p < 0xe0 ? 1
                    : *p >= 0xe0 && *p < 0xf0 ? 2
                    : *p >= 0xf0 && *p < 0xf5 ? 3
                                              : 4;
    static const unsigned char first[] = {0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (more == 4) {
        *text += 1;
        return 0xfffd;
    }
    uint32_t value = *p & first[more];
    for (unsigned i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *text += i;
            return 0xfffd;
        }
        value = value << 6 | (p[i] & 0x3f);
    }
    *text += more + 1;
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < least[more] || value > 0x10ffff || surrogate ? 0xfffd : value;
}

static size_t characters(const char *text) {
    size_t count = 0;
    while (*text) {
        code_point(&text);
        count++;
    }
    return count;
}

vg_status vg_writer__texts(vg_writer *writer, const char *name, const char *const *texts, size_t count) {
    size_t widest = 1;
    if (!writer || !name || (count && !texts))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_writer__texts: writer, name and texts must not be NULL");
    for (size_t i = 0; i < count; i++) {
        size_t wide = characters(texts[i]);
        widest = wide > widest ? wide : widest;
    }
    VG_TRY(vg_writer__begin_texts(writer, name, widest, count));
    uint8_t *line;
    VG_TRY(vg_base__alloc(&line, 4 * widest, 1, "a text"));
    vg_status status = VG_OK;
    for (size_t i = 0; i < count && status == VG_OK; i++) {
        const char *text = texts[i];
        memset(line, 0, 4 * widest);
        for (uint8_t *to = line; *text; to += 4)
            vg_put32(to, code_point(&text));
        status = vg_writer__append(writer, line, 4 * widest);
    }
    vg_base__release(line);
    return status;
}
