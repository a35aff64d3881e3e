/* predictions.c - opened predictions with their labels and names, given out one block of samples at a time.
 * prediction_arrays.c finds the arrays; prediction_blocks.c finds the samples in them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/labels.h"
#include "formats/prediction_arrays.h"
#include "formats/prediction_blocks.h"
#include "formats/prediction_file.h"
#include "formats/source.h"

struct vg_prediction_file {
    vg_busy busy;
    vg_source *source;
    vg_prediction_arrays arrays;
    size_t n, m, c;
    vg_prediction_blocks blocks;
    bool logits;
    int64_t *labels, *other_labels; /* found beside the predictions; read from another file */
    size_t label_columns;
    bool labels_read;
    char *labels_key, *id_key; /* as the options name them, or NULL */
    char separator, decimal;   /* of tables, as the options name them, or 0 */
    int multilabel;
    int64_t labels_from;
    bool may_be_mnc; /* three axes, read as (N, M, C) */
    vg_strings classes, ids, image_texts;
    bool ids_read;
    char notice[256];
    vg_block_map_fn map; /* of every block; NULL: none */
    void *map_context;
};

static vg_status prepare(vg_prediction_file *file, const vg_prediction_options *options) {
    vg_source *source = file->source;
    VG_TRY(vg_prediction_arrays__choose(&file->arrays, source, options->key, file->labels_key, options->axes));
    const vg_stored *array = source->arrays + file->arrays.index;
    VG_TRY(vg_prediction_blocks__open(&file->blocks, source, &file->arrays, options->axes));
    file->n = file->blocks.n, file->m = file->blocks.m, file->c = file->blocks.c;
    bool plain = !options->axes || strcmp(options->axes, "NMC") == 0;
    file->may_be_mnc = array->rank == 3 && plain && !array->owned && !file->arrays.parts;
    file->logits = options->logits < 0 ? vg_prediction_arrays__are_logits(array->name) : options->logits != 0;
    return VG_OK;
}

/* --- names and warnings ------------------------------------------------------------------------------------------- */
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
        return vg_base__fail(VG_ERR_FORMAT,
                             "%s: logits do not show whether all of these columns are classes; name them: --classes %s",
                             file->source->path, names);
    VG_TRY(vg_prediction_file_block(file, 0, file->n, &view));
    for (size_t n = 0; n < file->n; n++)
        for (size_t m = 0; m < file->m; m++) {
            double sum = 0;
            for (size_t c = 0; c < file->c; c++)
                sum += value_at(&view, n, m, c);
            if (fabs(sum - 1) > 1e-2 && file->c > 1)
                return vg_base__fail(VG_ERR_FORMAT,
                                     "%s: sample %zu, member %zu: its columns sum to %.6g, not 1, so not all may be "
                                     "classes; name those that are: --classes %s",
                                     file->source->path, n, m, sum, names);
        }
    return VG_OK;
}

/* Negative numbers where probabilities are expected are probably logits. */
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
                    return vg_base__fail(
                        VG_ERR_DATA,
                        "%s: sample %zu, member %zu, class %zu is %.6g, which is not a probability; if "
                        "these are logits, give --logits",
                        file->source->path, n, m, c, value_at(&view, n, m, c));
    return VG_OK;
}

/* Few samples with many members usually mean that the axes are (members, samples, classes). */
static void notice_axes(vg_prediction_file *file) {
    if (file->may_be_mnc && file->n > 1 && file->n <= 64 && file->m >= 4 * file->n)
        snprintf(file->notice, sizeof file->notice,
                 "read as %zu samples of %zu members; if the axes are (members, samples, classes), give --axes MNC",
                 file->n, file->m);
}

const char *vg_prediction_file__notice(const vg_prediction_file *file) { return file->notice[0] ? file->notice : NULL; }

static vg_status classes_alone(vg_prediction_file *file, const char *const **out) {
    return file->classes.count ? vg_strings__list(&file->classes, out) : VG_OK;
}

