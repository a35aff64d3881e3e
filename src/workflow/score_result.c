/* score_result.c - statistics of every measure, the decision rule, diversity and the verdict; the same as JSON. */
#include "workflow/score_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "workflow/column_stats.h"
#include "workflow/json_build.h"

typedef struct result_owner {
    vg_score_result result; /* the public part; it points to the rest */
    char *file;
    double *k;
    vg_score_row *measures;
    vg_gate_row *rule;
    vg_score_summary summary;
    vg_verdict verdict;
    vg_site_images images;
} result_owner;

static double share(unsigned long long part, unsigned long long whole) {
    return whole ? (double)part / (double)whole : NAN;
}

/* Lists a request for each measure and gate setting of the store; multilabel: mean of labels and max alternate.
 * Returns their number. */
static size_t list_requests(vg_column_request *requests, const vg_column_store *store) {
    bool several = store->layout.multilabel;
    size_t count = 0;
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        size_t gates = vg_field__gated(f) ? store->layout.k_count : 1;
        for (size_t k = 0; (store->set & VG_FIELD_BIT(f)) && k < gates; k++) {
            vg_stats_over over = several ? VG_STATS_LABEL_MEAN : VG_STATS_PLAIN;
            requests[count++] = (vg_column_request){.field = f, .k = k, .over = over};
            if (several)
                requests[count++] = (vg_column_request){.field = f, .k = k, .over = VG_STATS_LABEL_MAX};
        }
    }
    return count;
}

static vg_status fill_measures(result_owner *owner, const vg_column_store *store, size_t threads) {
    size_t each = store->layout.multilabel ? 2 : 1, most = VG_FIELD_MEASURES * (store->layout.k_count + 1) * each;
    vg_column_request *requests = calloc(most, sizeof *requests);
    size_t count = requests ? list_requests(requests, store) : 0;
    owner->measures = calloc(count ? count : 1, sizeof *owner->measures);
    vg_status status = requests && owner->measures ? vg_column_stats__compute(requests, count, store, threads)
                                                   : vg_base__fail(VG_ERR_MEMORY, "out of memory for the summary");
    for (size_t i = 0; i < count && status == VG_OK; i += each) {
        vg_score_row *row = &owner->measures[owner->result.measure_count++];
        vg_field__title(row->name, requests[i].field, &store->layout, requests[i].k);
        row->stats = requests[i].stats;
        row->max = each == 2 ? requests[i + 1].stats : (vg_column_stats){NAN, NAN, NAN};
    }
    owner->result.measures = owner->measures;
    free(requests);
    return status;
}

static vg_status fill_rule(result_owner *owner, const vg_score_outcome *from) {
    const vg_score_tally *tally = from->tally;
    size_t count = from->in->layout.k_count;
    owner->rule = calloc(count ? count : 1, sizeof *owner->rule);
    if (!owner->rule)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the summary");
    bool labelled = vg_score_input__labelled(from->in);
    for (size_t k = 0; k < count; k++)
        owner->rule[k] = (vg_gate_row){from->in->layout.k[k], tally->kept[k], tally->kept_correct[k],
                                       share(tally->kept[k], tally->entries),
                                       labelled ? share(tally->kept_correct[k], tally->kept[k]) : NAN};
    owner->result.rule = owner->rule;
    owner->result.rule_count = count;
    return VG_OK;
}

static vg_status summarise(result_owner *owner, const vg_score_outcome *from) {
    vg_score_result *r = &owner->result;
    const vg_score_tally *tally = from->tally;
    VG_TRY(fill_measures(owner, from->store, from->in->options.threads));
    if (from->computed & VG_FIELD_BIT(VG_FIELD_DECISION))
        VG_TRY(fill_rule(owner, from));
    r->entries = tally->entries;
    r->correct = tally->correct;
    r->judged = vg_score_input__labelled(from->in) && (from->computed & VG_FIELD_BIT(VG_FIELD_PRED));
    r->accuracy = r->judged ? share(tally->correct, tally->entries) : NAN;
    r->flagged = (from->computed & VG_FIELD_BIT(VG_FIELD_FLAGS)) != 0;
    r->ties = tally->ties;
    r->gated_out = tally->gated_out;
    owner->verdict = (vg_verdict)VG_VERDICT_INIT;
    VG_TRY(vg_verdict_judge(&owner->verdict, from->summary, r->judged ? tally->correct : 0,
                            r->judged ? tally->entries : 0));
    r->verdict = &owner->verdict;
    return VG_OK;
}

static void take_images(result_owner *owner, const vg_score_outcome *from) {
    vg_score_result *r = &owner->result;
    vg_field field = vg_site_images__field(from->computed);
    owner->images = *from->images;
    *from->images = (vg_site_images){.count = 0};
    memcpy(r->sites, vg_score_input__shape(from->in), sizeof r->sites);
    r->image_count = owner->images.count;
    r->images = owner->images.rows;
    r->image_order = owner->images.order;
    r->ignored = from->in->ignored;
    r->image_measure = field < VG_FIELD_MEASURES ? vg_field__name(field) : NULL;
}

