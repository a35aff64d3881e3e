/* prediction_input.c - opens predictions with their labels and temperatures and checks that they match. */
#include "workflow/prediction_input.h"

#include "calibrate/calibration.h"
#include "formats/prediction_file.h"
#include "workflow/workflow_options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workflow/stream_bytes.h"

const char vg_score_no_labels[] = "";
const char vg_score_labels_if_any[] = " ";

/* The named file, or the bytes that were read from standard input. */
static vg_status open_as(vg_score_input *in, const vg_input_options *options, const vg_stream_bytes *bytes,
                         const vg_prediction_options *how) {
    char name[64];
    if (!bytes->text)
        return vg_prediction_file_open(&in->file, in->path, how);
    snprintf(name, sizeof name, "standard input.%.32s", options->format);
    return vg_prediction_file__open_memory(&in->file, bytes->text, bytes->size, name, how);
}

/* Opens the file; `labels_optional`: a file without the labels that labels_key names is opened too. */
static vg_status open_file(vg_score_input *in, const vg_input_options *options, bool labels_optional) {
    vg_prediction_options how = VG_PREDICTION_OPTIONS_INIT;
    how.key = options->key;
    how.axes = options->axes;
    how.logits = options->logits > 0 ? 1 : -1;
    how.labels_key = options->labels ? NULL : options->labels_key;
    how.classes = options->classes;
    how.id = options->id;
    how.member = options->member;
    how.group = options->group;
    how.separator = options->separator;
    how.decimal = options->decimal;
    how.multilabel = in->options.task != VG_TASK_MULTICLASS;
    how.labels_from = options->labels_from;
    vg_stream_bytes bytes = {NULL, 0};
    if (options->format && strcmp(in->path, "-") == 0 && !vg_stream_bytes__is_binary(options->format))
        VG_TRY(vg_stream_bytes__read(&bytes));
    in->streamed = bytes.text;
    vg_status status = open_as(in, options, &bytes, &how);
    if (status != VG_OK && labels_optional && how.labels_key) {
        how.labels_key = NULL;
        status = open_as(in, options, &bytes, &how);
    }
    return status;
}

static vg_status open_predictions(vg_score_input *in, const vg_input_options *options, bool labels_optional) {
    VG_TRY(open_file(in, options, labels_optional));
    int logits = 0;
    vg_score_layout *layout = &in->layout;
    vg_prediction_file_shape(in->file, &layout->n, &layout->m, &layout->c, &logits);
    layout->multilabel = in->options.task != VG_TASK_MULTICLASS;
    layout->k = in->options.k;
    layout->k_count = in->options.k_count;
    in->logits = logits != 0;
    in->options.logits = in->logits;
    if (layout->n == 0 || layout->m == 0 || layout->c == 0)
        return vg_base__fail(VG_ERR_DATA, "%s: shape (%zu, %zu, %zu) holds no predictions", in->path, layout->n,
                             layout->m, layout->c);
    if (layout->c == 1 && !layout->multilabel)
        return vg_base__fail(VG_ERR_DATA,
                             "%s: one class (C = 1): a multiclass problem needs at least 2, or give --multilabel",
                             in->path);
    in->called_logits = options->logits > 0;
    return VG_OK;
}

static vg_status refuse_normalised(const vg_score_input *in) {
    return vg_base__fail(VG_ERR_DATA,
                         "%s: holds probabilities (rows within [0, 1] that sum to 1), not logits: leave out --logits",
                         in->path);
}

vg_status vg_score_input__check_logits(const vg_score_input *in) {
    return in->called_logits && vg_score_input__normalised(in) ? refuse_normalised(in) : VG_OK;
}

vg_status vg_score_input__calibrate(vg_score_input *in, const vg_input_options *options) {
    VG_TRY(vg_calibrator__read(&in->calibrator, options->temperature));
    vg_calibrator *c = in->calibrator;
    if (!c)
        return VG_OK;
    VG_TRY(vg_calibrator__check(c, &in->layout, in->logits, in->path));
    if (c->temperature) {
        in->options.temperature = c->temperature;
        in->options.temperature_count = c->count;
        return VG_OK;
    }
    VG_TRY(vg_score_input__check_logits(in));
    c->logits = in->logits;
    c->threads = in->options.threads;
    in->logits = in->called_logits = false;
    in->options.logits = 0;
    if (in->file)
        vg_prediction_file__map_blocks(in->file, vg_calibrator__map, c);
    return VG_OK;
}

