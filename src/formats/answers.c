/* answers.c - log-probabilities of answer tokens as distributions. See answers.h. */
#include "formats/answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/json_text.h"

/* What a line of a batch's output holds is the response inside it. */
static const json_t *answered(const json_t *line) {
    const json_t *body = json_object_get(json_object_get(line, "response"), "body");
    return json_is_object(body) ? body : line;
}

/* The messages of OpenAI's Responses API. */
static bool has_output(const json_t *response) {
    const json_t *output = json_object_get(response, "output");
    for (size_t i = 0; i < json_array_size(output); i++)
        if (json_is_array(json_object_get(json_array_get(output, i), "content")))
            return true;
    return false;
}

bool vg_answers__has(const json_t *line) {
    const json_t *answer = answered(line);
    return json_object_get(answer, "choices") || json_object_get(answer, "responses") ||
           json_object_get(answer, "top_logprobs") || has_output(answer);
}

bool vg_answers__is_key(const char *key) {
    static const char *const keys[] = {"choices", "responses", "top_logprobs", "output", "response"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

vg_status vg_answers__fix(vg_answers *a, const char *list) {
    for (const char *p = list; *p;) {
        size_t length = strcspn(p, ","), index;
        VG_TRY(vg_strings__intern(&a->tokens, p, length, &index));
        if (index + 1 != a->tokens.count)
            return vg_base__fail(VG_ERR_ARGUMENT, "--classes: '%.*s' is named twice", (int)length, p);
        p += length + (p[length] == ',');
    }
    a->fixed = true;
    return VG_OK;
}

static vg_status refuse(char why[160], const char *text) {
    snprintf(why, 160, "%s", text);
    return vg_base__fail(VG_ERR_DATA, "%s", text);
}

/* --- one token ---------------------------------------------------------------------------------------------------- */
static vg_status push(vg_answers *a, size_t code, double mass) {
    if (a->count == a->room) {
        size_t room = 2 * a->room + 64;
        vg_answer_mass *more = realloc(a->masses, room * sizeof *more);
        if (!more)
            return vg_base__fail(VG_ERR_MEMORY, "out of memory for the answers");
        a->masses = more, a->room = room;
    }
    a->masses[a->count++] = (vg_answer_mass){a->rows, code, mass};
    return VG_OK;
}

/* A log-probability above 0 by rounding counts as 0; servers write -9999 or null for -inf. */
static vg_status add_token(vg_answers *a, const char *token, const json_t *logprob, char why[160]) {
    size_t length = token ? strlen(token) : 0, code;
    bool found = true;
    if (!token || !(json_is_number(logprob) || json_is_null(logprob)))
        return refuse(why, "a listed token has no text or no number \"logprob\"");
    double value = json_is_null(logprob) ? -INFINITY : vg_base__json_number(logprob);
    if (isnan(value) || value > 1e-3)
        return refuse(why, "a \"logprob\" is above 0: it is not a log-probability");
    while (length > 0 && strchr(" \t\r\n", token[length - 1]))
        length--;
    while (length > 0 && strchr(" \t\r\n", *token))
        token++, length--;
    if (length == 0)
        return VG_OK; /* a token of spaces is not an answer: its mass goes to "other" */
    if (a->fixed)
        VG_TRY(vg_strings__find(&a->tokens, token, length, &code, &found));
    else
        VG_TRY(vg_strings__intern(&a->tokens, token, length, &code));
    return found ? push(a, code, exp(fmin(value, 0))) : VG_OK;
}

/* --- one member --------------------------------------------------------------------------------------------------- */
static vg_status add_list(vg_answers *a, const json_t *list, char why[160]) {
    size_t i;
    const json_t *entry;
    json_array_foreach((json_t *)list, i, entry) {
        const char *token = json_string_value(json_object_get(entry, "token"));
        VG_TRY(add_token(a, token, json_object_get(entry, "logprob"), why));
    }
    return VG_OK;
}

static vg_status add_map(vg_answers *a, json_t *map, char why[160]) {
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value) {
        const json_t *decoded = json_object_get(value, "decoded_token");
        const json_t *number = json_is_object(value) ? json_object_get(value, "logprob") : value;
        VG_TRY(add_token(a, decoded ? json_string_value(decoded) : key, number, why));
    }
    return VG_OK;
}

static vg_status add_member(vg_answers *a, json_t *tokens, char why[160]) {
    size_t before = a->count;
    if (json_is_array(tokens) && json_array_size(tokens) > 0)
        VG_TRY(add_list(a, tokens, why));
    else if (json_is_object(tokens) && json_object_size(tokens) > 0)
        VG_TRY(add_map(a, tokens, why));
    else
        return refuse(why, "a member lists no tokens: ask the server for top_logprobs");
    double sum = 0;
    for (size_t i = before; i < a->count; i++)
        sum += a->masses[i].mass;
    if (sum > 1.01)
        return refuse(why, "the probabilities of a member's tokens sum to more than 1");
    for (size_t i = before; sum > 1 && i < a->count; i++)
        a->masses[i].mass /= sum;
    a->rows++;
    return VG_OK;
}

/* The first token of an answer, in "logprobs" of a choice: of chat completions, else of the older completions API. */
static json_t *first_tokens(const json_t *choice) {
    json_t *logprobs = json_object_get(choice, "logprobs"), *content = json_object_get(logprobs, "content");
    if (content)
        return json_object_get(json_array_get(content, 0), "top_logprobs");
    return json_array_get(json_object_get(logprobs, "top_logprobs"), 0);
}

/* The answer of a response of the Responses API: the first token of its first message. */
static vg_status add_output(vg_answers *a, const json_t *response, char why[160]) {
    const json_t *output = json_object_get(response, "output"), *content = NULL;
    for (size_t i = 0; i < json_array_size(output) && !json_is_array(content); i++)
        content = json_object_get(json_array_get(output, i), "content");
    const json_t *tokens = json_object_get(json_array_get(content, 0), "logprobs");
    return add_member(a, json_object_get(json_array_get(tokens, 0), "top_logprobs"), why);
}

static vg_status add_choices(vg_answers *a, const json_t *response, char why[160]) {
    const json_t *choices = json_object_get(response, "choices");
    if (!choices && has_output(response))
        return add_output(a, response, why);
    if (!json_is_array(choices) || json_array_size(choices) == 0)
        return refuse(why, "a response has no list of \"choices\", and no \"output\" with a message");
    for (size_t i = 0; i < json_array_size(choices); i++)
        VG_TRY(add_member(a, first_tokens(json_array_get(choices, i)), why));
    return VG_OK;
}

vg_status vg_answers__add(vg_answers *a, const json_t *line, char why[160]) {
    const json_t *answer = answered(line), *members = json_object_get(answer, "top_logprobs");
    const json_t *responses = json_object_get(answer, "responses");
    size_t before = a->rows;
    if (json_object_get(answer, "choices") || has_output(answer))
        VG_TRY(add_choices(a, answer, why));
    else if (responses && !json_is_array(responses))
        return refuse(why, "\"responses\" is not a list");
    else if (members && !json_is_array(members))
        return refuse(why, "\"top_logprobs\" is not a list of members");
    for (size_t i = 0; i < json_array_size(responses); i++)
        VG_TRY(add_choices(a, answered(json_array_get(responses, i)), why));
    for (size_t i = 0; !responses && i < json_array_size(members); i++)
        VG_TRY(add_member(a, json_array_get(members, i), why));
    size_t added = a->rows - before;
    if (added == 0)
        return refuse(why, "holds no answers");
    if (before > 0 && added != a->members) {
        snprintf(why, 160, "%zu answers, the first line has %zu: every line needs as many", added, a->members);
        return vg_base__fail(VG_ERR_DATA, "%s", why);
    }
    a->members = added;
    return VG_OK;
}

/* --- values ------------------------------------------------------------------------------------------------------- */
void vg_answers__fill(const vg_answers *a, double *values) {
    size_t c = a->tokens.count + 1;
    memset(values, 0, a->rows * c * sizeof *values);
    for (size_t i = 0; i < a->count; i++)
        values[a->masses[i].row * c + a->masses[i].code] += a->masses[i].mass;
    for (size_t row = 0; row < a->rows; row++) {
        double *own = values + row * c, rest = 1;
        for (size_t j = 0; j + 1 < c; j++)
            rest -= own[j];
        own[c - 1] = rest > 0 ? rest : 0;
    }
}

void vg_answers__clear(vg_answers *a) {
    a->members = a->rows = a->count = 0;
    if (!a->fixed)
        vg_strings__free(&a->tokens);
}

void vg_answers__free(vg_answers *a) {
    vg_strings__free(&a->tokens);
    free(a->masses);
    *a = (vg_answers){.members = 0};
}
