/* calibrate_file.c - temperatures or maps fitted to a file of validation predictions, and kept as JSON. */
#include "base/c_locale.h"
#include "calibrate/calibration.h"
#include "vargate/calibrate.h"
#include "vargate/temperatures.h"
#include "workflow/kept_sites.h"
#include "workflow/workflow_options.h"

static vg_status fit(vg_calibration **out, vg_kept_sites *kept, const vg_calibrate_file_options *own) {
    const vg_score_input *in = kept->in;
    vg_calibrate_options options = VG_CALIBRATE_OPTIONS_INIT;
    const vg_score_layout *layout = &in->layout;
    vg_job_part part = {&own->job, "calibrating"};
    VG_TRY(vg_workflow__options(&options, sizeof options, own->fit, "vg_calibrate_options"));
    options.probabilities = !in->logits;
    if (kept->image_ends) {
        options.image_ends = kept->image_ends;
        options.image_count = kept->images;
    }
    options.progress = vg_job__callback;
    options.progress_context = &part;
    vg_status status = vg_job__begin(&own->job, part.what, "sweeps");
    if (status == VG_OK)
        status =
            vg_calibrate_blocks(out, vg_kept_sites__block, kept, kept->n, layout->m, layout->c, kept->labels, &options);
    vg_job__end(&own->job);
    return vg_kept_sites__conclude(kept, status);
}

static vg_status save(const vg_calibration *result, const vg_calibrate_file_options *own) {
    if (!own->output)
        return VG_OK;
    VG_TRY(vg_temperatures__save(own->output, result));
    const char *what = result->map ? "calibration map" : "temperature";
    vg_job__note(&own->job, "wrote %s: %zu %s%s", own->output, result->count, what, result->count == 1 ? "" : "s");
    return VG_OK;
}

static vg_status calibrate(vg_calibration **out, vg_score_input *in, const vg_calibrate_file_options *own) {
    vg_kept_sites kept;
    if (in->logits && vg_score_input__normalised(in))
        return vg_base__fail(VG_ERR_DATA, "%s: holds probabilities; temperatures are fitted to logits", in->path);
    vg_status status = vg_kept_sites__open(&kept, in);
    if (status == VG_OK)
        status = fit(out, &kept, own);
    vg_kept_sites__close(&kept);
    VG_TRY(status);
    if ((*out)->warning[0])
        vg_job__warn(&own->job, "%s", (*out)->warning);
    return save(*out, own);
}

vg_status vg_calibrate_file(vg_calibration **out, const char *path, const vg_input_options *input,
                            const vg_calibrate_file_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_calibrate_file: out"));
    VG_IN_C_LOCALE;
    vg_calibrate_file_options own = VG_CALIBRATE_FILE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    *out = NULL;
    VG_TRY(vg_base__given(path != NULL, "vg_calibrate_file: path"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_calibrate_file_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    vg_calibrate_options fit = VG_CALIBRATE_OPTIONS_INIT;
    VG_TRY(vg_workflow__options(&fit, sizeof fit, own.fit, "vg_calibrate_options"));
    if (fit.method == VG_CALIBRATE_TEMPERATURE && !fit.mean)
        reading.logits = 1;
    reading.temperature = NULL;
    reading.scoring = NULL;
    const char *inputs[] = {path, reading.labels};
    if (own.output)
        VG_TRY(vg_target_check(own.output, VG_PRODUCT_TEMPERATURES, inputs, 2, own.force));
    vg_score_input in;
    VG_TRY(vg_score_input__open_maps(&in, path, &reading, reading.labels, &own.job));
    vg_status status = calibrate(out, &in, &own);
    vg_score_input__close(&in);
    if (status != VG_OK) {
        vg_calibration_free(*out);
        *out = NULL;
    }
    return status;
}
