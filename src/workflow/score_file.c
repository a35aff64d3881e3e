/* score_file.c - scores a file of predictions: checks names, opens the input, runs one pass, ends the task. */
#include "base/c_locale.h"
#include "workflow/score_pass.h"
#include "workflow/score_task.h"
#include "workflow/workflow_options.h"

static vg_status check_output(const vg_score_file_options *own, const char *path, const vg_input_options *input) {
    const char *inputs[] = {path, input->labels, input->temperature};
    if (!own->output)
        return VG_OK;
    return vg_target_check(own->output, VG_PRODUCT_SCORES, inputs, sizeof inputs / sizeof *inputs, own->force);
}

vg_status vg_score_task__run(vg_score_result **out, vg_score_input *in, const vg_score_file_options *own) {
    vg_score_task task;
    VG_TRY(vg_score_task__begin(&task, in, own));
    vg_score_sink sink = {.context = &task, .take = vg_score_task__take};
    return vg_score_task__end(&task, out, vg_score_pass__run(in, task.computed, &sink, &task.summary));
}

vg_status vg_score_file(vg_score_result **out, const char *path, const vg_input_options *input,
                        const vg_score_file_options *options) {
    VG_IN_C_LOCALE;
    vg_score_file_options own = VG_SCORE_FILE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    vg_score_input in;
    if (out)
        *out = NULL;
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_score_file_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    VG_TRY(check_output(&own, path, &reading));
    VG_TRY(vg_score_input__open_maps(&in, path, &reading, reading.labels, &own.job));
    vg_status status = vg_score_task__run(out, &in, &own);
    vg_score_input__close(&in);
    return status;
}
