/* report_subject.c - predictions scored for a report in one pass: measures, margin ratios, figures of the labels; then
 * the members' votes. */
#include "workflow/report_subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workflow/evaluation_figures.h"
#include "workflow/measure_columns.h"
#include "workflow/report_files.h"
#include "workflow/report_sets.h"
#include "workflow/score_pass.h"

typedef struct subject_job {
    vg_report_subject *out;
    const vg_score_input *in;
    vg_tally *tally;
    double spread; /* the factor from the population spread to the one that the decision rule uses */
} subject_job;

/* Rows of the report that a sample has. */
static size_t width(const vg_score_input *in) { return in->layout.multilabel ? in->layout.c : 1; }

size_t vg_report_subject__names(const vg_report_subject *s) { return s->label_count ? s->label_count : s->c; }
size_t vg_report_subject__samples(const vg_report_subject *s) { return s->n / (s->label_count ? s->label_count : 1); }

static void place_columns(void *context, size_t first, vg_scores *block) {
    subject_job *job = context;
    double *mean = block->mean, *std = block->std;
    if (!job->out->columns)
        return;
    vg_columns__at(job->out->columns, first * width(job->in), block);
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
    size_t each = width(job->in);
    if (job->out->rows)
        status = vg_report__rows_feed(job->out->rows, first * each, rows * each, block->mean, block->std);
    if (status == VG_OK && job->tally)
        status = vg_tally_feed(job->tally, block->mean, block->std, job->in->labels + first * each, rows);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s", job->in->path, vg_error_message());
}

static vg_status new_tally(vg_tally **out, const vg_score_input *in) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.expected = in->layout.n;
    options.confusion = 0;
    options.task = in->options.task;
    options.class_k = in->options.class_k;
    *out = NULL;
    return in->labels ? vg_tally_new(out, in->layout.c, &options) : VG_OK;
}

vg_status vg_report_subject__evaluate(vg_evaluation **out, const vg_report_subject *subject, const vg_tally *tally,
                                      unsigned threads, const vg_job *job) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    vg_job_part part = {job, "evaluating"};
    options.k = subject->k;
    options.k_count = subject->k_count;
    options.curve_points = VG_REPORT_CURVE_POINTS;
    options.threads = threads;
    options.progress = vg_job__callback;
    options.progress_context = &part;
    vg_status status = vg_job__begin(job, part.what, "steps");
    if (status == VG_OK)
        status = vg_evaluate(out, tally, subject->measures, subject->measure_count, &options);
    vg_job__end(job);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s", subject->path, vg_error_message());
}

/* The members' votes, block by block. */
static vg_status read_votes(vg_report_subject *out, vg_score_input *in) {
    size_t rows = (8u << 20) / (in->layout.m * in->layout.c * sizeof(float));
    rows = rows ? rows : 1;
    for (size_t first = 0, n = in->layout.n; first < n; first += rows) {
        vg_predictions view;
        size_t here = n - first < rows ? n - first : rows;
        VG_TRY(vg_prediction_file_block(in->file, first, here, &view));
        VG_TRY(vg_report__rows_votes(out->rows, first, &view));
        VG_TRY(vg_job__progress(in->job, "counting votes", first + here, n));
    }
    return VG_OK;
}

static vg_status keep_settings(vg_report_subject *out, const vg_score_input *in) {
    out->m = in->layout.m;
    out->c = in->layout.multilabel ? 2 : in->layout.c;
    out->label_count = in->layout.multilabel ? in->layout.c : 0;
    out->logits = in->logits;
    out->k_count = in->layout.k_count;
    out->k = malloc((out->k_count ? out->k_count : 1) * sizeof *out->k);
    if (!out->k)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the gate settings");
    memcpy(out->k, in->layout.k, out->k_count * sizeof *out->k);
    if (in->options.class_k) {
        VG_TRY(vg_base__alloc(&out->class_k, in->layout.c, sizeof *out->class_k, "a k for every class"));
        memcpy(out->class_k, in->options.class_k, in->layout.c * sizeof *out->class_k);
    }
    return VG_OK;
}

static vg_status keep_shape(vg_report_subject *out, const vg_score_input *in) {
    out->n = in->layout.n * width(in);
    VG_TRY(keep_settings(out, in));
    if (!in->labels)
        return VG_OK;
    out->labels = malloc(out->n * sizeof *out->labels);
    if (!out->labels)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the labels");
    memcpy(out->labels, in->labels, out->n * sizeof *out->labels);
    return VG_OK;
}

/* Names of classes and samples, for the page. */
static vg_status keep_names(vg_report_subject *out, const vg_score_input *in) {
    const char *const *names;
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    VG_TRY(vg_report_names__copy(&out->class_names, names, in->layout.c));
    VG_TRY(vg_prediction_file_ids(in->file, &names));
    return vg_report_names__copy(&out->ids, names, in->layout.n);
}

static vg_status score_for_ood(vg_report_subject *out, vg_score_input *in) {
    subject_job job = {.out = out, .in = in, .spread = vg_measure_columns__rule_spread(in)};
    vg_score_sink sink = {.context = &job, .take = take_block, .place = place_columns};
    VG_TRY(vg_score_pass__run(in, 0, &sink, NULL));
    return vg_measure_columns__list(&out->measures, &out->measure_count, out->columns);
}

