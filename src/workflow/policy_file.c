/* policy_file.c - a policy as a JSON file, so that it can be applied to files and streams later.
 *
 *     schema "vargate/1", command "policy", version   the format's number, and the program that wrote it
 *     by, k | threshold, keep                         what decides: the rule, or a measure kept "below" or "above"
 *     task, members, classes, class_names             what it was chosen for: other predictions are refused
 *     class_k                                         a k for every class, of which `k` is a multiple; absent: none
 *     temperature                                     numbers that logits are divided by first; absent: none
 *     calibration_map                                 the map that predictions go through first; absent: none
 *     conventions                                     the switches of the measures (docs/measures.md)
 *     calibration                                     how it was chosen, as in `vargate decide --json`
 *     sentence                                        a description for readers
 * Numbers have 17 significant digits, so that the file decides as the choice did. docs/schema/policy.schema.json. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "calibrate/calibration.h"
#include "formats/arrays.h"
#include "formats/text_file.h"
#include "workflow/decide.h"
#include "workflow/decide_json.h"
#include "workflow/json_build.h"

/* --- conventions -------------------------------------------------------------------------------------------------- */
/* The switches by name; words by value, NULL: a number or true/false. */
typedef struct convention {
    const char *name;
    enum { CONVENTION_WORD, CONVENTION_FLAG, CONVENTION_REAL } kind;
    size_t offset;
    const char *words[4];
} convention;
#define AT(member) offsetof(vg_score_options, member)
static const convention conventions[] = {
    {"task", CONVENTION_WORD, AT(task), {"multiclass", "multilabel", "multilabel-literal"}},
    {"renormalise", CONVENTION_FLAG, AT(renormalise), {NULL}},
    {"pairs", CONVENTION_WORD, AT(pairs), {"all", "distinct"}},
    {"sigma_gate", CONVENTION_WORD, AT(sigma_gate), {"population", "sample"}},
    {"sigma_margin", CONVENTION_WORD, AT(sigma_margin), {"population", "sample"}},
    {"log_base", CONVENTION_WORD, AT(log_base), {"e", "2"}},
    {"normalise", CONVENTION_FLAG, AT(normalise), {NULL}},
    {"floor_form", CONVENTION_WORD, AT(floor_form), {"max", "clamp", "add"}},
    {"floor", CONVENTION_REAL, AT(floor), {NULL}},
    {"gate_eps", CONVENTION_WORD, AT(gate_eps_form), {"outside", "inside"}},
    {"margin_eps", CONVENTION_WORD, AT(margin_eps_form), {"once", "twice"}},
    {"eps", CONVENTION_REAL, AT(eps), {NULL}},
};
enum { CONVENTIONS = sizeof conventions / sizeof *conventions };

static int *int_at(vg_score_options *options, const convention *c) {
    return (int *)(void *)((char *)options + c->offset);
}
static double *real_at(vg_score_options *options, const convention *c) {
    return (double *)(void *)((char *)options + c->offset);
}

static bool is_same(const vg_score_options *a, const vg_score_options *b, const convention *c) {
    return memcmp((const char *)a + c->offset, (const char *)b + c->offset,
                  c->kind == CONVENTION_REAL ? sizeof(double) : sizeof(int)) == 0;
}

json_t *vg_conventions__json(const vg_score_options *options) {
    json_t *out = json_object();
    vg_score_options own = *options;
    for (size_t i = 0; i < CONVENTIONS; i++) {
        const convention *c = &conventions[i];
        if (c->kind == CONVENTION_REAL)
            vg_json__put_number(out, c->name, *real_at(&own, c));
        else if (c->kind == CONVENTION_FLAG)
            vg_json__put(out, c->name, json_boolean(*int_at(&own, c)));
        else
            vg_json__put_text(out, c->name, c->words[*int_at(&own, c)]);
    }
    return out;
}

