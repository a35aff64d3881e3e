/* image_refit.c - converts the images of a set to another size or number of channels, and copies some of its images. */
#include <string.h>

#include "data/dataset.h"

/* Copies everything but the pixels. */
static vg_status copy_rest(vg_dataset *to, const vg_dataset *from) {
    if (from->labels)
        memcpy(to->labels, from->labels, from->n * sizeof *from->labels);
    to->classes = from->classes;
    to->verified = from->verified;
    VG_TRY(vg_dataset__rename(to, from->name, from->source));
    if (!from->class_names)
        return VG_OK;
    return vg_dataset__name_classes(to, (const char *const *)from->class_names, from->classes);
}

static vg_status refit(vg_dataset *to, const vg_dataset *from, const vg_image_target *target) {
    vg_image_scratch scratch = {0};
    vg_status status = VG_OK;
    for (size_t i = 0; i < from->n && status == VG_OK; i++)
        status = vg_image__fit(to->pixels.bytes + i * vg_dataset__image(to),
                               from->pixels.bytes + i * vg_dataset__image(from), from->channels, from->height,
                               from->width, target, &scratch);
    vg_image__release(&scratch);
    return status == VG_OK ? copy_rest(to, from) : status;
}

static vg_status check_refit(const vg_dataset *s, const vg_image_target *target, const vg_image_window *window,
                             bool fits) {
    if (s->is_float)
        return vg_base__fail(VG_ERR_DATA, "%s: resize, center_crop and channels need pixels in bytes, these are floats",
                             s->name);
    if (s->channels != target->channels && s->channels != 1 && s->channels != 3)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu channels cannot become %u", s->name, s->channels, target->channels);
    if (!fits)
        return vg_base__fail(VG_ERR_DATA, "%s: images of %zux%zu are smaller than the %zux%zu to be cut out of them",
                             s->name, window->resized_height, window->resized_width, window->height, window->width);
    return VG_OK;
}

vg_status vg_image_set__refit(vg_dataset **set, const vg_image_target *given) {
    const vg_dataset *s = *set;
    vg_image_target target = *given;
    vg_image_window window;
    if (!target.channels)
        target.channels = (unsigned)s->channels;
    bool fits = vg_image__window(&window, &target, s->height, s->width);
    if (fits && window.height == s->height && window.width == s->width && target.channels == s->channels &&
        window.resized_height == s->height && window.resized_width == s->width)
        return VG_OK;
    vg_dataset *made;
    if (s->is_float && s->channels == 1 && target.channels == 3 && !target.resize[0] && !target.crop[0]) {
        VG_TRY(vg_dataset__adapt(&made, s, 3, s->height, s->width));
        vg_dataset_free(*set);
        *set = made;
        return VG_OK;
    }
    VG_TRY(check_refit(s, &target, &window, fits));
    vg_dataset_shape shape = {s->n, target.channels, window.height, window.width, false, s->labels != NULL};
    VG_TRY(vg_dataset__new(&made, s->name, &shape));
    vg_status status = refit(made, s, &target);
    if (status != VG_OK) {
        vg_dataset_free(made);
        return status;
    }
    vg_dataset_free(*set);
    *set = made;
    return VG_OK;
}

/* --- copies --- */

typedef struct gathering {
    vg_dataset *to;
    const vg_dataset *from;
    const size_t *indices;
    vg_image_scratch *scratch; /* one per worker */
} gathering;

static vg_status gather_one(void *context, size_t i, unsigned worker) {
    gathering *g = context;
    size_t image = vg_dataset__image(g->from), size = image * (g->from->is_float ? sizeof(float) : 1);
    uint8_t *to = g->to->pixels.bytes + i * size;
    if (g->from->pixels.any) {
        memcpy(to, g->from->pixels.bytes + g->indices[i] * size, size);
        return VG_OK;
    }
    const uint8_t *made;
    return vg_dataset__bytes(&made, g->from, g->indices[i], to, &g->scratch[worker]);
}

vg_status vg_dataset__gather(vg_dataset **out, const vg_dataset *set, const size_t *indices, size_t count,
                             unsigned threads) {
    vg_pool *pool;
    *out = NULL;
    VG_TRY(vg_dataset__check_indices(set, indices, count));
    vg_dataset_shape shape = {count, set->channels, set->height, set->width, set->is_float, false};
    gathering g = {NULL, set, indices, NULL};
    VG_TRY(vg_pool__new(&pool, set->pixels.any ? 1 : threads));
    unsigned workers = vg_pool__threads(pool);
    vg_status status = vg_base__zalloc(&g.scratch, workers, sizeof *g.scratch, "decoding");
    if (status == VG_OK)
        status = vg_dataset__new(&g.to, set->name, &shape);
    if (status == VG_OK)
        status = vg_pool__run(pool, count, gather_one, &g);
    for (unsigned i = 0; g.scratch && i < workers; i++)
        vg_image__release(&g.scratch[i]);
    vg_base__release(g.scratch);
    vg_pool__free(pool);
    if (status != VG_OK) {
        vg_dataset_free(g.to);
        return status;
    }
    *out = g.to;
    return VG_OK;
}
