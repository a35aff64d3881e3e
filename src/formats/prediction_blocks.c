/* prediction_blocks.c - blocks of samples out of stored arrays. See prediction_blocks.h.
 *
 * vg_sites gives the positions of sites. A run of sites is `inner` elements per site, one site after the other, for
 * every combination of the axes M and C outside it: (N, M, C) in C order has one run for all samples, (M, N, C) one
 * per member, (N, M, C, H, W) M C runs of H W sites per image. Float32 and float64 that are stored as in memory are
 * viewed in the mapping, by strides, where the block is within a run; everything else is converted run by run into a
 * buffer [m outside][c outside][rows][inner]. Where other axes of sites lie among the elements of a site
 * ("scattered", as in W M H C N), elements are read one by one. */
#include <stdio.h>
#include <string.h>

#include "formats/prediction_blocks.h"

enum { WINDOW = 64 << 20 }; /* bytes of a mapping that a reader out of order may keep resident */

/* --- the layout --------------------------------------------------------------------------------------------------- */
/* The letters of a stored array: without M where each member has an array of its own. */
static vg_status name_axes(char names[16], const vg_prediction_blocks *b, const char *axes) {
    const vg_stored *array = b->source->arrays + b->arrays.index;
    size_t used = 0;
    if (!axes && array->rank != 2 && array->rank != 3) /* arrays of one member each were checked to have 2 */
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: %s%.100s%s%zu %s, expected 3 (samples, members, classes) or 2 (samples, "
                             "classes); of images and volumes name the axes: --axes NMCHW, or another order of N M C H "
                             "W D",
                             b->source->path, array->name[0] ? "array '" : "the array", array->name,
                             array->name[0] ? "' has " : " has ", array->rank, array->rank == 1 ? "axis" : "axes");
    if (!axes)
        axes = array->rank == 2 ? "NC" : "NMC";
    else if (strcmp(axes, "NMC") == 0 && array->rank == 2) /* the default, written out */
        axes = "NC";
    for (; *axes && used < 15; axes++)
        if (*axes != 'M' || !b->arrays.parts)
            names[used++] = *axes;
    names[used] = '\0';
    return VG_OK;
}

/* The strides of the array in storage order. */
static void store_strides(ptrdiff_t strides[VG_MAX_RANK], const vg_stored *array) {
    ptrdiff_t step = 1;
    for (size_t i = 0; i < array->rank; i++) {
        size_t axis = array->fortran ? i : array->rank - 1 - i;
        strides[axis] = step;
        step *= array->shape[axis] ? (ptrdiff_t)array->shape[axis] : 1;
    }
}

/* Finds the axes that lie among the elements of a site, and whether those are all of them. */
static void find_runs(vg_prediction_blocks *b) {
    const vg_sites *s = &b->sites;
    size_t members = b->arrays.parts ? 1 : s->m, product = 1;
    bool m_inside = members > 1 && s->stride_m<s->stride_run, c_inside = s->c> 1 && s->stride_c < s->stride_run;
    product = (m_inside ? members : 1) * (c_inside ? s->c : 1);
    if (s->stride_run != (ptrdiff_t)product) { /* scattered; also a single site without an axis */
        b->run = b->inner = 1;
        m_inside = c_inside = false;
    } else {
        b->run = s->run ? s->run : 1;
        b->inner = product;
    }
    b->m_outside = m_inside ? 1 : b->m;
    b->c_outside = c_inside ? 1 : b->c;
}

/* Whether the elements of an array become float32 when they are read. */
static bool is_single(const vg_stored *array) {
    return array->element == VG_ELEMENT_F16 || array->element == VG_ELEMENT_BF16 || array->element == VG_ELEMENT_F32;
}

static size_t array_of(const vg_prediction_blocks *b, size_t m) {
    return b->arrays.parts ? b->arrays.parts[m] : b->arrays.index;
}