vg_status vg_prediction_file_classes(vg_prediction_file *file, const char *const **out) {
    VG_TRY(vg_base__given(out != NULL, "vg_prediction_file_classes: out"));
    *out = NULL;
    VG_TRY(vg_base__given(file != NULL, "vg_prediction_file_classes: file"));
    vg_status status;
    VG_ALONE(status, &file->busy, "the file of predictions", classes_alone(file, out));
    return status;
}

static vg_status ids_alone(vg_prediction_file *file, const char *const **out) {
    if (!file->ids_read && file->source->ids.count) {
        file->ids = file->source->ids;
        file->source->ids = (vg_strings){.bytes = NULL};
    } else if (!file->ids_read && !file->source->arrays[file->arrays.index].owned) {
        VG_TRY(vg_names__read(&file->ids, file->source, file->id_key, vg_prediction_id_keys, file->n));
    }
    file->ids_read = true;
    return file->ids.count ? vg_strings__list(&file->ids, out) : VG_OK;
}

vg_status vg_prediction_file_ids(vg_prediction_file *file, const char *const **out) {
    VG_TRY(vg_base__given(out != NULL, "vg_prediction_file_ids: out"));
    *out = NULL;
    VG_TRY(vg_base__given(file != NULL, "vg_prediction_file_ids: file"));
    vg_status status;
    VG_ALONE(status, &file->busy, "the file of predictions", ids_alone(file, out));
    return status;
}

