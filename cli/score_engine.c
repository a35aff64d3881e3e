/* score_engine.c - the choice between the CPU's scorer and a GPU's. See score_engine.h. */
#include "score_engine.h"

#include "console.h"

int score_engine_open(score_engine *engine, int where, size_t m, size_t c, const vg_score_options *options) {
    *engine = (score_engine){NULL, NULL};
    bool wanted = where != SCORE_ON_CPU;
    if (wanted && where == SCORE_ON_AUTO && vg_device_check() != VG_OK) {
        console_note("%s; scoring on the CPU", vg_error_message());
        wanted = false;
    }
    vg_status status = wanted ? vg_device_scorer_new(&engine->gpu, m, c, options) : vg_scorer_new(&engine->cpu, m, c, options);
    return status == VG_OK ? CLI_OK : console_fail_library();
}

void score_engine_close(score_engine *engine) {
    vg_scorer_free(engine->cpu);
    vg_device_scorer_free(engine->gpu);
    *engine = (score_engine){NULL, NULL};
}

void score_engine_planes(score_engine *engine, size_t plane) {
    if (engine->cpu)
        vg_scorer_planes(engine->cpu, plane);
}

vg_status score_engine_feed(score_engine *engine, const vg_scores *places, const vg_predictions *block, vg_memory at) {
    if (engine->gpu)
        return vg_device_scorer_feed(engine->gpu, places, VG_MEMORY_HOST, block, at);
    return vg_scorer_feed(engine->cpu, places, block);
}

vg_status score_engine_summary(const score_engine *engine, vg_score_summary *summary) {
    return engine->gpu ? vg_device_scorer_summary(engine->gpu, summary) : vg_scorer_summary(engine->cpu, summary);
}
