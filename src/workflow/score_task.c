/* score_task.c - from blocks of scores to an output file and a result. See score_task.h. */
#include "workflow/score_task.h"

#include <math.h>

#include "workflow/score_result.h"

static void release(vg_score_task *task) {
    vg_column_store__close(&task->store);
    vg_site_images__free(&task->images);
    vg_score_tally__free(&task->tally);
}

/* Opening is a part of its own, so that a listener knows from its beginning that an output is unfinished. */
static vg_status open_output(vg_score_task *task, const char *output) {
    vg_status status = vg_job__begin(task->in->job, "opening", "files");
    if (status == VG_OK)
        status = vg_score_writer__open(&task->file, output, VG_PRODUCT_SCORES);
    vg_job__end(task->in->job);
    return status;
}

vg_status vg_score_task__begin(vg_score_task *task, const vg_score_input *in, const vg_score_file_options *own) {
    const char *output = own->output;
    bool summarise = own->summary != 0;
    vg_field_set kept = output ? in->measures : in->measures & VG_FIELDS_MEASURES;
    kept |= own->maps ? vg_site_maps__fields(in->measures) : 0;
    *task = (vg_score_task){.in = in, .output = output, .summarise = summarise, .computed = in->measures};
    task->maps = (vg_site_maps){own->maps, own->pictures, own->force, NAN, false};
    if (own->maps)
        VG_TRY(vg_site_maps__check(&task->maps, in));
    task->store.file = -1;
    if (summarise && vg_score_input__labelled(in))
        task->computed |= VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_DECISION);
    if (output)
        VG_TRY(open_output(task, output));
    vg_status status = vg_score_tally__new(&task->tally, in->layout.k_count);
    if (status == VG_OK)
        status = vg_column_store__open(&task->store, kept, &in->layout, output);
    task->store.left_out = in->ignore != NULL;
    if (status == VG_OK && vg_score_input__images(in) && !in->layout.multilabel)
        status = vg_site_images__new(&task->images, vg_score_input__shape(in));
    return status == VG_OK ? VG_OK : vg_score_task__end(task, NULL, status);
}

vg_status vg_score_task__take(void *context, size_t first, size_t rows, const vg_scores *block) {
    vg_score_task *task = context;
    const vg_score_input *in = task->in;
    if (task->summarise)
        vg_score_tally__add(&task->tally, &in->layout, block, rows, vg_score_input__labels(in, first));
    if (task->images.count)
        vg_site_images__add(&task->images, in, first, rows, block);
    return vg_column_store__put(&task->store, first, rows, block);
}

static vg_status write_file(vg_score_task *task) {
    VG_TRY(vg_score_input__names(&task->file.names, task->in));
    vg_status status = vg_score_writer__write(&task->file, &task->store, &task->summary, task->in->job);
    if (status == VG_OK && task->file.arrays && task->images.count)
        status = vg_site_images__write(&task->images, task->file.arrays, NAN);
    vg_row_names__free(&task->file.names);
    return status;
}

static vg_status finish(vg_score_task *task, vg_score_result **out) {
    if (task->images.count) {
        VG_TRY(vg_score_input__some_left(task->in));
        VG_TRY(vg_site_images__end(&task->images, vg_score_input__labelled(task->in)));
    }
    if (task->maps.folder)
        VG_TRY(vg_site_maps__write(&task->maps, task->in, &task->store, &task->images));
    if (task->output)
        VG_TRY(write_file(task));
    if (!out)
        return VG_OK;
    vg_score_outcome outcome = {task->in,
                                &task->store,
                                &task->tally,
                                &task->summary,
                                task->computed,
                                task->summarise,
                                task->images.count ? &task->images : NULL};
    return vg_score_result__new(out, &outcome);
}

vg_status vg_score_task__end(vg_score_task *task, vg_score_result **out, vg_status status) {
    if (out)
        *out = NULL;
    if (status == VG_OK)
        status = finish(task, out);
    if (task->output)
        status = vg_score_writer__close(&task->file, status);
    release(task);
    if (status != VG_OK && out) {
        vg_score_result_free(*out);
        *out = NULL;
    }
    return status;
}
