/* predictions.c - predictions (N, M, C) as people store them, handed out a block of samples at a time.
 *
 * In the file the axes lie in some order, slowest first: n m c, or m n c, or either reversed (Fortran order). What
 * matters is where n stands: `outer` is the product of the axes before it and `inner` of those behind it, so that
 * samples first .. first + rows - 1 are `outer` runs of rows * inner elements, run o at (o * N + first) * inner.
 * Float32 and float64 that lie in the file as in memory are viewed there, by strides; everything else is converted run
 * by run into a buffer of the same axis order with N = rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/labels.h"
#include "formats/prediction_arrays.h"
#include "formats/prediction_file.h"
#include "formats/source.h"

enum { WINDOW = 64 << 20 }; /* bytes of a mapping that may stay resident behind a reader that jumps about */

struct vg_prediction_file {
    vg_source *source;
    vg_prediction_arrays arrays;
    size_t n, m, c;
    char order[4]; /* axes as stored, slowest first: "nmc", "mnc", "cmn", "cnm", "nc", "cn"; "mcn" of parts */
    size_t outer, inner;
    bool logits, direct; /* direct: views of the mapping */
    vg_element target;   /* what the buffer holds: VG_ELEMENT_F32 or _F64 */
    void *buffer;
    size_t buffer_room;             /* elements */
    int64_t *labels, *other_labels; /* found beside the predictions; read from another file */
    size_t label_columns;
    bool labels_read;
    char *labels_key, *id_key; /* as the options name them, or NULL */
    char separator, decimal;   /* of tables, as the options name them, or 0 */
    int multilabel;
    int64_t labels_from;
    bool may_be_mnc; /* three axes, read as (N, M, C) */
    vg_strings classes, ids;
    bool ids_read;
    char notice[256];
};

static vg_status check_lengths(const vg_prediction_file *file, const vg_stored *array) {
    if (file->m == 0 || file->c == 0)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: array '%.100s' has %zu members and %zu classes, expected at least one of each",
                             file->source->path, array->name, file->m, file->c);
    return VG_OK;
}

/* One array (N, C) a member: the axis of the members is the slowest. */
static vg_status lay_out_parts(vg_prediction_file *file) {
    const vg_stored *array = file->source->arrays + file->arrays.index;
    size_t all;
    file->n = array->shape[0], file->m = file->arrays.count, file->c = array->shape[1];
    VG_TRY(check_lengths(file, array));
    if (!vg_base__mul(&all, file->m, file->c) || !vg_base__mul(&all, all, file->n ? file->n : 1))
        return vg_base__fail(VG_ERR_FORMAT, "%s: its arrays do not fit in memory", file->source->path);
    memcpy(file->order, array->fortran ? "mcn" : "mnc", 4);
    file->outer = array->fortran ? file->m * file->c : file->m;
    file->inner = array->fortran ? 1 : file->c;
    return VG_OK;
}

/* Shape and storage order from the array and the axes it is said to have. */
static vg_status lay_out(vg_prediction_file *file, vg_axes axes) {
    const vg_stored *array = file->source->arrays + file->arrays.index;
    if (file->arrays.parts)
        return lay_out_parts(file);
    if (array->rank != 2 && array->rank != 3)
        return vg_base__fail(
            VG_ERR_FORMAT,
            "%s: array '%.100s' has %zu axes, expected 3 (samples, members, classes) or 2 (samples, classes)",
            file->source->path, array->name, array->rank);
    const char *names = array->rank == 2 ? "nc" : axes == VG_AXES_MNC ? "mnc" : "nmc";
    file->may_be_mnc = array->rank == 3 && axes == VG_AXES_NMC && !array->owned;
    file->m = 1;
    file->outer = file->inner = 1;
    for (size_t i = 0; i < array->rank; i++) {
        size_t *length = names[i] == 'n' ? &file->n : names[i] == 'm' ? &file->m : &file->c;
        *length = array->shape[i];
        file->order[array->fortran ? array->rank - 1 - i : i] = names[i];
    }
    VG_TRY(check_lengths(file, array));
    bool behind = false;
    for (const char *p = file->order; *p; p++) {
        size_t length = *p == 'm' ? file->m : *p == 'c' ? file->c : 1;
        *(behind ? &file->inner : &file->outer) *= length; /* N * M * C was checked to fit */
        behind |= *p == 'n';
    }
    return VG_OK;
}

