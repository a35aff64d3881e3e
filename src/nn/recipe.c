/* recipe.c - experiments as YAML: one mapping of known keys to values. The table `keys` is the whole schema:
 * reading, writing, --set and the list of known keys use it. */
#include "vargate/nn.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/base.h"
#include "base/c_locale.h"
#include "nn/recipe.h"
#include "nn/recipe_words.h"

typedef enum key_kind {
    TEXT,
    TEXTS,
    COUNT,
    REAL,
    REALS,
    SWITCH,
    TRISTATE,
    CHOICE,
    SEED,
    LIMIT_SEED,
    EVERY,
    SIZE,
    WEIGHTS
} key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    size_t offset, count_offset; /* of the value; of a list's length */
    const char *choices;         /* CHOICE: "a|b|c" */
    double low, high;
} key;

#define MOST_SECONDS 3.6e9 /* of checkpoint_every, in any unit: recipes are written in seconds and must be read again */
#define AT(field) offsetof(vg_recipe, field)
static const key keys[] = {
    {"name", TEXT, AT(name), 0, NULL, 0, 0},
    {"dataset", TEXT, AT(dataset), 0, NULL, 0, 0},
    {"ood", TEXTS, AT(ood), AT(ood_count), NULL, 0, 0},
    {"validation", REAL, AT(validation), 0, NULL, 0.001, 0.9},
    {"test", REAL, AT(test), 0, NULL, 0, 0.9},
    {"train_limit", COUNT, AT(train_limit), 0, NULL, 0, 1e9},
    {"test_limit", COUNT, AT(test_limit), 0, NULL, 0, 1e9},
    {"resize", SIZE, AT(resize), 0, NULL, 0, 4096},
    {"center_crop", SIZE, AT(center_crop), 0, NULL, 0, 4096},
    {"channels", CHOICE, AT(channels), 0, "auto|1|3", 0, 0},
    {"skip_corrupt", SWITCH, AT(skip_corrupt), 0, NULL, 0, 0},
    {"in_memory", TRISTATE, AT(in_memory), 0, NULL, 0, 0},
    {"crop", COUNT, AT(crop), 0, NULL, 0, 64},
    {"flip", REAL, AT(flip), 0, NULL, 0, 1},
    {"erase", REAL, AT(erase), 0, NULL, 0, 1},
    {"brightness", REAL, AT(brightness), 0, NULL, 0, 1},
    {"contrast", REAL, AT(contrast), 0, NULL, 0, 1},
    {"saturation", REAL, AT(saturation), 0, NULL, 0, 1},
    {"hue", REAL, AT(hue), 0, NULL, 0, 0.5},
    {"network", TEXT, AT(network), 0, NULL, 0, 0},
    {"ensemble", CHOICE, AT(ensemble), 0, "mcd|lle|mcd-lle|deep|deep-mcd|deep-lle|deep-mcd-lle", 0, 0},
    {"heads", COUNT, AT(heads), 0, NULL, 1, 100000},
    {"members", COUNT, AT(members), 0, NULL, 0, 100000},
    {"passes", COUNT, AT(passes), 0, NULL, 0, 100000},
    {"dropout", REAL, AT(dropout), 0, NULL, 0, 0.999},
    {"loss", CHOICE, AT(loss), 0, "mean|mixture|gated", 0, 0},
    {"head_features", REAL, AT(head_features), 0, NULL, 0, 1},
    {"head_prior", REAL, AT(head_prior), 0, NULL, 0, 1e6},
    {"head_bootstrap", SWITCH, AT(head_bootstrap), 0, NULL, 0, 0},
    {"head_init_scale", REAL, AT(head_init_scale), 0, NULL, 0, 1e6},
    {"head_anchor", REAL, AT(head_anchor), 0, NULL, 0, 1e6},
    {"init", CHOICE, AT(init), 0, "he|uniform", 0, 0},
    {"bn_refresh", TRISTATE, AT(bn_refresh), 0, NULL, 0, 0},
    {"batch", COUNT, AT(batch), 0, NULL, 1, 65536},
    {"epochs", COUNT, AT(epochs), 0, NULL, 1, 1e6},
    {"rate", REAL, AT(rate), 0, NULL, 0, 10},
    {"weight_decay", REAL, AT(weight_decay), 0, NULL, 0, 10},
    {"beta1", REAL, AT(beta1), 0, NULL, 0, 0.999999},
    {"beta2", REAL, AT(beta2), 0, NULL, 0, 0.99999999},
    {"epsilon", REAL, AT(epsilon), 0, NULL, 1e-30, 1},
    {"optimiser", CHOICE, AT(optimiser), 0, "adam|adamw|sgd", 0, 0},
    {"momentum", REAL, AT(momentum), 0, NULL, 0, 0.999999},
    {"nesterov", SWITCH, AT(nesterov), 0, NULL, 0, 0},
    {"clip_norm", REAL, AT(clip_norm), 0, NULL, 0, 1e9},
    {"ema", REAL, AT(ema), 0, NULL, 0, 0.99999999},
    {"label_smoothing", REAL, AT(label_smoothing), 0, NULL, 0, 0.999},
    {"class_weights", WEIGHTS, AT(class_weights), AT(class_weight_count), "none|balanced", 1e-6, 1e6},
    {"sampling", CHOICE, AT(sampling), 0, "shuffle|balanced", 0, 0},
    {"schedule", CHOICE, AT(schedule), 0, "constant|cosine|cyclic", 0, 0},
    {"compute", CHOICE, AT(bfloat16), 0, "float32|bfloat16|tf32", 0, 0},
    {"seed", SEED, AT(seed), 0, NULL, 0, 0},
    {"split_seed", SEED, AT(split_seed), 0, NULL, 0, 0},
    {"limit_seed", LIMIT_SEED, AT(limit_seed), 0, NULL, 0, 0},
    {"checkpoint", CHOICE, AT(checkpoint), 0, "last|best", 0, 0},
    {"best_by", CHOICE, AT(best_by), 0, "accuracy|loss", 0, 0},
    {"patience", COUNT, AT(patience), 0, NULL, 0, 1e6},
    {"min_delta", REAL, AT(min_delta), 0, NULL, 0, 1e6},
    {"snapshots", COUNT, AT(snapshots), 0, NULL, 0, 64},
    {"checkpoint_every", EVERY, AT(checkpoint_every), 0, NULL, 1, 1e6},
    {"monitor_passes", COUNT, AT(monitor_passes), 0, NULL, 1, 1000},
    {"collapse_fraction", REAL, AT(collapse_fraction), 0, NULL, 0, 1},
    {"collapse_epochs", COUNT, AT(collapse_epochs), 0, NULL, 1, 1e6},
    {"k", REALS, AT(k), AT(k_count), NULL, 1e-6, 1e6},
    {"calibrate", SWITCH, AT(calibrate), 0, NULL, 0, 0},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

void vg_recipe_defaults(vg_recipe *r) {
    if (!r)
        return;
    memset(r, 0, sizeof *r);
    strcpy(r->name, "unnamed");
    strcpy(r->dataset, "mnist");
    strcpy(r->network, "cnn");
    r->validation = 0.1;
    r->ensemble = VG_ENSEMBLE_LLE;
    r->heads = 100;
    r->dropout = 0.05;
    r->bn_refresh = r->in_memory = -1;
    r->batch = 128;
    r->epochs = 100;
    r->rate = 1e-5;
    r->beta1 = 0.9, r->beta2 = 0.999;
    r->epsilon = 1e-8;
    r->seed = r->split_seed = 1;
    r->limit_seed = VG_LIMIT_SEED_AS_SEED;
    r->checkpoint_every = 1;
    r->monitor_passes = 4;
    r->collapse_fraction = 0.05, r->collapse_epochs = 3;
    r->k_count = 3;
    for (int i = 0; i < 3; i++)
        r->k[i] = i + 1;
    r->calibrate = 1;
}

/* --- names */

static const key *find_key(const char *name) {
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static vg_status unknown_key(const char *where, const char *name) {
    const char *known[KEYS];
    char advice[VG_RECIPE__ADVICE];
    for (size_t i = 0; i < KEYS; i++)
        known[i] = keys[i].name;
    vg_recipe__advise(advice, name, known, KEYS);
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: unknown key '%.60s'%s", where, name, advice);
}

/* --- values */

static vg_status number_of(double *out, const char *where, const key *k, const char *text) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(value))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be a number, found '%.60s'", where, k->name, text);
    if (value < k->low || value > k->high)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must lie in %g .. %g, found %.60s", where, k->name, k->low,
                             k->high, text);
    *out = value;
    return VG_OK;
}

