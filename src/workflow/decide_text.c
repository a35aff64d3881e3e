/* decide_text.c - decisions as a few lines of text: the policy, how it was chosen, what is kept, which images are
 * referred. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/decide.h"

typedef struct text_lines {
    FILE *out;
    const vg_policy *policy;
    const vg_decide_result *result;
} text_lines;

static double share(unsigned long long part, unsigned long long whole) {
    return whole ? (double)part / (double)whole : NAN;
}

static const char *plural(unsigned long long count) { return count == 1 ? "" : "s"; }

/* How the promise was made: the unit, the bound, the candidates tried and their share of the level. */
static void write_promise(const text_lines *t) {
    static const char *const bounds[] = {"Clopper-Pearson", "Hoeffding-Bentkus", "betting"};
    const vg_policy *policy = t->policy;
    const vg_selection *s = policy->selection;
    const char *unit = vg_policy__unit(policy);
    const char *several = t->result->multilabel               ? ", its risk the share of errors among its kept labels"
                          : vg_policy__read(policy)->by_image ? ", its risk the share of errors among its kept sites"
                                                              : "";
    fprintf(t->out, ",\nrisk at most %.4g with %g %% confidence (%s bound; unit: the %s%s).\n", s->risk_bound,
            100 * policy->confidence, bounds[s->bound], unit, several);
    if (s->source == VG_GRID_SET_ASIDE)
        fprintf(t->out, "Tried: %zu quantiles of %zu validation %ss set aside", s->grid_count, s->set_aside, unit);
    else
        fprintf(t->out, "Tried: %zu quantiles of the predictions to be decided", s->grid_count);
    if (s->candidates > 1)
        fprintf(t->out, " for each of %zu candidates", s->candidates);
    fprintf(t->out, "; %zu tested from %zu start%s,\nthis one at level %.3g of %g.\n", s->tested,
            s->starts * s->candidates, plural(s->starts * s->candidates), s->level, 1 - policy->confidence);
}

static void write_selection(const text_lines *t) {
    const vg_policy *policy = t->policy;
    const vg_selection *s = policy->selection;
    const char *unit = vg_policy__unit(policy);
    if (policy->searched)
        fprintf(t->out, "Searched: %zu ways to decide on %zu validation %ss, %zu of them tested on the others.\n",
                policy->searched, policy->tuning, unit, s->candidates);
    fprintf(t->out, "Chosen on validation data: coverage %.2f %% of %zu", 100 * s->coverage, s->rows);
    if (policy->labelled)
        fprintf(t->out, ", risk %.4g (%zu error%s in %zu kept)", s->risk, s->errors, plural(s->errors), s->kept);
    if (policy->target_risk > 0)
        write_promise(t);
    else
        fprintf(t->out, ".\n");
}

/* The images, and those of the largest abstained share. */
static void write_images(const text_lines *t) {
    const vg_decide_result *r = t->result;
    size_t most = r->image_count < 5 ? r->image_count : 5;
    fprintf(t->out, "images    %zu of %zu x %zu", r->image_count, r->sites[1], r->sites[2]);
    if (r->sites[3] > 1)
        fprintf(t->out, " x %zu", r->sites[3]);
    fprintf(t->out, " sites, %llu left out", r->ignored);
    if (!isnan(r->refer_above))
        fprintf(t->out, "; %zu referred: more than %g %% of their sites abstain", r->referred, 100 * r->refer_above);
    fprintf(t->out, "\n          abstained most:");
    for (size_t i = 0; i < most; i++) {
        const vg_image_row *row = &r->images[r->image_order[i]];
        fprintf(t->out, "%s image %zu %.2f %%", i ? "," : "", r->image_order[i], 100 * row->abstained_share);
    }
    fprintf(t->out, "\n");
}

static void write_lines(const text_lines *t, const char *path) {
    const vg_decide_result *r = t->result;
    char name[4200];
    vg_printable(name, sizeof name, path);
    const vg_policy_data *data = vg_policy__read(t->policy);
    bool by_rule = data->class_k && data->count > 0 && data->items[0].by_rule && !t->policy->labels;
    fprintf(t->out, "%s: %zu %s%s, %s%s\n", name, r->samples, r->image_count ? "site" : "sample", plural(r->samples),
            t->policy->labels ? "a k for every label" : t->policy->text,
            !by_rule                                       ? ""
            : data->conventions.task == VG_TASK_MULTICLASS ? " times the k of each class"
                                                           : " times the k of each label");
    if (t->policy->selection) {
        fprintf(t->out, "%s\n", t->policy->sentence);
        write_selection(t);
    } else if (t->policy->labels) {
        fprintf(t->out, "%s\n", t->policy->sentence);
        vg_decide__write_labels(t->out, t->policy);
    }
    fprintf(t->out, "kept      %llu of %llu (%.2f %%)\nabstained %llu (%.2f %%)\n", r->kept, r->entries,
            100 * share(r->kept, r->entries), r->entries - r->kept, 100 * (1 - share(r->kept, r->entries)));
    if (r->labelled)
        fprintf(t->out, "accuracy  %.2f %% overall, %.2f %% on the kept; %llu of %llu errors abstained\n",
                100 * share(r->correct, r->entries), 100 * share(r->kept_correct, r->kept),
                r->entries - r->correct - (r->kept - r->kept_correct), r->entries - r->correct);
    if (r->image_count)
        write_images(t);
}

vg_status vg_decide_result_text(char **out, const vg_decide_result *result, const vg_policy *policy, const char *path) {
    VG_TRY(vg_base__given(out != NULL, "vg_decide_result_text: out"));
    VG_IN_C_LOCALE;
    vg_decide_result own = VG_DECIDE_RESULT_INIT;
    size_t length;
    *out = NULL;
    VG_TRY(vg_base__given(result && policy && path, "vg_decide_result_text: result, policy and path"));
    memcpy(&own, result, result->struct_size < sizeof own ? result->struct_size : sizeof own);
    text_lines t = {open_memstream(out, &length), policy, &own};
    if (!t.out)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the text");
    write_lines(&t, path);
    if (fclose(t.out) == 0 && *out)
        return VG_OK;
    free(*out);
    *out = NULL;
    return vg_base__fail(VG_ERR_MEMORY, "out of memory for the text");
}