/* Whether the elements of an array become float32 when they are read. */
static bool is_single(const vg_stored *array) {
    return array->element == VG_ELEMENT_F16 || array->element == VG_ELEMENT_BF16 || array->element == VG_ELEMENT_F32;
}

static vg_status prepare(vg_prediction_file *file, const vg_prediction_options *options) {
    vg_source *source = file->source;
    VG_TRY(vg_prediction_arrays__choose(&file->arrays, source, options->key, file->labels_key));
    VG_TRY(lay_out(file, options->axes));
    const vg_stored *array = source->arrays + file->arrays.index;
    size_t parts = file->arrays.parts ? file->arrays.count : 1;
    file->logits = options->logits < 0 ? vg_prediction_arrays__are_logits(array->name) : options->logits != 0;
    bool single = is_single(array);
    for (size_t i = 1; i < parts; i++)
        single &= is_single(source->arrays + file->arrays.parts[i]);
    file->target = single ? VG_ELEMENT_F32 : VG_ELEMENT_F64;
    file->direct = parts == 1 && array->element == file->target && !array->stream && !array->swapped &&
                   (uintptr_t)array->data % vg_element__size(array->element) == 0;
    if (file->outer == parts)
        return VG_OK;
    for (size_t i = 0; i < parts; i++) { /* runs all over a deflated member */
        size_t index = file->arrays.parts ? file->arrays.parts[i] : file->arrays.index;
        if (source->arrays[index].stream)
            VG_TRY(vg_source__hold(source, index));
    }
    return VG_OK;
}

/* --- names, and what is noticed ----------------------------------------------------------------------------------- */
/* The names of the classes: from --classes for arrays, from a table's columns, or stored beside the predictions. */
static vg_status name_classes(vg_prediction_file *file, const char *listed_names) {
    vg_source *source = file->source;
    bool table =
        source->free_columns || source->classes.count || source->ids.count || source->arrays[file->arrays.index].owned;
    if (source->classes.count) {
        file->classes = source->classes;
        source->classes = (vg_strings){.bytes = NULL};
    } else if (!table || (listed_names && source->classes.count == 0)) {
        size_t index;
        for (const char *p = listed_names; p; p = *p ? p + 1 : NULL) {
            size_t length = strcspn(p, ",");
            VG_TRY(vg_strings__intern(&file->classes, p, length, &index));
            if (index + 1 != file->classes.count)
                return vg_base__fail(VG_ERR_ARGUMENT, "--classes: '%.*s' is named twice", (int)length, p);
            p += length;
        }
        if (!listed_names)
            VG_TRY(vg_names__read(&file->classes, source, NULL, vg_prediction_class_keys, file->c));
        if (!listed_names && !file->classes.count)
            VG_TRY(vg_names__metadata(&file->classes, source));
    }
    for (size_t i = 0; i < file->classes.count; i++) {
        const char *name = vg_strings__at(&file->classes, i);
        size_t first;
        bool found;
        VG_TRY(vg_strings__find(&file->classes, name, strlen(name), &first, &found));
        if (found && first != i)
            return vg_base__fail(VG_ERR_DATA, "%s: classes %zu and %zu are both named '%.60s'", source->path, first, i,
                                 name);
    }
    if (file->classes.count && file->classes.count != file->c)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu names for %zu classes", source->path, file->classes.count, file->c);
    return VG_OK;
}

static double value_at(const vg_predictions *view, size_t n, size_t m, size_t c) {
    ptrdiff_t at = (ptrdiff_t)n * view->stride_n + (ptrdiff_t)m * view->stride_m + (ptrdiff_t)c * view->stride_c;
    return view->dtype == VG_F32 ? (double)((const float *)view->data)[at] : ((const double *)view->data)[at];
}

