/* decide_stream.c - decisions one line at a time: a filter behind a model server.
 *
 * It reads one JSON object per line and writes one decision per line. A line that cannot be decided is answered by
 * {"id": ..., "error": ...}. Scorers are kept for the few shapes (M, C) of a stream. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "calibrate/calibration.h"
#include "workflow/decide.h"
#include "workflow/json_build.h"
#include "workflow/prediction_set_line.h"
#include "workflow/stream_line.h"

enum { SCORERS = 8, REAL_ROOM = 32 /* "-1.2345678901234567e-308," and more */ };

typedef struct cached_scorer {
    vg_scorer *scorer;
    vg_score_layout layout;
    bool logits;
    vg_scores block; /* one sample */
    unsigned long long used;
} cached_scorer;

struct vg_decision_stream {
    vg_busy busy;
    const vg_policy *policy;
    vg_score_options options; /* k points to the next field */
    double k;
    double *class_k;           /* read from a file; NULL: none */
    vg_calibrator *calibrator; /* NULL: none */
    bool multilabel;
    cached_scorer cache[SCORERS];
    unsigned long long lines;
    vg_set_line sets; /* sets.sets not NULL: sets instead of decisions */
    vg_stream_line line;
    char *answer; /* the answer line; `room` bytes, `length` of them used, followed by a NUL */
    size_t room, length;
};

/* --- scorers ------------------------------------------------------------------------------------------------------ */
static void drop_scorer(cached_scorer *entry) {
    vg_scorer_free(entry->scorer);
    if (entry->scorer)
        vg_score_block__free(&entry->block);
    *entry = (cached_scorer){0};
}

static vg_score_options line_options(const vg_decision_stream *s, bool logits) {
    vg_score_options options = s->options;
    options.logits = logits;
    if (logits && s->calibrator && s->calibrator->temperature) {
        options.temperature = s->calibrator->temperature;
        options.temperature_count = s->calibrator->count;
    }
    return options;
}

static vg_status make_scorer(const vg_decision_stream *s, cached_scorer *entry) {
    vg_score_options options = line_options(s, s->line.logits);
    vg_field_set set = vg_decide__fields(s->policy) | VG_FIELD_BIT(VG_FIELD_MEAN);
    entry->layout = (vg_score_layout){1, s->line.m, s->line.c, options.k_count, options.k, s->multilabel, NULL};
    entry->logits = s->line.logits;
    entry->used = s->lines;
    VG_TRY(vg_scorer_new(&entry->scorer, s->line.m, s->line.c, &options));
    vg_status status = vg_score_block__new(&entry->block, set, &entry->layout, 1);
    if (status != VG_OK) {
        vg_scorer_free(entry->scorer);
        entry->scorer = NULL;
    }
    return status;
}

/* The scorer for the current line's shape; NULL with an error in the line. */
static cached_scorer *find_scorer(vg_decision_stream *s) {
    vg_stream_line *line = &s->line;
    cached_scorer *oldest = &s->cache[0];
    for (int i = 0; i < SCORERS; i++) {
        cached_scorer *entry = &s->cache[i];
        if (entry->scorer && entry->layout.m == line->m && entry->layout.c == line->c &&
            entry->logits == line->logits) {
            entry->used = s->lines;
            return entry;
        }
        oldest = entry->used < oldest->used ? entry : oldest;
    }
    drop_scorer(oldest);
    vg_status status = make_scorer(s, oldest);
    if (status == VG_OK)
        return oldest;
    line->no_memory = status == VG_ERR_MEMORY;
    snprintf(line->error, sizeof line->error, "%s", vg_error_message());
    return NULL;
}

/* A scorer counts samples over the whole stream, so the message for a bad line comes from scoring that line alone. */
static void explain_failure(vg_decision_stream *s, cached_scorer *entry, const vg_predictions *view) {
    vg_score_options options = line_options(s, entry->logits);
    vg_status status = vg_score(&entry->block, NULL, view, &options);
    s->line.no_memory = status == VG_ERR_MEMORY;
    if (status == VG_OK)
        snprintf(s->line.error, sizeof s->line.error, "cannot be scored");
    else
        snprintf(s->line.error, sizeof s->line.error, "%s", vg_error_message());
    drop_scorer(entry);
}

