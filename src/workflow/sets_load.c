/* sets_load.c - vg_sets from a file of thresholds, and the public functions of sets.h.
 *
 * The file determines the meaning of the thresholds: score, cells, gate, conventions, members, classes, temperature.
 * Options that would change it are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/json_text.h"
#include "calibrate/calibration.h"
#include "vargate/temperatures.h"
#include "workflow/decide_json.h"
#include "workflow/json_build.h"
#include "workflow/prediction_input.h"
#include "workflow/prediction_set_text.h"

static vg_status missing(const char *path, const char *key) {
    return vg_base__fail(VG_ERR_DATA, "%s: '%s' is missing, or its type or value is wrong", path, key);
}

static vg_status read_word(int *out, const json_t *root, const char *key, const char *(*word)(size_t),
                           const char *path) {
    const char *text = json_string_value(json_object_get(root, key));
    size_t i = 0;
    while (text && word(i) && strcmp(word(i), text) != 0)
        i++;
    if (!text || !word(i))
        return missing(path, key);
    *out = (int)i;
    return VG_OK;
}

static double number(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The value of an alpha, or else the one that all share. */
static double number_at(const json_t *root, size_t alpha, const char *key) {
    double own = number(json_array_get(json_object_get(root, "thresholds"), alpha), key);
    return isnan(own) ? number(root, key) : own;
}

static size_t count(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    return json_is_integer(value) && json_integer_value(value) > 0 ? (size_t)json_integer_value(value) : 0;
}

static vg_status read_settings(vg_sets_options *o, double alphas[VG_SETS_ALPHAS], const json_t *root,
                               const char *path) {
    const json_t *list = json_object_get(root, "thresholds");
    int score, by;
    VG_TRY(read_word(&score, root, "score", vg_sets__score_word, path));
    VG_TRY(read_word(&by, root, "by", vg_sets__by_word, path));
    o->score = (vg_set_score)score;
    o->by = (vg_set_by)by;
    o->gate = number(root, "gated");
    o->lambda = number_at(root, 0, "lambda");
    o->k_reg = number_at(root, 0, "k_reg");
    o->randomise = json_is_true(json_object_get(root, "randomised"));
    o->never_empty = o->never_empty || json_is_true(json_object_get(root, "never_empty"));
    o->seed = count(root, "seed");
    o->confidence = number(root, "confidence");
    o->p_values = 0;
    o->alpha_count = json_array_size(list);
    if (o->alpha_count == 0 || o->alpha_count > VG_SETS_ALPHAS)
        return missing(path, "thresholds");
    for (size_t a = 0; a < o->alpha_count; a++)
        alphas[a] = number(json_array_get(list, a), "alpha");
    o->alphas = alphas;
    return VG_OK;
}

/* The first option that asks for something else than the file holds; NULL: none. An option that has its default is
 * not seen here: the file decides. */
static const char *differing_option(const vg_sets_options *asked, const vg_sets_options *file) {
    static const vg_sets_options none = VG_SETS_OPTIONS_INIT;
    size_t count = asked->alphas ? asked->alpha_count : 0;
    bool alphas = count == 0 || count == file->alpha_count;
    for (size_t a = 0; alphas && a < count; a++)
        alphas = !(asked->alphas[a] < file->alphas[a] || asked->alphas[a] > file->alphas[a]);
    const struct {
        const char *name;
        double asked, file, usual;
    } options[] = {{"alpha", alphas, 1, 1},
                   {"score", asked->score, file->score, none.score},
                   {"by", asked->by, file->by, none.by},
                   {"gated", asked->gate, file->gate, NAN},
                   {"lambda", asked->lambda, file->lambda, NAN},
                   {"k-reg", asked->k_reg, file->k_reg, NAN},
                   {"randomise", asked->randomise, file->randomise, none.randomise},
                   {"confidence", asked->confidence, file->confidence, none.confidence},
                   {"seed", (double)asked->seed, (double)file->seed, (double)none.seed}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        double found = options[i].asked, usual = options[i].usual;
        bool given = isnan(usual) ? !isnan(found) : found < usual || found > usual;
        if (given && !(found >= options[i].file && found <= options[i].file))
            return options[i].name;
    }
    return NULL;
}