vg_status vg_conventions__read(vg_score_options *out, const json_t *from, const char *path) {
    *out = (vg_score_options)VG_SCORE_OPTIONS_INIT;
    for (size_t i = 0; i < CONVENTIONS; i++) {
        const convention *c = &conventions[i];
        const json_t *value = json_object_get(from, c->name);
        int word = 0;
        if (c->kind == CONVENTION_REAL && json_is_number(value)) {
            *real_at(out, c) = json_number_value(value);
        } else if (c->kind == CONVENTION_FLAG && json_is_boolean(value)) {
            *int_at(out, c) = json_is_true(value);
        } else if (c->kind == CONVENTION_WORD && json_is_string(value)) {
            while (word < 4 && c->words[word] && strcmp(c->words[word], json_string_value(value)) != 0)
                word++;
            if (word == 4 || !c->words[word])
                return vg_base__fail(VG_ERR_DATA, "%s: conventions.%s is '%s', which is not known here", path, c->name,
                                     json_string_value(value));
            *int_at(out, c) = word;
        } else {
            return vg_base__fail(VG_ERR_DATA, "%s: conventions.%s is missing or of another type", path, c->name);
        }
    }
    return VG_OK;
}

const char *vg_conventions__differ(const vg_score_options *own, const vg_score_options *stored) {
    vg_score_options usual = VG_SCORE_OPTIONS_INIT;
    for (size_t i = 0; i < CONVENTIONS; i++) {
        const convention *c = &conventions[i];
        if (!is_same(own, &usual, c) && !is_same(own, stored, c))
            return c->name;
    }
    return NULL;
}

vg_status vg_decide__settle(vg_decide_input *input, const vg_policy *shown, bool calibrated) {
    const vg_policy_data *policy = vg_policy__read(shown);
    vg_score_options own = input->scoring;
    if (calibrated) {
        if (policy->loaded && input->reading.temperature)
            return vg_base__fail(VG_ERR_ARGUMENT,
                                 "--policy %s has a calibration of its own: --calibration-map does not go with it",
                                 policy->origin);
        input->reading.temperature = policy->temperature;
    } else if (policy->loaded && input->reading.temperature) {
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--policy %s was chosen without a calibration: --calibration-map does not go with it",
                             policy->origin);
    }
    if (policy->labels) {
        input->scoring.class_k = policy->class_k;
        input->scoring.class_k_count = policy->classes;
    }
    if (!policy->loaded)
        return VG_OK;
    const char *other = vg_conventions__differ(&own, &policy->conventions);
    if (other)
        return vg_base__fail(VG_ERR_ARGUMENT,
                             "--policy %s was chosen under another '%s' than is asked for: leave it out",
                             policy->origin, other);
    input->scoring = policy->conventions;
    input->scoring.k = own.k;
    input->scoring.k_count = own.k_count;
    input->scoring.threads = own.threads;
    if (input->reading.class_k || own.class_k)
        return vg_base__fail(VG_ERR_ARGUMENT, "--policy %s says the k of every class: --class-k does not go with it",
                             policy->origin);
    input->scoring.class_k = policy->class_k;
    input->scoring.class_k_count = policy->class_k ? policy->classes : 0;
    return VG_OK;
}

/* --- what the policy was chosen for ------------------------------------------------------------------------------- */
void vg_policy__forget(vg_policy_data *policy) {
    for (size_t c = 0; policy->class_names && c < policy->classes; c++)
        vg_base__release(policy->class_names[c]);
    vg_base__release(policy->class_names);
    policy->class_names = NULL;
    vg_base__release(policy->class_k);
    policy->class_k = NULL;
}

static vg_status copy_names(vg_policy_data *policy, const char *const *names, size_t count) {
    VG_TRY(vg_base__zalloc(&policy->class_names, count, sizeof *policy->class_names, "names of the classes"));
    for (size_t c = 0; c < count; c++)
        VG_TRY(vg_base__strdup(&policy->class_names[c], names[c]));
    return VG_OK;
}

/* Temperatures as text that reads back exactly. */
static vg_status temperature_text(char **out, const double *values, size_t count) {
    size_t used = 0;
    VG_TRY(vg_base__alloc(out, count, VG_NAME_SIZE, "temperatures"));
    for (size_t i = 0; i < count; i++) {
        char one[VG_NAME_SIZE];
        vg_k_name(one, values[i]);
        used += (size_t)snprintf(*out + used, VG_NAME_SIZE, "%s%s", i ? "," : "", one);
    }
    return VG_OK;
}

