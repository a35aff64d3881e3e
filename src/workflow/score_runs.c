/* score_runs.c - scores of networks' predictions: the task of score_file.c over logits that are computed meanwhile. */
#include "base/c_locale.h"
#include "workflow/prediction.h"
#include "workflow/score_task.h"
#include "workflow/workflow_options.h"

static vg_status score(vg_score_result **out, vg_prediction *p, const vg_input_options *reading,
                       const vg_score_file_options *own) {
    vg_prediction_output output = {own->output, VG_PRODUCT_SCORES, own->force, reading->temperature};
    vg_score_input in;
    if (own->output)
        VG_TRY(vg_prediction__check_output(p, &output));
    VG_TRY(vg_prediction__open(p));
    VG_TRY(vg_prediction__input(&in, p, reading));
    vg_status status = vg_score_task__run(out, &in, own);
    vg_score_input__close(&in);
    return status;
}

vg_status vg_score_runs(vg_score_result **out, const vg_predict_runs_options *runs, const vg_input_options *input,
                        const vg_score_file_options *options) {
    VG_IN_C_LOCALE;
    vg_score_file_options own = VG_SCORE_FILE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    vg_prediction p;
    if (out)
        *out = NULL;
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_score_file_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    if (own.output)
        VG_TRY(vg_target_check(own.output, VG_PRODUCT_SCORES, NULL, 0, 1)); /* its ending, before networks are read */
    vg_status status = vg_prediction__begin(&p, runs);
    p.options.job = own.job;
    if (status == VG_OK)
        status = score(out, &p, &reading, &own);
    vg_prediction__close(&p);
    return status;
}
