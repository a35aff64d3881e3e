/* evaluate_file.c - evaluates a file of predictions against its labels: one scoring pass that fills columns of measures
 * and counts means against labels, then the figures. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/call_beside.h"
#include "workflow/evaluation_figures.h"
#include "workflow/measure_columns.h"
#include "workflow/site_evaluation.h"
#include "workflow/workflow_options.h"

typedef struct evaluation_owner {
    vg_evaluation_result result; /* the public part */
    char *file;
    vg_evaluation *evaluation;
    vg_figure_table *whole, *measures, *brief;
    vg_verdict verdict;
    vg_finding findings[VG_MAX_FINDINGS];
    char advice[VG_FINDING_SIZE];
    char **class_names;
    vg_site_figures sites; /* of images; its evaluation is the one above */
    vg_kept_means kept;    /* until the calibrators are compared */
    vg_finding calibrator; /* which one to use */
    unsigned threads;
} evaluation_owner;

static vg_status make_tally(vg_tally **tally, const vg_score_input *in, const vg_evaluate_file_options *own) {
    vg_tally_options options = VG_TALLY_OPTIONS_INIT;
    options.task = in->options.task;
    options.bins = own->bins;
    options.bootstrap = own->resamples > 0;
    options.expected = in->layout.n;
    options.class_k = in->options.class_k;
    return vg_tally_new(tally, in->layout.c, &options);
}

static vg_status evaluate(vg_evaluation **out, const vg_score_input *in, const vg_tally *tally,
                          const vg_columns *columns, const vg_evaluate_file_options *own) {
    vg_evaluate_options options = VG_EVALUATE_OPTIONS_INIT;
    if (own->coverages) {
        options.coverages = own->coverages;
        options.coverage_count = own->coverage_count;
    }
    if (own->risks) {
        options.risks = own->risks;
        options.risk_count = own->risk_count;
    }
    options.curve_points = own->curve_points;
    options.resamples = own->resamples;
    options.seed = own->seed;
    options.confidence = own->confidence;
    vg_status status = vg_measure_columns__evaluate(out, in, tally, columns, options);
    return status == VG_OK ? VG_OK : vg_base__fail(status, "%s: %s", in->path, vg_error_message());
}

static vg_status compare_calibrators(void *context) {
    evaluation_owner *owner = context;
    vg_status status = vg_evaluation__advise_calibrator(&owner->calibrator, &owner->kept, owner->threads);
    vg_kept_means__free(&owner->kept);
    return status;
}

/* The figures, and beside them the comparison of the calibrators. */
static vg_status evaluate_and_compare(evaluation_owner *owner, const vg_score_input *in, const vg_tally *tally,
                                      const vg_columns *columns, const vg_evaluate_file_options *own) {
    vg_call_beside beside;
    owner->threads = in->options.threads;
    vg_call_beside__start(&beside, compare_calibrators, owner, owner->threads);
    vg_status status = evaluate(&owner->evaluation, in, tally, columns, own);
    if (status == VG_OK)
        return vg_call_beside__end(&beside);
    vg_call_beside__drop(&beside);
    return status;
}

static vg_status score_and_evaluate(evaluation_owner *owner, vg_score_summary *summary, vg_score_input *in,
                                    const vg_evaluate_file_options *own) {
    vg_tally *tally = NULL;
    vg_columns *columns = NULL;
    const vg_score_layout *layout = &in->layout;
    vg_kept_means *kept = layout->multilabel ? NULL : &owner->kept; /* rows of a sample are not independent */
    VG_TRY(vg_score_input__need_labels(in));
    if (kept)
        VG_TRY(vg_kept_means__new(kept, vg_evaluation__advice_samples(layout->n, layout->c), layout->n, layout->c));
    VG_TRY(make_tally(&tally, in, own));
    vg_status status =
        vg_measure_columns__score(&columns, tally, in, vg_score_input__compared(in), true, summary, kept);
    if (status == VG_OK)
        status = kept ? evaluate_and_compare(owner, in, tally, columns, own)
                      : evaluate(&owner->evaluation, in, tally, columns, own);
    vg_columns__free(columns);
    vg_tally_free(tally);
    return status;
}

static vg_status copy_class_names(evaluation_owner *owner, const vg_score_input *in) {
    const char *const *names = NULL;
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    if (!names)
        return VG_OK;
    VG_TRY(vg_base__zalloc(&owner->class_names, in->layout.c + 1, sizeof *owner->class_names, "names of the classes"));
    for (size_t c = 0; c < in->layout.c; c++)
        VG_TRY(vg_base__strdup(&owner->class_names[c], names[c]));
    return VG_OK;
}