/* Columns with free names are classes only where every row sums to 1; see csv_columns.c. */
static vg_status check_free_columns(vg_prediction_file *file) {
    const char *names = file->source->free_columns;
    vg_predictions view;
    if (!names || file->n == 0)
        return VG_OK;
    if (file->logits)
        return vg_base__fail(
            VG_ERR_FORMAT,
            "%s: whether all of these columns are classes cannot be told from logits; name them: --classes %s",
            file->source->path, names);
    VG_TRY(vg_prediction_file_block(file, 0, file->n, &view));
    for (size_t n = 0; n < file->n; n++)
        for (size_t m = 0; m < file->m; m++) {
            double sum = 0;
            for (size_t c = 0; c < file->c; c++)
                sum += value_at(&view, n, m, c);
            if (fabs(sum - 1) > 1e-2 && file->c > 1)
                return vg_base__fail(
                    VG_ERR_FORMAT,
                    "%s: sample %zu, member %zu: its columns sum to %.6g, not 1, so whether all are classes "
                    "cannot be told; name those that are: --classes %s",
                    file->source->path, n, m, sum, names);
        }
    return VG_OK;
}

/* Negative numbers where probabilities are expected are logits that were not said to be. */
static vg_status check_probabilities(vg_prediction_file *file) {
    vg_predictions view;
    size_t most = ((size_t)1 << 18) / file->m / file->c + 1, rows = file->n < 64 ? file->n : 64;
    rows = rows < most ? rows : most;
    if (file->logits || rows == 0)
        return VG_OK;
    if (vg_prediction_file_block(file, 0, rows, &view) != VG_OK)
        return VG_OK; /* the block that is read first reports it */
    for (size_t n = 0; n < rows; n++)
        for (size_t m = 0; m < file->m; m++)
            for (size_t c = 0; c < file->c; c++)
                if (value_at(&view, n, m, c) < -1e-6)
                    return vg_base__fail(VG_ERR_DATA,
                                         "%s: sample %zu, member %zu, class %zu is %.6g, which is no probability; if "
                                         "these are logits, give --logits",
                                         file->source->path, n, m, c, value_at(&view, n, m, c));
    return VG_OK;
}

/* Few samples of many members are more often many samples of few members, stored the other way round. */
static void notice_axes(vg_prediction_file *file) {
    if (file->may_be_mnc && file->n > 1 && file->n <= 64 && file->m >= 4 * file->n)
        snprintf(file->notice, sizeof file->notice,
                 "read as %zu samples of %zu members; if the axes are (members, samples, classes), give --axes MNC",
                 file->n, file->m);
}

const char *vg_prediction_file__notice(const vg_prediction_file *file) { return file->notice[0] ? file->notice : NULL; }

vg_status vg_prediction_file_classes(vg_prediction_file *file, const char *const **out) {
    *out = NULL;
    return file->classes.count ? vg_strings__list(&file->classes, out) : VG_OK;
}

vg_status vg_prediction_file_ids(vg_prediction_file *file, const char *const **out) {
    *out = NULL;
    if (!file->ids_read && file->source->ids.count) {
        file->ids = file->source->ids;
        file->source->ids = (vg_strings){.bytes = NULL};
    } else if (!file->ids_read && !file->source->arrays[file->arrays.index].owned) {
        VG_TRY(vg_names__read(&file->ids, file->source, file->id_key, vg_prediction_id_keys, file->n));
    }
    file->ids_read = true;
    return file->ids.count ? vg_strings__list(&file->ids, out) : VG_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */
/* A caller's options, those of an older and shorter struct completed by the defaults. */
static vg_status complete(vg_prediction_options *out, const vg_prediction_options *options) {
    static const vg_prediction_options defaults = VG_PREDICTION_OPTIONS_INIT;
    VG_TRY(vg_base__take_options(out, options, &defaults, sizeof *out, "vg_prediction_options"));
    if (out->labels_from != 0 && out->labels_from != 1)
        return vg_base__fail(VG_ERR_ARGUMENT, "labels count from 0 or from 1, not from %d", out->labels_from);
    return VG_OK;
}

/* The character that an option names by itself or by a word; 0 for NULL. */
static vg_status mark_of(char *out, const char *text, const char *option, const char *const words[][2]) {
    char known[120] = "";
    size_t used = 0;
    *out = 0;
    if (!text)
        return VG_OK;
    for (size_t i = 0; words[i][0]; i++) {
        if (strcmp(text, words[i][0]) == 0 || strcmp(text, words[i][1]) == 0) {
            *out = words[i][0][0];
            return VG_OK;
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i][1]);
    }
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: '%.20s' is none of %s", option, text, known);
}

