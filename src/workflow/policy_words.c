/* policy_words.c - a policy in a sentence, and the options of the command line that repeat it. */
#include <math.h>
#include <stdio.h>

#include "workflow/decide.h"

const char *vg_policy__unit(const vg_policy *policy) { return vg_policy__read(policy)->by_image ? "image" : "sample"; }

/* What is kept, its figures on the validation data, and the promise. */
static void write_sentence(char out[VG_POLICY_SENTENCE], const vg_policy_data *policy, const char *value) {
    const vg_policy *p = &policy->shown;
    const vg_selection *s = &policy->selection;
    bool multilabel = policy->settled && policy->conventions.task != VG_TASK_MULTICLASS;
    const char *unit = multilabel ? "labels" : policy->by_image ? "sites" : "samples";
    char kept[2 * VG_POLICY_NAME + 64];
    size_t used;
    if (p->by_rule)
        snprintf(kept, sizeof kept, "Keep the %s that the decision rule keeps at k = %s%s", unit, value,
                 policy->class_k ? " times the k of each class" : "");
    else
        snprintf(kept, sizeof kept, "Keep the %s with %s %s %s", unit, p->name, p->certainty ? "above" : "below",
                 value);
    used = (size_t)snprintf(out, VG_POLICY_SENTENCE, "%s", kept);
    if (p->temperature)
        used += (size_t)snprintf(out + used, VG_POLICY_SENTENCE - used, ", of logits divided by %.80s", p->temperature);
    else if (policy->temperature && *policy->temperature == '{')
        used +=
            (size_t)snprintf(out + used, VG_POLICY_SENTENCE - used, ", of predictions at the policy's calibration map");
    if (s->rows > 0)
        used += (size_t)snprintf(out + used, VG_POLICY_SENTENCE - used, ": %.2f %% of the validation %s are kept",
                                 100 * s->coverage, unit);
    if (s->rows > 0 && p->target_risk > 0)
        used += (size_t)snprintf(out + used, VG_POLICY_SENTENCE - used,
                                 ", and with %g %% confidence at most %g %% of what is kept%s is wrong",
                                 100 * p->confidence, 100 * p->target_risk,
                                 policy->by_image ? " of an image, in the mean over images," : "");
    snprintf(out + used, VG_POLICY_SENTENCE - used, ".");
}

void vg_policy__words(vg_policy_data *policy) {
    vg_policy *p = &policy->shown;
    char value[VG_NAME_SIZE];
    if (policy->labels) {
        vg_decide__label_words(policy);
        return;
    }
    vg_k_name(value, p->by_rule ? p->k : p->threshold);
    size_t used =
        (size_t)(p->by_rule ? snprintf(policy->again, sizeof policy->again, "-k %s", value)
                            : snprintf(policy->again, sizeof policy->again, "--by %s --threshold %s", p->name, value));
    if (p->temperature)
        snprintf(policy->again + used, sizeof policy->again - used, " --calibration-map %.400s", p->temperature);
    write_sentence(policy->sentence, policy, value);
    p->sentence = policy->sentence;
    p->again = policy->again;
}