/* A list of positive numbers; *out is NULL where there is none. */
static vg_status read_numbers(double **out, size_t *given, const json_t *root, const char *key, const char *path) {
    const json_t *list = json_object_get(root, key);
    *given = json_array_size(list);
    if (*given == 0)
        return VG_OK;
    VG_TRY(vg_base__alloc(out, *given, sizeof **out, key));
    for (size_t i = 0; i < *given; i++) {
        (*out)[i] = json_number_value(json_array_get(list, i));
        if (!((*out)[i] > 0 && isfinite((*out)[i])))
            return missing(path, key);
    }
    return VG_OK;
}

/* Takes the file's conventions instead of the caller's, which may not differ; its temperature and its k for every
 * class go to numbers[0] and [1], owned by the caller. */
static vg_status read_scoring(vg_score_options *out, double *numbers[2], const vg_sets_options *o, const json_t *root,
                              const char *path) {
    vg_score_options own = VG_SCORE_OPTIONS_INIT, defaults = VG_SCORE_OPTIONS_INIT;
    if (o->scoring)
        VG_TRY(vg_base__take_options(&own, o->scoring, &defaults, sizeof own, "vg_score_options"));
    VG_TRY(vg_conventions__read(out, json_object_get(root, "conventions"), path));
    const char *other = vg_conventions__differ(&own, out);
    if (other)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s was calibrated under another '%s' than is asked for: leave it out",
                             path, other);
    if (own.temperature || own.class_k)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s has its own %s: no other goes with it", path,
                             own.temperature ? "temperature, or none" : "k for every class, or none");
    VG_TRY(read_numbers(&numbers[0], &out->temperature_count, root, "temperature", path));
    VG_TRY(read_numbers(&numbers[1], &out->class_k_count, root, "class_k", path));
    out->temperature = numbers[0];
    out->class_k = numbers[1];
    out->threads = own.threads;
    out->logits = own.logits || numbers[0]; /* a temperature implies logits; what the input holds is known later */
    return VG_OK;
}

static vg_status read_cells(vg_sets_data *s, const json_t *list, const char *path) {
    size_t cells = json_array_size(json_object_get(json_array_get(list, 0), "cells"));
    if (cells == 0 || (s->shown.by == VG_SETS_BY_NONE && cells != 1) ||
        ((s->shown.by == VG_SETS_BY_CLASS || s->shown.by == VG_SETS_BY_TOP) && cells != s->shown.classes))
        return missing(path, "cells");
    VG_TRY(vg_sets__make_cells(s, cells));
    for (size_t a = 0; a < s->shown.alpha_count; a++) {
        const json_t *from = json_object_get(json_array_get(list, a), "cells");
        if (json_array_size(from) != cells)
            return missing(path, "cells");
        for (size_t i = 0; i < cells; i++) {
            const json_t *one = json_array_get(from, i);
            const json_t *threshold = json_object_get(one, "threshold");
            if (!json_is_null(threshold) && !json_is_number(threshold))
                return missing(path, "threshold");
            s->thresholds[a * cells + i] = json_is_null(threshold) ? INFINITY : json_number_value(threshold);
            s->cell_samples[i] = count(one, "samples");
            const char *name = json_string_value(json_object_get(one, "cell"));
            uint32_t group;
            if (s->shown.by != VG_SETS_BY_GROUP)
                continue;
            if (!name)
                return missing(path, "cell");
            VG_TRY(vg_set_groups__find(&group, &s->groups, name, a == 0));
            if (group != i)
                return missing(path, "cell");
        }
    }
    return vg_sets__ready(s);
}

