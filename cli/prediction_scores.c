/* prediction_scores.c - vargate predict --score: logits are scored as the network gives them, and only scores are kept. */
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "prediction.h"
#include "progress.h"
#include "score_summary.h"
#include "workflow/score_engine.h"
#include "workflow/score_result.h"
#include "workflow/score_writer.h"

typedef struct scoring {
    prediction *from;
    vg_score_input in; /* stands for a file of predictions */
    vg_score_engine engine;
    vg_field_set computed;
    vg_column_store store;
    vg_score_tally tally;
    vg_score_summary summary;
    bool summarise;
} scoring;

/* Where scores are computed: where the networks run. */
static int engine_for(const prediction *p) {
    for (size_t i = 0; i < p->request->run_count; i++) {
        const char *device = p->info[i].device;
        if (!device || (strncmp(device, "cuda", 4) != 0 && !strstr(device, "NVIDIA")))
            return VG_SCORE_ON_CPU;
    }
    return VG_SCORE_ON_CUDA;
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
    vg_score_input *in = &s->in;
    size_t count;
    in->path = p->request->runs[0];
    score_request request;
    int code = score_options_request(&request, options);
    in->measures = code == CLI_OK ? request.input.fields : 0;
    if (code == CLI_OK)
        code = console_status(vg_score_input__settings(&in->options, &request.input));
    if (code == CLI_OK)
        code = console_status(
            vg_temperature__read(&in->temperature, &count, &in->temperature_loaded, options->temperature));
    if (code == CLI_OK)
        code = console_status(vg_score_tally__new(&s->tally, in->options.k_count));
    if (code != CLI_OK)
        return code;
    if (in->temperature && count != 1 && count != p->members)
        return console_fail("--temperature: %zu values for %zu members; give 1 or %zu", count, p->members, p->members);
    in->options.temperature = in->temperature;
    in->options.temperature_count = in->temperature ? count : 0;
    in->options.logits = 1;
    in->options.threads = p->request->threads;
    in->logits = true;
    in->layout = (vg_score_layout){p->n, p->members, p->info[0].classes, in->options.k_count, in->options.k, false};
    return take_labels(s);
}

static int score_chunk(scoring *s, size_t first, size_t count, const vg_scores *places) {
    vg_predictions view;
    vg_memory at;
    if (logits_block(s, first, count, &view, &at) != VG_OK ||
        vg_score_engine__feed(&s->engine, places, &view, at) != VG_OK)
        return console_fail_library();
    if (s->summarise)
        vg_score_tally__add(&s->tally, &s->in.layout, places, count, s->in.labels ? s->in.labels + first : NULL);
    return console_status(vg_column_store__put(&s->store, first, count, places));
}

static int score_all(scoring *s) {
    vg_scores places;
    progress bar;
    int code = CLI_OK;
    if (vg_score_block__new(&places, s->computed, &s->in.layout, PREDICTION_CHUNK) != VG_OK)
        return console_fail_library();
    progress_begin(&bar, "predicting", "images");
    size_t chunk = chunk_of(s);
    for (size_t i = 0; i < s->from->n && code == CLI_OK && !console_interrupted(); i += chunk) {
        size_t count = s->from->n - i < chunk ? s->from->n - i : chunk;
        code = score_chunk(s, i, count, &places);
        progress_update(&bar, i + count, s->from->n);
    }
    progress_end(&bar);
    vg_score_block__free(&places);
    if (code == CLI_OK && console_interrupted())
        return CLI_FAILED;
    if (code == CLI_OK && vg_score_engine__summary(&s->engine, &s->summary) != VG_OK)
        code = console_fail_library();
    return code;
}

static int print_summary(const scoring *s, bool json) {
    vg_score_outcome outcome = {&s->in, &s->store, &s->tally, &s->summary, s->computed, true};
    vg_score_result *result;
    if (vg_score_result__new(&result, &outcome) != VG_OK)
        return console_fail_library();
    int code = score_summary_print(result, json);
    vg_score_result_free(result);
    return code;
}

/* Scores into the store, then writes and prints what was asked for. */
static int score_and_tell(scoring *s, vg_score_writer *file) {
    const prediction_request *r = s->from->request;
    s->computed = s->in.measures;
    if (s->summarise && s->in.labels)
        s->computed |= VG_FIELD_BIT(VG_FIELD_PRED) | VG_FIELD_BIT(VG_FIELD_DECISION);
    int code = console_status(vg_column_store__open(
        &s->store, r->output ? s->in.measures : s->in.measures & VG_FIELDS_MEASURES, &s->in.layout, r->output));
    if (code == CLI_OK)
        code = score_all(s);
    if (code == CLI_OK && r->output)
        code = console_status(vg_score_writer__write(file, &s->store, &s->summary, score_bridge_job()));
    if (code == CLI_OK && s->summarise)
        code = print_summary(s, r->json);
    vg_column_store__close(&s->store);
    return code;
}

int prediction_scores(prediction *p) {
    const prediction_request *r = p->request;
    scoring *s = calloc(1, sizeof *s);
    vg_score_writer file = {0};
    if (!s)
        return console_fail_memory("the command");
    s->from = p;
    s->summarise = !r->output || r->json;
    int code = take_options(s);
    if (code == CLI_OK)
        code = console_status(vg_score_engine__open(&s->engine, engine_for(p), p->members, p->info[0].classes,
                                                    &s->in.options, score_bridge_job()));
    if (code == CLI_OK && r->output) {
        vg_file_kind kind;
        code = console_usage_status(vg_score_writer__kind(r->output, &kind));
    }
    if (code == CLI_OK && r->output) {
        console_guard();
        code = console_status(vg_score_writer__open(&file, r->output, VG_PRODUCT_SCORES));
        if (code != CLI_OK)
            console_unguard();
    }
    if (code == CLI_OK) {
        code = score_and_tell(s, &file);
        if (code == CLI_OK && console_interrupted())
            code = CLI_FAILED;
        if (r->output) {
            vg_status closed = vg_score_writer__close(&file, code == CLI_OK ? VG_OK : VG_ERR_IO);
            code = code == CLI_OK ? console_status(closed) : code;
            console_unguard();
        }
    }
    if (code == CLI_OK && r->output)
        console_note("%s: scores of %zu images, %zu members, %zu classes", r->output, p->n, p->members,
                     p->info[0].classes);
    vg_score_engine__close(&s->engine);
    vg_score_tally__free(&s->tally);
    vg_temperature__free(s->in.temperature, s->in.temperature_loaded);
    free((void *)(uintptr_t)s->in.labels);
    free(s);
    return code;
}