static vg_status fill(result_owner *owner, const vg_score_outcome *from) {
    const vg_score_layout *layout = &from->in->layout;
    VG_TRY(vg_base__strdup(&owner->file, from->in->path));
    VG_TRY(vg_base__alloc(&owner->k, layout->k_count, sizeof *owner->k, "the gate settings"));
    memcpy(owner->k, layout->k, layout->k_count * sizeof *owner->k);
    owner->summary = *from->summary;
    owner->result = (vg_score_result){.struct_size = sizeof owner->result,
                                      .file = owner->file,
                                      .n = layout->n,
                                      .m = layout->m,
                                      .c = layout->c,
                                      .logits = from->in->logits,
                                      .multilabel = layout->multilabel,
                                      .labelled = vg_score_input__labelled(from->in),
                                      .k = owner->k,
                                      .k_count = layout->k_count,
                                      .summary = &owner->summary,
                                      .accuracy = NAN};
    if (from->images)
        take_images(owner, from);
    return from->summarise ? summarise(owner, from) : VG_OK;
}

vg_status vg_score_result__new(vg_score_result **out, const vg_score_outcome *from) {
    result_owner *owner = calloc(1, sizeof *owner);
    *out = NULL;
    if (!owner)
        return vg_base__fail(VG_ERR_MEMORY, "out of memory for the summary");
    vg_status status = fill(owner, from);
    if (status == VG_OK)
        *out = &owner->result;
    else
        vg_score_result_free(&owner->result);
    return status;
}

void vg_score_result_free(vg_score_result *result) {
    if (!result)
        return;
    result_owner *owner = (result_owner *)(void *)result;
    vg_base__release(owner->file);
    vg_base__release(owner->k);
    free(owner->measures);
    free(owner->rule);
    vg_site_images__free(&owner->images);
    free(owner);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */
static json_t *stats_json(const vg_column_stats *stats) {
    json_t *object = json_object();
    vg_json__put_number(object, "mean", stats->mean);
    vg_json__put_number(object, "median", stats->median);
    vg_json__put_number(object, "p95", stats->p95);
    return object;
}

static json_t *measures_json(const vg_score_result *r) {
    json_t *measures = json_object();
    for (size_t i = 0; i < r->measure_count; i++) {
        json_t *object = stats_json(&r->measures[i].stats);
        if (r->multilabel)
            vg_json__put(object, "max", stats_json(&r->measures[i].max));
        vg_json__put(measures, r->measures[i].name, object);
    }
    return measures;
}

static json_t *rule_json(const vg_score_result *r) {
    json_t *rule = json_object();
    for (size_t i = 0; i < r->rule_count; i++) {
        const vg_gate_row *gate = &r->rule[i];
        char name[VG_NAME_SIZE];
        json_t *row = json_object();
        vg_k_name(name, gate->k);
        vg_json__put_number(row, "coverage", gate->coverage);
        vg_json__put_count(row, "kept", gate->kept);
        vg_json__put_count(row, "abstained", r->entries - gate->kept);
        if (r->labelled)
            vg_json__put_number(row, "accuracy", gate->accuracy);
        vg_json__put(rule, name, row);
    }
    return rule;
}

vg_status vg_score_result_json(char **text, const vg_score_result *r) {
    VG_TRY(vg_base__given(text && r, "vg_score_result_json: out and result"));
    VG_IN_C_LOCALE;
    json_t *out = vg_json__document("score");
    vg_json__put_text(out, "file", r->file);
    vg_json__put_count(out, "n", r->n);
    vg_json__put_count(out, "m", r->m);
    vg_json__put_count(out, "c", r->c);
    vg_json__put(out, "logits", json_boolean(r->logits));
    vg_json__put(out, "multilabel", json_boolean(r->multilabel));
    vg_json__put(out, "k", vg_json__numbers(r->k, r->k_count));
    vg_json__put(out, "measures", measures_json(r));
    if (r->rule)
        vg_json__put(out, "rule", rule_json(r));
    if (r->judged)
        vg_json__put_number(out, "accuracy", r->accuracy);
    vg_json__put_number(out, "diversity", r->summary->diversity);
    vg_json__put_number(out, "k_sensitivity", r->summary->k_sensitivity);
    if (r->verdict)
        vg_json__put_verdict(out, r->verdict);
    if (r->flagged) {
        vg_json__put_count(out, "ties", r->ties);
        vg_json__put_count(out, "gated_out", r->gated_out);
    }
    if (r->image_count)
        vg_json__put_images(out, &(vg_image_list){r->sites, r->ignored, r->images, r->image_count, r->judged, NAN});
    return vg_json__text(text, out);
}
