/* decide_stream.c - vargate decide --stdin-jsonl: a filter behind a model server.
 *
 * One JSON object a line in, one decision a line out, flushed at once. A bad line becomes {"id": ..., "error": ...} and the
 * stream goes on, or stops with --strict. Scorers are kept for the few shapes (M, C) a stream has. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "decide.h"
#include "stream_line.h"

enum { SCORERS = 8, FIRST_BUFFER = 1 << 16, LONGEST_LINE = 256 << 20 };

typedef struct cached_scorer {
    vg_scorer *scorer;
    vg_score_layout layout;
    bool logits;
    vg_scores block; /* one sample */
    unsigned long long used;
} cached_scorer;

typedef struct decision_stream {
    const decide_policy *policy;
    vg_score_options options;
    double *temperature;
    size_t temperature_count;
    bool temperature_loaded, multilabel, strict;
    cached_scorer cache[SCORERS];
    unsigned long long lines, bad;
    stream_line line;
} decision_stream;

/* --- scorers ------------------------------------------------------------------------------------------------------------ */
static void drop_scorer(cached_scorer *entry) {
    vg_scorer_free(entry->scorer);
    if (entry->scorer)
        vg_score_block__free(&entry->block);
    *entry = (cached_scorer){0};
}

static vg_score_options line_options(const decision_stream *s, bool logits) {
    vg_score_options options = s->options;
    options.logits = logits;
    if (logits && s->temperature) {
        options.temperature = s->temperature;
        options.temperature_count = s->temperature_count;
    }
    return options;
}

/* The scorer for the current line's shape; NULL with an error in the line. */
static cached_scorer *find_scorer(decision_stream *s) {
    stream_line *line = &s->line;
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
    vg_score_options options = line_options(s, line->logits);
    oldest->layout = (vg_score_layout){1, line->m, line->c, options.k_count, options.k, s->multilabel};
    oldest->logits = line->logits;
    oldest->used = s->lines;
    vg_field_set set = decide_fields(s->policy) | VG_FIELD_BIT(VG_FIELD_MEAN);
    if (vg_scorer_new(&oldest->scorer, line->m, line->c, &options) != VG_OK) {
        snprintf(line->error, sizeof line->error, "%s", vg_error_message());
    } else if (vg_score_block__new(&oldest->block, set, &oldest->layout, 1) != VG_OK) {
        snprintf(line->error, sizeof line->error, "out of memory");
        vg_scorer_free(oldest->scorer);
        oldest->scorer = NULL;
    }
    return oldest->scorer ? oldest : NULL;
}

/* A scorer counts its samples over the whole stream; the message for a bad line comes from scoring it alone. */
static void explain_failure(decision_stream *s, cached_scorer *entry, const vg_predictions *view) {
    vg_score_options options = line_options(s, entry->logits);
    if (vg_score(&entry->block, NULL, view, &options) == VG_OK)
        snprintf(s->line.error, sizeof s->line.error, "cannot be scored");
    else
        snprintf(s->line.error, sizeof s->line.error, "%s", vg_error_message());
    drop_scorer(entry);
}

static cached_scorer *score_line(decision_stream *s) {
    stream_line *line = &s->line;
    if (line->logits && s->temperature && s->temperature_count != 1 && s->temperature_count != line->m) {
        snprintf(line->error, sizeof line->error, "%zu temperatures for %zu members", s->temperature_count, line->m);
        return NULL;
    }
    cached_scorer *entry = find_scorer(s);
    if (!entry)
        return NULL;
    vg_predictions view = vg_predictions_f64(line->values, 1, line->m, line->c);
    if (vg_scorer_feed(entry->scorer, &entry->block, &view) != VG_OK) {
        explain_failure(s, entry, &view);
        return NULL;
    }
    decide_apply(s->policy, &entry->block, s->multilabel ? line->c : 1);
    return entry;
}

/* --- output ------------------------------------------------------------------------------------------------------------- */
static void put_real(double value) {
    if (isfinite(value))
        printf("%.17g", value);
    else
        fputs("null", stdout);
}

static void put_ints(const char *key, const int32_t *values, size_t count, bool array) {
    printf(array ? ",\"%s\":[" : ",\"%s\":", key);
    for (size_t i = 0; i < count; i++)
        printf(i ? ",%d" : "%d", values[i]);
    fputs(array ? "]" : "", stdout);
}

static void put_reals(const char *key, const double *values, size_t count, bool array) {
    printf(array ? ",\"%s\":[" : ",\"%s\":", key);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", stdout);
        put_real(values[i]);
    }
    fputs(array ? "]" : "", stdout);
}

