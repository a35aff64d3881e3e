/* predictions.c - predictions (N, M, C) as people store them, handed out a block of samples at a time.
 *
 * In the file the axes lie in some order, slowest first: n m c, or m n c, or either reversed (Fortran order). What matters is
 * where n stands: `outer` is the product of the axes before it and `inner` of those behind it, so that samples first .. first +
 * rows - 1 are `outer` runs of rows * inner elements, run o at (o * N + first) * inner. Float32 and float64 that lie in the
 * file as in memory are viewed there, by strides; everything else is converted run by run into a buffer of the same axis order
 * with N = rows. */
#include <string.h>

#include "formats/source.h"

enum { WINDOW = 64 << 20 }; /* bytes of a mapping that may stay resident behind a reader that jumps about */

struct vg_prediction_file {
    vg_source *source;
    size_t index;
    size_t n, m, c;
    char order[4]; /* axes as stored, slowest first: "nmc", "mnc", "cmn", "cnm", "nc", "cn" */
    size_t outer, inner;
    bool logits, direct; /* direct: views of the mapping */
    vg_element target;   /* what the buffer holds: VG_ELEMENT_F32 or _F64 */
    void *buffer;
    size_t buffer_room; /* elements */
    int64_t *labels;
    size_t label_columns;
    bool labels_read;
};

static const char *const probability_keys[] = {"P", "Q", "probs", "probabilities", NULL};
static const char *const logit_keys[] = {"Z", "logits", NULL};
static const char *const label_keys[] = {"L", "labels", "label", "y", NULL};

static bool listed(const char *const *list, const char *name) {
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* The index of the first array whose name is in the list; false when there is none. */
static bool find_listed(const vg_source *source, const char *const *list, size_t *index) {
    for (; *list; list++)
        for (size_t i = 0; i < source->count; i++)
            if (strcmp(source->arrays[i].name, *list) == 0) {
                *index = i;
                return true;
            }
    return false;
}

static vg_status choose_array(vg_prediction_file *file, const char *key) {
    vg_source *source = file->source;
    if (key)
        return vg_source_find(source, key, &file->index);
    if (find_listed(source, probability_keys, &file->index) || find_listed(source, logit_keys, &file->index))
        return VG_OK;
    size_t found = 0;
    for (size_t i = 0; i < source->count; i++)
        if ((source->arrays[i].rank == 2 || source->arrays[i].rank == 3) && !listed(label_keys, source->arrays[i].name)) {
            file->index = i;
            found++;
        }
    if (found == 1)
        return VG_OK;
    if (source->count == 1 && source->arrays[0].name[0] == '\0')
        return vg_base__fail(VG_ERR_FORMAT, "%s: has %zu axes, expected 3 (samples, members, classes) or 2 (samples, classes)",
                             source->path, source->arrays[0].rank);
    return vg_base__fail(VG_ERR_FORMAT,
                         "%s: holds no array named P, Q or Z, and %zu others that could be predictions; name one (key)",
                         source->path, found);
}

/* Shape and storage order from the array and the axes it is said to have. */
static vg_status lay_out(vg_prediction_file *file, vg_axes axes) {
    const vg_stored *array = file->source->arrays + file->index;
    if (array->rank != 2 && array->rank != 3)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: array '%.100s' has %zu axes, expected 3 (samples, members, classes) or 2 (samples, classes)",
                             file->source->path, array->name, array->rank);
    const char *names = array->rank == 2 ? "nc" : axes == VG_AXES_MNC ? "mnc" : "nmc";
    file->m = 1;
    file->outer = file->inner = 1;
    for (size_t i = 0; i < array->rank; i++) {
        size_t *length = names[i] == 'n' ? &file->n : names[i] == 'm' ? &file->m : &file->c;
        *length = array->shape[i];
        file->order[array->fortran ? array->rank - 1 - i : i] = names[i];
    }
    if (file->m == 0 || file->c == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: array '%.100s' has %zu members and %zu classes, expected at least one of each",
                             file->source->path, array->name, file->m, file->c);
    bool behind = false;
    for (const char *p = file->order; *p; p++) {
        size_t length = *p == 'm' ? file->m : *p == 'c' ? file->c : 1;
        *(behind ? &file->inner : &file->outer) *= length; /* N * M * C was checked to fit */
        behind |= *p == 'n';
    }
    return VG_OK;
}