vg_status vg_policy__remember(vg_policy_data *policy, vg_score_input *in) {
    const char *const *names = NULL;
    if (policy->settled)
        return VG_OK;
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    policy->members = in->layout.m;
    policy->classes = in->layout.c;
    policy->conventions = in->options;
    policy->conventions.k = policy->conventions.temperature = policy->conventions.class_k = NULL;
    policy->settled = true;
    if (in->options.class_k) {
        VG_TRY(vg_base__alloc(&policy->class_k, policy->classes, sizeof *policy->class_k, "a k for every class"));
        memcpy(policy->class_k, in->options.class_k, policy->classes * sizeof *policy->class_k);
    }
    if (in->calibrator && in->calibrator->map)
        VG_TRY(vg_calibration_map__text(&policy->given, in->calibrator->map));
    else if (in->calibrator)
        VG_TRY(temperature_text(&policy->given, in->calibrator->temperature, in->calibrator->count));
    return names ? copy_names(policy, names, in->layout.c) : VG_OK;
}

vg_status vg_policy__check_shape(const vg_policy *shown, vg_score_input *in) {
    const vg_policy_data *policy = vg_policy__read(shown);
    const char *const *names = NULL;
    if (policy->classes == 0)
        return VG_OK;
    if (policy->members != in->layout.m || policy->classes != in->layout.c)
        return vg_base__fail(
            VG_ERR_DATA,
            "%s: %zu members and %zu classes, the %s %s has %zu and %zu: what is chosen on one ensemble promises "
            "nothing about another",
            in->path, in->layout.m, in->layout.c, policy->origin ? "policy" : "validation file",
            policy->origin ? policy->origin : policy->calibration, policy->members, policy->classes);
    VG_TRY(vg_prediction_file_classes(in->file, &names));
    for (size_t c = 0; names && policy->class_names && c < policy->classes; c++)
        if (strcmp(names[c], policy->class_names[c]) != 0)
            return vg_base__fail(VG_ERR_DATA, "%s: class %zu is '%s', in %s it is '%s': the classes differ", in->path,
                                 c, names[c], policy->origin ? policy->origin : policy->calibration,
                                 policy->class_names[c]);
    return VG_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */
static json_t *policy_json(const vg_policy_data *policy) {
    const vg_policy *p = &policy->shown;
    json_t *out = vg_json__document("policy");
    vg_json__put_text(out, "version", vg_version());
    vg_json__put_text(out, "sentence", p->sentence);
    vg_json__put_text(out, "by", p->name);
    vg_json__put_number(out, p->by_rule ? "k" : "threshold", p->by_rule ? p->k : p->threshold);
    vg_json__put_text(out, "keep", p->by_rule ? "rule" : p->certainty ? "above" : "below");
    vg_json__put_count(out, "members", policy->members);
    vg_json__put_count(out, "classes", policy->classes);
    if (policy->class_names) {
        json_t *names = json_array();
        for (size_t c = 0; c < policy->classes; c++)
            vg_json__append(names, vg_json__string(policy->class_names[c]));
        vg_json__put(out, "class_names", names);
    }
    return out;
}

static vg_status put_temperature(json_t *out, const char *text) {
    vg_calibrator *calibrator;
    if (text && *text == '{') {
        vg_json__put(out, "calibration_map", vg_base__json_load(text, strlen(text), 0, NULL));
        return VG_OK;
    }
    VG_TRY(vg_calibrator__read(&calibrator, text));
    if (calibrator)
        vg_json__put(out, "temperature", vg_json__numbers(calibrator->temperature, calibrator->count));
    vg_calibrator__free(calibrator);
    return VG_OK;
}

vg_status vg_policy__open_save(vg_text **file, const vg_policy *policy, const char *path,
                               const vg_decide_request *request) {
    const vg_decide_options *own = &request->own;
    const vg_policy_data *data = vg_policy__read(policy);
    const char *inputs[] = {path, data->calibration, request->input.labels, request->input.temperature, data->origin};
    *file = NULL;
    if (!own->save)
        return VG_OK;
    if (!path && !data->calibration)
        return vg_base__fail(VG_ERR_ARGUMENT, "--save: the members and classes of a stream are not known beforehand; "
                                              "choose on --calibration, or save while deciding for a file");
    if (own->output && vg_target__same_file(own->save, own->output))
        return vg_base__fail(VG_ERR_ARGUMENT, "--save and -o both name %s; give them different names", own->save);
    VG_TRY(vg_target_check(own->save, VG_PRODUCT_POLICY, inputs, sizeof inputs / sizeof *inputs, own->force));
    return vg_text__open(file, own->save);
}

vg_status vg_policy__save(const vg_policy *shown, vg_text *file) {
    const vg_policy_data *policy = vg_policy__read(shown);
    char *text = NULL;
    if (!file)
        return VG_OK;
    json_t *out = policy_json(policy);
    vg_status status =
        put_temperature(out, vg_policy__applied(shown)->calibrated ? policy->temperature : policy->given);
    if (policy->class_k)
        vg_json__put(out, "class_k", vg_json__numbers(policy->class_k, policy->classes));
    vg_json__put(out, "conventions", vg_conventions__json(&policy->conventions));
    if (shown->selection)
        vg_json__put(out, "calibration", vg_decide__selection_json(shown));
    if (shown->labels)
        vg_json__put(out, "labels", vg_decide__labels_json(shown));
    vg_status written = vg_json__text(&text, out);
    if (status == VG_OK)
        status = written;
    if (status == VG_OK)
        status = vg_text__write(file, text, strlen(text));
    if (status == VG_OK)
        status = vg_text__write(file, "\n", 1);
    if (written == VG_OK)
        vg_free(text);
    if (status == VG_OK)
        return vg_text__close(file);
    vg_text__abandon(file);
    return status;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
static double number_of(const json_t *object, const char *key, double missing) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : missing;
}

static size_t count_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) && json_integer_value(value) > 0 ? (size_t)json_integer_value(value) : 0;
}