/* A k for every class: from the file that is named, else from the scoring options. */
static vg_status read_class_k(vg_score_input *in, const vg_input_options *options) {
    vg_score_options *o = &in->options;
    if (options->class_k) {
        VG_TRY(vg_class_k__read(&in->class_k, &o->class_k_count, options->class_k));
        o->class_k = in->class_k;
    }
    if (o->class_k && o->class_k_count != 1 && o->class_k_count != in->layout.c)
        return vg_base__fail(VG_ERR_DATA, "%s: a k for each of %zu %s, %s has %zu",
                             options->class_k ? options->class_k : "class_k", o->class_k_count,
                             in->layout.multilabel ? "labels" : "classes", in->path, in->layout.c);
    if (!o->class_k || o->class_k_count == in->layout.c)
        return VG_OK;
    double one = o->class_k[0]; /* one k for all */
    vg_base__release(in->class_k);
    in->class_k = NULL;
    VG_TRY(vg_base__alloc(&in->class_k, in->layout.c, sizeof *in->class_k, "a k for every class"));
    for (size_t c = 0; c < in->layout.c; c++)
        in->class_k[c] = one;
    o->class_k = in->class_k;
    o->class_k_count = in->layout.c;
    return VG_OK;
}

vg_status vg_score_input__gates(vg_score_input *in, const vg_input_options *options) {
    VG_TRY(read_class_k(in, options));
    in->layout.class_k = in->options.class_k;
    return VG_OK;
}

static vg_status read_labels(vg_score_input *in, const vg_input_options *options, const char *labels) {
    size_t columns;
    vg_status status = VG_OK;
    in->own_key = options->labels_key;
    if (labels == vg_score_no_labels)
        return VG_OK;
    if (labels && labels != vg_score_labels_if_any)
        status = vg_prediction_file__read_labels(in->file, &in->labels, &columns, labels, options->labels_key);
    else
        status = vg_prediction_file_labels(in->file, &in->labels, &columns);
    return status == VG_ERR_ARGUMENT && labels == vg_score_labels_if_any ? VG_OK : status;
}

size_t vg_score_input__unit_rows(const vg_score_input *in) {
    const size_t *shape = vg_score_input__shape(in);
    size_t sites = shape ? shape[1] * shape[2] * shape[3] : 1;
    return in->layout.multilabel ? sites * in->layout.c : sites;
}

const size_t *vg_score_input__shape(const vg_score_input *in) {
    return in->file ? vg_prediction_file__sites(in->file)->shape : NULL;
}

bool vg_score_input__images(const vg_score_input *in) {
    const size_t *shape = vg_score_input__shape(in);
    return shape && shape[1] * shape[2] * shape[3] > 1;
}

static vg_status open_maps(vg_score_input *in, const vg_input_options *options, const char *labels) {
    bool images = vg_score_input__images(in);
    if (options->ignore && !images && labels != vg_score_no_labels)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: --ignore leaves out sites of images: name the axes, --axes NMCHW",
                             in->path);
    if (options->ignore && in->options.device == VG_SCORE_ON_CUDA)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: --ignore scores on the CPU; leave out --device cuda", in->path);
    if (options->ignore && in->layout.multilabel)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: --ignore is a label of maps; --multilabel has none", in->path);
    if (!images || in->layout.multilabel || labels == vg_score_no_labels)
        return read_labels(in, options, labels);
    in->own_key = options->labels_key;
    bool optional = labels == vg_score_labels_if_any;
    vg_status status =
        vg_prediction_file__label_maps(in->file, &in->maps, optional ? NULL : labels, options->labels_key);
    if (status != VG_OK && !(status == VG_ERR_ARGUMENT && optional))
        return status;
    if (options->ignore && !in->maps.source && !optional)
        return vg_score_input__need_labels(in);
    if (!in->maps.source)
        return VG_OK;
    in->ignore = options->ignore;
    if (in->ignore)
        in->options.device = VG_SCORE_ON_CPU;
    return VG_OK;
}

bool vg_score_input__labelled(const vg_score_input *in) { return in->labels || in->maps.source; }

const int64_t *vg_score_input__labels(const vg_score_input *in, size_t first) {
    if (in->maps.source)
        return in->block_labels;
    return in->labels ? in->labels + first * (in->layout.multilabel ? in->layout.c : 1) : NULL;
}

vg_status vg_score_input__read_block(vg_score_input *in, size_t first, size_t rows) {
    if (!in->maps.source)
        return VG_OK;
    if (rows > in->block_room) {
        vg_base__release(in->block_labels);
        vg_base__release(in->block_left);
        in->block_labels = NULL, in->block_left = NULL, in->block_room = 0;
        VG_TRY(vg_base__alloc(&in->block_labels, rows, sizeof *in->block_labels, "labels"));
        VG_TRY(vg_base__alloc(&in->block_left, rows, 1, "sites"));
        in->block_room = rows;
    }
    VG_TRY(vg_label_maps__read(&in->maps, first, rows, in->ignore, in->block_labels));
    for (size_t i = 0; i < rows; i++) {
        in->block_left[i] = in->block_labels[i] < 0;
        in->ignored += in->block_left[i];
    }
    return VG_OK;
}

static vg_status check_k(const double *k, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(k[i]) || k[i] <= 0)
            return vg_base__fail(VG_ERR_ARGUMENT, "-k: %g is not a positive number", k[i]);
        for (size_t j = 0; j < i; j++) {
            if (k[j] == k[i])
                return vg_base__fail(VG_ERR_ARGUMENT, "-k: %g is given twice", k[i]);
        }
    }
    return VG_OK;
}

