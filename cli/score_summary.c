/* score_summary.c - statistics of every measure, the decision rule, diversity and the verdict on it. */
#include "score_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "workflow/column_stats.h"
#include "console.h"
#include "json_print.h"
#include "workflow/json_build.h"
#include "text_table.h"
#include "vargate/evaluate.h"
#include "verdict_output.h"

static double share(unsigned long long part, unsigned long long whole) { return whole ? (double)part / (double)whole : NAN; }

/* Calls `show` for each measure and gate setting of the store. */
typedef void (*stats_show)(void *context, const char *name, const vg_column_stats *plain, const vg_column_stats *max);

static int each_measure(const vg_column_store *store, size_t threads, stats_show show, void *context) {
    size_t each = store->layout.multilabel ? 2 : 1, count = 0;
    vg_column_request *requests = calloc(VG_FIELD_MEASURES * (store->layout.k_count + 1) * each, sizeof *requests);
    if (!requests)
        return console_fail_memory("the summary");
    for (int f = 0; f < VG_FIELD_MEASURES; f++) {
        size_t gates = vg_field__gated(f) ? store->layout.k_count : 1;
        for (size_t k = 0; (store->set & VG_FIELD_BIT(f)) && k < gates; k++) {
            requests[count++] = (vg_column_request){.field = f, .k = k, .over = each == 2 ? VG_STATS_LABEL_MEAN : VG_STATS_PLAIN};
            if (each == 2)
                requests[count++] = (vg_column_request){.field = f, .k = k, .over = VG_STATS_LABEL_MAX};
        }
    }
    int code = console_status(vg_column_stats__compute(requests, count, store, threads));
    for (size_t i = 0; i < count && code == CLI_OK; i += each) {
        char name[VG_FIELD_TITLE];
        vg_field__title(name, requests[i].field, &store->layout, requests[i].k);
        show(context, name, &requests[i].stats, each == 2 ? &requests[i + 1].stats : NULL);
    }
    free(requests);
    return code;
}

/* The library's verdict, with what the labels say where predictions were compared with them. */
static int judge(vg_verdict *verdict, const vg_score_input *in, const vg_score_tally *tally, const vg_score_summary *summary,
                 vg_field_set set) {
    bool labelled = in->labels && (set & VG_FIELD_BIT(VG_FIELD_PRED));
    *verdict = (vg_verdict)VG_VERDICT_INIT;
    if (vg_verdict_judge(verdict, summary, labelled ? tally->correct : 0, labelled ? tally->entries : 0) != VG_OK)
        return console_fail_library();
    return CLI_OK;
}

/* --- as text ------------------------------------------------------------------------------------------------------------ */
static void show_row(void *context, const char *name, const vg_column_stats *plain, const vg_column_stats *max) {
    text_table *table = context;
    size_t row = table_row(table, name);
    table_number(table, row, 1, plain->mean, 5);
    table_number(table, row, 2, plain->median, 5);
    table_number(table, row, 3, plain->p95, 5);
    if (max) {
        table_number(table, row, 4, max->mean, 5);
        table_number(table, row, 5, max->median, 5);
        table_number(table, row, 6, max->p95, 5);
    }
}

static int print_measures(const vg_column_store *store, size_t threads) {
    text_table table;
    if ((store->set & VG_FIELDS_MEASURES) == 0)
        return CLI_OK;
    table_begin(&table, store->layout.multilabel ? "measure (mean of labels)|mean|median|95th pct|max: mean|median|95th pct"
                                                 : "measure|mean|median|95th pct");
    int code = each_measure(store, threads, show_row, &table);
    int printed = table_print(&table);
    return code == CLI_OK ? printed : code;
}

static int print_rule(const vg_score_input *in, const vg_score_tally *tally) {
    text_table table;
    table_begin(&table, in->labels ? "decision rule|abstained|accuracy on the kept" : "decision rule|abstained");
    for (size_t k = 0; k < in->layout.k_count; k++) {
        char name[VG_NAME_SIZE], text[VG_NAME_SIZE + 8];
        vg_k_name(name, in->layout.k[k]);
        snprintf(text, sizeof text, "k = %s", name);
        size_t row = table_row(&table, text);
        table_percent(&table, row, 1, 1 - share(tally->kept[k], tally->entries));
        if (in->labels)
            table_percent(&table, row, 2, share(tally->kept_correct[k], tally->kept[k]));
    }
    printf("\n");
    return table_print(&table);
}