static vg_status prepare(vg_prediction_file *file, const vg_prediction_options *options) {
    VG_TRY(choose_array(file, options->key));
    VG_TRY(lay_out(file, options->axes));
    const vg_stored *array = file->source->arrays + file->index;
    file->logits = options->logits < 0 ? listed(logit_keys, array->name) : options->logits != 0;
    bool single = array->element == VG_ELEMENT_F16 || array->element == VG_ELEMENT_BF16 || array->element == VG_ELEMENT_F32;
    file->target = single ? VG_ELEMENT_F32 : VG_ELEMENT_F64;
    file->direct = array->element == file->target && !array->stream && !array->swapped &&
                   (uintptr_t)array->data % vg_element_size(array->element) == 0;
    if (file->outer > 1 && array->stream) /* runs all over a deflated member */
        VG_TRY(vg_source__hold(file->source, file->index));
    return VG_OK;
}

static vg_status open_source(vg_prediction_file **out, vg_source *source, const vg_prediction_options *options) {
    vg_prediction_options chosen = VG_PREDICTION_OPTIONS_INIT;
    vg_prediction_file *file;
    vg_status status = vg_base__zalloc(&file, 1, sizeof *file, "a prediction file");
    if (status != VG_OK) {
        vg_source_close(source);
        return status;
    }
    file->source = source;
    if (options && options->struct_size != sizeof *options)
        status = vg_base__fail(VG_ERR_ARGUMENT, "vg_prediction_options: struct_size is %zu, expected %zu", options->struct_size,
                               sizeof *options);
    if (status == VG_OK)
        status = prepare(file, options ? options : &chosen);
    if (status != VG_OK) {
        vg_prediction_file_close(file);
        return status;
    }
    *out = file;
    return VG_OK;
}

