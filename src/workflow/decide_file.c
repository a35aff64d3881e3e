/* decide_file.c - decisions for a whole prediction file: .npz, .csv or .jsonl with id, pred, decision, gmu, snr;
 * and counts of them. As JSON: decide_json.c.
 *
 * id is the sample's id, or its number. In multilabel mode the other columns have one value per label (pred_0, ... in
 * CSV). */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/decide.h"
#include "workflow/decision_rows.h"
#include "workflow/report_command.h"
#include "workflow/score_pass.h"
#include "workflow/score_tally.h"
#include "workflow/score_writer.h"
#include "workflow/site_maps.h"
#include "workflow/workflow_options.h"

typedef struct decide_work {
    const vg_policy *policy;
    vg_site_images *images; /* count 0: the samples are not sites */
    vg_site_maps maps;
    vg_score_input in;
    vg_column_store store;
    vg_score_tally tally;
    bool keep; /* decisions are kept in the store */
} decide_work;

vg_status vg_decide__request(vg_decide_request *out, const vg_input_options *input, const vg_decide_options *options) {
    *out = (vg_decide_request){VG_INPUT_OPTIONS_INIT, VG_DECIDE_OPTIONS_INIT};
    VG_TRY(vg_workflow__options(&out->own, sizeof out->own, options, "vg_decide_options"));
    return vg_workflow__options(&out->input, sizeof out->input, input, "vg_input_options");
}

vg_status vg_decide__input(vg_decide_input *out, const vg_decide_request *request, const double *k, size_t k_count) {
    *out = (vg_decide_input){request->input, VG_SCORE_OPTIONS_INIT, &request->own.job};
    VG_TRY(vg_workflow__options(&out->scoring, sizeof out->scoring, out->reading.scoring, "vg_score_options"));
    out->scoring.k = k;
    out->scoring.k_count = k_count;
    out->reading.scoring = &out->scoring;
    out->reading.fields = 0;
    return VG_OK;
}

static vg_status take_block(void *context, size_t first, size_t rows, const vg_scores *block) {
    decide_work *work = context;
    const vg_score_layout *layout = &work->in.layout;
    size_t columns = layout->multilabel ? layout->c : 1;
    vg_decide__apply(work->policy, block, rows * columns);
    vg_score_tally__add(&work->tally, layout, block, rows, vg_score_input__labels(&work->in, first));
    if (work->images->count)
        vg_site_images__add(work->images, &work->in, first, rows, block);
    return work->keep ? vg_column_store__put(&work->store, first, rows, block) : VG_OK;
}

static vg_status run_pass(decide_work *work) {
    vg_score_sink sink = {.context = work, .take = take_block};
    const vg_score_input *in = &work->in;
    VG_TRY(vg_score_tally__new(&work->tally, 1));
    if (vg_score_input__images(in) && !in->layout.multilabel)
        VG_TRY(vg_site_images__new(work->images, vg_score_input__shape(in)));
    else if (!isnan(work->maps.refer_above))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: --refer-above refers images: name the axes, --axes NMCHW", in->path);
    VG_TRY(vg_score_pass__run(&work->in, vg_decide__fields(work->policy), &sink, NULL));
    if (!work->images->count)
        return VG_OK;
    VG_TRY(vg_score_input__some_left(in));
    return vg_site_images__end(work->images, vg_score_input__labelled(in));
}

/* Writes the maps and the file of decisions from the store. */
static vg_status write_kept(decide_work *work, vg_score_writer *file) {
    const vg_policy *p = work->policy;
    if (work->maps.folder)
        VG_TRY(vg_site_maps__write(&work->maps, &work->in, &work->store, work->images));
    if (!file->path)
        return VG_OK;
    VG_TRY(vg_score_input__names(&file->names, &work->in));
    vg_status status = vg_decision_rows__write(file, &work->store, p->by_rule ? "k" : "threshold",
                                               p->by_rule ? p->k : p->threshold, work->in.job);
    if (status == VG_OK && file->arrays && work->images->count)
        status = vg_site_images__write(work->images, file->arrays, work->maps.refer_above);
    vg_row_names__free(&file->names);
    return status;
}

static vg_status write_decisions(decide_work *work, const char *output) {
    vg_field_set kept = VG_FIELD_BIT(VG_FIELD_GMU) | VG_FIELD_BIT(VG_FIELD_SNR) | VG_FIELD_BIT(VG_FIELD_PRED) |
                        VG_FIELD_BIT(VG_FIELD_DECISION);
    vg_score_writer file = {.path = NULL};
    if (work->maps.folder)
        VG_TRY(vg_site_maps__check(&work->maps, &work->in));
    if (output)
        VG_TRY(vg_score_writer__open(&file, output, VG_PRODUCT_DECISIONS));
    vg_status status = vg_column_store__open(&work->store, kept, &work->in.layout, output);
    if (status == VG_OK) {
        work->keep = true;
        status = run_pass(work);
        if (status == VG_OK)
            status = write_kept(work, &file);
        vg_column_store__close(&work->store);
    }
    return output ? vg_score_writer__close(&file, status) : status;
}