static vg_status dialect_of(char *separator, char *decimal, const vg_prediction_options *options) {
    static const char *const separators[][2] = {
        {",", "comma"}, {";", "semicolon"}, {"\t", "tab"}, {" ", "space"}, {NULL, NULL}};
    static const char *const decimals[][2] = {{".", "point"}, {",", "comma"}, {NULL, NULL}};
    VG_TRY(mark_of(separator, options->separator, "--separator", separators));
    return mark_of(decimal, options->decimal, "--decimal", decimals);
}

static vg_status roles_of(vg_roles *out, const vg_prediction_options *options) {
    char separator, decimal;
    VG_TRY(dialect_of(&separator, &decimal, options));
    *out = (vg_roles){.id = options->id,
                      .label = options->labels_key,
                      .member = options->member,
                      .classes = options->classes,
                      .key = options->key,
                      .separator = separator,
                      .decimal = decimal};
    return VG_OK;
}

static vg_status settle(vg_prediction_file *file, const vg_prediction_options *options) {
    VG_TRY(dialect_of(&file->separator, &file->decimal, options));
    file->multilabel = options->multilabel;
    file->labels_from = options->labels_from;
    if (options->labels_key)
        VG_TRY(vg_base__strdup(&file->labels_key, options->labels_key));
    if (options->id)
        VG_TRY(vg_base__strdup(&file->id_key, options->id));
    VG_TRY(prepare(file, options));
    VG_TRY(name_classes(file, options->classes));
    VG_TRY(check_free_columns(file));
    if (options->logits < 0)
        VG_TRY(check_probabilities(file));
    notice_axes(file);
    return VG_OK;
}

static vg_status open_source(vg_prediction_file **out, vg_source *source, const vg_prediction_options *options) {
    vg_prediction_file *file;
    vg_status status = vg_base__zalloc(&file, 1, sizeof *file, "a prediction file");
    if (status != VG_OK) {
        vg_source__close(source);
        return status;
    }
    file->source = source;
    status = settle(file, options);
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
    vg_prediction_options chosen;
    VG_TRY(complete(&chosen, options));
    vg_source *source;
    vg_roles roles;
    VG_TRY(roles_of(&roles, &chosen));
    VG_TRY(vg_source__open_as(&source, path, &roles));
    return open_source(out, source, &chosen);
}

vg_status vg_prediction_file__open_memory(vg_prediction_file **out, const void *bytes, size_t size, const char *name,
                                          const vg_prediction_options *options) {
    if (!out)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_prediction_file__open_memory: out must not be NULL");
    *out = NULL;
    vg_prediction_options chosen;
    VG_TRY(complete(&chosen, options));
    vg_source *source;
    vg_roles roles;
    VG_TRY(roles_of(&roles, &chosen));
    VG_TRY(vg_source__open_memory_as(&source, bytes, size, name, &roles));
    return open_source(out, source, &chosen);
}

