/* kept_sites.c - the samples that a fit takes. See kept_sites.h. Rows of sites that are kept are copied into a packed
 * buffer (rows, M, C); where none is left out, blocks are those of the file. */
#include "workflow/kept_sites.h"

#include <string.h>

enum { SPAN = 1 << 16 }; /* sites that are read at once */

/* Reads the maps a part at a time, and keeps the labels and numbers of the sites that are not left out. */
static vg_status read_maps(vg_kept_sites *k) {
    vg_score_input *in = k->in;
    size_t n = in->layout.n, sites = vg_score_input__unit_rows(in);
    k->images = n / sites;
    VG_TRY(vg_base__zalloc(&k->image_ends, k->images, sizeof *k->image_ends, "images"));
    VG_TRY(vg_base__alloc(&k->own_labels, n, sizeof *k->own_labels, "labels"));
    if (in->ignore)
        VG_TRY(vg_base__alloc(&k->site, n, sizeof *k->site, "sites"));
    for (size_t first = 0; first < n; first += SPAN) {
        size_t rows = n - first < SPAN ? n - first : SPAN;
        VG_TRY(vg_score_input__read_block(in, first, rows));
        for (size_t i = 0; i < rows; i++) {
            if (in->block_left[i])
                continue;
            if (k->site)
                k->site[k->n] = first + i;
            k->own_labels[k->n++] = in->block_labels[i];
            k->image_ends[(first + i) / sites] = k->n;
        }
    }
    for (size_t i = 1; i < k->images; i++) /* an image without samples ends where the one before does */
        k->image_ends[i] = k->image_ends[i] ? k->image_ends[i] : k->image_ends[i - 1];
    k->labels = k->own_labels;
    vg_predictions one;
    VG_TRY(vg_prediction_file_block(in->file, 0, 1, &one));
    k->width = one.dtype == VG_F32 ? sizeof(float) : sizeof(double);
    return vg_score_input__some_left(in);
}

vg_status vg_kept_sites__open(vg_kept_sites *k, vg_score_input *in) {
    *k = (vg_kept_sites){.in = in, .labels = in->labels};
    VG_TRY(vg_score_input__need_labels(in));
    if (in->maps.source)
        return read_maps(k);
    k->n = in->layout.n;
    return VG_OK;
}

vg_status vg_kept_sites__conclude(const vg_kept_sites *k, vg_status status) {
    const char *counted = k->site && status == VG_ERR_DATA ? " (counted among the sites that --ignore keeps)" : "";
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s%s", k->in->path, vg_error_message(), counted);
}

void vg_kept_sites__close(vg_kept_sites *k) {
    vg_base__release(k->own_labels);
    vg_base__release(k->image_ends);
    vg_base__release(k->site);
    vg_base__release(k->buffer);
    *k = (vg_kept_sites){0};
}

/* Copies row i of the view to a packed row (M, C). */
static void copy_row(void *out, const vg_predictions *view, size_t i) {
    size_t at = 0;
    for (size_t m = 0; m < view->m; m++)
        for (size_t c = 0; c < view->c; c++, at++) {
            ptrdiff_t from =
                (ptrdiff_t)i * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
            if (view->dtype == VG_F32)
                ((float *)out)[at] = ((const float *)view->data)[from];
            else
                ((double *)out)[at] = ((const double *)view->data)[from];
        }
}

static vg_status make_room(vg_kept_sites *k, size_t rows) {
    size_t bytes;
    if (!vg_base__mul(&bytes, rows, k->in->layout.m * k->in->layout.c * k->width))
        return vg_base__fail(VG_ERR_MEMORY, "%zu sites do not fit in memory", rows);
    if (bytes <= k->room)
        return VG_OK;
    vg_base__release(k->buffer);
    k->buffer = NULL, k->room = 0;
    VG_TRY(vg_base__alloc(&k->buffer, bytes, 1, "sites"));
    k->room = bytes;
    return VG_OK;
}

vg_status vg_kept_sites__block(void *kept, size_t first, size_t rows, vg_predictions *view) {
    vg_kept_sites *k = kept;
    if (!k->site)
        return vg_prediction_file_block(k->in->file, first, rows, view);
    VG_TRY(make_room(k, rows));
    size_t row = k->in->layout.m * k->in->layout.c * k->width, done = 0;
    while (done < rows) { /* the sites from the next one on that lie within one span */
        size_t begin = k->site[first + done], count = 1;
        while (done + count < rows && k->site[first + done + count] - begin < SPAN)
            count++;
        VG_TRY(vg_prediction_file_block(k->in->file, begin, k->site[first + done + count - 1] - begin + 1, view));
        for (size_t end = done + count; done < end; done++)
            copy_row((char *)k->buffer + done * row, view, k->site[first + done] - begin);
    }
    *view = k->width == sizeof(float) ? vg_predictions_f32(k->buffer, rows, k->in->layout.m, k->in->layout.c)
                                      : vg_predictions_f64(k->buffer, rows, k->in->layout.m, k->in->layout.c);
    return VG_OK;
}
