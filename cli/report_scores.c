/* report_scores.c - a report's subject from what `vargate score -o OUT.npz` wrote: measures, k, mean and std, read back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "workflow/measure_columns.h"
#include "report_subject.h"

static bool find(const vg_source *source, const char *name, size_t *index, vg_array_info *info) {
    return vg_source_find(source, name, index) == VG_OK && vg_source_info(source, *index, info) == VG_OK;
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

bool report_scores_holds(const char *path) {
    vg_source *source;
    size_t index;
    vg_array_info info;
    if (strcmp(path, "-") == 0 || vg_source_open(&source, path) != VG_OK)
        return false; /* whoever reads it as predictions will say why */
    bool holds = find(source, "k", &index, &info) && has_measure(source) && !find(source, "P", &index, &info) &&
                 !find(source, "Z", &index, &info);
    vg_source_close(source);
    return holds;
}

static int read_shape(report_subject *out, vg_source *source) {
    size_t index;
    vg_array_info info;
    if (!find(source, "mean", &index, &info))
        return console_fail("%s: scores without mean and std; write them with 'vargate score PRED -o FILE' (all measures)",
                            out->path);
    if (info.rank != 2 || info.shape[0] == 0 || info.shape[1] < 2)
        return console_fail("%s: mean has no shape (N, C) with N >= 1, C >= 2", out->path);
    out->n = info.shape[0];
    out->c = info.shape[1];
    if (find(source, "tu", &index, &info) && info.rank != 1)
        return console_fail("%s: multilabel scores; a report is for multiclass", out->path);
    if (!find(source, "k", &index, &info) || info.rank != 1 || info.count > OPTION_MAX_REALS)
        return console_fail("%s: k is not a list of gate settings", out->path);
    out->k_count = info.count;
    out->k = malloc((info.count ? info.count : 1) * sizeof *out->k);
    if (!out->k)
        return console_fail_memory("the gate settings");
    return vg_source_read_f64(source, index, 0, info.count, out->k) == VG_OK ? CLI_OK : console_fail_library();
}

/* Measures of the file into columns of their own. */
static int read_measures(report_subject *out, vg_source *source) {
    vg_field_set set = 0;
    size_t index;
    vg_array_info info;
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        bool gated = vg_field__gated((vg_field)f);
        if (!find(source, vg_field__name((vg_field)f), &index, &info) || (gated && out->k_count == 0))
            continue;
        if (info.shape[0] != out->n || info.rank != (gated ? 2 : 1) || (gated && info.shape[1] != out->k_count))
            return console_fail("%s: %s has not the shape of scores of %zu samples", out->path, info.name, out->n);
        set |= VG_FIELD_BIT(f);
    }
    if (vg_columns_new(&out->columns, out->n, out->k, out->k_count, vg_measure_columns__bits(set)) != VG_OK)
        return console_fail_library();
    vg_scores places;
    memset(&places, 0, sizeof places);
    vg_columns_at(out->columns, 0, &places);
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        if (!(set & VG_FIELD_BIT(f)) || !find(source, vg_field__name((vg_field)f), &index, &info))
            continue;
        if (vg_source_read_f64(source, index, 0, out->n, vg_score_block__place(&places, (vg_field)f)) != VG_OK)
            return console_fail_library();
    }
    return console_status(vg_measure_columns__list(&out->measures, &out->measure_count, out->columns));
}

static double scalar(vg_source *source, const char *name) {
    size_t index;
    vg_array_info info;
    double value;
    if (!find(source, name, &index, &info) || info.count != 1 || vg_source_read_f64(source, index, 0, 1, &value) != VG_OK)
        return NAN;
    return value;
}

/* Absent in files that were written before they were kept: NaN, and no verdict. */
static void read_verdict_figures(report_subject *out, vg_source *source) {
    double members = scalar(source, "members");
    out->m = members >= 1 && members < 1e9 ? (size_t)members : 0;
    out->summary.members = out->m;
    out->summary.outcomes = out->c;
    out->summary.member_variance = scalar(source, "member_variance");
    out->summary.total_variance = scalar(source, "total_variance");
    out->summary.disagreement = scalar(source, "disagreement");
    out->summary.abstained = scalar(source, "abstained_at_1");
}

