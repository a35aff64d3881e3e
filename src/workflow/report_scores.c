/* report_scores.c - a report's subject from a file that `vargate score -o OUT.npz` wrote: measures, k, mean and std. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays.h"
#include "formats/prediction_file.h"
#include "workflow/measure_columns.h"
#include "workflow/report_subject.h"

enum { MOST_K = 1024 }; /* gate settings in a file of scores */

static bool find(const vg_source *source, const char *name, size_t *index, vg_array_info *info) {
    return vg_source__find(source, name, index) == VG_OK && vg_source__info(source, *index, info) == VG_OK;
}

static bool has_measure(const vg_source *source) {
    size_t index;
    vg_array_info info;
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        if (find(source, vg_field__name((vg_field)f), &index, &info))
            return true;
    }
    return false;
}

/* In multilabel mode a measure has a value for every label of a sample. */
static bool is_multilabel(const vg_source *source) {
    size_t index;
    vg_array_info info;
    for (int f = 0; f < VG_FIELD_MEASURES; f++)
        if (find(source, vg_field__name((vg_field)f), &index, &info))
            return info.rank == (vg_field__gated((vg_field)f) ? 3 : 2);
    return false;
}

bool vg_report_scores__holds(const char *path) {
    vg_source *source;
    size_t index;
    vg_array_info info;
    if (strcmp(path, "-") == 0 || vg_source__open(&source, path) != VG_OK)
        return false; /* reading it as predictions reports the reason */
    bool holds = find(source, "k", &index, &info) && has_measure(source) && !find(source, "P", &index, &info) &&
                 !find(source, "Z", &index, &info);
    vg_source__close(source);
    return holds;
}

static vg_status read_shape(vg_report_subject *out, vg_source *source) {
    size_t index;
    vg_array_info info;
    if (!find(source, "mean", &index, &info))
        return vg_base__fail(
            VG_ERR_DATA, "%s: scores without mean and std; write them with 'vargate score PRED -o FILE' (all measures)",
            out->path);
    if (info.rank != 2 || info.shape[0] == 0 || info.shape[1] < (is_multilabel(source) ? 1 : 2))
        return vg_base__fail(VG_ERR_DATA, "%s: mean is not of shape (N, C) with N >= 1, C >= 2", out->path);
    out->n = info.shape[0];
    out->c = info.shape[1];
    if (is_multilabel(source)) {
        out->label_count = out->c;
        out->n *= out->c;
        out->c = 2;
    }
    if (!find(source, "k", &index, &info) || info.rank != 1 || info.count > MOST_K)
        return vg_base__fail(VG_ERR_DATA, "%s: k is not a list of gate settings", out->path);
    out->k_count = info.count;
    out->k = malloc((info.count ? info.count : 1) * sizeof *out->k);
    if (!out->k)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the gate settings");
    return vg_source__read_f64(source, index, 0, info.count, out->k);
}

/* A k for every class, where the scores were made with one. */
static vg_status read_class_k(vg_report_subject *out, vg_source *source) {
    size_t index;
    vg_array_info info;
    if (!find(source, "class_k", &index, &info))
        return VG_OK;
    size_t count = vg_report_subject__names(out);
    if (info.rank != 1 || info.count != count)
        return vg_base__fail(VG_ERR_DATA, "%s: class_k does not have one value for each of %zu classes", out->path,
                             count);
    VG_TRY(vg_base__alloc(&out->class_k, count, sizeof *out->class_k, "a k for every class"));
    return vg_source__read_f64(source, index, 0, count, out->class_k);
}

/* Measures of the file into columns of their own. */
static vg_status read_measures(vg_report_subject *out, vg_source *source) {
    vg_field_set set = 0;
    size_t index, samples = vg_report_subject__samples(out), axes = out->label_count ? 2 : 1;
    vg_array_info info;
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        bool gated = vg_field__gated((vg_field)f);
        if (!find(source, vg_field__name((vg_field)f), &index, &info) || (gated && out->k_count == 0))
            continue;
        if (info.shape[0] != samples || info.rank != axes + gated || info.count != out->n * (gated ? out->k_count : 1))
            return vg_base__fail(VG_ERR_DATA, "%s: %s does not have the shape of scores of %zu samples", out->path,
                                 info.name, samples);
        set |= VG_FIELD_BIT(f);
    }
    VG_TRY(vg_columns__new(&out->columns, out->n, out->k, out->k_count, vg_measure_columns__bits(set)));
    vg_scores places;
    memset(&places, 0, sizeof places);
    vg_columns__at(out->columns, 0, &places);
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        if (!(set & VG_FIELD_BIT(f)) || !find(source, vg_field__name((vg_field)f), &index, &info))
            continue;
        VG_TRY(vg_source__read_f64(source, index, 0, samples, vg_score_block__place(&places, (vg_field)f)));
    }
    return vg_measure_columns__list(&out->measures, &out->measure_count, out->columns);
}

static double scalar(vg_source *source, const char *name) {
    size_t index;
    vg_array_info info;
    double value;
    if (!find(source, name, &index, &info) || info.count != 1 ||
        vg_source__read_f64(source, index, 0, 1, &value) != VG_OK)
        return NAN;
    return value;
}