/* A policy of a file, or one chosen on validation data, applies to its own ensemble only. */
static bool fits_policy(vg_decision_stream *s) {
    const vg_policy_data *policy = vg_policy__read(s->policy);
    vg_stream_line *line = &s->line;
    bool fits = policy->classes == 0 || (policy->members == line->m && policy->classes == line->c);
    if (!fits)
        snprintf(line->error, sizeof line->error, "%zu members and %zu classes, the policy is for %zu and %zu", line->m,
                 line->c, policy->members, policy->classes);
    else if (vg_policy__applied(s->policy)->calibrated && !line->logits && !(s->calibrator && s->calibrator->map))
        snprintf(line->error, sizeof line->error, "probabilities, the policy is for logits at a temperature");
    else
        return true;
    return false;
}

static cached_scorer *score_line(vg_decision_stream *s) {
    vg_stream_line *line = &s->line;
    if (!fits_policy(s))
        return NULL;
    vg_calibrator *c = s->calibrator;
    if (!line->logits && c && c->temperature) {
        snprintf(line->error, sizeof line->error,
                 "probabilities, expected logits: a temperature applies to logits alone");
        return NULL;
    }
    if (c && c->temperature && c->count != 1 && c->count != line->m) {
        snprintf(line->error, sizeof line->error, "%zu temperatures for %zu members", c->count, line->m);
        return NULL;
    }
    if (c && c->map && !vg_stream_line__map(line, c->map))
        return NULL;
    cached_scorer *entry = find_scorer(s);
    if (!entry)
        return NULL;
    vg_predictions view = vg_predictions_f64(line->values, 1, line->m, line->c);
    vg_status status = vg_scorer_feed(entry->scorer, &entry->block, &view, NULL);
    if (status == VG_ERR_MEMORY) {
        snprintf(line->error, sizeof line->error, "%s", vg_error_message());
        line->no_memory = true;
        return NULL;
    }
    if (status != VG_OK) {
        explain_failure(s, entry, &view);
        return NULL;
    }
    vg_decide__apply(s->policy, &entry->block, s->multilabel ? line->c : 1);
    return entry;
}

/* --- the answer --------------------------------------------------------------------------------------------------- */
static bool make_room(vg_decision_stream *s, size_t more) {
    if (s->room - s->length > more)
        return true;
    size_t room = 2 * (s->length + more) + 256;
    char *answer = realloc(s->answer, room);
    if (!answer)
        return false;
    s->answer = answer;
    s->room = room;
    return true;
}

/* Append the pieces of an answer; the room for them was made before. */
static void put_text(vg_decision_stream *s, const char *text) {
    size_t length = strlen(text);
    memcpy(s->answer + s->length, text, length + 1);
    s->length += length;
}

static void put_key(vg_decision_stream *s, const char *key, bool array) {
    put_text(s, ",\"");
    put_text(s, key);
    put_text(s, array ? "\":[" : "\":");
}

static void put_ints(vg_decision_stream *s, const char *key, const int32_t *values, size_t count, bool array) {
    put_key(s, key, array);
    for (size_t i = 0; i < count; i++)
        s->length += (size_t)snprintf(s->answer + s->length, REAL_ROOM, i ? ",%d" : "%d", values[i]);
    put_text(s, array ? "]" : "");
}

static void put_reals(vg_decision_stream *s, const char *key, const double *values, size_t count, bool array) {
    put_key(s, key, array);
    for (size_t i = 0; i < count; i++) {
        put_text(s, i ? "," : "");
        if (isfinite(values[i]))
            s->length += (size_t)snprintf(s->answer + s->length, REAL_ROOM, "%.17g", values[i]);
        else
            put_text(s, "null");
    }
    put_text(s, array ? "]" : "");
}

/* The name of a class in the policy, or the answer token; null for -1. Writes nothing without names, and in
 * multilabel mode. */
