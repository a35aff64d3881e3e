/* text.c - plain text files written beside and renamed into place; "-" is standard output, written at once. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "formats/arrays.h"
#include "formats/text_file.h"
#include "vargate/formats.h"

struct vg_text {
    vg_output *output; /* NULL: standard output */
    bool failed;
};

static const char *name_of(const vg_text *text) {
    return text->output ? vg_output__path(text->output) : "standard output";
}

static vg_status write_stream(const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return vg_base__fail(VG_ERR_IO, "standard output: %s", strerror(errno));
        bytes += done;
        size -= (size_t)done;
    }
    return VG_OK;
}

vg_status vg_text__open(vg_text **out, const char *path) {
    if (!out || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text__open: out and path must not be NULL");
    *out = NULL;
    vg_text *text;
    VG_TRY(vg_base__zalloc(&text, 1, sizeof *text, "a text file"));
    vg_status status = strcmp(path, "-") == 0 ? VG_OK : vg_output__open(&text->output, path);
    if (status != VG_OK) {
        vg_base__release(text);
        return status;
    }
    *out = text;
    return VG_OK;
}

vg_status vg_text__write(vg_text *text, const void *bytes, size_t size) {
    if (!text || (!bytes && size))
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text__write: text and bytes must not be NULL");
    if (text->failed)
        return vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", name_of(text));
    vg_status status = text->output ? vg_output__write(text->output, bytes, size) : write_stream(bytes, size);
    text->failed = status != VG_OK;
    return status;
}

vg_status vg_text__close(vg_text *text) {
    if (!text)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_text__close: text must not be NULL");
    if (text->failed) {
        vg_base__fail(VG_ERR_IO, "%s: an earlier write failed", name_of(text));
        vg_text__abandon(text);
        return VG_ERR_IO;
    }
    vg_output *output = text->output;
    vg_base__release(text);
    return output ? vg_output__commit(output) : VG_OK;
}

void vg_text__abandon(vg_text *text) {
    if (!text)
        return;
    if (text->output)
        vg_output__abandon(text->output);
    vg_base__release(text);
}

vg_status vg_text_save(const char *path, const char *text, size_t length) {
    VG_TRY(vg_base__given(path && (text || length == 0), "vg_text_save: path and text"));
    vg_text *file;
    VG_TRY(vg_text__open(&file, path));
    vg_status status = vg_text__write(file, text, length);
    if (status == VG_OK)
        return vg_text__close(file);
    vg_text__abandon(file);
    return status;
}