void vg_prediction_file_close(vg_prediction_file *file) {
    if (!file)
        return;
    vg_source__close(file->source);
    vg_strings__free(&file->classes);
    vg_strings__free(&file->ids);
    vg_base__release(file->labels_key);
    vg_base__release(file->id_key);
    vg_base__release(file->arrays.parts);
    vg_base__release(file->buffer);
    vg_base__release(file->labels);
    vg_base__release(file->other_labels);
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

/* --- blocks ------------------------------------------------------------------------------------------------------- */
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
static bool is_paged(const vg_prediction_file *file, size_t index) {
    const vg_stored *array = file->source->arrays + index;
    return file->source->map.mapped && !array->stream && !array->owned;
}

/* What a run of `rows` samples may make resident: its bytes, and the neighbours that are mapped with a page. */
static size_t footprint(const vg_prediction_file *file, size_t rows) {
    return rows * file->inner * vg_element__size(file->source->arrays[file->arrays.index].element) + 65536;
}

/* Samples first: starts reading the block and the next where they are not cached, and lets go of what is behind.
 * Mapping the pages is left to the threads that touch them: it costs least there. */
static void page_forward(vg_prediction_file *file, size_t first, size_t rows) {
    vg_stored *array = file->source->arrays + file->arrays.index;
    const vg_mapping *map = &file->source->map;
    size_t start = (size_t)(array->data - map->bytes), run = file->inner * vg_element__size(array->element);
    size_t begin = first * run, end = begin + rows * run, bytes = rows * run < WINDOW ? rows * run : WINDOW;
    if (begin < array->dropped) /* gone back */
        array->dropped = 0;
    vg_file__forget(map, start + array->dropped, begin - array->dropped);
    array->dropped = begin;
    vg_file__prefetch(map, start + begin, bytes);
    vg_file__prefetch(map, start + end, bytes < array->bytes - end ? bytes : array->bytes - end);
}

/* Other orders: runs lie all over the array, which is let go whole whenever enough of it was touched. */
static void page_around(vg_prediction_file *file, size_t index, size_t bytes) {
    vg_stored *array = file->source->arrays + index;
    array->touched += bytes;
    if (array->touched > WINDOW) {
        vg_file__forget(&file->source->map, (size_t)(array->data - file->source->map.bytes), array->bytes);
        array->touched = bytes;
    }
}

static vg_status fill_buffer(vg_prediction_file *file, size_t first, size_t rows) {
    size_t run = rows * file->inner, wanted = run * file->outer, width = vg_element__size(file->target);
    if (wanted > file->buffer_room) {
        vg_base__release(file->buffer);
        file->buffer = NULL, file->buffer_room = 0;
        VG_TRY(vg_base__alloc(&file->buffer, wanted, width, "a block of predictions"));
        file->buffer_room = wanted;
    }
    size_t parts = file->arrays.parts ? file->arrays.count : 1, each = file->outer / parts;
    for (size_t o = 0; o < file->outer; o++) {
        size_t index = file->arrays.parts ? file->arrays.parts[o / each] : file->arrays.index;
        if (file->outer > 1 && is_paged(file, index))
            page_around(file, index, footprint(file, rows));
        VG_TRY(vg_source__read(file->source, index, (o % each * file->n + first) * file->inner, run, file->target,
                               (uint8_t *)file->buffer + o * run * width));
    }
    return VG_OK;
}

/* Whether a block is viewed in the mapping: elements as in memory, and runs that do not make too much of it resident
 * at once. */
static bool view_directly(const vg_prediction_file *file, size_t rows) {
    return file->direct &&
           (file->outer == 1 || !is_paged(file, file->arrays.index) || footprint(file, rows) <= WINDOW / file->outer);
}

vg_status vg_prediction_file_block(vg_prediction_file *file, size_t first, size_t rows, vg_predictions *view) {
    if (rows == 0 || first > file->n || rows > file->n - first)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %zu samples from %zu wanted, but it has %zu", file->source->path,
                             rows, first, file->n);
    if (file->outer == 1 && is_paged(file, file->arrays.index))
        page_forward(file, first, rows);
    *view = (vg_predictions){
        .dtype = file->target == VG_ELEMENT_F32 ? VG_F32 : VG_F64, .n = rows, .m = file->m, .c = file->c};
    if (view_directly(file, rows)) {
        const vg_stored *array = file->source->arrays + file->arrays.index;
        size_t size = vg_element__size(array->element);
        if (file->outer > 1 && is_paged(file, file->arrays.index))
            page_around(file, file->arrays.index, file->outer * footprint(file, rows));
        size_t end = file->outer == 1 ? (first + rows) * file->inner * size : array->bytes;
        VG_TRY(vg_source__check_crc(file->source, file->arrays.index, end));
        view->data = array->data + first * file->inner * size;
        set_strides(file, view, file->n);
        return VG_OK;
    }
    VG_TRY(fill_buffer(file, first, rows));
    view->data = file->buffer;
    set_strides(file, view, rows);
    return VG_OK;
}