static int print_text(const vg_score_input *in, const vg_column_store *store, const vg_score_tally *tally,
                      const vg_score_summary *summary, vg_field_set set) {
    const vg_score_layout *layout = &in->layout;
    printf("%s: %zu samples, %zu member%s, %zu %s (%s)\n\n", in->path, layout->n, layout->m, layout->m == 1 ? "" : "s",
           layout->c, layout->multilabel ? "labels" : "classes", in->logits ? "logits" : "probabilities");
    int code = print_measures(store, in->options.threads);
    if (code == CLI_OK && (set & VG_FIELD_BIT(VG_FIELD_DECISION)))
        code = print_rule(in, tally);
    if (in->labels && (set & VG_FIELD_BIT(VG_FIELD_PRED)))
        printf("\nAccuracy       %.2f %% of %llu%s\n", 100 * share(tally->correct, tally->entries), tally->entries,
               layout->multilabel ? " (sample, label) pairs" : "");
    printf("%sDiversity D    %.4g\n", in->labels ? "" : "\n", summary->diversity);
    if (!isnan(summary->k_sensitivity))
        printf("k-sensitivity  %.4g\n", summary->k_sensitivity);
    vg_verdict verdict;
    if (code == CLI_OK)
        code = judge(&verdict, in, tally, summary, set);
    if (code == CLI_OK)
        verdict_print("Verdict        ", &verdict);
    if (tally->gated_out)
        printf("Gated to nothing and left ungated at some k: %llu\n", tally->gated_out);
    return code;
}

/* --- as JSON ------------------------------------------------------------------------------------------------------------ */
static json_t *stats_json(const vg_column_stats *stats) {
    json_t *object = json_object();
    vg_json__put_number(object, "mean", stats->mean);
    vg_json__put_number(object, "median", stats->median);
    vg_json__put_number(object, "p95", stats->p95);
    return object;
}

static void show_json(void *context, const char *name, const vg_column_stats *plain, const vg_column_stats *max) {
    json_t *object = stats_json(plain);
    if (max)
        vg_json__put(object, "max", stats_json(max));
    vg_json__put(context, name, object);
}

static json_t *rule_json(const vg_score_input *in, const vg_score_tally *tally) {
    json_t *rule = json_object();
    for (size_t k = 0; k < in->layout.k_count; k++) {
        char name[VG_NAME_SIZE];
        json_t *row = json_object();
        vg_k_name(name, in->layout.k[k]);
        vg_json__put_number(row, "coverage", share(tally->kept[k], tally->entries));
        vg_json__put_count(row, "kept", tally->kept[k]);
        vg_json__put_count(row, "abstained", tally->entries - tally->kept[k]);
        if (in->labels)
            vg_json__put_number(row, "accuracy", share(tally->kept_correct[k], tally->kept[k]));
        vg_json__put(rule, name, row);
    }
    return rule;
}

static int print_json(const vg_score_input *in, const vg_column_store *store, const vg_score_tally *tally,
                      const vg_score_summary *summary, vg_field_set set) {
    json_t *out = vg_json__document("score"), *measures = json_object();
    vg_json__put_text(out, "file", in->path);
    vg_json__put_count(out, "n", in->layout.n);
    vg_json__put_count(out, "m", in->layout.m);
    vg_json__put_count(out, "c", in->layout.c);
    vg_json__put(out, "logits", json_boolean(in->logits));
    vg_json__put(out, "multilabel", json_boolean(in->layout.multilabel));
    vg_json__put(out, "k", vg_json__numbers(in->layout.k, in->layout.k_count));
    int code = each_measure(store, in->options.threads, show_json, measures);
    vg_json__put(out, "measures", measures);
    if (set & VG_FIELD_BIT(VG_FIELD_DECISION))
        vg_json__put(out, "rule", rule_json(in, tally));
    if (in->labels && (set & VG_FIELD_BIT(VG_FIELD_PRED)))
        vg_json__put_number(out, "accuracy", share(tally->correct, tally->entries));
    vg_json__put_number(out, "diversity", summary->diversity);
    vg_json__put_number(out, "k_sensitivity", summary->k_sensitivity);
    vg_verdict verdict;
    if (code == CLI_OK)
        code = judge(&verdict, in, tally, summary, set);
    if (code == CLI_OK)
        vg_json__put_verdict(out, &verdict);
    if (set & VG_FIELD_BIT(VG_FIELD_FLAGS)) {
        vg_json__put_count(out, "ties", tally->ties);
        vg_json__put_count(out, "gated_out", tally->gated_out);
    }
    if (code == CLI_OK)
        return json_print(out);
    json_decref(out);
    return code;
}

int score_summary_print(const vg_score_input *in, const vg_column_store *store, const vg_score_tally *tally,
                        const vg_score_summary *summary, vg_field_set set, bool json) {
    return json ? print_json(in, store, tally, summary, set) : print_text(in, store, tally, summary, set);
}
