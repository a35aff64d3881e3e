/* decide_scored.c - files scored for the choice of a policy: measures of the candidates, margin ratios, errors. */
#include "workflow/decide.h"
#include "workflow/measure_columns.h"

void vg_decide_scored__close(vg_decide_scored *f) {
    vg_columns__free(f->columns);
    vg_tally_free(f->tally);
    vg_base__release(f->zeros);
    vg_score_input__close(&f->in);
}

/* The tally makes the margin ratios, and it needs labels. */
vg_status vg_decide_scored__open(vg_decide_scored *f, const vg_policy_data *policy, const vg_decide_input *input,
                                 const char *path, const char *labels, bool calibrated) {
    VG_TRY(vg_score_input__open_labels(&f->in, path, &input->reading, labels, input->job));
    const vg_score_layout *layout = &f->in.layout;
    f->labelled = f->in.labels != NULL;
    if (!f->labelled) {
        size_t width = (layout->multilabel ? layout->c : 1) * sizeof *f->zeros;
        VG_TRY(vg_base__zalloc(&f->zeros, layout->n ? layout->n : 1, width, "labels"));
        f->in.labels = f->zeros;
    }
    vg_tally_options how = VG_TALLY_OPTIONS_INIT;
    how.task = f->in.options.task;
    how.confusion = 0;
    how.expected = layout->n;
    how.class_k = f->in.options.class_k;
    VG_TRY(vg_tally_new(&f->tally, layout->c, &how));
    vg_field_set wanted = 0;
    for (size_t i = 0; i < policy->count; i++)
        if (!policy->items[i].by_rule && policy->items[i].calibrated == calibrated)
            wanted |= VG_FIELD_BIT(policy->items[i].field);
    return vg_measure_columns__score(&f->columns, f->tally, &f->in, wanted, false, &f->summary);
}

static vg_status values_of(vg_measure *out, const vg_decide_scored *f, const vg_decide_candidate *candidate) {
    char name[VG_POLICY_NAME];
    vg_decide__name(name, candidate);
    if (!candidate->by_rule)
        return vg_columns__find(f->columns, name, out);
    *out = (vg_measure){"k", vg_tally__info(f->tally).ratio, 1, 1};
    return VG_OK;
}

vg_status vg_decide_scored__list(vg_candidate *list, const vg_policy_data *policy, const vg_decide_scored validation[2],
                                 const vg_decide_scored *others) {
    for (size_t i = 0; i < policy->count; i++) {
        const vg_decide_candidate *item = &policy->items[i];
        vg_measure other = {.values = NULL};
        list[i].rule = item->by_rule;
        list[i].errors = vg_tally__info(validation[item->calibrated].tally).errors;
        VG_TRY(values_of(&list[i].measure, &validation[item->calibrated], item));
        if (others)
            VG_TRY(values_of(&other, &others[item->calibrated], item));
        list[i].unlabelled = other.values;
        list[i].unlabelled_rows = others ? vg_tally__info(others[item->calibrated].tally).rows : 0;
        list[i].unlabelled_stride = other.stride;
    }
    return VG_OK;
}

size_t vg_decide_scored__gates(double gates[VG_DECIDE_CANDIDATES], const vg_policy_data *policy) {
    size_t count = 0;
    for (size_t i = 0; i < policy->count; i++) {
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || gates[j] == policy->items[i].k;
        if (!known)
            gates[count++] = policy->items[i].k;
    }
    return count;
}