/* --- labels ------------------------------------------------------------------------------------------------------- */
static vg_label_frame frame_of(vg_prediction_file *file, const char *path) {
    return (vg_label_frame){.n = file->n,
                            .m = file->m,
                            .c = file->c,
                            .path = path,
                            .classes = &file->classes,
                            .multilabel = file->multilabel,
                            .from = file->labels_from,
                            .may_be_mnc = file->may_be_mnc};
}

vg_status vg_prediction_file_labels(vg_prediction_file *file, const int64_t **out, size_t *columns) {
    *out = NULL, *columns = 0;
    vg_label_kind kind;
    size_t index;
    if (!file->labels_read) {
        vg_label_frame frame = frame_of(file, file->source->path);
        VG_TRY(vg_labels__find(file->source, file->labels_key, file->arrays.index, &kind, &index));
        if (kind != VG_LABELS_NONE)
            VG_TRY(vg_labels__load(&file->labels, &file->label_columns, file->source, kind, index, &frame));
    }
    file->labels_read = true;
    *out = file->labels, *columns = file->labels ? file->label_columns : 0;
    return VG_OK;
}

/* The only array of a file of labels without a usual name. */
static vg_status find_only(const vg_source *source, vg_label_kind *kind, size_t *index) {
    if (*kind != VG_LABELS_NONE)
        return VG_OK;
    if (source->count + source->text_count != 1)
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: holds %zu arrays and none named L, labels, label or y; name one: --labels-key NAME",
                             source->path, source->count + source->text_count);
    *kind = source->count ? VG_LABELS_NUMBERS : VG_LABELS_TEXTS;
    *index = 0;
    return VG_OK;
}

static vg_status open_labels(vg_source **out, vg_label_kind *kind, size_t *index, const char *path,
                             const vg_roles *roles) {
    VG_TRY(vg_source__open_as(out, path, roles));
    vg_status status = vg_labels__find(*out, roles->label, SIZE_MAX, kind, index);
    if (status == VG_OK)
        status = find_only(*out, kind, index);
    if (status != VG_OK)
        vg_source__close(*out);
    return status;
}

vg_status vg_prediction_file__read_labels(vg_prediction_file *file, const int64_t **out, size_t *columns,
                                          const char *path, const char *key) {
    *out = NULL, *columns = 0;
    vg_source *source;
    vg_label_kind kind;
    size_t index;
    vg_roles roles = {.label = key,
                      .labels_only = true,
                      .known = &file->classes,
                      .separator = file->separator,
                      .decimal = file->decimal};
    VG_TRY(open_labels(&source, &kind, &index, path, &roles));
    vg_label_frame frame = frame_of(file, path);
    int64_t *labels;
    vg_status status = vg_labels__load(&labels, columns, source, kind, index, &frame);
    vg_source__close(source);
    VG_TRY(status);
    vg_base__release(file->other_labels);
    *out = file->other_labels = labels;
    return VG_OK;
}

vg_status vg_labels__read(int64_t **out, size_t *n, size_t *columns, const char *path, const char *key) {
    if (!out || !n || !columns || !path)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_labels__read: out, n, columns and path must not be NULL");
    *out = NULL, *n = *columns = 0;
    vg_source *source;
    vg_label_kind kind;
    size_t index;
    VG_TRY(open_labels(&source, &kind, &index, path, &(vg_roles){.label = key, .labels_only = true}));
    vg_status status = kind == VG_LABELS_NUMBERS
                           ? vg_labels__numbers(out, n, columns, source, index)
                           : vg_base__fail(VG_ERR_DATA,
                                           "%s: labels are names, expected numbers: there are no classes to match "
                                           "them with",
                                           path);
    vg_source__close(source);
    return status;
}

void vg_labels__free(int64_t *labels) { vg_base__release(labels); }