static bool put_name(vg_decision_stream *s, const char *key, int32_t c) {
    char *const *names = vg_policy__read(s->policy)->class_names;
    const vg_strings *tokens = &s->line.answers.tokens;
    if ((!names && !s->line.answered) || s->multilabel)
        return true;
    const char *token = c >= 0 && (size_t)c < tokens->count ? vg_strings__at(tokens, (size_t)c) : VG_ANSWERS_OTHER;
    json_t *text = c < 0 ? json_null() : json_string(s->line.answered ? token : names[c]);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    bool fits = quoted && make_room(s, strlen(quoted) + REAL_ROOM);
    if (fits) {
        put_key(s, key, false);
        put_text(s, quoted);
    }
    free(quoted);
    json_decref(text);
    return fits;
}

static bool put_decision(vg_decision_stream *s, const cached_scorer *entry) {
    const vg_scores *block = &entry->block;
    size_t count = s->multilabel ? s->line.c : 1;
    if (!make_room(s, strlen(s->line.id) + (4 * count + s->line.c + 8) * REAL_ROOM))
        return false;
    put_text(s, "{\"id\":");
    put_text(s, s->line.id);
    put_ints(s, "pred", block->pred, count, s->multilabel);
    put_ints(s, "decision", block->decision, count, s->multilabel);
    put_reals(s, "gmu", block->gmu, count, s->multilabel);
    put_reals(s, "snr", block->snr, count, s->multilabel);
    put_reals(s, "mean", block->mean, s->line.c, true);
    if (!put_name(s, "pred_name", block->pred[0]) || !put_name(s, "decision_name", block->decision[0]))
        return false;
    put_text(s, "}\n"); /* within the room of a number */
    return true;
}

/* The sets of the line; false with an error in it. */
static bool put_sets(vg_decision_stream *s) {
    char *text = vg_set_line__answer(&s->sets, &s->line);
    bool fits = text && make_room(s, strlen(s->line.id) + strlen(text) + REAL_ROOM);
    if (fits) {
        put_text(s, "{\"id\":");
        put_text(s, s->line.id);
        put_text(s, text);
    }
    free(text);
    return fits;
}

static bool put_error(vg_decision_stream *s) {
    json_t *text = vg_json__string(s->line.error);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    const char *shown = quoted ? quoted : "\"unreadable\"";
    bool fits = make_room(s, strlen(s->line.id) + strlen(shown) + REAL_ROOM);
    if (fits) {
        put_text(s, "{\"id\":");
        put_text(s, s->line.id);
        put_text(s, ",\"error\":");
        put_text(s, shown);
        put_text(s, "}\n");
    }
    free(quoted);
    json_decref(text);
    return fits;
}

static vg_status decision_stream_line_alone(vg_decision_stream *stream, const char *line, size_t length,
                                            const char **answer, size_t *answer_length) {
    vg_decision_stream *s = stream;
    vg_status status = VG_OK;
    s->lines++;
    s->length = 0;
    *answer = "";
    *answer_length = 0;
    if (strspn(line, " \t\r") == length)
        return VG_OK;
    bool readable = vg_stream_line__read(&s->line, line, length);
    const cached_scorer *entry = readable && !s->sets.sets ? score_line(s) : NULL;
    bool answered = readable && s->sets.sets ? put_sets(s) : entry != NULL;
    if (!answered && (s->line.no_memory || !s->line.id))
        return vg_base__fail(VG_ERR_MEMORY, "line %llu: %s", s->lines, s->line.error);
    if (!answered)
        status = vg_base__fail(VG_ERR_DATA, "line %llu (id %s): %s", s->lines, s->line.id, s->line.error);
    if (!(entry ? put_decision(s, entry) : answered || put_error(s)))
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the answer to line %llu", s->lines);
    *answer = s->answer;
    *answer_length = s->length;
    return status;
}

vg_status vg_decision_stream_line(vg_decision_stream *stream, const char *line, size_t length, const char **answer,
                                  size_t *answer_length) {
    VG_TRY(vg_base__given(stream && line && answer && answer_length,
                          "vg_decision_stream_line: stream, line, answer and answer_length"));
    VG_IN_C_LOCALE;
    vg_status status;
    VG_ALONE(status, &stream->busy, "the stream of decisions",
             decision_stream_line_alone(stream, line, length, answer, answer_length));
    return status;
}