vg_status vg_report_subject__judge(vg_report_subject *subject, vg_score_input *in) {
    vg_evaluate_file_options own = VG_EVALUATE_FILE_OPTIONS_INIT;
    if (!vg_score_input__labelled(in))
        return VG_OK;
    own.curve_points = VG_REPORT_CURVE_POINTS;
    own.job = *in->job;
    VG_TRY(vg_evaluation__of_input(&subject->evaluated, in, &own));
    subject->evaluation = subject->evaluated->evaluation;
    return VG_OK;
}

static vg_status score(vg_report_subject *out, vg_score_input *in) {
    subject_job job = {.out = out, .in = in, .spread = vg_measure_columns__rule_spread(in)};
    vg_score_sink sink = {.context = &job, .take = take_block, .place = place_columns};
    vg_field_set means = VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD);
    VG_TRY(vg_report__rows_new(&out->rows, out->n, out->c));
    out->rows->class_k = out->class_k;
    out->rows->label_count = out->label_count;
    out->rows->present_above = in->logits ? 0 : 0.5;
    VG_TRY(vg_score_pass__run(in, means, &sink, &out->summary));
    VG_TRY(vg_measure_columns__list(&out->measures, &out->measure_count, out->columns));
    VG_TRY(vg_report_subject__judge(out, in));
    return read_votes(out, in);
}

/* Sites of images: counted, not kept. */
static vg_status score_sites(vg_report_subject *out, vg_score_input *in) {
    const char *const *names;
    if (in->layout.multilabel)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: --multilabel reports samples, not the sites of images", in->path);
    out->is_sites = true;
    VG_TRY(keep_settings(out, in));
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    VG_TRY(vg_report_names__copy(&out->class_names, names, out->c));
    VG_TRY(vg_report_subject__judge(out, in));
    VG_TRY(vg_site_report__make(out, in));
    return vg_measure_columns__list(&out->measures, &out->measure_count, out->columns);
}

/* The sets of a page whose calibration samples are in a file of their own. */
static vg_status make_sets(vg_report_subject *out, const vg_report_source *source) {
    if (source->for_ood || !source->calibration)
        return VG_OK;
    return vg_report_sets__files(&out->sets, out->path, source->calibration, source->options, source->job);
}

static vg_status read_predictions(vg_report_subject *out, const vg_report_source *source) {
    vg_score_input in;
    const char *labels = source->for_ood ? vg_score_no_labels : source->options->labels;
    VG_TRY(vg_score_input__open_maps(&in, out->path, source->options, labels, source->job));
    if (vg_score_input__images(&in)) {
        vg_status status = source->for_ood ? vg_base__fail(VG_ERR_UNSUPPORTED,
                                                           "%s: an OOD set of a page has samples, "
                                                           "not the sites of images",
                                                           in.path)
                                           : score_sites(out, &in);
        vg_score_input__close(&in);
        return status == VG_OK ? make_sets(out, source) : status;
    }
    vg_status status = keep_shape(out, &in);
    if (status == VG_OK && !source->for_ood)
        status = keep_names(out, &in);
    if (status == VG_OK)
        status = vg_columns__new(&out->columns, out->n, out->k, out->k_count, vg_measure_columns__bits(in.measures));
    if (status == VG_OK)
        status = source->for_ood ? score_for_ood(out, &in) : score(out, &in);
    if (status == VG_OK && !source->for_ood && in.labels && !source->calibration)
        status = vg_report_sets__halves(&out->sets, &in);
    vg_score_input__close(&in);
    return status == VG_OK ? make_sets(out, source) : status;
}

vg_status vg_report_subject__read(vg_report_subject *out, const vg_report_source *source) {
    *out = (vg_report_subject){.path = source->path, .is_scores = vg_report_scores__holds(source->path)};
    return out->is_scores ? vg_report_scores__read(out, source) : read_predictions(out, source);
}

static vg_status evaluate_input(vg_evaluation **out, vg_score_input *in) {
    vg_report_subject bare = {.path = in->path};
    subject_job job = {.out = &bare, .in = in, .spread = vg_measure_columns__rule_spread(in)};
    vg_score_sink sink = {.context = &job, .take = take_block};
    VG_TRY(new_tally(&job.tally, in));
    vg_status status = vg_score_pass__run(in, VG_FIELD_BIT(VG_FIELD_MEAN) | VG_FIELD_BIT(VG_FIELD_STD), &sink, NULL);
    if (status == VG_OK && job.tally)
        status = vg_report_subject__evaluate(out, &bare, job.tally, in->options.threads, in->job);
    vg_tally_free(job.tally);
    return status;
}

vg_status vg_report_subject__evaluate_at(vg_evaluation **out, const vg_report_source *source, const char *temperature) {
    vg_input_options other = *source->options;
    vg_score_input in;
    *out = NULL;
    other.temperature = temperature;
    VG_TRY(vg_score_input__open(&in, source->path, &other, source->job));
    vg_status status = evaluate_input(out, &in);
    vg_score_input__close(&in);
    return status;
}

void vg_report_subject__free(vg_report_subject *subject) {
    vg_report_names__free(subject->class_names, vg_report_subject__names(subject));
    vg_report_names__free(subject->ids, vg_report_subject__samples(subject));
    free(subject->k);
    vg_base__release(subject->class_k);
    free(subject->labels);
    free(subject->measures);
    vg_columns__free(subject->columns);
    vg_report__rows_free(subject->rows);
    vg_base__release(subject->sets);
    vg_evaluation_free(subject->own_evaluation);
    vg_evaluation_result_free(subject->evaluated);
    vg_site_report__free(&subject->sites);
    *subject = (vg_report_subject){0};
}