static vg_status choice_of(int *out, const char *where, const key *k, const char *choices, const char *text) {
    const char *at = choices;
    for (int i = 0; *at; i++) {
        size_t length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(at, text, length) == 0) {
            *out = i;
            return VG_OK;
        }
        at += length + (at[length] == '|');
    }
    return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be one of %s, found '%.60s'", where, k->name, choices, text);
}

/* Whether YAML can hold a text as it is: no control characters, line ends (U+0085, U+2028, U+2029), marks of byte order
 * or U+FFFE. Escapes in quotes could bring them in, and the recipe that is written again could then not be read. */
static bool plain_line(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool control = (*c < 0x20 && *c != '\t') || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
        bool line_end = c[0] == 0xe2 && c[1] == 0x80 && (c[2] & 0xfe) == 0xa8;
        bool mark = c[0] == 0xef && ((c[1] == 0xbb && c[2] == 0xbf) || (c[1] == 0xbf && (c[2] & 0xfe) == 0xbe));
        if (control || line_end || mark)
            return false;
    }
    return true;
}

static vg_status text_of(char *out, const char *where, const key *k, const char *text) {
    if (strlen(text) >= VG_RECIPE_TEXT || !plain_line(text))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: %s must be one line of at most %d characters, none of them a control character",
                             where, k->name, VG_RECIPE_TEXT - 1);
    strcpy(out, text);
    return VG_OK;
}