vg_status vg_prediction_file_open(vg_prediction_file **out, const char *path, const vg_prediction_options *options) {
    if (!out || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_prediction_file_open: out and path must not be NULL");
    *out = NULL;
    vg_source *source;
    VG_TRY(vg_source_open(&source, path));
    return open_source(out, source, options);
}

vg_status vg_prediction_file_open_memory(vg_prediction_file **out, const void *bytes, size_t size, const char *name,
                                         const vg_prediction_options *options) {
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_prediction_file_open_memory: out must not be NULL");
    *out = NULL;
    vg_source *source;
    VG_TRY(vg_source_open_memory(&source, bytes, size, name));
    return open_source(out, source, options);
}

void vg_prediction_file_close(vg_prediction_file *file) {
    if (!file)
        return;
    vg_source_close(file->source);
    vg_base__release(file->buffer);
    vg_base__release(file->labels);
    vg_base__release(file);
}

void vg_prediction_file_shape(const vg_prediction_file *file, size_t *n, size_t *m, size_t *c, int *logits) {
    if (n)
        *n = file->n;
    if (m)
        *m = file->m;
    if (c)
        *c = file->c;
    if (logits)
        *logits = file->logits;
}

/* --- blocks ------------------------------------------------------------------------------------------------------------- */
/* Fills in the strides of a view whose n axis has `length` samples between two runs. */
static void set_strides(const vg_prediction_file *file, vg_predictions *view, size_t length) {
    ptrdiff_t stride = 1;
    view->stride_m = 0;
    for (size_t i = strlen(file->order); i-- > 0;) {
        char name = file->order[i];
        *(name == 'n' ? &view->stride_n : name == 'm' ? &view->stride_m : &view->stride_c) = stride;
        stride *= (ptrdiff_t)(name == 'n' ? length : name == 'm' ? file->m : file->c);
    }
    if (view->stride_m == 0) /* one member: any stride will do, this one is the packed view's */
        view->stride_m = (ptrdiff_t)file->c * (view->stride_c > 0 ? view->stride_c : 1);
}

/* True when the array's pages are this process's to ask for and to let go. */
static bool is_paged(const vg_prediction_file *file) {
    const vg_stored *array = file->source->arrays + file->index;
    return file->source->map.mapped && !array->stream && !array->owned;
}

/* What a run of `rows` samples may make resident: its bytes, and the neighbours that are mapped with a page. */
static size_t footprint(const vg_prediction_file *file, size_t rows) {
    return rows * file->inner * vg_element_size(file->source->arrays[file->index].element) + 65536;
}

/* Samples first: starts reading the block and the next where they are not cached, and lets go of what is behind. Mapping the
 * pages is left to the threads that touch them: it costs least there. */
static void page_forward(vg_prediction_file *file, size_t first, size_t rows) {
    vg_stored *array = file->source->arrays + file->index;
    const vg_mapping *map = &file->source->map;
    size_t start = (size_t)(array->data - map->bytes), run = file->inner * vg_element_size(array->element);
    size_t begin = first * run, end = begin + rows * run, bytes = rows * run < WINDOW ? rows * run : WINDOW;
    if (begin < array->dropped) /* gone back */
        array->dropped = 0;
    vg_file__forget(map, start + array->dropped, begin - array->dropped);
    array->dropped = begin;
    vg_file__prefetch(map, start + begin, bytes);
    vg_file__prefetch(map, start + end, bytes < array->bytes - end ? bytes : array->bytes - end);
}

/* Other orders: runs lie all over the array, which is let go whole whenever enough of it was touched. */
static void page_around(vg_prediction_file *file, size_t bytes) {
    vg_stored *array = file->source->arrays + file->index;
    array->touched += bytes;
    if (array->touched > WINDOW) {
        vg_file__forget(&file->source->map, (size_t)(array->data - file->source->map.bytes), array->bytes);
        array->touched = bytes;
    }
}

static vg_status fill_buffer(vg_prediction_file *file, size_t first, size_t rows) {
    size_t run = rows * file->inner, wanted = run * file->outer, width = vg_element_size(file->target);
    if (wanted > file->buffer_room) {
        vg_base__release(file->buffer);
        file->buffer = NULL, file->buffer_room = 0;
        VG_TRY(vg_base__alloc(&file->buffer, wanted, width, "a block of predictions"));
        file->buffer_room = wanted;
    }
    for (size_t o = 0; o < file->outer; o++) {
        if (file->outer > 1 && is_paged(file))
            page_around(file, footprint(file, rows));
        VG_TRY(vg_source__read(file->source, file->index, (o * file->n + first) * file->inner, run, file->target,
                               (uint8_t *)file->buffer + o * run * width));
    }
    return VG_OK;
}

/* Whether a block is viewed in the mapping: elements as in memory, and runs that do not make too much of it resident at once.
 */
static bool view_directly(const vg_prediction_file *file, size_t rows) {
    return file->direct && (file->outer == 1 || !is_paged(file) || footprint(file, rows) <= WINDOW / file->outer);
}

vg_status vg_prediction_file_block(vg_prediction_file *file, size_t first, size_t rows, vg_predictions *view) {
    if (rows == 0 || first > file->n || rows > file->n - first)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples from %zu wanted, but it has %zu", file->source->path, rows,
                             first, file->n);
    if (file->outer == 1 && is_paged(file))
        page_forward(file, first, rows);
    *view = (vg_predictions){.dtype = file->target == VG_ELEMENT_F32 ? VG_F32 : VG_F64, .n = rows, .m = file->m, .c = file->c};
    if (view_directly(file, rows)) {
        const vg_stored *array = file->source->arrays + file->index;
        size_t size = vg_element_size(array->element);
        if (file->outer > 1 && is_paged(file))
            page_around(file, file->outer * footprint(file, rows));
        size_t end = file->outer == 1 ? (first + rows) * file->inner * size : array->bytes;
        VG_TRY(vg_source__check_crc(file->source, file->index, end));
        view->data = array->data + first * file->inner * size;
        set_strides(file, view, file->n);
        return VG_OK;
    }
    VG_TRY(fill_buffer(file, first, rows));
    view->data = file->buffer;
    set_strides(file, view, rows);
    return VG_OK;
}