/* Expects probabilities, which the map makes, to be scored. */
static void expect_mapped(vg_sets_data *s) {
    s->map_logits = s->scoring.logits;
    s->scoring.logits = 0;
}

static vg_status read_rest(vg_sets_data *s, const json_t *root, const char *path) {
    const json_t *names = json_object_get(root, "class_names");
    s->shown.members = count(root, "members");
    s->shown.classes = s->rule.classes = count(root, "classes");
    s->shown.calibrated = count(root, "calibrated");
    s->shown.tuned = count(root, "tuned");
    s->shown.by_image = json_object_get(root, "unit") != NULL;
    s->loaded = true;
    VG_TRY(vg_base__strdup(&s->origin, path));
    if (!s->shown.members || !s->shown.classes)
        return missing(path, s->shown.members ? "classes" : "members");
    for (size_t a = 0; a < s->shown.alpha_count; a++) {
        s->lambdas[a] = number_at(root, a, "lambda");
        s->k_regs[a] = number_at(root, a, "k_reg");
        s->needs_tuning = s->needs_tuning || isnan(s->lambdas[a]) != isnan(s->lambdas[0]) ||
                          isnan(s->k_regs[a]) != isnan(s->k_regs[0]);
    }
    if (s->needs_tuning)
        return missing(path, "lambda");
    const json_t *tuned = json_object_get(root, "tuned_parameters");
    for (size_t i = 0; i < json_array_size(tuned); i++) {
        const char *word = json_string_value(json_array_get(tuned, i));
        s->tunes_lambda = s->tunes_lambda || (word && strcmp(word, "lambda") == 0);
        s->tunes_k_reg = s->tunes_k_reg || (word && strcmp(word, "k_reg") == 0);
    }
    VG_TRY(read_cells(s, json_object_get(root, "thresholds"), path));
    const json_t *map = json_object_get(root, "calibration_map");
    if (json_is_object(map))
        VG_TRY(vg_json__text(&s->map, json_deep_copy(map)));
    if (s->map)
        expect_mapped(s);
    if (!names)
        return VG_OK;
    if (json_array_size(names) != s->shown.classes)
        return missing(path, "class_names");
    VG_TRY(vg_base__zalloc(&s->class_names, s->shown.classes, sizeof *s->class_names, "names of the classes"));
    for (size_t c = 0; c < s->shown.classes; c++) {
        const char *name = json_string_value(json_array_get(names, c));
        if (!name)
            return missing(path, "class_names");
        VG_TRY(vg_base__strdup(&s->class_names[c], name));
    }
    s->shown.class_names = (const char *const *)s->class_names;
    return VG_OK;
}

static vg_status load(vg_sets_data **out, const vg_sets_options *given, json_t *root) {
    const char *path = given->thresholds, *command = json_string_value(json_object_get(root, "command"));
    const char *schema = json_string_value(json_object_get(root, "schema"));
    vg_sets_options o = *given;
    vg_score_options scoring;
    double alphas[VG_SETS_ALPHAS], *numbers[2] = {NULL, NULL};
    if (!command || strcmp(command, "thresholds") != 0)
        return vg_base__fail(VG_ERR_DATA, "%s: no file of thresholds; 'vargate sets --save' writes one", path);
    if (!schema || strcmp(schema, VG_JSON_SCHEMA) != 0)
        return vg_base__fail(VG_ERR_DATA, "%s: thresholds of schema %s; this vargate reads %s", path,
                             schema ? schema : "?", VG_JSON_SCHEMA);
    VG_TRY(read_settings(&o, alphas, root, path));
    const char *other = differing_option(given, &o);
    if (other)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s was calibrated with another --%s than is asked for: leave it out",
                             path, other);
    vg_status status = read_scoring(&scoring, numbers, given, root, path);
    o.scoring = &scoring;
    if (status == VG_OK)
        status = vg_sets__new(out, &o);
    vg_base__release(numbers[0]);
    vg_base__release(numbers[1]);
    return status == VG_OK ? read_rest(*out, root, path) : status;
}

