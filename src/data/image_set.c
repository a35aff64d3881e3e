/* image_set.c - a set of image files: their common shape, and decoding them at once or when they are needed.
 *
 * 1. Where size or channels are not settled by the options, the header of every file is read.
 * 2. Images that take less than half of the memory are decoded, each by whichever thread is free. Larger sets
 *    keep the names of the files alone; vg_dataset__bytes decodes one image.
 * 3. With skip_corrupt every file is decoded once in either case, and those that fail are left out, because the split
 *    depends on the number of images.
 * Of several files that fail, the first in the order of the set is reported, at any number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/image_list.h"

/* --- options --- */

static vg_status check_side(const char *what, const size_t size[2]) {
    if (size[0] > VG_IMAGE_TARGET || size[1] > VG_IMAGE_TARGET || (size[0] == 0 && size[1] > 0))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s %zux%zu, expected 1..%d pixels each way", what, size[0], size[1],
                             VG_IMAGE_TARGET);
    return VG_OK;
}

vg_status vg_image_set__target(vg_image_target *out, const vg_dataset_options *options) {
    const size_t *resize = options->resize, *crop = options->center_crop;
    VG_TRY(check_side("resize", resize));
    VG_TRY(check_side("center_crop", crop));
    size_t height = crop[0], width = crop[1] ? crop[1] : crop[0], most = resize[1] ? resize[1] : resize[0];
    if (resize[0] && crop[0] && ((resize[1] || height == width) ? height > resize[0] || width > most : false))
        return vg_base__fail(VG_ERR_ARGUMENT, "center_crop %zux%zu does not fit in images that resize makes %zux%zu",
                             height, width, resize[0], most);
    if (options->channels != 0 && options->channels != 1 && options->channels != 3)
        return vg_base__fail(VG_ERR_ARGUMENT, "channels %u, expected 1 (grey), 3 (RGB) or 0 (as the images are)",
                             options->channels);
    *out = (vg_image_target){{resize[0], resize[1]}, {crop[0], crop[1]}, options->channels};
    return VG_OK;
}

/* The size of every image, where the target determines it. */
static bool settled(const vg_image_target *target, size_t *height, size_t *width) {
    const size_t *size = target->crop[0] ? target->crop : target->resize;
    *height = size[0];
    *width = size[1] ? size[1] : size[0];
    return size[0] > 0;
}

/* --- work on all files by threads --- */

typedef struct image_work {
    vg_image_list *list;
    const vg_dataset_options *options;
    vg_image_target target;
    size_t height, width;
    vg_image_header *headers;  /* of the survey: one per file; NULL: none was made */
    char **problems;           /* of skip_corrupt: why a file is left out, or NULL */
    vg_image_scratch *scratch; /* one per worker */
    uint8_t *pixels;           /* count * C * H * W: decoded images; NULL: decode to `spare` */
    uint8_t **spare;           /* one image per worker */
    vg_pool *pool;
} image_work;

static void end_work(image_work *work) {
    unsigned threads = work->pool ? vg_pool__threads(work->pool) : 0;
    for (unsigned i = 0; i < threads; i++) {
        if (work->scratch)
            vg_image__release(&work->scratch[i]);
        if (work->spare)
            vg_base__release(work->spare[i]);
    }
    for (size_t i = 0; work->problems && i < work->list->count; i++)
        free(work->problems[i]);
    vg_base__release(work->problems);
    vg_base__release(work->headers);
    vg_base__release(work->scratch);
    vg_base__release(work->spare);
    vg_pool__free(work->pool);
}

static vg_status begin_work(image_work *work) {
    VG_TRY(vg_pool__new(&work->pool, work->options->threads));
    unsigned threads = vg_pool__threads(work->pool);
    VG_TRY(vg_base__zalloc(&work->scratch, threads, sizeof *work->scratch, "decoding"));
    VG_TRY(vg_base__zalloc(&work->spare, threads, sizeof *work->spare, "decoding"));
    if (work->options->skip_corrupt)
        return vg_base__zalloc(&work->problems, work->list->count, sizeof *work->problems, "files left out");
    return VG_OK;
}

