/* run_recipe.h - what the stages of a run share. Internal. */
#ifndef VG_WORKFLOW_RUN_RECIPE_H
#define VG_WORKFLOW_RUN_RECIPE_H

#include <stdbool.h>

#include "vargate/workflow.h"
#include "workflow/job.h"

enum { VG_RUN_FOLDER = 500, VG_RUN_PATH = 1024 };

typedef struct vg_run {
    vg_run_result result; /* the public part; must be first. It points to the rest */
    vg_run_recipe_options options;
    vg_recipe recipe;
    char folder[VG_RUN_FOLDER];
    char val[VG_RUN_PATH], test[VG_RUN_PATH], temps[VG_RUN_PATH], gates[VG_RUN_PATH], ood[VG_RECIPE_LIST][VG_RUN_PATH];
    vg_job quiet;                         /* the caller's job without notes */
    vg_score_options scoring;             /* the recipe's gate settings */
    vg_input_options input;               /* of the predictions; points to scoring */
    vg_evaluation_result *evaluations[3]; /* of the test set: as trained, calibrated, of the gated members */
    vg_ood_result *comparisons[2];
    const char *ood_names[VG_RECIPE_LIST];
} vg_run;

/* FOLDER/NAME. */
void vg_run__file(char out[VG_RUN_PATH], const vg_run *run, const char *name);
/* results.json, from the evaluations and comparisons. */
vg_status vg_run__write_results(const vg_run *run);
/* An evaluation alone, as `vargate evaluate --json` prints it. */
vg_status vg_run__write_evaluation(const vg_evaluation_result *evaluation, const char *path);

#endif