/* Before any work: checks that the output can be written and destroys nothing. */
static vg_status check_output(const vg_policy *policy, const char *path, const vg_decide_request *request) {
    const vg_decide_options *own = &request->own;
    const char *inputs[] = {path, vg_policy__calibration(policy), request->input.labels, request->input.temperature,
                            vg_policy__read(policy)->origin};
    if (!own->output)
        return VG_OK;
    return vg_target_check(own->output, VG_PRODUCT_DECISIONS, inputs, sizeof inputs / sizeof *inputs, own->force);
}

static void fill_result(vg_decide_result *out, const decide_work *work) {
    const vg_score_tally *t = &work->tally;
    const vg_site_images *images = work->images;
    vg_decide_result result = VG_DECIDE_RESULT_INIT;
    result.struct_size = out->struct_size;
    result.samples = work->in.layout.n;
    result.multilabel = work->in.layout.multilabel;
    result.labelled = vg_score_input__labelled(&work->in);
    result.entries = t->entries;
    result.kept = t->kept[0];
    result.correct = t->correct;
    result.kept_correct = t->kept_correct[0];
    result.ignored = work->in.ignored;
    result.refer_above = work->maps.refer_above;
    result.image_count = images->count;
    result.images = images->rows;
    result.image_order = images->order;
    if (images->count)
        memcpy(result.sites, vg_score_input__shape(&work->in), sizeof result.sites);
    for (size_t i = 0; i < images->count; i++)
        result.referred += images->rows[i].abstained_share > work->maps.refer_above;
    memcpy(out, &result, out->struct_size < sizeof result ? out->struct_size : sizeof result);
}

static vg_status decide(vg_decide_result *out, decide_work *work, vg_policy_data *policy, const char *path,
                        const vg_decide_request *request) {
    vg_decide_input input;
    VG_TRY(vg_decide__input(&input, request, &work->policy->k, 1));
    VG_TRY(vg_decide__settle(&input, work->policy, vg_policy__applied(work->policy)->calibrated));
    const char *labels = input.reading.labels;
    if (vg_policy__calibration(work->policy)) { /* `labels` named those of the validation data */
        labels = vg_score_labels_if_any;
        input.reading.labels = NULL;
    }
    VG_TRY(vg_score_input__open_maps(&work->in, path, &input.reading, labels, input.job));
    vg_status status = vg_policy__check_shape(work->policy, &work->in);
    if (status == VG_OK)
        status = vg_policy__remember(policy, &work->in);
    if (status == VG_OK)
        status = request->own.output || request->own.maps ? write_decisions(work, request->own.output) : run_pass(work);
    if (status == VG_OK)
        fill_result(out, work);
    vg_score_tally__free(&work->tally);
    vg_score_input__close(&work->in);
    return status;
}

/* Makes the command line that repeats the decision, where it says more than the options given. */
static vg_status make_line(vg_policy *policy, const char *path, const vg_decide_request *request) {
    vg_policy_data *data = vg_policy__data(policy);
    vg_base__release(data->line);
    policy->line = data->line = NULL;
    if (!request->own.save && (!policy->selection || data->origin))
        return VG_OK;
    VG_TRY(vg_report_command__again(&data->line, path, &request->input, policy->again, request->own.save));
    policy->line = data->line;
    return VG_OK;
}

static vg_status decide_file_alone(vg_decide_result *out, vg_policy *policy, const char *path,
                                   const vg_input_options *input, const vg_decide_options *options) {
    vg_decide_request request;
    vg_site_images *images = &vg_policy__data(policy)->images;
    decide_work work = {.policy = policy, .images = images};
    vg_text *saved;
    VG_TRY(vg_decide__request(&request, input, options));
    work.maps =
        (vg_site_maps){request.own.maps, request.own.pictures, request.own.force, request.own.refer_above, true};
    vg_site_images__free(images);
    VG_TRY(check_output(policy, path, &request));
    VG_TRY(vg_policy__open_save(&saved, policy, path, &request));
    vg_status status = vg_policy__choose(policy, &request, path);
    if (status == VG_OK)
        status = decide(out, &work, vg_policy__data(policy), path, &request);
    if (status != VG_OK) {
        vg_text__abandon(saved);
        return status;
    }
    VG_TRY(vg_policy__save(policy, saved));
    return make_line(policy, path, &request);
}

vg_status vg_decide_file(vg_decide_result *out, vg_policy *policy, const char *path, const vg_input_options *input,
                         const vg_decide_options *options) {
    VG_TRY(vg_base__given(out && policy && path, "vg_decide_file: out, policy and path"));
    VG_IN_C_LOCALE;
    vg_status status;
    VG_ALONE(status, &vg_policy__data(policy)->busy, "the policy",
             decide_file_alone(out, policy, path, input, options));
    return status;
}
