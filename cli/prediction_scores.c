/* prediction_scores.c - vargate predict --score: logits are scored as the network gives them, and only scores are kept. */
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "prediction.h"
#include "progress.h"
#include "score_engine.h"
#include "score_file.h"
#include "score_summary.h"

typedef struct scoring {
    prediction *from;
    score_input in; /* stands for a file of predictions */
    score_engine engine;
    score_set computed;
    column_store store;
    score_tally tally;
    vg_score_summary summary;
    bool summarise;
} scoring;

/* Where scores are computed: where the networks run. */
static int engine_for(const prediction *p) {
    for (size_t i = 0; i < p->request->run_count; i++) {
        const char *device = p->info[i].device;
        if (!device || (strncmp(device, "cuda", 4) != 0 && !strstr(device, "NVIDIA")))
            return SCORE_ON_CPU;
    }
    return SCORE_ON_CUDA;
}

/* Whether logits stay in the GPU's memory: one network, scored there. Several networks' members come together on the host. */
static bool stays_there(const scoring *s) { return s->engine.gpu && s->from->request->run_count == 1; }

/* Samples scored at once. */
static size_t chunk_of(const scoring *s) {
    size_t piece = stays_there(s) ? vg_predictor_piece(s->from->predictors[0]) : PREDICTION_CHUNK;
    return piece < PREDICTION_CHUNK ? piece : PREDICTION_CHUNK;
}

/* Logits of a chunk, and in which memory they lie. */
static vg_status logits_block(scoring *s, size_t first, size_t count, vg_predictions *view, vg_memory *at) {
    prediction *p = s->from;
    const float *logits = p->all;
    void *stream;
    vg_status status;
    *at = stays_there(s) ? VG_MEMORY_DEVICE : VG_MEMORY_HOST;
    if (*at == VG_MEMORY_HOST) {
        status = prediction_logits(p, first, count);
    } else {
        status = prediction_images(p, 0, first, count);
        if (status == VG_OK)
            status = vg_predictor_run_there(p->predictors[0], &logits, &stream, p->images, count, first);
        if (status == VG_OK)
            status = vg_device_scorer_stream(s->engine.gpu, stream);
    }
    *view = vg_predictions_f32(logits, count, p->members, p->info[0].classes);
    return status;
}

static int take_labels(scoring *s) {
    prediction *p = s->from;
    if (!p->labels)
        return CLI_OK;
    const int32_t *labels = vg_dataset_labels(p->source);
    int64_t *own = malloc((p->n ? p->n : 1) * sizeof *own);
    if (!own)
        return console_fail_memory("labels");
    for (size_t i = 0; i < p->n; i++)
        own[i] = labels[p->indices ? p->indices[i] : i];
    s->in.labels = own;
    return CLI_OK;
}

static int take_options(scoring *s) {
    prediction *p = s->from;
    const score_options *options = p->request->score;
    score_input *in = &s->in;
    size_t count;
    in->path = p->request->runs[0];
    int code = score_set_parse(options->measures, &in->measures);
    if (code == CLI_OK)
        code = score_options_resolve(&in->options, options);
    if (code == CLI_OK)
        code = score_temperature_read(&in->temperature, &count, &in->temperature_loaded, options->temperature);
    if (code != CLI_OK)
        return code;
    if (in->temperature && count != 1 && count != p->members)
        return console_fail("--temperature: %zu values for %zu members; give 1 or %zu", count, p->members, p->members);
    in->options.temperature = in->temperature;
    in->options.temperature_count = in->temperature ? count : 0;
    in->options.logits = 1;
    in->options.threads = p->request->threads;
    in->logits = true;
    in->layout = (score_layout){p->n, p->members, p->info[0].classes, in->options.k_count, in->options.k, false};
    return take_labels(s);
}

static int score_chunk(scoring *s, size_t first, size_t count, const vg_scores *places) {
    vg_predictions view;
    vg_memory at;
    if (logits_block(s, first, count, &view, &at) != VG_OK || score_engine_feed(&s->engine, places, &view, at) != VG_OK)
        return console_fail_library();
    if (s->summarise)
        score_tally_add(&s->tally, &s->in.layout, places, count, s->in.labels ? s->in.labels + first : NULL);
    return column_store_put(&s->store, first, count, places);
}

static int score_all(scoring *s) {
    vg_scores places;
    progress bar;
    int code = CLI_OK;
    if (!score_block_new(&places, s->computed, &s->in.layout, PREDICTION_CHUNK))
        return console_fail_memory("a block of scores");
    progress_begin(&bar, "predicting", "images");
    size_t chunk = chunk_of(s);
    for (size_t i = 0; i < s->from->n && code == CLI_OK && !console_interrupted(); i += chunk) {
        size_t count = s->from->n - i < chunk ? s->from->n - i : chunk;
        code = score_chunk(s, i, count, &places);
        progress_update(&bar, i + count, s->from->n);
    }
    progress_end(&bar);
    score_block_free(&places);
    if (code == CLI_OK && console_interrupted())
        return CLI_FAILED;
    if (code == CLI_OK && score_engine_summary(&s->engine, &s->summary) != VG_OK)
        code = console_fail_library();
    return code;
}

/* Scores into the store, then writes and prints what was asked for. */
static int score_and_tell(scoring *s, score_file *file) {
    const prediction_request *r = s->from->request;
    s->computed = s->in.measures;
    if (s->summarise && s->in.labels)
        s->computed |= SCORE_BIT(FIELD_PRED) | SCORE_BIT(FIELD_DECISION);
    int code =
        column_store_open(&s->store, r->output ? s->in.measures : s->in.measures & SCORE_MEASURES, &s->in.layout, r->output);
    if (code == CLI_OK)
        code = score_all(s);
    if (code == CLI_OK && r->output)
        code = score_file_write(file, &s->store, &s->summary);
    if (code == CLI_OK && s->summarise)
        code = score_summary_print(&s->in, &s->store, &s->tally, &s->summary, s->computed, r->json);
    column_store_close(&s->store);
    return code;
}

int prediction_scores(prediction *p) {
    const prediction_request *r = p->request;
    scoring *s = calloc(1, sizeof *s);
    score_file file = {0};
    if (!s)
        return console_fail_memory("the command");
    s->from = p;
    s->summarise = !r->output || r->json;
    int code = take_options(s);
    if (code == CLI_OK)
        code = score_engine_open(&s->engine, engine_for(p), p->members, p->info[0].classes, &s->in.options);
    if (code == CLI_OK && r->output)
        code = score_file_open(&file, r->output, VG_PRODUCT_SCORES);
    if (code == CLI_OK) {
        code = score_and_tell(s, &file);
        if (r->output)
            code = score_file_close(&file, code);
    }
    if (code == CLI_OK && r->output)
        console_note("%s: scores of %zu images, %zu members, %zu classes", r->output, p->n, p->members, p->info[0].classes);
    score_engine_close(&s->engine);
    score_temperature_free(s->in.temperature, s->in.temperature_loaded);
    free((void *)(uintptr_t)s->in.labels);
    free(s);
    return code;
}