static vg_status evaluate_sites(evaluation_owner *owner, vg_score_summary *summary, vg_score_input *in,
                                const vg_evaluate_file_options *own) {
    if (in->layout.multilabel)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "%s: --multilabel evaluates samples, not the sites of images",
                             in->path);
    VG_TRY(vg_score_input__need_labels(in));
    vg_status status = vg_site_evaluation__run(&owner->sites, in, own);
    owner->evaluation = owner->sites.evaluation;
    *summary = owner->sites.summary;
    return status;
}

static vg_status fill(evaluation_owner *owner, vg_score_input *in, const vg_evaluate_file_options *own) {
    vg_score_summary summary;
    const size_t *shape = vg_score_input__shape(in);
    bool images = vg_score_input__images(in);
    VG_TRY(images ? evaluate_sites(owner, &summary, in, own) : score_and_evaluate(owner, &summary, in, own));
    const vg_evaluation *e = owner->evaluation;
    VG_TRY(vg_evaluation__whole_table(&owner->whole, e));
    VG_TRY(vg_evaluation__measures_table(&owner->measures, e));
    VG_TRY(vg_evaluation__brief_table(&owner->brief, owner->measures, e));
    owner->verdict = (vg_verdict)VG_VERDICT_INIT;
    VG_TRY(vg_verdict_judge(&owner->verdict, &summary, e->rows - e->errors, e->rows));
    VG_TRY(copy_class_names(owner, in));
    VG_TRY(vg_base__strdup(&owner->file, in->path));
    const vg_score_layout *layout = &in->layout;
    owner->result = (vg_evaluation_result){.struct_size = sizeof owner->result,
                                           .file = owner->file,
                                           .n = layout->n,
                                           .m = layout->m,
                                           .c = layout->c,
                                           .logits = in->logits,
                                           .multilabel = layout->multilabel,
                                           .evaluation = owner->evaluation,
                                           .whole = owner->whole,
                                           .measures = owner->measures,
                                           .interval_columns = VG_RANKING_FIGURES,
                                           .brief = owner->brief,
                                           .verdict = &owner->verdict,
                                           .findings = owner->findings,
                                           .class_names = (const char *const *)owner->class_names};
    owner->result.ignored = in->ignored;
    owner->result.image_count = owner->sites.images.count;
    owner->result.images = owner->sites.images.rows;
    owner->result.image_order = owner->sites.images.order;
    if (images)
        memcpy(owner->result.sites, shape, sizeof owner->result.sites);
    owner->result.finding_count = vg_evaluation_findings(owner->findings, e, &owner->verdict);
    if (!images && !layout->multilabel)
        owner->findings[owner->result.finding_count++] = owner->calibrator;
    vg_evaluation__advice(owner->advice, owner->findings, owner->result.finding_count);
    owner->result.advice = owner->advice;
    return VG_OK;
}

vg_status vg_evaluation__of_input(vg_evaluation_result **out, vg_score_input *in, const vg_evaluate_file_options *own) {
    evaluation_owner *owner = calloc(1, sizeof *owner);
    vg_status status = owner ? fill(owner, in, own) : vg_base__fail(VG_ERR_MEMORY, "out of memory for the evaluation");
    *out = NULL;
    if (status == VG_OK)
        *out = &owner->result;
    else
        vg_evaluation_result_free((vg_evaluation_result *)(void *)owner);
    return status;
}

vg_status vg_evaluate_file(vg_evaluation_result **out, const char *path, const vg_input_options *input,
                           const vg_evaluate_file_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_evaluate_file: out"));
    VG_IN_C_LOCALE;
    vg_evaluate_file_options own = VG_EVALUATE_FILE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    vg_score_input in;
    *out = NULL;
    VG_TRY(vg_base__given(path != NULL, "vg_evaluate_file: path"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_evaluate_file_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    VG_TRY(vg_score_input__open_maps(&in, path, &reading, reading.labels, &own.job));
    vg_status status = vg_evaluation__of_input(out, &in, &own);
    vg_score_input__close(&in);
    return status;
}

void vg_evaluation_result_free(vg_evaluation_result *result) {
    if (!result)
        return;
    evaluation_owner *owner = (evaluation_owner *)(void *)result;
    vg_figure_table__free(owner->whole);
    vg_figure_table__free(owner->measures);
    vg_figure_table__free(owner->brief);
    for (size_t c = 0; owner->class_names && owner->class_names[c]; c++)
        vg_base__release(owner->class_names[c]);
    vg_base__release(owner->class_names);
    vg_evaluation_free(owner->evaluation);
    vg_site_images__free(&owner->sites.images);
    vg_kept_means__free(&owner->kept);
    vg_base__release(owner->file);
    free(owner);
}
