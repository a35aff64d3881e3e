/* score_options.h - the options that every command which scores predictions shares, and the input they describe. */
#ifndef CLI_SCORE_OPTIONS_H
#define CLI_SCORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command_options.h"
#include "score_fields.h"
#include "vargate/formats.h"
#include "vargate/measures.h"

/* As typed. */
typedef struct score_options {
    const char *labels, *key, *temperature, *measures;
    const char *labels_key, *classes, *id, *member;
    bool logits, multilabel, normalise, renormalise;
    int multilabel_form, preset, pairs, sigma, log_base, axes;
    option_reals k;
    size_t threads, labels_from;
} score_options;

extern const option_entry score_option_entries[];
enum { SCORE_OPTION_ROOM = 32 }; /* more than there are */
extern const size_t score_option_count;
/* Copies the entries except those named in `without` (ends with NULL) to `out` (room for SCORE_OPTION_ROOM); returns how many.
 */
size_t score_option_subset(option_entry *out, const char *const *without);
#define SCORE_OPTION_GROUP(options)                                                                                            \
    { "Scoring", score_option_entries, score_option_count, &(options) }

int score_options_defaults(score_options *options);

/* An opened prediction file with everything needed to score it. */
typedef struct score_input {
    const char *path;
    vg_prediction_file *file;
    score_layout layout;
    bool logits;
    vg_score_options options; /* ready for vg_scorer_new */
    score_set measures;       /* what --measures asks for */
    const char *own_key;      /* --labels-key, for need_labels */
    const int64_t *labels;    /* borrowed from the file: N, or N x C in multilabel mode; NULL: none */
    double *temperature;
    bool temperature_loaded;
    int device; /* score_engine.h */
} score_input;

/* Opens `path` by the options: reads labels from --labels or from beside the predictions, and checks everything that can be
 * checked before scoring. Prints one line and returns an exit code on failure; `in` then holds nothing. */
int score_input_open(score_input *in, const score_options *options, const char *path);
/* The same with the labels taken from `labels` instead of --labels: a path, NULL for those in the file itself, or
 * score_no_labels for none at all. */
extern const char score_no_labels[];
/* score_labels_if_any: those in the file itself, and none where --labels-key names an array that it has not. */
extern const char score_labels_if_any[];
int score_input_open_labels(score_input *in, const score_options *options, const char *path, const char *labels);
/* Closes what is open; safe on one that was never opened (all zero). */
void score_input_close(score_input *in);
/* Exit code CLI_FAILED with a line naming what to give when there are no labels. */
int score_input_need_labels(const score_input *in);

/* The scoring switches alone (preset, pairs, k, ...), for input that is not a file. Temperatures are not set. */
int score_options_resolve(vg_score_options *out, const score_options *options);
/* --temperature as numbers; *out NULL when not given. Freed with score_temperature_free. */
int score_temperature_read(double **out, size_t *count, bool *loaded, const char *text);
void score_temperature_free(double *temperature, bool loaded);

#endif