/* Older files lack these figures: NaN, and no verdict. */
static void read_verdict_figures(vg_report_subject *out, vg_source *source) {
    double members = scalar(source, "members");
    out->m = members >= 1 && members < 1e9 ? (size_t)members : 0;
    out->summary.members = out->m;
    out->summary.outcomes = out->c;
    out->summary.member_variance = scalar(source, "member_variance");
    out->summary.total_variance = scalar(source, "total_variance");
    out->summary.disagreement = scalar(source, "disagreement");
    out->summary.abstained = scalar(source, "abstained_at_1");
}

/* Reads labels from a separate file, which must match the samples. */
static vg_status read_label_file(vg_report_subject *out, const char *path) {
    int64_t *read;
    size_t n = 0, columns = 1;
    VG_TRY(vg_labels__read(&read, &n, &columns, path, NULL));
    size_t samples = vg_report_subject__samples(out);
    if (columns == (out->label_count ? out->label_count : 1) && n == samples &&
        (out->labels = malloc(out->n * sizeof *read)))
        memcpy(out->labels, read, out->n * sizeof *read);
    vg_labels__free(read);
    if (!out->labels)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu labels in %zu columns for %zu samples", path, n, columns, samples);
    return VG_OK;
}

static vg_status read_labels(vg_report_subject *out, vg_source *source, const char *path) {
    static const char *const names[] = {"L", "labels", "label", "y"};
    size_t index, samples = vg_report_subject__samples(out);
    vg_array_info info;
    if (path)
        VG_TRY(read_label_file(out, path));
    for (size_t i = 0; !out->labels && i < sizeof names / sizeof *names; i++) {
        if (!find(source, names[i], &index, &info) || info.rank != (out->label_count ? 2 : 1) || info.count != out->n)
            continue;
        out->labels = malloc(out->n * sizeof *out->labels);
        if (!out->labels)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the labels");
        VG_TRY(vg_source__read_i64(source, index, 0, samples, out->labels));
    }
    for (size_t i = 0; out->labels && i < out->n; i++) {
        if (out->labels[i] < 0 || (uint64_t)out->labels[i] >= out->c)
            return vg_base__fail(VG_ERR_DATA, "%s: label %lld of sample %zu is outside 0..%zu", path ? path : out->path,
                                 (long long)out->labels[i], i / (out->label_count ? out->label_count : 1), out->c - 1);
    }
    return VG_OK;
}

/* Mean and spread, some samples at a time. */
static vg_status read_rows(vg_report_subject *out, vg_source *source, vg_tally *tally) {
    size_t n = vg_report_subject__samples(out), c = vg_report_subject__names(out), each = out->n / n;
    size_t mean_index, std_index, step = (4u << 20) / (c * sizeof(double));
    vg_array_info info;
    step = step ? step : 1;
    if (!find(source, "mean", &mean_index, &info) || !find(source, "std", &std_index, &info) || info.rank != 2 ||
        info.shape[0] != n || info.shape[1] != c)
        return vg_base__fail(VG_ERR_DATA, "%s: std does not have the shape of mean", out->path);
    double *mean = malloc(2 * step * c * sizeof *mean), *std = mean ? mean + step * c : NULL;
    if (!mean)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for means and spreads");
    vg_status status = vg_report__rows_new(&out->rows, out->n, out->c);
    if (status == VG_OK) {
        out->rows->class_k = out->class_k;
        out->rows->label_count = out->label_count;
    }
    for (size_t first = 0; first < n && status == VG_OK; first += step) {
        size_t rows = n - first < step ? n - first : step;
        status = vg_source__read_f64(source, mean_index, first, rows, mean);
        if (status == VG_OK)
            status = vg_source__read_f64(source, std_index, first, rows, std);
        if (status == VG_OK)
            status = vg_report__rows_feed(out->rows, first * each, rows * each, mean, std);
        if (status == VG_OK && tally)
            status = vg_tally_feed(tally, mean, std, out->labels + first * each, rows);
    }
    free(mean);
    return status;
}

static vg_status read_all(vg_report_subject *out, vg_source *arrays, const vg_report_source *source) {
    vg_tally *tally = NULL;
    VG_TRY(read_shape(out, arrays));
    VG_TRY(read_class_k(out, arrays));
    VG_TRY(read_measures(out, arrays));
    if (source->for_ood)
        return VG_OK;
    out->summary.samples = vg_report_subject__samples(out);
    out->summary.diversity = scalar(arrays, "diversity");
    out->summary.k_sensitivity = scalar(arrays, "k_sensitivity");
    read_verdict_figures(out, arrays);
    VG_TRY(read_labels(out, arrays, source->options->labels));
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.confusion = 0;
    how.class_k = out->class_k;
    how.task = out->label_count ? VG_TASK_MULTILABEL : VG_TASK_MULTICLASS;
    if (out->labels)
        VG_TRY(vg_tally_new(&tally, vg_report_subject__names(out), &how));
    vg_status status = read_rows(out, arrays, tally);
    unsigned threads = source->options->scoring ? source->options->scoring->threads : 0;
    if (status == VG_OK && tally)
        status = vg_report_subject__evaluate(&out->own_evaluation, out, tally, threads, source->job);
    out->evaluation = out->own_evaluation;
    vg_tally_free(tally);
    return status;
}

vg_status vg_report_scores__read(vg_report_subject *out, const vg_report_source *source) {
    vg_source *arrays;
    VG_TRY(vg_source__open(&arrays, out->path));
    vg_status status = read_all(out, arrays, source);
    vg_source__close(arrays);
    return status;
}
