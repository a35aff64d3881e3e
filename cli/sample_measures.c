/* sample_measures.c - columns of measures by sample; multilabel samples are summed up by mean and max over labels. */
#include "sample_measures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "measure_columns.h"

static void extreme_name(char out[VG_NAME_SIZE], const char *name, bool certainty) {
    char text[2 * VG_NAME_SIZE];
    const char *at = strchr(name, '@');
    size_t stem = at ? (size_t)(at - name) : strlen(name);
    snprintf(text, sizeof text, "%.*s_%s%s", (int)stem, name, certainty ? "min" : "max", at ? at : "");
    snprintf(out, VG_NAME_SIZE, "%.*s", VG_NAME_SIZE - 1, text);
}

/* One measure of N x C rows becomes two of N: mean and, towards uncertainty, the extreme over labels. */
static void fold_measure(const vg_measure *in, size_t n, size_t c, vg_measure *mean, vg_measure *max, double *mean_values,
                         double *max_values) {
    for (size_t i = 0; i < n; i++) {
        const double *values = in->values + i * c * in->stride;
        double sum = values[0], extreme = values[0];
        for (size_t l = 1; l < c; l++) {
            double value = values[l * in->stride];
            sum += value;
            if (in->certainty ? value < extreme : value > extreme)
                extreme = value;
        }
        mean_values[i] = sum / (double)c;
        max_values[i] = extreme;
    }
    *mean = *max = *in;
    mean->stride = max->stride = 1;
    mean->values = mean_values;
    max->values = max_values;
    extreme_name(max->name, in->name, in->certainty);
}

static int fold_labels(sample_measures *out) {
    size_t count = 2 * out->count, bytes;
    vg_measure *list = malloc((count ? count : 1) * sizeof *list);
    if (!__builtin_mul_overflow(count * sizeof(double), out->n, &bytes))
        out->folded = malloc(bytes ? bytes : 1);
    if (!list || !out->folded) {
        free(list);
        return console_fail_memory("the measures of every sample");
    }
    for (size_t i = 0; i < out->count; i++)
        fold_measure(&out->list[i], out->n, out->c, &list[i], &list[out->count + i], out->folded + i * out->n,
                     out->folded + (out->count + i) * out->n);
    free(out->list);
    out->list = list;
    out->count = count;
    vg_columns_free(out->columns);
    out->columns = NULL;
    return CLI_OK;
}

int sample_measures_read(sample_measures *out, const score_options *options, const char *path) {
    score_input in;
    *out = (sample_measures){0};
    int code = score_input_open_labels(&in, options, path, score_no_labels);
    if (code != CLI_OK)
        return code;
    out->n = in.layout.n;
    out->c = in.layout.c;
    code = measure_columns_score(&out->columns, NULL, &in, in.measures, false);
    if (code == CLI_OK)
        code = measure_columns_list(&out->list, &out->count, out->columns);
    if (code == CLI_OK && in.layout.multilabel)
        code = fold_labels(out);
    score_input_close(&in);
    if (code != CLI_OK)
        sample_measures_free(out);
    return code;
}

void sample_measures_free(sample_measures *measures) {
    free(measures->list);
    free(measures->folded);
    vg_columns_free(measures->columns);
    *measures = (sample_measures){0};
}