/* Epochs ("5") or a time with its unit ("90s", "10m", "2h"); the one that was not given is 0. */
static vg_status every_of(vg_recipe *r, const char *where, const key *k, const char *text) {
    size_t length = strlen(text);
    const char *unit = length > 1 ? strchr("smh", text[length - 1]) : NULL;
    char digits[32], *end;
    if (!unit) {
        double epochs = strtod(text, &end);
        if (end == text || *end || epochs != floor(epochs))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be whole epochs or a time such as 10m, found '%.60s'",
                                 where, k->name, text);
        VG_TRY(number_of(&epochs, where, k, text));
        r->checkpoint_every = (size_t)epochs;
        r->checkpoint_seconds = 0;
        return VG_OK;
    }
    snprintf(digits, sizeof digits, "%.*s", (int)(length - 1 < 30 ? length - 1 : 30), text);
    double value = strtod(digits, &end);
    value *= *unit == 's' ? 1 : *unit == 'm' ? 60 : 3600;
    if (end == digits || *end || !(value > 0 && value <= MOST_SECONDS))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be whole epochs or a time such as 10m, found '%.60s'", where,
                             k->name, text);
    r->checkpoint_every = 0;
    r->checkpoint_seconds = value;
    return VG_OK;
}

static vg_status seed_of(uint64_t *out, const char *where, const key *k, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end || errno || *text == '-')
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be a whole number, found '%.60s'", where, k->name, text);
    *out = value;
    return VG_OK;
}

/* "64", which is {64, 0}, or "HEIGHTxWIDTH"; "0": none. */
static vg_status size_of(size_t *out, const char *where, const key *k, const char *text) {
    size_t height = 0, width = 0;
    int end = 0, end_both = 0;
    int found = sscanf(text, "%5zu%nx%5zu%n", &height, &end, &width, &end_both);
    bool whole = found == 2 ? !text[end_both] : found == 1 && !text[end];
    if (!whole || height > k->high || width > k->high || *text < '0' || *text > '9' ||
        (found == 2 && (!height || !width)))
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "%s: %s must be pixels such as 64, or HEIGHTxWIDTH such as 48x64, of at most %g, found "
                             "'%.60s'",
                             where, k->name, k->high, text);
    out[0] = height;
    out[1] = found == 2 ? width : 0;
    return VG_OK;
}

/* A word, or one number of a list. */
static vg_status weights_of(vg_recipe *r, const char *where, const key *k, const char *text, size_t item) {
    int choice;
    char *end;
    strtod(text, &end);
    if (item == 0 && end == text) {
        if (choice_of(&choice, where, k, k->choices, text) != VG_OK)
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be none, balanced or a list of numbers, found '%.60s'",
                                 where, k->name, text);
        r->class_balance = choice;
        r->class_weight_count = 0;
        memset(r->class_weights, 0, sizeof r->class_weights);
        return VG_OK;
    }
    if (item == 0)
        memset(r->class_weights, 0, sizeof r->class_weights);
    VG_TRY(number_of(&r->class_weights[item], where, k, text));
    r->class_balance = 2;
    r->class_weight_count = item + 1;
    return VG_OK;
}

