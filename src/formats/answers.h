/* answers.h - answers of language models as distributions over answer tokens, from the log-probabilities that chat
 * servers write. Internal to formats and workflow.
 *
 * A member is one prompt, or one sampled answer. Its first token decides: the alternatives that the server lists for
 * it have the probabilities exp(logprob). Classes are tokens without the spaces around them (" A" and "A" are one
 * answer). One more class, VG_ANSWERS_OTHER, holds the mass of everything that is not listed or is none of the
 * classes. A line may hold one of these forms, with anything around it:
 *
 *     {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "A", "logprob": -0.1}, ...]}, ...]}}, ...]}
 *         a response of OpenAI's chat completions, and vLLM's: one member per choice
 *     {"choices": [{"logprobs": {"top_logprobs": [{"A": -0.1, ...}, ...]}}, ...]}
 *         the older completions API
 *     {"output": [{"content": [{"logprobs": [{"top_logprobs": [...]}, ...]}]}, ...]}
 *         a response of OpenAI's Responses API: one member
 *     {"response": {"body": RESPONSE}}
 *         a line of a batch's output
 *     {"responses": [RESPONSE, ...]}
 *         several responses, one per prompt: all their choices in order
 *     {"top_logprobs": [MEMBER, ...]}
 *         members alone: each a list of {"token", "logprob"}, or {"A": -0.1, ...}, or, as vLLM has it in Python,
 *         {"32": {"logprob": -0.1, "decoded_token": "A"}, ...} */
#ifndef VG_ANSWERS_H
#define VG_ANSWERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "formats/strings.h"
#include "vargate/status.h"

#define VG_ANSWERS_OTHER "(other)"

/* One listed token of a member. */
typedef struct vg_answer_mass {
    size_t row; /* sample x members + member */
    size_t code;
    double mass;
} vg_answer_mass;

typedef struct vg_answers {
    vg_strings tokens; /* the classes, without the last one */
    bool fixed;        /* the classes were given: others are not added */
    size_t members;    /* of the first line; 0: none was read */
    size_t rows;       /* members of all lines */
    vg_answer_mass *masses;
    size_t count, room;
} vg_answers;

/* Whether a line holds answers. */
bool vg_answers__has(const json_t *line);
/* Whether the key of an object may be that of answers. */
bool vg_answers__is_key(const char *key);
/* Names the classes: "A,B,C". */
vg_status vg_answers__fix(vg_answers *answers, const char *list);
/* Adds the members of a line. VG_ERR_DATA where the line cannot be used; `why` then says what is wrong with it. */
vg_status vg_answers__add(vg_answers *answers, const json_t *line, char why[160]);
/* The distributions, values[rows][tokens.count + 1]. */
void vg_answers__fill(const vg_answers *answers, double *values);
/* Removes the lines and, unless they are fixed, the classes. */
void vg_answers__clear(vg_answers *answers);
void vg_answers__free(vg_answers *answers);

#endif
