/* text.c - plain text files written beside and renamed into place. */
#include "base/base.h"
#include "base/file.h"
#include "formats/arrays.h"
#include "vargate/formats.h"

struct vg_text {
    vg_output *output;
    bool failed;
};

vg_status vg_text_open(vg_text **out, const char *path) {
    if (!out || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text_open: out and path must not be NULL");
    *out = NULL;
    vg_text *text;
    VG_TRY(vg_base__zalloc(&text, 1, sizeof *text, "a text file"));
    vg_status status = vg_output__open(&text->output, path);
    if (status != VG_OK) {
        vg_base__release(text);
        return status;
    }
    *out = text;
    return VG_OK;
}

vg_status vg_text_write(vg_text *text, const void *bytes, size_t size) {
    if (!text || (!bytes && size))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text_write: text and bytes must not be NULL");
    if (text->failed)
        return vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", vg_output__path(text->output));
    vg_status status = vg_output__write(text->output, bytes, size);
    text->failed = status != VG_OK;
    return status;
}

vg_status vg_text_close(vg_text *text) {
    if (!text)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text_close: text must not be NULL");
    if (text->failed) {
        vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", vg_output__path(text->output));
        vg_text_abandon(text);
        return VG_ERR_IO;
    }
    vg_output *output = text->output;
    vg_base__release(text);
    return vg_output__commit(output);
}

void vg_text_abandon(vg_text *text) {
    if (!text)
        return;
    vg_output__abandon(text->output);
    vg_base__release(text);
}

vg_status vg_text__save(const char *path, const char *text, size_t length) {
    vg_text *file;
    VG_TRY(vg_text_open(&file, path));
    vg_status status = vg_text_write(file, text, length);
    if (status == VG_OK)
        return vg_text_close(file);
    vg_text_abandon(file);
    return status;
}