/* A file that cannot be read or decoded is left out where the options say so; other failures end the work. */
static vg_status judge(image_work *work, size_t index, vg_status status) {
    const vg_image_entry *entry = &work->list->entries[index];
    if (status == VG_OK)
        return VG_OK;
    if (!work->problems || (status != VG_ERR_FORMAT && status != VG_ERR_IO)) {
        if (entry->line > 0) {
            char reason[400];
            snprintf(reason, sizeof reason, "%s", vg_error_message());
            return vg_base__fail(status, "%s (named in line %zu)", reason, entry->line);
        }
        return status;
    }
    work->problems[index] = strdup(vg_error_message());
    return work->problems[index] ? VG_OK : vg_base__fail(VG_ERR_MEMORY, "out of memory for the names of skipped files");
}

static vg_status survey_one(void *context, size_t index, unsigned worker) {
    image_work *work = context;
    return judge(work, index,
                 vg_image__survey(&work->headers[index], work->list->entries[index].path, &work->scratch[worker]));
}

static vg_status decode_one(void *context, size_t index, unsigned worker) {
    image_work *work = context;
    size_t image = work->target.channels * work->height * work->width;
    if (work->problems && work->problems[index])
        return VG_OK;
    if (!work->pixels && !work->spare[worker])
        VG_TRY(vg_base__alloc(&work->spare[worker], image, 1, "an image"));
    uint8_t *to = work->pixels ? work->pixels + index * image : work->spare[worker];
    return judge(work, index,
                 vg_image__load(to, work->list->entries[index].path, &work->target, work->height, work->width,
                                &work->scratch[worker]));
}

/* Determines channels and size of the set from all headers. */
static vg_status settle_shape(image_work *work) {
    bool sized = settled(&work->target, &work->height, &work->width), colour = false;
    const char *first = NULL;
    for (size_t i = 0; i < work->list->count; i++) {
        const vg_image_header *header = &work->headers[i];
        vg_image_window window;
        if (work->problems && work->problems[i])
            continue;
        colour = colour || header->colour;
        if (sized)
            continue;
        vg_image__window(&window, &work->target, header->height, header->width);
        if (!first)
            first = work->list->entries[i].path, work->height = window.height, work->width = window.width;
        if (window.height != work->height || window.width != work->width)
            return vg_base__fail(VG_ERR_DATA,
                                 "%s: %zux%zu pixels (rows x columns), but %s has %zux%zu: one size expected; "
                                 "give them one with resize",
                                 work->list->entries[i].path, window.height, window.width, first, work->height,
                                 work->width);
    }
    if (!work->target.channels)
        work->target.channels = colour ? 3 : 1;
    return VG_OK;
}

static vg_status find_shape(image_work *work) {
    if (settled(&work->target, &work->height, &work->width) && work->target.channels)
        return VG_OK;
    VG_TRY(vg_base__alloc(&work->headers, work->list->count, sizeof *work->headers, "headers of images"));
    VG_TRY(vg_pool__run(work->pool, work->list->count, survey_one, work));
    return settle_shape(work);
}

/* --- the set --- */

/* Half of the memory that this process may use. */
static size_t memory_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t all = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 31;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
    unsigned long long allowed;
    if (file && fscanf(file, "%llu", &allowed) == 1 && allowed < all)
        all = (size_t)allowed;
    if (file)
        fclose(file);
    return all / 2;
}

static vg_status new_set(vg_dataset **out, const image_work *work, const char *name, bool in_memory) {
    vg_dataset_shape shape = {work->list->count,         work->target.channels, work->height, work->width, false,
                              work->list->labels != NULL};
    if (!in_memory)
        shape.n = 1; /* the pixels are not kept */
    VG_TRY(vg_dataset__new(out, name, &shape));
    vg_dataset *set = *out;
    if (in_memory)
        return VG_OK;
    vg_base__release(set->pixels.any);
    vg_base__release(set->labels);
    set->pixels.any = NULL, set->labels = NULL;
    set->n = work->list->count;
    return work->list->labels ? vg_base__alloc(&set->labels, set->n, sizeof *set->labels, "labels") : VG_OK;
}

