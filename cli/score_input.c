/* score_input.c - opens predictions with their labels and temperatures and checks that they fit each other. */
#include <stdlib.h>

#include "console.h"
#include "score_options.h"

static int open_predictions(score_input *in, const score_options *options) {
    vg_prediction_options how = VG_PREDICTION_OPTIONS_INIT;
    how.key = options->key;
    how.axes = options->axes == 1 ? VG_AXES_MNC : VG_AXES_NMC;
    how.logits = options->logits ? 1 : -1;
    if (vg_prediction_file_open(&in->file, in->path, &how) != VG_OK)
        return console_fail_library();
    int logits = 0;
    score_layout *layout = &in->layout;
    vg_prediction_file_shape(in->file, &layout->n, &layout->m, &layout->c, &logits);
    layout->multilabel = options->multilabel;
    layout->k = in->options.k;
    layout->k_count = in->options.k_count;
    in->logits = logits != 0;
    in->options.logits = in->logits;
    if (layout->n == 0 || layout->m == 0 || layout->c == 0)
        return console_fail("%s: shape (%zu, %zu, %zu) holds no predictions", in->path, layout->n, layout->m, layout->c);
    if (layout->c == 1 && !layout->multilabel)
        return console_fail("%s: one class (C = 1): a multiclass problem needs at least 2, or give --multilabel", in->path);
    return CLI_OK;
}

static int read_temperatures(score_input *in, const score_options *options) {
    size_t count;
    int code = score_temperature_read(&in->temperature, &count, &in->temperature_loaded, options->temperature);
    if (code != CLI_OK || !in->temperature)
        return code;
    if (!in->logits)
        return console_fail("--temperature applies to logits; %s holds probabilities", in->path);
    if (count != 1 && count != in->layout.m)
        return console_fail("--temperature: %zu values for %zu members; give 1 or %zu", count, in->layout.m, in->layout.m);
    in->options.temperature = in->temperature;
    in->options.temperature_count = count;
    return CLI_OK;
}

/* Labels must be one class a sample, or 0/1 for every (sample, label). */
static int check_labels(const score_input *in, const char *path, size_t n, size_t columns) {
    const score_layout *layout = &in->layout;
    size_t expected = layout->multilabel ? layout->c : 1, highest = layout->multilabel ? 1 : layout->c - 1;
    if (n != layout->n)
        return console_fail("%s: %zu labels for %zu samples", path, n, layout->n);
    if (columns != expected && columns > 1)
        return console_fail("%s: labels have %zu columns, expected %zu%s", path, columns, expected,
                            layout->multilabel ? "" : " (is this a --multilabel problem?)");
    if (columns != expected)
        return console_fail("%s: labels have one column; --multilabel needs %zu", path, expected);
    for (size_t i = 0; i < n * columns; i++) {
        int64_t y = in->labels[i];
        if (y < 0 || (uint64_t)y > highest)
            return console_fail("%s: label %lld of sample %zu is outside 0..%zu", path, (long long)y, i / columns, highest);
    }
    return CLI_OK;
}

const char score_no_labels[] = "";

static int read_labels(score_input *in, const char *labels) {
    size_t n = in->layout.n, columns = 1;
    if (labels == score_no_labels)
        return CLI_OK;
    if (labels) {
        if (vg_labels_read(&in->own_labels, &n, &columns, labels, NULL) != VG_OK)
            return console_fail_library();
        in->labels = in->own_labels;
    } else if (vg_prediction_file_labels(in->file, &in->labels, &columns) != VG_OK) {
        return console_fail_library();
    }
    return in->labels ? check_labels(in, labels ? labels : in->path, n, columns) : CLI_OK;
}

int score_input_open_labels(score_input *in, const score_options *options, const char *path, const char *labels) {
    *in = (score_input){.path = path};
    int code = score_set_parse(options->measures, &in->measures);
    if (code == CLI_OK)
        code = score_options_resolve(&in->options, options);
    if (code == CLI_OK)
        code = open_predictions(in, options);
    if (code == CLI_OK)
        code = read_temperatures(in, options);
    if (code == CLI_OK)
        code = read_labels(in, labels);
    if (code != CLI_OK)
        score_input_close(in);
    return code;
}

int score_input_open(score_input *in, const score_options *options, const char *path) {
    return score_input_open_labels(in, options, path, options->labels);
}

int score_input_need_labels(const score_input *in) {
    if (in->labels)
        return CLI_OK;
    return console_fail("%s: no labels in it (L, labels or y); give --labels FILE", in->path);
}

void score_input_close(score_input *in) {
    vg_prediction_file_close(in->file);
    vg_labels_free(in->own_labels);
    score_temperature_free(in->temperature, in->temperature_loaded);
    *in = (score_input){0};
}
