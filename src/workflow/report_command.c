/* report_command.c - the command line that repeats a page's decisions, and the time the page was made. See
 * report_command.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* gmtime_r */
#endif
#include "workflow/report_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vargate/formats.h"

typedef struct line {
    char *text;
    size_t used, room;
    vg_status status;
} line;

static void append(line *l, const char *bytes, size_t length) {
    if (l->status == VG_OK && l->used + length + 1 > l->room) {
        char *wider;
        size_t room = 2 * (l->used + length + 1);
        l->status = vg_base__alloc(&wider, room, 1, "a command line");
        if (l->status != VG_OK)
            return;
        if (l->used)
            memcpy(wider, l->text, l->used);
        vg_base__release(l->text);
        l->text = wider;
        l->room = room;
    }
    if (l->status != VG_OK)
        return;
    memcpy(l->text + l->used, bytes, length);
    l->used += length;
    l->text[l->used] = '\0';
}

/* A word quoted for a shell: in single quotes unless it holds only characters without a meaning to a shell. */
static void append_word(line *l, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (l->used)
        append(l, " ", 1);
    if (*word && strspn(word, safe) == strlen(word)) {
        append(l, word, strlen(word));
        return;
    }
    append(l, "'", 1);
    for (; *word; word++)
        append(l, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    append(l, "'", 1);
}

static void append_option(line *l, const char *option, const char *value) {
    if (!value)
        return;
    append_word(l, option);
    append_word(l, value);
}

/* Appends the options that select the arrays or columns of a file. */
static void append_columns(line *l, const vg_input_options *reading) {
    append_option(l, "--labels-key", reading->labels_key);
    append_option(l, "--labels-from", reading->labels_from == 1 ? "1" : NULL);
    append_option(l, "--classes", reading->classes);
    append_option(l, "--id", reading->id);
    append_option(l, "--member", reading->member);
    append_option(l, "--separator", reading->separator);
    append_option(l, "--decimal", reading->decimal);
    append_option(l, "--key", reading->key);
    append_option(l, "--axes", reading->axes);
    if (reading->ignore) {
        char label[32];
        snprintf(label, sizeof label, "%lld", (long long)*reading->ignore);
        append_option(l, "--ignore", label);
    }
    if (reading->logits > 0)
        append_word(l, "--logits");
}

static void append_task(line *l, const vg_score_options *o) {
    if (o->task != VG_TASK_MULTICLASS)
        append_word(l, "--multilabel");
    append_option(l, "--multilabel-form", o->task == VG_TASK_MULTILABEL_LITERAL ? "literal" : NULL);
}

static void append_reading(line *l, const vg_input_options *reading) {
    append_option(l, "--format", reading->format);
    append_option(l, "--labels", reading->labels);
    append_columns(l, reading);
    append_option(l, "--calibration-map", reading->temperature);
    append_option(l, "--class-k", reading->class_k);
    if (!reading->scoring)
        return;
    append_option(l, "--sigma", reading->scoring->sigma_margin == VG_SIGMA_SAMPLE ? "sample" : NULL);
    if (reading->scoring->renormalise)
        append_word(l, "--renormalise");
    append_task(l, reading->scoring);
}

/* Whether a preset has the conventions that have no option. */
static bool has_preset(const vg_score_options *o, vg_preset preset) {
    vg_score_options p = VG_SCORE_OPTIONS_INIT;
    return vg_score_options_preset(&p, preset) == VG_OK && p.floor_form == o->floor_form && p.floor == o->floor &&
           p.gate_eps_form == o->gate_eps_form && p.margin_eps_form == o->margin_eps_form && p.eps == o->eps;
}

/* The conventions of the measures: a preset, and what differs from it. */
static void append_conventions(line *l, const vg_score_options *o) {
    static const char *const presets[] = {NULL, "vge", "mljku"};
    vg_score_options p = VG_SCORE_OPTIONS_INIT;
    int preset = 0;
    while (preset < VG_PRESET_MLJKU && !has_preset(o, (vg_preset)preset))
        preset++;
    if (vg_score_options_preset(&p, (vg_preset)preset) != VG_OK)
        return;
    append_option(l, "--preset", presets[preset]);
    if (o->pairs != p.pairs)
        append_option(l, "--pairs", o->pairs == VG_PAIRS_DISTINCT ? "distinct" : "all");
    if (o->sigma_margin != p.sigma_margin || o->sigma_gate != p.sigma_gate)
        append_option(l, "--sigma", o->sigma_margin == VG_SIGMA_SAMPLE ? "sample" : "population");
    if (o->log_base != p.log_base)
        append_option(l, "--log-base", o->log_base == VG_LOG_2 ? "2" : "e");
    if (o->normalise && !p.normalise)
        append_word(l, "--normalise");
    if (o->renormalise)
        append_word(l, "--renormalise");
    append_task(l, o);
}

static vg_status finish(char **out, line *l) {
    if (l->status != VG_OK) {
        vg_base__release(l->text);
        l->text = NULL;
    }
    *out = l->text;
    return l->status;
}

vg_status vg_report_command__join(char **out, const char *const *words, size_t count) {
    line l = {.text = NULL};
    for (size_t i = 0; i < count; i++)
        append_word(&l, words[i]);
    return finish(out, &l);
}

vg_status vg_report_command__decide(char **out, const char *path, const vg_input_options *reading) {
    line l = {.text = NULL};
    append_word(&l, "vargate");
    append_word(&l, "decide");
    append_word(&l, path);
    append_reading(&l, reading);
    return finish(out, &l);
}

vg_status vg_report_command__again(char **out, const char *path, const vg_input_options *reading, const char *options,
                                   const char *saved) {
    line l = {.text = NULL};
    append_word(&l, "vargate");
    append_word(&l, "decide");
    append_word(&l, path);
    if (saved) {
        append_option(&l, "--policy", saved);
    } else {
        append(&l, " ", 1);
        append(&l, options, strlen(options));
    }
    append_option(&l, "--format", reading->format);
    append_columns(&l, reading);
    if (!saved) {
        append_option(&l, "--calibration-map", reading->temperature);
        append_option(&l, "--class-k", reading->class_k);
    }
    if (!saved && reading->scoring)
        append_conventions(&l, reading->scoring);
    return finish(out, &l);
}

vg_status vg_report_command__policy(char **out, const char *path, const vg_input_options *reading) {
    line l = {.text = NULL};
    *out = NULL;
    if (strcmp(path, "-") == 0) /* standard input cannot be read twice */
        return VG_OK;
    append_word(&l, "vargate");
    append_word(&l, "decide");
    append_word(&l, path);
    append_option(&l, "--calibration", path);
    append_option(&l, "--by", "k");
    append_reading(&l, reading);
    return finish(out, &l);
}

void vg_report_command__now(char *out, size_t room) {
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    char *end;
    time_t now = time(NULL);
    if (fixed && *fixed) {
        long long seconds = strtoll(fixed, &end, 10);
        if (*end == '\0')
            now = (time_t)seconds;
    }
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(out, room, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
}