static vg_status note_skipped(vg_dataset *set, image_work *work) {
    size_t count = 0;
    for (size_t i = 0; work->problems && i < work->list->count; i++)
        count += work->problems[i] != NULL;
    if (count == 0)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&set->skipped, count, sizeof *set->skipped, "files left out"));
    for (size_t i = 0; i < work->list->count; i++)
        if (work->problems[i])
            VG_TRY(vg_base__strdup(&set->skipped[set->skipped_count++], work->problems[i]));
    if (count == work->list->count)
        return vg_base__fail(VG_ERR_DATA, "%s: none of its %zu images can be read; the first: %s", set->name, count,
                             work->problems[0]);
    return VG_OK;
}

/* Moves names, labels and pixels of the files that are used to the front. */
static vg_status take_entries(vg_dataset *set, image_work *work) {
    vg_image_list *list = work->list;
    size_t image = vg_dataset__image(set), kept = 0;
    VG_TRY(vg_base__zalloc(&set->files, list->count, sizeof *set->files, "names of images"));
    if (list->fixed_split)
        VG_TRY(vg_base__zalloc(&set->held, list->count, 1, "a split"));
    for (size_t i = 0; i < list->count; i++) {
        if (work->problems && work->problems[i])
            continue;
        VG_TRY(vg_base__strdup(&set->files[kept], list->entries[i].path));
        if (set->labels)
            set->labels[kept] = list->labels[i];
        if (set->held)
            set->held[kept] = list->entries[i].held;
        if (set->pixels.bytes && kept != i)
            memcpy(set->pixels.bytes + kept * image, set->pixels.bytes + i * image, image);
        kept++;
    }
    set->n = kept;
    set->target = work->target;
    if (!set->labels)
        return VG_OK;
    set->classes = list->class_count;
    return vg_dataset__name_classes(set, (const char *const *)list->classes, list->class_count);
}

/* Notes the entries of the folders that are not read. */
static vg_status note_left_out(vg_dataset *set, const vg_image_list *list) {
    char line[600];
    for (int kind = 0; kind < VG_LEFT_KINDS; kind++) {
        vg_image_list__left_out(line, sizeof line, list, (vg_image_leftover)kind);
        if (line[0])
            VG_TRY(vg_dataset__note(set, line));
    }
    return VG_OK;
}

static vg_status fill_set(vg_dataset **out, image_work *work, const char *name) {
    size_t count = work->list->count, bytes;
    VG_TRY(vg_image_list__number(work->list));
    VG_TRY(vg_image_set__target(&work->target, work->options));
    VG_TRY(begin_work(work));
    VG_TRY(find_shape(work));
    if (!vg_base__mul(&bytes, count, work->target.channels * work->height * work->width))
        bytes = SIZE_MAX;
    bool in_memory = work->options->in_memory > 0 || (work->options->in_memory < 0 && bytes <= memory_limit());
    VG_TRY(new_set(out, work, name, in_memory));
    work->pixels = (*out)->pixels.bytes;
    if (in_memory || work->problems)
        VG_TRY(vg_pool__run(work->pool, count, decode_one, work));
    VG_TRY(note_skipped(*out, work));
    VG_TRY(note_left_out(*out, work->list));
    return take_entries(*out, work);
}

vg_status vg_image_set__open(vg_dataset **out, vg_image_list *list, const char *name,
                             const vg_dataset_options *options) {
    image_work work = {.list = list, .options = options};
    vg_dataset *set = NULL;
    *out = NULL;
    if (list->count == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: no JPEG, PNG or WebP files found", name);
    vg_status status = fill_set(&set, &work, name);
    end_work(&work);
    if (status != VG_OK) {
        vg_dataset_free(set);
        return status;
    }
    *out = set;
    return VG_OK;
}

vg_status vg_dataset__bytes(const uint8_t **out, const vg_dataset *set, size_t index, uint8_t *image,
                            vg_image_scratch *scratch) {
    if (set->pixels.bytes) {
        *out = set->pixels.bytes + index * vg_dataset__image(set);
        return VG_OK;
    }
    *out = image;
    return vg_image__load(image, set->files[index], &set->target, set->height, set->width, scratch);
}
