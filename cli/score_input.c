/* score_input.c - opens predictions with their labels and temperatures and checks that they fit each other. */
#include "console.h"
#include "score_options.h"

const char score_no_labels[] = "";
const char score_labels_if_any[] = " ";

/* `labels_optional`: a file without the labels that --labels-key names is opened all the same. */
static int open_predictions(score_input *in, const score_options *options, bool labels_optional) {
    vg_prediction_options how = VG_PREDICTION_OPTIONS_INIT;
    how.key = options->key;
    how.axes = options->axes == 1 ? VG_AXES_MNC : VG_AXES_NMC;
    how.logits = options->logits ? 1 : -1;
    how.labels_key = options->labels ? NULL : options->labels_key;
    how.classes = options->classes;
    how.id = options->id;
    how.member = options->member;
    how.multilabel = options->multilabel;
    how.labels_from = (int)options->labels_from;
    vg_status status = vg_prediction_file_open(&in->file, in->path, &how);
    if (status != VG_OK && labels_optional && how.labels_key) {
        how.labels_key = NULL;
        status = vg_prediction_file_open(&in->file, in->path, &how);
    }
    if (status != VG_OK)
        return console_fail_library();
    if (options->axes < 0 && vg_prediction_file_notice(in->file))
        console_warn("%s: %s", in->path, vg_prediction_file_notice(in->file));
    int logits = 0;
    score_layout *layout = &in->layout;
    vg_prediction_file_shape(in->file, &layout->n, &layout->m, &layout->c, &logits);
    layout->multilabel = options->multilabel;
    layout->k = in->options.k;
    layout->k_count = in->options.k_count;
    in->logits = logits != 0;
    in->options.logits = in->logits;
    if (layout->n == 0 || layout->m == 0 || layout->c == 0)
        return console_fail("%s: shape (%zu, %zu, %zu) holds no predictions", in->path, layout->n, layout->m,
                            layout->c);
    if (layout->c == 1 && !layout->multilabel)
        return console_fail("%s: one class (C = 1): a multiclass problem needs at least 2, or give --multilabel",
                            in->path);
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
        return console_fail("--temperature: %zu values for %zu members; give 1 or %zu", count, in->layout.m,
                            in->layout.m);
    in->options.temperature = in->temperature;
    in->options.temperature_count = count;
    return CLI_OK;
}

static int read_labels(score_input *in, const score_options *options, const char *labels) {
    size_t columns;
    vg_status status = VG_OK;
    in->own_key = options->labels_key;
    if (labels == score_no_labels)
        return CLI_OK;
    if (labels && labels != score_labels_if_any)
        status = vg_prediction_file_read_labels(in->file, &in->labels, &columns, labels, options->labels_key);
    else
        status = vg_prediction_file_labels(in->file, &in->labels, &columns);
    if (status == VG_ERR_ARGUMENT && labels == score_labels_if_any)
        return CLI_OK;
    return status == VG_OK ? CLI_OK : console_fail_library();
}

int score_input_open_labels(score_input *in, const score_options *options, const char *path, const char *labels) {
    *in = (score_input){.path = path};
    int code = score_set_parse(options->measures, &in->measures);
    if (code == CLI_OK)
        code = score_options_resolve(&in->options, options);
    if (code == CLI_OK)
        code = open_predictions(in, options, labels == score_labels_if_any);
    if (code == CLI_OK)
        code = read_temperatures(in, options);
    if (code == CLI_OK)
        code = read_labels(in, options, labels);
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
    if (in->own_key)
        return console_fail("%s: no labels named '%s' in it", in->path, in->own_key);
    return console_fail("%s: no labels in it (L, labels or y); give --labels FILE, or --labels-key NAME", in->path);
}

void score_input_close(score_input *in) {
    vg_prediction_file_close(in->file);
    score_temperature_free(in->temperature, in->temperature_loaded);
    *in = (score_input){0};
}
