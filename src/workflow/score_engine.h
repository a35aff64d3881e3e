/* score_engine.h - what scores blocks of predictions: the CPU's scorer, or a GPU's. */
#ifndef VG_WORKFLOW_SCORE_ENGINE_H
#define VG_WORKFLOW_SCORE_ENGINE_H

#include "vargate/device.h"
#include "workflow/job.h"

typedef struct vg_score_engine {
    vg_scorer *cpu; /* one of the two */
    vg_device_scorer *gpu;
} vg_score_engine;

/* `where` AUTO is a GPU where there is one; the job hears a note when there is none. */
vg_status vg_score_engine__open(vg_score_engine *engine, vg_score_device where, size_t m, size_t c,
                                const vg_score_options *options, const vg_job *job);
void vg_score_engine__close(vg_score_engine *engine);
/* vg_scorer__set_planes; the CPU's scorer alone has them. */
void vg_score_engine__planes(vg_score_engine *engine, size_t plane);
/* A block in host or (with a GPU) device memory; places in host memory. */
vg_status vg_score_engine__feed(vg_score_engine *engine, const vg_scores *places, const vg_predictions *block,
                                vg_memory at);
vg_status vg_score_engine__summary(const vg_score_engine *engine, vg_score_summary *summary);

#endif