static vg_status lay_out(vg_prediction_blocks *b, const char *axes) {
    const vg_stored *array = b->source->arrays + b->arrays.index;
    ptrdiff_t strides[VG_MAX_RANK];
    char names[16];
    size_t all;
    VG_TRY(name_axes(names, b, axes));
    store_strides(strides, array);
    vg_element type = array->element == VG_ELEMENT_F64 ? VG_ELEMENT_F64 : VG_ELEMENT_F32;
    if (vg_sites_view(&b->sites, array->data, type, names, array->rank, array->shape, strides) != VG_OK)
        return vg_base__fail(VG_ERR_FORMAT, "%s: %s%s", b->source->path, vg_error_message(),
                             b->arrays.parts ? " (each member has an array of its own)" : "");
    b->n = b->sites.n, b->m = b->arrays.parts ? b->arrays.count : b->sites.m, b->c = b->sites.c;
    if (b->m == 0 || b->c == 0)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: array '%.100s' has %zu members and %zu classes, expected at least one of each",
                             b->source->path, array->name, b->m, b->c);
    if (!vg_base__mul(&all, b->m, b->c) || !vg_base__mul(&all, all, b->n ? b->n : 1))
        return vg_base__fail(VG_ERR_FORMAT, "%s: its arrays do not fit in memory", b->source->path);
    find_runs(b);
    return VG_OK;
}

vg_status vg_prediction_blocks__open(vg_prediction_blocks *out, vg_source *source, const vg_prediction_arrays *arrays,
                                     const char *axes) {
    *out = (vg_prediction_blocks){.source = source, .arrays = *arrays};
    VG_TRY(lay_out(out, axes));
    const vg_stored *array = source->arrays + arrays->index;
    size_t parts = arrays->parts ? arrays->count : 1;
    bool single = true, in_order = out->m_outside * out->c_outside == parts && out->run >= out->n;
    for (size_t i = 0; i < parts; i++)
        single &= is_single(source->arrays + array_of(out, i));
    out->target = single ? VG_ELEMENT_F32 : VG_ELEMENT_F64;
    out->direct = parts == 1 && array->element == out->target && !array->stream && !array->swapped &&
                  (uintptr_t)array->data % vg_element__size(array->element) == 0;
    for (size_t i = 0; i < parts && !in_order; i++) /* a deflated member cannot be read out of order */
        VG_TRY(vg_source__hold(source, array_of(out, i)));
    return VG_OK;
}

void vg_prediction_blocks__close(vg_prediction_blocks *blocks) { vg_base__release(blocks->buffer); }

/* --- pages of the mapping ----------------------------------------------------------------------------------------- */
/* Whether the array's pages belong to the mapping, so that they can be prefetched and released. */
static bool is_paged(const vg_prediction_blocks *b, size_t index) {
    const vg_stored *array = b->source->arrays + index;
    return b->source->map.mapped && !array->stream && !array->owned;
}

/* Bytes that a run of `rows` samples may make resident: its own, and those of its neighbours on the same pages. */
static size_t footprint(const vg_prediction_blocks *b, size_t rows) {
    return rows * b->inner * vg_element__size(b->source->arrays[b->arrays.index].element) + 65536;
}

/* For arrays with samples first: starts reading this block and the next from the disk where they are not cached, and
 * releases what was passed. Mapping the pages is left to the threads that touch them, which is cheapest. */
static void page_forward(vg_prediction_blocks *b, size_t first, size_t rows) {
    vg_stored *array = b->source->arrays + b->arrays.index;
    const vg_mapping *map = &b->source->map;
    size_t start = (size_t)(array->data - map->bytes), run = b->inner * vg_element__size(array->element);
    size_t begin = first * run, end = begin + rows * run, bytes = rows * run < WINDOW ? rows * run : WINDOW;
    if (begin < array->dropped) /* an earlier block was asked for */
        array->dropped = 0;
    vg_file__forget(map, start + array->dropped, begin - array->dropped);
    array->dropped = begin;
    vg_file__prefetch(map, start + begin, bytes);
    vg_file__prefetch(map, start + end, bytes < array->bytes - end ? bytes : array->bytes - end);
}

