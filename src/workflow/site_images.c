/* site_images.c - a row of figures for every image. See site_images.h. Quantiles are NumPy's: linear between
 * neighbours. */
#include "workflow/site_images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

vg_status vg_site_images__new(vg_site_images *images, const size_t shape[4]) {
    *images = (vg_site_images){.count = shape[0], .sites = shape[1] * shape[2] * shape[3]};
    VG_TRY(vg_base__alloc(&images->values, images->sites, sizeof *images->values, "an image"));
    return vg_base__zalloc(&images->rows, images->count, sizeof *images->rows, "images");
}

void vg_site_images__free(vg_site_images *images) {
    vg_base__release(images->rows);
    vg_base__release(images->order);
    vg_base__release(images->values);
    *images = (vg_site_images){.count = 0};
}

static double quantile(const double *sorted, size_t count, double q) {
    double at = q * (double)(count - 1), low = floor(at);
    size_t i = (size_t)low, next = i + 1 < count ? i + 1 : i;
    return sorted[i] == sorted[next] ? sorted[i] : sorted[i] + (at - low) * (sorted[next] - sorted[i]);
}

static void end_image(vg_site_images *images) {
    vg_image_row *row = &images->rows[images->at];
    double sum = 0;
    row->mean = row->max = row->median = row->p95 = row->accuracy = row->abstained_share = NAN;
    if (row->sites > 0) {
        row->accuracy = 1 - (double)row->errors / (double)row->sites;
        row->abstained_share = (double)row->abstained / (double)row->sites;
    }
    if (images->held > 0) {
        vg_base__sort_doubles(images->values, images->held);
        for (size_t i = 0; i < images->held; i++)
            sum += images->values[i];
        row->mean = sum / (double)images->held;
        row->max = images->values[images->held - 1];
        row->median = quantile(images->values, images->held, 0.5);
        row->p95 = quantile(images->values, images->held, 0.95);
    }
    images->at++;
    images->held = 0;
}

void vg_site_images__count(vg_site_images *images, size_t site, double value, bool error, bool abstained) {
    while (images->at < site / images->sites)
        end_image(images);
    vg_image_row *row = &images->rows[images->at];
    row->sites++;
    row->errors += error;
    row->abstained += abstained;
    if (!isnan(value))
        images->values[images->held++] = value;
}

/* Images by falling share of abstained sites, those without sites last; of equals the first one first. */
typedef struct image_share {
    size_t image;
    double share;
} image_share;

static int by_share(const void *a, const void *b) {
    const image_share *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return x->image < y->image ? -1 : 1;
}

vg_status vg_site_images__end(vg_site_images *images, bool labelled) {
    image_share *shares;
    while (images->at < images->count)
        end_image(images);
    VG_TRY(vg_base__alloc(&images->order, images->count, sizeof *images->order, "images"));
    VG_TRY(vg_base__alloc(&shares, images->count, sizeof *shares, "images"));
    for (size_t i = 0; i < images->count; i++) {
        shares[i] = (image_share){i, images->rows[i].sites ? images->rows[i].abstained_share : -1};
        images->rows[i].accuracy = labelled ? images->rows[i].accuracy : NAN;
    }
    qsort(shares, images->count, sizeof *shares, by_share);
    for (size_t i = 0; i < images->count; i++)
        images->order[i] = shares[i].image;
    vg_base__release(shares);
    return VG_OK;
}

vg_field vg_site_images__field(vg_field_set set) {
    int f = 0;
    if (set & VG_FIELD_BIT(VG_FIELD_GMU))
        return VG_FIELD_GMU;
    while (f < VG_FIELD_MEASURES && !(set & VG_FIELD_BIT(f)))
        f++;
    return (vg_field)f;
}

void vg_site_images__add(vg_site_images *images, const vg_score_input *in, size_t first, size_t rows,
                         const vg_scores *block) {
    const int64_t *labels = vg_score_input__labels(in, first);
    size_t gates = in->layout.k_count, width = 1;
    vg_field_set set = 0;
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        set |= vg_score_block__place(block, f) ? VG_FIELD_BIT(f) : 0;
    vg_field field = vg_site_images__field(set);
    const double *values = field < VG_FIELD_MEASURES ? vg_score_block__place(block, field) : NULL;
    if (values)
        width = vg_field__width(field, &in->layout);
    for (size_t i = 0; i < rows; i++) {
        if (labels && labels[i] < 0)
            continue;
        vg_site_images__count(images, first + i, values ? values[i * width] : NAN,
                              labels && block->pred && block->pred[i] != labels[i],
                              block->decision && block->decision[i * gates] < 0);
    }
}

/* One figure of every row as an array. */
static vg_status write_figure(const vg_site_images *images, vg_writer *writer, const char *name, size_t place) {
    double *column;
    VG_TRY(vg_base__alloc(&column, images->count, sizeof *column, "images"));
    for (size_t i = 0; i < images->count; i++)
        memcpy(&column[i], (const char *)&images->rows[i] + place, sizeof *column);
    vg_status status = vg_writer_array(writer, name, VG_ELEMENT_F64, 1, &images->count, column);
    vg_base__release(column);
    return status;
}

vg_status vg_site_images__write(const vg_site_images *images, vg_writer *writer, double refer_above) {
    int64_t *counts;
    VG_TRY(vg_base__alloc(&counts, images->count, sizeof *counts, "images"));
    for (size_t i = 0; i < images->count; i++)
        counts[i] = (int64_t)images->rows[i].sites;
    vg_status status = vg_writer_array(writer, "image_sites", VG_ELEMENT_I64, 1, &images->count, counts);
    for (size_t i = 0; i < images->count; i++)
        counts[i] = images->rows[i].abstained_share > refer_above;
    if (status == VG_OK && !isnan(refer_above))
        status = vg_writer_array(writer, "image_referred", VG_ELEMENT_I64, 1, &images->count, counts);
    vg_base__release(counts);
    VG_TRY(status);
    VG_TRY(write_figure(images, writer, "image_abstained", offsetof(vg_image_row, abstained_share)));
    VG_TRY(write_figure(images, writer, "image_mean", offsetof(vg_image_row, mean)));
    VG_TRY(write_figure(images, writer, "image_median", offsetof(vg_image_row, median)));
    VG_TRY(write_figure(images, writer, "image_p95", offsetof(vg_image_row, p95)));
    return write_figure(images, writer, "image_max", offsetof(vg_image_row, max));
}
