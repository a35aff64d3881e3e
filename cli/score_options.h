/* score_options.h - the options shared by every command that scores predictions, and their conversion to the
 * library's. */
#ifndef CLI_SCORE_OPTIONS_H
#define CLI_SCORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "command_options.h"
#include "vargate/vargate.h"

typedef struct score_options {
    vg_input_options input; /* what options name in the library's own terms; completed by score_options_request */
    const char *measures, *ignore;
    bool logits, multilabel, normalise, renormalise;
    int multilabel_form, preset, pairs, sigma, log_base, format;
    option_reals k;
    unsigned threads;
} score_options;

extern const option_entry score_option_entries[];
extern const size_t score_option_count;
/* Refuses a --format that would not be used: it is the kind of standard input, and a file has its own. */
int score_options_check(const void *options, const option_files *files);
/* The group of a command; of one without the options named in `without` (ends with NULL). */
#define SCORE_OPTION_GROUP(options) SCORE_OPTION_SUBSET("Scoring", options, NULL)
#define SCORE_OPTION_SUBSET(title, options, without)                                                                   \
    {title, score_option_entries, score_option_count, &(options), without, score_options_check}

/* Words of --format; its value as the library takes it, NULL where it was not given. */
#define SCORE_FORMAT_WORDS "npy|npz|safetensors|csv|tsv|jsonl|json"
const char *score_format_word(int index);

/* Words of --device, in the order of vg_score_device. */
#define SCORE_DEVICE_WORDS "cpu|auto|cuda"

/* The options as the library takes them. `input` points to `scoring` and both borrow from the score_options, so
 * neither may be copied or moved. */
typedef struct score_request {
    vg_input_options input;
    vg_score_options scoring;
    int64_t ignore;
} score_request;
/* CLI_USAGE, with a line, for an unknown measure. */
int score_options_request(score_request *out, const score_options *options);

#endif
