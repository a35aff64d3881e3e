/* sample_measures.c - columns of measures by sample; multilabel samples are reduced to mean and max over labels. */
#include "workflow/sample_measures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workflow/measure_columns.h"

static void extreme_name(char out[VG_NAME_SIZE], const char *name, bool certainty) {
    char text[2 * VG_NAME_SIZE];
    const char *at = strchr(name, '@');
    size_t stem = at ? (size_t)(at - name) : strlen(name);
    snprintf(text, sizeof text, "%.*s_%s%s", (int)stem, name, certainty ? "min" : "max", at ? at : "");
    snprintf(out, VG_NAME_SIZE, "%.*s", VG_NAME_SIZE - 1, text);
}

/* Reduces one measure of N x C rows to two of N: the mean over labels, and the most uncertain one. */
static void fold_measure(const vg_measure *in, size_t n, size_t c, vg_measure *mean, vg_measure *max,
                         double *mean_values, double *max_values) {
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

static vg_status fold_labels(vg_sample_measures *out) {
    size_t count = 2 * out->count, bytes;
    vg_measure *list = malloc((count ? count : 1) * sizeof *list);
    if (!__builtin_mul_overflow(count * sizeof(double), out->n, &bytes))
        out->folded = malloc(bytes ? bytes : 1);
    if (!list || !out->folded) {
        free(list);
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the measures of every sample");
    }
    for (size_t i = 0; i < out->count; i++)
        fold_measure(&out->list[i], out->n, out->c, &list[i], &list[out->count + i], out->folded + i * out->n,
                     out->folded + (out->count + i) * out->n);
    free(out->list);
    out->list = list;
    out->count = count;
    vg_columns__free(out->columns);
    out->columns = NULL;
    return VG_OK;
}

static vg_status read_input(vg_sample_measures *out, vg_score_input *in) {
    out->n = in->layout.n;
    out->sites = vg_score_input__images(in);
    out->c = in->layout.c;
    out->threads = in->options.threads;
    VG_TRY(vg_measure_columns__score(&out->columns, NULL, in, vg_score_input__compared(in), false, NULL, NULL));
    VG_TRY(vg_measure_columns__list(&out->list, &out->count, out->columns));
    return in->layout.multilabel ? fold_labels(out) : VG_OK;
}

vg_status vg_sample_measures__read(vg_sample_measures *out, const char *path, const vg_input_options *options,
                                   const vg_job *job) {
    vg_score_input in;
    *out = (vg_sample_measures){0};
    VG_TRY(vg_score_input__open_labels(&in, path, options, vg_score_no_labels, job));
    vg_status status = read_input(out, &in);
    vg_score_input__close(&in);
    if (status != VG_OK)
        vg_sample_measures__free(out);
    return status;
}

void vg_sample_measures__free(vg_sample_measures *measures) {
    free(measures->list);
    free(measures->folded);
    vg_columns__free(measures->columns);
    *measures = (vg_sample_measures){0};
}
