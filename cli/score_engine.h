/* score_engine.h - what scores blocks of predictions: the CPU's scorer, or a GPU's. */
#ifndef CLI_SCORE_ENGINE_H
#define CLI_SCORE_ENGINE_H

#include "vargate/device.h"

/* In the order of the option's words. */
enum { SCORE_ON_CPU, SCORE_ON_AUTO, SCORE_ON_CUDA };
#define SCORE_DEVICE_WORDS "cpu|auto|cuda"

typedef struct score_engine {
    vg_scorer *cpu; /* one of the two */
    vg_device_scorer *gpu;
} score_engine;

/* `where`: one of the above; AUTO is a GPU where there is one, and says in a line when there is none. Returns an exit code. */
int score_engine_open(score_engine *engine, int where, size_t m, size_t c, const vg_score_options *options);
void score_engine_close(score_engine *engine);
/* vg_scorer_planes; the CPU's scorer alone has them. */
void score_engine_planes(score_engine *engine, size_t plane);
/* A block in host or (with a GPU) device memory; places in host memory. */
vg_status score_engine_feed(score_engine *engine, const vg_scores *places, const vg_predictions *block, vg_memory at);
vg_status score_engine_summary(const score_engine *engine, vg_score_summary *summary);

#endif