/* --- labels ------------------------------------------------------------------------------------------------------------- */
/* A whole array of labels: (N) or (N, C). */
static vg_status read_labels(int64_t **out, size_t *n, size_t *columns, vg_source *source, size_t index) {
    const vg_stored *array = source->arrays + index;
    if (array->rank != 1 && array->rank != 2)
        return vg_base__fail(VG_ERR_FORMAT, "%s: labels '%.100s' have %zu axes, expected 1 (samples) or 2 (samples, labels)",
                             source->path, array->name, array->rank);
    size_t wide = array->rank == 2 ? array->shape[1] : 1;
    if (wide == 0)
        return vg_base__fail(VG_ERR_FORMAT, "%s: labels '%.100s' have 0 columns", source->path, array->name);
    int64_t *labels;
    VG_TRY(vg_base__alloc(&labels, array->count, sizeof *labels, "labels"));
    vg_base__populate(labels, array->count * sizeof *labels);
    vg_status status = vg_source_read_i64(source, index, 0, array->shape[0], labels);
    if (status != VG_OK) {
        vg_base__release(labels);
        return status;
    }
    *out = labels, *n = array->shape[0], *columns = wide;
    return VG_OK;
}

vg_status vg_prediction_file_labels(vg_prediction_file *file, const int64_t **out, size_t *columns) {
    *out = NULL, *columns = 0;
    size_t index, n;
    if (!file->labels_read && find_listed(file->source, label_keys, &index) && index != file->index) {
        int64_t *labels;
        VG_TRY(read_labels(&labels, &n, &file->label_columns, file->source, index));
        if (n != file->n || (file->label_columns != 1 && file->label_columns != file->c)) {
            vg_base__release(labels);
            return vg_base__fail(
                VG_ERR_DATA, "%s: labels '%s' have shape (%zu, %zu), expected %zu samples and 1 or %zu columns",
                file->source->path, file->source->arrays[index].name, n, file->label_columns, file->n, file->c);
        }
        file->labels = labels;
    }
    file->labels_read = true;
    *out = file->labels, *columns = file->labels ? file->label_columns : 0;
    return VG_OK;
}

/* The array of a file of labels: the key's, one with a usual name, or the only one. */
static vg_status choose_labels(const vg_source *source, const char *key, size_t *index) {
    if (key)
        return vg_source_find(source, key, index);
    if (find_listed(source, label_keys, index))
        return VG_OK;
    if (source->count != 1)
        return vg_base__fail(VG_ERR_FORMAT, "%s: holds %zu arrays and none named L, labels, label or y; name one (key)",
                             source->path, source->count);
    *index = 0;
    return VG_OK;
}

vg_status vg_labels_read(int64_t **out, size_t *n, size_t *columns, const char *path, const char *key) {
    if (!out || !n || !columns || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_labels_read: out, n, columns and path must not be NULL");
    *out = NULL, *n = *columns = 0;
    vg_source *source;
    VG_TRY(vg_source_open(&source, path));
    size_t index = 0;
    vg_status status = choose_labels(source, key, &index);
    if (status == VG_OK)
        status = read_labels(out, n, columns, source, index);
    vg_source_close(source);
    return status;
}

void vg_labels_free(int64_t *labels) { vg_base__release(labels); }
