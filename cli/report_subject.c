/* report_subject.c - predictions scored for a report in one pass: measures, margin ratios, figures of the labels; then the
 * members' votes. */
#include "report_subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "progress.h"
#include "workflow/measure_columns.h"
#include "workflow/score_pass.h"

typedef struct subject_job {
    report_subject *out;
    const vg_score_input *in;
    vg_tally *tally;
    double spread; /* what turns the population spread into the one the decision rule uses */
} subject_job;

static void place_columns(void *context, size_t first, vg_scores *block) {
    subject_job *job = context;
    double *mean = block->mean, *std = block->std;
    if (!job->out->columns)
        return;
    vg_columns_at(job->out->columns, first, block);
    block->mean = mean;
    block->std = std;
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    subject_job *job = context;
    if (!block->std)
        return VG_OK;
    for (size_t i = 0; job->spread != 1 && i < rows * job->in->layout.c; i++)
        block->std[i] *= job->spread;
    vg_status status = VG_OK;
    if (job->out->rows)
        status = vg_report_rows_feed(job->out->rows, first, rows, block->mean, block->std);
    if (status == VG_OK && job->tally)
        status = vg_tally_feed(job->tally, block->mean, block->std, job->in->labels + first, rows);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s", job->in->path, vg_error_message());
}

static double rule_spread(const vg_score_input *in) {
    double m = (double)in->layout.m;
    return in->options.sigma_margin == VG_SIGMA_SAMPLE && m > 1 ? sqrt(m / (m - 1)) : 1;
}

static int new_tally(vg_tally **out, const vg_score_input *in) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.expected = in->layout.n;
    options.confusion = 0;
    *out = NULL;
    return !in->labels || vg_tally_new(out, in->layout.c, &options) == VG_OK ? CLI_OK : console_fail_library();
}

int report_subject_evaluate(vg_evaluation **out, const report_subject *subject, const vg_tally *tally,
                            unsigned threads) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    progress bar;
    options.k = subject->k;
    options.k_count = subject->k_count;
    options.curve_points = VG_REPORT_CURVE_POINTS;
    options.threads = threads;
    options.progress = progress_callback;
    options.progress_context = &bar;
    progress_begin(&bar, "evaluating", "steps");
    vg_status status = vg_evaluate(out, tally, subject->measures, subject->measure_count, &options);
    progress_end(&bar);
    return status == VG_OK ? CLI_OK : console_fail("%s: %s", subject->path, vg_error_message());
}

/* The members' votes, block by block. */
static int read_votes(report_subject *out, vg_score_input *in) {
    size_t rows = (8u << 20) / (in->layout.m * in->layout.c * sizeof(float));
    rows = rows ? rows : 1;
    for (size_t first = 0; first < out->n; first += rows) {
        vg_predictions view;
        size_t here = out->n - first < rows ? out->n - first : rows;
        if (vg_prediction_file_block(in->file, first, here, &view) != VG_OK ||
            vg_report_rows_votes(out->rows, first, &view) != VG_OK)
            return console_fail_library();
        if (console_interrupted())
            return CLI_FAILED;
    }
    return CLI_OK;
}

static int keep_shape(report_subject *out, const vg_score_input *in) {
    out->n = in->layout.n;
    out->m = in->layout.m;
    out->c = in->layout.c;
    out->logits = in->logits;
    out->k_count = in->layout.k_count;
    out->k = malloc((out->k_count ? out->k_count : 1) * sizeof *out->k);
    if (!out->k)
        return console_fail_memory("the gate settings");
    memcpy(out->k, in->layout.k, out->k_count * sizeof *out->k);
    if (!in->labels)
        return CLI_OK;
    out->labels = malloc(out->n * sizeof *out->labels);
    if (!out->labels)
        return console_fail_memory("the labels");
    memcpy(out->labels, in->labels, out->n * sizeof *out->labels);
    return CLI_OK;
}

static int score(report_subject *out, vg_score_input *in, bool for_ood) {
    subject_job job = {.out = out, .in = in, .spread = rule_spread(in)};
    vg_score_sink sink = {.context = &job, .take = take_block, .place = place_columns};
    if (vg_columns_new(&out->columns, out->n, out->k, out->k_count, vg_measure_columns__bits(in->measures)) != VG_OK)
        return console_fail_library();
    if (for_ood) {
        int code = console_status(vg_score_pass__run(in, 0, &sink, NULL));
        return code == CLI_OK
                   ? console_status(vg_measure_columns__list(&out->measures, &out->measure_count, out->columns))
                   : code;
    }
    if (vg_report_rows_new(&out->rows, out->n, out->c) != VG_OK)
        return console_fail_library();
    int code = new_tally(&job.tally, in);
    if (code == CLI_OK)
        code = console_status(
            vg_score_pass__run(in, VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD), &sink, &out->summary));
    if (code == CLI_OK)
        code = console_status(vg_measure_columns__list(&out->measures, &out->measure_count, out->columns));
    if (code == CLI_OK && job.tally)
        code = report_subject_evaluate(&out->evaluation, out, job.tally, in->options.threads);
    if (code == CLI_OK)
        code = read_votes(out, in);
    vg_tally_free(job.tally);
    return code;
}

static int read_predictions(report_subject *out, const score_options *options, bool for_ood) {
    vg_score_input in;
    int code = for_ood ? score_input_open_labels(&in, options, out->path, vg_score_no_labels)
                       : score_input_open(&in, options, out->path);
    if (code != CLI_OK)
        return code;
    code = keep_shape(out, &in);
    if (code == CLI_OK)
        code = score(out, &in, for_ood);
    vg_score_input__close(&in);
    return code;
}

int report_subject_read(report_subject *out, const score_options *options, const char *path, bool for_ood) {
    *out = (report_subject){.path = path, .is_scores = report_scores_holds(path)};
    return out->is_scores ? report_scores_read(out, options, for_ood) : read_predictions(out, options, for_ood);
}

int report_subject_evaluate_at(vg_evaluation **out, const score_options *options, const char *path,
                               const char *temperature) {
    score_options other = *options;
    report_subject bare = {.path = path};
    vg_score_input in;
    *out = NULL;
    other.temperature = temperature;
    int code = score_input_open(&in, &other, path);
    if (code != CLI_OK)
        return code;
    subject_job job = {.out = &bare, .in = &in, .spread = rule_spread(&in)};
    vg_score_sink sink = {.context = &job, .take = take_block};
    code = new_tally(&job.tally, &in);
    if (code == CLI_OK)
        code = console_status(
            vg_score_pass__run(&in, VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD), &sink, NULL));
    if (code == CLI_OK && job.tally)
        code = report_subject_evaluate(out, &bare, job.tally, in.options.threads);
    vg_tally_free(job.tally);
    vg_score_input__close(&in);
    return code;
}

void report_subject_free(report_subject *subject) {
    free(subject->k);
    free(subject->labels);
    free(subject->measures);
    vg_columns_free(subject->columns);
    vg_report_rows_free(subject->rows);
    vg_evaluation_free(subject->evaluation);
    *subject = (report_subject){0};
}
