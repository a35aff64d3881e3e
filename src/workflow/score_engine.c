/* vg_score_engine.c - the choice between the CPU's scorer and a GPU's. See score_engine.h. */
#include "workflow/score_engine.h"
#include "measures/scorer.h"

vg_status vg_score_engine__open(vg_score_engine *engine, vg_score_device where, size_t m, size_t c,
                                const vg_score_options *options, const vg_job *job) {
    *engine = (vg_score_engine){NULL, NULL};
    bool wanted = where != VG_SCORE_ON_CPU;
    if (wanted && where == VG_SCORE_ON_AUTO && vg_device_check() != VG_OK) {
        vg_job__note(job, "%s; scoring on the CPU", vg_error_message());
        wanted = false;
    }
    return wanted ? vg_device_scorer_new(&engine->gpu, m, c, options) : vg_scorer_new(&engine->cpu, m, c, options);
}

void vg_score_engine__close(vg_score_engine *engine) {
    vg_scorer_free(engine->cpu);
    vg_device_scorer_free(engine->gpu);
    *engine = (vg_score_engine){NULL, NULL};
}

void vg_score_engine__planes(vg_score_engine *engine, size_t plane) {
    if (engine->cpu)
        vg_scorer__set_planes(engine->cpu, plane);
}

vg_status vg_score_engine__feed(vg_score_engine *engine, const vg_scores *places, const vg_predictions *block,
                                vg_memory at) {
    if (engine->gpu)
        return vg_device_scorer_feed(engine->gpu, places, VG_MEMORY_HOST, block, at);
    return vg_scorer_feed(engine->cpu, places, block);
}

vg_status vg_score_engine__summary(const vg_score_engine *engine, vg_score_summary *summary) {
    return engine->gpu ? vg_device_scorer_summary(engine->gpu, summary) : vg_scorer_summary(engine->cpu, summary);
}