/* The tokens that are classes of answers: as named, else those of the policy, whose last class is "other". */
static vg_status name_tokens(vg_decision_stream *s, const vg_policy *policy, const char *listed) {
    const vg_policy_data *data = vg_policy__read(policy);
    vg_answers *answers = &s->line.answers;
    size_t count = data->class_names ? data->classes : 0, place;
    if (listed)
        return vg_answers__fix(answers, listed);
    if (count == 0 || strcmp(data->class_names[count - 1], VG_ANSWERS_OTHER) != 0)
        return VG_OK;
    for (size_t c = 0; c + 1 < count; c++)
        VG_TRY(vg_strings__intern(&answers->tokens, data->class_names[c], strlen(data->class_names[c]), &place));
    answers->fixed = true;
    return VG_OK;
}

/* --- the stream --------------------------------------------------------------------------------------------------- */
/* Chooses the policy where that is due, and saves it where that is asked for. */
static vg_status choose_policy(vg_policy *policy, const vg_decide_request *request) {
    vg_text *saved;
    VG_TRY(vg_policy__open_save(&saved, policy, NULL, request));
    vg_status status = vg_policy__choose(policy, request, NULL);
    if (status != VG_OK) {
        vg_text__abandon(saved);
        return status;
    }
    return vg_policy__save(policy, saved);
}

static vg_status open_stream(vg_decision_stream *s, vg_policy *policy, const vg_decide_request *request) {
    vg_decide_input input;
    if (policy->chosen) {
        VG_TRY(choose_policy(policy, request));
    } else {
        vg_status status;
        VG_ALONE(status, &vg_policy__data(policy)->busy, "the policy", choose_policy(policy, request));
        VG_TRY(status);
    }
    s->k = policy->k;
    VG_TRY(vg_decide__input(&input, request, &s->k, 1));
    VG_TRY(vg_decide__settle(&input, policy, vg_policy__applied(policy)->calibrated));
    VG_TRY(vg_score_input__settings(&s->options, &input.reading));
    VG_TRY(vg_calibrator__read(&s->calibrator, input.reading.temperature));
    if (input.reading.class_k) {
        VG_TRY(vg_class_k__read(&s->class_k, &s->options.class_k_count, input.reading.class_k));
        s->options.class_k = s->class_k;
    }
    VG_TRY(name_tokens(s, policy, input.reading.classes));
    s->policy = policy;
    s->multilabel = s->options.task != VG_TASK_MULTICLASS;
    if (s->multilabel && s->calibrator && s->calibrator->map)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--calibration-map: a map is for classes that exclude each other, not for "
                             "--multilabel");
    s->options.threads = 1;
    return VG_OK;
}

vg_status vg_decision_stream_new(vg_decision_stream **out, vg_policy *policy, const vg_input_options *input,
                                 const vg_decide_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_decision_stream_new: out"));
    VG_IN_C_LOCALE;
    vg_decide_request request;
    vg_decision_stream *s;
    *out = NULL;
    VG_TRY(vg_decide__request(&request, input, options));
    VG_TRY(vg_base__given(policy || request.own.sets, "vg_decision_stream_new: policy, without sets,"));
    VG_TRY(vg_base__zalloc(&s, 1, sizeof *s, "the stream"));
    vg_status status =
        request.own.sets ? vg_set_line__open(&s->sets, request.own.sets) : open_stream(s, policy, &request);
    if (status == VG_OK)
        *out = s;
    else
        vg_decision_stream_free(s);
    return status;
}

void vg_decision_stream_free(vg_decision_stream *stream) {
    if (!stream)
        return;
    for (int i = 0; i < SCORERS; i++)
        drop_scorer(&stream->cache[i]);
    vg_calibrator__free(stream->calibrator);
    vg_base__release(stream->class_k);
    vg_stream_line__free(&stream->line);
    vg_set_line__free(&stream->sets);
    free(stream->answer);
    vg_base__release(stream);
}
