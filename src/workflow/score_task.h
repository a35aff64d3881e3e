/* score_task.h - writes scores to an output file and makes a result of them, for predictions from a file
 * (score_file.c) or from networks. Internal. */
#ifndef VG_WORKFLOW_SCORE_TASK_H
#define VG_WORKFLOW_SCORE_TASK_H

#include "workflow/column_store.h"
#include "workflow/prediction_input.h"
#include "workflow/score_tally.h"
#include "workflow/score_writer.h"
#include "workflow/site_images.h"
#include "workflow/site_maps.h"

typedef struct vg_score_task {
    const vg_score_input *in; /* the predictions: path, layout, labels, measures, job */
    const char *output;       /* NULL: none */
    vg_site_maps maps;        /* folder NULL: none */
    bool summarise;
    vg_field_set computed; /* the fields that every block must hold */
    vg_column_store store;
    vg_score_tally tally;
    vg_score_summary summary; /* the scorer's, set before the task ends */
    vg_score_writer file;
    vg_site_images images; /* count 0: the samples are not sites */
} vg_score_task;

/* Opens the output beside its name and allocates room for the scores. `in` and what `own` names are borrowed until
 * the task ends. On failure nothing is left behind. */
vg_status vg_score_task__begin(vg_score_task *task, const vg_score_input *in, const vg_score_file_options *own);
/* Takes the scores of samples first .. first + rows - 1, in any order; the `take` of a vg_score_sink. */
vg_status vg_score_task__take(void *task, size_t first, size_t rows, const vg_scores *block);
/* Ends the task. With VG_OK it writes the output, makes the result where `out` is not NULL and renames the output
 * into place; any other status, and a failure meanwhile, removes the output and is returned. */
vg_status vg_score_task__end(vg_score_task *task, vg_score_result **out, vg_status status);

/* A whole task: one pass over the input into the output and the result. `out` may be NULL. */
vg_status vg_score_task__run(vg_score_result **out, vg_score_input *in, const vg_score_file_options *own);

#endif
