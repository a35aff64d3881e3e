/* decide_json.c - decisions and the choice of a policy as JSON. Keys: docs/cli.md; they are stable. */
#include "workflow/decide_json.h"

#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/decide.h"
#include "workflow/json_build.h"

static double share(unsigned long long part, unsigned long long whole) {
    return whole ? (double)part / (double)whole : NAN;
}

static const char *const bound_names[] = {"clopper-pearson", "hoeffding-bentkus", "betting"};
static const char *const source_names[] = {"none", "given", "unlabelled", "set-aside"};
static const char *const multiplicity_names[] = {"auto", "sequence", "bonferroni", "none"};

static void put_promise(json_t *out, const vg_policy *policy) {
    const vg_selection *s = policy->selection;
    vg_json__put_text(out, "unit", vg_policy__unit(policy));
    vg_json__put_count(out, "samples", s->samples);
    vg_json__put_count(out, "answered", s->answered);
    vg_json__put_text(out, "bound", bound_names[s->bound]);
    vg_json__put_text(out, "thresholds", source_names[s->source]);
    vg_json__put_count(out, "set_aside", s->set_aside);
    vg_json__put_count(out, "candidates", s->candidates);
    vg_json__put_count(out, "tested", s->tested);
    vg_json__put_count(out, "starts", s->starts);
    vg_json__put_text(out, "multiplicity", multiplicity_names[s->multiplicity]);
}

json_t *vg_decide__selection_json(const vg_policy *policy) {
    const vg_selection *s = policy->selection;
    json_t *out = json_object();
    if (policy->target_risk > 0)
        vg_json__put_number(out, "target_risk", policy->target_risk);
    else
        vg_json__put_number(out, "target_coverage", policy->target_coverage);
    vg_json__put_number(out, "confidence", policy->confidence);
    vg_json__put_count(out, "n", s->rows);
    vg_json__put_count(out, "kept", s->kept);
    vg_json__put_number(out, "coverage", s->coverage);
    if (policy->labelled) {
        vg_json__put_count(out, "errors", s->errors);
        vg_json__put_number(out, "risk", s->risk);
        vg_json__put_number(out, "risk_bound", s->risk_bound);
    }
    vg_json__put_number(out, "level", s->level);
    vg_json__put_count(out, "grid", s->grid_count);
    if (policy->target_risk > 0)
        put_promise(out, policy);
    if (policy->searched) {
        json_t *search = json_object();
        vg_json__put_count(search, "looked_at", policy->searched);
        vg_json__put_count(search, "tested", s->candidates);
        vg_json__put_count(search, "samples", policy->tuning);
        vg_json__put(out, "search", search);
    }
    return out;
}

json_t *vg_decide__labels_json(const vg_policy *policy) {
    const char *const *names = (const char *const *)vg_policy__read(policy)->class_names;
    json_t *list = json_array();
    for (size_t c = 0; c < policy->label_count; c++) {
        const vg_selection *s = &policy->labels[c];
        json_t *one = json_object();
        if (names)
            vg_json__put_text(one, "label", names[c]);
        vg_json__put_number(one, "k", s->threshold);
        vg_json__put_number(one, "target_risk", s->target_risk);
        vg_json__put_number(one, "confidence", s->confidence);
        vg_json__put_count(one, "n", s->rows);
        vg_json__put_count(one, "kept", s->kept);
        vg_json__put_number(one, "coverage", s->coverage);
        vg_json__put_count(one, "errors", s->errors);
        vg_json__put_number(one, "risk", s->risk);
        vg_json__put_number(one, "risk_bound", s->risk_bound);
        vg_json__append(list, one);
    }
    return list;
}

/* --- reading it back ---------------------------------------------------------------------------------------------- */
static size_t read_count(const json_t *from, const char *key) {
    return (size_t)json_integer_value(json_object_get(from, key));
}

/* The index of the text under `key` in `count` words; 0 where it is none of them. */
static int read_word(const json_t *from, const char *key, const char *const *words, int count) {
    const char *text = json_string_value(json_object_get(from, key));
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return 0;
}

void vg_decide__read_promise(vg_selection *s, const json_t *from) {
    s->samples = read_count(from, "samples");
    s->answered = read_count(from, "answered");
    s->set_aside = read_count(from, "set_aside");
    s->candidates = read_count(from, "candidates");
    s->tested = read_count(from, "tested");
    s->starts = read_count(from, "starts");
    s->bound = (vg_bound)read_word(from, "bound", bound_names, 3);
    s->source = (vg_grid_source)read_word(from, "thresholds", source_names, 4);
    s->multiplicity = (vg_multiplicity)read_word(from, "multiplicity", multiplicity_names, 4);
}

vg_status vg_decide_result_json(char **out, const vg_decide_result *result, const vg_policy *policy, const char *path) {
    VG_TRY(vg_base__given(out && result && policy && path, "vg_decide_result_json: out, result, policy and path"));
    VG_IN_C_LOCALE;
    json_t *root = vg_json__document("decide");
    vg_json__put_text(root, "file", path);
    vg_json__put_count(root, "n", result->samples);
    vg_json__put_text(root, "by", policy->name);
    if (policy->by_rule)
        vg_json__put_number(root, "k", policy->k);
    else
        vg_json__put_number(root, "threshold", policy->threshold);
    if (policy->temperature)
        vg_json__put_text(root, "temperature", policy->temperature);
    vg_json__put_text(root, "sentence", policy->sentence);
    vg_json__put_text(root, "options", policy->again);
    vg_json__put_count(root, "kept", result->kept);
    vg_json__put_count(root, "abstained", result->entries - result->kept);
    vg_json__put_number(root, "coverage", share(result->kept, result->entries));
    if (result->labelled) {
        vg_json__put_number(root, "accuracy", share(result->correct, result->entries));
        vg_json__put_number(root, "kept_accuracy", share(result->kept_correct, result->kept));
        vg_json__put_count(root, "abstained_errors",
                           result->entries - result->correct - (result->kept - result->kept_correct));
    }
    if (result->image_count) {
        if (!isnan(result->refer_above)) {
            vg_json__put_number(root, "refer_above", result->refer_above);
            vg_json__put_count(root, "referred", result->referred);
        }
        vg_json__put_images(root, &(vg_image_list){result->sites, result->ignored, result->images, result->image_count,
                                                   result->labelled != 0, result->refer_above});
    }
    if (policy->selection)
        vg_json__put(root, "calibration", vg_decide__selection_json(policy));
    if (policy->labels)
        vg_json__put(root, "labels", vg_decide__labels_json(policy));
    return vg_json__text(out, root);
}