vg_status vg_prediction_file__image_texts(vg_prediction_file *file, const char *key, const char *const **out) {
    *out = NULL;
    VG_TRY(vg_names__read(&file->image_texts, file->source, key, NULL, file->blocks.sites.shape[0]));
    return vg_strings__list(&file->image_texts, out);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */
/* The caller's options; fields that an older, shorter struct lacks take their defaults. */
static vg_status complete(vg_prediction_options *out, const vg_prediction_options *options) {
    static const vg_prediction_options defaults = VG_PREDICTION_OPTIONS_INIT;
    VG_TRY(vg_base__take_options(out, options, &defaults, sizeof *out, "vg_prediction_options"));
    if (!out->axes && out->members_first)
        out->axes = "MNC";
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
                      .group = options->group,
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
    vg_strings__free(&file->image_texts);
    vg_strings__free(&file->ids);
    vg_base__release(file->labels_key);
    vg_base__release(file->id_key);
    vg_base__release(file->arrays.parts);
    vg_prediction_blocks__close(&file->blocks);
    vg_base__release(file->labels);
    vg_base__release(file->other_labels);
    vg_base__release(file);
}

void vg_prediction_file_shape(const vg_prediction_file *file, size_t *n, size_t *m, size_t *c, int *logits) {
    if (n)
        *n = file ? file->n : 0;
    if (m)
        *m = file ? file->m : 0;
    if (c)
        *c = file ? file->c : 0;
    if (logits)
        *logits = file && file->logits;
}

static vg_status prediction_file_block_alone(vg_prediction_file *file, size_t first, size_t rows,
                                             vg_predictions *view) {
    VG_TRY(vg_prediction_blocks__view(&file->blocks, first, rows, view));
    return file->map ? file->map(file->map_context, view) : VG_OK;
}

vg_status vg_prediction_file_block(vg_prediction_file *file, size_t first, size_t rows, vg_predictions *view) {
    VG_TRY(vg_base__given(file && view, "vg_prediction_file_block: file and view"));
    vg_status status;
    VG_ALONE(status, &file->busy, "the file of predictions", prediction_file_block_alone(file, first, rows, view));
    return status;
}

void vg_prediction_file__map_blocks(vg_prediction_file *file, vg_block_map_fn map, void *context) {
    file->map = map;
    file->map_context = context;
    file->logits = false;
}

const vg_sites *vg_prediction_file__sites(const vg_prediction_file *file) { return &file->blocks.sites; }

/* --- labels ------------------------------------------------------------------------------------------------------- */
/* The lengths of N, H, W, D of images and volumes; NULL: samples have one axis. */
static const size_t *site_shape(const vg_prediction_file *file) {
    const size_t *shape = file->blocks.sites.shape;
    return shape[1] * shape[2] * shape[3] > 1 ? shape : NULL;
}

static vg_label_frame frame_of(vg_prediction_file *file, const char *path) {
    return (vg_label_frame){.n = file->n,
                            .m = file->m,
                            .c = file->c,
                            .path = path,
                            .classes = &file->classes,
                            .multilabel = file->multilabel,
                            .from = file->labels_from,
                            .may_be_mnc = file->may_be_mnc,
                            .sites = site_shape(file)};
}

static vg_status labels_alone(vg_prediction_file *file, const int64_t **out, size_t *columns) {
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

vg_status vg_prediction_file_labels(vg_prediction_file *file, const int64_t **out, size_t *columns) {
    VG_TRY(vg_base__given(file && out && columns, "vg_prediction_file_labels: file, out and columns"));
    vg_status status;
    *out = NULL, *columns = 0;
    VG_ALONE(status, &file->busy, "the file of predictions", labels_alone(file, out, columns));
    return status;
}

/* The only array of a file of labels, where none has a usual name. */
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

vg_status vg_prediction_file__label_maps(vg_prediction_file *file, vg_label_maps *out, const char *path,
                                         const char *key) {
    vg_label_kind kind;
    *out = (vg_label_maps){.source = file->source, .classes = file->c, .from = file->labels_from};
    if (path) {
        vg_roles roles = {.label = key, .labels_only = true};
        VG_TRY(open_labels(&out->source, &kind, &out->index, path, &roles));
        out->owned = true;
    } else {
        vg_status found =
            vg_labels__find(file->source, key ? key : file->labels_key, file->arrays.index, &kind, &out->index);
        if (found != VG_OK || kind == VG_LABELS_NONE) {
            out->source = NULL;
            return found;
        }
    }
    vg_status status = kind == VG_LABELS_NUMBERS
                           ? VG_OK
                           : vg_base__fail(VG_ERR_DATA, "%s: label maps are whole numbers", out->source->path);
    const vg_stored *array = out->source->arrays + out->index;
    if (status == VG_OK)
        status = vg_labels__check_maps(out->source, array, file->blocks.sites.shape);
    if (status == VG_OK && array->fortran && array->rank > 1)
        status = vg_base__fail(VG_ERR_FORMAT, "%s: label maps are in Fortran order; save them by np.ascontiguousarray",
                               out->source->path);
    if (status != VG_OK)
        vg_label_maps__close(out);
    return status;
}

vg_status vg_label_maps__read(const vg_label_maps *maps, size_t first, size_t rows, const int64_t *ignore,
                              int64_t *out) {
    VG_TRY(vg_source__read(maps->source, maps->index, first, rows, VG_ELEMENT_I64, out));
    for (size_t i = 0; i < rows; i++) {
        bool left_out = ignore && out[i] == *ignore;
        if (!left_out && (out[i] < maps->from || out[i] - maps->from >= (int64_t)maps->classes))
            return vg_base__fail(VG_ERR_DATA,
                                 "%s: label %lld of site %zu is outside %lld..%lld; if it marks sites to leave out, "
                                 "give --ignore %lld",
                                 maps->source->path, (long long)out[i], first + i, (long long)maps->from,
                                 (long long)maps->from + (long long)maps->classes - 1, (long long)out[i]);
        out[i] = left_out ? -1 : out[i] - maps->from;
    }
    return VG_OK;
}

void vg_label_maps__close(vg_label_maps *maps) {
    if (maps->owned)
        vg_source__close(maps->source);
    *maps = (vg_label_maps){.source = NULL};
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
                           ? vg_labels__numbers(out, n, columns, source, index, NULL)
                           : vg_base__fail(VG_ERR_DATA,
                                           "%s: labels are names, expected numbers: there are no classes to match "
                                           "them with",
                                           path);
    vg_source__close(source);
    return status;
}

void vg_labels__free(int64_t *labels) { vg_base__release(labels); }