static void put_decision(const decision_stream *s, const cached_scorer *entry) {
    const vg_scores *block = &entry->block;
    size_t count = s->multilabel ? s->line.c : 1;
    printf("{\"id\":%s", s->line.id);
    put_ints("pred", block->pred, count, s->multilabel);
    put_ints("decision", block->decision, count, s->multilabel);
    put_reals("gmu", block->gmu, count, s->multilabel);
    put_reals("snr", block->snr, count, s->multilabel);
    put_reals("mean", block->mean, s->line.c, true);
    fputs("}\n", stdout);
}

/* Returns an exit code: CLI_FAILED stops the stream. */
static int put_error(decision_stream *s) {
    s->bad++;
    if (s->strict)
        return console_fail("line %llu (id %s): %s", s->lines, s->line.id, s->line.error);
    json_t *text = json_string(s->line.error);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    printf("{\"id\":%s,\"error\":%s}\n", s->line.id, quoted ? quoted : "\"unreadable\"");
    free(quoted);
    json_decref(text);
    return CLI_OK;
}

static int take_line(decision_stream *s, const char *text, size_t length) {
    s->lines++;
    if (strspn(text, " \t\r") == length)
        return CLI_OK;
    cached_scorer *entry = stream_line_read(&s->line, text, length) ? score_line(s) : NULL;
    int code = CLI_OK;
    if (entry)
        put_decision(s, entry);
    else
        code = put_error(s);
    return code == CLI_OK ? console_flush_output() : code;
}

/* --- input -------------------------------------------------------------------------------------------------------------- */
typedef struct line_buffer {
    char *bytes;
    size_t room, begin, end; /* unread bytes lie in begin .. end - 1; room counts one more for a NUL */
    bool over;               /* nothing more to read */
} line_buffer;

/* Reads more. Returns an exit code. */
static int fill(line_buffer *in) {
    if (in->begin > 0) {
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    if (in->end == in->room) {
        if (in->room >= LONGEST_LINE)
            return console_fail("standard input: a line is longer than %d MB", LONGEST_LINE >> 20);
        char *bytes = realloc(in->bytes, 2 * in->room + 1);
        if (!bytes)
            return console_fail_memory("a line of input");
        in->bytes = bytes;
        in->room *= 2;
    }
    ssize_t got;
    do
        got = read(STDIN_FILENO, in->bytes + in->end, in->room - in->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return console_fail("standard input: %s", strerror(errno));
    in->over = got == 0;
    in->end += (size_t)got;
    return CLI_OK;
}

static int run_lines(decision_stream *s, line_buffer *in) {
    size_t searched = 0; /* bytes after begin known to hold no newline */
    for (;;) {
        char *begin = in->bytes + in->begin, *newline = memchr(begin + searched, '\n', in->end - in->begin - searched);
        size_t length = newline ? (size_t)(newline - begin) : in->end - in->begin;
        int code;
        if (newline || (in->over && length > 0)) {
            begin[length] = '\0';
            code = take_line(s, begin, length);
            in->begin += length + (newline != NULL);
            searched = 0;
        } else if (in->over) {
            return CLI_OK;
        } else {
            searched = length;
            code = fill(in);
        }
        if (code != CLI_OK)
            return code;
    }
}

int decide_stream(const decide_policy *policy, const score_options *options, bool strict) {
    decision_stream *s = calloc(1, sizeof *s);
    line_buffer in = {.bytes = malloc(FIRST_BUFFER + 1), .room = FIRST_BUFFER};
    int code = s && in.bytes ? CLI_OK : console_fail_memory("the stream");
    if (code == CLI_OK)
        code = score_options_resolve(&s->options, options);
    if (code == CLI_OK)
        code = console_status(
            vg_temperature__read(&s->temperature, &s->temperature_count, &s->temperature_loaded, options->temperature));
    if (code == CLI_OK) {
        s->policy = policy;
        s->multilabel = options->multilabel;
        s->strict = strict;
        s->options.threads = 1;
        code = run_lines(s, &in);
        if (s->bad > 0 && !strict)
            console_note("%llu of %llu lines could not be decided", s->bad, s->lines);
    }
    for (int i = 0; s && i < SCORERS; i++)
        drop_scorer(&s->cache[i]);
    if (s) {
        vg_temperature__free(s->temperature, s->temperature_loaded);
        stream_line_free(&s->line);
    }
    free(s);
    free(in.bytes);
    return code;
}