static bool is_list(const key *k) { return k->kind == TEXTS || k->kind == REALS || k->kind == WEIGHTS; }
static size_t most_items(const key *k) { return k->kind == WEIGHTS ? VG_RECIPE_WEIGHTS : VG_RECIPE_LIST; }

/* Stores one scalar; item: its position in a list. */
static vg_status put(vg_recipe *r, const char *where, const key *k, const char *text, size_t item) {
    void *place = (char *)r + k->offset;
    double number = 0;
    int choice = 0;
    if (item >= most_items(k))
        return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s takes at most %zu values", where, k->name, most_items(k));
    switch (k->kind) {
    case TEXT: return text_of(place, where, k, text);
    case TEXTS: return text_of((char *)place + item * VG_RECIPE_TEXT, where, k, text);
    case COUNT:
        VG_TRY(number_of(&number, where, k, text));
        if (number != floor(number))
            return vg_base__fail(VG_ERR_ARGUMENT, "%s: %s must be a whole number, found '%.60s'", where, k->name, text);
        *(size_t *)place = (size_t)number;
        return VG_OK;
    case EVERY: return every_of(r, where, k, text);
    case SIZE: return size_of(place, where, k, text);
    case WEIGHTS: return weights_of(r, where, k, text, item);
    case REAL: return number_of(place, where, k, text);
    case REALS: return number_of((double *)place + item, where, k, text);
    case SWITCH:
        VG_TRY(choice_of(&choice, where, k, "no|yes|false|true|off|on", text));
        *(int *)place = choice % 2;
        return VG_OK;
    case TRISTATE:
        if (strcmp(text, "auto") == 0) {
            *(int *)place = -1;
            return VG_OK;
        }
        VG_TRY(choice_of(&choice, where, k, "no|yes|false|true|off|on", text));
        *(int *)place = choice % 2;
        return VG_OK;
    case CHOICE:
        VG_TRY(choice_of(&choice, where, k, k->choices, text));
        if (k->offset == AT(ensemble))
            *(vg_ensemble *)place = (vg_ensemble)choice;
        else
            *(int *)place = choice;
        return VG_OK;
    case LIMIT_SEED:
        if (strcmp(text, "seed") == 0) {
            *(uint64_t *)place = VG_LIMIT_SEED_AS_SEED;
            return VG_OK;
        }
        return seed_of(place, where, k, text);
    case SEED: return seed_of(place, where, k, text);
    }
    return VG_OK;
}

/* --- YAML */

typedef struct reading {
    vg_recipe *recipe;
    const char *name;
    bool in_mapping, in_list;
    const key *current;
    bool seen[KEYS];
    size_t items;
} reading;

static void where_is(char out[256], const reading *state, const yaml_event_t *event) {
    snprintf(out, 256, "%.200s: line %zu", state->name, event->start_mark.line + 1);
}

static vg_status take_scalar(reading *state, const char *where, const char *text) {
    if (!state->in_mapping)
        return vg_base__fail(VG_ERR_FORMAT, "%s: expected 'key: value' lines", where);
    if (!state->current) {
        state->current = find_key(text);
        if (!state->current)
            return unknown_key(where, text);
        if (state->seen[state->current - keys])
            return vg_base__fail(VG_ERR_FORMAT, "%s: key '%s' is given twice", where, text);
        state->seen[state->current - keys] = true;
        state->items = 0;
        return VG_OK;
    }
    const key *k = state->current;
    VG_TRY(put(state->recipe, where, k, text, state->items));
    state->items++;
    if (is_list(k) && k->kind != WEIGHTS)
        *(size_t *)((char *)state->recipe + k->count_offset) = state->items;
    if (!state->in_list)
        state->current = NULL;
    return VG_OK;
}