/* Reads `count` numbers > 0, freed by the caller. */
static vg_status read_positive(double **out, const json_t *array, const char *what, const char *path) {
    size_t count = json_array_size(array);
    VG_TRY(vg_base__alloc(out, count, sizeof **out, what));
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = json_number_value(json_array_get(array, i));
        if (!((*out)[i] > 0 && isfinite((*out)[i])))
            return vg_base__fail(VG_ERR_DATA, "%s: %s %zu is not a positive number", path, what, i);
    }
    return VG_OK;
}

static vg_status read_temperature(vg_policy_data *policy, const json_t *array, const char *path) {
    double *values = NULL;
    vg_status status = read_positive(&values, array, "temperature", path);
    if (status == VG_OK)
        status = temperature_text(&policy->temperature, values, json_array_size(array));
    policy->items[0].calibrated = true;
    vg_base__release(values);
    return status;
}

static vg_status read_names(vg_policy_data *policy, const json_t *array, const char *path) {
    if (json_array_size(array) != policy->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: %zu class names for %zu classes", path, json_array_size(array),
                             policy->classes);
    VG_TRY(vg_base__zalloc(&policy->class_names, policy->classes, sizeof *policy->class_names, "names of the classes"));
    for (size_t c = 0; c < policy->classes; c++) {
        const char *name = json_string_value(json_array_get(array, c));
        if (!name)
            return vg_base__fail(VG_ERR_DATA, "%s: the name of class %zu is not a text", path, c);
        VG_TRY(vg_base__strdup(&policy->class_names[c], name));
    }
    return VG_OK;
}

static vg_status read_rule(vg_policy_data *policy, const json_t *root, const char *path) {
    vg_decide_candidate *item = &policy->items[0];
    const char *by = json_string_value(json_object_get(root, "by"));
    if (!by || strlen(by) >= VG_POLICY_NAME)
        return vg_base__fail(VG_ERR_DATA, "%s: the text 'by' is missing", path);
    if (vg_decide__parse(item, by) != VG_OK)
        return vg_base__fail(VG_ERR_DATA, "%s: %s", path, vg_error_message());
    double value = number_of(root, item->by_rule ? "k" : "threshold", NAN);
    if (!isfinite(value) || (item->by_rule && value <= 0))
        return vg_base__fail(VG_ERR_DATA, "%s: '%s' is missing or not a number in its range", path,
                             item->by_rule ? "k" : "threshold");
    *(item->by_rule ? &item->k : &item->threshold) = value;
    if (!item->by_rule)
        return VG_OK;
    item->threshold = NAN;
    return VG_OK;
}

