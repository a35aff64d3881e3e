/* decision_summary.c - decisions in a few lines: the policy, how it was chosen, what is kept. */
#include "cli.h"

static double share(unsigned long long part, unsigned long long whole) {
    return whole ? (double)part / (double)whole : NAN;
}

/* How the promise came about: the unit, the bound, what was tried and what it cost. */
static void print_promise(const vg_policy *policy, int several) {
    static const char *const bounds[] = {"Clopper-Pearson", "Hoeffding-Bentkus", "betting"};
    const vg_selection *s = policy->selection;
    printf(",\nrisk at most %.4g with %g %% confidence (%s bound; unit: the sample%s).\n", s->risk_bound,
           100 * policy->confidence, bounds[s->bound],
           several ? ", its risk the share of errors among its kept labels" : "");
    if (s->source == VG_GRID_SET_ASIDE)
        printf("Tried: %zu quantiles of %zu validation samples set aside", s->grid_count, s->set_aside);
    else
        printf("Tried: %zu quantiles of the predictions to be decided", s->grid_count);
    if (s->candidates > 1)
        printf(" for each of %zu candidates", s->candidates);
    printf("; %zu tested from %zu start%s,\nthis one at level %.3g of %g.\n", s->tested, s->starts * s->candidates,
           s->starts * s->candidates == 1 ? "" : "s", s->level, 1 - policy->confidence);
}

static void print_selection(const vg_policy *policy, int several) {
    const vg_selection *s = policy->selection;
    if (policy->searched)
        printf("Searched: %zu ways to decide on %zu validation samples, %zu of them tested on the others.\n",
               policy->searched, policy->tuning, s->candidates);
    printf("Chosen on validation data: coverage %.2f %% of %zu", 100 * s->coverage, s->rows);
    if (policy->labelled)
        printf(", risk %.4g (%zu error%s in %zu kept)", s->risk, s->errors, plural(s->errors), s->kept);
    if (policy->target_risk > 0)
        print_promise(policy, several);
    else
        printf(".\n");
}

void decision_summary_print(const char *path, const vg_policy *policy, const vg_decide_result *result) {
    const vg_decide_result *r = result;
    printf("%s: %zu sample%s, %s\n", console_text(path), r->samples, plural(r->samples), policy->text);
    if (policy->selection) {
        printf("%s\n", policy->sentence);
        print_selection(policy, r->multilabel);
    }
    printf("kept      %llu of %llu (%.2f %%)\nabstained %llu (%.2f %%)\n", r->kept, r->entries,
           100 * share(r->kept, r->entries), r->entries - r->kept, 100 * (1 - share(r->kept, r->entries)));
    if (r->labelled)
        printf("accuracy  %.2f %% overall, %.2f %% on the kept; %llu of %llu errors abstained\n",
               100 * share(r->correct, r->entries), 100 * share(r->kept_correct, r->kept),
               r->entries - r->correct - (r->kept - r->kept_correct), r->entries - r->correct);
}