static vg_status take_event(reading *state, const yaml_event_t *event) {
    char where[256];
    where_is(where, state, event);
    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
        if (state->in_mapping)
            return vg_base__fail(VG_ERR_FORMAT, "%s: a recipe is flat: a key's value cannot be a mapping", where);
        state->in_mapping = true;
        return VG_OK;
    case YAML_SEQUENCE_START_EVENT:
        if (!state->current || state->in_list || !is_list(state->current))
            return vg_base__fail(VG_ERR_FORMAT, "%s: no list is expected here", where);
        state->in_list = true;
        *(size_t *)((char *)state->recipe + state->current->count_offset) = 0;
        if (state->current->kind == WEIGHTS)
            state->recipe->class_balance = 2;
        return VG_OK;
    case YAML_SEQUENCE_END_EVENT:
        state->in_list = false;
        state->current = NULL;
        return VG_OK;
    case YAML_SCALAR_EVENT: return take_scalar(state, where, (const char *)event->data.scalar.value);
    case YAML_ALIAS_EVENT: return vg_base__fail(VG_ERR_FORMAT, "%s: aliases are not supported", where);
    default: return VG_OK;
    }
}

/* whole: the text is a recipe file. Where it names an ensemble whose networks have one head, `heads` becomes 1 even if
 * the file does not set it. */
static vg_status parse(vg_recipe *recipe, yaml_parser_t *parser, const char *name, bool whole) {
    reading state = {.recipe = recipe, .name = name};
    vg_status status = VG_OK;
    for (bool done = false; !done && status == VG_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event) && parser->error == YAML_MEMORY_ERROR)
            return vg_base__fail(VG_ERR_MEMORY, "%.200s: out of memory", name);
        if (parser->error != YAML_NO_ERROR)
            return vg_base__fail(VG_ERR_FORMAT, "%.200s: line %zu: not YAML: %s", name, parser->problem_mark.line + 1,
                                 parser->problem ? parser->problem : "unreadable");
        done = event.type == YAML_STREAM_END_EVENT;
        status = take_event(&state, &event);
        yaml_event_delete(&event);
    }
    if (status == VG_OK && !state.in_mapping)
        return vg_base__fail(VG_ERR_FORMAT, "%.200s: expected 'key: value' lines, found none", name);
    if (whole && vg_recipe__has_one_head(recipe) && !state.seen[find_key("heads") - keys])
        recipe->heads = 1;
    return status;
}

vg_status vg_recipe__read(vg_recipe *recipe, const char *path) {
    yaml_parser_t parser;
    vg_recipe_defaults(recipe);
    FILE *file = fopen(path, "rb");
    if (!file)
        return vg_base__fail(VG_ERR_IO, "%s: %s", path, strerror(errno));
    if (!yaml_parser_initialize(&parser)) {
        fclose(file);
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the YAML parser");
    }
    yaml_parser_set_input_file(&parser, file);
    vg_status status = parse(recipe, &parser, path, true);
    yaml_parser_delete(&parser);
    fclose(file);
    return status == VG_OK ? vg_recipe__check(recipe) : status;
}

vg_status vg_recipe__parse(vg_recipe *recipe, const char *text, size_t size, const char *name) {
    yaml_parser_t parser;
    vg_recipe_defaults(recipe);
    if (!yaml_parser_initialize(&parser))
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    vg_status status = parse(recipe, &parser, name, true);
    yaml_parser_delete(&parser);
    return status == VG_OK ? vg_recipe__check(recipe) : status;
}

vg_status vg_recipe_set(vg_recipe *recipe, const char *assignment) {
    VG_TRY(vg_base__given(recipe && assignment, "vg_recipe_set: recipe and assignment"));
    VG_IN_C_LOCALE;
    const char *equals = strchr(assignment, '=');
    yaml_parser_t parser;
    char *line;
    if (!equals || equals == assignment)
        return vg_base__fail(VG_ERR_ARGUMENT, "'%.100s' is not key=value", assignment);
    size_t room = strlen(assignment) + 3, length = (size_t)(equals - assignment);
    VG_TRY(vg_base__alloc(&line, room, 1, "assignment"));
    snprintf(line, room, "%.*s: %s", (int)length, assignment, equals + 1);
    vg_status status = VG_ERR_MEMORY;
    if (yaml_parser_initialize(&parser)) {
        yaml_parser_set_input_string(&parser, (const unsigned char *)line, strlen(line));
        status = parse(recipe, &parser, assignment, false);
        yaml_parser_delete(&parser);
    } else {
        vg_base__fail(VG_ERR_MEMORY, "out of memory for the YAML parser");
    }
    vg_base__release(line);
    return status;
}

/* --- writing */

typedef struct buffer {
    char *text;
    size_t length, room;
} buffer;