static int read_labels(report_subject *out, vg_source *source, const score_options *options) {
    static const char *const names[] = {"L", "labels", "label", "y"};
    size_t n = 0, columns = 1, index;
    vg_array_info info;
    if (options->labels) {
        int64_t *read;
        if (vg_labels_read(&read, &n, &columns, options->labels, NULL) != VG_OK)
            return console_fail_library();
        if (columns == 1 && n == out->n && (out->labels = malloc(n * sizeof *read)))
            memcpy(out->labels, read, n * sizeof *read);
        vg_labels_free(read);
        if (!out->labels)
            return console_fail("%s: %zu labels in %zu columns for %zu samples", options->labels, n, columns, out->n);
    }
    for (size_t i = 0; !out->labels && i < sizeof names / sizeof *names; i++) {
        if (!find(source, names[i], &index, &info) || info.rank != 1 || info.count != out->n)
            continue;
        out->labels = malloc(out->n * sizeof *out->labels);
        if (!out->labels)
            return console_fail_memory("the labels");
        if (vg_source_read_i64(source, index, 0, out->n, out->labels) != VG_OK)
            return console_fail_library();
    }
    for (size_t i = 0; out->labels && i < out->n; i++) {
        if (out->labels[i] < 0 || (uint64_t)out->labels[i] >= out->c)
            return console_fail("%s: label %lld of sample %zu is outside 0..%zu", options->labels ? options->labels : out->path,
                                (long long)out->labels[i], i, out->c - 1);
    }
    return CLI_OK;
}

/* Mean and spread, some samples at a time. */
static int read_rows(report_subject *out, vg_source *source, vg_tally *tally) {
    size_t mean_index, std_index, step = (4u << 20) / (out->c * sizeof(double));
    vg_array_info info;
    step = step ? step : 1;
    if (!find(source, "mean", &mean_index, &info) || !find(source, "std", &std_index, &info) || info.rank != 2 ||
        info.shape[0] != out->n || info.shape[1] != out->c)
        return console_fail("%s: std has not the shape of mean", out->path);
    double *mean = malloc(2 * step * out->c * sizeof *mean), *std = mean ? mean + step * out->c : NULL;
    if (!mean)
        return console_fail_memory("means and spreads");
    vg_status status = vg_report_rows_new(&out->rows, out->n, out->c);
    for (size_t first = 0; first < out->n && status == VG_OK; first += step) {
        size_t rows = out->n - first < step ? out->n - first : step;
        status = vg_source_read_f64(source, mean_index, first, rows, mean);
        if (status == VG_OK)
            status = vg_source_read_f64(source, std_index, first, rows, std);
        if (status == VG_OK)
            status = vg_report_rows_feed(out->rows, first, rows, mean, std);
        if (status == VG_OK && tally)
            status = vg_tally_feed(tally, mean, std, out->labels + first, rows);
    }
    free(mean);
    return status == VG_OK ? CLI_OK : console_fail_library();
}

static int read_all(report_subject *out, vg_source *source, const score_options *options, bool for_ood) {
    vg_tally *tally = NULL;
    int code = read_shape(out, source);
    if (code == CLI_OK)
        code = read_measures(out, source);
    if (code != CLI_OK || for_ood)
        return code;
    out->summary.samples = out->n;
    out->summary.diversity = scalar(source, "diversity");
    out->summary.k_sensitivity = scalar(source, "k_sensitivity");
    read_verdict_figures(out, source);
    code = read_labels(out, source, options);
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.confusion = 0;
    if (code == CLI_OK && out->labels && vg_tally_new(&tally, out->c, &how) != VG_OK)
        code = console_fail_library();
    if (code == CLI_OK)
        code = read_rows(out, source, tally);
    if (code == CLI_OK && tally)
        code = report_subject_evaluate(&out->evaluation, out, tally, (unsigned)options->threads);
    vg_tally_free(tally);
    return code;
}

int report_scores_read(report_subject *out, const score_options *options, bool for_ood) {
    vg_source *source;
    if (vg_source_open(&source, out->path) != VG_OK)
        return console_fail_library();
    int code = read_all(out, source, options, for_ood);
    vg_source_close(source);
    return code;
}