vg_status vg_score_input__settings(vg_score_options *out, const vg_input_options *options) {
    static const double usual_k[] = {1, 2, 3}; /* the default of vg_score_options */
    *out = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    VG_TRY(vg_workflow__options(out, sizeof *out, options->scoring, "vg_score_options"));
    if (!out->k) {
        out->k = usual_k;
        out->k_count = sizeof usual_k / sizeof *usual_k;
    }
    out->logits = options->logits > 0;
    out->temperature = NULL;
    out->temperature_count = 0;
    return check_k(out->k, out->k_count);
}

static vg_status open_parts(vg_score_input *in, const vg_input_options *options, const char *labels, bool maps) {
    VG_TRY(vg_score_input__settings(&in->options, options));
    VG_TRY(open_predictions(in, options, labels == vg_score_labels_if_any));
    VG_TRY(vg_score_input__calibrate(in, options));
    VG_TRY(vg_score_input__gates(in, options));
    VG_TRY(maps ? open_maps(in, options, labels) : read_labels(in, options, labels));
    if (!options->axes && vg_prediction_file__notice(in->file))
        vg_job__warn(in->job, "%s: %s", in->path, vg_prediction_file__notice(in->file));
    return VG_OK;
}

static vg_status open_input(vg_score_input *in, const char *path, const vg_input_options *options, const char *labels,
                            bool maps, const vg_job *job) {
    vg_input_options own = VG_INPUT_OPTIONS_INIT;
    *in = (vg_score_input){.path = path, .job = job};
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_input_options"));
    options = &own;
    if (options->ignore && !maps)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: --ignore does not go with ood", path);
    in->measures = options->fields ? options->fields : VG_FIELDS_ALL;
    vg_status status = open_parts(in, options, labels, maps);
    if (status != VG_OK)
        vg_score_input__close(in);
    return status;
}

vg_status vg_score_input__open_labels(vg_score_input *in, const char *path, const vg_input_options *options,
                                      const char *labels, const vg_job *job) {
    return open_input(in, path, options, labels, false, job);
}

vg_status vg_score_input__open_maps(vg_score_input *in, const char *path, const vg_input_options *options,
                                    const char *labels, const vg_job *job) {
    return open_input(in, path, options, labels, true, job);
}

vg_status vg_score_input__open(vg_score_input *in, const char *path, const vg_input_options *options,
                               const vg_job *job) {
    return open_input(in, path, options, options ? options->labels : NULL, false, job);
}

vg_field_set vg_score_input__compared(const vg_score_input *in) {
    vg_field_set more = VG_FIELDS_BASELINES & ~(in->logits ? 0 : VG_FIELDS_OF_LOGITS);
    return in->measures == VG_FIELDS_ALL && in->options.device == VG_SCORE_ON_CPU ? in->measures | more : in->measures;
}

vg_status vg_score_input__some_left(const vg_score_input *in) {
    if (!in->ignore || in->ignored < in->layout.n)
        return VG_OK;
    return vg_base__fail(VG_ERR_DATA, "%s: every site is left out by --ignore %lld: none is left to score", in->path,
                         (long long)*in->ignore);
}

vg_status vg_score_input__need_labels(const vg_score_input *in) {
    if (vg_score_input__labelled(in))
        return VG_OK;
    if (in->own_key)
        return vg_base__fail(VG_ERR_DATA, "%s: no labels named '%s' in it", in->path, in->own_key);
    return vg_base__fail(VG_ERR_DATA, "%s: no labels in it (L, labels or y); give --labels FILE, or --labels-key NAME",
                         in->path);
}

bool vg_score_input__normalised(const vg_score_input *in) {
    vg_predictions view;
    size_t rows = in->layout.n < 64 ? in->layout.n : 64;
    return in->file && !in->layout.multilabel && vg_prediction_file_block(in->file, 0, rows, &view) == VG_OK &&
           vg_predictions_normalised(&view);
}

vg_status vg_score_input__names(vg_row_names *out, const vg_score_input *in) {
    if (in->file)
        return vg_row_names__of_file(out, in->file);
    *out = (vg_row_names){.classes = in->class_names, .ids = in->ids};
    if (!in->source || in->ids)
        return VG_OK;
    VG_TRY(vg_base__alloc(&out->numbers, in->layout.n, sizeof *out->numbers, "ids of the samples"));
    for (size_t i = 0; i < in->layout.n; i++)
        out->numbers[i] = (int64_t)(in->sample_numbers ? in->sample_numbers[i] : i);
    return VG_OK;
}

void vg_score_input__close(vg_score_input *in) {
    vg_label_maps__close(&in->maps);
    vg_base__release(in->block_labels);
    vg_base__release(in->block_left);
    vg_prediction_file_close(in->file);
    free(in->streamed);
    vg_calibrator__free(in->calibrator);
    vg_base__release(in->class_k);
    *in = (vg_score_input){0};
}