vg_status vg_sets__load(vg_sets_data **out, const vg_sets_options *options) {
    json_t *root;
    *out = NULL;
    VG_TRY(vg_base__json_load_file(&root, options->thresholds, 0));
    vg_status status = load(out, options, root);
    json_decref(root);
    if (status != VG_OK) {
        vg_sets__free(*out);
        *out = NULL;
    }
    return status;
}

static vg_status take_map(vg_sets_data *s, const char *source) {
    vg_calibration_map *map;
    if (s->loaded)
        return vg_base__fail(VG_ERR_ARGUMENT, "%s has its own calibration map, or none: no other goes with it",
                             s->origin);
    VG_TRY(vg_calibration_map_load(&map, source));
    vg_status status = vg_calibration_map__text(&s->map, map);
    vg_free(map);
    expect_mapped(s);
    return status;
}

/* --- the public object -------------------------------------------------------------------------------------------- */
vg_status vg_sets_new(vg_sets **out, const vg_sets_options *options) {
    VG_TRY(vg_base__given(out != NULL, "vg_sets_new: out"));
    VG_IN_C_LOCALE;
    static const vg_sets_options defaults = VG_SETS_OPTIONS_INIT;
    vg_sets_options o;
    vg_sets_data *s;
    *out = NULL;
    VG_TRY(vg_base__take_options(&o, options ? options : &defaults, &defaults, sizeof o, "vg_sets_options"));
    VG_TRY(o.thresholds ? vg_sets__load(&s, &o) : vg_sets__new(&s, &o));
    vg_status status = o.calibration_map ? take_map(s, o.calibration_map) : VG_OK;
    if (status == VG_OK)
        *out = &s->shown;
    else
        vg_sets__free(s);
    return status;
}

void vg_sets_free(vg_sets *sets) { vg_sets__free(vg_sets__data(sets)); }

/* Feeds a block of the caller through the map of a file of thresholds. */
static vg_status feed_mapped(vg_sets_data *s, const vg_set_places *out, const vg_predictions *block,
                             const int64_t *labels, const char *const *groups) {
    vg_calibrator *calibrator;
    vg_predictions view = *block;
    VG_TRY(vg_calibrator__read(&calibrator, s->map));
    calibrator->logits = s->map_logits;
    calibrator->threads = s->scoring.threads;
    vg_status status = vg_calibrator__map(calibrator, &view);
    if (status == VG_OK)
        status = vg_sets__feed(s, out, &view, labels, groups);
    vg_calibrator__free(calibrator);
    return status;
}

static vg_status sets_feed_alone(vg_sets *sets, const vg_set_places *out, const vg_predictions *block,
                                 const int64_t *labels, const char *const *groups) {
    static const vg_set_places none = VG_SET_PLACES_INIT;
    vg_set_places places;
    if (out)
        VG_TRY(vg_base__take_options(&places, out, &none, sizeof places, "vg_set_places"));
    vg_sets_data *s = vg_sets__data(sets);
    VG_TRY(s->map && block ? feed_mapped(s, out ? &places : NULL, block, labels, groups)
                           : vg_sets__feed(s, out ? &places : NULL, block, labels, groups));
    vg_sets__figure(vg_sets__data(sets));
    return VG_OK;
}

vg_status vg_sets_feed(vg_sets *sets, const vg_set_places *out, const vg_predictions *block, const int64_t *labels,
                       const char *const *groups) {
    VG_IN_C_LOCALE;
    vg_status status;
    if (!sets)
        return vg_base__fail(VG_ERR_ARGUMENT, "vg_sets_feed: sets must not be NULL");
    VG_ALONE(status, &vg_sets__data(sets)->busy, "the prediction sets",
             sets_feed_alone(sets, out, block, labels, groups));
    return status;
}