/* Reads the promise made when the policy was chosen, and the figures of its summary. */
static void read_selection(vg_policy_data *policy, const json_t *from) {
    vg_selection *s = &policy->selection;
    *s = (vg_selection)VG_SELECTION_INIT;
    s->met = 1;
    s->rows = count_of(from, "n");
    s->kept = count_of(from, "kept");
    s->errors = count_of(from, "errors");
    s->coverage = number_of(from, "coverage", NAN);
    s->risk = number_of(from, "risk", NAN);
    s->risk_bound = number_of(from, "risk_bound", NAN);
    s->level = number_of(from, "level", NAN);
    s->grid_count = count_of(from, "grid");
    vg_decide__read_promise(s, from);
    const char *unit = json_string_value(json_object_get(from, "unit"));
    policy->by_image = unit && strcmp(unit, "image") == 0;
    policy->shown.labelled = json_object_get(from, "risk") != NULL;
    policy->shown.target_risk = number_of(from, "target_risk", 0);
    policy->shown.target_coverage = number_of(from, "target_coverage", 0);
    policy->shown.confidence = number_of(from, "confidence", 0.95);
    policy->shown.searched = count_of(json_object_get(from, "search"), "looked_at");
    policy->shown.tuning = count_of(json_object_get(from, "search"), "samples");
    s->target_risk = policy->shown.target_risk;
    s->confidence = policy->shown.confidence;
    policy->shown.selection = s;
}

static vg_status read_policy(vg_policy_data *policy, json_t *root, const char *path) {
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const char *command = json_string_value(json_object_get(root, "command"));
    if (!schema || !command || strcmp(command, "policy") != 0)
        return vg_base__fail(VG_ERR_DATA, "%s: not a policy; 'vargate decide --save' writes one", path);
    if (strcmp(schema, VG_JSON_SCHEMA) != 0)
        return vg_base__fail(VG_ERR_DATA, "%s: a policy of schema %s; this vargate reads %s", path, schema,
                             VG_JSON_SCHEMA);
    VG_TRY(read_rule(policy, root, path));
    policy->members = count_of(root, "members");
    policy->classes = count_of(root, "classes");
    if (!policy->members || !policy->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: 'members' or 'classes' is missing", path);
    VG_TRY(vg_conventions__read(&policy->conventions, json_object_get(root, "conventions"), path));
    const json_t *names = json_object_get(root, "class_names"), *temperature = json_object_get(root, "temperature");
    if (names)
        VG_TRY(read_names(policy, names, path));
    if (json_array_size(temperature) > 0)
        VG_TRY(read_temperature(policy, temperature, path));
    const json_t *map = json_object_get(root, "calibration_map");
    if (json_is_object(map)) {
        VG_TRY(vg_json__text(&policy->temperature, json_deep_copy(map)));
        policy->items[0].calibrated = true;
    }
    const json_t *class_k = json_object_get(root, "class_k");
    if (class_k && json_array_size(class_k) != policy->classes)
        return vg_base__fail(VG_ERR_DATA, "%s: class_k does not have one value for each of %zu classes", path,
                             policy->classes);
    if (class_k)
        VG_TRY(read_positive(&policy->class_k, class_k, "class_k", path));
    const json_t *selection = json_object_get(root, "calibration");
    if (json_is_object(selection))
        read_selection(policy, selection);
    return VG_OK;
}

vg_status vg_policy__load(vg_policy_data *policy, const char *path) {
    json_t *root;
    vg_status status = vg_base__json_load_file(&root, path, 0);
    if (status == VG_ERR_FORMAT)
        return vg_base__fail(VG_ERR_DATA, "%s: not a policy, which is JSON; 'vargate decide --save' writes one", path);
    VG_TRY(status);
    policy->count = 1;
    policy->shown.confidence = 0.95;
    status = read_policy(policy, root, path);
    json_decref(root);
    if (status == VG_OK)
        status = vg_base__strdup(&policy->origin, path);
    policy->settled = policy->loaded = status == VG_OK;
    return status;
}