VG_PRINTF(2, 3) static void say(buffer *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(b->text + b->length, b->room - b->length, format, arguments);
    va_end(arguments);
    b->length += length > 0 ? (size_t)length : 0;
    if (b->length >= b->room)
        b->length = b->room - 1;
}

/* Writes a text, quoted where YAML could read it as something else. */
static void say_text(buffer *b, const char *text) {
    bool plain = *text != 0;
    for (const char *c = text; *c; c++)
        plain = plain && (strchr("-_./+", *c) || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                          (*c >= 'A' && *c <= 'Z'));
    if (plain && text[0] != '-') {
        say(b, "%s", text);
        return;
    }
    say(b, "'");
    for (const char *c = text; *c; c++)
        say(b, *c == '\'' ? "''" : "%c", *c);
    say(b, "'");
}

static void say_choice(buffer *b, const char *choices, int index) {
    while (index-- > 0)
        choices += strcspn(choices, "|") + 1;
    say(b, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* Writes a number with the fewest digits that read back as the same number. */
static void say_real(buffer *b, double value) {
    char text[40];
    for (int digits = 6; digits <= 17; digits++) { /* six: 600, not 6e+02 */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    say(b, "%s", text);
}

static void say_weights(buffer *b, const vg_recipe *r) {
    if (r->class_balance < 2) {
        say(b, "%s", r->class_balance ? "balanced" : "none");
        return;
    }
    for (size_t i = 0; i < r->class_weight_count; i++) {
        say(b, "%s", i ? ", " : "[");
        say_real(b, r->class_weights[i]);
    }
    say(b, "]");
}

static void say_value(buffer *b, const vg_recipe *r, const key *k) {
    const void *place = (const char *)r + k->offset;
    size_t count = k->kind == TEXTS || k->kind == REALS ? *(const size_t *)((const char *)r + k->count_offset) : 0;
    switch (k->kind) {
    case TEXT: say_text(b, place); break;
    case COUNT: say(b, "%zu", *(const size_t *)place); break;
    case EVERY:
        if (r->checkpoint_seconds > 0) {
            say_real(b, r->checkpoint_seconds);
            say(b, "s");
        } else {
            say(b, "%zu", r->checkpoint_every);
        }
        break;
    case SIZE:
        say(b, "%zu", ((const size_t *)place)[0]);
        if (((const size_t *)place)[1])
            say(b, "x%zu", ((const size_t *)place)[1]);
        break;
    case WEIGHTS: say_weights(b, r); break;
    case REAL: say_real(b, *(const double *)place); break;
    case SWITCH: say(b, "%s", *(const int *)place ? "yes" : "no"); break;
    case TRISTATE: say(b, "%s", *(const int *)place < 0 ? "auto" : *(const int *)place ? "yes" : "no"); break;
    case CHOICE:
        say_choice(b, k->choices, k->offset == AT(ensemble) ? (int)*(const vg_ensemble *)place : *(const int *)place);
        break;
    case LIMIT_SEED:
        if (*(const uint64_t *)place == VG_LIMIT_SEED_AS_SEED) {
            say(b, "seed");
            break;
        }
        say(b, "%llu", (unsigned long long)*(const uint64_t *)place);
        break;
    case SEED: say(b, "%llu", (unsigned long long)*(const uint64_t *)place); break;
    case TEXTS:
    case REALS:
        say(b, "[");
        for (size_t i = 0; i < count; i++) {
            say(b, "%s", i ? ", " : "");
            if (k->kind == TEXTS)
                say_text(b, (const char *)place + i * VG_RECIPE_TEXT);
            else
                say_real(b, ((const double *)place)[i]);
        }
        say(b, "]");
    }
}

vg_status vg_recipe_text(char **out, const vg_recipe *recipe) {
    VG_TRY(vg_base__given(out && recipe, "vg_recipe_text: out and recipe"));
    VG_IN_C_LOCALE;
    buffer b = {NULL, 0, 16384};
    *out = NULL;
    VG_TRY(vg_base__alloc(&b.text, b.room, 1, "recipe"));
    b.text[0] = 0;
    for (size_t i = 0; i < KEYS; i++) {
        say(&b, "%s: ", keys[i].name);
        say_value(&b, recipe, &keys[i]);
        say(&b, "\n");
    }
    *out = b.text;
    return VG_OK;
}