/* For other orders: runs are spread over the array, which is released as a whole whenever enough of it was touched. */
static void page_around(vg_prediction_blocks *b, size_t index, size_t bytes) {
    vg_stored *array = b->source->arrays + index;
    array->touched += bytes;
    if (array->touched > WINDOW) {
        vg_file__forget(&b->source->map, (size_t)(array->data - b->source->map.bytes), array->bytes);
        array->touched = bytes;
    }
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
/* The index of a site's first element in its array. */
static size_t place_of(const vg_sites *s, size_t site) {
    size_t at = 0;
    for (size_t i = VG_SITE_AXES; i-- > 0; site /= s->shape[i])
        at += site % s->shape[i] * (size_t)s->stride[i];
    return at;
}

/* Reads one piece of a block of `rows` samples, all runs of it: `count` samples from `first` on, to rows `done` and
 * following. */
static vg_status read_piece(vg_prediction_blocks *b, size_t first, size_t count, size_t done, size_t rows) {
    size_t place = place_of(&b->sites, first), width = vg_element__size(b->target);
    for (size_t m = 0; m < b->m_outside; m++) {
        size_t index = array_of(b, m), outside = b->arrays.parts ? 0 : m * (size_t)b->sites.stride_m;
        for (size_t c = 0; c < b->c_outside; c++) {
            size_t from = place + outside + c * (size_t)b->sites.stride_c, to = (m * b->c_outside + c) * rows + done;
            if (b->m_outside * b->c_outside > 1 && is_paged(b, index))
                page_around(b, index, footprint(b, count));
            VG_TRY(vg_source__read(b->source, index, from, count * b->inner, b->target,
                                   (uint8_t *)b->buffer + to * b->inner * width));
        }
    }
    return VG_OK;
}

static vg_status fill_buffer(vg_prediction_blocks *b, size_t first, size_t rows) {
    size_t wanted = rows * b->inner * b->m_outside * b->c_outside, count;
    if (wanted > b->room) {
        vg_base__release(b->buffer);
        b->buffer = NULL, b->room = 0;
        VG_TRY(vg_base__alloc(&b->buffer, wanted, vg_element__size(b->target), "a block of predictions"));
        b->room = wanted;
    }
    for (size_t done = 0; done < rows; done += count) {
        size_t left = b->run - (first + done) % b->run;
        count = rows - done < left ? rows - done : left;
        VG_TRY(read_piece(b, first + done, count, done, rows));
    }
    return VG_OK;
}

/* Whether a block is viewed in the mapping: elements are stored as in memory, samples have one stride, and the runs
 * do not make too much of it resident at once. */
static bool view_directly(const vg_prediction_blocks *b, size_t first, size_t rows) {
    size_t outside = b->m_outside * b->c_outside;
    if (!b->direct || first % b->sites.run + rows > b->sites.run)
        return false;
    return outside == 1 || !is_paged(b, b->arrays.index) || footprint(b, rows) <= WINDOW / outside;
}

static vg_status view_mapping(vg_prediction_blocks *b, size_t first, size_t rows, vg_predictions *view) {
    const vg_stored *array = b->source->arrays + b->arrays.index;
    size_t outside = b->m_outside * b->c_outside;
    bool in_order = outside == 1 && b->run >= b->n;
    if (!in_order && is_paged(b, b->arrays.index))
        page_around(b, b->arrays.index, outside * footprint(b, rows));
    size_t end = in_order ? (first + rows) * b->inner * vg_element__size(array->element) : array->bytes;
    VG_TRY(vg_source__check_crc(b->source, b->arrays.index, end));
    vg_sites_block(view, &b->sites, first, rows);
    return VG_OK;
}

vg_status vg_prediction_blocks__view(vg_prediction_blocks *b, size_t first, size_t rows, vg_predictions *view) {
    if (rows == 0 || first > b->n || rows > b->n - first)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples from %zu wanted, but it has %zu", b->source->path, rows,
                             first, b->n);
    if (b->m_outside * b->c_outside == 1 && b->run >= b->n && is_paged(b, b->arrays.index))
        page_forward(b, first, rows);
    if (view_directly(b, first, rows))
        return view_mapping(b, first, rows, view);
    VG_TRY(fill_buffer(b, first, rows));
    ptrdiff_t run = (ptrdiff_t)(rows * b->inner);
    *view = (vg_predictions){.data = b->buffer,
                             .dtype = b->target,
                             .n = rows,
                             .m = b->m,
                             .c = b->c,
                             .stride_n = (ptrdiff_t)b->inner,
                             .stride_m = b->m_outside > 1 ? run * (ptrdiff_t)b->c_outside : b->sites.stride_m,
                             .stride_c = b->c_outside > 1 ? run : b->sites.stride_c};
    if (b->m == 1) /* any stride is correct for one member; this is the packed view's */
        view->stride_m = (ptrdiff_t)b->c * (view->stride_c > 0 ? view->stride_c : 1);
    return VG_OK;
}
