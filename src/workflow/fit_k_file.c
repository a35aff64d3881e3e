/* fit_k_file.c - k of the gate fitted to a file of validation predictions, and kept as k.json. */
#include <string.h>

#include "base/c_locale.h"
#include "vargate/fit_k.h"
#include "workflow/kept_sites.h"
#include "workflow/workflow_options.h"

static vg_status fit(vg_k_fit **out, vg_score_input *in, const vg_fit_k_file_options *own) {
    vg_fit_k_options options = VG_FIT_K_OPTIONS_INIT;
    vg_predictions view;
    VG_TRY(vg_workflow__options(&options, sizeof options, own->fit, "vg_fit_k_options"));
    options.logits = in->logits;
    options.temperature = in->options.temperature;
    options.temperature_count = in->options.temperature_count;
    vg_kept_sites kept;
    vg_status status = vg_kept_sites__open(&kept, in);
    if (kept.image_ends) {
        options.image_ends = kept.image_ends;
        options.image_count = kept.images;
    }
    if (status == VG_OK)
        status = vg_kept_sites__block(&kept, 0, kept.n, &view);
    if (status == VG_OK)
        status = vg_kept_sites__conclude(&kept, vg_fit_k(out, &view, kept.labels, &options));
    vg_kept_sites__close(&kept);
    return status;
}

static vg_status save(const vg_k_fit *fit, const vg_fit_k_file_options *own) {
    char *text;
    VG_TRY(vg_k_fit_json(&text, fit, own->one));
    vg_status status = vg_job__begin(&own->job, "writing", "files");
    if (status == VG_OK)
        status = vg_text_save(own->output, text, strlen(text));
    vg_job__end(&own->job);
    vg_free(text);
    if (status == VG_OK && own->one)
        vg_job__note(&own->job, "wrote %s: one k for all classes", own->output);
    else if (status == VG_OK)
        vg_job__note(&own->job, "wrote %s: a k for each of %zu classes", own->output, fit->classes);
    return status;
}

vg_status vg_fit_k_file(vg_k_fit **out, const char *path, const vg_input_options *input,
                        const vg_fit_k_file_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_fit_k_file: out"));
    VG_IN_C_LOCALE;
    vg_fit_k_file_options own = VG_FIT_K_FILE_OPTIONS_INIT;
    vg_input_options reading = VG_INPUT_OPTIONS_INIT;
    vg_score_input in;
    *out = NULL;
    VG_TRY(vg_base__given(path != NULL, "vg_fit_k_file: path"));
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_fit_k_file_options"));
    VG_TRY(vg_workflow__options(&reading, sizeof reading, input, "vg_input_options"));
    reading.scoring = NULL;
    reading.class_k = NULL;
    const char *inputs[] = {path, reading.labels, reading.temperature};
    if (own.output)
        VG_TRY(vg_target_check(own.output, VG_PRODUCT_GATES, inputs, sizeof inputs / sizeof *inputs, own.force));
    VG_TRY(vg_score_input__open_maps(&in, path, &reading, reading.labels, &own.job));
    vg_status status = fit(out, &in, &own);
    vg_score_input__close(&in);
    if (status == VG_OK && (*out)->warning[0])
        vg_job__warn(&own.job, "%s", (*out)->warning);
    if (status == VG_OK && own.output)
        status = save(*out, &own);
    if (status != VG_OK) {
        vg_free(*out);
        *out = NULL;
    }
    return status;
}
