/* decide_scored.c - files scored for the choice of a policy: measures of the candidates, margin ratios, errors. */
#include "workflow/decide.h"

#include <math.h>

#include "workflow/measure_columns.h"

void vg_decide_scored__close(vg_decide_scored *f) {
    vg_columns__free(f->columns);
    vg_tally_free(f->tally);
    vg_base__release(f->zeros);
    vg_base__release(f->left_out);
    vg_score_input__close(&f->in);
}

/* Label maps as whole labels; sites that are left out become class 0 and are marked. */
static vg_status load_maps(vg_decide_scored *f) {
    vg_score_input *in = &f->in;
    VG_TRY(vg_base__alloc(&f->zeros, in->layout.n, sizeof *f->zeros, "labels"));
    VG_TRY(vg_base__zalloc(&f->left_out, in->layout.n, 1, "sites"));
    VG_TRY(vg_label_maps__read(&in->maps, 0, in->layout.n, in->ignore, f->zeros));
    for (size_t i = 0; i < in->layout.n; i++) {
        f->left_out[i] = f->zeros[i] < 0;
        f->zeros[i] = f->left_out[i] ? 0 : f->zeros[i];
    }
    vg_label_maps__close(&in->maps);
    in->ignore = NULL;
    in->labels = f->zeros;
    return VG_OK;
}

/* Makes every policy abstain on the sites that are left out, and unmarks their errors, so that no figure of the kept
 * sites counts them. */
static void leave_out(const vg_decide_scored *f) {
    vg_tally_info rows = vg_tally__info(f->tally);
    vg_measure measures[VG_DECIDE_CANDIDATES];
    size_t count = vg_columns__measures(f->columns, measures, VG_DECIDE_CANDIDATES);
    for (size_t i = 0; f->left_out && i < f->in.layout.n; i++) {
        if (!f->left_out[i])
            continue;
        ((double *)rows.ratio)[i] = 0;
        ((uint8_t *)rows.errors)[i] = 0;
        for (size_t j = 0; j < count && j < VG_DECIDE_CANDIDATES; j++)
            ((double *)measures[j].values)[i * measures[j].stride] = measures[j].certainty ? 0 : INFINITY;
    }
}

/* Scores with a tally, which makes the margin ratios and needs labels. */
vg_status vg_decide_scored__open(vg_decide_scored *f, const vg_policy_data *policy, const vg_decide_input *input,
                                 const char *path, const char *labels, bool calibrated) {
    if (input->reading.ignore && labels != vg_score_no_labels && policy->shown.target_coverage > 0)
        return vg_base__fail(VG_ERR_UNSUPPORTED, "--ignore goes with --target-risk, not with --target-coverage");
    VG_TRY(vg_score_input__open_maps(&f->in, path, &input->reading, labels, input->job));
    const vg_score_layout *layout = &f->in.layout;
    if (f->in.maps.source)
        VG_TRY(load_maps(f));
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
    VG_TRY(vg_measure_columns__score(&f->columns, f->tally, &f->in, wanted, false, &f->summary, NULL));
    leave_out(f);
    return VG_OK;
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
