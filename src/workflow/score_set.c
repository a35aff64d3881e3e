/* score_set.c - scores in the caller's memory: their file and figures, by the same code as those of a prediction
 * file (score_task.c). */
#include "base/c_locale.h"
#include "workflow/score_result.h"
#include "workflow/score_writer.h"
#include "workflow/workflow_options.h"

static vg_status check(const vg_score_set *set, const vg_score_file_options *own) {
    if (!set->scores || !set->summary || (!set->k && set->k_count))
        return vg_base__fail(VG_ERR_ARGUMENT, "a set of scores needs its scores, its summary and its gate settings");
    if (!own->output)
        return VG_OK;
    return vg_target_check(own->output, VG_PRODUCT_SCORES, NULL, 0, own->force);
}

static vg_status write_file(const vg_score_set *set, const vg_column_store *store, const vg_score_file_options *own) {
    vg_score_writer file;
    vg_row_names names;
    VG_TRY(vg_row_names__of_texts(&names, set->class_names, set->ids, set->n));
    vg_status status = vg_score_writer__open(&file, own->output, VG_PRODUCT_SCORES);
    if (status == VG_OK) {
        file.names = names;
        status = vg_score_writer__close(&file, vg_score_writer__write(&file, store, set->summary, &own->job));
    }
    vg_row_names__free(&names);
    return status;
}

static vg_status make_result(vg_score_result **out, const vg_score_set *set, const vg_column_store *store,
                             const vg_score_file_options *own) {
    vg_score_input in = {.path = "", .job = &own->job, .layout = store->layout, .logits = set->logits != 0};
    vg_score_tally tally;
    in.options.threads = set->threads;
    in.labels = set->labels;
    VG_TRY(vg_score_tally__new(&tally, set->k_count));
    if (own->summary)
        vg_score_tally__add(&tally, &store->layout, set->scores, set->n, set->labels);
    vg_score_outcome outcome = {&in, store, &tally, set->summary, store->set, own->summary != 0, NULL};
    vg_status status = vg_score_result__new(out, &outcome);
    vg_score_tally__free(&tally);
    return status;
}

vg_status vg_score_set_finish(vg_score_result **out, const vg_score_set *set, const vg_score_file_options *options) {
    VG_IN_C_LOCALE;
    vg_score_file_options own = VG_SCORE_FILE_OPTIONS_INIT;
    vg_score_set given = VG_SCORE_SET_INIT;
    vg_column_store store;
    if (out)
        *out = NULL;
    VG_TRY(vg_workflow__options(&own, sizeof own, options, "vg_score_file_options"));
    VG_TRY(vg_workflow__options(&given, sizeof given, set, "vg_score_set"));
    VG_TRY(check(&given, &own));
    vg_score_layout layout = {given.n, given.m, given.c, given.k_count, given.k, given.multilabel != 0, given.class_k};
    vg_column_store__borrow(&store, given.scores, &layout);
    if (own.output)
        VG_TRY(write_file(&given, &store, &own));
    return out ? make_result(out, &given, &store, &own) : VG_OK;
}
